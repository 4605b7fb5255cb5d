//! Where a number stands among the next elements of a buffer: all are compared with it at once.
//!
//! ```text
//!   begin ▼          ▼ end
//!   … 3 7 8 9 12 15 │ 2 …       lanes before the end, no more than eight: read under a mask
//!       =  =  =  =               compared with the target in each: a bit a lane
//!       0  0  1  0  0  0  0  0   the lowest bit that is set says where; one is set behind the last lane
//! ```
//!
//! Nothing at or behind the end is read where the machine reads under masks. Where it does not, which LLVM makes a branch a lane of, all
//! lanes are read if they are in the array, and those behind the end do not count.

use super::{Emitter, Typed};
use crate::Error;
use fiberloom_core::algebra::Type;
use fiberloom_core::loops::{BufferId, LANES};
use inkwell::IntPredicate;
use inkwell::types::{IntType, VectorType};
use inkwell::values::{IntValue, VectorValue};

/// The lanes that are looked at, and what is looked for.
#[derive(Clone, Copy)]
struct Lanes<'c> {
    buffer: BufferId,
    begin: IntValue<'c>,
    /// Which of them are before the end.
    mask: VectorValue<'c>,
    target: IntValue<'c>,
}

impl<'c> Emitter<'c, '_> {
    /// The first lane from `begin` on and before `end` whose element is `target`, or the number of lanes.
    pub(super) fn among(
        &self,
        buffer: BufferId,
        begin: IntValue<'c>,
        end: IntValue<'c>,
        target: IntValue<'c>,
    ) -> Result<Typed<'c>, Error> {
        let mask = self.before(begin, end, buffer)?;
        let lanes = Lanes { buffer, begin, mask, target };
        if self.reads_masked {
            return self.first_equal(lanes, self.masked_lanes(lanes)?);
        }
        let inside = self.has_all(buffer, begin)?;
        let all = || self.first_equal(lanes, self.load_lanes(buffer, begin, self.lanes(buffer))?);
        self.either(inside, all, || self.first_equal(lanes, self.masked_lanes(lanes)?))
    }

    /// The vector of a buffer's elements.
    fn lanes(&self, buffer: BufferId) -> VectorType<'c> {
        self.integer(self.kernel.buffers[buffer.0 as usize].ty).vec_type(LANES as u32)
    }

    /// Which lanes from `begin` on are before `end`.
    fn before(&self, begin: IntValue<'c>, end: IntValue<'c>, buffer: BufferId) -> Result<VectorValue<'c>, Error> {
        let (builder, element) = (&self.builder, self.lanes(buffer).get_element_type().into_int_type());
        let some = builder.build_int_compare(IntPredicate::SLT, begin, end, "")?;
        let left = builder.build_int_sub(end, begin, "")?;
        let left = builder.build_select(some, left, self.i64(0), "")?;
        let most = [left.into(), self.i64(LANES).into()];
        let count = self.call_intrinsic("llvm.umin", self.context.i64_type().into(), &most)?.into_int_value();
        let count = self.low_bits(count, element)?;
        let numbers: Vec<IntValue> = (0..LANES as u64).map(|k| element.const_int(k, false)).collect();
        let numbers = VectorType::const_vector(&numbers);
        Ok(builder.build_int_compare(IntPredicate::ULT, numbers, self.splat(count)?, "")?)
    }

    /// As many low bits as an element has.
    fn low_bits(&self, x: IntValue<'c>, to: IntType<'c>) -> Result<IntValue<'c>, Error> {
        Ok(if to.get_bit_width() < 64 { self.builder.build_int_truncate(x, to, "")? } else { x })
    }

    /// The same number in each lane.
    fn splat(&self, x: IntValue<'c>) -> Result<VectorValue<'c>, Error> {
        let of = x.get_type().vec_type(LANES as u32);
        let one = self.builder.build_insert_element(of.get_undef(), x, self.context.i32_type().const_zero(), "")?;
        let places = self.context.i32_type().vec_type(LANES as u32).const_zero();
        Ok(self.builder.build_shuffle_vector(one, of.get_undef(), places, "")?)
    }

    /// Whether the array has an element for each lane.
    fn has_all(&self, buffer: BufferId, begin: IntValue<'c>) -> Result<IntValue<'c>, Error> {
        let length = self.capacity(buffer)?.into_int_value();
        let there = self.builder.build_int_compare(IntPredicate::ULT, begin, length, "")?;
        let left = self.builder.build_int_sub(length, begin, "")?;
        let enough = self.builder.build_int_compare(IntPredicate::UGE, left, self.i64(LANES), "")?;
        Ok(self.builder.build_and(there, enough, "")?)
    }

    /// The elements of the lanes before the end.
    fn masked_lanes(&self, lanes: Lanes<'c>) -> Result<VectorValue<'c>, Error> {
        let ty = self.kernel.buffers[lanes.buffer.0 as usize].ty;
        let of = self.lanes(lanes.buffer);
        let at = self.address_of(lanes.buffer, lanes.begin)?;
        let align = self.context.i32_type().const_int(ty.bytes() as u64, false);
        let types = [of.into(), at.get_type().into()];
        let args = [at.into(), align.into(), lanes.mask.into(), of.const_zero().into()];
        let loaded = self.call_overloaded("llvm.masked.load", &types, &args)?;
        self.describe_access(lanes.buffer, loaded, ty);
        Ok(loaded.into_vector_value())
    }

    /// The first lane before the end whose element is the target.
    fn first_equal(&self, lanes: Lanes<'c>, elements: VectorValue<'c>) -> Result<Typed<'c>, Error> {
        let (builder, element) = (&self.builder, elements.get_type().get_element_type().into_int_type());
        let narrow = self.low_bits(lanes.target, element)?;
        let equal = builder.build_int_compare(IntPredicate::EQ, elements, self.splat(narrow)?, "")?;
        let found = builder.build_and(lanes.mask, equal, "")?;
        let bits = builder.build_bit_cast(found, self.context.i8_type(), "")?;
        let word = self.context.i32_type();
        let bits = builder.build_int_z_extend(bits.into_int_value(), word, "")?;
        let bits = if narrow == lanes.target {
            bits
        } else {
            // No lane has a number that does not fit it.
            let wide = builder.build_int_s_extend(narrow, self.context.i64_type(), "")?;
            let fits = builder.build_int_compare(IntPredicate::EQ, wide, lanes.target, "")?;
            builder.build_select(fits, bits, word.const_zero(), "")?.into_int_value()
        };
        let bits = builder.build_or(bits, word.const_int(1 << LANES, false), "")?;
        let defined = self.context.bool_type().const_all_ones();
        let place = self.call_intrinsic("llvm.cttz", word.into(), &[bits.into(), defined.into()])?;
        let place = builder.build_int_z_extend(place.into_int_value(), self.context.i64_type(), "")?;
        Ok(Typed { value: place.into(), ty: Type::I64 })
    }
}
