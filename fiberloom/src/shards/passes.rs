//! Programs over a table that memory does not hold: passes over the batches in which its rows come.
//!
//! ```text
//!  statements without its rows           stage 0     once
//!  statements over its rows              stage 1     a box a batch: merged as `docs/shards.md` says
//!  what reads their sums                 stage 2     once
//!  what reads both, over its rows        stage 3     a box a batch, in another pass
//! ```
//!
//! A box of a stage runs on a batch's rows alone: on columns of as many rows, beside all other operands. The split is the index variable of
//! rows, and its rules are those of every split. Coordinates of labels are the same in all batches: a pass before collects the labels.

mod boxes;
mod hoist;
mod stages;

use super::rules;
use crate::error::Error;
use crate::kernel::{Options, Outcome};
use crate::program::Program;
use crate::relation::{self, Bound, Dictionary, Given, Holds, Over, Table, Wanted};
use boxes::Boxes;
use fiberloom_core::format::Tensor;
use fiberloom_core::notation::typed::{Kind, SizeId, Statement, TensorId, VarId};
use fiberloom_core::notation::{Diagnostic, Span, relate};
use fiberloom_core::shape::Classes;
use stages::Stage;
use std::collections::BTreeSet;

/// A table whose rows come in batches, one behind the other.
pub trait Batches {
    /// How many batches there are.
    fn count(&self) -> usize;

    /// How many rows all of them have.
    fn rows(&self) -> u64;

    /// The wanted columns of a batch.
    ///
    /// # Errors
    /// What is wrong with the data.
    fn read(&self, batch: usize, wanted: &[Wanted]) -> Result<relation::Frame<'static>, crate::data::Error>;

    /// An error about a row of a batch as one about a row of the data.
    fn placed(&self, batch: usize, error: crate::data::Error) -> crate::data::Error;
}

/// What is given beside the batches.
pub struct Beside<'g, 'a> {
    /// The other tables: a frame each.
    pub frames: &'g [(&'g str, relation::Frame<'a>)],
    /// The operands that are no tables.
    pub operands: &'g [(String, Tensor<'static>)],
}

/// What the passes made.
pub struct Made {
    /// The program, fitted to its data.
    pub program: Program,
    /// The results of the whole.
    pub outcome: Outcome,
    /// The labels of its domains.
    pub labels: Vec<Dictionary>,
}

/// A program that runs over the batches of one of its tables.
#[derive(Debug)]
pub struct Passes {
    program: Program,
    table: Table,
    options: Options,
}

impl Passes {
    /// Whether a program can run over batches of a table's rows. No data are needed to know.
    ///
    /// # Errors
    /// [`Error::Program`] names the rule that the program breaks, and what to change.
    pub fn plan(program: &Program, table: &Table, options: &Options) -> Result<Passes, Error> {
        let refused = |d: Diagnostic| program.refused(vec![d]);
        if table.modes.len() != 1 || table.modes[0].over != Over::Row {
            let name = &table.name;
            let what = format!("table `{name}` is not read in batches: its rows are found by keys");
            let help = format!("number its rows, `table {name}[row: N] {{ … }}`, and make its keys columns");
            return Err(refused(Diagnostic::new(table.span, what).help(help)));
        }
        let passes = Passes { program: program.clone(), table: table.clone(), options: *options };
        let Staged { program, cut, stages, .. } = passes.staged(program)?;
        for stage in stages {
            if stage.is_batched {
                let part = stage.program(&program, &[], (&cut, 0))?;
                passes.boxes(&part, &cut, 0, &BTreeSet::new())?;
            }
        }
        Ok(passes)
    }

    /// Runs the program.
    ///
    /// # Errors
    /// As of [`relation::bind`] and of calls of kernels.
    pub fn run(&self, beside: &Beside, batches: &dyn Batches) -> Result<Made, Error> {
        let limit = self.options.memory;
        let labels = self.labels(beside, batches)?;
        let others: Vec<(&str, &[u64])> = beside.operands.iter().map(|(n, t)| (n.as_str(), &t.extents[..])).collect();
        let sizes = self.program.sizes_said(&others);
        let given = Given { frames: beside.frames, sizes: &sizes, limit };
        let (relations, typed) = (self.program.relations(), self.program.typed());
        let mut operands = relation::bind_within(relations, typed, &given, &labels)?;
        operands.extend(relation::asked(relations, typed, &labels, limit)?);
        let (fitted, bound) = relation::fit(&self.program, Bound { operands, labels })?;
        let Bound { mut operands, labels } = bound;
        operands.extend(beside.operands.iter().cloned());
        let program = self.program.fitted(&fitted)?;
        let Staged { program: plain, cut, stages, parts } = self.staged(&program)?;
        let mut results: Vec<(String, Tensor<'static>)> = Vec::new();
        let mut time = std::time::Duration::ZERO;
        for stage in stages {
            let part = stage.program(&plain, &results, (&cut, batches.rows()))?;
            let before: BTreeSet<String> = results.iter().map(|(name, _)| name.clone()).collect();
            let store: Vec<(&str, &Tensor)> = given_of(&part, operands.iter().chain(&results));
            let outcome = if stage.is_batched {
                let mut boxes = self.boxes(&part, &cut, batches.rows(), &before)?;
                for batch in 0..batches.count() {
                    let columns = self.batch(&program, &labels, batches, batch)?;
                    boxes.run(&store, &columns)?;
                }
                boxes.merged(&store)?
            } else {
                part.compile(&self.options)?.run(&store)?
            };
            time += outcome.time;
            results.retain(|(name, _)| outcome.get(name).is_none());
            results.extend(outcome.results);
        }
        results.retain(|(name, _)| !parts.contains(name));
        relation::held(program.relations(), &mut results)?;
        Ok(Made { program, outcome: Outcome::new(results, time, None), labels })
    }

    /// The labels of all domains.
    fn labels(&self, beside: &Beside, batches: &dyn Batches) -> Result<Vec<Dictionary>, Error> {
        let relations = self.program.relations();
        let mut labels = Vec::new();
        relation::more_labels(relations, beside.frames, &mut labels)?;
        let wanted = relation::labelling(relations, &self.table);
        let count = if wanted.is_empty() { 0 } else { batches.count() };
        for batch in 0..count {
            let frame = batches.read(batch, &wanted)?;
            let more = relation::more_labels(relations, &[(&self.table.name, frame)], &mut labels);
            more.map_err(|error| placed(batches, batch, error))?;
        }
        relation::add_images(relations, &mut labels)?;
        Ok(labels)
    }

    /// The operands that the rows of a batch are.
    fn batch(
        &self,
        program: &Program,
        labels: &[Dictionary],
        batches: &dyn Batches,
        batch: usize,
    ) -> Result<Vec<(String, Tensor<'static>)>, Error> {
        let frame = batches.read(batch, &relation::wanted(program.relations(), &self.table))?;
        let frames = [(self.table.name.as_str(), frame)];
        let given = Given { frames: &frames, sizes: &[], limit: self.options.memory };
        let bound = relation::bind_within(program.relations(), program.typed(), &given, labels);
        bound.map_err(|error| placed(batches, batch, error))
    }

    /// What is cut: the size that numbers the table's rows, and all that is over it.
    fn cut(&self, program: &Program) -> Result<Cut, Error> {
        let typed = program.typed();
        let names: Vec<&str> = self.table.columns.iter().map(|column| column.name.as_str()).collect();
        let asked = program.relations().asked.iter().filter(|asked| match &asked.what {
            relation::What::Column { table, .. } => program.relations().tables[*table].name == self.table.name,
            _ => false,
        });
        let kept = self.table.columns.iter().filter(|column| column.holds != Holds::Text);
        let tensors: BTreeSet<String> = [self.table.name.clone()]
            .into_iter()
            .chain(kept.map(|column| column.name.clone()))
            .chain(asked.map(|asked| asked.tensor.clone()))
            .collect();
        let size = typed.tensors.iter().find(|t| tensors.contains(&t.name)).and_then(|t| t.sizes.first().copied());
        let Some(size) = size else {
            let what = format!("no statement reads table `{}`: columns {}", self.table.name, names.join(", "));
            return Err(program.refused(vec![Diagnostic::new(self.table.span, what).help("read one, or leave it out")]));
        };
        let name = typed.sizes[size.index()].name.clone().unwrap_or_default();
        let (table, vars) = (self.table.name.clone(), over(program, size)?);
        let cut = Cut { table, tensors, size: name, vars, about: BTreeSet::new() };
        match typed.statements.iter().find_map(|s| cut.pair(s)) {
            None => Ok(cut),
            Some((pair, span)) => {
                let [a, b] = pair.map(|v| &typed.vars[v.index()].name);
                let name = &cut.table;
                let what =
                    format!("`{a}` and `{b}` are both rows of `{name}`, and those of two batches would not meet");
                let help =
                    format!("read what is found through a table of its own, which has the data of `{name}` and fits");
                Err(program.refused(vec![Diagnostic::new(span, what).help(help)]))
            }
        }
    }

    /// The stages of a program, which is this one or this one fitted to data.
    fn staged(&self, program: &Program) -> Result<Staged, Error> {
        // The whole program was checked, so that it has no errors here.
        let plain = relate(program.syntax(), program.fitting())
            .map_err(|diagnostics| program.refused(diagnostics))?
            .map_or_else(|| program.syntax().clone(), |(plain, _)| plain);
        let cut = self.cut(program)?;
        let names = cut.vars.iter().map(|v| program.typed().vars[v.index()].name.clone()).collect();
        let about = program.relations().about.values().cloned().collect();
        let (plain, parts) = hoist::hoisted(&plain, &names, program.canonical());
        let program = program.part(plain)?;
        let mut cut = self.cut(&program)?;
        cut.about = about;
        let stages = stages::stages(program.typed(), program.syntax(), &cut);
        let stages = stages.map_err(|refused| program.refused(vec![refused]))?;
        Ok(Staged { program, cut, stages, parts })
    }

    /// The boxes of a stage that runs over batches of so many rows together. `before` are results of stages before it.
    fn boxes(&self, part: &Program, cut: &Cut, rows: u64, before: &BTreeSet<String>) -> Result<Boxes, Error> {
        let typed = part.typed();
        let size = typed.tensors.iter().find(|t| cut.tensors.contains(&t.name)).and_then(|t| t.sizes.first().copied());
        let vars = size.map_or_else(|| Ok(BTreeSet::new()), |size| over(part, size))?;
        let name = vars.first().map_or(String::new(), |v| typed.vars[v.index()].name.clone());
        let given = |id: TensorId| {
            let name = &typed.tensors[id.index()].name;
            before.contains(name) || cut.tensors.contains(name)
        };
        let splits = [(name.as_str(), vars)];
        let about = |id: TensorId| cut.about.contains(&typed.tensors[id.index()].name);
        let shares = rules::shares(typed, &splits, (self.options.mode, &about), &given);
        let shares = shares.map_err(|refused| part.refused(vec![refused]))?;
        for id in typed.inputs() {
            let tensor = &typed.tensors[id.index()];
            if !shares[id.index()].cuts.is_empty() && !cut.tensors.contains(&tensor.name) {
                let what = format!("`{}` is read at the rows of `{}`, and comes in no batches", tensor.name, cut.table);
                let help = format!("make it a column of `{}`", cut.table);
                return Err(part.refused(vec![Diagnostic::new(tensor.span, what).help(help)]));
            }
        }
        Boxes::new(part, shares, &self.options, (cut, rows))
    }
}

/// A program in stages.
struct Staged {
    /// The program over coordinates.
    program: Program,
    cut: Cut,
    stages: Vec<Stage>,
    /// The names of folds that became statements of their own, which are no results.
    parts: BTreeSet<String>,
}

/// What is cut into batches.
pub(super) struct Cut {
    /// The table.
    pub(super) table: String,
    /// The operands that its columns are.
    pub(super) tensors: BTreeSet<String>,
    /// What numbers its rows.
    pub(super) size: String,
    /// The index variables over its rows.
    pub(super) vars: BTreeSet<VarId>,
    /// Results that say about how large others are.
    pub(super) about: BTreeSet<String>,
}

impl Cut {
    /// Two index variables over rows of which one is bound where the other is.
    fn pair(&self, s: &Statement) -> Option<([VarId; 2], Span)> {
        let own = |vars: &[VarId]| vars.iter().copied().filter(|v| self.vars.contains(v)).collect::<Vec<_>>();
        let bound = [own(&s.vars), own(&s.folded)].concat();
        if let [a, b, ..] = bound[..] {
            return Some(([a, b], s.span));
        }
        let mut open = vec![(&s.rhs, bound.first().copied())];
        while let Some((e, mut around)) = open.pop() {
            if let Kind::Reduce { vars, .. } = &e.kind {
                for v in own(vars) {
                    if let Some(other) = around.filter(|other| *other != v) {
                        return Some(([other, v], e.span));
                    }
                    around = Some(v);
                }
            }
            open.extend(e.children().map(|part| (part, around)));
        }
        None
    }
}

/// The index variables whose extent is a size.
fn over(program: &Program, size: SizeId) -> Result<BTreeSet<VarId>, Error> {
    let classes = Classes::of(program.typed()).map_err(|diagnostics| program.refused(diagnostics))?;
    let class = classes.class_of_size(size);
    let all = (0..program.typed().vars.len() as u32).map(VarId);
    Ok(all.filter(|v| classes.class_of_var(*v) == class).collect())
}

/// Those of these tensors that a program takes: what it reads, what it begins with, and what says its extents.
fn given_of<'o>(
    program: &Program,
    all: impl Iterator<Item = &'o (String, Tensor<'static>)>,
) -> Vec<(&'o str, &'o Tensor<'static>)> {
    let (inputs, starts) = (program.inputs(), program.typed().starts());
    let takes = |name: &str| match program.tensor(name) {
        Some((id, tensor)) => tensor.role == crate::Role::Input || inputs.contains(&id) || starts.contains(&id),
        None => program.given_size(name).is_some(),
    };
    all.filter(|(name, _)| takes(name)).map(|(name, tensor)| (name.as_str(), tensor)).collect()
}

fn placed(batches: &dyn Batches, batch: usize, error: Error) -> Error {
    match error {
        Error::Data(error) => Error::Data(batches.placed(batch, error)),
        error => error,
    }
}

/// A refusal at a statement.
fn refused(span: Span, what: String, help: impl Into<String>) -> Diagnostic {
    Diagnostic::new(span, what).help(help)
}
