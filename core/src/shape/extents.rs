//! Extents: what bare accesses leave open, shape operators decide.
//!
//! ```text
//!   collapse  |to| = Π |from|        split  |from| = |to₀| · |to₁|
//!   concat    |to| = Σ |from|        slice  |to| = ⌈(end − start) / step⌉,  end ≤ |from|
//! ```
//!
//! Each equation is used in whatever direction has one unknown, until nothing changes.

use super::classes::{ClassId, Classes};
use super::range;
use crate::notation::typed::{Expr, Kind, Program, TensorId, VarId};
use crate::notation::{Diagnostic, Span};

/// Solved extents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Of each size of the program.
    pub sizes: Vec<u64>,
    /// Of each index variable.
    pub vars: Vec<u64>,
}

/// Why extents are not known.
#[derive(Clone, Debug, PartialEq)]
pub enum Unsolved {
    /// Neither the program nor the data say an index variable's extent: the program is to blame.
    Unknown(Diagnostic),
    /// The data's extents contradict each other or the program.
    Contradiction(Diagnostic),
}

impl From<Diagnostic> for Unsolved {
    fn from(d: Diagnostic) -> Unsolved {
        Unsolved::Contradiction(d)
    }
}

enum Equation {
    Product(VarId, Vec<VarId>),
    Sum(VarId, Vec<VarId>),
    Slice { from: VarId, to: VarId, start: u64, end: Option<u64>, step: u64 },
}

/// Contradictions that the program alone shows.
///
/// # Errors
/// All that are found, each with both sides.
pub fn check(program: &Program) -> Result<(), Vec<Diagnostic>> {
    let classes = Classes::of(program)?;
    let mut s = Solver::new(program, &classes);
    s.run().map_err(|d| vec![d])?;
    let errors = range::check(program, &|v| s.var(v), &|size| s.values[classes.class_of_size(size).0 as usize]);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// All extents, given those of some tensors.
///
/// # Errors
/// Given extents that contradict each other or the program; a variable whose extent stays unknown; an index that can
/// leave its array.
pub fn solve(program: &Program, given: &[(TensorId, Vec<u64>)]) -> Result<Extents, Unsolved> {
    let classes = Classes::of(program).map_err(|mut all| all.swap_remove(0))?;
    let mut s = Solver::new(program, &classes);
    for (t, extents) in given {
        let tensor = &program.tensors[t.index()];
        if extents.len() != tensor.sizes.len() {
            let message = format!("`{}` has {} modes, its data {}", tensor.name, tensor.sizes.len(), extents.len());
            return Err(Diagnostic::new(tensor.span, message).into());
        }
        for (m, (size, extent)) in tensor.sizes.iter().zip(extents).enumerate() {
            let what = || format!("mode {m} of `{}`, by its data,", tensor.name);
            s.set(classes.class_of_size(*size), *extent, tensor.span, &what)?;
        }
    }
    s.run()?;
    if let Some(d) = s.unknown() {
        return Err(Unsolved::Unknown(d));
    }
    let of_size = |size| s.values[classes.class_of_size(size).0 as usize];
    if let Some(d) = range::check(program, &|v| s.var(v), &of_size).into_iter().next() {
        return Err(d.into());
    }
    let sizes = (0..program.sizes.len()).map(|n| of_size(crate::notation::typed::SizeId(n as u32)).unwrap_or(0));
    let vars = (0..program.vars.len()).map(|n| s.var(VarId(n as u32)).unwrap_or(0));
    Ok(Extents { sizes: sizes.collect(), vars: vars.collect() })
}

struct Solver<'a> {
    program: &'a Program,
    classes: &'a Classes,
    values: Vec<Option<u64>>,
    equations: Vec<(Equation, Span)>,
    used: Vec<VarId>,
}

impl<'a> Solver<'a> {
    fn new(program: &'a Program, classes: &'a Classes) -> Solver<'a> {
        let values = (0..classes.len()).map(|n| classes.value(ClassId(n as u32))).collect();
        let mut s = Solver { program, classes, values, equations: Vec::new(), used: Vec::new() };
        for statement in &program.statements {
            s.used.extend(&statement.vars);
            s.used.extend(&statement.folded);
            s.collect(&statement.rhs);
        }
        s
    }

    fn collect(&mut self, e: &Expr) {
        match &e.kind {
            Kind::Literal(_) | Kind::Index(_) | Kind::Local(_) | Kind::Access(..) => {}
            Kind::Call(_, args) => args.iter().for_each(|a| self.collect(a)),
            Kind::Reduce { vars, body, start, .. } => {
                self.used.extend(vars);
                self.collect(body);
                start.iter().for_each(|s| self.collect(s));
            }
            Kind::Collapse { body, from, to } => {
                self.used.extend(from);
                self.equations.push((Equation::Product(*to, from.clone()), e.span));
                self.collect(body);
            }
            Kind::Split { body, from, to } => {
                self.used.push(*from);
                self.equations.push((Equation::Product(*from, vec![to.0, to.1]), e.span));
                self.collect(body);
            }
            Kind::Concat { parts, from, to } => {
                self.used.extend(from);
                self.equations.push((Equation::Sum(*to, from.clone()), e.span));
                parts.iter().for_each(|p| self.collect(p));
            }
            Kind::Slice { body, from, to, start, end, step } => {
                self.used.push(*from);
                let equation = Equation::Slice { from: *from, to: *to, start: *start, end: *end, step: *step };
                self.equations.push((equation, e.span));
                self.collect(body);
            }
        }
    }

    fn var(&self, v: VarId) -> Option<u64> {
        self.values[self.classes.class_of_var(v).0 as usize]
    }

    fn name(&self, v: VarId) -> &str {
        &self.program.vars[v.index()].name
    }

    fn set(&mut self, c: ClassId, value: u64, span: Span, what: &dyn Fn() -> String) -> Result<bool, Diagnostic> {
        if value >= 1 << 63 {
            return Err(Diagnostic::new(span, format!("{} has extent {value}: extents are below 2⁶³", what())));
        }
        match self.values[c.0 as usize] {
            Some(known) if known == value => Ok(false),
            Some(known) => {
                let name = self.classes.name(c);
                let message = format!("{} has extent {value}, but `{name}` has extent {known}", what());
                Err(Diagnostic::new(span, message))
            }
            None => {
                self.values[c.0 as usize] = Some(value);
                Ok(true)
            }
        }
    }

    fn set_var(&mut self, v: VarId, value: u64, span: Span) -> Result<bool, Diagnostic> {
        let name = self.name(v).to_string();
        self.set(self.classes.class_of_var(v), value, span, &|| format!("index variable `{name}`"))
    }

    fn run(&mut self) -> Result<(), Diagnostic> {
        let equations = std::mem::take(&mut self.equations);
        let mut result = Ok(());
        let mut changed = true;
        while changed && result.is_ok() {
            changed = false;
            for (equation, span) in &equations {
                match self.step(equation, *span) {
                    Ok(more) => changed |= more,
                    Err(d) => {
                        result = Err(d);
                        break;
                    }
                }
            }
        }
        self.equations = equations;
        result
    }

    /// Uses an equation once: whether something became known.
    fn step(&mut self, equation: &Equation, span: Span) -> Result<bool, Diagnostic> {
        match equation {
            Equation::Product(whole, parts) => self.product(*whole, parts, span),
            Equation::Sum(whole, parts) => {
                let unknown: Vec<VarId> = parts.iter().copied().filter(|v| self.var(*v).is_none()).collect();
                let known: u128 = parts.iter().filter_map(|v| self.var(*v)).map(u128::from).sum();
                match (&unknown[..], self.var(*whole)) {
                    ([], _) => self.set_var(*whole, self.fits(known, *whole, span)?, span),
                    ([one], Some(n)) => match u128::from(n).checked_sub(known) {
                        Some(rest) => self.set_var(*one, rest as u64, span),
                        None => {
                            let message = format!("`{}` has extent {n}, but the parts have {known}", self.name(*whole));
                            Err(Diagnostic::new(span, message))
                        }
                    },
                    _ => Ok(false),
                }
            }
            Equation::Slice { from, to, start, end, step } => {
                let extent = self.var(*from);
                let end = end.or(extent);
                if let (Some(end), Some(n)) = (end, extent)
                    && end > n
                {
                    let message = format!("the slice ends at {end}, but `{}` has extent {n}", self.name(*from));
                    return Err(Diagnostic::new(span, message));
                }
                match end {
                    Some(end) if *start > end => {
                        Err(Diagnostic::new(span, format!("the slice starts at {start}, behind the extent {end}")))
                    }
                    Some(end) => self.set_var(*to, (end - start).div_ceil((*step).max(1)), span),
                    None => Ok(false),
                }
            }
        }
    }

    fn product(&mut self, whole: VarId, parts: &[VarId], span: Span) -> Result<bool, Diagnostic> {
        let unknown: Vec<VarId> = parts.iter().copied().filter(|v| self.var(*v).is_none()).collect();
        let known: Option<u128> =
            parts.iter().filter_map(|v| self.var(*v)).try_fold(1u128, |n, x| n.checked_mul(x.into()));
        let zero = parts.iter().any(|v| self.var(*v) == Some(0));
        let known = if zero { 0 } else { known.unwrap_or(u128::MAX) };
        match (&unknown[..], self.var(whole)) {
            ([], _) => self.set_var(whole, self.fits(known, whole, span)?, span),
            ([one], Some(n)) if known > 0 => {
                if !u128::from(n).is_multiple_of(known) {
                    let message = format!("`{}` has extent {n}, which {known} does not divide", self.name(whole));
                    return Err(Diagnostic::new(span, message));
                }
                self.set_var(*one, (u128::from(n) / known) as u64, span)
            }
            _ if zero => self.set_var(whole, 0, span),
            _ => Ok(false),
        }
    }

    fn fits(&self, n: u128, v: VarId, span: Span) -> Result<u64, Diagnostic> {
        u64::try_from(n).ok().filter(|n| *n < 1 << 63).ok_or_else(|| {
            Diagnostic::new(span, format!("the extent of `{}` overflows: extents are below 2⁶³", self.name(v)))
        })
    }

    /// A variable, or a mode of a result, whose extent nothing says.
    fn unknown(&self) -> Option<Diagnostic> {
        let v = self.used.iter().find(|v| self.var(**v).is_none())?;
        let var = &self.program.vars[v.index()];
        let message = format!("the extent of index variable `{}` is unknown", var.name);
        Some(Diagnostic::new(var.span, message).help("declare the size of a mode that it stands at"))
    }
}
