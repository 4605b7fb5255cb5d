//! Fibers of operands: lists in their views, intervals, and levels that are opened at a coordinate.

use super::{Context, Expr};
use crate::choose::symbol::Sym;
use crate::plan::{self, Found, There};
use crate::stream::{
    BucketIndex, Domain, EntryRun, Interval, Kind, List, ListFiber, Mark, Pieces, Places, Shift, Table, View,
};
use crate::{LevelBuffers, Symbolic, Term, lower};
use fiberloom_core::format::Holds;
use fiberloom_core::looplet::{Looplet, Values};
use fiberloom_core::notation::concrete::AccessId;

/// The buffers of an access's levels.
pub(super) fn levels<'c>(cx: &'c Context, a: AccessId) -> &'c [LevelBuffers] {
    &lower::arrays_of(cx, cx.program.accesses[a.0].tensor).levels
}

/// A fiber of a list, not yet opened.
pub(super) fn unopened(cx: &Context, d: &Symbolic, list: &plan::List) -> ListFiber<Term> {
    let crd = cx.level_array(list.of, Holds::Coordinates);
    let run = list.run.map(|run| match cx.run(run.name) {
        EntryRun::Open(run) => run,
        EntryRun::Ends(_) => unreachable!("a run that is walked has no known end"),
    });
    let bucket_index = list.bucket_index.map(|plan::BucketIndex { extent }| {
        let extent = extent.map(|extent| cx.term(d, extent));
        BucketIndex { extent, ..cx.prepared.bucket_indices[&list.of.0].clone() }
    });
    let (begin, end) = (cx.term(d, list.begin), cx.term(d, list.end));
    ListFiber { crd, begin, end, repeats: list.repeats, view: view(cx, d, list), run, bucket_index }
}

fn view(cx: &Context, d: &Symbolic, list: &plan::List) -> View<Term> {
    let term = |s: Option<Sym>| s.map(|s| cx.term(d, s));
    let plan::View { shift, stride, blocks, extent, start, stop, finger, mark } = &list.view;
    let shift = shift.as_ref().map(|shift| match shift {
        Shift::Up(c) => Shift::Up(cx.term(d, *c)),
        Shift::Down(c) => Shift::Down(cx.term(d, *c)),
    });
    let mark = mark.map(|at| Mark { table: cx.prepared.marks[&list.of], at: cx.term(d, at) });
    View {
        shift,
        stride: term(*stride),
        blocks: term(*blocks),
        extent: term(*extent),
        start: term(*start),
        stop: term(*stop),
        finger: finger.map(|finger| cx.state(finger)),
        mark,
    }
}

/// Opens a list.
pub(super) fn open(cx: &Context, d: &mut Symbolic, list: &plan::List) -> List<Term> {
    let fiber = unopened(cx, d, list);
    List::open(d, &format!("p_{}", cx.program.tensor(list.of.0).name), fiber)
}

/// The interval of a level below a parent, which stores where each interval begins and ends.
pub(super) fn interval(
    cx: &Context,
    d: &mut Symbolic,
    (a, level): (AccessId, usize),
    (parent, present): (Sym, Option<Sym>),
    is: &[Sym; 3],
) {
    let (parent, present) = (cx.term(d, parent), present.map(|present| cx.term(d, present)));
    let level = &levels(cx, a)[level];
    let arrays = (*level.named("pos"), level.array(Holds::Coordinates));
    let found = Interval::open(d, &cx.program.tensor(a).name, arrays, &parent, present.as_ref());
    cx.say_interval(d, is, &found);
}

/// Opens a level at a coordinate.
pub(super) fn seek(cx: &Context, d: &mut Symbolic, by: &Found, at: Sym, is: &There) {
    let target = cx.term(d, at);
    match by {
        Found::Hash { list, parent } => {
            let name = format!("p_{}", cx.program.tensor(list.of.0).name);
            let level = &levels(cx, list.of.0)[list.of.1];
            let [crd, table] = ["crd", "table"].map(|name| *level.named(name));
            let (parent, fiber) = (cx.term(d, *parent), unopened(cx, d, list));
            let size = Term::fixed(Expr::Capacity(table));
            let (found, position) = Table { crd, table, size }.find(d, &name, &parent, &fiber, &target);
            is.found.iter().for_each(|s| cx.say_term(d, *s, &found));
            cx.say_term(d, is.entry.position, &position);
        }
        Found::Search { list } => {
            let list = open(cx, d, list);
            list.seek(d, &target);
            let found = list.found(d, &target);
            let found = d.snapshot_bool("found", found);
            is.found.iter().for_each(|s| cx.say_term(d, *s, &found));
            let entry = list.entry(d);
            cx.say_entry(d, &is.entry, &entry);
        }
        Found::Pieces { list, extent, .. } => {
            let pieces = pieces(cx, d, list, *extent);
            let (found, position) = pieces.find(d, &cx.program.tensor(list.of.0).name, &target);
            is.found.iter().zip(found).for_each(|(s, found)| cx.say_term(d, *s, &found));
            cx.say_term(d, is.entry.position, &position);
        }
    }
}

/// Opens the pieces of a level.
pub(super) fn pieces(cx: &Context, d: &mut Symbolic, list: &plan::List, extent: Sym) -> Pieces<Term> {
    let level = &levels(cx, list.of.0)[list.of.1];
    let kind = match level.kind().looplet() {
        Looplet::Stepper(Looplet::Run(_)) => Kind::Runs,
        Looplet::Stepper(Looplet::Switch(_)) => Kind::Packed(*level.named("ofs")),
        Looplet::Stepper(Looplet::Sequence([_, Looplet::Lookup(Values::Aligned(size))])) => {
            Kind::Blocks(Places::Aligned(*size))
        }
        _ => Kind::Blocks(Places::Listed(*level.named("ofs"))),
    };
    let (fiber, extent) = (unopened(cx, d, list), cx.term(d, extent));
    Pieces::open(d, &cx.program.tensor(list.of.0).name, kind, fiber, extent)
}
