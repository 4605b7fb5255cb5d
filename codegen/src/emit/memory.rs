//! Buffers: their addresses, and LLVM's aliasing information for accesses to them.
//!
//! ```text
//!   scope of operands      one scope for all: they are only read, and may overlap
//!   scope of each result   each access is in its buffer's scope and in none of the others: `!alias.scope`, `!noalias`
//!   and workspace
//! ```
//!
//! Two buffers may exchange their memory, but only in a call: between calls they do not overlap, and LLVM assumes that a call changes all
//! memory.
//!
//! A workspace of constant length that is allocated once, and then only loaded and stored, is an array in the frame.

use super::parts::Home;
use super::{Emitter, Typed, attribute};
use crate::Error;
use fiberloom_core::algebra::{Type, Value};
use fiberloom_loops::{Argument, BufferId, Entry, Expr, Holds, Kernel, Role, Stmt};
use inkwell::attributes::AttributeLoc;
use inkwell::module::Linkage;
use inkwell::types::{BasicType, BasicTypeEnum, VectorType};
use inkwell::values::{
    BasicMetadataValueEnum, BasicValue, BasicValueEnum, IntValue, MetadataValue, PointerValue, VectorValue,
};
use std::collections::{BTreeMap, BTreeSet};

/// A buffer in the function that is being emitted.
pub(super) struct BufferState<'c> {
    pub place: Storage<'c>,
    /// The address of the `fl_buffer` that describes the buffer.
    pub description: PointerValue<'c>,
    /// Lists of alias scopes: the buffer's own, and all others.
    pub own: MetadataValue<'c>,
    pub others: MetadataValue<'c>,
    /// Whether the buffer is an array of a result's coordinates: these are below their mode's extent, which the kernel has compared with
    /// the range of the element type.
    pub coordinates: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Storage<'c> {
    /// The address and length of an operand.
    Fixed(PointerValue<'c>, IntValue<'c>),
    /// Slots for the address and capacity of a result or workspace.
    Moving(PointerValue<'c>, PointerValue<'c>),
    /// A short workspace in the kernel's frame: it becomes registers once loops over it are unrolled.
    Frame(PointerValue<'c>, u32),
}

/// The most bytes of a workspace in the frame.
const MOST_FRAMED: u64 = 1 << 12;

/// The most bytes of a row for which vectors of half the width leave enough registers for the values that are folded into it. Longer rows
/// use the full width: otherwise LLVM moves every value between registers in each iteration.
const NARROW: u64 = 24 * 32;

/// The alignment of workspaces in the frame, in bytes: a cache line, as a vector that straddles two costs twice.
const LINE: u32 = 64;

/// The fields of `fl_buffer`.
const DATA: u64 = 0;
const LEN: u64 = 1;
const CAPACITY: u64 = 2;

impl<'c> Emitter<'c, '_> {
    /// Loads operands' addresses and lengths, and makes slots for those of other buffers.
    pub(super) fn enter_buffers(&mut self) -> Result<(), Error> {
        let word = self.context.i64_type();
        let address = self.context.ptr_type(Default::default());
        let table = self.function.get_nth_param(1).expect("a kernel has three arguments").into_pointer_value();
        let scopes = self.scopes();
        let framed = framed(self.kernel);
        let mentioned = &self.cuts.mentions(self.home).buffers;
        let coordinates: BTreeSet<BufferId> = self.kernel.arguments.iter().flat_map(coordinates).collect();
        for (place, buffer) in self.kernel.buffers.iter().enumerate() {
            if !mentioned.contains(&BufferId(place as u32)) {
                self.buffers.push(None);
                continue;
            }
            let description = self.element(word.into(), table, word.const_int(3 * place as u64, false))?;
            let storage = if buffer.role == Role::Operand {
                let data = self.field(description, DATA, address.into())?;
                let len = self.field(description, LEN, word.into())?;
                for value in [data, len] {
                    self.annotate(value, "invariant.load", self.context.metadata_node(&[]));
                }
                Storage::Fixed(data.into_pointer_value(), len.into_int_value())
            } else if let Some(len) =
                framed.get(&BufferId(place as u32)).filter(|_| self.is_here(BufferId(place as u32)))
            {
                let array = self.in_memory(buffer.ty).array_type(*len);
                let row = self.builder.build_alloca(array, &buffer.name)?;
                let made = row.as_instruction().expect("an alloca is an instruction");
                made.set_alignment(LINE).expect("a power of two");
                self.align_frame();
                if u64::from(*len) * buffer.ty.bytes() as u64 > NARROW {
                    self.widen();
                }
                Storage::Frame(row, *len)
            } else {
                let slots = (
                    self.builder.build_alloca(address, &buffer.name)?,
                    self.builder.build_alloca(word, &format!("{}_capacity", buffer.name))?,
                );
                self.builder.build_store(slots.0, address.const_null())?;
                self.builder.build_store(slots.1, word.const_zero())?;
                Storage::Moving(slots.0, slots.1)
            };
            let (own, others) = scopes[&BufferId(place as u32)];
            let coordinates = coordinates.contains(&BufferId(place as u32));
            self.buffers.push(Some(BufferState { place: storage, description, own, others, coordinates }));
        }
        match self.home {
            Home::Kernel => Ok(()),
            Home::Part(_) => mentioned.iter().filter(|b| self.moves(**b)).try_for_each(|b| self.refresh(*b)),
        }
    }

    /// Whether no other function sees a workspace: none mentions it, or each thread has a copy.
    fn is_here(&self, b: BufferId) -> bool {
        !self.cuts.shares(b) || self.cuts.owns(self.home, b)
    }

    /// The state of a buffer that the function mentions.
    pub(super) fn buffer(&self, b: BufferId) -> &BufferState<'c> {
        self.buffers[b.0 as usize].as_ref().expect("the function mentions the buffer")
    }

    /// Whether the runtime may move a buffer's memory.
    pub(super) fn moves(&self, b: BufferId) -> bool {
        matches!(self.buffer(b).place, Storage::Moving(..))
    }

    /// Aligns the stack for vectors: arrays of the frame that become registers may be spilled as whole vectors.
    fn align_frame(&self) {
        let aligned = attribute(self.context, "alignstack", LINE.into());
        self.function.add_attribute(AttributeLoc::Function, aligned);
    }

    /// The alias scopes of each buffer that the function mentions: its own, and those of all buffers that it does not overlap.
    pub(super) fn scopes(&self) -> BTreeMap<BufferId, (MetadataValue<'c>, MetadataValue<'c>)> {
        let node = |parts: &[BasicMetadataValueEnum<'c>]| self.context.metadata_node(parts);
        let domain = node(&[self.context.metadata_string(&self.kernel.name).into()]);
        let scope = |name: &str| node(&[self.context.metadata_string(name).into(), domain.into()]);
        let operands = scope("operands");
        let mentioned = &self.cuts.mentions(self.home).buffers;
        let is_operand = |b: &BufferId| self.kernel.buffers[b.0 as usize].role == Role::Operand;
        let made: Vec<(BufferId, MetadataValue)> =
            mentioned.iter().filter(|b| !is_operand(b)).map(|b| (*b, scope(&b.0.to_string()))).collect();
        let of_operand = (node(&[operands.into()]), node(&made.iter().map(|(_, s)| (*s).into()).collect::<Vec<_>>()));
        let of_made = made.iter().map(|(b, own)| {
            let others = made.iter().filter(|(other, _)| other != b).map(|(_, s)| *s);
            let others: Vec<_> = std::iter::once(operands).chain(others).map(BasicMetadataValueEnum::from).collect();
            (*b, (node(&[(*own).into()]), node(&others)))
        });
        mentioned.iter().filter(|b| is_operand(b)).map(|b| (*b, of_operand)).chain(of_made).collect()
    }

    /// Reloads a buffer's address and capacity after the runtime has changed them.
    pub(super) fn refresh(&self, b: BufferId) -> Result<(), Error> {
        let state = self.buffer(b);
        let Storage::Moving(data, capacity) = state.place else {
            return Err(Error::Kernel(format!("{} cannot grow", self.kernel.buffers[b.0 as usize].name)));
        };
        let address = self.field(state.description, DATA, self.context.ptr_type(Default::default()).into())?;
        let room = self.field(state.description, CAPACITY, self.context.i64_type().into())?;
        self.builder.build_store(data, address)?;
        self.builder.build_store(capacity, room)?;
        Ok(())
    }

    fn field(
        &self,
        description: PointerValue<'c>,
        field: u64,
        ty: BasicTypeEnum<'c>,
    ) -> Result<BasicValueEnum<'c>, Error> {
        let word = self.context.i64_type();
        let at = self.element(word.into(), description, word.const_int(field, false))?;
        Ok(self.builder.build_load(ty, at, "")?)
    }

    /// An operand's length, or the number of elements for which another buffer has room.
    pub(super) fn capacity(&self, b: BufferId) -> Result<BasicValueEnum<'c>, Error> {
        match self.buffer(b).place {
            Storage::Fixed(_, len) => Ok(len.into()),
            Storage::Moving(_, capacity) => Ok(self.builder.build_load(self.context.i64_type(), capacity, "")?),
            Storage::Frame(_, len) => Ok(self.i64(len as i64).into()),
        }
    }

    /// Whether a buffer is in the frame, and so needs no allocation.
    pub(super) fn is_framed(&self, b: BufferId) -> bool {
        matches!(self.buffer(b).place, Storage::Frame(..))
    }

    /// Element `index` of a buffer.
    pub(super) fn load(&self, b: BufferId, index: IntValue<'c>) -> Result<Typed<'c>, Error> {
        let ty = self.kernel.buffers[b.0 as usize].ty;
        let (at, _) = self.address(b, index, ty)?;
        self.load_at(b, at)
    }

    /// Element `index` of a buffer where a condition holds, else a constant. This selects between two addresses: a `select` of floats is
    /// a branch on x86, and an unpredictable one in merges of lists.
    pub(super) fn load_or(
        &self,
        condition: IntValue<'c>,
        b: BufferId,
        index: IntValue<'c>,
        otherwise: Value,
    ) -> Result<Typed<'c>, Error> {
        if self.on_device {
            return self.either(condition, || self.load(b, index), || Ok(self.constant(otherwise)));
        }
        let ty = self.kernel.buffers[b.0 as usize].ty;
        let (at, in_memory) = self.address(b, index, ty)?;
        let constant = self.in_constants(otherwise, in_memory);
        let chosen = self.builder.build_select(condition, at, constant, "")?;
        self.load_at(b, chosen.into_pointer_value())
    }

    /// The address of a constant in memory.
    fn in_constants(&self, value: Value, in_memory: BasicTypeEnum<'c>) -> PointerValue<'c> {
        let name = format!("{}_{:x}", value.ty(), value.bits());
        let constant = self.module.get_global(&name).unwrap_or_else(|| {
            let constant = self.module.add_global(in_memory, None, &name);
            match value.ty() {
                Type::Bool => constant.set_initializer(&self.context.i8_type().const_int(value.bits(), false)),
                _ => constant.set_initializer(&self.constant(value).value),
            }
            constant.set_constant(true);
            constant.set_linkage(Linkage::Private);
            constant
        });
        constant.as_pointer_value()
    }

    /// Loads the element at an address in a buffer.
    fn load_at(&self, b: BufferId, at: PointerValue<'c>) -> Result<Typed<'c>, Error> {
        let ty = self.kernel.buffers[b.0 as usize].ty;
        let loaded = self.builder.build_load(self.in_memory(ty), at, "")?;
        self.describe_access(b, loaded, ty);
        if self.kernel.buffers[b.0 as usize].role == Role::Operand {
            self.annotate(loaded, "invariant.load", self.context.metadata_node(&[]));
        }
        let value = if ty == Type::Bool {
            let zero = self.context.i8_type().const_zero();
            self.builder.build_int_compare(inkwell::IntPredicate::NE, loaded.into_int_value(), zero, "")?.into()
        } else {
            loaded
        };
        Ok(Typed { value, ty })
    }

    /// Sets element `index` of a buffer.
    pub(super) fn store(&self, b: BufferId, index: IntValue<'c>, value: BasicValueEnum<'c>) -> Result<(), Error> {
        let ty = self.kernel.buffers[b.0 as usize].ty;
        let (at, _) = self.address(b, index, ty)?;
        let value = match ty {
            Type::Bool => self.builder.build_int_z_extend(value.into_int_value(), self.context.i8_type(), "")?.into(),
            _ => value,
        };
        let store = self.builder.build_store(at, value)?;
        self.describe_instruction(b, store, ty);
        Ok(())
    }

    /// The address of an element.
    pub(super) fn place_of(&self, b: BufferId, index: IntValue<'c>) -> Result<PointerValue<'c>, Error> {
        Ok(self.address(b, index, self.kernel.buffers[b.0 as usize].ty)?.0)
    }

    /// The address of an element, and its type in memory.
    fn address(
        &self,
        b: BufferId,
        index: IntValue<'c>,
        ty: Type,
    ) -> Result<(PointerValue<'c>, BasicTypeEnum<'c>), Error> {
        let base = match self.buffer(b).place {
            Storage::Fixed(data, _) | Storage::Frame(data, _) => data,
            Storage::Moving(data, _) => {
                let address = self.context.ptr_type(Default::default());
                self.builder.build_load(address, data, &self.kernel.buffers[b.0 as usize].name)?.into_pointer_value()
            }
        };
        let in_memory = self.in_memory(ty);
        Ok((self.element(in_memory, base, index)?, in_memory))
    }

    /// The type of a value in memory.
    pub(super) fn in_memory(&self, ty: Type) -> BasicTypeEnum<'c> {
        if ty == Type::Bool { self.context.i8_type().into() } else { self.register(ty) }
    }

    /// The address of element `index` of an array of `ty` at `base`.
    #[allow(unsafe_code)]
    pub(super) fn element(
        &self,
        ty: BasicTypeEnum<'c>,
        base: PointerValue<'c>,
        index: IntValue<'c>,
    ) -> Result<PointerValue<'c>, Error> {
        // SAFETY: one 64-bit index into an array of a sized type is a well-formed instruction.
        Ok(unsafe { self.builder.build_in_bounds_gep(ty, base, &[index], "")? })
    }

    /// The elements of a buffer from `index` on, as a vector.
    pub(super) fn load_lanes(
        &self,
        b: BufferId,
        index: IntValue<'c>,
        lanes: VectorType<'c>,
    ) -> Result<VectorValue<'c>, Error> {
        let loaded = self.builder.build_load(lanes, self.address_of(b, index)?, "")?;
        self.describe_access(b, loaded, self.kernel.buffers[b.0 as usize].ty);
        Ok(loaded.into_vector_value())
    }

    /// The address of an element.
    pub(super) fn address_of(&self, b: BufferId, index: IntValue<'c>) -> Result<PointerValue<'c>, Error> {
        Ok(self.address(b, index, self.kernel.buffers[b.0 as usize].ty)?.0)
    }

    pub(super) fn describe_access(&self, b: BufferId, loaded: BasicValueEnum<'c>, ty: Type) {
        if let Some(instruction) = loaded.as_instruction_value() {
            self.describe_instruction(b, instruction, ty);
        }
    }

    fn describe_instruction(&self, b: BufferId, access: inkwell::values::InstructionValue<'c>, ty: Type) {
        let state = self.buffer(b);
        // Both fail only for instructions that access no memory.
        let _ = access.set_alignment(ty.bytes() as u32);
        let _ = access.set_metadata(state.own, self.context.get_kind_id("alias.scope"));
        if state.others.get_node_size() != Some(0) {
            let _ = access.set_metadata(state.others, self.context.get_kind_id("noalias"));
        }
        if let Some(id) = self.independent {
            let _ = access.set_metadata(id, self.context.get_kind_id("llvm.mem.parallel_loop_access"));
        }
    }

    /// Adds metadata to the instruction that made a value.
    pub(super) fn annotate(&self, value: BasicValueEnum<'c>, kind: &str, node: MetadataValue<'c>) {
        if let Some(instruction) = value.as_instruction_value() {
            // This fails only for an invalid node.
            let _ = instruction.set_metadata(node, self.context.get_kind_id(kind));
        }
    }

    /// The identity of a loop with `hints`: a metadata node whose first operand is itself.
    #[allow(unsafe_code)]
    pub(super) fn loop_id(&self, hints: &[MetadataValue<'c>]) -> MetadataValue<'c> {
        use inkwell::llvm_sys::core::{LLVMReplaceMDNodeOperandWith, LLVMValueAsMetadata};
        use inkwell::values::AsValueRef;
        let parts = std::iter::once(self.context.metadata_node(&[])).chain(hints.iter().copied());
        let id = self.context.metadata_node(&parts.map(BasicMetadataValueEnum::from).collect::<Vec<_>>());
        // SAFETY: the node lives as long as the context, and has a first part.
        unsafe { LLVMReplaceMDNodeOperandWith(id.as_value_ref(), 0, LLVMValueAsMetadata(id.as_value_ref())) };
        id
    }
}

/// The arrays of a result's coordinates.
fn coordinates(argument: &Argument) -> Vec<BufferId> {
    let levels = argument.levels.iter().filter(|_| !argument.operand);
    levels.filter_map(|level| level.array(Holds::Coordinates)).collect()
}

/// The lengths of the workspaces that may be in the frame.
fn framed(kernel: &Kernel) -> BTreeMap<BufferId, u32> {
    let mut lengths = BTreeMap::new();
    each_entry(&kernel.body, &mut |entry| {
        let length = match entry {
            Entry::Alloc { buffer, len: Expr::Const(n), fill: None } => {
                let bytes = n.bits().saturating_mul(kernel.buffers[buffer.0 as usize].ty.bytes() as u64);
                (1..=MOST_FRAMED).contains(&bytes).then_some(n.bits() as u32)
            }
            _ => None,
        };
        for buffer in entry.buffers() {
            lengths.entry(buffer).and_modify(|known| *known = None).or_insert(length);
        }
    });
    let workspace = |b: &BufferId| kernel.buffers[b.0 as usize].role == Role::Workspace;
    lengths.into_iter().filter(|(b, _)| workspace(b)).filter_map(|(b, n)| Some((b, n?))).collect()
}

fn each_entry(block: &[Stmt], f: &mut impl FnMut(&Entry)) {
    for stmt in block {
        match stmt {
            Stmt::Call(entry) => f(entry),
            _ => stmt.blocks().for_each(|block| each_entry(block, f)),
        }
    }
}
