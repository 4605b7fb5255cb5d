//! Lattices of all small bodies of three lists.

use fiberloom_core::algebra::{Mode, Op, Type, Value};
use fiberloom_core::iteration::{Lattice, Point, Sequence, Shape, Simplify};
use fiberloom_core::notation::concrete::{AccessId, Expr};
use fiberloom_core::notation::typed::Fun;

const LISTS: [AccessId; 3] = [AccessId(0), AccessId(1), AccessId(2)];
const S: Simplify = Simplify { mode: Mode::Strict, functions: &[] };

fn zero() -> Value {
    Value::i64(0)
}

fn is_zero(e: &Expr) -> bool {
    *e == Expr::Literal(zero())
}

/// Bodies of three lists, 0 and 1 under `+`, `*` and `min`, up to two operators deep.
fn bodies() -> Vec<Expr> {
    let leaf = |a: &AccessId| Expr::Access(*a, Type::I64);
    let leaves: Vec<Expr> = LISTS.iter().map(leaf).chain([0, 1].map(|n| Expr::Literal(Value::i64(n)))).collect();
    let joined = |of: &[Expr], with: &[Expr]| -> Vec<Expr> {
        let pairs = of.iter().flat_map(|a| with.iter().map(move |b| [a.clone(), b.clone()]));
        let calls = pairs.flat_map(|pair| [Op::Add, Op::Mul, Op::Min].map(|op| (op, pair.to_vec())));
        calls.map(|(op, args)| S.simplify(&Expr::Call(Fun::Op(op), args, Type::I64))).collect()
    };
    let once = joined(&leaves, &leaves);
    let twice = joined(&once, &leaves);
    let both = joined(&once, &once);
    [leaves, once, twice, both].concat()
}

/// The body's value where these lists have an entry, each another number.
fn value(body: &Expr, present: u32) -> Expr {
    let of = |a: AccessId| if present >> a.0 & 1 == 1 { Value::i64(7 + 4 * a.0 as i64) } else { zero() };
    S.replace(body, &|a| Some(of(a)))
}

fn holds(s: &Sequence, present: u32) -> bool {
    s.fold(&mut |a| present >> a.0 & 1 == 1, &|c| c, &mut |a, b| a && b, &mut |a, b| a || b)
}

/// Whether a point's loop runs its body at a coordinate where these lists have an entry, until one of its lists is
/// exhausted.
fn runs(point: &Point, present: u32) -> bool {
    let mut leads = point.leaders.iter().map(|a| present >> a.0 & 1 == 1);
    match point.shape {
        Shape::Nothing => false,
        Shape::Dense => true,
        Shape::Each | Shape::Intersect => leads.all(|here| here) && holds(&point.beside, present),
        Shape::Tree => leads.any(|here| here),
        Shape::Wide => holds(&point.sequence, present),
    }
}

/// Each loop runs exactly where its sequence says, and that is wherever the body has an effect; a tail's body is the
/// whole body without the exhausted list; equal bodies are one point.
#[test]
fn points_run_where_their_bodies_have_an_effect() {
    let mut shapes = std::collections::BTreeMap::new();
    for body in bodies() {
        let lattice = Lattice::of(&body, &LISTS, &|_| zero(), &is_zero, S);
        for (n, point) in lattice.points.iter().enumerate() {
            *shapes.entry(format!("{:?}", point.shape)).or_insert(0) += 1;
            assert!(lattice.points[..n].iter().all(|before| before.body != point.body), "{lattice:?}");
            for present in 0..1 << LISTS.len() {
                assert_eq!(runs(point, present), holds(&point.sequence, present), "{present:b}: {point:?}");
                // A tail has the background of the whole loop, and need not write it.
                let effect = value(&point.body, present) != value(&lattice.points[0].body, 0);
                assert!(runs(point, present) || !effect, "{present:b}: {point:?}");
            }
            let edges: Vec<AccessId> = point.edges.iter().map(|(list, _)| *list).collect();
            assert_eq!(edges, if point.shape == Shape::Tree { point.leaders.clone() } else { vec![] });
            for (list, to) in &point.edges {
                let left = S.replace(&point.body, &|a| (a == *list).then(zero));
                assert_eq!(lattice.points[*to].body, left);
            }
        }
    }
    assert!(shapes.len() == 6 && shapes.values().all(|n| *n > 10), "{shapes:?}");
}
