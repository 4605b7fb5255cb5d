//! Numbering the variables and accesses of a program.

use super::{
    Access, AccessId, Also, Assign, Body, Column, Computed, Concat, Expr, Fold, Index, Limit, Nest, Onto, Origin,
    Program, Repeat, Step, Turns, Var, Where, Workspace,
};
use crate::map::Map;

impl Program {
    /// The same with its variables and accesses numbered in order of appearance, those of each loop its own: a nest's
    /// loops, of a scatter then its places and the target's variables, then the right side. What appears nowhere is dropped.
    pub fn numbered(&self) -> Program {
        let (extents, functions) = (self.extents.clone(), self.functions.clone());
        let out = Program { extents, functions, tensors: self.tensors.clone(), ..Program::default() };
        let mut number = Number { old: self, out, scope: Vec::new(), cuts: Vec::new() };
        number.out.steps = number.steps(&self.steps);
        number.out.cuts = number.cuts.iter().map(|n| self.cuts[*n].clone()).collect();
        number.out
    }
}

struct Number<'a> {
    old: &'a Program,
    out: Program,
    /// The variables that are bound, with their numbers to be.
    scope: Vec<(Index, Index)>,
    /// The cuts so far, by their numbers to be.
    cuts: Vec<usize>,
}

impl Number<'_> {
    fn bind(&mut self, v: Index) -> Index {
        let Var { name, extent, origin, limits, hints } = self.old.vars[v.0].clone();
        let origin = match origin {
            Origin::Loop => Origin::Loop,
            Origin::Mapped(map) => Origin::Mapped(self.map(&map)),
            Origin::Part(map) => Origin::Part(self.map(&map)),
            Origin::Computed(c) => {
                Origin::Computed(Box::new(Computed { of: self.expr(&c.of), permit: c.permit, caught: c.caught }))
            }
        };
        let new = self.out.var(name, extent, origin);
        self.out.vars[new.0].hints = hints;
        self.scope.push((v, new));
        let bound = |w: &Index| self.scope.iter().any(|(old, _)| old == w);
        let here = |(on, limit): &&(Option<Index>, Limit)| {
            let vars = limit.vars();
            on.map_or_else(|| vars.contains(&v), |on| on == v) && vars.iter().all(bound)
        };
        let found = self.old.limits.iter().filter(here).map(|(_, limit)| limit);
        let limits: Vec<Limit> = limits.iter().chain(found).cloned().collect();
        for limit in limits {
            let (scope, cuts) = (&self.scope, &mut self.cuts);
            let mut own = |v: Index| scope.iter().rev().find(|(old, _)| *old == v).expect("bound").1;
            let mut cut = |n: usize| match cuts.iter().position(|m| *m == n) {
                Some(known) => known,
                None => {
                    cuts.push(n);
                    cuts.len() - 1
                }
            };
            let limit = limit.renamed(&mut own, &mut cut);
            self.out.vars[new.0].limits.push(limit);
        }
        new
    }

    /// A variable's number; a mapped or computed one is bound where it first stands.
    fn of(&mut self, v: Index) -> Index {
        let known = self.scope.iter().rev().find(|(old, _)| *old == v).map(|(_, new)| *new);
        known.unwrap_or_else(|| match self.old.vars[v.0].origin {
            Origin::Mapped(_) | Origin::Computed(_) => self.bind(v),
            Origin::Loop | Origin::Part(_) => unreachable!("every variable is bound: checked"),
        })
    }

    fn map(&mut self, map: &Map<Index>) -> Map<Index> {
        let bound: Vec<(Index, Index)> = map.factors.keys().map(|v| (*v, self.of(*v))).collect();
        map.within(|v| Map::var(bound.iter().find(|(old, _)| *old == v).expect("one of them").1))
    }

    fn steps(&mut self, steps: &[Step]) -> Vec<Step> {
        let step = |step: &Step| match step {
            Step::Nest(nest) => Step::Nest(self.nest(nest)),
            Step::Repeat(Repeat { turns, steps, carried }) => {
                let turns = match turns {
                    Turns::While(condition) => {
                        self.scope.clear();
                        Turns::While(self.expr(condition))
                    }
                    turns => turns.clone(),
                };
                Step::Repeat(Repeat { turns, steps: self.steps(steps), carried: carried.clone() })
            }
        };
        steps.iter().map(step).collect()
    }

    fn binds(&mut self, loops: &[Index]) -> Vec<Index> {
        loops.iter().map(|v| self.bind(*v)).collect()
    }

    fn nest(&mut self, nest: &Nest) -> Nest {
        self.scope.clear();
        let loops = self.binds(&nest.loops);
        let workspace = nest.workspace().map(|w| {
            if !nest.assign().scatters() {
                let drained = self.old.drained(nest);
                for v in nest.target.vars.iter().filter(|v| !drained.contains(v)) {
                    self.of(*v);
                }
            }
            Workspace { kind: w.kind, loops: self.binds(&w.loops) }
        });
        let (target, assign, rhs) = self.assign(nest);
        let body = match (&nest.body, workspace) {
            (Body::Also(Also { at, fun, rhs: second }), _) => {
                self.scope.extend(nest.rhs.summed().into_iter().zip(rhs.summed()));
                Body::Also(Also { at: self.of(*at), fun: *fun, rhs: self.expr(second) })
            }
            (_, Some(workspace)) => Body::Where(workspace, assign),
            (_, None) => Body::Assign(assign),
        };
        Nest { target, loops, body, rhs }
    }

    /// A statement's target, how values come to its places, and the value, in the order of the text.
    fn assign(&mut self, nest: &Nest) -> (Access, Assign, Expr) {
        let Access { tensor, vars, .. } = &nest.target;
        let written = self.old.written(nest);
        let Assign::Scatter(places, onto) = nest.assign() else {
            for m in written {
                self.of(vars[m]);
            }
            let vars = vars.iter().map(|v| self.of(*v)).collect();
            return (Access::of(*tensor, vars), nest.assign().clone(), self.expr(&nest.rhs));
        };
        let mut numbered = places.clone();
        written.into_iter().for_each(|m| numbered[m] = self.expr(&places[m]));
        let (vars, rhs) = (self.binds(vars), self.expr(&nest.rhs));
        let onto = match *onto {
            Onto::Before(a, fun) => Onto::Before(self.out.access(self.old.accesses[a.0].tensor, vars.clone()), fun),
            onto => onto,
        };
        (Access::of(*tensor, vars), Assign::Scatter(numbered, onto), rhs)
    }

    fn access(&mut self, a: AccessId) -> AccessId {
        let access = self.old.accesses[a.0].clone();
        let vars = access.vars.iter().map(|v| self.of(*v)).collect();
        self.out.accessed(Access { vars, ..access })
    }

    fn expr(&mut self, e: &Expr) -> Expr {
        match e {
            Expr::Literal(_) => e.clone(),
            Expr::Index(v) => Expr::Index(self.of(*v)),
            Expr::Access(a, ty) => Expr::Access(self.access(*a), *ty),
            Expr::Column(column) => Expr::Column(Box::new(Column { of: self.access(column.of), ..(**column).clone() })),
            Expr::Call(fun, args, ty) => Expr::Call(*fun, args.iter().map(|a| self.expr(a)).collect(), *ty),
            Expr::Reduce(op, vars, body, ty) => {
                let outer = self.scope.len();
                let vars = self.binds(vars);
                let body = Box::new(self.expr(body));
                self.scope.truncate(outer);
                Expr::Reduce(*op, vars, body, *ty)
            }
            Expr::Fold(fold, ty) => {
                let outer = self.scope.len();
                let vars = self.binds(&fold.vars);
                let body = self.expr(&fold.body);
                self.scope.truncate(outer);
                let start = fold.start.as_ref().map(|e| self.expr(e));
                Expr::Fold(Box::new(Fold { fun: fold.fun, vars, body, start }), *ty)
            }
            Expr::Where(made, ty) => {
                let Where { read, nest } = &**made;
                let read = self.access(*read);
                let outer = self.scope.len();
                let loops = self.binds(&nest.loops);
                let (target, assign, rhs) = self.assign(nest);
                self.scope.truncate(outer);
                let body = Body::Assign(assign);
                Expr::Where(Box::new(Where { read, nest: Nest { target, loops, body, rhs } }), *ty)
            }
            Expr::Concat(c, ty) => {
                let of = self.map(&c.of);
                let outer = self.scope.len();
                let part = |n: &mut Self, (v, part): &(Index, Expr)| {
                    let made = (n.bind(*v), n.expr(part));
                    n.scope.truncate(outer);
                    made
                };
                let parts = c.parts.iter().map(|p| part(self, p)).collect();
                let outside = c.outside.as_ref().map(|e| self.expr(e));
                Expr::Concat(Box::new(Concat { of, parts, outside }), *ty)
            }
        }
    }
}
