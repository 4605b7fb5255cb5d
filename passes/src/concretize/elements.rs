//! Statements that change some elements of a tensor that the kernel has computed: only those elements are written.
//!
//! ```text
//!  x[i] = if i == k[] then e else x_was[i]          x[i = k[]] = e from x_was
//!  A[m0,j] = window 0 <= m0 - 2 < |i|: e            A[m0 = i + 2, m1 = j] = e from A_was
//!            else A_was[m0,j]
//! ```
//!
//! Such a scatter reuses the arrays of the version before (`notation/concrete/taken.rs`) if nothing else reads that version. What the
//! value reads of it is read before, into a temporary with one value for each element that is written.

use super::Concretize;
use super::draft::Draft;
use super::free::free_in;
use super::out::Out;
use super::temporary::made_apart;
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::map::{Map, Size};
use fiberloom_core::notation::concrete::{AccessId, Assign, Computed, Expr, Index, Onto, Origin, Place, Role};
use fiberloom_core::notation::typed::Fun;

/// The coordinates at which a statement's value differs from the version before.
struct Changed {
    was: AccessId,
    /// Modes whose coordinate an expression gives, with that expression.
    fixed: Vec<(usize, Expr)>,
    /// Modes along which the part begins at a coordinate: mode, the part's variable, start.
    parts: Vec<(usize, Index, Size)>,
    value: Expr,
}

/// The statement as a scatter of the elements that it changes, if it changes only some.
pub(super) fn changed(s: Draft, c: &mut Concretize) -> Draft {
    let bare = s.assign == Assign::Once && c.scheduled.is_bare();
    let found = if bare { View { out: &c.out, s: &s }.changed() } else { None };
    let Some(Changed { was, fixed, parts, value }) = found else { return s };
    let out = &mut c.out;
    let mut places: Vec<Expr> = s.target.iter().map(|v| Expr::Index(*v)).collect();
    let mut loops: Vec<Index> = s.target.clone();
    let mut names = super::rename::Renaming::default();
    for (mode, v, start) in parts {
        let (name, extent) = (out.vars[v.0].name.clone(), out.vars[v.0].extent);
        let name = out.unused(&name);
        let own = out.fresh(name, extent);
        let whole = out.vars[s.target[mode].0].extent;
        let at = out.at(whole, Origin::Mapped(Map::var(own).plus(&Map::constant(start))));
        names.insert(s.target[mode], at);
        names.insert(v, own);
        (places[mode], loops[mode]) = (Expr::Index(at), own);
    }
    for (mode, at) in &fixed {
        let of = out.rename(at, &mut names);
        let extent = out.vars[s.target[*mode].0].extent;
        let at = out.at(extent, Origin::Computed(Box::new(Computed { of, permit: true, caught: false })));
        names.insert(s.target[*mode], at);
        places[*mode] = Expr::Index(at);
    }
    let loops: Vec<Index> = (0..loops.len()).filter(|m| fixed.iter().all(|(f, _)| f != m)).map(|m| loops[m]).collect();
    let value = out.rename(&value, &mut names);
    let extents = out.tensors[s.place.0].extents.clone();
    let target = out.modes(&extents);
    let tensor = out.accesses[was.0].tensor;
    let onto = Onto::Before(out.access(tensor, target.clone()), None);
    Draft { stated: s.stated, ..Draft::scatter(s.place, target, loops, (places, onto), value) }
}

/// A scatter whose reads of the version before are materialized first, where they are fewer than the tensor's elements. Then the scatter
/// can reuse that version's arrays.
pub(super) fn read_before(s: Draft, c: &mut Concretize) -> Draft {
    let Some(before) = s.assign.before() else { return s };
    let (was, rank) = (c.out.accesses[before.0].tensor, s.target.len());
    let reads = c.out.reads(&s.rhs).iter().any(|a| c.out.accesses[a.0].tensor == was);
    if !reads || s.sums.len() >= rank || !is_own(&c.out, was, s.place) {
        return s;
    }
    let rhs = made_apart("part", s.rhs, s.sums.clone(), c);
    Draft { rhs, ..s }
}

/// Whether a version has dense levels, the same format, type and fill as the new one, and is no operand: the kernel has computed it.
fn is_own(out: &Out, was: Place, made: Place) -> bool {
    let (old, new) = (&out.tensors[was.0], &out.tensors[made.0]);
    let alike = (&old.format, old.ty, old.fill) == (&new.format, new.ty, new.fill);
    !matches!(old.role, Role::Operand(_)) && old.format.is_dense() && alike && !old.extents.is_empty()
}

/// A statement, with the program so far.
struct View<'s, 'a> {
    out: &'s Out<'a>,
    s: &'s Draft,
}

impl View<'_, '_> {
    fn changed(&self) -> Option<Changed> {
        let is_loop = |v: &Index| self.out.vars[v.0].origin == Origin::Loop && self.out.vars[v.0].limits.is_empty();
        if !self.s.target.iter().all(is_loop) {
            return None;
        }
        let (mut fixed, mut parts, mut was) = (vec![], vec![], None);
        let mut value = &self.s.rhs;
        loop {
            match value {
                Expr::Call(Fun::Op(Op::Select), args, _) => {
                    let Some(old) = self.was(&args[2]) else { break };
                    let Some(more) = self.fixes(&args[0]) else { break };
                    fixed.extend(more);
                    (value, was) = (&args[1], Some(old));
                }
                Expr::Concat(concat, _) => {
                    let Some(old) = concat.outside.as_ref().and_then(|e| self.was(e)) else { break };
                    let [(v, part)] = &concat.parts[..] else { break };
                    let Some((mode, start)) = self.begins(&concat.of) else { break };
                    parts.push((mode, *v, start));
                    (value, was) = (part, Some(old));
                }
                _ => break,
            }
        }
        let modes: Vec<usize> = fixed.iter().map(|(m, _)| *m).chain(parts.iter().map(|(m, ..)| *m)).collect();
        let once = (0..modes.len()).all(|n| !modes[..n].contains(&modes[n]));
        // No coordinate may depend on the variables that it determines.
        let said = |e: &Expr| free_in(self.out, e, &[]).iter().all(|v| self.is_left(*v, &modes));
        let known = fixed.iter().all(|(_, e)| !e.has_loops() && said(e));
        (once && known).then_some(())?;
        Some(Changed { was: was?, fixed, parts, value: value.clone() })
    }

    /// Whether a variable depends on none of the loops of these modes.
    fn is_left(&self, v: Index, modes: &[usize]) -> bool {
        self.out.roots(v).iter().all(|u| modes.iter().all(|m| self.s.target[*m] != *u))
    }

    /// The access, if it reads the version before at the coordinates that are defined.
    fn was(&self, e: &Expr) -> Option<AccessId> {
        let Expr::Access(a, _) = e else { return None };
        let access = &self.out.accesses[a.0];
        let same = access.vars == self.s.target && access.protocols.is_empty();
        (same && is_own(self.out, access.tensor, self.s.place)).then_some(*a)
    }

    /// The (mode, coordinate) pairs that a condition fixes, if it is a conjunction of such equalities.
    fn fixes(&self, e: &Expr) -> Option<Vec<(usize, Expr)>> {
        let Expr::Call(Fun::Op(op), args, _) = e else { return None };
        let [a, b] = &args[..] else { return None };
        match op {
            Op::AndAlso | Op::And | Op::Mul if e.ty() == Type::Bool => Some([self.fixes(a)?, self.fixes(b)?].concat()),
            Op::Eq => [(a, b), (b, a)].into_iter().find_map(|(v, at)| {
                let Expr::Index(v) = v else { return None };
                let mode = self.s.target.iter().position(|u| u == v)?;
                Some(vec![(mode, at.clone())])
            }),
            _ => None,
        }
    }

    /// The mode of which a map is the coordinate less a start, and that start.
    fn begins(&self, of: &Map<Index>) -> Option<(usize, Size)> {
        let mode = self.s.target.iter().position(|v| of.factors.contains_key(v))?;
        let start = Map::var(self.s.target[mode]).plus(&of.times(&Size::number(-1)));
        start.factors.is_empty().then_some((mode, start.constant))
    }
}
