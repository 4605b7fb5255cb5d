//! The meaning evaluated over stored entries, for data whose extents are too large to visit every coordinate.
//!
//! ```text
//!  outline(e, v)   the coordinates of v where the expression can differ from its ground; other variables are bound or any
//!    T[κ…]           the coordinates of T's entries, mapped back through κ; ground: T's fill value
//!    f(a, b)         places(a) ∪ places(b)                     a ground that annihilates f: its argument's places only
//!    shape ops       the body's places, mapped                 anything else: everywhere
//!  walk(v…, e)     all places in lexicographic order, and the runs of ground between them
//!  fold            values at places, and runs folded in at once (`ground.rs`), in ascending order
//!  make            a whole reduction as one sparse function: its own variables run outermost, each entry is a fold
//! ```
//!
//! Values at places are computed by the pointwise evaluation; this module only decides what to skip. So both agree bit for bit, except
//! that in `algebraic` mode 0 · x is taken as 0 where x is finite, and the sign of a zero may differ. An expression about which nothing
//! is known is visited everywhere, and a statement that is refused is left to the pointwise evaluation, which says why.

use super::ground::annihilated;
use super::*;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// As [`super::evaluate`], in time about proportional to the number of entries read and computed.
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
        run_stored(&mut world)?;
        Ok(world.results())
    })
}

/// Runs a program, visiting what is stored.
pub(super) fn run_stored<V: Numeric>(world: &mut World<'_, V>) -> Result<(), Refusal> {
    let program = world.program;
    world.steps(&program.order, &mut |world, s| {
        world.support = Some(Support::new());
        let function = world.statement_stored(s);
        world.support = None;
        match function {
            Err(Refusal::Steps) => Err(Refusal::Steps),
            other => other.or_else(|_| world.statement(s)),
        }
    })
}

/// Cached results of one statement.
pub(super) struct Support<V> {
    /// Reductions that are evaluated as a whole, by their places in the program, with their variables and function.
    made: RefCell<FxHashMap<*const Expr, Rc<Made<V>>>>,
    /// Per function: sorted coordinates of one mode, by the coordinates of the others.
    lists: RefCell<FxHashMap<Listed, Rc<Lists>>>,
    /// The largest magnitude of each expression so far.
    largest: RefCell<FxHashMap<*const Expr, f64>>,
}

impl<V> Support<V> {
    /// Nothing is cached.
    fn new() -> Support<V> {
        Support { made: RefCell::default(), lists: RefCell::default(), largest: RefCell::default() }
    }
}

struct Made<V> {
    indices: Vec<Index>,
    function: Function<V>,
}

/// The key of a list: the function, the modes with known coordinates, and the mode of the list.
type Listed = (Source, Vec<usize>, usize);

/// The lists, by the coordinates in the known modes.
type Lists = FxHashMap<Vec<i64>, Rc<[i64]>>;

/// The function whose entries are listed: a tensor's or a reduction's.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Source {
    Tensor(TensorId),
    Made(*const Expr),
}

/// Marks a variable in an [`Env`] as having any value. Coordinates are never negative.
const ANY: i64 = -1;

/// A set of coordinates of one index variable.
#[derive(Clone, Debug)]
enum Places {
    Everywhere,
    /// These coordinates, ascending.
    At(Rc<[i64]>),
}

/// The coordinates of a variable where an expression can differ from its ground.
struct Outline<V> {
    places: Places,
    /// The value at all other coordinates; `None` if the places are everywhere.
    ground: Option<V>,
}

impl<V: Numeric> Outline<V> {
    fn everywhere() -> Outline<V> {
        Outline { places: Places::Everywhere, ground: None }
    }

    fn constant(value: V) -> Outline<V> {
        Outline { places: Places::At(Rc::new([])), ground: Some(value) }
    }

    fn at(places: impl Into<Rc<[i64]>>, ground: V) -> Outline<V> {
        Outline { places: Places::At(places.into()), ground: Some(ground) }
    }

    /// The outline with the same ground and its places mapped.
    fn mapped(self, map: impl Fn(i64) -> Option<i64>) -> Outline<V> {
        match (self.places, self.ground) {
            (Places::At(places), Some(ground)) => {
                let mut mapped: Vec<i64> = places.iter().filter_map(|c| map(*c)).collect();
                mapped.sort_unstable();
                mapped.dedup();
                Outline::at(mapped, ground)
            }
            _ => Outline::everywhere(),
        }
    }
}

fn union(a: Places, b: Places) -> Places {
    match (a, b) {
        (Places::At(a), Places::At(b)) if a.is_empty() => Places::At(b),
        (Places::At(a), Places::At(b)) if b.is_empty() => Places::At(a),
        (Places::At(a), Places::At(b)) => {
            Places::At(a.iter().chain(b.iter()).copied().collect::<BTreeSet<_>>().into_iter().collect())
        }
        _ => Places::Everywhere,
    }
}

fn intersection(a: Places, b: Places) -> Places {
    match (a, b) {
        (Places::At(a), Places::At(b)) => {
            let (few, many) = if a.len() < b.len() { (a, b) } else { (b, a) };
            Places::At(few.iter().filter(|c| many.binary_search(c).is_ok()).copied().collect())
        }
        (Places::Everywhere, other) | (other, Places::Everywhere) => other,
    }
}

/// A step of a walk.
enum Visit<V> {
    /// All variables are bound.
    Here,
    /// This many consecutive coordinates at which the expression is its ground.
    Run(V, u128),
}

type Visitor<'v, 'p, V> = dyn FnMut(&World<'p, V>, &mut Env, Visit<V>) -> Result<(), Refusal> + 'v;

impl<'p, V: Numeric> World<'p, V> {
    /// The tensor's function after the statement.
    fn statement_stored(&self, s: &Statement) -> Result<Function<V>, Refusal> {
        if s.vars.len() + s.folded.len() > MANY {
            return self.statement(s);
        }
        let mut env = vec![ANY; self.program.vars.len()];
        let mut function = self.before(s)?;
        self.make_parts(&s.rhs, &mut env)?;
        let Some(fun) = s.fold else {
            let fill = function.fill;
            // Outside of a part the tensor keeps its values, so nothing may be skipped.
            let wanted = |ground: &V| !s.is_part() && self.one_ground(ground, &fill);
            self.walk(&s.vars, &s.rhs, &wanted, &mut env, &mut |world, env, visit| match visit {
                Visit::Here => world.assign(s, &mut function, env),
                Visit::Run(..) => Ok(()),
            })?;
            return Ok(function);
        };
        // A left side that may leave the tensor is evaluated everywhere.
        let bare = s.indices.iter().all(|i| i.bare().is_some());
        let neutral = self.neutral(fun, s.rhs.ty).filter(|_| bare);
        let visit: &mut Visitor<'_, 'p, V> = &mut |world, env, visit| {
            if let Visit::Here = visit {
                world.accumulate(s, fun, &mut function, env)?;
            }
            Ok(())
        };
        let wanted = |ground: &V| neutral.is_some_and(|n| self.one_ground(&n, ground));
        self.walk(&s.vars, &s.rhs, &wanted, &mut env, visit)?;
        Ok(function.finished())
    }

    /// Folds into the element at the bound coordinates of the left side, over all variables that are folded over.
    fn accumulate(&self, s: &Statement, fun: Fun, function: &mut Function<V>, env: &mut Env) -> Result<(), Refusal> {
        let at = self.coordinates(s.tensor, &s.indices, env)?;
        let at = at.ok_or_else(|| Refusal::Outside(s.span, "`~` on a left side".to_string()))?;
        let mut sum = function.at(&at);
        self.walk(&s.folded, &s.rhs, &|_| true, env, &mut |world, env, visit| {
            sum = match visit {
                Visit::Here => world.apply(fun, &[sum, world.value(&s.rhs, env)?])?,
                Visit::Run(ground, n) => world.again(fun, sum, &ground, n)?,
            };
            Ok(())
        })?;
        function.hold(at, sum.computed());
        Ok(())
    }

    /// The function's identity, if folding it in changes nothing.
    fn neutral(&self, fun: Fun, ty: Type) -> Option<V> {
        let Fun::Op(op @ (Op::Add | Op::Min | Op::Max | Op::Or | Op::Xor | Op::And | Op::OrElse | Op::AndAlso)) = fun
        else {
            return None;
        };
        let signed = op == Op::Add && ty.is_float() && self.mode == Mode::Strict;
        algebra::identity(op, ty).filter(|_| !signed).map(V::given)
    }

    /// Whether two grounds are the same value; in `algebraic` mode up to the sign of zero.
    fn one_ground(&self, a: &V, b: &V) -> bool {
        let zero = |n: &V| n.unmoved().is_some_and(|n| n.value.as_f64() == 0.0 && n.error() == 0.0);
        a.is_exactly(b) || self.mode == Mode::Algebraic && a.value().ty().is_float() && zero(a) && zero(b)
    }

    /// Visits all coordinates of `vars`, ascending: one by one where `e` can differ from its ground, else in runs, if `wanted` holds for
    /// the ground.
    fn walk(
        &self,
        vars: &[VarId],
        e: &Expr,
        wanted: &dyn Fn(&V) -> bool,
        env: &mut Env,
        visit: &mut Visitor<'_, 'p, V>,
    ) -> Result<(), Refusal> {
        self.step()?;
        let Some((v, rest)) = vars.split_first() else { return visit(self, env, Visit::Here) };
        vars.iter().for_each(|v| env[v.index()] = ANY);
        let extent = self.extent(*v, e.span)? as i64;
        rest.iter().try_for_each(|v| self.extent(*v, e.span).map(drop))?;
        let inner = self.count(rest).ok_or(Refusal::Steps)?;
        let outline = self.outline(e, *v, env)?;
        let mut from = 0;
        match (outline.places, outline.ground) {
            (Places::At(places), Some(ground)) if wanted(&ground) => {
                for c in places.iter().copied().chain([extent]) {
                    if from < c && inner > 0 {
                        let turns = inner.checked_mul((c - from) as u128).ok_or(Refusal::Steps)?;
                        visit(self, env, Visit::Run(ground, turns))?;
                    }
                    if c < extent {
                        env[v.index()] = c;
                        self.walk(rest, e, wanted, env, visit)?;
                        env[v.index()] = ANY;
                        from = c + 1;
                    }
                }
            }
            _ => {
                while from < extent {
                    env[v.index()] = from;
                    self.walk(rest, e, wanted, env, visit)?;
                    env[v.index()] = ANY;
                    from += 1;
                }
            }
        }
        Ok(())
    }

    /// As [`World::fold`].
    pub(super) fn fold_stored(&self, e: &Expr, start: Maybe<V>, env: &mut Env) -> Result<Maybe<V>, Refusal> {
        let Kind::Reduce { fun, vars, body, .. } = &e.kind else { unreachable!("reductions are folded") };
        if let Some(made) = self.made(e) {
            let at: Vec<i64> = made.indices.iter().filter_map(|i| Some(env[i.bare()?.index()])).collect();
            return Ok(Some(made.function.at(&at)));
        }
        let Some(n) = self.count(vars).filter(|_| vars.len() <= MANY) else {
            return self.fold(*fun, vars, body, start, env);
        };
        let (mut sum, mut missing) = (start, false);
        let all: &mut Visitor<'_, 'p, V> = &mut |world, env, visit| {
            sum = match (sum, visit) {
                (None, Visit::Run(ground, n)) => Some(world.again(*fun, ground, &ground, n - 1)?),
                (Some(sum), Visit::Run(ground, n)) => Some(world.again(*fun, sum, &ground, n)?),
                (sum, Visit::Here) => match (sum, world.eval(body, env)?) {
                    (Some(sum), Some(value)) => Some(world.apply(*fun, &[sum, value])?),
                    (sum, value) => {
                        missing |= value.is_none();
                        sum.or(value)
                    }
                },
            };
            Ok(())
        };
        if n > 0 {
            self.walk(vars, body, &|_| true, env, all)?;
        }
        self.folded(*fun, body, sum.filter(|_| !missing), n.min(u64::MAX.into()) as u64)
    }

    fn made(&self, e: &Expr) -> Option<Rc<Made<V>>> {
        self.support.as_ref()?.made.borrow().get(&(e as *const Expr)).cloned()
    }

    /// Evaluates the reductions that are needed nearly everywhere as a whole: all except those beside a factor that is mostly zero.
    fn make_parts(&self, e: &Expr, env: &mut Env) -> Result<(), Refusal> {
        match &e.kind {
            Kind::Call(fun, args) => {
                let grounds = args.iter().map(|a| self.ground(a)).collect::<Result<Vec<_>, _>>()?;
                let settles = |k: usize| match (fun, &grounds[k]) {
                    (Fun::Op(op), Some(g)) => annihilated(*op, k, g, e.ty, self.mode).is_some(),
                    _ => false,
                };
                for (k, a) in args.iter().enumerate() {
                    if !(0..args.len()).any(|other| other != k && settles(other)) {
                        self.make_parts(a, env)?;
                    }
                }
                Ok(())
            }
            Kind::Reduce { body, start: None, vars, fun } => {
                self.make_parts(body, env)?;
                self.make(e, *fun, vars, body, env)
            }
            _ => Ok(()),
        }
    }

    /// Evaluates a reduction as a whole, if its body has a single ground. The reduction's own variables run outermost, so that each
    /// element gets its terms in ascending order.
    fn make(&self, e: &Expr, fun: Fun, vars: &[VarId], body: &Expr, env: &mut Env) -> Result<(), Refusal> {
        let mut free = Vec::new();
        free_vars(e, &mut vec![], &mut free);
        // A ground that is not a single value may be any value that changes nothing.
        let ground = self.ground(body)?.filter(|g| !g.is_unpromised()).or(self.neutral(fun, e.ty));
        let (Some(ground), Some(n)) = (ground, self.count(vars).filter(|n| *n > 0)) else { return Ok(()) };
        let extents: Option<Vec<u64>> = free.iter().map(|v| self.extents.var(*v)).collect();
        let (Some(extents), Some(support)) = (extents, &self.support) else { return Ok(()) };
        let order: Vec<VarId> = vars.iter().chain(&free).copied().collect();
        if order.len() > MANY {
            return Ok(());
        }
        // The partial sum of each element, and its number of terms.
        let mut sums: FxHashMap<Vec<i64>, (V, u128)> = FxHashMap::default();
        let mut missing = false;
        self.walk(&order, body, &|g| self.one_ground(g, &ground), env, &mut |world, env, visit| {
            let Visit::Here = visit else { return Ok(()) };
            let Some(value) = world.eval(body, env)? else {
                missing = true;
                return Ok(());
            };
            let at: Vec<i64> = free.iter().map(|v| env[v.index()]).collect();
            let place = |p: u128, v: &VarId| p * world.extents.var(*v).unwrap_or(1) as u128 + env[v.index()] as u128;
            let place = vars.iter().fold(0, place);
            let sum = match sums.get(&at) {
                Some((sum, next)) => Some(world.again(fun, *sum, &ground, place - next)?),
                None if place > 0 => Some(world.again(fun, ground, &ground, place - 1)?),
                None => None,
            };
            let sum = sum.map_or(Ok(value), |sum| world.apply(fun, &[sum, value]))?;
            sums.insert(at, (sum, place + 1));
            Ok(())
        })?;
        if missing {
            return Ok(());
        }
        let terms = n.min(u64::MAX.into()) as u64;
        let whole = |sum: V| self.folded(fun, body, Some(sum), terms).map(|sum| sum.unwrap_or(ground));
        let mut function = Function::constant(extents, whole(self.again(fun, ground, &ground, n - 1)?)?);
        for (at, (sum, next)) in sums {
            function.set(at, whole(self.again(fun, sum, &ground, n - next)?)?);
        }
        let indices = free.iter().map(|v| Index { permit: false, map: Map::Var(*v), span: e.span }).collect();
        support.made.borrow_mut().insert(e, Rc::new(Made { indices, function }));
        Ok(())
    }

    /// The outline of an expression along `v`, for every value of the variables that are [`ANY`].
    fn outline(&self, e: &Expr, v: VarId, env: &mut Env) -> Result<Outline<V>, Refusal> {
        match &e.kind {
            Kind::Literal(value) => Ok(Outline::constant(V::given(*value))),
            Kind::Index(w) if *w == v || env[w.index()] == ANY => Ok(Outline::everywhere()),
            Kind::Index(w) => Ok(Outline::constant(V::given(Value::i64(env[w.index()])))),
            Kind::Size(s) => Ok(Outline::constant(self.size(*s, e.span)?)),
            Kind::Local(_) => Ok(Outline::everywhere()),
            Kind::Access(t, _) if self.is_computed(*t) => Ok(Outline::everywhere()),
            Kind::Access(t, indices) => self.outline_entries(Source::Tensor(*t), self.function(*t)?, indices, v, env),
            Kind::Call(Fun::Op(Op::Coalesce), args) => match args.first() {
                // Outside of its places the first argument is not missing.
                Some(first) => self.outline(first, v, env),
                None => Ok(Outline::everywhere()),
            },
            Kind::Call(fun, args) => self.outline_call(e, *fun, args, v, env),
            Kind::Reduce { fun, vars, body, start } => {
                if let Some(made) = self.made(e) {
                    return self.outline_entries(Source::Made(e), &made.function, &made.indices, v, env);
                }
                vars.iter().for_each(|v| env[v.index()] = ANY);
                let begin = start.as_ref().map(|s| self.outline(s, v, env)).transpose()?;
                let begin = begin.map_or((Places::At(Rc::new([])), None), |b| (b.places, b.ground));
                let terms = self.outline(body, v, env)?;
                let (Some(n), Some(term)) = (self.count(vars), terms.ground) else { return Ok(Outline::everywhere()) };
                let ground = match begin.1 {
                    _ if n == 0 => return Ok(Outline::everywhere()),
                    Some(begin) => self.again(*fun, begin, &term, n)?,
                    None if start.is_some() => return Ok(Outline::everywhere()),
                    None => self.again(*fun, term, &term, n - 1)?,
                };
                let ground = self.folded(*fun, body, Some(ground), n.min(u64::MAX.into()) as u64)?;
                Ok(Outline { places: union(begin.0, terms.places), ground })
            }
            _ => self.outline_shape(e, v, env),
        }
    }

    fn outline_call(&self, e: &Expr, fun: Fun, args: &[Expr], v: VarId, env: &mut Env) -> Result<Outline<V>, Refusal> {
        let outlines = args.iter().map(|a| self.outline(a, v, env)).collect::<Result<Vec<_>, _>>()?;
        let all: Option<Vec<V>> = outlines.iter().map(|o| o.ground).collect();
        let mut settled: Option<(Value, Places)> = None;
        for (k, outline) in outlines.iter().enumerate() {
            let (Fun::Op(op), Some(ground)) = (fun, outline.ground) else { continue };
            let Some(value) = annihilated(op, k, &ground, e.ty, self.mode) else { continue };
            let others = || args.iter().enumerate().filter(|(other, _)| *other != k).map(|(_, a)| a);
            if others().any(may_leave) || op == Op::Mul && !others().all(|a| self.largest(a).is_finite()) {
                continue;
            }
            let places = match settled {
                Some((before, places)) if before == value => intersection(places, outline.places.clone()),
                Some(other) => {
                    settled = Some(other);
                    continue;
                }
                None => outline.places.clone(),
            };
            settled = Some((value, places));
        }
        match (settled, all) {
            (Some((value, places)), _) => Ok(Outline { places, ground: Some(V::given(value)) }),
            (None, Some(all)) => {
                let places = outlines.into_iter().map(|o| o.places).fold(Places::At(Rc::new([])), union);
                Ok(Outline { places, ground: Some(self.apply(fun, &all)?) })
            }
            _ => Ok(Outline::everywhere()),
        }
    }

    /// The outline of a function under indices.
    fn outline_entries(
        &self,
        source: Source,
        function: &Function<V>,
        indices: &[Index],
        v: VarId,
        env: &mut Env,
    ) -> Result<Outline<V>, Refusal> {
        let (mut known, mut at, mut here, mut later) = (vec![], vec![], vec![], vec![]);
        for (m, index) in indices.iter().enumerate() {
            let mut vars = Vec::new();
            map_vars(&index.map, &mut vars);
            if vars.iter().any(|w| *w != v && env[w.index()] == ANY) {
                later.push(m);
            } else if vars.contains(&v) {
                here.push(m);
            } else {
                let Ok(Some(c)) = self.map(&index.map, env, index.span) else { return Ok(Outline::everywhere()) };
                // An index that leaves the array is missing or refused: visit everything.
                if c < 0 || c as u64 >= function.extents[m] {
                    return Ok(Outline::everywhere());
                }
                known.push(m);
                at.push(c);
            }
        }
        let bare = |m: &usize| indices[*m].bare().is_some();
        let (first, others) = match (here.split_first(), later.split_first()) {
            (None, None) => return Ok(Outline::constant(function.at(&at))),
            (Some((first, others)), _) => (first, others.iter().chain(&later).all(bare)),
            (None, Some((first, _))) => (first, later.iter().all(bare)),
        };
        if !others {
            return Ok(Outline::everywhere());
        }
        let stored = self.list(source, function, known, *first, at);
        match (here.is_empty(), indices[*first].bare()) {
            (true, _) if stored.is_empty() => Ok(Outline::constant(function.fill)),
            (true, _) => Ok(Outline::everywhere()),
            (false, Some(_)) => Ok(Outline::at(stored, function.fill)),
            (false, None) => {
                let places = self.places(&indices[*first], v, env, &stored, function.extents[*first])?;
                Ok(places.map_or(Outline::everywhere(), |places| Outline::at(places, function.fill)))
            }
        }
    }

    /// The sorted coordinates in mode `m` of the entries whose coordinates in the modes `known` are `at`.
    fn list(&self, source: Source, function: &Function<V>, known: Vec<usize>, m: usize, at: Vec<i64>) -> Rc<[i64]> {
        let Some(support) = &self.support else { return Rc::new([]) };
        let mut lists = support.lists.borrow_mut();
        let lists = lists.entry((source, known, m)).or_insert_with_key(|(_, known, _)| {
            let mut found: FxHashMap<Vec<i64>, Vec<i64>> = FxHashMap::default();
            for entry in function.entries.keys() {
                found.entry(known.iter().map(|k| entry[*k]).collect()).or_default().push(entry[m]);
            }
            let sorted = |(at, mut list): (Vec<i64>, Vec<i64>)| {
                list.sort_unstable();
                list.dedup();
                (at, list.into())
            };
            Rc::new(found.into_iter().map(sorted).collect())
        });
        lists.get(&at).cloned().unwrap_or_else(|| Rc::new([]))
    }

    /// The values of `v` at which an index is one of these coordinates, or leaves the array; `None` if they are unknown.
    fn places(
        &self,
        index: &Index,
        v: VarId,
        env: &mut Env,
        stored: &[i64],
        extent: u64,
    ) -> Result<Option<Vec<i64>>, Refusal> {
        let (Some((a, b)), Some(n)) = (self.linear(index, &index.map, v, env), self.extents.var(v)) else {
            return Ok(None);
        };
        if a == 0 {
            return Ok(None);
        }
        let (n, extent) = (n as i128, extent as i128);
        // The coordinates a·v + b that are in [0, extent) are those of v in [low, high).
        let up = |x: i128, y: i128| -(-x).div_euclid(y);
        let (low, high) = if a > 0 { (up(-b, a), up(extent - b, a)) } else { (up(b - extent + 1, -a), up(b + 1, -a)) };
        let (low, high) = (low.clamp(0, n), high.clamp(0, n));
        let outside = low + (n - high.max(low));
        if outside > self.left.get() as i128 {
            return Err(Refusal::Steps);
        }
        let inside = stored.iter().map(|c| *c as i128 - b).filter(|x| x % a == 0).map(|x| x / a);
        let all = inside.filter(|x| (0..n).contains(x)).chain(0..low).chain(high.max(low)..n);
        Ok(Some(all.map(|x| x as i64).collect::<BTreeSet<_>>().into_iter().collect()))
    }

    /// An index map as a·v + b, if it is linear in v.
    fn linear(&self, index: &Index, map: &Map, v: VarId, env: &mut Env) -> Option<(i128, i128)> {
        match map {
            Map::Var(w) if *w == v => Some((1, 0)),
            Map::Add(x, y) => {
                let ((a, b), (c, d)) = (self.linear(index, x, v, env)?, self.linear(index, y, v, env)?);
                Some((a + c, b + d))
            }
            Map::Mul(n, x) => {
                let (a, b) = self.linear(index, x, v, env)?;
                Some((a.checked_mul(*n as i128)?, b.checked_mul(*n as i128)?))
            }
            other => {
                let mut vars = Vec::new();
                map_vars(other, &mut vars);
                let fixed = !vars.contains(&v);
                fixed.then(|| self.map(other, env, index.span).ok().flatten()).flatten().map(|b| (0, b as i128))
            }
        }
    }

    fn outline_shape(&self, e: &Expr, v: VarId, env: &mut Env) -> Result<Outline<V>, Refusal> {
        let extent = |v: &VarId| self.extent(*v, e.span).map(|n| n as i64);
        match &e.kind {
            Kind::Collapse { body, from, to } if env[to.index()] != ANY => {
                let mut rest = env[to.index()];
                for v in from.iter().rev() {
                    let n = extent(v)?.max(1);
                    (env[v.index()], rest) = (rest % n, rest / n);
                }
                self.outline(body, v, env)
            }
            Kind::Collapse { body, from, to } => {
                from.iter().for_each(|v| env[v.index()] = ANY);
                if *to != v {
                    return self.outline(body, v, env);
                }
                let Some(ground) = self.ground(body)? else { return Ok(Outline::everywhere()) };
                let mut places = Vec::new();
                self.walk(from, body, &|g| self.one_ground(g, &ground), env, &mut |world, env, visit| {
                    if let Visit::Here = visit {
                        let place = |p: i64, v: &VarId| p * world.extents.var(*v).unwrap_or(1) as i64 + env[v.index()];
                        places.push(from.iter().fold(0, place));
                    }
                    Ok(())
                })?;
                Ok(Outline::at(places, ground))
            }
            Kind::Split { body, from, to: (a, b) } => {
                let n = extent(b)?.max(1);
                let (x, y) = (env[a.index()], env[b.index()]);
                let bound = x != ANY && y != ANY;
                env[from.index()] = if bound { x.wrapping_mul(n).wrapping_add(y) } else { ANY };
                match v {
                    _ if bound => self.outline(body, v, env),
                    _ if v == *a => {
                        let kept = |c: i64| (y == ANY || c % n == y).then_some(c / n);
                        Ok(self.outline(body, *from, env)?.mapped(kept))
                    }
                    _ if v == *b => {
                        let kept = |c: i64| (x == ANY || c / n == x).then_some(c % n);
                        Ok(self.outline(body, *from, env)?.mapped(kept))
                    }
                    _ => self.outline(body, v, env),
                }
            }
            Kind::Slice { body, from, to, start, step, .. } => {
                let (start, step, n) = (self.starts(start, e.span)?, *step as i64, extent(to)?);
                let k = env[to.index()];
                env[from.index()] = if k == ANY { ANY } else { step.wrapping_mul(k).wrapping_add(start) };
                if k != ANY || v != *to {
                    return self.outline(body, v, env);
                }
                let kept = |c: i64| (c >= start && (c - start) % step == 0).then(|| (c - start) / step);
                Ok(self.outline(body, *from, env)?.mapped(|c| kept(c).filter(|k| *k < n)))
            }
            Kind::Concat { parts, from, to } => self.outline_concat(e, (parts, from, *to), v, env),
            _ => unreachable!("the other kinds are outlined by `outline`"),
        }
    }

    fn outline_concat(
        &self,
        e: &Expr,
        (parts, from, to): (&[Expr], &[VarId], VarId),
        v: VarId,
        env: &mut Env,
    ) -> Result<Outline<V>, Refusal> {
        let mut before = 0;
        let mut whole: Option<Outline<V>> = None;
        for (part, from) in parts.iter().zip(from) {
            let n = self.extent(*from, e.span)? as i64;
            let k = env[to.index()];
            if k != ANY {
                if k < before + n {
                    env[from.index()] = k - before;
                    return self.outline(part, v, env);
                }
                before += n;
                continue;
            }
            env[from.index()] = ANY;
            let outline = match v == to {
                true => self.outline(part, *from, env)?.mapped(|c| Some(c + before)),
                false => self.outline(part, v, env)?,
            };
            whole = Some(match (whole, outline) {
                (None, first) => first,
                (Some(Outline { places, ground: Some(a) }), Outline { places: more, ground: Some(b) })
                    if self.one_ground(&a, &b) =>
                {
                    Outline { places: union(places, more), ground: Some(a) }
                }
                _ => return Ok(Outline::everywhere()),
            });
            before += n;
        }
        Ok(whole.unwrap_or(Outline::everywhere()))
    }

    /// A bound on the magnitude of `e` and of all values on the way to it; infinite if it is unknown.
    fn largest(&self, e: &Expr) -> f64 {
        let Some(support) = &self.support else { return f64::INFINITY };
        if let Some(known) = support.largest.borrow().get(&(e as *const Expr)) {
            return *known;
        }
        if !e.ty.is_float() {
            return 2f64.powi(64);
        }
        let unknown = |n: &V| n.is_unpromised() || n.value().is_nan();
        let magnitude = |n: &V| if unknown(n) { f64::INFINITY } else { n.value().as_f64().abs() };
        let children: Vec<f64> = e.children().map(|c| self.largest(c)).collect();
        let most = || children.iter().copied().fold(0.0, f64::max);
        let bound = match &e.kind {
            Kind::Literal(value) => value.as_f64().abs(),
            Kind::Access(t, _) => self
                .function(*t)
                .map_or(f64::INFINITY, |f| f.entries.values().chain([&f.fill]).map(magnitude).fold(0.0, f64::max)),
            Kind::Call(Fun::Op(op), _) => match op {
                Op::Add | Op::Sub => children.iter().sum(),
                Op::Mul => children.iter().product(),
                Op::Sin | Op::Cos | Op::Tanh | Op::Sign if most().is_finite() => 1.0,
                Op::Atan | Op::Atan2 if most().is_finite() => 4.0,
                Op::Floor | Op::Ceil | Op::Round => most() + 1.0,
                Op::Hypot => children.iter().sum(),
                Op::Trunc | Op::CopySign | Op::Asinh => most(),
                Op::Neg | Op::Abs | Op::Min | Op::Max | Op::Select | Op::Mask | Op::Coalesce | Op::Convert(_) => most(),
                _ => f64::INFINITY,
            },
            Kind::Reduce { fun: Fun::Op(Op::Add), vars, .. } => {
                self.count(vars).map_or(f64::INFINITY, |n| most() * (n as f64 + 1.0))
            }
            Kind::Reduce { fun: Fun::Op(Op::Min | Op::Max), vars, .. } if self.count(vars) > Some(0) => most(),
            Kind::Collapse { .. } | Kind::Split { .. } | Kind::Slice { .. } | Kind::Concat { .. } => most(),
            _ => f64::INFINITY,
        };
        let limit = if e.ty == Type::F32 { f32::MAX as f64 / 2.0 } else { f64::MAX / 2.0 };
        let bound = if bound <= limit && most() < f64::INFINITY { bound } else { f64::INFINITY };
        support.largest.borrow_mut().insert(e, bound);
        bound
    }
}

/// The most variables that are walked, as walking recurses.
const MANY: usize = 32;

/// Whether the expression can be missing or refused, so that it has to be evaluated everywhere.
fn may_leave(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| match &e.kind {
        Kind::Access(_, indices) => found |= indices.iter().any(|i| i.bare().is_none()),
        Kind::Reduce { fun: Fun::User(_), .. } => found = true,
        _ => {}
    });
    found
}

fn map_vars(map: &Map, vars: &mut Vec<VarId>) {
    match map {
        Map::Var(v) => vars.push(*v),
        Map::Const(_) | Map::Bound(_) => {}
        Map::Add(a, b) => {
            map_vars(a, vars);
            map_vars(b, vars);
        }
        Map::Mul(_, a) | Map::Div(a, _) | Map::Mod(a, _) => map_vars(a, vars),
        Map::Gather(_, indices) => indices.iter().for_each(|i| map_vars(&i.map, vars)),
        Map::Computed(e) => free_vars(e, &mut Vec::new(), vars),
    }
}

/// The index variables that an expression uses and does not bind, each once.
fn free_vars(e: &Expr, bound: &mut Vec<VarId>, free: &mut Vec<VarId>) {
    let depth = bound.len();
    let mut used = Vec::new();
    match &e.kind {
        Kind::Index(v) => used.push(*v),
        Kind::Access(_, indices) => indices.iter().for_each(|i| map_vars(&i.map, &mut used)),
        Kind::Collapse { to, .. } | Kind::Concat { to, .. } | Kind::Slice { to, .. } => used.push(*to),
        Kind::Split { to, .. } => used.extend([to.0, to.1]),
        _ => {}
    }
    for v in used {
        if !bound.contains(&v) && !free.contains(&v) {
            free.push(v);
        }
    }
    match &e.kind {
        Kind::Reduce { vars, .. } => bound.extend(vars),
        Kind::Collapse { from, .. } | Kind::Concat { from, .. } => bound.extend(from),
        Kind::Split { from, .. } | Kind::Slice { from, .. } => bound.push(*from),
        _ => {}
    }
    e.children().for_each(|c| free_vars(c, bound, free));
    bound.truncate(depth);
}
