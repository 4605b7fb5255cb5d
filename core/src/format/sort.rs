//! Sorts entries into storage order, and combines those at equal coordinates.
//!
//! ```text
//!  order (1, 0):   i 0 0 2     columns, outermost level first:   j 0 1 3
//!                  j 1 3 0                                       i 2 0 0
//!                  v 5 7 1                             values      1 5 7      origin 2 0 1
//! ```
//!
//! Invariant: the rows of `columns` never fall, lexicographically; equal rows are in their original order. Entries, each with one number that holds
//! its coordinates, are dealt out to stretches of the outermost coordinate, and each stretch is sorted by itself, on as many threads as there are:
//!
//! ```text
//!  entries in pieces     (0 1 2 3) (4 5 6 7)
//!  below 5, from 5 on    (0 3)(1 2) (5)(4 6 7)      ─▶  (0 3 5)  (1 2 4 6 7)      ─▶  each sorted
//! ```

use super::assemble::Error;
use super::{Array, Entries, Format, Malformed, room};
use crate::algebra::Value;
use crate::parallel;

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
        let levels: Vec<u64> = format.order.iter().map(|&m| extents[m]).collect();
        let (columns, order) = sorted(&columns, &levels, n)?;
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
        all_picked(&self.columns.iter().map(Vec::as_slice).collect::<Vec<_>>(), kept)
    }
}

/// Columns, restricted to these entries.
fn all_picked(columns: &[&[i64]], kept: &[usize]) -> Result<Vec<Vec<i64>>, Error> {
    parallel::map(columns.iter().copied(), &|column| picked(column, kept)).into_iter().collect()
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

/// How many entries a stretch of coordinates has, if they are spread evenly.
const STRETCH: usize = 4096;

/// The most stretches: each piece of the entries has a list for each.
const STRETCHES: usize = 256;

/// The number of pieces into which entries are divided.
const PIECES: usize = 16;

/// Columns in the order of their rows, and the number that each of the `n` rows had; equal rows keep their order.
fn sorted(columns: &[&[i64]], extents: &[u64], n: usize) -> Result<(Vec<Vec<i64>>, Vec<usize>), Error> {
    let bits: Vec<u32> = extents.iter().map(|extent| u64::BITS - extent.leading_zeros()).collect();
    if bits.iter().sum::<u32>() <= u128::BITS {
        let key =
            |e: usize| columns.iter().zip(&bits).fold(0, |key: u128, (column, bits)| key << bits | column[e] as u128);
        return match bits.iter().sum::<u32>() {
            0..=64 => by_keys(&|e| key(e) as u64, &|key: u64| key.into(), (&bits, extents), n),
            _ => by_keys(&key, &|key| key, (&bits, extents), n),
        };
    }
    let mut order: Vec<usize> = room::collected(0..n)?;
    let row = |e: usize| columns.iter().map(move |column| column[e]);
    order.sort_unstable_by(|&a, &b| row(a).cmp(row(b)).then(a.cmp(&b)));
    Ok((all_picked(columns, &order)?, order))
}

/// Keys of rows, each with the row's number.
type Keyed<K> = Vec<(K, usize)>;

/// As [`sorted`], by keys that hold all coordinates of a row, the outermost in front, each with so many bits. A key can be widened.
fn by_keys<K: Copy + Ord + Send + Sync>(
    key: &(dyn Fn(usize) -> K + Sync),
    wide: &(dyn Fn(K) -> u128 + Sync),
    (bits, extents): (&[u32], &[u64]),
    n: usize,
) -> Result<(Vec<Vec<i64>>, Vec<usize>), Error> {
    let stretches = (n / STRETCH).clamp(1, STRETCHES);
    let width = extents.first().map_or(1, |extent| extent.div_ceil(stretches as u64).max(1));
    let below: u32 = bits.iter().skip(1).sum();
    let piece = n.div_ceil(PIECES).max(1);
    let dealt = |first: usize| -> Result<Vec<Keyed<K>>, Error> {
        let mut all = room::collected((0..stretches).map(|_| vec![]))?;
        for e in first..(first + piece).min(n) {
            let key = key(e);
            let outermost = if below < u128::BITS { (wide(key) >> below) as u64 } else { 0 };
            room::push(&mut all[(outermost / width) as usize], (key, e))?;
        }
        Ok(all)
    };
    let pieces = parallel::map((0..n).step_by(piece), &dealt).into_iter().collect::<Result<Vec<_>, _>>()?;
    let in_order = |stretch: usize| -> Result<Keyed<K>, Error> {
        let lists = pieces.iter().map(|lists| &lists[stretch][..]);
        let mut all = room::room(lists.clone().map(<[_]>::len).sum())?;
        lists.for_each(|list| all.extend_from_slice(list));
        all.sort_unstable();
        Ok(all)
    };
    let rows = parallel::map(0..stretches, &in_order).into_iter().collect::<Result<Vec<_>, _>>()?;
    let order = room::collected(rows.iter().flatten().map(|(_, e)| *e))?;
    let column = |level: usize| -> Result<Vec<i64>, Error> {
        let (below, mask) = (bits[level + 1..].iter().sum::<u32>(), (1u128 << bits[level]) - 1);
        let at = |key: K| if below < u128::BITS { (wide(key) >> below & mask) as i64 } else { 0 };
        let mut column = room::room(n)?;
        column.extend(rows.iter().flatten().map(|(key, _)| at(*key)));
        Ok(column)
    };
    let columns = parallel::map(0..bits.len(), &column).into_iter().collect::<Result<_, _>>()?;
    Ok((columns, order))
}
