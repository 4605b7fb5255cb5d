//! As much of Kani's library as harnesses here use, with its signatures, so that what Kani would see compiles where it is not
//! installed: see `proofs/tests/kani.rs`. Nothing is proved by it.

pub use macros::{proof, solver, unwind};

/// What can be any value of its type.
pub trait Arbitrary: Sized {
    /// One.
    fn any() -> Self;
}

/// A value of which nothing is known; here, one of them.
pub fn any<T: Arbitrary>() -> T {
    T::any()
}

/// Paths on which the condition does not hold are not looked at; here, they end.
pub fn assume(condition: bool) {
    assert!(condition, "not a path");
}

macro_rules! arbitrary {
    ($($ty:ty),*) => {
        $(impl Arbitrary for $ty {
            fn any() -> $ty {
                <$ty>::default()
            }
        })*
    };
}

arbitrary!(bool, u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);
