"""Expressions: what `lazy` takes and gives."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Self, overload

from numpy.typing import DTypeLike

from ._native import Tensor, _Array

class Lazy(_Array):
    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        write: Callable[..., str],
        fill: Any = None,
        *,
        of: Any = (),
        **how: Any,
    ) -> None: ...
    @staticmethod
    def of(
        shape: tuple[int, ...], dtype: DTypeLike, write: Callable[..., str], *operands: Lazy, fill: Any = None
    ) -> Lazy: ...
    def program(self, out: str | None = None) -> tuple[str, dict[str, Any]]: ...
    def compute(self, *, out: str | None = None, options: dict[str, Any] | None = None) -> Tensor: ...
    def show(self, stage: str = "loops") -> str: ...
    def map(self, function: str, *others: Any, dtype: DTypeLike | None = None) -> Lazy: ...
    def permute(self, *axes: int) -> Self: ...

@overload
def lazy() -> AbstractContextManager[Any, None]: ...
@overload
def lazy(array: Any, /) -> Lazy: ...
