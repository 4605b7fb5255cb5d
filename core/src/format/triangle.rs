//! Triangles of a square of n rows: the positions of the entries on and below, or on and above, its diagonal.
//!
//! ```text
//!   lower, symmetric        upper
//!   0 . . .                 0 1 2 3
//!   1 2 . .                 . 4 5 6         row by row; T = n (n + 1) / 2 positions
//!   3 4 5 .                 . . 7 8
//!   6 7 8 9                 . . . 9         rotated by a half turn each is the other, counted from its end
//! ```
//!
//! Coordinates are below n, positions below T, and T is below 2⁶³.

use super::LevelKind;

/// The triangle of a square; a symmetric level mirrors its lower triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Triangle {
    Lower,
    Upper,
    Symmetric,
}

/// Checks that a triangle of `n` rows may be below this level and extent. The error says why not.
pub fn stands(kind: LevelKind, n: u64, outer: Option<(LevelKind, u64)>) -> Result<(), String> {
    if outer.is_some_and(|(above, rows)| above.is_full() && rows == n) {
        return Ok(());
    }
    Err(format!("a level `{}` stands directly below a dense level of an equal extent", kind.name()))
}

/// The number of positions in the triangle of `n` rows, if it is below 2⁶³.
pub fn positions(n: u64) -> Option<u64> {
    let all = n as u128 * (n as u128 + 1) / 2;
    u64::try_from(all).ok().filter(|t| *t < 1 << 63)
}

/// The position of `(i, j)`; `None` if it is outside of the triangle.
pub fn position(kind: Triangle, n: u64, i: u64, j: u64) -> Option<u64> {
    let below = |i: u64, j: u64| (i as u128 * (i as u128 + 1) / 2) as u64 + j;
    match kind {
        Triangle::Upper => (i <= j).then(|| positions(n).expect("checked") - 1 - below(n - 1 - i, n - 1 - j)),
        _ => (j <= i).then(|| below(i, j)),
    }
}

/// The coordinates of a position.
pub fn coordinates(kind: Triangle, n: u64, position: u64) -> (u64, u64) {
    let below = |p: u64| {
        let i = ((8 * p as u128 + 1).isqrt() as u64 - 1) / 2;
        (i, p - (i as u128 * (i as u128 + 1) / 2) as u64)
    };
    match kind {
        Triangle::Upper => {
            let (i, j) = below(positions(n).expect("checked") - 1 - position);
            (n - 1 - i, n - 1 - j)
        }
        _ => below(position),
    }
}

/// The triangle of a position among the triangles of consecutive squares of `n` rows, and its coordinates there.
///
/// # Panics
/// If the positions of one triangle do not fit 63 bits.
pub fn within(kind: Triangle, n: u64, position: usize) -> (u64, (u64, u64)) {
    let all = positions(n).expect("a checked tensor").max(1);
    (position as u64 / all, coordinates(kind, n, position as u64 % all))
}

/// The position, in the level above, of the row that contains a position of such triangles.
///
/// # Panics
/// As [`within`].
pub fn parent(kind: Triangle, n: u64, position: usize) -> usize {
    let (which, (i, _)) = within(kind, n, position);
    (which * n + i) as usize
}
