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

use super::Context;
use super::output::Output;
use crate::loops::Symbolic;
use crate::loops::choose::{inner, scope::Scope};
use crate::loops::lower::{self, statement};
use crate::loops::plan::{Assembly, Statement};
use crate::notation::concrete::{self, Nest};

/// Emits the temporaries of a body that can be computed here. Returns the body that reads them; `None` if there are none.
pub(super) fn made(cx: &Context, d: &mut Symbolic, scope: &Scope, body: &concrete::Expr) -> Option<concrete::Expr> {
    let mut ready = vec![];
    body.inside(&mut |nest| ready.extend(inner::is_bound(cx, scope, nest).then_some(nest)));
    ready.dedup();
    ready.iter().for_each(|nest| make_inside(cx, d, scope, nest));
    (!ready.is_empty()).then(|| cx.simplify.simplify(&inner::read(cx, scope, body)))
}

/// Emitted before a statement's loops: allocates the arrays of a temporary that is computed inside of them.
pub(super) fn prepare_inside(cx: &mut Context, d: &mut Symbolic, nest: &Nest) {
    let place = nest.target.tensor;
    lower::fits(cx, d, place);
    lower::make(cx, d, place, None, None);
    if inner::is_made_again(cx, nest) {
        Output::arrays(cx, d, nest);
    }
}

fn make_inside(cx: &Context, d: &mut Symbolic, scope: &Scope, nest: &Nest) {
    let target = nest.target.tensor;
    let fits = |given: &Statement| given.target == target;
    let given = cx.book.enter_if(fits, || Statement { target, assembly: Assembly::default() });
    let output = Output::begin(cx, d, nest, &given.assembly, None, inner::is_made_again(cx, nest));
    statement::fill_output(cx, d, nest, &output, scope);
    // The arrays keep their room from iteration to iteration: no bound allocates them.
    let needs = Assembly { room: None, ..output.needs(nest) };
    output.finish(d);
    statement::assembled(cx, &given, needs);
}
