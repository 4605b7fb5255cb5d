"""What derivatives take and give."""

from collections.abc import Iterable
from typing import Any, overload

from ._lazy import Lazy
from ._native import Kernel
from ._syntax import KernelFunction

class Gradient:
    @property
    def text(self) -> str: ...
    @property
    def kernel(self) -> Kernel: ...
    def specialized(self, *operands: Any, **named: Any) -> Gradient: ...
    # By the operands' names; of `value_and_grad` the result, and those.
    def __call__(self, *operands: Any, **named: Any) -> Any: ...

class LazyGradient:
    @property
    def text(self) -> str: ...
    @property
    def kernel(self) -> Kernel: ...
    # In the order of `by`, or that by one array alone; of `value_and_grad` the result, and those.
    def __call__(self, *given: Any) -> Any: ...

@overload
def grad(
    source: Kernel | KernelFunction,
    /,
    of: str | None = None,
    by: str | Iterable[str] = (),
    *,
    seed: str | None = None,
    dense: str | Iterable[str] = (),
) -> Gradient: ...
@overload
def grad(source: Lazy, /, *, by: Any, dense: Iterable[Any] = ()) -> LazyGradient: ...
@overload
def value_and_grad(
    source: Kernel | KernelFunction,
    /,
    of: str | None = None,
    by: str | Iterable[str] = (),
    *,
    seed: str | None = None,
    dense: str | Iterable[str] = (),
) -> Gradient: ...
@overload
def value_and_grad(source: Lazy, /, *, by: Any, dense: Iterable[Any] = ()) -> LazyGradient: ...
@overload
def jvp(source: Kernel | KernelFunction, /, of: str | None = None, by: str | Iterable[str] = ()) -> Gradient: ...
@overload
def jvp(source: Lazy, /, *, by: Any) -> LazyGradient: ...
