//! Declared functions as concrete notation has them: those of the checked program, without places in its text.
//!
//! ```text
//!  typed    { let a = abs(x); if a > y { let t = a; … } … }      names by block, spans
//!  concrete fn f(x: i64, y: i64; a: i64, t: i64): i64 { … }      a name each, none of it a word of the print
//! ```
//!
//! In a function nothing is ever missing: `coalesce` is its first argument.

use super::super::Span;
use super::super::typed::{Expr, Fun, Function, Kind, Property, Stmt};
use crate::algebra::{Op, Type};
use crate::text::LITERALS;
use std::collections::HashSet;

/// The functions of a checked program.
pub fn plain(functions: &[Function]) -> Vec<Function> {
    if functions.is_empty() {
        return vec![];
    }
    let words = Op::all().map(Op::name).chain(Op::reductions().map(|(name, _)| name));
    let words = words.chain(Type::ALL.map(Type::name)).chain(LITERALS).chain(["index", "concat"]);
    let mut taken: HashSet<String> = words.map(str::to_string).collect();
    let names: Vec<String> = functions.iter().map(|f| own(&f.name, &mut taken)).collect();
    functions.iter().zip(names).map(|(f, name)| function(f, name)).collect()
}

fn function(f: &Function, name: String) -> Function {
    let mut taken: HashSet<String> = LITERALS.map(str::to_string).into();
    Function {
        name,
        locals: f.locals.iter().map(|(name, ty)| (own(name, &mut taken), *ty)).collect(),
        arity: f.arity,
        result: f.result,
        stmts: block(&f.stmts),
        value: expr(&f.value),
        properties: f.properties.iter().map(|(p, _)| (property(p), Span::default())).collect(),
        span: Span::default(),
    }
}

/// The name, or one that begins with it and is not taken.
fn own(name: &str, taken: &mut HashSet<String>) -> String {
    let others = (2..).map(|n| format!("{name}_{n}"));
    let free = std::iter::once(name.to_string()).chain(others).find(|name| !taken.contains(name));
    let free = free.expect("there are names enough");
    taken.insert(free.clone());
    free
}

fn block(stmts: &[Stmt]) -> Vec<Stmt> {
    let stmt = |s: &Stmt| match s {
        Stmt::Set(l, e) => Stmt::Set(*l, expr(e)),
        Stmt::While(c, body) => Stmt::While(expr(c), block(body)),
        Stmt::If(c, yes, no) => Stmt::If(expr(c), block(yes), block(no)),
    };
    stmts.iter().map(stmt).collect()
}

fn expr(e: &Expr) -> Expr {
    let kind = match &e.kind {
        Kind::Call(Fun::Op(Op::Coalesce), args) => return expr(&args[0]),
        Kind::Call(fun, args) => Kind::Call(*fun, args.iter().map(expr).collect()),
        leaf => leaf.clone(),
    };
    Expr { kind, ty: e.ty, span: Span::default() }
}

fn property(p: &Property) -> Property {
    match p {
        Property::Case(patterns, e) => Property::Case(patterns.clone(), expr(e)),
        Property::Derivative(at, e) => Property::Derivative(*at, expr(e)),
        other => other.clone(),
    }
}

/// How large a function is where it is called, with all that it calls: statements, and blocks in each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extent {
    /// Statements and calls.
    pub statements: u64,
    /// Blocks.
    pub depth: usize,
}

impl Extent {
    fn beside(self, other: Extent) -> Extent {
        let statements = self.statements.saturating_add(other.statements);
        Extent { statements, depth: self.depth.max(other.depth) }
    }

    fn inside(self) -> Extent {
        Extent { depth: self.depth + 1, ..self }
    }

    /// That of each function; one calls only those before it.
    pub fn of(functions: &[Function]) -> Vec<Extent> {
        let mut known = Vec::new();
        for f in functions {
            let value = Extent::expr(&f.value, &known);
            known.push(Extent::block(&f.stmts, &known).beside(value));
        }
        known
    }

    fn block(stmts: &[Stmt], known: &[Extent]) -> Extent {
        let one = Extent { statements: 1, depth: 0 };
        let each = stmts.iter().map(|s| match s {
            Stmt::Set(_, e) => Extent::expr(e, known),
            // What a condition calls stands in the loop.
            Stmt::While(c, body) => Extent::expr(c, known).beside(Extent::block(body, known).inside()).inside(),
            Stmt::If(c, yes, no) => {
                let blocks = Extent::block(yes, known).beside(Extent::block(no, known));
                Extent::expr(c, known).beside(blocks.inside())
            }
        });
        each.fold(Extent::default(), |all, s| all.beside(s).beside(one))
    }

    fn expr(e: &Expr, known: &[Extent]) -> Extent {
        let mut all = Extent::default();
        e.walk(&mut |e| {
            if let Kind::Call(Fun::User(f), _) = &e.kind {
                all = all.beside(known[f.index()]).beside(Extent { statements: 1, depth: 0 });
            }
        });
        all
    }
}
