//! A result's list, or chain of lists: entry by entry, a coordinate is appended to each level.

use super::assembler::{Assembler, Grow};
use super::insertion::Insertion;
use super::{Expr, int, plus, store_index};
use crate::{BufferId, Entry, Stmt, Symbolic, Var};
use fiberloom_core::algebra::{Op, Type};

/// A list of a result, and the levels of its chain.
#[derive(Clone)]
pub(super) struct List {
    /// The levels of the chain, each with its array of coordinates, except for arrays that are shared with an operand.
    pub levels: Vec<(usize, BufferId)>,
    /// The coordinates of the last level of the chain, which are stored or shared with an operand.
    pub last: BufferId,
    /// The values, if this is the last list and they are stored.
    pub values: Option<BufferId>,
    /// The number of entries so far.
    pub count: Var,
}

impl List {
    /// The number of entries so far.
    pub fn appended(&self) -> Expr {
        Expr::Var(self.count)
    }

    /// Appends an entry.
    pub fn append(&self, d: &mut Symbolic, insertion: &Insertion, at: Expr) {
        self.note(d, insertion, at, None);
    }

    /// Snapshots the number of entries.
    pub fn noted(&self, d: &mut Symbolic) -> Expr {
        d.define("begin", Type::I64, self.appended())
    }

    /// Appends an entry if `kept` holds, without a branch: writes the coordinates behind the last entry, and adds the condition to the
    /// number of entries. There must be room for one entry more than are kept. The value may come later ([`List::fill_in`]).
    pub fn note(&self, d: &mut Symbolic, insertion: &Insertion, at: Expr, kept: Option<Expr>) {
        for (k, crd) in &self.levels {
            let at = insertion.chained(*k).unwrap_or(&at);
            store_index(d, *crd, self.appended(), at.clone());
        }
        let more = kept.map_or(int(1), |kept| Expr::Op(Op::Convert(Type::I64), vec![kept]));
        d.assign(self.count, plus(self.appended(), more));
    }

    /// Appends the first `len` of `keys`, at most as many as a sorting network takes, in ascending order; [`List::fill_in`] stores their
    /// values.
    pub fn note_sorted(&self, d: &mut Symbolic, insertion: &Insertion, keys: BufferId, len: Expr) {
        let end = plus(self.appended(), len.clone());
        for (k, crd) in &self.levels {
            match insertion.chained(*k) {
                None => d.call(Entry::SortInto { keys, into: *crd, at: self.appended(), len: len.clone() }),
                Some(at) => {
                    d.each("q", self.appended(), end.clone(), |d, q| store_index(d, *crd, q, at.clone()));
                }
            }
        }
        d.assign(self.count, end);
    }

    /// Stores the values of the entries from number `begin` on, each computed from its coordinate. No two entries have the same
    /// coordinate.
    pub fn fill_in(
        &self,
        d: &mut Symbolic,
        (name, begin): (&str, Expr),
        value: &mut dyn FnMut(&mut Symbolic, Expr) -> Expr,
    ) {
        d.each_apart("q", begin, self.appended(), |d, q| {
            let at = d.index(self.last, q.clone());
            let at = d.define(name, Type::I64, at);
            let value = value(d, at);
            self.store(d, q, value);
        });
    }

    /// Stores the value of an entry.
    pub fn store(&self, d: &mut Symbolic, entry: Expr, value: Expr) {
        self.values.iter().for_each(|values| d.emit(Stmt::Store(*values, entry.clone(), value.clone())));
    }
}

impl Assembler for List {
    fn room(&self, d: &mut Symbolic, most: &dyn Fn(&mut Symbolic) -> Expr, grow: Grow) {
        let needed = plus(self.appended(), most(d));
        let needed = d.define("room", Type::I64, needed);
        let crds = self.levels.iter().map(|(_, crd)| *crd);
        crds.chain(self.values).for_each(|buffer| grow(d, buffer, needed.clone()));
    }

    fn put(&self, d: &mut Symbolic, insertion: &Insertion, at: Expr, value: Expr) {
        self.store(d, self.appended(), value);
        self.append(d, insertion, at);
    }

    fn end(&self) -> Option<Expr> {
        Some(self.appended())
    }

    fn lengths(&self, _: &Expr) -> Vec<(BufferId, Expr)> {
        vec![(self.last, self.appended())]
    }
}
