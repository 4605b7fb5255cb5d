//! Results become frames: coordinates have their labels again.
//!
//! ```text
//!  revenue  (0, 2) 500        n_name   o_date      revenue
//!           (1, 0) 725        FRANCE   1994-03-01     5.00
//!                             PERU     1994-01-07     7.25
//! ```
//!
//! Rows are what is stored and is not the fill value, in the order of coordinates, modes as they are declared: of domains, in the
//! order of labels. A scalar is one row, whatever it is.

use super::cell::Collector;
use super::{Cell, Column, Dictionary, Frame, Holds, Over, Relations, Shown, Table, Values, labelled};
use crate::relate::NONE;
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Array, Error as Unassembled, Tensor, room};
use fiberloom_data::Fault;
use fiberloom_data::error::Error;
use std::borrow::Cow;
use std::path::Path;

/// A result as a frame: a column a mode, as it is shown, and one of values, of the result's name.
///
/// # Errors
/// A tensor that is malformed; a coordinate of a domain that has no label; memory.
///
/// # Panics
/// If the tensor has not as many modes as are shown.
pub fn decode(
    relations: &Relations,
    name: &str,
    result: &Tensor,
    shown: &Shown,
    labels: &[Dictionary],
) -> Result<Frame<'static>, Error> {
    let columns = [Told { name, tensor: result, holds: shown.holds, null: None }];
    frame(relations, name, &shown.modes, &columns, labels)
}

/// A table that is a result as a frame: its modes, and a column for each of its columns. A row stands where one of its tensors holds
/// something else than its fill value; a value that stands for a null is one.
///
/// # Errors
/// A column without a tensor among the results, by its name; else as of [`decode`].
///
/// # Panics
/// If a tensor has not as many modes as the table.
pub fn decode_table(
    relations: &Relations,
    table: &Table,
    results: &[(&str, &Tensor)],
    labels: &[Dictionary],
) -> Result<Frame<'static>, Error> {
    let of = |name: &str| results.iter().find(|(n, _)| *n == name).map(|(_, tensor)| *tensor);
    let mut told = Vec::new();
    for column in &table.columns {
        let missing =
            || Error::Call(format!("table `{}`: no result `{}`, one of its columns", table.name, column.name));
        let tensor = of(&column.name).ok_or_else(missing)?;
        told.push(Told { name: &column.source, tensor, holds: column.holds, null: column.null });
    }
    let rows = of(&table.name).map(|tensor| Told { name: "", tensor, holds: Holds::Plain(Type::Bool), null: None });
    let modes: Vec<(String, Option<usize>)> = table
        .modes
        .iter()
        .map(|mode| match mode.over {
            Over::Domain(domain) => (mode.source.clone(), Some(domain)),
            Over::Row | Over::Coordinate => (mode.source.clone(), None),
        })
        .collect();
    let (columns, all) = (told.len(), told.into_iter().chain(rows).collect::<Vec<_>>());
    let mut frame = frame(relations, &table.name, &modes, &all, labels)?;
    frame.columns.truncate(modes.len() + columns);
    Ok(frame)
}

/// A tensor that becomes a column.
struct Told<'t> {
    name: &'t str,
    tensor: &'t Tensor<'t>,
    holds: Holds,
    /// What stands for a null.
    null: Option<Value>,
}

/// What is stored in a tensor and is not its fill value.
struct Stored {
    /// A column a mode.
    coordinates: Vec<Vec<i64>>,
    values: Array<'static>,
}

fn frame(
    relations: &Relations,
    name: &str,
    modes: &[(String, Option<usize>)],
    told: &[Told],
    labels: &[Dictionary],
) -> Result<Frame<'static>, Error> {
    let within = |fault: Fault| Error::Data(fault.within(Path::new(name)));
    let stored: Vec<Stored> = told.iter().map(|told| stored(told.tensor)).collect::<Result<_, _>>().map_err(within)?;
    for stored in &stored {
        assert_eq!(stored.coordinates.len(), modes.len(), "a column a mode");
    }
    let union = Union::of(&stored).map_err(|error| within(error.into()))?;
    let mut columns = Vec::new();
    for (m, (mode, domain)) in modes.iter().enumerate() {
        let coordinates = union.column(&stored, m).map_err(|error| within(error.into()))?;
        columns.push(match domain {
            None => Column::new(mode, Values::Plain(Array::from(coordinates))),
            Some(domain) => with_labels(relations, mode, (*domain, &labels[*domain]), &coordinates, name)?,
        });
    }
    for (told, (stored, rows)) in told.iter().zip(stored.iter().zip(&union.rows)) {
        let fill = told.tensor.fill;
        let memory = || within(Unassembled::Memory { bytes: 8 * union.first.len() as u128 }.into());
        let mut values = Array::filled(fill, union.first.len()).ok_or_else(memory)?;
        values.scatter(rows, &stored.values);
        columns.push(column(relations, told, values, (name, labels))?);
    }
    Ok(Frame { origin: name.to_string(), rows: union.first.len(), columns })
}

/// The column that these values are.
fn column(
    relations: &Relations,
    told: &Told,
    values: Array<'static>,
    (result, labels): (&str, &[Dictionary]),
) -> Result<Column<'static>, Error> {
    let is_null = |null: Value| room::collected(values.iter().map(|value| value == null));
    let nulls =
        told.null.map_or(Ok(vec![]), is_null).map_err(|e| Error::Data(Fault::from(e).within(Path::new(result))))?;
    let nulls = if nulls.contains(&true) { nulls } else { vec![] };
    let values = match told.holds {
        Holds::Plain(_) => Values::Plain(values),
        Holds::Date => Values::Dates(values),
        Holds::Timestamp => Values::Timestamps(values),
        Holds::Decimal(digits) => Values::Decimals(values, digits),
        Holds::Domain(domain) => {
            let coordinates: Vec<i64> = values.iter().map(|value| value.as_i64().unwrap_or(i64::MAX)).collect();
            return with_labels(relations, told.name, (domain, &labels[domain]), &coordinates, result);
        }
        Holds::Text => {
            return Err(Error::Defect(format!("result `{}` is said to hold texts, which are not kept", result)));
        }
    };
    Ok(Column { name: told.name.to_string(), values, nulls: Cow::Owned(nulls) })
}

/// A column of the labels of such coordinates, null where there is none.
fn with_labels(
    relations: &Relations,
    name: &str,
    (domain, dictionary): (usize, &Dictionary),
    coordinates: &[i64],
    result: &str,
) -> Result<Column<'static>, Error> {
    let within = |fault: Fault| Error::Data(fault.within(Path::new(result)));
    let holds = labelled(relations, Holds::Domain(domain));
    let mut column = Collector::new(holds);
    for c in coordinates {
        let cell = match (holds, dictionary.number(*c), dictionary.text(*c)) {
            _ if *c == NONE => None,
            (Holds::Text, _, Some(text)) => Some(Cell::Text(text)),
            (Holds::Date, Some(days), _) => Some(Cell::Date(days)),
            (Holds::Timestamp, Some(micros), _) => Some(Cell::Timestamp(micros)),
            (Holds::Decimal(digits), Some(x), _) => Some(Cell::Decimal(x.into(), digits)),
            (Holds::Plain(_), Some(x), _) => Some(Cell::Plain(Value::i64(x))),
            _ => {
                let name = &relations.domains[domain].name;
                let what =
                    format!("result `{result}` has coordinate {c} of `{name}`, which has {} labels", dictionary.len());
                return Err(Error::Defect(what));
            }
        };
        match cell {
            Some(cell) => column.push(cell),
            None => column.null(),
        }
        .map_err(within)?;
    }
    column.column(name).map_err(within)
}

/// What a tensor tells.
fn stored(tensor: &Tensor) -> Result<Stored, Fault> {
    let entries = tensor.listed()?;
    let is_scalar = tensor.extents.is_empty();
    let told = (0..entries.len()).filter(|e| is_scalar || entries.values.get(*e) != tensor.fill);
    let told = room::collected(told)?;
    let memory = || Fault::from(Unassembled::Memory { bytes: 8 * told.len() as u128 });
    let of = |column: &Vec<i64>| room::collected(told.iter().map(|e| column[*e]));
    let coordinates = entries.coordinates.iter().map(of).collect::<Result<_, _>>()?;
    Ok(Stored { coordinates, values: entries.values.gather(&told).ok_or_else(memory)? })
}

/// The coordinates at which one of several tensors stores something, each once, ascending.
struct Union {
    /// Of each a tensor that does, and its entry.
    first: Vec<(usize, usize)>,
    /// Of each entry of each tensor, which of them it is at.
    rows: Vec<Vec<usize>>,
}

impl Union {
    fn of(stored: &[Stored]) -> Result<Union, Unassembled> {
        let entries = |(t, stored): (usize, &Stored)| (0..stored.values.len()).map(move |e| (t, e));
        let mut order: Vec<(usize, usize)> = room::collected(stored.iter().enumerate().flat_map(entries))?;
        let at = |(t, e): (usize, usize)| stored[t].coordinates.iter().map(move |column| column[e]);
        let ascends = order.is_sorted_by(|a, b| at(*a).le(at(*b)));
        if !ascends {
            order.sort_unstable_by(|a, b| at(*a).cmp(at(*b)).then(a.cmp(b)));
        }
        let mut first: Vec<(usize, usize)> = Vec::new();
        let mut rows = Vec::new();
        for stored in stored {
            rows.push(room::repeated(0usize, stored.values.len())?);
        }
        for (t, e) in order {
            if first.last().is_none_or(|last| !at(*last).eq(at((t, e)))) {
                room::push(&mut first, (t, e))?;
            }
            rows[t][e] = first.len() - 1;
        }
        Ok(Union { first, rows })
    }

    /// The coordinates of a mode.
    fn column(&self, stored: &[Stored], mode: usize) -> Result<Vec<i64>, Unassembled> {
        room::collected(self.first.iter().map(|(t, e)| stored[*t].coordinates[mode][*e]))
    }
}
