//! Tensors of many modes, one level below the other: a game's minimax, and the sum of two.

use super::{at, fiber};
use crate::arrays::{Arrays, Compressed};
use std::ops::Range;

/// Maxima of minima of maxima …, where what is not stored is 0: whether a fiber has all of its coordinates is known by their number.
pub fn minimax(operands: &[&Arrays]) -> Arrays {
    let a = operands[0];
    Arrays::dense(&[], vec![best(a, 0, 0..a.level(0).crd.len())])
}

fn best(a: &Arrays, l: usize, p: Range<usize>) -> f64 {
    match l % 2 {
        0 => folded(a, l, p, f64::NEG_INFINITY, |t, x| if x > t { x } else { t }),
        _ => folded(a, l, p, f64::INFINITY, |t, x| if x < t { x } else { t }),
    }
}

#[inline(always)]
fn folded(a: &Arrays, l: usize, p: Range<usize>, begin: f64, better: impl Fn(f64, f64) -> f64) -> f64 {
    let has_all = p.len() == a.extents[l];
    let found = match a.levels.get(l + 1) {
        None => p.fold(begin, |t, p| better(t, at(&a.values, p))),
        Some(_) => p.fold(begin, |t, p| better(t, best(a, l + 1, fiber(&a.level(l + 1).pos, p)))),
    };
    if has_all { found } else { better(found, 0.0) }
}

/// C = A + B, all in `csf`.
pub fn add(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0], operands[1]);
    let level = |l: usize| {
        let most = a.level(l).crd.len() + b.level(l).crd.len();
        let mut pos =
            Vec::with_capacity(if l == 0 { 2 } else { a.level(l - 1).crd.len() + b.level(l - 1).crd.len() + 1 });
        pos.push(0);
        Compressed::new(pos, Vec::with_capacity(most))
    };
    let mut sum = Sum {
        operands: [a, b],
        levels: (0..a.extents.len()).map(level).collect(),
        values: Vec::with_capacity(a.values.len() + b.values.len()),
    };
    sum.fibers(0, [a, b].map(|o| 0..o.level(0).crd.len()));
    let levels = sum.levels.into_iter().map(Some).collect();
    Arrays { format: "csf", extents: a.extents.clone(), levels, values: sum.values.into() }
}

/// A sum while it is made.
struct Sum<'a> {
    operands: [&'a Arrays; 2],
    levels: Vec<Compressed>,
    values: Vec<f64>,
}

impl Sum<'_> {
    /// Adds up a fiber of either at level `l`.
    fn fibers(&mut self, l: usize, [mut p, mut q]: [Range<usize>; 2]) {
        let [a, b] = self.operands.map(|o| &o.level(l).crd[..]);
        while p.start < p.end && q.start < q.end {
            let (j, k) = (at(a, p.start), at(b, q.start));
            if j == k {
                self.entry(l, j, [Some(p.start), Some(q.start)]);
                p.start += 1;
                q.start += 1;
            } else if j < k {
                self.entry(l, j, [Some(p.start), None]);
                p.start += 1;
            } else {
                self.entry(l, k, [None, Some(q.start)]);
                q.start += 1;
            }
        }
        p.for_each(|p| self.entry(l, at(a, p), [Some(p), None]));
        q.for_each(|q| self.entry(l, at(b, q), [None, Some(q)]));
        let end = self.levels[l].crd.len() as i32;
        self.levels[l].pos.push(end);
    }

    #[inline(always)]
    fn entry(&mut self, l: usize, j: i32, places: [Option<usize>; 2]) {
        self.levels[l].crd.push(j);
        let operands = self.operands;
        if l + 1 == self.levels.len() {
            let value = |o: usize| places[o].map_or(0.0, |p| at(&operands[o].values, p));
            return self.values.push(value(0) + value(1));
        }
        let below = |o: usize| places[o].map_or(0..0, |p| fiber(&operands[o].level(l + 1).pos, p));
        self.fibers(l + 1, [below(0), below(1)]);
    }
}
