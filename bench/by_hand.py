"""Kernels as people write them in Numba: rows in parallel, inner loops plain. `peer.py` measures them where Numba is importable."""

import numba
import numpy as np

jit = numba.njit(parallel=True, fastmath=True, cache=False)


@jit
def spmv(pos, crd, values, x):
    y = np.empty(len(pos) - 1)
    for i in numba.prange(len(pos) - 1):
        t = 0.0
        for p in range(pos[i], pos[i + 1]):
            t += values[p] * x[crd[p]]
        y[i] = t
    return y


@jit
def spmm(pos, crd, values, b):
    c = np.zeros((len(pos) - 1, b.shape[1]))
    for i in numba.prange(len(pos) - 1):
        for p in range(pos[i], pos[i + 1]):
            for j in range(b.shape[1]):
                c[i, j] += values[p] * b[crd[p], j]
    return c


@jit
def sddmm(pos, crd, values, a, b):
    made = np.empty_like(values)
    for i in numba.prange(len(pos) - 1):
        for p in range(pos[i], pos[i + 1]):
            t = 0.0
            for k in range(a.shape[1]):
                t += a[i, k] * b[crd[p], k]
            made[p] = values[p] * t
    return made


@jit
def mttkrp(rows, fibers, columns, pos, crd, values, y, z, extent):
    """The rows of a tensor in compressed fibers: row `rows[r]` has the fibers from `fibers[r]` on, of these columns."""
    made = np.zeros((extent, y.shape[1]))
    for r in numba.prange(len(rows)):
        t = np.empty(y.shape[1])
        for f in range(fibers[r], fibers[r + 1]):
            t[:] = 0.0
            for p in range(pos[f], pos[f + 1]):
                for j in range(len(t)):
                    t[j] += values[p] * z[crd[p], j]
            for j in range(len(t)):
                made[rows[r], j] += t[j] * y[columns[f], j]
    return made
