//! Where shape operators stand: around what, in what, how deep, and into which level of the result.
//!
//! ```text
//!  R[k] = 2 * collapse(A[i,j] + B[i,j], (i, j) -> k)      collapse of +, collapse in *, collapse into compressed, 1 deep
//! ```

use super::super::case::{Case, Expr, Shape, Statement};
use super::{Target, target};
use fiberloom_core::algebra::Op;
use std::collections::BTreeSet;

/// Words for all of them in a case.
pub fn shaped(case: &Case) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for s in &case.statements {
        let deepest = Seen { case, statement: s, all: &mut all }.expr(&s.rhs, "alone", 0);
        all.extend((deepest > 0).then(|| format!("{deepest} deep")));
    }
    all
}

struct Seen<'a> {
    case: &'a Case,
    statement: &'a Statement,
    all: &'a mut BTreeSet<String>,
}

/// What an expression is, in a word.
fn word(e: &Expr) -> &'static str {
    match e {
        Expr::Literal(_) | Expr::Var(..) => "number",
        Expr::Access(..) => "element",
        Expr::Apply(Op::Mul, _) => "*",
        Expr::Apply(Op::Add, _) => "+",
        Expr::Apply(..) => "function",
        Expr::Reduce(..) => "reduction",
        Expr::Shape(Shape::Slice(_, step), ..) if *step > 1 => "stride",
        Expr::Shape(shape, ..) => shape.name(),
    }
}

impl Seen<'_> {
    /// How many operators an expression has in one another.
    fn expr(&mut self, e: &Expr, outside: &str, above: usize) -> usize {
        let parts: &[Expr] = match e {
            Expr::Literal(_) | Expr::Var(..) | Expr::Access(..) => &[],
            Expr::Apply(_, args) | Expr::Shape(.., args) => args,
            Expr::Reduce(_, _, body) => std::slice::from_ref(body),
        };
        let name = word(e);
        let mut here = 0;
        if let Expr::Shape(_, _, to, parts) = e {
            here = 1;
            self.all.insert(format!("{name} in {outside}"));
            self.all.extend(parts.iter().map(|part| format!("{name} of {}", word(part))));
            if above == 0 {
                let into = to.iter().map(|v| target(self.case, self.statement, *v)).filter(|t| *t != Target::Folded);
                self.all.extend(into.map(|into| format!("{name} into {into}")));
            }
        }
        let below = parts.iter().map(|part| self.expr(part, name, above + here)).max();
        here + below.unwrap_or(0)
    }
}
