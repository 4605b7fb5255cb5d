//! Converts a result from the levels in which loops assembled it to those of its own format.
//!
//! ```text
//!  {dense, compressed}      row 0 ── 1 3        {dense, band}     row 0 ── 1 2 3
//!                           row 1 ──                              row 1 ──
//!                           row 2 ── 0                            row 2 ── 0
//! ```
//!
//! Both formats hold the same modes in the same order, so one walk from the root visits the nodes of each level in the order in which the
//! other stores them: nothing is sorted, and only stored nodes are visited.
//!
//! Invariant: `nodes` are ascending positions of the current level as it was assembled. `at` holds, for each, its position in the new
//! tensor, or its parent's before the level is built.

use super::{Store, counts, placed, spend};
use crate::format::triangle::Triangle;
use crate::format::{Assembly, Error, Format, Holds, Level, LevelKind, Tensor, room};
use std::ops::Range;

impl Tensor<'_> {
    /// The tensor in a format that [is assembled](Format::assembled) as this tensor's; stored entries stay stored.
    ///
    /// # Errors
    /// A value for which the format has no place, with its coordinates; memory over the limit.
    ///
    /// # Panics
    /// If the tensor is malformed.
    pub fn settled(self, format: &Format, how: &Assembly) -> Result<Tensor<'static>, Error> {
        if self.format == *format {
            return Ok(self.into_owned());
        }
        let symmetric = format.levels.iter().position(|kind| kind.is_mirrored());
        if symmetric.is_some_and(|l| l + 1 < format.rank()) {
            // A symmetric level above others mirrors whole fibers: their entries are compared.
            return self.into_owned().convert(format, how);
        }
        let columns = vec![vec![]; format.rank()];
        let mut store = Store::new((format, &self.extents), columns, (self.values.borrow(), vec![0]), how);
        let (mut nodes, mut levels) = (vec![0], vec![]);
        for (l, mode) in format.order.iter().enumerate() {
            // The levels of a chain are built from the coordinates of all of them.
            let chain = format.chain(l).unwrap_or(l..l + 1);
            if chain.start == l {
                nodes = self.below(&mut store, nodes, chain)?;
            }
            let kind = format.levels[l];
            if kind.is_triangle() {
                nodes = self.held(&mut store, nodes, (l, kind), how)?;
            }
            levels.push(match self.levels[l].kind().shares() {
                true => self.runs_again(&mut store, &nodes, l)?,
                false => store.level(l, self.extents[*mode])?,
            });
        }
        let Store { at, positions, mut left, .. } = store;
        let values = match nodes.len() == self.values.len() && counts(&nodes) {
            true => self.values.into_owned(),
            false => self.values.gather(&nodes).ok_or(Error::Memory { bytes: 16 * nodes.len() as u128 })?,
        };
        let values = placed(values, &at, (positions, self.fill), &mut left)?;
        Ok(Tensor { extents: self.extents, format: format.clone(), levels, values, fill: self.fill })
    }

    /// The nodes of the last of these levels below these nodes, with their coordinates in each of the levels. Nodes whose flag is not set
    /// are left out.
    fn below(&self, store: &mut Store, mut nodes: Vec<usize>, levels: Range<usize>) -> Result<Vec<usize>, Error> {
        for l in levels.clone() {
            let (mut children, mut column, mut from) = (vec![], vec![], vec![]);
            let (crd, kind) = (self.levels[l].first(Holds::Coordinates), self.levels[l].kind().of());
            for (n, &p) in nodes.iter().enumerate() {
                let fiber = self.fiber(l, p);
                let first = fiber.start;
                for child in fiber.filter(|&child| kind.is_set(self.at(l), child)) {
                    let coordinate = crd.map_or((child - first) as i64, |crd| crd.index(child));
                    room::push(&mut children, child)?;
                    room::push(&mut from, n)?;
                    room::push(&mut column, coordinate)?;
                }
            }
            for above in &mut store.columns[levels.start..l] {
                *above = room::collected(from.iter().map(|&n| above[n]))?;
            }
            store.columns[l] = column;
            store.at = room::collected(from.iter().map(|&n| store.at[n]))?;
            nodes = children;
        }
        Ok(nodes)
    }

    /// The positions below a position of the level above `l`; level `l` is located or appended.
    fn fiber(&self, l: usize, p: usize) -> Range<usize> {
        match self.levels[l].first(Holds::Positions) {
            Some(pos) => pos.index(p) as usize..pos.index(p + 1) as usize,
            None => p * self.level_extent(l) as usize..(p + 1) * self.level_extent(l) as usize,
        }
    }

    /// The nodes for which a triangle has a place; for a symmetric level, those up to the diagonal. The other nodes may hold only the
    /// fill value, or the mirrored values.
    fn held(
        &self,
        store: &mut Store,
        nodes: Vec<usize>,
        (l, kind): (usize, LevelKind),
        how: &Assembly,
    ) -> Result<Vec<usize>, Error> {
        let n = self.level_extent(l).max(1) as usize;
        let inside = |e: &usize| {
            let (i, j) = ((store.at[*e] % n) as i64, store.columns[l][*e]);
            if kind.triangle() == Some(Triangle::Upper) { i <= j } else { j <= i }
        };
        let kept = room::collected((0..nodes.len()).filter(inside))?;
        let outside = room::collected((0..nodes.len()).filter(|e| !inside(e)))?;
        if outside.is_empty() && !kind.is_mirrored() {
            return Ok(nodes);
        }
        if kind.is_mirrored() {
            self.mirrored(store, &nodes, (l, n), how)?;
        } else if let Some(value) = self.told_below(l, outside.iter().map(|&e| nodes[e]), how) {
            return Err(Error::unheld(kind, self.coordinates_of(value)));
        }
        store.at = room::collected(kept.iter().map(|&e| store.at[e]))?;
        store.columns[l] = room::collected(kept.iter().map(|&e| store.columns[l][e]))?;
        room::collected(kept.into_iter().map(|e| nodes[e]))
    }

    /// The position of a value that is not the fill value, below these positions of level `l`.
    fn told_below(&self, l: usize, positions: impl Iterator<Item = usize>, how: &Assembly) -> Option<usize> {
        let mut below = positions.map(|p| p..p + 1);
        let told = |p: &usize| !how.alike(self.values.get(*p), self.fill);
        below.find_map(|top| {
            let last = (l + 1..self.format.rank()).fold(top, |fibers, l| match fibers.is_empty() {
                true => 0..0,
                false => self.fiber(l, fibers.start).start..self.fiber(l, fibers.end - 1).end,
            });
            last.into_iter().find(told)
        })
    }

    /// Checks that each value of a symmetric last level has its mirror image.
    fn mirrored(&self, store: &Store, nodes: &[usize], (l, n): (usize, usize), how: &Assembly) -> Result<(), Error> {
        let column = &store.columns[l];
        // The beginning of each row's nodes; and how far those before its diagonal have been compared.
        let mut rows = room::repeated(0, store.positions as usize + 1)?;
        store.at.iter().for_each(|row| rows[row + 1] += 1);
        (0..rows.len() - 1).for_each(|row| rows[row + 1] += rows[row]);
        let mut next = room::copied(&rows)?;
        let value = |e: usize| self.values.get(nodes[e]);
        let same = |e: usize, other| match how.alike(value(e), other) {
            true => Ok(()),
            false => Err(Error::unheld(store.format.levels[l], self.coordinates_of(nodes[e]))),
        };
        // The nodes behind the diagonal of row i mirror, by columns, those before the diagonals of later rows; both are visited in
        // ascending order.
        let before = |e: usize, row: usize, i: i64| e < rows[row + 1] && column[e] < i;
        for row in 0..rows.len() - 1 {
            let (i, first) = ((row % n) as i64, row - row % n);
            while before(next[row], row, i) {
                same(next[row], self.fill)?;
                next[row] += 1;
            }
            for e in (rows[row]..rows[row + 1]).filter(|e| column[*e] > i) {
                let there = first + column[e] as usize;
                while before(next[there], there, i) {
                    same(next[there], self.fill)?;
                    next[there] += 1;
                }
                let met = before(next[there], there, i + 1);
                same(e, if met { value(next[there]) } else { self.fill })?;
                next[there] += met as usize;
            }
        }
        Ok(())
    }

    /// The coordinates of a position of the last level, in the order of declaration.
    fn coordinates_of(&self, position: usize) -> Vec<i64> {
        self.listed_at(vec![position]).map_or(vec![], |entry| entry.coordinate(0))
    }

    /// The runs of a last level below other parents: a fiber that was not assembled is one run of the fill value.
    fn runs_again(&self, store: &mut Store, nodes: &[usize], l: usize) -> Result<Level<'static>, Error> {
        let (parents, extent) = (store.positions as usize, self.level_extent(l) as i64);
        let most = (parents as u128 + 1) * store.pos_ty.bytes() as u128;
        spend(&mut store.left, most + (parents + nodes.len()) as u128 * store.crd_ty.bytes() as u128)?;
        let (mut pos, mut crd, mut e) = (room::room(parents + 1)?, room::room(parents + nodes.len())?, 0);
        pos.push(0);
        for parent in 0..parents {
            let before = crd.len();
            while e < nodes.len() && store.at[e] == parent {
                store.at[e] = crd.len();
                crd.push(store.columns[l][e]);
                e += 1;
            }
            if crd.len() == before && extent > 0 {
                crd.push(extent - 1);
            }
            pos.push(crd.len() as i64);
        }
        store.positions = crd.len() as u64;
        store.format.levels[l].of().of_runs(store, &pos, &crd)
    }
}

impl Error {
    /// The error that a value is where a triangle has no place, or differs from its mirror image.
    pub(in crate::format) fn unheld(kind: LevelKind, at: Vec<i64>) -> Error {
        let place = at.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let (name, upper) = (kind.name(), kind.triangle() == Some(Triangle::Upper));
        let what = match kind.is_mirrored() {
            true => format!("what stands at ({place}) does not stand where a level `{name}` mirrors it"),
            false => {
                let side = if upper { "below" } else { "above" };
                format!("a value stands at ({place}), {side} the diagonal, where a level `{name}` holds the fill value")
            }
        };
        Error::Unheld { at, what }
    }
}
