//! The text of functions: one line each.
//!
//! ```text
//!  fn f(x: i64, y: i64; a: i64): i64 { a = abs(x); while a > y { a = a / 2; } a + 1 } where identity(0, 1), case(1, y) = y
//! ```
//!
//! Behind the parameters stand the locals, with their types. A case has a parameter's name where it takes any value.

use crate::algebra::Value;
use crate::notation::typed::{Expr, Fun, Function, Kind, LocalId, Property, Set, Stmt};
use crate::text::{DEPTH, Printing, literal};
use std::fmt::{self, Write};

/// A function of a program, as text.
pub(super) struct Shown<'a>(pub &'a [Function], pub &'a Function);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer { functions: self.0, function: self.1, depth: DEPTH, out: f }.function()
    }
}

/// The name of a function, declared or built in.
pub(super) fn name(functions: &[Function], f: crate::notation::typed::FnId) -> String {
    functions.get(f.index()).map_or_else(|| format!("function{}?", f.0), |f| f.name.clone())
}

struct Printer<'a, 'f, 'g> {
    functions: &'a [Function],
    function: &'a Function,
    /// How much deeper an expression may be.
    depth: usize,
    out: &'f mut fmt::Formatter<'g>,
}

impl Printer<'_, '_, '_> {
    fn function(&mut self) -> fmt::Result {
        let f = self.function;
        let typed =
            |all: &[(String, _)]| -> Vec<String> { all.iter().map(|(name, ty)| format!("{name}: {ty}")).collect() };
        let (params, locals) = f.locals.split_at(f.arity.min(f.locals.len()));
        write!(self.out, "fn {}({}", f.name, typed(params).join(", "))?;
        if !locals.is_empty() {
            write!(self.out, "; {}", typed(locals).join(", "))?;
        }
        write!(self.out, "): {} {{ ", f.result)?;
        self.block(&f.stmts)?;
        self.expr(&f.value, 0)?;
        write!(self.out, " }}")?;
        for (n, (p, _)) in f.properties.iter().enumerate() {
            write!(self.out, "{}", if n == 0 { " where " } else { ", " })?;
            self.property(p)?;
        }
        Ok(())
    }

    fn local(&self, LocalId(n): LocalId) -> String {
        self.function.locals.get(n as usize).map_or_else(|| format!("local{n}?"), |(name, _)| name.clone())
    }

    fn block(&mut self, stmts: &[Stmt]) -> fmt::Result {
        stmts.iter().try_for_each(|s| self.stmt(s))
    }

    /// A statement and a blank.
    fn stmt(&mut self, stmt: &Stmt) -> fmt::Result {
        match stmt {
            Stmt::Set(l, e) => {
                let name = self.local(*l);
                write!(self.out, "{name} = ")?;
                self.expr(e, 0)?;
                write!(self.out, "; ")
            }
            Stmt::While(c, body) => {
                write!(self.out, "while ")?;
                self.expr(c, 0)?;
                write!(self.out, " {{ ")?;
                self.block(body)?;
                write!(self.out, "}} ")
            }
            Stmt::If(c, yes, no) => {
                write!(self.out, "if ")?;
                self.expr(c, 0)?;
                write!(self.out, " {{ ")?;
                self.block(yes)?;
                if !no.is_empty() {
                    write!(self.out, "}} else {{ ")?;
                    self.block(no)?;
                }
                write!(self.out, "}} ")
            }
        }
    }

    fn property(&mut self, p: &Property) -> fmt::Result {
        let at = |v: &Value, at: &Option<usize>| {
            format!("({}{})", literal(*v), at.map_or(String::new(), |n| format!(", {n}")))
        };
        match p {
            Property::Commutative => write!(self.out, "commutative"),
            Property::Associative => write!(self.out, "associative"),
            Property::Idempotent => write!(self.out, "idempotent"),
            Property::Identity(v, n) => write!(self.out, "identity{}", at(v, n)),
            Property::Annihilator(v, n) => write!(self.out, "annihilator{}", at(v, n)),
            Property::Iterate(set) => {
                let set = self.set(set, 0);
                write!(self.out, "iterate({set})")
            }
            Property::Derivative(at, e) => {
                write!(self.out, "derivative({}) = ", self.local(LocalId(*at as u32)))?;
                self.expr(e, 0)
            }
            Property::Case(patterns, e) => {
                let name = |n: usize| self.local(LocalId(n as u32));
                let pattern = |(n, p): (usize, &Option<Value>)| p.map_or_else(|| name(n), literal);
                let patterns: Vec<String> = patterns.iter().enumerate().map(pattern).collect();
                write!(self.out, "case({}) = ", patterns.join(", "))?;
                self.expr(e, 0)
            }
        }
    }

    /// In parentheses if it binds less tightly than `least`: `!` 2, `&` 1, `|` 0.
    fn set(&self, set: &Set, least: u8) -> String {
        let (text, binds) = match set {
            Set::Param(n) => return self.local(LocalId(*n as u32)),
            Set::All => return "all".to_string(),
            Set::Not(s) => (format!("!{}", self.set(s, 2)), 2),
            Set::And(a, b) => (format!("{} & {}", self.set(a, 1), self.set(b, 2)), 1),
            Set::Or(a, b) => (format!("{} | {}", self.set(a, 0), self.set(b, 1)), 0),
        };
        if binds < least { format!("({text})") } else { text }
    }
}

impl Printing for Printer<'_, '_, '_> {
    type Expr = Expr;

    fn out(&mut self) -> &mut dyn Write {
        self.out
    }

    fn is_literal(e: &Expr) -> bool {
        matches!(e.kind, Kind::Literal(_))
    }

    fn expr(&mut self, e: &Expr, least: u8) -> fmt::Result {
        let Some(depth) = self.depth.checked_sub(1) else { return write!(self.out, "…") };
        let depth = std::mem::replace(&mut self.depth, depth);
        match &e.kind {
            Kind::Literal(v) => write!(self.out, "{}", literal(*v))?,
            Kind::Local(l) => {
                let name = self.local(*l);
                write!(self.out, "{name}")?;
            }
            Kind::Call(Fun::Op(op), args) => self.applied(*op, &args.iter().collect::<Vec<_>>(), least)?,
            Kind::Call(Fun::User(f), args) => {
                let name = name(self.functions, *f);
                self.list(&name, &args.iter().collect::<Vec<_>>())?;
            }
            _ => write!(self.out, "…")?,
        }
        self.depth = depth;
        Ok(())
    }
}
