//! Tables of a call: what they give becomes operands, and results get their labels back.
//!
//! ```text
//!  {name: object} ─┬─ tables ──▶ Source ──▶ Frame ──bind_tables──▶ operands, labels
//!                  └─ others ──▶ Given                                │        │
//!                                  └──────────────▶ call ──▶ Outcome ─┴─decoded┴──▶ {name: Tensor or Table}
//! ```

use crate::error::{exception, operand as refused, raised};
use crate::job::{self, Effort};
use crate::kernel::{Compiled, Operands};
use crate::operand::Given;
use crate::table::{Source, Table};
use crate::tensor::Tensor;
use fiberloom::relation::{self, Bound as Encoded, Dictionary, Fitted, Frame};
use fiberloom::{Error, Outcome, Program};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, PoisonError};

/// The labels of a program's domains; none of a program without tables and domains.
pub type Labels = Option<Arc<Vec<Dictionary>>>;

/// What a call reads, and the kernel that reads it.
pub struct Prepared {
    /// The kernel, fitted to the data of tables.
    pub compiled: Arc<Compiled>,
    pub operands: Operands,
    pub labels: Labels,
}

/// Tables that are given, by name.
pub type Tables = Vec<(String, Arc<Source>)>;

/// Whether a program has something that labels or tables say.
pub fn has_labels(program: &Program) -> bool {
    let relations = program.relations();
    !relations.domains.is_empty() || !relations.tables.is_empty()
}

/// The operands that tables of a program give, wherever they are.
pub fn of_tables(program: &Program) -> Vec<String> {
    let names: Vec<&str> = program.relations().tables.iter().map(|table| table.name.as_str()).collect();
    program.operands_of_tables(&names).unwrap_or_default()
}

impl Compiled {
    /// Appends the operands that tables give.
    pub fn with_tables(self: &Arc<Self>, py: Python<'_>, tables: Tables, operands: Operands) -> PyResult<Prepared> {
        let program = self.kernel.program();
        let names: Vec<&str> = tables.iter().map(|(name, _)| name.as_str()).collect();
        let own = program.operands_of_tables(&names).map_err(|e| raised(py, &e))?;
        let others = operands.iter().map(|(at, _)| self.name(*at));
        let all: Vec<&str> = others.chain(own.iter().map(String::as_str)).collect();
        self.kernel.complete(&all).map_err(|e| raised(py, &e))?;
        let extents: Vec<(String, Vec<u64>)> =
            operands.iter().map(|(at, given)| (self.name(*at).to_string(), given.tensor().extents.clone())).collect();
        let this = self.clone();
        let encoded = job::with_effort(py, Effort::Long, move |_| this.encoded(&tables, &extents))?;
        let (fitted, Encoded { operands: own, labels }) = encoded.map_err(|e| raised(py, &e))?;
        let compiled = self.fitted(py, fitted)?;
        // The same inputs, which may be in another order.
        let placed = |(at, given)| Some((compiled.place(self.name(at))?, given));
        let mut operands: Operands = operands.into_iter().filter_map(placed).collect();
        for (name, tensor) in own {
            if let Some(at) = compiled.place(&name) {
                operands.push((at, Given::Tensor(Py::new(py, Tensor::new(tensor))?)));
            }
        }
        Ok(Prepared { compiled, operands, labels: Some(Arc::new(labels)) })
    }

    /// The kernel of the program that is fitted to data: the last one is kept.
    fn fitted(self: &Arc<Self>, py: Python<'_>, fitted: Fitted) -> PyResult<Arc<Compiled>> {
        if fitted == Fitted::default() {
            return Ok(self.clone());
        }
        let known = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, compiled)) = known.filter(|(of, _)| *of == fitted) {
            return Ok(compiled);
        }
        let (this, how) = (self.clone(), fitted.clone());
        let made = job::with_effort(py, Effort::Long, move |_| this.fitted_to(&how))?;
        let made = Arc::new(made.map_err(|e| raised(py, &e))?);
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some((fitted, made.clone()));
        Ok(made)
    }

    /// Tables as operands.
    fn encoded(&self, tables: &Tables, extents: &[(String, Vec<u64>)]) -> Result<(Fitted, Encoded), Error> {
        let program = self.kernel.program();
        let mut frames: Vec<(&str, Frame)> = Vec::new();
        for (name, source) in tables {
            let Some(table) = program.table(name) else { continue };
            let wanted = relation::wanted(program.relations(), table);
            relation::has_columns(name, &wanted, source.names().into_iter())?;
            let frame = source.frame(name, |column| wanted.iter().any(|wanted| wanted.source == column))?;
            frames.push((name.as_str(), frame));
        }
        let others: Vec<(&str, &[u64])> = extents.iter().map(|(name, extents)| (name.as_str(), &extents[..])).collect();
        relation::fit(program, program.bind_tables(&frames, &others, self.kernel.memory())?)
    }

    /// All results, by name: tables of those that have labels, if there are some.
    pub fn results<'py>(
        self: &Arc<Self>,
        py: Python<'py>,
        outcome: Outcome,
        labels: &Labels,
    ) -> PyResult<Bound<'py, PyDict>> {
        let Some(labels) = labels.clone() else { return self.tensors(py, outcome) };
        let this = self.clone();
        let stored = outcome.results.iter().map(|(_, tensor)| tensor.values.len()).sum();
        let decoded = job::run(py, stored, move || this.decoded(outcome, &labels))?;
        let results = PyDict::new(py);
        for (name, shown) in decoded.map_err(|e| raised(py, &e))? {
            match shown {
                Shown::Table(frame) => results.set_item(name, Table::new(frame))?,
                Shown::Tensor(tensor) => results.set_item(&name, self.result(py, &name, tensor)?)?,
            }
        }
        Ok(results)
    }

    /// Results with their labels. Columns of a table that is a result are in it.
    fn decoded(&self, mut outcome: Outcome, labels: &[Dictionary]) -> Result<Vec<(String, Shown)>, Error> {
        let program = self.kernel.program();
        let mut all: Vec<(String, Shown)> = Vec::new();
        for name in program.given_by(&outcome) {
            let frame = match program.is_labelled(&name) {
                true => program.decoded(&name, &outcome, labels)?,
                false => None,
            };
            let shown = match frame {
                Some(frame) => Some(Shown::Table(frame)),
                None => outcome.take(&name).map(Shown::Tensor),
            };
            all.extend(shown.map(|shown| (name, shown)));
        }
        Ok(all)
    }

    /// Refuses a program over tables for what only plain programs are taken.
    pub fn plain(&self, py: Python<'_>, what: &str) -> PyResult<()> {
        match has_labels(self.kernel.program()) {
            true => Err(exception(
                py,
                "Error",
                format!("{what}: not of a program that has tables or domains; `compile(text)(…)` runs it"),
            )),
            false => Ok(()),
        }
    }

    /// What to say of an operand that is given beside the table that it comes from.
    pub fn of_a_table(&self, py: Python<'_>, name: &str) -> PyErr {
        refused(py, name, "it comes from the data of tables: give the call the tables alone")
    }
}

/// A result as Python has it.
enum Shown {
    Table(Frame<'static>),
    Tensor(fiberloom::Tensor<'static>),
}
