//! The domain of laws of any length: integers, with loops as any turn of them.
//!
//! Each variable is a term; where two ways meet, its value is that of the way that was taken. What is to be shown is noted
//! with what is known by then (a [`Duty`]), and asked when the text has ended.
//!
//! An array is a function; that it ascends is said of all pairs of places that are looked at. Where an array is compared
//! with a number that no loop changes, the one place where what is below that number ends has a name, its *border*: a
//! search is then a matter of differences of positions.

use crate::invariants::{Candidate, Scene, propose};
use fiberloom_loops::stream::{Arith, Compare, Domain, State};
use fiberloom_loops::{BufferId, LANES, Sought};
use fiberloom_proofs::claims::{Claims, Law, Order};
use std::collections::{BTreeMap, BTreeSet};
use z3::ast::{Ast, Bool, Dynamic, Int};
use z3::{FuncDecl, Sort};

/// What its questions are about: functions, and sums of integers.
pub(crate) const LOGIC: &str = "QF_UFLIA";

/// An array has fewer elements than this: each takes eight bytes of an address space.
const LONGEST: i64 = 1 << 60;

/// An integer; where it is 1 or 0 by a condition, with that.
#[derive(Clone, Debug)]
pub(crate) struct Num {
    term: Int,
    flag: Option<Bool>,
}

impl From<Int> for Num {
    fn from(term: Int) -> Num {
        Num { term, flag: None }
    }
}

/// A constant.
pub(crate) fn int(c: i64) -> Int {
    Int::from_i64(c)
}

/// An array that a law is given.
pub(crate) struct Array {
    element: FuncDecl,
    /// Its first place.
    pub begin: Int,
    /// One past its last.
    pub end: Int,
    pub order: Order,
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
pub(crate) struct Site {
    pub changes: BTreeSet<usize>,
    /// Numbers that no turn changes, and the names of variables.
    fixed: Vec<(Int, Option<usize>)>,
    names: Vec<String>,
    pub candidates: Vec<Candidate>,
}

/// Something to be shown where the text is at a place, from what is known by then.
pub(crate) struct Duty {
    pub known: usize,
    pub guard: Bool,
    pub what: What,
}

pub(crate) enum What {
    Claim(&'static str, Bool),
    /// All of a loop's candidates, with the values of variables.
    Keep(usize, Vec<Int>),
    /// A loop's turn comes from a state to another.
    Progress(Vec<Int>, Vec<Int>, Vec<Int>),
}

/// A run of a law's text on any data.
pub(crate) struct AnyTurn {
    pub arrays: Vec<Array>,
    vars: Vec<(String, Int)>,
    guard: Bool,
    /// What is true of all data.
    pub axioms: Vec<Bool>,
    /// What is known, in the order in which the text comes to know it.
    pub facts: Vec<Bool>,
    pub duties: Vec<Duty>,
    pub sites: Vec<Site>,
    loops: usize,
    fresh: usize,
    sums_fit: bool,
    /// Numbers that invariants may speak of, and of which array each is a place, if that is known.
    anchors: Vec<(Int, Option<usize>)>,
    /// The arrays that a variable was a place of.
    places: BTreeMap<usize, BTreeSet<usize>>,
}

impl AnyTurn {
    pub(crate) fn new<L: Law>(sites: Vec<Site>) -> AnyTurn {
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

    pub(crate) fn anchor(&mut self, x: Int) {
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
        for (v, _) in self.vars.iter().enumerate().filter(|(_, (_, x))| *x == i.term) {
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
    fn capacity(&mut self, _: BufferId) -> Num {
        unreachable!("no law of any length asks for an array's length")
    }
    fn trailing_zeros(&mut self, _: &Num) -> Num {
        unreachable!("no law of any length takes a word apart")
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
            Arith::Xor | Arith::Or => unreachable!("no law of any length hashes or joins bits"),
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
            Compare::Ne => x.ne(y),
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
        let places: BTreeSet<(usize, usize)> = self.sites[site].candidates.iter().filter_map(|c| c.looks).collect();
        places.into_iter().for_each(|(p, n)| self.look(n, &values[p]));
    }

    /// The array that a variable is a place of, if it is of one.
    fn place_of(&self, v: usize) -> Option<usize> {
        self.places.get(&v).filter(|of| of.len() == 1).and_then(|of| of.first().copied())
    }

    /// What may hold at each turn of each loop.
    pub(crate) fn propose(&mut self) {
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
