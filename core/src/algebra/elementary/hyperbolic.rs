//! Hyperbolic functions by e^|x| − 1, their inverses by log(1 + δ), neither of which loses places near 0; lengths.

use super::exponential::{exp_of, quarter_expm1};
use super::logarithm::log1p;
use super::real::Real;
use super::{lesser, sum, with_sign};

/// Below this a function whose slope at 0 is 1 is its argument: the next term is beyond the last place.
const TINY: f64 = 1e-9;

const LN_8: f64 = 2.0794415416798357;
/// What log 8 has beyond [`LN_8`].
const LN_8_REST: f64 = 1.8059370687790465e-16;

/// tanh x = t / (t + ½) of t = (e^2|x| − 1) / 4, the quotient corrected by its rest.
#[inline(always)]
pub(super) fn tanh<R: Real>(x: R) -> R {
    // From 22 on it is 1.
    let t = quarter_expm1(lesser(x.abs() * 2.0, 44.0));
    let (below, lost) = sum(t, 0.5.into());
    let inverse = R::from(1.0) / below;
    let quotient = t * inverse;
    let rest = (-quotient).fused(below, t) - quotient * lost;
    let result = rest.fused(inverse, quotient);
    with_sign(R::choose(x.abs().is_below(TINY), x.abs(), result), x)
}

/// sinh x = 2t + t / (2t + ½) of t = (e^|x| − 1) / 4.
#[inline(always)]
pub(super) fn sinh<R: Real>(x: R) -> R {
    // From 710.48 on it is infinite, and t is not.
    let t = quarter_expm1(lesser(x.abs(), 710.5));
    let result = t * 2.0 + t / (t * 2.0 + 0.5);
    with_sign(R::choose(x.abs().is_below(TINY), x.abs(), result), x)
}

/// cosh x = e^|x| / 2 + 1 / (2 e^|x|).
#[inline(always)]
pub(super) fn cosh<R: Real>(x: R) -> R {
    // An eighth of e^|x|, so that no number is infinite whose half is not. log 8 is a number and what it has beyond.
    let a = lesser(x.abs(), 711.0);
    let (less, beyond) = sum(a, (-LN_8).into());
    let eighth = exp_of(less, beyond - LN_8_REST);
    eighth.fused(4.0, R::from(0.0625) / eighth)
}

/// √(x² + y²).
#[inline(always)]
pub(super) fn hypot<R: Real>(x: R, y: R) -> R {
    let (a, b) = (x.abs(), y.abs());
    let swap = a.is_below(b);
    let (most, least) = (R::choose(swap, b, a), R::choose(swap, a, b));
    // Powers of two keep the squares from being infinite, and from losing places.
    let huge = R::from(2f64.powi(500)).is_below(most);
    let tiny = most.is_below(2f64.powi(-400));
    let pick = |up: f64, down: f64| R::choose(huge, down, R::choose(tiny, up, 1.0));
    let scale = pick(2f64.powi(620), 2f64.powi(-620));
    let (p, q) = (most * scale, least * scale);
    let root = p.fused(p, q * q).sqrt() * pick(2f64.powi(-620), 2f64.powi(620));
    let infinite = a.equals(f64::INFINITY) | b.equals(f64::INFINITY);
    R::choose(infinite, f64::INFINITY, root)
}

/// asinh x, by δ = |x| + x² / (1 + √(x² + 1)).
#[inline(always)]
pub(super) fn asinh<R: Real>(x: R) -> R {
    let a = x.abs();
    let (moderate, more) = halved(a);
    let square = moderate * moderate;
    let delta = moderate + square / ((square + 1.0).sqrt() + 1.0);
    let result = log1p(R::choose(a.is_below(HUGE), delta, a - 1.0)) + more;
    with_sign(R::choose(a.is_below(TINY), a, result), x)
}

/// acosh x, by δ = t + √(2t + t²) of t = x − 1.
#[inline(always)]
pub(super) fn acosh<R: Real>(x: R) -> R {
    let (moderate, more) = halved(x);
    let t = moderate - 1.0;
    let delta = t + t.fused(t, t * 2.0).sqrt();
    R::choose(x.is_below(1.0), f64::NAN, log1p(R::choose(x.is_below(HUGE), delta, x - 1.0)) + more)
}

/// atanh x, by δ = 2|x| / (1 − |x|).
#[inline(always)]
pub(super) fn atanh<R: Real>(x: R) -> R {
    let a = x.abs();
    let result = log1p(a * 2.0 / (R::from(1.0) - a)) * 0.5;
    with_sign(R::choose(a.is_below(TINY), a, result), x)
}

/// From here on the square of a number and the next number are one to its last place.
const HUGE: f64 = 1e9;

/// A number that is squared, or 1 in its place if it is huge, and what its logarithm lacks then: that of 2.
#[inline(always)]
fn halved<R: Real>(x: R) -> (R, R) {
    let huge = R::from(HUGE).is_below(x);
    (R::choose(huge, 1.0, x), R::choose(huge, std::f64::consts::LN_2, 0.0))
}
