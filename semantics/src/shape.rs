//! The meaning of extents: a solution of the program's equations, found by propagation.
//!
//! ```text
//!  bare index i in mode m of T     |i| = size of the mode
//!  collapse (i, j) -> k            |k| = |i|·|j|
//!  split    k -> (i, j)            |k| = |i|·|j|
//!  concat   (i, j) -> k            |k| = |i| + |j|
//!  slice    i -> k, s:e:r          |k| = ⌈(e − s) / r⌉,  e ≤ |i|
//! ```
//!
//! Independent of the solver in `fiberloom-core`, which compiled programs use.

use crate::meaning::Refusal;
use fiberloom_core::notation::Span;
use fiberloom_core::notation::typed::{Bound, Expr, Index, Kind, Map, Program, Role, SizeId, TensorId, VarId};

/// An unknown extent: a size's or an index variable's.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unknown {
    Size(SizeId),
    Var(VarId),
}

/// An equation between extents, with its place in the program.
#[derive(Debug)]
enum Equation {
    /// The first is the product of the others.
    Product(Unknown, Vec<Unknown>, Span),
    /// The first is the sum of the others.
    Sum(Unknown, Vec<Unknown>, Span),
    /// `to` is the number of coordinates `start, start + step, …` of `from` below `end`.
    Slice { from: Unknown, to: Unknown, start: Bound, end: Option<Bound>, step: u64, span: Span },
}

/// The extents of a program's sizes and index variables.
#[derive(Clone, Debug)]
pub struct Extents {
    sizes: Vec<Option<u64>>,
    vars: Vec<Option<u64>>,
}

/// An operation on extents; `None` if there is no such extent.
type Join = fn(u64, u64) -> Option<u64>;

impl Extents {
    /// The extents of a program whose given tensors have these extents.
    ///
    /// # Errors
    /// A contradiction, with its place. An extent that stays unknown is an error only where it is used.
    pub fn solve(program: &Program, given: &[(TensorId, Vec<u64>)]) -> Result<Extents, Refusal> {
        let sizes = program.sizes.iter().map(|s| s.value).collect();
        let mut extents = Extents { sizes, vars: vec![None; program.vars.len()] };
        for (tensor, modes) in given {
            let declared = &program.tensors[tensor.index()];
            for (size, extent) in declared.sizes.iter().zip(modes) {
                extents.set(Unknown::Size(*size), *extent, declared.span)?;
            }
        }
        let mut equations = Vec::new();
        for s in &program.statements {
            indices(program, s.tensor, &s.indices, &mut equations);
            equations_of(program, &s.rhs, &mut equations);
            equations.extend(s.cuts.iter().map(|cut| {
                let from = Unknown::Size(program.tensors[s.tensor.index()].sizes[cut.mode]);
                let (start, end) = (cut.start.clone(), cut.end.clone());
                Equation::Slice { from, to: Unknown::Var(cut.var), start, end, step: cut.step, span: cut.span }
            }));
        }
        loop {
            let before = extents.known();
            for equation in &equations {
                extents.propagate(equation)?;
            }
            if extents.known() == before {
                return Ok(extents);
            }
        }
    }

    /// The extent of an index variable, if it is known.
    pub fn var(&self, v: VarId) -> Option<u64> {
        self.vars[v.index()]
    }

    /// A size, if it is known.
    pub fn size(&self, s: SizeId) -> Option<u64> {
        self.sizes[s.index()]
    }

    /// The extents of a tensor, if they are known. A computed tensor without a stated extent is unbounded: coordinates are below 2⁶³ − 1.
    pub fn tensor(&self, program: &Program, t: TensorId) -> Option<Vec<u64>> {
        let tensor = &program.tensors[t.index()];
        let endless = matches!(tensor.role, Role::Computed(_)).then_some(i64::MAX as u64);
        tensor.sizes.iter().map(|s| self.sizes[s.index()].or(endless)).collect()
    }

    /// The coordinate where a slice begins or ends, if the sizes in it are known.
    ///
    /// # Errors
    /// A bound that is not a coordinate, nor one past the last.
    pub fn bound(&self, bound: &Bound, span: Span) -> Result<Option<u64>, Refusal> {
        let mut sum = bound.constant as i128;
        for (factor, size) in &bound.terms {
            let Some(extent) = self.size(*size) else { return Ok(None) };
            sum += *factor as i128 * extent as i128;
        }
        let held = u64::try_from(sum).ok().filter(|n| *n <= i64::MAX as u64);
        held.map(Some).ok_or_else(|| Refusal::Shape(span, format!("a slice reaches {sum}")))
    }

    fn known(&self) -> usize {
        self.sizes.iter().chain(&self.vars).flatten().count()
    }

    fn get(&self, unknown: Unknown) -> Option<u64> {
        match unknown {
            Unknown::Size(s) => self.sizes[s.index()],
            Unknown::Var(v) => self.vars[v.index()],
        }
    }

    fn set(&mut self, unknown: Unknown, extent: u64, span: Span) -> Result<(), Refusal> {
        let slot = match unknown {
            Unknown::Size(s) => &mut self.sizes[s.index()],
            Unknown::Var(v) => &mut self.vars[v.index()],
        };
        match *slot.get_or_insert(extent) {
            other if other == extent => Ok(()),
            other => Err(Refusal::Shape(span, format!("an extent would have to be both {other} and {extent}"))),
        }
    }

    fn propagate(&mut self, equation: &Equation) -> Result<(), Refusal> {
        match equation {
            Equation::Product(whole, parts, span) => {
                let divided =
                    |whole: u64, others: u64| (others != 0 && whole.is_multiple_of(others)).then(|| whole / others);
                self.combine(*whole, parts, *span, (1, u64::checked_mul), divided)
            }
            Equation::Sum(whole, parts, span) => {
                self.combine(*whole, parts, *span, (0, u64::checked_add), u64::checked_sub)
            }
            Equation::Slice { from, to, start, end, step, span } => {
                let extent = self.get(*from);
                let start = self.bound(start, *span)?;
                let end = end.as_ref().map(|end| self.bound(end, *span)).transpose()?;
                if let (Some(Some(end)), Some(extent)) = (end, extent)
                    && end > extent
                {
                    return Err(Refusal::Shape(*span, format!("a slice ends at {end}, past the extent {extent}")));
                }
                match (start, end.unwrap_or(extent)) {
                    (Some(start), Some(end)) if end < start => {
                        Err(Refusal::Shape(*span, format!("a slice starts at {start}, behind its end {end}")))
                    }
                    (Some(start), Some(end)) => self.set(*to, (end - start).div_ceil(*step), *span),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Determines the whole from all parts, or the one unknown part from the whole and the others.
    fn combine(
        &mut self,
        whole: Unknown,
        parts: &[Unknown],
        span: Span,
        (unit, join): (u64, Join),
        without: Join,
    ) -> Result<(), Refusal> {
        let wrong = |what: &str| Refusal::Shape(span, what.to_string());
        let unknown: Vec<Unknown> = parts.iter().copied().filter(|p| self.get(*p).is_none()).collect();
        let known = parts.iter().filter_map(|p| self.get(*p)).try_fold(unit, join);
        let known = known.filter(|n| *n <= i64::MAX as u64).ok_or_else(|| wrong("an extent is not below 2^63"))?;
        match (&unknown[..], self.get(whole)) {
            ([], _) => self.set(whole, known, span),
            // A product with a factor 0.
            (_, None) if unit == 1 && known == 0 => self.set(whole, 0, span),
            ([part], Some(all)) if all != 0 || known != 0 || unit == 0 => {
                let rest = without(all, known).ok_or_else(|| wrong("extents do not divide, or do not add up"))?;
                self.set(*part, rest, span)
            }
            _ => Ok(()),
        }
    }
}

/// Adds the equations of the indices of one access.
fn indices(program: &Program, tensor: TensorId, indices_of: &[Index], out: &mut Vec<Equation>) {
    for (index, size) in indices_of.iter().zip(&program.tensors[tensor.index()].sizes) {
        if let Some(v) = index.bare() {
            out.push(Equation::Sum(Unknown::Var(v), vec![Unknown::Size(*size)], index.span));
        }
        gathers(program, &index.map, out);
    }
}

/// Adds the equations of the accesses within an index map.
fn gathers(program: &Program, map: &Map, out: &mut Vec<Equation>) {
    match map {
        Map::Var(_) | Map::Const(_) | Map::Bound(_) => {}
        Map::Add(a, b) => {
            gathers(program, a, out);
            gathers(program, b, out);
        }
        Map::Mul(_, a) | Map::Div(a, _) | Map::Mod(a, _) => gathers(program, a, out),
        Map::Gather(t, of) => indices(program, *t, of, out),
        Map::Computed(e) => equations_of(program, e, out),
    }
}

fn equations_of(program: &Program, e: &Expr, out: &mut Vec<Equation>) {
    let var = Unknown::Var;
    match &e.kind {
        Kind::Literal(_) | Kind::Index(_) | Kind::Size(_) | Kind::Local(_) => {}
        Kind::Access(t, of) => indices(program, *t, of, out),
        Kind::Call(_, args) => args.iter().for_each(|a| equations_of(program, a, out)),
        Kind::Reduce { body, start, .. } => {
            equations_of(program, body, out);
            start.iter().for_each(|s| equations_of(program, s, out));
        }
        Kind::Collapse { body, from, to } => {
            out.push(Equation::Product(var(*to), from.iter().copied().map(var).collect(), e.span));
            equations_of(program, body, out);
        }
        Kind::Split { body, from, to } => {
            out.push(Equation::Product(var(*from), vec![var(to.0), var(to.1)], e.span));
            equations_of(program, body, out);
        }
        Kind::Concat { parts, from, to } => {
            out.push(Equation::Sum(var(*to), from.iter().copied().map(var).collect(), e.span));
            parts.iter().for_each(|p| equations_of(program, p, out));
        }
        Kind::Slice { body, from, to, start, end, step } => {
            let (from, to, start, end) = (var(*from), var(*to), start.clone(), end.clone());
            out.push(Equation::Slice { from, to, start, end, step: *step, span: e.span });
            equations_of(program, body, out);
        }
    }
}
