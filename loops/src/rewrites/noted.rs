//! What iterations note, or fold, at places which may be another iteration's: each iteration appends it to a list, and behind the loop it is put
//! where it belongs, in order.
//!
//! ```text
//!   parallelized for p0 in 0..n_p0                  for p0 in 0..n_p0
//!     for i in from..to                               for i in from..to
//!       …                                    ──▶        …
//!       C1_pos[i + 1] = c1_C                            places[count] = i + 1
//!                                                       notes[count] = c1_C
//!                                                       count = count + 1
//!                                                   while k < count
//!                                                     C1_pos[places[k]] = notes[k]
//!                                                     k = k + 1
//! ```
//!
//! So pieces of positions may share a row, and rows of equal work begin where a search says. This is done where a schedule wants a loop in
//! parallel whose iterations are independent then. Elements that units of a GPU fold are not noted: they do so at once.
//!
//! Elements that pieces fold are noted where pieces meet alone: in a `seamed` loop each iteration but the first and the last has elements of its own.
//! Whole rows are not: each piece has its own there (`seams.rs`). So are counters that each row notes (`within.rs`).
//!
//! ```text
//!   seamed for i in from..to                        seamed for i in from..to
//!     …                                    ──▶        …
//!     y[i] = y[i] + t                                 if from < i && i < to - 1
//!                                                       y[i] = y[i] + t
//!                                                     else
//!                                                       places[count] = i; notes[count] = t; count = count + 1
//! ```

use super::appending::in_no_loop;
use super::parallel::{Facts, holds_elements, is_dealt};
use super::seams::with_rows;
use super::serial::is_wanted;
use super::within::Within;
use crate::arith::{binary, int, minus, plus};
use crate::folds::{folded_values, folds_elements};
use crate::names::{Vars, workspace};
use crate::{BufferId, Claim, Entry, Expr, How, Kernel, Stmt, Var, map_blocks};
use fiberloom_core::algebra::{Op, Type};
use std::collections::{BTreeMap, BTreeSet};

/// The room that a list begins with.
const ROOM: i64 = 16;

/// A list of notes for an array: where they belong, what they are, how many there are, and the function that folds them there, if one does.
#[derive(Clone)]
struct List {
    array: BufferId,
    places: BufferId,
    notes: BufferId,
    count: Var,
    fold: Option<Op>,
    /// How rows that are one piece's alone are noted in place.
    within: Option<Within>,
}

/// Puts into lists what iterations note, or gives pieces rows of their own where they meet, where iterations run in parallel then, as a
/// schedule wants.
pub(super) fn notes_in_lists(kernel: &mut Kernel) {
    let wanted = |var: &Var| is_wanted(kernel, *var) || is_dealt(kernel, *var);
    let wanted: Vec<Var> = kernel.hints.keys().copied().filter(wanted).collect();
    for var in wanted {
        let rows = |kernel: &Kernel| if is_wanted(kernel, var) { with_rows(kernel, var) } else { None };
        if let Some(changed) = with_lists(kernel, var).or_else(|| rows(kernel)) {
            *kernel = changed;
        }
    }
}

/// The kernel with lists of what a loop's iterations note, if they run in parallel then.
fn with_lists(kernel: &Kernel, var: Var) -> Option<Kernel> {
    let mut with_lists = kernel.clone();
    let (body, facts) = (std::mem::take(&mut with_lists.body), Facts::of(kernel, &kernel.body));
    let mut changed = None;
    with_lists.body = in_no_loop(body, &mut |stmt| match stmt {
        Stmt::For { var: v, .. } if v == var && !is_apart(&facts, kernel, &stmt) => {
            listed(&mut with_lists, &facts, stmt, &mut changed)
        }
        other => vec![other],
    });
    is_apart(&Facts::of(&with_lists, &with_lists.body), &with_lists, &changed?).then_some(with_lists)
}

/// Whether a loop's iterations are independent, and need no arrays in which they fold elements.
pub(super) fn is_apart(facts: &Facts, kernel: &Kernel, stmt: &Stmt) -> bool {
    facts.independent(kernel, stmt).is_ok_and(|how| how.arrays().is_empty())
}

/// A loop with its notes in lists, between what makes the lists and what puts the notes in their places.
fn listed(kernel: &mut Kernel, facts: &Facts, stmt: Stmt, changed: &mut Option<Stmt>) -> Vec<Stmt> {
    let Stmt::For { var, lo, hi, how: How::Serial, body } = stmt else { return vec![stmt] };
    let arrays = noted(kernel, facts, &body);
    let folds = arrays.values().any(Option::is_some);
    if folds && is_dealt(kernel, var) {
        return vec![Stmt::For { var, lo, hi, how: How::Serial, body }];
    }
    if folds {
        kernel.hints.entry(var).or_default().claim = Claim::Apart;
    }
    let is_counted = |b: BufferId| lo == int(0) && arrays.get(&b) == Some(&None);
    let mut within = Within::of(kernel, &facts.carried(&body), &body, &is_counted);
    let made = |(array, fold)| list(kernel, (array, fold), within.remove(&array));
    let lists: Vec<List> = arrays.into_iter().map(made).collect();
    let begun: Vec<Stmt> = lists.iter().filter_map(|l| l.within.as_ref()).flat_map(Within::begun).collect();
    let body = begun.into_iter().chain(appended(kernel, body, (&lists, None, var))).collect();
    let one = Stmt::For { var, lo, hi: hi.clone(), how: How::Serial, body };
    *changed = (!lists.is_empty()).then(|| one.clone());
    let begins = lists.iter().flat_map(|l| {
        let made = |buffer| Stmt::Call(Entry::Alloc { buffer, len: int(ROOM), fill: None });
        let within = l.within.iter().flat_map(|within| within.made(&hi));
        [made(l.places), made(l.notes), Stmt::Set(l.count, int(0))].into_iter().chain(within)
    });
    let begins: Vec<Stmt> = begins.collect();
    let put = lists.iter().flat_map(|l| {
        let within = l.within.as_ref().map(|within| within.shifted(kernel, &hi));
        put(kernel, l).into_iter().chain(within.into_iter().flatten())
    });
    let ends: Vec<Stmt> = put.collect();
    begins.into_iter().chain([one]).chain(ends).collect()
}

/// The arrays with which a loop's iterations do nothing but note counters, or fold values where pieces meet, at places that do not depend on
/// counters.
fn noted(kernel: &Kernel, facts: &Facts, body: &[Stmt]) -> BTreeMap<BufferId, Option<Op>> {
    let counted = depending(body, facts.carried(body));
    let mut uses = Uses { kernel, stores: vec![], others: BTreeSet::new() };
    uses.note(body, false);
    let depends = |e: &Expr| counted.iter().any(|v| e.reads(*v));
    let is_note = |e: &Expr| matches!(value(e), Expr::Var(v) if counted.contains(v));
    let of = |b: BufferId| uses.stores.iter().filter(move |store| store.array == b);
    let holds_notes = |b: BufferId| {
        let is_integer = matches!(kernel.buffers[b.0 as usize].ty, Type::I32 | Type::I64);
        is_integer && !uses.others.contains(&b) && of(b).all(|store| is_note(store.e))
    };
    let fold = |b: BufferId| {
        let mut fold = None;
        let folds = folds_elements(body, b, &mut fold);
        fold.filter(|_| folds && of(b).all(|store| store.is_sum && !depends(store.e)))
    };
    let stored: BTreeSet<BufferId> = uses.stores.iter().map(|store| store.array).collect();
    // Of every other dense result it is not known where pieces meet.
    let results: Vec<BufferId> = stored.iter().copied().filter(|b| holds_elements(kernel, *b)).collect();
    let seams = results.iter().all(|b| fold(*b).is_some());
    let found = |b: BufferId| match results.contains(&b) {
        true => fold(b).filter(|_| seams).map(|op| (b, Some(op))),
        false => holds_notes(b).then_some((b, None)),
    };
    stored.into_iter().filter(|b| of(*b).all(|store| !depends(store.at))).filter_map(found).collect()
}

/// A number without conversions to other widths.
pub(super) fn value(e: &Expr) -> &Expr {
    if let Expr::Op(Op::Convert(_), args) = e { value(&args[0]) } else { e }
}

/// These variables, and those whose values depend on them.
fn depending(body: &[Stmt], mut on: BTreeSet<Var>) -> BTreeSet<Var> {
    fn more(block: &[Stmt], on: &mut BTreeSet<Var>) {
        for stmt in block {
            let reads = |e: &Expr| on.iter().any(|v| e.reads(*v));
            match stmt {
                Stmt::Let(v, e) | Stmt::Set(v, e) if reads(e) => _ = on.insert(*v),
                Stmt::For { var, lo, hi, .. } if reads(lo) || reads(hi) => _ = on.insert(*var),
                _ => {}
            }
            stmt.blocks().for_each(|inner| more(inner, on));
        }
    }
    loop {
        let before = on.len();
        more(body, &mut on);
        if on.len() == before {
            return on;
        }
    }
}

/// A store in a loop's body.
struct Store<'s> {
    array: BufferId,
    at: &'s Expr,
    e: &'s Expr,
    /// Whether it is in a seamed loop, and a loop stands before it in its block: then lists are short beside the work.
    is_sum: bool,
}

/// What a block does with buffers.
struct Uses<'s> {
    kernel: &'s Kernel,
    stores: Vec<Store<'s>>,
    /// The buffers that it touches otherwise.
    others: BTreeSet<BufferId>,
}

impl<'s> Uses<'s> {
    fn note(&mut self, block: &'s [Stmt], seamed: bool) {
        let mut behind_loop = false;
        for stmt in block {
            match stmt {
                Stmt::Store(array, at, e) => {
                    self.stores.push(Store { array: *array, at, e, is_sum: seamed && behind_loop });
                }
                Stmt::Call(entry) => self.others.extend(entry.buffers()),
                Stmt::For { .. } | Stmt::While(..) => behind_loop = true,
                _ => {}
            }
            stmt.exprs().for_each(|e| {
                e.each(&mut |e| {
                    if let Expr::Load(b, _) | Expr::Among(_, b, _) | Expr::Capacity(b) = e {
                        self.others.insert(*b);
                    }
                });
            });
            let seamed = seamed || matches!(stmt, Stmt::For { var, .. } if is_seamed(self.kernel, *var));
            stmt.blocks().for_each(|inner| self.note(inner, seamed));
        }
    }
}

/// Whether only the first and the last iteration of a loop touch elements that another piece touches.
pub(super) fn is_seamed(kernel: &Kernel, var: Var) -> bool {
    kernel.hints.get(&var).is_some_and(|hints| hints.seamed)
}

/// A new list of notes for an array.
fn list(kernel: &mut Kernel, (array, fold): (BufferId, Option<Op>), within: Option<Within>) -> List {
    let of = &kernel.buffers[array.0 as usize];
    let (name, ty) = (of.name.clone(), of.ty);
    let mut made = |what: &str, ty| workspace(kernel, &format!("{name}_{what}"), ty);
    let (places, notes) = (made("places", Type::I64), made("notes", ty));
    List { array, places, notes, count: variable(kernel, &format!("{name}_noted")), fold, within }
}

fn variable(kernel: &mut Kernel, name: &str) -> Var {
    Vars::of(&mut kernel.vars).fresh(name, Type::I64)
}

/// Where pieces meet: the first and the last iteration of a seamed loop, and the loop's variable.
#[derive(Clone, Copy)]
pub(super) struct Seam {
    pub first: Var,
    pub last: Var,
    at: Var,
}

impl Seam {
    /// Whether an iteration has elements of its own.
    fn is_inside(self) -> Expr {
        let below = |a, b| binary(Op::Lt, Expr::Var(a), Expr::Var(b));
        binary(Op::AndAlso, below(self.first, self.at), below(self.at, self.last))
    }
}

/// A block of a piece whose notes are appended to lists.
fn appended(
    kernel: &mut Kernel,
    block: Vec<Stmt>,
    of @ (lists, seam, piece): (&[List], Option<Seam>, Var),
) -> Vec<Stmt> {
    let each = |stmt: Stmt| match stmt {
        Stmt::Store(b, at, e) => match (lists.iter().find(|l| l.array == b), seam) {
            (Some(l), Some(seam)) if l.fold.is_some() || l.within.is_some() => {
                let noted = l.append(at.clone(), e.clone());
                let e = l.within.as_ref().map_or(e.clone(), |within| within.less(&e));
                vec![Stmt::If(seam.is_inside(), vec![Stmt::Store(b, at, e)], noted)]
            }
            (Some(l), _) => l.append(at, e),
            (None, _) => vec![Stmt::Store(b, at, e)],
        },
        Stmt::For { var, lo, hi, how, body } if seam.is_none() && is_seamed(kernel, var) => {
            let [first, last] = ["first", "last"].map(|name| variable(kernel, name));
            let seam = Seam { first, last, at: var };
            let ends = [(first, lo.clone()), (last, minus(hi.clone(), int(1)))].map(|(v, e)| Stmt::Let(v, e));
            let said = lists.iter().filter_map(|l| l.within.as_ref()).flat_map(|within| within.ends(piece, seam));
            let begin: Vec<Stmt> = ends.into_iter().chain(said).collect();
            let body = appended(kernel, body, (lists, Some(seam), piece));
            begin.into_iter().chain([Stmt::For { var, lo, hi, how, body }]).collect()
        }
        stmt => map_blocks(vec![stmt], &mut |inner| appended(kernel, inner, of)),
    };
    block.into_iter().flat_map(each).collect()
}

impl List {
    /// Appends what a store notes, or the values that it folds.
    fn append(&self, at: Expr, e: Expr) -> Vec<Stmt> {
        match self.fold.and_then(|_| folded_values(&e, (self.array, &at))) {
            Some((_, values)) => {
                values.into_iter().flat_map(|value| self.append_one(at.clone(), value.clone())).collect()
            }
            None => self.append_one(at, e),
        }
    }

    fn append_one(&self, at: Expr, note: Expr) -> Vec<Stmt> {
        append(self.count, vec![(self.places, at), (self.notes, note)])
    }
}

/// Appends an element to each of these arrays, which have so many.
pub(super) fn append(count: Var, elements: Vec<(BufferId, Expr)>) -> Vec<Stmt> {
    let next = plus(Expr::Var(count), int(1));
    let reserve = |(buffer, _): &(BufferId, Expr)| {
        let short = binary(Op::Gt, next.clone(), Expr::Capacity(*buffer));
        Stmt::If(short, vec![Stmt::Call(Entry::Reserve { buffer: *buffer, len: next.clone() })], vec![])
    };
    let mut all: Vec<Stmt> = elements.iter().map(reserve).collect();
    all.extend(elements.into_iter().map(|(buffer, e)| Stmt::Store(buffer, Expr::Var(count), e)));
    all.push(Stmt::Set(count, next));
    all
}

/// The loop that puts the notes of a list in their places: one after the other, on one thread.
fn put(kernel: &mut Kernel, l: &List) -> [Stmt; 2] {
    let k = variable(kernel, "k");
    let load = |b, at| Expr::Load(b, Box::new(at));
    let (place, note) = (load(l.places, Expr::Var(k)), load(l.notes, Expr::Var(k)));
    let note = match l.fold {
        Some(op) => Expr::Op(op, vec![load(l.array, place.clone()), note]),
        None => note,
    };
    let body = vec![Stmt::Store(l.array, place, note), Stmt::Set(k, plus(Expr::Var(k), int(1)))];
    [Stmt::Set(k, int(0)), Stmt::While(binary(Op::Lt, Expr::Var(k), Expr::Var(l.count)), body)]
}
