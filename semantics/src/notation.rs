//! The meaning of a checked program: each tensor is a function, each statement defines it at every coordinate.
//!
//! ```text
//!  ⟦T[κ…]⟧        the function of T at the coordinates ⟦κ⟧, stored or declared; outside of T under `~`: missing
//!  ⟦f(e…)⟧        f applied pointwise; of `coalesce` the first that is not missing
//!  ⟦⊕(j: e)⟧      the fold over all of j's extent, ascending; several variables lexicographically, as one fold
//!  ⟦collapse⟧ …   the body at from-coordinates computed from the to-coordinates
//!  T[i…] = e      T is ⟦e⟧ at every coordinate          T[κ…] f= e      T is folded with ⟦e⟧, one coordinate after the other
//!  T[κ…] = e      of a part: T is ⟦e⟧ there, and unchanged elsewhere
//!  repeat, while  the block's statements in order, iteration after iteration      (`notation/steps.rs`)
//! ```
//!
//! This is the oracle: it computes every coordinate, stored or not, independently of formats. It is slow. A second evaluation visits only
//! stored entries, for large data, and is tested against this one (`support.rs`). Values carry the distance that an answer may have from
//! them (`crate::algebra::Number`).

pub mod dual;
pub mod einsum;
mod ground;
mod steps;
mod support;

pub use support::evaluate as evaluate_stored;

use crate::algebra::{self, Number, Numeric, Reason};
use crate::shape::Extents;
use fiberloom_core::algebra::{Mode, Op, Type, Value};
use fiberloom_core::counted;
use fiberloom_core::format::{Error, Tensor};
use fiberloom_core::notation::Span;
use fiberloom_core::notation::typed::{
    self, Bound, Expr, FnId, Fun, Index, Kind, Map, Program, Property, SizeId, Statement, Stmt, TURNS, TensorId, VarId,
};
use fiberloom_core::stack::with_room;
use im::OrdMap;
use std::cell::Cell;
use std::collections::BTreeMap;

/// The meaning of a tensor: a value at every coordinate within the extents.
#[derive(Clone, Debug, PartialEq)]
pub struct Function<V = Number> {
    /// The extent of each mode.
    pub extents: Vec<u64>,
    /// The type of its values.
    pub ty: Type,
    /// The value at every coordinate without an entry.
    pub fill: V,
    /// The values that differ from the fill value.
    pub entries: OrdMap<Vec<i64>, V>,
}

/// The limits of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most expressions evaluated, together with coordinates whose values operands store.
    pub steps: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 1 << 30 }
    }
}

/// The reason why a program has no meaning for these operands.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Extents contradict each other, or the program's own text, or stay unknown.
    Shape(Span, String),
    /// A coordinate leaves a tensor, and no `~` permits it.
    Outside(Span, String),
    /// A fold of nothing with a function that has no identity.
    Empty(Span, String),
    /// A tensor, by name, whose data are missing, malformed, or do not fit the declaration.
    Operand(String, String),
    /// The limit on steps is reached, or the limit on iterations of a function's loops, or memory does not suffice for an operand.
    Steps,
    /// The limit on iterations of the program's blocks is reached.
    Turns,
}

/// The function of each result, by name, with every coordinate evaluated by itself.
///
/// Recursion is as deep as the program nests, which the checker bounds; the stack has room for it.
///
/// # Errors
/// See [`Refusal`].
pub fn evaluate(
    program: &Program,
    operands: &BTreeMap<String, Tensor>,
    mode: Mode,
    limits: &Limits,
) -> Result<BTreeMap<String, Function>, Refusal> {
    with_room(|| {
        let mut world = World::<Number>::new(program, operands, mode, limits)?;
        world.steps(&program.order, &mut |world, s| world.statement(s))?;
        Ok(world.results())
    })
}

impl Function<Number> {
    /// The function that a tensor stores.
    ///
    /// # Panics
    /// If the tensor is malformed, or memory does not suffice.
    pub fn of(tensor: &Tensor) -> Function {
        Function::listed(tensor).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl<V: Numeric> Function<V> {
    /// As [`Function::of`], with an error: one position may stand for more coordinates than fit the memory.
    fn listed(tensor: &Tensor) -> Result<Function<V>, Error> {
        let entries = tensor.listed()?;
        let mut function = Function::constant(tensor.extents.clone(), V::given(tensor.fill));
        (0..entries.len()).for_each(|e| function.set(entries.coordinate(e), V::given(entries.values.get(e))));
        Ok(function)
    }

    fn constant(extents: Vec<u64>, fill: V) -> Function<V> {
        Function { extents, ty: fill.value().ty(), fill, entries: OrdMap::new() }
    }

    /// The value at coordinates within the extents.
    pub fn at(&self, at: &[i64]) -> V {
        *self.entries.get(at).unwrap_or(&self.fill)
    }

    fn set(&mut self, at: Vec<i64>, value: V) {
        self.put(at, value, value.is_exactly(&self.fill));
    }

    /// As `set`, for a value into which more may be folded: bounds on its factors count too.
    fn hold(&mut self, at: Vec<i64>, value: V) {
        self.put(at, value, value.multiplies_as(&self.fill));
    }

    fn put(&mut self, at: Vec<i64>, value: V, is_fill: bool) {
        if is_fill {
            self.entries.remove(&at);
        } else {
            self.entries.insert(at, value);
        }
    }

    /// The function with its values as elements of a tensor, which no other statement regroups.
    fn stored(mut self) -> Function<V> {
        self.fill = self.fill.stored();
        self.entries = self.entries.iter().map(|(at, number)| (at.clone(), number.stored())).collect();
        self
    }

    /// Marks all values as unpromised, for this reason.
    fn promise_nothing(&mut self, reason: Reason) {
        let unpromised = |number: &V| number.promising_nothing(reason);
        self.fill = unpromised(&self.fill);
        self.entries = self.entries.iter().map(|(at, number)| (at.clone(), unpromised(number))).collect();
    }

    /// The function when nothing more is folded in: entries that are the fill value are removed.
    fn finished(mut self) -> Function<V> {
        let all = self.entries.iter().filter(|(_, value)| value.is_exactly(&self.fill));
        let fills: Vec<_> = all.map(|(at, _)| at.clone()).collect();
        for at in fills {
            self.entries.remove(&at);
        }
        self
    }
}

/// The function of a tensor that is given; it has to be well-formed and as declared. Each entry takes a step.
fn held<V: Numeric>(declared: &typed::Tensor, given: &Tensor, steps: &mut u64) -> Result<Function<V>, Refusal> {
    let wrong = |what: String| Refusal::Operand(declared.name.clone(), what);
    let (rank, ty) = (declared.sizes.len(), declared.ty);
    if given.extents.len() != rank || given.values.ty() != ty || given.fill.ty() != ty {
        let (modes, is) = (counted(given.extents.len(), "mode", "modes"), given.values.ty());
        return Err(wrong(format!("{modes} of type {is}, declared as {rank} of type {ty}")));
    }
    let refused = |error| match error {
        Error::Malformed(malformed) => wrong(malformed.to_string()),
        _ => Refusal::Steps,
    };
    given.check().map_err(|malformed| wrong(malformed.to_string()))?;
    let kept = given.stored_coordinates().map_err(refused)?;
    *steps = steps.checked_sub(kept).ok_or(Refusal::Steps)?;
    Function::listed(given).map_err(refused)
}

/// The environment of an evaluation.
struct World<'p, V> {
    program: &'p Program,
    extents: Extents,
    functions: Vec<Option<Function<V>>>,
    mode: Mode,
    left: Cell<u64>,
    /// The iterations that blocks may still take.
    turns: u64,
    /// The reason why some condition of a block so far may differ in another permitted evaluation.
    unsure: Option<Reason>,
    /// Set while the evaluation skips what is not stored.
    support: Option<support::Support<V>>,
}

/// The values of index variables that are bound, by number.
type Env = Vec<i64>;

/// A value, or `missing`.
type Maybe<V> = Option<V>;

impl<'p, V: Numeric> World<'p, V> {
    /// The environment with the operands, before any statement.
    fn new(
        program: &'p Program,
        operands: &BTreeMap<String, Tensor>,
        mode: Mode,
        limits: &Limits,
    ) -> Result<World<'p, V>, Refusal> {
        let ids = || (0..program.tensors.len()).map(|id| TensorId(id as u32));
        let inputs = program.inputs();
        let (mut extents, mut functions, mut steps) = (Vec::new(), Vec::new(), limits.steps);
        for id in ids() {
            let declared = &program.tensors[id.index()];
            let brought = matches!(declared.role, typed::Role::Input | typed::Role::Result);
            let given = operands.get(&declared.name).filter(|_| brought);
            if given.is_none() && inputs.contains(&id) {
                let what = "no data are given for it, and the program reads it".to_string();
                return Err(Refusal::Operand(declared.name.clone(), what));
            }
            extents.extend(given.map(|tensor| (id, tensor.extents.clone())));
            functions.push(given.map(|tensor| held(declared, tensor, &mut steps)).transpose()?);
        }
        let extents = Extents::solve(program, &extents)?;
        let left = Cell::new(steps);
        Ok(World { program, extents, functions, mode, left, turns: TURNS, unsure: None, support: None })
    }

    fn results(self) -> BTreeMap<String, Function<V>> {
        let results = self.program.tensors.iter().zip(self.functions).filter(|(t, _)| t.role == typed::Role::Result);
        results.filter_map(|(t, f)| Some((t.name.clone(), f?))).collect()
    }

    /// The tensor's function after the statement.
    fn statement(&self, s: &Statement) -> Result<Function<V>, Refusal> {
        let mut env = vec![0; self.program.vars.len()];
        let mut function = self.before(s)?;
        let vars: Vec<VarId> = s.vars.iter().chain(&s.folded).copied().collect();
        self.affords(&vars)?;
        self.each(&vars, &mut env, s.span, &mut |world, env| world.assign(s, &mut function, env))?;
        Ok(if s.fold.is_some() { function.finished() } else { function })
    }

    /// The function with which a statement begins: that before the statement, if it accumulates or defines a part, else no entries.
    /// Accumulating into an undeclared result begins with the function's identity.
    fn before(&self, s: &Statement) -> Result<Function<V>, Refusal> {
        let tensor = &self.program.tensors[s.tensor.index()];
        let Some(extents) = self.extents.tensor(self.program, s.tensor) else {
            return Err(Refusal::Shape(s.span, format!("the extents of `{}` stay unknown", tensor.name)));
        };
        let fill = match (&self.functions[s.tensor.index()], s.fold, tensor.fill) {
            (Some(before), fold, _) if fold.is_some() || s.is_part() => return Ok(before.clone()),
            (_, _, Some(fill)) => V::given(fill),
            (_, Some(fun), None) => self.identity(fun, tensor.ty, s.span)?,
            (_, None, None) => self.ground(&s.rhs)?.unwrap_or(V::given(Value::zero(tensor.ty))),
        };
        Ok(Function::constant(extents, fill.computed()))
    }

    /// Defines the element that the left side names, or folds into it; does nothing where a coordinate is missing.
    fn assign(&self, s: &Statement, function: &mut Function<V>, env: &mut Env) -> Result<(), Refusal> {
        let Some(at) = self.coordinates(s.tensor, &s.indices, env)? else { return Ok(()) };
        let value = self.value(&s.rhs, env)?;
        match s.fold {
            None => function.set(at, value.computed()),
            Some(fun) => {
                let value = self.apply(fun, &[function.at(&at), value])?;
                function.hold(at, value.computed());
            }
        }
        Ok(())
    }

    /// Calls `f` at all coordinates of these variables in lexicographic order.
    fn each(
        &self,
        vars: &[VarId],
        env: &mut Env,
        span: Span,
        f: &mut dyn FnMut(&Self, &mut Env) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        for v in vars {
            env[v.index()] = 0;
            if self.extent(*v, span)? == 0 {
                return Ok(());
            }
        }
        loop {
            self.step()?;
            f(self, env)?;
            // Advances the last variable that is not at its end; those behind it begin again.
            let mut n = vars.len();
            loop {
                let Some(before) = n.checked_sub(1) else { return Ok(()) };
                n = before;
                let v = vars[n];
                env[v.index()] += 1;
                if (env[v.index()] as u64) < self.extent(v, span)? {
                    break;
                }
                env[v.index()] = 0;
            }
        }
    }

    /// The extent of a size, as a value.
    fn size(&self, size: SizeId, span: Span) -> Result<V, Refusal> {
        let unknown = || Refusal::Shape(span, "the extent of a size stays unknown".to_string());
        self.extents.size(size).map(|n| V::given(Value::i64(n as i64))).ok_or_else(unknown)
    }

    /// The first coordinate of a slice.
    fn starts(&self, start: &Bound, span: Span) -> Result<i64, Refusal> {
        let unknown = || Refusal::Shape(span, "where a slice begins stays unknown".to_string());
        self.extents.bound(start, span)?.map(|n| n as i64).ok_or_else(unknown)
    }

    fn extent(&self, v: VarId, span: Span) -> Result<u64, Refusal> {
        let unknown = || format!("the extent of index variable `{}` stays unknown", self.program.vars[v.index()].name);
        self.extents.var(v).ok_or_else(|| Refusal::Shape(span, unknown()))
    }

    /// Whether one step for each coordinate of these variables is within the limit; checked before the loop begins.
    fn affords(&self, vars: &[VarId]) -> Result<(), Refusal> {
        let extents = vars.iter().map(|v| self.extents.var(*v).unwrap_or(0));
        let product = extents.map(u128::from).try_fold(1u128, u128::checked_mul);
        if product.is_some_and(|n| n <= self.left.get().into()) { Ok(()) } else { Err(Refusal::Steps) }
    }

    fn step(&self) -> Result<(), Refusal> {
        self.left.set(self.left.get().checked_sub(1).ok_or(Refusal::Steps)?);
        Ok(())
    }

    /// The value of an expression that cannot be missing.
    fn value(&self, e: &Expr, env: &mut Env) -> Result<V, Refusal> {
        let value = self.eval(e, env)?;
        value.ok_or_else(|| Refusal::Outside(e.span, "a value is missing outside of `coalesce`".to_string()))
    }

    /// The value of an expression.
    fn eval(&self, e: &Expr, env: &mut Env) -> Result<Maybe<V>, Refusal> {
        self.step()?;
        match &e.kind {
            Kind::Literal(value) => Ok(Some(V::given(*value))),
            Kind::Index(v) => Ok(Some(V::given(Value::i64(env[v.index()])))),
            Kind::Size(s) => self.size(*s, e.span).map(Some),
            Kind::Local(_) => unreachable!("locals stand in functions only"),
            Kind::Access(t, indices) => {
                let at = self.coordinates(*t, indices, env)?;
                at.map(|at| self.at(*t, &at)).transpose()
            }
            Kind::Call(Fun::Op(Op::Coalesce), args) => {
                for a in args {
                    if let Some(value) = self.eval(a, env)? {
                        return Ok(Some(value));
                    }
                }
                Ok(None)
            }
            Kind::Call(fun, args) => {
                let args = args.iter().map(|a| self.eval(a, env)).collect::<Result<Option<Vec<V>>, _>>()?;
                args.map(|args| self.apply(*fun, &args)).transpose()
            }
            Kind::Reduce { fun, vars, body, start } => {
                let start = start.as_ref().map(|s| self.value(s, env)).transpose()?;
                match self.support {
                    Some(_) => self.fold_stored(e, start, env),
                    None => self.fold(*fun, vars, body, start, env),
                }
            }
            _ => self.shape_operator(e, env),
        }
    }

    /// The fold over all coordinates of `vars`; over nothing, the identity. Missing if any value is missing.
    fn fold(&self, fun: Fun, vars: &[VarId], body: &Expr, start: Maybe<V>, env: &mut Env) -> Result<Maybe<V>, Refusal> {
        self.affords(vars)?;
        let (mut sum, mut missing, mut n) = (start, false, 0);
        self.each(vars, env, body.span, &mut |world, env| {
            n += 1;
            match (sum, world.eval(body, env)?) {
                (_, None) => missing = true,
                (None, first) => sum = first,
                (Some(before), Some(value)) => sum = Some(world.apply(fun, &[before, value])?),
            }
            Ok(())
        })?;
        self.folded(fun, body, sum.filter(|_| !missing), n)
    }

    /// The result of a fold of `n` values; missing if `sum` is, unless there were no values.
    fn folded(&self, fun: Fun, body: &Expr, sum: Maybe<V>, n: u64) -> Result<Maybe<V>, Refusal> {
        match (fun, sum) {
            (Fun::User(_), Some(sum)) => Ok(Some(sum.reordered(n))),
            // A `gcd` begins with 0, which is no identity for negative numbers: the result is a magnitude, even for one value.
            (Fun::Op(Op::Gcd), Some(sum)) => self.apply(fun, &[sum, self.identity(fun, body.ty, body.span)?]).map(Some),
            (_, None) if n == 0 => self.identity(fun, body.ty, body.span).map(Some),
            _ => Ok(sum),
        }
    }

    /// The value of a fold over nothing.
    fn identity(&self, fun: Fun, ty: Type, span: Span) -> Result<V, Refusal> {
        let found = match fun {
            Fun::Op(op) => algebra::identity(op, ty),
            Fun::User(f) => self.program.functions[f.index()].properties.iter().find_map(|(p, _)| match p {
                Property::Identity(value, _) => Some(*value),
                _ => None,
            }),
        };
        let nothing = || Refusal::Empty(span, "a fold of nothing, whose function has no identity".to_string());
        found.map(V::given).ok_or_else(nothing)
    }

    /// The body at the coordinates that the operator's map gives.
    fn shape_operator(&self, e: &Expr, env: &mut Env) -> Result<Maybe<V>, Refusal> {
        match &e.kind {
            Kind::Collapse { body, from, to } => {
                let mut rest = env[to.index()];
                for v in from.iter().rev() {
                    let extent = self.extent(*v, e.span)?.max(1) as i64;
                    env[v.index()] = rest % extent;
                    rest /= extent;
                }
                self.eval(body, env)
            }
            Kind::Split { body, from, to } => {
                let extent = self.extent(to.1, e.span)? as i64;
                env[from.index()] = env[to.0.index()].wrapping_mul(extent).wrapping_add(env[to.1.index()]);
                self.eval(body, env)
            }
            Kind::Concat { parts, from, to } => {
                let mut rest = env[to.index()];
                for (part, v) in parts.iter().zip(from) {
                    let extent = self.extent(*v, e.span)? as i64;
                    if rest < extent {
                        env[v.index()] = rest;
                        return self.eval(part, env);
                    }
                    rest -= extent;
                }
                Err(Refusal::Outside(e.span, "a coordinate past the end of a concatenation".to_string()))
            }
            Kind::Slice { body, from, to, start, step, .. } => {
                let start = self.starts(start, e.span)?;
                env[from.index()] = (*step as i64).wrapping_mul(env[to.index()]).wrapping_add(start);
                self.eval(body, env)
            }
            _ => unreachable!("the other kinds are evaluated by `eval`"),
        }
    }

    /// The value of a tensor at coordinates within its extents.
    fn at(&self, t: TensorId, at: &[i64]) -> Result<V, Refusal> {
        match self.program.tensors[t.index()].role {
            typed::Role::Computed(f) => {
                let at: Vec<V> = at.iter().map(|c| V::given(Value::i64(*c))).collect();
                self.apply(Fun::User(f), &at)
            }
            _ => Ok(self.function(t)?.at(at)),
        }
    }

    fn function(&self, t: TensorId) -> Result<&Function<V>, Refusal> {
        let name = || self.program.tensors[t.index()].name.clone();
        self.functions[t.index()].as_ref().ok_or_else(|| Refusal::Operand(name(), "it has no value yet".to_string()))
    }

    /// The coordinates of these indices; `None` if a permitted index leaves the tensor.
    fn coordinates(&self, t: TensorId, indices: &[Index], env: &mut Env) -> Result<Option<Vec<i64>>, Refusal> {
        let tensor = &self.program.tensors[t.index()];
        let extents = self.extents.tensor(self.program, t);
        let extents = extents
            .ok_or_else(|| Refusal::Shape(tensor.span, format!("the extents of `{}` stay unknown", tensor.name)))?;
        let mut at = Vec::with_capacity(indices.len());
        for (index, extent) in indices.iter().zip(extents) {
            let Some(c) = self.map(&index.map, env, index.span)? else { return Ok(None) };
            match 0 <= c && c < extent as i64 {
                true => at.push(c),
                false if index.permit => return Ok(None),
                false => {
                    let help =
                        if matches!(index.map, Map::Gather(..) | Map::Computed(_)) { "" } else { ": `~` permits it" };
                    let what = format!("coordinate {c} leaves `{}`, whose extent is {extent}{help}", tensor.name);
                    return Err(Refusal::Outside(index.span, what));
                }
            }
        }
        Ok(Some(at))
    }

    /// The coordinate of an index map; `None` if it reads a missing value.
    fn map(&self, map: &Map, env: &mut Env, span: Span) -> Result<Option<i64>, Refusal> {
        let overflow = || Refusal::Outside(span, "a coordinate does not fit 64 bits".to_string());
        let c = match map {
            Map::Var(v) => Some(env[v.index()]),
            Map::Const(c) => Some(*c),
            Map::Bound(bound) => Some(self.starts(bound, span)?),
            Map::Add(a, b) => match (self.map(a, env, span)?, self.map(b, env, span)?) {
                (Some(a), Some(b)) => Some(a.checked_add(b).ok_or_else(overflow)?),
                _ => None,
            },
            Map::Mul(n, a) => match self.map(a, env, span)? {
                Some(a) => Some(a.checked_mul(*n).ok_or_else(overflow)?),
                None => None,
            },
            Map::Div(a, n) => self.map(a, env, span)?.map(|a| a.div_euclid(*n)),
            Map::Mod(a, n) => self.map(a, env, span)?.map(|a| a.rem_euclid(*n)),
            Map::Computed(e) => match self.eval(e, env)? {
                Some(number) => Some(number.value().as_i64().ok_or_else(overflow)?),
                None => None,
            },
            Map::Gather(t, indices) => match self.coordinates(*t, indices, env)? {
                Some(at) => Some(self.at(*t, &at)?.value().as_i64().ok_or_else(overflow)?),
                None => None,
            },
        };
        Ok(c)
    }

    /// The value of a function.
    fn apply(&self, fun: Fun, args: &[V]) -> Result<V, Refusal> {
        match fun {
            Fun::Op(op) => Ok(V::apply(op, args, self.mode).expect("checked programs apply functions to their types")),
            Fun::User(f) => self.call(f, args, &Cell::new(TURNS)),
        }
    }

    /// The value of a user's function. Its loops, and those of the functions that it calls, may still take `turns` iterations.
    fn call(&self, f: FnId, args: &[V], turns: &Cell<u64>) -> Result<V, Refusal> {
        let function = &self.program.functions[f.index()];
        let mut call = Call { locals: args.to_vec(), unsure: None, turns };
        call.locals.extend(function.locals[args.len()..].iter().map(|(_, ty)| V::given(Value::zero(*ty))));
        self.block(&function.stmts, &mut call)?;
        let value = self.local(&function.value, &call)?;
        // Another path through the function may be right too.
        Ok(call.unsure.map_or(value, |reason| value.promising_nothing(reason)))
    }

    fn block(&self, stmts: &[Stmt], call: &mut Call<V>) -> Result<(), Refusal> {
        for s in stmts {
            self.step()?;
            match s {
                Stmt::Set(l, e) => call.locals[l.index()] = self.local(e, call)?,
                Stmt::While(e, body) => {
                    while self.holds(e, call)? {
                        call.turns.set(call.turns.get().checked_sub(1).ok_or(Refusal::Steps)?);
                        self.block(body, call)?;
                    }
                }
                Stmt::If(e, yes, no) => match self.holds(e, call)? {
                    true => self.block(yes, call)?,
                    false => self.block(no, call)?,
                },
            }
        }
        Ok(())
    }

    fn holds(&self, e: &Expr, call: &mut Call<V>) -> Result<bool, Refusal> {
        let condition = self.local(e, call)?;
        call.unsure = call.unsure.or(condition.reason());
        Ok(condition.value().is_true())
    }

    /// The value of an expression in a function's body.
    fn local(&self, e: &Expr, call: &Call<V>) -> Result<V, Refusal> {
        self.step()?;
        match &e.kind {
            Kind::Literal(value) => Ok(V::given(*value)),
            Kind::Local(l) => Ok(call.locals[l.index()]),
            Kind::Call(fun, args) => {
                let args = args.iter().map(|a| self.local(a, call)).collect::<Result<Vec<_>, _>>()?;
                match fun {
                    Fun::Op(_) => self.apply(*fun, &args),
                    Fun::User(f) => self.call(*f, &args, call.turns),
                }
            }
            _ => unreachable!("functions read parameters and locals only"),
        }
    }
}

/// A running call of a user's function.
struct Call<'a, V> {
    /// The parameters and locals.
    locals: Vec<V>,
    /// The reason why some condition so far may differ in another permitted evaluation, if so.
    unsure: Option<Reason>,
    /// The iterations that its loops may still take.
    turns: &'a Cell<u64>,
}
