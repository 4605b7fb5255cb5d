//! Spaces: the coordinates along one index variable at which an expression can have a value, and the order in which their parts run out.
//!
//! ```text
//!  collapse(A[i,j], (i,j) -> k) + b[k]      k ∈ (A.i × A.j) ∪ b.k            a · |j| + b
//!  concat((B[j], C[l]), (j,l) -> k)         k ∈ B.j ⊔ C.l                    B.j, and behind its extent C.l
//!  split(a[k], k -> (i,j))                  i ∈ π₀(a.k, J)   j ∈ π₁(a.k, J)  quotients; remainders of one quotient
//!  slice(a[i], i -> k, s:e:r)               k ∈ a.i[s:e:r]                   x with s + r·x < e in a.i
//!
//!  lattice    (A.i × A.j) ∪ b.k ─┬─ A.i runs out ─▶ b.k
//!                                └─ b.k runs out ─▶ A.i × A.j
//! ```
//!
//! These are the sequence expressions of the shape paper (sections 5 and 6), with its rules for what can run out (figure 13) and what is
//! left then (figure 27). Only `fiberloom show lattice` reads them. Lowering splits coordinate ranges first and builds a lattice in each
//! (`super::Lattice`).
//!
//! Invariant: the functions named as the rules build all spaces, so ∅ and 𝓕 never occur inside of one.

use crate::map::{ClassId, Size};
use std::fmt::Write;

/// A set of coordinates.
#[derive(Clone, Debug, PartialEq)]
pub enum Space {
    /// ∅: nothing is left, though not every coordinate was visited.
    Empty,
    /// 𝓕: nothing is left, because every coordinate was visited.
    Full,
    /// The coordinates of a level along the variable.
    Level {
        /// The level's name, as `A.j`.
        name: String,
        /// Whether the level has every coordinate.
        dense: bool,
    },
    /// ∩
    And(Box<Space>, Box<Space>),
    /// ∪
    Or(Box<Space>, Box<Space>),
    /// `{ a·n + b }`, n being the extent of b.
    Product(Box<Space>, Box<Space>, Size),
    /// `A ∪ { m + b }`; the extents m of A and n of B.
    Concat(Box<Space>, Box<Space>, [Size; 2]),
    /// π₀: `{ a div n }`
    Outer(Box<Space>, Size),
    /// π₁: `{ a − i·n }` for the a of block i, from i·n on and below (i + 1)·n. The loop outside binds i.
    Inner(Box<Space>, Size),
    /// `{ x | start + step·x < end, start + step·x ∈ A }`
    Slice(Box<Space>, Cut),
    /// `m + A + n`: A with so much extent before and behind it.
    Pad(Size, Box<Space>, Size),
}

/// `start:end:step`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The first coordinate.
    pub start: u64,
    /// One past the last coordinate; `None`: the extent.
    pub end: Option<u64>,
    /// The step, at least 1.
    pub step: u64,
}

/// A part that can run out of a space while a loop goes over it.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The part that runs out: a level, a slice or a projection.
    pub exhausted: Space,
    /// The space that is left.
    pub left: Space,
    /// Whether the space that is left lies behind everything before: then it is no *sub-point*, and no case of the body before the edge.
    pub behind: bool,
}

/// The rules of figure 27.
impl Space {
    /// Union: 𝓕 ∪ s = 𝓕, ∅ ∪ s = s.
    pub fn or(a: Space, b: Space) -> Space {
        match (a, b) {
            (Space::Full, _) | (_, Space::Full) => Space::Full,
            (Space::Empty, s) | (s, Space::Empty) => s,
            (a, b) => Space::Or(Box::new(a), Box::new(b)),
        }
    }

    /// Intersection: 𝓕 ∩ s = 𝓕, ∅ ∩ s = ∅.
    pub fn and(a: Space, b: Space) -> Space {
        match (a, b) {
            (Space::Full, _) | (_, Space::Full) => Space::Full,
            (Space::Empty, _) | (_, Space::Empty) => Space::Empty,
            (a, b) => Space::And(Box::new(a), Box::new(b)),
        }
    }

    /// Product: 𝓕 × b = 𝓕 if b is dense, else ∅; ∅ × b = a × ∅ = ∅.
    pub fn product(a: Space, b: Space, extent: Size) -> Space {
        match (a, b) {
            (Space::Full, b) if b.is_dense() => Space::Full,
            (Space::Empty | Space::Full, _) | (_, Space::Empty | Space::Full) => Space::Empty,
            (a, b) => Space::Product(Box::new(a), Box::new(b), extent),
        }
    }

    /// Concatenation: |a| + b if a has run out, a + |b| if b is empty.
    pub fn concat(a: Space, b: Space, [m, n]: [Size; 2]) -> Space {
        match (a, b) {
            (Space::Empty | Space::Full, b) => Space::pad(m, b, Size::default()),
            (a, Space::Empty | Space::Full) => Space::pad(Size::default(), a, n),
            (a, b) => Space::Concat(Box::new(a), Box::new(b), [m, n]),
        }
    }

    /// Offsets: ∅ if the space has run out. Even 𝓕 becomes ∅, as it does not cover the coordinates around it: a dense level of extent 0
    /// has run out before the coordinates before it are reached.
    pub fn pad(before: Size, s: Space, behind: Size) -> Space {
        if s.is_done() { Space::Empty } else { Space::Pad(before, Box::new(s), behind) }
    }

    /// Projection to quotients: π₀(𝓕) = 𝓕, π₀(∅) = ∅.
    pub fn outer(s: Space, by: Size) -> Space {
        if s.is_done() { s } else { Space::Outer(Box::new(s), by) }
    }

    /// Projection to remainders: π₁(𝓕) = 𝓕, π₁(∅) = ∅.
    pub fn inner(s: Space, by: Size) -> Space {
        if s.is_done() { s } else { Space::Inner(Box::new(s), by) }
    }

    /// Slice: `𝓕[s:e:r] = 𝓕`, `∅[s:e:r] = ∅`.
    pub fn slice(s: Space, cut: Cut) -> Space {
        if s.is_done() { s } else { Space::Slice(Box::new(s), cut) }
    }
}

impl Space {
    /// Whether the space has run out: it is ∅ or 𝓕.
    pub fn is_done(&self) -> bool {
        matches!(self, Space::Empty | Space::Full)
    }

    /// Whether the space certainly contains every coordinate below its extent.
    pub fn is_dense(&self) -> bool {
        match self {
            Space::Empty | Space::Full | Space::Pad(..) => false,
            Space::Level { dense, .. } => *dense,
            Space::Or(a, b) => a.is_dense() || b.is_dense(),
            Space::And(a, b) | Space::Product(a, b, _) | Space::Concat(a, b, _) => a.is_dense() && b.is_dense(),
            Space::Outer(s, _) | Space::Inner(s, _) | Space::Slice(s, _) => s.is_dense(),
        }
    }

    /// The parts that can run out, each with the space that is left (figure 13). Of a product and of a concatenation only the first part
    /// can: a product's second begins again, and a concatenation's second lies behind. A slice or projection can also run out by itself.
    pub fn edges(&self) -> Vec<Edge> {
        let itself = || {
            let left = if self.is_dense() { Space::Full } else { Space::Empty };
            Edge { exhausted: self.clone(), left, behind: false }
        };
        let inside = |s: &Space, left: &dyn Fn(Space) -> Space| -> Vec<Edge> {
            s.edges().into_iter().map(|e| Edge { left: left(e.left), ..e }).collect()
        };
        match self {
            Space::Empty | Space::Full => vec![],
            Space::Level { .. } => vec![itself()],
            Space::Or(a, b) => {
                let first = inside(a, &|s| Space::or(s, (**b).clone()));
                first.into_iter().chain(inside(b, &|s| Space::or((**a).clone(), s))).collect()
            }
            Space::And(a, b) => {
                let first = inside(a, &|s| Space::and(s, (**b).clone()));
                first.into_iter().chain(inside(b, &|s| Space::and((**a).clone(), s))).collect()
            }
            Space::Product(a, b, extent) => inside(a, &|s| Space::product(s, (**b).clone(), extent.clone())),
            Space::Concat(a, b, extents) => {
                let left = |e: Edge| {
                    let behind = e.behind || e.left.is_done();
                    Edge { left: Space::concat(e.left, (**b).clone(), extents.clone()), behind, ..e }
                };
                a.edges().into_iter().map(left).collect()
            }
            Space::Pad(m, s, n) => inside(s, &|s| Space::pad(m.clone(), s, n.clone())),
            Space::Outer(s, by) => [vec![itself()], inside(s, &|s| Space::outer(s, by.clone()))].concat(),
            Space::Inner(s, by) => [vec![itself()], inside(s, &|s| Space::inner(s, by.clone()))].concat(),
            Space::Slice(s, cut) => [vec![itself()], inside(s, &|s| Space::slice(s, *cut))].concat(),
        }
    }

    /// The space as text; `name` gives the names of extents.
    pub fn show(&self, name: &impl Fn(ClassId) -> String) -> String {
        let size = |n: &Size| show(n, name);
        // The operand of an operator with two sides, in parentheses if it is one itself.
        let side = |s: &Space| {
            let two =
                matches!(s, Space::And(..) | Space::Or(..) | Space::Product(..) | Space::Concat(..) | Space::Pad(..));
            if two { format!("({})", s.show(name)) } else { s.show(name) }
        };
        match self {
            Space::Empty => "∅".to_string(),
            Space::Full => "𝓕".to_string(),
            Space::Level { name, .. } => name.clone(),
            Space::And(a, b) => format!("{} ∩ {}", side(a), side(b)),
            Space::Or(a, b) => format!("{} ∪ {}", side(a), side(b)),
            Space::Product(a, b, _) => format!("{} × {}", side(a), side(b)),
            Space::Concat(a, b, _) => format!("{} ⊔ {}", side(a), side(b)),
            Space::Outer(s, by) => format!("π₀({}, {})", s.show(name), size(by)),
            Space::Inner(s, by) => format!("π₁({}, {})", s.show(name), size(by)),
            Space::Slice(s, Cut { start, end, step }) => {
                let end = end.map_or(String::new(), |e| e.to_string());
                let step = if *step == 1 { String::new() } else { format!(":{step}") };
                format!("{}[{start}:{end}{step}]", side(s))
            }
            Space::Pad(m, s, n) => {
                let (nothing, mut text) = (Size::default(), side(s));
                if *m != nothing {
                    text = format!("{} + {text}", size(m));
                }
                if *n != nothing {
                    write!(text, " + {}", size(n)).expect("strings take everything");
                }
                text
            }
        }
    }
}

fn show(size: &Size, name: &impl Fn(ClassId) -> String) -> String {
    let term = |(n, extents): (i64, &[ClassId])| {
        let number = (n != 1 || extents.is_empty()).then(|| n.to_string());
        number.into_iter().chain(extents.iter().map(|e| name(*e))).collect::<Vec<_>>().join("·")
    };
    let terms: Vec<String> = size.terms().map(term).collect();
    if terms.is_empty() { "0".to_string() } else { terms.join(" + ") }
}

/// The iteration lattice of a space: points in drop-out order, each before the points that its edges lead to.
#[derive(Clone, Debug, PartialEq)]
pub struct SpaceLattice {
    /// Distinct spaces, the whole space first. None of them has run out.
    pub points: Vec<SpacePoint>,
}

/// A loop that continues until some part runs out.
#[derive(Clone, Debug, PartialEq)]
pub struct SpacePoint {
    /// The space that the loop goes over.
    pub space: Space,
    /// The parts that can run out, in the order of [`Space::edges`], each with the remaining point; `None` if nothing remains.
    pub edges: Vec<(Edge, Option<usize>)>,
}

impl SpaceLattice {
    /// The lattice, top down (figure 12); `None` if it has more than `most` points: a union of n spaces has 2ⁿ.
    pub fn of(space: &Space, most: usize) -> Option<SpaceLattice> {
        let mut found = vec![];
        collect(space, most, &mut found)?;
        found.reverse();
        let place = |s: &Space| found.iter().position(|f| f == s);
        let point = |space: &Space| {
            let edge = |e: Edge| {
                let to = place(&e.left);
                (e, to)
            };
            SpacePoint { space: space.clone(), edges: space.edges().into_iter().map(edge).collect() }
        };
        Some(SpaceLattice { points: found.iter().map(point).collect() })
    }

    /// The sub-points of a point, itself first: all points that its edges reach, except along edges that lead behind. They are the cases
    /// of the loop's body.
    pub fn sub_points(&self, point: usize) -> Vec<usize> {
        let mut found = vec![point];
        let mut next = 0;
        while let Some(point) = found.get(next).map(|p| &self.points[*p]) {
            for to in point.edges.iter().filter(|(e, _)| !e.behind).filter_map(|(_, to)| *to) {
                if !found.contains(&to) {
                    found.push(to);
                }
            }
            next += 1;
        }
        found
    }
}

/// Adds all spaces that edges reach, each behind those that its own edges reach.
fn collect(space: &Space, most: usize, found: &mut Vec<Space>) -> Option<()> {
    if space.is_done() || found.contains(space) {
        return Some(());
    }
    for edge in space.edges() {
        collect(&edge.left, most, found)?;
    }
    found.push(space.clone());
    (found.len() <= most).then_some(())
}
