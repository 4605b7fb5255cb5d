//! Bodies and properties of functions.

use super::expr::{DEEPEST, Expr, Value};
use super::name::ident;
use fiberloom_core::notation::Span;
use fiberloom_core::notation::syntax::{self, ExprKind, Property, SetExpr, Stmt};
use std::ops;

/// A parameter's value.
pub fn param(name: &str) -> Expr {
    local(name)
}

/// A local's value.
pub fn local(name: &str) -> Expr {
    Expr::of(ExprKind::Name(ident(name)), 0)
}

/// Statements of a function, in order.
#[derive(Debug, Default)]
pub struct Body {
    pub(super) stmts: Vec<Stmt>,
    pub(super) too_deep: bool,
}

impl Body {
    /// `let name = value;`, and the local.
    pub fn define(&mut self, name: &str, value: impl Into<Expr>) -> Expr {
        let value = self.tree(value);
        self.stmts.push(Stmt::Let(ident(name), value));
        local(name)
    }

    /// `name = value;`
    pub fn assign(&mut self, name: &str, value: impl Into<Expr>) {
        let value = self.tree(value);
        self.stmts.push(Stmt::Set(ident(name), value));
    }

    /// `while condition { … }`
    pub fn repeat(&mut self, condition: impl Into<Expr>, body: impl FnOnce(&mut Body)) {
        let condition = self.tree(condition);
        let body = self.block(body);
        self.stmts.push(Stmt::While(condition, body));
    }

    /// `if condition { … }`
    pub fn when(&mut self, condition: impl Into<Expr>, then: impl FnOnce(&mut Body)) {
        self.branch(condition, then, |_| {});
    }

    /// `if condition { … } else { … }`
    pub fn branch(
        &mut self,
        condition: impl Into<Expr>,
        then: impl FnOnce(&mut Body),
        otherwise: impl FnOnce(&mut Body),
    ) {
        let condition = self.tree(condition);
        let (then, otherwise) = (self.block(then), self.block(otherwise));
        self.stmts.push(Stmt::If(condition, then, otherwise));
    }

    fn tree(&mut self, e: impl Into<Expr>) -> syntax::Expr {
        let e = e.into();
        self.too_deep |= e.depth > DEEPEST;
        e.tree
    }

    fn block(&mut self, add: impl FnOnce(&mut Body)) -> Vec<Stmt> {
        let mut inner = Body::default();
        add(&mut inner);
        self.too_deep |= inner.too_deep;
        inner.stmts
    }
}

/// A set of coordinates, by where parameters differ from their fill; `&`, `|` and `!` are Rust's.
#[derive(Clone, Debug)]
pub struct Set(SetExpr);

/// Everywhere.
pub fn all() -> Set {
    Set(SetExpr::All)
}

impl Set {
    /// Where this parameter differs from its fill.
    pub fn of(parameter: &str) -> Set {
        Set(SetExpr::Param(ident(parameter)))
    }
}

impl ops::BitAnd for Set {
    type Output = Set;
    fn bitand(self, other: Set) -> Set {
        Set(SetExpr::And(Box::new(self.0), Box::new(other.0)))
    }
}

impl ops::BitOr for Set {
    type Output = Set;
    fn bitor(self, other: Set) -> Set {
        Set(SetExpr::Or(Box::new(self.0), Box::new(other.0)))
    }
}

impl ops::Not for Set {
    type Output = Set;
    fn not(self) -> Set {
        Set(SetExpr::Not(Box::new(self.0)))
    }
}

/// A pattern of a `case`: [`exactly`] or [`anything`].
#[derive(Clone, Debug)]
pub struct Pattern(syntax::Pattern);

/// Matches this value.
pub fn exactly(value: impl Into<Value>) -> Pattern {
    Pattern(syntax::Pattern::Literal(value.into().0))
}

/// Matches anything, and names it.
pub fn anything(name: &str) -> Pattern {
    Pattern(syntax::Pattern::Name(ident(name)))
}

/// A function to which properties can be added.
pub struct Properties<'a> {
    pub(super) function: &'a mut syntax::Function,
    pub(super) too_deep: &'a mut bool,
}

impl Properties<'_> {
    fn with(self, property: Property) -> Self {
        self.function.properties.push((property, Span::default()));
        self
    }

    /// `commutative`
    pub fn commutative(self) -> Self {
        self.with(Property::Commutative)
    }

    /// `associative`
    pub fn associative(self) -> Self {
        self.with(Property::Associative)
    }

    /// `idempotent`
    pub fn idempotent(self) -> Self {
        self.with(Property::Idempotent)
    }

    /// `identity(value)`: at every position.
    pub fn identity(self, value: impl Into<Value>) -> Self {
        self.with(Property::Identity(value.into().0, None))
    }

    /// `identity(value, position)`
    pub fn identity_at(self, value: impl Into<Value>, position: u64) -> Self {
        self.with(Property::Identity(value.into().0, Some(position)))
    }

    /// `annihilator(value)`: at every position.
    pub fn annihilator(self, value: impl Into<Value>) -> Self {
        self.with(Property::Annihilator(value.into().0, None))
    }

    /// `annihilator(value, position)`
    pub fn annihilator_at(self, value: impl Into<Value>, position: u64) -> Self {
        self.with(Property::Annihilator(value.into().0, Some(position)))
    }

    /// `iterate(set)`
    pub fn iterate(self, set: Set) -> Self {
        self.with(Property::Iterate(set.0))
    }

    /// `case(patterns) = value`
    pub fn case<const N: usize>(self, patterns: [Pattern; N], value: impl Into<Expr>) -> Self {
        let value = value.into();
        *self.too_deep |= value.depth > DEEPEST;
        let patterns = patterns.into_iter().map(|p| p.0).collect();
        self.with(Property::Case(patterns, value.tree))
    }
}
