//! Kernels in parts: functions that run one after the other, and functions that run some of a parallel loop's iterations.
//!
//! ```text
//!  kernel(rt, buffers, params)               part_0(rt, buffers, params, frame)
//!    frame: a word for each shared variable    reads the shared variables that it mentions from the frame,
//!    call part_0, part_1, …                    runs its statements,
//!    the first code that is not 0 is returned  writes back those that it sets; returns 0, or a failure's code
//! ```
//!
//! LLVM's time for a function grows faster than its length. A block of more than [`Options::long`](crate::Options::long) statements is
//! cut between its statements, so that each function has a bounded length and mentions few buffers. The body of a loop or of a branch is
//! cut only if it allocates, which costs more than a call. The body of a parallel loop is a part, too, which has the first and the last
//! iteration as arguments (`parallel.rs`); within one, loops run serially.
//!
//! Invariants: a variable that more than one function mentions is *shared* and has a word of the frame. A workspace that more than one
//! function mentions is in no function's frame. A function loads addresses of buffers at its beginning, and again after a call of a part
//! that may have changed them.

use super::parallel::all_words;
use super::{Emitter, Place};
use crate::Error;
use crate::room::length;
use fiberloom_loops::{BufferId, Expr, How, Joined, Kernel, Stmt, Var, linear, runs_statements, work};
use inkwell::IntPredicate;
use inkwell::values::{BasicValueEnum, IntValue, PointerValue};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The variables and buffers that a function mentions.
#[derive(Default)]
pub(super) struct Mentions {
    pub vars: BTreeSet<Var>,
    pub buffers: BTreeSet<BufferId>,
}

/// The cuts of a kernel into functions.
pub(super) struct Cuts<'k> {
    /// The most statements of a function, where it can be cut.
    long: usize,
    /// The blocks that are cut, by their first statement's address.
    blocks: BTreeMap<*const Stmt, Vec<Piece>>,
    /// The parts.
    pub parts: Vec<Part<'k>>,
    /// The parallel loops, each with its part, by the loop's address.
    loops: BTreeMap<*const Stmt, usize>,
    kernel: &'k Kernel,
    /// The mentions of the kernel's own function, then of each part.
    mentions: Vec<Mentions>,
    /// The shared variables, each with its word of the frame.
    pub shared: BTreeMap<Var, u64>,
    /// The most words that describe a loop.
    pub words: u64,
}

/// What a part runs.
#[derive(Clone, Copy)]
pub(super) enum Part<'k> {
    /// These statements, once.
    Statements(&'k [Stmt]),
    /// Some iterations of this parallel loop.
    Turns(&'k Stmt),
}

/// A piece of a block that is cut.
#[derive(Clone)]
enum Piece {
    /// Statements that stay in the function.
    Here(Range<usize>),
    /// A call of this part.
    Part(usize),
}

/// A function of a kernel.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Home {
    /// The kernel's own function.
    Kernel,
    /// A part's function.
    Part(usize),
}

impl<'k> Cuts<'k> {
    /// Cuts a kernel's body.
    pub fn of(kernel: &'k Kernel, long: usize) -> Cuts<'k> {
        let (blocks, loops, shared) = Default::default();
        let mut cuts = Cuts { long, blocks, parts: vec![], loops, kernel, mentions: vec![], shared, words: 0 };
        cuts.mentions.push(Mentions::default());
        cuts.cut(&kernel.body);
        let mut homes: BTreeMap<Var, usize> = BTreeMap::new();
        cuts.mentions.iter().flat_map(|m| &m.vars).for_each(|v| *homes.entry(*v).or_default() += 1);
        let shared = homes.into_iter().filter(|(v, homes)| *homes > 1 && !kernel.params.contains(v));
        cuts.shared = shared.map(|(v, _)| v).zip(0..).collect();
        cuts
    }

    /// The variables and buffers that a function mentions.
    pub fn mentions(&self, home: Home) -> &Mentions {
        match home {
            Home::Kernel => &self.mentions[0],
            Home::Part(part) => &self.mentions[part + 1],
        }
    }

    /// Whether more than one function mentions a buffer.
    pub fn shares(&self, buffer: BufferId) -> bool {
        self.mentions.iter().filter(|m| m.buffers.contains(&buffer)).count() > 1
    }

    /// The part of a parallel loop.
    pub fn part_of(&self, stmt: &Stmt) -> Option<usize> {
        self.loops.get(&(stmt as *const Stmt)).copied()
    }

    /// Whether a function runs iterations of a loop whose threads have copies of a buffer.
    pub fn owns(&self, home: Home, buffer: BufferId) -> bool {
        let Home::Part(part) = home else { return false };
        let Part::Turns(Stmt::For { how: How::Parallel { own, .. }, .. }) = self.parts[part] else { return false };
        own.contains(&buffer)
    }

    /// Whether a function runs iterations of a loop.
    pub fn is_turns(&self, home: Home) -> bool {
        matches!(home, Home::Part(part) if matches!(self.parts[part], Part::Turns(_)))
    }

    /// Cuts a block of the kernel's own function, if it is long.
    fn cut(&mut self, block: &'k [Stmt]) {
        if length(block) <= self.long {
            return block.iter().for_each(|stmt| self.stays_here(stmt));
        }
        let (mut pieces, mut begin) = (Vec::new(), 0);
        for (at, stmt) in block.iter().enumerate() {
            if stays(stmt, self.long) {
                self.part(&mut pieces, block, begin..at);
                match is_parallel(stmt) {
                    true => self.turns(stmt),
                    false => {
                        self.mentions[0].own(stmt);
                        stmt.blocks().for_each(|inner| self.cut(inner));
                    }
                }
                pieces.push(Piece::Here(at..at + 1));
                begin = at + 1;
            } else if length(&block[begin..=at]) > self.long {
                self.part(&mut pieces, block, begin..at);
                begin = at;
            }
        }
        self.part(&mut pieces, block, begin..block.len());
        self.blocks.insert(block.as_ptr(), pieces);
    }

    fn part(&mut self, pieces: &mut Vec<Piece>, block: &'k [Stmt], range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let mut mentions = Mentions::default();
        block[range.clone()].iter().for_each(|stmt| mentions.statement(stmt));
        pieces.push(Piece::Part(self.parts.len()));
        self.parts.push(Part::Statements(&block[range]));
        self.mentions.push(mentions);
    }

    /// Notes a statement of the kernel's own function.
    fn stays_here(&mut self, stmt: &'k Stmt) {
        if is_parallel(stmt) {
            return self.turns(stmt);
        }
        self.mentions[0].own(stmt);
        stmt.blocks().flatten().for_each(|inner| self.stays_here(inner));
    }

    /// Makes a part of a parallel loop.
    fn turns(&mut self, stmt: &'k Stmt) {
        let Stmt::For { var, lo, hi, body, how } = stmt else { return };
        let work = work(self.kernel, *var, (lo, hi), body);
        [lo, hi, &work].into_iter().for_each(|e| self.mentions[0].expression(e));
        let mut mentions = Mentions::default();
        mentions.statement(stmt);
        self.words = self.words.max(all_words(self.kernel, stmt));
        let linear = |j: &Joined| linear(&j.from, *var).filter(|_| j.counter(*var).is_none());
        for (first, length) in how.joined().iter().filter_map(linear) {
            [first, length].iter().for_each(|e| self.mentions[0].expression(e));
        }
        for v in how.counters(*var).iter().chain(how.folded()).copied() {
            self.mentions[0].vars.insert(v);
            mentions.vars.insert(v);
        }
        self.loops.insert(stmt, self.parts.len());
        self.parts.push(Part::Turns(stmt));
        self.mentions.push(mentions);
    }
}

impl Mentions {
    /// Adds the mentions of a statement and of its blocks.
    fn statement(&mut self, stmt: &Stmt) {
        self.own(stmt);
        stmt.blocks().flatten().for_each(|inner| self.statement(inner));
    }

    /// Adds the mentions of a statement without its blocks.
    fn own(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(var, _) | Stmt::Set(var, _) | Stmt::For { var, .. } => drop(self.vars.insert(*var)),
            Stmt::Store(buffer, ..) => drop(self.buffers.insert(*buffer)),
            Stmt::Call(entry) => self.buffers.extend(entry.buffers()),
            Stmt::If(..) | Stmt::While(..) | Stmt::Comment(_) => {}
        }
        stmt.exprs().for_each(|e| self.expression(e));
    }

    fn expression(&mut self, e: &Expr) {
        e.each(&mut |part| match part {
            Expr::Var(var) => drop(self.vars.insert(*var)),
            Expr::Load(buffer, _) | Expr::Among(_, buffer, _) | Expr::Capacity(buffer) => {
                self.buffers.insert(*buffer);
            }
            Expr::Const(_) | Expr::Op(..) => {}
        });
    }
}

/// The name of a part's function.
pub(super) fn name(symbol: &str, part: usize) -> String {
    format!("{symbol}_part_{part}")
}

/// Whether a statement stays in the kernel's own function: it is a long loop whose iterations allocate, or a branch with such statements,
/// as in a `while` block of the program, or it has a parallel loop.
fn stays(stmt: &Stmt, long: usize) -> bool {
    has_parallel(stmt) || stmt.blocks().any(|body| length(body) > long && runs_statements(body))
}

fn is_parallel(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For { how: How::Parallel { .. }, .. })
}

fn has_parallel(stmt: &Stmt) -> bool {
    is_parallel(stmt) || stmt.blocks().flatten().any(has_parallel)
}

impl<'c> Emitter<'c, '_> {
    /// The statements of a block, or the pieces into which it is cut.
    pub(super) fn block(&mut self, block: &[Stmt]) -> Result<(), Error> {
        let pieces = match self.home {
            Home::Kernel if !block.is_empty() => self.cuts.blocks.get(&block.as_ptr()),
            _ => None,
        };
        match pieces {
            None => block.iter().try_for_each(|stmt| self.statement(stmt)),
            Some(pieces) => pieces.clone().into_iter().try_for_each(|piece| match piece {
                Piece::Here(range) => block[range].iter().try_for_each(|stmt| self.statement(stmt)),
                Piece::Part(part) => self.call_part(part),
            }),
        }
    }

    /// Calls a part; the kernel ends if the part fails.
    fn call_part(&mut self, part: usize) -> Result<(), Error> {
        let function = self.module.get_function(&name(self.symbol, part));
        let function = function.ok_or_else(|| Error::Llvm(format!("part {part} is not declared")))?;
        let args: Vec<_> = (0..3).filter_map(|n| self.function.get_nth_param(n)).map(Into::into).collect();
        let frame = self.frame.expect("a kernel that has parts has a frame");
        let call = self.builder.build_call(function, &[args, vec![frame.into()]].concat(), "")?;
        self.go_on_if_zero(call.try_as_basic_value().unwrap_basic().into_int_value())?;
        let mentioned = self.cuts.mentions(Home::Kernel).buffers.iter();
        mentioned.filter(|b| self.moves(**b)).try_for_each(|b| self.refresh(*b))
    }

    /// The word of the frame that holds a shared variable.
    pub(super) fn word_of(&self, var: Var) -> Result<Option<PointerValue<'c>>, Error> {
        let Some((word, frame)) = self.cuts.shared.get(&var).zip(self.frame) else { return Ok(None) };
        Ok(Some(self.element(self.context.i64_type().into(), frame, self.i64(*word as i64))?))
    }

    /// Defines a variable that does not change, and stores it in the frame for the parts that read it.
    pub(super) fn keep(&mut self, var: Var, value: BasicValueEnum<'c>) -> Result<(), Error> {
        self.vars[var.0 as usize] = Place::Register(value);
        // What iterations define, other threads do not see.
        if let Some(word) = self.word_of(var)?.filter(|_| !self.cuts.is_turns(self.home)) {
            self.builder.build_store(word, value)?;
        }
        Ok(())
    }

    /// Loads the shared variables of a part from the frame.
    pub(super) fn enter_shared(&mut self) -> Result<(), Error> {
        for var in self.cuts.mentions(self.home).vars.clone() {
            let Some(word) = self.word_of(var)? else { continue };
            let value = self.builder.build_load(self.register(self.type_of(var)), word, self.name(var))?;
            match self.vars[var.0 as usize] {
                Place::Slot(slot) => drop(self.builder.build_store(slot, value)?),
                _ => self.vars[var.0 as usize] = Place::Register(value),
            }
        }
        Ok(())
    }

    /// Stores the shared variables that a part sets to the frame.
    pub(super) fn leave_shared(&mut self) -> Result<(), Error> {
        self.leave(&self.cuts.mentions(self.home).vars.clone())
    }

    /// Stores variables of a part in the frame.
    pub(super) fn leave(&mut self, vars: &BTreeSet<Var>) -> Result<(), Error> {
        for var in vars {
            if let (Some(word), Place::Slot(slot)) = (self.word_of(*var)?, self.vars[var.0 as usize]) {
                let value = self.builder.build_load(self.register(self.type_of(*var)), slot, "")?;
                self.builder.build_store(word, value)?;
            }
        }
        Ok(())
    }

    /// Continues only if a code is 0; otherwise the function returns the code.
    pub(super) fn go_on_if_zero(&self, code: IntValue<'c>) -> Result<(), Error> {
        let zero = code.get_type().const_zero();
        let done = self.builder.build_int_compare(IntPredicate::EQ, code, zero, "")?;
        let next = self.new_block("done");
        self.builder.build_store(self.stop.1, code)?;
        let branch = self.builder.build_conditional_branch(done, next, self.stop.0)?;
        let weight = |n| self.context.i32_type().const_int(n, false).into();
        let likely = self.context.metadata_string("branch_weights").into();
        let weights = self.context.metadata_node(&[likely, weight(1 << 16), weight(1)]);
        // This fails only for an invalid node.
        let _ = branch.set_metadata(weights, self.context.get_kind_id("prof"));
        self.builder.position_at_end(next);
        Ok(())
    }
}
