//! Texts of chunks.
//!
//! ```text
//!  offsets  0 4 4 9     text of 9 bytes      borrowed, where one chunk begins at offset 0
//!  views    length, then the text itself     a short one
//!           length, buffer, offset           a long one, in one of several buffers
//! ```

use super::part::Part;
use super::read::{Wrong, rows};
use fiberloom::relation::Texts;
use fiberloom_core::format::{Array as Elems, room};

/// Texts with offsets.
pub fn texts(parts: &[Part], wide: bool) -> Result<Texts<'static>, Wrong> {
    if let [part] = parts
        && let Some(borrowed) = borrowed(part, wide)
    {
        return Ok(borrowed);
    }
    let mut all = Texting::new(parts)?;
    for part in parts {
        all.part(part, |row| {
            let [start, end] = [row, row + 1].map(|row| {
                // SAFETY: buffer 1 has one offset more than there are values.
                unsafe { if wide { part.value::<i64>(row) } else { part.value::<i32>(row).into() } }
            });
            let Some(length) = end.checked_sub(start).filter(|length| start >= 0 && *length >= 0) else {
                return Err(format!("its text stands from offset {start} to {end}"));
            };
            // SAFETY: buffer 2 has the bytes up to the last offset; offsets ascend.
            unsafe { bytes(part.buffer(2), start as usize, length as usize) }
        })?;
    }
    all.texts()
}

/// Texts behind views.
pub fn views(parts: &[Part]) -> Result<Texts<'static>, Wrong> {
    let mut all = Texting::new(parts)?;
    for part in parts {
        let buffers = part.texts()?;
        all.part(part, |row| viewed(part, &buffers, row))?;
    }
    all.texts()
}

/// The texts of one chunk where they are; none if they do not begin at offset 0, or something is wrong, which is for others to say.
fn borrowed(part: &Part, wide: bool) -> Option<Texts<'static>> {
    if part.rows == 0 || part.start != 0 || part.buffer::<u8>(2).is_null() {
        return None;
    }
    // SAFETY: buffer 1 has one offset more than there are values.
    let last = unsafe { if wide { part.value::<i64>(part.rows) } else { part.value::<i32>(part.rows).into() } };
    let count = part.rows + 1;
    let offsets = match wide {
        true if part.buffer::<i64>(1).is_aligned() => {
            // SAFETY: as above; nobody changes them before the array is released.
            Elems::from(unsafe { std::slice::from_raw_parts(part.buffer::<i64>(1), count) })
        }
        false if part.buffer::<i32>(1).is_aligned() => {
            // SAFETY: as above.
            Elems::from(unsafe { std::slice::from_raw_parts(part.buffer::<i32>(1), count) })
        }
        _ => return None,
    };
    // What is wrong with offsets is known before bytes are read.
    let ascend = (0..part.rows).all(|n| 0 <= offsets.index(n) && offsets.index(n) <= offsets.index(n + 1));
    let length = usize::try_from(last).ok().filter(|_| ascend && offsets.index(0) == 0)?;
    // SAFETY: buffer 2 has the bytes up to the last offset.
    let text = unsafe { std::slice::from_raw_parts(part.buffer::<u8>(2), length) };
    Texts::new(std::str::from_utf8(text).ok()?, offsets).ok()
}

/// The bytes of a text.
///
/// # Safety
/// The buffer is null, or has them.
unsafe fn bytes<'a>(buffer: *const u8, start: usize, length: usize) -> Result<&'a [u8], String> {
    match length {
        0 => Ok(&[]),
        _ if buffer.is_null() => Err(format!("a text of {length} bytes, and a null pointer in the place of them")),
        // SAFETY: the caller says so.
        _ => Ok(unsafe { std::slice::from_raw_parts(buffer.add(start), length) }),
    }
}

/// The bytes of a text behind its view.
fn viewed<'a>(part: &Part<'a>, buffers: &[(*const u8, usize)], row: usize) -> Result<&'a [u8], String> {
    /// Texts of so many bytes stand in their views.
    const SHORT: usize = 12;
    // SAFETY: buffer 1 has 16 bytes for each value.
    let [length, _, buffer, start] = unsafe { part.value::<[i32; 4]>(row) };
    let Ok(length) = usize::try_from(length) else { return Err(format!("a text of {length} bytes")) };
    if length <= SHORT {
        // SAFETY: as above.
        return Ok(unsafe {
            std::slice::from_raw_parts(part.buffer::<u8>(1).add(16 * (part.start + row) + 4), length)
        });
    }
    let held = usize::try_from(buffer).ok().and_then(|buffer| buffers.get(buffer));
    let (Some((held, all)), Ok(from)) = (held, usize::try_from(start)) else {
        return Err(format!("its text stands at {start} of buffer {buffer}, of {}", buffers.len()));
    };
    match from.checked_add(length).is_some_and(|end| end <= *all) {
        // SAFETY: the producer says that the buffer has `all` bytes.
        true => unsafe { bytes(*held, from, length) },
        false => Err(format!("its text stands at {from} with {length} bytes, in a buffer of {all}")),
    }
}

/// Texts that are copied, one behind the other.
struct Texting {
    text: String,
    offsets: Vec<i64>,
}

impl Texting {
    /// None yet, of these chunks.
    fn new(parts: &[Part]) -> Result<Texting, Wrong> {
        let mut offsets = room::room(rows(parts) + 1)?;
        offsets.push(0);
        Ok(Texting { text: String::new(), offsets })
    }

    /// Puts the texts of a chunk behind the others, empty ones where rows are null.
    fn part<'t>(&mut self, part: &Part, of: impl Fn(usize) -> Result<&'t [u8], String>) -> Result<(), Wrong> {
        for row in 0..part.rows {
            let text = if part.is_null(row) { Ok(&b""[..]) } else { of(row) };
            let text = text.and_then(|text| std::str::from_utf8(text).map_err(|_| "its text is not UTF-8".to_string()));
            self.put(text.map_err(|what| Wrong::at(self.offsets.len() - 1, what))?)?;
        }
        Ok(())
    }

    fn put(&mut self, text: &str) -> Result<(), Wrong> {
        let bytes = (self.text.len() + text.len()) as u128;
        self.text.try_reserve(text.len()).map_err(|_| fiberloom_core::format::Error::Memory { bytes })?;
        self.text.push_str(text);
        Ok(room::push(&mut self.offsets, self.text.len() as i64)?)
    }

    fn texts(self) -> Result<Texts<'static>, Wrong> {
        Ok(Texts::new(self.text, self.offsets)?)
    }
}
