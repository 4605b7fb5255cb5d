//! Kernels of a device: functions that a GPU's threads run, made of the same statements as the host's.
//!
//! ```text
//!  entry:   thread = block · threads of a block + thread of the block        addresses are in global memory (space 1); what is only
//!           the loop's iterations for this thread                            read is `noalias` and `readonly`, and its loads invariant
//!  stop:    status = min(status, (next − first) << 4 | code)
//! ```
//!
//! Workspaces of a block are arrays in its shared memory (space 3).

use super::memory::{BufferState, Storage};
use super::parts::{Cuts, Home};
use super::{Emitter, Place, Typed, Unit, attribute, mark_set, say};
use crate::Error;
use crate::target::Machine;
use fiberloom_core::algebra::{Op, Type};
use fiberloom_loops::{
    BufferId, DeviceArgument as Argument, DeviceEntry, DeviceLoop, Expr, LANES, Role, Runner, Sought, Var, WARP,
    Workspace, folded_values,
};
use inkwell::attributes::AttributeLoc;
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::types::{BasicMetadataTypeEnum, BasicType};
use inkwell::values::{AsValueRef, BasicValueEnum, FunctionValue, IntValue, PointerValue};
use inkwell::{AddressSpace, AtomicOrdering, AtomicRMWBinOp, IntPredicate};

/// LLVM's number of the calling convention of kernels.
const PTX_KERNEL: u32 = 71;

/// The numbers of the address spaces of global memory, and of the memory that the threads of a block share.
const GLOBAL: u16 = 1;
const SHARED: u16 = 3;

/// The alignment of a workspace in shared memory, in bytes: that of two elements of eight, which are loaded at once.
const PAIR: u32 = 16;

/// Where a device reports failures: the address of the status, the variable of the iteration that runs, and that of the first.
#[derive(Clone, Copy)]
pub(super) struct Reports<'c> {
    status: PointerValue<'c>,
    next: Var,
    first: Var,
}

/// The module of loops for a device, verified and not optimized.
pub(crate) fn module<'c>(
    context: &'c Context,
    name: &str,
    loops: &[(DeviceEntry, &DeviceLoop)],
    machine: &Machine,
) -> Result<Module<'c>, Error> {
    let module = context.create_module(name);
    module.set_triple(&machine.machine.get_triple());
    module.set_data_layout(&machine.machine.get_target_data().get_data_layout());
    for (entry, each) in loops {
        let cuts = Cuts::of(&each.kernel, usize::MAX);
        let (kernel, symbol, cuts) = (&each.kernel, &entry.name[..], &cuts);
        let unit = Unit { context, module: &module, kernel, symbol, cuts, machine, interruptible: false };
        let mut emitter = Emitter::open(unit, Home::Kernel, declare(unit, entry, each.has_barriers()))?;
        (emitter.joins, emitter.hands) = (&each.shuffles.joins, &each.shuffles.hands);
        emitter.atomics = &each.atomics;
        emitter.meet = Some(each.meet);
        emitter.enter_device(entry, each)?;
        emitter.reports = emitter.reports_of(entry, each).filter(|_| each.runner != Runner::Thread);
        emitter.block(&kernel.body)?;
        emitter.end_device(entry, each)?;
    }
    module.verify().map_err(|e| Error::Llvm(e.to_string()))?;
    Ok(module)
}

/// Declares an entry. Where threads wait for one another, one may read what another has written: LLVM takes it that nobody else writes what is
/// `noalias`, so that it would move a load from before a barrier behind it, and the other way round.
fn declare<'c>(unit: Unit<'c, '_>, entry: &DeviceEntry, waits: bool) -> FunctionValue<'c> {
    let Unit { context, module, kernel, machine, .. } = unit;
    let address = BasicMetadataTypeEnum::from(context.ptr_type(AddressSpace::from(GLOBAL)));
    let types: Vec<_> = entry
        .arguments
        .iter()
        .map(|argument| match argument {
            Argument::Data(_) | Argument::Copies(_) | Argument::Fold(_) | Argument::Status => address,
            _ => context.i64_type().into(),
        })
        .collect();
    let function = module.add_function(&entry.name, context.void_type().fn_type(&types, false), None);
    function.set_call_conventions(PTX_KERNEL);
    say(context, function, "target-cpu", &machine.cpu);
    say(context, function, "target-features", &machine.features);
    function.add_attribute(AttributeLoc::Function, attribute(context, "nounwind", 0));
    for (place, argument) in entry.arguments.iter().enumerate() {
        let loc = AttributeLoc::Param(place as u32);
        function.add_attribute(loc, attribute(context, "noundef", 0));
        if let Argument::Data(b) | Argument::Copies(b) = argument {
            let buffer = &kernel.buffers[b.0 as usize];
            let is_read = buffer.role == Role::Operand;
            if is_read || !waits {
                function.add_attribute(loc, attribute(context, "noalias", 0));
            }
            function.add_attribute(loc, attribute(context, "align", buffer.ty.bytes() as u64));
            if is_read {
                function.add_attribute(loc, attribute(context, "readonly", 0));
            }
        }
    }
    function
}

impl<'c> Emitter<'c, '_> {
    /// Emits the entry block: the thread's number, arguments, slots.
    fn enter_device(&mut self, entry: &DeviceEntry, each: &DeviceLoop) -> Result<(), Error> {
        let mut mutable = vec![false; self.kernel.vars.len()];
        mark_set(&self.kernel.body, &mut mutable);
        for var in &self.cuts.mentions(Home::Kernel).vars {
            if mutable[var.0 as usize] {
                let ty = self.register(self.type_of(*var));
                let slot = self.builder.build_alloca(ty, self.name(*var))?;
                self.builder.build_store(slot, ty.const_zero())?;
                self.vars[var.0 as usize] = Place::Slot(slot);
            }
        }
        let [size, blocks, block, thread] = ["ntid", "nctaid", "ctaid", "tid"].map(|name| self.special(name));
        let (size, blocks, block, thread) = (size?, blocks?, block?, thread?);
        let before = self.builder.build_int_nuw_mul(block, size, "")?;
        let numbers =
            [self.builder.build_int_nuw_add(before, thread, "")?, self.builder.build_int_nuw_mul(blocks, size, "")?];
        let places = [block, blocks, thread, size];
        for (var, value) in each.thread.into_iter().zip(numbers).chain(each.grid.into_iter().zip(places)) {
            self.vars[var.0 as usize] = Place::Register(value.into());
        }
        for (place, argument) in entry.arguments.iter().enumerate() {
            let given = self.function.get_nth_param(place as u32).expect("as many arguments as are declared");
            self.take_argument(*argument, given, each)?;
        }
        self.take_buffers(entry, each)
    }

    /// A special register, as a word.
    fn special(&self, name: &str) -> Result<IntValue<'c>, Error> {
        let value = self.call_overloaded(&format!("llvm.nvvm.read.ptx.sreg.{name}.x"), &[], &[])?;
        Ok(self.builder.build_int_z_extend(value.into_int_value(), self.context.i64_type(), name)?)
    }

    /// Notes the value of an argument that is a variable.
    fn take_argument(&mut self, argument: Argument, given: BasicValueEnum<'c>, each: &DeviceLoop) -> Result<(), Error> {
        let var = match argument {
            Argument::Value(var) => var,
            Argument::First => each.bounds[0],
            Argument::Last => each.bounds[1],
            Argument::Length(b) => match each.own.iter().find(|(own, _)| *own == b) {
                Some((_, length)) => *length,
                None => return Ok(()),
            },
            Argument::Data(_) | Argument::Copies(_) | Argument::Fold(_) | Argument::Status => return Ok(()),
        };
        given.set_name(self.name(var));
        let value = self.narrow_word(given.into_int_value(), self.type_of(var))?;
        self.vars[var.0 as usize] = Place::Register(value);
        Ok(())
    }

    /// A value of type `ty` that is passed as a word.
    fn narrow_word(&self, word: IntValue<'c>, ty: Type) -> Result<BasicValueEnum<'c>, Error> {
        let bits = self.context.custom_width_int_type(ty.bits().try_into().expect("types have bits"));
        let bits = bits.map_err(|e| Error::Llvm(e.to_string()))?;
        let narrow = self.builder.build_int_truncate_or_bit_cast(word, bits, "")?;
        Ok(if ty.is_float() { self.builder.build_bit_cast(narrow, self.float(ty), "")? } else { narrow.into() })
    }

    fn take_buffers(&mut self, entry: &DeviceEntry, each: &DeviceLoop) -> Result<(), Error> {
        let scopes = self.scopes();
        let given = |wanted: Argument| {
            let place = entry.arguments.iter().position(|argument| *argument == wanted)?;
            self.function.get_nth_param(place as u32)
        };
        let none = self.context.ptr_type(AddressSpace::default()).const_null();
        let mut states = Vec::new();
        for (place, buffer) in self.kernel.buffers.iter().enumerate() {
            let b = BufferId(place as u32);
            states.push(scopes.get(&b).map(|(own, others)| {
                let fold = each.folds.iter().find(|(_, of)| *of == b);
                let data = given(Argument::Data(b)).or_else(|| given(Argument::Copies(b)));
                let data = data.or_else(|| given(Argument::Fold(fold?.0)));
                let data = data.map_or(none, |data| {
                    data.set_name(&buffer.name);
                    data.into_pointer_value()
                });
                let length = given(Argument::Length(b)).map_or(self.i64(0), |length| length.into_int_value());
                let shared = each.shared.iter().find(|of| of.buffer == b);
                let (data, length) = shared.map_or((data, length), |of| self.in_shared_memory(*of));
                let place = Storage::Fixed(data, length);
                BufferState { place, description: none, own: *own, others: *others, coordinates: false }
            }));
        }
        self.buffers = states;
        Ok(())
    }

    /// The address and length of a workspace in the memory that a block shares.
    fn in_shared_memory(&self, of: Workspace) -> (PointerValue<'c>, IntValue<'c>) {
        let buffer = &self.kernel.buffers[of.buffer.0 as usize];
        let array = self.in_memory(buffer.ty).array_type(of.len as u32);
        let name = format!("{}_{}", self.symbol, buffer.name);
        let made = self.module.add_global(array, Some(AddressSpace::from(SHARED)), &name);
        made.set_linkage(Linkage::Internal);
        made.set_initializer(&array.get_undef());
        made.set_alignment(PAIR);
        (made.as_pointer_value(), self.i64(of.len as i64))
    }

    /// Where all threads of the block wait for one another.
    pub(super) fn barrier(&self) -> Result<(), Error> {
        self.call_site("llvm.nvvm.barrier0", &[], &[]).map(|_| ())
    }

    /// Emits the function's end, and its end after a failure.
    fn end_device(self, entry: &DeviceEntry, each: &DeviceLoop) -> Result<(), Error> {
        self.builder.build_return(None)?;
        let (stop, code) = self.stop;
        self.builder.position_at_end(stop);
        if let Some(reports) = self.reports_of(entry, each) {
            let code = self.builder.build_load(self.context.i32_type(), code, "")?.into_int_value();
            self.report(reports, self.builder.build_int_z_extend(code, self.context.i64_type(), "")?)?;
        }
        self.builder.build_return(None)?;
        Ok(())
    }

    /// Where failures are reported.
    fn reports_of(&self, entry: &DeviceEntry, each: &DeviceLoop) -> Option<Reports<'c>> {
        let place = entry.arguments.iter().position(|argument| *argument == Argument::Status)?;
        let status = self.function.get_nth_param(place as u32)?.into_pointer_value();
        Some(Reports { status, next: each.next, first: each.bounds[0] })
    }

    /// Reports the failure of the iteration that runs.
    pub(super) fn report(&self, of: Reports<'c>, code: IntValue<'c>) -> Result<(), Error> {
        let turn = self.builder.build_int_sub(self.word(of.next)?, self.word(of.first)?, "")?;
        let turn = self.builder.build_left_shift(turn, self.i64(4), "")?;
        let report = self.builder.build_or(turn, code, "")?;
        self.builder.build_atomicrmw(AtomicRMWBinOp::UMin, of.status, report, AtomicOrdering::Monotonic)?;
        Ok(())
    }

    /// Folds values into an element, each as one read-modify-write.
    pub(super) fn fold_atomically(&self, (b, at): (BufferId, &Expr), e: &Expr) -> Result<(), Error> {
        let Some((op, values)) = folded_values(e, (b, at)) else {
            return Err(Error::Llvm("a fold was expected".into()));
        };
        let ty = self.kernel.buffers[b.0 as usize].ty;
        let place = self.place_of(b, self.index(at)?)?;
        for value in values {
            let value = self.typed(value, ty)?.value;
            self.read_modify_write((op, ty), place, value)?;
        }
        Ok(())
    }

    /// One read-modify-write. Those of inkwell's builder are of integers only.
    #[allow(unsafe_code)]
    fn read_modify_write(
        &self,
        (op, ty): (Op, Type),
        place: PointerValue<'c>,
        value: BasicValueEnum<'c>,
    ) -> Result<(), Error> {
        use inkwell::llvm_sys::core::LLVMBuildAtomicRMW;
        use inkwell::llvm_sys::{LLVMAtomicOrdering, LLVMAtomicRMWBinOp as Rmw};
        let f = match op {
            Op::Add if ty.is_float() => Rmw::LLVMAtomicRMWBinOpFAdd,
            Op::Add => Rmw::LLVMAtomicRMWBinOpAdd,
            Op::Min if ty.is_signed() => Rmw::LLVMAtomicRMWBinOpMin,
            Op::Min => Rmw::LLVMAtomicRMWBinOpUMin,
            Op::Max if ty.is_signed() => Rmw::LLVMAtomicRMWBinOpMax,
            Op::Max => Rmw::LLVMAtomicRMWBinOpUMax,
            Op::And => Rmw::LLVMAtomicRMWBinOpAnd,
            Op::Or => Rmw::LLVMAtomicRMWBinOpOr,
            Op::Xor => Rmw::LLVMAtomicRMWBinOpXor,
            _ => return Err(Error::Llvm(format!("there is no atomic `{}`", op.name()))),
        };
        let order = LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic;
        let [place, value] = [place.as_value_ref(), value.as_value_ref()];
        // SAFETY: The builder stands at the end of a block of this context, as do the two values, of which the first is an address in global
        // memory, and the second of the type of its element.
        unsafe { LLVMBuildAtomicRMW(self.builder.as_mut_ptr(), f, place, value, order, 0) };
        Ok(())
    }

    /// The value of a variable that is a word.
    fn word(&self, var: Var) -> Result<IntValue<'c>, Error> {
        Ok(match self.vars[var.0 as usize] {
            Place::Slot(slot) => self.builder.build_load(self.context.i64_type(), slot, "")?.into_int_value(),
            Place::Register(value) => value.into_int_value(),
            Place::Nowhere => self.i64(0),
        })
    }

    /// Behind a loop that the lanes of a warp share, folds what each has made: each lane has the whole then.
    pub(super) fn join_lanes(&self, condition: &Expr) -> Result<(), Error> {
        for join in self.joins.iter().filter(|join| condition.reads(join.behind)) {
            let Place::Slot(slot) = self.vars[join.into.0 as usize] else { continue };
            let ty = self.type_of(join.into);
            let with = self.lanes_with(join.lanes)?;
            for distance in [16, 8, 4, 2, 1].into_iter().filter(|distance| *distance < join.lanes) {
                let mine = self.builder.build_load(self.register(ty), slot, "")?;
                let theirs = self.context.i32_type().const_int(distance as u64, false);
                let theirs = self.of_lane((mine, ty), ("bfly", theirs), with)?;
                let both = [mine, theirs].map(|value| Typed { value, ty });
                self.builder.build_store(slot, self.apply(join.op, ty, &both)?)?;
            }
        }
        Ok(())
    }

    /// The value that a variable is defined as, where it is that of another lane.
    pub(super) fn handed(&self, var: Var, value: BasicValueEnum<'c>) -> Result<BasicValueEnum<'c>, Error> {
        let Some(hand) = self.hands.iter().find(|hand| hand.into == var) else { return Ok(value) };
        let from = self.builder.build_int_truncate(self.word(hand.from)?, self.context.i32_type(), "")?;
        self.of_lane((value, self.type_of(var)), ("idx", from), self.lanes_with(WARP)?)
    }

    /// The lanes of this one's part of the warp, of so many, a bit each.
    fn lanes_with(&self, count: i64) -> Result<IntValue<'c>, Error> {
        let half = self.context.i32_type();
        if count == WARP {
            return Ok(half.const_all_ones());
        }
        let lane = self.call_overloaded("llvm.nvvm.read.ptx.sreg.laneid", &[], &[])?.into_int_value();
        let first = self.builder.build_and(lane, half.const_int((WARP - count) as u64, false), "")?;
        Ok(self.builder.build_left_shift(half.const_int((1 << count) - 1, false), first, "")?)
    }

    /// The value of another lane: the one of this number (`idx`), or whose number differs in these bits (`bfly`). The lanes `with` which
    /// this one shuffles all come here. Shuffles move 32 bits.
    fn of_lane(
        &self,
        (value, ty): (BasicValueEnum<'c>, Type),
        (how, lane): (&str, IntValue<'c>),
        with: IntValue<'c>,
    ) -> Result<BasicValueEnum<'c>, Error> {
        let (builder, half) = (&self.builder, self.context.i32_type());
        let bits = self.context.custom_width_int_type(ty.bits().try_into().expect("types have bits"));
        let bits = bits.map_err(|e| Error::Llvm(e.to_string()))?;
        let whole = builder.build_bit_cast(value, bits, "")?.into_int_value();
        let word = builder.build_int_z_extend_or_bit_cast(whole, self.context.i64_type(), "")?;
        let number = |n: u64| half.const_int(n, false).into();
        let moved = |part: IntValue<'c>| {
            let args = [with.into(), part.into(), lane.into(), number(31)];
            let moved = self.call_overloaded(&format!("llvm.nvvm.shfl.sync.{how}.i32"), &[], &args)?;
            Ok::<_, Error>(builder.build_int_z_extend(moved.into_int_value(), self.context.i64_type(), "")?)
        };
        let mut taken = moved(builder.build_int_truncate(word, half, "")?)?;
        if ty.bits() > 32 {
            let high = builder.build_right_shift(word, self.i64(32), false, "")?;
            let high = moved(builder.build_int_truncate(high, half, "")?)?;
            taken = builder.build_or(taken, builder.build_left_shift(high, self.i64(32), "")?, "")?;
        }
        self.narrow_word(taken, ty)
    }

    /// The number, from `begin` on, of the first element before `end` that matches, looked at one by one; else the number of lanes.
    pub(super) fn among_one_by_one(
        &self,
        sought: Sought,
        buffer: BufferId,
        [begin, end, target]: [IntValue<'c>; 3],
    ) -> Result<Typed<'c>, Error> {
        let builder = &self.builder;
        let before = self.here();
        let [after, step, look, test] = ["after", "step", "look", "test"].map(|name| self.new_block(name));
        builder.build_unconditional_branch(test)?;
        builder.position_at_end(test);
        let counter = builder.build_phi(self.context.i64_type(), "lane")?;
        let lane = counter.as_basic_value().into_int_value();
        let at = builder.build_int_add(begin, lane, "")?;
        let inside = builder.build_int_compare(IntPredicate::SLT, at, end, "")?;
        let more = builder.build_int_compare(IntPredicate::ULT, lane, self.i64(LANES), "")?;
        builder.build_conditional_branch(builder.build_and(inside, more, "")?, look, after)?;
        builder.position_at_end(look);
        let element = self.convert(self.load(buffer, at)?, Type::I64)?.into_int_value();
        let stops = match sought {
            Sought::Target => IntPredicate::EQ,
            Sought::NotBelow => IntPredicate::SGE,
            Sought::Other => IntPredicate::NE,
        };
        let found = builder.build_int_compare(stops, element, target, "")?;
        let looked = self.here();
        builder.build_conditional_branch(found, after, step)?;
        builder.position_at_end(step);
        let next = builder.build_int_add(lane, self.i64(1), "")?;
        builder.build_unconditional_branch(test)?;
        counter.add_incoming(&[(&self.i64(0), before), (&next, step)]);
        builder.position_at_end(after);
        let result = builder.build_phi(self.context.i64_type(), "")?;
        result.add_incoming(&[(&lane, looked)]);
        // Where the list ends first, `below` and `alike` say how many elements there were, and `among` that there is none.
        let ended: IntValue = if sought == Sought::Target { self.i64(LANES) } else { lane };
        result.add_incoming(&[(&ended, test)]);
        Ok(Typed { value: result.as_basic_value(), ty: Type::I64 })
    }
}
