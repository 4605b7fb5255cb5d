"""Calls like a call before: what was written for that one, without writing it again.

A function of arrays writes a program of what its operands are: types, shapes, formats and fill values, and of its other
arguments. Where all of these are as they were, so is the text.

```text
 xp.sum(T, axis=0) ──key: sum, (csr, f64, (4, 5), 0.0), axis, 0──▶ Plan: text, places of operands, options ──▶ einsum
                     └─ none yet ─▶ the function ─▶ its text, noted ─▶ Plan
```

Invariant: a plan's text depends on its key alone, and on formats that are chosen by numbers of entries, which are chosen again.
What may have read the values of an array is no plan: each array among the arguments is an operand of the program, and all other
operands are numbers.
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import wraps
from typing import NamedTuple

import numpy as np

from . import _native
from ._operators import DEFERRED
from ._program import suited
from ._types import DTYPES

__all__ = ["NOTES", "Note", "exactly", "planned"]


class Note(NamedTuple):
    """What was computed, and how."""

    made: _native.Tensor
    text: str
    operands: dict
    options: dict | None
    #: Formats that were chosen by how many entries operands have; ``None`` if the text may depend on a value of one.
    chosen: list[tuple] | None


#: What calls write down of what they compute, while someone asks.
NOTES: ContextVar[list[Note] | None] = ContextVar("fiberloom.notes", default=None)


class Plan(NamedTuple):
    """A program, which of a call's arrays its operands are, and those that are the same in each call."""

    text: str
    places: tuple[tuple[str, int], ...]
    constants: dict
    options: dict | None
    #: Of each format that was chosen the shape, which of the arrays were counted, and itself.
    chosen: list[tuple]

    def suits(self, arrays: list) -> bool:
        """Whether the same formats would be chosen of these."""
        return all(suited(shape, [arrays[n] for n in sparse]) == format for shape, sparse, format in self.chosen)


#: When so many plans are there, all are dropped.
_MOST = 4096
_PLANS: dict[tuple, Plan] = {}
_PLAIN = {bool, int, float, str, type(None)}
_TYPES = {np.dtype, type, *map(type, DTYPES.values())}
#: Classes of SciPy's whose arrays are taken as they are; found when they are met.
_SCIPY: dict[type, bool] = {}


class _NoKey(Exception):
    """An argument of which nothing is known but by looking at it."""


def exactly(number):
    """A number such that others are not equal to it: zeros have signs, and NaN is one."""
    return number if number and number == number else repr(number)


def _is_scipys(kind: type) -> bool:
    known = _SCIPY[kind] = kind.__module__.startswith("scipy.sparse") and hasattr(kind, "tocsr")
    return known


def _describe(argument, key: list, arrays: list) -> None:
    """Adds what a text may depend on of an argument, and the arrays in it."""
    kind = type(argument)
    key.append(kind)
    if kind is _native.Tensor:
        arrays.append(argument)
        key += (argument.format, argument.type_name, argument.shape, exactly(argument.fill_value))
    elif kind is np.ndarray:
        arrays.append(argument)
        key += (argument.dtype, argument.shape)
    elif _SCIPY.get(kind):
        arrays.append(argument)
        key += (argument.dtype, argument.shape)
    elif kind in _PLAIN:
        key.append(exactly(argument) if kind is float else argument)
    elif kind is tuple or kind is list:
        key.append(len(argument))
        for part in argument:
            _describe(part, key, arrays)
    elif kind is slice:
        for part in (argument.start, argument.stop, argument.step):
            if part is not None and type(part) is not int:
                raise _NoKey
            key.append(part)
    elif kind in _TYPES or argument is Ellipsis:
        key.append(argument)
    elif kind not in _SCIPY and _is_scipys(kind):
        arrays.append(argument)
        key += (argument.dtype, argument.shape)
    else:
        raise _NoKey


def _key(name: str, given: tuple, named: dict) -> tuple[tuple, list]:
    """What a text may depend on, and the arrays among the arguments."""
    key: list = [name]
    arrays: list = []
    for argument in given:
        _describe(argument, key, arrays)
    for word, argument in named.items():
        key.append(word)
        _describe(argument, key, arrays)
    if len(arrays) == 2:
        key.append(arrays[0] is arrays[1])
    elif len(arrays) > 2:
        places = [id(array) for array in arrays]
        key += [places.index(place) for place in places]
    return tuple(key), arrays


def _plan(notes: list[Note], made, arrays: list) -> Plan | None:
    """The plan of a call that computed this, if it has one."""
    if len(notes) != 1 or notes[0].made is not made or notes[0].chosen is None:
        return None
    note, constants = notes[0], {}
    at = {id(array): n for n, array in reversed(list(enumerate(arrays)))}
    places = tuple((name, at[id(o)]) for name, o in note.operands.items() if id(o) in at)
    for name, operand in note.operands.items():
        if id(operand) in at:
            continue
        if not (isinstance(operand, int) or isinstance(operand, np.ndarray) and not operand.ndim):
            return None
        constants[name] = operand
    if len({n for _, n in places}) != len(at):
        return None
    chosen = [(shape, [at[id(array)] for array in sparse], format) for shape, sparse, format in note.chosen]
    return Plan(note.text, places, constants, note.options, chosen)


def planned(function):
    """The function, which writes nothing in calls like one before."""
    name = function.__name__

    @wraps(function)
    def call(*given, **named):
        if DEFERRED.get():
            return function(*given, **named)
        try:
            key, arrays = _key(name, given, named)
            plan = _PLANS.get(key)
        except (_NoKey, TypeError):
            return function(*given, **named)
        if plan is not None and (not plan.chosen or plan.suits(arrays)):
            operands = {name: arrays[place] for name, place in plan.places}
            if plan.constants:
                operands |= plan.constants
            return _native.einsum(plan.text, operands, None, plan.options)
        notes: list[Note] = []
        token = NOTES.set(notes)
        try:
            made = function(*given, **named)
        finally:
            NOTES.reset(token)
        plan = _plan(notes, made, arrays)
        if plan is not None:
            if len(_PLANS) >= _MOST:
                _PLANS.clear()
            _PLANS[key] = plan
        return made

    return call
