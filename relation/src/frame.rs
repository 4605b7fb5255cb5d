//! The columns of one table, as they were read or are to be written.

use crate::relate::Holds;
use fiberloom_core::algebra::Type;
use fiberloom_core::counted;
use fiberloom_core::format::{Array, Elements, Error, room};
use std::borrow::Cow;

/// The columns of one table, all of one length, borrowed or owned.
///
/// ```
/// use fiberloom_core::format::Array;
/// use fiberloom_relation::{Column, Frame, Texts, Values};
///
/// let key = Column::new("key", Values::Plain(Array::from(vec![1i64, 2])));
/// let name = Column::new("name", Values::Texts(Texts::of(["a", "b"]).unwrap()));
/// let frame = Frame::new("a table", vec![key, name]).unwrap();
/// assert_eq!(frame.rows, 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Frame<'a> {
    /// Where it comes from, for messages: a file's name.
    pub origin: String,
    /// How many rows there are.
    pub rows: usize,
    /// Its columns: of one name, the first counts.
    pub columns: Vec<Column<'a>>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column<'a> {
    /// Its name.
    pub name: String,
    /// A value a row; where the row is null, any.
    pub values: Values<'a>,
    /// Of each row whether it is null; empty where none is.
    pub nulls: Cow<'a, [bool]>,
}

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values<'a> {
    /// Numbers and truth values.
    Plain(Array<'a>),
    /// Days from 1970-01-01 on: an array of signed integers.
    Dates(Array<'a>),
    /// Microseconds from 1970-01-01 00:00 on, of universal time: an array of signed integers.
    Timestamps(Array<'a>),
    /// Integers, of which this power of ten is one: an array of signed integers.
    Decimals(Array<'a>, u8),
    /// Texts.
    Texts(Texts<'a>),
}

/// A value of a column, of whatever kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'c> {
    /// A number or a truth value.
    Plain(fiberloom_core::algebra::Value),
    /// Days from 1970-01-01 on.
    Date(i64),
    /// Microseconds from 1970-01-01 00:00 on.
    Timestamp(i64),
    /// An integer, of which this power of ten is one.
    Decimal(i128, u8),
    /// A text.
    Text(&'c str),
}

/// Texts, one behind the other in one buffer; of texts that repeat, each may be held once.
#[derive(Clone, Debug)]
pub struct Texts<'a> {
    pub(super) text: Cow<'a, str>,
    /// One more than texts are held, `I32` or `I64`: held text n is what stands between offsets n and n + 1.
    pub(super) offsets: Array<'a>,
    /// Of each text the held one that it is, all of them less than texts are held; each is its own without.
    pub(super) places: Option<Elements<'a, u32>>,
}

impl<'a> Frame<'a> {
    /// A frame of these columns.
    ///
    /// # Errors
    /// Columns of other lengths than the first, dates, timestamps or decimals that are no signed integers: what is wrong, with the column's name.
    pub fn new(origin: impl Into<String>, columns: Vec<Column<'a>>) -> Result<Frame<'a>, String> {
        let rows = columns.first().map_or(0, |column| column.values.len());
        columns.iter().try_for_each(|column| column.check(rows))?;
        Ok(Frame { origin: origin.into(), rows, columns })
    }

    /// Its first rows, under the names of its columns, below a line that says how many rows there are.
    pub fn head(&self, most: usize) -> String {
        let rows = self.rows.min(most);
        let columns: Vec<Vec<String>> = self.columns.iter().map(|column| column.shown(rows)).collect();
        let width = |texts: &Vec<String>| texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = columns.iter().map(width).collect();
        let mut text = counted(self.rows, "row", "rows");
        for row in 0..=rows {
            let cells = columns.iter().zip(&widths).map(|(column, width)| format!("{:<width$}", column[row]));
            text += &format!("\n  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
        if self.rows > rows {
            text += &format!("\n  … {} more", self.rows - rows);
        }
        text
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column<'a>> {
        self.columns.iter().find(|column| column.name == name)
    }
}

impl<'a> Column<'a> {
    /// A column without nulls.
    pub fn new(name: impl Into<String>, values: Values<'a>) -> Column<'a> {
        Column { name: name.into(), values, nulls: Cow::Borrowed(&[]) }
    }

    /// The same column, of which these rows are null.
    pub fn with_nulls(self, nulls: impl Into<Cow<'a, [bool]>>) -> Column<'a> {
        Column { nulls: nulls.into(), ..self }
    }

    /// Whether a row is null.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.get(row) == Some(&true)
    }

    /// The value of a row; none where it is null.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn cell(&self, row: usize) -> Option<Cell<'_>> {
        (!self.is_null(row)).then(|| self.values.cell(row))
    }

    /// Its name, and its first rows as text; nothing where a row is null.
    fn shown(&self, rows: usize) -> Vec<String> {
        let cell = |row| self.cell(row).map_or(String::new(), |cell| cell.to_string());
        std::iter::once(self.name.clone()).chain((0..rows).map(cell)).collect()
    }

    /// The same column: arrays that are counted are shared, all else is borrowed.
    pub fn borrow(&self) -> Column<'_> {
        let values = match &self.values {
            Values::Plain(array) => Values::Plain(array.clone()),
            Values::Dates(array) => Values::Dates(array.clone()),
            Values::Timestamps(array) => Values::Timestamps(array.clone()),
            Values::Decimals(array, digits) => Values::Decimals(array.clone(), *digits),
            Values::Texts(texts) => Values::Texts(texts.borrow()),
        };
        Column { name: self.name.clone(), values, nulls: Cow::Borrowed(&self.nulls) }
    }

    /// Whether it is a column of so many rows.
    pub(super) fn check(&self, rows: usize) -> Result<(), String> {
        let name = &self.name;
        if self.values.len() != rows || !matches!(self.nulls.len(), 0) && self.nulls.len() != rows {
            let (values, nulls) = (self.values.len(), self.nulls.len());
            return Err(format!("column `{name}`: {values} values and {nulls} marks of nulls for {rows} rows"));
        }
        match &self.values {
            Values::Dates(array) | Values::Timestamps(array) | Values::Decimals(array, _)
                if !array.ty().is_signed() =>
            {
                Err(format!("column `{name}`: elements of type {}, signed integers expected", array.ty()))
            }
            _ => Ok(()),
        }
    }
}

impl Values<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Plain(array) | Values::Dates(array) | Values::Timestamps(array) | Values::Decimals(array, _) => {
                array.len()
            }
            Values::Texts(texts) => texts.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Value `row`.
    ///
    /// # Panics
    /// If there is none.
    pub fn cell(&self, row: usize) -> Cell<'_> {
        match self {
            Values::Plain(array) => Cell::Plain(array.get(row)),
            Values::Dates(array) => Cell::Date(integer(array, row)),
            Values::Timestamps(array) => Cell::Timestamp(integer(array, row)),
            Values::Decimals(array, digits) => Cell::Decimal(integer(array, row).into(), *digits),
            Values::Texts(texts) => Cell::Text(texts.get(row)),
        }
    }

    /// Whether they are kept as what holds such values keeps them.
    pub(super) fn are(&self, holds: Holds) -> bool {
        match (self, holds) {
            (Values::Plain(array), Holds::Plain(ty)) => array.ty() == ty,
            (Values::Dates(array), Holds::Date) | (Values::Timestamps(array), Holds::Timestamp) => {
                array.ty() == Type::I64
            }
            (Values::Decimals(array, digits), Holds::Decimal(k)) => array.ty() == Type::I64 && *digits == k,
            (Values::Texts(_), Holds::Text) => true,
            _ => false,
        }
    }
}

/// Element `i` of an array of integers.
fn integer(array: &Array, i: usize) -> i64 {
    array.get(i).as_i64().expect("an array of signed integers")
}

impl<'a> Texts<'a> {
    /// Texts of a buffer: text n is what stands between offsets n and n + 1, of type `I32` or `I64`.
    ///
    /// # Errors
    /// Offsets that fall, that are out of the buffer's bounds, or within a character.
    pub fn new(text: impl Into<Cow<'a, str>>, offsets: impl Into<Array<'a>>) -> Result<Texts<'a>, String> {
        let (text, offsets) = (text.into(), offsets.into());
        if !matches!(offsets.ty(), Type::I32 | Type::I64) || offsets.is_empty() {
            return Err(format!(
                "{} offsets of type {}: one or more of i32 or i64 expected",
                offsets.len(),
                offsets.ty()
            ));
        }
        let mut before = 0;
        for n in 0..offsets.len() {
            let offset = offsets.index(n);
            let stands = usize::try_from(offset).is_ok_and(|at| text.is_char_boundary(at));
            if !stands || offset < before {
                return Err(format!("offset {n} is {offset}, behind {before}, in a text of {} bytes", text.len()));
            }
            before = offset;
        }
        Ok(Texts { text, offsets, places: None })
    }

    /// These texts.
    ///
    /// # Errors
    /// Memory does not suffice.
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Texts<'static>, Error> {
        let mut all = Writing::default();
        texts.into_iter().try_for_each(|text| all.push(text))?;
        Ok(all.texts())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.as_ref().map_or(self.held(), |places| places.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Text `n`.
    ///
    /// # Panics
    /// If there is none.
    pub fn get(&self, n: usize) -> &str {
        self.held_text(self.place(n))
    }

    /// How many texts are held: as many as there are, or those that repeat once.
    pub fn held(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Which held text text `n` is.
    pub(super) fn place(&self, n: usize) -> usize {
        self.places.as_ref().map_or(n, |places| places[n] as usize)
    }

    /// Held text `n`.
    pub(super) fn held_text(&self, n: usize) -> &str {
        &self.text[self.offsets.index(n) as usize..self.offsets.index(n + 1) as usize]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|n| self.get(n))
    }

    /// The buffer, and the offsets of the texts in it, of type `I32` or `I64`: one more than there are texts. `None` where texts that repeat
    /// are held once.
    pub fn buffers(&self) -> Option<(&str, &Array<'a>)> {
        self.places.is_none().then_some((&*self.text, &self.offsets))
    }

    /// The same texts, borrowed.
    pub fn borrow(&self) -> Texts<'_> {
        let places = self.places.as_ref().map(|places| Elements::Borrowed(places));
        Texts { text: Cow::Borrowed(&self.text), offsets: self.offsets.borrow(), places }
    }
}

/// The same texts in the same order, whatever stands between them in the buffers.
impl PartialEq for Texts<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

/// Texts that more are put behind.
#[derive(Debug, Default)]
pub(super) struct Writing {
    text: String,
    /// Where each held text ends.
    ends: Vec<i64>,
    /// Of each text the held one that it is, from the first one on that is not its own.
    places: Option<Vec<u32>>,
}

impl Writing {
    /// Puts a text behind the others.
    pub(super) fn push(&mut self, text: &str) -> Result<(), Error> {
        let place = self.hold(text)?;
        match &mut self.places {
            Some(places) => room::push(places, place),
            None => Ok(()),
        }
    }

    /// Holds a text that no row is yet: its place, for [`Writing::repeat`].
    pub(super) fn hold(&mut self, text: &str) -> Result<u32, Error> {
        let bytes = (self.text.len() + text.len()) as u128;
        let place = u32::try_from(self.ends.len()).map_err(|_| Error::Memory { bytes })?;
        self.text.try_reserve(text.len()).map_err(|_| Error::Memory { bytes })?;
        self.text.push_str(text);
        room::push(&mut self.ends, self.text.len() as i64)?;
        Ok(place)
    }

    /// From now on texts are told apart from those that are held.
    #[cfg(feature = "parquet")]
    pub(super) fn code(&mut self) -> Result<(), Error> {
        if self.places.is_none() {
            self.places = Some(room::collected(0..self.ends.len() as u32)?);
        }
        Ok(())
    }

    /// Puts held texts behind the others, after [`Writing::code`].
    ///
    /// # Panics
    /// If a place is none of a held text.
    #[cfg(feature = "parquet")]
    pub(super) fn repeat(&mut self, held: impl ExactSizeIterator<Item = u32>) -> Result<(), Error> {
        let (most, mut greatest) = (self.ends.len() as u32, 0);
        let places = self.places.as_mut().expect("texts are coded");
        let none = held.len() == 0;
        room::more(places, held.len())?;
        places.extend(held.inspect(|place| greatest = greatest.max(*place)));
        assert!(none || greatest < most, "place {greatest} of {most} held texts");
        Ok(())
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.as_ref().map_or(self.ends.len(), Vec::len)
    }

    pub(super) fn texts(self) -> Texts<'static> {
        let Writing { text, mut ends, places } = self;
        ends.insert(0, 0);
        Texts { text: Cow::Owned(text), offsets: Array::from(ends), places: places.map(Elements::from) }
    }
}
