// Workers that run the compiler: asked one thing at a time, ended and started anew at any time.

/** The compiled module, from the text of a script element: packed, in letters. */
async function compiledModule() {
  const { textContent, dataset } = document.getElementById("wasm");
  const packed = Uint8Array.from(atob(textContent.trim()), (c) => c.charCodeAt(0));
  return WebAssembly.compile(inflated(packed, Number(dataset.length)));
}

/** One worker. `ask` gives the answer to a request, or an object with `broken` or `stopped`. */
class Engine {
  constructor(module, source) {
    this.module = module;
    this.address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.number = 0;
    this.waiting = null;
    this.start();
  }

  start() {
    this.said = "";
    this.ready = false;
    this.worker = new Worker(this.address);
    this.worker.onmessage = (event) => this.heard(event.data);
    this.worker.onerror = (event) => this.heard({ number: this.number, broken: event.message });
    this.worker.postMessage({ module: this.module });
  }

  heard(data) {
    if (data.said) {
      this.said = data.said;
    } else if (data.ready) {
      this.ready = true;
    } else if (data.broken) {
      this.worker.terminate();
      const said = this.said;
      // What never began would not begin the next time either.
      if (this.ready) this.start();
      this.settle({ broken: data.broken === "deep" ? DEEP : `The compiler broke off, and was started anew: ${said || data.broken}` });
    } else if (data.number === this.number && this.waiting) {
      this.settle({ answer: JSON.parse(data.told), ms: data.ms });
    }
  }

  settle(outcome) {
    const waiting = this.waiting;
    this.waiting = null;
    if (waiting) waiting(outcome);
  }

  get busy() {
    return this.waiting !== null;
  }

  /** Whoever asks while something is asked ends that. */
  ask(json, files) {
    if (this.busy) this.stop();
    this.number += 1;
    return new Promise((resolve) => {
      this.waiting = resolve;
      this.worker.postMessage({ number: this.number, json, files });
    });
  }

  /** Ends what runs, and starts anew. */
  stop() {
    if (!this.busy) return;
    this.worker.terminate();
    this.start();
    this.settle({ stopped: true });
  }
}

const DEEP = "The program nests deeper than a browser's stack is: the command line takes it, or name a part of it: a tensor, a local.";
