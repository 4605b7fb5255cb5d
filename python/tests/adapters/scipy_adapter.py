"""A pytest plugin that puts kernels of ours under SciPy's compressed arrays.

`pytest -p scipy_adapter --pyargs scipy.sparse.tests.test_base -k TestCSR` runs SciPy's own tests so.

SciPy's front stays: operators check shapes, decide on classes and warn. What they call to compute, methods of the base of `csr`
and `csc` arrays and matrices, is answered by programs over the operands' own arrays.
"""

from __future__ import annotations

import operator

import numpy as np
import scipy.sparse as sp
from scipy.sparse import _compressed, _csc, _csr, _data
from scipy.sparse._sputils import get_sum_dtype, upcast, upcast_char

import expressions
import programs
from expressions import Expression, converted, language_type
from ledger import Ledger, NotSaid, Plugin, options

LEDGER = Ledger(lambda x: x.toarray() if sp.issparse(x) else np.asarray(x))


def pytest_addoption(parser):
    options(parser)


def pytest_configure(config):
    config.pluginmanager.register(Plugin(LEDGER, config), "fiberloom-pins")


def _put(operation: str, owner, name: str):
    def put(ours):
        call = LEDGER.answers(operation, getattr(owner, name))(ours)
        setattr(owner, name, call)
        return call

    return put


_Compressed = _compressed._cs_matrix


# Results ------------------------------------------------------------------------------------------------------------------


def _checked(self, *others):
    if self.format not in ("csr", "csc"):
        raise NotSaid(f"the format {self.format}")
    for x in (self, *others):
        language_type(x.dtype)


def _like(self, tensor):
    """A result of two modes as an array of the format of an operand, with that operand's choice of index types."""
    tensor = tensor.to(self.format)
    arrays = tensor.arrays()
    values = arrays["values"]
    of = self._get_index_dtype((self.indptr, self.indices), maxval=max(len(values), *tensor.shape))
    # Copies: SciPy changes arrays in place, and a tensor's indices and truth values are read-only.
    made = self.__class__((values.copy(), arrays["crd1"].astype(of), arrays["pos1"].astype(of)), shape=tensor.shape)
    made.eliminate_zeros()
    return made


def _flat(self, tensor):
    """A result of one mode as an array of the class of an operand."""
    arrays = tensor.to("sparse").arrays()
    kept = arrays["values"] != 0
    of = self._get_index_dtype((self.indptr, self.indices), maxval=max(tensor.shape))
    columns, values = arrays["crd0"][kept].astype(of), arrays["values"][kept]
    return self.__class__((values, columns, np.array([0, len(values)], dtype=of)), shape=tensor.shape)


def _made(self, tensor):
    return _flat(self, tensor) if tensor.ndim == 1 else _like(self, tensor)


def _values(x):
    return x.data if sp.issparse(x) and x.format != "dok" and x.format != "lil" else x.tocoo().data if sp.issparse(x) else x


def _elementwise(function, self, other, dtype, format=None):
    """A function of two arrays of one shape at each coordinate, which NumPy would compute in a type."""
    at = ", ".join(programs.indices(self.ndim))
    operands = {"A": self}
    right = other
    if np.ndim(other) or sp.issparse(other):
        operands["B"] = other
        right = Expression(f"B[{at}]", other.dtype)
    what = expressions.traced(function, [Expression(f"A[{at}]", self.dtype), right])
    what = converted(what, dtype)
    format = format or (self.format if self.ndim == 2 else "sparse")
    mode = programs.mode(what.partial, *map(_values, (self, other)))
    return programs.run(f"Out[{at}] = {what.text}", operands, format, mode)


_FUNCTIONS = {
    "_plus_": np.add,
    "_minus_": np.subtract,
    "_elmul_": np.multiply,
    "_maximum_": np.maximum,
    "_minimum_": np.minimum,
    "_ne_": np.not_equal,
    "_lt_": np.less,
    "_gt_": np.greater,
    "_le_": np.less_equal,
    "_ge_": np.greater_equal,
}


@_put("binary", _Compressed, "_binopt")
def _binopt(self, other, op):
    _checked(self, other)
    function = _FUNCTIONS.get(op)
    if function is None:
        raise NotSaid(f"SciPy's {op.strip('_')}, which keeps to what is stored")
    if self.shape != other.shape:
        raise NotSaid("shapes that SciPy refuses")
    dtype = np.dtype(upcast(self.dtype, other.dtype))
    if op in ("_ne_", "_lt_", "_gt_", "_le_", "_ge_"):
        dtype = np.dtype(bool)
    elif dtype == bool and op == "_minus_":
        function = np.not_equal
    return _made(self, _elementwise(function, self, other, dtype))


@_put("binary with a number", _Compressed, "_scalar_binopt")
def _scalar_binopt(self, other, op):
    _checked(self)
    if np.asarray(other).dtype.kind not in "biuf":
        raise NotSaid("a number of another type")
    function = getattr(np, {"ne": "not_equal", "lt": "less", "gt": "greater"}.get(op.__name__, op.__name__), None)
    function = {operator.le: np.less_equal, operator.ge: np.greater_equal, operator.eq: np.equal}.get(op, function)
    if not isinstance(function, np.ufunc):
        raise NotSaid(f"{op.__name__}")
    number = np.asarray(other)[()]
    dtype = op(np.ones(1, self.dtype), other).dtype
    return _made(self, _elementwise(function, self, other if type(other) in (int, float, bool) else number, dtype))


@_put("quotient", _Compressed, "_divide_sparse")
def _divide_sparse(self, other):
    _checked(self, other)
    if other.shape != self.shape:
        raise NotSaid("shapes that SciPy refuses")
    dtype = np.dtype(upcast(self.dtype, other.dtype))
    if dtype.kind != "f":
        raise NotSaid("whole numbers divided by what is not stored")
    return self._container(_elementwise(np.divide, self, other, dtype, "dense").to_numpy())


@_put("sum with an ndarray", _Compressed, "_add_dense")
def _add_dense(self, other):
    _checked(self, other)
    if other.shape != self.shape or not isinstance(other, np.ndarray):
        raise NotSaid("shapes that SciPy refuses")
    dtype = np.dtype(upcast_char(self.dtype.char, other.dtype.char))
    tensor = _elementwise(np.add, self, np.ascontiguousarray(other), dtype, "dense")
    return self._container(np.array(tensor.to_numpy(), order=self._swap("CF")[0]), copy=False)


@_put("product with a number", _data._data_matrix, "_mul_scalar")
def _mul_scalar(self, other):
    if self.format not in ("csr", "csc"):
        raise NotSaid(f"the format {self.format}")
    _checked(self)
    if np.asarray(other).dtype.kind not in "biuf":
        raise NotSaid("a number of another type")
    number = other if type(other) in (int, float, bool) else np.asarray(other)[()]
    if not np.isfinite(number):
        raise NotSaid("a number that is not finite, times what is not stored")
    if not self.has_canonical_format:
        raise NotSaid("entries that stand twice, which SciPy keeps")
    dtype = (np.ones(1, self.dtype) * other).dtype
    return _made(self, _elementwise(np.multiply, self, number, dtype))


# Products -----------------------------------------------------------------------------------------------------------------


def _product(self, left, other, right, out, dtype, format):
    factors = [
        converted(Expression(f"{name}[{', '.join(at)}]", x.dtype), dtype).text
        for name, x, at in (("A", self, left), ("B", other, right))
    ]
    mode = programs.mode(False, *map(_values, (self, other)))
    return programs.run(f"Out[{', '.join(out)}] = {' * '.join(factors)}", {"A": self, "B": other}, format, mode)


@_put("matrix times vector", _Compressed, "_matmul_vector")
def _matmul_vector(self, other):
    other = np.asarray(other)
    _checked(self, other)
    dtype = np.dtype(upcast_char(self.dtype.char, other.dtype.char))
    out = ["i"] if self.ndim == 2 else []
    result = _product(self, [*out, "j"], other, ["j"], out, dtype, "dense").to_numpy()
    return result if out else result[()]


@_put("matrix times vectors", _Compressed, "_matmul_multivector")
def _matmul_multivector(self, other):
    other = np.asarray(other)
    _checked(self, other)
    dtype = np.dtype(upcast_char(self.dtype.char, other.dtype.char))
    out = ["i"] if self.ndim == 2 else []
    return _product(self, [*out, "k"], other, ["k", "j"], [*out, "j"], dtype, "dense").to_numpy()


@_put("matrix times matrix", _Compressed, "_matmul_sparse")
def _matmul_sparse(self, other):
    _checked(self, other)
    dtype = np.dtype(upcast(self.dtype, other.dtype))
    rows, columns = ["i"] * (self.ndim == 2), ["j"] * (other.ndim == 2)
    out = [*rows, *columns]
    format = self.format if len(out) == 2 else "sparse" if out else "dense"
    tensor = _product(self, [*rows, "k"], other, ["k", *columns], out, dtype, format)
    return _made(self, tensor) if out else np.array(tensor.to_numpy()[()])


# Reductions ---------------------------------------------------------------------------------------------------------------


@_put("sum", _Compressed, "sum")
def _sum(self, axis=None, dtype=None, out=None):
    _checked(self)
    if out is not None:
        raise NotSaid("out")
    if axis is not None and axis not in ((0, 1, -1, -2) if self.ndim == 2 else (0, -1)):
        raise NotSaid("axes that SciPy refuses, or several")
    # SciPy folds in its own type, and converts then.
    inner = np.dtype(dtype) if axis is None and dtype is not None else np.dtype(get_sum_dtype(self.dtype))
    variables = programs.indices(self.ndim)
    reduced = variables if axis is None or self.ndim == 1 else [variables[axis]]
    kept = [i for i in variables if i not in reduced]
    value = converted(Expression(f"A[{', '.join(variables)}]", self.dtype), inner).text
    text = f"Out[{', '.join(kept)}] = sum({', '.join(reduced)}: {value})"
    result = programs.run(text, {"A": self}, "dense", programs.mode(False, _values(self))).to_numpy()
    if axis is not None and not isinstance(self, sp.sparray):
        result = np.asmatrix(np.expand_dims(result, axis))
    return result[()].astype(dtype or inner)


@_put("min and max", _data._minmax_mixin, "_min_or_max_axis")
def _min_or_max_axis(self, axis, min_or_max, explicit):
    if self.format not in ("csr", "csc"):
        raise NotSaid(f"the format {self.format}")
    _checked(self)
    if explicit:
        raise NotSaid("of what is stored alone")
    fold = {np.maximum: "max", np.minimum: "min"}.get(min_or_max)
    if fold is None:
        raise NotSaid(f"numpy.{min_or_max.__name__}")
    kept, reduced = ("j", "i") if axis in (0, -2) else ("i", "j")
    text = f"Out[{kept}] = {fold}({reduced}: A[i, j])"
    tensor = programs.run(text, {"A": self}, "sparse", programs.mode(False, _values(self))).to("sparse", fill=0)
    if not isinstance(self, sp.sparray):
        return self._coo_container(np.expand_dims(tensor.to_numpy(), axis))
    arrays = tensor.arrays()
    stored = arrays["values"] != 0
    return self._coo_container((arrays["values"][stored], (arrays["crd0"][stored],)), shape=tensor.shape)


@_put("diagonal", _Compressed, "diagonal")
def _diagonal(self, k=0):
    _checked(self)
    if self.ndim != 2 or not isinstance(k, (int, np.integer)):
        raise NotSaid("a diagonal that SciPy refuses")
    n = min(self.shape[0] + min(k, 0), self.shape[1] - max(k, 0))
    if n <= 0:
        raise NotSaid("a diagonal without elements")
    text = programs.declared("Out", language_type(self.dtype), (n,), "false" if self.dtype == bool else "0", "dense")
    text += f"Out[k] = A[k + {max(0, -int(k))}, k + {max(0, int(k))}]"
    return programs.run(text, {"A": self}).to_numpy()


# Parts --------------------------------------------------------------------------------------------------------------------


def _selected(self, key):
    """A part of an array of two modes, as SciPy's dispatch asks for it."""
    _checked(self)
    if self.ndim != 2:
        raise NotSaid("one mode")
    selection = programs.Selection(key, self.shape)
    if 0 in selection.shape:
        raise NotSaid("a part without elements")
    formats = {0: "dense", 1: "sparse", 2: self.format}
    ty = language_type(self.dtype)
    program = selection.program(ty, "false" if ty == "bool" else "0", formats[len(selection.shape)])
    return programs.run(program, {"A": self, **selection.gathers})


@_put("getitem: number, number", _Compressed, "_get_intXint")
def _get_intXint(self, row, col):
    return _selected(self, (int(row), int(col))).to_numpy()[()]


@_put("getitem: slice, slice", _Compressed, "_get_sliceXslice")
def _get_sliceXslice(self, row, col):
    return _like(self, _selected(self, (row, col)))


@_put("getitem: arrays", _Compressed, "_get_columnXarray")
def _get_columnXarray(self, row, col):
    _checked(self)
    rows, columns = (np.where(at < 0, at + n, at).astype(np.int64) for at, n in zip((row, col), self.shape, strict=True))
    for at, n in zip((rows, columns), self.shape, strict=True):
        if at.size and (at.min() < 0 or at.max() >= n):
            raise NotSaid("positions that SciPy refuses")
    tensor = programs.run("Out[i, j] = A[P[i], Q[j]]", {"A": self, "P": rows, "Q": columns}, self.format)
    return _like(self, tensor)


@_put("getitem: arrays of pairs", _Compressed, "_get_arrayXarray")
def _get_arrayXarray(self, row, col):
    _checked(self)
    rows, columns = (np.where(at < 0, at + n, at).astype(np.int64) for at, n in zip((row, col), self.shape, strict=True))
    for at, n in zip((rows, columns), self.shape, strict=True):
        if at.size and (at.min() < 0 or at.max() >= n):
            raise NotSaid("positions that SciPy refuses")
    if row.ndim == 1:
        found = programs.run("Out[i] = A[P[i], Q[i]]", {"A": self, "P": rows, "Q": columns}, "dense")
        return self._ascontainer(found.to_numpy())
    found = programs.run("Out[i, j] = A[P[i, j], Q[i, j]]", {"A": self, "P": rows, "Q": columns}, self.format)
    return _like(self, found)


@_put("getitem: rows or columns of a slice", _Compressed, "_major_slice")
def _major_slice(self, idx, copy=False):
    return _like(self, _selected(self, self._swap((idx, slice(None)))))


@_put("getitem: rows or columns of a slice", _Compressed, "_minor_slice")
def _minor_slice(self, idx, copy=False):
    return _like(self, _selected(self, self._swap((slice(None), idx))))


@_put("getitem: rows or columns of an array", _Compressed, "_major_index_fancy")
def _major_index_fancy(self, idx):
    return _like(self, _selected(self, self._swap((np.atleast_1d(idx).ravel(), slice(None)))))


@_put("getitem: rows or columns of an array", _Compressed, "_minor_index_fancy")
def _minor_index_fancy(self, idx):
    return _like(self, _selected(self, self._swap((slice(None), np.atleast_1d(idx).ravel()))))


def _unary(name: str, function):
    """A function of each element that is 0 where nothing is stored."""

    def ours(self, *args, **kwargs):
        if self.format not in ("csr", "csc"):
            raise NotSaid(f"the format {self.format}")
        _checked(self)
        if not self.has_canonical_format:
            raise NotSaid("entries that stand twice, which SciPy keeps")
        if args or kwargs or self.dtype == bool:
            raise NotSaid("arguments, or truth values")
        at = ", ".join(programs.indices(self.ndim))
        what = expressions.traced(function, [Expression(f"A[{at}]", self.dtype)])
        mode = programs.mode(what.partial, self.data)
        return _made(self, programs.run(f"Out[{at}] = {what.text}", {"A": self}, None, mode))

    _put(name.strip("_"), _data._data_matrix, name)(ours)


_unary("__abs__", np.absolute)
_unary("__neg__", np.negative)
# Those that have one right answer: the tests compare sines bit for bit with NumPy's, whose last bit is another library's.
for _name in ("rint", "sign", "floor", "ceil", "trunc", "sqrt"):
    _unary(_name, getattr(np, _name))
