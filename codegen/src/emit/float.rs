//! Functions of floats, each computed in the type of its arguments.

use super::Emitter;
use crate::Error;
use crate::abi::Slot;
use fiberloom_core::algebra::{Op, Type};
use inkwell::values::{BasicValue, BasicValueEnum, FastMathFlags, FloatValue, IntValue};
use inkwell::{FloatPredicate, IntPredicate};

impl<'c> Emitter<'c, '_> {
    /// A function whose arguments have type `ty`. For a unary function, `b` is `a` again.
    pub(super) fn float_op(
        &self,
        op: Op,
        ty: Type,
        a: FloatValue<'c>,
        b: FloatValue<'c>,
    ) -> Result<BasicValueEnum<'c>, Error> {
        let builder = &self.builder;
        let intrinsic = |name, args: &[FloatValue<'c>]| {
            let args: Vec<_> = args.iter().map(|x| (*x).into()).collect();
            self.call_intrinsic(name, a.get_type().into(), &args)
        };
        let double = ty == Type::F64;
        let call = |wide, narrow, args: &[FloatValue<'c>]| {
            let args: Vec<_> = args.iter().map(|x| (*x).into()).collect();
            self.call_slot(if double { wide } else { narrow }, &args)
        };
        let value = match op {
            Op::Add => builder.build_float_add(a, b, "")?.into(),
            Op::Sub => builder.build_float_sub(a, b, "")?.into(),
            Op::Mul => builder.build_float_mul(a, b, "")?.into(),
            Op::Div => builder.build_float_div(a, b, "")?.into(),
            Op::Neg => builder.build_float_neg(a, "")?.into(),
            Op::Abs => intrinsic("llvm.fabs", &[a])?,
            Op::Sqrt => intrinsic("llvm.sqrt", &[a])?,
            Op::Floor => intrinsic("llvm.floor", &[a])?,
            Op::Ceil => intrinsic("llvm.ceil", &[a])?,
            Op::Round => intrinsic("llvm.roundeven", &[a])?,
            Op::Trunc => intrinsic("llvm.trunc", &[a])?,
            Op::Sign => self.sign_of_float(a)?.into(),
            // NaN counts as positive.
            Op::CopySign => {
                let signed = intrinsic("llvm.copysign", &[a, b])?;
                self.choose(self.is_unordered(b)?, intrinsic("llvm.fabs", &[a])?, signed)?
            }
            // The result is NaN if an argument is; −0.0 is less than 0.0.
            Op::Min => intrinsic("llvm.minimum", &[a, b])?,
            Op::Max => intrinsic("llvm.maximum", &[a, b])?,
            // One multiplication is exact where the library's power is, and as precise elsewhere.
            Op::Pow if self.kernel.reassociate && b.get_constant().is_some_and(|(y, _)| y == 2.0) => {
                builder.build_float_mul(a, a, "")?.into()
            }
            Op::Rem => call(Slot::RemF64, Slot::RemF32, &[a, b])?,
            Op::FloorDiv => call(Slot::FloorDivF64, Slot::FloorDivF32, &[a, b])?,
            Op::FloorRem => call(Slot::FloorRemF64, Slot::FloorRemF32, &[a, b])?,
            Op::NextAfter => call(Slot::NextAfterF64, Slot::NextAfterF32, &[a, b])?,
            _ => return self.elementary(op, ty, a, b),
        };
        Ok(self.relaxed(value))
    }

    /// A question about a float.
    pub(super) fn float_question(&self, op: Op, a: FloatValue<'c>) -> Result<IntValue<'c>, Error> {
        let infinite = a.get_type().const_float(f64::INFINITY);
        let is = |predicate, x: FloatValue<'c>| self.builder.build_float_compare(predicate, x, infinite, "");
        let magnitude =
            || Ok::<_, Error>(self.call_intrinsic("llvm.fabs", a.get_type().into(), &[a.into()])?.into_float_value());
        match op {
            Op::IsNan => self.is_unordered(a),
            Op::IsInf => Ok(is(FloatPredicate::OEQ, magnitude()?)?),
            Op::IsFinite => Ok(is(FloatPredicate::OLT, magnitude()?)?),
            _ => {
                let wide = a.get_type() == self.context.f64_type();
                let bits = if wide { self.context.i64_type() } else { self.context.i32_type() };
                let word = self.builder.build_bit_cast(a, bits, "")?.into_int_value();
                let negative = self.builder.build_int_compare(IntPredicate::SLT, word, bits.const_zero(), "")?;
                let number = self.builder.build_not(self.is_unordered(a)?, "")?;
                Ok(self.builder.build_and(negative, number, "")?)
            }
        }
    }

    fn is_unordered(&self, a: FloatValue<'c>) -> Result<IntValue<'c>, Error> {
        Ok(self.builder.build_float_compare(FloatPredicate::UNO, a, a, "")?)
    }

    /// −1, 0 or 1; NaN for NaN.
    fn sign_of_float(&self, a: FloatValue<'c>) -> Result<FloatValue<'c>, Error> {
        let number = |x: f64| a.get_type().const_float(x);
        let is = |predicate| self.builder.build_float_compare(predicate, a, number(0.0), "");
        let rest = self.choose(is(FloatPredicate::OEQ)?, number(0.0).into(), a.into())?;
        let below = self.choose(is(FloatPredicate::OLT)?, number(-1.0).into(), rest)?;
        Ok(self.choose(is(FloatPredicate::OGT)?, number(1.0).into(), below)?.into_float_value())
    }

    /// Lets LLVM reassociate and contract the instruction of a float where the kernel allows it, and nothing more: it may not assume that
    /// there are no NaNs or infinities.
    pub(super) fn relaxed(&self, value: BasicValueEnum<'c>) -> BasicValueEnum<'c> {
        let flags = FastMathFlags::AllowReassoc | FastMathFlags::AllowContract | FastMathFlags::NoSignedZeros;
        if self.kernel.reassociate
            && let Some(instruction) = value.as_instruction_value()
            && instruction.can_use_fast_math_flags()
        {
            // Fails only on instructions that have none.
            let _ = instruction.set_fast_math_flags(flags);
        }
        value
    }
}
