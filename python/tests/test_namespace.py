"""The array namespace against NumPy: values, types, shapes and fills, over formats."""

import os
import zlib

import array_api_strict
import numpy as np
import pytest

import fiberloom as fl
from fiberloom import _native

xp = fl.array

#: Whether more is drawn: `FIBERLOOM_TESTS=long`.
LONG = os.environ.get("FIBERLOOM_TESTS") == "long"

FORMATS = {
    0: ["dense"],
    1: ["dense", "sparse"],
    2: ["dense", "csr", "csc", "dcsr", "coo"],
    3: ["dense", "csf", "coo", "{dense, compressed, compressed}"],
}
SHAPES = [(), (5,), (1,), (4, 6), (1, 5), (6, 1), (0, 3), (2, 3, 4)]
FLOATS = ["float64", "float32"]
INTEGERS = ["int8", "int32", "int64", "uint8", "uint32"]
NUMBERS = FLOATS + INTEGERS


class Case:
    """An array in some type, shape and format with some fill value, drawn from a seed."""

    def __init__(self, seed: str, dtypes=NUMBERS, shapes=SHAPES, least=-4, most=4, density=0.5):
        self.random = random = np.random.default_rng(zlib.crc32(seed.encode()))
        dtype = np.dtype(dtypes[random.integers(len(dtypes))])
        shape = shapes[random.integers(len(shapes))]
        low = 0 if dtype.kind in "ub" else least
        fill = dtype.type(random.choice([0, 0, 1]))
        values = random.integers(low, 1 if dtype.kind == "b" else most, shape, endpoint=True).astype(dtype)
        if dtype.kind == "f":
            values = values + (random.random(shape) * 0.5).astype(dtype)
        self.array = np.where(random.random(shape) < density, values, fill).astype(dtype)
        formats = FORMATS.get(len(shape), ["dense", "coo"])
        self.format = formats[random.integers(len(formats))]
        self.tensor = fl.asarray(self.array, self.format, fill=fill.item())


def draws(name: str, number: int = 3, **how):
    return [Case(f"{name} {n}", **how) for n in range(number)]


def same(got, want, rtol=None, dtype=True):
    """Whether a result is NumPy's: shape, type and values."""
    want = np.asarray(want)
    assert isinstance(got, fl.Tensor)
    assert got.shape == want.shape
    assert not dtype or got.dtype == want.dtype
    if rtol is None:
        rtol = {"float32": 2e-6, "float64": 1e-13}.get(got.dtype.name, 0)
    np.testing.assert_allclose(got.to_numpy(), want, rtol=rtol, atol=rtol)


def quiet(function, *arguments, **named):
    with np.errstate(all="ignore"):
        return function(*arguments, **named)


# ---- functions of elements

UNARY = {
    "acos": (-1, 1),
    "acosh": (1, 4),
    "asin": (-1, 1),
    "asinh": (-4, 4),
    "atan": (-4, 4),
    "atanh": (-1, 1),
    "cos": (-4, 4),
    "cosh": (-4, 4),
    "exp": (-4, 4),
    "expm1": (-4, 4),
    "log": (1, 4),
    "log1p": (0, 4),
    "log2": (1, 4),
    "log10": (1, 4),
    "sin": (-4, 4),
    "sinh": (-4, 4),
    "sqrt": (0, 4),
    "tan": (-4, 4),
    "tanh": (-4, 4),
    "reciprocal": (1, 4),
    "ceil": (-4, 4),
    "floor": (-4, 4),
    "round": (-4, 4),
    "trunc": (-4, 4),
    "isfinite": (-4, 4),
    "isinf": (-4, 4),
    "isnan": (-4, 4),
    "abs": (-4, 4),
    "negative": (-4, 4),
    "positive": (-4, 4),
    "sign": (-4, 4),
    "signbit": (-4, 4),
    "square": (-4, 4),
    "logical_not": (-4, 4),
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(name):
    least, most = UNARY[name]
    whole = name in ("ceil", "floor", "round", "trunc", "abs", "negative", "positive", "sign", "square", "logical_not")
    for case in draws(name, dtypes=NUMBERS if whole else FLOATS, least=least, most=most):
        array = case.array
        if name in ("acos", "asin", "atanh"):
            array = (array / 8).astype(array.dtype)
        if name in ("acosh", "log", "log2", "log10", "reciprocal"):
            array = (np.abs(array) + 1).astype(array.dtype)
        tensor = fl.asarray(array, case.format, fill=array.flat[0].item() if array.size else 1.0)
        same(getattr(xp, name)(tensor), quiet(getattr(np, name), array))


BINARY = {
    "add": NUMBERS + ["bool"],
    "subtract": NUMBERS,
    "multiply": NUMBERS + ["bool"],
    "divide": FLOATS,
    "floor_divide": NUMBERS,
    "remainder": NUMBERS,
    "pow": FLOATS + ["uint8", "uint32"],
    "maximum": NUMBERS,
    "minimum": NUMBERS,
    "atan2": FLOATS,
    "copysign": FLOATS,
    "hypot": FLOATS,
    "nextafter": FLOATS,
    "logaddexp": FLOATS,
    "bitwise_and": INTEGERS + ["bool"],
    "bitwise_or": INTEGERS + ["bool"],
    "bitwise_xor": INTEGERS + ["bool"],
    "bitwise_left_shift": INTEGERS,
    "bitwise_right_shift": INTEGERS,
    "logical_and": NUMBERS + ["bool"],
    "logical_or": NUMBERS + ["bool"],
    "logical_xor": NUMBERS + ["bool"],
    "equal": NUMBERS + ["bool"],
    "not_equal": NUMBERS + ["bool"],
    "less": NUMBERS + ["bool"],
    "less_equal": NUMBERS,
    "greater": NUMBERS,
    "greater_equal": NUMBERS,
}


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays(name):
    pairs = [((4, 6), (4, 6)), ((4, 6), (6,)), ((4, 1), (1, 6)), ((2, 3, 4), (3, 1)), ((), (5,)), ((0, 3), (1, 3))]
    for n in range(3):
        random = np.random.default_rng(zlib.crc32(f"{name} pair {n}".encode()))
        left, right = pairs[random.integers(len(pairs))]
        dtype = BINARY[name][random.integers(len(BINARY[name]))]
        a = Case(f"{name} left {n}", [dtype], [left])
        b = Case(f"{name} right {n}", [dtype], [right])
        divisor, y = b.array, b.tensor
        if name in ("divide", "floor_divide", "remainder"):
            divisor = np.where(divisor == 0, 3, divisor).astype(dtype)
        if name == "pow" or "shift" in name:
            divisor = np.abs(divisor)
        if divisor is not b.array:
            y = fl.asarray(divisor, b.format)
        base = np.abs(a.array) + 1 if name == "pow" else a.array
        x = fl.asarray(base.astype(dtype), a.format, fill=np.abs(a.tensor.fill_value) + (name == "pow"))
        same(getattr(xp, name)(x, y), quiet(getattr(np, name), base.astype(dtype), divisor))


def test_comparisons_with_numbers_that_a_type_does_not_hold():
    a = np.array([0, 7, 255], dtype=np.uint8)
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        for number in (-1, 256):
            same(getattr(xp, name)(fl.asarray(a), number), getattr(np, name)(a, number))
            same(getattr(xp, name)(number, fl.asarray(a)), getattr(np, name)(number, a))


def test_shifts_by_the_width_leave_nothing_or_the_sign():
    a, by = np.array([-5, 5, 7], dtype=np.int8), np.array([8, 9, 100], dtype=np.int8)
    same(xp.bitwise_left_shift(fl.asarray(a), fl.asarray(by)), np.left_shift(a, by))
    same(xp.bitwise_right_shift(fl.asarray(a), fl.asarray(by)), np.right_shift(a, by))


def test_quotients_of_integers_by_zero_are_numpys():
    a, b = np.array([5, -5, 0], dtype=np.int32), np.zeros(3, dtype=np.int32)
    same(xp.floor_divide(fl.asarray(a), fl.asarray(b)), quiet(np.floor_divide, a, b))
    same(xp.remainder(fl.asarray(a), fl.asarray(b)), quiet(np.remainder, a, b))


def test_elements_of_dense_arrays_are_those_of_ieee_754():
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])
    a, b = special[:, None], special[None, :]
    for name in ("add", "subtract", "multiply", "divide", "atan2", "hypot", "maximum", "pow", "copysign"):
        got = getattr(xp, name)(fl.asarray(a), fl.asarray(b)).to_numpy()
        want = quiet(getattr(np, name), a, b)
        if name == "copysign":  # All NaNs are one, without a sign.
            got, want = got[:, :-1], want[:, :-1]
        np.testing.assert_array_equal(got, want)
        whole = ~np.isnan(want) & (name != "maximum")  # Of two zeros NumPy's is any.
        np.testing.assert_array_equal(np.signbit(got)[whole], np.signbit(want)[whole])
    for name in ("sqrt", "exp", "log", "floor", "sign", "isnan", "isinf", "isfinite", "signbit"):
        got, want = getattr(xp, name)(fl.asarray(special)).to_numpy(), quiet(getattr(np, name), special)
        np.testing.assert_allclose(got, want, rtol=4e-16)


def test_zero_by_zero_is_as_the_page_says():
    zeros = fl.asarray(np.zeros(3))
    fused = xp.sum(fl.lazy(zeros) / zeros)
    assert np.isnan(float(xp.sum(zeros / zeros))) and np.isnan(float((fl.lazy(zeros) / zeros).compute()[0]))
    assert float(fused.compute()) == 0
    assert np.isnan(float(fused.compute(options={"mode": "strict"})))


@pytest.mark.parametrize("format", ["dense", "csr"])
def test_clip(format):
    for n, (low, high) in enumerate([(-1, 2), (None, 1), (0, None), (-1.5, 2.5)]):
        case = Case(f"clip {n}", FLOATS, [(4, 6)])
        tensor = fl.asarray(case.array, format)
        same(xp.clip(tensor, low, high), np.clip(case.array, low, high))
    whole = np.array([[-100, 3, 0], [7, 0, 100]], dtype=np.int8)
    same(xp.clip(fl.asarray(whole, format), -1000, 5), np.clip(whole, -128, 5).astype(np.int8))
    low = np.array([0, 1, 2], dtype=np.int8)
    same(xp.clip(fl.asarray(whole, format), fl.asarray(low)), np.clip(whole, low, None))


@pytest.mark.parametrize("format", ["dense", "csr", "coo"])
def test_where(format):
    case = Case("where", FLOATS, [(4, 6)])
    tensor = fl.asarray(case.array, format)
    same(xp.where(tensor > 0, tensor, -1.0), np.where(case.array > 0, case.array, case.array.dtype.type(-1)))
    row = np.arange(6, dtype=np.int64)
    same(xp.where(tensor > 0, fl.asarray(row), tensor), np.where(case.array > 0, row, case.array))
    same(xp.where(tensor > 0, 1, 2), np.where(case.array > 0, 1, 2))


@pytest.mark.parametrize("to", NUMBERS + ["bool"])
def test_astype(to):
    for case in draws(f"astype {to}", 2, dtypes=NUMBERS + ["bool"], least=0):
        same(xp.astype(case.tensor, getattr(xp, to)), case.array.astype(to))


# ---- operators and types


@pytest.mark.parametrize("format", ["dense", "csr"])
def test_operators_and_their_mirror_images(format):
    a = np.array([[1, 0, 3], [0, 2, 5]], dtype=np.int32)
    b = np.array([[2, 1, 2], [1, 1, 1]], dtype=np.int32)
    x, y = fl.asarray(a, format), fl.asarray(b, format)
    same(x + y, a + b)
    same(3 - x, 3 - a)
    same(x * 2.5, a * 2.5)
    same(1 / y, 1 / b)
    same(x // y, a // b)
    same(7 % y, 7 % b)
    same(x**y, a**b)
    same(2**y, 2**b)
    same(x & y, a & b)
    same(1 | x, 1 | a)
    same(x ^ y, a ^ b)
    same(x << 2, a << 2)
    same(x >> y, a >> b)
    same(x @ y.T, a @ b.T)
    same(a @ y.T, a @ b.T)
    same(-x, -a)
    same(+x, +a)
    same(abs(-x), abs(-a))
    same(~x, ~a)
    for compare in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
        same(getattr(x, compare)(y), getattr(a, compare)(b))
    same(x == 2, a == 2)
    same(b + x, a + b)
    assert {x: 1}[x] == 1


@pytest.mark.parametrize("format", ["dense", "csr"])
def test_numpys_functions_of_tensors_are_the_namespaces(format):
    a = np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 5.0]])
    x = fl.asarray(a, format)
    for name in ("sin", "arctan", "absolute", "rint", "negative", "isnan"):
        same(getattr(np, name)(x), getattr(np, name)(a))
    same(np.power(a, x), a**a)
    same(a[0] - x, a[0] - a)
    same((a > fl.lazy(x)).compute(), a > a)
    into = a.copy()
    into += x
    np.testing.assert_array_equal(into, a + a)
    assert np.multiply(a, x, out=into) is into and (into == a * a).all()
    with pytest.raises(TypeError, match="same_kind"):
        np.add(a, x, out=np.zeros((2, 3), int))
    with pytest.raises(TypeError):
        np.add(a, x, out=x)
    with pytest.raises(TypeError):
        np.add.reduce(x)
    # What the namespace has not is NumPy's, of ndarrays.
    if format == "dense":
        np.testing.assert_array_equal(np.spacing(x), np.spacing(a))
    else:
        with pytest.raises(TypeError, match=r"write `numpy.spacing\(T.to_numpy\(\)\)`"):
            np.spacing(x)


def test_what_is_no_array_is_left_to_its_own_operators():
    x = fl.asarray(np.ones(2))
    with pytest.raises(TypeError):
        x + [1.0, 2.0]
    with pytest.raises(TypeError):
        x + "1"
    assert (x == "1") is False


def test_types_are_promoted_as_numpys():
    types = [np.dtype(name) for name in NUMBERS + ["bool", "int16", "uint16", "uint64"]]
    for a in types:
        for b in types:
            got = xp.multiply(fl.lazy(np.ones(2, a)), fl.lazy(np.ones(2, b))).dtype
            assert got == np.multiply(np.ones(2, a), np.ones(2, b)).dtype == xp.result_type(a, b)
        for number in (True, 2, 2.5):
            got = xp.add(fl.lazy(np.ones(2, a)), number).dtype
            assert got == np.add(np.ones(2, a), number).dtype


def test_types_of_functions_are_the_standards():
    for name in ("float32", "float64"):
        strict = array_api_strict.ones((2,), dtype=getattr(array_api_strict, name))
        ours = fl.lazy(np.ones(2, name))
        for function in ("sin", "floor", "isnan", "sum", "mean", "var", "std", "max", "argmax", "any", "cumulative_sum"):
            want = getattr(array_api_strict, function)(strict).dtype
            assert getattr(xp, function)(ours).dtype.name == str(want).rpartition(".")[2]


def test_numbers_that_a_type_does_not_hold_are_refused():
    with pytest.raises(fl.OperandError):
        fl.asarray(np.ones(2, np.int8)) + 300
    with pytest.raises(fl.OperandError):
        xp.bitwise_and(fl.asarray(np.ones(2)), 1)
    with pytest.raises(fl.OperandError, match="numbers, not bool"):
        fl.asarray(np.ones(2, bool)) - fl.asarray(np.ones(2, bool))
    with pytest.raises(fl.OperandError, match="complex128"):
        fl.asarray(np.ones(2)) + np.ones(2, complex)


def test_an_array_without_modes_is_a_number():
    assert float(fl.asarray(np.float64(2.5))) == 2.5
    assert int(fl.asarray(np.int32(7))) == 7 and bool(fl.asarray(np.bool_(True)))
    assert [1, 2, 3][fl.asarray(np.int64(1))] == 2
    assert bool(fl.lazy(np.float64(3)) > 2)
    with pytest.raises(TypeError):
        bool(fl.asarray(np.ones(2)))
    with pytest.raises(TypeError):
        range(fl.asarray(np.float64(2)))


# ---- folds

FOLDS = {
    "sum": NUMBERS + ["bool"],
    "prod": NUMBERS,
    "min": NUMBERS,
    "max": NUMBERS,
    "mean": FLOATS,
    "var": FLOATS,
    "std": FLOATS,
    "any": NUMBERS + ["bool"],
    "all": NUMBERS + ["bool"],
    "count_nonzero": NUMBERS + ["bool"],
}
AXES = [None, 0, -1, (0, -1), ()]


@pytest.mark.parametrize("name", FOLDS)
def test_folds(name):
    shapes = [(5,), (4, 6), (2, 3, 4), (1, 5)]
    for n, case in enumerate(draws(name, 5, dtypes=FOLDS[name], shapes=shapes)):
        axis = AXES[n]
        if axis == (0, -1) and case.array.ndim == 1:
            axis = -1
        for keepdims in (False, True)[: 1 + n % 2]:
            got = getattr(xp, name)(case.tensor, axis=axis, keepdims=keepdims)
            want = getattr(np, name)(case.array, axis=axis, keepdims=keepdims)
            same(
                got,
                want,
                rtol={"float32": 1e-5, "float64": 1e-12}.get(got.dtype.name),
                dtype=name != "count_nonzero" or axis != (),
            )


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_extremes(name):
    for n, case in enumerate(draws(name, 4, shapes=[(5,), (4, 6), (2, 3, 4)])):
        axis = [None, 0, -1, 0][n]
        same(getattr(xp, name)(case.tensor, axis=axis), getattr(np, name)(case.array, axis=axis))
    nan = np.array([[1.0, np.nan, 0.0, np.nan], [3.0, 3.0, 3.0, 2.0]])
    same(getattr(xp, name)(fl.asarray(nan), axis=1), getattr(np, name)(nan, axis=1))
    same(getattr(xp, name)(fl.asarray(nan), axis=1, keepdims=True), getattr(np, name)(nan, axis=1, keepdims=True))


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_running_folds(name):
    for n, case in enumerate(draws(name, 3, shapes=[(7,), (4, 6), (1, 5)], least=1, most=2)):
        axis = [0, -1, 0][n]
        for first in (False, True):
            got = getattr(xp, name)(case.tensor, axis=axis, include_initial=first)
            want = getattr(np, name)(case.array, axis=axis, include_initial=first)
            same(got, want, rtol=1e-5 if got.dtype == np.float32 else 1e-12 if got.dtype == np.float64 else 0)


def test_folds_over_nothing():
    empty = fl.asarray(np.zeros((0, 3)))
    same(xp.sum(empty, axis=0), np.zeros(3))
    same(xp.prod(empty), np.float64(1))
    same(xp.any(empty, axis=0), np.zeros(3, bool))
    same(xp.all(empty), np.bool_(True))
    assert np.isnan(float(xp.mean(empty)))
    assert np.isnan(float(xp.var(fl.asarray(np.ones(1)), correction=1)))
    with pytest.raises(fl.Error, match="extent 0"):
        xp.max(empty, axis=0)
    same(xp.max(empty, axis=1), np.zeros(0))


def test_a_variance_is_computed_with_its_mean_before():
    x = fl.lazy(np.arange(6.0).reshape(2, 3))
    text = xp.var(x, axis=1).program()[0].splitlines()
    assert text[-2].startswith("W0[k") and text[-1].startswith("Out[i0] = (sum(k0: square_f64(")


def test_sums_in_another_type():
    a = np.array([100, 100], dtype=np.int8)
    same(xp.sum(fl.asarray(a)), np.int64(200))
    same(xp.sum(fl.asarray(a), dtype=xp.float32), np.float32(200))
    same(xp.sum(fl.asarray(a.astype(np.uint8))), np.uint64(200))


# ---- products


@pytest.mark.parametrize(
    "shapes", [((4, 6), (6, 3)), ((6,), (6, 2)), ((2, 6), (6,)), ((6,), (6,)), ((2, 1, 4, 3), (5, 3, 2))], ids=str
)
def test_matrix_products(shapes):
    for n in range(2):
        a, b = (Case(f"matmul {shape} {n}", NUMBERS[n::2], [shape]) for shape in shapes)
        same(xp.matmul(a.tensor, b.tensor), np.matmul(a.array, b.array), rtol=1e-5)


@pytest.mark.parametrize("axes", [0, 1, 2, ((0, 1), (1, 0)), ((-1,), (0,))], ids=str)
def test_tensordot(axes):
    a = Case("tensordot left", FLOATS, [(3, 3)])
    b = Case("tensordot right", FLOATS, [(3, 3)])
    same(xp.tensordot(a.tensor, b.tensor, axes=axes), np.tensordot(a.array, b.array, axes=axes), rtol=1e-5)


def test_vecdot():
    a, b = Case("vecdot left", FLOATS, [(4, 6)]), Case("vecdot right", FLOATS, [(6,)])
    same(xp.vecdot(a.tensor, b.tensor), np.vecdot(a.array, b.array), rtol=1e-5)
    same(xp.vecdot(a.tensor, a.tensor, axis=-2), (a.array * a.array).sum(0), rtol=1e-5)
    with pytest.raises(fl.MismatchError):
        xp.vecdot(a.tensor, fl.asarray(np.ones(5)))


# ---- shapes

ARRAYS = [Case(f"shapes {n}", shapes=[shape]) for n, shape in enumerate([(4, 6), (4, 6), (4, 6), (2, 3, 4), (6, 4), (1, 6)])]

MOVES = {
    "reshape to vectors": lambda p, x: p.reshape(x, (-1,)),
    "reshape": lambda p, x: p.reshape(x, (2, -1)),
    "reshape to four modes": lambda p, x: p.reshape(x, (2, 1, -1, 3)),
    "flip": lambda p, x: p.flip(x),
    "flip rows": lambda p, x: p.flip(x, axis=0),
    "roll": lambda p, x: p.roll(x, 3),
    "roll axes": lambda p, x: p.roll(x, (1, -2), axis=(0, 1)),
    "concat": lambda p, x: p.concat([x, x[:1], x], axis=0),
    "concat last": lambda p, x: p.concat([x, x], axis=-1),
    "concat all": lambda p, x: p.concat([x, x], axis=None),
    "stack": lambda p, x: p.stack([x, x[::-1]]),
    "stack last": lambda p, x: p.stack([x, x], axis=-1),
    "stack many": lambda p, x: p.stack([x] * 10, axis=1),
    "broadcast_to": lambda p, x: p.broadcast_to(x, (2, *x.shape)),
    "expand_dims": lambda p, x: p.expand_dims(x, axis=1),
    "expand_dims twice": lambda p, x: p.expand_dims(x, axis=(0, -1)),
    "squeeze": lambda p, x: p.squeeze(x[:1], axis=0),
    "permute_dims": lambda p, x: p.permute_dims(x, tuple(range(x.ndim))[::-1]),
    "moveaxis": lambda p, x: p.moveaxis(x, 0, -1),
    "matrix_transpose": lambda p, x: p.matrix_transpose(x),
    "repeat": lambda p, x: p.repeat(x, 3, axis=1),
    "repeat all": lambda p, x: p.repeat(x, 2),
    "repeat each": lambda p, x: p.repeat(x, np.arange(x.shape[0]), axis=0),
    "tile": lambda p, x: p.tile(x, (2, 1, 3)),
    "tile last": lambda p, x: p.tile(x, (2,)),
    "tril": lambda p, x: p.tril(x, k=1),
    "triu": lambda p, x: p.triu(x, k=-1),
    "diff": lambda p, x: p.diff(x, n=2),
    "slices": lambda p, x: x[1:4:2, ::-1],
    "slices backwards": lambda p, x: x[::-2, 5:0:-2],
    "slices and a mode": lambda p, x: x[-1, None, ..., 1:3],
    "a row": lambda p, x: x[0],
    "an element": lambda p, x: x[(0,) * x.ndim],
    "nothing": lambda p, x: x[3:1],
    "places": lambda p, x: x[np.array([0, -1, 0])],
    "places of two modes": lambda p, x: x[np.array([[0], [-1]]), np.array([1, 3, -2])],
    "places apart": lambda p, x: x[None, np.array([0, -1]), ..., np.array([1, 0])],
    "take": lambda p, x: p.take(x, np.array([2, -1, 0]), axis=1),
}


class Numpy:
    """NumPy where it spells a function otherwise."""

    def __getattr__(self, name):
        return getattr(np, name)

    def tril(self, x, k):
        return np.tril(x, k)

    def triu(self, x, k):
        return np.triu(x, k)


def moves(name, case):
    try:
        return np.asarray(MOVES[name](Numpy(), case.array))
    except (ValueError, IndexError):
        return None


@pytest.mark.parametrize("name", MOVES)
def test_moves(name):
    tried = 0
    for n, case in enumerate(ARRAYS):
        want = moves(name, case)
        if want is None or (n + len(name)) % 2:
            continue
        tried += 1
        same(MOVES[name](xp, case.tensor), want)
    assert tried


@pytest.mark.parametrize("name", MOVES)
def test_moves_of_expressions_are_one_kernel(name):
    case = next(case for case in ARRAYS if moves(name, case) is not None and case.array.dtype != np.uint8)
    dtype = case.array.dtype
    want = MOVES[name](Numpy(), MOVES["flip"](Numpy(), case.array) * dtype.type(2))
    got = MOVES[name](xp, fl.lazy(xp.flip(fl.lazy(case.tensor)) * 2))
    assert isinstance(got, fl._lazy.Lazy)
    same(got.compute(), np.asarray(want))
    same((got + 1).sum().compute(), (np.asarray(want) + dtype.type(1)).sum(), rtol=1e-5)


def test_parts():
    case = Case("unstack", shapes=[(4, 6)])
    for got, want in zip(xp.unstack(case.tensor, axis=1), case.array.T, strict=True):
        same(got, want)
    for got, want in zip(case.tensor, case.array, strict=True):
        same(got, want)
    for got, want in zip(
        xp.broadcast_arrays(case.tensor, fl.asarray(np.ones(6))), np.broadcast_arrays(case.array, np.ones(6)), strict=True
    ):
        same(got, want)
    grid = np.arange(3.0), np.arange(2.0)
    for indexing in ("xy", "ij"):
        ours = xp.meshgrid(*map(fl.asarray, grid), indexing=indexing)
        for got, want in zip(ours, np.meshgrid(*grid, indexing=indexing), strict=True):
            same(got, want)


def test_places_along_an_axis():
    a = np.array([[3.0, 0.0, 1.0], [0.0, 5.0, 2.0]])
    places = np.argsort(a, axis=1)
    for format in ("dense", "csr"):
        same(xp.take_along_axis(fl.asarray(a, format), fl.asarray(places), axis=1), np.take_along_axis(a, places, axis=1))
    same(
        xp.searchsorted(fl.asarray(np.array([1.0, 2.0, 2.0, 5.0])), fl.asarray(a)), np.searchsorted([1.0, 2.0, 2.0, 5.0], a)
    )


def test_six_modes():
    case = Case("six", FLOATS, [(2, 1, 3, 2, 1, 2)])
    for format in ("dense", "coo", "csf"):
        x, a = fl.asarray(case.array, format), case.array
        same(x + 1, a + 1)
        same(xp.sum(x, axis=(0, 3)), a.sum(axis=(0, 3)), rtol=1e-5)
        same(x[1, ..., ::-1], a[1, ..., ::-1])
        same(xp.reshape(x, (6, 4)), a.reshape(6, 4))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)], ids=str)
def test_empty_arrays(shape):
    a = np.zeros(shape)
    x = fl.asarray(a)
    same(x + 1, a + 1)
    same(xp.flip(x), a)
    same(xp.reshape(x, (0, 7)), a.reshape(0, 7))
    same(xp.concat([x, x], axis=0), np.concatenate([a, a]))
    same(xp.stack([x, x]), np.stack([a, a]))
    same(x[..., :0], a[..., :0])
    same(xp.sum(x, axis=-1), a.sum(axis=-1))
    same(xp.broadcast_to(x, (2, *shape)), np.broadcast_to(a, (2, *shape)))
    same(xp.cumulative_sum(x, axis=0), np.cumsum(a, axis=0))


# ---- what depends on values


def valued(number: int = 12):
    """Arrays with equal elements and NaN, in dense and sparse formats, whose fill value may be 1."""
    for n in range(number):
        dtype, fill = ("float64", "int32", "uint8", "bool")[n % 4], n // 6
        case = Case(f"values {n}", [dtype], [[(5,), (4, 6), (2, 3, 4), (3, 1)][n % 3], (0, 3)][n == 7 :][:1])
        array = case.array.astype(np.float64).round().astype(dtype)
        if dtype == "float64" and n % 3:
            array.flat[array.size // 2] = np.nan
        if dtype == "float64" and n % 8 == 4:
            # What is not stored is no number.
            array[array == fill] = fill = np.nan
        yield array, fl.asarray(array, case.format, fill=array.dtype.type(fill).item())


@pytest.mark.parametrize("descending", [False, True])
def test_sorted_along_each_axis(descending):
    for array, tensor in valued():
        for axis in range(array.ndim):
            want = np.sort(array, axis=axis)
            got = xp.sort(tensor, axis=axis, descending=descending)
            same(got, np.flip(want, axis) if descending else want)
            assert got.format == tensor.format
            places = xp.argsort(tensor, axis=axis, descending=descending)
            same(xp.take_along_axis(tensor, places, axis=axis), got.to_numpy())
            if not descending:
                same(places, np.argsort(array, axis=axis, kind="stable"))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_extremes_in_what_is_stored(name):
    for n, (array, tensor) in enumerate(valued(48 if LONG else 24)):
        for axis in (None, *range(array.ndim)):
            if axis is not None and array.shape[axis] == 0 or array.size == 0:
                continue
            # Each axis with either in turn.
            for keepdims in (False, True) if LONG else ((n + (axis or 0)) % 2 == 0,):
                want = getattr(np, name)(array, axis=axis, keepdims=keepdims)
                same(getattr(xp, name)(tensor, axis=axis, keepdims=keepdims), want)
                if LONG or n < 4:
                    same(getattr(xp, name)(fl.lazy(tensor), axis=axis, keepdims=keepdims).compute(), want)


def test_of_equal_elements_the_first_stands_first():
    same(xp.argsort(fl.asarray(np.array([1, 2, 1, 2])), descending=True), np.array([1, 3, 0, 2]))


def test_different_values():
    for array, tensor in valued():
        values, first, inverse, counts = np.unique(array, True, True, True, equal_nan=False)
        made = xp.unique_all(tensor)
        for got, want in zip(made, (values, first, inverse.reshape(array.shape), counts), strict=True):
            same(got, want)
        same(xp.unique_values(tensor), values)
        same(xp.unique_counts(tensor).counts, counts)
        same(xp.unique_inverse(tensor).inverse_indices, inverse.reshape(array.shape))


def test_coordinates_of_what_is_not_zero():
    for array, tensor in valued():
        for got, want in zip(xp.nonzero(tensor), np.nonzero(array), strict=True):
            same(got, want)


def test_masks():
    for array, tensor in valued():
        for mask in (array > 0, array == 1, array != array):
            same(tensor[mask], array[mask])
            for fill in (False, True):
                sparsely = fl.asarray(mask, "coo", fill=fill)
                same(tensor[sparsely], array[mask])
                same(fl.asarray(array)[sparsely], array[mask])
        same(tensor[tensor > 0], array[array > 0])
        for mode in (0, -1):
            mask = np.arange(array.shape[mode]) % 2 == 0
            key = (*[slice(None)] * (array.ndim - 1 if mode else 0), mask)
            same(tensor[key], array[key])
            same(tensor[(..., mask) if mode else mask.tolist()], array[(..., mask) if mode else mask])
        same((fl.lazy(tensor)[fl.lazy(tensor) > 0] + 1).compute(), array[array > 0] + 1)
        for truth in (True, False, np.bool_(True)):
            same(tensor[truth], array[truth])
            same(tensor[fl.asarray(np.bool_(truth))], array[truth])


def test_parts_of_numbers():
    for array, tensor in valued(4):
        same(xp.real(tensor), array)
        same(xp.conj(tensor), array)
        same(xp.imag(tensor), np.imag(array))
        same(xp.imag(fl.lazy(tensor)).compute(), np.imag(array))


def test_values_of_wide_arrays_are_taken_without_making_them_dense(wide):
    x = fl.asarray(wide)
    ours = xp.sort(x, axis=1)
    assert ours.format == "csr" and set(ours.arrays()["crd1"]) == {99_999}
    assert (ours.arrays()["values"] == wide.data).all()
    for got, want in zip(xp.nonzero(x), wide.nonzero(), strict=True):
        same(got, want, dtype=False)
    same(x[x > 3], wide.data[wide.data > 3])
    rows = np.arange(100_000) % 7 == 0
    assert x[rows].format == "csr" and abs(x[rows].to_scipy() - wide[np.flatnonzero(rows)]).nnz == 0
    elsewhere = x[x == 0]
    assert (elsewhere.shape, elsewhere.nnz) == ((10**10 - wide.nnz,), 0)
    values, counts = xp.unique_counts(x)
    want, times = np.unique(wide.data, return_counts=True)
    same(values, np.append(0, want))
    same(counts, np.append(10**10 - wide.nnz, times))
    assert xp.unique_inverse(x).inverse_indices.nnz == wide.nnz
    same(xp.argmax(x, axis=1), wide.argmax(axis=1), dtype=False)
    same(xp.argmin(x), 0, dtype=False)


# ---- what stays sparse


@pytest.fixture
def wide():
    """A matrix of which few of 10¹⁰ elements are stored: nothing that made it dense would end."""
    random = np.random.default_rng(7)
    rows, columns = (np.unique(random.integers(0, 100_000, 500)) for _ in range(2))
    number = min(len(rows), len(columns))
    import scipy.sparse as sp

    values = random.integers(1, 9, number).astype(float)
    return sp.csr_array((values, (rows[:number], random.permutation(columns)[:number])), shape=(100_000, 100_000))


SPARSELY = {
    "functions": (lambda p, x: p.sin(x), lambda s: s.sin()),
    "numbers": (lambda p, x: x * 3, lambda s: s * 3),
    "sums": (lambda p, x: x + x.T, lambda s: s + s.T),
    "products": (lambda p, x: x @ x, lambda s: s @ s),
    "slices": (lambda p, x: x[5:90_000:7, 100:], lambda s: s[5:90_000:7, 100:]),
    "flips": (lambda p, x: p.flip(x), lambda s: s[::-1][:, ::-1]),
    "slices backwards": (lambda p, x: x[:, ::-3], lambda s: s[:, ::-3]),
    "reshape": (lambda p, x: p.reshape(x, (50_000, 200_000)), lambda s: s.reshape((50_000, 200_000))),
    "triangles": (lambda p, x: p.tril(x), lambda s: __import__("scipy.sparse").sparse.tril(s)),
    "sums of rows": (lambda p, x: p.sum(x, axis=1), lambda s: s.sum(axis=1)),
    "concat": (lambda p, x: p.concat([x, x]), lambda s: __import__("scipy.sparse").sparse.vstack([s, s])),
    "roll": (lambda p, x: p.roll(x, 5, axis=1), lambda s: s[:, list(range(99_995, 100_000)) + list(range(99_995))]),
}


@pytest.mark.parametrize("name", SPARSELY)
def test_sparse_stays_sparse(name, wide):
    ours, scipys = SPARSELY[name]
    got, want = ours(xp, fl.asarray(wide)), scipys(wide)
    if got.ndim == 1:
        return same(got, want)
    assert got.format != "dense" and got.nnz <= 4 * wide.nnz and got.shape == want.shape
    assert abs(got.to_scipy() - want).max() < 1e-12
    return None


@pytest.mark.parametrize("format", ["csr", "coo", "csc"])
def test_fills_follow(format):
    a = np.array([[0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 3.0]])
    x = fl.asarray(a, format)
    for got, fill in [
        (xp.cos(x), 1.0),
        (x + 1, 1.0),
        (xp.exp(x) - 1, 0.0),
        (x == 0, True),
        (xp.logical_not(xp.astype(x, xp.bool)), True),
        (xp.flip(xp.cos(x)), 1.0),
        (xp.reshape(xp.cos(x), (4, 2)), 1.0),
        (xp.expand_dims(x + 2, axis=0), 2.0),
        (xp.broadcast_to(x + 2, (2, 2, 4)), 2.0),
        (xp.where(x > 0, x, -1.0), -1.0),
        (xp.square(x), 0.0),
        (xp.concat([x + 1, x + 1]), 1.0),
    ]:
        assert got.fill_value == fill
        assert got.format != "dense" and got.nnz < got.size
    # In one kernel too, where what is not stored is asked of another.
    lazily = xp.flip(fl.lazy(xp.cos(fl.lazy(x))), axis=1).compute()
    assert lazily.fill_value == 1.0
    same(lazily, np.flip(np.cos(a), axis=1))


# ---- laziness


def test_a_context_fuses_all(matrix):
    A = fl.asarray(matrix((30, 20)))
    kept = _native.kernels_kept()
    with fl.lazy():
        z = xp.sum(xp.exp(A) - 1, axis=0) * 2 + A[3]
    assert isinstance(z, fl._lazy.Lazy) and _native.kernels_kept() == kept
    got = z.compute()
    assert _native.kernels_kept() <= kept + 1
    a = A.to_numpy()
    same(got, (np.exp(a) - 1).sum(axis=0) * 2 + a[3], rtol=1e-12)
    assert isinstance(xp.exp(A), fl.Tensor)


def test_a_call_like_another_takes_its_kernel(matrix):
    xp.sin(fl.asarray(matrix((30, 20))) + 1.5)
    kept = _native.kernels_kept()
    xp.sin(fl.asarray(matrix((30, 20), seed=5)) + 1.5)
    assert _native.kernels_kept() == kept


def test_numbers_as_indices_have_one_kernel(matrix):
    A = fl.asarray(matrix((9, 7)))
    same(A[3], A.to_numpy()[3])
    kept = _native.kernels_kept()
    for n in range(-9, 9):
        same(A[n], A.to_numpy()[n])
    assert _native.kernels_kept() == kept


def test_expressions_are_arrays_of_the_namespace():
    x = fl.lazy(np.arange(6.0).reshape(2, 3))
    assert x.__array_namespace__() is xp and x.device == "cpu" and x.mT.shape == (3, 2)
    np.testing.assert_array_equal(np.asarray(x + 1), np.arange(6.0).reshape(2, 3) + 1)


def test_the_mode_can_be_asked_for():
    a = fl.lazy(fl.asarray(np.array([[0.0, 1.0], [0.0, 0.0]]), "csr"))
    d = np.array([[np.inf, 2.0], [1.0, 1.0]])
    np.testing.assert_array_equal((a * d).compute().to_numpy(), [[0.0, 2.0], [0.0, 0.0]])
    np.testing.assert_array_equal((a * d).compute(options={"mode": "strict"}).to_numpy(), [[np.nan, 2.0], [0.0, 0.0]])


# ---- creation, types, information


def test_creation():
    same(xp.zeros((2, 3)), np.zeros((2, 3)))
    same(xp.ones(3, dtype=xp.int8), np.ones(3, np.int8))
    same(xp.full((2,), 7), np.full((2,), 7))
    same(xp.full_like(fl.asarray(np.ones((2, 2), np.float32)), 3), np.full((2, 2), 3, np.float32))
    same(xp.zeros_like(fl.asarray(np.eye(2), "csr")), np.zeros((2, 2)))
    assert xp.empty((2, 0)).shape == (2, 0)
    same(xp.arange(2, 11, 3), np.arange(2, 11, 3))
    same(xp.arange(3.0), np.arange(3.0))
    same(xp.linspace(0, 1, 5), np.linspace(0, 1, 5))
    same(xp.asarray([[1, 2], [3, 4]], dtype=xp.float32), np.array([[1, 2], [3, 4]], np.float32))
    same(xp.asarray(True), np.bool_(True))
    same(xp.from_dlpack(np.arange(3)), np.arange(3))
    assert xp.asarray(fl.asarray(np.eye(3), "csr")).format == "csr"
    with pytest.raises(fl.Error, match="no device 'gpu'"):
        xp.zeros(3, device="gpu")
    with pytest.raises(fl.OperandError, match="complex128"):
        xp.zeros(3, dtype=np.complex128)


@pytest.mark.parametrize("shape", [(3, None), (3, 5), (5, 3), (0, 4), (4, 0)], ids=str)
def test_eye_is_sparse(shape):
    for k in (-4, -1, 0, 2, 5):
        made = xp.eye(*shape, k=k)
        same(made, np.eye(*shape, k=k))
        assert made.format == "csr" and made.nnz == np.eye(*shape, k=k).sum()


def test_types():
    assert xp.isdtype(xp.int8, "signed integer") and xp.isdtype(xp.float32, ("integral", "real floating"))
    assert not xp.isdtype(xp.bool, "numeric") and xp.isdtype(xp.uint8, xp.uint8)
    assert xp.can_cast(xp.int8, xp.float32) and not xp.can_cast(xp.float64, xp.int8)
    assert xp.can_cast(fl.asarray(np.ones(2, np.int8)), xp.int16)
    assert xp.finfo(xp.float32).bits == 32 and xp.finfo(xp.float64).eps == np.finfo(np.float64).eps
    assert xp.iinfo(fl.asarray(np.ones(2, np.uint8))).max == 255
    info = xp.__array_namespace_info__()
    assert info.capabilities()["data-dependent shapes"] is True and info.default_device() in info.devices()
    assert info.dtypes(kind="real floating") == {"float32": xp.float32, "float64": xp.float64}
    assert info.default_dtypes()["integral"] == xp.int64


def test_every_name_of_the_standard_is_there():
    ours = set(dir(xp))
    theirs = {name for name in array_api_strict.__all__ if not name.startswith("_")}
    others = {
        "complex64", "complex128", "linalg", "fft", "Device", "DType", "get_array_api_strict_flags",
        "set_array_api_strict_flags", "reset_array_api_strict_flags", "ArrayAPIStrictFlags", "set_default_dtype", "isin",
        "broadcast_shapes",
    }  # fmt: skip
    assert not theirs - ours - others


def test_versions_of_the_standard():
    x = fl.asarray(np.ones(2))
    assert x.__array_namespace__(api_version="2024.12") is xp and x.__array_namespace__() is xp
    with pytest.raises(fl.Error, match="2024.12"):
        x.__array_namespace__(api_version="1999.01")


REFUSED = {
    "shapes that do not go together": (fl.MismatchError, lambda x: x + fl.asarray(np.ones(5))),
    "reshape": (fl.MismatchError, lambda x: xp.reshape(x, (5, 5))),
    "reshape in place": (fl.Error, lambda x: xp.reshape(x, (3, 2), copy=False)),
    "an axis": (fl.Error, lambda x: xp.sum(x, axis=2)),
    "an axis twice": (fl.Error, lambda x: xp.sum(x, axis=(0, -2))),
    "an index": (xp.IndicesError, lambda x: x[2]),
    "indices": (xp.IndicesError, lambda x: x[0, 0, 0]),
    "a truth value beside others": (xp.IndicesError, lambda x: x[True, 0]),
    "a mask of another shape": (xp.IndicesError, lambda x: x[np.ones(3, bool)]),
    "a mask of another mode": (xp.IndicesError, lambda x: x[..., np.ones(2, bool)]),
    "places": (fl.MismatchError, lambda x: xp.take(x, np.array([7]), axis=1)),
    "assignment": (TypeError, lambda x: x.__setitem__(0, 1.0)),
    "concat": (fl.MismatchError, lambda x: xp.concat([x, fl.asarray(np.ones((2, 2)))])),
    "squeeze": (fl.Error, lambda x: xp.squeeze(x, axis=0)),
    "repeat": (fl.Error, lambda x: xp.repeat(x, np.array([1, 2, 3]), axis=0)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    error, call = REFUSED[what]
    with pytest.raises(error):
        call(fl.asarray(np.arange(6.0).reshape(2, 3)))


def test_folds_that_would_be_repeated_are_computed_before():
    A, B, C = (fl.lazy(np.arange(4.0 * n).reshape(4, n)) for n in (4, 4, 3))
    text, _ = ((A @ B) @ C).program()
    assert text.count("sum(") == 2 and text.splitlines()[0].startswith("W0[")
    same(
        ((A @ B) @ C).compute(),
        (np.arange(16.0).reshape(4, 4) @ np.arange(16.0).reshape(4, 4)) @ np.arange(12.0).reshape(4, 3),
    )
    # Of a sampled product each element is computed once, at what the samples store.
    S = fl.lazy(fl.asarray(np.eye(4), "csr"))
    assert (S * (A @ B)).sum().program()[0] == "Out[] = sum(k0, k1: (T0[k0,k1] * sum(k2: T1[k0,k2] * T2[k2,k1])))"


def test_what_is_built_in_a_loop_stays_short():
    x = fl.lazy(np.ones((3, 2)))
    for _ in range(24):
        x = x + x / 2
    text, _ = x.program()
    assert len(text) < 50_000
    same(x.compute(), np.full((3, 2), 1.5**24), rtol=1e-12)
    y = fl.lazy(fl.asarray(np.eye(3), "csr"))
    for _ in range(12):
        y = y * 2
        y = y[::-1] + y
    assert y.compute().shape == (3, 3)
