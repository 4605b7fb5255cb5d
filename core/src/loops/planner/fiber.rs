//! The fibers of accesses: lists that are opened, levels that are located or searched, values.

use super::{Context, builtin, choice, nest, nest::Sink, spread, structure};
use crate::algebra::{Op as Fn, Type, Value};
use crate::format::Holds;
use crate::iteration::{Sequence, background};
use crate::loops::Failure;
use crate::loops::choose::{
    Facts, access, coordinate,
    scope::{self, Scope},
    symbol::{Array, Sym},
};
use crate::loops::plan::{Block, Directory, Entry, Found, List, Op, There, View};
use crate::notation::concrete::{self, AccessId, Computed, Fold, Index};
use crate::notation::typed::Fun;

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
    Directory,
    /// By a search in the list.
    Search,
}

/// An array of an access's level.
pub(super) fn array(cx: &Facts, (a, level): (AccessId, usize), what: Holds) -> Array {
    Array::Level(cx.program.accesses[a.0].tensor, level, what)
}

/// The extent of an access's level.
pub(super) fn extent(cx: &Facts, (a, level): (AccessId, usize)) -> Sym {
    let tensor = cx.program.tensor(a);
    cx.extents.name(tensor.extents[tensor.format.order[level]])
}

/// The condition under which an access has a fiber; `None` if it always has.
pub(super) fn present(cx: &Facts, fiber: &scope::Fiber) -> Option<Sym> {
    let all = fiber.present.iter().rev().copied();
    all.reduce(|older, newer| cx.symbols.and(newer, older))
}

/// The flag at a position of a level that has flags: false where nothing is stored.
fn flag(cx: &Facts, of: (AccessId, usize), position: Sym) -> Option<Sym> {
    let (kind, symbols) = (cx.kind(of.0, of.1), &cx.symbols);
    if kind.holds(Holds::Flags) {
        return Some(symbols.load(array(cx, of, Holds::Flags), position));
    }
    if !kind.holds(Holds::Words) {
        return None;
    }
    let word = symbols.op(Fn::FloorDiv, [position, symbols.int(64)]);
    let bit = symbols.op(Fn::FloorRem, [position, symbols.int(64)]);
    let bit = symbols.op(Fn::Convert(Type::U64), [bit]);
    let shifted = symbols.op(Fn::Shr, [symbols.load(array(cx, of, Holds::Words), word), bit]);
    let one = symbols.value(Value::from_bits(Type::U64, 1));
    Some(symbols.op(Fn::Eq, [symbols.op(Fn::And, [shifted, one]), one]))
}

/// The whole fiber that an access opens next, of a list or of the ends of runs and blocks. Where the fiber is absent, the result is
/// empty.
pub(super) fn unopened(cx: &Context, b: &mut Block, scope: &Scope, a: AccessId) -> List {
    let (fiber, symbols) = (scope.fiber(a), &cx.symbols);
    let (of, parent) = ((a, fiber.depth), fiber.position);
    let (begin, end) = if cx.kind(a, fiber.depth).holds(Holds::Positions) {
        let at = |parent: Sym| symbols.load(array(cx, of, Holds::Positions), parent);
        (at(parent), at(symbols.add(parent, symbols.int(1))))
    } else {
        let end = fiber.run.map(|run| {
            let it = symbols.read("end", Type::I64);
            b.push(Op::RunEnd { it, run });
            it
        });
        (parent, end.unwrap_or_else(|| symbols.plus(parent, symbols.int(1))))
    };
    let (begin, end) = scope.block(a).map_or((begin, end), |block| (block.begin, block.end));
    let repeats = cx.program.tensor(a).format.repeats(fiber.depth);
    let within = |at: Sym| present(cx, &fiber).map_or(at, |present| symbols.select(present, at, Sym::ZERO));
    let (begin, end) = (within(begin), within(end));
    List { of, begin, end, repeats, view: View::default(), run: None, directory: directory(cx, scope, a) }
}

/// The fiber below an entry whose run of positions has no known end, if walking it one by one may find the end.
pub(super) fn of_run(cx: &Context, scope: &Scope, a: AccessId) -> Option<List> {
    let fiber = scope.fiber(a);
    let (depth, begin) = (fiber.depth, fiber.position);
    let once = !fiber.may_miss() && scope.block(a).is_none() && !cx.program.tensor(a).format.repeats(depth);
    let run = fiber.run.filter(|_| once && cx.kind(a, depth).continues_chain())?;
    let (of, view) = ((a, depth), View::default());
    Some(List { of, begin, end: run.open?, repeats: false, view, run: Some(run), directory: None })
}

/// The bucket index of the list that an access opens next, if it has one that may be used here: with the list's extent, if the loop's
/// range may begin behind it; none if the loop goes beyond the extent.
fn directory(cx: &Context, scope: &Scope, a: AccessId) -> Option<Directory> {
    let first = scope.fiber(a).depth == 0 && scope.block(a).is_none();
    if !first || !cx.prepared.directories.contains(&a) {
        return None;
    }
    let Some((level, w)) = access::next_var(cx, scope, a) else { return Some(Directory { extent: None }) };
    if scope.is_loose(w) || access::is_of_asked(cx, scope, w) {
        return None;
    }
    let extent = access::is_of_stray(cx, scope, w).then(|| extent(cx, (a, level)));
    Some(Directory { extent })
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
                let position = symbols.plus(symbols.times(fiber.position, extent(cx, (a, level))), at);
                let flag = flag(cx, (a, level), position).filter(|_| seek == Sought::Flag);
                let present = match flag {
                    None => fiber.present,
                    Some(flag) => {
                        searched.push(a);
                        let flag = present(cx, &fiber).into_iter().fold(flag, |f, p| symbols.and(p, f));
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
        _ if directory(cx, scope, a).is_some() => Sought::Directory,
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
    let mut inside: Vec<Sym> = of.iter().flat_map(|u| access::asked_around(cx, scope, *u)).collect();
    inside.dedup();
    let outside = inside.into_iter().map(|inside| cx.symbols.op(Fn::Not, [inside]));
    outside.reduce(|a, b| cx.symbols.or(a, b))
}

/// The conditions under which the coordinate of an access's level is within its array; none for a list that has no entry elsewhere.
fn in_array(cx: &Context, scope: &Scope, (a, level): (AccessId, usize), v: Index, at: Sym) -> Vec<Sym> {
    let missing = cx.program.may_miss(v).then(|| cx.symbols.op(Fn::Ge, [at, Sym::ZERO]));
    let list = cx.kind(a, level).is_list() && !scope.is_laid(a);
    let asked = if list && scope.is_loose(v) { vec![] } else { access::asked_around(cx, scope, v) };
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
        return spread::ask(cx, b, scope, a, (at, inside));
    }
    let fiber = scope.fiber(a);
    let mut list = unopened(cx, b, scope, a);
    let found = cx.symbols.read("found", Type::Bool);
    let (by, entry) = if by == Sought::Hash {
        (Found::Hash { list, parent: fiber.position }, Entry::single(cx))
    } else {
        list.end = b.define(cx, "end", Type::I64, list.end);
        list.directory = list.directory.filter(|_| by == Sought::Directory);
        let entry = Entry::of(cx, &list);
        (Found::Search { list }, entry)
    };
    b.push(Op::Seek { by, at, is: There { found: Some(found), entry } });
    scope.descend(a, entry.positions(), vec![found]);
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
    let condition = holds(cx, &sequence, &|a| present(cx, &scope.fiber(a)).expect("searched for"));
    for &a in lists.iter().filter(|a| sequence.exhaust(**a) == Sequence::Empty) {
        scope.certain(a);
    }
    Some(condition)
}

/// A sequence expression as a condition; `present` gives the condition that a list has an entry.
pub(super) fn holds(cx: &Facts, s: &Sequence, present: &impl std::ops::Fn(AccessId) -> Sym) -> Sym {
    let constant = |c: bool| cx.symbols.bool(c);
    let mut and = |a, b| cx.symbols.and(a, b);
    let mut or = |a, b| cx.symbols.or(a, b);
    s.fold(&mut |a| present(a), &constant, &mut and, &mut or)
}

/// Loads the values of accesses whose levels are all open, once, before the loops inside.
pub(super) fn keep_values(cx: &Context, b: &mut Block, scope: &mut Scope, body: &concrete::Expr) {
    for a in body.accesses() {
        let fiber = scope.fiber(a);
        if access::next_var(cx, scope, a).is_none() && fiber.value.is_none() && fiber.depth > 0 {
            let tensor = cx.program.tensor(a);
            let value = load(cx, &fiber, a);
            let value = b.define(cx, &tensor.name.to_lowercase(), tensor.ty, value);
            scope.keep(a, value);
        }
    }
}

/// The value of an access whose levels are all open.
pub(super) fn load(cx: &Facts, fiber: &scope::Fiber, a: AccessId) -> Sym {
    fiber.value.unwrap_or_else(|| load_from(cx, fiber, cx.program.accesses[a.0].tensor))
}

/// The value of a tensor at a fiber whose levels are all open: the fill value where nothing is stored. The tensor has the structure of
/// the access's.
fn load_from(cx: &Facts, fiber: &scope::Fiber, tensor: concrete::Place) -> Sym {
    let load = cx.symbols.load(Array::Values(tensor), fiber.position);
    let fill = cx.symbols.value(cx.program.tensors[tensor.0].fill);
    present(cx, fiber).map_or(load, |present| cx.symbols.select(present, load, fill))
}

/// The value of a body whose loops around are all bound; folds inside it have loops of their own.
pub(super) fn value(cx: &Context, b: &mut Block, scope: &Scope, body: &concrete::Expr) -> Sym {
    match body {
        concrete::Expr::Literal(v) => cx.symbols.value(*v),
        concrete::Expr::Index(v) => {
            let known = coordinate::of(cx, scope, *v);
            known.or_else(|| come_to(cx, b, &mut scope.clone(), *v)).expect("bound: checked concrete notation")
        }
        concrete::Expr::Access(a, _) => load(cx, &scope.fiber(*a), *a),
        concrete::Expr::Column(column) => load_from(cx, &scope.fiber(column.of), column.tensor),
        concrete::Expr::Call(fun, args, ty) => {
            let args = args.iter().map(|e| value(cx, b, scope, e)).collect();
            builtin::applied(cx, b, *fun, args, *ty)
        }
        concrete::Expr::Reduce(op, vars, inner, ty) => reduction(cx, b, scope, (*op, vars, inner, *ty)),
        concrete::Expr::Fold(fold, ty) => folded(cx, b, scope, fold, *ty),
        concrete::Expr::Concat(c, ty) => choice::asked_value(cx, b, scope, c, *ty),
        concrete::Expr::Where(..) => unreachable!("it is made before the loops that read it: checked"),
    }
}

fn reduction(
    cx: &Context,
    b: &mut Block,
    scope: &Scope,
    (fun, vars, inner, ty): (Fun, &[Index], &concrete::Expr, Type),
) -> Sym {
    let start = cx.simplify.begins(fun, ty).expect("reductions have an identity");
    let t = b.var(cx, "t", ty, cx.symbols.value(start));
    let sink = Sink::Scalar { var: (t, ty), fun, begun: None };
    nest::plan(cx, b, vars, inner, scope.clone(), &sink);
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
    let sink = Sink::Scalar { var: (t, ty), fun: fold.fun, begun };
    nest::plan(cx, b, &fold.vars, &fold.body, scope.clone(), &sink);
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
