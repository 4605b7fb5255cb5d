//! Guards: conditions that outer loops decide. Where a condition fails, all loops inside are skipped; inside of the guard it holds.
//!
//! ```text
//!  forall i: y[i] = sum(j: mask(m[i], A[i,j] * x[j]))
//!    ─▶  for i { if m[i] { for j … A[i,j] * x[j] } }         and not: for i { for j … mask(m[i], …) }
//! ```
//!
//! A condition on a loop's own variable is not a guard but an end of its range (`keys.rs`): `sum(j: mask(j == p[i], x[j]))` visits one
//! coordinate. With both, a statement visits only the coordinates that its conditions leave, as `sieve` does in the looplets paper
//! (section 5.2).
//!
//! Where an innermost loop has reached a coordinate that a declared `iterate` set excludes, the coordinate is an *omitter point*
//! (functions paper, section 5.2): nothing is computed or stored. Explicit fill values are not in the sets, so values are tested.
//!
//! ```text
//!  fn f(x, y) … where iterate(x & !y)
//!  forall i: r[i] = f(a[i], b[i])     ─▶  for each entry of a { if a != 0 && !(b != 0) { r[i] = f(a, b) } }
//! ```

use crate::choose::{Facts, access, along, scope::Scope};
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::notation::concrete::{self, Index};
use fiberloom_core::notation::typed::{Fun, Set};

/// Whether an expression is invariant in a loop over `v`, and can be computed before it.
pub fn stays(cx: &Facts, v: Index, scope: &Scope, e: &concrete::Expr) -> bool {
    match e {
        concrete::Expr::Literal(_) => true,
        concrete::Expr::Index(u) => cx.program.roots(*u).iter().all(|u| *u != v && scope.coordinate(*u).is_some()),
        concrete::Expr::Access(a, _) => access::next_var(cx, scope, *a).is_none(),
        concrete::Expr::Column(column) => access::next_var(cx, scope, column.of).is_none(),
        concrete::Expr::Call(Fun::Op(_), args, _) => args.iter().all(|arg| stays(cx, v, scope, arg)),
        _ => false,
    }
}

/// Whether a value takes a few simple instructions.
pub fn cheap(e: &concrete::Expr) -> bool {
    match e {
        concrete::Expr::Literal(_)
        | concrete::Expr::Index(_)
        | concrete::Expr::Access(..)
        | concrete::Expr::Column(_) => true,
        concrete::Expr::Call(Fun::User(_), ..) => false,
        concrete::Expr::Call(Fun::Op(op), args, _) => {
            let simple = match op {
                Op::Add | Op::Sub | Op::Mul | Op::Min | Op::Max | Op::And | Op::Or | Op::Xor | Op::Neg | Op::Not => {
                    true
                }
                Op::Convert(_) => true,
                op => op.is_comparison(),
            };
            simple && args.len() <= 3 && args.iter().all(cheap)
        }
        concrete::Expr::Reduce(..) | concrete::Expr::Fold(..) | concrete::Expr::Concat(..) => false,
        concrete::Expr::Where(..) => false,
    }
}

/// Whether an expression is invariant in a loop inside of this scope: it reads only what the variables in `order` determine, which are
/// the scope's and, inside of its own folds, those of their loops.
pub fn is_one(cx: &Facts, scope: &Scope, order: &[Index], e: &concrete::Expr) -> bool {
    let known = |v: &Index| cx.program.time(*v, order).is_some();
    let same = |e: &concrete::Expr| is_one(cx, scope, order, e);
    let inside = |vars: &[Index], e: &concrete::Expr| {
        let order = [order, vars].concat();
        let limits = vars.iter().flat_map(|v| &cx.program.vars[v.0].limits);
        let as_far = limits.into_iter().all(|limit| cx.program.decides(&order, limit));
        as_far && is_one(cx, scope, &order, e)
    };
    match e {
        concrete::Expr::Literal(_) => true,
        concrete::Expr::Index(v) => known(v),
        // Runs are opened before this loop.
        concrete::Expr::Access(..) | concrete::Expr::Column(_) => {
            let a = e.access().expect("it reads one");
            access::next_var(cx, scope, a).is_none() || cx.program.accesses[a.0].vars.iter().all(known)
        }
        concrete::Expr::Call(_, args, _) => args.iter().all(same),
        concrete::Expr::Reduce(_, vars, body, _) => inside(vars, body),
        concrete::Expr::Fold(fold, _) => fold.start.iter().all(same) && inside(&fold.vars, &fold.body),
        concrete::Expr::Concat(..) | concrete::Expr::Where(..) => false,
    }
}

/// Conditions that loops around have decided, without each of which a body has no effect, and the body where all of them hold.
pub fn all_needed(
    cx: &Facts,
    scope: &Scope,
    body: &concrete::Expr,
    nothing: &dyn Fn(&concrete::Expr) -> bool,
) -> (Vec<concrete::Expr>, concrete::Expr) {
    let (mut body, mut all) = (body.clone(), Vec::new());
    while let Some(condition) = needed(cx, scope, &body, nothing) {
        body = where_it_holds(cx, &body, &condition);
        all.push(condition);
    }
    (all, body)
}

/// Conditions on values that a loop has reached, without each of which a body has no effect, and the body where all of them hold. A
/// condition that only reads truth values does not count, as entries exist where they hold; nor does a body that is a condition itself,
/// as its value is the test.
pub fn on_values(
    cx: &Facts,
    scope: &Scope,
    body: &concrete::Expr,
    nothing: &dyn Fn(&concrete::Expr) -> bool,
) -> (Vec<concrete::Expr>, concrete::Expr) {
    let (all, within) = all_needed(cx, scope, body, nothing);
    let mut compares = false;
    for condition in &all {
        condition.each(&mut |e| {
            let concrete::Expr::Call(Fun::Op(_), args, Type::Bool) = e else { return };
            compares |= args.iter().any(|arg| arg.ty() != Type::Bool);
        });
    }
    let is_itself = matches!(within, concrete::Expr::Literal(_));
    if compares && !is_itself { (all, within) } else { (vec![], body.clone()) }
}

/// The conditions to test first, of those that can be computed at this point and without each of which a body has no effect, and the body
/// where they hold; for a body that gathers, or whose value `falls` on a computed place, which a failing test skips. A conjunction is
/// tested piece by piece, beginning with the piece that gathers least. `None` if nothing is saved.
pub fn first_asked(
    cx: &Facts,
    scope: &Scope,
    body: &concrete::Expr,
    falls: bool,
    nothing: &dyn Fn(&concrete::Expr) -> bool,
) -> Option<(Vec<concrete::Expr>, concrete::Expr)> {
    let all = gathers(cx, scope, body);
    if all == 0 && !falls {
        return None;
    }
    let mut needed: Vec<(usize, concrete::Expr)> = Vec::new();
    body.each(&mut |e| {
        let atom =
            !matches!(e, concrete::Expr::Call(Fun::Op(Op::AndAlso | Op::OrElse), ..) | concrete::Expr::Literal(_));
        let asked = atom && e.ty() == Type::Bool && needed.iter().all(|(_, c)| c != e) && is_ready(cx, scope, e);
        if asked && nothing(&where_it_is(cx, body, e, false)) {
            needed.push((gathers(cx, scope, e), e.clone()));
        }
    });
    let least = needed.iter().map(|(gathers, _)| *gathers).min()?;
    let first: Vec<concrete::Expr> = needed.into_iter().filter(|(n, _)| *n == least).map(|(_, c)| c).collect();
    let behind = first.iter().fold(body.clone(), |body, c| where_it_holds(cx, &body, c));
    (falls || gathers(cx, scope, &behind) > least).then_some((first, behind))
}

/// The number of accesses of an expression that are not opened yet and have computed coordinates.
pub fn gathers(cx: &Facts, scope: &Scope, e: &concrete::Expr) -> usize {
    let computed = |a: &super::AccessId| {
        let vars = &cx.program.accesses[a.0].vars;
        access::next_var(cx, scope, *a).is_some() && vars.iter().any(|v| cx.program.computed(*v).is_some())
    };
    cx.program.reads(e).iter().filter(|a| computed(a)).count()
}

/// Whether an expression can be computed from the variables that loops around have bound, by gathers and searches.
pub fn is_ready(cx: &Facts, scope: &Scope, e: &concrete::Expr) -> bool {
    let bound = |v: &Index| {
        along::is_bound(cx, scope, *v) || cx.program.roots(*v).into_iter().all(|u| along::is_bound(cx, scope, u))
    };
    match e {
        concrete::Expr::Literal(_) => true,
        concrete::Expr::Index(v) => bound(v),
        concrete::Expr::Access(..) | concrete::Expr::Column(_) => {
            let a = e.access().expect("it reads one");
            cx.program.accesses[a.0].vars.iter().all(bound)
        }
        concrete::Expr::Call(Fun::Op(_), args, _) => args.iter().all(|e| is_ready(cx, scope, e)),
        _ => false,
    }
}

/// The body simplified under a condition.
pub fn where_it_holds(cx: &Facts, body: &concrete::Expr, condition: &concrete::Expr) -> concrete::Expr {
    where_it_is(cx, body, condition, true)
}

/// A condition that loops around have decided, without which a body has no effect.
pub fn needed(
    cx: &Facts,
    scope: &Scope,
    body: &concrete::Expr,
    nothing: &dyn Fn(&concrete::Expr) -> bool,
) -> Option<concrete::Expr> {
    let mut candidates = Vec::new();
    conditions(cx, scope, body, &mut candidates);
    candidates.into_iter().find(|c| nothing(&where_it_is(cx, body, c, false))).cloned()
}

/// The outermost conditions in an expression that loops around have decided.
pub fn conditions<'e>(cx: &Facts, scope: &Scope, e: &'e concrete::Expr, all: &mut Vec<&'e concrete::Expr>) {
    use concrete::Expr::{Access, Call, Column, Concat, Fold, Index, Literal, Reduce, Where};
    match e {
        Literal(_) | Index(_) => {}
        e if e.ty() == Type::Bool && is_decided(cx, scope, e) => all.push(e),
        Access(..) | Column(_) => {}
        Call(_, args, _) => args.iter().for_each(|e| conditions(cx, scope, e, all)),
        Reduce(_, _, body, _) => conditions(cx, scope, body, all),
        Fold(fold, _) => fold.parts().for_each(|e| conditions(cx, scope, e, all)),
        Concat(c, _) => c.exprs().for_each(|e| conditions(cx, scope, e, all)),
        Where(made, _) => conditions(cx, scope, &made.nest.rhs, all),
    }
}

/// The condition, from the declared sets of the functions that a body calls, outside of which the body has no effect; `None` if it may
/// have one everywhere. Sets do not hold for NaN: a NaN argument counts as inside.
pub fn produces(
    cx: &Facts,
    scope: &Scope,
    body: &concrete::Expr,
    nothing: &dyn Fn(&concrete::Expr) -> bool,
) -> Option<concrete::Expr> {
    let mut all: Option<concrete::Expr> = None;
    body.each(&mut |call| {
        let concrete::Expr::Call(Fun::User(f), args, _) = call else { return };
        let Some((sets, outside)) = cx.simplify.omits(*f) else { return };
        let omitted = body.clone().settled(&|e| (e == call).then_some(outside));
        let asked = args.iter().all(|e| is_decided(cx, scope, e));
        if !asked || !nothing(&cx.simplify.simplify(&omitted)) {
            return;
        }
        for set in sets {
            let inside = args
                .iter()
                .filter(|e| e.ty().is_float())
                .fold(member(set, args), |inside, x| either(inside, predicate(Op::Ne, vec![x.clone(), x.clone()])));
            all = Some(all.take().map_or(inside.clone(), |all| predicate(Op::And, vec![all, inside])));
        }
    });
    let all = cx.simplify.simplify(&all?);
    (all != concrete::Expr::Literal(Value::bool(true))).then_some(all)
}

/// Whether loops around have bound everything that an expression reads, so that it needs no loop or search.
pub fn is_decided(cx: &Facts, scope: &Scope, e: &concrete::Expr) -> bool {
    match e {
        concrete::Expr::Literal(_) => true,
        concrete::Expr::Index(v) => along::is_bound(cx, scope, *v),
        concrete::Expr::Access(a, _) => access::next_var(cx, scope, *a).is_none(),
        concrete::Expr::Column(column) => access::next_var(cx, scope, column.of).is_none(),
        concrete::Expr::Call(Fun::Op(_), args, _) => args.iter().all(|e| is_decided(cx, scope, e)),
        _ => false,
    }
}

/// The body simplified under a condition's value.
pub fn where_it_is(cx: &Facts, body: &concrete::Expr, condition: &concrete::Expr, holds: bool) -> concrete::Expr {
    let value = Value::bool(holds);
    let body = body.clone().settled(&|e| (e == condition).then_some(value));
    cx.simplify.simplify(&body)
}

/// The condition that arguments are in a set.
pub fn member(set: &Set, args: &[concrete::Expr]) -> concrete::Expr {
    match set {
        Set::Param(n) if args[*n].ty() == Type::Bool => args[*n].clone(),
        Set::Param(n) => {
            let zero = concrete::Expr::Literal(Value::zero(args[*n].ty()));
            predicate(Op::Ne, vec![args[*n].clone(), zero])
        }
        Set::All => concrete::Expr::Literal(Value::bool(true)),
        Set::Not(s) => predicate(Op::Not, vec![member(s, args)]),
        Set::And(a, b) => predicate(Op::And, vec![member(a, args), member(b, args)]),
        Set::Or(a, b) => either(member(a, args), member(b, args)),
    }
}

pub fn either(a: concrete::Expr, b: concrete::Expr) -> concrete::Expr {
    predicate(Op::Or, vec![a, b])
}

pub fn predicate(op: Op, args: Vec<concrete::Expr>) -> concrete::Expr {
    concrete::Expr::Call(Fun::Op(op), args, Type::Bool)
}
