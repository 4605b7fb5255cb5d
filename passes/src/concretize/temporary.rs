//! Materialized temporaries: sums, folds and collapsed expressions, computed before the statement that reads them.
//!
//! ```text
//!  sum(k: B[i,k] * D[k,j])          temporary sum: {dense, compressed}, over what is free in it
//!                                   forall i': … sum[i',j'] += B[i',k] * D[k,j']         with loop variables of its own
//!                                   sum[i,j]                                             replaces the sum
//! ```
//!
//! A temporary is sparse if it has a single value wherever its lists have no entry: that is its fill.

use super::apart::{Apart, levels};
use super::draft::Draft;
use super::out::Out;
use super::{Concretize, Materialized};
use fiberloom_core::algebra::Value;
use fiberloom_core::format::{Format, LevelKind};
use fiberloom_core::iteration::background;
use fiberloom_core::notation::concrete::{Expr, Index, Origin, Place, Role, Tensor, reduction_name};
use fiberloom_core::notation::typed::Fun;

/// A temporary's name, levels, and value where nothing is stored.
struct Kind<'s> {
    name: &'s str,
    format: Format,
    fill: Value,
}

/// Sums that are materialized before statements.
#[derive(Default)]
pub(super) struct Sums {
    /// The sums of the current statement.
    made: Vec<Made>,
    /// The sums of statements without commands about their loops.
    pub planned: Vec<Place>,
}

/// A sum, the loops' variables that are free in it, and where it is read.
#[derive(Clone)]
struct Made {
    sum: Expr,
    free: Vec<Index>,
    place: Place,
}

impl Sums {
    /// Begins a statement, which may read other versions of tensors: sums of earlier statements are not reused.
    pub fn begin(&mut self) {
        self.made.clear();
    }
}

/// A read of an equal sum, up to the names of variables, if the statement has one already.
pub(super) fn made_already(sum: &Expr, free: &[Index], c: &mut Concretize) -> Option<Expr> {
    let made = c.sums.made.clone();
    let place = made.iter().find(|made| is_same((sum, free), made, &mut c.out))?.place;
    Some(c.out.read(place, free.to_vec()))
}

fn is_same((sum, free): (&Expr, &[Index]), made: &Made, out: &mut Out) -> bool {
    let (Expr::Reduce(fun, vars, body, _), Expr::Reduce(other, own, value, _)) = (sum, &made.sum) else { return false };
    let pairs = || free.iter().zip(&made.free).chain(vars.iter().zip(own));
    let alike = |(v, own): (&Index, &Index)| {
        let [v, own] = [v, own].map(|v| &out.vars[v.0]);
        (v.extent, &v.origin, &v.limits) == (own.extent, &own.origin, &own.limits) && v.origin == Origin::Loop
    };
    if fun != other || free.len() != made.free.len() || vars.len() != own.len() || !pairs().all(alike) {
        return false;
    }
    let mut names = pairs().map(|(v, own)| (*v, *own)).collect();
    out.rename(body, &mut names) == **value
}

/// Materializes a sum over its free variables, and reads it.
pub(super) fn summed_apart(fun: Fun, sum: Expr, free: Vec<Index>, c: &mut Concretize) -> Expr {
    let Expr::Reduce(_, inner, body, ty) = &sum else { unreachable!("it is a sum") };
    let simplify = c.given.simplify;
    let fill = simplify.begins(fun, *ty).expect("folds have an identity: checked before lowering");
    let (_, rest) = background(body, &body.accesses(), &|a| c.out.tensor(a).fill, simplify);
    let quiet = matches!(rest, Expr::Literal(v) if simplify.neutral(fun, v));
    let apart = Apart { fun, inner, body, free: &free };
    let format = if quiet { apart.levels(&c.out, c.given) } else { Format::dense(free.len()) };
    let (planned, known) = (c.scheduled.is_bare(), (sum.clone(), free.clone()));
    let read = made_over(Kind { name: folding(fun), format, fill }, sum, (free, None), c);
    let place = c.out.accesses[read.access().expect("it reads a tensor").0].tensor;
    c.sums.made.push(Made { sum: known.0, free: known.1, place });
    c.sums.planned.extend(planned.then_some(place));
    read
}

/// Materializes a fold over its free variables, and reads it.
pub(super) fn folded_apart(fold: Expr, free: Vec<Index>, c: &mut Concretize) -> Expr {
    let (lists, ty) = (fold.accesses(), fold.ty());
    let (format, fill) = match background(&fold, &lists, &|a| c.out.tensor(a).fill, c.given.simplify).1 {
        Expr::Literal(fill) => (levels(&c.out, &free, &lists), fill),
        _ => (Format::dense(free.len()), Value::zero(ty)),
    };
    made_over(Kind { name: "fold", format, fill }, fold, (free, None), c)
}

/// Materializes an expression over its free variables and one of its own, and reads it at another variable.
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
            let mut levels = levels(&c.out, &free, &lists).levels.to_vec();
            levels.push(LevelKind::Compressed);
            (Format::of(levels), fill)
        }
        _ => (Format::dense(free.len() + 1), Value::zero(ty)),
    };
    made_over(Kind { name, format, fill }, value, (free, Some(own)), c)
}

/// Materializes a value in a dense tensor over its free variables, and reads it.
pub(super) fn made_apart(name: &str, value: Expr, free: Vec<Index>, c: &mut Concretize) -> Expr {
    let kind = Kind { name, format: Format::dense(free.len()), fill: Value::zero(value.ty()) };
    made_over(kind, value, (free, None), c)
}

/// Materializes a value over its free variables and perhaps one of its own, and reads it with another variable in that place.
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
    let names = c.scheduled.names(&free).zip(c.scheduled.names(&value.fold_vars()));
    if let (Some((free, folded)), Expr::Reduce(..) | Expr::Fold(..)) = (names, &value) {
        c.chosen.folds.push((c.statement, Materialized { place, free, folded }));
    }
    let mut fresh = c.scheduled.fresh_loops(&free, &mut c.out);
    let value = c.out.rename(&value, &mut fresh);
    let target = free.iter().map(|v| fresh[v]).chain(own).collect();
    c.define(Draft::new(place, target, value));
    c.out.read(place, [free, at].concat())
}

/// The name of a temporary that holds a fold with a function.
pub(super) fn folding(fun: Fun) -> &'static str {
    match fun {
        Fun::Op(op) => reduction_name(op),
        Fun::User(_) => "fold",
    }
}
