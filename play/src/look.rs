//! What is known of a program without data: errors with their places, tensors, and every stage.

use crate::ask::Asked;
use fiberloom::show::report::Failure;
use fiberloom::show::{Stage, Stages, asked_for};
use fiberloom::{Diagnostic, Error, Program, Role};
use serde::Serialize;
use std::ops::Range;

/// The answer.
#[derive(Serialize, Default)]
pub struct Look {
    pub error: Option<Failure>,
    /// Errors and warnings as the command line prints them.
    rendered: String,
    marks: Vec<Mark>,
    tensors: Vec<Named>,
    tables: Vec<String>,
    /// Sizes whose values calls say.
    sizes: Vec<String>,
    stages: Vec<Shown>,
    /// The lattice as a picture, if it is a stage that is wanted.
    picture: Option<String>,
}

/// A place in the program's text, in units of UTF-16 as a page counts them, and what is to be said of it.
#[derive(Serialize)]
pub struct Mark {
    from: usize,
    to: usize,
    line: usize,
    column: usize,
    /// `error` or `warning`.
    severity: &'static str,
    message: String,
    help: Option<String>,
    /// Other places that matter.
    labels: Vec<Label>,
}

#[derive(Serialize)]
struct Label {
    from: usize,
    to: usize,
    text: String,
}

/// A tensor of the program.
#[derive(Serialize)]
struct Named {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    /// `operand`, `result`, `local` or `function`.
    role: &'static str,
    /// Whether the program declares it, with a format or without one.
    declared: bool,
    format: String,
    levels: Vec<&'static str>,
    order: Vec<usize>,
    /// The names of its extents.
    sizes: Vec<Option<String>>,
    /// Those extents that the program says.
    extents: Vec<Option<u64>>,
    /// Whether a call needs data for it.
    needed: bool,
}

/// A stage as text, or why it is not there.
#[derive(Serialize)]
pub struct Shown {
    stage: String,
    text: Option<String>,
    error: Option<String>,
}

/// Looks at a program; what is wrong with it is in the answer.
pub fn look(asked: &Asked) -> Look {
    let program = match asked.program() {
        Ok(program) => program,
        Err(error) => return Look::of(&error),
    };
    let mut look = stages(asked, &program, None).unwrap_or_else(|error| Look::of(&error));
    let given: Vec<&str> = asked.ask.data.iter().map(|datum| datum.name.as_str()).collect();
    let warnings = program.warnings(&given);
    look.rendered += &program.drawn(&warnings, false);
    look.marks.extend(marked(&asked.ask.program, &warnings));
    look.tensors = tensors(&program);
    let tables = program.relations().tables.iter().filter(|table| !table.made);
    look.tables = tables.map(|table| table.name.clone()).collect();
    let typed = program.typed();
    look.sizes = typed.given_sizes().filter_map(|size| typed.sizes[size.index()].name.clone()).collect();
    look
}

/// The stages that are wanted; of a call, those that are made for its operands.
///
/// # Errors
/// A name of none.
pub fn stages(asked: &Asked, program: &Program, call: Option<&fiberloom::Call>) -> Result<Look, Error> {
    let wanted = asked.stages()?;
    let stages = Stages::of(program, asked.mode(), call);
    let mut look = Look::default();
    for (stage, name) in wanted.iter().zip(&asked.ask.stages) {
        let shown = |text, error| Shown { stage: name.clone(), text, error };
        match stages.text(*stage) {
            Ok(text) => look.stages.push(shown(Some(text), None)),
            Err(error) => {
                // The first error has its places in the program.
                if look.error.is_none() {
                    look = Look { stages: look.stages, ..Look::of(&error) };
                }
                look.stages.push(shown(None, Some(error.to_string())));
            }
        }
    }
    if wanted.contains(&Stage::Lattice) {
        look.picture = stages.picture().ok();
    }
    Ok(look)
}

impl Look {
    /// That there is nothing to see but an error.
    fn of(error: &Error) -> Look {
        Look { error: Some(Failure::of(error)), rendered: rendered(error), marks: marks(error), ..Look::default() }
    }
}

/// The error as the command line prints it.
pub fn rendered(error: &Error) -> String {
    match error {
        Error::Missing { file, text, tensors } => fiberloom_front::render(file, text, &asked_for(tensors), false),
        error => error.to_string(),
    }
}

/// The places in the program that an error is about.
pub fn marks(error: &Error) -> Vec<Mark> {
    match error {
        Error::Program { text, diagnostics, .. } | Error::Mismatch { text, diagnostics, .. } => {
            marked(text, diagnostics)
        }
        Error::Missing { text, tensors, .. } => marked(text, &asked_for(tensors)),
        _ => Vec::new(),
    }
}

fn marked(text: &str, diagnostics: &[Diagnostic]) -> Vec<Mark> {
    let mark = |d: &Diagnostic| {
        let Range { start, end } = units(text, d.span);
        let (line, column) = fiberloom_front::place(text, d.span.start as usize);
        let label = |(span, said): &(fiberloom_core::notation::Span, String)| {
            let Range { start, end } = units(text, *span);
            Label { from: start, to: end, text: said.clone() }
        };
        Mark {
            from: start,
            to: end,
            line,
            column,
            severity: d.severity.name(),
            message: d.message.clone(),
            help: d.help.clone(),
            labels: d.labels.iter().map(label).collect(),
        }
    };
    diagnostics.iter().map(mark).collect()
}

/// Where a span stands, in units of UTF-16.
fn units(text: &str, span: fiberloom_core::notation::Span) -> Range<usize> {
    let upto = |byte: u32| {
        let mut byte = (byte as usize).min(text.len());
        while !text.is_char_boundary(byte) {
            byte -= 1;
        }
        text[..byte].encode_utf16().count()
    };
    upto(span.start)..upto(span.end)
}

fn tensors(program: &Program) -> Vec<Named> {
    let typed = program.typed();
    let inputs = typed.inputs();
    let tables: Vec<&str> = program.relations().tables.iter().map(|table| table.name.as_str()).collect();
    let of_tables = program.operands_of_tables(&tables).unwrap_or_default();
    let hidden = &program.relations().hidden;
    let shown = typed.tensors.iter().enumerate().filter(|(_, tensor)| !hidden.contains(&tensor.name));
    let named = |(n, tensor): (usize, &fiberloom_core::notation::typed::Tensor)| {
        let id = fiberloom_core::notation::typed::TensorId(n as u32);
        let format = program.format(id);
        Named {
            name: tensor.name.clone(),
            ty: tensor.ty.to_string(),
            role: match tensor.role {
                Role::Input => "operand",
                Role::Result => "result",
                Role::Local => "local",
                Role::Computed(_) => "function",
            },
            declared: tensor.format.is_some(),
            format: format.to_string(),
            levels: format.levels.iter().map(|kind| kind.name()).collect(),
            order: format.order.to_vec(),
            sizes: tensor.sizes.iter().map(|size| typed.sizes[size.index()].name.clone()).collect(),
            extents: tensor.sizes.iter().map(|size| typed.sizes[size.index()].value).collect(),
            needed: inputs.contains(&id) && !of_tables.contains(&tensor.name),
        }
    };
    shown.map(named).collect()
}
