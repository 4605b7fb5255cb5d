//! Scalars of Rust as values, and back.
//!
//! ```text
//!  2.0f64 ──Value::from──▶ Value ──f64::try_from──▶ 2.0f64        of another type: an error, nothing is converted
//! ```

use super::{Type, Value};
use std::fmt;

/// A value is asked for as of a type that it is not of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OtherType {
    /// Its type.
    pub is: Type,
    /// The one that was asked for.
    pub asked: Type,
}

impl fmt::Display for OtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "of type {}, asked for as {}", self.is, self.asked)
    }
}

impl std::error::Error for OtherType {}

macro_rules! scalars {
    ($($rust:ty, $variant:ident, $to:expr, $from:expr;)*) => { $(
        impl From<$rust> for Value {
            fn from(x: $rust) -> Value {
                Value::from_bits(Type::$variant, $to(x))
            }
        }

        impl TryFrom<Value> for $rust {
            type Error = OtherType;

            fn try_from(value: Value) -> Result<$rust, OtherType> {
                match value.ty() {
                    Type::$variant => Ok($from(value.bits())),
                    is => Err(OtherType { is, asked: Type::$variant }),
                }
            }
        }
    )* };
}

scalars! {
    bool, Bool, u64::from, |b| b != 0;
    i8, I8, |x| x as u64, |b| b as i8;
    i16, I16, |x| x as u64, |b| b as i16;
    i32, I32, |x| x as u64, |b| b as i32;
    i64, I64, |x| x as u64, |b| b as i64;
    u8, U8, u64::from, |b| b as u8;
    u16, U16, u64::from, |b| b as u16;
    u32, U32, u64::from, |b| b as u32;
    u64, U64, |x| x, |b| b;
    f32, F32, |x: f32| u64::from(x.to_bits()), |b| f32::from_bits(b as u32);
    f64, F64, f64::to_bits, f64::from_bits;
}
