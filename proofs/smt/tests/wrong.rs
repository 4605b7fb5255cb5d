//! Iterators that are wrong in one thing each: the solver refutes each, with data on which `Concrete` says so too; and of
//! none it finds that it is right for lists of any length.

use fiberloom_check::Effort;
use fiberloom_loops::stream::{Arith, Compare, Domain, List, ListFiber, View};
use fiberloom_proofs::claims::{Claims, Given, Law, Order, Place};
use fiberloom_proofs::meets::*;
use fiberloom_proofs::places::*;
use fiberloom_proofs::seeks::*;
use fiberloom_proofs::{pairs, seeks};
use fiberloom_smt::any_length::of_any_length;
use fiberloom_smt::bounded::{FUEL, up_to};
use fiberloom_smt::domain::Answer;

/// Asserts that lists of so many entries refute a law.
fn wrong<L: Law>(most: usize) {
    let answer = up_to::<L>(most, 4);
    assert!(answer.is_refuted::<L>(FUEL), "{}: {answer:?}", std::any::type_name::<L>());
}

/// The same; and, where everything is tried, that it is not proved of any length.
fn wrong_of_any_length<L: Law>(most: usize) {
    wrong::<L>(most);
    if Effort::said() == Effort::Long {
        let answer = of_any_length::<L>();
        assert!(!answer.is_proved(), "{}: {answer:?}", std::any::type_name::<L>());
    }
}

fn one<D: Domain>(d: &mut D, list: &List<D::I>, to: &D::I) {
    let valid = list.valid(d);
    let behind = d.and(valid, &|d| {
        let at = list.index(d);
        d.compare(Compare::Lt, &at, to)
    });
    d.branch(behind, &mut |d| list.next(d), &mut |_| {});
}

fn moved<D: Domain>(d: &mut D, to: &D::I, by: i64) -> D::I {
    let by = d.int(by);
    d.arith(Arith::Add, to, &by)
}

seeks! {
    /// Goes beyond.
    Beyond "it goes beyond" |l, d, to| { let to = moved(d, to, 1); l.seek(d, &to) };
    /// Falls short.
    Short "it falls short" |l, d, to| { let to = moved(d, to, -1); l.seek(d, &to) };
    /// Takes one step.
    OneStep "it takes one step" |l, d, to| one(d, l, to);
    /// Comes to the next few.
    NextFew "it comes to the next few" |l, d, to| (0..8).for_each(|_| one(d, l, to));
    /// Does not ask for the end.
    Unchecked "it does not ask for the end" |l, d, to| d.repeat(
        &|d| { let at = l.index(d); d.compare(Compare::Lt, &at, to) },
        &mut |d| l.next(d),
    );
    /// Waits.
    Waits "it waits" |l, d, to| d.repeat(
        &|d| {
            let valid = l.valid(d);
            d.and(valid, &|d| { let at = l.index(d); d.compare(Compare::Lt, &at, to) })
        },
        &mut |_| {},
    );
}

#[test]
fn seeks_are_refuted() {
    wrong_of_any_length::<Lands<Beyond>>(2);
    wrong_of_any_length::<Lands<Short>>(2);
    wrong_of_any_length::<Lands<OneStep>>(2);
    wrong_of_any_length::<Lands<NextFew>>(10);
    wrong_of_any_length::<Lands<Unchecked>>(2);
    wrong_of_any_length::<Lands<Waits>>(2);
    wrong_of_any_length::<LandsIn<Slice, Beyond>>(2);
    wrong_of_any_length::<LandsByBucketIndex<Beyond, 3>>(2);
    wrong::<Lands<Beyond, true>>(2);
}

/// Ways to the next entry that are wrong.
struct TwoSteps;
struct Rests;
struct Always;

impl Next for TwoSteps {
    const NAME: &'static str = "it takes two steps";
    fn next<D: Domain>(list: &List<D::I>, d: &mut D) {
        list.next(d);
        list.next(d);
    }
}

impl Next for Rests {
    const NAME: &'static str = "it rests";
    fn next<D: Domain>(_: &List<D::I>, _: &mut D) {}
}

impl Next for Always {
    const NAME: &'static str = "it moves under no condition";
    fn next<D: Domain>(list: &List<D::I>, d: &mut D) {
        let yes = yes(d);
        list.next_if(d, &yes);
        list.next_if(d, &yes);
    }
}

#[test]
fn steps_are_refuted() {
    wrong_of_any_length::<Visits<TwoSteps>>(3);
    wrong_of_any_length::<Visits<Rests>>(2);
    wrong_of_any_length::<Visits<Always>>(3);
    wrong::<Visits<TwoSteps, true>>(3);
}

fn both_valid<D: Domain>(d: &mut D, [a, b]: [&List<D::I>; 2]) -> D::B {
    let valid = a.valid(d);
    d.and(valid, &|d| b.valid(d))
}

fn indices<D: Domain>(d: &mut D, [a, b]: [&List<D::I>; 2]) -> [D::I; 2] {
    [a, b].map(|list| {
        let at = list.index(d);
        d.snapshot("at", at)
    })
}

/// Tells the body of a coordinate where a condition holds.
fn told_where<D: Domain>(d: &mut D, c: D::B, at: &D::I, body: Body<D>) {
    d.branch(
        c,
        &mut |d| {
            let yes = yes(d);
            body(d, at, [&yes, &yes]);
        },
        &mut |_| {},
    );
}

/// Both lists move on at every turn, or where they agree.
fn step<D: Domain>(d: &mut D, lists: [&List<D::I>; 2], always: bool, body: Body<D>) {
    d.repeat(&|d| both_valid(d, lists), &mut |d| {
        let [x, y] = indices(d, lists);
        let equal = d.compare(Compare::Eq, &x, &y);
        told_where(d, equal.clone(), &x, body);
        let moves = if always { yes(d) } else { equal };
        lists.iter().for_each(|list| list.next_if(d, &moves));
    });
}

/// A union of which one list moves on at a turn, that with the smaller coordinate or that with the larger.
fn one_moves<D: Domain>(d: &mut D, lists: [&List<D::I>; 2], smaller: bool, body: Body<D>) {
    d.repeat(&|d| both_valid(d, lists), &mut |d| {
        let [x, y] = indices(d, lists);
        let (x, y) = if smaller { (x, y) } else { (y, x) };
        let (first, second) = (d.compare(Compare::Le, &x, &y), d.compare(Compare::Le, &y, &x));
        let at = d.select(&first, &|_| x.clone(), y.clone());
        body(d, &at, [&first, &second]);
        lists[0].next_if(d, &first);
        let other = d.not(first);
        lists[1].next_if(d, &other);
    });
}

pairs! {
    /// The second list goes behind where the first is.
    GoesBehind "a list leaps beyond where the others are" |d, lists, body| d.repeat(&|d| both_valid(d, lists), &mut |d| {
        let [x, y] = indices(d, lists);
        let equal = d.compare(Compare::Eq, &x, &y);
        told_where(d, equal.clone(), &x, body);
        lists[1].next_if(d, &equal);
        let behind = d.compare(Compare::Lt, &y, &x);
        let far = moved(d, &x, 1);
        d.branch(behind.clone(), &mut |d| lists[1].gallop(d, &far), &mut |_| {});
        let moves = d.not(behind);
        lists[0].next_if(d, &moves);
    });
    /// Both lists move on at every turn.
    BothMove "both lists move on at every turn" |d, lists, body| step(d, lists, true, body);
    /// Only lists that agree move on.
    AgreeingMove "only lists that agree move on" |d, lists, body| step(d, lists, false, body);
    /// The second list may be exhausted before the first.
    SecondUnchecked "the second list's end is not asked for" |d, [a, b], body| d.repeat(&|d| a.valid(d), &mut |d| {
        let at = a.index(d);
        let at = d.snapshot("at", at);
        b.seek(d, &at);
        let other = b.index(d);
        let equal = d.compare(Compare::Eq, &at, &other);
        told_where(d, equal, &at, body);
        a.next(d);
    });
    /// The body comes after the advance.
    Late "the body comes after the advance" |d, [a, b], body| fiberloom_loops::stream::intersect(d, &[a, b], &mut |d, at| {
        a.next(d);
        let yes = yes(d);
        body(d, at, [&yes, &yes]);
    });
    /// It goes on while either list lasts.
    GoesOn "it goes on while either list lasts" |d, lists, body| Wide::run(d, lists, &mut |d, at, _| {
        let yes = yes(d);
        body(d, at, [&yes, &yes]);
    });
    /// Where both have an entry, one moves on.
    OneMoves "where both have an entry, one moves on" |d, lists, body| one_moves(d, lists, true, body);
    /// The larger coordinate comes first.
    LargerFirst "the larger coordinate comes first" |d, lists, body| one_moves(d, lists, false, body);
    /// It ends with the first list.
    EndsWithFirst "it ends with the first list" leaves false |d, [a, b], body| fiberloom_loops::stream::wide(
        d, &[a, b], &|_, valid| valid[0].clone(), &mut |d, at, here| body(d, at, [&here[0], &here[1]]),
    );
    /// The lists are taken for one another.
    Exchanged "the lists are taken for one another" |d, [a, b], body| UniteTwo::run(d, [b, a], body);
    /// It has no turn.
    NoTurn "it has no turn" leaves false |_d, _lists, _body| {};
}

#[test]
fn intersections_are_refuted() {
    wrong_of_any_length::<Both<GoesBehind>>(2);
    wrong_of_any_length::<Both<BothMove>>(2);
    wrong_of_any_length::<Both<AgreeingMove>>(2);
    wrong_of_any_length::<Both<SecondUnchecked>>(2);
    wrong_of_any_length::<Both<Late>>(2);
    wrong_of_any_length::<Both<GoesOn>>(2);
    wrong_of_any_length::<Both<NoTurn>>(2);
}

#[test]
fn unions_are_refuted() {
    wrong_of_any_length::<Either<OneMoves, 0>>(2);
    wrong_of_any_length::<Either<LargerFirst, 0>>(2);
    wrong_of_any_length::<Either<EndsWithFirst, 1>>(2);
    wrong_of_any_length::<Either<Exchanged, 0>>(2);
    wrong_of_any_length::<Either<NoTurn, 1>>(2);
}

/// Views that are wrong: of a slice, or of steps, one part is left out.
struct WithoutStop;
struct WithoutStart;
struct WithoutSteps;
struct WithoutShift;

macro_rules! viewings {
    ($($viewing:ident of $right:ident, $name:literal, $part:ident;)*) => {
        $(impl Viewing for $viewing {
            const NAME: &'static str = $name;
            const STEPS: Option<u32> = $right::STEPS;
            const NUMBERS: usize = $right::NUMBERS;
            fn view<D: Claims>(d: &mut D, place: &Place<D::I>, numbers: &[D::I]) -> (View<D::I>, D::I) {
                $right::view(d, place, numbers)
            }
            fn made<D: Claims>(view: View<D::I>) -> View<D::I> {
                View { $part: None, ..view }
            }
        })*
    };
}

viewings! {
    WithoutStop of Slice, "it does not stop", stop;
    WithoutStart of Slice, "it is not sought", start;
    WithoutSteps of Steps, "it passes over nothing", stride;
    WithoutShift of Slice, "it is not shifted", shift;
}

#[test]
fn views_are_refuted() {
    wrong::<Sees<WithoutStop>>(2);
    wrong::<Sees<WithoutStart>>(2);
    wrong::<Sees<WithoutSteps>>(2);
    wrong::<LandsIn<WithoutShift, Gallop>>(2);
    wrong::<LandsIn<WithoutSteps, Gallop>>(2);
}

/// A claim that nothing is said of: an element is below itself.
struct OfNothing;

impl Law for OfNothing {
    const NAME: &'static str = "of nothing";
    const ARRAYS: &'static [Order] = &[Order::Ascending];
    const NUMBERS: usize = 1;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let (number, list) = (&given.numbers[0], List::open(d, "p", given.places[0].fiber()));
        let never = d.lt(number, number);
        d.assume(never);
        list.seek(d, number);
        let also = d.lt(number, number);
        d.claim("what cannot be", also);
    }
}

#[test]
fn a_claim_over_nothing_is_refused() {
    assert_eq!(up_to::<OfNothing>(2, 0), Answer::Void);
    assert_eq!(of_any_length::<OfNothing>(), Answer::Void);
}

/// A list that is opened one entry late.
struct OpenedLate;

impl Law for OpenedLate {
    const NAME: &'static str = "it is opened one entry late";
    const ARRAYS: &'static [Order] = &[Order::Ascending];
    const NUMBERS: usize = 1;

    fn text<D: Claims>(d: &mut D, given: &Given<D::I>) {
        let place = &given.places[0];
        let begin = moved(d, &place.begin, 1);
        let list = List::open(d, "p", ListFiber { begin, ..place.fiber() });
        place.assume_inside(d, &given.numbers[0]);
        let p = list.entry(d).position;
        let first = d.le(&p, &given.numbers[0]);
        d.claim("an entry is before the first", first);
    }
}

#[test]
fn lists_are_refuted() {
    wrong_of_any_length::<OpenedLate>(2);
}
