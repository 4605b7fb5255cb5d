//! Tensors in Python: a stored tensor that is checked once, and whoever holds its arrays.
//!
//! ```text
//!  arrays of NumPy's  ─over─▶  Tensor { kept }      index arrays frozen
//!  a result           ─new──▶  Tensor               all arrays its own: ndarrays over them hold the tensor
//! ```
//!
//! Methods that need no access to memory are Python's (`fiberloom/_tensor.py`), set on this class.

use crate::array::{Layout, borrowed, frozen, is_writable, usable, view};
use crate::error::{exception, malformed, operand as refused, raised, unassembled};
use crate::job;
use crate::operand;
use fiberloom::{Array, Assembly, Checked, Elements, Error, Format, Level, Type, Value};
use fiberloom_core::format::{Holds, NAMES};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::convert::Infallible;
use std::sync::OnceLock;

/// A tensor in some format: `fill_value` wherever nothing is stored.
#[pyclass(frozen, module = "fiberloom", weakref)]
pub struct Tensor {
    /// The same tensor, once it was found to be well-formed. Its values are borrowed from `tensor`, so that a result never
    /// shares them: whoever writes to them through an ndarray changes this tensor alone.
    checked: OnceLock<Checked<'static>>,
    tensor: fiberloom::Tensor<'static>,
    /// What holds the arrays that are borrowed.
    _kept: Vec<Py<PyAny>>,
    /// Whether ndarrays over the values may be written to.
    writable: bool,
}

/// Holds a tensor for an ndarray over its values: to these, in contrast to its indices, ndarrays write.
#[pyclass(frozen)]
struct Values {
    _tensor: Py<Tensor>,
}

impl Tensor {
    /// A result.
    pub fn new(tensor: fiberloom::Tensor<'static>) -> Tensor {
        Tensor::over(tensor, Vec::new(), true)
    }

    /// A tensor over arrays that are held by what is kept.
    pub fn over(tensor: fiberloom::Tensor<'static>, kept: Vec<Py<PyAny>>, writable: bool) -> Tensor {
        // Truth values are believed once they were checked: nobody may write others.
        let writable = writable && tensor.values.ty() != Type::Bool;
        Tensor { checked: OnceLock::new(), tensor, _kept: kept, writable }
    }

    /// The tensor.
    pub fn tensor(&self) -> &fiberloom::Tensor<'static> {
        &self.tensor
    }

    /// Whether one may write to its values.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// The tensor, whose invariants are looked at by the first call.
    pub fn checked(&self, name: &str) -> Result<&Checked<'static>, Error> {
        if let Some(checked) = self.checked.get() {
            return Ok(checked);
        }
        let mut tensor = self.tensor.clone();
        tensor.values = lasting(&self.tensor.values);
        let checked = tensor.checked().map_err(|m| match m.is_unchecked() {
            true => Error::Stopped(format!("tensor `{name}`: {m}")),
            false => Error::Operand { tensor: name.to_string(), what: m.to_string(), malformed: Some(m) },
        })?;
        Ok(self.checked.get_or_init(|| checked))
    }

    /// The mode of each storage level.
    fn order(&self) -> &[usize] {
        &self.tensor.format.order
    }
}

/// The same array, borrowed for as long as the tensor lives that holds it.
pub fn lasting(array: &Array<'static>) -> Array<'static> {
    macro_rules! of {
        ($($variant:ident),*) => { match array { $(Array::$variant(elements) => {
            let (start, len) = (elements.as_ptr(), elements.len());
            // SAFETY: the elements are where they are until the array is dropped, which `Tensor` drops after what borrows it;
            // results copy what is borrowed.
            Array::$variant(Elements::Borrowed(unsafe { std::slice::from_raw_parts(start, len) }))
        })* } };
    }
    of!(Bool, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64)
}

/// The name of a format, or its levels.
pub fn format_name(format: &Format) -> String {
    let has_name = |name: &&&str| Format::named(name, format.rank()).is_some_and(|named| named == *format);
    // A list of one mode has three names.
    ["sparse"].iter().chain(&NAMES).find(has_name).map_or_else(|| format.to_string(), ToString::to_string)
}

/// A number as Python has it.
pub fn number(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value.ty() {
        Type::Bool => value.is_true().into_pyobject(py)?.to_owned().into_any(),
        ty if ty.is_float() => value.as_f64().into_pyobject(py)?.into_any(),
        _ => value.as_i128().into_pyobject(py)?.into_any(),
    })
}

/// A value of this type that is a number of Python's, or of NumPy's.
pub fn value(object: &Bound<'_, PyAny>, name: &str, ty: Type) -> PyResult<Value> {
    let item = if object.hasattr("item")? { object.call_method0("item")? } else { object.clone() };
    match operand::scalar(&item, name, Some(ty))? {
        Some(value) => Ok(value),
        None => Err(refused(object.py(), name, format!("{object} is no fill value: {} expected", ty.name()))),
    }
}

#[pymethods]
impl Tensor {
    /// A tensor of truth values with the levels of this one, true at each entry: where this one stores something.
    fn pattern(slf: &Bound<'_, Self>) -> PyResult<Tensor> {
        let this = slf.get();
        this.checked("").map_err(|e| raised(slf.py(), &e))?;
        let of = &this.tensor;
        let levels = of.levels.iter().map(|level| {
            let Ok(level) = level.map(|array| Ok::<_, Infallible>(lasting(array)));
            level
        });
        let tensor = fiberloom::Tensor {
            levels: levels.collect(),
            values: of.pattern().values.into_owned(),
            fill: Value::bool(false),
            extents: of.extents.clone(),
            format: of.format.clone(),
        };
        Ok(Tensor::over(tensor, vec![slf.clone().into_any().unbind()], false))
    }

    /// Extent of each mode.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.tensor.extents)
    }

    /// Number of modes.
    #[getter]
    fn ndim(&self) -> usize {
        self.tensor.extents.len()
    }

    /// Name of the element type, as the language writes it: `f64`.
    #[getter]
    fn type_name(&self) -> &'static str {
        self.tensor.values.ty().name()
    }

    /// The format: its name, as `csr`, or its levels, as `{dense, band}`.
    #[getter]
    fn format(&self) -> String {
        format_name(&self.tensor.format)
    }

    /// Each level's kind, outermost first.
    #[getter]
    fn levels(&self) -> Vec<&'static str> {
        self.tensor.format.levels.iter().map(|kind| kind.name()).collect()
    }

    /// The mode that each level holds.
    #[getter]
    fn level_order(&self) -> Vec<usize> {
        self.order().to_vec()
    }

    /// How many values are stored.
    #[getter]
    fn nnz(&self, py: Python<'_>) -> PyResult<usize> {
        self.checked("T").map_err(|e| raised(py, &e))?;
        Ok(self.tensor.stored())
    }

    /// The value of what is not stored.
    #[getter]
    fn fill_value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        number(py, self.tensor.fill)
    }

    /// The arrays by name: of level 1 `pos1`, `crd1`, …; and `values`. Those of indices are read-only.
    fn arrays<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let (py, this) = (slf.py(), slf.get());
        let arrays = PyDict::new(py);
        for (l, level) in this.tensor.levels.iter().enumerate() {
            for ((name, _), array) in level.kind().arrays().iter().zip(level.arrays()) {
                // SAFETY: the array is the tensor's, which the ndarray holds and which nobody changes.
                let ndarray = unsafe { view(array, (&[array.len() as u64], &[0]), false, slf.clone().into_any())? };
                arrays.set_item(format!("{name}{l}"), ndarray)?;
            }
        }
        arrays.set_item("values", this.ndarray(slf, &[this.tensor.values.len() as u64], &[0])?)?;
        Ok(arrays)
    }

    /// The ndarray over the values of a dense tensor; of another `None`.
    fn dense_view<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyUntypedArray>>> {
        let this = slf.get();
        match this.tensor.format.is_dense() {
            true => Ok(Some(this.ndarray(slf, &this.tensor.extents, this.order())?)),
            false => Ok(None),
        }
    }

    /// The same tensor in another format: itself, if that is its own.
    #[pyo3(signature = (format, fill=None))]
    fn converted<'py>(
        slf: &Bound<'py, Self>,
        format: &str,
        fill: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        let (py, this) = (slf.py(), slf.get());
        let rank = this.tensor.extents.len();
        let format = Format::read(format, rank).map_err(|e| exception(py, "Error", e.to_string()))?;
        let ty = this.tensor.values.ty();
        let fill = fill.map(|fill| value(fill, "fill", ty)).transpose()?.unwrap_or(this.tensor.fill);
        if format == this.tensor.format && fill == this.tensor.fill {
            return Ok(slf.clone());
        }
        let held = slf.clone().unbind();
        let assembled = job::run(py, this.tensor.values.len(), move || refilled(held.get().tensor(), &format, fill))?;
        Bound::new(py, Tensor::new(assembled.map_err(|e| unassembled(py, "T", &e))?))
    }

    /// The same arrays, of which what is not stored is another value.
    fn with_fill<'py>(slf: &Bound<'py, Self>, fill: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let this = slf.get();
        let mut tensor = this.tensor.clone();
        tensor.values = lasting(&this.tensor.values);
        tensor.fill = value(fill, "fill", tensor.values.ty())?;
        Bound::new(slf.py(), Tensor::over(tensor, vec![slf.clone().into_any().unbind()], this.writable))
    }

    /// The same levels with other values, as many in a dense vector, and another value for what is not stored.
    fn revalued<'py>(
        slf: &Bound<'py, Self>,
        values: &Bound<'py, Self>,
        fill: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        let (py, this, other) = (slf.py(), slf.get(), values.get());
        let own = &other.tensor.values;
        if own.len() != this.tensor.values.len() || other.tensor.extents.len() != 1 || !other.tensor.format.is_dense() {
            let what = format!("a dense vector of {} values expected", this.tensor.values.len());
            return Err(exception(py, "Error", what));
        }
        let fill = value(fill, "fill", own.ty())?;
        let tensor = fiberloom::Tensor { values: lasting(own), fill, ..this.tensor.clone() };
        let kept = vec![slf.clone().into_any().unbind(), values.clone().into_any().unbind()];
        Bound::new(py, Tensor::over(tensor, kept, other.writable))
    }

    /// The number that a dense tensor without modes is; `None` of another.
    fn number<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.tensor.extents.is_empty() {
            true => Ok(Some(number(py, self.tensor.values.get(0))?)),
            false => Ok(None),
        }
    }

    /// The same arrays under another order of modes: mode `k` of the result is mode `axes[k]` of this one.
    fn permuted<'py>(slf: &Bound<'py, Self>, axes: Vec<usize>) -> PyResult<Bound<'py, Self>> {
        let (py, this) = (slf.py(), slf.get());
        let rank = this.tensor.extents.len();
        let mut sorted = axes.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..rank) {
            return Err(exception(py, "Error", format!("{axes:?} is no permutation of {rank} axes")));
        }
        let mut tensor = this.tensor.clone();
        tensor.values = lasting(&this.tensor.values);
        tensor.extents = axes.iter().map(|&mode| this.tensor.extents[mode]).collect();
        let place = |mode: &usize| axes.iter().position(|axis| axis == mode).expect("a permutation");
        tensor.format.order = this.order().iter().map(place).collect();
        Bound::new(py, Tensor::over(tensor, vec![slf.clone().into_any().unbind()], this.writable))
    }
}

impl Tensor {
    /// An ndarray of this shape over the values.
    fn ndarray<'py>(
        &self,
        slf: &Bound<'py, Tensor>,
        shape: &[u64],
        order: &[usize],
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        let owner = Bound::new(slf.py(), Values { _tensor: slf.clone().unbind() })?.into_any();
        // SAFETY: a dense tensor that is well-formed has a value for each coordinate, and others are seen as vectors; the owner holds the tensor.
        unsafe { view(&self.tensor.values, (shape, order), self.writable, owner) }
    }
}

/// A tensor in another format, with another fill value.
fn refilled(
    tensor: &fiberloom::Tensor<'static>,
    format: &Format,
    fill: Value,
) -> Result<fiberloom::Tensor<'static>, fiberloom::AssemblyError> {
    let how = Assembly::default();
    if fill == tensor.fill {
        return Ok(tensor.borrow().convert(format, &how)?.into_owned());
    }
    // What was the old fill value is stored from now on: every coordinate is.
    let mut dense = tensor.borrow().convert(&Format::dense(tensor.extents.len()), &how)?;
    dense.fill = fill;
    Ok(dense.convert(format, &how)?.into_owned())
}

/// A tensor of an ndarray, or of one of SciPy's matrices that are taken as they are; `None` of another object.
#[pyfunction]
#[pyo3(signature = (object, name, copy=None))]
pub fn from_object(object: &Bound<'_, PyAny>, name: &str, copy: Option<bool>) -> PyResult<Option<Tensor>> {
    operand::tensor(object, name, copy, None)
}

/// A scalar tensor of a number of Python's, of this type or of its own.
#[pyfunction]
#[pyo3(signature = (number, name, ty=None))]
pub fn scalar(number: &Bound<'_, PyAny>, name: &str, ty: Option<&str>) -> PyResult<Option<Tensor>> {
    let value = operand::scalar(number, name, ty.and_then(Type::from_name))?;
    Ok(value.map(|value| Tensor::new(fiberloom::Tensor::scalar(value))))
}

/// A tensor of arrays, those of the levels in their order, the values last.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // Each is a parameter in Python.
#[pyo3(signature = (shape, format, arrays, fill=None, copy=None, name="T"))]
pub fn from_levels(
    py: Python<'_>,
    shape: Vec<u64>,
    format: &str,
    arrays: Vec<Bound<'_, PyUntypedArray>>,
    fill: Option<&Bound<'_, PyAny>>,
    copy: Option<bool>,
    name: &str,
) -> PyResult<Tensor> {
    let format = Format::read(format, shape.len()).map_err(|e| exception(py, "Error", e.to_string()))?;
    let (mut kept, mut taken, last) = (Vec::new(), Vec::new(), arrays.len().saturating_sub(1));
    for (at, array) in arrays.iter().enumerate() {
        let (usable, ty) = usable(array, name, copy, Layout::Rows)?;
        let believed = at < last || ty == Type::Bool;
        let held = if believed && usable.len() > 0 { frozen(usable, name, copy)? } else { usable };
        // SAFETY: it came from `usable`, and is kept.
        taken.push(unsafe { borrowed(&held, ty) });
        kept.push(held.into_any().unbind());
    }
    let expected: usize = format.levels.iter().map(|kind| kind.arrays().len()).sum::<usize>() + 1;
    let wrong = || refused(py, name, format!("it has {expected} arrays, and {} are given", arrays.len()));
    if arrays.len() != expected {
        return Err(wrong());
    }
    let values = taken.pop().ok_or_else(wrong)?;
    let mut taken = taken.into_iter();
    let mut next = |_: &str, _: Holds| taken.next().ok_or(());
    let levels = format.levels.iter().map(|kind| Level::of(*kind, &mut next).ok().flatten());
    let levels = levels
        .collect::<Option<Vec<Level>>>()
        .ok_or_else(|| refused(py, name, "a level of kind `function` stores nothing"))?;
    let tensor = fiberloom::Tensor::from_levels(shape, format.order.to_vec(), levels, values);
    let mut tensor = tensor.map_err(|m| malformed(py, name, &m))?;
    if let Some(fill) = fill {
        tensor.fill = value(fill, name, tensor.values.ty())?;
    }
    let writable = kept.last().is_some_and(|values| is_writable(values.bind(py)));
    let made = Tensor::over(tensor, kept, writable);
    py.detach(|| made.checked(name).map(drop)).map_err(|e| raised(py, &e))?;
    Ok(made)
}
