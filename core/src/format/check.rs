//! The check of a stored tensor's invariants, for every import and every result.
//!
//! The check goes level by level from the root, as positions multiply, and reads each array in order, so that it reports the first
//! offending place of the outermost offending level. It uses nothing that it has not checked, and allocates nothing larger than one of
//! the tensor's arrays.
mod chain;
pub(super) mod list;
pub(super) mod structure;

use super::levels::At;
use super::{Array, Format, Malformed, Tensor};
use crate::words::counted;
pub(super) use chain::Chain;
use std::rc::Rc;

/// The most positions of a level: every position fits an `i64`.
const POSITIONS: u64 = i64::MAX as u64;

/// The message of a check that has too little memory.
const MEMORY: &str = "memory does not suffice to check what is stored";

impl Malformed {
    /// The error that memory does not suffice to check level `l`.
    pub(super) fn unchecked(l: usize) -> Malformed {
        Malformed { level: Some(l), position: 0, what: MEMORY.to_string() }
    }

    /// Whether memory did not suffice for the check, so that nothing is known to be wrong.
    pub fn is_unchecked(&self) -> bool {
        self.what == MEMORY
    }
}

pub(super) fn malformed<T>(level: Option<usize>, position: usize, what: impl Into<String>) -> Result<T, Malformed> {
    Err(Malformed { level, position, what: what.into() })
}

impl Tensor<'_> {
    /// Checks that every invariant of every level holds; if not, reports the first place where one does not:
    ///
    /// 1. there is one level and one extent per mode; extents are below 2⁶³; the format's order is a permutation of the modes;
    /// 2. arrays of positions and coordinates are `i32` or `i64`, words `u64`, flags `bool`;
    /// 3. `pos` has one element more than the level above has positions, begins with 0, never falls, and ends with the length of `crd`;
    /// 4. coordinates are in the mode's extent and strictly ascending within a fiber; in a chain, its tuples are;
    /// 5. a singleton has one coordinate per parent position;
    /// 6. there is one flag per position; bits behind the last position are 0;
    /// 7. below a flag that is not set, and behind the extent in a block that it cuts off, everything is empty: lists have no entries,
    ///    flags are not set, singletons in no chain have coordinate 0, there is one run, values are bit-identical to the fill value;
    /// 8. the length of a hash table is a power of two, at least 2 and twice the positions; each position is found in it, and no other;
    /// 9. intervals are in the mode's extent; runs reach its end; blocks have one position per coordinate, and do not overlap; aligned
    ///    blocks are numbered within the extent; a triangle stands directly below a dense level of an equal extent;
    /// 10. there is one value per position of the last level, of the fill value's type; bytes of a `bool` are 0 or 1.
    pub fn check(&self) -> Result<(), Malformed> {
        self.check_shape()?;
        let mut above = Above::of(1);
        for l in 0..self.levels.len() {
            above = self.check_level(l, above)?;
        }
        self.check_values(&above)
    }

    /// Checks level `l`; returns its state for the check of the level below.
    fn check_level<'t>(&'t self, l: usize, above: Above<'t>) -> Result<Above<'t>, Malformed> {
        let kind = self.format.levels[l];
        if self.levels[l].kind() != kind {
            return malformed(Some(l), 0, format!("the arrays are not those of a `{}` level", kind.name()));
        }
        kind.of().check(At { tensor: self, l }, above)
    }

    pub(super) fn check_shape(&self) -> Result<(), Malformed> {
        let rank = self.extents.len();
        if self.levels.len() != rank {
            let what = format!("a tensor of {rank} extents needs {rank} levels in its format and among its arrays");
            return malformed(None, 0, what);
        }
        self.format.check(&self.extents)
    }

    fn check_values(&self, above: &Above) -> Result<(), Malformed> {
        let n = self.values.len();
        if n as u64 != above.positions {
            let values = counted(n, "value", "values");
            let positions = counted(above.positions, "position", "positions");
            return malformed(None, n, format!("{values} for {positions} of the last level"));
        }
        if self.values.ty() != self.fill.ty() {
            let what = format!("values of type {} and a fill value of type {}", self.values.ty(), self.fill.ty());
            return malformed(None, 0, what);
        }
        check_bools(None, &self.values)?;
        match above.first_unset(n, |p| self.values.get(p) != self.fill) {
            Some(p) => malformed(
                None,
                p,
                format!("{} stands where a level above says that nothing is stored", self.values.get(p)),
            ),
            None => Ok(()),
        }
    }
}

impl Format {
    /// Checks that this is a format of tensors of these extents: a level per extent, extents below 2⁶³, the order a permutation of the
    /// modes.
    pub(super) fn check(&self, extents: &[u64]) -> Result<(), Malformed> {
        let rank = extents.len();
        if self.levels.len() != rank || self.order.len() != rank {
            let what = format!("a tensor of {rank} extents needs {rank} levels in its format and among its arrays");
            return malformed(None, 0, what);
        }
        let mut seen = vec![false; rank];
        for (l, &m) in self.order.iter().enumerate() {
            if m >= rank || std::mem::replace(&mut seen[m], true) {
                return malformed(Some(l), 0, "the format's order is not a permutation of the modes");
            }
            if extents[m] > POSITIONS {
                return malformed(Some(l), 0, format!("extent {} is not below 2^63", extents[m]));
            }
        }
        Ok(())
    }
}

/// The state above a level that its check needs.
pub(super) struct Above<'t> {
    /// The number of positions of the level above.
    pub(super) positions: u64,
    /// The chain that continues below, if there is one.
    pub(super) chain: Option<Chain<'t>>,
    /// The flags that are not set above the level's positions.
    pub(super) unset: Option<Unset<'t>>,
}

/// Flags of a level above, each of which covers `each` positions of the current level.
#[derive(Clone)]
pub(super) struct Unset<'t> {
    pub(super) of: Source<'t>,
    pub(super) each: u64,
}

/// The storage of flags.
#[derive(Clone)]
pub(super) enum Source<'t> {
    /// The flags of a level.
    Level(At<'t>),
    /// A flag per position of a level: the levels between have uneven numbers of positions below each flag.
    Listed(Rc<Vec<bool>>),
}

impl<'t> Unset<'t> {
    /// The flags above a level that has a position for every coordinate of an extent.
    pub(super) fn spread(of: Option<Unset<'t>>, extent: u64) -> Option<Unset<'t>> {
        of.map(|u| Unset { each: u.each.saturating_mul(extent), ..u })
    }

    /// Whether the flag above position `p` of the current level is set.
    fn is_set(&self, p: usize) -> bool {
        let flag = p / usize::try_from(self.each).unwrap_or(usize::MAX).max(1);
        match &self.of {
            Source::Level(at) => at.level().kind().of().is_set(*at, flag),
            Source::Listed(flags) => flags[flag],
        }
    }
}

impl Above<'_> {
    /// A level of so many positions, all of them stored, that continues no chain.
    pub(super) fn of(positions: u64) -> Above<'static> {
        Above { positions, chain: None, unset: None }
    }

    /// The first of the first `n` positions for which `full` holds although the flag above is not set.
    pub(super) fn first_unset(&self, n: usize, full: impl Fn(usize) -> bool) -> Option<usize> {
        self.unset_among(n).find(|&p| full(p))
    }

    /// The positions among the first `n` whose flag in the level above is not set.
    pub(super) fn unset_among(&self, n: usize) -> impl Iterator<Item = usize> {
        self.unset.iter().flat_map(move |unset| (0..n).filter(|&p| !unset.is_set(p)))
    }
}

/// The number of positions of a level that has one for every coordinate.
pub(super) fn spread(l: usize, parents: u64, extent: u64) -> Result<u64, Malformed> {
    match parents.checked_mul(extent).filter(|&n| n <= POSITIONS) {
        Some(n) => Ok(n),
        None => malformed(Some(l), 0, "the number of positions does not fit 63 bits"),
    }
}

/// Checks that bytes of `bool`s are 0 or 1.
pub(super) fn check_bools(level: Option<usize>, values: &Array) -> Result<(), Malformed> {
    match values {
        Array::Bool(bytes) => match bytes.iter().position(|&b| b > 1) {
            Some(p) => malformed(level, p, format!("a bool's byte is 0 or 1, not {}", bytes[p])),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Checks that no flag is set below one that is not. Returns the level's flags for the level below.
pub(super) fn check_flags<'t>(at: At<'t>, positions: u64, above: Above<'t>) -> Result<Above<'t>, Malformed> {
    let above = Above { unset: Unset::spread(above.unset, at.extent()), ..Above::of(positions) };
    match above.first_unset(positions as usize, |p| at.level().kind().of().is_set(at, p)) {
        Some(p) => malformed(Some(at.l), p, "the flag is set below one that is not"),
        None => Ok(Above { unset: Some(Unset { of: Source::Level(at), each: 1 }), ..above }),
    }
}
