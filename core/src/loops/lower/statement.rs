//! A statement: its preparations, the allocation of its result, its loops, the end of its result.
//!
//! ```text
//!   plan    loops are walked with an assembly that is valid for any result, and show which arrays it needs:
//!             entries    an operand's, in another format, which the statement shows without its loops
//!             taken      an earlier version's, if nothing reads that version later
//!             levels     an operand's, if the loops visit exactly its entries
//!             own        filled beforehand or not; room for all at once, or reserved by each loop
//!   emit    the plan gives the assembly
//! ```

use super::Context;
use super::nest::Sink;
use super::notes::Shown;
use super::output::Output;
use crate::loops::Symbolic;
use crate::loops::choose::{result, scope::Scope};
use crate::loops::lower::{self, counting, directory, made, nest, quotient, shared, spread, window, workspace};
use crate::loops::plan::{Arrays, Assembly, Statement};
use crate::notation::concrete::{self, Nest, WorkspaceKind};

/// Emits a whole statement: storage for its result, its loops, the end of its result. A result that equals an operand has the operand's
/// arrays, and needs no loops.
pub(super) fn statement<'a>(cx: &mut Context<'a>, d: &mut Symbolic, nest: &'a Nest) {
    let target = nest.target.tensor;
    if let Some(operand) = result::is_operand(cx, nest) {
        let assembly = Assembly { arrays: Arrays::Operand(operand), ..Assembly::default() };
        cx.arrays[target.0] = cx.arrays[operand.0].clone();
        return cx.book.under(Statement { target, assembly }, || {});
    }
    let fits = |given: &Statement| given.target == target;
    let given = cx.book.enter_if(fits, || Statement { target, assembly: Assembly::default() });
    cx.prepared.tables = spread::tables(cx, d, nest);
    cx.prepared.marks = window::marks(cx, d, nest);
    cx.prepared.directories = directory::directories(cx, d, nest);
    let needs = match cx.book.follows_plan() {
        true => assemble(cx, d, nest, &given.assembly).0,
        false => assembly(cx, d, nest),
    };
    assembled(cx, &given, needs);
}

/// Ends a statement's step, with the assembly that its loops need. A plan that is followed must have the same assembly.
pub(super) fn assembled(cx: &Context, given: &Statement, needs: Assembly) {
    if cx.book.follows_plan() && needs != given.assembly {
        cx.book.differs(&format!("the plan has {:?} where loops need {needs:?}", given.assembly));
    }
    cx.book.leave_as(Statement { target: given.target, assembly: needs });
}

/// How a statement's result is assembled. If possible it has an operand's entries; otherwise its loops decide: if they visit exactly the
/// entries of one operand whose levels it can share, it shares them.
fn assembly<'a>(cx: &mut Context<'a>, d: &mut Symbolic, nest: &'a Nest) -> Assembly {
    let of = |arrays: Arrays| Assembly { arrays, ..Assembly::default() };
    if nest.workspace.is_some_and(|w| w.kind == WorkspaceKind::Counts) {
        return assemble(cx, d, nest, &of(Arrays::Counted)).0;
    }
    if let Some(was) = cx.taken.get(&nest.target.tensor) {
        return assemble(cx, d, nest, &of(Arrays::Taken(*was))).0;
    }
    if let Some((a, _)) = shared::entries(cx, nest) {
        let (needs, shown) = assemble(cx, d, nest, &of(Arrays::Entries(a)));
        debug_assert!(shown.is_some_and(|shown| shown.appends_all), "an operand's entries are not all of a result's");
        return needs;
    }
    let (needs, shown) = assemble(cx, d, nest, &of(Arrays::Own));
    let along = shown.and_then(|shown| shown.along).filter(|_| nest.workspace.is_none());
    along.filter(|a| result::may_share(cx, nest, *a)).map_or(needs, |a| of(Arrays::Levels(a)))
}

/// Emits a statement. Returns how its result must be assembled, and the facts that its loops show.
fn assemble<'a>(
    cx: &mut Context<'a>,
    d: &mut Symbolic,
    nest: &'a Nest,
    assembly: &Assembly,
) -> (Assembly, Option<Shown>) {
    let place = nest.target.tensor;
    let kept = shared::entries(cx, nest).filter(|(a, _)| assembly.arrays == Arrays::Entries(*a)).map(|(_, kept)| kept);
    let along = if let Arrays::Levels(a) = assembly.arrays { Some(a) } else { None };
    if along.is_none() {
        lower::fits(cx, d, place);
    }
    nest.rhs.inside(&mut |nest| made::prepare_inside(cx, d, nest));
    lower::make(cx, d, place, along, kept.as_ref());
    cx.both = nest.both.as_ref().map(|both| (both, lower::arrays_of(cx, place).values));
    if assembly.arrays == Arrays::Counted {
        counting::counted(cx, d, nest);
        return (assembly.clone(), None);
    }
    let output = Output::begin(cx, d, nest, assembly, kept.clone(), false);
    let walk = |d: &mut Symbolic| fill_output(cx, d, nest, &output, &Scope::of(cx, nest));
    match quotient::splits(cx, nest).filter(|_| kept.is_some()) {
        Some(split) => split.or(d, &output, walk),
        None => walk(d),
    }
    let (needs, shown) = (output.needs(nest), output.notes.shown());
    let count = kept.as_ref().map(|_| output.list().appended());
    output.finish(d);
    kept.iter().zip(count).for_each(|(kept, count)| kept.compare(d, count));
    (needs, Some(shown))
}

/// Emits the loops of a statement inside of a scope, through its workspace if it has one.
pub(super) fn fill_output(cx: &Context, d: &mut Symbolic, nest: &Nest, output: &Output, scope: &Scope) {
    let slot = output.root();
    let Some(w) = nest.workspace else {
        let copied = before(cx, nest).filter(|_| output.takes().is_none());
        for nest in copied.iter().chain([nest]) {
            let sink = Sink::Store { nest, output, slot: slot.clone() };
            nest::emit(cx, d, &nest.order, &nest.rhs, scope.clone(), &sink);
        }
        return;
    };
    let scratch = workspace::begin(cx, d, nest, w, output);
    let sink = Sink::Around { nest, output, slot, scratch: &*scratch };
    nest::emit(cx, d, &nest.order[..w.prefix], &nest.rhs, scope.clone(), &sink);
}

/// The nest that copies the old version of a scatter's target to the place into which the scatter folds.
pub(super) fn before(cx: &Context, nest: &Nest) -> Option<Nest> {
    let (a, target) = (nest.before?, nest.target.clone());
    let order = (0..target.vars.len()).map(|l| cx.program.level_var(&cx.program.accesses[a.0], l)).collect();
    let rhs = concrete::Expr::Access(a, cx.program.tensor(a).ty);
    Some(Nest { target, order, rhs, fold: None, places: None, before: None, both: None, workspace: nest.workspace })
}
