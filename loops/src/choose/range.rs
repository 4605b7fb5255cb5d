//! Ranges of a loop.

use crate::choose::symbol::Sym;
use fiberloom_core::map::{Map, Size};
use fiberloom_core::notation::concrete::Index;

/// The beginning or end of a range.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The bound's value.
    pub at: Sym,
    /// The value in terms of extents, if it is loop-invariant.
    pub size: Option<Size>,
}

/// The coordinates of one loop.
#[derive(Clone, Debug)]
pub struct Range {
    /// The first coordinate.
    pub lo: Bound,
    /// One past the last coordinate.
    pub hi: Bound,
}

impl Bound {
    /// A bound whose value in terms of extents is unknown.
    pub fn at(at: Sym) -> Bound {
        Bound { at, size: None }
    }
}

/// A variable along a loop over `v`: `c + r·v`, where `c` is bound outside.
pub struct Line {
    pub c: Map<Index>,
    pub r: Size,
}
