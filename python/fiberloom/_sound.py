"""SciPy's matrices, looked at before SciPy's own code reads them: it takes their arrays as they are, and reads outside of them.

A matrix in which nothing is wrong may have entries out of order, or several at one place, and SciPy may be asked to sort them.
"""

from __future__ import annotations

import numpy as np

from .errors import OperandError

__all__ = ["check", "wrong_in"]


def wrong_in(matrix) -> str | None:
    """What is wrong in a matrix's arrays, and where first; ``None`` if they are those of a matrix of its shape."""
    look = _LOOKS.get(matrix.format)
    return look(matrix) if look else f"its format `{matrix.format}` is not known"


def check(matrix, name: str) -> None:
    """Nothing, where SciPy may read a matrix.

    Raises
    ------
    OperandError
        If something is wrong in its arrays.
    """
    wrong = wrong_in(matrix)
    if wrong:
        raise OperandError(f"tensor `{name}`: {type(matrix).__module__}.{type(matrix).__qualname__} is malformed: {wrong}")


def _integers(what: str, array, ndim: int = 1) -> str | None:
    if not isinstance(array, np.ndarray) or array.ndim != ndim or array.dtype.kind not in "iu":
        return f"`{what}` is no array of integers in {ndim} dimension{'' if ndim == 1 else 's'}"
    return None


def _within(what: str, array, extent: int) -> str | None:
    outside = (array < 0) | (array >= extent)
    if outside.any():
        at = int(np.argmax(outside))
        return f"`{what}[{at}]` is {array[at]}, outside of 0..{extent}"
    return None


def _compressed(matrix, rows: int, columns: int) -> str | None:
    """Of csr, csc and bsr: positions and coordinates of so many rows and columns."""
    positions, coordinates, data = matrix.indptr, matrix.indices, matrix.data
    wrong = _integers("indptr", positions) or _integers("indices", coordinates)
    if wrong:
        return wrong
    if len(positions) != rows + 1:
        return f"`indptr` has {len(positions)} elements, not {rows + 1}"
    if positions[0] != 0:
        return f"`indptr[0]` is {positions[0]}, not 0"
    falls = positions[1:] < positions[:-1]
    if falls.any():
        at = int(np.argmax(falls))
        return f"`indptr[{at + 1}]` is {positions[at + 1]}, less than the {positions[at]} before it"
    stored = min(len(coordinates), len(data))
    if positions[-1] > stored:
        return f"`indptr` ends with {positions[-1]}, and there are {stored} entries"
    return _within("indices", coordinates[: positions[-1]], columns)


def _csr(matrix):
    rows, columns = matrix.shape if matrix.ndim == 2 else (1, *matrix.shape)
    return _values(matrix.data) or _compressed(matrix, rows, columns)


def _csc(matrix):
    return _values(matrix.data) or _compressed(matrix, matrix.shape[1], matrix.shape[0])


def _bsr(matrix):
    data = matrix.data
    if not isinstance(data, np.ndarray) or data.ndim != 3:
        return "`data` is no array of blocks"
    blocks = data.shape[1:]
    if 0 in blocks or any(extent % block for extent, block in zip(matrix.shape, blocks, strict=True)):
        return f"blocks of {blocks[0]} × {blocks[1]} do not fill a matrix of {matrix.shape[0]} × {matrix.shape[1]}"
    return _compressed(matrix, matrix.shape[0] // blocks[0], matrix.shape[1] // blocks[1])


def _coo(matrix):
    coords = matrix.coords
    if len(coords) != matrix.ndim:
        return f"there are {len(coords)} arrays of coordinates, and {matrix.ndim} modes"
    wrong = _values(matrix.data)
    for mode, (array, extent) in enumerate(zip(coords, matrix.shape, strict=True)):
        wrong = wrong or _integers(f"coords[{mode}]", array)
        if wrong is None and len(array) != len(matrix.data):
            wrong = f"`coords[{mode}]` has {len(array)} elements, and `data` has {len(matrix.data)}"
        wrong = wrong or _within(f"coords[{mode}]", array, extent)
    return wrong


def _dia(matrix):
    wrong = _integers("offsets", matrix.offsets)
    data = matrix.data
    if wrong is None and (not isinstance(data, np.ndarray) or data.ndim != 2 or len(data) != len(matrix.offsets)):
        wrong = f"`data` has not a row for each of {len(matrix.offsets)} offsets"
    if wrong is None and len(np.unique(matrix.offsets)) != len(matrix.offsets):
        wrong = "`offsets` has one twice"
    return wrong


def _lil(matrix):
    rows, data, (count, columns) = matrix.rows, matrix.data, matrix.shape
    for what, array in (("rows", rows), ("data", data)):
        if not isinstance(array, np.ndarray) or array.shape != (count,) or array.dtype != object:
            return f"`{what}` has not a list for each of {count} rows"
    for i, (own, values) in enumerate(zip(rows, data, strict=True)):
        if not isinstance(own, list) or not isinstance(values, list) or len(own) != len(values):
            return f"row {i} has not a value for each column"
        for before, j in zip([-1, *own], own):
            if not isinstance(j, (int, np.integer)) or not 0 <= j < columns:
                return f"row {i} has column {j}, outside of 0..{columns}"
            if j <= before:
                return f"row {i} has column {j} behind {before}"
    return None


def _dok(matrix):
    for at in matrix.keys():
        at = at if isinstance(at, tuple) else (at,)
        inside = len(at) == matrix.ndim and all(isinstance(i, (int, np.integer)) for i in at)
        if not inside or any(not 0 <= i < extent for i, extent in zip(at, matrix.shape, strict=True)):
            return f"{at} is no coordinate of a matrix of shape {matrix.shape}"
    return None


def _values(data) -> str | None:
    if not isinstance(data, np.ndarray) or data.ndim != 1:
        return "`data` is no array in 1 dimension"
    return None


_LOOKS = {"csr": _csr, "csc": _csc, "bsr": _bsr, "coo": _coo, "dia": _dia, "lil": _lil, "dok": _dok}
