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

use super::fiber::Scope;
use super::range::{Bound, Piece, behind_last};
use super::{Context, Expr, binary, held, int, plus, times};
use crate::algebra::{Op, Type, Value};
use crate::loops::Symbolic;
use crate::loops::lower::budget;
use crate::loops::lower::choice;
use crate::loops::lower::fiber;
use crate::loops::lower::range;
use crate::notation::concrete::{self, Index, Origin};
use crate::notation::typed::Fun;
use std::cmp::Ordering;

/// Most keys by which one loop is split; comparisons with others are tested at each coordinate.
const KEYS: usize = 3;

/// Bound on numbers that are added to a coordinate; negative ones only to coordinates below 2⁶².
const SMALL: i64 = 1 << 32;

/// The two sides of a comparison.
#[derive(Clone, PartialEq)]
pub(super) struct Key {
    side: Side,
    /// The loop-invariant side.
    with: concrete::Expr,
}

/// The side that moves with the loop: the coordinate of `w`, less something.
#[derive(Clone, PartialEq)]
struct Side {
    w: Index,
    less: Less,
}

/// What is subtracted from a coordinate.
#[derive(Clone, Copy, PartialEq)]
enum Less {
    Nothing,
    /// `w - u`; `u - w` if the flag is set.
    Other(Index, bool),
    /// `w - c`
    Number(i64),
}

/// Whether comparisons end ranges of a piece: not if the loop is split by [`KEYS`] of them already, or its lines would be too many
/// (`budget.rs`).
pub(super) fn decides(cx: &Context, piece: &Piece) -> bool {
    piece.keys < KEYS && budget::affords(cx, &piece.scope, &piece.body, 3)
}

/// The first key of a piece's comparisons.
pub(super) fn first_key(cx: &Context, v: Index, piece: &Piece) -> Option<Key> {
    comparisons(cx, v, piece).into_iter().next().map(|(_, key)| key)
}

fn comparisons(cx: &Context, v: Index, piece: &Piece) -> Vec<(Op, Key)> {
    let mut found = Vec::new();
    piece.body.each(&mut |e| found.extend(comparison(cx, v, piece, e)));
    found
}

/// The parts of a piece, in each of which the comparisons with its first key are constants.
pub(super) fn decided(cx: &Context, d: &mut Symbolic, v: Index, piece: &Piece) -> Vec<Piece> {
    let found = comparisons(cx, v, piece);
    let Some(key) = first_key(cx, v, piece) else { return vec![piece.clone()] };
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
            let (op, _) = comparison(cx, v, piece, e).filter(|(_, k)| *k == key)?;
            Some(holds(op, *sign))
        };
        let mut part = piece.within(lo.clone(), hi.clone());
        part.body = cx.simplify.simplify(&piece.body.clone().settled(&outcome));
        part.keys += 1;
        part
    };
    signs.iter().zip(ends).map(part).collect()
}

/// An expression as a comparison of a side that moves with the loop over `v` and an invariant one; the operator is turned so that
/// the moving side ascends and stands on the left.
fn comparison(cx: &Context, v: Index, piece: &Piece, e: &concrete::Expr) -> Option<(Op, Key)> {
    let concrete::Expr::Call(Fun::Op(op), args, _) = e else { return None };
    let [a, b] = &args[..] else { return None };
    if !op.is_comparison() || a.ty() != Type::I64 {
        return None;
    }
    let ordered = |op: Op, a: &concrete::Expr, b: &concrete::Expr| {
        let side = side(cx, v, piece, a).filter(|_| stays(cx, v, &piece.scope, b))?;
        let falls = matches!(side.less, Less::Other(_, true));
        Some((if falls { turned(op) } else { op }, Key { side, with: b.clone() }))
    };
    ordered(*op, a, b).or_else(|| ordered(turned(*op), b, a))
}

/// An expression as the moving side of a comparison, if it moves with a loop over `v` and cannot wrap.
fn side(cx: &Context, v: Index, piece: &Piece, e: &concrete::Expr) -> Option<Side> {
    use concrete::Expr::{Call, Index, Literal};
    // A part that is asked is computed where it does not hold, too: there its coordinate may not fit.
    let certain = |w| !choice::is_of_asked(cx, &piece.scope, w);
    let moves =
        |w| cx.program.root_map(w).factors.contains_key(&v) && range::binds(cx, &piece.scope, v, w) && certain(w);
    let number = |w: concrete::Index, c: Option<i64>| {
        let small = || cx.extents.constants.get(&cx.program.vars[w.0].extent).is_some_and(|n| *n < 1 << 62);
        c.filter(|c| (0..SMALL).contains(c) || (-SMALL..0).contains(c) && small())
    };
    let side = |w, less| moves(w).then_some(Side { w, less });
    match e {
        Index(w) => side(*w, Less::Nothing),
        Call(Fun::Op(op @ (Op::Add | Op::Sub)), args, _) => match (op, &args[..]) {
            (Op::Sub, [Index(a), other @ Index(b)]) if stays(cx, v, &piece.scope, other) => {
                side(*a, Less::Other(*b, false))
            }
            (Op::Sub, [other @ Index(a), Index(b)]) if stays(cx, v, &piece.scope, other) => {
                side(*b, Less::Other(*a, true))
            }
            (Op::Sub, [Index(w), Literal(c)]) => side(*w, Less::Number(number(*w, c.as_i64())?)),
            (Op::Add, [Index(w), Literal(c)] | [Literal(c), Index(w)]) => {
                side(*w, Less::Number(number(*w, c.as_i64()?.checked_neg())?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether an expression is invariant in a loop over `v`, and can be computed before it.
pub(super) fn stays(cx: &Context, v: Index, scope: &Scope, e: &concrete::Expr) -> bool {
    match e {
        concrete::Expr::Literal(_) => true,
        concrete::Expr::Index(u) => cx.program.roots(*u).iter().all(|u| *u != v && scope.coordinate(*u).is_some()),
        concrete::Expr::Access(a, _) => fiber::next_var(cx, scope, *a).is_none(),
        concrete::Expr::Column(column) => fiber::next_var(cx, scope, column.of).is_none(),
        concrete::Expr::Call(Fun::Op(_), args, _) => args.iter().all(|arg| stays(cx, v, scope, arg)),
        _ => false,
    }
}

/// The value with which the bare coordinate of a key is compared. What is subtracted from the coordinate is added to the invariant
/// side, after that is clamped to the range of the difference and one more on either side, so that the sum does not wrap.
fn compared(cx: &Context, d: &mut Symbolic, v: Index, piece: &Piece, key: &Key) -> Expr {
    let at = fiber::value(cx, d, &piece.scope, &key.with);
    let [lo, hi] = ends(cx, piece, v, key.side.w);
    let minus = |a: Expr, b: Expr| {
        if let Expr::Const(c) = b { plus(a, int((c.bits() as i64).wrapping_neg())) } else { binary(Op::Sub, a, b) }
    };
    let at = match key.side.less {
        Less::Nothing => at,
        Less::Number(c) => plus(between(at, plus(lo, int(-c - 1)), plus(hi, int(-c))), int(c)),
        Less::Other(u, falls) => {
            let x = range::coordinate(cx, &piece.scope, u).expect("it stays");
            // One more than a coordinate does not wrap.
            let small = matches!(at, Expr::Const(c) if (-SMALL..=1).contains(&((c.bits() as i64).saturating_mul(if falls { -1 } else { 1 }))));
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
    if is_within(cx, v, piece, key) {
        return Bound::at(plus(with.clone(), one));
    }
    let [lo, hi] = ends(cx, piece, v, key.side.w).map(|end| plus(end, int(-(past as i64))));
    let at = plus(between(with.clone(), lo, hi), one);
    let (c, r) = range::along(cx, piece, v, key.side.w);
    let at = range::steps(at, c, r);
    Bound::at(held(d, "cut", at))
}

/// The coordinate of `w` at the first turn of a piece, and one behind its last: at the next step it may not fit 64 bits.
fn ends(cx: &Context, piece: &Piece, v: Index, w: Index) -> [Expr; 2] {
    let (c, r) = range::along(cx, piece, v, w);
    let at = |bound: &Bound| plus(times(bound.at.clone(), r.clone()), c.clone());
    [at(&piece.range.lo), behind_last(at(&piece.range.hi), &r)]
}

/// Whether a key compares the loop's own variable, over its whole extent, with another variable of that extent: no clamping is
/// needed. A variable without roots may be the extent itself, which is not within it.
fn is_within(cx: &Context, v: Index, piece: &Piece, key: &Key) -> bool {
    let concrete::Expr::Index(u) = key.with else { return false };
    let [own, other] = [v, u].map(|u| &cx.program.vars[u.0]);
    key.side == Side { w: v, less: Less::Nothing }
        && own.extent == other.extent
        && !matches!(other.origin, Origin::Computed(_))
        && !cx.program.roots(u).is_empty()
        && piece.range.lo.at == int(0)
        && piece.range.hi.at == cx.extents.at(own.extent)
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

/// The operator that holds of exchanged sides.
fn turned(op: Op) -> Op {
    match op {
        Op::Lt => Op::Gt,
        Op::Le => Op::Ge,
        Op::Gt => Op::Lt,
        Op::Ge => Op::Le,
        op => op,
    }
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
