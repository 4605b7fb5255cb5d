//! Checking concrete notation: the invariants that `concrete.rs` states.

use super::*;

impl Program {
    /// Checks the invariants of concrete notation.
    ///
    /// # Errors
    /// The first violation, as a sentence: always a defect of the compiler, never of the user's program.
    pub fn check(&self) -> Result<(), String> {
        let mut names = FxHashSet::default();
        for t in &self.tensors {
            self.check_tensor(t)?;
            if !names.insert(&t.name) {
                return Err(format!("two tensors are called {}", t.name));
            }
        }
        self.check_steps(&self.steps)
    }

    fn check_steps(&self, steps: &[Step]) -> Result<(), String> {
        steps.iter().try_for_each(|step| match step {
            Step::Nest(nest) => self.check_nest(nest),
            Step::Repeat(block) => self.check_repeat(block),
        })
    }

    pub(super) fn check_repeat(&self, block: &Repeat) -> Result<(), String> {
        match &block.turns {
            Turns::Count(_) => {}
            Turns::Extent(class) if self.extents.contains_key(class) => {}
            Turns::Extent(_) => return Err("the extent that says how many turns there are has no name".to_string()),
            Turns::While(condition) => self.check_condition(condition)?,
        }
        self.check_steps(&block.steps)?;
        let made = targets(&block.steps);
        for Carried { tensor, last } in &block.carried {
            let of = |p: &Place| self.tensors.get(p.0).filter(|t| !matches!(t.role, Role::Operand(_)));
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

    pub(super) fn check_condition(&self, condition: &Expr) -> Result<(), String> {
        let mut plain = condition.ty() == Type::Bool;
        condition.each(&mut |e| {
            plain &= match e {
                Expr::Literal(_) | Expr::Access(..) | Expr::Column(_) | Expr::Call(..) => true,
                // An extent.
                Expr::Index(v) => self.roots(*v).is_empty(),
                _ => false,
            }
        });
        plain &= condition.accesses().iter().all(|a| self.tensor(*a).extents.is_empty());
        match plain {
            true => self.check_expr(condition, &mut Vec::new()),
            false => Err("a condition is a bool, of scalars".to_string()),
        }
    }

    pub(super) fn check_tensor(&self, t: &Tensor) -> Result<(), String> {
        let rank = t.extents.len();
        let ordered = t.format.order.len() == rank && (0..rank).all(|m| t.format.order.contains(&m));
        match () {
            _ if !is_name(&t.name) => Err(format!("`{}` is no name of a tensor", t.name)),
            _ if t.format.rank() != rank || !ordered => Err(format!("{} has not a level a mode", t.name)),
            _ if t.fill.ty() != t.ty => Err(format!("the fill of {} is no {}", t.name, t.ty)),
            _ if !t.extents.iter().all(|e| self.extents.contains_key(e)) => {
                Err(format!("an extent of {} has no name", t.name))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check_nest(&self, nest: &Nest) -> Result<(), String> {
        let mut bound = Vec::new();
        for &v in &nest.order {
            bind(&mut bound, v, self)?;
        }
        let tensor = &self.tensors[nest.target.tensor.0];
        let rank = tensor.extents.len();
        let distinct = |vars: &[Index]| (0..vars.len()).all(|m| !vars[..m].contains(&vars[m]));
        let scatters = nest.places.is_some();
        let bad = |v: &Index| self.time(*v, &bound).is_some() == scatters;
        let wrong = |what: &str| Err(format!("{what} in `{}`", Shown(self, nest)));
        if nest.target.vars.len() != rank || !distinct(&nest.target.vars) || nest.target.vars.iter().any(bad) {
            return wrong("the target is not bound mode by mode");
        }
        if nest.target.vars.iter().zip(&tensor.extents).any(|(v, e)| scatters && self.vars[v.0].extent != *e) {
            return wrong("the target's variables run over other extents");
        }
        let folds = |fun: Fun| match scatters {
            false => self.unordered(fun, tensor.ty).is_some(),
            true => self.result(fun, &[tensor.ty, tensor.ty]) == Some(tensor.ty),
        };
        if nest.rhs.ty() != tensor.ty || !nest.fold.is_none_or(folds) {
            return wrong("the target is of another type");
        }
        let was = nest.before.map(|a| (&self.accesses[a.0].vars, self.tensor(a)));
        let fits = |(vars, t): (&Vec<Index>, &Tensor)| {
            scatters && *vars == nest.target.vars && (&t.extents, t.fill) == (&tensor.extents, tensor.fill)
        };
        if !was.is_none_or(fits) {
            return wrong("what was there is another tensor than the target");
        }
        if nest.workspace.is_some_and(|w| w.prefix > nest.order.len()) {
            return wrong("there are fewer loops than around the workspace");
        }
        if nest.workspace.is_some_and(|w| !w.fits(self.drained(nest).len(), nest.fold.is_some())) {
            return wrong("the kind of the workspace does not fit");
        }
        if let Some(places) = &nest.places {
            if places.len() != rank || rank == 0 || nest.fold.is_none() {
                return wrong("the scatter has not a place a mode and a fold");
            }
            places.iter().try_for_each(|place| self.check_expr(place, &mut bound))?;
        }
        self.check_expr(&nest.rhs, &mut bound)?;
        match &nest.both {
            Some(both) => self.check_both(nest, both, bound),
            None => Ok(()),
        }
    }

    fn check_both(&self, nest: &Nest, Both { at, fun, rhs }: &Both, mut bound: Vec<Index>) -> Result<(), String> {
        let tensor = &self.tensors[nest.target.tensor.0];
        let plain = nest.fold.is_none() && nest.places.is_none() && nest.workspace.is_none();
        let vector = matches!(tensor.format.levels[..], [kind] if kind.is_full()) && nest.order == nest.target.vars;
        if !plain || !vector || !nest.summed().contains(at) || self.vars[at.0].extent != tensor.extents[0] {
            return Err(format!("what is added elsewhere has no place in `{}`", Shown(self, nest)));
        }
        let known = nest.rhs.accesses();
        if rhs.ty() != tensor.ty || self.unordered(*fun, tensor.ty).is_none() {
            return Err(format!("what is added elsewhere is of another type in `{}`", Shown(self, nest)));
        }
        if rhs.has_loops() || !rhs.accesses().iter().all(|a| known.contains(a)) {
            return Err(format!("what is added elsewhere is not at hand in `{}`", Shown(self, nest)));
        }
        nest.summed().iter().try_for_each(|v| bind(&mut bound, *v, self))?;
        self.check_expr(rhs, &mut bound)
    }

    fn check_expr(&self, e: &Expr, bound: &mut Vec<Index>) -> Result<(), String> {
        match e {
            Expr::Literal(_) => Ok(()),
            Expr::Index(v) => self.check_index(*v, bound).map(|_| ()),
            Expr::Call(fun, args, ty) => {
                let types: Vec<Type> = args.iter().map(Expr::ty).collect();
                if matches!(fun, Fun::User(_)) && self.result(*fun, &types) != Some(*ty) {
                    return Err("a function of arguments that it does not take".to_string());
                }
                args.iter().try_for_each(|a| self.check_expr(a, bound))
            }
            Expr::Reduce(fun, vars, body, ty) => {
                let outer = bound.len();
                for &v in vars {
                    bind(bound, v, self)?;
                }
                self.check_expr(body, bound)?;
                bound.truncate(outer);
                match body.ty() == *ty && self.unordered(*fun, *ty).is_some() {
                    true => Ok(()),
                    false => Err("what is folded in any order has no identity, or is of another type".to_string()),
                }
            }
            Expr::Fold(fold, ty) => {
                fold.start.iter().try_for_each(|e| self.check_expr(e, bound))?;
                let outer = bound.len();
                fold.vars.iter().try_for_each(|v| bind(bound, *v, self))?;
                self.check_expr(&fold.body, bound)?;
                bound.truncate(outer);
                match fold.parts().all(|e| e.ty() == *ty) && self.result(fold.fun, &[*ty, *ty]) == Some(*ty) {
                    true => Ok(()),
                    false => Err("what is folded is of another type".to_string()),
                }
            }
            Expr::Concat(c, _) => self.check_concat(c, bound),
            Expr::Where(made, ty) => self.check_where(made, *ty, bound),
            Expr::Access(a, _) => self.check_followed(*a, bound),
            Expr::Column(column) => self.check_column(column).and_then(|()| self.check_followed(column.of, bound)),
        }
    }

    /// A temporary is made of what loops bind before those that read it, into all of it.
    fn check_where(&self, Where { read, nest }: &Where, ty: Type, bound: &[Index]) -> Result<(), String> {
        self.check_followed(*read, bound)?;
        let tensor = &self.tensors[nest.target.tensor.0];
        let wrong = |what: &str| Err(format!("{what} of {}, which is made inside of loops", tensor.name));
        let plain = nest.places.is_none() && nest.before.is_none() && nest.both.is_none() && nest.workspace.is_none();
        if !plain || self.accesses[read.0].tensor != nest.target.tensor || tensor.role != Role::Temporary {
            return wrong("another statement is that");
        }
        if (nest.rhs.ty(), ty) != (tensor.ty, tensor.ty) || nest.fold.is_some_and(|f| self.unordered(f, ty).is_none()) {
            return wrong("the value is of another type than that");
        }
        let places = self.accesses[read.0].vars.iter().flat_map(|v| self.roots(*v));
        let first = places.filter_map(|v| bound.iter().position(|u| *u == v)).min().unwrap_or(bound.len());
        let mut before = bound[..first].to_vec();
        let mut names = bound.to_vec();
        for v in &nest.order {
            bind(&mut names, *v, self)?;
            before.push(*v);
        }
        let vars = &nest.target.vars;
        let extents = vars.iter().map(|v| self.vars[v.0].extent);
        if !vars.iter().all(|v| nest.order.contains(v)) || !extents.eq(tensor.extents.iter().copied()) {
            return wrong("loops do not visit all");
        }
        self.check_expr(&nest.rhs, &mut before)
    }

    fn check_followed(&self, a: AccessId, bound: &[Index]) -> Result<(), String> {
        let times = self.check_access(a, bound)?;
        match self.concordant(a, &times) {
            true => Ok(()),
            false => Err(format!("{} cannot be followed in the order of its loops", self.tensor(a).name)),
        }
    }

    /// A column is of an operand that has the extents and the format of the one that is walked, an operand too.
    fn check_column(&self, column: &Column) -> Result<(), String> {
        let (own, walked) = (&self.tensors[column.tensor.0], self.tensor(column.of));
        let operands = [own, walked].iter().all(|t| matches!(t.role, Role::Operand(_)));
        match operands && own.extents == walked.extents && own.format == walked.format && own.fill == column.fill {
            true => Ok(()),
            false => Err(format!("{} is no column beside {}", own.name, walked.name)),
        }
    }

    /// The type of a function of arguments of these types, if there is such a one.
    fn result(&self, fun: Fun, types: &[Type]) -> Option<Type> {
        match fun {
            Fun::Op(op) => result_type(op, types),
            Fun::User(f) => self.functions.get(f.index()).filter(|f| f.takes(types)).map(|f| f.result),
        }
    }

    /// An access is of its tensor's rank, under variables that are bound: when.
    fn check_access(&self, a: AccessId, bound: &[Index]) -> Result<Vec<usize>, String> {
        let (vars, tensor) = (&self.accesses[a.0].vars, self.tensor(a));
        match vars.len() == tensor.extents.len() {
            true => vars.iter().map(|v| self.check_index(*v, bound)).collect(),
            false => Err(format!("{} has another rank", tensor.name)),
        }
    }

    /// A variable is bound: when. One that is computed is an `i64`, with no loop.
    fn check_index(&self, v: Index, bound: &[Index]) -> Result<usize, String> {
        let check = |e: &Expr| match e {
            Expr::Literal(_) => Ok(()),
            Expr::Call(fun, args, ty) => match self.result(*fun, &args.iter().map(Expr::ty).collect::<Vec<_>>()) {
                Some(result) if result == *ty => Ok(()),
                _ => Err("a coordinate is computed by a function of other types".to_string()),
            },
            Expr::Index(u) => self.check_index(*u, bound).map(|_| ()),
            Expr::Access(a, _) => self.check_access(*a, bound).map(|_| ()),
            Expr::Column(column) => {
                self.check_column(column)?;
                self.check_access(column.of, bound).map(|_| ())
            }
            _ => Err("a coordinate is computed by a loop".to_string()),
        };
        if let Some(c) = self.computed(v) {
            let mut all = Ok(());
            c.of.each(&mut |e| all = all.clone().and_then(|()| check(e)));
            all?;
            if c.of.ty() != Type::I64 {
                return Err("a coordinate that is computed is no i64".to_string());
            }
        }
        self.time(v, bound).ok_or_else(|| format!("index variable {} is not bound", self.vars[v.0].name))
    }

    /// Its coordinate is bound, and each part's variable is that coordinate behind the parts before.
    fn check_concat(&self, c: &Concat, bound: &mut Vec<Index>) -> Result<(), String> {
        if self.roots_of(&c.of).iter().any(|v| !bound.contains(v)) {
            return Err("the coordinate of a concatenation is not bound".to_string());
        }
        if let Some(outside) = &c.outside {
            self.check_expr(outside, bound)?;
        }
        if c.choices().count() < 2 || c.outside.as_ref().is_some_and(|e| e.ty() != c.parts[0].1.ty()) {
            return Err("a concatenation has but one part, or is of another type outside of its parts".to_string());
        }
        let mut before = Size::default();
        c.parts.iter().try_for_each(|(v, part)| {
            let Var { name, extent, origin, .. } = &self.vars[v.0];
            if part.ty() != c.parts[0].1.ty() {
                return Err(format!("the part of {name} is of another type"));
            }
            if *origin != Origin::Part(Map::part(&c.of, &before)) {
                return Err(format!("{name} is another coordinate than that of its part"));
            }
            before = before.plus(&Size::unknown(*extent));
            self.check_expr(part, bound)
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
