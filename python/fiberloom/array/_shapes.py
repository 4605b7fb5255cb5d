"""Functions that give elements other places: each is a map of indices.

```text
 permute_dims   A[k, i]             broadcast_to   x[0, j]            tril    if j <= i then A[i,j] else 0
 reshape        split(collapse(A[i,j], (i,j) -> m), m -> (k,l))
```
"""

from __future__ import annotations

import math
import operator

import numpy as np

from .._lazy import Lazy, aligned, broadcast, finished, is_lazy, lazy
from .._program import Index, Names
from ..errors import Error, MismatchError, OperandError
from ._reductions import axes_of, axis_of

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "reshape",
    "squeeze",
    "tril",
    "triu",
]


def moved(source: Lazy, shape, indices) -> Lazy:
    """The elements of an array at other places: `indices` gives, of the result's indices, the array's.

    An index for which there is no text (``None``) has the array computed before.
    """

    def write(names: Names, at: list[Index]) -> str:
        own = indices(at)
        if all(index is not None for index in own):
            return source.write(names, own)
        return names.hoist(made, at)

    made = Lazy(shape, source.dtype, write, source.fill, of=(source,))
    return made


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
    """The shape against which all of these are broadcast. Raises `MismatchError` if there is none.

    Parameters
    ----------
    shapes
        Extents of each.

    Returns
    -------
    tuple of int
    """
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

    Parameters
    ----------
    arrays
        Arrays whose shapes go together.

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
        left: list[Index] = []
        for ours, theirs in groups:
            if len(ours) == 1 == len(theirs):
                own[ours[0]] = at[theirs[0]]
                continue
            for n in ours:
                own[n] = names.index(source.shape[n])
                bound.append(own[n])
            left += [at[n] for n in theirs]
            maps.append(([own[n].var for n in ours], [at[n].var for n in theirs]))
        with names.inside(bound, left):
            text = source.write(names, own)
        text = names.bounded(bound, text, source.dtype, source.fill or 0)
        for inner, outer in maps:
            text = _remapped(names, text, inner, outer)
        return text

    made = Lazy(shape, source.dtype, write, source.fill, of=(source,))
    return made


def _remapped(names: Names, text: str, inner: list[str], outer: list[str]) -> str:
    """The text with some index variables made one, and that made others."""
    flat = inner[0] if len(inner) == 1 else outer[0] if len(outer) == 1 else names.index(0).var
    if len(inner) > 1:
        text = f"collapse({text}, ({', '.join(inner)}) -> {flat})"
    return text if len(outer) == 1 else f"split({text}, {flat} -> ({', '.join(outer)}))"


def _resolved(source: Lazy, shape) -> tuple[int, ...]:
    """The shape, in which one extent may be -1: what is left."""
    extents = list(shape_of(shape))
    unknown = [n for n, extent in enumerate(extents) if extent == -1]
    known = math.prod(extent for extent in extents if extent != -1)
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


def _triangle(x, name: str, test: str, k: int):
    source = lazy(x)
    if source.ndim < 2:
        raise Error(f"`{name}` takes two modes at least, not {source.ndim}")
    zero = "false" if source.dtype == np.bool_ else "0"

    def write(names: Names, at: list[Index]) -> str:
        kept = f"{at[-1].value()} {test} {at[-2].value()} + {int(k)}"
        return f"(if {kept} then {source.write(names, at)} else {zero})"

    return finished(Lazy(source.shape, source.dtype, write, of=(source,)), x)


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
    """The upper triangle of matrices, from diagonal `k` on; 0 elsewhere.

    Parameters
    ----------
    x
        An array of two modes at least.
    k
        The lowest diagonal that is kept: 0 is the main one, those above it are positive.

    Returns
    -------
    Tensor or Lazy
    """
    return _triangle(x, "triu", ">=", k)
