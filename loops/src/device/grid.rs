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
//! them. All threads of the block run all other statements, on the same values; the first thread stores. Where one thread reads what
//! another has written, a barrier stands between (`barriers.rs`). Workspaces that an iteration has to itself lie in the block's shared
//! memory (`shared.rs`).

use super::lanes::{self, Shuffles, WARP};
use super::shared::Held;
use super::{DeviceLoop, Folded, failures, marked};
use crate::arith::{binary, int};
use crate::names::Vars;
use crate::{Deal, Expr, How, Kernel, Stmt, Var};
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

/// What a block needs to run an iteration with this body, which folds into elements of these arrays.
///
/// # Errors
/// Why a block does not run it, in words; `None` if no schedule wants it, or it has no loop that is dealt out.
pub(super) fn shared(
    kernel: &Kernel,
    (var, body): (Var, &[Stmt]),
    how: &How,
    atomics: &[Folded],
) -> Result<Held, Option<String>> {
    if marked(kernel, var) != Some(Deal::Block) || !body.iter().any(|stmt| is_shared(kernel, stmt)) {
        return Err(None);
    }
    if let Some(why) = failures::obstacle(kernel, body) {
        return Err(Some(why));
    }
    if let Some(v) = how.folded().first() {
        return Err(Some(format!("iterations fold into `{}`", kernel.vars[v.0 as usize].0)));
    }
    let held = Held::of(kernel, (how, body), atomics).map_err(Some)?;
    match body.iter().all(|stmt| warps_store_apart(kernel, stmt, &held.atomics)) {
        true => Ok(held),
        false => Err(Some("a warp would read what one of its lanes writes".to_string())),
    }
}

/// To which units of its block the iterations of a loop are dealt out: those that a schedule names, or the threads, if it is parallel and
/// has no loop inside that a schedule deals out.
pub(super) fn unit(kernel: &Kernel, (var, how, body): (Var, &How, &[Stmt])) -> Option<Deal> {
    match marked(kernel, var) {
        _ if !how.is_apart() => None,
        Some(Deal::Block) => None,
        Some(deal) => Some(deal),
        None => (!body.iter().any(|stmt| is_named(kernel, stmt))).then_some(Deal::Lane),
    }
}

/// Whether a statement is, or has in it, a loop that is dealt out to units of its block.
fn is_shared(kernel: &Kernel, stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For { var, how, body, .. } if unit(kernel, (*var, how, body)).is_some())
        || stmt.blocks().flatten().any(|inner| is_shared(kernel, inner))
}

/// The same, of loops that a schedule names.
fn is_named(kernel: &Kernel, stmt: &Stmt) -> bool {
    let dealt = |var: &Var, how: &How| [Deal::Warp, Deal::Lane].iter().any(|deal| is_dealt(kernel, (*var, how), *deal));
    matches!(stmt, Stmt::For { var, how, .. } if dealt(var, how))
        || stmt.blocks().flatten().any(|inner| is_named(kernel, inner))
}

/// Whether in iterations that warps run no lane reads what another writes.
fn warps_store_apart(kernel: &Kernel, stmt: &Stmt, atomics: &[Folded]) -> bool {
    match stmt {
        Stmt::For { var, how, body, .. } if unit(kernel, (*var, how, body)) == Some(Deal::Warp) => {
            lanes::are_apart(kernel, body, atomics)
        }
        _ => stmt.blocks().flatten().all(|inner| warps_store_apart(kernel, inner, atomics)),
    }
}

/// Whether a loop's iterations are independent, and dealt out to such units.
pub(super) fn is_dealt(kernel: &Kernel, (var, how): (Var, &How), deal: Deal) -> bool {
    how.is_apart() && marked(kernel, var) == Some(deal)
}

/// An iteration's statements for a thread of its block, and the folds over the lanes of a warp: of the launched loop's body, which is `whole`
/// without barriers. `new` makes a variable.
pub(super) fn spread(
    kernel: &Kernel,
    (body, whole, atomics): (&[Stmt], &[Stmt], &[Folded]),
    [_, _, place, size]: Grid,
    vars: &mut Vars,
) -> (Vec<Stmt>, Shuffles) {
    let [lane, warp, warps] = ["lane", "warp", "warps"].map(|name| vars.index(name));
    let with = |op, v: Var, n| binary(op, Expr::Var(v), int(n));
    let (threads, warp_of) = ([place, size], [warp, warps]);
    let shuffles = Shuffles::default();
    let mut spread = Spread { kernel, threads, warps: warp_of, lane, vars, whole, atomics, shuffles };
    let statements = spread.block(body);
    let mut out = vec![
        Stmt::Let(lane, with(Op::And, place, WARP - 1)),
        Stmt::Let(warp, with(Op::Div, place, WARP)),
        Stmt::Let(warps, with(Op::Div, size, WARP)),
    ];
    out.extend(statements);
    (out, spread.shuffles)
}

struct Spread<'s, 'k> {
    kernel: &'s Kernel,
    /// The number of the thread in its block, and how many there are.
    threads: [Var; 2],
    /// The number of the warp in its block, and how many there are.
    warps: [Var; 2],
    lane: Var,
    vars: &'s mut Vars<'k>,
    /// The body of the launched loop.
    whole: &'s [Stmt],
    /// The arrays into whose elements iterations fold at once.
    atomics: &'s [Folded],
    shuffles: Shuffles,
}

impl Spread<'_, '_> {
    fn block(&mut self, block: &[Stmt]) -> Vec<Stmt> {
        block.iter().flat_map(|stmt| self.statement(stmt)).collect()
    }

    fn statement(&mut self, stmt: &Stmt) -> Vec<Stmt> {
        match stmt {
            Stmt::For { var, lo, hi, how, body } => {
                let (turn, body) = match unit(self.kernel, (*var, how, body)) {
                    Some(_) if self.nest(stmt).len() > 1 => return self.all_at_once(&self.nest(stmt)),
                    None => {
                        let body = self.block(body);
                        return vec![Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), how: how.clone(), body }];
                    }
                    Some(Deal::Warp) => (self.warps, self.of_warp(body)),
                    Some(_) => (self.threads, body.clone()),
                };
                let [number, count] = turn.map(Expr::Var);
                every(*var, ([lo, hi], number, count), body, self.vars).1
            }
            Stmt::If(c, yes, no) => vec![Stmt::If(c.clone(), self.block(yes), self.block(no))],
            Stmt::While(c, body) => vec![Stmt::While(c.clone(), self.block(body))],
            Stmt::Store(..) => {
                let first = binary(Op::Eq, Expr::Var(self.threads[0]), int(0));
                vec![Stmt::If(first, vec![stmt.clone()], vec![])]
            }
            Stmt::Let(..) | Stmt::Set(..) | Stmt::Call(_) | Stmt::Comment(_) => vec![stmt.clone()],
        }
    }

    /// The loops of a nest that no schedule deals out, each the only statement of the one around, with numbers of iterations that are known:
    /// their variables, these numbers and their bodies, from the outermost in.
    fn nest<'n>(&self, mut stmt: &'n Stmt) -> Vec<(Var, i64, &'n [Stmt])> {
        let mut all = vec![];
        while let Stmt::For { var, lo, hi: Expr::Const(hi), how, body } = stmt
            && *lo == int(0)
            && how.is_apart()
            && marked(self.kernel, *var).is_none()
        {
            all.push((*var, hi.bits() as i64, &body[..]));
            let [inner] = &body[..] else { break };
            stmt = inner;
        }
        all
    }

    /// A nest of which each thread runs every so many iterations: neighbours are of one row.
    fn all_at_once(&mut self, nest: &[(Var, i64, &[Stmt])]) -> Vec<Stmt> {
        let Some((_, _, innermost)) = nest.last() else { return vec![] };
        let (of, mut body, mut row) = (self.vars.index("iteration"), vec![], 1i64);
        for (var, count, _) in nest.iter().rev() {
            let part = binary(Op::Rem, binary(Op::Div, Expr::Var(of), int(row.max(1))), int((*count).max(1)));
            body.insert(0, Stmt::Let(*var, part));
            row = row.saturating_mul((*count).max(0));
        }
        body.extend(innermost.iter().cloned());
        let [number, count] = self.threads.map(Expr::Var);
        every(of, ([&int(0), &int(row)], number, count), body, self.vars).1
    }

    /// An iteration that a warp runs.
    fn of_warp(&mut self, body: &[Stmt]) -> Vec<Stmt> {
        let shared = lanes::shared(self.kernel, (self.whole, body), self.atomics);
        let parts = (&shared[..], self.atomics);
        let (statements, shuffles) = lanes::spread(self.kernel, (self.whole, body), parts, self.lane, self.vars);
        self.shuffles.extend(shuffles);
        statements
    }
}

/// A loop of which a unit runs every so many iterations, from its number on; and the variable that holds the iteration.
pub(super) fn every(
    var: Var,
    ([lo, hi], number, count): ([&Expr; 2], Expr, Expr),
    body: Vec<Stmt>,
    vars: &mut Vars,
) -> (Var, Vec<Stmt>) {
    let [at, end] = ["at", "end"].map(|name| vars.index(name));
    let mut each = vec![Stmt::Let(var, Expr::Var(at))];
    each.extend(body);
    (at, counted([at, end], [binary(Op::Add, lo.clone(), number), hi.clone(), count], each))
}

/// A loop in which a variable counts from `lo` up to `hi`, which another holds, by so many.
pub(super) fn counted([at, end]: [Var; 2], [lo, hi, by]: [Expr; 3], mut body: Vec<Stmt>) -> Vec<Stmt> {
    body.push(Stmt::Set(at, binary(Op::Add, Expr::Var(at), by)));
    let more = binary(Op::Lt, Expr::Var(at), Expr::Var(end));
    vec![Stmt::Let(end, hi), Stmt::Set(at, lo), Stmt::While(more, body)]
}

/// The loops of a launched one that a schedule deals out to units that do not run their iterations: the units, and what runs these. `why`
/// no block does.
pub(super) fn not_dealt(kernel: &Kernel, launched: &DeviceLoop, why: Option<String>) -> Vec<(Var, Deal, String)> {
    let runner = launched.runner;
    let runs = match marked(kernel, launched.var) {
        Some(Deal::Block) => runner == Runner::Block,
        Some(Deal::Warp) => runner == Runner::Warp,
        Some(Deal::Lane) | None => true,
    };
    let deal = marked(kernel, launched.var).filter(|_| !runs);
    let why = why.map_or(String::new(), |why| format!(", since {why}"));
    let what = |deal| (launched.var, deal, format!("a {} runs each of its iterations{why}", runner.name()));
    let mut all: Vec<_> = deal.map(what).into_iter().collect();
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
            all.extend(
                deal.map(|deal| (*var, deal, "what runs the loop around runs each of its iterations".to_string())),
            );
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
