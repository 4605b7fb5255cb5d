//! The positions of a level that a box has, as ranges: what each kind of level takes those of its parent to.

use fiberloom_core::algebra::Type;
use fiberloom_core::format::room::{more, push};
use fiberloom_core::format::{Array, Error, Holds, Level};
use std::ops::Range;

/// Ranges of positions that ascend, do not touch, and are not empty.
pub(super) struct Kept {
    ranges: Vec<Range<usize>>,
}

impl Kept {
    /// The root's only position.
    pub(super) fn root() -> Kept {
        let mut root = Kept::none();
        root.ranges.push(0..1);
        root
    }

    fn none() -> Kept {
        Kept { ranges: vec![] }
    }

    fn push(&mut self, next: Range<usize>) -> Result<(), Error> {
        match self.ranges.last_mut() {
            _ if next.is_empty() => Ok(()),
            Some(last) if last.end == next.start => {
                last.end = next.end;
                Ok(())
            }
            _ => push(&mut self.ranges, next),
        }
    }

    /// What an array has at these positions: borrowed if they are one range.
    pub(super) fn of<'t>(&self, array: &'t Array) -> Result<Array<'t>, Error> {
        match &self.ranges[..] {
            [] => Ok(array.part(0..0)),
            [one] => Ok(array.part(one.clone())),
            many => {
                let mut parts = vec![];
                more(&mut parts, many.len())?;
                parts.extend(many.iter().map(|range| array.part(range.clone())));
                Array::joined(array.ty(), &parts)
            }
        }
    }

    /// The part of a level below these parent positions, of which these become the level's own; `None` of a level whose part is not
    /// ranges of its positions.
    pub(super) fn level<'t>(
        &mut self,
        level: &'t Level,
        extent: u64,
        cut: Option<&Range<u64>>,
    ) -> Result<Option<Level<'t>>, Error> {
        let (kind, [pos, crd]) = (level.kind(), [Holds::Positions, Holds::Coordinates].map(|holds| level.first(holds)));
        let mut made = match (pos, crd) {
            (None, None) if kind.is_located() && level.first(Holds::Words).is_none() => {
                self.located(extent, cut)?;
                return level.map(|array| self.of(array)).map(Some);
            }
            (None, Some(crd)) if cut.is_none() => vec![self.of(crd)?],
            (Some(pos), Some(crd)) if kind.is_list() && !kind.has_table() => self.listed(pos, crd, cut)?.into(),
            (Some(pos), Some(crd)) if kind.is_in_runs() && cut.is_none() => self.listed(pos, crd, None)?.into(),
            (Some(pos), first) if kind.is_interval() && cut.is_none() => {
                let first = first.map(|first| self.of(first)).transpose()?;
                [self.fibers(pos)?].into_iter().chain(first).collect()
            }
            _ => return Ok(None),
        }
        .into_iter();
        level.map(|_| Ok(made.next().expect("an array for each that it has"))).map(Some)
    }

    /// A level with a position for each coordinate of each parent.
    fn located(&mut self, extent: u64, cut: Option<&Range<u64>>) -> Result<(), Error> {
        let (extent, parents) = (extent as usize, std::mem::replace(self, Kept::none()).ranges);
        for range in parents {
            let Some(cut) = cut else {
                self.push(range.start * extent..range.end * extent)?;
                continue;
            };
            for parent in range {
                self.push(parent * extent + cut.start as usize..parent * extent + cut.end as usize)?;
            }
        }
        Ok(())
    }

    /// A level that lists coordinates in ascending order: those within the cut, from its begin on.
    fn listed<'t>(
        &mut self,
        pos: &'t Array,
        crd: &'t Array,
        cut: Option<&Range<u64>>,
    ) -> Result<[Array<'t>; 2], Error> {
        let Some(cut) = cut else {
            let pos = self.fibers(pos)?;
            return Ok([pos, self.of(crd)?]);
        };
        let parents = std::mem::replace(self, Kept::none()).ranges;
        let (mut begins, mut coordinates) = (vec![0], vec![]);
        for parent in parents.into_iter().flatten() {
            let fiber = pos.index(parent) as usize..pos.index(parent + 1) as usize;
            let own = first_at(crd, fiber.clone(), cut.start)..first_at(crd, fiber, cut.end);
            more(&mut coordinates, own.len())?;
            coordinates.extend(own.clone().map(|p| crd.index(p) - cut.start as i64));
            push(&mut begins, coordinates.len() as i64)?;
            self.push(own)?;
        }
        Ok([indices(pos.ty(), begins)?, indices(crd.ty(), coordinates)?])
    }

    /// The positions of whole fibers, counted anew.
    fn fibers<'t>(&mut self, pos: &'t Array) -> Result<Array<'t>, Error> {
        let parents = std::mem::replace(self, Kept::none()).ranges;
        parents.iter().try_for_each(|r| self.push(pos.index(r.start) as usize..pos.index(r.end) as usize))?;
        if let [one] = &parents[..]
            && pos.index(one.start) == 0
        {
            return Ok(pos.part(one.start..one.end + 1));
        }
        let mut begins = vec![0];
        for parents in parents {
            let (first, before) = (pos.index(parents.start), begins[begins.len() - 1]);
            more(&mut begins, parents.len())?;
            begins.extend(parents.map(|parent| before + pos.index(parent + 1) - first));
        }
        indices(pos.ty(), begins)
    }
}

/// The first position of a fiber whose coordinate is this or behind.
fn first_at(crd: &Array, fiber: Range<usize>, coordinate: u64) -> usize {
    let (mut low, mut high) = (fiber.start, fiber.end);
    while low < high {
        let middle = low + (high - low) / 2;
        match (crd.index(middle) as u64) < coordinate {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

/// An array of indices of a type that holds them.
pub(in crate::shards) fn indices(ty: Type, all: Vec<i64>) -> Result<Array<'static>, Error> {
    match ty {
        Type::I64 => Ok(all.into()),
        _ => Array::from_indices(ty, &all),
    }
}
