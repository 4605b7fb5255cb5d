//! Joins a loop over consecutive fibers, and the loop over each fiber, to one loop.
//!
//! ```text
//!   for i in 0..n_I                                  for p in A1_pos[0]..A1_pos[n_I]
//!     for p in A1_pos[i]..A1_pos[i + 1]    ──▶         B_vals[p] = 2.0 * A_vals[p]
//!       B_vals[p] = 2.0 * A_vals[p]
//! ```
//!
//! The iterations and their order stay the same: `pos` ascends (an invariant of operands, checked before a kernel runs), so a fiber
//! begins where the previous one ends. The outer loop must contain nothing but the inner loop, which must not depend on the fiber, and
//! the outer loop must visit all positions from its first to its last: from 0 to an extent, or over a fiber. So the rewrite applies
//! again, level by level. Dead code goes first, such as coordinates that an outer loop names.

use super::substitute::uses;
use crate::arith::plus;
use crate::{BufferId, Claim, Expr, Hints, Holds, How, Kernel, Stmt, Var, bare, map_blocks};
use fiberloom_core::algebra::Value;
use std::collections::BTreeSet;

/// Joins two loops to one wherever fibers are consecutive.
pub fn collapse(kernel: &mut Kernel) {
    let known = Known::of(kernel);
    let body = std::mem::take(&mut kernel.body);
    let mut both = vec![];
    kernel.body = joined(body, &known, &mut both);
    both.into_iter().for_each(|loops| keep_apart(kernel, loops));
}

/// Keeps the claim that iterations of the joined loop are apart only if both loops have it: the inner loop's holds within one iteration of
/// the outer one.
fn keep_apart(kernel: &mut Kernel, (outer, inner): (Var, Var)) {
    let claim = |v: Var| kernel.hints.get(&v).map_or(Claim::Nothing, |hints| hints.claim);
    if claim(outer) != Claim::Apart
        && claim(inner) == Claim::Apart
        && let Some(hints) = kernel.hints.get_mut(&inner)
    {
        hints.claim = Claim::Nothing;
        kernel.hints.retain(|_, hints| *hints != Hints::default());
    }
}

/// Facts about a kernel's data.
pub(super) struct Known {
    /// Operands' arrays of positions, which ascend.
    ascending: BTreeSet<BufferId>,
    /// Parameters: extents, which are not negative and never set.
    extents: BTreeSet<Var>,
    vars: usize,
}

/// A block with loops joined, of which `both` gets the variables, the outer one first.
fn joined(block: Vec<Stmt>, known: &Known, both: &mut Vec<(Var, Var)>) -> Vec<Stmt> {
    let block = map_blocks(block, &mut |inner| joined(inner, known, both));
    let mut each = |stmt: Stmt| {
        let Some(made) = known.one_loop(&stmt) else { return stmt };
        if let (Stmt::For { var: outer, .. }, Stmt::For { var: inner, .. }) = (&stmt, &made) {
            both.push((*outer, *inner));
        }
        made
    };
    block.into_iter().map(&mut each).collect()
}

impl Known {
    pub fn of(kernel: &Kernel) -> Known {
        let levels = kernel.arguments.iter().filter(|argument| argument.operand).flat_map(|argument| &argument.levels);
        let ascending = levels.filter_map(|level| level.array(Holds::Positions)).collect();
        Known { ascending, extents: kernel.params.iter().copied().collect(), vars: kernel.vars.len() }
    }

    /// Whether a loop with these bounds runs over a whole extent.
    pub fn is_whole(&self, lo: &Expr, hi: &Expr) -> bool {
        *bare(lo) == Expr::Const(Value::i64(0)) && matches!(hi, Expr::Var(n) if self.extents.contains(n))
    }

    /// The two loops as one over the inner one's variable, if they can be joined.
    fn one_loop(&self, outer: &Stmt) -> Option<Stmt> {
        let Stmt::For { var: p, lo, hi, how: How::Serial, body } = outer else { return None };
        let [Stmt::For { var, lo: first, hi: last, how, body }] = &body[..] else { return None };
        let pos = self.fiber(first, last, &Expr::Var(*p))?;
        let fiber = || matches!(bare(lo), Expr::Load(_, parent) if self.fiber(lo, hi, parent).is_some());
        let asked = uses(body, self.vars)[p.0 as usize] > 0;
        if asked || !(self.is_whole(lo, hi) || fiber()) {
            return None;
        }
        let at = |like: &Expr, place: &Expr| replaced(like, pos, place);
        Some(Stmt::For { var: *var, lo: at(first, lo), hi: at(last, hi), how: how.clone(), body: body.clone() })
    }

    /// Whether a buffer holds ascending positions.
    pub fn ascends(&self, pos: BufferId) -> bool {
        self.ascending.contains(&pos)
    }

    /// The ascending array of positions that has `lo` and `hi` as the bounds of its fiber at `parent`.
    pub fn fiber(&self, lo: &Expr, hi: &Expr, parent: &Expr) -> Option<BufferId> {
        one_fiber(lo, hi).filter(|(pos, at)| *at == parent && self.ascends(*pos)).map(|(pos, _)| pos)
    }
}

/// The array and the index, if `lo` and `hi` are the bounds of one fiber: `pos[at]` and `pos[at + 1]`.
pub fn one_fiber<'e>(lo: &'e Expr, hi: &Expr) -> Option<(BufferId, &'e Expr)> {
    let (Expr::Load(pos, at), Expr::Load(same, next)) = (bare(lo), bare(hi)) else { return None };
    let is_next = **next == plus((**at).clone(), Expr::Const(Value::i64(1)));
    (pos == same && is_next).then_some((*pos, &**at))
}

/// A load of `pos`, up to conversions, with its index replaced.
pub(super) fn replaced(e: &Expr, pos: BufferId, place: &Expr) -> Expr {
    match e {
        Expr::Op(op, args) => Expr::Op(*op, args.iter().map(|a| replaced(a, pos, place)).collect()),
        _ => Expr::Load(pos, Box::new(place.clone())),
    }
}
