//! Gradients and tangents in Python: texts of programs, which `compile` takes (`fiberloom/_gradients.py`).

use crate::error::raised;
use fiberloom::{Error, relation};
use fiberloom_passes::gradient::{Ask, grad, jvp};
use pyo3::prelude::*;

/// A result, the operands by which, the name of what is given for its gradient, and operands whose gradients are wanted everywhere.
type Asked = (String, Vec<String>, Option<String>, Vec<String>);

/// The program of the gradient of a result by others, or, `forward`, of how it moves with them.
///
/// # Errors
/// What is wrong with the program, and what has no derivative, as exceptions.
#[pyfunction]
#[pyo3(signature = (text, asked, value=false, forward=false, file="program"))]
pub fn gradient(py: Python<'_>, text: &str, asked: Asked, value: bool, forward: bool, file: &str) -> PyResult<String> {
    let (of, by, seed, dense) = asked;
    let ask = Ask { of, by, seed, dense, value };
    let made = match fiberloom_front::parse(text) {
        (Some(program), wrong) if wrong.is_empty() => {
            (if forward { jvp } else { grad })(&program, &relation::check, &ask)
        }
        (_, wrong) => Err(wrong),
    };
    made.map(|program| program.to_string()).map_err(|diagnostics| {
        raised(py, &Error::Program { file: file.to_string(), text: text.to_string(), diagnostics })
    })
}
