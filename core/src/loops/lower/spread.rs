//! Lists that stay while others move: each is laid on a table (`stream::Spread`), and asked there.
//!
//! ```text
//!  forall i: forall j: forall k: t[] += A[i,j] * A[j,k] * A[i,k spread]
//!    ─▶  for i {
//!          for p in row i { at[crd[p]] = p + 1 }               once for each i, with every j in it
//!          for j in row i { for k in row j { if at[k] != 0 { … vals[at[k] - 1] } } }
//!          for p in row i { at[crd[p]] = 0 }
//!        }
//! ```
//!
//! Invariant: a list is taken up in the scope in which it was laid, so that one table serves a level. What it saves is to step through
//! the list beside each of the others: beside lists of m entries together it costs m, and its own entries twice.
//!
//! Where the other list is much longer, it is leaped through instead, from entry to entry of the one that stays: by how long both are
//! is decided when they are known.

use super::fiber::Scope;
use super::nest::Sink;
use super::output::alloc;
use super::{BufferId, Context, Expr, binary, int, times};
use crate::algebra::{Op, Value};
use crate::loops::{LevelBuffers, Role};
use crate::notation::concrete::{self, AccessId, Index, Iterated, Nest};
use crate::stream::{Spread, Symbolic, Term};
use std::collections::BTreeMap;

/// How much longer a list is that is leaped through: a leap costs about as much as so many entries.
const LONGER: i64 = 8;

impl Context<'_> {
    /// Tables for the lists that a nest spreads, all 0.
    pub(super) fn tables(&self, d: &mut Symbolic, nest: &Nest) -> BTreeMap<(AccessId, usize), BufferId> {
        let mut tables = BTreeMap::new();
        for a in nest.rhs.accesses() {
            let tensor = self.program.tensor(a);
            let spread = |l: &usize| self.program.protocol(a, *l) == Some(Iterated::Spread);
            for l in (0..tensor.format.rank()).filter(spread) {
                let LevelBuffers::Compressed { pos, .. } = self.levels(a)[l] else { continue };
                let ty = d.element(pos);
                let table = d.buffer(&format!("{}{l}_at", tensor.name), ty, Role::Workspace);
                alloc(d, table, self.extent(tensor.extents[tensor.format.order[l]]), Some(Value::zero(ty)));
                tables.insert((a, l), table);
            }
        }
        tables
    }

    /// Lays the lists of a body that a loop over `v` is the first not to move.
    pub(super) fn lay(
        &self,
        d: &mut Symbolic,
        scope: &mut Scope,
        v: Index,
        body: &concrete::Expr,
        sink: &Sink,
    ) -> Vec<Spread<Term>> {
        let mut all = Vec::new();
        // Bounds are no loops over what is intersected.
        if let Sink::Bound { .. } = sink {
            return all;
        }
        for a in body.accesses() {
            let Some((level, _)) = self.next_var(scope, a).filter(|(_, w)| *w != v) else { continue };
            let Some(&table) = self.tables.get(&(a, level)).filter(|_| scope.laid(a).is_none()) else { continue };
            let fiber = self.unopened(d, scope, a);
            all.push(Spread::lay(d, fiber, table));
            scope.lay(a, table);
        }
        all
    }

    /// Whether the one list that is walked in an innermost loop, beside one that is laid, is so much longer that it is better leaped
    /// through, and the scope in which it is.
    pub(super) fn leaped(
        &self,
        d: &mut Symbolic,
        scope: &Scope,
        (v, rest): (Index, &[Index]),
        body: &concrete::Expr,
        sink: &Sink,
    ) -> Option<(Expr, Scope)> {
        if !rest.is_empty() || body.has_loops() || !matches!(sink, Sink::Scalar { .. }) {
            return None;
        }
        let along = self.lists(scope, body, v);
        let (laid, walked): (Vec<_>, Vec<_>) = along.into_iter().partition(|a| scope.laid(*a).is_some());
        let ([stays], [moves]) = (&laid[..], &walked[..]) else { return None };
        let free = self.program.protocol(*moves, scope.fiber(*moves).depth).is_none();
        let alike = |a: AccessId| matches!(self.levels(a)[scope.fiber(a).depth], LevelBuffers::Compressed { .. });
        if !free || !alike(*moves) || !self.opened_by(scope, body, v, |kind| kind.is_stepped()).is_empty() {
            return None;
        }
        let mut length = |a: AccessId| {
            let fiber = self.unopened(d, scope, a);
            let (begin, end) = (d.place(&fiber.begin), d.place(&fiber.end));
            binary(Op::Sub, end, begin)
        };
        let far = binary(Op::Gt, length(*moves), times(length(*stays), int(LONGER)));
        Some((far, scope.leaping(*moves, *stays)))
    }
}
