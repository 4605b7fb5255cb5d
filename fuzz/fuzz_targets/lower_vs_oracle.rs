//! Machine code of generated programs, in fenced memory, against the meaning.
#![no_main]

use fiberloom_check::OptLevel;
use fiberloom_check::notation::{attack, engines::Engine};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| attack(bytes, Engine::Llvm(&[OptLevel::None])));
