//! Comparisons of a loop's variable with a loop-invariant value: the loop is split where the result changes, so that the comparison is a
//! constant in each part.
//!
//! ```text
//!  forall j: if j < i then A[i,j] else 0
//!    ─▶  for j in 0..i     A[i,j]
//!        for j in i..n     nothing
//!
//!  key    j ? i                    of `j < i`, `i >= j` and `j == i`: one key, three operators
//!  sign   less, equal or greater   the comparison j ? i in a part; it determines the result of all three operators
//! ```
//!
//! Arithmetic in a comparison wraps as everywhere: the invariant side is computed as written, and clamped to the loop's bounds
//! afterwards. The variable's side must have a form that cannot wrap: the variable, or its difference from another variable or a number.

use super::{Context, value};
use crate::choose::{
    coordinate, keys,
    keys::{Key, Less},
    piece::Piece,
    range::Bound,
    scope::Scope,
    symbol::Sym,
};
use crate::plan::Block;
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::notation::concrete::{self, Index};
use fiberloom_core::notation::typed::Fun;
use std::cmp::Ordering;

/// Splits a piece into parts in which the comparisons with its first key are constants.
pub(super) fn decided(cx: &Context, b: &mut Block, v: Index, piece: &Piece) -> Vec<Piece> {
    let found = keys::comparisons(cx, v, piece);
    let Some(key) = keys::first_key(cx, v, piece) else { return vec![piece.clone()] };
    let all = |of: [Op; 2]| found.iter().filter(|(_, k)| *k == key).all(|(op, _)| of.contains(op));
    let with = compared(cx, b, v, piece, &key);
    // Each part begins where the previous one ends. Two of the three signs share a part if no operator distinguishes them.
    let mut signs = vec![(Ordering::Less, piece.range.lo.clone())];
    if !all([Op::Le, Op::Gt]) {
        signs.push((Ordering::Equal, cut(cx, b, v, piece, (&key, with), false)));
    }
    if !all([Op::Lt, Op::Ge]) {
        signs.push((Ordering::Greater, cut(cx, b, v, piece, (&key, with), true)));
    }
    let ends = signs[1..].iter().map(|(_, lo)| lo).chain([&piece.range.hi]);
    let part = |((sign, lo), hi): (&(Ordering, Bound), &Bound)| {
        let outcome = |e: &concrete::Expr| {
            let (op, _) = keys::comparison(cx, v, piece, e).filter(|(_, k)| *k == key)?;
            Some(holds(op, *sign))
        };
        let mut part = piece.within(lo.clone(), hi.clone());
        part.body = cx.simplify.simplify(&piece.body.clone().settled(&outcome));
        part.keys += 1;
        part
    };
    signs.iter().zip(ends).map(part).collect()
}

/// The value with which the bare coordinate of a key is compared. An amount that the key subtracts from the coordinate is added to the
/// invariant side, after that side is clamped to the range of the difference extended by one in each direction, so that the sum does not
/// wrap.
fn compared(cx: &Context, b: &mut Block, v: Index, piece: &Piece, key: &Key) -> Sym {
    let at = invariant(cx, b, &piece.scope, &key.with);
    let [lo, hi] = coordinate::ends(cx, piece, v, key.side.w);
    let (symbols, int) = (&cx.symbols, |n| cx.symbols.int(n));
    let at = match key.side.less {
        Less::Nothing => at,
        Less::Number(c) => {
            symbols.plus(between(cx, at, symbols.plus(lo, int(-c - 1)), symbols.plus(hi, int(-c))), int(c))
        }
        Less::Other(u, falls) => {
            let x = coordinate::of(cx, &piece.scope, u).expect("it stays");
            // A coordinate plus one does not wrap.
            let sign = if falls { -1 } else { 1 };
            let small = symbols.number(at).is_some_and(|c| (-keys::SMALL..=1).contains(&c.saturating_mul(sign)));
            match falls {
                false if small => symbols.plus(x, at),
                true if small => symbols.less(x, at),
                false => {
                    symbols.plus(between(cx, at, symbols.plus(symbols.less(lo, x), int(-1)), symbols.less(hi, x)), x)
                }
                true => {
                    symbols.less(x, between(cx, at, symbols.less(x, hi), symbols.plus(symbols.less(x, lo), int(1))))
                }
            }
        }
    };
    b.held(cx, "bound", at)
}

/// The value of a loop-invariant expression.
fn invariant(cx: &Context, b: &mut Block, scope: &Scope, e: &concrete::Expr) -> Sym {
    let known = match e {
        concrete::Expr::Literal(x) => Some(cx.symbols.value(*x)),
        concrete::Expr::Index(v) => coordinate::of(cx, scope, *v),
        concrete::Expr::Access(a, _) => scope.fiber(*a).value,
        concrete::Expr::Call(Fun::Op(op), args, _) if args.iter().all(|arg| arg.ty() == Type::I64) => {
            let args: Vec<Sym> = args.iter().map(|arg| invariant(cx, b, scope, arg)).collect();
            return cx.symbols.op(*op, args);
        }
        _ => None,
    };
    known.unwrap_or_else(|| value::value(cx, b, scope, e))
}

/// The first coordinate of a piece at which the key's value is at least `with` or, if `past`, greater than it.
fn cut(cx: &Context, b: &mut Block, v: Index, piece: &Piece, (key, with): (&Key, Sym), past: bool) -> Bound {
    let int = |n| cx.symbols.int(n);
    if keys::is_within(cx, v, piece, key) {
        return Bound::at(cx.symbols.plus(with, int(past as i64)));
    }
    let [lo, hi] = coordinate::ends(cx, piece, v, key.side.w).map(|end| cx.symbols.plus(end, int(-(past as i64))));
    let at = cx.symbols.plus(between(cx, with, lo, hi), int(past as i64));
    let (c, r) = coordinate::line_of(cx, piece, v, key.side.w);
    Bound::at(b.held(cx, "cut", coordinate::steps(cx, at, c, r)))
}

/// `min(max(e, lo), hi)`
fn between(cx: &Context, e: Sym, lo: Sym, hi: Sym) -> Sym {
    coordinate::joined(cx, Op::Min, coordinate::joined(cx, Op::Max, e, lo), hi)
}

fn holds(op: Op, sign: Ordering) -> Value {
    Value::bool(match op {
        Op::Lt => sign.is_lt(),
        Op::Le => sign.is_le(),
        Op::Gt => sign.is_gt(),
        Op::Ge => sign.is_ge(),
        Op::Eq => sign.is_eq(),
        _ => sign.is_ne(),
    })
}
