//! Kernels: compiled programs, called on tensors.
//!
//! ```text
//!  Program ──compile──▶ Kernel ──bind: operands fit; extents solved, code for their index widths──▶ Call
//!                          ▲                                                                        │ run
//!                          └──────────── cache, keyed by what a kernel was compiled from      Outcome: results
//! ```
//!
//! What is done when: invariants of a [`Tensor`] at each `bind`, those of a [`Checked`] one never again; types, formats
//! and extents at each `bind`; extents are solved and code is looked up where they are not those of the bind before;
//! results are checked after each run if [`Options::verify`] says so.
//!
//! Invariants: a call holds operands that passed [`Tensor::check`] and fit their declarations and each other. If a
//! result outgrows 32-bit indices the kernel is compiled for 64 bits and run again.

mod operand;
mod outcome;
mod outside;
mod plan;
mod size;
mod warm;

pub use operand::Operand;
pub use outcome::Outcome;
pub use warm::Shape;

use crate::cache::{Code, Prepared, Stop};
use crate::clock::Instant;
use crate::error::Error;
use crate::machine::{self, Interrupt, Take};
use crate::program::{ByPieces, ByRow, Program, Rows, Shares};
use crate::relation::Relations;
use fiberloom_core::algebra::Mode;
use fiberloom_core::counted;
use fiberloom_core::format::{self, Assembly, Entries, Format, Malformed, Tensor, room};
use fiberloom_core::iteration::Thin;
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::spell::Planned;
use fiberloom_core::notation::typed::{self, TensorId};
use fiberloom_core::shape::{self, Extents, Unsolved};
use fiberloom_loops::Widths;
use fiberloom_loops::{self as loops, Bound, Failure};
use fiberloom_lower::Lowered;
use fiberloom_semantics::algebra::{Agreement, agree};
use fiberloom_semantics::meaning::{self, Function, Limits, Refusal};
use outside::outside;
use plan::{Expected, Last, Plan};
use size::Sizes;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What evaluates a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Engine {
    /// Machine code: the default of a build that has the feature `llvm`.
    #[cfg_attr(feature = "llvm", default)]
    Llvm,
    /// The interpreter of loops: checks every access and counts operations.
    #[cfg_attr(not(feature = "llvm"), default)]
    Loops,
    /// The same, but for parallel loops, which run as code for a GPU on a machine of ours: it checks every access, and counts.
    Ptx,
    /// The same, with parallel loops on an NVIDIA GPU, by its driver. What runs there is not checked while it does.
    Nvptx,
    /// The reference semantics: slow, and right by definition.
    Meaning,
}

impl Engine {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Llvm => "llvm",
            Engine::Loops => "loops",
            Engine::Ptx => "ptx",
            Engine::Nvptx => "nvptx",
            Engine::Meaning => "meaning",
        }
    }
}

impl Engine {
    /// Whether parallel loops are code for a GPU.
    pub fn is_gpu(self) -> bool {
        matches!(self, Engine::Ptx | Engine::Nvptx)
    }
}

impl std::str::FromStr for Engine {
    type Err = String;

    fn from_str(name: &str) -> Result<Engine, String> {
        match name {
            "llvm" => Ok(Engine::Llvm),
            "loops" => Ok(Engine::Loops),
            "meaning" => Ok(Engine::Meaning),
            "ptx" | "device" => Ok(Engine::Ptx),
            "nvptx" => Ok(Engine::Nvptx),
            _ => Err(format!("`{name}` is no engine: llvm, loops, ptx, nvptx or meaning expected")),
        }
    }
}

/// The bytes that an entry of a function takes in the reference semantics, and what is copied of it meanwhile.
const KEPT: u64 = 256;

/// Steps in which the meaning of every coordinate is found by itself; with more coordinates, what is stored is followed.
const POINTWISE: u64 = 1 << 22;

/// How a program is compiled and run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Options {
    /// What evaluates it.
    pub engine: Engine,
    /// How floats are understood.
    pub mode: Mode,
    /// The most bytes that one call may allocate.
    pub memory: u64,
    /// The most steps that the interpreter and the reference semantics take.
    pub steps: u64,
    /// Whether results are checked against their formats' invariants after each run, which reads them once more. A
    /// malformed result is a defect of the compiler. It costs nothing where results are dense, a quarter more for a product of
    /// sparse matrices, up to several times the call where a result is copied through or hashed. On in builds with debug
    /// assertions, off in others; `fiberloom run` asks for it always, and [`Call::agrees`] checks results in any case.
    pub verify: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            engine: Engine::default(),
            mode: Mode::Algebraic,
            memory: 1 << 40,
            steps: 1 << 36,
            verify: cfg!(debug_assertions),
        }
    }
}

/// A compiled program.
#[derive(Clone, Debug)]
pub struct Kernel {
    program: Program,
    options: Options,
    last: Last,
    /// If its commands depend on operands.
    by_data: Option<Arc<ByData>>,
}

/// Kernels of a program without commands, by how long the rows of its operands are.
#[derive(Debug)]
struct ByData {
    program: Program,
    asked: Asked,
    made: Mutex<BTreeMap<Known, Kernel>>,
}

/// What is asked of data.
#[derive(Debug)]
enum Asked {
    /// For a GPU: how long the rows of matrices are, and whether statements are to run in these pieces.
    Gpu(Vec<ByRow>, Vec<ByPieces>),
    /// For threads: whether statements are to run in these pieces.
    Pieces(Vec<ByPieces>),
}

/// What data say of statements; nothing of usual ones.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    /// Of each statement, what is known of a matrix's rows, and which of the pieces are asked for: the numbers in the list of all.
    Gpu(BTreeMap<usize, Rows>, Vec<usize>),
    Pieces(Vec<usize>),
}

/// Of each statement, the pieces that operands ask for most: their numbers.
fn asked(pieces: &[ByPieces], operands: &BTreeMap<TensorId, Operand>) -> Vec<usize> {
    let mut most: BTreeMap<usize, (u64, usize)> = BTreeMap::new();
    for (n, by) in pieces.iter().enumerate() {
        let Some(asked) = by.asked(operands) else { continue };
        let known = most.entry(by.statement).or_insert((asked, n));
        *known = (*known).max((asked, n));
    }
    most.into_values().map(|(_, n)| n).collect()
}

impl ByData {
    fn of(program: Program, asked: Asked) -> Option<Arc<ByData>> {
        let is_any = match &asked {
            Asked::Gpu(matrices, pieces) => !(matrices.is_empty() && pieces.is_empty()),
            Asked::Pieces(pieces) => !pieces.is_empty(),
        };
        is_any.then(|| Arc::new(ByData { program, asked, made: Mutex::default() }))
    }

    /// The kernel for operands that are no usual ones, under these options.
    fn on(&self, operands: &BTreeMap<TensorId, Operand>, options: Options) -> Option<Kernel> {
        let mode = options.mode;
        match &self.asked {
            Asked::Gpu(matrices, pieces) => {
                let of = |by: &ByRow| Some((by.statement, by.rows(operands.get(&by.matrix)?.tensor())?));
                let rows: BTreeMap<usize, Rows> = matrices.iter().filter_map(of).collect();
                let found = asked(pieces, operands);
                let in_pieces = || self.program.on_device().by_pieces_on(mode, found.iter().map(|n| &pieces[*n]));
                let told = || in_pieces().for_gpu_on(mode, &rows);
                let is_any = !(rows.is_empty() && found.is_empty());
                is_any.then(|| self.kernel(Known::Gpu(rows.clone(), found.clone()), options, told))
            }
            Asked::Pieces(pieces) => {
                let found = asked(pieces, operands);
                let told = || self.program.by_pieces_on(mode, found.iter().map(|n| &pieces[*n]));
                (!found.is_empty()).then(|| self.kernel(Known::Pieces(found.clone()), options, told))
            }
        }
    }

    /// The kernel for what data say, of this program where it is the first.
    fn kernel(&self, known: Known, options: Options, told: impl FnOnce() -> Program) -> Kernel {
        let new = || Kernel { program: told(), options, last: Last::default(), by_data: None };
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(known).or_insert_with(new).clone().within(options.memory)
    }
}

impl Kernel {
    pub(crate) fn new(program: Program, options: &Options) -> Result<Kernel, Error> {
        let of = |program, by_data| Kernel { program, options: *options, last: Last::default(), by_data };
        let Options { engine, mode, .. } = *options;
        // Whatever is not lowered is refused before there are data.
        match engine {
            Engine::Meaning => {
                program.is_legal(mode)?;
                return Ok(of(program, None));
            }
            Engine::Loops => drop(program.lowers(mode)?),
            Engine::Llvm => {
                program.lowers(mode)?;
                machine::is_there()?;
                program.takes_machine_code()?;
            }
            Engine::Ptx | Engine::Nvptx => {
                let told = program.for_gpu(mode);
                told.lowers(mode)?;
                let rows = program.by_row();
                let is_by_row =
                    |by: &ByPieces| rows.iter().any(|row| row.statement == by.statement && row.has_pieces());
                let pieces = program.by_pieces(Shares::GPU).into_iter().filter(|by| !is_by_row(by)).collect();
                let asked = Asked::Gpu(rows, pieces);
                return Ok(of(told, ByData::of(program, asked)));
            }
        }
        let asked = Asked::Pieces(program.by_pieces(Shares::THREADS));
        Ok(of(program.clone(), ByData::of(program, asked)))
    }

    /// The kernel for these operands: it has other commands where rows are of very different lengths, and for a GPU where they are very short.
    fn on(&self, operands: &BTreeMap<TensorId, Operand>) -> Kernel {
        let of = |by_data: &Arc<ByData>| by_data.on(operands, self.options);
        self.by_data.as_ref().and_then(of).unwrap_or_else(|| self.clone())
    }

    /// The same with another limit on the bytes that one call may allocate, in the place of [`Options::memory`].
    #[must_use]
    pub fn within(mut self, memory: u64) -> Kernel {
        self.options.memory = memory;
        self
    }

    /// The most bytes that one of its calls may allocate.
    pub fn memory(&self) -> u64 {
        self.options.memory
    }

    /// The bytes of addresses that making its machine code takes at most; 0 under another engine. Where the system limits the
    /// addresses of this process and fewer are left ([`crate::addresses_left`]), it is [`Error::Stopped`].
    ///
    /// # Errors
    /// As of [`Program::compile`].
    pub fn room(&self) -> Result<u64, Error> {
        match self.options.engine {
            Engine::Llvm => self.program.room(self.options.mode),
            Engine::Ptx | Engine::Nvptx => self.program.room(self.options.mode),
            Engine::Loops | Engine::Meaning => Ok(0),
        }
    }

    /// How it was compiled.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The program that it was compiled from.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Runs on operands, by name: [`Tensor`]s, which are checked in full by every call, or
    /// [`Checked`](crate::Checked) ones, of which only types, formats and extents are looked at; slices and scalars
    /// beside them, as [`Operand`] says. The first call on operands of these index widths makes the machine code, unless
    /// [`Kernel::warm`] has.
    ///
    /// ```
    /// # use fiberloom::{Array, Options, Program, Tensor, Type, Value};
    /// let program = Program::parse("tensor a: f64[N] dense tensor s: f64[] dense\n s[] = sum(i: a[i] * a[i])")?;
    /// let kernel = program.compile(&Options::default())?;
    /// let a = Tensor::dense(vec![2], Value::zero(Type::F64), Array::from(vec![3.0, 4.0])).unwrap();
    /// let once = kernel.run(&[("a", &a)])?;
    ///
    /// let a = a.checked().unwrap(); // Read once, here; from now on a call on it costs about a microsecond.
    /// for _ in 0..1000 {
    ///     assert_eq!(kernel.run(&[("a", &a)])?["s"], once["s"]);
    /// }
    /// # Ok::<(), fiberloom::Error>(())
    /// ```
    ///
    /// # Errors
    /// As of [`Kernel::bind`] and [`Call::run`].
    pub fn run<'a, T: Into<Operand<'a>> + Clone>(&self, operands: &[(&str, T)]) -> Result<Outcome, Error> {
        self.bind(operands)?.run()
    }

    /// Checks the operands as [`Kernel::run`] does: a call that can be run many times. Operands are borrowed, not
    /// copied.
    ///
    /// # Errors
    /// Operands that are missing, malformed, or not as declared.
    pub fn bind<'a, T: Into<Operand<'a>> + Clone>(&self, operands: &[(&str, T)]) -> Result<Call<'a>, Error> {
        self.complete(&operands.iter().map(|(name, _)| *name).collect::<Vec<_>>())?;
        let (operands, sizes) = size::parted(&self.program, operands)?;
        // Four elements are checked in the time in which a row is read.
        let much = operands.values().map(Operand::unchecked).sum::<u64>() / 4;
        machine::on_pool_for(much, || operands.iter().try_for_each(|(id, operand)| self.fits(*id, operand)))?;
        self.alike(&operands)?;
        let kernel = self.on(&operands);
        let plan = kernel.last.plan(&kernel.program, &operands, sizes, |shapes, sizes| self.extents(shapes, sizes))?;
        Ok(Call { kernel, operands, plan, expected: Expected::default(), ready: None, interrupt: None })
    }

    /// Makes the machine code that calls on operands of these shapes run, so that the first of them takes no longer than
    /// others: a shape is that of a [`Tensor`], or its extents alone; of a size, its value. The code is kept for the process; in most programs
    /// it depends on index widths and not on extents, so that one matrix warms the kernel for all of its kind.
    ///
    /// ```
    /// # use fiberloom::{Options, Program};
    /// let program = "tensor A: f64[I, J] csr  tensor x: f64[J] dense  tensor y: f64[I] dense  y[i] = A[i,j] * x[j]";
    /// let kernel = Program::parse(program)?.compile(&Options::default())?;
    /// kernel.warm(&[("A", [1000, 1000].into()), ("x", [1000].into())])?; // Some milliseconds.
    /// # Ok::<(), fiberloom::Error>(())
    /// ```
    ///
    /// # Errors
    /// As of [`Kernel::bind`], but for what is wrong with data: there are none.
    pub fn warm(&self, operands: &[(&str, Shape)]) -> Result<(), Error> {
        self.complete(&operands.iter().map(|(name, _)| *name).collect::<Vec<_>>())?;
        let (mut shapes, mut sizes) = (BTreeMap::new(), Sizes::new());
        for (name, shape) in operands {
            if let (Some(size), [value]) = (self.program.given_size(name), &shape.extents[..]) {
                sizes.push((size, *value));
                continue;
            }
            let (id, declared) = self.program.named_tensor(name)?;
            self.has_modes(declared, shape.extents.len())?;
            shapes.insert(id, shape.clone().stored(self.program.stored_format(id)));
        }
        sizes.sort_unstable();
        let extents = self.extents(&shapes, &sizes)?;
        let plan = self.last.remember((shapes, sizes), extents, Thin::new());
        let Options { engine, mode, .. } = self.options;
        match engine {
            Engine::Meaning => Ok(()),
            engine => plan.code(&self.program, engine, mode, Expected::default()).map(|_| ()),
        }
    }

    /// Whether operands of these names are what the program reads: no data are needed to know.
    ///
    /// # Errors
    /// Names that the program does not have or that are given twice, and operands that are missing.
    pub fn complete(&self, names: &[&str]) -> Result<(), Error> {
        let (mut given, mut sizes) = (Vec::new(), Vec::new());
        let twice = |name: &str| Err(Error::Call(format!("operand `{name}` is given twice")));
        for name in names {
            if let Some(size) = self.program.given_size(name) {
                if sizes.contains(&size) {
                    return twice(name);
                }
                sizes.push(size);
                continue;
            }
            let (id, tensor) = self.program.named_tensor(name)?;
            if tensor.format.is_none() {
                let what = format!("`{name}` is given, and not declared: its declaration says what it is");
                return Err(Error::Call(what));
            }
            if let typed::Role::Computed(_) = tensor.role {
                let what = format!("data are given for `{name}`, and the function of its name says what it is");
                return Err(self.program.refused(vec![Diagnostic::new(tensor.span, what)]));
            }
            if given.contains(&id) {
                return twice(name);
            }
            given.push(id);
        }
        let typed = self.program.typed();
        let missing = self.program.inputs().iter().filter(|id| !given.contains(id));
        let unsaid = typed.given_sizes().filter(|size| !sizes.contains(size));
        let unsaid = unsaid.map(|size| size::no_value(&self.program, size));
        let missing: Vec<_> = missing.map(|id| no_data(typed, *id)).chain(unsaid).collect();
        if missing.is_empty() { Ok(()) } else { Err(self.program.missing(missing)) }
    }

    /// Whether an operand is well-formed and as declared.
    fn fits(&self, id: TensorId, operand: &Operand) -> Result<(), Error> {
        let tensor = operand.tensor();
        let declared = &self.program.typed().tensors[id.index()];
        let refused = |what: String| Err(Error::operand(&declared.name, what));
        let format = self.program.stored_format(id);
        self.has_modes(declared, tensor.extents.len())?;
        if tensor.values.ty() != declared.ty {
            return refused(format!("values of type {}, declared as {}", tensor.values.ty(), declared.ty));
        }
        if tensor.format != *format {
            return refused(format!("in format {}, declared as {format}", tensor.format));
        }
        if declared.fill.is_some_and(|fill| fill != tensor.fill) {
            return refused(format!("its fill value is {}, declared as another", tensor.fill));
        }
        operand.check().map_err(|malformed| match malformed.is_unchecked() {
            true => Error::Stopped(format!("tensor `{}`: {malformed}", declared.name)),
            false => Error::malformed(&declared.name, malformed),
        })
    }

    /// Whether the columns of each table have one structure: they are walked as one list.
    fn alike(&self, operands: &BTreeMap<TensorId, Operand>) -> Result<(), Error> {
        let mut first: BTreeMap<usize, (TensorId, &Tensor)> = BTreeMap::new();
        for (id, table) in self.program.structures() {
            let Some(tensor) = operands.get(&id).map(Operand::tensor) else { continue };
            let (before, walked) = *first.entry(table).or_insert((id, tensor));
            if walked.format == tensor.format && walked.levels != tensor.levels {
                let name = |id: TensorId| &self.program.typed().tensors[id.index()].name;
                let what =
                    format!("its levels are others than those of `{}`, a column of the same table", name(before));
                return Err(Error::operand(name(id), what));
            }
        }
        Ok(())
    }

    /// Whether something that is given for a tensor has as many modes as it.
    fn has_modes(&self, declared: &typed::Tensor, modes: usize) -> Result<(), Error> {
        if modes == declared.sizes.len() {
            return Ok(());
        }
        let what = format!("{}, declared with {}", counted(modes, "mode", "modes"), declared.sizes.len());
        Err(Error::operand(&declared.name, what))
    }

    /// Every extent, from what the operands have and the caller says of sizes.
    fn extents(&self, operands: &BTreeMap<TensorId, Shape>, sizes: &Sizes) -> Result<Extents, Error> {
        let given: Vec<(TensorId, Vec<u64>)> = operands.iter().map(|(id, s)| (*id, s.extents.clone())).collect();
        shape::solve(&self.program.sized(sizes), &given).map_err(|unsolved| match unsolved {
            Unsolved::Unknown(diagnostic) => self.program.refused(vec![diagnostic]),
            Unsolved::Unsaid(diagnostic) | Unsolved::Contradiction(diagnostic) => self.program.mismatch(diagnostic),
        })
    }
}

/// The name of a tensor that was not given, and what to change. Of one that the program defines, the place that reads it before.
fn no_data(program: &typed::Program, id: TensorId) -> (String, Diagnostic) {
    let tensor = &program.tensors[id.index()];
    let result = tensor.role == typed::Role::Result;
    let reads = match result {
        true => "a right side reads as it was before the statement that defines it",
        false => "the program reads",
    };
    let what = format!("no data are given for tensor `{}`, which {reads}", tensor.name);
    let help = format!("give the call a tensor of this name: (\"{}\", &tensor)", tensor.name);
    let mut diagnostic = Diagnostic::new(tensor.span, what).help(help);
    let reader = program.statements.iter().find(|statement| {
        let mut found = false;
        statement.accesses(&mut |read, _, left| found |= read == id && !left);
        found
    });
    if let Some(statement) = reader.filter(|_| result) {
        diagnostic = diagnostic.label(statement.span, "reads it here: what it begins with is given, or defined above");
    }
    (tensor.name.clone(), diagnostic)
}

/// A kernel with its operands: checked, and ready to run.
pub struct Call<'a> {
    kernel: Kernel,
    operands: BTreeMap<TensorId, Operand<'a>>,
    plan: Arc<Plan>,
    expected: Expected,
    /// Made on demand; none for the reference semantics.
    ready: Option<Ready<'a>>,
    /// Where it is asked to end, if anybody may.
    interrupt: Option<Arc<Interrupt>>,
}

/// Code, and what it is run on.
struct Ready<'a> {
    code: Arc<Code>,
    bound: Bound<'a>,
    /// What stays from run to run.
    prepared: Prepared<'a>,
    /// Whether results are assembled in the formats that are declared for them.
    assembles: bool,
    /// Whether results have arrays of operands that are borrowed.
    copies: bool,
}

impl<'a> Call<'a> {
    /// The same call, which ends with [`Error::Stopped`] when another thread asks it to: at the next turn of an outer loop of its
    /// machine code. Its innermost loops, and the other engines, do not look.
    #[must_use]
    pub fn until(mut self, interrupt: Arc<Interrupt>) -> Call<'a> {
        self.interrupt = Some(interrupt);
        self
    }

    /// Runs the kernel; every call makes its results anew.
    ///
    /// # Errors
    /// A limit on memory, size or steps. A malformed result is a defect, and is reported as one.
    pub fn run(&mut self) -> Result<Outcome, Error> {
        self.compile()?;
        loop {
            match self.attempt() {
                Err(Stop::Failure(Failure::Positions)) if self.expected.made != Widths::WIDE => {
                    (self.expected.made, self.ready) = (Widths::WIDE, None);
                    self.compile()?;
                }
                // Conversion names the value that has no place; or it is one but for rounding.
                Err(Stop::Failure(Failure::Unheld)) if self.expected.held => {
                    (self.expected.held, self.ready) = (false, None);
                    self.compile()?;
                }
                Err(Stop::Failure(Failure::Outside)) => {
                    return Err(outside(&self.kernel.program, &self.operands, &|id| self.extents_of(id)));
                }
                Err(Stop::Failure(Failure::Turns)) => return Err(self.kernel.program.too_many_turns()),
                Err(stop) => return Err(stop.into()),
                Ok(mut outcome) => {
                    if self.kernel.options.verify {
                        well_formed(&outcome)?;
                    }
                    crate::relation::held(self.kernel.program.relations(), &mut outcome.results)?;
                    return Ok(outcome);
                }
            }
        }
    }

    /// Makes the code for these operands' index widths, or finds it in the cache. [`Call::run`] does it if need be.
    ///
    /// # Errors
    /// A construct that is not lowered.
    pub fn compile(&mut self) -> Result<(), Error> {
        let Options { engine, mode, .. } = self.kernel.options;
        if engine == Engine::Meaning || self.ready.is_some() {
            return Ok(());
        }
        let code = self.plan.code(&self.kernel.program, engine, mode, self.expected)?;
        let bound = self.bound(&code)?;
        let assembles = loops::assembles(&code.kernel, &|id| self.declared(id));
        let copies = loops::shares_borrowed(&code.kernel, &bound);
        let changing = |id: TensorId| self.operands.get(&id).is_some_and(Operand::is_changing);
        let prepared = code.prepare(&bound, &changing);
        self.ready = Some(Ready { prepared, code, bound, assembles, copies });
        Ok(())
    }

    /// The loops of its machine code that take time and run on one thread; none before [`Call::compile`], and of other engines.
    #[cfg(feature = "cli")]
    pub(crate) fn on_one_thread(&self) -> Vec<loops::OneThread> {
        let ready = self.ready.iter().filter(|_| self.kernel.options.engine == Engine::Llvm);
        let loops = ready.flat_map(|ready| loops::outermost_loops(&ready.code.kernel));
        loops.filter_map(|runs| if let loops::Outermost::OneThread(one) = runs { Some(one) } else { None }).collect()
    }

    /// The program at every stage between the typed one and machine code, for these operands.
    ///
    /// # Errors
    /// A construct that is not lowered.
    pub fn lowered(&self) -> Result<Lowered, Error> {
        let Kernel { program, options, .. } = &self.kernel;
        program.lowered_for(&self.plan.lowering(program, options.mode, self.expected)?)
    }

    /// What the planner decides for these operands, as commands.
    ///
    /// # Errors
    /// A construct that is not lowered.
    pub fn planned(&self) -> Result<Vec<Planned>, Error> {
        let Kernel { program, options, .. } = &self.kernel;
        program.planned_for(&self.plan.lowering(program, options.mode, self.expected)?)
    }

    /// The kernel that it is a call of. That of a GPU may have other commands than the one that was bound, as data ask for them.
    pub(crate) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The commands by which loops are dealt out to a GPU, or to threads as data ask for it, beside the program's own.
    pub fn for_gpu(&self) -> &[Planned] {
        self.kernel.program.told()
    }

    /// One call of the engine.
    fn attempt(&self) -> Result<Outcome, Stop> {
        match &self.ready {
            None => self.evaluate(),
            Some(ready) => self.execute(ready),
        }
    }

    /// The functions that the results are, by the reference semantics.
    fn meaning<'o>(&'o self) -> Result<BTreeMap<String, Function>, Error> {
        let program = &self.kernel.program;
        let typed = &*program.sized(&self.plan.sizes);
        let named =
            |(id, o): (&TensorId, &'o Operand<'a>)| (typed.tensors[id.index()].name.clone(), o.tensor().borrow());
        let operands = self.operands.iter().map(named).collect();
        let Options { mode, steps, memory, .. } = self.kernel.options;
        // The operands are kept as functions, and a step may keep an entry.
        let entries: u64 = self.operands.values().map(|o| o.tensor().values.len() as u64).sum();
        let memory = room::available(memory).checked_sub(entries.saturating_mul(KEPT));
        let memory = memory.ok_or_else(|| {
            Error::Stopped("memory does not suffice for the reference semantics of these operands".to_string())
        })?;
        let steps = steps.min(memory / KEPT);
        let pointwise = meaning::evaluate(typed, &operands, mode, &Limits { steps: steps.min(POINTWISE) });
        let meant = match pointwise {
            Err(Refusal::Steps) => meaning::evaluate_stored(typed, &operands, mode, &Limits { steps }),
            small => small,
        };
        meant.map_err(|refusal| match refusal {
            Refusal::Steps => Error::Stopped("the limit on steps of the reference semantics is reached".to_string()),
            Refusal::Turns => program.too_many_turns(),
            Refusal::Shape(span, what) | Refusal::Outside(span, what) | Refusal::Empty(span, what) => {
                program.mismatch(Diagnostic::new(span, what))
            }
            Refusal::Operand(name, what) => Error::operand(&name, what),
        })
    }

    /// Evaluates the reference semantics, and stores what it says in the results' formats.
    fn evaluate(&self) -> Result<Outcome, Stop> {
        let begin = Instant::now();
        let functions = self.meaning()?;
        let time = begin.elapsed();
        // What is computed from a thin tensor has another format, too.
        let thin = (!self.plan.thin.is_empty()).then(|| self.kernel.program.typed().stored(&self.plan.thin));
        let mut results = Vec::new();
        for (name, function) in functions {
            let (id, _) = self.kernel.program.tensor(&name).expect("results are tensors of the program");
            let format = match &thin {
                Some(formats) => &formats[id.index()],
                None => self.kernel.program.stored_format(id),
            };
            let tensor = stored(&function, format, &self.assembly()).map_err(|e| unheld(&name, e))?;
            results.push((name, tensor));
        }
        Ok(Outcome::new(results, time, None))
    }

    /// Checks an outcome of this call, and compares it with the reference semantics: how many values were compared, and how many not.
    ///
    /// # Errors
    /// [`Error::Wrong`] with the first difference, [`Error::Defect`] if a result is malformed; whatever keeps the
    /// semantics from being evaluated.
    pub fn agrees(&self, outcome: &Outcome) -> Result<Agreement, Error> {
        well_formed(outcome)?;
        let mut compared = Agreement::default();
        let Relations { about, hidden, .. } = self.kernel.program.relations();
        let is_own = |name: &String| !hidden.contains(name) && !about.values().any(|n| n == name);
        for (name, function) in self.meaning()?.iter().filter(|(name, _)| is_own(name)) {
            let wrong = |what: String| Error::Wrong(format!("wrong answer: `{name}`: {what}"));
            let answer = outcome.get(name).ok_or_else(|| wrong("it is not there".to_string()))?;
            let Options { mode, steps, memory, .. } = self.kernel.options;
            // The answer is compared as a function, each coordinate by itself.
            let most = steps.min(room::available(memory) / KEPT);
            if answer.stored_coordinates().map_or(true, |kept| kept > most) {
                return Err(Error::Stopped(format!("memory does not suffice to compare each coordinate of `{name}`")));
            }
            compared += agree(function, answer, mode).map_err(|difference| wrong(difference.to_string()))?;
        }
        Ok(compared)
    }

    /// The operands as the code takes them.
    fn bound<'o>(&'o self, code: &Code) -> Result<Bound<'a>, Error> {
        let typed = self.kernel.program.typed();
        let named = |(id, o): (&TensorId, &'o Operand<'a>)| (typed.tensors[id.index()].name.as_str(), o.tensor());
        let operands: Vec<(&str, &Tensor<'a>)> = self.operands.iter().map(named).collect();
        let extents = |id: TensorId| self.extents_of(id);
        loops::bind(&code.kernel, &operands, &extents, &self.plan.extents).map_err(Error::Defect)
    }

    /// Runs loops or machine code.
    #[allow(unsafe_code)]
    fn execute(&self, Ready { code, bound, prepared, assembles, copies }: &Ready) -> Result<Outcome, Stop> {
        let begin = Instant::now();
        let collect = |take: Take| {
            // The arrays are there, but those that are copied: what remains is to say which tensors they are.
            let made = begin.elapsed();
            let results = loops::collect(&code.kernel, bound, take);
            (if *copies { begin.elapsed() } else { made }, results)
        };
        let how = (&self.kernel.options, self.interrupt.as_deref());
        // SAFETY: `bind` has checked each operand or was given it `Checked`, and they are borrowed as long as `self` lives.
        let ran = unsafe { code.run(bound, prepared, how, collect) };
        let ((time, results), ops) = ran?;
        let results = results.ok_or(Stop::Failure(Failure::Memory))?;
        if *assembles {
            return Ok(Outcome::new(results, time, ops));
        }
        let begin = Instant::now();
        let settled = loops::settle(&code.kernel, results, &|id| self.declared(id), &self.assembly());
        let results = settled.map_err(|(name, e)| unheld(&name, e))?;
        Ok(Outcome::new(results, time + begin.elapsed(), ops))
    }

    /// What it was bound to.
    pub(crate) fn operands(&self) -> &BTreeMap<TensorId, Operand<'a>> {
        &self.operands
    }

    /// The solved extents.
    pub(crate) fn extents(&self) -> &Extents {
        &self.plan.extents
    }

    /// The undeclared results that are thin.
    pub(crate) fn thin(&self) -> &Thin {
        &self.plan.thin
    }

    /// The format that is declared for a tensor, if one is.
    fn declared(&self, id: TensorId) -> Option<&Format> {
        self.kernel.program.typed().tensors[id.index()].format.as_ref()
    }

    /// How results are put into their formats.
    pub(crate) fn assembly(&self) -> Assembly<'static> {
        let Options { memory, mode, .. } = self.kernel.options;
        Assembly { limit: memory, rounded: mode == Mode::Algebraic, ..Assembly::default() }
    }

    /// The solved extents of a tensor.
    pub(crate) fn extents_of(&self, id: TensorId) -> Vec<u64> {
        let sizes = &self.kernel.program.typed().tensors[id.index()].sizes;
        sizes.iter().map(|s| self.plan.extents.sizes[s.index()]).collect()
    }
}

/// Whether every result is.
fn well_formed(outcome: &Outcome) -> Result<(), Error> {
    for (name, tensor) in &outcome.results {
        tensor.check().map_err(|m| Error::Defect(format!("result `{name}` is malformed: {m}")))?;
    }
    Ok(())
}

/// The function in a format.
fn stored(function: &Function, format: &Format, how: &Assembly) -> Result<Tensor<'static>, format::Error> {
    let entries = function.entries.iter().map(|(at, number)| (at.clone(), number.value));
    let entries = Entries::of(function.extents.len(), function.ty, entries)?;
    entries.assemble(&function.extents, format, function.fill.value, how)
}

/// Why a result is not in its format: it holds what the format has no place for, or is too large.
pub(crate) fn unheld(name: &str, error: format::Error) -> Error {
    match error {
        format::Error::Malformed(Malformed { what, .. }) | format::Error::Unheld { what, .. } => {
            let help = "declare it in a format that holds them, or let the program compute no others";
            Error::operand(name, format!("the values computed for it do not fit its format: {what}; {help}"))
        }
        error => Error::Stopped(error.to_string()),
    }
}
