"""Functions that compare elements of two places."""

from __future__ import annotations

import numpy as np

from .._lazy import Lazy, common_type, finished, lazy, mapped
from .._program import Index, Names
from ..errors import Error, MismatchError
from ._parts import joined, part
from ._reductions import axis_of

__all__ = ["diff", "searchsorted"]


def searchsorted(x1, x2, /, *, side: str = "left", sorter=None):
    """At which places elements would be put into a sorted array.

    Each element is compared with all of `x1`.

    Parameters
    ----------
    x1
        An array of one mode, in ascending order, or put in that by `sorter`.
    x2
        An array.
    side
        Of equal elements before the first (``"left"``) or behind the last (``"right"``).
    sorter
        The places of the elements of `x1` in ascending order.

    Returns
    -------
    Tensor or Lazy
        Of ``int64``.
    """
    ordered, sought = lazy(x1), lazy(x2)
    if ordered.ndim != 1:
        raise Error(f"`searchsorted` takes a sorted array of one mode, not {ordered.ndim}")
    if side not in ("left", "right"):
        raise Error(f"`searchsorted`: the side is `left` or `right`, not {side!r}")
    if sorter is not None and lazy(sorter).shape != ordered.shape:
        raise MismatchError(f"`searchsorted`: the sorter has shape {lazy(sorter).shape}, and the array {ordered.shape}")
    # Which order they are in is all the same to how many are less.
    common = common_type(ordered, sought)
    a, b, test = ordered.astype(common), sought.astype(common), "<" if side == "left" else "<="

    def write(names: Names, at: list[Index]) -> str:
        k = names.index(ordered.shape[0])
        names.folds = True
        with names.inside([k]):
            text = f"{a.write(names, [k])} {test} {b.write(names, at)}"
        text = names.bounded([k], text, np.bool_)
        return f"count({k.var}: {text})"

    return finished(Lazy(sought.shape, np.int64, write, of=(a, b), folds=True), x1, x2)


def diff(x, /, *, axis: int = -1, n: int = 1, prepend=None, append=None):
    """Differences of consecutive elements along an axis, `n` times.

    Parameters
    ----------
    x
        An array of one mode at least.
    axis
        The axis.
    n
        How often.
    prepend, append
        Arrays that stand before and behind `x` along the axis.

    Returns
    -------
    Tensor or Lazy
    """
    source = lazy(x)
    axis = axis_of(axis, source.ndim)
    if n < 0:
        raise Error(f"`diff` {n} times: a number of times is not negative")
    parts = [lazy(o) for o in (prepend, x, append) if o is not None]
    made = joined(parts, axis)
    for _ in range(n):
        extent = made.shape[axis]
        if not extent:
            break
        pair = part(made, axis, 1, extent), part(made, axis, 0, extent - 1)
        symbol = "!=" if made.dtype == np.bool_ else "-"
        made = mapped(lambda names, a, b, s=symbol: f"({a} {s} {b})", pair)
    return finished(made, x, *(o for o in (prepend, append) if o is not None))
