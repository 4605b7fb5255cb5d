//! Operands restricted to a box.
//!
//! ```text
//!                      pos 0 2 2 5 7      rows 1..3        pos  0 0 3         counted anew
//!  csr, rows cut       crd 1 4 0 2 3 …   ─────────▶        crd  0 2 3         borrowed
//!                      val a b c d e …                     val  c d e         borrowed
//!
//!  any other           entries of the box ──assemble──▶ the same format, or the one of the boxes' program
//! ```
//!
//! Coordinates of a cut mode are counted from where the box begins.

use fiberloom_core::algebra::Type;
use fiberloom_core::format::{Array, Assembly, Entries, Error, Format, Level, LevelKind, Tensor};
use std::ops::Range;

/// A mode, and the coordinates of it that a box has.
pub(super) type Cut = (usize, Range<u64>);

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

/// The part of a well-formed tensor that a box has, in a format.
///
/// # Errors
/// Memory.
pub(super) fn restricted<'t>(
    tensor: &'t Tensor,
    cuts: &[Cut],
    format: &Format,
    entries: &dyn Fn() -> Result<&'t Entries<'t>, Error>,
) -> Result<Tensor<'t>, Error> {
    if let Some(part) = Some(tensor).filter(|t| t.format == *format).and_then(|t| borrowed(t, cuts)) {
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

/// The part as slices of the tensor's arrays: where nothing is cut, or the outermost level alone, which is dense. Positions are
/// counted anew.
fn borrowed<'t>(tensor: &'t Tensor, cuts: &[Cut]) -> Option<Tensor<'t>> {
    let (mode, range) = match cuts {
        [] => return Some(tensor.borrow()),
        [cut] => cut,
        _ => return None,
    };
    if tensor.format.order[0] != *mode || tensor.format.levels[0] != LevelKind::Dense {
        return None;
    }
    let mut at = range.start as usize..range.end as usize;
    let mut levels = vec![Level::Dense];
    for l in 1..tensor.levels.len() {
        levels.push(below(&tensor.levels[l], &mut at, tensor.level_extent(l) as usize)?);
    }
    Some(Tensor {
        extents: extents(tensor, cuts),
        format: tensor.format.clone(),
        levels,
        values: tensor.values.part(at),
        fill: tensor.fill,
    })
}

/// The part of a level below these parent positions, which become its own; `None` of a level that is not cut so.
fn below<'t>(level: &'t Level, at: &mut Range<usize>, extent: usize) -> Option<Level<'t>> {
    let parents = at.clone();
    let mut listed = |pos: &'t Array| {
        *at = pos.index(parents.start) as usize..pos.index(parents.end) as usize;
        recounted(pos.part(parents.start..parents.end + 1))
    };
    Some(match level {
        Level::Compressed { pos, crd } => Level::Compressed { pos: listed(pos), crd: crd.part(at.clone()) },
        Level::Nonunique { pos, crd } => Level::Nonunique { pos: listed(pos), crd: crd.part(at.clone()) },
        Level::Runs { pos, crd } => Level::Runs { pos: listed(pos), crd: crd.part(at.clone()) },
        Level::Band { pos, first } => Level::Band { pos: listed(pos), first: first.part(parents.clone()) },
        Level::Ragged { pos } => Level::Ragged { pos: listed(pos) },
        Level::Singleton { crd } => Level::Singleton { crd: crd.part(parents) },
        Level::Dense | Level::Bytemap { .. } => {
            *at = parents.start * extent..parents.end * extent;
            match level {
                Level::Bytemap { flags } => Level::Bytemap { flags: flags.part(at.clone()) },
                _ => Level::Dense,
            }
        }
        _ => return None,
    })
}

/// Positions counted from 0 on.
fn recounted(pos: Array) -> Array {
    match (pos.index(0), &pos) {
        (0, _) => pos,
        (first, Array::I32(all)) => all.iter().map(|p| p - first as i32).collect::<Vec<_>>().into(),
        (first, all) => (0..all.len()).map(|n| all.index(n) - first).collect::<Vec<i64>>().into(),
    }
}
