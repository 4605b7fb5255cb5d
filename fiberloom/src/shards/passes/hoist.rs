//! Folds over rows that stand within an expression become statements of their own, before it.
//!
//! ```text
//!  m[] = sum(n: amount[n]) / count(n: qty[n] > 0)        m_part[]   = sum(n: amount[n])
//!                                                       m_part_2[] = count(n: qty[n] > 0)
//!                                                       m[] = m_part[] / m_part_2[]
//! ```
//!
//! So what is computed of a fold is computed when the fold of all batches is known. A fold that is all of a right side stays. Where two
//! index variables of a statement are over rows, the same is done of folds over one of them: `rank[n] = 1 + count(m: b[m] > b[n])`.

use fiberloom_core::notation::Span;
use fiberloom_core::notation::free::{free_names, index_variables, variables};
use fiberloom_core::notation::syntax::{
    Access, Affine, Argument, Assign, Expr, ExprKind, Factor, Ident, Index, Item, Program, Size, Statement, Term,
};
use std::collections::BTreeSet;

/// The program with such statements, and the names of what they define. `over` are names of index variables over rows; `paired` are the
/// statements of which two are, each with the one that is folded over.
pub(super) fn hoisted(
    plain: &Program,
    (over, paired): (&BTreeSet<String>, &[(Span, String)]),
    text: &str,
) -> (Program, BTreeSet<String>) {
    let sizes = plain.items.iter().flat_map(|item| match item {
        Item::Dim(dim) => vec![dim.name.name.clone()],
        Item::Tensor(t) => t.sizes.iter().filter_map(named).collect(),
        _ => Vec::new(),
    });
    let (sizes, over) = (sizes.collect(), over.clone());
    let mut hoist = Hoist { over, paired, text, sizes, made: Vec::new(), names: BTreeSet::new() };
    let mut items = Vec::new();
    for item in &plain.items {
        match item {
            Item::Statement(s) => {
                let s = hoist.statement(s);
                items.extend(hoist.made.drain(..).map(Item::Statement));
                items.push(Item::Statement(s));
            }
            item => items.push(item.clone()),
        }
    }
    (Program { items }, hoist.names)
}

/// The name of a size.
fn named(size: &Size) -> Option<String> {
    match size {
        Size::Name(name) => Some(name.name.clone()),
        Size::Int(..) => None,
    }
}

struct Hoist<'h> {
    over: BTreeSet<String>,
    paired: &'h [(Span, String)],
    /// The program's text, for names that do not stand in it.
    text: &'h str,
    /// The names of its sizes.
    sizes: BTreeSet<String>,
    /// Statements that come before the one that is looked at.
    made: Vec<Statement>,
    names: BTreeSet<String>,
}

impl Hoist<'_> {
    fn is_over(&self, vars: &[Ident]) -> bool {
        vars.iter().any(|v| self.over.contains(&v.name))
    }

    fn statement(&mut self, s: &Statement) -> Statement {
        let (lifted, locals): (Vec<&Statement>, Vec<&Statement>) = s.locals.iter().partition(|local| self.lifts(local));
        for local in lifted {
            let local = self.statement(local);
            self.names.insert(local.lhs.tensor.name.clone());
            self.made.push(local);
        }
        let s = &Statement { locals: locals.into_iter().cloned().collect(), ..s.clone() };
        let at_rows = variables(&s.lhs, &s.rhs).iter().any(|name| self.over.contains(name));
        let is_fold = matches!(&s.rhs.kind, ExprKind::Reduce { vars, .. } if self.is_over(vars));
        if at_rows || is_fold {
            return self.paired(s);
        }
        self.lifted(s)
    }

    /// A statement with two index variables over rows.
    fn paired(&mut self, s: &Statement) -> Statement {
        let Some((_, variable)) = self.paired.iter().find(|(span, _)| *span == s.span) else { return s.clone() };
        let all = std::mem::replace(&mut self.over, BTreeSet::from([variable.clone()]));
        let s = if self.is_all(&s.op, &s.rhs) { s.clone() } else { self.lifted(s) };
        self.over = all;
        s
    }

    /// Whether a right side is a fold, and within it folds with the same function, down to one over such a variable.
    fn is_all(&self, op: &Assign, rhs: &Expr) -> bool {
        let ExprKind::Reduce { function, vars, body, start: None } = &rhs.kind else { return false };
        let fits = match op {
            Assign::Set => true,
            Assign::Add => function.name == "sum",
            Assign::Fold(other) => function.name == other.name,
        };
        let inner = Assign::Fold(function.clone());
        fits && (self.is_over(vars) || self.is_all(&inner, body))
    }

    /// A statement that reads folds.
    fn lifted(&mut self, s: &Statement) -> Statement {
        let (left, right) = index_variables(s, |name| self.sizes.contains(name));
        let mut around: Vec<Ident> = Vec::new();
        for v in left.into_iter().chain(right) {
            if !around.iter().any(|other| other.name == v.name) {
                around.push(v.clone());
            }
        }
        Statement { rhs: self.expr(&s.rhs, &around, &s.lhs.tensor.name), ..s.clone() }
    }

    /// Whether a local is a fold over rows, and its name stands for it alone.
    fn lifts(&self, local: &Statement) -> bool {
        let at_rows = variables(&local.lhs, &local.rhs).iter().any(|name| self.over.contains(name));
        let name = &local.lhs.tensor.name;
        let alone = self.text.matches(name.as_str()).count() <= 1 && !self.names.contains(name);
        !at_rows && alone && local.op == Assign::Set && self.folds(&local.rhs)
    }

    /// Whether a fold over rows stands in an expression that is not within another fold.
    fn folds(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Unary(_, x) => self.folds(x),
            ExprKind::Binary(_, a, b) => self.folds(a) || self.folds(b),
            ExprKind::If(c, a, b) => [c, a, b].iter().any(|e| self.folds(e)),
            ExprKind::Call(_, args) => args.iter().any(|arg| matches!(arg, Argument::Expr(e) if self.folds(e))),
            ExprKind::Reduce { vars, body, .. } => self.is_over(vars) || self.folds(body),
            _ => false,
        }
    }

    /// An expression in which folds over rows are read. `around` are the index variables that are bound there.
    fn expr(&mut self, e: &Expr, around: &[Ident], of: &str) -> Expr {
        let mut boxed = |e: &Expr| Box::new(self.expr(e, around, of));
        let kind = match &e.kind {
            ExprKind::Unary(op, x) => ExprKind::Unary(*op, boxed(x)),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, boxed(a), boxed(b)),
            ExprKind::If(c, a, b) => ExprKind::If(boxed(c), boxed(a), boxed(b)),
            ExprKind::Call(name, args) => {
                let arg = |arg: &Argument| match arg {
                    Argument::Expr(e) => Argument::Expr(self.expr(e, around, of)),
                    other => other.clone(),
                };
                ExprKind::Call(name.clone(), args.iter().map(arg).collect())
            }
            ExprKind::Reduce { vars, start: None, .. } if self.is_over(vars) => self.fold(e, around, of),
            ExprKind::Reduce { function, vars, body, start } => {
                let inner = [around, vars].concat();
                let body = Box::new(self.expr(body, &inner, of));
                ExprKind::Reduce { function: function.clone(), vars: vars.clone(), body, start: start.clone() }
            }
            other => other.clone(),
        };
        Expr { kind, span: e.span }
    }

    /// A read of a fold, which a statement before defines.
    fn fold(&mut self, e: &Expr, around: &[Ident], of: &str) -> ExprKind {
        let free: Vec<String> = free_names(e).into_iter().map(|free| free.name.name.clone()).collect();
        let at = around.iter().filter(|v| free.contains(&v.name));
        let indices: Vec<Index> = at.map(|v| index(v, e.span)).collect();
        let name = self.fresh(&format!("{of}_part"));
        let access = Access { tensor: Ident { name, span: e.span }, indices, span: e.span };
        let (lhs, rhs, span) = (access.clone(), e.clone(), e.span);
        self.made.push(Statement { lhs, op: Assign::Set, rhs, locals: Vec::new(), schedule: None, span });
        ExprKind::Access(access)
    }

    fn fresh(&mut self, like: &str) -> String {
        let numbered = (2..).map(|n| format!("{like}_{n}"));
        let free = |name: &String| !self.names.contains(name) && !self.text.contains(name.as_str());
        let name = std::iter::once(like.to_string()).chain(numbered).find(free).expect("there are names enough");
        self.names.insert(name.clone());
        name
    }
}

/// `v`
fn index(v: &Ident, span: Span) -> Index {
    let term = Term { coefficient: None, factor: Factor::Var(v.clone()), divisions: Vec::new() };
    Index::Affine { permit: false, map: Affine { terms: vec![(false, term)] }, span }
}
