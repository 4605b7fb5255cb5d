//! Laws of lists of any length. Those that take the solver longest are asked where everything is tried; of these, lists of few entries are
//! usual (`bounded.rs`).

use fiberloom_check::Effort;
use fiberloom_proofs::claims::Law;
use fiberloom_proofs::meets::*;
use fiberloom_proofs::places::*;
use fiberloom_proofs::seeks::*;
use fiberloom_smt::any_length::of_any_length;
use std::time::Instant;

/// Asserts that a law is proved.
fn proved<L: Law>() {
    let begin = Instant::now();
    let answer = of_any_length::<L>();
    println!("{}: {answer:?}, {:.1} s", std::any::type_name::<L>(), begin.elapsed().as_secs_f64());
    assert!(answer.is_proved(), "{answer:?}");
}

/// The same of a law that takes the solver long.
fn proved_at_length<L: Law>() {
    if Effort::said() == Effort::Long {
        proved::<L>();
    }
}

#[test]
fn catch_up() {
    proved::<Lands<CatchUp>>();
}
#[test]
fn seek() {
    proved::<Lands<Search>>();
}
#[test]
fn gallop() {
    proved::<Lands<Gallop>>();
}
#[test]
fn leap() {
    proved::<Lands<Leap>>();
}
#[test]
fn come_near() {
    proved::<Lands<ComeNear>>();
}
#[test]
fn next() {
    proved::<Visits<Step>>();
}
#[test]
fn next_if() {
    proved::<Visits<StepIf>>();
}
#[test]
fn each() {
    proved::<Each>();
}
#[test]
fn intersect() {
    proved::<Both<Intersect>>();
}
#[test]
fn meet() {
    proved::<Both<Meet>>();
}
#[test]
fn leap_both() {
    proved_at_length::<Both<LeapBoth>>();
}
#[test]
fn unite_two() {
    proved::<Either<UniteTwo, 0>>();
    proved::<Either<UniteTwo, 1>>();
}
#[test]
fn unite_flat() {
    proved_at_length::<Either<UniteFlat<32>, 0>>();
    proved_at_length::<Either<UniteFlat<32>, 1>>();
}
#[test]
fn wide() {
    proved::<Either<Wide, 0>>();
    proved::<Either<Wide, 1>>();
}
#[test]
fn lanes() {
    proved::<Lanes<Whole, Whole>>();
}
#[test]
fn lanes_of_slices() {
    proved_at_length::<Lanes<Slice, Slice>>();
}
#[test]
fn lanes_of_offsets() {
    proved_at_length::<Lanes<Whole, Offset>>();
}
#[test]
fn interval() {
    proved::<Holds<true>>();
    proved::<Holds<false>>();
}
#[test]
fn pieces() {
    proved::<FindsRun>();
    proved::<FindsBlock>();
    proved::<FindsPacked>();
    proved::<Cover>();
}
#[test]
fn slices() {
    proved::<LandsIn<Slice, Search>>();
    proved::<LandsIn<Slice, CatchUp>>();
    proved::<LandsIn<Slice, Gallop>>();
}
#[test]
fn offsets() {
    proved::<LandsIn<Offset, Search>>();
}
#[test]
fn images() {
    proved::<Sees<Slice>>();
    proved::<Sees<Offset>>();
}
#[test]
fn steps() {
    proved_at_length::<LandsIn<Steps, Search>>();
}
#[test]
fn bucket_indices() {
    proved::<LandsByBucketIndex<Gallop, 3>>();
    proved::<LandsByBucketIndex<Search, 3>>();
    proved::<LandsByBucketIndex<Gallop, 3, true>>();
}
