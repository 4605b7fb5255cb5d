"""The methods that NumPy's arrays and SciPy's matrices have, of tensors and of expressions.

A method is a row: its name, what it takes, as NumPy writes that, and which function of `fiberloom.array` it is.
"""

from __future__ import annotations

import inspect
import math
from functools import cache

import numpy as np

from ._operators import _computed, _namespace
from ._plans import planned
from .errors import Error

__all__ = ["attach", "attach_to_tensors"]

#: What the parameters of methods are.
_SAID = {
    "axis": "The axis, or several where it folds over them; ``None`` for all elements.",
    "axis1, axis2": "The two axes of the diagonal.",
    "copy": "Whether what is so already is copied.",
    "decimals": "How many digits stand behind the point.",
    "ddof": "How many elements less the squares are divided by.",
    "dtype": "The type of the result; if absent, the one that NumPy's function gives.",
    "indices": "Whole numbers; negative ones count from the end.",
    "keepdims": "Whether the axes stay, with extent 1.",
    "min, max": "Arrays or numbers; ``None`` bounds nothing.",
    "n": "An array or a number.",
    "offset": "The diagonal: 0 is the main one, those above it are positive.",
    "order": "``C``: row-major, the one order there is.",
    "other": "An array, or a number.",
    "out": "``None``: a tensor does not change, so nothing is written to it.",
    "format": "Its name.",
    "repeats": "How often: a number, or one for each element along the axis.",
    "side": "Of equal elements before the first (``left``) or behind the last (``right``).",
    "sorter": "The places of the elements in ascending order, if they are not.",
    "v": "An array, or a number.",
    "x": "An array.",
}


def _made(name: str, takes: str, says: str, body, gives: str = "Tensor or Lazy"):
    """A method with a signature like NumPy's; `body` takes the arguments by name, but for `out` and `order`."""
    head = f"lambda self{', ' + takes if takes else ''}"
    parameters = list(inspect.signature(eval(f"{head}: None")).parameters)[1:]
    passed = ", ".join(["self", *(f"{p}={p}" for p in parameters if p not in ("out", "order"))])
    asked = [test for p, test in (("out", "out is None"), ("order", "order in ('C', None)")) if p in parameters]
    refuse = ", ".join([f"{name!r}", *(f"{p}={p}" for p in ("out", "order") if p in parameters)])
    # Of the parameters a function of Python's, which binds arguments faster than a signature does.
    text = f"{head}: body({passed})" + (f" if {' and '.join(asked)} else refuse({refuse})" if asked else "")
    method = eval(text, {"body": body, "refuse": _refused})
    method.__name__ = method.__qualname__ = name
    method.__module__ = __name__
    method.__doc__ = _documented(says, parameters, gives)
    return method


def _refused(name: str, out=None, order="C"):
    """What is asked of a method that no tensor does."""
    if out is not None:
        raise Error(f"`{name}` takes no `out`: a tensor does not change")
    raise Error(f"`{name}`: elements are in row-major order, `order='C'`")


def _documented(says: str, takes: list[str], gives: str) -> str:
    described = []
    for names, text in _SAID.items():
        if set(names.split(", ")) <= set(takes):
            described.append(f"{names}\n        {text}")
    parameters = "\n    ".join(["", "Parameters", "----------", *described, ""]) if described else ""
    return f"{says}\n    {parameters}\n    Returns\n    -------\n    {gives}\n    "


#: Functions that take the type of their result; for others elements are converted before.
_TYPED = "sum", "prod", "cumulative_sum", "cumulative_prod"


def _function(name: str):
    """A function of the namespace."""

    def body(self, dtype=None, **named):
        if dtype is not None and name in _TYPED:
            named["dtype"] = dtype
        elif dtype is not None:
            self = _namespace().astype(self, dtype, copy=False)
        return getattr(_namespace(), name)(self, **named)

    return body


_FOLDED = "axis=None, dtype=None, out=None, keepdims=False"
_CHOSEN = "axis=None, out=None, keepdims=False"

#: Of each method what it takes, what it says of itself, and the function.
_FOLDS = {
    "sum": (_FOLDED, "Sums over some axes, or all.", "sum"),
    "prod": (_FOLDED, "Products over some axes, or all.", "prod"),
    "mean": (_FOLDED, "Arithmetic means over some axes, or all.", "mean"),
    "max": (_CHOSEN, "Greatest elements over some axes, or all; NaN where one is.", "max"),
    "min": (_CHOSEN, "Least elements over some axes, or all; NaN where one is.", "min"),
    "any": (_CHOSEN, "Whether an element over some axes is not 0.", "any"),
    "all": (_CHOSEN, "Whether no element over some axes is 0.", "all"),
    "argmax": (_CHOSEN, "Where the greatest elements are, the first of them.", "argmax"),
    "argmin": (_CHOSEN, "Where the least elements are, the first of them.", "argmin"),
    "count_nonzero": ("axis=None, *, keepdims=False", "How many elements over some axes are not 0.", "count_nonzero"),
}


def _spread(name: str):
    def body(self, ddof, **named):
        return _function(name)(self, correction=ddof, **named)

    return body


def _running(name: str):
    def body(self, axis, dtype):
        array = flat(self) if axis is None else self
        return _function(name)(array, axis=0 if axis is None else axis, dtype=dtype)

    return body


def flat(self):
    """The elements in row-major order."""
    return _namespace().reshape(self, (-1,))


def _extents(given: tuple) -> tuple:
    """The numbers of ``f(2, 3)`` and of ``f((2, 3))``."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else given


def reshape(self, *shape, order="C"):
    """The elements in row-major order, in another shape.

    Parameters
    ----------
    shape
        Extents, one after the other or in a tuple; one may be -1: what is left.
    order
        ``C``: row-major, the one order there is.

    Returns
    -------
    Tensor or Lazy
    """
    if order not in ("C", None):
        raise Error("`reshape`: elements are in row-major order, `order='C'`")
    return _namespace().reshape(self, _extents(shape))


def transpose(self, *axes):
    """The modes in another order: reversed, or mode `k` is mode ``axes[k]``.

    Parameters
    ----------
    axes
        Each axis once, one after the other or in a tuple; none, or ``None``, reverses them.

    Returns
    -------
    Tensor or Lazy
        Of a `Tensor` one over the same arrays.
    """
    given = () if axes in ((), (None,)) else _extents(axes)
    return _namespace().permute_dims(self, tuple(given) if given else tuple(range(self.ndim))[::-1])


def _squeezed(self, axis):
    ones = tuple(n for n, extent in enumerate(self.shape) if extent == 1) if axis is None else axis
    return _namespace().squeeze(self, ones)


def _swapped(self, axis1, axis2):
    order = list(range(self.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return _namespace().permute_dims(self, tuple(order))


def _dot(self, other):
    rank = other.ndim if hasattr(other, "ndim") else np.ndim(other)
    if not rank or not self.ndim:
        return _namespace().multiply(self, other)
    if rank <= 2 and self.ndim <= 2:
        return _namespace().matmul(self, other)
    return _namespace().tensordot(self, other, axes=((-1,), (-min(rank, 2),)))


def _rounded(self, decimals):
    if not decimals or self.dtype.kind in "biu" and decimals > 0:
        return _namespace().round(self)
    scale = 10.0 ** abs(decimals)
    made = _namespace().round(self * scale if decimals > 0 else self / scale)
    made = made / scale if decimals > 0 else made * scale
    return _namespace().astype(made, self.dtype, copy=False)


def _diagonal(self, offset, axis1, axis2):
    from ._lazy import finished, lazy
    from .array._reductions import axis_of
    from .array._shapes import moved

    source = lazy(self)
    first, second = axis_of(axis1, source.ndim), axis_of(axis2, source.ndim)
    if first == second:
        raise Error(f"`diagonal` takes two axes, not {axis1} twice")
    begin = max(-offset, 0), max(offset, 0)
    extent = max(min(source.shape[first] - begin[0], source.shape[second] - begin[1]), 0)
    others = [n for n in range(source.ndim) if n not in (first, second)]

    def indices(at):
        own = dict(zip(others, at, strict=False))
        own |= {first: at[-1].along(begin[0], 1), second: at[-1].along(begin[1], 1)}
        return [own[n] for n in range(source.ndim)]

    return finished(moved(source, [*(source.shape[n] for n in others), extent], indices), self)


_diagonal = planned(_diagonal)


def _trace(self, offset, axis1, axis2, dtype):
    return _namespace().sum(_diagonal(self, offset, axis1, axis2), axis=-1, dtype=dtype)


def _repeated(self, repeats, axis):
    return _namespace().repeat(self, repeats, axis=axis)


def _taken(self, indices, axis):
    places = indices if hasattr(indices, "dtype") else np.asarray(indices)
    return _namespace().take(flat(self), places) if axis is None else _namespace().take(self, places, axis=axis)


def _applied(self, x):
    """The product with a dense array, dense whatever the format is: SciPy's solvers make ndarrays of it."""
    made = _namespace().matmul(self, x)
    is_stored = hasattr(made, "to") and getattr(x, "format", "dense") == "dense"
    return made.to("dense") if is_stored else made


def _two(function: str, parameter: str = "other"):
    return lambda self, **named: getattr(_namespace(), function)(self, named[parameter])


_CROSSED = "offset=0, axis1=0, axis2=1"
#: Of each method what it takes, what it says of itself, what it does, and what it gives if that is no array.
_METHODS = {
    "var": ("axis=None, dtype=None, out=None, ddof=0, keepdims=False", "Variances over some axes, or all.", _spread("var")),
    "std": (
        "axis=None, dtype=None, out=None, ddof=0, keepdims=False",
        "Standard deviations over some axes, or all.",
        _spread("std"),
    ),
    "cumsum": (
        "axis=None, dtype=None, out=None",
        "Sums of each element and those before it along an axis, or of all.",
        _running("cumulative_sum"),
    ),
    "cumprod": (
        "axis=None, dtype=None, out=None",
        "Products of each element and those before it along an axis, or of all.",
        _running("cumulative_prod"),
    ),
    "flatten": ("order='C'", "The elements in row-major order.", flat),
    "ravel": ("order='C'", "The elements in row-major order.", flat),
    "squeeze": ("axis=None", "Without some modes of extent 1, or all of them.", _squeezed),
    "swapaxes": ("axis1, axis2", "Two modes exchanged.", _swapped),
    "dot": ("other, out=None", "The product, as of `numpy.dot`.", _dot),
    "conj": ("", "Itself: numbers are real.", lambda self: self),
    "conjugate": ("", "Itself: numbers are real.", lambda self: self),
    "round": ("decimals=0, out=None", "The nearest numbers of so many digits, of two the even one.", _rounded),
    "clip": (
        "min=None, max=None, out=None",
        "Elements, none of them below `min` or above `max`.",
        lambda self, min, max: _namespace().clip(self, min, max),
    ),
    "diagonal": (_CROSSED, "The elements whose indices along two axes differ by `offset`.", _diagonal),
    "trace": (f"{_CROSSED}, dtype=None, out=None", "Sums of diagonals.", _trace),
    "nonzero": ("", "The coordinates of the elements that are not 0.", _function("nonzero"), "tuple of Tensor or Lazy"),
    "repeat": ("repeats, axis=None", "Each element several times.", _repeated),
    "take": ("indices, axis=None, out=None", "Elements at places along an axis, or in row-major order.", _taken),
    "multiply": ("other", "The product of each element and another array's.", _two("multiply")),
    "maximum": ("other", "The greater of each element and another array's.", _two("maximum")),
    "minimum": ("other", "The less of each element and another array's.", _two("minimum")),
    "power": ("n", "Each element to a power.", _two("pow", "n")),
    "matvec": ("x", "``self @ x``, as a `scipy.sparse.linalg.LinearOperator` has it.", lambda self, x: _applied(self, x)),
    "matmat": ("x", "``self @ x``.", lambda self, x: _applied(self, x)),
    "rmatvec": ("x", "``self.T @ x``.", lambda self, x: _applied(self.T, x)),
    "rmatmat": ("x", "``self.T @ x``.", lambda self, x: _applied(self.T, x)),
}


@cache
def _shared() -> dict:
    """The methods that tensors and expressions have, by name."""
    folds = {name: _made(name, takes, says, _function(function)) for name, (takes, says, function) in _FOLDS.items()}
    return folds | {name: _made(name, *row) for name, row in _METHODS.items()}


def attach(kind: type) -> None:
    """Gives a class the methods that tensors and expressions have."""
    for name, method in _shared().items():
        setattr(kind, name, method)
    kind.reshape, kind.transpose = reshape, transpose
    kind.real = property(lambda self: self, doc="Itself: numbers are real.")
    kind.imag = property(lambda self: _namespace().imag(self), doc="0: numbers are real.")


# ---- of tensors alone

#: Of each attribute of SciPy's matrices in which formats it is which array.
_HELD = {
    "data": {"csr": "values", "csc": "values", "coo": "values", "sparse": "values"},
    "indices": {"csr": "crd1", "csc": "crd1"},
    "indptr": {"csr": "pos1", "csc": "pos1"},
    "row": {"coo": "crd0"},
    "col": {"coo": "crd1"},
}


def _absent(self, name: str, formats) -> AttributeError:
    return AttributeError(f"a tensor stored as {self.format} has no `{name}`: one of {', '.join(formats)} has, `to(…)`")


def _held(name: str):
    of = _HELD[name]

    def array(self):
        if self.format not in of or name in ("row", "col") and self.ndim != 2:
            raise _absent(self, name, of)
        return self.arrays()[of[self.format]]

    return property(array, doc=f"SciPy's array `{name}`, over the same memory, of {', '.join(of)}.")


def coords(self) -> tuple[np.ndarray, ...]:
    """SciPy's coordinates of what is stored, an array for each mode, of coo."""
    if self.format not in ("coo", "sparse"):
        raise _absent(self, "coords", ("coo",))
    arrays = self.arrays()
    return tuple(arrays[f"crd{level}"] for level in range(self.ndim))


def astype(self, dtype, *, copy=True):
    """Elements in another type: see `fiberloom.array.astype`.

    Parameters
    ----------
    dtype
        The type.
    copy
        Whether an array that has the type already is copied.

    Returns
    -------
    Tensor
    """
    return _namespace().astype(self, dtype, copy=copy)


def item(self, *args):
    """An element as a number of Python's.

    Parameters
    ----------
    args
        Its coordinates, or its place in row-major order; nothing of an array of one element.

    Returns
    -------
    bool, int or float
    """
    at = _extents(args)
    if not at and math.prod(self.shape) != 1:
        raise ValueError(f"`item` of an array of shape {self.shape} takes the place of an element")
    if len(at) == 1 and self.ndim > 1:
        at = tuple(int(n) for n in np.unravel_index(at[0] % self.size, self.shape))
    return _computed(self[at or (0,) * self.ndim]).number()


def _stored(self, axis):
    if axis is None:
        return self.nnz
    coordinates = self.to("coo").coords
    kept = axis % self.ndim if self.ndim == 2 else None
    if kept is None:
        raise Error(f"`getnnz` along an axis is of two modes, not {self.ndim}")
    return np.bincount(coordinates[1 - kept], minlength=self.shape[1 - kept])


def _ordered(self, axis):
    array = flat(self) if axis is None else self
    return _namespace().argsort(array, axis=-1 if axis is None else axis)


def _sought(self, v, side, sorter):
    return _namespace().searchsorted(self, v if hasattr(v, "dtype") else np.asarray(v), side=side, sorter=sorter)


def _in_format(self, format, copy):
    if format in ("dia", "lil", "dok", "bsr"):
        return self.to_scipy().asformat(format)
    return _stored_as(format)(self, copy)


def _ndarray(self):
    return self.to_numpy(copy=True)


def _copied(self):
    from ._arrays import asarray

    return asarray(self, copy=True)


def _stored_as(format: str):
    def body(self, copy):
        made = self.to(format)
        return _copied(made) if copy and made is self else made

    return body


_OF_TENSORS = {
    "argsort": ("axis=-1", "The places of the elements along an axis in order, of all in row-major order.", _ordered, "Tensor"),
    "searchsorted": ("v, side='left', sorter=None", "Where elements would be put into a sorted vector.", _sought, "Tensor"),
    "asformat": (
        "format, copy=False",
        "The same tensor in another format; in those that SciPy alone has a SciPy array.",
        _in_format,
        "Tensor or scipy.sparse.sparray",
    ),
    "copy": ("order='C'", "The same tensor with arrays of its own.", _copied, "Tensor"),
    "tolist": ("", "The elements as lists of lists of numbers.", lambda self: self.to_numpy().tolist(), "list"),
    "toarray": ("order=None, out=None", "The values of all elements, in memory of their own.", _ndarray, "numpy.ndarray"),
    "todense": ("order=None, out=None", "The values of all elements, in memory of their own.", _ndarray, "numpy.ndarray"),
    "sum_duplicates": ("", "Does nothing: entries are in order, each once.", lambda self: None, "None"),
    "sort_indices": ("", "Does nothing: entries are in order.", lambda self: None, "None"),
    "getnnz": ("axis=None", "How many elements are stored, or of each row or column.", _stored, "int or numpy.ndarray"),
}


#: The functions of elements that are methods of SciPy's matrices, by what they are in the namespace.
_OF_ELEMENTS = {
    "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctanh": "atanh", "ceil": "ceil", "expm1": "expm1",
    "floor": "floor", "log1p": "log1p", "rint": "round", "sign": "sign", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt",
    "tan": "tan", "tanh": "tanh", "trunc": "trunc",
}  # fmt: skip


def attach_to_tensors(kind: type) -> None:
    """Gives the class of tensors the methods and attributes that expressions have not."""
    for name, row in _OF_TENSORS.items():
        setattr(kind, name, _made(name, *row))
    for format in ("csr", "csc", "coo"):
        name, says = f"to{format}", f"The same tensor stored as {format}."
        setattr(kind, name, _made(name, "copy=False", says, _stored_as(format), "Tensor"))
    for format in ("dia", "lil", "dok", "bsr"):
        body = lambda self, copy, format=format: _in_format(self, format, copy)  # noqa: E731
        says = f"SciPy's array in its format `{format}`, with memory of its own."
        setattr(kind, f"to{format}", _made(f"to{format}", "copy=False", says, body, f"scipy.sparse.{format}_array"))
    for name, function in _OF_ELEMENTS.items():
        says = f"`fiberloom.array.{function}`, as SciPy's matrices have it."
        setattr(kind, name, _made(name, "", says, _function(function), "Tensor"))
    for name in _HELD:
        setattr(kind, name, _held(name))
    kind.has_sorted_indices = kind.has_canonical_format = property(lambda self: True, doc="Entries are in order, each once.")
    kind.itemsize = property(lambda self: self.dtype.itemsize, doc="How many bytes a value has.")
    kind.coords, kind.astype, kind.item = property(coords), astype, item
