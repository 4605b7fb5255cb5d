//! The coordinates to which a scatter writes: they are computed, and may be missing.

use super::{Context, value};
use crate::choose::{scope::Scope, symbol::Sym};
use crate::plan::Block;
use fiberloom_core::algebra::{Op as Fn, Type};
use fiberloom_core::notation::concrete::{self, Nest};

/// The condition that no coordinate to which a scatter writes is missing; `None` if none can be.
pub(super) fn lands(cx: &Context, b: &mut Block, nest: &Nest, scope: &mut Scope) -> Option<Sym> {
    let places = nest.places().iter().filter_map(|place| match place {
        concrete::Expr::Index(u) if cx.program.may_miss(*u) => Some(*u),
        _ => None,
    });
    let there = places.map(|u| {
        let at = value::come_to(cx, b, scope, u).expect("its loops are around");
        cx.symbols.op(Fn::Ge, [at, Sym::ZERO])
    });
    let there: Vec<Sym> = there.collect();
    cx.symbols.all(there)
}

/// The scope in which a scatter's target variables are bound to the coordinates that it writes to.
pub(super) fn placed(cx: &Context, b: &mut Block, nest: &Nest, scope: &Scope) -> Scope {
    let mut inner = scope.clone();
    for (v, place) in nest.target.vars.iter().zip(nest.places()) {
        let at = value::value(cx, b, scope, place);
        let at = b.define(cx, &cx.program.vars[v.0].name, Type::I64, at);
        inner.bind(*v, at);
    }
    inner
}
