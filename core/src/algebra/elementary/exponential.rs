//! eˣ and eˣ − 1: a power of two times the exponential of what is left, which is at most half of log 2.
//!
//! ```text
//!  x = n · log 2 + high + low          high exact, low what is beyond it
//!  eˣ = 2ⁿ · (1 + high + (low + r² · p(r)))      r = high + low, p a polynomial
//! ```

use super::real::{Real, Word};
use super::{lesser, polynomial, two};

const LOG2_E: f64 = std::f64::consts::LOG2_E;
const LN_2: f64 = std::f64::consts::LN_2;
/// What log 2 has beyond [`LN_2`].
const LN_2_REST: f64 = 2.3190468138462996e-17;

/// Added to a number and taken away again, it leaves the nearest whole number, whose bits are the last of the sum's.
pub(super) const ROUND: f64 = 6755399441055744.0;

/// (eʳ − 1 − r) / r² for |r| up to half of log 2, within 2·10⁻¹⁹ of eʳ.
const SECOND: [f64; 11] = [
    0.5,
    0.1666666666666667,
    0.041666666666666644,
    0.008333333333325876,
    0.0013888888888905066,
    0.00019841269875519422,
    2.4801587271873552e-05,
    2.7557254657490843e-06,
    2.7557326813948607e-07,
    2.5105488777300314e-08,
    2.0896546313285756e-09,
];

/// A number whose exponential is sought, taken apart.
struct Parts<R: Real> {
    /// The sum of [`ROUND`] and n.
    shifted: R,
    high: R,
    /// What r has beyond `high`, and r² · p(r).
    rest: R,
}

/// Takes `x` plus `beyond`, a number below the last place of `x`, apart.
#[inline(always)]
fn parts<R: Real>(x: R, beyond: R) -> Parts<R> {
    let shifted = x.fused(LOG2_E, ROUND);
    let n = shifted - ROUND;
    let high = n.fused(-LN_2, x);
    let low = n.fused(-LN_2_REST, beyond);
    let r = high + low;
    Parts { shifted, high, rest: (r * r).fused(polynomial(r, SECOND), low) }
}

/// eˣ of `x` plus `beyond`, a number below the last place of `x`.
#[inline(always)]
pub(super) fn exp_of<R: Real>(x: R, beyond: R) -> R {
    // Beyond these the result is infinite or 0.
    let x = R::choose(x.is_below(-746.0), -746.0, lesser(x, 710.0));
    let Parts { shifted, high, rest } = parts(x, beyond);
    let sum = high + 1.0;
    let rest = rest + (high - (sum - 1.0));
    scaled(sum + rest, shifted)
}

/// `x` · 2ⁿ of n from −2000 to 2000, rounded once if `x` is near 1; `shifted` is n plus [`ROUND`].
#[inline(always)]
fn scaled<R: Real>(x: R, shifted: R) -> R {
    // Two powers, each of which is a number: their exponents as bits say them.
    let both = shifted.bits().minus(ROUND.to_bits()).plus(2 * 1023);
    let one = both.right(1);
    let other = both.minus(one);
    x * one.left(52).real() * other.left(52).real()
}

/// eˣ.
#[inline(always)]
pub(super) fn exp<R: Real>(x: R) -> R {
    exp_of(x, 0.0.into())
}

/// A quarter of eˣ − 1, finite for every x up to 710.5.
#[inline(always)]
pub(super) fn quarter_expm1<R: Real>(x: R) -> R {
    let x = R::choose(x.is_below(-40.0), -40.0, x);
    let Parts { shifted, high, rest } = parts(x, 0.0.into());
    let power = two::<R>(shifted.bits().minus(ROUND.to_bits()).minus(2));
    power.fused(rest, power.fused(high, power - 0.25))
}

/// eˣ − 1.
#[inline(always)]
pub(super) fn expm1<R: Real>(x: R) -> R {
    let result = quarter_expm1(lesser(x, 710.0)) * 4.0;
    // It is x where x is tiny, and has its sign.
    R::choose(x.abs().is_below(1e-17), x, result)
}
