//! The state of accesses: the fibers that the loops around have opened, levels that are located or searched, and loads.

use super::builtin::builtin;
use super::nest::Sink;
use super::{Context, Expr, Holds, LevelBuffers, binary, held, int, plus, times};
use crate::algebra::{Op, Type, Value};
use crate::iteration::{Sequence, background};
use crate::loops::choose::{
    access,
    scope::{Fiber, Positions, Scope},
    symbol::Sym,
};
use crate::loops::lower::{self, call, choice, coordinate, nest, spread, structure};
use crate::loops::plan::{Seek, Sought};
use crate::loops::{self, Failure, Symbolic, Term};
use crate::notation::concrete::{self, AccessId, Computed, Fold, Index};
use crate::notation::typed::Fun;
use crate::stream::{Directory, Domain, Entry, EntryRun, List, ListFiber, Table, bounds};

/// The flag at a position of a level that has flags: false where nothing is stored.
fn flag(level: &LevelBuffers, position: &Expr) -> Option<Expr> {
    if let Some(flags) = level.array(Holds::Flags) {
        return Some(Expr::Load(flags, Box::new(position.clone())));
    }
    let words = level.array(Holds::Words)?;
    let word = binary(Op::FloorDiv, position.clone(), int(64));
    let bit = binary(Op::FloorRem, position.clone(), int(64));
    let bit = Expr::Op(Op::Convert(Type::U64), vec![bit]);
    let shifted = binary(Op::Shr, Expr::Load(words, Box::new(word)), bit);
    let one = Expr::Const(Value::from_bits(Type::U64, 1));
    Some(binary(Op::Eq, binary(Op::And, shifted, one.clone()), one))
}

/// An entry's positions, as symbols of expressions that may be used here.
pub(super) fn placed(cx: &Context, d: &mut Symbolic, entry: &Entry<Term>) -> Positions {
    let run = entry.run.as_ref().map(|run| match run {
        EntryRun::Ends(end) => EntryRun::Ends(Term::fixed(d.place(end))),
        open => open.clone(),
    });
    (cx.sym(d.place(&entry.position)), run.map(|run| cx.name_run(run)))
}

pub(super) fn levels<'c>(cx: &'c Context, a: AccessId) -> &'c [LevelBuffers] {
    &lower::arrays_of(cx, cx.program.accesses[a.0].tensor).levels
}

/// The whole fiber that an access opens next, of a list or of the ends of runs and blocks. Where the fiber is absent, the result is
/// empty.
pub(super) fn unopened(cx: &Context, d: &mut Symbolic, scope: &Scope, a: AccessId) -> ListFiber<Term> {
    let fiber = scope.fiber(a);
    let position = cx.expr(fiber.position);
    let parent = Term::fixed(position.clone());
    let level = &levels(cx, a)[fiber.depth];
    let crd = level.array(Holds::Coordinates).expect("only lists have entries");
    let (begin, end) = match level.array(Holds::Positions) {
        Some(pos) => bounds(d, pos, &parent),
        None => {
            let end = fiber.run.map(|run| cx.run(run).end(d));
            (parent, end.unwrap_or_else(|| Term::fixed(plus(position, int(1)))))
        }
    };
    let within = scope.block(a).map(|block| (Term::fixed(cx.expr(block.begin)), Term::fixed(cx.expr(block.end))));
    let (begin, end) = within.unwrap_or((begin, end));
    let repeats = cx.program.tensor(a).format.repeats(fiber.depth);
    let directory = directory(cx, scope, a);
    let all = |begin: Term, end: Term| ListFiber { repeats, directory, ..ListFiber::unique(crd, begin, end) };
    let Some(present) = cx.present(&fiber) else { return all(begin, end) };
    let present = Term::fixed(present);
    let zero = d.int(0);
    let begin = d.select(&present, &|_| begin.clone(), zero.clone());
    let end = d.select(&present, &|_| end.clone(), zero);
    all(begin, end)
}

/// The bucket index of an access's first list, as its loop may use it: with the list's extent, if the loop's range may begin behind it;
/// none if the loop goes beyond the extent.
fn directory_here(cx: &Context, scope: &Scope, a: AccessId, directory: &Directory<Term>) -> Option<Directory<Term>> {
    let Some((level, w)) = access::next_var(cx, scope, a) else { return Some(directory.clone()) };
    if scope.is_loose(w) || access::is_of_asked(cx, scope, w) {
        return None;
    }
    let tensor = cx.program.tensor(a);
    let extent = || Term::fixed(cx.extent(tensor.extents[tensor.format.order[level]]));
    Some(Directory { extent: access::is_of_stray(cx, scope, w).then(extent), ..directory.clone() })
}

/// The fiber below an entry whose run of positions has no known end, if walking it one by one may find the end.
pub(super) fn of_run(cx: &Context, scope: &Scope, a: AccessId) -> Option<ListFiber<Term>> {
    let fiber = scope.fiber(a);
    let (depth, position) = (fiber.depth, cx.expr(fiber.position));
    let level = &levels(cx, a)[depth];
    let crd = level.array(Holds::Coordinates).filter(|_| level.kind().continues_chain())?;
    let once = !fiber.may_miss() && scope.block(a).is_none() && !cx.program.tensor(a).format.repeats(depth);
    match fiber.run.map(|run| cx.run(run)) {
        Some(EntryRun::Open(run)) if once => Some(ListFiber::of_run(crd, run, Term::fixed(position))),
        _ => None,
    }
}

/// Opens every further level whose variable is bound: located levels by arithmetic, lists by search. Returns the accesses that may be
/// absent; flags are loaded only if `flagged`.
///
/// No load is out of bounds: an access is absent where a coordinate is missing, or where a guard fails.
pub(super) fn locate(
    cx: &Context,
    d: &mut Symbolic,
    scope: &mut Scope,
    body: &concrete::Expr,
    flagged: bool,
) -> Vec<AccessId> {
    let mut searched = Vec::new();
    for a in body.accesses() {
        while let Some((level, v)) = access::next_var(cx, scope, a)
            && let Some(at) = come_to(cx, d, scope, v)
        {
            let inside = in_array(cx, scope, (a, level), v, &at);
            inside.iter().for_each(|inside| scope.require(a, *inside));
            let fiber = scope.fiber(a);
            let tensor = cx.program.tensor(a);
            let seek = seek(cx, scope, a, flagged);
            if tensor.format.levels[level].is_located() {
                let extent = cx.extent(tensor.extents[tensor.format.order[level]]);
                let position = plus(times(cx.expr(fiber.position), extent), at);
                let flag = flag(&levels(cx, a)[level], &position).filter(|_| seek == Sought::Flag);
                let present = match flag {
                    None => fiber.present,
                    Some(flag) => {
                        searched.push(a);
                        let flag = cx.present(&fiber).into_iter().fold(flag, |f, p| binary(Op::AndAlso, p, f));
                        vec![cx.sym(d.define("set", Type::Bool, flag))]
                    }
                };
                scope.descend(a, (cx.sym(position), None), present);
            } else if !tensor.format.levels[level].is_list() {
                if structure::open_computed(cx, d, scope, a, at) {
                    searched.push(a);
                }
                // An interval that begins with 0 does not test the begin, so coordinates before it must be excluded here.
                inside.into_iter().filter(|_| fiber.may_miss()).for_each(|inside| scope.restrict(a, inside));
            } else {
                let at = held(d, &cx.program.vars[v.0].name, at);
                let inside = inside.into_iter().filter(|_| fiber.may_miss()).map(|inside| cx.expr(inside));
                let inside = inside.reduce(|a, b| binary(Op::AndAlso, a, b));
                search(cx, d, scope, (a, seek), (at, inside));
                searched.push(a);
            }
        }
    }
    searched
}

/// How an access's next level is opened at a coordinate: the first applicable method.
fn seek(cx: &Context, scope: &Scope, a: AccessId, flagged: bool) -> Sought {
    let level = (a, scope.fiber(a).depth);
    let kind = cx.program.tensor(a).format.levels[level.1];
    let list = kind.is_list();
    let can = |by: &Sought| match by {
        Sought::Flag => flagged && kind.is_flagged(),
        Sought::Locate => kind.is_located(),
        Sought::Piece => !kind.is_located() && !list,
        Sought::Table => list && scope.is_laid(a),
        Sought::Hash => list && kind.has_table() && !scope.is_laid(a),
        Sought::Directory => list && directory(cx, scope, a).is_some() && !scope.is_laid(a),
        Sought::Search => list && !scope.is_laid(a),
    };
    let first = || Sought::ALL.into_iter().find(can).expect("a level is located, listed or in pieces");
    cx.book.decide_if(|seek: &Seek| seek.level == level && can(&seek.by), || Seek { level, by: first() }).by
}

/// The bucket index of the list that an access opens next, if it has one that may be used here.
fn directory(cx: &Context, scope: &Scope, a: AccessId) -> Option<Directory<Term>> {
    let first = scope.fiber(a).depth == 0 && scope.block(a).is_none();
    cx.prepared.directories.get(&a).filter(|_| first).and_then(|directory| directory_here(cx, scope, a, directory))
}

/// The value of an index variable, if it is bound, or if every variable that it is computed from is.
pub(super) fn come_to(cx: &Context, d: &mut Symbolic, scope: &mut Scope, v: Index) -> Option<Expr> {
    if let Some(at) = coordinate::of(cx, scope, v) {
        return Some(at);
    }
    let computed = cx.program.computed(v)?;
    let ready = cx.program.roots(v).into_iter().all(|u| scope.coordinate(u).is_some());
    ready.then(|| {
        let at = compute(cx, d, scope, v, computed);
        scope.compute(v, cx.sym(at.clone()));
        at
    })
}

/// The condition that a guard of one of these variables fails; `None` if they have no guards.
fn is_outside(cx: &Context, scope: &Scope, of: &[Index]) -> Option<Expr> {
    let mut inside: Vec<Sym> = of.iter().flat_map(|u| access::asked_around(cx, scope, *u)).collect();
    inside.dedup();
    let outside = inside.into_iter().map(|inside| Expr::Op(Op::Not, vec![cx.expr(inside)]));
    outside.reduce(|a, b| binary(Op::OrElse, a, b))
}

/// The conditions under which the coordinate of an access's level is within its array; none for a list that has no entry elsewhere.
fn in_array(cx: &Context, scope: &Scope, (a, level): (AccessId, usize), v: Index, at: &Expr) -> Vec<Sym> {
    let missing = cx.program.may_miss(v).then(|| cx.sym(binary(Op::Ge, at.clone(), int(0))));
    let list = cx.program.tensor(a).format.levels[level].is_list() && !scope.is_laid(a);
    let asked = if list && scope.is_loose(v) { vec![] } else { access::asked_around(cx, scope, v) };
    missing.into_iter().chain(asked).collect()
}

/// Computes a coordinate that no loop follows. Tensors that it reads are located. A coordinate that leaves its extent is −1 if the index
/// permits that; otherwise the kernel fails. A coordinate computed from a missing coordinate is −1.
fn compute(cx: &Context, d: &mut Symbolic, scope: &mut Scope, v: Index, computed: &Computed) -> Expr {
    let Computed { of, permit, caught } = computed;
    locate(cx, d, scope, of, false);
    let concrete::Var { name, extent, .. } = &cx.program.vars[v.0];
    let at = value(cx, d, scope, of);
    let at = d.define(name, Type::I64, at);
    if !computed.is_read() && !permit {
        return at;
    }
    let leaves = binary(Op::Lt, at.clone(), int(0));
    let leaves = binary(Op::OrElse, leaves, binary(Op::Ge, at.clone(), cx.extent(*extent)));
    let unless = |d: &mut Symbolic, missing: Expr| {
        let found = Expr::Op(Op::Select, vec![missing, int(-1), at.clone()]);
        d.define(name, Type::I64, found)
    };
    let under = cx.program.under(of).into_iter().filter(|u| !caught && cx.program.may_miss(*u));
    let missing = under.map(|u| binary(Op::Lt, coordinate::of(cx, scope, u).expect("computed before"), int(0)));
    let missing = missing.chain(is_outside(cx, scope, &cx.program.under(of)));
    let missing = missing.reduce(|a, b| binary(Op::OrElse, a, b));
    if *permit {
        return unless(d, leaves);
    }
    let outside =
        missing.iter().fold(leaves, |out, missing| binary(Op::AndAlso, Expr::Op(Op::Not, vec![missing.clone()]), out));
    d.when(outside, |d| d.call(loops::Entry::Fail(Failure::Outside)), |_| {});
    missing.map_or(at.clone(), |missing| unless(d, missing))
}

/// Opens a list at a coordinate, which may be outside of its array if `inside` does not hold.
fn search(
    cx: &Context,
    d: &mut Symbolic,
    scope: &mut Scope,
    (a, by): (AccessId, Sought),
    (at, inside): (Expr, Option<Expr>),
) {
    let name = format!("p_{}", cx.program.tensor(a).name);
    if scope.is_laid(a) {
        return spread::ask(cx, d, scope, a, (at, inside));
    }
    let target = Term::fixed(at);
    let fiber = scope.fiber(a);
    let mut unopened = unopened(cx, d, scope, a);
    let level = &levels(cx, a)[fiber.depth];
    if by == Sought::Hash {
        let [crd, table] = ["crd", "table"].map(|name| *level.named(name));
        let parent = Term::fixed(cx.expr(fiber.position));
        let size = Term::fixed(Expr::Capacity(table));
        let (found, position) = Table { crd, table, size }.find(d, &name, &parent, &unopened, &target);
        let (found, position) = (d.place(&found), d.place(&position));
        return scope.descend(a, (cx.sym(position), None), vec![cx.sym(found)]);
    }
    unopened.end = d.snapshot("end", unopened.end);
    unopened.directory = unopened.directory.filter(|_| by == Sought::Directory);
    let list = List::open(d, &name, unopened);
    list.seek(d, &target);
    let found = list.found(d, &target);
    let found = d.snapshot_bool("found", found);
    let entry = list.entry(d);
    let (found, entry) = (d.place(&found), placed(cx, d, &entry));
    scope.descend(a, entry, vec![cx.sym(found)]);
}

/// The condition under which a body that has searched `lists` has an effect; `None` if it always has. Marks in `scope` the lists that are
/// certainly present where the condition holds.
pub(super) fn guard(
    cx: &Context,
    scope: &mut Scope,
    body: &concrete::Expr,
    lists: &[AccessId],
    nothing: &impl Fn(&concrete::Expr) -> bool,
) -> Option<Expr> {
    let fill = |a: AccessId| cx.fill(a);
    let (sequence, rest) = background(body, lists, &fill, cx.simplify);
    if !nothing(&rest) {
        return None;
    }
    let condition = holds(&sequence, &|a| cx.present(&scope.fiber(a)).expect("searched for"));
    for &a in lists.iter().filter(|a| sequence.exhaust(**a) == Sequence::Empty) {
        scope.certain(a);
    }
    Some(condition)
}

/// A sequence expression as a condition; `present` gives the condition that a list has an entry.
pub(super) fn holds(s: &Sequence, present: &impl Fn(AccessId) -> Expr) -> Expr {
    let constant = |c: bool| Expr::Const(crate::algebra::Value::bool(c));
    let mut and = |a, b| binary(Op::AndAlso, a, b);
    let mut or = |a, b| binary(Op::OrElse, a, b);
    s.fold(&mut |a| present(a), &constant, &mut and, &mut or)
}

/// Loads the values of accesses whose levels are all open, once, before the loops inside.
pub(super) fn keep_values(cx: &Context, d: &mut Symbolic, scope: &mut Scope, body: &concrete::Expr) {
    for a in body.accesses() {
        let fiber = scope.fiber(a);
        if access::next_var(cx, scope, a).is_none() && fiber.value.is_none() && fiber.depth > 0 {
            let tensor = cx.program.tensor(a);
            let value = load(cx, &fiber, a);
            let value = d.define(&tensor.name.to_lowercase(), tensor.ty, value);
            scope.keep(a, cx.sym(value));
        }
    }
}

/// The value of an access whose levels are all open.
pub(super) fn load(cx: &Context, fiber: &Fiber, a: AccessId) -> Expr {
    if let Some(value) = fiber.value {
        return cx.expr(value);
    }
    load_from(cx, fiber, cx.program.accesses[a.0].tensor)
}

/// The value of a tensor at a fiber whose levels are all open: the fill value where nothing is stored. The tensor has the structure of
/// the access's.
fn load_from(cx: &Context, fiber: &Fiber, tensor: concrete::Place) -> Expr {
    let load = Expr::Load(lower::arrays_of(cx, tensor).values, Box::new(cx.expr(fiber.position)));
    let fill = cx.program.tensors[tensor.0].fill;
    match cx.present(fiber) {
        None => load,
        Some(present) => Expr::Op(Op::Select, vec![present, load, Expr::Const(fill)]),
    }
}

/// The value of a body whose loops around are all bound; folds inside it emit loops of their own.
pub(super) fn value(cx: &Context, d: &mut Symbolic, scope: &Scope, body: &concrete::Expr) -> Expr {
    match body {
        concrete::Expr::Literal(v) => Expr::Const(*v),
        concrete::Expr::Index(v) => {
            let known = coordinate::of(cx, scope, *v);
            known.or_else(|| come_to(cx, d, &mut scope.clone(), *v)).expect("bound: checked concrete notation")
        }
        concrete::Expr::Access(a, _) => load(cx, &scope.fiber(*a), *a),
        concrete::Expr::Column(column) => load_from(cx, &scope.fiber(column.of), column.tensor),
        concrete::Expr::Call(fun, args, _) => {
            let args = args.iter().map(|e| value(cx, d, scope, e)).collect();
            applied(cx, d, *fun, args)
        }
        concrete::Expr::Reduce(op, vars, inner, ty) => reduction(cx, d, scope, (*op, vars, inner, *ty)),
        concrete::Expr::Fold(fold, ty) => folded(cx, d, scope, fold, *ty),
        concrete::Expr::Concat(c, ty) => choice::asked_value(cx, d, scope, c, *ty),
        concrete::Expr::Where(..) => unreachable!("it is made before the loops that read it: checked"),
    }
}

fn reduction(
    cx: &Context,
    d: &mut Symbolic,
    scope: &Scope,
    (fun, vars, inner, ty): (Fun, &[Index], &concrete::Expr, Type),
) -> Expr {
    let start = cx.simplify.begins(fun, ty).expect("reductions have an identity");
    let t = d.fresh("t", ty);
    d.assign(t, Expr::Const(start));
    let sink = Sink::Scalar { var: t, fun, begun: None };
    nest::emit(cx, d, vars, inner, scope.clone(), &sink);
    Expr::Var(t)
}

/// A fold in the order of its loops. It begins with its `start`, else with a neutral value if there is one, else with its first value. A
/// fold over no values is the function's identity; the check of extents refuses an empty fold of a function without one.
fn folded(cx: &Context, d: &mut Symbolic, scope: &Scope, fold: &Fold, ty: Type) -> Expr {
    let none = cx.simplify.begins(fold.fun, ty);
    let start = match &fold.start {
        Some(start) => Some(value(cx, d, scope, start)),
        None => first(cx, fold, ty),
    };
    let begun = start.is_none().then(|| d.fresh("begun", Type::Bool));
    let t = d.fresh("t", ty);
    d.assign(t, start.unwrap_or(Expr::Const(none.unwrap_or(Value::zero(ty)))));
    if let Some(begun) = begun {
        d.assign(begun, Expr::Const(Value::bool(false)));
    }
    let sink = Sink::Scalar { var: t, fun: fold.fun, begun };
    nest::emit(cx, d, &fold.vars, &fold.body, scope.clone(), &sink);
    Expr::Var(t)
}

/// A value with which a fold may begin instead of its first value. (The sum of nothing is 0.0, but 0.0 + −0.0 is 0.0: a sum of something
/// begins with −0.0.)
fn first(cx: &Context, fold: &Fold, ty: Type) -> Option<Expr> {
    let none = cx.simplify.begins(fold.fun, ty);
    if let Some(v) = none.filter(|v| cx.simplify.leads(fold.fun, *v)) {
        return Some(Expr::Const(v));
    }
    let leads = cx.simplify.leader(fold.fun, ty)?;
    let some = fold.vars.iter().map(|v| binary(Op::Gt, cx.extent(cx.program.vars[v.0].extent), int(0)));
    let some = some.reduce(|a, b| binary(Op::AndAlso, a, b))?;
    Some(Expr::Op(Op::Select, vec![some, Expr::Const(leads), Expr::Const(none?)]))
}

/// The value of a function applied to arguments; declared functions are inlined.
pub(super) fn applied(cx: &Context, d: &mut Symbolic, fun: Fun, args: Vec<Expr>) -> Expr {
    match fun {
        Fun::Op(op) => builtin(d, op, args, cx.simplify.mode),
        Fun::User(f) => call::call(cx, d, f, args),
    }
}
