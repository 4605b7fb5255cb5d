//! `pow` of `f64`: small whole exponents are products, everything else is the library's.
//!
//! ```text
//!  x¹  x²  x⁴          each the square of the one before, in twice the precision
//!   ╵   ╵   ╵
//!   1   1   0          the exponent's bits say which are multiplied: x³, rounded once
//! ```
//!
//! A product in twice the precision is two numbers, the second what rounding took from the first; what they leave out is
//! less than 2⁻⁹⁸ of it, so that the result is the power, rounded. The library's `pow` of the same takes four times as long
//! and is now and then one unit in the last place off. No branch depends on base or exponent while the power is neither
//! huge nor tiny: those of data are unpredictable.

/// A number as the sum of two, of which the second is what rounding took: some units in the last place of the first.
#[derive(Clone, Copy)]
struct Twice {
    first: f64,
    rest: f64,
}

impl Twice {
    #[inline(always)]
    fn times(self, other: Twice) -> Twice {
        let first = self.first * other.first;
        let lost = self.first.mul_add(other.first, -first);
        Twice { first, rest: lost + (self.first * other.rest + self.rest * other.first) }
    }

    /// It, or one, by a bit.
    #[inline(always)]
    fn or_one(self, bit: u64) -> Twice {
        let (all, one) = MASKS[bit as usize & 1];
        Twice {
            first: f64::from_bits(self.first.to_bits() & all | one),
            rest: f64::from_bits(self.rest.to_bits() & all),
        }
    }
}

/// For each bit what is kept of a number, and what else is in its place.
const MASKS: [(u64, u64); 2] = [(0, 1f64.to_bits()), (u64::MAX, 0)];

const SIGN: u64 = 1 << 63;

/// Whole numbers from here on have no digits behind the point, and their bits count from this one's.
const WHOLE: f64 = (1u64 << 52) as f64;

/// Exponents from here on are the library's.
const SMALL: u64 = 8;

/// The bits of the least power, 2⁻⁹⁶⁰, and how many are above it up to 2⁹⁶⁰: of these what rounding takes is a number too.
const WIDE: (u64, u64) = (63 << 52, 1920 << 52);

/// `x` to the power `y`. Inlined where the machine's fused multiplication is known, it is some instructions; the result
/// is the same without.
#[inline(always)]
pub fn pow(x: f64, y: f64) -> f64 {
    let rounded = y + WHOLE;
    let n = rounded.to_bits().wrapping_sub(WHOLE.to_bits());
    if n < SMALL && rounded - WHOLE == y {
        let power = product(x, n).to_bits() & !SIGN;
        if power.wrapping_sub(WIDE.0 * (x != 0.0) as u64) < WIDE.1 {
            // Sums lose the sign of zero.
            return f64::from_bits(power | x.to_bits() & (n << 63));
        }
    }
    libm::pow(x, y)
}

/// xⁿ of an n below [`SMALL`].
#[inline(always)]
fn product(x: f64, n: u64) -> f64 {
    let once = Twice { first: x, rest: 0.0 };
    let twice = once.times(once);
    let four = twice.times(twice);
    let power = once.or_one(n).times(twice.or_one(n >> 1)).times(four.or_one(n >> 2));
    power.first + power.rest
}

#[cfg(test)]
mod tests {
    use super::pow;

    #[test]
    fn known_powers() {
        for (x, y, expected) in [
            (3.0, 15.0, 14348907.0),
            (-3.0, 15.0, -14348907.0),
            (-3.0, 14.0, 4782969.0),
            (10.0, 15.0, 1e15),
            (0.1, 3.0, 0.0010000000000000002),
            (1.1, 10.0, 2.5937424601000023),
            (-0.0, 3.0, -0.0),
            (-0.0, 4.0, 0.0),
            (0.0, 1.0, 0.0),
            (-0.0, 0.0, 1.0),
            (f64::NAN, 0.0, 1.0),
            (f64::INFINITY, 0.0, 1.0),
            (f64::NEG_INFINITY, 3.0, f64::NEG_INFINITY),
            (1e200, 2.0, f64::INFINITY),
            (1e-200, 2.0, 0.0),
            (-1e-300, 1.0, -1e-300),
            (5e-324, 1.0, 5e-324),
        ] {
            let power = pow(x, y);
            assert!(power == expected && power.is_sign_negative() == expected.is_sign_negative(), "{x} {y}: {power}");
        }
        assert!(pow(f64::NAN, 2.0).is_nan());
        assert!(pow(-2.0, 0.5).is_nan());
    }

    /// Squares are rounded once; others are next to what the library says, on both sides of where the products end.
    #[test]
    fn near_the_library() {
        let mut x = 1e-280f64;
        while x < 1e280 {
            assert_eq!(pow(x, 1.0), x);
            if (1e-140..1e140).contains(&x) {
                assert_eq!(pow(x, 2.0), x * x);
            }
            for n in 0..20 {
                for base in [x, -x] {
                    let (ours, library) = (pow(base, n as f64), libm::pow(base, n as f64));
                    assert!(ours.to_bits().abs_diff(library.to_bits()) <= 1, "{base} {n}: {ours} {library}");
                }
            }
            x *= 1.37 + x.fract() / 7.0;
        }
    }
}
