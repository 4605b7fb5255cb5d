"""Calls beside SciPy's, in one run: `python -P python/bench/calls.py`, where the wheel is installed.

Of several runs the least is printed: seconds of the processor, since other processes only ever add to it.
"""

import subprocess
import sys
import time
import timeit
import warnings

import numpy as np
import scipy.sparse as sp

import fiberloom as fl

SPMV = "y[i] = A[i,j] * x[j]"


def once(call, number):
    """Seconds of the processor that a call takes."""
    call()
    call()
    return min(timeit.repeat(call, number=number, repeat=15, timer=time.process_time)) / number


def small():
    A, x = sp.csr_array(np.eye(4) + 1), np.ones(4)
    k, a, b = fl.compile(SPMV, A="f64 csr", x="f64"), fl.asarray(A, copy=True), fl.asarray(x)
    print("4 × 4, µs")
    for name, call in {
        "kernel(Tensor, Tensor)": lambda: k(A=a, x=b),
        "bound.run()": k.bind(A=a, x=b).run,
        "einsum(SciPy, NumPy)": lambda: fl.einsum(SPMV, A=A, x=x),
        "einsum, NumPy's spelling": lambda: fl.einsum("ij,j->i", A, x),
        "SciPy: A @ x": lambda: A @ x,
    }.items():
        print(f"  {name:28} {once(call, 20000) * 1e6:8.2f}")


#: Lines of users, each beside SciPy's of `S` where it has one.
LINES = """
T * 2.0
T + U
T == U
T + 1
T > 0.5
1 / T
2.0 ** T
T ** 2
-T
T @ x
x @ T
T @ U
T @ S
S @ U
S + U
S * U
S == U
T[1, 2]
T[1]
T[1:3]
T[::-1]
T.sum()
np.sum(T, axis=0)
T.reshape(2, 8)
np.vstack([T, U])
"""


def lines():
    random = np.random.default_rng(0)
    names = {"np": np, "x": np.ones(4)}
    for ours, theirs in (("T", "S"), ("U", "R")):
        names[theirs] = sp.random_array((4, 4), density=0.5, format="csr", rng=random)
        names[ours] = fl.asarray(names[theirs].copy())
    print("lines, 4 × 4, µs: tensors, and SciPy's matrices")
    for line in LINES.split("\n")[1:-1]:
        scipys = line.replace("T", "S").replace("U", "R").replace("np.vstack", "sp.vstack").replace("np.sum(S,", "S.sum(")
        ours, theirs = (eval(f"lambda: {text}", {**names, "sp": sp}) for text in (line, scipys))
        try:
            other = f"{once(theirs, 1000) * 1e6:8.1f}"
        except (NotImplementedError, TypeError):
            other = "       -"  # A number on what is not stored SciPy refuses.
        print(f"  {line:28} {once(ours, 1000) * 1e6:8.1f} {other}")


def conversions():
    S = sp.random_array((100_000, 100_000), density=1e-4, format="csr", rng=np.random.default_rng(0))
    T = fl.asarray(S.copy())
    C, coo = T.to("csc"), T.to("coo")
    print("a million entries, ms: tensors, and SciPy's matrices")
    for line, ours, theirs in [
        ("csr to csc", lambda: T.to("csc"), S.tocsc),
        ("csr to coo", lambda: T.to("coo"), S.tocoo),
        ("csc to csr", lambda: C.to("csr"), S.tocsc().tocsr),
        ("coo to csr", lambda: coo.to("csr"), S.tocoo().tocsr),
        ("A[::-1]", lambda: T[::-1], lambda: S[::-1]),
        ("A[:, ::-1]", lambda: T[:, ::-1], lambda: S[:, ::-1]),
    ]:
        print(f"  {line:28} {once(ours, 1) * 1e3:8.2f} {once(theirs, 1) * 1e3:8.2f}")


def large():
    random, n = np.random.default_rng(0), 100_000
    k = fl.compile(SPMV, A="f64 csr", x="f64")
    for index in (np.int32, np.int64):
        columns = random.integers(0, n, 1_000_000).astype(index)
        A = sp.csr_array((random.random(1_000_000), columns, np.arange(0, 1_000_001, 10, dtype=index)), shape=(n, n))
        A.sum_duplicates()
        # Over the same arrays, so that none is in the processor's memory alone.
        x, a = random.random(n), fl.asarray(A)
        calls = {
            "kernel(Tensor, NumPy)": lambda: k(A=a, x=x),  # noqa: B023
            "einsum(SciPy, NumPy)": lambda: fl.einsum(SPMV, A=A, x=x),  # noqa: B023
            "SciPy: A @ x": lambda: A @ x,  # noqa: B023
        }
        print(f"{A.nnz} entries, {A.indices.dtype}, ms: median, least, and the median of ratios to SciPy")
        times = np.array([[timed(call) for call in calls.values()] for _ in range(300)])[10:]
        for name, column, ratio in zip(calls, times.T, (times / times[:, -1:]).T, strict=True):
            print(f"  {name:28} {np.median(column) * 1e3:8.3f} {column.min() * 1e3:8.3f} {np.median(ratio):8.2f}")


def timed(call):
    """Seconds of the processor that one call takes: those that are compared take turns."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def cold():
    program = f"""
import time
import numpy as np, scipy.sparse as sp
A, x = sp.csr_array(np.eye(4)), np.ones(4)
begin = time.perf_counter()
import fiberloom as fl
imported = time.perf_counter()
fl.einsum({SPMV!r}, A=A, x=x)
print(imported - begin, time.perf_counter() - imported)
"""
    runs = [subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True) for _ in range(7)]
    times = [[float(word) for word in run.stdout.split()] for run in runs]
    print("new processes, ms")
    print(f"  {'import, beside NumPy, SciPy':28} {min(t[0] for t in times) * 1e3:8.1f}")
    print(f"  {'first einsum':28} {min(t[1] for t in times) * 1e3:8.1f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
    small()
    lines()
    conversions()
    large()
    cold()
