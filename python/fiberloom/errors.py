"""What can go wrong. Every exception is an :class:`Error`, which is a ``ValueError``.

=====================  =====================================================================
`ProgramError`         the text is rejected
`CounterexampleError`  a declared property of a function is false: the message shows where
`MismatchError`        operands contradict the program's extents or each other
`OperandError`         an operand is missing, malformed, or not as declared
`LimitError`           a limit on memory, size or steps was reached; a ``MemoryError``, too
`WrongAnswerError`     an answer is not the reference semantics'
`DefectError`          a defect of Fiberloom itself
=====================  =====================================================================
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "CounterexampleError",
    "DefectError",
    "Error",
    "LimitError",
    "MismatchError",
    "OperandError",
    "ProgramError",
    "Span",
    "WrongAnswerError",
]


class Span(NamedTuple):
    """A message and its place in the program's text.

    `start` and `end` count characters from 0, `line` and `column` from 1; `labels` are further places, each
    ``(start, end, text)``.
    """

    start: int
    end: int
    line: int
    column: int
    message: str
    help: str | None
    labels: tuple[tuple[int, int, str], ...]


class Error(ValueError):
    """Why there is no result. The message is drawn into the program where it has places, which `spans` holds."""

    spans: tuple[Span, ...] = ()


class ProgramError(Error):
    """The program is rejected."""


class CounterexampleError(ProgramError):
    """A property that a function is declared to have does not hold: the message shows for which values."""


class MismatchError(Error):
    """Operands contradict the program's extents or each other."""


class OperandError(Error):
    """An operand is missing, malformed, of a type that the language has not, or not as declared."""


class LimitError(Error, MemoryError):
    """A limit on memory, size or steps was reached."""


class WrongAnswerError(Error):
    """An answer is not what the reference semantics says."""


class DefectError(Error):
    """A stage of the compiler broke an invariant of the next: please report it."""


def _spans(places) -> tuple[Span, ...]:
    return tuple(Span(*place[:6], tuple(place[6])) for place in places)


# In messages and in pickles they are the package's.
for _name in __all__:
    globals()[_name].__module__ = "fiberloom"
del _name
