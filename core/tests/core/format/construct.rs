//! Tensors from a caller's arrays.

use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Array, Assembly, Format, Level, LevelKind, Malformed, Tensor};

const POS: &[i32] = &[0, 2, 2, 4];
const CRD: &[i32] = &[0, 2, 1, 2];
const VALUES: &[f64] = &[1.0, 2.0, 3.0, 4.0];

#[test]
fn matrices_are_what_their_arrays_say() {
    let csr = Tensor::csr(3, 3, POS, CRD, VALUES).unwrap();
    assert_eq!((csr.check(), csr.values.as_ptr()), (Ok(()), VALUES.as_ptr().cast()));
    let csc = Tensor::csc(3, 3, POS, CRD, VALUES).unwrap();
    let turned: Vec<_> = csc.entries().map(|(at, v)| (vec![at[1], at[0]], v)).collect();
    assert_eq!((csc.check(), turned), (Ok(()), csr.entries().collect()));
    let rows = Array::from(vec![0i64, 0, 2, 2]);
    let coo = Tensor::coo([3, 3], [rows, Array::from(CRD)], VALUES).unwrap();
    assert!(coo.check().is_ok() && coo.entries().eq(csr.entries()));
    let list = Tensor::coo([3], [&[0i32, 2]], &[5u8, 6]).unwrap().with_fill(1u8).unwrap();
    assert_eq!((list.check(), list.fill, list.format), (Ok(()), Value::from(1u8), Format::named("coo", 1).unwrap()));
    let dense = csr.clone().convert(&Format::dense(2), &Assembly::default()).unwrap();
    assert_eq!(Tensor::matrix(3, 3, &dense.values).unwrap(), dense);
    assert_eq!(Tensor::vector(VALUES), Tensor::dense(vec![4], Value::from(0.0), VALUES.into()).unwrap());
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |made: Result<Tensor, Malformed>| made.unwrap_err().to_string();
    assert_eq!(
        refused(Tensor::csr(3, 3, CRD, &[0i32], &[1.0, 2.0])),
        "values, position 0: 2 values for 1 position of the last level"
    );
    assert_eq!(refused(Tensor::csr(2, 3, POS, CRD, VALUES)), "level 1, position 0: pos has 4 elements, 3 expected");
    assert_eq!(
        refused(Tensor::csr(3, 3, VALUES, CRD, VALUES)),
        "level 1, position 0: pos is of type f64, i32 or i64 expected"
    );
    assert_eq!(refused(Tensor::matrix(2, 3, VALUES)), "values, position 0: 4 values for 6 positions of the last level");
    assert!(refused(Tensor::matrix(1 << 40, 1 << 40, VALUES)).contains("63 bits"));
    assert!(refused(Tensor::coo([3, 3], [CRD], VALUES)).contains("2 levels"));
    assert!(refused(Tensor::coo([0u64; 0], [] as [&[i32]; 0], VALUES)).contains("one mode or more"));
    assert!(refused(Tensor::coo([3, 3], [CRD, POS], &[1.0])).contains("4"));
    assert!(refused(Tensor::vector(VALUES).with_fill(0)).contains("fill value of type i32"));
    assert!(refused(Tensor::from_levels([3], [1], vec![Level::Dense], &[1.0; 3])).contains("permutation"));
}

/// Every kind of level: the arrays of a tensor that was assembled are taken, and one element less of any is refused.
#[test]
fn lengths_of_every_kind_of_level() {
    let entries = || {
        [([0, 0], 1.0), ([1, 0], 2.0), ([1, 1], 3.0), ([2, 0], 4.0), ([2, 2], 4.0)]
            .map(|(at, x)| (at.to_vec(), Value::from(x)))
    };
    for kind in LevelKind::ALL.into_iter().filter(|k| *k != LevelKind::Function) {
        let format = Format::of(vec![LevelKind::Dense, kind]);
        let single = kind == LevelKind::Singleton;
        let some = entries().into_iter().filter(|(at, _): &(Vec<i64>, Value)| !single || at[0] == at[1]);
        let some = some.map(|(at, v)| if kind == LevelKind::Upper { (vec![at[1], at[0]], v) } else { (at, v) });
        let Ok(made) = Tensor::from_entries(vec![3, 3], format, 0.0.into(), Type::I32, Type::I32, some) else {
            assert_eq!(kind, LevelKind::Symmetric);
            continue;
        };
        let again = Tensor::from_levels([3, 3], [0, 1], made.levels.clone(), made.values.clone());
        assert_eq!(again, Ok(made.clone()), "{kind:?}");
        let less: Vec<usize> = (0..made.values.len() - 1).collect();
        let shorter = made.values.gather(&less).unwrap();
        assert!(Tensor::from_levels([3, 3], [0, 1], made.levels, shorter).is_err(), "{kind:?}");
    }
}

/// Rows of two, none and five entries: who has the longest has more than two shares where four share them, not where two do.
#[test]
fn lengths_of_fibers() {
    let coordinates = [0i32, 1, 0, 1, 2, 3, 4];
    let csr = Tensor::csr(3, 5, &[0i32, 2, 2, 7], &coordinates, &[1.0; 7]).unwrap();
    let lengths = csr.lengths(1).expect("rows have positions");
    assert_eq!((lengths.longest, lengths.all), (5, 7));
    assert!(lengths.are_uneven(4, 1));
    assert!(!lengths.are_uneven(2, 1));
    assert!(!lengths.are_uneven(4, 3), "a share is three at least");
    assert_eq!(csr.lengths(0), None);
}

/// How many entries each row has, of a matrix and of trees: all levels below the first count.
#[test]
fn lengths_of_rows() {
    let of = |levels: &[LevelKind]| {
        let at = [[0, 0, 0], [2, 1, 0], [2, 1, 1], [2, 1, 2], [2, 3, 1], [3, 0, 2]];
        let entries = at.map(|at| (at[..levels.len()].to_vec(), Value::from(1.0)));
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.dedup_by_key(|(at, _)| at.clone());
        let (format, extents) = (Format::of(levels.to_vec()), [4, 4, 3][..levels.len()].to_vec());
        let made = Tensor::from_entries(extents, format, 0.0.into(), Type::I32, Type::I64, entries).unwrap();
        let rows = made.lengths_of_rows().map(|rows| (rows.longest, rows.all));
        assert_eq!(rows, made.checked().unwrap().lengths_of_rows().map(|rows| (rows.longest, rows.all)));
        rows
    };
    use LevelKind::{Compressed, Dense, Hashed};
    assert_eq!(of(&[Dense, Compressed]), Some((2, 4)));
    assert_eq!(of(&[Dense, Compressed, Compressed]), Some((4, 6)));
    assert_eq!(of(&[Compressed, Compressed, Compressed]), Some((4, 6)));
    assert_eq!(of(&[Compressed, Compressed, Dense]), Some((6, 12)), "a dense level has an entry at each coordinate");
    assert_eq!(of(&[Dense, Hashed]), None);
    assert_eq!(of(&[Compressed]), None);
}
