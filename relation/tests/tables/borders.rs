//! What stands beside a border: of a type, of a buffer, of a row group, of how many digits there are. Values are those that pyarrow and
//! DuckDB give, or worked out by hand.

use super::files::{all_of, cells};
use super::*;
use Holds::{Date, Decimal, Plain};

/// Two columns of one name: the first counts.
#[test]
fn of_two_columns_of_one_name_the_first_counts() {
    let columns = vec![Column::new("k", whole([5, 7])), Column::new("k", whole([1, 1]))];
    let frame = Frame::new("t.csv", columns).unwrap();
    assert_eq!(frame.column("k").unwrap().cell(1), Some(Cell::Plain(7i64.into())));
    let relations = Relations {
        domains: vec![domain("D", Labels::Integer(Type::I64))],
        tables: vec![table("t", vec![mode("k", Over::Domain(0))], vec![])],
        ..Relations::default()
    };
    let program = coordinates("tensor t: bool[D] dense s[] = any(i: t[i])");
    let bound = bind(&relations, &program, &Given { frames: &[("t", frame)], sizes: &[], limit: 1 << 20 });
    assert_eq!(bound.unwrap().labels, [Dictionary::Numbers(vec![5, 7])]);
}

/// Marks of nulls are as many as rows, or none.
#[test]
fn marks_of_nulls_are_as_many_as_rows() {
    for marks in [vec![true], vec![false, true], vec![false, true, false, false]] {
        let says = format!("column `n`: 3 values and {} marks of nulls for 3 rows", marks.len());
        let column = || Column::new("n", whole([1, 2, 3])).with_nulls(marks.clone());
        assert_eq!(Frame::new("t", vec![column()]).unwrap_err(), says);
        let frame = Frame { origin: "t".into(), rows: 3, columns: vec![column()] };
        refused(to_bytes(Path::new("t.csv"), &frame), &format!("t.csv: {says}"));
    }
    let frame = Frame::new("t", vec![Column::new("n", whole([1, 2])).with_nulls(vec![false, true])]).unwrap();
    assert_eq!((frame.columns[0].cell(0), frame.columns[0].cell(1)), (Some(Cell::Plain(1i64.into())), None));
}

/// A line that ends with a carriage return and a line feed, of which one buffer has the first, and the next the other.
#[test]
fn line_ends_stand_across_buffers() {
    const CHUNK: usize = 1 << 16;
    for before in CHUNK - 4..CHUNK + 2 {
        let text = format!("t\r\n{}\r\nb\r\n", "a".repeat(before - 3));
        let frame = csv(&text, &[want("t", Holds::Text)]).unwrap();
        assert_eq!((frame.rows, frame.columns[0].cell(1)), (2, Some(Cell::Text("b"))), "{before}");
        let e = csv(&format!("{text}c,d\r\n"), &[]).unwrap_err();
        assert_eq!(e.place, fiberloom_data::Place::Line(4, 1), "{before}");
        // A quote of a pair.
        let text = format!("t\n\"{}\"\"\"\nb\n", "a".repeat(before - 3));
        let frame = csv(&text, &[want("t", Holds::Text)]).unwrap();
        assert_eq!(frame.columns[0].cell(0), Some(Cell::Text(&format!("{}\"", "a".repeat(before - 3)))), "{before}");
    }
}

/// What ends a line in some file is written so that it is read as text.
#[test]
fn texts_are_written_as_they_are_read() {
    let all = ["a\rb", "\r", "c\n", "\u{feff}d", ",", "\"", " ", ""];
    let frame = Frame::new("t", vec![Column::new("t", texts(all)), Column::new("n", whole([0; 8]))]).unwrap();
    let bytes = to_bytes(Path::new("t.csv"), &frame).unwrap();
    let again = csv(std::str::from_utf8(&bytes).unwrap(), &all_of(&frame)).unwrap();
    assert_eq!(cells(&again), cells(&frame));
}

/// Decimals from texts: up to 64 bits, of either sign.
#[test]
fn decimals_of_texts_are_exact_or_refused() {
    let read = |text: &str, digits| csv(&format!("n,m\n{text},\n"), &[want("n", Decimal(digits))]);
    for (text, digits, x) in [
        ("92233720368547758.07", 2, i64::MAX),
        ("-92233720368547758.08", 2, i64::MIN),
        ("9.223372036854775807", 18, i64::MAX),
        ("+1.5", 1, 15),
        ("1.500000000000000000000000000000", 1, 15),
        ("-0", 3, 0),
        (".5", 1, 5),
    ] {
        let frame = read(text, digits).unwrap();
        assert_eq!(frame.columns[0].cell(0), Some(Cell::Decimal(x.into(), digits)), "{text}");
    }
    for (text, digits) in [("92233720368547758.08", 2), ("-92233720368547758.09", 2), ("18446744073709551617", 0)] {
        assert!(read(text, digits).unwrap_err().to_string().contains("is beyond the largest `dec("), "{text}");
    }
}

/// A field of a megabyte is not repeated.
#[test]
fn long_fields_are_not_repeated() {
    let digits = "7".repeat(1 << 20);
    let kinds = [Plain(Type::I8), Plain(Type::I64), Plain(Type::F32), Plain(Type::F64), Plain(Type::Bool)];
    for holds in kinds.into_iter().chain([Decimal(2), Date, Holds::Timestamp]) {
        for field in [digits.clone(), format!("0.{digits}"), format!("-{digits}x"), digits.replace('7', "é")] {
            let read = read_bytes(
                Path::new("in.csv"),
                format!("n,m\n{field},\n").as_bytes(),
                &[want("n", holds)],
                &Options { limit: 1 << 30, ..Options::default() },
            );
            if let Err(e) = read {
                let said = e.to_string();
                assert!(said.len() < 400 && said.starts_with("in.csv: row 1, column n: "), "{holds:?}: {said:.500}");
            }
        }
    }
}

/// Labels that are texts ascend as their bytes do.
#[test]
fn texts_are_ordered_by_their_bytes() {
    let relations = Relations {
        domains: vec![domain("D", Labels::Text)],
        tables: vec![table("t", vec![mode("k", Over::Domain(0))], vec![])],
        ..Relations::default()
    };
    let program = coordinates("tensor t: bool[D] dense s[] = any(i: t[i])");
    let frame = Frame::new("t", vec![Column::new("k", texts(["b", "é", "A", "aa", "B", "a", ""]))]).unwrap();
    let bound = bind(&relations, &program, &Given { frames: &[("t", frame)], sizes: &[], limit: 1 << 20 });
    let sorted = Texts::of(["", "A", "B", "a", "aa", "b", "é"]).unwrap();
    assert_eq!(bound.unwrap().labels, [Dictionary::Texts(sorted)]);
}

/// Files of pyarrow whose values stand beside borders (`tests/data/tables/write.py`).
#[cfg(feature = "parquet")]
mod packed {
    use super::*;
    use ::parquet::data_type::Int64Type;
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::SerializedFileWriter;
    use std::sync::Arc;

    fn file(name: &str) -> Vec<u8> {
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/tables").join(name)).unwrap()
    }

    fn read(source: &str, holds: Holds) -> Result<Vec<Option<String>>, Error> {
        let wanted = [want(source, holds)];
        let frame = read_bytes(Path::new("in.parquet"), &file("borders.parquet"), &wanted, &Options::default())?;
        Ok((0..frame.rows).map(|row| frame.columns[0].cell(row).map(|cell| cell.to_string())).collect())
    }

    #[track_caller]
    fn holds(source: &str, holds: Holds, expected: [&str; 8]) {
        let found = read(source, holds).unwrap();
        let found: Vec<&str> = found.iter().map(|cell| cell.as_deref().unwrap_or("null")).collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn integers_without_a_sign_have_none() {
        let all = ["0", "1", "2147483647", "2147483648", "3000000000", "4294967295", "7", "8"];
        for ty in [Type::U32, Type::I64, Type::U64] {
            holds("unsigned", Plain(ty), all);
        }
        let floats = all.map(|text| format!("{text}.0"));
        let found = read("unsigned", Plain(Type::F64)).unwrap();
        assert_eq!(found, floats.map(Some));
        let narrow = "2147483648 is not exactly a value of type i32, which the program declares";
        refused(
            read("unsigned", Plain(Type::I32)),
            &format!("in.parquet: row 4, column unsigned: {narrow} (row group 1 of 2)"),
        );
    }

    /// A value that is refused stands in a row of the file, not of its row group.
    #[test]
    fn rows_of_faults_are_those_of_the_file() {
        for source in ["late", "coded", "nullable"] {
            let what = "300 is not exactly a value of type i8, which the program declares";
            refused(
                read(source, Plain(Type::I8)),
                &format!("in.parquet: row 6, column {source}: {what} (row group 2 of 2)"),
            );
        }
        holds("nullable", Plain(Type::I16), ["1", "2", "3", "4", "5", "300", "null", "8"]);
        refused(
            read("huge", Decimal(0)),
            "in.parquet: row 1, column huge: 18446744073709551616 is beyond the largest `dec(0)`, 9223372036854775807 (row group 1 of 2)",
        );
    }

    #[test]
    fn decimals_have_the_digits_that_are_declared() {
        holds("few", Decimal(1), ["-3.0", "-1.5", "0.0", "1.5", "3.0", "4.5", "6.0", "7.5"]);
        holds("few", Decimal(3), ["-3.000", "-1.500", "0.000", "1.500", "3.000", "4.500", "6.000", "7.500"]);
        let whole = "-1.5 has 1 digits behind its point, and `dec(0)` holds 0";
        refused(read("few", Decimal(0)), &format!("in.parquet: row 2, column few: {whole} (row group 1 of 2)"));
        let many: Vec<String> = (0..8).map(|n| format!("9.{}", 223_372_036_854_775_807i64 - n)).collect();
        assert_eq!(read("many", Decimal(18)).unwrap(), many.into_iter().map(Some).collect::<Vec<_>>());
        holds("single", Decimal(1), ["0.1", "0.2", "0.3", "0.7", "1.1", "-0.1", "16777216.0", "0.0"]);
    }

    /// A decimal as a float is the nearest, however many digits it has.
    #[test]
    fn decimals_are_rounded_once() {
        let tiny = ["4.53233943e-30", "5.75458e-33", "2.43672114e-30", "-4.53233943e-30", "0.1", "1e-38", "0", "1"];
        let found: Vec<f64> =
            read("tiny", Plain(Type::F64)).unwrap().iter().flatten().map(|x| x.parse().unwrap()).collect();
        assert_eq!(found, tiny.map(|text| text.parse::<f64>().unwrap()));
        let found: Vec<f32> =
            read("tiny", Plain(Type::F32)).unwrap().iter().flatten().map(|x| x.parse().unwrap()).collect();
        assert_eq!(found, tiny.map(|text| text.parse::<f32>().unwrap()));
        let first = "0.00000000000000000000000000000453233943 has 38 digits behind its point, and `dec(2)` holds 2";
        refused(read("tiny", Decimal(2)), &format!("in.parquet: row 1, column tiny: {first} (row group 1 of 2)"));
    }

    /// A wanted name that two columns have says neither; another is read.
    #[test]
    fn names_that_stand_twice_are_refused() {
        let read = |name: &str| {
            let wanted = [want(name, Plain(Type::I64))];
            read_bytes(Path::new("in.parquet"), &file("twice.parquet"), &wanted, &Options::default())
        };
        let twice = "column `a` stands there twice, as the 1st and the 3rd column: give one of them another name";
        refused(read("a"), &format!("in.parquet: {twice}"));
        assert_eq!(read("b").unwrap().columns[0].values, whole([1, 2]));
    }

    /// A column that may stand several times in a row, as old programs write lists, is no column of values.
    #[test]
    fn columns_that_repeat_are_nested() {
        let schema = ::parquet::schema::parser::parse_message_type("message m { repeated int64 a; }").unwrap();
        let mut file = Vec::new();
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(&mut file, Arc::new(schema), properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[1, 2, 3], Some(&[1, 1, 1]), Some(&[0, 1, 0])).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        let read = read_bytes(Path::new("in.parquet"), &file, &[want("a", Plain(Type::I64))], &Options::default());
        refused(read, "in.parquet: column `a` is nested: one value a row expected");
    }

    /// A row group that is full, one row more, and one less.
    #[test]
    fn row_groups_are_written_to_their_last_row() {
        const GROUP: usize = 1 << 20;
        for rows in [GROUP - 1, GROUP, GROUP + 1] {
            let numbers: Vec<i8> = (0..rows).map(|n| (n % 101) as i8).collect();
            let frame = Frame::new("", vec![Column::new("n", Values::Plain(Array::from(numbers)))]).unwrap();
            let bytes = to_bytes(Path::new("t.parquet"), &frame).unwrap();
            let again = read_bytes(Path::new("t.parquet"), &bytes, &all_of(&frame), &Options::default()).unwrap();
            assert!(again.columns == frame.columns, "{rows} rows");
        }
    }

    /// Dates beyond the calendar of texts, and the ends of what a file holds.
    #[test]
    fn dates_are_those_of_32_bits() {
        let days = vec![i32::MIN, -1, 0, 2_932_897, i32::MAX];
        let frame = Frame::new("", vec![Column::new("d", Values::Dates(Array::from(days)))]).unwrap();
        let bytes = to_bytes(Path::new("t.parquet"), &frame).unwrap();
        let again = read_bytes(Path::new("t.parquet"), &bytes, &[want("d", Date)], &Options::default()).unwrap();
        assert_eq!(cells(&again), cells(&frame));
        let far = Frame::new("", vec![Column::new("d", Values::Dates(Array::from(vec![0i64, 1 << 31])))]).unwrap();
        refused(
            to_bytes(Path::new("t.parquet"), &far),
            "t.parquet: row 2, column d: a date 2147483648 days from 1970-01-01 is more than a file holds",
        );
    }
}
