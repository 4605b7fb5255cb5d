//! Operands in the formats and types that a program declares, and results as everybody reads them: dense, of `f64`.

use crate::arrays::Arrays;
use fiberloom::{Format, Options, Program, Tensor, Type};

/// An operand as a program declares it: the arrays themselves where they are so, else converted.
///
/// # Errors
/// If the program has no such tensor, or its format cannot hold the values.
pub fn declared<'a>(program: &Program, name: &str, arrays: &'a Arrays) -> Result<Tensor<'a>, String> {
    let (id, tensor) = program.tensor(name).ok_or_else(|| format!("the program has no tensor {name}"))?;
    let (given, format) = (arrays.tensor(), program.format(id));
    if given.format != *format || tensor.ty != Type::F64 {
        return converted(&given, tensor.ty, format);
    }
    Ok(Tensor { fill: tensor.fill.unwrap_or(given.fill), ..given })
}

/// A tensor's values at all places.
///
/// # Errors
/// If it cannot be converted.
pub fn dense(tensor: &Tensor) -> Result<Arrays, String> {
    let rank = tensor.extents.len();
    Arrays::of(&converted(tensor, Type::F64, &Format::dense(rank))?, "dense")
}

fn converted(tensor: &Tensor, ty: Type, format: &Format) -> Result<Tensor<'static>, String> {
    // Modes of one extent are of one size, as triangles need.
    let sizes: Vec<String> = tensor.extents.iter().map(|extent| format!("N{extent}")).collect();
    let indices: Vec<String> = (0..tensor.extents.len()).map(|mode| format!("i{mode}")).collect();
    let (sizes, indices, was) = (sizes.join(", "), indices.join(", "), tensor.values.ty());
    let value = if ty == was { format!("S[{indices}]") } else { format!("convert(S[{indices}], {ty})") };
    let text =
        format!("tensor S: {was}[{sizes}] {}  tensor T: {ty}[{sizes}] {format}  T[{indices}] = {value}", tensor.format);
    let made = Program::parse(&text).and_then(|p| p.compile(&Options::default())).and_then(|k| k.run(&[("S", tensor)]));
    let mut outcome = made.map_err(|e| e.to_string())?;
    outcome.take("T").ok_or_else(|| "there is no result".to_string())
}
