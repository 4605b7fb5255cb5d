//! Truth values: known ones, and terms of the solver.

use std::ops::Not;
use z3::ast::{Ast, Bool};

/// A condition.
#[derive(Clone, Debug)]
pub enum Truth {
    /// Of which nothing is to be asked.
    Known(bool),
    /// A term.
    Open(Bool),
}

impl Truth {
    /// The condition that always holds.
    pub const YES: Truth = Truth::Known(true);
    /// The condition that never holds.
    pub const NO: Truth = Truth::Known(false);

    /// A term, known if the solver's simplifier decides it.
    pub fn of(term: &Bool) -> Truth {
        let term = term.simplify();
        term.as_bool().map_or(Truth::Open(term), Truth::Known)
    }

    /// Its value, where that is known.
    pub fn known(&self) -> Option<bool> {
        match self {
            Truth::Known(b) => Some(*b),
            Truth::Open(_) => None,
        }
    }

    /// As a term.
    pub fn term(&self) -> Bool {
        match self {
            Truth::Known(b) => Bool::from_bool(*b),
            Truth::Open(term) => term.clone(),
        }
    }

    /// Both hold.
    pub fn and(&self, other: &Truth) -> Truth {
        match (self, other) {
            (Truth::Known(false), _) | (_, Truth::Known(false)) => Truth::NO,
            (Truth::Known(true), open) | (open, Truth::Known(true)) => open.clone(),
            (Truth::Open(a), Truth::Open(b)) if a == b => self.clone(),
            (Truth::Open(a), Truth::Open(b)) => Truth::Open(Bool::and(&[a, b])),
        }
    }

    /// One holds.
    pub fn or(&self, other: &Truth) -> Truth {
        match (self, other) {
            (Truth::Known(true), _) | (_, Truth::Known(true)) => Truth::YES,
            (Truth::Known(false), open) | (open, Truth::Known(false)) => open.clone(),
            (Truth::Open(a), Truth::Open(b)) if a == b => self.clone(),
            (Truth::Open(a), Truth::Open(b)) => Truth::Open(Bool::or(&[a, b])),
        }
    }

    /// Both hold, or neither does.
    pub fn same(&self, other: &Truth) -> Truth {
        match (self, other) {
            (Truth::Known(true), open) | (open, Truth::Known(true)) => open.clone(),
            (Truth::Known(false), open) | (open, Truth::Known(false)) => !open,
            (Truth::Open(a), Truth::Open(b)) if a == b => Truth::YES,
            (Truth::Open(a), Truth::Open(b)) => Truth::Open(a.iff(b)),
        }
    }
}

impl Not for &Truth {
    type Output = Truth;

    fn not(self) -> Truth {
        match self {
            Truth::Known(b) => Truth::Known(!b),
            Truth::Open(term) => Truth::Open(term.not()),
        }
    }
}
