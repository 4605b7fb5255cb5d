//! The check of a stored tensor's invariants: on every import, on every result.
//!
//! Level by level from the root, as positions multiply; each array is read once, in order, so that what is reported
//! is the first offending place of the outermost offending level.

use super::{Array, Level, LevelKind, Malformed, Tensor};

/// What the arrays of a tensor may be multiplied to: every position fits an `i64`.
const POSITIONS: u64 = i64::MAX as u64;

fn malformed<T>(level: Option<usize>, position: usize, what: impl Into<String>) -> Result<T, Malformed> {
    Err(Malformed { level, position, what: what.into() })
}

impl Tensor<'_> {
    /// Whether every invariant of every level holds; if not, the first place where one does not:
    ///
    /// 1. a level and an extent a mode, extents below 2⁶³, the format's order a permutation of the modes;
    /// 2. arrays of positions and coordinates are `i32` or `i64`;
    /// 3. `pos` is one longer than the level above has positions, begins with 0, never falls, ends with `crd`'s length;
    /// 4. coordinates are in the mode's extent and strictly ascending within a fiber;
    /// 5. a value a position of the last level, of the fill value's type; bytes of a `bool` are 0 or 1.
    pub fn check(&self) -> Result<(), Malformed> {
        self.check_shape()?;
        let mut positions: u64 = 1;
        for (l, level) in self.levels.iter().enumerate() {
            let extent = self.level_extent(l);
            positions = match (self.format.levels[l], level) {
                (LevelKind::Dense, Level::Dense) => match positions.checked_mul(extent).filter(|&n| n <= POSITIONS) {
                    Some(n) => n,
                    None => return malformed(Some(l), 0, "the number of positions does not fit 63 bits"),
                },
                (LevelKind::Compressed, Level::Compressed { pos, crd }) => {
                    check_pos(l, pos, positions, crd.len())?;
                    check_crd(l, pos, crd, extent)?;
                    crd.len() as u64
                }
                (kind, _) => {
                    return malformed(Some(l), 0, format!("the arrays are not those of a `{}` level", kind.name()));
                }
            };
        }
        self.check_values(positions)
    }

    fn check_shape(&self) -> Result<(), Malformed> {
        let rank = self.extents.len();
        if self.levels.len() != rank || self.format.levels.len() != rank || self.format.order.len() != rank {
            let what = format!("a tensor of {rank} extents needs {rank} levels in its format and among its arrays");
            return malformed(None, 0, what);
        }
        let mut seen = vec![false; rank];
        for (l, &m) in self.format.order.iter().enumerate() {
            if m >= rank || std::mem::replace(&mut seen[m], true) {
                return malformed(Some(l), 0, "the format's order is not a permutation of the modes");
            }
            if self.extents[m] > POSITIONS {
                return malformed(Some(l), 0, format!("extent {} is not below 2^63", self.extents[m]));
            }
        }
        Ok(())
    }

    fn check_values(&self, positions: u64) -> Result<(), Malformed> {
        let n = self.values.len();
        if n as u64 != positions {
            return malformed(None, n, format!("{n} values for {positions} positions of the last level"));
        }
        if self.values.ty() != self.fill.ty() {
            let what = format!("values of type {} and a fill value of type {}", self.values.ty(), self.fill.ty());
            return malformed(None, 0, what);
        }
        match &self.values {
            Array::Bool(bytes) => match bytes.iter().position(|&b| b > 1) {
                Some(p) => malformed(None, p, format!("a bool's byte is 0 or 1, not {}", bytes[p])),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// Invariants 2 and 3 of a level under `parents` positions.
fn check_pos(l: usize, pos: &Array, parents: u64, stored: usize) -> Result<(), Malformed> {
    let what = |s: String| Malformed { level: Some(l), position: pos.len(), what: s };
    if (pos.len() as u64).checked_sub(1) != Some(parents) {
        return Err(what(format!("pos has {} elements, {parents} + 1 expected", pos.len())));
    }
    match pos {
        Array::I32(v) => check_pos_of(l, v, stored),
        Array::I64(v) => check_pos_of(l, v, stored),
        _ => Err(Malformed { position: 0, ..what(format!("pos is of type {}, i32 or i64 expected", pos.ty())) }),
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

/// Invariants 2 and 4 of a level whose `pos` has been checked.
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
