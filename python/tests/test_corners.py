"""NumPy's corners, drawn: keys of every kind over arrays of up to four modes, and scalars at the limits of their types.

```text
 seed ──▶ shape, format, key ──▶ a[key] by NumPy, T[key] here ──▶ the same value, or an error that says what to write
 limits of types, outer pairs ──▶ function(x, y) by NumPy, and here
```
"""

import os

import numpy as np
import pytest

import fiberloom as fl
from fiberloom import array as xp

#: Whether more is drawn: `FIBERLOOM_TESTS=long`.
LONG = os.environ.get("FIBERLOOM_TESTS") == "long"

FORMATS = {1: ["sparse"], 2: ["csr", "csc", "coo", "dcsr"], 3: ["csf", "coo"], 4: ["csf", "coo"]}


def same(got, want, signs=False):
    """That a tensor is NumPy's array: shape, type, values; the signs of zeros where they are asked."""
    want = np.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype, (got, want.shape, want.dtype)
    found = got.to_numpy()
    np.testing.assert_array_equal(found, want)
    if signs and want.dtype.kind == "f":
        are_numbers = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(found)[are_numbers], np.signbit(want)[are_numbers])


# ---- keys


def drawn_slice(rng, extent):
    """A slice with ends inside of the mode, at its ends, beyond them, or none; any step."""
    ends = [None, 0, 1, -1, extent, -extent, extent + 2, -extent - 2, extent - 1]
    start, stop = (ends[rng.integers(len(ends))] for _ in range(2))
    return slice(start, stop, [None, 1, 2, 3, -1, -2, extent + 1][rng.integers(7)])


def drawn_places(rng, extent, shape):
    """Whole numbers that are places of the mode, from either end; now and then one that is none."""
    low, high = (-extent, extent) if extent else (0, 1)
    places = rng.integers(low, max(high, low + 1), shape)
    if rng.random() < 0.05 and places.size:
        places.flat[0] = extent
    return places.astype([np.int64, np.int32, np.int8, np.uint8][rng.integers(4)] if places.min(initial=0) >= 0 else np.int64)


def drawn_key(rng, shape):
    """A key: numbers, slices, new modes, `...`, masks of one mode and of several, arrays of places, lists."""
    kinds = [["whole", "slice", "new"], ["slice", "places", "mask", "new", "whole"]][rng.integers(2)]
    key, mode, arrays, is_open = [], 0, tuple(rng.integers(1, 3, rng.integers(1, 3))), False
    count = None
    while mode < len(shape):
        if not is_open and rng.random() < 0.15:
            key.append(Ellipsis)
            is_open, mode = True, int(rng.integers(mode, len(shape) + 1))
            continue
        if rng.random() < 0.15:
            break
        kind, extent = kinds[rng.integers(len(kinds))], shape[mode]
        if kind == "new":
            key.append(None)
            continue
        if kind == "mask":
            modes = int(rng.integers(1, min(2, len(shape) - mode) + 1))
            mask = rng.random(shape[mode : mode + modes]) < 0.5
            if count is not None and mask.sum() not in (1, count):
                continue
            count, mode = int(mask.sum()), mode + modes
            key.append(mask if rng.random() < 0.7 else mask.tolist())
            arrays = (count,)
            continue
        if kind == "slice":
            key.append(drawn_slice(rng, extent))
        elif kind == "whole":
            key.append([int, np.int64, np.int8][rng.integers(3)](rng.integers(-extent - (rng.random() < 0.05), max(extent, 1))))
        else:
            places = drawn_places(rng, extent, arrays[rng.integers(len(arrays)) :])
            key.append(places if rng.random() < 0.7 else places.tolist())
        mode += 1
    return key[0] if len(key) == 1 and rng.random() < 0.7 else tuple(key)


def drawn_array(rng):
    """An array of up to four modes, most of it 0, and the formats that it is read in."""
    modes = int(rng.integers(1, 5))
    shape = tuple(int(n) for n in rng.choice([1, 2, 3, 4, 5], modes))
    if rng.random() < 0.1:
        shape = (*shape[:-1], 0)
    dtype = [np.float64, np.int32, np.bool_][rng.integers(3)]
    array = (rng.integers(1, 99, shape) * (rng.random(shape) < 0.5)).astype(dtype)
    return array, ["dense", FORMATS[modes][rng.integers(len(FORMATS[modes]))]]


def by_numpy(array, key):
    """What NumPy gives, or its exception."""
    try:
        return array[key]
    except (IndexError, ValueError) as error:
        return error


@pytest.mark.parametrize("seed", range(12 if LONG else 3))
def test_keys_are_numpys(seed):
    rng = np.random.default_rng(seed)
    read = refused = 0
    for _ in range(20):
        array, formats = drawn_array(rng)
        key = drawn_key(rng, array.shape)
        want = by_numpy(array, key)
        for format in formats:
            T = fl.asarray(array.copy(), format)
            said = f"seed {seed}: {format}, {array.shape}, {key!r}"
            try:
                got = T[key]
            except (IndexError, fl.Error, TypeError) as error:
                # NumPy does not look at places where nothing is read.
                is_empty = not isinstance(want, Exception) and want.size == 0 and isinstance(error, IndexError)
                assert isinstance(want, Exception) or is_empty, f"{said}: {error!r}"
                refused += 1
            else:
                # Neither here.
                is_empty = isinstance(want, IndexError) and got.size == 0
                assert not isinstance(want, Exception) or is_empty, f"{said}: {want!r}"
                try:
                    same(got, got.to_numpy() if is_empty else want)
                except AssertionError as error:
                    raise AssertionError(f"{said}: {error}") from error
                read += 1
    assert read > 20 and refused < read


# ---- scalars at the limits of their types

INTEGERS = [np.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")]
FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]


def limits(dtype):
    """Values at the limits of a type, and about 0."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "f":
        info = np.finfo(dtype)
        near = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 1.0, -1.0, 2.0, 3.0, 1e-3, 7.25]
        far = [info.max, info.min, info.tiny, info.smallest_subnormal, 1 / info.eps, 0.5 / info.eps + 0.5]
        far += [np.inf, -np.inf, np.nan]
        return np.array(near + far, dtype)
    info = np.iinfo(dtype)
    held = {info.min, info.min + 1, 0, 1, 2, 3, 7, info.max // 2, info.max - 1, info.max, *([-1, -2, -7] if info.min else [])}
    return np.array(sorted(held), dtype)


PAIRS = ["add", "subtract", "multiply", "maximum", "minimum", "equal", "less", "less_equal", "floor_divide", "remainder"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"]
UNARY = ["negative", "abs", "sign", "square", "positive", "round", "floor", "ceil", "trunc"]
UNARY += ["isnan", "isinf", "isfinite", "signbit"]
ALL = [np.dtype(bool), *INTEGERS, *FLOATS]


def outer(dtype):
    """Each pair of values at limits."""
    x, y = np.meshgrid(limits(dtype), limits(dtype))
    return np.ascontiguousarray(x.ravel()), np.ascontiguousarray(y.ravel())


def compared(ours, theirs, signs=True):
    """That a call gives NumPy's value; where NumPy raises, an error; where only the call raises, one that says why, and True."""
    with np.errstate(all="ignore"):
        try:
            want = theirs()
        except (TypeError, ValueError, OverflowError):
            with pytest.raises((TypeError, ValueError, OverflowError)):
                ours()
            return False
        try:
            got = ours()
        except fl.OperandError as error:
            assert "not bool" in str(error), error
            return True
    same(got, want, signs)
    return False


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_pairs_of_limits(dtype):
    x, y = outer(dtype)
    refused = set()
    for name in PAIRS + BITS * (dtype.kind != "f"):
        function = getattr(np, name)
        # Of 0 and -0 either is the greater.
        signs = name not in ("maximum", "minimum")
        if compared(lambda: function(fl.asarray(x.copy()), fl.asarray(y.copy())), lambda: function(x, y), signs):
            refused.add(name)
    assert refused == ({"floor_divide", "remainder", "left_shift", "right_shift"} if dtype.kind == "b" else set())


OF_FORMATS = [(name, formats) for name in ("bool", "int8", "uint64", "float32") for formats in (("csr", "coo"), ("csc", "dense"))]


# In the usual run each of the formats with two of the types.
@pytest.mark.parametrize("name, formats", OF_FORMATS if LONG else OF_FORMATS[:4:3] + OF_FORMATS[4::3])
def test_pairs_of_limits_of_sparse_arrays(name, formats):
    """What is not stored is 0. Of floats 0 times x is 0 whatever x is, so that products and quotients are not compared."""
    rng, dtype = np.random.default_rng(3), np.dtype(name)
    stand = limits(dtype)
    x, y = (np.where(rng.random((6, 7)) < 0.5, rng.choice(stand, (6, 7)), dtype.type(0)) for _ in range(2))
    A, B = fl.asarray(x.copy(), formats[0]), fl.asarray(y.copy(), formats[1])
    folding = {"multiply", "floor_divide", "remainder"}
    for name in PAIRS + BITS * (dtype.kind != "f"):
        if not (dtype.kind == "f" and name in folding):
            function = getattr(np, name)
            compared(lambda: function(A, B), lambda: function(x, y), signs=False)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_limits(dtype):
    x = limits(dtype)
    T, refused = fl.asarray(x.copy()), set()
    for name in UNARY:
        if compared(lambda: getattr(np, name)(T), lambda: getattr(np, name)(x)):
            refused.add(name)
    assert refused <= ({"square", "sign", "abs", "round", "floor", "ceil", "trunc", "positive"} if dtype.kind == "b" else set())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_halves_are_rounded_to_the_even_one(dtype):
    most = 0.5 / np.finfo(dtype).eps
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, most - 0.5, most + 0.5, most + 1.5, -most - 0.5, -0.0], dtype)
    for name in ("rint", "round", "floor", "ceil", "trunc"):
        same(getattr(np, name)(fl.asarray(x.copy())), getattr(np, name)(x), signs=True)
        rows = np.zeros((2, 12), dtype)
        rows[1] = x
        same(getattr(np, name)(fl.asarray(rows, "csr")), getattr(np, name)(rows))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_division_by_zero_and_shifts_at_the_width(dtype):
    x, bits = limits(dtype), np.iinfo(dtype).bits
    T = fl.asarray(x.copy())
    zeros = np.zeros_like(x)
    with np.errstate(all="ignore"):
        for zero, number in ((fl.asarray(zeros), zeros), (0, 0)):
            same(T // zero, x // number)
            same(T % zero, x % number)
        for by in (0, 1, bits - 1, bits, bits + 1, 2 * bits - 1, 2 * bits):
            if by > np.iinfo(dtype).max:
                continue
            places = np.full_like(x, by)
            for mine, others in ((by, by), (fl.asarray(places), places)):
                same(T << mine, x << others)
                same(T >> mine, x >> others)


NUMBERS = [-1, 0, 1, 127, 128, 255, 256, 2**31, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 2.5, True]
OPERATORS = {
    "+": lambda x, c: x + c,
    "- from": lambda x, c: c - x,
    "*": lambda x, c: x * c,
    "/": lambda x, c: x / c,
    "//": lambda x, c: x // c,
    "// of": lambda x, c: c // x,
    "%": lambda x, c: x % c,
    "% of": lambda x, c: c % x,
    "<": lambda x, c: x < c,
    ">=": lambda x, c: x >= c,
    "==": lambda x, c: x == c,
}


@pytest.mark.parametrize("dtype", [np.dtype(name) for name in ("int8", "uint8", "int64", "uint64", "float32")], ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_numbers_of_python_at_limits(name, dtype):
    x = limits(dtype)
    T = fl.asarray(x.copy())
    for number in NUMBERS:
        compared(lambda: OPERATORS[name](T, number), lambda: OPERATORS[name](x, number))


#: The functions of floats: NumPy's names, and whether they are as exact as its own.
OF_FLOATS = ["sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos"]
OF_FLOATS += ["arctan", "arcsinh", "arccosh", "arctanh", "reciprocal"]
OF_PAIRS = ["arctan2", "hypot", "copysign", "nextafter", "logaddexp", "divide"]


@pytest.mark.parametrize("name", OF_FLOATS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_functions_of_limits(name, dtype):
    x = limits(dtype)
    x = x[(np.abs(x) < 1e3) | ~np.isfinite(x)] if name in ("sin", "cos", "tan") else x
    with np.errstate(all="ignore"):
        got, want = getattr(np, name)(fl.asarray(x.copy())), getattr(np, name)(x)
    assert got.dtype == dtype
    np.testing.assert_allclose(got.to_numpy(), want, rtol=4 * np.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("name", OF_PAIRS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_functions_of_pairs_of_limits(name, dtype):
    x, y = outer(dtype)
    with np.errstate(all="ignore"):
        got, want = getattr(np, name)(fl.asarray(x.copy()), fl.asarray(y.copy())), getattr(np, name)(x, y)
    assert got.dtype == dtype
    found = got.to_numpy()
    np.testing.assert_allclose(found, want, rtol=4 * np.finfo(dtype).eps, atol=0)
    are_numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(found)[are_numbers], np.signbit(want)[are_numbers])


def bounded(value, least, most):
    """What `clip` is of numbers of Python's."""
    value = value if least is None else max(value, least)
    return value if most is None else min(value, most)


@pytest.mark.parametrize("format", ["dense", "coo"])
@pytest.mark.parametrize("dtype", [*INTEGERS[:5], np.dtype("uint64"), *FLOATS], ids=str)
def test_bounds_at_limits(dtype, format):
    """Bounds are Python's numbers: those beyond a type's limits keep all, or there is no such value."""
    rng = np.random.default_rng(dtype.num)
    x = np.stack([limits(dtype)] * 2)
    x = x[:, np.isfinite(x[0])]
    T, info = fl.asarray(x.copy(), format), np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    answered = refused = 0
    for _ in range(16):
        near = [info.min, info.max, 0, 1, 5, -3, 2.5, 7.0, None]
        near += [info.min - 1, info.max + 1, info.min + 1, info.max - 1] if dtype.kind != "f" else []
        least, most = (near[n] if near[n] is None else type(near[n])(near[n]) for n in rng.integers(len(near), size=2))
        want = [[bounded(value, least, most) for value in row] for row in x.tolist()]
        try:
            got = T.clip(least, most)
        except fl.OperandError:
            # No value, or none that all bounds are of.
            assert any(b is not None and (b != int(b) or not info.min <= b <= info.max) for b in (least, most))
            refused += 1
        else:
            assert dtype.kind == "f" or all(value == int(value) for row in want for value in row), (least, most)
            same(got, np.array(want, dtype))
            answered += 1
    assert answered > 4 and (refused or dtype.kind == "f")


@pytest.mark.parametrize("format", ["dense", "csr"])
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_conversions_of_limits(dtype, format):
    """What a type holds is itself, what it does not hold is its nearest, and anything but 0 is true."""
    x = limits(dtype)
    x = x[~np.isnan(x)] if dtype.kind == "f" else x
    x = np.stack([x, np.zeros_like(x)])
    # From each type to each other one, dense or sparse.
    for to in ALL if LONG else ALL[(ALL.index(dtype) + (format == "csr")) % 2 :: 2]:
        if to.kind == "b":
            want = x != 0
        elif to.kind == "f":
            with np.errstate(all="ignore"):
                want = x.astype(to)
        else:
            info, numbers = np.iinfo(to), [[v if np.isinf(v) else int(v) for v in row] for row in x.tolist()]
            want = np.array([[bounded(value, info.min, info.max) for value in row] for row in numbers], object).astype(to)
        got = fl.asarray(x.copy(), format).astype(to)
        same(got, want)
        assert got.format == format


def test_functions_that_the_namespace_has_not_are_numpys_of_dense_tensors():
    x = np.array([0.5, -8.0, np.nan])
    for function in (np.cbrt, np.exp2, np.degrees, np.fabs, np.spacing):
        np.testing.assert_array_equal(function(fl.asarray(x.copy())), function(x))
        with pytest.raises(TypeError, match=rf"write `numpy.{function.__name__}\(T.to_numpy\(\)\)`"):
            function(fl.asarray(x.copy(), "sparse"))
    for function in (np.fmax, np.fmin, np.fmod, np.heaviside):
        np.testing.assert_array_equal(function(fl.asarray(x.copy()), x[::-1]), function(x, x[::-1]))
    # Of integers the namespace's reciprocal is a float, and NumPy's a whole number.
    n = np.array([-2, -1, 1, 2, 100])
    np.testing.assert_array_equal(xp.reciprocal(fl.asarray(n.copy())).to_numpy(), 1 / n)
    np.testing.assert_array_equal(np.reciprocal(fl.asarray(n.copy())), np.reciprocal(n))


# ---- reductions

REDUCED = {
    "floats": np.array([[1.5, np.nan, -2.0], [np.inf, 0.0, 3.0]]),
    "large floats": np.array([[3.4e38, 3.4e38], [1.0, -3.4e38]], np.float32),
    "int8": np.array([[127, 127, -128], [1, 127, 5]], np.int8),
    "uint8": np.array([[255, 255], [3, 0]], np.uint8),
    "int32": np.full((2, 3), 2**31 - 1, np.int32),
    "int64": np.array([[2**63 - 1, 1, 5], [-(2**63), -1, 0]]),
    "uint64": np.array([[2**64 - 1, 1], [7, 2**63]], np.uint64),
    "bool": np.array([[True, True, False], [False, True, False]]),
    "one": np.array([[2.0]]),
    "no rows": np.zeros((0, 3)),
}
FOLDS = ["sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "count_nonzero", "cumsum"]


@pytest.mark.parametrize("format", ["dense", "csr"])
@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.filterwarnings("ignore")
def test_reductions(name, format):
    x = REDUCED[name]
    T = fl.asarray(x.copy(), format)
    for axis in (None, 0):
        got, want = T.mean(axis=axis), np.asarray(np.mean(x, axis=axis))
        # Sums are added in another order.
        most = 0.0 if x.dtype.kind == "f" else float(np.abs(x.astype(float)).max(initial=0))
        np.testing.assert_allclose(got.to_numpy(), want, rtol=1e-6, atol=1e-15 * most)
    for n, fold in enumerate(FOLDS):
        # What is dense over all, what is sparse along an axis, of the next fold the other way round.
        for axis in (None, 1) if LONG else ((None, 1)[(n + (format == "dense")) % 2],):
            if format != "dense" and name == "floats" and fold == "prod":
                continue  # 0 by NaN is 0 where 0 is not stored.
            compared(lambda: getattr(T, fold)(axis=axis), lambda: np.asarray(getattr(np, fold)(x, axis=axis)), signs=False)


@pytest.mark.parametrize("format", ["dense", "csr"])
@pytest.mark.parametrize("name", ["floats", "int64", "bool", "one", "no rows"])
@pytest.mark.filterwarnings("ignore")
def test_corrections_at_the_count_and_above(name, format):
    x = REDUCED[name]
    T = fl.asarray(x.copy(), format)
    for fold in ("var", "std"):
        for axis in (None, 1):
            count = x.size if axis is None else x.shape[axis]
            for ddof in (0, 0.5, count - 1, count, count + 1)[(axis is None) and not LONG :: 1 if LONG else 2]:
                got, want = getattr(T, fold)(axis=axis, ddof=ddof), np.asarray(getattr(np, fold)(x, axis=axis, ddof=ddof))
                assert got.dtype == want.dtype
                np.testing.assert_allclose(got.to_numpy(), want, rtol=8 * np.finfo(want.dtype).eps)


@pytest.mark.parametrize("dtype", [np.dtype(bool), *INTEGERS], ids=str)
def test_sums_in_a_type_that_may_not_hold_the_elements(dtype):
    rng = np.random.default_rng(dtype.num)
    for to in [np.dtype(bool), *INTEGERS]:
        x = rng.choice(limits(dtype), (3, 4))
        x[rng.random((3, 4)) < 0.3] = 0
        fold = ["sum", "prod", "cumsum", "cumprod"][rng.integers(4)]
        axis, format = [None, 0, -1][rng.integers(3)], "dense" if fold[:3] == "cum" else ["dense", "csr", "coo"][rng.integers(3)]
        got = getattr(fl.asarray(x.copy(), format), fold)(axis=axis, dtype=to)
        same(got, getattr(np, fold)(x, axis=axis, dtype=to))


# ---- powers

EXPONENTS = [np.dtype(name) for name in ("int8", "int64", "uint8", "float32", "bool")]


def drawn_exponents(rng, shape):
    """Exponents, some of them negative in half of the draws: a number of Python's or NumPy's, or an array of one type."""
    low = rng.choice([-2, 0])
    dtype = EXPONENTS[rng.integers(len(EXPONENTS))]
    if rng.random() < 0.5:
        number = int(rng.integers(low, 4))
        return number if rng.random() < 0.6 else np.int64(number)
    array = rng.integers(low, 4, [shape, shape[-1:], (*shape[:-1], 1)][rng.integers(3)])
    array = array * (rng.random(array.shape) < 0.6)
    return (np.abs(array) if dtype.kind in "bu" else array).astype(dtype)


@pytest.mark.parametrize("format", ["dense", "csr", "coo"])
@pytest.mark.parametrize("dtype", [np.dtype(name) for name in ("int8", "int64", "uint8", "uint64", "float64", "bool")], ids=str)
def test_powers_are_numpys(dtype, format):
    """Integers to a negative power are an error where there is one, and so is an exponent that the base's type does not hold."""
    rng = np.random.default_rng([dtype.num, len(format)])
    raised = 0
    for n in range(60 if LONG else 7):
        shape = (3, 4) if n % 5 else (0, 4)
        x = rng.integers(0 if dtype.kind in "bu" else -3, 4, shape).astype(dtype)
        # A negative power of nothing is nothing, and one at least is refused.
        e = -1 if not n else drawn_exponents(rng, shape) if n != 1 else rng.permutation(np.arange(-6, 6)).reshape(shape)
        T = fl.asarray(x.copy(), format)
        given = e
        if isinstance(e, np.ndarray) and rng.random() < 0.7:
            # What is not stored may be negative.
            if dtype.kind != "u" and format != "dense" and e.dtype.kind == "i":
                e = np.where(e < 0, -1, e).astype(e.dtype)
            sparse = {"fill": e.min().item()} if format != "dense" and e.size else {}
            given = fl.asarray(e.copy(), format, **sparse) if e.ndim == 2 else fl.asarray(e.copy())
        pairs = [(lambda: np.power(T, given), lambda: np.power(x, e))]
        if dtype.kind != "b":  # `x**2` of truth values has a type of its own at NumPy, and another one from version to version.
            pairs += [(lambda: T**given, lambda: x**e), (lambda: given**T, lambda: e**x)]
        for ours, theirs in pairs if LONG or n < 2 else pairs[n % len(pairs) :][:1]:
            with np.errstate(all="ignore"):
                try:
                    want = np.asarray(theirs())
                except (ValueError, OverflowError, TypeError) as error:
                    with pytest.raises((ValueError, TypeError)):
                        ours()
                    raised += "negative integer powers" in str(error)
                    continue
                if want.dtype == np.float16 or x.dtype == bool and getattr(e, "dtype", None) == bool:
                    continue  # Types that the language has not, and powers of truth values.
                got = ours()
            assert got.shape == want.shape and got.dtype == want.dtype
            np.testing.assert_allclose(got.to_numpy(), want, rtol=4e-7)
    assert raised or dtype.kind == "f" or dtype.name == "uint64"


# ---- masks


@pytest.mark.parametrize("format", ["dense", "csr", "coo"])
def test_what_is_not_a_number_under_masks(format):
    rng = np.random.default_rng(5)
    for dtype in FLOATS:
        x = np.where(rng.random((4, 6)) < 0.4, rng.choice(limits(dtype), (4, 6)), dtype.type(0))
        T = fl.asarray(x.copy(), format)
        for mask in (x > 0, np.isnan(x), ~np.isnan(x), np.zeros(x.shape, bool), np.ones(x.shape, bool)):
            same(T[mask], x[mask], signs=True)
            same(T[fl.asarray(mask.copy())], x[mask], signs=True)
            same(xp.where(fl.asarray(mask.copy()), T, fl.asarray(-x)), np.where(mask, x, -x))
        same(T[T > 0], x[x > 0])
        same(T[T != T], x[x != x])
        same(T == T, x == x)
        same(np.isnan(T), np.isnan(x))
