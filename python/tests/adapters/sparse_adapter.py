"""A pytest plugin that puts kernels of ours under PyData's `sparse`: `pytest -p sparse_adapter --pyargs sparse.numba_backend.tests…`.

The library's front stays: it parses arguments, raises its errors, and determines types and fill values. Where it would compute,
a program of the language does, over the operands' own arrays, and the result becomes the class that the library would give.
"""

from __future__ import annotations

import operator
import sys

import numpy as np
import sparse
from sparse.numba_backend import _common, _umath, _utils
from sparse.numba_backend._compressed import GCXS
from sparse.numba_backend._coo import COO, common as coo_common, core as coo_core
from sparse.numba_backend._dok import DOK
from sparse.numba_backend._sparse_array import SparseArray

import expressions
import programs
from expressions import Expression, converted, language_type
from fiberloom._types import literal
from ledger import Ledger, NotSaid, Plugin, options

LEDGER = Ledger()


def pytest_addoption(parser):
    options(parser)


def pytest_configure(config):
    config.pluginmanager.register(Plugin(LEDGER, config), "fiberloom-pins")


def _put(operation: str, owners, name: str):
    """Puts our function in the place of `name` in each of the owners, and wherever else the library's own stands by that name."""

    def put(ours):
        original = owners[0].__dict__[name]
        call = LEDGER.answers(operation, original)(ours)
        for owner in owners:
            setattr(owner, name, call)
        for module in [module for key, module in sys.modules.items() if key.partition(".")[0] == "sparse"]:
            for key, value in list(vars(module).items()):
                if value is original:
                    setattr(module, key, call)
        return call

    return put


# Results ------------------------------------------------------------------------------------------------------------------


def _coo(tensor, fill) -> COO:
    """A result as the library's class: with its fill value, and nothing stored that equals it."""
    fill = np.asarray(fill, dtype=tensor.dtype)[()]
    if tensor.ndim == 0:
        value = tensor.to_numpy().reshape(1)
        return COO(np.empty((0, 1), dtype=np.intp), value, shape=(), fill_value=fill, prune=True)
    arrays = tensor.to("coo", fill=fill).arrays()
    columns = np.stack([arrays[f"crd{mode}"] for mode in range(tensor.ndim)]).astype(np.intp, copy=False)
    # The language promises neither the sign of a zero (in `algebraic` mode) nor that of NaN: what is stored and the fill may differ in it.
    kept = ~_utils.equivalent(arrays["values"], fill, loose=True)
    return COO(
        columns[:, kept], arrays["values"][kept], shape=tensor.shape, fill_value=fill, has_duplicates=False, sorted=True
    )


def _gcxs(tensor, fill) -> GCXS:
    if tensor.ndim != 2:
        return _coo(tensor, fill).asformat("gcxs")
    fill = np.asarray(fill, dtype=tensor.dtype)[()]
    arrays = tensor.to("csr", fill=fill).arrays()
    parts = (arrays["values"], arrays["crd1"].astype(np.intp), arrays["pos1"].astype(np.intp))
    return GCXS(parts, shape=tensor.shape, compressed_axes=(0,), fill_value=fill, prune=True)


def _as(cls, tensor, fill=0):
    """A result as an array of a class."""
    if cls is np.ndarray:
        return tensor.to_numpy()
    if cls is GCXS:
        return _gcxs(tensor, fill)
    made = _coo(tensor, fill)
    return made if cls is COO else made.asformat("dok")


_FORMATS = {np.ndarray: "dense", GCXS: "csr"}


def _format(cls, rank: int) -> str:
    """The format in which a result is assembled for a class."""
    if rank == 0 or cls is np.ndarray:
        return "dense"
    return "csr" if cls is GCXS and rank == 2 else "coo"


def _values(array):
    """Whatever values an operand has: those that are stored, and what is not stored."""
    if isinstance(array, DOK):
        return np.array([*array.data.values(), array.fill_value])
    if isinstance(array, SparseArray):
        return np.append(array.data, array.fill_value)
    return array.data if hasattr(array, "tocsr") else array


def _mode(partial, *arrays) -> dict:
    return programs.mode(partial, *map(_values, arrays))


# Element by element -------------------------------------------------------------------------------------------------------


@_put("elemwise", [_umath._Elemwise], "get_result")
def _elemwise(self):
    if self.args is None:
        raise NotSaid("operands that are no arrays")
    names, operands, shapes = [], {}, []
    for n, arg in enumerate(self.args):
        if isinstance(arg, (COO, np.ndarray)) and np.ndim(arg):
            operands[f"T{n}"] = arg
            language_type(arg.dtype)
            names.append(Expression(programs.access(f"T{n}", arg.shape, self.shape), arg.dtype))
        elif np.ndim(arg) == 0 and np.asarray(arg).dtype.kind in "biuf":
            names.append(arg if type(arg) in (bool, int, float) else np.asarray(arg)[()])
        else:
            raise NotSaid(f"no type {np.asarray(arg).dtype.name}")
    if not operands:
        raise NotSaid("operands without modes")
    what = expressions.traced(self.func, names, self.dtype, **self.kwargs)
    out = ", ".join(programs.indices(len(self.shape)))
    cls = np.ndarray if self._dense_result else self.out_type
    tensor = programs.run(
        f"Out[{out}] = {what.text}", operands, _format(cls, len(self.shape)), _mode(what.partial, *self.args)
    )
    if cls is np.ndarray:
        return tensor.to_numpy()
    return _coo(tensor, self.fill_value).asformat(self.out_type, **self.out_kwargs)


# Products -----------------------------------------------------------------------------------------------------------------


def _product_class(a, b):
    sparse_ones = [x for x in (a, b) if isinstance(x, SparseArray) or hasattr(x, "tocsr")]
    if len(sparse_ones) < 2:
        return np.ndarray
    return COO if all(isinstance(x, COO) for x in sparse_ones) else GCXS


def _checked(a, b):
    for x in (a, b):
        if not hasattr(x, "ndim") or not hasattr(x, "dtype"):
            raise NotSaid("an operand that is no array")
        language_type(x.dtype)
    if any(isinstance(x, SparseArray) and x.fill_value != 0 for x in (a, b)):
        raise NotSaid("a product of arrays whose fill is not 0, which the library refuses")
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        raise NotSaid("two ndarrays")


def _product(a, a_indices, b, b_indices, out, cls):
    """A sum of products as an array of a class; a scalar where the library gives one."""
    dtype = np.result_type(a.dtype, b.dtype)
    factors = [
        converted(Expression(f"{name}[{', '.join(at)}]", x.dtype), dtype).text
        for name, x, at in (("A", a, a_indices), ("B", b, b_indices))
    ]
    text = f"Out[{', '.join(out)}] = {' * '.join(factors)}"
    tensor = programs.run(text, {"A": a, "B": b}, _format(cls, len(out)), _mode(False, a, b))
    return _as(cls, tensor)


@_put("tensordot", [_common], "tensordot")
def _tensordot(a, b, axes=2, *, return_type=None):
    _checked(a, b)
    try:
        axes_a, axes_b = (range(a.ndim - axes, a.ndim), range(axes)) if np.ndim(axes) == 0 else axes
        axes_a = [operator.index(axis) % a.ndim for axis in np.atleast_1d(axes_a)]
        axes_b = [operator.index(axis) % b.ndim for axis in np.atleast_1d(axes_b)]
        fits = [a.shape[axis] for axis in axes_a] == [b.shape[axis] for axis in axes_b]
    except (TypeError, ValueError, ZeroDivisionError):
        raise NotSaid("axes that the library refuses") from None
    if not fits or len(axes_a) != len(set(axes_a)):
        raise NotSaid("axes that the library refuses")
    left, right = programs.indices(a.ndim, "a"), programs.indices(b.ndim, "b")
    for axis_a, axis_b in zip(axes_a, axes_b, strict=True):
        right[axis_b] = left[axis_a]
    out = [i for n, i in enumerate(left) if n not in axes_a] + [i for n, i in enumerate(right) if n not in axes_b]
    return _product(a, left, b, right, out, return_type or _product_class(a, b))


@_put("dot", [_common], "dot")
def _dot(a, b):
    _checked(a, b)
    if a.ndim == 0 or b.ndim == 0:
        raise NotSaid("operands without modes")
    left, right = programs.indices(a.ndim, "a"), programs.indices(b.ndim, "b")
    axis = -1 if b.ndim == 1 else -2
    if a.shape[-1] != b.shape[axis]:
        raise NotSaid("shapes that the library refuses")
    right[axis] = left[-1]
    out = [i for i in left[:-1]] + [i for n, i in enumerate(right) if n != b.ndim + axis]
    if not out:
        return _product(a, left, b, right, out, np.ndarray)[()]
    return _product(a, left, b, right, out, _product_class(a, b))


@_put("matmul", [_common], "matmul")
def _matmul(a, b):
    _checked(a, b)
    if not all(np.isfinite(_values(x)).all() for x in (a, b)):
        raise NotSaid("a product with NaN, of which the library warns")
    if a.ndim == 0 or b.ndim == 0:
        raise NotSaid("operands without modes")
    rank = max(a.ndim, b.ndim) - 2
    batch = programs.indices(max(rank, 0), "n")
    left = _batched(a, batch, b, ["i", "k"] if a.ndim > 1 else ["k"])
    right = _batched(b, batch, a, ["k", "j"] if b.ndim > 1 else ["k"])
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else -1]:
        raise NotSaid("shapes that the library refuses")
    out = batch + ["i"] * (a.ndim > 1) + ["j"] * (b.ndim > 1)
    if not out:
        return _product(a, left, b, right, out, np.ndarray)[()]
    return _product(a, left, b, right, out, _product_class(a, b))


def _batched(x, batch, other, last):
    """Index variables of an operand of which other matrices are products, modes of extent 1 with all of the other's."""
    own = batch[len(batch) - (x.ndim - 2) :] if x.ndim > 2 else []
    others = dict(zip(reversed(batch), reversed(other.shape[:-2]), strict=False)) if other.ndim > 2 else {}
    read = []
    for index, extent in zip(own, x.shape, strict=False):
        wide = others.get(index, extent)
        if extent != wide and 1 not in (extent, wide):
            raise NotSaid("shapes that the library refuses")
        read.append("0" if extent == 1 and wide != 1 else index)
    return read + last


@_put("einsum", [_common], "einsum")
def _einsum(*operands, **kwargs):
    left, right, arrays = _common._parse_einsum_input(operands)
    _utils.check_zero_fill_value(*arrays)
    dtype = kwargs.pop("dtype", None) or np.result_type(*arrays)
    terms = left.split(",")
    extents = {}
    for term, array in zip(terms, arrays, strict=True):
        if len(term) != array.ndim or any(extents.setdefault(i, d) != d for i, d in zip(term, array.shape, strict=True)):
            raise NotSaid("shapes that the library refuses")
    if kwargs or len(set(right)) < len(right):
        raise NotSaid("options, or an index that stands twice in the result")
    factors = [
        converted(Expression(f"T{n}[{', '.join(term)}]", array.dtype), dtype).text
        for n, (term, array) in enumerate(zip(terms, arrays, strict=True))
    ]
    cls = _einsum_class(arrays)
    text = f"Out[{', '.join(right)}] = {' * '.join(factors)}"
    named = {f"T{n}": array for n, array in enumerate(arrays)}
    tensor = programs.run(text, named, _format(cls, len(right)), _mode(False, *arrays))
    return _as(cls, tensor) if right else tensor.to_numpy()[()]


def _einsum_class(arrays):
    """The class of a product of arrays: that of those that are sparse, COO of several."""
    classes = {type(array) for array in arrays if isinstance(array, SparseArray)}
    if len(classes) == 1:
        return classes.pop()
    return COO if classes else np.ndarray


@_put("kron", [coo_common], "kron")
def _kron(a, b):
    if not (_common._is_sparse(a) or _common._is_sparse(b)) or np.ndim(a) == 0 or np.ndim(b) == 0:
        raise NotSaid("operands without modes, or none that is sparse")
    _checked(a, b)
    rank = max(a.ndim, b.ndim)
    left, right = programs.indices(a.ndim, "a"), programs.indices(b.ndim, "b")
    dtype = np.result_type(a.dtype, b.dtype)
    text = " * ".join(
        converted(Expression(f"{name}[{', '.join(at)}]", x.dtype), dtype).text
        for name, x, at in (("A", a, left), ("B", b, right))
    )
    out = []
    for n in range(-rank, 0):
        i, j = left[n] if n >= -a.ndim else None, right[n] if n >= -b.ndim else None
        if i and j:
            text = f"collapse({text}, ({i}, {j}) -> k{n + rank})"
        out.append(f"k{n + rank}" if i and j else i or j)
    return _as(COO, programs.run(f"Out[{', '.join(out)}] = {text}", {"A": a, "B": b}, "coo", _mode(False, a, b)))
