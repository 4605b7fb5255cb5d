//! The result that loops assemble, as far as a plan knows it: its levels, and the insertion points that loops have reached.

use super::Context;
use crate::choose::{
    Facts, coordinate,
    form::Form,
    result,
    scope::Scope,
    symbol::{Name, Sym},
};
use crate::plan::{Arrays, Block, Driver, Op};
use fiberloom_core::format::LevelKind;
use fiberloom_core::notation::concrete::{AccessId, Index, Nest, Place};

/// How a loop comes to a coordinate of the result.
pub(super) struct Arrival {
    pub at: Sym,
    pub driver: Driver,
    /// The positions of operands' entries there, for a result that may have their arrays.
    pub positions: Vec<(AccessId, Sym)>,
}

/// A result that is being assembled.
pub(super) struct Output {
    /// Its name in the plan.
    pub name: Name,
    pub form: Form,
    /// The owner of its arrays.
    arrays: Arrays,
    /// The accesses whose levels it may share.
    may_share: Vec<AccessId>,
    root: Name,
}

/// The position in a result that loops have reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Insertion {
    /// Its name in the plan.
    pub name: Name,
    /// The next level.
    pub level: usize,
    /// Whether there are flags above it, up to the last list.
    marked: bool,
}

impl Output {
    /// The nest's result, with nothing stored.
    pub fn begin(cx: &Context, nest: &Nest, arrays: Arrays) -> Output {
        let form = Form::of(cx, nest);
        let (name, root) = (cx.symbols.name(), cx.symbols.name());
        let own = arrays == Arrays::Own && nest.workspace().is_none();
        let mut may_share = if own { nest.rhs.accesses() } else { vec![] };
        may_share.retain(|a| result::may_share(cx, nest, *a));
        Output { name, form, arrays, may_share, root }
    }

    /// The earlier version whose arrays the result reuses.
    pub fn takes(&self) -> Option<Place> {
        if let Arrays::Taken(was) = self.arrays { Some(was) } else { None }
    }

    /// The positions of those entries below an insertion point's level that the result may have, where its coordinates are listed.
    pub fn shared(&self, insertion: &Insertion, scope: &Scope) -> Vec<(AccessId, Sym)> {
        let below = |a: &AccessId| self.form.is_list(insertion.level) && scope.fiber(*a).depth == insertion.level + 1;
        let may = self.may_share.iter().copied().filter(below);
        may.map(|a| (a, scope.fiber(a).position)).collect()
    }

    /// The insertion point above all levels.
    pub fn root(&self) -> Insertion {
        Insertion { name: self.root, level: 0, marked: false }
    }

    /// The variable of the next level.
    pub fn next_var(&self, insertion: &Insertion) -> Option<Index> {
        self.form.vars.get(insertion.level).copied()
    }

    /// Whether the coordinate of the next level depends on the loop over `v`.
    pub fn next_follows(&self, insertion: &Insertion, v: Index) -> bool {
        self.form.roots.get(insertion.level).is_some_and(|roots| roots.contains(&v))
    }

    /// Whether all values below a coordinate of the next level must be stored without interruption.
    pub fn has_whole_fibers(&self, insertion: &Insertion) -> bool {
        let anew = self.form.ends(|kind| kind.is_interval() || kind.is_in_blocks());
        insertion.level + 2 == self.form.kinds.len() && anew
    }

    /// Whether the loop over `v` is the innermost of those that determine the coordinate of the next level.
    pub fn next_ends_with(&self, insertion: &Insertion, v: Index) -> bool {
        self.form.roots.get(insertion.level).is_some_and(|roots| roots.last() == Some(&v))
    }

    /// Whether appending below an insertion point means appending to the last list and nothing else: there are no flags above it.
    pub fn appends_last(&self, insertion: &Insertion) -> bool {
        self.form.appends_last(insertion.level, insertion.marked)
    }

    /// Whether every drain of a workspace appends to the last level, a list with no flags above it.
    pub fn appends_always(&self) -> bool {
        self.form.ends(LevelKind::is_list) && !self.form.kinds.iter().any(|kind| kind.is_flagged())
    }

    /// Whether values below an insertion point are stored only where they differ from the fill value: all levels there are lists.
    pub fn stores_others_alone(&self, insertion: &Insertion) -> bool {
        self.form.kinds[insertion.level..].iter().all(|kind| kind.is_list())
    }

    /// Whether the level below an insertion point is the last, and of runs.
    pub fn has_runs(&self, insertion: &Insertion) -> bool {
        insertion.level + 1 == self.form.kinds.len() && self.form.is_of_runs()
    }

    /// The loops over a fiber of the result begin; they append at most `bound` entries.
    pub fn open(&self, b: &mut Block, insertion: &Insertion, bound: Sym) {
        b.push(Op::OpenFiber { output: self.name, insertion: insertion.name, bound });
    }

    /// Room for `bound` more values of the current fiber.
    pub fn make_room(&self, b: &mut Block, insertion: &Insertion, bound: Sym) {
        b.push(Op::MakeRoom { output: self.name, insertion: insertion.name, bound });
    }

    /// The loops over a fiber of the result end.
    pub fn close(&self, b: &mut Block, insertion: &Insertion) {
        b.push(Op::CloseFiber { output: self.name, insertion: insertion.name });
    }

    /// A coordinate of the insertion point's level: `inner` stores the values below it. The result may have the positions of the entries of some
    /// operands that loops have come to.
    pub fn visit(
        &self,
        cx: &Facts,
        b: &mut Block,
        insertion: &Insertion,
        Arrival { at, driver, positions }: Arrival,
        inner: impl FnOnce(&mut Block, Insertion),
    ) {
        let below = self.below(cx, insertion);
        let body = Block::of(|b| inner(b, below));
        let (output, insertion, below) = (self.name, insertion.name, below.name);
        b.push(Op::Visit { output, insertion, at, driver, below, positions, body });
    }

    /// The insertion point below a coordinate of an insertion point's level.
    fn below(&self, cx: &Facts, Insertion { level, marked, .. }: &Insertion) -> Insertion {
        Insertion { name: cx.symbols.name(), level: level + 1, marked: self.form.marks(*level, *marked) }
    }

    /// Opens located levels whose variables are bound already.
    pub fn locate(&self, cx: &Facts, b: &mut Block, mut insertion: Insertion, scope: &Scope) -> Insertion {
        while insertion.level < self.form.kinds.len()
            && !self.form.is_list(insertion.level)
            && let Some(at) = coordinate::of(cx, scope, self.form.vars[insertion.level])
        {
            let below = self.below(cx, &insertion);
            b.push(Op::Locate { output: self.name, insertion: insertion.name, at, below: below.name });
            insertion = below;
        }
        insertion
    }

    /// Stores a value below all levels, or folds it into the stored one.
    pub fn store(
        &self,
        b: &mut Block,
        insertion: &Insertion,
        fold: Option<fiberloom_core::notation::typed::Fun>,
        value: Sym,
    ) {
        b.push(Op::Store { output: self.name, insertion: insertion.name, fold, value });
    }

    /// Appends a value to a last list if a condition holds, without a branch.
    pub fn store_if(&self, b: &mut Block, insertion: &Insertion, value: Sym, kept: Sym) {
        b.push(Op::StoreIf { output: self.name, insertion: insertion.name, value, kept });
    }
}
