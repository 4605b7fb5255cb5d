//! Tensors as the arrays that every side computes from.
//!
//! ```text
//!                       ┌──▶ tensor(): fiberloom
//!  Arrays ──────────────┼──▶ rows(), csf(): loops by hand
//!                       └──▶ written to files: the peers' process
//! ```
//!
//! Invariant of all that `generate` makes: positions and coordinates are well-formed for the format and the extents.

use fiberloom::{Array, Elements, Format, Level, Tensor, Type, Value};
use std::sync::Arc;

/// A tensor in a named format, with 32-bit positions; coordinates of 64 bits where an extent needs them.
#[derive(Clone, Debug)]
pub struct Arrays {
    /// The format's name.
    pub format: &'static str,
    /// Extent of each mode.
    pub extents: Vec<usize>,
    /// In storage order; none of a dense level.
    pub levels: Vec<Option<Compressed>>,
    /// Values: a result of either side can have an operand's.
    pub values: Arc<Vec<f64>>,
}

/// A compressed level.
#[derive(Clone, Debug)]
pub struct Compressed {
    /// Where each fiber begins; of the second level of `coo`, which has none, nothing.
    pub pos: Vec<i32>,
    /// Coordinates, ascending within a fiber.
    pub crd: Vec<i32>,
    /// Coordinates of an extent beyond 2³¹; then `crd` has none.
    pub wide: Option<Vec<i64>>,
}

impl Compressed {
    /// A level with 32-bit coordinates.
    pub fn new(pos: Vec<i32>, crd: Vec<i32>) -> Compressed {
        Compressed { pos, crd, wide: None }
    }

    /// All coordinates in 64 bits.
    fn coordinates(&self) -> Vec<i64> {
        self.wide.clone().unwrap_or_else(|| self.crd.iter().map(|j| *j as i64).collect())
    }

    /// A level with 64-bit coordinates.
    pub fn wide(pos: Vec<i32>, crd: Vec<i64>) -> Compressed {
        Compressed { pos, crd: vec![], wide: Some(crd) }
    }
}

/// When arrays were there: what is put around them is not part of what loops take, on either side.
pub mod made {
    use std::cell::Cell;
    use std::time::Instant;

    thread_local! {
        static AT: Cell<Option<Instant>> = const { Cell::new(None) };
    }

    /// Arrays are there.
    pub(super) fn note() {
        AT.set(Some(Instant::now()));
    }

    /// When the last were there since this was asked; now, if none were.
    pub fn at() -> Instant {
        AT.take().unwrap_or_else(Instant::now)
    }
}

/// A matrix in compressed rows, or a transposed one in compressed columns.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Where each row begins.
    pub pos: &'a [i32],
    /// Columns.
    pub crd: &'a [i32],
    /// Values.
    pub values: &'a [f64],
}

/// A tensor of three compressed levels.
#[derive(Clone, Copy)]
pub struct Csf<'a> {
    /// Extent of each mode.
    pub extents: [usize; 3],
    /// Positions of each level.
    pub pos: [&'a [i32]; 3],
    /// Coordinates of each level.
    pub crd: [&'a [i32]; 3],
    /// Values.
    pub values: &'a [f64],
}

impl Arrays {
    /// A dense array.
    pub fn dense(extents: &[usize], values: Vec<f64>) -> Arrays {
        made::note();
        Arrays { format: "dense", extents: extents.to_vec(), levels: vec![None; extents.len()], values: values.into() }
    }

    /// A matrix in compressed rows.
    pub fn csr(extents: [usize; 2], pos: Vec<i32>, crd: Vec<i32>, values: Vec<f64>) -> Arrays {
        made::note();
        let levels = vec![None, Some(Compressed::new(pos, crd))];
        Arrays { format: "csr", extents: extents.to_vec(), levels, values: values.into() }
    }

    /// A vector of one compressed level.
    pub fn sparse(extent: usize, crd: Vec<i32>, values: Vec<f64>) -> Arrays {
        Arrays::vector(extent, Compressed::new(vec![0, crd.len() as i32], crd), values)
    }

    /// A vector of one compressed level.
    pub fn vector(extent: usize, level: Compressed, values: Vec<f64>) -> Arrays {
        made::note();
        Arrays { format: "sparse", extents: vec![extent], levels: vec![Some(level)], values: values.into() }
    }

    /// A matrix as a list of its entries, in the order of rows.
    pub fn coo(extents: [usize; 2], rows: Vec<i32>, columns: Vec<i32>, values: Vec<f64>) -> Arrays {
        made::note();
        let first = Compressed::new(vec![0, rows.len() as i32], rows);
        let levels = vec![Some(first), Some(Compressed::new(vec![], columns))];
        Arrays { format: "coo", extents: extents.to_vec(), levels, values: values.into() }
    }

    /// The same matrix's arrays read as compressed columns: its transpose.
    pub fn as_columns(mut self) -> Arrays {
        self.extents.reverse();
        Arrays { format: "csc", ..self }
    }

    /// A matrix in compressed rows as a list of its entries, `coo`.
    ///
    /// # Panics
    /// If it is none.
    pub fn as_list(&self) -> Arrays {
        let Rows { rows, pos, crd, values, .. } = self.rows();
        let row = |i: usize| std::iter::repeat_n(i as i32, (pos[i + 1] - pos[i]) as usize);
        let listed = (0..rows).flat_map(row).collect();
        Arrays::coo([self.extents[0], self.extents[1]], listed, crd.to_vec(), values.to_vec())
    }

    /// The same with the values of another.
    pub fn with_values_of(self, other: &Arrays) -> Arrays {
        Arrays { values: other.values.clone(), ..self }
    }

    /// A tensor that borrows the levels' arrays, and shares the values.
    ///
    /// # Panics
    /// If the format is none of this rank.
    pub fn tensor(&self) -> Tensor<'_> {
        let is_list = self.format == "coo";
        let levels = self.levels.iter().enumerate().map(|(l, level)| {
            let Some(Compressed { pos, crd, wide }) = level else { return Level::Dense };
            let (pos, crd) =
                (Array::from(&pos[..]), wide.as_ref().map_or(Array::from(&crd[..]), |w| Array::from(&w[..])));
            match (is_list, l) {
                (true, 0) => Level::Nonunique { pos, crd },
                (true, _) => Level::Singleton { crd },
                (false, _) => Level::Compressed { pos, crd },
            }
        });
        Tensor {
            extents: self.extents.iter().map(|e| *e as u64).collect(),
            format: Format::named(self.format, self.extents.len()).expect("a format of this rank"),
            levels: levels.collect(),
            values: Array::F64(Elements::Counted(self.values.clone())),
            fill: Value::zero(Type::F64),
        }
    }

    /// A view of a matrix whose second level is compressed.
    ///
    /// # Panics
    /// If it is none.
    pub fn rows(&self) -> Rows<'_> {
        let [outer, inner] = self.extents[..] else { panic!("{} is no matrix", self.format) };
        let (rows, columns) = if self.format == "csc" { (inner, outer) } else { (outer, inner) };
        let level = self.level(1);
        Rows { rows, columns, pos: &level.pos, crd: &level.crd, values: &self.values }
    }

    /// A matrix in compressed rows without its entries that are 0; another format as it stands.
    pub fn without_zeros(&self) -> Arrays {
        if self.format != "csr" || self.values.iter().all(|x| *x != 0.0) {
            return self.clone();
        }
        let Rows { rows, columns, pos, values, .. } = self.rows();
        let (all, kept) = (self.level(1).coordinates(), |p: &usize| values[*p] != 0.0);
        let row = |i: usize| (pos[i] as usize..pos[i + 1] as usize).filter(kept);
        let ends = (0..rows).scan(0, |end, i| {
            *end += row(i).count() as i32;
            Some(*end)
        });
        let pos = [0].into_iter().chain(ends).collect();
        let (crd, values) = (0..rows).flat_map(row).map(|p| (all[p] as i32, values[p])).unzip();
        Arrays::csr([rows, columns], pos, crd, values)
    }

    /// A view of three compressed levels.
    ///
    /// # Panics
    /// If there are none.
    pub fn csf(&self) -> Csf<'_> {
        let [a, b, c] = [0, 1, 2].map(|l| self.level(l));
        let extents = self.extents[..].try_into().expect("three modes");
        Csf { extents, pos: [&a.pos, &b.pos, &c.pos], crd: [&a.crd, &b.crd, &c.crd], values: &self.values }
    }

    /// A compressed level.
    ///
    /// # Panics
    /// If level `l` is not compressed.
    pub fn level(&self, l: usize) -> &Compressed {
        self.levels[l].as_ref().expect("a compressed level")
    }

    /// The arrays of a tensor, which are copied.
    ///
    /// # Errors
    /// A type that the peers do not have: positions beyond 32 bits, values that are no `f64`.
    pub fn of(tensor: &Tensor, format: &'static str) -> Result<Arrays, String> {
        let made = |pos: Vec<i32>, crd: &Array| match crd {
            Array::I32(v) => Ok(Some(Compressed::new(pos, v.to_vec()))),
            Array::I64(v) => Ok(Some(Compressed::wide(pos, v.to_vec()))),
            other => Err(format!("coordinates of type {}", other.ty())),
        };
        let level = |level: &Level| match level {
            Level::Dense => Ok(None),
            Level::Compressed { pos, crd } | Level::Nonunique { pos, crd } => made(narrow(pos)?, crd),
            Level::Singleton { crd } => made(vec![], crd),
            _ => Err(format!("a level of format {format} that the peers do not have")),
        };
        let Array::F64(values) = &tensor.values else { return Err(format!("values of type {}", tensor.values.ty())) };
        Ok(Arrays {
            format,
            extents: tensor.extents.iter().map(|e| *e as usize).collect(),
            levels: tensor.levels.iter().map(level).collect::<Result<_, String>>()?,
            values: values.to_vec().into(),
        })
    }

    /// Whether another has the same structure, and values that are near: sums of up to a thousand terms between -1 and 1
    /// are added in any order.
    ///
    /// # Errors
    /// The first difference.
    pub fn agrees(&self, other: &Arrays) -> Result<(), String> {
        if self.levels.len() != other.levels.len() {
            return Err(format!("{} levels and {}", self.levels.len(), other.levels.len()));
        }
        for (l, levels) in self.levels.iter().zip(&other.levels).enumerate() {
            match levels {
                (None, None) => {}
                (Some(a), Some(b)) => {
                    first_difference(&format!("positions of level {l}"), &a.pos, &b.pos, |a, b| a == b)?;
                    first_difference(
                        &format!("coordinates of level {l}"),
                        &a.coordinates(),
                        &b.coordinates(),
                        |a, b| a == b,
                    )?;
                }
                _ => return Err(format!("level {l} is dense on one side only")),
            }
        }
        first_difference("values", &self.values, &other.values, |a, b| {
            a == b || (a - b).abs() <= 1e-9 * (1.0 + a.abs())
        })
    }
}

/// Positions, which fit 32 bits whatever they are stored in.
fn narrow(array: &Array) -> Result<Vec<i32>, String> {
    match array {
        Array::I32(v) => Ok(v.to_vec()),
        Array::I64(v) => v.iter().map(|p| i32::try_from(*p).map_err(|_| format!("position {p}"))).collect(),
        other => Err(format!("positions of type {}", other.ty())),
    }
}

fn first_difference<T: Copy + std::fmt::Display>(
    what: &str,
    a: &[T],
    b: &[T],
    same: impl Fn(T, T) -> bool,
) -> Result<(), String> {
    if a.len() != b.len() {
        return Err(format!("{} {what} and {}", a.len(), b.len()));
    }
    match a.iter().zip(b).position(|(a, b)| !same(*a, *b)) {
        None => Ok(()),
        Some(p) => Err(format!("{what}, element {p}: {} and {}", a[p], b[p])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_found_and_named() {
        let a = Arrays::csr([1, 3], vec![0, 2], vec![0, 2], vec![1.0, 2.0]);
        let mut b = a.clone();
        assert_eq!(a.agrees(&b), Ok(()));
        Arc::make_mut(&mut b.values)[1] += 1e-6;
        assert_eq!(a.agrees(&b).unwrap_err(), "values, element 1: 2 and 2.000001");
        b.levels[1].as_mut().unwrap().crd[0] = 1;
        assert_eq!(a.agrees(&b).unwrap_err(), "coordinates of level 1, element 0: 0 and 1");
        Arc::make_mut(&mut b.values).pop();
        assert!(a.agrees(&Arrays { levels: a.levels.clone(), ..b }).unwrap_err().contains("2 values and 1"));
        assert!(Arrays::of(&a.tensor(), "csr").unwrap().agrees(&a).is_ok());
    }
}
