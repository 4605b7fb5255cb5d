//! What other systems call things, and what they are here: the help of messages about names that are not known.
//!
//! ```text
//!  clip(x[i], 0.0, 1.0)    min(max(x[i], 0.0), 1.0)
//!  mean(i: x[i])           sum(i: x[i]) / convert(N, f64)
//!  sum(A)                  sum(i, j: A[i,j])
//!  alpha * x[i]            alpha[] * x[i], of a scalar `tensor alpha: f64[]`
//! ```

use super::Check;
use fiberloom_core::notation::syntax::{Access, Affine, Expr, ExprKind, Factor, Ident, Index, Term};
use fiberloom_core::notation::typed::TensorId;

/// What other systems call things, and what they are called here.
const ELSEWHERE: [(&str, &str); 34] = [
    ("maximum", "max"),
    ("fmax", "max"),
    ("amax", "max"),
    ("minimum", "min"),
    ("fmin", "min"),
    ("amin", "min"),
    ("product", "prod"),
    ("mul", "prod"),
    ("times", "prod"),
    ("add", "sum"),
    ("plus", "sum"),
    ("total", "sum"),
    ("fabs", "abs"),
    ("absolute", "abs"),
    ("power", "pow"),
    ("ln", "log"),
    ("ceiling", "ceil"),
    ("rint", "round"),
    ("cast", "convert"),
    ("astype", "convert"),
    ("ifelse", "select"),
    ("nvl", "coalesce"),
    ("ifnull", "coalesce"),
    ("arcsin", "asin"),
    ("arccos", "acos"),
    ("arctan", "atan"),
    ("arctan2", "atan2"),
    ("arcsinh", "asinh"),
    ("arccosh", "acosh"),
    ("arctanh", "atanh"),
    ("mod", "floormod"),
    ("remainder", "floormod"),
    ("floor_divide", "floordiv"),
    ("isfin", "isfinite"),
];

/// The known name that is most likely meant by another: what other systems call it so, or one that is written nearly so.
pub(super) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let known: Vec<&str> = known.collect();
    let elsewhere = ELSEWHERE.iter().find(|(other, _)| *other == name).map(|(_, own)| *own);
    let own = known.iter().find(|k| Some(**k) == elsewhere).copied();
    own.or_else(|| fiberloom_core::nearest(name, known.into_iter()))
}

/// The names under which index variables are made up.
const VARIABLES: [&str; 6] = ["i", "j", "k", "l", "m", "n"];

/// A function of elements that is none here, written out. Arguments are as they stand.
fn written(name: &str, args: &[String]) -> Option<String> {
    Some(match (name, args) {
        ("clip" | "clamp", [x, low, high]) => format!("min(max({x}, {low}), {high})"),
        ("where" | "iff" | "cond" | "ifelse", [c, a, b]) => format!("if {c} then {a} else {b}"),
        ("float" | "double" | "float64", [x]) => format!("convert({x}, f64)"),
        ("float32" | "single", [x]) => format!("convert({x}, f32)"),
        ("int" | "int64" | "long", [x]) => format!("convert({x}, i64)"),
        ("int32", [x]) => format!("convert({x}, i32)"),
        ("square" | "sq", [x]) => format!("pow({x}, 2)"),
        ("cbrt", [x]) => format!("pow({x}, 1.0 / 3.0)"),
        ("reciprocal", [x]) => format!("1.0 / ({x})"),
        ("rsqrt", [x]) => format!("1.0 / sqrt({x})"),
        ("relu", [x]) => format!("max({x}, 0.0)"),
        ("sigmoid" | "expit", [x]) => format!("1.0 / (1.0 + exp(-({x})))"),
        ("exp2", [x]) => format!("pow(2.0, {x})"),
        ("deg2rad" | "radians", [x]) => format!("({x}) * 0.017453292519943295"),
        ("lerp", [a, b, t]) => format!("{a} + ({b} - {a}) * {t}"),
        ("fma", [a, b, c]) => format!("{a} * {b} + {c}"),
        ("and", [a, b]) | ("logical_and", [a, b]) => format!("{a} && {b}"),
        ("or", [a, b]) | ("logical_or", [a, b]) => format!("{a} || {b}"),
        ("not" | "logical_not", [a]) => format!("!({a})"),
        ("between", [x, low, high]) => format!("{x} >= {low} && {x} <= {high}"),
        ("dot" | "inner" | "matmul" | "mm", [a, b]) => format!("{a} * {b}"),
        ("is_none" | "isnull" | "is_null", [x]) => format!("{x} == none"),
        ("heaviside" | "step", [x, ..]) => format!("if {x} > 0.0 then 1.0 else 0.0"),
        _ => return None,
    })
}

impl Check {
    /// What a call of a function that is not known is here.
    pub(super) fn called_elsewhere(&self, name: &str, args: &[&Expr]) -> Option<String> {
        if let ([_], Some(folded)) = (args, self.folded_elsewhere(name, args)) {
            return Some(folded);
        }
        if let [of, ..] = args
            && let Some(line) = self.matrix_elsewhere(name, of)
        {
            return Some(format!("write {line}"));
        }
        let args: Vec<String> = args.iter().map(|e| e.to_string()).collect();
        written(name, &args).map(|line| format!("write {line}"))
    }

    /// A function of a matrix, or of its elements, that is none here.
    fn matrix_elsewhere(&self, name: &str, of: &Expr) -> Option<String> {
        if let ("len", ExprKind::Name(tensor)) = (name, &of.kind) {
            return self.size_name(*self.tensors.get(&tensor.name)?, 0);
        }
        let free = fiberloom_core::notation::free::free_names(of);
        let named: Vec<&str> = free.iter().filter(|free| free.indexes).map(|free| &*free.name.name).collect();
        let (i, j) = match (&of.kind, &named[..]) {
            (ExprKind::Name(_), _) => ("i", "j"),
            (_, [i, j]) => (*i, *j),
            _ => return None,
        };
        let at = |vars: &[&str]| match &of.kind {
            ExprKind::Name(tensor) => element(tensor, vars).to_string(),
            _ => of.to_string(),
        };
        Some(match (name, &of.kind) {
            ("tril", _) => format!("mask({j} <= {i}, {})", at(&[i, j])),
            ("triu", _) => format!("mask({j} >= {i}, {})", at(&[i, j])),
            ("trace", ExprKind::Name(_)) => format!("sum(i: {})", at(&["i", "i"])),
            ("diag" | "diagonal", ExprKind::Name(_)) => at(&["i", "i"]),
            ("transpose", ExprKind::Name(_)) => at(&["j", "i"]),
            _ => return None,
        })
    }

    /// A fold of a whole array, or of elements without saying over which variables.
    pub(super) fn folded_elsewhere(&self, name: &str, args: &[&Expr]) -> Option<String> {
        let [of, ..] = args else { return None };
        let (vars, body) = match &of.kind {
            ExprKind::Name(tensor) => {
                let id = *self.tensors.get(&tensor.name)?;
                let vars = VARIABLES.get(..self.out.tensors[id.index()].sizes.len())?;
                (vars.iter().map(ToString::to_string).collect::<Vec<_>>(), element(tensor, vars))
            }
            _ => {
                let free = fiberloom_core::notation::free::free_names(of);
                let vars = free.iter().filter(|free| free.indexes).map(|free| free.name.name.clone());
                (vars.collect(), Expr::clone(of))
            }
        };
        self.fold_written(name, &vars, &body)
    }

    /// A fold that is none here, over these variables.
    pub(super) fn fold_written(&self, name: &str, vars: &[String], body: &Expr) -> Option<String> {
        let (over, first) = (vars.join(", "), vars.first()?);
        let sizes: Option<Vec<String>> = vars.iter().map(|v| self.size_under(v, body)).collect();
        let count =
            || Some(sizes.clone()?.iter().map(|n| format!("convert({n}, f64)")).collect::<Vec<_>>().join(" * "));
        let own = ELSEWHERE.iter().find(|(other, _)| *other == name).map_or(name, |(_, own)| *own);
        let free = fiberloom_core::notation::free::free_names(body);
        let left = free.iter().filter(|free| free.indexes).map(|free| &*free.name.name);
        let left: Vec<&str> = left.filter(|name| vars.iter().all(|v| v != name)).collect();
        let m = format!("m[{}]", left.join(","));
        Some(match own {
            "sum" | "prod" | "min" | "max" | "any" | "all" | "count" => format!("write {own}({over}: {body})"),
            "mean" | "avg" | "average" => match count() {
                Some(n) if n.contains('*') => format!("write sum({over}: {body}) / ({n})"),
                Some(n) => format!("write sum({over}: {body}) / {n}"),
                None => format!("write sum({over}: {body}) / convert(N, f64), `N` the size of what `{over}` runs over"),
            },
            "norm" => format!("write sqrt(sum({over}: {body} * {body}))"),
            "argmax" | "argmin" => {
                let fold = &own[3..];
                let size = self.size_under(first, body).unwrap_or("N".to_string());
                format!(
                    "define `{m} = {fold}({over}: {body})` before, then min({first}: if {body} == {m} then {first} else {size})"
                )
            }
            "var" | "std" | "stddev" => format!(
                "define the mean, `{m} = sum({over}: {body}) / …`, before, then sum({over}: pow({body} - {m}, 2)) / …"
            ),
            "ptp" => format!("write max({over}: {body}) - min({over}: {body})"),
            "nnz" | "getnnz" | "count_nonzero" => format!("write count({over}: {body} != 0)"),
            "cumsum" => format!("write sum(k: if k <= {first} then … else 0), `k` in the place of `{first}`"),
            _ => return None,
        })
    }

    /// The size of a mode that a variable stands alone in.
    fn size_under(&self, var: &str, e: &Expr) -> Option<String> {
        let mut found = None;
        let mut look = |a: &Access| {
            let mode = a.indices.iter().position(|i| i.variable().is_some_and(|v| v.name == var));
            let tensor = self.tensors.get(&a.tensor.name).copied();
            if let (Some(mode), Some(tensor)) = (mode, tensor) {
                found = found.take().or_else(|| self.size_name(tensor, mode));
            }
        };
        super::depth::accesses(super::depth::Node::Expr(e), &mut look);
        found
    }

    fn size_name(&self, tensor: TensorId, mode: usize) -> Option<String> {
        let size = self.out.tensors[tensor.index()].sizes.get(mode)?;
        let size = &self.out.sizes[size.index()];
        size.name.clone().or_else(|| size.value.map(|n| n.to_string()))
    }

    /// How a tensor is read, as help shows it: `x[i]`, `s[]`.
    pub(super) fn read_as(&self, tensor: &Ident) -> Option<String> {
        let id = *self.tensors.get(&tensor.name)?;
        let vars = VARIABLES.get(..self.out.tensors[id.index()].sizes.len())?;
        Some(element(tensor, vars).to_string())
    }
}

/// What a name alone is here that is not known.
pub(super) fn named_elsewhere(name: &str) -> Option<String> {
    Some(match name {
        "pi" | "PI" | "M_PI" => "write 3.141592653589793".to_string(),
        "e" | "E" => "write exp(1.0), or 2.718281828459045".to_string(),
        "True" => "write true".to_string(),
        "False" => "write false".to_string(),
        "None" | "null" | "NULL" | "NA" => "what a column does not have is `none`".to_string(),
        "Inf" | "Infinity" | "infinity" => "write inf".to_string(),
        "NaN" | "NAN" => "write nan".to_string(),
        _ => return None,
    })
}

/// `x[i, j]` as an expression.
fn element(tensor: &Ident, vars: &[&str]) -> Expr {
    let index = |name: &&str| {
        let factor = Factor::Var(Ident { name: name.to_string(), span: tensor.span });
        let term = Term { coefficient: None, factor, divisions: vec![] };
        Index::Affine { permit: false, map: Affine { terms: vec![(false, term)] }, span: tensor.span }
    };
    let indices = vars.iter().map(index).collect();
    let access = Access { tensor: tensor.clone(), indices, span: tensor.span };
    Expr { kind: ExprKind::Access(access), span: tensor.span }
}
