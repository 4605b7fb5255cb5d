//! Declared functions: bodies and properties.

use super::{Check, Scope};
use fiberloom_core::algebra::{COUNT, Op, Type};
use fiberloom_core::notation::diagnostic::{Diagnostic, Span};
use fiberloom_core::notation::syntax::{self, Ident, Item, SetExpr};
use fiberloom_core::notation::typed::{self, Expr, FnId, LocalId, Property, Set, Stmt};

/// All expressions of a list of statements, and in how many blocks each stands.
fn placed<'s>(stmts: &'s [Stmt], blocks: usize, all: &mut Vec<(&'s Expr, usize)>) {
    for stmt in stmts {
        match stmt {
            Stmt::Set(_, e) => all.push((e, blocks)),
            Stmt::While(e, body) => {
                all.push((e, blocks));
                placed(body, blocks + 1, all);
            }
            Stmt::If(e, yes, no) => {
                all.push((e, blocks));
                placed(yes, blocks + 1, all);
                placed(no, blocks + 1, all);
            }
        }
    }
}

/// Functions in order: a body sees those above it, so none recurses.
pub(super) fn functions(items: &[Item], c: &mut Check) {
    c.inside = true;
    for item in items {
        if let Item::Function(f) = item {
            Functions { c }.function(f);
            if !c.functions.contains_key(&f.name.name) {
                c.faulty.insert(f.name.name.clone());
            }
        }
    }
    c.inside = false;
}

/// What declared functions are checked with.
struct Functions<'c> {
    c: &'c mut Check,
}

impl Functions<'_> {
    fn function(&mut self, f: &syntax::Function) {
        let name = &f.name;
        let builtin = Op::from_name(&name.name).is_some() || Op::from_reduction(&name.name).is_some();
        if builtin || ["convert", COUNT].contains(&&*name.name) {
            return self.c.say(name.span, format!("`{name}` is a built-in function: give this one another name"));
        }
        if let Some(first) = self.c.functions.get(&name.name) {
            let first = self.c.out.functions[first.index()].span;
            let d =
                Diagnostic::new(name.span, format!("function `{name}` is declared twice")).label(first, "first here");
            return self.c.error(d);
        }
        self.c.local_types.clear();
        let mut body = Body { scope: Scope::default(), names: Vec::new() };
        for (param, ty) in &f.params {
            self.local(&mut body, param, *ty);
        }
        let stmts = self.stmts(&mut body, &f.body.stmts);
        let value = self.c.expr(&body.scope, &f.body.value, Some(f.result));
        let arity = f.params.len();
        let types: Vec<Type> = f.params.iter().map(|(_, t)| *t).collect();
        let properties = f.properties.iter().filter_map(|(p, span)| {
            let p = self.property(f, &types, p, *span)?;
            Some((p, *span))
        });
        let properties = properties.collect();
        let (Some(stmts), Some(value)) = (stmts, value) else { return };
        let mut all = vec![(&value, 0)];
        placed(&stmts, 0, &mut all);
        let deep: Option<Vec<usize>> = all.into_iter().map(|(e, blocks)| self.c.nesting(e, blocks)).collect();
        let Some(deep) = deep else { return };
        self.c.nesting.push(deep.into_iter().max().unwrap_or(1));
        let locals = body.names.into_iter().zip(self.c.local_types.clone()).collect();
        self.c.functions.insert(name.name.clone(), FnId(self.c.out.functions.len() as u32));
        self.c.out.functions.push(typed::Function {
            name: name.name.clone(),
            locals,
            arity,
            result: f.result,
            stmts,
            value,
            properties,
            span: name.span,
        });
    }

    fn local(&mut self, body: &mut Body, name: &Ident, ty: Type) -> LocalId {
        if body.scope.locals.contains_key(&name.name) {
            self.c.say(name.span, format!("`{name}` is defined already: give this one another name"));
        }
        let id = LocalId(body.names.len() as u32);
        body.names.push(name.name.clone());
        self.c.local_types.push(ty);
        body.scope.locals.insert(name.name.clone(), id);
        id
    }

    /// Statements; what they define is known behind them, to the end of their block.
    fn stmts(&mut self, body: &mut Body, stmts: &[syntax::Stmt]) -> Option<Vec<Stmt>> {
        let made: Vec<Option<Stmt>> = stmts.iter().map(|s| self.stmt(body, s)).collect();
        made.into_iter().collect()
    }

    fn block(&mut self, body: &mut Body, stmts: &[syntax::Stmt]) -> Option<Vec<Stmt>> {
        let outer = body.scope.clone();
        let made = self.stmts(body, stmts);
        body.scope = outer;
        made
    }

    fn stmt(&mut self, body: &mut Body, stmt: &syntax::Stmt) -> Option<Stmt> {
        match stmt {
            syntax::Stmt::Let(name, e) => {
                let value = self.c.expr(&body.scope, e, None);
                // A local whose value is wrong is known all the same: it is complained of once.
                let ty = value.as_ref().map_or(Type::I64, |v| v.ty);
                let id = self.local(body, name, ty);
                Some(Stmt::Set(id, value?))
            }
            syntax::Stmt::Set(name, e) => {
                let Some(&id) = body.scope.locals.get(&name.name) else {
                    let known: Vec<String> = body.scope.locals.keys().cloned().collect();
                    self.c.unknown("local", name, known.iter().map(String::as_str));
                    return None;
                };
                let ty = self.c.local_types[id.index()];
                Some(Stmt::Set(id, self.c.expr(&body.scope, e, Some(ty))?))
            }
            syntax::Stmt::While(c, inner) => {
                let c = self.c.expr(&body.scope, c, Some(Type::Bool));
                let inner = self.block(body, inner);
                Some(Stmt::While(c?, inner?))
            }
            syntax::Stmt::If(c, t, e) => {
                let c = self.c.expr(&body.scope, c, Some(Type::Bool));
                let (t, e) = (self.block(body, t), self.block(body, e));
                Some(Stmt::If(c?, t?, e?))
            }
        }
    }

    fn property(&mut self, f: &syntax::Function, types: &[Type], p: &syntax::Property, span: Span) -> Option<Property> {
        let binary = types.len() == 2 && types[0] == types[1];
        let closed = binary && types[0] == f.result;
        match p {
            syntax::Property::Commutative if binary => Some(Property::Commutative),
            syntax::Property::Associative if closed => Some(Property::Associative),
            syntax::Property::Idempotent if closed => Some(Property::Idempotent),
            syntax::Property::Commutative | syntax::Property::Associative | syntax::Property::Idempotent => {
                let help =
                    "commutative needs two parameters of one type; associative and idempotent a result of it too";
                self.c.error(Diagnostic::new(span, format!("`{p}` does not fit the type of `{}`", f.name)).help(help));
                None
            }
            syntax::Property::Identity(v, at) => {
                let (ty, at) = self.position(f, types, *at, span)?;
                let other = at.is_none_or(|at| types.len() == 2 && types[1 - at] == f.result);
                if !other || at.is_none() && !closed {
                    self.c.say(span, format!("`{p}` does not fit the type of `{}`", f.name));
                    return None;
                }
                Some(Property::Identity(self.c.literal(v, ty, span)?, at))
            }
            syntax::Property::Annihilator(v, at) => {
                let (ty, at) = self.position(f, types, *at, span)?;
                Some(Property::Annihilator(self.c.literal(v, ty, span)?, at))
            }
            syntax::Property::Iterate(set) => Some(Property::Iterate(self.set(f, set)?)),
            syntax::Property::Case(patterns, e) => self.case(f, types, patterns, e, span),
            syntax::Property::Derivative(name, e) => self.derivative(f, name, e),
        }
    }

    /// The type at an argument position; without one, that of all parameters.
    fn position(
        &mut self,
        f: &syntax::Function,
        types: &[Type],
        at: Option<u64>,
        span: Span,
    ) -> Option<(Type, Option<usize>)> {
        let place = at.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let ty = match place {
            Some(n) => types.get(n).copied(),
            None => types.first().copied().filter(|t| types.iter().all(|u| u == t)),
        };
        if ty.is_none() {
            let help = format!("positions are 0 to {}", types.len() - 1);
            let message = format!("`{}` has no such argument, or its parameters differ in type", f.name);
            self.c.error(Diagnostic::new(span, message).help(help));
        }
        Some((ty?, place))
    }

    fn set(&mut self, f: &syntax::Function, set: &SetExpr) -> Option<Set> {
        Some(match set {
            SetExpr::All => Set::All,
            SetExpr::Not(s) => Set::Not(Box::new(self.set(f, s)?)),
            SetExpr::And(a, b) => Set::And(Box::new(self.set(f, a)?), Box::new(self.set(f, b)?)),
            SetExpr::Or(a, b) => Set::Or(Box::new(self.set(f, a)?), Box::new(self.set(f, b)?)),
            SetExpr::Param(name) => match f.params.iter().position(|(p, _)| p.name == name.name) {
                Some(n) => Set::Param(n),
                None => {
                    let known: Vec<&str> = f.params.iter().map(|(p, _)| p.name.as_str()).collect();
                    self.c.unknown("parameter", name, known.into_iter());
                    return None;
                }
            },
        })
    }

    /// The derivative by a parameter, which is of floats, as the result is.
    fn derivative(&mut self, f: &syntax::Function, name: &Ident, e: &syntax::Expr) -> Option<Property> {
        let Some(at) = f.params.iter().position(|(p, _)| p.name == name.name) else {
            let known: Vec<&str> = f.params.iter().map(|(p, _)| p.name.as_str()).collect();
            self.c.unknown("parameter", name, known.into_iter());
            return None;
        };
        if !f.params[at].1.is_float() || !f.result.is_float() {
            let message =
                format!("a derivative is by a float, and of a float: `{name}` or the result of `{}` is none", f.name);
            self.c.say(name.span, message);
            return None;
        }
        let locals = f.params.iter().enumerate().map(|(n, (p, _))| (p.name.clone(), LocalId(n as u32))).collect();
        let scope = Scope { locals, ..Scope::default() };
        Some(Property::Derivative(at, self.c.expr(&scope, e, Some(f.result))?))
    }

    fn case(
        &mut self,
        f: &syntax::Function,
        types: &[Type],
        patterns: &[syntax::Pattern],
        e: &syntax::Expr,
        span: Span,
    ) -> Option<Property> {
        if patterns.len() != types.len() {
            self.c.say(span, format!("a case with {} patterns for {} parameters", patterns.len(), types.len()));
            return None;
        }
        // The names of the pattern are the parameters at their positions.
        let mut scope = Scope::default();
        let mut values = Vec::new();
        for (n, pattern) in patterns.iter().enumerate() {
            values.push(match pattern {
                syntax::Pattern::Literal(l) => Some(self.c.literal(l, types[n], span)?),
                syntax::Pattern::Name(name) => {
                    if scope.locals.insert(name.name.clone(), LocalId(n as u32)).is_some() {
                        self.c.say(name.span, format!("`{name}` stands twice in a case"));
                        return None;
                    }
                    None
                }
            });
        }
        let value: Expr = self.c.expr(&scope, e, Some(f.result))?;
        Some(Property::Case(values, value))
    }
}

/// What a function's body has defined so far.
struct Body {
    scope: Scope,
    names: Vec<String>,
}
