"""Folds over axes.

Where elements are read twice, as by a variance, what is computed of them first stands in a statement of its own.
"""

from __future__ import annotations

import builtins
import math

import numpy as np

from .._lazy import Lazy, finished, is_lazy, lazy, mapped
from .._program import Index, Names
from .._types import literal, type_of
from ..errors import Error, OperandError
from ._elementwise import truth

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def axis_of(axis: int, rank: int) -> int:
    """An axis, counted from the first."""
    if not isinstance(axis, (int, np.integer)) or isinstance(axis, bool):
        raise OperandError(f"an axis is a number, not {axis!r}")
    if not -rank <= axis < rank:
        raise Error(f"there is no axis {axis} of {rank}")
    return int(axis) % rank


def axes_of(axis, rank: int) -> list[int]:
    """The axes of an argument, in order: a number, several, or ``None`` for all."""
    if axis is None:
        return list(range(rank))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [axis_of(a, rank) for a in given]
    if len(set(axes)) != len(axes):
        raise Error(f"axes {tuple(given)} are not distinct")
    return sorted(axes)


def folded(source: Lazy, fold: str, axis, keepdims: bool, dtype=None, element=None) -> Lazy:
    """A reduction of the language over some axes.

    Parameters
    ----------
    element
        The text of what is folded, from names, indices of `source` and the text of its element; itself if absent.
    """
    axes = axes_of(axis, source.ndim)
    shape = [1 if n in axes else extent for n, extent in enumerate(source.shape) if keepdims or n not in axes]
    result = np.dtype(dtype) if dtype is not None else source.dtype

    def write(names: Names, at: list[Index]) -> str:
        over = {a: names.index(source.shape[a]) for a in axes}
        rest = iter([index for n, index in enumerate(at) if n not in axes] if keepdims else at)
        own = [over[n] if n in over else next(rest) for n in range(source.ndim)]
        with names.inside(list(over.values())):
            text = source.write(names, own)
            text = text if element is None else element(names, own, text)
        if not axes:
            return text if fold != "count" else f"convert({text}, i64)"
        names.folds = True
        text = names.bounded(list(over.values()), text, np.bool_ if fold == "count" else result)
        return f"{fold}({', '.join(index.var for index in over.values())}: {text})"

    return Lazy(shape, result, write, 0 if fold == "sum" and element is None and source.zero else None, of=(source,), folds=True)


def _summed_in(source: Lazy, dtype) -> Lazy:
    """The elements in the type that their sums have: integers in 64 bits."""
    if dtype is None:
        dtype = {"b": np.int64, "i": np.int64, "u": np.uint64}.get(source.dtype.kind, source.dtype)
    given, to = source.dtype, np.dtype(dtype)
    wraps = given.kind in "iu" and to.kind in "iu" and not np.can_cast(given, to)
    return _wrapped(source, to) if wraps else source.astype(to)


def _wrapped(source: Lazy, dtype: np.dtype) -> Lazy:
    """Integers in a type that does not hold all of them: their low bits, as NumPy's sums have them."""
    ty, to, bits = type_of(source.dtype), type_of(dtype), 8 * dtype.itemsize
    if dtype.kind == "u" and dtype.itemsize < source.dtype.itemsize:
        body = f"convert(a & {2**bits - 1}, {to})"
    elif dtype.kind == "u":
        body = f"if a < 0 then !convert(!a, {to}) else convert(a, {to})"
    else:
        # A number whose highest bit is set is the complement of one whose highest bit is not.
        low = 2 ** (bits - 1) - 1
        body = f"if (a >> {bits - 1}) & 1 == 1 then !convert(!a & {low}, {to}) else convert(a & {low}, {to})"

    def text(names: Names, element: str) -> str:
        own = names.function(f"wrap_{ty}_{to}", f"fn wrap_{ty}_{to}(a: {ty}) -> {to} {{ {body} }}")
        return f"{own}({element})"

    return mapped(text, (source,), result=dtype, zero=(0,))


def sum(x, /, *, axis=None, dtype=None, keepdims: bool = False):
    """Sums over some axes, or all.

    Parameters
    ----------
    x
        An array.
    axis
        An axis, or several; ``None`` for all.
    dtype
        The type of the sums; if absent, that of `x`, of integers 64 bits wide.
    keepdims
        Whether the axes stay, with extent 1.

    Returns
    -------
    Tensor or Lazy
    """
    return finished(folded(_summed_in(lazy(x), dtype), "sum", axis, keepdims), x)


def prod(x, /, *, axis=None, dtype=None, keepdims: bool = False):
    """Products over some axes, or all.

    Parameters
    ----------
    x
        An array.
    axis
        An axis, or several; ``None`` for all.
    dtype
        The type of the products; if absent, that of `x`, of integers 64 bits wide.
    keepdims
        Whether the axes stay, with extent 1.

    Returns
    -------
    Tensor or Lazy
    """
    return finished(folded(_summed_in(lazy(x), dtype), "prod", axis, keepdims), x)


def _has_one(source: Lazy, name: str, axis) -> None:
    if builtins.any(source.shape[a] == 0 for a in axes_of(axis, source.ndim)):
        raise Error(f"`{name}` over an axis of extent 0 has no value: shape {source.shape}")


def max(x, /, *, axis=None, keepdims: bool = False):
    """Greatest elements over some axes, or all; NaN where one is.

    Parameters
    ----------
    x
        An array.
    axis
        An axis, or several; ``None`` for all.
    keepdims
        Whether the axes stay, with extent 1.

    Returns
    -------
    Tensor or Lazy
    """
    _has_one(lazy(x), "max", axis)
    return finished(folded(lazy(x), "max", axis, keepdims), x)


def min(x, /, *, axis=None, keepdims: bool = False):
    """Least elements over some axes, or all; NaN where one is.

    Parameters
    ----------
    x
        An array.
    axis
        An axis, or several; ``None`` for all.
    keepdims
        Whether the axes stay, with extent 1.

    Returns
    -------
    Tensor or Lazy
    """
    _has_one(lazy(x), "min", axis)
    return finished(folded(lazy(x), "min", axis, keepdims), x)


def all(x, /, *, axis=None, keepdims: bool = False):
    """Whether no element over some axes is 0.

    Parameters
    ----------
    x
        An array.
    axis
        An axis, or several; ``None`` for all.
    keepdims
        Whether the axes stay, with extent 1.

    Returns
    -------
    Tensor or Lazy
        Of ``bool``.
    """
    return finished(folded(truth(lazy(x)), "all", axis, keepdims), x)


def any(x, /, *, axis=None, keepdims: bool = False):
    """Whether an element over some axes is not 0.

    Parameters
    ----------
    x
        An array.
    axis
        An axis, or several; ``None`` for all.
    keepdims
        Whether the axes stay, with extent 1.

    Returns
    -------
    Tensor or Lazy
        Of ``bool``.
    """
    return finished(folded(truth(lazy(x)), "any", axis, keepdims), x)


def count_nonzero(x, /, *, axis=None, keepdims: bool = False):
    """How many elements over some axes are not 0.

    Parameters
    ----------
    x
        An array.
    axis
        An axis, or several; ``None`` for all.
    keepdims
        Whether the axes stay, with extent 1.

    Returns
    -------
    Tensor or Lazy
        Of ``int64``.
    """
    return finished(folded(truth(lazy(x)), "count", axis, keepdims, np.int64), x)


def _floats(source: Lazy) -> Lazy:
    return source if source.dtype.kind == "f" else source.astype(np.float64)


def _mean(source: Lazy, axis, keepdims: bool, fewer: float = 0.0) -> Lazy:
    """Sums by how many elements they are of, less `fewer`."""
    number = math.prod(source.shape[a] for a in axes_of(axis, source.ndim))
    total, by = folded(source, "sum", axis, keepdims), builtins.max(number - fewer, 0)

    def quotient(names: Names, a: str, b: str) -> str:
        # Of nothing, and by 0, it is what IEEE 754 says.
        names.strict |= not by
        return f"({a} / {b})"

    return mapped(quotient, (total, float(by)), total.dtype, zero=(0,), literal=not by)


def mean(x, /, *, axis=None, keepdims: bool = False):
    """Arithmetic means over some axes, or all; of integers in ``float64``.

    Parameters
    ----------
    x
        An array.
    axis
        An axis, or several; ``None`` for all.
    keepdims
        Whether the axes stay, with extent 1.

    Returns
    -------
    Tensor or Lazy
    """
    return finished(_mean(_floats(lazy(x)), axis, keepdims), x)


def _variance(x: Lazy, axis, correction: float, keepdims: bool) -> Lazy:
    source = _floats(x)
    mean = _mean(source, axis, True)

    def write(names: Names, own: list[Index], element: str) -> str:
        center = [Index(None) if n in axes else index for n, index in enumerate(own)]
        ty = type_of(source.dtype)
        square = names.function(f"square_{ty}", f"fn square_{ty}(a: {ty}) -> {ty} {{ a * a }}")
        return f"{square}({element} - {names.hoist(mean, center)})"

    axes = axes_of(axis, source.ndim)
    squares = Lazy(source.shape, source.dtype, lambda names, at: write(names, at, source.write(names, at)), of=(source,))
    return _mean(squares, axis, keepdims, correction)


def var(x, /, *, axis=None, correction: float = 0.0, keepdims: bool = False):
    """Variances over some axes, or all: mean squares of what differs from the mean.

    Parameters
    ----------
    x, axis, keepdims
        As of `sum`.
    correction
        How many elements less the squares are divided by.

    Returns
    -------
    Tensor or Lazy
    """
    return finished(_variance(lazy(x), axis, correction, keepdims), x)


def std(x, /, *, axis=None, correction: float = 0.0, keepdims: bool = False):
    """Standard deviations: square roots of variances.

    Parameters
    ----------
    x
        An array.
    axis
        An axis, or several; ``None`` for all.
    correction
        How many elements less the squares are divided by.
    keepdims
        Whether the axes stay, with extent 1.

    Returns
    -------
    Tensor or Lazy
    """
    variance = _variance(lazy(x), axis, correction, keepdims)
    return finished(mapped(lambda names, e: f"sqrt({e})", (variance,)), x)


def _place(x, name: str, best: str, axis, keepdims: bool):
    source = lazy(x)
    _has_one(source, name, axis)
    if source.sparse and not is_lazy(x) and source.fill == source.fill:
        return _stored_place(x, best, None if axis is None else axis_of(axis, source.ndim), keepdims)
    if source.dtype == np.bool_:
        source = source.astype(np.int8)
    if axis is None and source.ndim != 1:
        from ._shapes import reshaped

        flat = reshaped(source, (source.size,))
        found = _place_along(flat, best, 0, False)
        shape = (1,) * source.ndim if keepdims else ()
        return finished(Lazy(shape, np.int64, lambda names, at: found.write(names, [])), x)
    return finished(_place_along(source, best, axis_of(0 if axis is None else axis, source.ndim), keepdims), x)


def _stored_place(x, best: str, axis: int | None, keepdims: bool):
    """The places in a sparse array, of which entries and the first places without one are compared."""
    from ._data import places_of_extremes, there

    tensor = there(x)
    shape = [1 if axis is None or n == axis else extent for n, extent in enumerate(tensor.shape)]
    kept = shape if keepdims else [] if axis is None else [*shape[:axis], *shape[axis + 1 :]]
    return there(places_of_extremes(tensor, axis, best == "max").reshape(kept))


def _place_along(source: Lazy, best: str, axis: int, keepdims: bool) -> Lazy:
    """The least place at which a fold over the axis, computed before, is reached; of NaN, the first."""
    reached = folded(source, best, axis, True)
    extent = source.shape[axis]

    def element(names: Names, own: list[Index], text: str) -> str:
        best = names.hoist(reached, [Index(None) if n == axis else index for n, index in enumerate(own)])
        ty = type_of(source.dtype)
        nan = " || a != a" if source.dtype.kind == "f" else ""
        body = f"{{ if a == b{nan} then k else n }}"
        place = names.function(f"place_{ty}", f"fn place_{ty}(a: {ty}, b: {ty}, k: i64, n: i64) -> i64 {body}")
        return f"{place}({text}, {best}, {own[axis].value()}, {names.size(extent)})"

    return folded(source, "min", axis, keepdims, np.int64, element)


def argmax(x, /, *, axis: int | None = None, keepdims: bool = False):
    """Where the greatest elements along an axis are, the first of them; NaN before any.

    Parameters
    ----------
    x
        An array.
    axis
        An axis; ``None`` counts through all elements, the last axis fastest.
    keepdims
        Whether the axis stays, with extent 1.

    Returns
    -------
    Tensor or Lazy
        Of ``int64``.
    """
    return _place(x, "argmax", "max", axis, keepdims)


def argmin(x, /, *, axis: int | None = None, keepdims: bool = False):
    """Where the least elements along an axis are, the first of them.

    Parameters
    ----------
    x
        An array.
    axis
        An axis; ``None`` counts through all elements, the last axis fastest.
    keepdims
        Whether the axis stays, with extent 1.

    Returns
    -------
    Tensor or Lazy
        Of ``int64``.
    """
    return _place(x, "argmin", "min", axis, keepdims)


def _cumulated(x, name: str, symbol: str, axis, dtype, include_initial: bool):
    """Running folds by doubling: after turn `t` each is of the last ``2**t`` elements. A statement each."""
    source = _summed_in(lazy(x), dtype)
    if not source.ndim:
        raise Error(f"`{name}` takes an array of one mode at least")
    if axis is None and source.ndim > 1:
        raise Error(f"`{name}` of {source.ndim} modes takes an axis")
    axis = axis_of(0 if axis is None else axis, source.ndim)
    start = literal(source.dtype.type(symbol == "*").item()) if source.dtype == np.bool_ else "0" if symbol == "+" else "1"
    behind, step = source, 1
    while step < source.shape[axis]:
        behind = _doubled(behind, axis, step, symbol, start)
        step *= 2
    if include_initial:
        behind = _led(behind, axis, start)
    return finished(behind, x)


def _before(names: Names, source: Lazy, axis: int, at: list[Index], by: int, otherwise: str) -> str:
    """The element that stands `by` places before, of an expression that a statement computes."""
    place = Index(None, opaque=f"~({at[axis].affine()}-{by})")
    return f"coalesce({names.hoist(source, [*at[:axis], place, *at[axis + 1 :]])}, {otherwise})"


def _doubled(source: Lazy, axis: int, step: int, symbol: str, start: str) -> Lazy:
    """Folds of twice as many elements."""

    def write(names: Names, at: list[Index]) -> str:
        if at[axis].is_gather():
            return names.hoist(made, at)
        names.folds = True
        return f"({names.hoist(source, at)} {symbol} {_before(names, source, axis, at, step, start)})"

    made = Lazy(source.shape, source.dtype, write, of=(source,))
    return made


def _led(source: Lazy, axis: int, start: str) -> Lazy:
    """The folds, before which that of no element stands."""

    def write(names: Names, at: list[Index]) -> str:
        if at[axis].is_gather():
            return names.hoist(made, at)
        return _before(names, source, axis, at, 1, start)

    shape = [*source.shape[:axis], source.shape[axis] + 1, *source.shape[axis + 1 :]]
    made = Lazy(shape, source.dtype, write, of=(source,))
    return made


def cumulative_sum(x, /, *, axis: int | None = None, dtype=None, include_initial: bool = False):
    """Sums of each element and those before it along an axis.

    Parameters
    ----------
    x
        An array of one mode at least.
    axis
        The axis, which may be absent of one mode.
    dtype
        As of `sum`.
    include_initial
        Whether the sum of none, 0, stands first.

    Returns
    -------
    Tensor or Lazy
    """
    return _cumulated(x, "cumulative_sum", "+", axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis: int | None = None, dtype=None, include_initial: bool = False):
    """Products of each element and those before it along an axis.

    Parameters
    ----------
    x
        An array of one mode at least.
    axis
        The axis, which may be absent of one mode.
    dtype
        The type of the products; if absent, that of `x`, of integers 64 bits wide.
    include_initial
        Whether the product of none, 1, stands first.

    Returns
    -------
    Tensor or Lazy
    """
    return _cumulated(x, "cumulative_prod", "*", axis, dtype, include_initial)
