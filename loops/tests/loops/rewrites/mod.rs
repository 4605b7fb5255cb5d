//! Rewrites, on small kernels that are texts.

mod appending;
mod blocks;
mod collapse;
mod distribute;
mod downward;
mod early_exit;
mod incremental;
mod joins;
mod monotone;
mod noted;
mod parallel;
mod privatize;
mod ranks;
mod strip_mine;
mod tiles;
mod unroll_and_jam;

use crate::sound;
use fiberloom_loops::{Kernel, REWRITES, check};

/// Rewrites a kernel by the rewrite of this name.
pub fn rewrite(name: &str, kernel: &mut Kernel) {
    let (_, rewrite) =
        REWRITES.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("no rewrite is called {name}"));
    rewrite(kernel);
}

/// The text of a kernel after the rewrites of these names; it is sound before and behind them.
fn rewritten(text: &str, names: &[&str]) -> String {
    rewritten_by(text, |kernel| names.iter().for_each(|name| rewrite(name, kernel)))
}

/// The text of a kernel after a rewrite; it is sound before and behind it.
fn rewritten_by(text: &str, rewrite: impl FnOnce(&mut Kernel)) -> String {
    let mut kernel = sound(text);
    rewrite(&mut kernel);
    assert_eq!(check(&kernel), Ok(()), "{kernel}");
    kernel.to_string()
}
