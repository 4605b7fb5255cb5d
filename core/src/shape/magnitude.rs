//! Extents in classes by how many bits a coordinate needs.

/// The number of bits of the largest coordinate, rounded up to one of a few widths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Magnitude(u32);

impl Magnitude {
    /// All magnitudes. Three of the second, two of the third, or one of the third with two of the first fit 63 bits together.
    pub const ALL: [Magnitude; 4] = [Magnitude(16), Magnitude(21), Magnitude(31), Magnitude(63)];

    /// The magnitude of an extent.
    pub fn of(extent: u64) -> Magnitude {
        let bits = u64::BITS - extent.saturating_sub(1).leading_zeros();
        Self::ALL.into_iter().find(|m| bits <= m.0).unwrap_or(Self::ALL[3])
    }

    /// Whether an array of this extent is too long for a workspace of few values.
    pub fn is_wide(self) -> bool {
        self > Self::ALL[1]
    }

    /// How many bits that is.
    pub fn bits(self) -> u32 {
        self.0
    }
}
