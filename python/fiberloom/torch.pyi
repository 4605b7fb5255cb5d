"""Kernels as functions of PyTorch's tensors: those are `Any` here, so that these stubs need no PyTorch."""

from typing import Any

from ._gradients import Gradient
from ._native import Kernel
from ._syntax import KernelFunction

class Function:
    def gradient(self, *by: str) -> Gradient: ...
    def __call__(self, *operands: Any, **named: Any) -> Any: ...

def function(
    source: Kernel | KernelFunction, /, of: str | None = None, *, patterns: dict[str, Any] | None = None
) -> Function: ...
