//! Sums inside bodies: left where they are, or made temporaries before their statement.
//!
//! ```text
//!  C[i,j] = A[i,j] + sum(k: B[i,k] * D[k,j])       the sum's k must run outside of j
//!    ─▶  sum[i,j] += B[i,k] * D[k,j];  C[i,j] = A[i,j] + sum[i,j]
//! ```
//!
//! A sum that stays runs anew at each turn of the loops around it: only where it depends on every one of them, so that nothing
//! is added up twice, and where its lists can be followed there. Each of them depends on every one too, or a list that is needed
//! beside the sum does: turns are as few as its entries.
//!
//! ```text
//!  C[i,j] = M[i,j] * sum(k: A[i,k] * B[j,k])       of 10⁶ × 10⁶ sums those are made that M has entries for: the sum stays
//!  C[i,j] = M[i,j] * sum(k: A[i,k] * B[k,j])
//!    ─▶  sum[i,j] += select(M[i,j] != 0, A[i,k] * B[k,j], 0);  C[i,j] = M[i,j] * sum[i,j]
//!  C[i,j] = mask(M[i,j], sum(k: A[i,k] * B[k,j]))
//!    ─▶  C[i,j] += select(M[i,j], A[i,k] * B[k,j], 0)
//! ```

use super::Concretize;
use super::join::Around;
use crate::algebra::{Op, Type, Value, evaluate};
use crate::format::{Format, LevelKind};
use crate::iteration::background;
use crate::map::Map;
use crate::notation::concrete::{
    self, AccessId, Computed, Concat, Expr, Fold, Index, Limit, Origin, Program, Role, Tensor,
};
use crate::notation::typed::Fun;
use rustc_hash::FxHashMap;

/// What stands beside a part of a body.
#[derive(Default)]
struct Beside {
    /// Nobody asks for the part where one of these lists has no entry.
    needed: Vec<AccessId>,
    /// Of those, the ones at whose fill values it does not matter what the part is, if it is what its fold begins with: of
    /// `0 * max(…)` it would, as `0 * -inf` is no number.
    asked: Vec<AccessId>,
}

impl Concretize<'_> {
    /// Sums inside a body that cannot run where the loops around it are bound become temporaries.
    pub(super) fn hoist(&mut self, e: Expr, outer: &[Index]) -> Expr {
        self.hoist_beside(e, outer, &Beside::default())
    }

    /// A statement's sum under a condition, elsewhere what a sum of nothing is, as a sum of what stands under the condition: so that
    /// its result is made at once. Not where it stays.
    pub(super) fn taken_in(&mut self, rhs: Expr, target: &[Index]) -> Expr {
        let outer: Vec<Index> = target.iter().flat_map(|v| self.out.roots(*v)).collect();
        self.taken_in_beside(rhs, &outer, target)
    }

    /// The same of a part of a body, whose result is over some variables: more are not asked for by the condition.
    fn taken_in_beside(&mut self, rhs: Expr, outer: &[Index], over: &[Index]) -> Expr {
        let Expr::Call(f @ Fun::Op(op), args, ty) = &rhs else { return rhs };
        let (condition, sum, elsewhere) = match (op, &args[..]) {
            (Op::Mask, [c, sum]) => (c, sum, Value::zero(*ty)),
            (Op::Select, [c, sum, Expr::Literal(v)]) => (c, sum, *v),
            _ => return rhs,
        };
        let Expr::Reduce(fun, vars, body, _) = sum else { return rhs };
        let none = self.simplify.begins(*fun, *ty).expect("folds have an identity: checked before lowering");
        if condition.has_loops() || body.has_loops() || elsewhere != none {
            return rhs;
        }
        let free = self.free(body, vars);
        let more = self.free(condition, &[]).iter().any(|v| !over.contains(v) && !free.contains(v));
        let needed = self.needed(*f, args, *ty);
        if more || self.runs_inside(vars, body, outer, &needed).is_some() {
            return rhs;
        }
        let under = vec![condition.clone(), (**body).clone(), Expr::Literal(none)];
        let under = Expr::Call(Fun::Op(Op::Select), under, *ty);
        Expr::Reduce(*fun, vars.clone(), Box::new(under), *ty)
    }

    /// The same of a part of a body.
    fn hoist_beside(&mut self, e: Expr, outer: &[Index], beside: &Beside) -> Expr {
        let needed = &beside.needed[..];
        match self.taken_in_beside(e, outer, &[]) {
            Expr::Call(fun, args, ty) => {
                let here = self.needed(fun, &args, ty);
                let part = |k| {
                    let asked = if self.is_asked(fun, &args, k, &here, ty) { here.clone() } else { vec![] };
                    Beside { needed: [needed, &here].concat(), asked }
                };
                let parts: Vec<Beside> = (0..args.len()).map(part).collect();
                let hoisted = args.into_iter().zip(&parts).map(|(a, part)| self.hoist_beside(a, outer, part));
                Expr::Call(fun, hoisted.collect(), ty)
            }
            Expr::Reduce(fun, vars, body, ty) => {
                let body = self.looked_up(*body, &vars, Around::Fold(fun));
                let body = self.hoist(body, &[outer, &vars].concat());
                if let Some(inner) = self.runs_inside(&vars, &body, outer, needed) {
                    return Expr::Reduce(fun, inner, Box::new(body), ty);
                }
                let free = self.free(&body, &vars);
                let body = self.restricted(fun, body, ty, &free, &beside.asked);
                self.temporary(fun, vars, body, ty, free)
            }
            Expr::Fold(fold, ty) => {
                let fold = self.hoist_parts(*fold, outer);
                let whole = Expr::Fold(Box::new(fold.clone()), ty);
                let free = self.free(&whole, &[]);
                let followed = self.follows(&fold.body, outer, &fold.vars);
                if self.stays(&whole, outer, &free, needed) && followed { whole } else { self.folded(whole, free) }
            }
            Expr::Concat(c, ty) => Expr::Concat(Box::new(c.map(|part| self.hoist(part, outer))), ty),
            other => other,
        }
    }

    /// The same fold with what is inside hoisted.
    pub(super) fn hoist_parts(&mut self, fold: Fold, outer: &[Index]) -> Fold {
        let Fold { fun, vars, body, start } = fold;
        let start = start.map(|e| self.hoist(e, outer));
        let body = self.hoist(body, &[outer, &vars].concat());
        Fold { fun, vars, body, start }
    }

    /// What is added up, for a sum that is made before it is read: what nobody asks for is left out.
    fn restricted(&self, fun: Fun, body: Expr, ty: Type, free: &[Index], asked: &[AccessId]) -> Expr {
        let none = self.simplify.begins(fun, ty).expect("folds have an identity: checked before lowering");
        let by_loops = |a: &AccessId| self.out.accesses[a.0].vars.iter().all(|v| free.contains(v));
        let lists = body.accesses();
        let asks = asked.iter().filter(|a| self.is_sparse(**a) && by_loops(a) && !lists.contains(a));
        asks.fold(body, |body, a| {
            let tensor = self.out.tensor(*a);
            let (fill, element) = (Expr::Literal(tensor.fill), Expr::Access(*a, tensor.ty));
            let asked = Expr::Call(Fun::Op(Op::Ne), vec![element, fill], Type::Bool);
            Expr::Call(Fun::Op(Op::Select), vec![asked, body, Expr::Literal(none)], ty)
        })
    }

    fn is_sparse(&self, a: AccessId) -> bool {
        self.out.tensor(a).format.levels.iter().any(|k| k.is_list())
    }

    /// The operands beside sums, without an entry of which a call is what it is without any.
    fn needed(&self, fun: Fun, args: &[Expr], ty: Type) -> Vec<AccessId> {
        if !args.iter().any(Expr::has_loops) {
            return vec![];
        }
        let lists: Vec<AccessId> = args.iter().filter(|e| !e.has_loops()).flat_map(Expr::accesses).collect();
        let call = Expr::Call(fun, args.to_vec(), ty);
        let (set, whole) = background(&call, &lists, &|a| self.out.tensor(a).fill, self.simplify);
        let needed = set.needed().filter(|_| !whole.has_loops());
        needed.map_or(vec![], |(lists, _)| lists)
    }

    /// Whether a call whose argument `k` is a sum is what it is with any, where these lists are at their fill values and the sum is
    /// what its fold begins with.
    fn is_asked(&self, fun: Fun, args: &[Expr], k: usize, lists: &[AccessId], ty: Type) -> bool {
        let (Expr::Reduce(folded, _, _, sum), Fun::Op(f)) = (&args[k], fun) else { return false };
        let none = self.simplify.begins(*folded, *sum).expect("folds have an identity: checked before lowering");
        let fill = |a: AccessId| lists.contains(&a).then(|| self.out.tensor(a).fill);
        let value = |n: usize| match self.simplify.replace(&args[n], &fill) {
            Expr::Literal(v) if n != k => Some(v),
            _ => (n == k).then_some(none),
        };
        match (f, value(0)) {
            // Nothing is asked for but what the condition says.
            (Op::Mask, Some(c)) if k == 1 => !c.is_true(),
            (Op::Select, Some(c)) if k > 0 => c.is_true() != (k == 1),
            _ => {
                let values: Option<Vec<Value>> = (0..args.len()).map(value).collect();
                let any = self.simplify.replace(&Expr::Call(fun, args.to_vec(), ty), &fill);
                values
                    .and_then(|values| evaluate(f, &values, self.simplify.mode))
                    .is_some_and(|v| any == Expr::Literal(v))
            }
        }
    }

    /// The order of a sum's own loops where it stays inside of those around it.
    fn runs_inside(&mut self, vars: &[Index], body: &Expr, outer: &[Index], needed: &[AccessId]) -> Option<Vec<Index>> {
        let (free, inner) = (self.free(body, vars), self.inner_order(vars, body, outer));
        (self.stays(body, outer, &free, needed) && self.follows(body, outer, &inner)).then_some(inner)
    }

    /// Whether a sum may run inside the loops around it without doing work again or everywhere: it depends on all of
    /// their variables, and so does each of its sparse operands, or a sparse one that is needed beside it.
    fn stays(&self, body: &Expr, outer: &[Index], free: &[Index], needed: &[AccessId]) -> bool {
        let of = |vars: &[Index], v: &Index| vars.iter().any(|w| self.out.follows(*w, *v));
        let moved = |a: &AccessId| outer.iter().all(|v| of(&self.out.accesses[a.0].vars, v));
        let few = needed.iter().filter(|a| self.is_sparse(**a)).any(moved);
        outer.iter().all(|v| of(free, v)) && (few || body.accesses().iter().filter(|a| self.is_sparse(**a)).all(moved))
    }

    /// The variables of a body that are not bound inside it, in order of appearance: loops' and parts', of which mapped
    /// ones are functions.
    pub(super) fn free(&self, body: &Expr, bound: &[Index]) -> Vec<Index> {
        fn visit(program: &Program, e: &Expr, bound: &mut Vec<Index>, free: &mut Vec<Index>) {
            let mut seen = |made_of: Vec<Index>| {
                for v in made_of {
                    if !bound.contains(&v) && !free.contains(&v) {
                        free.push(v);
                    }
                }
            };
            match e {
                Expr::Literal(_) => {}
                Expr::Index(v) => seen(program.made_of(*v)),
                Expr::Access(a, _) => program.accesses[a.0].vars.iter().for_each(|v| seen(program.made_of(*v))),
                Expr::Column(c) => program.accesses[c.of.0].vars.iter().for_each(|v| seen(program.made_of(*v))),
                Expr::Concat(c, _) => {
                    seen(c.of.factors.keys().copied().collect());
                    for (v, part) in &c.parts {
                        bound.push(*v);
                        visit(program, part, bound, free);
                        bound.pop();
                    }
                    c.outside.iter().for_each(|e| visit(program, e, bound, free));
                }
                Expr::Call(_, args, _) => args.iter().for_each(|a| visit(program, a, bound, free)),
                Expr::Where(made, _) => visit(program, &made.nest.rhs, bound, free),
                Expr::Reduce(_, vars, body, _) => {
                    let outer = bound.len();
                    bound.extend(vars);
                    visit(program, body, bound, free);
                    bound.truncate(outer);
                }
                Expr::Fold(fold, _) => {
                    fold.start.iter().for_each(|e| visit(program, e, bound, free));
                    let outer = bound.len();
                    bound.extend(&fold.vars);
                    visit(program, &fold.body, bound, free);
                    bound.truncate(outer);
                }
            }
        }
        let mut free = Vec::new();
        visit(&self.out, body, &mut bound.to_vec(), &mut free);
        free
    }

    /// Whether every list of a body can be followed when `outer` is bound first, in whatever order, then `inner`.
    fn follows(&self, body: &Expr, outer: &[Index], inner: &[Index]) -> bool {
        body.accesses().into_iter().all(|a| {
            let access = &self.out.accesses[a.0];
            let time = |v: &Index| match inner.iter().position(|w| w == v) {
                Some(n) => n + 1,
                None if outer.contains(v) => 0,
                None => inner.len() + 1,
            };
            let time = |v: &Index| self.out.roots(*v).iter().map(time).max().unwrap_or(concrete::ALWAYS);
            let times: Vec<usize> = access.vars.iter().map(time).collect();
            self.out.concordant(a, &times)
        })
    }

    /// The order of a sum's own loops: as the lists below ask for, if they agree.
    fn inner_order(&mut self, vars: &[Index], body: &Expr, outer: &[Index]) -> Vec<Index> {
        if let Some(said) = self.said(vars) {
            return said;
        }
        if vars.len() < 2 {
            return vars.to_vec();
        }
        let mut best = vars.to_vec();
        for a in body.accesses() {
            let access = &self.out.accesses[a.0];
            let format = &self.out.tensor(a).format;
            let levels = format.order.iter().flat_map(|&m| self.out.roots(access.vars[m]));
            let mut wanted: Vec<Index> = Vec::new();
            for v in levels.filter(|v| vars.contains(v)) {
                if !wanted.contains(&v) {
                    wanted.push(v);
                }
            }
            wanted.extend(vars.iter().filter(|v| !wanted.contains(v)).copied().collect::<Vec<_>>());
            if wanted.len() == vars.len() && self.follows(body, outer, &wanted) {
                best = wanted;
                break;
            }
        }
        best
    }

    fn temporary(&mut self, fun: Fun, vars: Vec<Index>, body: Expr, ty: Type, free: Vec<Index>) -> Expr {
        let fill = self.simplify.begins(fun, ty).expect("folds have an identity: checked before lowering");
        let lists = body.accesses();
        let (_, rest) = background(&body, &lists, &|a| self.out.tensor(a).fill, self.simplify);
        let quiet = matches!(rest, Expr::Literal(v) if self.simplify.neutral(fun, v));
        let format = if quiet { self.sparse_format(&free, &lists) } else { Format::dense(free.len()) };
        let extents = free.iter().map(|v| self.out.vars[v.0].extent).collect();
        let name = super::folding(fun).to_string();
        let place = self.place(Tensor { name, ty, extents, format, fill, role: Role::Temporary });
        // The temporary's loops have variables of their own.
        let mut fresh = self.fresh_loops(&free);
        let body = self.rename(&body, &mut fresh);
        let target = free.iter().map(|v| fresh[v]).collect();
        self.define(place, target, Expr::Reduce(fun, vars, Box::new(body), ty), None);
        Expr::Access(self.out.access(place, free), ty)
    }

    /// A fold made before it is read, over its free variables.
    fn folded(&mut self, fold: Expr, free: Vec<Index>) -> Expr {
        let (lists, ty) = (fold.accesses(), fold.ty());
        let (format, fill) = match background(&fold, &lists, &|a| self.out.tensor(a).fill, self.simplify).1 {
            Expr::Literal(fill) => (self.sparse_format(&free, &lists), fill),
            _ => (Format::dense(free.len()), Value::zero(ty)),
        };
        let extents = free.iter().map(|v| self.out.vars[v.0].extent).collect();
        let name = "fold".to_string();
        let place = self.place(Tensor { name, ty, extents, format, fill, role: Role::Temporary });
        let mut fresh = self.fresh_loops(&free);
        let fold = self.rename(&fold, &mut fresh);
        let target = free.iter().map(|v| fresh[v]).collect();
        self.define(place, target, fold, None);
        Expr::Access(self.out.access(place, free), ty)
    }

    /// An expression made before it is read: over its free variables and one of its own, which is read at `at`.
    pub(super) fn made(
        &mut self,
        name: &str,
        value: Expr,
        (free, own, at): (Vec<Index>, Index, Index),
        ty: Type,
    ) -> Expr {
        let lists = value.accesses();
        let (_, rest) = background(&value, &lists, &|a| self.out.tensor(a).fill, self.simplify);
        let rank = free.len() + 1;
        let sparse = lists.iter().any(|a| !self.out.tensor(*a).format.is_dense());
        let (format, fill) = match rest {
            Expr::Literal(fill) if sparse => {
                let mut levels = self.sparse_format(&free, &lists).levels.to_vec();
                levels.push(LevelKind::Compressed);
                (Format::of(levels), fill)
            }
            _ => (Format::dense(rank), Value::zero(ty)),
        };
        let extents = free.iter().chain([&own]).map(|v| self.out.vars[v.0].extent).collect();
        let name = name.to_string();
        let place = self.place(Tensor { name, ty, extents, format, fill, role: Role::Temporary });
        let mut fresh = self.fresh_loops(&free);
        let value = self.rename(&value, &mut fresh);
        let target = free.iter().map(|v| fresh[v]).chain([own]).collect();
        self.define(place, target, value, None);
        Expr::Access(self.out.access(place, free.into_iter().chain([at]).collect()), ty)
    }

    /// A loop's variable of its own for each.
    pub(super) fn fresh_loops(&mut self, vars: &[Index]) -> FxHashMap<Index, Index> {
        let own = |v: &Index| {
            let concrete::Var { name, extent, .. } = self.out.vars[v.0].clone();
            (*v, self.fresh(name, extent))
        };
        let fresh: FxHashMap<Index, Index> = vars.iter().map(own).collect();
        self.limited(&fresh);
        fresh
    }

    /// Loops that have taken the places of others go as far as those, and have their places in the schedule.
    fn limited(&mut self, fresh: &FxHashMap<Index, Index>) {
        let moved =
            |(on, limit): &&(Option<Index>, Limit)| on.is_none() && limit.vars().iter().any(|v| fresh.contains_key(v));
        let mut own = |v: Index| fresh.get(&v).copied().unwrap_or(v);
        let limits: Vec<Limit> = self.out.limits.iter().filter(moved).map(|(_, limit)| limit.clone()).collect();
        for limit in limits {
            self.out.limits.push((None, limit.renamed(&mut own, &mut |cut| cut)));
        }
        for (old, new) in fresh {
            if let Some(name) = self.scheduled.named.get(old).copied() {
                self.scheduled.named.insert(*new, name);
            }
        }
    }

    /// Levels for a temporary that is not everywhere: the outermost is dense if all
    /// operands store it so.
    fn sparse_format(&self, vars: &[Index], accesses: &[AccessId]) -> Format {
        let densely = |v: &Index| {
            accesses.iter().all(|&a| {
                let (access, format) = (&self.out.accesses[a.0], &self.out.tensor(a).format);
                let along = |l: usize| self.out.follows(access.vars[format.order[l]], *v);
                (0..format.rank()).all(|l| !along(l) || format.levels[l].is_located())
            })
        };
        let outermost = vars.first().is_some_and(densely);
        let kind = |m: usize| if m == 0 && outermost { LevelKind::Dense } else { LevelKind::Compressed };
        Format::of((0..vars.len()).map(kind).collect())
    }

    fn rename_access(&mut self, a: AccessId, fresh: &mut FxHashMap<Index, Index>) -> AccessId {
        let access = self.out.accesses[a.0].clone();
        let vars = access.vars.iter().map(|v| self.renamed(*v, fresh)).collect();
        self.out.accessed(concrete::Access { vars, ..access })
    }

    pub(super) fn rename(&mut self, e: &Expr, fresh: &mut FxHashMap<Index, Index>) -> Expr {
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

    /// A variable for one that is, or is a function of, a renamed one.
    pub(super) fn renamed(&mut self, v: Index, fresh: &mut FxHashMap<Index, Index>) -> Index {
        if let Some(known) = fresh.get(&v) {
            return *known;
        }
        let concrete::Var { name, extent, origin, .. } = self.out.vars[v.0].clone();
        let made = match &origin {
            Origin::Loop => origin.clone(),
            Origin::Mapped(map) => Origin::Mapped(self.renamed_map(map, fresh)),
            Origin::Part(map) => Origin::Part(self.renamed_map(map, fresh)),
            Origin::Computed(c) => {
                let Computed { of, permit, caught } = c.as_ref();
                Origin::Computed(Box::new(Computed { of: self.rename(of, fresh), permit: *permit, caught: *caught }))
            }
        };
        let made = if made == origin { v } else { self.out.var(name, extent, made) };
        fresh.insert(v, made);
        made
    }

    fn renamed_map(&mut self, map: &Map<Index>, fresh: &mut FxHashMap<Index, Index>) -> Map<Index> {
        let made: FxHashMap<Index, Index> = map.factors.keys().map(|v| (*v, self.renamed(*v, fresh))).collect();
        map.within(|v| self.out.map(made[&v]))
    }
}
