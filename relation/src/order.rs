//! Rows of a result in another order than that of labels, and the first of them.

use super::reading::only;
use super::{Cell, Frame};
use fiberloom_data::{Error, Fault};
use std::cmp::Ordering;
use std::path::Path;

/// A column by which rows are ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct By {
    /// The column's name.
    pub column: String,
    /// Whether the greatest comes first.
    pub descends: bool,
}

impl By {
    /// Columns, as the command line writes them: `total:desc,place`.
    pub fn all(text: &str) -> Vec<By> {
        let one = |text: &str| match text.strip_suffix(":desc") {
            Some(column) => By { column: column.to_string(), descends: true },
            None => By { column: text.strip_suffix(":asc").unwrap_or(text).to_string(), descends: false },
        };
        text.split(',').map(one).collect()
    }
}

/// The first `most` rows of a frame that is ordered by columns, the first of them before the others. Rows that are equal stay in their
/// order, and nulls are last.
///
/// ```
/// # use fiberloom_core::format::Array;
/// # use fiberloom_relation::{By, Column, Frame, Values, ordered};
/// let n = Column::new("n", Values::Plain(Array::from(vec![1i64, 3, 2])));
/// let frame = ordered(Frame::new("a table", vec![n]).unwrap(), &By::all("n:desc"), 2)?;
/// assert_eq!(frame.columns[0].values, Values::Plain(Array::from(vec![3i64, 2])));
/// # Ok::<(), fiberloom_data::Error>(())
/// ```
///
/// # Errors
/// There is no such column; memory.
pub fn ordered(frame: Frame<'static>, by: &[By], most: usize) -> Result<Frame<'static>, Error> {
    let within = |fault: Fault| fault.within(Path::new(&frame.origin));
    let mut columns = Vec::new();
    for By { column, descends } in by {
        let Some(found) = frame.column(column) else {
            return Err(within(Fault::whole(format!("no column `{column}` to order by"))));
        };
        columns.push((found, *descends));
    }
    let mut rows: Vec<usize> = (0..frame.rows).collect();
    rows.sort_by(|a, b| {
        let each = columns.iter().map(|(column, descends)| match (column.cell(*a), column.cell(*b)) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(a), Some(b)) if *descends => compared(b, a),
            (Some(a), Some(b)) => compared(a, b),
        });
        each.fold(Ordering::Equal, Ordering::then)
    });
    rows.truncate(most);
    let kept = frame.columns.iter().map(|column| only(column, &rows)).collect::<Result<_, _>>();
    let columns = kept.map_err(|e| within(e.into()))?;
    Ok(Frame { origin: frame.origin.clone(), rows: rows.len(), columns })
}

/// The order of two values of one column; that of IEEE 754 of floats, in which NaN is last.
fn compared(a: Cell, b: Cell) -> Ordering {
    match (a, b) {
        (Cell::Plain(a), Cell::Plain(b)) if a.ty().is_float() => a.as_f64().total_cmp(&b.as_f64()),
        (Cell::Plain(a), Cell::Plain(b)) => a.as_i128().cmp(&b.as_i128()),
        (Cell::Date(a), Cell::Date(b)) | (Cell::Timestamp(a), Cell::Timestamp(b)) => a.cmp(&b),
        (Cell::Decimal(a, _), Cell::Decimal(b, _)) => a.cmp(&b),
        (Cell::Text(a), Cell::Text(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}
