"""Tables: every producer and type, what Arrow's interface permits and contradicts; answers beside DuckDB's and pandas'."""

import copy
import ctypes
import datetime
import decimal
import gc
import pathlib
import pickle
import threading
import weakref

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fiberloom as fl

D = decimal.Decimal
DAY = datetime.date
TIME = datetime.datetime

# One relation, of all that columns hold.
COLUMNS = {
    "city": ["Rome", "Paris", "Rome", None, "Málaga, at the sea"],
    "day": [DAY(2024, 2, 29), DAY(1969, 12, 31), DAY(2024, 2, 29), None, DAY(1970, 1, 1)],
    "amount": [D("5.00"), D("10.50"), D("-2.25"), D("0.01"), D("7.00")],
    "many": [1, 2, 3, 4, 2**40],
    "ratio": [0.5, -1.25, 3.0, 0.0, 1e300],
    "ok": [True, False, True, True, False],
}

PROGRAM = """
dim CITY: string  dim DAY: date
table t[row: N] { city: CITY, day: DAY, amount: dec(2), many: i64, ratio: f64, ok: bool }
tensor by_city: dec(2)[CITY]  tensor by_day: i64[DAY]
by_city[city[n]] += amount[n]
by_day[day[n]] += mask(ok[n], many[n])
ratios[] = sum(n: ratio[n])
"""

PRODUCERS = {
    "dict": lambda columns: columns,
    "table": fl.table,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "duckdb": lambda columns: duckdb.from_arrow(pa.table(columns)),
}


@pytest.fixture(scope="module")
def kernel():
    return fl.compile(PROGRAM)


def rows(table):
    """The rows of a table."""
    columns = [column.tolist() for column in fl.table(table).columns().values()]
    return list(zip(*columns, strict=True))


BY_CITY = [("Málaga, at the sea", D("7.00")), ("Paris", D("10.50")), ("Rome", D("2.75"))]
BY_DAY = [(DAY(2024, 2, 29), 4)]


@pytest.mark.parametrize("producer", PRODUCERS)
def test_a_table_is_what_has_columns(kernel, producer):
    results = kernel(t=PRODUCERS[producer](COLUMNS))
    assert rows(results["by_city"]) == BY_CITY and rows(results["by_day"]) == BY_DAY
    assert float(results["ratios"]) == sum(COLUMNS["ratio"])
    assert kernel.check(t=PRODUCERS[producer](COLUMNS)) == {"compared": 6, "unpromised": 0}


@pytest.mark.parametrize("producer", PRODUCERS)
def test_a_table_says_what_it_has(producer):
    table = fl.table(PRODUCERS[producer](COLUMNS))
    assert table.names == list(COLUMNS) and len(table) == 5
    held = rows(table)
    assert held == list(zip(*COLUMNS.values(), strict=True))
    assert repr(table).startswith("5 rows: city string, day ") and "\n  Málaga, at the sea  1970-01-01  7.00" in repr(table)
    assert fl.table(table) is table


def test_results_go_to_every_consumer(kernel):
    result = kernel(t=COLUMNS)["by_city"]
    assert isinstance(result, fl.Table) and result.types == ["string", "dec(2)"]
    frame = result.to_pandas()
    assert frame["CITY"].tolist() == [city for city, _ in BY_CITY] and frame["by_city"].tolist() == [x for _, x in BY_CITY]
    arrow = result.to_arrow()
    arrow.validate(full=True)
    assert arrow.schema.field("by_city").type == pa.decimal128(19, 2)
    assert pl.DataFrame(result).rows() == pl.from_arrow(arrow).rows() == BY_CITY
    assert duckdb.sql("select * from result order by all").fetchall() == BY_CITY
    assert pa.schema(result) == arrow.schema
    # And back: a result is a table.
    again = fl.compile("dim CITY: string  table u[CITY: CITY] { by_city: dec(2) }  s[] = sum(c: by_city[c])")
    assert rows(again(u=result)["s"]) == [(D("20.25"),)]


@pytest.mark.parametrize("producer", PRODUCERS)
def test_every_column_is_given_back(producer):
    table = fl.table(PRODUCERS[producer](COLUMNS))
    arrow = table.to_arrow()
    arrow.validate(full=True)
    assert arrow.to_pydict() == COLUMNS
    assert pl.DataFrame(table).to_dict(as_series=False) == COLUMNS
    frame = table.to_pandas()
    assert frame["many"].tolist() == COLUMNS["many"] and frame["day"].isna().tolist() == [False, False, False, True, False]


TYPES = [
    *((f"{sign}int{bits}", bits, sign == "") for bits in (8, 16, 32, 64) for sign in ("", "u")),
]


@pytest.mark.parametrize("name, bits, signed", TYPES)
def test_integers_of_every_width(name, bits, signed):
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    held = [least, most, 7, 7]
    table = fl.table(pa.table({"a": pa.array(held, getattr(pa, name)())}))
    assert table.types == [("i" if signed else "u") + str(bits)] and table.columns()["a"].tolist() == held
    k = fl.compile("dim D: i64  table t[row: N] { a: D }  tensor h: i64[D]  h[a[n]] += 1")
    if most < 2**63:
        assert dict(rows(k(t=table)["h"])) == {least: 1, most: 1, 7: 2}
    else:
        with pytest.raises(fl.OperandError, match=f"t: row 2, column a: {most}"):
            k(t=table)


def midnight(day):
    return None if day is None else TIME(day.year, day.month, day.day)


def arrays(kind):
    """A column of this kind by pyarrow, and what `columns` gives of it."""
    none = None
    texts = ["a", none, "", "a text of more than twelve bytes", "é"]
    days = [DAY(2024, 2, 29), none, DAY(1969, 12, 31), DAY(1, 1, 1), DAY(9999, 12, 31)]
    numbers = [D("1.50"), none, D("-2.25"), D("0"), D("1234567.89")]
    return {
        "utf8": (pa.array(texts, pa.string()), texts),
        "large_utf8": (pa.array(texts, pa.large_string()), texts),
        "utf8_view": (pa.array(texts, pa.string_view()), texts),
        "dictionary": (pa.array(texts).dictionary_encode(), texts),
        "dictionary of views": (
            pa.DictionaryArray.from_arrays(
                pa.array([3, none, 2, 0, 1], pa.uint8()), pa.array(["é", "", "b", "a"], pa.string_view())
            ),
            ["a", none, "b", "é", ""],
        ),
        "dictionary with nulls": (
            pa.DictionaryArray.from_arrays(pa.array([1, 0, none], pa.int64()), pa.array([none, "x"])),
            ["x", none, none],
        ),
        "dictionary of dates": (pa.array(days, pa.date32()).dictionary_encode(), days),
        "dictionary of numbers": (pa.array([5, none, 7, 5], pa.int16()).dictionary_encode(), [5, none, 7, 5]),
        "date32": (pa.array(days, pa.date32()), days),
        "date64": (pa.array(days, pa.date64()), days),
        **{
            f"timestamp {unit}": (pa.array(days[:3], pa.date32()).cast(pa.timestamp(unit)), [midnight(day) for day in days[:3]])
            for unit in ("s", "ms", "us", "ns")
        },
        "decimal32": (pa.array(numbers, pa.decimal32(9, 2)), numbers),
        "decimal64": (pa.array(numbers, pa.decimal64(18, 2)), numbers),
        "decimal128": (pa.array(numbers, pa.decimal128(38, 2)), numbers),
        "decimal256": (pa.array(numbers, pa.decimal256(76, 2)), numbers),
        "more digits than 64 bits have": (pa.array(numbers, pa.decimal128(38, 20)), numbers),
        "whole thousands": (pa.array([D(5000), D(-3000)], pa.decimal128(9, -3)), [D(5000), D(-3000)]),
        "bool": (pa.array([True, none, False] * 11), [True, none, False] * 11),
        "float32": (pa.array([0.5, none, -0.0], pa.float32()), [0.5, none, -0.0]),
        "null": (pa.nulls(3), [none] * 3),
    }[kind]


KINDS = [
    "utf8",
    "large_utf8",
    "utf8_view",
    "dictionary",
    "dictionary of views",
    "dictionary with nulls",
    "dictionary of dates",
    "dictionary of numbers",
    "date32",
    "date64",
    "timestamp s",
    "timestamp ms",
    "timestamp us",
    "timestamp ns",
    "decimal32",
    "decimal64",
    "decimal128",
    "decimal256",
    "more digits than 64 bits have",
    "whole thousands",
    "bool",
    "float32",
    "null",
]


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_columns_whole_in_slices_and_in_chunks(kind):
    array, expected = arrays(kind)
    n = len(array)

    def held(array):
        return fl.table(pa.table({"a": array})).columns()["a"].tolist()

    assert held(array) == expected
    for start in range(n + 1):
        for end in range(start, n + 1):
            assert held(array.slice(start, end - start)) == expected[start:end], (start, end)
        parts = pa.chunked_array([array.slice(0, start), array.slice(start)])
        assert held(parts) == expected
    # A slice of a whole table, of which one chunk is left away.
    table = pa.table({"a": pa.chunked_array([array, array])}).slice(1, n)
    assert fl.table(table).columns()["a"].tolist() == (expected + expected)[1 : n + 1]
    # And out again.
    back = pa.table(fl.table(pa.table({"a": array})))
    back.validate(full=True)
    assert fl.table(back).columns()["a"].tolist() == expected


def test_chunks_with_dictionaries_of_their_own():
    chunks = pa.chunked_array([pa.array(["a", "b"]).dictionary_encode(), pa.array(["c", "a", None]).dictionary_encode()])
    assert fl.table(pa.table({"a": chunks})).columns()["a"].tolist() == ["a", "b", "c", "a", None]


def test_a_structure_with_an_offset_is_rows_of_a_table():
    whole = pa.StructArray.from_arrays([pa.array([1, 2, 3, 4]), pa.array(["a", "b", None, "d"])], ["n", "s"])

    class Sliced:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.RecordBatchReader.from_batches(
                pa.schema(whole.type), [pa.RecordBatch.from_struct_array(whole.slice(1, 2))]
            ).__arrow_c_stream__()

    assert rows(Sliced()) == [(2, "b"), (3, None)]


@pytest.mark.parametrize(
    "made",
    [
        lambda: pd.DataFrame({"city": pd.Categorical(["b", "a", None, "b"], categories=["z", "b", "a"])}),
        lambda: pl.DataFrame({"city": pl.Series(["b", "a", None, "b"], dtype=pl.Categorical)}),
        lambda: pl.DataFrame({"city": pl.Series(["b", "a", None, "b"], dtype=pl.Enum(["z", "b", "a"]))}),
        lambda: duckdb.sql("select x::enum('z', 'b', 'a') as city from (values ('b'), ('a'), (null), ('b')) t(x)"),
    ],
    ids=["pandas", "polars", "polars enum", "duckdb enum"],
)
def test_categories(made):
    k = fl.compile("dim CITY: string  table t[row: N] { city: CITY }  tensor h: i64[CITY]  h[city[n]] += 1")
    assert rows(k(t=made())["h"]) == [("a", 1), ("b", 2)]


def test_numbers_of_one_chunk_are_borrowed_and_held():
    array = pa.array(np.arange(1000.0))
    table = fl.table(pa.table({"x": array, "s": pa.array(["ab"] * 1000)}))
    column = table.columns()["x"]
    assert column.ctypes.data == array.buffers()[1].address and not column.flags.writeable
    before = pa.total_allocated_bytes()
    out = pa.table(table)
    assert out["x"].chunk(0).buffers()[1].address == array.buffers()[1].address
    assert out["s"].chunk(0).buffers()[2].address == pa.table(table)["s"].chunk(0).buffers()[2].address
    del array, table
    gc.collect()
    assert column.sum() == 499500.0 and out["s"].to_pylist() == ["ab"] * 1000
    assert pa.total_allocated_bytes() <= before
    sliced = fl.table(pa.table({"x": pa.array(np.arange(10.0))}).slice(3, 4))
    assert sliced.columns()["x"].tolist() == [3.0, 4.0, 5.0, 6.0]


def test_memory_is_given_back():
    gc.collect()
    before = pa.total_allocated_bytes()
    k = fl.compile(PROGRAM)
    for _ in range(3):
        table = pa.table(COLUMNS)
        bound = k.bind(t=table)
        result = bound()["by_city"]
        reader = pa.table(result).to_reader()
        del table
    gc.collect()
    # What was encoded is no more Arrow's.
    assert pa.total_allocated_bytes() <= before
    del reader, result, bound


class TestColumnsOfPython:
    def held(self, values):
        table = fl.table({"a": values})
        return table.types[0], table.columns()["a"].tolist()

    def test_arrays(self):
        assert self.held(np.array([1, 2], np.int16)) == ("i16", [1, 2])
        assert self.held(np.arange(6, dtype=np.int32)[::2]) == ("i32", [0, 2, 4])
        assert self.held(np.array([1.5, 2], ">f8")) == ("f64", [1.5, 2.0])
        assert self.held(np.ma.masked_array([1, 2, 3], [0, 1, 0])) == ("i64", [1, None, 3])
        assert self.held(np.array(["a", "bc"])) == ("string", ["a", "bc"])
        assert self.held(np.array(["2024-02-29T00:00", "NaT"], "M8[m]")) == ("timestamp", [TIME(2024, 2, 29), None])
        assert self.held(np.array(["2024-02", "NaT"], "M8[M]")) == ("date", [DAY(2024, 2, 1), None])
        assert self.held(np.array(["x", None, float("nan")], object)) == ("string", ["x", None, None])
        assert self.held(pd.Series([1, 2], index=[7, 8])) == ("i64", [1, 2])
        assert self.held(fl.asarray(np.array([1.0, 2.0]))) == ("f64", [1.0, 2.0])

    def test_lists(self):
        assert self.held([1, None, 3]) == ("i64", [1, None, 3])
        assert self.held([1, 2.5]) == ("f64", [1.0, 2.5])
        assert self.held((True, None)) == ("bool", [True, None])
        assert self.held([np.int8(3), 4]) == ("i64", [3, 4])
        times = [TIME(2024, 2, 29, 1), DAY(1970, 1, 1), TIME(1970, 1, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=3)))]
        assert self.held(times) == ("timestamp", [times[0], TIME(1970, 1, 1), TIME(1969, 12, 31, 23)])
        assert self.held([D("1.5"), D("-0.25"), D("1E+2"), None]) == ("dec(2)", [D("1.50"), D("-0.25"), D("100.00"), None])
        assert self.held([]) == ("bool", []) and self.held([None, None]) == ("bool", [None, None])

    @pytest.mark.parametrize(
        "values, message",
        [
            ([1, "a"], "table: row 2, column a: 'a' (str) in a column of integers"),
            (["a", 1], "table: row 2, column a: 1 (int) in a column of texts"),
            ([1, True], "table: row 2, column a: True (bool) in a column of integers"),
            ([1, 2**63], "table: row 2, column a: 9223372036854775808 is an integer of more than 64 bits"),
            ([datetime.time(1)], "datetime.time(1, 0) (time)"),
            (np.array([1000, 1001], "M8[ns]"), "table: row 2, column a: a time is no whole microsecond"),
            ([D("1e-19")], "decimals with 19 digits behind the point: at most 18 are held"),
            ([D("1e18"), D("0.1")], "table: row 1, column a: 1E+18 with 1 digits behind the point needs more than 64 bits"),
            ([D(1), D("Infinity")], "table: row 2, column a: Infinity is no number"),
            (["a", "\ud800"], "table: row 2, column a: '\\ud800' has half of a character"),
            (np.zeros((2, 2)), "table: column a: an array of 2 modes is given, 1 expected"),
            (np.array([1j]), "complex128"),
            ("abc", "table: column a: a str is given, an array or a list expected"),
            (5, "table: column a: a int is given, an array or a list expected"),
        ],
        ids=lambda x: x if isinstance(x, str) else "",
    )
    def test_what_is_no_column(self, values, message):
        with pytest.raises(fl.OperandError) as raised:
            fl.table({"a": values})
        assert message in str(raised.value)

    def test_columns_of_one_length(self):
        with pytest.raises(fl.OperandError, match="column `b`: 3 values"):
            fl.table({"a": [1, 2], "b": [1, 2, 3]})
        for none in (5, "abc", [1, 2], None):
            with pytest.raises(fl.OperandError, match="is no table: a data frame"):
                fl.table(none)


def test_parts_of_a_table_are_columns_rows_and_tables():
    table, frame = fl.table(COLUMNS), pa.table(COLUMNS).to_pandas()
    assert list(table) == table.names == list(COLUMNS) and "many" in table and "none" not in table
    assert table.shape == frame.shape
    np.testing.assert_array_equal(table["many"], frame["many"])
    assert table["city"].tolist() == COLUMNS["city"]
    assert table[["day", "ok"]].to_pandas().equals(table.to_pandas()[["day", "ok"]])
    assert table[4] == table[-1] == {name: column[4] for name, column in COLUMNS.items()}
    for rows in (slice(1, 4), slice(None, None, -1), np.array([0, 4]), [2, 2], np.array(COLUMNS["ok"]), table["ratio"] > 0):
        assert table[rows].types == table.types
        want = table.to_pandas().iloc[np.arange(5)[rows]].reset_index(drop=True)
        assert table[rows].to_pandas().equals(want)
    assert len(table[np.zeros(5, bool)]) == 0
    for key, error in (("none", KeyError), (["many", "none"], KeyError), (5, IndexError), (-6, IndexError)):
        with pytest.raises(error, match="there is no"):
            table[key]


def test_tables_are_pickled_and_copied():
    table = fl.table(COLUMNS)
    for other in (pickle.loads(pickle.dumps(table)), copy.copy(table), copy.deepcopy(table)):
        assert other.types == table.types and other.to_arrow().equals(table.to_arrow())


def test_a_table_is_no_array():
    with pytest.raises(TypeError, match=r"`table\['city'\]` is one, of a column, and `to_pandas\(\)`"):
        np.asarray(fl.table(COLUMNS))
    with pytest.raises(TypeError, match="to_pandas"):
        pd.DataFrame(fl.table(COLUMNS))


def test_a_table_shows_its_first_rows():
    shown = fl.table({"a<": ["x&y", None] * 20, "n": list(range(40))})._repr_html_()
    assert shown.startswith("<table><tr><th>a&lt;<br><small>string</small></th>") and shown.count("<tr>") == 13
    assert "<td>x&amp;y</td><td>0</td>" in shown and "<td></td><td>1</td>" in shown and shown.endswith("<p>40 rows</p>")


class TestErrors:
    def test_a_table_that_is_not_given_is_drawn_into_the_program(self, kernel):
        with pytest.raises(fl.OperandError) as raised:
            kernel()
        (span,) = raised.value.spans
        assert span.message == "no data are given for table `t`" and span.help == "give the call `t=…`" and span.line == 3

    @pytest.mark.parametrize(
        "column, values, message",
        [
            ("amount", [D("1.005")] * 5, "t: row 1, column amount: 1.005 has 3 digits behind its point, and `dec(2)` holds 2"),
            ("amount", [D(1), None, D(1), D(1), D(1)], "t: row 2, column amount: a null, and `dec(2)` holds none"),
            ("many", [1.0, 2.0, 3.0, 4.0, 0.5], "t: row 5, column many: 0.5 is not exactly a value of type i64"),
            ("city", [1, 2, 3, 4, 5], "t: row 1, column city"),
            ("day", ["2024-02-29", "2024-02-30", None, None, None], "t: row 2, column day"),
        ],
    )
    @pytest.mark.parametrize("producer", ["dict", "polars", "pyarrow"])
    def test_what_is_not_as_declared_names_table_row_and_column(self, kernel, producer, column, values, message):
        with pytest.raises(fl.OperandError) as raised:
            kernel(t=PRODUCERS[producer](COLUMNS | {column: values}))
        assert str(raised.value).startswith(message)

    def test_columns_that_are_not_there(self, kernel):
        with pytest.raises(fl.OperandError, match=r"t: no column `day` among 5 columns: `city`, `amount`"):
            kernel(t={name: values for name, values in COLUMNS.items() if name != "day"})

    def test_one_key_twice(self):
        k = fl.compile("dim D: string  table t[k: D] { a: i64 }  s[] = sum(i: a[i])")
        with pytest.raises(fl.OperandError, match="t: row 3, column k: the key `x` stands in row 1 too"):
            k(t={"k": ["x", "y", "x"], "a": [1, 2, 3]})

    def test_columns_that_nobody_reads_may_be_anything(self, kernel):
        lists = pa.array([[1], [2], [3], [4], [5]])
        table = pa.table(COLUMNS).append_column("lists", lists)
        assert rows(kernel(t=table)["by_city"]) == BY_CITY
        assert "lists (lists, maps or unions" in repr(fl.table(table))
        with pytest.raises(fl.OperandError, match="t: column many: it holds lists, maps or unions"):
            kernel(t=table.drop(["many"]).rename_columns(["city", "day", "amount", "ratio", "ok", "many"]))

    @pytest.mark.parametrize(
        "ty, what",
        [
            (pa.binary(), "bytes"),
            (pa.time32("s"), "times of day"),
            (pa.duration("s"), "durations"),
            (pa.float16(), "floats of 16 bits"),
            (pa.month_day_nano_interval(), "intervals"),
            (pa.struct({"a": pa.int8()}), "structures"),
        ],
        ids=str,
    )
    def test_types_that_no_program_has(self, ty, what):
        with pytest.raises(fl.OperandError, match=f"table: column a: it holds {what}"):
            fl.table(pa.table({"a": pa.nulls(2, ty)})).columns()

    def test_values_that_are_not_held(self):
        times = pa.array([1000, 1001]).view(pa.timestamp("ns"))
        with pytest.raises(fl.OperandError, match="table: row 2, column a: a time of 1001 nanoseconds .* is no whole microsecond"):
            fl.table(pa.table({"a": times})).columns()
        far = pa.array([0, 2**62]).view(pa.timestamp("s"))
        with pytest.raises(fl.OperandError, match="table: row 2, column a: a time is out of bounds"):
            fl.table(pa.table({"a": far})).columns()
        wide = pa.array([None, D(10) ** 30], pa.decimal128(38, 2))
        with pytest.raises(fl.OperandError, match="table: row 2, column a: .* a decimal of more than 64 bits"):
            fl.table(pa.table({"a": wide})).columns()

    def test_columns_of_tables_are_no_operands(self, kernel):
        with pytest.raises(fl.OperandError, match="tensor `many`: it comes from the data of tables"):
            kernel(t=COLUMNS, many=np.zeros(5, np.int64))

    def test_what_is_not_of_tables_yet(self, kernel):
        with pytest.raises(fl.Error, match="a plan of boxes: not of a program that has tables"):
            fl.shards(kernel, t=COLUMNS, split={"n": 2})
        with pytest.raises(fl.Error, match="`einsum`: not of a program that has tables"):
            fl.einsum(PROGRAM)
        with pytest.raises(fl.OperandError, match="tensor `t`: .* is no array, .*: a program that declares a table takes it"):
            fl.einsum("s[] = t[i]", t=pl.DataFrame(COLUMNS))
        with pytest.raises(fl.OperandError, match="the result `by_city` is a table, which no buffer takes"):
            kernel(t=COLUMNS, out={"by_city": np.zeros(3)})

    def test_memory_is_limited(self):
        k = fl.compile("table t[k: K] { a: i64 } dense  s[] = sum(i: a[i])", options={"memory": 1 << 20})
        with pytest.raises(fl.LimitError, match="t: "):
            k(t={"k": [1 << 40], "a": [1]})


class TestPrograms:
    def test_bound_tables_are_encoded_once(self, kernel):
        columns = COLUMNS | {"many": np.array(COLUMNS["many"])}
        p = kernel.bind(t=columns)
        first = p()
        columns["many"][0] = 100
        assert rows(p()["by_day"]) == rows(first["by_day"]) == rows(p.run()["by_day"]) == BY_DAY
        assert rows(kernel(t=columns)["by_day"]) == [(DAY(2024, 2, 29), 103)]

    def test_tensors_beside_tables(self):
        text = "dim D: string  table t[row: N] { d: D }  tensor w: f64[N] dense  tensor y: f64[D]  y[d[n]] += w[n]"
        k = fl.compile(text)
        table = {"d": ["b", "a", "b"]}
        assert rows(k(t=table, w=np.array([1.0, 2.0, 4.0]))["y"]) == [("a", 2.0), ("b", 5.0)]
        with pytest.raises(fl.OperandError, match="t: row 3, column row: row 2 of its key"):
            k(t=table, w=np.array([1.0, 2.0]))
        with pytest.raises(fl.OperandError, match="give the call `w=…`"):
            k(t=table)

    def test_a_kernel_says_which_tables_it_takes(self, kernel):
        assert kernel.tables == [("t", ["city", "day", "amount", "many", "ratio", "ok"])]
        assert repr(kernel).startswith("Kernel(t: table") and "t: a table with city, day" in kernel.explain()

    def test_tables_need_no_description(self):
        k = fl.compile(PROGRAM, t=COLUMNS)
        assert rows(k(t=COLUMNS)["by_day"]) == BY_DAY

    def test_columns_are_arrays_as_before(self):
        k = fl.compile("y[i] = 2 * x[i]", x=pl.Series([1.0, 2.0]))
        assert k(x=pl.Series([1.0, 4.0]))["y"].to_numpy().tolist() == [2.0, 8.0]
        with pytest.raises(fl.OperandError, match="and not of rows of a table"):
            fl.table(pl.Series([1.0, 2.0]))

    def test_a_table_is_a_result(self):
        text = """dim CITY: string  dim DAY: date
        table t[row: N] { city: CITY, day: DAY, amount: dec(2) }
        table out[city_of: CITY] { total: dec(2), last = "last day": DAY, rows: i64 fill 0 }
        total[city[n]] += amount[n]  rows[city[n]] += 1  last[city[n]] max= day[n]"""
        results = fl.compile(text)(t=COLUMNS)
        assert list(results) == ["out"] and results["out"].names == ["city_of", "total", "last day", "rows"]
        frame = pd.DataFrame(COLUMNS).groupby("city").agg({"amount": "sum", "day": "max", "many": "count"}).reset_index()
        assert rows(results["out"]) == list(frame.sort_values("city").itertuples(index=False, name=None))

    def test_nulls_in_results(self):
        text = """dim CITY: string  table t[row: N] { city: CITY }
        table out[row: N] { of: CITY, a: i64 fill 7 }  of[n] = city[n]  a[n] = 7 + mask(n < 2, 1)"""
        out = fl.compile(text)(t=COLUMNS)["out"]
        # Each row stands, also where both are none.
        assert out.columns()["row"].tolist() == [0, 1, 2, 3, 4]
        assert out.to_arrow()["of"].to_pylist() == COLUMNS["city"]
        assert out.to_arrow()["a"].to_pylist() == [8, 8, None, None, None]
        assert out.to_pandas()["a"].isna().tolist() == [False, False, True, True, True]

    def test_sums_that_64_bits_do_not_hold(self):
        k = fl.compile("""dim CITY: string  table t[row: N] { city: CITY, price: dec(2), rate: dec(4) }
        tensor due: dec(6)[CITY]  due[city[n]] += price[n] * rate[n]""")
        many = {"city": ["Rome"] * 2, "price": [D("5000000000.00")] * 2, "rate": [D("1000.0000")] * 2}
        few = {"city": ["Rome"], "price": [D("1.25")], "rate": [D("2.0000")]}
        for _ in range(2):
            with pytest.raises(fl.OperandError, match=r"tensor `due`: a value is about 1.000e13, and a dec\(6\)"):
                k(t=many)
            with pytest.raises(fl.OperandError, match="tensor `due`"):
                k.bind(t=many)()
            assert rows(k(t=few)["due"]) == [("Rome", D("2.500000"))]
            assert rows(k.bind(t=few)()["due"]) == [("Rome", D("2.500000"))]

    def test_tables_of_which_only_rows_count(self):
        k = fl.compile("table t[row: N] {}  s[] = count(n: t[n])")
        for made in PRODUCERS.values():
            assert int(k(t=made(COLUMNS))["s"]) == 5

    def test_relations_over_objects_of_python(self, kernel):
        frame = pd.DataFrame(COLUMNS | {"city": np.array(COLUMNS["city"], object)})
        with duckdb.connect() as connection:
            connection.register("frame", frame)
            relation = connection.sql(
                "select city, day::date as day, amount::decimal(9, 2) as amount, many, ratio, ok from frame"
            )
            assert rows(kernel(t=relation)["by_city"]) == rows(kernel(t=relation)["by_city"]) == BY_CITY

    def test_threads_share_a_table(self, kernel):
        table, found = fl.table(pa.table(COLUMNS)), []
        threads = [threading.Thread(target=lambda: found.append(rows(kernel(t=table)["by_city"]))) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert found == [BY_CITY] * 4

    def test_a_table_without_rows(self, kernel):
        results = kernel(t=pa.table(COLUMNS).slice(0, 0))
        assert len(results["by_city"]) == 0 and results["by_city"].to_arrow().num_rows == 0
        assert float(results["ratios"]) == 0.0
        assert len(kernel(t={name: [] for name in COLUMNS})["by_city"]) == 0


# Columns of the tables of TPC-H that the queries read, drawn.
def drawn(seed):
    random = np.random.default_rng(seed)
    nations, suppliers, customers, orders, lines = 8, 20, 60, 300, 1500
    cents = lambda low, high, n: [D(int(x)).scaleb(-2) for x in random.integers(low, high, n)]  # noqa: E731
    days = lambda n: np.datetime64("1993-06-01") + random.integers(0, 800, n)  # noqa: E731
    regions = ["AFRICA", "ASIA", "EUROPE"]
    return {
        "region": pd.DataFrame({"r_regionkey": [10, 11, 12], "r_name": regions}),
        "nation": pl.DataFrame(
            {
                "n_nationkey": np.arange(nations) * 3,
                "n_name": [f"NATION {i}" for i in range(nations)],
                "n_regionkey": 10 + random.integers(0, 3, nations),
            }
        ),
        "supplier": pa.table({"s_suppkey": np.arange(suppliers), "s_nationkey": random.integers(0, nations, suppliers) * 3}),
        "customer": pa.table(
            {
                "c_custkey": np.arange(customers),
                "c_nationkey": random.integers(0, nations, customers) * 3,
                "c_mktsegment": pa.array(random.choice(["BUILDING", "AUTOMOBILE"], customers)).dictionary_encode(),
            }
        ),
        "orders": pl.DataFrame(
            {
                "o_orderkey": random.permutation(orders) * 4,
                "o_custkey": random.integers(0, customers, orders),
                "o_orderdate": days(orders),
            }
        ),
        "lineitem": pa.table(
            {
                "l_orderkey": random.integers(0, orders, lines) * 4,
                "l_suppkey": random.integers(0, suppliers, lines),
                "l_extendedprice": pa.array(cents(90_000, 10_000_000, lines), pa.decimal128(15, 2)),
                "l_discount": pa.array(cents(0, 11, lines), pa.decimal128(15, 2)),
                "l_tax": pa.array(cents(0, 9, lines), pa.decimal128(15, 2)),
                "l_quantity": pa.array(cents(100, 5000, lines), pa.decimal128(15, 2)),
                "l_shipdate": days(lines),
                "l_returnflag": pa.array(random.choice(["A", "N", "R"], lines)),
                "l_linestatus": pa.array(random.choice(["F", "O"], lines)).cast(pa.string_view()),
            }
        ),
    }


SQL = {
    "q01": (
        "sum_charge",
        """select l_returnflag, l_linestatus, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) from lineitem
        where l_shipdate <= date '1998-09-02' group by all order by all""",
    ),
    "q03": (
        "revenue",
        """select l_orderkey, sum(l_extendedprice * (1 - l_discount)) from customer, orders, lineitem
        where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey
        and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15' group by all order by all""",
    ),
    "q05": (
        "revenue",
        """select n_name, sum(l_extendedprice * (1 - l_discount))
        from customer, orders, lineitem, supplier, nation, region
        where c_custkey = o_custkey and l_orderkey = o_orderkey and l_suppkey = s_suppkey and c_nationkey = s_nationkey
        and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'ASIA'
        and o_orderdate >= date '1994-01-01' and o_orderdate < date '1995-01-01' group by all order by all""",
    ),
    "q06": (
        "revenue",
        """select sum(l_extendedprice * l_discount) from lineitem where l_shipdate >= date '1994-01-01'
        and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24""",
    ),
}


@pytest.mark.parametrize("query", SQL)
@pytest.mark.parametrize("seed", [1, 2])
def test_queries_answer_as_duckdb_does(query, seed):
    text = (pathlib.Path(__file__).parent / f"../../examples/tpch/{query}.loom").read_text(encoding="utf-8")
    tables, (result, sql) = drawn(seed), SQL[query]
    kernel = fl.compile(text)
    found = rows(kernel(**{name: tables[name] for name, _ in kernel.tables})[result])
    connection = duckdb.connect()
    for name, table in tables.items():
        connection.register(name, table.to_arrow() if isinstance(table, pl.DataFrame) else table)
    expected = connection.sql(sql).fetchall()
    assert found == expected and len(found) > 0


def scattered(random, columns):
    """The same columns, each in chunks of its own, behind rows that a slice leaves away."""
    rows = len(next(iter(columns.values())))
    made, before = {}, int(random.integers(0, rows + 1))
    for name, array in columns.items():
        longer = pa.concat_arrays([array.slice(0, before), array, array.slice(0, 3)])
        cuts = np.sort(random.integers(0, len(longer) + 1, 3))
        chunks = [longer.slice(start, end - start) for start, end in zip([0, *cuts], [*cuts, len(longer)], strict=True)]
        made[name] = pa.chunked_array(chunks)
    return pa.table(made).slice(before, rows)


@pytest.mark.parametrize("seed", range(24))
def test_groups_of_random_tables_are_duckdbs(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 400))
    none = lambda: pa.array(random.random(n) < random.choice([0, 0.3]))  # noqa: E731
    words = np.array(["", "a", "é", "a text of more than twelve bytes", "one that is as long, and different", "b"])
    texts = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
    dates = [pa.date32(), pa.date64(), pa.timestamp("us")]
    numbers = [pa.int8(), pa.uint16(), pa.int64()]

    def nullable(values, types):
        array = pa.array(values, mask=none().to_numpy(zero_copy_only=False))
        ty = types[random.integers(len(types))]
        return array.dictionary_encode() if pa.types.is_dictionary(ty) else array.cast(ty)

    whole = [D(int(x)).scaleb(-2) for x in random.integers(-(10**9), 10**9, n)]
    table = scattered(
        random,
        {
            "word": nullable(random.choice(words, n), texts),
            "day": nullable(np.datetime64("1969-12-25") + random.integers(0, 12, n), dates),
            "number": nullable(random.integers(0, 100, n), numbers),
            "amount": pa.array(whole, [pa.decimal64(18, 2), pa.decimal128(38, 4)][seed % 2]),
        },
    )
    kernel = fl.compile("""
        dim WORD: string  dim DAY: date  dim NUMBER: i64
        table t[row: N] { word: WORD, day: DAY, number: NUMBER, amount: dec(4) }
        table out[w: WORD, d: DAY] { total: dec(4), rows: i64 } coo
        total[word[n], day[n]] += amount[n]  rows[word[n], day[n]] += 1
        tensor least: dec(4)[NUMBER] fill 9999999999  least[number[n]] min= amount[n]
    """)
    results = kernel(t=table)
    sql = "select word, day::date as day, sum(amount), count(*) from t where word is not null and day is not null group by 1, 2"
    with duckdb.connect() as connection:
        connection.register("t", table)
        assert rows(results["out"]) == sorted(connection.sql(sql).fetchall())
        sql = "select number, min(amount) from t where number is not null group by 1 order by 1"
        assert rows(results["least"]) == connection.sql(sql).fetchall()
    assert (
        rows(kernel(t=pl.from_arrow(table))["out"]) == rows(kernel(t=fl.table(table).to_pandas())["out"]) == rows(results["out"])
    )


# Producers that break the interface, made by hand.


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


RELEASE_SCHEMA = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
RELEASE_ARRAY = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
RELEASE_STREAM = ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))
GET_SCHEMA = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))
GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))
LAST_ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Stream))

Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", RELEASE_SCHEMA),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", RELEASE_ARRAY),
    ("private_data", ctypes.c_void_p),
]
Stream._fields_ = [
    ("get_schema", GET_SCHEMA),
    ("get_next", GET_NEXT),
    ("get_last_error", LAST_ERROR),
    ("release", RELEASE_STREAM),
    ("private_data", ctypes.c_void_p),
]

CAPSULE = ctypes.pythonapi.PyCapsule_New
CAPSULE.restype, CAPSULE.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Producer:
    """Two rows: `n` 1 and 2, `s` "ab" and "c", `d` "c" and "ab" by a dictionary, `v` a short view and a long one."""

    def __init__(self):
        self.released = {"schema": 0, "array": 0, "stream": 0}
        self.kept = []
        children = [self.field(b"l", b"n"), self.field(b"u", b"s"), self.field(b"c", b"d"), self.field(b"vu", b"v")]
        children[2].dictionary = ctypes.pointer(self.field(b"u", b""))
        self.schema = Schema(format=b"+s", name=b"", n_children=4, children=self.pointers(children, Schema))
        self.fields = children
        texts = (np.array([0, 2, 3], np.int32), np.frombuffer(b"abc", np.uint8))
        views = np.zeros((2, 16), np.uint8)
        views[0, :5] = np.frombuffer(b"\x01\0\0\0x", np.uint8)
        views[1].view(np.int32)[:] = [20, 0, 0, 3]
        self.views, self.offsets = views.view(np.int32), texts[0]
        self.places, self.lengths = np.array([1, 0], np.int8), np.array([30], np.int64)
        self.columns = [
            self.array(2, None, np.array([1, 2], np.int64)),
            self.array(2, None, *texts),
            self.array(2, None, self.places),
            self.array(2, None, views, np.frombuffer(b"_" * 3 + b"y" * 27, np.uint8), self.lengths),
        ]
        self.dictionary = self.array(2, None, np.array([0, 2, 3], np.int32), texts[1])
        self.columns[2].dictionary = ctypes.pointer(self.dictionary)
        self.chunk = self.array(2, None)
        self.chunk.n_children, self.chunk.children = 4, self.pointers(self.columns, Array)
        self.bits = np.array([1], np.uint8)
        self.chunks, self.status, self.error, self.name = 1, 0, None, b"arrow_array_stream"
        self.stream = Stream()

    def field(self, format, name):
        made = Schema(format=format, name=name, flags=2)
        self.kept.append(made)
        return made

    def pointers(self, all, kind):
        made = (ctypes.POINTER(kind) * len(all))(*(ctypes.pointer(one) for one in all))
        self.kept.append(made)
        return ctypes.cast(made, ctypes.POINTER(ctypes.POINTER(kind)))

    def array(self, length, *buffers):
        addresses = [None if buffer is None else buffer.ctypes.data for buffer in buffers]
        made = (ctypes.c_void_p * len(buffers))(*addresses)
        self.kept.append((buffers, made))
        return Array(length=length, n_buffers=len(buffers), buffers=ctypes.cast(made, ctypes.POINTER(ctypes.c_void_p)))

    def release(self, what, kind):
        def release(place):
            self.released[what] += 1
            place.contents.release = kind()

        made = kind(release)
        self.kept.append(made)
        return made

    def __arrow_c_stream__(self, requested_schema=None):
        self.schema.release = self.release("schema", RELEASE_SCHEMA)
        self.chunk.release = self.release("array", RELEASE_ARRAY)
        left = [self.chunks]

        def get_schema(_, out):
            ctypes.memmove(out, ctypes.byref(self.schema), ctypes.sizeof(Schema))
            return self.status

        def get_next(_, out):
            left[0] -= 1
            if left[0] < 0:
                ctypes.memset(out, 0, ctypes.sizeof(Array))
                return 0
            ctypes.memmove(out, ctypes.byref(self.chunk), ctypes.sizeof(Array))
            return 0

        error = None if self.error is None else ctypes.create_string_buffer(self.error)
        callbacks = (GET_SCHEMA(get_schema), GET_NEXT(get_next), LAST_ERROR(lambda _: error and ctypes.addressof(error)))
        self.kept += [callbacks, error]
        self.stream.get_schema, self.stream.get_next, self.stream.get_last_error = callbacks
        self.stream.release = self.release("stream", RELEASE_STREAM)
        self.damage()
        return CAPSULE(ctypes.addressof(self.stream), self.name, None)

    def damage(self):
        """What is wrong with it."""


def produced(damage=None):
    producer = Producer()
    if damage is not None:
        producer.damage = lambda: damage(producer)
    return producer


def test_a_producer_made_by_hand_is_read_and_released_once():
    producer = produced()
    table = fl.table(producer)
    assert producer.released == {"schema": 1, "array": 0, "stream": 1} and not producer.stream.release
    assert rows(table) == [(1, "ab", "c", "x"), (2, "c", "ab", "y" * 20)]
    arrays = table.columns()
    del table
    gc.collect()
    assert producer.released["array"] == 0 and arrays["n"].tolist() == [1, 2]
    del arrays
    gc.collect()
    assert producer.released == {"schema": 1, "array": 1, "stream": 1}
    several = produced(lambda p: setattr(p, "chunks", 3))
    several.chunks = 3
    assert len(rows(several)) == 6
    gc.collect()
    assert several.released == {"schema": 1, "array": 3, "stream": 1}


def null(kind):
    return ctypes.POINTER(kind)()


def set_buffer(p, column, n, address):
    p.columns[column].buffers[n] = address


HOSTILE = {
    "no function that gives the schema": (lambda p: setattr(p.stream, "get_schema", GET_SCHEMA()), "without the functions"),
    "no function that gives arrays": (lambda p: setattr(p.stream, "get_next", GET_NEXT()), "without the functions"),
    "a stream that was released": (lambda p: setattr(p.stream, "release", RELEASE_STREAM()), "the stream was read before"),
    "a status": (lambda p: setattr(p, "status", 5), "its producer failed with status 5"),
    "a status with a text": (lambda p: (setattr(p, "status", 22), setattr(p, "error", b"no such thing"))[0], "status 22"),
    "a schema that was released": (lambda p: setattr(p.schema, "release", RELEASE_SCHEMA()), "a schema that was released"),
    "a schema without a format": (lambda p: setattr(p.schema, "format", None), "a schema without a format"),
    "no rows": (lambda p: setattr(p.schema, "format", b"l"), r"arrays of format `l`, and not of rows"),
    "a negative number of columns": (lambda p: setattr(p.schema, "n_children", -1), "a schema has -1 children"),
    "no pointers to columns": (
        lambda p: setattr(p.schema, "children", null(ctypes.POINTER(Schema))),
        "a null pointer in the place",
    ),
    "a null pointer to a column": (
        lambda p: p.schema.children.__setitem__(1, null(Schema)),
        "a schema: child 1 is a null pointer",
    ),
    "a name that is no text": (lambda p: setattr(p.fields[0], "name", b"\xff"), "name is not UTF-8"),
    "a column without a format": (lambda p: setattr(p.fields[0], "format", None), "column n: it holds a schema without a format"),
    "an unknown format": (lambda p: setattr(p.fields[0], "format", b"?"), r"column n: it holds values of Arrow's format `\?`"),
    "a decimal of no bits": (lambda p: setattr(p.fields[0], "format", b"d:5,2,7"), "column n: it holds decimals with 2 digits"),
    "a decimal of no digits": (lambda p: setattr(p.fields[0], "format", b"d:5"), "column n: it holds a format `d:5`"),
    "a dictionary of a dictionary": (
        lambda p: setattr(p.fields[2].dictionary.contents, "dictionary", ctypes.pointer(p.fields[1])),
        "column d: it holds a dictionary that has",
    ),
    "a negative length": (lambda p: setattr(p.chunk, "length", -1), "a chunk of -1 rows"),
    "more rows than memory has": (lambda p: setattr(p.chunk, "length", 2**62), "more than memory has"),
    "a negative offset of rows": (lambda p: setattr(p.chunk, "offset", -1), "a chunk of offset -1"),
    "rows that are null": (lambda p: setattr(p.chunk, "null_count", 1), "row 1 of a chunk is null itself"),
    "a row that is null": (
        lambda p: (setattr(p.chunk, "null_count", -1), p.chunk.buffers.__setitem__(0, p.bits.ctypes.data)),
        "row 2 of a chunk is null itself",
    ),
    "another number of columns": (lambda p: setattr(p.chunk, "n_children", 3), "a chunk of 3 columns, 4 expected"),
    "no pointers to arrays": (lambda p: setattr(p.chunk, "children", null(ctypes.POINTER(Array))), "a null pointer in the place"),
    "a null pointer to an array": (lambda p: p.chunk.children.__setitem__(3, null(Array)), "a chunk: child 3 is a null pointer"),
    "a column that is too short": (lambda p: setattr(p.columns[0], "length", 1), "column n: an array of 1 values where 0 \\+ 2"),
    "an offset beyond a column": (lambda p: setattr(p.chunk, "offset", 1), "column n: an array of 2 values where 1 \\+ 2"),
    "an offset that overflows": (lambda p: setattr(p.columns[0], "offset", 2**63 - 1), "column n: an array of 2 values from"),
    "a negative offset": (lambda p: setattr(p.columns[0], "offset", -1), "column n: an array of offset -1"),
    "more nulls than values": (lambda p: setattr(p.columns[0], "null_count", 3), "column n: 3 nulls in an array of 2 values"),
    "fewer nulls than none": (lambda p: setattr(p.columns[0], "null_count", -2), "column n: -2 nulls"),
    "nulls of which nothing says which": (lambda p: setattr(p.columns[0], "null_count", 1), "column n: 1 nulls, and no buffer"),
    "too few buffers": (lambda p: setattr(p.columns[0], "n_buffers", 1), "column n: an array of 1 buffers, 2 expected"),
    "too many buffers": (lambda p: setattr(p.columns[1], "n_buffers", 4), "column s: an array of 4 buffers, 3 expected"),
    "a negative number of buffers": (lambda p: setattr(p.columns[0], "n_buffers", -2), "column n: an array of -2 buffers"),
    "no pointers to buffers": (
        lambda p: setattr(p.columns[0], "buffers", null(ctypes.c_void_p)),
        "column n: an array of 2 buffers, and a null",
    ),
    "a null pointer to values": (lambda p: set_buffer(p, 0, 1, None), "column n: an array of 2 values, and a null pointer"),
    "a null pointer to offsets": (lambda p: set_buffer(p, 1, 1, None), "column s: an array of 2 values, and a null pointer"),
    "a null pointer to texts": (lambda p: set_buffer(p, 1, 2, None), "row 1, column s: a text of 2 bytes, and a null pointer"),
    "offsets that go back": (lambda p: p.offsets.__setitem__(2, 1), "row 2, column s: its text stands from offset 2 to 1"),
    "an offset below none": (lambda p: p.offsets.__setitem__(0, -4), "row 1, column s: its text stands from offset -4 to 2"),
    "a place below none": (lambda p: p.places.__setitem__(1, -1), "row 2, column d: place -1 of a dictionary of 2 values"),
    "a place beyond a dictionary": (lambda p: p.places.__setitem__(0, 2), "row 1, column d: place 2 of a dictionary of 2 values"),
    "no dictionary": (lambda p: setattr(p.columns[2], "dictionary", null(Array)), "column d: a chunk without its dictionary"),
    "a dictionary of negative length": (lambda p: setattr(p.dictionary, "length", -2), "column d: a dictionary of -2 values"),
    "a view of negative length": (lambda p: p.views.__setitem__((1, 0), -20), "row 2, column v: a text of -20 bytes"),
    "a view of no buffer": (lambda p: p.views.__setitem__((1, 2), 1), "row 2, column v: its text stands at 3 of buffer 1, of 1"),
    "a view of a negative buffer": (
        lambda p: p.views.__setitem__((1, 2), -1),
        "row 2, column v: its text stands at 3 of buffer -1",
    ),
    "a view from below none": (lambda p: p.views.__setitem__((1, 3), -1), "row 2, column v: its text stands at -1 of buffer 0"),
    "a view beyond its buffer": (
        lambda p: p.views.__setitem__((1, 3), 11),
        "row 2, column v: its text stands at 11 with 20 bytes",
    ),
    "a buffer of negative length": (lambda p: p.lengths.__setitem__(0, -1), "column v: a buffer of texts of negative length"),
    "no lengths of buffers": (lambda p: set_buffer(p, 3, 3, None), "column v: 1 buffers of texts, and a null pointer"),
    "no buffer behind views": (lambda p: set_buffer(p, 3, 2, None), "column v: 30 bytes of texts, and a null pointer"),
    "a text that is not UTF-8": (
        lambda p: p.views.view(np.uint8).__setitem__((0, 4), 255),
        "row 1, column v: its text is not UTF-8",
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_contradicts_the_interface_is_refused_by_name(what):
    damage, message = HOSTILE[what]
    producer = produced(damage)
    with pytest.raises(fl.OperandError, match=f"table: .*{message}"):
        fl.table(producer).columns()
    gc.collect()
    released = {name: count for name, count in producer.released.items() if count}
    assert all(count == 1 for count in released.values()), released
    expected = {"schema": not what.startswith(("no function", "a stream that")), "stream": what != "a stream that was released"}
    if what == "a schema that was released":
        expected["schema"] = False
    assert {name: bool(producer.released[name]) for name in expected} == expected


def test_the_producers_text_is_in_the_message():
    def failing():
        yield pa.record_batch({"a": [1]})
        raise RuntimeError("the disk is gone")

    class Failing:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), failing()).__arrow_c_stream__()

    with pytest.raises(fl.OperandError, match="table: its producer failed with status .*the disk is gone"):
        fl.table(Failing())


def test_what_is_no_stream():
    class Other:
        def __init__(self, given):
            self.given = given

        def __arrow_c_stream__(self, requested_schema=None):
            return self.given

    for given in (5, None, pa.table({"a": [1]}).schema.__arrow_c_schema__()):
        with pytest.raises(
            fl.OperandError, match="table: `__arrow_c_stream__` gives .*a capsule named `arrow_array_stream` expected"
        ):
            fl.table(Other(given))
    once = Other(pa.table({"a": [1]}).__arrow_c_stream__())
    assert len(fl.table(once)) == 1
    with pytest.raises(fl.OperandError, match="the stream was read before"):
        fl.table(once)

    class Raises:
        def __arrow_c_stream__(self, requested_schema=None):
            raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        fl.table(Raises())


def test_streams_that_are_given_are_released():
    table = fl.table(COLUMNS)
    alive = weakref.ref(table)
    capsules = [table.__arrow_c_stream__(), table.__arrow_c_schema__()]
    del table
    gc.collect()
    assert alive() is None
    # Neither was read; the other way, children are moved out of a chunk before it is released.
    del capsules
    held = pa.RecordBatchReader.from_stream(fl.table(COLUMNS)).read_all()
    column = held["city"].combine_chunks()
    del held
    gc.collect()
    assert column.to_pylist() == COLUMNS["city"]
