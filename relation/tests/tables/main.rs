//! Tables in files, bound and read back; what is refused, with its text.

mod borders;
mod bound;
#[cfg(feature = "parquet")]
mod chunk;
mod drawn;
mod files;
#[cfg(feature = "parquet")]
mod form;
#[cfg(feature = "parquet")]
mod hybrid;
mod kept;
mod label;
mod numbered;
mod pack;
#[cfg(feature = "parquet")]
mod packed;
#[cfg(feature = "parquet")]
mod pages;

use fiberloom_core::algebra::Type;
use fiberloom_core::algebra::{Mode as Modes, Value};
use fiberloom_core::format::Array;
use fiberloom_core::format::Tensor;
use fiberloom_core::notation::Span;
use fiberloom_core::notation::typed::Program;
use fiberloom_data::{Cause, Error, Options};
use fiberloom_relation::*;
use fiberloom_semantics::notation::{Function, Limits, evaluate};
use std::collections::BTreeMap;
use std::path::Path;

/// What a program says of labels, and what it is over coordinates.
fn checked(text: &str) -> (Relations, Program) {
    let (program, wrong) = fiberloom_front::parse(text);
    assert!(wrong.is_empty(), "{wrong:?}\n{text}");
    let checked = check_fitted(&program.expect("it is read"), &Fitted::default());
    let (typed, relations) = checked.unwrap_or_else(|wrong| panic!("{wrong:?}\n{text}"));
    (relations, typed)
}

/// A program over coordinates.
fn coordinates(text: &str) -> Program {
    checked(text).1
}

/// The meaning of a program's results on what tables became.
fn meaning(program: &Program, bound: &Bound) -> BTreeMap<String, Function> {
    let operands = bound.operands.iter().cloned().collect();
    evaluate(program, &operands, Modes::Algebraic, &Limits::default()).expect("the operands are the program's")
}

/// A column of a table.
fn holding(name: &str, holds: Holds) -> TableColumn {
    TableColumn { name: name.into(), source: name.into(), holds, null: None, span: Span::default() }
}

fn mode(source: &str, over: Over) -> Mode {
    Mode { source: source.into(), over, span: Span::default() }
}

fn table(name: &str, modes: Vec<Mode>, columns: Vec<TableColumn>) -> Table {
    Table { name: name.into(), modes, columns, made: false, span: Span::default() }
}

fn domain(name: &str, labels: Labels) -> Domain {
    Domain { name: name.into(), labels, span: Span::default() }
}

fn want(source: &str, holds: Holds) -> Wanted {
    Wanted { source: source.into(), holds }
}

/// What a file of this name and text holds.
fn csv(text: &str, wanted: &[Wanted]) -> Result<Frame<'static>, Error> {
    read_bytes(Path::new("in.csv"), text.as_bytes(), wanted, &Options { limit: 1 << 20, ..Options::default() })
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, says: &str) {
    assert_eq!(result.expect_err("refused").to_string(), says);
}

/// What a call says of what it refuses.
#[track_caller]
fn says<T: std::fmt::Debug>(result: Result<T, fiberloom_data::error::Error>) -> (u8, String) {
    let error = result.expect_err("refused");
    (error.exit(), error.to_string())
}

fn texts<const N: usize>(texts: [&str; N]) -> Values<'static> {
    Values::Texts(Texts::of(texts).unwrap())
}

fn whole<const N: usize>(numbers: [i64; N]) -> Values<'static> {
    Values::Plain(Array::from(numbers.to_vec()))
}
