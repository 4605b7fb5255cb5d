//! Matrices of four kinds, made from a seed: the same ones on every machine.

use fiberloom::{Array, Format, Level, Tensor, Type, Value};

/// A matrix in compressed rows with 32-bit positions and coordinates.
#[derive(Clone, Debug)]
pub struct Csr {
    /// Number of rows and columns.
    pub extents: [usize; 2],
    /// Where each row begins.
    pub pos: Vec<i32>,
    /// Columns, ascending within a row.
    pub crd: Vec<i32>,
    /// Values.
    pub values: Vec<f64>,
}

/// Where the nonzeros are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Ten a row, anywhere.
    Uniform,
    /// R-MAT (Chakrabarti, Zhan, Faloutsos, *R-MAT: A Recursive Model for Graph Mining*, SDM 2004), with the
    /// probabilities 0.57, 0.19, 0.19, 0.05: few rows hold most.
    PowerLaw,
    /// The seven-point stencil of a cube.
    Stencil,
    /// Fifteen diagonals beside each other.
    Banded,
}

/// All kinds.
pub const KINDS: [Kind; 4] = [Kind::Uniform, Kind::PowerLaw, Kind::Stencil, Kind::Banded];

impl Kind {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Uniform => "uniform",
            Kind::PowerLaw => "power-law",
            Kind::Stencil => "stencil",
            Kind::Banded => "banded",
        }
    }

    /// A square matrix of about this many nonzeros.
    pub fn matrix(self, nonzeros: usize, seed: u64) -> Csr {
        let mut random = Random::new(seed);
        match self {
            Kind::Uniform => {
                let n = nonzeros / 10;
                let row = |_, random: &mut Random| (0..10).map(|_| random.below(n)).collect();
                Csr::of_rows(n, &mut random, row)
            }
            Kind::PowerLaw => power_law(nonzeros, &mut random),
            Kind::Stencil => stencil(nonzeros, &mut random),
            Kind::Banded => {
                let n = nonzeros / 15;
                let row = |i: usize, _: &mut Random| (i.saturating_sub(7)..(i + 8).min(n)).collect();
                Csr::of_rows(n, &mut random, row)
            }
        }
    }
}

fn power_law(nonzeros: usize, random: &mut Random) -> Csr {
    let levels = (nonzeros / 8).max(2).ilog2();
    let n = 1usize << levels;
    let mut rows = vec![Vec::new(); n];
    for _ in 0..nonzeros {
        let (mut i, mut j) = (0, 0);
        for _ in 0..levels {
            let (down, right) = match random.below(100) {
                0..57 => (0, 0),
                57..76 => (0, 1),
                76..95 => (1, 0),
                _ => (1, 1),
            };
            (i, j) = (2 * i + down, 2 * j + right);
        }
        rows[i].push(j);
    }
    Csr::of_rows(n, random, |i, _| std::mem::take(&mut rows[i]))
}

fn stencil(nonzeros: usize, random: &mut Random) -> Csr {
    let side = ((nonzeros as f64 / 7.0).cbrt().round() as usize).max(2);
    let row = |at: usize, _: &mut Random| {
        let mut columns = vec![at];
        for stride in [1, side, side * side] {
            let c = at / stride % side;
            columns.extend((c > 0).then(|| at - stride));
            columns.extend((c + 1 < side).then(|| at + stride));
        }
        columns
    };
    Csr::of_rows(side * side * side, random, row)
}

impl Csr {
    /// A square matrix whose rows have these columns, in any order, duplicates once; values between -1 and 1.
    fn of_rows(n: usize, random: &mut Random, mut row: impl FnMut(usize, &mut Random) -> Vec<usize>) -> Csr {
        let (mut pos, mut crd) = (vec![0], Vec::new());
        for i in 0..n {
            let mut columns = row(i, random);
            columns.sort_unstable();
            columns.dedup();
            crd.extend(columns.into_iter().map(|j| j as i32));
            pos.push(crd.len() as i32);
        }
        let values = (0..crd.len()).map(|_| random.value()).collect();
        Csr { extents: [n, n], pos, crd, values }
    }

    /// Another matrix of the same extents: about half of its entries are at the same places, the others anywhere, so
    /// that a merge cannot foresee which comes next.
    pub fn partner(&self, seed: u64) -> Csr {
        let mut random = Random::new(seed);
        let n = self.extents[1];
        let row = |i: usize, random: &mut Random| {
            let columns = &self.crd[self.pos[i] as usize..self.pos[i + 1] as usize];
            columns.iter().map(|j| if random.below(2) == 0 { *j as usize } else { random.below(n) }).collect()
        };
        Csr::of_rows(self.extents[0], &mut random, row)
    }

    /// The matrix as a tensor in `csr` that borrows its arrays.
    pub fn tensor(&self) -> Tensor<'_> {
        Tensor {
            extents: self.extents.map(|e| e as u64).to_vec(),
            format: Format::named("csr", 2).expect("a format of matrices"),
            levels: vec![Level::Dense, compressed(&self.pos, &self.crd)],
            values: Array::from(&self.values[..]),
            fill: Value::zero(Type::F64),
        }
    }
}

/// A tensor of three modes, all compressed.
#[derive(Clone, Debug)]
pub struct Csf {
    /// Extent of each mode.
    pub extents: [usize; 3],
    /// Positions of each level.
    pub pos: [Vec<i32>; 3],
    /// Coordinates of each level.
    pub crd: [Vec<i32>; 3],
    /// Values.
    pub values: Vec<f64>,
}

impl Csf {
    /// The matrix's entries, each with two coordinates of a third mode of 64.
    pub fn of_matrix(matrix: &Csr, seed: u64) -> Csf {
        let mut random = Random::new(seed);
        let mut pos = [vec![0], vec![0], vec![0]];
        let mut crd = [vec![], vec![], vec![]];
        for i in 0..matrix.extents[0] {
            let row = matrix.pos[i] as usize..matrix.pos[i + 1] as usize;
            if row.is_empty() {
                continue;
            }
            crd[0].push(i as i32);
            for p in row {
                crd[1].push(matrix.crd[p]);
                let first = random.below(63) as i32;
                crd[2].extend([first, 63]);
                pos[2].push(crd[2].len() as i32);
            }
            pos[1].push(crd[1].len() as i32);
        }
        pos[0].push(crd[0].len() as i32);
        let values = (0..crd[2].len()).map(|_| random.value()).collect();
        Csf { extents: [matrix.extents[0], matrix.extents[1], 64], pos, crd, values }
    }

    /// The tensor in `csf`; it borrows its arrays.
    pub fn tensor(&self) -> Tensor<'_> {
        Tensor {
            extents: self.extents.map(|e| e as u64).to_vec(),
            format: Format::named("csf", 3).expect("a format of three modes"),
            levels: (0..3).map(|l| compressed(&self.pos[l], &self.crd[l])).collect(),
            values: Array::from(&self.values[..]),
            fill: Value::zero(Type::F64),
        }
    }
}

fn compressed<'a>(pos: &'a [i32], crd: &'a [i32]) -> Level<'a> {
    Level::Compressed { pos: Array::from(pos), crd: Array::from(crd) }
}

/// A dense array of values between -1 and 1.
pub fn dense(elements: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..elements).map(|_| random.value()).collect()
}

/// A dense array as a tensor that borrows it.
///
/// # Panics
/// If the extents' product is not its length.
pub fn dense_tensor<'a>(extents: &[usize], values: &'a [f64]) -> Tensor<'a> {
    let extents = extents.iter().map(|e| *e as u64).collect();
    Tensor::dense(extents, Value::zero(Type::F64), Array::from(values)).expect("as many values as the extents say")
}

/// SplitMix64 (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        ((self.next() as u128 * n as u128) >> 64) as usize
    }

    fn value(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_well_formed_and_about_as_large_as_asked() {
        for kind in KINDS {
            let matrix = kind.matrix(10_000, 1);
            matrix.tensor().check().unwrap();
            matrix.partner(2).tensor().check().unwrap();
            Csf::of_matrix(&matrix, 3).tensor().check().unwrap();
            assert!((5_000..=12_000).contains(&matrix.crd.len()), "{}: {}", kind.name(), matrix.crd.len());
        }
    }
}
