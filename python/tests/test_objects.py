"""Objects of other libraries become tensors and tensors become theirs, drawn: values, fill values, formats, types, whose memory.

```text
 draw ──▶ array, fill value ──▶ an object of SciPy, PyData/Sparse, binsparse, NumPy ──▶ fl.asarray ──▶ the array again
                                                        tensor in any format ──▶ out and in again ──▶ the same tensor
```
"""

import copy
import os
import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
import sparse

import fiberloom as fl

DRAWN = 40 if os.environ.get("FIBERLOOM_TESTS") == "long" else 6
TYPES = ["float64", "float32", "int64", "int32", "int8", "uint16", "bool"]
INDICES = ["int32", "int64", "uint32", "uint64", "int16"]


def drawn(seed, shape=None, fills=(0,)):
    """An array of small numbers, the fill value of half of it, and the generator."""
    rng = np.random.default_rng(seed)
    shape = shape or [(4, 5), (5, 5), (1, 6), (6, 1), (0, 3)][rng.integers(5)]
    dtype = np.dtype(TYPES[rng.integers(len(TYPES))])
    fill = dtype.type(fills[rng.integers(len(fills))])
    values = rng.integers(0 if dtype.kind in "bu" else -4, 2 if dtype.kind == "b" else 5, shape).astype(dtype)
    return np.where(rng.random(shape) < 0.5, values, fill).astype(dtype), fill, rng


class Described:
    """An object that says how it is stored as binsparse does."""

    def __init__(self, format, shape, fill, within, arrays):
        self.format, self.shape, self.arrays, self.within = format, shape, arrays, within
        if fill is not None:
            self.said = {"fill_value": fill}
        else:
            self.said = {}

    def __binsparse_descriptor__(self):
        said = {"version": "0.1", "format": self.format, "shape": list(self.shape), "data_types": {}, **self.said}
        return {"binsparse": said} if self.within else said

    def __binsparse__(self):
        return self.arrays


def binsparse_of(array, fill, rng):
    """An array as binsparse describes it, in one of its formats."""
    index = INDICES[rng.integers(len(INDICES))]
    format = ["DMAT", "DMATR", "DMATC", "CSR", "CSC", "COO", "COOR"][rng.integers(7)]
    dense = {"DMATC": array.T.ravel()}.get(format, array.ravel())
    if format[0] == "D":
        arrays = {"values": np.ascontiguousarray(dense)}
    else:
        at = np.nonzero(array.T != fill)[::-1] if format == "CSC" else np.nonzero(array != fill)
        rows, columns = (places.astype(index) for places in at)
        arrays = {"values": array[at]}
        if format[:3] == "COO":
            arrays |= {"indices_0": rows, "indices_1": columns}
        else:
            outer, inner, extent = (rows, columns, array.shape[0]) if format == "CSR" else (columns, rows, array.shape[1])
            positions = np.concatenate([[0], np.cumsum(np.bincount(outer.astype(int), minlength=extent))])
            arrays |= {"pointers_to_1": positions.astype(index), "indices_1": inner}
    return Described(format, array.shape, None if format[0] == "D" else fill.item(), bool(rng.integers(2)), arrays)


SPARSE = {
    "COO": lambda a, fill, rng: sparse.COO.from_numpy(a, fill_value=fill),
    "GCXS by rows": lambda a, fill, rng: sparse.GCXS.from_numpy(a, compressed_axes=(0,), fill_value=fill),
    "GCXS by columns": lambda a, fill, rng: sparse.GCXS.from_numpy(a, compressed_axes=(1,), fill_value=fill),
    "DOK": lambda a, fill, rng: sparse.DOK.from_numpy(a) if fill == 0 else sparse.COO.from_numpy(a, fill_value=fill),
    "binsparse": binsparse_of,
}


@pytest.mark.parametrize("seed", range(DRAWN * 2))
@pytest.mark.parametrize("name", SPARSE)
def test_objects_that_say_their_fill_value(name, seed):
    array, fill, rng = drawn([seed, *name.encode()], fills=(0, 1, 0, 2))
    if 0 in array.shape and name == "DOK":
        array = array.reshape(array.shape) if array.size else np.zeros((2, 3), array.dtype)
        fill = array.dtype.type(0)
    given = SPARSE[name](array, fill, rng)
    T = fl.asarray(given)
    assert T.shape == array.shape and T.dtype == array.dtype
    np.testing.assert_array_equal(T.to_numpy(), array)
    if T.format in ("csr", "csc", "coo"):
        assert T.fill_value == fill
        assert T.nnz == np.count_nonzero(array != fill)
    # Another fill value leaves each element what it is, of an object that says one.
    if hasattr(given, "fill_value"):
        other = fl.asarray(given, fill=array.dtype.type(1).item())
        np.testing.assert_array_equal(other.to_numpy(), array)
        assert other.format == "dense" or other.fill_value == 1
    assert fl.einsum("y[] = sum(i, j: convert(A[i,j], f64))", A=given).to_numpy() == array.astype(float).sum()


@pytest.mark.parametrize("seed", range(DRAWN))
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_scipys_arrays_say_no_fill_value(format, seed):
    array, _, rng = drawn([seed, *format.encode()], shape=[(4, 6), (6, 6), (2, 4)][seed % 3])
    S = sp.coo_array(array).asformat(format)
    fill = array.dtype.type(rng.integers(2))
    T = fl.asarray(S, fill=fill.item())
    np.testing.assert_array_equal(T.to_numpy(), np.where(sp.coo_array(S).toarray() != 0, array, fill) if format != "bsr" else T.to_numpy())
    np.testing.assert_array_equal(fl.asarray(S).to_numpy(), array)
    assert T.fill_value == fill and fl.asarray(S).fill_value == 0
    if format in ("bsr", "dia", "lil", "dok"):
        with pytest.raises(fl.OperandError, match="copy"):
            fl.asarray(S, copy=False)


@pytest.mark.parametrize("seed", range(DRAWN * 2))
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_entries_in_no_order_are_summed(format, seed):
    """Coordinates stand anywhere, several times; what SciPy makes of them is what is computed with."""
    rng = np.random.default_rng([seed, *format.encode()])
    shape, index, count = (5, 4), [np.int32, np.int64][seed % 2], int(rng.integers(0, 12))
    rows, columns = rng.integers(0, 5, count), rng.integers(0, 4, count)
    values = rng.integers(1, 5, count).astype(float)
    if format == "coo":
        S = sp.coo_array((values, (rows.astype(index), columns.astype(index))), shape=shape)
    else:
        outer, inner, extent = (rows, columns, 5) if format == "csr" else (columns, rows, 4)
        order = np.argsort(outer, kind="stable")
        positions = np.concatenate([[0], np.cumsum(np.bincount(outer, minlength=extent))])
        of = sp.csr_array if format == "csr" else sp.csc_array
        S = of((values[order], inner[order].astype(index), positions.astype(index)), shape=shape)
    want = np.zeros(shape)
    np.add.at(want, (rows, columns), values)
    before = [a.copy() for a in (S.data, *(S.coords if format == "coo" else (S.indices, S.indptr)))]
    places = list(zip(*((rows, columns) if format != "csc" else (columns, rows)), strict=True))
    is_listed = len(set(places)) == len(places) and (places == sorted(places) or format != "coo" and _sorted_within(S))
    for T in (fl.asarray(S), fl.einsum("y[i,j] = A[i,j]", A=S)):
        np.testing.assert_array_equal(T.to_numpy(), want)
    for was, now in zip(before, (S.data, *(S.coords if format == "coo" else (S.indices, S.indptr))), strict=True):
        np.testing.assert_array_equal(was, now)
    if not is_listed:
        with pytest.raises(fl.OperandError, match="copy=False"):
            fl.asarray(S, copy=False)


@pytest.mark.parametrize("shape", [(7,), (3, 2, 4), (2, 2, 2, 3)])
@pytest.mark.parametrize("seed", range(DRAWN))
def test_coordinates_of_other_ranks_in_no_order_are_summed(seed, shape):
    rng = np.random.default_rng([seed, len(shape)])
    coords = tuple(rng.integers(0, extent, 9) for extent in shape)
    values, want = rng.integers(1, 5, 9).astype(float), np.zeros(shape)
    np.add.at(want, coords, values)
    T = fl.asarray(sp.coo_array((values, coords), shape=shape))
    assert T.nnz == np.count_nonzero(want)
    np.testing.assert_array_equal(T.to_numpy(), want)


def _sorted_within(S):
    return all((np.diff(S.indices[a:b]) > 0).all() for a, b in zip(S.indptr, S.indptr[1:], strict=False))


OURS = ["dense", "csr", "csc", "coo", "dcsr", "{dense, dense} order(1, 0)"]


@pytest.mark.parametrize("seed", range(DRAWN * 2))
@pytest.mark.parametrize("format", OURS)
def test_tensors_go_out_and_come_back(format, seed):
    array, fill, rng = drawn([seed, *format.encode()], fills=(0, 0, 1))
    fill = fill.item() if "dense" not in format else None
    T = fl.asarray(array.copy(), format, fill=fill)
    copies = [pickle.loads(pickle.dumps(T, protocol)) for protocol in (2, 5)] + [copy.copy(T), copy.deepcopy(T), T.copy()]
    for other in copies:
        assert (other.format, other.dtype, other.shape, other.nnz) == (T.format, T.dtype, T.shape, T.nnz)
        assert other.fill_value == T.fill_value
        np.testing.assert_array_equal(other.to_numpy(), array)
    back = T.to_sparse()
    np.testing.assert_array_equal(back.todense(), array)
    assert back.fill_value == T.fill_value and back.dtype == T.dtype
    if T.fill_value == 0:
        S = T.to_scipy()
        assert S.dtype == T.dtype and (S.format == T.format or T.format not in ("csr", "csc", "coo"))
        np.testing.assert_array_equal(S.toarray(), array)
        if S.format != "coo":
            assert T.format != S.format or T.nbytes == S.data.nbytes + S.indices.nbytes + S.indptr.nbytes
            # What SciPy's array sorts, prunes or writes over is its own.
            S.indices[:], S.indptr[:] = 0, 0
        else:
            for places in S.coords:
                places[:] = 0
        np.testing.assert_array_equal(T.to_numpy(), array)
    else:
        with pytest.raises(fl.Error, match="fill value"):
            T.to_scipy()
    own = T.to_numpy(copy=True)
    own[...] = 0
    own = T.toarray()
    own[...] = 0
    np.testing.assert_array_equal(T.to_numpy(), array)


@pytest.mark.parametrize("seed", range(DRAWN))
def test_ndarrays_of_dense_tensors(seed):
    array, _, rng = drawn([seed, 1])
    T = fl.asarray(array.copy())
    same, other = T.dtype, np.dtype(TYPES[(TYPES.index(array.dtype.name) + 1 + rng.integers(5)) % len(TYPES)])
    for made, shares in [
        (np.asarray(T), True),
        (np.array(T, copy=None), True),
        (np.asarray(T, dtype=same), True),
        (np.array(T), False),
        (np.array(T, dtype=same, copy=True), False),
        (np.asarray(T, dtype=other), False),
        (np.array(T, dtype=other), False),
        (T.to_numpy(), True),
        (T.to_numpy(copy=True), False),
    ]:
        assert np.shares_memory(made, T.to_numpy()) == (shares and made.size > 0)
        np.testing.assert_array_equal(made, array.astype(made.dtype))
    with pytest.raises(ValueError, match="copy"):
        np.array(T, dtype=other, copy=False)
    assert np.shares_memory(np.array(T, copy=False), T.to_numpy()) or not array.size


@pytest.mark.parametrize("type", [">f8", "<f4", ">i4", ">i2", ">u8"])
def test_foreign_bytes_are_read_right_by_whatever_takes_arrays(type):
    a = (np.arange(12).reshape(3, 4) % 5).astype(type)
    native, T = a.astype(a.dtype.newbyteorder("=")), fl.asarray(np.eye(3, 4))
    for got, want in [
        (fl.asarray(a), native),
        (T + a, np.eye(3, 4) + native),
        (a * T, native * np.eye(3, 4)),
        (fl.lazy(a).compute(), native),
        (fl.array.sum(a, axis=0), native.sum(axis=0)),
        (fl.einsum("ij->i", a), native.sum(axis=1)),
        (fl.einsum("y[i] = sum(j: A[i,j])", A=a), native.sum(axis=1)),
    ]:
        np.testing.assert_array_equal(got.to_numpy(), want)


@pytest.mark.parametrize("rows", [127, 128, 32767, 32768, 65536, 70_000])
def test_rows_beyond_narrow_indices(rows):
    rng = np.random.default_rng(rows)
    S = sp.csr_array(sp.coo_array((np.ones(5000), (rng.integers(0, rows, 5000), rng.integers(0, 400, 5000))), shape=(rows, 400)))
    S.sum_duplicates()
    T = fl.asarray(S.copy())
    for format in ("coo", "csc", "dcsr", "dcsc", "csr"):
        back = T.to(format).to("coo").to_scipy()
        assert (sp.csr_array(back) != S).nnz == 0
    np.testing.assert_array_equal(T.getnnz(axis=1), S.count_nonzero(axis=1))
    np.testing.assert_array_equal(T.getnnz(axis=0), S.count_nonzero(axis=0))


FILLS = ["0", "12", "-3", "255", "1.5", "-0.25", "1e3", "inf", "-inf", "nan"]


@pytest.mark.parametrize("type", ["f64", "f32", "i64", "i8", "u8"])
@pytest.mark.parametrize("word", FILLS)
def test_fill_values_that_are_declared(type, word):
    """A fill value that the type holds is what is not stored; any other is refused."""
    dtype = fl._types.DTYPES[type]
    number = float(word)
    holds = dtype.kind == "f" or (number == number and number.is_integer() and "e" not in word and "." not in word)
    holds = holds and (dtype.kind == "f" or np.iinfo(dtype).min <= number <= np.iinfo(dtype).max)
    S = sp.csr_array(np.array([[0, 2, 0], [1, 0, 0]]).astype(dtype))
    if not holds:
        with pytest.raises((fl.Error, OverflowError)):
            fl.compile("y[i,j] = A[i,j]", A=f"{type} csr fill {word}")(A=S)
        return
    got = fl.compile("y[i,j] = A[i,j]", A=f"{type} csr fill {word}")(A=S)["y"]
    np.testing.assert_array_equal(got.to_numpy(), np.where(S.toarray() != 0, S.toarray(), dtype.type(number)))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("shape", [(3,), (4,), (3, 1)])
def test_buffers_have_the_results_type_and_shape(dtype, shape):
    k, buffer = fl.compile("y[i] = 2.0 * x[i]", x="f64"), np.full(shape, 7, dtype)
    calls = [lambda: k(x=np.ones(3), out={"y": buffer}), lambda: fl.einsum("y[i] = 2.0 * x[i]", x=np.ones(3), out=buffer)]
    for call in calls:
        if dtype == "float64" and shape == (3,):
            made = call()
            assert (made["y"] if isinstance(made, dict) else made) is buffer and (buffer == 2).all()
        else:
            with pytest.raises(fl.OperandError, match="expected"):
                call()
            assert (buffer == 7).all()


@pytest.mark.parametrize("seed", range(DRAWN))
@pytest.mark.parametrize("format", ["dense", "csr", "csc", "coo"])
def test_pictures_show_where_entries_are(format, seed):
    """A cell for each place, of larger matrices for several: those in which something is are drawn as runs, none longer or shorter."""
    rng = np.random.default_rng([seed, *format.encode()])
    shape = [(3, 7), (64, 5), (1, 1), (200, 130), (65, 64), (1000, 3)][seed % 6]
    array = (rng.random(shape) < [0.4, 0.01][shape[0] > 64]).astype(float)
    shown = fl.asarray(array, format)._repr_html_()
    width, height = (int(n) for n in re.search(r'<rect x="0" y="-.5" width="(\d+)" height="(\d+)"', shown).groups())
    assert max(width, height) == min(max(shape), 64)
    runs = [tuple(map(int, run)) for run in re.findall(r"M(\d+) (\d+)h(\d+)", shown)]
    drawn = [(y, x + n) for x, y, count in runs for n in range(count)]
    rows, columns = np.nonzero(array)
    cells = set(zip((rows * height // shape[0]).tolist(), (columns * width // shape[1]).tolist(), strict=True))
    assert set(drawn) == cells and len(drawn) == len(cells)
    # Each run begins where nothing stands before.
    assert all((y, x - 1) not in cells for x, y, _ in runs)


def test_names_that_there_are_not():
    for module in (fl, fl.array):
        for name in ("no_such_name", "_no_such_name", "sum_of_all"):
            assert not hasattr(module, name)
            with pytest.raises(AttributeError, match=name):
                getattr(module, name)
    assert set(fl.__all__) <= set(dir(fl))
    for name in fl.__all__:
        assert getattr(fl, name) is not None
