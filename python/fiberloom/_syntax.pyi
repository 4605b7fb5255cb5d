"""What the decorators `kernel` and `function` take and give."""

from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

from numpy.typing import NDArray

from ._native import Bind, Kernel
from ._types import Type
from .errors import Error

_P = ParamSpec("_P")
_R = TypeVar("_R")

class Function(Generic[_P, _R]):
    name: str
    def __call__(self, *arguments: _P.args, **named: _P.kwargs) -> _R: ...

class KernelFunction:
    parameters: list[str]
    @property
    def text(self) -> str: ...
    # Operands in order or by name; its result, or several by name.
    def __call__(self, *operands: Any, out: dict[str, NDArray[Any]] | None = None, **named: Any) -> Any: ...
    def specialized(self, *operands: Any, **named: Any) -> Kernel: ...
    def redrawn(self, error: Error) -> Error: ...
    # Of a kernel whose operands are all declared.
    def bind(self, **operands: Any) -> Bind: ...
    def show(self, stage: str = "loops") -> str: ...
    def explain(self) -> str: ...
    def check(self, **operands: Any) -> dict[str, int]: ...
    def time(self, *, seconds: float = 0.2, **operands: Any) -> dict[str, Any]: ...
    @property
    def inputs(self) -> list[tuple[str, str, str, int, bool]]: ...
    @property
    def results(self) -> list[tuple[str, str, str]]: ...

@overload
def kernel(python: Callable[..., Any], /) -> KernelFunction: ...
@overload
def kernel(
    *, out: dict[str, str] | None = None, options: dict[str, Any] | None = None
) -> Callable[[Callable[..., Any]], KernelFunction]: ...
@overload
def function(python: Callable[_P, _R], /) -> Function[_P, _R]: ...
@overload
def function(
    *,
    type: Type | None = None,
    commutative: bool = False,
    associative: bool = False,
    idempotent: bool = False,
    identity: Any = None,
    annihilator: Any = None,
    iterate: str | None = None,
) -> Callable[[Callable[_P, _R]], Function[_P, _R]]: ...
