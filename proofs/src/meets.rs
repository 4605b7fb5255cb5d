//! Laws of loops over two lists, over any domain that takes claims.
//!
//! A turn is claimed of where the lists rest. That nothing is passed over is claimed of a witness: a place of the first
//! list, or one of each with one coordinate, of which nothing else is known; it has exactly one turn.

use crate::claims::{Claims, Given, Law, Order};
use crate::seeks::Viewing;
use fiberloom_loops::stream::{
    Domain, List, ListFiber, Side, State, intersect, leap, meet, meet_lanes, unite_flat, unite_two, wide,
};
use std::marker::PhantomData;

/// What a loop's body is told: a coordinate, and the conditions that each list rests on it.
pub type Body<'b, D> = &'b mut dyn FnMut(&mut D, &<D as Domain>::I, [&<D as Domain>::B; 2]);

/// A loop over two lists.
pub trait Pair {
    /// What it is called.
    const NAME: &'static str;
    /// Whether a list may have entries yet when it ends.
    const LEAVES: bool = true;
    /// Runs it.
    fn run<D: Domain>(d: &mut D, lists: [&List<D::I>; 2], body: Body<D>);
}

/// Loops over two lists: a name, and what it does with a domain, two lists and a body.
#[macro_export]
macro_rules! pairs {
    ($($(#[$doc:meta])* $pair:ident $name:literal $(leaves $leaves:literal)? |$d:ident, $lists:pat, $body:ident| $does:expr;)*) => {
        $($(#[$doc])*
        pub struct $pair;
        impl $crate::meets::Pair for $pair {
            const NAME: &'static str = $name;
            $(const LEAVES: bool = $leaves;)?
            fn run<D: fiberloom_loops::stream::Domain>(
                $d: &mut D,
                $lists: [&fiberloom_loops::stream::List<D::I>; 2],
                $body: $crate::meets::Body<D>,
            ) {
                $does
            }
        })*
    };
}

/// A truth.
pub fn yes<D: Domain>(d: &mut D) -> D::B {
    let zero = d.int(0);
    d.compare(fiberloom_loops::stream::Compare::Le, &zero, &zero)
}

fn told<D: Domain>(d: &mut D, at: &D::I, body: Body<D>) {
    let yes = yes(d);
    body(d, at, [&yes, &yes]);
}

pairs! {
    /// Every coordinate that both have.
    Intersect "intersect" |d, lists, body| intersect(d, &lists, &mut |d, at| told(d, at, body));
    /// The same, with the turns that find nothing left to the body.
    Meet "meet" |d, lists, body| meet(d, &lists, &mut |d, at, here| {
        d.branch(here.clone(), &mut |d| told(d, at, body), &mut |_| {});
    });
    /// The same, both galloping.
    LeapBoth "leap" |d, [a, b], body| leap(d, &[(a, true), (b, true)], &mut |d, at| told(d, at, body));
    /// The same, the first walking.
    LeapBeside "leap beside a walk" |d, [a, b], body| leap(d, &[(a, false), (b, true)], &mut |d, at| told(d, at, body));
    /// Every coordinate that either has, until one is exhausted.
    UniteTwo "unite_two" |d, [a, b], body| unite_two(d, a, b, &mut |d, side, at| {
        let yes = yes(d);
        let no = d.not(yes.clone());
        match side {
            Side::Both => body(d, at, [&yes, &yes]),
            Side::First => body(d, at, [&yes, &no]),
            Side::Second => body(d, at, [&no, &yes]),
        }
    });
    /// Every coordinate that either has.
    Wide "wide" leaves false |d, [a, b], body| {
        let live = |d: &mut D, valid: &[D::B]| d.or(valid[0].clone(), valid[1].clone());
        wide(d, &[a, b], &live, &mut |d, at, here| body(d, at, [&here[0], &here[1]]));
    };
    /// Every coordinate that either has, while both last.
    WideBoth "wide, while both last" |d, [a, b], body| {
        let live = |d: &mut D, valid: &[D::B]| d.and(valid[0].clone(), &|_| valid[1].clone());
        wide(d, &[a, b], &live, &mut |d, at, here| body(d, at, [&here[0], &here[1]]));
    };
}

/// `unite_flat`, of which lists repeat nothing; it tests for agreement after so many turns.
pub struct UniteFlat<const PATIENCE: i64>;

impl<const PATIENCE: i64> Pair for UniteFlat<PATIENCE> {
    const NAME: &'static str = "unite_flat";
    fn run<D: Domain>(d: &mut D, [a, b]: [&List<D::I>; 2], body: Body<D>) {
        unite_flat(d, a, b, PATIENCE, &mut |d, at, present| match present {
            None => told(d, at, body),
            Some(present) => body(d, at, present),
        });
    }
}

const fn two(repeats: bool) -> &'static [Order] {
    if repeats { &[Order::Repeating, Order::Repeating] } else { &[Order::Ascending, Order::Ascending] }
}

/// What a law keeps of a loop's turns.
struct Turns {
    /// The last turn's coordinate.
    last: State,
    /// How many turns the witness had.
    met: State,
}

impl Turns {
    fn begin<D: Claims>(d: &mut D) -> Turns {
        let (before, none) = (d.int(-1), d.int(0));
        Turns { last: d.state("last", before), met: d.state("met", none) }
    }

    /// Claims that a turn's coordinate is greater than the last one's.
    fn ascend<D: Claims>(&self, d: &mut D, at: &D::I) {
        let last = d.get(self.last);
        let ascends = d.lt(&last, at);
        d.claim("a turn's coordinate does not ascend", ascends);
        d.set(self.last, at.clone());
    }

    /// Counts a turn at the witness's coordinate, where `there` holds.
    fn count<D: Claims>(&self, d: &mut D, at: &D::I, witness: &D::I, there: D::B) {
        let here = d.eq(at, witness);
        let here = d.and(here, &|_| there.clone());
        let one = d.to_int(&here);
        d.advance(self.met, one);
    }

    fn claim_once<D: Claims>(&self, d: &mut D) {
        let (met, one) = (d.get(self.met), d.int(1));
        let once = d.eq(&met, &one);
        d.claim("what is there has no turn, or two", once);
    }
}

/// The condition that a list rests on a coordinate.
fn rests<D: Claims>(d: &mut D, list: &List<D::I>, at: &D::I) -> D::B {
    let valid = list.valid(d);
    d.and(valid, &|d| {
        let here = list.index(d);
        d.eq(&here, at)
    })
}

/// *Every coordinate that both lists have*, once, ascending; both rest there.
pub struct Both<P, const REPEATS: bool = false>(PhantomData<P>);

impl<P: Pair, const REPEATS: bool> Law for Both<P, REPEATS> {
    const NAME: &'static str = P::NAME;
    const ARRAYS: &'static [Order] = two(REPEATS);
    const NUMBERS: usize = 2;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (places, witness) = (&given.places, &given.numbers);
        let common = assume_common(d, given);
        let lists = [0, 1].map(|n| List::open(d, "p", places[n].fiber()));
        let turns = Turns::begin(d);
        P::run(d, [&lists[0], &lists[1]], &mut |d, at, _| {
            for n in [0, 1] {
                let rests = rests(d, &lists[n], at);
                d.claim("a list that is said to be present rests elsewhere", rests);
            }
            turns.ascend(d, at);
            let yes = yes(d);
            turns.count(d, at, &common, yes);
            if !REPEATS {
                let here = d.eq(at, &common);
                let entries = [0, 1].map(|n| lists[n].entry(d).position);
                for n in [0, 1] {
                    let entry = entries[n].clone();
                    d.claim_where(here.clone(), "an entry is another", &|d| d.eq(&entry, &witness[n]));
                }
            }
        });
        turns.claim_once(d);
    }
}

/// Assumes a place of each list, the witness, at one coordinate, and returns it.
fn assume_common<D: Claims>(d: &mut D, given: &Given<D::I>) -> D::I {
    let at = [0, 1].map(|n| {
        given.places[n].assume_inside(d, &given.numbers[n]);
        given.places[n].at(d, &given.numbers[n])
    });
    let same = d.eq(&at[0], &at[1]);
    d.assume(same);
    at[0].clone()
}

/// *Every coordinate that either list has*, once, ascending, in the loop or in a list's rest behind it; those lists rest
/// there, and the other has no entry there. The witness is an entry of the first list, or of the second.
pub struct Either<P, const OF: usize, const REPEATS: bool = false>(PhantomData<P>);

impl<P: Pair, const OF: usize, const REPEATS: bool> Law for Either<P, OF, REPEATS> {
    const NAME: &'static str = P::NAME;
    const ARRAYS: &'static [Order] = two(REPEATS);
    const NUMBERS: usize = 1;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (places, place) = (&given.places, given.numbers[0].clone());
        places[OF].assume_inside(d, &place);
        let witness = places[OF].at(d, &place);
        let lists = [0, 1].map(|n| List::open(d, "p", places[n].fiber()));
        let turns = Turns::begin(d);
        P::run(d, [&lists[0], &lists[1]], &mut |d, at, present| {
            let some = d.or(present[0].clone(), present[1].clone());
            d.claim("a turn has no list", some);
            for n in [0, 1] {
                let rest = rests(d, &lists[n], at);
                let (said, rest) = (d.to_int(present[n]), d.to_int(&rest));
                let same = d.eq(&said, &rest);
                d.claim("a list rests elsewhere than is said", same);
            }
            turns.ascend(d, at);
            turns.count(d, at, &witness, present[OF].clone());
        });
        for n in (0..2).filter(|_| P::LEAVES) {
            d.repeat(&|d| lists[n].valid(d), &mut |d| {
                let at = lists[n].index(d);
                let at = d.snapshot("at", at);
                turns.ascend(d, &at);
                let yes = yes(d);
                if n == OF {
                    turns.count(d, &at, &witness, yes);
                }
                lists[n].next(d);
            });
        }
        turns.claim_once(d);
    }
}

/// *Two lists meet by lanes*: turns are at entries of the first, ascending; the second's entry is told where it has one,
/// and that is so at each coordinate of both. Each list is under a view.
pub struct Lanes<V, W>(PhantomData<(V, W)>);

impl<V: Viewing, W: Viewing> Law for Lanes<V, W> {
    const NAME: &'static str = "meet_lanes";
    const ARRAYS: &'static [Order] = two(false);
    const NUMBERS: usize = 2 + V::NUMBERS + W::NUMBERS;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (places, numbers) = (&given.places, &given.numbers);
        let (of_first, of_second) = numbers[2..].split_at(V::NUMBERS);
        let ((v, m), (w, n)) = (V::view(d, &places[0], of_first), W::view(d, &places[1], of_second));
        // One loop's range is all lists' view.
        let same = d.eq(&m, &n);
        d.assume(same);
        let views = [v, w];
        let common = [0, 1].map(|n| {
            places[n].assume_inside(d, &numbers[n]);
            let at = places[n].at(d, &numbers[n]);
            let seen = if n == 0 { V::sees(d, &views[0], &at) } else { W::sees(d, &views[1], &at) };
            d.assume(seen);
            views[n].seen(d, at)
        });
        let same = d.eq(&common[0], &common[1]);
        d.assume(same);
        let lists = [0, 1].map(|n| List::open(d, "p", ListFiber { view: views[n].clone(), ..places[n].fiber() }));
        let turns = Turns::begin(d);
        meet_lanes(d, &lists[0], &lists[1], &mut |d, at, entries, met| {
            turns.ascend(d, at);
            let first = lists[0].coordinate(d, &entries[0]);
            let there = d.eq(&first, at);
            d.claim("a turn is not at an entry of the first list", there);
            d.claim_where(met.clone(), "what is found is elsewhere", &|d| {
                let second = lists[1].coordinate(d, &entries[1]);
                d.eq(&second, at)
            });
            turns.count(d, at, &common[0], met.clone());
        });
        turns.claim_once(d);
    }
}

/// Bounds: two lists of at most 2 entries below 3, repeating or not where they may, every witness; loops unwound 65 times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn loops_come_to_all() {
    let c = &mut crate::choose::Any;
    assert!(crate::claims::holds::<Both<Intersect, true>>(c, [2, 3]).is_ok());
    assert!(crate::claims::holds::<Both<LeapBoth, true>>(c, [2, 3]).is_ok());
    assert!(crate::claims::holds::<Either<UniteTwo, 0, true>>(c, [2, 3]).is_ok());
    assert!(crate::claims::holds::<Either<UniteFlat<2>, 1>>(c, [2, 3]).is_ok());
    assert!(crate::claims::holds::<Either<Wide, 0, true>>(c, [2, 3]).is_ok());
    assert!(crate::claims::holds::<Lanes<crate::seeks::Whole, crate::seeks::Whole>>(c, [2, 3]).is_ok());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::exhausts;
    use crate::seeks::{Offset, Slice, Whole};

    /// Bounds: two lists of at most 3 entries below 4, repeating or not; every witness.
    #[test]
    fn loops_over_two_lists() {
        exhausts::<Both<Intersect>>([3, 4]);
        exhausts::<Both<Intersect, true>>([3, 4]);
        exhausts::<Both<Meet>>([3, 4]);
        exhausts::<Both<LeapBoth>>([3, 4]);
        exhausts::<Both<LeapBoth, true>>([3, 4]);
        exhausts::<Both<LeapBeside, true>>([3, 4]);
        exhausts::<Either<UniteTwo, 0, true>>([3, 4]);
        exhausts::<Either<UniteTwo, 1, true>>([3, 4]);
        exhausts::<Either<UniteFlat<2>, 0>>([3, 4]);
        exhausts::<Either<UniteFlat<9>, 1>>([3, 4]);
        exhausts::<Either<Wide, 0, true>>([3, 4]);
        exhausts::<Either<WideBoth, 1, true>>([3, 4]);
    }

    /// Bounds: two lists of at most 3 entries below 4; of at most 2 below 3 where one is under a view.
    #[test]
    fn lists_meet_by_lanes() {
        exhausts::<Lanes<Whole, Whole>>([3, 4]);
        exhausts::<Lanes<Slice, Whole>>([2, 3]);
        exhausts::<Lanes<Whole, Offset>>([2, 3]);
    }
}
