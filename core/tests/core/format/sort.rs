//! Entries in storage order, and those at equal coordinates.

use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Array, Assembly, Duplicates, Entries, Error, Format, Level};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Entries whose values are their numbers.
fn numbered(coordinates: Vec<Vec<i64>>) -> Entries<'static> {
    let n = coordinates[0].len();
    let values = Array::from_values(Type::I64, (0..n).map(|e| Value::i64(e as i64)));
    Entries { coordinates, values }
}

fn number(value: Value) -> i64 {
    value.as_i64().unwrap()
}

/// Numbered entries in storage order: their coordinates and numbers, those at equal coordinates in the order in which they are combined.
fn sorted(entries: &Entries, extents: &[u64], format: &str) -> (Vec<Vec<i64>>, Vec<i64>) {
    let before = Mutex::new(BTreeMap::new());
    let last = |earlier: Value, later: Value| {
        let known = before.lock().unwrap().insert(number(later), number(earlier));
        assert_eq!(known, None, "{later:?} is combined once");
        later
    };
    let how = Assembly { duplicates: Duplicates::Combine(&last), ..Assembly::default() };
    let format = Format::named(format, extents.len()).unwrap();
    let tensor = entries.assemble(extents, &format, Value::i64(0), &how).unwrap();
    let before = before.into_inner().unwrap();
    let mut all = (vec![], vec![]);
    for (at, value) in tensor.entries() {
        let mut equal: Vec<i64> = std::iter::successors(Some(number(value)), |e| before.get(e).copied()).collect();
        equal.reverse();
        all.0.extend(equal.iter().map(|_| at.clone()));
        all.1.extend(equal);
    }
    all
}

#[test]
fn by_levels_and_stably() {
    let entries = numbered(vec![vec![2, 0, 2, 0], vec![1, 3, 1, 0]]);
    // Keys of 64 bits, and of 128.
    for extents in [[4, 4], [1 << 40, 1 << 40]] {
        let (rows, numbers) = sorted(&entries, &extents, "csf");
        assert_eq!(numbers, [3, 1, 0, 2]);
        assert_eq!(rows, [[0, 0], [0, 3], [2, 1], [2, 1]]);
        let refused = entries.assemble(&extents, &Format::csf(2), Value::i64(0), &Assembly::default()).unwrap_err();
        let Error::Twice { entries: twice, .. } = refused else { panic!("{refused}") };
        assert_eq!(twice, [0, 2]);
        assert_eq!(sorted(&entries, &extents, "dcsc").1, [3, 0, 2, 1]);
    }
}

/// Many entries, in stretches: of coordinates that are spread, that stand in one stretch, and that repeat; on any number of threads.
#[test]
fn many_are_in_the_same_order() {
    let n = 20_000;
    let mut seed = 1u64;
    let mut draw = |extent: i64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 1) as i64 % extent
    };
    for (rows, columns) in [(1000, 1 << 40), (7, 3), (1, 50_000), (1 << 40, 1 << 40), (1 << 62, 1 << 62)] {
        let entries = numbered(vec![(0..n).map(|_| draw(rows)).collect(), (0..n).map(|_| draw(columns)).collect()]);
        let extents = [rows.max(columns) as u64; 2];
        let mut expected: Vec<usize> = (0..n).collect();
        expected.sort_by_key(|&e| (entries.coordinates[0][e], entries.coordinates[1][e]));
        let expected: Vec<i64> = expected.into_iter().map(|e| e as i64).collect();
        let numbers = || sorted(&entries, &extents, "csf").1;
        assert_eq!(numbers(), expected);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(pool.install(numbers), expected);
        // With a third column no key holds the coordinates of the largest extents.
        let [first, second] = &entries.coordinates[..] else { unreachable!() };
        let deeper = numbered(vec![first.clone(), second.clone(), vec![0; n]]);
        let (at, numbers) = sorted(&deeper, &[extents[0], extents[1], 1 << 62], "csf");
        assert_eq!(numbers, expected);
        assert!(at.iter().zip(&expected).all(|(at, e)| at[1] == second[*e as usize]));
    }
}

#[test]
fn duplicates_fold_in_their_order() {
    let entries = numbered(vec![vec![1, 0, 1, 1]]);
    let digits = |a: Value, b: Value| Value::i64(10 * number(a) + number(b));
    let how = Assembly { duplicates: Duplicates::Combine(&digits), ..Assembly::default() };
    let combined = entries.assemble(&[2], &Format::csf(1), Value::i64(0), &how).unwrap();
    assert_eq!(combined.values, vec![1i64, 23].into());
    assert_eq!(combined.levels, [Level::Compressed { pos: vec![0i32, 2].into(), crd: vec![0i32, 1].into() }]);
    assert_eq!(combined.check(), Ok(()));
}
