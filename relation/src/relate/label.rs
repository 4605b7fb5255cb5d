//! Texts as labels: dates, decimals, and what is asked of texts.

use super::{Change, Label, Labels};
use fiberloom_core::algebra::Type;

/// Days from 1970-01-01 to a date of the Gregorian calendar, written `YYYY-MM-DD`.
pub fn days(text: &str) -> Option<i64> {
    let (year, rest) = text.split_once('-')?;
    let (month, day) = rest.split_once('-')?;
    let number = |text: &str, digits: usize| -> Option<i64> {
        let fits = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|_| fits)
    };
    let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month - 1).ok()?)?;
    (1..=length).contains(&day).then(|| days_of(year, month, day))
}

/// Years begin in March here, so that what a leap year adds is its last day.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of so many days from 1970-01-01 on, as `YYYY-MM-DD`.
pub fn date(days: i64) -> String {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    format!("{:04}-{month:02}-{day:02}", year + era * 400 + i64::from(month <= 2))
}

/// A decimal, as written, times a power of ten; `None` if it has more digits behind its point than that, or is no number that fits.
pub fn decimal(text: &str, digits: u8) -> Option<i64> {
    whole(text, digits).and_then(|number| i64::try_from(number).ok())
}

/// The same of as many digits as 128 bits hold.
pub(super) fn whole(text: &str, digits: u8) -> Option<i128> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part = part.trim_end_matches('0');
    let all_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() && part.is_empty()
        || !all_digits(whole)
        || !all_digits(part)
        || part.len() > usize::from(digits)
    {
        return None;
    }
    let mut number: i128 = 0;
    for digit in whole.bytes().chain(part.bytes()).chain(std::iter::repeat_n(b'0', usize::from(digits) - part.len())) {
        number = number.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    Some(sign * number)
}

/// A label of such labels, as the language writes it.
pub(super) fn label(text: &str, labels: Labels) -> Option<Label> {
    match labels {
        Labels::Text => Some(Label::Text(text.to_string())),
        Labels::Date => days(text).map(Label::Number),
        Labels::Timestamp => super::timestamp(text).map(Label::Number),
        Labels::Decimal(digits) => decimal(text, digits).map(Label::Number),
        Labels::Integer(ty) => decimal(text, 0).filter(|n| fits(*n, ty)).map(Label::Number),
    }
}

/// Whether a type holds a number.
fn fits(number: i64, ty: Type) -> bool {
    ty.range().is_some_and(|(least, most)| (least..=most).contains(&i128::from(number)))
}

/// What is asked of a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// SQL's `LIKE`: `%` stands for any text, `_` for any one character, and behind the character that escapes each for itself.
    Like(String, Option<char>),
    /// It is a text: no null.
    Any,
    /// It begins so.
    Prefix(String),
    /// It ends so.
    Suffix(String),
    /// This stands in it.
    Contains(String),
    /// It is this text.
    Is(String),
    /// It is less than this one, by its bytes.
    Below(String),
    /// It is not greater than this one.
    UpTo(String),
    /// This is so of what it is changed to.
    Changed(Vec<Change>, Box<Test>),
}

impl Test {
    /// Whether it is so of a text.
    pub fn holds(&self, text: &str) -> bool {
        match self {
            Test::Like(pattern, escape) => like(text, pattern, *escape),
            Test::Any => true,
            Test::Prefix(what) => text.starts_with(what.as_str()),
            Test::Suffix(what) => text.ends_with(what.as_str()),
            Test::Contains(what) => text.contains(what.as_str()),
            Test::Is(what) => text == what,
            Test::Below(what) => text < what.as_str(),
            Test::UpTo(what) => text <= what.as_str(),
            Test::Changed(changes, test) => {
                test.holds(&changes.iter().fold(text.to_string(), |text, change| change.of(&text)))
            }
        }
    }
}

/// Whether a text is like a pattern. Each `%` but the last is taken to end as early as it can: what follows it may then stand anywhere
/// behind.
fn like(text: &str, pattern: &str, escape: Option<char>) -> bool {
    /// What a place of a pattern stands for.
    #[derive(PartialEq)]
    enum Place {
        Text,
        One,
        This(char),
    }
    let text: Vec<char> = text.chars().collect();
    let (mut pattern, mut rest) = (Vec::new(), pattern.chars());
    while let Some(c) = rest.next() {
        pattern.push(match c {
            c if Some(c) == escape => Place::This(rest.next().unwrap_or(c)),
            '%' => Place::Text,
            '_' => Place::One,
            c => Place::This(c),
        });
    }
    let (mut t, mut p) = (0, 0);
    // Behind the last `%`, and how far the text is taken by it.
    let mut any: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(Place::Text) => {
                any = Some((p + 1, t));
                p += 1;
            }
            Some(place) if *place == Place::One || *place == Place::This(text[t]) => (t, p) = (t + 1, p + 1),
            _ => match any {
                Some((behind, taken)) => {
                    any = Some((behind, taken + 1));
                    (t, p) = (taken + 1, behind);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|place| *place == Place::Text)
}
