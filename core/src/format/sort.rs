//! Sorts entries into storage order, and combines those at equal coordinates.
//!
//! ```text
//!  order (1, 0):   i 0 0 2     columns, outermost level first:   j 0 1 3
//!                  j 1 3 0                                       i 2 0 0
//!                  v 5 7 1                             values      1 5 7      origin 2 0 1
//! ```
//!
//! Invariant: the rows of `columns` never fall, lexicographically; equal rows are in their original order. Sorting goes from the
//! innermost level out, with stable passes; a column that is already in order costs one scan.

use super::assemble::Error;
use super::{Array, Entries, Format, Malformed, room};
use crate::algebra::Value;

/// Sorted entries.
pub(super) struct Sorted {
    /// The coordinates, a column per level, outermost first.
    pub(super) columns: Vec<Vec<i64>>,
    /// The values, as many as each column has coordinates.
    pub(super) values: Array<'static>,
    /// The original number of each entry; `None` if none has moved.
    origin: Option<Vec<usize>>,
}

impl Sorted {
    /// The entries in the storage order of `format`. Their coordinates are in bounds.
    pub(super) fn of(entries: &Entries, extents: &[u64], format: &Format) -> Result<Sorted, Error> {
        let n = entries.len();
        let memory = || Error::Memory { bytes: n as u128 * entries.values.ty().bytes() as u128 };
        let columns: Vec<&[i64]> = format.order.iter().map(|&m| &entries.coordinates[m][..]).collect();
        if ascends(&columns, n) {
            let columns = columns.iter().map(|c| room::copied(c)).collect::<Result<_, _>>()?;
            let values = entries.values.share().ok_or_else(memory)?;
            return Ok(Sorted { columns, values, origin: None });
        }
        let mut order: Vec<usize> = room::collected(0..n)?;
        for (column, &m) in columns.iter().zip(&*format.order).rev() {
            sort_by_column(&mut order, column, extents[m])?;
        }
        let columns = columns.iter().map(|c| picked(c, &order)).collect::<Result<_, _>>()?;
        let values = entries.values.gather(&order).ok_or_else(memory)?;
        Ok(Sorted { columns, values, origin: Some(order) })
    }

    /// Whether entry `e` has the coordinates of the one before it.
    fn repeats(&self, e: usize) -> bool {
        e > 0 && self.columns.iter().all(|c| c[e] == c[e - 1])
    }

    /// The least original number of an entry with the coordinates of an earlier one.
    pub(super) fn first_duplicate(&self) -> Option<usize> {
        let repeated = (1..self.values.len()).filter(|&e| self.repeats(e));
        repeated.map(|e| self.origin.as_ref().map_or(e, |o| o[e])).min()
    }

    /// Combines entries at equal coordinates: folds their values with `f` in their original order. Refused if `f` returns another type.
    pub(super) fn combined(self, f: &dyn Fn(Value, Value) -> Value) -> Result<Sorted, Error> {
        let mut kept: Vec<usize> = Vec::new();
        let mut values: Vec<Value> = Vec::new();
        for e in 0..self.values.len() {
            let value = self.values.get(e);
            match values.last_mut() {
                Some(sum) if self.repeats(e) => {
                    *sum = f(*sum, value);
                    if sum.ty() != value.ty() {
                        let what = format!("combined it is of type {}, {} expected", sum.ty(), value.ty());
                        let position = self.origin.as_ref().map_or(e, |origin| origin[e]);
                        return Err(Malformed { level: None, position, what }.into());
                    }
                }
                _ => {
                    room::push(&mut kept, e)?;
                    room::push(&mut values, value)?;
                }
            }
        }
        let values = Array::collected(self.values.ty(), values)?;
        Ok(Sorted { columns: self.picked(&kept)?, values, origin: None })
    }

    /// The entries whose value is not bit-identical to `fill`.
    pub(super) fn without(self, fill: Value) -> Result<Sorted, Error> {
        let kept = room::collected((0..self.values.len()).filter(|&e| self.values.get(e) != fill))?;
        self.only(&kept)
    }

    /// These entries.
    pub(super) fn only(self, kept: &[usize]) -> Result<Sorted, Error> {
        let bytes = kept.len() as u128 * self.values.ty().bytes() as u128;
        let values = self.values.gather(kept).ok_or(Error::Memory { bytes })?;
        Ok(Sorted { columns: self.picked(kept)?, values, origin: None })
    }

    /// The columns, restricted to these entries.
    fn picked(&self, kept: &[usize]) -> Result<Vec<Vec<i64>>, Error> {
        self.columns.iter().map(|column| picked(column, kept)).collect()
    }
}

/// A column, restricted to these entries.
fn picked(column: &[i64], kept: &[usize]) -> Result<Vec<i64>, Error> {
    room::collected(kept.iter().map(|&e| column[e]))
}

/// Whether the rows of `columns` never fall, lexicographically.
fn ascends(columns: &[&[i64]], n: usize) -> bool {
    (1..n).all(|e| {
        let change = columns.iter().find(|c| c[e - 1] != c[e]);
        change.is_none_or(|c| c[e - 1] < c[e])
    })
}

/// Sorts entry numbers by a column of coordinates in `0..extent`, stably: by counting where the extent is not much
/// larger than the number of entries, else by comparing.
fn sort_by_column(order: &mut Vec<usize>, column: &[i64], extent: u64) -> Result<(), Error> {
    if order.windows(2).all(|w| column[w[0]] <= column[w[1]]) {
        return Ok(());
    }
    if extent > 4 * order.len() as u64 + 1024 {
        return sort_by_comparing(order, column);
    }
    let mut next = room::repeated(0usize, extent as usize + 1)?;
    for &c in column {
        next[c as usize + 1] += 1;
    }
    for c in 1..next.len() {
        next[c] += next[c - 1];
    }
    let mut sorted = room::repeated(0, order.len())?;
    for &e in order.iter() {
        let place = &mut next[column[e] as usize];
        sorted[*place] = e;
        *place += 1;
    }
    *order = sorted;
    Ok(())
}

/// As [`sort_by_column`], by comparisons in place. Entries of equal coordinates keep their order, because each is compared with its
/// place.
fn sort_by_comparing(order: &mut [usize], column: &[i64]) -> Result<(), Error> {
    let mut keys: Vec<(i64, usize, usize)> =
        room::collected(order.iter().enumerate().map(|(n, &e)| (column[e], n, e)))?;
    keys.sort_unstable();
    order.iter_mut().zip(keys).for_each(|(place, (_, _, e))| *place = e);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::Type;

    /// Entries whose values are their numbers.
    fn numbered(coordinates: Vec<Vec<i64>>) -> Entries<'static> {
        let n = coordinates[0].len();
        let values = Array::from_values(Type::I64, (0..n).map(|e| Value::i64(e as i64)));
        Entries { coordinates, values }
    }

    fn numbers(sorted: &Sorted) -> Vec<i64> {
        sorted.values.iter().map(|v| v.as_i64().unwrap()).collect()
    }

    #[test]
    fn by_levels_and_stably() {
        let entries = numbered(vec![vec![2, 0, 2, 0], vec![1, 3, 1, 0]]);
        // A small extent is sorted by counting, a large one by merging.
        for extents in [[4, 4], [1 << 40, 1 << 40]] {
            let rows = Sorted::of(&entries, &extents, &Format::csf(2)).unwrap();
            assert_eq!(numbers(&rows), [3, 1, 0, 2]);
            assert_eq!(rows.columns, [[0, 0, 2, 2], [0, 3, 1, 1]]);
            assert_eq!(rows.first_duplicate(), Some(2));
            let columns = Sorted::of(&entries, &extents, &Format::named("dcsc", 2).unwrap()).unwrap();
            assert_eq!(numbers(&columns), [3, 0, 2, 1]);
        }
    }

    #[test]
    fn duplicates_fold_in_their_order() {
        let entries = numbered(vec![vec![1, 0, 1, 1]]);
        let sorted = Sorted::of(&entries, &[2], &Format::csf(1)).unwrap();
        let digits = |a: Value, b: Value| Value::i64(10 * a.as_i64().unwrap() + b.as_i64().unwrap());
        let combined = sorted.combined(&digits).unwrap();
        assert_eq!(numbers(&combined), [1, 23]);
        assert_eq!(combined.columns, [[0, 1]]);
        assert_eq!(combined.first_duplicate(), None);
    }
}
