//! Draws statements whose terms are covered: lists, or conditions that hold at few coordinates, join all of a term's variables, so that
//! there is a way to compute it in time that its entries take.

use super::super::long::data::Random;
use super::statement::{Access, Factor, Place, SHORT, Span, Statement, Term};

/// Conditions on two variables, `%a` and `%b`, of which each that is joined by the other has few coordinates beside it; `x@a` is an element.
const JOINING: [&str; 7] =
    ["%a == %b", "abs(%a - %b) < 3", "%a <= %b && %b < %a + 4", "g@a == g@b", "p@a == %b", "%a == q@b", "A@ab > 1.0"];

/// Other conditions.
const CONDITIONS: [&str; 9] = [
    "%a < %b",
    "%a >= %b",
    "%a != %b",
    "x@a > x@b",
    "x@a > 2.0",
    "g@a != g@b",
    "%a + 2 > %b && x@a < 3.0",
    "z@a + x@b > 4.0 || %a == %b",
    "B@ab != 2.0",
];

/// Functions of which that of 0 is 0.
const ZERO: [&str; 11] = [
    "max(_, 0.0)",
    "abs(_)",
    "-(_)",
    "2.0 * (_)",
    "(_) / 3.0",
    "sqrt(abs(_))",
    "min(_, 2.0)",
    "floor((_) / 2.0)",
    "tanh(_)",
    "expm1((_) / 8.0)",
    "sign(_)",
];

/// Functions of elements that are not 0 where nothing is stored.
const LOOSE: [&str; 5] = ["(_ + 1.0)", "exp(_ / 8.0)", "(1.0 - _)", "max(_, 1.0)", "(2.0 + abs(_))"];

/// Formats of matrices; a level behind `/` is one for entries near the diagonal.
pub const MATRICES: [&str; 24] = [
    "csr",
    "csr",
    "csr",
    "csc",
    "csc",
    "csc",
    "coo",
    "coo",
    "coo order(1, 0)",
    "dcsr",
    "dcsc",
    "{dense, hashed}",
    "{dense, hashed} order(1, 0)",
    "{compressed, hashed}",
    "{hashed, compressed}",
    "{dense, vbl}",
    "{dense, vbl} order(1, 0)",
    "{dense, blocked}",
    "{dense, band}",
    "{dense, band} order(1, 0)",
    "{dense, runs}",
    "{dense, runs} order(1, 0)",
    "{dense, packbits}",
    "{compressed, vbl}",
];

/// Formats of tensors of three modes.
pub const TREES: [&str; 9] = [
    "csf",
    "csf",
    "coo",
    "{dense, compressed, compressed}",
    "{compressed, compressed, compressed} order(2, 1, 0)",
    "{compressed, compressed, compressed} order(1, 2, 0)",
    "{dense, compressed, compressed} order(2, 0, 1)",
    "{compressed, hashed, compressed}",
    "{compressed, compressed, vbl}",
];

/// Formats of vectors of few entries.
pub const VECTORS: [&str; 4] = ["sparse", "sparse", "hashed", "vbl"];

/// Formats of matrices that are results.
pub const RESULTS: [&str; 10] =
    ["csr", "csr", "csc", "csc", "coo", "dcsr", "dcsc", "{dense, hashed}", "{dense, vbl}", "{compressed, hashed}"];

/// A statement, whose result is declared or not.
pub fn statement(random: &mut Random, declared: bool) -> Statement {
    let left = random.one(&[0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3]);
    let folded = match left {
        0 => random.one(&[1, 2, 2, 3]),
        1 => random.one(&[0, 1, 1, 1, 2, 2]),
        2 => random.one(&[0, 0, 0, 0, 1, 1, 1, 2]),
        _ => random.one(&[0, 0, 1]),
    };
    Drawing { random, spans: vec![], variables: left + folded }.statement(left, declared)
}

/// A statement in the making.
struct Drawing<'r> {
    random: &'r mut Random,
    spans: Vec<Span>,
    variables: usize,
}

impl Drawing<'_> {
    /// Whether something happens that does once in so many times.
    fn once_in(&mut self, n: u64) -> bool {
        self.random.below(n) == 0
    }

    fn statement(mut self, left: usize, declared: bool) -> Statement {
        self.spans = (0..self.variables).map(|_| self.span()).collect();
        let folded: Vec<usize> = (left..self.variables).collect();
        let scattered = (declared && left > 0 && self.once_in(8)).then(|| {
            let mode = self.random.below(left as u64) as usize;
            self.spans[mode] = Span::Whole;
            (mode, self.random.one(&["p", "q", "g"]))
        });
        let assign = match (scattered, declared && self.once_in(8)) {
            (None, false) => "=",
            _ => self.random.one(&["+=", "+=", "max=", "min="]),
        };
        let written = assign == "=" && !folded.is_empty() && self.once_in(2);
        let fold = written.then(|| self.random.one(&["sum", "max", "max", "min"]));
        let inner = written && folded.len() > 1 && self.once_in(2);
        let short = left < 3 && left > 0 && self.variables < 4 && self.once_in(8);
        let count = self.random.one(&[1, 1, 1, 1, 1, 2, 2, 3]);
        let mut terms: Vec<Term> = (0..count).map(|_| self.term()).collect();
        let mut vars: Vec<usize> = (0..left).collect();
        if self.once_in(4) {
            vars.reverse();
        }
        let scattered = scattered.map(|(mode, by)| (vars.iter().position(|v| *v == mode).expect("it is there"), by));
        if short {
            vars.push(SHORT);
            let v = vars[0];
            terms.iter_mut().for_each(|t| t.factors.push(Factor::Element(self.thin("U", v))));
        }
        let function = if self.once_in(6) { self.random.one(&ZERO) } else { "_" };
        let mut all =
            Statement { spans: self.spans, left: vars, scattered, assign, folded, fold, inner, terms, function };
        all.extend(declared);
        all
    }

    fn span(&mut self) -> Span {
        if self.once_in(8) { self.random.one(&[Span::Inner, Span::Even]) } else { Span::Whole }
    }

    /// An element of a matrix of few columns.
    fn thin(&mut self, name: &'static str, v: usize) -> Access {
        Access { tensor: name, at: vec![(v, self.nearest(v)), (SHORT, Place::Bare)] }
    }

    fn nearest(&mut self, v: usize) -> Place {
        if self.spans[v] == Span::Whole { Place::Bare } else { Place::Part(0) }
    }

    /// Where an access is.
    fn place(&mut self, v: usize) -> Place {
        let span = self.spans[v];
        match span {
            Span::Inner => Place::Part(self.random.below(3) as i64),
            Span::Even => Place::Part(self.random.below(2) as i64),
            Span::Whole if !self.once_in(6) => Place::Bare,
            Span::Whole => self.random.one(&[
                Place::Reversed,
                Place::Reversed,
                Place::Read("p"),
                Place::Read("q"),
                Place::Read("g"),
                Place::Shifted(1),
                Place::Shifted(-2),
                Place::Turned,
                Place::Halved,
            ]),
        }
    }

    fn access(&mut self, tensor: &'static str, vars: &[usize]) -> Access {
        Access { tensor, at: vars.iter().map(|v| (*v, self.place(*v))).collect() }
    }

    fn shuffled(&mut self, vars: &[usize]) -> Vec<usize> {
        let mut all = vars.to_vec();
        for n in (1..all.len()).rev() {
            all.swap(n, self.random.below(n as u64 + 1) as usize);
        }
        all
    }

    /// An element of a sparse matrix under two variables.
    fn matrix(&mut self, vars: [usize; 2]) -> Factor {
        let name = self.random.one(&["A", "A", "B", "C"]);
        let vars = self.shuffled(&vars);
        let element = self.access(name, &vars);
        if self.once_in(12) {
            let vars = self.shuffled(&vars);
            let other = self.access("B", &vars);
            return Factor::Both(self.random.one(&["+", "-"]), element, other);
        }
        Factor::Element(element)
    }

    /// A product that is covered.
    fn term(&mut self) -> Term {
        let all: Vec<usize> = (0..self.variables).collect();
        let order = self.shuffled(&all);
        let (mut factors, mut covered) = (vec![], vec![order[0]]);
        if order.len() == 1 {
            factors.push(self.one(order[0]));
        }
        while covered.len() < order.len() {
            let from = self.random.one(&covered);
            let rest = &order[covered.len()..];
            if rest.len() > 1 && self.once_in(3) {
                let vars = self.shuffled(&[from, rest[0], rest[1]]);
                let name = self.random.one(&["T", "T", "S"]);
                factors.push(Factor::Element(self.access(name, &vars)));
                covered.extend([rest[0], rest[1]]);
                continue;
            }
            let pair = [from, rest[0]];
            factors.push(if self.once_in(10) {
                Factor::Where(self.random.one(&JOINING), pair.to_vec())
            } else {
                self.matrix(pair)
            });
            covered.push(rest[0]);
        }
        for _ in 0..self.random.one(&[0, 0, 0, 0, 1, 1, 1, 2]) {
            let further = self.further();
            factors.push(further);
        }
        let function = if self.once_in(8) { self.random.one(&ZERO) } else { "_" };
        Term { minus: self.once_in(3), factors, function }
    }

    /// What covers one variable: a list, or a diagonal.
    fn one(&mut self, v: usize) -> Factor {
        match self.random.below(3) {
            0 => Factor::Element(self.access("A", &[v, v])),
            _ => Factor::Element(self.access("v", &[v])),
        }
    }

    /// What covers nothing by itself.
    fn further(&mut self) -> Factor {
        let vars: Vec<usize> = (0..self.variables).collect();
        let (a, b) = (self.random.one(&vars), self.random.one(&vars));
        match self.random.below(10) {
            0..4 => {
                let name = self.random.one(&["x", "x", "z"]);
                Factor::Element(self.access(name, &[a]))
            }
            4 => Factor::Element(self.access("v", &[a])),
            5 | 6 if a != b => self.matrix([a, b]),
            7 if a != b => {
                let function = self.random.one(&LOOSE);
                Factor::Of(function, self.access("B", &[a, b]))
            }
            8 if a != b => Factor::Where(self.random.one(&CONDITIONS), vec![a, b]),
            _ => {
                let name = self.random.one(&["x", "v"]);
                Factor::Of(self.random.one(&LOOSE), self.access(name, &[a]))
            }
        }
    }
}
