//! The stream of a fiber of a list level: `crd[p]` for the positions of the fiber, ascending.
//!
//! ```text
//!   compressed    pos: … 3    7 …         parent's fiber is positions 3..7
//!                 crd: . . . 0 2 5 9 . .   p rests on one of them, or at the end
//!
//!   repeating     crd: . . . 0 0 0 5 9 .   outer levels of COO: an entry is a run of equal coordinates, positions
//!                            p     q       p..q, which are the fiber of the level below
//! ```
//!
//! A list is walked under a [`View`]: it takes and returns coordinates of the view. In blocks an entry is a run of positions too; its
//! coordinate is stored, so that stored coordinates are divided once per block.
//!
//! The end of an entry's run is found when it is first requested, or by walking the run ([`Run`]), and only once.
//!
//! Invariant between calls: if entries are runs, `q` is inside the run that begins at `p` or at its end (a block's `q`
//! always at its end), or both are at the fiber's end; under a stride `p` rests on an entry in view.

use super::bucket_index::BucketIndex;
use super::domain::{Arith, Compare, Domain, State};
use super::view::{Mark, View};
use super::{BufferId, LANES, Sought};

/// The number of next entries that are compared without a branch.
const NEAR: i64 = 3;

/// A fiber of a list level, not yet opened.
#[derive(Clone, Debug)]
pub struct ListFiber<I> {
    /// Coordinates by position.
    pub crd: BufferId,
    /// The first position.
    pub begin: I,
    /// One past the last position.
    pub end: I,
    /// Whether consecutive positions may have the same coordinate; those are one entry.
    pub repeats: bool,
    /// The entries in view, and their coordinates there.
    pub view: View<I>,
    /// The run of an entry of the level above, if the fiber is that run; it may end before `end`.
    pub run: Option<Run<I>>,
    /// The bucket index, if there is one; then no coordinate repeats.
    pub bucket_index: Option<BucketIndex<I>>,
}

/// The positions of an entry: from its first on those that have its coordinate, up to the fiber's end.
#[derive(Clone, Debug)]
pub struct Run<I> {
    crd: BufferId,
    p: State,
    q: State,
    end: I,
}

impl<I: Clone> Run<I> {
    /// One past its last position.
    pub fn end<D: Domain<I = I>>(&self, d: &mut D) -> I {
        self.close(d);
        d.get(self.q)
    }

    /// Advances `q` from any place of the run at `p` to the run's end.
    fn close<D: Domain<I = I>>(&self, d: &mut D) {
        d.repeat(&|d| self.inside(d), &mut |d| {
            let one = d.int(1);
            d.advance(self.q, one);
        });
    }

    /// The condition that `q` is inside the run.
    fn inside<D: Domain<I = I>>(&self, d: &mut D) -> D::B {
        let here = d.get(self.q);
        let valid = d.compare(Compare::Lt, &here, &self.end);
        d.and(valid, &|d| {
            let (p, q) = (d.get(self.p), d.get(self.q));
            let here = d.load(self.crd, &q);
            let first = d.load(self.crd, &p);
            d.compare(Compare::Eq, &here, &first)
        })
    }

    /// Loops over the positions of the run, and leaves `q` at its end.
    fn each<D: Domain<I = I>>(&self, d: &mut D, body: &mut dyn FnMut(&mut D, I)) {
        let begin = d.get(self.p);
        d.set(self.q, begin);
        d.repeat(&|d| self.inside(d), &mut |d| {
            let position = d.get(self.q);
            body(d, position);
            let one = d.int(1);
            d.advance(self.q, one);
        });
    }
}

impl<I: Clone> ListFiber<I> {
    /// A fiber without repeated coordinates, all of it in view.
    pub fn unique(crd: BufferId, begin: I, end: I) -> ListFiber<I> {
        ListFiber { crd, begin, end, repeats: false, view: View::default(), run: None, bucket_index: None }
    }

    /// A fiber whose positions are the run of an entry of the level above.
    pub fn of_run(crd: BufferId, run: Run<I>, begin: I) -> ListFiber<I> {
        ListFiber { run: Some(run.clone()), ..ListFiber::unique(crd, begin, run.end) }
    }

    /// The coordinate of an entry in the view.
    fn coordinate<D: Domain<I = I>>(&self, d: &mut D, entry: &Entry<I>) -> I {
        let stored = d.load(self.crd, &entry.position);
        self.view.seen(d, stored)
    }

    /// The entry of a fiber that has exactly one: `body(entry, its coordinate)`.
    pub fn single<D: Domain<I = I>>(&self, d: &mut D, body: &mut impl FnMut(&mut D, Entry<I>, I)) {
        self.at(d, self.begin.clone(), body);
    }

    /// The entry at a position: `body(entry, its coordinate)`.
    fn at<D: Domain<I = I>>(&self, d: &mut D, position: I, body: &mut impl FnMut(&mut D, Entry<I>, I)) {
        let entry = Entry { position, run: None };
        let at = self.coordinate(d, &entry);
        body(d, entry, at);
    }

    /// Whether a counted loop over the positions visits each entry once.
    pub fn is_counted(&self) -> bool {
        !self.repeats && self.view.is_whole()
    }
}

/// The positions of an entry.
#[derive(Clone, Debug)]
pub struct Entry<I> {
    /// The entry's position, or the first of its run.
    pub position: I,
    /// The end of its run of positions, in a repeating list or one in blocks.
    pub run: Option<EntryRun<I>>,
}

/// The end of the positions of an entry.
#[derive(Clone, Debug)]
pub enum EntryRun<I> {
    /// One past the last position.
    Ends(I),
    /// The end is not found yet.
    Open(Run<I>),
}

impl<I: Clone> EntryRun<I> {
    /// One past the last position.
    pub fn end<D: Domain<I = I>>(&self, d: &mut D) -> I {
        match self {
            EntryRun::Ends(end) => end.clone(),
            EntryRun::Open(run) => run.end(d),
        }
    }
}

/// An opened fiber.
#[derive(Clone, Debug)]
pub struct List<I> {
    fiber: ListFiber<I>,
    p: State,
    /// If entries are runs: a position inside of the run at `p`, or its end.
    q: Option<State>,
    /// In blocks: the coordinate of the block that begins at `p`.
    block: Option<State>,
}

impl<I: Clone> List<I> {
    /// Opens a fiber, resting on its first entry. Variables are named after `name`.
    pub fn open<D: Domain<I = I>>(d: &mut D, name: &str, fiber: ListFiber<I>) -> List<I> {
        let finger = fiber.view.finger;
        let p = finger.unwrap_or_else(|| d.state(name, fiber.begin.clone()));
        let runs = fiber.repeats || fiber.view.blocks.is_some();
        let q = runs.then(|| d.state(&format!("{name}_end"), fiber.begin.clone()));
        let block = fiber.view.blocks.is_some().then(|| {
            let zero = d.int(0);
            d.state(&format!("{name}_block"), zero)
        });
        let list = List { fiber, p, q, block };
        if let Some(start) = list.fiber.view.start.clone() {
            match &list.fiber.view.mark {
                Some(mark) => list.resume(d, mark, &start),
                None if finger.is_some() => list.move_on(d, &start),
                None => list.search_on(d, &start),
            }
        }
        if list.fiber.view.start.is_some() || finger.is_some() {
            let here = d.get(p);
            q.into_iter().for_each(|q| d.set(q, here.clone()));
        }
        list.close_block(d);
        list.settle(d);
        list
    }

    /// Moves `p` to the first position whose stored coordinate is not before `start`, from the marked position on. Searches the fiber if
    /// the mark is behind the target, or belongs to another fiber. That test is a predicted branch, which nothing waits for.
    fn resume<D: Domain<I = I>>(&self, d: &mut D, mark: &Mark<I>, start: &I) {
        let ListFiber { begin, end, crd, .. } = &self.fiber;
        let marked = d.load(mark.table, &mark.at);
        let marked = d.arith(Arith::Max, &marked, begin);
        let marked = d.arith(Arith::Min, &marked, end);
        d.set(self.p, marked);
        let here = d.get(self.p);
        let behind = d.compare(Compare::Lt, begin, &here);
        let too_far = d.and(behind, &|d| {
            let one = d.int(1);
            let before = d.arith(Arith::Sub, &here, &one);
            let before = d.load(*crd, &before);
            d.compare(Compare::Le, start, &before)
        });
        let search = &mut |d: &mut D| {
            d.set(self.p, begin.clone());
            self.search_on(d, start);
        };
        d.branch(too_far, search, &mut |d| match self.fiber.view.finger {
            Some(_) => self.move_on(d, start),
            None => self.pass_near(d, start),
        });
        let here = d.get(self.p);
        d.store(mark.table, &mark.at, &here);
    }

    /// The run of the entry at `p`; `None` in blocks, or where every entry has one position.
    fn run(&self) -> Option<Run<I>> {
        let q = self.q.filter(|_| self.block.is_none())?;
        Some(Run { crd: self.fiber.crd, p: self.p, q, end: self.fiber.end.clone() })
    }

    /// Stores the coordinate of the block that `p` is in; only for a list in blocks.
    fn divide<D: Domain<I = I>>(&self, d: &mut D, block: State) {
        let (valid, zero) = (self.valid(d), d.int(0));
        let at = d.select(
            &valid,
            &|d| {
                let stored = self.stored(d);
                self.fiber.view.seen(d, stored)
            },
            zero,
        );
        d.set(block, at);
    }

    /// The stored coordinate at which the block `blocks` after this one begins.
    fn behind_block<D: Domain<I = I>>(&self, d: &mut D, block: State, blocks: i64) -> I {
        let (at, n) = (d.get(block), d.int(blocks));
        let view = &self.fiber.view;
        let past = match (&view.extent, &view.blocks) {
            (Some(extent), Some(length)) if blocks == 1 => {
                // The last block begins behind `last`. A block may begin below 0, and `extent - first` not fit.
                let (first, last) = (view.stored(d, &at), d.arith(Arith::Sub, extent, length));
                let ends = d.compare(Compare::Lt, &last, &first);
                let past = d.arith(Arith::Add, &first, length);
                d.select(&ends, &|_| extent.clone(), past)
            }
            _ => {
                let next = d.arith(Arith::Add, &at, &n);
                view.stored(d, &next)
            }
        };
        d.snapshot("past", past)
    }

    /// Advances `q` from any place of the block at `p` to its end.
    fn close_block<D: Domain<I = I>>(&self, d: &mut D) {
        let (Some(q), Some(block)) = (self.q, self.block) else { return };
        self.divide(d, block);
        let past = self.behind_block(d, block, 1);
        self.pass(d, q, &past);
    }

    /// As [`List::close_block`], after `p` has just left the previous block. Most often the next block has the next number: a predicted
    /// comparison confirms it without waiting for a division.
    fn close_next_block<D: Domain<I = I>>(&self, d: &mut D) {
        let (Some(q), Some(block)) = (self.q, self.block) else { return };
        let far = self.behind_block(d, block, 2);
        let valid = self.valid(d);
        let is_next = d.and(valid, &|d| {
            let stored = self.stored(d);
            d.compare(Compare::Lt, &stored, &far)
        });
        let next = &mut |d: &mut D| {
            let one = d.int(1);
            d.advance(block, one);
        };
        d.branch(is_next, next, &mut |d| self.divide(d, block));
        let past = self.behind_block(d, block, 1);
        self.pass(d, q, &past);
    }

    /// Advances `q` to the first position whose stored coordinate is not before `past`, [`LANES`] positions at a time while there are as
    /// many.
    fn pass<D: Domain<I = I>>(&self, d: &mut D, q: State, past: &I) {
        let all = d.int(LANES);
        let passed = d.state("passed", all.clone());
        let more = |d: &mut D| {
            let (passed, q) = (d.get(passed), d.get(q));
            let far = d.arith(Arith::Add, &q, &all);
            let room = d.compare(Compare::Le, &far, &self.fiber.end);
            let whole = d.compare(Compare::Le, &all, &passed);
            d.and(room, &|_| whole.clone())
        };
        d.repeat(&more, &mut |d| {
            let here = d.get(q);
            let first = self.passes(d, &here, past);
            let n = (1..LANES).fold(first, |n, k| {
                let k = d.int(k);
                let position = d.arith(Arith::Add, &here, &k);
                let one = self.passes(d, &position, past);
                d.arith(Arith::Add, &n, &one)
            });
            d.set(passed, n);
            let n = d.get(passed);
            d.advance(q, n);
        });
        let inside = |d: &mut D| {
            let q = d.get(q);
            self.is_before(d, &q, past)
        };
        d.repeat(&inside, &mut |d| {
            let one = d.int(1);
            d.advance(q, one);
        });
    }

    /// Advances `p` to the next entry that is on the stride, from this one on.
    fn settle<D: Domain<I = I>>(&self, d: &mut D) {
        if self.fiber.view.stride.is_none() {
            return;
        }
        let passed = |d: &mut D| {
            let valid = self.valid(d);
            d.and(valid, &|d| {
                let stored = self.stored(d);
                let on = self.fiber.view.on(d, &stored).expect("under a stride");
                d.not(on)
            })
        };
        d.repeat(&passed, &mut |d| self.step(d));
    }

    /// The array of the list's coordinates.
    pub fn coordinates(&self) -> BufferId {
        self.fiber.crd
    }

    /// Whether an entry may be a run of positions.
    pub fn repeats(&self) -> bool {
        self.q.is_some()
    }

    /// The list, ending after at most `entries` more entries. No entry may repeat.
    pub fn upto<D: Domain<I = I>>(&self, d: &mut D, entries: i64) -> List<I> {
        debug_assert!(!self.repeats(), "a run's end is not known by its number");
        let (p, n) = (d.get(self.p), d.int(entries));
        let far = d.arith(Arith::Add, &p, &n);
        let stop = d.arith(Arith::Min, &far, &self.fiber.end);
        let end = d.snapshot("stop", stop);
        // The bucket index may hold positions behind this end.
        List { fiber: ListFiber { end, bucket_index: None, ..self.fiber.clone() }, ..self.clone() }
    }

    /// The list, ending behind the entries at coordinates up to `last`, which is in view.
    pub fn through<D: Domain<I = I>>(&self, d: &mut D, last: &I) -> List<I> {
        let (stored, one) = (self.fiber.view.stored(d, last), d.int(1));
        let past = d.arith(Arith::Add, &stored, &one);
        let stop = Some(d.snapshot("past", past));
        let view = View { stop, ..self.fiber.view.clone() };
        List { fiber: ListFiber { view, ..self.fiber.clone() }, ..self.clone() }
    }

    /// Whether several entries can be compared with a coordinate at once: each has one position, and all are in view.
    pub fn has_lanes(&self) -> bool {
        self.q.is_none() && self.fiber.view.stride.is_none() && self.fiber.view.finger.is_none()
    }

    /// The last coordinate in view at which the list can have an entry: that of its last entry, or the last in view if the entry is
    /// behind the view; only when valid. It is in other lists' views too, so no shift takes it out of 64 bits.
    pub fn last<D: Domain<I = I>>(&self, d: &mut D) -> I {
        let one = d.int(1);
        let position = d.arith(Arith::Sub, &self.fiber.end, &one);
        let stored = d.load(self.fiber.crd, &position);
        let within = self.fiber.view.stop.as_ref().map_or(stored.clone(), |stop| {
            let last = d.arith(Arith::Sub, stop, &one);
            d.arith(Arith::Min, &stored, &last)
        });
        self.fiber.view.seen(d, within)
    }

    /// The condition that one of the next [`LANES`] entries is at `target`, and that entry; any of them if none is.
    pub fn among<D: Domain<I = I>>(&self, d: &mut D, target: &I) -> (D::B, Entry<I>) {
        let (p, stored) = (d.get(self.p), self.fiber.view.stored(d, target));
        let lane = d.among(Sought::Target, self.fiber.crd, [&p, &self.fiber.end, &stored]);
        let lane = d.snapshot("lane", lane);
        let (lanes, most) = (d.int(LANES), d.int(LANES - 1));
        let found = d.compare(Compare::Lt, &lane, &lanes);
        let within = d.arith(Arith::And, &lane, &most);
        (found, Entry { position: d.arith(Arith::Add, &p, &within), run: None })
    }

    /// Moves to the end of this list, where the list of which it is the beginning continues.
    pub fn leave<D: Domain<I = I>>(&self, d: &mut D) {
        d.set(self.p, self.fiber.end.clone());
    }

    /// The condition that the list rests on an entry.
    pub fn valid<D: Domain<I = I>>(&self, d: &mut D) -> D::B {
        let p = d.get(self.p);
        let inside = d.compare(Compare::Lt, &p, &self.fiber.end);
        let Some(stop) = &self.fiber.view.stop else { return inside };
        d.and(inside, &|d| {
            let stored = self.stored(d);
            d.compare(Compare::Lt, &stored, stop)
        })
    }

    /// The entry's stored coordinate; only inside of the fiber.
    fn stored<D: Domain<I = I>>(&self, d: &mut D) -> I {
        let p = d.get(self.p);
        d.load(self.fiber.crd, &p)
    }

    /// The entry's coordinate in the view; only when valid.
    pub fn index<D: Domain<I = I>>(&self, d: &mut D) -> I {
        if let Some(block) = self.block {
            return d.get(block);
        }
        let stored = self.stored(d);
        self.fiber.view.seen(d, stored)
    }

    /// The entry's coordinate, or `otherwise` at the end.
    pub fn index_or<D: Domain<I = I>>(&self, d: &mut D, otherwise: I) -> I {
        let valid = self.valid(d);
        d.select(&valid, &|d| self.index(d), otherwise)
    }

    /// The number of remaining entries, if each entry has one position.
    pub fn entries<D: Domain<I = I>>(&self, d: &mut D) -> Option<I> {
        self.fiber.is_counted().then(|| self.positions(d))
    }

    /// The number of remaining positions, in view or not.
    pub fn positions<D: Domain<I = I>>(&self, d: &mut D) -> I {
        let p = d.get(self.p);
        d.arith(Arith::Sub, &self.fiber.end, &p)
    }

    /// The current entry, to be used before the next step.
    pub fn entry<D: Domain<I = I>>(&self, d: &mut D) -> Entry<I> {
        let run = match (self.run(), self.q) {
            (Some(run), _) => Some(EntryRun::Open(run)),
            (None, q) => q.map(|q| EntryRun::Ends(d.get(q))),
        };
        Entry { position: d.get(self.p), run }
    }

    /// Steps to the next entry.
    pub fn next<D: Domain<I = I>>(&self, d: &mut D) {
        self.step(d);
        self.settle(d);
    }

    /// Steps to the next entry of the fiber, in view or not.
    fn step<D: Domain<I = I>>(&self, d: &mut D) {
        let Some(q) = self.q else {
            let one = d.int(1);
            return d.advance(self.p, one);
        };
        self.run().into_iter().for_each(|run| run.close(d));
        let end = d.get(q);
        d.set(self.p, end);
        self.close_next_block(d);
    }

    /// Steps to the next entry where `c` holds, with no branches except to find the end of a run or the next entry on a
    /// stride.
    pub fn next_if<D: Domain<I = I>>(&self, d: &mut D, c: &D::B) {
        let Some(q) = self.q else {
            let x = d.to_int(c);
            d.advance(self.p, x);
            return self.settle(d);
        };
        self.run().into_iter().for_each(|run| run.close(d));
        let here = d.get(self.p);
        let moved = d.select(c, &|d| d.get(q), here);
        d.set(self.p, moved);
        self.close_block(d);
        self.settle(d);
    }

    /// Moves to the first entry at or after `target`, by binary search over the rest.
    pub fn seek<D: Domain<I = I>>(&self, d: &mut D, target: &I) {
        let stored = self.fiber.view.stored(d, target);
        self.search_on(d, &stored);
        if let Some(q) = self.q {
            let here = d.get(self.p);
            d.set(q, here);
            let next = match self.block {
                Some(block) => {
                    self.divide(d, block);
                    self.behind_block(d, block, 1)
                }
                None => self.behind(d),
            };
            self.search(d, q, &next);
        }
        self.settle(d);
    }

    /// The current stored coordinate plus 1; 1 at the end.
    fn behind<D: Domain<I = I>>(&self, d: &mut D) -> I {
        let (valid, zero, one) = (self.valid(d), d.int(0), d.int(1));
        let at = d.select(&valid, &|d| self.stored(d), zero);
        let next = d.arith(Arith::Add, &at, &one);
        d.snapshot("next", next)
    }

    /// Moves to the first entry at or after `target` by exponential search: steps double until one goes too far, then a binary search
    /// takes the last step. The number of comparisons is logarithmic in the distance.
    pub fn gallop<D: Domain<I = I>>(&self, d: &mut D, target: &I) {
        let stored = self.fiber.view.stored(d, target);
        self.move_on(d, &stored);
        self.arrive(d);
    }

    /// As [`List::gallop`], for a list that rests on an entry before `target`.
    pub fn leap<D: Domain<I = I>>(&self, d: &mut D, target: &I) {
        let stored = self.fiber.view.stored(d, target);
        match self.fiber.bucket_index {
            Some(_) => self.move_on(d, &stored),
            None => self.leap_on(d, &stored),
        }
        self.arrive(d);
    }

    /// Restores the invariant after `p` has moved or stayed.
    fn arrive<D: Domain<I = I>>(&self, d: &mut D) {
        if let Some(q) = self.q {
            let here = d.get(self.p);
            let end = d.get(q);
            let further = d.arith(Arith::Max, &here, &end);
            d.set(q, further);
            self.close_block(d);
        }
        self.settle(d);
    }

    /// Moves to the first entry at or after `target`, without a branch if it is one of the next few. For ascending targets, and lists
    /// that are likely to have about as many entries as there are targets.
    pub fn come_near<D: Domain<I = I>>(&self, d: &mut D, target: &I) {
        if self.q.is_some() {
            return self.gallop(d, target);
        }
        let stored = self.fiber.view.stored(d, target);
        self.pass_near(d, &stored);
        self.settle(d);
    }

    /// As [`List::come_near`], with a stored coordinate, in view or not.
    fn pass_near<D: Domain<I = I>>(&self, d: &mut D, stored: &I) {
        let valid = {
            let p = d.get(self.p);
            d.compare(Compare::Lt, &p, &self.fiber.end)
        };
        let few = |d: &mut D| {
            let (p, one) = (d.get(self.p), d.int(1));
            let last = d.arith(Arith::Sub, &self.fiber.end, &one);
            // Positions behind the last entry compare the last one again: if that is before the target, all are.
            let first = self.passes(d, &p, stored);
            let passed = (1..NEAR).fold(first, |n, k| {
                let k = d.int(k);
                let next = d.arith(Arith::Add, &p, &k);
                let position = d.arith(Arith::Min, &next, &last);
                let one = self.passes(d, &position, stored);
                d.arith(Arith::Add, &n, &one)
            });
            let passed = d.snapshot("passed", passed);
            let next = d.arith(Arith::Add, &p, &passed);
            let next = d.arith(Arith::Min, &next, &self.fiber.end);
            d.set(self.p, next);
            let all = d.int(NEAR);
            let far = d.compare(Compare::Eq, &passed, &all);
            d.branch(far, &mut |d| self.move_on(d, stored), &mut |_| {});
        };
        d.branch(valid, &mut |d| few(d), &mut |_| {});
    }

    /// Moves `p` to the first position from there on whose stored coordinate is `target` or greater, or to the end. The number of
    /// comparisons is logarithmic in the distance.
    fn move_on<D: Domain<I = I>>(&self, d: &mut D, target: &I) {
        self.look_up(d, target);
        let here = d.get(self.p);
        let behind = self.is_before(d, &here, target);
        d.branch(behind, &mut |d| self.leap_on(d, target), &mut |_| {});
    }

    /// Moves `p` to the bucket index's position for a stored coordinate, if there is a bucket index and its position is further.
    fn look_up<D: Domain<I = I>>(&self, d: &mut D, target: &I) {
        let Some(bucket_index) = &self.fiber.bucket_index else { return };
        let (here, near) = (d.get(self.p), bucket_index.near(d, target));
        let further = d.arith(Arith::Max, &here, &near);
        d.set(self.p, further);
    }

    /// The condition that a position is in the fiber and its stored coordinate before `target`.
    fn is_before<D: Domain<I = I>>(&self, d: &mut D, position: &I, target: &I) -> D::B {
        let inside = d.compare(Compare::Lt, position, &self.fiber.end);
        d.and(inside, &|d| {
            let c = d.load(self.fiber.crd, position);
            d.compare(Compare::Lt, &c, target)
        })
    }

    /// 1 if the coordinate stored at a position is before `target`, else 0.
    fn passes<D: Domain<I = I>>(&self, d: &mut D, position: &I, target: &I) -> I {
        let c = d.load(self.fiber.crd, position);
        let before = d.compare(Compare::Lt, &c, target);
        d.to_int(&before)
    }

    /// As [`List::move_on`], for `p` before the target: each step compares the last entry that it passes. The first step is of [`LANES`]
    /// entries, since short distances are unpredictable and the last few entries are compared at once.
    fn leap_on<D: Domain<I = I>>(&self, d: &mut D, target: &I) {
        let (one, lanes) = (d.int(1), d.int(LANES));
        d.advance(self.p, one.clone());
        let step = d.state("step", lanes);
        let behind = |d: &mut D| {
            let (p, step) = (d.get(self.p), d.get(step));
            d.arith(Arith::Add, &p, &step)
        };
        let whole = |d: &mut D| {
            let behind = behind(d);
            let last = d.arith(Arith::Sub, &behind, &one);
            self.is_before(d, &last, target)
        };
        d.repeat(&whole, &mut |d| {
            let width = d.get(step);
            d.advance(self.p, width.clone());
            d.advance(step, width);
        });
        let behind = behind(d);
        let hi = d.arith(Arith::Min, &behind, &self.fiber.end);
        let hi = d.snapshot("hi", hi);
        self.halve(d, (self.p, &hi), target);
    }

    /// As [`List::move_on`], by the bucket index if there is one, else by a binary search over the rest.
    fn search_on<D: Domain<I = I>>(&self, d: &mut D, target: &I) {
        match self.fiber.bucket_index {
            Some(_) => self.move_on(d, target),
            None => self.search(d, self.p, target),
        }
    }

    /// Moves `s` to the first position at or after it whose stored coordinate is `target` or greater, or to the end.
    fn search<D: Domain<I = I>>(&self, d: &mut D, s: State, target: &I) {
        self.halve(d, (s, &self.fiber.end), target);
    }

    /// Moves `s` to the first position of `s..hi` whose stored coordinate is `target` or greater, or to `hi`.
    ///
    /// Each step halves the width without a branch on the outcome, which is unpredictable; the number of steps is
    /// logarithmic in the width. The last [`LANES`] entries are compared at once.
    fn halve<D: Domain<I = I>>(&self, d: &mut D, (s, hi): (State, &I), target: &I) {
        let begin = d.get(s);
        let width = d.arith(Arith::Sub, hi, &begin);
        let width = d.state("width", width);
        let many = |d: &mut D| {
            let (few, width) = (d.int(LANES), d.get(width));
            d.compare(Compare::Lt, &few, &width)
        };
        d.repeat(&many, &mut |d| {
            let (p, w) = (d.get(s), d.get(width));
            let (one, two) = (d.int(1), d.int(2));
            let half = d.arith(Arith::Div, &w, &two);
            let half = d.snapshot("half", half);
            let middle = d.arith(Arith::Add, &p, &half);
            let middle = d.arith(Arith::Sub, &middle, &one);
            let c = d.load(self.fiber.crd, &middle);
            let below = d.compare(Compare::Lt, &c, target);
            let passed = d.to_int(&below);
            let passed = d.arith(Arith::Mul, &passed, &half);
            d.advance(s, passed);
            let rest = d.arith(Arith::Sub, &w, &half);
            d.set(width, rest);
        });
        let begin = d.get(s);
        let few = d.among(Sought::NotBelow, self.fiber.crd, [&begin, hi, target]);
        d.advance(s, few);
    }

    /// Moves to the first entry at or after `target`, one by one; for ascending targets.
    pub fn catch_up<D: Domain<I = I>>(&self, d: &mut D, target: &I) {
        let behind = |d: &mut D| {
            let valid = self.valid(d);
            d.and(valid, &|d| {
                let i = self.index(d);
                d.compare(Compare::Lt, &i, target)
            })
        };
        d.repeat(&behind, &mut |d| self.next(d));
    }

    /// The condition that the list rests on an entry at `target`.
    pub fn found<D: Domain<I = I>>(&self, d: &mut D, target: &I) -> D::B {
        let valid = self.valid(d);
        d.and(valid, &|d| {
            let i = self.index(d);
            d.compare(Compare::Eq, &i, target)
        })
    }

    /// Loops over the remaining entries: `body(entry)`. During the body the list may rest on the entry; afterwards it is at its end.
    pub fn each<D: Domain<I = I>>(&self, d: &mut D, name: &str, body: &mut dyn FnMut(&mut D, Entry<I>)) {
        let view = &self.fiber.view;
        if self.q.is_none() && view.stride.is_none() && view.stop.is_none() {
            let from = d.get(self.p);
            let end = self.fiber.end.clone();
            return d.count(name, from, end, &mut |d, position| body(d, Entry { position, run: None }));
        }
        d.repeat(&|d| self.valid(d), &mut |d| {
            let stored = self.stored(d);
            let entry = self.entry(d);
            match view.on(d, &stored) {
                None => body(d, entry),
                Some(on) => d.branch(on, &mut |d| body(d, entry.clone()), &mut |_| {}),
            }
            self.step(d);
        });
    }

    /// An entry's coordinate in the view; in blocks, that of the current entry.
    pub fn coordinate<D: Domain<I = I>>(&self, d: &mut D, entry: &Entry<I>) -> I {
        match self.block {
            Some(block) => d.get(block),
            None => self.fiber.coordinate(d, entry),
        }
    }
}

/// Loops over the entries of a fiber: `body(entry, its coordinate)`. It is a counted loop if no entry repeats and all are in view.
pub fn each<D: Domain>(
    d: &mut D,
    name: &str,
    fiber: &ListFiber<D::I>,
    body: &mut impl FnMut(&mut D, Entry<D::I>, D::I),
) {
    if let Some(run) = &fiber.run {
        return run.each(d, &mut |d, position| fiber.at(d, position, body));
    }
    if !fiber.is_counted() {
        let list = List::open(d, name, fiber.clone());
        return list.each(d, name, &mut |d, entry| {
            let at = list.coordinate(d, &entry);
            body(d, entry, at);
        });
    }
    let (begin, end) = (fiber.begin.clone(), fiber.end.clone());
    d.count(name, begin, end, &mut |d, position| fiber.at(d, position, body));
}

/// The positions of the fiber below a parent position, of a level that has a `pos`.
pub fn bounds<D: Domain>(d: &mut D, pos: BufferId, parent: &D::I) -> (D::I, D::I) {
    let one = d.int(1);
    let next = d.arith(Arith::Add, parent, &one);
    (d.load(pos, parent), d.load(pos, &next))
}
