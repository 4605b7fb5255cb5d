//! Logarithms: that of a power of two, and that of what is left, which is near 1.
//!
//! ```text
//!  x = 2ᵏ · (1 + f)                1 + f from √½ to √2, f exact
//!  log(1 + f) = 2s + s·z·p(z)      s = f / (2 + f), z = s², p a polynomial
//!             = f − (h − s·(h + z·p(z)))      h = f² / 2
//! ```

use super::real::{Real, Word};
use super::{polynomial, sum};

const LN_2: f64 = std::f64::consts::LN_2;
/// The first digits of log 2: a multiple of it by an exponent is exact.
const LN_2_FIRST: f64 = 0.6931471805592082;
const LN_2_REST: f64 = 7.371002565167799e-13;

/// p, within 5·10⁻¹⁸ of the logarithm.
const THIRD: [f64; 7] = [
    0.666666666666667,
    0.39999999999899827,
    0.28571428625939216,
    0.2222221113408715,
    0.1818288940293971,
    0.1533170842365717,
    0.14616639772177434,
];

/// Bits of √½, without those of its last places.
const ROOT: u64 = 0x3fe6_a09e_0000_0000;
const ONE: u64 = 0x3ff0_0000_0000_0000;
const MANTISSA: u64 = (1 << 52) - 1;

/// The exponent k and 1 + f of a positive number.
#[inline(always)]
fn split<R: Real>(x: R) -> (R, R) {
    let tiny = x.is_below(f64::MIN_POSITIVE);
    let (k, m) = split_normal(R::choose(tiny, x * 2f64.powi(54), x));
    (k - R::choose(tiny, 54.0, 0.0), m)
}

/// The exponent k and 1 + f of a positive number that is not tiny.
#[inline(always)]
pub(super) fn split_normal<R: Real>(x: R) -> (R, R) {
    let word = x.bits().plus(ONE - ROOT);
    // The exponent as the last bits of a large number.
    let counted = (word.right(52) | WHOLE.to_bits().into()).real();
    (counted - (WHOLE + 1023.0), (word & MANTISSA.into()).plus(ROOT).real())
}

/// Whole numbers from here on have no digits behind the point, and their bits count from this one's.
pub(super) const WHOLE: f64 = (1u64 << 52) as f64;

/// `result` where `x` is positive and finite, else what a logarithm is there.
#[inline(always)]
pub(super) fn defined<R: Real>(x: R, result: R) -> R {
    let ordinary = R::from(0.0).is_below(x) & x.is_below(f64::INFINITY);
    let below = R::choose(x.equals(0.0), f64::NEG_INFINITY, f64::NAN);
    R::choose(ordinary, result, R::choose(x.is_below(f64::INFINITY), below, x))
}

/// h and s·(h + z·p(z)) of f.
#[inline(always)]
fn half_and_rest<R: Real>(f: R) -> (R, R) {
    let s = f / (f + 2.0);
    let z = s * s;
    let half = f * f * 0.5;
    (half, s * z.fused(polynomial(z, THIRD), half))
}

/// log x.
#[inline(always)]
pub(super) fn log<R: Real>(x: R) -> R {
    let (k, m) = split(x);
    defined(x, plus_power(k, m - 1.0, 0.0.into()))
}

/// log(1 + f) + `more`, a small number, + k · log 2.
#[inline(always)]
fn plus_power<R: Real>(k: R, f: R, more: R) -> R {
    let (half, rest) = half_and_rest(f);
    let power = k * LN_2_FIRST;
    let first = power + f;
    // Exact: f is less than a power, unless that is 0.
    let lost = f - (first - power);
    first + (lost - (half - (rest + k.fused(LN_2_REST, more))))
}

/// log(1 + x).
#[inline(always)]
pub(super) fn log1p<R: Real>(x: R) -> R {
    let (u, lost) = sum(x, 1.0.into());
    let (k, m) = split(u);
    let near = k.equals(0.0);
    let f = R::choose(near, x, m - 1.0);
    // What u lacks, in the measure of m. Beyond 2⁵³ it makes no difference.
    let more = R::choose(near | R::from(2f64.powi(60)).is_below(x), 0.0, lost / u);
    let result = defined(u, plus_power(k, f, more));
    R::choose(x.abs().is_below(1e-17), x, result)
}

/// log(1 + f) as the sum of two numbers, the second below the last places of the first.
#[inline(always)]
fn two_parts<R: Real>(f: R) -> (R, R) {
    let (half, rest) = half_and_rest(f);
    let lost = (f * 0.5).fused(f, -half);
    let high = f - half;
    (high, ((f - high) - half) + (rest - lost))
}

/// A logarithm in another base, of which the inverse of its natural logarithm and the logarithm of 2 are given as two
/// numbers each.
#[inline(always)]
fn in_base<R: Real>(x: R, inverse: [f64; 2], of_two: [f64; 2]) -> R {
    let (k, m) = split(x);
    let (high, low) = two_parts(m - 1.0);
    let scaled = high * inverse[0];
    let low = high.fused(inverse[0], -scaled) + high.fused(inverse[1], low * inverse[0]);
    let power = k * of_two[0];
    let first = power + scaled;
    let lost = scaled - (first - power);
    defined(x, first + (lost + k.fused(of_two[1], low)))
}

/// The logarithm in base 2.
#[inline(always)]
pub(super) fn log2<R: Real>(x: R) -> R {
    in_base(x, [std::f64::consts::LOG2_E, 2.0355273740931033e-17], [1.0, 0.0])
}

/// The logarithm in base 10.
#[inline(always)]
pub(super) fn log10<R: Real>(x: R) -> R {
    let inverse = [std::f64::consts::LOG10_E, 1.098319650216765e-17];
    in_base(x, inverse, [0.30102999566361177, 3.694239077158931e-13])
}

/// 2/3, and what it has beyond.
const TWO_THIRDS: [f64; 2] = [0.6666666666666666, 3.700743415417188e-17];

/// (log((1 + s) / (1 − s)) − 2s − 2s³/3) / s⁵, within 6·10⁻²² of the logarithm.
const FIFTH: [f64; 9] = [
    0.4,
    0.2857142857142494,
    0.2222222222395508,
    0.18181817810516743,
    0.1538465760303174,
    0.13330606544096288,
    0.11865292971837198,
    0.08543501931758651,
    0.26059725592271343,
];

/// log x of a positive number as the sum of two, within 2⁻⁶³ of it.
#[inline(always)]
pub(super) fn precise<R: Real>(x: R) -> (R, R) {
    let (k, m) = split(x);
    let f = m - 1.0;
    let below = f + 2.0;
    let inverse = R::from(1.0) / below;
    // s, its square z, z·p(z), s·z·p(z), each as two numbers.
    let s = f * inverse;
    let s_low = ((-s).fused(below, f) - s * (f - (below - 2.0))) * inverse;
    let z = s * s;
    let z_low = s.fused(s, -z) + s * s_low * 2.0;
    let tail = z * polynomial(z, FIFTH);
    let p = tail + TWO_THIRDS[0];
    let p_low = (tail - (p - TWO_THIRDS[0])) + TWO_THIRDS[1];
    let w = z * p;
    let w_low = z.fused(p, -w) + z.fused(p_low, z_low * p);
    let v = s * w;
    let v_low = s.fused(w, -v) + s.fused(w_low, s_low * w);
    let twice = s * 2.0;
    let power = k * LN_2;
    let power_low = k.fused(LN_2, -power) + k * 2.3190468138462996e-17;
    let first = power + twice;
    let lost = twice - (first - power);
    let high = first + v;
    let more = v - (high - first);
    let low = (lost + more) + (power_low + (s_low * 2.0 + v_low));
    let result = high + low;
    (result, low - (result - high))
}
