"""Tables: what has columns as operands of programs, and results that have labels.

```text
 pandas, polars, pyarrow, DuckDB ──Arrow's stream──▶ Table ──▶ columns(), to_pandas(), to_arrow()
 {name: array or list} ──of_columns──────────────────▶   └────Arrow's stream──▶ polars.DataFrame(table), duckdb.sql(…)
```
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from . import _native
from .errors import OperandError

__all__ = ["Table", "is_table", "of_columns", "table"]

Table = _native.Table
Table.__doc__ = """Columns of one length, each with a name: `table` makes one, and results that have labels are some.

    ``t["n"]`` is a column, ``t[["n", "city"]]`` a table of some, ``t[3]`` a row, a dict, ``t[:5]`` and ``t[t["n"] > 1]`` are tables of
    rows. ``polars.DataFrame(t)``, ``pyarrow.table(t)`` and DuckDB read its Arrow stream.

    Attributes
    ----------
    names, types : list of str
        Of each column its name, and the language's name of its type.
    shape : tuple of int
        How many rows, and how many columns.
    """

# How many rows are printed.
_SHOWN = 12


def table(object: Any, /) -> Table:
    """A table: columns of one length, each with a name.

    Calls of kernels take what this takes as it is; of a `Table` the stream was read, once for any number of calls.

    Parameters
    ----------
    object
        What has an Arrow stream (``__arrow_c_stream__``): a data frame of pandas or polars, a table of pyarrow, a relation of
        DuckDB, a `Table`. Or columns by name, each an array of NumPy's or a list: numbers, truth values, texts, dates,
        decimals, ``None`` where a row has no value. Columns are shared where they can be (``docs/python.md``).

    Returns
    -------
    Table
        With ``names``, ``types``, a length, `columns`, `to_pandas`, `to_arrow`, and an Arrow stream. ``t["n"]`` is a column,
        ``t[["city", "n"]]`` a table of some, ``t[3]`` a row, ``t[:5]`` and ``t[t["n"] > 1]`` tables of rows.

    Examples
    --------
    >>> fl.table({"city": ["Rome", "Paris"], "day": np.array(["2024-02-29", "NaT"], "datetime64[D]"), "n": [1, 2]})
    2 rows: city string, day date, n i64
      city   day         n
      Rome   2024-02-29  1
      Paris              2

    Raises
    ------
    OperandError
        It is no table, or contradicts what Arrow's interface says of one.
    """
    return object if isinstance(object, Table) else _native.table_of(object)


def is_table(object) -> bool:
    """Whether an object is a table and no array: a stream of Arrow's alone is one of arrays, too, as of a column."""
    has_columns = hasattr(object, "__arrow_c_stream__") and hasattr(object, "columns")
    # SciPy's dictionaries of keys are matrices.
    is_dict = isinstance(object, Mapping) and not hasattr(object, "dtype")
    return isinstance(object, Table) or is_dict or has_columns


def of_columns(object, name: str) -> Table:
    """The table of columns by name; `name` is the table's in messages."""
    if not isinstance(object, Mapping):
        kind = f"{type(object).__module__}.{type(object).__qualname__}".removeprefix("builtins.")
        raise OperandError(
            f"{name}: an object of class `{kind}` is no table: a data frame of pandas or polars, a table of pyarrow, a relation "
            "of DuckDB, or a dict of columns, each an array or a list, expected"
        )
    return _native.table_of_columns([_column(name, str(column), of) for column, of in object.items()], name)


def _refused(table: str, column: str, row: int | None, what: str) -> OperandError:
    """An error that names a table, a column, and perhaps a row, counted from 0 here and from 1 there."""
    return OperandError(
        f"{table}: column {column}: {what}" if row is None else f"{table}: row {row + 1}, column {column}: {what}"
    )


def _column(table: str, column: str, values) -> tuple:
    """What `table_of_columns` takes: name, kind, values, offsets of texts, marks of nulls, digits behind the point."""
    if isinstance(values, (list, tuple)):
        return _of_objects(table, column, values)
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__array__"):
        raise _refused(table, column, None, f"a {type(values).__name__} is given, an array or a list expected")
    array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if array.ndim != 1:
        raise _refused(table, column, None, f"an array of {array.ndim} modes is given, 1 expected")
    nulls = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    array = np.ma.getdata(array)
    if array.dtype.kind == "M":
        return _of_times(table, column, array, nulls)
    if array.dtype.kind in "OUT":
        objects = array.tolist()
        if nulls is not None:
            objects = [None if null else value for value, null in zip(objects, nulls, strict=True)]
        return _of_objects(table, column, objects)
    return column, "plain", array, None, nulls, 0


def _of_times(table: str, column: str, array, nulls) -> tuple:
    """Dates where the unit is a day or longer, else timestamps of whole microseconds."""
    kind, unit = ("date", "D") if np.datetime_data(array.dtype)[0] in "YMWD" else ("timestamp", "us")
    times = array.astype(f"datetime64[{unit}]")
    none = np.isnat(array) if nulls is None else np.isnat(array) | nulls
    wrong = np.flatnonzero(~none & (times != array))
    if wrong.size:
        raise _refused(table, column, int(wrong[0]), "a time is no whole microsecond, or out of bounds: round the column")
    return column, kind, np.where(none, 0, times.astype(np.int64)), None, none if none.any() else None, 0


def _kind(value) -> str | None:
    """What an object of Python's is in a column."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, (int, np.integer)):
        return "int"
    if isinstance(value, (float, np.floating)):
        return "float"
    if isinstance(value, Decimal):
        return "decimal"
    if isinstance(value, datetime.datetime):
        return "timestamp"
    return "date" if isinstance(value, datetime.date) else None


def _of_objects(table: str, column: str, objects) -> tuple:
    """A column of objects of Python's, all of one kind; integers among floats are floats, and NaN among others is none."""
    others = _has_others(objects)
    objects = [None if others and _is_nan(value) else value for value in objects]
    kinds = [None if value is None else _kind(value) for value in objects]
    kind = next((kind for kind in kinds if kind is not None), "bool")
    if kind == "int" and "float" in kinds:
        kind = "float"
    if kind in ("date", "timestamp") and {"date", "timestamp"} <= set(kinds):
        objects, kinds, kind = [_moment(value) for value in objects], [own and "timestamp" for own in kinds], "timestamp"
    for row, (value, own) in enumerate(zip(objects, kinds, strict=True)):
        if value is not None and own != kind and (own, kind) != ("int", "float"):
            raise _refused(table, column, row, f"{value!r} ({type(value).__name__}) in a column of {_NAMED[kind]}")
    none = np.array([value is None for value in objects], bool)
    nulls = none if none.any() else None
    if kind == "text":
        texts = [b"" if value is None else _encoded(table, column, row, value) for row, value in enumerate(objects)]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(text) for text in texts], dtype=np.int64)])
        return column, "text", b"".join(texts), offsets, nulls, 0
    if kind == "date":
        first = datetime.date(1970, 1, 1).toordinal()
        days = np.array([0 if value is None else value.toordinal() - first for value in objects], np.int64)
        return column, "date", days, None, nulls, 0
    if kind == "timestamp":
        times = np.array([0 if value is None else _microseconds(value) for value in objects], np.int64)
        return column, "timestamp", times, None, nulls, 0
    if kind == "decimal":
        return _of_decimals(table, column, objects, nulls)
    dtype = {"bool": np.bool_, "int": np.int64, "float": np.float64}[kind]
    try:
        return column, "plain", np.array([0 if value is None else value for value in objects], dtype), None, nulls, 0
    except OverflowError:
        row = next(row for row, value in enumerate(objects) if value is not None and not -(2**63) <= value < 2**63)
        raise _refused(table, column, row, f"{objects[row]} is an integer of more than 64 bits") from None


_NAMED = {
    "text": "texts",
    "bool": "truth values",
    "int": "integers",
    "float": "floats",
    "decimal": "decimals",
    "date": "dates",
    "timestamp": "timestamps",
}


def _moment(value):
    """A date as its first moment."""
    is_date = isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)
    return datetime.datetime.combine(value, datetime.time()) if is_date else value


def _microseconds(value: datetime.datetime) -> int:
    """Those from 1970-01-01 00:00 on, of universal time."""
    zone = None if value.tzinfo is None else datetime.timezone.utc
    return (value - datetime.datetime(1970, 1, 1, tzinfo=zone)) // datetime.timedelta(microseconds=1)


def _has_others(objects) -> bool:
    """Whether something else than floats is there, among which NaN stands for none, as in columns of objects of pandas."""
    return any(value is not None and not isinstance(value, (float, np.floating, int, np.integer)) for value in objects)


def _is_nan(value) -> bool:
    return value.is_nan() if isinstance(value, Decimal) else isinstance(value, (float, np.floating)) and value != value


def _encoded(table: str, column: str, row: int, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise _refused(table, column, row, f"{text!r} has half of a character, which UTF-8 has not") from None


def _of_decimals(table: str, column: str, objects, nulls) -> tuple:
    """Decimals as integers, of which a power of ten is one."""
    parts = [(0, (0,), 0) if value is None else value.as_tuple() for value in objects]
    for row, (_, _, exponent) in enumerate(parts):
        if not isinstance(exponent, int):
            raise _refused(table, column, row, f"{objects[row]} is no number")
    digits = max((-exponent for _, _, exponent in parts), default=0)
    digits = max(digits, 0)
    if digits > 18:
        raise _refused(table, column, None, f"decimals with {digits} digits behind the point: at most 18 are held")
    scaled = []
    for row, (sign, figures, exponent) in enumerate(parts):
        number = int("".join(map(str, figures))) * 10 ** min(exponent + digits, 400)
        if number >= 2**63:
            raise _refused(table, column, row, f"{objects[row]} with {digits} digits behind the point needs more than 64 bits")
        scaled.append(-number if sign else number)
    return column, "decimal", np.array(scaled, np.int64), None, nulls, digits


def method(function):
    """Makes a function or property a member of `Table`."""
    named = function.fget if isinstance(function, property) else function
    setattr(Table, named.__name__, function)
    return function


@method
def columns(self) -> dict:
    """The columns as arrays of NumPy's.

    Returns
    -------
    dict
        By name. Numbers and truth values are over the table's memory and read-only, masked arrays where rows have none; dates
        are ``datetime64[D]`` with ``NaT``, timestamps ``datetime64[us]``; texts and decimals (``decimal.Decimal``) are objects with ``None``.
    """
    return {name: _array(*self.raw(name)) for name in self.names}


def _array(kind: str, values, nulls, digits: int):
    if kind in ("date", "timestamp"):
        times = values.astype(np.int64)
        if nulls is not None:
            times[nulls] = np.iinfo(np.int64).min
        return times.view("datetime64[D]" if kind == "date" else "datetime64[us]")
    if kind == "plain":
        return values if nulls is None else np.ma.masked_array(values, nulls)
    objects = np.empty(len(values), object)
    objects[:] = values if kind == "text" else [Decimal(int(value)).scaleb(-digits) for value in values]
    if nulls is not None:
        objects[nulls] = None
    return objects


@method
def to_pandas(self):
    """A data frame of pandas.

    Returns
    -------
    pandas.DataFrame
        Numbers that some rows have not are of pandas' nullable types, decimals are objects.
    """
    import pandas as pd

    def series(array):
        if not isinstance(array, np.ma.MaskedArray):
            return array
        made = {"b": pd.arrays.BooleanArray, "f": pd.arrays.FloatingArray}.get(array.dtype.kind, pd.arrays.IntegerArray)
        return made(np.ma.getdata(array).copy(), np.ma.getmaskarray(array).copy())

    return pd.DataFrame({name: series(array) for name, array in self.columns().items()})


@method
def to_arrow(self):
    """A table of pyarrow, over the same memory where Arrow has the same buffers.

    Returns
    -------
    pyarrow.Table
        Decimals are ``decimal128(19, digits)``, dates ``date32``, timestamps ``timestamp("us", "UTC")``.
    """
    import pyarrow

    return pyarrow.table(self)


@method
def __repr__(self) -> str:
    rows, *lines = self.head(_SHOWN).split("\n")
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(self.names, self.types, strict=True))
    return "\n".join([f"{rows}: {columns}", *lines])


# ---- parts of a table


def _of_raw(columns: list[tuple]) -> Table:
    """A table of columns as `Table.raw` gives them, with their names before."""
    made = []
    for name, kind, values, nulls, digits in columns:
        offsets = None
        if kind == "text":
            texts = [text.encode() for text in values]
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(text) for text in texts], dtype=np.int64)])
            values = b"".join(texts)
        made.append((name, kind, values, offsets, nulls, digits))
    return _native.table_of_columns(made, "table")


def _rows(self, places: np.ndarray) -> Table:
    """The table of some rows, in this order."""
    columns = []
    for name in self.names:
        kind, values, nulls, digits = self.raw(name)
        taken = [values[n] for n in places] if kind == "text" else np.ascontiguousarray(values[places])
        columns.append((name, kind, taken, None if nulls is None else np.ascontiguousarray(nulls[places]), digits))
    return _of_raw(columns)


@method
def __getitem__(self, key, /):
    """A column by its name, as of `columns`; a row by its number, a dict; a table of columns by a list of names, or of rows by a
    slice, an array of numbers or of truth values.
    """
    if isinstance(key, str):
        if key not in self.names:
            raise KeyError(f"there is no column `{key}`: {', '.join(self.names)}")
        return _array(*self.raw(key))
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        if not -len(self) <= key < len(self):
            raise IndexError(f"there is no row {key}: there are {len(self)}")
        row = _rows(self, np.array([key % len(self)]))
        return {name: _array(*row.raw(name))[0] for name in row.names}
    if isinstance(key, list) and key and all(isinstance(name, str) for name in key):
        missing = [name for name in key if name not in self.names]
        if missing:
            raise KeyError(f"there is no column `{missing[0]}`: {', '.join(self.names)}")
        return _of_raw([(name, *self.raw(name)) for name in key])
    return _rows(self, np.atleast_1d(np.arange(len(self))[np.ma.filled(key, False) if np.ma.isMaskedArray(key) else key]))


@method
def __iter__(self):
    return iter(self.names)


@method
def __contains__(self, name) -> bool:
    return name in self.names


@method
@property
def shape(self) -> tuple[int, int]:
    """How many rows, and how many columns."""
    return len(self), len(self.names)


@method
def __array__(self, dtype=None, copy=None):
    column = self.names[0] if self.names else "name"
    raise TypeError(f"a table is no array: `table[{column!r}]` is one, of a column, and `to_pandas()` makes a data frame")


@method
def __reduce__(self):
    return _of_raw, ([(name, *self.raw(name)) for name in self.names],)


@method
def _repr_html_(self) -> str:
    from ._html import table

    return table(self)
