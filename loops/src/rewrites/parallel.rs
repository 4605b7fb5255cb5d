//! Runs the iterations of outermost loops on threads, where none touches what another writes.
//!
//! ```text
//!   for i in 0..n_I                                        parallel for i in 0..n_I
//!     t = 0.0                                                t = 0.0
//!     for p in A1_pos[i]..A1_pos[i + 1]             ──▶      for p in A1_pos[i]..A1_pos[i + 1]
//!       t = t + A_vals[p] * x_vals[A1_crd[p]]                  t = t + A_vals[p] * x_vals[A1_crd[p]]
//!     y_vals[i] = t                                          y_vals[i] = t
//! ```
//!
//! Each variable that an iteration sets is set there before it is read, and not read behind the loop. Each array that iterations write is
//! written and read in a place of the iteration's own (`places.rs`), or is a workspace that the loop alone touches, and of which each
//! iteration sets every element before all else: then each thread has a copy of it. A variable, or an array, into which iterations only
//! fold is folded in pieces.
//!
//! A loop without a loop inside is parallel if iterations fold, or compute an elementary function: what else it does is bounded by memory.
//!
//! ```text
//!   block for b in 0..n_b                                  block parallel for b in 0..n_b
//!     warp for w in 0..8                         ──▶         warp parallel for w in 0..8
//!       y_vals[8 * b + w] = …                                  y_vals[8 * b + w] = …
//! ```
//!
//! A loop that a schedule deals out to units of a GPU is parallel wherever its iterations are independent and those of the loops around it,
//! too, which are then parallel as well. Where a block runs the outermost loop, its threads wait for one another between iterations of others:
//! so these need not be independent, and loops that touch workspaces of the outermost one are parallel without a command.

use super::appending::{goes_through, in_no_loop};
use super::block_copies::copies_of_blocks;
use super::downward::begins;
use super::joins::{Appends, Known};
use super::noted::notes_in_lists;
use super::places::{Body, Operands, Place};
use super::serial::{self, OneThread, Serial};
use super::substitute::uses;
use super::within::is_of_rows_within;
use crate::arith::{int, plus, times};
use crate::folds::folded_with;
use crate::work::takes_time;
use crate::{
    Argument, BufferId, Claim, Deal, Entry, Expr, Holds, How, Kernel, LevelBuffers, Role, Stmt, Var, array_in_pieces,
    fold_in_pieces,
};
use fiberloom_core::algebra::Op;
use std::collections::{BTreeMap, BTreeSet};

/// Makes outermost loops parallel, where their iterations are independent.
pub fn parallel(kernel: &mut Kernel) {
    copies_of_blocks(kernel);
    notes_in_lists(kernel);
    let body = std::mem::take(&mut kernel.body);
    let facts = Facts::of(kernel, &body);
    kernel.body = in_no_loop(body, &mut |stmt| facts.apart(kernel, stmt));
}

/// How an outermost loop runs.
pub enum Outermost {
    /// Its iterations run on threads.
    Threads(Var, How),
    /// It runs on one thread though it takes time: it has a loop inside, computes an elementary function, folds, or
    /// goes on in lists.
    OneThread(OneThread),
}

/// The outermost loops of a kernel, in order, without those on one thread of which an iteration is a few statements. In
/// the place of a loop in which some run on threads, as tiles do, stand these.
pub fn outermost_loops(kernel: &Kernel) -> Vec<Outermost> {
    let facts = Facts::of(kernel, &kernel.body);
    let mut found = vec![];
    kernel.body.iter().for_each(|stmt| facts.outermost(kernel, stmt, &mut found));
    found
}

/// Notes the parallel loops in a statement that stand in no other.
fn on_threads(stmt: &Stmt, found: &mut Vec<Outermost>) {
    match stmt {
        Stmt::For { var, how: how @ How::Parallel { .. }, .. } => found.push(Outermost::Threads(*var, how.clone())),
        _ => stmt.blocks().flatten().for_each(|inner| on_threads(inner, found)),
    }
}

/// What is known of a kernel.
pub(crate) struct Facts {
    operands: Operands,
    /// The number of reads of each variable.
    reads: Vec<usize>,
    /// The number of accesses of each buffer, without allocations.
    touched: BTreeMap<BufferId, usize>,
    /// The length of each buffer that has one throughout.
    lengths: BTreeMap<BufferId, Option<Expr>>,
    /// The same, without variables that are defined by `let`.
    sizes: BTreeMap<BufferId, Expr>,
}

impl Facts {
    pub fn of(kernel: &Kernel, body: &[Stmt]) -> Facts {
        Facts {
            operands: Operands::of(kernel),
            reads: uses(body, kernel.vars.len()),
            touched: touched(body),
            lengths: lengths(body),
            sizes: sizes(body),
        }
    }

    /// The loop, in parallel if its iterations are independent; otherwise behind what says why it is not, where a schedule wants it so.
    fn apart(&self, kernel: &Kernel, stmt: Stmt) -> Vec<Stmt> {
        let independent = self.independent(kernel, &stmt);
        match (stmt, independent) {
            (Stmt::For { var, lo, hi, body, .. }, Ok(how)) => {
                let some = kernel.hints.keys().any(|var| is_dealt(kernel, *var));
                let body = if some { self.dealt(kernel, body, &Launched::of(kernel, var, &how)) } else { body };
                vec![Stmt::For { var, lo, hi, how, body }]
            }
            (stmt, how) => serial::noted(kernel, stmt, how.err().unwrap_or(Serial::Short)),
        }
    }

    /// The body of a parallel loop: in it loops that are dealt out are parallel where they are shown to be, and those around them. Where a
    /// block runs the loop, so are those that touch its workspaces, and loops in those that are not parallel.
    fn dealt(&self, kernel: &Kernel, body: Vec<Stmt>, launched: &Launched) -> Vec<Stmt> {
        let is_parallel = |stmt: &Stmt| matches!(stmt, Stmt::For { how: How::Parallel { .. }, .. });
        let each = |stmt: Stmt| match stmt {
            Stmt::If(c, yes, no) => Stmt::If(c, self.dealt(kernel, yes, launched), self.dealt(kernel, no, launched)),
            Stmt::While(c, body) if launched.by_block => Stmt::While(c, self.dealt(kernel, body, launched)),
            Stmt::For { var, lo, hi, how: How::Serial, body } => {
                let own = self.own(kernel, (var, &lo, &hi), &body).ok().filter(How::is_apart);
                let own = own.filter(|own| own.arrays().iter().all(|b| launched.folds(*b, is_dealt(kernel, var))));
                let Some(own) = own else {
                    let body = if launched.by_block { self.dealt(kernel, body, launched) } else { body };
                    return Stmt::For { var, lo, hi, how: How::Serial, body };
                };
                let fills = own.arrays().is_empty() && launched.touches(&body);
                let body = self.dealt(kernel, body, launched);
                let around = body.iter().any(|stmt| is_parallel(stmt) || stmt.blocks().flatten().any(is_parallel));
                let how = if around || fills || is_dealt(kernel, var) { own } else { How::Serial };
                Stmt::For { var, lo, hi, how, body }
            }
            other => other,
        };
        body.into_iter().map(each).collect()
    }

    /// How a statement runs in parallel, if it is a loop whose iterations are independent, and take time; else what keeps it from that.
    pub(super) fn independent(&self, kernel: &Kernel, stmt: &Stmt) -> Result<How, Serial> {
        let Stmt::For { var, lo, hi, how: How::Serial, body } = stmt else { return Err(Serial::Short) };
        let how = self.own(kernel, (*var, lo, hi), body)?;
        let pays = body.iter().any(takes_time) || how.folds() || is_dealt(kernel, *var);
        if pays { Ok(how) } else { Err(Serial::Short) }
    }

    /// Notes the outermost loops of a statement. A block of the program is no loop; a loop that allocates what it needs
    /// for each iteration is one, and those in it are outermost for the rewrite, too.
    fn outermost(&self, kernel: &Kernel, stmt: &Stmt, found: &mut Vec<Outermost>) {
        let one = |stmt: &Stmt| OneThread::of(kernel, stmt, self.serial(kernel, stmt)?).map(Outermost::OneThread);
        if goes_through(stmt) {
            let counted = |(var, body): (&Var, &[Stmt])| uses(body, self.reads.len())[var.0 as usize] > 0;
            if matches!(stmt, Stmt::For { var, body, .. } if counted((var, body))) {
                found.extend(one(stmt));
            }
            return stmt.blocks().flatten().for_each(|inner| self.outermost(kernel, inner, found));
        }
        let known = found.len();
        on_threads(stmt, found);
        if found.len() == known {
            found.extend(one(stmt));
        }
    }

    /// What keeps a loop that takes time on one thread; `None` if nothing does, or it is short.
    fn serial(&self, kernel: &Kernel, stmt: &Stmt) -> Option<Serial> {
        match stmt {
            Stmt::While(..) => Some(Serial::Merges),
            Stmt::For { how: How::Serial, body, .. } => {
                let why = self.independent(kernel, stmt).err()?;
                let takes = body.iter().any(takes_time) || matches!(why, Serial::InOrder(_));
                takes.then_some(why).filter(|why| *why != Serial::Short)
            }
            _ => None,
        }
    }

    /// Whether no iteration of a loop touches what another writes.
    pub fn is_apart(&self, kernel: &Kernel, range: (Var, &Expr, &Expr), body: &[Stmt]) -> bool {
        self.own(kernel, range, body).is_ok_and(|how| how.is_apart() && how.arrays().is_empty())
    }

    /// What threads have of their own, if the iterations of a loop are independent.
    fn own(&self, kernel: &Kernel, range: (Var, &Expr, &Expr), body: &[Stmt]) -> Result<How, Serial> {
        let mut accesses = Accesses::default();
        accesses.note(body).ok_or(Serial::Calls)?;
        let here = Body::of(&self.operands, range, body);
        let is_apart = kernel.hints.get(&range.0).is_some_and(|hints| hints.claim == Claim::Apart);
        let has_elements = |b: BufferId| holds_elements(kernel, b) || holds_entries(kernel, b);
        let apart_by_name = |b: BufferId| is_apart && has_elements(b) || is_of_rows_within(kernel, body, b);
        let (mut own, mut apart, mut arrays, mut appends) = (BTreeSet::new(), BTreeSet::new(), vec![], vec![]);
        for b in &accesses.written {
            let alone = self.is_alone(kernel, *b, body);
            if alone && kernel.buffers[b.0 as usize].private {
                own.insert(*b);
            } else if accesses.made.contains(b) {
                return Err(Serial::Allocates(*b));
            } else if accesses.grown.contains(b) || !apart_by_name(*b) && !shares_nothing(&here, &accesses.at[b]) {
                match alone && self.begins_whole(*b, body) {
                    true => _ = own.insert(*b),
                    false if array_in_pieces(kernel, body, *b).is_some() => arrays.push(*b),
                    false => appends.push(*b),
                }
            } else {
                apart.insert(*b);
            }
        }
        let in_pieces = |v: &Var| fold_in_pieces(kernel, body, *v).is_some();
        let carried = self.carried(body);
        let folded: Vec<Var> = carried.iter().copied().filter(in_pieces).collect();
        let counters: BTreeSet<Var> = carried.into_iter().filter(|v| !folded.contains(v)).collect();
        let known = Known { counters: &counters, own: &own, apart: &apart, lengths: &self.lengths };
        let goes_on = counters.first().map(|v| match folded_with(body, *v) {
            Some(_) => Serial::InOrder(*v),
            None => Serial::GoesOn(*v),
        });
        let joined = match goes_on.or(appends.first().map(|b| Serial::Shares(*b))) {
            Some(why) => Appends::joined(kernel, (range.0, &here), body, known).ok_or(why)?,
            None => vec![],
        };
        let own = own.into_iter().collect();
        let one_kind = joined.is_empty() || arrays.is_empty();
        if one_kind { Ok(How::Parallel { own, joined, folded, arrays }) } else { Err(Serial::Both) }
    }

    /// The variables that iterations set, but for those that each of them sets before it reads them, and that nothing else reads.
    pub fn carried(&self, body: &[Stmt]) -> BTreeSet<Var> {
        let mut set = BTreeSet::new();
        body.iter().for_each(|stmt| stmt.each_set(&mut |v, _| _ = set.insert(v)));
        let here = uses(body, self.reads.len());
        set.retain(|v| here[v.0 as usize] != self.reads[v.0 as usize] || !begins(body, *v));
        set
    }

    /// Whether statements set every element of a buffer before they touch it otherwise, and it keeps its length.
    fn begins_whole(&self, b: BufferId, body: &[Stmt]) -> bool {
        let mut touching = body.iter().filter(|stmt| touched(std::slice::from_ref(stmt)).contains_key(&b));
        let Some(first) = touching.next() else { return true };
        self.sets_whole(b, first)
            || matches!(first, Stmt::For { .. } | Stmt::While(..) | Stmt::If(..))
                && touching.next().is_none()
                && first.exprs().all(|e| !e.loads_from(b))
                && first.blocks().all(|inner| self.begins_whole(b, inner))
    }

    /// Whether a statement sets every element of a buffer, and reads none: it is a loop over its elements, or a nest over rows of rows, in which
    /// what is stored comes last.
    fn sets_whole(&self, b: BufferId, stmt: &Stmt) -> bool {
        let (mut inner, mut place, mut size) = (stmt, None, None);
        loop {
            match inner {
                Stmt::For { var, lo, hi, body, .. } if *lo == int(0) && self.stays(hi) => {
                    let Some((last, _)) = body.split_last().filter(|(_, rest)| !touched(rest).contains_key(&b)) else {
                        return false;
                    };
                    let row = |before: Expr| plus(times(before, hi.clone()), Expr::Var(*var));
                    place = Some(place.map_or(Expr::Var(*var), row));
                    size = Some(size.map_or(hi.clone(), |size| multiplied(size, hi.clone())));
                    inner = last;
                }
                Stmt::Store(to, at, e) if *to == b && place.as_ref() == Some(at) && !e.loads_from(b) => {
                    return self.sizes.get(&b) == size.as_ref();
                }
                _ => return false,
            }
        }
    }

    /// The length of a buffer, if it is a number.
    pub fn size(&self, b: BufferId) -> Option<u64> {
        if let Expr::Const(len) = self.sizes.get(&b)? { u64::try_from(len.as_i64()?).ok() } else { None }
    }

    /// Whether an expression has one value throughout the kernel: a number or a param.
    pub fn stays(&self, e: &Expr) -> bool {
        match e {
            Expr::Const(_) => true,
            Expr::Var(v) => self.operands.is_param(*v),
            Expr::Op(_, args) => args.iter().all(|arg| self.stays(arg)),
            _ => false,
        }
    }

    /// Whether a buffer is a workspace that nothing but these statements touches.
    fn is_alone(&self, kernel: &Kernel, b: BufferId, body: &[Stmt]) -> bool {
        kernel.buffers[b.0 as usize].role == Role::Workspace && touched(body).get(&b) == self.touched.get(&b)
    }
}

/// A parallel loop that loops are dealt out in.
struct Launched<'h> {
    /// The arrays into whose elements its iterations fold.
    arrays: &'h [BufferId],
    /// The workspaces that an iteration has to itself.
    workspaces: &'h [BufferId],
    /// Whether a schedule wants a block to run an iteration.
    by_block: bool,
}

impl<'h> Launched<'h> {
    fn of(kernel: &Kernel, var: Var, how: &'h How) -> Launched<'h> {
        let workspaces = if let How::Parallel { own, .. } = how { &own[..] } else { &[] };
        let by_block = kernel.hints.get(&var).is_some_and(|hints| hints.deal == Some(Deal::Block));
        Launched { arrays: how.arrays(), workspaces, by_block }
    }

    /// Whether iterations of a loop inside, which a schedule deals out or does not, may fold into an array at once.
    fn folds(&self, b: BufferId, is_dealt: bool) -> bool {
        self.arrays.contains(&b) || is_dealt && self.by_block && self.workspaces.contains(&b)
    }

    /// Whether a block runs it, and statements touch one of its workspaces.
    fn touches(&self, block: &[Stmt]) -> bool {
        let touched = touched(block);
        self.by_block && self.workspaces.iter().any(|b| touched.contains_key(b))
    }
}

/// Whether a schedule deals a loop's iterations out to units of a GPU.
pub(super) fn is_dealt(kernel: &Kernel, var: Var) -> bool {
    kernel.hints.get(&var).is_some_and(|hints| hints.deal.is_some())
}

/// The length of each buffer that is allocated once in one way and does not grow, without variables that are defined by `let`.
pub(crate) fn sizes(block: &[Stmt]) -> BTreeMap<BufferId, Expr> {
    fn note<'s>(block: &'s [Stmt], all: &mut BTreeMap<Var, Option<&'s Expr>>) {
        for stmt in block {
            if let Stmt::Let(v, e) = stmt {
                all.entry(*v).and_modify(|known| *known = None).or_insert(Some(e));
            }
            stmt.blocks().for_each(|inner| note(inner, all));
        }
    }
    fn told(e: &Expr, lets: &BTreeMap<Var, Option<&Expr>>) -> Expr {
        match e {
            Expr::Var(v) => lets.get(v).copied().flatten().map_or_else(|| e.clone(), |e| told(e, lets)),
            Expr::Op(Op::Mul, args) => multiplied(told(&args[0], lets), told(&args[1], lets)),
            _ => e.clone(),
        }
    }
    let mut lets = BTreeMap::new();
    note(block, &mut lets);
    lengths(block).into_iter().filter_map(|(b, len)| Some((b, told(&len?, &lets)))).collect()
}

/// A product, which is a number where both factors are.
fn multiplied(a: Expr, b: Expr) -> Expr {
    let product = match (&a, &b) {
        (Expr::Const(x), Expr::Const(y)) => (x.bits() as i64).checked_mul(y.bits() as i64),
        _ => None,
    };
    product.map_or_else(|| times(a, b), int)
}

/// The length of each buffer that is allocated, if there is one, and it does not grow.
fn lengths(block: &[Stmt]) -> BTreeMap<BufferId, Option<Expr>> {
    fn note(stmt: &Stmt, all: &mut BTreeMap<BufferId, Option<Expr>>) {
        match stmt {
            Stmt::Call(Entry::Alloc { buffer, len, .. }) => {
                let known = all.entry(*buffer).or_insert_with(|| Some(len.clone()));
                *known = known.take().filter(|known| known == len);
            }
            Stmt::Call(Entry::Finish { .. }) => {}
            Stmt::Call(entry) => entry.buffers().for_each(|b| _ = all.insert(b, None)),
            _ => {}
        }
        stmt.blocks().flatten().for_each(|inner| note(inner, all));
    }
    let mut all = BTreeMap::new();
    block.iter().for_each(|stmt| note(stmt, &mut all));
    all
}

/// Whether an array has an element for each coordinate of a result.
pub(super) fn holds_elements(kernel: &Kernel, b: BufferId) -> bool {
    kernel.arguments.iter().any(|of| !of.operand && of.values == b && of.format.is_dense())
}

/// Whether an array has an element for each entry of an operand, whose levels the result has: an entry is at one coordinate.
fn holds_entries(kernel: &Kernel, b: BufferId) -> bool {
    let given = |b: BufferId| kernel.buffers[b.0 as usize].role == Role::Operand;
    let is_given = |level: &LevelBuffers| {
        let arrays = || [Holds::Positions, Holds::Coordinates].into_iter().all(|of| level.array(of).is_some_and(given));
        level.kind().is_full() || level.kind().is_plain() && arrays()
    };
    let has = |of: &Argument| !of.operand && of.values == b && of.levels.iter().all(is_given);
    kernel.arguments.iter().any(|of| has(of) && of.levels.last().is_some_and(|level| level.kind().is_plain()))
}

/// Whether all indices have one place, in which each iteration has an interval of its own.
fn shares_nothing(body: &Body, at: &[Option<&Expr>]) -> bool {
    let place = |at: &Option<&Expr>| at.and_then(|at| body.place(at));
    let Some(first) = at.first().and_then(place) else { return false };
    at[1..].iter().all(|at| place(at).is_some_and(|other: Place| other == first))
}

/// The accesses of buffers in a loop's body.
#[derive(Default)]
struct Accesses<'s> {
    /// The index of each load and store of a buffer; `None` for an access of several elements.
    at: BTreeMap<BufferId, Vec<Option<&'s Expr>>>,
    written: BTreeSet<BufferId>,
    /// Buffers that may grow.
    grown: BTreeSet<BufferId>,
    /// Buffers that iterations allocate.
    made: BTreeSet<BufferId>,
}

impl<'s> Accesses<'s> {
    /// Notes the accesses of statements; `None` if they call what may not be called in parallel.
    fn note(&mut self, block: &'s [Stmt]) -> Option<()> {
        for stmt in block {
            stmt.exprs().for_each(|e| self.reads(e));
            match stmt {
                Stmt::Store(b, at, _) => {
                    self.at.entry(*b).or_default().push(Some(at));
                    self.written.insert(*b);
                }
                Stmt::Call(Entry::Reserve { buffer, .. }) => _ = self.grown.insert(*buffer),
                Stmt::Call(Entry::Alloc { buffer, .. }) => _ = self.made.insert(*buffer),
                Stmt::Call(entry @ (Entry::Sort { .. } | Entry::SortInto { .. })) => entry.buffers().for_each(|b| {
                    self.at.entry(b).or_default().push(None);
                    self.written.insert(b);
                }),
                Stmt::Call(Entry::Fail(_)) => {}
                Stmt::Call(_) => return None,
                _ => {}
            }
            stmt.blocks().try_for_each(|inner| self.note(inner))?;
        }
        self.written.extend(self.grown.iter().chain(&self.made));
        self.written.iter().for_each(|b| _ = self.at.entry(*b).or_default());
        Some(())
    }

    fn reads(&mut self, e: &'s Expr) {
        match e {
            Expr::Load(b, at) => {
                self.at.entry(*b).or_default().push(Some(at));
                self.reads(at);
            }
            Expr::Among(_, b, parts) => {
                self.at.entry(*b).or_default().push(None);
                parts.iter().for_each(|part| self.reads(part));
            }
            Expr::Op(_, args) => args.iter().for_each(|arg| self.reads(arg)),
            Expr::Const(_) | Expr::Var(_) | Expr::Capacity(_) => {}
        }
    }
}

/// The number of accesses of each buffer, without allocations.
pub(super) fn touched(block: &[Stmt]) -> BTreeMap<BufferId, usize> {
    fn count(stmt: &Stmt, all: &mut BTreeMap<BufferId, usize>) {
        let mut one = |b: BufferId| *all.entry(b).or_default() += 1;
        stmt.exprs().for_each(|e| {
            e.each(&mut |e| {
                if let Expr::Load(b, _) | Expr::Among(_, b, _) = e {
                    one(*b);
                }
            });
        });
        match stmt {
            Stmt::Store(b, ..) => one(*b),
            Stmt::Call(Entry::Alloc { .. }) => {}
            Stmt::Call(entry) => entry.buffers().for_each(one),
            _ => {}
        }
        stmt.blocks().flatten().for_each(|inner| count(inner, all));
    }
    let mut all = BTreeMap::new();
    block.iter().for_each(|stmt| count(stmt, &mut all));
    all
}
