"""Tensors: what is shared, what is copied, what is refused, and the way back."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sparse

import fiberloom as fl


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_scipys_arrays_are_shared_both_ways(matrix, index):
    A = matrix((5, 6), index=index)
    T = fl.asarray(A)
    assert (T.shape, T.dtype, T.format, T.nnz, T.fill_value, T.ndim, T.size) == ((5, 6), np.float64, "csr", A.nnz, 0.0, 2, 30)
    ours = T.arrays()
    assert [address(ours[n]) for n in ("pos1", "crd1", "values")] == [address(a) for a in (A.indptr, A.indices, A.data)]
    back = T.to_scipy(copy=False)
    assert [address(a) for a in (back.indptr, back.indices, back.data)] == [address(a) for a in (A.indptr, A.indices, A.data)]
    assert back.indices.dtype == index and (back != A).nnz == 0


def test_a_dense_array_is_shared_both_ways():
    a = np.arange(6.0).reshape(2, 3)
    T = fl.asarray(a)
    assert address(T.to_numpy()) == address(a)
    T.to_numpy()[1, 2] = 7
    assert a[1, 2] == 7
    assert address(np.asarray(T)) == address(a)
    assert (np.from_dlpack(T) == a).all()


def test_columns_first_are_taken_as_they_are():
    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    T = fl.asarray(a)
    assert T.format == "{dense, dense} order(1, 0)"
    assert address(T.to_numpy()) == address(a) and (T.to_numpy() == a).all()
    assert (fl.einsum("y[i] = a[i,j]", a=a).to_numpy() == a.sum(1)).all()


def test_results_own_what_they_show():
    y = fl.einsum("y[i] = 2 * x[i]", x=np.arange(1000.0))
    view = y.to_numpy()
    del y
    assert view.flags.writeable and (view == 2 * np.arange(1000)).all()
    view[0] = 5


def test_results_never_share_values(matrix):
    A = fl.einsum("B[i,j] = 2 * A[i,j]", A=matrix((5, 5)))
    B = fl.einsum("B[i,j] = A[i,j]", A=A)
    before = B.to_numpy().copy()
    A.arrays()["values"][:] = -1
    assert (B.to_numpy() == before).all()


def test_indices_of_a_tensor_cannot_be_written_to(matrix):
    A = matrix((5, 6))
    assert A.indices.flags.writeable
    T = fl.asarray(A)
    for indices in (A.indices, A.indptr, T.arrays()["crd1"], T.to_scipy(copy=False).indices):
        with pytest.raises(ValueError, match="read-only"):
            indices[0] = 99
    A.data[0] = 3.0
    assert T.to_scipy().data[0] == 3.0


def test_what_indices_are_a_view_of_is_frozen_too():
    base = np.array([0, 2, 1, 9], dtype=np.int32)
    A = sp.csr_array((np.ones(2), np.array([0, 1], dtype=np.int32), base[:3]), shape=(2, 2), copy=False)
    A = sp.csr_array((np.ones(2), np.array([0, 1], dtype=np.int32), np.array([0, 1, 2, 9], np.int32)[:3]), shape=(2, 2))
    T = fl.asarray(A)
    owner = A.indptr if A.indptr.base is None else A.indptr.base
    assert not owner.flags.writeable
    del T
    assert owner.flags.writeable and A.indptr.flags.writeable


def test_indices_in_memory_of_others_are_copied():
    memory = bytearray(np.array([0, 1], dtype=np.int32).tobytes())
    A = sp.csr_array(np.eye(2))
    A.indices = np.frombuffer(memory, dtype=np.int32)
    T = fl.asarray(A)
    memory[0] = 200
    assert list(T.arrays()["crd1"]) == [0, 1]
    A.indices = np.frombuffer(bytearray(np.array([0, 1], dtype=np.int32).tobytes()), dtype=np.int32)
    with pytest.raises(fl.OperandError, match="memory that is not NumPy's.*`copy=False` permits no copy"):
        fl.asarray(A, copy=False)


def test_a_copy_leaves_the_callers_arrays_alone(matrix):
    A = matrix((5, 6))
    T = fl.asarray(A, copy=True)
    assert A.indices.flags.writeable
    assert address(T.arrays()["values"]) != address(A.data)
    U = fl.asarray(T, copy=True)
    assert address(U.arrays()["values"]) != address(T.arrays()["values"])
    assert fl.asarray(T) is T


def awkward():
    misaligned = np.frombuffer(bytearray(1 + 8 * 4), dtype=np.uint8)[1:].view(np.float64)
    misaligned[:] = [1, 2, 3, 4]
    return {
        "not aligned": misaligned,
        "not contiguous": np.arange(8.0)[::2],
        "bytes are in another order": np.arange(4).astype(">f8"),
    }


@pytest.mark.parametrize("why", awkward())
def test_awkward_arrays_are_copied_or_refused(why):
    a = awkward()[why]
    assert (fl.asarray(a).to_numpy() == a).all()
    assert (fl.einsum("y[i] = a[i] + 1", a=a).to_numpy() == a + 1).all()
    with pytest.raises(fl.OperandError, match=f"tensor `object`: it(s|) .*{why[:12]}.*`copy=False`"):
        fl.asarray(a, copy=False)


def test_awkward_index_arrays_are_copied(matrix):
    A = matrix((5, 6))
    want = A.toarray()
    A.indices = np.repeat(A.indices, 2)[::2]
    A.indptr = A.indptr.astype(">i4")
    assert (fl.asarray(A).to_numpy() == want).all()
    with pytest.raises(fl.OperandError, match="`copy=False`"):
        fl.asarray(A, copy=False)


def test_empty_arrays_are_taken():
    assert fl.asarray(np.empty((0, 3))).to_numpy().shape == (0, 3)
    assert fl.asarray(sp.csr_array((3, 0))).nnz == 0
    assert fl.einsum("y[i] = A[i,j]", A=sp.csr_array((3, 4))).to_numpy().tolist() == [0, 0, 0]


@pytest.mark.parametrize("format", ["bsr", "dia", "lil", "dok"])
def test_scipys_other_formats_are_converted(matrix, format):
    A = matrix((6, 6)).asformat(format)
    assert (fl.asarray(A).to_numpy() == A.toarray()).all()
    assert (fl.einsum("y[i] = A[i,j]", A=A).to_numpy() == A.toarray().sum(1)).all()
    with pytest.raises(fl.OperandError, match=f"`{format}`"):
        fl.asarray(A, copy=False)


def test_the_old_matrices_of_scipy_are_taken(matrix):
    A = sp.csr_matrix(matrix((4, 5)))
    assert (fl.einsum("y[i] = A[i,j]", A=A).to_numpy() == A.toarray().sum(1)).all()


FORMATS = ["dense", "csr", "csc", "dcsr", "dcsc", "coo", "csf", "{dense, hashed}", "{dense, bitmap}", "{dense, bytemap}",
           "{dense, band}", "{dense, ragged}", "{dense, runs}", "{dense, vbl}", "{dense, blocked}", "{dense, packbits}", "{compressed, dense} order(1, 0)"]  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_holds_the_same(format, matrix):
    A = matrix((6, 7))
    T = fl.asarray(A, format)
    assert T.format == format or fl.asarray(A, T.format).format == T.format
    assert (T.to_numpy() == A.toarray()).all()
    assert (T.to_scipy().toarray() == A.toarray()).all()
    assert (T.to_sparse().todense() == A.toarray()).all()
    assert (T.T.to_numpy() == A.toarray().T).all()
    for protocol in (2, 5):
        back = pickle.loads(pickle.dumps(T, protocol))
        assert back.format == T.format and (back.to_numpy() == A.toarray()).all()


def test_pickles_hand_arrays_over_out_of_band(matrix):
    T = fl.asarray(matrix((50, 50)))
    buffers = []
    data = pickle.dumps(T, 5, buffer_callback=buffers.append)
    assert len(buffers) == 3 and len(data) < 1000
    back = pickle.loads(data, buffers=buffers)
    assert (back.to_numpy() == T.to_numpy()).all()


def test_one_mode_and_three_go_to_scipy():
    x = np.array([0.0, 3.0, 0.0, 4.0])
    for format in ("sparse", "dense"):
        assert (fl.asarray(x, format).to_scipy().toarray() == x).all()
    three = np.arange(24.0).reshape(2, 3, 4) % 5
    assert (fl.asarray(three, "csf").to_scipy().toarray() == three).all()


def test_transposing_copies_nothing(matrix):
    T = fl.asarray(matrix((5, 6)))
    assert (T.T.format, T.T.shape) == ("csc", (6, 5))
    assert address(T.T.arrays()["values"]) == address(T.arrays()["values"])


def test_fill_says_what_scipys_matrices_do_not_store(matrix):
    A = matrix((5, 6))
    T = fl.asarray(A, fill=np.inf)
    want = np.where(A.toarray() == 0, np.inf, A.toarray())
    assert T.fill_value == np.inf and (T.to_numpy() == want).all()
    with pytest.raises(fl.Error, match="the fill value is inf"):
        T.to_scipy()
    assert (T.to("csr", fill=0).to_numpy() == want).all()
    assert T.to("csr", fill=0).nnz == 30
    assert fl.asarray(want, "csr", fill=np.inf).nnz == A.nnz


def test_sparse_arrays_come_and_go():
    s = sparse.COO(np.array([[0, 1, 3], [2, 0, 1]]), np.array([1.0, 2.0, 3.0]), shape=(4, 5), fill_value=-1.0)
    T = fl.asarray(s)
    assert (T.format, T.fill_value, T.nnz) == ("coo", -1.0, 3)
    assert (T.to_numpy() == s.todense()).all()
    back = T.to_sparse()
    assert back.fill_value == -1.0 and (back.todense() == s.todense()).all()
    three = sparse.random((3, 4, 5), density=0.3, random_state=0)
    assert (fl.asarray(three).to_sparse().todense() == three.todense()).all()
    for axes in ((0,), (1,)):
        g = sparse.GCXS.from_coo(s, compressed_axes=axes)
        assert fl.asarray(g).format == ("csr" if axes == (0,) else "csc")
        assert (fl.asarray(g).to_numpy() == s.todense()).all()
    assert (fl.asarray(sparse.DOK.from_coo(s)).to_numpy() == s.todense()).all()


class Described:
    """An object that says how it is stored as binsparse does."""

    def __init__(self, format, shape, **arrays):
        self.format, self.shape, self.arrays = format, shape, arrays

    def __binsparse_descriptor__(self):
        return {"binsparse": {"version": "0.1", "format": self.format, "shape": list(self.shape), "data_types": {}}}

    def __binsparse__(self):
        return self.arrays


def test_binsparse_is_read(matrix):
    A = matrix((4, 5))
    csr = Described("CSR", (4, 5), pointers_to_1=A.indptr.astype(np.uint64), indices_1=A.indices.astype(np.uint64), values=A.data)
    assert fl.asarray(csr).format == "csr" and (fl.asarray(csr).to_numpy() == A.toarray()).all()
    c = A.tocoo()
    coo = Described("COOR", (4, 5), indices_0=c.coords[0], indices_1=c.coords[1], values=c.data)
    assert (fl.einsum("y[i] = A[i,j]", A=coo).to_numpy() == A.toarray().sum(1)).all()
    with pytest.raises(fl.OperandError, match="binsparse's format TENSOR is not read"):
        fl.asarray(Described("TENSOR", (4, 5)))


def test_what_is_no_array_is_refused():
    for wrong in (object(), {}, "text", None, np.ma.masked_array([1.0], mask=[True])):
        with pytest.raises(fl.OperandError, match="tensor `x`"):
            fl.einsum("y[i] = x[i]", x=wrong)


def test_lists_are_arrays():
    assert (fl.asarray([[1, 2], [3, 4]]).to_numpy() == [[1, 2], [3, 4]]).all()


def test_sparse_tensors_are_made_dense_only_if_asked(matrix):
    T = fl.asarray(matrix((4, 5)))
    with pytest.raises(TypeError, match="to_numpy"):
        np.asarray(T)
    assert np.asarray(fl.asarray(np.arange(3)), dtype=np.float32).dtype == np.float32


def test_truth_values_are_frozen_once_they_are_checked():
    a = np.array([True, False])
    T = fl.asarray(a)
    with pytest.raises(ValueError, match="read-only"):
        a.view(np.uint8)[0] = 2
    assert not T.to_numpy().flags.writeable
    b = np.array([2, 1], dtype=np.uint8).view(np.bool_)
    with pytest.raises(fl.OperandError, match="position 0"):
        fl.einsum("y[i] = b[i]", b=b)


def test_a_tensor_says_what_it_is(matrix):
    assert repr(fl.asarray(sp.eye_array(3, format="csr"))) == (
        "Tensor(shape=(3, 3), dtype=float64, format=csr, nnz=3, fill_value=1.0)".replace("1.0)", "0.0)")
    )
    assert len(fl.asarray(matrix((4, 5)))) == 4


def test_malformed_matrices_are_refused_with_their_place():
    for change, message in [
        (lambda A: setattr(A, "indptr", np.array([0, 1, 2])), "pos has 3 elements, 4 expected"),
        (lambda A: setattr(A, "indptr", np.array([0, 1, 2, 9])), "pos ends with 9, but there are 3 coordinates"),
        (lambda A: setattr(A, "indices", A.indices.astype(np.int16)), "crd is of type i16, i32 or i64 expected"),
        (lambda A: setattr(A, "data", [1, 2, 3]), "is no ndarray"),
    ]:
        for take in (fl.asarray, lambda A: fl.einsum("y[i] = A[i,j]", A=A)):
            A = sp.csr_array(np.eye(3))
            change(A)
            with pytest.raises(fl.OperandError, match=message):
                take(A)


def test_a_tensor_that_no_memory_holds_is_a_limit():
    one = [np.array([0, 1]), np.array([5]), np.array([6]), np.array([1.0])]
    T = fl._native.from_levels((10**9, 10**6), "coo", one)
    assert T.T.to("csr").nnz == 1
    with pytest.raises(fl.LimitError):
        T.to_numpy()


@pytest.mark.parametrize("shape", [(2**40, 2**24), (2**32, 2**31), (2**31, 2**31 - 1), (2**62, 2)])
def test_places_are_counted_as_far_as_integers_go(shape):
    at = [shape[0] - 2, shape[1] - 1]
    T = fl._native.from_levels(shape, "coo", [np.array([0, 1]), *(np.array([n]) for n in at), np.array([1.0])])
    calls = [lambda: fl.array.nonzero(T), lambda: fl.array.sort(T), lambda: fl.array.unique_counts(T), lambda: T.argmax()]
    for call in calls:
        if shape[0] * shape[1] >= 2**63:
            with pytest.raises(fl.LimitError):
                call()
        else:
            call()
    if shape[0] * shape[1] < 2**63:
        assert [places.to_numpy().tolist() for places in fl.array.nonzero(T)] == [[n] for n in at]
        assert fl.array.argmax(T).to_numpy() == at[0] * shape[1] + at[1]
