"""The namespace beside `array_api_strict`, the array API standard's own checked implementation, function by function.

```text
 names of array_api_strict ──ARGUMENTS──▶ drawn arguments ─┬─▶ array_api_strict ──▶ expected: types, shapes, values
                                                           └─▶ fiberloom.array, of dense and of sparse arrays
```

The list of functions, their parameters, and which calls the standard defines are `array_api_strict`'s: where that refuses a
draw, another is drawn. `DIFFERENT` lists what differs, each entry with the reason; one that does not differ any more fails.
"""

import inspect
import math
import os
import warnings
import zlib

import array_api_strict as strict
import numpy as np
import pytest

import fiberloom as fl

xp = fl.array

#: As many calls of each function are compared, of each kind of array, and as many are drawn at most.
COMPARED, DRAWN = (12, 180) if os.environ.get("FIBERLOOM_TESTS") == "long" else (3, 60)

FORMATS = {1: ["sparse"], 2: ["csr", "csc", "coo", "dcsr"], 3: ["csf", "coo"]}
SHAPES = [(5,), (3, 4), (2, 3, 4), (4, 1), (1, 3)]
TYPES = ["float64", "float32", "int64", "int32", "int8", "uint8", "bool"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint32"]
KINDS = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "numeric", "complex floating"]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan]

#: What the namespace has not, or answers otherwise, and why.
DIFFERENT = {
    ("divide", "sparse"): "0 by 0 is 0 in the `algebraic` mode, which holds where an operand is sparse",
    ("floor_divide", "sparse"): "0 by 0 is 0 in the `algebraic` mode, which holds where an operand is sparse",
    ("remainder", "sparse"): "the rest of 0 by 0 is 0 where neither is stored",
}

#: Names of the standard that the namespace has not, and why.
MISSING = {
    "complex64": "the language has no complex numbers",
    "complex128": "the language has no complex numbers",
    "fft": "an extension",
    "isin": "of version 2025.12, and the namespace is written to 2024.12",
    "linalg": "an extension",
}

#: Functions that the standard defines of complex numbers alone.
COMPLEX = {"imag"}


class Type(str):
    """An element type by name: each namespace has its own object."""


class Draws:
    """Arguments of calls, drawn from a seed."""

    def __init__(self, seed: str, kind: str):
        self.random = np.random.default_rng(zlib.crc32(seed.encode()))
        self.kind = kind

    def pick(self, *choices):
        """One of these."""
        return choices[self.random.integers(len(choices))]

    def flag(self) -> bool:
        """A truth value."""
        return bool(self.random.integers(2))

    def type(self) -> str:
        """The name of an element type, half of the times one of floats."""
        return self.pick(*TYPES[:2]) if self.flag() else self.pick(*TYPES)

    def array(self, shape=None, dtype=None, least=-4, most=4):
        """An array, many of whose elements are 0; floats of dense ones are infinite or NaN here and there."""
        shape = self.pick(*SHAPES, ()) if shape is None else shape
        dtype = np.dtype(dtype or self.type())
        least = 0 if dtype.kind in "ub" else least
        values = self.random.integers(least, 2 if dtype.kind == "b" else most, shape, endpoint=dtype.kind != "b")
        values = np.where(self.random.random(shape) < 0.6, values, max(least, 0)).astype(dtype)
        if dtype.kind == "f":
            values = values + (self.random.integers(0, 2, shape) * 0.375).astype(dtype) * (values != 0)
            if self.kind == "dense" and least < 0:
                special = self.random.choice(SPECIAL, shape).astype(dtype)
                values = np.where(self.random.random(shape) < 0.2, special, values)
        return np.asarray(values, dtype)

    def axis(self, x):
        """An axis of an array."""
        return int(self.random.integers(-x.ndim, x.ndim))

    def axes(self, x):
        """An axis, all of them, or several."""
        return self.pick(None, self.axis(x), tuple(range(x.ndim))[: self.pick(1, 2)]) if x.ndim else None

    def pair(self, dtype=None):
        """Arrays that are broadcast against each other; one of them may be a number."""
        left, right = self.pick(((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 3, 4), (3, 1)), ((5,), (5,)))
        dtype = dtype or self.type()
        a, b = self.array(left, dtype), self.array(right, dtype)
        if self.random.random() < 0.25:
            b = b.flat[0].item()
        return (b, a) if self.random.random() < 0.3 else (a, b)


# ---- arguments, by function


def of_one(d):
    return (d.array(),), {}


def of_two(d):
    return d.pair(), {}


def of_truths(d):
    return d.pair("bool"), {}


def shifted(d):
    dtype = d.pick("int8", "int32", "int64", "uint8")
    return (d.array((3, 4), dtype), d.array(d.pick((3, 4), (4,)), dtype, 0, 7)), {}


def folded(d):
    x = d.array()
    return (x,), {"axis": d.axes(x), "keepdims": d.flag()}


def summed(d):
    given, named = folded(d)
    return given, named | ({"dtype": Type("float64")} if d.flag() else {})


def spread(d):
    given, named = folded(d)
    return given, named | {"correction": d.pick(0.0, 1.0, 0.5)}


def placed(d):
    x = d.array(d.pick(*SHAPES))
    return (x,), {"axis": d.pick(None, d.axis(x)), "keepdims": d.flag()}


def running(d):
    x = d.array(d.pick(*SHAPES), least=1, most=2)
    return (x,), {"axis": d.axis(x), "include_initial": d.flag()}


def ordered(d):
    x = d.array(d.pick(*SHAPES))
    return (x,), {"axis": d.axis(x), "descending": d.flag(), "stable": True}


def clipped(d):
    x = d.array((3, 4), d.pick("float64", "float32", "int64", "int32"))
    low, high = d.array(d.pick((4,), (3, 4)), x.dtype.name, -4, -1), d.array((), x.dtype.name, 1, 3)
    return (x, d.pick(None, -1, low), d.pick(None, 2, high)), {}


def chosen(d):
    a, b = d.pair(d.pick("float64", "int32"))
    return (d.array((3, 4), "bool"), a, b), {}


def multiplied(d):
    shapes = d.pick(((3, 4), (4, 2)), ((4,), (4, 2)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 2)))
    dtype = d.pick(*TYPES[:4])
    return tuple(d.array(shape, dtype, 0) for shape in shapes), {}


def contracted(d):
    dtype, axes = d.pick(*TYPES[:4]), d.pick(0, 1, 2, ((0,), (1,)), ((0, 1), (1, 0)))
    return (d.array((3, 3), dtype, 0), d.array((3, 3), dtype, 0)), {"axes": axes}


def dotted(d):
    dtype = d.pick(*TYPES[:4])
    return (d.array((3, 4), dtype, 0), d.array(d.pick((3, 4), (4,)), dtype, 0)), {}


def reshaped(d):
    return (d.array((3, 4)), d.pick((4, 3), (12,), (2, -1), (2, 2, 3), (3, 4))), {}


def widened(d):
    return (d.array(d.pick((4,), (3, 1), (3, 4))), d.pick((3, 4), (2, 3, 4))), {}


def joined(d):
    dtype = d.type()
    arrays = [d.array((2, 3), dtype) for _ in range(d.pick(1, 2, 3))]
    return (arrays,), {"axis": d.pick(0, 1, -1)}


def rolled(d):
    x = d.array((3, 4))
    return (x, d.pick(1, -2, 5)), {"axis": d.pick(None, 0, -1)}


def repeated(d):
    x = d.array((3, 4))
    return (x, d.pick(0, 1, 3)), {"axis": d.pick(None, 0, 1)}


def differences(d):
    x = d.array((3, 4), d.pick(*TYPES[:4]))
    return (x,), {"axis": d.pick(0, -1), "n": d.pick(0, 1, 2)} | ({"prepend": x[:, :1], "axis": 1} if d.flag() else {})


def sought(d):
    x1 = np.unique(d.array((7,), d.pick("float64", "int64"), 0))
    return (x1, d.array((3, 4), x1.dtype.name, 0)), {"side": d.pick("left", "right")}


def along(d):
    x, axis = d.array((3, 4)), d.pick(0, 1, -1)
    return (x, d.array((3, 4), "int64", 0, 2)), {"axis": axis}


def like(d):
    return (d.array(),), {"dtype": d.pick(None, Type("int32"))}


def of_shape(d):
    return (d.pick(3, (2, 3), ()),), {"dtype": d.pick(None, Type("float32"), Type("bool"))}


ARGUMENTS = {name: folded for name in ("all", "any", "count_nonzero", "max", "mean", "min")}
ARGUMENTS |= {name: shifted for name in ("bitwise_left_shift", "bitwise_right_shift")}
ARGUMENTS |= {name: of_truths for name in ("logical_and", "logical_or", "logical_xor")}
ARGUMENTS |= {name: like for name in ("empty_like", "ones_like", "zeros_like")}
ARGUMENTS |= {name: of_shape for name in ("empty", "ones", "zeros")}
ARGUMENTS |= {
    "arange": lambda d: ((d.pick(0, 2, 1.5, -3), d.pick(7, 9.0, 0, -4), d.pick(1, 3, -1)), {}),
    "argmax": placed,
    "argmin": placed,
    "argsort": ordered,
    "asarray": lambda d: ((d.pick(True, 3, 2.5, [1, 2], [[1.0, 2.0], [3.0, 4.0]], d.array(least=0)),), {"dtype": d.pick(None, Type("float32"))}),
    "astype": lambda d: ((d.array(least=0), Type(d.pick(*TYPES))), {"copy": d.flag()}),
    "broadcast_arrays": lambda d: ((d.array((3, 1)), d.array((4,)), d.array(())), {}),
    "broadcast_shapes": lambda d: ((d.pick((3, 1), (1,)), (4,), (2, 1, 1)), {}),
    "broadcast_to": widened,
    "can_cast": lambda d: ((Type(d.pick(*INTEGERS)), Type(d.pick(*INTEGERS))), {}),
    "clip": clipped,
    "concat": joined,
    "cumulative_prod": running,
    "cumulative_sum": running,
    "diff": differences,
    "expand_dims": lambda d: ((d.array((3, 4)),), {"axis": d.pick(0, 1, 2, -1)}),
    "eye": lambda d: ((d.pick(3, 4), d.pick(None, 5)), {"k": d.pick(0, 1, -2), "dtype": d.pick(None, Type("int32"))}),
    "finfo": lambda d: ((Type(d.pick("float32", "float64")),), {}),
    "flip": lambda d: ((d.array((3, 4)),), {"axis": d.pick(None, 0, -1, (0, 1))}),
    "from_dlpack": lambda d: ((d.array(dtype="float64"),), {}),
    "full": lambda d: ((d.pick(3, (2, 3)), d.pick(7, 2.5, True)), {}),
    "full_like": lambda d: ((d.array(dtype="float64"), d.pick(7, 2.5)), {}),
    "iinfo": lambda d: ((Type(d.pick("int8", "uint32")),), {}),
    "isdtype": lambda d: ((Type(d.pick(*TYPES)), d.pick(*KINDS, tuple(d.pick(*KINDS) for _ in range(2)))), {}),
    "linspace": lambda d: ((d.pick(0, -1.5), d.pick(4, 2.5), d.pick(1, 5)), {"endpoint": d.flag()}),
    "logical_not": lambda d: ((d.array(dtype="bool"),), {}),
    "matmul": multiplied,
    "matrix_transpose": lambda d: ((d.array(d.pick((3, 4), (2, 3, 4))),), {}),
    "meshgrid": lambda d: ((d.array((3,), "float64"), d.array((4,), "float64")), {"indexing": d.pick("xy", "ij")}),
    "moveaxis": lambda d: ((d.array((2, 3, 4)), *d.pick((0, 2), (-1, 0), ((0, 1), (2, 0)))), {}),
    "permute_dims": lambda d: ((d.array((2, 3, 4)), d.pick((2, 0, 1), (0, 2, 1))), {}),
    "prod": summed,
    "repeat": repeated,
    "reshape": reshaped,
    "result_type": lambda d: ((Type(d.pick(*TYPES)), Type(d.pick(*TYPES))), {}),
    "roll": rolled,
    "searchsorted": sought,
    "sort": ordered,
    "squeeze": lambda d: ((d.array((1, 3, 1)),), {"axis": d.pick(0, -1, (0, 2))}),
    "stack": joined,
    "std": spread,
    "sum": summed,
    "take": lambda d: ((d.array((3, 4)), d.array((5,), "int64", 0, 2)), {"axis": d.pick(0, 1)}),
    "take_along_axis": along,
    "tensordot": contracted,
    "tile": lambda d: ((d.array((3, 4)), d.pick((2,), (1, 2), (2, 1, 3))), {}),
    "tril": lambda d: ((d.array((3, 4)),), {"k": d.pick(0, 1, -1)}),
    "triu": lambda d: ((d.array((3, 4)),), {"k": d.pick(0, 1, -1)}),
    "unstack": lambda d: ((d.array((3, 4)),), {"axis": d.pick(0, -1)}),
    "var": spread,
    "vecdot": dotted,
    "where": chosen,
}

#: Functions of whose elements the standard says nothing.
UNSAID = {"empty", "empty_like"}


def is_of_the_standard(name: str) -> bool:
    """Whether a name of `array_api_strict` is a function, and no setting of its own."""
    function = getattr(strict, name)
    return callable(function) and not inspect.isclass(function) and "_strict_" not in name and name[0] != "_"


FUNCTIONS = sorted(name for name in strict.__all__ if is_of_the_standard(name) and name not in MISSING)


# ---- both sides of a call


def of_strict(argument):
    """An argument as `array_api_strict` takes it."""
    if isinstance(argument, Type):
        return getattr(strict, argument)
    if isinstance(argument, list) and argument and isinstance(argument[0], np.ndarray):
        return [of_strict(part) for part in argument]
    return strict.asarray(argument) if isinstance(argument, np.ndarray) else argument


def of_ours(argument, kind: str, draws: Draws):
    """An argument as the namespace takes it: of arrays tensors in some format."""
    if isinstance(argument, Type):
        return getattr(xp, argument)
    if isinstance(argument, list) and argument and isinstance(argument[0], np.ndarray):
        return [of_ours(part, kind, draws) for part in argument]
    if not isinstance(argument, np.ndarray):
        return argument
    if kind == "dense" or argument.ndim not in FORMATS:
        return fl.asarray(argument.copy())
    return fl.asarray(argument, draws.pick(*FORMATS[argument.ndim]))


def compare(name: str, got, want) -> None:
    """Fails unless a result is the expected one: type, shape and values, or what is said of a type."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for ours, theirs in zip(got, want, strict=True):
            compare(name, ours, theirs)
        for field in getattr(want, "_fields", ()):
            assert getattr(got, field) is not None
    elif isinstance(want, type(strict.asarray(0))):
        assert isinstance(got, fl.Tensor)
        assert got.shape == want.shape and got.dtype.name == str(want.dtype).rpartition(".")[2]
        if name not in UNSAID:
            rtol = {"float32": 1e-5, "float64": 1e-12}.get(got.dtype.name, 0)
            np.testing.assert_allclose(got.to_numpy(), np.asarray(want), rtol=rtol, atol=rtol)
    elif name in ("finfo", "iinfo"):
        for field in {"bits", "max", "min"} | ({"eps", "smallest_normal"} if name == "finfo" else set()):
            assert getattr(got, field) == getattr(want, field)
    elif type(want).__name__ == "DType":
        assert np.dtype(got).name == str(want).rpartition(".")[2]
    else:
        assert got == want and type(got) is type(want)


def outcome(function, given, named):
    """What a call gives; nothing where it is refused."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return function(*given, **named)
    except (TypeError, ValueError, IndexError, OverflowError, AttributeError):
        return None


def arguments_of(name: str):
    """The function that draws a function's arguments: by its parameters, if it has no row of its own."""
    taken = list(inspect.signature(getattr(strict, name)).parameters)
    return ARGUMENTS[name] if name in ARGUMENTS else {1: of_one, 2: of_two}[len(taken)]


def case(name: str, kind: str):
    """A function and a kind of array, expected to fail if it is listed."""
    reason = DIFFERENT.get((name, kind))
    marks = [] if reason is None else [pytest.mark.xfail(strict=True, reason=reason)]
    return pytest.param(name, kind, marks=marks)


CASES = [case(name, kind) for name in FUNCTIONS if name not in COMPLEX for kind in ("dense", "sparse")]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_functions_are_the_standards(name, kind):
    function, compared = getattr(strict, name), 0
    for n in range(DRAWN):
        draws = Draws(f"{name} {kind} {n}", kind)
        given, named = arguments_of(name)(draws)
        theirs = [of_strict(a) for a in given], {key: of_strict(a) for key, a in named.items()}
        want = outcome(function, *theirs)
        if want is None:
            continue
        ours = [of_ours(a, kind, draws) for a in given], {key: of_ours(a, kind, draws) for key, a in named.items()}
        compare(name, getattr(xp, name)(*ours[0], **ours[1]), want)
        compared += 1
        if compared == (COMPARED if (name, kind) not in DIFFERENT else 8):
            return
    raise AssertionError(f"{compared} of {DRAWN} draws are defined by the standard, {COMPARED} expected")


def test_kinds_of_types_are_the_standards():
    for name in {*TYPES, *INTEGERS, "uint16", "uint64"}:
        for kind in [*KINDS, *TYPES, ("integral", "bool"), ("signed integer", "float32")]:
            theirs = tuple(getattr(strict, k, k) for k in kind) if isinstance(kind, tuple) else getattr(strict, kind, kind)
            ours = tuple(getattr(xp, k, k) for k in kind) if isinstance(kind, tuple) else getattr(xp, kind, kind)
            if kind == "bool":
                theirs = ours = kind
            assert xp.isdtype(getattr(xp, name), ours) == strict.isdtype(getattr(strict, name), theirs), (name, kind)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_are_the_standards(name):
    theirs = inspect.signature(getattr(strict, name)).parameters
    ours = inspect.signature(getattr(xp, name)).parameters
    assert list(theirs) == list(ours)
    for key, parameter in theirs.items():
        assert parameter.kind == ours[key].kind
        if "UNDEF" not in str(parameter.default):
            assert parameter.default == ours[key].default


def test_names_are_the_standards():
    names = {name for name in strict.__all__ if "strict" not in name.lower() and not name.startswith("_")}
    assert {name for name in names if not hasattr(xp, name)} - {"Device", "DType"} == set(MISSING)
    for name in ("e", "inf", "newaxis", "pi"):
        assert getattr(xp, name) == getattr(strict, name)
    assert math.isnan(xp.nan)


def test_attributes_are_the_standards():
    theirs = type(strict.asarray(0))
    asked = {name for name in dir(theirs) if hasattr(vars(theirs).get(name), "__doc__") and not name.startswith("_")}
    operators = {f"__{side}{name}__" for name in fl._operators._BINARY for side in ("", "r")} & set(dir(theirs))
    for array in (fl.asarray(np.eye(3)), fl.asarray(np.eye(3), "csr")):
        assert {name for name in asked | operators if not hasattr(array, name)} == set()
