//! Lists of coordinates: `pos` gives a fiber's positions, and their coordinates are strictly ascending.

use super::{Above, malformed};
use crate::algebra::Type;
use crate::format::{Array, Malformed};
use crate::parallel::{self, STRETCH};
use crate::words::counted;

/// Checks that an array has this length, and one of these types.
pub(in crate::format) fn length_and_type(
    l: usize,
    name: &str,
    array: &Array,
    n: u64,
    types: &[Type],
) -> Result<(), Malformed> {
    if array.len() as u64 != n {
        let elements = counted(array.len(), "element", "elements");
        return malformed(Some(l), array.len(), format!("{name} has {elements}, {n} expected"));
    }
    if !types.contains(&array.ty()) {
        let names: Vec<_> = types.iter().map(|ty| ty.name()).collect();
        let what = format!("{name} is of type {}, {} expected", array.ty(), names.join(" or "));
        return malformed(Some(l), 0, what);
    }
    Ok(())
}

/// Checks a level of unique coordinates.
pub(in crate::format) fn check(
    l: usize,
    pos: &Array,
    crd: &Array,
    extent: u64,
    above: &Above,
) -> Result<(), Malformed> {
    check_pos(l, pos, crd.len(), above)?;
    check_crd(l, pos, crd, extent)
}

/// Checks `pos` of a level that stores so many coordinates.
pub(in crate::format) fn check_pos(l: usize, pos: &Array, stored: usize, above: &Above) -> Result<(), Malformed> {
    let parents = above.positions;
    if (pos.len() as u64).checked_sub(1) != Some(parents) {
        return malformed(Some(l), pos.len(), format!("pos has {} elements, {parents} + 1 expected", pos.len()));
    }
    match pos {
        Array::I32(v) => check_pos_of(l, v, stored)?,
        Array::I64(v) => check_pos_of(l, v, stored)?,
        _ => return malformed(Some(l), 0, format!("pos is of type {}, i32 or i64 expected", pos.ty())),
    }
    match above.first_unset(pos.len() - 1, |p| pos.index(p) < pos.index(p + 1)) {
        Some(p) => malformed(Some(l), p, "the fiber is not empty, though a flag above says that it is"),
        None => Ok(()),
    }
}

fn check_pos_of<T: Index>(l: usize, pos: &[T], stored: usize) -> Result<(), Malformed> {
    let first: i64 = pos[0].into();
    if first != 0 {
        return malformed(Some(l), 0, format!("pos begins with {first}, not with 0"));
    }
    if neighbours(pos, |a, b| a > b) > 0
        && let Some(p) = pos.windows(2).position(|w| w[0] > w[1])
    {
        let (a, b): (i64, i64) = (pos[p].into(), pos[p + 1].into());
        return malformed(Some(l), p + 1, format!("pos falls from {a} to {b}"));
    }
    let last: i64 = pos[pos.len() - 1].into();
    if last as u64 != stored as u64 {
        return malformed(Some(l), pos.len() - 1, format!("pos ends with {last}, but there are {stored} coordinates"));
    }
    Ok(())
}

/// Checks the coordinates of a level whose `pos` has been checked.
fn check_crd(l: usize, pos: &Array, crd: &Array, extent: u64) -> Result<(), Malformed> {
    match (pos, crd) {
        (Array::I32(p), Array::I32(c)) => check_crd_of(l, p, c, extent),
        (Array::I64(p), Array::I32(c)) => check_crd_of(l, p, c, extent),
        (Array::I32(p), Array::I64(c)) => check_crd_of(l, p, c, extent),
        (Array::I64(p), Array::I64(c)) => check_crd_of(l, p, c, extent),
        _ => malformed(Some(l), 0, format!("crd is of type {}, i32 or i64 expected", crd.ty())),
    }
}

fn check_crd_of<P: Index, C: Index>(l: usize, pos: &[P], crd: &[C], extent: u64) -> Result<(), Malformed> {
    if ascend_within(pos, crd, extent) {
        return Ok(());
    }
    for fiber in pos.windows(2) {
        let (lo, hi): (i64, i64) = (fiber[0].into(), fiber[1].into());
        let mut least = 0;
        for (i, &c) in crd[lo as usize..hi as usize].iter().enumerate() {
            let c: i64 = c.into();
            if c < least || c as u64 >= extent {
                return malformed(Some(l), lo as usize + i, wrong_coordinate(c, least, extent));
            }
            least = c + 1;
        }
    }
    Ok(())
}

/// The element types of positions and coordinates.
trait Index: Copy + Ord + Into<i64> + Sync {
    /// The last coordinate of an extent below 2⁶³, or the largest number of this type if that is less; −1 for an extent of 0.
    fn last(extent: u64) -> Self;

    /// Whether a number is not one of the coordinates from 0 to `last`.
    fn is_outside(self, last: Self) -> bool;

    /// The number of elements in `behind` that are not greater than their predecessors in `before`; `None` if an element is negative.
    fn falls(before: &[Self], behind: &[Self]) -> Option<usize>;
}

macro_rules! index {
    ($($ty:ty as $word:ty;)*) => { $(
        impl Index for $ty {
            fn last(extent: u64) -> $ty {
                <$ty>::try_from(extent as i64 - 1).unwrap_or(<$ty>::MAX)
            }

            fn is_outside(self, last: $ty) -> bool {
                // The difference wraps around only where the number itself is negative.
                (self | last.wrapping_sub(self)) < 0
            }

            fn falls(before: &[$ty], behind: &[$ty]) -> Option<usize> {
                // Uses differences and their signs, which every processor has for vectors of both widths; it may have no comparisons.
                let (mut falls, mut signs) = (0, 0);
                for (a, b) in before.iter().zip(behind) {
                    signs |= a | b;
                    falls += (b.wrapping_sub(*a).wrapping_sub(1) as $word) >> (<$word>::BITS - 1);
                }
                // Differences of numbers that are not negative do not wrap around.
                (signs >= 0).then_some(falls as usize)
            }
        }
    )* };
}

index! { i32 as u32; i64 as u64; }

/// The number of elements per pass of a loop without branches.
const BLOCK: usize = 1 << 14;

/// The number of elements for which `holds(element, next element)`.
fn neighbours<T: Copy>(elements: &[T], holds: impl Fn(T, T) -> bool) -> usize {
    let behind = elements.get(1..).unwrap_or(&[]);
    let blocks = elements.chunks(BLOCK).zip(behind.chunks(BLOCK));
    let of_block = |(a, b): (&[T], &[T])| a.iter().zip(b).map(|(a, b)| holds(*a, *b) as u32).sum::<u32>() as usize;
    blocks.map(of_block).sum()
}

/// Whether the coordinates of each fiber are strictly ascending and in `0..extent`. They ascend if every element that is not greater than
/// its predecessor begins a fiber, which comparing two counts shows; then only the first and the last of each fiber have to be in bounds.
/// Stretches of both arrays are counted apart, on the threads that there are.
fn ascend_within<P: Index, C: Index>(pos: &[P], crd: &[C], extent: u64) -> bool {
    let stretches = |n: usize| (0..n).step_by(STRETCH).map(move |first| (first, n.min(first + STRETCH)));
    let falls = parallel::map(stretches(crd.len().saturating_sub(1)), &|(first, past)| falls(&crd[first..=past]));
    let Some(falls) = falls.into_iter().sum::<Option<usize>>() else { return false };
    let begins = parallel::map(stretches(pos.len() - 1), &|(first, past)| begins(&pos[first..=past], crd, extent));
    begins.into_iter().sum::<Option<usize>>() == Some(falls)
}

/// The number of elements that are not greater than their predecessors among these; `None` if an element is negative.
fn falls<C: Index>(crd: &[C]) -> Option<usize> {
    crd.chunks(BLOCK).zip(crd[1..].chunks(BLOCK)).map(|(a, b)| C::falls(a, b)).sum()
}

/// The number of fibers, of consecutive ones, whose first coordinate is not greater than that before it; `None` if the first or the last of
/// one is out of bounds.
fn begins<P: Index, C: Index>(pos: &[P], crd: &[C], extent: u64) -> Option<usize> {
    let first: i64 = pos[0].into();
    let mut before = (first as usize).checked_sub(1).map_or(C::last(0), |last| crd[last]);
    let (last, mut outside, mut begins) = (C::last(extent), false, 0);
    for fiber in pos.windows(2) {
        let (lo, hi): (i64, i64) = (fiber[0].into(), fiber[1].into());
        if lo < hi {
            let ends = [crd[lo as usize], crd[hi as usize - 1]];
            outside |= ends[0].is_outside(last) | ends[1].is_outside(last);
            begins += usize::from(before >= ends[0]);
            before = ends[1];
        }
    }
    (!outside).then_some(begins)
}

#[cold]
fn wrong_coordinate(c: i64, least: i64, extent: u64) -> String {
    match c {
        _ if c < 0 || c as u64 >= extent => format!("coordinate {c} is not in 0..{extent}"),
        _ if c + 1 == least => format!("coordinate {c} stands twice in one fiber"),
        _ => format!("coordinate {c} stands behind {}: a fiber's coordinates ascend", least - 1),
    }
}
