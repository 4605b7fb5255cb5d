"""A pytest plugin that puts kernels of ours under PyData's `sparse`.

`pytest -p sparse_adapter --pyargs sparse.numba_backend.tests.test_einsum` runs the library's own tests so.

The library's front stays: it parses arguments, raises its errors, and determines types and fill values. Where it would compute,
a program of the language does, over the operands' own arrays, and the result becomes the class that the library would give.
"""

from __future__ import annotations

import operator
import sys

import numpy as np
import sparse
from sparse.numba_backend import _common, _sparse_array, _umath, _utils
from sparse.numba_backend._compressed import GCXS
from sparse.numba_backend._coo import COO, common as coo_common
from sparse.numba_backend._dok import DOK
from sparse.numba_backend._sparse_array import SparseArray

import expressions
import programs
from expressions import Expression, converted, language_type
from fiberloom._types import literal
from ledger import Ledger, NotSaid, Plugin, options

LEDGER = Ledger(lambda x: x.todense() if isinstance(x, SparseArray) else np.asarray(x))


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
    # What is stored and the fill may differ in the sign of zero, which `algebraic` mode leaves open, or in that of NaN.
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


# Reductions ---------------------------------------------------------------------------------------------------------------


def _reduced(self, method, axis, keepdims, dtype=None, **kwargs):
    """`reduce`, of which the library has checked the arguments: a fold of the values in the type in which NumPy folds."""
    fold = programs.FOLDS.get(method.__name__)
    if fold is None:
        raise NotSaid(f"numpy.{method.__name__}")
    if any(value is not None for value in kwargs.values()):
        raise NotSaid(f"{', '.join(kwargs)} of a reduction")
    axes = set(range(self.ndim)) if axis == (None,) else {a % self.ndim for a in axis}
    if not axes or self.ndim == 0:
        raise NotSaid("nothing that is reduced")
    language_type(self.dtype)
    result = method.reduce(np.ones(1, dtype=self.dtype), dtype=dtype).dtype
    inner = np.dtype(bool) if fold in ("all", "any") else result
    variables = programs.indices(self.ndim)
    value = converted(Expression(f"A[{', '.join(variables)}]", self.dtype), inner)
    reduced = ", ".join(variables[n] for n in sorted(axes))
    kept = [n for n in range(self.ndim) if n not in axes]
    out = ", ".join(variables[n] for n in kept)
    ty = language_type(inner)
    text = programs.fold(fold, ty) + f"Out[{out}] = {fold}({reduced}: {value.text})"
    tensor = programs.run(text, {"A": self}, "coo" if kept else "dense", _mode(False, self))
    if not kept:
        scalar = tensor.to_numpy()[()]
        return scalar if not keepdims else type(self).from_numpy(np.full((1,) * self.ndim, scalar))
    with np.errstate(all="ignore"):
        count = programs.size(self.shape[n] for n in axes)
        super_ufunc = _sparse_array._reduce_super_ufunc.get(method)
        fill = self.fill_value if super_ufunc is None else super_ufunc(self.fill_value, count)
    made = _coo(tensor, fill)
    if keepdims:
        made = made.reshape(tuple(1 if n in axes else extent for n, extent in enumerate(self.shape)))
    return made if isinstance(self, COO) else made.asformat("gcxs")


for _class in (COO, GCXS):

    @_put("reduce", [_class], "_reduce_calc")
    def _reduce_calc(self, method, axis, keepdims=False, **kwargs):
        return (_reduced(self, method, axis, keepdims, **kwargs),)


# What moves entries and computes nothing ------------------------------------------------------------------------------------


def _moved(x, text: str, shape, cls=COO, **operands):
    """A program over `A` that declares nothing, as an array of the fill value and of a class."""
    ty, fill = language_type(x.dtype), _fill(x)
    program = programs.declared("Out", ty, shape, fill, programs.format_of(len(shape))) + text
    made = _coo(programs.run(program, {"A": x, **operands}), x.fill_value)
    if cls is GCXS:
        return made.asformat("gcxs")
    # Coordinates keep their type if it is wide enough, as the library's do.
    of = x.coords.dtype
    most = max(shape, default=0)
    made.coords = made.coords.astype(of if _utils.can_store(of, most) else np.min_scalar_type(most))
    return made


def _fill(x) -> str:
    """What an array does not store, as a literal of its type."""
    return literal(np.asarray(x.fill_value).astype(x.dtype)[()])


def _reshape(self, shape, order="C", **how):
    shape = tuple(map(int, shape)) if np.iterable(shape) else (int(shape),)
    if order not in {"C", None} or any(value is not None for value in how.values()):
        raise NotSaid("an order, or axes that are compressed")
    if self.shape == shape:
        raise NotSaid("nothing to do")
    if shape.count(-1) == 1 and -programs.size(shape) > 0:
        shape = tuple(self.size // -programs.size(shape) if d == -1 else d for d in shape)
    if self.size != programs.size(shape) or min(shape, default=1) < 0:
        raise NotSaid("a shape that the library refuses")
    if self.size == 0:
        raise NotSaid("an array without elements")
    if getattr(self, "_cache", None) is not None:
        raise NotSaid("the library's cache")
    out = ", ".join(programs.indices(len(shape), "k"))
    return _moved(self, f"Out[{out}] = {programs.reshaped('A', self.shape, shape)}", shape, type(self))


def _transpose(self, axes=None, **how):
    axes = tuple(range(self.ndim))[::-1] if axes is None else axes
    if any(value is not None for value in how.values()) or getattr(self, "_cache", None) is not None:
        raise NotSaid("the library's cache, or axes that are compressed")
    try:
        axes = [operator.index(axis) for axis in axes]
    except TypeError:
        raise NotSaid("axes that the library refuses") from None
    if sorted(axis % max(self.ndim, 1) for axis in axes) != list(range(self.ndim)) or min(axes, default=0) < -self.ndim:
        raise NotSaid("axes that the library refuses")
    axes = [axis % self.ndim for axis in axes]
    if axes == list(range(self.ndim)):
        raise NotSaid("nothing to do")
    variables = programs.indices(self.ndim)
    out = ", ".join(variables[axis] for axis in axes)
    shape = tuple(self.shape[axis] for axis in axes)
    return _moved(self, f"Out[{out}] = A[{', '.join(variables)}]", shape, type(self))


def _in_order(x):
    """Whether coordinates ascend in each row; some tests turn them round."""
    if x.ndim < 2 or len(x.indices) < 2:
        return True
    falls = np.flatnonzero(np.diff(x.indices) <= 0) + 1
    return bool(np.isin(falls, x.indptr).all())


def _getitem(self, key):
    if isinstance(key, str):
        raise NotSaid("a field of a record")
    keys = key if isinstance(key, tuple) else (key,)
    if any(isinstance(one, SparseArray) for one in keys):
        raise NotSaid("indexed by a sparse array")
    if isinstance(self, GCXS) and not _in_order(self):
        raise NotSaid("coordinates out of order")
    selection = programs.Selection(key, self.shape)
    if tuple(selection.shape) == self.shape and selection.read == selection.free:
        raise NotSaid("nothing to do")
    ty, fill = language_type(self.dtype), _fill(self)
    program = selection.program(ty, fill, programs.format_of(len(selection.shape)))
    tensor = programs.run(program, {"A": self, **selection.gathers})
    if not selection.shape and not (keys and keys[-1] is Ellipsis):
        return tensor.to_numpy()[()]
    made = _coo(tensor, self.fill_value)
    return made if isinstance(self, COO) else made.asformat("gcxs")


for _class in (COO, GCXS):
    _put("reshape", [_class], "reshape")(_reshape)
    _put("transpose", [_class], "transpose")(_transpose)
    _put("getitem", [_class], "__getitem__")(_getitem)


def _joined(arrays, shape, statement):
    """An array that a statement makes of `T0`, `T1`, …."""
    ty, fill = language_type(np.result_type(*arrays)), _fill(arrays[0])
    if len({x.dtype for x in arrays}) > 1:
        raise NotSaid("arrays of several types")
    program = programs.declared("Out", ty, shape, fill, "coo") + statement
    tensor = programs.run(program, {f"T{n}": x for n, x in enumerate(arrays)})
    return _coo(tensor, arrays[0].fill_value)


def _arrays(arrays):
    arrays = list(arrays)
    if not arrays or not all(isinstance(x, (COO, GCXS)) for x in arrays):
        raise NotSaid("arrays that are not all sparse")
    if len({str(x.fill_value) for x in arrays}) > 1:
        raise NotSaid("arrays of several fill values, which the library refuses")
    return arrays


@_put("concatenate", [coo_common], "concatenate")
def _concatenate(arrays, axis=0):
    arrays = _arrays(arrays)
    if axis is None or not -arrays[0].ndim <= axis < arrays[0].ndim or len(arrays) < 2:
        raise NotSaid("no axis, or one array")
    axis %= arrays[0].ndim
    shapes = [x.shape for x in arrays]
    if len({s[:axis] + s[axis + 1 :] for s in shapes}) > 1:
        raise NotSaid("shapes that the library refuses")
    variables = programs.indices(len(shapes[0]))
    parts, names = [], []
    for n in range(len(arrays)):
        names.append(f"c{n}")
        parts.append(f"T{n}[{', '.join(f'c{n}' if mode == axis else i for mode, i in enumerate(variables))}]")
    shape = tuple(sum(s[axis] for s in shapes) if mode == axis else d for mode, d in enumerate(shapes[0]))
    text = f"Out[{', '.join(variables)}] = concat(({', '.join(parts)}), ({', '.join(names)}) -> {variables[axis]})"
    return _joined(arrays, shape, text)


@_put("stack", [coo_common], "stack")
def _stack(arrays, axis=0):
    arrays = _arrays(arrays)
    rank = arrays[0].ndim + 1
    if len({x.shape for x in arrays}) > 1 or not -rank <= axis < rank:
        raise NotSaid("shapes that the library refuses")
    axis %= rank
    variables = programs.indices(rank)
    inner = ", ".join(i for mode, i in enumerate(variables) if mode != axis)
    parts = [f"T{n}[{inner}]" for n in range(len(arrays))]
    text = parts[-1]
    for n in reversed(range(len(parts) - 1)):
        text = f"(if {variables[axis]} == {n} then {parts[n]} else {text})"
    shape = list(arrays[0].shape)
    shape.insert(axis, len(arrays))
    return _joined(arrays, shape, f"Out[{', '.join(variables)}] = {text}")


def _triangle(comparison: str):
    def triangle(x, k=0):
        if not isinstance(x, COO) or x.ndim < 2 or x.fill_value != 0:
            raise NotSaid("an array that the library refuses")
        variables = programs.indices(x.ndim)
        i, j = variables[-2:]
        at = ", ".join(variables)
        return _moved(x, f"Out[{at}] = mask({i} + {k} {comparison} {j}, A[{at}])".replace("+ -", "- "), x.shape)

    return triangle


_put("triu", [coo_common], "triu")(_triangle("<="))
_put("tril", [coo_common], "tril")(_triangle(">="))


@_put("flip", [coo_common], "flip")
def _flip(x, /, *, axis=None):
    if not isinstance(x, COO):
        raise NotSaid("an array that is not COO")
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis)
    if not all(-x.ndim <= a < x.ndim for a in axes):
        raise NotSaid("axes that the library refuses")
    axes = {int(a) % x.ndim for a in axes}
    variables = programs.indices(x.ndim)
    read = [f"{d - 1} - {i}" if n in axes else i for n, (i, d) in enumerate(zip(variables, x.shape, strict=True))]
    return _moved(x, f"Out[{', '.join(variables)}] = A[{', '.join(read)}]", x.shape)


@_put("roll", [coo_common], "roll")
def _roll(a, shift, axis=None):
    if not isinstance(a, COO):
        raise NotSaid("an array that is not COO")
    if axis is None:
        raise NotSaid("no axis: the library reshapes, calls this again with one, and reshapes")
    if a.size == 0 or a.ndim == 0:
        raise NotSaid("an array without elements")
    axes, shifts = np.atleast_1d(axis), np.atleast_1d(shift)
    if np.ndim(shift) > 1 or len(shifts) not in (1, len(axes)) or not all(-a.ndim <= one < a.ndim for one in axes):
        raise NotSaid("axes that the library refuses")
    of = np.iinfo(a.coords.dtype)
    if not all(of.min <= one <= of.max for one in (*shifts, *a.shape)) or of.min == 0:
        raise NotSaid("coordinates that the library may find too narrow")
    by = [0] * a.ndim
    for one, of in zip(axes, np.broadcast_to(shifts, len(axes)), strict=True):
        by[one % a.ndim] += int(of)
    variables = programs.indices(a.ndim)
    read = [f"({i} + {-s % d}) % {d}" if s % d else i for i, s, d in zip(variables, by, a.shape, strict=True)]
    return _moved(a, f"Out[{', '.join(variables)}] = A[{', '.join(read)}]", a.shape)


@_put("diagonal", [coo_common], "diagonal")
def _diagonal(a, offset=0, axis1=0, axis2=1):
    if not isinstance(a, COO) or a.shape[axis1] != a.shape[axis2] or a.fill_value != 0:
        raise NotSaid("an array that the library refuses")
    n = a.shape[axis1] - abs(offset)
    if n <= 0:
        raise NotSaid("a diagonal without elements")
    read = programs.indices(a.ndim)
    rest = [i for mode, i in enumerate(read) if mode not in (axis1 % a.ndim, axis2 % a.ndim)]
    read[axis1] = f"k + {max(0, -offset)}"
    read[axis2] = f"k + {max(0, offset)}"
    shape = [d for mode, d in enumerate(a.shape) if mode not in (axis1 % a.ndim, axis2 % a.ndim)]
    return _moved(a, f"Out[{', '.join([*rest, 'k'])}] = A[{', '.join(read)}]", (*shape, n))


@_put("diagonalize", [coo_common], "diagonalize")
def _diagonalize(a, axis=0):
    if not isinstance(a, COO) or a.fill_value != 0:
        raise NotSaid("an array that is not COO, or whose fill is not 0")
    variables = programs.indices(a.ndim)
    at = ", ".join(variables)
    text = f"Out[{at}, k] = mask(k == {variables[axis]}, A[{at}])"
    return _moved(a, text, (*a.shape, a.shape[axis]))


@_put("expand_dims", [coo_common], "expand_dims")
def _expand_dims(x, /, *, axis=0):
    if not isinstance(x, COO) or not isinstance(axis, int) or not -x.ndim - 1 <= axis <= x.ndim:
        raise NotSaid("an axis that the library refuses")
    axis %= x.ndim + 1
    shape = [*x.shape[:axis], 1, *x.shape[axis:]]
    out = programs.indices(len(shape), "k")
    read = out[:axis] + out[axis + 1 :]
    return _moved(x, f"Out[{', '.join(out)}] = A[{', '.join(read)}]", shape)


@_put("squeeze", [COO], "squeeze")
def _squeeze(self, axis=None):
    ones = [n for n, d in enumerate(self.shape) if d == 1]
    axes = ones if axis is None else [axis] if isinstance(axis, int) else list(axis) if np.iterable(axis) else [None]
    if not all(axis in ones for axis in axes) or not axes:
        raise NotSaid("axes that the library refuses, or none")
    read = ["0" if n in axes else i for n, i in enumerate(programs.indices(self.ndim))]
    out = [i for i in read if i != "0"]
    shape = [d for n, d in enumerate(self.shape) if n not in axes]
    return _moved(self, f"Out[{', '.join(out)}] = A[{', '.join(read)}]", shape)


@_put("broadcast_to", [_umath], "broadcast_to")
def _broadcast_to(x, shape):
    shape = tuple(shape)
    if not isinstance(x, COO) or np.broadcast_shapes(x.shape, shape) != shape or x.shape == shape or x.ndim == 0:
        raise NotSaid("a shape that the library refuses, or nothing to do")
    out = ", ".join(programs.indices(len(shape)))
    return _moved(x, f"Out[{out}] = {programs.access('A', x.shape, shape)}", shape)
