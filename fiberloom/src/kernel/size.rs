//! Sizes that calls say: `dim N` in a program, `("N", 100.into())` among the operands of a call.

use super::Operand;
use crate::error::Error;
use crate::program::Program;
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::typed::{SizeId, TensorId};
use std::collections::BTreeMap;

/// Sizes, each with its value.
pub(super) type Sizes = Vec<(SizeId, u64)>;

/// Operands by tensor, and the values of sizes among them; the names are a program's.
pub(super) fn parted<'a, T: Into<Operand<'a>> + Clone>(
    program: &Program,
    operands: &[(&str, T)],
) -> Result<(BTreeMap<TensorId, Operand<'a>>, Sizes), Error> {
    let (mut tensors, mut sizes) = (BTreeMap::new(), Sizes::new());
    for (name, operand) in operands {
        let operand = operand.clone().into();
        match program.given_size(name) {
            Some(size) => sizes.push((size, value(name, &operand)?)),
            None => drop(tensors.insert(program.tensor(name).expect("complete").0, operand)),
        }
    }
    sizes.sort_unstable();
    Ok((tensors, sizes))
}

/// The value of a size.
fn value(name: &str, operand: &Operand) -> Result<u64, Error> {
    let tensor = operand.tensor();
    let refused =
        |what: String| Err(Error::Call(format!("size `{name}`: {what}, and an extent expected, a whole number")));
    if !tensor.extents.is_empty() {
        return refused(format!(
            "a tensor of {} is given",
            fiberloom_core::counted(tensor.extents.len(), "mode", "modes")
        ));
    }
    operand.check().map_err(|malformed| Error::malformed(name, malformed))?;
    let value = tensor.values.get(0);
    match value.as_i128() {
        Some(n) if (0..1 << 63).contains(&n) && !tensor.values.ty().is_float() => Ok(n as u64),
        Some(n) if !tensor.values.ty().is_float() => refused(format!("{n} is not from 0 to 2⁶³ − 1")),
        _ => refused(format!("{value} is given")),
    }
}

/// The name of a size whose value was not given, and what to change.
pub(super) fn no_value(program: &Program, size: SizeId) -> (String, Diagnostic) {
    let size = &program.typed().sizes[size.index()];
    let name = size.name.clone().unwrap_or_default();
    let what = format!("no value is given for size `{name}`");
    let help =
        format!("give the call its value: (\"{name}\", 100.into()); or say it in the program: `dim {name} = 100`");
    (name, Diagnostic::new(size.span, what).help(help))
}
