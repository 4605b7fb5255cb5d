//! The result that loops assemble, as far as a plan knows it: its levels, the insertion points that loops have reached, and notes of what the loops
//! show.

use super::{Context, notes::Notes};
use crate::choose::{
    Facts, coordinate, result,
    scope::Scope,
    symbol::{Name, Sym},
};
use crate::plan::{Arrays, Assembly, Level, Room};
use crate::plan::{Block, Driver, Op};
use fiberloom_core::algebra::Value;
use fiberloom_core::format::{Holds, LevelKind};
use fiberloom_core::notation::concrete::{AccessId, Index, Nest, Place, WorkspaceKind};

/// How a loop comes to a coordinate of the result.
pub(super) struct Arrival {
    pub at: Sym,
    pub driver: Driver,
    /// The positions of operands' entries there, for a result that may have their arrays.
    pub positions: Vec<(AccessId, Sym)>,
}

/// The levels of a result.
pub(super) struct Form {
    pub vars: Vec<Index>,
    /// For each of `vars`, the loops' variables of which it is a function.
    roots: Vec<Vec<Index>>,
    kinds: Vec<LevelKind>,
    /// For each list, the first level of its chain; for each other level, itself.
    heads: Vec<usize>,
}

impl Form {
    /// The form of a nest's result.
    fn of(cx: &Facts, nest: &Nest) -> Form {
        let format = &cx.program.tensors[nest.target.tensor.0].format;
        let rank = format.rank();
        let vars: Vec<Index> = (0..rank).map(|l| cx.program.level_var(&nest.target, l)).collect();
        Form {
            roots: vars.iter().map(|v| cx.program.roots(*v)).collect(),
            vars,
            kinds: format.levels.to_vec(),
            heads: (0..rank).map(|l| format.chain(l).map_or(l, |chain| chain.start)).collect(),
        }
    }

    /// Whether the coordinate of level `l` is a function of loops' variables rather than one of them.
    fn is_mapped(&self, l: usize) -> bool {
        self.roots[l] != [self.vars[l]]
    }

    /// Whether level `l` is assembled by appending.
    pub fn is_list(&self, l: usize) -> bool {
        self.kinds.get(l).is_some_and(|kind| kind.is_appended())
    }

    /// Whether the chain of level `l` continues below it.
    pub fn chained(&self, l: usize) -> bool {
        self.heads.get(l + 1).is_some_and(|head| *head <= l)
    }

    /// Whether some level stores entries, so that not every coordinate is stored.
    pub fn keeps_entries(&self) -> bool {
        self.kinds.iter().any(|kind| !kind.is_full() && !kind.is_triangle())
    }

    /// Whether the last level is appended to, and such a level.
    fn ends(&self, such: impl Fn(LevelKind) -> bool) -> bool {
        self.kinds.last().is_some_and(|kind| kind.is_appended() && such(*kind))
    }
}

/// A result that is being assembled.
pub(super) struct Output {
    /// Its name in the plan.
    pub name: Name,
    pub form: Form,
    /// The value of every element before anything is stored: the fill value, or the identity of a fold in place.
    pub initial: Value,
    /// The owner of its arrays.
    arrays: Arrays,
    /// The accesses whose levels it may share.
    may_share: Vec<AccessId>,
    root: Name,
    /// Facts that the loops show about the result.
    pub notes: Notes,
}

/// The position in a result that loops have reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Insertion {
    /// Its name in the plan.
    pub name: Name,
    /// The next level.
    pub level: usize,
    /// Whether loops certainly visit every position of the level above.
    covered: bool,
    /// Whether a loop counts to some coordinate, so that the value may be the fill value.
    counted: bool,
    /// Whether there are flags above it, up to the last list.
    marked: bool,
    /// Whether it is below a last level that is appended to.
    pending: bool,
}

impl Output {
    /// The nest's result, with nothing stored.
    pub fn begin(cx: &Context, nest: &Nest, arrays: Arrays) -> Output {
        let tensor = &cx.program.tensors[nest.target.tensor.0];
        let in_place = nest.fold.filter(|_| nest.workspace.is_none_or(|w| w.kind == WorkspaceKind::Row));
        // A scatter folds into the old version.
        let initial = match in_place.filter(|_| nest.places.is_none()) {
            Some(fun) => cx.simplify.begins(fun, tensor.ty).expect("folds in place have an identity"),
            _ => tensor.fill,
        };
        let form = Form::of(cx, nest);
        let triangles = form.kinds.iter().any(|kind| kind.is_triangle());
        // A fold in place leaves its initial value where nothing is folded in; a workspace drains the values that were put into it.
        let gaps = if nest.workspace.is_some() { triangles } else { in_place.is_some() };
        let appended = form.kinds.iter().map(|kind| kind.is_appended()).collect();
        let (name, root) = (cx.symbols.name(), cx.symbols.name());
        let own = arrays == Arrays::Own && nest.workspace.is_none();
        let mut may_share = if own { nest.rhs.accesses() } else { vec![] };
        may_share.retain(|a| result::may_share(cx, nest, *a));
        Output { name, notes: Notes::of(appended, gaps), form, initial, arrays, may_share, root }
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

    /// How the arrays of the result must be allocated, determined after the loops are planned. If operands' entries bound the appended
    /// ones, room for all can be allocated at once. If loops store every value, the arrays need not be filled.
    pub fn needs(&self, nest: &Nest) -> Assembly {
        let (seen, arrays) = (self.notes.seen(), self.arrays);
        let some = |carried, filled, room| Assembly { arrays, filled, carried, room };
        if self.takes().is_some() {
            return some(vec![], false, None);
        }
        if !self.form.keeps_entries() {
            return some(vec![], seen.gaps, None);
        }
        // Nothing bounds the number of entries that a workspace drains, unless its leaders are known.
        let led = nest.workspace.is_none() || seen.leaders.as_ref().is_some_and(|all| !all.is_empty());
        let leaders = seen.leaders.filter(|_| led && self.form.ends(LevelKind::is_list));
        let room = leaders.map(|all| Room { leaders: all.into_iter().collect(), spare: seen.speculative });
        some(seen.carried.into_iter().collect(), false, room)
    }

    /// The insertion point above all levels.
    pub fn root(&self) -> Insertion {
        Insertion { name: self.root, level: 0, covered: true, counted: false, marked: false, pending: false }
    }

    /// The variable of the next level.
    pub fn next_var(&self, insertion: &Insertion) -> Option<Index> {
        self.form.vars.get(insertion.level).copied()
    }

    /// Whether the coordinate of the next level depends on the loop over `v`.
    pub fn next_follows(&self, insertion: &Insertion, v: Index) -> bool {
        self.form.roots.get(insertion.level).is_some_and(|roots| roots.contains(&v))
    }

    /// Whether no level's coordinate depends on the loop over `v`: it counts pieces of loops, or is folded over.
    pub fn is_moved_by_none(&self, v: Index) -> bool {
        self.form.roots.iter().all(|roots| !roots.contains(&v))
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
        let last = insertion.level + 1 == self.form.kinds.len();
        last && self.form.kinds[insertion.level].is_list() && !insertion.marked
    }

    /// Whether every drain of a workspace appends to the last level, a list with no flags above it.
    pub fn appends_always(&self) -> bool {
        self.form.ends(LevelKind::is_list) && !self.form.kinds.iter().any(|kind| kind.is_flagged())
    }

    /// Whether the last level has runs, in pieces or not.
    pub fn is_of_runs(&self) -> bool {
        self.form.ends(|kind| kind.is_stepped() && !kind.is_in_blocks())
    }

    /// Whether the level below an insertion point is the last, and of runs.
    pub fn has_runs(&self, insertion: &Insertion) -> bool {
        insertion.level + 1 == self.form.kinds.len() && self.is_of_runs()
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
        self.note_close(insertion);
        b.push(Op::CloseFiber { output: self.name, insertion: insertion.name });
    }

    /// Records that the loops over a fiber end. Of a level that several loops move, the loop around the innermost may have no iteration.
    pub fn note_close(&self, insertion: &Insertion) {
        let listed = self.form.kinds.get(insertion.level).is_some_and(|kind| kind.holds(Holds::Positions));
        let skipped = !insertion.covered || insertion.level > 0 && self.form.is_mapped(insertion.level);
        if listed && skipped && !self.has_runs(insertion) {
            self.notes.carries(insertion.level);
        }
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
        let below = Insertion { name: cx.symbols.name(), ..self.below(insertion, driver) };
        let body = Block::of(|b| inner(b, below));
        let (output, insertion, below) = (self.name, insertion.name, below.name);
        b.push(Op::Visit { output, insertion, at, driver, below, positions, body });
    }

    /// The insertion point below a coordinate of the insertion point's level. Records how the loop comes to it.
    pub fn below(&self, insertion: &Insertion, driver: Driver) -> Insertion {
        let l = insertion.level;
        let driver = if self.form.is_mapped(l) && driver == Driver::Counted { Driver::Guarded } else { driver };
        let counted = insertion.counted || driver != Driver::Stored;
        // Along an operand's levels, loops visit all coordinates of a dense level, and only the entries of a list.
        let as_stored = if self.form.is_list(l) { driver == Driver::Stored } else { driver == Driver::Counted };
        if !as_stored {
            self.notes.goes_along(None);
        }
        let below = Insertion { level: l + 1, counted, ..*insertion };
        if !self.form.is_list(l) {
            let covered = insertion.covered && driver == Driver::Counted;
            return Insertion { covered, marked: insertion.marked || self.form.kinds[l].is_flagged(), ..below };
        }
        if self.form.chained(l) {
            return below;
        }
        match l + 1 == self.form.kinds.len() {
            true => Insertion { covered: true, pending: true, counted: driver != Driver::Stored, ..below },
            false => Insertion { covered: true, pending: false, marked: false, ..below },
        }
    }

    /// Opens located levels whose variables are bound already.
    pub fn locate(&self, cx: &Facts, b: &mut Block, mut insertion: Insertion, scope: &Scope) -> Insertion {
        while insertion.level < self.form.kinds.len()
            && !self.form.is_list(insertion.level)
            && let Some(at) = coordinate::of(cx, scope, self.form.vars[insertion.level])
        {
            let below = cx.symbols.name();
            b.push(Op::Locate { output: self.name, insertion: insertion.name, at, below });
            let marked = insertion.marked || self.form.kinds[insertion.level].is_flagged();
            insertion = Insertion { name: below, level: insertion.level + 1, marked, ..insertion };
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
        self.note_store(insertion);
        b.push(Op::Store { output: self.name, insertion: insertion.name, fold, value });
    }

    /// Records that a value is stored: only one that differs from the fill value, where loops count.
    pub fn note_store(&self, insertion: &Insertion) {
        if insertion.pending && insertion.counted && !self.is_of_runs() {
            self.notes.filters();
        }
    }

    /// Appends a value to a last list if a condition holds, without a branch.
    pub fn store_if(&self, b: &mut Block, insertion: &Insertion, value: Sym, kept: Sym) {
        self.notes.tries();
        b.push(Op::StoreIf { output: self.name, insertion: insertion.name, value, kept });
    }

    /// Records that the lists bound the entries below an insertion point's next level.
    pub fn note_led(&self, level: usize, by: Option<Vec<Level>>) {
        self.notes.led_by(level, by);
    }
}
