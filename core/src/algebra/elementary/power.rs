//! xʸ = e^(y · log x), the logarithm as two numbers, so that its product with y loses no place of the result.

use super::exponential::exp_of;
use super::logarithm::{WHOLE, precise};
use super::real::{Real, Word};

const SIGN: u64 = 1 << 63;

/// xʸ. Powers by whole numbers from 0 to 7 are products ([`product`]), rounded once, unless they are huge or tiny.
#[inline(always)]
pub(super) fn pow<R: Real>(x: R, y: R) -> R {
    let (n, is_small) = small(y);
    let power = product(x, n);
    let size = power.abs();
    let is_plain = size.is_below(2f64.powi(960)) & (!size.is_below(2f64.powi(-960)) | x.equals(0.0));
    // Sums lose the sign of zero.
    let signed = (size.bits() | (x.bits() & n.left(63))).real();
    R::choose(is_small & is_plain, signed, by_logarithm(x, y))
}

/// What |y · log x| may be at most where the result is neither 0 nor infinite.
const MOST: f64 = 746.0;

/// xʸ by the logarithm of |x|.
#[inline(always)]
fn by_logarithm<R: Real>(x: R, y: R) -> R {
    let (log, low) = precise(x.abs());
    defined(x, y, log, exp_of, low)
}

/// xʸ, of the logarithm of |x| where that is neither 0 nor infinite, `low` what it has beyond, and how the exponential of
/// two such numbers is computed.
#[inline(always)]
pub(super) fn defined<R: Real>(x: R, y: R, log: R, exp: impl Fn(R, R) -> R, low: R) -> R {
    let size = x.abs();
    let ordinary = R::from(0.0).is_below(size) & size.is_below(f64::INFINITY);
    let log = R::choose(ordinary, log, R::choose(size.equals(0.0), f64::NEG_INFINITY, size));
    // Whatever y is, powers of 1 are 1.
    let one = size.equals(1.0);
    let high = R::choose(one, 0.0, y * log);
    let beyond = y.fused(log, -high) + y * low;
    let power = exp(high, R::choose(high.abs().is_below(MOST) & !one, beyond, 0.0));
    let is_whole = y.trunc().equals(y);
    let half = y * 0.5;
    let is_odd = is_whole & !half.trunc().equals(half);
    let signed = (power.bits() | (x.bits() & SIGN.into())).real();
    let power = R::choose(is_odd, signed, power);
    let undefined = x.is_below(0.0) & !is_whole & size.is_below(f64::INFINITY);
    let is_one = y.equals(0.0) | x.equals(1.0);
    R::choose(is_one, 1.0, R::choose(undefined, f64::NAN, power))
}

/// A number as the sum of two, of which the second is what rounding took: some units in the last place of the first.
#[derive(Clone, Copy)]
struct Twice<R: Real> {
    first: R,
    rest: R,
}

impl<R: Real> Twice<R> {
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        let first = self.first * other.first;
        let lost = self.first.fused(other.first, -first);
        Twice { first, rest: lost + self.first.fused(other.rest, self.rest * other.first) }
    }

    /// It, or one, by the last bit of a word.
    #[inline(always)]
    fn or_one(self, word: R::Word) -> Self {
        let all = R::Word::from(0).minus(word & 1.into());
        let one = R::Word::from(1f64.to_bits()) & (all ^ u64::MAX.into());
        Twice { first: ((self.first.bits() & all) | one).real(), rest: (self.rest.bits() & all).real() }
    }
}

/// The whole number y, and whether it is one from 0 to 7.
#[inline(always)]
fn small<R: Real>(y: R) -> (R::Word, R::Truth) {
    let n = (y + WHOLE).bits().minus(WHOLE.to_bits());
    (n, !y.is_below(0.0) & y.is_below(8.0) & y.trunc().equals(y))
}

/// xⁿ of a whole n from 0 to 7, in twice the precision, rounded once.
#[inline(always)]
fn product<R: Real>(x: R, n: R::Word) -> R {
    let once = Twice { first: x, rest: 0.0.into() };
    let twice = once.times(once);
    let four = twice.times(twice);
    let power = once.or_one(n).times(twice.or_one(n.right(1))).times(four.or_one(n.right(2)));
    power.first + power.rest
}
