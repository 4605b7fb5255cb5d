//! Tensors from a caller's arrays; each constructor is named for the format.
//!
//! ```text
//!  pos, crd, values ──csr──▶ Tensor ──checked──▶ Checked
//!                  lengths, types      every index
//! ```
//!
//! Arrays are borrowed or owned, as they are given. A constructor checks only types and lengths, in a few comparisons. The elements are
//! checked by [`Tensor::check`], in each call, or once by [`Tensor::checked`]. The fill value is 0 of the values' type unless
//! [`Tensor::with_fill`] gives another.

use super::{Array, Format, Level, LevelKind, Malformed, Step, Tensor, triangle};
use crate::algebra::{Type, Value};
use crate::words::counted;

impl<'a> Tensor<'a> {
    /// A matrix in compressed rows: row i has the entries `pos[i]..pos[i + 1]`, at ascending columns `crd`.
    ///
    /// ```
    /// # use fiberloom_core::format::Tensor;
    /// //  1 . 2
    /// //  . . .
    /// //  . 3 4
    /// let a = Tensor::csr(3, 3, &[0i32, 2, 2, 4], &[0i32, 2, 1, 2], &[1.0, 2.0, 3.0, 4.0])?.checked()?;
    /// assert_eq!(a.entries().map(|(at, _)| at).last(), Some(vec![2, 2]));
    /// # Ok::<(), fiberloom_core::format::Malformed>(())
    /// ```
    ///
    /// # Errors
    /// Lengths or types that do not fit: there have to be `rows + 1` positions, and as many coordinates as values, both of type `i32` or
    /// `i64`.
    pub fn csr(
        rows: u64,
        columns: u64,
        pos: impl Into<Array<'a>>,
        crd: impl Into<Array<'a>>,
        values: impl Into<Array<'a>>,
    ) -> Result<Tensor<'a>, Malformed> {
        let compressed = Level::Compressed { pos: pos.into(), crd: crd.into() };
        Tensor::from_levels([rows, columns], [0, 1], vec![Level::Dense, compressed], values)
    }

    /// A matrix in compressed columns: column j has the entries `pos[j]..pos[j + 1]`, at ascending rows `crd`.
    ///
    /// # Errors
    /// As of [`Tensor::csr`], with `columns + 1` positions.
    pub fn csc(
        rows: u64,
        columns: u64,
        pos: impl Into<Array<'a>>,
        crd: impl Into<Array<'a>>,
        values: impl Into<Array<'a>>,
    ) -> Result<Tensor<'a>, Malformed> {
        let compressed = Level::Compressed { pos: pos.into(), crd: crd.into() };
        Tensor::from_levels([rows, columns], [1, 0], vec![Level::Dense, compressed], values)
    }

    /// A list of entries at distinct coordinates in ascending order: an array of coordinates for each mode, and the values.
    /// [`Entries`](super::Entries) takes them in any order.
    ///
    /// ```
    /// # use fiberloom_core::format::Tensor;
    /// let a = Tensor::coo([3, 3], [&[0i32, 0, 2], &[0, 2, 1]], &[1.0, 2.0, 3.0])?.checked()?;
    /// assert_eq!(a.format.to_string(), "{nonunique, singleton}");
    /// # Ok::<(), fiberloom_core::format::Malformed>(())
    /// ```
    ///
    /// # Errors
    /// No mode; not an array of coordinates for each mode; arrays whose lengths or types do not fit.
    pub fn coo<A: Into<Array<'a>>>(
        extents: impl Into<Vec<u64>>,
        coordinates: impl IntoIterator<Item = A>,
        values: impl Into<Array<'a>>,
    ) -> Result<Tensor<'a>, Malformed> {
        let (extents, values) = (extents.into(), values.into());
        let pos = match i32::try_from(values.len()) {
            Ok(n) => Array::from(vec![0, n]),
            Err(_) => Array::from(vec![0, values.len() as i64]),
        };
        let mut columns = coordinates.into_iter().map(Into::into);
        let Some(crd) = columns.next() else {
            return Err(wrong(None, "a list of entries has one mode or more, each with its coordinates".to_string()));
        };
        let first = match extents.len() {
            1 => Level::Compressed { pos, crd },
            _ => Level::Nonunique { pos, crd },
        };
        let levels: Vec<Level> = [first].into_iter().chain(columns.map(|crd| Level::Singleton { crd })).collect();
        let order: Vec<usize> = (0..levels.len()).collect();
        Tensor::from_levels(extents, order, levels, values)
    }

    /// A dense vector, as long as the array.
    ///
    /// # Errors
    /// None so far: every array is one.
    pub fn vector(values: impl Into<Array<'a>>) -> Tensor<'a> {
        let values = values.into();
        let (extents, fill) = (vec![values.len() as u64], Value::zero(values.ty()));
        Tensor { extents, format: Format::dense(1), levels: vec![Level::Dense], values, fill }
    }

    /// A dense matrix, row by row.
    ///
    /// # Errors
    /// If there are not `rows · columns` values.
    pub fn matrix(rows: u64, columns: u64, values: impl Into<Array<'a>>) -> Result<Tensor<'a>, Malformed> {
        Tensor::from_levels([rows, columns], [0, 1], vec![Level::Dense, Level::Dense], values)
    }

    /// A tensor of these levels, outermost first; level l holds mode `order[l]`.
    ///
    /// # Errors
    /// If there are not as many levels, and places in the order, as extents; arrays whose lengths or types do not fit.
    pub fn from_levels(
        extents: impl Into<Vec<u64>>,
        order: impl Into<Vec<usize>>,
        levels: Vec<Level<'a>>,
        values: impl Into<Array<'a>>,
    ) -> Result<Tensor<'a>, Malformed> {
        let values = values.into();
        let kinds: Vec<LevelKind> = levels.iter().map(Level::kind).collect();
        let format = Format { levels: kinds.into(), order: order.into().into() };
        let fill = Value::zero(values.ty());
        let tensor = Tensor { extents: extents.into(), format, levels, values, fill };
        tensor.check_lengths()?;
        Ok(tensor)
    }

    /// The tensor with the same arrays and another fill value.
    ///
    /// # Errors
    /// A fill value of another type than the values'.
    pub fn with_fill(self, fill: impl Into<Value>) -> Result<Tensor<'a>, Malformed> {
        let fill = fill.into();
        if fill.ty() != self.values.ty() {
            let what = format!("values of type {} and a fill value of type {}", self.values.ty(), fill.ty());
            return Err(wrong(None, what));
        }
        Ok(Tensor { fill, ..self })
    }

    /// Checks those of [`Tensor::check`]'s rules that need no element of an array but the last.
    fn check_lengths(&self) -> Result<(), Malformed> {
        self.check_shape()?;
        let mut positions = 1;
        for l in 0..self.levels.len() {
            positions = self.positions_of(l, positions)?;
        }
        if self.values.len() as u64 != positions {
            let values = counted(self.values.len(), "value", "values");
            let positions = counted(positions, "position", "positions");
            return Err(wrong(None, format!("{values} for {positions} of the last level")));
        }
        Ok(())
    }

    /// The number of positions of level `l` below this many positions.
    fn positions_of(&self, l: usize, parents: u64) -> Result<u64, Malformed> {
        let (extent, level, mut positions) = (self.level_extent(l), &self.levels[l], parents);
        let product = |a: u64, b: u64| {
            let fits = a.checked_mul(b).filter(|n| *n <= i64::MAX as u64);
            fits.ok_or_else(|| wrong(Some(l), "the number of positions does not fit 63 bits".to_string()))
        };
        let mut fibers = false;
        for step in self.format.levels[l].steps() {
            positions = match *step {
                Step::Spread => product(positions, extent)?,
                Step::Times(each) => product(positions, each)?,
                Step::Triangles => {
                    let each = triangle::positions(extent).unwrap_or(u64::MAX);
                    product(positions.checked_div(extent).unwrap_or(0), each)?
                }
                Step::Bits(name) => {
                    length(l, (name, level), positions.div_ceil(64))?;
                    positions
                }
                Step::Fibers(name) => {
                    let pos = length(l, (name, level), positions.saturating_add(1))?;
                    fibers = true;
                    pos.len().checked_sub(1).map_or(0, |end| pos.index(end).max(0) as u64)
                }
                // An array below `pos` determines its own length: counting its elements would need a look at `pos`.
                Step::Each(name) if fibers => length(l, (name, level), level.named(name).len() as u64)?.len() as u64,
                Step::Each(name) => {
                    length(l, (name, level), positions)?;
                    positions
                }
                Step::Any(_) => positions,
            };
        }
        Ok(positions)
    }
}

fn wrong(level: Option<usize>, what: String) -> Malformed {
    Malformed { level, position: 0, what }
}

/// A level's array of this name, checked for its length, and for an index type if it holds positions or coordinates.
fn length<'l, 'a>(l: usize, (name, level): (&str, &'l Level<'a>), n: u64) -> Result<&'l Array<'a>, Malformed> {
    let array = level.named(name);
    let holds = level.holding().find_map(|(own, holds)| std::ptr::eq(own, array).then_some(holds));
    if holds.is_some_and(|holds| holds.ty().is_none()) && !matches!(array.ty(), Type::I32 | Type::I64) {
        return Err(wrong(Some(l), format!("{name} is of type {}, i32 or i64 expected", array.ty())));
    }
    if array.len() as u64 == n {
        return Ok(array);
    }
    let elements = counted(array.len(), "element", "elements");
    Err(wrong(Some(l), format!("{name} has {elements}, {n} expected")))
}
