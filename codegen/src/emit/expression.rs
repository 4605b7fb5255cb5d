//! Expressions: leaves, operations, and the choice between two arms.

use super::{Emitter, Place, Typed};
use crate::Error;
use fiberloom_core::algebra::{Op, Type, Value, result_type};
use fiberloom_loops::Expr;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValueEnum, FloatValue, IntValue};
use inkwell::{FloatPredicate, IntPredicate};

impl<'c> Emitter<'c, '_> {
    /// The value of an expression.
    pub(super) fn expr(&self, e: &Expr) -> Result<Typed<'c>, Error> {
        match e {
            Expr::Const(value) => Ok(self.constant(*value)),
            Expr::Var(var) => {
                let ty = self.kernel.vars[var.0 as usize].1;
                let value = match self.vars[var.0 as usize] {
                    Place::Register(value) => value,
                    Place::Slot(slot) => self.builder.build_load(self.register(ty), slot, self.name(*var))?,
                    Place::Nowhere => {
                        return Err(Error::Kernel(format!(
                            "variable {} is read before it is defined",
                            self.name(*var)
                        )));
                    }
                };
                Ok(Typed { value, ty })
            }
            Expr::Load(buffer, index) => self.load(*buffer, self.index(index)?),
            Expr::Capacity(buffer) => Ok(Typed { value: self.capacity(*buffer)?, ty: Type::I64 }),
            Expr::Among(sought, buffer, parts) => {
                let [begin, end, target] = &**parts;
                self.among(*sought, *buffer, [self.index(begin)?, self.index(end)?, self.index(target)?])
            }
            Expr::Op(op, args) => self.op(*op, args),
        }
    }

    /// The value of an `i64` expression: an index, a bound, a length.
    pub(super) fn index(&self, e: &Expr) -> Result<IntValue<'c>, Error> {
        let Typed { value, ty } = self.expr(e)?;
        if ty == Type::I64 { Ok(value.into_int_value()) } else { Err(Error::Kernel(format!("an index of type {ty}"))) }
    }

    /// The value of a `bool` expression.
    pub(super) fn condition(&self, e: &Expr) -> Result<IntValue<'c>, Error> {
        let Typed { value, ty } = self.expr(e)?;
        if ty == Type::Bool {
            Ok(value.into_int_value())
        } else {
            Err(Error::Kernel(format!("a condition of type {ty}")))
        }
    }

    /// A constant, bit-exact.
    pub(super) fn constant(&self, value: Value) -> Typed<'c> {
        let ty = value.ty();
        let constant: BasicValueEnum = match ty {
            _ if value.is_nan() => self.float(ty).const_float(f64::NAN).into(),
            Type::F32 | Type::F64 => self.float(ty).const_float(value.as_f64()).into(),
            _ => self.integer(ty).const_int(value.bits(), false).into(),
        };
        Typed { value: constant, ty }
    }

    fn op(&self, op: Op, args: &[Expr]) -> Result<Typed<'c>, Error> {
        match (op, args) {
            (Op::AndAlso, [a, b]) if !self.is_cheap(b) => return self.lazily(a, b, &Expr::Const(Value::bool(false))),
            (Op::OrElse, [a, b]) if !self.is_cheap(b) => return self.lazily(a, &Expr::Const(Value::bool(true)), b),
            (Op::Select, [c, Expr::Load(buffer, at), Expr::Const(other)])
                if self.is_merge && !is_bound(c) && self.is_cheap(at) =>
            {
                return self.load_or(self.condition(c)?, *buffer, self.index(at)?, *other);
            }
            (Op::Select, [c, a, b]) if !self.is_cheap(a) || !self.is_cheap(b) => return self.lazily(c, a, b),
            _ => {}
        }
        let args = args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>, _>>()?;
        let types: Vec<Type> = args.iter().map(|a| a.ty).collect();
        let ty = result_type(op, &types)
            .filter(|_| op != Op::Coalesce)
            .ok_or_else(|| Error::Kernel(format!("{} does not take arguments of types {types:?}", op.name())))?;
        Ok(Typed { value: self.apply(op, ty, &args)?, ty })
    }

    /// Whether an expression may be evaluated where its value is not needed: it has no load, which may be out of bounds there, and costs
    /// no more than a branch. A quotient of floats is cheap: vectors have it.
    fn is_cheap(&self, e: &Expr) -> bool {
        match e {
            Expr::Const(_) | Expr::Var(_) | Expr::Capacity(_) => true,
            Expr::Load(..) | Expr::Among(..) => false,
            Expr::Op(_, args) if !args.iter().all(|a| self.is_cheap(a)) => false,
            Expr::Op(op @ (Op::Div | Op::Rem | Op::FloorDiv | Op::FloorRem), args) => {
                let float = self.kernel.type_of(e).is_ok_and(Type::is_float);
                if float { *op == Op::Div } else { matches!(args[1..], [Expr::Const(_)]) }
            }
            Expr::Op(op, _) => !is_called(*op),
        }
    }

    /// `yes` where the condition holds, else `no`; only that arm is evaluated.
    fn lazily(&self, condition: &Expr, yes: &Expr, no: &Expr) -> Result<Typed<'c>, Error> {
        self.either(self.condition(condition)?, || self.expr(yes), || self.expr(no))
    }

    /// The value of one of two arms; only that arm is executed.
    pub(super) fn either(
        &self,
        condition: IntValue<'c>,
        yes: impl FnOnce() -> Result<Typed<'c>, Error>,
        no: impl FnOnce() -> Result<Typed<'c>, Error>,
    ) -> Result<Typed<'c>, Error> {
        let joined = self.new_block("joined");
        let otherwise = self.new_block("otherwise");
        let then = self.new_block("then");
        self.builder.build_conditional_branch(condition, then, otherwise)?;
        let end = |value: Typed<'c>| -> Result<_, Error> {
            let end = self.here();
            self.builder.build_unconditional_branch(joined)?;
            Ok((value, end))
        };
        self.builder.position_at_end(then);
        let (a, after_a) = end(yes()?)?;
        self.builder.position_at_end(otherwise);
        let (b, after_b) = end(no()?)?;
        if a.ty != b.ty {
            return Err(Error::Kernel(format!("arms of types {} and {}", a.ty, b.ty)));
        }
        self.builder.position_at_end(joined);
        let phi = self.builder.build_phi(self.register(a.ty), "")?;
        phi.add_incoming(&[(&a.value, after_a), (&b.value, after_b)]);
        Ok(Typed { value: self.relaxed(phi.as_basic_value()), ty: a.ty })
    }

    /// A function applied to values of the types that it takes; `ty` is the result's type.
    pub(super) fn apply(&self, op: Op, ty: Type, args: &[Typed<'c>]) -> Result<BasicValueEnum<'c>, Error> {
        match (op, args) {
            (Op::Convert(to), [a]) => self.convert(*a, to),
            (Op::Select, [c, a, b]) => self.choose(c.value.into_int_value(), a.value, b.value),
            (Op::Mask, [c, a]) => self.choose(c.value.into_int_value(), a.value, self.register(ty).const_zero()),
            (Op::Ldexp, [a, n]) => self.ldexp(*a, *n),
            (_, [a, b]) if op.is_comparison() => self.compare(op, *a, *b),
            (_, [a]) if op.asks_float() => Ok(self.float_question(op, a.value.into_float_value())?.into()),
            (_, [a, ..]) if a.ty.is_float() => {
                let of = |x: &Typed<'c>| x.value.into_float_value();
                self.float_op(op, a.ty, of(a), args.last().map_or(of(a), of))
            }
            (_, [a, ..]) => {
                let of = |x: &Typed<'c>| x.value.into_int_value();
                Ok(self.integer_op(op, a.ty, of(a), args.last().map_or(of(a), of))?.into())
            }
            _ => Err(Error::Kernel(format!("{} without arguments", op.name()))),
        }
    }

    /// A choice without a branch. For a choice between floats under a comparison of floats, LLVM 19's fast instruction selection makes a
    /// blend of 16 bytes, and lets it read memory where one float was to be loaded, which may be behind the end of an array. There the
    /// choice is between the floats' bits.
    pub(super) fn choose(
        &self,
        condition: IntValue<'c>,
        yes: BasicValueEnum<'c>,
        no: BasicValueEnum<'c>,
    ) -> Result<BasicValueEnum<'c>, Error> {
        Ok(self.relaxed(self.pick(condition, yes, no)?))
    }

    /// As [`Emitter::choose`], for numbers of which each bit counts.
    pub(super) fn pick(
        &self,
        condition: IntValue<'c>,
        yes: BasicValueEnum<'c>,
        no: BasicValueEnum<'c>,
    ) -> Result<BasicValueEnum<'c>, Error> {
        if let (true, BasicTypeEnum::FloatType(float)) = (self.is_fast, yes.get_type()) {
            let wide = float == self.context.f64_type();
            let bits = if wide { self.context.i64_type() } else { self.context.i32_type() };
            let whole = |x| self.builder.build_bit_cast(x, bits, "");
            let chosen = self.builder.build_select(condition, whole(yes)?, whole(no)?, "")?;
            return Ok(self.builder.build_bit_cast(chosen, float, "")?);
        }
        Ok(self.builder.build_select(condition, yes, no, "")?)
    }

    fn compare(&self, op: Op, a: Typed<'c>, b: Typed<'c>) -> Result<BasicValueEnum<'c>, Error> {
        if a.ty.is_float() {
            let predicate = match op {
                Op::Lt => FloatPredicate::OLT,
                Op::Le => FloatPredicate::OLE,
                Op::Gt => FloatPredicate::OGT,
                Op::Ge => FloatPredicate::OGE,
                Op::Eq => FloatPredicate::OEQ,
                _ => FloatPredicate::UNE,
            };
            let (x, y): (FloatValue, FloatValue) = (a.value.into_float_value(), b.value.into_float_value());
            return Ok(self.builder.build_float_compare(predicate, x, y, "")?.into());
        }
        let (x, y) = (a.value.into_int_value(), b.value.into_int_value());
        Ok(self.builder.build_int_compare(order(op, a.ty.is_signed()), x, y, "")?.into())
    }
}

fn order(op: Op, signed: bool) -> IntPredicate {
    match (op, signed) {
        (Op::Lt, true) => IntPredicate::SLT,
        (Op::Le, true) => IntPredicate::SLE,
        (Op::Gt, true) => IntPredicate::SGT,
        (Op::Ge, true) => IntPredicate::SGE,
        (Op::Lt, false) => IntPredicate::ULT,
        (Op::Le, false) => IntPredicate::ULE,
        (Op::Gt, false) => IntPredicate::UGT,
        (Op::Ge, false) => IntPredicate::UGE,
        (Op::Eq, _) => IntPredicate::EQ,
        _ => IntPredicate::NE,
    }
}

/// Whether a condition has the form of a list's end test: it nearly always holds, and a branch on it is well predicted.
fn is_bound(e: &Expr) -> bool {
    matches!(e, Expr::Op(Op::Lt, args) if matches!(args[..], [Expr::Var(_), Expr::Var(_)]))
}

/// Whether a function calls the library for some type.
fn is_called(op: Op) -> bool {
    use Op::*;
    let of_powers = matches!(op, Pow | Ldexp | Gcd | Exp | Log | Expm1 | Log1p | Log2 | Log10 | Hypot | NextAfter);
    let of_angles = matches!(op, Sin | Cos | Tan | Asin | Acos | Atan | Atan2);
    of_powers || of_angles || matches!(op, Sinh | Cosh | Tanh | Asinh | Acosh | Atanh)
}
