//! What a kernel is called with.
//!
//! ```text
//!  &Tensor, Tensor              checked in full by every call
//!  &Checked, Checked            checked before
//!  &[f64], &Vec<f64>, Array     a dense vector, as long as it is        and so for every number type
//!  Value, 2.0, &2.0, true       a scalar; of `dim N`, its value
//! ```

use fiberloom_core::algebra::Value;
use fiberloom_core::format::{Array, Checked, Format, Lengths, Malformed, Tensor};

/// What a kernel is called with: a tensor that the call checks in full, or one that was checked before. Tensors, checked
/// ones, slices and scalars become operands, so that one call takes them side by side. What is borrowed stays borrowed.
///
/// ```
/// use fiberloom::{Options, Program, Tensor, operands};
///
/// let program = "tensor A: f64[I, J] csr  tensor x: f64[J] dense  tensor a: f64[] dense  tensor y: f64[I] dense
///     y[i] = a[] * A[i,j] * x[j]";
/// let kernel = Program::parse(program)?.compile(&Options::default())?;
/// let matrix = Tensor::csr(2, 2, &[0i32, 1, 2], &[1i32, 0], &[3.0, 4.0])?.checked()?;
/// let x = vec![10.0, 1.0];
/// let outcome = kernel.run(&operands! { A: &matrix, x: &x, a: 2.0 })?;
/// assert_eq!(outcome.dense::<f64>("y")?, [6.0, 80.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Operand<'a> {
    tensor: Held<'a>,
    is_changing: bool,
}

#[derive(Clone, Debug)]
enum Held<'a> {
    Borrowed(&'a Tensor<'a>),
    Owned(Tensor<'a>),
    Checked(&'a Checked<'a>),
    OwnedChecked(Checked<'a>),
}

impl<'a> Held<'a> {
    /// The tensor, if its invariants are known to hold.
    fn checked(&self) -> Option<&Checked<'a>> {
        match self {
            Held::Borrowed(_) | Held::Owned(_) => None,
            Held::Checked(tensor) => Some(tensor),
            Held::OwnedChecked(tensor) => Some(tensor),
        }
    }
}

impl<'a> Operand<'a> {
    fn of(tensor: Held<'a>) -> Operand<'a> {
        Operand { tensor, is_changing: false }
    }

    /// The same operand, to whose values others may write between the runs of a [`Call`](crate::Call): each run reads them anew. In safe
    /// Rust nobody can, as they are borrowed. Who lends memory of another language says it, as an engine may keep copies of operands from
    /// run to run. Indices do not change.
    #[must_use]
    pub fn changing(mut self) -> Operand<'a> {
        self.is_changing = true;
        self
    }

    /// Whether its values may change between runs.
    pub(super) fn is_changing(&self) -> bool {
        self.is_changing
    }

    /// The tensor, whoever holds it.
    pub fn tensor(&self) -> &Tensor<'a> {
        match &self.tensor {
            Held::Borrowed(tensor) => tensor,
            Held::Owned(tensor) => tensor,
            Held::Checked(tensor) => tensor,
            Held::OwnedChecked(tensor) => tensor,
        }
    }

    /// [`Tensor::lengths_of_rows`]: of what was checked before, read once for all calls. Its invariants hold.
    pub(crate) fn lengths_of_rows(&self) -> Option<Lengths> {
        match self.tensor.checked() {
            Some(tensor) => tensor.lengths_of_rows(),
            None => self.tensor().lengths_of_rows(),
        }
    }

    /// The number of elements of its levels' arrays, if it is not known whether its invariants hold.
    pub(super) fn unchecked(&self) -> u64 {
        let arrays = self.tensor().levels.iter().flat_map(|level| level.arrays());
        if self.tensor.checked().is_some() { 0 } else { arrays.map(|array| array.len() as u64).sum() }
    }

    /// Whether its invariants hold, unless that is known.
    pub(super) fn check(&self) -> Result<(), Malformed> {
        if self.tensor.checked().is_some() { Ok(()) } else { self.tensor().check() }
    }
}

impl<'a, 't: 'a> From<&'a Tensor<'t>> for Operand<'a> {
    fn from(tensor: &'a Tensor<'t>) -> Operand<'a> {
        Operand::of(Held::Borrowed(tensor))
    }
}

impl<'a> From<Tensor<'a>> for Operand<'a> {
    fn from(tensor: Tensor<'a>) -> Operand<'a> {
        Operand::of(Held::Owned(tensor))
    }
}

impl<'a, 't: 'a> From<&'a Checked<'t>> for Operand<'a> {
    fn from(tensor: &'a Checked<'t>) -> Operand<'a> {
        Operand::of(Held::Checked(tensor))
    }
}

impl<'a> From<Checked<'a>> for Operand<'a> {
    fn from(tensor: Checked<'a>) -> Operand<'a> {
        Operand::of(Held::OwnedChecked(tensor))
    }
}

/// A dense vector, as long as the array.
impl<'a> From<Array<'a>> for Operand<'a> {
    fn from(values: Array<'a>) -> Operand<'a> {
        Tensor::vector(values).into()
    }
}

/// A dense vector, as long as the slice, which is not copied.
impl<'a, T> From<&'a [T]> for Operand<'a>
where
    Array<'a>: From<&'a [T]>,
{
    fn from(values: &'a [T]) -> Operand<'a> {
        Array::from(values).into()
    }
}

/// A dense vector, as long as the vector, which is not copied.
impl<'a, T> From<&'a Vec<T>> for Operand<'a>
where
    Array<'a>: From<&'a [T]>,
{
    fn from(values: &'a Vec<T>) -> Operand<'a> {
        Array::from(values.as_slice()).into()
    }
}

/// A dense vector, as long as the array, which is not copied.
impl<'a, T, const N: usize> From<&'a [T; N]> for Operand<'a>
where
    Array<'a>: From<&'a [T]>,
{
    fn from(values: &'a [T; N]) -> Operand<'a> {
        Array::from(values.as_slice()).into()
    }
}

macro_rules! scalars {
    ($($scalar:ty),*) => { $(
        /// A scalar.
        impl From<$scalar> for Operand<'_> {
            fn from(value: $scalar) -> Self {
                Tensor::scalar(value.into()).into()
            }
        }
    )* };
}

scalars!(Value, bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

macro_rules! borrowed {
    ($($scalar:ty),*) => { $(
        /// A scalar, which is not copied.
        impl<'a> From<&'a $scalar> for Operand<'a> {
            fn from(value: &'a $scalar) -> Self {
                let values = Array::from(std::slice::from_ref(value));
                let (format, fill) = (Format::dense(0), Value::zero(values.ty()));
                Tensor { extents: vec![], format, levels: vec![], values, fill }.into()
            }
        }
    )* };
}

borrowed!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

/// Operands by their names, of any kinds side by side: an array of names and [`Operand`]s.
///
/// ```
/// # use fiberloom::{Options, Program, operands};
/// let program = Program::parse("tensor x: f64[N] dense  tensor a: f64[] dense  tensor y: f64[N] dense  y[i] = a[] * x[i]")?;
/// let outcome = program.compile(&Options::default())?.run(&operands! { x: &[1.0, 2.0], a: 3.0 })?;
/// assert_eq!(outcome.dense::<f64>("y")?, [3.0, 6.0]);
/// # Ok::<(), fiberloom::Error>(())
/// ```
#[macro_export]
macro_rules! operands {
    ($($name:ident: $operand:expr),* $(,)?) => {
        [$((stringify!($name), $crate::Operand::from($operand))),*]
    };
}
