//! Index variables: which domain each runs over.

use super::declare::Relate;
use fiberloom_core::notation::diagnostic::{Diagnostic, Span};
use fiberloom_core::notation::syntax::{Access, Argument, Expr, ExprKind, Ident, Index, Size};
use std::collections::HashMap;

/// The index variables that an expression is within, each with its domain, if it has one.
#[derive(Clone, Default)]
pub(super) struct Scope {
    pub vars: HashMap<String, Option<usize>>,
    /// The sizes of modes of the left side, by the variables that are their indices.
    pub sizes: HashMap<String, Size>,
}

/// Where a variable was seen to run over something: a domain, or numbers.
type Seen = Option<(Option<usize>, Span)>;

impl Relate {
    /// The same scope within something that binds these variables.
    pub(super) fn within(&mut self, scope: &Scope, vars: &[&Ident], body: &Expr) -> Scope {
        let mut inner = scope.clone();
        for var in vars {
            let domain = self.runs_over(&var.name, &[], &[body]);
            inner.vars.insert(var.name.clone(), domain);
            inner.sizes.remove(&var.name);
        }
        inner
    }

    /// What a variable that these accesses and expressions do not bind runs over.
    pub(super) fn runs_over(&mut self, var: &str, accesses: &[&Access], exprs: &[&Expr]) -> Option<usize> {
        let mut seen = None;
        accesses.iter().for_each(|a| self.in_access(a, var, &mut seen));
        exprs.iter().for_each(|e| self.in_expr(e, var, &mut seen));
        seen.and_then(|(domain, _)| domain)
    }

    fn in_access(&mut self, a: &Access, var: &str, seen: &mut Seen) {
        let modes = self.known.get(&a.tensor.name).map(|known| known.modes.clone());
        for (mode, index) in a.indices.iter().enumerate() {
            match index {
                Index::Access(inner) => self.in_access(inner, var, seen),
                Index::Computed { of, .. } => self.in_expr(of, var, seen),
                Index::Affine { span, .. } => {
                    let named = index.variable().is_some_and(|v| v.name == var);
                    // An undeclared result has what its variables run over.
                    let domain = modes.as_ref().and_then(|modes| modes.get(mode)).copied();
                    if let (true, Some(domain)) = (named, domain) {
                        self.sees(var, domain, *span, seen);
                    }
                }
                Index::Slice { .. } => {}
            }
        }
    }

    fn sees(&mut self, var: &str, domain: Option<usize>, span: Span, seen: &mut Seen) {
        match *seen {
            None => *seen = Some((domain, span)),
            Some((first, at)) if first != domain => {
                let called = |d: Option<usize>| match d {
                    Some(d) => format!("`{}`", self.domain_name(d)),
                    None => "numbers".to_string(),
                };
                let message = format!("`{var}` runs over {} here and over {} elsewhere", called(domain), called(first));
                let d = Diagnostic::new(span, message).label(at, "elsewhere");
                self.error(
                    d.help("coordinates of one domain are none of another: give the two one domain, or two variables"),
                );
            }
            Some(_) => {}
        }
    }

    fn in_expr(&mut self, e: &Expr, var: &str, seen: &mut Seen) {
        let binds = |names: &[&Ident]| names.iter().any(|n| n.name == var);
        match &e.kind {
            ExprKind::Literal(_) | ExprKind::Name(_) => {}
            ExprKind::Access(a) => self.in_access(a, var, seen),
            ExprKind::Unary(_, x) => self.in_expr(x, var, seen),
            ExprKind::Binary(_, a, b) => [a, b].into_iter().for_each(|x| self.in_expr(x, var, seen)),
            ExprKind::If(c, t, e) => [c, t, e].into_iter().for_each(|x| self.in_expr(x, var, seen)),
            ExprKind::Call(_, args) => {
                for arg in args {
                    if let Argument::Expr(x) = arg {
                        self.in_expr(x, var, seen);
                    }
                }
            }
            ExprKind::Reduce { vars, body, start, .. } => {
                start.iter().for_each(|s| self.in_expr(s, var, seen));
                if !binds(&vars.iter().collect::<Vec<_>>()) {
                    self.in_expr(body, var, seen);
                }
            }
            ExprKind::Collapse { body, from, .. } => {
                if !binds(&from.iter().collect::<Vec<_>>()) {
                    self.in_expr(body, var, seen);
                }
            }
            ExprKind::Split { body, from, .. } | ExprKind::Slice { body, from, .. } => {
                if !binds(&[from]) {
                    self.in_expr(body, var, seen);
                }
            }
            ExprKind::Concat { parts, from, .. } => {
                for (part, own) in parts.iter().zip(from) {
                    if !binds(&[own]) {
                        self.in_expr(part, var, seen);
                    }
                }
            }
        }
    }
}
