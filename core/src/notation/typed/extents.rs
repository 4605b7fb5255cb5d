//! Extents, once the data's are known.

use super::{Program, SizeId, TensorId, VarId};
use crate::map::ClassId;

/// All extents of a program on given data.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Extents {
    /// By [`SizeId`]. A size that only unused tensors have, and nothing says, is 0.
    pub sizes: Vec<u64>,
    /// By [`VarId`].
    pub vars: Vec<u64>,
}

impl Extents {
    /// That of a class of the same program.
    pub fn of_class(&self, class: ClassId) -> u64 {
        let at = class.0 as usize;
        self.sizes.get(at).copied().unwrap_or_else(|| self.vars[at - self.sizes.len()])
    }

    /// Of an index variable.
    pub fn var(&self, var: VarId) -> u64 {
        self.vars[var.index()]
    }

    /// Of a size.
    pub fn size(&self, size: SizeId) -> u64 {
        self.sizes[size.index()]
    }

    /// Of a tensor's modes.
    pub fn of(&self, program: &Program, tensor: TensorId) -> Vec<u64> {
        program.tensors[tensor.index()].sizes.iter().map(|s| self.sizes[s.index()]).collect()
    }
}
