"""Tables at the borders of the readers' constants, drawn: values stand where pyarrow has them, or row and column are named.

```text
 borders of types, days, digits ──draw──▶ Arrow's arrays ──write_table──▶ .parquet, .csv    of 64 and 4096 rows, one less, one more
                                               │                             │
                                       fl.compile(…)(t=…)        fiberloom run --in t=…
                                               └──▶ values of each row ◀─────┘  beside `meant`, which says what is held exactly
```
"""

import datetime
import decimal
import math
import os
import pathlib
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fiberloom as fl

decimal.getcontext().prec = 100

# How many rows there are: about bits of a byte and of a word, rows of a batch, and two of them.
LENGTHS = [0, 1, 7, 8, 9, 63, 64, 65, 4095, 4096, 4097, 8191, 8193]
WHOLE = sorted({sign * 2**bits + more for bits in (7, 8, 15, 16, 31, 32, 53, 63, 64) for sign in (1, -1) for more in (-1, 0, 1)})
WHOLE += [0, 1, -1, 3 * 10**9, 10**18, 92233720368547758, -92233720368547758]
FLOATS = [0.0, -0.0, 0.1, -0.25, 1.5, 127.0, 128.0, 2.0**31, 2.0**53, 2.0**63, -(2.0**63), 1e300, 5e-324, math.inf, math.nan]
NARROW_FLOATS = [0.0, -0.0, 0.1, -0.25, 1.5, 16777216.0, 2.0**31, 2.0**63, 3.4028235e38, 1e-45, math.inf, math.nan]
# The ends of the years -1, 0 and 1, 1969-12-31, 1970-01-02, 9999-12-31, a day more, and about 8, 16 and 31 bits.
DAYS = [-719529, -719528, -719163, -719162, 2932897, -1, 0, 1, 2932896, 127, 128, -129, 32767, 32768, -32769, 2**31 - 1, -(2**31)]
FAR = [2**31, -(2**31) - 1]
TEXTS = ["", "a", "é", "elf letters", "twelve bytes", "13 characters", "twelve bytes and more"]
TEXTS += ["x" * n for n in (127, 128, 255, 256)]
PER_DAY = {"s": 86400, "ms": 86400 * 10**3, "us": 86400 * 10**6, "ns": 86400 * 10**9}


class Refused(Exception):
    """What a declaration does not hold."""


# ---- what a value becomes


def exactly(value, ty):
    """A number as one of the language's types, if it is exactly one."""
    dtype = np.dtype({"i": "int", "u": "uint", "f": "float"}[ty[0]] + ty[1:])
    if dtype.kind == "f":
        if isinstance(value, decimal.Decimal):
            return float(value)
        with np.errstate(over="ignore"):
            made = dtype.type(value)
        value = float(value) if isinstance(value, np.floating) else value
        if float(made) != value and not math.isnan(value):
            raise Refused
        return made
    if not math.isfinite(value) or value != int(value) or not np.iinfo(dtype).min <= int(value) <= np.iinfo(dtype).max:
        raise Refused
    return int(value)


def scaled(value, digits):
    """The integer that is a number times this power of ten."""
    number = decimal.Decimal(str(value))
    whole = number.scaleb(digits) if number.is_finite() else decimal.Decimal("0.5")
    if whole != whole.to_integral_value() or not -(2**63) <= int(whole) < 2**63:
        raise Refused
    return int(whole)


def meant(value, declared):
    """What a value is where `declared` is: a number, days (`date32`: of 32 bits), an integer times a power of ten."""
    if declared.startswith("date"):
        if math.isnan(value) or declared == "date32" and not -(2**31) <= value < 2**31:
            raise Refused
        return value
    if declared.startswith("dec"):
        return scaled(value, int(declared[4:-1]))
    return exactly(value, declared) if declared != "bool" else value


def expected(values, declared, fill):
    """What each row has, or the number of the first row that is refused, from 1."""
    known = {None: fill}
    # As texts, of which 0 and -0 are two.
    texts = [None if value is None else str(value) for value in values]
    for row, (text, value) in enumerate(zip(texts, values, strict=True)):
        if text not in known:
            try:
                known[text] = meant(value, declared)
            except Refused:
                return row + 1
    return [known[text] for text in texts]


def read(array):
    """The values of an array of Arrow's, by pyarrow: numbers, days, texts."""
    ty = array.type
    if pa.types.is_dictionary(ty):
        array, ty = array.cast(ty.value_type), ty.value_type
    if pa.types.is_date32(ty):
        return array.cast(pa.int32()).to_pylist()
    if pa.types.is_date64(ty):
        return [None if x is None else days(x, PER_DAY["ms"]) for x in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_timestamp(ty):
        return [None if x is None else days(x, PER_DAY[ty.unit]) for x in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_float32(ty):
        return [None if x is None else np.float32(x) for x in array.to_pylist()]
    return array.to_pylist()


def days(time, per_day):
    """Days, or NaN where a time of day stands."""
    return time // per_day if time % per_day == 0 else math.nan


# ---- what is drawn


def within(values, ty):
    info = np.iinfo(ty.to_pandas_dtype())
    return [x for x in values if info.min <= x <= info.max]


def numbers(rng, precision, scale):
    """Decimals of so many digits: the largest, about 64 bits, and whole ones."""
    most = 10**precision - 1
    about = [0, 1, -1, most, -most, 10**scale, 2**63 - 1, -(2**63), 2**63, 10 ** (precision - 1), 25 * 10 ** max(scale - 2, 0)]
    return [decimal.Decimal(x).scaleb(-scale) for x in about if abs(x) <= most]


def kinds():
    """Of each type of Arrow's the values at borders, and the declarations under which it is read."""
    made = {}
    for bits in (8, 16, 32, 64):
        for name in (f"int{bits}", f"uint{bits}"):
            ty = getattr(pa, name)()
            own = ("u" if name[0] == "u" else "i") + str(bits)
            made[name] = (ty, within(WHOLE, ty), [own, "i64", "i32", "u64", "u8", "f64", "f32", "dec(2)"])
    made["float64"] = (pa.float64(), FLOATS, ["f64", "f32", "i64", "dec(2)", "dec(17)"])
    made["float32"] = (pa.float32(), NARROW_FLOATS, ["f32", "f64", "i64", "dec(1)"])
    made["bool"] = (pa.bool_(), [True, False], ["bool"])
    made["date32"] = (pa.date32(), DAYS, ["date"])
    made["date64"] = (pa.date64(), [x * PER_DAY["ms"] for x in DAYS + FAR], ["date"])
    for unit, per_day in PER_DAY.items():
        near = [x * per_day for x in DAYS + FAR if all(-(2**63) <= x * per < 2**63 for per in (per_day, PER_DAY["us"]))]
        made[f"timestamp {unit}"] = (pa.timestamp(unit), near + [1], ["date"])
    for precision, scale in [(1, 0), (9, 2), (18, 2), (19, 4), (22, 0), (23, 2), (38, 2), (38, 18), (38, 20), (38, 38)]:
        declared = ["dec(2)", f"dec({min(scale, 18)})", "i64", "f64"]
        made[f"decimal {precision} {scale}"] = (pa.decimal128(precision, scale), (precision, scale), declared)
    return made


KINDS = kinds()


def drawn(rng, kind, length, share):
    """An array of so many rows of values at borders, a share of them null; half of the time of few values."""
    ty, values, _ = KINDS[kind]
    if pa.types.is_decimal(ty):
        values = numbers(rng, *values)
    few = [values[n] for n in rng.choice(len(values), size=min(len(values), int(rng.integers(1, 4))), replace=False)]
    of = [few, values][rng.integers(2)] if length else values
    held = [of[n] for n in rng.integers(0, len(of), length)]
    null = rng.random(length) < share
    if length:
        null[rng.integers(length)] |= share > 0
    return masked(plain(held, ty), null)


def plain(held, ty):
    """An array without nulls: what is no object of Python's is written as integers."""
    if pa.types.is_temporal(ty):
        return pa.array(held, pa.int32() if ty == pa.date32() else pa.int64()).view(ty)
    return pa.array(held, ty)


def masked(array, null):
    """The same array with nulls, in whose places the values still stand."""
    if not null.any():
        return array
    bits = pa.py_buffer(np.packbits(~null, bitorder="little").tobytes())
    return pa.Array.from_buffers(array.type, len(array), [bits, *array.buffers()[1:]])


# ---- what is read


def written(declared, fill):
    """A program that copies a column, and its result's name: days of a date, a decimal's integer."""
    given = '"1970-01-01"' if declared == "date" else "false" if declared == "bool" else fill
    column = f"table t[row: N] {{ a: {declared} fill {given} }}"
    ty = "i64" if declared == "date" or declared.startswith("dec") else declared
    if declared.startswith("dec"):
        return f"{column}  tensor y: {declared}[N] dense  y[n] = a[n]"
    return f"{column}  tensor y: {ty}[N] dense  y[n] = a[n]" + (' - "1970-01-01"' if declared == "date" else "")


def fill_of(rng, declared):
    """What stands for a null: 0, or what is a border itself."""
    if declared in ("date", "bool"):
        return 0
    return 0 if declared.startswith(("f", "dec")) else int(rng.choice([0, 1, 127] if declared[0] == "u" else [0, -1, 127, -128]))


KERNELS = {}


def compiled(text):
    if text not in KERNELS:
        KERNELS[text] = fl.compile(text)
    return KERNELS[text]


def by_package(table, declared, fill):
    """The column of a table as the package's kernels read it."""
    y = compiled(written(declared, fill))(t=table)["y"]
    if not declared.startswith("dec"):
        return y.to_numpy()
    # Rows that are 0 are left out.
    values = [0] * len(table)
    for row, value in zip(*y.columns().values(), strict=True):
        values[row] = int(value.scaleb(int(declared[4:-1])))
    return values


def same(found, wanted):
    """That each value is the one that is meant, and of floats each bit but a NaN's."""
    assert len(found) == len(wanted)
    if isinstance(found, np.ndarray) and found.dtype.kind == "f":
        wanted = np.array(wanted, found.dtype)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted) | (np.isnan(found) & np.signbit(found)))
    else:
        assert list(found) == list(wanted)


def compared(readers, wanted, named):
    """That a reader gives what is meant, or an error that names table or file, row and column. `named` is what it begins with."""
    if not isinstance(wanted, int):
        same(readers(), wanted)
        return
    with pytest.raises(fl.OperandError) as raised:
        readers()
    assert str(raised.value).startswith(f"{named}: row {wanted}, column a: "), (str(raised.value), wanted)


def is_wide(array):
    """Whether decimals need more than 64 bits, or digits, than the package takes of Arrow's; zeros at the end apart."""
    if not pa.types.is_decimal(array.type):
        return False
    held = [x for x in array.to_pylist() if x is not None and x != 0]
    digits = max([0, *(-x.normalize().as_tuple().exponent for x in held)])
    return digits > 18 or any(not -(2**63) <= int(x.scaleb(digits)) < 2**63 for x in held)


def sliced(rng, array):
    """The same rows in one chunk, behind rows that a slice leaves away, or in several."""
    before = int(rng.choice([0, 1, 7, 8, 9]))
    longer = pa.concat_arrays([array.slice(0, before), array, array.slice(0, 3)])
    before = min(before, len(array))
    way, cut = rng.integers(3), int(rng.integers(len(array) + 1))
    if way == 0:
        return array
    whole = longer.slice(before, len(array))
    return whole if way == 1 else pa.chunked_array([whole.slice(0, cut), array.slice(cut)])


def is_guarded(wanted, declared):
    """Whether decimals are so near the end of 64 bits that a result of them is refused, but not labels."""
    return declared.startswith("dec") and isinstance(wanted, list) and any(abs(x) >= 9.22e18 for x in wanted)


def cases(kind):
    """Arrays of a kind, declarations of them, what stands for a null, and what is meant."""
    rng = np.random.default_rng(list(kind.encode()))
    for declared in KINDS[kind][2]:
        for length in rng.choice(LENGTHS, 4, replace=False):
            array = drawn(rng, kind, int(length), rng.choice([0, 0.1, 1]))
            fill = fill_of(rng, declared)
            yield array, sliced(rng, array), declared, fill, expected(read(array), declared, fill)


def test_what_is_drawn_is_read_and_is_refused():
    refused = [isinstance(wanted, int) for kind in KINDS for *_, wanted in cases(kind)]
    assert 400 < len(refused) and 0.1 < np.mean(refused) < 0.6, np.mean(refused)


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_arrow_are_read_as_declared(kind):
    for array, given, declared, fill, wanted in cases(kind):
        table = pa.table({"a": given})
        if is_wide(array):
            said = "64 bits|18 are held|is beyond|digits behind|not exactly"
            with pytest.raises(fl.OperandError, match=f"t: .*column a: .*({said})"):
                by_package(table, declared, fill)
        elif is_guarded(wanted, declared):
            assert compiled(ROWS.format(declared))(t=table)["out"].columns()["of"].tolist() == read(array)
        else:
            compared(lambda: by_package(table, declared, fill), wanted, "t")


@pytest.mark.parametrize("kind", KINDS)
def test_tables_give_columns_and_streams_back(kind):
    rng = np.random.default_rng([1, *kind.encode()])
    for length in LENGTHS:
        array = drawn(rng, kind, length, rng.choice([0, 0.1, 1]))
        given, wanted = pa.table({"a": sliced(rng, array)}), read(array)
        if pa.types.is_timestamp(array.type):
            times_come_back(given, array)
            continue
        is_time = pa.types.is_temporal(array.type)
        stand = [x for x in wanted if x is not None]
        if is_wide(array) or is_time and any(math.isnan(x) for x in stand):
            with pytest.raises(fl.OperandError, match="table: .*column a: .*(a time of day|64 bits|18 are held)"):
                fl.table(given).columns()
            continue
        column = fl.table(given).columns()["a"]
        lost = np.isnat(column) if is_time else [x is None for x in column.tolist()]
        assert list(lost) == [x is None for x in wanted]
        values = np.ma.getdata(column)[~np.array(lost, bool)]
        same(values.astype(np.int64) if is_time else values, stand)
        if is_time and any(not -(2**31) <= x < 2**31 for x in stand):
            with pytest.raises(BufferError, match=r"column a, row \d+: a date that 32 bits do not hold"):
                fl.table(given).to_arrow()
            continue
        out = fl.table(given).to_arrow()
        out.validate(full=True)
        assert repr(read(out["a"].combine_chunks())) == repr(wanted) or decimals_of(out, wanted)


def times_come_back(given, array):
    """Timestamps as microseconds of universal time, unless they are finer."""
    per = {"s": 10**6, "ms": 10**3, "us": 1, "ns": 1}[array.type.unit]
    whole = [None if x is None else x * per for x in array.cast(pa.int64()).to_pylist()]
    if array.type.unit == "ns":
        if any(x is not None and x % 1000 for x in whole):
            with pytest.raises(fl.OperandError, match="table: .*column a: .*is no whole microsecond"):
                fl.table(given).columns()
            return
        whole = [None if x is None else x // 1000 for x in whole]
    column = fl.table(given).columns()["a"]
    assert [None if np.isnat(x) else int(x.astype(np.int64)) for x in column] == whole
    out = fl.table(given).to_arrow()
    out.validate(full=True)
    assert out["a"].type == pa.timestamp("us", "UTC")
    assert out["a"].combine_chunks().cast(pa.int64()).to_pylist() == whole


def decimals_of(out, wanted):
    """Whether a column has these decimals, with other digits behind the point."""
    return pa.types.is_decimal(out["a"].type) and out["a"].to_pylist() == wanted


@pytest.mark.parametrize("part", ["year", "month", "day"])
def test_parts_of_dates_at_borders_are_numpys(part):
    days_ = np.array([day + more for day in DAYS + FAR for more in (-1, 0, 1)], np.int64)
    dates = days_.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    wanted = {
        "year": months.astype("datetime64[Y]").astype(np.int64) + 1970,
        "month": months.astype(np.int64) % 12 + 1,
        "day": (dates - months).astype(np.int64) + 1,
    }
    kernel = compiled(f"table t[row: N] {{ a: date }}  tensor y: i64[N] dense  y[n] = {part}(a[n])")
    np.testing.assert_array_equal(kernel(t={"a": dates})["y"].to_numpy(), wanted[part])
    # In narrow columns, too.
    near = np.abs(days_) < 2**15
    np.testing.assert_array_equal(kernel(t={"a": dates[near]})["y"].to_numpy(), wanted[part][near])


# ---- texts, dictionaries and labels

TEXTUAL = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "dictionary": pa.dictionary(pa.int8(), pa.string()),
    "wide dictionary": pa.dictionary(pa.uint16(), pa.large_string()),
}
ROWS = "dim D: {}  table t[row: N] {{ a: D }}  table out[row: N] {{ of: D, b: i64 fill 0 }}  of[n] = a[n]  b[n] = 1"


def textual(rng, ty, length, share):
    """Texts of lengths at borders in such an array, and the same as a list."""
    texts = [*TEXTS, "".join(rng.choice(list("aé"), 12)), "".join(rng.choice(list("ab"), 13))]
    held = [texts[n] for n in rng.integers(0, len(texts), length)]
    null = rng.random(length) < share
    wanted = [None if none else text for text, none in zip(held, null, strict=True)]
    if pa.types.is_dictionary(ty):
        return pa.array(wanted, ty.value_type).dictionary_encode().cast(ty), wanted
    return masked(pa.array(held, ty), null), wanted


@pytest.mark.parametrize("name", TEXTUAL)
def test_texts_of_lengths_at_borders(name):
    rng, ty = np.random.default_rng(list(name.encode())), TEXTUAL[name]
    for length in LENGTHS:
        array, wanted = textual(rng, ty, length, rng.choice([0, 0.3]))
        table = pa.table({"a": sliced(rng, array)})
        assert fl.table(table).columns()["a"].tolist() == wanted
        assert fl.table(table).to_arrow()["a"].to_pylist() == wanted
        assert compiled(ROWS.format("string"))(t=table)["out"].to_arrow()["of"].to_pylist() == wanted
        longest = compiled('table t[row: N] { a: string }  tensor y: bool[N] dense  y[n] = a[n] == "13 characters"')
        assert longest(t=table)["y"].to_numpy().tolist() == [text == "13 characters" for text in wanted]


def test_what_stands_in_a_nulls_place_is_not_looked_at():
    """Bytes that are no UTF-8, a place beyond a dictionary, a view of no buffer, a time out of bounds, an uint64 that is no label."""
    valid = pa.py_buffer(b"\x02")
    offsets, broken = pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"\xffa")
    first = np.array([True, False])
    view = pa.py_buffer(np.array([[20, 0, 7, 9], [1, 97, 0, 0]], np.int32))
    places = pa.Array.from_buffers(pa.int8(), 2, [valid, pa.py_buffer(b"\x63\x00")])
    arrays = {
        "utf8": (pa.Array.from_buffers(pa.string(), 2, [valid, offsets, broken]), "string", "a"),
        "view": (pa.Array.from_buffers(pa.string_view(), 2, [valid, view]), "string", "a"),
        "dictionary": (pa.DictionaryArray.from_arrays(places, pa.array(["a"]), safe=False), "string", "a"),
        "timestamp": (masked(pa.array([2**62, 86400]).view(pa.timestamp("s")), first), "timestamp", datetime.datetime(1970, 1, 2)),
        "uint64": (masked(pa.array([2**63, 7], pa.uint64()), first), "i64", 7),
        "decimal": (
            masked(pa.array([decimal.Decimal(10**30), decimal.Decimal(7)], pa.decimal128(38, 0)), first),
            "dec(0)",
            decimal.Decimal(7),
        ),
    }
    for what, (array, labels, value) in arrays.items():
        table = pa.table({"a": array})
        assert fl.table(table).columns()["a"].tolist() == [None, value], what
        assert compiled(ROWS.format(labels))(t=table)["out"].columns()["of"].tolist() == [None, value], what


@pytest.mark.parametrize("count", [127, 128, 129, 255, 256, 257, 32767, 32768, 32769])
def test_labels_as_many_as_a_narrow_column_holds(count):
    """Coordinates of so many labels in 8 bits and in 16; labels that follow one another, that are close, and far apart."""
    rng = np.random.default_rng(count)
    for step in (1, 3, 5000):
        labels = rng.permutation(count) * step - 128
        table = pa.table({"a": pa.array(np.append(labels, labels[:3]))})
        out = compiled(ROWS.format("i64"))(t=table)["out"].columns()["of"]
        np.testing.assert_array_equal(out, np.append(labels, labels[:3]))
        tally = compiled("dim D: i64  table t[row: N] { a: D }  tensor h: i64[D]  h[a[n]] += 1")(t=table)["h"].columns()
        np.testing.assert_array_equal(tally["D"], np.sort(labels))
        np.testing.assert_array_equal(tally["h"], 1 + np.isin(np.sort(labels), labels[:3]))


# ---- files, which the command reads


def command():
    """The command that a build of the workspace makes."""
    root = pathlib.Path(__file__).resolve().parents[2]
    target = root / os.environ.get("CARGO_TARGET_DIR", "target")
    found = [target / kind / "fiberloom" for kind in ("debug", "release") if (target / kind / "fiberloom").exists()]
    if not found:
        pytest.skip(f"there is no command `fiberloom` in {target}: `cargo build` makes it")
    return found[0]


def run(text, file, *outs):
    """Runs a program on a file; what it says where it refuses is an error, as the package's."""
    call = [command(), "run", "-e", text, "--in", f"t={file}"]
    for out in outs:
        call += ["--out", f"{out.stem}={out}"]
    ran = subprocess.run(call, capture_output=True, text=True, timeout=60)
    if ran.returncode == 3:
        raise fl.OperandError(ran.stderr)
    assert ran.returncode == 0, (ran.returncode, ran.stderr)


def by_command(file, declared, fill):
    """The column of a file as the command reads it."""
    out = file.with_name("y.npy")
    run(written(declared, fill), file, out)
    return np.load(out)


def labels_by_command(file, declared):
    """The column as labels of a domain, which may be the largest decimals that there are."""
    out = file.with_name("out.parquet")
    run(ROWS.format(declared), file, out)
    return pq.read_table(out)["of"].to_pylist()


def encodings(ty):
    """How values without a dictionary may stand in a page."""
    if pa.types.is_boolean(ty):
        return ["PLAIN", "RLE"]
    if pa.types.is_floating(ty) or pa.types.is_decimal(ty):
        return ["PLAIN", "BYTE_STREAM_SPLIT"]
    if pa.types.is_integer(ty) or pa.types.is_temporal(ty):
        return ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"]
    return ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]


def options(rng, ty):
    """How a Parquet file is written."""
    pick = lambda *of: of[rng.integers(len(of))]  # noqa: E731
    made = {
        "version": "2.6" if ty == pa.timestamp("ns") else pick("1.0", "2.4", "2.6"),
        "data_page_version": pick("1.0", "2.0"),
        "compression": pick("none", "snappy", "zstd", "lz4", "gzip"),
        "row_group_size": pick(63, 64, 4095, 4096, 4097, 1 << 20),
        "data_page_size": pick(1, 64, 4096, 1 << 20),
        "write_batch_size": pick(7, 64, 1024),
        "use_dictionary": bool(rng.integers(2)),
        "dictionary_pagesize_limit": pick(16, 1 << 20),
        "store_decimal_as_integer": bool(rng.integers(2)),
    }
    if not made["use_dictionary"] and not pa.types.is_dictionary(ty):
        made["column_encoding"] = {"a": pick(*encodings(ty))}
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_parquet_are_read_as_declared(kind, tmp_path):
    rng, file = np.random.default_rng([2, *kind.encode()]), tmp_path / "t.parquet"
    for declared in rng.permutation(KINDS[kind][2])[:5].tolist():
        array = drawn(rng, kind, int(rng.choice(LENGTHS)), rng.choice([0, 0.1, 1]))
        fill, how = fill_of(rng, declared), options(rng, array.type)
        pq.write_table(pa.table({"a": array}), file, **how)
        held = read(pq.read_table(file)["a"].combine_chunks())
        wanted = expected(held, "date32" if declared == "date" else declared, fill)
        if is_guarded(wanted, declared):
            assert labels_by_command(file, declared) == held
        else:
            compared(lambda: by_command(file, declared, fill), wanted, str(file))


@pytest.mark.parametrize("name", TEXTUAL)
def test_texts_of_parquet(name, tmp_path):
    rng, file, out = np.random.default_rng([2, *name.encode()]), tmp_path / "t.parquet", tmp_path / "out.parquet"
    for length in rng.choice(LENGTHS, 4, replace=False):
        array, wanted = textual(rng, TEXTUAL[name], int(length), rng.choice([0, 0.3]))
        pq.write_table(pa.table({"a": array}), file, **options(rng, array.type))
        run(ROWS.format("string"), file, out)
        assert pq.read_table(out)["of"].to_pylist() == wanted
        text = 'table t[row: N] { a: string }  tensor y: bool[N] dense  y[n] = a[n] == "13 characters"'
        run(text, file, tmp_path / "y.npy")
        assert np.load(tmp_path / "y.npy").tolist() == [text == "13 characters" for text in wanted]


def test_a_full_group_of_rows_and_one_row_more_are_written_and_read(tmp_path):
    length = 2**20 + 1
    rng, file, out = np.random.default_rng(length), tmp_path / "t.parquet", tmp_path / "out.parquet"
    values = rng.integers(-128, 129, length)
    values[-3:] = [7, -128, 128]
    null = np.zeros(length, bool)
    null[[0, 4095, 4096, -2]] = True
    pq.write_table(pa.table({"a": pa.array(values, mask=null)}), file, compression="none")
    text = "table t[row: N] { a: i64 fill -129 }  table out[row: N] { b: i64 fill 128 }  b[n] = a[n]"
    run(text, file, out)
    found = pq.read_table(out)["b"].combine_chunks()
    # The fill value of a column of a result is a null.
    wanted = np.where(null, -129, values)
    np.testing.assert_array_equal(np.asarray(found.is_null()), wanted == 128)
    np.testing.assert_array_equal(found.fill_null(128).to_numpy(), wanted)


# ---- CSV, which is read in chunks of 65536 bytes

CHUNK = 1 << 16


def lines_up_to(border, end):
    """A header and rows of two columns that take so many bytes, each line ending with `end`; and the rows' texts."""
    text, texts = "n,a" + end, []
    while len(text) < border:
        left = border - len(text) - len(f"{len(texts)},{end}")
        width = left if left < 40 else 1 + len(texts) % 13
        texts.append("x" * width)
        text += f"{len(texts) - 1},{texts[-1]}{end}"
    assert len(text) == border
    return text, texts


# A field as it is written, and its text: line ends and quotes in quotes, two quotes for one, bytes of one character, a null.
FIELDS = {
    "quoted": ('"ab""c"', 'ab"c'),
    "ends of lines": ('"a\r\nb\nc"', "a\r\nb\nc"),
    "wide": ("éé漢", "éé漢"),
    "empty": ('""', ""),
    "null": ("", None),
    "comma": ('"a,b"', "a,b"),
}
CSV = """dim D: string  table t[row: N] { n: i64, a: D }
table out[row: N] { of: D, b: i64 fill -1 }  of[i] = a[i]  b[i] = n[i]"""


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CR LF", "CR"])
@pytest.mark.parametrize("what", FIELDS)
def test_csv_at_the_border_of_a_chunk(what, end, tmp_path):
    """Each byte of a row and of its end may be the first of a chunk; the last line has an end, none, or an empty line behind."""
    field, value = FIELDS[what]
    file, out = tmp_path / "t.csv", tmp_path / "out.parquet"
    row = f"7,{field}{end}8,z".encode()
    rng = np.random.default_rng([len(row), *end.encode()])
    # The bytes of the row that stand before the border.
    ends = [row.index(end.encode(), len(f"7,{field}".encode())) + n for n in range(len(end) + 1)]
    for before in sorted({*ends, *rng.integers(0, len(row), 2).tolist()}):
        text, texts = lines_up_to(CHUNK - before, end)
        tail = ["", end, end + end][rng.integers(3)]
        file.write_bytes(text.encode() + row + tail.encode())
        run(CSV, file, out)
        found = pq.read_table(out)
        assert found["b"].to_pylist() == [*range(len(texts)), 7, 8], (before, tail)
        assert found["of"].to_pylist() == [*texts, value, "z"], (before, tail)


def shown(value, declared):
    """A value as a CSV file has it."""
    if value is None:
        return ""
    if declared == "date" and not isinstance(value, str):
        return str(np.datetime64(int(value), "D"))
    return str(value).lower() if isinstance(value, bool) else str(value)


OF_TEXTS = {
    "date": [x for x in DAYS if -719528 <= x <= 2932896] + ["10000-01-01", "1900-02-29", "1994-04-31", "1994-1-1", "1994-12-31 "],
    "dec(2)": ["0", "-0.01", "92233720368547758.07", "-92233720368547758.08", "92233720368547758.08", "1.005", "1.100", "+1"],
    "dec(18)": ["9.223372036854775807", "9.223372036854775808", "0.000000000000000001", "0.0000000000000000001", "1e3"],
    "i64": WHOLE,
    "u64": WHOLE,
    "i8": WHOLE,
    "u32": WHOLE,
    "f64": [0.1, -0.0, 5e-324, 1.7976931348623157e308, 2.0**63, "1e400", "16777217"],
    "bool": [True, False],
}


def by_calendar(text):
    """The days of a date that is written out, by Python's calendar."""
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        raise Refused from None
    return (day - datetime.date(1970, 1, 1)).days


def meant_of_text(value, declared):
    """What a number that is written out becomes."""
    if declared == "f64":
        if math.isinf(float(value)):
            raise Refused
        return float(value)
    if declared.startswith("dec") and "e" in str(value):
        raise Refused
    if declared == "date" and isinstance(value, str):
        return by_calendar(value.strip())
    return meant(value, declared)


@pytest.mark.parametrize("declared", OF_TEXTS)
def test_numbers_of_csv_are_read_as_declared(declared, tmp_path):
    """Each value in a file of its own behind rows that are read, so that each is read or refused; all that are read in one."""
    file, good, rest = tmp_path / "t.csv", [], []
    for value in OF_TEXTS[declared]:
        try:
            meant_of_text(value, declared)
            good.append(value)
        except Refused:
            rest.append(value)
    rng = np.random.default_rng(list(declared.encode()))
    held = [good[n] if n < len(good) else None for n in rng.integers(0, len(good) + 1, 4097)]
    header = "a,b\n" + "".join(shown(value, declared) + ",\n" for value in held)
    file.write_text(header)
    wanted = [0 if value is None else meant_of_text(value, declared) for value in held]
    if is_guarded(wanted, declared):
        found = labels_by_command(file, declared)
        assert [None if x is None else scaled(x, int(declared[4:-1])) for x in found] == [
            None if value is None else x for value, x in zip(held, wanted, strict=True)
        ]
    else:
        same(by_command(file, declared, 0), wanted)
    for value in [rest[n] for n in rng.permutation(len(rest))[:4]]:
        file.write_text(header + shown(value, declared) + ",\n")
        with pytest.raises(fl.OperandError) as raised:
            by_command(file, declared, 0)
        assert str(raised.value).startswith(f"{file}: row 4098, column a: "), value


@pytest.mark.parametrize("day, text", [(-719529, None), (-719528, "0000-01-01"), (2932896, "9999-12-31"), (2932897, None)])
def test_dates_of_four_digits_are_written_as_text(day, text, tmp_path):
    file, out = tmp_path / "t.parquet", tmp_path / "out.csv"
    pq.write_table(pa.table({"a": plain([0, day], pa.date32())}), file)
    if text is None:
        with pytest.raises(fl.OperandError, match="row 2, column of: the date .* is in no year from 0 to 9999"):
            run(ROWS.format("date"), file, out)
        assert not out.exists()
    else:
        run(ROWS.format("date"), file, out)
        assert out.read_text() == f"row,of,b\n0,1970-01-01,1\n1,{text},1\n"
