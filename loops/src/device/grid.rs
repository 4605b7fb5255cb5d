//! The units of a GPU to which iterations are dealt out: blocks, their warps, and lanes.
//!
//! ```text
//!   block parallel for b in lo..hi           next = lo + block
//!     warp parallel for w in 0..8            while next < hi
//!       y[8·b + w] = …                ──▶      let b = next
//!                                              at = 0 + warp
//!                                              while at < 8 { let w = at; y[8·b + w] = …; at = at + warps }
//!                                              next = next + blocks
//! ```
//!
//! A block runs an iteration of the launched loop; its warps, or its threads, run those of the parallel loops inside that are dealt out to
//! them. All threads of the block run all other statements, on the same values: so these may not store, nor read what is stored. Loops
//! between are parallel, so that no iteration waits for another.

use super::lanes::{self, Join, WARP};
use super::{DeviceLoop, Used, marked};
use crate::arith::{binary, int};
use crate::{BufferId, Deal, Expr, How, Kernel, Stmt, Var};
use fiberloom_core::algebra::Op;

/// What runs an iteration of a launched loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Runner {
    /// A thread.
    Thread,
    /// A warp, whose lanes share some loops.
    Warp,
    /// A block, whose warps or threads share some loops.
    Block,
}

impl Runner {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Runner::Thread => "thread",
            Runner::Warp => "warp",
            Runner::Block => "block",
        }
    }

    /// Whether blocks have to be of whole warps, of 32 threads.
    pub fn has_warps(self) -> bool {
        self != Runner::Thread
    }
}

/// The number of a block, and how many there are; the number of a thread in its block, and how many it has.
pub(super) type Grid = [Var; 4];

/// To what the loops are dealt out that a block shares, of an iteration with this body: its warps, or its threads; `None` if one of its
/// statements forbids that a block runs it.
pub(super) fn shared(kernel: &Kernel, (var, body): (Var, &[Stmt]), atomics: &[BufferId]) -> Option<Deal> {
    let is_block = marked(kernel, var) == Some(Deal::Block);
    [Deal::Warp, Deal::Lane].into_iter().find(|deal| is_block && fits(kernel, (body, atomics), *deal))
}

fn fits(kernel: &Kernel, (body, atomics): (&[Stmt], &[BufferId]), deal: Deal) -> bool {
    let (mut around, mut found) = (Used::default(), false);
    note_around(kernel, body, deal, (&mut around, &mut found));
    let all = Used::apart(body, atomics);
    let apart = around.written.is_empty() && around.loaded.is_disjoint(&all.written);
    found && apart && (deal == Deal::Lane || !all.reads_what_it_writes())
}

/// Notes what statements use around loops that are dealt out, and whether there are such loops.
fn note_around(kernel: &Kernel, block: &[Stmt], deal: Deal, (around, found): (&mut Used, &mut bool)) {
    for stmt in block {
        match stmt {
            Stmt::For { var, how, .. } if is_dealt(kernel, (*var, how), deal) => {
                around.note_here(stmt);
                *found = true;
            }
            Stmt::If(..) | Stmt::For { how: How::Parallel { .. }, .. } => {
                around.note_here(stmt);
                stmt.blocks().for_each(|inner| note_around(kernel, inner, deal, (around, found)));
            }
            _ => around.note(stmt),
        }
    }
}

/// Whether a loop's iterations are independent, and dealt out to such units.
pub(super) fn is_dealt(kernel: &Kernel, (var, how): (Var, &How), deal: Deal) -> bool {
    how.is_apart() && marked(kernel, var) == Some(deal)
}

/// An iteration's statements for a thread of its block, and the folds over the lanes of a warp. `new` makes a variable.
pub(super) fn spread(
    kernel: &Kernel,
    (body, deal, atomics): (&[Stmt], Deal, &[BufferId]),
    [_, _, place, size]: Grid,
    new: &mut dyn FnMut(&str) -> Var,
) -> (Vec<Stmt>, Vec<Join>) {
    let [lane, warp, warps] = ["lane", "warp", "warps"].map(&mut *new);
    let with = |op, v: Var, n| binary(op, Expr::Var(v), int(n));
    let mut out = vec![];
    let turn = match deal {
        Deal::Lane => [place, size],
        _ => {
            out.push(Stmt::Let(lane, with(Op::And, place, WARP - 1)));
            out.push(Stmt::Let(warp, with(Op::Div, place, WARP)));
            out.push(Stmt::Let(warps, with(Op::Div, size, WARP)));
            [warp, warps]
        }
    };
    let mut spread = Spread { kernel, deal, turn, lane, new, whole: body, atomics, joins: vec![] };
    out.extend(spread.block(body));
    (out, spread.joins)
}

struct Spread<'s> {
    kernel: &'s Kernel,
    deal: Deal,
    /// The number of the warp or thread in its block, and how many there are.
    turn: [Var; 2],
    lane: Var,
    new: &'s mut dyn FnMut(&str) -> Var,
    /// The body of the launched loop.
    whole: &'s [Stmt],
    /// The arrays into whose elements all iterations fold.
    atomics: &'s [BufferId],
    joins: Vec<Join>,
}

impl Spread<'_> {
    fn block(&mut self, block: &[Stmt]) -> Vec<Stmt> {
        block.iter().flat_map(|stmt| self.statement(stmt)).collect()
    }

    fn statement(&mut self, stmt: &Stmt) -> Vec<Stmt> {
        match stmt {
            Stmt::For { var, lo, hi, how, body } if is_dealt(self.kernel, (*var, how), self.deal) => {
                let [number, count] = self.turn.map(Expr::Var);
                let body = self.iteration(body);
                every(*var, ([lo, hi], number, count), body, self.new).1
            }
            Stmt::For { var, lo, hi, how: how @ How::Parallel { .. }, body } => {
                let body = self.block(body);
                vec![Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), how: how.clone(), body }]
            }
            Stmt::If(c, yes, no) => vec![Stmt::If(c.clone(), self.block(yes), self.block(no))],
            _ => vec![stmt.clone()],
        }
    }

    /// An iteration of a loop that is dealt out.
    fn iteration(&mut self, body: &[Stmt]) -> Vec<Stmt> {
        if self.deal == Deal::Lane {
            return body.to_vec();
        }
        let shared = lanes::shared(self.kernel, (self.whole, body), self.atomics);
        let (statements, joins) = lanes::spread(body, &shared, self.lane, self.new);
        self.joins.extend(joins);
        statements
    }
}

/// A loop of which a unit runs every so many iterations, from its number on; and the variable that holds the iteration.
pub(super) fn every(
    var: Var,
    ([lo, hi], number, count): ([&Expr; 2], Expr, Expr),
    body: Vec<Stmt>,
    new: &mut dyn FnMut(&str) -> Var,
) -> (Var, Vec<Stmt>) {
    let (at, end) = (new("at"), new("end"));
    let mut each = vec![Stmt::Let(var, Expr::Var(at))];
    each.extend(body);
    each.push(Stmt::Set(at, binary(Op::Add, Expr::Var(at), count)));
    let run = vec![
        Stmt::Let(end, hi.clone()),
        Stmt::Set(at, binary(Op::Add, lo.clone(), number)),
        Stmt::While(binary(Op::Lt, Expr::Var(at), Expr::Var(end)), each),
    ];
    (at, run)
}

/// The loops of a launched one that a schedule deals out to units that do not run their iterations: the units, and what runs these.
pub(super) fn not_dealt(kernel: &Kernel, launched: &DeviceLoop) -> Vec<(Var, Deal, String)> {
    let runner = launched.runner;
    let runs = match marked(kernel, launched.var) {
        Some(Deal::Block) => runner == Runner::Block,
        Some(Deal::Warp) => runner == Runner::Warp,
        Some(Deal::Lane) | None => true,
    };
    let deal = marked(kernel, launched.var).filter(|_| !runs);
    let mut all: Vec<_> =
        deal.map(|deal| (launched.var, deal, format!("a {} runs each", runner.name()))).into_iter().collect();
    launched.kernel.body.iter().for_each(|stmt| note_whole(kernel, stmt, None, &mut all));
    all
}

/// Notes the loops that are dealt out and left whole. A cut's pieces and what they visit are both marked: of these one is dealt out.
fn note_whole(kernel: &Kernel, stmt: &Stmt, around: Option<Deal>, all: &mut Vec<(Var, Deal, String)>) {
    let mut deals = around;
    match stmt {
        Stmt::While(_, body) => {
            let var = body.first().and_then(|first| if let Stmt::Let(var, _) = first { Some(*var) } else { None });
            deals = var.and_then(|var| marked(kernel, var)).or(around);
        }
        Stmt::For { var, .. } => {
            let deal = marked(kernel, *var).filter(|deal| Some(*deal) != around);
            all.extend(deal.map(|deal| (*var, deal, "what runs the loop around runs each".to_string())));
            deals = deal.or(around);
        }
        _ => {}
    }
    stmt.blocks().flatten().for_each(|inner| note_whole(kernel, inner, deals, all));
}

/// Statements in which one thread runs all loops.
pub(super) fn serial(block: Vec<Stmt>) -> Vec<Stmt> {
    let each = |stmt: Stmt| match stmt {
        Stmt::For { var, lo, hi, how, body } => {
            let how = if how.is_vector() { how } else { How::Serial };
            Stmt::For { var, lo, hi, how, body: serial(body) }
        }
        Stmt::While(c, body) => Stmt::While(c, serial(body)),
        Stmt::If(c, yes, no) => Stmt::If(c, serial(yes), serial(no)),
        other => other,
    };
    block.into_iter().map(each).collect()
}
