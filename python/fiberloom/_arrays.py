"""``asarray``: whatever is an array, as a tensor."""

from __future__ import annotations

from typing import Any

from . import _convert, _native
from .errors import OperandError

__all__ = ["asarray"]


def asarray(object: Any, /, format: str | None = None, *, fill: Any = None, copy: bool | None = None) -> _native.Tensor:
    """A tensor of an array, in a format, checked once.

    Parameters
    ----------
    object
        A `Tensor`; a NumPy array; a SciPy sparse matrix or array; a `sparse.COO` or `GCXS`; an object with
        ``__binsparse__``, ``__dlpack__`` or ``__array__``; a number; a list.
    format
        A name (``dense``, ``csr``, ``csc``, ``dcsr``, ``dcsc``, ``coo``, ``csf``, ``sparse``) or levels, as
        ``"{dense, compressed} order(1, 0)"``. If absent, that of the object.
    fill
        The value of what is not stored. Of an object that says none (a SciPy matrix, an array) it *says* it: of a matrix of
        distances, ∞. A tensor that has one keeps what it is at each coordinate, and stores what the new value is not.
    copy
        ``None`` copies what must be: arrays that are misaligned, not contiguous or of foreign bytes, index arrays that could
        not be frozen. ``False`` refuses to; ``True`` copies all.

    Returns
    -------
    Tensor
        It shares the object's arrays where nothing is copied. Its *index arrays are then read-only* (``setflags``) for as
        long as the tensor lives, since they are checked once and believed afterwards; values stay writable, but for truth
        values. Who wrote down a view of the index arrays before and writes through it breaks that: pass ``copy=True`` then.

    Raises
    ------
    OperandError
        If it is no array, of a type that the language has not, malformed, or copied against ``copy=False``.

    Examples
    --------
    >>> fl.asarray(np.eye(3), "csr")
    Tensor(shape=(3, 3), dtype=float64, format=csr, nnz=3, fill_value=0.0)
    """
    tensor = _convert.tensor(object, "object", None, copy)
    if fill is not None and not _convert.says_fill(object):
        tensor, fill = tensor.with_fill(fill), None
    wanted = tensor.format if format is None else format
    other = tensor.to(wanted, fill=fill)
    if other is not tensor and copy is False:
        raise OperandError(f"tensor `object`: it is stored as {tensor.format}, and `copy=False` permits no copy of it")
    if copy and tensor is object and other is tensor:
        return _convert.of_levels(
            tensor.shape, tensor.format, list(tensor.arrays().values()), tensor.fill_value, True, "object"
        )
    return other
