//! What columns of Parquet files hold, by what is said of them.

use super::pages::{file, page};
use super::*;
use ::parquet::basic::Encoding;

fn read(column: &str, bytes: &[u8], holds: Holds) -> Result<Cell<'static>, String> {
    let bytes = file(column, vec![page(1, Encoding::RLE, bytes)]);
    let frame = read_bytes(Path::new("in.parquet"), &bytes, &[want("a", holds)], &Options::default());
    let frame = frame.map_err(|error| error.to_string())?;
    match frame.columns[0].cell(0) {
        Some(Cell::Decimal(x, digits)) => Ok(Cell::Decimal(x, digits)),
        Some(Cell::Timestamp(micros)) => Ok(Cell::Timestamp(micros)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn bytes_are_numbers_of_two_complements() {
    // The number is read as a decimal, or refused by its digits.
    let whole = |bytes: &[u8]| {
        let length = (bytes.len() as u32).to_le_bytes();
        read("required binary a (DECIMAL(38,0))", &[&length, bytes].concat(), Holds::Decimal(0))
    };
    let is = |bytes: &[u8], x: i128| match i64::try_from(x) {
        Ok(_) => assert_eq!(whole(bytes), Ok(Cell::Decimal(x, 0))),
        Err(_) => {
            let said = whole(bytes).unwrap_err();
            assert!(said.starts_with(&format!("in.parquet: row 1, column a: {x} is beyond the largest")), "{said}");
        }
    };
    let none = |bytes: &[u8]| {
        let said = whole(bytes).unwrap_err();
        let expected = format!("in.parquet: row 1, column a: a decimal of {} bytes: up to 16 are read", bytes.len());
        assert!(said.starts_with(&expected), "{said}");
    };
    for x in [0i128, 1, -1, 127, 128, -128, -129, i64::MAX.into(), i64::MIN.into(), i128::MAX, i128::MIN] {
        let all = x.to_be_bytes();
        is(&all, x);
        let sign = if x < 0 { 0xff } else { 0 };
        is(&[&[sign, sign], &all[..]].concat(), x);
        none(&[&[1], &all[..]].concat());
    }
    none(&[]);
    is(&[0x7f], 127);
    is(&[0xff, 0x7f], -129);
    none(&[&[0], &i128::MIN.to_be_bytes()[..]].concat());
}

/// Times are microseconds, exactly or not at all.
#[test]
fn times_are_microseconds() {
    let time = |unit: &str, x: i64| {
        read(&format!("required int64 a (TIMESTAMP({unit},true))"), &x.to_le_bytes(), Holds::Timestamp)
    };
    assert_eq!(time("MILLIS", -86_400_001), Ok(Cell::Timestamp(-86_400_001_000)));
    assert_eq!(time("NANOS", -2_000), Ok(Cell::Timestamp(-2)));
    let finer = time("NANOS", -2_001).unwrap_err();
    let expected = "a time of -2001 nanoseconds from 1970-01-01 on is no whole microsecond";
    assert!(finer.starts_with(&format!("in.parquet: row 1, column a: {expected}")), "{finer}");
    assert!(time("MILLIS", i64::MAX).unwrap_err().contains("out of bounds"));
}
