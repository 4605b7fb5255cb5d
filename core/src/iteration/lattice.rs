//! Iteration lattices: the bodies of a loop as its lists are exhausted one by one.

use super::sequence::{Sequence, background};
use super::simplify::Simplify;
use crate::algebra::Value;
use crate::notation::concrete::{AccessId, Expr};

/// The points of one loop; it begins at `points[0]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Lattice {
    /// The points, with distinct bodies.
    pub points: Vec<Point>,
}

/// A lattice point: a body, and how the loop walks it.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The simplified body, which identifies the point.
    pub body: Expr,
    /// The coordinates at which the body must run.
    pub sequence: Sequence,
    /// The lists that lead: in an intersection those that contain every coordinate, if there are any, else all lists of the sequence.
    pub leaders: Vec<AccessId>,
    /// Lists that the body reads but that do not lead.
    pub followers: Vec<AccessId>,
    /// The sequence over followers that has to hold at the leaders' coordinates for the body to run; 𝓕 if any coordinate will do.
    pub beside: Sequence,
    /// The shape of the point's loop.
    pub shape: Shape,
    /// (exhausted list, remaining point), for trees only: their tails are loops of their own.
    pub edges: Vec<(AccessId, usize)>,
}

/// The shape of a point's loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// No coordinate.
    Nothing,
    /// Every coordinate of the extent; lists are followed by cursors.
    Dense,
    /// One leader: a counted loop over its positions.
    Each,
    /// Two or more leaders that all have to have an entry: one equality test, advances without branches.
    Intersect,
    /// Two lists of which either suffices: a decision tree, then two tails.
    Tree,
    /// Three lists or more: one loop, exhausted lists at infinity.
    Wide,
}

impl Lattice {
    /// The lattice of `body` over `lists`. `nothing` says whether running a body has no effect.
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

    /// The point of `body`, added if it is new.
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
        // Only the first point: a tail has the same background, and begins behind what was walked, not at 0.
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

/// The shape of the loop over a sequence with these leaders.
pub fn shape(sequence: &Sequence, leaders: &[AccessId]) -> Shape {
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
