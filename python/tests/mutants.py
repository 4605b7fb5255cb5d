"""Makes the mistakes of `mutants.txt` in the package, one at a time, and asks which test notices each.

```text
 mutants.txt ──▶ a copy of fiberloom/ with one mistake ──pytest -x: tests that come to it, cheap ones first──▶ noticed by …
 once, without a mistake: tests, traced ──▶ reached.json: of each test the lines of the package that it runs, and its seconds
```

::

    # A comment.
    file _lazy.py                        of all that follow, until another: in `python/fiberloom/`

    its name, then what is said of it
    in aligned                           the function or class it stands in, where the text stands in others, too
    - n == 1 and shape                   the original: blanks and ends of lines do not count
    + n == 0 and shape                   the mistake; none: the statement is left out
    test test_lazy.py: broadcast         a file of tests, and a part of the name of the one that was written for it: asked first
    survives …                           why nobody can notice it: nobody is asked

A crash, a hang and too much memory are noticed, too. Tests of texts (`test_docs`, `test_types`, `test_licenses`) are no evidence,
and are not asked. What runs in other processes is not traced: tests of `ELSEWHERE` are asked in any case.

    python -P python/tests/mutants.py [--only PATTERN] [--resume] [--quick] [--work FOLDER]

ends with a table, and with 1 if a mistake was noticed by no test and the list does not say why. `--resume` takes what was noticed
as noticed, and what tests come to from the last time; who noticed a mistake is asked first in any case. `--quick` asks cheap tests
alone, some seconds' of each file: what they do not notice is only likely to be noticed by nobody.
"""

from __future__ import annotations

import argparse
import ast
import collections
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass
from functools import lru_cache

HERE = pathlib.Path(__file__).resolve().parent
ROOT, PACKAGE = HERE.parents[1], HERE.parent / "fiberloom"
LIST = HERE / "mutants.txt"
#: Where the workspace's tests leave the package with its extension module.
BUILT = ROOT / "target" / "python" / "package" / "fiberloom"
#: Tests of texts, and the list's own.
NOT_ASKED = {"test_docs.py", "test_types.py", "test_licenses.py", "test_mutants.py"}
#: Seconds, and bytes of memory, that an attack may take.
SECONDS, BYTES = 120, 12 << 30
#: Tests that draw what they ask.
DRAWN = ["test_walks", "test_functions", "test_calls", "test_corners", "test_standard", "test_namespace", "test_sound", "test_objects"]
#: Of each file tests of so many seconds are asked first.
DRAWN_FOR, EXAMPLES_FOR = 4.0, 0.7
#: Tests of other processes, by the file in which they come to lines.
ELSEWHERE = {"_pools.py": ["test_shards.py"], "_loans.py": ["test_threads.py", "test_loans.py"], "__init__.py": ["test_threads.py"]}


@dataclass
class Mistake:
    """A mistake on purpose."""

    name: str
    file: str
    within: str | None = None
    original: str = ""
    mistaken: str = ""
    test: tuple[str, str] | None = None
    survives: str | None = None

    def place(self, text: str) -> tuple[int, int]:
        """Where the original stands: start and end in the file's text. Raises `ValueError` unless it stands there once."""
        parts = [re.escape(word) for word in self.original.split()]
        pattern = re.compile(r"\s+".join(parts))
        ranges = [(0, len(text))] if self.within is None else functions(text, self.within)
        found = {match.span() for start, end in ranges for match in pattern.finditer(text, start, end)}
        if len(found) != 1:
            raise ValueError(f"{self.file}: the original of `{self.name}` stands there {len(found)} times: {self.original}")
        return found.pop()

    def lines(self, text: str) -> range:
        """The lines on which the original stands, from 1 on."""
        start, end = self.place(text)
        return range(text.count("\n", 0, start) + 1, text.count("\n", 0, end) + 2)

    def made(self, text: str) -> str:
        """The file with the mistake in it. Raises `SyntaxError` if that is no Python."""
        start, end = self.place(text)
        line = text[text.rfind("\n", 0, start) + 1 : start]
        indent = line[: len(line) - len(line.lstrip())]
        changed = text[:start] + (self.mistaken.replace("\n", "\n" + indent) or "pass") + text[end:]
        longer = len(changed) - len(text)
        around = [(a, b) for a, b in functions(text) if a <= start and end <= b and text[a:b].lstrip()[:1] in "d@"]
        # The least function that it stands in is Python, or else the file.
        a, b = min(around, key=lambda place: place[1] - place[0], default=(0, len(text)))
        ast.parse(textwrap.dedent(changed[a : b + longer]), self.file)
        if self.mistaken.split() == self.original.split():
            raise ValueError(f"{self.file}: `{self.name}` changes nothing")
        return changed


@lru_cache(maxsize=4096)
def functions(text: str, name: str | None = None) -> list[tuple[int, int]]:
    """Where functions and classes of this name stand; all functions if it is absent."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    kinds = (ast.FunctionDef, ast.Lambda) if name is None else (ast.FunctionDef, ast.ClassDef)
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, kinds) and name in (None, getattr(n, "name", None))]
    first = {n: min([n.lineno, *(d.lineno for d in getattr(n, "decorator_list", []))]) for n in nodes}
    return [(starts[first[node] - 1], starts[node.end_lineno]) for node in nodes]


def read(path: pathlib.Path = LIST) -> list[Mistake]:
    """The mistakes of the list, in its order. Raises `ValueError` of a line that is none of those above."""
    made: list[Mistake] = []
    file, is_open = "", False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        word, _, rest = line.partition(" ")
        if not line.strip():
            is_open = False
        elif line.startswith("#"):
            continue
        elif word == "file" and not is_open:
            file = rest
        elif not is_open:
            made.append(Mistake(line, file))
            is_open = True
        elif word == "-":
            made[-1].original += ("\n" if made[-1].original else "") + rest
        elif word == "+":
            made[-1].mistaken += ("\n" if made[-1].mistaken else "") + rest
        elif word == "in":
            made[-1].within = rest
        elif word == "survives":
            made[-1].survives = rest
        elif word == "test":
            attacker, _, name = rest.partition(": ")
            made[-1].test = attacker, name
        else:
            raise ValueError(f"{path.name}:{number}: a line begins with `in`, `-`, `+`, `test` or `survives`")
    return made


# ---- which test comes to which lines


def pytest_runtest_setup(item):
    """Where this is a plugin: what the test runs of the package is noted from here on."""
    TRACE.lines = collections.defaultdict(set)
    TRACE.begin = time.process_time()


def pytest_runtest_teardown(item, nextitem):
    """A test has ended."""
    lines = {file: sorted(found) for file, found in TRACE.lines.items()}
    TRACE.tests[item.nodeid] = {"seconds": time.process_time() - TRACE.begin, "lines": lines}


def pytest_collection_modifyitems(config, items):
    """Of the tests that are there those that are asked, in their order."""
    if ASKED:
        order = {test: n for n, test in enumerate(pathlib.Path(ASKED).read_text(encoding="utf-8").splitlines())}
        items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])


def pytest_configure(config):
    """Traces each thread. What runs when modules are imported is no test's."""
    if TRACED:
        import contextlib
        import importlib
        import pkgutil
        import threading

        import fiberloom

        for module in pkgutil.walk_packages(fiberloom.__path__, "fiberloom."):
            # Those for packages that are not there have nothing that could be traced.
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)

        threading.settrace(TRACE.call)
        sys.settrace(TRACE.call)


def pytest_unconfigure(config):
    """Writes what was found."""
    if TRACED:
        sys.settrace(None)
        pathlib.Path(TRACED).write_text(json.dumps(TRACE.tests), encoding="utf-8")


#: Where it is written down what tests come to, and where it is listed which are asked: what attacks are told.
TRACED, ASKED = os.environ.get("FIBERLOOM_REACHED"), os.environ.get("FIBERLOOM_ASKED")


#: A line of pytest's that names a test.
FAILED = r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$"


class _Trace:
    def __init__(self):
        self.tests, self.begin = {}, 0.0
        self.lines = collections.defaultdict(set)
        self.names: dict[str, str | None] = {}

    def call(self, frame, event, argument):
        name = frame.f_code.co_filename
        if name not in self.names:
            path = pathlib.Path(name)
            is_ours = path.suffix == ".py" and "fiberloom" in path.parts and path.is_relative_to(os.environ["PYTHONPATH"])
            self.names[name] = str(path.relative_to(pathlib.Path(os.environ["PYTHONPATH"]) / "fiberloom")) if is_ours else None
        file = self.names[name]
        if file is None:
            return None
        lines = self.lines[file]

        def trace(frame, event, argument):
            lines.add(frame.f_lineno)
            return trace

        return trace(frame, event, argument)


TRACE = _Trace()


# ---- attacks


def copied(work: pathlib.Path) -> pathlib.Path:
    """A copy of the package; machine code is not copied."""
    copy = work / "fiberloom"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    module = next((module for folder in (PACKAGE, BUILT) for module in folder.glob("*.so")), None)
    if module is None:
        raise SystemExit(f"there is no extension module in {BUILT}: `cargo xtask test` makes one")
    (copy / module.name).symlink_to(module)
    return copy


def tested(work: pathlib.Path, files: list[str], seconds: float, *options: str, **environment: str):
    """Runs tests on the copy; what they printed, or ``None`` if they took too long."""
    own = {**os.environ, "PYTHONPATH": str(work), "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1", **environment}
    own["FIBERLOOM_CASES"] = "all"
    plain = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib", f"--rootdir={ROOT}"]
    plain += ["--no-header", "--tb=line", "--color=no"]
    shutil.copy(__file__, work / "fiberloom_attack.py")
    call = [sys.executable, "-P", "-m", "pytest", *plain, "-p", "fiberloom_attack", *options, *files]
    process = subprocess.Popen(
        call, env=own, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        preexec_fn=_limited, start_new_session=True,
    )  # fmt: skip
    try:
        return process.communicate(timeout=seconds)[0], process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return None, None


def _limited() -> None:
    """Before tests begin: what they may take; and Ctrl-C, which those in the background are not asked by, ends calls."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def reached(work: pathlib.Path, resume: bool) -> dict:
    """Of each test that passes without a mistake its seconds, and the lines of the package that it runs."""
    kept = work / "reached.json"
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() and resume else {}
    copied(work)
    texts = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in PACKAGE.glob("**/*.py")}
    if known.get("package") != texts:
        known = {"package": texts, "files": {}}
    for file in sorted(HERE.glob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        if file.name in NOT_ASKED or known["files"].get(file.name, {}).get("text") == text:
            continue
        found = work / "found.json"
        found.unlink(missing_ok=True)
        said, code = tested(work, [str(file)], 1800, FIBERLOOM_REACHED=str(found))
        if said is None or code not in (0, 1, 5):
            raise SystemExit(f"{file.name} fails without a mistake:\n{said}")
        failed = set(re.findall(FAILED, said, re.M))
        for test in sorted(failed):
            print(f"fails without a mistake, and is not asked: {test}", flush=True)
        tests = json.loads(found.read_text(encoding="utf-8"))
        known["files"][file.name] = {"text": text, "tests": {test: what for test, what in tests.items() if test not in failed}}
        kept.write_text(json.dumps(known), encoding="utf-8")
    return {test: what for file in known["files"].values() for test, what in file["tests"].items()}


def asked(mistake: Mistake, tests: dict, first: str | None) -> list[list[str]]:
    """The tests that come to a mistake, in two attacks.

    The first: the one that noticed it last, the one that was written for it, and cheap ones of each file. The second: all others.
    """
    text = (PACKAGE / mistake.file).read_text(encoding="utf-8")
    lines = set(mistake.lines(text))
    begin = mistake.place(text)[0]
    around = [text[start:end] for start, end in functions(text) if start <= begin < end]
    come = [test for test, what in tests.items() if lines & set(what["lines"].get(mistake.file, ()))]
    if not come or not around or any(part.startswith("@cache") or part.startswith("@lru_cache") for part in around):
        # What runs when the module is imported, or once, is there for all who come to the file.
        come = [test for test, what in tests.items() if what["lines"].get(mistake.file)]
    own = [test for test in tests if mistake.test and mistake.test[0] in test and mistake.test[1] in test]
    come += [test for test in tests for file in ELSEWHERE.get(mistake.file, []) if f"/{file}" in test and test not in come]
    come.sort(key=lambda test: tests[test]["seconds"])
    files, cheap = collections.Counter(), []
    for test in come:
        file = test.partition("::")[0]
        files[file] += tests[test]["seconds"] + 0.02
        if files[file] < (DRAWN_FOR if any(name in file for name in DRAWN) else EXAMPLES_FOR):
            cheap.append(test)
    led = list(dict.fromkeys(([first] if first in tests else []) + own + cheap))
    # What is drawn notices more than examples do.
    others = [test for test in come if test not in set(led)]
    return [led, sorted(others, key=lambda test: not any(file in test for file in DRAWN))]


def attacked(mistake: Mistake, work: pathlib.Path, attacks: list[list[str]], tests: dict) -> str | None:
    """Who notices a mistake; ``None`` if nobody does."""
    path = copied(work) / mistake.file
    path.write_text(mistake.made(path.read_text(encoding="utf-8")), encoding="utf-8")
    for attack in filter(None, attacks):
        listed = work / "asked"
        listed.write_text("\n".join(attack), encoding="utf-8")
        seconds = SECONDS + 3 * sum(tests[test]["seconds"] for test in attack)
        files = sorted({test.partition("::")[0] for test in attack})
        said, code = tested(work, files, seconds, "-x", FIBERLOOM_ASKED=str(listed))
        if said is None:
            return "a limit of time"
        failed = re.search(FAILED, said, re.M)
        if failed:
            return failed[1]
        if code != 0:
            return "a crash" if code < 0 else f"pytest, which ends with {code}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes mistakes in the package, and asks which test notices each.")
    parser.add_argument("--only", default="", help="mistakes whose file and name a regular expression matches")
    parser.add_argument("--resume", action="store_true", help="what was noticed stays noticed")
    parser.add_argument("--work", default=str(pathlib.Path(tempfile.gettempdir()) / "fiberloom-mutants"))
    parser.add_argument("--quick", action="store_true", help="cheap tests alone are asked")
    given = parser.parse_args()
    work = pathlib.Path(given.work)
    work.mkdir(parents=True, exist_ok=True)
    mistakes = [m for m in read() if re.search(given.only, f"{m.file}: {m.name}")]
    tests, book = reached(work, given.resume), work / "noticed.json"
    noticed = json.loads(book.read_text(encoding="utf-8")) if book.exists() else {}
    table, left = collections.defaultdict(lambda: [0, 0, 0]), []
    for mistake in mistakes:
        row = table[mistake.file]
        row[0] += 1
        key = f"{mistake.file}: {mistake.name}"
        if mistake.survives:
            row[2] += 1
            continue
        if not (given.resume and noticed.get(key)):
            own = asked(mistake, tests, noticed.get(key))[: 1 if given.quick else 2]
            begin = time.monotonic()
            noticed[key] = attacked(mistake, work, own, tests)
            book.write_text(json.dumps(noticed, indent=1), encoding="utf-8")
            said = f"{key}: {noticed[key] or 'NOT NOTICED'} ({sum(map(len, own))} come to it, {time.monotonic() - begin:.0f} s)"
            print(said, flush=True)
        if noticed[key]:
            row[1] += 1
        else:
            left.append(key)
    print(f"\n{'file':28}{'mistakes':>9}{'noticed':>9}{'equal':>7}")
    for file, (count, seen, equal) in [*table.items(), ("all", [sum(row[n] for row in table.values()) for n in range(3)])]:
        print(f"{file:28}{count:9}{seen:9}{equal:7}")
    for key in left:
        print(f"not noticed: {key}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
