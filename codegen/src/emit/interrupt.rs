//! Tests whether the caller has asked the kernel to end.
//!
//! ```text
//!  for i in 0..n {              for i in 0..n {                       for i in 0..n {             for s in 0..n by STRIP {
//!    for k in … {        ──▶      if *interrupt { end }                 for p in …        ──▶       if *interrupt { end }
//!      for p in …                 for k in … {                        }                             for i in s..min(s + STRIP, n) {
//!  }}                               for p in …                                                        for p in …
//!                             }}                                                                }}
//! ```
//!
//! Each iteration of a loop that contains two nested loops tests the interrupt; in an outermost loop that contains one, each [`STRIP`]-th
//! iteration does. Other loops do not: their iterations have few instructions, of which a test would be one in ten, and they could not be
//! vectorized. Loops with constant bounds do not count: LLVM unrolls these.

use super::statement::Range;
use super::{Emitter, attribute};
use crate::Error;
use crate::abi::Slot;
use fiberloom_loops::{Expr, Stmt, runs_statements};
use inkwell::IntPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{BasicValue, PointerValue};

/// Iterations of an outermost loop between tests: few enough to end soon, many enough that testing takes no time.
const STRIP: i64 = 64;

impl<'c> Emitter<'c, '_> {
    /// Loads the address of the interrupt's byte, once.
    pub(super) fn enter_interrupt(&mut self) -> Result<(), Error> {
        if !self.interruptible {
            return Ok(());
        }
        let session = self.function.get_nth_param(0).expect("a kernel has three arguments").into_pointer_value();
        // The address is stored behind the table.
        let bytes = 8 * (Slot::ALL.len() as u64 + 1);
        self.function.add_attribute(AttributeLoc::Param(0), attribute(self.context, "dereferenceable", bytes));
        let (word, place) = (self.context.ptr_type(Default::default()), self.i64(Slot::ALL.len() as i64));
        let at = self.element(word.into(), session, place)?;
        let address = self.builder.build_load(word, at, "interrupt")?;
        self.annotate(address, "invariant.load", self.context.metadata_node(&[]));
        self.interrupt = Some(address.into_pointer_value());
        Ok(())
    }

    /// Emits the test at the beginning of an iteration of a loop with this body, if it needs one.
    pub(super) fn look_for_interrupt(&self, body: &[Stmt]) -> Result<(), Error> {
        match self.interrupt {
            Some(address) if depth(body) >= 2 || runs_statements(body) => self.end_if_set(address),
            _ => Ok(()),
        }
    }

    /// The address to test between strips of iterations of a loop with this body, if it runs in strips.
    pub(super) fn strips(&self, body: &[Stmt]) -> Option<PointerValue<'c>> {
        self.interrupt.filter(|_| self.loops == 0 && depth(body) == 1 && !runs_statements(body))
    }

    /// Emits a loop with at least one iteration in strips; `turns` emits the loop of one strip, which continues at the block that it is
    /// given.
    pub(super) fn in_strips(
        &mut self,
        (lo, hi): Range<'c>,
        address: PointerValue<'c>,
        after: BasicBlock<'c>,
        turns: impl FnOnce(&mut Self, Range<'c>, BasicBlock<'c>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let before = self.here();
        let strip = self.new_block("strip");
        self.builder.build_unconditional_branch(strip)?;
        self.builder.position_at_end(strip);
        let counter = self.builder.build_phi(self.context.i64_type(), "strip")?;
        let from = counter.as_basic_value().into_int_value();
        self.end_if_set(address)?;
        let rest = self.builder.build_int_nsw_sub(hi, from, "")?;
        let is_last = self.builder.build_int_compare(IntPredicate::SLT, rest, self.i64(STRIP), "")?;
        let length = self.builder.build_select(is_last, rest, self.i64(STRIP), "")?.into_int_value();
        let to = self.builder.build_int_nsw_add(from, length, "")?;
        let end = self.new_block("strip_end");
        turns(self, (from, to), end)?;
        self.builder.position_at_end(end);
        counter.add_incoming(&[(&lo, before), (&to, end)]);
        let more = self.builder.build_int_compare(IntPredicate::SLT, to, hi, "")?;
        self.builder.build_conditional_branch(more, strip, after)?;
        Ok(())
    }

    fn end_if_set(&self, address: PointerValue<'c>) -> Result<(), Error> {
        let asked = self.builder.build_load(self.context.i8_type(), address, "asked")?;
        if let Some(load) = asked.as_instruction_value() {
            // Another thread sets the byte. Setting this fails only for an instruction that is no memory access.
            let _ = load.set_volatile(true);
        }
        // The byte is 0 or all ones: as a code, success or `INTERRUPTED`.
        let code = self.builder.build_int_s_extend(asked.into_int_value(), self.context.i32_type(), "")?;
        self.go_on_if_zero(code)
    }
}

/// The depth of nested loops in a block.
fn depth(block: &[Stmt]) -> usize {
    let of = |stmt: &Stmt| {
        let within = stmt.blocks().map(depth).max().unwrap_or(0);
        match stmt {
            Stmt::For { lo: Expr::Const(_), hi: Expr::Const(_), .. } => within,
            Stmt::For { .. } | Stmt::While(..) => within + 1,
            _ => within,
        }
    };
    block.iter().map(of).max().unwrap_or(0)
}
