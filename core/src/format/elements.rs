//! Array elements of one Rust type, borrowed or shared.
//!
//! ```text
//!  Borrowed   the caller's slice: nothing is copied
//!  Counted    a vector that its holders share; a holder who writes while there are others gets a copy
//! ```
//!
//! So a result can share arrays with its operands, and cloning a tensor that owns its arrays increments a count per array.

use super::room;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Elements of an [`Array`](super::Array), borrowed or reference-counted. Dereferences to a slice.
#[derive(Clone)]
pub enum Elements<'a, T> {
    /// Borrowed from the caller.
    Borrowed(&'a [T]),
    /// Shared by all holders.
    Counted(Arc<Vec<T>>),
}

impl<T: Copy> Elements<'_, T> {
    /// The elements for writing, copied before if they are borrowed or shared.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if let Elements::Borrowed(v) = self {
            *self = Elements::from(v.to_vec());
        }
        match self {
            Elements::Counted(v) => Arc::make_mut(v),
            Elements::Borrowed(_) => unreachable!("counted by now"),
        }
    }

    /// The elements as a vector, copied if they are borrowed or shared.
    pub fn into_vec(self) -> Vec<T> {
        match self {
            Elements::Borrowed(v) => v.to_vec(),
            Elements::Counted(v) => Arc::unwrap_or_clone(v),
        }
    }

    /// The elements with a lifetime of their own: shared if they are counted, copied if borrowed; `None` if memory does not suffice.
    pub fn share(&self) -> Option<Elements<'static, T>> {
        match self {
            Elements::Counted(v) => Some(Elements::Counted(v.clone())),
            Elements::Borrowed(v) => Some(room::copied(v).ok()?.into()),
        }
    }

    /// The elements with a lifetime of their own: unchanged if they are counted, copied if borrowed.
    pub fn into_owned(self) -> Elements<'static, T> {
        match self {
            Elements::Counted(v) => Elements::Counted(v),
            Elements::Borrowed(v) => v.to_vec().into(),
        }
    }
}

impl<T> Deref for Elements<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Elements::Borrowed(v) => v,
            Elements::Counted(v) => v,
        }
    }
}

/// Takes the vector: nothing is copied.
impl<T> From<Vec<T>> for Elements<'_, T> {
    fn from(v: Vec<T>) -> Self {
        Elements::Counted(Arc::new(v))
    }
}

/// Borrows the slice: nothing is copied.
impl<'a, T> From<&'a [T]> for Elements<'a, T> {
    fn from(v: &'a [T]) -> Self {
        Elements::Borrowed(v)
    }
}

impl<T: PartialEq> PartialEq for Elements<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: fmt::Debug> fmt::Debug for Elements<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}
