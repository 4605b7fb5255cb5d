//! The rows of a result that is a table: those of which something was said, whatever was said.
//!
//! ```text
//!  table out[c: CITY] { total: dec(2) }
//!  total[city[n]] += if day[n] >= "2024-01-01" then amount[n] else 0
//!  out[city[n]] any= day[n] >= "2024-01-01" && sales[n]                    which is added here
//! ```
//!
//! So a group whose sum is 0 is a row, and a group without a row is none. A factor has to stand, and of terms one of them. Columns that are
//! read through another's values need not: there they have their fill. A program that defines `out` itself says its rows.

use super::declare::{Known, Relate};
use super::expression::{binary, call};
use super::{Holds, Table};
use fiberloom_core::algebra::Type;
use fiberloom_core::notation::diagnostic::Span;
use fiberloom_core::notation::syntax::{
    Access, Argument, Assign, BinaryOp, Expr, ExprKind, Ident, Index, Item, Literal, Statement, UnaryOp,
};

impl Relate {
    /// Notes which tables' rows follow from the statements that define their columns.
    pub(super) fn note_rows(&mut self, items: &[Item]) {
        let defined: Vec<&str> = items
            .iter()
            .filter_map(|item| if let Item::Statement(s) = item { Some(s.lhs.tensor.name.as_str()) } else { None })
            .collect();
        // What a block defines turn after turn has no rows of its own.
        let follows = |table: &&Table| {
            let outside = table.columns.iter().all(|column| defined.contains(&column.name.as_str()));
            table.made && outside && !self.is_result(&table.name)
        };
        let followed: Vec<String> = self.out.tables.iter().filter(follows).map(|table| table.name.clone()).collect();
        followed.iter().for_each(|name| self.defines(name.clone()));
        self.followed.extend(followed);
    }

    /// The statement that says which rows one that defines a column makes.
    pub(super) fn rows_of(&mut self, s: &Statement) -> Option<Statement> {
        let (table, _) = self.known.get(&s.lhs.tensor.name)?.column?;
        let table = self.out.tables[table].name.clone();
        if !self.followed.contains(&table) {
            return None;
        }
        let span = s.span;
        let stands = self.stands(&s.rhs).unwrap_or(Expr { kind: ExprKind::Literal(Literal::Bool(true)), span });
        let mut rows = s.clone();
        rows.lhs.tensor.name = table;
        rows.op = Assign::Fold(Ident { name: "any".to_string(), span });
        rows.rhs = stands;
        rows.schedule = None;
        let said = format!("{} {}", rows.lhs, rows.rhs);
        self.said.insert(said).then_some(rows)
    }

    /// Whether something is said by a value; nothing of a value that is always there.
    pub(super) fn stands(&self, e: &Expr) -> Option<Expr> {
        let span = e.span;
        match &e.kind {
            ExprKind::Literal(_) | ExprKind::Name(_) => None,
            ExprKind::Access(a) => self.stands_in(a),
            ExprKind::Unary(_, x) => self.stands(x),
            ExprKind::Binary(BinaryOp::Mul | BinaryOp::AndAlso, a, b) => {
                both(BinaryOp::AndAlso, self.stands(a), self.stands(b))
            }
            ExprKind::Binary(_, a, b) => both(BinaryOp::OrElse, self.stands(a), self.stands(b)),
            ExprKind::If(c, a, b) => self.chosen(c, a, b),
            ExprKind::Call(name, args) => {
                let args: Vec<&Expr> =
                    args.iter().filter_map(|arg| if let Argument::Expr(e) = arg { Some(e) } else { None }).collect();
                match (name.name.as_str(), args.as_slice()) {
                    ("mask", [c, x]) => both(BinaryOp::AndAlso, Some((*c).clone()), self.stands(x)),
                    ("select", [c, a, b]) => self.chosen(c, a, b),
                    _ => args.into_iter().map(|arg| self.stands(arg)).reduce(|a, b| both(BinaryOp::OrElse, a, b))?,
                }
            }
            ExprKind::Reduce { function, vars, body, .. } => {
                let counts = function.name == fiberloom_core::algebra::COUNT;
                let body = if counts { Some((**body).clone()) } else { self.stands(body) };
                let function = Ident { name: "any".to_string(), span: function.span };
                let kind = |body| ExprKind::Reduce { function, vars: vars.clone(), body: Box::new(body), start: None };
                body.map(|body| Expr { kind: kind(body), span })
            }
            ExprKind::Collapse { .. } | ExprKind::Split { .. } | ExprKind::Concat { .. } | ExprKind::Slice { .. } => {
                None
            }
        }
    }

    /// The same of one of two: a literal beside a condition stands for nothing being said.
    fn chosen(&self, c: &Expr, a: &Expr, b: &Expr) -> Option<Expr> {
        let literal = |e: &Expr| matches!(e.kind, ExprKind::Literal(_));
        let when = Some(c.clone());
        let otherwise = Some(Expr { kind: ExprKind::Unary(UnaryOp::Not, Box::new(c.clone())), span: c.span });
        match (literal(a), literal(b)) {
            (_, true) => both(BinaryOp::AndAlso, when, self.stands(a)),
            (true, false) => both(BinaryOp::AndAlso, otherwise, self.stands(b)),
            (false, false) => match (self.stands(a), self.stands(b)) {
                (None, _) | (_, None) => None,
                (a, b) => {
                    both(BinaryOp::OrElse, both(BinaryOp::AndAlso, when, a), both(BinaryOp::AndAlso, otherwise, b))
                }
            },
        }
    }

    /// Whether something stands where an array is read under index variables.
    fn stands_in(&self, a: &Access) -> Option<Expr> {
        let Known { holds, column, given, fill, .. } = self.known.get(&a.tensor.name)?;
        // A scalar is there whatever it is.
        if a.indices.is_empty() {
            return None;
        }
        if *given || a.indices.iter().any(|index| index.variable().is_none()) {
            let inside = a.indices.iter().map(|index| match index {
                Index::Access(inner) => self.stands_in(inner),
                Index::Computed { of, .. } => self.stands(of),
                Index::Affine { .. } | Index::Slice { .. } => None,
            });
            return inside.fold(None, |a, b| both(BinaryOp::AndAlso, a, b));
        }
        let read = |name: &str| {
            let tensor = Ident { name: name.to_string(), span: a.tensor.span };
            Expr { kind: ExprKind::Access(Access { tensor, ..a.clone() }), span: a.span }
        };
        if let Some((table, _)) = column {
            let table = &self.out.tables[*table];
            if !table.made || self.is_result(&table.name) {
                return Some(read(&table.name));
            }
        }
        let here = read(&a.tensor.name);
        match holds {
            Some(Holds::Plain(Type::Bool)) => Some(here),
            Some(Holds::Domain(_)) => Some(is_some(here)),
            Some(Holds::Plain(_) | Holds::Decimal(_)) if *fill == Literal::Int(0) => {
                let zero = Expr { kind: ExprKind::Literal(Literal::Int(0)), span: a.span };
                Some(binary(BinaryOp::Ne, here, zero))
            }
            _ => None,
        }
    }
}

fn is_some(e: Expr) -> Expr {
    let span: Span = e.span;
    Expr { kind: ExprKind::Unary(UnaryOp::Not, Box::new(call("is_none", vec![e], span))), span }
}

/// Two conditions, of which one may not be there. What one of them says already is not said again.
fn both(op: BinaryOp, a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    let (Some(a), Some(b)) = (&a, &b) else { return a.or(b) };
    let mut said = Vec::new();
    parts(op, a, &mut said);
    let mut all = a.clone();
    let mut more = Vec::new();
    parts(op, b, &mut more);
    for part in more {
        let text = part.to_string();
        if !said.iter().any(|e| e.to_string() == text) {
            all = binary(op, all, part.clone());
        }
    }
    Some(all)
}

/// The conditions that an operator joins.
fn parts<'e>(op: BinaryOp, e: &'e Expr, all: &mut Vec<&'e Expr>) {
    match &e.kind {
        ExprKind::Binary(joined, a, b) if *joined == op => {
            parts(op, a, all);
            parts(op, b, all);
        }
        _ => all.push(e),
    }
}
