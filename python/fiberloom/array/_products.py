"""Products that fold: ``matmul``, ``tensordot``, ``vecdot``."""

from __future__ import annotations

from .. import _native
from .._lazy import Lazy, aligned, broadcast, common_type, finished, is_lazy, lazy
from .._program import Index, Names
from ..errors import Error, MismatchError
from ._reductions import axes_of, axis_of
from ._shapes import matrix_transpose

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def matmul(x1, x2, /):
    """The matrix product, of vectors too, and of stacks of matrices.

    Parameters
    ----------
    x1, x2
        Arrays of one mode at least. The last mode of the one is summed with the last but one of the other, of a vector with
        its only one; the modes before are broadcast.

    Returns
    -------
    Tensor or Lazy
    """
    return _product("matmul", _matmul, x1, x2)


def _product(name: str, function, x1, x2):
    """A product of two arrays: an expression where expressions are built, else a tensor."""
    if is_lazy(x1, x2):
        return function(lazy(x1), lazy(x2))
    made = _native.quick(name, (x1, x2))
    return function(lazy(x1), lazy(x2)).called(name, (x1, x2)) if made is None else made


def _matmul(a: Lazy, b: Lazy) -> Lazy:
    if not a.ndim or not b.ndim:
        raise MismatchError("`@` takes arrays of one mode or more")
    inner, other = a.shape[-1], b.shape[-1 if b.ndim == 1 else -2]
    if inner != other:
        raise MismatchError(
            f"`@`: the last mode of {a.shape} is {inner} long, and that of {b.shape} it is summed with {other}"
        )
    rows, columns = a.shape[-2:-1], b.shape[-1:] if b.ndim > 1 else ()
    stacks = broadcast(a.shape[:-2], b.shape[:-2])
    common = common_type(a, b)
    x, y = a.astype(common), b.astype(common)

    def write(names: Names, at: list[Index]) -> str:
        k, stack = names.index(inner), at[: len(stacks)]
        row, column = at[len(stacks) : len(stacks) + len(rows)], at[len(stacks) + len(rows) :]
        left = [*aligned(a.shape[:-2], stacks, stack), *row, k]
        right = [*aligned(b.shape[:-2], stacks, stack), k, *column]
        return summed(names, [k], [(x, left), (y, right)], common)

    return Lazy(stacks + rows + columns, common, write, 0 if x.zero or y.zero else None, of=(x, y), folds=True)


def summed(names: Names, over: list[Index], factors: list[tuple[Lazy, list[Index]]], dtype) -> str:
    """The text of a sum over some variables, of a product of elements."""
    with names.inside(over):
        text = " * ".join(factor.write(names, at) for factor, at in factors)
    if not over:
        return f"({text})"
    names.folds = True
    return f"sum({', '.join(k.var for k in over)}: {names.bounded(over, text, dtype)})"


def tensordot(x1, x2, /, *, axes=2):
    """Sums over axes of the one array and as many of the other.

    Parameters
    ----------
    x1, x2
        Arrays.
    axes
        Two lists of axes, of `x1` and of `x2`; or a number: of the last of `x1` and the first of `x2`.

    Returns
    -------
    Tensor or Lazy
        With the modes of `x1` that are left, then those of `x2`.
    """
    a, b = lazy(x1), lazy(x2)
    ours, theirs = _pairs(axes, a.ndim, b.ndim)
    for m, n in zip(ours, theirs, strict=True):
        if a.shape[m] != b.shape[n]:
            raise MismatchError(f"`tensordot`: axis {m} of {a.shape} and axis {n} of {b.shape} are not of one extent")
    left = [n for n in range(a.ndim) if n not in ours]
    right = [n for n in range(b.ndim) if n not in theirs]
    common = common_type(a, b)
    x, y = a.astype(common), b.astype(common)

    def write(names: Names, at: list[Index]) -> str:
        over = [names.index(a.shape[m]) for m in ours]
        first, second = dict(zip(ours, over, strict=True)), dict(zip(theirs, over, strict=True))
        first |= dict(zip(left, at, strict=False))
        second |= dict(zip(right, at[len(left) :], strict=True))
        factors = [(o, [its[n] for n in range(o.ndim)]) for o, its in ((x, first), (y, second))]
        return summed(names, over, factors, common)

    shape = [a.shape[n] for n in left] + [b.shape[n] for n in right]
    return finished(Lazy(shape, common, write, of=(x, y), folds=True), x1, x2)


def _pairs(axes, ours: int, theirs: int) -> tuple[list[int], list[int]]:
    if isinstance(axes, int):
        if not 0 <= axes <= min(ours, theirs):
            raise Error(f"`tensordot` over {axes} axes of arrays of {ours} and {theirs} modes")
        return list(range(ours - axes, ours)), list(range(axes))
    first, second = (list(a) if isinstance(a, (tuple, list)) else [a] for a in axes)
    if len(first) != len(second):
        raise Error(f"`tensordot`: {len(first)} axes of the one array and {len(second)} of the other")
    pair = [axis_of(a, ours) for a in first], [axis_of(a, theirs) for a in second]
    if any(len(set(p)) != len(p) for p in pair):
        raise Error(f"`tensordot`: axes {first} and {second} are not distinct")
    return pair


def vecdot(x1, x2, /, *, axis: int = -1):
    """Sums of products of elements along an axis.

    Parameters
    ----------
    x1, x2
        Arrays of one mode at least, of one extent along the axis; the other modes are broadcast.
    axis
        The axis, counted from the last: negative.

    Returns
    -------
    Tensor or Lazy
    """
    a, b = lazy(x1), lazy(x2)
    if axis >= 0 and a.ndim != b.ndim:
        raise Error("`vecdot` of arrays of different ranks takes a negative axis")
    own = [axis_of(axis, o.ndim) for o in (a, b)]
    extents = [o.shape[n] for o, n in zip((a, b), own, strict=True)]
    if extents[0] != extents[1]:
        raise MismatchError(f"`vecdot`: extents {extents[0]} and {extents[1]} along axis {axis}")
    wide = broadcast(a.shape, b.shape)
    place = axes_of(axis, len(wide))[0] if axis < 0 else own[0]
    common = common_type(a, b)
    x, y = a.astype(common), b.astype(common)

    def write(names: Names, at: list[Index]) -> str:
        k = names.index(extents[0])
        full = [*at[:place], k, *at[place:]]
        return summed(names, [k], [(o, aligned(o.shape, wide, full)) for o in (x, y)], common)

    return finished(Lazy((*wide[:place], *wide[place + 1 :]), common, write, of=(x, y), folds=True), x1, x2)
