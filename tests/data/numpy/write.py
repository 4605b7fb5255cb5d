"""Writes the files of this folder with NumPy, SciPy and PyData/Sparse: what readers are held to.

python3 write.py   (numpy 2.4, scipy 1.17, sparse 0.19)
"""

import gzip

import numpy
import scipy.io
import scipy.sparse
import sparse

# A matrix with an empty column, and a tensor of three modes.
A = numpy.array([[0, 5, 0, 0], [1, 0, 0, 7], [0, 0, 0, 2.5]])
T = numpy.zeros((2, 3, 2))
T[0, 1, 1], T[1, 2, 0], T[1, 0, 1] = 5, -1, 2
v = numpy.array([0, 3, 0, 4.0])


def scipy_npz(name, array, **how):
    scipy.sparse.save_npz(f"scipy-{name}.npz", array, **how)


def sparse_npz(name, array):
    sparse.save_npz(f"sparse-{name}.npz", array)


for layout in ["csr", "csc", "coo"]:
    scipy_npz(layout, scipy.sparse.csr_array(A).asformat(layout), compressed=layout != "coo")
scipy_npz("coo-matrix", scipy.sparse.coo_matrix(A.astype("i2")))
scipy_npz("coo-vector", scipy.sparse.coo_array(v))
scipy_npz("coo-tensor", scipy.sparse.coo_array(T))
# Diagonals of five elements, of which some stand outside of the matrix.
diagonals = numpy.array([[1.0, 2, 0, 4, 9], [5, 6, 7, 8, 9], [9, 10, 11, 12, 13]])
scipy_npz("dia", scipy.sparse.dia_array((diagonals, [0, -1, 2]), shape=(4, 4)))
# The same in the order of columns, and wider than high.
scipy_npz("dia-columns", scipy.sparse.dia_array((numpy.asfortranarray(diagonals), [3, -2, -7]), shape=(3, 5)))
blocks = scipy.sparse.bsr_array(numpy.kron([[1, 0, 2], [0, 0, 3]], [[1, 0, 3], [4, 5, 6]]), blocksize=(2, 3))
scipy_npz("bsr", blocks)
# Blocks in the order of columns: three modes, of which the first runs fastest.
scipy_npz("bsr-columns", scipy.sparse.bsr_array((numpy.asfortranarray(blocks.data), blocks.indices, blocks.indptr)))

sparse_npz("coo", sparse.COO.from_numpy(T))
sparse_npz("coo-fill", sparse.COO.from_numpy(numpy.where(T == 0, 7, T), fill_value=7.0))
sparse_npz("coo-scalar", sparse.COO.from_numpy(numpy.array(5.0)))
sparse_npz("gcxs", sparse.GCXS.from_numpy(T, compressed_axes=(0,)))
sparse_npz("gcxs-two", sparse.GCXS.from_numpy(T, compressed_axes=(1, 2)))
sparse_npz("gcxs-matrix", sparse.GCXS.from_numpy(A.astype("i4"), compressed_axes=(1,)))
sparse_npz("gcxs-vector", sparse.GCXS.from_numpy(v))

numpy.save("columns.npy", numpy.asfortranarray(numpy.arange(24, dtype="u2").reshape(2, 3, 4)))
numpy.save("big-endian.npy", numpy.arange(24, dtype=">i8").reshape(4, 3, 2).T)
with gzip.GzipFile("columns.npy.gz", "wb", mtime=0) as out:
    numpy.save(out, numpy.asfortranarray(numpy.arange(24, dtype="u2").reshape(2, 3, 4)))
with gzip.GzipFile("matrix.mtx.gz", "wb", mtime=0) as out:
    scipy.io.mmwrite(out, scipy.sparse.coo_array(A))
unsigned = scipy.sparse.coo_array(numpy.array([[2**64 - 1, 0], [0, 7]], dtype="u8"))
scipy.io.mmwrite("unsigned.mtx", unsigned, field="unsigned-integer")
