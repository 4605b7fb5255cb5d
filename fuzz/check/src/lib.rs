//! Generators, engines and comparisons: a plain library, so that fuzz targets are glue and `cargo test` runs it too.

pub mod format;
pub mod iteration;
pub mod loops;
pub mod notation;

pub use fiberloom_codegen::OptLevel;

/// How much tests try, which the variable `FIBERLOOM_TESTS` says: `quick`, `long`, or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// A sample that takes seconds.
    Quick,
    /// What each change is held to.
    Usual,
    /// All that there is: walks that come to every construct, every bound of every law.
    Long,
}

impl Effort {
    /// What the environment says.
    pub fn said() -> Effort {
        match std::env::var("FIBERLOOM_TESTS").as_deref() {
            Ok("quick") => Effort::Quick,
            Ok("long") => Effort::Long,
            _ => Effort::Usual,
        }
    }

    /// Whether so little is tried that not every construct is reached.
    pub fn is_sample(self) -> bool {
        self == Effort::Quick
    }

    /// How many of something are tried, of so many that are where nothing is spared and so many that are usual.
    pub fn of(self, long: u64, usual: u64) -> u64 {
        match self {
            Effort::Quick => usual.div_ceil(8),
            Effort::Usual => usual,
            Effort::Long => long,
        }
    }
}

/// Bytes from a fixed seed.
pub fn bytes(mut seed: u64, len: usize) -> Vec<u8> {
    let mut next = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}
