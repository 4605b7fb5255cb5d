"""Who runs the boxes of shards, and how they get what they need.

=====================  ========================  =====================================================================
pool                   a box's operands          how many boxes at once
=====================  ========================  =====================================================================
``None``               made in this thread       one
threads                made in their threads     a thread's each
processes              pickled, box by box       two a process: one that runs, one that waits
dask                   futures, kept             two a worker's thread
MPI                    sent; what is whole once  two a rank; rank 0 runs boxes itself while it has nothing to hand out
=====================  ========================  =====================================================================

Every box is a call of one kernel, which each process makes once, of its text. Outcomes are the same, box by box, and so is
what they are merged to. The error that is raised is that of the first box that has one, in their order.
"""

from __future__ import annotations

import concurrent.futures as futures
import operator
import os
import pickle
import time
from collections import deque

from . import _native
from ._shards import Box, Shards, kernel_of, naming
from .errors import Error, LimitError

__all__ = ["outcomes", "work"]


def outcomes(shards: Shards, pool) -> list[dict] | None:
    """What each box makes, in their order; ``None`` on ranks of MPI that hand it to another."""
    if pool is None:
        return [shards.run_one(box) for box in shards.boxes]
    if isinstance(pool, futures.ThreadPoolExecutor):
        return _threads(shards, pool)
    if isinstance(pool, futures.Executor):
        return _processes(shards, pool)
    if hasattr(pool, "scatter") and hasattr(pool, "submit"):
        return _dask(shards, pool)
    if hasattr(pool, "Get_rank"):
        return _lead(shards, pool) if pool.Get_rank() == 0 else work(pool)
    try:
        threads = operator.index(pool)
    except TypeError:
        kind = f"{type(pool).__module__}.{type(pool).__qualname__}"
        message = "a number of threads, an executor, a dask client or an MPI communicator expected"
        raise Error(f"{kind} runs no boxes: {message}") from None
    if threads < 1:
        raise Error(f"{threads} threads run no boxes: one at least is expected")
    own = futures.ThreadPoolExecutor(min(threads, len(shards.boxes)), "fiberloom")
    try:
        return _threads(shards, own)
    finally:
        # Boxes that were asked to end may take a moment.
        own.shutdown(wait=False, cancel_futures=True)


def _collected(boxes: tuple[Box, ...], submit, wait, cancel, most: int) -> list[dict]:
    """The outcomes of boxes, at most `most` of which are handed out at a time, in their order.

    ``submit(number)`` gives a future; ``wait(futures)`` those that are done, one at least; ``cancel(futures)`` ends them. After an
    error no further box is handed out, and those before are waited for: one of them may have an error, too.
    """
    made: list = [None] * len(boxes)
    pending: dict = {}
    following, failed, error = 0, len(boxes), None
    try:
        while True:
            while following < failed and len(pending) < most:
                pending[submit(following)] = following
                following += 1
            if not pending:
                break
            for future in wait(list(pending)):
                number = pending.pop(future)
                try:
                    # Memory may not suffice for what is sent back, either.
                    with naming(boxes[number]):
                        made[number] = future.result()
                except Exception as e:
                    if number < failed:
                        failed, error = number, e
            if error is not None:
                late = [future for future, number in pending.items() if number > failed]
                cancel(late)
                for future in late:
                    del pending[future]
    except BaseException:
        cancel(list(pending))
        raise
    if error is not None:
        raise error
    return made


def _first(pending: list):
    return futures.wait(pending, return_when=futures.FIRST_COMPLETED).done


def _threads(shards: Shards, pool: futures.Executor) -> list[dict]:
    ends: dict = {}

    def run(box: Box, interrupt) -> dict:
        with naming(box):
            return shards.kernel.until(interrupt, shards.operands(box))

    def submit(number: int) -> futures.Future:
        interrupt = _native.Interrupt()
        future = pool.submit(run, shards.boxes[number], interrupt)
        ends[future] = interrupt
        return future

    def cancel(pending: list) -> None:
        for future in pending:
            if not future.cancel():
                ends[future].ask()

    # A thread makes a box's operands when it runs it: boxes that wait hold nothing.
    return _collected(shards.boxes, submit, _first, cancel, len(shards))


def _run(made_of: tuple, box: Box, operands: dict) -> dict:
    """A box, in whichever process."""
    with naming(box):
        return kernel_of(made_of)(**operands)


def _run_pickled(made_of: tuple, box: Box, sent: list) -> list:
    """The same where memory may not suffice for operands or results beside what they are sent as, which is freed."""
    with naming(box):
        operands = {}
        try:
            while sent:
                name, pickled = sent.pop()
                operands[name] = pickle.loads(pickled[0], buffers=pickled[1:])
                del pickled
            return _pickled(kernel_of(made_of)(**operands))
        finally:
            # The traceback of an error would hold them.
            operands.clear()


def _pickled(object) -> list:
    """An object as bytes, its arrays apart: each is copied once."""
    buffers: list = []
    return [pickle.dumps(object, 5, buffer_callback=buffers.append), *(bytes(buffer.raw()) for buffer in buffers)]


def _processes(shards: Shards, pool: futures.Executor) -> list[dict]:
    whole = {fate.tensor for fate in shards.operand_fates if not fate.cuts}
    pickled: dict = {}

    def submit(number: int) -> futures.Future:
        box, sent = shards.boxes[number], []
        for name, part in shards.operands(box).items():
            data = pickled.get(name) or _pickled(part)
            if name in whole:
                pickled[name] = data
            sent.append((name, data))
        return pool.submit(_run_pickled, shards.made_of, box, sent)

    def cancel(pending: list) -> None:
        for future in pending:
            future.cancel()

    workers = getattr(pool, "_max_workers", None) or os.cpu_count() or 1
    made = _collected(shards.boxes, submit, _first, cancel, 2 * workers)
    for number, (head, *arrays) in enumerate(made):
        made[number] = pickle.loads(head, buffers=arrays)
    return made


#: How often boxes are handed out whose workers end; how many seconds such a worker has to be missed, and a new one to come.
_TRIES, _MOMENT, _PATIENCE = 3, 0.5, 60


def _dask(shards: Shards, client) -> list[dict]:
    """Boxes on dask's workers. A worker that ends takes with it what it was sent: that is sent anew, and boxes run once more."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    if client.asynchronous:
        raise Error("an asynchronous dask client runs no boxes: `run` waits for them, and a synchronous one is expected")
    limit = 0
    for _ in range(_TRIES):
        if client.status in ("closing", "closed"):
            shards.sent.pop(client, None)
            raise Error(f"a dask client that is {client.status} runs no boxes: run them with another, or without, `run()`")
        sent = shards.sent.setdefault(client, {})
        for key in [key for key, future in sent.items() if future.status in ("cancelled", "lost", "error")]:
            del sent[key]
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError:
            raise Error(f"the dask client had no worker for {_PATIENCE} seconds: no box runs") from None
        # Asked now: of workers that ended nobody knows it.
        workers = client.scheduler_info()["workers"].values()
        limit = max([limit, *(worker["memory_limit"] or 0 for worker in workers)])
        try:
            return _on_workers(shards, client, sent)
        except (futures.CancelledError, CommClosedError, KilledWorker) as e:
            error = e
            shards.sent.pop(client, None)
            time.sleep(_MOMENT)
    raise _ended(error, limit)


def _ended(error: Exception, limit: int) -> Error:
    """What to say where workers end whenever they run a box."""
    box = getattr(error, "box", None)
    where = f"in {box}:\n" if box else ""
    ended = f"{where}dask's workers ended {_TRIES} times before boxes were done"
    if limit:
        made = LimitError(f"{ended}; each may have {limit} bytes of memory: more boxes have smaller parts")
    else:
        made = Error(f"{ended}: their logs say why")
    made.box, made.__cause__ = box, error
    return made


def _on_workers(shards: Shards, client, sent: dict) -> list[dict]:
    """Boxes on workers that live, each where its parts are."""
    import distributed

    splits = {fate.tensor: {split for _, split in fate.cuts} for fate in shards.operand_fates}
    threads = sum(client.nthreads().values())

    def submit(number: int):
        box, parts, handed = shards.boxes[number], None, {}
        for name, own in splits.items():
            key = (name, *((split, r.start, r.stop) for split, r in box.ranges.items() if split in own))
            if key not in sent:
                parts = parts or shards.operands(box)
                # dask runs boxes where their parts are, which it spreads over the workers.
                try:
                    sent[key] = client.scatter(parts[name], hash=False, broadcast=not own)
                except (KeyError, OSError) as e:
                    # The worker that it was to go to is no more; that none came in time is an `OSError`, too.
                    raise futures.CancelledError(f"`{name}` reached no worker") from e
            handed[name] = sent[key]
        return client.submit(_run, shards.made_of, box, handed, pure=False)

    def wait(pending: list):
        return distributed.wait(pending, return_when="FIRST_COMPLETED").done

    return _collected(shards.boxes, submit, wait, client.cancel, 2 * max(1, threads))


#: How long a rank sleeps between looks for messages: a look costs a microsecond, a blocking one a core.
_PAUSE = 0.0005


def _own(comm):
    """A communicator of the same ranks for messages of a run alone, in which arrays are sent from where they are."""
    from mpi4py.util import pkl5

    return pkl5.Intracomm(comm.Dup())


def _lead(shards: Shards, comm) -> list[dict]:
    """Rank 0: hands out boxes, and runs some itself."""
    own = _own(comm)
    whole = {fate.tensor for fate in shards.operand_fates if not fate.cuts}
    first = shards.operands(0)
    own.bcast((shards.made_of, {name: first[name] for name in whole}), root=0)
    ranks = {rank: deque() for rank in range(1, own.Get_size())}
    led = _Led(shards)
    sends = []
    while led.is_open() or any(ranks.values()):
        for rank, numbers in ranks.items():
            # One that runs, and one that waits where there are more than enough.
            while led.is_open() and len(numbers) < (2 if led.left() > len(ranks) + 1 else 1):
                numbers.append(led.next())
                parts = shards.operands(numbers[-1])
                task = shards.boxes[numbers[-1]], {name: part for name, part in parts.items() if name not in whole}
                sends.append(own.isend(task, rank))
        rank, answer = _answer(own)
        if answer is not None:
            led.ended(ranks[rank].popleft(), *answer)
        elif led.is_open():
            number = led.next()
            led.ended(number, *_tried(shards.run_one, number))
        else:
            time.sleep(_PAUSE)
    sends += [own.isend(None, rank) for rank in ranks]
    _all_sent(sends)
    own.Free()
    return led.made()


class _Led:
    """Which boxes were handed out, and what came of them: none are after an error."""

    def __init__(self, shards: Shards):
        self._made: list = [None] * len(shards)
        self._following, self._failed, self._error = 0, len(shards), None

    def is_open(self) -> bool:
        return self._following < len(self._made) and self._error is None

    def left(self) -> int:
        return len(self._made) - self._following

    def next(self) -> int:
        self._following += 1
        return self._following - 1

    def ended(self, number: int, outcome: dict | None, error: Exception | None) -> None:
        self._made[number] = outcome
        if error is not None and number < self._failed:
            self._failed, self._error = number, error

    def made(self) -> list[dict]:
        if self._error is not None:
            raise self._error
        return self._made


def _answer(own) -> tuple:
    """An answer that has arrived, and the rank that sent it."""
    from mpi4py import MPI

    status = MPI.Status()
    message = own.improbe(status=status)
    return (None, None) if message is None else (status.Get_source(), message.recv())


def _tried(run, *arguments) -> tuple:
    try:
        return run(*arguments), None
    except Exception as error:
        return None, error


def work(comm) -> None:
    """Other ranks: run what rank 0 hands out, until it has no more."""
    own = _own(comm)
    made_of, whole = own.bcast(None, root=0)
    sends = []
    while True:
        message = own.improbe(source=0)
        if message is None:
            time.sleep(_PAUSE)
            continue
        task = message.recv()
        if task is None:
            break
        box, parts = task
        sends.append(own.isend(_tried(_run, made_of, box, {**whole, **parts}), 0))
    _all_sent(sends)
    own.Free()


def _all_sent(sends: list) -> None:
    for send in sends:
        while not send.test()[0]:
            time.sleep(_PAUSE)
