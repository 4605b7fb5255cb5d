//! Indices, accesses and statements.

use super::declare::{Known, Relate};
use super::expression::{Made, Of, call, int, is_coordinate};
use super::scope::Scope;
use super::{Holds, Shown};
use fiberloom_core::notation::diagnostic::{Diagnostic, Span};
use fiberloom_core::notation::syntax::{
    Access, Assign, Expr, ExprKind, Index, Item, Literal, Repeat, Statement, Turns,
};
use std::collections::BTreeSet;

impl Relate {
    /// The items of a program or a block, over coordinates; domains and tables become declarations elsewhere.
    pub(super) fn items(&mut self, items: &[Item]) -> Vec<Item> {
        let mut made = Vec::new();
        for item in items {
            match item {
                Item::Domain(_) | Item::Table(_) => {}
                Item::Tensor(t) if self.known.get(&t.name.name).is_some_and(|known| known.given) => {}
                Item::Tensor(t) => {
                    let mut plain = t.clone();
                    plain.sort = super::Sort::Plain(t.sort.stored());
                    if let (Some((literal, _)), Some(known)) = (&mut plain.fill, self.known.get(&t.name.name)) {
                        *literal = known.fill.clone();
                    }
                    made.extend(self.declared_beside(&plain).map(Item::Tensor));
                    made.push(Item::Tensor(plain));
                }
                Item::Statement(s) => {
                    if let Some(plain) = self.statement(s, false) {
                        made.extend(self.beside(&plain));
                        made.extend(self.seen(&plain));
                        made.push(Item::Statement(self.in_floats(plain)));
                        let rows = self.rows_of(s).and_then(|rows| self.statement(&rows, false));
                        made.extend(rows.map(Item::Statement));
                    }
                }
                Item::Repeat(block) => made.extend(self.repeat(block).map(Item::Repeat)),
                Item::Dim(_) | Item::Function(_) | Item::Schedule(_) => made.push(item.clone()),
            }
        }
        made
    }

    fn repeat(&mut self, block: &Repeat) -> Option<Repeat> {
        let turns = match &block.turns {
            Turns::While(condition) => {
                let plain = self.plain(&Scope::default(), condition)?;
                if !std::mem::take(&mut self.pending).is_empty() {
                    let help = "define it by a statement of the block, and ask that";
                    self.say(condition.span, "a condition of a block does not compute a variance", help);
                    return None;
                }
                Turns::While(plain)
            }
            times => times.clone(),
        };
        Some(Repeat { turns, body: self.items(&block.body), span: block.span })
    }

    pub(super) fn statement(&mut self, s: &Statement, local: bool) -> Option<Statement> {
        let locals: Vec<Option<Statement>> = s.locals.iter().map(|l| self.statement(l, true)).collect();
        let before = std::mem::take(&mut self.pending);
        let mut scope = Scope::default();
        for var in variables(s) {
            let domain = self.runs_over(&var, &[&s.lhs], &[&s.rhs]);
            scope.vars.insert(var, domain);
        }
        if let Some(known) = self.known.get(&s.lhs.tensor.name) {
            let sized = s.lhs.indices.iter().zip(&known.sizes);
            scope.sizes = sized.filter_map(|(i, size)| Some((i.variable()?.name.clone(), size.clone()))).collect();
        }
        let rhs = self.expr(&scope, &s.rhs);
        let rhs = match rhs {
            Some(rhs) if is_coordinate(&rhs) && is_sum(s) => self.as_number(rhs),
            rhs => rhs,
        };
        // What the right side asks to be computed before it.
        let own = std::mem::replace(&mut self.pending, before);
        let asked: Vec<Option<Statement>> = own.into_iter().map(Some).collect();
        let lhs = self.left(&scope, s, rhs.as_ref());
        let (lhs, rhs) = (lhs?, rhs?);
        let known = self.known.get(&s.lhs.tensor.name).cloned()?;
        let rhs = self.assigned(rhs, known.holds, s)?;
        if !local {
            let holds = known.holds.unwrap_or(Holds::Plain(fiberloom_core::algebra::Type::I64));
            let modes = known.called.iter().cloned().zip(known.modes.iter().copied()).collect();
            self.out.results.insert(s.lhs.tensor.name.clone(), Shown { modes, holds });
        }
        let locals = locals.into_iter().chain(asked).collect::<Option<Vec<_>>>()?;
        let op = match (&s.op, known.holds) {
            (Assign::Fold(function), Some(holds)) => Assign::Fold(self.fold_of(function, &Of::Holds(holds))),
            (op, _) => op.clone(),
        };
        Some(Statement { lhs, rhs, locals, op, schedule: s.schedule.clone(), span: s.span })
    }

    /// The left side; what a result that is not declared has follows from it and from the right side.
    fn left(&mut self, scope: &Scope, s: &Statement, rhs: Option<&Made>) -> Option<Access> {
        let name = &s.lhs.tensor;
        if !self.known.contains_key(&name.name) {
            let holds = match rhs?.of.clone() {
                Of::Holds(holds) => Some(holds),
                Of::Number(_) | Of::Choice(_) => None,
                Of::Cut(_, image) => Some(image.holds()),
                Of::Quote(_) | Of::Column(..) | Of::Changed(..) => {
                    let help = "declare the result with a domain: `table T[…] { name: D }`";
                    self.say(s.rhs.span, "texts are asked and compared, and no array holds them", help);
                    return None;
                }
            };
            let domain = |i: &Index| match i.variable() {
                Some(v) => scope.vars.get(&v.name).copied().flatten(),
                None => self.index_domain(i),
            };
            let modes: Vec<Option<usize>> = s.lhs.indices.iter().map(domain).collect();
            let called = |(i, domain): (&Index, &Option<usize>)| match (i.variable(), domain) {
                (Some(v), _) => v.name.clone(),
                (None, Some(d)) => self.domain_name(*d).to_string(),
                (None, None) => i.to_string(),
            };
            let called = s.lhs.indices.iter().zip(&modes).map(called).collect();
            let fill = Literal::Int(0);
            let sizes = Vec::new();
            let known = Known { modes, sizes, called, holds, fill, column: None, given: false, span: name.span };
            self.known.insert(name.name.clone(), known);
        }
        let (access, _) = self.access(scope, &s.lhs)?;
        Some(access)
    }

    /// The domain whose coordinates an index that is no variable says.
    fn index_domain(&self, index: &Index) -> Option<usize> {
        let of = match index {
            Index::Access(a) => self.known.get(&a.tensor.name)?.holds?,
            _ => return None,
        };
        match of {
            Holds::Domain(domain) => Some(domain),
            _ => None,
        }
    }

    /// The right side as values of its tensor.
    fn assigned(&mut self, rhs: Made, holds: Option<Holds>, s: &Statement) -> Option<Expr> {
        let Some(holds) = holds else { return Some(rhs.expr) };
        self.as_values(rhs, holds, s.rhs.span)
    }

    /// An access over coordinates, and whether one of its indices may leave the tensor.
    pub(super) fn access(&mut self, scope: &Scope, a: &Access) -> Option<(Access, bool)> {
        let modes = self.known.get(&a.tensor.name).map(|known| known.modes.clone()).unwrap_or_default();
        let mut permits = false;
        let mut indices = Vec::new();
        for (mode, index) in a.indices.iter().enumerate() {
            let (index, permit) = self.index(scope, index, modes.get(mode).copied().flatten(), a)?;
            permits |= permit;
            indices.push(index);
        }
        Some((Access { tensor: a.tensor.clone(), indices, span: a.span }, permits))
    }

    /// An index of a mode of this domain, and whether it may be none.
    fn index(&mut self, scope: &Scope, index: &Index, over: Option<usize>, of: &Access) -> Option<(Index, bool)> {
        let (made, span) = match index {
            Index::Affine { map, span, .. } => {
                let variable = index.variable().map(|v| &v.name);
                let Some(domain) = over else {
                    // What runs over a domain is no number.
                    let runs = variable.and_then(|v| scope.vars.get(v).copied().flatten());
                    if let Some(domain) = runs {
                        self.foreign(Some(domain), None, of, *span);
                        return None;
                    }
                    return Some((index.clone(), false));
                };
                if variable.is_some() {
                    return Some((index.clone(), false));
                }
                let name = self.domain_name(domain).to_string();
                let help = "an index variable runs over it, a column of it holds its coordinates; a label is compared: `d == \"…\"`";
                self.say(*span, format!("`{map}` is no coordinate of `{name}`, whose coordinates have labels"), help);
                return None;
            }
            Index::Slice { var, span, .. } => {
                if let Some(domain) = over {
                    let name = self.domain_name(domain).to_string();
                    let help = "compare labels instead: a range of labels is `lo <= d && d < hi`";
                    self.say(*span, format!("a slice of `{name}` by `{var}`: its coordinates have labels"), help);
                    return None;
                }
                return Some((index.clone(), false));
            }
            Index::Access(a) => (self.expr(scope, &Expr { kind: ExprKind::Access(a.clone()), span: a.span })?, a.span),
            Index::Computed { of, .. } => (self.expr(scope, of)?, of.span),
        };
        let made = match (&made.of, over) {
            (Of::Changed(..) | Of::Cut(..), Some(over)) => self.mapped(made, over)?,
            _ => made,
        };
        match (&made.of, over) {
            (Of::Holds(Holds::Domain(domain)), Some(over)) if *domain == over => {}
            (Of::Holds(Holds::Plain(ty)), None) if ty.is_integer() => {}
            (Of::Number(Literal::Int(_)) | Of::Choice(Literal::Int(_)), None) => {}
            (Of::Holds(holds), None) if !matches!(holds, Holds::Domain(_)) => {
                let (what, help) = no_coordinate(*holds);
                self.say(span, format!("{what}, and `{}` is read at whole numbers", of.tensor), help);
                return None;
            }
            (Of::Changed(..) | Of::Cut(..), _) => {
                let help = "what is computed of labels is a coordinate of a domain that has it: `dim D: string`, and a mode of `D`";
                self.say(span, format!("this is a label, and `{}` is read at numbers", of.tensor), help);
                return None;
            }
            (Of::Column(..) | Of::Quote(_), None) => {
                let (what, help) = no_coordinate(Holds::Text);
                self.say(span, format!("{what}, and `{}` is read at whole numbers", of.tensor), help);
                return None;
            }
            (Of::Holds(Holds::Domain(domain)), over) => {
                self.foreign(Some(*domain), over, of, span);
                return None;
            }
            (_, over) => {
                self.foreign(None, over, of, span);
                return None;
            }
        }
        let plain = matches!(&made.of, Of::Holds(Holds::Plain(_)));
        let index = match (index, made.expr.kind) {
            (Index::Access(_), ExprKind::Access(a)) if plain => Index::Access(a),
            (_, kind) => Index::Computed { permit: made.none, of: Box::new(Expr { kind, span }) },
        };
        Some((index, made.none))
    }

    /// Says that coordinates of one domain, or numbers, stand where those of another are needed.
    pub(super) fn foreign(&mut self, holds: Option<usize>, over: Option<usize>, of: &Access, span: Span) {
        let called = |relate: &Self, d: Option<usize>| match d {
            Some(d) => format!("a coordinate of `{}`", relate.domain_name(d)),
            None => "a number".to_string(),
        };
        let (what, needed) = (called(self, holds), called(self, over));
        let message = format!("this is {what}, and `{}` is read at {needed}", of.tensor);
        self.error(Diagnostic::new(span, message).help("columns and modes that name one another have one domain"));
    }

    /// A read that has its tensor's fill value where an index is none.
    pub(super) fn read(access: Access, permits: bool, fill: &Literal) -> Expr {
        let span = access.span;
        let read = Expr { kind: ExprKind::Access(access), span };
        match permits {
            true => call("coalesce", vec![read, Expr { kind: ExprKind::Literal(fill.clone()), span }], span),
            false => read,
        }
    }

    /// The operand `name` at a coordinate that may be none, where it has its fill value.
    pub(super) fn asked_at(name: String, at: Option<Made>, fill: Literal, span: Span) -> Expr {
        let tensor = fiberloom_core::notation::syntax::Ident { name, span };
        let (indices, permits) = match at {
            None => (vec![], false),
            Some(made) => {
                let index = match &made.expr.kind {
                    ExprKind::Name(v) => variable(v.clone(), span),
                    _ => Index::Computed { permit: made.none, of: Box::new(made.expr) },
                };
                (vec![index], made.none)
            }
        };
        Relate::read(Access { tensor, indices, span }, permits, &fill)
    }

    /// An expression whose value is no label.
    pub(super) fn plain(&mut self, scope: &Scope, e: &Expr) -> Option<Expr> {
        let made = self.expr(scope, e)?;
        match made.of {
            Of::Number(_) | Of::Choice(_) | Of::Holds(Holds::Plain(_)) => Some(made.expr),
            _ => Some(self.number(made, e.span)?.expr),
        }
    }
}

/// `i`
pub(super) fn variable(name: fiberloom_core::notation::syntax::Ident, span: Span) -> Index {
    use fiberloom_core::notation::syntax::{Affine, Factor, Term};
    let term = Term { coefficient: None, factor: Factor::Var(name), divisions: Vec::new() };
    Index::Affine { permit: false, map: Affine { terms: vec![(false, term)] }, span }
}

/// What values that are no whole numbers are, and how they become coordinates.
fn no_coordinate(holds: Holds) -> (&'static str, &'static str) {
    match holds {
        Holds::Text => (
            "this is a text",
            "a column whose texts are coordinates is of a domain: `dim D: string`, and `NAME: D` in its table",
        ),
        Holds::Date => {
            ("this is a date", "take a part of it, `year(d[i]) - 1992`, or count days: `d[i] - \"1992-01-01\"`")
        }
        Holds::Timestamp => {
            ("this is a timestamp", "take a part of it, `hour(t[i])`, or give the column a domain: `dim D: timestamp`")
        }
        Holds::Decimal(_) => ("this is a decimal", "an index is a whole number: convert(…, i64)"),
        _ => ("this is no whole number", "an index is a whole number: convert(…, i64)"),
    }
}

/// Whether a statement adds values up, or folds them otherwise than by their order: its right side then has values, and no labels.
fn is_sum(s: &Statement) -> bool {
    match &s.op {
        Assign::Add => true,
        Assign::Fold(function) => !matches!(function.name.as_str(), "min" | "max"),
        Assign::Set => {
            let on = |access: &Access| fiberloom_core::notation::free::variables(access, &int(0, s.span));
            let left: BTreeSet<String> = on(&s.lhs).into_iter().collect();
            variables(s).iter().any(|name| !left.contains(name))
        }
    }
}

/// Names of index variables that a statement uses and does not bind, and perhaps others.
fn variables(s: &Statement) -> BTreeSet<String> {
    fiberloom_core::notation::free::variables(&s.lhs, &s.rhs).into_iter().collect()
}

/// The scale of what is stored, as a literal.
pub(super) fn power(digits: u8, span: Span) -> Expr {
    int(10i128.pow(u32::from(digits)), span)
}
