//! The formats of results that are not declared.
//!
//! ```text
//!  y[i] = sum(j: A[i,j])            A csr    {dense}: rows are stored densely
//!  R[i,j] = A[i,j] * 2              A dcsr   {compressed, compressed}: a list leads the rows
//!  s[j] = sum(i: A[i,j])            A csr    {dense}, or {compressed} where there are over 16 columns an entry
//! ```
//!
//! A statement without a sparse operand makes a dense tensor. Of any other the first level is dense, unless a list that is some
//! operand's outermost level leads its mode, or the tensor is *thin*: that mode's extent is over [`THIN`] times the entries
//! that the statement reads. The other levels are compressed.

use super::{Extents, Kind, Program, Role, Statement, TensorId, VarId};
use crate::format::{Format, LevelKind};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// Coordinates of a first mode for each entry that is read, beyond which its level is compressed.
pub const THIN: u64 = 16;

impl Program {
    /// The format of what each statement defines: the declared one, else as said above; `thin` has the tensors that are thin.
    pub fn formats(&self, thin: &BTreeSet<TensorId>) -> Vec<Format> {
        let mut current: Vec<Option<Format>> = self.tensors.iter().map(|t| t.format.clone()).collect();
        let made = |s: &Statement| {
            let declared = self.tensors[s.tensor.index()].format.clone();
            let format = declared.unwrap_or_else(|| self.undeclared(s, &current, thin.contains(&s.tensor)));
            current[s.tensor.index()] = Some(format.clone());
            format
        };
        self.statements.iter().map(made).collect()
    }

    /// The format of each tensor at the end: where it is not declared, as its last statement defines it.
    pub fn stored(&self, thin: &BTreeSet<TensorId>) -> Vec<Format> {
        let made = self.formats(thin);
        let last = |id: TensorId| self.statements.iter().rposition(|s| s.tensor == id);
        let format = |id: TensorId| last(id).map(|n| made[n].clone());
        let dense = |id: TensorId| Format::dense(self.tensors[id.index()].sizes.len());
        self.ids()
            .map(|id| self.tensors[id.index()].format.clone().or(format(id)).unwrap_or_else(|| dense(id)))
            .collect()
    }

    /// The results that are not declared, and whose formats data may decide.
    pub fn may_be_thin(&self) -> BTreeSet<TensorId> {
        let undeclared: BTreeSet<TensorId> =
            self.ids().filter(|id| self.tensors[id.index()].format.is_none()).collect();
        let pairs = self.formats(&BTreeSet::new()).into_iter().zip(self.formats(&undeclared));
        let differs = self.statements.iter().zip(pairs).filter(|(_, (one, other))| one != other);
        differs.map(|(s, _)| s.tensor).filter(|id| undeclared.contains(id)).collect()
    }

    /// The results that are thin under these extents, where an operand has so many entries.
    pub fn thin(&self, extents: &Extents, entries: &dyn Fn(TensorId) -> u64) -> BTreeSet<TensorId> {
        let mut known: Vec<u64> = self.ids().map(entries).collect();
        let mut thin = BTreeSet::new();
        for s in &self.statements {
            let mut read = BTreeSet::new();
            s.accesses(&mut |t, _, written| {
                if !written || s.fold.is_some() {
                    read.insert(t);
                }
            });
            let entries = read.iter().fold(0, |sum: u64, t| sum.saturating_add(known[t.index()]));
            let tensor = &self.tensors[s.tensor.index()];
            let first = tensor.sizes.first().map_or(0, |size| extents.sizes[size.index()]);
            if tensor.format.is_none() && first > entries.saturating_mul(THIN) {
                thin.insert(s.tensor);
            }
            known[s.tensor.index()] = entries;
        }
        thin
    }

    /// The format of an undeclared result of a statement. What is accumulated into is an operand; so is what an index is looked
    /// up in.
    fn undeclared(&self, s: &Statement, current: &[Option<Format>], is_thin: bool) -> Format {
        let rank = self.tensors[s.tensor.index()].sizes.len();
        let leading = s.indices.first().and_then(|index| index.bare()).map(|v| sources(s, v));
        let (mut is_sparse, mut is_led) = (false, false);
        s.accesses(&mut |t, indices, written| {
            let is_operand = !written || s.fold.is_some() || s.is_part();
            let computed = matches!(self.tensors[t.index()].role, Role::Computed(_));
            let Some(format) = current[t.index()].as_ref().filter(|f| is_operand && !computed && !f.is_dense()) else {
                return;
            };
            is_sparse = true;
            let outermost = format.levels.first().is_some_and(|kind| !kind.is_computed());
            let follows = |v: &FxHashSet<VarId>| indices[format.order[0]].map.mentions(v);
            is_led |= outermost && leading.as_ref().is_some_and(follows);
        });
        match (is_sparse, is_led || is_thin) {
            (false, _) => Format::dense(rank),
            (true, true) => Format::csf(rank),
            (true, false) => {
                let level = |l: usize| if l == 0 { LevelKind::Dense } else { LevelKind::Compressed };
                Format::of((0..rank).map(level).collect())
            }
        }
    }
}

/// A variable of a left side, and those that shape operators derive it from: of several, the one that leads.
fn sources(s: &Statement, v: VarId) -> FxHashSet<VarId> {
    let mut all = FxHashSet::from_iter([v]);
    s.rhs.walk(&mut |e| match &e.kind {
        Kind::Slice { from, to, .. } if all.contains(to) => drop(all.insert(*from)),
        Kind::Split { from, to, .. } if all.contains(&to.0) => drop(all.insert(*from)),
        Kind::Collapse { from, to, .. } if all.contains(to) => all.extend(from.first()),
        Kind::Concat { from, to, .. } if all.contains(to) => all.extend(from),
        _ => {}
    });
    all
}
