//! Tables in Python: from whatever has an Arrow stream or columns that are arrays, to both.
//!
//! ```text
//!  pandas, polars, pyarrow, DuckDB ──__arrow_c_stream__──▶ arrow::Batches ─┐
//!  {name: ndarray or list} ──fiberloom._tables──▶ Frame ───────────────────┼─▶ Table ──columns──▶ ndarrays
//!  a result, decoded ───────────────────────────▶ Frame ───────────────────┘     └──__arrow_c_stream__──▶ any of the above
//! ```

use crate::array::{self, Layout, borrowed, usable};
use crate::arrow::{self, Batches};
use crate::error::{exception, raised};
use fiberloom::relation::{Column, Frame, Texts, Values};
use fiberloom::{Array, Elements, data};
use numpy::PyUntypedArray;
use pyo3::exceptions::PyBufferError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};
use std::borrow::Cow;
use std::sync::Arc;

/// Where the columns of a table are.
pub enum Source {
    /// In a stream's arrays.
    Arrow(Batches),
    /// In this frame, which borrows from what is kept.
    Frame { frame: Frame<'static>, _kept: Vec<Py<PyAny>> },
}

/// A table: columns of one length, each with a name.
#[pyclass(frozen, module = "fiberloom", weakref)]
pub struct Table {
    source: Arc<Source>,
}

/// A frame and what it borrows from.
struct Held {
    /// It borrows from the source, and is dropped before it.
    frame: Frame<'static>,
    _source: Arc<Source>,
}

/// Holds a frame for ndarrays over its columns.
#[pyclass(frozen)]
struct Rows {
    _held: Arc<Held>,
}

impl Source {
    /// How many rows there are.
    fn rows(&self) -> usize {
        match self {
            Source::Arrow(batches) => batches.rows,
            Source::Frame { frame, .. } => frame.rows,
        }
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Source::Arrow(batches) => batches.fields.iter().map(|field| field.name.as_str()).collect(),
            Source::Frame { frame, .. } => frame.columns.iter().map(|column| column.name.as_str()).collect(),
        }
    }

    /// What each column holds, as a user reads it.
    fn types(&self) -> Vec<String> {
        match self {
            Source::Arrow(batches) => batches.fields.iter().map(|field| field.shown()).collect(),
            Source::Frame { frame, .. } => frame.columns.iter().map(|column| shown(&column.values)).collect(),
        }
    }

    /// The columns of which `wanted` says the names, in messages those of `origin`.
    ///
    /// # Errors
    /// A column that no program reads, or that is malformed; memory.
    pub fn frame(&self, origin: &str, wanted: impl Fn(&str) -> bool) -> Result<Frame<'_>, data::Error> {
        let mut columns = Vec::new();
        match self {
            Source::Arrow(batches) => {
                for (n, field) in batches.fields.iter().enumerate().filter(|(_, field)| wanted(&field.name)) {
                    let column = batches.column(n, usize::MAX);
                    columns.push(column.map_err(|wrong| wrong.within(origin, &field.name))?);
                }
            }
            Source::Frame { frame, .. } => {
                columns.extend(frame.columns.iter().filter(|column| wanted(&column.name)).map(Column::borrow));
            }
        }
        Ok(Frame { origin: origin.to_string(), rows: self.rows(), columns })
    }

    /// The first rows as text, of columns that can be read.
    fn head(&self, rows: usize) -> String {
        let columns = match self {
            Source::Arrow(batches) => (0..batches.fields.len()).filter_map(|n| batches.column(n, rows).ok()).collect(),
            Source::Frame { frame, .. } => frame.columns.iter().map(Column::borrow).collect(),
        };
        Frame { origin: String::new(), rows: self.rows(), columns }.head(rows)
    }
}

/// What values are, as a user reads it.
fn shown(values: &Values) -> String {
    match values {
        Values::Plain(array) => array.ty().name().to_string(),
        Values::Dates(_) => "date".to_string(),
        Values::Timestamps(_) => "timestamp".to_string(),
        Values::Decimals(_, digits) => format!("dec({digits})"),
        Values::Texts(_) => "string".to_string(),
    }
}

impl Table {
    /// A result.
    pub fn new(frame: Frame<'static>) -> Table {
        Table { source: Arc::new(Source::Frame { frame, _kept: Vec::new() }) }
    }

    /// The columns of these names, held.
    fn held(&self, py: Python<'_>, wanted: impl Fn(&str) -> bool + Send) -> PyResult<Arc<Held>> {
        let source = self.source.clone();
        let frame = py.detach(|| source.frame("table", wanted)).map_err(|e| raised(py, &e.into()))?;
        // SAFETY: only the lifetime is another; the source stays where it is, unchanged, until the frame is dropped.
        let frame = unsafe { std::mem::transmute::<Frame<'_>, Frame<'static>>(frame) };
        Ok(Arc::new(Held { frame, _source: source.clone() }))
    }
}

/// A table that an object is, of this name in messages.
pub fn taken(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Arc<Source>> {
    let py = object.py();
    if let Ok(table) = object.cast_exact::<Table>() {
        return Ok(table.get().source.clone());
    }
    if object.hasattr(intern!(py, "__arrow_c_stream__"))? {
        let capsule = object.call_method0(intern!(py, "__arrow_c_stream__"))?;
        return Ok(Arc::new(Source::Arrow(batches(&capsule, name)?)));
    }
    let made = py.import(intern!(py, "fiberloom._tables"))?.call_method1(intern!(py, "of_columns"), (object, name))?;
    Ok(made.cast_into::<Table>()?.get().source.clone())
}

/// What the stream of a capsule gives.
fn batches(capsule: &Bound<'_, PyAny>, name: &str) -> PyResult<Batches> {
    let py = capsule.py();
    let refused = |what: String| exception(py, "OperandError", format!("{name}: {what}"));
    let class = || format!("`__arrow_c_stream__` gives {capsule}: a capsule named `arrow_array_stream` expected");
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| refused(class()))?;
    let pointer = capsule.pointer_checked(Some(arrow::STREAM)).map_err(|_| refused(class()))?;
    // SAFETY: a capsule of this name holds a stream; it is left there as one that was released.
    let stream = unsafe { arrow::Stream::taken(pointer.as_ptr().cast()) };
    py.detach(|| Batches::of(stream)).map_err(|wrong| raised(py, &wrong.within(name, "").into()))
}

/// A table of an object: one with an Arrow stream, or a mapping of names to columns.
#[pyfunction]
#[pyo3(signature = (object, name="table"))]
pub fn table_of(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Table> {
    Ok(Table { source: taken(object, name)? })
}

/// A column in Python: its name; `plain`, `date`, `decimal` or `text`; the values, of texts their bytes and offsets; which rows are
/// null; digits behind the point.
type Said<'py> =
    (String, String, Bound<'py, PyAny>, Option<Bound<'py, PyUntypedArray>>, Option<Bound<'py, PyUntypedArray>>, u8);

/// A table of columns.
#[pyfunction]
pub fn table_of_columns(py: Python<'_>, columns: Vec<Said<'_>>, name: &str) -> PyResult<Table> {
    let (mut kept, mut made) = (Vec::new(), Vec::new());
    let mut array = |of: &Bound<'_, PyUntypedArray>| -> PyResult<Array<'static>> {
        let (usable, ty) = usable(of, name, None, Layout::Rows)?;
        // SAFETY: it came from `usable`, and is kept.
        let array = unsafe { borrowed(&usable, ty) };
        kept.push(usable.into_any().unbind());
        Ok(array)
    };
    let refused = |what: String| exception(py, "OperandError", format!("{name}: {what}"));
    for (column, kind, values, offsets, nulls, digits) in columns {
        let values = match (kind.as_str(), offsets) {
            ("text", Some(offsets)) => {
                let text = values.cast::<PyBytes>()?.as_bytes().to_vec();
                let text = String::from_utf8(text).map_err(|_| refused(format!("column {column}: not UTF-8")))?;
                Values::Texts(
                    Texts::new(text, array(&offsets)?).map_err(|what| refused(format!("column {column}: {what}")))?,
                )
            }
            ("date", _) => Values::Dates(array(values.cast()?)?),
            ("timestamp", _) => Values::Timestamps(array(values.cast()?)?),
            ("decimal", _) => Values::Decimals(array(values.cast()?)?, digits),
            _ => Values::Plain(array(values.cast()?)?),
        };
        let nulls: Vec<bool> = match nulls {
            Some(nulls) => array(&nulls)?.iter().map(|null| null.is_true()).collect(),
            None => Vec::new(),
        };
        made.push(Column::new(column, values).with_nulls(Cow::Owned(nulls)));
    }
    let frame = Frame::new(name, made).map_err(refused)?;
    Ok(Table { source: Arc::new(Source::Frame { frame, _kept: kept }) })
}

/// A column as ndarrays: its kind, as it is given to `table_of_columns`; the values, of texts a list; which rows are null; digits.
type Shown<'py> = (&'static str, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, u8);

#[pymethods]
impl Table {
    /// How many rows there are.
    fn __len__(&self) -> usize {
        self.source.rows()
    }

    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.source.names().into_iter().map(str::to_string).collect()
    }

    /// What each column holds: a type of the language, `date`, `dec(2)`, `string`.
    #[getter]
    fn types(&self) -> Vec<String> {
        self.source.types()
    }

    /// The first rows as text, of columns that can be read.
    fn head(&self, py: Python<'_>, rows: usize) -> String {
        let source = self.source.clone();
        py.detach(|| source.head(rows))
    }

    /// A column by its name: what `fiberloom._tables` makes an ndarray of.
    fn raw<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Shown<'py>> {
        let held = self.held(py, |n| n == name)?;
        let Some(column) = held.frame.columns.first() else {
            let names = self.source.names().join(", ");
            return Err(exception(py, "OperandError", format!("there is no column `{name}`: {names}")));
        };
        let owner = || Ok::<_, PyErr>(Bound::new(py, Rows { _held: held.clone() })?.into_any());
        let ndarray = |array: &Array| {
            // SAFETY: the frame holds as many elements, and the owner holds the frame.
            unsafe { array::view(array, (&[array.len() as u64], &[0]), false, owner()?) }.map(Bound::into_any)
        };
        // SAFETY: a `bool` is a byte.
        let nulls = unsafe { std::slice::from_raw_parts(column.nulls.as_ptr().cast::<u8>(), column.nulls.len()) };
        let nulls = match nulls {
            [] => None,
            nulls => Some(ndarray(&Array::Bool(Elements::Borrowed(nulls)))?),
        };
        Ok(match &column.values {
            Values::Plain(array) => ("plain", ndarray(array)?, nulls, 0),
            Values::Dates(array) => ("date", ndarray(array)?, nulls, 0),
            Values::Timestamps(array) => ("timestamp", ndarray(array)?, nulls, 0),
            Values::Decimals(array, digits) => ("decimal", ndarray(array)?, nulls, *digits),
            Values::Texts(texts) => ("text", PyList::new(py, texts.iter().collect::<Vec<_>>())?.into_any(), nulls, 0),
        })
    }

    /// The schema, as a capsule of Arrow's C data interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let held = self.held(py, |_| true)?;
        let schema = arrow::schema(&held.frame).map_err(PyBufferError::new_err)?;
        PyCapsule::new_with_value(py, schema, arrow::SCHEMA)
    }

    /// The rows, as a capsule of Arrow's C stream interface. Another schema that is asked for is not given.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let held = self.held(py, |_| true)?;
        let holder: Arc<dyn std::any::Any + Send + Sync> = held.clone();
        // SAFETY: the holder holds the frame, and what it borrows from.
        let stream = unsafe { arrow::stream(&held.frame, &holder) }.map_err(PyBufferError::new_err)?;
        PyCapsule::new_with_value(py, stream, arrow::STREAM)
    }
}
