//! Errors of the library as exceptions of `fiberloom.errors`, with their places.

use fiberloom::data::Cause;
use fiberloom::{Diagnostic, Error, Malformed};
use fiberloom_core::notation::Span;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// An exception class of `fiberloom.errors`.
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyType>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || Ok::<_, PyErr>(py.import("fiberloom.errors")?.unbind()))?;
    Ok(module.bind(py).getattr(name)?.cast_into::<PyType>()?)
}

/// An exception of this class.
pub fn exception(py: Python<'_>, name: &str, message: impl Into<String>) -> PyErr {
    match class(py, name) {
        Ok(class) => PyErr::from_type(class, (message.into(),)),
        Err(unknown) => unknown,
    }
}

/// An operand that cannot be taken.
pub fn operand(py: Python<'_>, name: &str, what: impl std::fmt::Display) -> PyErr {
    exception(py, "OperandError", format!("tensor `{name}`: {what}"))
}

/// The library's error as an exception: its class says who has to change something.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    match error {
        Error::Program { file, text, diagnostics } => {
            let is_false = |d: &Diagnostic| d.message.contains("counterexample");
            let name = if diagnostics.iter().any(is_false) { "CounterexampleError" } else { "ProgramError" };
            placed(py, name, (file, text), diagnostics)
        }
        Error::Mismatch { file, text, diagnostics } => placed(py, "MismatchError", (file, text), diagnostics),
        Error::Missing { file, text, tensors } => {
            let given = |(name, d): &(String, Diagnostic)| d.clone().help(format!("give the call `{name}=…`"));
            placed(py, "OperandError", (file, text), &tensors.iter().map(given).collect::<Vec<_>>())
        }
        Error::Data(e) if e.cause == Cause::Limit => exception(py, "LimitError", error.to_string()),
        Error::Call(_) | Error::Operand { .. } | Error::Data(_) => exception(py, "OperandError", error.to_string()),
        Error::Stopped(_) => exception(py, "LimitError", error.to_string()),
        Error::Device(_) => exception(py, "Error", error.to_string()),
        Error::Wrong(_) => exception(py, "WrongAnswerError", error.to_string()),
        Error::Defect(_) => exception(py, "DefectError", error.to_string()),
    }
}

/// A tensor that is not well-formed, or could not be made.
pub fn malformed(py: Python<'_>, name: &str, malformed: &Malformed) -> PyErr {
    match malformed.is_unchecked() {
        true => exception(py, "LimitError", format!("tensor `{name}`: {malformed}")),
        false => operand(py, name, malformed),
    }
}

/// Entries or arrays of which no tensor could be made.
pub fn unassembled(py: Python<'_>, name: &str, error: &fiberloom::AssemblyError) -> PyErr {
    match error {
        fiberloom::AssemblyError::Memory { .. } => exception(py, "LimitError", format!("tensor `{name}`: {error}")),
        error => operand(py, name, error),
    }
}

/// An exception that is drawn, with `spans`.
fn placed(py: Python<'_>, name: &str, (file, text): (&str, &str), diagnostics: &[Diagnostic]) -> PyErr {
    let message = fiberloom_front::render(file, text, diagnostics, false);
    let error = exception(py, name, message.trim_end());
    let spans = diagnostics.iter().map(|d| place(text, d)).collect::<Vec<_>>();
    let set = || -> PyResult<()> {
        let made = py.import("fiberloom.errors")?.getattr("_spans")?.call1((spans,))?;
        error.value(py).setattr("spans", made)
    };
    match set() {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Of a diagnostic: start and end in characters, line and column from 1, message, help, and labels of other places.
type Place = (usize, usize, usize, usize, String, Option<String>, Labels);

fn place(text: &str, diagnostic: &Diagnostic) -> Place {
    let characters =
        |byte: u32| text.get(..byte as usize).map_or(text.chars().count(), |before| before.chars().count());
    let (start, end) = (characters(diagnostic.span.start), characters(diagnostic.span.end));
    let before = text.get(..diagnostic.span.start as usize).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let label = |(span, text): &(Span, String)| (characters(span.start), characters(span.end), text.clone());
    let labels = diagnostic.labels.iter().map(label).collect();
    (start, end, line, column, diagnostic.message.clone(), diagnostic.help.clone(), labels)
}

/// Other places of a message, each with what it says there.
type Labels = Vec<(usize, usize, String)>;

/// Messages drawn into a text: each with its place in characters, its help, and labels of other places.
#[pyfunction]
pub fn drawn(file: &str, text: &str, messages: Vec<(usize, usize, String, Option<String>, Labels)>) -> String {
    let starts: Vec<usize> = text.char_indices().map(|(byte, _)| byte).chain([text.len()]).collect();
    let byte = |character: usize| starts.get(character).copied().unwrap_or(text.len());
    let span = |start: usize, end: usize| Span::new(byte(start), byte(end));
    let diagnostic = |(start, end, message, help, labels): (_, _, String, _, Labels)| {
        let all = Diagnostic { help, ..Diagnostic::new(span(start, end), message) };
        labels.into_iter().fold(all, |d, (start, end, text)| d.label(span(start, end), text))
    };
    let diagnostics: Vec<Diagnostic> = messages.into_iter().map(diagnostic).collect();
    fiberloom_front::render(file, text, &diagnostics, false).trim_end().to_string()
}
