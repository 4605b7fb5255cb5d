"""The language's types, and what is known of an operand before there are data.

``f64["I J", "csr"]`` declares a matrix of two sizes; ``f64["I J", "csr", float("inf")]`` one whose fill value is ∞.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

__all__ = ["DTYPES", "Declared", "Type", "declared", "literal", "type_of"]


class Declared(NamedTuple):
    """What a program may know of a tensor: `sizes` is ``None`` where they are not said."""

    type: str
    sizes: tuple[str, ...] | None
    format: str | None
    fill: object

    def text(self, name: str) -> str:
        """The declaration as the language writes it."""
        fill = "" if self.fill is None else f" fill {literal(self.fill)}"
        return f"tensor {name}: {self.type}[{', '.join(self.sizes or ())}]{fill} {self.format or 'dense'}"


class Type:
    """An element type of the language; subscripted, a declaration for :func:`fiberloom.kernel`."""

    def __init__(self, name: str, dtype):
        self.name, self.dtype = name, np.dtype(dtype)

    def __repr__(self) -> str:
        return f"fiberloom.{self.name}"

    def __getitem__(self, key) -> Declared:
        sizes, format, fill = (key if isinstance(key, tuple) else (key,)) + (None,) * (3 - _length(key))
        return Declared(self.name, tuple(sizes.replace(",", " ").split()), format, fill)


def _length(key) -> int:
    return len(key) if isinstance(key, tuple) else 1


bool_ = Type("bool", np.bool_)
i8, i16, i32, i64 = Type("i8", np.int8), Type("i16", np.int16), Type("i32", np.int32), Type("i64", np.int64)
u8, u16, u32, u64 = Type("u8", np.uint8), Type("u16", np.uint16), Type("u32", np.uint32), Type("u64", np.uint64)
f32, f64 = Type("f32", np.float32), Type("f64", np.float64)

_ALL = [bool_, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64]

#: NumPy's element type of each of the language's.
DTYPES = {ty.name: ty.dtype for ty in _ALL}

_TYPES = {ty.dtype: ty.name for ty in _ALL}


def type_of(dtype) -> str | None:
    """The name of the language's type of a NumPy element type, if it has it."""
    return _TYPES.get(np.dtype(dtype).newbyteorder("="))


def literal(value) -> str:
    """A number as the language writes it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    value = float(value)
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return repr(value)


_FILL = re.compile(r"\bfill\s+(\S+)")


def declared(text: str) -> Declared:
    """Reads ``"f64 csr fill inf"``: a type, then a format and a fill value or none."""
    fill = _FILL.search(text)
    rest = (text[: fill.start()] + text[fill.end() :] if fill else text).strip()
    name, _, format = rest.partition(" ")
    if name not in DTYPES:
        raise ValueError(f"`{text}`: a type of the language expected, then a format and a fill: {', '.join(DTYPES)}")
    value = None
    if fill:
        word = fill.group(1)
        value = {"true": True, "false": False}.get(word)
        if value is None:
            value = int(word) if re.fullmatch(r"-?\d+", word) else float(word)
    return Declared(name, None, format.strip() or None, value)
