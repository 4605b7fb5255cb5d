//! Index variables and what they are made of: the *provenance graph* of the schedules paper (section 4).
//!
//! ```text
//!  i ─┐                                   loops
//!  k ─┴─▶ at = i + k                      mapped: its roots are i and k, and the last of them that is bound binds it
//!  i ───▶ at from p[i]                    computed: from what an access reads, under variables that may be made of others
//! ```
//!
//! Accesses are in it, as coordinates are read from them.

use super::{Access, AccessId, Expr, Hints, Index, Limit, Nest, Place, Within, once};
use crate::map::{ClassId, Map};
use crate::notation::typed::Fun;

/// Index variables, with the accesses under them.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Provenance {
    /// Index variables.
    pub vars: Vec<Var>,
    /// Accesses.
    pub accesses: Vec<Access>,
    /// How far loops go, as long as it is not known which of them is bound last: [`Program::numbered`](super::Program::numbered) says that.
    pub limits: Vec<(Option<Index>, Limit)>,
}

/// When a variable is bound that no loop binds: one that is mapped to a coordinate, as in `R[0, j]`.
pub const ALWAYS: usize = usize::MAX;

/// An index variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Var {
    /// For people.
    pub name: String,
    /// The extent that it runs over.
    pub extent: ClassId,
    /// What binds it.
    pub origin: Origin,
    /// Of a loop: how far it goes, if that is not its extent.
    pub limits: Vec<Limit>,
    /// Of a loop: what a schedule asks of it.
    pub hints: Hints,
}

/// What binds an index variable. Maps are of loops' and parts' variables.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// A loop.
    Loop,
    /// Whatever binds the variables of this map.
    Mapped(Map<Index>),
    /// A part of a concatenation, inside of which it is this.
    Part(Map<Index>),
    /// Whatever binds the variables of this coordinate.
    Computed(Box<Computed>),
}

/// A coordinate that no loop follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Computed {
    /// It, an `i64`: made of numbers, index variables and accesses by functions.
    pub of: Expr,
    /// Whether it may leave its variable's extent: the variable is −1 there, and nothing is stored under it. Without that, one
    /// that is [read](Computed::is_read) ends the kernel there; any other is known not to leave.
    pub permit: bool,
    /// Whether it has a value where something that it reads is missing: that is caught within it. Without that, the variable is −1 there.
    pub caught: bool,
}

impl Computed {
    /// Whether a tensor or a declared function says it, of whose values nothing is known.
    pub fn is_read(&self) -> bool {
        let mut read = false;
        self.of.each(&mut |e| read |= e.access().is_some() || matches!(e, Expr::Call(Fun::User(_), ..)));
        read
    }
}

impl Provenance {
    /// A new index variable.
    pub fn var(&mut self, name: String, extent: ClassId, origin: Origin) -> Index {
        self.vars.push(Var { name, extent, origin, limits: vec![], hints: Hints::default() });
        Index(self.vars.len() - 1)
    }

    /// A variable as a map of loops' and parts' variables.
    pub fn map(&self, v: Index) -> Map<Index> {
        match &self.vars[v.0].origin {
            Origin::Mapped(map) => map.clone(),
            Origin::Loop | Origin::Part(_) | Origin::Computed(_) => Map::var(v),
        }
    }

    /// A variable as a map of loops' variables, and of computed ones.
    pub fn root_map(&self, v: Index) -> Map<Index> {
        match &self.vars[v.0].origin {
            Origin::Loop | Origin::Computed(_) => Map::var(v),
            Origin::Mapped(map) | Origin::Part(map) => map.within(|u| self.root_map(u)),
        }
    }

    /// The loops' variables of which a variable is a function.
    pub fn roots(&self, v: Index) -> Vec<Index> {
        match &self.vars[v.0].origin {
            Origin::Loop => vec![v],
            Origin::Mapped(map) | Origin::Part(map) => self.roots_of(map),
            Origin::Computed(c) => self.roots_of_all(&self.under(&c.of)),
        }
    }

    /// The loops' variables of which a map is a function.
    pub fn roots_of(&self, map: &Map<Index>) -> Vec<Index> {
        self.roots_of_all(&map.factors.keys().copied().collect::<Vec<_>>())
    }

    fn roots_of_all(&self, vars: &[Index]) -> Vec<Index> {
        let mut all: Vec<Index> = vars.iter().flat_map(|u| self.roots(*u)).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The loops' and parts' variables of which a variable is a function, in order of appearance.
    pub fn made_of(&self, v: Index) -> Vec<Index> {
        match &self.vars[v.0].origin {
            Origin::Loop | Origin::Part(_) => vec![v],
            Origin::Mapped(map) => map.factors.keys().copied().collect(),
            Origin::Computed(c) => self.under(&c.of).into_iter().flat_map(|u| self.made_of(u)).collect(),
        }
    }

    /// The index variables of an expression without folds, with those of its accesses.
    pub fn under(&self, e: &Expr) -> Vec<Index> {
        let mut all = Vec::new();
        e.each(&mut |leaf| match leaf {
            Expr::Index(u) => all.push(*u),
            leaf => leaf.access().into_iter().for_each(|a| all.extend(&self.accesses[a.0].vars)),
        });
        all
    }

    /// How a variable is computed, if it is.
    pub fn computed(&self, v: Index) -> Option<&Computed> {
        match &self.vars[v.0].origin {
            Origin::Computed(c) => Some(c),
            _ => None,
        }
    }

    /// Whether a variable can be −1: what is under it is missing there.
    pub fn may_miss(&self, v: Index) -> bool {
        self.computed(v)
            .is_some_and(|c| c.permit || !c.caught && self.under(&c.of).into_iter().any(|u| self.may_miss(u)))
    }

    /// The accesses of a nest of which values are read, and coordinates, also of places that are written.
    pub fn read_by(&self, nest: &Nest) -> impl Iterator<Item = AccessId> {
        let read = [&nest.rhs].into_iter().chain(nest.places());
        read.flat_map(|e| self.reads(e))
    }

    /// The accesses of an expression with those that coordinates are computed from, each once, in order of appearance.
    pub fn reads(&self, e: &Expr) -> Vec<AccessId> {
        fn visit(graph: &Provenance, e: &Expr, all: &mut Vec<AccessId>) {
            e.each(&mut |leaf| {
                let vars = match (leaf, leaf.access()) {
                    (Expr::Index(v), _) => std::slice::from_ref(v),
                    (_, Some(a)) => &graph.accesses[a.0].vars,
                    _ => &[],
                };
                vars.iter().filter_map(|v| graph.computed(*v)).for_each(|c| visit(graph, &c.of, all));
                leaf.access().into_iter().for_each(|a| once(all, a));
            });
        }
        let mut all = Vec::new();
        visit(self, e, &mut all);
        all
    }

    /// Whether a variable moves with a loop over `v`.
    pub fn follows(&self, w: Index, v: Index) -> bool {
        w == v || self.vars[w.0].origin != Origin::Loop && self.roots(w).contains(&v)
    }

    /// Whether a loop over `v`, in loops over the variables that are `bound`, is what binds a variable at last, one that is not
    /// computed.
    pub fn binds(&self, v: Index, w: Index, bound: impl Fn(Index) -> bool) -> bool {
        let along = || self.computed(w).is_none() && self.follows(w, v);
        w == v || along() && self.roots(w).iter().all(|u| *u == v || bound(*u))
    }

    /// When loops over these variables bind a variable; `None` if they do not, [`ALWAYS`] if it is a coordinate.
    pub fn time(&self, v: Index, order: &[Index]) -> Option<usize> {
        let time = |u: &Index| order.iter().position(|b| b == u);
        match &self.vars[v.0].origin {
            Origin::Loop => time(&v),
            _ => {
                let times: Vec<usize> = self.roots(v).iter().map(time).collect::<Option<_>>()?;
                Some(times.into_iter().max().unwrap_or(ALWAYS))
            }
        }
    }

    /// The access `tensor[vars]`, iterated as is thought best.
    pub fn access(&mut self, tensor: Place, vars: Vec<Index>) -> AccessId {
        self.accessed(Access::of(tensor, vars))
    }

    /// An access, as one with the same id wherever it is made.
    pub fn accessed(&mut self, access: Access) -> AccessId {
        AccessId(self.accesses.iter().position(|a| *a == access).unwrap_or_else(|| {
            self.accesses.push(access);
            self.accesses.len() - 1
        }))
    }

    /// Whether loops over these variables decide how far a loop with this limit goes.
    pub fn decides(&self, order: &[Index], limit: &Limit) -> bool {
        let at = |within: &Within, place: usize| {
            let same = |other: &Limit| matches!(other, Limit::Within(w) if (w.cut, w.place) == (within.cut, place));
            order.iter().any(|v| self.vars[v.0].limits.iter().any(same))
        };
        // Where a piece ends in an inner loop depends on whether those around it are at its first or last coordinate.
        let around = match limit {
            Limit::Within(within) => (0..within.place).all(|place| at(within, place)),
            Limit::Below { .. } | Limit::Pieces { .. } => true,
        };
        around && limit.vars().iter().all(|v| order.contains(v))
    }

    /// Whether a loop counts pieces.
    pub fn counts_pieces(&self, v: Index) -> bool {
        self.vars[v.0].limits.iter().any(|limit| matches!(limit, Limit::Pieces { .. }))
    }

    /// Of a loop over pieces: all loops over pieces of its cut, larger pieces first, and the loops that they cut, outermost first.
    pub fn cut_by(&self, piece: Index) -> Option<(Vec<Index>, Vec<Index>)> {
        let within = |(on, limit): &(Option<Index>, Limit)| match limit {
            Limit::Within(within) if limit.vars().contains(&piece) => Some((within.clone(), (*on)?)),
            _ => None,
        };
        let mut cut: Vec<(Within, Index)> = self.limits.iter().filter_map(within).collect();
        cut.sort_by_key(|(within, _)| within.place);
        let pieces = cut.first()?.0.from.iter().map(|(v, _)| *v).collect();
        Some((pieces, cut.into_iter().map(|(_, v)| v).collect()))
    }
}
