//! Checking concrete notation: the invariants that `concrete.rs` states.

use super::*;

impl Program {
    /// Checks the invariants of concrete notation.
    ///
    /// # Errors
    /// The first violation, as a sentence: always a defect of the compiler, never of the user's program.
    pub fn check(&self) -> Result<(), String> {
        let mut names = FxHashSet::default();
        let checker = Checker { program: self };
        for t in &self.tensors {
            checker.tensor(t)?;
            if !names.insert(&t.name) {
                return Err(format!("two tensors are called {}", t.name));
            }
        }
        checker.steps(&self.steps)
    }
}

/// What checks parts of a program; `bound` are the variables of the loops around a part.
#[derive(Clone, Copy)]
pub(super) struct Checker<'p> {
    pub program: &'p Program,
}

impl Checker<'_> {
    fn steps(self, steps: &[Step]) -> Result<(), String> {
        steps.iter().try_for_each(|step| match step {
            Step::Nest(nest) => self.nest(nest),
            Step::Repeat(block) => self.repeat(block),
        })
    }

    pub fn repeat(self, block: &Repeat) -> Result<(), String> {
        match &block.turns {
            Turns::Count(_) => {}
            Turns::Extent(class) if self.program.extents.contains_key(class) => {}
            Turns::Extent(_) => return Err("the extent that says how many turns there are has no name".to_string()),
            Turns::While(condition) => self.condition(condition)?,
        }
        self.steps(&block.steps)?;
        let made = targets(&block.steps);
        for Carried { tensor, last } in &block.carried {
            let of = |p: &Place| self.program.tensors.get(p.0).filter(|t| !matches!(t.role, Role::Operand(_)));
            let (Some(to), Some(from)) = (of(tensor), of(last)) else {
                return Err("an operand is carried from turn to turn".to_string());
            };
            let alike = |t: &Tensor| (t.ty, t.fill, t.extents.clone(), t.format.clone());
            if tensor == last || alike(to) != alike(from) {
                return Err(format!("{} does not become {}, which is another kind of tensor", to.name, from.name));
            }
            if !made.contains(last) || made.contains(tensor) {
                return Err(format!("{} is not made before the block, or {} not in it", to.name, from.name));
            }
        }
        Ok(())
    }

    pub fn condition(self, condition: &Expr) -> Result<(), String> {
        let mut plain = condition.ty() == Type::Bool;
        condition.each(&mut |e| {
            plain &= match e {
                Expr::Literal(_) | Expr::Access(..) | Expr::Column(_) | Expr::Call(..) => true,
                // An extent.
                Expr::Index(v) => self.program.roots(*v).is_empty(),
                _ => false,
            }
        });
        plain &= condition.accesses().iter().all(|a| self.program.tensor(*a).extents.is_empty());
        match plain {
            true => self.expr(condition, &mut Vec::new()),
            false => Err("a condition is a bool, of scalars".to_string()),
        }
    }

    pub fn tensor(self, t: &Tensor) -> Result<(), String> {
        let rank = t.extents.len();
        let ordered = t.format.order.len() == rank && (0..rank).all(|m| t.format.order.contains(&m));
        match () {
            _ if !is_name(&t.name) => Err(format!("`{}` is no name of a tensor", t.name)),
            _ if t.format.rank() != rank || !ordered => Err(format!("{} has not a level a mode", t.name)),
            _ if t.fill.ty() != t.ty => Err(format!("the fill of {} is no {}", t.name, t.ty)),
            _ if !t.extents.iter().all(|e| self.program.extents.contains_key(e)) => {
                Err(format!("an extent of {} has no name", t.name))
            }
            _ => Ok(()),
        }
    }

    pub fn nest(self, nest: &Nest) -> Result<(), String> {
        let mut bound = Vec::new();
        nest.order().iter().try_for_each(|v| bind(&mut bound, *v, self.program))?;
        self.form(nest, &bound).map_err(|what| format!("{what} in `{}`", Shown(self.program, nest)))?;
        nest.places().iter().chain([&nest.rhs]).try_for_each(|e| self.expr(e, &mut bound))?;
        let Some(also) = nest.also() else { return Ok(()) };
        nest.rhs.summed().iter().try_for_each(|v| bind(&mut bound, *v, self.program))?;
        self.expr(&also.rhs, &mut bound)
    }

    /// What is wrong with a statement apart from its expressions.
    fn form(self, nest: &Nest, bound: &[Index]) -> Result<(), &'static str> {
        let (vars, tensor) = (&nest.target.vars, &self.program.tensors[nest.target.tensor.0]);
        let distinct = (0..vars.len()).all(|m| !vars[..m].contains(&vars[m]));
        let scatters = nest.assign().scatters();
        let bad = |v: &Index| self.program.time(*v, bound).is_some() == scatters;
        match &nest.body {
            _ if vars.len() != tensor.extents.len() || !distinct || vars.iter().any(bad) => {
                Err("the target is not bound mode by mode")
            }
            _ if nest.rhs.ty() != tensor.ty => Err("the target is of another type"),
            Body::Where(w, assign) if !w.kind.fits(self.program.drained(nest).len(), assign) => {
                Err("the kind of the workspace does not fit")
            }
            Body::Assign(assign) | Body::Where(_, assign) => self.assign(nest, assign),
            Body::Also(also) => self.also(nest, also),
        }
    }

    fn assign(self, nest: &Nest, assign: &Assign) -> Result<(), &'static str> {
        let tensor = &self.program.tensors[nest.target.tensor.0];
        let folds = |fun: Fun| match assign {
            Assign::Scatter(..) => self.result(fun, &[tensor.ty, tensor.ty]) == Some(tensor.ty),
            Assign::Once | Assign::Fold(_) => self.program.unordered(fun, tensor.ty).is_some(),
        };
        let vars = &nest.target.vars;
        let was = assign.before().map(|a| (&self.program.accesses[a.0].vars, self.program.tensor(a)));
        let alike = |t: &Tensor| (&t.extents, t.fill) == (&tensor.extents, tensor.fill);
        let extents = || vars.iter().map(|v| &self.program.vars[v.0].extent).eq(&tensor.extents);
        match assign {
            _ if !assign.fold().is_none_or(folds) => Err("the target is of another type"),
            _ if !was.is_none_or(|(under, t)| under == vars && alike(t)) => {
                Err("what was there is another tensor than the target")
            }
            Assign::Scatter(places, _) if places.is_empty() || places.len() != vars.len() => {
                Err("the scatter has not a place a mode")
            }
            Assign::Scatter(..) if !extents() => Err("the target's variables run over other extents"),
            _ => Ok(()),
        }
    }

    fn also(self, nest: &Nest, Also { at, fun, rhs }: &Also) -> Result<(), &'static str> {
        let tensor = &self.program.tensors[nest.target.tensor.0];
        let vector = matches!(tensor.format.levels[..], [kind] if kind.is_full()) && nest.loops == nest.target.vars;
        let known = nest.rhs.accesses();
        match () {
            _ if !vector || !nest.rhs.summed().contains(at) || self.program.vars[at.0].extent != tensor.extents[0] => {
                Err("what is added elsewhere has no place")
            }
            _ if rhs.ty() != tensor.ty || self.program.unordered(*fun, tensor.ty).is_none() => {
                Err("what is added elsewhere is of another type")
            }
            _ if rhs.has_loops() || !rhs.accesses().iter().all(|a| known.contains(a)) => {
                Err("what is added elsewhere is not at hand")
            }
            () => Ok(()),
        }
    }

    fn expr(self, e: &Expr, bound: &mut Vec<Index>) -> Result<(), String> {
        match e {
            Expr::Literal(_) => Ok(()),
            Expr::Index(v) => self.index(*v, bound).map(|_| ()),
            Expr::Call(fun, args, ty) => {
                let types: Vec<Type> = args.iter().map(Expr::ty).collect();
                if matches!(fun, Fun::User(_)) && self.result(*fun, &types) != Some(*ty) {
                    return Err("a function of arguments that it does not take".to_string());
                }
                args.iter().try_for_each(|a| self.expr(a, bound))
            }
            Expr::Reduce(fun, vars, body, ty) => {
                let outer = bound.len();
                for &v in vars {
                    bind(bound, v, self.program)?;
                }
                self.expr(body, bound)?;
                bound.truncate(outer);
                match body.ty() == *ty && self.program.unordered(*fun, *ty).is_some() {
                    true => Ok(()),
                    false => Err("what is folded in any order has no identity, or is of another type".to_string()),
                }
            }
            Expr::Fold(fold, ty) => {
                fold.start.iter().try_for_each(|e| self.expr(e, bound))?;
                let outer = bound.len();
                fold.vars.iter().try_for_each(|v| bind(bound, *v, self.program))?;
                self.expr(&fold.body, bound)?;
                bound.truncate(outer);
                match fold.parts().all(|e| e.ty() == *ty) && self.result(fold.fun, &[*ty, *ty]) == Some(*ty) {
                    true => Ok(()),
                    false => Err("what is folded is of another type".to_string()),
                }
            }
            Expr::Concat(c, _) => self.concat(c, bound),
            Expr::Where(made, ty) => self.made(made, *ty, bound),
            Expr::Access(a, _) => self.followed(*a, bound),
            Expr::Column(column) => self.column(column).and_then(|()| self.followed(column.of, bound)),
        }
    }

    /// A temporary is made of what loops bind before those that read it, into all of it.
    fn made(self, Where { read, nest }: &Where, ty: Type, bound: &[Index]) -> Result<(), String> {
        self.followed(*read, bound)?;
        let tensor = &self.program.tensors[nest.target.tensor.0];
        let wrong = |what: &str| Err(format!("{what} of {}, which is made inside of loops", tensor.name));
        let plain = matches!(nest.body, Body::Assign(Assign::Once | Assign::Fold(_)));
        if !plain || self.program.accesses[read.0].tensor != nest.target.tensor || tensor.role != Role::Temporary {
            return wrong("another statement is that");
        }
        if (nest.rhs.ty(), ty) != (tensor.ty, tensor.ty) || self.assign(nest, nest.assign()).is_err() {
            return wrong("the value is of another type than that");
        }
        let places = self.program.accesses[read.0].vars.iter().flat_map(|v| self.program.roots(*v));
        let first = places.filter_map(|v| bound.iter().position(|u| *u == v)).min().unwrap_or(bound.len());
        let mut before = bound[..first].to_vec();
        let mut names = bound.to_vec();
        for v in &nest.loops {
            bind(&mut names, *v, self.program)?;
            before.push(*v);
        }
        let vars = &nest.target.vars;
        let extents = vars.iter().map(|v| self.program.vars[v.0].extent);
        if !vars.iter().all(|v| nest.loops.contains(v)) || !extents.eq(tensor.extents.iter().copied()) {
            return wrong("loops do not visit all");
        }
        self.expr(&nest.rhs, &mut before)
    }

    fn followed(self, a: AccessId, bound: &[Index]) -> Result<(), String> {
        let times = self.access(a, bound)?;
        match self.program.concordant(a, &times) {
            true => Ok(()),
            false => Err(format!("{} cannot be followed in the order of its loops", self.program.tensor(a).name)),
        }
    }

    /// A column is of an operand that has the extents and the format of the one that is walked, an operand too.
    fn column(self, column: &Column) -> Result<(), String> {
        let (own, walked) = (&self.program.tensors[column.tensor.0], self.program.tensor(column.of));
        let operands = [own, walked].iter().all(|t| matches!(t.role, Role::Operand(_)));
        match operands && own.extents == walked.extents && own.format == walked.format && own.fill == column.fill {
            true => Ok(()),
            false => Err(format!("{} is no column beside {}", own.name, walked.name)),
        }
    }

    /// The type of a function of arguments of these types, if there is such a one.
    fn result(self, fun: Fun, types: &[Type]) -> Option<Type> {
        match fun {
            Fun::Op(op) => result_type(op, types),
            Fun::User(f) => self.program.functions.get(f.index()).filter(|f| f.takes(types)).map(|f| f.result),
        }
    }

    /// An access is of its tensor's rank, under variables that are bound: when.
    fn access(self, a: AccessId, bound: &[Index]) -> Result<Vec<usize>, String> {
        let (vars, tensor) = (&self.program.accesses[a.0].vars, self.program.tensor(a));
        match vars.len() == tensor.extents.len() {
            true => vars.iter().map(|v| self.index(*v, bound)).collect(),
            false => Err(format!("{} has another rank", tensor.name)),
        }
    }

    /// A variable is bound: when. One that is computed is an `i64`, with no loop.
    fn index(self, v: Index, bound: &[Index]) -> Result<usize, String> {
        let check = |e: &Expr| match e {
            Expr::Literal(_) => Ok(()),
            Expr::Call(fun, args, ty) => match self.result(*fun, &args.iter().map(Expr::ty).collect::<Vec<_>>()) {
                Some(result) if result == *ty => Ok(()),
                _ => Err("a coordinate is computed by a function of other types".to_string()),
            },
            Expr::Index(u) => self.index(*u, bound).map(|_| ()),
            Expr::Access(a, _) => self.access(*a, bound).map(|_| ()),
            Expr::Column(column) => {
                self.column(column)?;
                self.access(column.of, bound).map(|_| ())
            }
            _ => Err("a coordinate is computed by a loop".to_string()),
        };
        if let Some(c) = self.program.computed(v) {
            let mut all = Ok(());
            c.of.each(&mut |e| all = all.clone().and_then(|()| check(e)));
            all?;
            if c.of.ty() != Type::I64 {
                return Err("a coordinate that is computed is no i64".to_string());
            }
        }
        self.program
            .time(v, bound)
            .ok_or_else(|| format!("index variable {} is not bound", self.program.vars[v.0].name))
    }

    /// Its coordinate is bound, and each part's variable is that coordinate behind the parts before.
    fn concat(self, c: &Concat, bound: &mut Vec<Index>) -> Result<(), String> {
        if self.program.roots_of(&c.of).iter().any(|v| !bound.contains(v)) {
            return Err("the coordinate of a concatenation is not bound".to_string());
        }
        if let Some(outside) = &c.outside {
            self.expr(outside, bound)?;
        }
        if c.choices().count() < 2 || c.outside.as_ref().is_some_and(|e| e.ty() != c.parts[0].1.ty()) {
            return Err("a concatenation has but one part, or is of another type outside of its parts".to_string());
        }
        let mut before = Size::default();
        c.parts.iter().try_for_each(|(v, part)| {
            let Var { name, extent, origin, .. } = &self.program.vars[v.0];
            if part.ty() != c.parts[0].1.ty() {
                return Err(format!("the part of {name} is of another type"));
            }
            if *origin != Origin::Part(Map::part(&c.of, &before)) {
                return Err(format!("{name} is another coordinate than that of its part"));
            }
            before = before.plus(&Size::unknown(*extent));
            self.expr(part, bound)
        })
    }
}

/// The tensors that steps make, or carry in their blocks.
fn targets(steps: &[Step]) -> FxHashSet<Place> {
    let mut all = FxHashSet::default();
    for step in steps {
        match step {
            Step::Nest(nest) => drop(all.insert(nest.target.tensor)),
            Step::Repeat(block) => all.extend(targets(&block.steps)),
        }
    }
    all
}

/// Whether what ends a loop is known where it begins.
fn limited(bound: &[Index], limit: &Limit, program: &Program) -> bool {
    let known = limit.vars().iter().all(|v| bound.contains(v));
    known
        && match limit {
            Limit::Below { extent, .. } => program.extents.contains_key(extent),
            Limit::Pieces { cut, .. } => *cut < program.cuts.len(),
            Limit::Within(within) => program.cuts.get(within.cut).is_some_and(|cut| within.place < cut.extents.len()),
        }
}

fn bind(bound: &mut Vec<Index>, v: Index, program: &Program) -> Result<(), String> {
    let name = &program.vars[v.0].name;
    if bound.iter().any(|b| *b == v || program.vars[b.0].name == *name) {
        return Err(format!("index variable {name} is bound twice"));
    }
    bound.push(v);
    match program.vars[v.0].limits.iter().all(|limit| limited(bound, limit, program)) {
        true => Ok(()),
        false => Err(format!("what ends the loop over {name} is not known where it begins")),
    }
}
