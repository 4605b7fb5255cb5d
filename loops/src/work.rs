//! An estimate of a loop's work, from sizes that are known before it begins: how many statements all of its iterations run.
//!
//! ```text
//!   for i in 0..n_I                                    n_I
//!     for p in A1_pos[i]..A1_pos[i + 1]                capacity(A1_crd)          the entries of all fibers
//!       for k in 0..n_K                                  · n_K
//! ```
//!
//! A loop whose iterations are not known before is taken for as long as the list whose positions its bounds are computed of, or the array that
//! it reads in its condition, over all iterations around it, or else for a few iterations. Iterations without loops and elementary functions run as lanes.

use super::arith::{binary, int, plus};
use super::{BufferId, Expr, Holds, Kernel, Role, Stmt, Var};
use fiberloom_core::algebra::{Op, elementary};
use std::collections::{BTreeMap, BTreeSet};

/// The iterations of a loop of which nothing is known.
const SOME: i64 = 4;

/// The iterations that run at once as lanes.
const LANES: i64 = 8;

/// The work of a loop over `lo..hi`, as an expression that can be evaluated before it.
pub fn work(kernel: &Kernel, index: Var, (lo, hi): (&Expr, &Expr), body: &[Stmt]) -> Expr {
    let (mut inside, mut lets) = (BTreeSet::from([index]), BTreeMap::new());
    defined(body, &mut inside, &mut lets);
    let iterations = binary(Op::Sub, hi.clone(), lo.clone());
    let work = Estimate { kernel, inside, lets }.of(body, &iterations);
    if body.iter().any(takes_time) { work } else { binary(Op::Div, work, int(LANES)) }
}

/// Whether a statement is or has a loop, or computes an elementary function.
pub(super) fn takes_time(stmt: &Stmt) -> bool {
    let mut found = matches!(stmt, Stmt::For { .. } | Stmt::While(..));
    stmt.exprs().for_each(|e| {
        e.each(&mut |e| found |= matches!(e, Expr::Op(op, _) if elementary(*op, 1.0, 1.0).is_some()));
    });
    found || stmt.blocks().flatten().any(takes_time)
}

struct Estimate<'k> {
    kernel: &'k Kernel,
    /// The variables that are not known before the loop.
    inside: BTreeSet<Var>,
    /// What those that are defined by `let` are.
    lets: BTreeMap<Var, &'k Expr>,
}

impl Estimate<'_> {
    /// The work of a block that runs this many times.
    fn of(&self, block: &[Stmt], times: &Expr) -> Expr {
        let of = |stmt: &Stmt| match stmt {
            Stmt::For { lo, hi, body, .. } => Some(self.of(body, &self.iterations(lo, hi, times))),
            Stmt::While(condition, body) => Some(self.of(body, &self.while_so(condition, times))),
            Stmt::If(_, yes, no) => {
                Some(plus(self.of(yes, times), if no.is_empty() { int(0) } else { self.of(no, times) }))
            }
            _ => None,
        };
        block.iter().filter_map(of).fold(times.clone(), plus)
    }

    /// The number of iterations of a loop inside, over all iterations around it.
    fn iterations(&self, lo: &Expr, hi: &Expr, times: &Expr) -> Expr {
        if self.is_known(lo) && self.is_known(hi) {
            return binary(Op::Mul, times.clone(), binary(Op::Sub, hi.clone(), lo.clone()));
        }
        let all = [lo, hi].into_iter().find_map(|e| self.walked(e));
        all.unwrap_or_else(|| binary(Op::Mul, times.clone(), int(SOME)))
    }

    /// The entries of the list whose positions a loop's bound is computed of.
    fn walked(&self, bound: &Expr) -> Option<Expr> {
        match bound {
            Expr::Load(pos, at) => self.entries(*pos).or_else(|| self.walked(at)),
            Expr::Var(v) => self.lets.get(v).and_then(|e| self.walked(e)),
            Expr::Op(_, args) => args.iter().find_map(|arg| self.walked(arg)),
            Expr::Const(_) | Expr::Among(..) | Expr::Capacity(_) => None,
        }
    }

    fn while_so(&self, condition: &Expr, times: &Expr) -> Expr {
        let mut read = None;
        condition.each(&mut |e| {
            if let Expr::Load(b, _) = e
                && self.is_given(*b)
            {
                read = read.or(Some(*b));
            }
        });
        read.map_or_else(|| binary(Op::Mul, times.clone(), int(SOME)), Expr::Capacity)
    }

    /// The number of entries of the list with these positions.
    fn entries(&self, pos: BufferId) -> Option<Expr> {
        let levels = self.kernel.arguments.iter().flat_map(|argument| &argument.levels);
        let crd =
            levels.filter(|level| level.array(Holds::Positions) == Some(pos)).find_map(|l| l.array(Holds::Coordinates));
        crd.filter(|crd| self.is_given(*crd)).map(Expr::Capacity)
    }

    fn is_given(&self, b: BufferId) -> bool {
        self.kernel.buffers[b.0 as usize].role == Role::Operand
    }

    fn is_known(&self, e: &Expr) -> bool {
        let mut known = !e.loads();
        e.each(&mut |e| known &= !matches!(e, Expr::Var(v) if self.inside.contains(v)));
        known
    }
}

/// The variables that a block defines or sets, and what those that `let` defines are.
fn defined<'k>(block: &'k [Stmt], all: &mut BTreeSet<Var>, lets: &mut BTreeMap<Var, &'k Expr>) {
    for stmt in block {
        match stmt {
            Stmt::Let(v, e) => {
                all.insert(*v);
                lets.insert(*v, e);
            }
            Stmt::Set(v, _) | Stmt::For { var: v, .. } => _ = all.insert(*v),
            _ => {}
        }
        stmt.blocks().for_each(|inner| defined(inner, all, lets));
    }
}
