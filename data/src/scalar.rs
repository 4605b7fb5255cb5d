//! A number in the place of a file: `--in a=0.5`.
//!
//! ```text
//!  0.5  -3  1e-9  inf  -inf  nan  true  false        a value of the declared type; undeclared: i64, f64 or bool
//! ```
//!
//! No name of a data file is such a text: those end in `.mtx`, `.npy`, ….

use super::number::Number;
use super::{Declared, Fault};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::counted;
use fiberloom_core::format::Tensor;

/// Whether a text is a number or a truth value, and not the name of a file.
pub(super) fn is_meant(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') && text.parse::<f64>().is_ok();
    number || truth(text).is_some() || ["inf", "nan"].contains(&unsigned)
}

/// The type of a tensor that is not declared: what a literal of the language would have.
pub(super) fn ty(text: &str) -> Type {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    match truth(text) {
        Some(_) => Type::Bool,
        None if unsigned.bytes().all(|b| b.is_ascii_digit()) => Type::I64,
        None => Type::F64,
    }
}

/// The scalar of the declared type.
///
/// # Errors
/// The tensor has modes, or its type does not hold the number.
pub(super) fn tensor(text: &str, declared: &Declared) -> Result<Tensor<'static>, Fault> {
    if declared.rank() > 0 {
        let modes = counted(declared.rank(), "mode", "modes");
        let message = format!("{text} is one value, and the tensor has {modes}: a file, or `random:…`, expected");
        return Err(Fault::whole(message));
    }
    let value = match (truth(text), declared.ty) {
        (Some(value), Type::Bool) => Value::bool(value),
        (None, Type::Bool) => return Err(Fault::whole(format!("{text} is given, and true or false expected"))),
        (Some(_), ty) => return Err(Fault::whole(format!("{text} is given, and a number of type {ty} expected"))),
        (None, ty) => Number::Real.value(text.as_bytes(), ty).map_err(Fault::whole)?,
    };
    Ok(Tensor { fill: declared.fill, ..Tensor::scalar(value) })
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fiberloom_core::format::Format;

    /// A number in the place of a file has the type that it is written in, and the declared fill value.
    #[test]
    fn numbers_are_scalars_of_their_own_type() {
        for (text, ty) in [
            ("7", Type::I64),
            ("-7", Type::I64),
            ("+7", Type::I64),
            ("-7.0", Type::F64),
            ("1e3", Type::F64),
            ("-inf", Type::F64),
            ("true", Type::Bool),
        ] {
            assert_eq!(super::ty(text), ty, "{text}");
        }
        let format = Format::dense(0);
        for fill in [0.0, 2.5, f64::NAN] {
            let fill = Value::from_f64(Type::F64, fill);
            let t = tensor("-0.5", &Declared { ty: Type::F64, extents: vec![], fill, format: &format }).unwrap();
            assert_eq!((t.values, t.fill.bits()), (vec![-0.5].into(), fill.bits()));
        }
    }
}
