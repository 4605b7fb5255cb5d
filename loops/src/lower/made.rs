//! Temporaries that are computed inside of loops.

use super::{Context, output::Output};
use crate::Symbolic;
use crate::choose::inner;
use crate::plan::Made;
use fiberloom_core::notation::concrete::Nest;

/// Emitted before a statement's loops: allocates the arrays of a temporary that is computed inside of them.
pub(super) fn prepare_inside(cx: &mut Context, d: &mut Symbolic, nest: &Nest) {
    let place = nest.target.tensor;
    super::fits(cx, d, place);
    super::make(cx, d, place, None, None);
    if inner::is_made_again(cx, nest) {
        Output::arrays(cx, d, nest);
    }
}

/// Emits the computation of a temporary.
pub(super) fn make(cx: &Context, d: &mut Symbolic, made: &Made) {
    let again = inner::is_made_again(cx, &made.nest);
    let output = Output::begin(cx, d, &made.nest, &made.assembly, None, again);
    let output = cx.say_output((made.output, made.root), output);
    cx.block(d, &made.body);
    output.finish(d);
}
