"""The threads on which loops of kernels run."""

from __future__ import annotations

import operator
import sys

from . import _native
from .errors import Error

__all__ = ["set_threads", "threads", "with_threadpoolctl"]


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


def with_threadpoolctl() -> None:
    """Let threadpoolctl see and limit these threads, as it does those of other packages.

    It is called by ``import fiberloom`` if threadpoolctl is imported by then.

    Returns
    -------
    None
        Nothing.

    Raises
    ------
    ImportError
        If threadpoolctl, from 3.2 on, is not installed.

    Examples
    --------
    >>> from threadpoolctl import threadpool_limits
    >>> fl.with_threadpoolctl()
    >>> with threadpool_limits(limits=1, user_api="fiberloom"):
    ...     fl.threads()
    1
    """
    from threadpoolctl import LibController, register

    global _controller
    if _controller is not None:
        return

    class Controller(LibController):
        user_api = internal_api = "fiberloom"
        filename_prefixes = ("_native",)

        def get_version(self):
            from . import __version__

            return __version__

        def get_num_threads(self):
            return threads()

        def set_num_threads(self, num_threads):
            set_threads(num_threads)

    register(Controller)
    _controller = Controller


#: What threadpoolctl calls, once it knows of it.
_controller = None

if "threadpoolctl" in sys.modules:
    with_threadpoolctl()
