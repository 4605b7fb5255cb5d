//! Generated programs whose parallel loops run as code for a GPU, on the machine for PTX, against the meaning.
#![no_main]

use fiberloom_check::notation::{attack, engines::Engine};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| attack(bytes, Engine::Ptx));
