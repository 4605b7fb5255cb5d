"""Programs and NumPy's spelling on operands of all kinds, against NumPy and SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp

import fiberloom as fl
from fiberloom import _native


def test_spmv_equals_scipy(matrix):
    A, x = matrix((30, 20)), np.arange(20.0)
    assert (fl.einsum("y[i] = A[i,j] * x[j]", A=A, x=x).to_numpy() == A @ x).all()


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_products_equal_scipy_for_formats_and_index_types(matrix, kind, index):
    A = matrix((12, 9), index=index).asformat(kind)
    if kind == "csr":
        assert A.indices.dtype == index
    B = matrix((9, 14), seed=1, index=index)
    C = fl.einsum("ij,jk->ik", A, B)
    assert (C.to_numpy() == (A @ B).toarray()).all()
    assert (fl.einsum("C[i,k] = A[i,j] * B[j,k]", A=A, B=B).to_numpy() == (A @ B).toarray()).all()


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr", "dense", "{compressed, dense}"])
def test_out_is_the_format_of_the_result(matrix, format):
    A, B = matrix((7, 8)), matrix((8, 6), seed=3)
    C = fl.einsum("ij,jk->ik", A, B, out=format)
    assert C.format == format
    assert (C.to_numpy() == (A @ B).toarray()).all()


def test_out_is_a_buffer(matrix):
    A, x, y = matrix((7, 8)), np.ones(8), np.empty(7)
    assert fl.einsum("ij,j->i", A, x, out=y) is y
    assert (y == A @ x).all()
    with pytest.raises(fl.OperandError, match=r"the buffer for `out` is float64\[6\], float64\[7\] expected"):
        fl.einsum("ij,j->i", A, x, out=np.empty(6))


SPELLED = [
    ("ij->ji", [(3, 4)]),
    ("ij->", [(3, 4)]),
    ("ij", [(3, 4)]),
    ("ji", [(3, 4)]),
    ("ii->i", [(4, 4)]),
    ("ii", [(4, 4)]),
    ("i,j->ij", [(3,), (4,)]),
    ("i,i", [(5,), (5,)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    ("ijk,jil->kl", [(2, 3, 4), (3, 2, 5)]),
    ("...j,j->...", [(2, 3, 4), (4,)]),
    ("...ij,...jk->...ik", [(5, 2, 3), (3, 4)]),
    ("i...->...", [(2, 3, 4)]),
    ("...,...", [(2, 3), (3,)]),
    ("aB,Bc", [(2, 3), (3, 4)]),
    (" i j , j k -> i k ", [(2, 3), (3, 4)]),
    ("ij,jk->ik", [(2, 1), (3, 4)]),
    ("ij,ij->ij", [(1, 4), (3, 1)]),
]


@pytest.mark.parametrize(("spec", "shapes"), SPELLED)
def test_numpys_spelling_means_what_it_means_there(spec, shapes):
    random = np.random.default_rng(7)
    arrays = [random.integers(-5, 5, shape).astype(float) for shape in shapes]
    want = np.einsum(spec, *arrays)
    got = fl.einsum(spec, *arrays)
    assert got.shape == want.shape
    assert (got.to_numpy() == want).all()
    sparse = [fl.asarray(a, "csf") if a.ndim else a for a in arrays]
    assert (fl.einsum(spec, *sparse).to_numpy() == want).all()


def test_types_are_promoted_as_numpy_promotes_them():
    a, b = np.arange(6, dtype=np.int32).reshape(2, 3), np.arange(3, dtype=np.float32)
    got = fl.einsum("ij,j->i", a, b)
    assert got.dtype == np.result_type(a, b) == np.float64
    assert (got.to_numpy() == a @ b).all()
    assert fl.einsum("i,i", np.array([True, False]), np.array([3, 4], dtype=np.int8)).dtype == np.int8


@pytest.mark.parametrize(
    ("spec", "operands", "message"),
    [
        ("ij,jk->ik", 1, "has 2 operands, and 1 are given"),
        ("ijk->i", 1, "has 3 letters, and its operand 2 modes"),
        ("ij->k", 1, "`k` stands in the result and in no operand"),
        ("ij->ii", 1, "`i` stands twice in the result"),
        ("i1->i", 1, "`1` is no index"),
    ],
)
def test_a_wrong_spelling_is_refused(spec, operands, message):
    with pytest.raises(fl.ProgramError, match=message):
        fl.einsum(spec, *[np.ones((2, 2))] * operands)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64])
def test_every_type_of_the_language_is_taken(dtype):
    a = np.array([[0, 1, 3], [2, 0, 1]]).astype(dtype)
    got = fl.einsum("y[j,i] = a[i,j]", a=a)
    assert got.dtype == dtype
    assert (got.to_numpy() == a.T).all()
    assert (fl.einsum("y[i,j] = a[i,j]", a=fl.asarray(a, "csr")).to_numpy() == a).all()


@pytest.mark.parametrize("dtype", ["complex128", "float16", "object", "datetime64[s]", "U3", "longdouble"])
def test_other_types_are_refused_by_name(dtype):
    a = np.zeros(3, dtype=dtype)
    name = str(np.dtype(dtype)).replace("[", r"\[")
    with pytest.raises(fl.OperandError, match=f"tensor `a`: dtype {name} is not one that the language has: bool, int8"):
        fl.einsum("y[i] = a[i]", a=a)


def test_numbers_are_scalars(matrix):
    A = matrix((4, 4))
    assert (fl.einsum("B[i,j] = a[] * A[i,j]", A=A, a=2.5).to_numpy() == 2.5 * A.toarray()).all()
    assert (fl.einsum("B[i] = a[] * x[i]", x=np.arange(3), a=2).to_numpy() == [0, 2, 4]).all()
    assert (fl.einsum("B[i] = a[] * x[i]", x=np.ones(3, np.float32), a=np.float32(3)).to_numpy() == 3).all()


def test_a_program_of_several_statements_gives_what_the_last_defines():
    got = fl.einsum("t[i] = 2 * x[i]  s[] = sum(i: t[i])", x=np.arange(4))
    assert got.shape == () and got.to_numpy() == 12


def test_a_name_that_is_an_argument_stands_in_a_mapping():
    assert (fl.einsum("y[i] = out[i] + 1", {"out": np.arange(3)}).to_numpy() == [1, 2, 3]).all()


def test_unsorted_entries_and_duplicates_are_summed(matrix):
    A = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3, 3])), shape=(2, 3))
    assert (fl.einsum("y[i] = A[i,j] * x[j]", A=A, x=np.array([1.0, 1.0, 10.0])).to_numpy() == [52.0, 0.0]).all()
    assert list(A.indices) == [2, 0, 2], "the matrix of the caller stays as it was"
    B = sp.coo_array((np.array([1.0, 2.0, 4.0]), (np.array([1, 0, 1]), np.array([2, 0, 2]))), shape=(2, 3))
    assert (fl.einsum("y[i,j] = B[i,j]", B=B).to_numpy() == B.toarray()).all()


def test_a_matrix_that_says_that_it_is_in_order_and_is_not_is_found(matrix):
    A = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3, 3])), shape=(2, 3))
    A.has_canonical_format = True
    assert (fl.einsum("y[i] = A[i,j] * x[j]", A=A, x=np.array([1.0, 1.0, 10.0])).to_numpy() == [52.0, 0.0]).all()


def test_coordinates_outside_are_refused():
    A = sp.csr_array((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 3))
    A.indices[1] = 3
    with pytest.raises(fl.OperandError, match="tensor `A`: level 1, position 1: coordinate 3 is not in 0..3"):
        fl.einsum("y[i] = A[i,j] * x[j]", A=A, x=np.ones(3))


def test_kernels_are_kept_for_any_extents():
    text = "y[i] = 3 * kept_for_any[i]"
    before = _native.kernels_kept()
    for n in (1, 5, 1000):
        assert (fl.einsum(text, kept_for_any=np.arange(n)).to_numpy() == 3 * np.arange(n)).all()
    assert _native.kernels_kept() == before + 1
    fl.einsum(text, kept_for_any=np.arange(5, dtype=np.int32))
    assert _native.kernels_kept() == before + 2


def test_sizes_of_the_program_are_held_to():
    text = "dim N = 3  tensor x: f64[N] dense  y[i] = x[i]"
    assert (fl.einsum(text, x=np.arange(3.0)).to_numpy() == np.arange(3)).all()
    with pytest.raises(fl.MismatchError):
        fl.einsum(text, x=np.arange(4.0))


def test_an_operand_that_is_not_read_is_refused():
    with pytest.raises(fl.OperandError, match="the program has no tensor `z`"):
        fl.einsum("y[i] = x[i]", x=np.ones(2), z=np.ones(2))


def test_a_background_that_is_not_zero_is_the_results_fill():
    A = fl.asarray(sp.csr_array(np.array([[0.0, 2.0], [5.0, 0.0]])), fill=np.inf)
    got = fl.einsum("B[i,j] = A[i,j] + 1", A=A, out="csr")
    assert (got.format, got.fill_value, got.nnz) == ("csr", np.inf, 2)
    assert (got.to_numpy() == [[np.inf, 3], [6, np.inf]]).all()


def test_a_fill_that_depends_on_extents_is_kept_in_another_format():
    ones = fl.asarray(sp.csr_array(np.array([[0.0, 2.0], [5.0, 0.0], [0.0, 0.0]])), fill=1.0)
    got = fl.einsum("y[i] = sum(j: A[i,j])", A=ones, out="sparse")
    assert (got.format, got.fill_value) == ("sparse", 2.0)
    assert (got.to_numpy() == [3, 6, 2]).all()


def test_strict_floats_are_asked_for_by_an_option():
    x = fl.asarray(np.array([0.0, 1.0]), "sparse")
    y = np.array([np.inf, 2.0])
    assert fl.einsum("s[] = sum(i: x[i] * y[i])", x=x, y=y).to_numpy() == 2
    assert np.isnan(fl.einsum("s[] = sum(i: x[i] * y[i])", x=x, y=y, options={"mode": "strict"}).to_numpy())
    with pytest.raises(fl.Error, match="there is no option `speed`"):
        fl.einsum("y[i] = x[i]", x=y, options={"speed": 3})


FORMATS = {1: ["dense", "sparse"], 2: ["dense", "csr", "csc", "dcsr", "coo"], 3: ["dense", "csf", "coo", "{dense, compressed, compressed}"]}


@pytest.mark.parametrize("seed", range(40))
def test_random_products_in_random_formats(seed):
    random = np.random.default_rng(seed)
    extents = dict(zip("ijkl", random.integers(1, 6, 4), strict=True))
    terms = ["".join(random.permutation(list("ijkl"))[: random.integers(1, 4)]) for _ in range(random.integers(1, 4))]
    letters = sorted(set("".join(terms)))
    result = "".join(random.permutation(letters)[: random.integers(0, min(3, len(letters)) + 1)])
    arrays = [random.integers(-3, 4, [extents[i] for i in term]) * 1.0 for term in terms]
    spec = f"{','.join(terms)}->{result}"
    operands = [fl.asarray(a, random.choice(FORMATS[a.ndim])) for a in arrays]
    want = np.einsum(spec, *arrays)
    assert (fl.einsum(spec, *operands).to_numpy() == want).all(), spec
    if result:
        got = fl.einsum(spec, *operands, out=random.choice(FORMATS[len(result)]))
        assert (got.to_numpy() == want).all(), (spec, got.format)
