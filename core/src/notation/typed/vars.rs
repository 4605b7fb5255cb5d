//! The index variables of expressions: which are free, which are bound, and other ones in their places.

use super::{Expr, Index, Kind, Map, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

impl Expr {
    /// The expression with its free variables renamed.
    pub fn renamed(&self, names: &FxHashMap<VarId, VarId>) -> Expr {
        self.mapped(names, &mut |part| part.renamed(names))
    }

    /// The expression with its parts replaced.
    pub fn rebuilt(&self, part: &mut dyn FnMut(&Expr) -> Expr) -> Expr {
        self.mapped(&FxHashMap::default(), part)
    }

    /// The expression with all of its variables renamed, those that it binds too.
    pub fn rebound(&self, names: &FxHashMap<VarId, VarId>) -> Expr {
        let mut made = self.mapped(names, &mut |part| part.rebound(names));
        let rename = |v: &mut VarId| *v = names.get(v).copied().unwrap_or(*v);
        match &mut made.kind {
            Kind::Reduce { vars, .. } => vars.iter_mut().for_each(rename),
            Kind::Collapse { from, .. } | Kind::Concat { from, .. } => from.iter_mut().for_each(rename),
            Kind::Split { from, .. } | Kind::Slice { from, .. } => rename(from),
            _ => {}
        }
        made
    }

    /// The expression with its parts replaced, and the variables that it names itself renamed, except those that it binds.
    fn mapped(&self, names: &FxHashMap<VarId, VarId>, part: &mut dyn FnMut(&Expr) -> Expr) -> Expr {
        let var = |v: &VarId| names.get(v).copied().unwrap_or(*v);
        let kind = match &self.kind {
            Kind::Literal(_) | Kind::Size(_) | Kind::Local(_) => self.kind.clone(),
            Kind::Index(v) => Kind::Index(var(v)),
            Kind::Access(t, indices) => Kind::Access(*t, indices.iter().map(|i| i.renamed(names)).collect()),
            Kind::Call(fun, args) => Kind::Call(*fun, args.iter().map(part).collect()),
            Kind::Reduce { fun, vars, body, start } => Kind::Reduce {
                fun: *fun,
                vars: vars.clone(),
                body: Box::new(part(body)),
                start: start.as_deref().map(|s| Box::new(part(s))),
            },
            Kind::Collapse { body, from, to } => {
                Kind::Collapse { body: Box::new(part(body)), from: from.clone(), to: var(to) }
            }
            Kind::Split { body, from, to } => {
                Kind::Split { body: Box::new(part(body)), from: *from, to: (var(&to.0), var(&to.1)) }
            }
            Kind::Concat { parts, from, to } => {
                Kind::Concat { parts: parts.iter().map(part).collect(), from: from.clone(), to: var(to) }
            }
            Kind::Slice { body, from, to, start, end, step } => Kind::Slice {
                body: Box::new(part(body)),
                from: *from,
                to: var(to),
                start: start.clone(),
                end: end.clone(),
                step: *step,
            },
        };
        Expr { kind, ..self.clone() }
    }

    /// The index variables that are free in the expression.
    pub fn free(&self) -> FxHashSet<VarId> {
        let mut free = FxHashSet::default();
        match &self.kind {
            Kind::Literal(_) | Kind::Size(_) | Kind::Local(_) => {}
            Kind::Index(v) => drop(free.insert(*v)),
            Kind::Access(_, indices) => indices.iter().for_each(|i| i.map.free(&mut free)),
            _ => self.children().for_each(|part| free.extend(part.free())),
        }
        match &self.kind {
            Kind::Reduce { vars, .. } => free.retain(|v| !vars.contains(v)),
            Kind::Collapse { from, to, .. } | Kind::Concat { from, to, .. } => {
                free.retain(|v| !from.contains(v));
                free.insert(*to);
            }
            Kind::Split { from, to, .. } => {
                free.remove(from);
                free.extend([to.0, to.1]);
            }
            Kind::Slice { from, to, .. } => {
                free.remove(from);
                free.insert(*to);
            }
            _ => {}
        }
        free
    }

    /// The index variables that the expression itself binds.
    pub fn bound(&self) -> Vec<VarId> {
        match &self.kind {
            Kind::Reduce { vars, .. } => vars.clone(),
            Kind::Collapse { from, .. } | Kind::Concat { from, .. } => from.clone(),
            Kind::Split { from, .. } | Kind::Slice { from, .. } => vec![*from],
            _ => vec![],
        }
    }
}

impl Index {
    fn renamed(&self, names: &FxHashMap<VarId, VarId>) -> Index {
        Index { map: self.map.renamed(names), ..self.clone() }
    }
}

impl Map {
    fn renamed(&self, names: &FxHashMap<VarId, VarId>) -> Map {
        let boxed = |m: &Map| Box::new(m.renamed(names));
        match self {
            Map::Var(v) => Map::Var(names.get(v).copied().unwrap_or(*v)),
            Map::Const(_) | Map::Bound(_) => self.clone(),
            Map::Add(a, b) => Map::Add(boxed(a), boxed(b)),
            Map::Mul(n, a) => Map::Mul(*n, boxed(a)),
            Map::Div(a, n) => Map::Div(boxed(a), *n),
            Map::Mod(a, n) => Map::Mod(boxed(a), *n),
            Map::Gather(t, indices) => Map::Gather(*t, indices.iter().map(|i| i.renamed(names)).collect()),
            Map::Computed(e) => Map::Computed(Box::new(e.renamed(names))),
        }
    }

    fn free(&self, free: &mut FxHashSet<VarId>) {
        match self {
            Map::Var(v) => drop(free.insert(*v)),
            Map::Const(_) | Map::Bound(_) => {}
            Map::Add(a, b) => {
                a.free(free);
                b.free(free);
            }
            Map::Mul(_, a) | Map::Div(a, _) | Map::Mod(a, _) => a.free(free),
            Map::Gather(_, indices) => indices.iter().for_each(|i| i.map.free(free)),
            Map::Computed(e) => free.extend(e.free()),
        }
    }
}
