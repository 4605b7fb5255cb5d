//! Expressions and index expressions, with Rust's operators.
//!
//! ```text
//!  Var ─ + - * / % ─▶ Affine ─▶ Index ─┐             i + 1, 2 * k, permit(i - 1), i.slice(0..8), P.at([i])
//!                                      ▼
//!  Tensor ─────────────────── at ─▶ Access ─▶ Expr   A.at([i, j]) * 2.0 + sum([k], …)
//! ```

use super::name::ident;
use super::names;
use fiberloom_core::algebra::{COUNT, Type};
use fiberloom_core::notation::{Span, syntax};
use std::ops::{self, Bound, RangeBounds};
use syntax::{Affine as Map, BinaryOp, ExprKind, Factor, Literal, UnaryOp};

/// Operators of one expression that may nest: as many as programs as text may.
pub(super) const DEEPEST: u32 = 500;

/// A literal of the language: integers, floats and truth values become one.
pub fn literal(value: impl Into<Value>) -> Expr {
    Expr::of(ExprKind::Literal(value.into().0), 0)
}

/// A number or truth value, for fills, properties and expressions.
#[derive(Clone, Debug)]
pub struct Value(pub(super) Literal);

macro_rules! values {
    ($($ty:ty: $x:ident => $literal:expr;)*) => {$(
        impl From<$ty> for Value {
            fn from($x: $ty) -> Value {
                Value($literal)
            }
        }

        impl From<$ty> for Expr {
            fn from(x: $ty) -> Expr {
                literal(x)
            }
        }
    )*};
}

values! {
    i32: x => Literal::Int(x as i128);
    i64: x => Literal::Int(x as i128);
    u64: x => Literal::Int(x as i128);
    f64: x => Literal::Float(syntax::Float(x));
    bool: x => Literal::Bool(x);
}

/// An index variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Var<'a>(pub(super) &'a str);

/// The index variable of that name.
pub fn var(name: &str) -> Var<'_> {
    Var(name)
}

/// The size of that name: a bound of slices, and with [`Var::value`] its extent as a value, of type `i64`.
///
/// ```
/// use fiberloom::builder::*;
///
/// let mut p = Builder::new();
/// let (a, d, n, i) = (p.tensor("a", Type::F64, ["N"], "dense"), tensor("d"), size("N"), var("i"));
/// p.set(d.at([i]), a.at([i.between(1, n)]) - a.at([i.between(0, n - 1)]));
/// assert!(p.finish().unwrap().text.ends_with("d[i] = a[i(1:N)] - a[i(0:N-1)]\n"));
/// ```
pub fn size(name: &str) -> Var<'_> {
    Var(name)
}

impl Var<'_> {
    /// The coordinate as a value, of type `i64`.
    pub fn value(self) -> Expr {
        Expr::of(ExprKind::Name(ident(self.0)), 0)
    }

    /// `i(start:end)`: the mode from `start` up to `end`; an open side is the array's own.
    pub fn slice(self, range: impl RangeBounds<u64>) -> Index {
        self.cut(range, None)
    }

    /// `i(start:end:step)`.
    pub fn slice_by(self, range: impl RangeBounds<u64>, step: u64) -> Index {
        self.cut(range, Some(step))
    }

    /// `i(start:end)`, of numbers, [`size`]s and their sums.
    pub fn between(self, start: impl Into<Affine>, end: impl Into<Affine>) -> Index {
        self.sliced(Some(start.into().0), Some(end.into().0), None)
    }

    /// `i(start:end:step)`, likewise.
    pub fn between_by(self, start: impl Into<Affine>, end: impl Into<Affine>, step: u64) -> Index {
        self.sliced(Some(start.into().0), Some(end.into().0), Some(step))
    }

    fn cut(self, range: impl RangeBounds<u64>, step: Option<u64>) -> Index {
        let start = match range.start_bound() {
            Bound::Included(&n) => Some(n),
            Bound::Excluded(&n) => Some(n.saturating_add(1)),
            Bound::Unbounded => None,
        };
        let end = match range.end_bound() {
            Bound::Included(&n) => Some(n.saturating_add(1)),
            Bound::Excluded(&n) => Some(n),
            Bound::Unbounded => None,
        };
        self.sliced(start.map(Map::number), end.map(Map::number), step)
    }

    fn sliced(self, start: Option<Map>, end: Option<Map>, step: Option<u64>) -> Index {
        Index(syntax::Index::Slice { var: ident(self.0), start, end, step, span: Span::default() })
    }
}

/// A sum of index variables and integers with integer factors; `/` and `%` by integers round down.
#[derive(Clone, Debug)]
pub struct Affine(pub(super) Map);

impl Affine {
    fn factor(factor: Factor) -> Affine {
        Affine(Map { terms: vec![(false, syntax::Term { coefficient: None, factor, divisions: Vec::new() })] })
    }

    /// As one term: itself if it is one already, else in parentheses.
    fn term(mut self, keep: impl Fn(&syntax::Term) -> bool) -> syntax::Term {
        match (self.0.terms.len(), self.0.terms.pop()) {
            (1, Some((false, term))) if keep(&term) => term,
            (_, last) => {
                self.0.terms.extend(last);
                syntax::Term { coefficient: None, factor: Factor::Group(Box::new(self.0)), divisions: Vec::new() }
            }
        }
    }

    fn plus(mut self, minus: bool, other: Affine) -> Affine {
        // a - (b + c) keeps its parenthesis: the text form has one sign a term.
        match minus {
            true => self.0.terms.push((true, other.term(|_| true))),
            false => self.0.terms.extend(other.0.terms),
        }
        self
    }

    fn times(self, n: u64) -> Affine {
        let mut term = self.term(|t| t.coefficient.is_none() && t.divisions.is_empty());
        term.coefficient = Some(n);
        Affine(Map { terms: vec![(false, term)] })
    }

    fn divided(self, rest: bool, n: u64) -> Affine {
        let mut term = self.term(|_| true);
        term.divisions.push((rest, n));
        Affine(Map { terms: vec![(false, term)] })
    }
}

impl From<Var<'_>> for Affine {
    fn from(v: Var) -> Affine {
        Affine::factor(Factor::Var(ident(v.0)))
    }
}

impl From<u64> for Affine {
    fn from(n: u64) -> Affine {
        Affine::factor(Factor::Int(n))
    }
}

macro_rules! index_operators {
    ($($ty:ty),*) => {$(
        impl<R: Into<Affine>> ops::Add<R> for $ty {
            type Output = Affine;
            fn add(self, other: R) -> Affine {
                Affine::from(self).plus(false, other.into())
            }
        }

        impl<R: Into<Affine>> ops::Sub<R> for $ty {
            type Output = Affine;
            fn sub(self, other: R) -> Affine {
                Affine::from(self).plus(true, other.into())
            }
        }

        impl ops::Mul<u64> for $ty {
            type Output = Affine;
            fn mul(self, n: u64) -> Affine {
                Affine::from(self).times(n)
            }
        }

        impl ops::Mul<$ty> for u64 {
            type Output = Affine;
            fn mul(self, x: $ty) -> Affine {
                Affine::from(x).times(self)
            }
        }

        impl ops::Div<u64> for $ty {
            type Output = Affine;
            fn div(self, n: u64) -> Affine {
                Affine::from(self).divided(false, n)
            }
        }

        impl ops::Rem<u64> for $ty {
            type Output = Affine;
            fn rem(self, n: u64) -> Affine {
                Affine::from(self).divided(true, n)
            }
        }
    )*};
}

index_operators!(Var<'_>, Affine);

/// One index of an access.
#[derive(Clone, Debug)]
pub struct Index(syntax::Index);

/// `~map`: the index may leave the array, where it gives `missing`.
pub fn permit(map: impl Into<Affine>) -> Index {
    Index(syntax::Index::Affine { permit: true, map: map.into().0, span: Span::default() })
}

impl Index {
    pub(super) fn computed(of: Expr) -> Index {
        Index(syntax::Index::Computed { permit: false, of: Box::new(of.tree) })
    }
}

impl<T: Into<Affine>> From<T> for Index {
    fn from(map: T) -> Index {
        Index(syntax::Index::Affine { permit: false, map: map.into().0, span: Span::default() })
    }
}

/// Gather or scatter: the coordinate is read from a tensor.
impl From<Access> for Index {
    fn from(access: Access) -> Index {
        Index(syntax::Index::Access(access.0))
    }
}

/// What stands in an access: an array of indices of one kind, or a tuple of different ones; `()` for a scalar.
pub trait Indices {
    /// An index a mode.
    fn list(self) -> Vec<Index>;
}

impl<T: Into<Index>, const N: usize> Indices for [T; N] {
    fn list(self) -> Vec<Index> {
        self.into_iter().map(Into::into).collect()
    }
}

impl Indices for Vec<Var<'_>> {
    fn list(self) -> Vec<Index> {
        self.into_iter().map(Into::into).collect()
    }
}

impl Indices for Vec<Index> {
    fn list(self) -> Vec<Index> {
        self
    }
}

impl Indices for () {
    fn list(self) -> Vec<Index> {
        Vec::new()
    }
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: Into<Index>),+> Indices for ($($name,)+) {
            #[allow(non_snake_case)]
            fn list(self) -> Vec<Index> {
                let ($($name,)+) = self;
                vec![$($name.into()),+]
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);

/// A tensor, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor<'a>(pub(super) &'a str);

impl Tensor<'_> {
    /// `T[indices]`
    pub fn at(self, indices: impl Indices) -> Access {
        let indices = indices.list().into_iter().map(|i| i.0).collect();
        Access(syntax::Access { tensor: ident(self.0), indices, span: Span::default() })
    }
}

/// A tensor at indices: a left side, an operand, or the index of another access.
#[derive(Clone, Debug)]
pub struct Access(pub(super) syntax::Access);

impl From<Access> for Expr {
    fn from(access: Access) -> Expr {
        Expr::of(ExprKind::Access(access.0), 0)
    }
}

/// An expression. `+ - * / % & | ^ << >>`, unary `-` and `!` are Rust's; comparisons and `&& ||` are methods.
#[derive(Clone, Debug)]
pub struct Expr {
    pub(super) tree: syntax::Expr,
    pub(super) depth: u32,
}

impl Expr {
    /// A node over children of this depth. Past [`DEEPEST`] the tree grows no further; `Builder::finish` reports it.
    pub(super) fn of(kind: ExprKind, depth: u32) -> Expr {
        let kind = if depth > DEEPEST { ExprKind::Literal(Literal::Int(0)) } else { kind };
        Expr { tree: syntax::Expr { kind, span: Span::default() }, depth: depth.saturating_add(1) }
    }

    fn boxed(self) -> Box<syntax::Expr> {
        Box::new(self.tree)
    }

    fn binary(self, op: BinaryOp, other: impl Into<Expr>) -> Expr {
        let other = other.into();
        let depth = self.depth.max(other.depth);
        Expr::of(ExprKind::Binary(op, self.boxed(), other.boxed()), depth)
    }

    fn unary(self, op: UnaryOp) -> Expr {
        let depth = self.depth;
        Expr::of(ExprKind::Unary(op, self.boxed()), depth)
    }
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $method:ident $op:ident;)*) => {
        impl Expr { $(
            $(#[$doc])*
            pub fn $method(self, other: impl Into<Expr>) -> Expr {
                self.binary(BinaryOp::$op, other)
            }
        )* }

        impl Access { $(
            $(#[$doc])*
            pub fn $method(self, other: impl Into<Expr>) -> Expr {
                Expr::from(self).binary(BinaryOp::$op, other)
            }
        )* }
    };
}

comparisons! {
    /// `a < b`
    lt Lt;
    /// `a <= b`
    le Le;
    /// `a > b`
    gt Gt;
    /// `a >= b`
    ge Ge;
    /// `a == b`
    eq Eq;
    /// `a != b`
    ne Ne;
    /// `a && b`
    and AndAlso;
    /// `a || b`
    or OrElse;
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident;)*) => {$(
        impl<R: Into<Expr>> ops::$trait<R> for Expr {
            type Output = Expr;
            fn $method(self, other: R) -> Expr {
                self.binary(BinaryOp::$op, other)
            }
        }

        impl<R: Into<Expr>> ops::$trait<R> for Access {
            type Output = Expr;
            fn $method(self, other: R) -> Expr {
                Expr::from(self).binary(BinaryOp::$op, other)
            }
        }

        operators!(@number $trait $method $op: i64 Expr, i64 Access, f64 Expr, f64 Access);
    )*};
    (@number $trait:ident $method:ident $op:ident: $($number:ident $other:ident),*) => {$(
        impl ops::$trait<$other> for $number {
            type Output = Expr;
            fn $method(self, other: $other) -> Expr {
                literal(self).binary(BinaryOp::$op, other)
            }
        }
    )*};
}

operators! {
    Mul mul Mul;
    Div div Div;
    Rem rem Rem;
    Add add Add;
    Sub sub Sub;
    Shl shl Shl;
    Shr shr Shr;
    BitAnd bitand And;
    BitXor bitxor Xor;
    BitOr bitor Or;
}

macro_rules! signs {
    ($($ty:ty),*) => {$(
        impl ops::Neg for $ty {
            type Output = Expr;
            fn neg(self) -> Expr {
                Expr::from(self).unary(UnaryOp::Neg)
            }
        }

        impl ops::Not for $ty {
            type Output = Expr;
            fn not(self) -> Expr {
                Expr::from(self).unary(UnaryOp::Not)
            }
        }
    )*};
}

signs!(Expr, Access);

/// `function(a, b, …)`: a built-in or a declared function.
pub fn call<const N: usize>(function: &str, arguments: [Expr; N]) -> Expr {
    let depth = arguments.iter().map(|a| a.depth).max().unwrap_or(0);
    let arguments = arguments.into_iter().map(|a| syntax::Argument::Expr(a.tree)).collect();
    Expr::of(ExprKind::Call(ident(function), arguments), depth)
}

/// `convert(e, ty)`
pub fn convert(e: impl Into<Expr>, ty: Type) -> Expr {
    let e = e.into();
    let arguments = vec![syntax::Argument::Expr(e.tree), syntax::Argument::Type(ty, Span::default())];
    Expr::of(ExprKind::Call(ident("convert"), arguments), e.depth)
}

macro_rules! built_ins {
    ($($name:ident($($argument:ident),+);)*) => {$(
        #[doc = concat!("The built-in `", stringify!($name), "`.")]
        pub fn $name($($argument: impl Into<Expr>),+) -> Expr {
            call(stringify!($name), [$($argument.into()),+])
        }
    )*};
}

built_ins! {
    min(a, b); max(a, b); pow(a, b); gcd(a, b); xor(a, b); ldexp(a, n); coalesce(a, b);
    abs(a); sqrt(a); exp(a); log(a); floor(a); ceil(a); round(a); sin(a); cos(a); tanh(a);
    tan(a); asin(a); acos(a); atan(a); atan2(y, x); sinh(a); cosh(a); asinh(a); acosh(a); atanh(a);
    expm1(a); log1p(a); log2(a); log10(a); hypot(a, b); copysign(a, b); nextafter(a, b); trunc(a); sign(a);
    signbit(a); isnan(a); isinf(a); isfinite(a); floordiv(a, b); floormod(a, b);
    mask(condition, a); select(condition, a, b);
}

/// `if condition then a else b`
pub fn conditional(condition: impl Into<Expr>, a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
    let (condition, a, b) = (condition.into(), a.into(), b.into());
    let depth = condition.depth.max(a.depth).max(b.depth);
    Expr::of(ExprKind::If(condition.boxed(), a.boxed(), b.boxed()), depth)
}

/// `sum(vars: body)`
pub fn sum<const N: usize>(vars: [Var; N], body: impl Into<Expr>) -> Expr {
    reduce("sum", vars, body)
}

/// `count(vars: condition)`: at how many coordinates it holds.
pub fn count<const N: usize>(vars: [Var; N], condition: impl Into<Expr>) -> Expr {
    reduce(COUNT, vars, condition)
}

/// `function(vars: body)`: `sum prod min max any all`, or any associative function.
pub fn reduce<const N: usize>(function: &str, vars: [Var; N], body: impl Into<Expr>) -> Expr {
    fold(function, &vars, body.into(), None)
}

/// `function(vars: body start start)`
pub fn reduce_from<const N: usize>(
    function: &str,
    vars: [Var; N],
    body: impl Into<Expr>,
    start: impl Into<Expr>,
) -> Expr {
    fold(function, &vars, body.into(), Some(start.into()))
}

fn fold(function: &str, vars: &[Var], body: Expr, start: Option<Expr>) -> Expr {
    let depth = body.depth.max(start.as_ref().map_or(0, |s| s.depth));
    let start = start.map(Expr::boxed);
    Expr::of(ExprKind::Reduce { function: ident(function), vars: names(vars), body: body.boxed(), start }, depth)
}

/// `collapse(body, (from…) -> to)`
pub fn collapse<const N: usize>(body: impl Into<Expr>, from: [Var; N], to: Var) -> Expr {
    collapsed(body.into(), &from, to)
}

pub(super) fn collapsed(body: Expr, from: &[Var], to: Var) -> Expr {
    let depth = body.depth;
    Expr::of(ExprKind::Collapse { body: body.boxed(), from: names(from), to: ident(to.0) }, depth)
}

/// `split(body, from -> (outer, inner))`
pub fn split(body: impl Into<Expr>, from: Var, [outer, inner]: [Var; 2]) -> Expr {
    let body = body.into();
    let depth = body.depth;
    let to = (ident(outer.0), ident(inner.0));
    Expr::of(ExprKind::Split { body: body.boxed(), from: ident(from.0), to }, depth)
}

/// `concat((part…), (from…) -> to)`: each part with the index variable along which it is joined.
pub fn concat<'a>(parts: impl IntoIterator<Item = (Expr, Var<'a>)>, to: Var) -> Expr {
    let parts: Vec<(Expr, Var)> = parts.into_iter().collect();
    let depth = parts.iter().map(|(e, _)| e.depth).max().unwrap_or(0);
    let (parts, from) = parts.into_iter().map(|(e, v)| (e.tree, ident(v.0))).unzip();
    Expr::of(ExprKind::Concat { parts, from, to: ident(to.0) }, depth)
}

/// `slice(body, from -> to, start:end)`
pub fn slice(body: impl Into<Expr>, from: Var, to: Var, range: ops::Range<u64>) -> Expr {
    cut(body.into(), from, to, range, None)
}

/// `slice(body, from -> to, start:end:step)`
pub fn slice_by(body: impl Into<Expr>, from: Var, to: Var, range: ops::Range<u64>, step: u64) -> Expr {
    cut(body.into(), from, to, range, Some(step))
}

/// `slice(body, from -> to, start:end)`, of numbers, [`size`]s and their sums.
pub fn slice_between(
    body: impl Into<Expr>,
    from: Var,
    to: Var,
    start: impl Into<Affine>,
    end: impl Into<Affine>,
) -> Expr {
    sliced(body.into(), (from, to), (start.into().0, end.into().0), None)
}

pub(super) fn cut(
    body: Expr,
    from: Var,
    to: Var,
    ops::Range { start, end }: ops::Range<u64>,
    step: Option<u64>,
) -> Expr {
    sliced(body, (from, to), (Map::number(start), Map::number(end)), step)
}

fn sliced(body: Expr, (from, to): (Var, Var), (start, end): (Map, Map), step: Option<u64>) -> Expr {
    let depth = body.depth;
    let (from, to) = (ident(from.0), ident(to.0));
    Expr::of(ExprKind::Slice { body: body.boxed(), from, to, start, end, step }, depth)
}
