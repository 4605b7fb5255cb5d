"""The threads on which loops of kernels run."""

from __future__ import annotations

import operator

from . import _native
from .errors import Error

__all__ = ["set_threads", "threads"]


def set_threads(number: int) -> None:
    """Say on how many threads loops run, from the next call on.

    Loops whose iterations are independent run on threads, if they are long enough to be worth it. Results are the same bits for every
    number.

    Parameters
    ----------
    number
        From 1 on; 0 is the usual number: what the environment variable ``FIBERLOOM_THREADS`` says, or else the number of processors
        that this process may use.

    Returns
    -------
    None
        Nothing.

    Raises
    ------
    Error
        If the number is negative, or more than 65536.

    Examples
    --------
    >>> fl.set_threads(2)
    >>> fl.threads()
    2
    >>> fl.set_threads(0)
    """
    number = operator.index(number)
    if not 0 <= number <= 1 << 16:
        raise Error(f"{number} threads: a number from 1 to 65536 is expected, or 0 for the usual number")
    _native.set_threads(number)


def threads() -> int:
    """On how many threads loops run.

    Returns
    -------
    int
        What :func:`set_threads` said, or the usual number.

    Examples
    --------
    >>> fl.threads() >= 1
    True
    """
    return _native.threads()
