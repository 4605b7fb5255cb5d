//! How far the loops of a statement may be split into ranges: so far that their lines are linear in what the text has.
//!
//! ```text
//!   forall i              3 ranges    of each there are 3
//!     forall j            3 ranges    of each there are 9
//!       forall k          3 ranges    of each there would be 27: more than the statement may have, so k is not split
//! ```
//!
//! Ranges of a loop multiply those of the loops around it. Each split of a loop (by a choice, a comparison, an interval, a piece that
//! may be absent) is made only if the lines of everything inside, once for each range, stay within [`LINES`] for each access and each
//! range that the text has, or [`FEW`] in all. What may not be split is tested at each coordinate instead.

use super::Context;
use super::fiber::Scope;
use crate::notation::concrete::{self, AccessId, Nest};
use crate::notation::typed::Fun;

/// Most lines for each access and each range of the text.
const LINES: u64 = 40;

/// Lines that any statement may have.
const FEW: u64 = 1000;

/// Lines of a loop.
const OF_LOOP: u64 = 4;

/// Lines of a list: its begin is sought, and it is walked.
const OF_LIST: u64 = 25;

/// Lines of a level with intervals or pieces: these are sought, and each has loops.
const OF_LEVEL: u64 = 60;

/// Of how many ranges of the loops around a place is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Among(u64);

impl Default for Among {
    fn default() -> Among {
        Among(1)
    }
}

impl Among {
    /// One of so many parts of such a range.
    pub fn one_of(self, parts: usize) -> Among {
        Among(self.0.saturating_mul(parts.max(1) as u64))
    }

    /// One that is not worth a split.
    pub fn whole() -> Among {
        Among(u64::MAX)
    }
}

/// Most lines that a nest's loops may have.
pub(super) fn most_lines(cx: &Context, nest: &Nest) -> u64 {
    let others = nest.both.iter().map(|both| &both.rhs);
    let text: u64 = others.chain([&nest.rhs]).map(|e| of_text(cx, e)).sum();
    FEW.max(LINES.saturating_mul(text))
}

/// The number of accesses of an expression and of the ranges of its choices, comparisons and levels.
fn of_text(cx: &Context, e: &concrete::Expr) -> u64 {
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

/// The number of an access's levels from one on that are neither dense nor lists.
fn structured(cx: &Context, a: AccessId, from: usize) -> u64 {
    let levels = &cx.program.tensor(a).format.levels[from..];
    levels.iter().filter(|kind| !kind.is_located() && !kind.is_list()).count() as u64
}

/// An estimate of the lines of the loops of a body at a place.
fn lines(cx: &Context, scope: &Scope, body: &concrete::Expr) -> u64 {
    let of = |a: AccessId| {
        let depth = scope.fiber(a).depth;
        let lists = cx.program.tensor(a).format.levels[depth..].iter().filter(|kind| kind.is_list()).count();
        1 + OF_LIST * lists as u64 + OF_LEVEL * structured(cx, a, depth)
    };
    OF_LOOP + body.accesses().into_iter().map(of).sum::<u64>()
}

/// Whether the loops inside of a range may stand once for each of so many parts of it.
pub(super) fn affords(cx: &Context, scope: &Scope, body: &concrete::Expr, parts: u64) -> bool {
    let ranges = scope.among.0.saturating_mul(parts);
    ranges.saturating_mul(lines(cx, scope, body)) <= cx.most
}
