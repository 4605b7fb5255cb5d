"""Kernels and functions from Python functions: what they compute, and where their errors are drawn."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import fiberloom as fl

ALPHA = 0.5


@fl.kernel
def spmv(A: fl.f64["I J", "csr"], x: fl.f64["J"]):
    """A docstring is none of the program."""
    y[i] = A[i, j] * x[j]  # noqa: F821


@fl.function(commutative=True, associative=True, identity=float("inf"))
def best(a, b):
    return a if a < b else b


def test_a_kernel_is_called_as_a_function(matrix):
    A, x = matrix((5, 6)), np.arange(6.0)
    assert (spmv(A, x).to_numpy() == A @ x).all()
    assert (spmv(A, x=x).to_numpy() == A @ x).all()
    assert spmv.text == "tensor A: f64[I, J] csr\ntensor x: f64[J] dense\ny[i] = A[i, j] * x[j]\n"
    assert "for p_A in" in spmv.show("loops") and spmv.check(A=A, x=x)["unpromised"] == 0
    assert pickle.loads(pickle.dumps(spmv)) is spmv
    assert spmv.__doc__.startswith("A docstring")


def test_operands_that_are_not_annotated_are_what_is_given(matrix):
    @fl.kernel
    def product(A, B):
        C[i, k] = A[i, j] * B[j, k]  # noqa: F821

    A, B = matrix((5, 6)), matrix((6, 4), seed=2)
    for a in (A, A.tocsc(), A.toarray(), fl.asarray(A, "dcsr")):
        assert (product(a, B).to_numpy() == (A @ B).toarray()).all()
    assert "dense" in repr(product.specialized(A.toarray(), B))


def test_a_users_function_is_folded_with_and_called_from_python(matrix):
    @fl.kernel
    def nearest(A: fl.f64["I J", "csr", float("inf")], x: fl.f64["J"]):
        y[i] = best(A[i, j] + x[j] for j in ...)  # noqa: F821

    A = sp.csr_array(np.array([[0.0, 2.0], [5.0, 3.0]]))
    assert nearest(A, np.array([1.0, 10.0])).to_numpy().tolist() == [12, 6]
    assert best(2, 3) == 2


def test_folds_by_annotation_and_augmentation():
    @fl.kernel
    def folds(A):
        m[i]: min = A[i, j]  # noqa: F821
        s[()] = sum(A[i, j] for i in ... for j in ...)  # noqa: F821
        p[()] = prod((A[i, j] for i in ... for j in ...), 2)  # noqa: F821
        return m, s, p  # noqa: F821

    a = np.array([[3, 1], [2, 5]])
    m, s, p = folds(a)
    assert (m.to_numpy() == [1, 2]).all() and s.to_numpy() == 11 and p.to_numpy() == 60

    @fl.kernel
    def more(x: fl.f64["N"]):
        y: fl.f64["N"]
        y[i] += 2 * x[i]  # noqa: F821

    assert (more(np.ones(3)).to_numpy() == 2).all()
    assert (more(np.ones(3), y=np.ones(3)).to_numpy() == 3).all()


def test_pythons_operators_mean_what_they_mean_there():
    @fl.kernel
    def operators(a: fl.i64["N"], b: fl.i64["N"]):
        q[i] = a[i] // b[i]  # noqa: F821
        r[i] = a[i] % b[i]  # noqa: F821
        c[i] = a[i] if 0 < a[i] <= 5 and not (b[i] == 2) else -b[i]  # noqa: F821
        s[i] = (a[i] << 1) ^ 3  # noqa: F821
        d[i] = a[i] ** 2 + abs(b[i])  # noqa: F821

    a, b = np.array([7, -7, 3, 0]), np.array([2, 2, -2, 5])
    got = operators(a, b)
    want = {
        "q": a // b,
        "r": a % b,
        "c": [x if 0 < x <= 5 and y != 2 else -y for x, y in zip(a, b, strict=True)],
        "s": (a << 1) ^ 3,
        "d": a**2 + abs(b),
    }
    assert got.keys() == want.keys()
    for name, values in want.items():
        assert (got[name].to_numpy() == values).all(), name


def test_indices_are_affine_gathered_and_may_leave():
    @fl.kernel
    def indices(a: fl.i64["N"], P: fl.i64["M"]):
        g[k] = a[P[k]]  # noqa: F821
        h[j] = a[j[1:N]]  # noqa: F821
        e[l] = coalesce(a[~(l - 1)], 0) + 0 * a[l]  # noqa: F821

    a = np.array([5, 6, 7])
    got = indices(a, np.array([2, 0]))
    assert got["g"].to_numpy().tolist() == [7, 5]
    assert got["h"].to_numpy().tolist() == [6, 7]
    assert got["e"].to_numpy().tolist() == [0, 5, 6]


def test_names_of_numbers_are_their_values():
    local = 3

    @fl.kernel
    def scaled(x: fl.f64["N"]):
        y[i] = ALPHA * x[i] + local  # noqa: F821

    assert scaled(np.ones(2)).to_numpy().tolist() == [3.5, 3.5]


i = 17
N = 1000


def test_sizes_are_extents_whatever_their_names_are_outside():
    @fl.kernel
    def mean(x: fl.f64["N"]):
        m[()] = sum(x[i] for i in ...) / convert(N, fl.f64)  # noqa: F821

    assert mean(np.array([1.0, 2.0, 6.0])).to_numpy() == 3


def test_an_index_is_one_whatever_its_name_is_outside():
    @fl.kernel
    def ramp(x: fl.i64["N"]):
        y[i] = x[i] + i

    assert ramp(np.array([5, 5, 5])).to_numpy().tolist() == [5, 6, 7]


def test_blocks_repeat():
    @fl.kernel
    def powers(x: fl.f64["N"]):
        n: fl.f64[""]
        n[()] = 0.0
        for _ in range(3):
            x[i] = 2 * x[i]  # noqa: F821
        while n[()] < 4.5:
            n[()] = n[()] + 1
        return x, n

    x, n = powers(np.ones(2))
    assert x.to_numpy().tolist() == [8, 8] and n.to_numpy() == 5


def test_functions_have_locals_loops_and_branches():
    @fl.function(type=fl.u64)
    def euclid(x, y):
        a = x
        b = y
        while a != 0:
            t = a
            a = b % a
            b = t
        return b

    @fl.function
    def sign_of(a: fl.i64) -> fl.i64:
        if a < 0:
            return -1
        if a == 0:
            return 0
        return 1

    @fl.kernel
    def use(x: fl.u64["N"], y: fl.u64["N"], z: fl.i64["N"]):
        g[i] = euclid(x[i], y[i])  # noqa: F821
        s[i] = sign_of(z[i])  # noqa: F821

    got = use(np.array([12, 7, 0], np.uint64), np.array([18, 21, 5], np.uint64), np.array([-4, 0, 9]))
    assert got["g"].to_numpy().tolist() == [6, 7, 5] and got["s"].to_numpy().tolist() == [-1, 0, 1]


def test_functions_call_functions_and_go_with_text():
    @fl.function(type=fl.i64)
    def twice(a):
        return 2 * a

    @fl.function(type=fl.i64)
    def fourfold(a):
        return twice(twice(a))

    @fl.kernel
    def use(x: fl.i64["N"]):
        y[i] = fourfold(x[i])  # noqa: F821

    assert use(np.array([1, 2])).to_numpy().tolist() == [4, 8]
    assert fl.einsum("y[i] = fourfold(x[i])", x=np.array([1, 2]), fourfold=fourfold).to_numpy().tolist() == [4, 8]
    assert fl.compile("y[i] = fourfold(x[i])", x="i64", fourfold=fourfold)(x=np.array([3]))["y"].to_numpy() == 12


def source_of(error):
    """What stands at an error's first place."""
    with open(__file__, encoding="utf-8") as file:
        return file.read()[error.spans[0].start : error.spans[0].end]


def line_of(error, text):
    """The line of this file that an error's first place is in."""
    with open(__file__, encoding="utf-8") as file:
        source = file.read()
    (span, *_) = error.spans
    assert str(error).startswith(f"{__file__}:{span.line}:{span.column}: error:")
    assert source[span.start : span.end] == text
    return source.splitlines()[span.line - 1]


class TestErrors:
    def test_a_function_of_another_type_is_drawn_at_its_call(self):
        @fl.function(type=fl.f32)
        def half(a):
            return a / 2

        with pytest.raises(fl.ProgramError) as caught:

            @fl.kernel
            def wrong(x: fl.f64["N"]):
                y[i] = half(x[i])

        assert "y[i] = half(x[i])" in line_of(caught.value, source_of(caught.value))

    def test_a_false_property_is_drawn_at_the_function(self):
        with pytest.raises(fl.CounterexampleError, match="counterexample") as caught:

            @fl.function(commutative=True)
            def less(a, b):
                return a - b

        assert caught.value.spans[0].line > 0 and __file__ in str(caught.value)

    def test_what_the_language_rejects_is_drawn_at_its_line_of_python(self):
        with pytest.raises(fl.ProgramError) as caught:

            @fl.kernel
            def wrong(A: fl.f64["I J", "csr"], b: fl.i64["J"]):
                y[i] = A[i, j] * b[j]  # noqa: F821

        assert "A[i, j] * b[j]" in line_of(caught.value, "b[j]")

    def test_what_python_has_and_the_language_has_not(self):
        with pytest.raises(fl.ProgramError, match="nothing that the language has") as caught:

            @fl.kernel
            def wrong(A):
                y[i] = [A[i]]  # noqa: F821

        assert "y[i] = [A[i]]" in line_of(caught.value, "[A[i]]")

    def test_a_generator_over_numbers_is_refused(self):
        with pytest.raises(fl.ProgramError, match="write `for j in ...`"):

            @fl.kernel
            def wrong(A):
                y[i] = sum(A[i, j] for j in range(3))  # noqa: F821

    def test_extents_are_drawn_at_the_call(self):
        with pytest.raises(fl.MismatchError) as caught:
            spmv(sp.csr_array(np.eye(2)), np.ones(3))
        assert __file__ in str(caught.value)

    def test_operands_are_given_once_and_all(self):
        with pytest.raises(fl.OperandError, match="give the call `x=…`"):
            spmv(sp.csr_array(np.eye(2)))
        with pytest.raises(fl.Error, match="`A` is given twice"):
            spmv(1, A=2)
        with pytest.raises(fl.Error, match="takes 2 operands, and 3 are given"):
            spmv(1, 2, 3)
