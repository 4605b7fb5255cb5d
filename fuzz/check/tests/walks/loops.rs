//! Random kernels: machine code does what the machine does.

use fiberloom_check::loops::*;
use fiberloom_check::{OptLevel, bytes};

#[test]
fn machine_code_does_what_the_machine_does() {
    let mut ended = vec![];
    let effort = fiberloom_check::Effort::said();
    for seed in 0..effort.of(120, 30) {
        let levels = [OptLevel::None, OptLevel::Full];
        ended.push(agree(&bytes(seed, 3000), if seed % 4 == 0 { &levels } else { &levels[..1] }));
    }
    let count = |wanted: fn(&Ended) -> bool| ended.iter().filter(|e| wanted(e)).count();
    let (done, failed) = (count(|e| *e == Ended::Done), count(|e| matches!(e, Ended::Failed(_))));
    let reached = 4 * done > 3 * ended.len() && failed > 0;
    assert!(effort.is_sample() || reached, "{done} done, {failed} failed of {}", ended.len());
}

/// Few bytes and no bytes are cases too.
#[test]
fn any_bytes_are_a_case() {
    for len in 0..64 {
        agree(&bytes(len as u64, len), &[]);
    }
}
