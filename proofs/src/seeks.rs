//! Laws of one list, over any domain that takes claims: where each kind of seek lands, and what `next` comes to.
//!
//! A seek from any entry is one from the first: the fiber begins at any place of its array.

use crate::claims::{Claims, Given, Law, Order, Place};
use fiberloom_loops::stream::{Arith, Compare, Domain, List, ListFiber, Shift, View};
use std::marker::PhantomData;

/// A way to the first entry at or after a coordinate.
pub trait Seek {
    /// What it is called.
    const NAME: &'static str;
    /// Whether it is for lists that rest before the coordinate only.
    const FROM_BEFORE: bool = false;
    /// Goes there.
    fn seek<D: Domain>(list: &List<D::I>, d: &mut D, target: &D::I);
}

/// Ways to seek: a name, and what it does with a list, a domain and a target.
#[macro_export]
macro_rules! seeks {
    ($($(#[$doc:meta])* $way:ident $name:literal $(from_before $before:literal)? |$list:ident, $d:ident, $to:ident| $does:expr;)*) => {
        $($(#[$doc])*
        pub struct $way;
        impl $crate::seeks::Seek for $way {
            const NAME: &'static str = $name;
            $(const FROM_BEFORE: bool = $before;)?
            fn seek<D: fiberloom_loops::stream::Domain>($list: &fiberloom_loops::stream::List<D::I>, $d: &mut D, $to: &D::I) {
                $does
            }
        })*
    };
}

seeks! {
    /// By binary search.
    Search "seek" |l, d, to| l.seek(d, to);
    /// One by one.
    CatchUp "catch_up" |l, d, to| l.catch_up(d, to);
    /// By steps that double.
    Gallop "gallop" |l, d, to| l.gallop(d, to);
    /// The same, from before the target.
    Leap "leap" from_before true |l, d, to| l.leap(d, to);
    /// The next few without a branch, then as `gallop`.
    ComeNear "come_near" |l, d, to| l.come_near(d, to);
}

/// Claims that a list that was opened at the place's begin rests on the first entry at or after a stored coordinate, and
/// that its run, if it has one, is all of that coordinate.
fn lands<D: Claims>(d: &mut D, place: &Place<D::I>, list: &List<D::I>, stored: &D::I) {
    let entry = list.entry(d);
    let p = d.snapshot("landed", entry.position);
    let moved = d.le(&place.begin, &p);
    d.claim("it moves back", moved);
    let inside = d.le(&p, &place.end);
    d.claim("it leaves the list", inside);
    let here = d.lt(&p, &place.end);
    d.claim_where(here.clone(), "it stops before its target", &|d| {
        let at = place.at(d, &p);
        d.le(stored, &at)
    });
    let passed = d.lt(&place.begin, &p);
    d.claim_where(passed, "it passes over an entry", &|d| {
        let before = d.plus(&p, -1);
        let before = place.at(d, &before);
        d.lt(&before, stored)
    });
    let Some(run) = entry.run else { return };
    let q = run.end(d);
    let q = d.snapshot("ends", q);
    is_run(d, place, &p, &q);
}

/// Claims that `p..q` is a whole run of one coordinate, empty at the end.
fn is_run<D: Claims>(d: &mut D, place: &Place<D::I>, p: &D::I, q: &D::I) {
    let (from, to) = (d.le(p, q), d.le(q, &place.end));
    d.claim("a run ends before it begins", from);
    d.claim("a run leaves the list", to);
    let here = d.lt(p, &place.end);
    d.claim_where(here.clone(), "a run is of several coordinates", &|d| {
        let some = d.lt(p, q);
        d.and(some, &|d| {
            let last = d.plus(q, -1);
            let (first, last) = (place.at(d, p), place.at(d, &last));
            d.eq(&first, &last)
        })
    });
    let further = d.lt(q, &place.end);
    let further = d.and(here, &|_| further.clone());
    d.claim_where(further, "a run ends early", &|d| {
        let (first, behind) = (place.at(d, p), place.at(d, q));
        d.lt(&first, &behind)
    });
}

/// *A seek lands* on the first entry at or after its target, or at the end.
pub struct Lands<S, const REPEATS: bool = false>(PhantomData<S>);

impl<S: Seek, const REPEATS: bool> Law for Lands<S, REPEATS> {
    const NAME: &'static str = S::NAME;
    const ARRAYS: &'static [Order] = if REPEATS { &[Order::Repeating] } else { &[Order::Ascending] };
    const NUMBERS: usize = 1;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (place, target) = (&given.places[0], &given.numbers[0]);
        let list = List::open(d, "p", place.fiber());
        seek_lands::<S, D>(d, place, &list, target, target);
    }
}

/// Seeks a target that is stored as another number, and claims that this lands.
fn seek_lands<S: Seek, D: Claims>(d: &mut D, place: &Place<D::I>, list: &List<D::I>, target: &D::I, stored: &D::I) {
    let zero = d.int(0);
    let forward = d.le(&zero, target);
    d.assume(forward);
    if S::FROM_BEFORE {
        let valid = list.valid(d);
        let before = d.and(valid, &|d| {
            let at = list.index(d);
            d.lt(&at, target)
        });
        d.assume(before);
    }
    S::seek(list, d, target);
    lands(d, place, list, stored);
    let said = list.found(d, target);
    let p = list.entry(d).position;
    let here = d.lt(&p, &place.end);
    let there = d.and(here, &|d| {
        let at = place.at(d, &p);
        d.eq(&at, stored)
    });
    let (said, there) = (d.to_int(&said), d.to_int(&there));
    let same = d.eq(&said, &there);
    d.claim("found says otherwise than the entry", same);
}

/// Which part of a list a view sees, and where.
pub trait Viewing {
    /// What it is called.
    const NAME: &'static str;
    /// log₂ of its steps.
    const STEPS: Option<u32> = None;
    /// How many numbers say which one it is.
    const NUMBERS: usize = 3;
    /// Any legal one of a list, of which nothing is known but what it assumes; and one past the greatest coordinate in it.
    fn view<D: Claims>(d: &mut D, place: &Place<D::I>, numbers: &[D::I]) -> (View<D::I>, D::I);

    /// The view that is walked: the compiler's, or a wrong one.
    fn made<D: Claims>(view: View<D::I>) -> View<D::I> {
        view
    }

    /// The condition that a stored coordinate is seen, by the definition of views.
    fn sees<D: Claims>(d: &mut D, view: &View<D::I>, at: &D::I) -> D::B {
        let (start, stop) = (view.start.clone().unwrap_or(d.int(0)), view.stop.clone().unwrap_or(d.int(i64::MAX)));
        let (from, to) = (d.le(&start, at), d.lt(at, &stop));
        let inside = d.and(from, &|_| to.clone());
        let Some(steps) = Self::STEPS else { return inside };
        let far = d.arith(Arith::Sub, at, &start);
        let (steps, zero) = (d.int(1 << steps), d.int(0));
        let rest = d.arith(Arith::Rem, &far, &steps);
        let on = d.eq(&rest, &zero);
        d.and(inside, &|_| on.clone())
    }
}

/// All of a list.
pub struct Whole;
/// Coordinates `c..c + length` of a list, from 0 on.
pub struct Slice;
/// All coordinates of a list, from `c` on.
pub struct Offset;
/// Coordinates `c + 4·i` of a list, at `i`.
pub struct Steps;

impl Viewing for Whole {
    const NAME: &'static str = "all";
    const NUMBERS: usize = 1;
    fn view<D: Claims>(d: &mut D, place: &Place<D::I>, numbers: &[D::I]) -> (View<D::I>, D::I) {
        place.assume_below(d, &numbers[0]);
        (View::default(), numbers[0].clone())
    }
}

impl Viewing for Slice {
    const NAME: &'static str = "a slice";
    fn view<D: Claims>(d: &mut D, place: &Place<D::I>, numbers: &[D::I]) -> (View<D::I>, D::I) {
        let [c, length, extent] = numbers else { unreachable!("as many as it says") };
        place.assume_below(d, extent);
        let zero = d.int(0);
        let (from, to) = (d.le(&zero, c), d.le(c, extent));
        d.assume(from);
        d.assume(to);
        let rest = d.arith(Arith::Sub, extent, c);
        let (some, fits) = (d.le(&zero, length), d.le(length, &rest));
        d.assume(some);
        d.assume(fits);
        let stop = d.arith(Arith::Add, c, length);
        let (shift, start, stop) = (Some(Shift::Up(c.clone())), Some(c.clone()), Some(stop));
        (View { shift, start, stop, ..View::default() }, length.clone())
    }
}

impl Viewing for Offset {
    const NAME: &'static str = "an offset";
    const NUMBERS: usize = 2;
    fn view<D: Claims>(d: &mut D, place: &Place<D::I>, numbers: &[D::I]) -> (View<D::I>, D::I) {
        let [c, extent] = numbers else { unreachable!("as many as it says") };
        place.assume_below(d, extent);
        let (zero, most) = (d.int(0), d.int(i64::MAX));
        let (from, rest) = (d.le(&zero, c), d.arith(Arith::Sub, &most, extent));
        d.assume(from);
        let legal = d.le(c, &rest);
        d.assume(legal);
        (View { shift: Some(Shift::Down(c.clone())), ..View::default() }, d.arith(Arith::Add, extent, c))
    }
}

impl Viewing for Steps {
    const NAME: &'static str = "steps of four";
    const STEPS: Option<u32> = Some(2);
    fn view<D: Claims>(d: &mut D, place: &Place<D::I>, numbers: &[D::I]) -> (View<D::I>, D::I) {
        let [c, length, extent] = numbers else { unreachable!("as many as it says") };
        place.assume_below(d, extent);
        let (zero, four) = (d.int(0), d.int(4));
        let (from, to) = (d.le(&zero, c), d.le(c, extent));
        d.assume(from);
        d.assume(to);
        let rest = d.arith(Arith::Sub, extent, c);
        let most = d.arith(Arith::Div, &rest, &four);
        let (some, fits) = (d.le(&zero, length), d.le(length, &most));
        d.assume(some);
        d.assume(fits);
        let (shift, start) = (Some(Shift::Up(c.clone())), Some(c.clone()));
        let steps = d.arith(Arith::Mul, length, &four);
        let stop = Some(d.arith(Arith::Add, c, &steps));
        (View { shift, stride: Some(four), start, stop, ..View::default() }, length.clone())
    }
}

/// *A seek lands under a view* on the first entry that is seen at or after its target: no other entry that is seen, the
/// witness, is before it.
pub struct LandsIn<V, S>(PhantomData<(V, S)>);

impl<V: Viewing, S: Seek> Law for LandsIn<V, S> {
    const NAME: &'static str = S::NAME;
    const ARRAYS: &'static [Order] = &[Order::Ascending];
    const NUMBERS: usize = 2 + V::NUMBERS;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let [target, witness] = [0, 1].map(|n| given.numbers[n].clone());
        let (place, zero) = (&given.places[0], d.int(0));
        let (view, behind) = V::view(d, place, &given.numbers[2..]);
        d.assume_within(&zero, &target, &behind);
        place.assume_inside(d, &witness);
        let stored = view.stored(d, &target);
        let at = place.at(d, &witness);
        let later = d.le(&stored, &at);
        d.assume(later);
        let seen = V::sees(d, &view, &at);
        d.assume(seen);
        let list = List::open(d, "p", ListFiber { view: V::made::<D>(view.clone()), ..place.fiber() });
        if S::FROM_BEFORE {
            let before = d.le(&target, &zero);
            let before = d.not(before);
            d.assume(before);
            let valid = list.valid(d);
            let before = d.and(valid, &|d| {
                let at = list.index(d);
                d.lt(&at, &target)
            });
            d.assume(before);
        }
        S::seek(&list, d, &target);
        let p = list.entry(d).position;
        let p = d.snapshot("landed", p);
        let not_behind = d.le(&p, &witness);
        d.claim("it passes over an entry", not_behind);
        let at = place.at(d, &p);
        let not_before = d.le(&stored, &at);
        d.claim("it stops before its target", not_before);
        let sees = V::sees(d, &view, &at);
        d.claim("it rests on what is not seen", sees);
        let valid = list.valid(d);
        d.claim("an entry that is seen is said to be the end", valid);
        let index = list.index(d);
        let back = view.stored(d, &index);
        let same = d.eq(&back, &at);
        d.claim("its coordinate is another", same);
    }
}

/// *What is seen is the image of the entries*: `next` comes to each that is in view, the witness among them once, and to no
/// other; each has its coordinate there.
pub struct Sees<V>(PhantomData<V>);

impl<V: Viewing> Law for Sees<V> {
    const NAME: &'static str = V::NAME;
    const ARRAYS: &'static [Order] = &[Order::Ascending];
    const NUMBERS: usize = 1 + V::NUMBERS;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (place, witness, zero) = (&given.places[0], &given.numbers[0], d.int(0));
        let (view, _) = V::view(d, place, &given.numbers[1..]);
        place.assume_inside(d, witness);
        let at = place.at(d, witness);
        let seen = V::sees(d, &view, &at);
        d.assume(seen);
        let list = List::open(d, "p", ListFiber { view: V::made::<D>(view.clone()), ..place.fiber() });
        let met = d.state("met", zero);
        d.repeat(&|d| list.valid(d), &mut |d| {
            let p = list.entry(d).position;
            let at = place.at(d, &p);
            let sees = V::sees(d, &view, &at);
            d.claim("it rests on what is not seen", sees);
            let index = list.index(d);
            let back = view.stored(d, &index);
            let same = d.eq(&back, &at);
            d.claim("its coordinate is another", same);
            let here = d.eq(&p, witness);
            let one = d.to_int(&here);
            d.advance(met, one);
            list.next(d);
        });
        let (met, one) = (d.get(met), d.int(1));
        let once = d.eq(&met, &one);
        d.claim("what is seen has no turn, or two", once);
    }
}

/// A way to the next entry.
pub trait Next {
    /// What it is called.
    const NAME: &'static str;
    /// Goes there.
    fn next<D: Domain>(list: &List<D::I>, d: &mut D);
}

/// The compiler's.
pub struct Step;

impl Next for Step {
    const NAME: &'static str = "next";
    fn next<D: Domain>(list: &List<D::I>, d: &mut D) {
        list.next(d);
    }
}

/// Where its condition holds.
pub struct StepIf;

impl Next for StepIf {
    const NAME: &'static str = "next_if";
    fn next<D: Domain>(list: &List<D::I>, d: &mut D) {
        let (zero, one) = (d.int(0), d.int(1));
        let no = d.compare(Compare::Lt, &one, &zero);
        list.next_if(d, &no);
        let yes = d.compare(Compare::Lt, &zero, &one);
        list.next_if(d, &yes);
    }
}

/// *Repeated `next` visits every entry once*: each begins where the one before ends, and the last ends where the list does.
pub struct Visits<N, const REPEATS: bool = false>(PhantomData<N>);

impl<N: Next, const REPEATS: bool> Law for Visits<N, REPEATS> {
    const NAME: &'static str = N::NAME;
    const ARRAYS: &'static [Order] = if REPEATS { &[Order::Repeating] } else { &[Order::Ascending] };
    const NUMBERS: usize = 0;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let place = &given.places[0];
        let list = List::open(d, "p", place.fiber());
        let wanted = d.state("wanted", place.begin.clone());
        d.repeat(&|d| list.valid(d), &mut |d| {
            let entry = list.entry(d);
            let next = d.get(wanted);
            let there = d.eq(&entry.position, &next);
            d.claim("it is not at the next entry", there);
            let behind = match &entry.run {
                None => d.plus(&next, 1),
                Some(run) => run.end(d),
            };
            let behind = d.snapshot("behind", behind);
            is_run(d, place, &next, &behind);
            d.set(wanted, behind);
            N::next(&list, d);
        });
        let wanted = d.get(wanted);
        let all = d.eq(&wanted, &place.end);
        d.claim("it ends elsewhere than the list", all);
    }
}

/// *Runs are walked*: what stands below an entry comes to each of its positions once, in order; and the list goes on
/// behind.
pub struct RunsWalked;

impl Law for RunsWalked {
    const NAME: &'static str = "runs";
    const ARRAYS: &'static [Order] = &[Order::Repeating];
    const NUMBERS: usize = 0;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let place = &given.places[0];
        let list = List::open(d, "p", place.fiber());
        let wanted = d.state("wanted", place.begin.clone());
        crate::stream::positions(d, &list, &mut |d, position| {
            let next = d.get(wanted);
            let there = d.eq(&position, &next);
            d.claim("a run is not walked", there);
            let behind = d.plus(&next, 1);
            d.set(wanted, behind);
        });
        let wanted = d.get(wanted);
        let all = d.eq(&wanted, &place.end);
        d.claim("it ends elsewhere than the list", all);
    }
}

/// A view in blocks of four, from a coordinate on, all of which are below the list's extent. With room, two blocks more
/// have coordinates of 64 bits.
fn blocks<D: Claims>(d: &mut D, given: &Given<D::I>, room: bool) -> View<D::I> {
    let (view, _) = Steps::view(d, &given.places[0], &given.numbers[..3]);
    if room {
        let most = d.int(i64::MAX - 8);
        let fits = d.le(&given.numbers[2], &most);
        d.assume(fits);
    }
    View { blocks: view.stride, stride: None, ..view }
}

/// The condition that a stored coordinate is in a block of four from `c` on.
fn in_block<D: Claims>(d: &mut D, c: &D::I, block: &D::I, stored: &D::I) -> D::B {
    let (seen, four) = (d.arith(Arith::Sub, stored, c), d.int(4));
    let its = d.arith(Arith::Div, &seen, &four);
    d.eq(&its, block)
}

/// Claims that `p..q` are all entries of a block.
fn is_block<D: Claims>(d: &mut D, given: &Given<D::I>, block: &D::I, [p, q]: [&D::I; 2]) {
    let (place, c) = (&given.places[0], &given.numbers[0]);
    let (some, inside) = (d.lt(p, q), d.le(q, &place.end));
    d.claim("a block is empty", some);
    d.claim("a block leaves the list", inside);
    let last = d.plus(q, -1);
    for at in [p, &last] {
        let stored = place.at(d, at);
        let within = in_block(d, c, block, &stored);
        d.claim("a block has an entry of another", within);
    }
    let further = d.lt(q, &place.end);
    d.claim_where(further, "a block ends early", &|d| {
        let stored = place.at(d, q);
        let within = in_block(d, c, block, &stored);
        d.not(within)
    });
}

/// *Blocks are those of the entries*: each that has one, once, ascending, with all of its positions.
pub struct Blocks<const ROOM: bool = true>;

impl<const ROOM: bool> Law for Blocks<ROOM> {
    const NAME: &'static str = "blocks";
    const ARRAYS: &'static [Order] = &[Order::Ascending];
    const NUMBERS: usize = 3;
    // Without room a sum may wrap; then a division says which block is next.
    const WRAPS: bool = !ROOM;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (place, view) = (&given.places[0], blocks(d, given, ROOM));
        let stop = view.stop.clone();
        let list = List::open(d, "p", ListFiber { view, ..place.fiber() });
        let first = list.entry(d).position;
        let wanted = d.state("wanted", first);
        d.repeat(&|d| list.valid(d), &mut |d| {
            let (entry, block, next) = (list.entry(d), list.index(d), d.get(wanted));
            let there = d.eq(&entry.position, &next);
            d.claim("it is not at the next block", there);
            let behind = entry.run.expect("a block is a run").end(d);
            is_block(d, given, &block, [&next, &behind]);
            d.set(wanted, behind);
            list.next(d);
        });
        let (wanted, stop) = (d.get(wanted), stop.expect("blocks end"));
        let further = d.lt(&wanted, &place.end);
        d.claim_where(further, "it ends before its view", &|d| {
            let at = place.at(d, &wanted);
            d.le(&stop, &at)
        });
    }
}

/// *A seek lands on a block*: the first at or after its target.
pub struct LandsOnBlock<S>(PhantomData<S>);

impl<S: Seek> Law for LandsOnBlock<S> {
    const NAME: &'static str = S::NAME;
    const ARRAYS: &'static [Order] = &[Order::Ascending];
    const NUMBERS: usize = 4;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (place, view, target) = (&given.places[0], blocks(d, given, true), &given.numbers[3]);
        let zero = d.int(0);
        d.assume_within(&zero, target, &given.numbers[1]);
        let list = List::open(d, "p", ListFiber { view: view.clone(), ..place.fiber() });
        let first = list.entry(d).position;
        S::seek(&list, d, target);
        let entry = list.entry(d);
        let stored = view.stored(d, target);
        let passed = d.lt(&first, &entry.position);
        d.claim_where(passed, "it passes over an entry", &|d| {
            let before = d.plus(&entry.position, -1);
            let before = place.at(d, &before);
            d.lt(&before, &stored)
        });
        let valid = list.valid(d);
        let (p, q) = (entry.position, entry.run.expect("a block is a run").end(d));
        d.branch(
            valid,
            &mut |d| {
                let (at, block) = (place.at(d, &p), list.index(d));
                let not_before = d.le(&stored, &at);
                d.claim("it stops before its target", not_before);
                is_block(d, given, &block, [&p, &q]);
            },
            &mut |_| {},
        );
    }
}

/// *A loop over all entries* comes to each once, with its coordinate.
pub struct Each;

impl Law for Each {
    const NAME: &'static str = "each";
    const ARRAYS: &'static [Order] = &[Order::Ascending];
    const NUMBERS: usize = 0;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let place = &given.places[0];
        let wanted = d.state("wanted", place.begin.clone());
        fiberloom_loops::stream::each(d, "p", &place.fiber(), &mut |d, entry, at| {
            let next = d.get(wanted);
            let there = d.eq(&entry.position, &next);
            d.claim("it is not at the next entry", there);
            let stored = place.at(d, &next);
            let same = d.eq(&stored, &at);
            d.claim("its coordinate is another", same);
            let behind = d.plus(&next, 1);
            d.set(wanted, behind);
        });
        let wanted = d.get(wanted);
        let all = d.eq(&wanted, &place.end);
        d.claim("it ends elsewhere than the list", all);
    }
}

/// Bounds: a list of at most 3 entries below 5, repeating or not, every target; loops unwound 65 times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn seeks_land() {
    let c = &mut crate::choose::Any;
    assert!(crate::claims::holds::<Lands<Search, true>>(c, [3, 5]).is_ok());
    assert!(crate::claims::holds::<Lands<CatchUp, true>>(c, [3, 5]).is_ok());
    assert!(crate::claims::holds::<Lands<Gallop, true>>(c, [3, 5]).is_ok());
    assert!(crate::claims::holds::<Lands<Leap>>(c, [3, 5]).is_ok());
    assert!(crate::claims::holds::<Lands<ComeNear>>(c, [3, 5]).is_ok());
    assert!(crate::claims::holds::<Visits<StepIf, true>>(c, [3, 5]).is_ok());
}

/// Bounds: a list of at most 2 entries below 4, every legal slice of it; loops unwound 65 times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn slices_are_seen() {
    let c = &mut crate::choose::Any;
    assert!(crate::claims::holds::<Sees<Slice>>(c, [2, 4]).is_ok());
    assert!(crate::claims::holds::<LandsIn<Slice, Gallop>>(c, [2, 4]).is_ok());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::exhausts;

    /// Bounds: lists of at most 4 entries below 6, repeating or not; every target.
    #[test]
    fn seeks_land() {
        exhausts::<Lands<Search>>([4, 6]);
        exhausts::<Lands<Search, true>>([4, 6]);
        exhausts::<Lands<CatchUp>>([4, 6]);
        exhausts::<Lands<CatchUp, true>>([4, 6]);
        exhausts::<Lands<Gallop>>([4, 6]);
        exhausts::<Lands<Gallop, true>>([4, 6]);
        exhausts::<Lands<Leap>>([4, 6]);
        exhausts::<Lands<Leap, true>>([4, 6]);
        exhausts::<Lands<ComeNear>>([4, 6]);
        exhausts::<Lands<ComeNear, true>>([4, 6]);
    }

    /// Bounds: lists of at most 3 entries below 4, every legal view, target and witness.
    #[test]
    fn seeks_land_under_views() {
        exhausts::<LandsIn<Slice, Search>>([3, 4]);
        exhausts::<LandsIn<Slice, CatchUp>>([3, 4]);
        exhausts::<LandsIn<Slice, Gallop>>([3, 4]);
        exhausts::<LandsIn<Slice, Leap>>([3, 4]);
        exhausts::<LandsIn<Slice, ComeNear>>([3, 4]);
        exhausts::<Sees<Slice>>([3, 4]);
        exhausts::<Sees<Offset>>([3, 4]);
        exhausts::<Sees<Steps>>([3, 6]);
        exhausts::<LandsIn<Offset, Gallop>>([3, 4]);
        exhausts::<LandsIn<Steps, Search>>([3, 5]);
        exhausts::<LandsIn<Steps, CatchUp>>([3, 5]);
        exhausts::<LandsIn<Steps, Gallop>>([3, 5]);
    }

    /// Bounds: lists of at most 4 entries below 6, repeating or not.
    #[test]
    fn every_entry_is_visited_once() {
        exhausts::<Visits<Step>>([4, 6]);
        exhausts::<Visits<Step, true>>([4, 6]);
        exhausts::<Visits<StepIf, true>>([4, 6]);
        exhausts::<Each>([4, 6]);
        exhausts::<RunsWalked>([4, 6]);
    }

    /// Bounds: lists of at most 3 entries below 9, or 2 below 8; blocks of four from every coordinate on.
    #[test]
    fn blocks_are_those_of_the_entries() {
        exhausts::<Blocks>([3, 9]);
        exhausts::<Blocks<false>>([2, 9]);
        exhausts::<LandsOnBlock<Search>>([2, 8]);
        exhausts::<LandsOnBlock<CatchUp>>([2, 8]);
        exhausts::<LandsOnBlock<Gallop>>([2, 8]);
    }
}
