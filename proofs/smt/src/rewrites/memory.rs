//! The buffers of a symbolic run: how many elements each has is known, what they are and whether they were set need not be.

use super::functions::at_most;
use super::scalar::Scalar;
use super::truth::Truth;
use fiberloom_core::algebra::{Type, Value};
use fiberloom_loops::Role;

/// A variable or an element.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Whether it was set.
    pub set: Truth,
    /// What it is, where it was.
    pub value: Scalar,
}

impl Cell {
    /// One that was not set.
    pub fn unset(ty: Type) -> Cell {
        Cell { set: Truth::NO, value: Scalar::Known(Value::zero(ty)) }
    }

    /// One that holds this.
    pub fn of(value: Scalar) -> Cell {
        Cell { set: Truth::YES, value }
    }

    /// Sets it where a condition holds.
    pub fn put(&mut self, holds: &Truth, value: &Scalar) {
        // What was not set is whatever is convenient.
        let never = self.set.known() == Some(false);
        self.value = if never { value.clone() } else { Scalar::choose(holds, value, &self.value) };
        self.set = self.set.or(holds);
    }
}

/// A buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its elements' type.
    pub ty: Type,
    /// Who owns it.
    pub role: Role,
    /// Whether it has been allocated; an operand is.
    pub allocated: bool,
    /// As many as there is room for.
    pub cells: Vec<Cell>,
    /// Its length as a result, once that is known.
    pub finished: Option<Scalar>,
}

impl Buffer {
    /// An operand with these elements.
    pub fn operand(ty: Type, elements: &[Scalar]) -> Buffer {
        let cells = elements.iter().cloned().map(Cell::of).collect();
        Buffer { ty, role: Role::Operand, allocated: true, cells, finished: None }
    }

    /// One that the kernel makes.
    pub fn made(ty: Type, role: Role) -> Buffer {
        Buffer { ty, role, allocated: false, cells: vec![], finished: None }
    }

    /// Makes what differs from before unset: the next turn may see another thread's copy.
    pub fn drop_changes(&mut self, before: &Buffer) {
        for (n, cell) in self.cells.iter_mut().enumerate() {
            *cell = match before.cells.get(n) {
                Some(was) => Cell { set: was.set.and(&cell.value.same(&was.value)), value: was.value.clone() },
                None => Cell::unset(self.ty),
            };
        }
    }

    /// Whether an index is in bounds.
    pub fn bounds(&self, at: &Scalar) -> Truth {
        let room = self.cells.len() as i128;
        match (at.known(), at.within()) {
            (Some(at), _) => Truth::Known(at.as_i128().is_some_and(|at| (0..room).contains(&at))),
            (None, (least, most)) if least >= 0 && most < room => Truth::YES,
            (None, (least, most)) if most < 0 || least >= room => Truth::NO,
            (None, _) => {
                let (first, last) = (Scalar::int(0), Scalar::int(room as i64 - 1));
                at_most(&first, at).and(&at_most(at, &last))
            }
        }
    }

    /// The elements that an index may be of, each with whether it is.
    fn candidates(&self, at: &Scalar) -> Vec<(usize, Truth)> {
        let (least, most) = at.within();
        let last = most.min(self.cells.len() as i128 - 1);
        (least.max(0)..=last).map(|i| (i as usize, at.is(i as i64))).collect()
    }

    /// The element at an index in bounds: whether it was set, and what it is.
    pub fn load(&self, at: &Scalar) -> Cell {
        let mut found = None;
        for (i, here) in self.candidates(at) {
            let cell = &self.cells[i];
            found = Some(match found {
                None => cell.clone(),
                Some(Cell { set, value }) => Cell {
                    set: here.and(&cell.set).or(&(!&here).and(&set)),
                    value: Scalar::choose(&here, &cell.value, &value),
                },
            });
        }
        found.unwrap_or(Cell::unset(self.ty))
    }

    /// Sets the element at an index in bounds, where a condition holds.
    pub fn store(&mut self, at: &Scalar, holds: &Truth, value: &Scalar) {
        for (i, here) in self.candidates(at) {
            self.cells[i].put(&here.and(holds), value);
        }
    }

    /// The buffer anew.
    pub fn alloc(&mut self, len: usize, fill: Option<Value>) {
        let cell = fill.map_or(Cell::unset(self.ty), |fill| Cell::of(Scalar::Known(fill)));
        (self.allocated, self.finished, self.cells) = (true, None, vec![cell; len]);
    }

    /// Room for `len` elements at least, and for twice as many as before if there is less.
    pub fn reserve(&mut self, len: usize) {
        self.finished = None;
        let old = self.cells.len();
        if len > old {
            self.cells.resize(len.max(2 * old), Cell::unset(self.ty));
        }
    }

    /// What another has, which is then not allocated.
    pub fn take(&mut self, from: &mut Buffer) {
        std::mem::swap(&mut self.cells, &mut from.cells);
        (self.allocated, self.finished) = (true, from.finished.take());
        from.allocated = false;
    }

    /// Whether it has room for `len` elements, and whether all of them were set.
    pub fn complete(&self, len: &Scalar) -> (Truth, Truth) {
        let room = Scalar::int(self.cells.len() as i64);
        let fits = at_most(&Scalar::int(0), len).and(&at_most(len, &room));
        let mut all = Truth::YES;
        for (i, cell) in self.cells.iter().enumerate() {
            if cell.set.known() != Some(true) {
                all = all.and(&at_most(len, &Scalar::int(i as i64)).or(&cell.set));
            }
        }
        (fits, all)
    }

    /// Whether two results are one: their lengths, and every element.
    pub fn same(&self, other: &Buffer) -> Truth {
        let (Some(a), Some(b)) = (&self.finished, &other.finished) else { return Truth::NO };
        let mut all = a.same(b);
        for (i, (x, y)) in self.cells.iter().zip(&other.cells).enumerate() {
            let behind = at_most(a, &Scalar::int(i as i64));
            all = all.and(&behind.or(&x.value.same(&y.value)));
        }
        all
    }
}
