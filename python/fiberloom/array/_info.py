"""What the namespace says of itself."""

from __future__ import annotations

from ..errors import Error
from . import _dtypes
from ._creation import on_device
from ._dtypes import _NAMES, isdtype

__all__ = ["__array_namespace_info__"]


class __array_namespace_info__:
    """Capabilities, devices and element types of the namespace."""

    def capabilities(self) -> dict:
        """What it can, by name: indexing by truth values, shapes that depend on data; 128 modes at most."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 128}

    def default_device(self) -> str:
        """The device of all arrays."""
        return "cpu"

    def default_dtypes(self, *, device=None) -> dict:
        """The types of arrays that are made without one."""
        on_device(device)
        return {"real floating": _dtypes.float64, "integral": _dtypes.int64, "indexing": _dtypes.int64}

    def devices(self) -> list[str]:
        """All devices."""
        return ["cpu"]

    def dtypes(self, *, device=None, kind=None) -> dict:
        """Element types by name, of a kind as of `isdtype` or of all."""
        on_device(device)
        types = {name: getattr(_dtypes, name) for name in _NAMES}
        return {name: dtype for name, dtype in types.items() if kind is None or isdtype(dtype, kind)}


def checked_version(api_version) -> None:
    """Refuses versions of the standard that the namespace is not written to."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise Error(f"the namespace is written to version 2024.12 of the array API standard, not to {api_version!r}")
