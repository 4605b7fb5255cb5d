//! The effects of an iteration of a counted loop, analyzed in one place for rewrites and for machine code.
//!
//! ```text
//!   for p in A1_pos[j]..A1_pos[j + 1]
//!     let i = A1_crd[p]                     named     i, a coordinate: an element of A1_crd at the iteration
//!     t = t + A_vals[p] * x_vals[i]         sets      t, which folds with +; A_vals is a stream, x_vals is gathered
//!     y_vals[i] = y_vals[i] + A_vals[p]     stores    an element of y_vals, which folds with +
//!     for k in …                            inside    loops, branches and calls
//! ```
//!
//! The analysis is derived from the loop and not stored with it: rewrites change loops, and kernels that are read from text have only
//! their text.

use super::{BufferId, Expr, Stmt, Var, bare};
use fiberloom_core::algebra::Op;
use std::collections::BTreeSet;

/// An iteration of a counted loop.
pub struct Iteration<'s> {
    /// The loop's variable.
    pub var: Var,
    /// The values that are named.
    pub named: Vec<(Var, &'s Expr)>,
    /// The variables that are set.
    pub sets: Vec<(Var, &'s Expr)>,
    /// The elements that are stored.
    pub stores: Vec<Stored<'s>>,
    /// All other statements: loops, branches and calls.
    pub inside: Vec<&'s Stmt>,
    body: &'s [Stmt],
}

/// A store of an element.
pub struct Stored<'s> {
    /// The array.
    pub buffer: BufferId,
    /// The index.
    pub at: &'s Expr,
    /// The value.
    pub value: &'s Expr,
}

/// The function of a fold, and the value that it folds in.
pub type Fold<'s> = (Op, &'s Expr);

/// The fold, if setting a variable to `e` folds a value into it: `t = f(t, …)`.
pub fn fold_of(t: Var, e: &Expr) -> Option<Fold<'_>> {
    match e {
        Expr::Op(op, args) => match &args[..] {
            [Expr::Var(v), folded] if *v == t => Some((*op, folded)),
            _ => None,
        },
        _ => None,
    }
}

impl<'s> Stored<'s> {
    /// The fold, if the store folds a value into the element: `b[i] = f(b[i], …)`.
    pub fn fold(&self) -> Option<Fold<'s>> {
        let Expr::Op(op, args) = self.value else { return None };
        match &args[..] {
            [Expr::Load(b, at), folded] if *b == self.buffer && **at == *self.at => Some((*op, folded)),
            _ => None,
        }
    }
}

impl<'s> Iteration<'s> {
    /// The iteration of a loop with this body.
    pub fn of(var: Var, body: &'s [Stmt]) -> Iteration<'s> {
        let mut turn = Iteration { var, named: vec![], sets: vec![], stores: vec![], inside: vec![], body };
        for stmt in body {
            match stmt {
                Stmt::Let(v, e) => turn.named.push((*v, e)),
                Stmt::Set(v, e) => turn.sets.push((*v, e)),
                Stmt::Store(buffer, at, value) => turn.stores.push(Stored { buffer: *buffer, at, value }),
                other => turn.inside.push(other),
            }
        }
        turn
    }

    /// The variables that change from iteration to iteration, except those of inner statements.
    pub fn moving(&self) -> BTreeSet<Var> {
        let changed = self.named.iter().chain(&self.sets).map(|(v, _)| *v);
        changed.chain([self.var]).collect()
    }

    /// Names of elements at the iteration, up to a conversion, each with its array.
    pub fn coordinates(&self) -> impl Iterator<Item = (Var, BufferId)> {
        self.named.iter().filter_map(|(v, e)| match bare(e) {
            Expr::Load(b, at) if **at == Expr::Var(self.var) => Some((*v, *b)),
            _ => None,
        })
    }

    /// The arrays that are read at the iteration, once per read; conditions and bounds of inner statements count.
    pub fn streams(&self) -> Vec<BufferId> {
        let mut all = vec![];
        self.body.iter().flat_map(Stmt::exprs).for_each(|e| {
            e.each(&mut |e| match e {
                Expr::Load(b, at) if **at == Expr::Var(self.var) => all.push(*b),
                _ => {}
            });
        });
        all
    }

    /// Whether the iteration only names values and sets variables.
    pub fn only_sets(&self) -> bool {
        self.stores.is_empty() && self.inside.is_empty()
    }

    /// Whether the iteration only names values and stores elements.
    pub fn only_stores(&self) -> bool {
        self.sets.is_empty() && self.inside.is_empty()
    }
}
