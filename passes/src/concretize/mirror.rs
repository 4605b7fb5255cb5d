//! Reads each stored entry of a symmetric matrix once, for both of its places.
//!
//! ```text
//!  y[i] = sum(j: S[i,j] * x[j])                S symmetric: stored up to the diagonal
//!    ─▶  forall i: y[i] = sum(j: select(j < i, S[i,j] * x[j], 0)) + S[i,i] * x[i]  also y[j] += S[i,j] * x[i]
//! ```
//!
//! An entry left of the diagonal belongs to row `i` and, mirrored, to row `j`, which is complete already: it adds to both. Otherwise each
//! row would visit its mirrored entries by going down a column, the slowest way through a triangle.
//!
//! The fold has to be free in its order and go into a dense vector; the other operands have to be dense and depend on the fold's variable
//! alone, so that reading them for the mirrored entry takes no search. Rows that a schedule wants in parallel add to no other: each visits its
//! mirrored entries.

use super::draft::Draft;
use super::given::Given;
use super::out::Out;
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::notation::concrete::{
    Access, AccessId, Also, Assign, Body, Claim, Expr, Index, Nest, Origin, Program,
};
use fiberloom_core::notation::typed::Fun;

/// The nest that visits each stored entry once, if that is possible.
pub(super) fn mirrored(s: &Draft, out: &mut Out, given: Given) -> Option<Nest> {
    let (&[i], Assign::Fold(fun), &[j], body) = (&s.target[..], &s.assign, &s.sums[..], &s.rhs) else { return None };
    let fun = *fun;
    let ty = out.tensors[s.place.0].ty;
    let none = given.gathered(fun, ty, false)?;
    let loops = [i, j].iter().all(|v| out.vars[v.0].origin == Origin::Loop);
    let twice = stands_twice(body, [i, j], out)?;
    let apart = out.vars[i.0].hints.claim != Claim::Nothing;
    if apart || !(loops && out.tensors[s.place.0].format.is_dense() && is_arithmetic(body)) {
        return None;
    }
    let row = under(body, twice, ([i, j], j), out);
    let (diagonal, column) = (under(body, twice, ([i, i], i), out), under(body, twice, ([i, j], i), out));
    let left = Expr::Call(Fun::Op(Op::Lt), vec![Expr::Index(j), Expr::Index(i)], Type::Bool);
    let row = Expr::Call(Fun::Op(Op::Select), vec![left, row, Expr::Literal(none)], ty);
    let row = Expr::Reduce(fun, vec![j], Box::new(row), ty);
    let rhs = Expr::Call(fun, vec![row, diagonal], ty);
    let body = Body::Also(Also { at: j, fun, rhs: column });
    Some(Nest { target: Access::of(s.place, vec![i]), loops: vec![i], body, rhs })
}

/// The one symmetric access of a body whose other accesses are all dense, under `j` alone.
fn stands_twice(body: &Expr, [i, j]: [Index; 2], program: &Program) -> Option<AccessId> {
    let symmetric = |a: &AccessId| matches!(program.tensor(*a).format.levels[..], [rows, columns] if rows.is_full() && columns.is_mirrored());
    let vars = |a: &AccessId| &program.accesses[a.0].vars[..];
    let (twice, beside): (Vec<AccessId>, Vec<AccessId>) = body.accesses().into_iter().partition(symmetric);
    let &[a] = &twice[..] else { return None };
    let plain = |a: &AccessId| program.accesses[a.0].protocols.is_empty();
    let of_j = |a: &AccessId| program.tensor(*a).format.is_dense() && vars(a).iter().all(|v| *v == j);
    let both = vars(&a) == [i, j] || vars(&a) == [j, i];
    (both && plain(&a) && beside.iter().all(|a| plain(a) && of_j(a))).then_some(a)
}

/// The body with the symmetric access under the variables `levels`, level by level, and the other accesses under `at`.
fn under(e: &Expr, twice: AccessId, (levels, at): ([Index; 2], Index), out: &mut Out) -> Expr {
    match e {
        Expr::Access(a, ty) => {
            let Access { tensor, vars, .. } = out.accesses[a.0].clone();
            let mut under = vec![at; vars.len()];
            if *a == twice {
                let order = &out.tensors[tensor.0].format.order;
                order.iter().zip(levels).for_each(|(m, v)| under[*m] = v);
            }
            Expr::Access(out.access(tensor, under), *ty)
        }
        Expr::Call(fun, args, ty) => {
            Expr::Call(*fun, args.iter().map(|e| under(e, twice, (levels, at), out)).collect(), *ty)
        }
        other => other.clone(),
    }
}

/// Whether an expression is plain arithmetic, without a condition that could skip coordinates.
pub(super) fn is_arithmetic(e: &Expr) -> bool {
    match e {
        Expr::Literal(_) | Expr::Access(..) => true,
        Expr::Call(Fun::Op(Op::Add | Op::Sub | Op::Mul | Op::Neg | Op::Min | Op::Max | Op::Abs), args, ty) => {
            *ty != Type::Bool && args.iter().all(is_arithmetic)
        }
        _ => false,
    }
}
