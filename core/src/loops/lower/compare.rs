//! Comparisons of a loop's variable with what is the same in all of its turns: where one changes the loop is split, and in each
//! part it is decided.
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
//! Numbers wrap in a comparison as anywhere: what is compared with is taken as it is, and only then brought within the loop's bounds.
//! On the variable's own side stands what cannot wrap: the variable, its difference from another, or from a number.

use super::fiber::Scope;
use super::range::{Bound, Piece};
use super::{Context, Expr, binary, held, int, plus, times};
use crate::algebra::{Op, Type, Value};
use crate::notation::concrete::{self, Index, Origin};
use crate::notation::typed::Fun;
use crate::stream::Symbolic;
use std::cmp::Ordering;

/// Keys by which one loop is split; what is compared with more is tested.
const KEYS: usize = 3;

/// Numbers that may be added to a coordinate that is below 2⁶², and to no other.
const SMALL: i64 = 1 << 32;

/// What is compared.
#[derive(Clone, PartialEq)]
struct Key {
    side: Side,
    /// With what: the same in all turns of the loop.
    with: concrete::Expr,
}

/// What moves with the loop, made of the coordinate of `w`.
#[derive(Clone, PartialEq)]
struct Side {
    w: Index,
    less: Less,
}

/// What is taken from a coordinate.
#[derive(Clone, Copy, PartialEq)]
enum Less {
    Nothing,
    /// `w - u`, or turned round `u - w`.
    Other(Index, bool),
    /// `w - c`
    Number(i64),
}

impl Context<'_> {
    /// The parts of a piece in each of which comparisons of its body with one key are decided; `None` if there are no such, or were
    /// enough.
    pub(super) fn decided(&self, d: &mut Symbolic, v: Index, piece: &Piece) -> Option<Vec<Piece>> {
        let mut found: Vec<(Op, Key)> = Vec::new();
        if piece.keys < KEYS {
            piece.body.each(&mut |e| found.extend(self.comparison(v, piece, e)));
        }
        let (_, key) = found.first()?.clone();
        let all = |of: [Op; 2]| found.iter().filter(|(_, k)| *k == key).all(|(op, _)| of.contains(op));
        let with = self.compared(d, v, piece, &key);
        // Each begins where the one before ends. An operator may not tell what is equal from what is on one side.
        let mut signs = vec![(Ordering::Less, piece.range.lo.clone())];
        if !all([Op::Le, Op::Gt]) {
            signs.push((Ordering::Equal, self.cut(d, v, piece, (&key, &with), false)));
        }
        if !all([Op::Lt, Op::Ge]) {
            signs.push((Ordering::Greater, self.cut(d, v, piece, (&key, &with), true)));
        }
        let ends = signs[1..].iter().map(|(_, lo)| lo).chain([&piece.range.hi]);
        let part = |((sign, lo), hi): (&(Ordering, Bound), &Bound)| {
            let outcome = |e: &concrete::Expr| {
                let (op, _) = self.comparison(v, piece, e).filter(|(_, k)| *k == key)?;
                Some(holds(op, *sign))
            };
            let mut part = piece.within(lo.clone(), hi.clone());
            part.body = self.simplify.simplify(&piece.body.clone().settled(&outcome));
            part.keys += 1;
            part
        };
        Some(signs.iter().zip(ends).map(part).collect())
    }

    /// An expression as a comparison, if it is one of something that moves with a loop over `v` and something that does not: the
    /// operator that stands between what moves upwards and the other.
    fn comparison(&self, v: Index, piece: &Piece, e: &concrete::Expr) -> Option<(Op, Key)> {
        let concrete::Expr::Call(Fun::Op(op), args, _) = e else { return None };
        let [a, b] = &args[..] else { return None };
        if !op.is_comparison() || a.ty() != Type::I64 {
            return None;
        }
        let ordered = |op: Op, a: &concrete::Expr, b: &concrete::Expr| {
            let side = self.side(v, piece, a).filter(|_| self.stays(v, &piece.scope, b))?;
            let falls = matches!(side.less, Less::Other(_, true));
            Some((if falls { turned(op) } else { op }, Key { side, with: b.clone() }))
        };
        ordered(*op, a, b).or_else(|| ordered(turned(*op), b, a))
    }

    /// What moves with a loop over `v`, and cannot wrap.
    fn side(&self, v: Index, piece: &Piece, e: &concrete::Expr) -> Option<Side> {
        use concrete::Expr::{Call, Index, Literal};
        let moves = |w| self.program.root_map(w).factors.contains_key(&v) && self.binds(&piece.scope, v, w);
        let number = |w: concrete::Index, c: Option<i64>| {
            let small = || self.constants.get(&self.program.vars[w.0].extent).is_some_and(|n| *n < 1 << 62);
            c.filter(|c| (0..SMALL).contains(c) || (-SMALL..0).contains(c) && small())
        };
        let side = |w, less| moves(w).then_some(Side { w, less });
        match e {
            Index(w) => side(*w, Less::Nothing),
            Call(Fun::Op(op @ (Op::Add | Op::Sub)), args, _) => match (op, &args[..]) {
                (Op::Sub, [Index(a), other @ Index(b)]) if self.stays(v, &piece.scope, other) => {
                    side(*a, Less::Other(*b, false))
                }
                (Op::Sub, [other @ Index(a), Index(b)]) if self.stays(v, &piece.scope, other) => {
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

    /// Whether an expression has one value in all turns of a loop over `v`, and can be computed before it.
    pub(super) fn stays(&self, v: Index, scope: &Scope, e: &concrete::Expr) -> bool {
        match e {
            concrete::Expr::Literal(_) => true,
            concrete::Expr::Index(u) => {
                self.program.roots(*u).iter().all(|u| *u != v && scope.coordinate(*u).is_some())
            }
            concrete::Expr::Access(a, _) => self.next_var(scope, *a).is_none(),
            concrete::Expr::Call(Fun::Op(_), args, _) => args.iter().all(|arg| self.stays(v, scope, arg)),
            _ => false,
        }
    }

    /// With what the bare coordinate of a key is compared. What is taken from a coordinate is added to the other side once that is
    /// within what the difference comes to, and one more on either side: there nothing wraps.
    fn compared(&self, d: &mut Symbolic, v: Index, piece: &Piece, key: &Key) -> Expr {
        let at = self.value(d, &piece.scope, &key.with);
        let [lo, hi] = self.ends(piece, v, key.side.w);
        let minus = |a: Expr, b: Expr| {
            if let Expr::Const(c) = b { plus(a, int((c.bits() as i64).wrapping_neg())) } else { binary(Op::Sub, a, b) }
        };
        let at = match key.side.less {
            Less::Nothing => at,
            Less::Number(c) => plus(between(at, plus(lo, int(-c - 1)), plus(hi, int(-c))), int(c)),
            Less::Other(u, falls) => {
                let x = self.coordinate(&piece.scope, u).expect("it stays");
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
    fn cut(&self, d: &mut Symbolic, v: Index, piece: &Piece, (key, with): (&Key, &Expr), past: bool) -> Bound {
        let one = int(past as i64);
        if self.is_within(v, piece, key) {
            return Bound::at(plus(with.clone(), one));
        }
        let [lo, hi] = self.ends(piece, v, key.side.w).map(|end| plus(end, int(-(past as i64))));
        let at = plus(between(with.clone(), lo, hi), one);
        let (c, r) = self.along(piece, v, key.side.w);
        let at = self.steps(at, c, r);
        Bound::at(held(d, "cut", at))
    }

    /// What a coordinate is at the ends of a piece.
    fn ends(&self, piece: &Piece, v: Index, w: Index) -> [Expr; 2] {
        let (c, r) = self.along(piece, v, w);
        [&piece.range.lo, &piece.range.hi].map(|bound| plus(times(bound.at.clone(), r.clone()), c.clone()))
    }

    /// Whether a key compares the loop's own variable with another that is within its whole extent.
    fn is_within(&self, v: Index, piece: &Piece, key: &Key) -> bool {
        let concrete::Expr::Index(u) = key.with else { return false };
        let [own, other] = [v, u].map(|u| &self.program.vars[u.0]);
        key.side == Side { w: v, less: Less::Nothing }
            && own.extent == other.extent
            && !matches!(other.origin, Origin::Computed(_))
            && piece.range.lo.at == int(0)
            && piece.range.hi.at == self.extent(own.extent)
    }
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

/// The operator with its sides exchanged.
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
