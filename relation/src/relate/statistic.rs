//! Averages and what is computed of them, as floats: of what stands, and passes.
//!
//! ```text
//!  avg(n: x)        a sum over how many values there are
//!  variance(n: x)   mean[] = avg(n: x), before; then a sum of squares of x − mean[] over one less than there are values
//!  stddev(n: x)     its square root
//! ```

use super::Holds;
use super::declare::{Known, Relate};
use super::expression::{binary, call, converted};
use super::index::variable;
use super::scope::Scope;
use fiberloom_core::algebra::{COUNT, Type};
use fiberloom_core::notation::diagnostic::Span;
use fiberloom_core::notation::free::free_names;
use fiberloom_core::notation::syntax::{
    Access, Assign, BinaryOp, Expr, ExprKind, Float, Ident, Literal, Size, Sort, Statement, Tensor,
};

/// Folds that have other names elsewhere, or are none.
const STATISTICS: [&str; 9] = ["avg", "mean", "average", "stddev", "std", "variance", "var", "median", "quantile"];

impl Relate {
    /// Whether a fold is of this kind, and no function of the program.
    pub(super) fn is_statistic(&self, name: &str) -> bool {
        STATISTICS.contains(&name) && !self.functions.contains_key(name)
    }

    /// An average as what it is made of. Others are refused with what to write.
    pub(super) fn statistic(
        &mut self,
        scope: &Scope,
        (function, vars, body): (&Ident, &[Ident], &Expr),
        span: Span,
    ) -> Option<Expr> {
        let over = vars.iter().map(|v| v.name.as_str()).collect::<Vec<_>>().join(", ");
        match function.name.as_str() {
            "avg" => {}
            "variance" | "stddev" => return self.spread(scope, (function, vars, body), span),
            "std" | "var" => {
                let name = if function.name == "std" { "stddev" } else { "variance" };
                self.say(span, format!("no fold `{function}`"), format!("write {name}({over}: {body})"));
                return None;
            }
            "mean" | "average" => {
                self.say(span, format!("no fold `{function}`"), format!("write avg({over}: {body})"));
                return None;
            }
            _ => {
                self.say(span, format!("no fold `{function}`"), median(&over, vars, body));
                return None;
            }
        }
        let stands = self.counted(body, span)?;
        let total = fold("sum", vars, chosen(&stands, body.clone(), Literal::Int(0)));
        Some(binary(BinaryOp::Div, total, fold(COUNT, vars, stands)))
    }

    /// Where values stand that are counted.
    fn counted(&mut self, body: &Expr, span: Span) -> Option<Expr> {
        let stands = self.stands(body);
        if stands.is_none() {
            let help = "an average is of values that are read: `sum(…) / n` of others";
            self.say(span, "how many values there are is not known", help);
        }
        stands
    }

    /// The variance of values, or its root, behind a statement that defines their average.
    fn spread(&mut self, scope: &Scope, (function, vars, body): (&Ident, &[Ident], &Expr), span: Span) -> Option<Expr> {
        let stands = self.counted(body, span)?;
        let bound = |name: &str| vars.iter().any(|v| v.name == name);
        // A variable that is compared, and reads nothing, is one of the left side, or runs over labels.
        let runs = |name: &str| scope.sizes.contains_key(name) || matches!(scope.vars.get(name), Some(Some(_)));
        let is_free = |name: &str, indexes: bool| !bound(name) && (indexes || runs(name));
        let free = free_names(body).into_iter().filter(|free| is_free(&free.name.name, free.indexes));
        let free: Vec<Ident> = free.map(|free| free.name.clone()).collect();
        let indices = free.iter().map(|name| variable(name.clone(), span)).collect();
        let mean = Access { tensor: Ident { name: self.fresh("mean"), span }, indices, span };
        self.mean_declared(scope, &mean.tensor, &free);
        let average = Ident { name: "avg".to_string(), span: function.span };
        let kind =
            ExprKind::Reduce { function: average, vars: vars.to_vec(), body: Box::new(body.clone()), start: None };
        let (lhs, rhs) = (mean.clone(), Expr { kind, span });
        let before = Statement { lhs, op: Assign::Set, rhs, locals: Vec::new(), schedule: None, span };
        let before = self.statement(&before, true)?;
        self.pending.push(before);
        let mean = Expr { kind: ExprKind::Access(mean), span };
        let from = binary(BinaryOp::Sub, converted(body.clone(), Type::F64), mean);
        let number = |x: f64| Expr { kind: ExprKind::Literal(Literal::Float(Float(x))), span };
        let square = call("pow", vec![from, number(2.0)], span);
        let squares = fold("sum", vars, chosen(&stands, square, Literal::Float(Float(0.0))));
        let less = binary(BinaryOp::Sub, fold(COUNT, vars, stands), number(1.0));
        let variance = binary(BinaryOp::Div, squares, less);
        Some(if function.name == "stddev" { call("sqrt", vec![variance], span) } else { variance })
    }
}

impl Relate {
    /// Declares an average under variables, where their sizes are known: it may compare them, and read nothing at them.
    fn mean_declared(&mut self, scope: &Scope, mean: &Ident, free: &[Ident]) {
        let span = mean.span;
        let modes: Vec<Option<usize>> = free.iter().map(|v| scope.vars.get(&v.name).copied().flatten()).collect();
        let size = |(v, domain): (&Ident, &Option<usize>)| {
            let of_domain = |d: usize| Size::Name(Ident { name: self.domain_name(d).to_string(), span });
            scope.sizes.get(&v.name).cloned().or(domain.map(of_domain))
        };
        let sizes: Option<Vec<Size>> = free.iter().zip(&modes).map(size).collect();
        let known = Known {
            modes,
            sizes: sizes.clone().unwrap_or_default(),
            called: free.iter().map(|v| v.name.clone()).collect(),
            holds: Some(Holds::Plain(Type::F64)),
            fill: Literal::Int(0),
            column: None,
            given: false,
            span,
        };
        self.known.insert(mean.name.clone(), known);
        let sort = Sort::Plain(Type::F64);
        let tensor = |sizes| Tensor { name: mean.clone(), sort, sizes, fill: None, format: None };
        self.means.extend(sizes.map(tensor));
    }
}

/// A value where something stands, else a literal.
fn chosen(stands: &Expr, value: Expr, otherwise: Literal) -> Expr {
    let span = value.span;
    let nothing = Box::new(Expr { kind: ExprKind::Literal(otherwise), span });
    Expr { kind: ExprKind::If(Box::new(stands.clone()), Box::new(value), nothing), span }
}

/// A fold as a float.
fn fold(name: &str, vars: &[Ident], body: Expr) -> Expr {
    let span = body.span;
    let function = Ident { name: name.to_string(), span };
    let kind = ExprKind::Reduce { function, vars: vars.to_vec(), body: Box::new(body), start: None };
    converted(Expr { kind, span }, Type::F64)
}

/// How a median is written: the least value that half of the values are not above.
fn median(over: &str, vars: &[Ident], body: &Expr) -> String {
    let [v] = vars else { return format!("a median is of one index variable: {over} are several") };
    let text = body.to_string();
    let of = |other: &str| {
        let words = text.split_inclusive(|c: char| !(c == '_' || c.is_alphanumeric()));
        let word = |part: &str| match part.strip_prefix(v.name.as_str()) {
            Some(rest) if rest.chars().all(|c| !(c == '_' || c.is_alphanumeric())) => format!("{other}{rest}"),
            _ => part.to_string(),
        };
        words.map(word).collect::<String>()
    };
    let other = format!("{}2", v.name);
    let (x, y) = (of(&v.name), of(&other));
    format!(
        "the least value that half of them are not above: `half[{v}] = 2 * count({other}: {y} <= {x}) >= count({other}: {y} == {y})`, \
         then `min({v}: if half[{v}] then {x} else …)` with a value above all"
    )
}
