//! Parts on the left side: the statement defines the whole tensor anew, from the part and the version before.
//!
//! ```text
//!  A[i+2, j] = e          forall m0: forall j:  A[m0, j] = window 0 <= m0 - 2 < |i|: e under i = m0 - 2; else A_was[m0, j]
//!  A[0, j] = e            forall m0: forall j:  A[m0, j] = if m0 == 0 then e else A_was[m0, j]
//!  y[i(1:N:2)] = e        part[i] = e           first: a temporary of the part
//!                         forall m0:  y[m0] = if i < 0 then y_was[m0] else part[i],   i = (m0 - 1) / 2 where that has no rest
//! ```

use super::draft::Draft;
use super::ground::Ground;
use super::out::Out;
use super::steps::{Stated, Statements};
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::format::Format;
use fiberloom_core::map::{Map, Size};
use fiberloom_core::notation::concrete::{Computed, Concat, Expr, Index, Origin, Place, Role, Tensor};
use fiberloom_core::notation::typed::{self, Fun, Line};

/// The test whether a coordinate is in the part, in one mode.
enum Inside {
    /// The variable is a difference of coordinates, within its extent.
    Window(Map<Index>, Index),
    /// A condition.
    If(Expr),
}

impl Statements<'_> {
    /// Defines a tensor by a part of it: `T[κ] = e`.
    pub fn part(&mut self, of: Stated) -> Place {
        let (s, given) = (of.s, self.c.given);
        let lines: Vec<Line> = s.indices.iter().map(|i| i.line().expect("checked: a part is under lines")).collect();
        let stepped = lines.iter().any(|line| line.var.is_some_and(|(_, factor)| factor != 1));
        let apart = stepped.then(|| self.made_part(s));
        let (mut target, mut conditions) = (Vec::new(), Vec::new());
        for ((mode, line), index) in lines.iter().enumerate().zip(&s.indices) {
            let at = match index.bare() {
                Some(v) if apart.is_none() => {
                    self.loops_of(v, &s.rhs);
                    self.c.out.of(v)
                }
                _ => {
                    let name = self.c.out.unused(&format!("m{mode}"));
                    self.c.out.fresh(name, given.extents(s.tensor)[mode])
                }
            };
            target.push(at);
            if index.bare().is_none() || apart.is_some() {
                conditions.extend(inside_of(at, line, &mut self.c.out));
            }
        }
        let was = self.c.out.reading(s.tensor);
        let was = self.c.out.read(was, target.clone());
        let ty = was.ty();
        let value = match apart {
            Some(place) => {
                let vars = s.vars.iter().map(|v| self.c.out.of(*v)).collect();
                self.c.out.read(place, vars)
            }
            None => self.bare(s).expr(&s.rhs),
        };
        let rhs = conditions.into_iter().rev().fold(value, |value, inside| match inside {
            Inside::Window(of, v) => {
                let concat = Concat { of, parts: vec![(v, value)], outside: Some(was.clone()) };
                Expr::Concat(Box::new(concat), ty)
            }
            Inside::If(condition) => Expr::Call(Fun::Op(Op::Select), vec![condition, value, was.clone()], ty),
        });
        self.assign(of, target, rhs)
    }

    /// The right side of a part as a temporary over the part's variables.
    fn made_part(&mut self, s: &typed::Statement) -> Place {
        s.vars.iter().for_each(|v| drop(self.loops_of(*v, &s.rhs)));
        let target: Vec<Index> = s.vars.iter().map(|v| self.c.out.of(*v)).collect();
        let rhs = self.bare(s).simplified(&s.rhs);
        let out = &mut self.c.out;
        let background = Ground { program: out, given: self.c.given }.background(&rhs);
        let sparse = background.is_some() && rhs.accesses().iter().any(|a| !out.tensor(*a).format.is_dense());
        let ty = rhs.ty();
        let format = if sparse { Format::csf(target.len()) } else { Format::dense(target.len()) };
        let extents = target.iter().map(|v| out.vars[v.0].extent).collect();
        let (name, fill) = ("part".to_string(), background.unwrap_or(Value::zero(ty)));
        let place = out.place(Tensor { name, ty, extents, format, fill, role: Role::Temporary });
        self.c.define(Draft::new(place, target, rhs).stated());
        place
    }
}

/// Binds a line's variable where the target's coordinate is `at`. Returns the test that the coordinate is in the part; `None` if it
/// always is.
fn inside_of(at: Index, line: &Line, out: &mut Out) -> Option<Inside> {
    let start = out.classes.bound(&line.start);
    let Some((v, factor)) = line.var else {
        let start = out.begin(&line.start);
        let same = Expr::Call(Fun::Op(Op::Eq), vec![Expr::Index(at), start], Type::Bool);
        return Some(Inside::If(same));
    };
    let extent = out.classes.class_of_var(v);
    if factor == 1 {
        if start == Size::default() && extent == out.vars[at.0].extent {
            out.bind(v, at);
            return None;
        }
        let of = Map::part(&Map::var(at), &start);
        let name = out.own_name(v);
        let bound = out.var(name, extent, Origin::Part(Map::part(&of, &Size::default())));
        out.bind(v, bound);
        return Some(Inside::Window(of, bound));
    }
    let int = |n: i64| Expr::Literal(Value::i64(n));
    let call = |op, a, b| Expr::Call(Fun::Op(op), vec![a, b], Type::I64);
    let start = out.begin(&line.start);
    let moved = call(Op::Sub, Expr::Index(at), start);
    let rest = call(Op::FloorRem, moved.clone(), int(factor));
    let whole = Expr::Call(Fun::Op(Op::Eq), vec![rest, int(0)], Type::Bool);
    let turn = call(Op::FloorDiv, moved, int(factor));
    let of = Expr::Call(Fun::Op(Op::Select), vec![whole, turn, int(-1)], Type::I64);
    let bound = out.at(extent, Origin::Computed(Box::new(Computed { of, permit: true, caught: false })));
    out.bind(v, bound);
    let outside = Expr::Call(Fun::Op(Op::Lt), vec![Expr::Index(bound), int(0)], Type::Bool);
    Some(Inside::If(Expr::Call(Fun::Op(Op::Not), vec![outside], Type::Bool)))
}
