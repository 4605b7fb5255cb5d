//! Spaces and their lattices against sets: the body of the fuzz target `lattice_rules`.
//!
//! ```text
//!  bytes ─▶ a space of some extent, nested up to four deep ─▶ levels with coordinates
//!             │ each operator, made by its rule             = the same operator on sets
//!             │ the lattice, walked in drop-out order       = the whole set, each coordinate once, ascending
//!             └ what is left at an edge                     ⊆ the whole set; the whole without what ran out, in ∅'s rules
//! ```
//!
//! The sets are those of `semantics`, which knows no rule. Spaces are what `show lattice` prints first; the lattices that
//! lowering emits are other ones (`core::iteration::Lattice`), and nothing here reaches them.

use arbitrary::{Result, Unstructured};
use fiberloom_core::iteration::{Cut, Space, SpaceLattice};
use fiberloom_core::shape::Size;
use fiberloom_semantics::iteration::{Data, coordinates, walk};
use std::collections::BTreeSet;

/// Most points of a lattice that is walked.
const POINTS: usize = 400;

/// Makes a space with its data of the bytes, and checks it.
///
/// # Panics
/// With the space and its data, if a rule or its lattice is wrong.
pub fn attack(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let made = u.int_in_range(0..=8).and_then(|extent| {
        let mut made = Made { u: &mut u, data: Data::default(), rules: BTreeSet::new() };
        let space = made.space(extent, 4)?;
        let data = made.data;
        Ok((space, data))
    });
    if let Ok((space, data)) = made {
        check(&space, &data);
    }
}

/// Checks a space's lattice.
fn check(space: &Space, data: &Data) {
    let Some(lattice) = SpaceLattice::of(space, POINTS) else { return };
    let wrong = |what: &str| -> String {
        let points: Vec<String> = lattice.points.iter().map(|p| text(&p.space)).collect();
        format!("{what}\n{}\n{data:?}\n{points:#?}", text(space))
    };
    let all = coordinates(space, data);
    let visited: Vec<u64> = walk(&lattice, data).into_iter().map(|(_, x)| x).collect();
    assert!(visited.iter().eq(all.iter()), "{}", wrong(&format!("visited {visited:?}, not {all:?}")));
    for (n, point) in lattice.points.iter().enumerate() {
        let here = coordinates(&point.space, data);
        for (edge, to) in &point.edges {
            let left = coordinates(&edge.left, data);
            assert!(left.is_subset(&here), "{}", wrong(&format!("{} leaves more", text(&edge.exhausted))));
            assert!(to.is_none_or(|to| to > n), "{}", wrong("points are not in drop-out order"));
            assert_eq!(to.is_none(), edge.left.is_done(), "{}", wrong("only what is done has no point"));
        }
    }
}

/// A space as text; its extents are numbers.
fn text(space: &Space) -> String {
    space.show(&|c| format!("n{c:?}"))
}

/// A space that is being made, with the levels of it.
struct Made<'a, 'b> {
    u: &'a mut Unstructured<'b>,
    data: Data,
    /// The rules that were used, by their names.
    rules: BTreeSet<&'static str>,
}

impl Made<'_, '_> {
    /// A space of an extent.
    fn space(&mut self, n: u64, depth: usize) -> Result<Space> {
        let Some(depth) = depth.checked_sub(1) else { return self.level(n) };
        let number = |n: u64| Size::number(n as i64);
        let of = |n: u64| move |made: &mut Self| made.space(n, depth);
        match self.u.int_in_range(0..=9)? {
            0 | 1 => self.level(n),
            2 => self.two("or", of(n), of(n), Space::or, |a, b| a | b),
            3 => self.two("and", of(n), of(n), Space::and, |a, b| a & b),
            4 => {
                let divisors: Vec<u64> = (1..=n.max(1)).filter(|d| n.is_multiple_of(*d)).collect();
                let inner = *self.u.choose(&divisors)?;
                let product = |a, b| Space::product(a, b, number(inner));
                let pairs = |a: &BTreeSet<u64>, b: &BTreeSet<u64>| {
                    a.iter().flat_map(|x| b.iter().map(move |y| x * inner + y)).collect()
                };
                self.two("product", of(n / inner), of(inner), product, pairs)
            }
            5 => {
                let m = self.u.int_in_range(0..=n)?;
                let concat = |a, b| Space::concat(a, b, [number(m), number(n - m)]);
                let behind = |a: &BTreeSet<u64>, b: &BTreeSet<u64>| a | &b.iter().map(|y| y + m).collect();
                self.two("concat", of(m), of(n - m), concat, behind)
            }
            6 => {
                let by = self.u.int_in_range(1..=3)?;
                let quotients = |s: &BTreeSet<u64>| s.iter().map(|x| x / by).collect();
                self.one("outer", of(n * by), |s| Space::outer(s, number(by)), quotients)
            }
            7 => {
                let block = self.data.block;
                let remainders = |s: &BTreeSet<u64>| s.iter().filter(|x| *x / n == block).map(|x| x % n).collect();
                let blocks = block + self.u.int_in_range(1..=2)?;
                if n == 0 {
                    return self.level(n);
                }
                self.one("inner", of(n * blocks), |s| Space::inner(s, number(n)), remainders)
            }
            8 => {
                let (start, step) = (self.u.int_in_range(0..=2)?, self.u.int_in_range(1..=3)?);
                let last = if n == 0 { start } else { start + step * (n - 1) + self.u.int_in_range(1..=step)? };
                let whole = last + self.u.int_in_range(0..=2)?;
                let end = (whole != last || self.u.arbitrary()?).then_some(last);
                let places = |s: &BTreeSet<u64>| (0..n).filter(|x| s.contains(&(start + step * x))).collect();
                self.one("slice", of(whole), |s| Space::slice(s, Cut { start, end, step }), places)
            }
            _ => {
                let before = self.u.int_in_range(0..=n)?;
                let behind = self.u.int_in_range(0..=n - before)?;
                let shifted = |s: &BTreeSet<u64>| s.iter().map(|x| x + before).collect();
                let pad = |s| Space::pad(number(before), s, number(behind));
                self.one("pad", of(n - before - behind), pad, shifted)
            }
        }
    }

    /// An operator of two spaces by its rule, the same as on sets.
    fn two(
        &mut self,
        rule: &'static str,
        a: impl Fn(&mut Self) -> Result<Space>,
        b: impl Fn(&mut Self) -> Result<Space>,
        made: impl Fn(Space, Space) -> Space,
        sets: impl Fn(&BTreeSet<u64>, &BTreeSet<u64>) -> BTreeSet<u64>,
    ) -> Result<Space> {
        let (a, b) = (a(self)?, b(self)?);
        let meant = sets(&coordinates(&a, &self.data), &coordinates(&b, &self.data));
        self.agrees(rule, made(a, b), meant)
    }

    /// An operator of one space by its rule, the same as on sets.
    fn one(
        &mut self,
        rule: &'static str,
        of: impl Fn(&mut Self) -> Result<Space>,
        made: impl Fn(Space) -> Space,
        sets: impl Fn(&BTreeSet<u64>) -> BTreeSet<u64>,
    ) -> Result<Space> {
        let of = of(self)?;
        let meant = sets(&coordinates(&of, &self.data));
        self.agrees(rule, made(of), meant)
    }

    fn agrees(&mut self, rule: &'static str, space: Space, meant: BTreeSet<u64>) -> Result<Space> {
        self.rules.insert(rule);
        assert_eq!(coordinates(&space, &self.data), meant, "{rule}: {}, {:?}", text(&space), self.data);
        Ok(space)
    }

    /// A level of an extent, rarely ∅.
    fn level(&mut self, n: u64) -> Result<Space> {
        let kind = self.u.int_in_range(0..=9)?;
        if kind == 0 {
            return Ok(Space::Empty);
        }
        let dense = kind < 4;
        let name = format!("a{}", self.data.levels.len());
        let mut held = BTreeSet::new();
        for x in 0..n {
            if dense || self.u.arbitrary()? {
                held.insert(x);
            }
        }
        self.data.levels.insert(name.clone(), held);
        Ok(Space::Level { name, dense })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random spaces; each operator is met.
    #[test]
    fn lattices_walk_their_sets() {
        let mut rules = BTreeSet::new();
        for seed in 0..20_000 {
            let bytes = crate::bytes(seed, 200);
            let mut u = Unstructured::new(&bytes);
            let block = u.int_in_range(0..=2).unwrap();
            let extent = u.int_in_range(0..=8).unwrap();
            let mut made =
                Made { u: &mut u, data: Data { block, ..Data::default() }, rules: std::mem::take(&mut rules) };
            if let Ok(space) = made.space(extent, 4) {
                check(&space, &made.data);
            }
            rules = made.rules;
        }
        let all = ["and", "concat", "inner", "or", "outer", "pad", "product", "slice"];
        assert!(rules.iter().eq(all.iter()), "{rules:?}");
    }
}
