//! What a checked program means: each tensor a function, each statement its definition at every coordinate.
//!
//! ```text
//!  ⟦T[κ…]⟧        the function of T at the coordinates ⟦κ⟧; outside of T under `~`: missing
//!  ⟦f(e…)⟧        f applied pointwise; of `coalesce` the first that is not missing
//!  ⟦⊕(j: e)⟧      the fold over all of j's extent, ascending; several variables lexicographically, as one fold
//!  ⟦collapse⟧ …   the body at from-coordinates computed from the to-coordinates
//!  T[i…] = e      T is ⟦e⟧ at every coordinate          T[κ…] f= e      T is folded with ⟦e⟧, one coordinate after the other
//! ```
//!
//! This is the oracle: it computes every coordinate, stored or not, and knows nothing of formats. It is slow.

use crate::algebra as scalar;
use crate::shape::Extents;
use fiberloom_core::algebra::{Mode, Op, Type, Value};
use fiberloom_core::format::Tensor;
use fiberloom_core::notation::Span;
use fiberloom_core::notation::typed::{
    self, Expr, Fun, Index, Kind, Map, Program, Property, Statement, Stmt, TensorId, VarId,
};
use im::OrdMap;
use std::cell::Cell;
use std::collections::BTreeMap;

/// What a tensor is: a value at every coordinate within the extents.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Extent of each mode.
    pub extents: Vec<u64>,
    /// Type of its values.
    pub ty: Type,
    /// The value wherever there is no entry.
    pub fill: Value,
    /// Where the value is another.
    pub entries: OrdMap<Vec<i64>, Value>,
}

/// What an evaluation may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Expressions evaluated.
    pub steps: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 1 << 30 }
    }
}

/// Why a program has no meaning for these operands.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Extents contradict each other, or the program's own text, or stay unknown.
    Shape(Span, String),
    /// A coordinate leaves a tensor, and no `~` permits it.
    Outside(Span, String),
    /// A fold of nothing with a function that has no identity.
    Empty(Span, String),
    /// The limit on steps is reached.
    Steps,
}

/// The function of each result, by name.
///
/// # Errors
/// See [`Refusal`].
///
/// # Panics
/// If an operand is malformed, or has not the rank and type that the program declares, or if one is missing.
pub fn evaluate(
    program: &Program,
    operands: &BTreeMap<String, Tensor>,
    mode: Mode,
    limits: &Limits,
) -> Result<BTreeMap<String, Function>, Refusal> {
    let given = |id: &TensorId| {
        let tensor = &program.tensors[id.index()];
        operands.get(&tensor.name).filter(|_| tensor.role != typed::Role::Local)
    };
    let ids = || (0..program.tensors.len()).map(|id| TensorId(id as u32));
    let extents: Vec<_> = ids().filter_map(|id| Some((id, given(&id)?.extents.clone()))).collect();
    let extents = Extents::solve(program, &extents)?;
    let functions = ids().map(|id| given(&id).map(Function::of)).collect();
    let mut world = World { program, extents, functions, mode, left: Cell::new(limits.steps) };
    for s in &program.statements {
        let function = world.statement(s)?;
        world.functions[s.tensor.index()] = Some(function);
    }
    let results = program.tensors.iter().zip(world.functions).filter(|(t, _)| t.role == typed::Role::Result);
    Ok(results.filter_map(|(t, f)| Some((t.name.clone(), f?))).collect())
}

impl Function {
    /// The function that a tensor stores.
    ///
    /// # Panics
    /// If it is malformed.
    pub fn of(tensor: &Tensor) -> Function {
        let mut function = Function::constant(tensor.extents.clone(), tensor.fill);
        tensor.entries().for_each(|(at, value)| function.set(at, value));
        function
    }

    fn constant(extents: Vec<u64>, fill: Value) -> Function {
        Function { extents, ty: fill.ty(), fill, entries: OrdMap::new() }
    }

    /// Its value at coordinates within its extents.
    pub fn at(&self, at: &[i64]) -> Value {
        *self.entries.get(at).unwrap_or(&self.fill)
    }

    fn set(&mut self, at: Vec<i64>, value: Value) {
        if value == self.fill {
            self.entries.remove(&at);
        } else {
            self.entries.insert(at, value);
        }
    }
}

/// What an expression reads.
struct World<'p> {
    program: &'p Program,
    extents: Extents,
    functions: Vec<Option<Function>>,
    mode: Mode,
    left: Cell<u64>,
}

/// The values of index variables that are bound, by number.
type Env = Vec<i64>;

/// A value, or `missing`.
type Maybe = Option<Value>;

impl World<'_> {
    /// The tensor as the statement leaves it.
    fn statement(&self, s: &Statement) -> Result<Function, Refusal> {
        let tensor = &self.program.tensors[s.tensor.index()];
        let mut env = vec![0; self.program.vars.len()];
        let Some(extents) = self.extents.tensor(self.program, s.tensor) else {
            return Err(Refusal::Shape(s.span, format!("the extents of `{}` stay unknown", tensor.name)));
        };
        let before = self.functions[s.tensor.index()].clone();
        let mut function = match (before, s.fold, tensor.fill) {
            (Some(before), Some(_), _) => before,
            (_, _, Some(fill)) => Function::constant(extents, fill),
            (_, Some(_), None) => Function::constant(extents, Value::zero(tensor.ty)),
            (_, None, None) => Function::constant(extents, self.background(&s.rhs, &env)?),
        };
        let vars: Vec<VarId> = s.vars.iter().chain(&s.folded).copied().collect();
        self.affords(&vars)?;
        self.each(&vars, &mut env, s.span, &mut |world, env| {
            let value = world.value(&s.rhs, env)?;
            let at = world.coordinates(s.tensor, &s.indices, env)?;
            let at = at.ok_or_else(|| Refusal::Outside(s.span, "`~` on a left side".to_string()))?;
            let value = match s.fold {
                None => value,
                Some(fun) => world.apply(fun, &[function.at(&at), value])?,
            };
            function.set(at, value);
            Ok(())
        })?;
        Ok(function)
    }

    /// The value of an expression where nothing is stored: every access reads its fill value.
    fn background(&self, e: &Expr, env: &Env) -> Result<Value, Refusal> {
        let functions =
            self.functions.iter().map(|f| f.as_ref().map(|f| Function { entries: OrdMap::new(), ..f.clone() }));
        let functions = functions.collect();
        let (program, extents) = (self.program, self.extents.clone());
        let empty = World { program, extents, functions, mode: self.mode, left: self.left.clone() };
        let mut env = env.clone();
        // Where a coordinate leaves a tensor, or there is nothing to fold, any value will do: it is only the fill.
        match empty.value(e, &mut env) {
            Err(Refusal::Steps) => Err(Refusal::Steps),
            other => Ok(other.unwrap_or(Value::zero(e.ty))),
        }
    }

    /// Does `f` at all coordinates of these variables, lexicographically, ascending.
    fn each(
        &self,
        vars: &[VarId],
        env: &mut Env,
        span: Span,
        f: &mut dyn FnMut(&Self, &mut Env) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let Some((first, rest)) = vars.split_first() else { return f(self, env) };
        for c in 0..self.extent(*first, span)? {
            self.step()?;
            env[first.index()] = c as i64;
            self.each(rest, env, span, f)?;
        }
        Ok(())
    }

    fn extent(&self, v: VarId, span: Span) -> Result<u64, Refusal> {
        let unknown = || format!("the extent of index variable `{}` stays unknown", self.program.vars[v.index()].name);
        self.extents.var(v).ok_or_else(|| Refusal::Shape(span, unknown()))
    }

    /// Whether one step a coordinate of these variables is within the limit: asked before it is begun.
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
    fn value(&self, e: &Expr, env: &mut Env) -> Result<Value, Refusal> {
        let value = self.eval(e, env)?;
        value.ok_or_else(|| Refusal::Outside(e.span, "a value is missing outside of `coalesce`".to_string()))
    }

    /// The value of an expression.
    fn eval(&self, e: &Expr, env: &mut Env) -> Result<Maybe, Refusal> {
        self.step()?;
        match &e.kind {
            Kind::Literal(value) => Ok(Some(*value)),
            Kind::Index(v) => Ok(Some(Value::i64(env[v.index()]))),
            Kind::Local(_) => unreachable!("locals stand in functions only"),
            Kind::Access(t, indices) => {
                let at = self.coordinates(*t, indices, env)?;
                Ok(at.map(|at| self.function(*t).at(&at)))
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
                let args = args.iter().map(|a| self.eval(a, env)).collect::<Result<Option<Vec<Value>>, _>>()?;
                args.map(|args| self.apply(*fun, &args)).transpose()
            }
            Kind::Reduce { fun, vars, body, start } => {
                let start = start.as_ref().map(|s| self.value(s, env)).transpose()?;
                self.fold(*fun, vars, body, start, env)
            }
            _ => self.shape_operator(e, env),
        }
    }

    /// The fold over all coordinates of `vars`; of nothing, the identity. Missing if any part is.
    fn fold(&self, fun: Fun, vars: &[VarId], body: &Expr, start: Maybe, env: &mut Env) -> Result<Maybe, Refusal> {
        self.affords(vars)?;
        let (mut sum, mut missing) = (start, false);
        self.each(vars, env, body.span, &mut |world, env| {
            match (sum, world.eval(body, env)?) {
                (_, None) => missing = true,
                (None, first) => sum = first,
                (Some(before), Some(value)) => sum = Some(world.apply(fun, &[before, value])?),
            }
            Ok(())
        })?;
        match (missing, sum) {
            (true, _) => Ok(None),
            (false, Some(sum)) => Ok(Some(sum)),
            (false, None) => {
                let empty =
                    || Refusal::Empty(body.span, "a reduction of nothing, whose function has no identity".into());
                self.identity(fun, body.ty).ok_or_else(empty).map(Some)
            }
        }
    }

    fn identity(&self, fun: Fun, ty: Type) -> Maybe {
        match fun {
            Fun::Op(op) => scalar::identity(op, ty),
            Fun::User(f) => self.program.functions[f.index()].properties.iter().find_map(|(p, _)| match p {
                Property::Identity(value, _) => Some(*value),
                _ => None,
            }),
        }
    }

    /// The body at the coordinates that the operator's map gives.
    fn shape_operator(&self, e: &Expr, env: &mut Env) -> Result<Maybe, Refusal> {
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
                env[from.index()] = env[to.0.index()] * self.extent(to.1, e.span)? as i64 + env[to.1.index()];
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
                env[from.index()] = *start as i64 + *step as i64 * env[to.index()];
                self.eval(body, env)
            }
            _ => unreachable!("the other kinds are evaluated by `eval`"),
        }
    }

    fn function(&self, t: TensorId) -> &Function {
        self.functions[t.index()].as_ref().expect("tensors are given, or defined before they are read")
    }

    /// The coordinates that indices say; `None` if one leaves the tensor, as it is permitted to.
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
                    let what =
                        format!("coordinate {c} leaves `{}`, whose extent is {extent}: `~` permits it", tensor.name);
                    return Err(Refusal::Outside(index.span, what));
                }
            }
        }
        Ok(Some(at))
    }

    /// The coordinate that an index map says; `None` if it is read where there is nothing.
    fn map(&self, map: &Map, env: &mut Env, span: Span) -> Result<Option<i64>, Refusal> {
        let overflow = || Refusal::Outside(span, "a coordinate does not fit 64 bits".to_string());
        let c = match map {
            Map::Var(v) => Some(env[v.index()]),
            Map::Const(c) => Some(*c),
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
            Map::Gather(t, indices) => match self.coordinates(*t, indices, env)? {
                Some(at) => Some(self.function(*t).at(&at).as_i64().ok_or_else(overflow)?),
                None => None,
            },
        };
        Ok(c)
    }

    /// A function applied.
    fn apply(&self, fun: Fun, args: &[Value]) -> Result<Value, Refusal> {
        match fun {
            Fun::Op(op) => Ok(scalar::apply(op, args).expect("checked programs apply functions to their types")),
            Fun::User(f) => {
                let function = &self.program.functions[f.index()];
                let mut locals: Vec<Value> = function.locals.iter().map(|(_, ty)| Value::zero(*ty)).collect();
                locals[..args.len()].copy_from_slice(args);
                self.block(&function.stmts, &mut locals)?;
                self.local(&function.value, &locals)
            }
        }
    }

    fn block(&self, stmts: &[Stmt], locals: &mut [Value]) -> Result<(), Refusal> {
        for s in stmts {
            self.step()?;
            match s {
                Stmt::Set(l, e) => locals[l.index()] = self.local(e, locals)?,
                Stmt::While(e, body) => {
                    while self.local(e, locals)?.is_true() {
                        self.block(body, locals)?;
                    }
                }
                Stmt::If(e, yes, no) => match self.local(e, locals)?.is_true() {
                    true => self.block(yes, locals)?,
                    false => self.block(no, locals)?,
                },
            }
        }
        Ok(())
    }

    /// The value of an expression in a function's body.
    fn local(&self, e: &Expr, locals: &[Value]) -> Result<Value, Refusal> {
        self.step()?;
        match &e.kind {
            Kind::Literal(value) => Ok(*value),
            Kind::Local(l) => Ok(locals[l.index()]),
            Kind::Call(fun, args) => {
                let args = args.iter().map(|a| self.local(a, locals)).collect::<Result<Vec<_>, _>>()?;
                self.apply(*fun, &args)
            }
            _ => unreachable!("functions read parameters and locals only"),
        }
    }
}
