//! The arrays to which a loop's iterations append: each iteration makes a part, wherever it begins.
//!
//! ```text
//!   for i in 0..n                            parallel for i in 0..n joining pos[i + 1] = c, crd[c]
//!     for p in A_pos[i]..A_pos[i + 1]
//!       crd[c] = A_crd[p]              ──▶     …
//!       c = c + 1
//!     pos[i + 1] = c
//! ```
//!
//! A *counter* is a variable that iterations increase, and do not set otherwise. What an iteration computes must be the same wherever its
//! counters begin, but for the places at which it appends and the counters' values that it notes: each expression is *fixed*, or *moves*
//! with one counter, or depends on *room* (a capacity), or is neither. A fixed one may stand anywhere, a moving one where the place of an
//! appended element, or a note, is said. Room decides only whether more is asked for and in what steps elements are written: what a
//! kernel computes does not depend on it.
//!
//! An iteration touches nothing of an array before its part: indices are shown to be at least the counter's value at its beginning.

use super::places::{Body, Place};
use crate::arith::{binary, int, plus};
use crate::{BufferId, Entry, Expr, Joined, Kernel, Stmt, Var};
use fiberloom_core::algebra::{Op, Type};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// On what an expression's value depends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Class {
    /// On nothing that counts.
    Fixed,
    /// It is a counter's value and something fixed.
    Moves(Var),
    /// On a capacity, too.
    Room,
    /// On a counter in another way.
    Counted,
}

impl Class {
    /// The class of a variable that has values of both.
    fn join(self, other: Class) -> Class {
        match (self, other) {
            (a, b) if a == b => a,
            (Class::Counted, _) | (_, Class::Counted) => Class::Counted,
            (Class::Room, _) | (_, Class::Room) => Class::Room,
            _ => Class::Counted,
        }
    }
}

/// The value that a variable has in a loop's body.
enum Defined<'k> {
    Is(&'k Expr),
    /// Each number of a range.
    Among(&'k Expr, &'k Expr),
}

/// What an expression is compared with.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Least {
    Zero,
    /// A variable that an iteration defines once, or finds as it is.
    Var(Var),
    /// A counter's value where the iteration begins.
    Begin(Var),
}

/// What is known of a loop whose iterations append.
#[derive(Clone, Copy)]
pub(super) struct Known<'b> {
    /// The variables that iterations set and go on with.
    pub counters: &'b BTreeSet<Var>,
    /// Workspaces of which threads have copies.
    pub own: &'b BTreeSet<BufferId>,
    /// Arrays of which each iteration touches a place of its own.
    pub apart: &'b BTreeSet<BufferId>,
    /// The length of each array that has one throughout.
    pub lengths: &'b BTreeMap<BufferId, Option<Expr>>,
}

/// The body of a loop whose iterations append.
pub(super) struct Appends<'k, 'b> {
    kernel: &'k Kernel,
    places: &'b Body<'k>,
    index: Var,
    body: &'k [Stmt],
    counters: &'b BTreeSet<Var>,
    /// Workspaces of which threads have copies.
    own: &'b BTreeSet<BufferId>,
    /// The length of each array that has one throughout.
    lengths: &'b BTreeMap<BufferId, Option<Expr>>,
    /// Arrays of which each iteration touches a place of its own.
    apart: &'b BTreeSet<BufferId>,
    defined: BTreeMap<Var, Vec<Defined<'k>>>,
    classes: BTreeMap<Var, Class>,
    /// The stores into each array: indices, and values if they are known.
    stores: BTreeMap<BufferId, Vec<(&'k Expr, Option<&'k Expr>)>>,
    /// The buffers that may get more room.
    grown: BTreeSet<BufferId>,
    /// What is being shown, or was.
    shown: RefCell<BTreeMap<(Var, Least), bool>>,
}

impl<'k, 'b> Appends<'k, 'b> {
    /// The arrays that the iterations of a loop append to, if they may begin anywhere.
    pub fn joined(
        kernel: &'k Kernel,
        (index, places): (Var, &'b Body<'k>),
        body: &'k [Stmt],
        known: Known<'b>,
    ) -> Option<Vec<Joined>> {
        let Known { counters, own, apart, lengths } = known;
        let (defined, classes, stores, grown, shown) = Default::default();
        let mut of = Appends {
            kernel,
            places,
            index,
            body,
            counters,
            own,
            apart,
            lengths,
            defined,
            classes,
            stores,
            grown,
            shown,
        };
        of.note(body);
        of.classify();
        let grows = |c: &Var| of.kernel.vars[c.0 as usize].1 == Type::I64 && of.is_least(*c, &Least::Begin(*c));
        counters.iter().all(grows).then_some(())?;
        // Room is asked for in a thread's part of an array, and only arrays that iterations store to have parts.
        of.grown.iter().all(|b| of.own.contains(b) || of.stores.contains_key(b)).then_some(())?;
        let all = of.stores.keys().filter(|b| !of.own.contains(b));
        let joined: Vec<Joined> =
            all.map(|b| of.array(*b)).collect::<Option<Vec<_>>>()?.into_iter().flatten().collect();
        let counts =
            |c: &Var| joined.iter().any(|j| j.holds == Some(*c) || j.counter(index).is_some_and(|(v, _)| v == *c));
        (counters.iter().all(counts) && of.is_anywhere(body, &joined)).then_some(joined)
    }

    fn note(&mut self, block: &'k [Stmt]) {
        for stmt in block {
            match stmt {
                Stmt::Let(v, e) | Stmt::Set(v, e) => self.defined.entry(*v).or_default().push(Defined::Is(e)),
                Stmt::For { var, lo, hi, .. } => self.defined.entry(*var).or_default().push(Defined::Among(lo, hi)),
                Stmt::Store(b, at, e) => self.stores.entry(*b).or_default().push((at, Some(e))),
                Stmt::Call(Entry::SortInto { into, at, .. }) => self.stores.entry(*into).or_default().push((at, None)),
                Stmt::Call(Entry::Reserve { buffer, .. } | Entry::Alloc { buffer, .. }) => {
                    _ = self.grown.insert(*buffer)
                }
                _ => {}
            }
            stmt.blocks().for_each(|inner| self.note(inner));
        }
    }

    /// Finds the class of each variable that the body defines.
    fn classify(&mut self) {
        self.classes.extend(self.counters.iter().map(|c| (*c, Class::Moves(*c))));
        loop {
            let mut changed = vec![];
            for (v, all) in self.defined.iter().filter(|(v, _)| !self.counters.contains(v)) {
                let of = |e: &Expr| self.class(e);
                let each = all.iter().filter_map(|defined| match defined {
                    Defined::Is(e) => of(e),
                    Defined::Among(lo, hi) => of(lo).zip(of(hi)).map(|(lo, hi)| lo.join(hi)),
                });
                if let Some(class) = each.reduce(Class::join).filter(|class| self.classes.get(v) != Some(class)) {
                    changed.push((*v, class));
                }
            }
            if changed.is_empty() {
                return;
            }
            self.classes.extend(changed);
        }
    }

    /// The class of an expression; `None` if it reads a variable of which no class is known yet.
    fn class(&self, e: &Expr) -> Option<Class> {
        Some(match e {
            Expr::Const(_) => Class::Fixed,
            Expr::Var(v) if !self.defined.contains_key(v) && !self.counters.contains(v) => Class::Fixed,
            Expr::Var(v) => *self.classes.get(v)?,
            Expr::Capacity(b) if self.grown.contains(b) || self.stores_counted(*b) => Class::Room,
            Expr::Capacity(_) => Class::Fixed,
            Expr::Load(b, at) => match self.class(at)? {
                Class::Fixed => Class::Fixed,
                Class::Moves(_) if !self.own.contains(b) && self.stores.contains_key(b) => Class::Fixed,
                _ => Class::Counted,
            },
            Expr::Among(_, _, parts) => {
                let classes = parts.iter().map(|part| self.class(part)).collect::<Option<Vec<_>>>()?;
                if classes.iter().all(|c| *c == Class::Fixed) { Class::Fixed } else { Class::Counted }
            }
            Expr::Op(op, args) => {
                let classes = args.iter().map(|arg| self.class(arg)).collect::<Option<Vec<_>>>()?;
                applied(*op, &classes)
            }
        })
    }

    fn stores_counted(&self, b: BufferId) -> bool {
        let moves = |at: &Expr| matches!(self.class(at), Some(Class::Moves(_)));
        self.stores.get(&b).is_some_and(|stores| stores.iter().any(|(at, _)| moves(at)))
    }

    /// How parts of an array are joined: not at all, if it has a place for each iteration and holds no counter; `None` if they cannot be.
    fn array(&self, b: BufferId) -> Option<Option<Joined>> {
        let stores = &self.stores[&b];
        let class = |e: Option<&Expr>| e.map_or(Some(Class::Fixed), |e| self.class(e));
        let held = stores.iter().map(|(_, e)| class(*e)).collect::<Option<Vec<_>>>()?;
        let holds = match held.first()? {
            Class::Moves(c) if stores.iter().all(|(_, e)| e.is_some_and(|e| self.is_note(e, *c))) => Some(*c),
            Class::Fixed if held.iter().all(|c| *c == Class::Fixed) => None,
            _ => return None,
        };
        let at = stores.iter().map(|(at, _)| self.class(at)).collect::<Option<Vec<_>>>()?;
        match at.first()? {
            Class::Fixed if holds.is_none() => self.apart.contains(&b).then_some(None),
            Class::Fixed => {
                let places = stores.iter().map(|(at, _)| self.places.place(at)).collect::<Option<Vec<_>>>()?;
                places.iter().all(|place| *place == places[0]).then_some(())?;
                let c = holds?;
                let from = self.first(&places[0])?;
                let all = self.sets_each(self.body, b, &places[0]);
                all.then_some(Some(Joined { array: b, from, holds: Some(c) }))
            }
            Class::Moves(c) if at.iter().all(|other| *other == Class::Moves(*c)) => {
                let from = match holds {
                    None => Expr::Var(*c),
                    Some(_) => {
                        let at = [Expr::Var(*c), plus(Expr::Var(*c), int(1))];
                        at.into_iter().find(|at| self.noted_before(b, (*c, at)))?
                    }
                };
                let least = stores.iter().all(|(at, _)| self.at_least(at, &Least::Begin(*c)));
                least.then_some(Some(Joined { array: b, from, holds }))
            }
            _ => None,
        }
    }

    /// Whether a stored value is a counter's, as an integer of any width.
    fn is_note(&self, e: &Expr, c: Var) -> bool {
        match e {
            Expr::Op(Op::Convert(_), args) => self.is_note(&args[0], c),
            Expr::Var(v) => *v == c || self.only(*v).is_some_and(|e| self.is_note(e, c)),
            _ => false,
        }
    }

    /// What defines a variable that is defined once.
    fn only(&self, v: Var) -> Option<&'k Expr> {
        match self.defined.get(&v).map(Vec::as_slice) {
            Some([Defined::Is(e)]) if !self.counters.contains(&v) => Some(e),
            _ => None,
        }
    }

    /// The first index of an iteration's place, by the loop's variable.
    fn first(&self, place: &Place) -> Option<Expr> {
        match place {
            Place::Index => Some(Expr::Var(self.index)),
            Place::Shifted(place, by) => Some(plus(self.first(place)?, by.clone())),
            Place::Row(place, length) => Some(binary(Op::Mul, self.first(place)?, length.clone())),
            _ => None,
        }
    }

    /// Whether each run of a block sets each element of an iteration's place.
    fn sets_each(&self, block: &[Stmt], b: BufferId, place: &Place) -> bool {
        let inner = match place {
            Place::Shifted(inner, _) => inner,
            place => place,
        };
        block.iter().any(|stmt| match (stmt, inner) {
            (Stmt::Store(to, ..), Place::Index) => *to == b,
            (Stmt::If(_, yes, no), _) => self.sets_each(yes, b, place) && self.sets_each(no, b, place),
            (Stmt::For { var, lo, hi, body, .. }, Place::Row(row, length)) => {
                let whole = hi == length || self.is_rest((hi, length), b, place);
                **row == Place::Index && *lo == int(0) && whole && self.sets_next(body, b, *var)
            }
            _ => false,
        })
    }

    /// Whether each run of a block sets an element whose index grows by one with a variable.
    fn sets_next(&self, block: &[Stmt], b: BufferId, v: Var) -> bool {
        block.iter().any(|stmt| match stmt {
            Stmt::Store(to, at, _) => *to == b && self.counts(at, v),
            Stmt::If(_, yes, no) => self.sets_next(yes, b, v) && self.sets_next(no, b, v),
            _ => false,
        })
    }

    /// Whether a row's loop ends with the row, or with the array: at `min(n - i * length, length)`, or 0, where the array has as many
    /// elements behind where its first row begins as `n` says.
    fn is_rest(&self, (hi, length): (&Expr, &Expr), b: BufferId, place: &Place) -> bool {
        let shift = if let Place::Shifted(_, by) = place { Some(by) } else { None };
        let ends = |rows: &Expr| {
            let all = shift.map_or(rows.clone(), |by| plus(rows.clone(), by.clone()));
            self.lengths.get(&b) == Some(&Some(all))
        };
        let begin = binary(Op::Mul, Expr::Var(self.index), length.clone());
        match self.seen(hi) {
            Expr::Op(Op::Max, args) if args[1] == int(0) => self.is_rest((&args[0], length), b, place),
            Expr::Op(Op::Min, args) if args[1] == *length => match &args[0] {
                Expr::Op(Op::Sub, of) => of[1] == begin && ends(&of[0]),
                _ => false,
            },
            _ => false,
        }
    }

    /// An expression, or what a variable that is defined once is.
    fn seen<'e>(&self, e: &'e Expr) -> &'e Expr
    where
        'k: 'e,
    {
        match e {
            Expr::Var(v) => self.only(*v).unwrap_or(e),
            e => e,
        }
    }

    /// Whether an index grows by one with a variable.
    fn counts(&self, at: &Expr, v: Var) -> bool {
        match at {
            Expr::Var(w) if *w == v => true,
            Expr::Var(w) => self.only(*w).is_some_and(|e| self.counts(e, v)),
            Expr::Op(Op::Add, args) => {
                let reads = |e: &Expr| self.depends(e, v);
                (self.counts(&args[0], v) && !reads(&args[1])) || (self.counts(&args[1], v) && !reads(&args[0]))
            }
            _ => false,
        }
    }

    fn depends(&self, e: &Expr, v: Var) -> bool {
        let mut found = false;
        e.each(&mut |e| {
            found |= match e {
                Expr::Var(w) if *w == v => true,
                Expr::Var(w) => self.only(*w).is_some_and(|e| self.depends(e, v)),
                _ => false,
            }
        });
        found
    }

    /// Whether each increase of a counter, by one or none, comes behind a note at the counter, or in the place behind it, in one block; and
    /// there is no other store into the array.
    fn noted_before(&self, b: BufferId, (c, next): (Var, &Expr)) -> bool {
        let exact = self.stores[&b].iter().all(|(at, _)| *at == next);
        exact && self.noted(self.body, false, (b, c)).is_some()
    }

    /// Whether the counter's place is noted behind a block, if it is so before; `None` if a counter increases that was not noted.
    fn noted(&self, block: &[Stmt], noted: bool, (b, c): (BufferId, Var)) -> Option<bool> {
        block.iter().try_fold(noted, |noted, stmt| match stmt {
            Stmt::Store(to, ..) if *to == b => Some(true),
            Stmt::Set(v, e) if *v == c => (noted && self.is_next(e, c)).then_some(false),
            Stmt::If(_, yes, no) => Some(self.noted(yes, noted, (b, c))? && self.noted(no, noted, (b, c))?),
            stmt => {
                stmt.blocks().try_for_each(|inner| self.noted(inner, false, (b, c)).map(|_| ()))?;
                Some(noted && !stmt.blocks().any(|inner| sets(inner, c)))
            }
        })
    }

    /// Whether an expression is one more than a counter, or as much as it.
    fn is_next(&self, e: &Expr, c: Var) -> bool {
        let Expr::Op(Op::Add, args) = e else { return false };
        let one = match &args[1] {
            Expr::Const(x) => (0..=1).contains(&(x.bits() as i64)),
            Expr::Op(Op::Convert(Type::I64), of) => self.kernel.type_of(&of[0]) == Ok(Type::Bool),
            _ => false,
        };
        args[0] == Expr::Var(c) && one
    }

    /// Whether statements do the same wherever counters begin, but for what they append and note.
    fn is_anywhere(&self, block: &[Stmt], joined: &[Joined]) -> bool {
        let class = |e: &Expr| self.class(e).unwrap_or(Class::Counted);
        let fixed = |e: &Expr| class(e) == Class::Fixed;
        let decides = |e: &Expr| matches!(class(e), Class::Fixed | Class::Room);
        let appended = |b: &BufferId| joined.iter().find(|j| j.array == *b);
        block.iter().all(|stmt| {
            let fits = match stmt {
                Stmt::Let(..) | Stmt::Comment(_) | Stmt::Call(Entry::Reserve { .. } | Entry::Fail(_)) => true,
                Stmt::Set(v, e) => match class(e) {
                    Class::Moves(c) => c == *v || !self.counters.contains(v),
                    _ => !self.counters.contains(v),
                },
                Stmt::Store(b, at, e) => match appended(b) {
                    // Its indices and values were looked at.
                    Some(_) => true,
                    None => fixed(at) && fixed(e),
                },
                Stmt::If(e, ..) | Stmt::While(e, _) => decides(e),
                Stmt::For { lo, hi, .. } => match (class(lo), class(hi)) {
                    (Class::Moves(a), Class::Moves(b)) => a == b,
                    (lo, hi) => lo == Class::Fixed && hi == Class::Fixed,
                },
                Stmt::Call(Entry::SortInto { into, at, len, .. }) => {
                    fixed(len) && (appended(into).is_some() || fixed(at))
                }
                Stmt::Call(Entry::Sort { len, .. } | Entry::Alloc { len, .. }) => fixed(len),
                Stmt::Call(_) => false,
            };
            fits && stmt.exprs().all(|e| self.reads_its_part(e, joined))
                && stmt.blocks().all(|inner| self.is_anywhere(inner, joined))
        })
    }

    /// Whether all elements that an expression reads of appended arrays are in the iteration's part, and all others at fixed places.
    fn reads_its_part(&self, e: &Expr, joined: &[Joined]) -> bool {
        let mut fits = true;
        e.each(&mut |e| {
            fits &= match e {
                Expr::Load(b, at) => match joined.iter().find(|j| j.array == *b) {
                    Some(Joined { holds: Some(_), .. }) => false,
                    Some(j) => {
                        let counter = j.counter(self.index).map(|(c, _)| c);
                        counter.is_some_and(|c| {
                            self.class(at) == Some(Class::Moves(c)) && self.at_least(at, &Least::Begin(c))
                        })
                    }
                    None => self.class(at) == Some(Class::Fixed),
                },
                Expr::Among(_, b, _) => self.class(e) == Some(Class::Fixed) && !joined.iter().any(|j| j.array == *b),
                _ => true,
            }
        });
        fits
    }

    /// Whether a variable's values are at least something, by induction over the statements that set it.
    fn is_least(&self, v: Var, least: &Least) -> bool {
        let key = (v, least.clone());
        if let Some(shown) = self.shown.borrow().get(&key) {
            return *shown;
        }
        let Some(all) = self.defined.get(&v) else {
            return *least == Least::Var(v) || *least == Least::Zero && self.kernel.params.contains(&v);
        };
        self.shown.borrow_mut().insert(key.clone(), true);
        let shown = all.iter().all(|defined| match defined {
            Defined::Is(e) => self.at_least(e, least),
            Defined::Among(lo, _) => self.at_least(lo, least),
        });
        // What was shown on the way may have needed this.
        if !shown {
            self.shown.borrow_mut().retain(|_, shown| !*shown);
        }
        self.shown.borrow_mut().insert(key, shown);
        shown
    }

    /// Whether an expression is at least something.
    fn at_least(&self, e: &Expr, least: &Least) -> bool {
        match e {
            Expr::Const(x) => *least == Least::Zero && x.bits() as i64 >= 0,
            // A number of elements.
            Expr::Among(..) => *least == Least::Zero,
            Expr::Var(v) if *least == Least::Var(*v) || *least == Least::Begin(*v) => true,
            Expr::Var(v) => self.is_least(*v, least) || self.only(*v).is_some_and(|e| self.at_least(e, least)),
            Expr::Op(Op::Add, args) => {
                let both = |a: &Expr, b: &Expr| {
                    self.at_least(a, least) && self.at_least(b, &Least::Zero) || self.is_ahead((a, b), least)
                };
                both(&args[0], &args[1]) || both(&args[1], &args[0])
            }
            Expr::Op(Op::Max, args) => args.iter().any(|arg| self.at_least(arg, least)),
            Expr::Op(Op::Min, args) => args.iter().all(|arg| self.at_least(arg, least)),
            Expr::Op(Op::Convert(_), args) => {
                *least == Least::Zero && matches!(self.kernel.type_of(&args[0]), Ok(Type::Bool))
            }
            _ => false,
        }
    }

    /// Whether `a + b` is at least something, as `a` is the distance from a variable to what is at least that, and `b` at least the
    /// variable.
    fn is_ahead(&self, (a, b): (&Expr, &Expr), least: &Least) -> bool {
        let distance = match a {
            Expr::Var(v) => self.only(*v),
            e => Some(e),
        };
        match distance {
            Some(Expr::Op(Op::Sub, args)) => match (&args[0], &args[1]) {
                (from, Expr::Var(x)) if self.only(*x).is_some() || !self.defined.contains_key(x) => {
                    self.at_least(from, least) && self.at_least(b, &Least::Var(*x))
                }
                _ => false,
            },
            _ => false,
        }
    }
}

/// The class of a function's value.
fn applied(op: Op, args: &[Class]) -> Class {
    match (op, args) {
        (_, args) if args.iter().all(|c| *c == Class::Fixed) => Class::Fixed,
        (_, args) if args.contains(&Class::Room) => Class::Room,
        (Op::Add, [Class::Moves(c), Class::Fixed] | [Class::Fixed, Class::Moves(c)]) => Class::Moves(*c),
        (Op::Sub, [Class::Moves(c), Class::Fixed]) => Class::Moves(*c),
        (Op::Convert(Type::I32 | Type::I64), [Class::Moves(c)]) => Class::Moves(*c),
        (Op::Select, [Class::Fixed, Class::Moves(a), Class::Moves(b)]) if a == b => Class::Moves(*a),
        (Op::Min | Op::Max, [Class::Moves(a), Class::Moves(b)]) if a == b => Class::Moves(*a),
        (op, [Class::Moves(a), Class::Moves(b)]) if a == b && (op == Op::Sub || op.is_comparison()) => Class::Fixed,
        _ => Class::Counted,
    }
}

fn sets(block: &[Stmt], v: Var) -> bool {
    let mut found = false;
    block.iter().for_each(|stmt| stmt.each_set(&mut |w, _| found |= w == v));
    found
}
