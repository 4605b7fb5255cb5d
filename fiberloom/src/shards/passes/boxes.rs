//! A stage that runs over batches: a box a batch, or a pair of them, whose results are merged as they come.

use super::Cut;
use super::stages::sized;
use crate::error::Error;
use crate::kernel::{Kernel, Options, Outcome};
use crate::program::{Program, literal};
use crate::shards::listed;
use crate::shards::merge::{self, Folding, Part};
use crate::shards::program::fresh;
use crate::shards::restrict::{self, restricted};
use crate::shards::rules::{Fold, Share};
use fiberloom_core::algebra::Mode;
use fiberloom_core::format::{self, Assembly, Entries, Tensor};
use fiberloom_core::notation::syntax::{Ident, Item, Size};
use fiberloom_core::notation::typed::{self, TensorId};
use fiberloom_semantics::algebra::Agreement;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;
use std::time::Duration;

/// What a box has of a split: which of its boxes it is, and the coordinates.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) number: usize,
    pub(super) range: Range<u64>,
}

/// What a tensor stores, listed once for all boxes.
type Listed = OnceLock<Result<Entries<'static>, format::Error>>;

/// The boxes of a stage.
pub(super) struct Boxes {
    whole: Program,
    kernel: Kernel,
    shares: Vec<Share>,
    options: Options,
    /// The extent of each split.
    extent: u64,
    splits: usize,
    /// What boxes made so far, of each result.
    results: Vec<(TensorId, Merged)>,
    /// What operands store that are cut within.
    listed: BTreeMap<TensorId, Listed>,
    time: Duration,
    /// What comparing boxes with the reference semantics gave, if that is asked for.
    compared: Option<Agreement>,
}

/// What boxes made of a result so far: a part for each place along the splits that cut it, and the bytes that parts take.
#[derive(Default)]
struct Merged {
    parts: BTreeMap<Vec<usize>, Part>,
    bytes: u64,
}

impl Boxes {
    /// Those of a stage's program over this extent, along so many splits.
    ///
    /// # Errors
    /// A construct that is not lowered.
    pub(super) fn new(
        whole: &Program,
        shares: Vec<Share>,
        options: &Options,
        (cut, extent, splits): (&Cut, u64, usize),
        compares: bool,
    ) -> Result<Boxes, Error> {
        let kernel = of_boxes(whole, &shares, (cut, extent, splits))?.compile(options)?.within(options.memory);
        let results = whole.typed().results().into_iter().map(|id| (id, Merged::default())).collect();
        let listed = whole.typed().ids().map(|id| (id, Listed::new())).collect();
        let (whole, options, compared) = (whole.clone(), *options, compares.then(Agreement::default));
        let time = Duration::ZERO;
        Ok(Boxes { whole, kernel, shares, options, extent, splits, results, listed, time, compared })
    }

    /// Whether a box is a pair of batches.
    pub(super) fn are_pairs(&self) -> bool {
        self.splits > 1
    }

    /// Runs a box on the columns of its batches, beside what is given to all, and merges what it makes.
    ///
    /// # Errors
    /// As of a call of a kernel.
    pub(super) fn run(
        &mut self,
        given: &[(&str, &Tensor<'static>)],
        columns: &[(String, Tensor<'static>)],
        places: &[Place],
    ) -> Result<(), Error> {
        let (mut outcome, agreement) = self.call(given, columns, places)?;
        self.compared.iter_mut().for_each(|all| *all += agreement);
        self.time += outcome.time;
        let mut folding = Folding::new(&self.whole, &self.options, self.compared.is_some());
        for (id, merged) in &mut self.results {
            let tensor = &self.whole.typed().tensors[id.index()];
            let made = outcome.take(&tensor.name);
            let made = made.ok_or_else(|| Error::Defect(format!("a box makes no result `{}`", tensor.name)))?;
            let share = &self.shares[id.index()];
            let cuts = |split: usize| share.cuts.iter().any(|(_, own)| *own == split);
            let folds = |split: usize| share.fold.as_ref().is_some_and(|fold| fold.along.contains(&split));
            // Along a split that it does not have a result is the same in every box.
            if places.iter().enumerate().any(|(split, place)| place.number > 0 && !cuts(split) && !folds(split)) {
                continue;
            }
            let own = places.iter().enumerate().filter(|(split, _)| cuts(*split)).map(|(_, place)| place.number);
            let own: Vec<usize> = own.collect();
            let part = match (merged.parts.remove(&own), &share.fold) {
                (Some((at, before)), Some(fold)) => (at, folding.step(tensor, fold, &before, &made)?),
                _ => {
                    merged.bytes += made.values.len() as u64 * made.values.ty().bytes() as u64;
                    let mut at = vec![0; made.extents.len()];
                    share.cuts.iter().for_each(|(mode, split)| at[*mode] = places[*split].range.start);
                    (at, made)
                }
            };
            if !own.is_empty() && merged.bytes > self.options.memory {
                return Err(too_large(&tensor.name, self.options.memory));
            }
            merged.parts.insert(own, part);
        }
        let folded = folding.compared;
        self.compared.iter_mut().zip(folded).for_each(|(all, own)| *all += own);
        Ok(())
    }

    /// What a box makes, and what comparing that gives, if it is asked for.
    fn call(
        &self,
        given: &[(&str, &Tensor<'static>)],
        columns: &[(String, Tensor<'static>)],
        places: &[Place],
    ) -> Result<(Outcome, Agreement), Error> {
        let mut parts: Vec<(&str, Tensor)> = Vec::new();
        for (name, tensor) in given {
            let Some((id, _)) = self.whole.tensor(name) else {
                parts.push((name, tensor.borrow()));
                continue;
            };
            if self.shares[id.index()].fold.is_none() {
                parts.push((name, self.part(id, tensor, places)?));
            }
        }
        let is_read = |name: &str| self.kernel.program().tensor(name).is_some();
        let columns = columns.iter().filter(|(name, _)| is_read(name)).map(|(name, tensor)| (name.as_str(), tensor));
        let operands: Vec<(&str, &Tensor)> = parts.iter().map(|(name, part)| (*name, part)).chain(columns).collect();
        let mut call = self.kernel.bind(&operands)?;
        let outcome = call.run()?;
        let agreement = if self.compared.is_some() { call.agrees(&outcome)? } else { Agreement::default() };
        Ok((outcome, agreement))
    }

    /// What a box has of an operand of the whole.
    fn part<'t>(&'t self, id: TensorId, tensor: &'t Tensor<'static>, places: &[Place]) -> Result<Tensor<'t>, Error> {
        let share = &self.shares[id.index()];
        let cuts: Vec<restrict::Cut> =
            share.cuts.iter().map(|(mode, split)| (*mode, places[*split].range.clone())).collect();
        if cuts.is_empty() {
            return Ok(tensor.borrow());
        }
        let listed = || self.listed[&id].get_or_init(|| listed(tensor)).as_ref().map_err(Clone::clone);
        let name = &self.whole.typed().tensors[id.index()].name;
        let part = restricted(tensor, &cuts, &tensor.format, &listed);
        part.map_err(|error| Error::Stopped(format!("tensor `{name}`, cut into batches: {error}")))
    }

    /// The results of the whole, and what comparing boxes gave. `given` is what was given to all boxes.
    ///
    /// # Errors
    /// A result's format has no place for its values; memory.
    pub(super) fn merged(mut self, given: &[(&str, &Tensor<'static>)]) -> Result<(Outcome, Agreement), Error> {
        let how = Assembly {
            limit: self.options.memory,
            rounded: self.options.mode == Mode::Algebraic,
            ..Assembly::default()
        };
        let whole = self.whole.clone();
        let mut folding = Folding::new(&whole, &self.options, self.compared.is_some());
        let mut all = Vec::new();
        for (id, merged) in std::mem::take(&mut self.results) {
            let (tensor, share) = (&whole.typed().tensors[id.index()], &self.shares[id.index()]);
            let mut parts = Vec::new();
            for (at, made) in merged.parts.into_values() {
                let fold = share.fold.as_ref();
                let before = match fold {
                    Some(fold) => self.before((id, tensor), fold, (&at, &made), given, &how)?,
                    None => None,
                };
                parts.push(match (before, fold) {
                    (Some(before), Some(fold)) => (at, folding.step(tensor, fold, &before, &made)?),
                    _ => (at, made),
                });
            }
            let first = parts.first().map(|(_, made)| made);
            let first = first.ok_or_else(|| Error::Defect(format!("no box made a part of `{}`", tensor.name)))?;
            let format = match tensor.format {
                Some(_) => whole.stored_format(id).clone(),
                None => first.format.clone(),
            };
            let mut extents = first.extents.clone();
            let cut: Vec<usize> = share.cuts.iter().map(|(mode, _)| *mode).collect();
            cut.iter().for_each(|mode| extents[*mode] = self.extent);
            all.push((tensor.name.clone(), merge::placed(&tensor.name, (parts, &cut), &extents, &format, &how)?));
        }
        let mut compared = self.compared.unwrap_or_default();
        compared += folding.compared.unwrap_or_default();
        Ok((Outcome::new(all, self.time, None), compared))
    }

    /// What is folded in before all boxes, if that is more than nothing: what is given for the tensor, else its fill value.
    fn before(
        &self,
        (id, tensor): (TensorId, &typed::Tensor),
        fold: &Fold,
        (at, like): (&[u64], &Tensor),
        given: &[(&str, &Tensor<'static>)],
        how: &Assembly,
    ) -> Result<Option<Tensor<'static>>, Error> {
        let Some(fill) = tensor.fill.filter(|_| fold.accumulates) else { return Ok(None) };
        if let Some((_, given)) = given.iter().find(|(name, _)| *name == tensor.name) {
            let cuts = self.shares[id.index()].cuts.iter();
            let cuts: Vec<restrict::Cut> =
                cuts.map(|(mode, _)| (*mode, at[*mode]..at[*mode] + like.extents[*mode])).collect();
            let listed = || self.listed[&id].get_or_init(|| listed(given)).as_ref().map_err(Clone::clone);
            let part = restricted(given, &cuts, &given.format, &listed);
            return part
                .map(|part| Some(part.into_owned()))
                .map_err(|error| Error::Stopped(format!("tensor `{}`: {error}", tensor.name)));
        }
        if fill == fold.identity {
            return Ok(None);
        }
        let none = Entries::of(tensor.sizes.len(), tensor.ty, []);
        let filled = none.and_then(|none| none.assemble(&like.extents, &like.format, fill, how));
        filled.map(Some).map_err(|error| Error::Stopped(format!("tensor `{}`: {error}", tensor.name)))
    }
}

fn too_large(name: &str, limit: u64) -> Error {
    let what = format!("result `{name}` has a value a row, and takes more than the limit of {limit} bytes");
    Error::Stopped(format!("{what}: keep fewer rows of it, in a sparse format, or allow more memory"))
}

/// The program that every box runs: what is cut has a size of its own, one a split. It has no columns that are not read.
fn of_boxes(whole: &Program, shares: &[Share], (cut, extent, splits): (&Cut, u64, usize)) -> Result<Program, Error> {
    let mut syntax = whole.syntax().clone();
    let names: Vec<String> =
        (0..splits).map(|n| fresh(whole.canonical(), &format!("box_rows{}", "_too".repeat(n)))).collect();
    let mut sizes = Vec::new();
    syntax.items.retain(|item| match item {
        Item::Tensor(t) if cut.has(&t.name.name) => {
            whole.tensor(&t.name.name).is_some_and(|(id, _)| !shares[id.index()].cuts.is_empty())
        }
        _ => true,
    });
    for item in &mut syntax.items {
        let Item::Tensor(declared) = item else { continue };
        let Some((id, _)) = whole.tensor(&declared.name.name) else { continue };
        let share = &shares[id.index()];
        for (mode, split) in &share.cuts {
            let span = declared.name.span;
            if let Size::Name(size) = &declared.sizes[*mode] {
                sizes.push(size.name.clone());
            }
            declared.sizes[*mode] = Size::Name(Ident { name: names[*split].clone(), span });
        }
        if let Some(fold) = share.fold.as_ref().filter(|fold| fold.accumulates) {
            declared.fill = Some((literal(fold.identity), declared.name.span));
        }
    }
    // As a value the size is that of all rows.
    sizes.sort();
    sizes.dedup();
    sizes.iter().for_each(|size| sized(&mut syntax, size, extent));
    whole.part(syntax)
}
