//! Interpreted loops of generated programs against the meaning; no LLVM.
#![no_main]

use fiberloom_check::notation::{attack, engines::Engine};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| attack(bytes, Engine::Loops));
