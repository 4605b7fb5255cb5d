"""Calls like a call before write no program, and those that differ in anything that a program depends on write their own."""

import numpy as np
import pytest
import scipy.sparse as sp

import fiberloom as fl
from fiberloom import _lazy, _plans

xp = fl.array


@pytest.fixture
def written(monkeypatch):
    """The texts that calls write."""
    texts, write = [], _lazy.Lazy._written

    def noted(self, *given):
        made = write(self, *given)
        texts.append(made[2])
        return made

    monkeypatch.setattr(_lazy.Lazy, "_written", noted)
    return texts


def operands(seed: int) -> dict:
    """Matrices of one shape, with other entries, and vectors."""
    rng = np.random.default_rng(seed)
    dense = [np.round(rng.random((4, 4)) * 9) * (rng.random((4, 4)) < 0.5) + np.eye(4) for _ in range(2)]
    S, R = map(sp.csr_array, dense)
    return {"S": S, "d": dense[0], "T": fl.asarray(R), "D": fl.asarray(dense[1]), "x": rng.random(4), "n": float(seed)}


LINES = """
T * n
n * T
T + D
T + T
T + n
n - T
T > n
T ** 2
-T
abs(T)
np.sin(T)
T @ x
S @ T
T @ S
S * T
S == T
d + T
D + x
T * x
T[1, 2]
T[1]
T[:, 2]
T[1:3]
T[::-1]
T[1:3, ::-1]
T.sum()
T.sum(axis=0)
T.mean(axis=1)
T.max()
T.std()
np.sum(T, axis=1)
T.reshape(2, 8)
T.diagonal()
np.vstack([T, S])
np.tril(T)
xp.take(T, np.array([1, 0]), axis=0) + n
xp.clip(T, 1, 3)
np.where(T > 1, T, 0)
xp.tensordot(T, T)
""".strip().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_the_second_call_writes_nothing(line, written):
    for seed in (1, 2):
        names = operands(seed)
        written.clear()
        made = eval(line, {"np": np, "xp": xp, **names})
        as_numpy = {name: a.to_numpy() if isinstance(a, fl.Tensor) else a for name, a in names.items()}
        as_numpy["S"] = names["S"].toarray()
        want = eval(line.replace("xp.take(", "np.take(").replace("xp.", "np."), {"np": np, **as_numpy})
        np.testing.assert_allclose(np.asarray(made.to_numpy()), want, rtol=1e-12)
    assert written == []


def alike(call, *arguments) -> None:
    """Fails unless a function of tensors is NumPy's of arrays, one argument after the other."""
    for taken in arguments:
        ours = [fl.asarray(a) if isinstance(a, np.ndarray) else a for a in taken]
        theirs = [a.toarray() if sp.issparse(a) else a for a in taken]
        got, want = call(xp, *ours), call(np, *theirs)
        np.testing.assert_array_equal(got.to_numpy(), want)
        assert got.dtype == np.asarray(want).dtype


def test_programs_are_those_of_shapes_types_and_other_arguments():
    a = np.arange(6.0).reshape(2, 3)
    sums = [(a, None), (a, 0), (a, 1), (a, True), (a[:1], 0), (a[:0], 0), (a.astype(np.int8), 0), (a > 2, 0), (a.T, 0)]
    alike(lambda p, x, axis: p.sum(x, axis=axis), *(s for s in sums if s[1] is not True))
    alike(lambda p, x, y: p.add(x, y), (a, a), (a, a + 1), (a, a[:1]), (a[:1], a), (a, a[:, :1]), (a, a[0]), (a[:0], a[:0]))
    alike(lambda p, x: x[1:, ::2], (a,), (a[:1],), (a.T,), (np.ones((5, 1)),))
    alike(lambda p, x, shape: p.reshape(x, shape), (a, (3, 2)), (a, (6,)), (a, (1, 6)), (a[:, :2], (4,)))
    alike(lambda p, x, n: p.roll(x, n, axis=0), (a, 1), (a, 2), (a, np.int64(1)), (a, True))


def test_numbers_of_other_types_are_others():
    whole = np.arange(4, dtype=np.int8)
    for number in (1, True, 1.0, np.float32(1), np.int64(1), 2.5):
        alike(lambda p, x, n: p.add(x, n), (whole, number))
        alike(lambda p, x, n: p.add(x, n), (sp.csr_array(np.eye(3, dtype=np.int8)), number))
    T = fl.asarray(np.eye(2), "csr")
    for zero in (0.0, -0.0, 0.0):
        made = xp.copysign(T, zero)
        assert np.signbit(made.fill_value) == np.signbit(zero)
        np.testing.assert_array_equal(made.to_numpy(), np.copysign(np.eye(2), zero))
        made = xp.atan2(zero, fl.asarray(-np.eye(2), "csr", fill=0.0) - 1.0)
        np.testing.assert_array_equal(made.to_numpy(), np.arctan2(zero, -np.eye(2) - 1.0))


def test_fill_values_are_told_apart():
    a = np.array([[1.0, 2.0], [0.0, 1.0]])
    for fill in (0.0, 1.0, -0.0, np.nan, 0.0):
        T = fl.asarray(sp.csr_array(a), fill=fill)
        for made, want in ((T + 2, fill + 2), (-T, -fill), (T > 0.5, fill > 0.5)):
            assert repr(made.fill_value) == repr(want)
        np.testing.assert_array_equal((T + 2).to_numpy(), T.to_numpy() + 2)
        np.testing.assert_array_equal(xp.sum(T, axis=0).to_numpy(), T.to_numpy().sum(axis=0))


def test_what_values_decide_is_decided_each_time():
    a = np.arange(6.0).reshape(2, 3)
    for axis in (0, 1, 0):
        np.testing.assert_array_equal(xp.sum(fl.asarray(a), axis=int(fl.asarray(axis))).to_numpy(), a.sum(axis))
        for index in (np.asarray(axis), fl.asarray(np.int64(axis))):
            np.testing.assert_array_equal(fl.asarray(a)[index].to_numpy(), a[axis])
            np.testing.assert_array_equal(xp.roll(fl.asarray(a), index).to_numpy(), np.roll(a, axis))
    for times in (np.array([1, 2]), np.array([0, 1]), np.array([3, 0])):
        np.testing.assert_array_equal(xp.repeat(fl.asarray(a), times, axis=0).to_numpy(), np.repeat(a, times, axis=0))
    for places in (np.array([0, 1]), np.array([1, 1]), [1, 0], [0, 0]):
        np.testing.assert_array_equal(xp.take(fl.asarray(a), places, axis=1).to_numpy(), np.take(a, places, axis=1))
        np.testing.assert_array_equal(fl.asarray(a)[:, places].to_numpy(), a[:, places])


def test_formats_are_chosen_by_numbers_of_entries_each_time():
    formats = []
    for entries in (1, 600, 1):
        S = sp.csr_array((np.ones(entries), (np.arange(entries), np.zeros(entries, int))), shape=(900, 2))
        made = fl.asarray(S)[::-1]
        assert (made.to_scipy() != S[::-1]).nnz == 0
        formats.append(made.format)
    assert formats == ["dcsr", "csr", "dcsr"]


def test_formats_are_chosen_by_the_operand_of_most_entries():
    def of(entries):
        S = sp.csr_array((np.ones(entries), (np.arange(entries), np.zeros(entries, int))), shape=(900, 2))
        return S, fl.lazy(fl.asarray(S.copy()))

    for few, many, format in ((1, 600, "csr"), (1, 2, "dcsr"), (600, 600, "csr")):
        for (S, A), (R, B) in ((of(few), of(many)), (of(many), of(few))):
            made = (A + B)[::-1].compute()
            assert made.format == format
            assert (made.to_scipy() != (S + R)[::-1]).nnz == 0


def test_one_array_twice_is_not_two_arrays():
    a, b = np.arange(4.0), np.ones(4)
    x, y = fl.asarray(a), fl.asarray(b)
    for left, right in ((x, x), (x, y), (y, x), (y, y)):
        want = np.tensordot(left.to_numpy(), right.to_numpy(), 1)
        assert float(xp.tensordot(left, right, axes=1)) == want
        assert float(np.inner(left, right)) == want


def test_plans_are_no_more_than_so_many(monkeypatch):
    monkeypatch.setattr(_plans, "_MOST", 8)
    for n in range(2, 40):
        assert float(xp.sum(fl.asarray(np.ones(n)))) == n
    assert len(_plans._PLANS) <= 8


def test_elements_by_numbers_are_those_of_the_array():
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.int32, np.bool_):
        a = (rng.random((3, 4)) * 5 * (rng.random((3, 4)) < 0.5)).astype(dtype)
        for T in (fl.asarray(a), fl.asarray(sp.csr_array(a)), fl.asarray(sp.csc_array(a)), fl.asarray(sp.coo_array(a))):
            for i in range(-3, 3):
                for j in range(-4, 4):
                    assert T[i, j].item() == a[i, j]
                np.testing.assert_array_equal(T[i].to_numpy(), a[i])
                np.testing.assert_array_equal(T[i, :].to_numpy(), a[i])
                np.testing.assert_array_equal(T[:, i].to_numpy(), a[:, i])
            for key in ((3, 0), (-4, 0), (0, 4), 3, (0, 0, 0), (slice(None), 4)):
                with pytest.raises(IndexError):
                    T[key]


@pytest.fixture
def many(monkeypatch):
    """Conversions run as kernels, however few entries there are."""
    monkeypatch.setattr(fl._convert, "_MANY", 0)


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.uint16, np.bool_])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_conversions_are_scipys(index, dtype, format, many, matrix):
    S = matrix((7, 5), density=0.4, dtype=dtype, index=index)
    S.data[::3] = 0
    T = fl.asarray(S.asformat(format))
    for other in ("csr", "csc", "coo"):
        made, want = T.to(other), S.tocsr().asformat(other)
        if other == "coo":
            want = S.tocsr().tocoo()
        got = made.to_scipy()
        assert made.format == other and made.dtype == dtype and got.nnz == want.nnz
        np.testing.assert_array_equal(got.data, want.data)
        for ours, theirs in zip(got.tocoo().coords, want.tocoo().coords, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(T.to_numpy(), S.toarray())
    for other in ("dcsr", "dcsc"):
        made = T.to(other)
        assert made.format == other and made.nnz == S.nnz
        np.testing.assert_array_equal(made.to_numpy(), S.toarray())


@pytest.mark.parametrize("fill", [1.0, np.inf, np.nan, -0.0])
def test_conversions_keep_fill_values_and_signs(fill, many):
    a = np.array([[0.0, fill, -0.0, np.nan], [fill, fill, 2.0, fill], [fill] * 4])
    S = sp.csr_array((np.array([0.0, -0.0, np.nan, 2.0]), np.array([0, 2, 3, 2]), np.array([0, 3, 4, 4])), shape=(3, 4))
    T = fl.asarray(S, fill=fill)
    for format in ("csc", "coo", "dcsr", "dcsc", "dense"):
        made = T.to(format)
        np.testing.assert_array_equal(made.to_numpy(), a)
        np.testing.assert_array_equal(np.signbit(made.to_numpy()), np.signbit(a))
        assert repr(made.fill_value) == repr(fill)
        assert format == "dense" or sorted(map(repr, made.arrays()["values"])) == sorted(map(repr, S.data))


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr", "dense"])
def test_reversed_matrices(format, many, matrix):
    S = matrix((7, 5), density=0.4)
    T, a = fl.asarray(S).to(format), S.toarray()
    for key in (np.s_[::-1], np.s_[:, ::-1], np.s_[::-1, ::-1], np.s_[5:1:-2], np.s_[::-1, 1:3]):
        np.testing.assert_array_equal(T[key].to_numpy(), a[key])


# ---- keys: each part of one is changed alone

#: What differs from a csr of float64 in 4 rows and 5 columns whose fill value is 0.
PARTS = {
    "nothing": {},
    "the fill value": {"fill": 1.0},
    "the sign of the fill value": {"fill": -0.0},
    "a fill value that is no number": {"fill": np.nan},
    "the type": {"dtype": np.int64},
    "the width": {"dtype": np.float32},
    "truth values": {"dtype": np.bool_},
    "rows": {"shape": (1, 5)},
    "columns": {"shape": (4, 1)},
    "both": {"shape": (5, 4)},
    "the order": {"format": "csc"},
    "lists": {"format": "coo"},
    "dense": {"format": "dense", "fill": None},
}


def with_part(fill=0.0, dtype=np.float64, shape=(4, 5), format="csr"):
    random = np.random.default_rng(3)
    none = 0.0 if fill is None else fill
    a = np.where(random.random(shape) < 0.5, random.integers(1, 4, shape), none).astype(dtype)
    return a, fl.asarray(a.copy(), format, fill=None if fill is None else a.dtype.type(fill).item())


#: Lines of an array, each for several arguments that a key could take for one another.
KEYED = {
    "reversed": [lambda m, x: x[::-1], lambda m, x: x[:, ::-1], lambda m, x: x[::-1, ::-1]],
    "flipped": [lambda m, x: m.flip(x, axis=0), lambda m, x: m.flip(x, axis=1), lambda m, x: m.flip(x)],
    "cosines": [lambda m, x: m.cos(x), lambda m, x: m.sin(x)],
    "numbers": [lambda m, x: x + 1, lambda m, x: x + True, lambda m, x: x + 1.0, lambda m, x: x + 0.0, lambda m, x: x + -0.0],
    "bounds": [lambda m, x: m.clip(x, 1), lambda m, x: m.clip(x, None, 1), lambda m, x: m.clip(x, 1, 2), lambda m, x: m.clip(x, 2, 2)],
    "sums": [
        lambda m, x: m.sum(x, axis=0),
        lambda m, x: m.sum(x, axis=1),
        lambda m, x: m.sum(x, axis=(0, 1)),
        lambda m, x: m.sum(x, axis=0, keepdims=True),
        lambda m, x: m.sum(x, axis=0, dtype=m.float32),
    ],
    "differences": [lambda m, x: m.diff(x, n=0), lambda m, x: m.diff(x, axis=0), lambda m, x: m.diff(x, n=1)],
    "triangles": [lambda m, x: m.tril(x), lambda m, x: m.triu(x), lambda m, x: m.tril(x, k=1), lambda m, x: m.tril(x, k=-1)],
    "products": [
        lambda m, x: m.matmul(x, x.T),
        lambda m, x: m.matmul(x, m.asarray(np.ones(x.shape[::-1], np.float32))),
        lambda m, x: m.tensordot(x, x, axes=((0,), (0,))),
        lambda m, x: m.tensordot(x, x + 1, axes=((0,), (0,))),
    ],
    "joined": [lambda m, x: m.concat([x, x]), lambda m, x: m.concat([x, x + 1]), lambda m, x: m.concat([x, x], axis=1)],
    "parts": [lambda m, x: x[0:1], lambda m, x: x[0], lambda m, x: x[:, 0], lambda m, x: x[0, :], lambda m, x: x[0, 0], lambda m, x: x[-1]],
    "shapes": [lambda m, x: m.reshape(x, (-1,)), lambda m, x: m.reshape(x, (-1, 1)), lambda m, x: m.expand_dims(x, axis=0)],
}


@pytest.mark.parametrize("name", KEYED)
@pytest.mark.filterwarnings("ignore")
def test_calls_that_differ_in_one_part_are_told_apart(name):
    random = np.random.default_rng(len(name))
    arrays = [with_part(**PARTS[part]) for part in ["nothing", *random.choice(list(PARTS)[1:], 4, replace=False)]]
    calls = [(n, line) for n in range(len(arrays)) for line in range(len(KEYED[name]))]
    tried = 0
    for n, line in [calls[k] for k in random.permutation(len(calls) * 2) % len(calls)]:
        (array, tensor), function = arrays[n], KEYED[name][line]
        try:
            want = np.asarray(function(np, array))
            got = function(xp, tensor)
        except (TypeError, ValueError):
            continue  # Of truth values.
        if want.dtype == np.float16:
            continue  # Which the language has not.
        assert got.shape == want.shape and got.dtype == want.dtype, (n, line)
        found = got.to_numpy()
        if tensor.format == "dense" or np.isfinite(want).all():
            np.testing.assert_allclose(found, want, rtol=1e-6, err_msg=f"{tensor!r}, line {line}")
            if name in ("reversed", "flipped", "parts", "shapes"):
                np.testing.assert_array_equal(np.signbit(found), np.signbit(want))
            if name in ("reversed", "flipped", "differences", "joined"):
                # What is stored is what is stored without a call before.
                alone = function(xp, fl.lazy(tensor)).compute()
                assert (got.format, repr(got.fill_value), got.nnz) == (alone.format, repr(alone.fill_value), alone.nnz)
            tried += 1
    assert tried > len(calls) / 2


# ---- types of numbers

SCALARS = [1, 2.5, True, np.int8(1), np.uint8(2), np.int64(3), np.float32(1.5), np.float64(2.5), np.bool_(True)]


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.int32, np.uint64, np.float32, np.float64])
def test_types_with_numbers_are_numpys(dtype):
    a = np.array([[0, 1, 1], [1, 0, 0]], dtype)
    for n, number in enumerate(SCALARS):
        assert xp.result_type(dtype, number) == np.result_type(dtype, number)
        assert xp.result_type(fl.asarray(a), number, np.int16) == np.result_type(a, number, np.int16)
        T = fl.asarray(a, ["dense", "csr"][n % 2])
        for got, want in [(T + number, a + number), (number * T, number * a), ((fl.lazy(T) + number).compute(), a + number)]:
            assert got.dtype == want.dtype, (number, got.dtype, want.dtype)
            np.testing.assert_array_equal(got.to_numpy(), want)


def test_matrices_of_scipys_are_read_anew_by_operators():
    """Kernels that operators remember are called on what a matrix holds now: other values, entries out of order or twice, other shapes."""
    random = np.random.default_rng(7)
    for n in (4, 4, 6):
        S, R = (sp.random_array((n, n), density=0.6, format="csr", rng=random) for _ in range(2))
        U = fl.asarray(R.copy())
        dense = R.toarray()
        mixed = sp.csr_array((S.data[::-1].copy(), S.indices[::-1].copy(), S.indptr.copy()), shape=S.shape)
        mixed.indptr = np.array([0, *np.cumsum(np.diff(S.indptr)[::-1])], dtype=S.indptr.dtype)
        mixed.has_sorted_indices = False
        twice = sp.csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, *[3] * (n - 1)])), shape=(n, n))
        for matrix in (S, mixed, twice, S.tocsc(), 3 * S, S):
            theirs = matrix.toarray()
            for ours, meant in [
                (U @ matrix, dense @ theirs),
                (matrix @ U, theirs @ dense),
                (U + matrix, dense + theirs),
                (matrix - U, theirs - dense),
                (matrix * U, theirs * dense),
                (U > matrix, dense > theirs),
            ]:
                assert np.allclose(ours.to_numpy(), meant)
        S.data[:] = random.random(S.nnz)
        assert np.allclose((S @ U).to_numpy(), S.toarray() @ dense)
        S.data = S.data.astype(np.float32)
        assert np.allclose((S @ U).to_numpy(), S.toarray() @ dense, rtol=1e-6)
