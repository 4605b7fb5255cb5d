//! `fiberloom run`: data in, a kernel, results out.

use super::args::Run;
use super::progress::during;
use super::tables::{self, Input, Tables};
use super::{batches, memory, print, report, source};
use crate::data::Combine;
use crate::relation::{self, Frame};
use crate::{Agreement, Call, Error, Kernel, LoopRun, Options, Outcome, Program, Role, Tensor, data, show, watched};
use fiberloom_core::algebra::Value;
use fiberloom_loops::OneThread;
use std::path::Path;
use std::time::{Duration, Instant};

/// What was measured.
pub struct Measured {
    /// Time to compile, all of it.
    pub compile: Duration,
    /// The time of each call, one or more.
    pub runs: Vec<Duration>,
    /// The time to read tables, and that to encode them.
    pub tables: Option<(Duration, Duration)>,
    /// The parallel loops of the last call.
    pub loops: Vec<LoopRun>,
    /// The commands by which loops were dealt out to a GPU, if the engine is one, or the machine for it.
    pub for_gpu: Option<Vec<String>>,
    /// The loops that take time and are not parallel, where the report says so.
    pub serial: Vec<OneThread>,
}

/// Reads operands, runs, writes or prints results.
pub fn run(args: &Run) -> Result<(), Error> {
    let program = source::program_on(&args.program, &args.inputs)?;
    if let Some(threads) = args.threads {
        crate::set_threads(threads);
    }
    for (name, path) in &args.outputs {
        holds(&program, name, path)?;
    }
    let options = Options { engine: args.engine, mode: args.program.mode, verify: true, ..Options::default() };
    let begin = Instant::now();
    let kernel = during("compiling", || program.compile(&options))?;
    let mut lowering = begin.elapsed();
    let arranged = tables::arranged(&program, &args.order, &args.limit)?;
    let most = memory::allowed(kernel.room()?, args.memory)?;
    let data = Data {
        inputs: &args.inputs,
        combine: &args.combine,
        settings: &args.settings,
        memory: most,
        asked: args.memory.is_some(),
        check: args.check,
    };
    let others = others(&program, &kernel, &data)?;
    let all_at_once = args.check || args.repeat > 1;
    let mut ran = match batches::needed(&program, &data, &options, most)? {
        Some(batched) if !(all_at_once && batched.may_fit) => batched.run(args, &program, &others)?,
        _ => {
            let read = with_tables(&program, &data, others)?;
            let begin = Instant::now();
            let kernel = during("compiling", || read.program.compile(&options))?;
            lowering += begin.elapsed();
            at_once(args, kernel, read, lowering)?
        }
    };
    if let Some(tables) = &mut ran.tables {
        tables.arranged = arranged;
    }
    finish(args, ran)
}

/// What a program made, before it is shown.
pub struct Ran {
    /// The program, fitted to its data.
    pub program: Program,
    /// What it made.
    pub outcome: Outcome,
    /// The tables of its operands.
    pub tables: Option<Tables>,
    /// How long it took.
    pub measured: Measured,
    /// What comparing it with the reference semantics gave, if that was asked for.
    pub compared: Option<Result<Agreement, Error>>,
    /// Whether a table was read in batches, of which each was compared by itself.
    pub in_batches: bool,
}

/// Runs a kernel on operands that are all in memory. Making it took `lowering` so far.
fn at_once(args: &Run, kernel: Kernel, read: Read, lowering: Duration) -> Result<Ran, Error> {
    let Read { program, operands, tables } = read;
    let most = memory::allowed(kernel.room()?, args.memory)?;
    let kernel = kernel.within(most);
    let operands: Vec<(&str, &Tensor)> = operands.iter().map(|(name, t)| (name.as_str(), t)).collect();
    let mut call = during("checking operands", || kernel.bind(&operands))?;
    let begin = Instant::now();
    during("compiling", || call.compile())?;
    let compile = lowering + begin.elapsed();
    let (runs, outcome, loops) = during("running", || repeated(&mut call, args.repeat))?;
    let for_gpu = kernel.options().engine.is_gpu().then(|| show::for_gpu(&call));
    let tables_took = tables.as_ref().map(|t| (t.read, t.encode));
    let serial = if args.json { call.on_one_thread() } else { vec![] };
    let measured = Measured { compile, runs, tables: tables_took, loops, for_gpu, serial };
    let compared =
        args.check.then(|| during("evaluating the reference semantics, to compare", || call.agrees(&outcome)));
    Ok(Ran { program, outcome, tables, measured, compared, in_batches: false })
}

/// Writes and prints results.
fn finish(args: &Run, ran: Ran) -> Result<(), Error> {
    let Ran { program, outcome, tables, measured, compared, in_batches } = ran;
    let shown = Shown { program: &program, tables: tables.as_ref() };
    match compared {
        Some(Err(Error::Wrong(_))) => {}
        Some(Err(error)) => return Err(error),
        Some(Ok(_)) | None => shown.write(args, &outcome, memory::available(0)?)?,
    }
    if args.json {
        print::out(&report::run(args, &measured, &outcome, compared.as_ref()))?;
    } else {
        let whole = args.outputs.iter().find(|(_, path)| is_standard_output(path));
        match whole {
            Some((name, _)) => print::bytes(&shown.whole(name, &outcome, memory::available(0)?)?)?,
            None => shown.results(args, &outcome)?,
        }
        // Beside a whole result nothing stands on standard output.
        let say = |text: String| {
            if whole.is_none() {
                return print::out(&text);
            }
            print::err(&text);
            Ok(())
        };
        if args.repeat > 1 {
            say(print::times(&measured))?;
        }
        if let Some(Ok(agreement)) = &compared {
            let batches = if in_batches { ", batch by batch" } else { "" };
            say(show::checked(agreement) + batches)?;
        }
    }
    compared.transpose().map(|_| ())
}

/// The time of each of so many calls, one or more, what the last of them made, and its parallel loops.
fn repeated(call: &mut Call, repeat: usize) -> Result<(Vec<Duration>, Outcome, Vec<LoopRun>), Error> {
    let mut runs = Vec::new();
    loop {
        let (outcome, loops) = watched(|| call.run());
        let outcome = outcome?;
        runs.push(outcome.time);
        if runs.len() == repeat {
            return Ok((runs, outcome, loops));
        }
    }
}

/// Results as they are printed and written: with labels, where they have some.
struct Shown<'a> {
    program: &'a Program,
    tables: Option<&'a Tables>,
}

impl Shown<'_> {
    /// Prints the results that are not written to files.
    fn results(&self, args: &Run, outcome: &Outcome) -> Result<(), Error> {
        let unwritten = |name: &str| !args.outputs.iter().any(|(n, _)| n == name);
        for name in self.program.given_by(outcome).iter().filter(|name| unwritten(name)) {
            let labelled = self.tables.map(|tables| tables.printed(self.program, name, outcome)).transpose()?;
            print::out(&labelled.flatten().unwrap_or_else(|| show::tensor(name, &outcome[name.as_str()])))?;
        }
        Ok(())
    }

    /// A result as text: with labels as a .csv file has it, else as a .tns file, or as a .ttx file if its fill value is not 0.
    fn whole(&self, name: &str, outcome: &Outcome, memory: u64) -> Result<Vec<u8>, Error> {
        let frame = match self.tables {
            Some(tables) => tables.frame(self.program, name, outcome)?,
            None => None,
        };
        if let Some(frame) = frame {
            return Ok(relation::to_bytes(Path::new("standard output.csv"), &frame)?);
        }
        let tensor = &outcome[name];
        let kind = if tensor.fill == Value::zero(tensor.fill.ty()) { data::Kind::Tns } else { data::Kind::Ttx };
        Ok(data::to_bytes(Path::new("standard output"), kind, tensor, memory)?)
    }

    /// Writes the results that have files: all of them, or none.
    fn write(&self, args: &Run, outcome: &Outcome, memory: u64) -> Result<(), Error> {
        let (mut tensors, mut frames) = (Vec::new(), Vec::new());
        for (name, path) in args.outputs.iter().filter(|(_, path)| !is_standard_output(path)) {
            let frame = match self.tables.filter(|_| tables::is_table(path)) {
                Some(tables) => tables.frame(self.program, name, outcome)?,
                None => None,
            };
            match frame {
                Some(frame) => frames.push((path.as_path(), frame)),
                None => tensors.push((path.as_path(), &outcome[name.as_str()])),
            }
        }
        let frames: Vec<(&Path, &Frame)> = frames.iter().map(|(path, frame)| (*path, frame)).collect();
        Ok(relation::write_all(&tensors, &frames, memory)?)
    }
}

/// The arguments that say where data are.
pub struct Data<'a> {
    /// `--in`
    pub inputs: &'a [Input],
    /// `--combine`
    pub combine: &'a [(String, Combine)],
    /// `--table`
    pub settings: &'a [(String, String)],
    /// The bytes that they may take.
    pub memory: u64,
    /// Whether `--memory` says so.
    pub asked: bool,
    /// `--check`
    pub check: bool,
}

/// What files hold, and the program for it.
pub struct Read {
    /// The program, fitted to the data of its tables.
    pub program: Program,
    /// Operands by name.
    pub operands: Vec<(String, Tensor<'static>)>,
    /// The tables from which some of them are.
    pub tables: Option<Tables>,
}

/// Reads all that a kernel needs from files.
///
/// # Errors
/// What is missing, before anything is read; what the files hold.
pub fn operands(program: &Program, kernel: &Kernel, data: &Data) -> Result<Read, Error> {
    with_tables(program, data, others(program, kernel, data)?)
}

/// The operands with those that tables are.
fn with_tables(program: &Program, data: &Data, mut operands: Vec<(String, Tensor<'static>)>) -> Result<Read, Error> {
    let (of_tables, _) = tables::parted(program, data.inputs);
    let files = (&of_tables[..], data.settings);
    let (program, tables) = during("reading tables", || tables::append(program, files, &mut operands, data.memory))?;
    Ok(Read { program, operands, tables })
}

/// The operands that are no tables, if all that a kernel needs is given.
fn others(program: &Program, kernel: &Kernel, data: &Data) -> Result<Vec<(String, Tensor<'static>)>, Error> {
    let (of_tables, of_tensors) = tables::parted(program, data.inputs);
    let names = |files: &[&Input]| -> Vec<String> { files.iter().map(|(name, _)| name.clone()).collect() };
    let tensors = names(&of_tensors);
    if let Some(n) = (0..tensors.len()).find(|n| tensors[..*n].contains(&tensors[*n])) {
        return Err(Error::Call(format!("--in {} is given twice", tensors[n])));
    }
    let tables_named = names(&of_tables);
    let from_tables = program.operands_of_tables(&tables_named.iter().map(String::as_str).collect::<Vec<_>>())?;
    let given = [names(&of_tensors), from_tables].concat();
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    kernel.complete(&given)?;
    print::warnings(program, &given);
    during("reading operands", || read(program, data.combine, &of_tensors, data.memory))
}

/// The operands that are tensors, in the order of the arguments.
fn read(
    program: &Program,
    combine: &[(String, Combine)],
    files: &[&Input],
    memory: u64,
) -> Result<Vec<(String, Tensor<'static>)>, Error> {
    let options = data::Options { limit: memory, ..data::Options::default() };
    let told: Vec<_> =
        files.iter().map(|(name, path)| move |extents: &[u64]| print::largest(name, path, extents)).collect();
    let mut sources = Vec::new();
    for ((name, path), told) in files.iter().zip(&told).filter(|((_, path), _)| of_pattern(path).is_none()) {
        let combine = combine.iter().find(|(n, _)| n == name);
        let duplicates = combine.map_or(options.duplicates, |(_, how)| how.duplicates());
        let options = data::Options { duplicates, largest: Some(told), ..options };
        sources.push((name.as_str(), data::Source::of(path)?, options));
    }
    let operands = program.operands(&sources).map_err(|error| folded(error, files))?;
    let mut operands: Vec<_> = operands.into_iter().map(|(name, tensor)| (name.to_string(), tensor)).collect();
    for (name, path) in files {
        let Some(of) = of_pattern(path) else { continue };
        let Some((_, tensor)) = operands.iter().find(|(name, _)| name == of) else {
            let what = format!("--in {name}=pattern:{of}: no data are given for `{of}`: write --in {of}=FILE, too");
            return Err(Error::Call(what));
        };
        let pattern = tensor.pattern().into_owned();
        operands.push((name.clone(), pattern));
    }
    Ok(operands)
}

/// The tensor whose pattern is given, where `pattern:NAME` stands in the place of a file.
fn of_pattern(path: &Path) -> Option<&str> {
    path.to_str()?.strip_prefix("pattern:")
}

/// The error, with what folds entries at equal coordinates where there are such.
fn folded(error: Error, files: &[&Input]) -> Error {
    let Error::Data(mut error) = error else { return error };
    let of = files.iter().find(|(_, path)| path.display().to_string() == error.file);
    if let Some((name, _)) = of.filter(|_| error.cause == data::Cause::Twice) {
        error.message += &format!("; --combine {name}=sum adds them, and min, max or last keep one");
    }
    Error::Data(error)
}

/// Whether a result is to be written to standard output.
fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether a file of this name may hold a result.
fn holds(program: &Program, name: &str, path: &Path) -> Result<(), Error> {
    let labelled = !program.relations().domains.is_empty() || !program.relations().tables.is_empty();
    match program.made_table(name) {
        Some(_) if is_standard_output(path) => Ok(()),
        None if is_standard_output(path) => result_named(program, name).map(|_| ()),
        Some(_) if tables::is_table(path) => Ok(()),
        Some(_) => Err(Error::Call(format!(
            "--out {name}: `{name}` is a table: the name of its file ends in .csv or .parquet"
        ))),
        None => {
            let modes = result_named(program, name)?;
            if labelled && tables::is_table(path) { Ok(()) } else { Ok(data::holds(path, modes)?) }
        }
    }
}

/// How many modes a result has.
fn result_named(program: &Program, name: &str) -> Result<usize, Error> {
    match program.tensor(name) {
        Some((_, t)) if t.role == Role::Result => Ok(t.sizes.len()),
        Some(_) => Err(Error::Call(format!("--out {name}: the program does not define `{name}`, it reads it"))),
        None => Err(Error::Call(format!("--out {name}: the program has no tensor `{name}`{}", program.near(name)))),
    }
}
