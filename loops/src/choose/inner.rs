//! Temporaries that are computed inside of loops.

use crate::choose::{Facts, scope::Scope};
use fiberloom_core::notation::concrete::{self, Nest, Where};

/// Whether loops around have bound all variables that a nest does not bind.
pub fn is_bound(cx: &Facts, scope: &Scope, nest: &Nest) -> bool {
    let own = [nest.order(), nest.rhs.fold_vars()].concat();
    let mut roots = cx.program.under(&nest.rhs).into_iter().flat_map(|v| cx.program.roots(v));
    roots.all(|u| own.contains(&u) || scope.coordinate(u).is_some())
}

/// Whether the arrays of a temporary are reused from iteration to iteration.
pub fn is_made_again(cx: &Facts, nest: &Nest) -> bool {
    cx.program.tensors[nest.target.tensor.0].format.levels.iter().all(|kind| kind.is_full() || kind.is_plain())
}

/// A body with its computed temporaries replaced by reads of them.
pub fn read(cx: &Facts, scope: &Scope, body: &concrete::Expr) -> concrete::Expr {
    match body {
        concrete::Expr::Where(made, ty) if is_bound(cx, scope, &made.nest) => {
            let Where { read, .. } = **made;
            concrete::Expr::Access(read, *ty)
        }
        other => other.clone().map_parts(&mut vec![], &mut |part, _| read(cx, scope, &part)),
    }
}
