//! Loops that append: arrays of a kernel that only grow, and loops that add an entry to them in each iteration.
//!
//! ```text
//!   for p in A1_pos[i]..A1_pos[i + 1]         turn p
//!     let j = A1_crd[p]                       its entry: named values,
//!     C_vals[c] = A_vals[p] * x_vals[i]         and stores to arrays that are free behind their last element
//!     C1_crd[c] = i32(j)
//!     c = c + 1                               the count
//!     C1_pos[i + 1] = i32(c)                  perhaps notes of the count, in arrays that the loop does not read
//! ```
//!
//! The end of the loop may also be found on the way, by coordinates below a bound, or equal to one:
//!
//! ```text
//!   while p < end && A1_crd[p] < stop         turn p
//!     C_vals[c] = A_vals[p]
//!     c = c + 1
//!     p = p + 1
//! ```
//!
//! *Free*: every store to the array is at a counter that only grows, nothing reads the array, and it is allocated unset. So neither the
//! order of a loop's stores there matters, nor what it stores behind the last entry.

use super::blocks::steps_with;
use crate::arith::{int, plus};
use crate::{BufferId, Entry, Expr, How, Kernel, Role, Sought, Stmt, Var, map_blocks, runs_statements};
use fiberloom_core::algebra::{Op, Type};
use std::collections::{BTreeMap, BTreeSet};

/// The arrays that a kernel appends to.
pub(super) struct Appends {
    /// Results that are free behind their last entry, each with its counter of entries.
    counted: BTreeMap<BufferId, Var>,
    /// Whether each buffer is an operand, whose elements are all set.
    pub operands: Vec<bool>,
    /// The element type of each buffer.
    types: Vec<Type>,
}

impl Appends {
    pub fn of(kernel: &Kernel) -> Appends {
        let mut seen = Seen::default();
        kernel.body.iter().for_each(|stmt| seen.note(stmt));
        let nobodys = |b: &BufferId| kernel.buffers[b.0 as usize].role == Role::Result && !seen.asked.contains(b);
        let grows = |c: &Var| seen.set.get(c).is_some_and(|sets| grows(kernel, *c, sets));
        let counted = |(b, at): (&BufferId, &Option<Var>)| at.filter(grows).map(|c| (*b, c));
        let counted = seen.stored.iter().filter(|(b, _)| nobodys(b)).filter_map(counted).collect();
        let operands = kernel.buffers.iter().map(|b| b.role == Role::Operand).collect();
        Appends { counted, operands, types: kernel.buffers.iter().map(|b| b.ty).collect() }
    }

    /// The loop, if each iteration only appends one entry and notes the count.
    pub fn turn_of<'s>(&self, stmt: &'s Stmt) -> Option<Appending<'s>> {
        let Stmt::For { var: turn, lo, hi, how, body } = stmt else { return None };
        let (entry, [Stmt::Set(count, more), notes @ ..]) =
            body.split_at(body.iter().position(|stmt| matches!(stmt, Stmt::Set(..)))?)
        else {
            return None;
        };
        let unread = |b: BufferId| !body.iter().flat_map(Stmt::exprs).any(|e| e.loads_from(b));
        let notes_only =
            |stmt: &Stmt| matches!(stmt, Stmt::Store(b, ..) if !self.counted.contains_key(b) && unread(*b));
        let found = Appending {
            turn: *turn,
            lo,
            hi,
            how: how.clone(),
            body,
            count: *count,
            entry,
            notes,
            moving: moving(*turn, *count, entry),
        };
        let appends = is_next(*count, more) && self.appends(entry, *count);
        (appends && notes.iter().all(notes_only)).then_some(found)
    }

    /// The loop, if each iteration only appends one entry, while an operand's coordinate is below a bound, or equal to one.
    pub fn turn_until<'s>(&self, stmt: &'s Stmt) -> Option<Until<'s>> {
        let Stmt::While(Expr::Op(Op::AndAlso, both), body) = stmt else { return None };
        let [Expr::Op(Op::Lt, range), Expr::Op(test, sides)] = &both[..] else { return None };
        let ([lo @ Expr::Var(turn), hi], [element, target]) = (&range[..], &sides[..]) else { return None };
        let [entry @ .., Stmt::Set(count, more), Stmt::Set(next, other)] = &body[..] else { return None };
        let sought = match test {
            Op::Lt => Sought::NotBelow,
            Op::Eq => Sought::Other,
            _ => return None,
        };
        let crd = self.coordinate_at(element, *turn)?;
        let of = Appending {
            turn: *turn,
            lo,
            hi,
            how: How::Serial,
            body,
            count: *count,
            entry,
            notes: &[],
            moving: moving(*turn, *count, entry),
        };
        let steps = next == turn && is_next(*turn, other) && is_next(*count, more);
        let fixed = [hi, target].into_iter().all(|e| self.stays(e, &of.moving));
        (steps && fixed && self.appends(entry, *count)).then_some(Until { of, ends: Ends { sought, crd, target } })
    }

    /// Whether every store of an entry appends.
    fn appends(&self, entry: &[Stmt], count: Var) -> bool {
        entry.iter().all(|stmt| match stmt {
            Stmt::Let(..) => true,
            Stmt::Store(b, ..) => self.counted.get(b) == Some(&count),
            _ => false,
        })
    }

    /// The operand whose element at this iteration an expression is, as an `i64`.
    fn coordinate_at(&self, e: &Expr, turn: Var) -> Option<BufferId> {
        let (load, wide) = match e {
            Expr::Op(Op::Convert(Type::I64), args) => (&args[0], true),
            e => (e, false),
        };
        let Expr::Load(crd, at) = load else { return None };
        let fits = matches!((self.types[crd.0 as usize], wide), (Type::I32, true) | (Type::I64, false));
        (self.operands[crd.0 as usize] && fits && **at == Expr::Var(turn)).then_some(*crd)
    }

    /// Whether a value is loop-invariant.
    fn stays(&self, e: &Expr, moving: &BTreeSet<Var>) -> bool {
        let mut stays = true;
        e.each(&mut |e| {
            stays &= match e {
                Expr::Var(v) => !moving.contains(v),
                Expr::Load(b, _) | Expr::Among(_, b, _) | Expr::Capacity(b) => self.operands[b.0 as usize],
                Expr::Const(_) | Expr::Op(..) => true,
            };
        });
        stays
    }
}

/// Whether an expression is `v + 1`.
fn is_next(v: Var, e: &Expr) -> bool {
    *e == plus(Expr::Var(v), int(1))
}

/// The variables that change from iteration to iteration.
fn moving(turn: Var, count: Var, entry: &[Stmt]) -> BTreeSet<Var> {
    let named = entry.iter().filter_map(|stmt| if let Stmt::Let(v, _) = stmt { Some(*v) } else { None });
    named.chain([turn, count]).collect()
}

/// The uses of buffers and variables in a kernel.
#[derive(Default)]
struct Seen<'k> {
    /// Buffers that are stored to, with the variable that is the index of every store, if there is one.
    stored: BTreeMap<BufferId, Option<Var>>,
    /// Buffers that are read, or allocated with a fill.
    asked: BTreeSet<BufferId>,
    /// The expressions that each variable is set to.
    set: BTreeMap<Var, Vec<&'k Expr>>,
}

impl<'k> Seen<'k> {
    fn note(&mut self, stmt: &'k Stmt) {
        let mut asks = |e: &Expr| {
            if let Expr::Load(b, _) | Expr::Among(_, b, _) = e {
                self.asked.insert(*b);
            }
        };
        stmt.exprs().for_each(|e| e.each(&mut asks));
        match stmt {
            Stmt::Store(b, at, _) => {
                let at = if let Expr::Var(c) = at { Some(*c) } else { None };
                let known = self.stored.entry(*b).or_insert(at);
                *known = known.filter(|_| *known == at);
            }
            Stmt::Set(v, e) => self.set.entry(*v).or_default().push(e),
            Stmt::Call(Entry::Alloc { buffer, fill: Some(_), .. }) => {
                self.asked.insert(*buffer);
            }
            Stmt::Call(entry @ (Entry::Sort { .. } | Entry::SortInto { .. } | Entry::Move { .. })) => {
                self.asked.extend(entry.buffers());
            }
            _ => {}
        }
        stmt.blocks().flatten().for_each(|inner| self.note(inner));
    }
}

/// Whether a variable is set to 0 once, and otherwise only to itself plus 1 or plus a truth value.
fn grows(kernel: &Kernel, c: Var, sets: &[&Expr]) -> bool {
    let begins = |e: &&&Expr| ***e == int(0);
    let more = |e: &Expr| match e {
        Expr::Op(Op::Convert(_), args) => kernel.type_of(&args[0]) == Ok(Type::Bool),
        e => *e == int(1),
    };
    let steps = |e: &&Expr| matches!(e, Expr::Op(Op::Add, args) if args[0] == Expr::Var(c) && more(&args[1]));
    sets.iter().filter(begins).count() == 1 && sets.iter().filter(|e| !begins(e)).all(steps)
}

/// Whether statements inside of this one are as those around it: it is no loop, or one that makes arrays anew in each turn.
pub(super) fn goes_through(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::If(..) => true,
        Stmt::While(_, body) | Stmt::For { body, .. } => runs_statements(body),
        _ => false,
    }
}

/// Applies `f` to each statement of the block that is in no loop; blocks of the program do not count as loops.
pub(super) fn in_no_loop(block: Vec<Stmt>, f: &mut dyn FnMut(Stmt) -> Vec<Stmt>) -> Vec<Stmt> {
    let each = |stmt: Stmt| match stmt {
        stmt if goes_through(&stmt) => map_blocks(vec![stmt], &mut |inner| in_no_loop(inner, f)),
        stmt => f(stmt),
    };
    block.into_iter().flat_map(each).collect()
}

/// A loop that appends an entry in each iteration.
pub(super) struct Appending<'s> {
    pub turn: Var,
    pub lo: &'s Expr,
    pub hi: &'s Expr,
    how: How,
    pub body: &'s [Stmt],
    pub count: Var,
    /// The part of its body before the count is increased.
    pub entry: &'s [Stmt],
    /// The stores behind it.
    pub notes: &'s [Stmt],
    /// The variables that change from iteration to iteration.
    pub moving: BTreeSet<Var>,
}

/// A loop that appends an entry in each iteration, up to one at which a coordinate ends it.
pub(super) struct Until<'s> {
    pub of: Appending<'s>,
    pub ends: Ends<'s>,
}

/// The test that ends a loop.
pub(super) struct Ends<'s> {
    pub sought: Sought,
    /// The array whose element at the iteration is compared.
    pub crd: BufferId,
    pub target: &'s Expr,
}

impl<'s> Appending<'s> {
    /// The arrays to which the loop stores at the count, with the values.
    pub fn stores(&self) -> impl Iterator<Item = (BufferId, &'s Expr)> {
        self.entry.iter().filter_map(|stmt| if let Stmt::Store(b, _, e) = stmt { Some((*b, e)) } else { None })
    }

    /// Whether an expression grows by one from iteration to iteration.
    pub fn steps(&self, e: &Expr) -> bool {
        steps_with(e, self.turn, &self.moving)
    }

    /// Whether a value of the entry depends on the count.
    pub fn reads_count(&self) -> bool {
        self.entry.iter().filter_map(|stmt| stmt.exprs().last()).any(|e| e.reads(self.count))
    }

    /// The loop over some of its iterations, with its body.
    pub fn turns(&self, lo: Expr, hi: Expr) -> Stmt {
        self.each(lo, hi, self.body.to_vec())
    }

    /// The loop over some of its iterations, with another body.
    pub fn each(&self, lo: Expr, hi: Expr, body: Vec<Stmt>) -> Stmt {
        Stmt::For { var: self.turn, lo, hi, how: self.how.clone(), body }
    }
}
