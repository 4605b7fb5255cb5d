//! Operands restricted to a box.
//!
//! ```text
//!                      pos 0 2 2 5 7      rows 1..3        pos  0 0 3         counted anew
//!  csr, rows cut       crd 1 4 0 2 3 …   ─────────▶        crd  0 2 3         borrowed
//!                      val a b c d e …                     val  c d e         borrowed
//!
//!  csr, columns cut    the same arrays   columns 2..5 ─▶   crd  2 · 0 1 …     the entries of each row in 2..5, from 2 on
//!  any other           entries of the box ──assemble──▶    the same format, or the one of the boxes' program
//! ```
//!
//! A level that is dense or a list takes ranges of parent positions to ranges of its own (`kept.rs`); where a level takes them to
//! none, entries are listed. Coordinates of a cut mode are counted from where the box begins.

mod kept;

pub(super) use kept::indices;

use fiberloom_core::algebra::Type;
use fiberloom_core::format::{Assembly, Entries, Error, Format, Level, Tensor};
use kept::Kept;
use std::ops::Range;

/// A mode, and the coordinates of it that a box has.
pub(super) type Cut = (usize, Range<u64>);

/// The part of a well-formed tensor that a box has, in a format. `entries` lists the tensor's.
///
/// # Errors
/// Memory.
pub(super) fn restricted<'t>(
    tensor: &'t Tensor,
    cuts: &[Cut],
    format: &Format,
    entries: &dyn Fn() -> Result<&'t Entries<'t>, Error>,
) -> Result<Tensor<'t>, Error> {
    if tensor.format == *format && cuts.is_empty() {
        return Ok(tensor.borrow());
    }
    if tensor.format == *format
        && let Some(part) = by_levels(tensor, cuts)?
    {
        return Ok(part);
    }
    let entries = entries()?;
    let columns = &entries.coordinates;
    let is_in = |e: usize, (mode, range): &Cut| range.contains(&(columns[*mode][e] as u64));
    let kept: Vec<usize> = (0..entries.len()).filter(|e| cuts.iter().all(|cut| is_in(*e, cut))).collect();
    let column = |mode: usize| -> Vec<i64> {
        let start = cuts.iter().find(|cut| cut.0 == mode).map_or(0, |cut| cut.1.start as i64);
        kept.iter().map(|e| columns[mode][*e] - start).collect()
    };
    let coordinates = (0..columns.len()).map(column).collect();
    let bytes = kept.len() as u128 * entries.values.ty().bytes() as u128;
    let values = entries.values.gather(&kept).ok_or(Error::Memory { bytes })?;
    let (pos, crd) = index_types(tensor);
    let how = Assembly { pos: Some(pos), crd: Some(crd), ..Assembly::default() };
    Entries { coordinates, values }.assemble(&extents(tensor, cuts), format, tensor.fill, &how)
}

/// The extents of a part.
fn extents(tensor: &Tensor, cuts: &[Cut]) -> Vec<u64> {
    let mut extents = tensor.extents.clone();
    cuts.iter().for_each(|(mode, range)| extents[*mode] = range.end - range.start);
    extents
}

/// The index types of a tensor's parts: those of all boxes are one, so that one kernel runs on them.
fn index_types(tensor: &Tensor) -> (Type, Type) {
    let types: Vec<_> = tensor.levels.iter().map(Level::index_types).collect();
    let wide = |found: bool| if found { Type::I64 } else { Type::I32 };
    let many = tensor.values.len() > i32::MAX as usize;
    let far = tensor.extents.iter().any(|n| *n > i32::MAX as u64);
    let pos = types.iter().any(|(pos, _)| *pos == Some(Type::I64));
    let crd = types.iter().any(|(_, crd)| *crd == Some(Type::I64));
    (wide(pos || many), wide(crd || far))
}

/// The part, level by level; `None` if some level does not take ranges of positions to such.
fn by_levels<'t>(tensor: &'t Tensor, cuts: &[Cut]) -> Result<Option<Tensor<'t>>, Error> {
    let mut kept = Kept::root();
    let mut levels = vec![];
    for (l, level) in tensor.levels.iter().enumerate() {
        let cut = cuts.iter().find(|(mode, _)| *mode == tensor.format.order[l]).map(|(_, range)| range);
        match kept.level(level, tensor.level_extent(l), cut)? {
            Some(level) => levels.push(level),
            None => return Ok(None),
        }
    }
    let values = kept.of(&tensor.values)?;
    let (extents, format) = (extents(tensor, cuts), tensor.format.clone());
    Ok(Some(Tensor { extents, format, levels, values, fill: tensor.fill }))
}
