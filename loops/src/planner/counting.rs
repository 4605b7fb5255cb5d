//! Transposing by counting: the entries of a copy, in both of its passes.

use super::{Context, destination::Tally, value};
use crate::choose::scope::Scope;
use crate::plan::{Block, Op};

/// Plans one entry of a counted copy: the first pass counts it in its row, the second stores it at its row's next position.
pub(super) fn tally(cx: &Context, b: &mut Block, tally: &Tally, scope: &Scope) {
    let at = |l: usize| {
        let v = cx.program.level_var(&tally.nest.target, l);
        scope.coordinate(v).expect("all loops are bound")
    };
    let place = tally.places.then(|| (at(1), value::value(cx, b, scope, &tally.nest.rhs)));
    b.push(Op::Tally { row: at(0), place });
}
