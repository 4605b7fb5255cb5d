//! Statements as people write them: terms that lists cover, at coordinates that are turned round, shifted, read from a tensor, folded.

use std::fmt::{self, Display};

/// The names of index variables; `m` is one of few coordinates.
pub const NAMES: [&str; 5] = ["i", "j", "k", "l", "m"];

/// The variable of few coordinates.
pub const SHORT: usize = 4;

/// How far an index variable goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Over the extent of a mode.
    Whole,
    /// Over all of it but two coordinates.
    Inner,
    /// Over each second coordinate.
    Even,
}

/// Where an access is, of one mode's variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `i`
    Bare,
    /// `N-1-i`
    Reversed,
    /// `p[i]`
    Read(&'static str),
    /// `~(i+1)`: 0 outside of the array.
    Shifted(i64),
    /// `(i+3) % N`
    Turned,
    /// `i/2`
    Halved,
    /// `i(1:N-1)`, `i(0:N:2)`: the part of a mode that begins here.
    Part(i64),
}

/// An element of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    pub tensor: &'static str,
    /// The variable of each mode, and where.
    pub at: Vec<(usize, Place)>,
}

/// What terms multiply.
#[derive(Clone, Debug)]
pub enum Factor {
    /// An element.
    Element(Access),
    /// A function of an element, which stands in the place of `_`.
    Of(&'static str, Access),
    /// Two elements of the same variables, joined by an operator.
    Both(&'static str, Access, Access),
    /// A condition ([`super::draw::CONDITIONS`]) on these variables.
    Where(&'static str, Vec<usize>),
}

/// A product, and a function of it, in which it stands in the place of `_`.
#[derive(Clone, Debug)]
pub struct Term {
    pub minus: bool,
    pub factors: Vec<Factor>,
    pub function: &'static str,
}

/// One statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// How far each variable goes, of [`NAMES`] but the short one.
    pub spans: Vec<Span>,
    /// The variables of the left side.
    pub left: Vec<usize>,
    /// A mode of the left side, and a tensor that says where in it.
    pub scattered: Option<(usize, &'static str)>,
    /// `=`, `+=`, `max=`.
    pub assign: &'static str,
    /// The variables that a written fold has, outer ones first.
    pub folded: Vec<usize>,
    /// The function of the fold; none: sums are not written.
    pub fold: Option<&'static str>,
    /// Whether the last folded variable is summed within it.
    pub inner: bool,
    pub terms: Vec<Term>,
    /// A function of it all.
    pub function: &'static str,
}

impl Statement {
    /// Index of a variable at a place.
    pub fn index(&self, (v, place): (usize, Place)) -> String {
        let name = NAMES[v];
        match (place, self.spans.get(v)) {
            (Place::Bare, _) => name.to_string(),
            (Place::Reversed, _) => format!("N-1-{name}"),
            (Place::Read(by), _) => format!("{by}[{name}]"),
            (Place::Shifted(by), _) => format!("~({name}{by:+})"),
            (Place::Turned, _) => format!("({name}+3) % N"),
            (Place::Halved, _) => format!("{name}/2"),
            (Place::Part(from), Some(Span::Even)) => format!("{name}({from}:N:2)"),
            (Place::Part(2), _) => format!("{name}(2:N)"),
            (Place::Part(from), _) => format!("{name}({from}:N-{})", 2 - from),
        }
    }

    fn element(&self, access: &Access) -> String {
        let indices: Vec<String> = access.at.iter().map(|at| self.index(*at)).collect();
        let element = format!("{}[{}]", access.tensor, indices.join(", "));
        let leaves = access.at.iter().any(|(_, place)| matches!(place, Place::Shifted(_)));
        if leaves { format!("coalesce({element}, 0.0)") } else { element }
    }

    /// A condition, with its variables in the places of `%a` and `%b`, and elements at these in those of `x@a`.
    fn condition(&self, words: &str, vars: &[usize]) -> String {
        let letter = |c: char| vars[if c == 'a' { 0 } else { 1 }];
        let (mut all, mut rest) = (String::new(), words.chars().peekable());
        while let Some(c) = rest.next() {
            match c {
                '%' if matches!(rest.peek(), Some('a' | 'b')) => {
                    all += NAMES[letter(rest.next().expect("a letter"))];
                }
                '@' => {
                    let mut at = vec![];
                    while let Some(c) = rest.next_if(|c| matches!(c, 'a' | 'b')) {
                        at.push(self.index((letter(c), self.nearest(letter(c)))));
                    }
                    all += &format!("[{}]", at.join(", "));
                }
                other => all.push(other),
            }
        }
        all
    }

    /// The plainest place of a variable.
    pub fn nearest(&self, v: usize) -> Place {
        match self.spans.get(v) {
            None | Some(Span::Whole) => Place::Bare,
            Some(Span::Inner | Span::Even) => Place::Part(0),
        }
    }

    fn term(&self, term: &Term) -> String {
        let (mut product, mut conditions) = (vec![], vec![]);
        for factor in &term.factors {
            match factor {
                Factor::Element(a) => product.push(self.element(a)),
                Factor::Of(function, a) => product.push(function.replace('_', &self.element(a))),
                Factor::Both(op, a, b) => product.push(format!("({} {op} {})", self.element(a), self.element(b))),
                Factor::Where(words, vars) => conditions.push(self.condition(words, vars)),
            }
        }
        let product = if product.is_empty() { "1.0".to_string() } else { product.join(" * ") };
        let masked = |body, condition| format!("mask({condition}, {body})");
        term.function.replace('_', &conditions.into_iter().fold(product, masked))
    }

    /// The left side.
    fn access(&self) -> String {
        let place = |(mode, v): (usize, &usize)| {
            match self.scattered {
                Some((scattered, by)) if scattered == mode => Place::Read(by),
                _ => Place::Bare,
            }
            .of(*v)
        };
        let indices: Vec<String> = self.left.iter().enumerate().map(place).map(|at| self.index(at)).collect();
        format!("R[{}]", indices.join(", "))
    }

    /// The sizes of the result: names of their own where a variable does not go over the extent.
    pub fn sizes(&self) -> Vec<String> {
        let size = |v: &usize| match self.spans.get(*v) {
            None => "M".to_string(),
            Some(Span::Whole) => "N".to_string(),
            Some(Span::Inner | Span::Even) => format!("E{}", NAMES[*v]),
        };
        self.left.iter().map(size).collect()
    }

    /// The accesses of all terms.
    pub fn accesses_mut(&mut self) -> impl Iterator<Item = &mut Access> {
        let factors = self.terms.iter_mut().flat_map(|t| &mut t.factors);
        factors.flat_map(|factor| match factor {
            Factor::Element(a) | Factor::Of(_, a) => vec![a],
            Factor::Both(_, a, b) => vec![a, b],
            Factor::Where(..) => vec![],
        })
    }

    /// Has the first access under a variable be at the variable itself, if nothing else says how far it goes.
    pub fn extend(&mut self, declared: bool) {
        for v in 0..self.spans.len() {
            let is_left = declared && self.scattered.is_none() && self.left.contains(&v);
            if is_left || self.spans[v] != Span::Whole || self.says(v) {
                continue;
            }
            if let Some(at) = self.accesses_mut().flat_map(|a| &mut a.at).find(|at| at.0 == v) {
                at.1 = Place::Bare;
            }
        }
    }

    /// Whether an element or a condition has a variable as an index by itself.
    fn says(&mut self, v: usize) -> bool {
        let bare = |at: &(usize, Place)| at.0 == v && matches!(at.1, Place::Bare | Place::Read(_));
        let read = |factor: &Factor| match factor {
            Factor::Where(words, vars) => words.split('@').skip(1).any(|at| {
                at.chars().zip("ab".chars()).any(|(c, _)| {
                    let letter = match c {
                        'a' => 0,
                        'b' => 1,
                        _ => return false,
                    };
                    vars[letter] == v
                })
            }),
            _ => false,
        };
        self.terms.iter().flat_map(|t| &t.factors).any(read) || self.accesses_mut().flat_map(|a| &a.at).any(bare)
    }

    /// Words for what stands in it.
    pub fn words(&self) -> Vec<String> {
        let mut all = vec![format!("{} terms", self.terms.len()), format!("assigned by {}", self.assign)];
        all.extend(self.fold.map(|fold| format!("fold {fold}")));
        all.extend(self.scattered.map(|_| "scattered".to_string()));
        all.extend(self.clone().accesses_mut().flat_map(|a| &a.at).map(|(_, place)| format!("place {}", place.name())));
        for factor in self.terms.iter().flat_map(|t| &t.factors) {
            all.extend(match factor {
                Factor::Where(words, _) => Some(format!("where {words}")),
                Factor::Of(function, _) => Some(format!("function {function}")),
                Factor::Element(_) | Factor::Both(..) => None,
            });
        }
        let functions = self.terms.iter().map(|t| t.function).chain([self.function]).filter(|f| *f != "_");
        all.extend(functions.map(|f| format!("function {f}")));
        all
    }

    /// Statements that are one step smaller.
    pub fn smaller(&self) -> Vec<Statement> {
        let mut all = vec![];
        let mut change = |f: &dyn Fn(&mut Statement)| {
            let mut smaller = self.clone();
            f(&mut smaller);
            all.push(smaller);
        };
        for t in 0..self.terms.len() {
            if self.terms.len() > 1 {
                change(&|s| drop(s.terms.remove(t)));
            }
            for f in 0..self.terms[t].factors.len() {
                if self.terms[t].factors.len() > 1 {
                    change(&|s| drop(s.terms[t].factors.remove(f)));
                }
                if let Factor::Of(_, a) | Factor::Both(_, a, _) = &self.terms[t].factors[f] {
                    change(&|s| s.terms[t].factors[f] = Factor::Element(a.clone()));
                }
            }
            if self.terms[t].function != "_" {
                change(&|s| s.terms[t].function = "_");
            }
            if self.terms[t].minus {
                change(&|s| s.terms[t].minus = false);
            }
        }
        if self.function != "_" {
            change(&|s| s.function = "_");
        }
        if self.scattered.is_some() {
            change(&|s| s.scattered = None);
        }
        if self.assign != "=" && self.scattered.is_none() {
            change(&|s| s.assign = "=");
        }
        if self.inner {
            change(&|s| s.inner = false);
        }
        for v in 0..self.spans.len() {
            if self.spans[v] != Span::Whole {
                change(&|s| s.spread(v));
            }
        }
        let places = self.clone().accesses_mut().map(|a| a.at.len()).collect::<Vec<_>>();
        for (n, m) in places.iter().enumerate().flat_map(|(n, len)| (0..*len).map(move |m| (n, m))) {
            let plain = |s: &mut Statement| {
                let access = s.accesses_mut().nth(n).expect("it is there");
                if self.spans.get(access.at[m].0) == Some(&Span::Whole) {
                    access.at[m].1 = Place::Bare;
                }
            };
            let mut plainer = self.clone();
            plain(&mut plainer);
            if plainer.to_string() != self.to_string() {
                change(&plain);
            }
        }
        all
    }

    /// Has a variable go over the whole extent.
    fn spread(&mut self, v: usize) {
        self.spans[v] = Span::Whole;
        self.accesses_mut().flat_map(|a| &mut a.at).filter(|at| at.0 == v).for_each(|at| at.1 = Place::Bare);
    }
}

impl Place {
    /// A word for it.
    fn name(self) -> &'static str {
        match self {
            Place::Bare => "bare",
            Place::Reversed => "reversed",
            Place::Read(_) => "read",
            Place::Shifted(_) => "shifted",
            Place::Turned => "turned",
            Place::Halved => "halved",
            Place::Part(_) => "part",
        }
    }

    fn of(self, v: usize) -> (usize, Place) {
        (v, self)
    }
}

impl Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut terms = String::new();
        for (n, term) in self.terms.iter().enumerate() {
            let sign = match (n, term.minus) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            terms += sign;
            terms += &self.term(term);
        }
        let names = |vars: &[usize]| vars.iter().map(|v| NAMES[*v]).collect::<Vec<_>>().join(", ");
        let folded = match (self.fold, self.folded.split_last()) {
            (Some(fold), Some((last, outer))) if self.inner && !outer.is_empty() => {
                format!("{fold}({}: sum({}: {terms}))", names(outer), NAMES[*last])
            }
            (Some(fold), Some(_)) => format!("{fold}({}: {terms})", names(&self.folded)),
            _ => terms,
        };
        write!(f, "{} {} {}", self.access(), self.assign, self.function.replace('_', &folded))
    }
}
