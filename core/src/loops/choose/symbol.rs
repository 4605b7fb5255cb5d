//! Symbols: names of values. Of a value choices know whether it is another, or 0, and nothing else; what computes it is known where
//! loops are emitted (`lower/symbols.rs`).

/// The name of a coordinate, a position or a condition. Those of equal expressions are equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sym(pub u32);

impl Sym {
    /// The number 0.
    pub const ZERO: Sym = Sym(0);
}

/// The name of the positions of an entry that has several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run(pub u32);

/// The name of what a cut counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counting(pub u32);

/// The name of a cut's piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch(pub u32);
