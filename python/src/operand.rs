//! Python objects as operands.
//!
//! ```text
//!  Tensor                           checked before
//!  ndarray, csr, csc, coo           a tensor over its arrays, checked by the call
//!  bool, int, float                 a scalar
//!  whatever else                    `fiberloom._convert.tensor` makes a Tensor of it, or says what it is not
//! ```

use crate::array::{Layout, borrowed, frozen, is_by_rows, is_writable, usable};
use crate::error::{malformed, operand, raised};
use crate::scipy::{self, For, Raw};
use crate::tensor::Tensor;
use fiberloom::{Error, Format, Level, Operand, Type, Value};
use numpy::npyffi::{NpyTypes, get_type_object};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

/// An operand and who holds its arrays.
pub enum Given {
    /// Checked, or checked at its first call.
    Tensor(Py<Tensor>),
    /// Over arrays of NumPy's that may change between calls; of `source`.
    Raw { tensor: fiberloom::Tensor<'static>, source: Py<PyAny>, kept: Vec<Py<PyAny>> },
    /// A scalar of its own.
    Number(fiberloom::Tensor<'static>),
}

impl Given {
    /// The tensor.
    pub fn tensor(&self) -> &fiberloom::Tensor<'static> {
        match self {
            Given::Tensor(tensor) => tensor.get().tensor(),
            Given::Raw { tensor, .. } | Given::Number(tensor) => tensor,
        }
    }

    /// As the library takes it; a tensor that no call was given yet is checked now.
    pub fn operand(&self, name: &str) -> Result<Operand<'_>, Error> {
        match self {
            Given::Tensor(tensor) => Ok(tensor.get().checked(name)?.into()),
            Given::Raw { tensor, .. } | Given::Number(tensor) => Ok(tensor.into()),
        }
    }

    /// The same operand, to be read by any number of calls: what its indices are cannot change any more.
    pub fn lasting(self, py: Python<'_>, name: &str) -> PyResult<Given> {
        match self {
            Given::Raw { tensor, source, kept } => {
                let fill = tensor.fill;
                match self::tensor(source.bind(py), name, None, Some(fill)) {
                    Ok(Some(tensor)) => Ok(Given::Tensor(Py::new(py, tensor)?)),
                    Ok(None) => Ok(Given::Tensor(Py::new(py, Tensor::new(tensor))?)),
                    Err(error) => {
                        let again = Given::Raw { tensor, source, kept };
                        let wanted = Wanted { fill: Some(fill), ..Wanted::default() };
                        in_order(py, &again, name, wanted)?.ok_or(error)?.lasting(py, name)
                    }
                }
            }
            checked => Ok(checked),
        }
    }

    /// As the library takes it, for as long as this is held. Where one may write to its values, each run reads them.
    pub fn shared(&self, name: &str) -> Result<Operand<'static>, Error> {
        match self {
            Given::Tensor(tensor) => {
                let operand = Operand::from(tensor.get().checked(name)?.clone());
                Ok(if tensor.get().is_writable() { operand.changing() } else { operand })
            }
            Given::Raw { tensor, .. } => Ok(Operand::from(tensor.clone()).changing()),
            Given::Number(tensor) => Ok(tensor.clone().into()),
        }
    }
}

/// What an object is to be taken as.
#[derive(Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// The type, for numbers of Python's, which have none of the language's.
    pub ty: Option<Type>,
    /// The format, for dense arrays, which can be taken in several.
    pub format: Option<&'a Format>,
    /// The fill value, for what does not say one: SciPy's matrices, arrays and numbers.
    pub fill: Option<Value>,
}

impl Wanted<'_> {
    /// The operand over an object's arrays.
    fn raw(&self, (mut tensor, kept): Raw, source: &Bound<'_, PyAny>) -> Given {
        let same_type = |fill: &Value| fill.ty() == tensor.values.ty();
        tensor.fill = self.fill.filter(same_type).unwrap_or(tensor.fill);
        Given::Raw { tensor, source: source.clone().unbind(), kept }
    }
}

/// An object as an operand of one call.
pub fn given(object: &Bound<'_, PyAny>, name: &str, wanted: Wanted) -> PyResult<Given> {
    if let Ok(tensor) = object.cast_exact::<Tensor>() {
        return Ok(Given::Tensor(tensor.clone().unbind()));
    }
    if let Some(array) = ndarray(object) {
        let layout = match wanted.format {
            Some(format) if format.order.is_sorted() => Layout::Rows,
            _ => Layout::RowsOrColumns,
        };
        return Ok(wanted.raw(dense(array, name, For::Call, layout)?, object));
    }
    if let Some(kind) = scipy::kind(object)? {
        return Ok(wanted.raw(scipy::raw(object, kind, name, For::Call)?, object));
    }
    if let Some(value) = scalar(object, name, wanted.ty)? {
        let fill = wanted.fill.filter(|fill| fill.ty() == value.ty()).unwrap_or(Value::zero(value.ty()));
        return Ok(Given::Number(fiberloom::Tensor { fill, ..fiberloom::Tensor::scalar(value) }));
    }
    converted(object, name, wanted.ty)
}

/// What Python makes of an object.
fn converted(object: &Bound<'_, PyAny>, name: &str, ty: Option<Type>) -> PyResult<Given> {
    let py = object.py();
    let convert = py.import(intern!(py, "fiberloom._convert"))?;
    let tensor = convert.call_method1(intern!(py, "tensor"), (object, name, ty.map(Type::name)))?;
    Ok(Given::Tensor(tensor.cast_into::<Tensor>()?.unbind()))
}

/// The operand again, if it is a matrix of SciPy's whose entries are unsorted or stand twice, with entries in order, each once.
pub fn in_order(py: Python<'_>, given: &Given, name: &str, wanted: Wanted) -> PyResult<Option<Given>> {
    let Given::Raw { source, .. } = given else { return Ok(None) };
    let source = source.bind(py);
    if scipy::kind(source)?.is_none() {
        return Ok(None);
    }
    let convert = py.import(intern!(py, "fiberloom._convert"))?;
    match convert.call_method1(intern!(py, "in_order"), (source,))? {
        none if none.is_none() => Ok(None),
        matrix => Ok(Some(self::given(&matrix, name, wanted)?)),
    }
}

/// The ndarray that an object is, of no subclass: those may mean something else by their elements.
pub fn ndarray<'a, 'py>(object: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyUntypedArray>> {
    // SAFETY: the lock is held; the type object of ndarrays lives as long as NumPy, which is never unloaded.
    let class = unsafe { get_type_object(object.py(), NpyTypes::PyArray_Type) };
    let is_one = object.get_type_ptr() == class;
    // SAFETY: it is an instance of the class of ndarrays.
    is_one.then(|| unsafe { object.cast_unchecked() })
}

/// The dense tensor over an ndarray. One whose first mode runs fastest is stored in that order, if the layout permits it.
pub fn dense(array: &Bound<'_, PyUntypedArray>, name: &str, made: For, layout: Layout) -> PyResult<Raw> {
    let py = array.py();
    let copy = if let For::Good(copy) = made { copy } else { None };
    let (usable, ty) = usable(array, name, copy, layout)?;
    let held = match made {
        For::Good(copy) if ty == Type::Bool && usable.len() > 0 => frozen(usable, name, copy)?,
        _ => usable,
    };
    // SAFETY: it came from `usable`, and is kept.
    let values = unsafe { borrowed(&held, ty) };
    let rank = held.ndim();
    let extents: Vec<u64> = held.shape().iter().map(|&n| n as u64).collect();
    let tensor = match rank < 2 || is_by_rows(&held) {
        true => {
            let (format, levels) = (Format::dense(rank), vec![Level::Dense; rank]);
            fiberloom::Tensor { extents, format, levels, fill: Value::zero(ty), values }
        }
        false => fiberloom::Tensor::from_levels(
            extents,
            (0..rank).rev().collect::<Vec<_>>(),
            vec![Level::Dense; rank],
            values,
        )
        .map_err(|m| malformed(py, name, &m))?,
    };
    Ok((tensor, vec![held.into_any().unbind()]))
}

/// The value of a number of Python's, of the type that is wanted: else a `bool`, an `i64` or an `f64`.
pub fn scalar(object: &Bound<'_, PyAny>, name: &str, ty: Option<Type>) -> PyResult<Option<Value>> {
    let py = object.py();
    let refused =
        |what: &str| Err(operand(py, name, format!("{what} is given, {} expected", ty.map_or("", Type::name))));
    if object.is_exact_instance_of::<PyBool>() {
        return match ty {
            None | Some(Type::Bool) => Ok(Some(Value::bool(object.extract()?))),
            Some(_) => refused("a truth value"),
        };
    }
    if object.is_exact_instance_of::<PyInt>() {
        let ty = ty.unwrap_or(Type::I64);
        let int: i128 = object.extract().unwrap_or(i128::MAX);
        return match ty.range() {
            Some((least, most)) if (least..=most).contains(&int) && ty != Type::Bool => {
                Ok(Some(Value::from_i128(ty, int)))
            }
            None if ty.is_float() => Ok(Some(Value::from_f64(ty, object.extract()?))),
            _ => Err(operand(py, name, format!("{object} is given, which is no {}", ty.name()))),
        };
    }
    if object.is_exact_instance_of::<PyFloat>() {
        return match ty.unwrap_or(Type::F64) {
            ty if ty.is_float() => Ok(Some(Value::from_f64(ty, object.extract()?))),
            _ => refused("a float"),
        };
    }
    Ok(None)
}

/// An object as a tensor that is checked once.
pub fn tensor(
    object: &Bound<'_, PyAny>,
    name: &str,
    copy: Option<bool>,
    fill: Option<Value>,
) -> PyResult<Option<Tensor>> {
    let py = object.py();
    let (mut tensor, kept) = if let Some(array) = ndarray(object) {
        dense(array, name, For::Good(copy), Layout::RowsOrColumns)?
    } else if let Some(kind) = scipy::kind(object)? {
        scipy::raw(object, kind, name, For::Good(copy))?
    } else {
        return Ok(None);
    };
    tensor.fill = fill.unwrap_or(tensor.fill);
    let writable = kept.last().is_some_and(|values| is_writable(values.bind(py)));
    let made = Tensor::over(tensor, kept, writable);
    py.detach(|| made.checked(name).map(drop)).map_err(|e| raised(py, &e))?;
    Ok(Some(made))
}
