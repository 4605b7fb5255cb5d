//! Loops over a whole extent: dense levels are located, lists followed by cursors, and gaps of a constant value
//! counted.
//!
//! ```text
//!   y[i] = x[i] + d[i]       for i in 0..n: x is at i ? … : …                    a cursor
//!                            for each entry of x: the gap before it, the entry; the last gap     one list, innermost
//!   s = sum(i: x[i]), x with fill 2, and n coordinates
//!                            for each entry of x: s += x; s += 2 * (n - entries)    if the order is free
//!                            for each entry of x: the gap before it counted, the entry; the last gap
//!   s = sum(i: x[i] + y[i])  as above, between coordinates that x or y has         several lists: one wide loop
//! ```
//!
//! A gap is counted if its value is loop-invariant, the destination is a scalar, and the fold is a sum that may be a product (of floats:
//! in `algebraic` mode), is idempotent, or maps the value to itself, as 0 · 0 is 0. The value may be a fold itself: in a tree whose
//! leaves are folded level by level, each absent branch is folded once.

use super::{
    Context,
    arrive::{self, Forall, Here, follow},
    destination::{Destination, effect},
    leaf, value,
};
use crate::choose::{Effect, condition, coordinate, symbol::Sym, walk, walk::How};
use crate::plan::{Block, Driver, Gap, Op, Visit};
use fiberloom_core::algebra::{Op as Fn, Type};
use fiberloom_core::iteration::Point;
use fiberloom_core::notation::concrete::{self, AccessId};
use fiberloom_core::notation::typed::Fun;

/// Plans the loop of a point over the whole extent.
pub(super) fn dense(cx: &Context, b: &mut Block, f: &Forall, point: &Point, how: How) {
    match (how, &point.followers[..]) {
        (How::Constant, _) => return store_run(cx, b, f, point),
        (How::Gaps | How::CountedGaps, [a]) => {
            return gaps(cx, b, f, point, *a, (&walk::without_followers(cx, point), how == How::CountedGaps));
        }
        (How::Between, _) => return between(cx, b, f, point, &walk::without_followers(cx, point)),
        _ => {}
    }
    let (lo, hi, at) = (f.piece.range.lo.at, f.piece.range.hi.at, held(cx, f));
    let body = Block::of(|b| match point.followers[..] {
        [] => arrive::arrive(cx, b, f, point, (at, Driver::Counted), &[]),
        [a] => cursor(cx, b, f, point, a, at),
        _ => {
            let here: Vec<_> = point.followers.iter().map(|&a| follow(cx, b, f, a, at)).collect();
            let bare = Point { followers: Vec::new(), ..point.clone() };
            arrive::arrive(cx, b, f, &bare, (at, Driver::Counted), &here);
            for Here { access, present, .. } in here {
                b.push(Op::NextIf { list: f.lists[&access], cond: present.expect("a follower's flag") });
            }
        }
    });
    let every = |b: &mut Block| b.push(Op::Every { at, lo, hi, body });
    match &point.followers[..] {
        [] => where_stored(cx, b, f, &point.body, every),
        _ => every(b),
    }
}

/// Plans a loop around a value that it does not move only where the value differs from the fill value, if others are not stored.
///
/// ```text
///   R[i,j] = max(k: T[i,j,k]), R sparse       in a gap of j the value is 0, or −∞ where k has no coordinate: asked once a gap
/// ```
fn where_stored(cx: &Context, b: &mut Block, f: &Forall, body: &concrete::Expr, go: impl FnOnce(&mut Block)) {
    let destination = f.frame.destination;
    let Effect::Stored(fill) = effect(cx, destination) else { return go(b) };
    let listed = destination.insertion().is_some_and(|(output, insertion)| output.stores_others_alone(insertion));
    let literal = matches!(body, concrete::Expr::Literal(_));
    let stays = !literal && condition::is_one(cx, f.scope(), &f.scope().order, body);
    if !stays || !listed || destination.appends(f.frame.v).is_none() {
        return go(b);
    }
    let value = value::value(cx, b, f.scope(), body);
    let differs = value::is_other(cx, value, fill);
    b.when(differs, go, |_| {});
}

/// A variable for the coordinate of a counted loop.
fn held(cx: &Context, f: &Forall) -> Sym {
    cx.symbols.held(&cx.program.vars[f.frame.v.0].name, Type::I64)
}

/// Plans the loop over one list beside a whole extent; in the gaps between its entries the body is `rest`. Gaps are loops without
/// conditions, or are counted: all together behind the entries, if the list's loop is counted too. Folds of counted gaps may run in any
/// order: idempotent built-ins are commutative and associative, as sums are.
fn gaps(cx: &Context, b: &mut Block, f: &Forall, point: &Point, a: AccessId, (rest, counts): (&concrete::Expr, bool)) {
    let present = Point { followers: Vec::new(), ..point.clone() };
    let absent = Point { body: rest.clone(), ..present.clone() };
    let (at, entry) = (f.coordinate(cx), f.entry(cx, a));
    let here = Here { access: a, entry: entry.positions(), present: None };
    let arrive = |b: &mut Block| arrive::arrive(cx, b, f, &present, (at, Driver::Counted), &[here]);
    let body = Block::of(arrive);
    let gap = gap(cx, |b, (begin, end)| match counts {
        true => count_gap(cx, b, f, rest, (begin, end)),
        false => {
            let at = held(cx, f);
            let arrive = |b: &mut Block| arrive::arrive(cx, b, f, &absent, (at, Driver::Counted), &[]);
            let body = Block::of(arrive);
            where_stored(cx, b, f, rest, |b| b.push(Op::Every { at, lo: begin, hi: end, body }));
        }
    });
    let counts = (counts && f.fibers[&a].is_counted()).then(|| coordinate::length(cx, &f.piece.range));
    let (from, to) = (f.piece.range.lo.at, f.piece.range.hi.at);
    let visit = Visit { at, entry, body };
    b.push(Op::Gaps { list: f.lists[&a], counts, from, to, visit, gap });
}

/// A gap with the operations that `of` plans for it.
fn gap(cx: &Context, of: impl FnOnce(&mut Block, (Sym, Sym))) -> Gap {
    let (begin, end) = (cx.symbols.read("begin", Type::I64), cx.symbols.read("end", Type::I64));
    Gap { begin, end, body: Block::of(|b| of(b, (begin, end))) }
}

/// Plans the loop over the coordinates that some list has, and the gaps between them, in which the value is the constant `rest`.
fn between(cx: &Context, b: &mut Block, f: &Forall, point: &Point, rest: &concrete::Expr) {
    let (from, to) = (f.piece.range.lo.at, f.piece.range.hi.at);
    if point.followers.is_empty() && f.piece.in_runs {
        return count(cx, b, f, rest, (from, to));
    }
    if point.followers.is_empty() {
        return count_gap(cx, b, f, rest, (from, to));
    }
    let bare = Point { followers: Vec::new(), ..point.clone() };
    let at = f.coordinate(cx);
    let present: Vec<Sym> = point.followers.iter().map(|_| cx.symbols.read("is", Type::Bool)).collect();
    let body = Block::of(|b| {
        let here = arrive::flagged(cx, b, f, &point.followers, &present);
        arrive::arrive(cx, b, f, &bare, (at, Driver::Counted), &here);
    });
    let gap = gap(cx, |b, ends| count_gap(cx, b, f, rest, ends));
    b.push(Op::Between { lists: f.names(&point.followers), from, to, at, present, body, gap });
}

/// Folds a constant once for all coordinates of a gap, if the gap is not empty.
fn count_gap(cx: &Context, b: &mut Block, f: &Forall, body: &concrete::Expr, (begin, end): (Sym, Sym)) {
    let some = cx.symbols.op(Fn::Lt, [begin, end]);
    b.when(some, |b| count(cx, b, f, body, (begin, end)), |_| {});
}

/// Folds a constant once for all coordinates of a range, of which there is at least one.
fn count(cx: &Context, b: &mut Block, f: &Forall, body: &concrete::Expr, (begin, end): (Sym, Sym)) {
    let Destination::Scalar { var, fun, begun: None } = f.frame.destination else {
        unreachable!("what counts is a scalar's")
    };
    let mut value = value::value(cx, b, f.scope(), &f.chosen(cx, |of| of.folded(body)));
    if *fun == Fun::Op(Fn::Add) && body.ty() != Type::Bool {
        value = repeated(cx, value, body.ty(), cx.symbols.sub(end, begin));
    }
    leaf::accumulate(cx, b, (*var, *fun), None, value);
}

/// Two points: one where the follower's entry is present, one where it is absent.
fn with_and_without(cx: &Context, point: &Point, a: AccessId) -> (Point, Point) {
    let with = Point { followers: Vec::new(), ..point.clone() };
    let body = cx.simplify.replace(&point.body, &|x| (x == a).then(|| cx.fill(x)));
    (with.clone(), Point { body, ..with })
}

/// Plans a cursor over one list beside a whole extent: the body is simplified where the list has no entry.
fn cursor(cx: &Context, b: &mut Block, f: &Forall, point: &Point, a: AccessId, at: Sym) {
    let (with, without) = with_and_without(cx, point, a);
    let present = Block::of(|b| {
        let here = arrive::resting(cx, b, f, &[a]);
        arrive::arrive(cx, b, f, &with, (at, Driver::Counted), &here);
    });
    let absent = Block::of(|b| arrive::arrive(cx, b, f, &without, (at, Driver::Counted), &[]));
    b.push(Op::Beside { list: f.lists[&a], at, present, absent });
}

/// The sum of `count` times `value`, in the arithmetic of the type: integers wrap. `count` is an `i64`, and not negative.
fn repeated(cx: &Context, value: Sym, ty: Type, count: Sym) -> Sym {
    let symbols = &cx.symbols;
    let as_type = |s: Sym, ty: Type| if ty == Type::I64 { s } else { symbols.op(Fn::Convert(ty), [s]) };
    if ty.is_float() || matches!(ty, Type::I64 | Type::U64) {
        return symbols.op(Fn::Mul, [value, as_type(count, ty)]);
    }
    // The low bits of a wider product are converted, since conversion saturates.
    let wide = symbols.op(Fn::Mul, [symbols.op(Fn::Convert(Type::I64), [value]), count]);
    let beyond = symbols.int(64 - i64::from(ty.bits()));
    let low = match ty.is_signed() {
        true => symbols.op(Fn::Shr, [symbols.op(Fn::Shl, [wide, beyond]), beyond]),
        false => symbols.op(Fn::And, [wide, symbols.int((1 << ty.bits()) - 1)]),
    };
    as_type(low, ty)
}

/// Stores one run of the result for a range.
fn store_run(cx: &Context, b: &mut Block, f: &Forall, point: &Point) {
    let Some((output, insertion)) =
        f.frame.destination.insertion().filter(|(output, insertion)| output.has_runs(insertion))
    else {
        return;
    };
    let (lo, hi) = (f.piece.range.lo.at, f.piece.range.hi.at);
    let put = |b: &mut Block, lo| {
        let value = value::value(cx, b, f.scope(), &point.body);
        b.push(Op::PutRun { output: output.name, insertion: insertion.name, lo, hi, value });
    };
    match f.piece.in_runs {
        true => put(b, (!f.piece.gapless).then_some(lo)),
        false => b.when(cx.symbols.op(Fn::Lt, [lo, hi]), |b| put(b, Some(lo)), |_| {}),
    }
}
