//! Workspaces, as far as a plan knows them: what record they keep of the coordinates at which values are put, and how they are drained.

use super::{Context, levels, output::Insertion, output::Output};
use crate::choose::{
    result,
    scope::Scope,
    symbol::{Name, Sym},
};
use crate::plan::{Block, Op, Work};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::notation::concrete::{self, AccessId, Assign, Index, Nest, Origin, Workspace, WorkspaceKind};

/// A workspace of one nest.
#[derive(Clone)]
pub(super) struct Scratch {
    /// Its name in the plan.
    pub name: Name,
    /// Its variables, in the order of the tensor's levels.
    pub vars: Vec<Index>,
    /// The record of the coordinates at which values were put.
    pub reached: Reached,
    /// Whether all places hold one value between rows, so that a value needs no test for the first one.
    is_clear: bool,
}

/// The record of the coordinates at which values were put.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reached {
    /// None: all values of a row are drained.
    All,
    /// Their keys.
    Keys,
    /// A set. `most` bounds the number of values that are put; if it is small, the workspace `few` serves instead.
    Anywhere { most: Sym, few: Option<Name> },
    /// Coordinates were inserted beforehand.
    Inserted,
    /// Entries of a list, which stays meanwhile.
    Within(AccessId),
}

impl Scratch {
    /// Makes a nest's workspace.
    pub fn begin(cx: &Context, b: &mut Block, nest: &Nest, w: &Workspace, output: &Output) -> Scratch {
        let tensor = &cx.program.tensors[nest.target.tensor.0];
        let it = cx.symbols.name();
        let mut work = Work { nest: nest.clone(), it, output: output.name, within: None, most: None, few: None };
        let row = cx.program.level_var(&nest.target, tensor.format.rank().saturating_sub(1));
        let vars = if w.kind == WorkspaceKind::Row { vec![row] } else { cx.program.drained(nest) };
        let reached = match w.kind {
            WorkspaceKind::Row => Reached::All,
            WorkspaceKind::List(_) | WorkspaceKind::Hashed(_) => Reached::Keys,
            WorkspaceKind::Counts => unreachable!("counted copies have a nest of their own"),
            WorkspaceKind::Dense => {
                work.within = puts_within(cx, nest, vars[0]);
                work.within.map_or_else(
                    || {
                        let most = cx.symbols.held("most", Type::I64);
                        let few = (output.appends_always() && cx.few > 0).then(|| cx.symbols.name());
                        (work.most, work.few) = (Some(most), few);
                        Reached::Anywhere { most, few }
                    },
                    Reached::Within,
                )
            }
        };
        // Fresh memory is all zero bits: if that is the initial value, allocation touches no page that is not used.
        let is_zero = result::initial(cx, nest) == Value::zero(tensor.ty);
        let is_clear = nest.assign().fold().is_some() && (is_zero || work.within.is_some());
        b.push(Op::Work { work: Box::new(work) });
        Scratch { name: it, vars, reached, is_clear }
    }

    /// The bound on the number of values that are put before the next drain, if the workspace needs one.
    pub fn most(&self) -> Option<Sym> {
        if let Reached::Anywhere { most, .. } = self.reached { Some(most) } else { None }
    }

    /// The same workspace after coordinates were inserted in bulk.
    pub fn inserted(&self, name: Name) -> Scratch {
        Scratch { name, reached: Reached::Inserted, ..self.clone() }
    }

    /// Whether coordinates of `v` may be inserted in bulk: the workspace has a set, and values need no test for the first one.
    pub fn has_set(&self, v: Index, folds: bool) -> bool {
        let anywhere = matches!(self.reached, Reached::Anywhere { .. });
        anywhere && self.vars[0] == v && (self.is_clear || !folds)
    }

    /// Empties the workspace, if draining does not.
    pub fn clear(&self, b: &mut Block) {
        b.push(Op::Clear { work: self.name });
    }

    /// Moves everything into the result's next levels, in ascending order.
    pub fn drain(&self, cx: &Context, b: &mut Block, scope: &Scope, output: &Output, insertion: &Insertion) {
        let along = match self.reached {
            Reached::Within(list) => Some(levels::unopened(cx, b, scope, list)),
            _ => None,
        };
        b.push(Op::Drain { work: self.name, along, output: output.name, insertion: insertion.name });
    }
}

/// A list at whose entries alone a nest puts values in its workspace over `v`: it is spread while the workspace is filled, and without an
/// entry of it the folded value is neutral.
fn puts_within(cx: &Context, nest: &Nest, v: Index) -> Option<AccessId> {
    let Assign::Fold(fun) = *nest.assign() else { return None };
    if cx.program.vars[v.0].origin != Origin::Loop {
        return None;
    }
    let stays = |a: &AccessId| {
        let access = &cx.program.accesses[a.0];
        let level = |l: usize| cx.program.level_var(access, l);
        let along = (0..access.vars.len()).find(|l| level(*l) == v);
        along.is_some_and(|l| {
            let above = (0..l).flat_map(|k| cx.program.roots(level(k)));
            cx.prepared.tables.contains_key(&(*a, l)) && above.into_iter().all(|u| nest.loops.contains(&u))
        })
    };
    let needed = |a: &AccessId| {
        let without = cx.simplify.replace(&nest.rhs, &|x| (x == *a).then(|| cx.fill(x)));
        matches!(without, concrete::Expr::Literal(v) if cx.simplify.neutral(fun, v))
    };
    nest.rhs.accesses().into_iter().find(|a| stays(a) && needed(a))
}
