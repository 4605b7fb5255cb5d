//! Runs a program by the checked interpreter of loops, and compares its answer with the program's meaning.

use crate::ask::Asked;
use crate::draw::{self, Drawn, Rows};
use crate::look::{self, Look};
use fiberloom::relation::{self, Bound, By, Dictionary, Frame};
use fiberloom::show::{self, SHOWN};
use fiberloom::{Error, Outcome, Program, Tensor};
use serde::Serialize;
use std::path::Path;

/// The answer.
#[derive(Serialize)]
pub struct Ran {
    error: Option<()>,
    /// What the command line prints of the results.
    printed: String,
    /// What comparing them with the reference semantics gave, as the command line says it.
    checked: String,
    /// Whether they are not its answer.
    wrong: bool,
    /// What was counted.
    ops: Vec<(&'static str, u64)>,
    operands: Vec<Drawn>,
    results: Vec<Drawn>,
    tables: Vec<Rows>,
    /// What was made for these data.
    made: Look,
}

/// Data of a program, read: it is fitted to them.
pub struct Read {
    pub program: Program,
    pub operands: Vec<(String, Tensor<'static>)>,
    pub labels: Vec<Dictionary>,
}

/// Runs it.
///
/// # Errors
/// What is wrong with the program or the data; what is missing.
pub fn run(asked: &Asked) -> Result<Ran, Error> {
    let program = asked.program()?;
    let (others, frames) = data(asked, &program)?;
    let Read { program, operands, labels } = bound(asked, &program, others, &frames)?;
    let kernel = program.compile(&asked.running())?;
    let named: Vec<(&str, &Tensor)> = operands.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let mut call = kernel.bind(&named)?;
    let outcome = call.run()?;
    let (checked, wrong) = match call.agrees(&outcome) {
        Ok(agreement) => (show::checked(&agreement), false),
        Err(error) => (error.to_string(), matches!(error, Error::Wrong(_))),
    };
    let shown = results(asked, &program, &outcome, &labels)?;
    let relations = program.relations();
    let own = operands.iter().filter(|(name, _)| !relations.hidden.contains(name) && program.tensor(name).is_some());
    Ok(Ran {
        error: None,
        printed: shown.iter().map(|shown| shown.printed.trim_end()).collect::<Vec<_>>().join("\n"),
        checked,
        wrong,
        ops: outcome.ops.clone().unwrap_or_default(),
        operands: own.map(|(name, tensor)| draw::tensor(name, tensor)).collect(),
        results: shown.iter().filter_map(|s| s.tensor.map(|tensor| draw::tensor(&s.name, tensor))).collect(),
        tables: shown.iter().filter_map(|s| s.rows.as_ref().map(|rows| draw::rows(&s.name, rows))).collect(),
        made: look::stages(asked, &program, Some(&call))?,
    })
}

/// The tensors among the data, and the tables.
type Data<'a> = (Vec<(String, Tensor<'static>)>, Vec<(&'a str, Frame<'static>)>);

/// Reads all data, if none are missing.
///
/// # Errors
/// What is missing, before anything is read; what is wrong with data.
pub fn data<'a>(asked: &'a Asked, program: &Program) -> Result<Data<'a>, Error> {
    let of_tables: Vec<_> = asked.ask.data.iter().filter(|datum| program.table(&datum.name).is_some()).collect();
    let sources = asked.sources(program)?;
    let named: Vec<&str> = of_tables.iter().map(|datum| datum.name.as_str()).collect();
    let from_tables = program.operands_of_tables(&named)?;
    let given: Vec<&str> =
        sources.iter().map(|(name, ..)| *name).chain(from_tables.iter().map(String::as_str)).collect();
    program.compile(&asked.running())?.complete(&given)?;
    let operands = program.operands(&sources)?;
    let mut frames = Vec::new();
    for datum in of_tables {
        let relations = program.relations();
        let table = program.table(&datum.name).expect("it is one");
        let wanted = relation::wanted(relations, table);
        let frame = relation::read_bytes(Path::new(&datum.from), asked.bytes(datum)?, &wanted, &asked.options())?;
        frames.push((datum.name.as_str(), frame));
    }
    Ok((operands.into_iter().map(|(name, tensor)| (name.to_string(), tensor)).collect(), frames))
}

/// The operands that tensors and tables are together, and the program fitted to them.
///
/// # Errors
/// What is wrong with tables.
pub fn bound(
    asked: &Asked,
    program: &Program,
    mut operands: Vec<(String, Tensor<'static>)>,
    frames: &[(&str, Frame)],
) -> Result<Read, Error> {
    let relations = program.relations();
    if relations.domains.is_empty() && relations.tables.is_empty() {
        return Ok(Read { program: program.clone(), operands, labels: Vec::new() });
    }
    let others: Vec<(&str, &[u64])> = operands.iter().map(|(name, t)| (name.as_str(), &t.extents[..])).collect();
    let bound = program.bind_tables(frames, &others, asked.options().limit)?;
    let (program, Bound { operands: own, labels }) = relation::narrow(program, bound)?;
    operands.extend(own);
    Ok(Read { program, operands, labels })
}

/// A result as it is shown.
struct Shown<'a> {
    name: String,
    printed: String,
    /// It, if it has no labels.
    tensor: Option<&'a Tensor<'static>>,
    rows: Option<Frame<'static>>,
}

fn results<'a>(
    asked: &Asked,
    program: &Program,
    outcome: &'a Outcome,
    labels: &[Dictionary],
) -> Result<Vec<Shown<'a>>, Error> {
    let relations = program.relations();
    let related = !relations.domains.is_empty() || !relations.tables.is_empty();
    let mut shown = Vec::new();
    for name in program.given_by(outcome) {
        let frame = if related { program.decoded(&name, outcome, labels)? } else { None };
        let one = match frame {
            Some(frame) => {
                let frame = arranged(asked, &name, frame)?;
                Shown { printed: format!("{name}: {}", frame.head(SHOWN)), name, tensor: None, rows: Some(frame) }
            }
            None => {
                let tensor = &outcome[name.as_str()];
                Shown { printed: show::tensor(&name, tensor), name, tensor: Some(tensor), rows: None }
            }
        };
        shown.push(one);
    }
    Ok(shown)
}

/// The rows of a result in the order that is asked for, so many of them.
fn arranged(asked: &Asked, name: &str, frame: Frame<'static>) -> Result<Frame<'static>, Error> {
    let by = asked.ask.order.iter().find(|(of, _)| of == name).map_or(Vec::new(), |(_, columns)| By::all(columns));
    let most = asked.ask.limit.iter().find(|(of, _)| of == name).map_or(usize::MAX, |(_, most)| *most);
    if by.is_empty() && most == usize::MAX {
        return Ok(frame);
    }
    Ok(relation::ordered(frame, &by, most)?)
}
