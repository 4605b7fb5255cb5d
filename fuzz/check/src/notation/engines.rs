//! A case on an engine, against its meaning.
//!
//! A finding is anything but the meaning's answer in a well-formed tensor: a wrong value, a malformed result, a rule of
//! the machine broken, a refusal, a panic, a print that is read as something else. Nothing is skipped, except a program
//! whose extents nothing says, or which folds nothing with a function that has no identity.

use super::case::{Case, redrawn};
use super::extents;
use super::fitted::fitted;
use super::work::{Stage, Work};
use arbitrary::Unstructured;
use fiberloom_codegen::{Compiled, OptLevel, compile};
use fiberloom_core::algebra::{Mode, Type, Value};
use fiberloom_core::format::{Assembly, Entries, Tensor};
use fiberloom_core::loops::{self, Bound, Kernel, Sound};
use fiberloom_core::notation::{self, typed};
use fiberloom_core::{Options, Widths, shape};
use fiberloom_semantics::algebra::same;
use fiberloom_semantics::meaning::Function;
use fiberloom_semantics::{agree, machine, meaning};
use std::collections::BTreeMap;
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
}

impl Engine {
    /// Whether what is printed is read back, too: it takes as long as to interpret loops.
    fn reads_back(self) -> bool {
        self != Engine::Loops
    }
}

/// Both levels, that without optimization first.
pub const BOTH: &[OptLevel] = &[OptLevel::None, OptLevel::Full];

/// A case that went wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    /// In a word or two; cases with other words are other findings.
    pub kind: &'static str,
    /// What was seen.
    pub what: String,
    /// The kernel, where there was one.
    pub kernel: Option<Box<Sound>>,
    /// On which of the program's data: those of the case are the first, 0.
    pub draw: u64,
}

impl Finding {
    fn new(kind: &'static str, what: impl ToString) -> Finding {
        Finding { kind, what: what.to_string(), kernel: None, draw: 0 }
    }
}

/// Runs a case: what was done, `None` where nothing says an extent.
///
/// # Errors
/// The finding.
pub fn run(case: &Case, engine: Engine) -> Result<Option<Work>, Finding> {
    run_on(case, engine, &[])
}

/// The same, on the case's data and on others that are drawn from these seeds.
///
/// # Errors
/// The first finding, which says on which data.
pub fn run_on(case: &Case, engine: Engine, others: &[u64]) -> Result<Option<Work>, Finding> {
    let (mut kernel, mut draw) = (None, 0);
    let ran = catch_unwind(AssertUnwindSafe(|| try_run(case, engine, others, &mut kernel, &mut draw)));
    let ran = ran.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        Err(Finding::new("panic", text.unwrap_or_default()))
    });
    ran.map_err(|f| Finding { kernel, draw, ..f })
}

/// The case on the data of a seed.
pub fn on_other_data(case: &Case, seed: u64) -> Case {
    redrawn(case, &mut Unstructured::new(&crate::bytes(seed, DATA)))
}

/// Bytes that data are drawn from.
const DATA: usize = 1000;

fn try_run(
    case: &Case,
    engine: Engine,
    others: &[u64],
    made: &mut Option<Box<Sound>>,
    draw: &mut u64,
) -> Result<Option<Work>, Finding> {
    let mut work = Work::default();
    let checked = work.time(Stage::Check, || checked(case, engine.reads_back()))?;
    let Some(typed) = checked else { return Ok(None) };
    let mut stages = vec![];
    if engine != Engine::Meaning {
        let (kernel, before) = work.time(Stage::Lower, || lowered(case, &typed, engine))?;
        stages = before;
        *made = Some(Box::new(kernel));
        work.kernels = 1;
    }
    let kernel = made.as_deref();
    let codes = kernel.map_or(Ok(vec![]), |k| codes(k, &stages, engine, &mut work))?;
    // A kernel answers for whatever extents its operands have.
    for extent in [u64::MAX, 1, 0] {
        on_data(&case.shortened(extent), &typed, kernel, &codes, &mut work)?;
    }
    for seed in others {
        *draw += 1;
        on_data(&on_other_data(case, *seed), &typed, kernel, &codes, &mut work)?;
    }
    Ok(Some(work))
}

/// Runs codes on a case's data, if its extents are known.
fn on_data(
    case: &Case,
    typed: &typed::Program,
    kernel: Option<&Sound>,
    codes: &[Code],
    work: &mut Work,
) -> Result<(), Finding> {
    let operands = operands(case, typed);
    let Some(extents) = solved(typed, &operands)? else { return Ok(()) };
    extents::follow(typed, &extents).map_err(|e| Finding::new("formula", e))?;
    let evaluate = || meaning::evaluate(typed, &operands, case.mode, &Default::default());
    let meant = work.time(Stage::Meaning, evaluate).map_err(|e| Finding::new("meaning", format!("{e:?}")))?;
    let Some(kernel) = kernel else { return stored_agrees(typed, &operands) };
    let given: Vec<(&str, &Tensor)> = operands.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let bound = loops::bind(kernel, &given, &|t| extents_of(typed, &extents, t), &|v| extents.var(v));
    let bound = bound.map_err(|e| Finding::new("bind", e))?;
    let mut first = None;
    for code in codes {
        let results = code.run(kernel, &bound, work)?;
        let Some(results) = settled(typed, kernel, results, (&meant, case.mode))? else { continue };
        work.time(Stage::Compare, || {
            results.iter().try_for_each(|(name, tensor)| answers(name, tensor, &meant, case.mode))?;
            alike(first.get_or_insert(results.clone()), &results, (&meant, case.mode))
        })?;
    }
    Ok(())
}

/// What is said of a fold over nothing whose function has no identity.
const NO_VALUE: &str = "has no value";

/// The program, whose print reads as itself, if that is asked for; `None` where nothing says an extent.
fn checked(case: &Case, reads_back: bool) -> Result<Option<typed::Program>, Finding> {
    let first = |wrong: &[notation::Diagnostic]| wrong.first().map_or(String::new(), |d| d.message.clone());
    let (syntax, wrong) = fiberloom_front::parse(&case.to_string());
    let syntax = syntax.filter(|_| wrong.is_empty()).ok_or_else(|| Finding::new("parser", first(&wrong)))?;
    if reads_back && fiberloom_front::parse(&syntax.to_string()).0.as_ref() != Some(&syntax) {
        return Err(Finding::new("round trip", &syntax));
    }
    match notation::check(&syntax) {
        Ok(typed) => Ok(Some(typed)),
        // Nothing says an extent, a sum rebinds a variable that is free beside it, or a fold over nothing has no value.
        Err(wrong) if ["is unknown", "is bound already", NO_VALUE].iter().any(|w| first(&wrong).contains(w)) => {
            Ok(None)
        }
        Err(wrong) => Err(Finding::new("checker", first(&wrong))),
    }
}

/// The kernel, whose print reads as itself, if the engine asks for that; so does that of the concrete notation before it. And the kernel as it was
/// emitted and after each rewrite, for the engine that runs them.
fn lowered(case: &Case, typed: &typed::Program, engine: Engine) -> Result<(Sound, Vec<Kernel>), Finding> {
    let initial = typed.starts().into_iter().filter(|id| given(case, typed, *id).is_some()).collect();
    let sizes = case.magnitudes(typed);
    let (mode, operands) = (case.mode, widths(case, typed));
    let options = Options { mode, operands, initial, sizes, ..Options::default() };
    let refused = |wrong: Vec<notation::Diagnostic>| wrong.into_iter().next().map_or(String::new(), |d| d.message);
    let mut stages = Vec::new();
    let lowered = fiberloom_core::lower_by(typed, &options, &mut |_, kernel| {
        stages.extend((engine == Engine::Rewrites).then(|| kernel.clone()));
    });
    let lowered = lowered.map_err(|d| Finding::new("refusal", refused(d)))?;
    if !engine.reads_back() {
        return Ok((lowered.kernel, stages));
    }
    let print = lowered.concrete.to_string();
    if notation::concrete::read(&print).as_ref() != Ok(&lowered.concrete) {
        return Err(Finding::new("concrete round trip", print));
    }
    let text = lowered.kernel.to_string();
    if loops::read(&text).map(|k| k.to_string()).as_ref() != Ok(&text) {
        return Err(Finding::new("loops read back", text));
    }
    Ok((lowered.kernel, stages))
}

/// What runs a kernel.
enum Code<'k> {
    Loops(machine::Prepared<'k>),
    Machine(OptLevel, Compiled),
}

/// What an engine runs a kernel by.
fn codes<'k>(
    kernel: &'k Sound,
    stages: &'k [Kernel],
    engine: Engine,
    work: &mut Work,
) -> Result<Vec<Code<'k>>, Finding> {
    let loops = |prepared: Result<machine::Prepared<'k>, machine::Fault>| {
        prepared.map(Code::Loops).map_err(|e| Finding::new("fault", e))
    };
    let levels = match engine {
        Engine::Meaning => return Ok(vec![]),
        Engine::Loops => return Ok(vec![loops(work.time(Stage::Run, || machine::Prepared::of(kernel)))?]),
        Engine::Rewrites => {
            return stages.iter().map(|s| loops(work.time(Stage::Run, || machine::Prepared::new(s)))).collect();
        }
        Engine::Llvm(levels) => levels,
    };
    let mut made = |opt_level: &OptLevel| {
        let options = fiberloom_codegen::Options { opt_level: *opt_level, ..Default::default() };
        let code = work.time(Stage::Compile(*opt_level), || compile(kernel, &options));
        work.code(*opt_level).kernels += 1;
        Ok(Code::Machine(*opt_level, code.map_err(|e| Finding::new("codegen", e))?))
    };
    levels.iter().map(&mut made).collect()
}

impl Code<'_> {
    /// Its results. Machine code has every operand between fences.
    fn run(&self, kernel: &Kernel, bound: &Bound, work: &mut Work) -> Result<Results, Finding> {
        let buffers = match self {
            Code::Loops(prepared) => {
                let run = || prepared.run(&bound.params, &bound.operands, &Default::default());
                let ran = work.time(Stage::Run, run).map_err(|e| Finding::new("fault", e))?;
                work.interpreted += 1;
                work.ops += ran.ops.total();
                ran.buffers
            }
            Code::Machine(level, code) => {
                // SAFETY: the kernel was lowered and is bound to well-formed tensors; what is wrong with it, fences
                // shall show.
                #[allow(unsafe_code)]
                let run = || unsafe { code.run_fenced(&bound.params, &bound.operands, &Default::default()) };
                let ran = work.time(Stage::Run, run);
                work.code(*level).executions += 1;
                ran.map_err(|e| Finding::new("failure", format!("{e:?}")))?
            }
        };
        Ok(loops::collect(kernel, bound, buffers).expect("memory"))
    }
}

/// Results in their own formats; `None` if one of them is refused that holds, as the meaning says too, what its format has no
/// place for.
pub(super) fn settled(
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
    let f = &meant[&name];
    let entries = f.entries.iter().map(|(at, number)| (at.clone(), number.value));
    let format = declared(made.tensor).expect("what is refused is declared");
    let exact = mode == Mode::Strict || f.entries.values().chain([&f.fill]).all(|n| n.error() == 0.0);
    let held = Entries::of(f.extents.len(), f.ty, entries).assemble(&f.extents, format, f.fill.value, &how);
    if held.is_ok() && exact {
        return Err(Finding::new("refused result", format!("`{name}`: {why}")));
    }
    Ok(None)
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

type Results = Vec<(String, Tensor<'static>)>;

/// A result is well-formed (sorted, unique, in bounds) and the function that is meant.
fn answers(name: &str, tensor: &Tensor, meant: &BTreeMap<String, Function>, mode: Mode) -> Result<(), Finding> {
    tensor.check().map_err(|e| Finding::new("malformed", format!("`{name}`: {e}")))?;
    let meaning = meant.get(name).ok_or_else(|| Finding::new("result", name))?;
    agree(meaning, tensor, mode).map_err(|e| Finding::new("answer", format!("`{name}` {e}")))?;
    Ok(())
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
pub(super) fn extents_of(typed: &typed::Program, extents: &shape::Extents, t: typed::TensorId) -> Vec<u64> {
    typed.tensors[t.index()].sizes.iter().map(|s| extents.sizes[s.index()]).collect()
}

/// The extents on these operands; `None` where they say one no more, as of a split of nothing.
fn solved(typed: &typed::Program, operands: &BTreeMap<String, Tensor>) -> Result<Option<shape::Extents>, Finding> {
    let named = typed.tensors.iter().enumerate();
    let given = named.filter_map(|(t, a)| Some((typed::TensorId(t as u32), operands.get(&a.name)?.extents.clone())));
    match shape::solve(typed, &given.collect::<Vec<_>>()) {
        Ok(extents) => Ok(Some(extents)),
        Err(shape::Unsolved::Unknown(_) | shape::Unsolved::Unsaid(_)) => Ok(None),
        Err(shape::Unsolved::Contradiction(d)) if d.message.contains(NO_VALUE) => Ok(None),
        Err(shape::Unsolved::Contradiction(d)) => Err(Finding::new("extents", d.message)),
    }
}

/// The case's tensor of that name, if the caller gives it.
fn given<'a>(case: &'a Case, typed: &typed::Program, id: typed::TensorId) -> Option<&'a super::case::Tensor> {
    let name = &typed.tensors[id.index()].name;
    case.tensors.iter().find(|a| a.name == *name && a.entries.is_some())
}

/// The case's tensors that the program reads or starts from.
fn operands(case: &Case, typed: &typed::Program) -> BTreeMap<String, Tensor<'static>> {
    let width = |wide| if wide { Type::I64 } else { Type::I32 };
    let wanted = typed.inputs().into_iter().chain(typed.starts());
    let found = wanted.filter_map(|id| given(case, typed, id));
    let stored = |a: &super::case::Tensor| {
        let extents = a.sizes.iter().map(|n| case.sizes[*n].0).collect();
        let value = |x: i64| case.value(a.ty, x);
        let format = a.format.as_ref().expect("operands have formats").stored();
        let entries = fitted(&format, a.entries.iter().flatten().map(|(at, x)| (at.clone(), value(*x))).collect());
        let tensor = Tensor::from_entries(extents, format, value(a.fill), width(a.wide.0), width(a.wide.1), entries);
        (a.name.clone(), tensor.expect("small and within the extents"))
    };
    found.map(stored).collect()
}

fn widths(case: &Case, typed: &typed::Program) -> BTreeMap<typed::TensorId, Vec<Widths>> {
    let width = |wide| if wide { Type::I64 } else { Type::I32 };
    let all = (0..typed.tensors.len() as u32).map(typed::TensorId).filter_map(|id| {
        let a = given(case, typed, id)?;
        let each = Widths { pos: width(a.wide.0), crd: width(a.wide.1) };
        Some((id, vec![each; a.sizes.len()]))
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fiberloom_core::format::{Array, Format, Level};

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
