//! Loops over lists: one alone, several together, a list beside a whole extent.

use super::{Context, Expr, binary};
use crate::choose::symbol::{Name, Sym};
use crate::lower::fiber;
use crate::plan::{self, Block, Gap, Visit};
use crate::stream::{Arith, Compare, Domain, Entry, List, ListFiber, PATIENCE, Side};
use crate::stream::{intersect, leap, meet, meet_lanes, unite_flat, unite_two, wide};
use crate::{Symbolic, Term};
use fiberloom_core::algebra::{Op, Value};
use fiberloom_core::iteration::Sequence;
use fiberloom_core::notation::concrete::AccessId;
use std::ops::RangeInclusive;

/// The length up to which testing each entry of a fiber takes less time than searching for the entries in view.
const SIFTED: i64 = 32;

/// The lengths of fibers that are tested for gaps: at most the number of bits of a word.
const GAPLESS: RangeInclusive<i64> = 4..=63;

/// Emits the operations at an entry.
fn come_to(cx: &Context, d: &mut Symbolic, visit: &Visit, entry: &Entry<Term>, at: Term) {
    let at = d.snapshot(&cx.named(visit.at).0, at);
    cx.say_term(d, visit.at, &at);
    cx.say_entry(d, &visit.entry, entry);
    cx.block(d, &visit.body);
}

/// The name of an access's tensor, for a variable.
fn named(cx: &Context, prefix: &str, list: &plan::List) -> String {
    format!("{prefix}_{}", cx.program.tensor(list.of.0).name)
}

/// The entries of a fiber, or its only entry.
pub(super) fn each(cx: &Context, d: &mut Symbolic, list: &plan::List, single: bool, visit: &Visit) {
    let fiber = fiber::unopened(cx, d, list);
    let mut come_to = |d: &mut Symbolic, entry: Entry<Term>, at: Term| come_to(cx, d, visit, &entry, at);
    match single {
        true => fiber.single(d, &mut come_to),
        false => crate::stream::each(d, &named(cx, "p", list), &fiber, &mut come_to),
    }
}

/// The entries of an open list.
pub(super) fn each_open(cx: &Context, d: &mut Symbolic, name: Name, visit: &Visit) {
    let list = cx.list(name);
    list.each(d, &cx.entry_name(name), &mut |d, entry| {
        let at = list.coordinate(d, &entry);
        come_to(cx, d, visit, &entry, at);
    });
}

/// The entries of an open list, one after the other.
pub(super) fn along(cx: &Context, d: &mut Symbolic, list: Name, at: Sym, body: &Block) {
    let list = cx.list(list);
    d.repeat(&|d| list.valid(d), &mut |d| {
        let here = list.index(d);
        let here = d.snapshot("at", here);
        cx.say_term(d, at, &here);
        cx.block(d, body);
        list.next(d);
    });
}

/// The entries of a fiber: of a short one each is stored, and kept if it is in view.
pub(super) fn filter(
    cx: &Context,
    d: &mut Symbolic,
    list: &plan::List,
    (stored, kept): (&Visit, Sym),
    otherwise: &Block,
) {
    let fiber = fiber::unopened(cx, d, list);
    let length = d.arith(Arith::Sub, &fiber.end, &fiber.begin);
    let most = d.int(SIFTED);
    let short = d.compare(Compare::Le, &length, &most);
    let filter = &mut |d: &mut Symbolic| {
        d.count(&named(cx, "q", list), fiber.begin.clone(), fiber.end.clone(), &mut |d, position| {
            let here = d.load(fiber.crd, &position);
            let here = d.snapshot(&cx.named(stored.at).0, here);
            let sees = fiber.view.sees(d, &here).expect("a piece of it");
            let at = fiber.view.seen(d, here);
            cx.say_term(d, stored.at, &at);
            cx.say_term(d, kept, &sees);
            cx.say_term(d, stored.entry.position, &position);
            cx.block(d, &stored.body);
        });
    };
    d.branch(short, filter, &mut |d| cx.block(d, otherwise));
}

/// The entries of a fiber: those of one without gaps are inserted into a workspace in bulk. Its body has no branch, so that each
/// coordinate gets a value.
pub(super) fn in_bulk(
    cx: &Context,
    d: &mut Symbolic,
    list: &plan::List,
    (into, said): (Name, Name),
    visit: &Visit,
    otherwise: &Block,
) {
    let work = cx.work(into);
    if !work.has_set() {
        return cx.block(d, otherwise);
    }
    let fiber = fiber::unopened(cx, d, list);
    let distance = distance(d, &fiber);
    let no_gap = is_gapless(d, &fiber, &distance);
    let all = &mut |d: &mut Symbolic| {
        let first = d.load(fiber.crd, &fiber.begin);
        let first = fiber.view.seen(d, first);
        let first = d.snapshot("first", first);
        let (from, distance) = (d.place(&first), d.place(&distance));
        let inserted = work.said(d, &from, distance).expect("it was asked whether there is a set");
        cx.names.borrow_mut().works.insert(said, inserted);
        d.count(&named(cx, "p", list), fiber.begin.clone(), fiber.end.clone(), &mut |d, position| {
            let further = d.arith(Arith::Sub, &position, &fiber.begin);
            let at = d.arith(Arith::Add, &first, &further);
            come_to(cx, d, visit, &Entry { position, run: None }, at);
            debug_assert!(d.is_straight(), "a coordinate that is inserted in bulk may have no value");
        });
    };
    d.branch(no_gap, all, &mut |d| cx.block(d, otherwise));
}

/// The distance in positions from a fiber's first entry to its last.
fn distance(d: &mut Symbolic, fiber: &ListFiber<Term>) -> Term {
    let length = d.arith(Arith::Sub, &fiber.end, &fiber.begin);
    let one = d.int(1);
    let distance = d.arith(Arith::Sub, &length, &one);
    d.snapshot("distance", distance)
}

/// The condition that a fiber's length is in [`GAPLESS`] and its coordinates are consecutive.
fn is_gapless(d: &mut Symbolic, fiber: &ListFiber<Term>, distance: &Term) -> Term {
    let [least, most] = [*GAPLESS.start(), *GAPLESS.end()].map(|length| d.int(length - 1));
    let some = d.compare(Compare::Le, &least, distance);
    d.and(some, &|d| {
        let few = d.compare(Compare::Le, distance, &most);
        d.and(few, &|d| {
            let last = d.arith(Arith::Add, &fiber.begin, distance);
            let (first, last) = (d.load(fiber.crd, &fiber.begin), d.load(fiber.crd, &last));
            let far = d.arith(Arith::Sub, &last, &first);
            d.compare(Compare::Eq, &far, distance)
        })
    })
}

/// Open lists.
fn opened(cx: &Context, names: &[Name]) -> Vec<List<Term>> {
    names.iter().map(|name| cx.list(*name)).collect()
}

/// The coordinates that all lists have.
pub(super) fn intersection(cx: &Context, d: &mut Symbolic, names: &[Name], at: Sym, body: &Block) {
    let lists = opened(cx, names);
    intersect(d, &lists.iter().collect::<Vec<_>>(), &mut |d, here| {
        cx.say_term(d, at, here);
        cx.block(d, body);
    });
}

/// The coordinates that all lists have, some of which gallop.
pub(super) fn leaping(cx: &Context, d: &mut Symbolic, lists: &[plan::Leaping], at: Sym, body: &Block) {
    let lists: Vec<_> = lists.iter().map(|of| (cx.list(of.list), of.gallops)).collect();
    let lists: Vec<_> = lists.iter().map(|(list, gallops)| (list, *gallops)).collect();
    leap(d, &lists, &mut |d, here| {
        cx.say_term(d, at, here);
        cx.block(d, body);
    });
}

/// The coordinates of the first list, with the condition that all lists have them.
pub(super) fn meeting(cx: &Context, d: &mut Symbolic, names: &[Name], (at, met): (Sym, Sym), body: &Block) {
    let lists = opened(cx, names);
    meet(d, &lists.iter().collect::<Vec<_>>(), &mut |d, here, all| {
        cx.say_term(d, at, here);
        cx.say_term(d, met, all);
        cx.block(d, body);
    });
}

/// As [`meeting`], of two lists: several entries of the second are compared at once.
pub(super) fn meeting_in_lanes(
    cx: &Context,
    d: &mut Symbolic,
    names: [Name; 2],
    (at, met): (Sym, Sym),
    entries: &[plan::Entry; 2],
    body: &Block,
) {
    let [first, second] = names.map(|name| cx.list(name));
    meet_lanes(d, &first, &second, &mut |d, here, found, all| {
        cx.say_term(d, at, here);
        cx.say_term(d, met, all);
        entries.iter().zip(&found).for_each(|(is, entry)| cx.say_entry(d, is, entry));
        cx.block(d, body);
    });
}

/// The coordinates that one of two lists has, by a decision tree.
pub(super) fn union(cx: &Context, d: &mut Symbolic, names: [Name; 2], at: Sym, [both, one, other]: &[Block; 3]) {
    let [first, second] = names.map(|name| cx.list(name));
    unite_two(d, &first, &second, &mut |d, side, here| {
        cx.say_term(d, at, here);
        let arm = match side {
            Side::Both => both,
            Side::First => one,
            Side::Second => other,
        };
        cx.block(d, arm);
    });
}

/// The coordinates that one of two lists has, without branches.
pub(super) fn flat_union(
    cx: &Context,
    d: &mut Symbolic,
    names: [Name; 2],
    (at, flags): (Sym, [Sym; 2]),
    [both, some]: [&Block; 2],
) {
    let [first, second] = names.map(|name| cx.list(name));
    unite_flat(d, &first, &second, PATIENCE, &mut |d, here, present| {
        cx.say_term(d, at, here);
        match present {
            None => cx.block(d, both),
            Some(present) => {
                flags.iter().zip(present).for_each(|(s, flag)| cx.say_term(d, *s, flag));
                cx.block(d, some);
            }
        }
    });
}

/// The coordinates that some lists have, in one loop.
pub(super) fn wide_union(
    cx: &Context,
    d: &mut Symbolic,
    names: &[(AccessId, Name)],
    live: &Sequence,
    (at, present): (Sym, &[Sym]),
    body: &Block,
) {
    let lists: Vec<List<Term>> = names.iter().map(|(_, name)| cx.list(*name)).collect();
    let place = |a: AccessId| names.iter().position(|(of, _)| *of == a).expect("a leader");
    let live = |d: &mut Symbolic, valid: &[Term]| {
        let valid: Vec<Expr> = valid.iter().map(|t| d.place(t)).collect();
        Term::fixed(holds(live, &|a| valid[place(a)].clone()))
    };
    wide(d, &lists.iter().collect::<Vec<_>>(), &live, &mut |d, here, flags| {
        cx.say_term(d, at, here);
        present.iter().zip(flags).for_each(|(s, flag)| cx.say_term(d, *s, flag));
        cx.block(d, body);
    });
}

/// A sequence expression as a condition; `present` gives the condition that a list has an entry.
fn holds(s: &Sequence, present: &impl Fn(AccessId) -> Expr) -> Expr {
    let constant = |c: bool| Expr::Const(Value::bool(c));
    let mut and = |a, b| binary(Op::AndAlso, a, b);
    let mut or = |a, b| binary(Op::OrElse, a, b);
    s.fold(&mut |a| present(a), &constant, &mut and, &mut or)
}

/// Emits the operations for a gap.
fn gap_of(cx: &Context, d: &mut Symbolic, gap: &Gap, begin: &Term, end: &Term) {
    cx.say_term(d, gap.begin, begin);
    cx.say_term(d, gap.end, end);
    cx.block(d, &gap.body);
}

/// The entries of an open list, and the gaps between them.
pub(super) fn gaps(
    cx: &Context,
    d: &mut Symbolic,
    name: Name,
    counts: Option<Sym>,
    (first, past): (Sym, Sym),
    (visit, gap): (&Visit, &Gap),
) {
    let list = cx.list(name);
    let each = |d: &mut Symbolic, before: &dyn Fn(&mut Symbolic, &Term), behind: &dyn Fn(&mut Symbolic, &Term)| {
        list.each(d, &cx.entry_name(name), &mut |d, entry| {
            let at = list.coordinate(d, &entry);
            let at = d.snapshot(&cx.named(visit.at).0, at);
            before(d, &at);
            cx.say_term(d, visit.at, &at);
            cx.say_entry(d, &visit.entry, &entry);
            cx.block(d, &visit.body);
            behind(d, &at);
        });
    };
    if let Some(length) = counts {
        let entries = list.positions(d);
        let entries = d.snapshot("entries", entries);
        each(d, &|_, _| {}, &|_, _| {});
        let length = cx.term(d, length);
        return gap_of(cx, d, gap, &entries, &length);
    }
    let first = cx.term(d, first);
    let from = d.state("from", first);
    let before = |d: &mut Symbolic, at: &Term| {
        let begin = d.get(from);
        gap_of(cx, d, gap, &begin, at);
    };
    let behind = |d: &mut Symbolic, at: &Term| {
        let one = d.int(1);
        let next = d.arith(Arith::Add, at, &one);
        d.set(from, next);
    };
    each(d, &before, &behind);
    let (begin, end) = (d.get(from), cx.term(d, past));
    gap_of(cx, d, gap, &begin, &end);
}

/// The coordinates that some list has, and the gaps between them.
pub(super) fn between(
    cx: &Context,
    d: &mut Symbolic,
    names: &[Name],
    (first, past): (Sym, Sym),
    (at, present): (Sym, &[Sym]),
    (body, gap): (&Block, &Gap),
) {
    let lists = opened(cx, names);
    let first = cx.term(d, first);
    let from = d.state("from", first);
    let any =
        |d: &mut Symbolic, valid: &[Term]| valid.iter().cloned().reduce(|a, b| d.or(a, b)).expect("there are lists");
    wide(d, &lists.iter().collect::<Vec<_>>(), &any, &mut |d, here, flags| {
        let begin = d.get(from);
        gap_of(cx, d, gap, &begin, here);
        cx.say_term(d, at, here);
        present.iter().zip(flags).for_each(|(s, flag)| cx.say_term(d, *s, flag));
        cx.block(d, body);
        let one = d.int(1);
        let next = d.arith(Arith::Add, here, &one);
        d.set(from, next);
    });
    let (begin, end) = (d.get(from), cx.term(d, past));
    gap_of(cx, d, gap, &begin, &end);
}

/// A coordinate beside a list: where it has an entry, and where it has none.
pub(super) fn beside(cx: &Context, d: &mut Symbolic, list: Name, at: Sym, [present, absent]: [&Block; 2]) {
    let (list, at) = (cx.list(list), cx.term(d, at));
    let found = list.found(d, &at);
    let with = &mut |d: &mut Symbolic| {
        cx.block(d, present);
        list.next(d);
    };
    d.branch(found, with, &mut |d| cx.block(d, absent));
}
