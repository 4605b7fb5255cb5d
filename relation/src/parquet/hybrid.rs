//! Small numbers in runs: the encoding of levels and of places in a dictionary.
//!
//! ```text
//!  2n      a value       n times this value
//!  2n + 1  n · w bytes   8n values of w bits each, the lowest bits first
//! ```
//!
//! The head of a run is a number of seven bits a byte, the lowest first, the highest bit of each byte but the last being set.

/// Reads small numbers in runs, as Parquet files have levels and places in a dictionary: a number and how often it stands there, or
/// numbers of a few bits one behind the other.
pub struct Hybrid<'b> {
    rest: &'b [u8],
    width: u32,
    run: Run<'b>,
}

/// What is left of a run.
enum Run<'b> {
    Same {
        value: u32,
        left: usize,
    },
    /// The values from place `at` up to `end`, of `width` bits each.
    Packed {
        bytes: &'b [u8],
        at: usize,
        end: usize,
    },
}

impl<'b> Hybrid<'b> {
    /// The numbers in some bytes, of `width` bits each, 32 at most.
    ///
    /// # Errors
    /// More bits.
    pub fn new(rest: &'b [u8], width: u32) -> Result<Hybrid<'b>, String> {
        if width > 32 {
            return Err(format!("numbers of {width} bits: 32 at most"));
        }
        Ok(Hybrid { rest, width, run: Run::Same { value: 0, left: 0 } })
    }

    /// One run of numbers of so many bits, one behind the other without a head.
    pub(super) fn packed(bytes: &'b [u8], width: u32) -> Hybrid<'b> {
        Hybrid { rest: &[], width, run: Run::Packed { bytes, at: 0, end: 8 * bytes.len() / width as usize } }
    }

    /// Fills `to` with the next numbers.
    ///
    /// # Errors
    /// There are less, or a run is damaged.
    pub fn read(&mut self, mut to: &mut [u32]) -> Result<(), String> {
        while !to.is_empty() {
            let count = match &mut self.run {
                Run::Same { left: 0, .. } => {
                    self.run = self.next()?;
                    continue;
                }
                Run::Packed { at, end, .. } if at == end => {
                    self.run = self.next()?;
                    continue;
                }
                Run::Same { value, left } => {
                    let count = to.len().min(*left);
                    to[..count].fill(*value);
                    *left -= count;
                    count
                }
                Run::Packed { bytes, at, end } => {
                    let count = to.len().min(*end - *at);
                    unpack(bytes, self.width as usize, *at, &mut to[..count]);
                    *at += count;
                    count
                }
            };
            to = &mut to[count..];
        }
        Ok(())
    }

    /// The next run, which may be empty.
    fn next(&mut self) -> Result<Run<'b>, String> {
        let head = self.head()?;
        let many = usize::try_from(head >> 1).map_err(|_| "a run without an end")?;
        let width = self.width as usize;
        if head & 1 == 0 {
            let bytes = self.take(width.div_ceil(8))?;
            let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
            return Ok(Run::Same { value, left: many });
        }
        // The last run may end with the last value.
        let bytes = self.take(many.saturating_mul(width).min(self.rest.len()))?;
        let there = (8 * bytes.len()).checked_div(width).unwrap_or(usize::MAX);
        let end = many.saturating_mul(8).min(there);
        Ok(Run::Packed { bytes, at: 0, end })
    }

    fn head(&mut self) -> Result<u64, String> {
        let mut head = 0u64;
        for place in 0..5 {
            let byte = self.take(1)?[0];
            head |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                return Ok(head);
            }
        }
        Err("the head of a run has more than five bytes".to_string())
    }

    fn take(&mut self, count: usize) -> Result<&'b [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or("the values end early")?;
        self.rest = rest;
        Ok(taken)
    }
}

/// The numbers of `width` bits from place `at` on; all of them stand in `bytes`.
fn unpack(bytes: &[u8], width: usize, at: usize, to: &mut [u32]) {
    let mask = (1u64 << width) - 1;
    for (n, to) in to.iter_mut().enumerate() {
        let bit = (at + n) * width;
        let word = match bytes.get(bit / 8..bit / 8 + 8) {
            Some(word) => u64::from_le_bytes(word.try_into().expect("eight bytes")),
            None => bytes[bit / 8..].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        *to = (word >> (bit % 8) & mask) as u32;
    }
}
