//! Levels whose positions imply coordinates: intervals, triangles, runs.
//!
//! ```text
//!  coordinates of a parent's entries    2 3 5
//!    band      first 2, four positions        2 3 4 5
//!    ragged    six positions              0 1 2 3 4 5
//!    runs      up to 1, 2, 3, 4, 5, 7     ───· · · · ───     consecutive equal values form one run
//! ```
//!
//! Intervals are as short as the entries allow; no two consecutive runs have equal values.

use super::{Store, declared, spend};
use crate::format::{Array, Error, Malformed, room, triangle};

/// A level has fewer positions than this.
const POSITIONS: u64 = 1 << 60;

impl Store<'_> {
    /// The intervals from each parent's first entry, or from coordinate 0, to its last: `pos`, and the beginning of each.
    pub(in crate::format) fn intervals(
        &mut self,
        l: usize,
        from_zero: bool,
    ) -> Result<(Array<'static>, Array<'static>), Error> {
        let parents = self.positions;
        let (mut lengths, mut first): (Vec<i64>, Vec<i64>) = (
            self.zeros(parents + 1, self.pos_ty.bytes())?,
            self.zeros(if from_zero { 0 } else { parents }, self.crd_ty.bytes())?,
        );
        let column = &self.columns[l];
        // A parent's entries ascend: the first gives its beginning, the last its end.
        for (e, (&p, &c)) in self.at.iter().zip(column).enumerate() {
            if !from_zero && (e == 0 || self.at[e - 1] != p) {
                first[p] = c;
            }
            lengths[p + 1] = c + 1 - first.get(p).unwrap_or(&0);
        }
        let mut pos = lengths;
        for p in 0..parents as usize {
            let end = pos[p + 1].checked_add(pos[p]).filter(|end| (*end as u64) < POSITIONS);
            pos[p + 1] = end.ok_or(Error::Memory { bytes: 1 << 63 })?;
        }
        for (p, c) in self.at.iter_mut().zip(column) {
            *p = (pos[*p] + c - first.get(*p).unwrap_or(&0)) as usize;
        }
        self.positions = pos[parents as usize] as u64;
        Ok((Array::from_indices(self.pos_ty, &pos)?, Array::from_indices(self.crd_ty, &first)?))
    }

    /// Places the entries in the triangles of squares of `n` rows; the level above holds the rows.
    pub(in crate::format) fn triangles(&mut self, l: usize, n: u64) -> Result<(), Error> {
        let kind = self.format.levels[l];
        let side = kind.triangle().expect("a level of triangles");
        let outer = l.checked_sub(1).map(|outer| (self.format.levels[outer], self.extents[self.format.order[outer]]));
        triangle::stands(kind, n, outer)
            .map_err(|what| Error::Malformed(Malformed { level: Some(l), position: 0, what }))?;
        let squares = self.positions.checked_div(n).unwrap_or(0);
        let all = triangle::positions(n).and_then(|t| t.checked_mul(squares)).filter(|all| *all < POSITIONS);
        let all = all.ok_or(Error::Memory { bytes: 1 << 63 })?;
        let each = all.checked_div(squares).unwrap_or(0);
        for e in 0..self.at.len() {
            let (square, i) = (self.at[e] as u64 / n, self.at[e] as u64 % n);
            let within = triangle::position(side, n, i, self.columns[l][e] as u64);
            let within = within.ok_or_else(|| Error::unheld(kind, declared(self.format, &self.columns, e)))?;
            self.at[e] = (square * each + within) as usize;
        }
        self.positions = all;
        Ok(())
    }

    /// The runs, which fill the extent: `pos`, and the last coordinate of each.
    pub(in crate::format) fn runs(&mut self, l: usize, extent: u64) -> Result<(Vec<i64>, Vec<i64>), Error> {
        let (parents, last_level) = (self.positions as usize, l + 1 == self.format.rank());
        spend(&mut self.left, (parents as u128 + 1) * self.pos_ty.bytes() as u128)?;
        let most = if extent == 0 { 0 } else { parents as u128 + 2 * self.at.len() as u128 };
        spend(&mut self.left, most * self.crd_ty.bytes() as u128)?;
        let (mut pos, mut crd) = (room::room(parents + 1)?, Vec::<i64>::new());
        pos.push(0);
        let mut e = 0;
        for parent in 0..parents {
            if extent > 0 {
                room::more(&mut crd, 1)?;
            }
            // The coordinate behind the runs so far, and the value of the last of them, if only values are below.
            let (mut next, mut held) = (0, None);
            while e < self.at.len() && self.at[e] == parent {
                let c = self.columns[l][e];
                room::more(&mut crd, 3)?;
                if c > next {
                    crd.push(c - 1);
                    held = None;
                }
                let value = last_level.then(|| self.values.get(e));
                match held {
                    Some(_) if held == value => *crd.last_mut().expect("one that holds it") = c,
                    // Another entry of the same coordinate, which levels below distinguish.
                    _ if c + 1 == next => {}
                    _ => crd.push(c),
                }
                (next, held) = (c + 1, value);
                self.at[e] = crd.len() - 1;
                e += 1;
            }
            if (next as u64) < extent {
                crd.push(extent as i64 - 1);
            }
            pos.push(crd.len() as i64);
        }
        self.positions = crd.len() as u64;
        Ok((pos, crd))
    }
}
