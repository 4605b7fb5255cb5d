//! Arrays of entries that a result shares with an operand, in another format.

use super::Context;
use crate::choose::result;
use fiberloom_core::notation::concrete::{AccessId, Assign, Body, Iterated, Nest, Role};
use fiberloom_core::notation::syntax::Protocol;

/// The operand whose entries a nest's result has, all of them in their order, in another format or with other modes.
pub(super) fn entries(cx: &Context, nest: &Nest) -> Option<AccessId> {
    let a = result::copied(cx, nest)?;
    let (result, operand) = (&cx.program.tensors[nest.target.tensor.0], cx.program.tensor(a));
    let access = &cx.program.accesses[a.0];
    let plain = nest.body == Body::Assign(Assign::Once);
    // Loops that look entries up count coordinates, and store values that differ from the fill value.
    let walked = access.protocols.values().all(|protocol| *protocol != Iterated::As(Protocol::Locate));
    let same = plain
        && walked
        && matches!(result.role, Role::Result(_))
        && result::is_list(&operand.format)
        && result::is_list(&result.format)
        && result::is_in_order(cx, access, &nest.loops)
        && result::is_in_order(cx, &nest.target, &nest.loops);
    same.then_some(a)
}
