//! Functions of arrays that were called before on operands like these: their kernels without their texts.
//!
//! ```text
//!  T * 2.5  ──"multiply", csr of f64, a float──▶ the kernel of `Out[i0,i1] = (T0[i0,i1] * T1[])`, T1 = 2.5 ──▶ Tensor
//! ```
//!
//! The text of a function depends on what its operands are and on which of their extents are 1, 0 or equal. So an entry is for
//! operands of types, formats and fill values, and for shapes that go together without any of that: equal ones, or those of a
//! product. Whatever is otherwise is Python's, which writes the text, and teaches this the kernel.

use crate::einsum::{found, last};
use crate::kernel::{Compiled, Operands, options};
use crate::operand::{self, Given, Wanted, given, ndarray};
use crate::scipy;
use crate::tensor::Tensor;
use fiberloom::{Format, Options, Type, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTuple};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// A kind of number, which says how types are promoted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Float,
    /// NumPy's `float64`, which is a float of Python's, too.
    Double,
}

/// What an operand is.
enum Slot {
    Tensor {
        ty: Type,
        format: Format,
        fill: Value,
        place: usize,
    },
    /// Any number of a kind, as a scalar of this type.
    Number {
        kind: Kind,
        ty: Type,
        place: usize,
    },
    /// This one.
    Same {
        kind: Kind,
        value: f64,
    },
}

/// What of shapes an entry is for. No extent is 0.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shapes {
    /// Those that are not of scalars are equal.
    Equal,
    /// The last mode of the first is as long as the first of the second.
    Product,
}

struct Entry {
    shapes: Shapes,
    /// Whether both operands are one object, which the text reads twice.
    same: bool,
    slots: Vec<Slot>,
    kernel: Arc<Compiled>,
}

/// The function whose operands need not have equal shapes.
const PRODUCT: &str = "matmul";

/// When so many entries are there, all are dropped.
const MOST: usize = 4096;

static ENTRIES: LazyLock<Mutex<HashMap<String, Vec<Entry>>>> = LazyLock::new(Mutex::default);

fn entries() -> MutexGuard<'static, HashMap<String, Vec<Entry>>> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The value of a function of operands, if a kernel is known for such.
#[pyfunction]
pub fn quick(function: &Bound<'_, PyString>, operands: &Bound<'_, PyTuple>) -> PyResult<Option<Py<Tensor>>> {
    let py = function.py();
    let Some(taken) = taken(operands)? else { return Ok(None) };
    let found = {
        let entries = entries();
        let all = entries.get(function.to_str()?).into_iter().flatten();
        let same = is_one(operands)?;
        let alike = |entry: &&Entry| entry.slots.len() == taken.len() && (same || !entry.same);
        let mut fitting = all.filter(alike).filter(|entry| fits(entry.shapes, &taken));
        fitting.find_map(|entry| Some((entry.kernel.clone(), matched(&entry.slots, &taken)?)))
    };
    let Some((kernel, places)) = found else { return Ok(None) };
    let mut operands: Operands = Vec::with_capacity(taken.len());
    for (one, place) in taken.into_iter().zip(places) {
        match (one, place) {
            (Taken::Array(given), Some((place, _))) if operands.iter().all(|(known, _)| *known != place) => {
                operands.push((place, given));
            }
            (Taken::Number { .. }, Some((place, Some(value)))) => {
                operands.push((place, Given::Number(fiberloom::Tensor::scalar(value))));
            }
            _ => {}
        }
    }
    last(py, &kernel, operands).map(Some)
}

/// Whether all operands are one object.
fn is_one(operands: &Bound<'_, PyTuple>) -> PyResult<bool> {
    let first = operands.get_item(0)?;
    Ok(operands.iter().all(|other| other.is(&first)))
}

/// An operand, looked at.
enum Taken<'py> {
    Array(Given),
    Number { kind: Kind, object: Bound<'py, PyAny> },
}

/// The operands, if all are arrays or numbers that are taken here.
fn taken<'py>(operands: &Bound<'py, PyTuple>) -> PyResult<Option<Vec<Taken<'py>>>> {
    let mut all = Vec::with_capacity(operands.len());
    for object in operands {
        all.push(match kind(&object)? {
            Some(kind) => Taken::Number { kind, object },
            None if is_array(&object)? => {
                match given(&object, "T", Wanted::default()) {
                    Ok(given) => Taken::Array(given),
                    // What is wrong is said where it has a name.
                    Err(_) => return Ok(None),
                }
            }
            None => return Ok(None),
        });
    }
    Ok(Some(all))
}

/// Whether it is a tensor, an array of NumPy's or a matrix of SciPy's.
fn is_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_dense = object.is_exact_instance_of::<Tensor>() || ndarray(object).is_some();
    Ok(is_dense || scipy::kind(object)?.is_some())
}

fn kind(object: &Bound<'_, PyAny>) -> PyResult<Option<Kind>> {
    Ok(match object {
        o if o.is_exact_instance_of::<PyFloat>() => Some(Kind::Float),
        o if o.is_exact_instance_of::<PyBool>() => Some(Kind::Bool),
        o if o.is_exact_instance_of::<PyInt>() => Some(Kind::Int),
        o if o.is_instance_of::<PyFloat>() && o.get_type().name()? == "float64" => Some(Kind::Double),
        _ => None,
    })
}

/// Whether shapes go together as these do.
fn fits(shapes: Shapes, taken: &[Taken]) -> bool {
    let extents = taken.iter().filter_map(|one| match one {
        Taken::Array(given) => Some(&given.tensor().extents),
        Taken::Number { .. } => None,
    });
    let all: Vec<&Vec<u64>> = extents.collect();
    if all.iter().any(|extents| extents.contains(&0)) {
        return false;
    }
    match (shapes, &all[..]) {
        (Shapes::Equal, all) => {
            let mut modes = all.iter().filter(|extents| !extents.is_empty());
            modes.next().is_none_or(|first| modes.all(|extents| extents == first))
        }
        (Shapes::Product, [a, b]) => a.len() <= 2 && b.len() <= 2 && a.last() == b.first() && !a.is_empty(),
        (Shapes::Product, _) => false,
    }
}

/// The place of an operand among a kernel's inputs, and the scalar that a number is.
type Place = (usize, Option<Value>);

/// The place of each operand; `None` if the kernel is for others.
fn matched(slots: &[Slot], taken: &[Taken]) -> Option<Vec<Option<Place>>> {
    let one = |(slot, taken): (&Slot, &Taken)| match (slot, taken) {
        (Slot::Tensor { ty, format, fill, place }, Taken::Array(given)) => {
            let tensor = given.tensor();
            let alike = tensor.values.ty() == *ty && tensor.fill == *fill && tensor.format == *format;
            alike.then_some(Some((*place, None)))
        }
        (Slot::Number { kind, ty, place }, Taken::Number { kind: own, object }) if kind == own => {
            Some(Some((*place, Some(scalar(object, *kind, *ty)?))))
        }
        (Slot::Same { kind, value }, Taken::Number { kind: own, object }) if kind == own => {
            object.extract::<f64>().is_ok_and(|own| own == *value).then_some(None)
        }
        _ => None,
    };
    slots.iter().zip(taken).map(one).collect()
}

/// A number as a scalar of a type; `None` if the type does not hold it.
fn scalar(object: &Bound<'_, PyAny>, kind: Kind, ty: Type) -> Option<Value> {
    match (kind, ty) {
        (Kind::Float | Kind::Double, ty) if ty.is_float() => Some(Value::from_f64(ty, object.extract().ok()?)),
        (Kind::Float | Kind::Double, _) => None,
        (Kind::Bool, Type::Bool) => Some(Value::bool(object.extract().ok()?)),
        (Kind::Bool, ty) => Some(Value::from_i128(ty, i128::from(object.extract::<bool>().ok()?))),
        (Kind::Int, _) => operand::scalar(object, "T", Some(ty)).ok().flatten(),
    }
}

/// Remembers the kernel of a text, which was run on these operands: `names` has the name of each in it, or nothing of a number that
/// stands in the text itself.
#[pyfunction]
#[pyo3(signature = (function, operands, names, text, named, options=None))]
pub fn learn(
    function: String,
    operands: &Bound<'_, PyTuple>,
    names: Vec<Option<String>>,
    text: &str,
    named: &Bound<'_, PyDict>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let py = operands.py();
    let shapes = if function == PRODUCT { Shapes::Product } else { Shapes::Equal };
    let options = options.map_or(Ok(Options::default()), |given| self::options(py, Some(given)))?;
    let Some(taken) = taken(operands)?.filter(|taken| fits(shapes, taken)) else { return Ok(()) };
    let mut all = Vec::new();
    for (name, object) in named {
        let name = name.cast_into::<PyString>()?;
        let one = given(&object, name.to_str()?, Wanted::default())?;
        all.push((name, one));
    }
    let Some((kernel, places)) = found(text, None, &options, &all)? else { return Ok(()) };
    let mut slots = Vec::new();
    for (one, name) in taken.iter().zip(names) {
        let at = name.and_then(|name| all.iter().position(|(own, _)| *own == name.as_str()));
        slots.push(match (one, at) {
            (Taken::Array(given), Some(at)) => {
                let tensor = given.tensor();
                let (ty, format, fill) = (tensor.values.ty(), tensor.format.clone(), tensor.fill);
                Slot::Tensor { ty, format, fill, place: places[at] }
            }
            (Taken::Number { kind, .. }, Some(at)) => {
                Slot::Number { kind: *kind, ty: all[at].1.tensor().values.ty(), place: places[at] }
            }
            (Taken::Number { kind, object }, None) => Slot::Same { kind: *kind, value: object.extract()? },
            (Taken::Array(_), None) => return Ok(()),
        });
    }
    let mut entries = entries();
    if entries.values().map(Vec::len).sum::<usize>() >= MOST {
        entries.clear();
    }
    let same = slots.len() > 1 && is_one(operands)?;
    entries.entry(function).or_default().push(Entry { shapes, same, slots, kernel });
    Ok(())
}
