//! The bottom of a nest: a value is folded, stored, or put into a workspace; around a workspace, it is filled and drained.

use super::{
    Context, builtin, counting,
    destination::Destination,
    output::{Insertion, Output},
    places, value,
    workspace::{Reached, Scratch},
};
use crate::choose::{coordinate, result, scope::Scope, symbol::Sym};
use crate::plan::{Block, Op};
use fiberloom_core::algebra::{Op as Fn, Type};
use fiberloom_core::notation::concrete::{self, Also, Index, Nest};
use fiberloom_core::notation::typed::Fun;

/// Plans the bottom of a nest. A scatter runs only where no coordinate is missing.
pub(super) fn landed(cx: &Context, b: &mut Block, body: &concrete::Expr, scope: &Scope, destination: &Destination) {
    let mut scope = scope.clone();
    let lands = match destination {
        Destination::Store { nest, .. } | Destination::Scatter { nest, .. } => places::lands(cx, b, nest, &mut scope),
        _ => None,
    };
    match lands {
        Some(lands) => b.when(lands, |b| leaf(cx, b, body, &scope, destination), |_| {}),
        None => leaf(cx, b, body, &scope, destination),
    }
}

fn leaf(cx: &Context, b: &mut Block, body: &concrete::Expr, scope: &Scope, destination: &Destination) {
    match destination {
        Destination::Scalar { var, fun, begun } => {
            // Values that both destinations use are loaded once.
            let shared = cx.also.map(|(also, _)| {
                let mut scope = scope.clone();
                value::keep_values(cx, b, &mut scope, &also.rhs);
                scope
            });
            let scope = shared.as_ref().unwrap_or(scope);
            let value = value::value(cx, b, scope, body);
            accumulate(cx, b, (*var, *fun), *begun, value);
            if let Some((Also { at, fun, rhs }, of)) = cx.also {
                let value = value::value(cx, b, scope, rhs);
                let at = coordinate::of(cx, scope, *at).expect("bound: checked concrete notation");
                b.push(Op::FoldIn { of, at, fun: *fun, value });
            }
        }
        Destination::Store { nest, output, insertion } => {
            let value = value::value(cx, b, scope, body);
            let scope = places::placed(cx, b, nest, scope);
            let insertion = output.locate(cx, b, *insertion, &scope);
            output.store(b, &insertion, nest.assign().fold(), value);
        }
        Destination::Tally(tally) => counting::tally(cx, b, tally, scope),
        // There is no loop inside.
        Destination::Bound { most, .. } => b.set(*most, cx.symbols.plus(*most, cx.symbols.int(1))),
        Destination::Scatter { nest, scratch } => {
            let value = value::value(cx, b, scope, body);
            let scope = places::placed(cx, b, nest, scope);
            let coordinate = |v: &Index| coordinate::of(cx, &scope, *v).expect("all loops are bound");
            let at = scratch.vars.iter().map(coordinate).collect();
            b.push(Op::Put { work: scratch.name, at, fold: nest.assign().fold(), value });
        }
        Destination::Around { nest, output, insertion, scratch } => {
            around(cx, b, body, scope, (nest, output, insertion, scratch))
        }
    }
}

/// Plans what stands inside of the loops around a workspace: it is filled, and drained.
fn around(
    cx: &Context,
    b: &mut Block,
    body: &concrete::Expr,
    scope: &Scope,
    (nest, output, insertion, scratch): (&Nest, &Output, &Insertion, &Scratch),
) {
    scratch.clear(b);
    let before = result::before(cx, nest);
    let was = before.as_ref().map(|before| (before, &before.rhs));
    if let Some(most) = scratch.most() {
        // This pass only counts, before the pass that puts values: it loads the ends of all inner fibers into the cache, and no load
        // waits for another. The second pass need not count.
        b.set(most, Sym::ZERO);
        // The counting pass must not move fingers.
        let mut through = scope.aside();
        through.fingers.clear();
        for (nest, body) in was.into_iter().chain([(nest, body)]) {
            let destination = Destination::Bound { nest, scratch, most };
            (cx.nest)(cx, b, nest.filling(), body, through.clone(), &destination);
        }
    }
    let through = |b: &mut Block| {
        if let Some((nest, body)) = was {
            (cx.nest)(cx, b, nest.filling(), body, scope.clone(), &Destination::Scatter { nest, scratch });
            b.push(Op::MarkOld { work: scratch.name });
        }
        (cx.nest)(cx, b, nest.filling(), body, scope.clone(), &Destination::Scatter { nest, scratch });
        scratch.drain(cx, b, scope, output, insertion);
    };
    let Reached::Anywhere { most, few: Some(few) } = scratch.reached else { return through(b) };
    let is_short = cx.symbols.op(Fn::Le, [most, cx.symbols.int(cx.few)]);
    b.push(Op::ByLength { work: scratch.name, few, is_short, body: Block::of(through) });
}

/// `t = f(t, value)`
pub(super) fn accumulate(
    cx: &Context,
    b: &mut Block,
    ((t, ty), fun): ((Sym, Type), Fun),
    begun: Option<Sym>,
    value: Sym,
) {
    let Some(begun) = begun else {
        let joined = builtin::applied(cx, b, fun, vec![t, value], ty);
        return b.set(t, joined);
    };
    let value = b.define(cx, "value", ty, value);
    let first = |b: &mut Block| {
        b.set(t, value);
        b.set(begun, cx.symbols.bool(true));
    };
    let join = |b: &mut Block| {
        let joined = builtin::applied(cx, b, fun, vec![t, value], ty);
        b.set(t, joined);
    };
    b.when(begun, join, first);
}
