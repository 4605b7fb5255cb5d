//! Iteration lattices: what a loop does as its lists are exhausted one by one.

use super::sequence::{Sequence, background};
use super::simplify::Simplify;
use crate::algebra::Value;
use crate::notation::concrete::{AccessId, Expr};

/// The points of one loop; `points[0]` is where it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Lattice {
    /// Distinct bodies.
    pub points: Vec<Point>,
}

/// A body and how it is walked.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The simplified body: its identity.
    pub body: Expr,
    /// Where it must run.
    pub sequence: Sequence,
    /// Lists that lead: of an intersection those that every coordinate is in, if there are any, else all of the
    /// sequence.
    pub leaders: Vec<AccessId>,
    /// Lists that the body reads but that do not lead.
    pub followers: Vec<AccessId>,
    /// Of which followers one must be there where the leaders have come, for the body to run; 𝓕: of none.
    pub beside: Sequence,
    /// The loop that walks it.
    pub shape: Shape,
    /// (exhausted list, point that is left): only of trees, whose tails are loops of their own.
    pub edges: Vec<(AccessId, usize)>,
}

/// The loop shapes of the design's section 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// No coordinate.
    Nothing,
    /// Every coordinate of the extent; lists are followed by cursors.
    Dense,
    /// One list, or one that is needed: a counted loop over its positions.
    Each,
    /// Two lists or more that are needed: one equality test, advances without branches.
    Intersect,
    /// Two lists, either will do: a decision tree, then two tails.
    Tree,
    /// Three lists or more: one loop, exhausted lists at infinity.
    Wide,
}

impl Lattice {
    /// The lattice of `body` over `lists`. `nothing` says of a body that running it has no effect.
    pub fn of(
        body: &Expr,
        lists: &[AccessId],
        fill: &impl Fn(AccessId) -> Value,
        nothing: &impl Fn(&Expr) -> bool,
        s: Simplify<'_>,
    ) -> Lattice {
        let mut lattice = Lattice { points: Vec::new() };
        lattice.point(body.clone(), lists, fill, nothing, s);
        lattice
    }

    /// The point of `body`, made if it is new.
    fn point(
        &mut self,
        body: Expr,
        lists: &[AccessId],
        fill: &impl Fn(AccessId) -> Value,
        nothing: &impl Fn(&Expr) -> bool,
        s: Simplify<'_>,
    ) -> usize {
        if let Some(known) = self.points.iter().position(|p| p.body == body) {
            return known;
        }
        let (mut sequence, rest) = background(&body, lists, fill, s);
        // Only where the loop begins: a tail has the same background, and begins behind what was walked, not at 0.
        if self.points.is_empty() && !nothing(&rest) {
            sequence = Sequence::Full;
        }
        let (leaders, beside) = sequence.needed().unwrap_or_else(|| (sequence.lists(), Sequence::Full));
        let mut followers = body.accesses();
        followers.retain(|a| lists.contains(a) && !leaders.contains(a));
        let shape = shape(&sequence, &leaders);
        let here = self.points.len();
        self.points.push(Point { body, sequence, leaders, followers, beside, shape, edges: Vec::new() });
        if shape == Shape::Tree {
            for list in self.points[here].leaders.clone() {
                let left = s.replace(&self.points[here].body, &|a| (a == list).then(|| fill(a)));
                let next = self.point(left, lists, fill, nothing, s);
                self.points[here].edges.push((list, next));
            }
        }
        here
    }
}

fn shape(sequence: &Sequence, leaders: &[AccessId]) -> Shape {
    match sequence {
        Sequence::Empty => Shape::Nothing,
        Sequence::Full => Shape::Dense,
        Sequence::List(_) => Shape::Each,
        Sequence::And(parts) if parts.iter().any(|s| matches!(s, Sequence::List(_))) => match leaders {
            [_] => Shape::Each,
            _ => Shape::Intersect,
        },
        _ if leaders.len() == 2 => Shape::Tree,
        _ => Shape::Wide,
    }
}
