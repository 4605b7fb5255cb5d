//! Loops: kernels as text, what is checked and known of them, iterators over fibers, and rewrites.

mod bind;
mod check;
mod iteration;
mod kernels;
mod names;
mod rewrites;
mod stream;
mod weight;

use fiberloom_loops::{Kernel, check, read};

/// The kernel that a text is.
fn kernel(text: &str) -> Kernel {
    read(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The kernel that a text is, which is sound.
fn sound(text: &str) -> Kernel {
    let kernel = kernel(text);
    assert_eq!(check(&kernel), Ok(()), "{text}");
    kernel
}
