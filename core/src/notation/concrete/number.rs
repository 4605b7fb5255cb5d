//! Numbering the variables and accesses of a program.

use super::{Access, Expr, Index, Nest, Program, Var};

impl Program {
    /// The same with its variables and accesses numbered in order of appearance, those of each loop its own: a nest's
    /// loops, of a scatter then its places and the target's variables, then the right side. What appears nowhere is dropped.
    pub fn numbered(&self) -> Program {
        let out = Program { extents: self.extents.clone(), tensors: self.tensors.clone(), ..Program::default() };
        let mut number = Number { old: self, out, scope: Vec::new() };
        for nest in &self.nests {
            let nest = number.nest(nest);
            number.out.nests.push(nest);
        }
        number.out
    }
}

struct Number<'a> {
    old: &'a Program,
    out: Program,
    /// The variables that are bound, with their numbers to be.
    scope: Vec<(Index, Index)>,
}

impl Number<'_> {
    fn bind(&mut self, v: Index) -> Index {
        let Var { name, extent } = self.old.vars[v.0].clone();
        let new = self.out.var(name, extent);
        self.scope.push((v, new));
        new
    }

    fn of(&self, v: Index) -> Index {
        let known = self.scope.iter().rev().find(|(old, _)| *old == v);
        known.expect("every variable is bound: checked").1
    }

    fn nest(&mut self, nest: &Nest) -> Nest {
        self.scope.clear();
        let order = nest.order.iter().map(|v| self.bind(*v)).collect();
        let places = nest.places.as_ref().map(|places| {
            let mut numbered = places.clone();
            for m in self.old.written(nest) {
                numbered[m] = self.expr(&places[m]);
            }
            numbered
        });
        let vars = match &nest.places {
            Some(_) => nest.target.vars.iter().map(|v| self.bind(*v)).collect(),
            None => nest.target.vars.iter().map(|v| self.of(*v)).collect(),
        };
        let rhs = self.expr(&nest.rhs);
        let target = Access { tensor: nest.target.tensor, vars };
        Nest { target, order, fold: nest.fold, rhs, places, workspace: nest.workspace }
    }

    fn expr(&mut self, e: &Expr) -> Expr {
        match e {
            Expr::Literal(_) => e.clone(),
            Expr::Index(v) => Expr::Index(self.of(*v)),
            Expr::Access(a, ty) => {
                let Access { tensor, vars } = &self.old.accesses[a.0];
                let vars = vars.iter().map(|v| self.of(*v)).collect();
                Expr::Access(self.out.access(*tensor, vars), *ty)
            }
            Expr::Call(op, args, ty) => Expr::Call(*op, args.iter().map(|a| self.expr(a)).collect(), *ty),
            Expr::Reduce(op, vars, body, ty) => {
                let outer = self.scope.len();
                let vars = vars.iter().map(|v| self.bind(*v)).collect();
                let body = Box::new(self.expr(body));
                self.scope.truncate(outer);
                Expr::Reduce(*op, vars, body, *ty)
            }
        }
    }
}
