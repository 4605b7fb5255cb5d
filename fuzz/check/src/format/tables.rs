//! Files of tables: whatever their bytes are, a reader refuses them with a place, or makes columns of them that are read back from
//! every kind of file that is written of them.
//!
//! ```text
//!  bytes ──▶ wanted columns, file ──read──┬▶ refused: a message, no failure of the system's
//!            │ words of texts             └▶ frame ──write, each kind──▶ file ──read──▶ the same cells
//!            └ written files, damaged
//! ```

use super::files::damage;
use super::{Imported, LIMIT, below, refused};
use arbitrary::Unstructured;
use fiberloom::data::Options;
use fiberloom::relation::{self, Cell, Column, Frame, Holds, Kind, Texts, Values, Wanted};
use fiberloom::{Array, Type, Value};
use std::path::Path;

/// What texts of tables are made of, right and wrong.
const WORDS: [&str; 24] = [
    ",",
    ",",
    ",",
    "\n",
    "\n",
    "\r\n",
    "\r",
    "\"",
    "\"\"",
    "a",
    "b",
    "0",
    "1",
    "-1",
    "1.5",
    "-0.05",
    "1e3",
    "true",
    "nan",
    "1994-12-31",
    "1999-02-29",
    "9223372036854775808",
    "\u{feff}",
    "é",
];

/// Reads the file of these bytes.
///
/// # Panics
/// If a frame is malformed, or written and not read back: that is the finding, as is any panic of a reader or a writer.
pub fn import(bytes: &[u8]) -> Imported<Kind> {
    let u = &mut Unstructured::new(bytes);
    let kind = *u.choose(&Kind::ALL).unwrap_or(&Kind::Csv);
    let (wanted, file) = file(u, kind);
    let name = format!("fuzzed.{}", kind.extension());
    let options = Options { limit: LIMIT, ..Options::default() };
    match relation::read_bytes(Path::new(&name), &file, &wanted, &options) {
        Err(e) => Imported::Refused(kind, refused(&name, &e)),
        Ok(frame) => {
            let count = Kind::ALL.into_iter().filter(|kind| is_read_back(&frame, *kind, &wanted)).count();
            Imported::Read(kind, count)
        }
    }
}

/// Whether this kind of file takes the frame; then it gives it back.
fn is_read_back(frame: &Frame, kind: Kind, wanted: &[Wanted]) -> bool {
    // A file of no columns says no rows.
    if frame.columns.is_empty() {
        return false;
    }
    let name = format!("written.{}", kind.extension());
    let Ok(file) = relation::to_bytes(Path::new(&name), frame) else { return false };
    let options = Options { limit: 1 << 26, ..Options::default() };
    let again =
        relation::read_bytes(Path::new(&name), &file, wanted, &options).unwrap_or_else(|e| panic!("{e}\n{frame:?}"));
    assert_eq!(cells(&again), cells(frame), "{kind:?}");
    true
}

/// What each row holds. All NaNs are one: a text does not tell them apart.
fn cells(frame: &Frame) -> Vec<Vec<Option<String>>> {
    let shown = |cell: Cell| match cell {
        Cell::Plain(value) if value.is_nan() => "nan".to_string(),
        cell => format!("{cell:?}"),
    };
    let row = |row| frame.columns.iter().map(|column| column.cell(row).map(shown)).collect();
    (0..frame.rows).map(row).collect()
}

/// Columns that are wanted, and a file that mostly has them.
fn file(u: &mut Unstructured, kind: Kind) -> (Vec<Wanted>, Vec<u8>) {
    let names = ["a", "b", "c\",\n"];
    let wanted = |u: &mut Unstructured, name: &str| Wanted { source: name.to_string(), holds: holds(u) };
    let wanted: Vec<Wanted> = names[..below(u, names.len() + 1)].iter().map(|name| wanted(u, name)).collect();
    let bytes = match below(u, 6) {
        0 => u.bytes(u.len()).unwrap_or_default().to_vec(),
        1 if kind == Kind::Csv => words(u),
        shape => {
            let frame = frame(u, &wanted);
            let name = format!("a.{}", kind.extension());
            let mut bytes = relation::to_bytes(Path::new(&name), &frame).unwrap_or_default();
            for _ in 0..if shape == 5 { 0 } else { below(u, 4) } {
                damage(u, &mut bytes);
            }
            bytes
        }
    };
    (wanted, bytes)
}

fn words(u: &mut Unstructured) -> Vec<u8> {
    let mut text = "a,b\n".to_string();
    while !u.is_empty() && text.len() < 4000 {
        text += u.choose(&WORDS).unwrap_or(&"\n");
    }
    text.into_bytes()
}

fn holds(u: &mut Unstructured) -> Holds {
    match below(u, 5) {
        0 => Holds::Date,
        4 => Holds::Timestamp,
        1 => Holds::Decimal(below(u, 19) as u8),
        2 => Holds::Text,
        _ => Holds::Plain(*u.choose(&Type::ALL).unwrap_or(&Type::I64)),
    }
}

/// A small frame with such columns, mostly as wanted.
fn frame(u: &mut Unstructured, wanted: &[Wanted]) -> Frame<'static> {
    let rows = below(u, 6);
    let column = |u: &mut Unstructured, wanted: &Wanted| {
        let holds = if u.ratio(1, 6).unwrap_or(false) { holds(u) } else { wanted.holds };
        let numbers: Vec<i64> = (0..rows).map(|_| below(u, 5) as i64 - 2).collect();
        let of_type = |ty| Array::from_values(ty, numbers.iter().map(|x| Value::from_i128(ty, (*x).into())));
        let values = match holds {
            Holds::Plain(ty) => Values::Plain(of_type(ty)),
            Holds::Date => Values::Dates(of_type(Type::I32)),
            Holds::Timestamp => Values::Timestamps(of_type(Type::I64)),
            Holds::Decimal(digits) => Values::Decimals(of_type(Type::I64), digits),
            Holds::Text | Holds::Domain(_) => {
                let words: Vec<&str> = (0..rows).map(|_| *u.choose(&WORDS).unwrap_or(&"")).collect();
                Values::Texts(Texts::of(words).expect("memory"))
            }
        };
        let nulls: Vec<bool> = (0..rows).map(|_| u.ratio(1, 4).unwrap_or(false)).collect();
        let column = Column::new(&wanted.source, values);
        if nulls.contains(&true) { column.with_nulls(nulls) } else { column }
    };
    let columns = wanted.iter().map(|wanted| column(u, wanted)).collect();
    Frame::new("a", columns).expect("columns of one length")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_written_and_refused() {
        super::super::tests::are_read_written_and_refused(&Kind::ALL, 300, import);
    }
}
