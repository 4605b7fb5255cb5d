//! Lists of coordinates: a fiber's positions by `pos`, their coordinates strictly ascending.

use super::{Above, malformed};
use crate::algebra::Type;
use crate::counted;
use crate::format::{Array, Malformed};

/// An array of this length and of one of these types.
pub(super) fn length_and_type(l: usize, name: &str, array: &Array, n: u64, types: &[Type]) -> Result<(), Malformed> {
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

/// A level of unique coordinates.
pub(super) fn check(l: usize, pos: &Array, crd: &Array, extent: u64, above: &Above) -> Result<(), Malformed> {
    check_pos(l, pos, crd.len(), above)?;
    check_crd(l, pos, crd, extent)
}

/// `pos` of a level with so many coordinates.
pub(super) fn check_pos(l: usize, pos: &Array, stored: usize, above: &Above) -> Result<(), Malformed> {
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

fn check_pos_of<T: Copy + Into<i64> + PartialOrd>(l: usize, pos: &[T], stored: usize) -> Result<(), Malformed> {
    let first: i64 = pos[0].into();
    if first != 0 {
        return malformed(Some(l), 0, format!("pos begins with {first}, not with 0"));
    }
    if let Some(p) = pos.windows(2).position(|w| w[0] > w[1]) {
        let (a, b): (i64, i64) = (pos[p].into(), pos[p + 1].into());
        return malformed(Some(l), p + 1, format!("pos falls from {a} to {b}"));
    }
    let last: i64 = pos[pos.len() - 1].into();
    if last as u64 != stored as u64 {
        return malformed(Some(l), pos.len() - 1, format!("pos ends with {last}, but there are {stored} coordinates"));
    }
    Ok(())
}

/// Coordinates of a level whose `pos` has been checked.
fn check_crd(l: usize, pos: &Array, crd: &Array, extent: u64) -> Result<(), Malformed> {
    match (pos, crd) {
        (Array::I32(p), Array::I32(c)) => check_crd_of(l, p, c, extent),
        (Array::I64(p), Array::I32(c)) => check_crd_of(l, p, c, extent),
        (Array::I32(p), Array::I64(c)) => check_crd_of(l, p, c, extent),
        (Array::I64(p), Array::I64(c)) => check_crd_of(l, p, c, extent),
        _ => malformed(Some(l), 0, format!("crd is of type {}, i32 or i64 expected", crd.ty())),
    }
}

fn check_crd_of<P, C>(l: usize, pos: &[P], crd: &[C], extent: u64) -> Result<(), Malformed>
where
    P: Copy + Into<i64>,
    C: Copy + Into<i64>,
{
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

fn wrong_coordinate(c: i64, least: i64, extent: u64) -> String {
    match c {
        _ if c < 0 || c as u64 >= extent => format!("coordinate {c} is not in 0..{extent}"),
        _ if c + 1 == least => format!("coordinate {c} stands twice in one fiber"),
        _ => format!("coordinate {c} stands behind {}: a fiber's coordinates ascend", least - 1),
    }
}
