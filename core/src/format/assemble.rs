//! Assembles a tensor from entries: sorts them into storage order, rejects or combines duplicates, then builds level by level.
//!
//! ```text
//!  entries ──sort by the levels' coordinates──▶ sorted ──duplicates──▶ unique ──level by level──▶ tensor
//!
//! ```
//!
//! For n entries this takes O(rank · n log n) time, and O(rank · n) where extents are not much larger than n, besides the arrays that are
//! written.

use super::check::check_bools;
use super::entries::Entries;
use super::sort::Sorted;
use super::{Format, LevelKind, Malformed, Tensor, triangle};
use crate::algebra::{Op, Type, Value, apply};

/// The treatment of an entry with the coordinates of an earlier one.
#[derive(Clone, Copy)]
pub enum Duplicates<'f> {
    /// Refuse, naming the first such entry.
    Reject,
    /// Fold it into the earlier one: f(earlier, later), in the order of the entries.
    Combine(&'f (dyn Fn(Value, Value) -> Value + Sync)),
}

/// The language's `+` on two values of one type, for [`Duplicates::Combine`].
///
/// # Panics
/// If the types differ.
pub fn added(earlier: Value, later: Value) -> Value {
    apply(Op::Add, &[earlier, later]).expect("`+` takes two values of any one type")
}

/// The options of assembling a tensor from entries.
#[derive(Clone, Copy)]
pub struct Assembly<'f> {
    /// Type of position arrays, `I32` or `I64`; the narrowest that fits if `None`.
    pub pos: Option<Type>,
    /// Type of coordinate arrays, `I32` or `I64`; the narrowest that fits every extent if `None`.
    pub crd: Option<Type>,
    /// The treatment of entries at equal coordinates.
    pub duplicates: Duplicates<'f>,
    /// The most bytes that the tensor's arrays may take.
    pub limit: u64,
    /// Whether values are results of rounded floating-point operations in any order. Then zeros of either sign are equal, and two values
    /// that a level stores once may differ in the lower half of their digits.
    pub rounded: bool,
}

impl Assembly<'_> {
    /// Whether a level may store two values as one: mirrored values have to be alike, and a value that has no place has to be alike to
    /// the fill.
    pub(super) fn alike(&self, a: Value, b: Value) -> bool {
        let near = |part: f64| {
            let (x, y) = (a.as_f64(), b.as_f64());
            // Infinities are never near: their difference is as large as they are.
            let near = x.is_finite() && (x - y).abs() <= part * x.abs().min(y.abs());
            self.rounded && (x == y || near)
        };
        a == b
            || match rounding(a.ty()) {
                Some(_) if a.is_nan() => b.is_nan(),
                Some(part) => near(part),
                None => false,
            }
    }
}

/// The relative difference up to which two floats of a type count as equal but for rounding: half of their digits. `None` for other
/// types.
pub fn rounding(ty: Type) -> Option<f64> {
    let digits = match ty {
        Type::F32 => f32::MANTISSA_DIGITS,
        Type::F64 => f64::MANTISSA_DIGITS,
        _ => return None,
    };
    Some(0.5f64.powi(digits as i32 / 2))
}

impl Default for Assembly<'_> {
    fn default() -> Self {
        Assembly { pos: None, crd: None, duplicates: Duplicates::Reject, limit: u64::MAX, rounded: false }
    }
}

/// The reason why there is no tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The entries or arrays are malformed. With level `None` the position is the number of an entry.
    Malformed(Malformed),
    /// An entry has the coordinates of an earlier one.
    Twice {
        /// The numbers of both entries, the earlier one's first.
        entries: [usize; 2],
        /// The coordinates.
        what: String,
    },
    /// The format has no place for a value.
    Unheld {
        /// The coordinates of the value.
        at: Vec<i64>,
        /// The format, and the values for which it has a place.
        what: String,
    },
    /// The tensor would take more memory than the limit, or than there is.
    Memory {
        /// The number of bytes requested; 0 if it is unknown.
        bytes: u128,
    },
    /// The tensor would have more positions than the index type holds: request `I64`.
    Narrow(Type),
    /// A level of a kind that is not stored yet.
    Kind(LevelKind),
}

impl From<Malformed> for Error {
    fn from(m: Malformed) -> Error {
        if m.is_unchecked() { Error::Memory { bytes: 0 } } else { Error::Malformed(m) }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Malformed(m) if m.level.is_none() => write!(f, "entry {}: {}", m.position, m.what),
            Error::Malformed(m) => write!(f, "{m}"),
            Error::Twice { entries: [first, second], what } => {
                write!(f, "entry {second}: {what}: in entry {first} too, counted from 0")
            }
            Error::Unheld { what, .. } => write!(f, "{what}"),
            Error::Memory { bytes: 0 } => write!(f, "memory does not suffice"),
            Error::Memory { bytes } => write!(f, "the tensor would take {bytes} bytes, more than the limit"),
            Error::Narrow(ty) => write!(f, "positions or coordinates do not fit {ty}"),
            Error::Kind(kind) => write!(f, "levels of kind `{}` cannot be stored yet", kind.name()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Malformed(malformed) => Some(malformed),
            _ => None,
        }
    }
}

/// `I32` if it holds every number up to `most`, else `I64`.
pub(super) fn index_type(most: u64) -> Type {
    if most <= i32::MAX as u64 { Type::I32 } else { Type::I64 }
}

impl Entries<'_> {
    /// The tensor that holds these entries, and `fill` elsewhere.
    ///
    /// Refused are coordinates out of bounds, values of another type than the fill value's, duplicates if `how` says so, and a tensor
    /// over the limit; the error names the first offending entry. Also refused, with their coordinates, are values for which a triangle
    /// has no place, or which a symmetric level would mirror differently. A singleton in no chain takes one coordinate per parent
    /// position: several are refused, naming the first such parent, and a parent without any stores the fill value at coordinate 0.
    pub fn assemble(
        &self,
        extents: &[u64],
        format: &Format,
        fill: Value,
        how: &Assembly,
    ) -> Result<Tensor<'static>, Error> {
        self.check(extents, format, fill)?;
        let sorted = Sorted::of(self, extents, format)?;
        let unique = match (how.duplicates, sorted.first_duplicate()) {
            (_, None) => sorted,
            (Duplicates::Reject, Some(e)) => return Err(self.duplicate(e)),
            (Duplicates::Combine(f), Some(_)) => sorted.combined(f)?,
        };
        // Some levels store fill values where no entry is: fill values among the entries are dropped.
        let structured = |l: usize| format.levels[l].pads() && !format.levels[l].is_full();
        let padded = (0..format.rank()).any(|l| format.is_single(l) || structured(l));
        let told = if padded { unique.without(fill)? } else { unique };
        told.folded(format, fill, how)?.levelled(extents, format, fill, how)
    }

    /// Checks the format and the entries: as many levels as extents, triangles only where they may be, columns of one length, coordinates
    /// in bounds, values of the fill value's type, bytes of a `bool` 0 or 1.
    fn check(&self, extents: &[u64], format: &Format, fill: Value) -> Result<(), Malformed> {
        format.check(extents)?;
        for l in (0..format.rank()).filter(|l| format.levels[*l].is_triangle()) {
            let of = |l: usize| (format.levels[l], extents[format.order[l]]);
            let (kind, rows) = of(l);
            let stands = triangle::stands(kind, rows, l.checked_sub(1).map(of));
            stands.map_err(|what| Malformed { level: Some(l), position: 0, what })?;
        }
        let malformed = |position, what| Err(Malformed { level: None, position, what });
        if self.coordinates.len() != extents.len() || self.coordinates.iter().any(|c| c.len() != self.len()) {
            return malformed(0, format!("{} columns of {} coordinates expected", extents.len(), self.len()));
        }
        if self.values.ty() != fill.ty() {
            return malformed(0, format!("values of type {} expected, not {}", fill.ty(), self.values.ty()));
        }
        check_bools(None, &self.values)?;
        let outside = |m: usize| self.coordinates[m].iter().position(|&c| c < 0 || c as u64 >= extents[m]);
        match (0..extents.len()).filter_map(|m| outside(m).map(|e| (e, m))).min() {
            Some((e, m)) => {
                malformed(e, format!("coordinate {} of mode {m} is not in 0..{}", self.coordinates[m][e], extents[m]))
            }
            None => Ok(()),
        }
    }

    /// The error that entry `e` has the coordinates of an earlier one.
    fn duplicate(&self, e: usize) -> Error {
        let at = self.coordinate(e);
        let first = (0..e).find(|&d| self.coordinate(d) == at).unwrap_or(0);
        let at: Vec<String> = at.iter().map(i64::to_string).collect();
        Error::Twice { entries: [first, e], what: format!("coordinates ({}) stand twice", at.join(", ")) }
    }
}
