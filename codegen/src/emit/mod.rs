//! Emits loops as LLVM IR: one function per kernel, and one for each part of a long kernel (`parts.rs`).
//!
//! ```text
//!  entry:   operands' addresses and lengths, params          loaded once; they never change
//!           slots of mutable variables, of results' and      allocas: registers once `mem2reg` has run
//!           workspaces' addresses and capacities
//!  …        the body; after Alloc, Reserve and Move          the buffer's address and capacity are read anew
//!  stop:    returns the code of a failure
//! ```
//!
//! Invariants: `bool` is `i1` in registers and a byte 0 or 1 in memory. A variable that is never `Set` is an SSA value. Each memory
//! access carries its buffer's scope (`memory.rs`), so that LLVM knows which accesses cannot overlap. No emitted instruction traps:
//! divisors, shifts and conversions are guarded where they are not constant.

mod among;
mod call;
mod convert;
pub(crate) mod device;
pub(crate) mod elementary;
mod expression;
mod few;
mod float;
mod gather;
mod integer;
mod interrupt;
mod lanes;
mod memory;
mod network;
mod parallel;
mod parts;
mod prefetch;
mod scatter;
mod statement;

use crate::abi::Slot;
use crate::target::Machine;
use crate::{Error, Options};
use fiberloom_core::algebra::Type;
use fiberloom_loops::{Folded, Hand, Join, Kernel, Stmt, Var};
use gather::Fibers;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::types::{BasicMetadataTypeEnum, BasicTypeEnum, FloatType, IntType};
use inkwell::values::{BasicValueEnum, FunctionValue, IntValue, MetadataValue, PointerValue};
use memory::BufferState;
use parts::{Cuts, Home, Part};
use std::cell::Cell;

/// The function attribute for the preferred vector width, in bits.
const WIDTH: &str = "prefer-vector-width";

/// A value of the loop language in a register, with its type (LLVM's integers have no sign).
#[derive(Clone, Copy)]
struct Typed<'c> {
    value: BasicValueEnum<'c>,
    ty: Type,
}

/// The place of a variable.
#[derive(Clone, Copy)]
enum Place<'c> {
    /// Not defined yet.
    Nowhere,
    /// A value that is defined once in its scope.
    Register(BasicValueEnum<'c>),
    /// A variable that is set more than once.
    Slot(PointerValue<'c>),
}

/// A kernel that is emitted as a module: the state that all of its functions share.
#[derive(Clone, Copy)]
struct Unit<'c, 'k> {
    context: &'c Context,
    module: &'k Module<'c>,
    kernel: &'k Kernel,
    /// The name of the kernel's own function.
    symbol: &'k str,
    cuts: &'k Cuts<'k>,
    machine: &'k Machine,
    /// Whether outer loops test the interrupt.
    interruptible: bool,
}

/// The state of emitting one function of a kernel.
struct Emitter<'c, 'k> {
    context: &'c Context,
    module: &'k Module<'c>,
    builder: Builder<'c>,
    function: FunctionValue<'c>,
    kernel: &'k Kernel,
    /// The name of the kernel's own function.
    symbol: &'k str,
    cuts: &'k Cuts<'k>,
    /// The kernel's function that is being emitted.
    home: Home,
    /// The frame, with a word for each variable that functions share, if there are parts.
    frame: Option<PointerValue<'c>>,
    vars: Vec<Place<'c>>,
    /// The state of each buffer; `None` if the function does not mention it.
    buffers: Vec<Option<BufferState<'c>>>,
    /// The block that returns a failure's code, and the slot that holds the code.
    stop: (BasicBlock<'c>, PointerValue<'c>),
    /// Whether LLVM uses its fast instruction selection.
    is_fast: bool,
    /// Whether the machine has fused multiply-add.
    fuses: bool,
    /// Whether the machine has masked vector loads.
    reads_masked: bool,
    /// Whether gathering lanes is as fast as loading them one by one.
    gathers_fast: bool,
    /// The fibers whose average length was tested around the outermost loop, and whether this copy of the loop is for long ones.
    decided: Option<(Fibers, bool)>,
    /// The identity of the loop whose iterations access memory independently, while its body is emitted.
    independent: Option<MetadataValue<'c>>,
    /// Whether the innermost loop is a `while`, whose branches depend on data.
    is_merge: bool,
    /// Whether the innermost loop is counted and contains no other.
    is_innermost: bool,
    /// The number of calls of elementary functions inlined so far.
    inlined: Cell<usize>,
    /// The number of loops around, without blocks of the program.
    loops: usize,
    /// Whether outer loops test the interrupt.
    interruptible: bool,
    /// The address of the interrupt's byte.
    interrupt: Option<PointerValue<'c>>,
    /// Whether the function is a kernel of a device (`device.rs`).
    on_device: bool,
    /// The folds over the lanes of a warp, of a kernel of a device.
    joins: &'k [Join],
    /// The values that a lane of a warp takes from another, of a kernel of a device.
    hands: &'k [Hand],
    /// The arrays into whose elements threads fold at once, of a kernel of a device.
    atomics: &'k [Folded],
    /// Where failures are reported by threads that go on behind them.
    reports: Option<device::Reports<'c>>,
    /// The variable that is set where the threads of a block wait for one another, of a kernel of a device.
    meet: Option<Var>,
}

/// The module of `kernel`, verified and not optimized. Its function is called `symbol`; it is cut into parts as the options say.
pub(crate) fn module<'c>(
    context: &'c Context,
    kernel: &Kernel,
    symbol: &str,
    (machine, options): (&Machine, &Options),
) -> Result<Module<'c>, Error> {
    let module = context.create_module(&kernel.name);
    module.set_triple(&machine.machine.get_triple());
    module.set_data_layout(&machine.machine.get_target_data().get_data_layout());
    let cuts = Cuts::of(kernel, options.long);
    let interruptible = options.interruptible;
    let unit = Unit { context, module: &module, kernel, symbol, cuts: &cuts, machine, interruptible };
    for (n, part) in cuts.parts.iter().enumerate() {
        let mut emitter = Emitter::begin(unit, Home::Part(n))?;
        emitter.enter_shared()?;
        match part {
            Part::Statements(statements) => {
                emitter.block(statements)?;
                emitter.leave_shared()?;
            }
            Part::Turns(stmt) => {
                emitter.some_turns(stmt)?;
                parallel::define_folds(unit, n, stmt)?;
            }
        }
        emitter.end()?;
    }
    let mut emitter = Emitter::begin(unit, Home::Kernel)?;
    emitter.block(&kernel.body)?;
    emitter.end()?;
    module.verify().map_err(|e| Error::Llvm(e.to_string()))?;
    Ok(module)
}

impl<'c, 'k> Emitter<'c, 'k> {
    fn begin(unit: Unit<'c, 'k>, home: Home) -> Result<Self, Error> {
        let mut emitter = Emitter::open(unit, home, declare(unit, home))?;
        let (stop, code) = emitter.stop;
        let entry = emitter.here();
        emitter.builder.position_at_end(stop);
        let returned = emitter.builder.build_load(emitter.context.i32_type(), code, "")?;
        emitter.builder.build_return(Some(&returned))?;
        emitter.builder.position_at_end(entry);
        emitter.enter()?;
        Ok(emitter)
    }

    /// The state at the beginning of a function: blocks for its entry, and for its end after a failure, which is empty.
    fn open(unit: Unit<'c, 'k>, home: Home, function: FunctionValue<'c>) -> Result<Self, Error> {
        let Unit { context, module, kernel, symbol, cuts, machine, interruptible } = unit;
        let builder = context.create_builder();
        let entry = context.append_basic_block(function, "entry");
        let stop = context.append_basic_block(function, "stop");
        builder.position_at_end(entry);
        let code = builder.build_alloca(context.i32_type(), "code")?;
        let vars = vec![Place::Nowhere; kernel.vars.len()];
        let stop = (stop, code);
        Ok(Emitter {
            context,
            module,
            builder,
            function,
            kernel,
            symbol,
            cuts,
            home,
            frame: None,
            vars,
            buffers: Vec::new(),
            stop,
            is_fast: machine.selects_fast(),
            fuses: machine.fuses(),
            reads_masked: machine.reads_masked(),
            gathers_fast: machine.gathers_fast(),
            decided: None,
            independent: None,
            is_merge: false,
            is_innermost: false,
            inlined: Cell::new(0),
            loops: 0,
            interruptible,
            interrupt: None,
            on_device: machine.is_device(),
            joins: &[],
            hands: &[],
            atomics: &[],
            reports: None,
            meet: None,
        })
    }

    /// Emits the entry block: params, slots, buffers.
    fn enter(&mut self) -> Result<(), Error> {
        self.frame = match self.home {
            Home::Part(_) => self.function.get_nth_param(3).map(|frame| frame.into_pointer_value()),
            Home::Kernel if self.cuts.parts.is_empty() => None,
            Home::Kernel => {
                let words = self.cuts.shared.len() as u64 + self.cuts.words;
                let words = self.context.i64_type().array_type(words as u32);
                Some(self.builder.build_alloca(words, "frame")?)
            }
        };
        let mut mutable = vec![false; self.kernel.vars.len()];
        mark_set(&self.kernel.body, &mut mutable);
        for var in &self.cuts.mentions(self.home).vars {
            if self.home == Home::Kernel
                && let Some(word) = self.word_of(*var)?
            {
                self.vars[var.0 as usize] = Place::Slot(word);
            } else if mutable[var.0 as usize] {
                let ty = self.register(self.type_of(*var));
                let slot = self.builder.build_alloca(ty, self.name(*var))?;
                self.builder.build_store(slot, ty.const_zero())?;
                self.vars[var.0 as usize] = Place::Slot(slot);
            }
        }
        self.enter_params()?;
        self.enter_interrupt()?;
        self.enter_buffers()
    }

    fn enter_params(&mut self) -> Result<(), Error> {
        let params = self.function.get_nth_param(2).expect("a kernel has three arguments").into_pointer_value();
        let word = self.context.i64_type();
        let not_negative =
            self.context.metadata_node(&[word.const_zero().into(), word.const_int(1 << 63, false).into()]);
        let mentioned = &self.cuts.mentions(self.home).vars;
        for (place, var) in self.kernel.params.iter().enumerate().filter(|(_, var)| mentioned.contains(var)) {
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

    /// Emits the function's end.
    fn end(self) -> Result<(), Error> {
        self.builder.build_return(Some(&self.context.i32_type().const_zero()))?;
        Ok(())
    }

    /// The type of a variable.
    fn type_of(&self, var: Var) -> Type {
        self.kernel.vars[var.0 as usize].1
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

    /// Makes LLVM prefer vectors of the machine's full width. Its default is half of it, since some processors slow down.
    fn widen(&self) {
        say(self.context, self.function, WIDTH, "512");
    }

    /// Makes LLVM prefer vectors of half the width, unless the kernel needs the full one: nearly every unaligned store of a full vector
    /// straddles two cache lines.
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

    /// The current block.
    fn here(&self) -> BasicBlock<'c> {
        self.builder.get_insert_block().expect("the builder always stands in a block")
    }

    fn name(&self, var: Var) -> &'k str {
        &self.kernel.vars[var.0 as usize].0
    }
}

/// The LLVM attribute with this name and value.
fn attribute(context: &Context, name: &str, value: u64) -> Attribute {
    context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), value)
}

/// Adds an attribute to a function.
fn say(context: &Context, function: FunctionValue, name: &str, value: &str) {
    function.add_attribute(AttributeLoc::Function, context.create_string_attribute(name, value));
}

/// Declares a kernel's function, or a part's, which has the frame as a fourth argument and internal linkage. A part that runs iterations of
/// a loop has the first one, and one past the last, as further arguments.
fn declare<'c>(unit: Unit<'c, '_>, home: Home) -> FunctionValue<'c> {
    let Unit { context, module, kernel, symbol, cuts, machine, .. } = unit;
    let pointer = BasicMetadataTypeEnum::from(context.ptr_type(Default::default()));
    let (name, arguments, linkage) = match home {
        Home::Kernel => (symbol.to_string(), 3, None),
        Home::Part(part) => (parts::name(symbol, part), 4, Some(Linkage::Internal)),
    };
    let mut arguments = vec![pointer; arguments];
    if cuts.is_turns(home) {
        arguments.extend([BasicMetadataTypeEnum::from(context.i64_type()); 2]);
    }
    let ty = context.i32_type().fn_type(&arguments, false);
    let function = module.add_function(&name, ty, linkage);
    describe_function(context, function, kernel, machine);
    if let Home::Part(_) = home {
        describe_argument(context, function, 3, 8 * cuts.shared.len(), "frame");
        function.add_attribute(AttributeLoc::Param(3), attribute(context, "noalias", 0));
    }
    function
}

/// Sets the function's attributes: its CPU, and properties of its arguments.
fn describe_function(context: &Context, function: FunctionValue, kernel: &Kernel, machine: &Machine) {
    say(context, function, "target-cpu", &machine.cpu);
    if !machine.features.is_empty() {
        say(context, function, "target-features", &machine.features);
    }
    function.add_attribute(AttributeLoc::Function, attribute(context, "nounwind", 0));
    describe_argument(context, function, 0, 8 * Slot::ALL.len(), "rt");
    describe_argument(context, function, 1, 24 * kernel.buffers.len(), "buffers");
    describe_argument(context, function, 2, 8 * kernel.params.len(), "params");
}

/// Sets the attributes of an argument that is the address of this many bytes.
fn describe_argument(context: &Context, function: FunctionValue, place: u32, bytes: usize, name: &str) {
    let loc = AttributeLoc::Param(place);
    function.add_attribute(loc, attribute(context, "noundef", 0));
    function.add_attribute(loc, attribute(context, "align", 8));
    if bytes > 0 {
        function.add_attribute(loc, attribute(context, "dereferenceable", bytes as u64));
    }
    if let Some(argument) = function.get_nth_param(place) {
        argument.set_name(name);
    }
}

/// Marks the variables that any statement sets.
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
