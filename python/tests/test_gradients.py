"""Gradients, against differences and against what NumPy computes by hand."""

import importlib.util
import pathlib
import re

import numpy as np
import pytest
import scipy.sparse as sp

import fiberloom as fl


def drawn(seed=0, shape=(5, 4)):
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal(shape) * (rng.random(shape) < 0.5)
    return sp.csr_array(dense), rng


def test_a_matrix_times_a_vector():
    A, rng = drawn()
    x, v = rng.standard_normal(4), rng.standard_normal(5)
    k = fl.compile("y[i] = A[i,j] * x[j]", A=A, x=x)
    made = fl.grad(k, by=["A", "x"])(A=A, x=x, y_bar=v)
    np.testing.assert_allclose(made["x"].to_numpy(), A.T @ v)
    np.testing.assert_allclose(made["A"].to_numpy(), np.outer(v, x) * (A.toarray() != 0))


def test_a_gradient_has_the_entries_of_its_operand_and_shares_their_arrays():
    A = fl.asarray(sp.csr_array((np.array([0.0, 2.0]), np.array([1, 0]), np.array([0, 1, 2])), shape=(2, 3)))
    pattern = A.pattern()
    assert pattern.nnz == 2 and pattern.type_name == "bool"
    assert np.shares_memory(pattern.arrays()["crd1"], A.arrays()["crd1"]) if "crd1" in A.arrays() else True
    k = fl.compile("s[] = A[i,j] * A[i,j]", A=A)
    made = fl.grad(k, by="A")(A=A)["A"]
    assert made.nnz == 2
    np.testing.assert_allclose(made.to_numpy(), [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]])


def test_dense_gradients_are_wanted_by_name():
    A, rng = drawn(1)
    x = rng.standard_normal(4)
    k = fl.compile("s[] = A[i,j] * x[j]", A=A, x=x)
    made = fl.grad(k, by="A", dense=["A"])(A=A, x=x)["A"]
    np.testing.assert_allclose(made.to_numpy(), np.outer(np.ones(5), x))


def test_values_and_gradients_of_a_layer_against_differences():
    A, rng = drawn(2, (4, 4))
    X, W = rng.standard_normal((4, 3)), rng.standard_normal((3, 2))
    text = "T[i,k] = A[i,j] * X[j,k] Z[i,l] = T[i,k] * W[k,l] H[i,l] = tanh(Z[i,l]) s[] = sum(i, l: H[i,l] * H[i,l])"
    k = fl.compile(text, A=A, X=X, W=W)
    value, made = fl.value_and_grad(k, of="s", by=["X", "W"])(A=A, X=X, W=W)

    def loss(X, W):
        return float((np.tanh(A @ X @ W) ** 2).sum())

    assert float(value.to_numpy()) == pytest.approx(loss(X, W))
    for name, array in [("X", X), ("W", W)]:
        for at in np.ndindex(array.shape):
            moved = {"X": X, "W": W, name: array.copy()}
            moved[name][at] += 1e-6
            slope = (loss(**moved) - loss(X, W)) / 1e-6
            assert made[name].to_numpy()[at] == pytest.approx(slope, abs=1e-4)


def test_tangents_are_what_results_move_by():
    A, rng = drawn(3)
    x, u = rng.standard_normal(4), rng.standard_normal(4)
    k = fl.compile("y[i] = sin(sum(j: A[i,j] * x[j]))", A=A, x=x)
    made = fl.jvp(k, by="x")(A=A, x=x, x_dot=u)["y"].to_numpy()
    np.testing.assert_allclose(made, np.cos(A @ x) * (A @ u))


def test_what_has_no_derivative_is_refused_by_name():
    k = fl.compile("y[i] = nextafter(x[i], 1.0)", x="f64")
    with pytest.raises(fl.ProgramError, match="`nextafter` has no derivative"):
        fl.grad(k, by="x")
    with pytest.raises(fl.ProgramError, match="no tensor `z`"):
        fl.grad(k, by="z")
    with pytest.raises(fl.OperandError, match="a kernel is derived"):
        fl.grad("y[i] = x[i]", by="x")
    with pytest.raises(fl.OperandError, match="no operand `z`: it takes x, y_bar"):
        fl.grad(fl.compile("y[i] = x[i] * x[i]", x="f64"), by="x")(z=1.0)


@fl.kernel
def declared(A: fl.f64["I J", "csr"], x: fl.f64["J"]):
    y[i] = A[i, j] * x[j]  # noqa: F821


@fl.kernel
def open_ones(A, x):
    y[i] = A[i, j] * x[j]  # noqa: F821
    s[()] = sum(y[i] * y[i] for i in ...)  # noqa: F821
    return y  # noqa: F821


def test_python_functions_are_derived_with_operands_in_order():
    A, rng = drawn(4)
    x, v = rng.standard_normal(4), rng.standard_normal(5)
    g = fl.grad(declared, by=["A", "x"])
    made = g(A, x, y_bar=v)
    np.testing.assert_allclose(made["x"].to_numpy(), A.T @ v)
    np.testing.assert_allclose(made["A"].data, np.outer(v, x)[A.nonzero()])
    assert "A_bar[i,j] = mask(A_pattern[i,j], y_bar[i] * x[j])" in g.text


def test_types_that_a_python_function_leaves_open_decide_its_gradient():
    A, rng = drawn(5)
    x, v = rng.standard_normal(4), rng.standard_normal(5)
    # What it returns is what the gradient is of, not what it defines last.
    g = fl.grad(open_ones, by=["A", "x"])
    with pytest.raises(fl.Error, match="`open_ones`.*`specialized"):
        g.text
    for of in (A, A.tocsc()):
        made = g(of, x, y_bar=v)
        np.testing.assert_allclose(made["x"].to_numpy(), A.T @ v)
        assert made["A"].format == of.format and f"A_bar: f64[A_0, A_1] {of.format}" in g.specialized(of, x).text
    value, made = fl.value_and_grad(open_ones, of="s", by="x")(A, x)
    assert float(value.to_numpy()) == pytest.approx(float((A @ x) @ (A @ x)))
    np.testing.assert_allclose(made["x"].to_numpy(), 2 * A.T @ (A @ x))


def test_what_has_no_derivative_is_drawn_into_the_python_file():
    @fl.kernel
    def jumps(x):
        z[i] = nextafter(x[i], 1.0)  # noqa: F821
        y[i] = 2 * z[i]  # noqa: F821

    with pytest.raises(fl.ProgramError) as caught:
        fl.grad(jumps, by="x")(x=np.ones(3))
    message = str(caught.value)
    assert "test_gradients.py" in message and "z[i] = nextafter(x[i], 1.0)" in message and "2 * z[i]" not in message


def test_expressions_are_derived_by_the_arrays_in_them():
    A, rng = drawn(6)
    x, v = rng.standard_normal(4), rng.standard_normal(5)
    g = fl.grad(fl.lazy(A) @ x + 1, by=[A, x])
    by_A, by_x = g(v)
    np.testing.assert_allclose(by_x.to_numpy(), A.T @ v)
    np.testing.assert_allclose(by_A.data, np.outer(v, x)[A.nonzero()])
    assert "T1_bar" in g.text
    dense = fl.grad(fl.lazy(A) @ x, by=[A], dense=[A])(v)
    np.testing.assert_allclose(dense[0].to_numpy(), np.outer(v, x))
    moved = fl.jvp(fl.lazy(A) @ x, by=x)(np.ones(4))
    np.testing.assert_allclose(moved.to_numpy(), A @ np.ones(4))


def test_expressions_in_a_loop_compile_their_gradient_once():
    A, rng = drawn(7, (4, 4))
    X, W = rng.standard_normal((4, 3)), rng.standard_normal((3, 2))

    def step(W):
        H = fl.array.tanh(fl.lazy(A) @ X @ W)
        return fl.value_and_grad((H * H).sum(), by=W)()

    first, by_W = step(W)
    expected = 2 * (A @ X).T @ (np.tanh(A @ X @ W) * (1 - np.tanh(A @ X @ W) ** 2))
    np.testing.assert_allclose(by_W.to_numpy(), expected)
    before = fl.cache_info().compiled
    second, _ = step(W - 0.01 * by_W.to_numpy())
    assert float(second) < float(first) and fl.cache_info().compiled == before


def test_arrays_that_an_expression_does_not_have_are_refused():
    A, rng = drawn(8)
    x = rng.standard_normal(4)
    with pytest.raises(fl.OperandError, match="operand 0 of `by` is no array that stands in the expression"):
        fl.grad(fl.lazy(A) @ x, by=[x.copy()])
    with pytest.raises(fl.OperandError, match="the gradient of the expression is given to a call: 1 operands expected"):
        fl.grad(fl.lazy(A) @ x, by=x)()
    with pytest.raises(fl.OperandError, match="`of` names results of kernels"):
        fl.grad(fl.lazy(A) @ x, of="y", by=x)


@pytest.fixture(scope="module")
def written():
    """The programs that `python/bench/gradients.py` measures, with their gradients written by hand."""
    path = pathlib.Path(__file__).resolve().parents[1] / "bench" / "gradients.py"
    specified = importlib.util.spec_from_file_location("bench_gradients", path)
    module = importlib.util.module_from_spec(specified)
    specified.loader.exec_module(module)
    return module


def statements(text: str) -> list[str]:
    return re.findall(r"^\w+\[[^]]*\] \+?= .*$", text, re.MULTILINE)


@pytest.mark.parametrize("name", ["layer", "sddmm", "mttkrp", "softmax", "factors"])
def test_what_is_printed_is_what_a_person_writes(written, name):
    case = written.CASES[name](0.01, np.random.default_rng(0))
    (own, run), (hand, by_hand) = written.runs(case)
    written.agree(written.gradients(case, run()), written.gradients(case, by_hand()))
    assert len(statements(hand.text)) > 2
    assert len(statements(own.text)) <= len(statements(hand.text)) + 2
    # Where both are the same statements, they are the same loops.
    assert name not in ("layer", "mttkrp") or written.loops(own) == written.loops(hand)


def test_many_statements_that_read_two_before_them_take_no_time():
    """What is 0 where is asked once of each tensor, not once for each way through them."""
    lines = [f"y{n}[i] = A[i,j] * x{n}[j]  x{n + 1}[i] = tanh(y{n}[i] * w[i]) + 0.1 * x{n}[i]" for n in range(60)]
    text = "tensor A: f64[N, N] csr tensor x0: f64[N] tensor w: f64[N] " + " ".join(lines) + " s[] = sum(i: x60[i])"
    g = fl.grad(fl.compile(text), by=["x0", "A"])
    x = np.array([0.25, -0.5])
    made = g(A=sp.csr_array(np.diag([0.0, 2.0])), x0=x, w=np.zeros(2))
    # Without weights each layer is a tenth of the one before.
    np.testing.assert_allclose(made["x0"].to_numpy(), np.full(2, 0.1**60))


def test_a_block_is_differentiated_whatever_its_number_of_turns():
    A, rng = drawn(9, (5, 5))
    x, w = rng.standard_normal(5), rng.standard_normal(5)
    head = "tensor A: f64[N, N] csr tensor x: f64[N] tensor w: f64[N] "
    sizes = set()
    for turns in (2, 7):
        text = f"{head} repeat {turns} {{ x[i] = tanh(w[i] * sum(j: A[i,j] * x[j])) }} s[] = sum(i: x[i] * x[i])"
        g = fl.grad(fl.compile(text), of="s", by=["x", "w", "A"])
        sizes.add(len(g.text.splitlines()))
        made = g(A=A, x=x, w=w)

        def loss(x, w, D):
            for _ in range(turns):
                x = np.tanh(w * (D @ x))
            return float(x @ x)

        for name, n in (("x", 0), ("w", 1), ("A", 2)):
            operands = [x, w, A.toarray()]
            at = (3,) if n < 2 else tuple(int(c[2]) for c in A.nonzero())
            slopes = []
            for step in (1e-6, -1e-6):
                moved = [o.copy() for o in operands]
                moved[n][at] += step
                slopes.append(loss(*moved))
            assert made[name].to_numpy()[at] == pytest.approx((slopes[0] - slopes[1]) / 2e-6, abs=1e-7)
    assert len(sizes) == 1


def test_what_is_not_stored_is_what_the_kernel_says():
    k = fl.compile("y[i] = min(j: A[i,j] + x[j])", A="f64 csr fill inf", x="f64")
    A = sp.csr_array(np.array([[0.0, 2.0], [5.0, 0.0]]))
    g = fl.grad(k, by="x")
    assert "fill inf" in g.text
    made = g(A=A, x=np.array([1.0, 10.0]), y_bar=np.array([1.0, 10.0]))
    # Each row has one entry, and elsewhere there is no path.
    np.testing.assert_allclose(made["x"].to_numpy(), [10.0, 1.0])
