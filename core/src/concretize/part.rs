//! Parts on the left: the whole is defined anew, from what the part is and what was there.
//!
//! ```text
//!  A[i+2, j] = e          forall m0: forall j:  A[m0, j] = window 0 <= m0 - 2 < |i|: e under i = m0 - 2; else A_was[m0, j]
//!  A[0, j] = e            forall m0: forall j:  A[m0, j] = if m0 == 0 then e else A_was[m0, j]
//!  y[i(1:N:2)] = e        part[i] = e           first: a temporary of the part
//!                         forall m0:  y[m0] = if i < 0 then y_was[m0] else part[i],   i = (m0 - 1) / 2 where that has no rest
//! ```

use super::Concretize;
use crate::algebra::{Op, Type, Value};
use crate::format::Format;
use crate::map::{Map, Size};
use crate::notation::concrete::{Computed, Concat, Expr, Index, Origin, Role, Tensor};
use crate::notation::typed::{self, Fun, Line};

/// What says whether a coordinate is in the part, in one mode.
enum Inside {
    /// The variable is a difference of coordinates, within its extent.
    Window(Map<Index>, Index),
    /// A condition.
    If(Expr),
}

impl Concretize<'_> {
    /// `T[κ] = e`, of a part.
    pub(super) fn part(&mut self, s: &typed::Statement, last: bool) {
        let lines: Vec<Line> = s.indices.iter().map(|i| i.line().expect("checked: a part is under lines")).collect();
        let stepped = lines.iter().any(|line| line.var.is_some_and(|(_, factor)| factor != 1));
        let apart = stepped.then(|| self.made_part(s));
        let (mut target, mut conditions) = (Vec::new(), Vec::new());
        for ((mode, line), index) in lines.iter().enumerate().zip(&s.indices) {
            let at = match index.bare() {
                Some(v) if apart.is_none() => {
                    self.loops(v, &s.rhs);
                    self.var(v)
                }
                _ => {
                    let size = self.typed.tensors[s.tensor.index()].sizes[mode];
                    let name = self.unused(&format!("m{mode}"));
                    self.fresh(name, self.classes.class_of_size(size))
                }
            };
            target.push(at);
            if index.bare().is_none() || apart.is_some() {
                conditions.extend(self.inside_of(at, line));
            }
        }
        let (ty, was) = (self.typed.tensors[s.tensor.index()].ty, self.reading(s.tensor));
        let was = Expr::Access(self.out.access(was, target.clone()), ty);
        let value = match apart {
            Some(place) => {
                let vars = s.vars.iter().map(|v| self.var(*v)).collect();
                Expr::Access(self.out.access(place, vars), ty)
            }
            None => self.expr(&s.rhs),
        };
        let rhs = conditions.into_iter().rev().fold(value, |value, inside| match inside {
            Inside::Window(of, v) => {
                let concat = Concat { of, parts: vec![(v, value)], outside: Some(was.clone()) };
                Expr::Concat(Box::new(concat), ty)
            }
            Inside::If(condition) => Expr::Call(Fun::Op(Op::Select), vec![condition, value, was.clone()], ty),
        });
        let rhs = self.simplify.simplify(&rhs);
        let place = self.version(s, &target, &rhs, last);
        self.define(place, target, rhs, None);
        self.current[s.tensor.index()] = Some(place);
    }

    /// The right side of a part as a temporary over its own variables.
    fn made_part(&mut self, s: &typed::Statement) -> super::Place {
        s.vars.iter().for_each(|v| drop(self.loops(*v, &s.rhs)));
        let target: Vec<Index> = s.vars.iter().map(|v| self.var(*v)).collect();
        let rhs = self.expr(&s.rhs);
        let rhs = self.simplify.simplify(&rhs);
        let background = self.background(&rhs);
        let sparse = background.is_some() && rhs.accesses().iter().any(|a| !self.out.tensor(*a).format.is_dense());
        let ty = rhs.ty();
        let format = if sparse { Format::csf(target.len()) } else { Format::dense(target.len()) };
        let extents = target.iter().map(|v| self.out.vars[v.0].extent).collect();
        let (name, fill) = ("part".to_string(), background.unwrap_or(Value::zero(ty)));
        let place = self.place(Tensor { name, ty, extents, format, fill, role: Role::Temporary });
        self.define(place, target, rhs, None);
        place
    }

    /// Binds a line's variable where the target's coordinate is `at`; what says that this is in the part, unless it always is.
    fn inside_of(&mut self, at: Index, line: &Line) -> Option<Inside> {
        let start = self.classes.bound(&line.start);
        let Some((v, factor)) = line.var else {
            let start = self.bound(&line.start);
            let same = Expr::Call(Fun::Op(Op::Eq), vec![Expr::Index(at), start], Type::Bool);
            return Some(Inside::If(same));
        };
        let extent = self.classes.class_of_var(v);
        if factor == 1 {
            if start == Size::default() && extent == self.out.vars[at.0].extent {
                self.vars.insert(v, at);
                return None;
            }
            let of = Map::part(&Map::var(at), &start);
            let name = self.own_name(v);
            let bound = self.out.var(name, extent, Origin::Part(Map::part(&of, &Size::default())));
            self.vars.insert(v, bound);
            return Some(Inside::Window(of, bound));
        }
        let int = |n: i64| Expr::Literal(Value::i64(n));
        let call = |op, a, b| Expr::Call(Fun::Op(op), vec![a, b], Type::I64);
        let start = self.bound(&line.start);
        let moved = call(Op::Sub, Expr::Index(at), start);
        let rest = call(Op::FloorRem, moved.clone(), int(factor));
        let whole = Expr::Call(Fun::Op(Op::Eq), vec![rest, int(0)], Type::Bool);
        let turn = call(Op::FloorDiv, moved, int(factor));
        let of = Expr::Call(Fun::Op(Op::Select), vec![whole, turn, int(-1)], Type::I64);
        let bound = self.at(extent, Origin::Computed(Box::new(Computed { of, permit: true, caught: false })));
        self.vars.insert(v, bound);
        let outside = Expr::Call(Fun::Op(Op::Lt), vec![Expr::Index(bound), int(0)], Type::Bool);
        Some(Inside::If(Expr::Call(Fun::Op(Op::Not), vec![outside], Type::Bool)))
    }
}
