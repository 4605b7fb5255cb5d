//! Arguments to a [`Command`]: how values are read, what clap does not check, and what is said of what is wrong.

use super::args::{Arguments, Command};
use crate::data::Combine;
use crate::relation::Reading;
use crate::show::Stage;
use crate::{Engine, Gpu, Mode};
use clap::builder::{OsStringValueParser, PossibleValue, StringValueParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, CommandFactory, FromArgMatches};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The layout of `--help`.
const TEMPLATE: &str = "{about-with-newline}\nusage: {usage}\n\n{all-args}{after-help}";

/// What the arguments ask for.
#[derive(Debug)]
pub enum Asked {
    /// A command.
    Command(Box<Command>),
    /// A text for standard output: a page of help, the version.
    Text(String),
}

/// The table of commands and options, as clap takes it.
pub fn table() -> clap::Command {
    Arguments::command().help_template(TEMPLATE).mut_subcommands(|c| c.help_template(TEMPLATE))
}

/// What these arguments, the command's own name before them, ask for.
///
/// # Errors
/// What is wrong with them, in words.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Asked, String> {
    let parsed = table().try_get_matches_from(args).and_then(|matches| Arguments::from_arg_matches(&matches));
    match parsed {
        Ok(Arguments { command }) => consistent(&command).map(|()| Asked::Command(Box::new(command))),
        Err(e) if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            Ok(Asked::Text(e.render().to_string()))
        }
        Err(e) => Err(said(&e)),
    }
}

/// Whether no name is given twice to an option, and no file is to hold two things.
fn consistent(command: &Command) -> Result<(), String> {
    let program = match command {
        Command::Run(run) => {
            no_twice("--combine", &run.combine)?;
            if let Some((name, _)) = run.combine.iter().find(|(name, _)| run.inputs.iter().all(|(n, _)| n != name)) {
                return Err(format!("--combine {name}: no data are given for `{name}`: --in {name}=FILE"));
            }
            no_twice("--out", &run.outputs)?;
            no_twice("--order", &run.order)?;
            no_twice("--limit", &run.limit)?;
            no_file_twice(run.outputs.iter().map(|(_, path)| path))?;
            if let Some((name, _)) = run.outputs.iter().find(|(_, path)| run.json && path.as_os_str() == "-") {
                return Err(format!("--out {name}=-: --json prints its object there: name a file"));
            }
            &run.program
        }
        Command::Build(build) => {
            no_file_twice(build.object.iter().chain(&build.ptx).chain(&build.header))?;
            &build.program
        }
        Command::Pack(pack) => &pack.program,
        Command::Show(show) if show.svg && show.stage != Stage::Lattice => {
            return Err("--svg draws the lattice: fiberloom show lattice PROG.loom --svg".to_string());
        }
        Command::Show(show) => &show.program,
        Command::Check(check) => &check.program,
        Command::Grad(_) | Command::Jvp(_) | Command::Fmt(_) => return Ok(()),
        Command::Man { .. } | Command::Completions { .. } | Command::Version => return Ok(()),
    };
    no_twice("--format", &program.formats)
}

fn no_twice<T>(option: &str, given: &[(String, T)]) -> Result<(), String> {
    let twice = (0..given.len()).find(|&i| given[..i].iter().any(|(name, _)| *name == given[i].0));
    match twice {
        Some(i) => Err(format!("{option} {} is given twice", given[i].0)),
        None => Ok(()),
    }
}

/// One file cannot hold two things, however it is spelled; a device can.
fn no_file_twice<'a>(files: impl Iterator<Item = &'a PathBuf>) -> Result<(), String> {
    let mut seen = Vec::new();
    for file in files {
        let place = crate::data::resolved(file);
        let through = place.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir());
        if !through && seen.contains(&place) {
            return Err(format!("{} would be written twice", file.display()));
        }
        seen.push(place);
    }
    Ok(())
}

/// `--format NAME=FORMAT`
pub fn format() -> impl TypedValueParser<Value = (String, String)> {
    OsStringValueParser::new().try_map(|given| {
        let (name, format) = named(&given, "--format NAME=FORMAT")?;
        let format = format.into_string().map_err(|f| format!("the format `{}` is no text", f.to_string_lossy()))?;
        Ok::<_, String>((name, format))
    })
}

/// `--in NAME=FILE`, `--out NAME=FILE`: the file's name need not be text.
pub fn file(option: &'static str) -> impl TypedValueParser<Value = (String, PathBuf)> {
    let usage = format!("{option} NAME=FILE");
    OsStringValueParser::new().try_map(move |given| named(&given, &usage).map(|(name, path)| (name, path.into())))
}

/// `--combine NAME=HOW`
pub fn combine() -> impl TypedValueParser<Value = (String, Combine)> {
    OsStringValueParser::new().try_map(|given| {
        let (name, how) = named(&given, "--combine NAME=sum|min|max|last")?;
        how.to_string_lossy().parse().map(|how| (name, how))
    })
}

/// `--table NAME=SETTING`
pub fn setting() -> impl TypedValueParser<Value = (String, String)> {
    OsStringValueParser::new().try_map(|given| {
        let (name, setting) = named(&given, "--table NAME=SETTING")?;
        let setting = setting.to_string_lossy().into_owned();
        Reading::default().set(&setting).map_err(|what| format!("--table {name}: {what}"))?;
        Ok::<_, String>((name, setting))
    })
}

/// `--order NAME=COLUMNS`
pub fn order() -> impl TypedValueParser<Value = (String, String)> {
    OsStringValueParser::new().try_map(|given| {
        let (name, columns) = named(&given, "--order NAME=COLUMN[:desc]")?;
        Ok::<_, String>((name, columns.to_string_lossy().into_owned()))
    })
}

/// `--limit NAME=N`
pub fn most() -> impl TypedValueParser<Value = (String, usize)> {
    OsStringValueParser::new().try_map(|given| {
        let (name, most) = named(&given, "--limit NAME=N")?;
        let most = most.to_string_lossy();
        let number = most.parse().map_err(|_| format!("--limit {name} takes a number of rows, not `{most}`"))?;
        Ok::<_, String>((name, number))
    })
}

/// A tensor's name, and what stands behind `=`.
fn named(given: &OsStr, usage: &str) -> Result<(String, OsString), String> {
    let bytes = given.as_bytes();
    let named = bytes.iter().position(|b| *b == b'=').and_then(|at| {
        let name = std::str::from_utf8(&bytes[..at]).ok()?;
        let value = OsString::from_vec(bytes[at + 1..].to_vec());
        (!name.is_empty() && !value.is_empty()).then(|| (name.to_string(), value))
    });
    named.ok_or_else(|| format!("`{}` given, {usage} expected", given.to_string_lossy()))
}

/// A number of bytes, with or without K, M, G or T behind it.
pub fn bytes() -> impl TypedValueParser<Value = u64> {
    StringValueParser::new().try_map(|given| {
        let refused = || format!("--memory takes a number of bytes from 1, as 500000000, 500M or 2G, not `{given}`");
        let digits = given.trim_end_matches(['K', 'M', 'G', 'T']);
        let power = match &given[digits.len()..] {
            "" => 0,
            "K" => 1,
            "M" => 2,
            "G" => 3,
            "T" => 4,
            _ => return Err(refused()),
        };
        let number = digits.parse::<u64>().ok().filter(|n| *n > 0);
        number.and_then(|n| n.checked_mul(1000u64.pow(power))).ok_or_else(refused)
    })
}

/// A number from 1.
pub fn positive(option: &'static str) -> impl TypedValueParser<Value = usize> {
    StringValueParser::new().try_map(move |given| {
        let number = given.parse().ok().filter(|n| *n > 0);
        number.ok_or_else(|| format!("{option} takes a number from 1, not `{given}`"))
    })
}

/// A word that is one of a few, which help and completions list; the reader may know more, to refuse them by name.
#[derive(Clone)]
struct OneOf<T> {
    listed: &'static [&'static str],
    read: fn(&str) -> Result<T, String>,
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for OneOf<T> {
    type Value = T;

    fn parse_ref(&self, command: &clap::Command, arg: Option<&Arg>, given: &OsStr) -> Result<T, clap::Error> {
        let read = self.read;
        StringValueParser::new().try_map(move |word| read(&word)).parse_ref(command, arg, given)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.listed.iter().map(PossibleValue::new)))
    }
}

/// `--mode`
pub fn mode() -> impl TypedValueParser<Value = Mode> {
    let read = |given: &str| match given {
        "algebraic" => Ok(Mode::Algebraic),
        "strict" => Ok(Mode::Strict),
        _ => Err(format!("`{given}` is no mode: algebraic or strict expected")),
    };
    OneOf { listed: &["algebraic", "strict"], read }
}

/// `--engine`
pub fn engine() -> impl TypedValueParser<Value = Engine> {
    OneOf { listed: &["llvm", "loops", "ptx", "nvptx", "meaning"], read: str::parse }
}

/// `--gpu`
pub fn gpu() -> impl TypedValueParser<Value = Gpu> {
    let read = |given: &str| {
        let named = Gpu::ALL.into_iter().find(|gpu| gpu.name() == given);
        named.ok_or_else(|| format!("`{given}` is no GPU that is known: sm_70, sm_80 or sm_90 expected"))
    };
    OneOf { listed: &["sm_70", "sm_80", "sm_90"], read }
}

/// `STAGE`
pub fn stage() -> impl TypedValueParser<Value = Stage> {
    OneOf { listed: &Stage::NAMES, read: str::parse }
}

/// What is wrong with the arguments, and how the command is used.
fn said(error: &clap::Error) -> String {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string().replacen("Usage:", "\nusage:", 1),
        _ => String::new(),
    };
    // What is wrong with one value needs no picture of all options.
    let usage = match error.kind() {
        ErrorKind::ValueValidation | ErrorKind::ArgumentConflict => String::new(),
        ErrorKind::InvalidValue if !text(error, ContextKind::InvalidValue).is_empty() => String::new(),
        _ => usage,
    };
    match error.kind() {
        // All commands, in the place of the usage.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!("{}\n\n{}", sentence(error), error.render().to_string().trim_end())
        }
        _ => format!("{}{usage}", sentence(error)),
    }
}

/// What is wrong with the arguments, in one line.
fn sentence(error: &clap::Error) -> String {
    let (given, value) = (text(error, ContextKind::InvalidArg), text(error, ContextKind::InvalidValue));
    let option = given.split(' ').next().unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument if given.starts_with('-') && given != "-" => {
            let meant = text(error, ContextKind::SuggestedArg);
            format!("no option `{given}` here{}", perhaps(&meant))
        }
        ErrorKind::UnknownArgument => format!("one program expected, `{given}` is a second one"),
        ErrorKind::InvalidSubcommand => {
            let meant = text(error, ContextKind::SuggestedSubcommand);
            format!("no command `{}`{}", text(error, ContextKind::InvalidSubcommand), perhaps(&meant))
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "a command expected".to_string()
        }
        ErrorKind::ArgumentConflict => {
            let other = text(error, ContextKind::PriorArg);
            match other.split(' ').next().unwrap_or_default() {
                other if other == option || other.is_empty() => format!("{option} is given twice"),
                other => {
                    let name = |option: &str| option.trim_matches(['[', ']', '<', '>']).to_string();
                    format!("one of {} and {} expected, and not both", name(option), name(other))
                }
            }
        }
        ErrorKind::MissingRequiredArgument => format!("{given} expected"),
        ErrorKind::InvalidValue if value.is_empty() => format!("{option} takes a value: {given}"),
        ErrorKind::InvalidValue => {
            let what = given.split(['<', '>']).nth(1).unwrap_or(&given).to_lowercase();
            format!("`{value}` is no {what}: one of {} expected", text(error, ContextKind::ValidValue))
        }
        ErrorKind::ValueValidation => std::error::Error::source(error).map_or(value, ToString::to_string),
        _ => error.render().to_string().trim_start_matches("error: ").trim_end().to_string(),
    }
}

/// What clap says of an error under a heading; empty if nothing.
fn text(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::Strings(all)) => all.join(", "),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

fn perhaps(meant: &str) -> String {
    if meant.is_empty() { String::new() } else { format!("; {meant} is one") }
}
