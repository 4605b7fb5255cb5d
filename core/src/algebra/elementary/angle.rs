//! Sine, cosine, tangent: an angle is a number of quarter turns and a rest of at most an eighth.
//!
//! ```text
//!  x = q · π/2 + high + low        q mod 4 says which of sine and cosine of the rest it is, and its sign
//! ```
//!
//! Of angles below [`FAR`] three numbers whose sum is π/2 suffice, in lanes. Others are multiplied by those digits of 2/π
//! that count, as whole numbers, one by one.

use super::exponential::ROUND;
use super::polynomial;
use super::real::{Real, Whole, Word};

/// Angles from here on are far.
pub const FAR: f64 = 268435456.0;

/// An angle.
#[derive(Clone, Copy)]
struct Angle<R: Real> {
    high: R,
    low: R,
    /// How many quarter turns, modulo 4.
    quarters: R::Word,
}

const QUARTER: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33];

/// An angle below [`FAR`].
#[inline(always)]
fn near<R: Real>(x: R) -> Angle<R> {
    let shifted = x.fused(std::f64::consts::FRAC_2_PI, ROUND);
    let n = shifted - ROUND;
    // Exact: what x has in common with the multiple goes.
    let first = n.fused(-QUARTER[0], x);
    let second = n * QUARTER[1];
    let lost = n.fused(QUARTER[1], -second);
    let (high, low) = super::sum(first, -second);
    Angle { high, low: n.fused(-QUARTER[2], low - lost), quarters: shifted.bits() }
}

/// (sin √z / √z − 1) / z, within 5·10⁻¹⁹ of the sine.
const SINE: [f64; 7] = [
    -0.16666666666666666,
    0.008333333333332915,
    -0.00019841269840729033,
    2.7557318923462436e-06,
    -2.505202681633691e-08,
    1.604829722463226e-10,
    -7.079317498561394e-13,
];

/// (cos √z − 1 + z/2) / z², within 5·10⁻¹⁹ of the cosine.
const COSINE: [f64; 6] = [
    0.041666666666666664,
    -0.0013888888888887033,
    2.4801587298410664e-05,
    -2.755731713137867e-07,
    2.0876122126653498e-09,
    -1.1381129063454674e-11,
];

/// Sine and cosine of an angle.
#[inline(always)]
fn both<R: Real>(Angle { high, low, quarters }: Angle<R>) -> (R, R) {
    let z = high * high;
    let half = z * 0.5;
    let sine = high + (z * high).fused(polynomial(z, SINE), low.fused(-half, low));
    let most = R::from(1.0) - half;
    let rest = (z * z).fused(polynomial(z, COSINE), (-high) * low);
    let cosine = most + (((R::from(1.0) - most) - half) + rest);
    turned(sine, cosine, quarters)
}

/// Sine and cosine of an angle, by those of its rest and the number of its quarter turns.
#[inline(always)]
pub(super) fn turned<R: Real>(sine: R, cosine: R, quarters: R::Word) -> (R, R) {
    // The last bit says whether they change places.
    let turned = R::Word::from(0).minus(quarters & 1.into());
    let (s, c) = (sine.bits(), cosine.bits());
    let changed = (s ^ c) & turned;
    let sign = |q: R::Word| q.right(1).left(63);
    let sine = (s ^ changed ^ sign(quarters)).real();
    (sine, (c ^ changed ^ sign(quarters.plus(1))).real())
}

/// A result that is x where x is tiny.
#[inline(always)]
fn or_tiny<R: Real>(x: R, result: R) -> R {
    R::choose(x.abs().is_below(1e-9), x, result)
}

/// sin x.
#[inline(always)]
pub(super) fn sin<R: Real>(x: R) -> R {
    x.unless_far(or_tiny(x, both(near(x)).0), Whole::Sin)
}

/// cos x.
#[inline(always)]
pub(super) fn cos<R: Real>(x: R) -> R {
    x.unless_far(both(near(x)).1, Whole::Cos)
}

/// tan x.
#[inline(always)]
pub(super) fn tan<R: Real>(x: R) -> R {
    let (sine, cosine) = both(near(x));
    x.unless_far(or_tiny(x, sine / cosine), Whole::Tan)
}

/// A function of an angle that is far.
#[cold]
pub(super) fn far(x: f64, whole: Whole) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let (sine, cosine) = both(far_angle(x));
    match whole {
        Whole::Sin => sine,
        Whole::Cos => cosine,
        Whole::Tan => sine / cosine,
    }
}

/// The digits of 2/π behind the point, 64 of them at a time, after as many zeros.
const DIGITS: [u64; 21] = [
    0,
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
];

/// An angle of any size.
fn far_angle(x: f64) -> Angle<f64> {
    let bits = x.to_bits();
    // |x| = m · 2ᵉ, of which 2/π's digits before the one that counts two quarters make whole turns.
    let m = (bits & ((1 << 52) - 1) | 1 << 52) as u128;
    let e = (bits >> 52 & 0x7ff) as i64 - 1075;
    let from = (e - 2 + 64) as usize;
    let word = |k: usize| {
        let (at, shift) = (from / 64 + k, from % 64);
        let next = DIGITS.get(at + 1).copied().unwrap_or(0);
        ((DIGITS[at] as u128) << 64 | next as u128) << shift >> 64
    };
    // The product, modulo four quarters: the quarters in its first two bits, then digits behind the point.
    let low = m * (word(2) as u64 as u128);
    let middle = m * (word(1) as u64 as u128) + (low >> 64);
    let high = (m as u64).wrapping_mul(word(0) as u64).wrapping_add((middle >> 64) as u64);
    let product = (high as u128) << 64 | middle as u64 as u128;
    // The nearest whole number of quarters, and by how many 2¹²⁶ths it is less or more.
    let quarters = (product >> 125).wrapping_add(1) >> 1;
    let rest = (product << 2) as i128 >> 2;
    let high = rest as f64;
    let low = (rest - high as i128) as f64;
    let unit = 2f64.powi(-126);
    let (high, low) = (high * unit, low * unit);
    let product = high * QUARTER[0];
    let lost = high.mul_add(QUARTER[0], -product) + (high * QUARTER[1] + low * QUARTER[0]);
    let sum = product + lost;
    let angle = Angle { high: sum, low: lost - (sum - product), quarters: quarters as u64 };
    if x < 0.0 {
        Angle { high: -angle.high, low: -angle.low, quarters: 0u64.wrapping_sub(angle.quarters) }
    } else {
        angle
    }
}
