"""Programs and NumPy's spelling: what `einsum` takes and gives."""

from typing import Any, TypeVar, overload

import numpy as np

from ._native import Tensor

_Into = TypeVar("_Into", bound=np.ndarray[Any, Any])

@overload
def einsum(
    spec: str, /, *operands: Any, out: str | None = None, options: dict[str, Any] | None = None, **named: Any
) -> Tensor: ...
@overload
def einsum(spec: str, /, *operands: Any, out: _Into, options: dict[str, Any] | None = None, **named: Any) -> _Into: ...
