"""Lazy expressions against the same in NumPy."""

import numpy as np
import pytest

import fiberloom as fl
from fiberloom._lazy import Lazy


@pytest.fixture
def a():
    return np.array([[1.0, 0.0, -2.0], [0.0, 3.0, 4.0]])


def test_a_product_and_a_sum_are_one_kernel(matrix):
    A, x = matrix((5, 6)), np.arange(6.0)
    z = fl.lazy(A) @ x + 1
    assert z.program()[0] == "Out[i0] = (sum(k0: T0[i0,k0] * T1[k0]) + T2[])"
    assert (z.compute().to_numpy() == A @ x + 1).all()
    got = z.compute(out="sparse")
    assert got.format == "sparse" and (got.to_numpy() == A @ x + 1).all()
    assert "for" in z.show("loops")


EXPRESSIONS = {
    "mirrored": lambda l, a: 2 - l(a),
    "broadcast": lambda l, a: l(a) * np.array([1.0, 2.0, 3.0]) + np.array([[5.0], [6.0]]),
    "outer": lambda l, a: l(a[:1].T) + a[1:],
    "quotients": lambda l, a: l(a) / 4 + 3 / (l(a) + 10),
    "integers": lambda l, a: (l(a.astype(np.int32)) // 2) % 3,
    "true division of integers": lambda l, a: l(a.astype(np.int32)) / 2,
    "powers": lambda l, a: l(a) ** 2,
    "comparisons": lambda l, a: (l(a) > 0) & (l(a) != 4),
    "mixed types": lambda l, a: l(a.astype(np.float32)) + a.astype(np.int64),
    "negation": lambda l, a: -abs(l(a)),
    "transposed": lambda l, a: l(a).T @ a,
    "vectors": lambda l, a: l(a[0]) @ a[1],
    "left": lambda l, a: np.array([1.0, 2.0]) @ l(a),
    "stacks": lambda l, a: l(np.stack([a, 2 * a])) @ a.T,
    "sum": lambda l, a: l(a).sum(),
    "sum over an axis": lambda l, a: l(a).sum(axis=1, keepdims=True) + a,
    "sum over the last": lambda l, a: l(a).sum(axis=-1),
    "sum of integers": lambda l, a: l(a.astype(np.int8)).sum(axis=0),
    "least": lambda l, a: l(a).min(axis=0) + l(a).max(axis=(0, 1)),
    "products": lambda l, a: l(a + 3).prod(axis=1),
    "nested sums": lambda l, a: (l(a) * l(a).sum(axis=0)).sum(axis=1),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("format", [None, "csr"])
def test_expressions_are_numpys(name, format, a):
    def lazily(array):
        return fl.lazy(array if format is None or array.ndim != 2 else fl.asarray(array, format))

    want = EXPRESSIONS[name](np.asarray, a)
    got = EXPRESSIONS[name](lazily, a).compute()
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_allclose(got.to_numpy(), want, rtol=1e-6)


def test_functions_of_the_language_are_mapped(a):
    np.testing.assert_allclose(fl.lazy(a).map("exp").compute().to_numpy(), np.exp(a))
    np.testing.assert_allclose(fl.lazy(a).map("hypot", 3).compute().to_numpy(), np.hypot(a, 3))


def test_shapes_that_do_not_go_together_are_refused(a):
    with pytest.raises(fl.MismatchError):
        fl.lazy(a) + np.ones(2)
    with pytest.raises(fl.MismatchError, match="3 long"):
        fl.lazy(a) @ a
    with pytest.raises(fl.Error, match="there is no axis 2 of 2"):
        fl.lazy(a).sum(axis=2)


def test_notebooks_show_tabs_and_tables(matrix):
    k = fl.compile("y[i] = A[i,j] * x[j]", A="f64 csr", x="f64")
    html = k._repr_html_()
    assert html.count('type="radio"') == 5 and "<svg" in html and "for p_A in" in html
    assert "&lt;" in html or "<pre>" in html
    assert "<td>csr</td>" in fl.asarray(matrix((2, 2)))._repr_html_()


#: Operators and functions of two arrays, which find kernels that are kept.
TWO = ["+", "-", "*", "/", "@", "<", "=="]


@pytest.mark.parametrize("format", ["dense", "csr"])
@pytest.mark.parametrize("symbol", TWO)
def test_what_was_computed_before_is_an_expression_in_a_context(symbol, format):
    a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[2.0, 1.0], [1.0, 3.0]])
    T, U = fl.asarray(a.copy(), format), fl.asarray(b.copy(), format)
    for one, two in ((T, U), (T, b), (b, T), (T, 2.0), (2.0, T)):
        if symbol == "@" and 2.0 in (one if isinstance(one, float) else 0, two if isinstance(two, float) else 0):
            continue
        line = eval(f"lambda x, y: x {symbol} y")
        want = line(*(a if o is T else b if o is U else o for o in (one, two)))
        for _ in range(2):
            assert isinstance(line(one, two), fl.Tensor)
        with fl.lazy():
            inside = line(one, two)
        assert isinstance(inside, Lazy) and isinstance(line(one, two), fl.Tensor)
        np.testing.assert_array_equal(inside.compute().to_numpy(), want)
