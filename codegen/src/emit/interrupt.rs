//! Looking whether somebody asks the call to end.
//!
//! ```text
//!  for i in 0..n {            for i in 0..n {
//!    for p in …      ──▶        if *interrupt != 0 { end with INTERRUPTED }
//!  }                            for p in …
//!                             }
//! ```
//!
//! A turn of a loop that holds another loop looks; innermost loops do not, whose turns are a few instructions each and whose
//! vectors a test would cost. Nor do loops whose inner loops have constant bounds: LLVM unrolls these.

use super::{Emitter, attribute};
use crate::Error;
use crate::abi::Slot;
use fiberloom_core::loops::{Expr, Stmt};
use inkwell::attributes::AttributeLoc;
use inkwell::values::{BasicValue, PointerValue};

impl<'c> Emitter<'c, '_> {
    /// The address of the byte that says so, read once.
    pub(super) fn enter_interrupt(&mut self) -> Result<(), Error> {
        if !self.interruptible {
            return Ok(());
        }
        let session = self.function.get_nth_param(0).expect("a kernel has three arguments").into_pointer_value();
        // Behind the table there is this address.
        let bytes = 8 * (Slot::ALL.len() as u64 + 1);
        self.function.add_attribute(AttributeLoc::Param(0), attribute(self.context, "dereferenceable", bytes));
        let (word, place) = (self.context.ptr_type(Default::default()), self.i64(Slot::ALL.len() as i64));
        let at = self.element(word.into(), session, place)?;
        let address = self.builder.build_load(word, at, "interrupt")?;
        self.annotate(address, "invariant.load", self.context.metadata_node(&[]));
        self.interrupt = Some(address.into_pointer_value());
        Ok(())
    }

    /// Begins a turn of a loop with this body.
    pub(super) fn look_for_interrupt(&self, body: &[Stmt]) -> Result<(), Error> {
        match self.interrupt {
            Some(address) if body.iter().any(holds_loop) => self.end_if_set(address),
            _ => Ok(()),
        }
    }

    fn end_if_set(&self, address: PointerValue<'c>) -> Result<(), Error> {
        let asked = self.builder.build_load(self.context.i8_type(), address, "asked")?;
        if let Some(load) = asked.as_instruction_value() {
            // Another thread sets it. Fails only for what is no access to memory.
            let _ = load.set_volatile(true);
        }
        // The byte is 0 or all ones: as a code no failure, or `INTERRUPTED`.
        let code = self.builder.build_int_s_extend(asked.into_int_value(), self.context.i32_type(), "")?;
        self.go_on_if_zero(code)
    }
}

/// Whether a statement is, or holds, a loop whose turns are not constant.
fn holds_loop(stmt: &Stmt) -> bool {
    match stmt {
        // Turns of a constant number are unrolled.
        Stmt::For { lo: Expr::Const(_), hi: Expr::Const(_), body, .. } => body.iter().any(holds_loop),
        Stmt::For { .. } | Stmt::While(..) => true,
        _ => stmt.blocks().any(|block| block.iter().any(holds_loop)),
    }
}
