//! Results beside results of decimals, which say in floats about what these are: whether 64 bits hold them.
//!
//! ```text
//!  charge[flag[l]] += price[l] * (100 - discount[l])
//!  charge_about[flag[l]] += convert(price[l], f64) * (100.0 - convert(discount[l], f64))
//! ```
//!
//! Sums and products of integers wrap, so that a result which fits 64 bits is right whatever its parts were, and one that does not is
//! told by the float, which is wrong by far less than 2⁶⁴. A sum that is converted to a float, as of an average, is added in floats where 64
//! bits may not hold it.
//!
//! What a `repeat` block defines is read in the next turn, so that a value which does not fit is wrong in some turn:
//!
//! ```text
//!  repeat 50 { owed_turn[k] = 1.05 * convert(owed[k], f64)  owed_about[] max= max(at: abs(owed_turn[at]))  owed[k] = … }
//! ```

use super::declare::Relate;
use super::expression::{call, converted};
use fiberloom_core::algebra::Type;
use fiberloom_core::notation::diagnostic::Span;
use fiberloom_core::notation::syntax::{
    Access, Affine, Argument, Assign, BinaryOp, Expr, ExprKind, Factor, Float, Ident, Index, Item, Literal, Sort,
    Statement, Tensor, Term, UnaryOp,
};

impl Relate {
    /// The name of the result beside one that is guarded.
    fn about(&mut self, result: &str) -> Option<String> {
        if !self.fitted.guarded.contains(result) {
            return self.turn(result);
        }
        Some(self.largest(result))
    }

    /// The name of what says about a guarded result how large it is.
    fn largest(&mut self, result: &str) -> String {
        if let Some(name) = self.out.about.get(result) {
            return name.clone();
        }
        let name = self.fresh(&format!("{result}_about"));
        self.out.about.insert(result.to_string(), name.clone());
        name
    }

    /// The name of the result beside one that a block defines.
    fn turn(&mut self, result: &str) -> Option<String> {
        if !self.fitted.turns.contains(result) {
            return None;
        }
        if !self.turns.contains_key(result) {
            let name = self.fresh(&format!("{result}_turn"));
            self.out.hidden.insert(name.clone());
            self.turns.insert(result.to_string(), name);
        }
        self.turns.get(result).cloned()
    }

    /// The declarations of the largest values of what blocks define.
    pub(super) fn largest_of_turns(&mut self) -> Vec<Item> {
        let results: Vec<String> = self.turns.keys().cloned().collect();
        let declared = |result: String| {
            let name = Ident { name: self.largest(&result), span: Span::default() };
            let fill = Some((Literal::Float(Float(0.0)), Span::default()));
            Item::Tensor(Tensor { name, sort: Sort::Plain(Type::F64), sizes: Vec::new(), fill, format: None })
        };
        results.into_iter().map(declared).collect()
    }

    /// The statement that keeps the largest value of what a block defines, behind the one [beside](Relate::beside) it.
    pub(super) fn seen(&mut self, s: &Statement) -> Option<Item> {
        let (turn, span) = (self.turn(&s.lhs.tensor.name)?, s.span);
        let at: Vec<Ident> = s.lhs.indices.iter().map(|_| Ident { name: self.fresh("at"), span }).collect();
        let access = |name: String, at: &[Ident]| {
            let indices = at.iter().map(bare).collect();
            Access { tensor: Ident { name, span }, indices, span }
        };
        let read = Expr { kind: ExprKind::Access(access(turn, &at)), span };
        let mut rhs = call("abs", vec![read], span);
        let max = Ident { name: "max".to_string(), span };
        if !at.is_empty() {
            let kind = ExprKind::Reduce { function: max.clone(), vars: at, body: Box::new(rhs), start: None };
            rhs = Expr { kind, span };
        }
        let lhs = access(self.largest(&s.lhs.tensor.name), &[]);
        Some(Item::Statement(Statement { lhs, op: Assign::Fold(max), rhs, locals: Vec::new(), schedule: None, span }))
    }

    /// The declaration beside one of a result that is guarded.
    pub(super) fn declared_beside(&mut self, tensor: &Tensor) -> Option<Tensor> {
        let name = self.about(&tensor.name.name)?;
        let fill = tensor.fill.as_ref().map(|(literal, span)| (float(literal), *span));
        let name = Ident { name, span: tensor.name.span };
        Some(Tensor { name, sort: Sort::Plain(Type::F64), fill, ..tensor.clone() })
    }

    /// The statement beside one that defines a result that is guarded.
    pub(super) fn beside(&mut self, s: &Statement) -> Option<Item> {
        let mut beside = s.clone();
        beside.lhs.tensor.name = self.about(&s.lhs.tensor.name)?;
        beside.rhs = floated(&s.rhs);
        beside.schedule = None;
        Some(Item::Statement(beside))
    }
}

impl Relate {
    /// The statement with its sums that become floats added as floats, if they are those of a [float](crate::relate::Fitted)
    /// result that 64-bit integers may not hold.
    pub(super) fn in_floats(&self, mut s: Statement) -> Statement {
        if self.fitted.floats.contains(&s.lhs.tensor.name) {
            add_in_floats(&mut s.rhs);
        }
        s.locals = s.locals.into_iter().map(|local| self.in_floats(local)).collect();
        s
    }
}

/// Adds the sums of integers that an expression converts to floats as floats.
fn add_in_floats(e: &mut Expr) {
    match &mut e.kind {
        ExprKind::Call(name, args) => {
            if let ("convert", [Argument::Expr(sum), Argument::Type(Type::F64, _)]) = (name.name.as_str(), &args[..]) {
                return *e = floated(sum);
            }
            for arg in args {
                if let Argument::Expr(arg) = arg {
                    add_in_floats(arg);
                }
            }
        }
        ExprKind::Unary(_, x) => add_in_floats(x),
        ExprKind::Binary(_, a, b) => [a, b].into_iter().for_each(|e| add_in_floats(e)),
        ExprKind::If(c, a, b) => [c, a, b].into_iter().for_each(|e| add_in_floats(e)),
        ExprKind::Reduce { body, .. } => add_in_floats(body),
        _ => {}
    }
}

/// An index that is a variable alone.
fn bare(v: &Ident) -> Index {
    let term = Term { coefficient: None, factor: Factor::Var(v.clone()), divisions: Vec::new() };
    Index::Affine { permit: false, map: Affine { terms: vec![(false, term)] }, span: v.span }
}

fn float(literal: &Literal) -> Literal {
    match literal {
        Literal::Int(n) => Literal::Float(Float(*n as f64)),
        other => other.clone(),
    }
}

/// The same expression of integers in floats. What is no sum, product or choice is an integer first.
pub(super) fn floated(e: &Expr) -> Expr {
    let boxed = |e: &Expr| Box::new(floated(e));
    let kind = match &e.kind {
        ExprKind::Literal(literal @ Literal::Int(_)) => ExprKind::Literal(float(literal)),
        ExprKind::Unary(UnaryOp::Neg, x) => ExprKind::Unary(UnaryOp::Neg, boxed(x)),
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b) => {
            ExprKind::Binary(*op, boxed(a), boxed(b))
        }
        ExprKind::If(c, a, b) => ExprKind::If(c.clone(), boxed(a), boxed(b)),
        ExprKind::Call(name, args) if matches!(name.name.as_str(), "mask" | "select") => {
            let arg = |(n, arg): (usize, &Argument)| match arg {
                Argument::Expr(e) if n > 0 => Argument::Expr(floated(e)),
                other => other.clone(),
            };
            ExprKind::Call(name.clone(), args.iter().enumerate().map(arg).collect())
        }
        ExprKind::Reduce { function, vars, body, start: None }
            if matches!(function.name.as_str(), "sum" | "min" | "max") =>
        {
            ExprKind::Reduce { function: function.clone(), vars: vars.clone(), body: boxed(body), start: None }
        }
        _ => return converted(e.clone(), Type::F64),
    };
    Expr { kind, span: e.span }
}
