//! Copies of expressions in which variables, tensors, or both are others.

use super::draft::Draft;
use super::expr::{call, index, integer, made};
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::notation::typed::{Bound, Expr, Index, Kind, Map, TensorId, VarId};
use fiberloom_core::notation::{Diagnostic, Span};
use rustc_hash::{FxHashMap, FxHashSet};

/// What becomes of variables and tensors.
#[derive(Clone, Default)]
pub(super) struct Change {
    /// Variables, which become these maps of others.
    pub(super) maps: FxHashMap<VarId, Map>,
    /// Tensors.
    pub(super) tensors: FxHashMap<TensorId, TensorId>,
    /// Variables whose maps may leave what is read under them.
    leaving: FxHashSet<VarId>,
    /// Whether variables that an expression binds become others, too; else they are their own.
    bound: bool,
}

impl Change {
    /// Variables become others.
    pub(super) fn vars(pairs: impl IntoIterator<Item = (VarId, VarId)>) -> Change {
        Change { maps: pairs.into_iter().map(|(from, to)| (from, Map::Var(to))).collect(), ..Change::default() }
    }

    /// Variables become others, also where an expression binds them. A variable that stands twice becomes the last.
    pub(super) fn all(pairs: impl IntoIterator<Item = (VarId, VarId)>) -> Change {
        Change { bound: true, ..Change::vars(pairs) }
    }

    /// Variables become these maps.
    pub(super) fn of(maps: FxHashMap<VarId, Map>) -> Change {
        Change { maps, ..Change::default() }
    }

    /// A variable becomes a map that may leave what is read under it: there it is missing.
    pub(super) fn leaving(v: VarId, map: Map) -> Change {
        Change { leaving: [v].into_iter().collect(), ..Change::of([(v, map)].into_iter().collect()) }
    }

    /// Whether nothing becomes another.
    fn is_nothing(&self) -> bool {
        self.maps.is_empty() && self.tensors.is_empty()
    }

    /// The expression, changed.
    ///
    /// # Errors
    /// A shape operator other than a slice whose variable becomes no variable.
    pub(super) fn expr(&self, e: &Expr) -> Result<Expr, Diagnostic> {
        if self.is_nothing() {
            return Ok(e.clone());
        }
        let hidden = binds(e);
        if !self.bound && hidden.iter().any(|v| self.maps.contains_key(v)) {
            let mut outer = self.clone();
            outer.maps.retain(|v, _| !hidden.contains(v));
            return outer.within(e, self);
        }
        self.within(e, self)
    }

    /// The expression, with its parts changed; what it leaves behind, `to` of a shape operator, is changed by `outside`.
    fn within(&self, e: &Expr, outside: &Change) -> Result<Expr, Diagnostic> {
        let boxed = |e: &Expr| self.expr(e).map(Box::new);
        let to = |v: VarId| match outside.maps.get(&v) {
            None => Ok(v),
            Some(Map::Var(now)) => Ok(*now),
            Some(_) => Err(unwritten(e.span)),
        };
        // A variable that is bound is its own, unless all are renamed.
        let own = |v: VarId| match self.maps.get(&v) {
            Some(Map::Var(now)) => *now,
            _ => v,
        };
        let kind = match &e.kind {
            Kind::Literal(_) | Kind::Size(_) | Kind::Local(_) => e.kind.clone(),
            Kind::Index(v) => match self.maps.get(v) {
                Some(map) => return value(map, e),
                None => e.kind.clone(),
            },
            Kind::Access(t, indices) => Kind::Access(self.tensor(*t), self.indices(indices)?),
            Kind::Call(fun, args) => Kind::Call(*fun, args.iter().map(|a| self.expr(a)).collect::<Result<_, _>>()?),
            Kind::Reduce { fun, vars, body, start } => Kind::Reduce {
                fun: *fun,
                vars: vars.iter().map(|v| own(*v)).collect(),
                body: boxed(body)?,
                start: start.as_deref().map(boxed).transpose()?,
            },
            Kind::Collapse { body, from, to: whole } => {
                Kind::Collapse { body: boxed(body)?, from: from.iter().map(|v| own(*v)).collect(), to: to(*whole)? }
            }
            Kind::Split { body, from, to: (a, b) } => {
                Kind::Split { body: boxed(body)?, from: own(*from), to: (to(*a)?, to(*b)?) }
            }
            Kind::Concat { parts, from, to: whole } => Kind::Concat {
                parts: parts.iter().map(|p| self.expr(p)).collect::<Result<_, _>>()?,
                from: from.iter().map(|v| own(*v)).collect(),
                to: to(*whole)?,
            },
            Kind::Slice { body, from, to: part, start, end, step } => match outside.maps.get(part) {
                Some(map) if !matches!(map, Map::Var(_)) => {
                    let mut inner = self.clone();
                    inner.maps.insert(*from, line(start, *step, map.clone()));
                    return inner.expr(body);
                }
                _ => Kind::Slice {
                    body: boxed(body)?,
                    from: own(*from),
                    to: to(*part)?,
                    start: start.clone(),
                    end: end.clone(),
                    step: *step,
                },
            },
        };
        Ok(Expr { kind, ..e.clone() })
    }

    /// A tensor, changed.
    pub(super) fn tensor(&self, t: TensorId) -> TensorId {
        *self.tensors.get(&t).unwrap_or(&t)
    }

    /// Indices, changed.
    ///
    /// # Errors
    /// As [`Change::expr`].
    pub(super) fn indices(&self, indices: &[Index]) -> Result<Vec<Index>, Diagnostic> {
        let leaves = |i: &Index| !self.leaving.is_empty() && uses(&i.map).iter().any(|v| self.leaving.contains(v));
        indices
            .iter()
            .map(|i| Ok(Index { map: self.map(&i.map)?, permit: i.permit || leaves(i), ..i.clone() }))
            .collect()
    }

    fn map(&self, map: &Map) -> Result<Map, Diagnostic> {
        let boxed = |m: &Map| self.map(m).map(Box::new);
        // A computed index does not say how far its variable goes: `A[1*j]` does not become `A[j]`.
        let computed = |m: Map| if matches!(m, Map::Var(_)) { Map::Mul(1, Box::new(m)) } else { m };
        Ok(match map {
            Map::Var(v) => self.maps.get(v).cloned().unwrap_or(Map::Var(*v)),
            Map::Const(_) | Map::Bound(_) => map.clone(),
            Map::Add(a, b) => computed(plus(self.map(a)?, self.map(b)?)),
            Map::Mul(n, a) => computed(times(*n, self.map(a)?)),
            Map::Div(a, n) => Map::Div(boxed(a)?, *n),
            Map::Mod(a, n) => Map::Mod(boxed(a)?, *n),
            Map::Gather(t, indices) => Map::Gather(self.tensor(*t), self.indices(indices)?),
            Map::Computed(e) => Map::Computed(Box::new(self.expr(e)?)),
        })
    }
}

/// A slice of a shape operator whose variable becomes no variable.
pub(super) fn unwritten(span: Span) -> Diagnostic {
    Diagnostic::new(span, "the gradient of a slice of this shape operator is not written yet")
        .help("define what is sliced by a statement of its own, and slice the result")
}

/// The variables of a map, apart from those of what is read for it.
pub(super) fn uses(map: &Map) -> Vec<VarId> {
    match map {
        Map::Var(v) => vec![*v],
        Map::Add(a, b) => [uses(a), uses(b)].concat(),
        Map::Mul(_, a) | Map::Div(a, _) | Map::Mod(a, _) => uses(a),
        Map::Const(_) | Map::Bound(_) | Map::Gather(..) | Map::Computed(_) => vec![],
    }
}

/// `start + step · of`.
pub(super) fn line(start: &Bound, step: u64, of: Map) -> Map {
    let begin = if start.terms.is_empty() { Map::Const(start.constant) } else { Map::Bound(start.clone()) };
    plus(times(step as i64, of), begin)
}

/// `a + b`, from left to right, with one constant at the end. A variable that 0 is added to is no bare one: it may go less far than what is
/// read under it.
pub(super) fn plus(a: Map, b: Map) -> Map {
    match (a, b) {
        (a, Map::Const(0)) if !matches!(a, Map::Var(_)) => a,
        (a, Map::Add(x, y)) => plus(plus(a, *x), *y),
        (Map::Const(n), Map::Const(m)) => Map::Const(n.wrapping_add(m)),
        (Map::Add(x, y), Map::Const(m)) if matches!(*y, Map::Const(_)) => plus(*x, plus(*y, Map::Const(m))),
        (Map::Add(x, y), b) if matches!(*y, Map::Const(_)) => plus(plus(*x, b), *y),
        (a @ Map::Const(_), b) => plus(b, a),
        (a, b) => Map::Add(Box::new(a), Box::new(b)),
    }
}

/// `n · a`, of sums term by term.
pub(super) fn times(n: i64, a: Map) -> Map {
    match a {
        a if n == 1 => a,
        Map::Const(m) => Map::Const(n.wrapping_mul(m)),
        Map::Mul(m, a) => times(n.wrapping_mul(m), *a),
        Map::Add(x, y) => plus(times(n, *x), times(n, *y)),
        a => Map::Mul(n, Box::new(a)),
    }
}

/// The value of an index map, as an expression.
fn value(map: &Map, at: &Expr) -> Result<Expr, Diagnostic> {
    Ok(match map {
        Map::Var(v) => index(*v),
        Map::Const(n) => integer(*n),
        Map::Bound(bound) => {
            let sizes = bound
                .terms
                .iter()
                .map(|(n, size)| call(Op::Mul, vec![integer(*n), made(Kind::Size(*size), Type::I64)]));
            sizes.fold(integer(bound.constant), |sum, term| call(Op::Add, vec![sum, term]))
        }
        Map::Add(a, b) => call(Op::Add, vec![value(a, at)?, value(b, at)?]),
        Map::Mul(n, a) => call(Op::Mul, vec![integer(*n), value(a, at)?]),
        _ => return Err(Diagnostic::new(at.span, "an index variable that is divided stands as a value here")),
    })
}

/// An expression whose own variables, those that it binds, are new.
pub(super) fn rebound(draft: &mut Draft, e: &Expr) -> Result<Expr, Diagnostic> {
    let mut bound = vec![];
    e.walk(&mut |e| bound.extend(binds(e)));
    let pairs: Vec<(VarId, VarId)> = bound.into_iter().map(|v| (v, draft.var(v))).collect();
    Change::all(pairs).expr(e)
}

/// The variables that an expression itself binds.
pub(super) fn binds(e: &Expr) -> Vec<VarId> {
    match &e.kind {
        Kind::Reduce { vars, .. } => vars.clone(),
        Kind::Collapse { from, .. } | Kind::Concat { from, .. } => from.clone(),
        Kind::Split { from, .. } | Kind::Slice { from, .. } => vec![*from],
        _ => vec![],
    }
}
