//! The built-in functions: their names, how many arguments they take, and of which types.
//!
//! ```text
//!  name ──from_name──▶ Op ──arity, result_type──▶ is a call well-typed, and of which type
//! ```
//!
//! A built-in is total on the types that [`result_type`] admits: what it computes stands in `apply.rs`, what lowering
//! may assume of it in `properties.rs`.

use super::Type;
use super::derivative::Derivative;
use super::table::TABLE;

/// How float functions are understood: `docs/language.md`, *Numbers*.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mode {
    /// Floats are treated as numbers: 0 annihilates `*`, sums may be reassociated.
    #[default]
    Algebraic,
    /// Floats have only what IEEE 754 grants; the answer is the meaning's bit for bit.
    Strict,
}

/// A built-in function. All arguments and the result have one type `T` unless the comment says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Op {
    /// On `bool`: or.
    Add,
    Sub,
    /// On `bool`: and.
    Mul,
    /// Integers: toward zero, x/0 = 0. Floats: IEEE 754's; in `algebraic` mode 0/x = 0 for every x.
    Div,
    /// Integers: the sign of the dividend, x%0 = 0. Floats: C's `fmod`.
    Rem,
    Pow,
    /// Propagates NaN.
    Min,
    /// Propagates NaN.
    Max,
    /// `&` on integers and `bool`.
    And,
    /// `|` on integers and `bool`.
    Or,
    /// `^` and `xor(…)` on integers and `bool`.
    Xor,
    /// `&&` on `bool`.
    AndAlso,
    /// `||` on `bool`.
    OrElse,
    /// (T, T) → bool, as the five below.
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    /// Modulo the width.
    Shl,
    /// Modulo the width; arithmetic on signed types.
    Shr,
    Neg,
    /// On `bool`: not; on integers: complement.
    Not,
    /// Integers wrap (the least value is its own absolute value).
    Abs,
    Sqrt,
    Exp,
    Log,
    Floor,
    Ceil,
    /// To the nearest, ties to even.
    Round,
    Sin,
    Cos,
    Tanh,
    Tan,
    Asin,
    Acos,
    Atan,
    /// Of (y, x): the angle of the point (x, y).
    Atan2,
    Sinh,
    Cosh,
    Asinh,
    Acosh,
    Atanh,
    /// eˣ − 1, near 0 without loss.
    Expm1,
    /// log(1 + x), near 0 without loss.
    Log1p,
    Log2,
    Log10,
    /// √(x² + y²), which overflows only if that does.
    Hypot,
    /// The first's magnitude with the second's sign, which of NaN is plus.
    CopySign,
    /// The float that follows the first in the direction of the second.
    NextAfter,
    /// Toward zero.
    Trunc,
    /// −1, 0 or 1; of NaN, NaN.
    Sign,
    /// float T → bool: below 0, or −0.0; not of NaN.
    SignBit,
    /// float T → bool, as the two below.
    IsNan,
    IsInf,
    IsFinite,
    /// (float T, integer) → T: x · 2ⁿ.
    Ldexp,
    Gcd,
    /// (bool, T, T) → T; `if … then … else` is this function.
    Select,
    /// (bool, T) → T: the second where the first holds, else 0.
    Mask,
    /// (T, T, …) → T: its first argument that is not `missing`. Never reaches loops.
    Coalesce,
    /// Any type to this one; floats to integers and wide to narrow saturate, NaN becomes 0, to `bool` is `x != 0`.
    Convert(Type),
    /// The quotient rounded down, Python's `//`; index maps become it. Integers: x floordiv 0 = 0. Floats: NumPy's
    /// `floor_divide`; in `algebraic` mode 0 floordiv x = 0 for every x.
    FloorDiv,
    /// What [`Op::FloorDiv`] leaves, with the divisor's sign: Python's `%`. Integers: x floormod 0 = 0. Floats: NumPy's
    /// `remainder`.
    FloorRem,
    /// i64 → i64: how many bits are clear below the lowest that is set; 64 of 0. Not nameable in programs:
    /// sets of coordinates are words of bits.
    TrailingZeros,
}

/// The reduction that says at how many coordinates a `bool` holds: a sum of its conversions to `i64`.
pub const COUNT: &str = "count";

/// The reductions that have names of their own.
const REDUCTIONS: [(&str, Op); 6] = [
    ("sum", Op::Add),
    ("prod", Op::Mul),
    ("min", Op::Min),
    ("max", Op::Max),
    ("any", Op::OrElse),
    ("all", Op::AndAlso),
];

impl Op {
    /// Every built-in once, with one [`Op::Convert`] a type.
    pub fn all() -> impl Iterator<Item = Op> {
        TABLE.iter().map(|(op, ..)| *op).chain(Type::ALL.into_iter().map(Op::Convert))
    }

    /// Its name, different for each: an operator's symbol (`neg` and `not` for the unary ones), else the word that
    /// calls it. All conversions are `convert`.
    pub fn name(self) -> &'static str {
        match self {
            Op::Convert(_) => "convert",
            _ => TABLE.iter().find(|(op, ..)| *op == self).map_or("convert", |(_, name, _)| name),
        }
    }

    /// How its value moves if its arguments, floats, do.
    pub fn derivative(self) -> Derivative {
        match self {
            Op::Convert(_) => Derivative::Construct,
            _ => TABLE.iter().find(|(op, ..)| *op == self).map_or(Derivative::Missing, |(.., derivative)| *derivative),
        }
    }

    /// The function that programs call by this word. `convert` is not among them: it takes a type.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::callable().find(|(n, _)| *n == name).map(|(_, op)| op)
    }

    /// The words by which programs call built-ins, `convert` apart.
    pub fn callable() -> impl Iterator<Item = (&'static str, Op)> {
        let word = |name: &str| name.starts_with(|c: char| c.is_ascii_alphabetic());
        let hidden = |op| {
            use Op::*;
            matches!(op, Neg | Not | TrailingZeros)
        };
        TABLE.iter().filter(move |(op, name, _)| word(name) && !hidden(*op)).map(|(op, name, _)| (*name, *op))
    }

    /// The function that folds under the reduction `name`: `sum`, `prod`, `min`, `max`, `any`, `all`, or any callable
    /// function of two arguments, whether it is associative or not.
    pub fn from_reduction(name: &str) -> Option<Op> {
        let named = REDUCTIONS.into_iter().find(|(n, _)| *n == name).map(|(_, op)| op);
        named.or_else(|| Op::from_name(name).filter(|op| op.arity() == Some(2)))
    }

    /// The reductions that have names of their own: `sum`, `prod`, `min`, `max`, `any`, `all`.
    pub fn reductions() -> impl Iterator<Item = (&'static str, Op)> {
        REDUCTIONS.into_iter()
    }

    /// How many arguments it takes; `None` for `coalesce`, which takes one or more.
    pub fn arity(self) -> Option<usize> {
        use Op::*;
        match self {
            Coalesce => None,
            Select => Some(3),
            Neg | Not | Abs | Sign | Convert(_) | TrailingZeros => Some(1),
            Atan2 | Hypot | CopySign | NextAfter | Ldexp => Some(2),
            op if op.is_of_floats() => Some(1),
            _ => Some(2),
        }
    }

    /// Whether arguments of type `ty` are what it computes on (for `select` and `mask`: behind the condition; for
    /// `ldexp`: before the exponent).
    pub fn takes(self, ty: Type) -> bool {
        use Op::*;
        match self {
            Add | Mul | Min | Max | Lt | Le | Gt | Ge | Eq | Ne | Select | Mask | Coalesce | Convert(_) => true,
            Sub | Div | Rem | FloorDiv | FloorRem | Pow | Neg | Abs | Sign => ty != Type::Bool,
            And | Or | Xor | Not => !ty.is_float(),
            AndAlso | OrElse => ty == Type::Bool,
            Shl | Shr | Gcd => ty.is_integer(),
            TrailingZeros => ty == Type::I64,
            op => op.is_of_floats() && ty.is_float(),
        }
    }

    /// Whether it takes floats only.
    fn is_of_floats(self) -> bool {
        use Op::*;
        match self {
            Sqrt | Exp | Log | Expm1 | Log1p | Log2 | Log10 | Ldexp => true,
            Sin | Cos | Tan | Asin | Acos | Atan | Atan2 | Hypot => true,
            Sinh | Cosh | Tanh | Asinh | Acosh | Atanh => true,
            Floor | Ceil | Round | Trunc | CopySign | NextAfter => true,
            op => op.asks_float(),
        }
    }

    /// A question about one float, whose answer is a `bool`.
    pub fn asks_float(self) -> bool {
        matches!(self, Op::SignBit | Op::IsNan | Op::IsInf | Op::IsFinite)
    }

    /// Whether its result is a `bool` whatever the type of its arguments is.
    pub fn is_predicate(self) -> bool {
        self.is_comparison() || self.asks_float()
    }

    /// One of the six comparisons, whose result is a `bool`.
    pub fn is_comparison(self) -> bool {
        matches!(self, Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Eq | Op::Ne)
    }
}

/// The type of `op` applied to arguments of these types; `None` if it does not take them.
pub fn result_type(op: Op, args: &[Type]) -> Option<Type> {
    typed(op, args.len(), |i| args[i])
}

/// [`result_type`] of `count` arguments, the type of each being `ty(i)`.
pub(super) fn typed(op: Op, count: usize, ty: impl Fn(usize) -> Type) -> Option<Type> {
    if count == 0 || op.arity().is_some_and(|n| n != count) {
        return None;
    }
    match op {
        Op::Convert(to) => return Some(to),
        Op::Ldexp => return (op.takes(ty(0)) && ty(1).is_integer()).then(|| ty(0)),
        _ => {}
    }
    let condition = matches!(op, Op::Select | Op::Mask) as usize;
    if condition == 1 && ty(0) != Type::Bool {
        return None;
    }
    let t = ty(condition);
    let fits = op.takes(t) && (condition..count).all(|i| ty(i) == t);
    fits.then_some(if op.is_predicate() { Type::Bool } else { t })
}
