//! Typed arrays, borrowed from the caller or owned.

use crate::algebra::{Type, Value};
use std::borrow::Cow;

macro_rules! arrays {
    ($($variant:ident $rust:ty, $from:expr, $bits:expr;)*) => {
        /// An array of one element type: values, positions or coordinates (the last two `I32` or `I64`).
        /// `Bool` holds one byte an element, 0 or 1.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub enum Array<'a> { $($variant(Cow<'a, [$rust]>),)* }

        impl<'a> Array<'a> {
            /// An owned array of `len` copies of `value`, or `None` if memory does not suffice.
            pub fn filled(value: Value, len: usize) -> Option<Array<'static>> {
                match value.ty() { $(Type::$variant => {
                    let x: $rust = $from(value.bits());
                    let mut v = Vec::new();
                    v.try_reserve_exact(len).ok()?;
                    v.resize(len, x);
                    Some(Array::$variant(Cow::Owned(v)))
                })* }
            }

            /// An owned array of these values, all of type `ty`.
            pub fn from_values(ty: Type, values: impl IntoIterator<Item = Value>) -> Array<'static> {
                match ty { $(Type::$variant => Array::$variant(Cow::Owned(values.into_iter().map(|v| {
                    debug_assert_eq!(v.ty(), ty);
                    let x: $rust = $from(v.bits());
                    x
                }).collect())),)* }
            }

            /// Element type.
            pub fn ty(&self) -> Type {
                match self { $(Array::$variant(_) => Type::$variant,)* }
            }

            /// Number of elements.
            pub fn len(&self) -> usize {
                match self { $(Array::$variant(v) => v.len(),)* }
            }

            /// Element `i`.
            ///
            /// # Panics
            /// If there is none.
            pub fn get(&self, i: usize) -> Value {
                match self { $(Array::$variant(v) => Value::from_bits(Type::$variant, $bits(v[i])),)* }
            }

            /// Sets element `i`, making the array its own if it was borrowed.
            ///
            /// # Panics
            /// If there is no element `i` or the value has another type.
            pub fn set(&mut self, i: usize, value: Value) {
                assert_eq!(self.ty(), value.ty());
                match self { $(Array::$variant(v) => v.to_mut()[i] = $from(value.bits()),)* }
            }

            /// The same array, borrowed.
            pub fn borrow(&self) -> Array<'_> {
                match self { $(Array::$variant(v) => Array::$variant(Cow::Borrowed(v)),)* }
            }

            /// The same array, owned.
            pub fn into_owned(self) -> Array<'static> {
                match self { $(Array::$variant(v) => Array::$variant(Cow::Owned(v.into_owned())),)* }
            }

            /// Address of the first element, for generated code and for tests that nothing was copied.
            pub fn as_ptr(&self) -> *const u8 {
                match self { $(Array::$variant(v) => v.as_ptr().cast(),)* }
            }
        }
    };
}

arrays! {
    Bool u8, |b| b as u8, |x| x as u64;
    I8 i8, |b| b as i8, |x| x as u8 as u64;
    I16 i16, |b| b as i16, |x| x as u16 as u64;
    I32 i32, |b| b as i32, |x| x as u32 as u64;
    I64 i64, |b| b as i64, |x| x as u64;
    U8 u8, |b| b as u8, |x| x as u64;
    U16 u16, |b| b as u16, |x| x as u64;
    U32 u32, |b| b as u32, |x| x as u64;
    U64 u64, |b| b, |x| x;
    F32 f32, |b| f32::from_bits(b as u32), |x: f32| x.to_bits() as u64;
    F64 f64, f64::from_bits, |x: f64| x.to_bits();
}

impl Array<'_> {
    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All elements.
    pub fn iter(&self) -> impl Iterator<Item = Value> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Element `i` of an array of positions or coordinates.
    ///
    /// # Panics
    /// If there is none, or if the array holds no signed integers.
    pub fn index(&self, i: usize) -> i64 {
        match self {
            Array::I32(v) => v[i] as i64,
            Array::I64(v) => v[i],
            _ => self.get(i).as_i64().expect("positions and coordinates are integers"),
        }
    }
}
