//! Sorts few integers into another array, in a function of the module: by a network ([`super::network`]), or by insertion if the machine
//! has no masked loads or LLVM uses its fast instruction selection.
//!
//! ```text
//!   sort w[0..n] into C1_crd[c]      call sort_few_i32(&w[0], &C1_crd[c], n)
//! ```

use super::{Emitter, WIDTH, attribute, say};
use crate::Error;
use fiberloom_loops::{BufferId, Expr};
use inkwell::IntPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::module::Linkage;
use inkwell::types::IntType;
use inkwell::values::{FunctionValue, IntValue, PointerValue};

/// The source, the destination, and the number of integers.
pub(super) type Ends<'c> = (PointerValue<'c>, PointerValue<'c>, IntValue<'c>);

impl<'c> Emitter<'c, '_> {
    /// Writes elements `0..len` of `keys` in ascending order to `into`, from `at` on.
    pub(super) fn sort_into(&mut self, keys: BufferId, into: BufferId, at: &Expr, len: &Expr) -> Result<(), Error> {
        let (at, len) = (self.index(at)?, self.index(len)?);
        let element = self.integer(self.kernel.buffers[keys.0 as usize].ty);
        let has_networks = self.reads_masked && !self.is_fast;
        let function = self.aside("sort_few", element, if has_networks { Self::network } else { Self::insertions })?;
        let (from, to) = (self.address_of(keys, self.i64(0))?, self.address_of(into, at)?);
        self.builder.build_call(function, &[from.into(), to.into(), len.into()], "")?;
        Ok(())
    }

    /// The function of this module with this body, for integers of this type; emitted at its first use.
    pub(super) fn aside(
        &mut self,
        name: &str,
        element: IntType<'c>,
        body: impl FnOnce(&mut Self, IntType<'c>, Ends<'c>) -> Result<(), Error>,
    ) -> Result<FunctionValue<'c>, Error> {
        let name = format!("{name}_i{}", element.get_bit_width());
        if let Some(function) = self.module.get_function(&name) {
            return Ok(function);
        }
        let function = self.declare(&name);
        let (before, around) = (self.here(), std::mem::replace(&mut self.function, function));
        self.builder.position_at_end(self.context.append_basic_block(function, "entry"));
        let [from, to] = [0, 1].map(|n| function.get_nth_param(n).expect("it has three").into_pointer_value());
        let len = function.get_nth_param(2).expect("it has three").into_int_value();
        body(self, element, (from, to, len))?;
        self.builder.build_return(None)?;
        self.function = around;
        self.builder.position_at_end(before);
        Ok(function)
    }

    /// Declares a function of this module that accesses no memory except through its arguments.
    fn declare(&self, name: &str) -> FunctionValue<'c> {
        let pointer = self.context.ptr_type(Default::default());
        let args = [pointer.into(), pointer.into(), self.context.i64_type().into()];
        let function =
            self.module.add_function(name, self.context.void_type().fn_type(&args, false), Some(Linkage::Internal));
        for attribute in ["target-cpu", "target-features"] {
            if let Some(of_kernel) = self.function.get_string_attribute(AttributeLoc::Function, attribute) {
                function.add_attribute(AttributeLoc::Function, of_kernel);
            }
        }
        say(self.context, function, WIDTH, "512");
        // `memory(argmem: readwrite)`
        for (name, value) in [("nounwind", 0), ("willreturn", 0), ("noinline", 0), ("memory", 3)] {
            function.add_attribute(AttributeLoc::Function, attribute(self.context, name, value));
        }
        for array in [0, 1] {
            function.add_attribute(AttributeLoc::Param(array), attribute(self.context, "noalias", 0));
        }
        function
    }

    /// Insertion sort.
    fn insertions(&mut self, element: IntType<'c>, (from, to, len): Ends<'c>) -> Result<(), Error> {
        self.up_to(len, &|n| {
            let builder = &self.builder;
            let [sink, compare, move_up, put] =
                ["sink", "compare", "move", "put"].map(|name| self.context.append_basic_block(self.function, name));
            let before = self.here();
            let key = builder.build_load(element, self.element(element.into(), from, n)?, "key")?.into_int_value();
            builder.build_unconditional_branch(sink)?;

            builder.position_at_end(sink);
            let hole = builder.build_phi(self.context.i64_type(), "hole")?;
            let at = hole.as_basic_value().into_int_value();
            let below = builder.build_int_nsw_sub(at, self.i64(1), "")?;
            let first = builder.build_int_compare(IntPredicate::EQ, at, self.i64(0), "")?;
            builder.build_conditional_branch(first, put, compare)?;

            builder.position_at_end(compare);
            let other = builder.build_load(element, self.element(element.into(), to, below)?, "")?.into_int_value();
            let greater = builder.build_int_compare(IntPredicate::SGT, other, key, "")?;
            builder.build_conditional_branch(greater, move_up, put)?;

            builder.position_at_end(move_up);
            builder.build_store(self.element(element.into(), to, at)?, other)?;
            builder.build_unconditional_branch(sink)?;
            hole.add_incoming(&[(&n, before), (&below, move_up)]);

            builder.position_at_end(put);
            builder.build_store(self.element(element.into(), to, at)?, key)?;
            Ok(())
        })
    }
}
