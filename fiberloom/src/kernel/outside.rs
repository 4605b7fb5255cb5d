//! Which coordinate that was read from a tensor, or computed, leaves the one that it is for: a kernel says only that there is one.

use super::Operand;
use crate::error::Error;
use crate::program::Program;
use fiberloom_core::algebra::Value;
use fiberloom_core::format::Tensor;
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::typed::{Index, Map, TensorId};
use std::collections::BTreeMap;

/// The error of a call in which one does: the first of them in an operand, else the first that is gathered from a tensor which the
/// program makes, or computed.
pub(super) fn outside(
    program: &Program,
    operands: &BTreeMap<TensorId, Operand>,
    extents: &dyn Fn(TensorId) -> Vec<u64>,
) -> Error {
    let (mut held, mut made) = (None, None);
    for statement in &program.typed().statements {
        statement.accesses(&mut |tensor, indices, _| {
            for (index, (mode, extent)) in indices.iter().zip(extents(tensor).into_iter().enumerate()) {
                let place = Place { program, index, tensor, mode, extent };
                match index.map {
                    Map::Gather(from, _) => match operands.get(&from) {
                        Some(operand) => held = held.take().or_else(|| place.first(from, operand.tensor())),
                        None => drop(made.get_or_insert_with(|| place.said(from, "holds a coordinate"))),
                    },
                    Map::Computed(_) if !index.permit => drop(made.get_or_insert_with(|| place.computed())),
                    _ => {}
                }
            }
        });
    }
    let nowhere = || Error::Defect("a kernel found a coordinate outside of its tensor, and there is none".to_string());
    held.or(made).map_or_else(nowhere, |d| program.mismatch(d))
}

/// An index that is read from a tensor, or computed.
struct Place<'a> {
    program: &'a Program,
    index: &'a Index,
    /// What is read under it.
    tensor: TensorId,
    mode: usize,
    extent: u64,
}

impl Place<'_> {
    /// The first coordinate in an operand that leaves the mode.
    fn first(&self, from: TensorId, operand: &Tensor) -> Option<Diagnostic> {
        let leaves = |v: i128| !(0..i128::from(self.extent)).contains(&v);
        let leaves = |v: &Value| v.as_i128().is_some_and(leaves);
        let stored =
            operand.entries().find(|(_, v)| leaves(v)).map(|(at, v)| format!("holds {v} at {at:?}: a coordinate"));
        let fill = || leaves(&operand.fill).then(|| format!("has the fill value {}: a coordinate", operand.fill));
        stored.or_else(fill).map(|holds| self.said(from, &holds))
    }

    fn said(&self, from: TensorId, holds: &str) -> Diagnostic {
        let from = &self.program.typed().tensors[from.index()].name;
        self.leaves(&format!("`{from}` {holds}"), &format!("what `{from}` holds"))
    }

    fn computed(&self) -> Diagnostic {
        self.leaves("a coordinate is computed here that stands", "it")
    }

    fn leaves(&self, what: &str, kept: &str) -> Diagnostic {
        let of = &self.program.typed().tensors[self.tensor.index()].name;
        let (mode, extent) = (self.mode, self.extent);
        let message = format!("{what} outside of mode {mode} of `{of}`, whose extent is {extent}");
        Diagnostic::new(self.index.span, message).help(format!("keep {kept} at 0 or above, and below {extent}"))
    }
}
