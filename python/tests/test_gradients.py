"""Gradients, against differences and against what NumPy computes by hand."""

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
