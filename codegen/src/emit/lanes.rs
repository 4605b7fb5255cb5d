//! Vectors: splats, masks of the lanes before an end, and masked loads and stores.

use super::Emitter;
use crate::Error;
use inkwell::IntPredicate;
use inkwell::types::VectorType;
use inkwell::values::{BasicValueEnum, IntValue, PointerValue, VectorValue};

impl<'c> Emitter<'c, '_> {
    /// A vector with `x` in each lane.
    pub(super) fn splat(&self, x: IntValue<'c>, lanes: u32) -> Result<VectorValue<'c>, Error> {
        let of = x.get_type().vec_type(lanes);
        let one = self.builder.build_insert_element(of.get_undef(), x, self.context.i32_type().const_zero(), "")?;
        let places = self.context.i32_type().vec_type(lanes).const_zero();
        Ok(self.builder.build_shuffle_vector(one, of.get_undef(), places, "")?)
    }

    /// The mask of lanes before an end, an integer as wide as a lane; empty if the end is negative.
    pub(super) fn lanes_before(&self, lanes: u32, end: IntValue<'c>) -> Result<VectorValue<'c>, Error> {
        let numbers: Vec<IntValue> = (0..lanes).map(|k| end.get_type().const_int(k.into(), false)).collect();
        let ends = self.splat(end, lanes)?;
        Ok(self.builder.build_int_compare(IntPredicate::SLT, VectorType::const_vector(&numbers), ends, "")?)
    }

    /// Loads the masked lanes from an address; the other lanes are those of `otherwise`.
    pub(super) fn load_masked(
        &self,
        at: PointerValue<'c>,
        mask: VectorValue<'c>,
        otherwise: VectorValue<'c>,
    ) -> Result<BasicValueEnum<'c>, Error> {
        let of = otherwise.get_type();
        let args = [at.into(), self.alignment(of).into(), mask.into(), otherwise.into()];
        self.call_overloaded("llvm.masked.load", &[of.into(), at.get_type().into()], &args)
    }

    /// Stores the masked lanes to an address.
    pub(super) fn store_masked(
        &self,
        at: PointerValue<'c>,
        mask: VectorValue<'c>,
        lanes: VectorValue<'c>,
    ) -> Result<(), Error> {
        let of = lanes.get_type();
        let args = [lanes.into(), at.into(), self.alignment(of).into(), mask.into()];
        self.call_site("llvm.masked.store", &[of.into(), at.get_type().into()], &args)?;
        Ok(())
    }

    /// The alignment of vector accesses, in bytes: that of an element.
    fn alignment(&self, of: VectorType<'c>) -> IntValue<'c> {
        let bits = of.get_element_type().into_int_type().get_bit_width();
        self.context.i32_type().const_int((bits / 8).into(), false)
    }
}
