"""The kernels in SciPy, and in MKL, GraphBLAS and PyData/Sparse where they are importable: the peers' side of `cargo xtask bench`.

Commands come as lines on standard input; each is answered by one line, `ok ...` or `error MESSAGE`:

    load KERNEL FOLDER      operands are read from FOLDER; answer: the libraries that have this kernel
    result LIBRARY          one call; its arrays are written to FOLDER
    time LIBRARY N          one call, then N calls timed; answer: nanoseconds of each

A file NAME.pos1.i32, NAME.crd1.i32 (or .i64), NAME.values.f64 or NAME.extents.i64 holds one array of an operand, raw; the
result's have the library for a name, and coordinates of 64 bits. Everything runs on as many threads as `FIBERLOOM_BENCH_THREADS` says;
where those are several, a library with threads is named a second time, with `-1` behind it: on one. What a call allocates is
within its time, what it frees is not.
"""

import contextlib
import ctypes
import gc
import glob
import os
import shutil
import sys
import time
import warnings

THREADS = int(os.environ.get("FIBERLOOM_BENCH_THREADS", "1"))
for threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[threads] = str(THREADS)
warnings.filterwarnings("ignore")

import numpy as np
import scipy
import scipy.linalg
import scipy.sparse as sp

for library in glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so.*")):
    os.environ.setdefault("MKL_RT", library)
try:
    import sparse_dot_mkl as mkl
except Exception:
    mkl = None
try:
    import graphblas as gb

    gb.init("suitesparse", blocking=True)
    gb.ss.config["nthreads"] = THREADS
except Exception:
    gb = None
try:
    import sparse as pydata
except Exception:
    pydata = None
try:
    import cv2

    cv2.setNumThreads(THREADS)
except Exception:
    cv2 = None
try:
    import by_hand
    import numba
except Exception:
    numba = None

TYPES = {"i32": np.int32, "i64": np.int64, "f64": np.float64}


def on_threads(n):
    """Libraries run on so many threads from now on."""
    if mkl:
        ctypes.CDLL(os.environ.get("MKL_RT", "libmkl_rt.so")).MKL_Set_Num_Threads(n)
    if gb:
        gb.ss.config["nthreads"] = n
    if numba:
        numba.set_num_threads(n)


# Libraries that run on several threads.
THREADED = ("mkl", "mkl-unsorted", "graphblas", "numba")


class Operands:
    """The operands of a kernel, by name."""

    def __init__(self, folder):
        self.arrays = {}
        for file in os.listdir(folder):
            name, ty = file.rsplit(".", 1)
            self.arrays[name] = np.fromfile(os.path.join(folder, file), dtype=TYPES[ty])

    def values(self, name):
        return self.arrays[f"{name}.values"]

    def extents(self, name):
        return tuple(int(e) for e in self.arrays[f"{name}.extents"])

    def level(self, name, l):
        return self.arrays[f"{name}.pos{l}"], self.arrays[f"{name}.crd{l}"]

    def dense(self, name):
        return self.values(name).reshape(self.extents(name))

    def csr(self, name):
        pos, crd = self.level(name, 1)
        return sp.csr_matrix((self.values(name), crd, pos), shape=self.extents(name))

    def csc(self, name):
        pos, crd = self.level(name, 1)
        return sp.csc_matrix((self.values(name), crd, pos), shape=self.extents(name))

    def coo(self, name):
        (_, rows), (_, columns) = self.level(name, 0), self.level(name, 1)
        return sp.coo_matrix((self.values(name), (rows, columns)), shape=self.extents(name))

    def row(self, name):
        """A sparse vector as a matrix of one row."""
        pos, crd = self.level(name, 0)
        return sp.csr_matrix((self.values(name), crd, pos), shape=(1, *self.extents(name)))

    def column(self, name, kind):
        return kind(self.row(name).T)

    def fibers(self, name):
        """The last level of a tensor of three modes as a matrix: a row a fiber."""
        pos, crd = self.level(name, 2)
        shape = (len(pos) - 1, self.extents(name)[2])
        return sp.csr_matrix((self.values(name), crd, pos), shape=shape)


    def tree(self, name):
        """A tensor of compressed levels as the list of PyData/Sparse."""
        extents, values = self.extents(name), self.values(name)
        coordinates, below = [], np.ones(len(values), dtype=np.int64)
        for l in reversed(range(len(extents))):
            pos, crd = self.level(name, l)
            coordinates.append(np.repeat(crd, below))
            below = np.add.reduceat(below, pos[:-1]) if len(crd) else below
        return pydata.COO(np.array(coordinates[::-1]), values, shape=extents, has_duplicates=False, sorted=True)


def dense_result(result):
    if sp.issparse(result):
        result = result.toarray()
    return {"values": np.asarray(result, dtype=np.float64).ravel()}


def compressed_result(result):
    """Of csr or csc; what came unsorted is sorted here, outside the time."""
    result.sort_indices()
    return {"pos1": result.indptr, "crd1": result.indices, "values": result.data}


def vector_result(result):
    """Of a sparse vector: a matrix of one row, or what PyData/Sparse has."""
    if pydata and isinstance(result, pydata.SparseArray):
        result = result.asformat("coo")
        kept = result.data != 0  # It keeps the products that are nothing.
        return {"pos0": np.array([0, kept.sum()]), "crd0": result.coords[0][kept], "values": result.data[kept]}
    result = compressed_result(sp.csr_matrix(result))
    return {"pos0": result["pos1"], "crd0": result["crd1"], "values": result["values"]}


def rows_result(result):
    """Of compressed rows, in whatever library."""
    if pydata and isinstance(result, pydata.SparseArray):
        entries = result.asformat("coo")
        result = sp.csr_matrix((entries.data, entries.coords), shape=entries.shape)
        result.eliminate_zeros()  # It keeps the products that are nothing.
    return compressed_result(sp.csr_matrix(result))


def list_result(result):
    """Of a list of entries; what came unsorted is sorted here, outside the time."""
    if pydata and isinstance(result, pydata.SparseArray):
        result = result.asformat("coo").to_scipy_sparse()
    result = sp.coo_matrix(result)
    order = np.lexsort((result.col, result.row))
    pos0 = np.array([0, len(order)])
    return {"pos0": pos0, "crd0": result.row[order], "crd1": result.col[order], "values": result.data[order]}


def tree_result(result):
    """Of a list of PyData/Sparse, whose entries are in order, as compressed levels."""
    coordinates, made = result.coords, {"values": result.data}
    new, parents = np.zeros(len(result.data), dtype=bool), None
    new[:1] = True
    for l, along in enumerate(coordinates):
        new[1:] |= along[1:] != along[:-1]
        begins = np.flatnonzero(new)
        made[f"crd{l}"] = along[begins]
        first = np.zeros(1, dtype=np.int64) if parents is None else np.searchsorted(begins, parents)
        made[f"pos{l}"] = np.append(first, len(begins))
        parents = begins
    return made


def dcsr_result(result):
    pos0, crd0, pos1, crd1, values = result
    return {"pos0": pos0, "crd0": crd0, "pos1": pos1, "crd1": crd1, "values": values}


# Each function takes the operands and returns by library what one call is, and how a result becomes arrays.


def spmv(o):
    a, x = o.csr("A"), o.values("x")
    calls = {"scipy": lambda: a @ x}
    if mkl:
        calls["mkl"] = lambda: mkl.dot_product_mkl(a, x)
    if gb:
        ga, gx = graph(a), gb.Vector.from_dense(x)
        calls["graphblas"] = lambda: ga.mxv(gx).new()
    if numba:
        calls["numba"] = lambda: by_hand.spmv(a.indptr, a.indices, a.data, x)
    return calls, dense_result


def spmv_coo(o):
    a, x = o.coo("A"), o.values("x")
    return {"scipy": lambda: a @ x}, dense_result


def spmm(o):
    a, b = o.csr("A"), o.dense("B")
    calls = {"scipy": lambda: a @ b}
    if mkl:
        calls["mkl"] = lambda: mkl.dot_product_mkl(a, b)
    if gb:
        ga, gm = graph(a), gb.Matrix.from_dense(b)
        calls["graphblas"] = lambda: ga.mxm(gm).new()
    if numba:
        calls["numba"] = lambda: by_hand.spmm(a.indptr, a.indices, a.data, b)
    return calls, dense_result


def sddmm(o):
    s, a, b = o.csr("S"), o.dense("A"), o.dense("B")
    rows = np.repeat(np.arange(s.shape[0], dtype=np.int32), np.diff(s.indptr))

    def numpy():
        values = np.empty_like(s.data)
        for p in range(0, len(values), 4096):  # Gathered rows of a piece stay in the cache.
            piece = slice(p, p + 4096)
            np.einsum("pk,pk->p", a[rows[piece]], b[s.indices[piece]], out=values[piece])
        values *= s.data
        return sp.csr_matrix((values, s.indices.copy(), s.indptr.copy()), shape=s.shape)

    calls = {"numpy": numpy}
    if gb:
        gs, ga, gt = graph(s), gb.Matrix.from_dense(a), gb.Matrix.from_dense(b)
        calls["graphblas"] = lambda: ga.mxm(gt.T).new(mask=gs.S).ewise_mult(gs).new()
    if numba:
        parts = (s.indptr, s.indices, s.data, a, b)
        calls["numba"] = lambda: sp.csr_matrix((by_hand.sddmm(*parts), s.indices.copy(), s.indptr.copy()), shape=s.shape)
    return calls, compressed_result


def spadd(o):
    a, b = o.csr("A"), o.csr("B")
    calls = {"scipy": lambda: a + b}
    if gb:
        ga, gm = graph(a), graph(b)
        calls["graphblas"] = lambda: ga.ewise_add(gm, "plus").new()
    return calls, compressed_result


def multiply(o):
    a, b = o.csr("A"), o.csr("B")
    calls = {"scipy": lambda: sp.csr_matrix(a.multiply(b))}
    if gb:
        ga, gm = graph(a), graph(b)
        calls["graphblas"] = lambda: ga.ewise_mult(gm, "times").new()
    return calls, compressed_result


def sum3(o):
    a, b, d = o.csr("A"), o.csr("B"), o.csr("D")
    calls = {"scipy": lambda: a + b + d}
    if gb:
        ga, gm, gd = graph(a), graph(b), graph(d)
        calls["graphblas"] = lambda: ga.ewise_add(gm, "plus").new().ewise_add(gd, "plus").new()
    return calls, compressed_result


def spgemm(o):
    a, b = o.csr("A"), o.csr("B")

    def sort():
        c = a @ b
        c.sort_indices()
        return c

    calls = {"scipy": sort, "scipy-unsorted": lambda: a @ b}
    if mkl:
        calls["mkl"] = lambda: mkl.dot_product_mkl(a, b, reorder_output=True)
        calls["mkl-unsorted"] = lambda: mkl.dot_product_mkl(a, b)
    if gb:
        ga, gm = graph(a), graph(b)
        calls["graphblas"] = lambda: ga.mxm(gm).new()
    return calls, compressed_result


def spmspv(o):
    a, x = o.csc("A"), o.column("x", sp.csc_matrix)
    calls = {"scipy": lambda: a @ x}
    if gb:
        ga, gx = graph(a), gb.Vector.from_coo(x.indices, x.data, size=x.shape[0])
        ga.ss.config["format"] = "by_col"
        calls["graphblas"] = lambda: ga.mxv(gx).new()
    return calls, dense_result


def spmspv_rows(o):
    a, x = o.csr("A"), o.column("x", sp.csr_matrix)
    calls = {"scipy": lambda: a @ x, "scipy-dense": lambda: a @ x.toarray().ravel()}
    if gb:
        ga, gx = graph(a), gb.Vector.from_coo(*sp.coo_matrix(x).coords[:1], x.data, size=x.shape[0])
        calls["graphblas"] = lambda: ga.mxv(gx).new()
    return calls, dense_result


def ttv(o):
    fibers, c = o.fibers("X"), o.values("c")
    (pos0, crd0), (pos1, crd1) = o.level("X", 0), o.level("X", 1)
    copied = lambda: (pos0.copy(), crd0.copy(), pos1.copy(), crd1.copy())
    calls = {"scipy": lambda: (*copied(), fibers @ c)}
    if numba:
        calls["numba"] = lambda: (*copied(), by_hand.spmv(fibers.indptr, fibers.indices, fibers.data, c))
    return calls, dcsr_result


def mttkrp(o):
    fibers, y, z = o.fibers("X"), o.dense("Y"), o.dense("Z")
    (_, crd0), (pos1, crd1) = o.level("X", 0), o.level("X", 1)
    rows = np.zeros(o.extents("X")[0] + 1, dtype=np.int32)
    rows[crd0 + 1] = np.diff(pos1)
    rows = np.cumsum(rows, dtype=np.int32)
    ones, all_fibers = np.ones(len(crd1)), np.arange(len(crd1), dtype=np.int32)
    joined = sp.csr_matrix((ones, all_fibers, rows), shape=(len(rows) - 1, len(crd1)))
    calls = {"scipy": lambda: joined @ ((fibers @ z) * y[crd1])}
    if numba:
        parts = (crd0, pos1, crd1, fibers.indptr, fibers.indices, fibers.data, y, z, o.extents("X")[0])
        calls["numba"] = lambda: by_hand.mttkrp(*parts)
    return calls, dense_result


def dot(o):
    x, y = o.row("x"), o.row("y")
    calls = {"scipy": lambda: x.multiply(y).sum()}
    if gb:
        gx, gy = (gb.Vector.from_coo(v.indices, v.data, size=v.shape[1]) for v in (x, y))
        calls["graphblas"] = lambda: gx.inner(gy).new().value
    return calls, dense_result


def transpose(o):
    a = o.csr("A")
    calls = {"scipy": lambda: a.T.tocsr()}
    if gb:
        ga = graph(a)
        calls["graphblas"] = lambda: ga.T.new()
    return calls, compressed_result


def convert(o):
    a = o.csr("A")
    return {"scipy": lambda: a.tocsc()}, compressed_result


# Of PyData/Sparse what is in compressed rows is a GCXS, and a list or a vector a COO.


def compressed_rows(matrix):
    return pydata.GCXS.from_scipy_sparse(matrix)


def reshape(o):
    a = o.csr("A")
    calls = {"scipy": lambda: a.reshape((1, -1))}
    if pydata:
        pa = compressed_rows(a)
        calls["pydata"] = lambda: pa.reshape((-1,))
    return calls, vector_result


def stacked(scipy_stack, of, to, axis, result):
    """A stack of matrices that come as `of`, with a result in format `to`."""

    def kernel(o):
        a, b = of(o, "A"), of(o, "B")
        calls = {"scipy": lambda: scipy_stack([a, b]).asformat(to)}
        if pydata:
            make = compressed_rows if a.format == "csr" else pydata.COO.from_scipy_sparse
            pair = [make(a), make(b)]
            ends = {"csr": "gcxs", "coo": "coo"}[to]
            calls["pydata"] = lambda: pydata.concatenate(pair, axis=axis).asformat(ends)
        return calls, result

    return kernel


def slice_rows(o):
    a = o.csr("A")
    half = a.shape[0] // 2
    calls = {"scipy": lambda: a[0:half:2]}
    if pydata:
        pa = compressed_rows(a)
        calls["pydata"] = lambda: pa[0:half:2]
    return calls, rows_result


def slice_rows_coo(o):
    a = o.csr("A")
    half = a.shape[0] // 2
    calls = {"scipy": lambda: a[0:half:2].tocoo()}
    if pydata:
        pa = compressed_rows(a)
        calls["pydata"] = lambda: pa[0:half:2].asformat("coo")
    return calls, list_result


def slice_columns(o):
    a = o.csr("A")
    quarter = a.shape[1] // 4
    calls = {"scipy": lambda: a[:, quarter : 3 * quarter]}
    if pydata:
        pa = compressed_rows(a)
        calls["pydata"] = lambda: pa[:, quarter : 3 * quarter]
    return calls, rows_result


def square(v):
    """The extents of the square matrix that a vector is split into."""
    side = round(v.shape[1] ** 0.5)
    return side, side


def split(to, result):
    def kernel(o):
        v = o.row("v")
        calls = {"scipy": lambda: v.reshape(square(v)).asformat(to)}
        if pydata:
            pv = pydata.COO(v.indices[None, :], v.data, shape=(v.shape[1],))
            ends = {"csr": "gcxs", "coo": "coo"}[to]
            calls["pydata"] = lambda: pv.reshape(square(v)).asformat(ends)
        return calls, result

    return kernel


def reshape_times(o):
    a, v = o.csr("A"), o.row("v")
    calls = {"scipy": lambda: a.reshape((1, -1)).multiply(v)}
    if pydata and v.indices.dtype == np.int32:  # Of wider coordinates it says "only int indices permitted".
        pa, pv = pydata.COO.from_scipy_sparse(a), pydata.COO(v.indices[None, :], v.data, shape=(v.shape[1],))
        calls["pydata"] = lambda: pa.reshape((-1,)) * pv
    return calls, vector_result


def vstack_spmv(o):
    a, b, x = o.csr("A"), o.csr("B"), o.values("x")
    calls = {"scipy": lambda: sp.vstack([a, b]) @ x}
    if pydata:
        pa, pb = compressed_rows(a), compressed_rows(b)
        calls["pydata"] = lambda: pydata.concatenate([pa, pb], axis=0) @ x
    return calls, dense_result


def slice_times(o):
    a, b = o.csr("A"), o.csr("B")
    half = a.shape[0] // 2
    calls = {"scipy": lambda: a[0:half:2].multiply(b).tocsr()}
    if pydata:
        pa, pb = compressed_rows(a), compressed_rows(b)
        calls["pydata"] = lambda: pa[0:half:2] * pb
    return calls, rows_result


def listed(matrix):
    """Of PyData/Sparse what element-wise functions take."""
    return pydata.COO.from_scipy_sparse(matrix)


def not_equal(o):
    a, b = o.csr("A"), o.csr("B")
    calls = {"scipy": lambda: a != b}
    if pydata:
        pa, pb = listed(a), listed(b)
        calls["pydata"] = lambda: pa != pb
    return calls, rows_result


def of_two(function, first=lambda a: a, second=lambda b: b):
    """An element-wise function that SciPy has not, of operands that are made ready outside the time."""
    def kernel(o):
        a, b = first(o.csr("A")), second(o.csr("B"))
        calls = {}
        if pydata:
            pa, pb = listed(a), listed(b)
            calls["pydata"] = lambda: function(pa, pb)
        return calls, rows_result
    return kernel


def edges(o):
    image, region = o.csr("Img"), o.csr("Roi")
    picture, inside = image.toarray(), region.toarray() != 0
    calls = {"numpy": lambda: np.logical_xor((picture > 0.8) & inside, (picture > 0.75) & inside)}
    if pydata:
        pi, pr = listed(image), listed(region)
        calls["pydata"] = lambda: np.logical_xor(
            np.logical_and(pi > 0.8, pr), np.logical_and(pi > 0.75, pr))
    return calls, rows_result


def and_xor(o):
    a, b, m = o.csr("A"), o.csr("B"), o.csr("M")
    calls = {}
    if pydata:
        pa, pb, pm = listed(a), listed(b), listed(m)
        calls["pydata"] = lambda: np.logical_and(pm, np.logical_xor(pa, pb))
    return calls, rows_result


def masked_mxm(semiring):
    """Over plus_times, or another of GraphBLAS's semirings, which SciPy has not."""
    def kernel(o):
        m, a, b = o.csr("M"), o.csr("A"), o.csr("B")
        calls = {}
        if semiring == "plus_times":
            calls["scipy"] = lambda: (a @ b).multiply(m != 0)
        if gb:
            over = getattr(gb.semiring, semiring)
            gm, ga, gt = graph(m), graph(truth(semiring, a)), graph(truth(semiring, b))
            calls["graphblas"] = lambda: ga.mxm(gt, over).new(mask=gm.V)
        return calls, rows_result
    return kernel


def truth(semiring, x):
    return x.astype(bool) if semiring == "lor_land" else x


def masked_mxv(semiring):
    def kernel(o):
        m, a, x = o.row("m"), o.csr("A"), o.dense("x")
        rows = m.indices[m.data != 0]
        calls = {}
        if semiring == "plus_times":
            calls["scipy"] = lambda: a[rows] @ x
        if gb:
            over = getattr(gb.semiring, semiring)
            gm = gb.Vector.from_coo(m.indices, m.data, size=m.shape[1])
            ga, gx = graph(truth(semiring, a)), gb.Vector.from_dense(truth(semiring, x))
            calls["graphblas"] = lambda: ga.mxv(gx, over).new(mask=gm.V)

        def result(y):
            """GraphBLAS's result comes with what is `absent` for each row that it has not."""
            return {"pos0": np.array([0, len(rows)]), "crd0": rows, "values": y if len(y) == len(rows) else y[rows]}

        result.absent = np.inf if semiring == "min_plus" else 0.0
        return calls, result
    return kernel


def triangles(o):
    a = o.csr("A")
    calls = {"scipy": lambda: (a @ a).multiply(a).sum()}
    if gb:
        ga = graph(a)
        calls["graphblas"] = lambda: ga.mxm(ga).new(mask=ga.S).ewise_mult(ga).new().reduce_scalar().new().value
    return calls, dense_result


def sum_of(part):
    """The sum of parts of two matrices."""

    def kernel(o):
        a, b = o.csr("A"), o.csr("B")
        at = part(a.shape[1])
        calls = {"scipy": lambda: a[at, at] + b[at, at]}
        if pydata:
            pa, pb = compressed_rows(a), compressed_rows(b)
            calls["pydata"] = lambda: pa[at, at] + pb[at, at]
        return calls, rows_result

    return kernel


def add_trees(o):
    calls = {}
    if pydata:
        a, b = o.tree("A"), o.tree("B")
        calls["pydata"] = lambda: a + b
    return calls, tree_result


def minimax(o):
    calls = {}
    if pydata:
        a = o.tree("A")

        def play():
            value = a
            for mode in reversed(range(a.ndim)):
                value = value.max(axis=mode) if mode % 2 == 0 else value.min(axis=mode)
            return value

        calls["pydata"] = play
    return calls, lambda s: dense_result(s.todense() if isinstance(s, pydata.SparseArray) else s)


# Structures. Pictures are dense and of eight bits for those who have no other.


def triangles_of_graph(o):
    a = o.csr("A")
    calls = {}
    # SciPy makes all of the product, which of a graph with hubs may not fit into memory.
    if np.diff(a.indptr)[a.indices].sum(dtype=np.int64) < 10**9:
        calls["scipy"] = lambda: (a @ a).multiply(a).sum()
    if gb:
        ga = graph(a)
        calls["graphblas"] = lambda: ga.mxm(ga, "plus_pair").new(mask=ga.S).reduce_scalar("plus").new().value
    return calls, dense_result


def convolve(o):
    a, f = o.csr("A"), o.dense("F")
    whole, places = a.toarray(), (a.toarray() != 0).astype(np.float64)
    calls = {}
    if cv2:
        calls["opencv"] = lambda: cv2.filter2D(whole, cv2.CV_64F, f, borderType=cv2.BORDER_CONSTANT)
    return calls, lambda all: dense_result(all * places)


def blend(o):
    b, c = (o.csr(name).toarray().astype(np.uint8) for name in "BC")
    calls = {"numpy": lambda: np.rint(0.5 * b + 0.25 * c).astype(np.uint8)}
    if cv2:
        calls["opencv"] = lambda: cv2.addWeighted(b, 0.5, c, 0.25, 0.0)
    return calls, dense_result


def symv(o):
    s, x = o.dense("S"), o.values("x")
    packed = s[np.tril_indices(len(x))]
    return {
        "blas": lambda: scipy.linalg.blas.dspmv(len(x), 1.0, packed, x),
        "blas-whole": lambda: s @ x,
    }, dense_result


def similar(o):
    a = o.csr("A").toarray()

    def blas():
        g = a @ a.T
        r = np.diag(g)
        return np.sqrt(r[:, None] + r - 2 * g)

    return {"blas": blas}, dense_result


KERNELS = {
    "spmspv-walk": spmspv_rows,
    "spmspv-gallop": spmspv_rows,
    "spmspv-vbl": spmspv_rows,
    "spmspv-walk-ten": spmspv_rows,
    "spmspv-gallop-ten": spmspv_rows,
    "spmspv-vbl-ten": spmspv_rows,
    "triangles-walk": triangles_of_graph,
    "triangles-gallop": triangles_of_graph,
    "triangles-located": triangles_of_graph,
    "convolve": convolve,
    "symv": symv,
    "blend": blend,
    "similar": similar,
    "similar-dense": similar,
    "similar-vbl": similar,
    "similar-runs": similar,
    "spmv": spmv,
    "spmv-coo": spmv_coo,
    "spmm": spmm,
    "spmm-any": spmm,
    "spmm-128": spmm,
    "sddmm": sddmm,
    "spadd": spadd,
    "multiply": multiply,
    "sum3": sum3,
    "spgemm": spgemm,
    "spmspv": spmspv,
    "spmspv-rows": spmspv_rows,
    "ttv": ttv,
    "mttkrp": mttkrp,
    "mttkrp-factored": mttkrp,
    "dot": dot,
    "transpose": transpose,
    "convert": convert,
    "reshape": reshape,
    "vstack": stacked(sp.vstack, Operands.csr, "csr", 0, rows_result),
    "hstack": stacked(sp.hstack, Operands.csr, "csr", 1, rows_result),
    "vstack-coo": stacked(sp.vstack, Operands.coo, "coo", 0, list_result),
    "hstack-coo": stacked(sp.hstack, Operands.coo, "coo", 1, list_result),
    "slice-rows": slice_rows,
    "slice-columns": slice_columns,
    "split-coo": split("coo", list_result),
    "split-csr": split("csr", rows_result),
    "vstack-csr-coo": stacked(sp.vstack, Operands.csr, "coo", 0, list_result),
    "vstack-coo-csr": stacked(sp.vstack, Operands.coo, "csr", 0, rows_result),
    "hstack-csr-coo": stacked(sp.hstack, Operands.csr, "coo", 1, list_result),
    "slice-rows-coo": slice_rows_coo,
    "reshape-times": reshape_times,
    "vstack-spmv": vstack_spmv,
    "slice-times": slice_times,
    "not-equal": not_equal,
    "xor": of_two(np.logical_xor),
    "shift": of_two(np.right_shift, lambda a: a.astype(np.int64), lambda b: abs(b).astype(np.int64)),
    "power": of_two(np.power),
    "edges": edges,
    "ldexp": of_two(np.ldexp, second=lambda b: b.astype(np.int32)),
    "and-xor": and_xor,
    "masked-mxm": masked_mxm("plus_times"),
    "masked-mxm-boolean": masked_mxm("lor_land"),
    "masked-mxm-min-plus": masked_mxm("min_plus"),
    "masked-mxv": masked_mxv("plus_times"),
    "masked-mxv-boolean": masked_mxv("lor_land"),
    "masked-mxv-min-plus": masked_mxv("min_plus"),
    "triangles": triangles,
    "add-4": add_trees,
    "minimax-3": minimax,
    "minimax-5": minimax,
    "minimax-7": minimax,
    "add-windows": sum_of(lambda n: slice(n // 4, 3 * (n // 4))),
    "add-strides": sum_of(lambda n: slice(0, n, 2)),
}


def graph(matrix):
    return gb.io.from_scipy_sparse(matrix)


def from_graph(result, absent):
    """What GraphBLAS made, as SciPy and NumPy have it, of a vector with what is `absent` where it has nothing."""
    if not gb or not isinstance(result, (gb.Matrix, gb.Vector)):
        return result
    if isinstance(result, gb.Vector):
        return result.to_dense(fill_value=absent)
    if result.nvals == result.nrows * result.ncols:
        return result.to_dense()
    return gb.io.to_scipy_sparse(result, "csr")


class Loaded:
    """A kernel with its operands."""

    def __init__(self, kernel, folder):
        self.folder = folder
        self.calls, self.arrays = KERNELS[kernel](Operands(folder))
        if THREADS > 1:
            self.calls |= {f"{name}-1": self.calls[name] for name in THREADED if name in self.calls}

    def write_result(self, library):
        result = from_graph(self.calls[library](), getattr(self.arrays, "absent", 0.0))
        for name, array in self.arrays(result).items():
            ty = "f64" if name == "values" else "i64" if name.startswith("crd") else "i32"
            array.astype(TYPES[ty], copy=False).tofile(os.path.join(self.folder, f"{library}.{name}.{ty}"))

    def time(self, library, repeat):
        call = self.calls[library]
        on_threads(1 if library.endswith("-1") else THREADS)
        call()
        times = []
        for _ in range(repeat):
            begin = time.perf_counter_ns()
            result = call()
            times.append(time.perf_counter_ns() - begin)
            del result
        return times


# What `memory.rs` asks of the system, too.
MADV_HUGEPAGE, MADV_COLLAPSE = 14, 25


def collapse():
    """Puts the heap in huge pages, as the other side does (`memory.rs`)."""
    with contextlib.suppress(OSError):
        with open("/proc/self/maps") as maps:
            heap = [line.split()[0].split("-") for line in maps if line.rstrip().endswith("[heap]")]
        if heap:
            begin, end = (int(address, 16) >> 21 << 21 for address in (heap[0][0], heap[-1][1]))
            begin += 1 << 21
            for advice in (MADV_HUGEPAGE, MADV_COLLAPSE):
                ctypes.CDLL(None).madvise(ctypes.c_void_p(begin), ctypes.c_size_t(max(end - begin, 0)), advice)


def answer(words, held):
    """`held` has what is loaded, if anything is."""
    match words:
        case ["load", kernel, folder]:
            held.clear()  # Before more is there: both may be too much for memory.
            gc.collect()
            held.extend([Loaded(kernel, folder)] if kernel in KERNELS else [])
            return [library for loaded in held for library in loaded.calls]
        case ["result", library]:
            held[0].write_result(library)
            collapse()
            return []
        case ["time", library, repeat]:
            return held[0].time(library, int(repeat))
        case _:
            raise ValueError(f"unknown command {words}")


def main():
    versions = [f"SciPy {scipy.__version__}", f"NumPy {np.__version__}"]
    versions += ["MKL"] if mkl else []
    versions += [f"GraphBLAS {gb.__version__}"] if gb else []
    versions += [f"PyData/Sparse {pydata.__version__}"] if pydata else []
    versions += [f"OpenCV {cv2.__version__}"] if cv2 else []
    versions += [f"Numba {numba.__version__}"] if numba else []
    print("ok", ", ".join(versions), flush=True)
    held = []
    for line in sys.stdin:
        try:
            print("ok", *answer(line.rstrip("\n").split(" ", 2), held), flush=True)
        except Exception as e:
            print("error", type(e).__name__, str(e).replace("\n", " "), flush=True)
    for loaded in held:  # The other side removes it too, unless it was killed.
        shutil.rmtree(loaded.folder, ignore_errors=True)


main()
