//! Values at a place in loops, and levels that open there at coordinates: located, searched, looked up.

use super::{Context, builtin, destination::Destination, levels, structure};
use crate::Failure;
use crate::choose::{access, coordinate, scope::Scope, symbol::Sym};
use crate::plan::{Block, Entry, Found, Op, Table, There};
use fiberloom_core::algebra::{Mode, Op as Fn, Type, Value};
use fiberloom_core::iteration::{Sequence, Simplify, background};
use fiberloom_core::notation::concrete::{self, AccessId, Computed, Concat, Fold, Index};
use fiberloom_core::notation::typed::Fun;

/// A way to open a level at a coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sought {
    /// By computing the position.
    Locate,
    /// By computing the position, and loading its flag.
    Flag,
    /// By the level's interval, or its pieces.
    Piece,
    /// In the list's position map.
    Table,
    /// In the level's own hash table.
    Hash,
    /// By a search that begins where the bucket index says.
    BucketIndex,
    /// By a search in the list.
    Search,
}

/// Opens every further level whose variable is bound: located levels by arithmetic, lists by search. Returns the accesses that may be
/// absent; flags are loaded only if `flagged`.
///
/// No load is out of bounds: an access is absent where a coordinate is missing, or where a guard fails.
pub(super) fn locate(
    cx: &Context,
    b: &mut Block,
    scope: &mut Scope,
    body: &concrete::Expr,
    flagged: bool,
) -> Vec<AccessId> {
    let (mut searched, symbols) = (Vec::new(), &cx.symbols);
    for a in body.accesses() {
        while let Some((level, v)) = access::next_var(cx, scope, a)
            && let Some(at) = come_to(cx, b, scope, v)
        {
            let inside = in_array(cx, scope, (a, level), v, at);
            inside.iter().for_each(|inside| scope.require(a, *inside));
            let fiber = scope.fiber(a);
            let kind = cx.kind(a, level);
            let seek = seek(cx, scope, a, flagged);
            if kind.is_located() {
                let position = symbols.plus(symbols.times(fiber.position, levels::extent(cx, (a, level))), at);
                let flag = levels::flag(cx, (a, level), position).filter(|_| seek == Sought::Flag);
                let present = match flag {
                    None => fiber.present,
                    Some(flag) => {
                        searched.push(a);
                        let flag = levels::present(cx, &fiber).into_iter().fold(flag, |f, p| symbols.and(p, f));
                        vec![b.define(cx, "set", Type::Bool, flag)]
                    }
                };
                scope.descend(a, (position, None), present);
            } else if !kind.is_list() {
                if structure::open_computed(cx, b, scope, a, at) {
                    searched.push(a);
                }
                // An interval that begins with 0 does not test the begin, so coordinates before it must be excluded here.
                inside.into_iter().filter(|_| fiber.may_miss()).for_each(|inside| scope.restrict(a, inside));
            } else {
                let at = b.held(cx, &cx.program.vars[v.0].name, at);
                let inside = symbols.all(inside.into_iter().filter(|_| fiber.may_miss()));
                search(cx, b, scope, (a, seek), (at, inside));
                searched.push(a);
            }
        }
    }
    searched
}

/// How an access's next level is opened at a coordinate.
fn seek(cx: &Context, scope: &Scope, a: AccessId, flagged: bool) -> Sought {
    let kind = cx.kind(a, scope.fiber(a).depth);
    match () {
        _ if flagged && kind.is_flagged() => Sought::Flag,
        _ if kind.is_located() => Sought::Locate,
        _ if !kind.is_list() => Sought::Piece,
        _ if scope.is_laid(a) => Sought::Table,
        _ if kind.has_table() => Sought::Hash,
        _ if levels::bucket_index(cx, scope, a).is_some() => Sought::BucketIndex,
        _ => Sought::Search,
    }
}

/// The value of an index variable, if it is bound, or if every variable that it is computed from is.
pub(super) fn come_to(cx: &Context, b: &mut Block, scope: &mut Scope, v: Index) -> Option<Sym> {
    if let Some(at) = coordinate::of(cx, scope, v) {
        return Some(at);
    }
    let computed = cx.program.computed(v)?;
    let ready = cx.program.roots(v).into_iter().all(|u| scope.coordinate(u).is_some());
    ready.then(|| {
        let at = compute(cx, b, scope, v, computed);
        scope.compute(v, at);
        at
    })
}

/// The condition that a guard of one of these variables fails; `None` if they have no guards.
fn is_outside(cx: &Context, scope: &Scope, of: &[Index]) -> Option<Sym> {
    let mut inside: Vec<Sym> = of.iter().flat_map(|u| access::guards_around(cx, scope, *u)).collect();
    inside.dedup();
    let outside = inside.into_iter().map(|inside| cx.symbols.op(Fn::Not, [inside]));
    outside.reduce(|a, b| cx.symbols.or(a, b))
}

/// The conditions under which the coordinate of an access's level is within its array; none for a list that has no entry elsewhere.
fn in_array(cx: &Context, scope: &Scope, (a, level): (AccessId, usize), v: Index, at: Sym) -> Vec<Sym> {
    let missing = cx.program.may_miss(v).then(|| cx.symbols.op(Fn::Ge, [at, Sym::ZERO]));
    let list = cx.kind(a, level).is_list() && !scope.is_laid(a);
    let asked = if list && scope.is_loose(v) { vec![] } else { access::guards_around(cx, scope, v) };
    missing.into_iter().chain(asked).collect()
}

/// Computes a coordinate that no loop follows. Tensors that it reads are located. A coordinate that leaves its extent is −1 if the index
/// permits that; otherwise the kernel fails. A coordinate computed from a missing coordinate is −1.
fn compute(cx: &Context, b: &mut Block, scope: &mut Scope, v: Index, computed: &Computed) -> Sym {
    let Computed { of, permit, caught } = computed;
    let symbols = &cx.symbols;
    locate(cx, b, scope, of, false);
    let concrete::Var { name, extent, .. } = &cx.program.vars[v.0];
    let at = value(cx, b, scope, of);
    let at = b.define(cx, name, Type::I64, at);
    if !computed.is_read() && !permit {
        return at;
    }
    let leaves = symbols.op(Fn::Lt, [at, Sym::ZERO]);
    let leaves = symbols.or(leaves, symbols.op(Fn::Ge, [at, cx.extents.name(*extent)]));
    let unless = |b: &mut Block, missing: Sym| {
        let found = symbols.select(missing, symbols.int(-1), at);
        b.define(cx, name, Type::I64, found)
    };
    let under = cx.program.under(of).into_iter().filter(|u| !caught && cx.program.may_miss(*u));
    let missing =
        under.map(|u| symbols.op(Fn::Lt, [coordinate::of(cx, scope, u).expect("computed before"), Sym::ZERO]));
    let missing = missing.chain(is_outside(cx, scope, &cx.program.under(of)));
    let missing = missing.reduce(|a, b| symbols.or(a, b));
    if *permit {
        return unless(b, leaves);
    }
    let outside = missing.iter().fold(leaves, |out, missing| symbols.and(symbols.op(Fn::Not, [*missing]), out));
    b.when(outside, |b| b.push(Op::Fail { why: Failure::Outside }), |_| {});
    missing.map_or(at, |missing| unless(b, missing))
}

/// Opens a list at a coordinate, which may be outside of its array if `inside` does not hold.
fn search(
    cx: &Context,
    b: &mut Block,
    scope: &mut Scope,
    (a, by): (AccessId, Sought),
    (at, inside): (Sym, Option<Sym>),
) {
    if scope.is_laid(a) {
        return ask(cx, b, scope, a, (at, inside));
    }
    let fiber = scope.fiber(a);
    let mut list = levels::unopened(cx, b, scope, a);
    let found = cx.symbols.read("found", Type::Bool);
    let (by, entry) = if by == Sought::Hash {
        (Found::Hash { list, parent: fiber.position }, Entry::single(cx))
    } else {
        list.end = b.define(cx, "end", Type::I64, list.end);
        list.bucket_index = list.bucket_index.filter(|_| by == Sought::BucketIndex);
        let entry = Entry::of(cx, &list);
        (Found::Search { list }, entry)
    };
    b.push(Op::Seek { by, at, is: There { found: Some(found), entry } });
    scope.descend(a, entry.positions(), vec![found]);
}

/// Opens a scattered list at a coordinate, which may be outside of the map where `inside` does not hold.
pub(super) fn ask(cx: &Context, b: &mut Block, scope: &mut Scope, a: AccessId, (at, inside): (Sym, Option<Sym>)) {
    let (of, symbols) = ((a, scope.fiber(a).depth), &cx.symbols);
    let Table { by_value, .. } = cx.prepared.tables[&of];
    let tensor = cx.program.tensor(a);
    let ty = if by_value { tensor.ty } else { Type::Bool };
    let (found, position) = (symbols.read("found", ty), symbols.read("p", Type::I64));
    b.push(Op::Ask { of, at, inside, found, position });
    if !by_value {
        return scope.descend(a, (position, None), vec![found]);
    }
    let some = match tensor.fill == Value::bool(false) {
        true => found,
        false => symbols.op(Fn::Ne, [found, symbols.value(tensor.fill)]),
    };
    // The value is kept, so the position is never read.
    scope.descend(a, (Sym::ZERO, None), vec![some]);
    scope.keep(a, found);
}

/// The condition under which a body that has searched `lists` has an effect; `None` if it always has. Marks in `scope` the lists that are
/// certainly present where the condition holds.
pub(super) fn guard(
    cx: &Context,
    scope: &mut Scope,
    body: &concrete::Expr,
    lists: &[AccessId],
    nothing: &impl std::ops::Fn(&concrete::Expr) -> bool,
) -> Option<Sym> {
    let fill = |a: AccessId| cx.fill(a);
    let (sequence, rest) = background(body, lists, &fill, cx.simplify);
    if !nothing(&rest) {
        return None;
    }
    let condition = levels::holds(cx, &sequence, &|a| levels::present(cx, &scope.fiber(a)).expect("searched for"));
    for &a in lists.iter().filter(|a| sequence.exhaust(**a) == Sequence::Empty) {
        scope.certain(a);
    }
    Some(condition)
}

/// Loads the values of accesses whose levels are all open, once, before the loops inside.
pub(super) fn keep_values(cx: &Context, b: &mut Block, scope: &mut Scope, body: &concrete::Expr) {
    for a in body.accesses() {
        let fiber = scope.fiber(a);
        if access::next_var(cx, scope, a).is_none() && fiber.value.is_none() && fiber.depth > 0 {
            let tensor = cx.program.tensor(a);
            let value = levels::load(cx, &fiber, a);
            let value = b.define(cx, &tensor.name.to_lowercase(), tensor.ty, value);
            scope.keep(a, value);
        }
    }
}

/// The value of a body whose loops around are all bound; folds inside it have loops of their own.
pub(super) fn value(cx: &Context, b: &mut Block, scope: &Scope, body: &concrete::Expr) -> Sym {
    match body {
        concrete::Expr::Literal(v) => cx.symbols.value(*v),
        concrete::Expr::Index(v) => {
            let known = coordinate::of(cx, scope, *v);
            known.or_else(|| come_to(cx, b, &mut scope.clone(), *v)).expect("bound: checked concrete notation")
        }
        concrete::Expr::Access(a, _) => levels::load(cx, &scope.fiber(*a), *a),
        concrete::Expr::Column(column) => levels::load_from(cx, &scope.fiber(column.of), column.tensor),
        concrete::Expr::Call(..) => called(cx, b, scope, body, &[]),
        concrete::Expr::Reduce(op, vars, inner, ty) => reduction(cx, b, scope, (*op, vars, inner, *ty)),
        concrete::Expr::Fold(fold, ty) => folded(cx, b, scope, fold, *ty),
        concrete::Expr::Concat(c, ty) => asked_value(cx, b, scope, c, *ty),
        concrete::Expr::Where(..) => unreachable!("it is made before the loops that read it: checked"),
    }
}

/// The value of a call. Where an access has no entry, and its fill value annihilates the call, the value is that of the annihilation and not
/// what the machine computes: another argument may be infinite. Calls around this one choose by the entries of `asked` already.
fn called(cx: &Context, b: &mut Block, scope: &Scope, e: &concrete::Expr, asked: &[AccessId]) -> Sym {
    let concrete::Expr::Call(fun, args, ty) = e else { return value(cx, b, scope, e) };
    let annihilates = annihilating(cx, scope, e, asked);
    let asked: Vec<AccessId> = asked.iter().copied().chain(annihilates.iter().map(|(a, _)| *a)).collect();
    let args = args.iter().map(|arg| called(cx, b, scope, arg, &asked)).collect();
    let made = builtin::applied(cx, b, *fun, args, *ty);
    if annihilates.is_empty() {
        return made;
    }
    let made = b.define(cx, "value", *ty, made);
    annihilates.into_iter().fold(made, |made, (a, none)| {
        let present = levels::present(cx, &scope.fiber(a)).expect("it may be missing");
        cx.symbols.select(present, made, cx.symbols.value(none))
    })
}

/// The accesses in windows that may be left, without whose entries a call is a number that their fill values do not compute; each with the
/// number.
fn annihilating(cx: &Context, scope: &Scope, e: &concrete::Expr, asked: &[AccessId]) -> Vec<(AccessId, Value)> {
    let leaves = |a: AccessId| cx.program.accesses[a.0].vars.iter().any(|v| scope.is_loose(*v));
    let may_miss = |a: AccessId| levels::present(cx, &scope.fiber(a)).is_some();
    let strict = Simplify { mode: Mode::Strict, ..cx.simplify };
    let without = |a: AccessId| {
        let at = |simplify: Simplify| simplify.replace(e, &|other| (other == a).then(|| cx.fill(a)));
        match (at(cx.simplify), at(strict)) {
            (concrete::Expr::Literal(none), concrete::Expr::Literal(computed)) if none == computed => None,
            (concrete::Expr::Literal(none), _) => Some((a, none)),
            _ => None,
        }
    };
    let candidates = e.accesses().into_iter().filter(|a| !asked.contains(a) && leaves(*a) && may_miss(*a));
    candidates.filter_map(without).collect()
}

fn reduction(
    cx: &Context,
    b: &mut Block,
    scope: &Scope,
    (fun, vars, inner, ty): (Fun, &[Index], &concrete::Expr, Type),
) -> Sym {
    let start = cx.simplify.begins(fun, ty).expect("reductions have an identity");
    let t = b.var(cx, "t", ty, cx.symbols.value(start));
    let destination = Destination::Scalar { var: (t, ty), fun, begun: None };
    (cx.nest)(cx, b, vars, inner, scope.clone(), &destination);
    t
}

/// A fold in the order of its loops. It begins with its `start`, else with a neutral value if there is one, else with its first value. A
/// fold over no values is the function's identity; the check of extents refuses an empty fold of a function without one.
fn folded(cx: &Context, b: &mut Block, scope: &Scope, fold: &Fold, ty: Type) -> Sym {
    let none = cx.simplify.begins(fold.fun, ty);
    let start = match &fold.start {
        Some(start) => Some(value(cx, b, scope, start)),
        None => first(cx, fold, ty),
    };
    let begun = start.is_none().then(|| {
        let it = cx.symbols.held("begun", Type::Bool);
        b.push(Op::Fresh { it });
        it
    });
    let start = start.unwrap_or_else(|| cx.symbols.value(none.unwrap_or(Value::zero(ty))));
    let t = b.var(cx, "t", ty, start);
    if let Some(begun) = begun {
        b.set(begun, cx.symbols.bool(false));
    }
    let destination = Destination::Scalar { var: (t, ty), fun: fold.fun, begun };
    (cx.nest)(cx, b, &fold.vars, &fold.body, scope.clone(), &destination);
    t
}

/// A value with which a fold may begin instead of its first value. (The sum of nothing is 0.0, but 0.0 + −0.0 is 0.0: a sum of something
/// begins with −0.0.)
fn first(cx: &Context, fold: &Fold, ty: Type) -> Option<Sym> {
    let (none, symbols) = (cx.simplify.begins(fold.fun, ty), &cx.symbols);
    if let Some(v) = none.filter(|v| cx.simplify.leads(fold.fun, *v)) {
        return Some(symbols.value(v));
    }
    let leads = cx.simplify.leader(fold.fun, ty)?;
    let extents = fold.vars.iter().map(|v| cx.extents.name(cx.program.vars[v.0].extent));
    let some = symbols.all(extents.map(|n| symbols.op(Fn::Gt, [n, Sym::ZERO])))?;
    Some(symbols.select(some, symbols.value(leads), symbols.value(none?)))
}

/// The value of a guarded concatenation.
fn asked_value(cx: &Context, b: &mut Block, scope: &Scope, c: &Concat, ty: Type) -> Sym {
    let last = c.parts.last().map(|(_, part)| part).filter(|_| c.outside.is_none());
    let others = &c.parts[..c.parts.len() - last.is_some() as usize];
    let otherwise = c.outside.as_ref().or(last).expect("a concatenation has a part");
    if c.exprs().any(|e| e.has_loops() || calls(e)) {
        let t = cx.symbols.held("t", ty);
        b.push(Op::Fresh { it: t });
        assign_asked(cx, b, scope, (t, others), otherwise);
        return t;
    }
    let otherwise = value(cx, b, scope, otherwise);
    others.iter().rev().fold(otherwise, |otherwise, (w, part)| {
        let value = value(cx, b, scope, part);
        match scope.guarded(*w).and_then(|asked| asked.inside) {
            Some(inside) => cx.symbols.select(inside, value, otherwise),
            None => value,
        }
    })
}

/// Assigns to a variable the value of the part whose guard holds, in branches: parts contain loops or calls, which run only where they
/// are needed.
fn assign_asked(
    cx: &Context,
    b: &mut Block,
    scope: &Scope,
    (t, parts): (Sym, &[(Index, concrete::Expr)]),
    otherwise: &concrete::Expr,
) {
    let assign = |b: &mut Block, e: &concrete::Expr| {
        let value = value(cx, b, scope, e);
        b.set(t, value);
    };
    let Some(((w, part), rest)) = parts.split_first() else { return assign(b, otherwise) };
    match scope.guarded(*w).and_then(|asked| asked.inside) {
        Some(inside) => {
            b.when(inside, |b| assign(b, part), |b| assign_asked(cx, b, scope, (t, rest), otherwise));
        }
        None => assign(b, part),
    }
}

/// Whether an expression calls a declared function.
fn calls(e: &concrete::Expr) -> bool {
    let mut found = false;
    e.each(&mut |e| found |= matches!(e, concrete::Expr::Call(Fun::User(_), ..)));
    found
}

/// The condition that a value is not a fill value. In strict mode 0.0 and −0.0 differ, so their inverses are compared too.
pub(super) fn is_other(cx: &Context, value: Sym, fill: Value) -> Sym {
    let (ty, symbols) = (fill.ty(), &cx.symbols);
    let fill = symbols.value(fill);
    let differ = |a: Sym, b: Sym| symbols.op(Fn::Ne, [a, b]);
    if cx.simplify.mode == Mode::Algebraic || !ty.is_float() {
        return differ(value, fill);
    }
    let inverse = |x: Sym| symbols.op(Fn::Div, [symbols.value(Value::one(ty)), x]);
    symbols.or(differ(value, fill), differ(inverse(value), inverse(fill)))
}
