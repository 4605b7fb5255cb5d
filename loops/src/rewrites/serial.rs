//! Why a loop runs on one thread: said before the loop, as a comment, where a schedule wants its iterations in
//! parallel; and told of each outermost loop that takes time, for who asks which loops run on threads.
//!
//! ```text
//!   # i0 runs on one thread: an iteration goes on with `c1_C` where the one before left it
//!   apart for i0 in 0..n_i0 {
//! ```

use crate::{Argument, BufferId, Claim, Expr, Kernel, Stmt, Var};
use std::collections::BTreeSet;

/// What keeps iterations from running in parallel: all reasons that there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Serial {
    /// It is no counted loop: it goes on in lists, each time where they stand.
    Merges,
    /// They call what may not be called from several threads.
    Calls,
    /// Each allocates this buffer.
    Allocates(BufferId),
    /// Each goes on with this variable where the one before left it.
    GoesOn(Var),
    /// They fold into this variable, of which pieces may not be folded.
    InOrder(Var),
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
        let variable = |v: Var| &kernel.vars[v.0 as usize].0;
        match self {
            Serial::Merges => "each turn begins where the one before left the lists".into(),
            Serial::Calls => "iterations call what one thread may call".into(),
            Serial::Allocates(b) => format!("each iteration allocates `{}`", buffer(b)),
            Serial::GoesOn(v) => format!("an iteration goes on with `{}` where the one before left it", variable(v)),
            Serial::InOrder(v) => format!("iterations fold into `{}` in their order", variable(v)),
            Serial::Shares(b) => format!("two iterations may touch one element of `{}`", buffer(b)),
            Serial::Both => "iterations append to lists, and fold into arrays".into(),
            Serial::Short => "an iteration is a few statements".into(),
        }
    }
}

/// An outermost loop that runs on one thread though it takes time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneThread {
    /// The loop's variable; of a loop that goes on in lists, whose they are.
    pub name: String,
    /// What keeps it on one thread, as a sentence without an end.
    pub why: String,
}

impl OneThread {
    /// What is said of a loop, if it is one and takes time.
    pub(super) fn of(kernel: &Kernel, stmt: &Stmt, why: Serial) -> Option<OneThread> {
        let name = match stmt {
            Stmt::For { var, .. } => kernel.vars[var.0 as usize].0.clone(),
            Stmt::While(..) => match &walked(kernel, stmt)[..] {
                [] => return None,
                operands => format!("the loop along {}", operands.join(", ")),
            },
            _ => return None,
        };
        Some(OneThread { name, why: why.sentence(kernel) })
    }
}

/// The names of the operands whose levels a loop reads.
fn walked<'k>(kernel: &'k Kernel, stmt: &Stmt) -> Vec<&'k str> {
    let mut read = BTreeSet::new();
    loads(stmt, &mut read);
    let is_walked = |of: &&Argument| of.levels.iter().flat_map(|level| level.arrays()).any(|b| read.contains(b));
    kernel.arguments.iter().filter(|of| of.operand).filter(is_walked).map(|of| &of.name[..]).collect()
}

fn loads(stmt: &Stmt, read: &mut BTreeSet<BufferId>) {
    stmt.exprs().for_each(|e| {
        e.each(&mut |e| {
            if let Expr::Load(b, _) | Expr::Among(_, b, _) = e {
                read.insert(*b);
            }
        });
    });
    stmt.blocks().flatten().for_each(|inner| loads(inner, read));
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
