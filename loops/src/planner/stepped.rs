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

use super::{
    Context, bounds,
    destination::{self, Destination, Frame},
    levels, range, structure, value,
};
use crate::choose::{
    Effect, access, condition, fingers,
    piece::Piece,
    range::Bound,
    scope::Phase,
    symbol::{Name, Sym},
    walk::{self, By},
};
use crate::plan::{Block, Kind, List, Op};
use crate::stream::Interval;
use fiberloom_core::algebra::{Op as Fn, Type};
use fiberloom_core::notation::concrete::{AccessId, Index, Limit};

/// Plans a part of the range, in which no level has pieces that end.
type Within<'a> = &'a dyn std::ops::Fn(&mut Block, Piece);

/// A level along a loop that lists the ends of its pieces.
struct Stepped {
    access: AccessId,
    depth: usize,
    pieces: Name,
    kind: Kind,
}

/// Plans the loop over a range in which levels have pieces: one iteration for each stretch up to the next end in any level.
pub(super) fn stepped(cx: &Context, b: &mut Block, piece: &Piece, stepped: &[AccessId], of: Frame, within: Within) {
    let piece = &Piece { scope: piece.scope.aside(), ..piece.clone() };
    let by = walk::stepped_by(cx, piece, stepped, of.v, destination::effect(cx, of.destination));
    match by {
        By::Search => {
            let mut asked = piece.clone();
            stepped.iter().for_each(|a| asked.scope.enter(*a, Phase::Guarded));
            within(b, asked);
        }
        By::Presence(a) => stepped_where(cx, b, piece, a, within),
        By::Block | By::Piece(_) => step_by_step(cx, b, piece, (stepped, by), of, within),
    }
}

/// Plans the loop over a range in which all levels have a fiber.
fn step_by_step(
    cx: &Context,
    b: &mut Block,
    piece: &Piece,
    (stepped, by): (&[AccessId], By),
    Frame { v, rest, destination }: Frame,
    within: Within,
) {
    let (mut piece, symbols) = (piece.clone(), &cx.symbols);
    let fingers = fingers::followed(cx, &piece, v);
    range::point_fingers(cx, b, &mut piece.scope, fingers);
    let all: Vec<Stepped> = stepped.iter().map(|a| open_stepped(cx, b, v, &piece, *a)).collect();
    let By::Piece(switches) = by else {
        return block_by_block(cx, b, &piece, &all, v, (destination, within));
    };
    // Pieces of packbits may not be runs.
    let gapless = all.iter().all(|stepped| stepped.kind == Kind::Runs);
    if let Some((output, insertion)) =
        destination.appends(v).filter(|(output, insertion)| gapless && output.has_runs(insertion))
    {
        // Each iteration ends a run of an operand and begins a run of the result where the last one ends: the operands' runs bound the
        // result's.
        let left = |stepped: &Stepped| {
            let it = symbols.read("left", Type::I64);
            b.push(Op::Left { pieces: stepped.pieces, it });
            it
        };
        let left: Vec<Sym> = all.iter().map(left).collect();
        let most = left.into_iter().reduce(|sum, more| symbols.add(sum, more)).expect("one level or more");
        b.push(Op::Expect { output: output.name, insertion: insertion.name, first: first(cx, v, &piece), most });
    }
    let passed = passed(cx, v, &piece, &all, destination);
    let (from, to, begin) = (piece.range.lo.at, piece.range.hi.at, symbols.held("begin", Type::I64));
    let mut body = Block::default();
    let ends: Vec<Sym> = all.iter().map(|stepped| end_of(cx, &mut body, v, &piece, stepped)).collect();
    // No end is behind the range.
    let stop = ends.iter().copied().reduce(|stop, end| symbols.min(stop, end)).expect("one level or more");
    let stop = body.define(cx, "stop", Type::I64, stop);
    let runs = |stepped: &Stepped| stepped.kind != Kind::Blocks;
    let in_runs = all.iter().all(runs) && stepped.iter().all(|a| !access::strides(cx, &piece.scope, *a, v));
    let part = piece.within(Bound::at(begin), Bound::at(stop));
    let part = Piece { in_runs, gapless: gapless && in_runs, ..part };
    entered(cx, &mut body, part, (&all, switches), &|b, piece| {
        let differs = differs(cx, b, &piece, &passed, (rest, destination));
        let go = |b: &mut Block| {
            let parts = range::pieces(cx, b, v, piece).into_iter();
            parts.for_each(|piece| within(b, piece));
        };
        match differs {
            Some(differs) => b.when(differs, go, |_| {}),
            None => go(b),
        }
    });
    for (stepped, end) in all.iter().zip(&ends) {
        body.push(Op::Leave { pieces: stepped.pieces, cond: Some(symbols.op(Fn::Le, [*end, stop])) });
    }
    b.push(Op::Steps { from, to, begin, stop, body });
}

/// The first coordinate of a range of a loop; 0 for an empty piece of a cut.
fn first(cx: &Context, v: Index, piece: &Piece) -> Sym {
    let (lo, hi) = (piece.range.lo.at, piece.range.hi.at);
    let is_cut = cx.program.vars[v.0].limits.iter().any(|limit| matches!(limit, Limit::Within(_)));
    if !is_cut || lo == Sym::ZERO {
        return lo;
    }
    cx.symbols.select(cx.symbols.op(Fn::Lt, [lo, hi]), lo, Sym::ZERO)
}

/// As `stepped`, if the fiber of an access may be absent: a branch for its presence, and one for its absence.
fn stepped_where(cx: &Context, b: &mut Block, piece: &Piece, a: AccessId, within: Within) {
    let Some(present) = levels::present(cx, &piece.scope.fiber(a)) else { return within(b, piece.clone()) };
    let mut with = piece.clone();
    with.scope.budget = with.scope.budget.shared(2);
    let mut without = with.clone();
    with.scope.certain(a);
    without.body = cx.simplify.replace(&piece.body, &|x| (x == a).then(|| cx.fill(a)));
    b.when(present, |b| within(b, with), |b| within(b, without));
}

/// The accesses whose runs of the fill value may be skipped: the body has no effect there, no list needs to advance past them, and the
/// result, if the loop stores into one directly, appends coordinates or folds values.
fn passed(cx: &Context, v: Index, piece: &Piece, all: &[Stepped], destination: &Destination) -> Vec<AccessId> {
    let folds = matches!(destination::effect(cx, destination), Effect::Folded { .. });
    let lists = folds
        || destination.insertion().is_none()
        || destination.appends(v).is_some_and(|(output, _)| !output.form.is_of_runs());
    if !lists || !access::walked(cx, &piece.scope, &piece.body, v).is_empty() {
        return Vec::new();
    }
    let runs = all.iter().filter(|stepped| stepped.kind == Kind::Runs);
    let last = runs.filter(|s| s.depth + 1 == cx.program.tensor(s.access).format.rank());
    last.map(|s| s.access).filter(|a| walk::leads(cx, *a, &piece.body, destination::effect(cx, destination))).collect()
}

/// The condition that no access of `passed` has its fill value in a piece; `None` if the piece is folded without a loop.
fn differs(
    cx: &Context,
    b: &mut Block,
    piece: &Piece,
    passed: &[AccessId],
    (rest, destination): (&[Index], &Destination),
) -> Option<Sym> {
    let scalar = matches!(destination, Destination::Scalar { .. });
    if scalar && rest.is_empty() && condition::is_one(cx, &piece.scope, &piece.scope.order, &piece.body) {
        return None;
    }
    let differs = passed.iter().map(|a| value::is_other(cx, levels::load(cx, &piece.scope.fiber(*a), *a), cx.fill(*a)));
    let all = cx.symbols.all(differs)?;
    Some(b.define(cx, "differs", Type::Bool, all))
}

/// Plans the loop over the blocks of levels all of which lead; with several levels, over the coordinates that their blocks share. It ends
/// where one level has no more blocks, or a leading list is exhausted. A list with a bucket index is looked up for each block, and its
/// end is not tested: the lookup detects it, and the block at which the list ends is unpredictable.
fn block_by_block(
    cx: &Context,
    b: &mut Block,
    piece: &Piece,
    all: &[Stepped],
    v: Index,
    (destination, within): (&Destination, Within),
) {
    let (mut lists, symbols) = (vec![], &cx.symbols);
    for a in access::walked(cx, &piece.scope, &piece.body, v)
        .into_iter()
        .filter(|a| walk::leads(cx, *a, &piece.body, destination::effect(cx, destination)))
    {
        let List { end, bucket_index, .. } = levels::unopened(cx, b, &piece.scope, a);
        if bucket_index.is_none() {
            let end = b.define(cx, "end", Type::I64, end);
            lists.push((piece.scope.fingers[&(a, piece.scope.fiber(a).depth)].at, end));
        }
    }
    let mut body = Block::default();
    let (mut scope, mut blocks) = (piece.scope.clone(), vec![]);
    for Stepped { access, pieces, .. } in all {
        let is = ["start", "stop", "base"].map(|name| symbols.read(name, Type::I64));
        body.push(Op::PieceBlock { pieces: *pieces, of: *access, certain: true, is });
        scope.enter(*access, Phase::Inside(is[2]));
        blocks.push([is[0], is[1]]);
    }
    let common = |[lo, hi]: [Sym; 2], [start, stop]: [Sym; 2]| [symbols.max(lo, start), symbols.min(hi, stop)];
    let [lo, hi] = blocks.iter().copied().reduce(common).expect("one level or more");
    let lo = body.held(cx, "from", lo);
    // Blocks that share no coordinate give a range that ends before it begins: its loop has no iteration.
    let hi = if all.len() == 1 { hi } else { body.held(cx, "to", hi) };
    let part = Piece { scope, ..piece.within(Bound::at(lo), Bound::at(hi)) };
    let parts = range::pieces(cx, &mut body, v, part).into_iter();
    parts.for_each(|piece| within(&mut body, piece));
    for (Stepped { pieces, .. }, [_, stop]) in all.iter().zip(blocks) {
        let cond = (all.len() > 1).then(|| symbols.op(Fn::Le, [stop, hi]));
        body.push(Op::Leave { pieces: *pieces, cond });
    }
    b.push(Op::Blocks { pieces: all.iter().map(|stepped| stepped.pieces).collect(), lists, body });
}

/// Opens an access's level at the piece that contains the first coordinate of a range.
fn open_stepped(cx: &Context, b: &mut Block, v: Index, piece: &Piece, access: AccessId) -> Stepped {
    let depth = piece.scope.fiber(access).depth;
    let start = range::view(cx, b, &piece.scope, (access, depth), v, &piece.range).start;
    let (list, kind) = structure::pieces_from(cx, b, &piece.scope, access, start);
    let (it, extent) = (cx.symbols.name(), levels::extent(cx, (access, depth)));
    b.push(Op::OpenPieces { it, list, kind, extent });
    Stepped { access, depth, pieces: it, kind }
}

/// The end of a level's current piece, as a coordinate of `v`.
fn end_of(cx: &Context, b: &mut Block, v: Index, piece: &Piece, of: &Stepped) -> Sym {
    let it = cx.symbols.read("end", Type::I64);
    b.push(Op::PieceEnd { pieces: of.pieces, it });
    let end = bounds::coordinate_of(cx, b, v, piece, (of.access, of.depth), it).at;
    b.define(cx, "end", Type::I64, end)
}

/// Plans a range in which no piece ends, with each level opened, or its block's interval loaded. Up to `switches` packed levels get code
/// for either kind of piece.
fn entered(
    cx: &Context,
    b: &mut Block,
    mut piece: Piece,
    (all, switches): (&[Stepped], usize),
    go: &dyn std::ops::Fn(&mut Block, Piece),
) {
    let Some((Stepped { access, pieces, kind, .. }, rest)) = all.split_first() else { return go(b, piece) };
    let (of, pieces, symbols) = (*access, *pieces, &cx.symbols);
    match kind {
        Kind::Runs => {
            let it = symbols.read("p", Type::I64);
            b.push(Op::PieceNumber { pieces, of, it });
            piece.scope.descend(of, (it, None), vec![]);
        }
        Kind::Blocks => {
            let is = ["start", "stop", "base"].map(|name| symbols.read(name, Type::I64));
            b.push(Op::PieceBlock { pieces, of, certain: false, is });
            let [start, stop, base] = is;
            piece.scope.found(of, Interval { start, stop, base });
        }
        Kind::Packed => {
            let lookup = symbols.read("lookup", Type::Bool);
            let [base, begin] = ["base", "begin"].map(|name| symbols.read(name, Type::I64));
            b.push(Op::PiecePacked { pieces, of, is: [lookup, base, begin] });
            if let Some(fewer) = switches.checked_sub(1) {
                piece.scope.budget = piece.scope.budget.shared(2);
                let mut run = piece.clone();
                run.scope.descend(of, (begin, None), vec![]);
                piece.scope.enter(of, Phase::Inside(base));
                let go_on = |b: &mut Block, piece| {
                    entered(cx, b, piece, (rest, fewer), go);
                };
                return b.when(lookup, |b| go_on(b, piece), |b| go_on(b, run));
            }
            let lookup = b.define(cx, "lookup", Type::Bool, lookup);
            let base = b.define(cx, "base", Type::I64, symbols.select(lookup, base, begin));
            let step = b.define(cx, "step", Type::I64, symbols.op(Fn::Convert(Type::I64), [lookup]));
            piece.scope.enter(of, Phase::Packed { base, step });
        }
    }
    entered(cx, b, piece, (rest, switches), go)
}
