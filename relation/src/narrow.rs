//! A program fitted to its tables' data: columns are in the narrowest integers that hold them, since what a query reads is what it takes,
//! and sums of decimals that 64 bits may not hold are guarded.

use super::bind::Bound;
use super::guard::{Unsure, unsure};
use super::{Holds, Relations, Table};
use crate::relate::Fitted;
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Array, Error as Unassembled, Tensor, room};
use fiberloom_core::notation::typed::Program;
use fiberloom_core::parallel;
use fiberloom_data::Fault;
use fiberloom_data::error::Error;
use std::collections::BTreeMap;
use std::path::Path;

/// Integers from the narrowest on.
const NARROW: [Type; 3] = [Type::I8, Type::I16, Type::I32];

/// How a program is fitted to its operands, and these operands for the program that is.
///
/// # Errors
/// Memory.
pub fn fit((relations, program): (&Relations, &Program), bound: Bound) -> Result<(Fitted, Bound), Error> {
    let Bound { operands, labels } = bound;
    let mut types = BTreeMap::new();
    let is_column = |name: &str| relations.tables.iter().any(|table| holds_integers(table, name));
    let mut fitted: Vec<_> = operands.into_iter().map(|operand| (operand, Ok(()))).collect();
    parallel::each(&mut fitted, &|((name, tensor), outcome)| {
        if is_column(name) {
            *outcome = narrow(tensor);
        }
    });
    let operands = fitted.into_iter().map(|(operand, outcome)| outcome.map(|()| operand));
    let operands = operands.collect::<Result<Vec<_>, Error>>()?;
    for (name, tensor) in operands.iter().filter(|(name, t)| is_column(name) && t.values.ty() != Type::I64) {
        types.insert(name.clone(), tensor.values.ty());
    }
    let Unsure { results: guarded, floats, turns, conditions: wide } = unsure((relations, program), &operands);
    let fitted = Fitted { stored: types, guarded, floats, turns, wide };
    Ok((fitted, Bound { operands, labels }))
}

/// Each value as another, into a vector that is made at once.
fn each<T>(values: &[i64], narrowed: impl Fn(i64) -> T) -> Result<Vec<T>, Unassembled> {
    let mut all = room::room(values.len())?;
    all.extend(values.iter().map(|x| narrowed(*x)));
    Ok(all)
}

/// Whether this is a column that is read, of values in 64 bits with a sign.
fn holds_integers(table: &Table, name: &str) -> bool {
    let wide = |holds| match holds {
        Holds::Plain(ty) => ty == Type::I64,
        Holds::Date | Holds::Timestamp | Holds::Decimal(_) | Holds::Domain(_) => true,
        Holds::Text => false,
    };
    !table.made && table.columns.iter().any(|column| column.name == name && wide(column.holds))
}

/// Puts a tensor's values and its fill value into the narrowest type that holds them.
fn narrow(tensor: &mut Tensor<'static>) -> Result<(), Error> {
    let Array::I64(values) = &tensor.values else { return Ok(()) };
    let Some(fill) = tensor.fill.as_i64() else { return Ok(()) };
    let (least, most) = values.iter().fold((fill, fill), |(least, most), x| (least.min(*x), most.max(*x)));
    let holds = |ty: &Type| {
        let (from, to) = ty.range().expect("integers have a range");
        from <= i128::from(least) && i128::from(most) <= to
    };
    let Some(ty) = NARROW.into_iter().find(holds) else { return Ok(()) };
    let values = match ty {
        Type::I8 => each(values, |x| x as i8).map(Array::from),
        Type::I16 => each(values, |x| x as i16).map(Array::from),
        _ => each(values, |x| x as i32).map(Array::from),
    };
    tensor.values = values.map_err(Fault::from).map_err(|fault| Error::Data(fault.within(Path::new(""))))?;
    tensor.fill = Value::from_i128(ty, i128::from(fill));
    Ok(())
}
