//! A statement: its preparations, the arrays of its result, its loops.
//!
//! ```text
//!   taken      an earlier version's arrays, if nothing reads that version later
//!   entries    an operand's, in another format, which the statement shows without its loops
//!   levels     an operand's, if the loops visit exactly its entries
//!   own        filled beforehand or not; room for all at once, or reserved by each loop
//! ```

use super::{
    Context, Prepared, bucket_index,
    destination::{Destination, Tally},
    output::Output,
    quotient,
    workspace::Scratch,
};
use crate::choose::{result, scope::Scope, tables, windows};
use crate::plan::{Arrays, Assembly, Block, Body, Statement, Step, analysis::Tree};
use fiberloom_core::notation::concrete::Nest;

/// Plans a whole statement. A result that equals an operand has the operand's arrays, and needs no loops.
pub(super) fn statement<'a>(cx: &mut Context<'a>, nest: &'a Nest) -> Step {
    let target = nest.target.tensor;
    if let Some(operand) = result::is_operand(cx, nest) {
        return Step::Whole { target, operand };
    }
    let (tables, marks) = (tables::spread_in(cx, nest), windows::marked_in(cx, nest));
    let bucket_indices = bucket_index::bucket_indices(cx, nest);
    cx.prepared = Prepared {
        tables: tables.iter().map(|table| (table.list, *table)).collect(),
        marks: marks.iter().map(|mark| (mark.list, mark.by)).collect(),
        bucket_indices: bucket_indices.iter().map(|(a, ..)| *a).collect(),
    };
    cx.also = nest.also().map(|also| (also, target));
    let arrays = result::arrays(cx, nest);
    let output = Output::begin(cx, nest, arrays);
    let body = body(cx, nest, &output, arrays);
    let (output, root) = (output.name, output.root().name);
    let nest = nest.clone();
    let mut of = Statement { nest, tables, marks, bucket_indices, assembly: Assembly::default(), output, root, body };
    of.assembly = Tree::of_statement(cx, &of).assembly();
    Step::Nest(Box::new(of))
}

/// Plans the loops of a statement.
fn body(cx: &Context, nest: &Nest, output: &Output, arrays: Arrays) -> Body {
    let scope = Scope::of(cx, nest);
    if arrays == Arrays::Counted {
        let pass = |places: bool| {
            let tally = Tally { nest, places };
            let scope = if places { scope.clone() } else { scope.aside() };
            Block::of(|b| (cx.nest)(cx, b, nest.filling(), &nest.rhs, scope, &Destination::Tally(&tally)))
        };
        return Body::Counted([pass(false), pass(true)]);
    }
    let walk = || Block::of(|b| fill_output(cx, b, nest, output, &scope));
    let Arrays::Entries(_) = arrays else { return Body::Loops(walk()) };
    let Some(split) = quotient::splits(cx, nest) else { return Body::Loops(walk()) };
    let otherwise = (!quotient::is_certain(cx, &split)).then(walk);
    Body::Split { split, otherwise }
}

/// Plans the loops of a statement inside of a scope, through its workspace if it has one.
pub(super) fn fill_output(cx: &Context, b: &mut Block, nest: &Nest, output: &Output, scope: &Scope) {
    let insertion = output.root();
    let Some(w) = nest.workspace() else {
        let copied = result::before(cx, nest).filter(|_| output.takes().is_none());
        for nest in copied.iter().chain([nest]) {
            let destination = Destination::Store { nest, output, insertion };
            (cx.nest)(cx, b, &nest.loops, &nest.rhs, scope.clone(), &destination);
        }
        return;
    };
    let scratch = Scratch::begin(cx, b, nest, w, output);
    let destination = Destination::Around { nest, output, insertion, scratch: &scratch };
    (cx.nest)(cx, b, &nest.loops, &nest.rhs, scope.clone(), &destination);
}
