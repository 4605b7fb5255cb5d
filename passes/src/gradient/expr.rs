//! Expressions of gradients, simplified as they are made: a factor 1, a term 0, a call of literals leave no trace.

use fiberloom_core::algebra::{Op, Type, Value, apply, result_type};
use fiberloom_core::notation::Span;
use fiberloom_core::notation::typed::{Bound, Expr, Fun, Index, Kind, Map, TensorId, VarId};

/// An expression of this kind.
pub(super) fn made(kind: Kind, ty: Type) -> Expr {
    Expr { kind, ty, span: Span::default() }
}

/// A number of a type.
pub(super) fn number(x: f64, ty: Type) -> Expr {
    made(Kind::Literal(Value::from_f64(ty, x)), ty)
}

/// An integer.
pub(super) fn integer(n: i64) -> Expr {
    made(Kind::Literal(Value::i64(n)), Type::I64)
}

/// The value of an extent: a size's, or a number.
pub(super) fn counted(extent: Bound) -> Expr {
    match extent.terms.first() {
        Some((_, size)) => made(Kind::Size(*size), Type::I64),
        None => integer(extent.constant),
    }
}

/// A variable's value.
pub(super) fn index(v: VarId) -> Expr {
    made(Kind::Index(v), Type::I64)
}

/// A tensor under bare variables.
pub(super) fn read(tensor: TensorId, vars: &[VarId], ty: Type) -> Expr {
    made(Kind::Access(tensor, bare(vars)), ty)
}

/// Bare indices.
pub(super) fn bare(vars: &[VarId]) -> Vec<Index> {
    vars.iter().map(|v| Index { permit: false, map: Map::Var(*v), span: Span::default() }).collect()
}

/// The variables of indices, if these are bare and distinct.
pub(super) fn distinct(indices: &[Index]) -> Option<Vec<VarId>> {
    let vars: Vec<VarId> = indices.iter().map(Index::bare).collect::<Option<_>>()?;
    let repeated = vars.iter().enumerate().any(|(n, v)| vars[..n].contains(v));
    (!repeated).then_some(vars)
}

/// The literal that an expression is.
pub(super) fn literal(e: &Expr) -> Option<f64> {
    match &e.kind {
        Kind::Literal(value) => Some(value.as_f64()),
        _ => None,
    }
}

/// Whether an expression is a literal 0.
pub(super) fn is_zero(e: &Expr) -> bool {
    literal(e) == Some(0.0)
}

fn args(e: &Expr, op: Op) -> Option<&[Expr]> {
    match &e.kind {
        Kind::Call(Fun::Op(of), args) if *of == op => Some(args),
        _ => None,
    }
}

/// A built-in applied.
pub(super) fn call(op: Op, args: Vec<Expr>) -> Expr {
    match (op, &args[..]) {
        (Op::Add, [a, b]) => add(a.clone(), b.clone()),
        (Op::Sub, [a, b]) => add(a.clone(), neg(b.clone())),
        (Op::Mul, [a, b]) => mul(a.clone(), b.clone()),
        (Op::Div, [a, b]) => div(a.clone(), b.clone()),
        (Op::Neg, [a]) => neg(a.clone()),
        (Op::Mask, [c, a]) => mask(c.clone(), a.clone()),
        (Op::Pow, [a, b]) if literal(b) == Some(1.0) => a.clone(),
        (Op::Pow, [a, b]) if literal(b) == Some(0.0) => number(1.0, a.ty),
        _ => plain(op, args),
    }
}

/// A function applied.
pub(super) fn call_of(fun: Fun, args: Vec<Expr>, ty: Type) -> Expr {
    match fun {
        Fun::Op(op) => call(op, args),
        Fun::User(_) => made(Kind::Call(fun, args), ty),
    }
}

/// A built-in applied, folded if its arguments are literals.
fn plain(op: Op, args: Vec<Expr>) -> Expr {
    let types: Vec<Type> = args.iter().map(|a| a.ty).collect();
    let ty = result_type(op, &types).unwrap_or(types[0]);
    let values: Option<Vec<Value>> =
        args.iter().map(|a| if let Kind::Literal(v) = a.kind { Some(v) } else { None }).collect();
    match values.and_then(|values| apply(op, &values)) {
        Some(value) if !value.is_nan() => made(Kind::Literal(value), ty),
        _ => made(Kind::Call(Fun::Op(op), args), ty),
    }
}

/// `a · b`, with literals in front, signs and conditions outside, and factors from left to right.
pub(super) fn mul(a: Expr, b: Expr) -> Expr {
    match (literal(&a), literal(&b)) {
        (Some(0.0), _) => return a,
        (_, Some(0.0)) => return b,
        (Some(1.0), _) => return b,
        (_, Some(1.0)) => return a,
        (Some(-1.0), _) => return neg(b),
        (_, Some(-1.0)) => return neg(a),
        (Some(_), Some(_)) => return plain(Op::Mul, vec![a, b]),
        (None, Some(_)) => return mul(b, a),
        _ => {}
    }
    if let Some([c, x]) = args(&a, Op::Mask) {
        return mask(c.clone(), mul(x.clone(), b));
    }
    if let Some([c, y]) = args(&b, Op::Mask) {
        return mask(c.clone(), mul(a, y.clone()));
    }
    if let Some([x]) = args(&a, Op::Neg) {
        return neg(mul(x.clone(), b));
    }
    if let Some([y]) = args(&b, Op::Neg) {
        return neg(mul(a, y.clone()));
    }
    if let Some([x, y]) = args(&b, Op::Mul) {
        return mul(mul(a, x.clone()), y.clone());
    }
    plain(Op::Mul, vec![a, b])
}

/// `a / b`.
pub(super) fn div(a: Expr, b: Expr) -> Expr {
    if is_zero(&a) || literal(&b) == Some(1.0) {
        return a;
    }
    if let Some([x]) = args(&a, Op::Neg) {
        return neg(div(x.clone(), b));
    }
    if let Some([c, x]) = args(&a, Op::Mask) {
        return mask(c.clone(), div(x.clone(), b));
    }
    plain(Op::Div, vec![a, b])
}

/// `-a`.
pub(super) fn neg(a: Expr) -> Expr {
    if let Some([x]) = args(&a, Op::Neg) {
        return x.clone();
    }
    if let Some([c, x]) = args(&a, Op::Mask) {
        return mask(c.clone(), neg(x.clone()));
    }
    if is_zero(&a) { a } else { plain(Op::Neg, vec![a]) }
}

/// `a + b`: twice a term that stands on both sides.
pub(super) fn add(a: Expr, b: Expr) -> Expr {
    if is_zero(&a) {
        return b;
    }
    if is_zero(&b) {
        return a;
    }
    if alike(&a, &b) {
        return mul(number(2.0, a.ty), a);
    }
    if let Some([x, y]) = args(&a, Op::Add)
        && alike(y, &b)
    {
        return plain(Op::Add, vec![x.clone(), mul(number(2.0, b.ty), b)]);
    }
    if let (Some([x]), Some([y])) = (args(&a, Op::Neg), args(&b, Op::Neg)) {
        return neg(add(x.clone(), y.clone()));
    }
    if let Some([y]) = args(&b, Op::Neg) {
        return plain(Op::Sub, vec![a, y.clone()]);
    }
    if let Some([x]) = args(&a, Op::Neg) {
        return plain(Op::Sub, vec![b, x.clone()]);
    }
    plain(Op::Add, vec![a, b])
}

/// Whether two products have the same factors, in whatever order.
fn alike(a: &Expr, b: &Expr) -> bool {
    let (mut left, mut right) = (vec![], vec![]);
    factors(a, &mut left);
    factors(b, &mut right);
    left.len() == right.len()
        && left.iter().all(|factor| {
            let place = right.iter().position(|other| other == factor || one_sum(other, factor));
            place.map(|place| right.swap_remove(place)).is_some()
        })
}

/// Whether two sums over the same variables are of alike products.
fn one_sum(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (
            Kind::Reduce { fun: f, vars: v, body: x, start: None },
            Kind::Reduce { fun: g, vars: w, body: y, start: None },
        ) => f == g && *f == Fun::Op(Op::Add) && v == w && alike(x, y),
        _ => false,
    }
}

fn factors<'e>(e: &'e Expr, all: &mut Vec<&'e Expr>) {
    match args(e, Op::Mul) {
        Some(parts) => parts.iter().for_each(|part| factors(part, all)),
        None => all.push(e),
    }
}

/// `a` where `c` holds, else 0.
pub(super) fn mask(c: Expr, a: Expr) -> Expr {
    if is_zero(&a) {
        return a;
    }
    if let Kind::Literal(value) = c.kind {
        return if value.is_true() { a } else { number(0.0, a.ty) };
    }
    if let Some([inner, x]) = args(&a, Op::Mask) {
        let both = if *inner == c { c } else { plain(Op::AndAlso, vec![c, inner.clone()]) };
        return plain(Op::Mask, vec![both, x.clone()]);
    }
    plain(Op::Mask, vec![c, a])
}

/// `a` and `b`, where both are said.
pub(super) fn and(a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a, b) {
        (Some(a), Some(b)) if a == b => Some(a),
        (Some(a), Some(b)) => Some(plain(Op::AndAlso, vec![a, b])),
        (a, b) => a.or(b),
    }
}

/// Where `a` or `b` may hold, where both are said.
pub(super) fn or(a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a?, b?) {
        (a, b) if a == b => Some(a),
        (a, b) => Some(plain(Op::OrElse, vec![a, b])),
    }
}

/// `sum(vars: a)`, conditions that do not depend on the variables outside.
pub(super) fn sum(vars: Vec<VarId>, a: Expr) -> Expr {
    if vars.is_empty() || is_zero(&a) {
        return a;
    }
    if let Some([c, x]) = args(&a, Op::Mask)
        && !c.free().iter().any(|v| vars.contains(v))
    {
        return mask(c.clone(), sum(vars, x.clone()));
    }
    if let Some([x]) = args(&a, Op::Neg) {
        return plain(Op::Neg, vec![sum(vars, x.clone())]);
    }
    let ty = a.ty;
    made(Kind::Reduce { fun: Fun::Op(Op::Add), vars, body: Box::new(a), start: None }, ty)
}

/// 0 of a type where an expression is there, and missing where it is missing.
pub(super) fn nothing_of(e: &Expr, ty: Type) -> Expr {
    let e = if e.ty == ty { e.clone() } else { plain(Op::Convert(ty), vec![e.clone()]) };
    let never = made(Kind::Literal(Value::bool(false)), Type::Bool);
    made(Kind::Call(Fun::Op(Op::Mask), vec![never, e]), ty)
}

/// A sum whose first term is kept: for where it is missing, or for how far its variables go.
pub(super) fn add_kept(a: Expr, b: Expr) -> Expr {
    if is_zero(&b) {
        return a;
    }
    let ty = a.ty;
    made(Kind::Call(Fun::Op(Op::Add), vec![a, b]), ty)
}

/// A comparison.
pub(super) fn compare(op: Op, a: Expr, b: Expr) -> Expr {
    plain(op, vec![a, b])
}

/// How many expressions it is made of.
pub(super) fn nodes(e: &Expr) -> usize {
    let mut count = 0;
    e.walk(&mut |_| count += 1);
    count
}

/// Whether a fold stands in it.
pub(super) fn folds(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e.kind, Kind::Reduce { .. }));
    found
}
