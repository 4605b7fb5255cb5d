//! The built-in functions: names, typing, evaluation, properties.

use super::{Type, Value};

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
    /// Integers: toward zero, x/0 = 0.
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
    /// i64, i64 → i64, the divisor positive: rounds down. Not nameable in programs: index maps become it.
    FloorDiv,
    /// i64, i64 → i64, the divisor positive: result in [0, divisor). Not nameable in programs.
    FloorRem,
}

/// What lowering may assume of a function of type `ty` in a mode. Values are of the argument's type.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Properties {
    /// f(a, b) = f(b, a)
    pub commutative: bool,
    /// f(f(a, b), c) = f(a, f(b, c)), up to rounding in algebraic mode
    pub associative: bool,
    /// f(a, a) = a
    pub idempotent: bool,
    /// (position, value): f with that value there is the other argument.
    pub identities: Vec<(usize, Value)>,
    /// (position, value, result): f with that value there is that result.
    pub annihilators: Vec<(usize, Value, Value)>,
}

/// The properties of `op` on arguments of type `ty`.
pub fn properties(_op: Op, _ty: Type, _mode: Mode) -> Properties {
    Properties::default()
}

/// `op` applied. `None` if the arguments have not the types that the operation takes.
pub fn apply(_op: Op, _args: &[Value]) -> Option<Value> {
    None
}
