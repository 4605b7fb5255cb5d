//! Moments: a date and the microseconds of its day.

use super::value::{date, day_number, later};
use num_bigint::BigInt;

/// The microseconds of a day.
const DAY: i64 = 24 * 3600 * 1_000_000;

/// A moment of universal time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// The year, the month and the day.
    pub date: (i64, u8, u8),
    /// The microseconds since the day began.
    pub micros: i64,
}

/// What moments are cut down to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unit {
    Day,
    Hour,
    Minute,
    Second,
}

impl Unit {
    /// The unit of this name.
    pub(super) fn named(text: &str) -> Option<Unit> {
        Some(match text {
            "day" => Unit::Day,
            "hour" => Unit::Hour,
            "minute" => Unit::Minute,
            "second" => Unit::Second,
            _ => return None,
        })
    }
}

impl From<((i64, u8, u8), i64)> for Moment {
    fn from((date, micros): ((i64, u8, u8), i64)) -> Moment {
        Moment { date, micros }
    }
}

impl Moment {
    /// Reads a moment: a date, or a date, a time of day, and perhaps how far its zone is ahead. Another text is none.
    pub fn read(text: &str) -> Option<Moment> {
        let Some((day, rest)) = text.split_once([' ', 'T']) else {
            return Some(Moment { date: date(text)?, micros: 0 });
        };
        let at = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
        let (time, zone) = rest.split_at(at);
        let (hour, rest) = time.trim().split_once(':')?;
        let (minute, seconds) = rest.split_once(':').unwrap_or((rest, "0"));
        let (second, part) = seconds.split_once('.').unwrap_or((seconds, "0"));
        let [hour, minute, second, part] =
            [hour, minute, second, &format!("{part:0<6}")].map(|text| text.parse::<i64>().ok());
        let (hour, minute, second, part) = (hour?, minute?, second?, part?);
        let micros = ((hour * 60 + minute) * 60 + second) * 1_000_000 + part;
        let ahead = match zone {
            "" | "Z" => 0,
            zone => {
                let (hours, minutes) = zone[1..].split_once(':')?;
                let minutes = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
                if zone.starts_with('-') { -minutes } else { minutes }
            }
        };
        Some(Moment { date: date(day)?, micros }.after(-ahead * 60_000_000))
    }

    /// The moment this many microseconds later.
    pub(super) fn after(self, micros: i64) -> Moment {
        let all = i128::from(self.micros) + i128::from(micros);
        let days = all.div_euclid(DAY.into()) as i64;
        Moment { date: later(self.date, days), micros: all.rem_euclid(DAY.into()) as i64 }
    }

    /// The microseconds since another moment.
    pub(super) fn since(self, other: Moment) -> BigInt {
        let days = |(y, m, d): (i64, u8, u8)| day_number(y, m, d);
        BigInt::from(days(self.date) - days(other.date)) * DAY + self.micros - other.micros
    }

    /// The moment at which a unit that holds this one began.
    pub(super) fn cut_down(self, unit: Unit) -> Moment {
        let (hour, minute, second) = self.time();
        let seconds = match unit {
            Unit::Day => 0,
            Unit::Hour => hour * 3600,
            Unit::Minute => hour * 3600 + minute * 60,
            Unit::Second => hour * 3600 + minute * 60 + second,
        };
        Moment { micros: seconds * 1_000_000, ..self }
    }

    /// The hour, the minute and the second.
    pub(super) fn time(self) -> (i64, i64, i64) {
        let seconds = self.micros / 1_000_000;
        (seconds / 3600, seconds / 60 % 60, seconds % 60)
    }
}
