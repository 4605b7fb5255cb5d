//! Timestamps: microseconds from 1970-01-01 00:00 on, of universal time.
//!
//! ```text
//!  at[n] - "2024-02-29 10:30"     a dec(6): seconds              at[n] + 3600       an hour later
//!  hour(at[n])                    of 0 to 23                     date(at[n])        its day
//!  trunc(at[n], "hour")           the timestamp of its hour      at[n] < day[n]     a day is its first moment
//! ```

use super::declare::Relate;
use super::expression::{Made, Of, binary, call, int};
use super::{Holds, Image, Labels, label};
use fiberloom_core::notation::diagnostic::Span;
use fiberloom_core::notation::syntax::{BinaryOp, Expr, Ident};

/// The microseconds of a day.
pub const DAY: i64 = 86_400_000_000;

/// The digits of a second that a timestamp has.
pub(super) const DIGITS: u8 = 6;

/// How one is written, for messages.
pub(super) const EXAMPLE: &str = "\"1994-12-31 10:30:00\"";

/// What timestamps are cut down to.
const UNITS: [(&str, i64); 4] = [("second", 1_000_000), ("minute", 60_000_000), ("hour", 3_600_000_000), ("day", DAY)];

/// The microseconds of a timestamp: `1994-12-31`, `1994-12-31 10:30`, `1994-12-31T10:30:00.25`, perhaps with a zone, `Z` or `+02:00`.
pub fn timestamp(text: &str) -> Option<i64> {
    let (day, rest) = text.split_at_checked(10)?;
    let days = label::days(day)?.checked_mul(DAY)?;
    if rest.is_empty() {
        return Some(days);
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let sign = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(sign);
    days.checked_add(of_day(time.trim_end())?)?.checked_sub(of_zone(zone)?)
}

/// Two digits, below this number.
fn two(text: &str, below: i64) -> Option<i64> {
    let fits = text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|n| fits && *n < below)
}

/// The microseconds of `10:30`, `10:30:00`, `10:30:00.25`.
fn of_day(text: &str) -> Option<i64> {
    let (hour, rest) = text.split_once(':')?;
    let (minute, second) = rest.split_once(':').unwrap_or((rest, "00"));
    let (second, part) = second.split_once(['.', ',']).unwrap_or((second, "0"));
    let digits = part.trim_end_matches('0');
    let is_part = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) && digits.len() <= 6;
    let micros: i64 = format!("{digits:0<6}").parse().ok().filter(|_| is_part)?;
    let seconds = (two(hour, 24)? * 60 + two(minute, 60)?) * 60 + two(second, 60)?;
    Some(seconds * 1_000_000 + micros)
}

/// How many microseconds a zone is ahead: nothing, `Z`, `+02`, `+0200`, `+02:00`.
fn of_zone(text: &str) -> Option<i64> {
    let sign = match text.bytes().next() {
        None | Some(b'Z' | b'z') if text.len() <= 1 => return Some(0),
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return None,
    };
    let digits = text[1..].replace(':', "");
    let (hour, minute) = digits.split_at_checked(2)?;
    let minutes = two(hour, 24)? * 60 + if minute.is_empty() { 0 } else { two(minute, 60)? };
    Some(sign * minutes * 60_000_000)
}

/// A timestamp as it is written: seconds if there are some, and as many digits of them as there are.
pub fn written(micros: i64) -> String {
    let (days, rest) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    let (seconds, part) = (rest / 1_000_000, rest % 1_000_000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let text = format!("{} {hour:02}:{minute:02}:{second:02}", label::date(days));
    match part {
        0 => text,
        part => format!("{text}.{part:06}").trim_end_matches('0').to_string(),
    }
}

/// Whether a value is a timestamp.
pub(super) fn is(made: &Made) -> bool {
    made.of == Of::Holds(Holds::Timestamp)
}

/// An expression, rounded down to a multiple.
fn floored(e: Expr, unit: i64) -> Expr {
    let span = e.span;
    binary(BinaryOp::Mul, days(e, unit), int(i128::from(unit), span))
}

/// How many units an expression is, rounded down.
fn days(e: Expr, unit: i64) -> Expr {
    let span = e.span;
    call("floordiv", vec![e, int(i128::from(unit), span)], span)
}

impl Relate {
    /// The microseconds of a timestamp.
    pub(super) fn micros(&mut self, text: &str, span: Span) -> Option<i64> {
        let micros = timestamp(text);
        if micros.is_none() {
            let help = format!(
                "one is written {EXAMPLE}, with up to 6 digits of a second; a zone stands behind it: `+02:00`, `Z`"
            );
            self.say(span, format!("`\"{text}\"` is no timestamp"), help);
        }
        micros
    }

    /// The sum or difference of two values of which one is a timestamp.
    pub(super) fn moved(&mut self, op: BinaryOp, a: Made, b: Made, span: Span) -> Option<Made> {
        let moment = |m: &Made| is(m) || matches!(m.of, Of::Quote(_) | Of::Holds(Holds::Date));
        match (op, moment(&a), moment(&b)) {
            (BinaryOp::Sub, true, true) => self.between(a, b, span),
            (_, true, true) => {
                let help =
                    "seconds are added to a timestamp, `t[i] + 3600`; two have a difference, in seconds: `t[i] - t[j]`";
                self.say(span, "two timestamps are added", help);
                None
            }
            (_, true, false) => self.later(op, a, b, span),
            (BinaryOp::Add, false, true) => self.later(op, b, a, span),
            _ => {
                self.say(
                    span,
                    "a timestamp is taken from a number",
                    "seconds are taken from a timestamp: `t[i] - 3600`",
                );
                None
            }
        }
    }

    /// The seconds between two timestamps.
    fn between(&mut self, a: Made, b: Made, span: Span) -> Option<Made> {
        let [a, b] = [self.as_values(a, Holds::Timestamp, span), self.as_values(b, Holds::Timestamp, span)];
        let expr = Expr { span, ..binary(BinaryOp::Sub, a?, b?) };
        Some(Made { expr, of: Of::Holds(Holds::Decimal(DIGITS)), none: false })
    }

    /// A timestamp so many seconds later, or earlier.
    fn later(&mut self, op: BinaryOp, a: Made, seconds: Made, span: Span) -> Option<Made> {
        let seconds = self.with_digits(seconds, DIGITS, span)?;
        let expr = Expr { span, ..binary(op, a.expr, seconds) };
        Some(Made { expr, of: Of::Holds(Holds::Timestamp), none: false })
    }

    /// `date(t)`: the day of a timestamp; of labels, a label.
    pub(super) fn day_of(&mut self, x: Made, span: Span) -> Option<Made> {
        match &x.of {
            Of::Quote(text) => {
                let text = text.clone();
                let days = self.micros(&text, span)?.div_euclid(DAY);
                Some(Made { expr: int(i128::from(days), span), of: Of::Holds(Holds::Date), none: false })
            }
            Of::Holds(Holds::Domain(d)) if self.out.domains[*d].labels == Labels::Timestamp => {
                Some(Made { of: Of::Cut(*d, Image::Day), ..x })
            }
            _ => {
                let x = self.number(x, span)?;
                match x.of {
                    Of::Holds(Holds::Date) => Some(x),
                    Of::Holds(Holds::Timestamp) => {
                        Some(Made { expr: days(x.expr, DAY), of: Of::Holds(Holds::Date), none: false })
                    }
                    _ => self.no_timestamp("date", span),
                }
            }
        }
    }

    /// `trunc(t, "hour")`: a timestamp, cut down; of labels, a label.
    pub(super) fn cut_down(&mut self, x: Made, unit: &Made, span: Span) -> Option<Made> {
        let unit = match &unit.of {
            Of::Quote(text) => UNITS.iter().find(|(name, _)| name == text).map(|(_, micros)| *micros),
            _ => None,
        };
        let Some(unit) = unit else {
            let help = "\"day\", \"hour\", \"minute\" or \"second\"; a month is `year(t) * 12 + month(t)`";
            self.say(span, "`trunc` does not know what to cut down to", help);
            return None;
        };
        match &x.of {
            Of::Holds(Holds::Domain(d)) if self.out.domains[*d].labels == Labels::Timestamp => {
                Some(Made { of: Of::Cut(*d, Image::Floor(unit)), ..x })
            }
            _ => {
                let x = self.number(x, span)?;
                match is(&x) {
                    true => Some(Made { expr: floored(x.expr, unit), ..x }),
                    false => self.no_timestamp("trunc", span),
                }
            }
        }
    }

    fn no_timestamp<T>(&mut self, name: &str, span: Span) -> Option<T> {
        let help = "a column `timestamp`, or of a domain of timestamps";
        self.say(span, format!("`{name}` takes a timestamp, and this is none"), help);
        None
    }

    /// What labels of timestamps that are cut down are as values.
    pub(super) fn cut_value(&mut self, made: Made) -> Option<Made> {
        let Of::Cut(domain, image) = made.of.clone() else { return Some(made) };
        let span = made.expr.span;
        let x = self.number(Made { of: Of::Holds(Holds::Domain(domain)), ..made }, span)?;
        let expr = match image {
            Image::Floor(unit) => floored(x.expr, unit),
            Image::Day | Image::Text(_) => days(x.expr, DAY),
        };
        Some(Made { expr, of: Of::Holds(image.holds()), none: false })
    }

    /// A part of a timestamp or of a date, which is counted in days, or for parts of a day in microseconds.
    pub(super) fn moment_of(&mut self, name: &Ident, x: Made, of_day: bool, span: Span) -> Option<Expr> {
        if let Of::Quote(text) = &x.of {
            let text = text.clone();
            let micros = match of_day {
                true => self.micros(&text, x.expr.span)?,
                false if text.len() <= 10 => {
                    return self.days(&text, x.expr.span).map(|d| int(i128::from(d), x.expr.span));
                }
                false => self.micros(&text, x.expr.span)?.div_euclid(DAY),
            };
            return Some(int(i128::from(micros), x.expr.span));
        }
        let x = self.number(x, span)?;
        match (&x.of, of_day) {
            (Of::Holds(Holds::Timestamp), true) | (Of::Holds(Holds::Date), false) => Some(x.expr),
            (Of::Holds(Holds::Timestamp), false) => Some(days(x.expr, DAY)),
            (_, true) => self.no_timestamp(&name.name, span),
            _ => {
                let help = "a column `date` or `timestamp`, or of a domain of these";
                self.say(span, format!("`{name}` takes a date, and this is none"), help);
                None
            }
        }
    }
}
