//! Where pieces of equal weight begin: at the last tuple of coordinates before which tensors store so many entries, or fewer.
//!
//! ```text
//!  collapse(i, j -> f); weigh(f, A, B)              the edge of which 8 entries stand before it
//!
//!     A   B   before the row                        i       the last row before which 8 or fewer are stored, by the arrays of positions
//!  0  3   2   0                                     j       of that row: the last coordinate before which 8 - 5 or fewer are stored, by a
//!  1  2   4   5    ◀── 3 of these six                       search in each list for each coordinate that is tried
//!  2  1   1   11                                    p_A, p_B  where the searches ended: A and B are not searched again inside of the piece
//! ```
//!
//! Coordinates are bisected, one loop after the other, so that an edge takes some log² steps, whatever the lists hold: a row is cut, too, and every
//! piece has as much to merge. What equals two lists' entries at a coordinate is not cut apart.

use super::search::bisect;
use super::{Context, Expr, Holds, binary, held, int, minus, plus, times};
use crate::Symbolic;
use crate::Term;
use crate::choose::{cut, symbol::Sym};
use crate::stream::{Domain, State};
use fiberloom_core::algebra::Op;
use fiberloom_core::notation::concrete::AccessId;
use std::ops::Range;

/// What an access stores under the coordinates of some loops.
pub(super) struct Weighed {
    access: AccessId,
    /// The levels over the loops.
    levels: Range<usize>,
    /// The level whose entries are counted: the last of these, or one below them.
    counted: usize,
    /// The positions of the first level.
    begin: Expr,
    end: Expr,
    /// The number of coordinates of the first loop before the level begins.
    before: Expr,
}

impl Weighed {
    pub(super) fn all(cx: &Context, d: &Symbolic, weights: &[cut::Weight], loops: usize) -> Vec<Weighed> {
        let of = |weight: &cut::Weight| {
            let cut::Weight { of: (access, first), begin, end, before } = *weight;
            let counted = cx.program.tensor(access).format.weighed(first, loops);
            let [begin, end, before] = [begin, end, before].map(|s: Sym| cx.expr(d, s));
            let counted = counted.expect("a weight's levels are counted");
            Weighed { access, levels: first..first + loops, counted, begin, end, before }
        };
        weights.iter().map(of).collect()
    }

    /// The positions of the last loop's level at which its entries begin and end, if that is a list.
    pub(super) fn positions(&self, cx: &Context, d: &Symbolic) -> Option<(Expr, Expr)> {
        let Range { start, end } = self.levels;
        cx.kind(self.access, end - 1).is_list().then_some(())?;
        let down = |p: &Expr| self.down(cx, d, start..end, p.clone());
        Some((down(&self.begin), down(&self.end)))
    }

    /// The position in a deeper level at which begins what is below a position: of the last of `levels`, below the first.
    fn down(&self, cx: &Context, d: &Symbolic, levels: Range<usize>, position: Expr) -> Expr {
        levels.skip(1).fold(position, |p, level| {
            let kind = cx.kind(self.access, level);
            if kind.is_located() {
                let tensor = cx.program.tensor(self.access);
                return times(p, cx.extent(tensor.extents[tensor.format.order[level]]));
            }
            match kind.holds(Holds::Positions) {
                true => d.index(cx.level_array((self.access, level), Holds::Positions), p),
                false => p,
            }
        })
    }

    /// The position of a level's first entry not before a coordinate, in a fiber at these positions.
    fn place(&self, cx: &Context, d: &mut Symbolic, (level, fiber): (usize, &Fiber), c: Expr) -> Expr {
        let (begin, end) = (fiber.begin.clone(), fiber.end.clone());
        if cx.kind(self.access, level).is_located() {
            let within = if level == self.levels.start && self.before != int(0) {
                binary(Op::Max, minus(c, self.before.clone()), int(0))
            } else {
                c
            };
            return plus(begin.clone(), binary(Op::Min, within, minus(end, begin)));
        }
        let crd = cx.level_array((self.access, level), Holds::Coordinates);
        let (low, high) = bounds(d, begin, plus(end, int(1)));
        bisect(d, (low, high), &|d, p| binary(Op::Lt, d.index(crd, minus(p, int(1))), c.clone()))
    }

    /// The number of entries in a fiber before a coordinate.
    fn count(&self, cx: &Context, d: &mut Symbolic, (level, fiber): (usize, &Fiber), c: Expr) -> Expr {
        let place = self.place(cx, d, (level, fiber), c);
        let [at, from] = [place, fiber.begin.clone()].map(|p| self.down(cx, d, level..self.counted + 1, p));
        minus(at, from)
    }
}

/// The positions of a level, of one coordinate of each loop around.
struct Fiber {
    begin: Expr,
    end: Expr,
}

/// The last coordinates before which so many entries are stored, or fewer, and the positions of lists there.
pub(super) fn tuple_at(cx: &Context, d: &mut Symbolic, weighed: &[Weighed], at: Expr, extents: &[Expr]) -> Vec<Expr> {
    let mut fibers: Vec<Fiber> = weighed.iter().map(|w| Fiber { begin: w.begin.clone(), end: w.end.clone() }).collect();
    let (mut rest, mut all) = (at, vec![]);
    for (place, extent) in extents.iter().enumerate() {
        let before = |d: &mut Symbolic, c: &Expr| {
            let counts = weighed.iter().zip(&fibers);
            let counts = counts.map(|(w, fiber)| w.count(cx, d, (w.levels.start + place, fiber), c.clone()));
            counts.reduce(plus).unwrap_or(int(0))
        };
        let (low, high) = bounds(d, int(0), extent.clone());
        let found = bisect(d, (low, high), &|d, c| binary(Op::Le, before(d, &c), rest.clone()));
        all.push(found.clone());
        if place + 1 == extents.len() {
            let lists = weighed.iter().zip(&fibers).filter(|(w, _)| cx.kind(w.access, w.levels.end - 1).is_list());
            let places: Vec<Expr> =
                lists.map(|(w, fiber)| w.place(cx, d, (w.levels.end - 1, fiber), found.clone())).collect();
            all.extend(places);
            break;
        }
        let passed = before(d, &found);
        rest = held(d, "rest", minus(rest, passed));
        let below = |d: &mut Symbolic, (w, fiber): (&Weighed, &Fiber)| {
            let level = w.levels.start + place;
            let ends = [found.clone(), plus(found.clone(), int(1))].map(|c| w.place(cx, d, (level, fiber), c));
            let [begin, end] = ends.map(|p| w.down(cx, d, level..level + 2, p)).map(|p| held(d, "fiber", p));
            Fiber { begin, end }
        };
        fibers = weighed.iter().zip(&fibers).map(|of| below(d, of)).collect();
    }
    all
}

/// Variables for a search.
fn bounds(d: &mut Symbolic, low: Expr, high: Expr) -> (State, State) {
    (d.state("low", Term::fixed(low)), d.state("high", Term::fixed(high)))
}
