"""Gradients against other packages': `autograd` on NumPy always, PyTorch and JAX where they are installed, through their adapters."""

import doctest

import autograd
import autograd.extend
import autograd.numpy as anp
import numpy as np
import pytest
import scipy.sparse as sp

import fiberloom as fl
from fiberloom._adapter import Differentiable

LAYER = "T[i,k] = A[i,j] * X[j,k] Z[i,l] = T[i,k] * W[k,l] H[i,l] = tanh(Z[i,l])"


def drawn(shape=(6, 5), seed=0):
    rng = np.random.default_rng(seed)
    return sp.csr_array(rng.standard_normal(shape) * (rng.random(shape) < 0.4)), rng


def layer_operands():
    A, rng = drawn((5, 5), 3)
    return A, rng.standard_normal((5, 4)), rng.standard_normal((4, 3)), rng.standard_normal((5, 3))


def by_autograd(A, X, W, v):
    """Gradients of ⟨v, tanh(A X W)⟩: by the values of A's entries, X and W."""
    rows, columns = A.tocoo().coords

    def value(values, X, W):
        # A product of dense matrices, the first of which is put together of its entries' values.
        entry = (np.arange(A.shape[0])[:, None] == rows[None, :]).astype(float)
        T = anp.dot(entry, values[:, None] * X[columns])
        return anp.sum(v * anp.tanh(anp.dot(T, W)))

    return [autograd.grad(value, n)(A.data, X, W) for n in range(3)]


def test_a_layer_against_autograd():
    A, X, W, v = layer_operands()
    made = fl.grad(fl.compile(LAYER, A=A, X=X, W=W), by=["A", "X", "W"])(A=A, X=X, W=W, H_bar=v)
    expected = by_autograd(A, X, W, v)
    np.testing.assert_allclose(made["A"].data, expected[0], rtol=1e-10)
    np.testing.assert_allclose(made["X"].to_numpy(), expected[1], rtol=1e-10)
    np.testing.assert_allclose(made["W"].to_numpy(), expected[2], rtol=1e-10)


CASES = {
    "y[i] = exp(sin(x[i])) / (1.0 + x[i] * x[i])": lambda x, y: anp.exp(anp.sin(x)) / (1 + x * x),
    "y[i] = sqrt(abs(x[i])) * log1p(y0[i] * y0[i])": lambda x, y: anp.sqrt(anp.abs(x)) * anp.log1p(y * y),
    "y[i] = max(x[i], y0[i]) - min(x[i], 0.3) + hypot(x[i], y0[i])": lambda x, y: (
        anp.maximum(x, y) - anp.minimum(x, 0.3) + anp.sqrt(x * x + y * y)
    ),
    "y[i] = if x[i] > y0[i] then tanh(x[i]) else atan2(x[i], y0[i])": lambda x, y: anp.where(x > y, anp.tanh(x), anp.arctan2(x, y)),
    "y[i] = y0[i] * prod(j: x[j])": lambda x, y: y * anp.prod(x),
    "y[i] = coalesce(x[~(i-2)], 0.0) * y0[i]": lambda x, y: anp.concatenate([anp.zeros(2), x[:-2]]) * y,
}


@pytest.mark.parametrize("text", CASES)
def test_functions_of_dense_arrays_against_autograd(text):
    rng = np.random.default_rng(1)
    x, y, v = (rng.standard_normal(7) for _ in range(3))
    kernel = fl.compile(f"tensor x: f64[N] tensor y0: f64[N] {text}", x=x, y0=y)
    by = ["x", "y0"] if "y0" in text.partition("=")[2] else ["x"]
    made = fl.grad(kernel, by=by)(**{"x": x, "y0": y} if len(by) == 2 else {"x": x}, y_bar=v)
    for n, name in enumerate(by):
        expected = autograd.grad(lambda x, y: anp.sum(v * CASES[text](x, y)), n)(x, y)
        np.testing.assert_allclose(made[name].to_numpy(), expected, rtol=1e-9, atol=1e-12)


# ---- what the adapters share, under `autograd`


def under_autograd(kernel, by, **patterns):
    """A kernel as a function that `autograd` differentiates."""
    of = Differentiable(kernel, None, patterns)

    def pulled(n):
        return lambda value, *operands: lambda seed: of.pull(dict(zip(by, operands, strict=True)), np.asarray(seed), (by[n],))[0]

    function = autograd.extend.primitive(lambda *operands: of.value(dict(zip(by, operands, strict=True))))
    autograd.extend.defvjp(function, *(pulled(n) for n in range(len(by))))
    return function


def test_a_kernel_is_a_function_of_the_values_of_its_entries():
    A, X, W, v = layer_operands()
    layer = under_autograd(fl.compile(LAYER, A=A, X=X, W=W), ("A", "X", "W"), A=A)
    for n, expected in enumerate(by_autograd(A, X, W, v)):
        made = autograd.grad(lambda *operands: anp.sum(v * layer(*operands)), n)(A.data, X, W)
        np.testing.assert_allclose(made, expected, rtol=1e-10)


def test_the_gradient_of_a_number_is_a_factor():
    loss = under_autograd(fl.compile("s[] = sum(i: x[i] * x[i])", x="f64"), ("x",))
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(autograd.grad(lambda x: 3.0 * loss(x))(x), 6.0 * x)


def test_a_result_with_entries_is_their_values_and_so_is_its_gradient():
    A, rng = drawn()
    U, V, v = rng.standard_normal((6, 2)), rng.standard_normal((5, 2)), rng.standard_normal(A.nnz)
    kernel = fl.compile("B[i,j] = A[i,j] * sum(k: U[i,k] * V[j,k])", A=A, U=U, V=V)
    sampled = under_autograd(kernel, ("A", "U", "V"), A=A, B=A)
    made = [autograd.grad(lambda *operands: anp.sum(v * sampled(*operands)), n)(A.data, U, V) for n in range(3)]
    S = sp.csr_array((v, A.indices, A.indptr), shape=A.shape).toarray()
    np.testing.assert_allclose(made[0], (S * (U @ V.T))[A.nonzero()])
    np.testing.assert_allclose(made[1], (S * A.toarray()) @ V)
    np.testing.assert_allclose(made[2], (S * A.toarray()).T @ U)


def test_operands_that_do_not_fit_a_pattern_are_refused():
    A, _ = drawn()
    kernel = fl.compile("B[i,j] = 2.0 * A[i,j]", A=A)
    with pytest.raises(fl.MismatchError, match=f"`A`: the values of its {A.nnz} entries expected"):
        Differentiable(kernel, None, {"A": A, "B": A}).value({"A": np.ones(3)})
    with pytest.raises(fl.MismatchError, match="`B`: its entries are not those of its pattern"):
        Differentiable(kernel, None, {"A": A, "B": sp.csr_array((6, 5))}).value({})
    with pytest.raises(fl.OperandError, match="`A`: it is stored as csr: `patterns="):
        Differentiable(kernel, None, None).check("A")
    assert Differentiable(kernel, None, {"A": A}).check("A") is None


# ---- PyTorch


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


def test_torch_takes_values_of_entries_and_gives_their_gradient(torch):
    A, X, W, v = layer_operands()
    layer = fl.torch.function(fl.compile(LAYER, A=A, X=X, W=W), patterns={"A": A})
    values, X_t, W_t = (torch.tensor(a, requires_grad=True) for a in (A.data, X, W))
    H = layer(A=values, X=X_t, W=W_t)
    np.testing.assert_allclose(H.detach().numpy(), np.tanh(A @ X @ W))
    (H * torch.tensor(v)).sum().backward()
    for made, expected in zip((values, X_t, W_t), by_autograd(A, X, W, v), strict=True):
        np.testing.assert_allclose(made.grad.numpy(), expected, rtol=1e-10)


def test_torch_checks_the_gradient_by_differences(torch):
    A, X, W, _ = layer_operands()
    layer = fl.torch.function(fl.compile(LAYER, A=A, X=X, W=W), patterns={"A": A})
    operands = tuple(torch.tensor(a, requires_grad=True) for a in (A.data, X, W))
    assert torch.autograd.gradcheck(lambda a, x, w: layer(A=a, X=x, W=w), operands)


def test_torch_asks_for_gradients_that_are_needed_alone(torch):
    A, X, W, _ = layer_operands()
    layer = fl.torch.function(fl.compile(LAYER, A=A, X=X, W=W), patterns={"A": A})
    W_t = torch.tensor(W, requires_grad=True)
    # The pattern's own values, and an ndarray, are constants.
    layer(X=X, W=W_t).sum().backward()
    assert list(layer._of._gradients) == [("W",)] and W_t.grad is not None
    assert "W_bar" in layer.gradient("W").text and "A_bar" not in layer.gradient("W").text


def test_torch_shares_memory_both_ways(torch):
    kernel = fl.compile("y[i] = 2.0 * x[i]", x="f64")
    function, x = fl.torch.function(kernel), torch.zeros(3, dtype=torch.float64)
    seen = []
    function._of.value = lambda arrays: seen.append(arrays["x"]) or np.ones(3)
    y = function(x)
    assert seen[0].ctypes.data == x.data_ptr() and y.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("declared", [True, False])
def test_torch_takes_results_with_the_entries_of_a_pattern(torch, declared):
    A, rng = drawn()
    U, V, v = rng.standard_normal((6, 2)), rng.standard_normal((5, 2)), rng.standard_normal(A.nnz)
    head = "tensor A: f64[I, J] csr tensor B: f64[I, J] csr " if declared else ""
    kernel = fl.compile(head + "B[i,j] = A[i,j] * sum(k: U[i,k] * V[j,k])", A=A, U=U, V=V)
    sampled = fl.torch.function(kernel, patterns={"A": A, "B": A})
    values, U_t = torch.tensor(A.data, requires_grad=True), torch.tensor(U, requires_grad=True)
    B = sampled(A=values, U=U_t, V=V)
    (B * torch.tensor(v)).sum().backward()
    S = sp.csr_array((v, A.indices, A.indptr), shape=A.shape)
    np.testing.assert_allclose(values.grad.numpy(), (S.toarray() * (U @ V.T))[A.nonzero()])
    np.testing.assert_allclose(U_t.grad.numpy(), (S.toarray() * A.toarray()) @ V)


def test_torch_takes_losses_that_are_numbers(torch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    loss = fl.torch.function(fl.compile("s[] = sum(i: x[i] * x[i])", x="f64"))
    (3.0 * loss(x)).backward()
    assert x.grad.tolist() == [6.0, 12.0]


def test_torch_takes_python_functions(torch):
    A, rng = drawn()
    X = torch.tensor(rng.standard_normal((5, 2)), requires_grad=True)

    @fl.kernel
    def product(A: fl.f64["I J", "csr"], X: fl.f64["J K"]):
        C[i, k] = A[i, j] * X[j, k]  # noqa: F821

    function = fl.torch.function(product, patterns={"A": A})
    function(torch.tensor(A.data), X).sum().backward()
    np.testing.assert_allclose(X.grad.numpy(), A.T @ np.ones((6, 2)))


def test_torch_refuses_what_it_cannot_share(torch):
    A, rng = drawn()
    X = torch.ones(5, 2, dtype=torch.float64)
    kernel = fl.compile("C[i,k] = A[i,j] * X[j,k]", A=A, X="f64")
    with pytest.raises(fl.OperandError, match="`A`: it is stored as csr: `patterns="):
        fl.torch.function(kernel)(A=torch.tensor(A.data), X=X)
    with pytest.raises(fl.MismatchError, match=f"`A`: the values of its {A.nnz} entries expected"):
        fl.torch.function(kernel, patterns={"A": A})(A=torch.ones(3, dtype=torch.float64), X=X)
    with pytest.raises(fl.OperandError, match="`X`: it is on the device meta"):
        fl.torch.function(kernel, patterns={"A": A})(X=X.to("meta"))
    with pytest.raises(fl.OperandError, match="the result `B` is stored as"):
        fl.torch.function(fl.compile("B[i,j] = 2.0 * A[i,j]", A=A))(A=A)
    with pytest.raises(fl.MismatchError, match="`B`: its entries are not those of its pattern"):
        fl.torch.function(fl.compile("B[i,j] = 2.0 * A[i,j]", A=A), patterns={"B": sp.csr_array((6, 5))})(A=A)
    with pytest.raises(fl.OperandError, match="a kernel expected"):
        fl.torch.function("y[i] = x[i]")


# ---- JAX


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)
    return jax


@pytest.mark.parametrize("compiled", [False, True])
def test_jax_takes_values_of_entries_and_gives_their_gradient(jax, compiled):
    A, X, W, v = layer_operands()
    layer = fl.jax.function(fl.compile(LAYER, A=A, X=X, W=W), patterns={"A": A})
    gradient = jax.grad(lambda a, x, w: (v * layer(A=a, X=x, W=w)).sum(), (0, 1, 2))
    made = (jax.jit(gradient) if compiled else gradient)(A.data, X, W)
    for got, expected in zip(made, by_autograd(A, X, W, v), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_jax_maps_a_kernel(jax):
    A, rng = drawn()
    product = fl.jax.function(fl.compile("y[i] = A[i,j] * x[j]", A=A, x="f64"), patterns={"A": A})
    many = rng.standard_normal((3, 5))
    made = jax.vmap(jax.grad(lambda x: product(x=x).sum()))(many)
    np.testing.assert_allclose(made, np.tile(A.T @ np.ones(6), (3, 1)))
    np.testing.assert_allclose(jax.vmap(lambda x: product(x=x))(many), many @ A.toarray().T)


def test_jax_passes_nothing_to_integers_and_to_what_is_not_asked(jax):
    rng = np.random.default_rng(4)
    x, at = rng.standard_normal(6), np.array([1, 4, 4])
    kernel = fl.compile("y[k] = x[at[k]] * w[k]", x="f64", at="i64", w="f64")
    function, w = fl.jax.function(kernel, by="x"), rng.standard_normal(3)
    by_x, by_w = jax.grad(lambda x, w: function(x=x, at=jax.numpy.asarray(at), w=w).sum(), (0, 1))(x, w)
    expected = np.zeros(6)
    np.add.at(expected, at, w)
    np.testing.assert_allclose(by_x, expected)
    np.testing.assert_allclose(by_w, 0.0)
    assert list(function._of._gradients) == [("x",)]


def test_jax_takes_losses_that_are_numbers_and_large_operands(jax):
    loss = fl.jax.function(fl.compile("s[] = sum(i: x[i] * x[i])", x="f64"))
    x = np.random.default_rng(5).standard_normal(500_000)
    np.testing.assert_allclose(jax.jit(jax.grad(lambda x: 3.0 * loss(x)))(x), 6.0 * x)


def test_jax_refuses_types_that_it_has_not(jax):
    loss = fl.jax.function(fl.compile("s[] = sum(i: x[i] * y[i])", x="f64", y="f64"))
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(fl.OperandError, match="jax_enable_x64"):
            loss(x=[1.0], y=[2.0])
    finally:
        jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_adapters_are_imported_where_they_are_named(name, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, name, None)
    monkeypatch.delitem(__import__("sys").modules, f"fiberloom.{name}", raising=False)
    monkeypatch.delitem(vars(fl), name, raising=False)
    assert name not in dir(fl)
    with pytest.raises(ImportError, match=f"pip install {name}"):
        getattr(fl, name)


def test_examples_of_the_adapters_run():
    A = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 0.0]]))
    names = {"np": np, "fl": fl, "A": A}
    tried = 0
    for package in ("torch", "jax"):
        try:
            names[package] = __import__(package)
        except ImportError:
            continue
        if package == "jax":
            names["jax"].config.update("jax_enable_x64", True)
            names["jnp"] = names["jax"].numpy
        ran = doctest.testmod(getattr(fl, package), extraglobs=names)
        assert ran.failed == 0
        tried += ran.attempted
    if not tried:
        pytest.skip("neither PyTorch nor JAX is installed")
