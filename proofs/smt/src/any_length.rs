//! Laws of lists of any length: a loop is any turn of it, from a state of which its invariants are all that is known.
//!
//! ```text
//!   repeat c { body }      1. the invariants hold before it
//!                          2. where they and c hold, they hold after the body      (any turn)
//!                          3. behind it, they and ¬c are known
//!                          4. a sum of variables rises at each turn, and is bounded where c holds
//! ```
//!
//! Coordinates and positions are integers; that each sum, difference and product fits 64 bits is a claim of its own. An
//! array is a function; that it ascends is said of all pairs of places that are looked at. Where an array is compared
//! with a number that no loop changes, the one place where what is below that number ends has a name, its *border*: a
//! search is then a matter of differences of positions.
//!
//! Invariants are found by Houdini (Flanagan, Leino, 2001): all that `invariants` proposes is taken to hold, what fails
//! before a loop or after a turn is dropped, until nothing fails. What is left is inductive, however it was come by.

use crate::domain::{Answer, Reply, ask};
use crate::invariants::{Candidate, Scene, propose};
use fiberloom_core::loops::{BufferId, LANES, Sought};
use fiberloom_core::stream::{Arith, Compare, Domain, State};
use fiberloom_proofs::claims::{Claims, Given, Law, Order, Place};
use std::collections::{BTreeMap, BTreeSet};
use z3::ast::{Ast, Bool, Dynamic, Int};
use z3::{FuncDecl, Sort};

const LOGIC: &str = "QF_UFLIA";

/// An array has fewer elements than this: each takes eight bytes of an address space.
const LONGEST: i64 = 1 << 60;

/// An integer; where it is 1 or 0 by a condition, with that.
#[derive(Clone, Debug)]
pub struct Num {
    term: Int,
    flag: Option<Bool>,
}

impl From<Int> for Num {
    fn from(term: Int) -> Num {
        Num { term, flag: None }
    }
}

/// A constant.
pub fn int(c: i64) -> Int {
    Int::from_i64(c)
}

/// An array that a law is given.
pub struct Array {
    element: FuncDecl,
    /// Its first place.
    pub begin: Int,
    /// One past its last.
    pub end: Int,
    order: Order,
    /// The places that are looked at.
    places: Vec<Int>,
    /// Numbers that it is compared with, and where what is below them ends.
    pub borders: Vec<(Int, Int)>,
    /// Searches that may find nothing: whether one does, its places and its target.
    missing: Vec<(Bool, [Int; 2], Int)>,
}

impl Array {
    /// The element at a place.
    pub fn at(&self, place: &Int) -> Int {
        self.element.apply(&[place as &dyn Ast]).as_int().expect("elements are integers")
    }

    fn inside(&self, place: &Int) -> Bool {
        Bool::and(&[self.begin.le(place), place.lt(&self.end)])
    }
}

/// A loop of the text: what its turns change, and what is known at each.
#[derive(Default)]
struct Site {
    changes: BTreeSet<usize>,
    /// Numbers that no turn changes, and the names of variables.
    fixed: Vec<(Int, Option<usize>)>,
    names: Vec<String>,
    candidates: Vec<Candidate>,
}

/// Something to be shown where the text is at a place, from what is known by then.
struct Duty {
    known: usize,
    guard: Bool,
    what: What,
}

enum What {
    Claim(&'static str, Bool),
    /// All of a loop's candidates, with the values of variables.
    Keep(usize, Vec<Int>),
    /// A loop's turn comes from a state to another.
    Progress(Vec<Int>, Vec<Int>, Vec<Int>),
}

/// A run of a law's text on any data.
pub struct AnyTurn {
    arrays: Vec<Array>,
    vars: Vec<(String, Int)>,
    guard: Bool,
    /// What is true of all data.
    axioms: Vec<Bool>,
    /// What is known, in the order in which the text comes to know it.
    facts: Vec<Bool>,
    duties: Vec<Duty>,
    sites: Vec<Site>,
    loops: usize,
    fresh: usize,
    sums_fit: bool,
    /// Numbers that invariants may speak of, and of which array each is a place, if that is known.
    anchors: Vec<(Int, Option<usize>)>,
    /// The arrays that a variable was a place of.
    places: BTreeMap<usize, BTreeSet<usize>>,
}

impl AnyTurn {
    fn new<L: Law>(sites: Vec<Site>) -> AnyTurn {
        let array = |(n, order): (usize, &Order)| Array {
            element: FuncDecl::new(format!("a{n}"), &[&Sort::int()], &Sort::int()),
            begin: Int::new_const(format!("begin{n}")),
            end: Int::new_const(format!("end{n}")),
            order: *order,
            places: vec![],
            borders: vec![],
            missing: vec![],
        };
        let arrays: Vec<Array> = L::ARRAYS.iter().enumerate().map(array).collect();
        let legal = |a: &Array| Bool::and(&[int(0).le(&a.begin), a.begin.le(&a.end), a.end.le(int(LONGEST))]);
        let axioms = arrays.iter().map(legal).collect();
        AnyTurn {
            anchors: arrays
                .iter()
                .enumerate()
                .flat_map(|(n, a)| [(a.begin.clone(), Some(n)), (a.end.clone(), Some(n))])
                .collect(),
            places: BTreeMap::new(),
            arrays,
            vars: vec![],
            guard: Bool::from_bool(true),
            axioms,
            facts: vec![],
            duties: vec![],
            sites,
            loops: 0,
            fresh: 0,
            sums_fit: !L::WRAPS,
        }
    }

    fn unknown(&mut self) -> Int {
        self.fresh += 1;
        Int::new_const(format!("some{}", self.fresh))
    }

    fn under<T>(&mut self, c: &Bool, f: impl FnOnce(&mut Self) -> T) -> T {
        let inner = Bool::and(&[&self.guard, c]);
        let outer = std::mem::replace(&mut self.guard, inner);
        let result = f(self);
        self.guard = outer;
        result
    }

    fn know(&mut self, fact: Bool) {
        self.facts.push(self.guard.implies(fact));
    }

    fn owe(&mut self, what: What) {
        self.duties.push(Duty { known: self.facts.len(), guard: self.guard.clone(), what });
    }

    fn values(&self) -> Vec<Int> {
        self.vars.iter().map(|(_, x)| x.clone()).collect()
    }

    /// Looks at a place of an array: its element is ordered as the array is, to all that were looked at before.
    fn look(&mut self, n: usize, place: &Int) {
        let a = &mut self.arrays[n];
        if a.places.contains(place) {
            return;
        }
        let (x, inside) = (a.at(place), a.inside(place));
        let legal = Bool::and(&[int(0).le(&x), x.lt(int(i64::MAX))]);
        self.axioms.push(inside.implies(legal));
        for other in &a.places {
            let (y, both) = (a.at(other), Bool::and(&[&inside, &a.inside(other)]));
            let ordered = match a.order {
                Order::Ascending => [place.lt(other).implies(x.lt(&y)), other.lt(place).implies(y.lt(&x))],
                Order::Repeating => [place.lt(other).implies(x.le(&y)), other.lt(place).implies(y.le(&x))],
                Order::None => continue,
            };
            self.axioms.push(both.implies(Bool::and(&ordered)));
        }
        for (number, border) in &a.borders {
            self.axioms.push(inside.implies(place.lt(border).iff(x.lt(number))));
        }
        for (misses, [begin, end], target) in &a.missing {
            let there = Bool::and(&[misses, &begin.le(place), &place.lt(end)]);
            self.axioms.push(there.implies(x.ne(target)));
        }
        a.places.push(place.clone());
    }

    /// Names the place of an array where what is below a number ends.
    fn border(&mut self, n: usize, number: &Int) {
        let a = &mut self.arrays[n];
        let stable = !number.to_string().contains("turn") && !number.to_string().contains("some");
        if a.order == Order::None || !stable || a.borders.iter().any(|(x, _)| x == number) {
            return;
        }
        let border = Int::new_const(format!("border{n}_{}", a.borders.len()));
        self.axioms.push(Bool::and(&[a.begin.le(&border), border.le(&a.end)]));
        for place in &a.places {
            self.axioms.push(a.inside(place).implies(place.lt(&border).iff(a.at(place).lt(number))));
        }
        a.borders.push((number.clone(), border));
    }

    /// Names borders where an element is compared with something else.
    fn compared(&mut self, x: &Int, y: &Int) {
        for n in 0..self.arrays.len() {
            let of = format!("(a{n} ");
            if x.to_string().starts_with(&of) && !y.to_string().starts_with(&of) {
                self.border(n, y);
            }
        }
    }

    fn anchor(&mut self, x: Int) {
        if self.anchors.iter().all(|(a, _)| *a != x) {
            self.anchors.push((x, None));
        }
    }

    fn fits(&mut self, x: &Int) {
        if self.sums_fit {
            let fits = Bool::and(&[int(i64::MIN).le(x), x.le(int(i64::MAX))]);
            self.owe(What::Claim("a sum wraps", fits));
        }
    }
}

/// The value of a constant.
fn constant(x: &Num) -> Option<i64> {
    x.term.simplify().as_i64()
}

impl Domain for AnyTurn {
    type I = Num;
    type B = Bool;

    fn int(&mut self, c: i64) -> Num {
        int(c).into()
    }
    fn state(&mut self, name: &str, init: Num) -> State {
        self.vars.push((name.to_string(), init.term));
        State(self.vars.len() as u32 - 1)
    }
    fn get(&mut self, s: State) -> Num {
        self.vars[s.0 as usize].1.clone().into()
    }
    fn set(&mut self, s: State, x: Num) {
        self.vars[s.0 as usize].1 = x.term;
    }
    fn snapshot(&mut self, name: &str, x: Num) -> Num {
        if ["hi", "stop", "past", "end", "begin"].contains(&name) {
            self.anchor(x.term.clone());
        }
        x
    }
    fn load(&mut self, array: BufferId, i: &Num) -> Num {
        let n = array.0 as usize;
        for (v, (_, x)) in self.vars.iter().enumerate().filter(|(_, (_, x))| *x == i.term) {
            let _ = x;
            self.places.entry(v).or_default().insert(n);
        }
        self.anchors.iter_mut().filter(|(a, of)| of.is_none() && *a == i.term).for_each(|(_, of)| *of = Some(n));
        let inside = self.arrays[n].inside(&i.term);
        self.owe(What::Claim("a load out of bounds", inside));
        self.look(n, &i.term);
        self.arrays[n].at(&i.term).into()
    }
    fn among(&mut self, sought: Sought, array: BufferId, [begin, end, target]: [&Num; 3]) -> Num {
        let (n, zero) = (array.0 as usize, int(0));
        let (begin, end, target) = (&begin.term, &end.term, &target.term);
        let room = Int::sub(&[end, begin]);
        let lanes = room.le(&zero).ite(&zero, &room.le(int(LANES)).ite(&room, &int(LANES)));
        let (behind, lane) = (Int::add(&[begin, &lanes]), self.unknown());
        let inside = Bool::and(&[self.arrays[n].begin.le(begin), behind.le(&self.arrays[n].end)]);
        self.owe(What::Claim("a load out of bounds", zero.lt(&lanes).implies(inside)));
        self.border(n, target);
        let (here, before) = (Int::add(&[begin, &lane]), Int::add(&[begin, &lane, &int(-1)]));
        self.look(n, &here);
        let found = self.arrays[n].at(&here);
        let known = match sought {
            Sought::NotBelow => {
                self.look(n, &before);
                let last = self.arrays[n].at(&before);
                [
                    Bool::and(&[zero.le(&lane), lane.le(&lanes)]),
                    lane.lt(&lanes).implies(target.le(&found)),
                    zero.lt(&lane).implies(last.lt(target)),
                ]
            }
            Sought::Target => {
                let misses = lane.eq(int(LANES));
                self.arrays[n].missing.push((misses.clone(), [begin.clone(), behind], target.clone()));
                let a = &self.arrays[n];
                for place in &a.places {
                    let there = Bool::and(&[&misses, &begin.le(place), &place.lt(Int::add(&[begin, &lanes]))]);
                    self.axioms.push(there.implies(a.at(place).ne(target)));
                }
                [
                    Bool::and(&[zero.le(&lane), lane.le(int(LANES))]),
                    misses.not().implies(Bool::and(&[lane.lt(&lanes), found.eq(target)])),
                    Bool::from_bool(true),
                ]
            }
            Sought::Other => unreachable!("no iterator of this crate's laws seeks it"),
        };
        self.know(Bool::and(&known));
        lane.into()
    }
    fn store(&mut self, _: BufferId, _: &Num, _: &Num) {
        unreachable!("no law of any length has a table")
    }
    fn arith(&mut self, op: Arith, a: &Num, b: &Num) -> Num {
        let (x, y) = (&a.term, &b.term);
        let divisor = || int(constant(b).expect("no division by what is no constant"));
        let power = || int(1 << constant(b).expect("no shift by what is no constant"));
        let term = match op {
            Arith::Add => Int::add(&[x, y]),
            Arith::Sub => Int::sub(&[x, y]),
            Arith::Mul => match (&a.flag, constant(a).or(constant(b))) {
                (Some(flag), _) => return flag.ite(y, &int(0)).into(),
                (None, Some(_)) => Int::mul(&[x, y]),
                (None, None) => unreachable!("no product of two unknowns"),
            },
            Arith::Div => return x.div(divisor()).into(),
            Arith::Rem => return x.modulo(divisor()).into(),
            Arith::Min => return x.le(y).ite(x, y).into(),
            Arith::Max => return x.le(y).ite(y, x).into(),
            Arith::And => return x.modulo(int(constant(b).expect("a mask is constant") + 1)).into(),
            Arith::Shr => return x.div(power()).into(),
            Arith::Shl => Int::mul(&[x, &power()]),
            Arith::Xor => unreachable!("no law of any length hashes"),
        };
        self.fits(&term);
        term.into()
    }
    fn compare(&mut self, op: Compare, a: &Num, b: &Num) -> Bool {
        let (x, y) = (&a.term, &b.term);
        self.compared(x, y);
        self.compared(y, x);
        match op {
            Compare::Lt => x.lt(y),
            Compare::Le => x.le(y),
            Compare::Eq => x.eq(y),
        }
    }
    fn snapshot_bool(&mut self, _: &str, b: Bool) -> Bool {
        b
    }
    fn and(&mut self, a: Bool, b: &dyn Fn(&mut Self) -> Bool) -> Bool {
        let b = self.under(&a, b);
        Bool::and(&[a, b])
    }
    fn not(&mut self, a: Bool) -> Bool {
        a.not()
    }
    fn or(&mut self, a: Bool, b: Bool) -> Bool {
        Bool::or(&[a, b])
    }
    fn to_int(&mut self, b: &Bool) -> Num {
        Num { term: b.ite(&int(1), &int(0)), flag: Some(b.clone()) }
    }
    fn select(&mut self, c: &Bool, t: &dyn Fn(&mut Self) -> Num, e: Num) -> Num {
        let t = self.under(c, t);
        c.ite(&t.term, &e.term).into()
    }
    fn branch(&mut self, c: Bool, t: &mut dyn FnMut(&mut Self), e: &mut dyn FnMut(&mut Self)) {
        let before = self.vars.clone();
        self.under(&c, |d| t(d));
        let variables = before.len();
        let then = std::mem::replace(&mut self.vars, before);
        self.under(&c.not(), |d| e(d));
        self.vars.truncate(variables);
        for ((_, x), (_, y)) in self.vars.iter_mut().zip(then) {
            if *x != y {
                *x = c.ite(&y, x);
            }
        }
    }
    fn repeat(&mut self, c: &dyn Fn(&mut Self) -> Bool, body: &mut dyn FnMut(&mut Self)) {
        let (site, variables) = (self.loops, self.vars.len());
        self.loops += 1;
        if self.sites.len() == site {
            self.sites.push(Site::default());
        }
        let entry = self.values();
        self.look_for(site, &entry);
        self.owe(What::Keep(site, entry.clone()));
        // What the body computes is another number at each turn.
        let fixed = self.anchors.clone();
        for v in self.sites[site].changes.clone() {
            self.vars[v].1 = Int::new_const(format!("turn{site}_{v}"));
        }
        let head = self.values();
        self.look_for(site, &head);
        let known: Vec<Bool> = self.sites[site].candidates.iter().map(|c| (c.of)(&head)).collect();
        self.know(Bool::and(&known));
        let c = c(self);
        let after = self.under(&c, |d| {
            body(d);
            d.vars.truncate(variables);
            let after = d.values();
            d.look_for(site, &after);
            d.owe(What::Keep(site, after.clone()));
            d.owe(What::Progress(head.clone(), after.clone(), fixed.iter().map(|(a, _)| a.clone()).collect()));
            after
        });
        let changed = (0..variables).filter(|v| after[*v] != head[*v]);
        self.sites[site].changes.extend(changed);
        let begun = self.sites[site].changes.iter().map(|v| (entry[*v].clone(), self.place_of(*v)));
        self.sites[site].fixed = fixed.into_iter().chain(begun).collect();
        self.sites[site].names = self.vars[..variables].iter().map(|(name, _)| name.clone()).collect();
        self.vars.truncate(variables);
        head.into_iter().zip(&mut self.vars).for_each(|(x, (_, v))| *v = x);
        self.know(c.not());
    }
    fn count(&mut self, name: &str, lo: Num, hi: Num, body: &mut dyn FnMut(&mut Self, Num)) {
        let i = self.state(name, lo);
        self.anchor(hi.term.clone());
        self.repeat(
            &|d| {
                let x = d.get(i);
                d.compare(Compare::Lt, &x, &hi)
            },
            &mut |d| {
                let x = d.get(i);
                body(d, x);
                let one = d.int(1);
                d.advance(i, one);
            },
        );
    }
}

impl AnyTurn {
    /// Looks at the places that a loop's candidates look at, where variables have these values.
    fn look_for(&mut self, site: usize, values: &[Int]) {
        let places: BTreeSet<usize> = self.sites[site].candidates.iter().filter_map(|c| c.looks).collect();
        for p in places {
            (0..self.arrays.len()).for_each(|n| self.look(n, &values[p]));
        }
    }

    /// The array that a variable is a place of, if it is of one.
    fn place_of(&self, v: usize) -> Option<usize> {
        self.places.get(&v).filter(|of| of.len() == 1).and_then(|of| of.first().copied())
    }

    /// What may hold at each turn of each loop.
    fn propose(&mut self) {
        let of = |n: usize| move |(_, border): &(Int, Int)| (border.clone(), Some(n));
        let borders: Vec<_> = self.arrays.iter().enumerate().flat_map(|(n, a)| a.borders.iter().map(of(n))).collect();
        let places: Vec<Option<usize>> = {
            let most = self.sites.iter().map(|site| site.names.len()).max().unwrap_or(0);
            (0..most).map(|v| self.place_of(v)).collect()
        };
        for site in &mut self.sites {
            let mut anchors: Vec<(Int, Option<usize>)> = vec![];
            for (a, of) in site.fixed.iter().chain(&borders).map(|(a, of)| (a.simplify(), *of)) {
                if anchors.iter().all(|(b, _)| a != *b) {
                    anchors.push((a, of));
                }
            }
            let arrays = self.arrays.iter().map(|a| (a.element_of(), a.begin.clone(), a.end.clone())).collect();
            let (names, changes) = (site.names.clone(), site.changes.clone());
            let places = places[..names.len()].to_vec();
            site.candidates = propose(&Scene { names, places, changes, anchors, arrays });
        }
    }
}

impl Array {
    fn element_of(&self) -> std::rc::Rc<dyn Fn(&Int) -> Int> {
        let element = FuncDecl::new(self.element.name(), &[&Sort::int()], &Sort::int());
        std::rc::Rc::new(move |place| {
            let x: Dynamic = element.apply(&[place as &dyn Ast]);
            x.as_int().expect("elements are integers")
        })
    }
}

impl Claims for AnyTurn {
    fn claim(&mut self, what: &'static str, b: Bool) {
        self.owe(What::Claim(what, b));
    }
    fn assume(&mut self, b: Bool) {
        self.know(b);
    }
}

/// Passes after which no more invariants are sought.
const PASSES: usize = 60;

/// What comes of a law, for lists of any length. A law that is not proved may hold: then its invariants are not among
/// those that are proposed.
pub fn of_any_length<L: Law>() -> Answer {
    let (mut sites, mut questions, mut proposed) = (vec![], 0, false);
    for pass in 1..=PASSES {
        let mut d = AnyTurn::new::<L>(std::mem::take(&mut sites));
        let changes = |d: &AnyTurn| (d.sites.len(), d.sites.iter().map(|s| s.changes.len()).sum::<usize>());
        let before = changes(&d);
        run::<L>(&mut d);
        // What loops change is known first; then what may hold of that.
        let grew = changes(&d) != before;
        if !grew && proposed && !drop_what_fails(&mut d, &mut questions) {
            return match judge(&d, &mut questions) {
                Ok(()) => Answer::Proved { paths: pass, questions },
                Err(answer) => answer,
            };
        }
        if !grew && !proposed {
            d.propose();
            proposed = true;
        }
        sites = d.sites;
    }
    Answer::Unknown("invariants are not found".to_string())
}

fn run<L: Law>(d: &mut AnyTurn) {
    let place = |(n, a): (usize, &Array)| Place {
        array: BufferId(n as u32),
        begin: a.begin.clone().into(),
        end: a.end.clone().into(),
        order: a.order,
    };
    let places = d.arrays.iter().enumerate().map(place).collect();
    let numbers: Vec<Int> = (0..L::NUMBERS).map(|n| Int::new_const(format!("n{n}"))).collect();
    for number in &numbers {
        d.axioms.push(Bool::and(&[int(i64::MIN).le(number), number.le(int(i64::MAX))]));
    }
    numbers.iter().for_each(|number| d.anchor(number.clone()));
    let numbers = numbers.into_iter().map(Num::from).collect();
    L::text(d, &Given { places, numbers, table: int(0).into() });
}

/// The facts of a duty, with another.
fn facts<'d>(d: &'d AnyTurn, duty: &'d Duty, more: &'d Bool) -> impl Iterator<Item = &'d Bool> {
    d.axioms.iter().chain(&d.facts[..duty.known]).chain([&duty.guard, more])
}

/// Drops the candidates that fail before a loop or after a turn; whether there are any.
fn drop_what_fails(d: &mut AnyTurn, questions: &mut usize) -> bool {
    let mut failed: Vec<BTreeSet<usize>> = d.sites.iter().map(|_| BTreeSet::new()).collect();
    for duty in &d.duties {
        let What::Keep(site, values) = &duty.what else { continue };
        let candidates = &d.sites[*site].candidates;
        loop {
            let open: Vec<(usize, Bool)> = (0..candidates.len())
                .filter(|k| !failed[*site].contains(k))
                .map(|k| (k, (candidates[k].of)(values)))
                .collect();
            if open.is_empty() {
                break;
            }
            let broken = Bool::or(&open.iter().map(|(_, b)| b.not()).collect::<Vec<_>>());
            *questions += 1;
            match ask(LOGIC, facts(d, duty, &broken)) {
                Reply::Never => break,
                Reply::Unknown(_) => failed[*site].extend(open.iter().map(|(k, _)| *k)),
                Reply::Example(model) => {
                    let fails = |b: &Bool| model.eval(b, true).and_then(|b| b.as_bool()) == Some(false);
                    let seen: Vec<usize> = open.iter().filter(|(_, b)| fails(b)).map(|(k, _)| *k).collect();
                    if seen.is_empty() {
                        failed[*site].extend(open.iter().map(|(k, _)| *k));
                    }
                    failed[*site].extend(seen);
                }
            }
        }
    }
    for (site, failed) in d.sites.iter_mut().zip(&failed) {
        let mut k = 0..;
        site.candidates.retain(|_| !failed.contains(&k.next().expect("endless")));
    }
    failed.iter().any(|f| !f.is_empty())
}

/// Whether all claims hold, and loops end; and something is as the law assumes.
fn judge(d: &AnyTurn, questions: &mut usize) -> Result<(), Answer> {
    let yes = Bool::from_bool(true);
    let end = Duty { known: d.facts.len(), guard: yes.clone(), what: What::Claim("", yes.clone()) };
    *questions += 1;
    match ask(LOGIC, facts(d, &end, &yes)) {
        Reply::Example(_) => {}
        Reply::Never => return Err(Answer::Void),
        Reply::Unknown(why) => return Err(Answer::Unknown(why)),
    }
    for duty in &d.duties {
        match &duty.what {
            What::Keep(..) => {}
            What::Claim(what, b) => {
                *questions += 1;
                match ask(LOGIC, facts(d, duty, &b.not())) {
                    Reply::Never => {}
                    Reply::Unknown(why) => return Err(Answer::Unknown(format!("{what}: {why}"))),
                    Reply::Example(_) => return Err(Answer::Refuted { said: what, of: None }),
                }
            }
            What::Progress(from, to, ends) => {
                *questions += 1;
                if matches!(ask(LOGIC, facts(d, duty, &yes)), Reply::Never) {
                    return Err(Answer::Void);
                }
                if !progresses(d, duty, [from, to], ends, questions) {
                    return Err(Answer::Refuted { said: "a loop does not end", of: None });
                }
            }
        }
    }
    Ok(())
}

/// Whether a variable, or the sum of two, rises at each turn and is bounded by an anchor, or two, and a few; or a variable
/// falls and is not negative.
fn progresses(d: &AnyTurn, duty: &Duty, [from, to]: [&[Int]; 2], ends: &[Int], questions: &mut usize) -> bool {
    let changed: Vec<usize> = (0..from.len()).filter(|v| from[*v] != to[*v]).collect();
    let mut never = |b: Bool| {
        *questions += 1;
        matches!(ask(LOGIC, facts(d, duty, &b)), Reply::Never)
    };
    let most = int(i64::MAX);
    let near = |x: &Int| ends.iter().chain([&most]).map(|end| x.le(Int::add(&[end, &int(LANES)]))).collect::<Vec<_>>();
    let far = |x: &Int| Bool::or(&near(x));
    for &v in &changed {
        let (rises, falls) = (from[v].lt(&to[v]), Bool::and(&[to[v].lt(&from[v]), int(0).le(&from[v])]));
        if never(falls.not()) || never(Bool::and(&[rises, far(&from[v])]).not()) {
            return true;
        }
    }
    for (k, &v) in changed.iter().enumerate() {
        for &w in &changed[k + 1..] {
            let rises = Int::add(&[&from[v], &from[w]]).lt(Int::add(&[&to[v], &to[w]]));
            if never(Bool::and(&[rises, far(&from[v]), far(&from[w])]).not()) {
                return true;
            }
        }
    }
    false
}
