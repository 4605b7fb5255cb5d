//! How many operations a program takes at n, 2n and 4n.
//!
//! ```text
//!  tensors   the extents of sizes that nothing fixes are 1, 2, 4 times what they are; each entry of the outermost mode keeps as
//!            many entries below it: a matrix of 5 entries a row has 5 a row. Values and places are drawn.
//!  tables    a quarter, half and all of the rows of the longest table; the other tables are as they are
//! ```

use crate::ask::Asked;
use crate::run::{Read, bound, data};
use fiberloom::data::{Random, Source};
use fiberloom::relation::{self, Frame};
use fiberloom::{Error, Program, Tensor};
use serde::Serialize;

/// The answer: a point each.
#[derive(Serialize)]
pub struct Grown {
    error: Option<()>,
    /// What grows, in words.
    what: String,
    points: Vec<Point>,
}

#[derive(Serialize)]
struct Point {
    /// How large the data are, of a whole that the unit names.
    n: u64,
    /// How many values are stored in all operands.
    stored: u64,
    ops: u64,
}

/// By what data are multiplied.
const FACTORS: [u64; 3] = [1, 2, 4];

/// Counts.
///
/// # Errors
/// As of a run; that nothing of the data can grow.
pub fn grow(asked: &Asked) -> Result<Grown, Error> {
    let program = asked.program()?;
    let (operands, frames) = data(asked, &program)?;
    if let Some(longest) = (0..frames.len()).max_by_key(|n| frames[*n].1.rows) {
        return rows(asked, &program, &operands, frames, longest);
    }
    let mut points = Vec::new();
    let mut extents = 0;
    for factor in FACTORS {
        let drawn = larger(asked, &program, &operands, factor)?;
        extents = extents.max(n_of(&drawn));
        points.push(counted(asked, &program, n_of(&drawn), drawn)?);
    }
    if points.windows(2).all(|two| two[0].n == two[1].n) {
        let what = "the program says every extent: nothing of its data can grow";
        return Err(Error::Call(what.to_string()));
    }
    Ok(Grown { error: None, what: "the largest extent".to_string(), points })
}

/// A quarter, half and all of the rows of one table.
fn rows(
    asked: &Asked,
    program: &Program,
    operands: &[(String, Tensor<'static>)],
    mut frames: Vec<(&str, Frame<'static>)>,
    longest: usize,
) -> Result<Grown, Error> {
    let (name, all) = (frames[longest].0.to_string(), frames[longest].1.clone());
    let mut points = Vec::new();
    for factor in FACTORS {
        let rows = (all.rows as u64 * factor / 4).max(1);
        frames[longest].1 = relation::ordered(all.clone(), &[], rows as usize)?;
        let Read { program, operands, .. } = bound(asked, program, operands.to_vec(), &frames)?;
        points.push(counted(asked, &program, rows, operands)?);
    }
    Ok(Grown { error: None, what: format!("rows of {name}"), points })
}

fn counted(asked: &Asked, program: &Program, n: u64, operands: Vec<(String, Tensor<'static>)>) -> Result<Point, Error> {
    let named: Vec<(&str, &Tensor)> = operands.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let outcome = program.compile(&asked.running())?.run(&named)?;
    let counts = outcome.ops.unwrap_or_default();
    let ops = counts.iter().find(|(name, _)| *name == "total").map_or(0, |(_, count)| *count);
    Ok(Point { n, stored: operands.iter().map(|(_, tensor)| tensor.stored() as u64).sum(), ops })
}

/// The largest extent.
fn n_of(operands: &[(String, Tensor<'static>)]) -> u64 {
    operands.iter().flat_map(|(_, tensor)| tensor.extents.iter().copied()).max().unwrap_or(0)
}

/// Operands of the same kind, larger; values of sizes and scalars without modes are as they are.
fn larger(
    asked: &Asked,
    program: &Program,
    operands: &[(String, Tensor<'static>)],
    factor: u64,
) -> Result<Vec<(String, Tensor<'static>)>, Error> {
    let typed = program.typed();
    let grows = |name: &str, mode: usize| {
        let declared = program.tensor(name).map(|(_, declared)| declared);
        declared.is_some_and(|declared| {
            let size = &typed.sizes[declared.sizes[mode].index()];
            size.value.is_none() && !size.given
        })
    };
    let mut drawn = Vec::new();
    for (name, tensor) in operands {
        let Some((id, _)) = program.tensor(name).filter(|_| !tensor.extents.is_empty()) else {
            drawn.push((name.clone(), tensor.clone()));
            continue;
        };
        let times = |mode: usize| if grows(name, mode) { factor } else { 1 };
        let extents: Vec<u64> =
            tensor.extents.iter().enumerate().map(|(mode, n)| n.saturating_mul(times(mode))).collect();
        let all: f64 = tensor.extents.iter().map(|n| *n as f64).product();
        let below: f64 = (1..extents.len()).map(|mode| times(mode) as f64).product();
        let stored = tensor.stored() as f64;
        let share = if tensor.format.is_dense() || all == 0.0 { 1.0 } else { (stored / all / below).min(1.0) };
        let random = Random { extents: Some(extents), share, seed: factor };
        let declared = program.declared(id, program.format(id), &[])?;
        drawn.push((name.clone(), Source::Random(random).tensor(&declared, &asked.options())?));
    }
    Ok(drawn)
}
