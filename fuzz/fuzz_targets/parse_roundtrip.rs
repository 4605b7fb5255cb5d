//! Any text: no panic in the parser or the checker, and what reads prints and reads back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        fiberloom_check::notation::reads_back(text);
    }
});
