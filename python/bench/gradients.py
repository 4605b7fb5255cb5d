"""Gradient kernels beside the same written by hand, and beside what PyTorch and JAX take for them, where these are installed.

```text
 python python/bench/gradients.py [--small] [CASE …]
 case     loops     by hand    PyTorch     JAX         seconds of the value and its gradients, the least of many; ratios to ours
```

`loops` says whether what `grad` prints and what is written by hand have the same loops, up to names. Everything runs on one thread, in 64-bit
floats. PyTorch and JAX are given the operands as they like them: matrices of `torch.sparse` where that has the operation and its derivative,
else gathers at the entries and sums by row, as one writes there. JAX compiles the whole (`jit`).
"""

from __future__ import annotations

import argparse
import os
import re
import time

if __name__ == "__main__":
    # Before they are imported; tests import this, too.
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import numpy as np
import scipy.sparse as sp

import fiberloom as fl

try:
    import torch

    torch.set_num_threads(1)
except ImportError:
    torch = None
try:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = None


class Case:
    """A program, of which result by which operands, its gradient by hand, operands, and the same elsewhere."""

    def __init__(self, text: str, of: str, by: list[str], hand: str, operands: dict, seed=None, elsewhere=None):
        self.text, self.of, self.by, self.hand, self.operands = text, of, by, hand, operands
        self.seed, self.elsewhere = seed, elsewhere or (lambda xp: None)


def matrix(rows: int, columns: int, entries: int, rng) -> sp.csr_array:
    """So many entries, some of which fall together, anywhere."""
    at = rng.integers(0, rows, entries), rng.integers(0, columns, entries)
    return sp.csr_array(sp.coo_array((rng.random(entries) + 0.5, at), shape=(rows, columns)))


def layer(scale: float, rng) -> Case:
    n = int(20_000 * scale)
    A = matrix(n, n, 10 * n, rng)
    X, W = rng.standard_normal((n, 32)), rng.standard_normal((32, 16))
    head = "tensor A: f64[I, J] csr\ntensor X: f64[J, K]\ntensor W: f64[K, L]\n"
    forth = (
        "T[i,k] = A[i,j] * X[j,k]\nZ[i,l] = T[i,k] * W[k,l]\nH[i,l] = max(Z[i,l], 0.0)\ns[] = sum(i, l: H[i,l] * H[i,l])\n"
    )
    hand = (
        "tensor X_bar: f64[J, K]\ntensor W_bar: f64[K, L]\n"
        + forth
        + "T_bar[i,k] = sum(l: mask(Z[i,l] >= 0.0, 2.0 * H[i,l] * W[k,l]))\n"
        + "X_bar[j,k] = A[i,j] * T_bar[i,k]\nW_bar[k,l] = sum(i: mask(Z[i,l] >= 0.0, 2.0 * T[i,k] * H[i,l]))\n"
    )

    def elsewhere(xp):
        if xp is torch:
            arrays = (A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data)
            S = torch.sparse_csr_tensor(*map(torch.from_numpy, arrays), size=A.shape)
            return (lambda X, W: (torch.relu((S @ X) @ W) ** 2).sum()), (X, W)
        rows, columns = A.tocoo().coords
        product = lambda X: jax.ops.segment_sum(A.data[:, None] * X[columns], rows, n, indices_are_sorted=True)  # noqa: E731
        return (lambda X, W: (jnp.maximum(product(X) @ W, 0.0) ** 2).sum()), (X, W)

    return Case(head + forth, "s", ["X", "W"], head + hand, {"A": A, "X": X, "W": W}, elsewhere=elsewhere)


def sddmm(scale: float, rng) -> Case:
    n = int(10_000 * scale)
    A = matrix(n, n, 10 * n, rng)
    U, V = rng.standard_normal((n, 32)), rng.standard_normal((n, 32))
    head = "tensor A: f64[I, J] csr\ntensor U: f64[I, K]\ntensor V: f64[J, K]\n"
    forth = "B[i,j] = A[i,j] * sum(k: U[i,k] * V[j,k])\ns[] = sum(i, j: B[i,j] * B[i,j])\n"
    hand = (
        "tensor A_pattern: bool[I, J] csr\ntensor A_bar: f64[I, J] csr\ntensor U_bar: f64[I, K]\ntensor V_bar: f64[J, K]\n"
        + forth
        + "A_bar[i,j] = mask(A_pattern[i,j], 2.0 * B[i,j] * sum(k: U[i,k] * V[j,k]))\n"
        + "U_bar[i,k] = sum(j: 2.0 * A[i,j] * B[i,j] * V[j,k])\nV_bar[j,k] = sum(i: 2.0 * U[i,k] * A[i,j] * B[i,j])\n"
    )
    rows, columns = A.tocoo().coords

    def elsewhere(xp):
        if xp is torch:
            i, j = torch.from_numpy(rows.astype(np.int64)), torch.from_numpy(columns.astype(np.int64))
            return (lambda a, U, V: ((a * (U[i] * V[j]).sum(1)) ** 2).sum()), (A.data, U, V)
        return (lambda a, U, V: ((a * (U[rows] * V[columns]).sum(1)) ** 2).sum()), (A.data, U, V)

    return Case(head + forth, "s", ["A", "U", "V"], head + hand, {"A": A, "U": U, "V": V}, elsewhere=elsewhere)


def mttkrp(scale: float, rng) -> Case:
    n, entries = int(400 * scale), int(200_000 * scale)
    at = np.unique(rng.integers(0, n, (3, entries)), axis=1)
    data = rng.random(at.shape[1])
    B = fl.asarray(sp.coo_array((data, tuple(at)), shape=(n, n, n)), "csf")
    C, D = rng.standard_normal((n, 16)), rng.standard_normal((n, 16))
    head = "tensor B: f64[I, K, L] csf\ntensor C: f64[K, J]\ntensor D: f64[L, J]\n"
    forth = "A[i,j] = B[i,k,l] * C[k,j] * D[l,j]\n"
    hand = (
        "tensor A_bar: f64[I, J]\ntensor C_bar: f64[K, J]\ntensor D_bar: f64[L, J]\n"
        + forth
        + "C_bar[k,j] = B[i,k,l] * A_bar[i,j] * D[l,j]\nD_bar[l,j] = B[i,k,l] * C[k,j] * A_bar[i,j]\n"
    )
    seed = rng.standard_normal((n, 16))

    def elsewhere(xp):
        if xp is torch:
            i, k, m = (torch.from_numpy(c.astype(np.int64)) for c in at)
            b, v = torch.from_numpy(data), torch.from_numpy(seed)
            of = lambda C, D: torch.zeros(n, 16, dtype=torch.float64).index_add(0, i, b[:, None] * C[k] * D[m])  # noqa: E731
            return (lambda C, D: (v * of(C, D)).sum()), (C, D)
        i, k, m = at
        of = lambda C, D: jax.ops.segment_sum(data[:, None] * C[k] * D[m], i, n, indices_are_sorted=True)  # noqa: E731
        return (lambda C, D: (seed * of(C, D)).sum()), (C, D)

    return Case(head + forth, "A", ["C", "D"], head + hand, {"B": B, "C": C, "D": D}, {"A_bar": seed}, elsewhere)


def softmax(scale: float, rng) -> Case:
    n = int(20_000 * scale)
    A = matrix(n, n, 20 * n, rng)
    P = fl.asarray(A).pattern()
    head = "tensor A: f64[I, J] csr\ntensor P: bool[I, J] csr\ntensor p: f64[I, J] csr\n"
    forth = "e[i,j] = mask(P[i,j], exp(A[i,j]))\nz[i] = sum(j: e[i,j])\np[i,j] = e[i,j] / z[i]\n"
    hand = (
        "tensor A_pattern: bool[I, J] csr\ntensor p_bar: f64[I, J] csr\ntensor A_bar: f64[I, J] csr\n"
        + forth
        + "z_bar[i] = -sum(j: p_bar[i,j] * e[i,j] / (z[i] * z[i]))\n"
        + "A_bar[i,j] = mask(A_pattern[i,j], (p_bar[i,j] / z[i] + z_bar[i]) * e[i,j])\n"
    )
    seed = sp.csr_array((rng.standard_normal(A.nnz), A.indices, A.indptr), shape=A.shape)
    rows = A.tocoo().coords[0]

    def elsewhere(xp):
        if xp is torch:
            i, v = torch.from_numpy(rows.astype(np.int64)), torch.from_numpy(seed.data)

            # What its sparse softmax gives passes no gradient to the values of its entries.
            def of(a):
                e = torch.exp(a)
                return (v * e / torch.zeros(n, dtype=torch.float64).index_add(0, i, e)[i]).sum()

            return of, (A.data,)

        def of(a):
            e = jnp.exp(a)
            z = jax.ops.segment_sum(e, rows, n, indices_are_sorted=True)
            return (seed.data * e / z[rows]).sum()

        return of, (A.data,)

    return Case(head + forth, "p", ["A"], head + hand, {"A": A, "P": P}, {"p_bar": seed}, elsewhere)


def factors(scale: float, rng) -> Case:
    rows, columns = int(8_000 * scale), int(5_000 * scale)
    R = matrix(rows, columns, int(300_000 * scale), rng)
    P = fl.asarray(R).pattern()
    U, V = rng.random((rows, 16)), rng.random((columns, 16))
    head = "tensor R: f64[I, J] csr\ntensor P: bool[I, J] csr\ntensor U: f64[I, K]\ntensor V: f64[J, K]\n"
    forth = "E[i,j] = mask(P[i,j], R[i,j] - sum(k: U[i,k] * V[j,k]))\ns[] = sum(i, j: E[i,j] * E[i,j])\n"
    hand = (
        "tensor U_bar: f64[I, K]\ntensor V_bar: f64[J, K]\n"
        + forth
        + "U_bar[i,k] = -2.0 * sum(j: E[i,j] * V[j,k])\nV_bar[j,k] = -2.0 * sum(i: U[i,k] * E[i,j])\n"
    )
    i, j = R.tocoo().coords

    def elsewhere(xp):
        if xp is torch:
            a, b = torch.from_numpy(i.astype(np.int64)), torch.from_numpy(j.astype(np.int64))
            r = torch.from_numpy(R.data)
            return (lambda U, V: ((r - (U[a] * V[b]).sum(1)) ** 2).sum()), (U, V)
        return (lambda U, V: ((R.data - (U[i] * V[j]).sum(1)) ** 2).sum()), (U, V)

    return Case(head + forth, "s", ["U", "V"], head + hand, {"R": R, "P": P, "U": U, "V": V}, elsewhere=elsewhere)


CASES = {"layer": layer, "sddmm": sddmm, "mttkrp": mttkrp, "softmax": softmax, "factors": factors}


def least(runs, seconds: float = 1.5) -> list[float]:
    """The least seconds of each, which take turns, so that whatever else the machine does meets all of them."""
    best, end = [float("inf")] * len(runs), time.process_time() + seconds * len(runs)
    for run in runs:
        run()
    while time.process_time() < end:
        for n, run in enumerate(runs):
            begin = time.process_time()
            run()
            best[n] = min(best[n], time.process_time() - begin)
    return best


def loops(kernel) -> str:
    """A kernel's loops with names in the order in which they stand."""
    names: dict[str, str] = {}
    body = kernel.show("loops").partition("\n\n")[2]
    return re.sub(r"[A-Za-z_]\w*", lambda m: names.setdefault(m.group(), f"n{len(names)}"), body)


def by_torch(case: Case):
    of, arrays = case.elsewhere(torch)

    def run():
        operands = [torch.from_numpy(a).requires_grad_() for a in arrays]
        of(*operands).backward()
        return [o.grad.numpy() for o in operands]

    return run


def by_jax(case: Case):
    of, arrays = case.elsewhere(jax)
    step = jax.jit(jax.value_and_grad(of, tuple(range(len(arrays)))))
    arrays = [jnp.asarray(a) for a in arrays]
    return lambda: jax.block_until_ready(step(*arrays))[1]


def values(made) -> np.ndarray:
    return made.to_numpy() if made.dense_view() is not None else made.arrays()["values"]


def runs(case: Case) -> list:
    """Runs of the gradient that is printed, and of the same by hand, on operands that are bound."""
    gradient = fl.value_and_grad(fl.compile(case.text), of=case.of, by=case.by)
    given = {**case.operands, **(case.seed or {})}
    for operand in case.by:
        given[f"{operand}_pattern"] = fl.asarray(case.operands[operand]).pattern()
    kernels = gradient.kernel, fl.compile(case.hand)
    return [(k, k.bind(**{name: given[name] for name, *_ in k.inputs if name in given}).run) for k in kernels]


def gradients(case: Case, results: dict) -> list[np.ndarray]:
    """Of the results of a run those that are gradients, as values."""
    return [values(results[f"{operand}_bar"]) for operand in case.by]


def agree(made: list, expected: list) -> None:
    """Raises if gradients differ by more than rounding."""
    for got, want in zip(made, expected, strict=True):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-8, atol=1e-8 * abs(want).max())


def compared(name: str, case: Case) -> str:
    """The figures of a case, whose gradients are the same wherever they come from."""
    (own, run), (hand, by_hand) = runs(case)
    expected = gradients(case, run())
    agree(gradients(case, by_hand()), expected)
    others = [by(case) for by, module in ((by_torch, torch), (by_jax, jax)) if module is not None]
    for other in others:
        agree(other(), expected)
    best = least([run, by_hand, *others])
    same = "same" if loops(own) == loops(hand) else "other"
    ratios = [f"{seconds / best[0]:8.2f}" for seconds in best[1:]]
    return f"{name:8} {same:6} {best[0] * 1e3:8.2f} ms {' '.join(ratios)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=list(CASES), help=", ".join(CASES))
    parser.add_argument("--small", action="store_true", help="operands of a tenth of the size")
    asked = parser.parse_args()
    peers = [f"{name:>8}" for name, module in (("PyTorch", torch), ("JAX", jax)) if module is not None]
    print(f"{'':8} {'loops':6} {'ours':>11} {'by hand':>8} {' '.join(peers)}     (ratios to ours)")
    for name in asked.cases:
        print(compared(name, CASES[name](0.1 if asked.small else 1.0, np.random.default_rng(0))))


if __name__ == "__main__":
    main()
