//! Materialized temporaries that are computed inside of loops: where all variables that they depend on are bound, before the loops that
//! read them.
//!
//! ```text
//!  forall i: forall k: M[i,k] = E[k] * (W[k] where (forall kw: W[kw] = A[i,kw] * x[kw]))
//!    ─▶  alloc W; for i { for kw { W[kw] = … }; for k { M[i,k] = E[k] * W[k] } }
//! ```
//!
//! Loops around iterate over the definition of a temporary, so that they visit its entries; loops inside iterate over the temporary. Its
//! arrays are allocated before the statement; arrays of levels with flags are allocated anew in each iteration.

use super::{Context, statement};
use crate::choose::{inner, scope::Scope};
use crate::plan::{Arrays, Assembly, Block, Made, Op, analysis::Tree};
use crate::planner::output::Output;
use fiberloom_core::notation::concrete::{self, Nest};

/// Plans the temporaries of a body that can be computed here. Returns the body that reads them; `None` if there are none.
pub(super) fn made(cx: &Context, b: &mut Block, scope: &Scope, body: &concrete::Expr) -> Option<concrete::Expr> {
    let mut ready = vec![];
    body.inside(&mut |nest| ready.extend(inner::is_bound(cx, scope, nest).then_some(nest)));
    ready.dedup();
    ready.iter().for_each(|nest| make_inside(cx, b, scope, nest));
    (!ready.is_empty()).then(|| cx.simplify.simplify(&inner::read(cx, scope, body)))
}

fn make_inside(cx: &Context, b: &mut Block, scope: &Scope, nest: &Nest) {
    let output = Output::begin(cx, nest, Arrays::Own);
    let body = Block::of(|b| statement::fill_output(cx, b, nest, &output, scope));
    let (nest, output, root) = (nest.clone(), output.name, output.root().name);
    let mut made = Made { nest, output, root, assembly: Assembly::default(), body };
    made.assembly = Tree::of_made(cx, &made).assembly_inside();
    b.push(Op::Make { made: Box::new(made) });
}
