//! Programs in boxes: what is cut and what is merged is Rust, what runs boxes is Python (`fiberloom/_shards.py`).
//!
//! ```text
//!  kernel, operands, splits ──Plan──▶ operands(box) ──▶ {name: Tensor}: views of the whole's arrays, or copies of parts
//!                              │ kernel, made_of ──▶ the kernel that every box runs: here, and by its text elsewhere
//!                              └ merge([{name: Tensor}, …]) ──▶ the whole's results
//! ```

use crate::error::{exception, operand as refused, raised};
use crate::job::{self, Effort};
use crate::kernel::{Compiled, Kernel, MadeOf, Making, Operands};
use crate::operand::Given;
use crate::tensor::{Tensor, lasting};
use fiberloom::shards::{Cuts, Fate, Shards};
use fiberloom::{Operand, Outcome};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::sync::Arc;
use std::time::Duration;

/// Into how many boxes an extent is cut, or at which coordinates.
#[derive(FromPyObject)]
enum Cut {
    Even(usize),
    At(Vec<u64>),
}

/// A program on its operands, in boxes.
#[pyclass(frozen, module = "fiberloom")]
pub struct Plan {
    /// Borrows from `operands`, which are dropped after it.
    shards: Shards<'static>,
    operands: Operands,
    whole: Arc<Compiled>,
    boxes: Making,
}

/// Of a tensor: its name, its cut modes, each with the split's name, and the function that folds it, with the splits' names.
type Said = (String, Vec<(usize, String)>, Option<(String, Vec<String>)>);

/// The boxes of a kernel's program on these operands, for which index variables are split by name.
///
/// # Errors
/// As of `fiberloom::shards::Shards::plan`, as exceptions.
#[pyfunction]
pub fn plan(
    kernel: &Bound<'_, Kernel>,
    operands: &Bound<'_, PyDict>,
    split: Vec<(String, Bound<'_, PyAny>)>,
) -> PyResult<Plan> {
    let py = kernel.py();
    let (whole, making) = (kernel.get().compiled.clone(), kernel.get().making.clone());
    let mut over = Vec::new();
    for (name, cut) in split {
        let wrong = || {
            exception(py, "Error", format!("index variable `{name}`: {cut} is no number of boxes, and no list of cuts"))
        };
        over.push((
            name.clone(),
            match cut.extract().map_err(|_| wrong())? {
                Cut::Even(boxes) => Cuts::Even(boxes),
                Cut::At(cuts) => Cuts::At(cuts),
            },
        ));
    }
    whole.plain(py, "a plan of boxes")?;
    let operands = whole.prepared(operands, true)?.operands;
    let (planned, whole, operands) = job::with_effort(py, Effort::Long, move |_| {
        let planned = planned(&whole, &operands, &making, &over);
        (planned.map(|shards| (shards, making)), whole, operands)
    })?;
    let (shards, making) = planned.map_err(|e| raised(py, &e))?;
    let text = shards.kernel().program().canonical().to_string();
    let boxes = Making { text, known: Vec::new(), results: Vec::new(), ..making };
    Ok(Plan { shards, operands, whole, boxes })
}

fn planned(
    whole: &Compiled,
    operands: &Operands,
    making: &Making,
    over: &[(String, Cuts)],
) -> Result<Shards<'static>, fiberloom::Error> {
    let named = |(at, given): &(usize, Given)| {
        let name = whole.name(*at);
        Ok::<_, fiberloom::Error>((name, given.shared(name)?))
    };
    let named: Vec<(&str, Operand<'static>)> = operands.iter().map(named).collect::<Result<_, _>>()?;
    let over: Vec<(&str, Cuts)> = over.iter().map(|(name, cuts)| (name.as_str(), cuts.clone())).collect();
    Shards::plan(whole.kernel.program(), &making.options, &named, &over)
}

/// A part of what a plan holds, for as long as the plan is held.
///
/// # Safety
/// Whoever has the part holds the plan.
unsafe fn held(part: fiberloom::Tensor<'_>) -> fiberloom::Tensor<'static> {
    // SAFETY: only the lifetime is another; the plan's operands, from which it borrows, stay where they are until it is dropped.
    unsafe { std::mem::transmute(part) }
}

impl Plan {
    fn said(&self, fates: Vec<Fate>) -> Vec<Said> {
        let splits: Vec<&str> = self.shards.splits().collect();
        let name = |split: usize| splits[split].to_string();
        let fold = |(fun, along): (String, Vec<usize>)| (fun, along.into_iter().map(name).collect());
        let cuts = |cuts: Vec<(usize, usize)>| cuts.into_iter().map(|(mode, split)| (mode, name(split))).collect();
        fates.into_iter().map(|Fate { tensor, cuts: c, fold: f }| (tensor, cuts(c), f.map(fold))).collect()
    }

    /// The operand of a name, as it was given.
    fn given(&self, name: &str) -> Option<&Py<Tensor>> {
        let (_, given) = self.operands.iter().find(|(at, _)| self.whole.name(*at) == name)?;
        match given {
            Given::Tensor(tensor) => Some(tensor),
            Given::Raw { .. } | Given::Number(_) => None,
        }
    }

    /// How much the operands store.
    fn stored(&self) -> usize {
        self.operands.iter().map(|(_, given)| given.tensor().values.len()).sum()
    }
}

#[pymethods]
impl Plan {
    /// The names of the split index variables.
    #[getter]
    fn splits(&self) -> Vec<String> {
        self.shards.splits().map(str::to_string).collect()
    }

    /// Of each box, along each split, where its range begins and ends.
    #[getter]
    fn boxes(&self) -> Vec<Vec<(u64, u64)>> {
        let ranges = |shard: &fiberloom::shards::Shard| shard.ranges.iter().map(|r| (r.start, r.end)).collect();
        self.shards.boxes().iter().map(ranges).collect()
    }

    /// What becomes of each operand.
    fn operand_fates(&self) -> Vec<Said> {
        self.said(self.shards.operand_fates())
    }

    /// What becomes of each result.
    fn result_fates(&self) -> Vec<Said> {
        self.said(self.shards.result_fates())
    }

    /// The plan, in lines.
    fn text(&self) -> String {
        self.shards.to_string()
    }

    /// The kernel of the boxes, whose messages are drawn into the whole's text.
    fn kernel(&self) -> Kernel {
        let compiled = Compiled::of(self.shards.kernel().clone(), &[], Vec::new());
        Kernel { compiled: Arc::new(compiled), making: self.boxes.clone() }
    }

    /// The arguments of `compile` that make the same in another process.
    fn made_of<'py>(&self, py: Python<'py>) -> PyResult<MadeOf<'py>> {
        self.boxes.said(py)
    }

    /// The operands as tensors that were checked, by name.
    fn whole<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (at, given) in &self.operands {
            if let Given::Tensor(tensor) = given {
                all.set_item(self.whole.name(*at), tensor)?;
            }
        }
        Ok(all)
    }

    /// The operands of a box. What is whole is the very tensor; rows of what is dense outside are views.
    fn operands<'py>(slf: &Bound<'py, Self>, number: usize) -> PyResult<Bound<'py, PyDict>> {
        let (py, this) = (slf.py(), slf.get());
        let Some(shard) = this.shards.boxes().get(number).cloned() else {
            let count = this.shards.boxes().len();
            return Err(exception(py, "Error", format!("there is no box {number}: there are {count}")));
        };
        let plan = slf.clone().unbind();
        let parts = job::run(py, this.stored(), move || {
            let parts = plan.get().shards.operands(&shard)?.into_iter();
            // SAFETY: the tensors that are made of them hold the plan.
            let parts = parts.map(|(name, part)| (name.to_string(), unsafe { held(part) }));
            Ok::<Vec<_>, fiberloom::Error>(parts.collect())
        })?;
        let named = PyDict::new(py);
        for (name, part) in parts.map_err(|e| raised(py, &e))? {
            let is_whole = this.shards.operand_fates().iter().any(|fate| fate.tensor == name && fate.cuts.is_empty());
            match this.given(&name).filter(|given| is_whole && given.get().tensor().format == part.format) {
                Some(given) => named.set_item(name, given)?,
                None => named.set_item(name, Tensor::over(part, vec![slf.clone().into_any().unbind()], false))?,
            }
        }
        Ok(named)
    }

    /// The whole's results from those of all boxes, in their order.
    fn merge<'py>(slf: &Bound<'py, Self>, outcomes: Vec<Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyDict>> {
        let (py, plan) = (slf.py(), slf.clone().unbind());
        let mut made = Vec::new();
        for (number, results) in outcomes.iter().enumerate() {
            let mut named = Vec::new();
            for (name, result) in results {
                let name = name.cast_into::<PyString>()?.to_str()?.to_string();
                let other = |_| refused(py, &name, format!("the result of box {number} is no tensor"));
                named.push((name.clone(), result.cast_into::<Tensor>().map_err(|e| other(e.to_string()))?.unbind()));
            }
            made.push(named);
        }
        let merged = job::with_effort(py, Effort::Long, move |_| {
            let outcomes = made.iter().map(|results| {
                let results = results.iter().map(|(name, part)| (name.clone(), borrowed(part.get()))).collect();
                Outcome { results, time: Duration::ZERO, ops: None }
            });
            let mut outcome = plan.get().shards.merge(outcomes.collect())?;
            // What is borrowed is a part's, which nobody holds for the result.
            let owned = outcome.results.into_iter().map(|(name, tensor)| (name, tensor.into_owned()));
            outcome.results = owned.collect();
            drop(made);
            Ok::<_, fiberloom::Error>(outcome)
        })?;
        slf.get().whole.tensors(py, merged.map_err(|e| raised(py, &e))?)
    }
}

/// The same tensor, whose values are not shared: a result that has them copies them.
fn borrowed(part: &Tensor) -> fiberloom::Tensor<'static> {
    let mut tensor = part.tensor().clone();
    tensor.values = lasting(&part.tensor().values);
    tensor
}
