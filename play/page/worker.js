// The worker: one instance of the compiler. It gets the compiled module once, then requests, and answers each by its number.
"use strict";
let instance = null;

function text(at, length) {
  return new TextDecoder().decode(new Uint8Array(instance.exports.memory.buffer, at, length));
}

function answer(json, files) {
  const head = new TextEncoder().encode(JSON.stringify(json));
  const size = files.reduce((sum, file) => sum + file.byteLength, 4 + head.length);
  const { fl_room, fl_answer, fl_done, memory } = instance.exports;
  const at = fl_room(size) >>> 0;
  const request = new Uint8Array(memory.buffer, at, size);
  new DataView(memory.buffer).setUint32(at, head.length, true);
  request.set(head, 4);
  let place = 4 + head.length;
  for (const file of files) {
    request.set(new Uint8Array(file), place);
    place += file.byteLength;
  }
  const given = fl_answer(at, size) >>> 0;
  const length = new DataView(memory.buffer).getUint32(given, true);
  const told = text(given + 4, length);
  fl_done(given);
  return told;
}

onmessage = (event) => {
  const { module, number, json, files } = event.data;
  if (module) {
    let panicked = "";
    const said = (at, length) => { panicked = text(at, length); postMessage({ said: panicked }); };
    WebAssembly.instantiate(module, { fl: { said } }).then(
      (made) => { instance = made; postMessage({ ready: true }); },
      (wrong) => postMessage({ broken: String(wrong) }));
    return;
  }
  const begin = performance.now();
  try {
    const told = answer(json, files);
    postMessage({ number, told, ms: performance.now() - begin });
  } catch (wrong) {
    // The instance is in no state that could be gone on with: the page makes another.
    postMessage({ number, broken: wrong instanceof RangeError ? "deep" : String(wrong), ms: performance.now() - begin });
  }
};
