//! Averages: `avg(n: x)` is a sum over how many values there are, as floats; of what stands, and passes.

use super::declare::Relate;
use super::expression::{binary, converted};
use crate::algebra::{COUNT, Type};
use crate::notation::diagnostic::Span;
use crate::notation::syntax::{BinaryOp, Expr, ExprKind, Ident, Literal};

/// Folds that have other names elsewhere, or are none.
const STATISTICS: [&str; 9] = ["avg", "mean", "average", "stddev", "std", "variance", "var", "median", "quantile"];

impl Relate {
    /// Whether a fold is of this kind, and no function of the program.
    pub(super) fn is_statistic(&self, name: &str) -> bool {
        STATISTICS.contains(&name) && !self.functions.contains_key(name)
    }

    /// An average as what it is made of. Others are refused with what to write.
    pub(super) fn statistic(&mut self, function: &Ident, vars: &[Ident], body: &Expr, span: Span) -> Option<Expr> {
        let over = vars.iter().map(|v| v.name.as_str()).collect::<Vec<_>>().join(", ");
        match function.name.as_str() {
            "avg" => {}
            "mean" | "average" => {
                self.say(span, format!("no fold `{function}`"), format!("write avg({over}: {body})"));
                return None;
            }
            "median" | "quantile" => {
                let help = "it takes an order of all values: `--order` gives a result, written to a file, in one";
                self.say(span, format!("no fold `{function}`"), help);
                return None;
            }
            _ => {
                let help = format!(
                    "define the average before, `m[] = avg({over}: {body})`, then sqrt(avg({over}: pow(convert({body}, f64) - m[], 2.0)))"
                );
                self.say(span, format!("no fold `{function}`"), help);
                return None;
            }
        }
        let Some(stands) = self.stands(body) else {
            let help = "an average is of values that are read: `sum(…) / n` of others";
            self.say(span, "how many values there are is not known", help);
            return None;
        };
        let fold = |name: &str, body: Expr| {
            let function = Ident { name: name.to_string(), span: function.span };
            let kind = ExprKind::Reduce { function, vars: vars.to_vec(), body: Box::new(body), start: None };
            converted(Expr { kind, span }, Type::F64)
        };
        let nothing = Box::new(Expr { kind: ExprKind::Literal(Literal::Int(0)), span });
        let kind = ExprKind::If(Box::new(stands.clone()), Box::new(body.clone()), nothing);
        Some(binary(BinaryOp::Div, fold("sum", Expr { kind, span }), fold(COUNT, stands)))
    }
}
