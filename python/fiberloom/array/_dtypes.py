"""Element types, and what is said of them."""

from __future__ import annotations

import builtins

import numpy as np

from .._types import DTYPES
from ..errors import OperandError

__all__ = ["can_cast", "finfo", "iinfo", "isdtype", "result_type"]

_NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
for _name, _dtype in zip(_NAMES, DTYPES.values(), strict=True):
    globals()[_name] = _dtype
    __all__.append(_name)

_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "",
    "numeric": "iuf",
}


def _type(object) -> np.dtype:
    return np.dtype(object.dtype if hasattr(object, "dtype") and not isinstance(object, type) else object)


def can_cast(from_, to, /) -> builtins.bool:
    """Whether a type, or that of an array, is promoted to another without loss, as NumPy's rules have it.

    Parameters
    ----------
    from_
        A type, or an array.
    to
        A type.

    Returns
    -------
    bool
    """
    return builtins.bool(np.can_cast(_type(from_), np.dtype(to)))


def result_type(*arrays_and_dtypes) -> np.dtype:
    """The type that arrays, types and numbers are promoted to: NumPy 2's; numbers of Python's are weak.

    Parameters
    ----------
    arrays_and_dtypes
        Arrays, types and numbers.

    Returns
    -------
    numpy.dtype
    """
    taken = [
        o if isinstance(o, (builtins.bool, int, float)) and not isinstance(o, np.generic) else _type(o)
        for o in arrays_and_dtypes
    ]
    return np.result_type(*taken)


def isdtype(dtype, kind) -> builtins.bool:
    """Whether a type is of a kind.

    Parameters
    ----------
    dtype
        The type.
    kind
        A type, one of ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``, ``"real floating"``,
        ``"complex floating"``, ``"numeric"``, or a tuple of these.

    Returns
    -------
    bool
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise OperandError(f"{kind!r} is no kind of element type: {', '.join(_KINDS)}")
        return np.dtype(dtype).kind in _KINDS[kind]
    return np.dtype(dtype) == np.dtype(kind)


class finfo:
    """Limits of a type of floats: `bits`, `eps`, `max`, `min`, `smallest_normal`, `dtype`."""

    def __init__(self, type, /):
        taken = np.finfo(_type(type))
        self.bits, self.dtype = taken.bits, taken.dtype
        self.eps, self.max, self.min = float(taken.eps), float(taken.max), float(taken.min)
        self.smallest_normal = float(taken.smallest_normal)

    def __repr__(self) -> str:
        return f"finfo({self.dtype}: from {self.min} to {self.max}, eps {self.eps})"


class iinfo:
    """Limits of a type of integers: `bits`, `max`, `min`, `dtype`."""

    def __init__(self, type, /):
        taken = np.iinfo(_type(type))
        self.bits, self.max, self.min, self.dtype = taken.bits, int(taken.max), int(taken.min), taken.dtype

    def __repr__(self) -> str:
        return f"iinfo({self.dtype}: from {self.min} to {self.max})"
