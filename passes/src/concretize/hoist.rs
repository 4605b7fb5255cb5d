//! Sums inside bodies: left where they are, or made temporaries before their statement.
//!
//! ```text
//!  C[i,j] = A[i,j] + sum(k: B[i,k] * D[k,j])       the sum's k must run outside of j
//!    ─▶  sum[i,j] += B[i,k] * D[k,j];  C[i,j] = A[i,j] + sum[i,j]
//! ```
//!
//! A sum that stays runs again at each iteration of the loops around it. It stays only where it depends on every one of those loops, so
//! that nothing is added up twice, and where the loops can follow its lists. Each of its lists depends on every loop too, or a list that
//! is needed beside the sum does: then there are as few iterations as that list has entries. A list that the loops cannot follow there is
//! copied, if a temporary would be computed in that order, too.
//!
//! ```text
//!  C[i,j] = M[i,j] * sum(k: A[i,k] * B[j,k])       of 10⁶ × 10⁶ sums those are made that M has entries for: the sum stays
//!  C[i,j] = M[i,j] * sum(k: A[i,k] * B[k,j])
//!    ─▶  sum[i,j] += select(M[i,j] != 0, A[i,k] * B[k,j], 0);  C[i,j] = M[i,j] * sum[i,j]
//!  C[i,j] = mask(M[i,j], sum(k: A[i,k] * B[k,j]))
//!    ─▶  C[i,j] += select(M[i,j], A[i,k] * B[k,j], 0)
//! ```

use super::Concretize;
use super::apart::Apart;
use super::draft::Draft;
use super::free::free_in;
use super::given::Given;
use super::join::{Around, look_up};
use super::out::Out;
use super::schedule::Scheduled;
use super::temporary::{folded_apart, made_already, summed_apart};
use fiberloom_core::algebra::{Op, Type, Value, evaluate};
use fiberloom_core::iteration::{Simplify, background, literal};
use fiberloom_core::notation::concrete::{self, AccessId, Assign, Expr, Fold, Index, Program};
use fiberloom_core::notation::typed::Fun;

/// The lists beside a part of a body.
#[derive(Default)]
struct Beside {
    /// Lists without whose entries the part is not needed.
    needed: Vec<AccessId>,
    /// Needed lists for which the following holds: if the list has its fill value, and the part is the fold's identity, the result
    /// does not depend on the part. In `0 * max(…)` it does, as `0 * -inf` is no number.
    asked: Vec<AccessId>,
}

/// The program that accesses belong to, and the algebra of its functions.
type Known<'s> = (&'s Program, Simplify<'s>);

/// A statement `if condition then sum else identity` as the sum of its body under the condition, so that no temporary is needed. A sum
/// that can run inside stays.
pub(super) fn taken_in(s: Draft, scheduled: &mut Scheduled, out: &mut Out, given: Given) -> Draft {
    if s.assign != Assign::Once {
        return s;
    }
    let (outer, over) = (s.outer(out), s.target.clone());
    let rhs = taken_in_beside(s.rhs, (&outer, &over), scheduled, out, given);
    Draft { rhs, ..s }.opened()
}

/// The statement with every sum that cannot run inside of the loops around it materialized before it.
pub(super) fn hoisted(s: Draft, c: &mut Concretize) -> Draft {
    let loops = s.loops(&c.out);
    let rhs = match s.rhs {
        // The fold that is the statement's value runs in the statement's loops.
        Expr::Fold(fold, ty) if !s.assign.scatters() => Expr::Fold(Box::new(hoist_parts(*fold, &loops, c)), ty),
        body => hoist(body, &loops, c),
    };
    Draft { rhs, ..s }
}

/// The expression with every sum that cannot run inside of the loops around it materialized before it.
fn hoist(e: Expr, outer: &[Index], c: &mut Concretize) -> Expr {
    hoist_beside(e, outer, &Beside::default(), c)
}

/// Takes the sum out of a part of a body, as [`taken_in`] does. `over` are the result's variables: the condition may not depend on
/// others.
fn taken_in_beside(
    rhs: Expr,
    (outer, over): (&[Index], &[Index]),
    scheduled: &mut Scheduled,
    out: &mut Out,
    given: Given,
) -> Expr {
    let Expr::Call(f @ Fun::Op(op), args, ty) = &rhs else { return rhs };
    let (condition, sum, elsewhere) = match (op, &args[..]) {
        (Op::Mask, [c, sum]) => (c, sum, Value::zero(*ty)),
        (Op::Select, [c, sum, Expr::Literal(v)]) => (c, sum, *v),
        _ => return rhs,
    };
    let Expr::Reduce(fun, vars, body, _) = sum else { return rhs };
    let none = given.simplify.begins(*fun, *ty).expect("folds have an identity: checked before lowering");
    if condition.has_loops() || body.has_loops() || elsewhere != none {
        return rhs;
    }
    let free = free_in(out, body, vars);
    let more = free_in(out, condition, &[]).iter().any(|v| !over.contains(v) && !free.contains(v));
    let needed = needed_by(*f, args, *ty, (out, given.simplify));
    if more || runs_inside(vars, body, (outer, &needed), scheduled, out).is_some() {
        return rhs;
    }
    let under = vec![condition.clone(), (**body).clone(), Expr::Literal(none)];
    let under = Expr::Call(Fun::Op(Op::Select), under, *ty);
    Expr::Reduce(*fun, vars.clone(), Box::new(under), *ty)
}

/// Hoists sums from a part of a body; `beside` are the lists beside it.
fn hoist_beside(e: Expr, outer: &[Index], beside: &Beside, c: &mut Concretize) -> Expr {
    let (needed, given) = (&beside.needed[..], c.given);
    match taken_in_beside(e, (outer, &[]), &mut c.scheduled, &mut c.out, given) {
        Expr::Call(fun, args, ty) => {
            let here = needed_by(fun, &args, ty, (&c.out, given.simplify));
            let part = |k| {
                let sum = only_sum(&args[k]);
                let is_asked = |a: &&AccessId| {
                    sum.is_some_and(|sum| is_asked(fun, (&args, k, sum), ty, **a, (&c.out, given.simplify)))
                };
                let mut asked = if sum.is_some() { beside.asked.clone() } else { vec![] };
                asked.extend(here.iter().filter(is_asked));
                Beside { needed: [needed, &here].concat(), asked }
            };
            let parts: Vec<Beside> = (0..args.len()).map(part).collect();
            let hoisted = args.into_iter().zip(&parts).map(|(a, part)| hoist_beside(a, outer, part, c));
            Expr::Call(fun, hoisted.collect(), ty)
        }
        Expr::Reduce(fun, vars, body, ty) => {
            let body = look_up(*body, &vars, Around::Fold(fun), c);
            let body = hoist(body, &[outer, &vars].concat(), c);
            let free = free_in(&c.out, &body, &vars);
            let asked = restricted((fun, ty), body.clone(), &free, &beside.asked, (&c.out, given.simplify));
            let asked = Expr::Reduce(fun, vars.clone(), Box::new(asked), ty);
            if let Some(read) = made_already(&asked, &free, c) {
                return read;
            }
            if let Some(inner) = runs_inside(&vars, &body, (outer, needed), &mut c.scheduled, &mut c.out)
                && !pays_apart(Apart { fun, inner: &inner, body: &body, free: &free }, (outer, needed), c)
            {
                return Expr::Reduce(fun, inner, Box::new(body), ty);
            }
            let stays = c.scheduled.is_bare() && stays(&c.out, &body, outer, (&free, needed));
            let sum = Apart { fun, inner: &vars, body: &body, free: &free };
            if let Some(inner) = stays.then(|| sum.runs_last(&c.out, c.given)).flatten() {
                return Expr::Reduce(fun, inner, Box::new(body), ty);
            }
            summed_apart(fun, asked, free, c)
        }
        Expr::Fold(fold, ty) => {
            let fold = hoist_parts(*fold, outer, c);
            let whole = Expr::Fold(Box::new(fold.clone()), ty);
            let free = free_in(&c.out, &whole, &[]);
            let followed = can_follow(&c.out, &fold.body, outer, &fold.vars);
            if stays(&c.out, &whole, outer, (&free, needed)) && followed { whole } else { folded_apart(whole, free, c) }
        }
        Expr::Concat(parts, ty) => Expr::Concat(Box::new(parts.map(|part| hoist(part, outer, c))), ty),
        other => other,
    }
}

/// Whether a sum that may run inside of the loops around it costs less before them: no command is about its loops, and it runs for each
/// iteration of those, rather than for the few entries of a list that is needed beside it.
fn pays_apart(sum: Apart, (outer, needed): (&[Index], &[AccessId]), c: &Concretize) -> bool {
    let few = needed.iter().any(|a| is_sparse(&c.out, *a) && is_moved(&c.out, *a, outer));
    c.scheduled.is_bare() && !few && sum.pays(&c.out, c.given)
}

/// The fold with its start and body hoisted.
fn hoist_parts(fold: Fold, outer: &[Index], c: &mut Concretize) -> Fold {
    let Fold { fun, vars, body, start } = fold;
    let start = start.map(|e| hoist(e, outer, c));
    let body = hoist(body, &[outer, &vars].concat(), c);
    Fold { fun, vars, body, start }
}

/// The body of a sum that is materialized: its terms are left out where no reader needs them.
fn restricted(
    (fun, ty): (Fun, Type),
    body: Expr,
    free: &[Index],
    asked: &[AccessId],
    (program, simplify): Known,
) -> Expr {
    let none = simplify.begins(fun, ty).expect("folds have an identity: checked before lowering");
    let by_loops = |a: &AccessId| program.accesses[a.0].vars.iter().all(|v| free.contains(v));
    let lists = body.accesses();
    let asks = asked.iter().filter(|a| is_sparse(program, **a) && by_loops(a) && !lists.contains(a));
    asks.fold(body, |body, a| {
        let tensor = program.tensor(*a);
        let (fill, element) = (Expr::Literal(tensor.fill), Expr::Access(*a, tensor.ty));
        let asked = Expr::Call(Fun::Op(Op::Ne), vec![element, fill], Type::Bool);
        Expr::Call(Fun::Op(Op::Select), vec![asked, body, Expr::Literal(none)], ty)
    })
}

fn is_sparse(program: &Program, a: AccessId) -> bool {
    program.tensor(a).format.levels.iter().any(|k| k.is_list())
}

/// The operands beside sums that are needed: where one has no entry, the call has its value of no entry at all.
fn needed_by(fun: Fun, args: &[Expr], ty: Type, (program, simplify): Known) -> Vec<AccessId> {
    if !args.iter().any(Expr::has_loops) {
        return vec![];
    }
    let lists: Vec<AccessId> = args.iter().filter(|e| !e.has_loops()).flat_map(Expr::accesses).collect();
    let call = Expr::Call(fun, args.to_vec(), ty);
    let (set, whole) = background(&call, &lists, &|a| program.tensor(a).fill, simplify);
    let needed = set.needed().filter(|_| !whole.has_loops());
    needed.map_or(vec![], |(lists, _)| lists)
}

/// The sum in an expression, if it is the only part with loops.
fn only_sum(e: &Expr) -> Option<&Expr> {
    match e {
        Expr::Reduce(..) => Some(e),
        Expr::Call(_, args, _) => {
            let mut with_loops = args.iter().filter(|arg| arg.has_loops());
            with_loops.next().filter(|_| with_loops.next().is_none()).and_then(only_sum)
        }
        _ => None,
    }
}

/// Whether a call does not depend on the sum in argument `k` where a list is at its fill value, given that the sum is its fold's identity
/// there.
fn is_asked(
    fun: Fun,
    (args, k, sum): (&[Expr], usize, &Expr),
    ty: Type,
    list: AccessId,
    (program, simplify): Known,
) -> bool {
    let (Expr::Reduce(folded, _, _, of), Fun::Op(f)) = (sum, fun) else { return false };
    let none = simplify.begins(*folded, *of).expect("folds have an identity: checked before lowering");
    let fill = |a: AccessId| (a == list).then(|| program.tensor(a).fill);
    let value = |n: usize| match n == k {
        true => computed(&args[n], (sum, none), simplify, &fill),
        false => literal(&simplify.replace(&args[n], &fill)),
    };
    match (f, value(0)) {
        // The condition alone decides whether the argument is needed.
        (Op::Mask, Some(c)) if k == 1 => !c.is_true(),
        (Op::Select, Some(c)) if k > 0 => c.is_true() != (k == 1),
        _ => {
            let values: Option<Vec<Value>> = (0..args.len()).map(value).collect();
            let any = simplify.replace(&Expr::Call(fun, args.to_vec(), ty), &fill);
            values.and_then(|values| evaluate(f, &values, simplify.mode)).is_some_and(|v| any == Expr::Literal(v))
        }
    }
}

/// What generated code computes of an expression with a sum whose value is known, if other values that it reads do not matter. Where the sum
/// is −∞, `0 * sum` is no number, whatever algebra says of 0.
fn computed(
    e: &Expr,
    (sum, value): (&Expr, Value),
    simplify: Simplify,
    fill: &impl Fn(AccessId) -> Option<Value>,
) -> Option<Value> {
    if e == sum {
        return Some(value);
    }
    let Expr::Call(fun, args, ty) = e else { return literal(&simplify.replace(e, fill)) };
    let known = |e: &Expr| match e.has_loops() {
        true => computed(e, (sum, value), simplify, fill).map(Expr::Literal),
        false => Some(simplify.replace(e, fill)),
    };
    let args: Vec<Expr> = args.iter().map(known).collect::<Option<_>>()?;
    let all: Option<Vec<Value>> = args.iter().map(literal).collect();
    match (fun, all) {
        (Fun::Op(op), Some(all)) => evaluate(*op, &all, simplify.mode),
        _ => literal(&simplify.call(*fun, args, *ty)),
    }
}

/// The order of a sum's own loops if it can stay inside of those around it.
fn runs_inside(
    vars: &[Index],
    body: &Expr,
    (outer, needed): (&[Index], &[AccessId]),
    scheduled: &mut Scheduled,
    out: &mut Out,
) -> Option<Vec<Index>> {
    let free = free_in(out, body, vars);
    let inner = scheduled.said(vars, out).unwrap_or_else(|| inner_order(vars, body, outer, out));
    (stays(out, body, outer, (&free, needed)) && can_follow(out, body, outer, &inner)).then_some(inner)
}

/// Whether a sum may run inside the loops around it without doing work again or everywhere: it depends on all of
/// their variables, and so does each of its sparse operands, or a sparse one that is needed beside it.
fn stays(program: &Program, body: &Expr, outer: &[Index], (free, needed): (&[Index], &[AccessId])) -> bool {
    let moved = |a: &AccessId| is_moved(program, *a, outer);
    let few = needed.iter().filter(|a| is_sparse(program, **a)).any(moved);
    outer.iter().all(|v| free.iter().any(|w| program.follows(*w, *v)))
        && (few || body.accesses().iter().filter(|a| is_sparse(program, **a)).all(moved))
}

/// Whether each of these loops moves an access.
fn is_moved(program: &Program, a: AccessId, outer: &[Index]) -> bool {
    outer.iter().all(|v| program.accesses[a.0].vars.iter().any(|w| program.follows(*w, *v)))
}

/// Whether every list of a body can be followed when `outer` is bound first, in whatever order, then `inner`.
fn can_follow(program: &Program, body: &Expr, outer: &[Index], inner: &[Index]) -> bool {
    body.accesses().into_iter().all(|a| {
        let access = &program.accesses[a.0];
        let time = |v: &Index| match inner.iter().position(|w| w == v) {
            Some(n) => n + 1,
            None if outer.contains(v) => 0,
            None => inner.len() + 1,
        };
        let time = |v: &Index| program.roots(*v).iter().map(time).max().unwrap_or(concrete::ALWAYS);
        let times: Vec<usize> = access.vars.iter().map(time).collect();
        program.concordant(a, &times)
    })
}

/// The order of a sum's own loops: that of the lists below, if they agree.
fn inner_order(vars: &[Index], body: &Expr, outer: &[Index], program: &Program) -> Vec<Index> {
    if vars.len() < 2 {
        return vars.to_vec();
    }
    let mut best = vars.to_vec();
    for a in body.accesses() {
        let access = &program.accesses[a.0];
        let format = &program.tensor(a).format;
        let levels = format.order.iter().flat_map(|&m| program.roots(access.vars[m]));
        let mut wanted: Vec<Index> = Vec::new();
        for v in levels.filter(|v| vars.contains(v)) {
            if !wanted.contains(&v) {
                wanted.push(v);
            }
        }
        wanted.extend(vars.iter().filter(|v| !wanted.contains(v)).copied().collect::<Vec<_>>());
        if wanted.len() == vars.len() && can_follow(program, body, outer, &wanted) {
            best = wanted;
            break;
        }
    }
    best
}
