//! Statements as they are written: expressions over index variables, before any decision.
//!
//! ```text
//!  sum(k: B[i,k] * D[k,j])          a tensor is read in its current version, or in the copy that a command asks for
//!  coalesce(A[~(i + 1)], 0)         operators are index maps; an index that may leave the array gives a window or a condition: `shape.rs`
//! ```

use super::Concretize;
use crate::schedule::protocol;
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::map;
use fiberloom_core::notation::concrete::{self, Expr, Fold, Index, Iterated};
use fiberloom_core::notation::syntax::Protocol;
use fiberloom_core::notation::typed::{self, Fun, Kind, Map, TensorId};
use std::collections::BTreeMap;

/// Translates the expressions of a statement.
pub(super) struct Bare<'s, 'a> {
    pub c: &'s mut Concretize<'a>,
    /// The protocols that the statement's schedule asks for.
    asked: Vec<protocol::Asked>,
    /// The permitted indices found so far in the current argument of `coalesce`, each with the variable that is within its array.
    pub windows: Vec<(map::Map<Index>, Index)>,
    /// Whether a `coalesce` catches what is missing here, and nothing around it would have to be missing as well.
    pub caught: bool,
    /// Whether the expression is a coordinate: its concatenations are materialized before it, and it has no windows.
    pub apart: bool,
    /// The conditions under which the expression so far is missing, apart from those that a window expresses.
    pub missing: Vec<Expr>,
}

impl<'s, 'a> Bare<'s, 'a> {
    /// The translator of a statement whose schedule asks for these protocols.
    pub fn of(c: &'s mut Concretize<'a>, asked: Vec<protocol::Asked>) -> Bare<'s, 'a> {
        Bare { c, asked, windows: vec![], caught: false, apart: false, missing: vec![] }
    }

    /// A whole expression, simplified.
    pub fn simplified(&mut self, e: &typed::Expr) -> Expr {
        let made = self.expr(e);
        self.c.given.simplify.simplify(&made)
    }

    /// An expression.
    pub fn expr(&mut self, e: &typed::Expr) -> Expr {
        match &e.kind {
            Kind::Literal(v) => Expr::Literal(*v),
            Kind::Index(v) => Expr::Index(self.c.out.of(*v)),
            Kind::Size(size) => self.c.out.extent(self.c.given.classes.class_of_size(*size)),
            Kind::Access(t, indices) => self.read(*t, indices, protocol::of(&self.asked, *t, indices)),
            Kind::Call(Fun::Op(Op::Coalesce), args) => self.coalesce(args, e.ty),
            Kind::Call(fun, args) => {
                let args = args.iter().map(|a| self.expr(a)).collect();
                Expr::Call(*fun, args, e.ty)
            }
            Kind::Reduce { fun, vars, body, start } => {
                let start = start.as_ref().map(|s| {
                    let (start, missing) = self.inside(s);
                    self.missing.extend(missing);
                    start
                });
                let vars: Vec<Index> =
                    vars.iter().flat_map(|v| self.c.scheduled.loops_of(*v, body, &mut self.c.out)).collect();
                let (body, missing) = self.inside(body);
                let somewhere = |e| Expr::Reduce(Fun::Op(Op::OrElse), vars.clone(), Box::new(e), Type::Bool);
                self.missing.extend(missing.map(somewhere));
                if self.c.given.unordered(*fun, e.ty).is_none() {
                    return Expr::Fold(Box::new(Fold { fun: *fun, vars, body, start }), e.ty);
                }
                // A fold of a fold with the same function is one fold.
                let folded = match body {
                    Expr::Reduce(inner, more, body, ty) if inner == *fun => {
                        Expr::Reduce(inner, [vars, more].concat(), body, ty)
                    }
                    body => Expr::Reduce(*fun, vars, Box::new(body), e.ty),
                };
                match start {
                    Some(start) => Expr::Call(*fun, vec![start, folded], e.ty),
                    None => folded,
                }
            }
            Kind::Slice { body, from, to, start, step, .. } => self.slice((*from, *to), (start, *step), body),
            Kind::Split { body, from, to } => self.split(*from, *to, body),
            Kind::Concat { parts, from, to } => self.concat(parts, from, *to, e.ty),
            Kind::Collapse { body, from, to } => self.collapse(body, from, *to),
            Kind::Local(_) => unreachable!("refused otherwise"),
        }
    }

    /// A tensor's value under these indices. A computed tensor is a call of its function on the coordinates.
    fn read(&mut self, id: TensorId, indices: &[typed::Index], protocols: BTreeMap<usize, Protocol>) -> Expr {
        let typed = self.c.given.typed;
        let typed::Tensor { ty, role, sizes, .. } = &typed.tensors[id.index()];
        let extents = sizes.iter().map(|s| self.c.given.classes.class_of_size(*s));
        let under = |c: &mut Self| indices.iter().zip(extents).map(|(i, extent)| c.index(i, extent)).collect();
        if let typed::Role::Computed(f) = role {
            let at: Vec<Index> = under(self);
            return Expr::Call(Fun::User(*f), at.into_iter().map(Expr::Index).collect(), *ty);
        }
        let tensor = self.c.follow().source(id);
        let vars = under(self);
        let protocols = protocols.into_iter().map(|(mode, protocol)| (mode, Iterated::As(protocol))).collect();
        Expr::Access(self.c.out.accessed(concrete::Access { tensor, vars, protocols }), *ty)
    }

    /// An index map as an expression.
    pub fn place_of(&mut self, map: &Map) -> Expr {
        let int = |x: i64| Expr::Literal(Value::i64(x));
        let call = |op, a, b| Expr::Call(Fun::Op(op), vec![a, b], Type::I64);
        match map {
            Map::Var(v) => Expr::Index(self.c.out.of(*v)),
            Map::Const(c) => int(*c),
            Map::Bound(bound) => self.c.out.begin(bound),
            Map::Add(a, b) => call(Op::Add, self.place_of(a), self.place_of(b)),
            Map::Mul(c, a) => call(Op::Mul, int(*c), self.place_of(a)),
            Map::Div(a, c) => call(Op::FloorDiv, self.place_of(a), int(*c)),
            Map::Mod(a, c) => call(Op::FloorRem, self.place_of(a), int(*c)),
            Map::Gather(t, indices) => integer(self.read(*t, indices, BTreeMap::new())),
            Map::Computed(e) => {
                // A coordinate has no windows: an index that may be missing below it is tested.
                let around = std::mem::replace(&mut self.apart, true);
                let (value, missing) = self.inside(e);
                self.apart = around;
                debug_assert!(missing.is_none(), "what is missing in a computed index is caught: checked");
                integer(value)
            }
        }
    }
}

/// An integer as an `i64`.
pub(super) fn integer(e: Expr) -> Expr {
    match e.ty() {
        Type::I64 => e,
        _ => Expr::Call(Fun::Op(Op::Convert(Type::I64)), vec![e], Type::I64),
    }
}
