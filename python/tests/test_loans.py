"""Whose arrays are read-only, and for how long: nobody's for ever, and those that a tensor believes as long as it lives."""

import gc
import threading

import numpy as np
import pytest
import scipy.sparse as sp
import sparse

import fiberloom as fl

FORMATS = ["csr", "csc", "coo"]


def indices(matrix) -> list[np.ndarray]:
    """The index arrays of a matrix of SciPy's."""
    return list(matrix.coords) if matrix.format == "coo" else [matrix.indptr, matrix.indices]


def is_free(matrix) -> bool:
    """Whether all index arrays can be written to; fails where some can, and others not."""
    (one,) = {array.flags.writeable for array in indices(matrix)}
    return one


BORROWING = {
    "compile": lambda A, x: fl.compile("y[i] = A[i,j] * x[j]", A=A, x=x),
    "bind": lambda A, x: fl.compile("y[i] = A[i,j] * x[j]", A=A, x=x).bind(A=A, x=x),
    "time": lambda A, x: fl.compile("y[i] = A[i,j] * x[j]", A=A, x=x).time(A=A, x=x, seconds=0.0),
    "einsum": lambda A, x: fl.einsum("y[i] = A[i,j] * x[j]", A=A, x=x),
    "lazy": lambda A, x: fl.lazy(A) @ x,
    "operators": lambda A, x: fl.asarray(x) + A,
    "a number that changes the fill value": lambda A, x: fl.array.add(A, 1),
    "a function that moves entries": lambda A, x: fl.array.sort(A),
    "shards": lambda A, x: fl.shards("y[i] = A[i,j] * x[j]", A=A, x=x, split={"i": 2}),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", BORROWING)
def test_what_describes_or_computes_leaves_the_callers_arrays_alone(name, format, matrix):
    A, x = matrix((6, 6)).asformat(format), np.arange(6.0)
    held = BORROWING[name](A, x)
    assert is_free(A) and held is not None


@pytest.mark.parametrize("format", FORMATS)
def test_a_tensor_holds_the_indices_for_its_life(format, matrix):
    A = matrix((5, 6)).asformat(format)
    T = fl.asarray(A)
    U = fl.asarray(type(A)(A, copy=False))
    kept = [T.T, T + 1.0, T.arrays()]
    del T
    assert not is_free(A)
    del U
    assert not is_free(A), "what was made of it is over its arrays"
    kept.clear()
    assert is_free(A)
    for array in indices(A):
        array[:] = 0


def test_views_are_given_back_with_what_they_are_views_of():
    base = np.array([0, 2, 1, 9], dtype=np.int32)
    A = sp.csr_array(np.eye(2))
    A.indices, B = base[:2], sp.csr_array(np.eye(2))
    A.indices[:] = [0, 1]
    B.indices = base[:2]
    T, U = fl.asarray(A), fl.asarray(B)
    del T
    assert not (A.indices.flags.writeable or base.flags.writeable or B.indices.flags.writeable)
    del U
    assert A.indices.flags.writeable and base.flags.writeable and B.indices.flags.writeable


def test_what_was_read_only_stays_so(matrix):
    A = matrix((5, 6))
    A.indices.setflags(write=False)
    fl.asarray(A)
    assert A.indptr.flags.writeable and not A.indices.flags.writeable


def test_a_refused_matrix_is_given_back(matrix):
    A = matrix((5, 6))
    A.indices[0] = 99
    with pytest.raises(fl.OperandError, match="coordinate 99 is not in"):
        fl.asarray(A)
    assert is_free(A)


def test_arrays_of_others_are_given_back():
    truths, coords = np.array([True, False]), sparse.COO(np.array([[0, 1], [1, 0]]), np.ones(2), shape=(2, 2))
    held = fl.asarray(truths), fl.asarray(coords)
    assert not truths.flags.writeable and not coords.coords.flags.writeable
    del held
    assert truths.flags.writeable and coords.coords.flags.writeable


@pytest.mark.parametrize("format", FORMATS)
def test_scipys_arrays_are_sorted_and_pruned_in_place(format, matrix):
    T = fl.asarray(matrix((6, 6), density=0.5)).to(format)
    want, S = T.to_numpy().copy(), T.to_scipy()
    assert np.shares_memory(S.data, T.data) and is_free(S)
    for array in indices(S):
        assert not np.shares_memory(array, T.arrays()["crd1"])
    S = T.to_scipy(copy=True)
    S.data[:3] = 0
    S.has_canonical_format = False
    S.sum_duplicates()
    S.eliminate_zeros()
    assert S.nnz == T.nnz - 3
    np.testing.assert_array_equal(T.to_numpy(), want)
    assert not is_free(T.to_scipy(copy=False))


def test_tensors_that_come_and_go_on_threads_never_believe_what_can_change(matrix):
    A, wrong = matrix((20, 20)), []

    def borrow(turns):
        for n in range(turns):
            T = fl.asarray(A)
            if is_free(A):
                wrong.append(n)
            if n % 3 == 0:
                cycle = [T]
                cycle.append(cycle)  # Ends when garbage is collected, wherever that is.
            del T

    threads = [threading.Thread(target=borrow, args=(300,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert not wrong and is_free(A)
