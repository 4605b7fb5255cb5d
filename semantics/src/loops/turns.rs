//! Records the elements that the iterations of a loop touch, to find conflicts.

use super::Rule;
use rustc_hash::FxHashMap;

/// The iterations of one loop, which may run in parallel.
pub(super) struct Turns {
    /// The current iteration.
    pub now: i64,
    seen: FxHashMap<(usize, i64), Seen>,
}

/// The iterations that touched an element.
#[derive(Clone, Copy, Default)]
struct Seen {
    wrote: Option<i64>,
    read: Option<i64>,
    /// An iteration other than `read` that read the element too.
    read_too: Option<i64>,
}

impl Turns {
    pub fn new() -> Turns {
        Turns { now: 0, seen: FxHashMap::default() }
    }

    /// Records that this iteration reads an element of a buffer that kernels can write.
    pub fn read(&mut self, buffer: usize, at: i64) -> Result<(), Rule> {
        let (now, seen) = (self.now, self.seen.entry((buffer, at)).or_default());
        if *seen.read.get_or_insert(now) != now {
            seen.read_too = Some(now);
        }
        conflict(now, [seen.wrote])
    }

    /// Records that this iteration writes an element.
    pub fn write(&mut self, buffer: usize, at: i64) -> Result<(), Rule> {
        let (now, seen) = (self.now, self.seen.entry((buffer, at)).or_default());
        conflict(now, [seen.wrote, seen.read, seen.read_too])?;
        seen.wrote = Some(now);
        Ok(())
    }
}

fn conflict<const N: usize>(now: i64, others: [Option<i64>; N]) -> Result<(), Rule> {
    match others.into_iter().flatten().find(|turn| *turn != now) {
        Some(other) => Err(Rule::NoRace(other, now)),
        None => Ok(()),
    }
}
