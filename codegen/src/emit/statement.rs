//! Statements: definitions, stores, branches and loops.

use super::gather::{Fibers, Lanes};
use super::parts::Home;
use super::{Emitter, Place, Typed};
use crate::Error;
use fiberloom_core::algebra::{Op, Type};
use fiberloom_loops::{Element, Expr, Hints, How, Stmt, Var, folds_at_once, gathers, runs_statements, whole_copy};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{BasicMetadataValueEnum, IntValue, MetadataValue};

/// The lanes of a sum of bytes.
const BYTES: u64 = 16;

/// The least number of iterations for several partial sums, so that few iterations are left over.
const MANY: i64 = 64;

/// A loop's bounds: the first value, and one past the last.
pub(super) type Range<'c> = (IntValue<'c>, IntValue<'c>);

impl<'c> Emitter<'c, '_> {
    pub(super) fn statement(&mut self, stmt: &Stmt) -> Result<(), Error> {
        match stmt {
            Stmt::Set(var, _) if self.meet == Some(*var) => self.barrier(),
            Stmt::Let(var, e) | Stmt::Set(var, e) => self.define(*var, e),
            Stmt::Store(buffer, index, e) if folds_at_once(self.atomics, (*buffer, index), e) => {
                self.fold_atomically((*buffer, index), e)
            }
            Stmt::Store(buffer, index, e) => {
                let index = self.index(index)?;
                let ty = self.kernel.buffers[buffer.0 as usize].ty;
                let value = match e {
                    Expr::Op(Op::Convert(to), args) if *to == ty && self.buffer(*buffer).coordinates => {
                        self.narrowed(&args[0], ty)?
                    }
                    _ => self.typed(e, ty)?.value,
                };
                self.store(*buffer, index, value)
            }
            Stmt::If(condition, yes, no) => self.branch(condition, yes, no),
            Stmt::While(condition, body) => self.repeat(condition, body),
            Stmt::For { .. } if self.home == Home::Kernel && self.cuts.part_of(stmt).is_some() => self.call_turns(stmt),
            Stmt::For { var, lo, hi, how, body } => {
                let range = (self.index(lo)?, self.index(hi)?);
                self.count(*var, ([lo, hi], range), how, body)
            }
            Stmt::Call(entry) => self.entry(entry),
            Stmt::Comment(_) => Ok(()),
        }
    }

    /// The value of an expression that has to be of type `ty`.
    pub(super) fn typed(&self, e: &Expr, ty: Type) -> Result<Typed<'c>, Error> {
        let value = self.expr(e)?;
        if value.ty == ty {
            Ok(value)
        } else {
            Err(Error::Kernel(format!("a value of type {} where {ty} is expected", value.ty)))
        }
    }

    fn define(&mut self, var: Var, e: &Expr) -> Result<(), Error> {
        let value = self.handed(var, self.typed(e, self.kernel.vars[var.0 as usize].1)?.value)?;
        match self.vars[var.0 as usize] {
            Place::Slot(slot) => {
                self.builder.build_store(slot, value)?;
            }
            _ => self.keep(var, value)?,
        }
        Ok(())
    }

    fn branch(&mut self, condition: &Expr, yes: &[Stmt], no: &[Stmt]) -> Result<(), Error> {
        let condition = self.condition(condition)?;
        let joined = self.new_block("joined");
        let otherwise = if no.is_empty() { joined } else { self.new_block("else") };
        let then = self.new_block("then");
        self.builder.build_conditional_branch(condition, then, otherwise)?;
        self.builder.position_at_end(then);
        self.block(yes)?;
        self.builder.build_unconditional_branch(joined)?;
        if !no.is_empty() {
            self.builder.position_at_end(otherwise);
            self.block(no)?;
            self.builder.build_unconditional_branch(joined)?;
        }
        self.builder.position_at_end(joined);
        Ok(())
    }

    fn repeat(&mut self, said: &Expr, body: &[Stmt]) -> Result<(), Error> {
        let after = self.new_block("after");
        let inside = self.new_block("while");
        let test = self.new_block("test");
        self.builder.build_unconditional_branch(test)?;
        self.builder.position_at_end(test);
        let condition = self.condition(said)?;
        self.builder.build_conditional_branch(condition, inside, after)?;
        self.builder.position_at_end(inside);
        self.within(true, body)?;
        self.builder.build_unconditional_branch(test)?;
        self.builder.position_at_end(after);
        self.join_lanes(said)
    }

    /// Emits a loop's body.
    fn within(&mut self, is_merge: bool, body: &[Stmt]) -> Result<(), Error> {
        let outside = std::mem::replace(&mut self.is_merge, is_merge);
        let innermost = std::mem::replace(&mut self.is_innermost, !is_merge && !body.iter().any(has_loop));
        let around = usize::from(!runs_statements(body));
        self.loops += around;
        self.look_for_interrupt(body)?;
        self.block(body)?;
        self.loops -= around;
        self.is_innermost = innermost;
        self.is_merge = outside;
        Ok(())
    }

    /// Emits a counted loop.
    pub(super) fn count(
        &mut self,
        var: Var,
        (said, range): ([&Expr; 2], Range<'c>),
        how: &How,
        body: &[Stmt],
    ) -> Result<(), Error> {
        if let Some(fibers) = self.depends_on_lengths(body) {
            return self.count_twice(fibers, var, (said, range), how, body);
        }
        let (lo, hi) = range;
        let after = self.new_block("after");
        let some = self.new_block("some");
        let any = self.builder.build_int_compare(IntPredicate::SLT, lo, hi, "")?;
        self.builder.build_conditional_branch(any, some, after)?;
        self.builder.position_at_end(some);
        let copied = whole_copy(var, body, &self.kernel.buffers).filter(|_| self.loops == 0);
        let turns = hi.get_sign_extended_constant().zip(lo.get_sign_extended_constant()).map(|(hi, lo)| hi - lo);
        let asked = self.kernel.hints.get(&var).filter(|asked| asked.unroll > 0 || asked.lanes);
        let asked = asked.map(|asked| self.asked(*asked));
        let hints = asked.unwrap_or_else(|| self.hints(how, body, turns));
        let id = (!hints.is_empty()).then(|| self.loop_id(&hints));
        if let Some(copied) = copied {
            self.vars[var.0 as usize] = Place::Register(lo.into());
            self.copy(copied, self.builder.build_int_nsw_sub(hi, lo, "")?)?;
            self.builder.build_unconditional_branch(after)?;
        } else {
            self.ask_for_rows(var, range, how, body)?;
            match self.gathers_lanes(var, (said, range), how, body)? {
                Lanes::Yes => self.turns_as_lanes(var, (said, range), how, body, after)?,
                Lanes::No => self.turns(var, range, id, body, after)?,
                Lanes::Asked(is_long) => {
                    let (long, short) = (self.new_block("long"), self.new_block("short"));
                    self.builder.build_conditional_branch(is_long, long, short)?;
                    self.builder.position_at_end(long);
                    self.turns_as_lanes(var, (said, range), how, body, after)?;
                    self.builder.position_at_end(short);
                    self.turns(var, range, id, body, after)?;
                }
            }
        }
        self.builder.position_at_end(after);
        Ok(())
    }

    /// Emits a counted loop twice: for long fibers and for short ones.
    fn count_twice(
        &mut self,
        fibers: Fibers,
        var: Var,
        range: ([&Expr; 2], Range<'c>),
        how: &How,
        body: &[Stmt],
    ) -> Result<(), Error> {
        let are_long = self.are_long(fibers)?;
        let [long, short, after] = ["long", "short", "after"].map(|name| self.new_block(name));
        self.builder.build_conditional_branch(are_long, long, short)?;
        for (way, is_long) in [(long, true), (short, false)] {
            self.builder.position_at_end(way);
            self.decided = Some((fibers, is_long));
            self.count(var, range, how, body)?;
            self.builder.build_unconditional_branch(after)?;
        }
        self.decided = None;
        self.builder.position_at_end(after);
        Ok(())
    }

    /// Emits a loop with at least one iteration as lanes that gather.
    fn turns_as_lanes(
        &mut self,
        var: Var,
        (said, range): ([&Expr; 2], Range<'c>),
        how: &How,
        body: &[Stmt],
        after: BasicBlock<'c>,
    ) -> Result<(), Error> {
        let id = self.loop_id(&self.gather_hints(body));
        self.independent = self.are_apart(var, said, how, body).then_some(id);
        self.turns(var, range, Some(id), body, after)
    }

    /// Emits a loop with at least one iteration.
    fn turns(
        &mut self,
        var: Var,
        range: Range<'c>,
        id: Option<MetadataValue<'c>>,
        body: &[Stmt],
        after: BasicBlock<'c>,
    ) -> Result<(), Error> {
        match self.strips(body) {
            Some(looks) => self.in_strips(range, looks, after, |e, strip, end| e.turns_of(var, strip, id, body, end)),
            None => self.turns_of(var, range, id, body, after),
        }
    }

    /// Emits a loop with at least one iteration and the test at its end, the form that LLVM's loop passes expect.
    fn turns_of(
        &mut self,
        var: Var,
        (lo, hi): Range<'c>,
        id: Option<MetadataValue<'c>>,
        body: &[Stmt],
        after: BasicBlock<'c>,
    ) -> Result<(), Error> {
        let before = self.here();
        let inside = self.new_block("for");
        self.builder.build_unconditional_branch(inside)?;
        self.builder.position_at_end(inside);
        let counter = self.builder.build_phi(self.context.i64_type(), self.name(var))?;
        self.keep(var, counter.as_basic_value())?;
        self.ask_ahead(var, counter.as_basic_value().into_int_value(), body)?;
        self.within(false, body)?;
        self.independent = None;
        let at = counter.as_basic_value().into_int_value();
        let next = self.builder.build_int_nsw_add(at, self.i64(1), "")?;
        counter.add_incoming(&[(&lo, before), (&next, self.here())]);
        self.end_iteration(next, hi, id, (inside, after))
    }

    /// Copies elements of one array into another. (LLVM does not turn such a loop into a copy: it cannot exclude that the arrays
    /// overlap.)
    fn copy(&self, [to, from]: [Element; 2], elements: IntValue<'c>) -> Result<(), Error> {
        let size = self.kernel.buffers[to.0.0 as usize].ty.bytes() as u32;
        let [to, from] = [to, from].map(|(b, at)| self.address_of(b, self.index(at)?));
        let bytes = self.builder.build_int_nsw_mul(elements, self.i64(size as i64), "")?;
        self.builder.build_memcpy(to?, size, from?, size, bytes).map_err(|e| Error::Llvm(e.to_string()))?;
        Ok(())
    }

    /// LLVM's hints for a loop that a schedule asks to unroll or vectorize.
    fn asked(&self, Hints { unroll, lanes, .. }: Hints) -> Vec<MetadataValue<'c>> {
        let times = self.context.i32_type().const_int(unroll.into(), false);
        let yes = self.context.bool_type().const_int(1, false);
        let unroll = (unroll > 0).then(|| self.hint("llvm.loop.unroll.count", times));
        let lanes = lanes.then(|| self.hint("llvm.loop.vectorize.enable", yes));
        unroll.into_iter().chain(lanes).collect()
    }

    /// LLVM's hints for a loop; `turns` is the number of iterations, if it is constant.
    fn hints(&self, how: &How, body: &[Stmt], turns: Option<i64>) -> Vec<MetadataValue<'c>> {
        let yes = self.context.bool_type().const_int(1, false);
        let number = |n| self.context.i32_type().const_int(n, false);
        if runs_statements(body) {
            // Unrolling so long a body would take time to compile, and save none.
            vec![self.hint("llvm.loop.unroll.disable", yes)]
        } else if how.is_vector() && !gathers(body) {
            self.narrow();
            // All lanes of a strip at once: 32-bit elements fill half as many registers as 64-bit ones.
            let lanes = turns.and_then(|n| u64::try_from(n).ok()).filter(|n| n.is_power_of_two());
            let width = lanes.map(|n| self.hint("llvm.loop.vectorize.width", number(n)));
            width.into_iter().chain([self.hint("llvm.loop.vectorize.enable", yes)]).collect()
        } else if body.iter().any(constant_loop) {
            // The inner loop is unrolled completely and its sums stay in registers. Unrolling this loop too, with a copy for an odd
            // number of iterations, would move them through memory.
            vec![self.hint("llvm.loop.unroll.disable", yes)]
        } else if gathers(body) {
            // Assembling gathered values in vectors costs more than it saves, except for long fibers on some machines (`gather.rs`).
            // Several partial sums hide the latency of additions.
            let once = self.hint("llvm.loop.unroll.disable", yes);
            vec![
                self.hint("llvm.loop.vectorize.width", number(1)),
                self.hint("llvm.loop.interleave.count", number(4)),
                once,
            ]
        } else if body.iter().any(|stmt| matches!(stmt, Stmt::If(..))) {
            // Unrolling would add an unpredictable branch on an odd number of iterations.
            vec![self.hint("llvm.loop.unroll.disable", yes)]
        } else if body.iter().any(|stmt| matches!(stmt, Stmt::Store(b, ..) if self.is_framed(*b))) {
            // Unroll the vectorized loop completely, so that the row stays in registers.
            let text = |name: &str| BasicMetadataValueEnum::from(self.context.metadata_string(name));
            let whole = self.context.metadata_node(&[text("llvm.loop.unroll.full")]);
            let then = [text("llvm.loop.vectorize.followup_vectorized"), whole.into()];
            vec![self.context.metadata_node(&then)]
        } else if let [sum @ Stmt::Set(..)] = body
            && sum.exprs().filter_map(|e| self.widest(e)).max() == Some(1)
        {
            // LLVM would take as many lanes as fit of the sum's type: too few for bytes, of which more can be loaded and multiplied at a
            // time.
            vec![self.hint("llvm.loop.vectorize.width", number(BYTES))]
        } else if turns.is_some_and(|n| n >= MANY) && matches!(body, [Stmt::Set(..)]) {
            // Several vectors of partial sums hide the latency of additions.
            vec![self.hint("llvm.loop.interleave.count", number(4))]
        } else {
            vec![]
        }
    }

    pub(super) fn hint(&self, name: &str, value: IntValue<'c>) -> MetadataValue<'c> {
        self.context.metadata_node(&[self.context.metadata_string(name).into(), value.into()])
    }

    /// The bytes of the widest element that an expression loads.
    pub(super) fn widest(&self, e: &Expr) -> Option<usize> {
        match e {
            Expr::Load(b, at) => Some(self.kernel.buffers[b.0 as usize].ty.bytes()).max(self.widest(at)),
            Expr::Op(_, args) => args.iter().filter_map(|a| self.widest(a)).max(),
            Expr::Among(..) => Some(usize::MAX),
            Expr::Const(_) | Expr::Var(_) | Expr::Capacity(_) => None,
        }
    }

    fn end_iteration(
        &self,
        next: IntValue<'c>,
        hi: IntValue<'c>,
        id: Option<MetadataValue<'c>>,
        (inside, after): (BasicBlock<'c>, BasicBlock<'c>),
    ) -> Result<(), Error> {
        let more = self.builder.build_int_compare(IntPredicate::SLT, next, hi, "")?;
        let latch = self.builder.build_conditional_branch(more, inside, after)?;
        if let Some(id) = id {
            // This fails only for an invalid node.
            let _ = latch.set_metadata(id, self.context.get_kind_id("llvm.loop"));
        }
        Ok(())
    }
}

/// Whether a statement is a loop with constant bounds.
fn constant_loop(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For { lo: Expr::Const(_), hi: Expr::Const(_), .. })
}

/// Whether a statement is a loop, or holds one.
fn has_loop(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::For { .. } | Stmt::While(..) => true,
        Stmt::If(_, yes, no) => yes.iter().chain(no).any(has_loop),
        _ => false,
    }
}
