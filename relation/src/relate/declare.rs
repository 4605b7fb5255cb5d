//! Domains, tables and tensors: what each name holds, and the tensors that they become.

use super::routine::Routine;
use super::{Column, Domain, Fitted, Holds, Label, Labels, Mode, NONE, Over, Relations, Table, What, calendar, label};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::notation::diagnostic::{Diagnostic, Span};
use fiberloom_core::notation::syntax::{self, Format, Ident, Item, Literal, ROW, Size, Sort};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What is known of a tensor, a table or a column.
#[derive(Clone)]
pub(super) struct Known {
    /// The domain of each mode that has one.
    pub modes: Vec<Option<usize>>,
    /// The size of each mode; none of what is not declared.
    pub sizes: Vec<Size>,
    /// What each mode is called where results are shown.
    pub called: Vec<String>,
    /// What it holds; `None` until a statement says it.
    pub holds: Option<Holds>,
    /// What it holds where nothing is stored.
    pub fill: Literal,
    /// The column that it is: its table, and its place there.
    pub column: Option<(usize, usize)>,
    /// Whether a function of labels gives it.
    pub given: bool,
    /// Where it is declared.
    pub span: Span,
}

/// The translation of a program.
#[derive(Default)]
pub(super) struct Relate {
    pub out: Relations,
    pub errors: Vec<Diagnostic>,
    domains: HashMap<String, usize>,
    pub known: HashMap<String, Known>,
    /// Names of the program, which tensors that are added do not take.
    taken: HashSet<String>,
    /// For each part of a date the function that says it, if it is asked for.
    parts: [Option<String>; calendar::PARTS.len()],
    /// The names of other functions that expressions call.
    pub routines: BTreeMap<Routine, String>,
    /// Sizes and format of each table.
    shapes: Vec<(Vec<Size>, Option<Format>)>,
    /// Names that statements define.
    results: HashSet<String>,
    /// Tables whose rows follow from the statements that define their columns.
    pub followed: BTreeSet<String>,
    /// The statements that say such rows, as text: each is made once.
    pub said: HashSet<String>,
    /// How it is fitted to its data.
    pub fitted: Fitted,
    /// By the name of a result that a block defines that of the one beside it.
    pub turns: BTreeMap<String, String>,
    /// Statements that come before the one that is looked at, as its locals.
    pub pending: Vec<syntax::Statement>,
    /// What such statements define, where its modes have labels.
    pub means: Vec<syntax::Tensor>,
    /// Declared functions: types of parameters, and of the value.
    pub functions: HashMap<String, (Vec<Type>, Type)>,
}

impl Relate {
    pub(super) fn error(&mut self, d: Diagnostic) {
        self.errors.push(d);
    }

    pub(super) fn say(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.error(Diagnostic::new(span, message).help(help));
    }

    pub(super) fn domain_name(&self, domain: usize) -> &str {
        &self.out.domains[domain].name
    }

    /// Whether statements define it.
    pub(super) fn is_result(&self, name: &str) -> bool {
        self.results.contains(name)
    }

    /// Notes that statements define it.
    pub(super) fn defines(&mut self, name: String) {
        self.results.insert(name);
    }

    /// Declarations count wherever they stand.
    pub(super) fn declarations(&mut self, items: &[Item]) {
        self.note(items);
        for item in items {
            if let Item::Domain(domain) = item {
                self.domain(domain);
            }
        }
        for item in items {
            match item {
                Item::Table(table) => self.table(table),
                Item::Tensor(tensor) => self.tensor(tensor),
                Item::Dim(dim) if self.domains.contains_key(&dim.name.name) => {
                    let span = self.out.domains[self.domains[&dim.name.name]].span;
                    let d = Diagnostic::new(dim.name.span, format!("dim `{}` is declared twice", dim.name));
                    self.error(d.label(span, "here with labels"));
                }
                _ => {}
            }
        }
        self.note_rows(items);
    }

    fn note(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Dim(dim) => drop(self.taken.insert(dim.name.name.clone())),
                Item::Domain(domain) => drop(self.taken.insert(domain.name.name.clone())),
                Item::Function(f) => {
                    self.taken.insert(f.name.name.clone());
                    self.functions
                        .insert(f.name.name.clone(), (f.params.iter().map(|(_, ty)| *ty).collect(), f.result));
                }
                Item::Statement(s) => {
                    self.results.insert(s.lhs.tensor.name.clone());
                    self.taken.insert(s.lhs.tensor.name.clone());
                }
                Item::Repeat(block) => self.note(&block.body),
                Item::Table(_) | Item::Tensor(_) | Item::Schedule(_) => {}
            }
        }
    }

    fn domain(&mut self, domain: &syntax::Domain) {
        let Ident { name, span } = &domain.name;
        let labels = match &domain.labels {
            Sort::Text => Labels::Text,
            Sort::Date => Labels::Date,
            Sort::Timestamp => Labels::Timestamp,
            Sort::Decimal(digits) => Labels::Decimal(*digits),
            Sort::Plain(ty) if ty.is_integer() && *ty != Type::U64 => Labels::Integer(*ty),
            other => {
                let help =
                    "labels are integers of at most 64 bits with a sign, `string`, `date`, `timestamp` or `dec(2)`";
                return self.say(*span, format!("labels of `{name}` are of type {other}"), help);
            }
        };
        if let Some(&first) = self.domains.get(name) {
            let d = Diagnostic::new(*span, format!("dim `{name}` is declared twice"));
            return self.error(d.label(self.out.domains[first].span, "first here"));
        }
        self.domains.insert(name.clone(), self.out.domains.len());
        self.out.domains.push(Domain { name: name.clone(), labels, span: *span });
    }

    /// The domain that a size is, if it is one.
    fn of_size(&self, size: &Size) -> Option<usize> {
        match size {
            Size::Name(name) => self.domains.get(&name.name).copied(),
            Size::Int(..) => None,
        }
    }

    fn table(&mut self, table: &syntax::Table) {
        let mut modes = Vec::new();
        for mode in &table.modes {
            let over = match self.of_size(&mode.size) {
                Some(domain) if mode.name.name == ROW => {
                    let name = self.domain_name(domain).to_string();
                    let message = format!("`{ROW}` counts rows, and `{name}` has labels");
                    self.say(mode.name.span, message, "give it a size of its own: `row: R`");
                    Over::Row
                }
                Some(domain) => Over::Domain(domain),
                None if mode.name.name == ROW => Over::Row,
                None => Over::Coordinate,
            };
            modes.push(Mode { source: mode.name.name.clone(), over, span: mode.name.span });
        }
        let called: Vec<String> = table.modes.iter().map(|m| m.name.name.clone()).collect();
        let domains: Vec<Option<usize>> = table.modes.iter().map(|m| self.of_size(&m.size)).collect();
        let place = self.out.tables.len();
        let known = |holds, fill, column, span| Known {
            modes: domains.clone(),
            sizes: table.modes.iter().map(|m| m.size.clone()).collect(),
            called: called.clone(),
            holds: Some(holds),
            fill,
            column,
            given: false,
            span,
        };
        self.name(&table.name, known(Holds::Plain(Type::Bool), Literal::Bool(false), None, table.name.span));
        let mut columns = Vec::new();
        for column in &table.columns {
            let span = column.name.span;
            let Some(holds) = self.holds(&column.sort) else { continue };
            let (null, fill) = self.fill(holds, column.fill.as_ref());
            let source = column.source.clone().unwrap_or(column.name.name.clone());
            self.name(&column.name, known(holds, fill, Some((place, columns.len())), span));
            columns.push(Column { name: column.name.name.clone(), source, holds, null, span });
        }
        let made = self.is_result(&table.name.name) || columns.iter().any(|c| self.is_result(&c.name));
        for column in columns.iter().filter(|c| made && !self.results.contains(&c.name)) {
            let message = format!("no statement defines `{}`, a column of a table that statements define", column.name);
            let help = match column.holds {
                Holds::Text => "no array holds texts: give it a domain, `dim D: string`, and define it",
                _ => "define it, or leave it away",
            };
            self.errors.push(Diagnostic::new(column.span, message).label(table.name.span, "this table").help(help));
        }
        self.shapes.push((table.modes.iter().map(|m| m.size.clone()).collect(), table.format.clone()));
        self.out.tables.push(Table { name: table.name.name.clone(), modes, columns, made, span: table.name.span });
    }

    fn tensor(&mut self, t: &syntax::Tensor) {
        let Some(holds) = self.holds(&t.sort) else { return };
        if holds == Holds::Text {
            let help = "texts stand in tables: `table T[…] { name: string }`, or are labels: `dim D: string`";
            return self.say(t.name.span, format!("tensor `{}` of texts", t.name), help);
        }
        let (_, fill) = self.fill(holds, t.fill.as_ref());
        let called = |size: &Size| size.to_string();
        let known = Known {
            modes: t.sizes.iter().map(|s| self.of_size(s)).collect(),
            sizes: t.sizes.clone(),
            called: t.sizes.iter().map(called).collect(),
            holds: Some(holds),
            fill,
            column: None,
            given: false,
            span: t.name.span,
        };
        let given = self.is_given(t, &known);
        self.name(&t.name, Known { given, ..known });
    }

    fn name(&mut self, name: &Ident, known: Known) {
        self.taken.insert(name.name.clone());
        if let Some(first) = self.known.get(&name.name) {
            let first = first.span;
            let d = Diagnostic::new(name.span, format!("`{name}` is declared twice"));
            return self.error(d.label(first, "first here").help(
                "columns have one name in the whole program: \
                `name = \"what the data call it\"` gives another",
            ));
        }
        self.known.insert(name.name.clone(), known);
    }

    /// What values of a sort are.
    fn holds(&mut self, sort: &Sort) -> Option<Holds> {
        Some(match sort {
            Sort::Plain(ty) => Holds::Plain(*ty),
            Sort::Date => Holds::Date,
            Sort::Timestamp => Holds::Timestamp,
            Sort::Decimal(digits) => Holds::Decimal(*digits),
            Sort::Text => Holds::Text,
            Sort::Domain(name) => match self.domains.get(&name.name) {
                Some(&domain) => Holds::Domain(domain),
                None => {
                    let mut known: Vec<&str> = self.domains.keys().map(String::as_str).collect();
                    known.sort();
                    let known = known.join(", ");
                    let help = match known.is_empty() {
                        true => format!("declare it: `dim {name}: i64`"),
                        false => format!("there are {known}; `dim {name}: i64` declares another"),
                    };
                    self.say(name.span, format!("`{name}` is no type and no domain"), help);
                    return None;
                }
            },
        })
    }

    /// What stands for a null in a column, and what a tensor of such values has where nothing is stored.
    fn fill(&mut self, holds: Holds, written: Option<&(Literal, Span)>) -> (Option<Value>, Literal) {
        let Some((literal, span)) = written else {
            let fill = match holds {
                Holds::Domain(_) => Literal::Int(i128::from(NONE)),
                Holds::Plain(Type::Bool) | Holds::Text => Literal::Bool(false),
                _ => Literal::Int(0),
            };
            return (None, fill);
        };
        let made = match (holds, literal) {
            (Holds::Domain(_) | Holds::Text, _) => {
                let help = match holds {
                    Holds::Text => {
                        "a null there is no text: it is like nothing, and `is_none(x)` is true of it: leave `fill` out"
                    }
                    _ => "a null there is none, at which every array has its fill: leave `fill` out",
                };
                self.say(*span, "what stands for a null in a column of a domain or of texts is not given", help);
                None
            }
            (Holds::Date, Literal::Text(text)) => self.days(text, *span).map(|n| Literal::Int(i128::from(n))),
            (Holds::Timestamp, Literal::Text(text)) => self.micros(text, *span).map(|n| Literal::Int(i128::from(n))),
            (Holds::Decimal(digits), Literal::Int(_) | Literal::Float(_)) => {
                self.scaled(literal, digits, *span).map(|n| Literal::Int(i128::from(n)))
            }
            (Holds::Plain(_), Literal::Int(_) | Literal::Float(_) | Literal::Bool(_)) => Some(literal.clone()),
            _ => {
                self.say(*span, format!("the literal `{literal}` is no value of this column"), "`fill` gives one");
                None
            }
        };
        let literal = made.unwrap_or(Literal::Int(0));
        let value = match (holds, &literal) {
            (Holds::Plain(ty), Literal::Int(n)) => Some(Value::from_i128(ty, *n)),
            (Holds::Plain(ty), Literal::Float(x)) => Some(Value::from_f64(ty, x.0)),
            (Holds::Plain(_), Literal::Bool(b)) => Some(Value::bool(*b)),
            (_, Literal::Int(n)) => Some(Value::i64(*n as i64)),
            _ => None,
        };
        (value, literal)
    }

    /// The days of a date.
    pub(super) fn days(&mut self, text: &str, span: Span) -> Option<i64> {
        let days = label::days(text);
        if days.is_none() {
            self.say(span, format!("`\"{text}\"` is no date"), "a date of the calendar is written \"1994-12-31\"");
        }
        days
    }

    /// A literal as a decimal of so many digits.
    pub(super) fn scaled(&mut self, literal: &Literal, digits: u8, span: Span) -> Option<i64> {
        let text = written(literal);
        let number = label::decimal(&text, digits);
        if number.is_none() {
            let help = "its digits behind the point are at most the type's, and all of them fit 64 bits";
            self.say(span, format!("the literal `{literal}` is no value of type dec({digits})"), help);
        }
        number
    }

    /// A label of a domain, as it is written beside a coordinate.
    pub(super) fn label(&mut self, domain: usize, literal: &Literal, span: Span) -> Option<Label> {
        let labels = self.out.domains[domain].labels;
        let made = match (labels, literal) {
            (Labels::Text | Labels::Date | Labels::Timestamp, Literal::Text(text)) => label::label(text, labels),
            (Labels::Integer(_) | Labels::Decimal(_), Literal::Int(_) | Literal::Float(_)) => {
                label::label(&written(literal), labels)
            }
            _ => None,
        };
        if made.is_none() {
            let what = match labels {
                Labels::Text => "texts, written \"…\"".to_string(),
                Labels::Date => "dates, written \"1994-12-31\"".to_string(),
                Labels::Timestamp => format!("timestamps, written {}", super::time::EXAMPLE),
                Labels::Integer(ty) => format!("integers of type {ty}"),
                Labels::Decimal(digits) => format!("decimals with at most {digits} digits behind the point"),
            };
            let message = format!("`{literal}` is no label of `{}`", self.domain_name(domain));
            self.say(span, message, format!("its labels are {what}"));
        }
        made
    }

    /// The name of the operand that holds this.
    pub(super) fn ask(&mut self, what: What) -> String {
        if let Some(asked) = self.out.asked.iter().find(|asked| asked.what == what) {
            return asked.tensor.clone();
        }
        let of = match &what {
            What::Extent(d) => format!("{}_labels", self.domain_name(*d)),
            What::Values(d) => format!("{}_values", self.domain_name(*d)),
            What::Lengths(d) => format!("{}_lengths", self.domain_name(*d)),
            What::Mapped(from, _, to) => format!("{}_of_{}", self.domain_name(*to), self.domain_name(*from)),
            What::At(d, _) => format!("{}_at", self.domain_name(*d)),
            What::Below(d, _) => format!("{}_below", self.domain_name(*d)),
            What::UpTo(d, _) => format!("{}_up_to", self.domain_name(*d)),
            What::Passes(d, _) => format!("{}_is", self.domain_name(*d)),
            What::Column { table, column, .. } => format!("{}_is", self.out.tables[*table].columns[*column].name),
        };
        let tensor = self.fresh(&of);
        self.out.asked.push(super::Asked { tensor: tensor.clone(), what });
        tensor
    }

    /// The function that says a part of a date.
    pub(super) fn part(&mut self, part: usize) -> String {
        if self.parts[part].is_none() {
            self.parts[part] = Some(self.fresh(calendar::PARTS[part].1));
        }
        self.parts[part].clone().expect("it has a name now")
    }

    /// A name like this one that the program does not have.
    pub(super) fn fresh(&mut self, like: &str) -> String {
        let numbered = (2..).map(|n| format!("{like}_{n}"));
        let free = |name: &String| !self.taken.contains(name);
        let name = std::iter::once(like.to_string()).chain(numbered).find(free).expect("there are names enough");
        self.taken.insert(name.clone());
        name
    }

    /// The plain program: declarations of what tables and labels become, and these items.
    pub(super) fn declared(&mut self, items: Vec<Item>) -> Vec<Item> {
        self.extents();
        let tensors: Vec<syntax::Tensor> = (0..self.out.tables.len()).flat_map(|t| self.tensors_of(t)).collect();
        let beside: Vec<syntax::Tensor> = tensors.iter().filter_map(|t| self.declared_beside(t)).collect();
        let mut all: Vec<Item> = tensors.into_iter().chain(beside).map(Item::Tensor).collect();
        all.extend(self.largest_of_turns());
        for asked in &self.out.asked {
            let span = Span::default();
            let over = |d: &usize| Size::Name(Ident { name: self.out.domains[*d].name.clone(), span });
            let (ty, sizes, format) = match &asked.what {
                What::Extent(d) => (Type::Bool, vec![over(d)], Some("sparse")),
                What::Values(d) | What::Lengths(d) | What::Mapped(d, ..) => (Type::I64, vec![over(d)], None),
                What::Passes(d, _) => (Type::Bool, vec![over(d)], None),
                What::At(..) | What::Below(..) | What::UpTo(..) => (Type::I64, vec![], None),
                What::Column { table, .. } => {
                    let (sizes, format) = self.shapes[*table].clone();
                    let name = Ident { name: asked.tensor.clone(), span };
                    let sort = Sort::Plain(Type::Bool);
                    all.push(Item::Tensor(syntax::Tensor { name, sort, sizes, fill: None, format }));
                    continue;
                }
            };
            let ident = |name: &str| Ident { name: name.to_string(), span };
            let format = format.map(|name| Format::named(ident(name)));
            let tensor =
                syntax::Tensor { name: ident(&asked.tensor), sort: Sort::Plain(ty), sizes, fill: None, format };
            all.push(Item::Tensor(tensor));
        }
        let parts = self.parts.iter().enumerate().filter_map(|(part, name)| Some((part, name.as_ref()?)));
        all.extend(parts.map(|(part, name)| Item::Function(calendar::function(part, name))));
        all.extend(self.routines.iter().map(|(routine, name)| Item::Function(routine.function(name))));
        all.extend(self.means.drain(..).map(Item::Tensor));
        all.extend(items);
        all
    }

    /// Asks for the extent of each domain that no operand has as a mode.
    fn extents(&mut self) {
        for domain in 0..self.out.domains.len() {
            let read = self.out.tables.iter().filter(|t| !t.made);
            let has = read.flat_map(|t| &t.modes).any(|m| m.over == Over::Domain(domain));
            let asked = |a: &super::Asked| matches!(a.what, What::Values(d) | What::Lengths(d) | What::Passes(d, _) | What::Mapped(d, ..) if d == domain);
            if !has && !self.out.asked.iter().any(asked) {
                self.ask(What::Extent(domain));
            }
        }
    }

    /// The type of a column's tensor.
    fn stored_as(&self, column: &Column) -> Type {
        self.fitted.stored.get(&column.name).copied().unwrap_or(stored(column.holds))
    }

    /// The tensors of a table: of one that is made, those that statements define.
    fn tensors_of(&self, table: usize) -> Vec<syntax::Tensor> {
        let (of, (sizes, format)) = (&self.out.tables[table], &self.shapes[table]);
        let tensor = |name: &str, ty: Type, fill: Literal, span: Span| syntax::Tensor {
            name: Ident { name: name.to_string(), span },
            sort: Sort::Plain(ty),
            sizes: sizes.clone(),
            fill: Some((fill, span)),
            format: format.clone(),
        };
        let rows = tensor(&of.name, Type::Bool, Literal::Bool(false), of.span);
        let columns = of.columns.iter().filter(|c| c.holds != Holds::Text);
        let columns = columns.map(|c| tensor(&c.name, self.stored_as(c), self.known[&c.name].fill.clone(), c.span));
        let all = std::iter::once(rows).chain(columns);
        all.filter(|t| !of.made || self.is_result(&t.name.name)).collect()
    }
}

/// The type of values that hold this.
pub(super) fn stored(holds: Holds) -> Type {
    match holds {
        Holds::Plain(ty) => ty,
        Holds::Text => Type::Bool,
        Holds::Date | Holds::Timestamp | Holds::Decimal(_) | Holds::Domain(_) => Type::I64,
    }
}

/// A number as it is written, without an exponent.
pub(super) fn written(literal: &Literal) -> String {
    match literal {
        Literal::Float(x) => format!("{}", x.0),
        other => other.to_string(),
    }
}
