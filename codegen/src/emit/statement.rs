//! Statements.

use super::{Emitter, Place, Typed};
use crate::Error;
use fiberloom_core::algebra::Type;
use fiberloom_core::loops::{Expr, How, Stmt, Var};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::IntValue;

impl<'c> Emitter<'c, '_> {
    pub(super) fn block(&mut self, block: &[Stmt]) -> Result<(), Error> {
        block.iter().try_for_each(|stmt| self.statement(stmt))
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<(), Error> {
        match stmt {
            Stmt::Let(var, e) | Stmt::Set(var, e) => self.define(*var, e),
            Stmt::Store(buffer, index, e) => {
                let index = self.index(index)?;
                let value = self.typed(e, self.kernel.buffers[buffer.0 as usize].ty)?;
                self.store(*buffer, index, value.value)
            }
            Stmt::If(condition, yes, no) => self.branch(condition, yes, no),
            Stmt::While(condition, body) => self.repeat(condition, body),
            Stmt::For { var, lo, hi, how, body } => {
                let (lo, hi) = (self.index(lo)?, self.index(hi)?);
                self.count(*var, lo, hi, *how, body)
            }
            Stmt::Call(entry) => self.entry(entry),
            Stmt::Comment(_) => Ok(()),
        }
    }

    /// An expression that has to be of type `ty`.
    fn typed(&self, e: &Expr, ty: Type) -> Result<Typed<'c>, Error> {
        let value = self.expr(e)?;
        if value.ty == ty {
            Ok(value)
        } else {
            Err(Error::Kernel(format!("a value of type {} where {ty} is expected", value.ty)))
        }
    }

    fn define(&mut self, var: Var, e: &Expr) -> Result<(), Error> {
        let value = self.typed(e, self.kernel.vars[var.0 as usize].1)?.value;
        match self.vars[var.0 as usize] {
            Place::Slot(slot) => {
                self.builder.build_store(slot, value)?;
            }
            _ => self.vars[var.0 as usize] = Place::Register(value),
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

    fn repeat(&mut self, condition: &Expr, body: &[Stmt]) -> Result<(), Error> {
        let after = self.new_block("after");
        let inside = self.new_block("while");
        let test = self.new_block("test");
        self.builder.build_unconditional_branch(test)?;
        self.builder.position_at_end(test);
        let condition = self.condition(condition)?;
        self.builder.build_conditional_branch(condition, inside, after)?;
        self.builder.position_at_end(inside);
        self.block(body)?;
        self.builder.build_unconditional_branch(test)?;
        self.builder.position_at_end(after);
        Ok(())
    }

    /// A counted loop with its test at the end, as LLVM's loop passes like it.
    fn count(&mut self, var: Var, lo: IntValue<'c>, hi: IntValue<'c>, how: How, body: &[Stmt]) -> Result<(), Error> {
        let before = self.here();
        let after = self.new_block("after");
        let inside = self.new_block("for");
        let any = self.builder.build_int_compare(IntPredicate::SLT, lo, hi, "")?;
        self.builder.build_conditional_branch(any, inside, after)?;
        self.builder.position_at_end(inside);
        let counter = self.builder.build_phi(self.context.i64_type(), self.name(var))?;
        self.vars[var.0 as usize] = Place::Register(counter.as_basic_value());
        self.block(body)?;
        let at = counter.as_basic_value().into_int_value();
        let next = self.builder.build_int_nsw_add(at, self.i64(1), "")?;
        counter.add_incoming(&[(&lo, before), (&next, self.here())]);
        let hint = match how {
            How::Vector => Some("llvm.loop.vectorize.enable"),
            // Such an inner loop is unrolled whole, and its sums are kept in registers: another copy of them for an odd
            // number of turns would put them through memory.
            _ if body.iter().any(constant_loop) => Some("llvm.loop.unroll.disable"),
            _ => None,
        };
        self.end_iteration(next, hi, hint, (inside, after))?;
        self.builder.position_at_end(after);
        Ok(())
    }

    fn end_iteration(
        &self,
        next: IntValue<'c>,
        hi: IntValue<'c>,
        hint: Option<&str>,
        (inside, after): (BasicBlock<'c>, BasicBlock<'c>),
    ) -> Result<(), Error> {
        let more = self.builder.build_int_compare(IntPredicate::SLT, next, hi, "")?;
        let latch = self.builder.build_conditional_branch(more, inside, after)?;
        if let Some(name) = hint {
            let wanted = self.context.metadata_string(name).into();
            let hint = self.context.metadata_node(&[wanted, self.context.bool_type().const_int(1, false).into()]);
            // Fails only for a node that is none.
            let _ = latch.set_metadata(self.loop_id(hint), self.context.get_kind_id("llvm.loop"));
        }
        Ok(())
    }
}

/// Whether a statement is a loop of as many turns as the program says.
fn constant_loop(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For { lo: Expr::Const(_), hi: Expr::Const(_), .. })
}
