//! Levels that store the ends of their pieces: a loop steps to the next end in any level, and between two ends each level is in one
//! piece.
//!
//! ```text
//!   while from < n
//!     stop = min(end of r's run, end of b's block, n)
//!     the lattice of from..stop         lists continue where the last piece ended; b has two phases: fill, its block
//!     r and b step, if their piece ended
//!     from = stop
//!
//!   while b has a block               if there is nothing to do outside of blocks
//!     the lattice of start..stop      of the block; with several levels, of the coordinates that their blocks share
//!
//!   runs        Run                     one position for all of from..stop
//!   vbl         Sequence(Run, Lookup)   the block's interval, loaded once a block; behind the last block nothing
//!   packbits    Switch(Run, Lookup)     either, depending on the number of positions of the piece
//! ```

use super::{Forall, Part, Sink};
use crate::algebra::{Op, Type};
use crate::iteration::Point;
use crate::looplet::Looplet;
use crate::loops::choose::{
    access, along, condition, fingers,
    given::Given,
    range::Piece,
    scope::{Phase, Scope},
    walk,
};
use crate::loops::lower::{Context, Expr, binary, compared, fiber, held, int, nest, range};
use crate::loops::plan::{self, Arm, By};
use crate::loops::{Symbolic, Term};
use crate::notation::concrete::{AccessId, Index, Limit};
use crate::stream::{Arith, Compare, Domain, Interval, Kind, ListFiber, Pieces, Places, View};

/// A level along a loop that lists the ends of its pieces.
struct Stepped {
    access: AccessId,
    depth: usize,
    pieces: Pieces<Term>,
}

/// Emits the loop over a range in which levels have pieces: one iteration for each stretch up to the next end in any level.
pub(super) fn stepped(
    cx: &Context,
    d: &mut Symbolic,
    piece: &Piece,
    stepped: &[AccessId],
    (v, rest): (Index, &[Index]),
    sink: &Sink,
) {
    let choose = || walk::stepped_by(cx, piece, stepped, v, nest::effect(cx, sink));
    let fits = |given: &plan::Stepped| given.accesses == stepped && given.by.fits(&choose().by);
    cx.book.inside_if(fits, choose, |step| match step.by {
        By::Search => {
            let mut asked = piece.clone();
            stepped.iter().for_each(|a| asked.scope.enter(*a, Phase::Asked));
            part_within(cx, d, asked, (v, rest), sink);
        }
        By::Presence(a) => stepped_where(cx, d, piece, a, (v, rest), sink),
        By::Block | By::Piece(_) => step_by_step(cx, d, piece, &step, (v, rest), sink),
    });
}

/// Emits the loop over a range in which all levels have a fiber.
fn step_by_step(
    cx: &Context,
    d: &mut Symbolic,
    piece: &Piece,
    plan::Stepped { accesses: stepped, by }: &plan::Stepped,
    (v, rest): (Index, &[Index]),
    sink: &Sink,
) {
    let mut piece = piece.clone();
    let fingers = cx.book.decide_all(|| fingers::followed(cx, &piece, v));
    range::point_fingers(cx, d, &mut piece.scope, fingers);
    let all: Vec<Stepped> = stepped.iter().map(|a| open_stepped(cx, d, v, &piece, *a)).collect();
    let By::Piece(switches) = *by else {
        sink.skip(v);
        return block_by_block(cx, d, &piece, &all, (v, rest), sink);
    };
    // Pieces of packbits may not be runs.
    let gapless = all.iter().all(|stepped| stepped.pieces.kind() == Kind::Runs);
    if let Some((output, slot)) = sink.appends(v).filter(|_| gapless) {
        // Each iteration ends a run of an operand and begins a run of the result where the last one ends: the operands' runs bound the
        // result's.
        let left: Vec<Term> = all.iter().map(|stepped| stepped.pieces.left(d)).collect();
        let most = left.into_iter().reduce(|sum, more| d.arith(Arith::Add, &sum, &more)).expect("one level or more");
        let most = d.place(&most);
        let first = first(cx, v, &piece);
        output.runs(slot).iter().for_each(|runs| runs.expect(d, first.clone(), most.clone()));
    }
    let passed = passed(cx, v, &piece, &all, sink);
    if !passed.is_empty() {
        sink.skip(v);
    }
    let from = d.state("from", Term::fixed(cx.expr(piece.range.lo.at)));
    let left = |d: &mut Symbolic| {
        let from = d.get(from);
        d.compare(Compare::Lt, &from, &Term::fixed(cx.expr(piece.range.hi.at)))
    };
    d.repeat(&left, &mut |d| {
        let begin = d.get(from);
        let begin = d.snapshot("begin", begin);
        let begin = d.place(&begin);
        let ends: Vec<Expr> = all.iter().map(|stepped| end_of(cx, d, v, &piece, stepped)).collect();
        // No end is behind the range.
        let stop = ends.iter().cloned().reduce(|stop, end| binary(Op::Min, stop, end)).expect("one level or more");
        let stop = d.define("stop", Type::I64, stop);
        let runs = |stepped: &Stepped| !matches!(stepped.pieces.kind(), Kind::Blocks(_));
        let in_runs = all.iter().all(runs) && stepped.iter().all(|a| !along::strides(cx, &piece.scope, *a, v));
        let gapless = gapless && in_runs;
        let within = Piece { in_runs, gapless, ..piece.within(cx.bound(begin), cx.bound(stop.clone())) };
        entered(cx, d, within, (&all, switches), &|d, piece| {
            let differs = differs(cx, d, &piece, &passed, (rest, sink));
            let go = |d: &mut Symbolic| {
                let parts = range::pieces_here(cx, d, v, piece).into_iter();
                parts.for_each(|piece| part_within(cx, d, piece, (v, rest), sink));
            };
            match differs {
                Some(differs) => d.when(differs, go, |_| {}),
                None => go(d),
            }
        });
        for (stepped, end) in all.iter().zip(&ends) {
            let over = d.compare(Compare::Le, &Term::fixed(end.clone()), &Term::fixed(stop.clone()));
            stepped.pieces.leave_if(d, &over);
        }
        d.set(from, Term::fixed(stop));
    });
}

/// The first coordinate of a range of a loop; 0 for an empty piece of a cut.
fn first(cx: &Context, v: Index, piece: &Piece) -> Expr {
    let [lo, hi] = [&piece.range.lo, &piece.range.hi].map(|bound| cx.expr(bound.at));
    let is_cut = cx.program.vars[v.0].limits.iter().any(|limit| matches!(limit, Limit::Within(_)));
    if !is_cut || lo == int(0) {
        return lo;
    }
    let some = binary(Op::Lt, lo.clone(), hi);
    Expr::Op(Op::Select, vec![some, lo, int(0)])
}

/// As `stepped`, if the fiber of an access may be absent: a branch for its presence, and one for its absence.
fn stepped_where(
    cx: &Context,
    d: &mut Symbolic,
    piece: &Piece,
    a: AccessId,
    (v, rest): (Index, &[Index]),
    sink: &Sink,
) {
    let go = |d: &mut Symbolic, piece, arm: &[AccessId]| {
        cx.book.under(Arm(arm.to_vec()), || part_within(cx, d, piece, (v, rest), sink));
    };
    let Some(present) = cx.present(&piece.scope.fiber(a)) else { return go(d, piece.clone(), &[a]) };
    let mut with = piece.clone();
    with.scope.budget = with.scope.budget.shared(2);
    let mut without = with.clone();
    with.scope.certain(a);
    without.body = cx.simplify.replace(&piece.body, &|x| (x == a).then(|| cx.fill(a)));
    d.when(present, |d| go(d, with, &[a]), |d| go(d, without, &[]));
}

/// The accesses whose runs of the fill value may be skipped: the body has no effect there, no list needs to advance past them, and the
/// result, if the loop stores into one directly, appends coordinates.
fn passed(cx: &Context, v: Index, piece: &Piece, all: &[Stepped], sink: &Sink) -> Vec<AccessId> {
    let lists = sink.slot().is_none() || sink.appends(v).is_some_and(|(output, _)| !output.is_of_runs());
    if !lists || !access::walked(cx, &piece.scope, &piece.body, v).is_empty() {
        return Vec::new();
    }
    let runs = all.iter().filter(|stepped| stepped.pieces.kind() == Kind::Runs);
    let last = runs.filter(|s| s.depth + 1 == cx.program.tensor(s.access).format.rank());
    last.map(|s| s.access).filter(|a| walk::leads(cx, *a, &piece.body, nest::effect(cx, sink))).collect()
}

/// The condition that no access of `passed` has its fill value in a piece; `None` if the piece is folded without a loop.
fn differs(
    cx: &Context,
    d: &mut Symbolic,
    piece: &Piece,
    passed: &[AccessId],
    (rest, sink): (&[Index], &Sink),
) -> Option<Expr> {
    let scalar = matches!(sink, Sink::Scalar { .. });
    if scalar && rest.is_empty() && condition::is_one(cx, &piece.scope, &piece.scope.order, &piece.body) {
        return None;
    }
    let differs = passed.iter().map(|a| {
        let (fill, value) = (cx.fill(*a), fiber::load(cx, &piece.scope.fiber(*a), *a));
        compared(cx.simplify.mode, Op::Ne, value, (Expr::Const(fill), fill.ty()))
    });
    let all = differs.reduce(|a, b| binary(Op::AndAlso, a, b))?;
    Some(d.define("differs", Type::Bool, all))
}

/// Emits the loop over the blocks of levels all of which lead; with several levels, over the coordinates that their blocks share. It ends
/// where one level has no more blocks, or a leading list is exhausted. A list with a bucket index is looked up for each block, and its
/// end is not tested: the lookup detects it, and the block at which the list ends is unpredictable.
fn block_by_block(
    cx: &Context,
    d: &mut Symbolic,
    piece: &Piece,
    all: &[Stepped],
    (v, rest): (Index, &[Index]),
    sink: &Sink,
) {
    let mut lists = vec![];
    for a in access::walked(cx, &piece.scope, &piece.body, v)
        .into_iter()
        .filter(|a| walk::leads(cx, *a, &piece.body, nest::effect(cx, sink)))
    {
        let ListFiber { end, directory, .. } = fiber::unopened(cx, d, &piece.scope, a);
        if directory.is_none() {
            lists.push((piece.scope.fingers[&(a, piece.scope.fiber(a).depth)].at, d.snapshot("end", end)));
        }
    }
    let more = |d: &mut Symbolic| {
        let mut valid: Vec<Term> = all.iter().map(|stepped| stepped.pieces.valid(d)).collect();
        for (at, end) in &lists {
            let at = d.get(*at);
            valid.push(d.compare(Compare::Lt, &at, end));
        }
        valid.into_iter().reduce(|all, one| d.and(all, &|_| one.clone())).expect("one level or more")
    };
    d.repeat(&more, &mut |d| {
        let (mut scope, mut blocks) = (piece.scope.clone(), vec![]);
        for Stepped { access, pieces, .. } in all {
            let Interval { start, stop, base } = pieces.certain_block(d, &cx.program.tensor(*access).name);
            scope.enter(*access, Phase::Inside(cx.sym(d.place(&base))));
            blocks.push([start, stop].map(|at| d.place(&at)));
        }
        let common =
            |[lo, hi]: [Expr; 2], [start, stop]: [Expr; 2]| [binary(Op::Max, lo, start), binary(Op::Min, hi, stop)];
        let [lo, hi] = blocks.iter().cloned().reduce(common).expect("one level or more");
        let lo = held(d, "from", lo);
        // Blocks that share no coordinate give a range that ends before it begins: its loop has no iteration.
        let hi = if all.len() == 1 { hi } else { held(d, "to", hi) };
        let within = Piece { scope, ..piece.within(cx.bound(lo), cx.bound(hi.clone())) };
        range::pieces_here(cx, d, v, within).into_iter().for_each(|piece| part_within(cx, d, piece, (v, rest), sink));
        if let [Stepped { pieces, .. }] = all {
            return pieces.leave(d);
        }
        for (Stepped { pieces, .. }, [_, stop]) in all.iter().zip(blocks) {
            let over = d.compare(Compare::Le, &Term::fixed(stop), &Term::fixed(hi.clone()));
            pieces.leave_if(d, &over);
        }
    });
}

/// Emits a part of a range that is split piece by piece: the part reserves its own room.
fn part_within(cx: &Context, d: &mut Symbolic, piece: Piece, (v, rest): (Index, &[Index]), sink: &Sink) {
    let part = nest::part(cx, d, v, piece, sink);
    make_room(cx, d, &part, v, sink);
    nest::run(cx, d, part, (v, rest), sink);
}

/// Reserves room for the entries that a part appends, unless its pieces do.
pub(super) fn make_room(cx: &Context, d: &mut Symbolic, part: &Part, v: Index, sink: &Sink) {
    if let Some((output, slot)) = sink.appends(v).filter(|_| part.stepped.is_empty()) {
        output.make_room(d, slot, &|d| nest::at_most(cx, d, part));
    }
}

/// Opens an access's level at the piece that contains the first coordinate of a range.
fn open_stepped(cx: &Context, d: &mut Symbolic, v: Index, piece: &Piece, access: AccessId) -> Stepped {
    let depth = piece.scope.fiber(access).depth;
    let start = range::view(cx, d, &piece.scope, (access, depth), v, &piece.range).start;
    Stepped { access, depth, pieces: pieces_from(cx, d, &piece.scope, access, start) }
}

/// The pieces of an access's next level, from the first one on that does not end before the coordinate `start`.
fn pieces_from(cx: &Context, d: &mut Symbolic, scope: &Scope, a: AccessId, start: Option<Term>) -> Pieces<Term> {
    let (fiber, tensor) = (fiber::unopened(cx, d, scope, a), cx.program.tensor(a));
    let depth = scope.fiber(a).depth;
    let level = &fiber::levels(cx, a)[depth];
    let kind = match level.kind().looplet() {
        Looplet::Blocks => Kind::Blocks(Places::Listed(*level.named("ofs"))),
        Looplet::Aligned(size) => Kind::Blocks(Places::Aligned(size)),
        Looplet::Packed => Kind::Packed(*level.named("ofs")),
        _ => Kind::Runs,
    };
    let extent = Term::fixed(cx.extent(tensor.extents[tensor.format.order[depth]]));
    let fiber = ListFiber { view: View { start, ..View::default() }, ..fiber };
    Pieces::open(d, &tensor.name, kind, fiber, extent)
}

/// The end of a level's current piece, as a coordinate of `v`.
fn end_of(
    cx: &Context,
    d: &mut Symbolic,
    v: Index,
    piece: &Piece,
    Stepped { access, depth, pieces }: &Stepped,
) -> Expr {
    let end = pieces.end(d);
    let end = d.place(&end);
    let mut given = Given::default();
    let end = range::coordinate_of(cx, &mut given, v, piece, (*access, *depth), cx.sym(end)).at;
    let end = given.define(cx, "end", Type::I64, end);
    cx.emit_given(d, given);
    cx.expr(end)
}

/// Emits a range in which no piece ends, with each level opened, or its block's interval loaded. Up to `switches` packed levels get code
/// for either kind of piece.
fn entered(
    cx: &Context,
    d: &mut Symbolic,
    mut piece: Piece,
    (all, switches): (&[Stepped], usize),
    go: &dyn Fn(&mut Symbolic, Piece),
) {
    let Some((Stepped { access, pieces, .. }, rest)) = all.split_first() else { return go(d, piece) };
    let name = &cx.program.tensor(*access).name;
    match pieces.kind() {
        Kind::Runs => {
            let position = pieces.number(d, name);
            piece.scope.descend(*access, (cx.sym(d.place(&position)), None), vec![]);
        }
        Kind::Blocks(_) => {
            let Interval { start, stop, base } = pieces.block(d, name);
            let block = Interval { start: d.place(&start), stop: d.place(&stop), base: d.place(&base) };
            piece.scope.found(*access, cx.name_interval(block));
        }
        Kind::Packed(_) => {
            let (lookup, base, begin) = pieces.packed(d, name);
            let [lookup, base, begin] = [lookup, base, begin].map(|term| d.place(&term));
            if let Some(fewer) = switches.checked_sub(1) {
                piece.scope.budget = piece.scope.budget.shared(2);
                let mut run = piece.clone();
                run.scope.descend(*access, (cx.sym(begin), None), vec![]);
                piece.scope.enter(*access, Phase::Inside(cx.sym(base)));
                let go_on = |d: &mut Symbolic, piece, arm: &[AccessId]| {
                    cx.book.under(Arm(arm.to_vec()), || entered(cx, d, piece, (rest, fewer), go));
                };
                return d.when(lookup, |d| go_on(d, piece, &[*access]), |d| go_on(d, run, &[]));
            }
            let lookup = d.define("lookup", Type::Bool, lookup);
            let base = Expr::Op(Op::Select, vec![lookup.clone(), base, begin]);
            let base = d.define("base", Type::I64, base);
            let step = d.define("step", Type::I64, Expr::Op(Op::Convert(Type::I64), vec![lookup]));
            piece.scope.enter(*access, Phase::Packed { base: cx.sym(base), step: cx.sym(step) });
        }
    }
    entered(cx, d, piece, (rest, switches), go)
}

/// Opens an access's next level, which has pieces, at a coordinate, by search. Returns whether the access may be absent there.
pub(in crate::loops::lower) fn open_at(
    cx: &Context,
    d: &mut Symbolic,
    scope: &mut Scope,
    a: AccessId,
    at: Expr,
) -> bool {
    let at = Term::fixed(at);
    let pieces = pieces_from(cx, d, scope, a, Some(at.clone()));
    let (found, position) = pieces.find(d, &cx.program.tensor(a).name, &at);
    let found = found.map(|found| d.place(&found));
    let (position, searched) = (d.place(&position), found.is_some());
    let present = found.map_or(scope.fiber(a).present, |found| vec![cx.sym(found)]);
    scope.descend(a, (cx.sym(position), None), present);
    searched
}

/// Stores one run of the result for a range.
pub(super) fn store_run(cx: &Context, d: &mut Symbolic, f: &Forall, point: &Point) {
    let Some((runs, slot)) = f.sink.slot().and_then(|(output, slot)| Some((output.runs(slot)?, slot))) else { return };
    let [lo, hi] = [&f.piece.range.lo, &f.piece.range.hi].map(|bound| cx.expr(bound.at));
    let put = |d: &mut Symbolic, lo| {
        let value = fiber::value(cx, d, f.scope(), &point.body);
        runs.put_run(d, slot, (lo, hi.clone()), value)
    };
    match f.piece.in_runs {
        true => put(d, (!f.piece.gapless).then_some(lo)),
        false => d.when(binary(Op::Lt, lo.clone(), hi.clone()), |d| put(d, Some(lo)), |_| {}),
    }
}
