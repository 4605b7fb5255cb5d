"""The page of the playground in Debian's Chromium, without a window: `python3 browser.py PAGE FIBERLOOM [--shots FOLDER] [FILTER]`.

Each example is opened by its link, edited, run, and compared with what the command line prints for what the page says to paste into a
shell. What Python itself has suffices: the browser is driven through a pair of pipes.
"""
import base64
import json
import os
import pathlib
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import zlib

CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
# Milliseconds in which an edit is shown, and in which the first answer is there after opening.
EDIT, FIRST = 100, 2000
# What a slow machine that runs other things takes of them at most.
SLACK = float(os.environ.get("FIBERLOOM_SLACK", "1"))


class Browser:
    """Chromium, and one page in it."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="fiberloom-chromium-")
        (theirs_in, self.out), (self.back, theirs_out) = os.pipe(), os.pipe()
        arguments = [
            CHROMIUM, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.home}", "--no-first-run", "--no-sandbox",
            "--disable-gpu", "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage", "--hide-scrollbars", "about:blank",
        ]
        shell = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", shell, "sh", *arguments], pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.number, self.buffer, self.session, self.events = 0, b"", None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def call(self, method, **params):
        """One command; events that come meanwhile are kept."""
        self.number += 1
        said = {"id": self.number, "method": method, "params": params}
        if self.session:
            said["sessionId"] = self.session
        os.write(self.out, json.dumps(said).encode() + b"\0")
        while True:
            heard = self.hear(60)
            if heard.get("id") == self.number:
                if "error" in heard:
                    raise AssertionError(f"{method}: {heard['error']}")
                return heard["result"]
            self.events.append(heard)

    def hear(self, seconds):
        until = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            if not select.select([self.back], [], [], max(0.0, until - time.monotonic()))[0]:
                raise AssertionError("the browser does not answer")
            self.buffer += os.read(self.back, 1 << 20)
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def js(self, text):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=text, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{text}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, condition, seconds=60):
        """Waits until an expression holds; its value."""
        until = time.monotonic() + seconds
        while not (value := self.js(condition)):
            if time.monotonic() > until:
                status = self.js("document.getElementById('status')?.textContent")
                raise AssertionError(f"not after {seconds} s: {condition}; status: {status}")
            time.sleep(0.01)
        return value

    def open(self, address):
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.wait("document.body?.dataset.ready")

    def key(self, key, text=None, modifiers=0):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowRight": 39, "ArrowLeft": 37, "ArrowDown": 40, " ": 32, "End": 35}
        named = {"key": key, "code": {" ": "Space"}.get(key, key), "windowsVirtualKeyCode": codes.get(key, 0), "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **named, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def shot(self, path, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        time.sleep(0.2)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


def text_of(browser, name):
    return browser.js(f"document.getElementById({json.dumps(name)})?.textContent ?? ''")


def edit(browser, program):
    """Puts a text in the place of the program, as typing does; the milliseconds until what is made of it is shown."""
    return browser.js(
        f"""(async () => {{
          const [field, seen] = [document.getElementById("program"), document.body.dataset.looked];
          const begin = performance.now();
          field.value = {json.dumps(program)};
          field.dispatchEvent(new Event("input", {{ bubbles: true }}));
          while (document.body.dataset.looked === seen) await new Promise((done) => setTimeout(done, 1));
          return performance.now() - begin;
        }})()"""
    )


def run(browser):
    """Runs what is there: what it prints, with what checking it says."""
    ran = browser.js("document.body.dataset.ran ?? '0'")
    browser.js("document.getElementById('run').click()")
    browser.wait(f"document.body.dataset.ran !== {json.dumps(ran)}")
    return printed(browser)


def printed(browser):
    return f"{text_of(browser, 'printed')}\n{text_of(browser, 'checked')}".strip()


def pasted(browser, door):
    """What the page says to paste."""
    browser.js("document.getElementById('tab-Paste').click()")
    browser.js(f"document.querySelector('[aria-label=\"For {door}\"]').click()")
    return text_of(browser, "pasted")


def command_line(script, fiberloom, files=()):
    """What a shell prints for a text that the page says to paste, by the interpreter of loops, beside these files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files:
            pathlib.Path(folder, name).write_bytes(content)
        functions = f'fiberloom() {{ {json.dumps(str(fiberloom))} "$@" --engine loops; }}\n'
        done = subprocess.run(["/bin/sh", "-c", functions + script], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        return done.stdout.strip(), done.stderr.strip()


class Tests:
    """Each method whose name begins with `test_` is one."""

    def __init__(self, browser, page, fiberloom, shots):
        self.browser, self.page, self.fiberloom, self.shots = browser, page, fiberloom, shots

    def open(self, fragment=""):
        self.browser.open(f"file://{self.page}{fragment}")

    def test_first_answer(self):
        """The first example's answer is there soon after opening, and nothing was asked of a network."""
        ready = []
        for _ in range(3):
            self.browser.events.clear()
            self.open()
            ready.append(float(self.browser.js("document.body.dataset.ready")))
            assert "agree with the reference semantics" in text_of(self.browser, "checked"), text_of(self.browser, "status")
            asked = [event["params"]["request"]["url"] for event in self.browser.events if event.get("method") == "Network.requestWillBeSent"]
            others = [url for url in asked if not url.startswith(("file:", "blob:", "data:", "about:"))]
            assert not others, others
        print(f"     first answer after {min(ready):.0f} ms")
        assert min(ready) <= FIRST * SLACK, f"{ready} ms until the first answer"

    def test_examples(self):
        """Each of the examples: opened by a link, run, edited, and the same as the command line."""
        browser = self.browser
        self.open()
        names = browser.js("[...document.querySelectorAll('#examples option')].map((o) => o.value).filter(Boolean)")
        assert len(names) == 20, names
        slowest = {}
        for name in names:
            self.open(f"#example={name}")
            answer = printed(browser)
            out, err = command_line(pasted(browser, "Shell"), self.fiberloom)
            assert answer == out, f"{name}: the page has\n{answer}\nand the command line\n{out}\n{err}"
            assert "reference semantics" in answer, f"{name}: {answer}"
            browser.js("document.getElementById('tab-Stages').click()")
            program = browser.js("document.getElementById('program').value")
            times = [edit(browser, f"{program}\n# {turn}") for turn in range(4)]
            slowest[name] = min(times)
            for stage in ("loops", "schedule", "concrete"):
                assert text_of(browser, f"stage-{stage}").strip(), f"{name}: no {stage}"
            browser.js("document.getElementById('link').click()")
            link = browser.wait("location.hash.startsWith('#1.') && location.hash")
            self.open(link)
            assert browser.js("document.getElementById('program').value") == f"{program}\n# 3", name
            assert printed(browser) == answer, f"{name}: the link has another answer"
        print("     edits:", ", ".join(f"{name} {ms:.0f}" for name, ms in slowest.items()), "ms")
        late = {name: ms for name, ms in slowest.items() if ms > EDIT * SLACK}
        assert not late, f"edits shown late: {late}"

    def test_errors(self):
        """What is wrong stands below the program, is marked in it, and leads there."""
        browser = self.browser
        self.open("#example=spmv")
        edit(browser, "tensor A: f64[I, J] csr\ntensor x: f64[J] dense\ny[i] = A[i,j] * z[j]\n")
        said = text_of(browser, "messages")
        assert "3:17: error: unknown tensor `z`" in said, said
        assert browser.js("document.querySelector('#painted .m-error').textContent") == "z"
        browser.js("document.querySelector('#messages button').click()")
        assert browser.js("document.getElementById('program').selectionStart") == 63
        said = run(browser)
        assert "unknown tensor" in said, said
        edit(browser, "tensor x: f64[J] dense\n# ∀ 𝓕: letters of two units\ny[j] = 2 * x[k]\n")
        assert browser.js("document.querySelector('#painted .m-error, #painted .m-warning') !== null"), text_of(browser, "messages")
        deep = "tensor x: f64[J] dense\ny[j] = " + "(" * 450 + "x[j]" + ")" * 450
        edit(browser, deep)
        shown = text_of(browser, "messages") + text_of(browser, "loops")
        assert "nests" in shown or "y_vals" in shown, shown
        edit(browser, deep.replace("(" * 450, "(" * 4500).replace(")" * 450, ")" * 4500))
        assert "nests" in text_of(browser, "messages")
        edit(browser, "dim J = 5\ntensor x: f64[J] dense\ny[j] = 2 * x[j]\n")
        assert text_of(browser, "messages") == ""
        assert "agree" in run(browser)

    def test_stopped(self):
        """What runs long is stopped by the button, and by a key; the next run is as any other."""
        browser = self.browser
        self.open("#example=spmv")
        long = "dim N = 4000\ntensor n: i64[]\ntensor v: i64[N] dense\nn[] = 0\nwhile n[] < 900000 {\n  n[] = n[] + 1 + 0 * sum(i: v[i])\n}\n"
        for stop in ("button", "key"):
            edit(browser, long)
            browser.js("document.getElementById('run').click()")
            browser.wait("!document.getElementById('stop').disabled")
            time.sleep(0.3)
            if stop == "button":
                browser.js("document.getElementById('stop').click()")
            else:
                browser.key("Escape")
            browser.wait("document.getElementById('printed')?.textContent.startsWith('Stopped')")
            assert browser.js("document.getElementById('stop').disabled")
            edit(browser, "dim J = 5\ntensor x: f64[J] dense\ny[j] = 2 * x[j]\n")
            assert "agree" in run(browser)

    def test_keys(self):
        """A keyboard alone suffices: to the program, into it, to run, through the views."""
        browser = self.browser
        self.open("#example=spmv")
        browser.js("document.activeElement.blur()")
        seen = []
        for _ in range(40):
            browser.key("Tab")
            seen.append(browser.js("document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"))
            if seen[-1] == "program":
                break
        assert seen[-1] == "program" and "run" in seen and "examples" in seen, seen
        browser.js("document.getElementById('program').setSelectionRange(1e9, 1e9)")
        looked = browser.js("document.body.dataset.looked")
        browser.type("z[i] = 2 * y[i]\n")
        browser.wait(f"document.body.dataset.looked !== '{looked}'")
        ran = browser.js("document.body.dataset.ran")
        browser.key("Enter", modifiers=2)
        browser.wait(f"document.body.dataset.ran !== '{ran}'")
        assert "z: f64[40]" in printed(browser), printed(browser)
        focus = "document.activeElement.id || document.activeElement.getAttribute('aria-label') || ''"
        for _ in range(60):
            browser.key("Tab")
            if browser.js(focus) == "tab-Answer":
                break
        assert browser.js(focus) == "tab-Answer", browser.js(focus)
        for view in ("Stages", "Tensors", "Iteration", "Schedule", "Growth", "Paste"):
            browser.key("ArrowRight")
            assert browser.js(focus) == f"tab-{view}"
            assert not browser.js(f"document.getElementById('panel-{view}').hidden")
        small = browser.js(
            "[...document.querySelectorAll('button, select, input, textarea')].filter((e) => !e.hidden && e.offsetParent"
            " && !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).map((e) => e.outerHTML)"
        )
        assert not small, f"fields without a name: {small}"

    def test_views(self):
        """Pictures, trees, what commands change, growth, and what to paste."""
        browser = self.browser
        self.open("#example=tiled")
        browser.js("document.getElementById('tab-Schedule').click()")
        browser.wait("document.querySelectorAll('#commands li').length === 4")
        assert browser.wait("Number(document.querySelector('.difference')?.dataset.changed)") > 0
        assert "split" in text_of(browser, "commands")
        self.open("#example=staged")
        browser.js("document.getElementById('tab-Schedule').click()")
        browser.wait("document.querySelectorAll('#commands li').length > 1")
        assert "stage(" in text_of(browser, "commands"), text_of(browser, "commands")
        browser.js("document.getElementById('tab-Growth').click()")
        browser.js("document.getElementById('grow').click()")
        browser.wait("document.querySelectorAll('#grown tr').length === 4")
        counts = browser.js("[...document.querySelectorAll('#grown tr')].slice(1).map((row) => Number(row.children[2].textContent))")
        assert 1.5 < counts[1] / counts[0] < 2.6 and 1.5 < counts[2] / counts[1] < 2.6, counts
        browser.js("document.getElementById('tab-Tensors').click()")
        assert browser.js("document.querySelectorAll('#panel-Tensors .spy').length") == 4
        stored = browser.js("document.querySelector('#panel-Tensors .spy').querySelectorAll('rect:not(.frame)').length")
        assert f"{stored} stored" in text_of(browser, "panel-Tensors"), stored
        assert browser.js("document.querySelectorAll('#panel-Tensors .tree circle').length") > 4
        browser.js("document.getElementById('tab-Iteration').click()")
        browser.wait("document.querySelectorAll('#lattice svg').length === 1 && document.querySelectorAll('#tree-plan details').length > 0")
        assert browser.js("document.querySelectorAll('#tree-looplets li').length") > 0
        for door, says in {"Python": "fl.compile(program)", "Rust": "Program::named_with", "C": "fiberloom build", "Shell": "--check"}.items():
            assert says in pasted(browser, door), door

    def test_formats_and_data(self):
        """A format that is chosen, levels moved by hand, data that are typed: the command line agrees."""
        browser = self.browser
        self.open("#example=spmv")

        def chosen(label, value):
            looked = browser.js("document.body.dataset.looked")
            browser.js(
                f"""(() => {{ const field = document.querySelector('[aria-label="{label}"]'); field.value = {json.dumps(value)};
                field.dispatchEvent(new Event(field.tagName === "SELECT" ? "change" : "input", {{ bubbles: true }})); }})()"""
            )
            browser.wait(f"document.body.dataset.looked !== '{looked}'")

        chosen("Format of A", "csc")
        assert "A1_pos[j]" in text_of(browser, "loops") or "for j" in text_of(browser, "loops"), text_of(browser, "loops")
        looked = browser.js("document.body.dataset.looked")
        browser.js("document.querySelector('[aria-label=\"Move level 1 of A outward\"]').click()")
        browser.wait(f"document.body.dataset.looked !== '{looked}'")
        chosen("Level 0 of A", "bytemap")
        chosen("Data of x", "random:40:0.5:3")
        answer = run(browser)
        out, err = command_line(pasted(browser, "Shell"), self.fiberloom)
        assert answer == out and "bytemap" in pasted(browser, "Shell"), f"{answer}\n{out}\n{err}"
        browser.js("document.querySelector('[aria-label=\"Type data of A\"]').click()")
        browser.wait("document.querySelector('[aria-label=\"Text of A\"]') !== null")
        chosen("Data of x", "random:3")
        browser.js(
            """(() => { const field = document.querySelector('[aria-label="Text of A"]'); field.value = "# extents 2 3\\n1 1 2\\n2 3 4.5\\n";
            field.dispatchEvent(new Event("input", { bubbles: true })); })()"""
        )
        answer = run(browser)
        out, err = command_line(pasted(browser, "Shell"), self.fiberloom)
        assert answer == out and "y: f64[2]" in answer, f"{answer}\n{out}\n{err}"
        browser.js("document.getElementById('link').click()")
        link = browser.wait("location.hash.startsWith('#1.') && location.hash")
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"
        npy = b"\x93NUMPY\x01\x00\x76\x00" + header.ljust(0x75) + b"\n" + struct.pack("<3d", 1, 2, 4)
        looked = browser.js("document.body.dataset.looked")
        browser.js(
            f"""(() => {{ const dropped = new DataTransfer(); dropped.items.add(new File([new Uint8Array({list(npy)})], "x.npy"));
            document.querySelector('#data [data-name="x"]').dispatchEvent(new DragEvent("drop", {{ bubbles: true, dataTransfer: dropped }})); }})()"""
        )
        browser.wait(f"document.body.dataset.looked !== '{looked}'")
        other = run(browser)
        out, err = command_line(pasted(browser, "Shell"), self.fiberloom, [("x.npy", npy)])
        assert other == out and "y[1] = 18.0" in other, f"{other}\n{out}\n{err}"
        self.open(link)
        assert printed(browser) == answer
        for damaged in (link[:-9], "#1.AAAA", "#2.x", "#example=none"):
            self.open(damaged)
            assert re.search("link|example", text_of(browser, "status")), damaged

    def test_pasted(self):
        """Nothing that a link holds leaves the quotes in which it is pasted."""
        browser = self.browser
        self.open("#example=spmv")
        edit(browser, "tensor x: f64[J] dense\ny[j] = x[j]\nEND\ntouch owned\nEND_\ntouch owned\n\'\'\'\n\"#\n")
        script = pasted(browser, "Shell")
        out, _ = command_line(f"{script}\nls", self.fiberloom)
        assert "program.loom" in out and "owned" not in out, out
        text = pasted(browser, "Python")
        assert text.count("\'\'\'") == 2, text
        assert 'r##"' in pasted(browser, "Rust")
        state = {"program": "y[] = 1", "data": {"x": {"from": "../x.tns", "text": "1 1"}}}
        packer = zlib.compressobj(wbits=-15)
        packed = packer.compress(json.dumps(state).encode()) + packer.flush()
        self.open("#1." + base64.urlsafe_b64encode(packed).decode().rstrip("="))
        assert "damaged" in text_of(browser, "status"), text_of(browser, "status")

    def test_shots(self):
        """Nothing is wider than the window; pictures for whoever looks."""
        browser = self.browser
        for name, width, height, dark in (("wide", 1400, 900, False), ("wide-dark", 1400, 900, True), ("narrow", 390, 844, False), ("narrow-dark", 390, 844, True)):
            for view in ("Answer", "Stages", "Tensors", "Iteration", "Schedule", "Growth", "Paste"):
                if view == "Answer":
                    self.open("#example=tiled")
                browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
                browser.js(f"document.getElementById('tab-{view}').click()")
                browser.wait("document.getElementById('stop').disabled")
                time.sleep(0.1)
                wide = browser.js("document.documentElement.scrollWidth")
                assert wide <= width, f"{name}, {view}: {wide} pixels wide"
                if self.shots:
                    browser.js(f"document.getElementById('{'tabs' if width < 900 else 'program'}').scrollIntoView({{block: '{'start' if width < 900 else 'center'}'}})")
                    browser.shot(self.shots / f"{name}-{view}.png", width, height, dark)
        browser.call("Emulation.clearDeviceMetricsOverride")


def main():
    words = sys.argv[1:]
    shots = pathlib.Path(words.pop(words.index("--shots") + 1)) if "--shots" in words else None
    words = [word for word in words if word != "--shots"]
    page, fiberloom = (pathlib.Path(word).resolve() for word in words[:2])
    if shots:
        shots.mkdir(parents=True, exist_ok=True)
    browser = Browser()
    passed, failed = 0, []
    try:
        tests = Tests(browser, page, fiberloom, shots)
        for name in [name for name in dir(tests) if name.startswith("test_") and all(word in name for word in words[2:])]:
            since = time.monotonic()
            try:
                getattr(tests, name)()
                passed += 1
                print(f"test {name} ... ok ({time.monotonic() - since:.1f} s)", flush=True)
            except (AssertionError, OSError, subprocess.TimeoutExpired) as wrong:
                failed.append(name)
                place = traceback.extract_tb(wrong.__traceback__)[-1]
                place = next((at for at in traceback.extract_tb(wrong.__traceback__)[::-1] if at.name.startswith("test_")), place)
                print(f"test {name} ... FAILED\nline {place.lineno}: {place.line}\n{wrong}", flush=True)
    finally:
        browser.close()
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {len(failed)} failed; 0 ignored")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
