//! Laws of lists of few entries, at any 64-bit coordinates: every path through a law's text is walked.
//!
//! ```text
//!   data  ──▶  Walk: runs the text on them, and      path        c₀ < c₁, c₀ < t, ¬(c₁ < t)
//!     ▲        notes each condition as a term  ──▶   its claims  asked: can the path be, and a claim not hold?
//!     └──────  solver  ◀── paths that turn off: c₀ < c₁, ¬(c₀ < t); …
//! ```
//!
//! A number is its value on the data at hand, and a term of the solver's over all data where it depends on them. What
//! decides where the text goes is a condition of the path; each condition is asked once whether it can be otherwise, so
//! that the paths are all there are. A place of an array that is no constant is a condition, too: "it is this one".
//! (Concolic execution: Godefroid, Klarlund, Sen, DART, 2005.)

use crate::domain::{Answer, Reply, ask};
use crate::word::{Kind, Word};
use fiberloom_loops::stream::{Arith, Compare, Concrete, Domain, State, TABLE};
use fiberloom_loops::{BufferId, LANES, Sought};
use fiberloom_proofs::claims::{Claims, Data, Given, Law, Order, Place};
use std::collections::HashSet;
use z3::Model;
use z3::ast::Bool;

/// Turns that all loops of a run may take.
pub const FUEL: u32 = 500;

/// A number: its value, and its term if it depends on the data.
#[derive(Clone, Debug)]
pub struct Num {
    value: i64,
    term: Option<Word>,
}

/// A truth value.
#[derive(Clone, Debug)]
pub struct Truth {
    value: bool,
    term: Option<Bool>,
}

impl Num {
    fn constant(value: i64) -> Num {
        Num { value, term: None }
    }

    fn term(&self, kind: Kind) -> Word {
        self.term.clone().unwrap_or_else(|| kind.constant(self.value))
    }
}

impl Truth {
    fn constant(value: bool) -> Truth {
        Truth { value, term: None }
    }
}

/// Terms of a law's data, for lists of so many entries.
struct Terms {
    kind: Kind,
    arrays: Vec<Vec<Word>>,
    numbers: Vec<Word>,
    /// The number of places of the law's table.
    places: i64,
    /// What is known of them.
    facts: Vec<Bool>,
}

impl Terms {
    fn new<L: Law>(lengths: &[usize], places: i64) -> Terms {
        let kind = if L::WRAPS { Kind::Bits } else { Kind::Whole };
        let array = |(n, length): (usize, &usize)| (0..*length).map(|k| kind.unknown(format!("a{n}_{k}"))).collect();
        let arrays: Vec<Vec<Word>> = lengths.iter().enumerate().map(array).collect();
        let numbers: Vec<Word> = (0..L::NUMBERS).map(|n| kind.unknown(format!("n{n}"))).collect();
        let (zero, most) = (kind.constant(0), kind.constant(i64::MAX));
        let mut facts: Vec<Bool> = numbers.iter().filter_map(Word::fits).collect();
        for (array, order) in arrays.iter().zip(L::ARRAYS) {
            for (k, x) in array.iter().enumerate() {
                facts.extend([zero.compare(Compare::Le, x), x.compare(Compare::Lt, &most)]);
                match (k.checked_sub(1).map(|before| &array[before]), order) {
                    (Some(before), Order::Ascending) => facts.push(before.compare(Compare::Lt, x)),
                    (Some(before), Order::Repeating) => facts.push(before.compare(Compare::Le, x)),
                    _ => {}
                }
            }
        }
        Terms { kind, arrays, numbers, places, facts }
    }

    /// The data of a model.
    fn data(&self, model: &Model) -> Data {
        let beside = |array: &Vec<Word>| {
            let own: Vec<i64> = array.iter().map(|x| x.value(model)).collect();
            let (first, last) = (own.first().copied().unwrap_or(0), own.last().copied().unwrap_or(0));
            [&[first][..], &own, &[last]].concat()
        };
        let arrays = self.arrays.iter().map(beside).collect();
        let numbers = self.numbers.iter().map(|x| x.value(model)).collect();
        Data { arrays, numbers, places: self.places as usize }
    }
}

/// One run of a law's text on data, with terms.
pub struct Walk<'t> {
    terms: &'t Terms,
    data: &'t Data,
    /// What was stored in the table, in order; its places are 0 at first.
    stored: Vec<(Num, Num)>,
    vars: Vec<Num>,
    fuel: u32,
    /// The conditions that led here, and whether each is assumed.
    path: Vec<(Bool, bool)>,
    known: HashSet<Bool>,
    claims: Vec<(&'static str, Bool)>,
    fault: Option<&'static str>,
    /// Whether an assumption failed.
    moot: bool,
}

impl Walk<'_> {
    /// Whether a condition holds here; the path depends on it.
    fn decide(&mut self, c: &Truth) -> bool {
        if let Some(term) = &c.term {
            self.note(if c.value { term.clone() } else { term.not() }, false);
        }
        c.value
    }

    fn note(&mut self, c: Bool, assumed: bool) {
        if !self.moot && self.known.insert(c.clone()) {
            self.path.push((c, assumed));
        }
    }

    /// The value of a place; the path depends on it.
    fn pin(&mut self, x: &Num) -> i64 {
        if let Some(term) = &x.term {
            self.note(term.compare(Compare::Eq, &term.kind().constant(x.value)), false);
        }
        x.value
    }

    fn fail(&mut self, what: &'static str) {
        if !self.moot {
            self.fault.get_or_insert(what);
        }
    }

    fn burn(&mut self) -> bool {
        if self.fuel == 0 {
            self.fail("a loop does not end");
        }
        self.fuel = self.fuel.saturating_sub(1);
        self.fuel > 0 && self.fault.is_none() && !self.moot
    }
}

impl Domain for Walk<'_> {
    type I = Num;
    type B = Truth;

    fn int(&mut self, c: i64) -> Num {
        Num::constant(c)
    }
    fn state(&mut self, _: &str, init: Num) -> State {
        self.vars.push(init);
        State(self.vars.len() as u32 - 1)
    }
    fn get(&mut self, s: State) -> Num {
        self.vars[s.0 as usize].clone()
    }
    fn set(&mut self, s: State, x: Num) {
        self.vars[s.0 as usize] = x;
    }
    fn snapshot(&mut self, _: &str, x: Num) -> Num {
        x
    }
    fn load(&mut self, array: BufferId, i: &Num) -> Num {
        if array == TABLE {
            return self.load_stored(i);
        }
        let place = self.pin(i);
        let cells = &self.terms.arrays[array.0 as usize];
        match usize::try_from(place).ok().filter(|k| (1..=cells.len()).contains(k)) {
            Some(k) => Num { value: self.data.arrays[array.0 as usize][k], term: Some(cells[k - 1].clone()) },
            None => {
                self.fail("a load out of bounds");
                Num::constant(0)
            }
        }
    }
    fn among(&mut self, sought: Sought, array: BufferId, [begin, end, target]: [&Num; 3]) -> Num {
        let (begin, end) = (self.pin(begin), self.pin(end));
        let lanes = end.saturating_sub(begin).clamp(0, LANES);
        let elements: Vec<Num> = (0..lanes).map(|k| self.load(array, &Num::constant(begin + k))).collect();
        for (k, element) in elements.iter().enumerate() {
            let (below, alike) =
                (self.compare(Compare::Lt, element, target), self.compare(Compare::Eq, element, target));
            let is_it = match sought {
                Sought::Target => alike,
                Sought::NotBelow => self.not(below),
                Sought::Other => self.not(alike),
            };
            if self.decide(&is_it) {
                return Num::constant(k as i64);
            }
        }
        Num::constant(if sought == Sought::Target { LANES } else { lanes })
    }
    fn store(&mut self, table: BufferId, i: &Num, x: &Num) {
        if table != TABLE || !self.in_table(i) {
            return self.fail("a store out of bounds");
        }
        self.stored.push((i.clone(), x.clone()));
    }
    fn capacity(&mut self, array: BufferId) -> Num {
        let places = if array == TABLE { self.terms.places } else { self.data.arrays[array.0 as usize].len() as i64 };
        Num::constant(places)
    }
    fn trailing_zeros(&mut self, x: &Num) -> Num {
        Num::constant(self.pin(x).trailing_zeros().into())
    }
    fn arith(&mut self, op: Arith, a: &Num, b: &Num) -> Num {
        let value = Concrete::new(&[], 0).arith(op, &a.value, &b.value);
        if a.term.is_none() && b.term.is_none() {
            return Num::constant(value);
        }
        let (kind, constant) = (self.terms.kind, b.term.is_none().then_some(b.value));
        let (x, y) = (a.term(kind), b.term(kind));
        let term = match (x.arith(op, &y, constant), op, a.term.is_none()) {
            (None, Arith::Mul, true) => y.arith(op, &x, Some(a.value)),
            (term, _, _) => term,
        };
        let Some(term) = term else {
            self.pin(a);
            self.pin(b);
            return Num::constant(value);
        };
        if let (Some(fits), Arith::Add | Arith::Sub | Arith::Mul | Arith::Shl) = (term.fits(), op) {
            let exact = match op {
                Arith::Add => a.value.checked_add(b.value),
                Arith::Sub => a.value.checked_sub(b.value),
                Arith::Mul => a.value.checked_mul(b.value),
                _ => a.value.checked_mul(1 << (b.value & 63).min(62)),
            };
            self.claim("a sum wraps", Truth { value: exact.is_some(), term: Some(fits) });
        }
        Num { value, term: Some(term) }
    }
    fn compare(&mut self, op: Compare, a: &Num, b: &Num) -> Truth {
        let value = Concrete::new(&[], 0).compare(op, &a.value, &b.value);
        if a.term.is_none() && b.term.is_none() {
            return Truth::constant(value);
        }
        let (x, y) = (a.term(self.terms.kind), b.term(self.terms.kind));
        Truth { value, term: Some(x.compare(op, &y)) }
    }
    fn snapshot_bool(&mut self, _: &str, b: Truth) -> Truth {
        b
    }
    fn and(&mut self, a: Truth, b: &dyn Fn(&mut Self) -> Truth) -> Truth {
        if self.decide(&a) { b(self) } else { Truth::constant(false) }
    }
    fn not(&mut self, a: Truth) -> Truth {
        Truth { value: !a.value, term: a.term.map(|term| term.not()) }
    }
    fn or(&mut self, a: Truth, b: Truth) -> Truth {
        if self.decide(&a) { Truth::constant(true) } else { b }
    }
    fn to_int(&mut self, b: &Truth) -> Num {
        Num::constant(self.decide(b) as i64)
    }
    fn select(&mut self, c: &Truth, t: &dyn Fn(&mut Self) -> Num, e: Num) -> Num {
        if self.decide(c) { t(self) } else { e }
    }
    fn branch(&mut self, c: Truth, t: &mut dyn FnMut(&mut Self), e: &mut dyn FnMut(&mut Self)) {
        if self.decide(&c) { t(self) } else { e(self) }
    }
    fn repeat(&mut self, c: &dyn Fn(&mut Self) -> Truth, body: &mut dyn FnMut(&mut Self)) {
        loop {
            let c = c(self);
            if !self.decide(&c) || !self.burn() {
                return;
            }
            body(self);
        }
    }
    fn count(&mut self, _: &str, lo: Num, hi: Num, body: &mut dyn FnMut(&mut Self, Num)) {
        let mut i = lo;
        loop {
            let c = self.compare(Compare::Lt, &i, &hi);
            if !self.decide(&c) || !self.burn() {
                return;
            }
            body(self, i.clone());
            i = self.arith(Arith::Add, &i, &Num::constant(1));
        }
    }
}

impl Walk<'_> {
    /// Whether the table has a place.
    fn in_table(&mut self, i: &Num) -> bool {
        let (zero, places) = (Num::constant(0), Num::constant(self.terms.places));
        let (from, to) = (self.compare(Compare::Le, &zero, i), self.compare(Compare::Lt, i, &places));
        self.decide(&from) && self.decide(&to)
    }

    /// What was last stored at a place.
    fn load_stored(&mut self, i: &Num) -> Num {
        if !self.in_table(i) {
            self.fail("a load out of bounds");
            return Num::constant(0);
        }
        for (place, x) in self.stored.clone().into_iter().rev() {
            let here = self.compare(Compare::Eq, &place, i);
            if self.decide(&here) {
                return x;
            }
        }
        Num::constant(0)
    }
}

impl Claims for Walk<'_> {
    fn claim(&mut self, what: &'static str, b: Truth) {
        if !b.value {
            self.fail(what);
        }
        if let Some(term) = b.term.filter(|term| !self.moot && !self.known.contains(term)) {
            self.claims.push((what, term));
        }
    }
    fn assume(&mut self, b: Truth) {
        if let Some(term) = b.term {
            self.note(term, true);
        } else if !b.value {
            self.note(Bool::from_bool(false), true);
        }
        self.moot |= !b.value;
    }
}

/// A run that has ended.
struct Ended {
    path: Vec<(Bool, bool)>,
    claims: Vec<(&'static str, Bool)>,
    fault: Option<&'static str>,
    moot: bool,
}

fn walk<L: Law>(terms: &Terms, data: &Data) -> Ended {
    let mut d = Walk {
        terms,
        data,
        stored: vec![],
        vars: vec![],
        fuel: FUEL,
        path: vec![],
        known: HashSet::new(),
        claims: vec![],
        fault: None,
        moot: false,
    };
    let place = |(n, order): (usize, &Order)| Place {
        array: BufferId(n as u32),
        begin: Num::constant(1),
        end: Num::constant(1 + terms.arrays[n].len() as i64),
        order: *order,
    };
    let places = L::ARRAYS.iter().enumerate().map(place).collect();
    let number = |(value, term): (&i64, &Word)| Num { value: *value, term: Some(term.clone()) };
    let numbers = data.numbers.iter().zip(&terms.numbers).map(number).collect();
    let table = Num::constant(if L::TABLE { terms.places } else { 0 });
    L::text(&mut d, &Given { places, numbers, table });
    Ended { path: d.path, claims: d.claims, fault: d.fault, moot: d.moot }
}

/// What comes of a law on arrays of these lengths, and a table of so many places.
pub fn of_lengths<L: Law>(lengths: &[usize], places: i64) -> Answer {
    let terms = Terms::new::<L>(lengths, places);
    let (mut paths, mut questions) = (0, 0);
    let mut open: Vec<Vec<Bool>> = vec![vec![]];
    while let Some(path) = open.pop() {
        questions += 1;
        let data = match ask(terms.kind.logic(), terms.facts.iter().chain(&path)) {
            Reply::Never => continue,
            Reply::Unknown(why) => return Answer::Unknown(why),
            Reply::Example(model) => terms.data(&model),
        };
        let ended = walk::<L>(&terms, &data);
        if let (false, Some(said)) = (ended.moot, ended.fault) {
            return Answer::Refuted { said, of: Some(data) };
        }
        let conditions: Vec<Bool> = ended.path.iter().map(|(c, _)| c.clone()).collect();
        for (n, (c, assumed)) in ended.path.iter().enumerate().skip(path.len()) {
            if !assumed {
                open.push([&conditions[..n], &[c.not()]].concat());
            }
        }
        if ended.moot {
            open.push(conditions);
            continue;
        }
        paths += 1;
        questions += 1;
        let broken = Bool::or(&ended.claims.iter().map(|(_, b)| b.not()).collect::<Vec<_>>());
        match ask(terms.kind.logic(), terms.facts.iter().chain(&conditions).chain([&broken])) {
            Reply::Never => {}
            Reply::Unknown(why) => return Answer::Unknown(why),
            Reply::Example(model) => {
                let of = terms.data(&model);
                let said = walk::<L>(&terms, &of).fault.unwrap_or("a claim that holds of the model");
                return Answer::Refuted { said, of: Some(of) };
            }
        }
    }
    if paths == 0 { Answer::Void } else { Answer::Proved { paths, questions } }
}

/// What comes of a law on arrays of up to so many elements each. Data that are all void are refused.
pub fn up_to<L: Law>(most: usize, places: i64) -> Answer {
    let (mut all, mut asked) = (0, 0);
    let mut lengths = vec![0; L::ARRAYS.len()];
    loop {
        match of_lengths::<L>(&lengths, places) {
            Answer::Proved { paths, questions } => (all, asked) = (all + paths, asked + questions),
            Answer::Void => {}
            other => return other,
        }
        let Some(n) = lengths.iter().position(|length| *length < most) else { break };
        lengths[n] += 1;
        lengths[..n].fill(0);
    }
    if all == 0 { Answer::Void } else { Answer::Proved { paths: all, questions: asked } }
}
