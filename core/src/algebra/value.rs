//! Element types and typed scalar values.

use std::fmt;

/// An element type of section 3 of `docs/language.md`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Type {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl Type {
    /// All types, in the order in which the language lists them.
    pub const ALL: [Type; 11] = [
        Type::Bool,
        Type::I8,
        Type::I16,
        Type::I32,
        Type::I64,
        Type::U8,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::F32,
        Type::F64,
    ];

    /// The type's name in programs.
    pub fn name(self) -> &'static str {
        ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"][self as usize]
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<Type> {
        Type::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Bytes of one element in an array (`bool` takes one).
    pub fn bytes(self) -> usize {
        [1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8][self as usize]
    }

    /// Bits of one value: 1 for `bool`, else eight times [`Type::bytes`].
    pub fn bits(self) -> u32 {
        if self == Type::Bool { 1 } else { 8 * self.bytes() as u32 }
    }

    /// `f32` or `f64`.
    pub fn is_float(self) -> bool {
        matches!(self, Type::F32 | Type::F64)
    }

    /// One of the eight integer types (`bool` is none).
    pub fn is_integer(self) -> bool {
        !self.is_float() && self != Type::Bool
    }

    /// A signed integer type.
    pub fn is_signed(self) -> bool {
        matches!(self, Type::I8 | Type::I16 | Type::I32 | Type::I64)
    }

    /// Least and greatest value of an integer type (of `bool`: 0 and 1). Floats have none: `None`.
    pub fn range(self) -> Option<(i128, i128)> {
        let n = self.bits();
        match self {
            t if t.is_float() => None,
            t if t.is_signed() => Some((-(1i128 << (n - 1)), (1i128 << (n - 1)) - 1)),
            _ => Some((0, (1i128 << n) - 1)),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A scalar with its type. Equality and hash are of type and bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value {
    ty: Type,
    bits: u64,
}

impl Value {
    /// The value of type `ty` with these bits; those above the width are dropped (for `bool`: any set bit is true).
    pub fn from_bits(ty: Type, bits: u64) -> Value {
        let bits = match ty {
            Type::Bool => (bits != 0) as u64,
            _ if ty.bytes() == 8 => bits,
            _ => bits & ((1 << ty.bits()) - 1),
        };
        Value { ty, bits }
    }

    /// Its type.
    pub fn ty(self) -> Type {
        self.ty
    }

    /// Its bit pattern, zero-extended.
    pub fn bits(self) -> u64 {
        self.bits
    }

    /// Zero, `false`, or +0.0.
    pub fn zero(ty: Type) -> Value {
        Value { ty, bits: 0 }
    }

    /// One, `true`, or 1.0.
    pub fn one(ty: Type) -> Value {
        Value::from_i128(ty, 1)
    }

    /// A truth value.
    pub fn bool(b: bool) -> Value {
        Value { ty: Type::Bool, bits: b as u64 }
    }

    /// An `i64`.
    pub fn i64(x: i64) -> Value {
        Value { ty: Type::I64, bits: x as u64 }
    }

    /// The integer `x` in type `ty`: wrapped to an integer type's width, rounded to a float, `x != 0` for `bool`.
    pub fn from_i128(ty: Type, x: i128) -> Value {
        match ty {
            Type::F32 => Value { ty, bits: (x as f32).to_bits() as u64 },
            Type::F64 => Value { ty, bits: (x as f64).to_bits() },
            Type::Bool => Value::bool(x != 0),
            _ => Value::from_bits(ty, x as u64),
        }
    }

    /// The float `x` in float type `ty` (rounded once for `f32`).
    ///
    /// # Panics
    /// If `ty` is no float type: the caller knows its types.
    pub fn from_f64(ty: Type, x: f64) -> Value {
        match ty {
            Type::F32 => Value { ty, bits: (x as f32).to_bits() as u64 },
            Type::F64 => Value { ty, bits: x.to_bits() },
            _ => panic!("a float value in type {ty}"),
        }
    }

    /// The exact integer of a `bool` or integer value, `None` of a float.
    pub fn as_i128(self) -> Option<i128> {
        let shift = 64 - self.ty.bits();
        match self.ty {
            t if t.is_float() => None,
            t if t.is_signed() => Some(((self.bits << shift) as i64 >> shift) as i128),
            _ => Some(self.bits as i128),
        }
    }

    /// The value as an `i64`, for extents and coordinates; `None` of floats and of a `u64` that does not fit.
    pub fn as_i64(self) -> Option<i64> {
        self.as_i128().and_then(|x| i64::try_from(x).ok())
    }

    /// The value as a double: exact for floats and integers below 2⁵³, else rounded.
    pub fn as_f64(self) -> f64 {
        match self.ty {
            Type::F32 => f32::from_bits(self.bits as u32) as f64,
            Type::F64 => f64::from_bits(self.bits),
            _ => self.as_i128().expect("no float") as f64,
        }
    }

    /// Whether it is `true` or a number other than zero.
    pub fn is_true(self) -> bool {
        if self.ty.is_float() { self.as_f64() != 0.0 } else { self.bits != 0 }
    }

    /// A float that is not a number.
    pub fn is_nan(self) -> bool {
        self.ty.is_float() && self.as_f64().is_nan()
    }
}

/// As a literal of the language, from which the value can be read back given its type.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ty {
            Type::Bool => write!(f, "{}", self.bits != 0),
            Type::F32 | Type::F64 => {
                let x = self.as_f64();
                if x.is_nan() {
                    write!(f, "nan")
                } else if x.is_infinite() {
                    write!(f, "{}", if x > 0.0 { "inf" } else { "-inf" })
                } else if self.ty == Type::F32 {
                    write!(f, "{:?}", x as f32)
                } else {
                    write!(f, "{x:?}")
                }
            }
            _ => write!(f, "{}", self.as_i128().expect("no float")),
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}{}", self.ty)
    }
}
