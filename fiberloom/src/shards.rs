//! Shards: a program on boxes of its index space, each by itself, and one result of what they make.
//!
//! ```text
//!  i: ├── 0 ──┼── 1 ──┤      Shards::plan ──▶ boxes (i, j), lexicographically, the last split fastest
//!  j: ├──── 0 ────┼ 1 ┤          │
//!                                ├─ operands(box)    each tensor restricted to it: A to (i, j), x to j, y to i
//!                                ├─ kernel           one, of the same text, on smaller extents
//!                                └─ merge(outcomes)  cut modes one behind the other, folds in ascending order
//! ```
//!
//! The law, for disjoint ascending boxes that cover the extents: ⟦s⟧ = ⊕ₖ ⟦s | boxₖ⟧, where ⊕ is concatenation along a split
//! variable that is free and the statement's fold along one that is reduced. What may be split and what is refused, by name,
//! says `docs/shards.md`. Along free variables results are the whole's bit for bit, but for sums that the whole's own plan
//! orders otherwise in `algebraic` floats; along reduced ones wherever the fold is exact.
//!
//! ```
#![doc = include_str!("../examples/shards.rs")]
//! ```

mod executor;
mod fate;
mod merge;
mod passes;
mod program;
mod restrict;
mod rules;

pub use executor::{Executor, Serial, Threads};
pub use fate::Fate;
pub use passes::{Batches, Beside, Made, Passes};

use crate::error::Error;
use crate::kernel::{Call, Engine, Kernel, Operand, Options, Outcome};
use crate::program::Program;
use fiberloom_core::format::{self, Entries, Format, Tensor};
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::typed::{self, TensorId};
use merge::{Folding, Part};
use restrict::Cut;
use rules::{Fold, Share};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

/// The most boxes of a plan.
const BOXES: usize = 1 << 20;

/// How the extent of an index variable is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// Into so many boxes, whose extents differ by one at most; where there are more boxes than coordinates, some are empty.
    Even(usize),
    /// At these coordinates, which ascend and are within the extent: one box more than there are coordinates. Equal ones have an
    /// empty box between them.
    At(Vec<u64>),
}

/// A box: what it has of each split index variable, in the order in which splits were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which box it is, from 0 on.
    pub number: usize,
    /// The coordinates that it has.
    pub ranges: Vec<Range<u64>>,
    /// Which it is along each split.
    places: Vec<usize>,
}

/// A split: an index variable, and the boxes along it.
#[derive(Clone, Debug)]
struct Split {
    name: String,
    ranges: Vec<Range<u64>>,
}

/// A program on its operands, in boxes.
pub struct Shards<'a> {
    whole: Call<'a>,
    /// What the whole is called with, in the order in which it was given.
    given: Vec<TensorId>,
    program: Program,
    options: Options,
    kernel: Kernel,
    splits: Vec<Split>,
    shares: Vec<Share>,
    boxes: Vec<Shard>,
    /// What operands store that are cut within: listed once, for all boxes.
    listed: BTreeMap<TensorId, OnceLock<Result<Entries<'static>, format::Error>>>,
}

impl<'a> Shards<'a> {
    /// Splits index variables, by name. Operands are what a call of the whole takes.
    ///
    /// # Errors
    /// [`Error::Program`] names the index variable that is not split, which rule it breaks, and what to change;
    /// [`Error::Call`] names cuts that are none; those of [`Kernel::bind`].
    pub fn plan<T: Into<Operand<'a>> + Clone>(
        program: &Program,
        options: &Options,
        operands: &[(&str, T)],
        over: &[(&str, Cuts)],
    ) -> Result<Shards<'a>, Error> {
        // The whole is bound and never run: nothing is lowered for it.
        let whole = program.compile(&Options { engine: Engine::Meaning, ..*options })?.bind(operands)?;
        let splits = splits(&whole, program, over)?;
        let names: Vec<&str> = splits.iter().map(|split| split.name.as_str()).collect();
        let given: Vec<TensorId> =
            operands.iter().flat_map(|(name, _)| program.tensor(name)).map(|(id, _)| id).collect();
        let vars = |name: &str| rules::variables(program.typed(), name).collect();
        let over: Vec<rules::Over> = names.iter().map(|name| (*name, vars(name))).collect();
        let shares = rules::shares(program.typed(), &over, (options.mode, &|_| false), &|id| given.contains(&id))
            .map_err(|refused| program.refused(vec![refused]))?;
        let of_boxes = program::of_boxes(program, &names, &shares, whole.extents())?;
        let kernel = of_boxes.compile(options)?;
        let boxes = boxes(&splits)?;
        let listed = whole.operands().keys().map(|id| (*id, OnceLock::new())).collect();
        Ok(Shards { whole, given, program: program.clone(), options: *options, kernel, splits, shares, boxes, listed })
    }

    /// The boxes, lexicographically.
    pub fn boxes(&self) -> &[Shard] {
        &self.boxes
    }

    /// The names of the split index variables: those whose ranges a box has, in this order.
    pub fn splits(&self) -> impl Iterator<Item = &str> {
        self.splits.iter().map(|split| split.name.as_str())
    }

    /// What runs on each box: the program whose cut modes have sizes of their own.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The operands of a box, for [`Shards::kernel`]. What is whole is borrowed, and so are the rows of a tensor whose outermost
    /// level is dense; of others the part is made.
    ///
    /// # Errors
    /// [`Error::Stopped`]: memory.
    pub fn operands(&self, shard: &Shard) -> Result<Vec<(&str, Tensor<'_>)>, Error> {
        let all = self.whole.operands().iter().filter(|(id, _)| self.share(**id).fold.is_none());
        all.map(|(id, _)| Ok((self.tensor(*id).name.as_str(), self.part(*id, &shard.ranges)?))).collect()
    }

    /// Runs one box.
    ///
    /// # Errors
    /// As of [`Shards::operands`] and [`Kernel::run`].
    pub fn run_one(&self, shard: &Shard) -> Result<Outcome, Error> {
        let operands = self.operands(shard)?;
        let operands: Vec<(&str, &Tensor)> = operands.iter().map(|(name, tensor)| (*name, tensor)).collect();
        self.kernel.run(&operands)
    }

    /// Runs all boxes and merges what they make.
    ///
    /// # Errors
    /// That of the first box that has one; those of [`Shards::merge`].
    pub fn run(&self, executor: &dyn Executor) -> Result<Outcome, Error> {
        let slots: Vec<OnceLock<Result<Outcome, Error>>> = self.boxes.iter().map(|_| OnceLock::new()).collect();
        executor.each(self.boxes.len(), &|n| {
            slots[n].get_or_init(|| self.run_one(&self.boxes[n]));
        });
        let left_out = |n: usize| Err(Error::Call(format!("the executor left out box {n}")));
        let outcomes = slots.into_iter().enumerate().map(|(n, slot)| slot.into_inner().unwrap_or_else(|| left_out(n)));
        self.merge(outcomes.collect::<Result<_, _>>()?)
    }

    /// The whole's results from those of all boxes, in their order. The time is the sum of theirs.
    ///
    /// # Errors
    /// [`Error::Call`] if there are not as many as boxes, or a result is missing, malformed or of other extents;
    /// [`Error::Operand`] if a result's format has no place for its values; [`Error::Stopped`]: memory.
    pub fn merge(&self, outcomes: Vec<Outcome>) -> Result<Outcome, Error> {
        if outcomes.len() != self.boxes.len() {
            let what = format!("{} results for {} boxes", outcomes.len(), self.boxes.len());
            return Err(Error::Call(what));
        }
        let formats = self.program.typed().stored(self.whole.thin());
        let results = self.program.typed().results().into_iter();
        let merged = results.map(|id| {
            let tensor = self.merged(id, &outcomes, &formats[id.index()])?;
            Ok((self.tensor(id).name.clone(), tensor))
        });
        let merged = merged.collect::<Result<_, Error>>()?;
        Ok(Outcome::new(merged, outcomes.iter().map(|outcome| outcome.time).sum(), None))
    }

    fn tensor(&self, id: TensorId) -> &typed::Tensor {
        &self.program.typed().tensors[id.index()]
    }

    fn share(&self, id: TensorId) -> &Share {
        &self.shares[id.index()]
    }

    /// What a box of these ranges has of a tensor's cut modes.
    fn cuts(&self, id: TensorId, ranges: &[Range<u64>]) -> Vec<Cut> {
        self.share(id).cuts.iter().map(|(mode, split)| (*mode, ranges[*split].clone())).collect()
    }

    /// The part of what is given for a tensor, as boxes keep it.
    fn part(&self, id: TensorId, ranges: &[Range<u64>]) -> Result<Tensor<'_>, Error> {
        let given = self.whole.operands()[&id].tensor();
        let name = &self.tensor(id).name;
        let listed = || self.listed[&id].get_or_init(|| listed(given)).as_ref().map_err(Clone::clone);
        let part = restrict::restricted(given, &self.cuts(id, ranges), self.kept_as(id), &listed);
        part.map_err(|error| Error::Stopped(format!("tensor `{name}`, cut into boxes: {error}")))
    }

    /// The format in which boxes keep a tensor.
    fn kept_as(&self, id: TensorId) -> &Format {
        let of_boxes = self.kernel.program();
        let own = of_boxes.tensor(&self.tensor(id).name).map_or(id, |(own, _)| own);
        of_boxes.stored_format(own)
    }

    /// A result of the whole.
    fn merged(&self, id: TensorId, outcomes: &[Outcome], format: &Format) -> Result<Tensor<'static>, Error> {
        let mut parts: Vec<Part> = vec![];
        let mut folding = Folding::new(&self.program, &self.options, false);
        for boxes in self.cells(id).values() {
            let mut begin = vec![0; self.tensor(id).sizes.len()];
            self.cuts(id, &boxes[0].ranges).into_iter().for_each(|(mode, range)| begin[mode] = range.start);
            let mut made = boxes.iter().map(|shard| self.result(id, shard, outcomes));
            let first = made.next().expect("a cell has a box")?;
            let Some(fold) = &self.share(id).fold else {
                parts.push((begin, first.clone()));
                continue;
            };
            let before = self.before(id, fold, first, &boxes[0].ranges)?;
            let mut all = match before {
                Some(before) => folding.step(self.tensor(id), fold, &before, first)?,
                None => first.clone(),
            };
            for next in made {
                all = folding.step(self.tensor(id), fold, &all, next?)?;
            }
            parts.push((begin, all));
        }
        let extents = self.whole.extents_of(id);
        let cut: Vec<usize> = self.share(id).cuts.iter().map(|(mode, _)| *mode).collect();
        merge::placed(&self.tensor(id).name, (parts, &cut), &extents, format, &self.whole.assembly())
    }

    /// The boxes that a result is made of, ascending, by their places along the splits that cut it. Along splits that neither cut
    /// nor fold it all have the same, and the first is taken.
    fn cells(&self, id: TensorId) -> BTreeMap<Vec<usize>, Vec<&Shard>> {
        let share = self.share(id);
        let cuts = |split: usize| share.cuts.iter().any(|(_, own)| *own == split);
        let folds = |split: usize| share.fold.as_ref().is_some_and(|fold| fold.along.contains(&split));
        let mut cells: BTreeMap<Vec<usize>, Vec<&Shard>> = BTreeMap::new();
        for shard in &self.boxes {
            let places = || shard.places.iter().enumerate();
            if places().all(|(split, place)| *place == 0 || cuts(split) || folds(split)) {
                let key = places().filter(|(split, _)| cuts(*split)).map(|(_, place)| *place).collect();
                cells.entry(key).or_default().push(shard);
            }
        }
        cells
    }

    /// What a box made of a result: a well-formed tensor of the box's extents.
    fn result<'o>(&self, id: TensorId, shard: &Shard, outcomes: &'o [Outcome]) -> Result<&'o Tensor<'static>, Error> {
        let tensor = self.tensor(id);
        let of = |what: String| Error::Call(format!("the result `{}` of box {}: {what}", tensor.name, shard.number));
        let made = outcomes[shard.number].get(&tensor.name).ok_or_else(|| of("it is missing".to_string()))?;
        let mut extents = self.whole.extents_of(id);
        self.cuts(id, &shard.ranges).into_iter().for_each(|(mode, range)| extents[mode] = range.end - range.start);
        if made.extents != extents || made.values.ty() != tensor.ty {
            let (is, ty) = (&made.extents, made.values.ty());
            return Err(of(format!("{ty} of extents {is:?}, {} of extents {extents:?} expected", tensor.ty)));
        }
        made.check().map_err(|malformed| of(malformed.to_string()))?;
        Ok(made)
    }

    /// What is folded in before all boxes, if that is more than nothing: what is given for a tensor that is accumulated into, else
    /// its fill value. `like` is what a box made of it.
    fn before(
        &self,
        id: TensorId,
        fold: &Fold,
        like: &Tensor,
        ranges: &[Range<u64>],
    ) -> Result<Option<Tensor<'_>>, Error> {
        let tensor = self.tensor(id);
        let Some(fill) = tensor.fill.filter(|_| fold.accumulates) else { return Ok(None) };
        if self.whole.operands().contains_key(&id) {
            return self.part(id, ranges).map(Some);
        }
        if fill == fold.identity {
            return Ok(None);
        }
        let none = Entries::of(tensor.sizes.len(), tensor.ty, []);
        let filled = none.and_then(|none| none.assemble(&like.extents, self.kept_as(id), fill, &self.whole.assembly()));
        filled.map(Some).map_err(|error| Error::Stopped(format!("tensor `{}`: {error}", tensor.name)))
    }
}

/// What a tensor stores, on its own.
fn listed(tensor: &Tensor) -> Result<Entries<'static>, format::Error> {
    let Entries { coordinates, values } = tensor.stored_entries()?;
    let bytes = values.len() as u128 * values.ty().bytes() as u128;
    Ok(Entries { coordinates, values: values.share().ok_or(format::Error::Memory { bytes })? })
}

/// The splits, each with its ranges.
fn splits(whole: &Call, program: &Program, over: &[(&str, Cuts)]) -> Result<Vec<Split>, Error> {
    let mut splits: Vec<Split> = vec![];
    for (name, cuts) in over {
        if splits.iter().any(|split| split.name == *name) {
            return Err(Error::Call(format!("index variable `{name}` is split twice")));
        }
        let extent = extent(whole, program, name)?;
        let ranges = cuts.ranges(extent).map_err(|what| Error::Call(format!("index variable `{name}`: {what}")))?;
        splits.push(Split { name: name.to_string(), ranges });
    }
    Ok(splits)
}

/// The extent of the index variables of a name.
fn extent(whole: &Call, program: &Program, name: &str) -> Result<u64, Error> {
    let typed = program.typed();
    let all: Vec<_> = rules::variables(typed, name).map(|v| (v, whole.extents().var(v))).collect();
    let Some((first, extent)) = all.first() else {
        let mut known: Vec<String> = typed.vars.iter().map(|v| format!("`{}`", v.name)).collect();
        known.sort();
        known.dedup();
        return Err(Error::Call(format!("the program has no index variable `{name}`: it has {}", known.join(", "))));
    };
    match all.iter().find(|(_, other)| other != extent) {
        None => Ok(*extent),
        Some((v, other)) => {
            let [one, another] = [first, v].map(|v| typed.vars[v.index()].span);
            let message =
                format!("index variable `{name}` is not split: there are two, of extents {extent} and {other}");
            let refused = Diagnostic::new(another, message).label(one, "the first one");
            Err(program.refused(vec![refused.help("give one of them another name")]))
        }
    }
}

impl Cuts {
    /// The ranges of an extent, ascending; else what is wrong with the cuts.
    fn ranges(&self, extent: u64) -> Result<Vec<Range<u64>>, String> {
        let at: Vec<u64> = match self {
            Cuts::Even(0) => return Err("it is cut into no boxes, and one at least is expected".to_string()),
            Cuts::Even(n) => (1..*n as u128).map(|k| (extent as u128 * k / *n as u128) as u64).collect(),
            Cuts::At(at) => at.clone(),
        };
        if let Some(pair) = at.windows(2).find(|pair| pair[0] > pair[1]) {
            return Err(format!("it is cut at {}, and then at {}: cuts ascend", pair[0], pair[1]));
        }
        match at.iter().find(|c| **c > extent) {
            Some(c) => Err(format!("it is cut at {c}, and its extent is {extent}")),
            None => {
                let (begins, ends) = ([&[0], &at[..]].concat(), [&at[..], &[extent]].concat());
                Ok(begins.into_iter().zip(ends).map(|(begin, end)| begin..end).collect())
            }
        }
    }
}

/// All boxes, lexicographically.
fn boxes(splits: &[Split]) -> Result<Vec<Shard>, Error> {
    let count = splits.iter().try_fold(1usize, |n, split| n.checked_mul(split.ranges.len()));
    if count.is_none_or(|n| n > BOXES) {
        return Err(Error::Call(format!("there would be over {BOXES} boxes")));
    }
    let mut all = vec![Shard { number: 0, ranges: vec![], places: vec![] }];
    for Split { ranges, .. } in splits {
        let along = |shard: Shard| {
            ranges.iter().enumerate().map(move |(place, range)| Shard {
                number: 0,
                ranges: [&shard.ranges[..], std::slice::from_ref(range)].concat(),
                places: [&shard.places[..], &[place]].concat(),
            })
        };
        all = all.into_iter().flat_map(along).collect();
    }
    (0..).zip(&mut all).for_each(|(number, shard)| shard.number = number);
    Ok(all)
}
