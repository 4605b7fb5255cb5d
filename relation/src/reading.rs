//! How the files of a table are read, and several of them as one table.

use super::frame::Writing;
use super::{Column, Frame, Over, Table, Texts, Values};
use fiberloom_core::counted;
use fiberloom_core::format::{Array, Elements, Error as Unassembled, room};
use fiberloom_data::{Error, Fault};
use std::borrow::Cow;
use std::path::Path;

/// What is not as every file of values has it.
///
/// ```
/// # use fiberloom_relation::Reading;
/// let mut reading = Reading::default();
/// reading.set("separator=;").unwrap();
/// reading.set("null=NA").unwrap();
/// assert_eq!((reading.separator, reading.null.as_deref()), (b';', Some("NA")));
/// assert!(reading.set("separator=ab").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What separates the fields of a `.csv` file: one byte of ASCII.
    pub separator: u8,
    /// Whether a `.csv` file begins with the names of its columns. They are `1`, `2`, … without.
    pub header: bool,
    /// What stands for a null in a `.csv` file, beside an empty field; not in quotes.
    pub null: Option<String>,
    /// Whether rows that have a null in a key are left out; they are refused else.
    pub drop_null_keys: bool,
}

impl Default for Reading {
    fn default() -> Reading {
        Reading { separator: b',', header: true, null: None, drop_null_keys: false }
    }
}

/// What can be set, for messages.
const SETTINGS: &str = "separator=;, separator=tab, header=no, null=NA or null-keys=drop";

impl Reading {
    /// Sets one thing, as the command line writes it.
    ///
    /// # Errors
    /// What is wrong with it, and what was expected.
    pub fn set(&mut self, setting: &str) -> Result<(), String> {
        let unknown = || format!("`{setting}` given, {SETTINGS} expected");
        let (what, value) = setting.split_once('=').ok_or_else(unknown)?;
        match (what, value) {
            ("separator", "tab") => self.separator = b'\t',
            ("separator", value) => match value.as_bytes() {
                [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => self.separator = *byte,
                _ => return Err(format!("`{value}` separates no fields: one character of ASCII, or `tab`, expected")),
            },
            ("header", "no") => self.header = false,
            ("header", "yes") => self.header = true,
            ("null", text) => self.null = Some(text.to_string()),
            ("null-keys", "drop") => self.drop_null_keys = true,
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// The rows of a table that this reading keeps.
    pub(super) fn kept(&self, frame: Frame<'static>, table: &Table) -> Result<Frame<'static>, Error> {
        if !self.drop_null_keys {
            return Ok(frame);
        }
        let keys = table.modes.iter().filter(|mode| mode.over != Over::Row);
        let keys: Vec<&Column> = keys.filter_map(|mode| frame.column(&mode.source)).collect();
        let kept: Vec<usize> = (0..frame.rows).filter(|row| keys.iter().all(|key| !key.is_null(*row))).collect();
        if kept.len() == frame.rows {
            return Ok(frame);
        }
        let dropped = counted(frame.rows - kept.len(), "row", "rows");
        let origin = format!("{} without {dropped} whose keys are null", frame.origin);
        let columns = frame.columns.iter().map(|column| only(column, &kept)).collect::<Result<_, _>>();
        let columns = columns.map_err(|e| Fault::from(e).within(Path::new(&frame.origin)))?;
        Ok(Frame { origin, rows: kept.len(), columns })
    }
}

/// These rows of a column.
pub(super) fn only(column: &Column, rows: &[usize]) -> Result<Column<'static>, Unassembled> {
    let memory = || Unassembled::Memory { bytes: 8 * rows.len() as u128 };
    let gathered = |array: &Array| array.gather(rows).ok_or_else(memory);
    let values = match &column.values {
        Values::Plain(array) => Values::Plain(gathered(array)?),
        Values::Dates(array) => Values::Dates(gathered(array)?),
        Values::Timestamps(array) => Values::Timestamps(gathered(array)?),
        Values::Decimals(array, digits) => Values::Decimals(gathered(array)?, *digits),
        Values::Texts(texts) => Values::Texts(Texts::of(rows.iter().map(|row| texts.get(*row)))?),
    };
    let nulls = room::collected(rows.iter().map(|row| column.is_null(*row)))?;
    let nulls = if nulls.contains(&true) { nulls } else { vec![] };
    Ok(Column { name: column.name.clone(), values, nulls: Cow::Owned(nulls) })
}

/// The rows of several files of one table, one file behind the other. They have the same columns.
pub(super) fn stacked(origin: String, mut parts: Vec<Frame<'static>>) -> Result<Frame<'static>, Error> {
    if parts.len() == 1 {
        return Ok(parts.remove(0));
    }
    let rows = parts.iter().map(|part| part.rows).sum();
    let count = parts.first().map_or(0, |part| part.columns.len());
    let mut columns = Vec::new();
    for _ in 0..count {
        // Of each part the column is given up once it is copied.
        let of: Vec<Column> = parts.iter_mut().map(|part| part.columns.remove(0)).collect();
        columns.push(behind_each_other(of, rows).map_err(|e| Fault::from(e).within(Path::new(&origin)))?);
    }
    Ok(Frame { origin, rows, columns })
}

/// One column of several.
fn behind_each_other(parts: Vec<Column<'static>>, rows: usize) -> Result<Column<'static>, Unassembled> {
    let name = parts[0].name.clone();
    let mut nulls = Vec::new();
    if parts.iter().any(|part| part.nulls.contains(&true)) {
        nulls = room::room(rows)?;
        parts.iter().for_each(|part| nulls.extend((0..part.values.len()).map(|row| part.is_null(row))));
    }
    let array = || {
        let arrays = parts.iter().filter_map(|part| match &part.values {
            Values::Plain(array) | Values::Dates(array) | Values::Timestamps(array) | Values::Decimals(array, _) => {
                Some(array.borrow())
            }
            Values::Texts(_) => None,
        });
        let arrays: Vec<Array> = arrays.collect();
        Array::joined(arrays[0].ty(), &arrays)
    };
    let values = match &parts[0].values {
        Values::Plain(_) => Values::Plain(array()?),
        Values::Dates(_) => Values::Dates(array()?),
        Values::Timestamps(_) => Values::Timestamps(array()?),
        Values::Decimals(_, digits) => Values::Decimals(array()?, *digits),
        Values::Texts(_) => {
            let texts = |part| match part {
                &Column { values: Values::Texts(ref texts), .. } => Some(texts),
                _ => None,
            };
            Values::Texts(joined(&parts.iter().filter_map(texts).collect::<Vec<_>>())?)
        }
    };
    Ok(Column { name, values, nulls: Cow::Owned(nulls) })
}

/// Texts one behind the other. What one of them holds once for several rows is held once.
fn joined(parts: &[&Texts<'static>]) -> Result<Texts<'static>, Unassembled> {
    let mut all = Writing::default();
    if parts.iter().all(|texts| texts.places.is_none()) {
        parts.iter().flat_map(|texts| texts.iter()).try_for_each(|text| all.push(text))?;
        return Ok(all.texts());
    }
    let mut places: Vec<u32> = room::room(parts.iter().map(|texts| texts.len()).sum())?;
    for texts in parts {
        let before = all.len() as u32;
        (0..texts.held()).try_for_each(|held| all.hold(texts.held_text(held)).map(drop))?;
        places.extend((0..texts.len()).map(|n| before + texts.place(n) as u32));
    }
    Ok(Texts { places: Some(places.into()), ..all.texts() })
}

/// The first rows of a frame, borrowed.
pub fn first<'f>(frame: &'f Frame, rows: usize) -> Frame<'f> {
    let of = |values: &'f Values| match values {
        Values::Plain(array) => Values::Plain(array.part(0..rows)),
        Values::Dates(array) => Values::Dates(array.part(0..rows)),
        Values::Timestamps(array) => Values::Timestamps(array.part(0..rows)),
        Values::Decimals(array, digits) => Values::Decimals(array.part(0..rows), *digits),
        Values::Texts(texts) => {
            let Texts { text, offsets, places } = texts.borrow();
            Values::Texts(match places {
                Some(_) => {
                    let places = texts.places.as_ref().map(|places| Elements::Borrowed(&places[..rows]));
                    Texts { text, offsets, places }
                }
                None => Texts { text, offsets: texts.offsets.part(0..rows + 1), places },
            })
        }
    };
    let column = |column: &'f Column| {
        let nulls = &column.nulls[..rows.min(column.nulls.len())];
        Column { name: column.name.clone(), values: of(&column.values), nulls: Cow::Borrowed(nulls) }
    };
    Frame { origin: frame.origin.clone(), rows, columns: frame.columns.iter().map(column).collect() }
}

/// The rows of a frame from one on.
///
/// # Errors
/// Memory.
pub fn behind(frame: &Frame, row: usize) -> Result<Frame<'static>, Error> {
    let rows: Vec<usize> = (row..frame.rows).collect();
    let columns = frame.columns.iter().map(|column| only(column, &rows)).collect::<Result<_, _>>();
    let columns = columns.map_err(|e| Fault::from(e).within(Path::new(&frame.origin)))?;
    Ok(Frame { origin: frame.origin.clone(), rows: rows.len(), columns })
}
