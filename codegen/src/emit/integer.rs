//! Functions of integers and of `bool`. They never trap, and wrap.

use super::{Emitter, Typed};
use crate::Error;
use crate::abi::Slot;
use fiberloom_core::algebra::{Op, Type};
use inkwell::IntPredicate;
use inkwell::values::{BasicValue, IntValue};

type Int<'c> = Result<IntValue<'c>, Error>;

impl<'c> Emitter<'c, '_> {
    /// A function whose arguments have type `ty`. For a unary function, `b` is `a` again.
    pub(super) fn integer_op(&self, op: Op, ty: Type, a: IntValue<'c>, b: IntValue<'c>) -> Int<'c> {
        let bool = ty == Type::Bool;
        let builder = &self.builder;
        Ok(match op {
            Op::Add | Op::Max if bool => builder.build_or(a, b, "")?,
            Op::Mul | Op::Min if bool => builder.build_and(a, b, "")?,
            Op::Add => builder.build_int_add(a, b, "")?,
            Op::Sub => builder.build_int_sub(a, b, "")?,
            Op::Mul => builder.build_int_mul(a, b, "")?,
            Op::Div => self.quotient(ty, a, b)?,
            Op::Rem => self.remainder(ty, a, b)?,
            Op::FloorDiv => self.floor_quotient(ty, a, b)?,
            Op::FloorRem => self.floor_remainder(ty, a, b)?,
            Op::Pow => self.power(ty, a, b)?,
            Op::Gcd => self.gcd(ty, a, b)?,
            Op::Min => self.intrinsic(if ty.is_signed() { "llvm.smin" } else { "llvm.umin" }, &[a, b])?,
            Op::Max => self.intrinsic(if ty.is_signed() { "llvm.smax" } else { "llvm.umax" }, &[a, b])?,
            Op::And | Op::AndAlso => builder.build_and(a, b, "")?,
            Op::Or | Op::OrElse => builder.build_or(a, b, "")?,
            Op::Xor => builder.build_xor(a, b, "")?,
            Op::Shl => builder.build_left_shift(a, self.within_width(ty, b)?, "")?,
            Op::Shr => builder.build_right_shift(a, self.within_width(ty, b)?, ty.is_signed(), "")?,
            Op::Neg => builder.build_int_neg(a, "")?,
            Op::Not => builder.build_not(a, "")?,
            Op::Abs if ty.is_signed() => {
                let wraps = self.context.bool_type().const_zero();
                self.call_intrinsic("llvm.abs", a.get_type().into(), &[a.into(), wraps.into()])?.into_int_value()
            }
            Op::Abs => a,
            Op::Sign => self.sign(ty, a)?,
            Op::TrailingZeros => {
                let poison = self.context.bool_type().const_zero();
                self.call_intrinsic("llvm.cttz", a.get_type().into(), &[a.into(), poison.into()])?.into_int_value()
            }
            _ => return Err(Error::Kernel(format!("{} of {ty}", op.name()))),
        })
    }

    fn intrinsic(&self, name: &str, args: &[IntValue<'c>; 2]) -> Int<'c> {
        Ok(self.call_intrinsic(name, args[0].get_type().into(), &args.map(|a| a.into()))?.into_int_value())
    }

    /// The shift's distance modulo the width, which is a power of two.
    fn within_width(&self, ty: Type, b: IntValue<'c>) -> Int<'c> {
        Ok(self.builder.build_and(b, b.get_type().const_int(ty.bits() as u64 - 1, false), "")?)
    }

    fn equals(&self, a: IntValue<'c>, constant: u64) -> Int<'c> {
        Ok(self.builder.build_int_compare(IntPredicate::EQ, a, a.get_type().const_int(constant, true), "")?)
    }

    fn select(&self, c: IntValue<'c>, a: IntValue<'c>, b: IntValue<'c>) -> Int<'c> {
        Ok(self.builder.build_select(c, a, b, "")?.into_int_value())
    }

    /// The quotient, rounded toward zero; 0 for divisor 0. The least value over −1 wraps: it is divided by 1, which gives the same.
    fn quotient(&self, ty: Type, a: IntValue<'c>, b: IntValue<'c>) -> Int<'c> {
        let int = a.get_type();
        let zero = self.equals(b, 0)?;
        let mut unsafe_divisor = zero;
        if ty.is_signed() {
            let least = self.equals(a, 1 << (ty.bits() - 1))?;
            let overflows = self.builder.build_and(least, self.equals(b, u64::MAX)?, "")?;
            unsafe_divisor = self.builder.build_or(zero, overflows, "")?;
        }
        let divisor = self.select(unsafe_divisor, int.const_int(1, false), b)?;
        let quotient = match ty.is_signed() {
            true => self.builder.build_int_signed_div(a, divisor, "")?,
            false => self.builder.build_int_unsigned_div(a, divisor, "")?,
        };
        self.select(zero, int.const_zero(), quotient)
    }

    /// The remainder, with the dividend's sign; 0 for divisor 0. Divisors 0 and −1 become 1, which always leaves 0.
    fn remainder(&self, ty: Type, a: IntValue<'c>, b: IntValue<'c>) -> Int<'c> {
        let one = a.get_type().const_int(1, false);
        let mut trivial = self.equals(b, 0)?;
        if ty.is_signed() {
            trivial = self.builder.build_or(trivial, self.equals(b, u64::MAX)?, "")?;
        }
        let divisor = self.select(trivial, one, b)?;
        Ok(match ty.is_signed() {
            true => self.builder.build_int_signed_rem(a, divisor, "")?,
            false => self.builder.build_int_unsigned_rem(a, divisor, "")?,
        })
    }

    /// Whether rounding down differs from rounding toward zero: there is a remainder, and its sign is not the divisor's.
    fn rounds_lower(&self, rest: IntValue<'c>, b: IntValue<'c>) -> Int<'c> {
        let none = self.equals(rest, 0)?;
        let signs = self.builder.build_xor(rest, b, "")?;
        let differ = self.builder.build_int_compare(IntPredicate::SLT, signs, signs.get_type().const_zero(), "")?;
        Ok(self.builder.build_and(self.builder.build_not(none, "")?, differ, "")?)
    }

    /// −1, 0 or 1.
    fn sign(&self, ty: Type, a: IntValue<'c>) -> Int<'c> {
        let none = a.get_type().const_zero();
        let present = self.builder.build_int_compare(IntPredicate::NE, a, none, "")?;
        let present = self.builder.build_int_z_extend(present, a.get_type(), "")?;
        if !ty.is_signed() {
            return Ok(present);
        }
        let signs = self.builder.build_right_shift(a, a.get_type().const_int(ty.bits() as u64 - 1, false), true, "")?;
        Ok(self.builder.build_or(signs, present, "")?)
    }

    fn floor_quotient(&self, ty: Type, a: IntValue<'c>, b: IntValue<'c>) -> Int<'c> {
        let quotient = self.quotient(ty, a, b)?;
        if !ty.is_signed() {
            return Ok(quotient);
        }
        let lower = self.rounds_lower(self.remainder(ty, a, b)?, b)?;
        let one = self.builder.build_int_z_extend(lower, a.get_type(), "")?;
        Ok(self.builder.build_int_sub(quotient, one, "")?)
    }

    fn floor_remainder(&self, ty: Type, a: IntValue<'c>, b: IntValue<'c>) -> Int<'c> {
        let rest = self.remainder(ty, a, b)?;
        if !ty.is_signed() {
            return Ok(rest);
        }
        let lower = self.rounds_lower(rest, b)?;
        let more = self.select(lower, b, a.get_type().const_zero())?;
        Ok(self.builder.build_int_add(rest, more, "")?)
    }

    /// A value widened to 64 bits, by its type's sign.
    fn widened(&self, ty: Type, a: IntValue<'c>) -> Int<'c> {
        let word = self.context.i64_type();
        Ok(match ty.is_signed() {
            true => self.builder.build_int_s_extend_or_bit_cast(a, word, "")?,
            false => self.builder.build_int_z_extend_or_bit_cast(a, word, "")?,
        })
    }

    /// A power: multiplications for a small constant exponent, else a call modulo 2⁶⁴ that is cut to the width.
    fn power(&self, ty: Type, a: IntValue<'c>, b: IntValue<'c>) -> Int<'c> {
        if let Some(exponent @ 0..=64) = b.get_zero_extended_constant() {
            return self.repeated_product(a, exponent);
        }
        let args = [self.widened(ty, a)?.into(), self.widened(ty, b)?.into()];
        let power = self.call_slot(Slot::PowInt, &args)?.into_int_value();
        let power = self.builder.build_int_truncate_or_bit_cast(power, a.get_type(), "")?;
        if !ty.is_signed() {
            return Ok(power);
        }
        // A negative exponent gives 1 for 1, ±1 for −1 by the exponent's parity, and 0 for any other base.
        let int = a.get_type();
        let negative = self.builder.build_int_compare(IntPredicate::SLT, b, int.const_zero(), "")?;
        let odd = self.builder.build_int_truncate(b, self.context.bool_type(), "")?;
        let alternating = self.select(odd, a, int.const_int(1, false))?;
        let root = self.builder.build_or(self.equals(a, 1)?, self.equals(a, u64::MAX)?, "")?;
        let inverse = self.select(root, alternating, int.const_zero())?;
        self.select(negative, inverse, power)
    }

    fn repeated_product(&self, a: IntValue<'c>, mut exponent: u64) -> Int<'c> {
        let (mut square, mut product) = (a, a.get_type().const_int(1, false));
        while exponent != 0 {
            if exponent & 1 == 1 {
                product = self.builder.build_int_mul(product, square, "")?;
            }
            exponent >>= 1;
            if exponent != 0 {
                square = self.builder.build_int_mul(square, square, "")?;
            }
        }
        Ok(product)
    }

    /// The greatest common divisor of the absolute values, which always fit as unsigned numbers.
    fn gcd(&self, ty: Type, a: IntValue<'c>, b: IntValue<'c>) -> Int<'c> {
        let magnitude = |x| {
            let size = self.integer_op(Op::Abs, ty, x, x)?;
            let wide = self.builder.build_int_z_extend_or_bit_cast(size, self.context.i64_type(), "");
            wide.map(|w| w.as_basic_value_enum().into()).map_err(Error::from)
        };
        let divisor = self.call_slot(Slot::Gcd, &[magnitude(a)?, magnitude(b)?])?.into_int_value();
        Ok(self.builder.build_int_truncate_or_bit_cast(divisor, a.get_type(), "")?)
    }

    /// x · 2ⁿ: a product if 2ⁿ is a float, which rounds once as the function does. Beyond ±10 000 every float is 0, infinite, or
    /// unchanged.
    pub(super) fn ldexp(&self, a: Typed<'c>, n: Typed<'c>) -> Result<inkwell::values::BasicValueEnum<'c>, Error> {
        let wide = self.convert(n, Type::I64)?.into_int_value();
        let (most, least) = (self.i64(10_000), self.i64(-10_000));
        let clamped = self.intrinsic("llvm.smax", &[self.intrinsic("llvm.smin", &[wide, most])?, least])?;
        let (slot, bias, fraction) =
            if a.ty == Type::F32 { (Slot::LdexpF32, 127, 23) } else { (Slot::LdexpF64, 1023, 52) };
        let biased = self.builder.build_int_add(clamped, self.i64(bias), "")?;
        let above = self.builder.build_int_sub(biased, self.i64(1), "")?;
        let normal = self.builder.build_int_compare(IntPredicate::ULT, above, self.i64(2 * bias), "normal")?;
        let product = || {
            let float = self.register(a.ty).into_float_type();
            let bits = if a.ty == Type::F32 { self.context.i32_type() } else { self.context.i64_type() };
            let shifted = self.builder.build_left_shift(biased, self.i64(fraction), "")?;
            let power = self.builder.build_int_truncate_or_bit_cast(shifted, bits, "")?;
            let power = self.builder.build_bit_cast(power, float, "")?.into_float_value();
            let product = self.builder.build_float_mul(a.value.into_float_value(), power, "")?;
            Ok(Typed { value: product.into(), ty: a.ty })
        };
        let call = || {
            let exponent = self.builder.build_int_truncate(clamped, self.context.i32_type(), "")?;
            Ok(Typed { value: self.call_slot(slot, &[a.value.into(), exponent.into()])?, ty: a.ty })
        };
        Ok(self.either(normal, product, call)?.value)
    }
}
