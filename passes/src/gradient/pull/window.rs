//! The rule of indices that may leave their tensor: windows.
//!
//! ```text
//!  T[~(v + κ)]      T̄[j] += Σ w at v = j - κ, over the other variables      missing outside of v's extent: nothing
//! ```

use super::super::change::{Change, plus, times, uses};
use super::super::expr::{call, number};
use super::{Done, Pull};
use fiberloom_core::algebra::Op;
use fiberloom_core::notation::typed::{Expr, Fun, Index, Kind, Map, TensorId, VarId};
use fiberloom_core::notation::{Diagnostic, Span};

impl Pull<'_> {
    /// `T[~(v + κ)]`: a left side cannot leave its tensor, so the map is turned round: with `j` the coordinate of `T`, `T̄[j]` gets `w` at
    /// `v = j - κ`, where that is a coordinate of `v`. One variable is taken for each index with `~`.
    pub(super) fn window(&mut self, tensor: TensorId, indices: Vec<Index>, w: Expr, span: Span) -> Done {
        let modes = self.draft.modes(tensor);
        let before = self.scope.clone();
        let (mut w, mut under) = (w, indices.clone());
        for m in (0..indices.len()).filter(|m| indices[*m].permit) {
            let others: Vec<VarId> =
                (0..indices.len()).filter(|n| *n != m).flat_map(|n| uses(&indices[n].map)).collect();
            let Some((v, map)) = self.turned(&indices[m].map, &others, (modes[m], &w)) else {
                return Err(refused(span));
            };
            w = Change::leaving(v, map).expr(&w)?;
            under[m] = Index { permit: false, map: Map::Var(modes[m]), span };
            self.scope.retain(|other| *other != v);
            self.scope.push(modes[m]);
        }
        let done = match super::distinct(&under) {
            Some(_) => {
                let value = call(Op::Coalesce, vec![w.clone(), number(0.0, w.ty)]);
                self.access(tensor, &under, value, span)
            }
            None => Err(refused(span)),
        };
        self.scope = before;
        done
    }

    /// A variable in scope that a map adds, and which no other index has, as a map of the coordinate `j` and the others.
    fn turned(&self, map: &Map, others: &[VarId], (j, w): (VarId, &Expr)) -> Option<(VarId, Map)> {
        self.scope.iter().find_map(|v| {
            let alone = !others.contains(v) && is_read(w, *v);
            let (factor, rest) = without(map, *v).filter(|_| alone)?;
            let turned =
                rest.map_or(times(factor, Map::Var(j)), |rest| plus(times(factor, Map::Var(j)), times(-factor, rest)));
            (factor.abs() == 1).then_some((*v, turned))
        })
    }
}

/// Whether something is read under the bare variable, outside of `coalesce`: then it is missing where the variable leaves its extent.
fn is_read(w: &Expr, v: VarId) -> bool {
    match &w.kind {
        Kind::Access(_, indices) => indices.iter().any(|i| i.bare() == Some(v)),
        Kind::Call(Fun::Op(Op::Coalesce), _) => false,
        _ => w.children().any(|part| is_read(part, v)),
    }
}

/// A map as `factor · v + rest`, if `v` stands in it once, in sums and multiples.
fn without(map: &Map, v: VarId) -> Option<(i64, Option<Map>)> {
    match map {
        Map::Var(w) if *w == v => Some((1, None)),
        Map::Add(a, b) => {
            let (inside, other) = if uses(a).contains(&v) { (a, b) } else { (b, a) };
            let (factor, rest) = without(inside, v).filter(|_| !uses(other).contains(&v))?;
            let rest = rest.map_or((**other).clone(), |rest| plus(rest, (**other).clone()));
            Some((factor, Some(rest)))
        }
        Map::Mul(n, a) => {
            let (factor, rest) = without(a, v)?;
            Some((factor.checked_mul(*n)?, rest.map(|rest| times(*n, rest))))
        }
        _ => None,
    }
}

fn refused(span: Span) -> Diagnostic {
    Diagnostic::new(
        span,
        "the gradient of a tensor under `~` needs an index that adds a variable of its own, as `~(i + k - 2)` does",
    )
    .help("read the tensor by a statement of its own under such an index, and go on from the result")
}
