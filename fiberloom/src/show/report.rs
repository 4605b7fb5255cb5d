//! Errors as JSON, and the form of all JSON that is printed.

use super::asked_for;
use crate::{Error, data};
use fiberloom_core::notation::Diagnostic;
use serde::Serialize;
use serde_json::ser::Formatter;
use std::io::{self, Write};
use std::time::Duration;

/// Why there are no results, or wrong ones.
#[derive(Serialize, Clone, Debug)]
pub struct Failure {
    /// The exit status of the command line.
    pub exit: u8,
    /// What kind of error it is, in a word.
    pub kind: &'static str,
    /// What is wrong.
    pub message: String,
    /// Each place that the error is about, with what is to be said of it.
    pub diagnostics: Vec<Place>,
}

/// A place that an error is about.
#[derive(Serialize, Clone, Debug)]
pub struct Place {
    /// The program's file, or that of data.
    pub file: String,
    /// From 1, as is the column; none of what has no lines.
    pub line: Option<usize>,
    /// From 1, in characters.
    pub column: Option<usize>,
    /// What is wrong there.
    pub message: String,
    /// What to change, if that is known.
    pub help: Option<String>,
}

impl Failure {
    /// That of an error.
    pub fn of(error: &Error) -> Failure {
        let (kind, diagnostics) = match error {
            Error::Program { file, text, diagnostics } => ("program", places(file, text, diagnostics)),
            Error::Mismatch { file, text, diagnostics } => ("mismatch", places(file, text, diagnostics)),
            Error::Missing { file, text, tensors } => ("program", places(file, text, &asked_for(tensors))),
            Error::Data(e) => ("data", vec![in_file(e)]),
            Error::Call(_) => ("call", Vec::new()),
            Error::Operand { .. } => ("operand", Vec::new()),
            Error::Stopped(_) => ("stopped", Vec::new()),
            Error::Device(_) => ("device", Vec::new()),
            Error::Wrong(_) => ("wrong", Vec::new()),
            Error::Defect(_) => ("defect", Vec::new()),
        };
        let message = match error {
            Error::Program { diagnostics, .. } | Error::Mismatch { diagnostics, .. } => {
                diagnostics.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("\n")
            }
            Error::Missing { tensors, .. } => {
                tensors.iter().map(|(_, d)| d.message.as_str()).collect::<Vec<_>>().join("\n")
            }
            error => error.to_string(),
        };
        Failure { exit: error.exit(), kind, message, diagnostics }
    }
}

/// `{"error": …}`
pub fn error(error: &Error) -> String {
    #[derive(Serialize)]
    struct Only {
        error: Failure,
    }
    object(&Only { error: Failure::of(error) })
}

fn places(file: &str, text: &str, diagnostics: &[Diagnostic]) -> Vec<Place> {
    let place = |d: &Diagnostic| {
        let (line, column) = fiberloom_front::place(text, d.span.start as usize);
        let (file, message, help) = (file.to_string(), d.message.clone(), d.help.clone());
        Place { file, line: Some(line), column: Some(column), message, help }
    };
    diagnostics.iter().map(place).collect()
}

fn in_file(e: &data::Error) -> Place {
    let (line, column) = match e.place {
        data::Place::Line(line, column) => (Some(line), Some(column)),
        _ => (None, None),
    };
    let message = match &e.place {
        data::Place::Cell { row, column } => format!("row {row}, column {column}: {}", e.message),
        _ => e.message.clone(),
    };
    Place { file: e.file.clone(), line, column, message, help: None }
}

/// On one line, with blanks behind colons and commas.
pub fn object(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let mut to = serde_json::Serializer::with_formatter(&mut bytes, Spaced);
    value.serialize(&mut to).expect("memory takes everything, and keys are strings");
    String::from_utf8(bytes).expect("JSON is text")
}

/// `{"a": 1, "b": [2, 3]}`
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }
}

/// A time in milliseconds.
pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The least and the median of one or more times, in milliseconds; the median of an even number is the mean of the middle two.
pub fn min_median(times: &[Duration]) -> (f64, f64) {
    let mut sorted: Vec<f64> = times.iter().copied().map(milliseconds).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    (sorted[0], (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0)
}
