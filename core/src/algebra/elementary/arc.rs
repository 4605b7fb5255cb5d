//! Angles of given sines, cosines, tangents.

use super::real::{Real, Word};
use super::{polynomial, with_sign};

const PI: [f64; 2] = [std::f64::consts::PI, 1.2246467991473532e-16];
const HALF: [f64; 2] = [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17];
const FOURTH: [f64; 2] = [std::f64::consts::FRAC_PI_4, 3.061616997868383e-17];

/// (atan √z / √z − 1) / z of z up to 1/4, within 7·10⁻¹⁹ of the angle.
const TANGENT: [f64; 13] = [
    -0.3333333333333333,
    0.1999999999999889,
    -0.14285714285527132,
    0.11111111096870889,
    -0.09090908492747729,
    0.07692292221090292,
    -0.06666403837390653,
    0.05879304559961318,
    -0.05238502215994554,
    0.04621794776527036,
    -0.03791092833528014,
    0.024781483610340806,
    -0.00907252152760539,
];

/// The angle of a point, neither of whose coordinates is negative, as two numbers.
///
/// ```text
///  y ≤ x/2:                atan(y / x)
///  y ≤ (1 + √2) · x:       π/4 + atan((y − x) / (y + x))
///  else:                   π/2 − atan(x / y)
/// ```
#[inline(always)]
fn angle<R: Real>(y: R, x: R) -> (R, R) {
    let flat = !(x * 0.5).is_below(y);
    let steep = (x * 2.414_213_562_373_095).is_below(y);
    let pick = |low: R, middle: R, high: R| R::choose(flat, low, R::choose(steep, high, middle));
    let above = pick(y, y - x, -x);
    let below = pick(x, y + x, y);
    let of = |k: usize| pick(0.0.into(), FOURTH[k].into(), HALF[k].into());
    let t = above / below;
    let z = t * t;
    let rest = (t * z).fused(polynomial(z, TANGENT), of(1));
    let base = of(0);
    let high = base + t;
    (high, (t - (high - base)) + rest)
}

/// atan x.
#[inline(always)]
pub(super) fn atan<R: Real>(x: R) -> R {
    let (high, low) = angle(x.abs(), 1.0.into());
    with_sign(R::choose(x.abs().is_below(1e-9), x.abs(), high + low), x)
}

/// The angle of the point (x, y).
#[inline(always)]
pub(super) fn atan2<R: Real>(y: R, x: R) -> R {
    let (up, along) = (y.abs(), x.abs());
    // Both are scaled where their sum would be infinite, or their differences lose places.
    let huge = R::from(2f64.powi(1000)).is_below(up) | R::from(2f64.powi(1000)).is_below(along);
    let tiny = up.is_below(2f64.powi(-900)) & along.is_below(2f64.powi(-900));
    let scale = R::choose(huge, 2f64.powi(-100), R::choose(tiny, 2f64.powi(100), 1.0));
    // Equal ones, also if they are 0 or infinite, are those of any other point on the diagonal.
    let equal = up.equals(along);
    let zero = up.equals(0.0);
    let (up, along) = (R::choose(equal, 1.0, up * scale), R::choose(equal, 1.0, along * scale));
    let (up, along) = (R::choose(zero, 0.0, up), R::choose(zero, 1.0, along));
    let (high, low) = angle(up, along);
    let behind = R::Word::from(0).minus(x.bits().right(63));
    let negative = behind & (1u64 << 63).into();
    let mirrored = |k: usize| (R::from(PI[k]).bits() & behind).real();
    let (high, low) = ((high.bits() ^ negative).real(), (low.bits() ^ negative).real());
    let base = mirrored(0);
    let first = base + high;
    let lost = high - (first - base);
    let result = with_sign(first + (lost + (low + mirrored(1))), y);
    R::choose(x.equals(x) & y.equals(y), result, f64::NAN)
}

/// (asin √z / √z − 1) / z of z up to 1/4, within 4·10⁻¹⁸ of the angle.
const SINE: [f64; 13] = [
    0.16666666666666669,
    0.07499999999998075,
    0.04464285714687356,
    0.03038194410499936,
    0.022372174128105687,
    0.017352367236550547,
    0.013971566161147619,
    0.01147591968538853,
    0.01034300848872098,
    0.005374392034417593,
    0.017618643945492892,
    -0.015180588867439363,
    0.02897539987997258,
];

/// Of |x|: whether it is at most a half, s, and asin s − s, where s is |x|, or else √((1 − |x|) / 2) in the place of it.
#[inline(always)]
fn small_angle<R: Real>(a: R) -> (R::Truth, R, R) {
    let is_small = !R::from(0.5).is_below(a);
    let half = (R::from(1.0) - a) * 0.5;
    let z = R::choose(is_small, a * a, half);
    let root = half.sqrt();
    let s = R::choose(is_small, a, root);
    // What rounding took from the root.
    let lost = (-root).fused(root, half) / (root * 2.0);
    let lost = R::choose(R::choose(is_small, 0.0, root).equals(0.0), 0.0, lost);
    (is_small, s, (s * z).fused(polynomial(z, SINE), lost))
}

/// asin x.
#[inline(always)]
pub(super) fn asin<R: Real>(x: R) -> R {
    let (is_small, s, rest) = small_angle(x.abs());
    let twice = s * 2.0;
    let high = R::from(HALF[0]) - twice;
    let lost = (R::from(HALF[0]) - high) - twice;
    let large = high + (lost + rest.fused(-2.0, HALF[1]));
    with_sign(R::choose(is_small, s + rest, large), x)
}

/// acos x.
#[inline(always)]
pub(super) fn acos<R: Real>(x: R) -> R {
    let (is_small, s, rest) = small_angle(x.abs());
    // Small: π/2 − s − rest. Else 2s + 2·rest, or that from π.
    let sign = x.bits() & (1u64 << 63).into();
    let signed = |v: R| (v.bits() ^ sign).real();
    let behind = x.is_below(0.0);
    let base = |k: usize| R::choose(is_small, HALF[k], R::choose(behind, PI[k], 0.0));
    let times = R::choose(is_small, -1.0, 2.0);
    let (s, rest) = (signed(s * times), signed(rest * times));
    let first = base(0) + s;
    let lost = s - (first - base(0));
    first + (lost + (rest + base(1)))
}
