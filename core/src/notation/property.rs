//! Declared properties, tried: on all values of `bool` and 8-bit types, elsewhere on boundary and random values, and on the numbers that
//! the function itself is written with, where exceptions are. Boundary values and random ones take turns, and every argument
//! varies from the first trials on: where steps do not suffice for all, those that were made are spread over all. A false one is
//! refused with a counterexample, and one that takes too many steps to be tried is refused, too: nothing is taken as true that was
//! not looked at.
//!
//! Floats are tried on exactly representable values; where a NaN arises in algebraic terms nothing is claimed. Whether a
//! function of `f32` is associative is tried in `f64`, so that what rounding takes is far from what a false property adds.

use super::diagnostic::{Diagnostic, Span};
use super::function::{Bodies, Fuel};
use super::typed::{Expr, FnId, Function, Kind, Program, Property, Set, Stmt};
use crate::algebra::{Mode, Type, Value};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Numbers of a function with which it is tried.
const NUMBERS: usize = 12;
/// Argument lists of one property, beside those of boundary values.
const TRIALS: usize = 4096;
/// Argument lists after which a property has been tried, if its steps do not suffice for all.
const ENOUGH: usize = 512;
/// Steps of one evaluation, and of all of one property.
const STEPS: u64 = 1_000_000;
const ALL_STEPS: u64 = 24_000_000;
/// Steps of all evaluations of a property that is tried on all values.
const EXHAUSTIVE_STEPS: u64 = 200_000_000;
/// Two floats of `f64` are equal up to the rounding of a few operations if they differ by less than this part of them.
const ROUNDING: f64 = 1e-9;

/// How many functions whose properties hold are remembered.
const REMEMBERED: usize = 64;
/// Functions whose properties hold, each behind all that it can call, the latest first: a function is often tried again soon, in another
/// program of the same file or in what is derived from one.
static HOLD: Mutex<VecDeque<Vec<Function>>> = Mutex::new(VecDeque::new());

/// Every property of the program's functions that is false, or could not be tried.
pub fn check(program: &Program) -> Vec<Diagnostic> {
    (0..program.functions.len()).flat_map(|n| wrong(program, n)).collect()
}

/// What is wrong with the properties of function `n`.
fn wrong(program: &Program, n: usize) -> Vec<Diagnostic> {
    let (function, all) = (&program.functions[n], &program.functions[..=n]);
    let remembered = || HOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if function.properties.is_empty() || remembered().iter().any(|held| held == all) {
        return vec![];
    }
    let found: Vec<Diagnostic> =
        function.properties.iter().filter_map(|(p, span)| tried(program, n, p, *span)).collect();
    if found.is_empty() {
        let mut remembered = remembered();
        remembered.truncate(REMEMBERED - 1);
        remembered.push_front(all.to_vec());
    }
    found
}

/// What is wrong with a property of function `n`.
fn tried(program: &Program, n: usize, p: &Property, span: Span) -> Option<Diagnostic> {
    let function = &program.functions[n];
    let small = function.locals[..function.arity].iter().all(|(_, ty)| ty.bits() <= 8);
    let steps = if small { EXHAUSTIVE_STEPS } else { ALL_STEPS };
    let edges = numbers(&program.functions[..=n]);
    let wide = *p == Property::Associative && function.result == Type::F32;
    let f = FnId(n as u32);
    let known = FxHashMap::default();
    let mut trial = Trial { program, f, function, edges, steps, wide, known, compared: 0, beyond: None };
    let (f, what) = (&function.name, name(p));
    if let Some(found) = trial.refute(p) {
        let message = format!("`{f}` is not {what}: counterexample {found}");
        return Some(Diagnostic::new(span, message).help("remove the property, or change the function"));
    }
    let at = trial.unfinished()?;
    let message =
        format!("whether `{f}` is {what} could not be checked: evaluating {} takes too many steps", trial.term(&at));
    let help = match trial.compared {
        0 => "bound the function's loops, or remove the property".to_string(),
        n => format!("{n} of {ENOUGH} trials were made: shorten the function's loops, or remove the property"),
    };
    Some(Diagnostic::new(span, message).help(help))
}

fn name(p: &Property) -> String {
    let at = |at: &Option<usize>| at.map_or(String::new(), |n| format!(" at argument {n}"));
    match p {
        Property::Commutative => "commutative".to_string(),
        Property::Associative => "associative".to_string(),
        Property::Idempotent => "idempotent".to_string(),
        Property::Identity(v, n) => format!("without effect for {v}{}", at(n)),
        Property::Annihilator(v, n) => format!("constant for {v}{}", at(n)),
        Property::Iterate(_) => "equal to its fill outside of its `iterate` set".to_string(),
        Property::Case(..) => "equal to its `case`".to_string(),
        Property::Derivative(n, _) => format!("what its `derivative` by argument {n} says"),
    }
}

struct Trial<'a> {
    program: &'a Program,
    f: FnId,
    function: &'a Function,
    /// Numbers that arguments are tried with, beside those that any function is.
    edges: Vec<Value>,
    /// Steps that are left.
    steps: u64,
    /// Whether `f32` is computed as `f64`.
    wide: bool,
    /// Values of the function at the arguments that it was evaluated at.
    known: FxHashMap<Vec<Value>, Option<Value>>,
    /// How many argument lists were tried to their end.
    compared: usize,
    /// Arguments of the first evaluation that was not finished, and whether it took all of the steps that one has.
    beyond: Option<(Vec<Value>, bool)>,
}

impl Trial<'_> {
    /// The function's value: `None` if it is NaN, or takes too many steps.
    fn call(&mut self, args: &[Value]) -> Option<Value> {
        let at = args.to_vec();
        if let Some(value) = self.known.get(&at) {
            return *value;
        }
        let value = self.evaluate(args, |bodies, f, fuel| bodies.call(f, args, fuel));
        self.known.insert(at, value);
        value
    }

    /// Notes that one more argument list was tried to its end, and whether it is a counterexample.
    fn differs(&mut self, equal: bool) -> bool {
        // Behind the last step only values that are known already are compared: that is no trial.
        self.compared += usize::from(self.beyond.is_none());
        !equal
    }

    fn evaluate(
        &mut self,
        args: &[Value],
        value: impl FnOnce(Bodies, FnId, &mut Fuel) -> Option<Value>,
    ) -> Option<Value> {
        let bodies = Bodies { functions: &self.program.functions, mode: Mode::Algebraic, wide: self.wide };
        let mut fuel = Fuel(STEPS.min(self.steps));
        let before = fuel.0;
        let value = value(bodies, self.f, &mut fuel);
        self.steps -= before - fuel.0;
        if value.is_none() && self.beyond.is_none() {
            // One that takes all of its own steps has a loop that is too long, whatever was finished before.
            self.beyond = Some((args.to_vec(), before == STEPS));
        }
        value.filter(|v| !v.is_nan())
    }

    /// Arguments of an evaluation that takes too many steps, where too little was tried without it.
    fn unfinished(&self) -> Option<Vec<Value>> {
        let small = self.function.locals[..self.function.arity].iter().all(|(_, ty)| ty.bits() <= 8);
        let little = self.compared < ENOUGH;
        self.beyond.as_ref().filter(|(_, endless)| small || *endless || little).map(|(args, _)| args.clone())
    }

    fn show(&self, args: &[Value], got: Value, wanted: Value) -> String {
        format!("{} = {got}, not {wanted}", self.term(args))
    }

    fn term(&self, args: &[Value]) -> String {
        let args: Vec<String> = args.iter().map(Value::to_string).collect();
        format!("{}({})", self.function.name, args.join(", "))
    }

    fn tuples(&self, types: &[Type]) -> impl Iterator<Item = Vec<Value>> + use<> {
        tuples(types, &self.edges)
    }

    fn params(&self) -> Vec<Type> {
        self.function.locals[..self.function.arity].iter().map(|(_, t)| *t).collect()
    }

    /// A counterexample to a property.
    fn refute(&mut self, p: &Property) -> Option<String> {
        let types = self.params();
        match p {
            Property::Commutative => self.tuples(&types).find_map(|t| {
                let (a, b) = (self.call(&t)?, self.call(&[t[1], t[0]])?);
                self.differs(same(a, b))
                    .then(|| format!("{} = {a}, but {} = {b}", self.term(&t), self.term(&[t[1], t[0]])))
            }),
            Property::Associative if types[0].bits() <= 8 => self.refute_associative(types[0]),
            Property::Associative => self.tuples(&[types[0]; 3]).find_map(|t| {
                let left = self.call(&[t[0], t[1]]).and_then(|x| self.call(&[x, t[2]]))?;
                let right = self.call(&[t[1], t[2]]).and_then(|x| self.call(&[t[0], x]))?;
                let f = &self.function.name;
                let shown = || {
                    format!("{f}({f}({0}, {1}), {2}) = {left}, but {f}({0}, {f}({1}, {2})) = {right}", t[0], t[1], t[2])
                };
                self.differs(close(left, right)).then(shown)
            }),
            Property::Idempotent => self.tuples(&types[..1]).find_map(|t| {
                let args = [t[0], t[0]];
                let got = self.call(&args)?;
                self.differs(same(got, t[0])).then(|| self.show(&args, got, t[0]))
            }),
            Property::Identity(v, at) => self.positions(*at).find_map(|at| {
                self.tuples(&types).find_map(|mut t| {
                    t[at] = *v;
                    let got = self.call(&t)?;
                    self.differs(same(got, t[1 - at])).then(|| self.show(&t, got, t[1 - at]))
                })
            }),
            Property::Annihilator(v, at) => self.positions(*at).find_map(|at| {
                let mut first: Option<(Vec<Value>, Value)> = None;
                self.tuples(&types).find_map(|mut t| {
                    t[at] = *v;
                    let got = self.call(&t)?;
                    let (args, before) = first.get_or_insert_with(|| (t.clone(), got)).clone();
                    self.differs(same(got, before))
                        .then(|| format!("{} = {before}, but {} = {got}", self.term(&args), self.term(&t)))
                })
            }),
            Property::Iterate(set) => self.refute_iterate(set, &types),
            Property::Case(patterns, e) => self.tuples(&types).find_map(|mut t| {
                for (x, pattern) in t.iter_mut().zip(patterns) {
                    *x = pattern.unwrap_or(*x);
                }
                let wanted = self.evaluate(&t, |bodies, _, fuel| bodies.value(e, &t, fuel))?;
                let got = self.call(&t)?;
                self.differs(same(got, wanted)).then(|| self.show(&t, got, wanted))
            }),
            Property::Derivative(at, e) => self.refute_derivative(*at, e, &types),
        }
    }

    /// A point where the function moves evenly to both sides, and not as the derivative says: differences decide to a hundredth.
    fn refute_derivative(&mut self, at: usize, e: &Expr, types: &[Type]) -> Option<String> {
        let ty = types[at];
        let (step, even) = if ty == Type::F32 { (1.0 / 64.0, 0.1) } else { (1.0 / 4096.0, 1e-3) };
        self.tuples(types).find_map(|t| {
            let x = t[at].as_f64();
            let h = step * x.abs().max(1.0);
            let beside = |x: f64| {
                let mut moved = t.clone();
                moved[at] = Value::from_f64(ty, x);
                moved
            };
            let (low, here, high) = (self.call(&beside(x - h))?, self.call(&t)?, self.call(&beside(x + h))?);
            let slope = |a: Value, b: Value| (b.as_f64() - a.as_f64()) / h;
            let (left, right) = (slope(low, here), slope(here, high));
            let said = self.evaluate(&t, |bodies, _, fuel| bodies.value(e, &t, fuel))?;
            let size = left.abs().max(right.abs()).max(1.0);
            let known = x.abs() < 1e6 && size < 1e6 && here.as_f64().abs() < 1e6 && (left - right).abs() <= even * size;
            let slope = (left + right) / 2.0;
            let near = (slope - said.as_f64()).abs() <= (0.01 + even) * size;
            let wrong = known && !near;
            let shown = format!("{} moves by about {slope} for each 1, and the derivative is {said}", self.term(&t));
            self.differs(!wrong).then_some(shown)
        })
    }

    /// Associativity on all triples of a small type, from a table of all pairs.
    fn refute_associative(&mut self, ty: Type) -> Option<String> {
        let n = 1usize << ty.bits();
        let value = |x: usize| Value::from_bits(ty, x as u64);
        let mut table = vec![None; n * n];
        let pair = [ty, ty];
        for t in self.tuples(&pair) {
            let place = t[0].bits() as usize * n + t[1].bits() as usize;
            table[place] = self.call(&t).map(|v| v.bits() as usize);
        }
        let at = |a: usize, b: usize| table[a * n + b];
        for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
            let Some(ab) = at(a, b) else { continue };
            for c in 0..n {
                let (left, right) = (at(ab, c), at(b, c).and_then(|bc| at(a, bc)));
                if let (Some(left), Some(right)) = (left, right)
                    && left != right
                {
                    let (f, [a, b, c]) = (&self.function.name, [a, b, c].map(value));
                    let (left, right) = (value(left), value(right));
                    return Some(format!("{f}({f}({a}, {b}), {c}) = {left}, but {f}({a}, {f}({b}, {c})) = {right}"));
                }
            }
        }
        None
    }

    fn positions(&self, at: Option<usize>) -> std::ops::Range<usize> {
        at.map_or(0..self.function.arity, |n| n..n + 1)
    }

    /// With fill 0: where the set says that nothing differs, the result is that of all parameters at their fill.
    fn refute_iterate(&mut self, set: &Set, types: &[Type]) -> Option<String> {
        let fills: Vec<Value> = types.iter().map(|t| Value::zero(*t)).collect();
        let fill = self.call(&fills)?;
        (0..1u32 << types.len().min(8)).find_map(|present| {
            self.tuples(types).find_map(|mut t| {
                for (n, x) in t.iter_mut().enumerate() {
                    if present >> n & 1 == 0 {
                        *x = fills[n];
                    }
                }
                let differs = |n: &usize| !same(t[*n], fills[*n]);
                if member(set, (0..t.len().min(32)).filter(differs).fold(0, |all, n| all | 1 << n)) {
                    return None;
                }
                let got = self.call(&t)?;
                self.differs(same(got, fill)).then(|| self.show(&t, got, fill))
            })
        })
    }
}

fn member(set: &Set, present: u32) -> bool {
    match set {
        Set::Param(n) => present >> n & 1 == 1,
        Set::All => true,
        Set::Not(s) => !member(s, present),
        Set::And(a, b) => member(a, present) && member(b, present),
        Set::Or(a, b) => member(a, present) || member(b, present),
    }
}

fn same(a: Value, b: Value) -> bool {
    a == b || a.ty().is_float() && a.as_f64() == b.as_f64()
}

/// Equal up to the rounding of a few operations; what overflowed says nothing.
fn close(a: Value, b: Value) -> bool {
    let (x, y) = (a.as_f64(), b.as_f64());
    let (apart, most) = ((x - y).abs(), ROUNDING * x.abs().max(y.abs()).max(1.0));
    same(a, b) || a.ty().is_float() && apart.partial_cmp(&most) != Some(std::cmp::Ordering::Greater)
}

/// Argument lists: all of them where there are few enough, else boundary values with each other and random ones in turn.
fn tuples(types: &[Type], more: &[Value]) -> impl Iterator<Item = Vec<Value>> + use<> {
    let small = types.iter().map(|t| if t.bits() <= 8 { 1u64 << t.bits() } else { u64::MAX });
    let all = small.fold(1u64, u64::saturating_mul);
    let exhaustive = all <= 1 << 16;
    let types = types.to_vec();
    let edges: Vec<Vec<Value>> = types.iter().map(|t| boundary(*t, more)).collect();
    let lists = edges.iter().map(|e| e.len() as u64).fold(1, u64::saturating_mul);
    let pairs = lists.min(TRIALS as u64) as usize;
    let mut seed = 0x2545_f491_4f6c_dd1du64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let count = if exhaustive { all as usize } else { SIMPLE + pairs + TRIALS };
    (0..count).map(move |n| {
        // The first lists are simple, for simple counterexamples; then the `edge`th list of boundary values, in an order in which all
        // arguments vary.
        let behind = n.saturating_sub(SIMPLE);
        let edge = (!exhaustive && behind < 2 * pairs && behind % 2 == 0).then_some(behind / 2);
        let mut rest = match edge {
            Some(edge) if n >= SIMPLE => (edge as u128 * u128::from(STRIDE) % u128::from(lists)) as u64,
            _ => n as u64,
        };
        let of = |(t, edges): (&Type, &Vec<Value>)| {
            if exhaustive {
                let v = Value::from_bits(*t, rest & ((1 << t.bits()) - 1));
                rest >>= t.bits();
                v
            } else if edge.is_some() {
                let v = edges[(rest % edges.len() as u64) as usize];
                rest /= edges.len() as u64;
                v
            } else if t.is_float() {
                Value::from_f64(*t, (random() % 4001) as f64 / 4.0 - 500.0)
            } else if n / 2 % 2 == 0 {
                Value::from_i128(*t, (random() % 41) as i128 - 20)
            } else {
                Value::from_bits(*t, random())
            }
        };
        types.iter().zip(&edges).map(of).collect()
    })
}

/// How many lists of boundary values are tried first, in their order.
const SIMPLE: usize = 64;

/// A prime above any number of boundary values: steps of it come to each list of them once.
const STRIDE: u64 = 2_654_435_761;

fn boundary(ty: Type, more: &[Value]) -> Vec<Value> {
    let mut values: Vec<Value> = more.iter().copied().filter(|v| v.ty() == ty).collect();
    if ty.is_float() {
        let all = [0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 1024.0, f64::INFINITY, f64::NEG_INFINITY];
        values.extend(all.into_iter().map(|x| Value::from_f64(ty, x)));
        return values;
    }
    let (least, most) = ty.range().expect("no float");
    let all = [0, 1, -1, 2, 3, -2, 7, least, most, least + 1, most - 1];
    values.extend(all.into_iter().map(|x| Value::from_i128(ty, x)));
    values.dedup();
    values
}

/// The numbers that functions are written with, and their neighbours.
fn numbers(functions: &[Function]) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    let mut seen = |e: &Expr| {
        e.walk(&mut |e| {
            if let Kind::Literal(v) = e.kind {
                let near = v.as_i128().map(|x| [x - 1, x + 1].map(|x| Value::from_i128(v.ty(), x)));
                for v in [v].into_iter().chain(near.into_iter().flatten()) {
                    if all.len() < NUMBERS && !all.contains(&v) {
                        all.push(v);
                    }
                }
            }
        });
    };
    for f in functions.iter().rev() {
        statements(&f.stmts, &mut seen);
        seen(&f.value);
    }
    all
}

/// Calls `f` on the expressions of statements.
fn statements(all: &[Stmt], f: &mut dyn FnMut(&Expr)) {
    for s in all {
        match s {
            Stmt::Set(_, e) => f(e),
            Stmt::While(e, body) => {
                f(e);
                statements(body, f);
            }
            Stmt::If(e, yes, no) => {
                f(e);
                statements(yes, f);
                statements(no, f);
            }
        }
    }
}
