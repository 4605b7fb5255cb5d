//! Limits the splitting of loops into ranges, so that the number of lines is linear in the length of the program's text.
//!
//! ```text
//!   forall i              3 ranges    of each there are 3
//!     forall j            3 ranges    of each there are 9
//!       forall k          3 ranges    of each there would be 27: more than the statement may have, so k is not split
//! ```
//!
//! Ranges of a loop multiply those of the loops around it. Each split of a loop (by a choice, a comparison, an interval, a piece that may
//! be absent) is made only if the lines of everything inside, once for each range, stay within [`LINES`] for each access and each range
//! in the text, or [`FEW`] in all. A condition that may not split a loop is tested at each coordinate instead.

use crate::choose::Facts;
use fiberloom_core::notation::concrete::{self, AccessId, Nest};
use fiberloom_core::notation::typed::Fun;

/// The most lines for each access and each range in the text.
const LINES: u64 = 40;

/// The number of lines that any statement may have.
const FEW: u64 = 1000;

/// The lines of a loop.
pub(super) const OF_LOOP: u64 = 4;

/// The lines of a list: a search for its beginning, and a loop over it.
pub(super) const OF_LIST: u64 = 25;

/// The lines of a level with intervals or pieces: searches for these, and loops for each.
pub(super) const OF_LEVEL: u64 = 60;

/// The lines that a statement's loops may have, and the number of copies of the current place in ranges of the loops around.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub(super) most: u64,
    pub(super) ranges: u64,
}

impl Budget {
    /// The budget of a nest, outside of its loops.
    pub fn of(cx: &Facts, nest: &Nest) -> Budget {
        let second = nest.also().map(|also| &also.rhs);
        let text: u64 = second.into_iter().chain([&nest.rhs]).map(|e| of_text(cx, e)).sum();
        Budget { most: FEW.max(LINES.saturating_mul(text)), ranges: 1 }
    }

    /// The budget of one of so many parts of a range.
    pub fn shared(self, parts: usize) -> Budget {
        Budget { ranges: self.ranges.saturating_mul(parts.max(1) as u64), ..self }
    }

    /// An exhausted budget, for places that are not worth a split.
    pub fn spent(self) -> Budget {
        Budget { ranges: u64::MAX, ..self }
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { most: FEW, ranges: 1 }
    }
}

/// The number of accesses in an expression, and of the ranges of its choices, comparisons and levels.
pub fn of_text(cx: &Facts, e: &concrete::Expr) -> u64 {
    let mut text = 0;
    e.each(&mut |e| {
        text += match e {
            concrete::Expr::Concat(c, _) => c.choices().count() as u64,
            concrete::Expr::Access(a, _) => 1 + 3 * structured(cx, *a, 0),
            concrete::Expr::Call(Fun::Op(op), ..) if op.is_comparison() => 3,
            _ => 0,
        }
    });
    text
}

/// The number of an access's levels, from `from` on, that are neither located nor lists.
pub fn structured(cx: &Facts, a: AccessId, from: usize) -> u64 {
    let levels = &cx.program.tensor(a).format.levels[from..];
    levels.iter().filter(|kind| !kind.is_located() && !kind.is_list()).count() as u64
}
