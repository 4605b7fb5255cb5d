//! The boxes that a table's batches are, one behind the other.
//!
//! ```text
//!  table s[row: N]      batches    0 1 2 3 │ 4 5 6 7 │ 8          a batch is a box: its rows, by their numbers
//!  table s[k: D, …]     keys       1 1 3 3 │ 3 3 4 7 │ 7 9        in the order of the first key
//!                       boxes      0..3    │ 3..7    │ 7..        rows of the last key wait for those that may follow
//! ```
//!
//! Boxes of keys are ranges of coordinates, of which each has all of its rows: so no key is in two boxes, and one that has no row is in one, too.

use super::Batches;
use crate::error::Error;
use crate::program::Program;
use crate::relation::{self, Dictionary, Frame, Given, Over, Table, Wanted};
use fiberloom_core::format::Tensor;
use fiberloom_data::{Fault, Place};
use std::ops::Range;
use std::path::Path;

/// A box: which one it is, the coordinates that it has, and what is made of its rows.
pub(super) type Part<T> = (usize, Range<u64>, T);

/// What is made of the rows of a box.
type Make<'m, T> = dyn Fn(Frame, &Range<u64>) -> Result<T, Error> + 'm;

/// What runs on every box.
type Each<'e, T> = dyn FnMut(Part<T>) -> Result<(), Error> + 'e;

/// Operands, by name.
type Operands = Vec<(String, Tensor<'static>)>;

/// A table that comes in batches, where the labels of all domains are known.
pub(super) struct Source<'s> {
    pub(super) program: &'s Program,
    pub(super) table: &'s Table,
    pub(super) labels: &'s [Dictionary],
    pub(super) batches: &'s dyn Batches,
    /// The extent of the table's first mode.
    pub(super) extent: u64,
    /// The extents of sizes that are no domains.
    pub(super) sizes: &'s [(&'s str, u64)],
    /// The bytes that a tensor may take.
    pub(super) limit: u64,
}

impl Source<'_> {
    /// Runs `each` on every box, with the operands that its rows are.
    ///
    /// # Errors
    /// What is wrong with the data, and where; those of `each`.
    pub(super) fn each(&self, each: &mut Each<Operands>) -> Result<(), Error> {
        let (program, relations) = (self.program, self.program.relations());
        let bind = |frame: Frame, range: &Range<u64>| {
            let part = is_keyed(self.table).then(|| range.clone());
            let frames = [(self.table.name.as_str(), frame)];
            let given = Given { frames: &frames, sizes: self.sizes, limit: self.limit };
            relation::bind_within(relations, program.typed(), &given, (self.labels, part))
        };
        self.parts(&relation::wanted(relations, self.table), &bind, each)
    }

    /// How many coordinates all rows together need in each mode but the first.
    ///
    /// # Errors
    /// What is wrong with keys, and where.
    pub(super) fn needs(&self) -> Result<Vec<u64>, Error> {
        let (program, relations) = (self.program, self.program.relations());
        let bare = Table { columns: Vec::new(), ..self.table.clone() };
        let mut all = vec![0; self.table.modes.len()];
        let needs =
            |frame: Frame, _: &Range<u64>| relation::needs(relations, program.typed(), (&bare, frame), self.labels);
        self.parts(&relation::wanted(relations, &bare), &needs, &mut |(_, _, own): Part<Vec<u64>>| {
            all.iter_mut().zip(own).for_each(|(all, own)| *all = own.max(*all));
            Ok(())
        })?;
        Ok(all)
    }

    /// Makes something of the rows of each box, and runs `each` on it.
    fn parts<T>(&self, wanted: &[Wanted], make: &Make<T>, each: &mut Each<T>) -> Result<(), Error> {
        let (mut rest, mut done) = (None::<Rows>, 0);
        let count = self.batches.count();
        for batch in 0..count {
            let rows = Rows::read(rest.take(), self.batches, (batch, wanted))?;
            let (own, end) = match is_keyed(self.table) {
                false => (rows.frame.rows, done + rows.frame.rows as u64),
                true if batch + 1 == count => {
                    self.keys(&rows)?;
                    (rows.frame.rows, self.extent)
                }
                true => {
                    let keys = self.keys(&rows)?;
                    let last = keys.last().copied().unwrap_or(done as i64);
                    (keys.partition_point(|key| *key < last), last as u64)
                }
            };
            let range = done..end;
            let made = make(relation::first(&rows.frame, own), &range);
            let made = made.map_err(|error| rows.placed(self.batches, error))?;
            rest = Some(rows.behind(own)?);
            each((batch, range, made))?;
            done = end;
        }
        Ok(())
    }

    /// The coordinates of rows in the first mode, which do not fall.
    fn keys(&self, rows: &Rows) -> Result<Vec<i64>, Error> {
        let keys = relation::keys(self.program.relations(), self.table, &rows.frame, self.labels);
        let keys = keys.map_err(|error| rows.placed(self.batches, error))?;
        let key = &self.table.modes[0].source;
        let wrong = |row: usize, what: String| {
            let fault = Fault::new(Place::Cell { row: row + 1, column: key.clone() }, what);
            Err(rows.placed(self.batches, Error::Data(fault.within(Path::new(&rows.frame.origin)))))
        };
        if let Some(row) = keys.windows(2).position(|pair| pair[1] < pair[0]) {
            let name = &self.table.name;
            return wrong(
                row + 1,
                format!(
                    "the key is less than that of the row before, and table `{name}` is read in batches in the order of `{key}`: sort its rows by \
                     it; or number them, `table {name}[row: N]`, and make keys columns; or allow more memory"
                ),
            );
        }
        match keys.last() {
            Some(key) if *key as u64 >= self.extent => {
                wrong(keys.len() - 1, format!("coordinate {key} is not in 0..{}, the extent of its mode", self.extent))
            }
            _ => Ok(keys),
        }
    }
}

/// Whether the rows of a table are found by keys.
pub(super) fn is_keyed(table: &Table) -> bool {
    table.modes.first().is_some_and(|mode| mode.over != Over::Row)
}

/// Rows that are read, and where they stand.
struct Rows {
    frame: Frame<'static>,
    pieces: Vec<Piece>,
}

/// Rows of a batch that follow one another.
struct Piece {
    batch: usize,
    first: usize,
    rows: usize,
}

impl Rows {
    /// Rows that wait, and behind them those of a batch.
    fn read(rest: Option<Rows>, batches: &dyn Batches, (batch, wanted): (usize, &[Wanted])) -> Result<Rows, Error> {
        let frame = relation::batch(batches, batch, wanted)?;
        let piece = Piece { batch, first: 0, rows: frame.rows };
        match rest.filter(|rest| rest.frame.rows > 0) {
            None => Ok(Rows { frame, pieces: vec![piece] }),
            Some(Rows { frame: before, mut pieces }) => {
                pieces.push(piece);
                Ok(Rows { frame: relation::stacked(frame.origin.clone(), vec![before, frame])?, pieces })
            }
        }
    }

    /// The rows from one on.
    fn behind(self, row: usize) -> Result<Rows, Error> {
        let frame = relation::behind(&self.frame, row)?;
        let mut gone = row;
        let left = |Piece { batch, first, rows }: Piece| {
            let own = gone.min(rows);
            gone -= own;
            Piece { batch, first: first + own, rows: rows - own }
        };
        let pieces = self.pieces.into_iter().map(left).filter(|piece| piece.rows > 0).collect();
        Ok(Rows { frame, pieces })
    }

    /// An error about one of these rows as one about a row of the data.
    fn placed(&self, batches: &dyn Batches, error: Error) -> Error {
        let Error::Data(mut error) = error else { return error };
        let other = relation::other_row(&error.message);
        if let Some((place, row)) = other
            && let Some((batch, row)) = self.locate(row)
        {
            let stands = crate::data::Error {
                place: Place::Cell { row, column: String::new() },
                message: String::new(),
                ..error.clone()
            };
            let there = batches.placed(batch, stands);
            if let Place::Cell { row, .. } = there.place {
                error.message.replace_range(place, &format!("{row} of {}", there.file));
            }
        }
        let Place::Cell { row, .. } = &mut error.place else { return Error::Data(error) };
        let Some((batch, own)) = self.locate(*row) else { return Error::Data(error) };
        *row = own;
        Error::Data(batches.placed(batch, error))
    }

    /// The batch of one of these rows, and which row of it that is, all counted from 1.
    fn locate(&self, row: usize) -> Option<(usize, usize)> {
        let mut before = 0;
        for Piece { batch, first, rows } in &self.pieces {
            if row <= before + rows {
                return Some((*batch, first + row - before));
            }
            before += rows;
        }
        None
    }
}
