//! Files of tables, arbitrary and damaged: refused with a place, or read, and written back.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    fiberloom_check::format::tables::import(bytes);
});
