"""Functions of Python that are drawn: what `fl.function` and `fl.kernel` make of them computes what Python does.

```text
 seed ──▶ source of a function ─┬─▶ Python calls it                      the same numbers,
                                └─▶ fl.function ──▶ y[i] = f(a[i], b[i])  and errors are drawn where they stand
```
"""

import importlib.util
import itertools
import os
import sys

import numpy as np
import pytest

import fiberloom as fl

LONG = os.environ.get("FIBERLOOM_TESTS") == "long"
COUNT = itertools.count()


@pytest.fixture
def module(tmp_path):
    """Imports a text as a module, as a file that has lines."""
    names = []

    def of(text):
        names.append(f"drawn_{next(COUNT)}")
        path = tmp_path / f"{names[-1]}.py"
        path.write_text(f"import fiberloom as fl\n{text}", encoding="utf-8")
        spec = importlib.util.spec_from_file_location(names[-1], path)
        sys.modules[names[-1]] = made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        return made

    yield of
    for name in names:
        sys.modules.pop(name, None)


class Source:
    """Functions of two whole numbers, drawn."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def number(self, names, depth):
        if depth == 0 or self.rng.random() < 0.2:
            return self.pick(*names, *names, str(self.rng.integers(0, 4)))
        a, b = (self.number(names, depth - 1) for _ in range(2))
        return self.pick(
            f"{a} + {b}",
            f"{a} - {b}",
            f"({a}) * ({b})",
            f"{a} - ({b})",
            f"-({a})",
            f"({a}) // ({b} + 7)" if self.rng.random() < 0.5 else f"({a}) % 5",
            f"({a} if {self.test(names, depth - 1)} else {b})",
            f"abs({a})",
            f"max({a}, {b})",
            f"({a}) & 7",
            f"({a}) ^ ({b})",
            f"({a}) << 1",
            f"2 ** ({self.pick(*names)} & 3)",
        )

    def test(self, names, depth):
        a, b, c = (self.number(names, max(depth - 1, 0)) for _ in range(3))
        chain = f"{a} {self.pick('<', '<=', '!=')} ({b}) {self.pick('<', '>', '>=', '==')} ({c})"
        if depth <= 0:
            return self.pick(f"{a} < ({b})", f"({a}) == {b}", chain)
        p, q = self.test(names, depth - 1), self.test(names, depth - 1)
        return self.pick(f"({p} and {q})", f"({p} or {q})", f"not ({p})", chain, chain, f"{p} and ({q} or {p})")

    def statements(self, names, indent, depth):
        """Assignments and blocks; the names that are there behind them."""
        lines, names = [], list(names)
        for _ in range(self.rng.integers(1, 4)):
            kind = self.pick("let", "let", "assign", "augment", "if", "else", "while")
            if kind == "let" or depth == 0:
                name = self.pick("t", "u", "v")
                lines.append(f"{indent}{name} = {self.number(names, 2)}")
                names += [name] * (name not in names)
            elif kind in ("assign", "augment"):
                name = self.pick(*names)
                lines.append(f"{indent}{name} {'' if kind == 'assign' else self.pick('+', '-')}= {self.number(names, 2)}")
            elif kind == "while":
                lines += [f"{indent}n{depth} = 0", f"{indent}while n{depth} < {self.rng.integers(1, 4)}:"]
                lines += self.statements(names, indent + "    ", depth - 1)[0] + [f"{indent}    n{depth} = n{depth} + 1"]
                names += [f"n{depth}"] * (f"n{depth}" not in names)
            else:
                lines += [f"{indent}if {self.test(names, 1)}:", *self.statements(names, indent + "    ", depth - 1)[0]]
                if kind == "else":
                    lines += [f"{indent}else:", *self.statements(names, indent + "    ", depth - 1)[0]]
        return lines, names

    def function(self):
        lines, names = self.statements(["a", "b"], "    ", 2)
        while self.rng.random() < 0.4:
            lines += [f"    if {self.test(names, 1)}:", f"        return {self.number(names, 2)}"]
        lines.append(f"    return {self.number(names, 2)}")
        return "\n".join(["@fl.function(type=fl.i64)", "def drawn(a, b):", *lines, ""])


@pytest.mark.parametrize("seed", range(200 if LONG else 40))
def test_functions_compute_what_python_does(seed, module):
    text = Source(seed).function()
    drawn = module(text).drawn
    pairs = [(a, b) for a in (-6, -1, 0, 1, 2, 5) for b in (-3, 0, 1, 4)]
    want = [None] * len(pairs)
    for n, (a, b) in enumerate(pairs):
        try:
            want[n] = int(drawn.python(a, b))
        except (ZeroDivisionError, ValueError):
            pass  # Which the language has an answer to.
    assert any(value is not None for value in want)
    got = fl.einsum("y[i] = drawn(a[i], b[i])", drawn=drawn, a=np.array([a for a, _ in pairs]), b=np.array([b for _, b in pairs]))
    for pair, ours, theirs in zip(pairs, got.to_numpy().tolist(), want, strict=True):
        # Integers have 64 bits here.
        assert theirs is None or (ours - theirs) % 2**64 == 0, f"{text}\n{pair}: {ours}, and {theirs} by Python"


INDICES = {
    "2 * i": lambda i: 2 * i,
    "2 * i + 1": lambda i: 2 * i + 1,
    "i + 3": lambda i: i + 3,
    "5 - i": lambda i: 5 - i,
    "i // 2": lambda i: i // 2,
    "(i + 1) // 3": lambda i: (i + 1) // 3,
    "i % 4": lambda i: i % 4,
    "(2 * i) % 5": lambda i: (2 * i) % 5,
    "P[i]": lambda i: np.array([4, 0, 7, 7, 1, 2])[i],
    "P[i] // 2": lambda i: np.array([4, 0, 7, 7, 1, 2])[i] // 2,
}
SLICES = ["1:7", "2:8:2", ":6", "0:12:3", "3:", "1:12:4"]


@pytest.mark.parametrize("index", INDICES)
def test_indices_of_kernels_are_pythons(index, module):
    text = f'@fl.kernel\ndef drawn(x: fl.f64["N"], w: fl.f64["M"], P: fl.i64["M"]):\n    y[i] = w[i] * x[{index}]\n    return y\n'
    x, w, i = np.arange(1.0, 14.0), np.arange(1.0, 7.0), np.arange(6)
    P = np.array([4, 0, 7, 7, 1, 2])
    np.testing.assert_array_equal(module(text).drawn(x, w, P).to_numpy(), w * x[INDICES[index](i)])


@pytest.mark.parametrize("part", SLICES)
def test_slices_of_kernels_are_pythons(part, module):
    x = np.arange(1.0, 14.0)[:12]
    text = f'@fl.kernel\ndef drawn(x: fl.f64["N"]):\n    y[i] = 2.0 * x[i[{part}]]\n'
    start, stop, step = (int(word) if word else None for word in [*part.split(":"), ""][:3])
    np.testing.assert_array_equal(module(text).drawn(x).to_numpy(), 2 * x[start:stop:step])


@pytest.mark.parametrize("within", ["a file", "a class", "a function in a class"])
@pytest.mark.parametrize("before", ["", "é = 'ß∂ƒ'; ", '"""…""" ; '])
@pytest.mark.parametrize("wrong, help", [("[x[i]]", None), ("x[i] @ x[i]", "sum"), ("x[i] + flag[i]", None)])
def test_errors_stand_at_what_is_wrong(within, before, wrong, help, module, tmp_path):
    """Characters count, wherever the function stands, and whatever stands before it."""
    levels = {"a file": 0, "a class": 1, "a function in a class": 2}[within]
    head = ["class Outer:", "    def inner():"][:levels]
    # A name that the language has not, where it is not asked.
    left = "z" if "+" in wrong else "ζβ"
    body = ["@fl.kernel", 'def drawn(x: fl.f64["N"], flag: fl.bool_["N"]):', f"    {left}[i] = {wrong}"]
    lines = [f"{before}pass", *head, *("    " * levels + line for line in body)]
    if levels == 2:
        lines += ["    inner()"]
    with pytest.raises(fl.ProgramError) as caught:
        module("\n".join(lines) + "\n")
    (path,) = tmp_path.glob("drawn_*.py")
    source, span = path.read_text(encoding="utf-8"), caught.value.spans[0]
    place = source[span.start : span.end]
    line = source.splitlines()[span.line - 1]
    assert line.strip().startswith(f"{left}[i]") and line[span.column - 1 :].startswith(place.splitlines()[0])
    assert place == wrong or place in ("x[i]", "flag[i]") and "+" in wrong
    assert str(caught.value).startswith(f"{path}:{span.line}:{span.column}: error:")
    assert help is None or help in (span.help or "")


@pytest.mark.parametrize("properties, refused", [
    ("identity=0", False), ("identity=(0, 0)", False), ("identity=(0, 1)", False), ("identity=(0, 2)", True), ("identity=1", True),
    ("commutative=True, associative=True", False), ("idempotent=True", True), ("commutative=False", False),
    ("annihilator=0", True), ("no_such=True", True),
])  # fmt: skip
def test_properties_are_those_that_are_declared(properties, refused, module):
    text = f"@fl.function(type=fl.i64, {properties})\ndef plus(a, b):\n    return a + b\n"
    if refused:
        with pytest.raises(fl.Error):
            module(text)
    else:
        module(text)


@pytest.mark.parametrize("properties, refused", [("identity=(0, 1)", False), ("identity=(0, 0)", True), ("identity=0", True)])
def test_properties_of_one_argument(properties, refused, module):
    text = f"@fl.function(type=fl.i64, {properties})\ndef minus(a, b):\n    return a - b\n"
    if refused:
        with pytest.raises(fl.CounterexampleError):
            module(text)
    else:
        module(text)


@pytest.mark.parametrize("calls", [("f", "f"), ("f", "g", "f"), ("f", "g", "h", "f"), ("g", "f", "f")])
def test_functions_that_call_themselves_are_refused(calls, module):
    """However many stand between: the one that is called last calls the first."""
    names = sorted(set(calls))
    text = "\n".join(f"def {name}(a):\n    return a + 1\n" for name in names)
    made = module(text)
    functions = {}
    for name in names:
        functions[name] = fl.function(type=fl.i64)(getattr(made, name))
        setattr(made, name, functions[name])
    for name, other in zip(calls, calls[1:], strict=False):
        source = f"def {name}(a):\n    return {other}(a) + 1\n"
        path = made.__file__.replace(".py", f"_{name}.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        code = compile(source, path, "exec")
        exec(code, vars(made))
        functions[name] = fl._syntax.Function(getattr(made, name), {}, fl.i64)
        setattr(made, name, functions[name])
    with pytest.raises(fl.ProgramError, match="calls itself"):
        fl.einsum(f"y[i] = {calls[0]}(x[i])", x=np.arange(3), **{calls[0]: functions[calls[0]]})
