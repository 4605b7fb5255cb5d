//! Labels that a call gives: those of the domain in whose mode the call stands, or of what is assigned.
//!
//! ```text
//!  many[upper(city[n])] += 1        CITY: Rome, Oslo   ──upper──▶   labels of NAME, the mode of `many`: ROME, OSLO
//! ```
//!
//! All labels of the first domain become labels of the other, also those at which nothing is read.

use super::call::{OF_LABELS, of_label};
use super::{Declared, Env, Key, Of, Over, World};
use fiberloom_core::notation::syntax::*;

/// A call over labels: the domain of its argument, the calls from the innermost on, and the domain that it gives labels to.
struct Image<'p> {
    from: String,
    calls: Vec<(&'p str, &'p [Argument])>,
    to: String,
}

/// Where an expression stands: a statement's left side, its right side, and the bodies of folds.
struct Within<'p> {
    lhs: &'p Access,
    exprs: Vec<&'p Expr>,
}

impl World {
    /// Adds to each domain what labels of others become.
    pub(super) fn images(&mut self, program: &Program) -> Result<(), String> {
        let mut all = Vec::new();
        for item in &program.items {
            let Item::Statement(s) = item else { continue };
            let within = Within { lhs: &s.lhs, exprs: vec![&s.rhs] };
            self.in_access(&within, &s.lhs, &mut all)?;
            self.in_expr(&within, &s.rhs, &mut all)?;
            if let Some(Declared { sort: Some(Sort::Domain(to)), .. }) = self.declared.get(&s.lhs.tensor.name) {
                all.extend(self.image(&within, &s.rhs, &to.name)?);
            }
        }
        // One domain's labels may lead to another's, and on.
        loop {
            let before: usize = self.labels.values().map(|labels| labels.len()).sum();
            for image in &all {
                let from: Vec<Key> = self.labels[&image.from].iter().cloned().collect();
                for label in from {
                    let became = self.became(label, &image.calls)?;
                    self.labels.entry(image.to.clone()).or_default().extend(became);
                }
            }
            if self.labels.values().map(|labels| labels.len()).sum::<usize>() == before {
                return Ok(());
            }
        }
    }

    /// What a label becomes by these calls.
    fn became(&self, label: Key, calls: &[(&str, &[Argument])]) -> Result<Option<Key>, String> {
        let mut value = Of::Label(Some(label));
        for (name, args) in calls {
            let of = |arg: &Argument| match arg {
                Argument::Expr(x) if matches!(x.kind, ExprKind::Literal(_)) => self.eval(x, &Env::new()),
                _ => Ok(value.clone()),
            };
            value = of_label(name, &args.iter().map(of).collect::<Result<Vec<_>, _>>()?)?;
        }
        Ok(value.key())
    }

    /// Notes the images in the indices of an access; `within` are the expressions that it stands in, from the outermost on.
    fn in_access<'p>(&self, within: &Within<'p>, a: &'p Access, all: &mut Vec<Image<'p>>) -> Result<(), String> {
        for (mode, index) in a.indices.iter().enumerate() {
            match index {
                Index::Access(inner) => self.in_access(within, inner, all)?,
                Index::Computed { of, .. } => {
                    self.in_expr(within, of, all)?;
                    let over = self.declared.get(&a.tensor.name).and_then(|declared| declared.modes.get(mode));
                    if let Some(Over::Domain(to)) = over {
                        all.extend(self.image(within, of, to)?);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn in_expr<'p>(&self, within: &Within<'p>, e: &'p Expr, all: &mut Vec<Image<'p>>) -> Result<(), String> {
        match &e.kind {
            ExprKind::Access(a) => self.in_access(within, a, all),
            ExprKind::Unary(_, x) => self.in_expr(within, x, all),
            ExprKind::Binary(_, a, b) => [a, b].into_iter().try_for_each(|x| self.in_expr(within, x, all)),
            ExprKind::If(c, t, e) => [c, t, e].into_iter().try_for_each(|x| self.in_expr(within, x, all)),
            ExprKind::Call(_, args) => args.iter().try_for_each(|arg| match arg {
                Argument::Expr(x) => self.in_expr(within, x, all),
                Argument::Type(..) => Ok(()),
            }),
            ExprKind::Reduce { body, .. } => {
                let inner = Within { exprs: [&within.exprs[..], &[body]].concat(), lhs: within.lhs };
                self.in_expr(&inner, body, all)
            }
            _ => Ok(()),
        }
    }

    /// The image that an expression is, where it is one of labels.
    fn image<'p>(&self, within: &Within<'p>, e: &'p Expr, to: &str) -> Result<Option<Image<'p>>, String> {
        let (mut calls, mut at) = (Vec::new(), e);
        while let ExprKind::Call(name, args) = &at.kind
            && OF_LABELS.contains(&name.name.as_str())
        {
            calls.insert(0, (name.name.as_str(), &args[..]));
            let inner = args.iter().find_map(|arg| match arg {
                Argument::Expr(x) if !matches!(x.kind, ExprKind::Literal(_)) => Some(x),
                _ => None,
            });
            at = inner.ok_or("a call of literals alone")?;
        }
        let from = match &at.kind {
            ExprKind::Access(a) => {
                match self.declared.get(&a.tensor.name).and_then(|declared| declared.sort.as_ref()) {
                    Some(Sort::Domain(from)) => Some(from.name.clone()),
                    _ => None,
                }
            }
            ExprKind::Name(v) => {
                let mut found = None;
                within.exprs.iter().rev().for_each(|e| self.seen_in(e, &v.name, &mut found));
                self.seen(within.lhs, &v.name, &mut found);
                if let Some(Over::Domain(from)) = found { Some(from) } else { None }
            }
            _ => None,
        };
        Ok(from.filter(|_| !calls.is_empty()).map(|from| Image { from, calls, to: to.to_string() }))
    }
}
