//! Cases as engines run them.

use super::constructs::constructs;
use super::{Case, Expr, Statement, Tensor, redrawn};
use crate::notation::engines::UNKNOWN;
use crate::notation::fitted::fitted;
use crate::notation::shrink;
use crate::notation::statistics::Statistics;
use crate::notation::subject::{Operands, Subject};
use arbitrary::Unstructured;
use fiberloom_core::algebra::{Mode, Type};
use fiberloom_core::format;
use fiberloom_core::iteration::Thin;
use fiberloom_core::notation::typed;
use fiberloom_loops::{Options, Widths};
use std::collections::BTreeMap;

/// What may be said of a case: nothing says an extent, a variable stands in no index, a sum rebinds a variable that is free
/// beside it, or a fold over nothing has no value.
const MAY: [&str; 4] = [UNKNOWN, "unknown name", "is bound already", "has no value"];

impl Subject for Case {
    fn mode(&self) -> Mode {
        self.mode
    }

    fn options(&self, typed: &typed::Program) -> Options {
        let initial = typed.starts().into_iter().filter(|id| self.given(typed, *id).is_some()).collect();
        let (operands, sizes) = (self.widths(typed), self.magnitudes(typed));
        Options {
            operands,
            initial,
            sizes,
            few: self.few,
            sought: self.sought,
            thin: if self.thin { typed.spares().thinnest() } else { Thin::new() },
            made: self.made(),
            ..Options::default()
        }
    }

    /// The tensors that the program reads or starts from.
    fn operands(&self, typed: &typed::Program) -> Option<Operands> {
        let wanted = typed.inputs().into_iter().chain(typed.starts());
        let found = wanted.filter_map(|id| self.given(typed, id));
        Some(found.map(|a| (a.name.clone(), self.stored(a))).collect())
    }

    fn shortened(&self, extent: u64) -> Option<Case> {
        let shape = |s: &Statement| {
            let mut found = false;
            s.rhs.walk(&mut |e| found |= matches!(e, Expr::Shape(..)));
            found
        };
        // The extents of shape operators fit one another as they are.
        let short = (!self.statements.iter().any(shape)).then(|| self.at_most(extent));
        short.filter(|short| short.sizes != self.sizes)
    }

    fn redrawn(&self, u: &mut Unstructured) -> Case {
        redrawn(self, u)
    }

    fn left_out(&self, kind: &str, words: &str) -> Option<&'static str> {
        let may = matches!(kind, "checker" | "extents") && MAY.iter().any(|may| words.contains(may));
        may.then_some("without an extent that anything says, or with a variable bound twice")
    }

    fn smaller(&self) -> Vec<Case> {
        shrink::steps(self)
    }

    fn constructs(&self) -> Vec<String> {
        constructs(self)
    }

    fn count(&self, statistics: &mut Statistics) {
        statistics.count(self);
    }

    fn data(&self) -> String {
        let stands = self.tensors.iter().enumerate().filter(|(t, _)| self.mentions(*t)).map(|(_, a)| a);
        let shown = |a: &Tensor| {
            let extents: Vec<u64> = a.sizes.iter().map(|n| self.sizes[*n].0).collect();
            Some(format!("{} {extents:?} wide {:?}: {:?}\n", a.name, a.wide, a.entries.as_ref()?))
        };
        stands.filter_map(shown).collect()
    }
}

impl Case {
    /// The tensor of that name, if the caller gives it.
    fn given(&self, typed: &typed::Program, id: typed::TensorId) -> Option<&Tensor> {
        let name = &typed.tensors[id.index()].name;
        self.tensors.iter().find(|a| a.name == *name && a.entries.is_some())
    }

    fn stored(&self, a: &Tensor) -> format::Tensor<'static> {
        let extents = a.sizes.iter().map(|n| self.sizes[*n].0).collect();
        let value = |x: i64| self.value(a.ty, x);
        let format = a.format.as_ref().expect("operands have formats").stored();
        let entries = fitted(&format, a.entries.iter().flatten().map(|(at, x)| (at.clone(), value(*x))).collect());
        let (pos, crd) = (width(a.wide.0), width(a.wide.1));
        let tensor = format::Tensor::from_entries(extents, format, value(a.fill), pos, crd, entries);
        tensor.expect("small and within the extents")
    }

    /// What the first tensor's indices are, those of all that is made are.
    fn made(&self) -> Widths {
        let wide = self.tensors.first().map_or((false, false), |a| a.wide);
        Widths { pos: width(wide.0), crd: width(wide.1) }
    }

    fn widths(&self, typed: &typed::Program) -> BTreeMap<typed::TensorId, Vec<Widths>> {
        let all = (0..typed.tensors.len() as u32).map(typed::TensorId).filter_map(|id| {
            let a = self.given(typed, id)?;
            let each = Widths { pos: width(a.wide.0), crd: width(a.wide.1) };
            Some((id, vec![each; a.sizes.len()]))
        });
        all.collect()
    }

    /// Each extent that operands say is `extent` at most.
    fn at_most(&self, extent: u64) -> Case {
        let mut case = self.clone();
        // What a scatter does to its variables depends on the extent that it scatters to.
        let scattered = self.statements.iter().filter(|s| !s.places.is_empty());
        let mut fixed: Vec<usize> = scattered.flat_map(|s| self.tensors[s.tensor].sizes.clone()).collect();
        // What is read at a coordinate has it.
        for s in &self.statements {
            s.rhs.walk(&mut |e| {
                if let Expr::Access(t, at) = e {
                    let other = at.iter().zip(&self.tensors[*t].sizes).filter(|(at, _)| at.var().is_none());
                    let sizes = other.flat_map(|(at, size)| at.vars().map(|v| self.vars[v]).chain([*size]));
                    fixed.extend(sizes);
                }
            });
        }
        for n in (0..self.sizes.len()).filter(|n| !self.says(*n) && !fixed.contains(n)) {
            case.sizes[n].0 = case.sizes[n].0.min(extent);
        }
        for a in &mut case.tensors {
            let inside = |at: &[i64]| at.iter().zip(&a.sizes).all(|(x, n)| (*x as u64) < case.sizes[*n].0);
            if let Some(entries) = &mut a.entries {
                entries.retain(|(at, _)| inside(at));
            }
        }
        case
    }
}

fn width(wide: bool) -> Type {
    if wide { Type::I64 } else { Type::I32 }
}
