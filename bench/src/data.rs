//! Data: seeded, so that every run has the same.

use fiberloom::{Array, Format, Level, Tensor, Type, Value};
use std::borrow::Cow;

/// A matrix in compressed rows.
#[derive(Clone, Debug)]
pub struct Csr {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// One more than rows.
    pub pos: Vec<i32>,
    /// Ascending in each row.
    pub crd: Vec<i32>,
    /// One a coordinate.
    pub vals: Vec<f64>,
}

/// The matrix families, by name.
pub const FAMILIES: [&str; 4] = ["uniform", "rmat", "stencil", "banded"];

/// A small generator of random numbers: xorshift64*.
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.next() >> 32) as usize * n) >> 32
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A square matrix of a family with about `size` nonzeros, ten a row where the family leaves it open.
pub fn matrix(family: &str, size: usize, seed: u64) -> Csr {
    let n = (size / 10).max(4);
    let mut r = Random::new(seed);
    let mut places: Vec<(i32, i32)> = match family {
        "uniform" => (0..size).map(|_| (r.below(n) as i32, r.below(n) as i32)).collect(),
        "rmat" => (0..size).map(|_| rmat(&mut r, n)).collect(),
        "stencil" => stencil(size),
        _ => (0..n as i32)
            .flat_map(|i| (i - 5..i + 5).map(move |j| (i, j)))
            .filter(|(_, j)| (0..n as i32).contains(j))
            .collect(),
    };
    places.sort_unstable();
    places.dedup();
    let n = if family == "stencil" { places.last().map_or(1, |p| p.0 as usize + 1) } else { n };
    from_places(n, n, &places, &mut r)
}

fn from_places(rows: usize, cols: usize, places: &[(i32, i32)], r: &mut Random) -> Csr {
    let mut pos = vec![0; rows + 1];
    for (i, _) in places {
        pos[*i as usize + 1] += 1;
    }
    for i in 0..rows {
        pos[i + 1] += pos[i];
    }
    let crd = places.iter().map(|p| p.1).collect();
    let vals = places.iter().map(|_| r.unit() - 0.5).collect();
    Csr { rows, cols, pos, crd, vals }
}

/// R-MAT with the usual quadrants 0.57, 0.19, 0.19, 0.05.
fn rmat(r: &mut Random, n: usize) -> (i32, i32) {
    loop {
        let (mut i, mut j) = (0, 0);
        for _ in 0..usize::BITS - (n - 1).leading_zeros() {
            let x = r.unit();
            let (down, right) = (x >= 0.76, (0.57..0.76).contains(&x) || x >= 0.95);
            (i, j) = (2 * i + down as usize, 2 * j + right as usize);
        }
        if i < n && j < n {
            return (i as i32, j as i32);
        }
    }
}

/// The seven-point stencil of a cube.
fn stencil(size: usize) -> Vec<(i32, i32)> {
    let side = ((size / 7) as f64).cbrt().ceil().max(2.0) as i32;
    let at = |x: i32, y: i32, z: i32| (x * side + y) * side + z;
    let mut places = Vec::new();
    for (x, y, z) in (0..side).flat_map(|x| (0..side).flat_map(move |y| (0..side).map(move |z| (x, y, z)))) {
        for (dx, dy, dz) in [(0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)] {
            let (a, b, c) = (x + dx, y + dy, z + dz);
            if [a, b, c].into_iter().all(|v| (0..side).contains(&v)) {
                places.push((at(x, y, z), at(a, b, c)));
            }
        }
    }
    places
}

/// A partner that shares about half of a matrix's entries, at unpredictable places.
pub fn partner(m: &Csr, seed: u64) -> Csr {
    let mut r = Random::new(seed);
    let mut places = Vec::new();
    for i in 0..m.rows {
        for p in m.pos[i] as usize..m.pos[i + 1] as usize {
            let j = if r.below(2) == 0 { m.crd[p] } else { r.below(m.cols) as i32 };
            places.push((i as i32, j));
        }
    }
    places.sort_unstable();
    places.dedup();
    from_places(m.rows, m.cols, &places, &mut r)
}

/// A dense array of random numbers.
pub fn dense(len: usize, seed: u64) -> Vec<f64> {
    let mut r = Random::new(seed);
    (0..len).map(|_| r.unit() - 0.5).collect()
}

/// A tensor of order 3, all levels compressed: the matrix's columns split in two modes.
#[derive(Clone, Debug)]
pub struct Csf {
    /// Extents of the three modes.
    pub extents: [usize; 3],
    /// Positions of each level.
    pub pos: [Vec<i32>; 3],
    /// Coordinates of each level.
    pub crd: [Vec<i32>; 3],
    /// One a coordinate of the last level.
    pub vals: Vec<f64>,
}

/// The matrix with its columns j as (j / width, j % width).
pub fn tensor(m: &Csr, width: usize) -> Csf {
    let mut t = Csf {
        extents: [m.rows, m.cols.div_ceil(width), width],
        pos: [vec![0], vec![0], vec![0]],
        crd: Default::default(),
        vals: m.vals.clone(),
    };
    for i in 0..m.rows {
        let row = m.pos[i] as usize..m.pos[i + 1] as usize;
        if row.is_empty() {
            continue;
        }
        let mut last = -1;
        for p in row {
            let (k, l) = (m.crd[p] / width as i32, m.crd[p] % width as i32);
            if k != last {
                if last >= 0 {
                    t.pos[2].push(t.crd[2].len() as i32);
                }
                t.crd[1].push(k);
                last = k;
            }
            t.crd[2].push(l);
        }
        t.pos[2].push(t.crd[2].len() as i32);
        t.crd[0].push(i as i32);
        t.pos[1].push(t.crd[1].len() as i32);
    }
    t.pos[0].push(t.crd[0].len() as i32);
    t
}

fn level<'a>(pos: &'a [i32], crd: &'a [i32]) -> Level<'a> {
    Level::Compressed { pos: Array::I32(Cow::Borrowed(pos)), crd: Array::I32(Cow::Borrowed(crd)) }
}

impl Csr {
    /// Borrowed as a tensor.
    pub fn tensor(&self) -> Tensor<'_> {
        Tensor {
            extents: vec![self.rows as u64, self.cols as u64],
            format: Format::named("csr", 2).expect("csr is a format of matrices"),
            levels: vec![Level::Dense, level(&self.pos, &self.crd)],
            values: Array::F64(Cow::Borrowed(&self.vals)),
            fill: Value::zero(Type::F64),
        }
    }
}

impl Csf {
    /// Borrowed as a tensor.
    pub fn tensor(&self) -> Tensor<'_> {
        Tensor {
            extents: self.extents.iter().map(|n| *n as u64).collect(),
            format: Format::csf(3),
            levels: (0..3).map(|l| level(&self.pos[l], &self.crd[l])).collect(),
            values: Array::F64(Cow::Borrowed(&self.vals)),
            fill: Value::zero(Type::F64),
        }
    }
}

/// A dense tensor that borrows its values.
pub fn borrowed<'a>(extents: &[usize], values: &'a [f64]) -> Tensor<'a> {
    Tensor {
        extents: extents.iter().map(|n| *n as u64).collect(),
        format: Format::dense(extents.len()),
        levels: vec![Level::Dense; extents.len()],
        values: Array::F64(Cow::Borrowed(values)),
        fill: Value::zero(Type::F64),
    }
}
