//! Entries become a tensor: sorted into storage order, duplicates rejected or combined, then level by level.
//!
//! ```text
//!  entries ──sort by the levels' coordinates──▶ sorted ──duplicates──▶ unique ──level by level──▶ tensor
//!
//!  at each level every entry knows its parent position (at the root: 0)
//!       dense: position = parent · extent + coordinate          positions = parents · extent
//!  compressed: a new position where (parent, coordinate) changes; pos counts them
//! ```
//!
//! With n entries it takes O(rank · n log n), and O(rank · n) where extents are not much larger than n, besides the
//! arrays that are written.

use super::entries::Entries;
use super::sort::Sorted;
use super::{Array, Format, Level, LevelKind, Malformed, Tensor};
use crate::algebra::{Op, Type, Value, apply};

/// What to do with an entry whose coordinates an earlier one has.
#[derive(Clone, Copy)]
pub enum Duplicates<'f> {
    /// Refuse, naming the first such entry.
    Reject,
    /// Fold it into the earlier one: f(earlier, later), in the order of the entries.
    Combine(&'f dyn Fn(Value, Value) -> Value),
}

/// The sum of two values of one type, as the language's `+`: for [`Duplicates::Combine`].
///
/// # Panics
/// If the types differ.
pub fn added(earlier: Value, later: Value) -> Value {
    apply(Op::Add, &[earlier, later]).expect("`+` takes two values of any one type")
}

/// How entries become a tensor.
#[derive(Clone, Copy)]
pub struct Assembly<'f> {
    /// Type of position arrays, `I32` or `I64`; the narrowest that fits if `None`.
    pub pos: Option<Type>,
    /// Type of coordinate arrays, `I32` or `I64`; the narrowest that fits every extent if `None`.
    pub crd: Option<Type>,
    /// Entries at equal coordinates.
    pub duplicates: Duplicates<'f>,
    /// The most bytes that the tensor's arrays may take.
    pub limit: u64,
}

impl Default for Assembly<'_> {
    fn default() -> Self {
        Assembly { pos: None, crd: None, duplicates: Duplicates::Reject, limit: u64::MAX }
    }
}

/// Why there is no tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The entries or arrays are wrong; level `None` means: the entry of that number.
    Malformed(Malformed),
    /// It would take more than the limit, or than memory has.
    Memory {
        /// Bytes asked for.
        bytes: u128,
    },
    /// It would have more positions than the index type holds: ask for `I64`.
    Narrow(Type),
    /// A level of a kind that is not stored yet.
    Kind(LevelKind),
}

impl From<Malformed> for Error {
    fn from(m: Malformed) -> Error {
        Error::Malformed(m)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Malformed(m) if m.level.is_none() => write!(f, "entry {}: {}", m.position, m.what),
            Error::Malformed(m) => write!(f, "{m}"),
            Error::Memory { bytes } => write!(f, "the tensor would take {bytes} bytes, more than the limit"),
            Error::Narrow(ty) => write!(f, "positions or coordinates do not fit {ty}"),
            Error::Kind(kind) => write!(f, "levels of kind `{}` cannot be stored yet", kind.name()),
        }
    }
}

impl std::error::Error for Error {}

/// `I32` if it holds every number up to `most`, else `I64`.
pub(super) fn index_type(most: u64) -> Type {
    if most <= i32::MAX as u64 { Type::I32 } else { Type::I64 }
}

impl Entries<'_> {
    /// The tensor that holds these entries, and `fill` elsewhere.
    ///
    /// Refused: coordinates out of bounds, values of another type than the fill value's, duplicates if asked, a tensor
    /// over the limit. Every refusal names the first offending entry.
    pub fn assemble(
        &self,
        extents: &[u64],
        format: &Format,
        fill: Value,
        how: &Assembly,
    ) -> Result<Tensor<'static>, Error> {
        self.check(extents, fill)?;
        let sorted = Sorted::of(self, extents, format)?;
        let unique = match (how.duplicates, sorted.first_duplicate()) {
            (_, None) => sorted,
            (Duplicates::Reject, Some(e)) => return Err(self.duplicate(e).into()),
            (Duplicates::Combine(f), Some(_)) => sorted.combined(f),
        };
        unique.levelled(extents, format, fill, how)
    }

    /// Columns of one length, coordinates in bounds, values of the fill value's type.
    fn check(&self, extents: &[u64], fill: Value) -> Result<(), Malformed> {
        let malformed = |position, what| Err(Malformed { level: None, position, what });
        if self.coordinates.len() != extents.len() || self.coordinates.iter().any(|c| c.len() != self.len()) {
            return malformed(0, format!("{} columns of {} coordinates expected", extents.len(), self.len()));
        }
        if self.values.ty() != fill.ty() {
            return malformed(0, format!("values of type {} expected, not {}", fill.ty(), self.values.ty()));
        }
        let outside = |m: usize| self.coordinates[m].iter().position(|&c| c < 0 || c as u64 >= extents[m]);
        match (0..extents.len()).filter_map(|m| outside(m).map(|e| (e, m))).min() {
            Some((e, m)) => {
                malformed(e, format!("coordinate {} of mode {m} is not in 0..{}", self.coordinates[m][e], extents[m]))
            }
            None => Ok(()),
        }
    }

    /// Entry `e` has the coordinates of an earlier one.
    fn duplicate(&self, e: usize) -> Malformed {
        let at = self.coordinate(e);
        let first = (0..e).find(|&d| self.coordinate(d) == at).unwrap_or(0);
        let at: Vec<String> = at.iter().map(i64::to_string).collect();
        let what = format!("coordinates ({}) stand twice: in entry {first} too", at.join(", "));
        Malformed { level: None, position: e, what }
    }
}

impl Sorted {
    /// The tensor, level by level from the root.
    fn levelled(self, extents: &[u64], format: &Format, fill: Value, how: &Assembly) -> Result<Tensor<'static>, Error> {
        let n = self.values.len();
        let pos_ty = how.pos.unwrap_or(index_type(n as u64));
        let crd_ty = how.crd.unwrap_or(index_type(extents.iter().copied().max().unwrap_or(0)));
        // Of each entry the position in the level at hand; how many positions that level has; what is left to spend.
        let (mut at, mut positions, mut left) = (vec![0usize; n], 1u64, how.limit);
        let mut levels = Vec::new();
        for ((&kind, &mode), column) in format.levels.iter().zip(&format.order).zip(&self.columns) {
            match kind {
                LevelKind::Dense => {
                    let all = positions as u128 * extents[mode] as u128;
                    positions = u64::try_from(all).ok().filter(|&p| p < 1 << 60).ok_or(Error::Memory { bytes: all })?;
                    at.iter_mut().zip(column).for_each(|(p, &c)| *p = *p * extents[mode] as usize + c as usize);
                    levels.push(Level::Dense);
                }
                LevelKind::Compressed => {
                    spend(&mut left, (positions as u128 + 1) * pos_ty.bytes() as u128)?;
                    let (pos, crd) = compress(&mut at, column, positions)?;
                    spend(&mut left, crd.len() as u128 * crd_ty.bytes() as u128)?;
                    positions = crd.len() as u64;
                    let narrow = |ty, of: &[i64]| Array::from_indices(ty, of).ok_or(Error::Narrow(ty));
                    levels.push(Level::Compressed { pos: narrow(pos_ty, &pos)?, crd: narrow(crd_ty, &crd)? });
                }
                kind => return Err(Error::Kind(kind)),
            }
        }
        spend(&mut left, positions as u128 * fill.ty().bytes() as u128)?;
        let values = self.placed(&at, positions, fill)?;
        Ok(Tensor { extents: extents.to_vec(), format: format.clone(), levels, values, fill })
    }

    /// The values at their positions, `fill` at the others.
    fn placed(self, at: &[usize], positions: u64, fill: Value) -> Result<Array<'static>, Error> {
        if positions == at.len() as u64 && at.iter().enumerate().all(|(e, &p)| e == p) {
            return Ok(self.values);
        }
        let bytes = positions as u128 * fill.ty().bytes() as u128;
        let mut values = Array::filled(fill, positions as usize).ok_or(Error::Memory { bytes })?;
        values.scatter(at, &self.values);
        Ok(values)
    }
}

/// Takes `bytes` off what is left to spend.
fn spend(left: &mut u64, bytes: u128) -> Result<(), Error> {
    match u64::try_from(bytes).ok().and_then(|b| left.checked_sub(b)) {
        Some(rest) => *left = rest,
        None => return Err(Error::Memory { bytes }),
    }
    Ok(())
}

/// A compressed level of sorted entries: from their parents' positions, below `parents`, to their own.
fn compress(at: &mut [usize], column: &[i64], parents: u64) -> Result<(Vec<i64>, Vec<i64>), Error> {
    let (mut pos, mut crd) = (Vec::new(), Vec::new());
    pos.try_reserve_exact(parents as usize + 1).map_err(|_| Error::Memory { bytes: 8 * (parents as u128 + 1) })?;
    let mut last = None;
    for (p, &c) in at.iter_mut().zip(column) {
        if last != Some((*p, c)) {
            last = Some((*p, c));
            pos.resize(*p + 1, crd.len() as i64);
            crd.push(c);
        }
        *p = crd.len() - 1;
    }
    pos.resize(parents as usize + 1, crd.len() as i64);
    Ok((pos, crd))
}
