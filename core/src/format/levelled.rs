//! Builds levels from sorted entries, from the root.
//!
//! ```text
//!  at each level, `at` holds every entry's parent position (at the root: 0)
//!   dense, bitmap, bytemap: position = parent · extent + coordinate          positions = parents · extent
//!       compressed, hashed: a new position where (parent, coordinate) changes; pos counts them
//!                a chain's: a new position where (parent, the chain's coordinates) changes; its first level counts them
//!         other singletons: position = parent; one coordinate each, or it is refused
//!   intervals, triangles, runs: `structure`; the file of each level in `levels` says which of these functions builds it
//! ```
//!
//! Invariant: the entries' positions never fall. The size of an array is taken off the limit before it is allocated.

mod settled;
mod structure;

use super::assemble::{Assembly, Error, index_type};
use super::sort::Sorted;
use super::{Array, Format, Level, Tensor, room};
use crate::algebra::{Type, Value};

impl Sorted {
    /// The tensor of these entries, which have distinct coordinates.
    pub(super) fn levelled(
        self,
        extents: &[u64],
        format: &Format,
        fill: Value,
        how: &Assembly,
    ) -> Result<Tensor<'static>, Error> {
        let Sorted { columns, values, .. } = self;
        let at = room::repeated(0, values.len())?;
        let mut store = Store::new((format, extents), columns, (values.borrow(), at), how);
        let mut levels = Vec::new();
        for (l, &mode) in format.order.iter().enumerate() {
            levels.push(store.level(l, extents[mode]).map_err(|error| store.located(error))?);
        }
        let Store { at, positions, mut left, .. } = store;
        let values = placed(values, &at, (positions, fill), &mut left)?;
        Ok(Tensor { extents: extents.to_vec(), format: format.clone(), levels, values, fill })
    }
}

/// The values at these of so many positions, and `fill` at the others.
fn placed(
    values: Array<'static>,
    at: &[usize],
    (positions, fill): (u64, Value),
    left: &mut u64,
) -> Result<Array<'static>, Error> {
    let bytes = positions as u128 * fill.ty().bytes() as u128;
    spend(left, bytes)?;
    if positions == at.len() as u64 && counts(at) {
        return Ok(values);
    }
    let mut all = Array::filled(fill, positions as usize).ok_or(Error::Memory { bytes })?;
    all.scatter(at, &values);
    Ok(all)
}

/// Whether these places are 0, 1, 2, …
fn counts(places: &[usize]) -> bool {
    places.iter().enumerate().all(|(n, p)| n == *p)
}

/// The coordinates of an entry in the order of declaration, from a column per level.
pub(super) fn declared(format: &Format, columns: &[Vec<i64>], e: usize) -> Vec<i64> {
    let mut at = vec![0; columns.len()];
    format.order.iter().zip(columns).for_each(|(m, column)| at[*m] = column[e]);
    at
}

/// The state between two levels.
pub(super) struct Store<'s> {
    pub(super) format: &'s Format,
    /// The extents, in the order of the modes.
    extents: &'s [u64],
    /// The coordinates, a column per level.
    pub(super) columns: Vec<Vec<i64>>,
    /// The values, as many as each column has coordinates.
    values: Array<'s>,
    pub(super) pos_ty: Type,
    pub(super) crd_ty: Type,
    /// The position of each entry in the current level.
    pub(super) at: Vec<usize>,
    /// The number of positions of the current level.
    pub(super) positions: u64,
    /// Within a chain, the first entry of each position.
    heads: Vec<usize>,
    /// The bytes left to spend.
    left: u64,
}

impl<'s> Store<'s> {
    /// The state above all levels: all entries at the root's only position.
    fn new(
        (format, extents): (&'s Format, &'s [u64]),
        columns: Vec<Vec<i64>>,
        (values, at): (Array<'s>, Vec<usize>),
        how: &Assembly,
    ) -> Store<'s> {
        Store {
            format,
            extents,
            columns,
            pos_ty: how.pos.unwrap_or(index_type(values.len() as u64)),
            crd_ty: how.crd.unwrap_or(index_type(extents.iter().copied().max().unwrap_or(0))),
            values,
            at,
            positions: 1,
            heads: Vec::new(),
            left: how.limit,
        }
    }

    /// Builds the arrays of level `l`, whose mode has this extent.
    fn level(&mut self, l: usize, extent: u64) -> Result<Level<'static>, Error> {
        self.format.levels[l].of().assemble(self, l, extent)
    }

    /// Gives every coordinate of the extent a position.
    pub(super) fn spread(&mut self, l: usize, extent: u64) -> Result<(), Error> {
        let all = self.positions as u128 * extent as u128;
        self.positions = u64::try_from(all)
            .ok()
            .filter(|&p| p < 1 << 60)
            .ok_or_else(|| Error::Memory { bytes: all.saturating_mul(self.values.ty().bytes() as u128) })?;
        self.at.iter_mut().zip(&self.columns[l]).for_each(|(p, &c)| *p = *p * extent as usize + c as usize);
        Ok(())
    }

    /// Gives every tuple of coordinates of these levels below a parent a position. Returns `pos`, and `crd` of the first level.
    pub(super) fn list(&mut self, levels: std::ops::Range<usize>) -> Result<(Vec<i64>, Vec<i64>), Error> {
        let parents = self.positions as usize;
        let bytes = (parents as u128 + 1) * self.pos_ty.bytes() as u128;
        spend(&mut self.left, bytes)?;
        let mut pos: Vec<i64> = room::room(parents + 1)?;
        let columns = &self.columns[levels.clone()];
        let (mut heads, mut parent) = (Vec::new(), 0);
        for e in 0..self.at.len() {
            let repeats = e > 0 && self.at[e] == parent && columns.iter().all(|c| c[e] == c[e - 1]);
            parent = self.at[e];
            if !repeats {
                pos.resize(parent + 1, heads.len() as i64);
                room::push(&mut heads, e)?;
            }
            self.at[e] = heads.len() - 1;
        }
        pos.resize(parents + 1, heads.len() as i64);
        self.positions = heads.len() as u64;
        self.heads = heads;
        Ok((pos, self.coordinates(levels.start)?))
    }

    /// The coordinates in level `l` of the positions of a list or chain.
    pub(super) fn coordinates(&mut self, l: usize) -> Result<Vec<i64>, Error> {
        spend(&mut self.left, self.heads.len() as u128 * self.crd_ty.bytes() as u128)?;
        room::collected(self.heads.iter().map(|&e| self.columns[l][e]))
    }

    /// Positions as an array of the position type.
    pub(super) fn positions_of(&self, pos: &[i64]) -> Result<Array<'static>, Error> {
        Array::from_indices(self.pos_ty, pos)
    }

    /// Coordinates as an array of the coordinate type.
    pub(super) fn coordinates_of(&self, crd: &[i64]) -> Result<Array<'static>, Error> {
        Array::from_indices(self.crd_ty, crd)
    }

    /// The arrays of blocks, `pos`, `crd` and `ofs`, in their types. Spends the bytes of `ofs`.
    pub(super) fn blocks(&mut self, [pos, crd, ofs]: [Vec<i64>; 3]) -> Result<[Array<'static>; 3], Error> {
        spend(&mut self.left, (ofs.len() * self.pos_ty.bytes()) as u128)?;
        Ok([self.positions_of(&pos)?, self.coordinates_of(&crd)?, self.positions_of(&ofs)?])
    }

    /// The error with the coordinates of an entry, if it says that a singleton's parent has several coordinates: those of the last of
    /// them.
    fn located(&self, error: Error) -> Error {
        match error {
            Error::Malformed(m) if m.level.is_some_and(|l| self.format.is_single(l)) => {
                match self.at.iter().rposition(|p| *p == m.position) {
                    Some(e) => Error::Unheld { at: declared(self.format, &self.columns, e), what: m.what },
                    None => Error::Malformed(m),
                }
            }
            error => error,
        }
    }

    /// A vector of `n` zeros; spends `bytes` for each.
    pub(super) fn zeros<T: Copy + Default>(&mut self, n: u64, bytes: usize) -> Result<Vec<T>, Error> {
        let bytes = n as u128 * bytes as u128;
        spend(&mut self.left, bytes)?;
        room::repeated(T::default(), n as usize)
    }
}

/// Takes `bytes` off the bytes left to spend.
fn spend(left: &mut u64, bytes: u128) -> Result<(), Error> {
    match u64::try_from(bytes).ok().and_then(|b| left.checked_sub(b)) {
        Some(rest) => *left = rest,
        None => return Err(Error::Memory { bytes }),
    }
    Ok(())
}
