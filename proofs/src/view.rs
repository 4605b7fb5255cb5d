//! Laws of a list under a view, `core::stream::View`: what is seen is the image of the entries, and nothing else.
//!
//! ```text
//!   entries        0 1 4 5      c = 1, r = 2, i in 0..2:   1 ↦ 0, 3 ↦ 1
//!   seen           . 0 . .      by next, by each, and where a seek lands
//! ```
//!
//! Source: the offset and slice iterators of the shape paper, section 7; the laws are those of lists (`stream.rs`), on
//! the entries that are seen.

use crate::choose::Choose;
use crate::product::{SEEKING, Seeking};
use crate::stream::{Broken, EXTENT, Fiber};
use fiberloom_loops::stream::{Concrete, Domain, List, ListFiber, Shift, View};

/// Turns that any loop may take.
const FUEL: u32 = 64;

/// Coordinates `c + r·i` for `i` in `lo..hi`.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    c: i64,
    r: i64,
    lo: i64,
    hi: i64,
}

impl Window {
    /// Any whose coordinates are below the extent, or some beyond it.
    pub fn choose(c: &mut impl Choose) -> Window {
        let (shift, r) = (c.upto(3) as i64 - 1, 1 + c.upto(2) as i64);
        // A loop's coordinates begin where its lists' do.
        let lo = (-shift).max(0) + c.upto(1) as i64;
        Window { c: shift, r, lo, hi: lo + c.upto(3) as i64 }
    }

    fn image(&self, stored: i64) -> Option<i64> {
        (self.lo..self.hi).find(|i| self.c + self.r * i == stored)
    }
}

/// The view of a window; the compiler's, or a wrong one.
pub type Viewing = fn(Window) -> View<i64>;

/// What the compiler makes: what is 0 or 1, and a stop behind all, are left out.
pub const VIEW: Viewing = |w| {
    let (start, stop) = (w.c + w.r * w.lo, w.c + w.r * w.hi);
    View {
        shift: (w.c != 0).then_some(if w.c > 0 { Shift::Up(w.c) } else { Shift::Down(-w.c) }),
        stride: (w.r != 1).then_some(w.r),
        blocks: None,
        extent: None,
        start: (start > 0).then_some(start),
        stop: (stop < EXTENT as i64).then_some(stop),
        finger: None,
        mark: None,
    }
};

/// *Denotation*: `next` and `each` come to the image of the entries, in order, with their positions; `seek` to the first
/// of them at or after its target; nothing is loaded beside the fiber.
pub fn sees_the_image(fiber: &Fiber, window: Window, target: i64, view: Viewing) -> Result<(), Broken> {
    let seen = fiber.entries().filter_map(|(at, run)| Some((window.image(at)?, run.start as i64)));
    let wanted: Vec<(i64, i64)> = seen.collect();
    let arrays: [&[i64]; 1] = [fiber.array()];
    let open = |d: &mut Concrete| List::open(d, "p", ListFiber { view: view(window), ..fiber.from(1) });
    let mut d = Concrete::new(&arrays, FUEL);
    let list = open(&mut d);
    let mut next = vec![];
    while list.valid(&mut d) {
        next.push((list.index(&mut d), list.entry(&mut d).position));
        list.next(&mut d);
    }
    let list = open(&mut d);
    let mut each = vec![];
    list.each(&mut d, "p", &mut |d, entry| each.push((list.coordinate(d, &entry), entry.position)));
    let lands = |d: &mut Concrete, seek: &Seeking| {
        let list = open(d);
        seek(&list, d, target);
        (list.valid(d).then(|| list.index(d)), list.found(d, &target))
    };
    let landed: Vec<_> = SEEKING.iter().map(|seek| lands(&mut d, seek)).collect();
    let first = wanted.iter().map(|(i, _)| *i).find(|i| *i >= target);
    let own = view(window);
    let told =
        fiber.entries().filter(|(at, _)| own.sees(&mut d, at).unwrap_or(true) && own.on(&mut d, at).unwrap_or(true));
    let told: Vec<i64> = told.map(|(_, run)| run.start as i64).collect();
    match d.fault() {
        Some(fault) => Err(fault),
        None if !told.iter().eq(wanted.iter().map(|(_, position)| position)) => {
            Err("an entry is seen, and said not to be")
        }
        None if next != wanted => Err("next does not come to the image"),
        None if each != wanted => Err("each does not come to the image"),
        None if landed.iter().any(|(at, _)| *at != first) => Err("seek does not land on the first that is seen"),
        None if landed.iter().any(|(_, found)| *found != (first == Some(target))) => Err("found says otherwise"),
        None => Ok(()),
    }
}

/// The law on one choice of data. A target before the window is one that no loop has.
pub fn laws(c: &mut impl Choose) {
    let (fiber, window) = (Fiber::within(c, 3, EXTENT), Window::choose(c));
    let target = window.lo + c.upto(3) as i64;
    assert_eq!(sees_the_image(&fiber, window, target, VIEW), Ok(()), "{fiber:?} {window:?}");
}

/// *Fingers*: pieces of a fiber, one behind the other, seen by a cursor that stays where the last piece left it, which was
/// walked as far as someone liked, or not at all: each is the image of the entries in it.
pub fn fingers(fiber: &Fiber, pieces: &[(Window, usize)], view: Viewing) -> Result<(), Broken> {
    let arrays: [&[i64]; 1] = [fiber.array()];
    let mut d = Concrete::new(&arrays, FUEL);
    let begin = fiber.from(1).begin;
    let finger = Some(d.state("p", begin));
    for (window, walked) in pieces {
        let seen = fiber.entries().filter_map(|(at, run)| Some((window.image(at)?, run.start as i64)));
        let wanted: Vec<(i64, i64)> = seen.take(*walked).collect();
        let view = View { finger, ..view(*window) };
        let list = List::open(&mut d, "p", ListFiber { view, ..fiber.from(1) });
        let mut next = vec![];
        while next.len() < *walked && list.valid(&mut d) {
            next.push((list.index(&mut d), list.entry(&mut d).position));
            list.next(&mut d);
        }
        if next != wanted {
            return Err("a piece is not the image of its entries");
        }
    }
    d.fault().map_or(Ok(()), Err)
}

/// Up to three pieces, each behind the one before, and how many entries of each are walked.
fn choose_pieces(c: &mut impl Choose) -> Vec<(Window, usize)> {
    let mut from = 0;
    let mut piece = || {
        let (c_, hi) = (from + c.upto(2) as i64, c.upto(2) as i64);
        from = c_ + hi;
        (Window { c: c_, r: 1, lo: 0, hi }, c.upto(2))
    };
    (0..3).map(|_| piece()).collect()
}

/// The law of fingers on one choice of data.
pub fn finger_laws(c: &mut impl Choose) {
    let (fiber, pieces) = (Fiber::within(c, 3, EXTENT), choose_pieces(c));
    assert_eq!(fingers(&fiber, &pieces, VIEW), Ok(()), "{fiber:?} {pieces:?}");
}

/// Bounds: fibers of at most 3 positions below 6, repeating or not; three pieces of up to 2 coordinates, with gaps of up to
/// 2, of each of which up to 2 entries are walked; loops unwound 65 times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn view_finger_laws() {
    finger_laws(&mut crate::choose::Any);
}

/// Bounds: fibers of at most 3 positions below 6, repeating or not; shifts from -1 to 2, steps up to 3, windows of up to 3
/// from 0 or 1; targets up to 3 behind the window's begin; loops unwound 65 times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn view_laws() {
    laws(&mut crate::choose::Any);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::choose::every;
    use crate::wrong::Wrong;

    #[test]
    fn every_view() {
        assert!(every(laws) > 10_000);
    }

    #[test]
    fn every_finger() {
        assert!(every(finger_laws) > 10_000);
    }

    /// Views that are wrong in one thing each. A finger that is left to itself does not come to the next piece.
    pub fn wrong() -> Vec<Wrong> {
        let views: [(&str, Viewing); 4] = [
            ("it does not stop", |w| View { stop: None, ..VIEW(w) }),
            ("it is not sought", |w| View { start: None, ..VIEW(w) }),
            ("it passes over nothing", |w| View { stride: None, ..VIEW(w) }),
            ("it is not shifted", |w| View { shift: None, ..VIEW(w) }),
        ];
        let wrong = |(what, view): (&str, Viewing)| {
            Wrong::on_all("a view", what, |c| {
                let (fiber, window) = (Fiber::within(c, 2, EXTENT), Window::choose(c));
                sees_the_image(&fiber, window, window.lo, view).err().into_iter().collect::<Vec<_>>()
            })
        };
        let left = Wrong::on_all("a view", "its finger is not moved on", |c| {
            let (fiber, pieces) = (Fiber::within(c, 2, EXTENT), choose_pieces(c));
            fingers(&fiber, &pieces, |w| View { start: None, ..VIEW(w) }).err().into_iter().collect::<Vec<_>>()
        });
        views.into_iter().map(wrong).chain([left]).collect()
    }
}
