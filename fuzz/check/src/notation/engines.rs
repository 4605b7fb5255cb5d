//! A program and its data on an engine, against its meaning.
//!
//! A finding is anything but the meaning's answer in a well-formed tensor: a wrong value, a malformed result, a rule of
//! the machine broken, a refusal, a panic, a print that is read as something else. Nothing is skipped but what the program's
//! maker says may be (`subject.rs`), by name.

use super::device::Device;
use super::einsum;
use super::extents;
use super::planned;
use super::subject::{Operands, Subject};
use super::work::{Stage, Work};
use arbitrary::Unstructured;
use fiberloom_codegen::{Compiled, Limits, OptLevel, Pieces, compile};
use fiberloom_core::algebra::{Mode, Value};
use fiberloom_core::format::{Array, Assembly, Entries, Format, Tensor};
use fiberloom_core::notation::{self, typed};
use fiberloom_core::shape;
use fiberloom_loops::Options;
use fiberloom_loops::{self as loops, Bound, Failure, Kernel, Sound, Stmt, Tiles};
use fiberloom_semantics::algebra::same;
use fiberloom_semantics::meaning::{Function, Refusal};
use fiberloom_semantics::{agree, machine, meaning};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What answers, beside the meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The checker and the meaning alone: pointwise, and over what is stored, in both modes.
    Meaning,
    /// Loops, interpreted.
    Loops,
    /// The same, as they were emitted and after each rewrite; and every print is read back.
    Rewrites,
    /// Machine code between fences, made at each of these levels; where there are several, their answers are compared.
    Llvm(&'static [OptLevel]),
    /// Parallel loops as code for a GPU, on the machine for it; the rest of the kernel interpreted.
    Ptx,
}

impl Engine {
    /// Whether what is printed is read back, too: it takes as long as to interpret loops.
    fn reads_back(self) -> bool {
        !matches!(self, Engine::Loops | Engine::Ptx)
    }
}

/// Statements that one function of machine code holds where generated kernels are cut.
const CUT: usize = 6;

/// Both levels, that without optimization first.
pub const BOTH: &[OptLevel] = &[OptLevel::None, OptLevel::Full];

/// What is said of an extent that nothing says, here and by other stages.
pub const UNKNOWN: &str = "is unknown";

/// What became of a program that gave no finding.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It answered as its meaning on all data.
    Ran(Work),
    /// It is one that need not run: why, in a word or two.
    Left(&'static str),
}

/// A program that went wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    /// In a word or two; cases with other words are other findings.
    pub kind: &'static str,
    /// What was seen.
    pub what: String,
    /// The kernel, where there was one.
    pub kernel: Option<Box<Sound>>,
    /// On which of the program's data: its own are the first, 0.
    pub draw: u64,
}

impl Finding {
    /// Kinds of findings that are refusals.
    const REFUSALS: [&'static str; 4] = ["checker", "extents", "meaning", "refusal"];

    pub(super) fn new(kind: &'static str, what: impl ToString) -> Finding {
        Finding { kind, what: what.to_string(), kernel: None, draw: 0 }
    }

    /// Whether another is one of the same thing: of refusals only those in the same words, but for names and numbers, since a smaller
    /// program may be refused for what is wrong with it.
    pub(super) fn is_like(&self, other: &Finding) -> bool {
        let refused = Finding::REFUSALS.contains(&self.kind);
        self.kind == other.kind && (!refused || unnamed(&self.what) == unnamed(&other.what))
    }
}

/// A message without names and numbers.
fn unnamed(message: &str) -> String {
    let outside = message.split('`').step_by(2);
    outside.flat_map(str::chars).filter(|c| !c.is_ascii_digit() && *c != '-').collect()
}

/// What stops a run.
pub(super) enum Stop {
    Finding(Finding),
    Left(&'static str),
}

impl From<Finding> for Stop {
    fn from(finding: Finding) -> Stop {
        Stop::Finding(finding)
    }
}

/// That a stage refuses the program in these words: a finding of this kind, unless its maker says that it may.
pub(super) fn refused(subject: &impl Subject, kind: &'static str, words: impl ToString) -> Stop {
    let words = words.to_string();
    match subject.left_out(kind, &words) {
        Some(why) => Stop::Left(why),
        None => Stop::Finding(Finding::new(kind, words)),
    }
}

/// Runs a program on its data.
///
/// # Errors
/// The finding.
pub fn run(subject: &impl Subject, engine: Engine) -> Result<Outcome, Finding> {
    run_on(subject, engine, &[])
}

/// The same, on its data and on others that are drawn from these seeds.
///
/// # Errors
/// The first finding, which says on which data.
pub fn run_on(subject: &impl Subject, engine: Engine, others: &[u64]) -> Result<Outcome, Finding> {
    let mut kernel = None;
    guarded(&mut |draw| try_run(subject, engine, others, &mut kernel, draw))
        .map_err(|found| Finding { kernel, ..found })
}

thread_local! {
    /// Where this thread panicked last, if that is noted.
    static PLACE: Cell<String> = const { Cell::new(String::new()) };
}

/// Notes where threads panic, for their findings, in the place of printing it.
pub fn note_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" (in {at})")).unwrap_or_default();
        PLACE.set(place);
    }));
}

/// What a run comes to: a panic is a finding too. The run says on which of its data it is.
///
/// # Errors
/// The finding.
pub(super) fn guarded(run: &mut dyn FnMut(&mut u64) -> Result<Work, Stop>) -> Result<Outcome, Finding> {
    let mut draw = 0;
    let ran = catch_unwind(AssertUnwindSafe(|| run(&mut draw)));
    let ran = ran.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        Err(Finding::new("panic", format!("{}{}", text.unwrap_or_default(), PLACE.take())).into())
    });
    match ran {
        Ok(work) => Ok(Outcome::Ran(work)),
        Err(Stop::Left(why)) => Ok(Outcome::Left(why)),
        Err(Stop::Finding(f)) => Err(Finding { draw, ..f }),
    }
}

/// The program on the data of a seed.
pub fn on_other_data<S: Subject>(subject: &S, seed: u64) -> S {
    subject.redrawn(&mut Unstructured::new(&crate::bytes(seed, DATA)))
}

/// Bytes that data are drawn from.
const DATA: usize = 1000;

fn try_run<S: Subject>(
    subject: &S,
    engine: Engine,
    others: &[u64],
    made: &mut Option<Box<Sound>>,
    draw: &mut u64,
) -> Result<Work, Stop> {
    let mut work = Work::default();
    let typed = work.time(Stage::Check, || checked(subject, engine.reads_back()))?;
    let mut stages = vec![];
    let mut summed = BTreeSet::new();
    if engine != Engine::Meaning {
        let lowered = work.time(Stage::Lower, || lowered(subject, &typed, engine, &BTreeSet::new()))?;
        (stages, summed) = (lowered.stages, lowered.summed);
        work.counting += u64::from(lowered.counts);
        *made = Some(Box::new(lowered.kernel));
        work.kernels = 1;
    }
    let kernel = made.as_deref();
    let codes = kernel.map_or(Ok(vec![]), |k| codes(subject, k, &stages, engine, &mut work))?;
    let made = Made { typed: &typed, engine, kernel, codes, summed };
    on_data(subject, &made, &mut work)?;
    // Other data may have no meaning: extents that contradict each other, a fold of nothing.
    let mut on_other = |data: &S| match on_data(data, &made, &mut work) {
        Err(Stop::Left(_)) => Ok(()),
        other => other,
    };
    // A kernel answers for whatever extents its operands have.
    for short in [1, 0].into_iter().filter_map(|extent| subject.shortened(extent)) {
        on_other(&short)?;
    }
    for seed in others {
        *draw += 1;
        on_other(&on_other_data(subject, *seed))?;
    }
    Ok(work)
}

/// What was made of a program, for data of any extents but those of what it sums over: where such a one is 0 it is made anew.
struct Made<'k> {
    typed: &'k typed::Program,
    engine: Engine,
    kernel: Option<&'k Sound>,
    codes: Vec<Code<'k>>,
    /// Variables whose extents are not 0.
    summed: BTreeSet<typed::VarId>,
}

/// Runs codes on a program's data.
fn on_data(subject: &impl Subject, made: &Made, work: &mut Work) -> Result<(), Stop> {
    let Made { typed, engine, kernel, codes, summed } = made;
    let Some(operands) = subject.operands(typed) else { return Err(Stop::Left("no data")) };
    let typed = &typed.with_sizes(&subject.sizes(typed));
    let extents = solved(typed, &operands).map_err(|words| refused(subject, "extents", words))?;
    extents::follow(typed, &extents).map_err(|e| Finding::new("formula", e))?;
    let empty: BTreeSet<_> = summed.iter().copied().filter(|v| extents.var(*v) == 0).collect();
    if empty.is_empty() {
        return compared(subject, (typed, *kernel, codes), (&operands, &extents), work);
    }
    let again = work.time(Stage::Lower, || lowered(subject, made.typed, *engine, &empty))?;
    let codes = self::codes(subject, &again.kernel, &again.stages, *engine, work)?;
    compared(subject, (typed, Some(&again.kernel), &codes), (&operands, &extents), work)
}

/// Compares what codes make of data with what these mean.
fn compared(
    subject: &impl Subject,
    (typed, kernel, codes): (&typed::Program, Option<&Sound>, &[Code]),
    (operands, extents): (&Operands, &typed::Extents),
    work: &mut Work,
) -> Result<(), Stop> {
    let (mode, limits) = (subject.mode(), subject.limits());
    let evaluate = if subject.is_long() { meaning::evaluate_stored } else { meaning::evaluate };
    let meant = work.time(Stage::Meaning, || evaluate(typed, operands, mode, &limits));
    let too_many = meant == Err(Refusal::Turns);
    let meant = match meant {
        Err(Refusal::Turns) => BTreeMap::new(),
        meant => meant.map_err(|e| refused(subject, "meaning", format!("{e:?}")))?,
    };
    let Some(kernel) = kernel else {
        return if too_many { Ok(()) } else { Ok(stored_agrees(typed, operands)?) };
    };
    let given: Vec<(&str, &Tensor)> = operands.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let bound = loops::bind(kernel, &given, &|t| extents_of(typed, extents, t), extents);
    let bound = bound.map_err(|e| Finding::new("bind", e))?;
    let mut first = None;
    for code in codes {
        if too_many {
            code.stops(&bound)?;
            continue;
        }
        let results = code.run(kernel, &bound, &subject.machine_limits(), work);
        let Some(results) = results.map_err(|f| refused(subject, f.kind, f.what))? else {
            unheld(typed, kernel, (&meant, mode))?;
            continue;
        };
        results.iter().try_for_each(|(name, tensor)| well_formed(name, tensor))?;
        let Some(results) = settled(typed, kernel, results, (&meant, mode))? else { continue };
        work.time(Stage::Compare, || {
            results.iter().try_for_each(|(name, tensor)| answers(name, tensor, &meant, mode))?;
            alike(first.get_or_insert(results.clone()), &results, (&meant, mode))
        })?;
    }
    Ok(())
}

/// The program, whose sums stand where the rule says, and whose print reads as itself, if that is asked for.
pub(super) fn checked(subject: &impl Subject, reads_back: bool) -> Result<typed::Program, Stop> {
    let text = subject.to_string();
    let (syntax, wrong) = fiberloom_front::parse(&text);
    let syntax = syntax.filter(|_| wrong.is_empty()).ok_or_else(|| Finding::new("parser", first(&wrong)))?;
    if reads_back && fiberloom_front::parse(&syntax.to_string()).0.as_ref() != Some(&syntax) {
        return Err(Finding::new("round trip", &syntax).into());
    }
    let typed = fiberloom::relation::check(&syntax).map_err(|wrong| {
        super::stand_in(&text, &wrong);
        refused(subject, "checker", first(&wrong))
    })?;
    einsum::by_the_rule(&syntax, &typed).map_err(|what| Finding::new("einsum", what))?;
    Ok(typed)
}

/// What is wrong first.
fn first(wrong: &[notation::Diagnostic]) -> &str {
    wrong.first().map_or("", |d| &d.message)
}

/// A kernel, with what it was after each rewrite, and what it sums over.
struct Lowered {
    kernel: Sound,
    stages: Vec<Kernel>,
    summed: BTreeSet<typed::VarId>,
    /// Whether a loop that appends counts first, for a GPU.
    counts: bool,
}

/// The kernel, whose print reads as itself, if the engine asks for that; so does that of the concrete notation before it. And the kernel as it was
/// emitted and after each rewrite, for the engine that runs them; and in strips of two, in the least tiles and copies, and as GPUs run it, which
/// is the kernel for the engine that does.
fn lowered(
    subject: &impl Subject,
    typed: &typed::Program,
    engine: Engine,
    empty: &BTreeSet<typed::VarId>,
) -> Result<Lowered, Stop> {
    let mut stages = Vec::new();
    let lists = engine == Engine::Ptx;
    let options = Options { mode: subject.mode(), empty: empty.clone(), lists, ..subject.options(typed) };
    let lowered = fiberloom_lower::lower_by(typed, &options, &mut |name, kernel| {
        if engine != Engine::Rewrites {
            return;
        }
        stages.push(kernel.clone());
        if name == "emitted" {
            // Rows of so few entries as are generated make no strip of the usual length, no tile and no copy of keys.
            let mut short = kernel.clone();
            loops::strip_mine_by(&mut short, 2);
            stages.push(short);
            let mut small = kernel.clone();
            loops::tiles_of(&mut small, &Tiles::LEAST);
            loops::ranks_of(&mut small, [1, 1]);
            stages.push(small);
        }
    });
    let lowered = lowered.map_err(|wrong| {
        super::stand_in(&subject.to_string(), &wrong);
        refused(subject, "refusal", first(&wrong))
    })?;
    let summed = lowered.asked.summed.clone();
    if engine == Engine::Ptx {
        let kernel = Sound::new(loops::for_device(&lowered.kernel)).map_err(|e| Finding::new("counted first", e))?;
        let counts = appending(&lowered.kernel.body) > appending(&kernel.body);
        return Ok(Lowered { kernel, stages, summed, counts });
    }
    if engine == Engine::Rewrites {
        stages.push(loops::for_device(&lowered.kernel));
    }
    if !engine.reads_back() || !empty.is_empty() {
        return Ok(Lowered { kernel: lowered.kernel, stages, summed, counts: false });
    }
    planned::reads_back(subject, &lowered)?;
    let print = lowered.concrete.to_string();
    if notation::concrete::read(&print).as_ref() != Ok(&lowered.concrete) {
        return Err(Finding::new("concrete round trip", print).into());
    }
    planned::makes_its_loops(typed, &options, &lowered)?;
    let text = lowered.kernel.to_string();
    if loops::read(&text).map(|k| k.to_string()).as_ref() != Ok(&text) {
        return Err(Finding::new("loops read back", text).into());
    }
    Ok(Lowered { kernel: lowered.kernel, stages, summed, counts: false })
}

/// The number of parallel loops that append.
fn appending(block: &[Stmt]) -> usize {
    let each = |stmt: &Stmt| match stmt {
        Stmt::For { how, .. } if !how.joined().is_empty() => 1,
        _ => stmt.blocks().map(appending).sum(),
    };
    block.iter().map(each).sum()
}

/// What runs a kernel.
enum Code<'k> {
    /// With the number of its buffers: a rewrite may have made workspaces, which kernels before it lack.
    Loops(machine::Prepared<'k>, usize),
    Machine(OptLevel, Compiled),
    Device(Device<'k>),
}

/// What an engine runs a kernel by.
fn codes<'k>(
    subject: &impl Subject,
    kernel: &'k Sound,
    stages: &'k [Kernel],
    engine: Engine,
    work: &mut Work,
) -> Result<Vec<Code<'k>>, Stop> {
    let loops = |buffers: usize, prepared: Result<machine::Prepared<'k>, machine::Fault>| {
        prepared.map(|code| Code::Loops(code, buffers)).map_err(|e| Finding::new("fault", e).into())
    };
    let here = kernel.buffers.len();
    let levels = match engine {
        Engine::Meaning => return Ok(vec![]),
        Engine::Loops => return Ok(vec![loops(here, work.time(Stage::Run, || machine::Prepared::of(kernel)))?]),
        Engine::Rewrites => {
            let prepared = |s: &'k Kernel| loops(s.buffers.len(), work.time(Stage::Run, || machine::Prepared::new(s)));
            return stages.iter().map(prepared).collect();
        }
        Engine::Ptx if !kernel.is_parallel() => return Err(Stop::Left("no loop for a device")),
        Engine::Ptx => {
            let made = work.time(Stage::Compile(OptLevel::Full), || Device::all(kernel));
            let made = made.map_err(|f| refused(subject, f.kind, f.what))?;
            let Some(own) = made.first() else { return Err(Stop::Left("no loop for a device")) };
            work.shared += u64::from(own.has_shared_memory());
            work.parts += u64::from(own.has_parts);
            // The interpreter says sooner than a launch that an extent of 2³³ is visited.
            let before = subject.is_long().then(|| loops(here, machine::Prepared::of(kernel)));
            return before.into_iter().chain(made.into_iter().map(|device| Ok(Code::Device(device)))).collect();
        }
        Engine::Llvm(levels) => levels,
    };
    let mut made = |opt_level: &OptLevel| {
        // What is generated is short: without optimization it is cut as if it were long.
        let long = if *opt_level == OptLevel::None { CUT } else { fiberloom_codegen::Options::LONG };
        // As the library compiles what users run.
        let interruptible = true;
        let options = fiberloom_codegen::Options { opt_level: *opt_level, long, interruptible, ..Default::default() };
        let code = work.time(Stage::Compile(*opt_level), || compile(kernel, &options));
        let code = code.map_err(|e| refused(subject, "codegen", e))?;
        work.code(*opt_level).kernels += 1;
        Ok(Code::Machine(*opt_level, code))
    };
    // Nothing stops machine code that visits an extent of 2³³.
    let before = subject.is_long().then(|| loops(here, machine::Prepared::of(kernel)));
    before.into_iter().chain(levels.iter().map(&mut made)).collect()
}

impl Code<'_> {
    /// It takes as many turns of blocks as it may, and stops.
    fn stops(&self, bound: &Bound) -> Result<(), Finding> {
        let stopped = match self {
            Code::Loops(prepared, n) => match prepared.run(&bound.params, &arrays(bound, *n), &Default::default()) {
                Err(machine::Fault::Stopped(failure)) => Some(failure),
                _ => None,
            },
            Code::Device(device) => device.run(bound, &Default::default(), &mut Work::default())?.err(),
            // SAFETY: as below.
            #[allow(unsafe_code)]
            Code::Machine(_, code) => {
                unsafe { code.run_fenced(&bound.params, &bound.arrays(), &Default::default()) }.err()
            }
        };
        match stopped {
            Some(Failure::Turns) => Ok(()),
            other => Err(Finding::new("limit on turns", format!("{other:?}"))),
        }
    }

    /// Its results; `None` if it says that a format has no place for some value. Machine code has every operand between fences.
    fn run(
        &self,
        kernel: &Kernel,
        bound: &Bound,
        limits: &machine::Limits,
        work: &mut Work,
    ) -> Result<Option<Results>, Finding> {
        let buffers = match self {
            Code::Loops(prepared, n) => {
                let run = || prepared.run(&bound.params, &arrays(bound, *n), limits);
                let ran = match work.time(Stage::Run, run) {
                    Err(machine::Fault::Stopped(Failure::Unheld)) => return Ok(None),
                    ran => ran.map_err(|e| Finding::new("fault", e))?,
                };
                work.interpreted += 1;
                work.ops += ran.ops.total();
                ran.buffers
            }
            Code::Device(device) => match work.time_of_run(|work| device.run(bound, limits, work))? {
                Err(Failure::Unheld) => return Ok(None),
                ran => ran.map_err(|e| Finding::new("failure", format!("{e:?}")))?,
            },
            Code::Machine(level, code) => {
                // SAFETY: the kernel was lowered and is bound to well-formed tensors; what is wrong with it, fences
                // shall show.
                #[allow(unsafe_code)]
                let run = |limits| unsafe { code.run_fenced(&bound.params, &bound.arrays(), &limits) };
                let ran = work.time(Stage::Run, || run(Limits::default()));
                work.code(*level).executions += 1;
                if kernel.is_parallel() {
                    let mut each = |threads| {
                        work.code(*level).executions += 1;
                        run(Limits { pieces: Pieces::Each(threads), ..Limits::default() })
                    };
                    // Where iterations fold, floats are regrouped by pieces, and a short loop is one.
                    let one = if folds(&kernel.body) { each(1) } else { ran.clone() };
                    for threads in THREADS {
                        let other = each(threads);
                        if bits(&other) != bits(&one) {
                            let what = format!("{threads} threads make {other:?}, and one makes {one:?}");
                            return Err(Finding::new("threads", what));
                        }
                    }
                }
                match ran {
                    Err(Failure::Unheld) => return Ok(None),
                    ran => ran.map_err(|e| Finding::new("failure", format!("{e:?}")))?,
                }
            }
        };
        Ok(Some(loops::collect(kernel, bound, &mut loops::taken(buffers)).expect("memory")))
    }
}

/// Numbers of threads on which parallel loops run, besides one.
const THREADS: [usize; 2] = [2, 7];

/// Whether iterations of a parallel loop fold.
fn folds(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| {
        let here = matches!(stmt, Stmt::For { how, .. } if !how.folded().is_empty() || !how.arrays().is_empty());
        here || stmt.blocks().any(folds)
    })
}

/// The bits of results, or the failure.
pub(super) fn bits<E: Clone>(made: &Result<Vec<Option<Array>>, E>) -> Result<Vec<Option<Vec<u64>>>, E> {
    let of = |array: &Array| (0..array.len()).map(|n| array.get(n).bits()).collect();
    made.as_ref().map(|arrays| arrays.iter().map(|array| array.as_ref().map(of)).collect()).map_err(E::clone)
}

/// What a kernel with so many buffers is called with, operands first: all that rewrites add or take away are workspaces behind them.
fn arrays<'b>(bound: &'b Bound, buffers: usize) -> Vec<Option<&'b Array<'b>>> {
    let mut arrays = bound.arrays();
    arrays.resize(buffers, None);
    arrays
}

/// Results in their own formats; `None` if one of them is refused that holds, as the meaning says too, what its format has no
/// place for.
fn settled(
    typed: &typed::Program,
    kernel: &Kernel,
    results: Results,
    (meant, mode): (&BTreeMap<String, Function>, Mode),
) -> Result<Option<Results>, Finding> {
    let declared = |t: typed::TensorId| typed.tensors[t.index()].format.as_ref();
    let how = Assembly { rounded: mode == Mode::Algebraic, ..Assembly::default() };
    let (name, why) = match loops::settle(kernel, results, &declared, &how) {
        Ok(settled) => return Ok(Some(settled)),
        Err(refused) => refused,
    };
    let made = kernel.arguments.iter().find(|a| a.name == name && !a.operand).expect("it is a result");
    let format = declared(made.tensor).expect("what is refused is declared");
    match holds(&meant[&name], format, mode) {
        true => Err(Finding::new("refused result", format!("`{name}`: {why}"))),
        false => Ok(None),
    }
}

/// Whether a format has a place for every value of a function, whatever is rounded in it.
fn holds(f: &Function, format: &Format, mode: Mode) -> bool {
    let how = Assembly { rounded: mode == Mode::Algebraic, ..Assembly::default() };
    let entries = f.entries.iter().map(|(at, number)| (at.clone(), number.value));
    let exact = mode == Mode::Strict || f.entries.values().chain([&f.fill]).all(|n| n.error() == 0.0);
    let held = Entries::of(f.extents.len(), f.ty, entries).unwrap().assemble(&f.extents, format, f.fill.value, &how);
    held.is_ok() && exact
}

/// That some result has a value, as the meaning says too, for which its format has no place.
fn unheld(
    typed: &typed::Program,
    kernel: &Kernel,
    (meant, mode): (&BTreeMap<String, Function>, Mode),
) -> Result<(), Finding> {
    let held = |a: &loops::Argument| {
        let format = typed.tensors[a.tensor.index()].format.as_ref();
        format.is_none_or(|format| holds(&meant[&a.name], format, mode))
    };
    match kernel.arguments.iter().filter(|a| !a.operand).all(held) {
        true => Err(Finding::new("refused result", "no value is where its format has no place")),
        false => Ok(()),
    }
}

/// Two levels' answers are one, or those of loops before and after a rewrite: every array, but for the bits of NaN and, in algebraic mode, the sign
/// of zero. Where sums may be rounded they may be so in another order, and only the meaning bounds them.
fn alike(one: &Results, other: &Results, (meant, mode): (&BTreeMap<String, Function>, Mode)) -> Result<(), Finding> {
    let exact = |f: &Function| f.fill.error() == 0.0 && f.entries.values().all(|n| n.error() == 0.0);
    if mode == Mode::Algebraic && !meant.values().all(exact) {
        return Ok(());
    }
    let zero = |x: Value| mode == Mode::Algebraic && x.ty().is_float() && x.as_f64() == 0.0;
    let equal = |(x, y): (Value, Value)| x == y || x.is_nan() && y.is_nan() || zero(x) && zero(y);
    for ((name, a), (_, b)) in one.iter().zip(other) {
        let values = a.values.len() == b.values.len() && a.values.iter().zip(b.values.iter()).all(equal);
        if !values || a.levels != b.levels || !equal((a.fill, b.fill)) {
            return Err(Finding::new("codes differ", format!("`{name}`: {a:?}\nand after more passes {b:?}")));
        }
    }
    Ok(())
}

pub(super) type Results = Vec<(String, Tensor<'static>)>;

/// A result is well-formed (sorted, unique, in bounds) and the function that is meant.
pub(super) fn answers(
    name: &str,
    tensor: &Tensor,
    meant: &BTreeMap<String, Function>,
    mode: Mode,
) -> Result<(), Finding> {
    well_formed(name, tensor)?;
    let meaning = meant.get(name).ok_or_else(|| Finding::new("result", name))?;
    agree(meaning, tensor, mode).map_err(|e| Finding::new("answer", format!("`{name}` {e}")))?;
    Ok(())
}

/// A tensor is sorted, without duplicates, in bounds.
fn well_formed(name: &str, tensor: &Tensor) -> Result<(), Finding> {
    tensor.check().map_err(|e| Finding::new("malformed", format!("`{name}`: {e}")))
}

/// The evaluation over what is stored is held to the pointwise one.
fn stored_agrees(typed: &typed::Program, operands: &BTreeMap<String, Tensor>) -> Result<(), Finding> {
    let limits = Default::default();
    for mode in [Mode::Algebraic, Mode::Strict] {
        let refused = |e| Finding::new("stored refused", format!("{e:?}"));
        let pointwise = meaning::evaluate(typed, operands, mode, &limits).map_err(refused)?;
        let stored = meaning::evaluate_stored(typed, operands, mode, &limits).map_err(refused)?;
        for (name, function) in pointwise {
            let equal = same(&function, &stored[&name], mode);
            equal.map_err(|e| Finding::new("stored", format!("{mode:?} `{name}` {e}")))?;
        }
    }
    Ok(())
}

/// The extents of a tensor's modes.
fn extents_of(typed: &typed::Program, extents: &shape::Extents, t: typed::TensorId) -> Vec<u64> {
    typed.tensors[t.index()].sizes.iter().map(|s| extents.sizes[s.index()]).collect()
}

/// The extents on these operands, or what keeps them from being known.
pub(super) fn solved(typed: &typed::Program, operands: &BTreeMap<String, Tensor>) -> Result<shape::Extents, String> {
    let named = typed.tensors.iter().enumerate();
    let given = named.filter_map(|(t, a)| Some((typed::TensorId(t as u32), operands.get(&a.name)?.extents.clone())));
    shape::solve(typed, &given.collect::<Vec<_>>()).map_err(|unsolved| match unsolved {
        shape::Unsolved::Unknown(_) | shape::Unsolved::Unsaid(_) => UNKNOWN.to_string(),
        shape::Unsolved::Contradiction(d) => d.message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fiberloom_core::algebra::Type;
    use fiberloom_core::format::{Array, Format, Level};

    /// A refusal is the same whatever names and numbers it has; other findings are by their kind.
    #[test]
    fn refusals_are_told_apart_by_their_words() {
        let like = |kind, a: &str, b: &str| Finding::new(kind, a).is_like(&Finding::new(kind, b));
        assert!(like("checker", "mode 0 of `R0` is -3", "mode 1 of `R1` is 12"));
        assert!(!like("checker", "mode 0 of `R0` is 3", "`W0` occurs nowhere"));
        assert!(!Finding::new("checker", "as it is").is_like(&Finding::new("extents", "as it is")));
        assert!(like("answer", "`R0` is 3", "other words"));
    }

    /// A wrong order, a coordinate twice, one that leaves its mode, positions that do not fit, and a wrong value.
    #[test]
    fn malformed_and_wrong_results_are_findings() {
        let csr = Format::named("csr", 2).expect("matrices have it");
        let entries =
            [(vec![0, 1], 5), (vec![0, 3], 6), (vec![2, 0], 7)].map(|(at, x)| (at, Value::from_i128(Type::I64, x)));
        let good = Tensor::from_entries(vec![3, 4], csr, Value::zero(Type::I64), Type::I32, Type::I32, entries);
        let good = good.expect("well-formed");
        let meant = BTreeMap::from([("R".to_string(), meaning::Function::of(&good))]);
        assert!(answers("R", &good, &meant, Mode::Algebraic).is_ok());
        let array = |a: &[i32]| Array::from(a.to_vec());
        let kind = |pos: &[i32], crd: &[i32]| {
            let mut bad = good.clone();
            bad.levels[1] = Level::Compressed { pos: array(pos), crd: array(crd) };
            answers("R", &bad, &meant, Mode::Algebraic).expect_err("it is malformed or wrong").kind
        };
        assert_eq!(kind(&[0, 2, 2, 3], &[3, 1, 0]), "malformed");
        assert_eq!(kind(&[0, 2, 2, 3], &[1, 1, 0]), "malformed");
        assert_eq!(kind(&[0, 2, 2, 3], &[1, 4, 0]), "malformed");
        assert_eq!(kind(&[0, 2, 2, 3], &[-1, 3, 0]), "malformed");
        assert_eq!(kind(&[0, 2, 1, 3], &[1, 3, 0]), "malformed");
        assert_eq!(kind(&[0, 2, 2, 4], &[1, 3, 0]), "malformed");
        assert_eq!(kind(&[0, 2, 2, 3], &[1, 2, 0]), "answer");
        let error = answers("S", &good, &meant, Mode::Algebraic).expect_err("nothing is meant by that name");
        assert_eq!(error.kind, "result");
    }
}
