//! Numbers as texts write them: words become values that are equal to them, or the words are refused.
//!
//! ```text
//!   90.07e2 ──▶ digits 9007, and how many zeros follow them: 0       a whole number, in i128
//!   9007e-1 ──▶ digits 9007, the last one behind the point           none
//! ```
//!
//! Integers never go through a float, which would round them. Floats are rounded once, to the nearest.

use super::import::inexact;
use fiberloom_core::algebra::{Type, Value};

/// The most digits of which any number fits 128 bits with its sign: more than every element type has.
const DIGITS: i64 = 38;

/// How a file writes its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    /// Decimal fractions and integers.
    Real,
    /// Integers only.
    Integer,
}

impl Number {
    /// The word as a value of type `ty`. What a file calls real is rounded to a float once; what it calls an integer,
    /// and what is to be one, is exact or refused.
    ///
    /// # Errors
    /// What the word is, and what was expected.
    #[inline]
    pub fn value(self, word: &[u8], ty: Type) -> Result<Value, String> {
        let text = std::str::from_utf8(word).unwrap_or("");
        self.read(text, ty).or_else(|| self.read(&with_e(text)?, ty)).ok_or_else(|| self.refused(text, word, ty))
    }

    /// The same with `None` for what is refused, or written as Fortran does.
    #[inline]
    pub(super) fn read(self, text: &str, ty: Type) -> Option<Value> {
        match (self, ty) {
            (Number::Real, Type::F64) => float(text, text.parse().ok(), ty),
            (Number::Real, Type::F32) => float(text, text.parse().ok().map(|x: f32| x as f64), ty),
            (Number::Real, _) => whole(text).and_then(|x| integer(x, ty)),
            (Number::Integer, _) => text.parse().ok().and_then(|x| integer(x, ty)),
        }
    }

    #[cold]
    fn refused(self, text: &str, word: &[u8], ty: Type) -> String {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let number = with_e(text).and_then(|text| text.parse().ok()).or_else(|| text.parse::<f64>().ok());
        match self {
            Number::Real if ty.is_float() && number.is_some() => {
                format!("{} is beyond the largest number of type {ty}", clipped(text))
            }
            Number::Real if number.is_some() => inexact(text, ty),
            Number::Integer if !digits.is_empty() && all_digits(digits) => inexact(text, ty),
            Number::Real => expected(word, "a number"),
            Number::Integer => expected(word, "an integer"),
        }
    }
}

/// The number with the exponent's `D` of Fortran as an `e`: `1.0D+00`, `-3d2`.
#[cold]
fn with_e(text: &str) -> Option<String> {
    let at = text.find(['D', 'd'])?;
    let (mantissa, exponent) = (&text[..at], &text[at + 1..]);
    let digit = |text: &str| text.bytes().any(|b| b.is_ascii_digit());
    (digit(mantissa) && digit(exponent)).then(|| format!("{mantissa}e{exponent}"))
}

/// The float that `text` was rounded to. Digits beyond all finite numbers of a type are not its infinity.
fn float(text: &str, rounded: Option<f64>, ty: Type) -> Option<Value> {
    let rounded = rounded.filter(|x| x.is_finite() || !text.bytes().any(|b| b.is_ascii_digit()));
    rounded.map(|x| Value::from_f64(ty, x))
}

/// The integer that a decimal fraction is: `None` of others, of what is no number, and of more than [`DIGITS`] digits.
fn whole(text: &str) -> Option<i128> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, power(exponent)?),
        None => (unsigned, 0),
    };
    let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if before.len() + behind.len() == 0 || !all_digits(before) || !all_digits(behind) {
        return None;
    }
    let digits = || before.bytes().chain(behind.bytes());
    // Zeros on either side say only where the point is.
    let leading = digits().position(|d| d != b'0');
    let Some((leading, trailing)) = leading.zip(digits().rev().position(|d| d != b'0')) else { return Some(0) };
    let count = (digits().count() - leading - trailing) as i64;
    let zeros = exponent.saturating_add(trailing as i64 - behind.len() as i64);
    if zeros < 0 || count.saturating_add(zeros) > DIGITS {
        return None;
    }
    let digits = digits().skip(leading).take(count as usize);
    let magnitude = digits.fold(0, |n, d| 10 * n + (d - b'0') as i128) * 10i128.pow(zeros as u32);
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}

/// The power of ten behind an `e`; those beyond 64 bits are as far from all integers as the last one of 64 bits.
fn power(exponent: &str) -> Option<i64> {
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let n = digits.bytes().fold(0i64, |n, d| n.saturating_mul(10).saturating_add((d & 15) as i64));
    let n = if exponent.starts_with('-') { -n } else { n };
    (!digits.is_empty() && all_digits(digits)).then_some(n)
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

/// A number without sign; `None` of anything else and of what does not fit.
#[inline]
pub(super) fn natural(word: &[u8]) -> Option<u64> {
    let digit = |n: u64, b: &u8| n.checked_mul(10)?.checked_add(b.is_ascii_digit().then(|| (b - b'0') as u64)?);
    if word.is_empty() { None } else { word.iter().try_fold(0, digit) }
}

/// The integer in type `ty`, if it has it.
pub fn integer(x: i128, ty: Type) -> Option<Value> {
    match ty.range() {
        Some((least, most)) => (least..=most).contains(&x).then(|| Value::from_i128(ty, x)),
        None => Some(Value::from_i128(ty, x)).filter(|v| v.as_f64() as i128 == x),
    }
}

/// What a message says of a word in whose place something else is expected.
pub fn expected(word: &[u8], what: &str) -> String {
    let word: String = String::from_utf8_lossy(word).chars().take(40).collect();
    match &*word {
        "" => format!("expected {what} before the end of the line"),
        _ => format!("expected {what}, not `{word}`"),
    }
}

/// A number as a message repeats it: of a long one, its first digits.
pub fn clipped(number: &str) -> String {
    /// More characters are not repeated.
    const MOST: usize = 80;
    match number.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}… ({} characters)", &number[..at], number.chars().count()),
        None => number.to_string(),
    }
}

/// A value as other programs read it: `bool` as 0 or 1.
pub struct Plain(pub Value);

impl std::fmt::Display for Plain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.ty() {
            Type::Bool => write!(f, "{}", self.0.bits()),
            _ => write!(f, "{}", self.0),
        }
    }
}
