//! Declared functions: bodies that end, and properties that hold.

use super::expression::{binary, call, literal, name};
use super::{Maker, NOWHERE, Signature, named};
use fiberloom_core::algebra::Type;
use fiberloom_core::notation::syntax::*;

impl Maker<'_, '_> {
    pub(super) fn function(&mut self) -> Function {
        self.inside = true;
        let f = if self.below(2) == 0 { self.known() } else { self.any() };
        self.inside = false;
        self.locals.clear();
        let params = f.params.iter().map(|(_, t)| *t).collect();
        let associative = f.properties.iter().any(|(p, _)| *p == Property::Associative);
        self.functions.push(Signature { name: f.name.name.clone(), params, result: f.result, associative });
        f
    }

    /// A body of any statements; of what it computes only that is claimed which holds of every function.
    fn any(&mut self) -> Function {
        let params: Vec<(Ident, Type)> =
            (0..1 + self.below(3)).map(|n| (self.ident(["x", "y", "z"][n]), self.any_type())).collect();
        self.locals = params.iter().map(|(p, t)| (p.name.clone(), *t)).collect();
        let result = self.any_type();
        let mut stmts = self.stmts(2);
        let mut value = self.expr(result, 3);
        let mut properties = vec![];
        // `all` in a set is no parameter.
        let sets = params.iter().all(|(p, _)| p.name != "all");
        if params.len() > 1 && sets && self.below(3) == 0 {
            let set = self.omitting(&params);
            let mut gate = member(&set, &params);
            properties.push((Property::Iterate(set), NOWHERE));
            if !stmts.is_empty() {
                // Statements may set parameters.
                stmts.insert(0, Stmt::Let(named("gate"), gate));
                gate = name("gate");
            }
            let nothing = super::expression::convert(literal(Literal::Int(0)), result);
            value = Expr { kind: ExprKind::If(Box::new(gate), Box::new(value), Box::new(nothing)), span: NOWHERE };
        } else if self.below(2) == 0 {
            let all = if params.len() > 1 && sets { self.everywhere(&params) } else { SetExpr::All };
            properties.push((Property::Iterate(all), NOWHERE));
        }
        if stmts.is_empty() && self.below(2) == 0 {
            let patterns = params.iter().map(|(p, _)| Pattern::Name(p.clone())).collect();
            properties.push((Property::Case(patterns, value.clone()), NOWHERE));
        }
        let body = Block { stmts, value: Box::new(value) };
        Function { name: named(format!("f{}", self.functions.len())), params, result, body, properties }
    }

    /// A set of which a complement takes something away, and which does not hold where no parameter differs from its fill.
    fn omitting(&mut self, params: &[(Ident, Type)]) -> SetExpr {
        let p = |n: usize| Box::new(SetExpr::Param(params[n].0.clone()));
        let (and, or) = (SetExpr::And, SetExpr::Or);
        let not = |set: SetExpr| Box::new(SetExpr::Not(Box::new(set)));
        let last = params.len() - 1;
        let all = [
            and(p(0), not(*p(1))),
            and(not(*p(0)), p(last)),
            and(Box::new(or(p(0), p(1))), not(and(p(0), p(1)))),
            or(Box::new(and(p(0), not(*p(last)))), Box::new(and(p(1), not(*p(0))))),
        ];
        self.one(&all)
    }

    fn everywhere(&mut self, params: &[(Ident, Type)]) -> SetExpr {
        let p = |n: usize| Box::new(SetExpr::Param(params[n].0.clone()));
        let all = [
            SetExpr::All,
            SetExpr::Or(p(0), Box::new(SetExpr::Not(p(0)))),
            SetExpr::Not(Box::new(SetExpr::And(p(1), Box::new(SetExpr::Not(p(1)))))),
        ];
        self.one(&all)
    }

    fn stmts(&mut self, deep: usize) -> Vec<Stmt> {
        let mut made = vec![];
        for _ in 0..self.one(&[0, 1, 2, 3]) {
            match self.below(if deep == 0 { 2 } else { 4 }) {
                0 => {
                    let local = format!("a{}", self.locals.len() + 10 * made.len() + 100 * deep);
                    let ty = self.any_type();
                    let value = super::expression::convert(self.expr(ty, 2), self.ty(ty));
                    made.push(Stmt::Let(self.ident(&local), value));
                    self.locals.push((local, ty));
                }
                1 => {
                    // Counters of loops are not set by others.
                    let free: Vec<(String, Type)> = self.locals.iter().filter(|(l, _)| !counts(l)).cloned().collect();
                    let Some((local, ty)) = (!free.is_empty()).then(|| self.one(&free)) else { continue };
                    made.push(Stmt::Set(self.ident(&local), self.expr(ty, 2)));
                }
                2 => self.counted(deep, &mut made),
                _ => {
                    let condition = self.expr(Type::Bool, 2);
                    let (then, otherwise) = (self.block(deep - 1), self.block(deep - 1));
                    made.push(Stmt::If(condition, then, otherwise));
                }
            }
        }
        made
    }

    fn block(&mut self, deep: usize) -> Vec<Stmt> {
        let outer = self.locals.clone();
        let made = self.stmts(deep);
        self.locals = outer;
        made
    }

    /// A loop of a few rounds.
    fn counted(&mut self, deep: usize, made: &mut Vec<Stmt>) {
        let counter = format!("c{}", self.locals.len() + 10 * made.len() + 100 * deep);
        let int = |n| literal(Literal::Int(n));
        made.push(Stmt::Let(named(&counter), int(0)));
        self.locals.push((counter.clone(), Type::I64));
        let rounds = self.below(4) as i128;
        let mut body = self.block(deep - 1);
        body.push(Stmt::Set(named(&counter), binary(BinaryOp::Add, name(&counter), int(1))));
        made.push(Stmt::While(binary(BinaryOp::Lt, name(&counter), int(rounds)), body));
    }

    /// A function of two arguments whose properties are known.
    fn known(&mut self) -> Function {
        use Property::*;
        // Properties of 8-bit functions are tried on all values, which takes time.
        let ty = match self.chance(16) {
            true => self.one(&[Type::I8, Type::U8, Type::Bool]),
            false if self.lowered => self.one(&[Type::I64, Type::I64, Type::I32]),
            false => self.one(&[Type::I64, Type::U32, Type::I32, Type::U64, Type::I16, Type::U16]),
        };
        let (x, y) = (|| name("x"), || name("y"));
        let set = |p: &str| Box::new(SetExpr::Param(named(p)));
        let (zero, one) = match ty {
            Type::Bool => (Literal::Bool(false), Literal::Bool(true)),
            _ => (Literal::Int(0), Literal::Int(1)),
        };
        let (least, most) = match ty.range() {
            Some((least, most)) if ty != Type::Bool => (Literal::Int(least), Literal::Int(most)),
            _ => (zero.clone(), one.clone()),
        };
        let at = [None, Some(0), Some(1)];
        let (at, other) = (self.one(&at), self.one(&at));
        let (value, mut all) = match self.below(5) {
            0 => {
                let sum = vec![Identity(zero, at), Iterate(SetExpr::Or(set("x"), set("y"))), Commutative, Associative];
                (binary(BinaryOp::Add, x(), y()), sum)
            }
            1 => {
                let to_one = Case(vec![Pattern::Name(named("x")), Pattern::Literal(one.clone())], x());
                let both = Iterate(SetExpr::And(set("x"), set("y")));
                let all = vec![Annihilator(zero, at), Identity(one, other), to_one, both, Commutative, Associative];
                (binary(BinaryOp::Mul, x(), y()), all)
            }
            2 => {
                let all = vec![Identity(most, at), Annihilator(least, other), Idempotent, Commutative, Associative];
                (call(named("min"), vec![x(), y()]), all)
            }
            3 => {
                // The last that is not zero: it does not commute.
                let is = binary(BinaryOp::Ne, y(), literal(zero.clone()));
                let latest = ExprKind::If(Box::new(is), Box::new(y()), Box::new(x()));
                let all = vec![Identity(zero, at), Iterate(SetExpr::Or(set("x"), set("y"))), Idempotent, Associative];
                (Expr { kind: latest, span: NOWHERE }, all)
            }
            _ => {
                let not = SetExpr::Not(Box::new(SetExpr::Not(set("x"))));
                (x(), vec![Iterate(not), Idempotent, Associative])
            }
        };
        // The last stays: without associativity nothing folds.
        let kept = (0..all.len()).map(|n| n + 1 == all.len() || self.below(3) > 0).collect::<Vec<_>>();
        let mut keep = kept.into_iter();
        all.retain(|_| keep.next().unwrap_or(true));
        let properties = all.into_iter().map(|p| (p, NOWHERE)).collect();
        let params = vec![(self.ident("x"), ty), (self.ident("y"), self.ty(ty))];
        let body = Block { stmts: vec![], value: Box::new(value) };
        let f = format!("f{}", self.functions.len());
        Function { name: self.ident(&f), params, result: ty, body, properties }
    }
}

/// Whether parameters are as a set says.
fn member(set: &SetExpr, params: &[(Ident, Type)]) -> Expr {
    match set {
        SetExpr::Param(p) => {
            let (_, ty) = params.iter().find(|(q, _)| q.name == p.name).expect("a parameter");
            let nothing = super::expression::convert(literal(Literal::Int(0)), *ty);
            binary(BinaryOp::Ne, name(&p.name), nothing)
        }
        SetExpr::All => literal(Literal::Bool(true)),
        SetExpr::Not(a) => binary(BinaryOp::Eq, member(a, params), literal(Literal::Bool(false))),
        SetExpr::And(a, b) => binary(BinaryOp::And, member(a, params), member(b, params)),
        SetExpr::Or(a, b) => binary(BinaryOp::Or, member(a, params), member(b, params)),
    }
}

fn counts(local: &str) -> bool {
    local.strip_prefix('c').is_some_and(|rest| rest.starts_with(|d: char| d.is_ascii_digit()))
}
