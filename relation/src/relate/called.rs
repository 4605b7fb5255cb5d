//! Functions called: those of texts, of dates, of whether something is there, and those that take values.

use super::declare::Relate;
use super::expression::{
    Made, Of, binary, call, choice, converted, int, is_coordinate, is_decimal, is_domain, is_text_of,
};
use super::index::power;
use super::routine::Routine;
use super::scope::Scope;
use super::{Holds, Labels, NONE, Test, What, calendar};
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::notation::diagnostic::Span;
use fiberloom_core::notation::syntax::{Access, Argument, BinaryOp, Expr, ExprKind, Ident, Literal, UnaryOp};

impl Relate {
    pub(super) fn called(&mut self, scope: &Scope, name: &Ident, args: &[Argument], span: Span) -> Option<Made> {
        let mut made = Vec::new();
        for arg in args {
            if let Argument::Expr(e) = arg {
                made.push(self.expr(scope, e));
            }
        }
        let mut made = made.into_iter().collect::<Option<Vec<_>>>()?;
        let test: Option<fn(String) -> Test> = match name.name.as_str() {
            "like" => Some(|text| Test::Like(text, None)),
            "prefix" => Some(Test::Prefix),
            "suffix" => Some(Test::Suffix),
            "contains" => Some(Test::Contains),
            _ => None,
        };
        if let Some(test) = test {
            let escape = if name.name == "like" { self.escape(&mut made)? } else { None };
            let test = |text| match escape {
                None => test(text),
                escape => Test::Like(text, escape),
            };
            return self.tested(name, made, test, span);
        }
        if self.is_of_texts(&name.name) && made.iter().any(|m| is_text_of(&m.of) || self.is_text(&m.of)) {
            return self.of_text(name, made, span);
        }
        if !self.functions.contains_key(&name.name) {
            match (name.name.as_str(), args.len()) {
                ("date", 1) => return self.day_of(made.pop()?, span),
                ("trunc", 2) => {
                    let unit = made.pop()?;
                    return self.cut_down(made.pop()?, &unit, span);
                }
                _ => {}
            }
        }
        if let Some(part) = calendar::PARTS.iter().position(|(word, _)| *word == name.name) {
            return self.part_of_date(part, name, made, span);
        }
        match (name.name.as_str(), args) {
            ("convert", [Argument::Expr(_), Argument::Type(ty, _)]) => {
                let [x] = <[Made; 1]>::try_from(made).ok()?;
                self.convert(x, *ty, span)
            }
            ("is_none", [_]) if !self.functions.contains_key("is_none") => self.is_none(made.into_iter().next()?, span),
            ("select", [_, ..]) | ("mask", [_, ..]) => self.chosen_of(name, made, span),
            ("min", [_, _]) if made.iter().any(is_coordinate) => {
                let (parts, of, none) = self.aligned(made, span)?;
                let expr = match is_domain(&of) {
                    true => self.by_routine(Routine::Least, parts, span),
                    false => call("min", parts, span),
                };
                Some(Made { expr, of, none })
            }
            ("min" | "max" | "coalesce", _) => {
                let (parts, of, none) = self.aligned(made, span)?;
                Some(Made { expr: call(&name.name, parts, span), of, none })
            }
            ("abs", [_]) => {
                let x = self.as_number(made.into_iter().next()?)?;
                let x = self.closed(x)?;
                Some(Made { expr: call("abs", vec![x.expr], span), of: x.of.settled(), none: false })
            }
            _ => self.called_plainly(name, args, made, span),
        }
    }

    /// Whether a label, or a text of a column, is not there; a value always is.
    fn is_none(&mut self, x: Made, span: Span) -> Option<Made> {
        let none = match x.of.clone() {
            Of::Changed(of, _) => return self.is_none(Made { of: *of, ..x }, span),
            Of::Cut(d, _) => return self.is_none(Made { of: Of::Holds(Holds::Domain(d)), ..x }, span),
            Of::Column(table, column) => {
                let some = self.asked_of(x, (table, column), Test::Any, span);
                Expr { kind: ExprKind::Unary(UnaryOp::Not, Box::new(some)), span }
            }
            Of::Holds(Holds::Domain(_)) => binary(BinaryOp::Lt, x.expr, int(0, span)),
            // Never, and what is asked is read by name all the same: a name that nothing has is an error.
            Of::Holds(_) => {
                let never = Expr { kind: ExprKind::Literal(Literal::Bool(false)), span };
                binary(BinaryOp::AndAlso, never, binary(BinaryOp::Eq, x.expr.clone(), x.expr))
            }
            _ => Expr { kind: ExprKind::Literal(Literal::Bool(false)), span },
        };
        Some(Made::plain(Expr { span, ..none }, Type::Bool))
    }

    /// `select(c, x, y)`, and `mask(c, x)`: of a label none where the condition does not hold, else 0.
    fn chosen_of(&mut self, name: &Ident, mut rest: Vec<Made>, span: Span) -> Option<Made> {
        let condition = rest.remove(0);
        let chosen = choice(&rest);
        let (parts, of, none) = match name.name == "mask" {
            true if rest.iter().any(is_coordinate) => {
                let x = rest.pop()?;
                let none = int(i128::from(NONE), span);
                let expr = call("select", vec![condition.expr, x.expr, none], span);
                return Some(Made { expr, of: x.of, none: true });
            }
            true => {
                let x = rest.pop()?;
                let x = self.as_number(x)?;
                let x = self.closed(x)?;
                (vec![x.expr], x.of.settled(), false)
            }
            false => self.aligned(rest, span)?,
        };
        let of = chosen.unwrap_or(of);
        let args = std::iter::once(condition.expr).chain(parts).collect();
        Some(Made { expr: call(&name.name, args, span), of, none })
    }

    /// Any other function: it takes values.
    fn called_plainly(&mut self, name: &Ident, args: &[Argument], made: Vec<Made>, span: Span) -> Option<Made> {
        let is_text = |made: &Made| is_text_of(&made.of);
        let known = self.functions.contains_key(&name.name) || Op::from_name(&name.name).is_some();
        if !known && made.iter().any(is_text) {
            let help =
                "of texts is asked: `like(a[i], \"A%\")`, `prefix(a[i], \"A\")`, `suffix`, `contains`, `a[i] == \"A\"`";
            self.say(span, format!("no function `{name}` of texts"), help);
            return None;
        }
        let mut made = made.into_iter();
        let mut taken = Vec::new();
        let mut first = None;
        for arg in args {
            taken.push(match arg {
                Argument::Expr(_) => {
                    let x = self.as_number(made.next()?)?;
                    let x = self.closed(x)?;
                    if is_decimal(&x.of) {
                        return self.no_decimal(&name.name, span);
                    }
                    first = first.or(if let Of::Holds(Holds::Plain(ty)) = x.of { Some(ty) } else { None });
                    Argument::Expr(x.expr)
                }
                Argument::Type(ty, at) => Argument::Type(*ty, *at),
            });
        }
        let ty = match (self.functions.get(&name.name), Op::from_name(&name.name)) {
            (Some((_, ty)), _) => *ty,
            (None, Some(op)) if op.is_predicate() => Type::Bool,
            _ => first.unwrap_or(Type::F64),
        };
        Some(Made::plain(Expr { kind: ExprKind::Call(name.clone(), taken), span }, ty))
    }

    /// Takes the third argument of `like`: the character that makes the one behind it stand for itself.
    fn escape(&mut self, made: &mut Vec<Made>) -> Option<Option<char>> {
        if made.len() != 3 {
            return Some(None);
        }
        let last = made.pop()?;
        let one = |text: &str| text.chars().next().filter(|c| text.len() == c.len_utf8());
        let escape = if let Of::Quote(text) = &last.of { one(text) } else { None };
        if escape.is_none() {
            let help = "write like(x, \"50!%\", \"!\"): behind it `%` and `_` are themselves";
            self.say(last.expr.span, "what escapes is one character in quotes", help);
            return None;
        }
        Some(escape)
    }

    fn tested(&mut self, name: &Ident, made: Vec<Made>, test: impl Fn(String) -> Test, span: Span) -> Option<Made> {
        let Ok([x, pattern]) = <[Made; 2]>::try_from(made) else {
            self.say(
                span,
                format!("`{name}` takes a text and what it is compared with"),
                format!("write {name}(x, \"…\")"),
            );
            return None;
        };
        let Of::Quote(text) = pattern.of else {
            self.say(
                pattern.expr.span,
                format!("`{name}` compares with a text in quotes"),
                format!("write {name}(x, \"…\")"),
            );
            return None;
        };
        let (x, test) = match x.of {
            Of::Changed(of, changes) => (Made { of: *of, ..x }, Test::Changed(changes, Box::new(test(text)))),
            _ => (x, test(text)),
        };
        if !matches!(&x.of, Of::Column(..)) && !self.is_text(&x.of) {
            let help = "a column `string`, or of a domain whose labels are texts";
            self.say(x.expr.span, format!("`{name}` asks texts, and this is none"), help);
            return None;
        }
        self.passes(x, test, span)
    }

    /// Whether these are labels that are texts.
    pub(super) fn is_text(&self, of: &Of) -> bool {
        matches!(of, Of::Holds(Holds::Domain(d)) if self.out.domains[*d].labels == Labels::Text)
    }

    /// Whether a test holds of labels, or of texts of a column; not of none.
    pub(super) fn passes(&mut self, x: Made, test: Test, span: Span) -> Option<Made> {
        match x.of {
            Of::Column(table, column) => {
                let expr = self.asked_of(x, (table, column), test, span);
                Some(Made::plain(expr, Type::Bool))
            }
            Of::Holds(Holds::Domain(domain)) if self.out.domains[domain].labels == Labels::Text => {
                let passes = self.ask(What::Passes(domain, test));
                Some(Made::plain(Relate::asked_at(passes, Some(x), Literal::Bool(false), span), Type::Bool))
            }
            _ => None,
        }
    }

    /// What is asked of a column's texts.
    pub(super) fn asked_of(&mut self, made: Made, (table, column): (usize, usize), test: Test, span: Span) -> Expr {
        let name = self.ask(What::Column { table, column, test });
        let ExprKind::Access(access) = made.expr.kind else { unreachable!("texts of a column are an access") };
        let tensor = Ident { name, span: access.tensor.span };
        let read = Relate::read(Access { tensor, ..access }, made.none, &Literal::Bool(false));
        Expr { span, ..read }
    }

    pub(super) fn part_of_date(&mut self, part: usize, name: &Ident, made: Vec<Made>, span: Span) -> Option<Made> {
        let Ok([x]) = <[Made; 1]>::try_from(made) else {
            let what = if calendar::is_of_day(part) { "timestamp" } else { "date" };
            self.say(span, format!("`{name}` takes a {what}"), format!("write {name}(d)"));
            return None;
        };
        let days = self.moment_of(name, x, calendar::is_of_day(part), span)?;
        let function = self.part(part);
        Some(Made::plain(call(&function, vec![days], span), Type::I64))
    }

    pub(super) fn convert(&mut self, x: Made, ty: Type, span: Span) -> Option<Made> {
        let x = self.number(x, span)?;
        let converts = |expr: Expr| converted(expr, ty);
        let expr = match &x.of {
            Of::Holds(Holds::Decimal(digits)) if ty.is_float() => {
                let scale = Expr { kind: ExprKind::Literal(Literal::Int(10i128.pow(u32::from(*digits)))), span };
                binary(BinaryOp::Div, converts(x.expr), scale)
            }
            Of::Holds(Holds::Decimal(digits)) => converts(binary(BinaryOp::Div, x.expr, power(*digits, span))),
            // Its seconds.
            Of::Holds(Holds::Timestamp) => {
                let seconds = Made { of: Of::Holds(Holds::Decimal(super::time::DIGITS)), ..x };
                return self.convert(seconds, ty, span);
            }
            _ => converts(x.expr),
        };
        Some(Made::plain(Expr { span, ..expr }, ty))
    }
}
