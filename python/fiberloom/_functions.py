"""NumPy's functions of tensors and expressions: ``np.sum(T)``, ``np.concatenate([T, U])``, ``np.linalg.norm(T)``.

A function that `fiberloom.array` has, or a method, is answered by that. Of others dense tensors are converted to NumPy's
arrays, and sparse ones are refused.
"""

from __future__ import annotations

import inspect
from functools import cache

import numpy as np

from . import _arrays, _convert, _native
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


def applied(ufunc, operands):
    """What a function of elements that the namespace has not gives of ndarrays, in which dense tensors stand."""
    return ufunc(*(_converted(operand, f"numpy.{ufunc.__name__}") for operand in operands))


def _binds(signature, given, named) -> bool:
    if len(given) == 1 and not named:
        return True  # Each takes an array, and may take others.
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
            raise TypeError(f"`{name}` has no sparse form, and this tensor is stored as {tensor.format}: write {_instead(name)}")
        return view
    if isinstance(object, (list, tuple)) and type(object) in (list, tuple):
        return type(object)(_converted(part, name) for part in object)
    if isinstance(object, dict):
        return {key: _converted(part, name) for key, part in object.items()}
    return object


#: Of functions without a sparse form the line to write instead.
_INSTEAD = {
    "numpy.histogram": "`np.histogram(T.data, bins)`, of what is stored",
    "numpy.insert": "`np.concatenate([T[:i], rows, T[i:]])`",
    "numpy.linalg.inv": "`scipy.sparse.linalg.inv(T.to_scipy().tocsc())`",
    "numpy.linalg.solve": "`scipy.sparse.linalg.spsolve(T.to_scipy(), b)`",
    "numpy.linalg.svd": "`scipy.sparse.linalg.svds(T, k)`",
    "numpy.savetxt": "`scipy.io.mmwrite(file, T.to_scipy())`",
}


def _instead(name: str) -> str:
    dense = f"`{name}(T.to_numpy())`"
    return f"{_INSTEAD[name]}, or {dense}" if name in _INSTEAD else dense


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


def _argwhere(a):
    return _namespace().stack(_array(a).nonzero(), axis=-1)


def _flatnonzero(a):
    return _array(a).ravel().nonzero()[0]


def _nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    array, xp = _array(x), _namespace()
    if array.dtype.kind != "f":
        return array
    most = np.finfo(array.dtype).max.item()
    array = xp.where(xp.isnan(array), nan, array)
    array = xp.where(array == np.inf, most if posinf is None else posinf, array)
    return xp.where(array == -np.inf, -most if neginf is None else neginf, array)


def _ends(extent: int, parts) -> list[int]:
    """Where the parts of an extent begin, and the last ends: so many, the first of which are longer, or at places."""
    if isinstance(parts, (int, np.integer)):
        least, longer = divmod(extent, int(parts))
        return [n * least + min(n, longer) for n in range(parts + 1)]
    places = [min(max(p + extent if p < 0 else p, 0), extent) for p in map(int, parts)]
    return [0, *places, extent]


def _array_split(ary, indices_or_sections, axis=0):
    array = _array(ary)
    axis %= array.ndim
    ends = _ends(array.shape[axis], indices_or_sections)
    return [array[(*[slice(None)] * axis, slice(a, max(a, b)))] for a, b in zip(ends, ends[1:], strict=False)]


def _split(ary, indices_or_sections, axis=0):
    parts = indices_or_sections
    if isinstance(parts, (int, np.integer)) and _array(ary).shape[axis] % parts:
        raise ValueError(f"an extent of {_array(ary).shape[axis]} is not split in {parts} equal parts: write `np.array_split`")
    return _array_split(ary, parts, axis)


def _rot90(m, k=1, axes=(0, 1)):
    array, (first, second) = _array(m), (axis % m.ndim for axis in axes)
    if k % 4 == 2:
        return _namespace().flip(array, axis=(first, second))
    if k % 4 == 0:
        return array
    flipped = _namespace().flip(array, axis=second) if k % 4 == 1 else array
    turned = flipped.swapaxes(first, second)
    return turned if k % 4 == 1 else _namespace().flip(turned, axis=second)


def _einsum(*operands, out=None, optimize=False):
    spec, *arrays = operands
    if not isinstance(spec, str) or out is not None or any(isinstance(a, Lazy) for a in arrays):
        return NotImplemented
    from ._einsum import einsum

    return einsum(spec, *arrays)


def _kron(a, b):
    first, second = _array(a), _array(b)
    rank = max(first.ndim, second.ndim)
    shapes = [(1,) * (rank - array.ndim) + array.shape for array in (first, second)]
    wide = first.reshape([n for extent in shapes[0] for n in (extent, 1)])
    made = wide * second.reshape([n for extent in shapes[1] for n in (1, extent)])
    return made.reshape([m * n for m, n in zip(*shapes, strict=True)])


def _diag(v, k=0):
    array, xp = _array(v), _namespace()
    if array.ndim == 2:
        return array.diagonal(k)
    padded = xp.concat([array, xp.zeros(abs(k), dtype=array.dtype)]) if k else array
    made = xp.eye(padded.shape[0], k=k, dtype=array.dtype)
    return made * (padded.reshape((-1, 1)) if k >= 0 else padded)


def _like(name: str):
    def function(a, *given, dtype=None, shape=None, **named):
        if shape is not None or named:
            return NotImplemented
        return getattr(_namespace(), name)(_array(a), *given, dtype=dtype)

    return function


def _append(arr, values, axis=None):
    return _namespace().concat([_array(arr), _array(values)], axis=axis)


def _delete(arr, obj, axis=None):
    array = _array(arr).ravel() if axis is None else _array(arr)
    axis = 0 if axis is None else axis % array.ndim
    places = np.arange(array.shape[axis])
    kept = np.delete(places, obj)
    return _namespace().take(array, kept, axis=axis)


def _nothing(shape, like):
    """A sparse array of which nothing is stored."""
    columns = [np.zeros(0, np.int64)] * len(shape)
    return _convert.listed(shape, columns, np.zeros(0, like.dtype), None, None, "array")


def _pad(array, pad_width, mode="constant", **named):
    made = _array(array)
    if mode != "constant" or np.any(named.get("constant_values", 0)) or not _are_sparse(made) or not made.ndim:
        return NotImplemented
    widths = np.broadcast_to(np.asarray(pad_width), (made.ndim, 2)).tolist()
    for axis, (before, behind) in enumerate(widths):
        edge = lambda extent, axis=axis: _nothing((*made.shape[:axis], extent, *made.shape[axis + 1 :]), made)  # noqa: E731
        parts = [edge(before)] * bool(before) + [made] + [edge(behind)] * bool(behind)
        made = _namespace().concat(parts, axis=axis)
    return made


def _average(a, axis=None, weights=None, *, keepdims=False):
    array = _array(a)
    if weights is None:
        return array.mean(axis, keepdims=keepdims)
    w = _array(weights)
    if w.shape != array.shape:
        if not isinstance(axis, int) or w.ndim != 1:
            return NotImplemented
        w = w.reshape([-1 if n == axis % array.ndim else 1 for n in range(array.ndim)])
    total = w.sum() if w.ndim != array.ndim or axis is None else w.sum(axis, keepdims=keepdims)
    return (array * w).sum(axis, keepdims=keepdims) / total


def _ptp(a, axis=None):
    array = _array(a)
    return array.max(axis) - array.min(axis)


def _without_nan(name: str, instead: float):
    """A fold in whose place of NaN another number stands."""

    def function(a, axis=None, *, keepdims=False):
        array, xp = _array(a), _namespace()
        if array.dtype.kind != "f":
            return getattr(array, name)(axis, keepdims=keepdims)
        none = xp.isnan(array)
        made = getattr(xp.where(none, instead, array), name)(axis, keepdims=keepdims)
        # Of NaN alone there is neither a greatest nor a least number.
        return xp.where(none.all(axis, keepdims=keepdims), np.nan, made) if name in ("max", "min") else made

    return function


def _nanmean(a, axis=None, *, keepdims=False):
    array = _array(a)
    if array.dtype.kind != "f":
        return array.mean(axis, keepdims=keepdims)
    count = (~_namespace().isnan(array)).sum(axis, keepdims=keepdims)
    return _without_nan("sum", 0.0)(array, axis, keepdims=keepdims) / count.astype(array.dtype)


def _quantile(a, q, axis=None):
    """Of each line the element at a share of it in ascending order, between two of them a mean."""
    array, xp = _array(a), _namespace()
    if not isinstance(q, (int, float, np.floating, np.integer)) or not isinstance(axis, (int, type(None))):
        return NotImplemented
    array, axis = (array.ravel(), 0) if axis is None else (array, axis % array.ndim)
    extent = array.shape[axis]
    if not 0 <= q <= 1 or not extent:
        return NotImplemented
    ordered = xp.sort(array.astype(np.float64) if array.dtype.kind != "f" else array, axis=axis)
    at = (extent - 1) * float(q)
    below, share = int(at), at - int(at)
    line = lambda n: ordered[(*[slice(None)] * axis, n)]  # noqa: E731
    made = line(below)
    made = made + (line(below + 1) - made) * share if share else made
    # What is no number stands last, and then nothing is in the middle.
    last = line(extent - 1)
    return xp.where(xp.isnan(last), last, made)


def _percentile(a, q, axis=None):
    return _quantile(a, q / 100 if isinstance(q, (int, float)) else q, axis)


def _cov(m, y=None, rowvar=True):
    array = _array(m)
    if y is not None or not rowvar or array.ndim != 2:
        return NotImplemented
    deviation = array - array.mean(1, keepdims=True)
    return deviation @ deviation.T / (array.shape[1] - 1)


def _corrcoef(x, y=None, rowvar=True):
    made = _cov(x, y, rowvar)
    if made is NotImplemented:
        return made
    spread = _namespace().sqrt(made.diagonal())
    return made / spread.reshape((-1, 1)) / spread


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
    "append": _append,
    "argwhere": _argwhere,
    "array_split": _array_split,
    "average": _average,
    "corrcoef": _corrcoef,
    "cov": _cov,
    "delete": _delete,
    "diag": _diag,
    "einsum": _einsum,
    "empty_like": _like("empty_like"),
    "flatnonzero": _flatnonzero,
    "fliplr": lambda m: _namespace().flip(_array(m), axis=1),
    "flipud": lambda m: _namespace().flip(_array(m), axis=0),
    "full_like": _like("full_like"),
    "hsplit": lambda ary, parts: _split(ary, parts, 1 if ary.ndim > 1 else 0),
    "kron": _kron,
    "median": lambda a, axis=None: _quantile(a, 0.5, axis),
    "nan_to_num": _nan_to_num,
    "nanmax": _without_nan("max", -np.inf),
    "nanmean": _nanmean,
    "nanmin": _without_nan("min", np.inf),
    "nanprod": _without_nan("prod", 1.0),
    "nansum": _without_nan("sum", 0.0),
    "ones_like": _like("ones_like"),
    "pad": _pad,
    "percentile": _percentile,
    "ptp": _ptp,
    "quantile": _quantile,
    "rot90": _rot90,
    "split": _split,
    "vsplit": lambda ary, parts: _split(ary, parts, 0),
    "zeros_like": _like("zeros_like"),
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
