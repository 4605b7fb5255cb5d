//! Intervals, triangles and runs.

use super::{Above, Source, Unset, list, malformed, spread};
use crate::algebra::Type;
use crate::format::levels::At;
use crate::format::{Array, Malformed, room, triangle};
use crate::words::counted;
use std::rc::Rc;

const INDICES: [Type; 2] = [Type::I32, Type::I64];

/// Checks `pos` of a level of intervals, and that each interval is in the extent. Intervals begin at `first`, or at 0 without it.
pub(in crate::format) fn check_intervals<'t>(
    at: At<'t>,
    pos: &Array,
    first: Option<&Array>,
    above: &Above,
) -> Result<Above<'t>, Malformed> {
    let (l, extent) = (at.l, at.extent());
    if pos.is_empty() || !INDICES.contains(&pos.ty()) {
        return malformed(Some(l), 0, "pos is empty or of another type than i32 or i64");
    }
    let positions = pos.index(pos.len() - 1).max(0);
    list::check_pos(l, pos, positions as usize, above)?;
    if let Some(first) = first {
        list::length_and_type(l, "first", first, above.positions, &INDICES)?;
    }
    for parent in 0..pos.len() - 1 {
        let begin = first.map_or(0, |first| first.index(parent));
        let length = pos.index(parent + 1) - pos.index(parent);
        if begin < 0 || begin as u64 > extent || length as u64 > extent - begin as u64 {
            let coordinates = counted(length, "coordinate", "coordinates");
            let what = format!("{coordinates} from {begin} on: not all are in 0..{extent}");
            return malformed(Some(l), parent, what);
        }
    }
    Ok(Above::of(positions as u64))
}

/// Checks that triangles may be here, and returns the number of positions in the triangles of all squares, with the number that each flag
/// above covers.
pub(in crate::format) fn check_triangles<'t>(at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed> {
    let (l, n) = (at.l, at.extent());
    let of = |l: usize| (at.tensor.levels[l].kind(), at.tensor.level_extent(l));
    triangle::stands(at.level().kind(), n, l.checked_sub(1).map(of)).or_else(|what| malformed(Some(l), 0, what))?;
    let squares = above.positions.checked_div(n).unwrap_or(0);
    let Some(all) = triangle::positions(n) else {
        return malformed(Some(l), 0, "the number of positions does not fit 63 bits");
    };
    let unset = above.unset.map(|u| Unset { each: u.each.checked_div(n).unwrap_or(0), ..u });
    Ok(Above { unset: Unset::spread(unset, all), ..Above::of(spread(l, squares, all)?) })
}

/// Checks runs: those of each fiber fill the extent, and below a flag that is not set there is one run.
pub(in crate::format) fn check_runs<'t>(
    at: At<'t>,
    (pos, crd, ofs): (&'t Array, &'t Array, Option<&'t Array>),
    above: &Above<'t>,
) -> Result<Above<'t>, Malformed> {
    let (l, extent) = (at.l, at.extent());
    list::check(l, pos, crd, extent, &Above::of(above.positions))?;
    for parent in 0..pos.len() - 1 {
        let (begin, end) = (pos.index(parent), pos.index(parent + 1));
        let reaches = if begin == end { 0 } else { crd.index(end as usize - 1) as u64 + 1 };
        if reaches != extent {
            return malformed(Some(l), parent, format!("the runs of the fiber end at {reaches}, not at {extent}"));
        }
    }
    let positions = match ofs {
        Some(ofs) => check_blocks(l, (pos, crd, ofs), true)?,
        None => crd.len(),
    };
    // The positions of a fiber.
    let within = |p: usize| {
        let at = |block: i64| ofs.map_or(block, |ofs| ofs.index(block as usize)) as usize;
        at(pos.index(p))..at(pos.index(p + 1))
    };
    let several = |p: usize| within(p).len() > 1;
    if let Some(p) = above.first_unset(pos.len() - 1, several) {
        return malformed(Some(l), p, "below a flag that is not set there is one run");
    }
    let mut unset = None;
    if above.unset.is_some() {
        let mut flags = room::repeated(true, positions).map_err(|_| Malformed::unchecked(l))?;
        for p in above.unset_among(pos.len() - 1) {
            flags[within(p)].fill(false);
        }
        unset = Some(Unset { of: Source::Listed(Rc::new(flags)), each: 1 });
    }
    Ok(Above { unset, ..Above::of(positions as u64) })
}

/// Checks the `ofs` of blocks whose `pos` and `crd` have been checked, and returns the number of positions. The blocks of a packed level
/// are its pieces, each with one position or one per coordinate.
pub(in crate::format) fn check_blocks(
    l: usize,
    (pos, crd, ofs): (&Array, &Array, &Array),
    packed: bool,
) -> Result<usize, Malformed> {
    list::length_and_type(l, "ofs", ofs, crd.len() as u64 + 1, &[pos.ty()])?;
    if ofs.index(0) != 0 {
        return malformed(Some(l), 0, format!("ofs begins with {}, not with 0", ofs.index(0)));
    }
    for parent in 0..pos.len() - 1 {
        let mut next = 0;
        for block in pos.index(parent) as usize..pos.index(parent + 1) as usize {
            let (begin, end, last) = (ofs.index(block), ofs.index(block + 1), crd.index(block));
            if begin >= end {
                return malformed(Some(l), block + 1, format!("ofs does not rise from {begin} to {end}"));
            }
            let length = end - begin;
            let fits = match packed {
                true => length == 1 || length == last + 1 - next,
                false => length <= last + 1 - next,
            };
            if !fits {
                let what = format!("{length} positions do not fit the coordinates {next} to {last}");
                return malformed(Some(l), block, what);
            }
            next = last + 1;
        }
    }
    Ok(ofs.index(ofs.len() - 1) as usize)
}
