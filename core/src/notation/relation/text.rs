//! Texts that are changed, `lower(city[n])`: what is asked of them is asked once a label, or once a text of a column.

use super::declare::{Relate, written};
use super::expression::{Made, Of};
use super::{Holds, Labels, What};
use crate::algebra::Type;
use crate::notation::diagnostic::Span;
use crate::notation::syntax::{Ident, Literal};

/// What is done to a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// Its letters are small.
    Lower,
    /// Its letters are capitals.
    Upper,
    /// Blanks at both ends are gone.
    Trim,
    /// The characters from this one on, counted from 1, so many of them.
    Part(usize, usize),
}

impl Change {
    /// The text, changed.
    pub fn of(&self, text: &str) -> String {
        match self {
            Change::Lower => text.to_lowercase(),
            Change::Upper => text.to_uppercase(),
            Change::Trim => text.trim().to_string(),
            Change::Part(from, many) => text.chars().skip(from - 1).take(*many).collect(),
        }
    }
}

/// The functions that change texts, and how they are written.
const CHANGES: [(&str, &str); 4] = [
    ("lower", "lower(city[n])"),
    ("upper", "upper(city[n])"),
    ("trim", "trim(city[n])"),
    ("substr", "substr(city[n], 1, 3)"),
];

impl Relate {
    /// Whether a call is of a function of texts that is not the program's own.
    pub(super) fn is_of_texts(&self, name: &str) -> bool {
        (name == "length" || CHANGES.iter().any(|(known, _)| *known == name)) && !self.functions.contains_key(name)
    }

    /// What a function makes of a text.
    pub(super) fn of_text(&mut self, name: &Ident, made: Vec<Made>, span: Span) -> Option<Made> {
        let mut made = made.into_iter();
        let first = made.next();
        let rest: Vec<Option<usize>> = made.map(|m| whole(&m.of)).collect();
        let (Some(x), true) = (first, self.takes_text(name, &rest)) else {
            let written = CHANGES.iter().find(|(known, _)| *known == name.name).map_or("length(city[n])", |(_, w)| w);
            self.say(span, format!("`{name}` takes a text, and numbers that are written"), format!("write {written}"));
            return None;
        };
        let is_label =
            |of: &Of| matches!(of, Of::Holds(Holds::Domain(d)) if self.out.domains[*d].labels == Labels::Text);
        if name.name == "length" {
            let Of::Holds(Holds::Domain(domain)) = x.of.clone() else { return self.no_label(name, x.expr.span) };
            if !is_label(&x.of) {
                return self.no_label(name, x.expr.span);
            }
            let lengths = self.ask(What::Lengths(domain));
            let expr = Relate::asked_at(lengths, Some(x), Literal::Int(0), span);
            return Some(Made { expr, of: Of::Holds(Holds::Plain(Type::I64)), none: false });
        }
        let change = match (name.name.as_str(), &rest[..]) {
            ("lower", _) => Change::Lower,
            ("upper", _) => Change::Upper,
            ("trim", _) => Change::Trim,
            (_, [Some(from), Some(many)]) => Change::Part(*from, *many),
            (_, [Some(from), ..]) => Change::Part(*from, usize::MAX),
            _ => return None,
        };
        let of = match &x.of {
            Of::Changed(of, before) => Of::Changed(of.clone(), before.iter().cloned().chain([change]).collect()),
            of if is_label(of) || matches!(of, Of::Column(..)) => Of::Changed(Box::new(of.clone()), vec![change]),
            Of::Quote(text) => Of::Quote(change.of(text)),
            _ => return self.no_text(name, x.expr.span),
        };
        Some(Made { of, ..x })
    }

    /// Whether the arguments behind the text are those that a function takes.
    fn takes_text(&self, name: &Ident, rest: &[Option<usize>]) -> bool {
        match name.name.as_str() {
            "substr" => matches!(rest, [Some(1..)] | [Some(1..), Some(_)]),
            _ => rest.is_empty(),
        }
    }

    fn no_text<T>(&mut self, name: &Ident, span: Span) -> Option<T> {
        let help = "a column `string`, or of a domain whose labels are texts";
        self.say(span, format!("`{name}` takes a text, and this is none"), help);
        None
    }

    fn no_label<T>(&mut self, name: &Ident, span: Span) -> Option<T> {
        let help = "a column of a domain whose labels are texts: `dim D: string`, and `NAME: D` in its table";
        self.say(span, format!("`{name}` takes a label that is a text, and this is none"), help);
        None
    }
}

/// A literal that is a whole number.
fn whole(of: &Of) -> Option<usize> {
    match of {
        Of::Number(literal @ Literal::Int(_)) => written(literal).parse().ok(),
        _ => None,
    }
}
