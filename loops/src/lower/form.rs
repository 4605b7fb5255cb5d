//! The form of a result: its levels, the variables along which they are stored, and their numbers of positions.

use super::list::List;
use super::room::widths;
use super::triangle::{Row, triangle, upper};
use super::{BufferId, Context, Expr, Holds, LevelBuffers, plus, times};
use crate::{Symbolic, Var, lower};
use fiberloom_core::format::LevelKind;
use fiberloom_core::format::triangle::Triangle;
use fiberloom_core::notation::concrete::{Index, Nest};

/// The levels of a result.
pub(super) struct Form {
    /// Whether each level's coordinate is a function of loops' variables rather than one of them.
    mapped: Vec<bool>,
    pub extents: Vec<Expr>,
    /// For each level, the number of its positions per position of the level above. The positions of a triangle are those of all its
    /// rows.
    pub widths: Vec<Expr>,
    pub levels: Vec<LevelBuffers>,
    /// For each list, the first level of its chain; for each other level, itself.
    pub heads: Vec<usize>,
}

impl Form {
    /// The form of a nest's result.
    pub fn of(cx: &Context, d: &mut Symbolic, nest: &Nest) -> Form {
        let (tensor, arrays) = (&cx.program.tensors[nest.target.tensor.0], lower::arrays_of(cx, nest.target.tensor));
        let rank = tensor.format.rank();
        let vars: Vec<Index> = (0..rank).map(|l| cx.program.level_var(&nest.target, l)).collect();
        let extents: Vec<Expr> = (0..rank).map(|l| cx.extent(tensor.extents[tensor.format.order[l]])).collect();
        Form {
            mapped: vars.iter().map(|v| cx.program.roots(*v) != [*v]).collect(),
            widths: widths(d, &tensor.format.levels, &extents),
            extents,
            levels: arrays.levels.clone(),
            heads: (0..rank).map(|l| tensor.format.chain(l).map_or(l, |chain| chain.start)).collect(),
        }
    }

    /// The list that appends to level `l` and to the levels of its chain above, if level `l` is a list. Arrays that are `kept` are not
    /// stored.
    pub fn list(&self, l: usize, (count, values): (Var, BufferId), kept: &dyn Fn(BufferId) -> bool) -> Option<List> {
        if !self.kind(l).is_list() {
            return None;
        }
        let crd = |k: usize| self.crd(k).expect("lists have coordinates");
        let levels = (self.heads[l]..=l).map(|k| (k, crd(k))).filter(|(_, crd)| !kept(*crd)).collect();
        let values = (l + 1 == self.levels.len() && !kept(values)).then_some(values);
        Some(List { levels, last: crd(l), values, count })
    }

    pub fn kind(&self, l: usize) -> LevelKind {
        self.levels[l].kind()
    }

    /// Whether the coordinate of level `l` is a function of loops' variables rather than one of them.
    pub fn is_mapped(&self, l: usize) -> bool {
        self.mapped[l]
    }

    /// Whether level `l` is assembled by appending.
    pub fn is_list(&self, l: usize) -> bool {
        self.levels.get(l).is_some_and(|level| level.kind().is_appended())
    }

    /// The first level from `from` on that is assembled by appending.
    pub fn next_list(&self, from: usize) -> Option<usize> {
        (from..self.levels.len()).find(|&l| self.is_list(l))
    }

    /// Whether the chain of level `l` continues below it.
    pub fn chained(&self, l: usize) -> bool {
        self.heads.get(l + 1).is_some_and(|head| *head <= l)
    }

    /// The positions array of level `l`, if it has one.
    pub fn pos(&self, l: usize) -> Option<BufferId> {
        self.levels[l].array(Holds::Positions)
    }

    /// The coordinates array of level `l`, if it has one.
    pub fn crd(&self, l: usize) -> Option<BufferId> {
        self.levels[l].array(Holds::Coordinates)
    }

    /// The row of level `l` at a coordinate, if the level is a triangle's; `above` is the position above the level of rows.
    pub fn row(&self, l: usize, above: Expr, row: &Expr) -> Option<Row> {
        let side = self.levels.get(l)?.kind().triangle()?;
        let first = times(above, self.widths[l - 1].clone());
        let [below, behind] = [triangle(row.clone()), upper(&self.extents[l], row)].map(|at| plus(first.clone(), at));
        let (base, behind) = match side {
            Triangle::Lower => (below, None),
            Triangle::Upper => (behind, None),
            Triangle::Symmetric => (below, Some(behind)),
        };
        Some(Row { base, at: row.clone(), behind })
    }

    /// Whether some level stores entries, so that not every coordinate is stored.
    pub fn keeps_entries(&self) -> bool {
        self.levels.iter().any(|level| !level.kind().is_full() && !level.kind().is_triangle())
    }
}
