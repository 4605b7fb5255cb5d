//! Parallel loops: a function that runs some of the iterations, and a call of the runtime, which runs it on threads.
//!
//! ```text
//!   parallel for i in lo..hi with w          rt->parallel(rt, buffers, params, frame, {kernel_part_0, own, 1, lo, hi, work})
//!     …                               ──▶      kernel_part_0(rt', buffers', params, frame, 0, 128)      on one thread
//!                                              kernel_part_0(rt″, buffers″, params, frame, 128, 256)    on another
//! ```
//!
//! The loop is described in the frame's last words. Parts only read the frame. Each thread has a session of its own, and a copy of the
//! table of buffers, in which `own` are copies, too.

use super::{Emitter, parts};
use crate::Error;
use crate::abi::Slot;
use fiberloom_core::loops::{BufferId, How, Stmt, work};
use inkwell::module::Linkage;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, PointerValue};

/// The words that describe a loop.
pub(super) const WORDS: u64 = 6;

impl<'c> Emitter<'c, '_> {
    /// Emits the loop over the iterations that are this function's arguments.
    pub(super) fn some_turns(&mut self, stmt: &Stmt) -> Result<(), Error> {
        let Stmt::For { var, lo, hi, body, .. } = stmt else { return Ok(()) };
        let [first, past] = [4, 5].map(|n| self.function.get_nth_param(n).map(|at| at.into_int_value()));
        let range = (first.expect("the first iteration"), past.expect("one past the last"));
        self.count(*var, ([lo, hi], range), &How::Serial, body)
    }

    /// Calls the runtime, which runs a parallel loop; the kernel ends if an iteration fails.
    pub(super) fn call_turns(&mut self, stmt: &Stmt) -> Result<(), Error> {
        let (Stmt::For { var, lo, hi, how: How::Parallel { own }, body }, Some(part)) = (stmt, self.cuts.part_of(stmt))
        else {
            return Ok(());
        };
        let function = self.module.get_function(&parts::name(self.symbol, part));
        let function = function.ok_or_else(|| Error::Llvm(format!("part {part} is not declared")))?;
        let [session, buffers, params] = [0, 1, 2].map(|n| self.function.get_nth_param(n).expect("three arguments"));
        let frame = self.frame.expect("a kernel that has parts has a frame");
        let work = self.index(&work(self.kernel, *var, (lo, hi), body))?;
        let (lo, hi) = (self.index(lo)?, self.index(hi)?);
        let word = |n: u64| {
            self.element(self.context.i64_type().into(), frame, self.i64((self.cuts.shared.len() as u64 + n) as i64))
        };
        let described: [BasicValueEnum; WORDS as usize] = [
            function.as_global_value().as_pointer_value().into(),
            self.numbers(own, part).into(),
            self.i64(own.len() as i64).into(),
            lo.into(),
            hi.into(),
            work.into(),
        ];
        for (n, value) in described.into_iter().enumerate() {
            self.builder.build_store(word(n as u64)?, value)?;
        }
        let args = [session, buffers, params, frame.into(), word(0)?.into()].map(BasicMetadataValueEnum::from);
        let call = self.call_table(Slot::Parallel, &args)?;
        self.go_on_if_zero(call.try_as_basic_value().unwrap_basic().into_int_value())?;
        let mentioned = &self.cuts.mentions(self.home).buffers;
        own.iter().filter(|b| mentioned.contains(b) && self.moves(**b)).try_for_each(|b| self.refresh(*b))
    }

    /// The numbers of buffers, as an array of constants.
    fn numbers(&self, own: &[BufferId], part: usize) -> PointerValue<'c> {
        if own.is_empty() {
            return self.context.ptr_type(Default::default()).const_null();
        }
        let number = self.context.i32_type();
        let numbers: Vec<_> = own.iter().map(|b| number.const_int(b.0.into(), false)).collect();
        let places = self.module.add_global(number.array_type(own.len() as u32), None, &format!("own_{part}"));
        places.set_initializer(&number.const_array(&numbers));
        places.set_constant(true);
        places.set_linkage(Linkage::Private);
        places.as_pointer_value()
    }
}
