"""Functions of the standard that are not there: each says so, and what to do instead."""

from __future__ import annotations

from ..errors import Error

__all__ = ["IndicesError", "MissingError"]


class MissingError(Error, NotImplementedError):
    """A function of the array API standard that the language cannot express."""


class IndicesError(Error, IndexError):
    """Indices that an array has not, or that are none."""


MissingError.__module__ = IndicesError.__module__ = "fiberloom.array"

_SORTED = "order is nothing a kernel computes: sort `x.to_numpy()`"
_UNIQUE = "how many elements it has depends on data: `np.unique(x.to_numpy())`, or the index arrays `x.arrays()`"
_MISSING = {
    "argsort": _SORTED,
    "sort": _SORTED,
    "nonzero": "its shape depends on data: of a sparse tensor `x.to('coo').arrays()` holds the coordinates",
    "unique_all": _UNIQUE,
    "unique_counts": _UNIQUE,
    "unique_inverse": _UNIQUE,
    "unique_values": _UNIQUE,
    "conj": "the language has no complex numbers: of real ones it is the array itself",
}


def _stub(name: str, instead: str):
    if name.endswith("sort"):

        def function(x, /, *, axis: int = -1, descending: bool = False, stable: bool = True):
            raise MissingError(f"`{name}` is not there: {instead}")
    else:

        def function(x, /):
            raise MissingError(f"`{name}` is not there: {instead}")

    function.__name__ = function.__qualname__ = name
    function.__module__ = "fiberloom.array"
    function.__doc__ = f"Is not there: raises `MissingError`. Instead: {instead}."
    return function


for _name, _instead in _MISSING.items():
    globals()[_name] = _stub(_name, _instead)
    __all__.append(_name)
