"""Fiberloom: a compiler for sparse and structured arrays.

>>> import numpy as np, scipy.sparse as sp, fiberloom as fl
>>> A = sp.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
>>> y = fl.einsum("y[i] = A[i,j] * x[j]", A=A, x=np.array([1.0, 10.0, 100.0]))
>>> y.to_numpy()
array([201.,  30.])

=====================  ==========================================================================
`einsum`               compile a program for these operands, keep it, run it
`asarray`              a `Tensor` of whatever is an array: checked once, nothing copied that need not be
`compile`              a `Kernel`: called on operands by name, shown, timed, checked
`table`                a `Table` of whatever has columns: pandas, polars, pyarrow, DuckDB, dicts of arrays
`kernel`, `function`   the same of a Python function's syntax tree, and functions of the language
`lazy`                 expressions with operators, compiled as one kernel by ``compute()``
`array`                the array API standard's namespace: functions of arrays, each a kernel, or lazily one
`grad`                 the gradient of a kernel, of a Python function's, or of an expression, as a kernel; `value_and_grad`, `jvp`
`torch`, `jax`         kernels as functions that those packages differentiate; imported where they are named
`shards`               a program in boxes, on threads, in processes, on dask's workers, on ranks of MPI
`cache_info`           how many kernels are kept, and how many were compiled
`set_threads`          on how many threads loops run; `threads` says it; `with_threadpoolctl`
=====================  ==========================================================================

Results are `Tensor`\\ s, and `Table`\\ s of programs over tables; ``np.asarray`` of a dense one, ``to_numpy``, ``to_scipy`` and ``to_sparse`` take them elsewhere.
"""

from __future__ import annotations

import atexit as _atexit

from . import _native
from ._arrays import asarray
from ._einsum import einsum
from ._gradients import Gradient, LazyGradient, grad, jvp, value_and_grad
from ._kernel import CacheInfo, Kernel, cache_info, compile
from ._tables import Table, table
from ._tensor import Tensor
from ._threads import set_threads, threads, with_threadpoolctl
from ._types import bool_, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from .errors import (
    CounterexampleError,
    DefectError,
    Error,
    LimitError,
    MismatchError,
    OperandError,
    ProgramError,
    Span,
    WrongAnswerError,
)

__version__ = "0.1.0"

__all__ = [
    "CacheInfo",
    "CounterexampleError",
    "DefectError",
    "Error",
    "Gradient",
    "Kernel",
    "LazyGradient",
    "LimitError",
    "MismatchError",
    "OperandError",
    "ProgramError",
    "Shards",
    "Span",
    "Table",
    "Tensor",
    "WrongAnswerError",
    "array",
    "asarray",
    "bool_",
    "cache_info",
    "compile",
    "einsum",
    "f32",
    "f64",
    "function",
    "grad",
    "i16",
    "i32",
    "i64",
    "i8",
    "jvp",
    "kernel",
    "lazy",
    "set_threads",
    "shards",
    "table",
    "threads",
    "u16",
    "u32",
    "u64",
    "u8",
    "value_and_grad",
    "with_threadpoolctl",
]

# Imported where they are used first.
_LAZY = {
    "Shards": "_shards",
    "array": "array",
    "function": "_syntax",
    "kernel": "_syntax",
    "lazy": "_lazy",
    "shards": "_shards",
}

# Modules for packages that may not be there: imported where they are named, and listed nowhere.
_ADAPTERS = ("jax", "torch")


def __getattr__(name: str):
    if name in _ADAPTERS:
        from importlib import import_module

        return import_module(f".{name}", __name__)
    if name in _LAZY:
        from importlib import import_module

        value = import_module(f".{_LAZY[name]}", __name__)
        if name != _LAZY[name]:
            value = getattr(value, name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_LAZY])


# A thread that an interrupted call left behind may be in the compiler, whose memory the end of the process frees.
_atexit.register(_native.settle, 60.0)
