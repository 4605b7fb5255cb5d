//! Expressions over labels as expressions over coordinates, by what their values are.

use super::declare::{Relate, stored, written};
use super::index::power;
use super::routine::Routine;
use super::scope::Scope;
use super::{Change, Holds, Image, Labels, MOST_DIGITS, NONE, What, label, time};
use fiberloom_core::algebra::{COUNT, Type};
use fiberloom_core::notation::diagnostic::Span;
use fiberloom_core::notation::syntax::{Access, Argument, BinaryOp, Expr, ExprKind, Float, Ident, Literal, UnaryOp};

/// An expression over coordinates.
#[derive(Clone)]
pub(super) struct Made {
    pub expr: Expr,
    pub of: Of,
    /// Whether it may be none: no coordinate. Of a column of texts, whether an index is.
    pub none: bool,
}

/// What an expression's values are.
#[derive(Clone, PartialEq)]
pub(super) enum Of {
    /// A literal number, which takes what it stands beside.
    Number(Literal),
    /// Literal numbers of which one is taken (`mask(c, 0.05)`), as what they stand beside; this has most digits behind its point.
    Choice(Literal),
    /// A literal text, which takes what it stands beside.
    Quote(String),
    /// This.
    Holds(Holds),
    /// Texts that are changed one after the other: labels or texts of a column, at what the expression is.
    Changed(Box<Of>, Vec<Change>),
    /// Labels of timestamps that are cut down: what a coordinate, which the expression is, becomes.
    Cut(usize, Image),
    /// Texts of a table's column: the expression is an access to it, of which only something can be asked.
    Column(usize, usize),
}

impl Of {
    /// The same of what is made of a literal, and is none.
    pub(super) fn settled(self) -> Of {
        match self {
            Of::Number(Literal::Int(_)) | Of::Choice(Literal::Int(_)) => Of::Holds(Holds::Plain(Type::I64)),
            Of::Number(_) | Of::Choice(_) => Of::Holds(Holds::Plain(Type::F64)),
            of => of,
        }
    }
}

impl Made {
    fn new(kind: ExprKind, span: Span, holds: Holds) -> Made {
        Made { expr: Expr { kind, span }, of: Of::Holds(holds), none: false }
    }

    pub(super) fn plain(expr: Expr, ty: Type) -> Made {
        Made { expr, of: Of::Holds(Holds::Plain(ty)), none: false }
    }
}

pub(super) fn int(n: i128, span: Span) -> Expr {
    Expr { kind: ExprKind::Literal(Literal::Int(n)), span }
}

pub(super) fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let span = a.span.to(b.span);
    Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), span }
}

pub(super) fn call(name: &str, args: Vec<Expr>, span: Span) -> Expr {
    let name = Ident { name: name.to_string(), span };
    Expr { kind: ExprKind::Call(name, args.into_iter().map(Argument::Expr).collect()), span }
}

pub(super) fn converted(e: Expr, ty: Type) -> Expr {
    let span = e.span;
    let name = Ident { name: "convert".to_string(), span };
    Expr { kind: ExprKind::Call(name, vec![Argument::Expr(e), Argument::Type(ty, span)]), span }
}

/// An integer with its power of ten: what adds to decimals, and is compared with them.
pub(super) fn digits(of: &Of) -> Option<u8> {
    match of {
        Of::Holds(Holds::Decimal(digits)) => Some(*digits),
        Of::Holds(Holds::Plain(Type::I64)) => Some(0),
        Of::Number(literal) | Of::Choice(literal) => {
            let text = written(literal);
            let behind = text.split_once('.').map_or(0, |(_, part)| part.len());
            u8::try_from(behind).ok().filter(|n| *n <= MOST_DIGITS && !matches!(literal, Literal::Bool(_)))
        }
        _ => None,
    }
}

/// One of these: of literals a [choice](Of::Choice), of others nothing that they do not say by themselves.
pub(super) fn choice<'m>(parts: impl IntoIterator<Item = &'m Made>) -> Option<Of> {
    let literals = parts.into_iter().map(|m| match &m.of {
        Of::Number(literal) | Of::Choice(literal) => Some((digits(&m.of)?, literal.clone())),
        _ => None,
    });
    let most = literals.collect::<Option<Vec<_>>>()?.into_iter().max_by_key(|(digits, _)| *digits);
    most.map(|(_, literal)| Of::Choice(literal))
}

/// The sum, difference or product of two literals, exactly; `None` if one of them is none, or it is none that a float prints as.
fn folded(op: BinaryOp, a: &Of, b: &Of) -> Option<Of> {
    let (Of::Number(x), Of::Number(y)) = (a, b) else { return None };
    let (p, q) = (digits(a)?, digits(b)?);
    let behind = if op == BinaryOp::Mul { p + q } else { p.max(q) };
    let whole = |literal: &Literal, digits: u8| label::whole(&written(literal), digits);
    let n = match op {
        BinaryOp::Add => whole(x, behind)?.checked_add(whole(y, behind)?)?,
        BinaryOp::Sub => whole(x, behind)?.checked_sub(whole(y, behind)?)?,
        _ => whole(x, p)?.checked_mul(whole(y, q)?)?,
    };
    if matches!((x, y), (Literal::Int(_), Literal::Int(_))) {
        return i64::try_from(n).ok().map(|n| Of::Number(Literal::Int(n.into())));
    }
    let (sign, one) = (if n < 0 { "-" } else { "" }, 10u128.checked_pow(behind.into())?);
    let text = format!("{sign}{}.{:0width$}", n.unsigned_abs() / one, n.unsigned_abs() % one, width = behind.into());
    let literal = Literal::Float(Float(text.parse().ok()?));
    (label::whole(&written(&literal), behind) == Some(n)).then_some(Of::Number(literal))
}

pub(super) fn is_domain(of: &Of) -> bool {
    matches!(of, Of::Holds(Holds::Domain(_)))
}

pub(super) fn is_text_of(of: &Of) -> bool {
    matches!(of, Of::Column(..) | Of::Quote(_) | Of::Changed(..))
}

pub(super) fn is_coordinate(made: &Made) -> bool {
    is_domain(&made.of)
}

pub(super) fn is_decimal(of: &Of) -> bool {
    matches!(of, Of::Holds(Holds::Decimal(_)))
}

impl Relate {
    /// An expression; `None` if it was refused.
    pub(super) fn expr(&mut self, scope: &Scope, e: &Expr) -> Option<Made> {
        let span = e.span;
        match &e.kind {
            ExprKind::Literal(Literal::Text(text)) => {
                Some(Made { expr: e.clone(), of: Of::Quote(text.clone()), none: false })
            }
            ExprKind::Literal(Literal::Bool(_)) => Some(Made::plain(e.clone(), Type::Bool)),
            ExprKind::Literal(l) => Some(Made { expr: e.clone(), of: Of::Number(l.clone()), none: false }),
            ExprKind::Name(name) => {
                let domain = scope.vars.get(&name.name).copied().flatten();
                let holds = domain.map_or(Holds::Plain(Type::I64), Holds::Domain);
                Some(Made::new(e.kind.clone(), span, holds))
            }
            ExprKind::Access(a) => self.read_of(scope, a),
            ExprKind::Unary(op, x) => self.unary(scope, *op, x, span),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.expr(scope, a), self.expr(scope, b));
                self.binary(*op, a?, b?, span)
            }
            ExprKind::If(c, t, e) => {
                let condition = self.plain(scope, c);
                let parts = [self.expr(scope, t), self.expr(scope, e)];
                let parts = parts.into_iter().collect::<Option<Vec<_>>>()?;
                let chosen = choice(&parts);
                let (made, of, none) = self.aligned(parts, span)?;
                let of = chosen.unwrap_or(of);
                let [t, e] = <[Expr; 2]>::try_from(made).expect("two were given");
                let kind = ExprKind::If(Box::new(condition?), Box::new(t), Box::new(e));
                Some(Made { expr: Expr { kind, span }, of, none })
            }
            ExprKind::Call(name, args) => self.called(scope, name, args, span),
            ExprKind::Reduce { function, vars, body, start: None } if self.is_statistic(&function.name) => {
                let average = self.statistic(scope, (function, vars, body), span)?;
                self.expr(scope, &average)
            }
            ExprKind::Reduce { function, vars, body, start } => {
                let inner = self.within(scope, &vars.iter().collect::<Vec<_>>(), body);
                let body = self.expr(&inner, body)?;
                // Labels have an order; what else is folded of them are numbers.
                let ordered = matches!(function.name.as_str(), "min" | "max");
                let body = if ordered || !is_coordinate(&body) { body } else { self.as_number(body)? };
                let start = match start {
                    Some(start) => Some(self.expr(scope, start)?),
                    None => None,
                };
                let counts = function.name == COUNT;
                let (mut parts, of, none) = match start {
                    Some(start) => self.aligned(vec![body, start], span)?,
                    None => {
                        let Made { expr, of, none } = self.closed(body)?;
                        (vec![expr], of.settled(), none)
                    }
                };
                let start = if parts.len() > 1 { parts.pop().map(Box::new) } else { None };
                if !counts && is_decimal(&of) && !matches!(function.name.as_str(), "sum" | "min" | "max") {
                    return self.no_decimal(&function.name, span);
                }
                let body = Box::new(parts.pop().expect("there is a body"));
                let folded = self.fold_of(function, &of);
                let kind = ExprKind::Reduce { function: folded, vars: vars.clone(), body, start };
                let of = if counts { Of::Holds(Holds::Plain(Type::I64)) } else { of };
                let mut expr = Expr { kind, span };
                // The greatest of no coordinates is none.
                if is_domain(&of) && function.name == "max" {
                    expr = call("max", vec![expr, int(i128::from(NONE), span)], span);
                }
                Some(Made { expr, of, none: none && !counts })
            }
            ExprKind::Collapse { .. } | ExprKind::Split { .. } | ExprKind::Concat { .. } | ExprKind::Slice { .. } => {
                self.shape_operator(scope, e)
            }
        }
    }

    /// The function that folds such values: of coordinates the least is one of those that are not none.
    pub(super) fn fold_of(&mut self, function: &Ident, of: &Of) -> Ident {
        match is_domain(of) && function.name == "min" {
            true => Ident { name: self.routine(Routine::Least), span: function.span },
            false => function.clone(),
        }
    }

    fn shape_operator(&mut self, scope: &Scope, e: &Expr) -> Option<Made> {
        let mut kind = e.kind.clone();
        let (of, none) = match &mut kind {
            ExprKind::Collapse { body, from, .. } => {
                let inner = self.within(scope, &from.iter().collect::<Vec<_>>(), body);
                self.inside(&inner, body)?
            }
            ExprKind::Split { body, from, .. } | ExprKind::Slice { body, from, .. } => {
                let inner = self.within(scope, &[from], body);
                self.inside(&inner, body)?
            }
            ExprKind::Concat { parts, from, .. } => {
                let mut made = Vec::new();
                for (part, own) in parts.iter().zip(from.iter()) {
                    let inner = self.within(scope, &[own], part);
                    made.push(self.expr(&inner, part)?);
                }
                let (exprs, of, none) = self.aligned(made, e.span)?;
                *parts = exprs;
                (of, none)
            }
            _ => unreachable!("the other kinds are no shape operators"),
        };
        Some(Made { expr: Expr { kind, span: e.span }, of, none })
    }

    fn inside(&mut self, scope: &Scope, body: &mut Expr) -> Option<(Of, bool)> {
        let made = self.expr(scope, body)?;
        let made = self.closed(made)?;
        *body = made.expr;
        Some((made.of.settled(), made.none))
    }

    /// A read. Where a coordinate is none, an array has its fill.
    fn read_of(&mut self, scope: &Scope, a: &Access) -> Option<Made> {
        if let Some(known) = self.known.get(&a.tensor.name).filter(|known| known.given).cloned() {
            return self.given(scope, a, &known);
        }
        let (access, permits) = self.access(scope, a)?;
        let known = self.known.get(&a.tensor.name).cloned();
        let holds = known.as_ref().and_then(|k| k.holds).unwrap_or(Holds::Plain(Type::F64));
        if let (Holds::Text, Some((table, column))) = (holds, known.as_ref().and_then(|k| k.column)) {
            let expr = Expr { kind: ExprKind::Access(access), span: a.span };
            return Some(Made { expr, of: Of::Column(table, column), none: permits });
        }
        let fill = known.map_or(Literal::Int(0), |k| k.fill);
        let none = matches!(holds, Holds::Domain(_));
        let read = Relate::read(access, permits, &fill);
        let expr = if self.fitted.stored.contains_key(&a.tensor.name) { converted(read, stored(holds)) } else { read };
        Some(Made { expr, of: Of::Holds(holds), none })
    }

    fn unary(&mut self, scope: &Scope, op: UnaryOp, x: &Expr, span: Span) -> Option<Made> {
        let made = self.expr(scope, x)?;
        let made = self.cut_value(made)?;
        let made = match made.of {
            Of::Holds(Holds::Domain(_)) => self.number(made, span)?,
            _ => made,
        };
        if is_text_of(&made.of) {
            self.say(span, "a text has no sign and no truth", "compare it: `==`, or ask `like(…)`");
            return None;
        }
        let negated = match (&made.of, op) {
            (Of::Number(_), UnaryOp::Neg) => folded(BinaryOp::Sub, &Of::Number(Literal::Int(0)), &made.of),
            _ => None,
        };
        let of = choice([&made]).filter(|_| op == UnaryOp::Neg).unwrap_or(made.of.settled());
        let of = negated.unwrap_or(of);
        let kind = ExprKind::Unary(op, Box::new(made.expr));
        Some(Made { expr: Expr { kind, span }, of, none: false })
    }

    fn binary(&mut self, op: BinaryOp, a: Made, b: Made, span: Span) -> Option<Made> {
        use BinaryOp::*;
        match op {
            Lt | Le | Gt | Ge | Eq | Ne => self.compared(op, a, b, span),
            Mul => self.product(a, b, span),
            Add | Sub => {
                let (a, b) = (self.as_number(a)?, self.as_number(b)?);
                if time::is(&a) || time::is(&b) {
                    return self.moved(op, a, b, span);
                }
                let date = |m: &Made| m.of == Of::Holds(Holds::Date);
                let days = (date(&a), date(&b));
                let quoted = matches!((&a.of, &b.of), (Of::Quote(_), _) | (_, Of::Quote(_)));
                let folded = folded(op, &a.of, &b.of);
                let (parts, mut of, _) = match days {
                    (true, false) | (false, true) if !quoted => (vec![a.expr, b.expr], Of::Holds(Holds::Date), false),
                    _ => self.aligned(vec![a, b], span)?,
                };
                // What is no date beside one is a date in quotes.
                if of == Of::Holds(Holds::Date) && (days == (true, true) || quoted) {
                    if op == Add {
                        let help = "days are added to a date, `d[i] + 30`; two dates have a difference: `d[i] - \"2022-01-01\"`";
                        self.say(span, "two dates are added", help);
                        return None;
                    }
                    of = Of::Holds(Holds::Plain(Type::I64));
                }
                let [a, b] = <[Expr; 2]>::try_from(parts).expect("two were given");
                let kind = ExprKind::Binary(op, Box::new(a), Box::new(b));
                Some(Made { expr: Expr { kind, span }, of: folded.unwrap_or(of), none: false })
            }
            Div if is_decimal(&a.of) => {
                let b = self.as_number(b)?;
                if digits(&b.of) != Some(0) {
                    let help = "an average is a quotient of numbers: `convert(sum, f64) / convert(count, f64)`";
                    self.say(span, "a decimal is divided by what is no integer", help);
                    return None;
                }
                Some(Made { expr: binary(op, a.expr, b.expr), of: a.of, none: false })
            }
            _ => {
                let (a, b) = (self.as_number(a)?, self.as_number(b)?);
                if is_decimal(&a.of) || is_decimal(&b.of) {
                    return self.no_decimal(op.sign(), span);
                }
                let (parts, of, _) = self.aligned(vec![a, b], span)?;
                let [a, b] = <[Expr; 2]>::try_from(parts).expect("two were given");
                let kind = ExprKind::Binary(op, Box::new(a), Box::new(b));
                Some(Made { expr: Expr { kind, span }, of, none: false })
            }
        }
    }

    pub(super) fn no_decimal(&mut self, what: &str, span: Span) -> Option<Made> {
        self.say(span, format!("`{what}` does not take decimals"), "write convert(…, f64): the value as a float");
        None
    }

    fn product(&mut self, a: Made, b: Made, span: Span) -> Option<Made> {
        let (a, b) = (self.as_number(a)?, self.as_number(b)?);
        if !is_decimal(&a.of) && !is_decimal(&b.of) {
            let folded = folded(BinaryOp::Mul, &a.of, &b.of);
            let (parts, of, _) = self.aligned(vec![a, b], span)?;
            let [a, b] = <[Expr; 2]>::try_from(parts).expect("two were given");
            return Some(Made { expr: binary(BinaryOp::Mul, a, b), of: folded.unwrap_or(of), none: false });
        }
        let (Some(m), Some(n)) = (digits(&a.of), digits(&b.of)) else { return self.beside_decimal(span) };
        if m + n > MOST_DIGITS {
            let message = format!("a product with {} digits behind its point", m + n);
            self.say(span, message, format!("an i64 holds {MOST_DIGITS}: convert(…, f64) the factors"));
            return None;
        }
        let (a, b) = (self.with_digits(a, m, span)?, self.with_digits(b, n, span)?);
        Some(Made { expr: binary(BinaryOp::Mul, a, b), of: Of::Holds(Holds::Decimal(m + n)), none: false })
    }

    pub(super) fn beside_decimal<T>(&mut self, span: Span) -> Option<T> {
        let help = "beside a decimal stand decimals and values of i64; convert(…, i64), or convert(…, f64) the decimal";
        self.say(span, "a decimal stands beside what is none", help);
        None
    }

    /// A decimal, an integer or a literal with so many digits behind its point, as an integer.
    pub(super) fn with_digits(&mut self, made: Made, wanted: u8, span: Span) -> Option<Expr> {
        match &made.of {
            Of::Number(literal) => {
                self.scaled(literal, wanted, made.expr.span).map(|n| int(i128::from(n), made.expr.span))
            }
            Of::Choice(_) => self.choice_with_digits(made.expr, wanted),
            of => {
                let Some(has) = digits(of).filter(|has| *has <= wanted) else { return self.beside_decimal(span) };
                match wanted - has {
                    0 => Some(made.expr),
                    more => Some(binary(BinaryOp::Mul, power(more, made.expr.span), made.expr)),
                }
            }
        }
    }

    /// A [choice](Of::Choice) of literals, each with so many digits behind its point, as integers.
    fn choice_with_digits(&mut self, e: Expr, wanted: u8) -> Option<Expr> {
        let span = e.span;
        let mut each = |e: Box<Expr>| self.choice_with_digits(*e, wanted).map(Box::new);
        let kind = match e.kind {
            ExprKind::Literal(literal) => return self.scaled(&literal, wanted, span).map(|n| int(i128::from(n), span)),
            ExprKind::Unary(op, x) => ExprKind::Unary(op, each(x)?),
            ExprKind::If(c, t, e) => ExprKind::If(c, each(t)?, each(e)?),
            ExprKind::Call(name, args) => {
                let mut chosen = args.into_iter();
                let condition = chosen.next();
                let parts = chosen.map(|arg| match arg {
                    Argument::Expr(e) => Some(Argument::Expr(*each(Box::new(e))?)),
                    other => Some(other),
                });
                let parts = parts.collect::<Option<Vec<_>>>()?;
                ExprKind::Call(name, condition.into_iter().chain(parts).collect())
            }
            _ => return self.beside_decimal(span),
        };
        Some(Expr { kind, span })
    }

    /// Expressions of one kind, so that they add, are compared, or are chosen among.
    pub(super) fn aligned(&mut self, all: Vec<Made>, span: Span) -> Option<(Vec<Expr>, Of, bool)> {
        let all = all.into_iter().map(|m| self.cut_value(m)).collect::<Option<Vec<_>>>()?;
        let domain = all.iter().find_map(|m| match m.of {
            Of::Holds(Holds::Domain(domain)) => Some(domain),
            _ => None,
        });
        if let Some(domain) = domain {
            let fits = |m: &Made| match &m.of {
                Of::Holds(Holds::Domain(d)) => *d == domain,
                Of::Quote(_) | Of::Number(_) => true,
                _ => false,
            };
            if all.iter().all(fits) {
                let none = all.iter().any(|m| m.none || !matches!(m.of, Of::Holds(_)));
                let coordinates = all.into_iter().map(|m| self.coordinate(m, domain)).collect::<Option<Vec<_>>>()?;
                return Some((coordinates, Of::Holds(Holds::Domain(domain)), none));
            }
            if let Some(other) = all.iter().find_map(|m| match m.of {
                Of::Holds(Holds::Domain(d)) if d != domain => Some(d),
                _ => None,
            }) {
                return self.two_domains(domain, other, span);
            }
            let numbers = all.into_iter().map(|m| self.as_number(m)).collect::<Option<Vec<_>>>()?;
            return self.aligned(numbers, span);
        }
        if all.iter().any(|m| m.of == Of::Holds(Holds::Timestamp)) {
            let times =
                all.into_iter().map(|m| self.as_values(m, Holds::Timestamp, span)).collect::<Option<Vec<_>>>()?;
            return Some((times, Of::Holds(Holds::Timestamp), false));
        }
        if all.iter().any(|m| m.of == Of::Holds(Holds::Date)) {
            let dates = all.into_iter().map(|m| self.as_values(m, Holds::Date, span)).collect::<Option<Vec<_>>>()?;
            return Some((dates, Of::Holds(Holds::Date), false));
        }
        if all.iter().any(|m| is_decimal(&m.of)) {
            let Some(most) =
                all.iter().map(|m| digits(&m.of)).collect::<Option<Vec<_>>>().and_then(|d| d.into_iter().max())
            else {
                return self.beside_decimal(span);
            };
            let made = all.into_iter().map(|m| self.with_digits(m, most, span)).collect::<Option<Vec<_>>>()?;
            return Some((made, Of::Holds(Holds::Decimal(most)), false));
        }
        let all = all.into_iter().map(|m| self.closed(m)).collect::<Option<Vec<_>>>()?;
        // Of literals alone one with a point decides.
        let whole = |of: &Of| matches!(of, Of::Number(Literal::Int(_)) | Of::Choice(Literal::Int(_)));
        let kinds: Vec<Of> = all.iter().map(|m| m.of.clone()).collect();
        let of = kinds.iter().find(|of| matches!(of, Of::Holds(_))).or(kinds.iter().find(|of| !whole(of)));
        let of = of.or(kinds.first()).cloned().unwrap_or(Of::Number(Literal::Int(0))).settled();
        Some((all.into_iter().map(|m| m.expr).collect(), of, false))
    }

    pub(super) fn two_domains<T>(&mut self, a: usize, b: usize, span: Span) -> Option<T> {
        let (a, b) = (self.domain_name(a).to_string(), self.domain_name(b).to_string());
        let help = "coordinates of one domain are none of another: give both columns one domain";
        self.say(span, format!("labels of `{a}` beside labels of `{b}`"), help);
        None
    }

    /// What is neither a bare text nor texts of a column.
    pub(super) fn closed(&mut self, made: Made) -> Option<Made> {
        let made = self.cut_value(made)?;
        if is_text_of(&made.of) {
            let help = "compare it with labels, dates or a column of texts, or ask `like(…)`";
            self.say(made.expr.span, "a text stands where a value is needed", help);
            return None;
        }
        Some(made)
    }

    /// A value, the label of a coordinate if it is one; a quoted text stays.
    pub(super) fn as_number(&mut self, made: Made) -> Option<Made> {
        match made.of {
            Of::Holds(Holds::Domain(_)) => {
                let span = made.expr.span;
                self.number(made, span)
            }
            Of::Column(..) | Of::Changed(..) | Of::Cut(..) => self.closed(made),
            _ => Some(made),
        }
    }

    /// The label of a coordinate, which is a number; 0 at none.
    pub(super) fn number(&mut self, made: Made, span: Span) -> Option<Made> {
        let Of::Holds(Holds::Domain(domain)) = made.of else {
            return match made.of {
                Of::Quote(_) | Of::Column(..) | Of::Changed(..) | Of::Cut(..) => self.closed(made),
                _ => Some(made),
            };
        };
        let holds = match self.out.domains[domain].labels {
            Labels::Integer(_) => Holds::Plain(Type::I64),
            Labels::Date => Holds::Date,
            Labels::Timestamp => Holds::Timestamp,
            Labels::Decimal(digits) => Holds::Decimal(digits),
            Labels::Text => {
                let name = self.domain_name(domain).to_string();
                self.say(span, format!("a label of `{name}` is a text, and a value is needed"), "labels are compared");
                return None;
            }
        };
        let values = self.ask(What::Values(domain));
        Some(Made {
            expr: Relate::asked_at(values, Some(made), Literal::Int(0), span),
            of: Of::Holds(holds),
            none: false,
        })
    }

    /// A value as one of these: of a declared tensor, or beside a date.
    pub(super) fn as_values(&mut self, made: Made, holds: Holds, span: Span) -> Option<Expr> {
        let made = if matches!(holds, Holds::Domain(_)) { made } else { self.cut_value(made)? };
        match (holds, &made.of) {
            (Holds::Domain(domain), Of::Holds(Holds::Domain(d))) if *d != domain => self.two_domains(domain, *d, span),
            (Holds::Domain(domain), _) => self.coordinate(made, domain),
            (Holds::Date, Of::Holds(Holds::Date)) | (Holds::Timestamp, Of::Holds(Holds::Timestamp)) => Some(made.expr),
            (Holds::Timestamp, Of::Holds(Holds::Date)) => {
                let day = int(i128::from(super::DAY), span);
                Some(binary(BinaryOp::Mul, made.expr, day))
            }
            (Holds::Timestamp, Of::Quote(text)) => {
                let text = text.clone();
                self.micros(&text, made.expr.span).map(|n| int(i128::from(n), made.expr.span))
            }
            (Holds::Timestamp, Of::Holds(Holds::Domain(_))) => {
                let made = self.number(made, span)?;
                self.as_values(made, holds, span)
            }
            (Holds::Date, Of::Quote(text)) => {
                let text = text.clone();
                self.days(&text, made.expr.span).map(|n| int(i128::from(n), made.expr.span))
            }
            (Holds::Decimal(digits), _) => {
                let made = self.as_number(made)?;
                self.with_digits(made, digits, span)
            }
            (Holds::Plain(ty), _) => {
                let made = self.number(made, span)?;
                if is_decimal(&made.of) || matches!(made.of, Of::Holds(Holds::Date | Holds::Timestamp)) {
                    let message =
                        format!("this is a decimal, a date or a timestamp, and a value of type {ty} is needed");
                    self.say(
                        span,
                        message,
                        "declare the result `dec(…)`, `date` or `timestamp`, or write convert(…, f64)",
                    );
                    return None;
                }
                Some(made.expr)
            }
            _ => {
                let (what, help) = match holds {
                    Holds::Date if made.of == Of::Holds(Holds::Timestamp) => {
                        ("a date", "the day of a timestamp is `date(t)`")
                    }
                    Holds::Date => ("a date", "a date is written \"1994-12-31\""),
                    Holds::Timestamp => ("a timestamp", "a timestamp is written \"1994-12-31 10:30:00\""),
                    _ => ("a value of another kind", "a date is written \"1994-12-31\""),
                };
                self.say(span, format!("{what} is needed here"), help);
                None
            }
        }
    }

    /// A coordinate of a domain: what is one, or that of a label.
    pub(super) fn coordinate(&mut self, made: Made, domain: usize) -> Option<Expr> {
        let span = made.expr.span;
        let literal = match made.of {
            Of::Quote(text) => Literal::Text(text),
            Of::Number(literal) => literal,
            Of::Holds(Holds::Domain(_)) => return Some(made.expr),
            Of::Changed(..) | Of::Cut(..) => return self.mapped(made, domain).map(|made| made.expr),
            _ => {
                let name = self.domain_name(domain).to_string();
                self.say(span, format!("a coordinate of `{name}` is needed here"), "or one of its labels");
                return None;
            }
        };
        let label = self.label(domain, &literal, span)?;
        let at = self.ask(What::At(domain, label));
        Some(Relate::asked_at(at, None, Literal::Int(0), span))
    }
}
