//! The consequences of the declared properties of a user's function for its calls.
//!
//! ```text
//!  annihilator(0)          f(0, e) = r for every e       f differs from r where all such arguments are present
//!  case(1, y) = 3          f(1, e) = 3                   the same
//!  case(1, y) = y + 1      f(1, e) = e + 1               a simpler body where the first list is exhausted
//!  case(x, y) = x * y      f(d, e) = d * e               an equation of all calls, whose properties are then the product's
//!  identity(0, 1)          f(e, 0) = e                   likewise
//!  idempotent              f(e, e) = e
//!  iterate(x & y)          of operands whose fill is 0: f differs from f(0, 0) in this set at most
//! ```
//!
//! Declared properties are tried on values that are not NaN, and then taken as true of all such values. In strict mode no property of a
//! function on floats is used.

use super::{Sequence, Simplify};
use crate::algebra::{Mode, Value};
use crate::notation::concrete::Expr;
use crate::notation::function::{Bodies, Fuel};
use crate::notation::typed::{self, FnId, Function, Kind, Property, Set};

/// The most steps of an evaluation while a program is compiled. Longer evaluations are left to the run.
const STEPS: u64 = 10_000;

/// The most arguments for which `iterate` sets are tried. For functions of more arguments they are not used.
const TRIED: usize = 8;

impl<'a> Simplify<'a> {
    fn function(self, f: FnId) -> &'a Function {
        &self.functions[f.index()]
    }

    /// The properties that may be assumed under the mode.
    fn declared(self, f: FnId) -> impl Iterator<Item = &'a Property> {
        let function = self.function(f);
        let params = function.locals[..function.arity].iter().map(|(_, ty)| *ty);
        let floats = params.chain([function.result]).any(|ty| ty.is_float());
        let claimed = self.mode == Mode::Algebraic || !floats;
        function.properties.iter().map(|(p, _)| p).filter(move |_| claimed)
    }

    /// Whether `v` at position `k` is an identity of the function: the call is then its other argument.
    pub(super) fn passes(self, f: FnId, k: usize, v: Value) -> bool {
        let commutes = self.declared(f).any(|p| *p == Property::Commutative);
        self.declared(f).any(|p| match p {
            Property::Identity(i, at) => at.is_none_or(|at| at == k || commutes) && self.same(*i, v),
            _ => false,
        })
    }

    fn bodies(self) -> Bodies<'a> {
        Bodies { functions: self.functions, mode: self.mode, wide: false }
    }

    /// The value of a function of constants, if it takes few steps.
    pub(super) fn evaluated(self, f: FnId, args: &[Value]) -> Option<Value> {
        self.bodies().call(f, args, &mut Fuel(STEPS))
    }

    /// The values that properties prove for a call whose arguments at some positions have these values, whatever the others are: the
    /// positions and the value, for each property that proves one.
    pub(super) fn decided(self, f: FnId, args: &[Option<Value>]) -> Vec<(Vec<usize>, Value)> {
        let commutes = self.declared(f).any(|p| *p == Property::Commutative);
        let is = |k: usize, v: Value| args[k].is_some_and(|a| self.same(a, v));
        let mut all = Vec::new();
        for p in self.declared(f) {
            match p {
                Property::Annihilator(v, at) => {
                    let here = |k: &usize| at.is_none_or(|at| at == *k || commutes) && is(*k, *v);
                    let places = (0..args.len()).filter(here);
                    all.extend(places.filter_map(|k| Some((vec![k], self.annihilates_to(f, k, *v)?))));
                }
                Property::Case(patterns, e) => {
                    let literals = patterns.iter().enumerate().filter_map(|(k, v)| Some((k, (*v)?)));
                    let places: Vec<(usize, Value)> = literals.collect();
                    if !places.is_empty() && places.iter().all(|(k, v)| is(*k, *v)) && closed(e) {
                        let value = self.bodies().value(e, &[], &mut Fuel(STEPS));
                        all.extend(value.map(|v| (places.into_iter().map(|(k, _)| k).collect(), v)));
                    }
                }
                _ => {}
            }
        }
        all.retain(|(_, v)| !v.is_nan());
        all
    }

    /// The value of a call with the annihilator `v` at position `k`, found by evaluating it with other arguments at 0 or 1.
    fn annihilates_to(self, f: FnId, k: usize, v: Value) -> Option<Value> {
        let function = self.function(f);
        let with = |other: fn(crate::algebra::Type) -> Value| {
            let mut args: Vec<Value> = function.locals[..function.arity].iter().map(|(_, ty)| other(*ty)).collect();
            args[k] = v;
            self.evaluated(f, &args).filter(|v| !v.is_nan())
        };
        with(Value::zero).or_else(|| with(Value::one))
    }

    /// A simpler expression of the call, if its properties give one.
    pub(super) fn simpler(self, f: FnId, args: &[Expr]) -> Option<Expr> {
        let constants: Vec<Option<Value>> = args.iter().map(super::simplify::literal).collect();
        if let Some((_, v)) = self.decided(f, &constants).into_iter().next() {
            return Some(Expr::Literal(v));
        }
        let is = |k: usize, v: Value| constants[k].is_some_and(|a| self.same(a, v));
        self.declared(f).find_map(|p| match (p, args) {
            (Property::Identity(..), [_, _]) => {
                let passes = |k: &usize| constants[*k].is_some_and(|v| self.passes(f, *k, v));
                let other = &args[1 - [0, 1].into_iter().find(passes)?];
                (other.ty() == self.function(f).result).then(|| other.clone())
            }
            (Property::Idempotent, [a, b]) if a == b => Some(a.clone()),
            (Property::Case(patterns, e), _) => {
                // Without a literal the case holds for every call. A case calls functions declared before its own, so this terminates.
                let fits = (0..args.len()).all(|k| patterns[k].is_none_or(|v| is(k, v)));
                (fits && once(e, args)).then(|| self.with(e, args))
            }
            _ => None,
        })
    }

    /// A case's expression with these arguments in place of its parameters.
    fn with(self, e: &typed::Expr, args: &[Expr]) -> Expr {
        match &e.kind {
            Kind::Local(l) => args[l.index()].clone(),
            Kind::Call(fun, parts) => self.call(*fun, parts.iter().map(|p| self.with(p, args)).collect(), e.ty),
            Kind::Literal(v) => Expr::Literal(*v),
            _ => unreachable!("cases know no tensors and no index variables: checked"),
        }
    }

    /// The declared `iterate` sets of a function that contain a complement, and the value of calls outside of them. Those are its
    /// *omitter points*, where the functions paper computes and stores nothing (section 5.2).
    pub fn omits(self, f: FnId) -> Option<(Vec<&'a Set>, Value)> {
        let function = self.function(f);
        let sets = self.declared(f).filter_map(|p| match p {
            Property::Iterate(set) if set.has_complement() => Some(set),
            _ => None,
        });
        let sets: Vec<&Set> = sets.collect();
        if sets.is_empty() {
            return None;
        }
        let fills: Vec<Value> = function.locals[..function.arity].iter().map(|(_, ty)| Value::zero(*ty)).collect();
        let outside = self.evaluated(f, &fills).filter(|v| !v.is_nan())?;
        Some((sets, outside))
    }

    /// The sets outside of which a call has the value `whole`, its value where nothing is present. `values` are the arguments there; each
    /// argument can differ from its value in its one of `sets`.
    pub(super) fn bounds(self, f: FnId, values: &[Expr], sets: &[Sequence], whole: Value) -> Vec<Sequence> {
        let constants: Vec<Option<Value>> = values.iter().map(super::simplify::literal).collect();
        let decided = self.decided(f, &constants).into_iter().filter(|(_, v)| self.same(*v, whole));
        let union = |places: Vec<usize>| Sequence::or(places.into_iter().map(|k| sets[k].clone()));
        let mut all: Vec<Sequence> = decided.map(|(places, _)| union(places)).collect();
        // The declared sets were tried with fill 0.
        let zero = |v: &Option<Value>| v.is_some_and(|v| self.same(v, Value::zero(v.ty())));
        if sets.len() <= TRIED && constants.iter().all(zero) {
            let said = self.declared(f).filter_map(|p| match p {
                Property::Iterate(set) => Some(superset(set, true, sets)),
                _ => None,
            });
            all.extend(said.filter(|s| *s != Sequence::Full));
        }
        all
    }
}

/// A set without complements that contains this one (or its complement). The complement of a parameter's set may be anywhere.
fn superset(set: &Set, positive: bool, sets: &[Sequence]) -> Sequence {
    let both = |a: &Set, b: &Set| [superset(a, positive, sets), superset(b, positive, sets)];
    match (set, positive) {
        (Set::Param(n), true) => sets[*n].clone(),
        (Set::All, false) => Sequence::Empty,
        (Set::Param(_), false) | (Set::All, true) => Sequence::Full,
        (Set::Not(s), _) => superset(s, !positive, sets),
        (Set::And(a, b), true) | (Set::Or(a, b), false) => Sequence::and(both(a, b)),
        (Set::Or(a, b), true) | (Set::And(a, b), false) => Sequence::or(both(a, b)),
    }
}

/// Whether an expression reads no parameter.
fn closed(e: &typed::Expr) -> bool {
    let mut reads = false;
    e.walk(&mut |e| reads |= matches!(e.kind, Kind::Local(_)));
    !reads
}

/// Whether the expression duplicates no argument that takes work.
fn once(e: &typed::Expr, args: &[Expr]) -> bool {
    let mut reads = vec![0; args.len()];
    e.walk(&mut |e| {
        if let Kind::Local(l) = e.kind {
            reads[l.index()] += 1;
        }
    });
    let leaf = |e: &Expr| matches!(e, Expr::Literal(_) | Expr::Index(_) | Expr::Access(..) | Expr::Column(_));
    reads.iter().zip(args).all(|(n, e)| *n <= 1 || leaf(e))
}
