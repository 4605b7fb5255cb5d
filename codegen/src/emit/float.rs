//! Functions of floats, each computed in its own type.

use super::Emitter;
use crate::Error;
use crate::abi::Slot;
use fiberloom_core::algebra::{Op, Type};
use inkwell::values::{BasicValue, BasicValueEnum, FastMathFlags, FloatValue};

impl<'c> Emitter<'c, '_> {
    /// A function whose arguments have type `ty`; of a unary one, `b` is `a` again.
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
            // NaN wins, and −0.0 is less than 0.0.
            Op::Min => intrinsic("llvm.minimum", &[a, b])?,
            Op::Max => intrinsic("llvm.maximum", &[a, b])?,
            // One multiplication is exact where the library's power is, and as near elsewhere.
            Op::Pow if self.kernel.reassociate && b.get_constant().is_some_and(|(y, _)| y == 2.0) => {
                builder.build_float_mul(a, a, "")?.into()
            }
            Op::Pow => call(Slot::PowF64, Slot::PowF32, &[a, b])?,
            Op::Rem => call(Slot::RemF64, Slot::RemF32, &[a, b])?,
            Op::Exp => call(Slot::ExpF64, Slot::ExpF32, &[a])?,
            Op::Log => call(Slot::LogF64, Slot::LogF32, &[a])?,
            Op::Sin => call(Slot::SinF64, Slot::SinF32, &[a])?,
            Op::Cos => call(Slot::CosF64, Slot::CosF32, &[a])?,
            Op::Tanh => call(Slot::TanhF64, Slot::TanhF32, &[a])?,
            _ => return Err(Error::Kernel(format!("{} of {ty}", op.name()))),
        };
        Ok(self.relaxed(value))
    }

    /// Lets LLVM reassociate and contract the instruction that made a float, where the kernel allows it. Never more: no
    /// NaN or infinity is assumed away.
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
