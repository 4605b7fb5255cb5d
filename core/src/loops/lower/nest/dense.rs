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

use super::{Driven, Forall, Here, Sink, placed};
use crate::algebra::{Op, Type};
use crate::iteration::Point;
use crate::loops::choose::walk;
use crate::loops::lower::{Context, Expr, binary, coordinate, fiber, int, nest, nest::stepped};
use crate::loops::plan::{Arm, How};
use crate::loops::{Symbolic, Term};
use crate::notation::concrete::{self, AccessId};
use crate::notation::typed::Fun;
use crate::stream::{Arith, Domain, List, wide};

/// Emits the loop of a point over the whole extent.
pub(super) fn dense(cx: &Context, d: &mut Symbolic, f: &Forall, point: &Point, how: How) {
    match (how, &point.followers[..]) {
        (How::Constant, _) => return stepped::store_run(cx, d, f, point),
        (How::Gaps | How::CountedGaps, [a]) => {
            return gaps(cx, d, f, point, *a, (&walk::without_followers(cx, point), how == How::CountedGaps));
        }
        (How::Between, _) => return between(cx, d, f, point, &walk::without_followers(cx, point)),
        _ => {}
    }
    let name = cx.program.vars[f.v.0].name.clone();
    let [lo, hi] = [&f.piece.range.lo, &f.piece.range.hi].map(|bound| Term::fixed(cx.expr(bound.at)));
    d.count(&name, lo, hi, &mut |d, at| match point.followers[..] {
        [] => nest::arrive(cx, d, f, point, &at, &[], Driven::Counted),
        [a] => cursor(cx, d, f, point, a, &at),
        _ => {
            let here: Vec<_> = point.followers.iter().map(|&a| follow(cx, d, f, a, &at)).collect();
            let bare = Point { followers: Vec::new(), ..point.clone() };
            nest::arrive(cx, d, f, &bare, &at, &here, Driven::Counted);
            for Here { access, present, .. } in here {
                let present = Term::fixed(present.expect("a follower's flag"));
                f.lists[&access].next_if(d, &present);
            }
        }
    });
}

/// Emits the loop over one list beside a whole extent; in the gaps between its entries the body is `rest`. Gaps are loops without
/// conditions, or are counted: all together behind the entries, if the list's loop is counted too. Folds of counted gaps may run in any
/// order: idempotent built-ins are commutative and associative, as sums are.
fn gaps(
    cx: &Context,
    d: &mut Symbolic,
    f: &Forall,
    point: &Point,
    a: AccessId,
    (rest, counts): (&concrete::Expr, bool),
) {
    let list = &f.lists[&a];
    let name = &cx.program.vars[f.v.0].name;
    let present = Point { followers: Vec::new(), ..point.clone() };
    let absent = Point { body: rest.clone(), ..present.clone() };
    let gap = |d: &mut Symbolic, begin: Term, end: Term| match counts {
        true => count_gap(cx, d, f, rest, (begin, end)),
        false => d.count(name, begin, end, &mut |d, at| {
            cx.book.under(Arm(vec![]), || nest::arrive(cx, d, f, &absent, &at, &[], Driven::Counted));
        }),
    };
    let each = |d: &mut Symbolic, before: &dyn Fn(&mut Symbolic, &Term), behind: &dyn Fn(&mut Symbolic, &Term)| {
        list.each(d, &format!("q_{}", cx.program.tensor(a).name), &mut |d, entry| {
            let at = list.coordinate(d, &entry);
            let at = d.snapshot(name, at);
            before(d, &at);
            let here = Here { access: a, entry: placed(cx, d, &entry), present: None };
            cx.book.under(Arm(vec![a]), || nest::arrive(cx, d, f, &present, &at, &[here], Driven::Counted));
            behind(d, &at);
        });
    };
    if let Some(entries) = list.entries(d).filter(|_| counts) {
        let entries = d.snapshot("entries", entries);
        each(d, &|_, _| {}, &|_, _| {});
        return count_gap(cx, d, f, rest, (entries, Term::fixed(coordinate::length(cx, &f.piece.range))));
    }
    let from = d.state("from", Term::fixed(cx.expr(f.piece.range.lo.at)));
    let before = |d: &mut Symbolic, at: &Term| {
        let begin = d.get(from);
        gap(d, begin, at.clone());
    };
    let behind = |d: &mut Symbolic, at: &Term| {
        let one = d.int(1);
        let next = d.arith(Arith::Add, at, &one);
        d.set(from, next);
    };
    each(d, &before, &behind);
    let (begin, end) = (d.get(from), Term::fixed(cx.expr(f.piece.range.hi.at)));
    gap(d, begin, end);
}

/// Emits the loop over the coordinates that some list has, and the gaps between them, in which the value is the constant `rest`.
fn between(cx: &Context, d: &mut Symbolic, f: &Forall, point: &Point, rest: &concrete::Expr) {
    let [lo, hi] = [&f.piece.range.lo, &f.piece.range.hi].map(|bound| Term::fixed(cx.expr(bound.at)));
    if point.followers.is_empty() && f.piece.in_runs {
        return count(cx, d, f, rest, (lo, hi));
    }
    if point.followers.is_empty() {
        return count_gap(cx, d, f, rest, (lo, hi));
    }
    let from = d.state("from", lo);
    let lists: Vec<&List<Term>> = point.followers.iter().map(|a| &f.lists[a]).collect();
    let any =
        |d: &mut Symbolic, valid: &[Term]| valid.iter().cloned().reduce(|a, b| d.or(a, b)).expect("there are lists");
    let bare = Point { followers: Vec::new(), ..point.clone() };
    wide(d, &lists, &any, &mut |d, at, present| {
        let begin = d.get(from);
        count_gap(cx, d, f, rest, (begin, at.clone()));
        let here = nest::flagged(cx, d, f, &point.followers, &present.iter().collect::<Vec<_>>());
        nest::arrive(cx, d, f, &bare, at, &here, Driven::Counted);
        let one = d.int(1);
        let next = d.arith(Arith::Add, at, &one);
        d.set(from, next);
    });
    let begin = d.get(from);
    count_gap(cx, d, f, rest, (begin, hi));
}

/// Folds a constant once for all coordinates of a gap, if the gap is not empty.
fn count_gap(cx: &Context, d: &mut Symbolic, f: &Forall, body: &concrete::Expr, (begin, end): (Term, Term)) {
    let some = binary(Op::Lt, d.place(&begin), d.place(&end));
    d.when(some, |d| count(cx, d, f, body, (begin, end)), |_| {});
}

/// Folds a constant once for all coordinates of a range, of which there is at least one.
fn count(cx: &Context, d: &mut Symbolic, f: &Forall, body: &concrete::Expr, (begin, end): (Term, Term)) {
    let Sink::Scalar { var, fun, begun: None } = f.sink else { unreachable!("what counts is a scalar's") };
    let (begin, end) = (d.place(&begin), d.place(&end));
    let mut value = fiber::value(cx, d, f.scope(), &f.chosen(cx, |of| of.folded(body)));
    if *fun == Fun::Op(Op::Add) && body.ty() != Type::Bool {
        value = repeated(value, body.ty(), binary(Op::Sub, end, begin));
    }
    nest::accumulate(cx, d, (*var, *fun), None, value);
}

/// Two points: one where the follower's entry is present, one where it is absent.
fn with_and_without(cx: &Context, point: &Point, a: AccessId) -> (Point, Point) {
    let with = Point { followers: Vec::new(), ..point.clone() };
    let body = cx.simplify.replace(&point.body, &|x| (x == a).then(|| cx.fill(x)));
    (with.clone(), Point { body, ..with })
}

/// Emits a cursor over one list beside a whole extent: the body is simplified where the list has no entry.
fn cursor(cx: &Context, d: &mut Symbolic, f: &Forall, point: &Point, a: AccessId, at: &Term) {
    let list = &f.lists[&a];
    let (present, absent) = with_and_without(cx, point, a);
    let found = list.found(d, at);
    d.branch(
        found,
        &mut |d| {
            let here = nest::resting(cx, d, f, &[a]);
            cx.book.under(Arm(vec![a]), || nest::arrive(cx, d, f, &present, at, &here, Driven::Counted));
            list.next(d);
        },
        &mut |d| cx.book.under(Arm(vec![]), || nest::arrive(cx, d, f, &absent, at, &[], Driven::Counted)),
    );
}

/// The entry at a cursor, and the condition that it is at a coordinate. The cursor is not yet behind that coordinate.
pub(super) fn follow(cx: &Context, d: &mut Symbolic, f: &Forall, access: AccessId, at: &Term) -> Here {
    let list = &f.lists[&access];
    let found = list.found(d, at);
    let found = d.snapshot_bool("here", found);
    let entry = list.entry(d);
    Here { access, entry: placed(cx, d, &entry), present: Some(d.place(&found)) }
}

/// The sum of `count` times `value`, in the arithmetic of the type: integers wrap. `count` is an `i64`, and not negative.
fn repeated(value: Expr, ty: Type, count: Expr) -> Expr {
    let as_type = |e: Expr, ty: Type| if ty == Type::I64 { e } else { Expr::Op(Op::Convert(ty), vec![e]) };
    if ty.is_float() || matches!(ty, Type::I64 | Type::U64) {
        return binary(Op::Mul, value, as_type(count, ty));
    }
    // The low bits of a wider product are converted, since conversion saturates.
    let wide = binary(Op::Mul, Expr::Op(Op::Convert(Type::I64), vec![value]), count);
    let beyond = int(64 - i64::from(ty.bits()));
    let low = match ty.is_signed() {
        true => binary(Op::Shr, binary(Op::Shl, wide, beyond.clone()), beyond),
        false => binary(Op::And, wide, int((1 << ty.bits()) - 1)),
    };
    as_type(low, ty)
}
