//! Which elements the turns of a loop touch, to find two that conflict.

use super::Rule;
use rustc_hash::FxHashMap;

/// The turns of one loop that may run at once.
pub(super) struct Turns {
    /// The turn that runs.
    pub now: i64,
    seen: FxHashMap<(usize, i64), Seen>,
}

/// Who touched an element.
#[derive(Clone, Copy, Default)]
struct Seen {
    wrote: Option<i64>,
    read: Option<i64>,
    /// A turn other than `read` that read it too.
    read_too: Option<i64>,
}

impl Turns {
    pub fn new() -> Turns {
        Turns { now: 0, seen: FxHashMap::default() }
    }

    /// This turn reads an element of a buffer that kernels can write.
    pub fn read(&mut self, buffer: usize, at: i64) -> Result<(), Rule> {
        let (now, seen) = (self.now, self.seen.entry((buffer, at)).or_default());
        if *seen.read.get_or_insert(now) != now {
            seen.read_too = Some(now);
        }
        conflict(now, [seen.wrote])
    }

    /// This turn writes an element.
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
