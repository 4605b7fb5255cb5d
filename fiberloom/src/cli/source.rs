//! A program's text: from a file, from standard input, or from the command line.

use super::args::{Program, Source};
use super::{memory, print};
use crate::show::rescheduled;
use crate::{Error, Given, Value, data};
use fiberloom_core::notation::{Diagnostic, Span};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A text, and what messages call the file that it is from.
pub struct Text {
    /// The file's name, `<stdin>`, or `<text>`.
    pub name: String,
    /// What stands in it.
    pub text: String,
}

/// Reads and checks the program that the arguments name, under the formats and the schedule that they give.
pub fn program(args: &Program) -> Result<crate::Program, Error> {
    program_on(args, &[])
}

/// The same of a program that is run on these data: what it does not declare is as they are.
pub fn program_on(args: &Program, inputs: &[(String, PathBuf)]) -> Result<crate::Program, Error> {
    let Text { name, text } = read(&args.source)?;
    memory::takes(text.len())?;
    let text = rescheduled(text, args.schedule.as_deref(), args.no_schedule)?;
    let formats: Vec<(&str, &str)> = args.formats.iter().map(|(tensor, format)| (&**tensor, &**format)).collect();
    let options = data::Options { limit: memory::available(0)?, ..data::Options::default() };
    let program = crate::Program::given(&name, &text, &formats, &mut |tensor, rank| {
        let Some((_, path)) = inputs.iter().find(|(name, _)| name == tensor) else { return Ok(None) };
        let described = data::Source::of(path)?.described(rank, &options)?;
        let format = described.format(rank).to_string();
        Ok(Some(Given { ty: described.ty, fill: Value::zero(described.ty), format }))
    });
    let program = program.map_err(|error| near(error, inputs))?;
    let Some(path) = &args.plan else { return Ok(program) };
    let Text { name, text } = read(&Source { path: Some(path.clone()), text: None })?;
    Ok(program.with_plan(&name, &text))
}

/// Says of each tensor that is not known which name that was given is nearly its own.
fn near(mut error: Error, inputs: &[(String, PathBuf)]) -> Error {
    if let Error::Program { diagnostics, .. } = &mut error {
        for d in diagnostics {
            let unknown = d.message.strip_prefix("unknown tensor `").and_then(|rest| rest.strip_suffix('`'));
            let given = inputs.iter().map(|(name, _)| name.as_str());
            if let Some((unknown, given)) = unknown.and_then(|u| Some((u, fiberloom_core::nearest(u, given)?))) {
                d.help = Some(format!("`--in {given}=…` is given: write `--in {unknown}=…`, or `{given}` here"));
            }
        }
    }
    error
}

/// Reads a program's text.
///
/// # Errors
/// The file cannot be read, or holds no text.
pub fn read(source: &Source) -> Result<Text, Error> {
    let (name, bytes) = match (&source.text, &source.path) {
        (Some(text), _) => return Ok(Text { name: "<text>".to_string(), text: text.clone() }),
        (None, Some(path)) if path.as_os_str() != "-" => {
            let bytes = File::open(path).and_then(bytes).map_err(|e| print::io(path, e))?;
            (path.display().to_string(), bytes)
        }
        (None, _) => {
            let name = "<stdin>";
            (name.to_string(), bytes(std::io::stdin().lock()).map_err(|e| print::io(Path::new(name), e))?)
        }
    };
    let text = String::from_utf8(bytes).map_err(|e| not_text(&name, e.as_bytes(), e.utf8_error().valid_up_to()))?;
    Ok(Text { name, text })
}

/// All bytes; of a program that is too long just so many that this is seen.
fn bytes(from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(fiberloom_front::MOST_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The error of bytes that are no text from `at` on; what stands before is shown as the program.
fn not_text(name: &str, bytes: &[u8], at: usize) -> Error {
    let text = format!("{}\u{fffd}", String::from_utf8_lossy(&bytes[..at]));
    let wrong = Diagnostic::new(Span::new(at, text.len()), "the program is not UTF-8 text".to_string());
    Error::Program { file: name.to_string(), text, diagnostics: vec![wrong] }
}
