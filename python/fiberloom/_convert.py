"""Objects of other libraries as tensors: what the extension module does not take by itself.

Nothing is imported for an object that its owner has not imported: classes are told by the names of their modules.
"""

from __future__ import annotations

import numpy as np

from . import _loans, _native, _sound
from ._tables import is_table
from ._types import DTYPES, Declared
from .errors import OperandError

__all__ = ["in_order", "like", "listed", "of_levels", "says_fill", "stored", "tensor"]


def tensor(object, name: str, ty: str | None = None, copy: bool | None = None) -> _native.Tensor:
    """The object as a tensor, over its arrays where they can be.

    Raises
    ------
    OperandError
        If it is no array, is of a type that the language has not, or would be copied against ``copy=False``.
    """
    if isinstance(object, _native.Tensor):
        return object
    made = _taken(object, name, copy)
    if made is None:
        made = _native.scalar(object, name, ty)
    if made is not None:
        return made
    for convert in (_scipy, _sparse, _binsparse, _numpy, _dlpack, _array):
        other = convert(object, name, ty, copy)
        if other is not None:
            return other if isinstance(other, _native.Tensor) else tensor(other, name, ty, copy)
    help = ": a program that declares a table takes it, `compile(text)(…)`" if is_table(object) else ""
    raise OperandError(f"tensor `{name}`: {_class(object)} is no array, sparse matrix or number{help}")


def says_fill(object) -> bool:
    """Whether an object says itself what the value is that it does not store."""
    return isinstance(object, _native.Tensor) or hasattr(object, "fill_value")


def in_order(matrix):
    """A SciPy matrix whose entries are unsorted or stand twice, with each once, in order; ``None`` of others."""
    if _sound.wrong_in(matrix):
        return None  # SciPy would read outside of its arrays.
    # Without the flags, which may be what is wrong.
    if matrix.format == "coo":
        made = type(matrix)((matrix.data, matrix.coords), shape=matrix.shape, copy=True)
        made.sum_duplicates()
        # Those that stand twice are added up column by column.
        made = made.tocsr().tocoo() if made.ndim == 2 else made
        return None if made.nnz == matrix.nnz and _same_order(matrix, made) else made
    try:
        made = type(matrix)((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)
    except ValueError:
        return None  # Malformed otherwise.
    if made.has_canonical_format:
        return None
    made.sum_duplicates()
    return made


def _same_order(a, b) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a.coords, b.coords, strict=True))


def like(object, name: str) -> _native.Tensor:
    """A tensor of the type, format and fill value that the object has as one: nothing of the object is held."""
    if type(object) is np.ndarray and object.dtype == np.bool_:
        object = np.zeros_like(object, shape=(2,) * object.ndim)
    elif _module(object) == "scipy" and hasattr(object, "tocsr"):
        object = type(object)((1,) * len(object.shape), dtype=object.dtype)
    return tensor(object, name)


def _taken(object, name, copy):
    believed = [] if copy or not (type(object) is np.ndarray or _module(object) == "scipy") else _loans.believed(object)
    try:
        return _loans.lent(lambda: _native.from_object(object, name, copy), believed)
    except OperandError:
        matrix = in_order(object) if _module(object) == "scipy" else None
        if matrix is None:
            raise
        _permit(copy, name, "its entries are not in order, each once")
        return _native.from_object(matrix, name, None)


def of_levels(shape, format: str, arrays, fill=None, copy: bool | None = None, name: str = "T") -> _native.Tensor:
    """A tensor of arrays, those of the levels in their order, the values last."""
    values = [arrays[-1]] if arrays[-1].dtype == np.bool_ else []
    believed = [] if copy else [*arrays[:-1], *values]
    return _loans.lent(lambda: _native.from_levels(shape, format, arrays, fill, copy, name), believed)


def _permit(copy, name: str, why: str) -> None:
    if copy is False:
        raise OperandError(f"tensor `{name}`: {why}, and `copy=False` permits no copy of it")


def _module(object) -> str:
    """The library of an object's class, or of one that it is derived from."""
    names = (base.__module__.partition(".")[0] for base in type(object).__mro__)
    return next((name for name in names if name in ("scipy", "sparse", "numpy")), "")


def _class(object) -> str:
    return f"{type(object).__module__}.{type(object).__qualname__}"


def _scipy(object, name, ty, copy):
    if _module(object) != "scipy" or not hasattr(object, "tocsr"):
        return None
    _permit(copy, name, f"SciPy's format `{object.format}` is not stored so")
    _sound.check(object, name)
    return object.tocsr() if object.ndim == 2 else object.tocoo()


def _sparse(object, name, ty, copy):
    """`COO`, `GCXS`, `DOK` of PyData's sparse."""
    if _module(object) != "sparse" or not hasattr(object, "fill_value"):
        return None
    kind = type(object).__name__
    if kind == "GCXS" and object.ndim == 2:
        arrays = [_signed(object.indptr), _signed(object.indices), object.data]
        format = "csr" if tuple(object.compressed_axes) == (0,) else "csc"
        return of_levels(object.shape, format, arrays, object.fill_value, copy, name)
    if kind != "COO":
        _permit(copy, name, f"{_class(object)} is not stored so")
        object = object.asformat("coo")
    if object.ndim == 0:
        return np.asarray(object.todense())
    # Its coordinates are sorted and unique.
    return listed(object.shape, list(object.coords), object.data, object.fill_value, copy, name)


def listed(shape, columns, values, fill, copy, name):
    """A tensor of entries in order: a level of coordinates for each mode."""
    positions = np.array([0, len(values)], dtype=np.int32 if len(values) < 2**31 else np.int64)
    return of_levels(shape, "coo", [positions, *map(_signed, columns), values], fill, copy, name)


#: Of fewer entries a conversion takes less time than a kernel's first call.
_MANY = 4096
#: As many bytes a kernel's result may have for dense levels: what is larger the extension module looks at before it begins.
_LARGE = 2**30


def stored(of: _native.Tensor, format: str) -> _native.Tensor:
    """The tensor in another format: the same entries, by a kernel where they are many."""
    leading = _leading(of, format)
    if leading is None or of.nnz < _MANY or of.dense_view() is not None or leading * of.dtype.itemsize > _LARGE:
        return of.converted(format)
    if format == "coo":
        return _listed_rows(stored(of, "csr")) if of.format != "coo" else of
    if format == of.format:
        return of
    indices = ", ".join(f"i_{mode}" for mode in range(of.ndim))
    sizes = ", ".join(f"N{mode}" for mode in range(of.ndim))
    declared = Declared(of.type_name, tuple(sizes.split(", ")), format, of.fill_value).text("B")
    return _native.einsum(f"{declared}\nB[{indices}] = A[{indices}]", {"A": of})


def _leading(of: _native.Tensor, format: str) -> int | None:
    """How many coordinates the dense levels of a format have; ``None`` of those that kernels are not asked for."""
    if format == "dense":
        return of.size
    if of.ndim != 2:
        return None
    return {"csr": of.shape[0], "csc": of.shape[1], "dcsr": 0, "dcsc": 0, "coo": of.shape[0]}.get(format)


def _listed_rows(of: _native.Tensor) -> _native.Tensor:
    """A matrix stored by rows as coordinates: each row's number as often as it has entries."""
    arrays = of.arrays()
    positions, columns = arrays["pos1"], arrays["crd1"]
    rows = np.repeat(np.arange(of.shape[0], dtype=columns.dtype), np.diff(positions))
    return listed(of.shape, [rows, columns.copy()], arrays["values"].copy(), of.fill_value, None, "array")


def _signed(array):
    """Indices as the language has them: of 32 or 64 bits, with a sign; others are converted."""
    return array if array.dtype in (np.int32, np.int64) else array.astype(np.int64)


def _binsparse(object, name, ty, copy):
    """Whatever says how it is stored as binsparse does: a descriptor, and arrays by name."""
    if not (hasattr(object, "__binsparse__") and hasattr(object, "__binsparse_descriptor__")):
        return None
    described = object.__binsparse_descriptor__()
    described = described.get("binsparse", described)
    arrays = {key: np.asarray(array) for key, array in object.__binsparse__().items()}
    shape, format = tuple(described["shape"]), str(described["format"]).upper()
    fill = described.get("fill_value", getattr(object, "fill_value", None))
    known = _BINSPARSE.get(format)
    if known is None:
        raise OperandError(f"tensor `{name}`: binsparse's format {format} is not read: {', '.join(_BINSPARSE)} are")
    ours, keys = known
    taken = [arrays[key] for key in keys]
    if ours == "coo":
        return listed(shape, taken[:-1], taken[-1], fill, copy, name)
    taken = [_signed(array) for array in taken[:-1]] + taken[-1:]
    return of_levels(shape, ours, taken, fill, copy, name)


_BINSPARSE = {
    "DVEC": ("dense", ["values"]),
    "DMAT": ("dense", ["values"]),
    "DMATR": ("dense", ["values"]),
    "DMATC": ("{dense, dense} order(1, 0)", ["values"]),
    "CSR": ("csr", ["pointers_to_1", "indices_1", "values"]),
    "CSC": ("csc", ["pointers_to_1", "indices_1", "values"]),
    "COO": ("coo", ["indices_0", "indices_1", "values"]),
    "COOR": ("coo", ["indices_0", "indices_1", "values"]),
}


def _numpy(object, name, ty, copy):
    """Subclasses of ndarray, and NumPy's numbers."""
    if isinstance(object, np.ma.MaskedArray):
        raise OperandError(f"tensor `{name}`: a masked array has elements that are none: fill them, or store them sparsely")
    if isinstance(object, (np.ndarray, np.generic)):
        return np.asarray(object)
    return None


def _dlpack(object, name, ty, copy):
    if not hasattr(object, "__dlpack__"):
        return None
    try:
        return np.from_dlpack(object)
    except (BufferError, RuntimeError, TypeError) as e:
        raise OperandError(f"tensor `{name}`: {_class(object)} is not taken by its `__dlpack__`: {e}") from e


def _array(object, name, ty, copy):
    """Lists, and whatever NumPy makes an array of."""
    if not (isinstance(object, (list, tuple, range)) or hasattr(object, "__array__")):
        return None
    _permit(copy, name, f"{_class(object)} is no array")
    is_list = isinstance(object, (list, tuple, range))
    try:
        array = np.asarray(object, dtype=DTYPES.get(ty) if is_list else None)
    except (TypeError, ValueError) as e:
        raise OperandError(f"tensor `{name}`: {_class(object)} is no array: {e}") from e
    return None if array.dtype == np.dtype("O") else array
