//! Emits a statement: its preparations, the allocation of its result, its loops, the end of its result.

use super::output::Output;
use super::{Context, Prepared, bucket_index, counting, made, position_map, quotient, shared, window};
use crate::Symbolic;
use crate::lower;
use crate::plan::Arrays;
use crate::plan::{Body, Statement};

/// Emits a statement.
pub(super) fn statement(cx: &mut Context, d: &mut Symbolic, of: &Statement) {
    let (nest, arrays) = (&of.nest, of.assembly.arrays);
    let place = nest.target.tensor;
    let tables = position_map::tables(cx, d, &of.tables);
    let marks = window::marks(cx, d, &of.marks);
    cx.prepared = Prepared { tables, marks, ..Prepared::default() };
    cx.prepared.bucket_indices = bucket_index::bucket_indices(cx, d, &of.bucket_indices);
    let kept = if let Arrays::Entries(a) = arrays { Some(shared::entries(cx, nest, a)) } else { None };
    let along = if let Arrays::Levels(a) = arrays { Some(a) } else { None };
    if along.is_none() {
        lower::fits(cx, d, place);
    }
    nest.rhs.inside(&mut |nest| made::prepare_inside(cx, d, nest));
    lower::make(cx, d, place, along, kept.as_ref());
    if let Body::Counted(passes) = &of.body {
        return counting::counted(cx, d, nest, passes);
    }
    let output = Output::begin(cx, d, nest, &of.assembly, kept.clone(), false);
    let output = cx.say_output((of.output, of.root), output);
    match &of.body {
        Body::Split { split, otherwise } => quotient::split(cx, d, split, &output, otherwise.as_ref()),
        Body::Loops(loops) => cx.block(d, loops),
        Body::Counted(_) => {}
    }
    let count = kept.as_ref().map(|_| output.list().appended());
    output.finish(d);
    kept.iter().zip(count).for_each(|(kept, count)| kept.compare(d, count));
}
