//! Generated programs in boxes, merged, against the meaning of the whole.
#![no_main]

use fiberloom_check::notation::{engines::Engine, shards};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| shards::attack(bytes, Engine::Loops));
