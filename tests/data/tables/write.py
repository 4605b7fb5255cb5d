"""Writes `*.parquet` with pyarrow and polars: tables of 40 rows, of which row n says what every column holds.

python3 write.py   (pyarrow 26.0, polars 2.1)

    whole   n - 150, i64                   price   n + 0.05, decimal of 9 digits
    small   n % 100 - 50, i8               wide    n / 1000, decimal of 38 digits
    count   n, u32                         bytes   -n / 10000, decimal of 20 digits
    real    n / 4, f64                     name    one of seven words, the last of them empty
    single  n / 8, f32                     maybe   n, i32, null where 5 divides n
    truth   whether 3 divides n            part    "p" and n, null where n % 4 is 1
    born    1970-01-01 and 37 n days       at      the same as a timestamp in microseconds

and `borders.parquet`, of eight rows in two row groups, which hold what stands beside a border, `BORDERS`; `twice.parquet`, in which two
columns have one name.
"""

import datetime
import decimal

import polars
import pyarrow
import pyarrow.parquet

ROWS = range(40)
DAY = datetime.date(1970, 1, 1)


def born(n):
    return DAY + datetime.timedelta(days=37 * n)


def scaled(n, digits):
    return decimal.Decimal(f"{n}e{-digits}")


COLUMNS = {
    "whole": (pyarrow.int64(), lambda n: n - 150),
    "small": (pyarrow.int8(), lambda n: n % 100 - 50),
    "count": (pyarrow.uint32(), lambda n: n),
    "real": (pyarrow.float64(), lambda n: n / 4),
    "single": (pyarrow.float32(), lambda n: n / 8),
    "truth": (pyarrow.bool_(), lambda n: n % 3 == 0),
    "born": (pyarrow.date32(), born),
    "at": (pyarrow.timestamp("us"), lambda n: datetime.datetime.combine(born(n), datetime.time())),
    "price": (pyarrow.decimal128(9, 2), lambda n: scaled(100 * n + 5, 2)),
    "wide": (pyarrow.decimal128(38, 3), lambda n: scaled(n, 3)),
    "bytes": (pyarrow.decimal128(20, 4), lambda n: scaled(-n, 4)),
    "name": (pyarrow.string(), lambda n: ["eins", "zwei", "drei", "vier", "fünf", "sechs", ""][n % 7]),
    "maybe": (pyarrow.int32(), lambda n: None if n % 5 == 0 else n),
    "part": (pyarrow.string(), lambda n: None if n % 4 == 1 else f"p{n}"),
}


# The sixth row, of the second group, is the first that is no i8. Quotients of floats are beside the floats nearest to `tiny`.
LATE = [1, 2, 3, 4, 5, 300, 7, 8]
BORDERS = {
    "unsigned": pyarrow.array([0, 1, 2**31 - 1, 2**31, 3_000_000_000, 2**32 - 1, 7, 8], pyarrow.uint32()),
    "late": pyarrow.array(LATE, pyarrow.int64()),
    "coded": pyarrow.array(LATE, pyarrow.int64()),
    "nullable": pyarrow.array([None if x == 7 else x for x in LATE], pyarrow.int64()),
    "few": pyarrow.array([scaled(15 * n - 30, 1) for n in range(8)], pyarrow.decimal128(9, 1)),
    "many": pyarrow.array([scaled(2**63 - 1 - n, 18) for n in range(8)], pyarrow.decimal128(38, 18)),
    "tiny": pyarrow.array(
        [scaled(x, 38) for x in [453233943, 575458, 243672114, -453233943, 10**37, 1, 0, 10**38 - 1]],
        pyarrow.decimal128(38, 38),
    ),
    "huge": pyarrow.array([scaled(2**64 + n, 0) for n in range(8)], pyarrow.decimal128(38, 0)),
    "single": pyarrow.array([0.1, 0.2, 0.3, 0.7, 1.1, -0.1, 16777216.0, 0.0], pyarrow.float32()),
}


def table(dictionary):
    arrays = {name: pyarrow.array([of(n) for n in ROWS], type=ty) for name, (ty, of) in COLUMNS.items()}
    if dictionary:
        arrays["name"] = arrays["name"].dictionary_encode()
    return pyarrow.table(arrays)


def write(name, dictionary=True, **how):
    pyarrow.parquet.write_table(table(dictionary), name, write_statistics=False, store_schema=False, **how)


if __name__ == "__main__":
    write("snappy.parquet", compression="snappy", row_group_size=16)
    write("plain.parquet", False, compression="none", use_dictionary=False, data_page_version="2.0")
    write("zstd.parquet", compression="zstd", data_page_version="2.0", store_decimal_as_integer=True)
    write("gzip.parquet", compression="gzip", version="1.0")
    write("lz4.parquet", compression="lz4", data_page_size=64, write_batch_size=8)
    delta = {"whole": "DELTA_BINARY_PACKED", "maybe": "DELTA_BINARY_PACKED", "part": "DELTA_BYTE_ARRAY"}
    delta |= {"name": "DELTA_LENGTH_BYTE_ARRAY", "real": "BYTE_STREAM_SPLIT"}
    write("delta.parquet", False, compression="snappy", use_dictionary=False, column_encoding=delta)
    polars.from_arrow(table(False)).write_parquet("polars.parquet", row_group_size=15, statistics=False)
    nested = pyarrow.table({"list": [[1, 2], [3]], "key": [1, 2]})
    pyarrow.parquet.write_table(nested, "nested.parquet")
    odd = {"packed": [1, 2], "nothing": pyarrow.nulls(2), "clock": [datetime.time(12, 30), datetime.time(1)]}
    how = {"packed": "brotli", "nothing": "snappy", "clock": "snappy"}
    pyarrow.parquet.write_table(pyarrow.table(odd), "kinds.parquet", compression=how)
    how = {"compression": "snappy", "write_statistics": False, "store_schema": False, "store_decimal_as_integer": True}
    borders = pyarrow.table(BORDERS)
    pyarrow.parquet.write_table(borders, "borders.parquet", row_group_size=4, use_dictionary=["coded"], **how)
    twice = pyarrow.Table.from_arrays([pyarrow.array([n, n + 1]) for n in range(3)], names=["a", "b", "a"])
    pyarrow.parquet.write_table(twice, "twice.parquet", **how)
