//! Which elements the turns of a loop touch, to find two that conflict.

use super::memory::Buffer;
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
    /// The workspaces of which each thread has a copy, as they are before the loop.
    pub own: Vec<(usize, Buffer)>,
    /// The arrays to which iterations append, each to a part of its own.
    joined: Vec<usize>,
    now: usize,
    seen: Vec<(usize, Access)>,
}

impl Turns {
    /// Those of a loop whose threads have copies of these workspaces, and whose iterations append to these arrays.
    pub fn of(own: Vec<(usize, Buffer)>, joined: Vec<usize>) -> Turns {
        Turns { own, joined, ..Turns::default() }
    }

    /// Whether each thread has a copy of a buffer, or makes a part of it.
    pub fn has_own(&self, buffer: usize) -> bool {
        self.own.iter().any(|(own, _)| *own == buffer) || self.joined.contains(&buffer)
    }

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
