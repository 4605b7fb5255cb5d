//! Directories of lists in which many are sought: those that no loop moves, where another operand's blocks or bands lead, or that gallop
//! or are located beside another list, for each turn of a loop around (`stream::Directory`).
//!
//! ```text
//!   y[i] = sum(j: A[i,j] * x[j])              A {dense, vbl}, x {compressed}
//!     ─▶  x0_by[s] = where in x the stretch begins                    once; s is a stretch of so many coordinates
//!         for i { for block of row i { p = x0_by[start >> …]; … } }
//! ```
//!
//! How long its stretches are is decided when it is known how much is stored: a directory has at most so many places that whoever seeks
//! pays for them ([`super::Options::sought`]), and no more than help ([`STORED`]). Where few are sought it has one place, and they leap
//! as they would without. So what is sought is found in a constant number of steps, but for entries that crowd in a stretch, and never
//! in more than leaps take.
//!
//! Invariant: what is sought is a coordinate of the loop's, whose extent is the list's.

use super::output::alloc;
use super::{Context, LevelBuffers, binary, int, times};
use crate::algebra::Op;
use crate::format::LevelKind;
use crate::iteration::background;
use crate::loops::{Expr, Holds, Role};
use crate::notation::concrete::{AccessId, Index, Iterated, Nest};
use crate::notation::syntax::Protocol;
use crate::shape::Map;
use crate::stream::{Directory, Domain, Symbolic, Term};
use std::collections::BTreeMap;

/// Up to how many places there are for each entry of the list. What they save is that nobody can predict how many entries of a stretch
/// are before what is sought; one in a hundred is.
const STORED: i64 = 64;

impl Context<'_> {
    /// Directories for the lists of a nest, made.
    pub(super) fn directories(&self, d: &mut Symbolic, nest: &Nest) -> BTreeMap<AccessId, Directory<Term>> {
        let mut all = BTreeMap::new();
        for a in nest.rhs.accesses() {
            let tensor = self.program.tensor(a);
            let Some(&LevelBuffers::Compressed { pos, crd }) = self.levels(a).first() else { continue };
            let Some(sought) = self.sought_in(nest, a) else { continue };
            let extent = Term::fixed(self.extent(tensor.extents[tensor.format.order[0]]));
            let most = binary(
                Op::Min,
                binary(Op::FloorDiv, sought, int(self.sought.into())),
                times(Expr::Capacity(crd), int(STORED)),
            );
            let most = d.snapshot("most", Term::fixed(most));
            let shift = Directory::shift(d, &extent, &most);
            let places = Directory::places(d, &extent, &shift);
            let table = d.buffer(&format!("{}0_by", tensor.name), d.element(pos), Role::Workspace);
            let places = d.place(&places);
            alloc(d, table, places, None);
            let directory = Directory { table, shift };
            let list = self.unopened(d, &Default::default(), a);
            directory.make(d, &format!("p_{}", tensor.name), list, &extent);
            all.insert(a, directory);
        }
        all
    }

    /// About how many are sought in an access's first list, where there may be many: as many as there are blocks or bands, or entries
    /// beside which it gallops, without which nothing is done.
    fn sought_in(&self, nest: &Nest, a: AccessId) -> Option<Expr> {
        let (tensor, w) = (self.program.tensor(a), self.program.level_var(&self.program.accesses[a.0], 0));
        let order = [&nest.order[..], &super::range::around(&nest.rhs, a)?].concat();
        let at = order.iter().position(|v| self.program.root_map(w) == Map::var(*v)).filter(|at| *at > 0)?;
        if self.program.vars[order[at].0].extent != tensor.extents[tensor.format.order[0]] {
            return None;
        }
        let lists = match self.program.protocol(a, 0) {
            Some(Iterated::As(Protocol::Gallop | Protocol::Locate)) => true,
            Some(Iterated::As(Protocol::Walk)) | None => false,
            Some(Iterated::Spread) => return None,
        };
        let leads = |b: AccessId| {
            let (set, _) = background(&nest.rhs, &[b], &|x| self.fill(x), self.simplify);
            set.needed().is_some()
        };
        let others = nest.rhs.accesses().into_iter().filter(|b| *b != a);
        let counted = others.filter_map(|b| self.listed_along(b, order[at], lists).filter(|_| leads(b)));
        counted.reduce(|m, n| binary(Op::Max, m, n))
    }

    /// How many blocks or bands an access has along a loop, or entries, if lists count.
    fn listed_along(&self, b: AccessId, v: Index, lists: bool) -> Option<Expr> {
        let (format, access) = (&self.program.tensor(b).format, &self.program.accesses[b.0]);
        let along = |l: &usize| self.program.follows(self.program.level_var(access, *l), v);
        let l = (0..format.rank()).find(along)?;
        let crd = self.levels(b)[l].array(Holds::Coordinates)?;
        let begins = matches!(format.levels[l], LevelKind::Vbl | LevelKind::Band);
        (begins || lists && format.levels[l].is_list()).then_some(Expr::Capacity(crd))
    }
}
