"""NumPy's functions of tensors, whose arguments are drawn, beside NumPy: `np.pad(T, …)`, `np.quantile(T, …)`, `np.linalg.norm(T, …)`.

```text
 seed ──▶ array, format, arguments ─┬─▶ function(array, …)  by NumPy
                                    └─▶ function(tensor, …) here, dense and sparse: the same, or a TypeError that says what to write
```
"""

import os

import numpy as np
import pytest

import fiberloom as fl

#: As many calls of each function are drawn; more with `FIBERLOOM_TESTS=long`, each of dense and of sparse arrays.
LONG = os.environ.get("FIBERLOOM_TESTS") == "long"
CALLS = 60 if LONG else 4
#: Functions of more kinds of arguments than others: so many times as many calls.
MORE = {"pad": 4, "average": 5, "median": 3, "array_equal": 6, "clip": 3, "quantile": 2}

FORMATS = {1: ["sparse"], 2: ["csr", "csc", "coo", "dcsr"], 3: ["csf", "coo"], 4: ["csf", "coo"]}


class Draws:
    """Arrays and arguments, drawn from a seed."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def flag(self):
        return bool(self.rng.integers(2))

    def array(self, *shapes, nan=0.0, dtypes=("float64", "float32", "int64", "bool")):
        """An array of whole numbers, half of them 0; now and then NaN or infinite."""
        shape = self.pick(*(shapes or [(5,), (4, 6), (3, 1), (2, 3, 4)]))
        dtype = np.dtype(self.pick(*dtypes))
        array = self.rng.integers(0 if dtype.kind == "b" else -4, 2 if dtype.kind == "b" else 5, shape)
        array = (array * (self.rng.random(shape) < 0.6)).astype(dtype)
        if nan and dtype.kind == "f":
            array = np.where(self.rng.random(shape) < nan, self.rng.choice([np.nan, np.inf, -np.inf, np.nan], shape), array).astype(dtype)
        return array

    def axis(self, x):
        return self.pick(None, *range(-x.ndim, x.ndim))

    def one_axis(self, x):
        return int(self.rng.integers(-x.ndim, x.ndim))


NUMBERS = {"dtypes": ("float64", "float32", "int64")}


def of_array(**how):
    def draw(d):
        return (d.array(**how),), {}

    return draw


def folded(**how):
    def draw(d):
        x = d.array(**how)
        return (x,), {"axis": d.axis(x), "keepdims": d.flag()}

    return draw


def of_pair(d):
    x = d.array(nan=0.2)
    y = x.copy()
    if d.flag():
        y.flat[d.rng.integers(y.size)] = d.pick(0, 1, 2)
    if d.flag():
        y = d.pick(y[:1], np.concatenate([y, y]), y.astype(np.float64))
    return (x, y), {"equal_nan": d.flag()}


def near(d):
    x = d.array(nan=0.2, dtypes=("float64",)) * d.pick(1, 100.0)
    y = x * d.pick(1 + 1e-6, 1.2, 1 / 1.2, 1) + d.pick(0, 1e-9, 0.3)
    return (x, y), {"rtol": d.pick(1e-5, 0.25, 0.18), "atol": d.pick(1e-8, 0.1), "equal_nan": d.flag()}


def padded(d):
    x = d.array()
    width = d.pick(2, (1, 3), (3, 0), (0, 2), [tuple(map(int, d.rng.integers(0, 3, 2))) for _ in range(x.ndim)])
    return (x, width), {}


def weighted(d):
    x, axis = d.array((4, 6), (3, 4), (2, 3, 4), **NUMBERS), None
    if d.flag():
        axis = d.one_axis(x)
    weights = d.rng.integers(1, 5, x.shape if axis is None or d.pick(0, 0, 1) else x.shape[axis]).astype(float)
    return (x,), {"axis": axis, "weights": d.pick(None, weights, weights, weights), "keepdims": d.flag()}


def shared(d):
    x = d.array((5,), (4, 6), (2, 3, 4), nan=d.pick(0, 0.2), **NUMBERS)
    # Between infinities NumPy's differences are NaN.
    x = np.where(np.isinf(x), np.nan, x).astype(x.dtype)
    return (x, d.pick(0.0, 1.0, 0.5, 0.3, 0.75)), {"axis": d.axis(x)}


def percents(d):
    (x, q), named = shared(d)
    return (x, 100 * q), named


def middles(d):
    (x, _), named = shared(d)
    return (x,), named


def normed(d):
    x = d.array((5,), (4, 6), (3, 1), (2, 3, 4), dtypes=("float64", "float32"))
    named = {"ord": d.pick(None, 1, 2 if x.ndim == 1 else 1, np.inf, -np.inf if x.ndim == 1 else np.inf), "axis": None, "keepdims": d.flag()}
    if x.ndim > 1 and d.flag():
        named |= {"axis": d.one_axis(x)}
    if x.ndim == 2 and named["axis"] is None:
        named |= {"ord": d.pick(None, "fro", 1, np.inf), "keepdims": False}
    return (x,), named if x.ndim < 3 or named["axis"] is not None else {"keepdims": named["keepdims"]}


def cut(d):
    x = d.array((5,), (4, 6), (7, 2), (2, 3, 4))
    axis = d.one_axis(x)
    parts = d.pick(1, 2, 3, 5, [1], [1, 3], [2, 1], [-1], [0, 99])
    return (x, parts), {"axis": axis}


def halved(d):
    x = d.array((4, 6), (6, 2), (2, 4, 4))
    return (x, d.pick(2, 2, [1])), {}


def turned(d):
    x = d.array((4, 6), (3, 1), (2, 3, 4))
    axes = [int(a) for a in d.rng.permutation(x.ndim)[:2]]
    return (x, int(d.rng.integers(-5, 6))), {"axes": tuple(a - x.ndim * int(d.rng.integers(2)) for a in axes)}


def crossed(d):
    x, offset = d.array((4, 6), (2, 3, 4), (2, 3, 4, 3)), int(d.rng.integers(-3, 4))
    axes = [int(a) for a in d.rng.permutation(x.ndim)[:2]]
    return (x, offset, *axes), {}


def products(d):
    return (d.array((2, 3), (3,), (1, 2), **NUMBERS), d.array((2, 2), (4,), (3, 1), (2, 1, 2), **NUMBERS)), {}


def rows_of_two(d):
    shapes = d.pick(((3,), (3,)), ((2, 3), (3,)), ((2, 3), (4, 3)), ((3,), (2, 3)), ((2, 3, 4), (5, 4)))
    return tuple(d.array(shape, **NUMBERS) for shape in shapes), {}


def dotted(d):
    shapes = d.pick(((3,), (3,)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((3,), (3, 2)), ((2, 3, 4), (5, 4, 2)), ((2, 3, 4), (4,)))
    return tuple(d.array(shape, **NUMBERS) for shape in shapes), {}


def places(d):
    x = d.array()
    axis = d.pick(None, d.one_axis(x))
    extent = x.size if axis is None else x.shape[axis]
    return (x, d.rng.integers(-extent, extent, d.pick((2,), (2, 3)))), {"axis": axis}


def left_out(d):
    x = d.array()
    axis = d.pick(None, d.one_axis(x))
    extent = x.size if axis is None else x.shape[axis]
    return (x, d.pick(0, -1, [0, extent - 1], slice(None, None, 2))), {"axis": axis}


def bounds(d):
    x = d.array(**NUMBERS)
    least, most = d.pick(None, -1, 1), d.pick(None, 2, 3)
    if least is None and most is None:
        least = 1
    return d.pick(((x, least, most), {}), ((x,), {"min": least, "max": most}), ((x, least), {"a_max": most}))


def tens(d):
    x = d.array((5,), (4, 6), dtypes=("float64",)) * d.pick(0.375, 11.5, 7.0)
    return (x, d.pick(0, 1, 2, -1)), {}


def values_for(d):
    x = d.array(nan=0.3)
    return (x,), {"nan": d.pick(0.0, 5.0), "posinf": d.pick(None, 7.0), "neginf": d.pick(None, -7.0)}


def ordered(d):
    x = d.array(nan=0.1)
    return (x,), {"axis": d.axis(x)}


def placed(d):
    (x,), named = ordered(d)
    return (x,), named | {"kind": "stable"}


def sought(d):
    x = np.sort(d.array((6,), **NUMBERS))
    return (x, d.array((4,), (2, 3), **NUMBERS)), {"side": d.pick("left", "right")}


def rolled(d):
    x = d.array()
    axis = d.pick(None, d.one_axis(x), tuple(range(x.ndim)))
    return (x, d.pick(1, -2, 7)), {"axis": axis}


def joined(d):
    x = d.array((4, 6), (3, 1), (2, 3, 4))
    return ([x, d.array(x.shape), x],), {"axis": d.one_axis(x)}


def of_rows(d):
    x = d.array((4, 6), (1, 6), (5,))
    return ([x, d.array(x.shape, x.shape), x],), {}


def spread(d):
    x = d.array(**NUMBERS)
    return (x,), {"axis": d.axis(x), "ddof": d.pick(0, 1), "keepdims": d.flag()}


def unique(d):
    return (d.array(),), {"return_index": d.flag(), "return_inverse": d.flag(), "return_counts": d.flag()}


def observed(d):
    x = d.array((3, 6), (4, 5), dtypes=("float64", "int64"))
    # Lines of one number have no correlation, which is 0 by 0.
    x[:, 0], x[:, 1] = 1, -2
    return (x,), {}


def triangle(d):
    return (d.array((4, 6), (3, 1), (2, 3, 4)), int(d.rng.integers(-3, 4))), {}


def on_a_diagonal(d):
    return (d.array((5,), (4, 6), (3, 1)), int(d.rng.integers(-3, 4))), {}


def moved(d):
    x = d.array((4, 6), (2, 3, 4))
    return (x, d.pick((0, 1), (-1, 0)), d.pick((1, 0), (0, -1))), {}


#: Of each function what is drawn for it.
FUNCTIONS = {
    "all": folded(), "any": folded(), "max": folded(nan=0.1, **NUMBERS), "min": folded(nan=0.1, **NUMBERS), "sum": folded(), "prod": folded(),
    "mean": folded(), "std": spread, "var": spread, "ptp": ordered, "nansum": folded(nan=0.3, **NUMBERS), "nanprod": folded(**NUMBERS),
    "nanmax": folded(nan=0.2, dtypes=("float64",)), "nanmin": folded(nan=0.2, dtypes=("float64",)), "nanmean": folded(nan=0.2, **NUMBERS),
    "argmax": folded(nan=0.1), "argmin": folded(nan=0.1), "count_nonzero": folded(), "cumsum": ordered, "cumprod": ordered,
    "sort": ordered, "argsort": placed, "average": weighted, "quantile": shared, "percentile": percents, "median": middles,
    "linalg.norm": normed, "cov": observed, "corrcoef": observed, "array_equal": of_pair, "allclose": near, "isclose": near,
    "pad": padded, "array_split": cut, "split": cut, "hsplit": halved, "vsplit": halved, "rot90": turned, "diagonal": crossed, "trace": crossed,
    "kron": products, "outer": products, "inner": rows_of_two, "dot": dotted, "take": places, "delete": left_out, "clip": bounds, "round": tens,
    "nan_to_num": values_for, "searchsorted": sought, "roll": rolled, "concatenate": joined, "stack": joined,
    "append": lambda d: ((d.array((4, 6)), d.array((2, 6))), {"axis": d.pick(None, 0)}),
    "vstack": of_rows, "hstack": of_rows, "unique": unique, "tril": triangle, "triu": triangle, "diag": on_a_diagonal, "moveaxis": moved,
    "argwhere": of_array(), "flatnonzero": of_array(), "fliplr": lambda d: ((d.array((4, 6), (2, 3, 4)),), {}), "flipud": of_array(),
    "nonzero": of_array(), "transpose": of_array(), "diff": lambda d: ((d.array(nan=0.1), d.pick(0, 1, 2), d.pick(0, -1)), {}),
    "vdot": lambda d: ((d.array((2, 3), **NUMBERS), d.array((2, 3), **NUMBERS)), {}), "ravel": of_array(), "squeeze": of_array(),
    "where": lambda d: ((d.array((4, 6)), d.array((4, 6)), d.pick(0, d.array((6,)))), {}), "result_type": lambda d: ((d.array(), d.array()), {}),
    "repeat": lambda d: ((d.array((4, 6)), d.pick(2, 0, [1, 0, 2, 3])), {"axis": 0}),
    "swapaxes": lambda d: ((d.array((2, 3, 4)), d.pick(0, -1), d.pick(1, -2)), {}),
}  # fmt: skip


def of_tensors(argument, made):
    """An argument in which tensors stand for arrays of two or more elements."""
    if isinstance(argument, np.ndarray):
        return made(argument)
    return [of_tensors(part, made) for part in argument] if isinstance(argument, list) and len(argument) == 3 else argument


def compared(got, want, said):
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want), said
        for ours, theirs in zip(got, want, strict=True):
            compared(ours, theirs, said)
        return
    if isinstance(want, (bool, np.dtype)):
        assert got == want and isinstance(got, type(want)), said
        return
    want = np.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype, (said, got, want.shape, want.dtype)
    found = got.to_numpy() if isinstance(got, fl.Tensor) else np.asarray(got)
    near = 2e-5 if want.dtype == np.float32 else 1e-10
    np.testing.assert_allclose(found, want, rtol=near, atol=near, err_msg=said)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_functions_are_numpys(name):
    function = np.linalg.norm if name == "linalg.norm" else getattr(np, name)
    answered = 0
    for n in range(CALLS * MORE.get(name, 1)):
        d = Draws([n, *name.encode()])
        given, named = FUNCTIONS[name](d)
        try:
            want = function(*given, **named)
        except (TypeError, ValueError, IndexError, np.exceptions.AxisError):
            for made in (lambda a: fl.asarray(a.copy()),):
                with pytest.raises((TypeError, ValueError, IndexError)):
                    function(*(of_tensors(a, made) for a in given), **named)
            continue
        for kind in ("dense", "sparse") if LONG else (("dense", "sparse")[n % 2],):
            made = lambda a: fl.asarray(a.copy(), d.pick(*FORMATS[a.ndim]) if kind == "sparse" else "dense")  # noqa: B023, E731
            said = f"call {n} of {name}, {kind}: {given!r} {named}"
            ours = [of_tensors(a, made) if not (m and name in ("take", "delete")) else a for m, a in enumerate(given)]
            try:
                got = function(*ours, **named)
            except TypeError as error:
                # Without a sparse form: the line to write is said.
                assert kind == "sparse" and "write `" in str(error), f"{said}: {error!r}"
                continue
            if kind == "dense" or not any(isinstance(a, np.ndarray) and not np.isfinite(a.astype(float)).all() for a in given):
                compared(got, want, said)
                answered += 1
    assert answered


@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat", "outer", "at"])
@pytest.mark.parametrize("format", ["dense", "csr"])
def test_methods_of_functions_of_elements_are_numpys_or_refused(method, format):
    x = np.arange(6.0).reshape(2, 3)
    for name in ("add", "multiply", "maximum", "negative", "less"):
        ufunc, T = getattr(np, name), fl.asarray(x.copy(), format)
        arguments = {"reduce": (), "accumulate": (), "reduceat": ([0],), "outer": (x,), "at": ([0], x[:1])}[method]
        try:
            want = getattr(ufunc, method)(x.copy(), *arguments)
        except (TypeError, ValueError):
            want = None
        try:
            got = getattr(ufunc, method)(T, *(fl.asarray(a.copy()) if isinstance(a, np.ndarray) else a for a in arguments))
        except (TypeError, ValueError):
            continue
        assert want is not None
        np.testing.assert_array_equal(np.asarray(got), want)
