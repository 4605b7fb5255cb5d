"""Kernels as functions of JAX's arrays: those are `Any` here, so that these stubs need no JAX."""

from collections.abc import Iterable
from typing import Any

from ._gradients import Gradient
from ._native import Kernel
from ._syntax import KernelFunction

class Function:
    def gradient(self, *by: str) -> Gradient: ...
    def __call__(self, *operands: Any, **named: Any) -> Any: ...

def function(
    source: Kernel | KernelFunction,
    /,
    of: str | None = None,
    by: str | Iterable[str] | None = None,
    *,
    patterns: dict[str, Any] | None = None,
) -> Function: ...
