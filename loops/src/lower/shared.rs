//! Arrays that a result shares with an operand instead of storing its own.
//!
//! ```text
//!   whole      B[i,j] = A[i,j]                      one format: all arrays; there are no loops
//!   levels     B[i,j] = 2 * A[i,j]                  levels, where loops visit exactly A's entries: a value is computed for each
//!   entries    C[i,j] = split(v[k], k -> (i,j))     values, in the same order in another format, and coordinates of the variables
//!              R[i,j] = A[i,j]     csr from coo     that both have. Positions and rows are stored anew
//! ```
//!
//! For *entries*, the loops are the loops that produce all arrays, without the stores into shared arrays. It follows from the statement
//! that they visit each entry once, in order; at the end the kernel compares the number of entries that they appended with the operand's
//! ([`Failure::Entries`]).

use super::{Context, Expr, binary};
use crate::choose::result;
use crate::lower;
use crate::{BufferId, Entry, Failure, Holds, Symbolic};
use fiberloom_core::algebra::Op;
use fiberloom_core::notation::concrete::{AccessId, Nest};

/// The arrays of a result's entries that are shared with an operand.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// The arrays of coordinates, by level of the result.
    coordinates: Vec<Option<BufferId>>,
    pub(super) values: BufferId,
}

impl Kept {
    /// The shared array of a level of the result.
    pub fn of(&self, level: usize, holds: Holds) -> Option<BufferId> {
        self.coordinates[level].filter(|_| holds == Holds::Coordinates)
    }

    /// Whether an array is shared.
    pub fn has(&self, buffer: BufferId) -> bool {
        self.values == buffer || self.coordinates.contains(&Some(buffer))
    }

    /// Makes the kernel fail if the number of entries is not `count`.
    pub fn compare(&self, d: &mut Symbolic, count: Expr) {
        let differs = binary(Op::Ne, count, Expr::Capacity(self.values));
        d.when(differs, |d| d.call(Entry::Fail(Failure::Entries)), |_| {});
    }
}

/// The arrays that a nest's result shares with an access's tensor, whose entries it has in another format.
pub(super) fn entries(cx: &Context, nest: &Nest, a: AccessId) -> Kept {
    let (result, operand) = (&cx.program.tensors[nest.target.tensor.0], cx.program.tensor(a));
    let access = &cx.program.accesses[a.0];
    let arrays = lower::arrays_of(cx, access.tensor);
    let of = |l: usize| {
        let v = cx.program.level_var(&nest.target, l);
        let theirs = (0..operand.format.rank()).find(|m| cx.program.level_var(access, *m) == v)?;
        let entry = result::is_of_entries(&result.format, l) && result::is_of_entries(&operand.format, theirs);
        arrays.levels[theirs].array(Holds::Coordinates).filter(|_| entry)
    };
    Kept { coordinates: (0..result.format.rank()).map(of).collect(), values: arrays.values }
}
