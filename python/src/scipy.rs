//! SciPy's matrices as tensors over their arrays.
//!
//! ```text
//!  csr_array, csr_matrix   indptr indices data    {dense, compressed}
//!  csc_array, csc_matrix   indptr indices data    {dense, compressed} order(1, 0)
//!  coo_array, coo_matrix   coords data            {nonunique, singleton}; a vector: {compressed}
//! ```
//!
//! The others are converted by SciPy, in Python. So are matrices whose entries are unsorted or stand twice: that is found
//! when the tensor is checked, which every call does.

use crate::array::{Layout, borrowed, frozen, usable};
use crate::error::{malformed, operand};
use fiberloom::{Array, Tensor};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use std::sync::Mutex;

/// Which of the formats a class has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Csr,
    Csc,
    Coo,
}

/// What a tensor is made for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// One call: it is checked there.
    Call,
    /// As long as it is held: indices must not change after the check.
    Good(Option<bool>),
}

impl For {
    fn copy(self) -> Option<bool> {
        match self {
            For::Call => None,
            For::Good(copy) => copy,
        }
    }
}

/// A tensor over arrays, and the arrays.
pub type Raw = (Tensor<'static>, Vec<Py<PyAny>>);

/// What is known of the classes that were met: an address is a class's as long as the class is held.
static CLASSES: Mutex<Vec<(Py<PyType>, Option<Kind>)>> = Mutex::new(Vec::new());

/// The most classes that are remembered.
const MOST_CLASSES: usize = 64;

/// Of which of SciPy's formats that are taken as they are an object is.
pub fn kind(object: &Bound<'_, PyAny>) -> PyResult<Option<Kind>> {
    let class = object.get_type();
    let mut known = CLASSES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((_, kind)) = known.iter().find(|(known, _)| known.as_ptr() == class.as_ptr()) {
        return Ok(*kind);
    }
    drop(known);
    let kind = found(object, &class)?;
    known = CLASSES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if known.len() < MOST_CLASSES {
        known.push((class.unbind(), kind));
    }
    Ok(kind)
}

fn found(object: &Bound<'_, PyAny>, class: &Bound<'_, PyType>) -> PyResult<Option<Kind>> {
    let is_scipy = |c: Bound<'_, PyAny>| -> PyResult<bool> {
        let module = c.getattr(intern!(object.py(), "__module__"))?;
        Ok(module.extract::<String>().is_ok_and(|module| module.starts_with("scipy.sparse")))
    };
    let mut is_one = false;
    for base in class.mro().iter() {
        is_one = is_one || is_scipy(base)?;
    }
    if !is_one {
        return Ok(None);
    }
    let format: String = object.getattr(intern!(object.py(), "format"))?.extract()?;
    Ok(match format.as_str() {
        "csr" => Some(Kind::Csr),
        "csc" => Some(Kind::Csc),
        "coo" => Some(Kind::Coo),
        _ => None,
    })
}

/// The tensor over a SciPy matrix's arrays, not checked.
pub fn raw(object: &Bound<'_, PyAny>, kind: Kind, name: &str, made: For) -> PyResult<Raw> {
    let py = object.py();
    let shape: Vec<u64> = object.getattr(intern!(py, "shape"))?.extract()?;
    let mut kept = Vec::with_capacity(3);
    let mut index = |array: Bound<'_, PyAny>| taken(array, name, made, true, &mut kept);
    let lists: Vec<Array<'static>> = match kind {
        Kind::Coo => {
            let columns = object.getattr(intern!(py, "coords"))?.cast_into::<PyTuple>()?;
            columns.iter().map(&mut index).collect::<PyResult<_>>()?
        }
        Kind::Csr | Kind::Csc => {
            vec![index(object.getattr(intern!(py, "indptr"))?)?, index(object.getattr(intern!(py, "indices"))?)?]
        }
    };
    let values = taken(object.getattr(intern!(py, "data"))?, name, made, false, &mut kept)?;
    let tensor = match (kind, &shape[..], <[Array; 2]>::try_from(lists)) {
        (Kind::Csr, &[rows, columns], Ok([pos, crd])) => Tensor::csr(rows, columns, pos, crd, values),
        (Kind::Csc, &[rows, columns], Ok([pos, crd])) => Tensor::csc(rows, columns, pos, crd, values),
        (Kind::Csr, &[n], Ok([_, crd])) => Tensor::coo([n], [crd], values),
        (Kind::Coo, _, Ok(columns)) => Tensor::coo(shape, columns, values),
        (Kind::Coo, _, Err(columns)) => Tensor::coo(shape, columns, values),
        _ => return Err(operand(py, name, "a SciPy matrix of another number of modes than it has index arrays for")),
    };
    tensor.map(|tensor| (tensor, kept)).map_err(|m| malformed(py, name, &m))
}

/// One of its arrays.
fn taken(
    array: Bound<'_, PyAny>,
    name: &str,
    made: For,
    is_index: bool,
    kept: &mut Vec<Py<PyAny>>,
) -> PyResult<Array<'static>> {
    let no_array = || operand(array.py(), name, "an array of the matrix is no ndarray");
    let array = array.cast::<PyUntypedArray>().map_err(|_| no_array())?;
    let (usable, ty) = usable(array, name, made.copy(), Layout::Rows)?;
    // Bytes of truth values are believed, too, once they are checked.
    let believed = is_index || ty == fiberloom::Type::Bool;
    let held = match made {
        For::Good(copy) if believed && usable.len() > 0 => frozen(usable, name, copy)?,
        _ => usable,
    };
    // SAFETY: it came from `usable`, and whoever takes the tensor holds what is kept.
    let borrowed = unsafe { borrowed(&held, ty) };
    kept.push(held.into_any().unbind());
    Ok(borrowed)
}
