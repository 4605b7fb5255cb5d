//! Calls of functions in the runtime's table, and of LLVM's intrinsics.

use super::{Emitter, attribute};
use crate::Error;
use crate::abi::{Kind, Slot, code};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_loops::{BufferId, Entry, Expr, Failure};
use inkwell::attributes::AttributeLoc;
use inkwell::builder::Builder;
use inkwell::intrinsics::Intrinsic;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::{Linkage, Module};
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum};
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, CallSiteValue, FunctionValue, IntValue, PointerValue};

/// The functions on numbers of a device, in LLVM's language, and the prefix of their names.
const LIBRARY: &str = include_str!("library.ll");
const DEVICE: &str = "fl.device.";

impl<'c> Emitter<'c, '_> {
    /// Calls a runtime entry point; the kernel ends if it fails.
    pub(super) fn entry(&mut self, entry: &Entry) -> Result<(), Error> {
        match entry {
            Entry::Alloc { buffer, len, fill } => self.alloc(*buffer, len, *fill),
            Entry::Reserve { buffer, len } => {
                let len = self.index(len)?;
                self.call_on(Slot::Reserve, &[*buffer], &[len, self.bytes(*buffer)])?;
                self.refresh(*buffer)
            }
            Entry::Finish { buffer, len } => {
                let len = self.index(len)?;
                self.call_on(Slot::Finish, &[*buffer], &[len, self.bytes(*buffer)])
            }
            Entry::Move { to, from } => {
                self.call_on(Slot::Move, &[*to, *from], &[])?;
                self.refresh(*to)?;
                self.refresh(*from)
            }
            Entry::Sort { keys, order, len } => {
                let len = self.index(len)?;
                self.call_on(Slot::Sort, &[*keys, *order], &[len])
            }
            Entry::SortInto { keys, into, at, len } => self.sort_into(*keys, *into, at, len),
            Entry::Fail(failure) => self.fail(*failure),
        }
    }

    fn alloc(&mut self, buffer: BufferId, len: &Expr, fill: Option<Value>) -> Result<(), Error> {
        if self.is_framed(buffer) {
            return Ok(());
        }
        let len = self.index(len)?;
        let filled = self.context.i32_type().const_int(fill.is_some() as u64, false);
        let bits = self.context.i64_type().const_int(fill.map_or(0, Value::bits), false);
        self.call_on(Slot::Alloc, &[buffer], &[len, self.bytes(buffer), filled, bits])?;
        self.refresh(buffer)
    }

    /// The size of a buffer's elements, in bytes.
    fn bytes(&self, b: BufferId) -> IntValue<'c> {
        self.context.i32_type().const_int(self.kernel.buffers[b.0 as usize].ty.bytes() as u64, false)
    }

    /// Calls an entry point with the session, then buffers, then `rest`; the kernel ends unless it returns 0.
    fn call_on(&self, slot: Slot, buffers: &[BufferId], rest: &[IntValue<'c>]) -> Result<(), Error> {
        let session = self.function.get_nth_param(0).expect("a kernel has three arguments");
        let descriptions = buffers.iter().map(|b| self.buffer(*b).description.into());
        let args: Vec<BasicMetadataValueEnum> =
            std::iter::once(session.into()).chain(descriptions).chain(rest.iter().map(|x| (*x).into())).collect();
        let call = self.call_table(slot, &args)?;
        call.add_attribute(AttributeLoc::Function, attribute(self.context, "cold", 0));
        let returned = call.try_as_basic_value().unwrap_basic();
        if let [only] = buffers {
            // The call changes no other buffer's elements.
            self.annotate(returned, "noalias", self.buffer(*only).others);
        }
        self.go_on_if_zero(returned.into_int_value())
    }

    /// Ends the kernel with a failure, or reports it where other threads wait for this one. The code behind an end is emitted and never
    /// reached.
    fn fail(&self, failure: Failure) -> Result<(), Error> {
        if let Some(reports) = self.reports {
            return self.report(reports, self.i64(code(failure) as i64));
        }
        let code = self.context.i32_type().const_int(code(failure) as u64, false);
        self.builder.build_store(self.stop.1, code)?;
        let unreached = self.new_block("unreached");
        self.builder.build_unconditional_branch(self.stop.0)?;
        self.builder.position_at_end(unreached);
        Ok(())
    }

    /// Calls a function on numbers from the runtime's table.
    pub(super) fn call_slot(
        &self,
        slot: Slot,
        args: &[BasicMetadataValueEnum<'c>],
    ) -> Result<BasicValueEnum<'c>, Error> {
        let call = match self.on_device {
            true => self.builder.build_call(self.library(slot)?, args, "")?,
            false => self.call_table(slot, args)?,
        };
        for name in ["memory", "nounwind", "willreturn"] {
            call.add_attribute(AttributeLoc::Function, attribute(self.context, name, 0));
        }
        Ok(call.try_as_basic_value().unwrap_basic())
    }

    /// The function on numbers that a device has in the place of the runtime's; the module gets them all at its first call of one.
    pub(super) fn library(&self, slot: Slot) -> Result<FunctionValue<'c>, Error> {
        let name = format!("{DEVICE}{}", slot.name());
        if self.module.get_function(&name).is_none() {
            let text = MemoryBuffer::create_from_memory_range_copy(LIBRARY.as_bytes(), "library");
            let library = self.context.create_module_from_ir(text).map_err(|e| Error::Llvm(e.to_string()))?;
            self.module.link_in_module(library).map_err(|e| Error::Llvm(e.to_string()))?;
            let is_ours = |f: &FunctionValue| f.get_name().to_string_lossy().starts_with(DEVICE);
            self.module.get_functions().filter(is_ours).for_each(|f| f.set_linkage(Linkage::Internal));
        }
        self.module.get_function(&name).ok_or_else(|| Error::Llvm(format!("a device has no `{}`", slot.name())))
    }

    pub(super) fn call_table(
        &self,
        slot: Slot,
        args: &[BasicMetadataValueEnum<'c>],
    ) -> Result<CallSiteValue<'c>, Error> {
        let address = self.address_of_slot(slot)?;
        let (params, result) = slot.signature();
        let params: Vec<BasicMetadataTypeEnum> = params.iter().map(|(kind, _)| self.kind(*kind).into()).collect();
        let ty = self.kind(result).fn_type(&params, false);
        Ok(self.builder.build_indirect_call(ty, address, args, "")?)
    }

    /// The address of a function in the runtime's table.
    pub(super) fn address_of_slot(&self, slot: Slot) -> Result<PointerValue<'c>, Error> {
        let pointer = self.context.ptr_type(Default::default());
        let table = self.function.get_nth_param(0).expect("a kernel has three arguments").into_pointer_value();
        let at = self.element(pointer.into(), table, self.i64(slot as i64))?;
        let address = self.builder.build_load(pointer, at, slot.name())?;
        self.annotate(address, "invariant.load", self.context.metadata_node(&[]));
        Ok(address.into_pointer_value())
    }

    fn kind(&self, kind: Kind) -> BasicTypeEnum<'c> {
        match kind {
            Kind::Runtime | Kind::Buffer | Kind::Params | Kind::Frame | Kind::Loop => {
                self.context.ptr_type(Default::default()).into()
            }
            Kind::I32 => self.context.i32_type().into(),
            Kind::I64 | Kind::U64 => self.context.i64_type().into(),
            Kind::F32 => self.float(Type::F32).into(),
            Kind::F64 => self.float(Type::F64).into(),
        }
    }

    /// Calls the intrinsic `name` for type `ty`.
    pub(super) fn call_intrinsic(
        &self,
        name: &str,
        ty: BasicTypeEnum<'c>,
        args: &[BasicMetadataValueEnum<'c>],
    ) -> Result<BasicValueEnum<'c>, Error> {
        self.call_overloaded(name, &[ty], args)
    }

    /// Calls the intrinsic `name` for these types, and returns its value.
    pub(super) fn call_overloaded(
        &self,
        name: &str,
        types: &[BasicTypeEnum<'c>],
        args: &[BasicMetadataValueEnum<'c>],
    ) -> Result<BasicValueEnum<'c>, Error> {
        Ok(self.call_site(name, types, args)?.try_as_basic_value().unwrap_basic())
    }

    /// Calls the intrinsic `name` for these types.
    pub(super) fn call_site(
        &self,
        name: &str,
        types: &[BasicTypeEnum<'c>],
        args: &[BasicMetadataValueEnum<'c>],
    ) -> Result<CallSiteValue<'c>, Error> {
        intrinsic(self.module, &self.builder, name, types, args)
    }
}

/// Calls the intrinsic `name` for these types.
pub(super) fn intrinsic<'c>(
    module: &Module<'c>,
    builder: &Builder<'c>,
    name: &str,
    types: &[BasicTypeEnum<'c>],
    args: &[BasicMetadataValueEnum<'c>],
) -> Result<CallSiteValue<'c>, Error> {
    let function = Intrinsic::find(name)
        .and_then(|i| i.get_declaration(module, types))
        .ok_or_else(|| Error::Llvm(format!("no intrinsic {name}")))?;
    Ok(builder.build_call(function, args, "")?)
}
