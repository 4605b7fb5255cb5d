//! Bucket indices (`stream::BucketIndex`) of loop-invariant lists that each iteration of a loop around searches: to begin another operand's
//! blocks or bands, or because the lists gallop or are located beside another list.
//!
//! ```text
//!   y[i] = sum(j: A[i,j] * x[j])              A {dense, vbl}, x {compressed}
//!     ─▶  x0_by[s] = the position in x at which bucket s begins      once; a bucket is a range of 2^k coordinates
//!         for i { for block of row i { p = x0_by[start >> …]; … } }
//! ```
//!
//! The kernel computes the length of buckets from the number of entries. The number of slots is bounded by the number of searches, which
//! pay for them ([`super::Options::sought`]), and by the number of entries, beyond which more slots do not help (`planner/bucket_index.rs`). With few
//! searches the index has one slot, and they search exponentially as without an index. So a search takes a constant number of steps where
//! entries do not crowd in one bucket, and never more than an exponential search.
//!
//! Invariant: the target of a search is at most the list's extent, unless the index knows that extent. A loop that goes further is cut
//! where the list ends. If a window lies elsewhere, the rest of the loop is empty, and may begin anywhere: the lists of such a window
//! have indices that know their extents (`Scope::stray`).

use super::room::alloc;
use super::{Context, fiber};
use crate::Term;
use crate::choose::symbol::Sym;
use crate::plan::List;
use crate::stream::{BucketIndex, Domain};
use crate::{Role, Symbolic};
use fiberloom_core::notation::concrete::AccessId;
use std::collections::BTreeMap;

/// Emits the bucket indices of lists, each with a bound on its number of slots.
pub(super) fn bucket_indices(
    cx: &Context,
    d: &mut Symbolic,
    of: &[(AccessId, List, Sym)],
) -> BTreeMap<AccessId, BucketIndex<Term>> {
    let mut all = BTreeMap::new();
    for (a, list, most) in of {
        let tensor = cx.program.tensor(*a);
        let pos = *fiber::levels(cx, *a)[0].named("pos");
        let extent = Term::fixed(cx.extent(tensor.extents[tensor.format.order[0]]));
        let most = cx.term(d, *most);
        let most = d.snapshot("most", most);
        let shift = BucketIndex::shift(d, &extent, &most);
        let places = BucketIndex::places(d, &extent, &shift);
        let table = d.buffer(&format!("{}0_by", tensor.name), d.element(pos), Role::Workspace);
        let places = d.place(&places);
        alloc(d, table, places, None);
        let bucket_index = BucketIndex { table, shift, extent: None };
        let list = fiber::unopened(cx, d, list);
        bucket_index.make(d, &format!("p_{}", tensor.name), list, &extent);
        all.insert(*a, bucket_index);
    }
    all
}
