//! A column of a row group, page by page.
//!
//! ```text
//!  dictionary   1.50  2.25  9.00    each entry is converted once, to what the column holds
//!  page         levels  1 1 0 1     1 where a value stands, 0 where a null does
//!               places  2 0   1     in the dictionary; or the values themselves
//!  the column   900 150 – 225
//! ```
//!
//! Texts stay as the file has them: held once where a dictionary holds them, a place a row. An entry that is no value of the column is
//! an error at the first row that has it.

use super::form::Form;
use super::hybrid::Hybrid;
use super::{Pages, damaged};
use crate::cell::{Collector, bits};
use crate::{Cell, Holds};
use bytes::Bytes;
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::room;
use fiberloom_data::{Fault, Place};
use parquet::basic::{Encoding, Type as Physical};
use parquet::column::page::{Page, PageReader};
use parquet::schema::types::ColumnDescPtr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows that are decoded at once.
const BATCH: usize = 1 << 12;

/// Whether pages of this encoding are decoded here.
pub(super) fn knows(encoding: Encoding) -> bool {
    let values = [Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY, Encoding::PLAIN_DICTIONARY];
    values.contains(&encoding) || encoding == BITS
}

/// Levels a bit each, of old files.
#[expect(deprecated, reason = "no longer written")]
const BITS: Encoding = Encoding::BIT_PACKED;

/// A column of a row group, and what its values are put into.
pub(super) struct Chunk<'c> {
    /// The column's name.
    pub(super) source: &'c str,
    /// How many rows stand in groups before it.
    pub(super) rows: usize,
    /// How many rows it has.
    pub(super) many: usize,
    /// How many of them were read.
    pub(super) got: usize,
    pub(super) column: ColumnDescPtr,
    pub(super) form: Form,
    pub(super) holds: Holds,
    pub(super) to: &'c mut Collector,
    /// Bytes that all columns of the file take.
    pub(super) taken: &'c AtomicU64,
    /// Bytes of this one that are among these.
    pub(super) counted: u64,
    pub(super) limit: u64,
}

/// The values of a page.
enum Values<'p> {
    Plain(Plain<'p>),
    /// Places in a dictionary.
    Coded(Hybrid<'p>),
    /// Truth values, a bit each.
    Truths(Hybrid<'p>),
}

/// Where values stand in a page.
enum Levels<'p> {
    /// Everywhere.
    Full,
    Runs(Hybrid<'p>),
    /// A bit each from bit `at` on, the highest of a byte first.
    Bits {
        bytes: &'p [u8],
        at: usize,
    },
}

impl Levels<'_> {
    /// Of each of the next rows whether a value stands there; `numbers` are as many, of whatever value.
    fn read(&mut self, present: &mut [bool], numbers: &mut [u32]) -> Result<(), String> {
        match self {
            Levels::Full => present.fill(true),
            Levels::Runs(runs) => {
                runs.read(numbers)?;
                present.iter_mut().zip(numbers).for_each(|(to, level)| *to = *level != 0);
            }
            Levels::Bits { bytes, at } => {
                for to in present {
                    *to = bytes[*at / 8] << (*at % 8) & 0x80 != 0;
                    *at += 1;
                }
            }
        }
        Ok(())
    }
}

/// What a dictionary page holds, as the column keeps it.
struct Dictionary {
    page: Bytes,
    entries: Entries,
    /// The entries that are no values of the column, ascending.
    refused: Vec<u32>,
}

enum Entries {
    /// As [`bits`] gives them.
    Numbers(Vec<u64>),
    /// So many held texts, one behind the other.
    Texts { first: u32, count: usize },
}

/// Rows that are being read.
struct Batch {
    present: Vec<bool>,
    numbers: Vec<u32>,
    bits: Vec<u64>,
}

impl Chunk<'_> {
    /// Reads the pages.
    pub(super) fn read(&mut self, mut pages: Pages) -> Result<(), Fault> {
        let mut batch = Batch { present: vec![true; BATCH], numbers: vec![0; BATCH], bits: Vec::with_capacity(BATCH) };
        let mut dictionary = None;
        while let Some(page) = pages.get_next_page().map_err(damaged)? {
            match page {
                Page::DictionaryPage { buf, num_values, encoding, .. } => {
                    if !matches!(encoding, Encoding::PLAIN | Encoding::PLAIN_DICTIONARY) {
                        return Err(self.contradicts(format!("a dictionary of encoding {encoding}")));
                    }
                    dictionary = Some(self.dictionary(buf, num_values as usize)?);
                }
                Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } => {
                    let (levels, rest) = self.levels(&buf, def_level_encoding, num_values as usize)?;
                    let values = self.values(rest, encoding)?;
                    self.page(num_values as usize, levels, values, dictionary.as_ref(), &mut batch)?;
                }
                Page::DataPageV2 { buf, num_values, encoding, def_levels_byte_len, rep_levels_byte_len, .. } => {
                    let (before, rest) = buf.split_at(def_levels_byte_len as usize + rep_levels_byte_len as usize);
                    let levels = match self.column.max_def_level() {
                        0 => Levels::Full,
                        _ => Levels::Runs(self.hybrid(&before[rep_levels_byte_len as usize..], 1)?),
                    };
                    let values = self.values(rest, encoding)?;
                    self.page(num_values as usize, levels, values, dictionary.as_ref(), &mut batch)?;
                }
            }
        }
        Ok(())
    }

    /// That all rows were read.
    pub(super) fn ends(&self) -> Result<(), Fault> {
        if self.got == self.many {
            return Ok(());
        }
        let (source, got, many) = (self.source, self.got, self.many);
        Err(Fault::whole(format!("damaged: column `{source}` has {got} rows of {many} in a row group")))
    }

    /// So many rows more were read.
    pub(super) fn took(&mut self, rows: usize) -> Result<(), Fault> {
        self.got += rows;
        let more = self.to.bytes - self.counted;
        self.counted = self.to.bytes;
        let all = self.taken.fetch_add(more, Ordering::Relaxed).saturating_add(more);
        if all > self.limit { Err(Fault::over(self.limit)) } else { Ok(()) }
    }

    /// Row `row` of those that are being read.
    pub(super) fn place(&self, row: usize) -> Place {
        Place::Cell { row: self.rows + self.got + row + 1, column: self.source.to_string() }
    }

    fn contradicts(&self, what: impl std::fmt::Display) -> Fault {
        Fault::whole(format!("damaged: column `{}`: {what}", self.source))
    }

    fn hybrid<'p>(&self, bytes: &'p [u8], width: u32) -> Result<Hybrid<'p>, Fault> {
        Hybrid::new(bytes, width).map_err(|what| self.contradicts(what))
    }

    /// The levels of a page of so many rows, and the bytes behind them.
    fn levels<'p>(&self, page: &'p [u8], encoding: Encoding, rows: usize) -> Result<(Levels<'p>, &'p [u8]), Fault> {
        if self.column.max_def_level() == 0 {
            return Ok((Levels::Full, page));
        }
        if encoding == Encoding::RLE {
            let (levels, rest) = self.sized(page)?;
            return Ok((Levels::Runs(self.hybrid(levels, 1)?), rest));
        }
        if encoding == BITS {
            let halves = page.split_at_checked(rows.div_ceil(8));
            let (bytes, rest) = halves.ok_or_else(|| self.contradicts("a page ends early"))?;
            return Ok((Levels::Bits { bytes, at: 0 }, rest));
        }
        Err(self.contradicts(format!("levels of encoding {encoding}")))
    }

    /// The bytes whose number stands before them, and those behind.
    fn sized<'p>(&self, bytes: &'p [u8]) -> Result<(&'p [u8], &'p [u8]), Fault> {
        split(bytes).ok_or_else(|| self.contradicts("a page ends early"))
    }

    fn values<'p>(&self, bytes: &'p [u8], encoding: Encoding) -> Result<Values<'p>, Fault> {
        let physical = self.column.physical_type();
        Ok(match (encoding, physical) {
            (Encoding::PLAIN, Physical::BOOLEAN) => Values::Truths(Hybrid::packed(bytes, 1)),
            (Encoding::PLAIN, _) => Values::Plain(self.plain(bytes)),
            (Encoding::RLE, Physical::BOOLEAN) => Values::Truths(self.hybrid(self.sized(bytes)?.0, 1)?),
            (Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY, _) => {
                // A page of nulls alone may have no bytes.
                let (width, rest) = bytes.split_first().unwrap_or((&0, &[]));
                Values::Coded(self.hybrid(rest, (*width).into())?)
            }
            _ => return Err(self.contradicts(format!("{physical} of encoding {encoding}"))),
        })
    }

    fn plain<'p>(&self, rest: &'p [u8]) -> Plain<'p> {
        let length = usize::try_from(self.column.type_length()).unwrap_or(0);
        Plain { rest, physical: self.column.physical_type(), length, form: self.form }
    }

    /// What a dictionary page of so many entries holds.
    fn dictionary(&mut self, page: Bytes, count: usize) -> Result<Dictionary, Fault> {
        if count > page.len() || self.column.physical_type() == Physical::BOOLEAN {
            return Err(self.contradicts(format!("a dictionary of {count} entries in {} bytes", page.len())));
        }
        let (mut plain, mut refused) = (self.plain(&page), Vec::new());
        let entries = if self.is_text() {
            let mut first = 0;
            for n in 0..count {
                let text = match plain.next().map_err(|what| self.contradicts(what))? {
                    Ok(Cell::Text(text)) => text,
                    _ => {
                        room::push(&mut refused, n as u32)?;
                        ""
                    }
                };
                let place = self.to.hold(text)?;
                first = if n == 0 { place } else { first };
            }
            Entries::Texts { first, count }
        } else if let Some(width) = self.straight() {
            let bytes = plain.take(count * width).map_err(|what| self.contradicts(what))?;
            let mut numbers = room::room(count)?;
            match self.column.physical_type() {
                Physical::INT32 => numbers.extend(signed(bytes)),
                Physical::FLOAT => numbers.extend(words::<4>(bytes).map(|x| u64::from(u32::from_le_bytes(x)))),
                _ => numbers.extend(words(bytes).map(u64::from_le_bytes)),
            }
            Entries::Numbers(numbers)
        } else {
            let mut numbers = room::room(count)?;
            for n in 0..count {
                let entry = plain.next().map_err(|what| self.contradicts(what))?;
                numbers.push(match entry.and_then(|cell| bits(self.holds, cell)) {
                    Ok(bits) => bits,
                    Err(_) => {
                        room::push(&mut refused, n as u32)?;
                        0
                    }
                });
            }
            Entries::Numbers(numbers)
        };
        self.took(0)?;
        Ok(Dictionary { page, entries, refused })
    }

    /// Whether texts are kept as such.
    fn is_text(&self) -> bool {
        self.form == Form::Text && self.holds == Holds::Text
    }

    /// Reads a page of so many rows.
    fn page(
        &mut self,
        rows: usize,
        mut levels: Levels,
        mut values: Values,
        dictionary: Option<&Dictionary>,
        batch: &mut Batch,
    ) -> Result<(), Fault> {
        if rows > self.many - self.got {
            return Err(self.contradicts(format!("more rows than the {} of its row group", self.many)));
        }
        let mut left = rows;
        while left > 0 {
            let rows = left.min(BATCH);
            let mut stand = rows;
            if !matches!(levels, Levels::Full) {
                let read = levels.read(&mut batch.present[..rows], &mut batch.numbers[..rows]);
                read.map_err(|what| self.contradicts(what))?;
                stand = batch.present[..rows].iter().filter(|present| **present).count();
            }
            let Batch { present, numbers, bits } = batch;
            let some = Some(&present[..rows]).filter(|_| stand < rows);
            match &mut values {
                Values::Coded(places) => {
                    let numbers = &mut numbers[..stand];
                    places.read(numbers).map_err(|what| self.contradicts(what))?;
                    self.coded(dictionary, numbers, some)?;
                }
                Values::Truths(truths) => {
                    let numbers = &mut numbers[..stand];
                    truths.read(numbers).map_err(|what| self.contradicts(what))?;
                    let mut truths = numbers.iter().map(|x| Ok(Ok(Cell::Plain(Value::bool(*x != 0)))));
                    self.converted(stand, || truths.next().expect("as many"), some, bits)?;
                }
                Values::Plain(plain) if self.is_text() => self.texts(plain, &mut numbers[..stand], some)?,
                Values::Plain(plain) => self.plainly(plain, stand, some, bits)?,
            }
            self.took(rows)?;
            left -= rows;
        }
        Ok(())
    }

    /// Puts entries of the dictionary behind the column.
    fn coded(
        &mut self,
        dictionary: Option<&Dictionary>,
        places: &[u32],
        present: Option<&[bool]>,
    ) -> Result<(), Fault> {
        // A page of nulls alone needs none.
        let none = &Dictionary { page: Bytes::new(), entries: Entries::Numbers(Vec::new()), refused: Vec::new() };
        let dictionary = dictionary.unwrap_or(none);
        let count = match &dictionary.entries {
            Entries::Numbers(numbers) => numbers.len(),
            Entries::Texts { count, .. } => *count,
        };
        let greatest = places.iter().copied().max();
        if let Some(place) = greatest.filter(|place| *place as usize >= count) {
            return Err(self.contradicts(format!("place {place} in a dictionary of {count} entries")));
        }
        if !dictionary.refused.is_empty() {
            let is_refused = |place: &u32| dictionary.refused.binary_search(place).is_ok();
            if let Some(n) = places.iter().position(is_refused) {
                return Err(self.refused(dictionary, places[n]).at(|| self.place(nth(present, n))));
            }
        }
        match &dictionary.entries {
            Entries::Texts { first, .. } => self.to.repeat(present, places.iter().map(|place| first + place)),
            // Nulls alone, of texts.
            Entries::Numbers(_) if self.holds == Holds::Text => self.to.repeat(present, std::iter::empty()),
            Entries::Numbers(numbers) => self.to.extend(present, places.iter().map(|place| numbers[*place as usize])),
        }
    }

    /// Why an entry of a dictionary is no value of the column.
    fn refused(&self, dictionary: &Dictionary, place: u32) -> Fault {
        let mut plain = self.plain(&dictionary.page);
        let entry = (0..=place).map(|_| plain.next()).last();
        match entry {
            Some(Ok(Ok(Cell::Text(_)))) if self.is_text() => Fault::whole("a text that is refused"),
            Some(Ok(cell)) => match cell.and_then(|cell| bits(self.holds, cell)) {
                Ok(_) => Fault::whole("a value that is refused"),
                Err(what) => Fault::whole(what),
            },
            Some(Err(what)) => self.contradicts(what),
            None => self.contradicts("a dictionary without entries"),
        }
    }

    /// Puts texts behind the column, each held by itself.
    fn texts(&mut self, plain: &mut Plain, places: &mut [u32], present: Option<&[bool]>) -> Result<(), Fault> {
        for (n, place) in places.iter_mut().enumerate() {
            let cell = plain.next().map_err(|what| self.contradicts(what))?;
            let text = match cell {
                Ok(Cell::Text(text)) => Ok(text),
                Ok(cell) => Err(bits(self.holds, cell).err().unwrap_or_default()),
                Err(what) => Err(what),
            };
            let text = text.map_err(|what| Fault::whole(what).at(|| self.place(nth(present, n))))?;
            *place = self.to.hold(text)?;
        }
        self.to.repeat(present, places.iter().copied())
    }

    /// Puts numbers behind the column.
    fn plainly(
        &mut self,
        plain: &mut Plain,
        count: usize,
        present: Option<&[bool]>,
        bits: &mut Vec<u64>,
    ) -> Result<(), Fault> {
        let Some(width) = self.straight() else {
            return self.converted(count, || plain.next(), present, bits);
        };
        let bytes = plain.take(count * width).map_err(|what| self.contradicts(what))?;
        match plain.physical {
            Physical::INT32 => self.to.extend(present, signed(bytes)),
            Physical::FLOAT => self.to.extend(present, words(bytes).map(|x| u32::from_le_bytes(x).into())),
            _ => self.to.extend(present, words(bytes).map(u64::from_le_bytes)),
        }
    }

    /// How many bytes a value has, if its bits in the file are its bits in the column.
    fn straight(&self) -> Option<usize> {
        let physical = self.column.physical_type();
        let width = match physical {
            Physical::INT32 | Physical::FLOAT => 4,
            Physical::INT64 | Physical::DOUBLE => 8,
            _ => return None,
        };
        let are = match (self.form, self.holds) {
            (Form::Date, Holds::Date) => physical == Physical::INT32,
            (Form::Time(per_second), Holds::Timestamp) => per_second == 1_000_000,
            (Form::Decimal(own), Holds::Decimal(digits)) => own == digits,
            (Form::Plain(own), Holds::Plain(ty)) => own == ty || (own, ty) == (Type::I32, Type::I64),
            _ => false,
        };
        are.then_some(width)
    }

    /// Puts so many values behind the column, each converted by itself.
    fn converted<'v>(
        &mut self,
        count: usize,
        mut next: impl FnMut() -> Result<Result<Cell<'v>, String>, String>,
        present: Option<&[bool]>,
        to: &mut Vec<u64>,
    ) -> Result<(), Fault> {
        to.clear();
        for n in 0..count {
            let cell = next().map_err(|what| self.contradicts(what))?;
            let bits = cell.and_then(|cell| bits(self.holds, cell));
            to.push(bits.map_err(|what| Fault::whole(what).at(|| self.place(nth(present, n))))?);
        }
        if self.holds == Holds::Text {
            return self.to.repeat(present, std::iter::empty());
        }
        self.to.extend(present, to.iter().copied())
    }
}

/// The row of value `n`.
fn nth(present: Option<&[bool]>, n: usize) -> usize {
    let Some(present) = present else { return n };
    present.iter().enumerate().filter(|(_, present)| **present).nth(n).map_or(n, |(row, _)| row)
}

/// The bytes whose number stands before them in four bytes, and those behind; none if there are less.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// So many bytes each.
fn words<const N: usize>(bytes: &[u8]) -> impl ExactSizeIterator<Item = [u8; N]> {
    bytes.chunks_exact(N).map(|x| x.try_into().expect("N bytes"))
}

/// The bits of integers of four bytes each.
fn signed(bytes: &[u8]) -> impl ExactSizeIterator<Item = u64> {
    words(bytes).map(|x| i64::from(i32::from_le_bytes(x)) as u64)
}

/// Values one behind the other.
struct Plain<'p> {
    rest: &'p [u8],
    physical: Physical,
    /// Bytes of each, where all have as many and the type does not say so.
    length: usize,
    form: Form,
}

impl<'p> Plain<'p> {
    /// The next value, or what is wrong with it.
    ///
    /// # Errors
    /// There is none.
    fn next(&mut self) -> Result<Result<Cell<'p>, String>, String> {
        Ok(match self.physical {
            Physical::INT32 => self.form.integer(i32::from_le_bytes(self.bytes()?).into()),
            Physical::INT64 => self.form.integer(i64::from_le_bytes(self.bytes()?)),
            Physical::FLOAT => Ok(Cell::Plain(f32::from_le_bytes(self.bytes()?).into())),
            Physical::DOUBLE => Ok(Cell::Plain(f64::from_le_bytes(self.bytes()?).into())),
            Physical::FIXED_LEN_BYTE_ARRAY => self.form.bytes(self.take(self.length)?),
            Physical::BYTE_ARRAY => {
                let (bytes, rest) = split(self.rest).ok_or("the values end early")?;
                self.rest = rest;
                self.form.bytes(bytes)
            }
            Physical::BOOLEAN | Physical::INT96 => return Err(format!("{} among plain values", self.physical)),
        })
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        Ok(self.take(N)?.try_into().expect("N bytes"))
    }

    fn take(&mut self, count: usize) -> Result<&'p [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or("the values end early")?;
        self.rest = rest;
        Ok(taken)
    }
}
