//! `fiberloom run`: data in, a kernel, results out.

use super::args::Run;
use super::print;
use fiberloom::{Error, Options, Outcome, Program, Role, Tensor, data};
use std::path::Path;
use std::time::{Duration, Instant};

/// What was measured.
pub struct Report {
    /// Time to compile, all of it.
    pub compile: Duration,
    /// The time of each call.
    pub runs: Vec<Duration>,
    /// Whether the answer was compared with the reference semantics'.
    pub checked: Option<bool>,
}

/// Reads operands, runs, writes or prints results.
pub fn run(args: &Run) -> Result<(), Error> {
    let program = super::program(&args.program)?;
    if args.threads > 1 {
        eprintln!("fiberloom: note: kernels run on one thread so far: --threads {} changes nothing", args.threads);
    }
    for (name, path) in &args.outputs {
        result_named(&program, name)?;
        data::Kind::of(path)?;
    }
    let memory = memory();
    let options = Options { engine: args.engine, mode: args.program.mode, memory, verify: true, ..Options::default() };
    let begin = Instant::now();
    let kernel = program.compile(&options)?;
    let lowering = begin.elapsed();
    kernel.complete(&args.inputs.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>())?;
    let operands = read(&program, args, memory)?;
    let operands: Vec<(&str, &Tensor)> = operands.iter().map(|(name, t)| (*name, t)).collect();
    let mut call = kernel.bind(&operands)?;
    let begin = Instant::now();
    call.compile()?;
    let compile = lowering + begin.elapsed();
    let mut report = Report { compile, runs: Vec::new(), checked: None };
    let outcome = loop {
        let outcome = call.run()?;
        report.runs.push(outcome.time);
        if report.runs.len() == args.repeat {
            break outcome;
        }
    };
    let compared = if args.check { call.agrees(&outcome) } else { Ok(()) };
    report.checked = args.check.then_some(compared.is_ok());
    if !matches!(compared, Ok(()) | Err(Error::Wrong(_))) {
        return compared;
    }
    if compared.is_ok() {
        write(args, &outcome, memory)?;
    }
    if args.json {
        print::out(&print::json(args, &report, &outcome))?;
    } else {
        let unwritten = |name: &str| !args.outputs.iter().any(|(n, _)| n == name);
        for (name, tensor) in outcome.results.iter().filter(|(name, _)| unwritten(name)) {
            print::out(&print::tensor(name, tensor))?;
        }
        if args.repeat > 1 {
            print::out(&print::times(&report))?;
        }
    }
    compared
}

/// The operands, in the order of the arguments.
fn read<'a>(program: &Program, args: &'a Run, memory: u64) -> Result<Vec<(&'a str, Tensor<'static>)>, Error> {
    let options = data::Options { limit: memory, ..data::Options::default() };
    let files: Vec<(&str, &Path)> = args.inputs.iter().map(|(name, path)| (name.as_str(), path.as_path())).collect();
    program.read(&files, &options)
}

fn result_named(program: &Program, name: &str) -> Result<(), Error> {
    match program.tensor(name) {
        Some((_, t)) if t.role == Role::Result => Ok(()),
        Some(_) => Err(Error::Call(format!("--out {name}: the program does not define `{name}`, it reads it"))),
        None => Err(Error::Call(format!("--out {name}: the program has no tensor `{name}`"))),
    }
}

fn write(args: &Run, outcome: &Outcome, memory: u64) -> Result<(), Error> {
    let targets: Vec<(&Path, &Tensor)> =
        args.outputs.iter().map(|(name, path)| (path.as_path(), &outcome[name.as_str()])).collect();
    Ok(data::write_all(&targets, memory)?)
}

/// The bytes that this machine has available; what it does not say is taken to be 8 GiB.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.map_or(8 << 30, |k| k.saturating_mul(1024))
}
