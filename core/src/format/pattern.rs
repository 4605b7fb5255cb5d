//! Patterns: where a tensor has entries, whatever their values are.

use super::{Array, Tensor};
use crate::algebra::{Type, Value};

impl<'a> Tensor<'a> {
    /// The `bool` tensor with the levels of this one, which shares their arrays, and is true at each entry; this one is well-formed. Its fill value is `false`.
    pub fn pattern(&'a self) -> Tensor<'a> {
        let levels = self.levels.iter().map(|level| level.borrow()).collect();
        let values = Array::from_values(Type::Bool, (0..self.values.len()).map(|p| Value::bool(self.is_stored(p))));
        Tensor { extents: self.extents.clone(), format: self.format.clone(), levels, values, fill: Value::bool(false) }
    }
}
