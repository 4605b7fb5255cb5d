//! Rules of folds: sums, products, the least and the greatest value.

use super::super::change::rebound;
use super::super::expr::{call, compare, counted, index, integer, made, mask, mul, number};
use super::{Done, Pull, anchor};
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::typed::{Expr, Fun, Kind, VarId};

/// The parts of a fold.
struct Fold<'e> {
    vars: &'e [VarId],
    body: &'e Expr,
    start: Option<&'e Expr>,
}

impl Pull<'_> {
    /// A fold, by its function.
    pub(super) fn fold(&mut self, e: &Expr, w: Expr) -> Done {
        let Kind::Reduce { fun, vars, body, start } = &e.kind else { return Ok(()) };
        let fold = Fold { vars, body, start: start.as_deref() };
        match fun {
            Fun::Op(Op::Add) => self.summed(&fold, w),
            Fun::Op(Op::Mul) => self.multiplied(&fold, w),
            Fun::Op(op @ (Op::Min | Op::Max)) => self.extreme(e, *op, &fold, w),
            other => {
                let name = match other {
                    Fun::Op(op) => op.name(),
                    Fun::User(f) => &self.draft.program.functions[f.index()].name,
                };
                let message =
                    format!("a fold with `{name}` has no derivative: sums, products, `min` and `max` have one");
                Err(Diagnostic::new(e.span, message)
                    .help("write it as one of these, or leave it out of what the gradient is of"))
            }
        }
    }

    /// `sum(j: a start s)`: `a` gets `w` at every `j`, and `s` gets `w`.
    fn summed(&mut self, fold: &Fold, w: Expr) -> Done {
        self.begun(fold, w.clone())?;
        self.within(fold, w)
    }

    /// `prod(j: a start s)`, without division: `a` at `j` gets `w · s · prod(k: if k == j then 1 else a at k)`, and `s` gets
    /// `w · prod(j: a)`.
    fn multiplied(&mut self, fold: &Fold, w: Expr) -> Done {
        let body = self.here(fold.body)?;
        let start = fold.start.map(|s| self.here(s)).transpose()?;
        let product = |body: Expr, vars: &[VarId]| {
            let ty = body.ty;
            made(Kind::Reduce { fun: Fun::Op(Op::Mul), vars: vars.to_vec(), body: Box::new(body), start: None }, ty)
        };
        let inner = rebound(self.draft, &product(body, fold.vars))?;
        let Kind::Reduce { vars: others, body: other, .. } = &inner.kind else { return Ok(()) };
        if fold.start.is_some() {
            self.begun(fold, mul(w.clone(), inner.clone()))?;
        }
        let same = others.iter().zip(fold.vars).map(|(k, j)| compare(Op::Eq, index(*k), index(*j)));
        let same = same.reduce(|a, b| call(Op::AndAlso, vec![a, b]));
        let Some(same) = same else { return Ok(()) };
        let rest = call(Op::Select, vec![same, number(1.0, w.ty), (**other).clone()]);
        let rest = product(rest, others);
        let w = start.map_or(w.clone(), |s| mul(w, s));
        self.within(fold, mul(w, rest))
    }

    /// `min(j: a start s)`: with `m` the value and `f` the first `j` at which `a` is `m`, `a` gets `w` at `j = f`, and nothing elsewhere; if
    /// `s` is `m`, it gets `w`, and `a` nothing. `max` alike.
    fn extreme(&mut self, e: &Expr, op: Op, fold: &Fold, w: Expr) -> Done {
        let value = self.value(e)?;
        let value = if matches!(value.kind, Kind::Access(..)) { value } else { self.named(op.name(), value)? };
        let is = |e: Expr| compare(Op::Eq, e, value.clone());
        let mut w = w;
        if let Some(start) = fold.start {
            let first = is(self.here(start)?);
            self.begun(fold, mask(first.clone(), w.clone()))?;
            w = mask(call(Op::Not, vec![first]), w);
        }
        let place = self.place(fold.vars, e)?;
        let none = integer(i64::MAX);
        let attained = call(Op::Select, vec![is(self.here(fold.body)?), place.clone(), none]);
        let least =
            Kind::Reduce { fun: Fun::Op(Op::Min), vars: fold.vars.to_vec(), body: Box::new(attained), start: None };
        let least = rebound(self.draft, &made(least, Type::I64))?;
        let first = self.named("first", least)?;
        let at = compare(Op::Eq, place, first);
        self.within(fold, mask(at, w))
    }

    /// The place of a fold's coordinates in their order: one variable's value, of several a number.
    fn place(&self, vars: &[VarId], e: &Expr) -> Result<Expr, Diagnostic> {
        let mut place = index(vars[0]);
        for v in &vars[1..] {
            place = call(Op::Mul, vec![place, counted(self.draft.extent(*v, e.span)?)]);
            place = call(Op::Add, vec![place, index(*v)]);
        }
        Ok(place)
    }

    /// What the fold begins with gets `w`.
    fn begun(&mut self, fold: &Fold, w: Expr) -> Done {
        fold.start.map_or(Ok(()), |start| self.pull(start, w))
    }

    /// The body gets `w`, at each coordinate of the fold's variables.
    fn within(&mut self, fold: &Fold, w: Expr) -> Done {
        let (outer, known) = (self.scope.len(), self.anchors.len());
        self.scope.extend(fold.vars);
        self.anchors.extend(fold.vars.iter().filter_map(|v| Some((*v, anchor(fold.body, *v)?))));
        let done = self.pull(fold.body, w);
        self.scope.truncate(outer);
        self.anchors.truncate(known);
        done
    }
}
