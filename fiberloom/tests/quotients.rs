//! Rows and columns that a vector's coordinates are split into, against the division of integers: small extents in full, large ones where
//! a quotient that is found by multiplying is nearest to a wrong one.

use fiberloom::{Array, Engine, Format, Level, Options, Program, Tensor, Type, Value};

/// A vector with entries at these coordinates.
fn vector(extent: i64, crd: &[i64]) -> Tensor<'static> {
    Tensor {
        extents: vec![extent as u64],
        format: Format::named("sparse", 1).unwrap(),
        levels: vec![Level::Compressed {
            pos: Array::from(vec![0i32, crd.len() as i32]),
            crd: Array::from(crd.to_vec()),
        }],
        values: Array::from((0..crd.len()).map(|p| p as f64).collect::<Vec<_>>()),
        fill: Value::zero(Type::F64),
    }
}

/// Splits the vector of all these coordinates, with rows of so many columns, by an engine: into a list, and into compressed rows where those
/// are not too many to look at.
fn compare(engine: Engine, [rows, columns]: [i64; 2], crd: &[i64]) {
    let v = vector(rows * columns, crd);
    let split = |format: &str| {
        let declared = format!("tensor v: f64[K] sparse  tensor C: f64[I, {columns}] {format}");
        let text = format!("{declared}  C[i,j] = split(v[k], k -> (i,j))");
        let kernel = Program::parse(&text).unwrap().compile(&Options { engine, ..Options::default() }).unwrap();
        let mut results = kernel.run(&[("v", &v)]).unwrap().results;
        let (_, c) = results.pop().unwrap();
        assert_eq!(c.values, v.values);
        c.levels
    };
    let [Level::Nonunique { crd: i, .. }, Level::Singleton { crd: j }] = &split("coo")[..] else {
        panic!("a list of coordinates")
    };
    for (p, k) in crd.iter().enumerate() {
        assert_eq!([i.index(p), j.index(p)], [k / columns, k % columns], "{engine:?} {rows} {columns}: {k}");
    }
    if rows > MOST_ROWS {
        return;
    }
    let [_, Level::Compressed { pos, crd: j }] = &split("csr")[..] else { panic!("compressed rows") };
    for (p, k) in crd.iter().enumerate() {
        assert_eq!(j.index(p), k % columns, "{engine:?} {rows} {columns}: {k}");
    }
    for i in 0..=rows {
        let before = crd.partition_point(|k| k / columns < i);
        assert_eq!(pos.index(i as usize), before as i64, "{engine:?} {rows} {columns}: where row {i} begins");
    }
}

/// The most rows of which each is looked at.
const MOST_ROWS: i64 = 1 << 12;

#[test]
fn small_extents_in_full() {
    for engine in [Engine::Loops, Engine::Llvm] {
        for columns in [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 100] {
            let all: Vec<i64> = (0..columns * 23).collect();
            compare(engine, [23, columns], &all);
        }
    }
}

/// Rows up to where quotients are no longer found so, and beyond.
#[test]
fn large_extents_at_the_ends_of_rows() {
    let powers = |most: u32| (0..=most).map(|n| 1i64 << n).flat_map(|p| [p - 1, p, p + 1]);
    for rows in powers(28).filter(|n| (1..=(1 << 28)).contains(n)).step_by(4).chain([1 << 27, (1 << 27) + 1, 1 << 28]) {
        for columns in powers(31).filter(|n| (1..=(1 << 31)).contains(n)).step_by(5).chain([(1 << 31) - 1, 1 << 31]) {
            let some = [0, 1, 2, rows / 3, rows / 2, rows - 2, rows - 1];
            let ends = some.into_iter().flat_map(|row| [-1, 0, 1, columns / 2].map(|more| row * columns + more));
            let mut all: Vec<i64> = ends.chain([rows * columns - 1]).collect();
            all.sort_unstable();
            all.dedup();
            all.retain(|k| (0..rows * columns).contains(k));
            compare(Engine::Loops, [rows, columns], &all);
        }
    }
    // Machine code for a few: each number of columns is a kernel of its own.
    for [rows, columns] in [[1 << 27, (1 << 31) - 1], [(1 << 27) - 1, 1 << 31], [100_003, 99_991]] {
        let all: Vec<i64> = (0..1000).flat_map(|n| [0, columns - 1].map(|j| rows / 1000 * n * columns + j)).collect();
        compare(Engine::Llvm, [rows, columns], &all);
    }
}
