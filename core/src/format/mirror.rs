//! Entries of symmetric levels: a value at (i, j) is also the value at (j, i), and one of the two is kept.

use super::assemble::Assembly;
use super::levelled::declared;
use super::sort::Sorted;
use super::{Error, Format, room};
use crate::algebra::Value;
use std::cmp::Ordering;

impl Sorted {
    /// The entries on and below the diagonals of the format's symmetric levels, at distinct coordinates. Refused if an entry differs from
    /// its mirror image; a missing one is the fill value.
    pub(super) fn folded(self, format: &Format, fill: Value, how: &Assembly) -> Result<Sorted, Error> {
        let symmetric = |l: &usize| format.levels[*l].is_mirrored();
        (0..format.rank())
            .filter(symmetric)
            .try_fold(self, |sorted, l| sorted.folded_at(format, l, &|a, b| how.alike(a, b.unwrap_or(fill))))
    }

    fn folded_at(
        self,
        format: &Format,
        l: usize,
        alike: &dyn Fn(Value, Option<Value>) -> bool,
    ) -> Result<Sorted, Error> {
        let n = self.values.len();
        let mirrored = |e: usize, k: usize| match k {
            _ if k + 1 == l => self.columns[l][e],
            _ if k == l => self.columns[l - 1][e],
            _ => self.columns[k][e],
        };
        // The mirror image of entry `e`, among the entries in storage order.
        let find = |e: usize| {
            let order = |f: usize| {
                let ranks = (0..self.columns.len()).map(|k| self.columns[k][f].cmp(&mirrored(e, k)));
                ranks.fold(Ordering::Equal, Ordering::then)
            };
            let (mut lo, mut hi) = (0, n);
            while lo < hi {
                let middle = lo + (hi - lo) / 2;
                if order(middle) == Ordering::Less { lo = middle + 1 } else { hi = middle }
            }
            (lo < n && order(lo) == Ordering::Equal).then_some(lo)
        };
        for e in 0..n {
            if !alike(self.values.get(e), find(e).map(|f| self.values.get(f))) {
                return Err(Error::unheld(format.levels[l], declared(format, &self.columns, e)));
            }
        }
        let kept = room::collected((0..n).filter(|&e| self.columns[l][e] <= self.columns[l - 1][e]))?;
        self.only(&kept)
    }
}
