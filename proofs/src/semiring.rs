//! The axioms of the semirings that streams are evaluated in (Definition 4.5 of the streams paper).
//!
//! ```text
//!   𝔹, (min, +)    every element    Kani, and samples under cargo test
//!   ℤ/2⁶⁴, ℕ⟨X⟩    samples
//! ```

#[cfg(any(test, kani))]
use fiberloom_semantics::stream::semiring_laws;
use fiberloom_semantics::stream::{MinPlus, Semiring};
use std::num::Wrapping;

/// A semiring with elements to try, the likeliest trouble among the first three.
pub trait Sample: Semiring {
    /// One, zero, and others.
    const SAMPLES: &[Self];
}

impl Sample for Wrapping<u64> {
    const SAMPLES: &[Self] = &[Wrapping(1), Wrapping(0), Wrapping(1 << 63), Wrapping(u64::MAX), Wrapping(6)];
}

impl Sample for bool {
    const SAMPLES: &[Self] = &[true, false];
}

impl Sample for MinPlus {
    const SAMPLES: &[Self] = &[MinPlus(3), MinPlus(i64::MAX), MinPlus(i64::MAX - 1), MinPlus(0), MinPlus(7)];
}

/// A sample for each name.
pub fn sample<K: Sample>(name: u32) -> K {
    K::SAMPLES[name as usize % K::SAMPLES.len()].clone()
}

/// Bounds: none; every three truth values, and every three lengths of 0 or more.
#[cfg(kani)]
#[kani::proof]
fn axioms() {
    let length = || {
        let length: i64 = kani::any();
        kani::assume(length >= 0);
        MinPlus(length)
    };
    assert_eq!(semiring_laws(&length(), &length(), &length()), Ok(()));
    assert_eq!(semiring_laws::<bool>(&kani::any(), &kani::any(), &kani::any()), Ok(()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::{Choose, every};
    use fiberloom_semantics::stream::Polynomial;

    fn hold<K: Semiring>(samples: &[K]) {
        every(|c| {
            let [x, y, z] = [(); 3].map(|()| &samples[c.upto(samples.len() - 1)]);
            assert_eq!(semiring_laws(x, y, z), Ok(()), "{x:?} {y:?} {z:?}");
        });
    }

    /// Bounds: all triples of samples; of polynomials, among sums and products of three names.
    #[test]
    fn axioms() {
        hold(Wrapping::<u64>::SAMPLES);
        hold(bool::SAMPLES);
        hold(MinPlus::SAMPLES);
        let [a, b, c] = [1, 2, 3].map(Polynomial::name);
        hold(&[Polynomial::zero(), Polynomial::one(), a.plus(&b), b.times(&a), a.times(&b.plus(&c)), c.clone()]);
    }

    /// The axioms notice what is no semiring: with lengths below zero, what was cut off at infinity comes back.
    #[test]
    fn negative_lengths_are_noticed() {
        let lengths = [MinPlus(i64::MAX - 1), MinPlus(2), MinPlus(-2)];
        assert_eq!(semiring_laws(&lengths[0], &lengths[1], &lengths[2]), Err("multiplication associates"));
    }
}
