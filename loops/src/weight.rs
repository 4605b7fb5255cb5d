//! How the work of a loop is spread over its iterations, from arrays that are known before it begins.
//!
//! ```text
//!   for i in 0..n_I                              i        iterations before iteration i,
//!     for p in A1_pos[i]..A1_pos[i + 1]          + A1_pos[i]            entries of rows before it,
//!       for q in A2_pos[p]..A2_pos[p + 1]          + A2_pos[A1_pos[i]]    and entries of their fibers
//! ```
//!
//! The sum of these numbers at an iteration is the work before it: a loop is cut where that grows alike. Nothing but the balance of pieces
//! follows from it.

use super::{BufferId, Expr, Holds, Kernel, Role, Stmt, Var};
use fiberloom_core::algebra::{Op, Type};
use std::collections::BTreeMap;

/// Positions that grow with the iterations of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    /// An operand's array of positions.
    pub positions: BufferId,
    /// The element that counts: the one that the weight of this number is, or the iteration's.
    pub at: Option<usize>,
}

/// The weights of a loop with this variable and body.
pub fn weights(kernel: &Kernel, index: Var, body: &[Stmt]) -> Vec<Weight> {
    let mut found = Found { kernel, begins: BTreeMap::from([(index, None)]), weights: vec![] };
    body.iter().for_each(|stmt| found.note(stmt));
    found.weights
}

struct Found<'k> {
    kernel: &'k Kernel,
    /// The variables of loops that run on from iteration to iteration, each with the weight that says where they begin.
    begins: BTreeMap<Var, Option<usize>>,
    weights: Vec<Weight>,
}

impl Found<'_> {
    fn note(&mut self, stmt: &Stmt) {
        stmt.exprs().for_each(|e| e.each(&mut |part| _ = self.weight(part)));
        if let Stmt::For { var, lo, .. } = stmt
            && let Some(at) = self.weight(lo)
        {
            self.begins.insert(*var, Some(at));
        }
        stmt.blocks().flatten().for_each(|inner| self.note(inner));
    }

    /// The number of the weight that an expression is, noted if it is a new one.
    fn weight(&mut self, e: &Expr) -> Option<usize> {
        let e = if let Expr::Op(Op::Convert(Type::I64), args) = e { &args[0] } else { e };
        let Expr::Load(positions, at) = e else { return None };
        let Expr::Var(v) = **at else { return None };
        let weight = Weight { positions: *positions, at: *self.begins.get(&v)? };
        let known = self.weights.iter().position(|w| *w == weight);
        known.or_else(|| {
            self.is_given(*positions).then(|| {
                self.weights.push(weight);
                self.weights.len() - 1
            })
        })
    }

    /// Whether a buffer has positions of an operand, which ascend.
    fn is_given(&self, b: BufferId) -> bool {
        let mut levels = self.kernel.arguments.iter().flat_map(|argument| &argument.levels);
        self.kernel.buffers[b.0 as usize].role == Role::Operand
            && levels.any(|level| level.array(Holds::Positions) == Some(b))
    }
}
