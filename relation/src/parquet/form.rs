//! What a column of a Parquet file holds, by its physical type and what is said of it.

use crate::Cell;
use fiberloom_core::algebra::{Type, Value};
use fiberloom_data::number::expected;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::schema::types::ColumnDescriptor;

/// What values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Truth values, floats, and integers, of which the type is said.
    Plain(Type),
    /// Days from 1970-01-01 on.
    Date,
    /// Times from 1970-01-01 00:00 on, so many of them a second.
    Time(i64),
    /// Integers, of which this power of ten is one; in bytes, the highest first.
    Decimal(u8),
    /// Bytes that are UTF-8.
    Text,
    /// Nulls alone.
    Nothing,
}

/// The most digits behind the point of a decimal that is read: those of 128 bits.
const MOST_DIGITS: i32 = 38;

impl Form {
    /// That of a column.
    ///
    /// # Errors
    /// What it holds, if no program reads it.
    pub(super) fn of(column: &ColumnDescriptor) -> Result<Form, String> {
        let (physical, converted) = (column.physical_type(), column.converted_type());
        let logical = column.logical_type_ref();
        let scale = match logical {
            Some(LogicalType::Decimal(decimal)) => Some(decimal.scale),
            _ if converted == ConvertedType::DECIMAL => Some(column.type_scale()),
            _ => None,
        };
        if let Some(scale) = scale {
            let holds = matches!(
                physical,
                Physical::INT32 | Physical::INT64 | Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY
            );
            return match u8::try_from(scale) {
                Ok(digits) if holds && scale <= MOST_DIGITS => Ok(Form::Decimal(digits)),
                _ => Err(format!("decimals with {scale} digits behind the point in {physical}")),
            };
        }
        match physical {
            _ if matches!(logical, Some(LogicalType::Unknown)) => Ok(Form::Nothing),
            Physical::BOOLEAN => Ok(Form::Plain(Type::Bool)),
            Physical::FLOAT => Ok(Form::Plain(Type::F32)),
            Physical::DOUBLE => Ok(Form::Plain(Type::F64)),
            Physical::INT32 | Physical::INT64 => Form::of_integers(physical, logical, converted),
            Physical::BYTE_ARRAY => match logical {
                None | Some(LogicalType::String | LogicalType::Enum | LogicalType::Json) => Ok(Form::Text),
                Some(other) => Err(called(other)),
            },
            Physical::FIXED_LEN_BYTE_ARRAY | Physical::INT96 => {
                Err(format!("{physical}, of which only decimals are read: write numbers, texts, dates or timestamps"))
            }
        }
    }

    fn of_integers(physical: Physical, logical: Option<&LogicalType>, said: ConvertedType) -> Result<Form, String> {
        let per_second = |unit: &TimeUnit| match unit {
            TimeUnit::MILLIS => 1_000,
            TimeUnit::MICROS => 1_000_000,
            TimeUnit::NANOS => 1_000_000_000,
        };
        let wide = if physical == Physical::INT32 { Type::I32 } else { Type::I64 };
        let unsigned = if physical == Physical::INT32 { Type::U32 } else { Type::U64 };
        match (logical, said) {
            (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => Ok(Form::Date),
            (Some(LogicalType::Timestamp(time)), _) => Ok(Form::Time(per_second(&time.unit))),
            (None, ConvertedType::TIMESTAMP_MILLIS) => Ok(Form::Time(1_000)),
            (None, ConvertedType::TIMESTAMP_MICROS) => Ok(Form::Time(1_000_000)),
            (Some(LogicalType::Integer(int)), _) => Ok(Form::Plain(if int.is_signed { wide } else { unsigned })),
            (
                None,
                ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64,
            ) => Ok(Form::Plain(unsigned)),
            (None, ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS) => Err("times of day".to_string()),
            (None, _) => Ok(Form::Plain(wide)),
            (Some(other), _) => Err(called(other)),
        }
    }

    /// An integer of the column as a value.
    #[inline]
    pub(super) fn integer(self, x: i64) -> Result<Cell<'static>, String> {
        match self {
            Form::Date => Ok(Cell::Date(x)),
            Form::Decimal(digits) => Ok(Cell::Decimal(x.into(), digits)),
            Form::Time(per_second) => micros(x, per_second).map(Cell::Timestamp),
            Form::Plain(ty) => Ok(Cell::Plain(Value::from_bits(ty, x as u64))),
            Form::Text | Form::Nothing => Err("an integer where none is expected".to_string()),
        }
    }

    /// Bytes of the column as a value.
    #[inline]
    pub(super) fn bytes(self, bytes: &[u8]) -> Result<Cell<'_>, String> {
        match self {
            Form::Decimal(digits) => match whole(bytes) {
                Some(x) => Ok(Cell::Decimal(x, digits)),
                None => Err(format!("a decimal of {} bytes: up to 16 are read", bytes.len())),
            },
            _ => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Cell::Text(text)),
                Err(_) => Err(expected(bytes, "a text in UTF-8")),
            },
        }
    }
}

/// A time of so many a second as microseconds.
fn micros(x: i64, per_second: i64) -> Result<i64, String> {
    match per_second {
        1_000_000_000 if x % 1_000 == 0 => Ok(x / 1_000),
        1_000_000_000 => {
            let what = format!("a time of {x} nanoseconds from 1970-01-01 on is no whole microsecond");
            Err(format!("{what}, and `timestamp` holds these: round the column"))
        }
        n => x.checked_mul(1_000_000 / n).ok_or_else(|| "a time is out of bounds: 64 bits of microseconds".to_string()),
    }
}

/// What is said of a column that no declaration can say.
fn called(logical: &LogicalType) -> String {
    let what = match logical {
        LogicalType::Time(_) => "times of day",
        LogicalType::Bson => "BSON",
        LogicalType::Uuid => "UUIDs",
        LogicalType::Float16 => "floats of 16 bits",
        LogicalType::Map | LogicalType::List => "lists or maps",
        _ => "values of a kind that this version does not know",
    };
    format!("{what}, which no declaration says: write numbers, texts, dates or timestamps")
}

/// The number of such bytes, the highest first, the first of which has the sign.
fn whole(bytes: &[u8]) -> Option<i128> {
    let sign = if bytes.first()? & 0x80 == 0 { 0 } else { -1i128 };
    let byte = |x: i128, b: &u8| x << 8 | i128::from(*b);
    // Bytes beyond 128 bits say nothing but the sign.
    let (over, low) = bytes.split_at(bytes.len().saturating_sub(16));
    let x = low.iter().fold(sign, byte);
    (over.iter().all(|b| *b == sign as u8) && (x < 0) == (sign < 0)).then_some(x)
}
