//! `parallelize(i, unit, race)`: iterations of a loop run in parallel.
//!
//! Iterations *race* where two of them may write one place of the target: those of a sum, and pieces that may end within a sum. Then
//! `temporary` and `parallel_reduction` join the iterations' partial results, and `atomics` folds in place, where the target has a place
//! for each coordinate. A fold whose order is part of its meaning has no parallel iterations.

use super::loops::{Apply, Legal};
use fiberloom_core::notation::concrete::{Claim, Deal, Hints};
use fiberloom_core::notation::syntax::{Race, Unit};
use fiberloom_core::notation::typed::VarId;

impl Apply<'_> {
    pub(super) fn parallelize(&mut self, v: VarId, unit: Unit, race: Race) -> Legal {
        self.is_loop(v)?;
        self.loops.parallel.push(v);
        if unit == Unit::CpuVector {
            self.loops.hints.push((v, Hints { lanes: true, ..Hints::default() }));
        }
        let races = self.races(v);
        let deal = match unit {
            Unit::CpuThread | Unit::CpuVector => None,
            Unit::GpuBlock => Some(Deal::Block),
            Unit::GpuWarp => Some(Deal::Warp),
            Unit::GpuThread => Some(Deal::Lane),
        };
        if unit != Unit::CpuVector {
            let claim = match (races, unit, race) {
                (false, ..) => Claim::Apart,
                (true, Unit::GpuBlock, Race::Temporary) => Claim::Temporary,
                (true, ..) => Claim::Racing,
            };
            self.loops.hints.push((v, Hints { deal, claim, ..Hints::default() }));
            if let (Unit::CpuThread, Some(outermost)) = (unit, self.seams(v)) {
                self.loops.hints.push((outermost, Hints { seamed: true, ..Hints::default() }));
            }
        }
        let name = self.name(v);
        let target = &self.program.tensors[self.statement.tensor.index()].name;
        let group = self.loops.group_of(v);
        if race == Race::NoRaces && races {
            let message = format!("turns of `{name}` write the same places of `{target}`");
            let help = "`temporary` and `parallel_reduction` join what turns have folded, `atomics` fold in place";
            return self.refuse(message, help);
        }
        if group.ordered {
            let message = format!("the loop over `{name}` folds in its order: its turns depend on one another");
            return self.refuse(message, "sums of floats may be regrouped in `algebraic` mode alone");
        }
        let format = self.program.tensors[self.statement.tensor.index()].format.as_ref();
        let level = format.and_then(|format| format.levels.iter().find(|kind| !kind.is_located()));
        if let (Race::Atomics, true, Some(kind)) = (race, races, level) {
            let message = format!("`{target}` has a level `{}`, and no place for each coordinate", kind.name());
            return self.refuse(message, "`atomics` fold into located levels: `temporary` folds into any");
        }
        Ok(())
    }

    /// Whether two iterations of a loop may write one place of the target: the loop is a sum's, or its pieces may end within a sum.
    pub(super) fn races(&self, v: VarId) -> bool {
        let loops = match self.loops.cut(v) {
            Some(cut) => cut.loops.clone(),
            None => self.loops.coordinates(v),
        };
        !loops.iter().all(|v| self.tells_apart(*v))
    }

    /// The outermost loop of the cut that a loop counts pieces of, if pieces may end within one of its iterations, and each of its coordinates has
    /// places of the target of its own.
    fn seams(&self, v: VarId) -> Option<VarId> {
        let cut = self.loops.cut(v)?;
        let outermost = *cut.loops.first()?;
        ((cut.loops.len() > 1 || self.races(v)) && self.tells_apart(outermost)).then_some(outermost)
    }

    /// Whether iterations with different coordinates of a loop write different places of the target.
    fn tells_apart(&self, v: VarId) -> bool {
        let places = |v: VarId| self.statement.indices.iter().any(|i| i.bare() == Some(v));
        !self.statement.scatters() && !self.statement.is_part() && places(self.loops.root(v))
    }
}
