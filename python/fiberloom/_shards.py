"""``shards``: a program on boxes of its index space, each by itself, and one result of what they make.

::

    i: ├── 0 ──┼── 1 ──┤     box 1 is (i 0, j 1):  A[0:2, 3:6], x[3:6]  ──one kernel──▶  y of rows 0 and 1, over columns 3 on
    j: ├─── 0 ──┼── 1 ──┤
                             y = concatenated along i of (folded along j, in ascending order)

What may be split, and why that is the whole's result, says ``docs/shards.md``; who runs the boxes, `fiberloom._pools`.
"""

from __future__ import annotations

import contextlib
import operator
import threading
import traceback
from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

from . import _einsum, _loans, _native
from ._kernel import Kernel, compile
from ._syntax import KernelFunction
from .errors import Error, LimitError

__all__ = ["Box", "Shards", "shards"]


class Box(NamedTuple):
    """A box: its number, from 0 on, and the coordinates that it has of each split index variable."""

    number: int
    ranges: Mapping[str, range]

    def __str__(self) -> str:
        return f"box {self.number} ({', '.join(f'{name} in {r.start}..{r.stop}' for name, r in self.ranges.items())})"


class Fate(NamedTuple):
    """What becomes of a tensor: which index variable cuts each of its cut modes, and the function that folds it and along which."""

    tensor: str
    cuts: tuple[tuple[int, str], ...]
    fold: tuple[str, tuple[str, ...]] | None


class Shards:
    """A program on its operands, in boxes; made by `shards`. Printed, it says what it does with each tensor.

    Attributes
    ----------
    boxes : tuple of Box
        All boxes, lexicographically, the last split fastest.
    kernel : Kernel
        What runs on each box: the program, in which cut modes have sizes of their own.
    operand_fates, result_fates : tuple of Fate
        What the printed plan says.
    """

    def __init__(self, kernel: Kernel, operands: dict, split: dict, known: Shards | None = None):
        self._whole, self._split = kernel, split
        own = {name: _loans.owned(operand) for name, operand in operands.items()}
        self._plan = _native.plan(kernel, own, list(split.items()))
        self.made_of = self._plan.made_of()
        # Its messages are drawn into the whole's text.
        self.kernel = kernel_of(self.made_of, self._plan.kernel, kernel.text)
        names = self._plan.splits
        ranges = [{n: range(*r) for n, r in zip(names, box, strict=True)} for box in self._plan.boxes]
        self.boxes = tuple(map(Box, range(len(ranges)), ranges))
        self.operand_fates = tuple(map(_fate, self._plan.operand_fates()))
        self.result_fates = tuple(map(_fate, self._plan.result_fates()))
        # Of each dask client, what its workers were sent: futures by operand and ranges.
        self.sent: dict = {}
        if known is not None:
            self._keep(known)

    def _keep(self, other: Shards) -> None:
        """What workers were sent of operands that are the other's, in the same ranges, is there for these, too."""
        before, now = other._plan.whole(), self._plan.whole()
        same = {name for name, tensor in now.items() if before.get(name) is tensor}
        for client, sent in other.sent.items():
            self.sent[client] = {key: future for key, future in sent.items() if key[0] in same}

    def operands(self, box: Box | int) -> dict[str, _native.Tensor]:
        """The operands of a box, for `kernel`.

        Parameters
        ----------
        box
            One of `boxes`, or its number.

        Returns
        -------
        dict
            What is whole is the very tensor. Of a tensor that is cut along its outermost level alone, and that is dense there,
            the part is over the same arrays, but for positions. Others are copied.
        """
        return self._plan.operands(self._box(box).number)

    def run_one(self, box: Box | int) -> dict[str, _native.Tensor]:
        """Runs a box.

        Parameters
        ----------
        box
            One of `boxes`, or its number.

        Returns
        -------
        dict
            What it makes, by name.

        Raises
        ------
        Error
            As of a call of a kernel; the message names the box, which ``error.box`` is.
        """
        box = self._box(box)
        with naming(box):
            return self.kernel(**self.operands(box))

    def merge(self, outcomes) -> dict[str, _native.Tensor]:
        """The whole's results.

        Parameters
        ----------
        outcomes
            What each box makes, in the order of `boxes`.

        Returns
        -------
        dict
            By name.

        Raises
        ------
        OperandError
            If there are not as many as boxes, or a result is missing, malformed or of other extents.
        """
        return self._plan.merge(list(outcomes))

    def run(self, pool=None) -> dict[str, _native.Tensor] | None:
        """Runs all boxes and merges what they make.

        Parameters
        ----------
        pool
            =================================  ====================================================================
            ``None``                           one box after the other
            a number                           that many threads
            a ``ThreadPoolExecutor``           its threads: operands are views where `operands` says so
            another ``concurrent.futures``     its processes: each is sent its boxes' parts; ``mpi4py.futures``, too
            executor
            a ``distributed.Client``           its workers: each part, and what is whole, is sent once for all runs
            an MPI communicator                all its ranks, each of which calls ``run`` or `Shards.work`
            =================================  ====================================================================

        Returns
        -------
        dict or None
            The results by name, the same bits whatever runs the boxes; None on ranks of a communicator other than 0.

        Raises
        ------
        Error
            That of the first box that has one, whichever ends first; the message names the box. No further boxes are run.
        """
        from ._pools import outcomes

        made = outcomes(self, pool)
        return None if made is None else self.merge(made)

    @staticmethod
    def work(comm) -> None:
        """Runs boxes for rank 0 of an MPI communicator, until it has no more: for ranks that have no operands.

        Parameters
        ----------
        comm
            The communicator with which rank 0 calls ``run(comm)``.

        Returns
        -------
        None
            Rank 0 has the results.
        """
        from ._pools import work

        work(comm)

    def replace(self, operands: dict | None = None, /, **named) -> Shards:
        """The same program on other operands, for loops whose turns are runs: ``s = s.replace(x=s.run(client)["y"])``.

        Parameters
        ----------
        operands, named
            Those that change, by name. The others stay, and with them what dask's workers were sent.

        Returns
        -------
        Shards
            With boxes of its own, if extents change.
        """
        return Shards(self._whole, {**self._plan.whole(), **(operands or {}), **named}, self._split, self)

    def _box(self, box: Box | int) -> Box:
        number = box.number if isinstance(box, Box) else operator.index(box)
        if not 0 <= number < len(self.boxes):
            raise Error(f"there is no box {number}: there are {len(self.boxes)}")
        return self.boxes[number]

    def __len__(self) -> int:
        return len(self.boxes)

    def __str__(self) -> str:
        return self._plan.text().rstrip("\n")

    __repr__ = __str__


def _fate(said) -> Fate:
    tensor, cuts, fold = said
    return Fate(tensor, tuple(cuts), fold and (fold[0], tuple(fold[1])))


def shards(source, operands: dict | None = None, /, *, split: dict, out=None, options: dict | None = None, **named) -> Shards:
    """A program in boxes: planned for these operands, run by whatever runs them.

    Parameters
    ----------
    source
        A program, as of `einsum`; a `Kernel`; what `kernel` made of a function.
    operands, named
        Operands by name: whatever `asarray` takes. They are checked once, as by `Kernel.bind`.
    split
        Of each index variable that is split, by name: into how many boxes, as even as can be; or at which coordinates, as
        ``numpy.split`` takes them: ``{"i": 4, "j": [10, 25]}`` are twelve boxes.
    out, options
        As of `compile`, if `source` is text.

    Returns
    -------
    Shards
        ``run(pool)`` gives the results. Printed, it says what it does with each tensor.

    Raises
    ------
    ProgramError
        If an index variable cannot be split, drawn into the program: which rule it breaks, and what to change.

    Examples
    --------
    >>> A = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    >>> s = fl.shards("y[i] = A[i,j] * x[j]", A=A, x=np.array([1.0, 10.0, 100.0]), split={"i": 2, "j": [1]})
    >>> s
    4 boxes
      i: 2 ranges of 0..2
      j: 2 ranges of 0..3
    operands
      A: mode 0 cut along i, mode 1 cut along j
      x: mode 0 cut along j
    results
      y: mode 0 concatenated along i; folded with `+` along j
    >>> s.run(2)["y"].to_numpy()
    array([201.,  30.])
    >>> print(s.boxes[1])
    box 1 (i in 0..1, j in 1..3)
    """
    named = {**(operands or {}), **named}
    if isinstance(source, str):
        kernel, named = _compiled(source, named, out, options)
    elif out is not None or options is not None:
        raise Error("a kernel has its options and the formats of its results: give `out` and `options` where it is compiled")
    elif isinstance(source, KernelFunction):
        kernel = source.specialized(**named)
    elif isinstance(source, Kernel):
        kernel = source
    else:
        raise Error(f"shards of a {type(source).__name__}: a program, a `Kernel`, or what `fl.kernel` made expected")
    split = {name: _cut(name, cut) for name, cut in split.items()}
    try:
        return Shards(kernel, named, split)
    except Error as e:
        raise source.redrawn(e) if isinstance(source, KernelFunction) else e from None


def _compiled(text: str, named: dict, out, options) -> tuple[Kernel, dict]:
    """The kernel of a program for operands like these, and those that are no functions."""
    kernel = compile(text, named, out=out if isinstance(out, dict) else None, options=options)
    if isinstance(out, str):
        kernel = compile(text, named, out={kernel.last: out}, options=options)
    is_function = _einsum.is_function or (lambda value: False)
    return kernel, {name: value for name, value in named.items() if not is_function(value)}


def _cut(name: str, cut):
    """A number of boxes, or coordinates, as Python's own numbers."""
    try:
        return [operator.index(at) for at in cut] if hasattr(cut, "__iter__") else operator.index(cut)
    except TypeError:
        raise Error(f"index variable `{name}`: {cut!r} is no number of boxes, and no list of coordinates") from None


#: Kernels of boxes that this process made of their text: of the last so many texts.
_KERNELS: OrderedDict[tuple, Kernel] = OrderedDict()
_MOST_KERNELS = 64
_LOCK = threading.Lock()


def kernel_of(made_of: tuple, make=None, *known) -> Kernel:
    """The kernel of boxes: made once in a process, of the arguments of `compile`, or by a function that knows more; and kept."""
    text, described, _, file, options = made_of
    key = text, file, tuple(options.items()), *known
    with _LOCK:
        kernel = _KERNELS.pop(key, None)
        if kernel is None:
            kernel = make() if make else _native.compile(text, described, [], file, options)
        _KERNELS[key] = kernel
        if len(_KERNELS) > _MOST_KERNELS:
            _KERNELS.popitem(last=False)
    return kernel


@contextlib.contextmanager
def naming(box: Box):
    """Errors say in which box they arose."""
    try:
        yield
    except Error as error:
        if hasattr(error, "box"):
            raise
        named = type(error)(f"in {box}:\n{error}")
        named.spans, named.box = error.spans, box
        raise named from None
    except MemoryError as error:
        # What there was no room for is still in the frames that the error came from.
        traceback.clear_frames(error.__traceback__)
        named = LimitError(f"in {box}: memory does not suffice for what is sent to a worker, or back")
        named.box = box
        raise named from None
    except Exception as error:
        # A pool's own.
        error.box = box
        raise
