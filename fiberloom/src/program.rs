//! A program: read, checked, and ready to be compiled.
//!
//! ```text
//!  text ──front──▶ syntax ──check──▶ typed + classes of extents ──▶ Kernel
//!                    ▲ formats given in place of the declared ones
//! ```

mod given;
mod gpu;
mod pieces;
mod tables;

use crate::data::{self, Declared, Source};
use crate::error::Error;
use crate::kernel::{Kernel, Options};
use crate::machine;
use crate::relation::{self, Fitted, Relations};
use fiberloom_core::algebra::{Mode, Value};
use fiberloom_core::format::{Format, Tensor};
use fiberloom_core::iteration::{Spares, Thin, show_spaces};
use fiberloom_core::notation::spell::Planned;
use fiberloom_core::notation::typed::{self, Role, SizeId, TURNS, TensorId};
use fiberloom_core::notation::{self, Diagnostic, Span, syntax};
use fiberloom_core::shape::{self, Classes};
use fiberloom_loops::{self as loops, Gpu};
use fiberloom_lower::{Lowered, Unplanned, lower, lower_planned, plan};
use fiberloom_passes::schedule::legal;
use fiberloom_passes::schedule::storage::Asked;
pub use given::Given;
pub(crate) use given::literal;
pub(crate) use gpu::{ByRow, Rows, for_device};
pub(crate) use pieces::{ByPieces, Shares};
use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A program that has passed every check that needs no data.
#[derive(Clone, Debug)]
pub struct Program {
    inner: Arc<Inner>,
}

#[derive(Clone, Debug)]
struct Inner {
    file: String,
    text: String,
    syntax: syntax::Program,
    typed: typed::Program,
    /// What it says of labels.
    relations: Relations,
    /// How it is fitted to data.
    fitted: Fitted,
    /// The plan by which it is lowered: its file and its text.
    plan: Option<(String, String)>,
    /// The syntax, printed: what kernels are cached by.
    canonical: String,
    /// What a caller must bring.
    inputs: Vec<TensorId>,
    /// The format of each tensor, as declared or as it is defined.
    formats: Vec<Format>,
    /// The undeclared results whose formats data may decide.
    spares: Spares,
    /// How the data of each tensor are stored.
    stored: Vec<Format>,
    /// Of each mode in which it was found to be lowered: what of extents matters, and the addresses that compiling takes at most.
    lowers: [OnceLock<(Asked, u64)>; 2],
    /// The commands that it was given for a GPU, or for data, beside its own.
    told: Vec<Planned>,
    /// Of each mode in which it was asked for, the same program with commands for a GPU.
    for_gpu: [OnceLock<Program>; 2],
    /// Whether it is lowered for a GPU.
    on_device: bool,
}

impl Program {
    /// Reads and checks a program.
    ///
    /// ```
    /// let program = fiberloom::Program::parse("tensor a: f64[N] dense\n s = sum(i: a[i])");
    /// assert!(program.is_err(), "a scalar is written `s[]`");
    /// ```
    ///
    /// # Errors
    /// [`Error::Program`] with everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Program, Error> {
        Program::named("program", text)
    }

    /// Reads and checks a program whose file has this name in messages.
    ///
    /// # Errors
    /// [`Error::Program`] with everything that is wrong with it.
    pub fn named(file: &str, text: &str) -> Result<Program, Error> {
        Program::named_with(file, text, &[])
    }

    /// The same with other formats for declared tensors: `(name, format)`, as of [`Program::with_format`].
    ///
    /// # Errors
    /// As of [`Program::named`] and [`Program::with_format`].
    pub fn named_with(file: &str, text: &str, formats: &[(&str, &str)]) -> Result<Program, Error> {
        Program::given(file, text, formats, &mut |_, _| Ok(None))
    }

    /// Checks a program that was built, not read. Places in messages refer to its print.
    ///
    /// # Errors
    /// [`Error::Program`] with everything that is wrong with it.
    pub fn of_syntax(syntax: &syntax::Program) -> Result<Program, Error> {
        Program::parse(&syntax.to_string())
    }

    pub(crate) fn checked(file: &str, text: &str, syntax: syntax::Program) -> Result<Program, Vec<Diagnostic>> {
        Program::checked_fitted(file, text, syntax, &Fitted::default())
    }

    /// The same, fitted to data.
    pub(crate) fn checked_fitted(
        file: &str,
        text: &str,
        syntax: syntax::Program,
        fitted: &Fitted,
    ) -> Result<Program, Vec<Diagnostic>> {
        let checked = relation::check_fitted(&syntax, fitted)?;
        let mut canonical = syntax.to_string();
        fitted.stored.iter().for_each(|(name, ty)| canonical += &format!("# {name}: {ty}\n"));
        fitted.guarded.iter().for_each(|name| canonical += &format!("# {name}, guarded\n"));
        fitted.floats.iter().for_each(|name| canonical += &format!("# {name}, in floats\n"));
        fitted.turns.iter().for_each(|name| canonical += &format!("# {name}, guarded in turns\n"));
        if fitted.wide {
            canonical += "# conditions are wide\n";
        }
        Program::of_typed((file, text), (syntax, checked), canonical, fitted.clone())
    }

    /// A program of some of this one's statements, over coordinates: what is read of its tables has one structure here, too.
    ///
    /// # Errors
    /// [`Error::Program`]: what the checker finds.
    pub(crate) fn part(&self, syntax: syntax::Program) -> Result<Program, Error> {
        let made = || {
            let (typed, own) = relation::check_fitted(&syntax, &Fitted::default())?;
            let typed = typed::Program { tables: self.typed().tables.clone(), ..typed };
            let Relations { tables, asked, .. } = self.relations().clone();
            let relations = Relations { tables, asked, ..own };
            let canonical = format!("{syntax}# over coordinates\n");
            Program::of_typed(self.source(), (syntax.clone(), (typed, relations)), canonical, Fitted::default())
        };
        made().map_err(|diagnostics| self.refused(diagnostics))
    }

    fn of_typed(
        (file, text): (&str, &str),
        (syntax, (typed, relations)): (syntax::Program, (typed::Program, Relations)),
        canonical: String,
        fitted: Fitted,
    ) -> Result<Program, Vec<Diagnostic>> {
        Classes::of(&typed)?;
        let inputs = typed.inputs();
        let formats = typed.stored(&Thin::new());
        let stored = formats.iter().map(Format::stored).collect();
        let (file, text) = (file.to_string(), text.to_string());
        let (spares, lowers) = (typed.spares(), Default::default());
        Ok(Program {
            inner: Arc::new(Inner {
                file,
                text,
                syntax,
                typed,
                relations,
                fitted,
                plan: None,
                canonical,
                inputs,
                formats,
                spares,
                stored,
                lowers,
                told: vec![],
                for_gpu: Default::default(),
                on_device: false,
            }),
        })
    }

    /// The same program with another format for a declared tensor, as the language writes it: `csr`,
    /// `{dense, compressed} order(1, 0)`.
    ///
    /// # Errors
    /// [`Error::Call`] if the tensor is not declared or the format cannot be read; [`Error::Program`] if it does not
    /// fit the tensor.
    pub fn with_format(&self, name: &str, format: &str) -> Result<Program, Error> {
        let mut syntax = self.inner.syntax.clone();
        reformat(&mut syntax, name, format)?;
        let (file, text) = (&self.inner.file, &self.inner.text);
        Program::checked(file, text, syntax).map_err(|diagnostics| refused(file, text, diagnostics))
    }

    /// The same program, fitted to the data of its tables, as [`fit`](crate::relation::fit) says.
    ///
    /// # Errors
    /// [`Error::Program`]: a column that is not of integers, or no column.
    pub fn fitted(&self, fitted: &Fitted) -> Result<Program, Error> {
        if *fitted == Fitted::default() {
            return Ok(self.clone());
        }
        let (file, text) = (&self.inner.file, &self.inner.text);
        let checked = Program::checked_fitted(file, text, self.inner.syntax.clone(), fitted);
        let fitted = checked.map_err(|diagnostics| refused(file, text, diagnostics))?;
        Ok(match &self.inner.plan {
            Some((file, text)) => fitted.with_plan(file, text),
            None => fitted,
        })
    }

    /// The same program, whose loops are those of a plan, as `fiberloom show plan` prints it; its file has this name in messages.
    ///
    /// A plan is checked when the program is lowered: its loops are well-formed. They may compute something else, and leave arrays: such a
    /// program runs on [`Engine::Loops`](crate::Engine::Loops), which checks every access.
    ///
    /// ```
    /// # use fiberloom::{Mode, Program};
    /// let program = Program::parse("tensor a: f64[N] sparse\n s[] = sum(i: a[i] * a[i])")?;
    /// let plan = program.lowered(Mode::Algebraic)?.show_plan();
    /// assert!(plan.contains("each a@0.0[a0_pos[0] .. a0_pos[1]] at i position p {"), "{plan}");
    /// let halved = program.with_plan("half.plan", &plan.replace("= t\n", "= t * 0.5\n"));
    /// assert!(halved.lowered(Mode::Algebraic).is_ok());
    /// # Ok::<(), fiberloom::Error>(())
    /// ```
    #[must_use]
    pub fn with_plan(&self, file: &str, text: &str) -> Program {
        let canonical = format!("{}# planned\n{text}", self.inner.canonical);
        let plan = Some((file.to_string(), text.to_string()));
        let (lowers, for_gpu) = (Default::default(), Default::default());
        let inner = Inner { plan, canonical, lowers, for_gpu, ..(*self.inner).clone() };
        Program { inner: Arc::new(inner) }
    }

    /// Refuses to make machine code by a plan that is given: it checks no access.
    pub(crate) fn takes_machine_code(&self) -> Result<(), Error> {
        match &self.inner.plan {
            None => Ok(()),
            Some((file, _)) => Err(Error::Call(format!(
                "machine code checks no access, and the loops of a plan that is given may leave arrays: run `{file}` by `--engine loops`"
            ))),
        }
    }

    /// A kernel of the program: lowered to loops, so that what cannot be is refused before there are data. Machine code
    /// is made for particular index widths, and kept: by [`Kernel::warm`], or by the first call.
    ///
    /// # Errors
    /// [`Error::Program`] names a construct that the engine does not take.
    pub fn compile(&self, options: &Options) -> Result<Kernel, Error> {
        Kernel::new(self.clone(), options)
    }

    /// The program at every stage between the typed one and machine code, for operands with 32-bit indices.
    ///
    /// # Errors
    /// [`Error::Program`] names a construct that is not lowered.
    pub fn lowered(&self, mode: Mode) -> Result<Lowered, Error> {
        self.lowered_for(&fiberloom_loops::Options { mode, ..Default::default() })
    }

    /// The spaces of each statement along its index variables, with their lattices, as text.
    ///
    /// # Errors
    /// [`Error::Program`] names extents that contradict each other or are not known.
    pub fn spaces(&self, mode: Mode) -> Result<String, Error> {
        let classes = Classes::of(&self.inner.typed).map_err(|diagnostics| self.refused(diagnostics))?;
        Ok(show_spaces(&self.inner.typed, &classes, mode))
    }

    /// Whether its schedules are legal in a mode.
    pub(crate) fn is_legal(&self, mode: Mode) -> Result<(), Error> {
        legal(&self.inner.typed, mode).map_err(|diagnostics| self.refused(diagnostics))
    }

    /// What the planner decides of it, as commands: given to it, they make the same loops.
    ///
    /// # Errors
    /// [`Error::Program`] says what is not lowered.
    pub fn plan(&self, mode: Mode) -> Result<Vec<Planned>, Error> {
        self.planned_for(&fiberloom_loops::Options { mode, ..Default::default() })
    }

    /// The same under these options.
    pub(crate) fn planned_for(&self, options: &fiberloom_loops::Options) -> Result<Vec<Planned>, Error> {
        let own = &self.inner.typed;
        // A program with more commands has other numbers, of the same names.
        let of = |program: &typed::Program| {
            let tensor = |id: TensorId| {
                let name = &own.tensors[id.index()].name;
                program.tensors.iter().position(|t| t.name == *name).map(|n| TensorId(n as u32))
            };
            let operands = options.operands.iter().filter_map(|(id, w)| Some((tensor(*id)?, w.clone()))).collect();
            let initial = options.initial.iter().filter_map(|id| tensor(*id)).collect();
            let thin = options.thin.iter().filter_map(|(id, kept)| Some((tensor(*id)?, *kept))).collect();
            fiberloom_loops::Options { operands, initial, thin, ..options.clone() }
        };
        let planned =
            plan(&self.inner.syntax, &relation::check, &of).map_err(|diagnostics| self.refused(diagnostics))?;
        let mut all: Vec<Planned> = self.inner.told.iter().cloned().chain(planned).collect();
        all.sort_by_key(|each| each.statement);
        Ok(all)
    }

    /// The commands that it was given for a GPU, or for data, beside its own.
    pub(crate) fn told(&self) -> &[Planned] {
        &self.inner.told
    }

    /// What of extents says how it is lowered, if it can be: found out once.
    pub(crate) fn lowers(&self, mode: Mode) -> Result<&Asked, Error> {
        self.lowers_in(mode).map(|(asked, _)| asked)
    }

    /// The bytes of addresses that making machine code of it takes at most: found out once.
    pub(crate) fn room(&self, mode: Mode) -> Result<u64, Error> {
        self.lowers_in(mode).map(|(_, room)| *room)
    }

    fn lowers_in(&self, mode: Mode) -> Result<&(Asked, u64), Error> {
        match self.inner.lowers[mode as usize].get() {
            Some(found) => Ok(found),
            None => Ok(self.was_lowered(mode, self.lowered(mode)?)),
        }
    }

    /// What is remembered of how it is lowered in a mode.
    fn was_lowered(&self, mode: Mode, lowered: Lowered) -> &(Asked, u64) {
        let room = machine::room(&lowered.kernel);
        self.inner.lowers[mode as usize].get_or_init(|| (lowered.asked, room))
    }

    pub(crate) fn lowered_for(&self, options: &fiberloom_loops::Options) -> Result<Lowered, Error> {
        let Some((file, text)) = &self.inner.plan else {
            let options = &loops::Options { lists: options.lists || self.inner.on_device, ..options.clone() };
            return lower(&self.inner.typed, options).map_err(|diagnostics| self.refused(diagnostics));
        };
        lower_planned(&self.inner.typed, options, text).map_err(|wrong| match wrong {
            Unplanned::Program(diagnostics) => self.refused(diagnostics),
            Unplanned::Plan(diagnostic) => refused(file, text, vec![diagnostic]),
            Unplanned::Loops(what) => {
                let what = format!("the loops of this plan are not well-formed: {what}");
                refused(file, text, vec![Diagnostic::new(Span::default(), what)])
            }
        })
    }

    /// The optimized LLVM IR of [`Program::lowered`].
    ///
    /// # Errors
    /// As of [`Program::lowered`].
    pub fn llvm_ir(&self, mode: Mode) -> Result<String, Error> {
        self.llvm_ir_of(&self.lowered(mode)?)
    }

    /// The optimized LLVM IR of what was lowered.
    ///
    /// # Errors
    /// What LLVM does not take: a defect.
    pub fn llvm_ir_of(&self, lowered: &Lowered) -> Result<String, Error> {
        machine::llvm_ir(&lowered.kernel)
    }

    /// The assembly of [`Program::lowered`].
    ///
    /// # Errors
    /// As of [`Program::lowered`].
    pub fn assembly(&self, mode: Mode) -> Result<String, Error> {
        self.assembly_of(&self.lowered(mode)?)
    }

    /// The assembly of what was lowered.
    ///
    /// # Errors
    /// What LLVM does not take: a defect.
    pub fn assembly_of(&self, lowered: &Lowered) -> Result<String, Error> {
        machine::assembly(&lowered.kernel)
    }

    /// What was lowered as engines for GPUs run it: its parallel loops are those that are launched, and the host runs the rest.
    ///
    /// # Errors
    /// A defect.
    pub fn loops_for_gpu(&self, lowered: &Lowered) -> Result<String, Error> {
        Ok(for_device(&lowered.kernel)?.to_string())
    }

    /// The parallel loops of what was lowered as PTX for a GPU; loops that stay on the host are comments before it.
    ///
    /// # Errors
    /// What LLVM does not take: a defect.
    pub fn ptx_of(&self, lowered: &Lowered, gpu: Gpu) -> Result<String, Error> {
        let kernel = for_device(&lowered.kernel)?;
        machine::ptx(&kernel, gpu)
    }

    /// An object file of [`Program::lowered`] for any x86-64, and the C header that declares it, of a kernel of this name: those that are
    /// linked together have names of their own.
    ///
    /// # Errors
    /// As of [`Program::lowered`]; [`Error::Call`] if the name is none.
    pub fn object(&self, mode: Mode, name: &str) -> Result<(Vec<u8>, String), Error> {
        self.takes_machine_code()?;
        let kernel = self.named_kernel(mode, name)?;
        let classes = Classes::of(&self.inner.typed).map_err(|diagnostics| self.refused(diagnostics))?;
        machine::object(&kernel, &self.inner.typed, &classes)
    }

    /// The parallel loops of [`Program::for_gpu`], lowered, as PTX for a GPU, and the C header that says what each entry is launched with, of a
    /// kernel of this name.
    ///
    /// # Errors
    /// As of [`Program::object`]; [`Error::Call`] if no loop is for a GPU.
    pub fn device_code(&self, mode: Mode, name: &str, gpu: Gpu) -> Result<(Vec<u8>, String), Error> {
        let kernel = self.for_gpu(mode).named_kernel(mode, name)?;
        let kernel = for_device(&kernel)?;
        machine::device_files(&kernel, gpu)
    }

    /// The lowered kernel, of this name.
    fn named_kernel(&self, mode: Mode, name: &str) -> Result<loops::Sound, Error> {
        let no_name =
            |_| Error::Call(format!("`{name}` is no name of a kernel: ASCII letters, digits and `_` expected"));
        self.takes_machine_code()?;
        self.lowered(mode)?.kernel.named(name).map_err(no_name)
    }

    /// What is doubtful in the program, as warnings, where tensors of these names are given.
    ///
    /// ```
    /// let program = fiberloom::Program::parse("tensor A: f64[I, J] csr tensor x: f64[J] dense y[i] = A[i,j] * x[k]")?;
    /// assert!(program.warnings(&["A", "x"])[0].message.contains("`j` occurs once in this term, and is summed"));
    /// # Ok::<(), fiberloom::Error>(())
    /// ```
    pub fn warnings(&self, given: &[&str]) -> Vec<Diagnostic> {
        let is_given = |id: TensorId| given.contains(&self.inner.typed.tensors[id.index()].name.as_str());
        let all = notation::warnings(&self.inner.typed).into_iter();
        all.filter(|warning| !warning.unless_given.is_some_and(is_given)).map(|warning| warning.diagnostic).collect()
    }

    /// These diagnostics drawn into the program's text.
    pub fn drawn(&self, diagnostics: &[Diagnostic], color: bool) -> String {
        fiberloom_front::render(&self.inner.file, &self.inner.text, diagnostics, color)
    }

    /// What its file is called, and its text.
    pub(crate) fn source(&self) -> (&str, &str) {
        (&self.inner.file, &self.inner.text)
    }

    /// The syntax tree.
    pub fn syntax(&self) -> &syntax::Program {
        &self.inner.syntax
    }

    /// How it is fitted to data.
    pub(crate) fn fitting(&self) -> &Fitted {
        &self.inner.fitted
    }

    /// The checked program.
    pub fn typed(&self) -> &typed::Program {
        &self.inner.typed
    }

    /// The program as the printer writes it.
    pub fn canonical(&self) -> &str {
        &self.inner.canonical
    }

    /// These diagnostics as an error of this program.
    pub fn refused(&self, diagnostics: Vec<Diagnostic>) -> Error {
        refused(&self.inner.file, &self.inner.text, diagnostics)
    }

    /// What this program reads and was not given.
    pub(crate) fn missing(&self, tensors: Vec<(String, Diagnostic)>) -> Error {
        Error::Missing { file: self.inner.file.clone(), text: self.inner.text.clone(), tensors }
    }

    /// A contradiction between operands and this program's extents.
    pub(crate) fn mismatch(&self, diagnostic: Diagnostic) -> Error {
        let (file, text) = (self.inner.file.clone(), self.inner.text.clone());
        Error::Mismatch { file, text, diagnostics: vec![diagnostic] }
    }

    /// That the limit on turns of this program's blocks is reached, with the first of them.
    pub(crate) fn too_many_turns(&self) -> Error {
        let mut first = None;
        self.inner.typed.each_step(&mut |step| {
            if let typed::Step::Repeat(block) = step {
                first.get_or_insert(block.span);
            }
        });
        let header = first.and_then(|span| self.inner.text.get(span.start as usize..span.end as usize));
        let which = header.map_or(String::new(), |header| format!(" (the first is `{header}`)"));
        Error::Stopped(format!("the limit on turns is reached: blocks{which} take at most {TURNS} turns together"))
    }

    /// A tensor that is no local of a `where` block, by its name.
    pub fn tensor(&self, name: &str) -> Option<(TensorId, &typed::Tensor)> {
        let mut tensors = self.inner.typed.tensors.iter().enumerate();
        let found = tensors.find(|(_, t)| t.name == name && t.role != Role::Local)?;
        Some((TensorId(found.0 as u32), found.1))
    }

    /// What to say behind a tensor's name that is none: the name that is nearly so.
    pub fn near(&self, name: &str) -> String {
        let known = self.inner.typed.tensors.iter().map(|t| t.name.as_str());
        fiberloom_core::nearest(name, known).map_or(String::new(), |near| format!(": there is `{near}`"))
    }

    /// The size of a name whose value calls say: `dim N`.
    pub fn given_size(&self, name: &str) -> Option<SizeId> {
        let typed = &self.inner.typed;
        typed.given_sizes().find(|size| typed.sizes[size.index()].name.as_deref() == Some(name))
    }

    /// The checked program, with the values that a call says of sizes.
    pub(crate) fn sized(&self, sizes: &[(SizeId, u64)]) -> Cow<'_, typed::Program> {
        match sizes {
            [] => Cow::Borrowed(&self.inner.typed),
            _ => Cow::Owned(self.inner.typed.with_sizes(sizes)),
        }
    }

    /// The same, for data that a caller gives by name.
    ///
    /// # Errors
    /// [`Error::Call`] if there is none.
    pub(crate) fn named_tensor(&self, name: &str) -> Result<(TensorId, &typed::Tensor), Error> {
        let is_local = || self.inner.typed.tensors.iter().any(|t| t.name == name);
        self.tensor(name).ok_or_else(|| {
            Error::Call(match is_local() {
                true => format!("`{name}` is a local of a `where` block: nothing is given for it"),
                false => format!("the program has no tensor `{name}`{}", self.near(name)),
            })
        })
    }

    /// What a file has to hold for a tensor, where operands of these extents are given already. An undeclared result
    /// has 0 as its fill value here.
    ///
    /// # Errors
    /// The given extents contradict the program or each other.
    pub fn declared<'a>(
        &self,
        id: TensorId,
        format: &'a Format,
        given: &[(TensorId, Vec<u64>)],
    ) -> Result<Declared<'a>, Error> {
        self.declared_in(&self.inner.typed, id, format, given)
    }

    /// The same of this program with the values of sizes.
    fn declared_in<'a>(
        &self,
        typed: &typed::Program,
        id: TensorId,
        format: &'a Format,
        given: &[(TensorId, Vec<u64>)],
    ) -> Result<Declared<'a>, Error> {
        let tensor = &typed.tensors[id.index()];
        let fill = tensor.fill.unwrap_or(Value::zero(tensor.ty));
        let extents = shape::known(typed, given, id).map_err(|wrong| self.mismatch(wrong))?;
        Ok(Declared { ty: tensor.ty, extents, fill, format })
    }

    /// Reads operands from files, by name; they come back in the order of the names. A file that does not say its
    /// extents is read when the program and the other operands do, or [as its options say](data::Options::largest) when nothing does.
    ///
    /// # Errors
    /// A name that the program does not have; whatever is wrong with a file.
    pub fn read<'n>(
        &self,
        files: &[(&'n str, &Path)],
        options: &data::Options,
    ) -> Result<Vec<(&'n str, Tensor<'static>)>, Error> {
        let sources = files.iter().map(|(name, path)| (*name, Source::File(path), *options));
        self.operands(&sources.collect::<Vec<_>>())
    }

    /// The same of operands that come from files or are drawn, each with options of its own. What is drawn and does not say
    /// its extents has those that the program and the other operands say.
    ///
    /// # Errors
    /// As of [`Program::read`].
    pub fn operands<'n>(
        &self,
        sources: &[(&'n str, Source, data::Options)],
    ) -> Result<Vec<(&'n str, Tensor<'static>)>, Error> {
        let mut given: Vec<(TensorId, Vec<u64>)> = Vec::new();
        let mut tensors: Vec<Option<Tensor>> = vec![None; sources.len()];
        let mut largest = false;
        let sizes = self.sizes_among(sources, &mut tensors)?;
        let typed = self.sized(&sizes);
        loop {
            let (before, mut unknown) = (given.len(), None);
            for (place, (name, source, options)) in sources.iter().enumerate() {
                if tensors[place].is_some() {
                    continue;
                }
                let (id, _) = self.named_tensor(name)?;
                let options = data::Options { largest: options.largest.filter(|_| largest), ..*options };
                let declared = self.declared_in(&typed, id, self.format(id), &given)?;
                let read = || source.tensor(&declared, &options);
                let read = if source.is_long() { machine::on_pool(read) } else { read() };
                match read {
                    Ok(tensor) => {
                        // What it says of the others' extents comes before their largest coordinates.
                        largest = false;
                        given.push((id, tensor.extents.clone()));
                        tensors[place] = Some(tensor);
                    }
                    // It is read again, if what is read meanwhile says more of its extents.
                    Err(e) if e.cause == data::Cause::Extents => unknown = unknown.or(Some(e)),
                    Err(e) if matches!(source, Source::Number(_)) => return Err(Error::operand(name, e.message)),
                    Err(e) => return Err(e.into()),
                }
            }
            match unknown {
                None => break,
                Some(unknown) if given.len() == before && largest => return Err(unknown.into()),
                Some(_) => largest = given.len() == before,
            }
        }
        Ok(sources.iter().map(|(name, ..)| *name).zip(tensors.into_iter().flatten()).collect())
    }

    /// The values of sizes among sources, which become scalars.
    fn sizes_among(
        &self,
        sources: &[(&str, Source, data::Options)],
        tensors: &mut [Option<Tensor<'static>>],
    ) -> Result<Vec<(SizeId, u64)>, Error> {
        let mut sizes = Vec::new();
        for ((name, source, _), tensor) in sources.iter().zip(tensors) {
            let Some(size) = self.given_size(name) else { continue };
            let refused = || Error::Call(format!("size `{name}`: a whole number from 0 to 2⁶³ − 1 expected"));
            let value = source.extent().ok_or_else(refused)?;
            sizes.push((size, value));
            *tensor = Some(Tensor::scalar(Value::i64(value as i64)));
        }
        Ok(sizes)
    }

    /// The format of a tensor, as declared; of an undeclared result as [`typed::Program::stored`] says.
    pub fn format(&self, id: TensorId) -> &Format {
        &self.inner.formats[id.index()]
    }

    /// How a tensor's data are stored: [`Format::stored`] of [`Program::format`].
    pub fn stored_format(&self, id: TensorId) -> &Format {
        &self.inner.stored[id.index()]
    }

    /// What decides which results are thin, which every call asks for.
    pub(crate) fn spares(&self) -> &Spares {
        &self.inner.spares
    }

    /// [`typed::Program::inputs`], which every call asks for.
    pub(crate) fn inputs(&self) -> &[TensorId] {
        &self.inner.inputs
    }
}

/// Gives a declared tensor another format. What is wrong with it is drawn where the tensor is declared.
pub(crate) fn reformat(syntax: &mut syntax::Program, name: &str, format: &str) -> Result<(), Error> {
    let (read, wrong) = fiberloom_front::parse(&format!("tensor T: f64[I] {format}"));
    let read = match read.map(|p| <[_; 1]>::try_from(p.items)) {
        Some(Ok([syntax::Item::Tensor(t)])) if wrong.is_empty() => t.format,
        _ => None,
    };
    let read = read.ok_or_else(|| {
        let why = wrong.first().map_or(String::new(), |d| format!(": {}", d.message));
        let expected = "a name as `csr`, or levels as `{dense, compressed}`, with an order or without";
        Error::Call(format!("the format `{format}` for `{name}` cannot be read{why}; {expected} expected"))
    })?;
    let declared = syntax.items.iter_mut().find_map(|item| match item {
        syntax::Item::Tensor(t) if t.name.name == name => Some(t),
        _ => None,
    });
    let Some(tensor) = declared else {
        let declared = syntax.items.iter().filter_map(|item| match item {
            syntax::Item::Tensor(t) => Some(t.name.name.as_str()),
            _ => None,
        });
        let near = fiberloom_core::nearest(name, declared);
        let near = near.map_or(String::new(), |near| format!("; there is `{near}`"));
        let what = format!("no tensor `{name}` is declared whose format could be changed");
        return Err(Error::Call(format!("{what}: `tensor {name}: TYPE[…] FORMAT` would declare it{near}")));
    };
    let place = tensor.format.as_ref().map_or(tensor.name.span, syntax::Format::span);
    tensor.format = Some(read.at(place));
    Ok(())
}

fn refused(file: &str, text: &str, diagnostics: Vec<Diagnostic>) -> Error {
    Error::Program { file: file.to_string(), text: text.to_string(), diagnostics }
}
