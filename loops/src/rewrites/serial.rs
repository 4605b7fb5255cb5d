//! Why a loop whose iterations a schedule wants in parallel runs on one thread: said before the loop, as a comment.
//!
//! ```text
//!   # i0 runs on one thread: an iteration goes on with `c1_C` where the one before left it
//!   apart for i0 in 0..n_i0 {
//! ```

use crate::{BufferId, Claim, Kernel, Stmt, Var};
use std::collections::BTreeSet;

/// What keeps iterations from running in parallel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Serial {
    /// They call what may not be called from several threads.
    Calls,
    /// Each allocates this buffer.
    Allocates(BufferId),
    /// Each goes on with this variable where the one before left it.
    GoesOn(Var),
    /// It is not shown that they touch different elements of this array.
    Shares(BufferId),
    /// They append to lists, and fold into arrays.
    Both,
    /// They are short.
    Short,
}

impl Serial {
    fn sentence(self, kernel: &Kernel) -> String {
        let buffer = |b: BufferId| &kernel.buffers[b.0 as usize].name;
        match self {
            Serial::Calls => "iterations call what one thread may call".into(),
            Serial::Allocates(b) => format!("each iteration allocates `{}`", buffer(b)),
            Serial::GoesOn(v) => {
                format!("an iteration goes on with `{}` where the one before left it", kernel.vars[v.0 as usize].0)
            }
            Serial::Shares(b) => format!("two iterations may touch one element of `{}`", buffer(b)),
            Serial::Both => "iterations append to lists, and fold into arrays".into(),
            Serial::Short => "an iteration is a few statements".into(),
        }
    }
}

/// A statement that runs on one thread, behind comments that say so of the loops in it that a schedule wants in parallel: of the statement
/// itself, if it is such a loop, why.
pub(super) fn noted(kernel: &Kernel, stmt: Stmt, why: Serial) -> Vec<Stmt> {
    let mut wanted = BTreeSet::new();
    note(kernel, &stmt, &mut wanted);
    let outermost = if let Stmt::For { var, .. } = &stmt { Some(*var) } else { None };
    let say = |v: Var| {
        let name = &kernel.vars[v.0 as usize].0;
        Stmt::Comment(match outermost == Some(v) {
            true => format!("{name} runs on one thread: {}", why.sentence(kernel)),
            false => format!("{name} runs on one thread: the loop around it does"),
        })
    };
    let comments: Vec<Stmt> = wanted.into_iter().map(say).collect();
    comments.into_iter().chain([stmt]).collect()
}

fn note(kernel: &Kernel, stmt: &Stmt, wanted: &mut BTreeSet<Var>) {
    if let Stmt::For { var, .. } = stmt
        && is_wanted(kernel, *var)
    {
        wanted.insert(*var);
    }
    stmt.blocks().flatten().for_each(|inner| note(kernel, inner, wanted));
}

/// Whether a schedule wants a loop's iterations on threads.
pub(super) fn is_wanted(kernel: &Kernel, var: Var) -> bool {
    kernel.hints.get(&var).is_some_and(|hints| hints.claim != Claim::Nothing && hints.deal.is_none())
}
