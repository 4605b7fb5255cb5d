//! Files of comma-separated values, read and written.

use super::*;
use Holds::{Date, Decimal, Plain};
use fiberloom_data::Place;

#[test]
fn columns_are_found_by_their_names() {
    let text = "skipped,price,day,name\r\nx,1.5,1994-01-01,\"a, \"\"b\"\"\nc\"\r\ny,-0.05,1970-01-02,d\r\n";
    let wanted =
        [want("name", Holds::Text), want("price", Decimal(2)), want("day", Date), want("price", Plain(Type::F32))];
    let frame = csv(text, &wanted).unwrap();
    assert_eq!(frame.rows, 2);
    assert_eq!(frame.columns[0].values, texts(["a, \"b\"\nc", "d"]));
    assert_eq!(frame.columns[1].values, Values::Decimals(Array::from(vec![150i64, -5]), 2));
    assert_eq!(frame.columns[2].values, Values::Dates(Array::from(vec![8766i64, 1])));
    assert_eq!(frame.columns[3].values, Values::Plain(Array::from(vec![1.5f32, -0.05])));
}

/// A quoted empty text is a text; anything else that is empty is a null.
#[test]
fn what_is_empty() {
    let frame = csv("t,n\n,\n\"\",\"\"\n\n\"x\", 7 \n", &[want("t", Holds::Text), want("n", Plain(Type::I8))]).unwrap();
    assert_eq!((frame.rows, &frame.columns[0].values), (3, &texts(["", "", "x"])));
    assert_eq!(&*frame.columns[0].nulls, [true, false, false]);
    assert_eq!(&*frame.columns[1].nulls, [true, true, false]);
    assert_eq!(frame.columns[1].cell(2), Some(Cell::Plain(7i8.into())));
    // Of one column, an empty line is a row.
    let frame = csv("n\n\n1\n\n", &[want("n", Plain(Type::I8))]).unwrap();
    assert_eq!((frame.rows, &*frame.columns[0].nulls), (3, &[true, false, true][..]));
}

/// Lines end as on any system, and the last one need not.
#[test]
fn lines_end_in_three_ways() {
    for end in ["\n", "\r\n", "\r"] {
        for last in [end, ""] {
            for mark in ["", "\u{feff}"] {
                let text = format!("{mark}a,b{end}1,\"2{end}\"{end}{end}3,{last}");
                let frame = csv(&text, &[want("a", Plain(Type::I64)), want("b", Holds::Text)]).unwrap();
                assert_eq!(frame.columns[0].values, whole([1, 3]), "{text:?}");
                assert_eq!(frame.columns[1].values, texts([&format!("2{end}"), ""]), "{text:?}");
            }
        }
    }
}

/// Whatever the size of the buffer that a row is read through, it is the same row.
#[test]
fn fields_are_longer_than_what_is_read_at_once() {
    let long = "a\"b,\n".repeat(40_000);
    let text = format!("t,n\n\"{}\",1\nx,2\n", long.replace('"', "\"\""));
    let frame = csv(&text, &[want("t", Holds::Text), want("n", Plain(Type::I64))]).unwrap();
    assert_eq!(frame.columns[0].values, texts([&long, "x"]));
    let e = csv(&format!("{text}y,z\n"), &[want("n", Plain(Type::I64))]).unwrap_err();
    assert_eq!(e.place, Place::Cell { row: 3, column: "n".into() });
    let e = csv(&format!("{text}y,z,1\n"), &[]).unwrap_err();
    assert_eq!(e.place, Place::Line(40_004, 1));
}

#[test]
fn what_is_refused_says_where() {
    let number = [want("n", Plain(Type::I8))];
    let cell = |text: &str, holds| csv(&format!("m,n\n1,\n2,{text}\n"), &[want("n", holds)]);
    let at = "in.csv: row 2, column n: ";
    refused(csv("", &number), "in.csv:1:1: an empty file: a header of the columns' names expected");
    refused(csv("a,b\n", &number), "in.csv: no column `n` among 2 columns: `a`, `b`");
    refused(csv("n\n1,2\n", &number), "in.csv:2:1: 2 fields in a row, and 1 column in the header");
    refused(csv("n,m\n\n1,2\n1\n", &number), "in.csv:4:1: 1 field in a row, and 2 columns in the header");
    let within = "the file ends within a field in quotes, of the row that begins in line 2";
    refused(csv("n\n\"1\n", &number), &format!("in.csv:3:1: {within}"));
    let behind = "a comma or the end of the line expected behind a field in quotes: a quote within one is two";
    refused(csv("n\n\"1\"2\n", &number), &format!("in.csv:2:4: {behind}"));
    refused(csv("n,m\n1,\"a\nb\"c\n", &number), &format!("in.csv:3:3: {behind}"));
    refused(
        cell("300", Plain(Type::I8)),
        &format!("{at}300 is not exactly a value of type i8, which the program declares"),
    );
    refused(
        cell("1.5", Plain(Type::I8)),
        &format!("{at}1.5 is not exactly a value of type i8, which the program declares"),
    );
    refused(cell("x", Plain(Type::F64)), &format!("{at}expected a number, not `x`"));
    refused(cell("1e400", Plain(Type::F64)), &format!("{at}1e400 is beyond the largest number of type f64"));
    refused(cell("1.005", Decimal(2)), &format!("{at}1.005 has 3 digits behind its point, and `dec(2)` holds 2"));
    let most = "92233720368547758.07";
    refused(
        cell("1e5", Decimal(2)),
        &format!("{at}expected a decimal number with up to 2 digits behind its point, not `1e5`"),
    );
    refused(
        cell("92233720368547758.08", Decimal(2)),
        &format!("{at}92233720368547758.08 is beyond the largest `dec(2)`, {most}"),
    );
    for day in ["1999-02-29", "94-01-01", "1994-13-01"] {
        refused(cell(day, Date), &format!("{at}expected a date of the calendar, as 1994-12-31, not `{day}`"));
    }
    let bytes = b"t\nabc\n\xff\xfe\n";
    let read = read_bytes(Path::new("in.csv"), bytes, &[want("t", Holds::Text)], &Options::default());
    refused(read, "in.csv: row 2, column t: `\u{fffd}\u{fffd}` is not UTF-8: write the file in it");
}

/// Numbers as other programs write them.
#[test]
fn truth_values_and_floats() {
    let frame =
        csv("b,x\ntrue,1e3\nFalse,nan\n1,-inf\n0, 2.5\n", &[want("b", Plain(Type::Bool)), want("x", Plain(Type::F64))]);
    let frame = frame.unwrap();
    assert_eq!(frame.columns[0].values, Values::Plain(Array::Bool(vec![1, 0, 1, 0].into())));
    let cells: Vec<String> = (0..4).map(|row| format!("{:?}", frame.columns[1].cell(row))).collect();
    assert!(cells[0].contains("1000") && cells[1].contains("nan") && cells[2].contains("-inf"), "{cells:?}");
    assert_eq!(frame.columns[1].cell(3), Some(Cell::Plain(2.5.into())));
}

/// A file is as large as what is kept of it: its own claims, a bomb of zeros, or a row without an end.
#[test]
fn memory_is_limited() {
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;
    let limited = |name: &str, bytes: &[u8], wanted: &[Wanted]| {
        read_bytes(Path::new(name), bytes, wanted, &Options { limit: 1 << 16, ..Options::default() })
    };
    let over = "the data take more than the limit of 65536 bytes";
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(b"t\n\"").unwrap();
    packer.write_all(&vec![b'0'; 50_000_000]).unwrap();
    let packed = packer.finish().unwrap();
    refused(limited("in.csv.gz", &packed, &[]), &format!("in.csv.gz: {over}"));
    refused(limited("in.csv", ",".repeat(70_000).as_bytes(), &[]), &format!("in.csv: {over}"));
    let rows = format!("t\n{}", "1\n".repeat(20_000));
    refused(limited("in.csv", rows.as_bytes(), &[want("t", Plain(Type::Bool))]), &format!("in.csv: {over}"));
    assert_eq!(limited("in.csv", rows.as_bytes(), &[]).unwrap().rows, 20_000);
    refused(limited("in.csv.gz", b"\x1f\x8b\x08\0", &[]), "in.csv.gz: damaged: unexpected end of file");
}

#[test]
fn a_frame_is_written_and_read_back() {
    let columns = vec![
        Column::new("name, or \"none\"", texts(["a", "", "x,\"\n", "é"])).with_nulls(vec![true, false, false, false]),
        Column::new("price", Values::Decimals(Array::from(vec![-5i64, 0, 12345, i64::MIN]), 2)),
        Column::new("day", Values::Dates(Array::from(vec![0i32, -1, 8766, 2_932_896]))),
        Column::new("at", Values::Timestamps(Array::from(vec![0i64, -1, 1_709_202_600_250_000, 951_782_400_000_000]))),
        Column::new("truth", Values::Plain(Array::Bool(vec![1, 0, 1, 0].into()))),
        Column::new("real", Values::Plain(Array::from(vec![0.1, f64::INFINITY, -0.0, 5e-324]))),
    ];
    let frame = Frame::new("t.csv", columns).unwrap();
    let text = "\"name, or \"\"none\"\"\",price,day,at,truth,real\n,-0.05,1970-01-01,1970-01-01 00:00:00,1,0.1\n\"\",0.00,1969-12-31,1969-12-31 23:59:59.999999,0,inf\n";
    for name in ["t.csv", "t.csv.gz"] {
        let bytes = to_bytes(Path::new(name), &frame).unwrap();
        assert!(name.ends_with("gz") || bytes.starts_with(text.as_bytes()), "{}", String::from_utf8_lossy(&bytes));
        let again = read_bytes(Path::new(name), &bytes, &all_of(&frame), &Options::default()).unwrap();
        assert_eq!(again.columns.len(), 6);
        assert!(cells(&again) == cells(&frame), "{again:?}");
    }
    let late = Frame::new("", vec![Column::new("day", Values::Dates(Array::from(vec![0i32, 2_932_897])))]).unwrap();
    let says = "t.csv: row 2, column day: the date 2932897 days from 1970-01-01 is in no year from 0 to 9999";
    refused(to_bytes(Path::new("t.csv"), &late), says);
}

/// Timestamps as texts: a date is its midnight, a zone is taken off, and what is no moment of the calendar is none.
#[test]
fn timestamps_are_read_as_they_are_written() {
    use fiberloom_relation::{DAY, timestamp, timestamp_written};
    let noon = 19_782 * DAY + 45_000_000_000;
    for text in [
        "2024-02-29 12:30",
        "2024-02-29T12:30:00",
        "2024-02-29t12:30:00.000000Z",
        "2024-02-29 14:30:00+02:00",
        "2024-02-29 14:30+02",
        "2024-02-29 07:00:00,0 -0530",
    ] {
        assert_eq!(timestamp(text), Some(noon), "{text}");
    }
    assert_eq!((timestamp("2024-02-29"), timestamp("1969-12-31T23:59:59.999999")), (Some(19_782 * DAY), Some(-1)));
    for text in [
        "",
        "2024",
        "2023-02-29 10:00",
        "2024-02-29 24:00",
        "2024-02-29 10:60",
        "2024-02-29 10",
        "2024-02-29 1:00",
        "2024-02-29x10:00",
        "2024-02-29 10:00:00.",
        "2024-02-29 10:00:00.1234567",
        "2024-02-29 10:00 CET",
        "2024-02-29 10:00+2",
        "2024-02-29 10:00Zulu",
        "2024-02-29 10:00:61",
        "2024-02-2é 10:00",
    ] {
        assert_eq!(timestamp(text), None, "{text}");
    }
    let written = [noon, -1, noon + 250_000, i64::MAX].map(timestamp_written);
    let expected =
        ["2024-02-29 12:30:00", "1969-12-31 23:59:59.999999", "2024-02-29 12:30:00.25", "294247-01-10 04:00:54.775807"];
    assert_eq!(written, expected);
}

/// What each row of a frame holds.
pub(super) fn cells(frame: &Frame) -> Vec<Vec<Option<String>>> {
    let row = |row| frame.columns.iter().map(|column| column.cell(row).map(|cell| format!("{cell:?}"))).collect();
    (0..frame.rows).map(row).collect()
}

/// Each column of a frame, as what it is.
pub(super) fn all_of(frame: &Frame) -> Vec<Wanted> {
    let wanted = |column: &Column| {
        let holds = match &column.values {
            Values::Plain(array) => Plain(array.ty()),
            Values::Dates(_) => Date,
            Values::Timestamps(_) => Holds::Timestamp,
            Values::Decimals(_, digits) => Decimal(*digits),
            Values::Texts(_) => Holds::Text,
        };
        want(&column.name, holds)
    };
    frame.columns.iter().map(wanted).collect()
}

#[test]
fn names_say_kinds() {
    let frame = Frame::new("", vec![Column::new("a", whole([1]))]).unwrap();
    refused(
        to_bytes(Path::new("t.mtx"), &frame),
        "t.mtx: the name of a table's file ends in .csv, .csv.gz or .parquet",
    );
    refused(
        to_bytes(Path::new("t.parquet.gz"), &frame),
        "t.parquet.gz: a .parquet file is packed as it is: name .parquet",
    );
    assert_eq!(to_bytes(Path::new("t.mtx"), &frame).unwrap_err().cause, Cause::Extension);
    let (relations, none) = (Relations::default(), table("t", vec![], vec![]));
    let absent = read(Path::new("/nowhere/t.csv"), &relations, &none, &Options::default()).unwrap_err();
    assert_eq!(absent.cause, Cause::Io);
}

/// Tensors and tables are written together: all of them, or none.
#[test]
fn files_are_written_together() {
    let dir = std::env::temp_dir().join(format!("fiberloom-tables-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (one, other, tensor) = (dir.join("a.csv"), dir.join("none/b.csv"), dir.join("t.npy"));
    let frame = Frame::new("", vec![Column::new("a", whole([1, 2]))]).unwrap();
    std::fs::write(&one, "before").unwrap();
    let scalar = Tensor::vector(&[1.0, 2.0]);
    let written = write_all(&[(&tensor, &scalar)], &[(&one, &frame), (&other, &frame)], 1 << 20);
    assert_eq!(written.unwrap_err().cause, Cause::Io);
    assert_eq!((std::fs::read_to_string(&one).unwrap(), tensor.exists()), ("before".to_string(), false));
    write_all(&[(&tensor, &scalar)], &[(&one, &frame)], 1 << 20).unwrap();
    assert_eq!((std::fs::read_to_string(&one).unwrap(), tensor.exists()), ("a\n1\n2\n".to_string(), true));
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 2, "nothing else is left");
    std::fs::remove_dir_all(&dir).unwrap();
}
