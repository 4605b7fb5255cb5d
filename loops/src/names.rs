//! Fresh names.
//!
//! ```text
//!  t, p_A, p_A_2 taken      fresh("p_A") ─▶ p_A_3      fresh("q") ─▶ q
//! ```
//!
//! A kernel may have ten thousand variables of one name: the last number of each name is stored, so that it need not be searched for.

use super::{Buffer, BufferId, Expr, Kernel, Role, Stmt, Var, map_blocks, mapped};
use fiberloom_core::algebra::Type;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The names in use, each with the last number that was appended to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(FxHashMap<String, u32>);

impl Names {
    /// Takes a free name: this one, or this one with a number behind.
    pub(crate) fn fresh(&mut self, name: &str) -> String {
        let mut n = self.0.get(name).copied().unwrap_or(0);
        loop {
            n += 1;
            if n == 1 {
                self.0.insert(name.to_string(), 1);
                return name.to_string();
            }
            let candidate = format!("{name}_{n}");
            if !self.0.contains_key(&candidate) {
                self.0.insert(candidate.clone(), 1);
                self.0.get_mut(name).into_iter().for_each(|last| *last = n);
                return candidate;
            }
        }
    }
}

/// The variables of a kernel, to which a rewrite adds.
pub(super) struct Vars<'k> {
    all: &'k mut Vec<(String, Type)>,
    /// The names in use; `None` until a variable is added.
    names: Option<Names>,
}

impl Vars<'_> {
    pub(super) fn of(all: &mut Vec<(String, Type)>) -> Vars<'_> {
        Vars { all, names: None }
    }

    /// The number of variables.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The type of a variable.
    pub(super) fn ty(&self, v: Var) -> Type {
        self.all[v.0 as usize].1
    }

    /// A new variable with the same name stem and type.
    pub(super) fn again(&mut self, v: Var) -> Var {
        let (name, ty) = self.all[v.0 as usize].clone();
        self.fresh(&name, ty)
    }

    /// A copy of `let v = e` for a new variable, which replaces `v` in `now`; in `e`, the replacements in `now` apply.
    pub(super) fn said_again(&mut self, (v, e): (Var, &Expr), now: &mut BTreeMap<Var, Var>) -> Stmt {
        let (fresh, e) = (self.again(v), e.renamed(now));
        now.insert(v, fresh);
        Stmt::Let(fresh, e)
    }

    /// A copy of a block for new variables, which replace in `now` those that the block defines and sets.
    pub(super) fn block_again(&mut self, block: &[Stmt], now: &mut BTreeMap<Var, Var>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(block.len());
        for stmt in block {
            let stmt = mapped(stmt.clone(), &|e| e.renamed(now));
            let mut again = |v: Var| *now.entry(v).or_insert_with(|| self.again(v));
            let stmt = match stmt {
                Stmt::Let(v, e) => Stmt::Let(again(v), e),
                Stmt::Set(v, e) => Stmt::Set(again(v), e),
                Stmt::For { var, lo, hi, how, body } => Stmt::For { var: again(var), lo, hi, how, body },
                stmt => stmt,
            };
            out.extend(map_blocks(vec![stmt], &mut |inner| self.block_again(&inner, now)));
        }
        out
    }

    /// A new variable that holds a coordinate or a position.
    pub(super) fn index(&mut self, name: &str) -> Var {
        self.fresh(name, Type::I64)
    }

    /// A new variable whose name begins with `name`.
    pub(super) fn fresh(&mut self, name: &str, ty: Type) -> Var {
        let taken = || Names(self.all.iter().map(|(name, _)| (name.clone(), 1)).collect());
        let name = self.names.get_or_insert_with(taken).fresh(name);
        self.all.push((name, ty));
        Var(self.all.len() as u32 - 1)
    }
}

/// A copy of a loop, with new variables for all but those in `now`. A loop has the hints of the one that it is a copy of.
pub(super) fn loop_again(kernel: &mut Kernel, stmt: Stmt, mut now: BTreeMap<Var, Var>) -> Vec<Stmt> {
    let made = Vars::of(&mut kernel.vars).block_again(&[stmt], &mut now);
    let hints: Vec<_> = kernel.hints.iter().filter_map(|(v, hints)| Some((*now.get(v)?, *hints))).collect();
    kernel.hints.extend(hints);
    made
}

/// A new workspace.
pub(super) fn workspace(kernel: &mut Kernel, name: &str, ty: Type) -> BufferId {
    let mut names = Names::default();
    kernel.buffers.iter().map(|b| &b.name).chain(kernel.vars.iter().map(|(name, _)| name)).for_each(|name| {
        names.fresh(name);
    });
    kernel.buffers.push(Buffer { name: names.fresh(name), ty, role: Role::Workspace, private: false });
    BufferId(kernel.buffers.len() as u32 - 1)
}
