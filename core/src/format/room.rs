//! Memory that grows with the data: requests are refused with [`Error::Memory`] where it does not suffice.
//!
//! Invariant: after a large request was granted, `SPARE` more bytes were available. They are for small needs, such as messages.

use super::Error;

/// The bytes that a large request leaves for small ones.
const SPARE: usize = 1 << 20;

/// The least number of bytes of a large request.
const LARGE: usize = 1 << 16;

/// An empty vector with room for `n` elements.
///
/// # Errors
/// Memory does not suffice.
pub fn room<T>(n: usize) -> Result<Vec<T>, Error> {
    let mut empty = Vec::new();
    more(&mut empty, n)?;
    Ok(empty)
}

/// Makes room for `n` more elements. A vector that has to move doubles its room.
///
/// # Errors
/// Memory does not suffice.
#[inline]
pub fn more<T>(v: &mut Vec<T>, n: usize) -> Result<(), Error> {
    if v.capacity() - v.len() >= n { Ok(()) } else { grow(v, n) }
}

#[cold]
fn grow<T>(v: &mut Vec<T>, n: usize) -> Result<(), Error> {
    let bytes = (v.len() as u128 + n as u128) * size_of::<T>() as u128;
    // An empty vector is mostly filled once; any other grows again.
    let granted = if v.is_empty() { v.try_reserve_exact(n) } else { v.try_reserve(n) };
    granted.map_err(|_| Error::Memory { bytes })?;
    spare(bytes)
}

/// Whether [`SPARE`] more bytes are available beside a request of `bytes`.
fn spare(bytes: u128) -> Result<(), Error> {
    let mut spare: Vec<u8> = Vec::new();
    let granted = bytes < LARGE as u128 || spare.try_reserve_exact(SPARE).is_ok();
    // Keeps the compiler from removing an allocation that is never read.
    std::hint::black_box(&spare);
    if granted { Ok(()) } else { Err(Error::Memory { bytes }) }
}

/// The number of bytes available: `most`, or the first of its halves that is granted.
pub fn available(most: u64) -> u64 {
    let mut bytes = usize::try_from(most).unwrap_or(usize::MAX);
    while bytes > 0 && room::<u8>(bytes).map(std::hint::black_box).is_err() {
        bytes /= 2;
    }
    bytes as u64
}

/// Appends an element.
///
/// # Errors
/// Memory does not suffice.
#[inline]
pub fn push<T>(v: &mut Vec<T>, element: T) -> Result<(), Error> {
    more(v, 1)?;
    v.push(element);
    Ok(())
}

/// Resizes a vector, filling up with copies of an element.
///
/// # Errors
/// Memory does not suffice.
pub fn resize<T: Clone>(v: &mut Vec<T>, len: usize, element: T) -> Result<(), Error> {
    more(v, len.saturating_sub(v.len()))?;
    v.resize(len, element);
    Ok(())
}

/// `n` copies of an element.
///
/// # Errors
/// Memory does not suffice.
pub fn repeated<T: Clone>(element: T, n: usize) -> Result<Vec<T>, Error> {
    let mut all = room(n)?;
    all.resize(n, element);
    Ok(all)
}

/// A vector of all elements, in their order.
///
/// # Errors
/// Memory does not suffice.
pub fn collected<T>(elements: impl IntoIterator<Item = T>) -> Result<Vec<T>, Error> {
    let elements = elements.into_iter();
    let mut all = room(elements.size_hint().0)?;
    for element in elements {
        push(&mut all, element)?;
    }
    Ok(all)
}

/// A copy of the elements.
///
/// # Errors
/// Memory does not suffice.
pub fn copied<T: Copy>(elements: &[T]) -> Result<Vec<T>, Error> {
    let mut all = room(elements.len())?;
    all.extend_from_slice(elements);
    Ok(all)
}
