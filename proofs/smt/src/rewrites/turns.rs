//! Which elements the turns of a loop touch, to find two that conflict.

use super::scalar::Scalar;
use super::truth::Truth;

/// An access to an element.
#[derive(Clone, Debug)]
pub struct Access {
    /// Of which buffer.
    pub buffer: usize,
    /// At which index.
    pub at: Scalar,
    /// Where it happens.
    pub guard: Truth,
    /// Whether it sets the element.
    pub writes: bool,
}

/// The accesses of a loop's turns.
#[derive(Default)]
pub struct Turns {
    now: usize,
    seen: Vec<(usize, Access)>,
}

impl Turns {
    /// The next turn begins.
    pub fn next(&mut self) {
        self.now += 1;
    }

    /// Whether another turn touches the element, and one of the two writes it.
    pub fn clash(&self, access: &Access) -> Truth {
        let other = |(turn, seen): &&(usize, Access)| {
            *turn != self.now && seen.buffer == access.buffer && (seen.writes || access.writes)
        };
        self.seen.iter().filter(other).fold(Truth::NO, |clash, (_, seen)| {
            let both = seen.guard.and(&access.guard);
            clash.or(&both.and(&seen.at.same(&access.at)))
        })
    }

    /// This turn touches an element.
    pub fn note(&mut self, access: Access) {
        self.seen.push((self.now, access));
    }
}
