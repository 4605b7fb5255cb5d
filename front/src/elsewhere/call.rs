//! Functions and methods of other languages, and what they are here.
//!
//! ```text
//!  np.maximum(x, 0)    max(x[i], 0)
//!  where(c, a, b)      if c[i] then a[i] else b[i]
//!  A.sum(axis=1)       sum(j: A[i,j])
//!  x.mean()            sum(i: x[i]) / convert(N, f64)
//! ```

use super::read::Part;
use super::write::{Writer, binary, called, expr, fold, ident, number, read, variable};
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::notation::Span;
use fiberloom_core::notation::syntax::{Argument, BinaryOp, Expr, ExprKind};

/// Arguments, each perhaps under a name.
type Args<'p> = &'p [(Option<String>, Part)];

/// Functions of elements under other names.
const RENAMED: [(&str, &str); 21] = [
    ("maximum", "max"),
    ("fmax", "max"),
    ("minimum", "min"),
    ("fmin", "min"),
    ("arcsin", "asin"),
    ("arccos", "acos"),
    ("arctan", "atan"),
    ("arctan2", "atan2"),
    ("arcsinh", "asinh"),
    ("arccosh", "acosh"),
    ("arctanh", "atanh"),
    ("absolute", "abs"),
    ("fabs", "abs"),
    ("power", "pow"),
    ("ln", "log"),
    ("rint", "round"),
    ("ceiling", "ceil"),
    ("mod", "floormod"),
    ("remainder", "floormod"),
    ("floor_divide", "floordiv"),
    ("ifelse", "select"),
];

/// Functions that fold an array: as people call them, and what folds here.
const FOLDS: [(&str, &str); 11] = [
    ("sum", "sum"),
    ("prod", "prod"),
    ("product", "prod"),
    ("max", "max"),
    ("amax", "max"),
    ("min", "min"),
    ("amin", "min"),
    ("any", "any"),
    ("all", "all"),
    ("mean", "mean"),
    ("average", "mean"),
];

/// What a function is called, and what it is applied to: `np.f(a)`, `f(a)` and `a.f()`.
fn resolved<'p>(
    w: &super::Names,
    function: &'p Part,
    args: Args<'p>,
) -> Option<(String, Vec<&'p Part>, Option<usize>)> {
    let mut axis = None;
    let mut parts: Vec<&Part> = vec![];
    for (key, part) in args {
        match (key.as_deref(), part) {
            (None, part) => parts.push(part),
            (Some("axis" | "dim"), Part::Number(n)) => axis = Some(n.parse().ok()?),
            (Some("dtype"), _) => {}
            _ => return None,
        }
    }
    match function {
        Part::Name(name) => Some((name.clone(), parts, axis)),
        Part::Dot(base, name) => match &**base {
            Part::Name(module) if w.is_module(module) => Some((name.clone(), parts, axis)),
            Part::Dot(module, _) if matches!(&**module, Part::Name(m) if w.is_module(m)) => {
                Some((name.clone(), parts, axis))
            }
            base => {
                parts.insert(0, base);
                Some((name.clone(), parts, axis))
            }
        },
        _ => None,
    }
}

/// How many modes a call has.
pub fn rank(names: &super::Names, function: &Part, args: Args) -> Option<usize> {
    let (name, parts, axis) = resolved(names, function, args)?;
    let ranks: Vec<usize> = parts.iter().map(|p| names.rank(p)).collect::<Option<_>>()?;
    let folds = parts.len() == 1 && (FOLDS.iter().any(|(f, _)| *f == name) || ["argmax", "argmin"].contains(&&*name));
    match (name.as_str(), &ranks[..]) {
        _ if folds => ranks[0].checked_sub(axis.map_or(ranks[0], |_| 1)),
        ("sum" | "mean" | "prod" | "any" | "all", [a, 0]) if matches!(parts[1], Part::Number(_)) => a.checked_sub(1),
        ("norm" | "trace" | "len" | "count_nonzero", [_]) => Some(0),
        ("dot" | "matmul" | "inner" | "vdot", [a, b]) => match (a, b) {
            (1, 1) => Some(0),
            (2, 1) | (1, 2) => Some(1),
            (2, 2) => Some(2),
            _ => None,
        },
        ("outer", [1, 1]) => Some(2),
        ("einsum", [_, ..]) => Some(einsum(&parts)?.1.len()),
        ("astype", [a, ..]) => Some(*a),
        _ => ranks.into_iter().max(),
    }
}

/// A call under index variables.
pub fn call(w: &mut Writer, function: &Part, args: Args, under: &[String], term: bool) -> Option<Expr> {
    let (name, parts, axis) = resolved(w.names, function, args)?;
    if name == "convert" {
        let [of, Part::Name(ty)] = parts[..] else { return None };
        return Some(converted(w.expr(of, under, false)?, Type::from_name(ty)?));
    }
    if let [of] = parts[..]
        && let Some((_, fold)) = FOLDS.iter().find(|(f, _)| *f == name)
    {
        return folded(w, fold, of, axis, under);
    }
    if let ("sum" | "mean" | "prod" | "any" | "all", [of, Part::Number(n)]) = (name.as_str(), &parts[..]) {
        return folded(w, &name, of, Some(n.parse().ok()?), under);
    }
    if let Some(special) = linear(w, &name, &parts, under, term) {
        return Some(special);
    }
    let made: Vec<Expr> = match name.as_str() {
        "einsum" | "astype" | "argmax" | "argmin" | "len" | "norm" | "trace" | "count_nonzero" => vec![],
        _ => parts.iter().map(|p| w.expr(p, under, false)).collect::<Option<_>>()?,
    };
    match (name.as_str(), &made[..]) {
        ("where" | "ifelse" | "iff" | "IF", [c, a, b]) => Some(chosen(c, a, b)),
        ("clip" | "clamp", [x, low, high]) => {
            Some(called("min", vec![called("max", vec![x.clone(), low.clone()]), high.clone()]))
        }
        ("square", [x]) => Some(binary(BinaryOp::Mul, x.clone(), x.clone())),
        ("relu", [x]) => Some(called("max", vec![x.clone(), number("0.0")?])),
        ("sigmoid", [x]) => {
            let minus = super::write::unary(fiberloom_core::notation::syntax::UnaryOp::Neg, x.clone());
            let below = binary(BinaryOp::Add, number("1.0")?, called("exp", vec![minus]));
            Some(binary(BinaryOp::Div, number("1.0")?, below))
        }
        ("add", [a, b]) => Some(binary(BinaryOp::Add, a.clone(), b.clone())),
        ("subtract", [a, b]) => Some(binary(BinaryOp::Sub, a.clone(), b.clone())),
        ("multiply", [a, b]) => Some(binary(BinaryOp::Mul, a.clone(), b.clone())),
        ("divide" | "true_divide", [a, b]) => Some(binary(BinaryOp::Div, a.clone(), b.clone())),
        ("logical_and", [a, b]) => Some(binary(BinaryOp::AndAlso, a.clone(), b.clone())),
        ("logical_or", [a, b]) => Some(binary(BinaryOp::OrElse, a.clone(), b.clone())),
        ("float" | "double" | "float64", [x]) => Some(converted(x.clone(), Type::F64)),
        ("float32", [x]) => Some(converted(x.clone(), Type::F32)),
        ("int" | "int64", [x]) => Some(converted(x.clone(), Type::I64)),
        ("int32", [x]) => Some(converted(x.clone(), Type::I32)),
        ("max" | "min" | "mask" | "coalesce" | "xor" | "ldexp", [_, _, ..]) => Some(called(&name, made)),
        (name, [_, ..]) => {
            let own = RENAMED.iter().find(|(other, _)| *other == name).map(|(_, own)| *own);
            let known = own.is_some() || Op::from_name(name).is_some() || w.names.is_function(name);
            known.then(|| called(own.unwrap_or(name), made))
        }
        _ => None,
    }
}

/// Products, norms and the like: what arrays are multiplied and summed to.
fn linear(w: &mut Writer, name: &str, parts: &[&Part], under: &[String], term: bool) -> Option<Expr> {
    match (name, parts) {
        ("dot" | "matmul" | "inner" | "vdot", [a, b]) => w.product(a, b, under, term),
        ("outer", [a, b]) => {
            let [i, j] = under else { return None };
            let (a, b) = (w.expr(a, std::slice::from_ref(i), false)?, w.expr(b, std::slice::from_ref(j), false)?);
            Some(binary(BinaryOp::Mul, a, b))
        }
        ("einsum", _) if term => product_of(w, parts, under),
        ("norm", [x]) => {
            let vars = w.fresh_many(w.names.rank(x)?)?;
            let x = w.expr(x, &vars, false)?;
            Some(called("sqrt", vec![fold("sum", &vars, binary(BinaryOp::Mul, x.clone(), x))]))
        }
        ("trace", [x]) => {
            let i = w.fresh()?;
            let x = w.expr(x, &[i.clone(), i.clone()], false)?;
            Some(fold("sum", &[i], x))
        }
        ("count_nonzero", [x]) => {
            let vars = w.fresh_many(w.names.rank(x)?)?;
            let x = w.expr(x, &vars, false)?;
            Some(fold("count", &vars, binary(BinaryOp::Ne, x, number("0")?)))
        }
        ("len", [x]) => w.size(x, 0),
        ("astype", [x, Part::Name(ty)]) => {
            let ty = match ty.as_str() {
                "float" | "double" | "float64" => Type::F64,
                "float32" => Type::F32,
                "int" | "int64" => Type::I64,
                "int32" => Type::I32,
                name => Type::from_name(name)?,
            };
            Some(converted(w.expr(x, under, false)?, ty))
        }
        _ => None,
    }
}

/// `einsum("ij,j->i", A, x)`
fn product_of(w: &mut Writer, parts: &[&Part], under: &[String]) -> Option<Expr> {
    let (terms, out) = einsum(parts)?;
    let mut given: Vec<(char, String)> = out.chars().zip(under.iter().cloned()).collect();
    let mut factors = vec![];
    for (letters, part) in terms.iter().zip(&parts[1..]) {
        let Part::Name(tensor) = part else { return None };
        let mut indices = vec![];
        for c in letters.chars() {
            let known = given.iter().find(|(known, _)| *known == c).map(|(_, v)| v.clone());
            let var = if let Some(var) = known { var } else { w.fresh()? };
            given.push((c, var.clone()));
            indices.push(variable(&var));
        }
        factors.push(read(tensor, indices));
    }
    factors.into_iter().reduce(|a, b| binary(BinaryOp::Mul, a, b))
}

/// A fold of all modes, or of one.
fn folded(w: &mut Writer, fun: &str, of: &Part, axis: Option<usize>, under: &[String]) -> Option<Expr> {
    let rank = w.names.rank(of)?;
    let vars = w.fresh_many(if axis.is_some() { 1 } else { rank })?;
    if axis.is_some_and(|axis| axis >= rank) || rank == 0 {
        return None;
    }
    let kept = &under[under.len().checked_sub(rank - vars.len())?..];
    let mut all = kept.to_vec();
    match axis {
        Some(axis) => all.insert(axis, vars[0].clone()),
        None => all = vars.clone(),
    }
    let body = w.expr(of, &all, false)?;
    if fun != "mean" {
        return Some(fold(fun, &vars, body));
    }
    let modes = axis.map_or(0..rank, |axis| axis..axis + 1);
    let sizes = modes.map(|mode| Some(converted(w.size(of, mode)?, Type::F64)));
    let sizes = sizes.collect::<Option<Vec<_>>>()?.into_iter().reduce(|a, b| binary(BinaryOp::Mul, a, b))?;
    Some(binary(BinaryOp::Div, fold("sum", &vars, body), sizes))
}

/// The letters of each operand, and of the result, of `einsum("ij,j->i", …)`.
fn einsum(parts: &[&Part]) -> Option<(Vec<String>, String)> {
    let Some(Part::Text(spec)) = parts.first() else { return None };
    let spec: String = spec.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = spec.split_once("->")?;
    let terms: Vec<String> = left.split(',').map(str::to_string).collect();
    let letters = |text: &str| text.chars().all(|c| c.is_ascii_alphabetic());
    (terms.len() + 1 == parts.len() && terms.iter().all(|t| letters(t)) && letters(right))
        .then(|| (terms, right.to_string()))
}

fn chosen(c: &Expr, a: &Expr, b: &Expr) -> Expr {
    expr(ExprKind::If(Box::new(c.clone()), Box::new(a.clone()), Box::new(b.clone())))
}

fn converted(e: Expr, ty: Type) -> Expr {
    expr(ExprKind::Call(ident("convert"), vec![Argument::Expr(e), Argument::Type(ty, Span::default())]))
}
