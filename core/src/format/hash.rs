//! The hash function of a hashed level's table, for storage and for generated code.

/// The odd factor of a parent's position.
pub const PARENT: i64 = 0x5851_F42D_4C95_7F2D;
/// The odd factor of parent and coordinate together.
pub const COORDINATE: i64 = 0x2545_F491_4F6C_DD1D;

/// The place at which the search for a coordinate begins, in a table of `size` places, a power of two.
pub fn slot(parent: i64, coordinate: i64, size: i64) -> i64 {
    let h = (parent.wrapping_mul(PARENT) ^ coordinate).wrapping_mul(COORDINATE);
    (h ^ (h >> 32)) & (size - 1)
}
