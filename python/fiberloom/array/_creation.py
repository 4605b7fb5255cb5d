"""Arrays that are made of nothing: their values are NumPy's, over whose memory they stand. ``eye`` is sparse."""

from __future__ import annotations

import operator

import numpy as np

from .. import _arrays, _convert
from .._lazy import Lazy, lazy
from .._tensor import Tensor
from .._types import type_of
from ..errors import Error, OperandError

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


def on_device(device) -> None:
    """Refuses devices that are none."""
    if device not in (None, "cpu"):
        raise Error(f"there is no device {device!r}: `cpu` is the one")


def known(dtype) -> np.dtype:
    """An element type that the language has; ``None`` is ``float64``."""
    taken = np.dtype(np.float64 if dtype is None else dtype)
    if type_of(taken) is None:
        raise OperandError(f"dtype {taken} is not one that the language has")
    return taken


def _made(array: np.ndarray) -> Tensor:
    return _arrays.asarray(array)


def _numpys(make, *given, **named) -> Tensor:
    """A tensor of what a function of NumPy's makes, which refuses extents and numbers."""
    try:
        array = make(*given, **named)
    except (ValueError, ZeroDivisionError) as e:
        raise Error(f"`{make.__name__}`: {e}") from None
    return _made(array)


def asarray(obj, /, *, dtype=None, device=None, copy: bool | None = None):
    """A tensor of an array, a number, or lists of numbers.

    Parameters
    ----------
    obj
        Whatever `fiberloom.asarray` takes: sparse arrays stay sparse.
    dtype
        The type of the elements; if absent, that of `obj`.
    device
        ``None`` or ``"cpu"``.
    copy
        As of `fiberloom.asarray`.

    Returns
    -------
    Tensor
    """
    on_device(device)
    if isinstance(obj, Lazy):
        return obj.astype(obj.dtype if dtype is None else dtype)
    if isinstance(obj, (bool, int, float, complex, list, tuple)):
        if copy is False:
            raise Error(f"`copy=False`: a {type(obj).__name__} is no array")
        return _made(_of_numbers(obj, dtype))
    made = _arrays.asarray(obj, copy=copy)
    if dtype is None or made.dtype == np.dtype(dtype):
        return made
    if copy is False:
        raise Error(f"`copy=False`: an array of {made.dtype} is not {np.dtype(dtype)} without a copy")
    from ._elementwise import astype

    return astype(made, known(dtype))


def _of_numbers(obj, dtype) -> np.ndarray:
    try:
        array = np.asarray(obj, dtype=None if dtype is None else known(dtype))
    except (ValueError, TypeError, OverflowError) as e:
        raise OperandError(str(e)) from None
    known(array.dtype)
    return array


def from_dlpack(x, /, *, device=None, copy: bool | None = None):
    """A tensor over the memory of whatever has ``__dlpack__``.

    Parameters
    ----------
    x
        What has ``__dlpack__``.
    device
        ``None`` or ``"cpu"``.
    copy
        As of `fiberloom.asarray`.

    Returns
    -------
    Tensor
    """
    on_device(device)
    if isinstance(x, Tensor):
        return _arrays.asarray(x, copy=copy)
    return _made(np.from_dlpack(x, copy=copy) if copy is not None else np.from_dlpack(x))


def empty(shape, *, dtype=None, device=None):
    """A dense array; what its elements are is not said (here 0).

    Parameters
    ----------
    shape
        Extents, or one.
    dtype
        The type of the elements; if absent, ``float64``.
    device
        ``None`` or ``"cpu"``.

    Returns
    -------
    Tensor
    """
    return zeros(shape, dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """A dense array of the shape and type of another.

    Parameters
    ----------
    x
        An array.
    dtype
        The type; if absent, that of `x`.
    device
        ``None`` or ``"cpu"``.

    Returns
    -------
    Tensor
    """
    return zeros_like(x, dtype=dtype, device=device)


def zeros(shape, *, dtype=None, device=None):
    """A dense array of zeros.

    Parameters
    ----------
    shape
        Extents, or one.
    dtype
        The type of the elements; if absent, ``float64``.
    device
        ``None`` or ``"cpu"``.

    Returns
    -------
    Tensor
    """
    on_device(device)
    return _numpys(np.zeros, shape, known(dtype))


def zeros_like(x, /, *, dtype=None, device=None):
    """A dense array of zeros, of the shape and type of another.

    Parameters
    ----------
    x
        An array.
    dtype
        The type; if absent, that of `x`.
    device
        ``None`` or ``"cpu"``.

    Returns
    -------
    Tensor
    """
    return zeros(lazy(x).shape, dtype=dtype or lazy(x).dtype, device=device)


def ones(shape, *, dtype=None, device=None):
    """A dense array of ones.

    Parameters
    ----------
    shape
        Extents, or one.
    dtype
        The type of the elements; if absent, ``float64``.
    device
        ``None`` or ``"cpu"``.

    Returns
    -------
    Tensor
    """
    on_device(device)
    return _numpys(np.ones, shape, known(dtype))


def ones_like(x, /, *, dtype=None, device=None):
    """A dense array of ones, of the shape and type of another.

    Parameters
    ----------
    x
        An array.
    dtype
        The type; if absent, that of `x`.
    device
        ``None`` or ``"cpu"``.

    Returns
    -------
    Tensor
    """
    return ones(lazy(x).shape, dtype=dtype or lazy(x).dtype, device=device)


def full(shape, fill_value, *, dtype=None, device=None):
    """A dense array of one value.

    Parameters
    ----------
    shape
        Extents, or one.
    fill_value
        The value.
    dtype
        The type; if absent, that of the value: ``bool``, ``int64`` or ``float64``.
    device
        ``None`` or ``"cpu"``.

    Returns
    -------
    Tensor
    """
    on_device(device)
    kind = np.asarray(fill_value).dtype if dtype is None else dtype
    try:
        return _numpys(np.full, shape, fill_value, known(kind))
    except OverflowError as e:
        raise OperandError(f"{fill_value} is no {np.dtype(kind)}: {e}") from None


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """A dense array of one value, of the shape and type of another.

    Parameters
    ----------
    x
        An array.
    fill_value
        The value.
    dtype
        The type; if absent, that of `x`.
    device
        ``None`` or ``"cpu"``.

    Returns
    -------
    Tensor
    """
    return full(lazy(x).shape, fill_value, dtype=dtype or lazy(x).dtype, device=device)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype=None, device=None):
    """A matrix with ones on a diagonal, stored as ``csr``: of what it holds only the ones.

    Parameters
    ----------
    n_rows, n_cols
        Extents; the second is the first if absent.
    k
        The diagonal: 0 is the main one, those above it are positive.
    dtype, device
        As of `full`.

    Returns
    -------
    Tensor
    """
    on_device(device)
    rows = operator.index(n_rows)
    columns = rows if n_cols is None else operator.index(n_cols)
    if min(rows, columns) < 0:
        raise Error(f"`eye` of {rows} rows and {columns} columns: extents are not negative")
    first, last = max(0, -k), min(rows, columns - k)
    number = max(0, last - first)
    positions = np.clip(np.arange(rows + 1) - first, 0, number)
    entries = np.arange(first, first + number) + k
    index = np.int32 if max(rows, columns) < 2**31 else np.int64
    arrays = [positions.astype(index), entries.astype(index), np.ones(number, known(dtype))]
    return _convert.of_levels((rows, columns), "csr", arrays, None)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Numbers from `start` to `stop`, without it, in steps.

    Parameters
    ----------
    start, stop, step
        Numbers; a first one alone is `stop`, and `start` 0.
    dtype, device
        As of `full`.

    Returns
    -------
    Tensor
    """
    on_device(device)
    begin, end = (0, start) if stop is None else (start, stop)
    return _numpys(np.arange, begin, end, step, None if dtype is None else known(dtype))


def linspace(start, stop, /, num: int, *, dtype=None, device=None, endpoint: bool = True):
    """Numbers at equal distances.

    Parameters
    ----------
    start, stop
        The first, and the last if `endpoint`.
    num
        How many.
    dtype
        The type of the elements; if absent, ``float64``.
    device
        ``None`` or ``"cpu"``.
    endpoint
        Whether `stop` is the last.

    Returns
    -------
    Tensor
    """
    on_device(device)
    return _numpys(np.linspace, start, stop, num, endpoint=endpoint, dtype=known(dtype))


def meshgrid(*arrays, indexing: str = "xy"):
    """Coordinates of a grid, of the coordinates along each of its axes.

    Parameters
    ----------
    arrays
        Arrays of one mode, of one type.
    indexing
        ``"xy"``, where the second array goes along the first axis, or ``"ij"``.

    Returns
    -------
    list of Tensor or Lazy
    """
    from ._shapes import broadcast_arrays, expand_dims, permute_dims

    if indexing not in ("xy", "ij"):
        raise Error(f"`meshgrid`: indexing is `xy` or `ij`, not {indexing!r}")
    rank = len(arrays)
    taken = [lazy(a) for a in arrays]
    if any(a.ndim != 1 for a in taken):
        raise Error("`meshgrid` takes arrays of one mode")
    wide = [expand_dims(a, axis=tuple(m for m in range(rank) if m != n)) if rank > 1 else a for n, a in enumerate(taken)]
    if indexing == "xy" and rank > 1:
        wide = [permute_dims(a, (1, 0, *range(2, rank))) for a in wide]
    from .._lazy import finished

    return [finished(a, *arrays) for a in broadcast_arrays(*wide)]
