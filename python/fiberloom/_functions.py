"""NumPy's functions of tensors and expressions: ``np.sum(T)``, ``np.concatenate([T, U])``, ``np.linalg.norm(T)``.

A function that `fiberloom.array` has, or a method, is answered by that. Of others dense tensors are converted to NumPy's
arrays, and sparse ones are refused.
"""

from __future__ import annotations

import inspect
from functools import cache

import numpy as np

from . import _arrays, _native
from ._lazy import Lazy, lazy
from ._operators import _namespace

__all__ = ["answered"]

_OURS = (_native.Tensor, Lazy)


def answered(function, types, given, named):
    """The value of one of NumPy's functions, as ``__array_function__`` gives it."""
    if not all(issubclass(kind, (*_OURS, np.ndarray)) for kind in types):
        return NotImplemented
    name = f"{function.__module__}.{function.__name__}"
    ours, signature = _known().get(name, (None, None))
    if ours is not None and _binds(signature, given, named):
        made = ours(*given, **named)
        if made is not NotImplemented:
            return made
    return function(*_converted(given, name), **_converted(named, name))


def _binds(signature, given, named) -> bool:
    try:
        signature.bind(*given, **named)
    except TypeError:
        return False
    return True


def _converted(object, name: str):
    """Arguments in which NumPy's arrays stand for dense tensors."""
    if isinstance(object, _OURS):
        tensor = object.compute() if isinstance(object, Lazy) else object
        view = tensor.dense_view()
        if view is None:
            format = tensor.format
            raise TypeError(f"`{name}` has no sparse form: of a tensor stored as {format} `to_numpy()` makes a dense array")
        return view
    if isinstance(object, (list, tuple)) and type(object) in (list, tuple):
        return type(object)(_converted(part, name) for part in object)
    if isinstance(object, dict):
        return {key: _converted(part, name) for key, part in object.items()}
    return object


def _array(object):
    """An array that has our methods."""
    return object if isinstance(object, _OURS) else _arrays.asarray(object)


def _are_sparse(*arrays) -> bool:
    return any(a.sparse if isinstance(a, Lazy) else isinstance(a, _native.Tensor) and a.dense_view() is None for a in arrays)


# ---- of NumPy's names

#: Functions that are methods, by the method's name where it is another.
_METHODS = {
    "all": "all", "amax": "max", "amin": "min", "any": "any", "argmax": "argmax", "argmin": "argmin", "around": "round",
    "count_nonzero": "count_nonzero", "cumprod": "cumprod", "cumsum": "cumsum", "diagonal": "diagonal",
    "dot": "dot", "max": "max", "mean": "mean", "min": "min", "nonzero": "nonzero", "prod": "prod", "ravel": "ravel",
    "repeat": "repeat", "round": "round", "squeeze": "squeeze", "std": "std", "sum": "sum", "swapaxes": "swapaxes",
    "take": "take", "trace": "trace", "var": "var",
}  # fmt: skip

#: Functions of the namespace that take what NumPy's do, under another name perhaps.
_NAMESPACE = {
    "broadcast_to": "broadcast_to", "expand_dims": "expand_dims", "matrix_transpose": "matrix_transpose",
    "moveaxis": "moveaxis", "permute_dims": "permute_dims", "stack": "stack", "tensordot": "tensordot", "tile": "tile",
    "unique_all": "unique_all", "unique_counts": "unique_counts", "unique_inverse": "unique_inverse",
    "unique_values": "unique_values", "unstack": "unstack",
}  # fmt: skip


def _clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None):
    return _array(a).clip(a_min if min is None else min, a_max if max is None else max, out)


def _concatenate(arrays, axis=0, *, dtype=None):
    made = _namespace().concat(arrays, axis=axis)
    return made if dtype is None else _namespace().astype(made, dtype, copy=False)


def _vstack(tup):
    arrays = [_array(a) for a in tup]
    return _namespace().concat([a.reshape((1, -1)) if a.ndim < 2 else a for a in arrays], axis=0)


def _hstack(tup):
    arrays = [a if a.ndim else a.reshape((1,)) for a in map(_array, tup)]
    return _namespace().concat(arrays, axis=min(1, arrays[0].ndim - 1))


def _where(condition, *values):
    if not values:
        return _array(condition).nonzero()
    test = _array(condition)
    return _namespace().where(test if test.dtype == np.bool_ else test != 0, *values)


def _moved(name: str, *parameters: str):
    """A function of the namespace whose parameters are named there and are in order at NumPy."""

    def function(m, *given, **named):
        return getattr(_namespace(), name)(_array(m), **dict(zip(parameters, given, strict=False)), **named)

    return function


def _roll(a, shift, axis=None):
    return _namespace().roll(_array(a), shift, axis=axis)


def _searchsorted(a, v, side="left", sorter=None):
    return _namespace().searchsorted(_array(a), _array(v), side=side, sorter=sorter)


def _ordered(name: str):
    """``sort`` and ``argsort``, which keep the order of equal elements, whatever kind is asked for."""

    def function(a, axis=-1, kind=None, *, stable=None):
        array = _array(a)
        return getattr(_namespace(), name)(array.ravel() if axis is None else array, axis=-1 if axis is None else axis)

    return function


def _unique(ar, return_index=False, return_inverse=False, return_counts=False):
    made = _namespace().unique_all(_array(ar))
    asked = zip(made, (True, return_index, return_inverse, return_counts), strict=True)
    given = tuple(part for part, is_asked in asked if is_asked)
    return given if len(given) > 1 else given[0]


def _outer(a, b):
    first, second = _array(a).ravel(), _array(b).ravel()
    return first.reshape((-1, 1)) * second.reshape((1, -1))


def _inner(a, b):
    first, second = _array(a), _array(b)
    if not first.ndim or not second.ndim:
        return first * second
    return _namespace().tensordot(first, second, axes=((-1,), (-1,)))


def _vdot(a, b):
    return _namespace().vecdot(_array(a).ravel(), _array(b).ravel())


def _close(a, b, rtol, atol, equal_nan: bool):
    xp, x, y = _namespace(), lazy(a), lazy(b)
    near = xp.logical_and(xp.abs(x - y) <= atol + rtol * xp.abs(y), xp.isfinite(y))
    close = xp.logical_or(near, x == y)
    return xp.logical_or(close, xp.logical_and(xp.isnan(x), xp.isnan(y))) if equal_nan else close


def _isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    close = _close(a, b, rtol, atol, equal_nan)
    return close if any(isinstance(o, Lazy) for o in (a, b)) else close.compute()


def _allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    if not _are_sparse(a, b):
        return NotImplemented
    return bool(_namespace().all(_isclose(a, b, rtol, atol, equal_nan)))


def _array_equal(a1, a2, equal_nan=False):
    if not _are_sparse(a1, a2):
        return NotImplemented
    first, second = _array(a1), _array(a2)
    if first.shape != second.shape:
        return False
    same = first == second
    if equal_nan:
        same = same | (_namespace().isnan(first) & _namespace().isnan(second))
    return bool(same.all())


def _norm(x, ord=None, axis=None, keepdims=False):
    """Frobenius' norm and those of vectors; of matrices the greatest sum of a row or column, too."""
    array = _array(x)
    size, matrix = abs(array), axis is None and array.ndim == 2 or isinstance(axis, tuple) and len(axis) == 2
    if ord is None or ord == "fro" and matrix or ord == 2 and not matrix:
        return _namespace().sqrt((array * array).sum(axis, keepdims=keepdims))
    if array.ndim > 2 and axis is None:
        return NotImplemented
    if ord in (1, np.inf, -np.inf) and not matrix:
        return size.sum(axis, keepdims=keepdims) if ord == 1 else (size.max if ord > 0 else size.min)(axis, keepdims=keepdims)
    if ord in (1, np.inf) and axis is None and not keepdims:
        return size.sum(0 if ord == 1 else 1).max()
    return NotImplemented


def _copy(a):
    return a.compute() if isinstance(a, Lazy) else _array(a).copy()


def _result_type(*arrays_and_dtypes):
    return np.result_type(*(a.dtype if isinstance(a, _OURS) else a for a in arrays_and_dtypes))


def _method(name: str):
    def function(a, *given, **named):
        return getattr(_array(a), name)(*given, **named)

    function.__signature__ = _signature(name, "a")
    return function


def _signature(name: str, first: str):
    """The signature of a method, of whose array NumPy says another name."""
    signature = inspect.signature(getattr(_native.Tensor, name))
    self, *rest = signature.parameters.values()
    return signature.replace(parameters=[self.replace(name=first), *rest])


_OTHERS = {
    "allclose": _allclose,
    "argsort": _ordered("argsort"),
    "array_equal": _array_equal,
    "clip": _clip,
    "concat": _concatenate,
    "concatenate": _concatenate,
    "copy": _copy,
    "diff": lambda a, n=1, axis=-1: _namespace().diff(_array(a), n=n, axis=axis),
    "flip": _moved("flip", "axis"),
    "hstack": _hstack,
    "imag": lambda val: _array(val).imag,
    "inner": _inner,
    "isclose": _isclose,
    "iscomplexobj": lambda x: False,
    "isrealobj": lambda x: True,
    "ndim": lambda a: a.ndim,
    "outer": _outer,
    "real": lambda val: _array(val).real,
    "reshape": lambda a, shape, order="C": _array(a).reshape(shape, order=order),
    "result_type": _result_type,
    "roll": _roll,
    "searchsorted": _searchsorted,
    "shape": lambda a: a.shape,
    "size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
    "sort": _ordered("sort"),
    "transpose": lambda a, axes=None: _array(a).transpose(axes),
    "tril": _moved("tril", "k"),
    "triu": _moved("triu", "k"),
    "unique": _unique,
    "vdot": _vdot,
    "vstack": _vstack,
    "where": _where,
}


@cache
def _known() -> dict:
    """The functions that are answered, with their signatures, by the names of NumPy's."""
    ours = {name: _method(method) for name, method in _METHODS.items()}
    ours |= {name: getattr(_namespace(), function) for name, function in _NAMESPACE.items()}
    ours |= _OTHERS
    named = {f"numpy.{name}": function for name, function in ours.items()} | {"numpy.linalg.norm": _norm}
    return {name: (function, inspect.signature(function)) for name, function in named.items()}
