"""Functions that move elements: each is a map of indices.

```text
 permute_dims   A[k, i]             broadcast_to   x[0, j]            flip    A[4-i]
 reshape        split(collapse(A[i,j], (i,j) -> m), m -> (k,l))       roll    concat((x[a(3:5)], x[b(0:3)]), (a,b) -> i)
```
"""

from __future__ import annotations

import operator

import numpy as np

from .._lazy import Lazy, aligned, broadcast, common_type, finished, is_lazy, lazy
from .._program import Index, Names
from ..errors import Error, MismatchError, OperandError
from ._reductions import axes_of, axis_of

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "tril",
    "triu",
    "unstack",
]


def moved(source: Lazy, shape, indices) -> Lazy:
    """The elements of an array at other places: `indices` gives, of the result's indices, the array's.

    An index for which there is no text (``None``) has the array computed before.
    """

    def write(names: Names, at: list[Index]) -> str:
        own = indices(at)
        if all(index is not None for index in own):
            return source.write(names, own)
        return names.hoist(Lazy(shape, source.dtype, write), at)

    return Lazy(shape, source.dtype, write, source.fill, source.sparse)


def shape_of(shape) -> tuple[int, ...]:
    """The extents of an argument: a number or several."""
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        return tuple(operator.index(n) for n in extents)
    except TypeError as e:
        raise OperandError(f"a shape has whole numbers: {e}") from None


def permuted(source: Lazy, axes) -> Lazy:
    """Mode `k` of the result is mode ``axes[k]``."""
    axes = tuple(axis_of(a, source.ndim) for a in axes)
    if sorted(axes) != list(range(source.ndim)):
        raise Error(f"{axes} is no permutation of {source.ndim} axes")
    place = [axes.index(n) for n in range(source.ndim)]
    return moved(source, [source.shape[a] for a in axes], lambda at: [at[p] for p in place])


def permute_dims(x, /, axes):
    """The modes in another order: mode `k` of the result is mode ``axes[k]``.

    Parameters
    ----------
    x
        An array.
    axes
        Each axis once.

    Returns
    -------
    Tensor or Lazy
        Of a `Tensor` one over the same arrays: nothing is computed.
    """
    source = lazy(x)
    made = permuted(source, axes)
    if not is_lazy(x) and hasattr(x, "permuted"):
        return x.permuted([axis_of(a, x.ndim) for a in axes])
    return finished(made, x)


def moveaxis(x, source, destination, /):
    """The axes at `source` moved to `destination`; the others stay in order.

    Parameters
    ----------
    x
        An array.
    source, destination
        An axis, or as many of the one as of the other.

    Returns
    -------
    Tensor or Lazy
    """
    rank = lazy(x).ndim
    places = [list(a) if isinstance(a, (tuple, list)) else [a] for a in (source, destination)]
    begin, end = ([axis_of(a, rank) for a in axes] for axes in places)
    if len(begin) != len(end) or len(set(begin)) != len(begin) or len(set(end)) != len(end):
        raise Error(f"axes {tuple(begin)} cannot be moved to {tuple(end)}: as many, each once")
    order = [a for a in range(rank) if a not in begin]
    for to, of in sorted(zip(end, begin, strict=True)):
        order.insert(to, of)
    return permute_dims(x, tuple(order))


def matrix_transpose(x, /):
    """The last two modes exchanged.

    Parameters
    ----------
    x
        An array of two modes at least.

    Returns
    -------
    Tensor or Lazy
    """
    rank = lazy(x).ndim
    if rank < 2:
        raise Error(f"`matrix_transpose` takes two modes at least, not {rank}")
    return permute_dims(x, (*range(rank - 2), rank - 1, rank - 2))


def expand_dims(x, /, axis):
    """A mode of extent 1 more, or several.

    Parameters
    ----------
    x
        An array.
    axis
        Where it stands in the result, or where they do.

    Returns
    -------
    Tensor or Lazy
    """
    source = lazy(x)
    number = len(axis) if isinstance(axis, (tuple, list)) else 1
    axes = axes_of(axis, source.ndim + number)
    rest = iter(source.shape)
    shape = [1 if n in axes else next(rest) for n in range(source.ndim + number)]
    made = moved(source, shape, lambda at: [index for n, index in enumerate(at) if n not in axes])
    return finished(made, x)


def squeeze(x, /, axis):
    """Without some modes of extent 1.

    Parameters
    ----------
    x
        An array.
    axis
        An axis, or several, all of extent 1.

    Returns
    -------
    Tensor or Lazy
    """
    source = lazy(x)
    axes = axes_of(axis, source.ndim)
    for a in axes:
        if source.shape[a] != 1:
            raise Error(f"axis {a} has extent {source.shape[a]}: only one of extent 1 is left out")
    shape = [extent for n, extent in enumerate(source.shape) if n not in axes]

    def indices(at: list[Index]) -> list[Index]:
        rest = iter(at)
        return [Index(None) if n in axes else next(rest) for n in range(source.ndim)]

    return finished(moved(source, shape, indices), x)


def broadcast_shapes(*shapes):
    """The shape against which all of these are broadcast. Raises `MismatchError` if there is none."""
    return broadcast(*shapes)


def _broadcast(source: Lazy, shape) -> Lazy:
    if source.shape == shape:
        return source
    if broadcast(source.shape, shape) != shape:
        raise MismatchError(f"shape {source.shape} is not broadcast to {shape}")
    return moved(source, shape, lambda at: aligned(source.shape, shape, at))


def broadcast_to(x, /, shape):
    """The array repeated along modes that it has not, or of which it has one.

    Parameters
    ----------
    x
        An array.
    shape
        Of the result.

    Returns
    -------
    Tensor or Lazy
    """
    return finished(_broadcast(lazy(x), shape_of(shape)), x)


def broadcast_arrays(*arrays):
    """The arrays, each broadcast to their common shape.

    Returns
    -------
    list of Tensor or Lazy
    """
    shape = broadcast(*(lazy(a).shape for a in arrays))
    return [finished(_broadcast(lazy(a), shape), *arrays) for a in arrays]


def reshaped(source: Lazy, shape) -> Lazy:
    """The elements in row-major order, in another shape."""
    shape = _resolved(source, shape)
    if shape == source.shape:
        return source
    groups = _groups(source.shape, shape)

    def write(names: Names, at: list[Index]) -> str:
        if names.plain:
            return source.write(names, [Index(None)] * source.ndim)
        if not all(index.is_whole(extent) or extent == 1 for index, extent in zip(at, shape, strict=True)):
            return names.hoist(made, at)
        own: list[Index] = [Index(None)] * source.ndim
        maps: list = []
        bound: list[Index] = []
        for ours, theirs in groups:
            if len(ours) == 1 == len(theirs):
                own[ours[0]] = at[theirs[0]]
                continue
            for n in ours:
                own[n] = names.index(source.shape[n])
                bound.append(own[n])
            maps.append(([own[n].var for n in ours], [at[n].var for n in theirs]))
        text = names.bounded(bound, source.write(names, own), source.dtype, source.fill or 0)
        for inner, outer in maps:
            text = _remapped(names, text, inner, outer)
        return text

    made = Lazy(shape, source.dtype, write, source.fill, source.sparse)
    return made


def _remapped(names: Names, text: str, inner: list[str], outer: list[str]) -> str:
    """The text with some index variables made one, and that made others."""
    if len(inner) == 1 and len(outer) == 1:
        raise AssertionError("a mode that stays is no group")
    flat = inner[0] if len(inner) == 1 else outer[0] if len(outer) == 1 else names.index(0).var
    if len(inner) > 1:
        text = f"collapse({text}, ({', '.join(inner)}) -> {flat})"
        if flat == outer[0]:
            names.given.add(flat)
    return text if len(outer) == 1 else f"split({text}, {flat} -> ({', '.join(outer)}))"


def _resolved(source: Lazy, shape) -> tuple[int, ...]:
    """The shape, in which one extent may be -1: what is left."""
    extents = list(shape_of(shape))
    unknown = [n for n, extent in enumerate(extents) if extent == -1]
    known = 1
    for extent in extents:
        known *= 1 if extent == -1 else extent
    if len(unknown) == 1 and known > 0 and source.size % known == 0:
        extents[unknown[0]] = source.size // known
        known = source.size
    if len(unknown) > 1 or any(extent < 0 for extent in extents) or known != source.size:
        raise MismatchError(f"shape {source.shape} is not {tuple(extents)}: {source.size} elements each")
    return tuple(extents)


def _groups(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
    """Least groups of consecutive modes, without those of extent 1, that have as many coordinates in both shapes."""
    ours, theirs = ([n for n, extent in enumerate(shape) if extent != 1] for shape in (old, new))
    if 0 in old:
        return [(ours, theirs)] if ours and theirs else []
    groups = []
    while ours or theirs:
        group: tuple[list[int], list[int]] = ([ours.pop(0)], [theirs.pop(0)])
        left, right = old[group[0][0]], new[group[1][0]]
        while left != right:
            if left < right:
                group[0].append(ours.pop(0))
                left *= old[group[0][-1]]
            else:
                group[1].append(theirs.pop(0))
                right *= new[group[1][-1]]
        groups.append(group)
    return groups


def reshape(x, /, shape, *, copy: bool | None = None):
    """The same elements, in row-major order, in another shape.

    Parameters
    ----------
    x
        An array.
    shape
        Extents, of which one may be -1: what is left.
    copy
        ``False`` is refused where elements would be copied: where the shape is another.

    Returns
    -------
    Tensor or Lazy
        Sparse of a sparse array: entries are moved, nothing is made dense.
    """
    source = lazy(x)
    made = reshaped(source, shape)
    if made is source and not copy:
        return x
    if copy is False:
        raise Error(f"`reshape` of shape {source.shape} to {made.shape} copies, which `copy=False` refuses")
    return finished(made, x)


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
            return parts[-1].write(names, at)
        if not at[axis].is_whole(total):
            return names.hoist(made, at)
        texts, variables = [], []
        for part in parts:
            index = names.index(part.shape[axis])
            text = part.write(names, [*at[:axis], index, *at[axis + 1 :]])
            texts.append(names.bounded([index], text, common, part.fill or 0))
            variables.append(index.var)
        names.given.add(at[axis].var)
        return f"concat(({', '.join(texts)}), ({', '.join(variables)}) -> {at[axis].var})"

    shape = [*first.shape[:axis], total, *first.shape[axis + 1 :]]
    made = Lazy(shape, common, write, parts[0].fill if len(fills) == 1 else None, any(part.sparse for part in parts))
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
    return Lazy(shape, common, write, sparse=any(part.sparse for part in parts))


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
    """The elements along some axes in the opposite order. Entries of a sparse array whose fill value is 0 are moved."""
    if not axes:
        return source

    def opposite(at: list[Index]):
        return [index.along(source.shape[n] - 1, -1) if n in axes else index for n, index in enumerate(at)]

    if not source.sparse or source.background() != 0:
        return moved(source, source.shape, opposite)
    made = Lazy(
        source.shape, source.dtype, lambda names, at: names.hoist(made, at), 0, True, scatter=(source, opposite)
    )
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
    # Each element along a new axis, which is then one with its own.
    extents = list(source.shape)
    extents.insert(axis + 1, int(repeats))
    wide = moved(source, extents, lambda at: [*at[: axis + 1], *at[axis + 2 :]])
    return finished(reshaped(wide, [*source.shape[:axis], source.shape[axis] * int(repeats), *source.shape[axis + 1 :]]), x)


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
            made = _tiled(made, axis, n)
    return finished(made, x)


def _tiled(source: Lazy, axis: int, times: int) -> Lazy:
    """The array several times along an axis, which a new one becomes one with."""
    wide = moved(source, [*source.shape[:axis], times, *source.shape[axis:]], lambda at: [*at[:axis], *at[axis + 1 :]])
    return reshaped(wide, [*source.shape[:axis], times * source.shape[axis], *source.shape[axis + 1 :]])


def _triangle(x, name: str, test: str, k: int):
    source = lazy(x)
    if source.ndim < 2:
        raise Error(f"`{name}` takes two modes at least, not {source.ndim}")
    zero = "false" if source.dtype == np.bool_ else "0"

    def write(names: Names, at: list[Index]) -> str:
        kept = f"{at[-1].value()} {test} {at[-2].value()} + {int(k)}"
        return f"(if {kept} then {source.write(names, at)} else {zero})"

    return finished(Lazy(source.shape, source.dtype, write, sparse=source.sparse), x)


def tril(x, /, *, k: int = 0):
    """The lower triangle of matrices; 0 elsewhere.

    Parameters
    ----------
    x
        An array of two modes at least.
    k
        The uppermost diagonal that is kept: 0 is the main one, those above it are positive.

    Returns
    -------
    Tensor or Lazy
    """
    return _triangle(x, "tril", "<=", k)


def triu(x, /, *, k: int = 0):
    """The upper triangle of matrices, from diagonal `k` on; 0 elsewhere. Parameters as of `tril`."""
    return _triangle(x, "triu", ">=", k)
