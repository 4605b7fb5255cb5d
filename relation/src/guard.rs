//! Sums and products of decimals that 64 bits do not hold are refused, by the result's name.
//!
//! ```text
//!  operands ──▶ how large values can be ──▶ results that may be too large ──▶ a float beside each ──▶ refused where it is too large
//!                                           none of most programs
//! ```
//!
//! How large a value can be is what the largest values of its columns come to, times the number of rows that are added. A value that is
//! copied, chosen or compared is one that 64 bits held before: only sums and products are asked. Where conditions compare some that may be too
//! large, they are compared as if they were wider. What a `repeat` block computes may be, since nothing says how often it is computed.

use super::{Holds, Relations};
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::format::{Array, Tensor};
use fiberloom_core::notation::typed::{
    Expr, Fun, Index, Kind, Map, Program, SizeId, Statement, Step, TensorId, Turns, VarId,
};
use fiberloom_core::parallel;
use fiberloom_data::error::Error;
use std::collections::{BTreeMap, BTreeSet};

/// What 64 bits hold, but for what a sum of floats may be wrong by.
const MOST: f64 = 9.22e18;

/// What may be larger than 64 bits hold.
#[derive(Default)]
pub(super) struct Unsure {
    /// Results of decimals.
    pub(super) results: BTreeSet<String>,
    /// Results of floats with such sums.
    pub(super) floats: BTreeSet<String>,
    /// Results of decimals that a block defines.
    pub(super) turns: BTreeSet<String>,
    /// Whether what a condition compares is.
    pub(super) conditions: bool,
}

/// What these operands may make larger than 64 bits hold.
pub(super) fn unsure((relations, program): (&Relations, &Program), operands: &[(String, Tensor)]) -> Unsure {
    let is_decimal = |id: TensorId| {
        let shown = relations.results.get(&program.tensors[id.index()].name);
        shown.is_some_and(|shown| matches!(shown.holds, Holds::Decimal(_)))
    };
    let asks = |s: &Statement| is_decimal(s.tensor) || converts(&s.rhs) || compares(&s.rhs, &computes);
    let in_turns = program.order.iter().any(|step| matches!(step, Step::Repeat(_)));
    if !program.statements.iter().any(asks) && !in_turns {
        return Unsure::default();
    }
    let mut sizes = Largest::of(program, operands);
    let (mut unsure, mut floats, mut conditions) = (BTreeSet::new(), BTreeSet::new(), false);
    let mut turns = BTreeSet::new();
    for step in &program.order {
        let Step::Statement(n) = step else {
            // What a block defines grows from turn to turn.
            let (statements, turning) = in_block(program, step);
            conditions |= statements.iter().map(|s| &s.rhs).chain(turning).any(|e| compares(e, &computes));
            let own = statements.iter().filter(|s| is_decimal(s.tensor));
            let own = own.filter(|s| s.fold == Some(Fun::Op(Op::Add)) || computes(&s.rhs));
            turns.extend(own.map(|s| program.tensors[s.tensor.index()].name.clone()));
            continue;
        };
        let s = &program.statements[*n];
        conditions |= compares(&s.rhs, &|e| computes(e) && sizes.bound(e) >= MOST);
        let most = sizes.statement(s);
        if sizes.converts_too_large(&s.rhs) {
            floats.insert(program.tensors[s.tensor.index()].name.clone());
        }
        let computes = s.fold == Some(Fun::Op(Op::Add)) || computes(&s.rhs);
        if is_decimal(s.tensor) && computes && (most.is_nan() || most >= MOST) {
            unsure.insert(program.tensors[s.tensor.index()].name.clone());
        }
    }
    // What a block defines is looked at in each turn.
    unsure.retain(|name| !turns.contains(name));
    Unsure { results: unsure, floats, turns, conditions }
}

/// The statements of a block, and the conditions of its turns.
fn in_block<'p>(program: &'p Program, step: &'p Step) -> (Vec<&'p Statement>, Vec<&'p Expr>) {
    let (mut statements, mut conditions, mut open) = (Vec::new(), Vec::new(), vec![step]);
    while let Some(step) = open.pop() {
        match step {
            Step::Statement(n) => statements.push(&program.statements[*n]),
            Step::Repeat(block) => {
                open.extend(&block.body);
                if let Turns::While(condition) = &block.turns {
                    conditions.push(condition);
                }
            }
        }
    }
    (statements, conditions)
}

/// Whether an integer is so that an expression compares, or gives to a function of the program.
fn compares(e: &Expr, is_so: &dyn Fn(&Expr) -> bool) -> bool {
    let mut found = false;
    e.walk(&mut |e| {
        let args = match &e.kind {
            Kind::Call(Fun::Op(op), args) if op.is_predicate() => args,
            Kind::Call(Fun::User(_), args) => args,
            _ => return,
        };
        found |= args.iter().any(|arg| arg.ty == Type::I64 && is_so(arg));
    });
    found
}

/// The integer that an expression converts to a float, if it computes one.
fn converted(e: &Expr) -> Option<&Expr> {
    let Kind::Call(Fun::Op(Op::Convert(Type::F64)), args) = &e.kind else { return None };
    args.first().filter(|of| of.ty == Type::I64 && computes(of))
}

/// Whether an expression converts a computed integer to a float.
fn converts(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= converted(e).is_some());
    found
}

/// That a value is larger than 64 bits hold, if a result beside another says so. Takes these results out.
///
/// # Errors
/// [`Error::Operand`], with the name of the result.
pub fn held(relations: &Relations, results: &mut Vec<(String, Tensor<'static>)>) -> Result<(), Error> {
    for (name, about) in &relations.about {
        let Some(at) = results.iter().position(|(n, _)| n == about) else { continue };
        let (_, tensor) = results.remove(at);
        let largest = tensor.values.iter().map(Value::as_f64).find(|x| x.abs() >= MOST);
        if let Some(x) = largest {
            let digits = match relations.results[name].holds {
                Holds::Decimal(digits) => digits,
                _ => 0,
            };
            let most = 2f64.powi(63) / 10f64.powi(digits.into());
            let what = format!(
                "a value is about {:.3e}, and a dec({digits}), 64 bits, holds no more than {most:.3e}: declare fewer digits, or add \
                 floats, `convert(…, f64)`",
                x / 10f64.powi(digits.into())
            );
            return Err(Error::operand(name, what));
        }
    }
    results.retain(|(name, _)| !relations.hidden.contains(name));
    Ok(())
}

/// Whether a value is a sum, a difference or a product, or is computed of one: what is copied fits where it was.
fn computes(e: &Expr) -> bool {
    let any = |args: &[Expr]| args.iter().any(computes);
    match &e.kind {
        Kind::Call(Fun::Op(op), args) => match op {
            Op::Add | Op::Sub | Op::Mul => true,
            Op::Select | Op::Mask => any(&args[1..]),
            op if op.is_predicate() => false,
            _ => any(args),
        },
        Kind::Call(Fun::User(_), _) => true,
        Kind::Reduce { fun: Fun::Op(Op::Min | Op::Max), body, .. } => computes(body),
        Kind::Reduce { .. } => true,
        _ => false,
    }
}

/// How large the values of each tensor can be, and how many coordinates its modes have.
struct Largest<'p, 'o> {
    program: &'p Program,
    operands: BTreeMap<TensorId, &'o Tensor<'o>>,
    largest: Vec<f64>,
    extents: BTreeMap<SizeId, u64>,
}

impl<'p, 'o> Largest<'p, 'o> {
    fn of(program: &'p Program, operands: &'o [(String, Tensor<'o>)]) -> Largest<'p, 'o> {
        let mut largest = vec![f64::INFINITY; program.tensors.len()];
        let (mut known, mut extents) = (BTreeMap::new(), BTreeMap::new());
        let magnitudes = parallel::map(operands.iter(), &|(_, tensor)| magnitude(&tensor.values));
        for (n, declared) in program.tensors.iter().enumerate() {
            let Some(place) = operands.iter().position(|(name, _)| *name == declared.name) else { continue };
            let tensor = &operands[place].1;
            largest[n] = size(tensor.fill).max(magnitudes[place]);
            extents.extend(declared.sizes.iter().copied().zip(tensor.extents.iter().copied()));
            known.insert(TensorId(n as u32), tensor);
        }
        Largest { program, operands: known, largest, extents }
    }

    /// How large the values of a tensor can be behind a statement that defines it.
    fn statement(&mut self, s: &Statement) -> f64 {
        let most = self.value(&s.rhs);
        let of = s.tensor.index();
        let fill = self.program.tensors[of].fill.map_or(0.0, size);
        let before = if self.largest[of].is_finite() { self.largest[of] } else { fill };
        let at: Vec<VarId> = s.indices.iter().filter_map(Index::bare).collect();
        let added: Vec<VarId> = s.vars.iter().copied().filter(|v| !at.contains(v)).collect();
        let most = match s.fold {
            Some(Fun::Op(Op::Add)) => before + most * self.count(&added, &s.rhs, &s.indices),
            Some(_) => before.max(most),
            None => fill.max(most),
        };
        self.largest[of] = most;
        most
    }

    /// Whether an expression converts an integer to a float that 64 bits may not hold.
    fn converts_too_large(&self, e: &Expr) -> bool {
        let mut most = 0.0;
        e.walk(&mut |e| most = converted(e).map_or(most, |of| f64::max(most, self.bound(of))));
        most >= MOST
    }

    /// How large a value can be; infinitely, where nothing says it.
    fn bound(&self, e: &Expr) -> f64 {
        let most = self.value(e);
        if most.is_nan() { f64::INFINITY } else { most }
    }

    fn value(&self, e: &Expr) -> f64 {
        let wide = e.ty.range().map_or(f64::INFINITY, |(least, most)| (least as f64).abs().max(most as f64));
        match &e.kind {
            Kind::Literal(value) => size(*value),
            Kind::Access(tensor, _) => self.largest[tensor.index()].min(wide.max(MOST)),
            Kind::Call(Fun::Op(op), args) => self.call(*op, args, wide),
            Kind::Reduce { fun: Fun::Op(Op::Add), vars, body, start: None } => {
                self.value(body) * self.count(vars, body, &[])
            }
            Kind::Reduce { fun: Fun::Op(Op::Min | Op::Max), body, start: None, .. } => self.value(body),
            _ => wide,
        }
    }

    fn call(&self, op: Op, args: &[Expr], wide: f64) -> f64 {
        let of = |n: usize| self.value(&args[n]);
        let largest = |args: &[Expr]| args.iter().map(|arg| self.value(arg)).fold(0.0, f64::max);
        match op {
            Op::Add | Op::Sub => of(0) + of(1),
            // No row of 0 is added, however many there are.
            Op::Mul => of(0) * of(1),
            Op::Neg | Op::Abs | Op::Div | Op::FloorDiv | Op::Convert(_) => of(0),
            Op::Min | Op::Max | Op::Coalesce => largest(args),
            Op::Select | Op::Mask => largest(&args[1..]),
            op if op.is_predicate() => 1.0,
            _ => wide,
        }
    }

    /// How many values that are not 0 a sum over variables has at most. A factor that stores few has no more.
    fn count(&self, vars: &[VarId], body: &Expr, scattered: &[Index]) -> f64 {
        if vars.is_empty() {
            return 1.0;
        }
        let mut accesses = Vec::new();
        body.walk(&mut |e| {
            if let Kind::Access(tensor, indices) = &e.kind {
                accesses.push((*tensor, indices.as_slice(), false));
            }
        });
        self.factors(body, &mut accesses);
        for index in scattered {
            if let Map::Gather(tensor, indices) = &index.map {
                accesses.push((*tensor, indices.as_slice(), index.permit));
            }
            if let Map::Computed(e) = &index.map {
                e.walk(&mut |e| {
                    if let Kind::Access(tensor, indices) = &e.kind {
                        accesses.push((*tensor, indices.as_slice(), false));
                    }
                });
            }
        }
        let extent = |v: &VarId| {
            let of = accesses.iter().find_map(|(tensor, indices, _)| {
                let mode = indices.iter().position(|index| index.bare() == Some(*v))?;
                self.extents.get(&self.program.tensors[tensor.index()].sizes[mode])
            });
            of.map_or(f64::INFINITY, |extent| *extent as f64)
        };
        let all: f64 = vars.iter().map(extent).product();
        let stored = accesses.iter().filter_map(|(tensor, indices, factor)| {
            let covers = vars.iter().all(|v| indices.iter().any(|index| index.bare() == Some(*v)));
            let tensor = self.operands.get(tensor)?;
            (*factor && covers).then_some(tensor.values.len() as f64)
        });
        stored.fold(all, f64::min)
    }

    /// The accesses that are factors of a value: where one is 0, it is.
    fn factors<'e>(&self, e: &'e Expr, all: &mut Vec<(TensorId, &'e [Index], bool)>) {
        match &e.kind {
            Kind::Access(tensor, indices) => {
                let fill = self.program.tensors[tensor.index()].fill;
                if fill.is_some_and(|fill| fill.as_f64() == 0.0) {
                    all.push((*tensor, indices, true));
                }
            }
            Kind::Call(Fun::Op(Op::Mul | Op::Mask | Op::AndAlso), args) => {
                args.iter().for_each(|arg| self.factors(arg, all));
            }
            Kind::Call(Fun::Op(Op::Neg | Op::Convert(_)), args) => self.factors(&args[0], all),
            Kind::Call(Fun::Op(Op::Select), args) => {
                let nothing = |e: &Expr| matches!(&e.kind, Kind::Literal(value) if value.as_f64() == 0.0);
                if nothing(&args[2]) {
                    args[..2].iter().for_each(|arg| self.factors(arg, all));
                }
            }
            _ => {}
        }
    }
}

/// The largest magnitude of some values, 0 of none. Each is looked at, of columns of millions.
fn magnitude(values: &Array) -> f64 {
    fn largest<T: Copy + Into<i64>>(values: &[T]) -> f64 {
        let (least, most) = values.iter().fold((0i64, 0i64), |(least, most), x| {
            let x: i64 = (*x).into();
            (least.min(x), most.max(x))
        });
        (least as f64).abs().max(most as f64)
    }
    match values {
        Array::I8(values) => largest(values),
        Array::I16(values) => largest(values),
        Array::I32(values) => largest(values),
        Array::I64(values) => largest(values),
        other => other.iter().map(size).fold(0.0, f64::max),
    }
}

/// The magnitude of a value.
fn size(value: Value) -> f64 {
    if value.ty() == Type::Bool { 1.0 } else { value.as_f64().abs() }
}
