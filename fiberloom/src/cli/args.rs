//! The command line's arguments, parsed.

use fiberloom::{Engine, Mode};
use lexopt::{Arg, Parser, ValueExt};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// How the command is used.
pub const USAGE: &str = "\
usage: fiberloom run   PROG.loom [--in NAME=FILE]... [--out NAME=FILE]... [--format NAME=FORMAT]...
                       [--schedule TEXT | --no-schedule] [--mode algebraic|strict]
                       [--engine llvm|loops|meaning|nvptx] [--threads N] [--check] [--repeat N] [--json]
       fiberloom show  STAGE PROG.loom [--svg]    STAGE: syntax notation concrete lattice looplets loops llvm asm ptx
       fiberloom check PROG.loom
       fiberloom build PROG.loom -o KERNEL.o --header KERNEL.h [--name NAME]
       fiberloom tune  PROG.loom --in NAME=FILE...

data files: .mtx, .ttx (Matrix Market), .tns (FROSTT), .npy (NumPy), .npz (SciPy sparse matrix): docs/data.md
--name NAME   of the function in the object, `kernel` unless given: objects that are linked together have names of their own
--threads N   is reported by --json; kernels run on one thread so far, whatever N is
--schedule TEXT   commands for the last statement, in the place of those that it has; `protocol` is applied so far
--no-schedule     takes the program's own schedules away";

/// What is asked for.
#[derive(Debug)]
pub enum Command {
    /// Compile, run, write or print the results.
    Run(Run),
    /// Print a stage.
    Show(Show),
    /// Only check the program.
    Check(Program),
    /// Compile ahead of time.
    Build(Build),
    /// Print how the command is used.
    Help,
    /// Print the version.
    Version,
}

/// A program and what changes how it is understood.
#[derive(Debug, Default)]
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// `--format NAME=FORMAT`: instead of the declared ones.
    pub formats: Vec<(String, String)>,
    /// `--mode`
    pub mode: Option<Mode>,
    /// `--schedule`, `--no-schedule`
    pub schedule: Scheduled,
}

impl Program {
    /// The mode that is asked for.
    pub fn mode(&self) -> Mode {
        self.mode.unwrap_or_default()
    }
}

/// Under which schedule a program is run.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Scheduled {
    /// Its own.
    #[default]
    AsWritten,
    /// None.
    Not,
    /// This, of the last statement.
    Text(String),
}

/// Options of `run`.
#[derive(Debug, Default)]
pub struct Run {
    /// The program.
    pub program: Program,
    /// `--in NAME=FILE`
    pub inputs: Vec<(String, PathBuf)>,
    /// `--out NAME=FILE`
    pub outputs: Vec<(String, PathBuf)>,
    /// `--engine`
    pub engine: Engine,
    /// `--threads`
    pub threads: usize,
    /// `--repeat`
    pub repeat: usize,
    /// `--check`
    pub check: bool,
    /// `--json`
    pub json: bool,
}

/// Options of `show`.
#[derive(Debug)]
pub struct Show {
    /// What is shown.
    pub stage: String,
    /// The program.
    pub program: Program,
    /// The lattice as a picture.
    pub svg: bool,
}

/// Options of `build`.
#[derive(Debug)]
pub struct Build {
    /// The program.
    pub program: Program,
    /// `-o`
    pub object: PathBuf,
    /// `--header`
    pub header: Option<PathBuf>,
    /// `--name`
    pub name: Option<String>,
}

/// One argument: an option with its dashes, or something else.
enum Word {
    Option(String),
    Value(OsString),
}

fn next(args: &mut Parser) -> Result<Option<Word>, String> {
    Ok(match args.next().map_err(|e| e.to_string())? {
        None => None,
        Some(Arg::Long(name)) => Some(Word::Option(format!("--{name}"))),
        Some(Arg::Short(name)) => Some(Word::Option(format!("-{name}"))),
        Some(Arg::Value(value)) => Some(Word::Value(value)),
    })
}

/// The command that these arguments ask for; else what is wrong with them.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut args = Parser::from_args(args);
    let name = match next(&mut args)? {
        None => return Err(format!("a command expected\n{USAGE}")),
        Some(Word::Option(name)) => name,
        Some(Word::Value(name)) => name.to_string_lossy().into_owned(),
    };
    if asks_for_help(&args) {
        return Ok(Command::Help);
    }
    match &*name {
        "run" => run(args).map(Command::Run),
        "show" => show(args).map(Command::Show),
        "check" => check(args).map(Command::Check),
        "build" => build(args).map(Command::Build),
        "tune" => Err("`tune` is not there yet: nothing chooses among schedules".to_string()),
        "help" | "--help" | "-h" => Ok(Command::Help),
        "version" | "--version" | "-V" => Ok(Command::Version),
        other => Err(format!("no command `{other}`\n{USAGE}")),
    }
}

/// Whether `--help` or `-h` is the next argument.
fn asks_for_help(args: &Parser) -> bool {
    let mut args = args.clone();
    matches!(next(&mut args), Ok(Some(Word::Option(o))) if o == "--help" || o == "-h")
}

fn run(mut args: Parser) -> Result<Run, String> {
    let mut run = Run::default();
    let (mut engine, mut threads, mut repeat, mut path) = (None, None, None, None);
    while let Some(word) = next(&mut args)? {
        match &word {
            Word::Option(o) if o == "--in" => run.inputs.push(file(&mut args, "--in NAME=FILE")?),
            Word::Option(o) if o == "--out" => run.outputs.push(file(&mut args, "--out NAME=FILE")?),
            Word::Option(o) if o == "--engine" => once(&mut engine, o, text(&mut args)?.parse()?)?,
            Word::Option(o) if o == "--threads" => once(&mut threads, o, positive(&mut args, o)?)?,
            Word::Option(o) if o == "--repeat" => once(&mut repeat, o, positive(&mut args, o)?)?,
            Word::Option(o) if o == "--check" => run.check = true,
            Word::Option(o) if o == "--json" => run.json = true,
            _ => program_option(word, &mut args, &mut run.program, &mut path)?,
        }
    }
    run.program.path = path.ok_or("a program expected: fiberloom run PROG.loom")?;
    (run.engine, run.threads, run.repeat) = (engine.unwrap_or_default(), threads.unwrap_or(1), repeat.unwrap_or(1));
    no_twice("--in", &run.inputs)?;
    no_file_twice(run.outputs.iter().map(|(_, path)| path))?;
    no_twice("--out", &run.outputs)?;
    Ok(run)
}

fn show(mut args: Parser) -> Result<Show, String> {
    let usage = "a stage and a program expected: fiberloom show STAGE PROG.loom";
    let (mut stage, mut svg, mut program, mut path) = (None, false, Program::default(), None);
    while let Some(word) = next(&mut args)? {
        match word {
            Word::Option(o) if o == "--svg" => svg = true,
            Word::Value(v) if stage.is_none() => stage = Some(v.to_string_lossy().into_owned()),
            word => program_option(word, &mut args, &mut program, &mut path)?,
        }
    }
    program.path = path.ok_or(usage)?;
    Ok(Show { stage: stage.ok_or(usage)?, program, svg })
}

fn check(mut args: Parser) -> Result<Program, String> {
    let (mut program, mut path) = (Program::default(), None);
    while let Some(word) = next(&mut args)? {
        program_option(word, &mut args, &mut program, &mut path)?;
    }
    program.path = path.ok_or("a program expected: fiberloom check PROG.loom")?;
    Ok(program)
}

fn build(mut args: Parser) -> Result<Build, String> {
    let usage = "a program and an object file expected: fiberloom build PROG.loom -o KERNEL.o --header KERNEL.h";
    let (mut object, mut header, mut name, mut program, mut path) = (None, None, None, Program::default(), None);
    while let Some(word) = next(&mut args)? {
        match word {
            Word::Option(o) if o == "-o" => once(&mut object, &o, path_of(&mut args)?)?,
            Word::Option(o) if o == "--header" => once(&mut header, &o, path_of(&mut args)?)?,
            Word::Option(o) if o == "--name" => once(&mut name, &o, text(&mut args)?)?,
            word => program_option(word, &mut args, &mut program, &mut path)?,
        }
    }
    program.path = path.ok_or(usage)?;
    let object = object.ok_or(usage)?;
    no_file_twice(std::iter::once(&object).chain(&header))?;
    Ok(Build { program, object, header, name })
}

/// What every command takes: a program, `--format`, `--mode`.
fn program_option(
    word: Word,
    args: &mut Parser,
    program: &mut Program,
    path: &mut Option<PathBuf>,
) -> Result<(), String> {
    match word {
        Word::Value(v) if path.is_none() => *path = Some(v.into()),
        Word::Value(v) => return Err(format!("one program expected, `{}` is a second one", v.to_string_lossy())),
        Word::Option(o) if o == "--format" => {
            program.formats.push(pair(args, "--format NAME=FORMAT")?);
            no_twice("--format", &program.formats)?;
        }
        Word::Option(o) if o == "--mode" => {
            let mode = match &*text(args)? {
                "algebraic" => Mode::Algebraic,
                "strict" => Mode::Strict,
                other => return Err(format!("`{other}` is no mode: algebraic or strict expected")),
            };
            once(&mut program.mode, &o, mode)?;
        }
        Word::Option(o) if o == "--schedule" || o == "--no-schedule" => {
            if program.schedule != Scheduled::AsWritten {
                return Err("one of --schedule and --no-schedule expected, and once".to_string());
            }
            program.schedule =
                if o == "--schedule" { Scheduled::Text(text(args)?.to_string()) } else { Scheduled::Not };
        }
        Word::Option(o) => return Err(format!("no option `{o}` here\n{USAGE}")),
    }
    Ok(())
}

fn text(args: &mut Parser) -> Result<String, String> {
    args.value().and_then(|v| v.string()).map_err(|e| e.to_string())
}

fn positive(args: &mut Parser, option: &str) -> Result<usize, String> {
    let given = text(args)?;
    given.parse().ok().filter(|n| *n > 0).ok_or(format!("{option} takes a number from 1, not `{given}`"))
}

fn pair(args: &mut Parser, usage: &str) -> Result<(String, String), String> {
    let (name, value) = named(args, usage)?;
    let value = value.into_string().map_err(|value| lexopt::Error::NonUnicodeValue(value).to_string())?;
    Ok((name, value))
}

fn path_of(args: &mut Parser) -> Result<PathBuf, String> {
    args.value().map(PathBuf::from).map_err(|e| e.to_string())
}

fn file(args: &mut Parser, usage: &str) -> Result<(String, PathBuf), String> {
    named(args, usage).map(|(name, path)| (name, path.into()))
}

/// A tensor's name, and what stands behind `=`, which need not be text.
fn named(args: &mut Parser, usage: &str) -> Result<(String, OsString), String> {
    let given = args.value().map_err(|e| e.to_string())?;
    let bytes = given.as_bytes();
    let named = bytes.iter().position(|b| *b == b'=').and_then(|at| {
        let name = std::str::from_utf8(&bytes[..at]).ok()?;
        let value = OsStr::from_bytes(&bytes[at + 1..]);
        (!name.is_empty() && !value.is_empty()).then(|| (name.to_string(), value.to_os_string()))
    });
    named.ok_or_else(|| format!("`{}` given, {usage} expected", given.to_string_lossy()))
}

/// Keeps what an option says, which is given once.
fn once<T>(slot: &mut Option<T>, option: &str, given: T) -> Result<(), String> {
    match slot.replace(given) {
        None => Ok(()),
        Some(_) => Err(format!("{option} is given twice")),
    }
}

/// One file cannot hold two things, however it is spelled; a device can.
fn no_file_twice<'a>(files: impl Iterator<Item = &'a PathBuf>) -> Result<(), String> {
    let mut seen = Vec::new();
    for file in files {
        let place = fiberloom::data::resolved(file);
        let through = place.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir());
        if !through && seen.contains(&place) {
            return Err(format!("{} would be written twice", file.display()));
        }
        seen.push(place);
    }
    Ok(())
}

fn no_twice<T>(option: &str, given: &[(String, T)]) -> Result<(), String> {
    let twice = (0..given.len()).find(|&i| given[..i].iter().any(|(name, _)| *name == given[i].0));
    match twice {
        Some(i) => Err(format!("{option} {} is given twice", given[i].0)),
        None => Ok(()),
    }
}
