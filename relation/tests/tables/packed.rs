//! Parquet files: those that other programs wrote (`tests/data/tables/write.py`), and our own.

use super::files::{all_of, cells};
use super::*;
use Holds::{Date, Decimal, Plain};

const WORDS: [&str; 7] = ["eins", "zwei", "drei", "vier", "fünf", "sechs", ""];

fn file(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/tables").join(name)).unwrap()
}

fn parquet(bytes: &[u8], wanted: &[Wanted]) -> Result<Frame<'static>, Error> {
    read_bytes(Path::new("in.parquet"), bytes, wanted, &Options { limit: 1 << 22, ..Options::default() })
}

fn every_column() -> Vec<Wanted> {
    let plain = |name, ty| want(name, Plain(ty));
    vec![
        plain("whole", Type::I64),
        plain("small", Type::I8),
        plain("count", Type::U32),
        plain("real", Type::F64),
        plain("single", Type::F32),
        plain("truth", Type::Bool),
        want("born", Date),
        want("at", Date),
        want("price", Decimal(2)),
        want("wide", Decimal(3)),
        want("bytes", Decimal(4)),
        want("name", Holds::Text),
        plain("maybe", Type::I32),
        want("part", Holds::Text),
        // The same columns as others that hold these values too.
        plain("wide", Type::F64),
        want("whole", Decimal(5)),
        plain("small", Type::I64),
        want("real", Decimal(2)),
    ]
}

/// What the script says of row n.
fn expected(n: i64) -> Vec<Option<Cell<'static>>> {
    let plain = |value: Value| Some(Cell::Plain(value));
    let part: &'static str = Box::leak(format!("p{n}").into_boxed_str());
    vec![
        plain((n - 150).into()),
        plain(((n % 100 - 50) as i8).into()),
        plain((n as u32).into()),
        plain((n as f64 / 4.0).into()),
        plain((n as f32 / 8.0).into()),
        plain((n % 3 == 0).into()),
        Some(Cell::Date(37 * n)),
        Some(Cell::Date(37 * n)),
        Some(Cell::Decimal((100 * n + 5).into(), 2)),
        Some(Cell::Decimal(n.into(), 3)),
        Some(Cell::Decimal((-n).into(), 4)),
        Some(Cell::Text(WORDS[n as usize % 7])),
        (n % 5 != 0).then_some(Cell::Plain((n as i32).into())),
        (n % 4 != 1).then_some(Cell::Text(part)),
        plain((n as f64 / 1000.0).into()),
        Some(Cell::Decimal(((n - 150) * 100_000).into(), 5)),
        plain((n % 100 - 50).into()),
        Some(Cell::Decimal((25 * n).into(), 2)),
    ]
}

#[test]
fn what_other_programs_wrote() {
    for name in ["snappy", "plain", "zstd", "gzip", "lz4", "delta", "polars"] {
        let frame = parquet(&file(&format!("{name}.parquet")), &every_column()).unwrap();
        assert_eq!(frame.rows, 40, "{name}");
        for row in 0..40 {
            let found: Vec<Option<Cell>> = frame.columns.iter().map(|column| column.cell(row)).collect();
            assert_eq!(found, expected(row as i64), "{name}, row {row}");
        }
    }
}

#[test]
fn what_is_refused_says_where() {
    let read = |name: &str, wanted: Wanted| parquet(&file(name), &[wanted]);
    let at = |row: usize, column: &str| format!("in.parquet: row {row}, column {column}: ");
    let nested = "in.parquet: column `list` is nested: one value a row expected";
    refused(read("nested.parquet", want("list", Plain(Type::I64))), nested);
    let absent = "in.parquet: no column `x` among 2 columns: `list`, `key`";
    refused(read("nested.parquet", want("x", Plain(Type::I64))), absent);
    let inexact = "-150 is not exactly a value of type i8, which the program declares";
    refused(read("zstd.parquet", want("whole", Plain(Type::I8))), &(at(1, "whole") + inexact + " (row group 1 of 1)"));
    let digits = "0.001 has 3 digits behind its point, and `dec(2)` holds 2";
    refused(read("snappy.parquet", want("wide", Decimal(2))), &(at(2, "wide") + digits + " (row group 1 of 3)"));
    let part = "the text `p0` stands where the program declares a date of the calendar";
    assert!(read("snappy.parquet", want("part", Date)).unwrap_err().to_string().starts_with(&at(1, "part")), "{part}");
    let date = "a date stands where the program declares `i64`";
    refused(read("polars.parquet", want("born", Plain(Type::I64))), &(at(1, "born") + date + " (row group 1 of 3)"));
    assert!(parquet(b"PAR1", &[]).unwrap_err().to_string().starts_with("in.parquet: damaged: "));
    let short = Options { limit: 100, ..Options::default() };
    let over = read_bytes(Path::new("in.parquet"), &file("snappy.parquet"), &every_column(), &short);
    refused(over, "in.parquet: the data take more than the limit of 100 bytes");
}

/// How a column is packed, what it holds, nulls alone.
#[test]
fn what_is_not_read_is_called_by_its_name() {
    let read = |wanted: Wanted| parquet(&file("kinds.parquet"), &[wanted]);
    let packed = "in.parquet: column `packed` is packed by BROTLI, which is not read: write Snappy, Zstandard, gzip or LZ4 (row group 1 of 1)";
    refused(read(want("packed", Plain(Type::I64))), packed);
    let clock = "in.parquet: column `clock` holds times of day, which no declaration says: write numbers, texts, dates or timestamps";
    refused(read(want("clock", Plain(Type::I64))), clock);
    for holds in [Plain(Type::I64), Date, Holds::Text] {
        let frame = read(want("nothing", holds)).unwrap();
        assert_eq!((frame.rows, frame.columns[0].cell(0), frame.columns[0].cell(1)), (2, None, None));
    }
    let mut bytes = file("snappy.parquet");
    // Pages, long before the footer.
    let at = bytes.len() / 8;
    bytes[at..at + 200].iter_mut().for_each(|byte| *byte ^= 0x5a);
    let error = parquet(&bytes, &every_column()).unwrap_err().to_string();
    assert!(error.starts_with("in.parquet: damaged: column `") && error.contains("`, row group "), "{error}");
}

#[test]
fn a_frame_is_written_and_read_back() {
    let null = || vec![false, true, false];
    let plain = |array: Array<'static>| Values::Plain(array);
    let columns = vec![
        Column::new("i8", plain(vec![-128i8, 0, 127].into())).with_nulls(null()),
        Column::new("u16", plain(vec![0u16, 1, u16::MAX].into())),
        Column::new("u32", plain(vec![0u32, 1, u32::MAX].into())),
        Column::new("i64", plain(vec![i64::MIN, 0, i64::MAX].into())),
        Column::new("u64", plain(vec![0u64, 1, u64::MAX].into())).with_nulls(null()),
        Column::new("f32", plain(vec![0.1f32, f32::NAN, f32::INFINITY].into())),
        Column::new("f64", plain(vec![-0.0f64, 1e300, 0.1].into())).with_nulls(null()),
        Column::new("bool", plain(Array::Bool(vec![1, 0, 1].into()))).with_nulls(null()),
        Column::new("date", Values::Dates(vec![i32::MIN, 0, i32::MAX].into())),
        Column::new("time", Values::Timestamps(vec![i64::MIN, -1, i64::MAX].into())).with_nulls(null()),
        Column::new("short", Values::Decimals(vec![-5i64, 0, 999].into(), 2)).with_nulls(null()),
        Column::new("long", Values::Decimals(vec![i64::MIN, 0, i64::MAX].into(), 18)),
        Column::new("text", texts(["", "é", "a\0b"])).with_nulls(null()),
    ];
    let frame = Frame::new("in.parquet", columns).unwrap();
    let bytes = to_bytes(Path::new("in.parquet"), &frame).unwrap();
    let again = parquet(&bytes, &all_of(&frame)).unwrap();
    assert_eq!(cells(&again), cells(&frame));
    let empty = Frame::new("", vec![Column::new("a", whole([]))]).unwrap();
    let again = parquet(&to_bytes(Path::new("e.parquet"), &empty).unwrap(), &all_of(&empty)).unwrap();
    assert_eq!((again.rows, again.columns.len()), (0, 1));
}

/// Columns of several batches: with and without nulls, texts that repeat and that do not, and more columns than processors.
#[test]
fn long_columns_are_read_in_batches() {
    let rows = 20_011i64;
    let all = || 0..rows;
    let nulls: Vec<bool> = all().map(|n| n * n % 7 == 2).collect();
    let often = Texts::of(all().map(|n| WORDS[(n * n % 7) as usize])).unwrap();
    let own: Vec<String> = all().map(|n| format!("own {}", n * n)).collect();
    let own = Texts::of(own.iter().map(String::as_str)).unwrap();
    let real = || Values::Plain(all().map(|n| (n % 100) as f64 / 4.0).collect::<Vec<_>>().into());
    let columns = vec![
        Column::new("few", Values::Plain(all().map(|n| n % 3).collect::<Vec<_>>().into())),
        Column::new("many", Values::Plain(all().map(|n| n * n).collect::<Vec<_>>().into())).with_nulls(nulls.clone()),
        Column::new("run", Values::Dates(all().map(|n| n as i32 / 9000).collect::<Vec<_>>().into())),
        Column::new("often", Values::Texts(often)).with_nulls(nulls.clone()),
        Column::new("own", Values::Texts(own)).with_nulls(nulls.clone()),
        Column::new("truth", Values::Plain(Array::Bool(all().map(|n| u8::from(n % 5 < 2)).collect::<Vec<_>>().into()))),
        Column::new("real", real()),
        Column::new("real, perhaps", real()).with_nulls(nulls),
    ];
    let frame = Frame::new("in.parquet", columns).unwrap();
    let again = parquet(&to_bytes(Path::new("in.parquet"), &frame).unwrap(), &all_of(&frame)).unwrap();
    assert_eq!(again.rows as i64, rows);
    for (found, expected) in again.columns.iter().zip(&frame.columns) {
        let other = (0..frame.rows).find(|row| found.cell(*row) != expected.cell(*row));
        assert_eq!(other, None, "column {}", found.name);
    }
    let Values::Texts(texts) = &again.columns[3].values else { panic!("texts") };
    assert!(texts.held() < frame.rows, "{} texts are held", texts.held());
}

/// Damaged files are refused, or read as something else, in bounded memory: every seventh byte of each file is changed, and each file is cut.
/// Some make the crate panic, which is caught.
#[test]
fn damaged_files_are_refused() {
    let (mut refused, mut read) = (0, 0);
    let mut x = 1u64;
    for name in ["plain", "snappy", "zstd", "gzip", "lz4", "delta", "polars"] {
        let whole = file(&format!("{name}.parquet"));
        let length = u32::from_le_bytes(whole[whole.len() - 8..whole.len() - 4].try_into().unwrap()) as usize;
        let footer = whole.len() - 8 - length;
        let mut one = |bytes: &[u8], at: usize| match parquet(bytes, &every_column()) {
            Ok(_) => read += 1,
            Err(e) => {
                let says = e.to_string();
                assert!(e.cause != Cause::Io && says.starts_with("in.parquet:"), "{e}");
                // What is wrong with data is wrong with a column, in a row group.
                let is_named = says.contains("column ") && says.contains("row group ");
                assert!(
                    !(4..footer).contains(&at) || bytes.len() < whole.len() || e.cause == Cause::Limit || is_named,
                    "{e}"
                );
                refused += 1;
            }
        };
        for at in (0..whole.len()).step_by(7) {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let mut bytes = whole.clone();
            bytes[at] ^= (x >> 56) as u8 | 1;
            one(&bytes, at);
            if at % 28 == 0 {
                one(&whole[..at], at);
            }
        }
    }
    assert!(refused > 1_300 && read > 130, "{refused} refused, {read} read");
}
