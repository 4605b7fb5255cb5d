//! `among`, `below` and `alike`: compare the next eight elements of a buffer with a number at once.
//!
//! ```text
//!   begin ▼          ▼ end
//!   … 3 7 8 9 12 15 │ 2 …       lanes before the end, no more than eight: read under a mask
//!       =  =  =  =               compared with the target: one bit per lane
//!       0  0  1  0  0  0  0  0   `among` is the lowest set bit; one is set behind the last lane
//!       <  <  <  <
//!       1  1  0  0  0  0  0  0   `below` is the lowest clear bit
//! ```
//!
//! On a machine with masked loads, `among` reads nothing at or behind the end. Otherwise all lanes are loaded if the array has them, and
//! those behind the end are ignored; a masked load serves only the end of the array. The reasons: without masked loads LLVM makes a
//! branch for each lane; and other code waits for the results of `below` and `alike`, and so for any mask that depends on the end.

use super::{Emitter, Typed};
use crate::Error;
use fiberloom_core::algebra::Type;
use fiberloom_loops::{BufferId, LANES, Sought};
use inkwell::IntPredicate;
use inkwell::types::{IntType, VectorType};
use inkwell::values::{IntValue, VectorValue};

impl<'c> Emitter<'c, '_> {
    /// The number, from `begin` on, of the first lane before `end` that matches; else the number of lanes.
    pub(super) fn among(
        &self,
        sought: Sought,
        buffer: BufferId,
        [begin, end, target]: [IntValue<'c>; 3],
    ) -> Result<Typed<'c>, Error> {
        if self.on_device {
            return self.among_one_by_one(sought, buffer, [begin, end, target]);
        }
        let count = self.count_before(begin, end)?;
        let some = || self.first(sought, self.masked_lanes(buffer, begin, count)?, target, count);
        let all = || self.first(sought, self.load_lanes(buffer, begin, self.lanes(buffer))?, target, count);
        // The next strip begins at the result of `below` or `alike`, so its loads must not wait for a mask.
        if self.reads_masked && sought == Sought::Target {
            some()
        } else {
            self.either(self.has_all(buffer, begin)?, all, some)
        }
    }

    /// The first lane that matches; `count` lanes are before the end.
    fn first(
        &self,
        sought: Sought,
        elements: VectorValue<'c>,
        target: IntValue<'c>,
        count: IntValue<'c>,
    ) -> Result<Typed<'c>, Error> {
        let builder = &self.builder;
        let word = self.context.i32_type();
        let count = builder.build_int_truncate(count, word, "")?;
        let behind = builder.build_left_shift(word.const_int(1, false), count, "")?;
        // Set a bit behind the last lane before the end.
        let bits = match sought {
            Sought::Target => {
                let before = builder.build_int_sub(behind, word.const_int(1, false), "")?;
                let equal = builder.build_and(self.equal(elements, target)?, before, "")?;
                builder.build_or(equal, word.const_int(1 << LANES, false), "")?
            }
            Sought::NotBelow => builder.build_or(self.not_below(elements, target)?, behind, "")?,
            Sought::Other => builder.build_or(builder.build_not(self.equal(elements, target)?, "")?, behind, "")?,
        };
        let defined = self.context.bool_type().const_all_ones();
        let place = self.call_intrinsic("llvm.cttz", word.into(), &[bits.into(), defined.into()])?;
        let place = builder.build_int_z_extend(place.into_int_value(), self.context.i64_type(), "")?;
        Ok(Typed { value: place.into(), ty: Type::I64 })
    }

    /// The type of a vector of a buffer's elements.
    fn lanes(&self, buffer: BufferId) -> VectorType<'c> {
        self.integer(self.kernel.buffers[buffer.0 as usize].ty).vec_type(LANES as u32)
    }

    /// The number of lanes from `begin` on that are before `end`.
    fn count_before(&self, begin: IntValue<'c>, end: IntValue<'c>) -> Result<IntValue<'c>, Error> {
        let some = self.builder.build_int_compare(IntPredicate::SLT, begin, end, "")?;
        let left = self.builder.build_int_sub(end, begin, "")?;
        let left = self.builder.build_select(some, left, self.i64(0), "")?;
        let most = [left.into(), self.i64(LANES).into()];
        Ok(self.call_intrinsic("llvm.umin", self.context.i64_type().into(), &most)?.into_int_value())
    }

    /// The low bits of `x`, as wide as `to`.
    pub(super) fn low_bits(&self, x: IntValue<'c>, to: IntType<'c>) -> Result<IntValue<'c>, Error> {
        Ok(if to.get_bit_width() < 64 { self.builder.build_int_truncate(x, to, "")? } else { x })
    }

    /// The condition that the array has an element for each lane. (The greatest such `begin` is loop-invariant.)
    fn has_all(&self, buffer: BufferId, begin: IntValue<'c>) -> Result<IntValue<'c>, Error> {
        let (length, i64) = (self.capacity(buffer)?, self.context.i64_type());
        let places = self.call_intrinsic("llvm.usub.sat", i64.into(), &[length.into(), self.i64(LANES - 1).into()])?;
        Ok(self.builder.build_int_compare(IntPredicate::ULT, begin, places.into_int_value(), "")?)
    }

    /// The elements of the first `count` lanes, loaded under a mask.
    fn masked_lanes(
        &self,
        buffer: BufferId,
        begin: IntValue<'c>,
        count: IntValue<'c>,
    ) -> Result<VectorValue<'c>, Error> {
        let ty = self.kernel.buffers[buffer.0 as usize].ty;
        let of = self.lanes(buffer);
        let element = of.get_element_type().into_int_type();
        let mask = self.lanes_before(LANES as u32, self.low_bits(count, element)?)?;
        let loaded = self.load_masked(self.address_of(buffer, begin)?, mask, of.const_zero())?;
        self.describe_access(buffer, loaded, ty);
        Ok(loaded.into_vector_value())
    }

    /// A bit for each lane that equals the target.
    fn equal(&self, elements: VectorValue<'c>, target: IntValue<'c>) -> Result<IntValue<'c>, Error> {
        let element = elements.get_type().get_element_type().into_int_type();
        let narrow = self.low_bits(target, element)?;
        let targets = self.splat(narrow, LANES as u32)?;
        let equal = self.bits(self.builder.build_int_compare(IntPredicate::EQ, elements, targets, "")?)?;
        if narrow == target {
            return Ok(equal);
        }
        // A target that does not fit a lane equals none of them.
        let wide = self.builder.build_int_s_extend(narrow, self.context.i64_type(), "")?;
        self.if_so(self.builder.build_int_compare(IntPredicate::EQ, wide, target, "")?, equal)
    }

    /// A bit for each lane that is not below the target.
    fn not_below(&self, elements: VectorValue<'c>, target: IntValue<'c>) -> Result<IntValue<'c>, Error> {
        let (builder, element) = (&self.builder, elements.get_type().get_element_type().into_int_type());
        let reach = |target| -> Result<IntValue<'c>, Error> {
            self.bits(builder.build_int_compare(IntPredicate::SGE, elements, self.splat(target, LANES as u32)?, "")?)
        };
        if element.get_bit_width() == 64 {
            return reach(target);
        }
        // Compare with the nearest number that fits a lane, unless the target is above all of them. (LLVM knows that a widened 32-bit
        // number fits.)
        let [least, most] = [i32::MIN, i32::MAX].map(|end| self.i64(end.into()));
        let i64 = self.context.i64_type().into();
        let near = self.call_intrinsic("llvm.smax", i64, &[target.into(), least.into()])?;
        let near = self.call_intrinsic("llvm.smin", i64, &[near.into(), most.into()])?.into_int_value();
        let some = builder.build_int_compare(IntPredicate::SLE, target, most, "")?;
        self.if_so(some, reach(self.low_bits(near, element)?)?)
    }

    /// The lanes of a mask as bits of an integer.
    fn bits(&self, lanes: VectorValue<'c>) -> Result<IntValue<'c>, Error> {
        let bits = self.builder.build_bit_cast(lanes, self.context.i8_type(), "")?;
        Ok(self.builder.build_int_z_extend(bits.into_int_value(), self.context.i32_type(), "")?)
    }

    /// The bits if a condition holds, else 0.
    fn if_so(&self, condition: IntValue<'c>, bits: IntValue<'c>) -> Result<IntValue<'c>, Error> {
        let none = self.context.i32_type().const_zero();
        Ok(self.builder.build_select(condition, bits, none, "")?.into_int_value())
    }
}
