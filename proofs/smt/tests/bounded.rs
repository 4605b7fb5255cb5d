//! Laws within bounds: lists of at most so many entries, at any 64-bit coordinates.

use fiberloom_check::Effort;
use fiberloom_proofs::claims::Law;
use fiberloom_proofs::meets::*;
use fiberloom_proofs::places::*;
use fiberloom_proofs::seeks::*;
use fiberloom_smt::bounded::{of_lengths, up_to};
use std::time::Instant;

/// Asserts that a law holds of arrays of up to so many elements each, or, where not everything is tried, of a length whose cases are
/// few.
fn holds<L: Law>(most: usize) {
    in_tables_of::<L>(most, 8);
}

/// The same of a law that is proved of lists of any length (`any_length.rs`): asked where everything is tried.
fn proved_at_any_length<L: Law>(most: usize) {
    if Effort::said() == Effort::Long {
        holds::<L>(most);
    }
}

/// The same, with a table of so many places.
fn in_tables_of<L: Law>(most: usize, places: i64) {
    let most = if Effort::said() < Effort::Long { most.div_ceil(2).min(2) } else { most };
    let begin = Instant::now();
    let answer = up_to::<L>(most, places);
    println!("{} up to {most}: {answer:?}, {:.1} s", std::any::type_name::<L>(), begin.elapsed().as_secs_f64());
    if !answer.is_proved() {
        assert!(answer.is_refuted::<L>(500), "{answer:?}");
        panic!("refuted");
    }
}

/// The law of one list for each kind of seek.
macro_rules! each_seek {
    ($most:expr, $law:ident $(, $more:tt)*) => {
        holds::<$law<Search $(, $more)*>>($most);
        holds::<$law<CatchUp $(, $more)*>>($most);
        holds::<$law<Gallop $(, $more)*>>($most);
        holds::<$law<Leap $(, $more)*>>($most);
        holds::<$law<ComeNear $(, $more)*>>($most);
    };
}

#[test]
fn seeks_land() {
    each_seek!(20, Lands);
}

#[test]
fn seeks_land_on_runs() {
    each_seek!(4, Lands, true);
}

#[test]
fn seeks_land_in_slices() {
    holds::<LandsIn<Slice, Search>>(3);
    holds::<LandsIn<Slice, CatchUp>>(3);
    holds::<LandsIn<Slice, Gallop>>(3);
    holds::<LandsIn<Slice, Leap>>(3);
    holds::<LandsIn<Slice, ComeNear>>(3);
}

#[test]
fn seeks_land_in_offsets() {
    holds::<LandsIn<Offset, Search>>(3);
    holds::<LandsIn<Offset, CatchUp>>(3);
    holds::<LandsIn<Offset, Gallop>>(3);
    holds::<LandsIn<Offset, Leap>>(3);
    holds::<LandsIn<Offset, ComeNear>>(3);
}

#[test]
fn what_is_seen_is_the_image() {
    holds::<Sees<Slice>>(3);
    holds::<Sees<Offset>>(3);
    holds::<Sees<Steps>>(3);
}

#[test]
fn seeks_land_in_steps() {
    holds::<LandsIn<Steps, Search>>(3);
    holds::<LandsIn<Steps, CatchUp>>(3);
    holds::<LandsIn<Steps, Gallop>>(3);
    holds::<LandsIn<Steps, Leap>>(3);
    holds::<LandsIn<Steps, ComeNear>>(3);
}

#[test]
fn entries_are_visited_once() {
    holds::<Visits<Step>>(6);
    holds::<Visits<Step, true>>(4);
    holds::<Visits<StepIf>>(6);
    holds::<Visits<StepIf, true>>(4);
    holds::<Each>(6);
    holds::<RunsWalked>(4);
}

#[test]
fn blocks_are_those_of_the_entries() {
    holds::<Blocks>(3);
    holds::<Blocks<false>>(1);
    holds::<LandsOnBlock<Search>>(3);
    holds::<LandsOnBlock<CatchUp>>(3);
    holds::<LandsOnBlock<Gallop>>(3);
}

#[test]
fn intersections() {
    holds::<Both<Intersect>>(3);
    holds::<Both<Meet>>(3);
    holds::<Both<LeapBoth>>(3);
    holds::<Both<LeapBeside>>(3);
}

#[test]
fn intersections_of_runs() {
    holds::<Both<Intersect, true>>(3);
    holds::<Both<LeapBoth, true>>(3);
}

#[test]
fn unions() {
    proved_at_any_length::<Either<UniteTwo, 0>>(3);
    proved_at_any_length::<Either<UniteTwo, 1>>(3);
    holds::<Either<UniteTwo, 0, true>>(3);
    holds::<Either<UniteFlat<2>, 0>>(3);
    holds::<Either<UniteFlat<2>, 1>>(3);
}

#[test]
fn wide_unions() {
    proved_at_any_length::<Either<Wide, 0>>(3);
    proved_at_any_length::<Either<Wide, 1>>(3);
    holds::<Either<Wide, 0, true>>(3);
    holds::<Either<WideBoth, 0>>(3);
}

#[test]
fn lists_meet_by_lanes() {
    holds::<Lanes<Whole, Whole>>(3);
    holds::<Lanes<Whole, Offset>>(3);
}

#[test]
fn slices_meet_by_lanes() {
    holds::<Lanes<Slice, Slice>>(3);
}

#[test]
fn intervals_and_pieces() {
    holds::<Holds<true>>(3);
    holds::<Holds<false>>(3);
    holds::<FindsRun>(4);
    holds::<FindsBlock>(4);
    holds::<FindsPacked>(4);
    holds::<Cover>(3);
}

#[test]
fn laid_lists() {
    in_tables_of::<Laid>(3, 8);
    in_tables_of::<Laid>(3, i64::MAX);
}

#[test]
fn hashed_levels() {
    holds::<Finds<4>>(1);
    if Effort::said() == Effort::Long {
        holds::<FindsInAny>(2);
    }
}

#[test]
fn hashed_levels_of_three_entries() {
    if Effort::said() < Effort::Long {
        return;
    }
    let answer = of_lengths::<FindsInAny>(&[3], 8);
    assert!(answer.is_proved(), "{answer:?}");
}

#[test]
fn bucket_indices() {
    in_tables_of::<Stretches<61>>(3, 4);
    in_tables_of::<Stretches<1>>(3, 4);
    each_seek!(3, LandsByBucketIndex, 1);
    holds::<LandsByBucketIndex<Gallop, 61>>(3);
    holds::<LandsByBucketIndex<Gallop, 1, true>>(3);
    holds::<LandsByBucketIndex<Search, 61, true>>(3);
}
