//! Generators, engines and comparisons: a plain library, so that fuzz targets are glue and `cargo test` runs it too.

pub mod format;
pub mod iteration;
pub mod loops;
pub mod notation;

pub use fiberloom_codegen::OptLevel;

/// Bytes from a fixed seed.
pub fn bytes(mut seed: u64, len: usize) -> Vec<u8> {
    let mut next = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}
