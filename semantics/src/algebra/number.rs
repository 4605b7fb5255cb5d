//! Values with a bound on the distance between them and a right answer: a running error analysis.
//!
//! ```text
//!  meaning ──┐ ≤ error                       error = inner + (terms − 1) · u · (size + inner)
//!            ├── the real number                     └─ 0 where all partial sums are exact: size ≤ unit · 2ᵖ
//!  answer  ──┘ ≤ error                       u = 2⁻ᵖ, p bits of mantissa
//! ```
//!
//! In `algebraic` mode `+` and `*` may be reassociated, and contracted. The real number is the result of the operations if `+`, `-` and
//! `*` did not round; every evaluation that the language permits lies within `error` of it, so two evaluations differ by at most twice as
//! much. A sum is the flat list of its terms, whatever its parentheses are: `inner` is the sum of their errors, `size` that of their
//! magnitudes, and every term is a whole multiple of `unit`. A product is likewise the flat list of its factors: `most` and `least` bound
//! the products of those factors that another evaluation may multiply first. A quotient is rounded as a product is. Any other function
//! makes a term, and a factor, of its own; on exact arguments it gives the same bits in every engine, and is exact.
//!
//! The error is infinite where nothing is promised or known: an operation gave NaN, a partial result overflowed, or a discontinuous
//! function (a comparison, a conversion to whole numbers, a division by what may be 0) has an argument that is not certainly on one side
//! of the jump. In `strict` mode everything is exact.
//!
//! It is unknown which of two values that may be rounded differently is less, unless they have the same origin: then every engine gives
//! them the same bits ([`Origin`]). So the algorithm of Bellman and Ford ends when no distance changes, rounded or not.
//!
//! In `algebraic` mode a quotient of 0 is 0, whatever the divisor is, even NaN, infinite, or unpromised.

use super::scalar;
use fiberloom_core::algebra::{Mode, Op, Type, Value};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// The reason why nothing is promised about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// An operation gave NaN.
    Nan,
    /// A partial result overflows in some order of evaluation.
    Overflow,
    /// A discontinuous function was decided by rounding, or by the sign of a computed zero.
    Rounding,
}

impl Reason {
    /// The reason for a function's value, on arguments that are known up to rounding.
    fn of(value: Value) -> Reason {
        match value.as_f64() {
            _ if !value.ty().is_float() => Reason::Rounding,
            x if x.is_nan() => Reason::Nan,
            x if x.is_infinite() => Reason::Overflow,
            _ => Reason::Rounding,
        }
    }
}

/// A value, and the distance from it at which an answer may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// The meaning's value.
    pub value: Value,
    /// The sum of the terms' errors, never NaN. For values that are no floats: 0 or infinite.
    inner: f64,
    /// The sum of the terms' magnitudes, without infinite terms.
    size: f64,
    /// A power of 2 of which every term is a multiple; infinite: every power is one; 0: unknown.
    unit: f64,
    /// The number of terms that are not 0.
    terms: f64,
    /// The largest magnitude of a product of any of the factors, at least 1.
    most: f64,
    /// The smallest such magnitude that is not 0, at most 1.
    least: f64,
    /// Whether no operation computed the value: then the sign of a zero is known.
    given: bool,
    /// The origin of the value, if it has an error.
    origin: Origin,
    /// The reason why the error is infinite, if it is.
    reason: Reason,
}

/// The origin of a value: one operation on elements of tensors, or an element of a tensor. Two values of one origin have the same bits in
/// every evaluation, which may regroup the operations of one statement, and changes no element that another statement has stored.
#[derive(Clone, Copy, Debug)]
struct Origin {
    /// A distinct number for each origin; `None` if another evaluation may take other steps.
    key: Option<u64>,
    /// Whether the value is an element of a tensor.
    stored: bool,
}

/// Origins do not count when values are compared.
impl PartialEq for Origin {
    fn eq(&self, _: &Origin) -> bool {
        true
    }
}

impl Origin {
    const UNKNOWN: Origin = Origin { key: None, stored: false };

    /// The key of a new origin, of an element.
    fn fresh() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        hashed(&(u64::MAX, NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// The origin of an operation's value; unknown for a quotient, which may be a product with the reciprocal, and for other functions,
    /// which can be computed in several ways.
    fn of(op: Op, args: &[Number]) -> Origin {
        if !matches!(op, Op::Add | Op::Sub | Op::Mul) {
            return Origin::UNKNOWN;
        }
        if op == Op::Add && args.iter().any(Number::is_zero) {
            let other = args.iter().find(|a| !a.is_zero());
            return other.map_or(Origin::UNKNOWN, |other| Origin { stored: false, ..other.origin });
        }
        let Some(mut keys) = args.iter().map(Number::key).collect::<Option<Vec<u64>>>() else { return Origin::UNKNOWN };
        if matches!(op, Op::Add | Op::Mul) {
            keys.sort_unstable();
        }
        Origin { key: Some(hashed(&(op, keys))), stored: false }
    }
}

fn hashed(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// The largest number of a type, and its least normal number.
fn range(ty: Type) -> (f64, f64) {
    match ty {
        Type::F32 => (f32::MAX.into(), f32::MIN_POSITIVE.into()),
        _ => (f64::MAX, f64::MIN_POSITIVE),
    }
}

/// The number of units that a mantissa holds, the relative error of rounding, and the least positive number.
fn precision(ty: Type) -> (f64, f64, f64) {
    const WIDE: f64 = (1u64 << 53) as f64;
    const NARROW: f64 = (1u64 << 24) as f64;
    match ty {
        Type::F32 => (NARROW, 1.0 / NARROW, f32::from_bits(1) as f64),
        _ => (WIDE, 1.0 / WIDE, f64::from_bits(1)),
    }
}

/// The largest power of 2 that divides a finite number.
fn unit(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY;
    }
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let (mantissa, exponent) =
        if exponent == 0 { (bits << 12 >> 12, 1) } else { (bits << 12 >> 12 | 1 << 52, exponent) };
    libm::ldexp(1.0, exponent - 1075 + mantissa.trailing_zeros() as i32)
}

impl Number {
    /// A value that is given, not computed.
    pub fn given(value: Value) -> Number {
        Number { given: true, ..Number::term(value, 0.0) }
    }

    /// A value that is a term of its own with this error.
    fn term(value: Value, error: f64) -> Number {
        let x = if value.ty().is_float() { value.as_f64() } else { 0.0 };
        let error = if error.is_nan() { f64::INFINITY } else { error };
        let size = if x.is_finite() { x.abs() } else { 0.0 };
        let unit = if error == 0.0 { unit(size) } else { 0.0 };
        let terms = (size != 0.0 || error != 0.0) as u8 as f64;
        let least = if size == 0.0 { 1.0 } else { size.min(1.0) };
        let reason = Reason::of(value);
        Number {
            value,
            inner: error,
            size,
            unit,
            terms,
            most: size.max(1.0),
            least,
            given: false,
            origin: Origin::UNKNOWN,
            reason,
        }
    }

    /// The number, as a product with these bounds on partial products.
    fn reaching(self, most: f64, least: f64) -> Number {
        Number { most, least, ..self }
    }

    /// The number as the result of a computation: the sign of a zero is unknown.
    pub fn computed(self) -> Number {
        Number { given: false, ..self }
    }

    /// The number as an element of a tensor: no evaluation regroups the operations that computed it.
    pub fn stored(self) -> Number {
        let inexact = self.error() > 0.0 && self.error().is_finite();
        let key = if inexact { self.origin.key.or_else(|| Some(Origin::fresh())) } else { None };
        Number { origin: Origin { key, stored: true }, ..self }
    }

    /// A key that distinguishes an element, or a literal, from others whose bits may differ; `None` for a value that an evaluation may
    /// regroup.
    fn key(&self) -> Option<u64> {
        match self.given || self.origin.stored {
            true if self.error() == 0.0 => Some(hashed(&(self.value.ty().name(), self.value.bits()))),
            true => self.origin.key,
            false => None,
        }
    }

    /// Whether both have the same origin, and so the same bits in every evaluation.
    fn is_same(&self, other: &Number) -> bool {
        self.origin.key.is_some() && self.origin.key == other.origin.key
    }

    /// Whether the two are the same value, and permit the same answers.
    pub fn is_exactly(&self, other: &Number) -> bool {
        let exact = self.error() == 0.0 && other.error() == 0.0;
        self.value == other.value && (exact || self.computed() == other.computed())
    }

    /// Whether it is that value in further products too: other factors may overflow beside one that is 0.
    pub fn multiplies_as(&self, other: &Number) -> bool {
        self.is_exactly(other) && (self.most, self.least) == (other.most, other.least)
    }

    /// The sum of this and `n` times `term`, added one after the other, if no partial sum is rounded.
    pub fn plus_exactly(&self, term: &Number, n: u128) -> Option<Number> {
        let (units, ..) = precision(self.value.ty());
        let (size, unit) = (self.size + term.size * n as f64, self.unit.min(term.unit));
        let (x, y) = (self.value.as_f64(), term.value.as_f64());
        // Sums of zeros are computed step by step, for their signs.
        let exact = x.is_finite() && y.is_finite() && y != 0.0 && n as f64 <= units && size < unit * units;
        exact.then(|| {
            let sum = Number::term(Value::from_f64(self.value.ty(), x + y * n as f64), 0.0);
            Number { size, unit, terms: self.terms + n as f64, ..sum }
        })
    }

    /// A value about which nothing is promised. Rare, and kept out of line: the evaluation that calls it recurses as deep as programs
    /// nest.
    #[cold]
    #[inline(never)]
    pub fn unpromised(value: Value, reason: Reason) -> Number {
        Number { reason, ..Number::term(value, f64::INFINITY) }
    }

    /// The number as a fold that may be evaluated in another order: each of `n` steps may be as wrong as all steps were in this order.
    pub fn reordered(self, n: u64) -> Number {
        if self.error() == 0.0 {
            self
        } else {
            Number { reason: self.reason, ..Number::term(self.value, self.error() * n as f64) }
        }
    }

    /// The largest distance of any permitted evaluation from the real number; infinite: nothing is promised.
    pub fn error(&self) -> f64 {
        let (units, u, _) = precision(self.value.ty());
        let exact = self.terms <= 1.0 || self.size <= self.unit * units;
        if exact { self.inner } else { self.inner + (self.terms - 1.0) * u * (self.size + self.inner) }
    }

    /// By how much it may differ from the real number if each term is rounded a few times, to type `ty` or a wider one. [`Number::error`] takes a
    /// function of exact arguments for exact, as each evaluation gives the same bits; another expression for the same real number may not.
    pub fn rounding(&self, ty: Type) -> f64 {
        let (_, u, least) = precision(ty);
        8.0 * (u * (self.size + self.inner) + least)
    }

    /// Whether nothing is promised about the value.
    pub fn is_unpromised(&self) -> bool {
        self.error() == f64::INFINITY
    }

    /// Whether the value is 0 in every permitted evaluation.
    fn is_zero(&self) -> bool {
        self.value.as_f64() == 0.0 && self.error() == 0.0
    }

    /// The reason why nothing is promised about the value, if so.
    pub fn reason(&self) -> Option<Reason> {
        self.is_unpromised().then_some(self.reason)
    }

    /// Whether an answer may be this value. Zeros of either sign are the same where anything was computed.
    pub fn permits(&self, answer: Value, mode: Mode) -> bool {
        let (x, y) = (self.value, answer);
        let error = self.error();
        match mode {
            _ if x == y || x.is_nan() && y.is_nan() => true,
            Mode::Strict => false,
            Mode::Algebraic if error == f64::INFINITY => true,
            Mode::Algebraic if !x.ty().is_float() => false,
            // The bound is itself computed in floats: its rounding is far below a thousandth.
            Mode::Algebraic => (x.as_f64() - y.as_f64()).abs() <= 2.001 * error,
        }
    }
}

/// `op` applied to arguments of its types; `None` for other types.
#[inline(never)]
pub fn apply(op: Op, args: &[Number], mode: Mode) -> Option<Number> {
    let mut values = [Value::zero(Type::Bool); 3];
    let n = args.len().min(3);
    values[..n].iter_mut().zip(args).for_each(|(v, a)| *v = a.value);
    let value = scalar::apply(op, &values[..n])?;
    if mode == Mode::Strict {
        return Some(Number::given(value));
    }
    let value =
        if matches!(op, Op::Div | Op::FloorDiv) && values[0].as_f64() == 0.0 { Value::zero(value.ty()) } else { value };
    let made = match (op, args) {
        (Op::Coalesce, [a, ..]) => *a,
        (Op::Select, [c, a, b]) => selected(c, *a, *b),
        (Op::Mask, [c, a]) => selected(c, *a, Number::given(Value::zero(a.value.ty()))),
        // The numerator is zero in every evaluation, and so is the quotient.
        (Op::Div | Op::FloorDiv, [a, _]) if value.ty().is_float() && a.is_zero() => Number::term(value, 0.0),
        _ if args.iter().any(Number::is_unpromised) => {
            let reason = args.iter().find_map(Number::reason).unwrap_or(Reason::Rounding);
            Number::unpromised(value, reason)
        }
        _ if value.is_nan() => Number::unpromised(value, Reason::Nan),
        (Op::Add, [a, b]) if value.ty().is_float() => sum(value, a, b),
        (Op::Sub, [a, b]) if value.ty().is_float() => sum(value, a, b),
        (Op::Mul, [a, b]) if value.ty().is_float() => product(value, a, b),
        (Op::Neg, [a]) => Number { value, given: false, origin: Origin::UNKNOWN, ..*a },
        (Op::Min | Op::Max, [a, b]) if value.ty().is_float() => extreme(value, a, b),
        (op, [a, b]) if op.is_comparison() && a.is_same(b) => Number::term(value, 0.0),
        _ if shows_sign(op, args, value) => Number::unpromised(value, Reason::Rounding),
        (Op::Div, [a, b]) if value.ty().is_float() && a.error() + b.error() == 0.0 => quotient(value, a, b),
        _ if args.iter().all(|a| a.error() == 0.0) => Number::term(value, 0.0),
        _ => Number::term(value, inexact(op, args, value)),
    };
    let traced = made.origin.key.is_none() && value.ty().is_float() && made.error() > 0.0 && !made.is_unpromised();
    Some(if traced { Number { origin: Origin::of(op, args), ..made } } else { made })
}

/// The lesser or the greater of two numbers, which is `value`; if it is uncertain which, an answer may be either.
fn extreme(value: Value, a: &Number, b: &Number) -> Number {
    let (x, y) = (a.value.as_f64(), b.value.as_f64());
    let sure = x == y && a.error() == 0.0 && b.error() == 0.0 || (x - y).abs() > 2.0 * (a.error() + b.error());
    let one = if value.as_f64() == x { a } else { b };
    match sure || a.is_same(b) {
        true => Number { origin: Origin { stored: false, ..one.origin }, ..Number::term(value, one.error()) },
        false => Number::term(value, a.error().max(b.error())),
    }
}

/// One of two numbers; if it is uncertain which, an answer may be either.
fn selected(c: &Number, a: Number, b: Number) -> Number {
    let (yes, no) = if c.value.is_true() { (a, b) } else { (b, a) };
    if !c.is_unpromised() || yes == no {
        return yes;
    }
    let apart = if yes.value.ty().is_float() { (yes.value.as_f64() - no.value.as_f64()).abs() } else { f64::INFINITY };
    let either = Number::term(yes.value, apart + yes.error().max(no.error()));
    Number { reason: [&yes, &no, c].into_iter().find_map(Number::reason).unwrap_or(either.reason), ..either }
}

/// Whether the value depends on the sign of a computed zero.
fn shows_sign(op: Op, args: &[Number], value: Value) -> bool {
    let unknown = |n: &Number| n.value.as_f64() == 0.0 && !n.given;
    let infinite = value.as_f64().is_infinite();
    match (op, args) {
        (Op::Div | Op::FloorDiv, [_, b]) => infinite && b.value.ty().is_float() && unknown(b),
        (Op::Pow, [a, _]) => infinite && unknown(a),
        (Op::SignBit, [a]) => unknown(a),
        (Op::CopySign, [a, b]) => a.value.is_true() && unknown(b),
        // The sign matters on the negative half of the axis, and at its end.
        (Op::Atan2, [y, x]) => {
            let negative = x.value.as_f64() < 0.0 || !x.value.is_true();
            negative && unknown(y) || !y.value.is_true() && unknown(x)
        }
        _ => false,
    }
}

fn sum(value: Value, a: &Number, b: &Number) -> Number {
    let (most, _) = range(value.ty());
    let (inner, size) = (a.inner + b.inner, a.size + b.size);
    if size + inner > most {
        return Number::unpromised(value, Reason::Overflow);
    }
    if !is_finite(value) {
        // One of the two is infinite, as the sum does not overflow.
        return Number::term(value, 0.0);
    }
    Number { inner, size, unit: a.unit.min(b.unit), terms: a.terms + b.terms, ..Number::term(value, 0.0) }
}

fn is_finite(value: Value) -> bool {
    value.as_f64().is_finite()
}

fn product(value: Value, a: &Number, b: &Number) -> Number {
    let (x, y) = (a.value.as_f64().abs(), b.value.as_f64().abs());
    let (ea, eb) = (a.error(), b.error());
    let one = |n: &Number, z: f64| z == 1.0 && n.error() == 0.0;
    if one(a, x) || one(b, y) {
        return Number { value, given: false, ..if one(a, x) { *b } else { *a } };
    }
    // Multiplying in another order may overflow in between, or round to fewer bits, or to 0.
    let (most, least, (largest, normal)) = (a.most * b.most, a.least * b.least, range(value.ty()));
    let vanishes = least < normal;
    if !x.is_finite() || !y.is_finite() {
        // The product is infinite, unless the other factor may be 0, or change its sign.
        let sure = x > 2.0 * ea && y > 2.0 * eb && !vanishes;
        if !sure {
            return Number::unpromised(value, if vanishes { Reason::Overflow } else { Reason::Rounding });
        }
        return Number::term(value, 0.0).reaching(most, least);
    }
    if most > largest {
        return Number::unpromised(value, Reason::Overflow);
    }
    if x == 0.0 && ea == 0.0 || y == 0.0 && eb == 0.0 {
        return Number::term(value, 0.0).reaching(most, least);
    }
    let (units, u, smallest) = precision(value.ty());
    let z = value.as_f64().abs();
    let unit = unit(x) * unit(y);
    let exact = ea == 0.0 && eb == 0.0 && unit >= smallest && z <= unit * units && !vanishes;
    let error = (x + ea) * eb + (y + 2.0 * eb) * ea;
    let lost = if vanishes { smallest * most } else { smallest };
    Number::term(value, if exact { 0.0 } else { error + u * (z + error) + lost }).reaching(most, least)
}

/// The quotient of two exact numbers. A sum may be divided in the place of its terms, as products are distributed over sums: so the
/// quotient is known up to its rounding.
fn quotient(value: Value, a: &Number, b: &Number) -> Number {
    let (x, y, z) = (a.value.as_f64(), b.value.as_f64(), value.as_f64());
    let (_, u, smallest) = precision(value.ty());
    let exact = unit(z) * unit(y) >= smallest && libm::fma(z, y, -x) == 0.0;
    let known = exact || !x.is_finite() || !y.is_finite() || !z.is_finite();
    Number::term(value, if known { 0.0 } else { u * z.abs() + smallest })
}

/// The error of any other function on arguments of which one has an error that is neither 0 nor infinite.
fn inexact(op: Op, args: &[Number], value: Value) -> f64 {
    match args {
        [a] => of_one(op, a, value),
        [a, b] => of_two(op, a, b, value),
        _ => f64::INFINITY,
    }
}

/// The distance from the meaning's argument within which an answer's argument lies, rounded to the type with precision `u`.
fn reach(n: &Number, u: f64) -> f64 {
    2.0 * n.error() + 2.0 * u * n.value.as_f64().abs()
}

/// The number of units by which a result of a library function may deviate: these are not correctly rounded.
const LIBRARY: f64 = 8.0;

/// The error of a function of one argument.
fn of_one(op: Op, a: &Number, value: Value) -> f64 {
    let ty = value.ty();
    let (_, u, least) = precision(ty);
    let (x, e, library) = (a.value.as_f64(), a.error(), LIBRARY * u);
    let z = if ty.is_float() { value.as_f64() } else { 0.0 };
    // The function's values at the ends of the argument's interval.
    let ends = || {
        let at = |x: f64| scalar::apply(op, &[Value::from_f64(a.value.ty(), x)]);
        let (low, high) = (at(x - reach(a, u)), at(x + reach(a, u)));
        low.zip(high).map_or((f64::NAN, f64::NAN), |(l, h)| (l.as_f64(), h.as_f64()))
    };
    let between = |(low, high): (f64, f64)| (high - low).abs() + library * low.abs().max(high.abs()) + least;
    match op {
        Op::Abs => e,
        Op::IsNan | Op::IsInf | Op::IsFinite => 0.0,
        Op::Sign | Op::SignBit | Op::Convert(Type::Bool) if x.abs() > 2.0 * e => 0.0,
        Op::Convert(Type::Bool) => f64::INFINITY,
        Op::Convert(to) if !to.is_float() => {
            let (low, high) = ends();
            if low == high { 0.0 } else { f64::INFINITY }
        }
        Op::Convert(_) if z.is_finite() => e + u * (x.abs() + e) + least,
        Op::Floor | Op::Ceil | Op::Round | Op::Trunc => {
            let (low, high) = ends();
            high - low
        }
        Op::Sin | Op::Cos => e.min(2.0) + library,
        op if is_monotone(op) => between(ends()),
        Op::Cosh => {
            let (low, high) = ends();
            let lowest = if x.abs() <= reach(a, u) { 1.0 } else { low.min(high) };
            between((lowest, low.max(high)))
        }
        // There is no pole between the ends if they are close together and the values rise.
        Op::Tan => {
            let (low, high) = ends();
            if reach(a, u) < 1.0 && low <= z && z <= high { between((low, high)) } else { f64::INFINITY }
        }
        _ => f64::INFINITY,
    }
}

/// The error of a function of two arguments.
fn of_two(op: Op, a: &Number, b: &Number, value: Value) -> f64 {
    let ty = value.ty();
    let (_, u, least) = precision(ty);
    let (x, y, library) = (a.value.as_f64(), b.value.as_f64(), LIBRARY * u);
    let (ea, eb) = (a.error(), b.error());
    let z = if ty.is_float() { value.as_f64() } else { 0.0 };
    match op {
        op if op.is_comparison() => {
            let sure = (x - y).abs() > 2.0 * (ea + eb);
            if sure { 0.0 } else { f64::INFINITY }
        }
        Op::Atan2 => turned((x, reach(a, u)), (y, reach(b, u))) + 4.0 * library,
        Op::Hypot if z.is_finite() => ea + eb + library * z + least,
        Op::CopySign if y.abs() > 2.0 * eb => ea,
        Op::NextAfter if z.is_finite() => ea + library * x.abs() + 2.0 * least,
        Op::Ldexp => libm::ldexp(ea, b.value.as_i128().unwrap_or(0).clamp(-5000, 5000) as i32) + least,
        Op::Div => divided(a, b, z, u) + least,
        Op::FloorDiv if y.abs() > reach(b, u) => {
            let (low, high) = corners((x, reach(a, u)), (y, reach(b, u)), |x, y| (x / y).floor());
            high.max(z) - low.min(z) + library * low.abs().max(high.abs())
        }
        Op::FloorRem => 2.0 * (y.abs() + eb),
        Op::Rem => {
            let (x, y) = (x.abs(), y.abs());
            let at = |s: f64| (x + s * reach(a, u)).max(0.0) / (y - s * reach(b, u)).max(0.0);
            let whole = x > reach(a, u) && at(-1.0).trunc() == at(1.0).trunc();
            let (small, large) = (ea + at(1.0).trunc() * eb, 2.0 * (y + eb));
            if whole { small + library * z.abs() } else { large }
        }
        Op::Pow => {
            let whole = eb == 0.0 && y.fract() == 0.0;
            let zero = x.abs() <= reach(a, u);
            if !whole && x <= reach(a, u) || zero && y < 0.0 {
                return f64::INFINITY;
            }
            let power = |x: f64, y: f64| {
                let z = scalar::apply(op, &[Value::from_f64(ty, x), Value::from_f64(ty, y)]);
                z.map_or(f64::NAN, Value::as_f64)
            };
            let (low, high) = corners((x, reach(a, u)), (y, if whole { 0.0 } else { reach(b, u) }), power);
            let (low, high) = if zero { (low.min(0.0), high.max(0.0)) } else { (low, high) };
            let (low, high) = (low.min(z), high.max(z));
            if !(high - low).is_finite() {
                return f64::INFINITY;
            }
            (high - low) + library * low.abs().max(high.abs()) + least
        }
        _ => f64::INFINITY,
    }
}

/// The least and the greatest value of a function at the corners of a rectangle, whose sides are given by their middle and half their
/// length; everything if a value is NaN.
fn corners((x, along): (f64, f64), (y, up): (f64, f64), f: impl Fn(f64, f64) -> f64) -> (f64, f64) {
    let all = [f(x - along, y - up), f(x - along, y + up), f(x + along, y - up), f(x + along, y + up)];
    if all.iter().any(|z| z.is_nan()) {
        return (f64::NEG_INFINITY, f64::INFINITY);
    }
    (all.into_iter().fold(f64::INFINITY, f64::min), all.into_iter().fold(f64::NEG_INFINITY, f64::max))
}

/// The functions of one float that rise everywhere, or fall everywhere.
fn is_monotone(op: Op) -> bool {
    use Op::*;
    let powers = matches!(op, Sqrt | Exp | Expm1 | Log | Log1p | Log2 | Log10);
    powers || matches!(op, Asin | Acos | Atan | Sinh | Tanh | Asinh | Acosh | Atanh)
}

/// The most by which the angle of the point (x, y) changes if its coordinates change by up to `along` and `up`.
fn turned((y, up): (f64, f64), (x, along): (f64, f64)) -> f64 {
    if x <= along && y.abs() <= up {
        return f64::INFINITY;
    }
    let (moved, far) = (up.hypot(along), x.hypot(y));
    match () {
        () if far.is_infinite() => 0.0,
        () if moved < far => 2.0 * moved / (far - moved),
        () => f64::INFINITY,
    }
}

/// The error of a quotient `z`.
fn divided(a: &Number, b: &Number, z: f64, u: f64) -> f64 {
    let (x, y) = (a.value.as_f64().abs(), b.value.as_f64().abs());
    let (ea, eb) = (a.error(), b.error());
    match () {
        () if y <= 2.0 * eb => f64::INFINITY,
        () if x.is_infinite() || y.is_infinite() => 0.0,
        () if z.is_infinite() => f64::INFINITY,
        () => {
            let error = (ea + (x + ea) / (y - eb) * eb) / (y - 2.0 * eb);
            error + u * (z.abs() + error)
        }
    }
}
