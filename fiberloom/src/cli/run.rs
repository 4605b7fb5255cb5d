//! `fiberloom run`: data in, a kernel, results out.

use super::args::Run;
use super::progress::during;
use super::{memory, print, report, source};
use fiberloom::{Call, Error, Options, Outcome, Program, Role, Tensor, data};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What was measured.
pub struct Measured {
    /// Time to compile, all of it.
    pub compile: Duration,
    /// The time of each call, one or more.
    pub runs: Vec<Duration>,
}

/// Reads operands, runs, writes or prints results.
pub fn run(args: &Run) -> Result<(), Error> {
    let program = source::program_on(&args.program, &args.inputs)?;
    if args.threads > 1 {
        let threads = args.threads;
        print::err(&format!("fiberloom: note: kernels run on one thread so far: --threads {threads} changes nothing"));
    }
    for (name, path) in &args.outputs {
        data::holds(path, result_named(&program, name)?)?;
    }
    let options = Options { engine: args.engine, mode: args.program.mode, verify: true, ..Options::default() };
    let begin = Instant::now();
    let kernel = during("compiling", || program.compile(&options))?;
    let lowering = begin.elapsed();
    let given: Vec<&str> = args.inputs.iter().map(|(name, _)| name.as_str()).collect();
    kernel.complete(&given)?;
    print::warnings(&program, &given);
    let room = kernel.room()?;
    let most = memory::available(room)?;
    let operands = during("reading operands", || read(&program, args, most))?;
    let kernel = kernel.within(memory::available(room)?);
    let operands: Vec<(&str, &Tensor)> = operands.iter().map(|(name, t)| (*name, t)).collect();
    let mut call = during("checking operands", || kernel.bind(&operands))?;
    let begin = Instant::now();
    during("compiling", || call.compile())?;
    let compile = lowering + begin.elapsed();
    let (runs, outcome) = during("running", || repeated(&mut call, args.repeat))?;
    let measured = Measured { compile, runs };
    let compared =
        args.check.then(|| during("evaluating the reference semantics, to compare", || call.agrees(&outcome)));
    match compared {
        Some(Err(Error::Wrong(_))) => {}
        Some(Err(error)) => return Err(error),
        Some(Ok(_)) | None => write(args, &outcome, memory::available(0)?)?,
    }
    if args.json {
        print::out(&report::run(args, &measured, &outcome, compared.as_ref()))?;
    } else {
        results(args, &measured, &outcome)?;
        if let Some(Ok(agreement)) = &compared {
            print::out(&print::checked(agreement))?;
        }
    }
    compared.transpose().map(|_| ())
}

/// The time of each of so many calls, one or more, and what the last of them made.
fn repeated(call: &mut Call, repeat: usize) -> Result<(Vec<Duration>, Outcome), Error> {
    let mut runs = Vec::new();
    loop {
        let outcome = call.run()?;
        runs.push(outcome.time);
        if runs.len() == repeat {
            return Ok((runs, outcome));
        }
    }
}

/// Prints the results that are not written to files, and the times of repeated calls.
fn results(args: &Run, measured: &Measured, outcome: &Outcome) -> Result<(), Error> {
    let unwritten = |name: &str| !args.outputs.iter().any(|(n, _)| n == name);
    for (name, tensor) in outcome.results.iter().filter(|(name, _)| unwritten(name)) {
        print::out(&print::tensor(name, tensor))?;
    }
    if args.repeat > 1 {
        print::out(&print::times(measured))?;
    }
    Ok(())
}

/// The operands, in the order of the arguments.
fn read<'a>(program: &Program, args: &'a Run, memory: u64) -> Result<Vec<(&'a str, Tensor<'static>)>, Error> {
    let options = data::Options { limit: memory, ..data::Options::default() };
    let source = |(name, path): &'a (String, PathBuf)| {
        let combine = args.combine.iter().find(|(n, _)| n == name);
        let duplicates = combine.map_or(options.duplicates, |(_, how)| how.duplicates());
        Ok((name.as_str(), data::Source::of(path)?, data::Options { duplicates, ..options }))
    };
    program.operands(&args.inputs.iter().map(source).collect::<Result<Vec<_>, data::Error>>()?)
}

/// How many modes a result has.
fn result_named(program: &Program, name: &str) -> Result<usize, Error> {
    match program.tensor(name) {
        Some((_, t)) if t.role == Role::Result => Ok(t.sizes.len()),
        Some(_) => Err(Error::Call(format!("--out {name}: the program does not define `{name}`, it reads it"))),
        None => Err(Error::Call(format!("--out {name}: the program has no tensor `{name}`"))),
    }
}

fn write(args: &Run, outcome: &Outcome, memory: u64) -> Result<(), Error> {
    let targets: Vec<(&Path, &Tensor)> =
        args.outputs.iter().map(|(name, path)| (path.as_path(), &outcome[name.as_str()])).collect();
    Ok(data::write_all(&targets, memory)?)
}
