//! Programs over labels: moments, as they are read, moved and cut down.

use fiberloom_semantics::relation::{Cell, Key, Moment, Of, Rows, evaluate};
use num_bigint::BigInt;
use std::collections::BTreeMap;

/// The microseconds of a day.
const DAY: i64 = 24 * 3600 * 1_000_000;

#[test]
fn moments_are_read() {
    let at = |date, hour: i64, minute: i64, micros: i64| {
        Some(Moment { date, micros: (hour * 60 + minute) * 60_000_000 + micros })
    };
    assert_eq!(Moment::read("2000-02-29"), at((2000, 2, 29), 0, 0, 0));
    assert_eq!(Moment::read("2000-02-29 12:30"), at((2000, 2, 29), 12, 30, 0));
    assert_eq!(Moment::read("2000-02-29T12:30:07.25"), at((2000, 2, 29), 12, 30, 7_250_000));
    assert_eq!(Moment::read("2000-03-01 00:30+02:00"), at((2000, 2, 29), 22, 30, 0));
    assert_eq!(Moment::read("1999-12-31 23:30:01-01:30"), at((2000, 1, 1), 1, 0, 1_000_000));
    assert_eq!(Moment::read("1999-12-31T23:30:00Z"), at((1999, 12, 31), 23, 30, 0));
    assert_eq!((Moment::read("90.5"), Moment::read("")), (None, None));
}

/// The value of an expression of the moments `a[n]` and `b[n]`.
fn value(expression: &str, a: Moment, b: Moment) -> Of {
    let text = format!("table t[row: N] {{ a: timestamp, b: timestamp }}\nx[n] = {expression}");
    let (program, errors) = fiberloom_front::parse(&text);
    assert_eq!(errors, [], "{text}");
    let columns = ["a", "b"].map(str::to_string).to_vec();
    let rows = Rows { columns, rows: vec![vec![Cell::Moment(a), Cell::Moment(b)]] };
    let made = evaluate(&program.unwrap(), &BTreeMap::from([("t".to_string(), rows)])).unwrap();
    made["x"].at[&vec![Key::Number(0)]].clone()
}

#[test]
fn moments_are_moved_and_cut_down() {
    let moment = |text| Moment::read(text).unwrap();
    let (late, begin) = (moment("1969-12-31 23:59:59.999999"), moment("1970-01-01"));
    assert_eq!(value("a[n] + 0.000001", late, late), Of::Moment(begin));
    let earlier = moment("1969-12-30 23:59:59.999999");
    assert_eq!(value("a[n] - 86400.000001", begin, begin), Of::Moment(earlier));
    assert_eq!(value("a[n] - b[n]", begin, late), Of::Decimal(BigInt::from(1), 6));
    let year = moment("1969-01-01");
    assert_eq!(value("a[n] - b[n]", year, begin), Of::Decimal(BigInt::from(-365 * DAY), 6));
    let cut = ["day", "hour", "minute", "second"].map(|unit| value(&format!("trunc(a[n], \"{unit}\")"), late, late));
    let wanted = ["1969-12-31", "1969-12-31 23:00", "1969-12-31 23:59", "1969-12-31 23:59:59"].map(moment);
    let time = ["hour", "minute", "second"].map(|part| value(&format!("{part}(a[n])"), late, late));
    assert_eq!((cut, time), (wanted.map(Of::Moment), [23, 59, 59].map(Of::Integer)));
}
