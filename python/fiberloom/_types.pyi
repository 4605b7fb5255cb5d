"""Types, and what is known of an operand before there are data."""

from typing import Any, NamedTuple

import numpy as np

class Declared(NamedTuple):
    type: str
    sizes: tuple[str, ...] | None
    format: str | None
    fill: Any

class Type:
    name: str
    dtype: np.dtype[Any]
    # ``f64["I J", "csr"]`` declares a matrix: sizes, then a format and a fill value or none.
    def __getitem__(self, key: str | tuple[str, str] | tuple[str, str, Any]) -> Declared: ...

bool_: Type
i8: Type
i16: Type
i32: Type
i64: Type
u8: Type
u16: Type
u32: Type
u64: Type
f32: Type
f64: Type
