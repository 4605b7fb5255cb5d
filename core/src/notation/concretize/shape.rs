//! Shape operators as index maps: what they bind inside is a function of what is bound outside.
//!
//! ```text
//!  slice(E, j -> k, 3:703:7)       E under j = 7*k + 3
//!  split(E, k -> (i, j))           E under k = |J|*i + j
//!  E[3, j]                         E[at, j] under at = 3
//!  concat((E, F), (i, k) -> l)     E where l < |I|, under i = l;  else F, under k = l - |I|
//! ```
//!
//! Operators inside one another become one map: an access is read where it is needed, and nothing between is made.

use super::super::concrete::{Concat, Expr, Index, Origin, Place};
use super::super::typed::{self, VarId};
use super::{Concretize, distinct};
use crate::algebra::Type;
use crate::shape::{Map, Size};

/// The coordinate that an index is, if it is a number or a calculation with numbers.
pub(super) fn coordinate(index: &typed::Index) -> Option<i64> {
    fn value(map: &typed::Map) -> Option<i64> {
        match map {
            typed::Map::Const(c) => Some(*c),
            typed::Map::Add(a, b) => value(a)?.checked_add(value(b)?),
            typed::Map::Mul(c, a) => value(a)?.checked_mul(*c),
            typed::Map::Div(a, c) => value(a)?.checked_div_euclid(*c),
            typed::Map::Mod(a, c) => value(a)?.checked_rem_euclid(*c),
            typed::Map::Var(_) | typed::Map::Gather(..) => None,
        }
    }
    value(&index.map).filter(|_| !index.permit)
}

impl Concretize<'_> {
    /// `slice(body, from -> to, start::step)`
    pub(super) fn slice(&mut self, (from, to): (VarId, VarId), (start, step): (u64, u64), body: &typed::Expr) -> Expr {
        let to = self.map_of(to);
        // Past 2⁶³ there is no coordinate: such a slice is empty, and its map is never asked.
        self.mapped(from, Map::slice(&to, start as i64, step as i64));
        self.expr(body)
    }

    /// `split(body, from -> to)`
    pub(super) fn split(&mut self, from: VarId, to: (VarId, VarId), body: &typed::Expr) -> Expr {
        let inner = Size::extent(self.classes, self.classes.class_of_var(to.1));
        let to = (self.map_of(to.0), self.map_of(to.1));
        self.mapped(from, Map::split((&to.0, &to.1), &inner));
        self.expr(body)
    }

    /// `concat(parts, from -> to)`
    pub(super) fn concat(&mut self, parts: &[typed::Expr], from: &[VarId], to: VarId, ty: Type) -> Expr {
        let of = self.map_of(to);
        let mut before = Size::default();
        let parts = parts.iter().zip(from).map(|(part, v)| {
            let extent = self.classes.class_of_var(*v);
            let own = self.own_name(*v);
            let bound = self.out.var(own, extent, Origin::Part(Map::part(&of, &before)));
            before = before.plus(&Size::unknown(extent));
            self.vars.insert(*v, bound);
            (bound, self.expr(part))
        });
        let parts = parts.collect();
        Expr::Concat(Box::new(Concat { of, parts }), ty)
    }

    /// The variable under which a mode is read: a bare one, or one that is mapped to a coordinate.
    pub(super) fn index(&mut self, place: Place, mode: usize, index: &typed::Index) -> Index {
        if let Some(v) = index.bare() {
            return self.var(v);
        }
        let at = coordinate(index).expect("refused otherwise");
        let (extent, origin) =
            (self.out.tensors[place.0].extents[mode], Origin::Mapped(Map::constant(Size::number(at))));
        let known = self.out.vars.iter().position(|u| u.extent == extent && u.origin == origin);
        known.map(Index).unwrap_or_else(|| {
            let taken = |name: &String| {
                self.typed.vars.iter().any(|u| u.name == *name) || self.out.vars.iter().any(|u| u.name == *name)
            };
            let name = distinct("at", taken);
            self.out.var(name, extent, origin)
        })
    }

    /// A variable as a map of loops' and parts' variables.
    fn map_of(&mut self, v: VarId) -> Map<Index> {
        let v = self.var(v);
        self.out.map(v)
    }

    /// Binds a variable to a map: to the variable that it is, or to one that others are bound to already.
    fn mapped(&mut self, v: VarId, map: Map<Index>) {
        let extent = self.classes.class_of_var(v);
        let same = map.as_var().filter(|u| self.out.vars[u.0].extent == extent);
        let origin = Origin::Mapped(map);
        let known = || self.out.vars.iter().position(|u| u.extent == extent && u.origin == origin).map(Index);
        let bound = same.or_else(known).unwrap_or_else(|| {
            let own = self.own_name(v);
            self.out.var(own, extent, origin)
        });
        self.vars.insert(v, bound);
    }

    /// A variable's name, if no other has it, else one like it.
    fn own_name(&self, v: VarId) -> String {
        let others = self.typed.vars.iter().enumerate().filter(|(n, _)| *n != v.index());
        let others: Vec<&str> = others.map(|(_, u)| u.name.as_str()).collect();
        let taken = |name: &String| others.contains(&name.as_str()) || self.out.vars.iter().any(|u| u.name == *name);
        distinct(&self.typed.vars[v.index()].name, taken)
    }
}
