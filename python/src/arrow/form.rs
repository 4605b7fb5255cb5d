//! What a column holds, by its format string.
//!
//! ```text
//!  c C s S i I l L f g    integers of 8 to 64 bits, with a sign and without; floats       b    truth values, a bit each
//!  u U vu                 texts: offsets of 32 bits, of 64, views                         n    nulls
//!  tdD tdm                dates: days, milliseconds          tss: tsm: tsu: tsn:          timestamps: seconds to nanoseconds
//!  d:10,2  d:10,2,64      decimals of 10 digits, 2 of them behind the point, in 128 bits, in 64
//! ```

use super::abi::{self, Schema};
use fiberloom::Type;

/// What values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Integers and floats.
    Plain(Type),
    /// Truth values, a bit each.
    Bits,
    /// Days from 1970-01-01 on, in 32 bits.
    Days,
    /// Milliseconds from 1970-01-01 on in 64 bits, of whole days.
    Millis,
    /// Times from 1970-01-01 00:00 on in 64 bits, so many of them a second.
    Time(i64),
    /// Integers of so many bytes, of which this power of ten is one.
    Decimal {
        /// 4, 8, 16 or 32.
        bytes: usize,
        /// Less than 0 where digits before the point are not held.
        digits: i32,
    },
    /// Texts, whose offsets have 64 bits or 32.
    Text {
        /// 64.
        wide: bool,
    },
    /// Texts, each a view: short ones in it, others in one of several buffers.
    View,
    /// Nothing but nulls.
    Null,
}

/// A column of a schema.
pub struct Field {
    /// Its name.
    pub name: String,
    /// What it holds; of a column with a dictionary, the places in it. Else what no program reads.
    pub form: Result<Form, String>,
    /// What the dictionary of the column holds.
    pub dictionary: Option<Result<Form, String>>,
}

/// The most digits behind the point of a decimal.
const MOST_DIGITS: i32 = 76;

impl Field {
    /// That of a child of a schema.
    ///
    /// # Errors
    /// What is wrong with the schema, in contrast to what it says of columns that no program reads.
    pub fn of(schema: &Schema) -> Result<Field, String> {
        // SAFETY: the schema was not released.
        let name = unsafe { abi::text(schema.name) }.map_or(Ok(""), |name| name.to_str());
        let name = name.map_err(|_| "a column's name is not UTF-8".to_string())?.to_string();
        // SAFETY: as above.
        let dictionary = unsafe { schema.dictionary.as_ref() };
        let dictionary = dictionary.map(|of| match of.dictionary.is_null() {
            true => form(of),
            false => Err("a dictionary that has a dictionary".to_string()),
        });
        Ok(Field { form: form(schema), name, dictionary })
    }

    /// What the column holds, as a user reads it.
    pub fn shown(&self) -> String {
        let shown = |form: &Result<Form, String>| match form {
            Ok(form) => form.shown(),
            Err(what) => format!("({what})"),
        };
        match &self.dictionary {
            Some(values) => format!("{}, by a dictionary", shown(values)),
            None => shown(&self.form),
        }
    }
}

impl Form {
    fn shown(self) -> String {
        match self {
            Form::Plain(ty) => ty.name().to_string(),
            Form::Bits => "bool".to_string(),
            Form::Days | Form::Millis => "date".to_string(),
            Form::Time(_) => "timestamp".to_string(),
            Form::Decimal { digits, .. } => format!("dec({})", digits.max(0)),
            Form::Text { .. } | Form::View => "string".to_string(),
            Form::Null => "null".to_string(),
        }
    }
}

/// What a schema's format says.
fn form(schema: &Schema) -> Result<Form, String> {
    // SAFETY: the schema was not released.
    let format = unsafe { abi::text(schema.format) }.ok_or("a schema without a format")?;
    let format = format.to_str().map_err(|_| "a format that is not UTF-8".to_string())?;
    let plain = [
        ("c", Type::I8),
        ("C", Type::U8),
        ("s", Type::I16),
        ("S", Type::U16),
        ("i", Type::I32),
        ("I", Type::U32),
        ("l", Type::I64),
        ("L", Type::U64),
        ("f", Type::F32),
        ("g", Type::F64),
    ];
    if let Some((_, ty)) = plain.iter().find(|(letter, _)| *letter == format) {
        return Ok(Form::Plain(*ty));
    }
    match format {
        "b" => Ok(Form::Bits),
        "n" => Ok(Form::Null),
        "u" => Ok(Form::Text { wide: false }),
        "U" => Ok(Form::Text { wide: true }),
        "vu" => Ok(Form::View),
        "tdD" => Ok(Form::Days),
        "tdm" => Ok(Form::Millis),
        _ => match (format.strip_prefix("d:"), format.strip_prefix("ts")) {
            (Some(said), _) => decimal(said),
            (_, Some(said)) => time(said),
            _ => Err(unread(format)),
        },
    }
}

/// Decimals, by their numbers of digits and of bits.
fn decimal(said: &str) -> Result<Form, String> {
    let numbers: Vec<Option<i32>> = said.split(',').map(|number| number.parse().ok()).collect();
    let (digits, bits) = match numbers[..] {
        [Some(_), Some(digits)] => (digits, 128),
        [Some(_), Some(digits), Some(bits)] => (digits, bits),
        _ => return Err(format!("a format `d:{said}` that says no decimal")),
    };
    match (bits, (-MOST_DIGITS..=MOST_DIGITS).contains(&digits)) {
        (32 | 64 | 128 | 256, true) => Ok(Form::Decimal { bytes: bits as usize / 8, digits }),
        _ => Err(format!("decimals with {digits} digits behind the point in {bits} bits")),
    }
}

/// Timestamps, by their unit: those of a time zone are of universal time.
fn time(said: &str) -> Result<Form, String> {
    let (unit, _) = said.split_once(':').unwrap_or((said, ""));
    let per_second = match unit {
        "s" => 1,
        "m" => 1_000,
        "u" => 1_000_000,
        "n" => 1_000_000_000,
        _ => return Err(unread(&format!("ts{said}"))),
    };
    Ok(Form::Time(per_second))
}

/// What a format says that no program reads.
fn unread(format: &str) -> String {
    let what = match format.as_bytes() {
        [b'e'] => "floats of 16 bits: cast them to float32",
        [b'z' | b'Z', ..] | [b'v', b'z'] | [b'w', ..] => "bytes: cast them to texts",
        [b't', b't', ..] => "times of day",
        [b't', b'D', ..] => "durations: cast them to integers",
        [b't', b'i', ..] => "intervals",
        [b'+', b's'] => "structures: give their fields as columns",
        [b'+', b'r'] => "runs: cast them to their values' type",
        [b'+', ..] => "lists, maps or unions: a table has one value a row and column",
        _ => return format!("values of Arrow's format `{format}`"),
    };
    what.to_string()
}
