"""Lines of users, whose types `test_types.py` has mypy look at; it runs them, too."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, assert_type, no_type_check

import numpy as np
import scipy.sparse as sp  # type: ignore[import-untyped]
from numpy.typing import NDArray

import fiberloom as fl
from fiberloom import Kernel, LimitError, Shards, Table, Tensor


@fl.kernel
@no_type_check
def spmv(A: fl.f64["I J", "csr"], x: fl.f64["J"]):  # pyright: ignore
    y[i] = A[i, j] * x[j]  # type: ignore[name-defined]  # noqa: F821


@fl.kernel(options={"mode": "strict"})
@no_type_check
def twice(x):
    y[i] = 2 * x[i]  # type: ignore[name-defined]  # noqa: F821


@fl.function(commutative=True, associative=True, identity=float("inf"))
def best(a: Any, b: Any) -> Any:
    return a if a < b else b


def tensors(A: Any, x: NDArray[np.float64]) -> Tensor:
    T = fl.asarray(A, "csr", fill=0.0, copy=True)
    assert_type(T, Tensor)
    assert_type(T.shape, tuple[int, ...])
    assert_type(T.sum(axis=0), Tensor)
    assert_type(T.reshape(-1), Tensor)
    assert_type(T.T, Tensor)
    assert_type(T.nonzero(), tuple[Tensor, ...])
    assert_type(T.toarray(), NDArray[Any])
    assert_type(float(T.sum()), float)
    assert_type(T.to("csc", fill=0.0), Tensor)
    assert_type([row.shape for row in T], list[Any])
    assert_type(fl.einsum("y[i] = A[i,j] * x[j]", A=T, x=x), Tensor)
    y: NDArray[np.float64] = np.zeros(T.shape[0])
    assert_type(fl.einsum("ij,j->i", T, x, out=y), NDArray[np.float64])
    scaled: Tensor = 2 * T + abs(T) @ np.eye(T.shape[1])
    return scaled[1:, ::2]  # type: ignore[no-any-return]


def kernels(A: Any, x: NDArray[np.float64]) -> str:
    k = fl.compile("y[i] = min(j: A[i,j] + x[j])", A="f64 csr fill inf", x="f64", out={"y": "dense"})
    assert_type(k, Kernel)
    bound = k.bind(A=A, x=x)
    assert_type(bound(), dict[str, Any])
    y = np.zeros(A.shape[0])
    k(A=A, x=x, out={"y": y})
    spmv(A, x)
    spmv(A=A, x=x)
    twice(x=x)
    assert_type(best(1.0, 2.0), Any)
    assert_type(fl.cache_info().kept, int)
    return k.show("loops") + str(spmv.explain())


def lazily(A: Any, x: NDArray[np.float64]) -> Tensor:
    z = fl.lazy(A) @ x + 1
    with fl.lazy():
        total = fl.array.sum(A, axis=0)
    assert_type(fl.lazy(A).sum(axis=1).compute(out="dense"), Tensor)
    assert_type(fl.lazy(A).shape, tuple[int, ...])
    total.compute()
    made: Tensor = z.compute(options={"mode": "strict"})
    return made


def gradients(A: Any, x: NDArray[np.float64]) -> str:
    g = fl.grad(spmv, by=["A", "x"])
    assert_type(g, fl.Gradient)
    assert_type(fl.value_and_grad(fl.compile("s[] = x[i] * x[i]", x="f64"), of="s", by="x").text, str)
    assert_type(fl.grad(fl.lazy(A).sum(), by=A), fl.LazyGradient)
    assert_type(fl.jvp(g.kernel, of="x_bar", by="A").specialized().kernel, Kernel)
    g(A, x, y_bar=np.ones(A.shape[0]))
    return g.text


def adapters(A: Any) -> None:
    layer = fl.torch.function(spmv, patterns={"A": A})
    assert_type(layer, fl.torch.Function)
    assert_type(layer.gradient("x").text, str)
    assert_type(fl.jax.function(spmv, by="x", patterns={"A": A}), fl.jax.Function)


def tables() -> int:
    t = fl.table({"city": ["Rome", "Paris"], "n": [1, 2]})
    assert_type(t, Table)
    assert_type(t["n"], NDArray[Any])
    assert_type(t[0], dict[str, Any])
    assert_type(t[["city"]], Table)
    assert_type(list(t), list[str])
    return len(t)


def boxes(A: Any, x: NDArray[np.float64]) -> None:
    s = fl.shards("y[i] = A[i,j] * x[j]", A=A, x=x, split={"i": 4, "j": [2]})
    assert_type(s, Shards)
    with ThreadPoolExecutor(2) as pool:
        assert_type(s.run(pool), dict[str, Tensor] | None)
    assert_type(s.boxes[0].ranges["i"], range)
    fl.shards(spmv, A=A, x=x, split={"i": 2}).replace(x=x).run(2)


def errors(A: Any) -> str:
    try:
        fl.einsum("y[i] = A[i]", A=A)
    except LimitError as e:
        return str(e)
    except fl.Error as e:
        assert_type(e.spans, tuple[fl.Span, ...])
        return str(e)
    return ""


def main() -> None:
    A, x = sp.csr_array(np.eye(4) + 1), np.arange(4.0)
    boxes(A, x)
    assert "A_bar" in gradients(A, x) and callable(adapters)  # Their packages may not be there.
    assert tensors(A, x).shape == (3, 2) and lazily(fl.asarray(A), x).shape == (4,)
    assert "for p_A in" in kernels(A, x) and tables() == 2 and "`A`" in errors(A)
