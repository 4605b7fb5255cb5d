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
//!
//! Of a table whose rows are found by keys, the split is the index variable of the first key, and a box is a range of its labels
//! (`parts.rs`). Where two index variables of a statement are over rows, there are two splits, and a box is a pair of batches (`twin.rs`).

mod boxes;
mod cut;
mod hoist;
mod keys;
mod parts;
mod stages;
mod twin;

pub use fiberloom_relation::Batches;

use super::program::fresh;
use super::rules;
use crate::error::Error;
use crate::kernel::{Options, Outcome};
use crate::program::Program;
use crate::relation::{self, Bound, Dictionary, Given, Holds, Table};
use boxes::{Boxes, Place};
use cut::{Cut, over};
use fiberloom_core::format::Tensor;
use fiberloom_core::notation::typed::{TensorId, VarId};
use fiberloom_core::notation::{Diagnostic, Span};
use fiberloom_semantics::algebra::Agreement;
use parts::{Source, is_keyed};
use stages::Stage;
use std::collections::BTreeSet;
use twin::Twin;

/// What is given beside the batches.
pub struct Beside<'g, 'a> {
    /// The other tables: a frame each, which goes away once it is bound.
    pub frames: Vec<(&'g str, relation::Frame<'a>)>,
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
    /// What comparing each box with the reference semantics gave, if that was asked for.
    pub compared: Option<Agreement>,
}

/// A program that runs over the batches of one of its tables.
#[derive(Clone, Debug)]
pub struct Passes {
    program: Program,
    table: Table,
    options: Options,
    /// Whether each box is compared with the reference semantics.
    compares: bool,
    /// Whether boxes are pairs of batches.
    pairs: bool,
}

impl Passes {
    /// Whether a program can run over batches of a table's rows. No data are needed to know.
    ///
    /// # Errors
    /// [`Error::Program`] names the rule that the program breaks, and what to change.
    pub fn plan(program: &Program, table: &Table, options: &Options) -> Result<Passes, Error> {
        let (program, table, options) = (program.clone(), table.clone(), *options);
        let mut passes = Passes { program, table, options, compares: false, pairs: false };
        passes.has_keys()?;
        let Staged { program, cut, stages, .. } = passes.staged(&passes.program)?;
        let mut before = BTreeSet::new();
        for stage in stages {
            if stage.is_batched {
                let part = stage.program(&program, &[], (&cut, 0, &[]))?;
                passes.boxes(&part, &cut, 0, &before)?;
            }
            before.extend(stage.defined().map(str::to_string));
        }
        passes.pairs = !cut.others.is_empty();
        Ok(passes)
    }

    /// The same, where what each box makes, and each fold of two, is compared with the reference semantics.
    #[must_use]
    pub fn compared(mut self) -> Passes {
        self.compares = true;
        self
    }

    /// Whether two batches are in memory together, since two index variables of a statement are over rows.
    pub fn are_pairs(&self) -> bool {
        self.pairs
    }

    /// Runs the program.
    ///
    /// # Errors
    /// As of [`relation::bind`] and of calls of kernels; rows of keys that do not stand in the order of the first.
    pub fn run(&self, beside: Beside, batches: &dyn Batches) -> Result<Made, Error> {
        let limit = self.options.memory;
        let labels = self.labels(&beside, batches)?;
        let others: Vec<(&str, &[u64])> = beside.operands.iter().map(|(n, t)| (n.as_str(), &t.extents[..])).collect();
        let sizes = self.program.sizes_said(&others);
        let given = Given { frames: &beside.frames, sizes: &sizes, limit };
        let (relations, typed) = (self.program.relations(), self.program.typed());
        let mut operands = relation::bind_within(relations, typed, &given, (&labels, None))?;
        // What they hold operands have now.
        drop(beside.frames);
        operands.extend(relation::asked(relations, typed, &labels, limit)?);
        let (fitted, bound) = relation::fit(&self.program, Bound { operands, labels })?;
        let Bound { mut operands, labels } = bound;
        operands.extend(beside.operands.iter().cloned());
        let program = self.program.fitted(&fitted)?;
        let extent = self.extent(&labels, batches, &sizes);
        let mut source =
            Source { program: &program, table: &self.table, labels: &labels, batches, extent, sizes: &[], limit };
        let needed = self.needed(&source, &sizes)?;
        source.sizes = &needed;
        let (results, time, compared) = self.run_stages(&program, &source, &operands)?;
        Ok(Made { outcome: Outcome::new(results, time, None), program, labels, compared })
    }

    /// Runs the stages: their results, the time that kernels took, and what comparing them gave.
    fn run_stages(
        &self,
        program: &Program,
        source: &Source,
        operands: &[(String, Tensor<'static>)],
    ) -> Result<Ran, Error> {
        let Staged { program: plain, cut, stages, parts } = self.staged(program)?;
        let mut results: Vec<(String, Tensor<'static>)> = Vec::new();
        let (mut time, mut compared) = (std::time::Duration::ZERO, self.compares.then(Agreement::default));
        for stage in stages {
            let part = stage.program(&plain, &results, (&cut, source.extent, source.sizes))?;
            let before: BTreeSet<String> = results.iter().map(|(name, _)| name.clone()).collect();
            // What a stage has accumulated into is what it made of it.
            let left = operands.iter().filter(|(name, _)| !before.contains(name));
            let store: Vec<(&str, &Tensor)> = given_of(&part, left.chain(&results));
            let (outcome, agreement) = if stage.is_batched {
                let mut boxes = self.boxes(&part, &cut, source.extent, &before)?;
                each_box(source, &cut, &mut boxes, &store)?;
                boxes.merged(&store)?
            } else {
                let kernel = part.compile(&self.options)?;
                let mut call = kernel.bind(&store)?;
                let outcome = call.run()?;
                let agreement = if self.compares { call.agrees(&outcome)? } else { Agreement::default() };
                (outcome, agreement)
            };
            compared.iter_mut().for_each(|all| *all += agreement);
            time += outcome.time;
            results.retain(|(name, _)| outcome.get(name).is_none());
            results.extend(outcome.results);
        }
        results.retain(|(name, _)| !parts.contains(name));
        relation::held(program.relations(), &mut results)?;
        Ok((results, time, compared))
    }

    /// The labels of all domains.
    fn labels(&self, beside: &Beside, batches: &dyn Batches) -> Result<Vec<Dictionary>, Error> {
        let relations = self.program.relations();
        let mut labels = Vec::new();
        relation::more_labels(relations, &beside.frames, &mut labels)?;
        let wanted = relation::labelling(relations, &self.table);
        let count = if wanted.is_empty() { 0 } else { batches.count() };
        for batch in 0..count {
            let frame = relation::batch(batches, batch, &wanted)?;
            let more = relation::more_labels(relations, &[(&self.table.name, frame)], &mut labels);
            more.map_err(|error| placed(batches, batch, error))?;
        }
        relation::add_images(relations, &mut labels)?;
        Ok(labels)
    }

    /// What is cut: the size that numbers the table's rows, and all that is over it; and that of its twin.
    fn cut(&self, program: &Program, twin: &Twin) -> Result<Cut, Error> {
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
        let size_of = |is_one: &dyn Fn(&str) -> bool| {
            typed.tensors.iter().find(|t| is_one(&t.name)).and_then(|t| t.sizes.first().copied())
        };
        let Some(size) = size_of(&|name| tensors.contains(name)) else {
            let what = format!("no statement reads table `{}`: columns {}", self.table.name, names.join(", "));
            return Err(program.refused(vec![Diagnostic::new(self.table.span, what).help("read one, or leave it out")]));
        };
        let others = size_of(&|name| twin.names.values().any(|own| own == name));
        let others = others.map_or_else(|| Ok(BTreeSet::new()), |size| over(program, size))?;
        let name = typed.sizes[size.index()].name.clone().unwrap_or_default();
        let (table, vars, is_keyed) = (self.table.name.clone(), over(program, size)?, is_keyed(&self.table));
        Ok(Cut { table, tensors, size: name, vars, others, twin: twin.clone(), about: BTreeSet::new(), is_keyed })
    }

    /// That two index variables of a statement are over rows of one reading of the table.
    fn is_apart(&self, program: &Program, cut: &Cut) -> Result<(), Error> {
        let pair = |s| cut.pair(s, &cut.vars).or_else(|| cut.pair(s, &cut.others));
        let Some((pair, span)) = program.typed().statements.iter().find_map(pair) else { return Ok(()) };
        let [a, b] = pair.map(|v| &program.typed().vars[v.index()].name);
        let name = &cut.table;
        let what = format!("`{a}` and `{b}` are both rows of `{name}`, and those of two batches would not meet");
        let help = format!("read what is found through a table of its own, which has the data of `{name}` and fits");
        Err(program.refused(vec![Diagnostic::new(span, what).help(help)]))
    }

    /// The stages of a program, which is this one or this one fitted to data.
    fn staged(&self, program: &Program) -> Result<Staged, Error> {
        // The whole program was checked, so that it has no errors here.
        let mut plain = relation::relate(program.syntax(), program.fitting())
            .map_err(|diagnostics| program.refused(diagnostics))?
            .map_or_else(|| program.syntax().clone(), |(plain, _)| plain);
        let (mut twin, mut paired) = (Twin::default(), Vec::new());
        let cut = self.cut(program, &twin)?;
        for s in &program.typed().statements {
            let Some((pair, _)) = cut.pair(s, &cut.vars) else { continue };
            // What a result has a value for is read as it is, if one of the two has none.
            let is_left = |v: &VarId| s.indices.iter().any(|index| index.bare() == Some(*v));
            let variable = pair.iter().rev().find(|v| !is_left(v)).unwrap_or(&pair[1]);
            let variable = &program.typed().vars[variable.index()].name;
            twin::parted(&mut plain, (s.span, variable), (&cut, program.canonical()), &mut twin);
            paired.push((s.span, variable.clone()));
        }
        let name = |v: &VarId| program.typed().vars[v.index()].name.clone();
        let names = cut.vars.iter().map(name).collect();
        let relations = program.relations();
        let about = relations.about.values().chain(&relations.hidden).cloned().collect();
        let (plain, parts) = hoist::hoisted(&plain, (&names, &paired), program.canonical());
        let program = program.part(plain)?;
        let mut cut = self.cut(&program, &twin)?;
        self.is_apart(&program, &cut)?;
        cut.about = about;
        let stages = stages::stages(program.typed(), program.syntax(), &cut);
        let stages = stages.map_err(|refused| program.refused(vec![refused]))?;
        Ok(Staged { program, cut, stages, parts })
    }

    /// The boxes of a stage that runs over batches of this extent together. `before` are results of stages before it.
    fn boxes(&self, part: &Program, cut: &Cut, extent: u64, before: &BTreeSet<String>) -> Result<Boxes, Error> {
        let typed = part.typed();
        let vars = |is_one: &dyn Fn(&str) -> bool| {
            let size = typed.tensors.iter().find(|t| is_one(&t.name)).and_then(|t| t.sizes.first().copied());
            size.map_or_else(|| Ok(BTreeSet::new()), |size| over(part, size))
        };
        let own = vars(&|name| cut.tensors.contains(name))?;
        let twin = vars(&|name| cut.twin.names.values().any(|own| own == name))?;
        let named =
            |vars: BTreeSet<VarId>| (vars.first().map_or(String::new(), |v| typed.vars[v.index()].name.clone()), vars);
        let both = [Some(own), Some(twin).filter(|vars| !vars.is_empty())].map(|vars| vars.map(named));
        let splits: Vec<rules::Over> =
            both.iter().flatten().map(|(name, vars)| (name.as_str(), vars.clone())).collect();
        let inputs = typed.inputs();
        let given = |id: TensorId| {
            let name = &typed.tensors[id.index()].name;
            before.contains(name) || cut.has(name) || cut.is_keyed && inputs.contains(&id)
        };
        let about = |id: TensorId| cut.about.contains(&typed.tensors[id.index()].name);
        let shares = rules::shares(typed, &splits, (self.options.mode, &about), &given);
        let shares = shares.map_err(|refused| part.refused(vec![refused]))?;
        for id in &inputs {
            let tensor = &typed.tensors[id.index()];
            let is_known = cut.has(&tensor.name) || before.contains(&tensor.name) || cut.is_keyed;
            if !shares[id.index()].cuts.is_empty() && !is_known {
                let what = format!("`{}` is read at the rows of `{}`, and comes in no batches", tensor.name, cut.table);
                let help = format!("make it a column of `{}`", cut.table);
                return Err(part.refused(vec![Diagnostic::new(tensor.span, what).help(help)]));
            }
        }
        Boxes::new(part, shares, &self.options, (cut, extent, splits.len()), self.compares)
    }
}

/// Runs the boxes of a stage, beside what is given to all.
fn each_box(source: &Source, cut: &Cut, boxes: &mut Boxes, given: &[(&str, &Tensor<'static>)]) -> Result<(), Error> {
    source.each(&mut |(number, range, columns)| {
        let place = Place { number, range };
        if !boxes.are_pairs() {
            return boxes.run(given, &columns, &[place]);
        }
        source.each(&mut |(number, range, twin)| {
            let named = |(name, tensor): (String, Tensor<'static>)| Some((cut.twin.names.get(&name)?.clone(), tensor));
            let both: Vec<_> = columns.iter().cloned().chain(twin.into_iter().filter_map(named)).collect();
            boxes.run(given, &both, &[place.clone(), Place { number, range }])
        })
    })
}

/// What stages made: results, the time that kernels took, and what comparing them gave.
type Ran = (Vec<(String, Tensor<'static>)>, std::time::Duration, Option<Agreement>);

/// A program in stages.
struct Staged {
    /// The program over coordinates.
    program: Program,
    cut: Cut,
    stages: Vec<Stage>,
    /// The names of folds that became statements of their own, which are no results.
    parts: BTreeSet<String>,
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
