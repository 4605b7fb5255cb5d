//! Texts that are changed, `lower(city[n])`: what is asked of them is asked once a label, or once a text of a column.

use super::declare::{Relate, written};
use super::expression::{Made, Of};
use super::{DAY, Holds, Label, Labels, NONE, What};
use fiberloom_core::algebra::Type;
use fiberloom_core::notation::diagnostic::Span;
use fiberloom_core::notation::syntax::{Ident, Literal};

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
    /// This stands before it.
    Before(String),
    /// This stands behind it.
    Behind(String),
}

impl Change {
    /// The text, changed.
    pub fn of(&self, text: &str) -> String {
        match self {
            Change::Lower => text.to_lowercase(),
            Change::Upper => text.to_uppercase(),
            Change::Trim => text.trim().to_string(),
            Change::Part(from, many) => text.chars().skip(from - 1).take(*many).collect(),
            Change::Before(what) => format!("{what}{text}"),
            Change::Behind(what) => format!("{text}{what}"),
        }
    }
}

/// What a label of one domain becomes, which is a label of another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Image {
    /// A text, changed so.
    Text(Vec<Change>),
    /// A timestamp, cut down to a multiple of so many microseconds.
    Floor(i64),
    /// The date of a timestamp.
    Day,
}

impl Image {
    /// What a label becomes; nothing of a label of another kind.
    pub fn of(&self, label: &Label) -> Option<Label> {
        match (self, label) {
            (Image::Text(changes), Label::Text(text)) => {
                Some(Label::Text(changes.iter().fold(text.clone(), |text, change| change.of(&text))))
            }
            (Image::Floor(unit), Label::Number(x)) => x.div_euclid(*unit).checked_mul(*unit).map(Label::Number),
            (Image::Day, Label::Number(x)) => Some(Label::Number(x.div_euclid(DAY))),
            _ => None,
        }
    }

    /// The labels that it gives.
    fn labels(&self) -> Labels {
        match self {
            Image::Text(_) => Labels::Text,
            Image::Floor(_) => Labels::Timestamp,
            Image::Day => Labels::Date,
        }
    }

    /// What a value is that it gives.
    pub(super) fn holds(&self) -> Holds {
        self.labels().holds()
    }
}

/// The functions that change texts, and how they are written.
const CHANGES: [(&str, &str); 5] = [
    ("lower", "lower(city[n])"),
    ("upper", "upper(city[n])"),
    ("trim", "trim(city[n])"),
    ("substr", "substr(city[n], 1, 3)"),
    ("concat", "concat(city[n], \"…\")"),
];

impl Relate {
    /// Whether a call is of a function of texts that is not the program's own.
    pub(super) fn is_of_texts(&self, name: &str) -> bool {
        (name == "length" || CHANGES.iter().any(|(known, _)| *known == name)) && !self.functions.contains_key(name)
    }

    /// What a function makes of a text.
    pub(super) fn of_text(&mut self, name: &Ident, made: Vec<Made>, span: Span) -> Option<Made> {
        if name.name == "concat" {
            return self.concat(made, span);
        }
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
        self.changed(name, x, change)
    }

    /// A text, changed once more.
    fn changed(&mut self, name: &Ident, x: Made, change: Change) -> Option<Made> {
        let is_label =
            |of: &Of| matches!(of, Of::Holds(Holds::Domain(d)) if self.out.domains[*d].labels == Labels::Text);
        let of = match &x.of {
            Of::Changed(of, before) => Of::Changed(of.clone(), before.iter().cloned().chain([change]).collect()),
            of if is_label(of) || matches!(of, Of::Column(..)) => Of::Changed(Box::new(of.clone()), vec![change]),
            Of::Quote(text) => Of::Quote(change.of(text)),
            _ => return self.no_text(name, x.expr.span),
        };
        Some(Made { of, ..x })
    }

    /// `concat(a, "…")`, `concat("…", a)`: texts, of which one at most is no literal.
    fn concat(&mut self, made: Vec<Made>, span: Span) -> Option<Made> {
        let name = Ident { name: "concat".to_string(), span };
        let mut all: Option<Made> = None;
        for x in made {
            let quoted = |of: &Of| if let Of::Quote(text) = of { Some(text.clone()) } else { None };
            all = Some(match all {
                None => x,
                Some(before) => match (quoted(&before.of), quoted(&x.of)) {
                    (_, Some(text)) => self.changed(&name, before, Change::Behind(text))?,
                    (Some(text), None) => self.changed(&name, x, Change::Before(text))?,
                    (None, None) => {
                        let help = "two columns are two keys of a group: `total[city[n], land[n]] += …`; a text of both is a column of the data";
                        self.say(span, "`concat` of texts of two columns", help);
                        return None;
                    }
                },
            });
        }
        all
    }

    /// A coordinate of the domain that has what a label becomes.
    pub(super) fn mapped(&mut self, made: Made, over: usize) -> Option<Made> {
        let span = made.expr.span;
        let (from, image) = match made.of.clone() {
            Of::Cut(from, image) => (from, image),
            Of::Changed(of, changes) => match *of {
                Of::Holds(Holds::Domain(from)) => (from, Image::Text(changes)),
                _ => {
                    let help = "a column whose changed texts are labels is of a domain itself: `dim D: string`, and `NAME: D` in its table";
                    self.say(span, "texts of a column `string` are not kept", help);
                    return None;
                }
            },
            _ => return Some(made),
        };
        let (name, wanted) = (self.domain_name(over).to_string(), image.labels());
        if self.out.domains[over].labels != wanted {
            let message = format!("this is no label of `{name}`, whose labels are of another kind");
            self.say(span, message, "a domain has labels of one kind: texts, dates or timestamps");
            return None;
        }
        if self.leads(over, from) {
            let help = format!(
                "declare another domain for what labels become, and give it to what is read here in the place of `{name}`"
            );
            self.say(span, format!("labels of `{name}` become labels of `{name}`, which become others"), help);
            return None;
        }
        let mapped = self.ask(What::Mapped(from, image, over));
        let at = Made { of: Of::Holds(Holds::Domain(from)), ..made };
        let expr = Relate::asked_at(mapped, Some(at), Literal::Int(i128::from(NONE)), span);
        Some(Made { expr, of: Of::Holds(Holds::Domain(over)), none: true })
    }

    /// Whether labels of a domain become labels of another, perhaps through others.
    fn leads(&self, from: usize, to: usize) -> bool {
        from == to
            || self.out.asked.iter().any(|asked| match asked.what {
                What::Mapped(a, _, b) => a == from && self.leads(b, to),
                _ => false,
            })
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
