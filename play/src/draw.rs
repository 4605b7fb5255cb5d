//! Tensors and tables as the page draws them: entries, the arrays of levels, rows.

use fiberloom::relation::Frame;
use fiberloom::{Array, Tensor};
use serde::Serialize;

/// The most entries that are drawn.
const ENTRIES: usize = 4000;
/// The most elements of an array, and rows of a table, that are listed.
const LISTED: usize = 400;

/// A tensor.
#[derive(Serialize)]
pub struct Drawn {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    extents: Vec<u64>,
    format: String,
    order: Vec<usize>,
    fill: String,
    /// How many values it stores.
    stored: usize,
    /// The first of its entries as they are stored: coordinates by mode, one entry's behind the other's.
    coordinates: Vec<i64>,
    /// Their values.
    values: Vec<String>,
    levels: Vec<Level>,
}

/// A level with its arrays.
#[derive(Serialize)]
struct Level {
    kind: &'static str,
    mode: usize,
    arrays: Vec<Listed>,
}

/// The first elements of an array.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    length: usize,
    elements: Vec<String>,
}

/// A table, or a result that has labels.
#[derive(Serialize)]
pub struct Rows {
    name: String,
    rows: usize,
    columns: Vec<Column>,
}

#[derive(Serialize)]
struct Column {
    name: String,
    cells: Vec<String>,
}

/// A tensor, so much of it as is drawn.
pub fn tensor(name: &str, tensor: &Tensor) -> Drawn {
    let (mut coordinates, mut values) = (Vec::new(), Vec::new());
    for (at, value) in tensor.first_entries(ENTRIES) {
        coordinates.extend(at);
        values.push(value.to_string());
    }
    let levels = tensor.format.levels.iter().zip(&tensor.levels).zip(tensor.format.order.iter());
    let level = |((kind, level), mode): ((&fiberloom::LevelKind, &fiberloom::Level), &usize)| {
        let arrays = kind.arrays().iter().zip(level.arrays()).map(|((name, _), array)| listed(name, array)).collect();
        Level { kind: kind.name(), mode: *mode, arrays }
    };
    Drawn {
        name: name.to_string(),
        ty: tensor.fill.ty().to_string(),
        extents: tensor.extents.clone(),
        format: tensor.format.to_string(),
        order: tensor.format.order.to_vec(),
        fill: tensor.fill.to_string(),
        stored: tensor.stored(),
        coordinates,
        values,
        levels: levels.map(level).collect(),
    }
}

fn listed(name: &'static str, array: &Array) -> Listed {
    let elements = (0..array.len().min(LISTED)).map(|n| array.get(n).to_string());
    Listed { name, length: array.len(), elements: elements.collect() }
}

/// The first rows of a frame.
pub fn rows(name: &str, frame: &Frame) -> Rows {
    let column = |column: &fiberloom::relation::Column| {
        let cell = |row: usize| column.cell(row).map_or(String::new(), |cell| cell.to_string());
        Column { name: column.name.clone(), cells: (0..frame.rows.min(LISTED)).map(cell).collect() }
    };
    Rows { name: name.to_string(), rows: frame.rows, columns: frame.columns.iter().map(column).collect() }
}
