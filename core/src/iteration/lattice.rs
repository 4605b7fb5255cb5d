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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{Mode, Op, Type};
    use crate::notation::typed::Fun;

    const LISTS: [AccessId; 3] = [AccessId(0), AccessId(1), AccessId(2)];
    const S: Simplify = Simplify { mode: Mode::Strict, functions: &[] };

    fn zero() -> Value {
        Value::i64(0)
    }

    fn is_zero(e: &Expr) -> bool {
        *e == Expr::Literal(zero())
    }

    /// Bodies of three lists, 0 and 1 under `+`, `*` and `min`, up to two operators deep.
    fn bodies() -> Vec<Expr> {
        let leaf = |a: &AccessId| Expr::Access(*a, Type::I64);
        let leaves: Vec<Expr> = LISTS.iter().map(leaf).chain([0, 1].map(|n| Expr::Literal(Value::i64(n)))).collect();
        let joined = |of: &[Expr], with: &[Expr]| -> Vec<Expr> {
            let pairs = of.iter().flat_map(|a| with.iter().map(move |b| [a.clone(), b.clone()]));
            let calls = pairs.flat_map(|pair| [Op::Add, Op::Mul, Op::Min].map(|op| (op, pair.to_vec())));
            calls.map(|(op, args)| S.simplify(&Expr::Call(Fun::Op(op), args, Type::I64))).collect()
        };
        let once = joined(&leaves, &leaves);
        let twice = joined(&once, &leaves);
        let both = joined(&once, &once);
        [leaves, once, twice, both].concat()
    }

    /// The body's value where these lists have an entry, each another number.
    fn value(body: &Expr, present: u32) -> Expr {
        let of = |a: AccessId| if present >> a.0 & 1 == 1 { Value::i64(7 + 4 * a.0 as i64) } else { zero() };
        S.replace(body, &|a| Some(of(a)))
    }

    fn holds(s: &Sequence, present: u32) -> bool {
        s.fold(&mut |a| present >> a.0 & 1 == 1, &|c| c, &mut |a, b| a && b, &mut |a, b| a || b)
    }

    /// Whether a point's loop runs its body at a coordinate where these lists have an entry, until one of its lists is
    /// exhausted.
    fn runs(point: &Point, present: u32) -> bool {
        let mut leads = point.leaders.iter().map(|a| present >> a.0 & 1 == 1);
        match point.shape {
            Shape::Nothing => false,
            Shape::Dense => true,
            Shape::Each | Shape::Intersect => leads.all(|here| here) && holds(&point.beside, present),
            Shape::Tree => leads.any(|here| here),
            Shape::Wide => holds(&point.sequence, present),
        }
    }

    /// Each loop runs exactly where its sequence says, and that is wherever the body has an effect; a tail's body is the
    /// whole body without the exhausted list; equal bodies are one point.
    #[test]
    fn points_run_where_their_bodies_have_an_effect() {
        let mut shapes = std::collections::BTreeMap::new();
        for body in bodies() {
            let lattice = Lattice::of(&body, &LISTS, &|_| zero(), &is_zero, S);
            for (n, point) in lattice.points.iter().enumerate() {
                *shapes.entry(format!("{:?}", point.shape)).or_insert(0) += 1;
                assert!(lattice.points[..n].iter().all(|before| before.body != point.body), "{lattice:?}");
                for present in 0..1 << LISTS.len() {
                    assert_eq!(runs(point, present), holds(&point.sequence, present), "{present:b}: {point:?}");
                    // A tail has the background of the whole loop, and need not write it.
                    let effect = value(&point.body, present) != value(&lattice.points[0].body, 0);
                    assert!(runs(point, present) || !effect, "{present:b}: {point:?}");
                }
                let edges: Vec<AccessId> = point.edges.iter().map(|(list, _)| *list).collect();
                assert_eq!(edges, if point.shape == Shape::Tree { point.leaders.clone() } else { vec![] });
                for (list, to) in &point.edges {
                    let left = S.replace(&point.body, &|a| (a == *list).then(zero));
                    assert_eq!(lattice.points[*to].body, left);
                }
            }
        }
        assert!(shapes.len() == 6 && shapes.values().all(|n| *n > 10), "{shapes:?}");
    }
}
