//! Expressions: names and types.
//!
//! A literal takes the type that the expression around it needs: that of the other operand, else of the context, else
//! `i64` or `f64`. There is no other conversion.

use super::elsewhere::named_elsewhere;
use super::{Check, Scope};
use fiberloom_core::algebra::{COUNT, Op, Type, Value, properties, result_type};
use fiberloom_core::counted;
use fiberloom_core::notation::diagnostic::{Diagnostic, Span};
use fiberloom_core::notation::syntax::{self, Argument, BinaryOp, ExprKind, Float, Ident, Literal, UnaryOp};
use fiberloom_core::notation::typed::{Bound, Expr, Fun, Index, Kind, Map, Property, Role, SizeId, TensorId};

impl Check {
    /// A literal as a value of a type.
    pub(super) fn literal(&mut self, literal: &Literal, ty: Type, span: Span) -> Option<Value> {
        let value = match (literal, ty) {
            (Literal::Bool(b), Type::Bool) => Some(Value::bool(*b)),
            (Literal::Int(n), _) if ty.is_float() => Some(Value::from_i128(ty, *n)),
            (Literal::Int(n), _) if ty.is_integer() => {
                let (least, most) = ty.range().expect("integers have a range");
                (least..=most).contains(n).then(|| Value::from_i128(ty, *n))
            }
            (Literal::Float(Float(x)), _) if ty.is_float() => {
                let rounded = Value::from_f64(ty, *x);
                (rounded.as_f64().is_finite() || !x.is_finite()).then_some(rounded)
            }
            _ => None,
        };
        if value.is_none() {
            let d = Diagnostic::new(span, format!("the literal `{literal}` is no value of type {ty}"));
            let values = match (literal, ty.range()) {
                _ if ty == Type::Bool => Some("`true` and `false`".to_string()),
                (Literal::Int(_), Some((least, most))) => Some(format!("{least} to {most}")),
                (Literal::Float(_), None) => Some(format!("up to {:e}, and `inf`", f32::MAX)),
                _ => None,
            };
            self.error(match values {
                Some(values) => d.help(format!("values of {ty} are {values}")),
                None => d,
            });
        }
        value
    }

    /// The type that an expression has whatever its context; `None` if literals leave it open (or it is wrong).
    fn fixed_type(&self, scope: &Scope, e: &syntax::Expr) -> Option<Type> {
        match &e.kind {
            ExprKind::Literal(Literal::Bool(_)) => Some(Type::Bool),
            ExprKind::Literal(_) => None,
            ExprKind::Name(name) => match scope.locals.get(&name.name) {
                Some(local) => self.local_types.get(local.index()).copied(),
                None => Some(Type::I64),
            },
            ExprKind::Access(a) => self.tensors.get(&a.tensor.name).map(|t| self.out.tensors[t.index()].ty),
            ExprKind::Unary(_, x) => self.fixed_type(scope, x),
            ExprKind::Binary(op, a, b) => {
                if yields_bool(*op) {
                    return Some(Type::Bool);
                }
                self.fixed_type(scope, a).or_else(|| self.fixed_type(scope, b))
            }
            ExprKind::If(_, t, e) => self.fixed_type(scope, t).or_else(|| self.fixed_type(scope, e)),
            ExprKind::Reduce { function, .. } if function.name == COUNT => Some(Type::I64),
            ExprKind::Reduce { body, .. }
            | ExprKind::Collapse { body, .. }
            | ExprKind::Split { body, .. }
            | ExprKind::Slice { body, .. } => self.fixed_type(scope, body),
            ExprKind::Concat { parts, .. } => parts.iter().find_map(|p| self.fixed_type(scope, p)),
            ExprKind::Call(name, args) => self.fixed_call_type(scope, &name.name, args),
        }
    }

    fn fixed_call_type(&self, scope: &Scope, name: &str, args: &[Argument]) -> Option<Type> {
        if let Some(f) = self.functions.get(name) {
            return Some(self.out.functions[f.index()].result);
        }
        if let ("convert", [_, Argument::Type(ty, _)]) = (name, args) {
            return Some(*ty);
        }
        if Op::from_name(name).is_some_and(Op::is_predicate) {
            return Some(Type::Bool);
        }
        let skipped = matches!(name, "select" | "mask") as usize;
        let taken = if name == "ldexp" { 1 } else { args.len() };
        args[..taken.min(args.len())].iter().skip(skipped).find_map(|a| match a {
            Argument::Expr(e) => self.fixed_type(scope, e),
            Argument::Type(..) => None,
        })
    }

    /// The type that several expressions are to have together.
    fn common(&self, scope: &Scope, parts: &[&syntax::Expr], want: Option<Type>) -> Type {
        // Of several the widest: the message is about the one to widen, and about a truth value beside a number.
        let wider = |a: Type, b: Type| if a == Type::Bool || widens(a, b) { b } else { a };
        let fixed = parts.iter().filter_map(|e| self.fixed_type(scope, e)).reduce(wider);
        let float = || parts.iter().any(|e| has_float_literal(e));
        fixed.or(want).unwrap_or_else(|| if float() { Type::F64 } else { Type::I64 })
    }

    /// An expression of the wanted type, or of its own if none is wanted.
    pub(super) fn expr(&mut self, scope: &Scope, e: &syntax::Expr, want: Option<Type>) -> Option<Expr> {
        let made = self.expr_of(scope, e, want)?;
        match want {
            Some(want) if made.ty != want => {
                let message = format!("this has type {} where {want} is needed", made.ty);
                let other = if widens(made.ty, want) {
                    format!("; or convert what it stands beside to {}", made.ty)
                } else {
                    String::new()
                };
                self.error(Diagnostic::new(e.span, message).help(format!("write convert({e}, {want}){other}")));
                None
            }
            _ => Some(made),
        }
    }

    fn expr_of(&mut self, scope: &Scope, e: &syntax::Expr, want: Option<Type>) -> Option<Expr> {
        let span = e.span;
        match &e.kind {
            ExprKind::Literal(l) => {
                let own = match l {
                    Literal::Bool(_) => Type::Bool,
                    Literal::Int(_) => want.unwrap_or(Type::I64),
                    Literal::Text(_) => {
                        let d = Diagnostic::new(span, format!("the text `{l}` stands where a value is needed"));
                        self.error(d.help("texts are compared with labels, dates and columns of texts"));
                        return None;
                    }
                    Literal::Float(_) => want.unwrap_or(Type::F64),
                };
                let value = self.literal(l, own, span)?;
                Some(Expr { kind: Kind::Literal(value), ty: own, span })
            }
            ExprKind::Name(name) => self.name(scope, name),
            ExprKind::Access(_)
            | ExprKind::Reduce { .. }
            | ExprKind::Collapse { .. }
            | ExprKind::Split { .. }
            | ExprKind::Concat { .. }
            | ExprKind::Slice { .. }
                if self.inside =>
            {
                let d = Diagnostic::new(span, "a function reads no tensors, reduces nothing and reshapes nothing");
                self.error(d.help("pass what it needs as an argument"));
                None
            }
            ExprKind::Access(a) => self.read(scope, a),
            ExprKind::Unary(op, x) => {
                let ty = self.common(scope, &[x], want);
                let x = self.expr(scope, x, Some(ty))?;
                let op = if *op == UnaryOp::Neg { Op::Neg } else { Op::Not };
                self.apply(Fun::Op(op), vec![x], span)
            }
            ExprKind::Binary(op, a, b) => {
                let want = if yields_bool(*op) { None } else { want };
                let ty = match op {
                    BinaryOp::AndAlso | BinaryOp::OrElse => Type::Bool,
                    _ => self.common(scope, &[a, b], want),
                };
                let (left, right) = (self.expr(scope, a, Some(ty)), self.expr(scope, b, Some(ty)));
                let made = self.apply(Fun::Op(op.operation()), vec![left?, right?], span);
                if let (None, BinaryOp::Xor, Some(said)) = (&made, op, self.errors.last_mut()) {
                    said.help = Some(format!("`^` is the exclusive or of integers: a power is pow({a}, {b})"));
                }
                made
            }
            ExprKind::If(c, t, e) => {
                let ty = self.common(scope, &[t, e], want);
                let c = self.expr(scope, c, Some(Type::Bool));
                let (t, e) = (self.expr(scope, t, Some(ty)), self.expr(scope, e, Some(ty)));
                self.apply(Fun::Op(Op::Select), vec![c?, t?, e?], span)
            }
            ExprKind::Call(name, args) => self.call(scope, name, args, want, span),
            ExprKind::Reduce { function, vars, body, start } => {
                self.reduce(scope, (function, vars), (body, start.as_deref()), want, span)
            }
            ExprKind::Collapse { .. } | ExprKind::Split { .. } | ExprKind::Concat { .. } | ExprKind::Slice { .. } => {
                self.shape_operator(scope, e, want)
            }
        }
    }

    fn name(&mut self, scope: &Scope, name: &Ident) -> Option<Expr> {
        let span = name.span;
        if let Some(&local) = scope.locals.get(&name.name) {
            return Some(Expr { kind: Kind::Local(local), ty: self.local_types[local.index()], span });
        }
        if let Some(&var) = scope.vars.get(&name.name) {
            return Some(Expr { kind: Kind::Index(var), ty: Type::I64, span });
        }
        if let Some(&size) = self.sizes.get(&name.name) {
            if self.inside {
                let d = Diagnostic::new(span, format!("a function knows no sizes, and `{name}` is one"));
                self.error(d.help(format!("give it a parameter of type i64, and call it with `{name}`")));
                return None;
            }
            return Some(Expr { kind: Kind::Size(size), ty: Type::I64, span });
        }
        if self.tensors.contains_key(&name.name) {
            let d = Diagnostic::new(span, format!("tensor `{name}` is read without its indices"));
            let read = self.read_as(name).unwrap_or_else(|| format!("{name}[…]"));
            self.error(d.help(format!("write {read}")));
        } else {
            let known: Vec<String> =
                scope.locals.keys().chain(scope.vars.keys()).chain(self.sizes.keys()).cloned().collect();
            self.unknown("name", name, known.iter().map(String::as_str));
            let scalar = (!self.inside).then(|| {
                format!("a scalar is a tensor without indices: write {name}[], and declare `tensor {name}: f64[]`")
            });
            let said = self.errors.last_mut().expect("it is unknown");
            said.help = named_elsewhere(&name.name).or(said.help.take()).or(scalar);
        }
        None
    }

    /// A built-in or declared function on typed arguments.
    pub(super) fn apply(&mut self, fun: Fun, args: Vec<Expr>, span: Span) -> Option<Expr> {
        let types: Vec<Type> = args.iter().map(|a| a.ty).collect();
        let Fun::Op(op) = fun else { return None };
        match result_type(op, &types) {
            Some(ty) => Some(Expr { kind: Kind::Call(fun, args), ty, span }),
            None => {
                let types: Vec<&str> = types.iter().map(|t| t.name()).collect();
                let name = match op {
                    Op::Neg => UnaryOp::Neg.sign(),
                    Op::Not => UnaryOp::Not.sign(),
                    op => op.name(),
                };
                self.say(span, format!("`{name}` does not take ({})", types.join(", ")));
                None
            }
        }
    }

    fn call(&mut self, scope: &Scope, name: &Ident, args: &[Argument], want: Option<Type>, span: Span) -> Option<Expr> {
        if let ("convert", [Argument::Expr(e), Argument::Type(ty, _)]) = (name.name.as_str(), args) {
            let x = self.expr(scope, e, None)?;
            return Some(Expr { kind: Kind::Call(Fun::Op(Op::Convert(*ty)), vec![x]), ty: *ty, span });
        }
        if name.name == "convert" {
            self.error(Diagnostic::new(span, "`convert` takes an expression and a type").help("write convert(e, f64)"));
            return None;
        }
        let mut exprs = Vec::new();
        for a in args {
            match a {
                Argument::Expr(e) => exprs.push(e),
                Argument::Type(ty, at) => {
                    self.say(*at, format!("the type {ty} is no argument of `{name}`; only `convert` takes one"));
                    return None;
                }
            }
        }
        if let Some(&f) = self.functions.get(&name.name) {
            return self.call_declared(scope, f, &exprs, span);
        }
        let Some(op) = Op::from_name(&name.name) else {
            if Op::from_reduction(&name.name).is_some() || name.name == COUNT {
                let help = self.folded_elsewhere(&name.name, &exprs).unwrap_or_else(|| format!("write {name}(i: …)"));
                self.error(Diagnostic::new(span, format!("`{name}` folds over index variables")).help(help));
            } else if self.tensors.contains_key(&name.name) {
                let d = Diagnostic::new(span, format!("`{name}` is a tensor, and is called as a function"));
                self.error(d.help(format!("elements stand in brackets: `{name}[…]`")));
            } else if !self.faulty.contains(&name.name) {
                let declared: Vec<String> = self.functions.keys().cloned().collect();
                let known =
                    Op::callable().map(|(n, _)| n).chain(["convert"]).chain(declared.iter().map(String::as_str));
                self.unknown("function", name, known);
                let help = self.called_elsewhere(&name.name, &exprs);
                let said = self.errors.last_mut().expect("it is unknown");
                said.help = help.or(said.help.take());
            }
            return None;
        };
        if exprs.is_empty() || op.arity().is_some_and(|n| n != exprs.len()) {
            let wanted = op.arity().map_or("at least one".to_string(), |n| n.to_string());
            self.say(span, format!("`{name}` takes {wanted} arguments, not {}", exprs.len()));
            return None;
        }
        self.call_builtin(scope, op, &exprs, want, span)
    }

    fn call_builtin(
        &mut self,
        scope: &Scope,
        op: Op,
        exprs: &[&syntax::Expr],
        want: Option<Type>,
        span: Span,
    ) -> Option<Expr> {
        let mut made = Vec::new();
        let (condition, rest) = match op {
            Op::Select | Op::Mask => exprs.split_at(1),
            Op::Ldexp => (&[][..], &exprs[..1]),
            _ => (&[][..], exprs),
        };
        for c in condition {
            made.push(self.expr(scope, c, Some(Type::Bool)));
        }
        let ty = self.common(scope, rest, want.filter(|_| !op.is_predicate()));
        for e in rest {
            made.push(self.expr(scope, e, Some(ty)));
        }
        if op == Op::Ldexp {
            made.push(self.expr(scope, exprs[1], None));
        }
        let args: Option<Vec<Expr>> = made.into_iter().collect();
        self.apply(Fun::Op(op), args?, span)
    }

    fn call_declared(
        &mut self,
        scope: &Scope,
        f: fiberloom_core::notation::typed::FnId,
        exprs: &[&syntax::Expr],
        span: Span,
    ) -> Option<Expr> {
        let function = &self.out.functions[f.index()];
        let (name, result, arity) = (function.name.clone(), function.result, function.arity);
        let types: Vec<Type> = function.locals[..arity].iter().map(|(_, t)| *t).collect();
        if exprs.len() != arity {
            self.say(span, format!("`{name}` takes {arity} arguments, not {}", exprs.len()));
            return None;
        }
        let args: Vec<Option<Expr>> = exprs.iter().zip(types).map(|(e, t)| self.expr(scope, e, Some(t))).collect();
        let args: Option<Vec<Expr>> = args.into_iter().collect();
        Some(Expr { kind: Kind::Call(Fun::User(f), args?), ty: result, span })
    }

    /// The function that a reduction or an accumulating assignment folds with, on values of type `ty`.
    pub(super) fn fold(&mut self, name: &Ident, ty: Type, started: bool) -> Option<Fun> {
        if let Some(&f) = self.functions.get(&name.name) {
            let function = &self.out.functions[f.index()];
            let fits =
                function.arity == 2 && function.result == ty && function.locals[..2].iter().all(|(_, t)| *t == ty);
            let associative = function.properties.iter().any(|(p, _)| *p == Property::Associative);
            if !fits {
                self.say(
                    name.span,
                    format!("`{name}` cannot fold values of type {ty}: it is no function ({ty}, {ty}) -> {ty}"),
                );
                return None;
            }
            if !associative && !started {
                let d = Diagnostic::new(name.span, format!("`{name}` is not declared associative"));
                self.error(d.help("declare it `associative`, or give the fold a `start`"));
                return None;
            }
            return Some(Fun::User(f));
        }
        let Some(op) = Op::from_reduction(&name.name) else {
            let declared: Vec<String> = self.functions.keys().cloned().collect();
            self.unknown(
                "reduction",
                name,
                Op::reductions().map(|(n, _)| n).chain([COUNT]).chain(declared.iter().map(String::as_str)),
            );
            return None;
        };
        if result_type(op, &[ty, ty]) != Some(ty) {
            let d = Diagnostic::new(name.span, format!("`{name}` does not fold values of type {ty}"));
            let whether = "it folds truth values: a comparison, as `x[i] != 0`, says which are true";
            self.error(if matches!(op, Op::AndAlso | Op::OrElse) { d.help(whether) } else { d });
            return None;
        }
        if !started && !properties(op, ty, fiberloom_core::algebra::Mode::Algebraic).associative {
            let d = Diagnostic::new(name.span, format!("`{name}` is not associative on {ty}"));
            self.error(d.help("give the fold a `start`"));
            return None;
        }
        Some(Fun::Op(op))
    }

    fn reduce(
        &mut self,
        scope: &Scope,
        (function, names): (&Ident, &[Ident]),
        (written, start): (&syntax::Expr, Option<&syntax::Expr>),
        want: Option<Type>,
        span: Span,
    ) -> Option<Expr> {
        let mut inner = scope.clone();
        let vars = names.iter().map(|n| self.bind(&mut inner, n)).collect();
        let counts = function.name == COUNT;
        let ty = if counts { Type::I64 } else { self.common(&inner, &[written], want) };
        let body = match counts {
            true => self.counted(&inner, written),
            false => self.expr(&inner, written, Some(ty)),
        };
        let start = match start {
            None => None,
            Some(s) => Some(Box::new(self.expr(scope, s, Some(ty))?)),
        };
        // The type of a body that is refused is not known: what folds it is not asked about.
        let body = Box::new(body?);
        let fun = match counts {
            true => Some(Fun::Op(Op::Add)),
            false => self.fold(function, ty, start.is_some()),
        };
        if fun.is_none() && Op::from_reduction(&function.name).is_none() && !self.functions.contains_key(&function.name)
        {
            let vars: Vec<String> = names.iter().map(|n| n.name.clone()).collect();
            let help = self.fold_written(&function.name, &vars, written);
            let said = self.errors.last_mut().expect("it is unknown");
            said.help = help.or(said.help.take());
        }
        let fun = fun?;
        Some(Expr { kind: Kind::Reduce { fun, vars, body, start }, ty, span })
    }

    /// What `count` sums: 1 where the condition holds, else 0.
    fn counted(&mut self, scope: &Scope, condition: &syntax::Expr) -> Option<Expr> {
        let condition = self.expr(scope, condition, Some(Type::Bool))?;
        let (ty, span) = (Type::I64, condition.span);
        Some(Expr { kind: Kind::Call(Fun::Op(Op::Convert(ty)), vec![condition]), ty, span })
    }

    /// An operand that must see a variable that only it binds.
    fn within(
        &mut self,
        scope: &Scope,
        name: &Ident,
        body: &syntax::Expr,
        want: Option<Type>,
    ) -> Option<(fiberloom_core::notation::typed::VarId, Expr)> {
        let mut inner = scope.clone();
        let var = self.bind(&mut inner, name);
        Some((var, self.expr(&inner, body, want)?))
    }

    fn shape_operator(&mut self, scope: &Scope, e: &syntax::Expr, want: Option<Type>) -> Option<Expr> {
        let span = e.span;
        let kind = match &e.kind {
            ExprKind::Collapse { body, from, to } => {
                let to = self.outer(scope, to)?;
                let mut inner = scope.clone();
                let from = from.iter().map(|n| self.bind(&mut inner, n)).collect();
                let body = Box::new(self.expr(&inner, body, want)?);
                Kind::Collapse { body, from, to }
            }
            ExprKind::Split { body, from, to } => {
                let to = (self.outer(scope, &to.0)?, self.outer(scope, &to.1)?);
                let (from, body) = self.within(scope, from, body, want)?;
                Kind::Split { body: Box::new(body), from, to }
            }
            ExprKind::Concat { parts, from, to } => {
                if parts.len() != from.len() {
                    self.say(span, format!("concat of {} parts with {} index variables", parts.len(), from.len()));
                    return None;
                }
                let to = self.outer(scope, to)?;
                let all: Vec<&syntax::Expr> = parts.iter().collect();
                let ty = self.common(scope, &all, want);
                let made: Vec<_> = parts.iter().zip(from).map(|(p, n)| self.within(scope, n, p, Some(ty))).collect();
                let made: Option<Vec<_>> = made.into_iter().collect();
                let (from, parts) = made?.into_iter().unzip();
                Kind::Concat { parts, from, to }
            }
            ExprKind::Slice { body, from, to, start, end, step } => {
                let to = self.outer(scope, to)?;
                let (from, body) = self.within(scope, from, body, want)?;
                let (start, end, step) = self.bounds(scope, (Some(start), Some(end), *step), span)?;
                Kind::Slice { body: Box::new(body), from, to, start, end, step }
            }
            _ => return None,
        };
        let ty = match &kind {
            Kind::Collapse { body, .. } | Kind::Split { body, .. } | Kind::Slice { body, .. } => body.ty,
            Kind::Concat { parts, .. } => parts.first()?.ty,
            _ => return None,
        };
        Some(Expr { kind, ty, span })
    }

    /// The variable that a shape operator leaves free.
    fn outer(&mut self, scope: &Scope, name: &Ident) -> Option<fiberloom_core::notation::typed::VarId> {
        let known = scope.vars.get(&name.name).copied();
        if known.is_none() {
            let names: Vec<String> = scope.vars.keys().cloned().collect();
            self.unknown("index variable", name, names.iter().map(String::as_str));
        }
        known
    }

    /// Start, end and step of a slice. What numbers alone say of them is checked.
    pub(super) fn bounds(
        &mut self,
        scope: &Scope,
        (start, end, step): (Option<&syntax::Affine>, Option<&syntax::Affine>, Option<u64>),
        span: Span,
    ) -> Option<(Bound, Option<Bound>, u64)> {
        let step = step.unwrap_or(1);
        if step == 0 {
            self.error(Diagnostic::new(span, "a slice with step 0").help("the step is at least 1"));
            return None;
        }
        let start = start.map_or(Some(Bound::default()), |a| self.bound(scope, a, span))?;
        let end = match end {
            Some(end) => Some(self.bound(scope, end, span)?),
            None => None,
        };
        let number = |b: &Bound| b.terms.is_empty().then_some(b.constant);
        if let (Some(start), Some(end)) = (number(&start), end.as_ref().and_then(number))
            && start > end
        {
            self.say(span, format!("a slice that starts at {start}, behind its end {end}"));
            return None;
        }
        if step >= 1 << 63 {
            self.say(span, "the step of a slice is not below 2⁶³");
            return None;
        }
        Some((start, end, step))
    }

    /// A bound of a slice: a sum of sizes and integers, each with an integer factor.
    fn bound(&mut self, scope: &Scope, a: &syntax::Affine, span: Span) -> Option<Bound> {
        let mut bound = Bound::default();
        for (minus, term) in &a.terms {
            if !term.divisions.is_empty() {
                let d = Diagnostic::new(span, "a bound of a slice is divided");
                self.error(d.help("it is a sum of sizes and integers: give a quotient a name of its own, `dim H = …`"));
                return None;
            }
            let inner = match &term.factor {
                syntax::Factor::Int(n) => Bound::number(self.within_63(*n, span)?),
                syntax::Factor::Group(inner) => self.bound(scope, inner, span)?,
                syntax::Factor::Var(name) => Bound { constant: 0, terms: vec![(1, self.named_size(scope, name)?)] },
            };
            let factor = self.within_63(term.coefficient.unwrap_or(1), span)? * if *minus { -1 } else { 1 };
            let times = |n: i64| n.checked_mul(factor);
            let sum = times(inner.constant).and_then(|n| bound.constant.checked_add(n));
            let terms: Option<Vec<_>> = inner.terms.iter().map(|(n, size)| Some((times(*n)?, *size))).collect();
            let (Some(sum), Some(terms)) = (sum, terms) else {
                self.say(span, "a bound of a slice is not below 2⁶³");
                return None;
            };
            bound.constant = sum;
            bound.terms.extend(terms);
        }
        Some(bound)
    }

    fn within_63(&mut self, n: u64, span: Span) -> Option<i64> {
        let held = i64::try_from(n).ok();
        if held.is_none() {
            self.say(span, "a bound of a slice is not below 2⁶³");
        }
        held
    }

    /// The size that a bound of a slice names.
    fn named_size(&mut self, scope: &Scope, name: &Ident) -> Option<SizeId> {
        if let Some(&size) = self.sizes.get(&name.name) {
            return Some(size);
        }
        if scope.vars.contains_key(&name.name) {
            let d = Diagnostic::new(
                name.span,
                format!("a slice begins and ends at sizes, and `{name}` is an index variable"),
            );
            self.error(d.help("an extent has one value: name it in a declaration, or with `dim N = …`"));
        } else {
            let known: Vec<String> = self.sizes.keys().cloned().collect();
            self.unknown("size", name, known.iter().map(String::as_str));
        }
        None
    }

    /// `T[…]` on a right side: slices in place become slice operators around it.
    fn read(&mut self, scope: &Scope, a: &syntax::Access) -> Option<Expr> {
        let Some(&tensor) = self.tensors.get(&a.tensor.name) else {
            if !self.unmade.contains(&a.tensor.name) {
                let known: Vec<String> = self.tensors.keys().cloned().collect();
                self.unknown("tensor", &a.tensor, known.iter().map(String::as_str));
                let help = "declare it (`tensor NAME: f64[I, J] csr`), or give its data, which then say what it is";
                self.errors.last_mut().expect("it is unknown").help.get_or_insert(help.to_string());
            }
            return None;
        };
        if self.out.tensors[tensor.index()].role == Role::Local {
            let is_open = self.open.contains(&a.tensor.name);
            if !is_open {
                let message = format!("`{}` is a local of a `where` block, and is not there outside of it", a.tensor);
                self.error(Diagnostic::new(a.span, message).help("give one of the two another name"));
                return None;
            }
            if !self.defined.contains(&tensor) {
                let d = Diagnostic::new(a.span, format!("`{}` is read before the statement that defines it", a.tensor));
                self.error(d.help("define it first, or give the result another name"));
                return None;
            }
        }
        self.rank(tensor, a)?;
        let mut slices = Vec::new();
        let mut indices = Vec::new();
        for index in &a.indices {
            indices.push(match index {
                syntax::Index::Slice { var, start, end, step, span } => {
                    let to = self.outer(scope, var)?;
                    let (start, end, step) = self.bounds(scope, (start.as_ref(), end.as_ref(), *step), *span)?;
                    let from = self.fresh_var(var);
                    slices.push((from, to, start, end, step, *span));
                    Index { permit: false, map: Map::Var(from), span: *span }
                }
                other => self.index(scope, other)?,
            });
        }
        let ty = self.out.tensors[tensor.index()].ty;
        let access = Expr { kind: Kind::Access(tensor, indices), ty, span: a.span };
        Some(slices.into_iter().fold(access, |body, (from, to, start, end, step, span)| Expr {
            kind: Kind::Slice { body: Box::new(body), from, to, start, end, step },
            ty,
            span,
        }))
    }

    pub(super) fn rank(&mut self, tensor: TensorId, a: &syntax::Access) -> Option<()> {
        let t = &self.out.tensors[tensor.index()];
        if t.sizes.len() == a.indices.len() {
            return Some(());
        }
        let modes = counted(t.sizes.len(), "mode", "modes");
        let given = counted(a.indices.len(), "index", "indices");
        let message = format!("`{}` has {modes} and is given {given}", t.name);
        let d = Diagnostic::new(a.span, message).label(t.span, "declared here");
        self.error(d);
        None
    }

    /// One index other than a slice.
    pub(super) fn index(&mut self, scope: &Scope, index: &syntax::Index) -> Option<Index> {
        match index {
            syntax::Index::Affine { permit, map, span } => {
                Some(Index { permit: *permit, map: self.affine(scope, map, *span)?, span: *span })
            }
            syntax::Index::Access(a) => {
                let Expr { kind: Kind::Access(tensor, indices), ty, .. } = self.read(scope, a)? else {
                    self.say(a.span, "a slice in place cannot stand inside an index");
                    return None;
                };
                if !ty.is_integer() {
                    let message = format!("`{}` is used as an index but holds {ty}", a.tensor);
                    self.error(Diagnostic::new(a.span, message).help("an index tensor holds integers"));
                    return None;
                }
                Some(Index { permit: false, map: Map::Gather(tensor, indices), span: a.span })
            }
            syntax::Index::Computed { permit, of } => {
                let computed = self.coordinate(scope, of)?;
                if !computed.ty.is_integer() {
                    let message = format!("this has type {} and is used as an index", computed.ty);
                    self.error(Diagnostic::new(of.span, message).help("an index is an integer: convert(…, i64)"));
                    return None;
                }
                self.is_computed(&computed)?;
                Some(Index { permit: *permit, map: Map::Computed(Box::new(computed)), span: of.span })
            }
            syntax::Index::Slice { span, .. } => {
                self.say(*span, "a slice in place cannot stand inside an index");
                None
            }
        }
    }

    /// A coordinate that is computed: what it is a sum of are numbers of 64 bits, whatever types they are read from.
    fn coordinate(&mut self, scope: &Scope, e: &syntax::Expr) -> Option<Expr> {
        let (op, parts) = match &e.kind {
            ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b) => {
                (op.operation(), vec![&**a, &**b])
            }
            ExprKind::Unary(UnaryOp::Neg, a) => (Op::Neg, vec![&**a]),
            ExprKind::Call(name, args) => match (name.name.as_str(), &args[..]) {
                ("floordiv", [Argument::Expr(a), Argument::Expr(b)]) => (Op::FloorDiv, vec![a, b]),
                ("floormod", [Argument::Expr(a), Argument::Expr(b)]) => (Op::FloorRem, vec![a, b]),
                _ => return self.expr(scope, e, None),
            },
            _ => return self.expr(scope, e, None),
        };
        let mut wide = vec![];
        for part in parts {
            let made = self.coordinate(scope, part)?;
            if !made.ty.is_integer() {
                let message = format!("this has type {} and is used as an index", made.ty);
                self.error(Diagnostic::new(part.span, message).help("an index is an integer: convert(…, i64)"));
                return None;
            }
            let (ty, span) = (Type::I64, made.span);
            wide.push(match made.ty {
                Type::I64 => made,
                _ => Expr { kind: Kind::Call(Fun::Op(Op::Convert(ty)), vec![made]), ty, span },
            });
        }
        self.apply(Fun::Op(op), wide, e.span)
    }

    /// A coordinate is computed of what is read, without sums, and is there whatever is missing.
    fn is_computed(&mut self, e: &Expr) -> Option<()> {
        let mut folds = None;
        e.walk(&mut |part| {
            let plain = matches!(
                part.kind,
                Kind::Literal(_) | Kind::Index(_) | Kind::Size(_) | Kind::Access(..) | Kind::Call(..)
            );
            folds = folds.or((!plain).then_some(part.span));
        });
        let (span, message, help) = match (folds, e.may_miss()) {
            (Some(span), _) => (
                span,
                "an index is computed of values, and this is a fold or a shape operator",
                "define a tensor, and read it as the index",
            ),
            (None, Some(span)) => {
                (span, "an index is computed of what may be missing here", "replace it: coalesce(…, 0)")
            }
            (None, None) => return Some(()),
        };
        self.error(Diagnostic::new(span, message).help(help));
        None
    }

    /// The map of an index that stands at `place`.
    fn affine(&mut self, scope: &Scope, a: &syntax::Affine, place: Span) -> Option<Map> {
        let mut sum = None;
        for (minus, term) in &a.terms {
            let mut map = match &term.factor {
                syntax::Factor::Var(v) => match self.sizes.get(&v.name) {
                    Some(size) if !scope.vars.contains_key(&v.name) => {
                        Map::Bound(Bound { constant: 0, terms: vec![(1, *size)] })
                    }
                    _ => Map::Var(self.outer(scope, v)?),
                },
                syntax::Factor::Int(n) => Map::Const(self.small(*n, place)?),
                syntax::Factor::Group(inner) => self.affine(scope, inner, place)?,
            };
            if let Some(c) = term.coefficient {
                map = Map::Mul(self.small(c, place)?, Box::new(map));
            }
            for (rest, n) in &term.divisions {
                let n = self.small(*n, place)?;
                if n == 0 {
                    self.say(place, "an index is divided by 0");
                    return None;
                }
                map = if *rest { Map::Mod(Box::new(map), n) } else { Map::Div(Box::new(map), n) };
            }
            if *minus {
                map = Map::Mul(-1, Box::new(map));
            }
            sum = Some(match sum {
                None => map,
                Some(s) => Map::Add(Box::new(s), Box::new(map)),
            });
        }
        sum
    }

    fn small(&mut self, n: u64, place: Span) -> Option<i64> {
        let small = i64::try_from(n).ok().filter(|n| *n < 1 << 62);
        if small.is_none() {
            self.say(place, format!("{n} is too large for an index: integers are below 2⁶² there"));
        }
        small
    }
}

/// Whether every value of `a`, or about all of a whole number, is one of `b`.
fn widens(a: Type, b: Type) -> bool {
    let kind = |t: Type| (t.is_float(), t.range().is_some_and(|(least, _)| least < 0));
    match (a.is_float(), b.is_float()) {
        _ if a == Type::Bool || b == Type::Bool => false,
        (false, true) => true,
        (true, false) => false,
        _ => a.bits() < b.bits() && (kind(a) == kind(b) || kind(b).1),
    }
}

fn yields_bool(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Lt | Le | Gt | Ge | Eq | Ne | AndAlso | OrElse)
}

/// Whether a literal that decides the type of an otherwise open expression is a float.
fn has_float_literal(e: &syntax::Expr) -> bool {
    match &e.kind {
        ExprKind::Literal(l) => matches!(l, Literal::Float(_)),
        ExprKind::Unary(_, x) => has_float_literal(x),
        ExprKind::Binary(op, a, b) => !yields_bool(*op) && (has_float_literal(a) || has_float_literal(b)),
        ExprKind::If(_, t, e) => has_float_literal(t) || has_float_literal(e),
        ExprKind::Reduce { function, .. } if function.name == COUNT => false,
        ExprKind::Reduce { body, .. }
        | ExprKind::Collapse { body, .. }
        | ExprKind::Split { body, .. }
        | ExprKind::Slice { body, .. } => has_float_literal(body),
        ExprKind::Concat { parts, .. } => parts.iter().any(has_float_literal),
        ExprKind::Call(_, args) => args.iter().any(|a| matches!(a, Argument::Expr(e) if has_float_literal(e))),
        _ => false,
    }
}
