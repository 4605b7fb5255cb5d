//! Simplification of bodies: folds constants, applies identities and annihilators, and declared properties (`declared.rs`).
//!
//! Before: `A[i,j] * x[j] + B[i,j]` with `A` exhausted; after: `B[i,j]`. Sound by the functions' properties alone.

use crate::algebra::{Mode, Op, Properties, Type, Value, evaluate, identity, properties, subject};
use crate::notation::concrete::{AccessId, Concat, Expr, Fold, Where};
use crate::notation::typed::{Fun, Function};

/// Simplifies expressions under a mode.
#[derive(Clone, Copy, Debug)]
pub struct Simplify<'a> {
    /// The mode, which says what may be assumed of floats.
    pub mode: Mode,
    /// The user's functions.
    pub functions: &'a [Function],
}

impl Simplify<'_> {
    /// Whether two values are the same to a program: bit for bit, or in algebraic mode as numbers.
    pub fn same(self, a: Value, b: Value) -> bool {
        a == b || self.mode == Mode::Algebraic && a.ty() == b.ty() && a.ty().is_float() && a.as_f64() == b.as_f64()
    }

    /// Whether folding `v` in changes nothing: `op(x, v) = x`.
    pub fn neutral(self, fun: Fun, v: Value) -> bool {
        match fun {
            Fun::Op(op) => self.neutral_to(op, v),
            Fun::User(f) => self.passes(f, 1, v),
        }
    }

    /// Whether a value can be folded in many times at once; `None` asks for any value. A sum is multiplied by the count; an idempotent
    /// function, or a value with `op(v, v) = v`, needs one fold.
    pub fn at_once(self, fun: Fun, ty: Type, v: Option<Value>) -> bool {
        let Fun::Op(op) = fun else { return false };
        let known = properties(op, ty, self.mode);
        let sums = op == Op::Add && (ty.is_integer() || self.mode == Mode::Algebraic);
        let makes_itself = |v: Value| evaluate(op, &[v, v], self.mode).is_some_and(|w| self.same(v, w));
        sums || known.idempotent || known.commutative && known.associative && v.is_some_and(makes_itself)
    }

    fn neutral_to(self, op: Op, v: Value) -> bool {
        properties(op, v.ty(), self.mode).identities.iter().any(|(at, i)| *at == 1 && self.same(*i, v))
    }

    /// The body with these accesses replaced by constants.
    pub fn replace(self, e: &Expr, value: &impl Fn(AccessId) -> Option<Value>) -> Expr {
        match e {
            Expr::Access(a, _) => value(*a).map_or_else(|| e.clone(), Expr::Literal),
            // A column reads its fill where the access beside which it is read has no entry.
            Expr::Column(column) => value(column.of).map_or_else(|| e.clone(), |_| Expr::Literal(column.fill)),
            Expr::Literal(_) | Expr::Index(_) => e.clone(),
            Expr::Call(fun, args, ty) => self.call(*fun, args.iter().map(|a| self.replace(a, value)).collect(), *ty),
            Expr::Reduce(op, vars, body, ty) => self.reduce(*op, vars.clone(), self.replace(body, value), *ty),
            Expr::Fold(fold, ty) => self.fold((**fold).clone().map(|e| self.replace(&e, value)), *ty),
            Expr::Concat(c, ty) => self.concat((**c).clone().map(|part| self.replace(&part, value)), *ty),
            Expr::Where(made, ty) => self.made((**made).clone().map(|e| self.replace(&e, value)), *ty),
        }
    }

    /// Simplifies a temporary of a single value to that value.
    pub(super) fn made(self, made: Where, ty: Type) -> Expr {
        match (literal(&made.nest.rhs), made.nest.assign().fold()) {
            (Some(v), None) => Expr::Literal(v),
            (Some(v), Some(fun)) if self.neutral(fun, v) && self.begins(fun, ty).is_some_and(|i| i == v) => {
                Expr::Literal(v)
            }
            _ => Expr::Where(Box::new(made), ty),
        }
    }

    /// Simplifies a fold of its function's identity to the fold's start.
    pub(super) fn fold(self, fold: Fold, ty: Type) -> Expr {
        match (literal(&fold.body), &fold.start) {
            (Some(v), Some(start)) if self.neutral(fold.fun, v) => start.clone(),
            (Some(v), None) if self.neutral(fold.fun, v) && self.begins(fold.fun, ty).is_some_and(|i| i == v) => {
                Expr::Literal(v)
            }
            _ => Expr::Fold(Box::new(fold), ty),
        }
    }

    /// The value of a fold over nothing.
    pub fn begins(self, fun: Fun, ty: Type) -> Option<Value> {
        match fun {
            Fun::Op(op) => identity(op, ty),
            Fun::User(f) => self.functions[f.index()].identity(),
        }
    }

    /// Whether a fold may begin with `v`: `f(v, x) = x`.
    pub fn leads(self, fun: Fun, v: Value) -> bool {
        match fun {
            Fun::Op(op) => {
                let known = properties(op, v.ty(), self.mode).identities;
                known.iter().any(|(at, i)| *at == 0 && self.same(*i, v))
            }
            Fun::User(f) => self.passes(f, 0, v),
        }
    }

    /// The value with which a fold with a built-in may begin, if it has one.
    pub fn leader(self, fun: Fun, ty: Type) -> Option<Value> {
        let Fun::Op(op) = fun else { return None };
        let known = properties(op, ty, self.mode).identities;
        known.into_iter().find(|(at, _)| *at == 0).map(|(_, v)| v)
    }

    /// Simplifies a concatenation whose parts are one constant to that constant.
    pub(super) fn concat(self, c: Concat, ty: Type) -> Expr {
        match literal(&c.parts[0].1) {
            Some(v) if c.exprs().all(|part| literal(part) == Some(v)) => Expr::Literal(v),
            _ => Expr::Concat(Box::new(c), ty),
        }
    }

    /// The expression with all rules applied.
    pub fn simplify(self, e: &Expr) -> Expr {
        self.replace(e, &|_| None)
    }

    /// A call of simplified arguments. In algebraic mode a call of constants that gives NaN promises no value: there an annihilator among
    /// the arguments decides, as it does while the others are unknown, so that the order in which accesses become constants does not
    /// matter.
    pub fn call(self, fun: Fun, args: Vec<Expr>, ty: Type) -> Expr {
        let constants: Option<Vec<Value>> = args.iter().map(literal).collect();
        let value = constants.and_then(|c| match fun {
            Fun::Op(op) => evaluate(op, &c, self.mode),
            Fun::User(f) => self.evaluated(f, &c),
        });
        if let Some(v) = value {
            let open = v.is_nan() && self.mode == Mode::Algebraic;
            let decided = open.then(|| self.annihilated(fun, &args, ty)).flatten();
            return Expr::Literal(decided.unwrap_or(v));
        }
        let op = match fun {
            Fun::Op(op) => op,
            Fun::User(f) => return self.simpler(f, &args).unwrap_or(Expr::Call(fun, args, ty)),
        };
        if args.iter().any(|a| literal(a).is_some())
            && let Some(simpler) = self.with_constant(op, &args, ty)
        {
            return simpler;
        }
        if let Some((less, [a, b], bound)) = within(op, &args) {
            // The difference of two coordinates does not overflow.
            let end = |a: &Expr, b: &Expr| {
                let difference = self.call(Fun::Op(Op::Sub), vec![a.clone(), b.clone()], Type::I64);
                self.call(Fun::Op(less), vec![difference, bound.clone()], Type::Bool)
            };
            return self.call(Fun::Op(Op::AndAlso), vec![end(a, b), end(b, a)], Type::Bool);
        }
        match (op, &args[..]) {
            (Op::Neg, [Expr::Call(Fun::Op(Op::Neg), inner, _)]) => inner[0].clone(),
            (Op::Select, [_, a, b]) if a == b => a.clone(),
            _ => Expr::Call(fun, args, ty),
        }
    }

    /// The value of a call that one argument determines, whatever the others are.
    fn annihilated(self, fun: Fun, args: &[Expr], ty: Type) -> Option<Value> {
        let op = match fun {
            Fun::Op(op) => op,
            Fun::User(f) => {
                let constants: Vec<Option<Value>> = args.iter().map(literal).collect();
                return self.decided(f, &constants).first().map(|(_, v)| *v);
            }
        };
        let at = |k: usize, v: Value| literal(args.get(k)?).filter(|&a| self.same(a, v));
        let known = self.properties(op, args, ty);
        known.annihilators.iter().find(|(k, v, _)| at(*k, *v).is_some()).map(|(_, _, result)| *result)
    }

    /// The properties of a call of a built-in with result type `ty`.
    pub(super) fn properties(self, op: Op, args: &[Expr], ty: Type) -> Properties {
        properties(op, args.get(subject(op)).map_or(ty, Expr::ty), self.mode)
    }

    fn with_constant(self, op: Op, args: &[Expr], ty: Type) -> Option<Expr> {
        if let Some(result) = self.annihilated(Fun::Op(op), args, ty) {
            return Some(Expr::Literal(result));
        }
        let at = |k: usize, v: Value| literal(args.get(k)?).filter(|&a| self.same(a, v));
        let known = self.properties(op, args, ty);
        if args.len() == 2
            && let Some((k, _)) = known.identities.iter().find(|(k, v)| at(*k, *v).is_some())
        {
            return Some(args[1 - k].clone());
        }
        match (op, args) {
            (Op::Sub, [zero, x]) if self.is_zero(zero) && (!ty.is_float() || self.mode == Mode::Algebraic) => {
                Some(self.call(Fun::Op(Op::Neg), vec![x.clone()], ty))
            }
            (Op::Select, [c, a, b]) => literal(c).map(|c| if c.is_true() { a.clone() } else { b.clone() }),
            (Op::Mask, [c, a]) => literal(c).filter(|c| c.is_true()).map(|_| a.clone()),
            _ => None,
        }
    }

    fn is_zero(self, e: &Expr) -> bool {
        literal(e).is_some_and(|v| self.same(v, Value::zero(v.ty())))
    }

    fn reduce(self, fun: Fun, vars: Vec<crate::notation::concrete::Index>, body: Expr, ty: Type) -> Expr {
        let begins = self.begins(fun, ty).filter(|i| self.neutral(fun, *i));
        match (literal(&body), begins) {
            (Some(v), Some(begins)) if self.neutral(fun, v) => Expr::Literal(begins),
            _ => Expr::Reduce(fun, vars, Box::new(body), ty),
        }
    }
}

/// The two sides of `a - b`, and the bound, in a call `abs(a - b) < bound` whose sides are index variables.
fn within(op: Op, args: &[Expr]) -> Option<(Op, [&Expr; 2], &Expr)> {
    let (less, distance, bound) = match (op, args) {
        (Op::Lt | Op::Le, [distance, bound]) => (op, distance, bound),
        (Op::Gt, [bound, distance]) => (Op::Lt, distance, bound),
        (Op::Ge, [bound, distance]) => (Op::Le, distance, bound),
        _ => return None,
    };
    let Expr::Call(Fun::Op(Op::Abs), inner, _) = distance else { return None };
    let Expr::Call(Fun::Op(Op::Sub), sides, _) = inner.first()? else { return None };
    match &sides[..] {
        [a @ Expr::Index(_), b @ Expr::Index(_)] => Some((less, [a, b], bound)),
        _ => None,
    }
}

/// The value of an expression that is a literal.
pub fn literal(e: &Expr) -> Option<Value> {
    match e {
        Expr::Literal(v) => Some(*v),
        _ => None,
    }
}
