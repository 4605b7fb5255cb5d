//! Matrices of some kinds, made from a seed: the same ones on every machine; and what kernels read beside them.

pub mod pictures;

use crate::arrays::{Arrays, Compressed};
use std::collections::BTreeSet;
use std::sync::Arc;

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
    /// Three full blocks of eight by eight to a row of blocks, as finite elements make them.
    Blocked,
    /// A graph of so many edges: those of R-MAT, each in both directions, without weights.
    Graph,
    /// The same, each edge once, from the higher number to the lower.
    Lower,
    /// A graph of so many edges, each in both directions, without weights, whose degrees follow a power law (Chung, Lu, *The
    /// average distances in random graphs with given expected degrees*, PNAS 2002) with the exponent 2.1, about that of the
    /// Internet's (Faloutsos, Faloutsos, Faloutsos, *On Power-Law Relationships of the Internet Topology*, SIGCOMM 1999): a few
    /// hubs meet a large part of all others, which meet a few.
    Hubs,
    /// A picture of so many pixels, of which so many percent are not black, anywhere.
    Noise(u8),
    /// A picture of so many pixels: ellipses drawn with a pen.
    Sketch,
    /// Drawn pictures of 28 by 28 pixels, so many pixels in all, a picture a row.
    Digits,
    /// The same of clothes (Xiao, Rasul, Vollgraf, *Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning
    /// Algorithms*, 2017): photographs, where they are installed.
    Clothes,
}

/// The kinds of matrix that kernels of matrices are measured on.
pub const KINDS: [Kind; 4] = [Kind::Uniform, Kind::PowerLaw, Kind::Stencil, Kind::Banded];

/// All kinds.
pub const ALL: [Kind; 15] = [
    Kind::Uniform,
    Kind::PowerLaw,
    Kind::Stencil,
    Kind::Banded,
    Kind::Blocked,
    Kind::Graph,
    Kind::Lower,
    Kind::Hubs,
    Kind::Noise(1),
    Kind::Noise(2),
    Kind::Noise(5),
    Kind::Noise(10),
    Kind::Sketch,
    Kind::Digits,
    Kind::Clothes,
];

impl Kind {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Uniform => "uniform",
            Kind::PowerLaw => "power-law",
            Kind::Stencil => "stencil",
            Kind::Banded => "banded",
            Kind::Blocked => "blocked",
            Kind::Graph => "graph",
            Kind::Lower => "lower",
            Kind::Hubs => "hubs",
            Kind::Noise(1) => "noise-1",
            Kind::Noise(2) => "noise-2",
            Kind::Noise(5) => "noise-5",
            Kind::Noise(10) => "noise-10",
            Kind::Noise(_) => "noise",
            Kind::Sketch => "sketch",
            Kind::Digits => "digits",
            Kind::Clothes => "clothes",
        }
    }

    /// A matrix of about this many nonzeros, square unless it is of pictures; of these, of about so many pixels.
    ///
    /// # Errors
    /// Photographs that are not there.
    pub fn matrix(self, nonzeros: usize, seed: u64) -> Result<Arrays, String> {
        let mut random = Random::new(seed);
        Ok(match self {
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
            Kind::Blocked => blocked(nonzeros, &mut random),
            Kind::Graph => r_mat_graph(nonzeros, true, &mut random),
            Kind::Lower => r_mat_graph(nonzeros, false, &mut random),
            Kind::Hubs => hubs(nonzeros, &mut random),
            Kind::Noise(percent) => pictures::noise(nonzeros, percent, &mut random),
            Kind::Sketch => pictures::sketch(nonzeros, &mut random),
            Kind::Digits => pictures::digits(nonzeros, &mut random),
            Kind::Clothes => pictures::clothes(nonzeros)?,
        })
    }
}

fn power_law(nonzeros: usize, random: &mut Random) -> Arrays {
    let levels = (nonzeros / 8).max(2).ilog2();
    let mut rows = vec![Vec::new(); 1 << levels];
    for _ in 0..nonzeros {
        let (i, j) = r_mat(levels, random);
        rows[i].push(j);
    }
    of_rows(1 << levels, random, |i, _| std::mem::take(&mut rows[i]))
}

/// A place in a matrix of 2 to the `levels` rows.
fn r_mat(levels: u32, random: &mut Random) -> (usize, usize) {
    (0..levels).fold((0, 0), |(i, j), _| {
        let (down, right) = match random.below(100) {
            0..57 => (0, 0),
            57..76 => (0, 1),
            76..95 => (1, 0),
            _ => (1, 1),
        };
        (2 * i + down, 2 * j + right)
    })
}

fn r_mat_graph(edges: usize, mirrored: bool, random: &mut Random) -> Arrays {
    let levels = (edges / 8).max(2).ilog2();
    let ends = |random: &mut Random| r_mat(levels, random);
    graph((1 << levels, edges), mirrored, ends, random)
}

fn hubs(edges: usize, random: &mut Random) -> Arrays {
    /// That vertex i, counted from 1, is met is as likely as i to the power of -1 / (EXPONENT - 1).
    const EXPONENT: f64 = 2.1;
    let n = (edges / 10).max(2);
    let mut numbers: Vec<usize> = (0..n).collect();
    (1..n).for_each(|i| numbers.swap(i, random.below(i + 1)));
    // The sum of these weights up to i grows as i to this power.
    let power = (EXPONENT - 2.0) / (EXPONENT - 1.0);
    let vertex = |random: &mut Random| {
        let sum = 1.0 + random.value().abs() * ((n as f64).powf(power) - 1.0);
        numbers[(sum.powf(power.recip()) as usize - 1).min(n - 1)]
    };
    graph((n, edges), true, |random| (vertex(random), vertex(random)), random)
}

/// A graph of so many vertices and edges, those from a vertex to itself left out and several between two once.
fn graph(
    (vertices, edges): (usize, usize),
    mirrored: bool,
    ends: impl Fn(&mut Random) -> (usize, usize),
    random: &mut Random,
) -> Arrays {
    let mut rows = vec![Vec::new(); vertices];
    for _ in 0..edges {
        let (i, j) = ends(random);
        if i != j {
            rows[i.max(j)].push(i.min(j));
            if mirrored {
                rows[i.min(j)].push(i.max(j));
            }
        }
    }
    let mut graph = of_rows(vertices, random, |i, _| std::mem::take(&mut rows[i]));
    Arc::make_mut(&mut graph.values).fill(1.0);
    graph
}

fn blocked(nonzeros: usize, random: &mut Random) -> Arrays {
    const SIDE: usize = 8;
    let n = (nonzeros / (3 * SIDE * SIDE)).max(1);
    let mut beside = vec![];
    let row = |i: usize, random: &mut Random| {
        if i.is_multiple_of(SIDE) {
            beside = [i / SIDE, random.below(n), random.below(n)].into();
        }
        beside.iter().flat_map(|block| SIDE * block..SIDE * (block + 1)).collect()
    };
    of_rows(SIDE * n, random, row)
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
    Arc::make_mut(&mut arrays.values).iter_mut().for_each(|x| *x = (*x * 4.0).round());
    arrays
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
    let values: Vec<f64> = (0..levels[2].crd.len()).map(|_| random.value()).collect();
    Arrays {
        format: "csf",
        extents: vec![a.rows, a.columns, 64],
        levels: levels.map(Some).into(),
        values: values.into(),
    }
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
    let values: Vec<f64> = places.iter().map(|_| random.value()).collect();
    Arrays { format: "csf", extents: extents.to_vec(), levels, values: values.into() }
}

/// A dense array of values between -1 and 1.
pub fn dense(extents: &[usize], seed: u64) -> Arrays {
    let mut random = Random::new(seed);
    Arrays::dense(extents, (0..extents.iter().product()).map(|_| random.value()).collect())
}

/// A dense matrix that is its own mirror, about so many of whose entries stand up to the diagonal.
pub fn mirrored(entries: usize, seed: u64) -> Arrays {
    let n = (2 * entries).isqrt();
    let mut matrix = dense(&[n, n], seed);
    let values = Arc::make_mut(&mut matrix.values);
    for i in 0..n {
        (0..i).for_each(|j| values[j * n + i] = values[i * n + j]);
    }
    matrix
}

/// A sparse vector in which every coordinate is there with a chance of one in `rarity`.
pub fn sparse(extent: usize, rarity: usize, seed: u64) -> Arrays {
    let mut random = Random::new(seed);
    let crd: Vec<i32> = (0..extent as i32).filter(|_| random.below(rarity) == 0).collect();
    let values = crd.iter().map(|_| random.value()).collect();
    Arrays::sparse(extent, crd, values)
}

/// A sparse vector with so many entries, or one less for each two that fell on the same coordinate.
pub fn few(extent: usize, entries: usize, seed: u64) -> Arrays {
    let mut random = Random::new(seed);
    let crd: BTreeSet<i32> = (0..entries).map(|_| random.below(extent) as i32).collect();
    let values = crd.iter().map(|_| random.value()).collect();
    Arrays::sparse(extent, crd.into_iter().collect(), values)
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
            let matrix = kind.matrix(10_000, 1).expect("drawn");
            let [x, y] = vectors(&matrix, 4);
            let made = [partner(&matrix, 2), third_mode(&matrix, 3), x, y, sparse(1000, 10, 5), dense(&[3, 4], 6)];
            let trees = trees(&[17, 9, 5, 11], 900, 7);
            trees.iter().for_each(|arrays| arrays.tensor().check().unwrap());
            let parts = [above_and_below(&matrix), left_and_right(&matrix), [shifted(&matrix), flat(&matrix)]].concat();
            made.iter().chain(&parts).chain([&matrix]).for_each(|arrays| arrays.tensor().check().unwrap());
            assert!((5_000..=12_000).contains(&matrix.values.len()), "{}: {}", kind.name(), matrix.values.len());
        }
    }

    #[test]
    fn what_is_drawn_is_well_formed() {
        let photographs = |kind: &Kind| *kind != Kind::Clothes || Kind::Clothes.matrix(10_000, 1).is_ok();
        for kind in ALL.into_iter().filter(photographs) {
            let matrix = kind.matrix(10_000, 1).expect("drawn");
            matrix.tensor().check().unwrap_or_else(|e| panic!("{}: {e}", kind.name()));
            assert!(!matrix.values.is_empty() && matrix.values.len() <= 20_000, "{}", kind.name());
        }
    }
}
