//! Who touched each element last, to find accesses that no barrier orders.
//!
//! An access happens before another of the same thread that comes later; of a thread of its block, if a barrier of the block stands between;
//! of a lane of its warp, if one of the warp does. (Lamport, *Time, Clocks, and the Ordering of Events in a Distributed System*, 1978; as all
//! threads of a block meet at a barrier, a count of barriers is clock enough.)

/// When and by whom an element was accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    pub thread: u32,
    pub block: u32,
    pub warp: u32,
    /// The barriers of the block, and of the warp, before the access.
    pub barriers: u32,
    pub warp_barriers: u32,
    pub line: u32,
}

impl Stamp {
    /// Whether this access happened before another, which comes later.
    fn before(&self, later: &Stamp) -> bool {
        self.thread == later.thread
            || self.block == later.block && self.barriers < later.barriers
            || self.warp == later.warp && self.warp_barriers < later.warp_barriers
    }
}

/// The way of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Read,
    Write,
    Atomic,
}

/// The last accesses of one way: two of the block that came last, of different threads, and one of another block.
#[derive(Clone, Copy, Default, Debug)]
struct Last {
    here: [Option<Stamp>; 2],
    elsewhere: Option<Stamp>,
}

impl Last {
    fn note(&mut self, now: Stamp) {
        match self.here[0] {
            Some(last) if last.block != now.block => {
                *self = Last { here: [Some(now), None], elsewhere: Some(last) };
            }
            Some(last) if last.thread != now.thread => self.here = [Some(now), Some(last)],
            _ => self.here[0] = Some(now),
        }
    }

    /// An access that does not happen before a later one.
    fn unordered(&self, now: &Stamp) -> Option<Stamp> {
        self.here.into_iter().chain([self.elsewhere]).flatten().find(|stamp| !stamp.before(now))
    }
}

/// The accesses of one element.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Element {
    reads: Last,
    writes: Last,
    atomics: Last,
}

impl Element {
    /// Notes an access: an earlier one with which it races.
    pub fn note(&mut self, way: Way, now: Stamp) -> Option<Stamp> {
        let Element { reads, writes, atomics } = *self;
        let (own, others) = match way {
            Way::Read => (&mut self.reads, [writes, atomics, Last::default()]),
            Way::Write => (&mut self.writes, [reads, atomics, writes]),
            Way::Atomic => (&mut self.atomics, [reads, writes, Last::default()]),
        };
        own.note(now);
        others.iter().find_map(|last| last.unordered(&now))
    }
}
