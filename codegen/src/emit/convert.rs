//! Saturating conversions.

use super::{Emitter, Typed};
use crate::Error;
use fiberloom_core::algebra::Type;
use fiberloom_loops::Expr;
use inkwell::values::{BasicValueEnum, IntValue};
use inkwell::{FloatPredicate, IntPredicate};

impl<'c> Emitter<'c, '_> {
    /// The value of type `to` nearest to `a`; for `bool`, `x != 0`.
    pub(super) fn convert(&self, a: Typed<'c>, to: Type) -> Result<BasicValueEnum<'c>, Error> {
        let builder = &self.builder;
        if a.ty == to {
            return Ok(a.value);
        }
        Ok(match (a.ty.is_float(), to.is_float()) {
            (true, true) => builder.build_float_cast(a.value.into_float_value(), self.float(to), "")?.into(),
            (true, false) if to == Type::Bool => {
                let x = a.value.into_float_value();
                builder.build_float_compare(FloatPredicate::UNE, x, x.get_type().const_zero(), "")?.into()
            }
            (true, false) => {
                let name = if to.is_signed() { "llvm.fptosi.sat" } else { "llvm.fptoui.sat" };
                self.call_overloaded(name, &[self.register(to), self.register(a.ty)], &[a.value.into()])?
            }
            (false, true) if a.ty.is_signed() => {
                builder.build_signed_int_to_float(a.value.into_int_value(), self.float(to), "")?.into()
            }
            (false, true) => builder.build_unsigned_int_to_float(a.value.into_int_value(), self.float(to), "")?.into(),
            (false, false) => self.convert_integer(a.value.into_int_value(), a.ty, to)?.into(),
        })
    }

    /// Narrows an integer that is in the range of the narrower type.
    pub(super) fn narrowed(&self, e: &Expr, to: Type) -> Result<BasicValueEnum<'c>, Error> {
        let value = self.expr(e)?;
        match value.ty.range().is_some() && value.ty.bits() > to.bits() {
            true => Ok(self.builder.build_int_truncate(value.value.into_int_value(), self.integer(to), "")?.into()),
            false => self.convert(value, to),
        }
    }

    /// Clamps to the range of both types in the source's type, then changes the width.
    fn convert_integer(&self, a: IntValue<'c>, from: Type, to: Type) -> Result<IntValue<'c>, Error> {
        let int = a.get_type();
        if to == Type::Bool {
            return Ok(self.builder.build_int_compare(IntPredicate::NE, a, int.const_zero(), "")?);
        }
        let (Some(source), Some(target)) = (from.range(), to.range()) else {
            return Err(Error::Kernel(format!("conversion from {from} to {to}")));
        };
        let mut value = a;
        let (max, min) = if from.is_signed() { ("llvm.smax", "llvm.smin") } else { ("llvm.umax", "llvm.umin") };
        for (name, bound, needed) in [(max, target.0, source.0 < target.0), (min, target.1, source.1 > target.1)] {
            if needed {
                let bound = int.const_int(bound as u64, true);
                value = self.call_intrinsic(name, int.into(), &[value.into(), bound.into()])?.into_int_value();
            }
        }
        let target = self.integer(to);
        Ok(match to.bits().cmp(&from.bits()) {
            std::cmp::Ordering::Less => self.builder.build_int_truncate(value, target, "")?,
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Greater if from.is_signed() => self.builder.build_int_s_extend(value, target, "")?,
            std::cmp::Ordering::Greater => self.builder.build_int_z_extend(value, target, "")?,
        })
    }
}
