//! Labels and values, and the functions on them.

use super::moment::Moment;
use fiberloom_core::algebra::Type;
use fiberloom_core::notation::syntax::{BinaryOp, Sort};
use num_bigint::BigInt;
use std::cmp::Ordering;

/// A cell in a row of a table. A decimal is an integer, times the power of ten that its column declares.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Null.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer, or a decimal.
    Number(i64),
    /// A date: year, month, day.
    Date(i64, u8, u8),
    /// A timestamp.
    Moment(Moment),
    /// A text.
    Text(String),
}

/// A label, or the number of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// An integer.
    Number(i64),
    /// A decimal: an integer with this many digits behind the point.
    Decimal(i64, u8),
    /// A date.
    Date(i64, u8, u8),
    /// A timestamp.
    Moment(Moment),
    /// A text, in the order of its bytes.
    Text(String),
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Of {
    /// A literal as it is written: it takes the kind of the other operand.
    Literal(String),
    /// A truth value.
    Bool(bool),
    /// An `i64`.
    Integer(i64),
    /// A decimal: an integer of any size with this many digits behind the point.
    Decimal(BigInt, u8),
    /// An `f64`.
    Float(f64),
    /// A date.
    Date(i64, u8, u8),
    /// A timestamp.
    Moment(Moment),
    /// A text: of a column, or changed.
    Text(String),
    /// No text: where no row exists.
    Absent,
    /// A label of a domain; `None` for null.
    Label(Option<Key>),
}

impl Cell {
    /// The cell as a label of a domain, or as a coordinate; `None` for null.
    pub fn key(&self, labels: &Sort) -> Option<Key> {
        match self {
            Cell::Null | Cell::Bool(_) => None,
            Cell::Number(n) => Some(match labels {
                Sort::Decimal(digits) => Key::Decimal(*n, *digits),
                _ => Key::Number(*n),
            }),
            Cell::Date(y, m, d) => Some(Key::Date(*y, *m, *d)),
            Cell::Moment(moment) => Some(Key::Moment(*moment)),
            Cell::Text(text) => Some(Key::Text(text.clone())),
        }
    }

    /// The cell as a value of a column.
    pub(super) fn value(&self, sort: &Sort) -> Of {
        match (self, sort) {
            (Cell::Number(n), Sort::Decimal(digits)) => Of::Decimal((*n).into(), *digits),
            (Cell::Number(n), _) => Of::Integer(*n),
            (Cell::Bool(b), _) => Of::Bool(*b),
            (Cell::Date(y, m, d), _) => Of::Date(*y, *m, *d),
            (Cell::Moment(moment), _) => Of::Moment(*moment),
            (Cell::Text(text), _) => Of::Text(text.clone()),
            (Cell::Null, _) => Of::Absent,
        }
    }
}

/// The digits of a second that a timestamp has.
const MICROS: u8 = 6;

/// Reads a number as an integer and its digits behind the point.
fn number(text: &str) -> Option<(BigInt, u8)> {
    let digits = text.split_once('.').map_or(0, |(_, behind)| behind.len());
    let whole: String = text.chars().filter(|c| *c != '.').collect();
    Some((whole.parse().ok()?, digits as u8))
}

/// 10 to the power of `digits`.
fn power(digits: u8) -> BigInt {
    BigInt::from(10).pow(digits.into())
}

/// Reads a date.
pub(super) fn date(text: &str) -> Option<(i64, u8, u8)> {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return None };
    Some((year.parse().ok()?, month.parse().ok()?, day.parse().ok()?))
}

impl Of {
    /// The value as a label or the number of a row; `None` if it is neither.
    pub(super) fn key(&self) -> Option<Key> {
        match self {
            Of::Label(label) => label.clone(),
            Of::Integer(n) => Some(Key::Number(*n)),
            Of::Text(text) => Some(Key::Text(text.clone())),
            Of::Date(y, m, d) => Some(Key::Date(*y, *m, *d)),
            Of::Moment(moment) => Some(Key::Moment(*moment)),
            _ => None,
        }
    }

    /// The value's text, if it is a text.
    pub(super) fn text(&self) -> Option<String> {
        match self {
            Of::Text(text) | Of::Label(Some(Key::Text(text))) => Some(text.clone()),
            _ => None,
        }
    }

    /// The value's moment, if it is a moment or a date.
    pub(super) fn moment(&self) -> Option<Moment> {
        match self {
            Of::Moment(moment) | Of::Label(Some(Key::Moment(moment))) => Some(*moment),
            Of::Date(y, m, d) | Of::Label(Some(Key::Date(y, m, d))) => Some(Moment::from(((*y, *m, *d), 0))),
            Of::Literal(text) => Moment::read(text),
            _ => None,
        }
    }

    /// The text of a literal.
    pub(super) fn written(&self) -> Option<&str> {
        if let Of::Literal(text) = self { Some(text) } else { None }
    }

    /// The zero of the value's kind.
    pub(super) fn zero(&self) -> Of {
        match self {
            Of::Bool(_) => Of::Bool(false),
            Of::Decimal(_, digits) => Of::Decimal(BigInt::ZERO, *digits),
            Of::Float(_) => Of::Float(0.0),
            Of::Label(_) => Of::Label(None),
            Of::Literal(_) => Of::Literal("0".to_string()),
            _ => Of::Integer(0),
        }
    }

    /// The value as one of a declared kind.
    pub(super) fn of_sort(self, sort: &Sort) -> Result<Of, String> {
        let wrong = |of: &Of| format!("{of:?} as {sort}");
        Ok(match (sort, self) {
            (Sort::Decimal(digits), of) => {
                let (n, has) = of.scaled().ok_or_else(|| wrong(&of))?;
                Of::Decimal(n * power(digits.checked_sub(has).ok_or_else(|| wrong(&of))?), *digits)
            }
            (Sort::Date, Of::Literal(text)) => {
                let (y, m, d) = date(&text).ok_or("no date")?;
                Of::Date(y, m, d)
            }
            (Sort::Timestamp, of @ (Of::Literal(_) | Of::Date(..))) => Of::Moment(of.moment().ok_or("no moment")?),
            (Sort::Domain(_), of @ (Of::Text(_) | Of::Date(..) | Of::Moment(_) | Of::Absent)) => Of::Label(of.key()),
            (Sort::Plain(ty), Of::Literal(text)) if ty.is_float() => Of::Float(text.parse().map_err(|_| "no float")?),
            (Sort::Plain(_), Of::Literal(text)) => {
                let whole = number(&text).and_then(|(n, _)| i64::try_from(n).ok());
                Of::Integer(whole.ok_or("no number")?)
            }
            (_, of) => of,
        })
    }

    /// The number as an integer and its digits behind the point.
    fn scaled(&self) -> Option<(BigInt, u8)> {
        match self {
            Of::Integer(n) | Of::Label(Some(Key::Number(n))) => Some(((*n).into(), 0)),
            Of::Label(Some(Key::Decimal(n, digits))) => Some(((*n).into(), *digits)),
            Of::Decimal(n, digits) => Some((n.clone(), *digits)),
            Of::Literal(text) => number(text),
            _ => None,
        }
    }

    /// The meaning of `convert`.
    pub(super) fn converted(self, ty: Type) -> Result<Of, String> {
        if let Of::Moment(moment) = &self {
            // Its seconds, of which a part is cut off.
            let seconds = moment.since(Moment::from(((1970, 1, 1), 0)));
            return Of::Decimal(seconds, MICROS).converted(ty);
        }
        match (&self, self.scaled()) {
            (Of::Float(x), _) if ty == Type::F64 => Ok(Of::Float(*x)),
            (_, Some((n, digits))) if ty == Type::F64 => {
                let n: f64 = n.to_string().parse().map_err(|_| "no float")?;
                Ok(Of::Float(n / 10f64.powi(i32::from(digits))))
            }
            (_, Some((n, digits))) if ty == Type::I64 => {
                let whole = i64::try_from(n / power(digits));
                whole.map(Of::Integer).map_err(|_| format!("convert({self:?}, {ty}): 64 bits do not hold it"))
            }
            (Of::Bool(b), _) if ty == Type::I64 => Ok(Of::Integer(i64::from(*b))),
            _ => Err(format!("convert({self:?}, {ty})")),
        }
    }
}

/// Two values of one kind: a literal takes the other's kind, and decimals get the same digits.
pub(super) fn alike(a: Of, b: Of) -> Result<(Of, Of), String> {
    Ok(match (a, b) {
        (Of::Literal(a), Of::Literal(b)) => (Of::Literal(a), Of::Literal(b)),
        (Of::Literal(text), b) => (beside(&text, &b)?, b),
        (a, Of::Literal(text)) => {
            let b = beside(&text, &a)?;
            (a, b)
        }
        (a, b) => (a, b),
    })
    .and_then(|(a, b)| match (&a, &b) {
        // A date is its first moment.
        (Of::Moment(_), Of::Date(..)) | (Of::Date(..), Of::Moment(_)) => {
            let moment = |of: &Of| of.moment().map(Of::Moment).ok_or("no moment");
            Ok((moment(&a)?, moment(&b)?))
        }
        (Of::Decimal(..), _) | (_, Of::Decimal(..)) => {
            let ((m, p), (n, q)) = (a.scaled().ok_or("no decimal")?, b.scaled().ok_or("no decimal")?);
            let most = p.max(q);
            let up = |n: BigInt, has: u8| n * power(most - has);
            Ok((Of::Decimal(up(m, p), most), Of::Decimal(up(n, q), most)))
        }
        _ => Ok((a, b)),
    })
}

/// A literal as a value of the other operand's kind.
fn beside(text: &str, other: &Of) -> Result<Of, String> {
    let wrong = || format!("{text} beside {other:?}");
    Ok(match other {
        Of::Decimal(..) => {
            let (n, digits) = number(text).ok_or_else(wrong)?;
            Of::Decimal(n, digits)
        }
        Of::Integer(_) => Of::Integer(text.parse().map_err(|_| wrong())?),
        Of::Float(_) => Of::Float(text.parse().map_err(|_| wrong())?),
        Of::Date(..) => {
            let (y, m, d) = date(text).ok_or_else(wrong)?;
            Of::Date(y, m, d)
        }
        Of::Moment(_) => Of::Moment(Moment::read(text).ok_or_else(wrong)?),
        Of::Label(Some(Key::Moment(_))) => Of::Label(Some(Key::Moment(Moment::read(text).ok_or_else(wrong)?))),
        Of::Text(_) | Of::Absent | Of::Label(Some(Key::Text(_))) => Of::Text(text.to_string()),
        Of::Label(Some(Key::Date(..))) => {
            let (y, m, d) = date(text).ok_or_else(wrong)?;
            Of::Label(Some(Key::Date(y, m, d)))
        }
        Of::Label(Some(Key::Decimal(_, digits))) => {
            let (n, has) = number(text).filter(|(_, has)| has <= digits).ok_or_else(wrong)?;
            let n = i64::try_from(n * power(digits - has)).map_err(|_| wrong())?;
            Of::Label(Some(Key::Decimal(n, *digits)))
        }
        Of::Label(_) => match number(text).map(|(n, _)| i64::try_from(n)) {
            Some(n) => Of::Label(Some(Key::Number(n.map_err(|_| wrong())?))),
            None => Of::Text(text.to_string()),
        },
        Of::Bool(_) | Of::Literal(_) => return Err(wrong()),
    })
}

/// Whether the comparison of two values holds.
pub(super) fn compared(op: BinaryOp, a: &Of, b: &Of) -> Result<bool, String> {
    let (a, b) = alike(a.clone(), b.clone())?;
    let ordering = match (&a, &b) {
        (Of::Label(None), Of::Label(None)) => return Ok(op == BinaryOp::Eq),
        (Of::Absent, _) | (_, Of::Absent) | (Of::Label(None), _) | (_, Of::Label(None)) => {
            return Ok(op == BinaryOp::Ne);
        }
        (Of::Label(Some(a)), Of::Label(Some(b))) => a.cmp(b),
        (Of::Bool(a), Of::Bool(b)) => a.cmp(b),
        (Of::Float(a), Of::Float(b)) => match a.partial_cmp(b) {
            Some(ordering) => ordering,
            None => return Ok(op == BinaryOp::Ne),
        },
        (Of::Date(y, m, d), Of::Date(z, n, e)) => (y, m, d).cmp(&(z, n, e)),
        (Of::Moment(a), Of::Moment(b)) => a.cmp(b),
        _ => match (a.text(), b.text(), a.scaled(), b.scaled()) {
            (Some(a), Some(b), ..) => a.cmp(&b),
            (_, _, Some((m, p)), Some((n, q))) if p == q => m.cmp(&n),
            _ => return Err(format!("{a:?} compared with {b:?}")),
        },
    };
    Ok(match op {
        BinaryOp::Lt => ordering == Ordering::Less,
        BinaryOp::Le => ordering != Ordering::Greater,
        BinaryOp::Gt => ordering == Ordering::Greater,
        BinaryOp::Ge => ordering != Ordering::Less,
        BinaryOp::Eq => ordering == Ordering::Equal,
        _ => ordering != Ordering::Equal,
    })
}

/// The sum of two values.
pub(super) fn added(a: Of, b: Of) -> Result<Of, String> {
    arithmetic(BinaryOp::Add, a, b)
}

/// The value of an arithmetic operator.
pub(super) fn arithmetic(op: BinaryOp, a: Of, b: Of) -> Result<Of, String> {
    use BinaryOp::*;
    // The label of a coordinate is a number; a null counts as 0.
    let number = |of: Of| match of {
        Of::Label(Some(Key::Number(n))) => Of::Integer(n),
        Of::Label(Some(Key::Decimal(n, digits))) => Of::Decimal(n.into(), digits),
        Of::Label(Some(Key::Moment(moment))) => Of::Moment(moment),
        Of::Label(None) => Of::Integer(0),
        of => of,
    };
    let (a, b) = (number(a), number(b));
    if let (Mul, Some((m, p)), Some((n, q))) = (op, a.scaled(), b.scaled())
        && (matches!(a, Of::Decimal(..)) || matches!(b, Of::Decimal(..)))
    {
        return Ok(Of::Decimal(m * n, p + q));
    }
    // A decimal is divided by a whole number, and the remainder is cut off.
    if let (Div, Of::Decimal(m, digits), Some((n, 0))) = (op, &a, b.scaled()) {
        return Ok(Of::Decimal(if n == BigInt::ZERO { n } else { m / n }, *digits));
    }
    if let Some(moved) = moved(op, &a, &b)? {
        return Ok(moved);
    }
    let (a, b) = alike(a, b)?;
    if let (Add | Sub, Of::Date(y, m, d), Of::Integer(n)) = (op, &a, &b) {
        return Ok(day(later((*y, *m, *d), if op == Add { *n } else { -*n })));
    }
    Ok(match (op, &a, &b) {
        (Add, Of::Integer(n), Of::Date(y, m, d)) => day(later((*y, *m, *d), *n)),
        (Sub, Of::Moment(a), Of::Moment(b)) => Of::Decimal(a.since(*b), MICROS),
        (Sub, Of::Date(y, m, d), Of::Date(z, n, e)) => Of::Integer(day_number(*y, *m, *d) - day_number(*z, *n, *e)),
        (Add, Of::Bool(a), Of::Bool(b)) => Of::Bool(*a || *b),
        (Mul, Of::Bool(a), Of::Bool(b)) => Of::Bool(*a && *b),
        (Add | Sub, Of::Decimal(m, p), Of::Decimal(n, _)) => Of::Decimal(if op == Add { m + n } else { m - n }, *p),
        (_, Of::Float(a), Of::Float(b)) => Of::Float(match op {
            Add => a + b,
            Sub => a - b,
            Mul => a * b,
            Div => a / b,
            _ => return Err("an operator of floats".to_string()),
        }),
        (_, Of::Integer(a), Of::Integer(b)) => Of::Integer(match op {
            Add => a.wrapping_add(*b),
            Sub => a.wrapping_sub(*b),
            Mul => a.wrapping_mul(*b),
            Div => a.checked_div(*b).unwrap_or(0),
            Rem => a.checked_rem(*b).unwrap_or(0),
            _ => return Err("an operator of integers".to_string()),
        }),
        (_, Of::Literal(x), Of::Literal(y)) => {
            let (Some((m, 0)), Some((n, 0))) = (self::number(x), self::number(y)) else {
                return Err("literals that are no integers".to_string());
            };
            let whole = |n: BigInt| i64::try_from(n).map(Of::Integer).map_err(|_| "a literal is too large".to_string());
            arithmetic(op, whole(m)?, whole(n)?)?
        }
        _ => return Err(format!("{a:?} {} {b:?}", op.sign())),
    })
}

/// A moment moved by seconds; nothing if this is something else.
fn moved(op: BinaryOp, a: &Of, b: &Of) -> Result<Option<Of>, String> {
    let (moment, seconds) = match (op, a, b, a.scaled(), b.scaled()) {
        (BinaryOp::Add | BinaryOp::Sub, Of::Moment(moment), _, _, Some(seconds)) => (*moment, seconds),
        (BinaryOp::Add, _, Of::Moment(moment), Some(seconds), _) => (*moment, seconds),
        _ => return Ok(None),
    };
    let (n, digits) = seconds;
    let micros = n * power(MICROS.checked_sub(digits).ok_or("more digits than a second has")?);
    let micros = i64::try_from(micros).map_err(|_| "a moment is out of bounds".to_string())?;
    Ok(Some(Of::Moment(moment.after(if op == BinaryOp::Sub { -micros } else { micros }))))
}

/// The number of days in the months before this one in a year.
fn before(year: i64, month: u8) -> i64 {
    let leap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
    let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    lengths[..usize::from(month) - 1].iter().sum()
}

/// The number of a day, counted from the first day of year 1.
pub(super) fn day_number(year: i64, month: u8, day: u8) -> i64 {
    let y = year - 1;
    365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + before(year, month) + i64::from(day) - 1
}

/// The date this many days later.
pub(super) fn later((year, month, day): (i64, u8, u8), days: i64) -> (i64, u8, u8) {
    let number = day_number(year, month, day) + days;
    // The estimate exceeds the right year by less than three in a thousand.
    let mut year = number.div_euclid(365) + 1;
    while day_number(year, 1, 1) > number {
        year -= 1;
    }
    let in_year = number - day_number(year, 1, 1);
    let month = (1..=12).rev().find(|month| before(year, *month) <= in_year).unwrap_or(1);
    (year, month, (in_year - before(year, month) + 1) as u8)
}

fn day((year, month, day): (i64, u8, u8)) -> Of {
    Of::Date(year, month, day)
}

/// The year, month or day of a date or a moment, or the hour, minute or second of a moment.
pub(super) fn part(name: &str, of: &Of) -> Result<i64, String> {
    let moment = match of {
        Of::Label(None) => Moment::from(((1970, 1, 1), 0)),
        of => of.moment().ok_or_else(|| format!("{name} of {of:?}"))?,
    };
    let ((y, m, d), (hour, minute, second)) = (moment.date, moment.time());
    Ok(match name {
        "year" => y,
        "month" => m.into(),
        "day" => d.into(),
        "hour" => hour,
        "minute" => minute,
        _ => second,
    })
}

/// SQL's `LIKE`: `%` matches any text, `_` any one character, any other character itself; the escape character makes the next one
/// literal.
pub fn like(text: &str, pattern: &str, escape: Option<char>) -> bool {
    let mut chars = pattern.chars();
    let Some(first) = chars.next() else { return text.is_empty() };
    let rest = chars.as_str();
    let behind = |text: &str| {
        let mut chars = text.chars();
        chars.next().map(|c| (c, chars.as_str().to_string()))
    };
    match first {
        c if Some(c) == escape => {
            let mut behind_it = rest.chars();
            let itself = behind_it.next().unwrap_or(c);
            behind(text).is_some_and(|(d, text)| itself == d && like(&text, behind_it.as_str(), escape))
        }
        '%' => text.char_indices().map(|(at, _)| &text[at..]).chain([""]).any(|text| like(text, rest, escape)),
        '_' => behind(text).is_some_and(|(_, text)| like(&text, rest, escape)),
        c => behind(text).is_some_and(|(d, text)| c == d && like(&text, rest, escape)),
    }
}
