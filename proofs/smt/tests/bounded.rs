//! Laws within bounds: lists of at most so many entries, at any 64-bit coordinates.

use fiberloom_proofs::claims::Law;
use fiberloom_proofs::meets::*;
use fiberloom_proofs::seeks::*;
use fiberloom_smt::bounded::up_to;
use std::time::Instant;

/// Asserts that a law holds of lists of up to so many entries.
fn holds<L: Law>(most: usize) {
    let begin = Instant::now();
    let answer = up_to::<L>(most, 8);
    println!("{} up to {most}: {answer:?}, {:.1} s", std::any::type_name::<L>(), begin.elapsed().as_secs_f64());
    if !answer.is_proved() {
        assert!(answer.is_refuted::<L>(500), "{answer:?}");
        panic!("refuted");
    }
}

#[test]
fn seeks_land() {
    holds::<Lands<Search>>(4);
    holds::<Lands<CatchUp>>(4);
    holds::<Lands<Gallop>>(4);
    holds::<Lands<Leap>>(4);
    holds::<Lands<ComeNear>>(4);
}

#[test]
fn both() {
    holds::<Both<Intersect>>(3);
}

#[test]
fn lanes() {
    holds::<Lanes<Whole, Whole>>(3);
}

#[test]
fn lanes_of_slices() {
    holds::<Lanes<Slice, Slice>>(2);
}
