//! Places the sums of the short form, by the rule of `docs/language.md` on syntax, independently of the compiler.
//!
//! ```text
//!  y[i]  = A[i,j] * x[j] - b[i]      is    y[i]  = sum(j: A[i,j] * x[j]) - b[i]
//!  y[i] += A[i,j] + 2 * B[i,k]             y[i] += sum(j: A[i,j]) + sum(k: 2 * B[i,k])
//!  y[i]  = -(A[i,j] + b[i])                y[i]  = sum(j: -(A[i,j] + b[i]))
//!  m[i] max= A[i,j] + B[i,k]               m[i] is folded with all of `A[i,j] + B[i,k]` over j, k
//! ```
//!
//! 1. The right side is a tree of `+` and `-`. Its leaves, of any form, are the terms.
//! 2. A reduction binds its variables in its body, a shape operator the variables that it is from in its body, or in the
//!    part of that place. A name that is not bound is free.
//! 3. A name that occurs free in an index, a computed one, too, or that a shape operator leaves, on either side, is an index variable of the
//!    statement. Bounds of slices hold sizes. A name by itself is an index variable if it is one elsewhere in the statement.
//!    The name of a declared size is that size (`x[N-1]`), unless it is all of some index of the statement, a shape operator leaves
//!    it, or a slice goes along it.
//! 4. `=` and `+=` sum each term over those index variables that are free in it and absent on the left. The sum of a term
//!    is one fold over all of them, in the order in which they first appear on the right side, as values too.
//! 5. Any other `f=` folds the whole right side over all that are absent on the left, in the same order.
//! 6. Names appear from left to right, but what a shape operator leaves appears before what it is applied to, and a
//!    `start` before the body of its fold.
//!
//! Statements of blocks and of `where` blocks are statements by themselves. `fiberloom_passes::check` places the sums with which programs
//! run. This module uses nothing of it, and both are compared on programs (`fuzz/check`).

use fiberloom_core::notation::syntax::{
    Access, Affine, Argument, Assign, BinaryOp, Expr, ExprKind, Factor, Ident, Index, Item, Program, Repeat, Size,
    Statement,
};
use fiberloom_core::stack::with_room;
use std::collections::BTreeSet;

/// The program with every sum of `=` and `+=` written out.
#[must_use]
pub fn explicit(program: &Program) -> Program {
    let sizes = sizes(program);
    with_room(|| Program { items: items(&program.items, &sizes) })
}

/// The names that a program declares as sizes.
pub fn sizes(program: &Program) -> BTreeSet<String> {
    let named = |size: &Size| match size {
        Size::Name(name) => Some(name.name.clone()),
        Size::Int(..) => None,
    };
    let of = |item: &Item| match item {
        Item::Dim(dim) => vec![dim.name.name.clone()],
        Item::Tensor(t) => t.sizes.iter().filter_map(named).collect(),
        Item::Table(t) => t.modes.iter().filter_map(|mode| named(&mode.size)).collect(),
        Item::Domain(_) | Item::Function(_) | Item::Statement(_) | Item::Repeat(_) | Item::Schedule(_) => vec![],
    };
    program.items.iter().flat_map(of).collect()
}

/// The index variables of a statement's left side, each once, in order of appearance.
pub fn left<'s>(s: &'s Statement, sizes: &BTreeSet<String>) -> Vec<&'s Ident> {
    let found: Vec<Found> = s.lhs.indices.iter().flat_map(in_index).collect();
    named(
        found.into_iter().filter(|found| found.indexes).map(|found| found.name).filter(|name| !is_size(s, name, sizes)),
    )
}

/// Whether a name denotes a size in a statement's indices, too.
fn is_size(s: &Statement, name: &Ident, sizes: &BTreeSet<String>) -> bool {
    let stands_alone = |found: &Found| found.alone && found.name.name == name.name;
    sizes.contains(&name.name) && !in_access(&s.lhs).iter().any(stands_alone) && !free(&s.rhs).iter().any(stands_alone)
}

/// The index variables over which a statement is summed or folded, each once, in order of appearance on the right side.
pub fn absent<'s>(s: &'s Statement, sizes: &BTreeSet<String>) -> Vec<&'s Ident> {
    let (left, found) = (left(s, sizes), with_room(|| free(&s.rhs)));
    let indexing = found.iter().filter(|found| found.indexes).map(|found| found.name);
    let indexing: Vec<&Ident> = indexing.filter(|name| !is_size(s, name, sizes)).collect();
    named(found.into_iter().map(|found| found.name).filter(|name| has(&indexing, name) && !has(&left, name)))
}

fn items(items: &[Item], sizes: &BTreeSet<String>) -> Vec<Item> {
    let written = |item: &Item| match item {
        Item::Statement(s) => Item::Statement(statement(s, sizes)),
        Item::Repeat(block) => Item::Repeat(Repeat { body: self::items(&block.body, sizes), ..block.clone() }),
        Item::Dim(_) | Item::Domain(_) | Item::Table(_) | Item::Tensor(_) | Item::Function(_) | Item::Schedule(_) => {
            item.clone()
        }
    };
    items.iter().map(written).collect()
}

fn statement(s: &Statement, sizes: &BTreeSet<String>) -> Statement {
    let locals = s.locals.iter().map(|local| statement(local, sizes)).collect();
    let rhs = match s.op {
        Assign::Set | Assign::Add => summed(&s.rhs, &absent(s, sizes)),
        Assign::Fold(_) => s.rhs.clone(),
    };
    Statement { locals, rhs, ..s.clone() }
}

/// A tree of terms, each summed over those of these variables that are free in it.
fn summed(e: &Expr, absent: &[&Ident]) -> Expr {
    if let ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) = &e.kind {
        let [a, b] = [a, b].map(|part| Box::new(summed(part, absent)));
        return Expr { kind: ExprKind::Binary(*op, a, b), span: e.span };
    }
    let inside: Vec<&Ident> = free(e).into_iter().map(|found| found.name).collect();
    let vars: Vec<Ident> = absent.iter().filter(|v| has(&inside, v)).map(|v| Ident::clone(v)).collect();
    if vars.is_empty() {
        return e.clone();
    }
    let function = Ident { name: "sum".to_string(), span: e.span };
    Expr { kind: ExprKind::Reduce { function, vars, body: Box::new(e.clone()), start: None }, span: e.span }
}

/// A name that occurs free in an expression.
struct Found<'e> {
    name: &'e Ident,
    /// Whether it occurs in an index, or a shape operator leaves it.
    indexes: bool,
    /// Whether it is all of an index, or a slice or a shape operator names it.
    alone: bool,
}

/// The names that are free in an expression, in order of appearance.
fn free(e: &Expr) -> Vec<Found<'_>> {
    let value = |name| Found { name, indexes: false, alone: false };
    let index = |name| Found { name, indexes: true, alone: true };
    match &e.kind {
        ExprKind::Literal(_) => vec![],
        ExprKind::Name(name) => vec![value(name)],
        ExprKind::Access(a) => in_access(a),
        ExprKind::Unary(_, a) => free(a),
        ExprKind::Binary(_, a, b) => [a, b].into_iter().flat_map(|part| free(part)).collect(),
        ExprKind::If(c, a, b) => [c, a, b].into_iter().flat_map(|part| free(part)).collect(),
        ExprKind::Call(_, args) => args.iter().flat_map(in_argument).collect(),
        ExprKind::Reduce { vars, body, start, .. } => {
            start.iter().flat_map(|start| free(start)).chain(unbound(body, vars)).collect()
        }
        ExprKind::Collapse { body, from, to } => [index(to)].into_iter().chain(unbound(body, from)).collect(),
        ExprKind::Split { body, from, to } => {
            [&to.0, &to.1].map(index).into_iter().chain(unbound(body, std::slice::from_ref(from))).collect()
        }
        ExprKind::Concat { parts, from, to } => {
            let parts = parts.iter().zip(from).flat_map(|(part, from)| unbound(part, std::slice::from_ref(from)));
            [index(to)].into_iter().chain(parts).collect()
        }
        ExprKind::Slice { body, from, to, .. } => {
            [index(to)].into_iter().chain(unbound(body, std::slice::from_ref(from))).collect()
        }
    }
}

/// The names that are free in an expression and not bound here.
fn unbound<'e>(e: &'e Expr, bound: &[Ident]) -> Vec<Found<'e>> {
    let mut found = free(e);
    found.retain(|found| bound.iter().all(|b| b.name != found.name.name));
    found
}

fn in_argument(a: &Argument) -> Vec<Found<'_>> {
    match a {
        Argument::Expr(e) => free(e),
        Argument::Type(..) => vec![],
    }
}

fn in_access(a: &Access) -> Vec<Found<'_>> {
    a.indices.iter().flat_map(in_index).collect()
}

fn in_index(index: &Index) -> Vec<Found<'_>> {
    let found = |name, alone| Found { name, indexes: true, alone };
    match index {
        Index::Affine { map, .. } => {
            in_affine(map).into_iter().map(|name| found(name, map.as_name().is_some())).collect()
        }
        Index::Slice { var, .. } => vec![found(var, true)],
        Index::Access(read) => in_access(read),
        Index::Computed { of, .. } => free(of).into_iter().map(|inner| Found { indexes: true, ..inner }).collect(),
    }
}

fn in_affine(map: &Affine) -> Vec<&Ident> {
    let in_factor = |factor| match factor {
        &Factor::Int(_) => vec![],
        Factor::Var(name) => vec![name],
        Factor::Group(inner) => in_affine(inner),
    };
    map.terms.iter().flat_map(|(_, term)| in_factor(&term.factor)).collect()
}

/// Each name once.
fn named<'e>(all: impl Iterator<Item = &'e Ident>) -> Vec<&'e Ident> {
    let mut once: Vec<&Ident> = vec![];
    for name in all {
        if !has(&once, name) {
            once.push(name);
        }
    }
    once
}

fn has(names: &[&Ident], name: &Ident) -> bool {
    names.iter().any(|known| known.name == name.name)
}
