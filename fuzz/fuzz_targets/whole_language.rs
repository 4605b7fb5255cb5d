//! Programs of the whole language: checked, evaluated, lowered or refused by name; no stage panics.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    fiberloom_check::notation::withstand(bytes);
});
