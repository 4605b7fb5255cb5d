//! Expressions of a wanted type, and the accesses and indices in them.

use super::{Maker, NOWHERE, named};
use fiberloom_core::algebra::{COUNT, Mode, Op, Type, properties, result_type};
use fiberloom_core::notation::syntax::*;

fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: NOWHERE }
}

pub(super) fn name(name: &str) -> Expr {
    expr(ExprKind::Name(named(name)))
}

pub(super) fn literal(l: Literal) -> Expr {
    expr(ExprKind::Literal(l))
}

pub(super) fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    expr(ExprKind::Binary(op, Box::new(a), Box::new(b)))
}

pub(super) fn call(f: Ident, args: Vec<Expr>) -> Expr {
    expr(ExprKind::Call(f, args.into_iter().map(Argument::Expr).collect()))
}

pub(super) fn convert(e: Expr, ty: Type) -> Expr {
    expr(ExprKind::Call(named("convert"), vec![Argument::Expr(e), Argument::Type(ty, NOWHERE)]))
}

fn affine(v: &Ident) -> Affine {
    let term = Term { coefficient: None, factor: Factor::Var(v.clone()), divisions: vec![] };
    Affine { terms: vec![(false, term)] }
}

/// Coordinates between the least and the largest that an index map takes: operands stay small.
const WIDEST: i64 = 16;

const COMPARISONS: [BinaryOp; 6] = [BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge, BinaryOp::Eq, BinaryOp::Ne];

impl Maker<'_, '_> {
    pub(super) fn expr(&mut self, ty: Type, deep: usize) -> Expr {
        let ty = self.ty(ty);
        let Some(deep) = deep.checked_sub(1).filter(|_| self.below(6) < 5) else { return self.leaf(ty) };
        match self.below(if self.inside { 9 } else { 17 }) {
            0..=3 => self.binary(ty, deep),
            4 => self.unary(ty, deep),
            5 | 6 => self.call(ty, deep),
            7 => expr(ExprKind::If(
                Box::new(self.expr(Type::Bool, deep)),
                Box::new(self.expr(ty, deep)),
                Box::new(self.expr(ty, deep)),
            )),
            8 => self.leaf(ty),
            9 | 10 => self.reduce(ty, deep),
            11 => self.collapse(ty, deep),
            12 => self.split(ty, deep),
            13 => self.concat(ty, deep),
            14 => self.slice(ty, deep),
            15 => self.shifted(ty),
            _ => self.coalesce(ty, deep),
        }
    }

    fn leaf(&mut self, ty: Type) -> Expr {
        if self.chance(5) {
            return literal(self.literal(ty));
        }
        if self.inside {
            let locals: Vec<(String, Type)> = self.locals.clone();
            let fit: Vec<&(String, Type)> = locals.iter().filter(|(_, t)| *t == ty).collect();
            return match (fit.is_empty(), self.chance(4)) {
                (false, false) => expr(ExprKind::Name(self.name_of(&fit))),
                _ => convert(expr(ExprKind::Name(self.name_of(&locals.iter().collect::<Vec<_>>()))), self.ty(ty)),
            };
        }
        if !self.vars.is_empty() && self.chance(8) {
            let vars = self.vars.clone();
            let (v, _) = self.one(&vars);
            let var = expr(ExprKind::Name(self.ident(&v)));
            return if ty == Type::I64 { var } else { convert(var, self.ty(ty)) };
        }
        if let Some((size, _)) = self.sized(10) {
            let size = expr(ExprKind::Name(self.ident(&size)));
            return if ty == Type::I64 { size } else { convert(size, self.ty(ty)) };
        }
        expr(ExprKind::Access(self.access(ty)))
    }

    fn name_of(&mut self, of: &[&(String, Type)]) -> Ident {
        let (name, _) = self.one(of);
        self.ident(name)
    }

    fn unary(&mut self, ty: Type, deep: usize) -> Expr {
        let op = match ty {
            Type::Bool => UnaryOp::Not,
            t if t.is_float() => UnaryOp::Neg,
            _ => self.one(&[UnaryOp::Neg, UnaryOp::Not]),
        };
        expr(ExprKind::Unary(op, Box::new(self.expr(ty, deep))))
    }

    fn binary(&mut self, ty: Type, deep: usize) -> Expr {
        use BinaryOp::*;
        let arithmetic = [Mul, Add, Sub, Div, Rem];
        let bits = [Shl, Shr, And, Xor, Or];
        let (op, of) = match ty {
            Type::Bool if self.below(2) == 0 => (self.one(&COMPARISONS), self.any_type()),
            Type::Bool => (self.one(&[AndAlso, OrElse, And, Or, Xor, Add, Mul]), ty),
            t if t.is_integer() && self.chance(3) => (self.one(&bits), ty),
            _ => (self.one(&arithmetic), ty),
        };
        binary(op, self.expr(of, deep), self.expr(of, deep))
    }

    fn call(&mut self, ty: Type, deep: usize) -> Expr {
        let declared: Vec<(String, Vec<Type>)> = {
            let fit = self.functions.iter().filter(|f| f.result == ty);
            fit.map(|f| (f.name.clone(), f.params.clone())).collect()
        };
        if !declared.is_empty() && self.below(2) == 0 {
            let (f, params) = self.one(&declared);
            let args = params.into_iter().map(|t| self.expr(t, deep)).collect();
            return call(self.ident(&f), args);
        }
        if self.chance(4) {
            let from = self.any_type();
            return convert(self.expr(from, deep), self.ty(ty));
        }
        if ty == Type::Bool && self.below(2) == 0 {
            let questions: Vec<&str> = Op::callable().filter(|(_, op)| op.asks_float()).map(|(f, _)| f).collect();
            let (f, of) = (self.one(&questions), self.one(&[Type::F64, Type::F32]));
            return call(self.ident(f), vec![self.expr(of, deep)]);
        }
        let gives = |op: Op| op.takes(ty) && !op.is_predicate();
        let fit: Vec<(&str, Op)> = Op::callable().filter(|(_, op)| gives(*op)).collect();
        let (f, op) = self.one(&fit);
        let mut args = match op {
            Op::Select | Op::Mask => vec![self.expr(Type::Bool, deep)],
            _ => vec![],
        };
        let wanted = match op {
            Op::Ldexp => 1,
            _ => op.arity().unwrap_or(2),
        };
        while args.len() < wanted {
            args.push(self.expr(ty, deep));
        }
        if op == Op::Ldexp {
            args.push(self.expr(Type::I32, deep));
        }
        let mut args: Vec<Argument> = args.into_iter().map(Argument::Expr).collect();
        if self.wilds() {
            args.push(Argument::Type(ty, NOWHERE));
        }
        expr(ExprKind::Call(self.ident(f), args))
    }

    /// `coalesce(e, …, d)` in which only the last may not be missing.
    fn coalesce(&mut self, ty: Type, deep: usize) -> Expr {
        let outer = std::mem::replace(&mut self.permits, true);
        // Windows are lowered in a way of their own.
        let one = |m: &mut Self| if m.chance(3) { m.window(ty) } else { m.expr(ty, deep) };
        let mut args: Vec<Expr> = (0..1 + self.below(2)).map(|_| one(self)).collect();
        self.permits = outer;
        args.push(self.expr(ty, 0));
        call(self.ident("coalesce"), args)
    }

    /// What stencils are made of: several elements of one tensor side by side, each shifted otherwise, most of them 0 outside of it.
    fn shifted(&mut self, ty: Type) -> Expr {
        let Some(some) = self.var_where(|_| true) else { return self.leaf(ty) };
        let (mut vars, mut extents) = (vec![], vec![]);
        for _ in 0..1 + self.below(2) {
            let (v, n) = self.var_where(|_| true).unwrap_or(some.clone());
            extents.push(if self.chance(3) { self.extent() } else { n });
            vars.push(v);
        }
        let tensor = self.tensor(ty, &extents, None);
        let nothing = if ty == Type::Bool { Literal::Bool(false) } else { Literal::Int(0) };
        let op = match ty {
            Type::Bool => BinaryOp::OrElse,
            _ => self.one(&[BinaryOp::Add, BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul]),
        };
        let copies: Vec<Expr> = (0..3 + self.below(5))
            .map(|_| {
                let indices = vars.iter().map(|v| self.moved(v)).collect();
                let access = Access { tensor: self.ident(&tensor), indices, span: NOWHERE };
                let outside = if self.chance(4) { self.literal(ty) } else { nothing.clone() };
                call(self.ident("coalesce"), vec![expr(ExprKind::Access(access)), literal(outside)])
            })
            .collect();
        copies.into_iter().reduce(|a, b| binary(op, a, b)).expect("three or more")
    }

    /// A variable, some coordinates further or before, which may leave the array.
    fn moved(&mut self, v: &str) -> Index {
        let mut map = affine(&self.ident(v));
        let term = Term { coefficient: None, factor: Factor::Int(self.below(4) as u64), divisions: vec![] };
        map.terms.push((self.below(2) == 0, term));
        Index::Affine { permit: true, map, span: NOWHERE }
    }

    /// An element of a tensor under indices that may leave it, each rising with its variables.
    fn window(&mut self, ty: Type) -> Expr {
        if self.vars.is_empty() {
            return self.leaf(ty);
        }
        let (mut indices, mut extents) = (vec![], vec![]);
        for _ in 0..1 + self.below(2) {
            let (index, extent) = match self.var_where(|_| true) {
                Some((v, n)) if self.chance(4) => (self.bare(&v), n),
                _ => (self.rising(), self.extent()),
            };
            indices.push(index);
            extents.push(extent);
        }
        let tensor = self.tensor(ty, &extents, None);
        expr(ExprKind::Access(Access { tensor: self.ident(&tensor), indices, span: NOWHERE }))
    }

    /// A permitted sum of variables, with factors of 1 or 2, and a number.
    fn rising(&mut self) -> Index {
        let term = |coefficient, factor| Term { coefficient, factor, divisions: vec![] };
        let mut terms = vec![];
        for _ in 0..1 + self.below(2) {
            if let Some((v, _)) = self.var_where(|_| true) {
                let coefficient = self.chance(3).then_some(2);
                terms.push((false, term(coefficient, Factor::Var(self.ident(&v)))));
            }
        }
        terms.push((self.below(2) == 0, term(None, Factor::Int(self.below(4) as u64))));
        Index::Affine { permit: true, map: Affine { terms }, span: NOWHERE }
    }

    /// Functions that fold values of a type, with a start or without.
    pub(super) fn folds(&mut self, ty: Type, started: bool) -> Vec<Ident> {
        let words = Op::reductions().chain(Op::callable().filter(|(_, op)| *op != Op::Coalesce));
        let fits = |op: Op| result_type(op, &[ty, ty]) == Some(ty);
        let fit = words.filter(|(_, op)| fits(*op) && (started || properties(*op, ty, Mode::Algebraic).associative));
        let mut all: Vec<String> = fit.map(|(w, _)| w.to_string()).collect();
        let folds = |f: &&super::Signature| f.params == [ty, ty] && f.result == ty && (started || f.associative);
        for _ in 0..4 {
            all.extend(self.functions.iter().filter(folds).map(|f| f.name.clone()));
        }
        all.into_iter().map(|f| self.ident(&f)).collect()
    }

    fn fresh(&mut self, extent: u64) -> (String, u64) {
        (self.new_var(), extent)
    }

    /// An expression in which these variables are in scope, each as a bare index somewhere; a hidden one is not.
    fn binding(&mut self, vars: &[(String, u64)], hidden: &[String], ty: Type, deep: usize) -> Expr {
        let outer = self.vars.clone();
        self.vars.retain(|(v, _)| !hidden.contains(v));
        self.vars.extend(vars.iter().cloned());
        let permits = std::mem::replace(&mut self.permits, false);
        let mut e = self.expr(ty, deep);
        let bare: Vec<(String, u64)> = vars.iter().filter(|(v, _)| !self.anchored.contains(v)).cloned().collect();
        if !bare.is_empty() {
            e = self.anchor(e, ty, &bare);
        }
        self.permits = permits;
        self.vars = outer;
        e
    }

    /// The made expression with an access that says the extents of all variables in scope; `typed`: one in any case.
    pub(super) fn anchored(&mut self, ty: Type, typed: bool, make: impl FnOnce(&mut Self) -> Expr) -> Expr {
        self.anchored.clear();
        let e = make(self);
        let bare: Vec<(String, u64)> = self.vars.iter().filter(|(v, _)| !self.anchored.contains(v)).cloned().collect();
        if bare.is_empty() && !typed { e } else { self.anchor(e, ty, &bare) }
    }

    fn anchor(&mut self, e: Expr, ty: Type, vars: &[(String, u64)]) -> Expr {
        let extents: Vec<u64> = vars.iter().map(|(_, n)| *n).collect();
        let tensor = self.tensor(ty, &extents, None);
        let indices = vars.iter().map(|(v, _)| self.bare(v)).collect();
        let access = expr(ExprKind::Access(Access { tensor: named(tensor), indices, span: NOWHERE }));
        binary(self.one(&[BinaryOp::Mul, BinaryOp::Add]), e, access)
    }

    fn reduce(&mut self, ty: Type, deep: usize) -> Expr {
        let vars: Vec<(String, u64)> = (0..1 + self.below(2)).map(|_| (self.new_var(), self.extent())).collect();
        if ty == Type::I64 && self.chance(3) {
            let body = Box::new(self.binding(&vars, &[], Type::Bool, deep));
            let start = self.chance(4).then(|| Box::new(self.expr(ty, 0)));
            let vars = vars.iter().map(|(v, _)| self.ident(v)).collect();
            return expr(ExprKind::Reduce { function: self.ident(COUNT), vars, body, start });
        }
        let body = Box::new(self.binding(&vars, &[], ty, deep));
        let start = self.chance(3).then(|| Box::new(self.expr(ty, 0)));
        let folds = self.folds(ty, start.is_some());
        let vars = vars.iter().map(|(v, _)| self.ident(v)).collect();
        expr(ExprKind::Reduce { function: self.one(&folds), vars, body, start })
    }

    /// A variable in scope that satisfies this.
    fn var_where(&mut self, fits: impl Fn(u64) -> bool) -> Option<(String, u64)> {
        let fit: Vec<(String, u64)> = self.vars.iter().filter(|(_, n)| fits(*n)).cloned().collect();
        (!fit.is_empty()).then(|| self.one(&fit))
    }

    fn collapse(&mut self, ty: Type, deep: usize) -> Expr {
        let Some((to, n)) = self.var_where(|n| n > 1) else { return self.leaf(ty) };
        let divisors: Vec<u64> = (1..=n).filter(|d| n % d == 0).collect();
        let a = self.one(&divisors);
        let mut from = vec![self.fresh(a), self.fresh(n / a)];
        if self.chance(3) {
            from.push(self.fresh(1));
        }
        let body = Box::new(self.binding(&from, std::slice::from_ref(&to), ty, deep));
        let from = from.iter().map(|(v, _)| self.ident(v)).collect();
        expr(ExprKind::Collapse { body, from, to: self.ident(&to) })
    }

    fn split(&mut self, ty: Type, deep: usize) -> Expr {
        let (Some(a), Some(b)) = (self.var_where(|_| true), self.var_where(|_| true)) else { return self.leaf(ty) };
        if a == b || a.1 * b.1 > 20 {
            return self.leaf(ty);
        }
        let from = self.fresh(a.1 * b.1);
        let body = self.binding(std::slice::from_ref(&from), &[a.0.clone(), b.0.clone()], ty, deep);
        let to = (self.ident(&a.0), self.ident(&b.0));
        expr(ExprKind::Split { body: Box::new(body), from: self.ident(&from.0), to })
    }

    fn concat(&mut self, ty: Type, deep: usize) -> Expr {
        let Some((to, mut rest)) = self.var_where(|n| n > 0) else { return self.leaf(ty) };
        let count = 2 + self.below(2);
        let (mut parts, mut from) = (vec![], vec![]);
        for n in 0..count {
            let extent = if n + 1 == count { rest } else { self.below(rest as usize + 1) as u64 };
            rest -= extent;
            let var = self.fresh(extent);
            parts.push(self.binding(std::slice::from_ref(&var), std::slice::from_ref(&to), ty, deep));
            from.push(self.ident(&var.0));
        }
        expr(ExprKind::Concat { parts, from, to: self.ident(&to) })
    }

    /// Start, end, step and the extent that a slice of extent `n` is cut from.
    fn bounds(&mut self, n: u64) -> (u64, u64, u64, u64) {
        let (start, step) = (self.below(3) as u64, self.one(&[1, 1, 2, 3]));
        let end = start + n.saturating_sub(1) * step + n.min(1);
        (start, end, step, end + self.below(3) as u64)
    }

    /// A bound of a slice: the integer, or a sum of a size and what is left.
    fn bound(&mut self, n: u64) -> Affine {
        let sized = self.sized(4);
        let Some((size, extent)) = sized else { return Affine::number(self.int(n)) };
        let term = |factor, coefficient| Term { coefficient, factor, divisions: vec![] };
        let (minus, rest) = if extent > n { (true, extent - n) } else { (false, n - extent) };
        let coefficient = self.chance(4).then_some(1);
        let mut terms = vec![(false, term(Factor::Var(self.ident(&size)), coefficient))];
        if rest > 0 || self.chance(4) {
            terms.push((minus, term(Factor::Int(rest), None)));
        }
        if self.chance(6) {
            return Affine { terms: vec![(false, term(Factor::Group(Box::new(Affine { terms })), None))] };
        }
        Affine { terms }
    }

    fn slice(&mut self, ty: Type, deep: usize) -> Expr {
        let Some((to, n)) = self.var_where(|_| true) else { return self.leaf(ty) };
        let (start, end, step, extent) = self.bounds(n);
        let var = self.fresh(extent);
        let body = Box::new(self.binding(std::slice::from_ref(&var), std::slice::from_ref(&to), ty, deep));
        let step = (step != 1 || self.chance(2)).then(|| self.int(step));
        let (from, to) = (self.ident(&var.0), self.ident(&to));
        let (start, end) = (self.bound(start), self.bound(end));
        expr(ExprKind::Slice { body, from, to, start, end, step })
    }

    fn rank(&mut self) -> usize {
        let rank = self.one(&[1, 2, 1, 2, 3, 0]);
        if self.lowered && self.vars.is_empty() { 0 } else { rank }
    }

    pub(super) fn access(&mut self, ty: Type) -> Access {
        let (indices, extents): (Vec<Index>, Vec<u64>) = (0..self.rank()).map(|_| self.index()).unzip();
        let tensor = self.tensor(ty, &extents, None);
        for (mode, index) in indices.iter().enumerate() {
            if let Index::Affine { permit: false, map, .. } = index
                && let [(false, Term { coefficient: None, factor: Factor::Var(v), divisions })] = &map.terms[..]
                && divisions.is_empty()
            {
                self.read.push((tensor.clone(), v.name.clone(), mode));
            }
        }
        Access { tensor: self.ident(&tensor), indices, span: NOWHERE }
    }

    pub(super) fn bare(&mut self, v: &str) -> Index {
        self.anchored.insert(v.to_string());
        Index::Affine { permit: false, map: affine(&self.ident(v)), span: NOWHERE }
    }

    /// A slice over a variable of this extent, and the extent of its mode.
    pub(super) fn slice_in_place(&mut self, v: &str, n: u64) -> (Index, u64) {
        let (start, end, step, extent) = self.bounds(n);
        self.anchored.insert(v.to_string());
        let index = Index::Slice {
            start: (start != 0 || self.chance(2)).then(|| self.bound(start)),
            end: (end != extent || self.chance(2)).then(|| self.bound(end)),
            step: (step != 1 || self.chance(2)).then(|| self.int(step)),
            var: self.ident(v),
            span: NOWHERE,
        };
        (index, extent)
    }

    /// An index, and the extent of a mode that it does not leave.
    pub(super) fn index(&mut self) -> (Index, u64) {
        let kind = if self.left { self.one(&[0, 8, 9, 10]) } else { self.below(12) };
        if let (8, Some((v, n))) = (kind, self.var_where(|_| true)) {
            return self.slice_in_place(&v, n);
        }
        match (kind, self.var_where(|_| true)) {
            (0..=6, Some((v, n))) => (self.bare(&v), n),
            (9, Some((v, n))) => {
                let below = 1 + self.below(5) as u64;
                let ty = self.one(&[Type::I64, Type::I32, Type::U8, Type::U64]);
                let tensor = self.tensor(ty, &[n], Some(below));
                let indices = vec![self.bare(&v)];
                (Index::Access(Access { tensor: self.ident(&tensor), indices, span: NOWHERE }), below)
            }
            (10, Some((v, n))) if !self.left => self.sum_of_read(&v, n),
            _ => {
                let (mut map, mut least, mut most) = self.affine(2);
                if most - least > WIDEST {
                    let term = Term { coefficient: None, factor: Factor::Int(1), divisions: vec![] };
                    (map, least, most) = (Affine { terms: vec![(false, term)] }, 1, 1);
                }
                let permit = self.permits && self.below(2) == 0;
                if least < 0 && !permit {
                    let term = Term { coefficient: None, factor: Factor::Int(least.unsigned_abs()), divisions: vec![] };
                    map.terms.push((false, term));
                }
                let extent = if permit { self.extent() } else { (most - least.min(0)) as u64 + 1 };
                (Index::Affine { permit: permit || self.wilds(), map, span: NOWHERE }, extent)
            }
        }
    }

    /// A sum of what is read under a variable of this extent, perhaps its rest, and the extent of a mode that it does not leave.
    fn sum_of_read(&mut self, v: &str, n: u64) -> (Index, u64) {
        let (below, more) = (1 + self.below(5) as u64, self.below(3) as u64);
        let ty = self.one(&[Type::I64, Type::I32, Type::U8, Type::U64]);
        let tensor = self.tensor(ty, &[n], Some(below));
        let indices = vec![self.bare(v)];
        let read = expr(ExprKind::Access(Access { tensor: self.ident(&tensor), indices, span: NOWHERE }));
        let number = |n: u64| literal(Literal::Int(i128::from(n)));
        let sum = binary(BinaryOp::Add, read, number(more));
        let rest = 1 + self.below(4) as u64;
        let (of, extent) = match self.below(2) {
            0 => (sum, below + more),
            _ => (call(self.ident("floormod"), vec![sum, number(rest)]), rest),
        };
        (Index::Computed { permit: false, of: Box::new(of) }, extent)
    }

    /// A sum of terms with its least and largest value.
    fn affine(&mut self, deep: usize) -> (Affine, i64, i64) {
        let (mut terms, mut least, mut most) = (vec![], 0, 0);
        for n in 0..1 + self.below(2) {
            let (term, a, b) = self.term(deep);
            let minus = n > 0 && self.below(2) == 1;
            let (a, b) = if minus { (-b, -a) } else { (a, b) };
            terms.push((minus, term));
            (least, most) = (least + a, most + b);
        }
        (Affine { terms }, least, most)
    }

    fn term(&mut self, deep: usize) -> (Term, i64, i64) {
        if let Some((size, n)) = self.sized(6) {
            // A size that stands alone would be an index variable.
            let factor = Factor::Var(self.ident(&size));
            return (Term { coefficient: Some(1), factor, divisions: vec![] }, n as i64, n as i64);
        }
        let vars = self.vars.clone();
        let (factor, mut least, mut most) = match self.below(4) {
            0 | 1 if !vars.is_empty() => {
                let (v, n) = self.one(&vars);
                (Factor::Var(self.ident(&v)), 0, n.max(1) as i64 - 1)
            }
            2 if deep > 0 => {
                let (inner, least, most) = self.affine(deep - 1);
                (Factor::Group(Box::new(inner)), least, most)
            }
            _ => {
                let n = self.below(3) as u64;
                (Factor::Int(self.int(n)), n as i64, n as i64)
            }
        };
        let by = 1 + self.below(3) as i64;
        let coefficient = self.chance(3).then(|| self.int(by as u64));
        if coefficient.is_some() {
            (least, most) = (least * by, most * by);
        }
        let mut divisions = vec![];
        while divisions.len() < 2 && self.chance(4) {
            let (rest, n) = (self.below(2) == 1, 1 + self.below(4) as i64);
            (least, most) = if rest { (0, n - 1) } else { (least.div_euclid(n), most.div_euclid(n)) };
            divisions.push((rest, self.int(n as u64)));
        }
        (Term { coefficient, factor, divisions }, least, most)
    }
}
