//! Which coordinate that was read from a tensor leaves the one that it is for: a kernel says only that there is one.

use super::Operand;
use crate::error::Error;
use crate::program::Program;
use fiberloom_core::algebra::Value;
use fiberloom_core::format::Tensor;
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::typed::{Index, Map, TensorId};
use std::collections::BTreeMap;

/// The error of a call in which one does: the first of them in an operand, else the first gather from a tensor that the program
/// makes.
pub(super) fn outside(
    program: &Program,
    operands: &BTreeMap<TensorId, Operand>,
    extents: &dyn Fn(TensorId) -> Vec<u64>,
) -> Error {
    let (mut held, mut made) = (None, None);
    for statement in &program.typed().statements {
        statement.accesses(&mut |tensor, indices, _| {
            for (index, (mode, extent)) in indices.iter().zip(extents(tensor).into_iter().enumerate()) {
                let Map::Gather(from, _) = index.map else { continue };
                let place = Place { program, index, tensor, mode, extent };
                match operands.get(&from) {
                    Some(operand) => held = held.take().or_else(|| place.first(from, operand.tensor())),
                    None => drop(made.get_or_insert_with(|| place.said(from, "holds a coordinate"))),
                }
            }
        });
    }
    let nowhere = || Error::Defect("a kernel found a coordinate outside of its tensor, and there is none".to_string());
    held.or(made).map_or_else(nowhere, |d| program.mismatch(d))
}

/// An index that is read from a tensor.
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
        let name = |t: TensorId| &self.program.typed().tensors[t.index()].name;
        let (from, of) = (name(from), name(self.tensor));
        let (mode, extent) = (self.mode, self.extent);
        let message = format!("`{from}` {holds} outside of mode {mode} of `{of}`, whose extent is {extent}");
        Diagnostic::new(self.index.span, message)
            .help(format!("keep what `{from}` holds at 0 or above, and below {extent}"))
    }
}
