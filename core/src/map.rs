//! Index maps of shape operators: sums of index variables, each times a product of extents.
//!
//! ```text
//!  slice(E, j -> k, s:e:r)       j = s + r·k
//!  split(E, k -> (i, j))         k = J·i + j             J the extent of j
//!  concat((E, F), (j, k) -> l)   j = l,  k = l − J       each where its part stands
//!  collapse(E, (i, j) -> k)      i = k div J,  j = k mod J, by the rule below
//! ```
//!
//! Maps of operators inside one another are maps in one another's places: [`Map::within`]. What a map is of is any
//! numbered thing, so that its laws can be checked on small numbers; extents are numbers where the program says them.
//!
//! Invariant: a size has no term that is 0, a map no variable under the factor 0, so that equal ones are one value.

use std::collections::BTreeMap;

/// Extents that are equal wherever a program runs: a class of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ClassId(pub u32);

/// A polynomial in extents: Σ c · n₁ · n₂ · …
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Size {
    /// By the extents that are multiplied, in ascending order.
    terms: BTreeMap<Vec<ClassId>, i64>,
}

impl Size {
    /// A number.
    pub fn number(n: i64) -> Size {
        Size { terms: (n != 0).then(|| (vec![], n)).into_iter().collect() }
    }

    /// An extent of which nothing is known.
    pub fn unknown(class: ClassId) -> Size {
        Size { terms: BTreeMap::from([(vec![class], 1)]) }
    }

    /// Its terms: a factor, and the extents that it is multiplied with.
    pub fn terms(&self) -> impl Iterator<Item = (i64, &[ClassId])> {
        self.terms.iter().map(|(extents, n)| (*n, &extents[..]))
    }

    /// Its value, if no extent is in it.
    pub fn value(&self) -> Option<i64> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&vec![]).copied(),
            _ => None,
        }
    }

    /// `self + other`
    pub fn plus(&self, other: &Size) -> Size {
        let mut terms = self.terms.clone();
        for (extents, n) in &other.terms {
            let sum = terms.entry(extents.clone()).or_insert(0);
            *sum = sum.saturating_add(*n);
        }
        terms.retain(|_, n| *n != 0);
        Size { terms }
    }

    /// `self · other`
    pub fn times(&self, other: &Size) -> Size {
        let mut product = Size::default();
        for (a, m) in &self.terms {
            for (b, n) in &other.terms {
                let mut extents = [&a[..], b].concat();
                extents.sort();
                let term = (m.saturating_mul(*n) != 0).then(|| (extents, m.saturating_mul(*n)));
                product = product.plus(&Size { terms: term.into_iter().collect() });
            }
        }
        product
    }

    /// `-self`
    pub fn negative(&self) -> Size {
        self.times(&Size::number(-1))
    }

    /// The size with sizes in the places of extents.
    pub fn within(&self, of: &impl Fn(ClassId) -> Option<Size>) -> Size {
        self.terms().fold(Size::default(), |sum, (n, extents)| {
            let sizes = extents.iter().map(|e| of(*e).unwrap_or_else(|| Size::unknown(*e)));
            sum.plus(&sizes.fold(Size::number(n), |product, e| product.times(&e)))
        })
    }

    /// Whether an extent is in it.
    pub fn mentions(&self, class: ClassId) -> bool {
        self.terms().any(|(_, extents)| extents.contains(&class))
    }

    /// `self / by`, if `by` is a single term that divides every term without rest.
    pub fn over(&self, by: &Size) -> Option<Size> {
        let (divisor, by) = by.terms.iter().next().filter(|_| by.terms.len() == 1)?;
        let mut terms = BTreeMap::new();
        for (extents, n) in &self.terms {
            let mut left = extents.clone();
            for class in divisor {
                left.remove(left.iter().position(|c| c == class)?);
            }
            terms.insert(left, (n.checked_rem(*by)? == 0).then(|| n / by)?);
        }
        Some(Size { terms })
    }
}

/// An index map `c + Σ f·v` over variables `V`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Map<V: Ord> {
    /// c
    pub constant: Size,
    /// By variable v, its factor f.
    pub factors: BTreeMap<V, Size>,
}

impl<V: Ord + Copy> Map<V> {
    /// A variable itself.
    pub fn var(v: V) -> Map<V> {
        Map { constant: Size::default(), factors: BTreeMap::from([(v, Size::number(1))]) }
    }

    /// A number.
    pub fn constant(constant: Size) -> Map<V> {
        Map { constant, factors: BTreeMap::new() }
    }

    /// The variable that this map is, if it is one.
    pub fn as_var(&self) -> Option<V> {
        let (v, factor) = self.factors.iter().next()?;
        (*self == Map::var(*v) && factor.value() == Some(1)).then_some(*v)
    }

    /// `self + other`
    pub fn plus(&self, other: &Map<V>) -> Map<V> {
        let mut factors = self.factors.clone();
        for (v, f) in &other.factors {
            let sum = factors.entry(*v).or_default();
            *sum = sum.plus(f);
        }
        factors.retain(|_, f| *f != Size::default());
        Map { constant: self.constant.plus(&other.constant), factors }
    }

    /// `self · by`
    pub fn times(&self, by: &Size) -> Map<V> {
        let mut factors: BTreeMap<V, Size> = self.factors.iter().map(|(v, f)| (*v, f.times(by))).collect();
        factors.retain(|_, f| *f != Size::default());
        Map { constant: self.constant.times(by), factors }
    }

    /// The map with other maps in the places of its variables.
    pub fn within<W: Ord + Copy>(&self, map: impl Fn(V) -> Map<W>) -> Map<W> {
        let terms = self.factors.iter().map(|(v, f)| map(*v).times(f));
        terms.fold(Map::constant(self.constant.clone()), |sum, term| sum.plus(&term))
    }

    /// Rule *slice*: the coordinate that a slice reads at `to`.
    pub fn slice(to: &Map<V>, start: Size, step: i64) -> Map<V> {
        to.times(&Size::number(step)).plus(&Map::constant(start))
    }

    /// Rule *split*: the coordinate of which `to.0` is the quotient by `inner`, the extent of `to.1`, which is the rest.
    pub fn split(to: (&Map<V>, &Map<V>), inner: &Size) -> Map<V> {
        to.0.times(inner).plus(to.1)
    }

    /// Rule *part*: the coordinate inside a part of a concatenation, behind parts of these extents.
    pub fn part(to: &Map<V>, before: &Size) -> Map<V> {
        to.plus(&Map::constant(before.negative()))
    }

    /// Rule *collapse of split*: `(J·k + l) div J = k` and `(J·k + l) mod J = l`, where `l` is nothing or a variable of
    /// extent `J`. `None` where the map is not of this form: the rule says nothing then. Nor does it of `J` = 0, where there is no
    /// coordinate, and `k` may be anything.
    pub fn divided(&self, by: &Size, extent: impl Fn(V) -> Size) -> Option<(Map<V>, Map<V>)> {
        let one = Size::number(1);
        let rests = self.factors.iter().rev().filter(|(v, f)| **f == one && extent(**v) == *by);
        let rests = rests.map(|(v, _)| Map::var(*v)).chain([Map::constant(Size::default())]);
        rests.into_iter().find_map(|rest| {
            let mut whole = Map::constant(self.constant.over(by)?);
            for (v, f) in self.factors.iter().filter(|(v, _)| !rest.factors.contains_key(*v)) {
                whole.factors.insert(*v, f.over(by)?);
            }
            Some((whole, rest))
        })
    }
}
