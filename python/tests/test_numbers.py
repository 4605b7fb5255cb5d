"""Numbers, ends of slices and shapes are none of a kernel: other ones compile nothing. Values are NumPy's."""

import numpy as np
import pytest
import scipy.sparse as sp

import fiberloom as fl
from fiberloom import array as xp


class Nothing:
    """A block in which nothing is compiled."""

    def __enter__(self):
        self.before = fl.cache_info().compiled

    def __exit__(self, *raised):
        if raised[0] is None:
            assert fl.cache_info().compiled == self.before


def same(got, want):
    want = np.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_array_equal(got.to_numpy(), want)


FUNCTIONS = {
    "add": lambda a, c: a + c,
    "from the left": lambda a, c: c - a,
    "subtract": lambda a, c: a - c,
    "multiply": lambda a, c: a * c,
    "divide": lambda a, c: a / c,
    "floor_divide": lambda a, c: a // c,
    "remainder": lambda a, c: a % c,
    "divmod": lambda a, c: divmod(a, c)[1],
    "divmod of a number": lambda a, c: divmod(c, a)[0],
    "less": lambda a, c: a < c,
    "greater": lambda a, c: a > c,
    "greater, mirrored": lambda a, c: c > a,
    "less_equal": lambda a, c: a <= c,
    "greater_equal": lambda a, c: a >= c,
    "equal": lambda a, c: a == c,
    "not_equal": lambda a, c: a != c,
    "maximum": lambda a, c: np.maximum(a, c),
    "minimum": lambda a, c: np.minimum(a, c),
    "a ufunc": lambda a, c: np.hypot(a, c),
    "NumPy's number": lambda a, c: np.float64(c) * a + np.float64(c),
}
FORMATS = ["dense", "csr", "csc", "coo", "dcsr", "{dense, hashed}", "{dense, runs}", "{dense, bitmap}"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_are_operands(name, format):
    a = np.array([[0.0, 1.5, 0.0], [-2.0, 0.0, 3.0]])
    function, tensor = FUNCTIONS[name], fl.asarray(a, format)
    function(tensor, 1.25)
    with Nothing():
        for c in (2.5, -0.75, 1e300, float("inf")):
            with np.errstate(all="ignore"):
                want = function(a, c)
            if format == "dense" or not np.isnan(want).any():
                same(function(tensor, c), want)


@pytest.mark.parametrize("c", [3.5, -2.0, 0.0])
def test_fill_values_follow_numbers(c):
    a = np.array([[0.0, 1.5, 0.0], [-2.0, 0.0, 3.0]])
    for format in ("csr", "csc", "coo"):
        x = fl.asarray(a, format)
        for got, want in [
            (x + c, a + c),
            (c - x, c - a),
            (x > c, a > c),
            (x == c, a == c),
            (np.maximum(x, c), np.maximum(a, c)),
            (xp.clip(x, -1.0, c), np.clip(a, -1.0, c)),
        ]:
            same(got, want)
            # What is stored is what was.
            assert got.nnz == x.nnz and got.fill_value == want[0, 0]
        assert (x * c).fill_value == 0 and (x * c).nnz == x.nnz


def test_types_are_numpys():
    for dtype in (np.float32, np.int32, np.uint8, np.bool_):
        a = np.array([0, 1, 0, 3]).astype(dtype)
        for format in ("dense", "sparse"):
            x = fl.asarray(a, format)
            for c in (2, True, 0.5, np.float64(0.5), np.float32(0.5), np.int64(2)):
                for _ in range(2):
                    same(x * c, a * c)
                    same(c + x, c + a)
    x = fl.asarray(np.array([1, 2], dtype=np.int8))
    with Nothing():
        with pytest.raises(fl.OperandError, match="300"):
            x + 300
    same(x + 100, np.array([101, 102], dtype=np.int8))
    same(x < 300, [True, True])


def test_an_operand_twice_is_not_two():
    x, y = fl.asarray(np.array([1.0, 2.0])), fl.asarray(np.array([3.0, 5.0]))
    for _ in range(2):
        assert float(x @ x) == 5.0 and float(x @ y) == 13.0
        same(x * x, [1.0, 4.0])
        same(x * y, [3.0, 10.0])


def test_shapes_that_do_not_go_together_are_refused_each_time():
    x = fl.asarray(np.ones(3))
    same(x + x, 2 * np.ones(3))
    same(x + np.ones(3), 2 * np.ones(3))
    for _ in range(2):
        with pytest.raises(fl.MismatchError):
            x + np.ones(2)
        same(x + np.ones(1), 2 * np.ones(3))
        same(x + fl.asarray(np.ones((2, 3))), 2 * np.ones((2, 3)))
        same(fl.asarray(np.ones((2, 3))) @ x, 3 * np.ones(2))
        with pytest.raises(fl.MismatchError):
            fl.asarray(np.ones((2, 2))) @ x
        same(fl.asarray(np.ones((0, 3))) @ x, np.zeros(0))


@pytest.mark.parametrize("format", ["dense", "sparse"])
def test_ends_of_slices_compile_nothing(format):
    a = np.arange(20.0) * (np.arange(20) % 3 == 0)
    x = fl.asarray(a, format)
    same(x[2:5], a[2:5])
    same(x[0:4], a[0:4])
    with Nothing():
        for first, last in [(3, 9), (1, 20), (7, 8), (10, 19)]:
            same(x[first:last], a[first:last])
            same(x[:last - 1], a[: last - 1])
    same(x[1:9:2], a[1:9:2])
    with Nothing():
        same(x[2:17:2], a[2:17:2])


@pytest.mark.parametrize("format", ["dense", "csr"])
def test_shapes_compile_nothing(format):
    def draw(rows, columns):
        return np.arange(float(rows * columns)).reshape(rows, columns) % 5

    def check(a):
        x = fl.asarray(a, format)
        rows, columns = a.shape
        same(xp.reshape(x, (columns, rows)), a.reshape(columns, rows))
        same(x[1:3, 1:], a[1:3, 1:])
        same(xp.concat([x, x[1:]]), np.concatenate([a, a[1:]]))
        same(xp.roll(x, 1, axis=0), np.roll(a, 1, axis=0))
        same(xp.mean(x, axis=0), a.mean(axis=0))
        same(xp.argmax(x, axis=1), a.argmax(axis=1))

    check(draw(4, 6))
    with Nothing():
        check(draw(5, 7))
        check(draw(8, 3))


def test_lazy_expressions_take_numbers(matrix):
    A, x = matrix((5, 6)), np.arange(6.0)

    def expression(c):
        return (fl.lazy(A) * c @ x - c).compute()

    expression(2.0)
    with Nothing():
        same(expression(-3.5), (A * -3.5) @ x + 3.5)
    with fl.lazy():
        z = fl.asarray(A) * 2.5
    assert isinstance(z, fl._lazy.Lazy)


def test_a_kernel_takes_sizes():
    kernel = fl.compile("dim N  y[i] = x[i(0:N)]", x="f64")
    x = np.arange(5.0)
    same(kernel(x=x, N=2)["y"], x[:2])
    with Nothing():
        same(kernel(x=x, N=np.int64(4))["y"], x[:4])
        same(fl.einsum("dim N  y[i] = x[i(0:N)]", x=x, N=3), x[:3])
    with pytest.raises(fl.Error, match="no value is given for size `N`"):
        kernel(x=x)
    with pytest.raises(fl.Error, match="past the extent 5"):
        kernel(x=x, N=6)
    with pytest.raises(fl.Error, match="size `N`: -1"):
        kernel(x=x, N=-1)
    same(kernel.bind(x=x, N=1).run()["y"], x[:1])


def conjugate_gradients(A, b, turns):
    """As it is written with NumPy, too."""
    x = b * 0.0
    r = b - A @ x
    p = r
    rs = float(r @ r)
    for turn in range(turns):
        Ap = A @ p
        alpha = rs / float(p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        new = float(r @ r)
        p = r + (new / rs) * p
        rs = new
        yield turn, x


def test_conjugate_gradients_compile_in_their_first_turn():
    n = 300
    A = sp.diags_array([-1.0, 2.1, -1.0], offsets=[-1, 0, 1], shape=(n, n), format="csr")
    b = np.random.default_rng(1).random(n)
    for turn, x in conjugate_gradients(fl.asarray(A), fl.asarray(b), 60):
        if turn == 0:
            before = fl.cache_info()
    assert fl.cache_info() == before
    for _, want in conjugate_gradients(A, b, 60):
        pass
    np.testing.assert_allclose(x.to_numpy(), want, rtol=1e-9)
