//! Rust's number types as elements of arrays: conversions to and from slices and vectors, without copying.

use super::{Array, Elements};
use crate::algebra::Type;

/// A Rust number type that arrays hold directly. `bool` is not one: an array of them has one byte per element ([`Array::of_bools`],
/// [`Array::as_bools`]).
pub trait Element: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The language's type of these elements.
    const TYPE: Type;

    /// The elements of an array of this type; `None` for an array of another type.
    fn slice<'s>(array: &'s Array<'_>) -> Option<&'s [Self]>;

    /// The elements of an array of this type, copied only if the array is borrowed or shared.
    ///
    /// # Errors
    /// The array, if it has another type.
    fn vec(array: Array<'_>) -> Result<Vec<Self>, Array<'_>>;

    /// An array that borrows these elements.
    fn borrowed(elements: &[Self]) -> Array<'_>;

    /// An array that owns these elements.
    fn owned(elements: Vec<Self>) -> Array<'static>;
}

macro_rules! elements {
    ($($rust:ty, $variant:ident;)*) => { $(
        impl Element for $rust {
            const TYPE: Type = Type::$variant;

            fn slice<'s>(array: &'s Array<'_>) -> Option<&'s [$rust]> {
                match array {
                    Array::$variant(elements) => Some(elements),
                    _ => None,
                }
            }

            fn vec(array: Array<'_>) -> Result<Vec<$rust>, Array<'_>> {
                match array {
                    Array::$variant(elements) => Ok(elements.into_vec()),
                    other => Err(other),
                }
            }

            fn borrowed(elements: &[$rust]) -> Array<'_> {
                Array::$variant(Elements::Borrowed(elements))
            }

            fn owned(elements: Vec<$rust>) -> Array<'static> {
                Array::$variant(Elements::from(elements))
            }
        }
    )* };
}

elements! { i8, I8; i16, I16; i32, I32; i64, I64; u8, U8; u16, U16; u32, U32; u64, U64; f32, F32; f64, F64; }

impl<'a> Array<'a> {
    /// The elements as a slice of `T`, if that is their type.
    ///
    /// ```
    /// # use fiberloom_core::format::Array;
    /// let array = Array::from(vec![1.0, 2.0]);
    /// assert_eq!(array.as_slice::<f64>(), Some(&[1.0, 2.0][..]));
    /// assert_eq!(array.as_slice::<i32>(), None);
    /// ```
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        T::slice(self)
    }

    /// The elements as a vector of `T`, copied only if they are borrowed or shared.
    ///
    /// # Errors
    /// The array itself, if its elements have another type.
    pub fn into_vec<T: Element>(self) -> Result<Vec<T>, Array<'a>> {
        T::vec(self)
    }

    /// The bytes of an array of truth values, 0 or 1 each.
    pub fn as_bools(&self) -> Option<&[u8]> {
        match self {
            Array::Bool(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// Borrows the elements: nothing is copied.
impl<'a, T: Element, const N: usize> From<&'a [T; N]> for Array<'a> {
    fn from(elements: &'a [T; N]) -> Array<'a> {
        T::borrowed(elements)
    }
}

/// Borrows the elements: nothing is copied.
impl<'a, T: Element> From<&'a Vec<T>> for Array<'a> {
    fn from(elements: &'a Vec<T>) -> Array<'a> {
        T::borrowed(elements)
    }
}

/// Borrows the array: nothing is copied.
impl<'a> From<&'a Array<'_>> for Array<'a> {
    fn from(array: &'a Array<'_>) -> Array<'a> {
        array.borrow()
    }
}
