//! Intervals of index maps: an index without `~` stays in its array.

use crate::notation::Diagnostic;
use crate::notation::typed::{Expr, Index, Kind, Map, Program, SizeId, TensorId, VarId};

struct Ranges<'a> {
    program: &'a Program,
    var: &'a dyn Fn(VarId) -> Option<u64>,
    size: &'a dyn Fn(SizeId) -> Option<u64>,
    errors: Vec<Diagnostic>,
}

/// Every index that can leave its array, as far as extents are known.
pub fn check(
    program: &Program,
    var: &dyn Fn(VarId) -> Option<u64>,
    size: &dyn Fn(SizeId) -> Option<u64>,
) -> Vec<Diagnostic> {
    let mut r = Ranges { program, var, size, errors: Vec::new() };
    for s in &program.statements {
        r.access(s.tensor, &s.indices);
        r.expr(&s.rhs);
    }
    r.errors
}

impl Ranges<'_> {
    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            Kind::Literal(_) | Kind::Index(_) | Kind::Local(_) => {}
            Kind::Access(t, indices) => self.access(*t, indices),
            Kind::Call(_, args) => args.iter().for_each(|a| self.expr(a)),
            Kind::Reduce { body, start, .. } => {
                self.expr(body);
                start.iter().for_each(|s| self.expr(s));
            }
            Kind::Collapse { body, .. } | Kind::Split { body, .. } | Kind::Slice { body, .. } => self.expr(body),
            Kind::Concat { parts, .. } => parts.iter().for_each(|p| self.expr(p)),
        }
    }

    fn access(&mut self, t: TensorId, indices: &[Index]) {
        let tensor = &self.program.tensors[t.index()];
        for (m, index) in indices.iter().enumerate() {
            if index.bare().is_some() {
                continue;
            }
            self.gathers(&index.map);
            // Where some variable has no coordinate, nothing is read.
            let Some((least, most)) = self.interval(&index.map) else { continue };
            let extent = (self.size)(tensor.sizes[m]);
            let overflows = least < i64::MIN as i128 || most > i64::MAX as i128;
            if overflows {
                self.errors.push(Diagnostic::new(index.span, "this index can overflow 64 bits"));
            } else if !index.permit && (least < 0 || extent.is_some_and(|n| most >= n as i128)) {
                let extent = extent.map_or("its extent".to_string(), |n| format!("extent {n}"));
                let message = format!(
                    "this index is {least} to {most}, and mode {m} of `{}` has {extent}: it can leave the array",
                    tensor.name
                );
                let help = "write `~` before it and replace what is missing: coalesce(…, 0)";
                self.errors.push(Diagnostic::new(index.span, message).help(help));
            }
        }
    }

    fn gathers(&mut self, map: &Map) {
        match map {
            Map::Var(_) | Map::Const(_) => {}
            Map::Add(a, b) => [a, b].into_iter().for_each(|m| self.gathers(m)),
            Map::Mul(_, a) | Map::Div(a, _) | Map::Mod(a, _) => self.gathers(a),
            Map::Gather(t, indices) => self.access(*t, indices),
        }
    }

    /// Least and greatest value; `None` if not known, or if there is none. What a gather reads is checked when read.
    fn interval(&self, map: &Map) -> Option<(i128, i128)> {
        Some(match map {
            Map::Var(v) => match (self.var)(*v)? {
                0 => return None,
                n => (0, n as i128 - 1),
            },
            Map::Const(c) => (*c as i128, *c as i128),
            Map::Add(a, b) => {
                let (a, b) = (self.interval(a)?, self.interval(b)?);
                (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
            }
            Map::Mul(c, a) => {
                let (a, c) = (self.interval(a)?, *c as i128);
                let (x, y) = (a.0.saturating_mul(c), a.1.saturating_mul(c));
                (x.min(y), x.max(y))
            }
            Map::Div(a, n) => {
                let a = self.interval(a)?;
                (a.0.div_euclid(*n as i128), a.1.div_euclid(*n as i128))
            }
            Map::Mod(a, n) => {
                let (a, n) = (self.interval(a)?, *n as i128);
                if a.0.div_euclid(n) == a.1.div_euclid(n) { (a.0.rem_euclid(n), a.1.rem_euclid(n)) } else { (0, n - 1) }
            }
            Map::Gather(..) => return None,
        })
    }
}
