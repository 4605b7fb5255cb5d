//! The statements on which variables depend, and those by which a kernel fails.
//!
//! ```text
//!   for p in pos[i]..pos[i + 1]                   for p in pos[i]..pos[i + 1]
//!     t = A[p] * x[crd[p]]           of c           if crd[p] > 4
//!     if crd[p] > 4                  ──▶              c = c + 1
//!       y[c] = t
//!       c = c + 1
//! ```
//!
//! (Weiser, *Program Slicing*, ICSE 1981.)

use crate::{BufferId, Entry, Expr, Kernel, Stmt, Var, map_blocks};
use std::collections::BTreeSet;

/// A slice of a block.
pub(super) struct Slice {
    block: Vec<Stmt>,
    vars: BTreeSet<Var>,
    buffers: BTreeSet<BufferId>,
}

impl Slice {
    /// The slice of a block by what these variables are behind it.
    ///
    /// # Errors
    /// If they depend on elements that the block writes, but for those of `own`.
    pub fn of(kernel: &Kernel, block: &[Stmt], of: &[Var], own: &[BufferId]) -> Result<Slice, String> {
        let (block, buffers) = (block.to_vec(), BTreeSet::new());
        let mut slice = Slice { block, vars: of.iter().copied().collect(), buffers };
        loop {
            let known = (slice.vars.len(), slice.buffers.len());
            let block = std::mem::take(&mut slice.block);
            block.iter().for_each(|stmt| slice.note(stmt));
            slice.block = block;
            if known == (slice.vars.len(), slice.buffers.len()) {
                break;
            }
        }
        let statements = slice.statements();
        match statements.iter().find_map(|stmt| slice.written(stmt, own)) {
            Some(b) => Err(format!(
                "what its iterations append depends on what they write to `{}`",
                kernel.buffers[b.0 as usize].name
            )),
            None => Ok(slice),
        }
    }

    /// The statements of the slice.
    pub fn statements(&self) -> Vec<Stmt> {
        self.kept(self.block.clone())
    }

    /// Whether it depends on a variable.
    pub fn depends_on(&self, v: Var) -> bool {
        self.vars.contains(&v)
    }

    /// Whether it depends on elements of a buffer.
    pub fn reads(&self, b: BufferId) -> bool {
        self.buffers.contains(&b)
    }

    fn kept(&self, block: Vec<Stmt>) -> Vec<Stmt> {
        map_blocks(block.into_iter().filter(|stmt| self.has(stmt)).collect(), &mut |inner| self.kept(inner))
    }

    /// Whether a statement is in the slice.
    fn has(&self, stmt: &Stmt) -> bool {
        let here = match stmt {
            Stmt::Let(v, _) | Stmt::Set(v, _) => self.vars.contains(v),
            Stmt::Store(b, ..) => self.buffers.contains(b),
            Stmt::Call(Entry::Fail(_)) => true,
            Stmt::Call(Entry::SortInto { into, .. }) => self.buffers.contains(into),
            Stmt::Call(entry) => entry.buffers().any(|b| self.buffers.contains(&b)),
            Stmt::If(..) | Stmt::While(..) | Stmt::For { .. } | Stmt::Comment(_) => false,
        };
        here || stmt.blocks().flatten().any(|inner| self.has(inner))
    }

    /// Notes what a statement depends on, if it is in the slice.
    fn note(&mut self, stmt: &Stmt) {
        if !self.has(stmt) {
            return;
        }
        stmt.exprs().for_each(|e| self.note_reads(e));
        if let Stmt::Call(entry) = stmt {
            self.buffers.extend(entry.buffers());
        }
        stmt.blocks().flatten().for_each(|inner| self.note(inner));
    }

    fn note_reads(&mut self, e: &Expr) {
        e.each(&mut |e| match e {
            Expr::Var(v) => _ = self.vars.insert(*v),
            Expr::Load(b, _) | Expr::Among(_, b, _) | Expr::Capacity(b) => _ = self.buffers.insert(*b),
            Expr::Const(_) | Expr::Op(..) => {}
        });
    }

    /// A buffer that a statement of the slice writes, and is none of `own`.
    fn written(&self, stmt: &Stmt, own: &[BufferId]) -> Option<BufferId> {
        let here = match stmt {
            Stmt::Store(b, ..) => Some(*b),
            Stmt::Call(entry) => entry.buffers().find(|b| !own.contains(b)),
            _ => None,
        };
        here.filter(|b| !own.contains(b)).or_else(|| stmt.blocks().flatten().find_map(|inner| self.written(inner, own)))
    }
}
