//! An array of one chunk, as far as a column has rows in it.
//!
//! ```text
//!  buffers of a column   validity    values                 numbers, truth values, decimals
//!                        validity    offsets   text         texts
//!                        validity    views     text … text  lengths of the texts' buffers
//! ```

use super::abi::Array;
use super::form::Form;
use std::ffi::c_void;

/// Rows of an array.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    pub array: &'a Array,
    /// The first row, counted from where the buffers begin.
    pub start: usize,
    pub rows: usize,
    buffers: &'a [*const c_void],
}

impl<'a> Part<'a> {
    /// So many rows of an array from `skipped` on, looked at as one of this form.
    ///
    /// # Errors
    /// What contradicts the form, or itself.
    pub fn of(array: &'a Array, form: Form, (skipped, rows): (usize, usize)) -> Result<Part<'a>, String> {
        let number = |n: i64, what: &str| usize::try_from(n).map_err(|_| format!("an array of {what} {n}"));
        let (length, offset) = (number(array.length, "length")?, number(array.offset, "offset")?);
        if skipped.checked_add(rows).is_none_or(|end| end > length) {
            return Err(format!("an array of {length} values where {skipped} + {rows} are expected"));
        }
        // Places are counted in bytes and bits of an address space.
        let end = offset.checked_add(length).filter(|end| *end <= isize::MAX as usize / 32);
        end.ok_or_else(|| format!("an array of {length} values from {offset} on, more than memory has"))?;
        if array.null_count < -1 || array.null_count > array.length {
            return Err(format!("{} nulls in an array of {length} values", array.null_count));
        }
        let (count, expected) = (array.n_buffers, form.buffers());
        let fits = match form {
            Form::View => count >= 3,
            Form::Null => (0..=1).contains(&count),
            _ => usize::try_from(count) == Ok(expected),
        };
        if !fits {
            return Err(format!("an array of {count} buffers, {expected} expected"));
        }
        if array.buffers.is_null() && count > 0 {
            return Err(format!("an array of {count} buffers, and a null pointer in the place of them"));
        }
        let buffers = match count {
            0 => &[][..],
            // SAFETY: the producer says that there are so many pointers; they are not changed before the array is released.
            n => unsafe { std::slice::from_raw_parts(array.buffers, n as usize) },
        };
        let part = Part { array, start: offset + skipped, rows, buffers };
        if form != Form::Null && part.buffers[0].is_null() && array.null_count > 0 {
            return Err(format!("{} nulls, and no buffer that says which", array.null_count));
        }
        if form != Form::Null && rows > 0 && part.buffers[1].is_null() {
            return Err(format!("an array of {length} values, and a null pointer in the place of their buffer"));
        }
        Ok(part)
    }

    /// A buffer, as a pointer to values of this type; null if it says so.
    pub fn buffer<T>(&self, n: usize) -> *const T {
        self.buffers[n].cast()
    }

    /// Value `row` of buffer 1.
    ///
    /// # Safety
    /// The buffer has values of this type, of which any bits are one; the row is one of the part's.
    pub unsafe fn value<T: Copy>(&self, row: usize) -> T {
        // SAFETY: the caller says so, and a part with rows has this buffer.
        unsafe { self.buffer::<T>(1).add(self.start + row).read_unaligned() }
    }

    /// A bit of a buffer of bits.
    ///
    /// # Safety
    /// The buffer is one, and not null; the row is one of the part's.
    pub unsafe fn bit(&self, buffer: usize, row: usize) -> bool {
        let at = self.start + row;
        // SAFETY: the caller says so.
        unsafe { *self.buffer::<u8>(buffer).add(at / 8) >> (at % 8) & 1 == 1 }
    }

    /// Whether a row is null.
    pub fn is_null(&self, row: usize) -> bool {
        // SAFETY: the first buffer, if there is one, has a bit for each value: set where it is not null.
        self.has_validity() && !unsafe { self.bit(0, row) }
    }

    /// Whether there is a buffer that says which rows are null.
    pub fn has_validity(&self) -> bool {
        !self.buffers.is_empty() && !self.buffers[0].is_null() && self.array.null_count != 0
    }

    /// The texts' buffers behind views, with their lengths.
    ///
    /// # Errors
    /// A null pointer where there are lengths, negative lengths.
    pub fn texts(&self) -> Result<Vec<(*const u8, usize)>, String> {
        let (count, lengths) = (self.buffers.len() - 3, self.buffer::<i64>(self.buffers.len() - 1));
        if count > 0 && lengths.is_null() {
            return Err(format!("{count} buffers of texts, and a null pointer in the place of their lengths"));
        }
        let one = |n: usize| {
            // SAFETY: there are as many lengths as buffers of texts.
            let length = unsafe { lengths.add(n).read_unaligned() };
            let (buffer, length) = (self.buffer::<u8>(2 + n), usize::try_from(length));
            match length {
                Ok(length) if length == 0 || !buffer.is_null() => Ok((buffer, length)),
                Ok(length) => Err(format!("{length} bytes of texts, and a null pointer in the place of them")),
                Err(_) => Err("a buffer of texts of negative length".to_string()),
            }
        };
        (0..count).map(one).collect()
    }
}

impl Form {
    /// How many buffers an array of such values has, at least.
    fn buffers(self) -> usize {
        match self {
            Form::Null => 0,
            Form::Text { .. } | Form::View => 3,
            _ => 2,
        }
    }
}
