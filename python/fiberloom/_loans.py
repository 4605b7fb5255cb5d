"""Arrays that tensors believe: read-only for as long as such a tensor lives.

Indices are checked once, and so are the bytes of truth values. Whoever makes a tensor over arrays of somebody's holds them, with
what they are views of, and the end of the last tensor over an array gives it back as it was.

```text
 asarray(S)   ──hold──▶ S.indices, S.indptr, what they are views of: read-only, each counted
 T is dropped ──end───▶ counted down; at 0 what was writable is writable again
```

Invariant: an array that a tensor believes is read-only, or its memory is the tensor's own. The extension module sees to that for
itself: it makes read-only, for good, what is not held here.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque

import numpy as np

from . import _native

__all__ = ["believed", "lent", "owned"]


class _Held:
    """An array that was writable and is read-only now: by how many tensors, and what cannot be given back before it is."""

    def __init__(self, array: np.ndarray):
        self.array, self.address, self.count = weakref.ref(array), id(array), 1
        self.views: list[_Held] = []


#: What is held, by the array's address.
_HELD: dict[int, _Held] = {}
#: Tensors may end at any moment, and on any thread: what they held waits here until nobody is about to hold more.
_ENDED: deque[list[_Held]] = deque()
_LOCK = threading.Lock()


def lent(make, arrays):
    """What `make()` gives, a tensor over arrays or none, for whose life those that it believes are read-only."""
    held = _hold(arrays)
    made = None
    try:
        made = make()
    finally:
        if made is None:
            _end(held)
    if held and made is not None:
        weakref.finalize(made, _end, held).atexit = False
    return made


def believed(object) -> list[np.ndarray]:
    """The arrays of an ndarray, or of one of SciPy's matrices, that a tensor over them believes."""
    if isinstance(object, np.ndarray):
        return [object] if object.dtype == np.bool_ else []
    format = getattr(object, "format", None)
    if format in ("csr", "csc"):
        arrays = [object.indptr, object.indices]
    elif format == "coo":
        arrays = list(object.coords)
    else:
        return []
    arrays = [*arrays, object.data] if getattr(object.data, "dtype", None) == np.bool_ else arrays
    return [array for array in arrays if isinstance(array, np.ndarray)]


def owned(object):
    """The object, or one like it whose arrays that a tensor believes are copies: nobody else writes to them."""
    if type(object) is np.ndarray:
        return object.copy(order="K") if object.dtype == np.bool_ else object
    format = getattr(object, "format", None)
    if not type(object).__module__.startswith("scipy.sparse") or format not in ("csr", "csc", "coo"):
        return object
    names = ("coords",) if format == "coo" else ("indptr", "indices")
    own = object.__class__.__new__(object.__class__)
    own.__dict__.update(object.__dict__)
    for name in (*names, "data"):
        array = getattr(object, name)
        if name != "data" or getattr(array, "dtype", None) == np.bool_:
            setattr(own, name, tuple(map(np.copy, array)) if name == "coords" else np.copy(array))
    return own


def _chain(array: np.ndarray) -> list[np.ndarray]:
    """An array and those that it is a view of; none if a tensor copies it, or its memory is not NumPy's."""
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned and array.dtype.isnative and array.size):
        return []
    views, at = [], array
    while isinstance(at, np.ndarray):
        views.append(at)
        at = at.base
    return views if at is None or isinstance(at, _native.Tensor) else []


def _hold(arrays) -> list[_Held]:
    """Makes arrays read-only, and what they are views of."""
    held: list[_Held] = []
    if not arrays:
        return held
    with _LOCK:
        for array in arrays:
            for one in _chain(array):
                known = _HELD.get(id(one))
                if known is not None and known.array() is one:
                    known.count += 1
                elif one.flags.writeable:
                    one.setflags(write=False)
                    known = _HELD[id(one)] = _Held(one)
                else:
                    continue
                held.append(known)
    _settle()
    return held


def _end(held: list[_Held]) -> None:
    """What a tensor held that ended."""
    if held:
        _ENDED.append(held)
        _settle()


def _settle() -> None:
    """Counts down what tensors held that ended, unless somebody is about to hold something, who then does it."""
    while _ENDED and _LOCK.acquire(blocking=False):
        try:
            # Another thread may have taken the last.
            for one in reversed(_ENDED.popleft() if _ENDED else []):
                one.count -= 1
                if not one.count:
                    _give_back(one)
        finally:
            _LOCK.release()


def _give_back(one: _Held) -> None:
    """Makes an array writable that no tensor holds; a view once that of which it is one is."""
    array = one.array()
    if array is not None:
        base = _HELD.get(id(array.base))
        if base is not None and base.array() is array.base:
            base.views.append(one)
            return
        array.setflags(write=True)
    if _HELD.get(one.address) is one:
        del _HELD[one.address]
    for view in one.views:
        if not view.count:
            _give_back(view)
