"""``t[1:5:2, ::-1, None, ..., 3]``, ``take``, and arrays of indices."""

from __future__ import annotations

import operator

import numpy as np

from .. import _native
from .._lazy import Lazy, aligned, broadcast, finished, lazy, mapped
from .._operators import DEFERRED
from .._plans import NOTES, planned
from .._program import Index, Names
from .._tensor import Tensor
from ..errors import Error, MismatchError, OperandError
from ._data import is_mask, is_truth, masked, without_masks
from ._errors import IndicesError
from ._parts import flipped, part
from ._reductions import axis_of
from ._shapes import moved

__all__ = ["item", "take", "take_along_axis"]


def element(x, key):
    """Elements of an array: see `item`. Of a tensor numbers find a kernel without a text."""
    if type(x) is not Tensor or DEFERRED.get():
        return item(x, key)
    steps = key if type(key) is tuple else (key,)
    numbers, pattern = [], []
    for step, extent in zip(steps, x.shape, strict=False):
        if type(step) is int and -extent <= step < extent:
            numbers.append(step % extent)
            pattern.append("n")
        elif type(step) is slice and step == _ALL:
            pattern.append(":")
        else:
            return _planned_item(x, key)
    if not numbers or len(pattern) != len(steps):
        return _planned_item(x, key)
    function, operands = f"item {''.join(pattern)}", (x, *numbers)
    made = _native.quick(function, operands)
    return _learned(function, operands, x, key) if made is None else made


_ALL = slice(None)


def _learned(function: str, operands: tuple, x, key):
    """The elements, whose kernel is found from now on by the pattern of the key."""
    notes: list = []
    token = NOTES.set(notes)
    try:
        made = item(x, key)
    finally:
        NOTES.reset(token)
    if len(notes) == 1 and notes[0].made is made and not any(isinstance(o, int) for o in notes[0].operands.values()):
        note = notes[0]
        # Numbers are operands in the order of the key.
        numbers = [name for name, o in note.operands.items() if o is not x]
        (own,) = (name for name, o in note.operands.items() if o is x)
        if len(numbers) == len(operands) - 1:
            _native.learn(function, operands, [own, *numbers], note.text, note.operands, note.options)
    return made


def item(x, key):
    """Elements of an array: ``x[key]``.

    Parameters
    ----------
    x
        An array.
    key
        Numbers, slices, ``None`` for a new mode, ``...``; arrays of whole numbers, which are broadcast against each other and
        gathered; masks, arrays of truth values, each of as many modes as it has, one truth value alone. A mask is computed, and so is an expression
        of which it alone is the key.

    Returns
    -------
    Tensor or Lazy

    Raises
    ------
    IndicesError
        If a number leaves the array, the key has more places than the array modes, or a mask another shape.
    """
    source = lazy(x)
    key = key if isinstance(key, tuple) else (key,)
    if len(key) == 1 and is_mask(key[0]):
        return masked(x, key[0])
    if len(key) == 1 and is_truth(key[0]):
        # A mask of no modes: the array once, or not at all, along a new one.
        led = moved(source, (1, *source.shape), lambda at: at[1:])
        return finished(part(led, 0, 0, int(bool(key[0]))), x)
    key = without_masks(key, source.shape)
    steps = _expanded(key, source.shape)
    if any(isinstance(step, Lazy) for step in steps):
        return finished(gathered(source, steps, _stand_together(key)), x)
    shape, modes, back = [], [], []
    for step, extent in zip(steps, _extents(steps, source.shape), strict=True):
        step, opposite = _upward(step, extent)
        if opposite:
            back.append(len(shape))
        mode = _linear(step, extent, len(shape))
        # A number of an array that is there is an operand, so that all numbers have one kernel.
        is_operand = mode is not None and mode[0] is None and source is not x
        modes.append((np.asarray(mode[1]), 0, 0) if is_operand else mode)
        if step is None:
            shape.append(1)
        elif isinstance(step, slice):
            shape.append(len(range(*step.indices(extent))))
    is_all = modes == [(n, 0, 1) for n in range(source.ndim)] and tuple(shape) == source.shape
    return finished(flipped(source if is_all else _picked(source, shape, modes), back), x)


_planned_item = planned(item)


def _expanded(key: tuple, shape) -> list:
    """The places of a key: ``None``, a slice, a number, or an array for each mode."""
    rank = len(shape)
    steps: list = []
    named = sum(step is not None and step is not Ellipsis for step in key)
    if named > rank:
        raise IndicesError(f"{named} indices for {rank} modes")
    if sum(step is Ellipsis for step in key) > 1:
        raise IndicesError("an index has one `...` at most")
    rest = [slice(None)] * (rank - named)
    for step in key:
        if step is Ellipsis:
            steps += rest
            rest = []
        else:
            steps.append(_place(step))
    return steps + rest


def _place(step):
    if step is None or isinstance(step, slice):
        return step
    if isinstance(step, (bool, np.bool_)):
        raise IndicesError("a truth value is no index: an array of them is a mask")
    try:
        return operator.index(step)
    except TypeError:
        pass
    if isinstance(step, (list, np.ndarray)) or hasattr(step, "dtype"):
        array = lazy(np.asarray(step, None if step else np.int64) if isinstance(step, list) else step)
        if array.dtype.kind in "iu":
            return array
    raise IndicesError(
        f"{step!r} is no index: a number, a slice, `None`, `...`, an array of whole numbers or of truth values expected"
    )


def _extents(steps: list, shape) -> list:
    """The extent of the mode that each place is for."""
    extents = iter(shape)
    return [None if step is None else next(extents) for step in steps]


def _upward(step, extent):
    """A place with a positive step, and whether its elements are then in the opposite order."""
    if not isinstance(step, slice):
        return step, False
    if step.step == 0:
        raise IndicesError("the step of a slice is not 0")
    places = range(*step.indices(extent))
    if places.step > 0:
        return step, False
    return slice(places[-1], places[0] + 1, -places.step) if places else slice(0, 0), len(places) > 1


def _linear(step, extent, mode: int):
    """How a place finds its index among those of the result: ``(mode, start, step)``; of a number ``(None, number, 0)``."""
    if step is None:
        return None
    if isinstance(step, slice):
        start, _, by = step.indices(extent)
        return mode, start, by
    if not -extent <= step < extent:
        raise IndicesError(f"index {step} leaves a mode of extent {extent}")
    return None, step % extent, 0


def _index(names: Names, mode: tuple, at: list[Index]) -> Index | None:
    """The index of a mode: a linear one of the result's, a number, or what an array without modes holds."""
    of, start, step = mode
    if of is None:
        return Index(None, start)
    if isinstance(of, np.ndarray):
        return Index(None, opaque=f"{names.operand(of)}[]")
    return at[of].along(start, step)


def _picked(source: Lazy, shape, modes: list) -> Lazy:
    """Elements at linear places of the result's indices."""
    modes = [mode for mode in modes if mode is not None]

    def write(names: Names, at: list[Index]) -> str:
        own = [_index(names, mode, at) for mode in modes]
        if any(index is None for index in own):
            return names.hoist(made, at)
        return source.write(names, own)

    made = Lazy(shape, source.dtype, write, source.fill, of=(source,))
    return made


def _stand_together(key: tuple) -> bool:
    """Whether no slice, new mode or ``...`` stands between the numbers and arrays of a key."""
    numbered = [n for n, step in enumerate(key) if not (step is None or step is Ellipsis or isinstance(step, slice))]
    return numbered == list(range(numbered[0], numbered[-1] + 1))


def gathered(source: Lazy, steps: list, together: bool = True) -> Lazy:
    """Elements at places that arrays hold: the modes of these stand where they do, or first if others stand between."""
    wide = broadcast(*(step.shape for step in steps if isinstance(step, Lazy)))
    leading = next(n for n, step in enumerate(steps) if isinstance(step, (Lazy, int)))
    first = sum(step is None or isinstance(step, slice) for step in steps[:leading]) if together else 0
    kept, shape, modes = 0, [], []
    for step, extent in zip(steps, _extents(steps, source.shape), strict=True):
        if isinstance(step, Lazy):
            modes.append((lazy_index(step, extent), None, None))
            continue
        modes.append(_linear(step, extent, kept + (len(wide) if kept >= first else 0)))
        if step is None or isinstance(step, slice):
            shape.append(1 if step is None else len(range(*step.indices(extent))))
            kept += 1
    shape[first:first] = wide
    modes = [mode for mode in modes if mode is not None]

    def write(names: Names, at: list[Index]) -> str:
        own = []
        for mode, start, by in modes:
            if isinstance(mode, Lazy):
                own.append(names.gather(mode, aligned(mode.shape, wide, at[first : first + len(wide)])))
            else:
                own.append(_index(names, (mode, start, by), at))
        if any(index is None for index in own):
            return names.hoist(made, at)
        return source.write(names, own)

    made = Lazy(shape, source.dtype, write, source.fill, of=(source,))
    return made


def lazy_index(places: Lazy, extent: int) -> Lazy:
    """Places along a mode; negative ones count from its end."""
    if places.dtype.kind == "u":
        return places
    taken = places.astype(np.int64)
    return mapped(lambda names, p: f"{_from_end(names)}({p}, {names.size(extent)})", (taken,))


def _from_end(names: Names) -> str:
    return names.function("place", "fn place(p: i64, n: i64) -> i64 { if p < 0 then p + n else p }")


def take(x, indices, /, *, axis: int | None = None):
    """Elements at places along an axis.

    Parameters
    ----------
    x
        An array.
    indices
        Whole numbers; negative ones count from the end. One that leaves the array is an error of the kernel.
    axis
        The axis, which may be absent of one mode.

    Returns
    -------
    Tensor or Lazy
    """
    source = lazy(x)
    if axis is None and source.ndim != 1:
        raise Error(f"`take` of {source.ndim} modes takes an axis")
    axis = axis_of(0 if axis is None else axis, source.ndim)
    places = lazy(np.asarray(indices) if isinstance(indices, list) else indices)
    if places.dtype.kind not in "iu":
        raise OperandError(f"`take` takes whole numbers as indices, not {places.dtype}")
    steps = [slice(None)] * source.ndim
    steps[axis] = places
    return finished(gathered(source, steps), x, indices)


def take_along_axis(x, indices, /, *, axis: int = -1):
    """Elements at places along an axis, of which each of the other coordinates has its own.

    Parameters
    ----------
    x
        An array.
    indices
        Whole numbers, an array of as many modes; extents but that of the axis are broadcast against those of `x`.
    axis
        The axis.

    Returns
    -------
    Tensor or Lazy
    """
    source, places = lazy(x), lazy(indices)
    axis = axis_of(axis, source.ndim)
    if places.ndim != source.ndim or places.dtype.kind not in "iu":
        raise MismatchError(f"`take_along_axis` of {source.ndim} modes takes whole numbers of as many")
    places = lazy_index(places, source.shape[axis])
    others = broadcast(*((*a.shape[:axis], 1, *a.shape[axis + 1 :]) for a in (source, places)))
    shape = (*others[:axis], places.shape[axis], *others[axis + 1 :])

    def write(names: Names, at: list[Index]) -> str:
        own = aligned(source.shape, shape, at)
        own[axis] = names.gather(places, aligned(places.shape, shape, at))
        return source.write(names, own)

    return finished(Lazy(shape, source.dtype, write, source.fill, of=(source, places)), x, indices)
