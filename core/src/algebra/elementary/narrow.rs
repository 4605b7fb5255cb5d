//! Functions of `f32`, computed in `f64` with as many terms as `f32` shows, and rounded once.

use super::exponential::ROUND;
use super::logarithm::split_normal;
use super::real::{Real, Whole, Word};
use super::{lesser, polynomial, sum, two, with_sign};

const LN_2: f64 = std::f64::consts::LN_2;
const LOG2_E: f64 = std::f64::consts::LOG2_E;

/// (eʳ − 1) / r for |r| up to half of log 2, within 3·10⁻¹⁰.
const FIRST: [f64; 7] = [
    1.0000000000315046,
    0.5000000046996711,
    0.1666666624653966,
    0.04166635291252607,
    0.008333403240741626,
    0.001394113320104024,
    0.00019841251581798758,
];

/// 2ⁿ and e^r − 1 of n·log 2 + r = x, which is from −200 to 200.
#[inline(always)]
fn power_and_rest<R: Real>(x: R) -> (R, R) {
    let shifted = x.fused(LOG2_E, ROUND);
    let r = (shifted - ROUND).fused(-LN_2, x);
    (two::<R>(shifted.bits().minus(ROUND.to_bits())), r * polynomial(r, FIRST))
}

/// A number whose exponential, in `f32`, is neither 0 nor infinite, or one at the ends of these.
#[inline(always)]
fn bounded<R: Real>(x: R) -> R {
    R::choose(x.is_below(-120.0), -120.0, lesser(x, 100.0))
}

/// eˣ.
#[inline(always)]
pub(super) fn exp<R: Real>(x: R) -> R {
    let (power, rest) = power_and_rest(bounded(x));
    power.fused(rest, power)
}

/// eˣ − 1.
#[inline(always)]
pub(super) fn expm1<R: Real>(x: R) -> R {
    let (power, rest) = power_and_rest(bounded(x));
    let result = power.fused(rest, power - 1.0);
    R::choose(x.equals(0.0), x, result)
}

/// tanh x.
#[inline(always)]
pub(super) fn tanh<R: Real>(x: R) -> R {
    let t = expm1(lesser(x.abs() * 2.0, 40.0));
    with_sign(t / (t + 2.0), x)
}

/// sinh x.
#[inline(always)]
pub(super) fn sinh<R: Real>(x: R) -> R {
    let t = expm1(x.abs());
    with_sign((t + t / (t + 1.0)) * 0.5, x)
}

/// cosh x.
#[inline(always)]
pub(super) fn cosh<R: Real>(x: R) -> R {
    let power = exp(x.abs());
    power.fused(0.5, R::from(0.5) / power)
}

/// (log((1 + s) / (1 − s)) − 2s) / s³ by s², within 3·10⁻⁹ of the logarithm.
const THIRD: [f64; 3] = [0.666666851052188, 0.39988761910775816, 0.29580608560501936];

/// The same, within 7·10⁻¹⁶.
const MORE_OF_THIRD: [f64; 6] = [
    0.6666666666666207,
    0.4000000001124131,
    0.28571424128297984,
    0.22222863270597834,
    0.1814015414698399,
    0.16622370890145108,
];

/// The exponent and the logarithm of what is left, of a positive number.
#[inline(always)]
fn parts<R: Real, const N: usize>(x: R, third: [f64; N]) -> (R, R) {
    let (k, m) = split_normal(x);
    let f = m - 1.0;
    let s = f / (f + 2.0);
    let z = s * s;
    (k, s * z.fused(polynomial(z, third), 2.0))
}

/// `result` where `x` is positive and finite, else what a logarithm is there.
#[inline(always)]
fn defined<R: Real>(x: R, result: R) -> R {
    super::logarithm::defined(x, result)
}

/// log x.
#[inline(always)]
pub(super) fn log<R: Real>(x: R) -> R {
    let (k, rest) = parts(x, THIRD);
    defined(x, k.fused(LN_2, rest))
}

/// The logarithm in base 2.
#[inline(always)]
pub(super) fn log2<R: Real>(x: R) -> R {
    let (k, rest) = parts(x, THIRD);
    defined(x, rest.fused(LOG2_E, k))
}

/// The logarithm in base 10.
#[inline(always)]
pub(super) fn log10<R: Real>(x: R) -> R {
    let (k, rest) = parts(x, THIRD);
    defined(x, k.fused(std::f64::consts::LOG10_2, rest * std::f64::consts::LOG10_E))
}

/// log(1 + x).
#[inline(always)]
pub(super) fn log1p<R: Real>(x: R) -> R {
    let (u, lost) = sum(x, 1.0.into());
    let (k, rest) = parts(u, THIRD);
    // Only where x is tiny does u lack some of it that counts.
    let lost = R::choose(x.abs().is_below(0.5), lost, 0.0);
    let result = defined(u, k.fused(LN_2, rest + lost));
    R::choose(x.equals(0.0), x, result)
}

/// xʸ.
#[inline(always)]
pub(super) fn pow<R: Real>(x: R, y: R) -> R {
    let size = x.abs();
    let (k, rest) = parts(size, MORE_OF_THIRD);
    super::power::defined(x, y, k.fused(LN_2, rest), |high, _| exp(high), 0.0.into())
}

/// (sin √z / √z − 1) / z, within 2·10⁻¹¹ of the sine.
const SINE: [f64; 4] = [-0.1666666666375853, 0.008333331841032325, -0.0001984006982482835, 2.7247844896798504e-06];

/// (cos √z − 1) / z, within 2·10⁻¹⁰ of the cosine.
const COSINE: [f64; 4] = [-0.4999999996773414, 0.04166665018192382, -0.0013887566615542028, 2.4461077631261976e-05];

/// Sine and cosine of an angle that is not far.
#[inline(always)]
fn both<R: Real>(x: R) -> (R, R) {
    let shifted = x.fused(std::f64::consts::FRAC_2_PI, ROUND);
    let n = shifted - ROUND;
    let r = n.fused(-6.123233995736766e-17, n.fused(-std::f64::consts::FRAC_PI_2, x));
    let z = r * r;
    let one = R::from(1.0);
    super::angle::turned(r * z.fused(polynomial(z, SINE), one), z.fused(polynomial(z, COSINE), one), shifted.bits())
}

/// sin x.
#[inline(always)]
pub(super) fn sin<R: Real>(x: R) -> R {
    x.unless_far(both(x).0, Whole::Sin)
}

/// cos x.
#[inline(always)]
pub(super) fn cos<R: Real>(x: R) -> R {
    x.unless_far(both(x).1, Whole::Cos)
}

/// tan x.
#[inline(always)]
pub(super) fn tan<R: Real>(x: R) -> R {
    let (sine, cosine) = both(x);
    x.unless_far(sine / cosine, Whole::Tan)
}
