//! Loops to LLVM IR: one function a kernel.
//!
//! ```text
//!  entry:   operands' addresses and lengths, params          loaded once; they never change
//!           slots of mutable variables, of results' and      allocas: registers once `mem2reg` has run
//!           workspaces' addresses and capacities
//!  …        the body; after Alloc and Reserve of a buffer    its address and capacity are read anew
//!  stop:    returns the code of a failure
//! ```
//!
//! Invariants: `bool` is `i1` in registers and a byte that is 0 or 1 in memory. A variable that is never `Set` is an SSA
//! value. Each access to memory says which buffer it is to (`memory.rs`), so that LLVM knows what cannot overlap. Nothing
//! that is emitted traps: divisors, shifts and conversions are guarded where they are not constant.

mod among;
mod call;
mod convert;
mod expression;
mod few;
mod float;
mod gather;
mod integer;
mod lanes;
mod memory;
mod network;
mod prefetch;
mod scatter;
mod statement;

use crate::Error;
use crate::abi::Slot;
use crate::target::Machine;
use fiberloom_core::algebra::Type;
use fiberloom_core::loops::{Kernel, Stmt, Var};
use gather::Fibers;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::types::{BasicMetadataTypeEnum, BasicTypeEnum, FloatType, IntType};
use inkwell::values::{BasicValueEnum, FunctionValue, IntValue, MetadataValue, PointerValue};
use memory::BufferState;

/// The attribute by which a function says how wide vectors had better be, in bits.
const WIDTH: &str = "prefer-vector-width";

/// A value of the loop language in a register, with its type there (LLVM's integers have no sign).
#[derive(Clone, Copy)]
struct Typed<'c> {
    value: BasicValueEnum<'c>,
    ty: Type,
}

/// Where a variable lives.
#[derive(Clone, Copy)]
enum Place<'c> {
    /// Not defined yet.
    Nowhere,
    /// Defined once in its scope.
    Register(BasicValueEnum<'c>),
    /// Set more than once.
    Slot(PointerValue<'c>),
}

/// The state of emitting one kernel.
struct Emitter<'c, 'k> {
    context: &'c Context,
    module: Module<'c>,
    builder: Builder<'c>,
    function: FunctionValue<'c>,
    kernel: &'k Kernel,
    vars: Vec<Place<'c>>,
    buffers: Vec<BufferState<'c>>,
    /// The block that returns a failure's code, and the slot in which that is put.
    stop: (BasicBlock<'c>, PointerValue<'c>),
    /// Whether LLVM selects instructions in its fast way.
    is_fast: bool,
    /// Whether the machine reads those elements of a vector that a mask says.
    reads_masked: bool,
    /// Whether to gather lanes is as fast as to read them one by one.
    gathers_fast: bool,
    /// Fibers whose length was asked for around the outermost loop, and whether they are long.
    decided: Option<(Fibers, bool)>,
    /// The loop whose turns' accesses are independent, while its body is emitted.
    independent: Option<MetadataValue<'c>>,
    /// Whether the innermost loop does not count: data say how it goes on.
    is_merge: bool,
    /// How many loops stand around.
    loops: usize,
}

/// The module of `kernel`, verified, its function called `symbol`; not optimized.
pub(crate) fn module<'c>(
    context: &'c Context,
    kernel: &Kernel,
    symbol: &str,
    machine: &Machine,
) -> Result<Module<'c>, Error> {
    let mut emitter = Emitter::begin(context, kernel, symbol, machine)?;
    emitter.block(&kernel.body)?;
    emitter.end()
}

impl<'c, 'k> Emitter<'c, 'k> {
    fn begin(context: &'c Context, kernel: &'k Kernel, symbol: &str, machine: &Machine) -> Result<Self, Error> {
        let module = context.create_module(&kernel.name);
        module.set_triple(&machine.machine.get_triple());
        module.set_data_layout(&machine.machine.get_target_data().get_data_layout());
        let pointer = BasicMetadataTypeEnum::from(context.ptr_type(Default::default()));
        let ty = context.i32_type().fn_type(&[pointer; 3], false);
        let function = module.add_function(symbol, ty, None);
        describe_function(context, function, kernel, machine);
        let builder = context.create_builder();
        let entry = context.append_basic_block(function, "entry");
        let stop = context.append_basic_block(function, "stop");
        builder.position_at_end(entry);
        let code = builder.build_alloca(context.i32_type(), "code")?;
        builder.position_at_end(stop);
        builder.build_return(Some(&builder.build_load(context.i32_type(), code, "")?))?;
        builder.position_at_end(entry);
        let vars = vec![Place::Nowhere; kernel.vars.len()];
        let stop = (stop, code);
        let mut emitter = Emitter {
            context,
            module,
            builder,
            function,
            kernel,
            vars,
            buffers: Vec::new(),
            stop,
            is_fast: machine.selects_fast(),
            reads_masked: machine.reads_masked(),
            gathers_fast: machine.gathers_fast(),
            decided: None,
            independent: None,
            is_merge: false,
            loops: 0,
        };
        emitter.enter()?;
        Ok(emitter)
    }

    /// The entry block: params, slots, buffers.
    fn enter(&mut self) -> Result<(), Error> {
        let mut mutable = vec![false; self.kernel.vars.len()];
        mark_set(&self.kernel.body, &mut mutable);
        for (var, (name, ty)) in self.kernel.vars.iter().enumerate() {
            if mutable[var] {
                let slot = self.builder.build_alloca(self.register(*ty), name)?;
                self.builder.build_store(slot, self.register(*ty).const_zero())?;
                self.vars[var] = Place::Slot(slot);
            }
        }
        self.enter_params()?;
        self.enter_buffers()
    }

    fn enter_params(&mut self) -> Result<(), Error> {
        let params = self.function.get_nth_param(2).expect("a kernel has three arguments").into_pointer_value();
        let word = self.context.i64_type();
        let not_negative =
            self.context.metadata_node(&[word.const_zero().into(), word.const_int(1 << 63, false).into()]);
        for (place, var) in self.kernel.params.iter().enumerate() {
            let at = self.element(word.into(), params, word.const_int(place as u64, false))?;
            let value = self.builder.build_load(word, at, &self.kernel.vars[var.0 as usize].0)?;
            self.annotate(value, "range", not_negative);
            self.annotate(value, "invariant.load", self.context.metadata_node(&[]));
            match self.vars[var.0 as usize] {
                Place::Slot(slot) => {
                    self.builder.build_store(slot, value)?;
                }
                _ => self.vars[var.0 as usize] = Place::Register(value),
            }
        }
        Ok(())
    }

    /// Ends the function and checks what was made.
    fn end(self) -> Result<Module<'c>, Error> {
        self.builder.build_return(Some(&self.context.i32_type().const_zero()))?;
        self.module.verify().map_err(|e| Error::Llvm(e.to_string()))?;
        Ok(self.module)
    }

    /// The type of a value of type `ty` in a register.
    fn register(&self, ty: Type) -> BasicTypeEnum<'c> {
        if ty.is_float() { self.float(ty).into() } else { self.integer(ty).into() }
    }

    /// The type of an integer or `bool` in a register.
    fn integer(&self, ty: Type) -> IntType<'c> {
        match ty.bits() {
            1 => self.context.bool_type(),
            8 => self.context.i8_type(),
            16 => self.context.i16_type(),
            32 => self.context.i32_type(),
            _ => self.context.i64_type(),
        }
    }

    fn float(&self, ty: Type) -> FloatType<'c> {
        if ty == Type::F32 { self.context.f32_type() } else { self.context.f64_type() }
    }

    /// Lets vectors be as wide as the machine has them. LLVM takes half of that, for processors that slow down otherwise.
    fn widen(&self) {
        say(self.context, self.function, WIDTH, "512");
    }

    /// Holds vectors to half of that, unless the kernel needs them whole: nearly each store of one that begins anywhere is in two lines.
    fn narrow(&self) {
        if self.function.get_string_attribute(AttributeLoc::Function, WIDTH).is_none() {
            say(self.context, self.function, WIDTH, "256");
            say(self.context, self.function, "min-legal-vector-width", "0");
        }
    }

    fn i64(&self, x: i64) -> IntValue<'c> {
        self.context.i64_type().const_int(x as u64, true)
    }

    /// A new block at the end of the function.
    fn new_block(&self, name: &str) -> BasicBlock<'c> {
        self.context.insert_basic_block_after(self.here(), name)
    }

    /// The block that is being written.
    fn here(&self) -> BasicBlock<'c> {
        self.builder.get_insert_block().expect("the builder always stands in a block")
    }

    fn name(&self, var: Var) -> &'k str {
        &self.kernel.vars[var.0 as usize].0
    }
}

/// An attribute that LLVM knows by this name.
fn attribute(context: &Context, name: &str, value: u64) -> Attribute {
    context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), value)
}

/// Gives a function an attribute.
fn say(context: &Context, function: FunctionValue, name: &str, value: &str) {
    function.add_attribute(AttributeLoc::Function, context.create_string_attribute(name, value));
}

/// The function's attributes: its CPU, and what is known of its arguments.
fn describe_function(context: &Context, function: FunctionValue, kernel: &Kernel, machine: &Machine) {
    let flag = |name: &str, value: u64| attribute(context, name, value);
    say(context, function, "target-cpu", &machine.cpu);
    if !machine.features.is_empty() {
        say(context, function, "target-features", &machine.features);
    }
    function.add_attribute(AttributeLoc::Function, flag("nounwind", 0));
    let bytes = [8 * Slot::ALL.len(), 24 * kernel.buffers.len(), 8 * kernel.params.len()];
    for (place, (bytes, name)) in bytes.into_iter().zip(["rt", "buffers", "params"]).enumerate() {
        let loc = AttributeLoc::Param(place as u32);
        function.add_attribute(loc, flag("noundef", 0));
        function.add_attribute(loc, flag("align", 8));
        if bytes > 0 {
            function.add_attribute(loc, flag("dereferenceable", bytes as u64));
        }
        if let Some(argument) = function.get_nth_param(place as u32) {
            argument.set_name(name);
        }
    }
}

/// Marks the variables that some statement sets.
fn mark_set(block: &[Stmt], mutable: &mut [bool]) {
    for stmt in block {
        match stmt {
            Stmt::Set(var, _) => mutable[var.0 as usize] = true,
            Stmt::If(_, yes, no) => {
                mark_set(yes, mutable);
                mark_set(no, mutable);
            }
            Stmt::While(_, body) | Stmt::For { body, .. } => mark_set(body, mutable),
            Stmt::Let(..) | Stmt::Store(..) | Stmt::Call(_) | Stmt::Comment(_) => {}
        }
    }
}
