//! Programs by their text and their operands: compiled once, kept, and run.
//!
//! Kernels are kept by the text, the result's format, the options, and what operands are: types, formats, fills. Extents are
//! none of it: a kernel runs on any.

use crate::error::{exception, raised};
use crate::kernel::{Compiled, Making, Operands, options};
use crate::operand::{Given, Wanted, given};
use crate::tensor::{Tensor, format_name};
use fiberloom::{Format, Options, Type, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// What of an operand a kernel is made for.
struct Like {
    name: String,
    ty: Type,
    format: Format,
    fill: Value,
}

impl Like {
    fn is(&self, name: &str, tensor: &fiberloom::Tensor) -> bool {
        self.ty == tensor.values.ty() && self.fill == tensor.fill && self.name == name && self.format == tensor.format
    }
}

/// A kernel that is kept.
struct Kept {
    format: Option<String>,
    options: Options,
    operands: Vec<Like>,
    /// The place of each operand among the kernel's inputs.
    places: Vec<usize>,
    kernel: Arc<Compiled>,
}

/// When so many texts are kept, all are dropped: whoever runs one keeps it.
const MOST_TEXTS: usize = 1024;

static KEPT: LazyLock<Mutex<HashMap<String, Vec<Kept>>>> = LazyLock::new(Mutex::default);

fn kept() -> MutexGuard<'static, HashMap<String, Vec<Kept>>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many kernels are kept.
#[pyfunction]
pub fn kernels_kept() -> usize {
    kept().values().map(Vec::len).sum()
}

/// How many kernels this process has compiled.
#[pyfunction]
pub fn kernels_compiled() -> u64 {
    fiberloom::compiled()
}

/// The tensor that the last statement of a program defines, of operands by name.
#[pyfunction]
#[pyo3(signature = (text, operands, format=None, options=None))]
pub fn einsum(
    text: &Bound<'_, PyString>,
    operands: &Bound<'_, PyDict>,
    format: Option<&str>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Py<Tensor>> {
    let py = text.py();
    let text = text.to_str()?;
    let options = match options {
        None => Options::default(),
        Some(_) => self::options(py, options)?,
    };
    let mut named: Vec<(Bound<'_, PyString>, Given)> = Vec::with_capacity(operands.len());
    for (name, object) in operands {
        let name = name.cast_into::<PyString>()?;
        let taken = given(&object, name.to_str()?, Wanted::default())?;
        named.push((name, taken));
    }
    let (kernel, places) = match found(text, format, &options, &named)? {
        Some(known) => known,
        None => made(py, text, format, options, &named)?,
    };
    let operands: Operands = places.into_iter().zip(named).map(|(place, (_, given))| (place, given)).collect();
    last(py, &kernel, operands)
}

/// The tensor that the last statement of a kernel's program defines.
pub fn last(py: Python<'_>, kernel: &Arc<Compiled>, operands: Operands) -> PyResult<Py<Tensor>> {
    let mut outcome = kernel.call(py, operands, None)?;
    match outcome.take(kernel.last()) {
        Some(tensor) => kernel.result(py, kernel.last(), tensor),
        None => Err(exception(py, "ProgramError", "the program has no statement, and so no result")),
    }
}

/// The kernel for these operands, if it is kept, and their places among its inputs.
pub fn found(
    text: &str,
    format: Option<&str>,
    options: &Options,
    named: &[(Bound<'_, PyString>, Given)],
) -> PyResult<Option<(Arc<Compiled>, Vec<usize>)>> {
    let kept = kept();
    for one in kept.get(text).into_iter().flatten() {
        let mut alike = one.operands.len() == named.len() && one.format.as_deref() == format && one.options == *options;
        for (like, (name, given)) in one.operands.iter().zip(named) {
            alike = alike && like.is(name.to_str()?, given.tensor());
        }
        if alike {
            return Ok(Some((one.kernel.clone(), one.places.clone())));
        }
    }
    Ok(None)
}

/// A new kernel for these operands, which is kept.
fn made(
    py: Python<'_>,
    text: &str,
    format: Option<&str>,
    options: Options,
    named: &[(Bound<'_, PyString>, Given)],
) -> PyResult<(Arc<Compiled>, Vec<usize>)> {
    let mut likes = Vec::new();
    for (name, given) in named {
        let tensor = given.tensor();
        let (ty, format, fill) = (tensor.values.ty(), tensor.format.clone(), tensor.fill);
        likes.push(Like { name: name.to_str()?.to_string(), ty, format, fill });
    }
    let known = |like: &Like| {
        let given = fiberloom::Given { ty: like.ty, fill: like.fill, format: format_name(&like.format) };
        (like.name.clone(), given)
    };
    let known = likes.iter().map(known).collect();
    let mut making =
        Making { file: "program".to_string(), text: text.to_string(), known, results: Vec::new(), options };
    let mut kernel = making.compiled(py)?;
    kernel.plain(py, "`einsum`")?;
    if let Some(format) = format {
        making.results.push((kernel.last().to_string(), format.to_string()));
        kernel = making.compiled(py)?;
    }
    let mut places = Vec::new();
    for like in &likes {
        let unknown = || kernel.kernel.complete(&[&like.name]).err();
        match kernel.place(&like.name) {
            Some(place) => places.push(place),
            None => return Err(unknown().map_or_else(|| not_read(py, &like.name), |e| raised(py, &e))),
        }
    }
    let one = Kept {
        format: format.map(str::to_string),
        options,
        operands: likes,
        places: places.clone(),
        kernel: kernel.clone(),
    };
    let mut kept = kept();
    if kept.len() >= MOST_TEXTS {
        kept.clear();
    }
    kept.entry(text.to_string()).or_default().push(one);
    Ok((kernel, places))
}

fn not_read(py: Python<'_>, name: &str) -> PyErr {
    exception(py, "OperandError", format!("the program does not read `{name}`"))
}
