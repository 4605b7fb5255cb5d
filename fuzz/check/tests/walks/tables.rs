//! Programs over labels, on tables that are drawn.

use fiberloom_check::notation::engines::{BOTH, Engine};
use fiberloom_check::notation::tables::attack;

/// Programs of seeds, on loops, and each tenth as machine code.
#[test]
fn labels_mean_what_they_say() {
    for seed in 0..fiberloom_check::Effort::said().of(400, 100) {
        let engine = if seed % 10 == 0 { Engine::Llvm(BOTH) } else { Engine::Loops };
        attack(&fiberloom_check::bytes(seed, 600), engine);
    }
}
