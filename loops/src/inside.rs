//! The variables and buffers that a body changes, to find the expressions that stay the same while it runs.

use super::{BufferId, Expr, Stmt, Var};
use std::collections::{BTreeMap, BTreeSet};

/// The most parts of an expression in which names are replaced by their values.
pub(super) const LARGEST: usize = 64;

/// Names with their values.
pub(super) struct Named(BTreeMap<Var, Expr>);

impl Named {
    pub(super) fn of<'s>(stmts: impl IntoIterator<Item = &'s Stmt>) -> Named {
        let mut named = Named(BTreeMap::new());
        named.take(stmts);
        named
    }

    pub(super) fn take<'s>(&mut self, stmts: impl IntoIterator<Item = &'s Stmt>) {
        for stmt in stmts {
            if let Stmt::Let(v, e) = stmt {
                let e = self.within(e);
                // A name whose value is too large is left: it counts as a variable of the body, which is not fixed.
                if parts(&e) <= LARGEST {
                    self.0.insert(*v, e);
                }
            }
        }
    }

    /// An expression with names replaced by their values.
    pub(super) fn within(&self, e: &Expr) -> Expr {
        e.with(&|e| if let Expr::Var(v) = e { self.0.get(v).cloned() } else { None })
    }
}

/// The variables that a body sets and names, the variables of its loops, and the buffers to which it stores.
#[derive(Default)]
pub(super) struct Inside {
    pub vars: BTreeSet<Var>,
    pub turns: BTreeSet<Var>,
    pub buffers: BTreeSet<BufferId>,
}

impl Inside {
    pub(super) fn of(body: &[Stmt]) -> Inside {
        let mut inside = Inside::default();
        inside.take(body);
        inside
    }

    fn take(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Let(v, _) | Stmt::Set(v, _) => drop(self.vars.insert(*v)),
                Stmt::Store(b, ..) => drop(self.buffers.insert(*b)),
                Stmt::Call(entry) => self.buffers.extend(entry.buffers()),
                Stmt::For { var, .. } => drop(self.turns.insert(*var)),
                Stmt::If(..) | Stmt::While(..) | Stmt::Comment(_) => {}
            }
            stmt.blocks().for_each(|inner| self.take(inner));
        }
    }

    /// Whether an expression is not too large, and the body changes nothing that it reads, except the variables of loops.
    pub(super) fn holds(&self, e: &Expr) -> bool {
        let mut stays = parts(e) <= LARGEST;
        e.each(&mut |e| {
            stays &= match e {
                Expr::Var(v) => !self.vars.contains(v),
                Expr::Load(b, _) | Expr::Among(_, b, _) | Expr::Capacity(b) => !self.buffers.contains(b),
                Expr::Const(_) | Expr::Op(..) => true,
            }
        });
        stays
    }
}

/// The number of parts of an expression.
pub(super) fn parts(e: &Expr) -> usize {
    let mut n = 0;
    e.each(&mut |_| n += 1);
    n
}
