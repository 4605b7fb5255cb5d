//! A program fitted to its tables' data: columns are in the narrowest integers that hold them, since what a query reads is what it takes,
//! and sums of decimals that 64 bits may not hold are guarded.

use super::bind::Bound;
use super::guard::{Unsure, unsure};
use super::{Holds, Table};
use crate::error::Error;
use crate::program::Program;
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Array, Error as Unassembled, Tensor, room};
use fiberloom_core::notation::relation::Fitted;
use fiberloom_data::Fault;
use std::collections::BTreeMap;
use std::path::Path;

/// Integers from the narrowest on.
const NARROW: [Type; 3] = [Type::I8, Type::I16, Type::I32];

/// The program and its operands with each column of integers, dates, decimals or coordinates in the narrowest integers that hold its
/// data: the same program, whose columns are converted where they are read. Where a sum of decimals may be larger than 64 bits hold, calls
/// refuse it, by the result's name.
///
/// ```
/// use fiberloom::relation::{self, Given};
/// use fiberloom::{Options, Program, Tensor, data};
/// let program = Program::parse(
///     "dim CITY: string  table sales[row: N] { city: CITY, amount: dec(2) }
///      tensor total: dec(2)[CITY]  total[city[n]] += amount[n]",
/// )?;
/// let table = program.table("sales").expect("it is declared");
/// let wanted = relation::wanted(program.relations(), table);
/// let text = b"city,amount\nRome,7.25\nParis,10\nRome,0.5\n";
/// let frame = relation::read_bytes("sales.csv".as_ref(), text, &wanted, &data::Options::default())?;
/// let given = Given { frames: &[("sales", frame)], sizes: &[], limit: 1 << 30 };
/// let (program, bound) = relation::narrow(&program, relation::bind(program.relations(), program.typed(), &given)?)?;
/// let operands: Vec<(&str, &Tensor)> = bound.operands.iter().map(|(name, t)| (name.as_str(), t)).collect();
/// let total = program.compile(&Options::default())?.run(&operands)?;
/// assert_eq!(total["total"].values.get(1).as_i64(), Some(775));
/// # Ok::<(), fiberloom::Error>(())
/// ```
///
/// # Errors
/// Memory.
pub fn narrow(program: &Program, bound: Bound) -> Result<(Program, Bound), Error> {
    let (fitted, bound) = fit(program, bound)?;
    Ok((program.fitted(&fitted)?, bound))
}

/// How a program is fitted to its operands, for [`Program::fitted`], and these operands for the program that is.
///
/// # Errors
/// Memory.
pub fn fit(program: &Program, bound: Bound) -> Result<(Fitted, Bound), Error> {
    let Bound { operands, labels } = bound;
    let mut types = BTreeMap::new();
    let narrowed = operands.into_iter().map(|(name, tensor)| {
        if !program.relations().tables.iter().any(|table| holds_integers(table, &name)) {
            return Ok((name, tensor));
        }
        let tensor = narrowed(tensor)?;
        if tensor.values.ty() != Type::I64 {
            types.insert(name.clone(), tensor.values.ty());
        }
        Ok((name, tensor))
    });
    let operands = narrowed.collect::<Result<Vec<_>, Error>>()?;
    let Unsure { results: guarded, floats, turns, conditions: wide } = unsure(program.typed(), &operands);
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

/// The same tensor, its values and its fill value in the narrowest type that holds them.
fn narrowed(tensor: Tensor<'static>) -> Result<Tensor<'static>, Error> {
    let Array::I64(values) = &tensor.values else { return Ok(tensor) };
    let Some(fill) = tensor.fill.as_i64() else { return Ok(tensor) };
    let (least, most) = values.iter().fold((fill, fill), |(least, most), x| (least.min(*x), most.max(*x)));
    let holds = |ty: &Type| {
        let (from, to) = ty.range().expect("integers have a range");
        from <= i128::from(least) && i128::from(most) <= to
    };
    let Some(ty) = NARROW.into_iter().find(holds) else { return Ok(tensor) };
    let values = match ty {
        Type::I8 => each(values, |x| x as i8).map(Array::from),
        Type::I16 => each(values, |x| x as i16).map(Array::from),
        _ => each(values, |x| x as i32).map(Array::from),
    };
    let values = values.map_err(Fault::from).map_err(|fault| Error::Data(fault.within(Path::new(""))))?;
    let fill = Value::from_i128(ty, i128::from(fill));
    Ok(Tensor { values, fill, ..tensor })
}
