//! Renames the index variables of expressions: an expression that moves to another statement has loops of its own.

use super::out::Out;
use fiberloom_core::map::Map;
use fiberloom_core::notation::concrete::{self, AccessId, Computed, Concat, Expr, Index, Origin};
use rustc_hash::FxHashMap;

/// New variables, by those that they replace.
pub(super) type Renaming = FxHashMap<Index, Index>;

impl Out<'_> {
    /// The expression under the new variables. Variables that are functions of renamed ones are added to the renaming.
    pub fn rename(&mut self, e: &Expr, fresh: &mut Renaming) -> Expr {
        match e {
            Expr::Literal(_) => e.clone(),
            Expr::Index(v) => Expr::Index(self.renamed(*v, fresh)),
            Expr::Access(a, ty) => Expr::Access(self.rename_access(*a, fresh), *ty),
            Expr::Column(column) => {
                let of = self.rename_access(column.of, fresh);
                Expr::Column(Box::new(concrete::Column { of, ..(**column).clone() }))
            }
            Expr::Call(fun, args, ty) => Expr::Call(*fun, args.iter().map(|a| self.rename(a, fresh)).collect(), *ty),
            Expr::Reduce(op, vars, body, ty) => {
                Expr::Reduce(*op, vars.clone(), Box::new(self.rename(body, fresh)), *ty)
            }
            Expr::Fold(fold, ty) => {
                let renamed = (**fold).clone().map(|e| self.rename(&e, fresh));
                Expr::Fold(Box::new(renamed), *ty)
            }
            Expr::Where(made, ty) => {
                let made = (**made).clone().map(|e| self.rename(&e, fresh));
                Expr::Where(Box::new(made), *ty)
            }
            Expr::Concat(c, ty) => {
                let of = self.renamed_map(&c.of, fresh);
                let part = |(v, part): &(Index, Expr)| (self.renamed(*v, fresh), self.rename(part, fresh));
                let parts = c.parts.iter().map(part).collect();
                let outside = c.outside.as_ref().map(|e| self.rename(e, fresh));
                Expr::Concat(Box::new(Concat { of, parts, outside }), *ty)
            }
        }
    }

    fn rename_access(&mut self, a: AccessId, fresh: &mut Renaming) -> AccessId {
        let access = self.accesses[a.0].clone();
        let vars = access.vars.iter().map(|v| self.renamed(*v, fresh)).collect();
        self.accessed(concrete::Access { vars, ..access })
    }

    /// The replacement of a variable: itself, if it is neither renamed nor a function of a renamed one.
    pub fn renamed(&mut self, v: Index, fresh: &mut Renaming) -> Index {
        if let Some(known) = fresh.get(&v) {
            return *known;
        }
        let concrete::Var { name, extent, origin, .. } = self.vars[v.0].clone();
        let made = match &origin {
            Origin::Loop => origin.clone(),
            Origin::Mapped(map) => Origin::Mapped(self.renamed_map(map, fresh)),
            Origin::Part(map) => Origin::Part(self.renamed_map(map, fresh)),
            Origin::Computed(c) => {
                let Computed { of, permit, caught } = c.as_ref();
                Origin::Computed(Box::new(Computed { of: self.rename(of, fresh), permit: *permit, caught: *caught }))
            }
        };
        let made = if made == origin { v } else { self.var(name, extent, made) };
        fresh.insert(v, made);
        made
    }

    fn renamed_map(&mut self, map: &Map<Index>, fresh: &mut Renaming) -> Map<Index> {
        let made: FxHashMap<Index, Index> = map.factors.keys().map(|v| (*v, self.renamed(*v, fresh))).collect();
        map.within(|v| self.map(made[&v]))
    }
}
