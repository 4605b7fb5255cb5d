"""Functions that put arrays one behind the other, and give parts of them other places.

```text
 concat   concat((A[a,j], B[b,j]), (a,b) -> i)        roll     concat((x[a(3:5)], x[b(0:3)]), (a,b) -> i)
 stack    if s == 0 then A[i,j] else B[i,j]           repeat   collapse(x[a], (a,b) -> i)
 flip     Out[4-i] += A[i] of a sparse array whose fill value is 0, else A[4-i]
```
"""

from __future__ import annotations

import operator

import numpy as np

from .._lazy import Lazy, common_type, finished, lazy
from .._program import Index, Names
from ..errors import Error, MismatchError
from ._reductions import axes_of, axis_of
from ._shapes import moved, permuted, reshaped, shape_of

__all__ = ["concat", "flip", "repeat", "roll", "stack", "tile", "unstack"]


def concat(arrays, /, *, axis: int | None = 0):
    """Arrays one behind the other along an axis.

    Parameters
    ----------
    arrays
        Arrays that agree in all other extents.
    axis
        The axis; ``None`` for the elements of all in row-major order.

    Returns
    -------
    Tensor or Lazy
    """
    arrays = tuple(arrays)
    if not arrays:
        raise Error("`concat` takes an array at least")
    parts = [lazy(a) for a in arrays]
    if axis is None:
        parts, axis = [reshaped(p, (p.size,)) for p in parts], 0
    return finished(joined(parts, axis), *arrays)


def joined(parts: list[Lazy], axis: int) -> Lazy:
    """Arrays one behind the other along an axis."""
    first = parts[0]
    axis = axis_of(axis, first.ndim)
    for part in parts:
        if part.ndim != first.ndim or _without(part.shape, axis) != _without(first.shape, axis):
            raise MismatchError(f"`concat` along axis {axis}: shapes {', '.join(str(p.shape) for p in parts)} do not agree")
    common = common_type(*parts)
    parts = [part.astype(common) for part in parts]
    if len(parts) == 1:
        return parts[0]
    total = sum(part.shape[axis] for part in parts)
    fills = {str(part.fill) for part in parts}

    def write(names: Names, at: list[Index]) -> str:
        if names.plain:
            # The first element of a part along the axis: folds around run over more of them than it has.
            some = next((part for part in parts if part.size), parts[0])
            return some.write(names, [*at[:axis], Index(None), *at[axis + 1 :]])
        if not at[axis].is_whole(total):
            return names.hoist(made, at)
        texts, variables = [], []
        for part in parts:
            index = names.index(part.shape[axis])
            with names.inside([index], [at[axis]]):
                text = part.write(names, [*at[:axis], index, *at[axis + 1 :]])
            texts.append(names.bounded([index], text, common, part.fill or 0))
            variables.append(index.var)
        return f"concat(({', '.join(texts)}), ({', '.join(variables)}) -> {at[axis].var})"

    shape = [*first.shape[:axis], total, *first.shape[axis + 1 :]]
    made = Lazy(shape, common, write, parts[0].fill if len(fills) == 1 else None, of=parts)
    return made


def _without(shape, axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def stack(arrays, /, *, axis: int = 0):
    """Arrays along a new axis.

    Parameters
    ----------
    arrays
        Arrays of one shape.
    axis
        Where it stands in the result.

    Returns
    -------
    Tensor or Lazy
    """
    arrays = tuple(arrays)
    if not arrays:
        raise Error("`stack` takes an array at least")
    parts = [lazy(a) for a in arrays]
    shape = parts[0].shape
    if any(part.shape != shape for part in parts):
        raise MismatchError(f"`stack`: shapes {', '.join(str(p.shape) for p in parts)} are not one")
    axis = axis_of(axis, len(shape) + 1)
    if len(parts) <= _FEW or not shape:
        return finished(_listed(parts, axis), *arrays)
    # One behind the other along the first mode, which is then split into the new one and itself.
    split = reshaped(joined(parts, 0), (len(parts), *shape))
    order = list(range(1, len(shape) + 1))
    order.insert(axis, 0)
    return finished(permuted(split, order), *arrays)


#: As many arrays are told apart at each element; of more, they stand one behind the other, and that is split.
_FEW = 8


def _listed(parts: list[Lazy], axis: int) -> Lazy:
    """Arrays along a new axis, each element one of theirs by its place."""
    common = common_type(*parts)
    parts = [part.astype(common) for part in parts]

    def write(names: Names, at: list[Index]) -> str:
        place, own = at[axis].value(), [*at[:axis], *at[axis + 1 :]]
        text = parts[-1].write(names, own)
        for n in range(len(parts) - 2, -1, -1):
            text = f"(if {place} == {n} then {parts[n].write(names, own)} else {text})"
        return text

    shape = [*parts[0].shape[:axis], len(parts), *parts[0].shape[axis:]]
    return Lazy(shape, common, write, of=parts)


def unstack(x, /, *, axis: int = 0):
    """The parts of an array along an axis, which they have not.

    Parameters
    ----------
    x
        An array of one mode at least.
    axis
        The axis.

    Returns
    -------
    tuple of Tensor or Lazy
    """
    source = lazy(x)
    axis = axis_of(axis, source.ndim)
    from ._indexing import item

    return tuple(item(x, (*[slice(None)] * axis, n)) for n in range(source.shape[axis]))


def flip(x, /, *, axis=None):
    """The elements along some axes, or all, in the opposite order.

    Parameters
    ----------
    x
        An array.
    axis
        An axis, or several; ``None`` for all.

    Returns
    -------
    Tensor or Lazy
    """
    source = lazy(x)
    axes = axes_of(axis, source.ndim)

    return finished(flipped(source, axes), x)


def flipped(source: Lazy, axes: list[int]) -> Lazy:
    """The elements along some axes in the opposite order.

    Entries of a sparse array whose fill value is 0 are moved, unless the axis alone is that of its rows, which are found by number.
    """
    if not axes:
        return source

    def opposite(at: list[Index]):
        return [index.along(source.shape[n] - 1, -1) if n in axes else index for n, index in enumerate(at)]

    if not source.sparse or source.background() != 0 or axes == source.rows:
        return moved(source, source.shape, opposite)
    text = lambda names, at: names.hoist(made, at)  # noqa: E731
    made = Lazy(source.shape, source.dtype, text, 0, of=(source,), scatter=(source, opposite))
    return made


def part(source: Lazy, axis: int, start: int, stop: int) -> Lazy:
    """The elements between two places along an axis."""
    shape = [*source.shape[:axis], stop - start, *source.shape[axis + 1 :]]

    def indices(at: list[Index]):
        return [*at[:axis], at[axis].along(start, 1), *at[axis + 1 :]]

    return moved(source, shape, indices)


def roll(x, /, shift, *, axis=None):
    """The elements moved along axes; those that leave at one end come in at the other.

    Parameters
    ----------
    x
        An array.
    shift
        By how many places; of several axes one for each, or one for all.
    axis
        An axis, or several; ``None`` moves the elements in row-major order.

    Returns
    -------
    Tensor or Lazy
    """
    source = lazy(x)
    if axis is None:
        if isinstance(shift, (tuple, list)):
            raise Error("`roll` by several places takes as many axes")
        flat = _rolled(reshaped(source, (source.size,)), operator.index(shift), 0)
        return finished(reshaped(flat, source.shape), x)
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    shifts = list(shift) if isinstance(shift, (tuple, list)) else [shift] * len(axes)
    if len(shifts) != len(axes):
        raise Error(f"`roll` has {len(shifts)} shifts and {len(axes)} axes")
    made = source
    for a, by in zip(axes, shifts, strict=True):
        made = _rolled(made, operator.index(by), axis_of(a, source.ndim))
    return finished(made, x)


def _rolled(source: Lazy, shift: int, axis: int) -> Lazy:
    extent = source.shape[axis]
    by = shift % extent if extent else 0
    if not by:
        return source
    return joined([part(source, axis, extent - by, extent), part(source, axis, 0, extent - by)], axis)


def repeat(x, repeats, /, *, axis: int | None = None):
    """Each element several times.

    Parameters
    ----------
    x
        An array.
    repeats
        How often: a number, or one for each element along the axis, which is read here: the shape depends on them.
    axis
        The axis; ``None`` for the elements in row-major order.

    Returns
    -------
    Tensor or Lazy
    """
    source = lazy(x)
    if axis is None:
        source, axis = reshaped(source, (source.size,)), 0
    axis = axis_of(axis, source.ndim)
    if not isinstance(repeats, (int, np.integer)):
        from ._indexing import gathered

        places = _repeated(repeats, source.shape[axis])
        return finished(gathered(source, [*[slice(None)] * axis, places, *[slice(None)] * (source.ndim - axis - 1)]), x)
    if repeats < 0:
        raise Error(f"`repeat` by {repeats}: a number of times is not negative")
    if repeats == 0:
        return finished(part(source, axis, 0, 0), x)
    return finished(_copies(source, axis, int(repeats), axis + 1), x)


def _repeated(repeats, extent: int) -> Lazy:
    """The place of each element, as often as is said of it."""
    if isinstance(repeats, Lazy):
        raise Error("`repeat` takes numbers of times that are there: the shape depends on them")
    times = np.asarray(repeats.to_numpy() if hasattr(repeats, "to_numpy") else repeats)
    if times.ndim > 1 or times.dtype.kind not in "iu" or (times.size not in (1, extent)) or (times < 0).any():
        raise Error(f"`repeat` takes a number of times for each of {extent} elements, none of them negative")
    return lazy(np.repeat(np.arange(extent), times))


def tile(x, repetitions, /):
    """The array several times along each mode.

    Parameters
    ----------
    x
        An array.
    repetitions
        How often, of each mode; those of modes that the array has not stand first.

    Returns
    -------
    Tensor or Lazy
    """
    source = lazy(x)
    times = list(shape_of(repetitions))
    times = [1] * (source.ndim - len(times)) + times
    if any(n < 0 for n in times):
        raise Error(f"`tile` by {tuple(times)}: a number of times is not negative")
    made = reshaped(source, (1,) * (len(times) - source.ndim) + source.shape)
    for axis, n in enumerate(times):
        if n == 0:
            made = part(made, axis, 0, 0)
        elif n > 1:
            made = _copies(made, axis, n, axis)
    return finished(made, x)


def _copies(source: Lazy, axis: int, times: int, place: int) -> Lazy:
    """The elements several times along a new mode at a place, before the axis or behind it, which is then one with it."""
    shape = source.shape
    wide = moved(source, [*shape[:place], times, *shape[place:]], lambda at: [*at[:place], *at[place + 1 :]])
    return reshaped(wide, [*shape[:axis], times * shape[axis], *shape[axis + 1 :]])
