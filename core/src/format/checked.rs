//! Tensors that are known to be well-formed.

use super::{Lengths, Malformed, Tensor};
use std::ops::Deref;
use std::sync::OnceLock;

/// A tensor whose invariants hold. Only [`Tensor::checked`] makes one, which reads every index once, and it cannot be changed, so
/// functions that take one need not check again. It contains the tensor with its arrays, borrowed or not.
///
/// ```
/// # use fiberloom_core::{algebra::{Type, Value}, format::{Array, Tensor}};
/// let x = Tensor::dense(vec![2], Value::zero(Type::F64), Array::from(vec![1.0, 2.0])).unwrap().checked()?;
/// assert_eq!(x.extents, [2]); // Reads as a tensor…
/// let mut x = x.into_inner(); // …and is changed as one, to be checked again.
/// x.extents = vec![3];
/// assert!(x.checked().is_err());
/// # Ok::<(), fiberloom_core::format::Malformed>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checked<'a> {
    tensor: Tensor<'a>,
    /// [`Tensor::lengths_of_rows`], once it was asked for.
    rows: OnceLock<Option<Lengths>>,
}

impl PartialEq for Checked<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.tensor == other.tensor
    }
}

impl<'a> Tensor<'a> {
    /// Checks every invariant once.
    ///
    /// # Errors
    /// The first place where an invariant does not hold: see [`Tensor::check`].
    pub fn checked(self) -> Result<Checked<'a>, Malformed> {
        self.check()?;
        Ok(Checked { tensor: self, rows: OnceLock::new() })
    }
}

impl<'a> Checked<'a> {
    /// The tensor, unchecked from here on.
    pub fn into_inner(self) -> Tensor<'a> {
        self.tensor
    }

    /// [`Tensor::lengths_of_rows`], which reads positions once.
    pub fn lengths_of_rows(&self) -> Option<Lengths> {
        *self.rows.get_or_init(|| self.tensor.lengths_of_rows())
    }
}

impl<'a> Deref for Checked<'a> {
    type Target = Tensor<'a>;

    fn deref(&self) -> &Tensor<'a> {
        &self.tensor
    }
}
