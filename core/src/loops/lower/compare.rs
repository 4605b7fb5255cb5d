//! Comparisons of a loop's variable with a loop-invariant value: the loop is split where the outcome changes, and in each part the
//! comparison is a constant.
//!
//! ```text
//!  forall j: if j < i then A[i,j] else 0
//!    ─▶  for j in 0..i     A[i,j]
//!        for j in i..n     nothing
//!
//!  key    j ? i                    of `j < i`, `i >= j` and `j == i`: one key, three operators
//!  sign   less, equal or greater   what the key is in a part, which decides all operators
//! ```
//!
//! Arithmetic wraps in a comparison as anywhere: the invariant side is computed as written, and only then clamped to the loop's bounds.
//! On the variable's side only forms are taken that cannot wrap: the variable, its difference from another, or from a number.

use super::{Context, Expr, binary, held, int, plus};
use crate::algebra::{Op, Value};
use crate::loops::Symbolic;
use crate::loops::choose::{
    along, keys,
    keys::{Key, Less},
    range::{Bound, Piece},
};
use crate::loops::lower::{coordinate, fiber};
use crate::notation::concrete::{self, Index};
use std::cmp::Ordering;

/// The parts of a piece, in each of which the comparisons with its first key are constants.
pub(super) fn decided(cx: &Context, d: &mut Symbolic, v: Index, piece: &Piece) -> Vec<Piece> {
    let found = keys::comparisons(cx, v, piece);
    let Some(key) = keys::first_key(cx, v, piece) else { return vec![piece.clone()] };
    let all = |of: [Op; 2]| found.iter().filter(|(_, k)| *k == key).all(|(op, _)| of.contains(op));
    let with = compared(cx, d, v, piece, &key);
    // Each part begins where the one before ends. Two of the three signs are one part if no operator tells them apart.
    let mut signs = vec![(Ordering::Less, piece.range.lo.clone())];
    if !all([Op::Le, Op::Gt]) {
        signs.push((Ordering::Equal, cut(cx, d, v, piece, (&key, &with), false)));
    }
    if !all([Op::Lt, Op::Ge]) {
        signs.push((Ordering::Greater, cut(cx, d, v, piece, (&key, &with), true)));
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

/// The value with which the bare coordinate of a key is compared. What is subtracted from the coordinate is added to the invariant
/// side, after that is clamped to the range of the difference and one more on either side, so that the sum does not wrap.
fn compared(cx: &Context, d: &mut Symbolic, v: Index, piece: &Piece, key: &Key) -> Expr {
    let at = fiber::value(cx, d, &piece.scope, &key.with);
    let [lo, hi] = coordinate::ends(cx, piece, v, key.side.w);
    let minus = |a: Expr, b: Expr| {
        if let Expr::Const(c) = b { plus(a, int((c.bits() as i64).wrapping_neg())) } else { binary(Op::Sub, a, b) }
    };
    let at = match key.side.less {
        Less::Nothing => at,
        Less::Number(c) => plus(between(at, plus(lo, int(-c - 1)), plus(hi, int(-c))), int(c)),
        Less::Other(u, falls) => {
            let x = coordinate::of(cx, &piece.scope, u).expect("it stays");
            // One more than a coordinate does not wrap.
            let small = matches!(at, Expr::Const(c) if (-keys::SMALL..=1).contains(&((c.bits() as i64).saturating_mul(if falls { -1 } else { 1 }))));
            match falls {
                false if small => plus(x, at),
                true if small => minus(x, at),
                false => plus(between(at, plus(minus(lo, x.clone()), int(-1)), minus(hi, x.clone())), x),
                true => minus(x.clone(), between(at, minus(x.clone(), hi), plus(minus(x, lo), int(1)))),
            }
        }
    };
    held(d, "bound", at)
}

/// The first coordinate of a piece at which a key's is not below `with`; or, `past` it, at which it is above.
fn cut(cx: &Context, d: &mut Symbolic, v: Index, piece: &Piece, (key, with): (&Key, &Expr), past: bool) -> Bound {
    let one = int(past as i64);
    if along::is_within(cx, v, piece, key) {
        return cx.bound(plus(with.clone(), one));
    }
    let [lo, hi] = coordinate::ends(cx, piece, v, key.side.w).map(|end| plus(end, int(-(past as i64))));
    let at = plus(between(with.clone(), lo, hi), one);
    let (c, r) = coordinate::line_of(cx, piece, v, key.side.w);
    let at = coordinate::steps(at, c, r);
    cx.bound(held(d, "cut", at))
}

/// `min(max(e, lo), hi)`
fn between(e: Expr, lo: Expr, hi: Expr) -> Expr {
    let number = |e: &Expr| if let Expr::Const(c) = e { Some(c.bits() as i64) } else { None };
    let joined = |op: Op, a: Expr, b: Expr| match (number(&a), number(&b)) {
        (Some(a), Some(b)) => int(if op == Op::Min { a.min(b) } else { a.max(b) }),
        _ => binary(op, a, b),
    };
    joined(Op::Min, joined(Op::Max, e, lo), hi)
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
