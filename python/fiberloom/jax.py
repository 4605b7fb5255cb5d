"""Kernels as functions that JAX differentiates, compiles around and maps: ``fl.jax.function(kernel)``.

>>> k = fl.compile("C[i,k] = A[i,j] * X[j,k]", A="f64 csr", X="f64")
>>> layer = fl.jax.function(k, patterns={"A": A})
>>> loss = lambda values, X: jnp.sum(layer(A=values, X=X) ** 2)
>>> by_values, by_X = jax.jit(jax.grad(loss, (0, 1)))(A.data, np.ones((3, 2)))
>>> by_values.shape, by_X.shape
((4,), (3, 2))

A sparse operand is the vector of the values of its entries, in the order in which they are stored; its pattern is given once. A kernel is a
callback of what JAX compiles: it runs on the CPU, over the arrays that it is given.
"""

from __future__ import annotations

import numpy as np

from ._adapter import Adapted, Differentiable
from .errors import OperandError

try:
    import jax as _jax
except ImportError as e:
    raise ImportError("`fiberloom.jax` needs JAX: `pip install jax`") from e

__all__ = ["Function", "function"]


class Function(Adapted):
    """A kernel, called with JAX's arrays as `function` says."""

    def __init__(self, source, of, by, patterns):
        super().__init__(source, of, patterns)
        self._by = None if by is None else ({by} if isinstance(by, str) else set(by))

    def _follows(self, operand) -> bool:
        """Arrays of floats, and any of JAX. NumPy's arrays of integers stay as they are, whose type JAX may narrow."""
        if isinstance(operand, (np.ndarray, np.generic)):
            return np.issubdtype(operand.dtype, np.floating)
        return isinstance(operand, _jax.Array)

    def _apply(self, others: dict, names: tuple, arrays: tuple):
        return _applied(self._of, others, names, self._by)(*map(_jax.numpy.asarray, arrays))


def _applied(of: Differentiable, others: dict, names: tuple, asked: set | None):
    """One call as a function of its arrays, with its rule."""

    def value(*arrays):
        named = dict(zip(names, arrays, strict=True))
        shape, dtype = of.shape(others | named)
        if _jax.dtypes.canonicalize_dtype(dtype) != dtype:
            help = '`jax.config.update("jax_enable_x64", True)` permits it, or compile the kernel for f32'
            raise OperandError(f"the result is of {dtype}, which JAX has not as it is set: {help}")
        run = lambda *arrays: of.value(others | _arrays(names, arrays))  # noqa: E731
        return _jax.pure_callback(run, _jax.ShapeDtypeStruct(shape, dtype), *arrays, vmap_method="sequential")

    def forward(*arrays):
        return value(*arrays), arrays

    def backward(arrays, seed):
        is_float = lambda array: np.issubdtype(array.dtype, np.floating)  # noqa: E731
        moves = lambda name, array: is_float(array) and (asked is None or name in asked)  # noqa: E731
        by = tuple(name for name, array in zip(names, arrays, strict=True) if moves(name, array))
        shapes = [_jax.ShapeDtypeStruct(a.shape, a.dtype) for name, a in zip(names, arrays, strict=True) if name in by]

        def run(seed, *arrays):
            return of.pull(others | _arrays(names, arrays), np.asarray(seed), by)

        made = iter(_jax.pure_callback(run, shapes, seed, *arrays, vmap_method="sequential") if by else [])
        return tuple(next(made) if name in by else _nothing(a) for name, a in zip(names, arrays, strict=True))

    rule = _jax.custom_vjp(value)
    rule.defvjp(forward, backward)
    return rule


def _arrays(names: tuple, arrays) -> dict:
    return {name: np.asarray(array) for name, array in zip(names, arrays, strict=True)}


def _nothing(array):
    """What passes no gradient on: zeros, of integers of a type without values."""
    return np.zeros(array.shape, array.dtype if np.issubdtype(array.dtype, np.floating) else _jax.dtypes.float0)


def function(source, /, of: str | None = None, by=None, *, patterns: dict | None = None) -> Function:
    """A kernel as a function that JAX differentiates, in reverse; `jit`, `vmap` and `grad` take it.

    Parameters
    ----------
    source
        A kernel, as `compile` makes one, or a Python function that `kernel` decorates.
    of
        The result; unless it is named, the one that a Python function returns, or the last one.
    by
        Names of the operands that pass gradients on; all arrays of floats, unless it is said.
    patterns
        Of each sparse operand, by name, a SciPy matrix or whatever `asarray` takes: where it has entries. Calls give their values, or
        nothing: then they are the pattern's. A sparse result has to have the entries of a pattern, too, and is their values.

    Returns
    -------
    Function
        Called with arrays and numbers by name, or in the kernel's order, it gives an array. The shape of the result is that for operands
        that are all 0, of which the kernel is run once for each shape.

    Raises
    ------
    OperandError
        If an array is given for a sparse operand without a pattern, or the result is of a type that JAX has not as it is set.
    """
    return Function(source, of, by, patterns)
