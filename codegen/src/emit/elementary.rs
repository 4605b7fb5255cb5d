//! Elementary functions: each is a function of the module, of one instruction per step, that is inlined into innermost loops, so that
//! LLVM vectorizes its steps.
//!
//! ```text
//!  for … { y[i] = exp(x[i]) }   call fl.exp(x)  ──always-inline──▶  steps  ──loop-vectorize──▶  steps on lanes
//!
//!  fl.sin(f, x):  near = …; if x is far { fl.far(f, x) = f(x) }        vectorized: fl.far.4(f, x, mask), f of each lane
//! ```
//!
//! No step may be fused or reassociated with another: every engine computes exactly these steps. A machine without fused multiplication
//! calls the runtime, which computes it in software. The runtime computes far angles on every machine; `f` is the address of its
//! function.

use super::{Emitter, attribute, call, say};
use crate::Error;
use crate::abi::Slot;
use fiberloom_core::algebra::{Op, Step, Steps, Type, Whole, steps};
use inkwell::FloatPredicate;
use inkwell::IntPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum};
use inkwell::values::{
    BasicMetadataValueEnum, BasicValueEnum, CallSiteValue, FloatValue, FunctionValue, IntValue, PointerValue,
};

/// The prefix of a module's elementary functions.
pub(crate) const PREFIX: &str = "fl.";

/// The name of the function for far angles.
pub(crate) const FAR: &str = "fl.far";

/// The most calls of elementary functions that are inlined into the loops of one function; others stay calls.
const INLINED: usize = 16;

/// The vector widths that a loop may have, in lanes.
const LANES: [u32; 4] = [2, 4, 8, 16];

impl<'c> Emitter<'c, '_> {
    /// An elementary function of arguments of type `ty`. For a unary function, `b` is `a` again.
    pub(super) fn elementary(
        &self,
        op: Op,
        ty: Type,
        a: FloatValue<'c>,
        b: FloatValue<'c>,
    ) -> Result<BasicValueEnum<'c>, Error> {
        let unknown = || Error::Kernel(format!("{} of {ty}", op.name()));
        let slot = Slot::of(op, ty).ok_or_else(unknown)?;
        let mut args: Vec<BasicMetadataValueEnum> = vec![a.into(), b.into()];
        args.truncate(slot.signature().0.len());
        if !self.fuses {
            return self.call_slot(slot, &args);
        }
        let steps = steps(op, ty).ok_or_else(unknown)?;
        if let Some(whole) = far_in(&steps).filter(|_| !self.on_device) {
            args.push(self.address_of_slot(slot_of(whole))?.into());
        }
        let function = self.function_of(slot, ty, &steps)?;
        let call = self.builder.build_call(function, &args, "")?;
        let (context, inlined) = (self.context, self.inlined.get());
        // A device's functions do not call others.
        let taken = self.on_device || self.is_innermost && inlined < INLINED;
        self.inlined.set(inlined + usize::from(taken));
        for name in ["memory", "nounwind", "willreturn", if taken { "alwaysinline" } else { "noinline" }] {
            call.add_attribute(AttributeLoc::Function, attribute(context, name, 0));
        }
        Ok(call.try_as_basic_value().unwrap_basic())
    }

    /// The module's function of these steps, emitted at its first call.
    fn function_of(&self, slot: Slot, ty: Type, steps: &Steps) -> Result<FunctionValue<'c>, Error> {
        let name = format!("{PREFIX}{}", slot.name());
        if let Some(function) = self.module.get_function(&name) {
            return Ok(function);
        }
        let float: BasicTypeEnum = self.float(ty).into();
        let mut params: Vec<BasicMetadataTypeEnum> = vec![float.into(); slot.signature().0.len()];
        if far_in(steps).is_some() && !self.on_device {
            params.push(self.context.ptr_type(Default::default()).into());
        }
        let author = self.author(&name, float, &params)?;
        author.write(steps, ty)?;
        Ok(author.function)
    }

    /// A writer of a new function of the module.
    fn author(
        &self,
        name: &str,
        result: BasicTypeEnum<'c>,
        params: &[BasicMetadataTypeEnum<'c>],
    ) -> Result<Author<'c, '_>, Error> {
        let function = self.module.add_function(name, result.fn_type(params, false), Some(Linkage::Internal));
        for name in ["target-cpu", "target-features"] {
            let value = self.function.get_string_attribute(AttributeLoc::Function, name);
            if let Some(value) = value {
                say(self.context, function, name, &value.get_string_value().to_string_lossy());
            }
        }
        for name in ["memory", "nounwind", "willreturn"] {
            function.add_attribute(AttributeLoc::Function, attribute(self.context, name, 0));
        }
        let builder = self.context.create_builder();
        builder.position_at_end(self.context.append_basic_block(function, "entry"));
        Ok(Author { context: self.context, module: self.module, builder, function, emitter: self })
    }

    /// The function for far angles, with its variants for vectors.
    fn far(&self) -> Result<FunctionValue<'c>, Error> {
        if let Some(function) = self.module.get_function(FAR) {
            return Ok(function);
        }
        let float = self.context.f64_type();
        let pointer = BasicMetadataTypeEnum::from(self.context.ptr_type(Default::default()));
        let one = self.author(FAR, float.into(), &[pointer, float.into()])?;
        let result = one.call(one.pointer(0), one.function.get_nth_param(1).expect("an angle"))?;
        one.builder.build_return(Some(&result))?;
        let mut kept = Vec::new();
        for lanes in LANES {
            let (vector, mask) = (float.vec_type(lanes), self.context.bool_type().vec_type(lanes));
            let author =
                self.author(&format!("{FAR}.{lanes}"), vector.into(), &[pointer, vector.into(), mask.into()])?;
            author.write_lanes(lanes)?;
            author.function.add_attribute(AttributeLoc::Function, attribute(self.context, "alwaysinline", 0));
            kept.push(author.function.as_global_value().as_pointer_value());
        }
        // Nothing calls the variants before loops are vectorized.
        let array = self.context.ptr_type(Default::default()).const_array(&kept);
        let used = self.module.add_global(array.get_type(), None, "llvm.compiler.used");
        used.set_linkage(Linkage::Appending);
        used.set_section(Some("llvm.metadata"));
        used.set_initializer(&array);
        Ok(one.function)
    }
}

/// The function for far angles among these steps.
fn far_in(steps: &Steps) -> Option<Whole> {
    steps.iter().find_map(|step| if let Step::UnlessFar(.., whole) = step { Some(whole) } else { None })
}

/// The runtime's function for far angles.
fn slot_of(whole: Whole) -> Slot {
    match whole {
        Whole::Sin => Slot::SinF64,
        Whole::Cos => Slot::CosF64,
        Whole::Tan => Slot::TanF64,
    }
}

/// Writes one function of the module.
struct Author<'c, 'e> {
    context: &'c Context,
    module: &'e Module<'c>,
    builder: Builder<'c>,
    function: FunctionValue<'c>,
    emitter: &'e Emitter<'c, 'e>,
}

/// The values of the steps so far.
struct Line<'c>(Vec<BasicValueEnum<'c>>);

impl<'c> Line<'c> {
    fn number(&self, at: usize) -> FloatValue<'c> {
        self.0[at].into_float_value()
    }

    /// A value as bits, or a truth value.
    fn word(&self, at: usize) -> IntValue<'c> {
        self.0[at].into_int_value()
    }
}

impl<'c> Author<'c, '_> {
    fn pointer(&self, place: u32) -> PointerValue<'c> {
        self.function.get_nth_param(place).expect("an address").into_pointer_value()
    }

    /// Calls the runtime's function of one number at this address.
    fn call(&self, address: PointerValue<'c>, x: BasicValueEnum<'c>) -> Result<BasicValueEnum<'c>, Error> {
        let float = self.context.f64_type();
        let call = self.builder.build_indirect_call(float.fn_type(&[float.into()], false), address, &[x.into()], "")?;
        for name in ["memory", "nounwind", "willreturn"] {
            call.add_attribute(AttributeLoc::Function, attribute(self.context, name, 0));
        }
        Ok(call.try_as_basic_value().unwrap_basic())
    }

    /// Emits all steps, one after the other.
    fn write(&self, steps: &Steps, ty: Type) -> Result<(), Error> {
        let wide = self.context.f64_type();
        let mut line = Line(Vec::new());
        for step in steps.iter() {
            let value = match step {
                Step::Argument(which) => {
                    let given = self.function.get_nth_param(which).filter(|x| x.is_float_value());
                    let x = given.or(self.function.get_first_param()).expect("an argument").into_float_value();
                    if ty == Type::F32 { self.builder.build_float_ext(x, wide, "")?.into() } else { x.into() }
                }
                step => self.step(step, &line)?,
            };
            line.0.push(value);
        }
        let result = line.number(line.0.len() - 1);
        let result =
            if ty == Type::F32 { self.builder.build_float_trunc(result, self.context.f32_type(), "")? } else { result };
        self.builder.build_return(Some(&result))?;
        Ok(())
    }

    fn step(&self, step: Step, line: &Line<'c>) -> Result<BasicValueEnum<'c>, Error> {
        let builder = &self.builder;
        let (number, word) = (|at| line.number(at), |at| line.word(at));
        let (float, bits) = (self.context.f64_type(), self.context.i64_type());
        let intrinsic = |name: &str, args: &[usize]| {
            let args: Vec<_> = args.iter().map(|at| number(*at).into()).collect();
            let call = call::intrinsic(self.module, builder, name, &[float.into()], &args)?;
            Ok::<_, Error>(call.try_as_basic_value().unwrap_basic())
        };
        let by = |by: u32| bits.const_int(by.into(), false);
        Ok(match step {
            Step::Argument(_) => return Err(Error::Llvm("an argument among the steps".into())),
            Step::Number(x) => float.const_float(x).into(),
            Step::Bits(x) => bits.const_int(x, false).into(),
            Step::Add(x, y) => builder.build_float_add(number(x), number(y), "")?.into(),
            Step::Sub(x, y) => builder.build_float_sub(number(x), number(y), "")?.into(),
            Step::Mul(x, y) => builder.build_float_mul(number(x), number(y), "")?.into(),
            Step::Div(x, y) => builder.build_float_div(number(x), number(y), "")?.into(),
            Step::Fused(x, y, z) => intrinsic("llvm.fma", &[x, y, z])?,
            Step::Neg(x) => builder.build_float_neg(number(x), "")?.into(),
            Step::Abs(x) => intrinsic("llvm.fabs", &[x])?,
            Step::Sqrt(x) => intrinsic("llvm.sqrt", &[x])?,
            Step::Trunc(x) => intrinsic("llvm.trunc", &[x])?,
            Step::BitsOf(x) => builder.build_bit_cast(number(x), bits, "")?,
            Step::NumberOf(x) => builder.build_bit_cast(word(x), float, "")?,
            Step::Below(x, y) => builder.build_float_compare(FloatPredicate::OLT, number(x), number(y), "")?.into(),
            Step::Equal(x, y) => builder.build_float_compare(FloatPredicate::OEQ, number(x), number(y), "")?.into(),
            Step::Choose(which, x, y) => {
                // Selects between bits, for the reason that `Emitter::choose` gives.
                let whole = |at| builder.build_bit_cast(number(at), bits, "");
                let chosen = builder.build_select(word(which), whole(x)?, whole(y)?, "")?;
                builder.build_bit_cast(chosen, float, "")?
            }
            Step::UnlessFar(x, near, whole) => self.unless_far(number(x), number(near), whole)?,
            Step::Plus(x, y) => builder.build_int_add(word(x), word(y), "")?.into(),
            Step::Minus(x, y) => builder.build_int_sub(word(x), word(y), "")?.into(),
            Step::And(x, y) => builder.build_and(word(x), word(y), "")?.into(),
            Step::Or(x, y) => builder.build_or(word(x), word(y), "")?.into(),
            Step::Xor(x, y) => builder.build_xor(word(x), word(y), "")?.into(),
            Step::Left(x, places) => builder.build_left_shift(word(x), by(places), "")?.into(),
            Step::Right(x, places) => builder.build_right_shift(word(x), by(places), false, "")?.into(),
            Step::Not(x) => builder.build_not(word(x), "")?.into(),
        })
    }

    /// `near`, unless the angle is far: then the runtime computes the function.
    fn unless_far(&self, x: FloatValue<'c>, near: FloatValue<'c>, whole: Whole) -> Result<BasicValueEnum<'c>, Error> {
        let (builder, float) = (&self.builder, x.get_type());
        let size = call::intrinsic(self.module, builder, "llvm.fabs", &[float.into()], &[x.into()])?;
        let size = size.try_as_basic_value().unwrap_basic().into_float_value();
        let is_far = builder.build_float_compare(FloatPredicate::UGE, size, float.const_float(Steps::FAR), "")?;
        let before = builder.get_insert_block().expect("the author stands in a block");
        let [far, joined] = ["far", "joined"].map(|name| self.context.append_basic_block(self.function, name));
        builder.build_conditional_branch(is_far, far, joined)?;
        builder.position_at_end(far);
        let call = match self.emitter.on_device {
            true => builder.build_call(self.emitter.library(slot_of(whole))?, &[x.into()], "")?,
            false => self.far_on_host(x)?,
        };
        builder.build_unconditional_branch(joined)?;
        builder.position_at_end(joined);
        let phi = builder.build_phi(float, "")?;
        phi.add_incoming(&[(&near, before), (&call.try_as_basic_value().unwrap_basic(), far)]);
        Ok(phi.as_basic_value())
    }

    /// The call of the runtime's function, with variants for lanes.
    fn far_on_host(&self, x: FloatValue<'c>) -> Result<CallSiteValue<'c>, Error> {
        let address = self.pointer(self.function.count_params() - 1);
        let call = self.builder.build_call(self.emitter.far()?, &[address.into(), x.into()], "")?;
        let lanes = LANES.map(|n| format!("_ZGV_LLVM_M{n}uv_{FAR}({FAR}.{n})")).join(",");
        let lanes = self.context.create_string_attribute("vector-function-abi-variant", &lanes);
        call.add_attribute(AttributeLoc::Function, lanes);
        Ok(call)
    }

    /// Emits the runtime's function for each lane, if the mask has any lane.
    fn write_lanes(&self, lanes: u32) -> Result<(), Error> {
        let builder = &self.builder;
        let [x, mask] = [1, 2].map(|place| self.function.get_nth_param(place).expect("lanes").into_vector_value());
        let word = self.context.custom_width_int_type(lanes.try_into().expect("some lanes"));
        let word = word.map_err(|e| Error::Llvm(e.to_string()))?;
        let any = builder.build_bit_cast(mask, word, "")?.into_int_value();
        let any = builder.build_int_compare(IntPredicate::NE, any, word.const_zero(), "")?;
        let entry = builder.get_insert_block().expect("the author stands in a block");
        let [some, done] = ["some", "done"].map(|name| self.context.append_basic_block(self.function, name));
        builder.build_conditional_branch(any, some, done)?;
        builder.position_at_end(some);
        let mut results = x;
        for lane in 0..lanes {
            let at = self.context.i32_type().const_int(lane.into(), false);
            let result = self.call(self.pointer(0), builder.build_extract_element(x, at, "")?)?;
            results = builder.build_insert_element(results, result, at, "")?;
        }
        builder.build_unconditional_branch(done)?;
        builder.position_at_end(done);
        let phi = builder.build_phi(x.get_type(), "")?;
        phi.add_incoming(&[(&x, entry), (&results, some)]);
        builder.build_return(Some(&phi.as_basic_value()))?;
        Ok(())
    }
}
