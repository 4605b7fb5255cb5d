//! A stage that runs over batches: a box a batch, whose results are merged as they come.

use super::Cut;
use super::stages::sized;
use crate::error::Error;
use crate::kernel::{Kernel, Options, Outcome};
use crate::program::{Program, literal};
use crate::shards::merge::{self, Folding, Part};
use crate::shards::program::fresh;
use crate::shards::rules::{Fold, Share};
use fiberloom_core::algebra::Mode;
use fiberloom_core::format::{Assembly, Entries, Tensor};
use fiberloom_core::notation::syntax::{Ident, Item, Size};
use fiberloom_core::notation::typed::{self, TensorId};
use std::time::Duration;

/// The boxes of a stage.
pub(super) struct Boxes {
    whole: Program,
    kernel: Kernel,
    shares: Vec<Share>,
    options: Options,
    /// How many rows there are, and how many the boxes that ran have.
    rows: u64,
    done: u64,
    /// What boxes made so far, of each result.
    results: Vec<(TensorId, Merged)>,
    time: Duration,
}

/// What boxes made of a result so far.
enum Merged {
    /// Parts, one behind the other, and the bytes that they take.
    Parts(Vec<Part>, u64),
    /// Their fold; nothing before the first.
    Folded(Option<Tensor<'static>>),
}

impl Boxes {
    /// Those of a stage's program over so many rows together.
    ///
    /// # Errors
    /// A construct that is not lowered.
    pub(super) fn new(
        whole: &Program,
        shares: Vec<Share>,
        options: &Options,
        (cut, rows): (&Cut, u64),
    ) -> Result<Boxes, Error> {
        let kernel = of_boxes(whole, &shares, (cut, rows))?.compile(options)?.within(options.memory);
        let results = whole.typed().results().into_iter();
        let results = results.map(|id| match shares[id.index()].fold {
            Some(_) => (id, Merged::Folded(None)),
            None => (id, Merged::Parts(Vec::new(), 0)),
        });
        let results = results.collect();
        let (whole, options) = (whole.clone(), *options);
        Ok(Boxes { whole, kernel, shares, options, rows, done: 0, results, time: Duration::ZERO })
    }

    /// Runs a box on the columns of a batch, beside what is given to all, and merges what it makes.
    ///
    /// # Errors
    /// As of a call of a kernel.
    pub(super) fn run(
        &mut self,
        given: &[(&str, &Tensor<'static>)],
        columns: &[(String, Tensor<'static>)],
    ) -> Result<(), Error> {
        let rows = columns.first().map_or(0, |(_, tensor)| tensor.extents[0]);
        let is_folded = |name: &str| {
            let own = self.whole.tensor(name);
            own.is_some_and(|(id, _)| self.shares[id.index()].fold.is_some())
        };
        let given = given.iter().copied().filter(|(name, _)| !is_folded(name));
        let columns = columns.iter().map(|(name, tensor)| (name.as_str(), tensor));
        let columns = columns.filter(|(name, _)| self.kernel.program().tensor(name).is_some());
        let operands: Vec<(&str, &Tensor)> = given.chain(columns).collect();
        let mut outcome = self.kernel.run(&operands)?;
        self.time += outcome.time;
        let begin = self.done;
        self.done += rows;
        let mut folding = Folding::new(&self.whole, &self.options);
        for (id, merged) in &mut self.results {
            let tensor = &self.whole.typed().tensors[id.index()];
            let made = outcome.take(&tensor.name);
            let made = made.ok_or_else(|| Error::Defect(format!("a box makes no result `{}`", tensor.name)))?;
            let share = &self.shares[id.index()];
            match merged {
                Merged::Folded(all) => {
                    let fold = share.fold.as_ref().expect("it is folded");
                    *all = Some(match all.take() {
                        Some(before) => folding.step(tensor, fold, &before, &made)?,
                        None => made,
                    });
                }
                // What has no row in it is the same in every box.
                Merged::Parts(parts, _) if share.cuts.is_empty() && !parts.is_empty() => {}
                Merged::Parts(parts, bytes) => {
                    *bytes += made.values.len() as u64 * made.values.ty().bytes() as u64;
                    if *bytes > self.options.memory {
                        return Err(too_large(&tensor.name, self.options.memory));
                    }
                    let mut at = vec![0; made.extents.len()];
                    share.cuts.iter().for_each(|(mode, _)| at[*mode] = begin);
                    parts.push((at, made));
                }
            }
        }
        Ok(())
    }

    /// The results of the whole. `given` is what was given to all boxes.
    ///
    /// # Errors
    /// A result's format has no place for its values; memory.
    pub(super) fn merged(self, given: &[(&str, &Tensor<'static>)]) -> Result<Outcome, Error> {
        let Boxes { whole, shares, options, rows, results, time, .. } = self;
        let how = Assembly { limit: options.memory, rounded: options.mode == Mode::Algebraic, ..Assembly::default() };
        let mut folding = Folding::new(&whole, &options);
        let mut all = Vec::new();
        for (id, merged) in results {
            let (tensor, share) = (&whole.typed().tensors[id.index()], &shares[id.index()]);
            let none = || Error::Defect(format!("no box made a part of `{}`", tensor.name));
            let format = |made: &Tensor| match tensor.format {
                Some(_) => whole.stored_format(id).clone(),
                None => made.format.clone(),
            };
            let parts = match merged {
                Merged::Parts(parts, _) => parts,
                Merged::Folded(made) => {
                    let fold = share.fold.as_ref().expect("it is folded");
                    let made = made.ok_or_else(none)?;
                    let before = before(tensor, fold, &made, given, &how)?;
                    let made = match before {
                        Some(before) => folding.step(tensor, fold, &before, &made)?,
                        None => made,
                    };
                    vec![(vec![0; made.extents.len()], made)]
                }
            };
            let first = &parts.first().ok_or_else(none)?.1;
            let (mut extents, format) = (first.extents.clone(), format(first));
            let cut: Vec<usize> = share.cuts.iter().map(|(mode, _)| *mode).collect();
            cut.iter().for_each(|mode| extents[*mode] = rows);
            all.push((tensor.name.clone(), merge::placed(&tensor.name, (parts, &cut), &extents, &format, &how)?));
        }
        Ok(Outcome::new(all, time, None))
    }
}

/// What is folded in before all boxes, if that is more than nothing: what is given for the tensor, else its fill value.
fn before(
    tensor: &typed::Tensor,
    fold: &Fold,
    like: &Tensor,
    given: &[(&str, &Tensor<'static>)],
    how: &Assembly,
) -> Result<Option<Tensor<'static>>, Error> {
    let Some(fill) = tensor.fill.filter(|_| fold.accumulates) else { return Ok(None) };
    if let Some((_, given)) = given.iter().find(|(name, _)| *name == tensor.name) {
        return Ok(Some((*given).clone()));
    }
    if fill == fold.identity {
        return Ok(None);
    }
    let none = Entries::of(tensor.sizes.len(), tensor.ty, []);
    let filled = none.and_then(|none| none.assemble(&like.extents, &like.format, fill, how));
    filled.map(Some).map_err(|error| Error::Stopped(format!("tensor `{}`: {error}", tensor.name)))
}

fn too_large(name: &str, limit: u64) -> Error {
    let what = format!("result `{name}` has a value a row, and takes more than the limit of {limit} bytes");
    Error::Stopped(format!("{what}: keep fewer rows of it, in a sparse format, or allow more memory"))
}

/// The program that every box runs: what is cut has a size of its own. It has no columns that are not read.
fn of_boxes(whole: &Program, shares: &[Share], (cut, rows): (&Cut, u64)) -> Result<Program, Error> {
    let mut syntax = whole.syntax().clone();
    let name = fresh(whole.canonical(), "box_rows");
    let mut sizes = Vec::new();
    syntax.items.retain(|item| match item {
        Item::Tensor(t) if cut.tensors.contains(&t.name.name) => {
            whole.tensor(&t.name.name).is_some_and(|(id, _)| !shares[id.index()].cuts.is_empty())
        }
        _ => true,
    });
    for item in &mut syntax.items {
        let Item::Tensor(declared) = item else { continue };
        let Some((id, _)) = whole.tensor(&declared.name.name) else { continue };
        let share = &shares[id.index()];
        for (mode, _) in &share.cuts {
            let span = declared.name.span;
            if let Size::Name(size) = &declared.sizes[*mode] {
                sizes.push(size.name.clone());
            }
            declared.sizes[*mode] = Size::Name(Ident { name: name.clone(), span });
        }
        if let Some(fold) = share.fold.as_ref().filter(|fold| fold.accumulates) {
            declared.fill = Some((literal(fold.identity), declared.name.span));
        }
    }
    // As a value the size is that of all rows.
    sizes.sort();
    sizes.dedup();
    sizes.iter().for_each(|size| sized(&mut syntax, size, rows));
    whole.part(syntax)
}
