//! Spaces and their lattices, which `show lattice` prints, against sets.
#![no_main]

use fiberloom_check::iteration::attack;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| attack(bytes));
