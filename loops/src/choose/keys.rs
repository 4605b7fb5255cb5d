//! Comparisons of a loop's variable with a loop-invariant value.

use crate::choose::{Facts, access, along, condition, piece::Piece, symbol::Sym};
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::notation::concrete::{self, Index, Origin};
use fiberloom_core::notation::typed::Fun;

/// The most keys by which one loop is split; comparisons with others are tested at each coordinate.
const KEYS: usize = 3;

/// A bound on numbers that are added to a coordinate; negative ones only to coordinates below 2⁶².
pub const SMALL: i64 = 1 << 32;

/// The two sides of a comparison.
#[derive(Clone, PartialEq)]
pub struct Key {
    pub side: Side,
    /// The loop-invariant side.
    pub with: concrete::Expr,
}

/// The side that moves with the loop: the coordinate of `w`, less a constant or invariant.
#[derive(Clone, PartialEq)]
pub struct Side {
    pub w: Index,
    pub less: Less,
}

/// The value that is subtracted from a coordinate.
#[derive(Clone, Copy, PartialEq)]
pub enum Less {
    Nothing,
    /// `w - u`; `u - w` if the flag is set.
    Other(Index, bool),
    /// `w - c`.
    Number(i64),
}

/// Whether comparisons may end ranges of a piece: not if [`KEYS`] keys split the loop already, or it would have too many lines
/// (`budget.rs`).
pub fn decides(cx: &Facts, piece: &Piece) -> bool {
    piece.keys < KEYS && piece.scope.affords(cx, &piece.body, 3)
}

/// The first key of a piece's comparisons.
pub fn first_key(cx: &Facts, v: Index, piece: &Piece) -> Option<Key> {
    comparisons(cx, v, piece).into_iter().next().map(|(_, key)| key)
}

pub fn comparisons(cx: &Facts, v: Index, piece: &Piece) -> Vec<(Op, Key)> {
    let mut found = Vec::new();
    piece.body.each(&mut |e| found.extend(comparison(cx, v, piece, e)));
    found
}

/// An expression as a comparison of a side that moves with the loop over `v` and an invariant one. The operator is exchanged if necessary
/// so that the moving side ascends and is on the left.
pub fn comparison(cx: &Facts, v: Index, piece: &Piece, e: &concrete::Expr) -> Option<(Op, Key)> {
    let concrete::Expr::Call(Fun::Op(op), args, _) = e else { return None };
    let [a, b] = &args[..] else { return None };
    if !op.is_comparison() || a.ty() != Type::I64 {
        return None;
    }
    let ordered = |op: Op, a: &concrete::Expr, b: &concrete::Expr| {
        let side = side(cx, v, piece, a).filter(|_| condition::stays(cx, v, &piece.scope, b))?;
        let falls = matches!(side.less, Less::Other(_, true));
        Some((if falls { turned(op) } else { op }, Key { side, with: b.clone() }))
    };
    ordered(*op, a, b).or_else(|| ordered(turned(*op), b, a))
}

/// An expression as the moving side of a comparison, if it moves with a loop over `v` and cannot wrap.
pub fn side(cx: &Facts, v: Index, piece: &Piece, e: &concrete::Expr) -> Option<Side> {
    use concrete::Expr::{Call, Index, Literal};
    // A guarded part is computed where its guard fails, too; there its coordinate may not fit 64 bits.
    let certain = |w| !access::is_of_asked(cx, &piece.scope, w);
    let moves =
        |w| cx.program.root_map(w).factors.contains_key(&v) && along::binds(cx, &piece.scope, v, w) && certain(w);
    let number = |w: concrete::Index, c: Option<i64>| {
        let small = || cx.extents.constants.get(&cx.program.vars[w.0].extent).is_some_and(|n| *n < 1 << 62);
        c.filter(|c| (0..SMALL).contains(c) || (-SMALL..0).contains(c) && small())
    };
    let side = |w, less| moves(w).then_some(Side { w, less });
    match e {
        Index(w) => side(*w, Less::Nothing),
        Call(Fun::Op(op @ (Op::Add | Op::Sub)), args, _) => match (op, &args[..]) {
            (Op::Sub, [Index(a), other @ Index(b)]) if condition::stays(cx, v, &piece.scope, other) => {
                side(*a, Less::Other(*b, false))
            }
            (Op::Sub, [other @ Index(a), Index(b)]) if condition::stays(cx, v, &piece.scope, other) => {
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

/// The operator for exchanged sides.
pub fn turned(op: Op) -> Op {
    match op {
        Op::Lt => Op::Gt,
        Op::Le => Op::Ge,
        Op::Gt => Op::Lt,
        Op::Ge => Op::Le,
        op => op,
    }
}

/// Whether a key compares the loop's own variable, over its whole extent, with another variable of that extent, so that no clamping is
/// needed. A variable without roots may equal the extent itself, which is not within it.
pub fn is_within(cx: &Facts, v: Index, piece: &Piece, key: &Key) -> bool {
    let concrete::Expr::Index(u) = key.with else { return false };
    let [own, other] = [v, u].map(|u| &cx.program.vars[u.0]);
    key.side == Side { w: v, less: Less::Nothing }
        && own.extent == other.extent
        && !matches!(other.origin, Origin::Computed(_))
        && !cx.program.roots(u).is_empty()
        && piece.range.lo.at == Sym::ZERO
        && piece.range.hi.at == cx.extents.name(own.extent)
}
