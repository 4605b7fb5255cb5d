//! Typed arrays, borrowed from the caller or shared by their holders.

use super::{Elements, Error, Malformed, Permutation, room};
use crate::algebra::{Type, Value};

macro_rules! arrays {
    ($($variant:ident $rust:ty, $from:expr, $bits:expr;)*) => {
        /// An array of one element type: values, positions or coordinates (the last two `I32` or `I64`).
        /// `Bool` holds one byte an element, 0 or 1.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub enum Array<'a> { $($variant(Elements<'a, $rust>),)* }

        impl<'a> Array<'a> {
            /// An owned array of `len` copies of `value`, or `None` if memory does not suffice.
            pub fn filled(value: Value, len: usize) -> Option<Array<'static>> {
                match value.ty() { $(Type::$variant => {
                    let x: $rust = $from(value.bits());
                    Some(Array::$variant(Elements::from(room::repeated(x, len).ok()?)))
                })* }
            }

            /// An owned array of these values, all of type `ty`. For few values: [`Array::collected`] reports lack of memory.
            ///
            /// # Panics
            /// If a value is of another type.
            pub fn from_values(ty: Type, values: impl IntoIterator<Item = Value>) -> Array<'static> {
                match ty { $(Type::$variant => Array::$variant(Elements::from(values.into_iter().map(|v| {
                    assert_eq!(v.ty(), ty);
                    let x: $rust = $from(v.bits());
                    x
                }).collect::<Vec<_>>())),)* }
            }

            /// An owned array of these values, all of type `ty`.
            ///
            /// # Errors
            /// [`Error::Malformed`] names the first value of another type; [`Error::Memory`].
            pub fn collected(ty: Type, values: impl IntoIterator<Item = Value>) -> Result<Array<'static>, Error> {
                let mut other = None;
                let array = match ty { $(Type::$variant => {
                    let values = values.into_iter().enumerate().map(|(position, v)| {
                        if v.ty() != ty {
                            other.get_or_insert((position, v.ty()));
                        }
                        let x: $rust = $from(v.bits());
                        x
                    });
                    Array::$variant(Elements::from(room::collected(values)?))
                })* };
                let Some((position, is)) = other else { return Ok(array) };
                Err(Malformed { level: None, position, what: format!("a value of type {is}, {ty} expected") }.into())
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

            /// The bytes of all elements, of each the least significant first.
            pub fn bytes(&self) -> Vec<u8> {
                match self { $(Array::$variant(v) => {
                    let each = Type::$variant.bytes();
                    let mut all = Vec::with_capacity(v.len() * each);
                    v.iter().for_each(|x| all.extend_from_slice(&$bits(*x).to_le_bytes()[..each]));
                    all
                })* }
            }

            /// Sets element `i`. A borrowed or shared array is copied first.
            ///
            /// # Panics
            /// If there is no element `i` or the value has another type.
            pub fn set(&mut self, i: usize, value: Value) {
                assert_eq!(self.ty(), value.ty());
                match self { $(Array::$variant(v) => v.to_mut()[i] = $from(value.bits()),)* }
            }

            /// The same array, borrowed.
            pub fn borrow(&self) -> Array<'_> {
                match self { $(Array::$variant(v) => Array::$variant(Elements::Borrowed(v)),)* }
            }

            /// The same array, owned.
            pub fn into_owned(self) -> Array<'static> {
                match self { $(Array::$variant(v) => Array::$variant(v.into_owned()),)* }
            }

            /// The array with a lifetime of its own: shared, or copied if it is borrowed; `None` if memory does not suffice.
            pub fn share(&self) -> Option<Array<'static>> {
                Some(match self { $(Array::$variant(v) => Array::$variant(v.share()?),)* })
            }

            /// Whether the elements are borrowed from the caller, so that sharing them copies them.
            pub fn is_borrowed(&self) -> bool {
                match self { $(Array::$variant(v) => matches!(v, Elements::Borrowed(_)),)* }
            }

            /// An owned array of the elements at these places; `None` if memory does not suffice.
            ///
            /// # Panics
            /// If a place is not in the array.
            pub fn gather(&self, places: &[usize]) -> Option<Array<'static>> {
                match self { $(Array::$variant(v) => {
                    let mut out: Vec<$rust> = room::room(places.len()).ok()?;
                    out.extend(places.iter().map(|&p| v[p]));
                    Some(Array::$variant(Elements::from(out)))
                })* }
            }

            /// An owned array of the elements at these places, with `fill` for places that are not in the array; `None` if memory does
            /// not suffice.
            ///
            /// # Panics
            /// If the fill value has another type.
            pub fn gather_or(&self, places: &[i64], fill: Value) -> Option<Array<'static>> {
                assert_eq!(self.ty(), fill.ty());
                match self { $(Array::$variant(v) => {
                    let fill: $rust = $from(fill.bits());
                    let mut out: Vec<$rust> = room::room(places.len()).ok()?;
                    out.extend(places.iter().map(|&p| v.get(p as usize).copied().unwrap_or(fill)));
                    Some(Array::$variant(Elements::from(out)))
                })* }
            }

            /// An owned array of the elements permuted to their places; `None` if memory does not suffice.
            ///
            /// # Panics
            /// If the number of elements is not the number of places.
            pub fn moved(&self, places: &Permutation) -> Option<Array<'static>> {
                match self { $(Array::$variant(v) => Some(Array::$variant(Elements::from(places.moved(v).ok()?))),)* }
            }

            /// The elements at these places, borrowed.
            ///
            /// # Panics
            /// If a place is not in the array.
            pub fn part(&self, places: std::ops::Range<usize>) -> Array<'_> {
                match self { $(Array::$variant(v) => Array::$variant(Elements::Borrowed(&v[places])),)* }
            }

            /// An owned array of the elements of these arrays, one array behind the other.
            ///
            /// # Errors
            /// [`Error::Malformed`] names the first array that is not of type `ty`; [`Error::Memory`].
            pub fn joined(ty: Type, parts: &[Array]) -> Result<Array<'static>, Error> {
                let len = parts.iter().map(Array::len).sum();
                match ty { $(Type::$variant => {
                    let mut all: Vec<$rust> = room::room(len)?;
                    for (position, part) in parts.iter().enumerate() {
                        let Array::$variant(own) = part else {
                            let what = format!("an array of type {}, {ty} expected", part.ty());
                            return Err(Malformed { level: None, position, what }.into());
                        };
                        all.extend_from_slice(own);
                    }
                    Ok(Array::$variant(Elements::from(all)))
                })* }
            }

            /// Sets element `places[i]` to element `i` of `from`. A borrowed or shared array is copied first.
            ///
            /// # Panics
            /// If a place is not in the array, if there are more places than elements, or if the types differ.
            pub fn scatter(&mut self, places: &[usize], from: &Array) {
                match (self, from) {
                    $((Array::$variant(to), Array::$variant(from)) => {
                        let to = to.to_mut();
                        for (i, &p) in places.iter().enumerate() {
                            to[p] = from[i];
                        }
                    })*
                    (to, from) => panic!("{} scattered into {}", from.ty(), to.ty()),
                }
            }

            /// The address of the first element, for generated code and for tests that nothing was copied.
            pub fn as_ptr(&self) -> *const u8 {
                match self { $(Array::$variant(v) => v.as_ptr().cast(),)* }
            }
        }
    };
}

macro_rules! from_rust {
    ($($variant:ident $rust:ty;)*) => { $(
        /// Borrows the slice: nothing is copied.
        impl<'a> From<&'a [$rust]> for Array<'a> {
            fn from(v: &'a [$rust]) -> Array<'a> {
                Array::$variant(Elements::Borrowed(v))
            }
        }

        /// Takes the vector: nothing is copied.
        impl From<Vec<$rust>> for Array<'static> {
            fn from(v: Vec<$rust>) -> Array<'static> {
                Array::$variant(Elements::from(v))
            }
        }
    )* };
}

from_rust! { I8 i8; I16 i16; I32 i32; I64 i64; U8 u8; U16 u16; U32 u32; U64 u64; F32 f32; F64 f64; }

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

impl<'a> Array<'a> {
    /// An owned array of positions or coordinates, of type `I32` or `I64`. Numbers are never narrowed silently.
    ///
    /// # Errors
    /// [`Error::Narrow`] if a number does not fit the type, or the type is neither of the two; [`Error::Memory`].
    pub fn from_indices(ty: Type, indices: &[i64]) -> Result<Array<'static>, Error> {
        match ty {
            Type::I64 => Ok(Array::I64(Elements::from(room::copied(indices)?))),
            Type::I32 => {
                let mut out = room::room(indices.len())?;
                for &x in indices {
                    out.push(i32::try_from(x).map_err(|_| Error::Narrow(ty))?);
                }
                Ok(Array::I32(Elements::from(out)))
            }
            _ => Err(Error::Narrow(ty)),
        }
    }

    /// Borrowed truth values, one byte each. [`Tensor::check`] finds bytes other than 0 and 1.
    ///
    /// [`Tensor::check`]: super::Tensor::check
    pub fn of_bools(bytes: &'a [u8]) -> Array<'a> {
        Array::Bool(Elements::Borrowed(bytes))
    }

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
