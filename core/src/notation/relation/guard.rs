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

use super::declare::Relate;
use super::expression::converted;
use crate::algebra::Type;
use crate::notation::syntax::{
    Argument, BinaryOp, Expr, ExprKind, Float, Ident, Item, Literal, Sort, Statement, Tensor, UnaryOp,
};

impl Relate {
    /// The name of the result beside one that is guarded.
    fn about(&mut self, result: &str) -> Option<String> {
        if !self.fitted.guarded.contains(result) {
            return None;
        }
        if !self.out.about.contains_key(result) {
            let name = self.fresh(&format!("{result}_about"));
            self.out.about.insert(result.to_string(), name);
        }
        self.out.about.get(result).cloned()
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
    /// The statement with its sums that become floats added as floats, if they are those of a [float](crate::notation::relation::Fitted)
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
