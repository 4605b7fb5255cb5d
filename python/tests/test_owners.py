"""Who holds memory: what is over another's arrays is made, all else is dropped and overwritten, and then it is read.

```text
 make ──▶ held ──▶ (its makers are gone) ──churn: arrays of the same sizes, full of other bytes──▶ read(held) == want
```

Values wanted are NumPy's, SciPy's and pyarrow's, of arrays that are drawn anew. Also which of these arrays can be written to.
"""

import copy
import ctypes
import gc
import pickle

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import fiberloom as fl
from fiberloom import array as xp

SHAPE = (30, 40)
ROWS = 1000


@pytest.fixture(scope="module", autouse=True)
def only_what_is_new_is_collected():
    """Modules and what they hold are not gone through again in each collection."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def dense(dtype=np.float64):
    return np.random.default_rng(1).integers(0, 2 if dtype == bool else 100, SHAPE).astype(dtype)


def sparse(format="csr", dtype=np.float64):
    random = np.random.default_rng(2)
    values = random.integers(1, 9, SHAPE) * (random.random(SHAPE) < 0.4)
    return sp.coo_array(values.astype(dtype)).asformat(format)


def vector():
    return np.arange(1.0, SHAPE[1] + 1)


def columns():
    random = np.random.default_rng(3)
    return {
        "x": random.random(ROWS),
        "n": random.integers(0, 1000, ROWS),
        "b": random.integers(0, 2, ROWS).astype(bool),
        "s": [f"a text of more than twelve bytes, {n}" for n in range(ROWS)],
        "d": np.datetime64("2024-02-29") + random.integers(0, 9, ROWS),
    }


def churn(sizes):
    """Memory of these sizes is taken many times, by NumPy and by Python, and filled."""
    held = []
    for size in {size for size in sizes if size}:
        for n in range(12):
            held.append(np.full(size, 0x5A + n % 2, np.uint8))
            held.append(bytes([0xA5]) * size)
    return len(held)


def sizes_of(value):
    """How many bytes the arrays take that are compared."""
    if isinstance(value, (list, tuple)) and any(isinstance(part, np.ndarray) for part in value):
        return [size for part in value for size in sizes_of(part)]
    array = np.asarray(value)
    return [array.nbytes] if array.dtype != object else [8 * len(array)]


# Of columns, their bits and marks, of dense arrays and truth values, of what is stored, of positions.
SIZES = [8 * ROWS, 4 * ROWS, ROWS, ROWS // 8, 8 * 1200, 1200, 8 * 469, 4 * 469, 4 * 31, 4 * 41, 8 * 31, 8 * 41]


def survives(make, read, want):
    """That what is held has the same values when all else is gone."""
    held = make()
    gc.collect()
    churn(SIZES + sizes_of(want))
    got = read(held)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_nobody_holds_is_overwritten():
    """A view that holds nothing is noticed."""
    array = dense()
    address, size = array.ctypes.data, array.nbytes
    want = array.tobytes()
    del array
    gc.collect()
    churn(SIZES)
    assert ctypes.string_at(address, size) != want


# ---- dense tensors

MADE = {
    "asarray": lambda a: fl.asarray(a),
    "asarray, without a copy": lambda a: fl.asarray(a, copy=False),
    "asarray, of columns": lambda a: fl.asarray(np.asfortranarray(a)),
    "asarray, of a view": lambda a: fl.asarray(np.stack([a, a])[1]),
    "a tensor of an array": lambda a: xp.asarray(a),
    "from_dlpack": lambda a: xp.from_dlpack(a),
    "a result": lambda a: fl.einsum("y[i,j] = a[i,j] + 0", a=a),
    "a conversion": lambda a: fl.asarray(a).to("csr").to("dense"),
    "a pickle": lambda a: pickled(fl.asarray(a)),
    "a copy": lambda a: copy.copy(fl.asarray(a)),
    "lazy": lambda a: (fl.lazy(a) + 0).compute(),
}

# What is made of a tensor, how it is read, and what NumPy has for it.
DENSE = {
    "itself": (lambda T: T, lambda T: T.to_numpy(), lambda a: a),
    "T": (lambda T: T.T, lambda T: T.to_numpy(), lambda a: a.T),
    "mT": (lambda T: T.mT, lambda T: T.to_numpy(), lambda a: a.T),
    "permuted": (lambda T: T.permuted([1, 0]), lambda T: T.to_numpy(), lambda a: a.T),
    "permute_dims": (lambda T: xp.permute_dims(T, (1, 0)), lambda T: T.to_numpy(), lambda a: a.T),
    "transpose": (lambda T: T.transpose(), lambda T: T.to_numpy(), lambda a: a.T),
    "swapaxes": (lambda T: T.swapaxes(0, 1), lambda T: T.to_numpy(), lambda a: a.T),
    "reshape": (lambda T: T.reshape(-1), lambda T: T.to_numpy(), lambda a: a.reshape(-1)),
    "ravel": (lambda T: T.ravel(), lambda T: T.to_numpy(), lambda a: a.ravel()),
    "squeeze": (lambda T: T[:, None].squeeze(), lambda T: T.to_numpy(), lambda a: a),
    "real": (lambda T: T.real, lambda T: T.to_numpy(), lambda a: a),
    "conj": (lambda T: T.conj(), lambda T: T.to_numpy(), lambda a: a),
    "astype": (lambda T: T.astype(T.dtype, copy=False), lambda T: T.to_numpy(), lambda a: a),
    "to": (lambda T: T.to("dense"), lambda T: T.to_numpy(), lambda a: a),
    "broadcast_to": (lambda T: xp.broadcast_to(T, (2, *SHAPE)), lambda T: T.to_numpy(), lambda a: np.stack([a, a])),
    "...": (lambda T: T[...], lambda T: T.to_numpy(), lambda a: a),
    "a part": (lambda T: T[3:, ::2], lambda T: T.to_numpy(), lambda a: a[3:, ::2]),
    "a row": (lambda T: next(iter(T)), lambda T: T.to_numpy(), lambda a: a[0]),
    "with_fill": (lambda T: T.with_fill(T.fill_value), lambda T: T.to_numpy(), lambda a: a),
    "to_numpy": (lambda T: T.to_numpy(), lambda x: x, lambda a: a),
    "a view of to_numpy": (lambda T: T.to_numpy()[::3, 1:], lambda x: x, lambda a: a[::3, 1:]),
    "dense_view": (lambda T: T.dense_view(), lambda x: x, lambda a: a),
    "arrays": (lambda T: T.arrays()["values"], lambda x: np.sort(x, axis=None), lambda a: np.sort(a, axis=None)),
    "np.asarray": (np.asarray, lambda x: x, lambda a: a),
    "np.array": (lambda T: np.array(T, copy=None), lambda x: x, lambda a: a),
    "np.from_dlpack": (np.from_dlpack, lambda x: x, lambda a: a),
    "a memoryview": (lambda T: memoryview(T.to_numpy()), np.asarray, lambda a: a),
    "lazy": (lambda T: fl.lazy(T) + 1, lambda x: x.compute().to_numpy(), lambda a: a + 1),
    "an iterator": (iter, lambda rows: np.stack([row.to_numpy() for row in rows]), lambda a: a),
    "a pickle": (lambda T: pickled(T), lambda T: T.to_numpy(), lambda a: a),
}


def pickled(object):
    """An object again of its pickle, whose buffers are outside of it."""
    buffers = []
    data = pickle.dumps(object, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=buffers)


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("name", DENSE)
def test_dense_tensors_hold_what_they_are_over(name, made):
    make, read, want = DENSE[name]
    survives(lambda: make(MADE[made](dense())), lambda held: [read(held)], [want(dense())])


@pytest.mark.parametrize("name", ["np.asarray", "np.from_dlpack", "arrays", "permuted", "a pickle"])
def test_truth_values_hold_what_they_are_over(name):
    make, read, want = DENSE[name]
    survives(lambda: make(fl.asarray(dense(bool))), lambda held: [read(held)], [want(dense(bool))])


# ---- sparse ones

FORMATS = ["csr", "csc", "coo"]


def full(x):
    return x.toarray() if sp.issparse(x) else x.to_numpy()


SPARSE = {
    "itself": (lambda T: T, full, lambda S: S.toarray()),
    "T": (lambda T: T.T, full, lambda S: S.toarray().T),
    "permuted": (lambda T: T.permuted([1, 0]), full, lambda S: S.toarray().T),
    "with_fill": (lambda T: T.with_fill(2.0), full, lambda S: np.where(S.toarray() == 0, 2, S.toarray())),
    "with_fill of a transpose": (lambda T: T.T.with_fill(2.0), full, lambda S: np.where(S.toarray() == 0, 2, S.toarray()).T),
    "permuted of with_fill": (
        lambda T: T.with_fill(2.0).permuted([1, 0]),
        full,
        lambda S: np.where(S.toarray() == 0, 2, S.toarray()).T,
    ),
    "another fill value by a number": (lambda T: T + 1.0, full, lambda S: S.toarray() + 1),
    "the same fill value": (lambda T: T * 2.0, full, lambda S: S.toarray() * 2),
    "a comparison": (lambda T: T > 3.0, full, lambda S: S.toarray() > 3),
    "revalued": (
        lambda T: T.revalued(fl.asarray(np.arange(1.0, T.nnz + 1)), 0.0),
        lambda T: np.sort(full(T)[full(T) != 0]),
        lambda S: np.arange(1.0, S.nnz + 1),
    ),
    "data": (lambda T: T.asformat(T.format if T.format in FORMATS else "coo").data, lambda x: x, lambda S: S.data),
    "arrays": (lambda T: T.arrays()["values"], lambda x: x, lambda S: S.data),
    "coordinates": (lambda T: T.arrays()["crd1"], lambda x: x, lambda S: S.coords[1] if S.format == "coo" else S.indices),
    "to_scipy": (lambda T: T.to_scipy(), full, lambda S: S.toarray()),
    "to_scipy, without a copy": (lambda T: T.to_scipy(copy=False), full, lambda S: S.toarray()),
    "to_scipy's values": (lambda T: T.to_scipy(copy=False).data, lambda x: x, lambda S: S.data),
    "to_sparse": (lambda T: T.to_sparse(), lambda x: x.todense(), lambda S: S.toarray()),
    "asformat": (lambda T: T.asformat(T.format), full, lambda S: S.toarray()),
    "to another format": (lambda T: T.to({"csr": "csc"}.get(T.format, "csr")), full, lambda S: S.toarray()),
    "tocoo": (lambda T: T.tocoo(), full, lambda S: S.toarray()),
    "tolil": (lambda T: T.tolil(), full, lambda S: S.toarray()),
    "real": (lambda T: T.real, full, lambda S: S.toarray()),
    "astype": (lambda T: T.astype(T.dtype, copy=False), full, lambda S: S.toarray()),
    "copy": (lambda T: T.copy(), full, lambda S: S.toarray()),
    "a pickle": (pickled, full, lambda S: S.toarray()),
    "a part": (lambda T: T[2:, ::3], full, lambda S: S.toarray()[2:, ::3]),
    "lazy": (lambda T: fl.lazy(T) @ vector(), lambda x: x.compute().to_numpy(), lambda S: S @ vector()),
    "matvec": (lambda T: T.matvec, lambda f: np.asarray(f(vector())), lambda S: S @ vector()),
    "a linear operator": (sla.aslinearoperator, lambda A: np.asarray(A.matvec(vector())), lambda S: S @ vector()),
    "nonzero": (lambda T: T.nonzero()[0], lambda x: np.sort(x.to_numpy()), lambda S: np.sort(S.nonzero()[0])),
    "what is stored by rows": (lambda T: T.tocsr().indptr, lambda x: x, lambda S: S.tocsr().indptr),
    "what is stored by places": (lambda T: T.tocoo().coords[1], np.sort, lambda S: np.sort(S.tocoo().coords[1])),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", SPARSE)
def test_sparse_tensors_hold_what_they_are_over(name, format):
    make, read, want = SPARSE[name]
    survives(lambda: make(fl.asarray(sparse(format))), lambda held: [read(held)], [want(sparse(format))])
    # Of a result, which is of no array of SciPy's.
    survives(lambda: make(fl.asarray(sparse(format)) * 1.0), lambda held: [read(held)], [want(sparse(format))])


PROGRAM = "y[i] = A[i,j] * x[j]"
BOUND = {
    "bind": lambda A, x: fl.compile(PROGRAM, A=A, x=x).bind(A=A, x=x),
    "bind of tensors": lambda A, x: fl.compile(PROGRAM, A=A, x=x).bind(A=fl.asarray(A), x=fl.asarray(x)),
    "shards": lambda A, x: fl.shards(PROGRAM, A=A, x=x, split={"i": 3}),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", BOUND)
def test_what_is_bound_holds_its_operands(name, format):
    def read(held):
        result = held.run(1) if name == "shards" else held.run()
        return [result["y"].to_numpy()]

    survives(lambda: BOUND[name](sparse(format), vector()), read, [sparse(format) @ vector()])


# ---- tables

TABLES = {
    "of pyarrow": lambda: fl.table(pa.table(columns())),
    "of polars": lambda: fl.table(pl.DataFrame(columns())),
    "of NumPy": lambda: fl.table(columns()),
    "a result": lambda: copied(fl.table(columns())),
    "a pickle": lambda: pickled(fl.table(pa.table(columns()))),
    "rows": lambda: fl.table(pa.table(columns()))[:],
    "columns": lambda: fl.table(pa.table(columns()))[["x", "n", "b", "s", "d"]],
}


def copied(table):
    """A table that a program defines, of the same rows."""
    text = """dim S: string  dim D: date  table t[row: N] { x: f64, n: i64, b: bool, s: S, d: D }
    table out[row: N] { x_ = "x": f64 fill -1, n_ = "n": i64 fill -1, b_ = "b": bool, s_ = "s": S, d_ = "d": D }
    x_[i] = x[i]  n_[i] = n[i]  b_[i] = b[i]  s_[i] = s[i]  d_[i] = d[i]"""
    return fl.compile(text)(t=table)["out"]


class ArrowArray(ctypes.Structure):
    pass


RELEASE = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))
ArrowArray._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
    ("buffers", ctypes.c_void_p),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.c_void_p),
    ("release", RELEASE),
    ("private_data", ctypes.c_void_p),
]


class ArrowStream(ctypes.Structure):
    _fields_ = [
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ArrowArray))),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


POINTER = ctypes.pythonapi.PyCapsule_GetPointer
POINTER.restype, POINTER.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def moved(table):
    """A column that a consumer moves out of a chunk, which it releases; the stream is released with its capsule."""
    place, ty = table.names.index("x"), pa.schema(table).field("x").type
    capsule = table.__arrow_c_stream__()
    address = POINTER(capsule, b"arrow_array_stream")
    chunk = ArrowArray()
    assert ArrowStream.from_address(address).get_next(address, ctypes.byref(chunk)) == 0
    child = chunk.children[place]
    array = pa.Array._import_from_c(ctypes.addressof(child.contents), ty)
    assert not child.contents.release
    chunk.release(ctypes.byref(chunk))
    return array


CONSUMERS = {
    "columns": lambda t: t.columns()["x"],
    "a column": lambda t: t["x"],
    "a view of a column": lambda t: t["x"][::2].repeat(2),
    "to_arrow": lambda t: t.to_arrow()["x"],
    "to_pandas": lambda t: t.to_pandas()["x"],
    "polars": lambda t: pl.DataFrame(t)["x"],
    "a stream": lambda t: pa.RecordBatchReader.from_stream(t),
    "a chunk of a stream": lambda t: pa.RecordBatchReader.from_stream(t).read_next_batch(),
    "a child of a chunk": lambda t: pa.RecordBatchReader.from_stream(t).read_next_batch().column("x"),
    "a child that is moved": moved,
    "a slice": lambda t: t[:],
    "a table again": lambda t: fl.table(t.to_arrow()),
    "a tensor of a column": lambda t: fl.asarray(t["x"]),
    "duckdb": lambda t: duckdb.from_arrow(t.to_arrow()),
}


def read_column(held):
    """The column `x` of whatever holds it."""
    if isinstance(held, pa.RecordBatchReader):
        held = held.read_all()
    if isinstance(held, (pa.Table, pa.RecordBatch)):
        held = held["x"]
    if isinstance(held, duckdb.DuckDBPyRelation):
        return held.fetchnumpy()["x"]
    if isinstance(held, fl.Table):
        return held["x"]
    return np.asarray(held)


@pytest.mark.parametrize("made", TABLES)
@pytest.mark.parametrize("name", CONSUMERS)
def test_consumers_of_a_table_hold_its_memory(name, made):
    want = columns()["x"]
    want = want[::2].repeat(2) if name == "a view of a column" else want
    survives(lambda: CONSUMERS[name](TABLES[made]()), lambda held: [read_column(held)], [want])


@pytest.mark.parametrize("made", TABLES)
def test_every_column_of_a_table_holds_its_memory(made):
    want = columns()

    def texts_and_others(table):
        arrays = table.columns()
        arrow = table.to_arrow()
        return [np.ma.getdata(arrays[name]) for name in want] + [np.array(arrow[name].to_pylist()) for name in want]

    both = [np.asarray(column) for column in want.values()]
    survives(TABLES[made], texts_and_others, both + [array.astype("O") if array.dtype.kind == "M" else array for array in both])


def test_bound_tables_hold_what_they_read():
    text = """dim S: string  table t[row: N] { x: f64, s: S }  table out[row: N] { y: f64 fill -1, of: S }
    y[i] = x[i]  of[i] = s[i]"""
    want = columns()

    def read(bound):
        out = bound()["out"].columns()
        return [np.ma.getdata(out["y"]), out["of"]]

    survives(lambda: fl.compile(text).bind(t=pa.table(columns())), read, [want["x"], want["s"]])


# ---- who may write


def views(T):
    """Arrays over a tensor's values."""
    made = [T.arrays()["values"], T.permuted(range(T.ndim)).arrays()["values"]]
    if "crd1" not in T.arrays():
        return made + [T.to_numpy(), np.asarray(T)]
    return made + ([T.data, T.to_scipy(copy=False).data] if T.format in FORMATS else [])


@pytest.mark.parametrize("format", ["dense", *FORMATS])
@pytest.mark.parametrize("dtype", [np.float64, np.int8])
def test_a_result_owns_its_values_and_its_indices_are_read_only(format, dtype):
    source = dense(dtype) if format == "dense" else sparse(format, dtype)
    before = source.copy()
    T = fl.asarray(source)
    R = T * dtype(1)
    for array in views(R):
        assert array.flags.writeable
        array.fill(7)
    for name, array in R.arrays().items():
        assert array.flags.writeable == (name == "values"), name
    for mine, others in zip(views(T), [source if format == "dense" else source.data] * 4):
        assert np.shares_memory(mine, others)
    assert np.array_equal(full(T), before if format == "dense" else before.toarray())
    assert (R.arrays()["values"] == 7).all()


@pytest.mark.parametrize("format", ["dense", *FORMATS])
def test_truth_values_are_read_only(format):
    source = dense(bool) if format == "dense" else sparse(format, bool)
    T = fl.asarray(source)
    tensors = [T, fl.asarray(source, copy=True), T & T, T == True]  # noqa: E712
    tensors += [T.T for T in tensors] + [pickled(tensors[0])]
    if format == "dense":
        tensors += [xp.from_dlpack(dense(bool)), fl.asarray(dense()) > 3.0]
    for T in tensors:
        assert T.dtype == bool
        for array in views(T):
            assert not array.flags.writeable and memoryview(array).readonly
            with pytest.raises(ValueError, match="read-only"):
                array[...] = True
        for array in T.arrays().values():
            assert not array.flags.writeable
    if format == "dense":
        assert not np.from_dlpack(tensors[0]).flags.writeable


def test_columns_of_tables_are_read_only():
    for made in TABLES.values():
        table = made()
        for name in ("x", "n", "b"):
            assert not np.ma.getdata(table[name]).flags.writeable
            assert not np.ma.getdata(table.columns()[name]).flags.writeable
