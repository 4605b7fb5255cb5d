//! What of an operand its code depends on.

use fiberloom_core::algebra::Type;
use fiberloom_core::format::{Format, Holds, Level, Tensor};
use fiberloom_loops::Widths;

/// What of an operand code is made for, besides what the program declares: its extents, and how wide its indices are.
/// It is made of a tensor, or of extents alone: indices are then as wide as they have to be, positions 32 bits.
///
/// ```
/// use fiberloom::{Shape, Tensor};
///
/// let tensor = Tensor::csr(2, 3, &[0i32, 0, 1], &[2i32], &[1.0]).unwrap();
/// assert_eq!(Shape::from(&tensor), Shape::from([2, 3]));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    pub(super) extents: Vec<u64>,
    /// One a level.
    pub(super) widths: Vec<Widths>,
}

impl Shape {
    /// The same of a tensor in this format: a level that has no such indices is as wide as any.
    pub(super) fn stored(mut self, format: &Format) -> Shape {
        for (widths, kind) in self.widths.iter_mut().zip(format.stored().levels.iter()) {
            let has = |what| kind.arrays().iter().any(|(_, holds)| *holds == what);
            let [has_pos, has_crd] = [Holds::Positions, Holds::Coordinates].map(has);
            widths.pos = if has_pos { widths.pos } else { Widths::NARROW.pos };
            widths.crd = if has_crd { widths.crd } else { Widths::NARROW.crd };
        }
        self
    }

    /// Whether it is that of a tensor: without allocation, as every call asks.
    pub(super) fn is_of(&self, tensor: &Tensor) -> bool {
        self.extents == tensor.extents && self.widths.iter().copied().eq(tensor.levels.iter().map(widths))
    }
}

impl From<&Tensor<'_>> for Shape {
    fn from(tensor: &Tensor) -> Shape {
        Shape { extents: tensor.extents.clone(), widths: tensor.levels.iter().map(widths).collect() }
    }
}

impl From<Vec<u64>> for Shape {
    fn from(extents: Vec<u64>) -> Shape {
        let is_far = extents.iter().any(|extent| *extent > i32::MAX as u64);
        let widths = Widths { crd: if is_far { Type::I64 } else { Type::I32 }, ..Widths::NARROW };
        Shape { widths: vec![widths; extents.len()], extents }
    }
}

impl From<&[u64]> for Shape {
    fn from(extents: &[u64]) -> Shape {
        extents.to_vec().into()
    }
}

impl<const N: usize> From<[u64; N]> for Shape {
    fn from(extents: [u64; N]) -> Shape {
        extents.to_vec().into()
    }
}

/// The index widths of a level's arrays.
fn widths(level: &Level) -> Widths {
    let (pos, crd) = level.index_types();
    Widths { pos: pos.unwrap_or(Widths::NARROW.pos), crd: crd.unwrap_or(Widths::NARROW.crd) }
}
