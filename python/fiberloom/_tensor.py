"""Methods of tensors that need no access to memory: they are set on the extension module's class.

Whoever adds to a tensor in Python does the same: ``@method`` before a function, a property or a class attribute.
"""

from __future__ import annotations

import math

import numpy as np

from . import _absent, _convert, _methods, _native
from ._operators import asked_by_scipy, attach, no_array
from ._types import DTYPES
from .errors import Error

__all__ = ["Tensor", "method"]

Tensor = _native.Tensor
Tensor.__doc__ = """An array in some format, which does not change: `asarray` makes one, and what is computed is one.

    Its methods and operators are NumPy's and SciPy's, each a kernel; ``x[…]`` and `fiberloom.array` say more.

    Attributes
    ----------
    shape : tuple of int
        Extent of each mode.
    ndim, size : int
        Number of modes, and of coordinates.
    dtype : numpy.dtype
        Element type.
    format : str
        Its name, as ``csr``, or its levels, as ``{dense, band}``.
    levels : list of str
        The kind of each level, outermost first.
    level_order : list of int
        Of each level the mode that it stores.
    nnz : int
        How many values are stored.
    fill_value : bool, int or float
        The value of what is not stored.
    """
attach(Tensor)
_methods.attach(Tensor)
_methods.attach_to_tensors(Tensor)
_absent.attach(Tensor)


def method(function):
    """Makes a function or property a member of `Tensor`."""
    named = function.fget if isinstance(function, property) else function
    setattr(Tensor, named.__name__, function)
    return function


@method
@property
def dtype(self) -> np.dtype:
    """Element type."""
    return DTYPES[self.type_name]


@method
@property
def size(self) -> int:
    """Number of coordinates."""
    return math.prod(self.shape)


@method
@property
def nbytes(self) -> int:
    """How many bytes its arrays have, those of indices among them."""
    return sum(array.nbytes for array in self.arrays().values())


@method
def __sizeof__(self) -> int:
    # Whoever moves tensors between processes (dask) asks for it.
    return object.__sizeof__(self) + self.nbytes


@method
@property
def T(self) -> Tensor:
    """The same arrays with modes reversed: nothing is copied, and a csr becomes a csc."""
    return self.permuted(range(self.ndim)[::-1])


@method
def to(self, format: str, *, fill=None) -> Tensor:
    """The same tensor in another format, or with another value for what is not stored.

    Parameters
    ----------
    format
        As of `asarray`.
    fill
        The value of what is not stored; if absent, the same as now. Values do not change: what the new one is not is stored.

    Returns
    -------
    Tensor
        Itself if it is so already. What the innermost level stores stays stored, fill values among it. Where entries are
        many a kernel moves them.
    """
    return _convert.stored(self, format) if fill is None else self.converted(format, fill)


@method
def to_numpy(self, *, copy: bool = False) -> np.ndarray:
    """The values of all coordinates.

    Parameters
    ----------
    copy
        Whether a dense tensor's are copied.

    Returns
    -------
    numpy.ndarray
        Over a dense tensor's memory, unless ``copy``; others are made dense.
    """
    view = self.dense_view()
    if view is None:
        view = _convert.stored(self, "dense").dense_view()
        # Nobody else has it; truth values are read-only, and a copy is not.
        copy = copy and not view.flags.writeable
    return view.copy() if copy else view


@method
def to_scipy(self, *, copy: bool | None = None):
    """A SciPy sparse array.

    Parameters
    ----------
    copy
        ``None`` copies index arrays, so that the array can be sorted and pruned in place, and shares values. ``False`` shares
        index arrays, too, which are then read-only. ``True`` copies all.

    Returns
    -------
    scipy.sparse.csr_array, csc_array or coo_array
        Other formats of two modes become csr, of one and of more coo.

    Raises
    ------
    Error
        If the fill value is not 0: SciPy's arrays have none.
    """
    import scipy.sparse as sp

    if self.fill_value != 0:
        raise Error(f"the fill value is {self.fill_value}, and SciPy's arrays have 0: `.to(format, fill=0)` stores the rest")
    format = self.format
    wanted = ("csr", "csc", "coo") if self.ndim == 2 else ("sparse",) if self.ndim == 1 else ("coo",)
    if format not in wanted:
        return self.to(wanted[0]).to_scipy(copy=copy)
    arrays = self.arrays()
    index = arrays.__getitem__ if copy is False else lambda name: arrays[name].copy()
    values = arrays["values"].copy() if copy else arrays["values"]
    if format in ("coo", "sparse"):
        columns = tuple(index(f"crd{level}") for level in range(self.ndim))
        made = sp.coo_array((values, columns), shape=self.shape)
    else:
        of = sp.csr_array if format == "csr" else sp.csc_array
        made = of((values, index("crd1"), index("pos1")), shape=self.shape)
    made.has_canonical_format = True
    return made


@method
def to_sparse(self):
    """The same tensor as PyData/Sparse has it.

    Returns
    -------
    sparse.COO
        With the same fill value.
    """
    import sparse

    if self.ndim == 0:
        return sparse.COO(np.empty((0, 1), dtype=np.intp), self.arrays()["values"], shape=())
    arrays = self.to("coo").arrays()
    columns = np.stack([arrays[f"crd{level}"] for level in range(self.ndim)]).astype(np.intp, copy=False)
    fill = self.dtype.type(self.fill_value)
    return sparse.COO(
        columns, arrays["values"], shape=self.shape, fill_value=fill, has_duplicates=False, sorted=True, prune=False
    )


@method
def __array__(self, dtype=None, copy=None):
    if asked_by_scipy():
        return no_array()
    view = self.dense_view()
    if view is None:
        raise TypeError(f"a tensor stored as {self.format} is made dense only if asked: write `T.to_numpy()`, or `T.to_scipy()`")
    if dtype is not None and np.dtype(dtype) != view.dtype:
        if copy is False:
            raise ValueError(f"a tensor of {view.dtype} is not {np.dtype(dtype)} without a copy")
        return view.astype(dtype)
    return view.copy() if copy else view


@method
def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    view = self.dense_view()
    if view is None:
        raise BufferError(f"a tensor stored as {self.format} has no DLPack form: `to_numpy()` makes it dense")
    if not view.flags.writeable and copy is not False and (max_version or (0, 0))[0] < 1:
        view = view.copy()  # Versions before 1 cannot say that memory is not to be written to.
    return view.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


@method
def __dlpack_device__(self):
    return (1, 0)  # kDLCPU


@method
def __repr__(self) -> str:
    shown = f"shape={self.shape}, dtype={self.dtype}, format={self.format}, nnz={self.nnz}, fill_value={self.fill_value}"
    return f"Tensor({shown})"


#: As many entries are printed; of more, the first and the last.
_PRINTED = 20


@method
def __str__(self) -> str:
    view = self.dense_view()
    if view is not None:
        return str(view)
    arrays = self.to("coo").arrays()
    values, number = arrays["values"], self.nnz
    shown = range(number) if number <= _PRINTED else [*range(_PRINTED // 2), None, *range(number - _PRINTED // 2, number)]
    columns = [arrays[f"crd{level}"] for level in range(self.ndim)]
    lines = ["  :\t:" if n is None else f"  ({_listed(columns, n)})\t{values[n]}" for n in shown]
    return "\n".join([repr(self), *lines])


def _listed(columns: list[np.ndarray], entry: int) -> str:
    listed = ", ".join(str(column[entry]) for column in columns)
    return f"{listed}," if len(columns) == 1 else listed


@method
def __format__(self, spec: str) -> str:
    if not spec:
        return str(self)
    if self.ndim:
        raise TypeError(f"an array of shape {self.shape} has no format `{spec}`: an array without modes is a number")
    return format(self.number(), spec)


@method
def _repr_html_(self) -> str:
    from ._html import tensor

    return tensor(self)


@method
def __len__(self) -> int:
    if self.ndim == 0:
        raise TypeError("a tensor without modes has no length")
    return self.shape[0]


def _rebuilt(shape, format, fill, arrays) -> Tensor:
    return _convert.of_levels(shape, format, arrays, fill)


@method
def __reduce_ex__(self, protocol):
    # NumPy hands arrays over out of band where the protocol can.
    return _rebuilt, (self.shape, self.format, self.fill_value, list(self.arrays().values()))
