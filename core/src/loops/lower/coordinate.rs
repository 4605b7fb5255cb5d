//! Coordinates as expressions: index variables, maps of them, sizes.

use super::{Context, Expr};
use crate::loops::choose::{coordinate, range::Range, scope::Scope};
use crate::map::{Map, Size};
use crate::notation::concrete::Index;

/// An index variable's value, if loops have bound it.
pub(super) fn of(cx: &Context, scope: &Scope, v: Index) -> Option<Expr> {
    coordinate::of(cx, scope, v).map(|at| cx.expr(at))
}

/// A map, if loops have bound its variables.
pub(super) fn mapped(cx: &Context, scope: &Scope, map: &Map<Index>) -> Option<Expr> {
    coordinate::mapped(cx, scope, map).map(|at| cx.expr(at))
}

/// A size.
pub(super) fn of_size(cx: &Context, size: &Size) -> Expr {
    cx.expr(coordinate::of_size(cx, size))
}

/// The number of coordinates of a range.
pub(super) fn length(cx: &Context, range: &Range) -> Expr {
    cx.expr(coordinate::length(cx, range))
}
