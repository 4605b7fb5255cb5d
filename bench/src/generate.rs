//! Matrices of four kinds, made from a seed: the same ones on every machine; and what kernels read beside them.

use crate::arrays::{Arrays, Compressed};

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
    pub fn matrix(self, nonzeros: usize, seed: u64) -> Arrays {
        let mut random = Random::new(seed);
        match self {
            Kind::Uniform => {
                let n = nonzeros / 10;
                let row = |_, random: &mut Random| (0..10).map(|_| random.below(n)).collect();
                of_rows(n, &mut random, row)
            }
            Kind::PowerLaw => power_law(nonzeros, &mut random),
            Kind::Stencil => stencil(nonzeros, &mut random),
            Kind::Banded => {
                let n = nonzeros / 15;
                let row = |i: usize, _: &mut Random| (i.saturating_sub(7)..(i + 8).min(n)).collect();
                of_rows(n, &mut random, row)
            }
        }
    }
}

fn power_law(nonzeros: usize, random: &mut Random) -> Arrays {
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
    of_rows(n, random, |i, _| std::mem::take(&mut rows[i]))
}

fn stencil(nonzeros: usize, random: &mut Random) -> Arrays {
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
    of_rows(side * side * side, random, row)
}

/// A square matrix whose rows have these columns, in any order, duplicates once; values between -1 and 1.
fn of_rows(n: usize, random: &mut Random, mut row: impl FnMut(usize, &mut Random) -> Vec<usize>) -> Arrays {
    let (mut pos, mut crd) = (vec![0], Vec::new());
    for i in 0..n {
        let mut columns = row(i, random);
        columns.sort_unstable();
        columns.dedup();
        crd.extend(columns.into_iter().map(|j| j as i32));
        pos.push(crd.len() as i32);
    }
    let values = (0..crd.len()).map(|_| random.value()).collect();
    Arrays::csr([n, n], pos, crd, values)
}

/// Another matrix of the same extents: about half of its entries are at the same places, the others anywhere, so that a
/// merge cannot foresee which comes next.
pub fn partner(matrix: &Arrays, seed: u64) -> Arrays {
    let mut random = Random::new(seed);
    let a = matrix.rows();
    let row = |i: usize, random: &mut Random| {
        let columns = &a.crd[a.pos[i] as usize..a.pos[i + 1] as usize];
        columns.iter().map(|j| if random.below(2) == 0 { *j as usize } else { random.below(a.columns) }).collect()
    };
    of_rows(a.rows, &mut random, row)
}

/// The same places, with whole numbers from -4 to 4.
pub fn whole(mut arrays: Arrays) -> Arrays {
    arrays.values.iter_mut().for_each(|x| *x = (*x * 4.0).round());
    arrays
}

/// A picture with about so many places that are not black, and its upper half as a region of interest: ellipses that overlap, each
/// with a grey value of its own, as in a head that magnetic resonance shows.
pub fn picture(entries: usize, seed: u64) -> [Arrays; 2] {
    let mut random = Random::new(seed);
    // Half of it is a head.
    let size = ((2 * entries) as f64).sqrt().ceil().max(4.0) as usize;
    let mut between = |lo: f64, hi: f64| lo + (hi - lo) * (random.value() + 1.0) / 2.0;
    let head = [0.0, 0.0, 0.92, 0.69, 0.5];
    let inside: Vec<[f64; 5]> = (0..24)
        .map(|_| [between(-0.6, 0.6), between(-0.4, 0.4), between(0.02, 0.3), between(0.02, 0.3), between(-0.1, 0.2)])
        .collect();
    let place = |n: usize| (2 * n + 1) as f64 / size as f64 - 1.0;
    let grey = |i: usize, j: usize| -> f64 {
        let holds = |[y, x, a, b, _]: &[f64; 5]| ((place(i) - y) / a).powi(2) + ((place(j) - x) / b).powi(2) <= 1.0;
        if !holds(&head) {
            return 0.0;
        }
        let sum: f64 = inside.iter().chain([&head]).filter(|e| holds(e)).map(|e| e[4]).sum();
        sum.clamp(0.01, 1.0)
    };
    let drawn = |value: &dyn Fn(usize, usize) -> f64| {
        let (mut pos, mut crd, mut values) = (vec![0], vec![], vec![]);
        for i in 0..size {
            let row = (0..size).map(|j| (j as i32, value(i, j))).filter(|(_, x)| *x != 0.0);
            row.for_each(|(j, x)| {
                crd.push(j);
                values.push(x);
            });
            pos.push(crd.len() as i32);
        }
        Arrays::csr([size, size], pos, crd, values)
    };
    [drawn(&grey), drawn(&|i, _| (2 * i < size) as u8 as f64)]
}

/// The upper and the lower half of a matrix.
pub fn above_and_below(matrix: &Arrays) -> [Arrays; 2] {
    let a = matrix.rows();
    [0..a.rows / 2, a.rows / 2..a.rows].map(|rows| some_rows(matrix, rows.collect()))
}

/// These rows of a matrix, in this order.
pub fn some_rows(matrix: &Arrays, rows: Vec<usize>) -> Arrays {
    let a = matrix.rows();
    let (mut pos, mut crd, mut values) = (vec![0], vec![], vec![]);
    for &i in &rows {
        let row = a.pos[i] as usize..a.pos[i + 1] as usize;
        crd.extend(&a.crd[row.clone()]);
        values.extend(&a.values[row]);
        pos.push(crd.len() as i32);
    }
    Arrays::csr([rows.len(), a.columns], pos, crd, values)
}

/// The left and the right half of a matrix.
pub fn left_and_right(matrix: &Arrays) -> [Arrays; 2] {
    let a = matrix.rows();
    [0..a.columns / 2, a.columns / 2..a.columns].map(|columns| {
        let (mut pos, mut crd, mut values) = (vec![0], vec![], vec![]);
        for i in 0..a.rows {
            for p in a.pos[i] as usize..a.pos[i + 1] as usize {
                let j = a.crd[p] as usize;
                if columns.contains(&j) {
                    crd.push((j - columns.start) as i32);
                    values.push(a.values[p]);
                }
            }
            pos.push(crd.len() as i32);
        }
        Arrays::csr([a.rows, columns.len()], pos, crd, values)
    })
}

/// The same matrix with each entry ten columns further, those of the last ten columns in the first, as the shape paper's
/// figure 26 has its second operands.
pub fn shifted(matrix: &Arrays) -> Arrays {
    let a = matrix.rows();
    let (mut crd, mut values) = (Vec::with_capacity(a.crd.len()), Vec::with_capacity(a.crd.len()));
    for i in 0..a.rows {
        let mut row: Vec<(i32, f64)> = (a.pos[i] as usize..a.pos[i + 1] as usize)
            .map(|p| (((a.crd[p] as usize + 10) % a.columns) as i32, a.values[p]))
            .collect();
        row.sort_unstable_by_key(|(j, _)| *j);
        crd.extend(row.iter().map(|(j, _)| j));
        values.extend(row.iter().map(|(_, value)| value));
    }
    Arrays::csr([a.rows, a.columns], a.pos.to_vec(), crd, values)
}

/// A matrix's rows one behind the other.
pub fn flat(matrix: &Arrays) -> Arrays {
    let a = matrix.rows();
    let row = |i: usize| (a.pos[i] as usize..a.pos[i + 1] as usize).map(move |p| i * a.columns + a.crd[p] as usize);
    let at: Vec<usize> = (0..a.rows).flat_map(row).collect();
    let (extent, pos) = (a.rows * a.columns, vec![0, at.len() as i32]);
    let level = if i32::try_from(extent).is_ok() {
        Compressed::new(pos, at.into_iter().map(|j| j as i32).collect())
    } else {
        Compressed::wide(pos, at.into_iter().map(|j| j as i64).collect())
    };
    Arrays::vector(extent, level, a.values.to_vec())
}

/// A tensor of three modes in `csf`: the matrix's entries, each with two coordinates of a third mode of 64.
pub fn third_mode(matrix: &Arrays, seed: u64) -> Arrays {
    let mut random = Random::new(seed);
    let a = matrix.rows();
    let empty = || Compressed::new(vec![0], vec![]);
    let mut levels = [empty(), empty(), empty()];
    for i in 0..a.rows {
        let row = a.pos[i] as usize..a.pos[i + 1] as usize;
        if row.is_empty() {
            continue;
        }
        levels[0].crd.push(i as i32);
        for p in row {
            levels[1].crd.push(a.crd[p]);
            levels[2].crd.extend([random.below(63) as i32, 63]);
            let end = levels[2].crd.len() as i32;
            levels[2].pos.push(end);
        }
        let end = levels[1].crd.len() as i32;
        levels[1].pos.push(end);
    }
    let end = levels[0].crd.len() as i32;
    levels[0].pos.push(end);
    let values = (0..levels[2].crd.len()).map(|_| random.value()).collect();
    Arrays { format: "csf", extents: vec![a.rows, a.columns, 64], levels: levels.map(Some).into(), values }
}

/// Two tensors in `csf` with about so many entries each, anywhere, at most half of the places; half of the first's places are the
/// second's too.
pub fn trees(extents: &[usize], entries: usize, seed: u64) -> [Arrays; 2] {
    let mut random = Random::new(seed);
    let places: usize = extents.iter().product();
    let drawn = |random: &mut Random, n: usize| (0..n).map(|_| random.below(places)).collect::<Vec<_>>();
    let first = drawn(&mut random, entries.min(places / 2));
    let mut second: Vec<usize> = first.iter().copied().filter(|_| random.below(2) == 0).collect();
    second.extend(drawn(&mut random, first.len() - second.len()));
    [first, second].map(|mut places| {
        places.sort_unstable();
        places.dedup();
        tree(extents, &places, &mut random)
    })
}

/// A tensor in `csf` with values between -1 and 1 at these places, ascending, numbered in the order of rows.
fn tree(extents: &[usize], places: &[usize], random: &mut Random) -> Arrays {
    // How many places are below a coordinate of each level.
    let below = |l: usize| extents[l + 1..].iter().product::<usize>();
    let mut parents = vec![0];
    let level = |l: usize| {
        let mut entries: Vec<usize> = places.iter().map(|place| place / below(l)).collect();
        entries.dedup();
        let begins = parents.iter().map(|parent| entries.partition_point(|e| e / extents[l] < *parent) as i32);
        let pos = begins.chain([entries.len() as i32]).collect();
        let crd = entries.iter().map(|e| (e % extents[l]) as i32).collect();
        parents = entries;
        Some(Compressed::new(pos, crd))
    };
    let levels = (0..extents.len()).map(level).collect();
    let values = places.iter().map(|_| random.value()).collect();
    Arrays { format: "csf", extents: extents.to_vec(), levels, values }
}

/// A dense array of values between -1 and 1.
pub fn dense(extents: &[usize], seed: u64) -> Arrays {
    let mut random = Random::new(seed);
    Arrays::dense(extents, (0..extents.iter().product()).map(|_| random.value()).collect())
}

/// A sparse vector in which every coordinate is there with a chance of one in `rarity`.
pub fn sparse(extent: usize, rarity: usize, seed: u64) -> Arrays {
    let mut random = Random::new(seed);
    let crd: Vec<i32> = (0..extent as i32).filter(|_| random.below(rarity) == 0).collect();
    let values = crd.iter().map(|_| random.value()).collect();
    Arrays::sparse(extent, crd, values)
}

/// Two sparse vectors with the matrix's columns row after row, gaps shortened to eight at most: the first has them all.
/// Of the second half are at the same coordinates, and the others within the gap before, or nowhere.
pub fn vectors(matrix: &Arrays, seed: u64) -> [Arrays; 2] {
    let mut random = Random::new(seed);
    let (mut first, mut second) = (vec![], vec![]);
    let (mut at, mut before) = (-1, -1);
    for &j in matrix.rows().crd {
        let gap = if j > before { (j - before).min(8) } else { 1 };
        (at, before) = (at + gap, j);
        first.push(at);
        if random.below(2) == 0 {
            second.push(at);
        } else if gap > 1 {
            second.push(at - 1 - random.below(gap as usize - 1) as i32);
        }
    }
    let extent = (at + 1) as usize;
    [first, second].map(|crd| {
        let values = crd.iter().map(|_| random.value()).collect();
        Arrays::sparse(extent, crd, values)
    })
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
            let [x, y] = vectors(&matrix, 4);
            let made = [partner(&matrix, 2), third_mode(&matrix, 3), x, y, sparse(1000, 10, 5), dense(&[3, 4], 6)];
            let trees = trees(&[17, 9, 5, 11], 900, 7);
            trees.iter().for_each(|arrays| arrays.tensor().check().unwrap());
            let parts = [above_and_below(&matrix), left_and_right(&matrix), [shifted(&matrix), flat(&matrix)]].concat();
            made.iter().chain(&parts).chain([&matrix]).for_each(|arrays| arrays.tensor().check().unwrap());
            assert!((5_000..=12_000).contains(&matrix.values.len()), "{}: {}", kind.name(), matrix.values.len());
        }
    }
}
