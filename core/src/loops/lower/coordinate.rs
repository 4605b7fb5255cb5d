//! Coordinates as expressions: index variables, maps of them, sizes.

use super::{Context, Expr};
use crate::loops::choose::{coordinate, range::Range, scope::Scope};
use crate::map::{Map, Size};
use crate::notation::concrete::Index;

/// The value of an index variable that is bound.
pub(super) fn of(cx: &Context, scope: &Scope, v: Index) -> Option<Expr> {
    coordinate::of(cx, scope, v).map(|at| cx.expr(at))
}

/// The value of a map whose variables are bound.
pub(super) fn mapped(cx: &Context, scope: &Scope, map: &Map<Index>) -> Option<Expr> {
    coordinate::mapped(cx, scope, map).map(|at| cx.expr(at))
}

/// The value of a size.
pub(super) fn of_size(cx: &Context, size: &Size) -> Expr {
    cx.expr(coordinate::of_size(cx, size))
}

/// The number of coordinates of a range.
pub(super) fn length(cx: &Context, range: &Range) -> Expr {
    cx.expr(coordinate::length(cx, range))
}
