"""The errors that are the namespace's own."""

from __future__ import annotations

from ..errors import Error

__all__ = ["IndicesError"]


class IndicesError(Error, IndexError):
    """Indices that an array has not, or that are none."""


IndicesError.__module__ = "fiberloom.array"
