"""Functions whose result has a shape, or an order, that depends on values: masks, ``nonzero``, sorting, sets.

No kernel computes them. Of a dense array they are NumPy's; of a sparse one NumPy works on the stored entries, and the result
is sparse where it is not dense by itself, as the places of a sorted array are. Expressions are computed first.

```text
 place    of an element: how many stand before it in row-major order
 entries  the places and values of what differs from the fill value, in row-major order
```
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import _arrays, _convert
from .._lazy import Lazy, is_lazy, lazy
from .._tensor import Tensor
from ..errors import Error, LimitError
from ._errors import IndicesError
from ._reductions import axis_of

__all__ = ["argsort", "nonzero", "sort", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


class Entries(NamedTuple):
    """The elements of an array that differ from its fill value, in row-major order."""

    places: np.ndarray
    values: np.ndarray


class UniqueAllResult(NamedTuple):
    """What `unique_all` gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """What `unique_counts` gives."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """What `unique_inverse` gives."""

    values: Tensor
    inverse_indices: Tensor


def there(x) -> Tensor:
    """The tensor of an array; an expression is computed."""
    return x.compute() if isinstance(x, Lazy) else _arrays.asarray(x)


def _given(made: np.ndarray | Tensor, *operands):
    """A result as functions of these operands give it."""
    tensor = _arrays.asarray(made)
    return lazy(tensor) if is_lazy(*operands) else tensor


def places_of(coordinates, shape) -> np.ndarray:
    """The place of each element, of its coordinates."""
    if np.prod([float(extent) for extent in shape]) >= 2.0**63:
        raise LimitError(f"an array of shape {tuple(shape)} has more elements than 64 bits count")
    places = np.zeros(len(coordinates[0]), np.int64)
    for coordinate, extent in zip(coordinates, shape, strict=True):
        places = places * extent + coordinate
    return places


def coordinates_of(places: np.ndarray, shape) -> tuple[np.ndarray, ...]:
    """The coordinates of each element, of its place."""
    coordinates = []
    for extent in shape[::-1]:
        places, coordinate = np.divmod(places, max(extent, 1))
        coordinates.append(coordinate)
    return tuple(coordinates[::-1])


def entries_of(x: Tensor) -> Entries:
    """The entries of a sparse tensor."""
    arrays = x.to("coo").arrays()
    places = places_of([arrays[f"crd{level}"] for level in range(x.ndim)], x.shape)
    values, fill = arrays["values"], x.dtype.type(x.fill_value)
    differ = ~((values == fill) | ((values != values) & (fill != fill)))
    return Entries(places[differ], values[differ])


def tensor_of(shape, entries: Entries, fill, format: str | None = None) -> Tensor:
    """The tensor of entries, in a format or as coordinates."""
    index = np.int32 if max(shape) < 2**31 else np.int64
    columns = [column.astype(index) for column in coordinates_of(entries.places, shape)]
    made = _convert.listed(shape, columns, np.ascontiguousarray(entries.values), fill, None, "array")
    return made if format is None else made.to(format)


# ---- masks


class Selected:
    """The elements at which an array of truth values holds, in row-major order.

    Of a sparse array whose fill value is true only those are listed at which it does not hold.
    """

    def __init__(self, mask: Tensor):
        view = mask.dense_view()
        self.size, self.mostly = mask.size, view is None and bool(mask.fill_value)
        self.listed = np.flatnonzero(view) if view is not None else entries_of(mask).places
        self.count = self.size - len(self.listed) if self.mostly else len(self.listed)

    def ranks(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How many selected elements stand before each place, and whether its own is selected."""
        before = np.searchsorted(self.listed, places)
        listed = np.zeros(len(places), np.bool_)
        within = before < len(self.listed)
        listed[within] = self.listed[before[within]] == places[within]
        return (places - before, ~listed) if self.mostly else (before, listed)

    def places(self) -> np.ndarray:
        """The places of all."""
        return np.delete(np.arange(self.size), self.listed) if self.mostly else self.listed


def is_mask(step) -> bool:
    """Whether a place of a key is an array of truth values."""
    if isinstance(step, list):
        step = np.asarray(step)
    return getattr(step, "dtype", None) == np.bool_ and getattr(step, "ndim", 0) > 0


def is_truth(step) -> bool:
    """Whether a place of a key is a truth value: a mask of no modes."""
    return isinstance(step, bool) or getattr(step, "dtype", None) == np.bool_ and getattr(step, "ndim", 1) == 0


def masked(x, mask):
    """The elements of an array at which a mask of its first modes holds: one mode in their place.

    Elements of a sparse array are sparse where each of them is an array, or where the mask holds at what it does not store.
    """
    source, chosen = there(x), there(mask)
    _check_mask(chosen.shape, source.shape, 0)
    selected = Selected(chosen)
    shape = (selected.count, *source.shape[chosen.ndim :])
    view = source.dense_view()
    if view is not None:
        return _given(view[coordinates_of(selected.places(), chosen.shape)], x)
    inner = max(int(np.prod(shape[1:], dtype=np.int64)), 1)
    entries = entries_of(source)
    ranks, inside = selected.ranks(entries.places // inner)
    kept = Entries(ranks[inside] * inner + entries.places[inside] % inner, entries.values[inside])
    format = source.format if len(shape) == source.ndim else None
    if len(shape) == 1:
        format = None if selected.mostly else "dense"
    return _given(tensor_of(shape, kept, source.fill_value, format), x)


def _check_mask(mask, shape, first: int) -> None:
    if tuple(shape[first : first + len(mask)]) != tuple(mask):
        raise IndicesError(f"a mask of shape {tuple(mask)} is none of modes {first}… of an array of shape {tuple(shape)}")


def without_masks(key: tuple, shape) -> tuple:
    """A key in which the places at which a mask holds stand instead of it: an array for each of its modes."""
    if not any(map(is_mask, key)):
        return key
    taken = [there(step) if is_mask(step) else step for step in key]
    modes = [0 if step is None or step is Ellipsis else step.ndim if is_mask(step) else 1 for step in taken]
    made = []
    for n, step in enumerate(taken):
        if not is_mask(step):
            made.append(step)
            continue
        led = any(other is Ellipsis for other in taken[:n])
        _check_mask(step.shape, shape, len(shape) - sum(modes[n:]) if led else sum(modes[:n]))
        made += [_arrays.asarray(places) for places in _nonzero(step)]
    return tuple(made)


def _nonzero(x: Tensor) -> tuple[np.ndarray, ...]:
    if not x.ndim:
        raise Error("`nonzero` takes an array of one mode at least")
    view = x.dense_view()
    if view is None and not x.fill_value:
        entries = entries_of(x)
        return coordinates_of(entries.places, x.shape)
    # Of another fill value nearly all elements are in the result.
    return np.nonzero(x.to_numpy() if view is None else view)


def nonzero(x, /):
    """The coordinates of the elements that are not 0, in row-major order.

    Parameters
    ----------
    x
        An array of one mode at least.

    Returns
    -------
    tuple of Tensor or Lazy
        For each mode an array of ``int64``.
    """
    return tuple(_given(np.ascontiguousarray(places), x) for places in _nonzero(there(x)))


# ---- order


def sort(x, /, *, axis: int = -1, descending: bool = False, stable: bool = True):
    """The elements in order along an axis; NaN last, or first if descending.

    Parameters
    ----------
    x
        An array of one mode at least.
    axis
        The axis.
    descending
        Whether the greatest stand first.
    stable
        Whether equal elements keep their order, which they do.

    Returns
    -------
    Tensor or Lazy
        Sparse of a sparse array: what is less than its fill value stands first, what is greater last.
    """
    source = there(x)
    axis = axis_of(axis, source.ndim)
    view = source.dense_view()
    if view is None:
        return _given(_sorted(source, axis, descending), x)
    made = np.sort(view, axis=axis, kind="stable")
    return _given(np.flip(made, axis) if descending else made, x)


def _sorted(x: Tensor, axis: int, descending: bool) -> Tensor:
    """The entries of each line along an axis in order, those below the fill value at its begin, those above at its end."""
    extent, fill = x.shape[axis], x.dtype.type(x.fill_value)
    inner = max(int(np.prod(x.shape[axis + 1 :], dtype=np.int64)), 1)
    line, _, values = _lines(entries_of(x), extent, inner)
    values = values[np.lexsort((values, line))]
    number = np.arange(len(line))
    below = (values < fill) | ((fill != fill) & (values == values))
    begin, end = np.searchsorted(line, line, "left"), np.searchsorted(line, line, "right")
    at = np.where(below, number - begin, extent - (end - number))
    at = extent - 1 - at if descending else at
    places = (line // inner) * (extent * inner) + at * inner + line % inner
    order = np.argsort(places)
    return tensor_of(x.shape, Entries(places[order], values[order]), x.fill_value, x.format)


def argsort(x, /, *, axis: int = -1, descending: bool = False, stable: bool = True):
    """The places along an axis of the elements in order.

    Parameters
    ----------
    x
        An array of one mode at least.
    axis
        The axis.
    descending
        Whether the greatest stand first.
    stable
        Whether equal elements keep their order, which they do.

    Returns
    -------
    Tensor or Lazy
        Dense, of ``int64``: of a sparse array, too, each element has a place.
    """
    array = there(x).to_numpy()
    axis = axis_of(axis, array.ndim)
    if not descending:
        return _given(np.argsort(array, axis=axis, kind="stable"), x)
    # Of equal elements the first stands first: the last of them, counted from the end.
    backwards = np.argsort(np.flip(array, axis), axis=axis, kind="stable")
    return _given(array.shape[axis] - 1 - np.flip(backwards, axis), x)


class _Lines(NamedTuple):
    """The entries of an array by the lines along an axis: which line each is in, and where in it, both in ascending order."""

    line: np.ndarray
    at: np.ndarray
    values: np.ndarray


def _lines(entries: Entries, extent: int, inner: int) -> _Lines:
    outer, rest = np.divmod(entries.places, max(extent * inner, 1))
    line, at = outer * inner + rest % inner, rest // inner
    order = np.lexsort((at, line))
    return _Lines(line[order], at[order], entries.values[order])


def places_of_extremes(x: Tensor, axis: int | None, greatest: bool) -> np.ndarray:
    """Where the greatest or least elements of a sparse tensor along an axis are, of all if it is ``None``: the first of each.

    The extent along the axis is not 0, and the fill value is a number.
    """
    extent = x.size if axis is None else x.shape[axis]
    inner = 1 if axis is None else max(int(np.prod(x.shape[axis + 1 :], dtype=np.int64)), 1)
    line, at, values = _lines(entries_of(x), extent, inner)
    found = np.zeros(max(x.size // extent, 0), np.int64)
    lines, begins, counts = np.unique(line, return_index=True, return_counts=True)
    # NaN is before all, then what is best; of equal elements the first.
    rank = np.unique(values, return_inverse=True)[1].reshape(-1)
    rank = np.where(values != values, -1, -rank - 1 + len(values) if greatest else rank)
    best = np.lexsort((at, rank, line))[begins]
    value, fill = values[best], x.dtype.type(x.fill_value)
    filled = (counts < extent) & ((fill > value) if greatest else (fill < value))
    # The first place that no entry has: entries before it stand where they are counted.
    moved = at != np.arange(len(at)) - np.repeat(begins, counts)
    gaps = np.add.reduceat(~moved, begins, dtype=np.int64) if len(begins) else counts
    found[lines] = np.where(filled, gaps, at[best])
    return found


# ---- sets


def _unique(x: Tensor) -> tuple[np.ndarray, np.ndarray, Tensor | np.ndarray, np.ndarray]:
    """The values of an array, the place of each one's first element, which of them each element is, and how often."""
    fill = x.dtype.type(x.fill_value)
    if x.dense_view() is not None or fill != fill:
        # Of NaN, each of which is a value of its own, there are as many as elements.
        values, first, inverse, counts = np.unique(x.to_numpy(), True, True, True, equal_nan=False)
        return values, first, inverse.reshape(x.shape), counts
    entries = entries_of(x)
    gaps = x.size - len(entries.values)
    moved = np.flatnonzero(entries.places != np.arange(len(entries.places)))
    gap = moved[0] if len(moved) else len(entries.places)
    listed = np.append(entries.values, fill) if gaps else entries.values
    values, first, inverse, counts = np.unique(listed, True, True, True, equal_nan=False)
    inverse = inverse.reshape(-1)
    of_fill = int(inverse[-1]) if gaps else 0
    if gaps:
        counts[of_fill] = gaps
    each = Entries(entries.places, inverse[: len(entries.places)].astype(np.int64))
    return values, np.append(entries.places, gap)[first], tensor_of(x.shape, each, of_fill, x.format), counts


def unique_all(x, /):
    """The different values of an array in ascending order, and where and how often they are. Each NaN is one.

    Parameters
    ----------
    x
        An array.

    Returns
    -------
    UniqueAllResult
        ``values``; ``indices``, the place of the first element of each in row-major order; ``inverse_indices``, of the shape
        of `x`, which of the values each element is, sparse of a sparse array; ``counts``, how many elements are each.
    """
    return UniqueAllResult(*(_given(part, x) for part in _unique(there(x))))


def unique_counts(x, /):
    """The different values of an array in ascending order, and how many elements are each.

    Parameters
    ----------
    x
        An array.

    Returns
    -------
    UniqueCountsResult
        ``values`` and ``counts``.
    """
    values, _, _, counts = _unique(there(x))
    return UniqueCountsResult(_given(values, x), _given(counts, x))


def unique_inverse(x, /):
    """The different values of an array in ascending order, and which of them each element is.

    Parameters
    ----------
    x
        An array.

    Returns
    -------
    UniqueInverseResult
        ``values``, and ``inverse_indices`` of the shape of `x`, sparse of a sparse array.
    """
    values, _, inverse, _ = _unique(there(x))
    return UniqueInverseResult(_given(values, x), _given(inverse, x))


def unique_values(x, /):
    """The different values of an array in ascending order; each NaN is one.

    Parameters
    ----------
    x
        An array.

    Returns
    -------
    Tensor or Lazy
        Of one mode.
    """
    return _given(_unique(there(x))[0], x)
