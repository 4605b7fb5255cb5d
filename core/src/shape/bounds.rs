//! Whether indices stay inside their tensors, and folds over nothing.
//!
//! An index map is brought into the form `c + Σ kᵥ·v + rest`, in which each variable stands once, so that its interval
//! over the variables' extents is exact; `rest` holds the intervals of quotients and remainders. Where extents are not
//! known yet, only what is wrong for all of them is reported: variables are taken to have an extent of at least 1.

use super::classes::Classes;
use crate::notation::typed::{Expr, Index, Kind, Map, Program, TensorId, VarId};
use crate::notation::{Diagnostic, Span};
use std::collections::BTreeMap;

/// All indices that can leave, and all folds over nothing that have no value, as far as `classes` knows the extents.
pub(super) fn check(program: &Program, classes: &Classes) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for statement in &program.statements {
        statement.accesses(&mut |tensor, indices, written| {
            for (mode, index) in indices.iter().enumerate() {
                errors.extend(leaves(program, classes, tensor, mode, index, written));
            }
        });
        statement.rhs.walk(&mut |e| errors.extend(empty_fold(program, classes, e)));
    }
    errors
}

fn empty_fold(program: &Program, classes: &Classes, e: &Expr) -> Option<Diagnostic> {
    let Kind::Reduce { fun, vars, body, start: None } = &e.kind else { return None };
    if program.identity(*fun, body.ty).is_some() {
        return None;
    }
    let empty = vars.iter().find(|v| classes.extent_of_var(**v) == Some(0))?;
    let name = &program.vars[empty.index()].name;
    let message =
        format!("a reduction over index variable `{name}` of extent 0 has no value: its function has no identity");
    Some(Diagnostic::new(e.span, message).help("write what the fold begins with: `start …`, or declare an `identity`"))
}

/// `c + Σ k·v + rest`, with `rest` in an interval.
#[derive(Default)]
struct Linear {
    constant: i128,
    terms: BTreeMap<VarId, i128>,
    rest: (i128, i128),
}

/// An index map's least and greatest value as far as known extents go.
struct Interval {
    least: i128,
    greatest: i128,
    /// Variables of unknown extent with their factors: each adds 0 at one end, and something of its sign at the other.
    unknown: Vec<(VarId, i128)>,
}

/// Why there is no interval.
enum Not {
    /// A variable runs over nothing, so nothing is read.
    Reached,
    /// 64 bits do not hold it.
    Held,
    /// A part of it depends on an extent that is not known, or on data.
    Known,
}

fn linear(map: &Map, factor: i128, classes: &Classes, sum: &mut Linear) -> Result<(), Not> {
    let times = |a: i128| a.checked_mul(factor).ok_or(Not::Held);
    match map {
        Map::Bound(bound) => {
            let value = bound.value(|size| classes.extent(size.index())).ok_or(Not::Known)?;
            sum.constant = sum.constant.checked_add(times(value)?).ok_or(Not::Held)?;
        }
        Map::Const(c) => sum.constant = sum.constant.checked_add(times(*c as i128)?).ok_or(Not::Held)?,
        Map::Var(v) => {
            let term = sum.terms.entry(*v).or_insert(0);
            *term = term.checked_add(factor).ok_or(Not::Held)?;
        }
        Map::Add(a, b) => {
            linear(a, factor, classes, sum)?;
            linear(b, factor, classes, sum)?;
        }
        Map::Mul(k, a) => linear(a, times(*k as i128)?, classes, sum)?,
        Map::Div(a, d) => {
            let inner = interval(a, classes)?;
            if !inner.unknown.is_empty() {
                return Err(Not::Known);
            }
            let d = *d as i128;
            sum.add_rest(times(inner.least.div_euclid(d))?, times(inner.greatest.div_euclid(d))?)?;
        }
        Map::Mod(a, d) => {
            let d = *d as i128;
            let inner = interval(a, classes)?;
            // Of what has no known extent the first coordinate is sure.
            let within = inner.least.div_euclid(d) == inner.greatest.div_euclid(d);
            let (least, greatest) =
                if within { (inner.least.rem_euclid(d), inner.greatest.rem_euclid(d)) } else { (0, d - 1) };
            sum.add_rest(times(least)?, times(greatest)?)?;
        }
        Map::Gather(..) | Map::Computed(_) => return Err(Not::Known),
    }
    Ok(())
}

impl Linear {
    fn add_rest(&mut self, a: i128, b: i128) -> Result<(), Not> {
        let add = |x: i128, y: i128| x.checked_add(y).ok_or(Not::Held);
        self.rest = (add(self.rest.0, a.min(b))?, add(self.rest.1, a.max(b))?);
        Ok(())
    }
}

fn interval(map: &Map, classes: &Classes) -> Result<Interval, Not> {
    let mut sum = Linear::default();
    let known = linear(map, 1, classes, &mut sum);
    if sum.terms.keys().any(|v| classes.extent_of_var(*v) == Some(0)) {
        return Err(Not::Reached);
    }
    known?;
    let add = |a: i128, b: i128| a.checked_add(b).ok_or(Not::Held);
    let mut result = Interval {
        least: add(sum.constant, sum.rest.0)?,
        greatest: add(sum.constant, sum.rest.1)?,
        unknown: Vec::new(),
    };
    for (var, factor) in sum.terms {
        match classes.extent_of_var(var) {
            None if factor == 0 => {}
            None => result.unknown.push((var, factor)),
            Some(extent) => {
                let far = factor.checked_mul(extent as i128 - 1).ok_or(Not::Held)?;
                result.least = add(result.least, far.min(0))?;
                result.greatest = add(result.greatest, far.max(0))?;
            }
        }
    }
    let held = i64::MIN as i128..=i64::MAX as i128;
    if !held.contains(&result.least) || !held.contains(&result.greatest) {
        return Err(Not::Held);
    }
    Ok(result)
}

fn leaves(
    program: &Program,
    classes: &Classes,
    tensor: TensorId,
    mode: usize,
    index: &Index,
    written: bool,
) -> Option<Diagnostic> {
    if index.bare().is_some() {
        return None;
    }
    let of = &program.tensors[tensor.index()];
    let span = index.span;
    let range = match interval(&index.map, classes) {
        Ok(range) => range,
        Err(Not::Held) => {
            let message = format!("the index of mode {mode} of `{}` can exceed 64 bits", of.name);
            return Some(Diagnostic::new(span, message).help("use smaller factors"));
        }
        Err(Not::Reached | Not::Known) => return None,
    };
    if index.permit {
        return None;
    }
    let size = of.sizes[mode];
    if range.least < 0 {
        let what = format!("it can be {}", range.least);
        return Some(error(&of.name, mode, span, &what, written));
    }
    match classes.extent(size.index()) {
        Some(extent) if range.greatest >= extent as i128 => {
            let what = format!("it can be {}, and the extent is {extent}", range.greatest);
            Some(error(&of.name, mode, span, &what, written))
        }
        Some(_) => None,
        None => {
            // A variable that runs over the same extent is as large as the last coordinate.
            let class = classes.class_of_size(size);
            let same = range.unknown.iter().find(|(v, factor)| *factor > 0 && classes.class_of_var(*v) == class);
            let (var, _) = same.filter(|_| range.greatest > 0)?;
            let name = &program.vars[var.index()].name;
            let what = format!("`{name}` runs over the same extent, and {} is added", range.greatest);
            Some(error(&of.name, mode, span, &what, written))
        }
    }
}

fn error(tensor: &str, mode: usize, span: Span, what: &str, written: bool) -> Diagnostic {
    let message = format!("the index of mode {mode} of `{tensor}` can leave it without `~`: {what}");
    Diagnostic::new(span, message).help(if written {
        "nothing is stored outside of a tensor: keep the coordinate inside its extent"
    } else {
        "`coalesce(…[~(…)], 0)` reads 0 outside; or slice what the index variable runs over"
    })
}
