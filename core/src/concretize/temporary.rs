//! Temporaries that statements read: sums, folds, and what shape operators take apart, made before it.
//!
//! ```text
//!  sum(k: B[i,k] * D[k,j])          temporary sum: {dense, compressed}, over what is free in it
//!                                   forall i': … sum[i',j'] += B[i',k] * D[k,j']         its loops have variables of their own
//!                                   sum[i,j]                                             is read in the place of it
//! ```
//!
//! It is sparse where its value is one wherever its lists have no entry: that is its fill.

use super::Concretize;
use super::draft::Draft;
use crate::algebra::Value;
use crate::format::{Format, LevelKind};
use crate::iteration::background;
use crate::notation::concrete::{AccessId, Expr, Index, Program, Role, Tensor, reduction_name};
use crate::notation::typed::Fun;

/// A temporary's name, levels, and value where nothing is stored.
struct Kind<'s> {
    name: &'s str,
    format: Format,
    fill: Value,
}

/// A sum made before it is read, over its free variables.
pub(super) fn summed_apart(fun: Fun, sum: Expr, free: Vec<Index>, c: &mut Concretize) -> Expr {
    let Expr::Reduce(_, _, body, ty) = &sum else { unreachable!("it is a sum") };
    let simplify = c.given.simplify;
    let fill = simplify.begins(fun, *ty).expect("folds have an identity: checked before lowering");
    let lists = body.accesses();
    let (_, rest) = background(body, &lists, &|a| c.out.tensor(a).fill, simplify);
    let quiet = matches!(rest, Expr::Literal(v) if simplify.neutral(fun, v));
    let format = if quiet { sparse_format(&c.out, &free, &lists) } else { Format::dense(free.len()) };
    made_over(Kind { name: folding(fun), format, fill }, sum, (free, None), c)
}

/// A fold made before it is read, over its free variables.
pub(super) fn folded_apart(fold: Expr, free: Vec<Index>, c: &mut Concretize) -> Expr {
    let (lists, ty) = (fold.accesses(), fold.ty());
    let (format, fill) = match background(&fold, &lists, &|a| c.out.tensor(a).fill, c.given.simplify).1 {
        Expr::Literal(fill) => (sparse_format(&c.out, &free, &lists), fill),
        _ => (Format::dense(free.len()), Value::zero(ty)),
    };
    made_over(Kind { name: "fold", format, fill }, fold, (free, None), c)
}

/// An expression made before it is read: over its free variables and one of its own, which is read at another.
pub(super) fn taken_apart(
    name: &str,
    value: Expr,
    (free, own): (Vec<Index>, (Index, Index)),
    c: &mut Concretize,
) -> Expr {
    let (lists, ty) = (value.accesses(), value.ty());
    let (_, rest) = background(&value, &lists, &|a| c.out.tensor(a).fill, c.given.simplify);
    let sparse = lists.iter().any(|a| !c.out.tensor(*a).format.is_dense());
    let (format, fill) = match rest {
        Expr::Literal(fill) if sparse => {
            let mut levels = sparse_format(&c.out, &free, &lists).levels.to_vec();
            levels.push(LevelKind::Compressed);
            (Format::of(levels), fill)
        }
        _ => (Format::dense(free.len() + 1), Value::zero(ty)),
    };
    made_over(Kind { name, format, fill }, value, (free, Some(own)), c)
}

/// A value made before it is read: over its free variables, and one of its own, which is read at another.
fn made_over(
    Kind { name, format, fill }: Kind,
    value: Expr,
    (free, own): (Vec<Index>, Option<(Index, Index)>),
    c: &mut Concretize,
) -> Expr {
    let (own, at): (Vec<Index>, Vec<Index>) = own.into_iter().unzip();
    let extents = free.iter().chain(&own).map(|v| c.out.vars[v.0].extent).collect();
    let (name, ty) = (name.to_string(), value.ty());
    let place = c.out.place(Tensor { name, ty, extents, format, fill, role: Role::Temporary });
    let mut fresh = c.scheduled.fresh_loops(&free, &mut c.out);
    let value = c.out.rename(&value, &mut fresh);
    let target = free.iter().map(|v| fresh[v]).chain(own).collect();
    c.define(Draft::new(place, target, value));
    c.out.read(place, [free, at].concat())
}

/// What a temporary that a function folds is called for it.
pub(super) fn folding(fun: Fun) -> &'static str {
    match fun {
        Fun::Op(op) => reduction_name(op),
        Fun::User(_) => "fold",
    }
}

/// Levels for a temporary that is not everywhere: the outermost is dense if all
/// operands store it so.
fn sparse_format(program: &Program, vars: &[Index], accesses: &[AccessId]) -> Format {
    let densely = |v: &Index| {
        accesses.iter().all(|&a| {
            let (access, format) = (&program.accesses[a.0], &program.tensor(a).format);
            let along = |l: usize| program.follows(access.vars[format.order[l]], *v);
            (0..format.rank()).all(|l| !along(l) || format.levels[l].is_located())
        })
    };
    let outermost = vars.first().is_some_and(densely);
    let kind = |m: usize| if m == 0 && outermost { LevelKind::Dense } else { LevelKind::Compressed };
    Format::of((0..vars.len()).map(kind).collect())
}
