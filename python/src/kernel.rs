//! Kernels in Python: made of a text and of what is known of its operands, called with objects.
//!
//! ```text
//!  text, types, formats ──Making::made──▶ Compiled ──call──▶ Outcome ──▶ {name: Tensor}
//!                           a job                    a job: as long as the last call on operands as large, else unknown
//! ```

use crate::bound::{self, Labels, Prepared};
use crate::error::{exception, operand as refused, raised};
use crate::job::{self, Asked, Compiling, Effort, Interrupt};
use crate::operand::{self, Given, Wanted, given};
use crate::table;
use crate::tensor::{Tensor, format_name};
use fiberloom::relation::{self, Fitted};
use fiberloom::{Call, Engine, Error, Format, Mode, Operand, Options, Outcome, Program, Role, Type, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is known of an operand that its program does not declare.
pub type Known = (String, fiberloom::Given);

/// The same in Python: a name; a type, a fill value and a format.
type Said<'py> = (String, (String, Bound<'py, PyAny>, String));

/// The arguments of `compile`: the text, what is known of operands, formats of results, the name in messages, options.
pub type MadeOf<'py> = (String, Vec<Said<'py>>, Vec<(String, String)>, String, Bound<'py, PyDict>);

/// What a kernel is made of.
#[derive(Clone)]
pub struct Making {
    /// The text's name in messages.
    pub file: String,
    pub text: String,
    /// Operands that are not declared.
    pub known: Vec<Known>,
    /// Results in other formats than they have by themselves.
    pub results: Vec<(String, String)>,
    pub options: Options,
}

/// A tensor that a kernel takes.
struct Input {
    name: String,
    ty: Type,
    format: Format,
    fill: Option<Value>,
}

/// A call that came to its end: how large its operands were, and how long it took.
struct Seen {
    sizes: Vec<u64>,
    effort: Effort,
}

/// The extents of each operand, and how much it stores; of a number, if it is an extent, that.
fn sizes(operands: &Operands) -> impl Iterator<Item = u64> + '_ {
    operands.iter().flat_map(|(_, given)| {
        let tensor = given.tensor();
        let stored = match given {
            Given::Number(tensor) if tensor.values.ty() == Type::I64 => {
                tensor.values.get(0).as_i128().and_then(|n| n.try_into().ok()).unwrap_or(0)
            }
            _ => tensor.values.len() as u64,
        };
        tensor.extents.iter().copied().chain([stored])
    })
}

impl Seen {
    /// Whether each size of these operands is to that of the call that was seen as `holds` says.
    fn compares(&self, operands: &Operands, holds: fn(&u64, &u64) -> bool) -> bool {
        let mut seen = self.sizes.iter();
        sizes(operands).all(|size| seen.next().is_some_and(|seen| holds(&size, seen))) && seen.next().is_none()
    }
}

/// A kernel, its inputs, and what is known of its calls.
pub struct Compiled {
    pub kernel: fiberloom::Kernel,
    inputs: Vec<Input>,
    /// Results that are converted after each call: no declaration could say their fill values.
    converted: Vec<(String, String)>,
    /// The tensor that the last statement defines.
    last: String,
    /// The inputs that tables give, if the program has some, or domains.
    pub from_tables: Option<Vec<String>>,
    /// The kernel that was fitted to the data of the last call's tables, and how.
    pub kept: Mutex<Option<(Fitted, Arc<Compiled>)>>,
    seen: Mutex<Option<Seen>>,
}

impl Making {
    /// The kernel.
    fn made(&self) -> Result<Compiled, Error> {
        let _compiling = Compiling::begin();
        let known = |name: &str| self.known.iter().find(|(n, _)| n == name).map(|(_, given)| given.clone());
        let mut program = Program::given(&self.file, &self.text, &[], &mut |name, _| Ok(known(name)))?;
        let mut converted = Vec::new();
        for (name, format) in &self.results {
            let is_declared = program.tensor(name).is_some_and(|(_, t)| t.format.is_some());
            match program.with_result(name, format, self.options.mode)? {
                Some(other) if is_declared || other.format_of(name) != program.format_of(name) => program = other,
                Some(_) => {}
                None => converted.push((name.clone(), format.clone())),
            }
        }
        Ok(Compiled::of(program.compile(&self.options)?, &self.known, converted))
    }

    /// The same in Python: the arguments of `compile`.
    pub fn said<'py>(&self, py: Python<'py>) -> PyResult<MadeOf<'py>> {
        let Making { file, text, known, results, options } = self;
        let of = |(name, given): &Known| {
            let fill = crate::tensor::number(py, given.fill)?;
            Ok((name.clone(), (given.ty.name().to_string(), fill, given.format.clone())))
        };
        let known = known.iter().map(of).collect::<PyResult<_>>()?;
        let all = PyDict::new(py);
        all.set_item("mode", if options.mode == Mode::Strict { "strict" } else { "algebraic" })?;
        all.set_item("engine", options.engine.name())?;
        all.set_item("memory", options.memory)?;
        all.set_item("steps", options.steps)?;
        all.set_item("verify", options.verify)?;
        Ok((text.clone(), known, results.clone(), file.clone(), all))
    }

    /// The kernel, made by a job.
    pub fn compiled(&self, py: Python<'_>) -> PyResult<Arc<Compiled>> {
        let of = self.clone();
        let made = job::with_effort(py, Effort::Long, move |_| of.made())?;
        Ok(Arc::new(made.map_err(|e| raised(py, &e))?))
    }
}

/// The format of a tensor that a program has.
trait FormatOf {
    fn format_of(&self, name: &str) -> Option<&Format>;
}

impl FormatOf for Program {
    fn format_of(&self, name: &str) -> Option<&Format> {
        self.tensor(name).map(|(id, _)| self.format(id))
    }
}

/// Operands, each with its place among a kernel's inputs.
pub type Operands = Vec<(usize, Given)>;

impl Compiled {
    /// A kernel of a program in which these operands were described; these results are converted after each call.
    pub fn of(kernel: fiberloom::Kernel, known: &[Known], converted: Vec<(String, String)>) -> Compiled {
        let program = kernel.program();
        let typed = program.typed();
        let from_tables = bound::has_labels(program).then(|| bound::of_tables(program));
        let taken = [typed.inputs(), typed.starts(), typed.unread()].concat();
        let from_a_table = |name: &String| from_tables.as_ref().is_some_and(|own| own.contains(name));
        let input = |(at, t): (usize, &fiberloom_core::notation::typed::Tensor)| {
            let id = fiberloom_core::notation::typed::TensorId(at as u32);
            let format = program.stored_format(id).clone();
            let is_taken = taken.contains(&id) || from_a_table(&t.name);
            is_taken.then(|| Input { name: t.name.clone(), ty: t.ty, format, fill: t.fill })
        };
        let mut inputs: Vec<Input> = typed.tensors.iter().enumerate().filter_map(input).collect();
        let named = typed.given_sizes().filter_map(|size| typed.sizes[size.index()].name.clone());
        inputs.extend(named.map(|name| Input { name, ty: Type::I64, format: Format::dense(0), fill: None }));
        // What is not declared comes first, in the order in which it was described.
        let described = |i: &Input| known.iter().position(|(name, _)| *name == i.name).unwrap_or(usize::MAX);
        inputs.sort_by_key(described);
        let is_result =
            |s: &&fiberloom_core::notation::typed::Statement| typed.tensors[s.tensor.index()].role == Role::Result;
        let last = typed.statements.iter().rev().find(is_result);
        let last = last.map(|s| typed.tensors[s.tensor.index()].name.clone()).unwrap_or_default();
        Compiled { kernel, inputs, converted, last, from_tables, kept: Mutex::new(None), seen: Mutex::new(None) }
    }

    /// The same kernel of the program that is fitted to data.
    pub fn fitted_to(&self, fitted: &Fitted) -> Result<Compiled, Error> {
        let _compiling = Compiling::begin();
        let program = self.kernel.program().fitted(fitted)?;
        Ok(Compiled::of(program.compile(self.kernel.options())?, &[], self.converted.clone()))
    }

    /// The tensor that the last statement defines.
    pub fn last(&self) -> &str {
        &self.last
    }

    /// Objects as operands, by name. Those that are `lasting` are read by any number of calls: what is over NumPy's arrays is checked and
    /// frozen.
    pub fn prepared(self: &Arc<Self>, objects: &Bound<'_, PyDict>, lasting: bool) -> PyResult<Prepared> {
        let py = objects.py();
        let (mut operands, mut tables) = (Vec::with_capacity(objects.len()), Vec::new());
        for (name, object) in objects {
            let name = name.cast_into::<PyString>()?;
            let name = name.to_str()?;
            if let Some(from_tables) = &self.from_tables {
                if self.kernel.program().table(name).is_some() {
                    tables.push((name.to_string(), table::taken(&object, name)?));
                    continue;
                }
                if from_tables.iter().any(|own| own == name) {
                    return Err(self.of_a_table(py, name));
                }
            }
            let Some(at) = self.place(name) else {
                let unknown = self.kernel.complete(&[name]);
                let said = unknown.err().map_or_else(|| refused(py, name, "is no input"), |e| raised(py, &e));
                return Err(said);
            };
            let one = given(&object, name, self.wanted(at))?;
            operands.push((at, if lasting { one.lasting(py, name)? } else { one }));
        }
        match self.from_tables {
            Some(_) => self.with_tables(py, tables, operands),
            None => Ok(Prepared { compiled: self.clone(), operands, labels: None }),
        }
    }

    /// The name of an input.
    pub fn name(&self, at: usize) -> &str {
        &self.inputs[at].name
    }

    /// The place of an input.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.inputs.iter().position(|input| input.name == name)
    }

    /// As what an input is to be taken.
    fn wanted(&self, at: usize) -> Wanted<'_> {
        let Input { ty, format, fill, .. } = &self.inputs[at];
        Wanted { ty: Some(*ty), format: Some(format), fill: *fill }
    }

    /// One call: the results. Another thread may end it, where it is asked to.
    pub fn call(self: &Arc<Self>, py: Python<'_>, mut operands: Operands, ends: Asked) -> PyResult<Outcome> {
        // However they were given: calls are compared by their sizes.
        operands.sort_unstable_by_key(|(place, _)| *place);
        let (ran, operands) = self.attempt(py, operands, ends.clone())?;
        match ran {
            Ok(outcome) => Ok(outcome),
            Err(Error::Operand { tensor, what, malformed: Some(malformed) }) => {
                let Some(operands) = self.in_order(py, operands, &tensor)? else {
                    return Err(raised(py, &Error::Operand { tensor, what, malformed: Some(malformed) }));
                };
                self.call(py, operands, ends)
            }
            Err(error) => Err(raised(py, &error)),
        }
    }

    fn attempt(
        self: &Arc<Self>,
        py: Python<'_>,
        operands: Operands,
        ends: Asked,
    ) -> PyResult<(Result<Outcome, Error>, Operands)> {
        let effort = self.effort(&operands);
        let this = self.clone();
        job::until(py, effort, ends, move |asked| {
            let begin = Instant::now();
            let ran = this.ready(&operands, asked).and_then(|mut call| call.run());
            if ran.is_ok() {
                this.saw(&operands, begin.elapsed(), effort);
            }
            (ran, operands)
        })
    }

    /// A call whose machine code is made, and which ends when it is asked to.
    fn ready<'a>(&'a self, operands: &'a Operands, asked: Asked) -> Result<Call<'a>, Error> {
        let named = self.named(operands)?;
        let mut call = until(self.kernel.bind(&named)?, asked);
        compiled(&mut call)?;
        Ok(call)
    }

    /// The operands as the library takes them.
    fn named<'a>(&'a self, operands: &'a Operands) -> Result<Vec<(&'a str, Operand<'a>)>, Error> {
        let named = |(at, given): &'a (usize, Given)| {
            let name = self.inputs[*at].name.as_str();
            Ok((name, given.operand(name)?))
        };
        operands.iter().map(named).collect()
    }

    /// The operands with one of them in order, if it is a matrix whose entries were not.
    fn in_order(&self, py: Python<'_>, mut operands: Operands, name: &str) -> PyResult<Option<Operands>> {
        for (at, given) in &mut operands {
            if self.inputs[*at].name == name
                && let Some(other) = operand::in_order(py, given, name, self.wanted(*at))?
            {
                *given = other;
                return Ok(Some(operands));
            }
        }
        Ok(None)
    }

    /// As long as a call took on operands that were at least as large; any time if there was none.
    fn effort(&self, operands: &Operands) -> Effort {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen.as_ref().filter(|seen| seen.compares(operands, u64::le));
        known.map_or(Effort::Long, |seen| seen.effort)
    }

    /// Remembers how long a call took, if it was not known, or took longer, or was on operands at least as large as those of the
    /// call that is remembered.
    fn saw(&self, operands: &Operands, time: Duration, expected: Effort) {
        let effort = Effort::of(time);
        if effort == expected {
            return;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let is_as_large = seen.as_ref().is_some_and(|seen| seen.compares(operands, u64::ge));
        if expected == Effort::Long || effort > expected || is_as_large {
            *seen = Some(Seen { sizes: sizes(operands).collect(), effort });
        }
    }

    /// The result of this name, in the format that was asked for.
    pub fn result(&self, py: Python<'_>, name: &str, tensor: fiberloom::Tensor<'static>) -> PyResult<Py<Tensor>> {
        let made = Bound::new(py, Tensor::new(tensor))?;
        match self.converted.iter().find(|(n, _)| n == name) {
            None => Ok(made.unbind()),
            Some((_, format)) => Ok(made.call_method1("converted", (format,))?.cast_into::<Tensor>()?.unbind()),
        }
    }

    /// All results, by name, without labels.
    pub fn tensors<'py>(&self, py: Python<'py>, outcome: Outcome) -> PyResult<Bound<'py, PyDict>> {
        let results = PyDict::new(py);
        for (name, tensor) in outcome.results {
            let result = self.result(py, &name, tensor)?;
            results.set_item(name, result)?;
        }
        Ok(results)
    }
}

/// The call, which ends when it is asked to.
fn until(call: Call, asked: Asked) -> Call {
    match asked {
        Some(interrupt) => call.until(interrupt),
        None => call,
    }
}

/// Makes the machine code of a call; the process waits for it before it ends.
fn compiled(call: &mut Call) -> Result<(), Error> {
    let _compiling = Compiling::begin();
    call.compile()
}

/// A compiled program.
#[pyclass(frozen, module = "fiberloom", weakref)]
pub struct Kernel {
    pub compiled: Arc<Compiled>,
    pub making: Making,
}

/// The options of these names.
pub fn options(py: Python<'_>, given: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let mut options = Options::default();
    let said = |name| given.is_some_and(|given| given.contains(name).unwrap_or(false));
    if said("engine") && said("device") {
        let what = "both `engine` and `device` are said: a device has its engine, `llvm` or `nvptx`";
        return Err(exception(py, "Error", what.to_string()));
    }
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        match name.as_str() {
            "mode" => {
                let mode: String = value.extract()?;
                options.mode = match mode.as_str() {
                    "algebraic" => Mode::Algebraic,
                    "strict" => Mode::Strict,
                    _ => {
                        return Err(exception(
                            py,
                            "Error",
                            format!("`{mode}` is no mode: algebraic or strict expected"),
                        ));
                    }
                };
            }
            "engine" => {
                let engine: String = value.extract()?;
                options.engine = engine.parse::<Engine>().map_err(|what| exception(py, "Error", what))?;
            }
            "device" => {
                let device: String = value.extract()?;
                options.engine = match device.as_str() {
                    "cpu" => Engine::Llvm,
                    "cuda" => Engine::Nvptx,
                    _ => {
                        let what = format!("`{device}` is no device: cpu or cuda expected");
                        return Err(exception(py, "Error", what));
                    }
                };
            }
            "memory" => options.memory = value.extract()?,
            "steps" => options.steps = value.extract()?,
            "verify" => options.verify = value.extract()?,
            _ => {
                let known = "mode, engine, device, memory, steps, verify";
                return Err(exception(py, "Error", format!("there is no option `{name}`: {known}")));
            }
        }
    }
    Ok(options)
}

/// A kernel of a program. `known` holds, for each operand that the program does not declare, its type, fill value and format.
#[pyfunction]
#[pyo3(signature = (text, known, results, file="program", options=None))]
pub fn compile(
    py: Python<'_>,
    text: String,
    known: Vec<Said<'_>>,
    results: Vec<(String, String)>,
    file: &str,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Kernel> {
    let of = |(name, (ty, fill, format)): Said| {
        let unknown = || refused(py, &name, format!("`{ty}` is no type of the language"));
        let ty = Type::from_name(&ty).ok_or_else(unknown)?;
        let fill = if fill.is_none() { Value::zero(ty) } else { crate::tensor::value(&fill, &name, ty)? };
        Ok((name, fiberloom::Given { ty, fill, format }))
    };
    let known = known.into_iter().map(of).collect::<PyResult<_>>()?;
    let making = Making { file: file.to_string(), text, known, results, options: self::options(py, options)? };
    Kernel::new(py, making)
}

impl Kernel {
    fn new(py: Python<'_>, making: Making) -> PyResult<Kernel> {
        Ok(Kernel { compiled: making.compiled(py)?, making })
    }

    fn program(&self) -> &Program {
        self.compiled.kernel.program()
    }
}

#[pymethods]
impl Kernel {
    /// Runs on operands by name: the results by name, of which those that `out` has a buffer for are copied into it.
    #[pyo3(signature = (*, out=None, **operands))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        out: Option<&Bound<'py, PyDict>>,
        operands: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let none = PyDict::new(py);
        let Prepared { compiled, operands, labels } = self.compiled.prepared(operands.unwrap_or(&none), false)?;
        let outcome = compiled.call(py, operands, None)?;
        let results = compiled.results(py, outcome, &labels)?;
        if let Some(buffers) = out {
            py.import("fiberloom._kernel")?.call_method1("copied_into", (&results, buffers))?;
        }
        Ok(results)
    }

    /// A call that another thread may end.
    fn until<'py>(
        &self,
        py: Python<'py>,
        ends: &Interrupt,
        operands: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let Prepared { compiled, operands, labels } = self.compiled.prepared(operands, false)?;
        let outcome = compiled.call(py, operands, Some(ends.0.clone()))?;
        compiled.results(py, outcome, &labels)
    }

    /// The operands checked, once for any number of runs.
    fn bound(&self, py: Python<'_>, operands: &Bound<'_, PyDict>) -> PyResult<Bind> {
        let Prepared { compiled, operands, labels } = self.compiled.prepared(operands, true)?;
        let operands = Arc::new(operands);
        let bind = Bind { compiled, call: Mutex::new(None), operands, labels };
        bind.bind(py)?;
        Ok(bind)
    }

    /// Compares a call with the reference semantics: how many values were compared, and how many could not be.
    #[pyo3(signature = (**operands))]
    fn agreement(&self, py: Python<'_>, operands: Option<&Bound<'_, PyDict>>) -> PyResult<(u64, u64)> {
        let none = PyDict::new(py);
        let Prepared { compiled: this, operands, .. } = self.compiled.prepared(operands.unwrap_or(&none), false)?;
        let compared = job::with_effort(py, Effort::Long, move |asked| {
            let mut call = this.ready(&operands, asked)?;
            let outcome = call.run()?;
            call.agrees(&outcome)
        })?;
        let compared = compared.map_err(|e| raised(py, &e))?;
        Ok((compared.values, compared.unpromised.total()))
    }

    /// A stage of the program on its way to machine code, as text; the lattice as SVG, too.
    fn stage(&self, py: Python<'_>, name: String) -> PyResult<String> {
        let (program, mode) = (self.program().clone(), self.making.options.mode);
        let shown = job::with_effort(py, Effort::Long, move |_| {
            let _compiling = Compiling::begin();
            stage(&program, mode, &name)
        })?;
        match shown.map_err(|e| raised(py, &e))? {
            Some(text) => Ok(text),
            None => Err(exception(py, "Error", format!("there is no such stage: {}", STAGES.join(", ")))),
        }
    }

    /// What is doubtful in the program.
    fn warnings(&self) -> Vec<String> {
        let given: Vec<&str> = self.making.known.iter().map(|(name, _)| name.as_str()).collect();
        self.program().warnings(&given).into_iter().map(|d| d.message).collect()
    }

    /// The program's text.
    #[getter]
    fn text(&self) -> &str {
        &self.making.text
    }

    /// Its name in messages.
    #[getter]
    fn file(&self) -> &str {
        &self.making.file
    }

    /// Of each input that is no table's: name, type, format, number of modes, and whether a call must give it.
    #[getter]
    fn inputs(&self) -> Vec<(String, &'static str, String, usize, bool)> {
        let typed = self.program().typed();
        let must = typed.inputs();
        let is_size = |name: &str| self.program().given_size(name).is_some();
        let is_must = |name: &str| is_size(name) || must.iter().any(|id| typed.tensors[id.index()].name == name);
        let of = |i: &Input| (i.name.clone(), i.ty.name(), format_name(&i.format), i.format.rank(), is_must(&i.name));
        let from_tables = self.compiled.from_tables.as_deref().unwrap_or_default();
        self.compiled.inputs.iter().filter(|input| !from_tables.contains(&input.name)).map(of).collect()
    }

    /// Of each table that a call must give: its name, and the columns that its data have to have.
    #[getter]
    fn tables(&self) -> Vec<(String, Vec<String>)> {
        let relations = self.program().relations();
        let wanted = |table| relation::wanted(relations, table).into_iter().map(|wanted| wanted.source).collect();
        let read = relations.tables.iter().filter(|table| !table.made);
        read.map(|table| (table.name.clone(), wanted(table))).collect()
    }

    /// Of each result: name, type, and format unless only data decide it.
    #[getter]
    fn results(&self) -> Vec<(String, &'static str, String)> {
        let program = self.program();
        let is_result = |t: &&fiberloom_core::notation::typed::Tensor| t.role == Role::Result;
        let of = |t: &fiberloom_core::notation::typed::Tensor| {
            let asked = self.compiled.converted.iter().find(|(name, _)| *name == t.name);
            let own = program.format_of(&t.name).map(format_name).unwrap_or_default();
            (t.name.clone(), t.ty.name(), asked.map_or(own, |(_, format)| format.clone()))
        };
        program.typed().tensors.iter().filter(is_result).map(of).collect()
    }

    /// The tensor that the last statement defines.
    #[getter]
    fn last(&self) -> &str {
        self.compiled.last()
    }

    /// What it was made of: the arguments of `compile`.
    fn made_of<'py>(&self, py: Python<'py>) -> PyResult<MadeOf<'py>> {
        self.making.said(py)
    }
}

/// The stages that can be shown.
const STAGES: [&str; 11] = [
    "syntax",
    "notation",
    "schedule",
    "concrete",
    "plan",
    "lattice",
    "lattice.svg",
    "looplets",
    "loops",
    "llvm",
    "asm",
];

fn stage(program: &Program, mode: Mode, name: &str) -> Result<Option<String>, Error> {
    Ok(Some(match name {
        "syntax" => program.syntax().to_string(),
        "notation" => program.typed().to_string(),
        // What the autoscheduler chose stands in the order of the concrete program's loops.
        "concrete" | "schedule" => program.lowered(mode)?.concrete.to_string(),
        "lattice" => program.spaces(mode)? + &program.lowered(mode)?.show_lattice(),
        "lattice.svg" => program.lowered(mode)?.draw_lattice(),
        "plan" => program.lowered(mode)?.show_plan(),
        "looplets" => program.lowered(mode)?.show_looplets(),
        "loops" => program.lowered(mode)?.kernel.to_string(),
        "llvm" => program.llvm_ir(mode)?,
        "asm" => program.assembly(mode)?,
        _ => return Ok(None),
    }))
}

/// A kernel with operands that were checked.
#[pyclass(frozen, module = "fiberloom")]
pub struct Bind {
    compiled: Arc<Compiled>,
    /// None while it runs, and after a run that was interrupted. It borrows from `operands`, which are dropped after it.
    call: Mutex<Option<(Call<'static>, Effort)>>,
    operands: Arc<Operands>,
    labels: Labels,
}

impl Bind {
    fn bind(&self, py: Python<'_>) -> PyResult<()> {
        let mut named = Vec::new();
        for (at, given) in self.operands.iter() {
            let name = self.compiled.inputs[*at].name.as_str();
            named.push((name, given.shared(name).map_err(|e| raised(py, &e))?));
        }
        let call = self.compiled.kernel.bind(&named).map_err(|e| raised(py, &e))?;
        *self.held() = Some((call, Effort::Long));
        Ok(())
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Option<(Call<'static>, Effort)>> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Bind {
    /// Runs the loops: the results, and the seconds that the engine took.
    fn timed<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyDict>, f64)> {
        let taken = self.held().take();
        let (call, effort) = match taken {
            Some(ready) => ready,
            // Another thread runs it, or a run was interrupted.
            None => {
                self.bind(py)?;
                match self.held().take() {
                    Some(ready) => ready,
                    None => return Err(exception(py, "Error", "the call is run by several threads at once")),
                }
            }
        };
        let operands = self.operands.clone();
        let (ran, call, time) = job::with_effort(py, effort, move |asked| {
            let begin = Instant::now();
            let mut call = until(call, asked);
            let ran = compiled(&mut call).and_then(|()| call.run());
            // Until here the call reads what the operands hold.
            drop(operands);
            (ran, call, begin.elapsed())
        })?;
        *self.held() = Some((call, Effort::of(time)));
        let outcome = ran.map_err(|e| raised(py, &e))?;
        let seconds = outcome.time.as_secs_f64();
        Ok((self.compiled.results(py, outcome, &self.labels)?, seconds))
    }
}
