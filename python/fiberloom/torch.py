"""Kernels as functions that PyTorch differentiates: ``fl.torch.function(kernel)``.

>>> k = fl.compile("C[i,k] = A[i,j] * X[j,k]", A="f64 csr", X="f64")
>>> layer = fl.torch.function(k, patterns={"A": A})
>>> values, X = torch.tensor(A.data, requires_grad=True), torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
>>> layer(A=values, X=X).sum().backward()
>>> values.grad.shape, X.grad.shape
(torch.Size([4]), torch.Size([3, 2]))

A sparse operand is the vector of the values of its entries, in the order in which they are stored; its pattern is given once. What is dense
is shared with PyTorch: nothing is copied on the way in or out. What is not on the CPU is refused.
"""

from __future__ import annotations

import numpy as np

from ._adapter import Adapted, Differentiable
from .errors import OperandError

try:
    import torch as _torch
    from torch.autograd.function import once_differentiable as _once
except ImportError as e:
    raise ImportError("`fiberloom.torch` needs PyTorch: `pip install torch`") from e

__all__ = ["Function", "function"]


class Function(Adapted):
    """A kernel, called with PyTorch's tensors as `function` says."""

    def _follows(self, operand) -> bool:
        return isinstance(operand, _torch.Tensor)

    def _apply(self, others: dict, names: tuple, tensors: tuple):
        return _Apply.apply(self._of, others, names, *tensors)


class _Apply(_torch.autograd.Function):
    """One call: the tensors among its operands are what autograd follows."""

    @staticmethod
    def forward(ctx, of: Differentiable, others: dict, names: tuple, *tensors):
        ctx.of, ctx.others, ctx.names = of, others, names
        ctx.save_for_backward(*tensors)
        return _torch.from_numpy(_writable(of.value(others | _arrays(names, tensors))))

    @staticmethod
    @_once
    def backward(ctx, seed):
        tensors = ctx.saved_tensors
        needed = ctx.needs_input_grad[3:]
        by = tuple(name for name, wanted in zip(ctx.names, needed, strict=True) if wanted)
        made = iter(ctx.of.pull(ctx.others | _arrays(ctx.names, tensors), _array("the gradient", seed), by))
        return (None, None, None, *(_torch.from_numpy(_writable(next(made))) if wanted else None for wanted in needed))


def _arrays(names: tuple, tensors) -> dict:
    return {name: _array(name, tensor) for name, tensor in zip(names, tensors, strict=True)}


def _array(name: str, tensor) -> np.ndarray:
    """The tensor's memory as an ndarray."""
    if tensor.device.type != "cpu":
        raise OperandError(f"tensor `{name}`: it is on the device {tensor.device}, and kernels run on the CPU: `{name}.cpu()`")
    if tensor.layout != _torch.strided:
        raise OperandError(f"tensor `{name}`: give the values of its entries, and its pattern as a SciPy matrix by `patterns`")
    return tensor.detach().numpy()


def _writable(array) -> np.ndarray:
    """An array that PyTorch may write to."""
    array = np.asarray(array)
    return array if array.flags.writeable else array.copy()


def function(source, /, of: str | None = None, *, patterns: dict | None = None) -> Function:
    """A kernel as a function that PyTorch differentiates, by each operand that is a tensor which requires a gradient.

    Parameters
    ----------
    source
        A kernel, as `compile` makes one, or a Python function that `kernel` decorates.
    of
        The result; unless it is named, the one that a Python function returns, or the last one.
    patterns
        Of each sparse operand, by name, a SciPy matrix or whatever `asarray` takes: where it has entries. Calls give their values, or
        nothing: then they are the pattern's. A sparse result has to have the entries of a pattern, too, and is their values.

    Returns
    -------
    Function
        Called with tensors, arrays and numbers by name, or in the kernel's order, it gives a tensor. It is differentiated once.

    Raises
    ------
    OperandError
        If a tensor is not on the CPU, or is given for a sparse operand without a pattern.
    """
    return Function(source, of, patterns)
