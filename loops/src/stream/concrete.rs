//! The domain that runs: coordinates are integers, arrays are slices, nothing allocates.

use super::domain::{Arith, Compare, Domain, State};
use super::domain::{BufferId, Sought};
use std::cell::Cell;
use std::convert::Infallible;

/// The buffer of the table that an iterator may write.
pub const TABLE: BufferId = BufferId(u32::MAX);

/// The most places of the table.
pub const PLACES: usize = 8;

/// The most variables of an iterator and of the law that checks it.
const VARS: usize = 64;

/// The nth writable array that a law gives ([`Concrete::over`]).
pub const fn written(n: u32) -> BufferId {
    BufferId(TABLE.0 - 1 - n)
}

/// Runs iterators on slices. Buffer `b` is `arrays[b]`. A load out of bounds, or more than `fuel` iterations of loops, is recorded in
/// `fault` instead of happening, so that a law can require none; the first fault is kept. Writable are the buffer `TABLE`, with as many
/// places as the law says, and the arrays that the law gives.
#[derive(Clone, Debug)]
pub struct Concrete<'a> {
    arrays: &'a [&'a [i64]],
    written: &'a [&'a [Cell<i64>]],
    table: [i64; PLACES],
    places: usize,
    vars: [i64; VARS],
    used: usize,
    fuel: u32,
    sums_fit: bool,
    fault: Option<&'static str>,
}

impl<'a> Concrete<'a> {
    /// A domain over these arrays whose loops may run `fuel` iterations in all.
    pub fn new(arrays: &'a [&'a [i64]], fuel: u32) -> Concrete<'a> {
        let (table, vars) = ([0; PLACES], [0; VARS]);
        Concrete { arrays, written: &[], table, places: 0, vars, used: 0, fuel, sums_fit: false, fault: None }
    }

    /// The domain with these writable arrays: the nth is buffer [`written(n)`](written).
    pub fn over(self, written: &'a [&'a [Cell<i64>]]) -> Self {
        Concrete { written, ..self }
    }

    /// The domain with a table of so many places, all 0.
    ///
    /// # Panics
    /// If there are more than [`PLACES`].
    pub fn with_table(self, places: usize) -> Self {
        assert!(places <= PLACES, "a table of more than {PLACES} places");
        Concrete { places, ..self }
    }

    /// The domain in which a sum, difference or product beyond 64 bits is a fault.
    pub fn whose_sums_fit(self) -> Self {
        Concrete { sums_fit: true, ..self }
    }

    /// The contents of the table.
    pub fn table(&self) -> &[i64] {
        &self.table[..self.places]
    }

    /// An element of a writable array, if it exists.
    fn cell(&self, array: BufferId, i: i64) -> Option<&'a Cell<i64>> {
        let n = TABLE.0.checked_sub(array.0)?.checked_sub(1)?;
        self.written.get(n as usize)?.get(usize::try_from(i).ok()?)
    }

    /// An element of an array, if it exists.
    fn element(&self, array: BufferId, i: i64) -> Option<i64> {
        if let Some(cell) = self.cell(array, i) {
            return Some(cell.get());
        }
        let array = if array == TABLE { self.table() } else { *self.arrays.get(array.0 as usize)? };
        array.get(usize::try_from(i).ok()?).copied()
    }

    /// The first fault, of a load, a store, a loop, a sum or a law ([`Concrete::fail`]).
    pub fn fault(&self) -> Option<&'static str> {
        self.fault
    }

    /// Records a fault, unless there is one already. Loops stop where they are.
    pub fn fail(&mut self, what: &'static str) {
        self.fault.get_or_insert(what);
    }

    /// The wrapped result of a sum, difference or product; a fault if it wraps and must not.
    fn sum(&mut self, (wrapped, wraps): (i64, bool)) -> i64 {
        if wraps && self.sums_fit {
            self.fail("a sum wraps");
        }
        wrapped
    }

    fn burn(&mut self) -> bool {
        if self.fuel == 0 {
            self.fail("a loop does not end");
        } else {
            self.fuel -= 1;
        }
        self.fault.is_none()
    }
}

impl Domain for Concrete<'_> {
    type I = i64;
    type B = bool;

    fn int(&mut self, c: i64) -> i64 {
        c
    }
    fn state(&mut self, _: &str, init: i64) -> State {
        assert!(self.used < self.vars.len(), "an iterator of more than {} variables", self.vars.len());
        self.vars[self.used] = init;
        self.used += 1;
        State(self.used as u32 - 1)
    }
    fn get(&mut self, s: State) -> i64 {
        self.vars[s.0 as usize]
    }
    fn set(&mut self, s: State, x: i64) {
        self.vars[s.0 as usize] = x;
    }
    fn snapshot(&mut self, _: &str, x: i64) -> i64 {
        x
    }
    fn load(&mut self, array: BufferId, &i: &i64) -> i64 {
        self.element(array, i).unwrap_or_else(|| {
            self.fail("a load out of bounds");
            0
        })
    }
    fn among(&mut self, sought: Sought, array: BufferId, places: [&i64; 3]) -> i64 {
        let Ok(lane) = sought.of(places.map(|x| *x), |at| Ok::<_, Infallible>(self.load(array, &at)));
        lane
    }
    fn store(&mut self, table: BufferId, &i: &i64, &x: &i64) {
        match (self.cell(table, i), self.element(table, i)) {
            (Some(cell), _) => cell.set(x),
            (None, Some(_)) if table == TABLE => self.table[i as usize] = x,
            _ => self.fail("a store out of bounds"),
        }
    }
    fn capacity(&mut self, array: BufferId) -> i64 {
        let given = TABLE.0.checked_sub(array.0).and_then(|n| self.written.get(n.checked_sub(1)? as usize));
        let length = match given {
            Some(cells) => cells.len(),
            None if array == TABLE => self.places,
            None => self.arrays[array.0 as usize].len(),
        };
        length as i64
    }
    fn trailing_zeros(&mut self, x: &i64) -> i64 {
        x.trailing_zeros().into()
    }
    fn arith(&mut self, op: Arith, &a: &i64, &b: &i64) -> i64 {
        match op {
            Arith::Add => self.sum(a.overflowing_add(b)),
            Arith::Sub => self.sum(a.overflowing_sub(b)),
            Arith::Mul => self.sum(a.overflowing_mul(b)),
            Arith::Div => a.div_euclid(b.max(1)),
            Arith::Rem => a.rem_euclid(b.max(1)),
            Arith::Min => a.min(b),
            Arith::Max => a.max(b),
            Arith::And => a & b,
            Arith::Or => a | b,
            Arith::Xor => a ^ b,
            Arith::Shl => a << (b & 63),
            Arith::Shr => a >> (b & 63),
        }
    }
    fn compare(&mut self, op: Compare, a: &i64, b: &i64) -> bool {
        match op {
            Compare::Lt => a < b,
            Compare::Le => a <= b,
            Compare::Eq => a == b,
            Compare::Ne => a != b,
        }
    }
    fn snapshot_bool(&mut self, _: &str, b: bool) -> bool {
        b
    }
    fn and(&mut self, a: bool, b: &dyn Fn(&mut Self) -> bool) -> bool {
        a && b(self)
    }
    fn not(&mut self, a: bool) -> bool {
        !a
    }
    fn or(&mut self, a: bool, b: bool) -> bool {
        a || b
    }
    fn to_int(&mut self, &b: &bool) -> i64 {
        b as i64
    }
    fn select(&mut self, &c: &bool, t: &dyn Fn(&mut Self) -> i64, e: i64) -> i64 {
        if c { t(self) } else { e }
    }
    fn branch(&mut self, c: bool, t: &mut dyn FnMut(&mut Self), e: &mut dyn FnMut(&mut Self)) {
        if c { t(self) } else { e(self) }
    }
    fn repeat(&mut self, c: &dyn Fn(&mut Self) -> bool, body: &mut dyn FnMut(&mut Self)) {
        while c(self) && self.burn() {
            body(self);
        }
    }
    fn count(&mut self, _: &str, lo: i64, hi: i64, body: &mut dyn FnMut(&mut Self, i64)) {
        let mut i = lo;
        while i < hi && self.burn() {
            body(self, i);
            i += 1;
        }
    }
}
