//! Records the elements that the iterations of a loop touch, to find conflicts.

use super::Rule;
use rustc_hash::FxHashMap;

/// The iterations of one loop, which may run in parallel.
pub(super) struct Turns {
    /// The current iteration.
    pub now: i64,
    seen: FxHashMap<(usize, i64), Seen>,
    /// The workspaces of which each thread has a copy, in order.
    own: Vec<usize>,
    /// The elements of these that an iteration has written, as they were before the loop: `None` if they were not set.
    before: FxHashMap<(usize, i64), Option<u64>>,
    /// Those that the current iteration has written.
    written: Vec<(usize, i64)>,
    /// The parts that the current iteration makes.
    pub parts: Vec<Part>,
}

/// The part of an array that an iteration makes.
pub(super) struct Part {
    pub array: usize,
    begin: i64,
    /// The end, if it is known before the iteration.
    end: Option<i64>,
    /// The elements that the iteration has written.
    pub written: Vec<i64>,
}

impl Part {
    pub fn new(array: usize, begin: i64, end: Option<i64>) -> Part {
        Part { array, begin, end, written: vec![] }
    }
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
    pub fn new(own: &[usize]) -> Turns {
        let (seen, before) = Default::default();
        Turns { now: 0, seen, own: own.to_vec(), before, written: vec![], parts: vec![] }
    }

    /// Whether each thread has a copy of a buffer.
    pub fn has_own(&self, buffer: usize) -> bool {
        self.own.binary_search(&buffer).is_ok()
    }

    /// Whether the iteration makes a part of a buffer.
    pub fn has_part(&self, buffer: usize) -> bool {
        self.parts.iter().any(|part| part.array == buffer)
    }

    /// Records that this iteration touches an element, which is in its part, if it makes one of the buffer.
    pub fn in_part(&mut self, buffer: usize, at: i64, writes: bool) -> Result<(), Rule> {
        let Some(part) = self.parts.iter_mut().find(|part| part.array == buffer) else { return Ok(()) };
        if at < part.begin || part.end.is_some_and(|end| at >= end) {
            return Err(Rule::InPart(part.begin));
        }
        part.written.extend(writes.then_some(at));
        Ok(())
    }

    /// Records an element of a workspace, of which each thread has a copy, before this iteration writes it.
    pub fn keep(&mut self, buffer: usize, at: i64, was: impl FnOnce() -> Option<u64>) {
        self.before.entry((buffer, at)).or_insert_with(was);
        self.written.push((buffer, at));
    }

    /// The elements that the iteration has written of workspaces of which each thread has a copy, as they were before the loop.
    pub fn end(&mut self) -> Vec<((usize, i64), Option<u64>)> {
        std::mem::take(&mut self.written).into_iter().map(|place| (place, self.before[&place])).collect()
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

/// The order in which the iterations of a loop run: any will do, so that of a few is drawn, from a seed; many ascend.
pub(super) fn order(lo: i64, hi: i64, seed: u64) -> impl Iterator<Item = i64> {
    const FEW: i64 = 1 << 12;
    let few = hi.checked_sub(lo).is_some_and(|n| n <= FEW);
    let mut drawn: Vec<i64> = if few { (lo..hi).collect() } else { vec![] };
    let mut state = seed | 1;
    for last in (1..drawn.len()).rev() {
        drawn.swap(last, (xorshift(&mut state) % (last as u64 + 1)) as usize);
    }
    drawn.into_iter().chain(if few { hi..hi } else { lo..hi })
}

/// The next of a sequence of drawn numbers (Marsaglia, *Xorshift RNGs*, J. Stat. Softw. 8, 2003); the first is not 0.
pub(crate) fn xorshift(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn conflict<const N: usize>(now: i64, others: [Option<i64>; N]) -> Result<(), Rule> {
    match others.into_iter().flatten().find(|turn| *turn != now) {
        Some(other) => Err(Rule::NoRace(other, now)),
        None => Ok(()),
    }
}
