//! Formats against plain maps, and one test for each way in which a tensor can be malformed.

mod construct;
mod element;
mod elements;
mod exhaustive;
mod kinds;
mod list;
mod permutation;
mod read;
mod room;
mod sort;
mod spell;
mod structure;
mod triangle;

use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::LevelKind::{Bitmap, Bytemap, Compressed, Dense, Hashed, Nonunique, Singleton};
use fiberloom_core::format::{Array, Assembly, Duplicates, Entries, Error, Format, Level, LevelKind, Tensor, added};
use read::{coordinates, function, holds};
use std::collections::BTreeMap;

fn f(x: f64) -> Value {
    Value::from_f64(Type::F64, x)
}

/// The matrix  . 5 . / . . . / 7 . 1  in CSR.
fn csr() -> Tensor<'static> {
    Tensor {
        extents: vec![3, 3],
        format: Format::named("csr", 2).unwrap(),
        levels: vec![Level::Dense, Level::Compressed { pos: vec![0i32, 1, 1, 3].into(), crd: vec![1i32, 0, 2].into() }],
        values: vec![5.0, 7.0, 1.0].into(),
        fill: f(0.0),
    }
}

fn compressed(t: &mut Tensor<'static>, l: usize, new_pos: &[i64], new_crd: &[i64]) {
    t.levels[l] = Level::Compressed { pos: new_pos.to_vec().into(), crd: new_crd.to_vec().into() };
}

#[track_caller]
fn refused(t: &Tensor, level: Option<usize>, position: usize, says: &str) {
    let m = t.check().expect_err("malformed");
    assert_eq!((m.level, m.position), (level, position), "{m}");
    assert!(m.what.contains(says), "{m}");
}

#[test]
fn each_invariant_is_checked_at_its_first_offence() {
    assert_eq!(csr().check(), Ok(()));
    let cases: [(&[i64], &[i64], usize, &str); 8] = [
        (&[0, 1, 3], &[1, 0, 2], 3, "4 elements"),
        (&[1, 1, 1, 3], &[1, 0, 2], 0, "begins with 1"),
        (&[0, 2, 1, 3], &[0, 1, 2], 2, "falls from 2 to 1"),
        (&[0, -1, 1, 3], &[0, 1, 2], 1, "falls from 0 to -1"),
        (&[0, 1, 1, 4], &[1, 0, 2], 3, "ends with 4"),
        (&[0, 1, 1, 3], &[1, 0, 3], 2, "3 is not in 0..3"),
        (&[0, 1, 1, 3], &[1, -1, 2], 1, "-1 is not in 0..3"),
        (&[0, 1, 1, 3], &[1, 2, 2], 2, "twice"),
    ];
    for (pos, crd, position, says) in cases {
        let mut t = csr();
        compressed(&mut t, 1, pos, crd);
        refused(&t, Some(1), position, if says == "4 elements" { "3 elements, 3 + 1 expected" } else { says });
    }
    let mut t = csr();
    compressed(&mut t, 1, &[0, 1, 1, 3], &[1, 2, 0]);
    refused(&t, Some(1), 2, "stands behind 2");
}

#[test]
fn values_and_shape_are_checked() {
    let mut t = csr();
    t.values = vec![5.0, 7.0].into();
    refused(&t, None, 2, "2 values for 3 positions");
    t.values = vec![5i64, 7, 1].into();
    refused(&t, None, 0, "type i64");
    let mut t = csr();
    t.format.order_mut().fill(0);
    refused(&t, Some(1), 0, "permutation");
    let mut t = csr();
    t.levels.pop();
    refused(&t, None, 0, "2 levels");
    let mut t = csr();
    t.levels[1] = Level::Compressed { pos: vec![0u32, 1, 1, 3].into(), crd: vec![1i32, 0, 2].into() };
    refused(&t, Some(1), 0, "pos is of type u32");
    let mut t = csr();
    t.format.levels_mut()[0] = LevelKind::Band;
    refused(&t, Some(0), 0, "band");
    let bools = Tensor { values: Array::of_bools(&[1, 0, 2]), fill: Value::bool(false), ..csr() };
    refused(&bools, None, 2, "not 2");
    let huge =
        Tensor { extents: vec![1 << 40, 1 << 40], format: Format::dense(2), levels: vec![Level::Dense; 2], ..csr() };
    refused(&huge, Some(1), 0, "63 bits");
}

const STORED: [LevelKind; 7] = [Dense, Compressed, Nonunique, Singleton, Bitmap, Bytemap, Hashed];

/// Every mixture of stored levels of a rank whose first is not a singleton, in the modes' order.
fn in_order(rank: usize) -> Vec<Format> {
    let mut all = vec![vec![]];
    for l in 0..rank {
        let below = |above: &Vec<LevelKind>| {
            let above = above.clone();
            let kinds = STORED.into_iter().filter(move |k| l > 0 || *k != Singleton);
            kinds.map(move |k| [&above[..], &[k]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(below).collect();
    }
    all.into_iter().map(Format::of).collect()
}

/// Every mixture of stored levels of a rank, in every order of modes.
fn formats(rank: usize) -> Vec<Format> {
    let mut orders = vec![vec![]];
    for _ in 0..rank {
        orders = orders
            .iter()
            .flat_map(|o: &Vec<usize>| (0..rank).filter(|m| !o.contains(m)).map(|m| [&o[..], &[m]].concat()))
            .collect();
    }
    let mixtures = in_order(rank);
    mixtures.iter().flat_map(|f| orders.iter().map(|o| Format { order: o[..].into(), ..f.clone() })).collect()
}

/// A map of `n` pseudorandom entries.
fn random_map(extents: &[u64], n: u64, mut seed: u64) -> BTreeMap<Vec<i64>, Value> {
    let mut next = |below: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % below
    };
    (0..n).map(|_| (extents.iter().map(|&e| next(e) as i64).collect(), f(1.0 + next(9) as f64))).collect()
}

#[test]
fn every_format_holds_the_map_that_it_was_made_of() {
    for extents in [vec![], vec![7], vec![4, 5], vec![3, 1, 4]] {
        for n in [0, 1, 9] {
            let map = random_map(&extents, n, n + 10 * extents.len() as u64);
            let dense: Vec<Value> = coordinates(&extents).map(|c| *map.get(&c).unwrap_or(&f(0.0))).collect();
            for format in formats(extents.len()) {
                for ty in [Type::I32, Type::I64] {
                    // In descending order, so that there is something to sort.
                    let given = map.clone().into_iter().rev();
                    let made = Tensor::from_entries(extents.clone(), format.clone(), f(0.0), ty, ty, given);
                    assert_eq!(made.is_ok(), holds(&format, map.keys()), "{format}");
                    let Ok(t) = made else { continue };
                    assert_eq!(t.check(), Ok(()), "{format}");
                    assert_eq!(function(&t), map, "{format}");
                    assert_eq!(t.to_dense(1 << 20).unwrap(), Array::from_values(Type::F64, dense.iter().copied()));
                    let values = Array::from_values(Type::F64, dense.iter().copied());
                    let d = Tensor::from_dense(extents.clone(), format.clone(), f(0.0), ty, ty, values).unwrap();
                    assert_eq!(d, t, "{format}");
                }
            }
        }
    }
}

#[test]
fn any_format_converts_to_any_other() {
    let (extents, how) = (vec![3, 4, 2], Assembly::default());
    let map = random_map(&extents, 8, 5);
    let mut converted = 0;
    for from in in_order(3) {
        let made = Tensor::from_entries(extents.clone(), from, f(0.0), Type::I32, Type::I64, map.clone());
        let Ok(t) = made else { continue };
        for to in in_order(3) {
            let to = Format { order: [1, 2, 0].into(), ..to };
            let other = t.borrow().convert(&to, &how);
            assert_eq!(other.is_ok(), holds(&to, map.keys()), "{} to {to}", t.format);
            let Ok(other) = other else { continue };
            let made = Tensor::from_entries(extents.clone(), to, f(0.0), Type::I32, Type::I32, map.clone());
            assert_eq!(other, made.unwrap());
            converted += 1;
        }
        let same = t.borrow().convert(&t.format, &how).unwrap();
        assert_eq!(same, t);
        assert_eq!(same.values.as_ptr(), t.values.as_ptr(), "borrowed");
    }
    assert!(converted > 10_000, "{converted}");
}

#[test]
fn csr_is_what_a_person_would_write() {
    let entries = [(vec![2, 2], f(1.0)), (vec![0, 1], f(5.0)), (vec![2, 0], f(7.0))];
    let format = Format::named("csr", 2).unwrap();
    let t = Tensor::from_entries(vec![3, 3], format.clone(), f(0.0), Type::I32, Type::I32, entries).unwrap();
    assert_eq!(t, csr());
    let csc = t.convert(&Format::named("csc", 2).unwrap(), &Assembly::default()).unwrap();
    let Level::Compressed { pos, crd } = &csc.levels[1] else { panic!("{csc:?}") };
    assert_eq!((pos, crd), (&vec![0i32, 1, 2, 3].into(), &vec![2i32, 0, 2].into()));
    assert_eq!(csc.values, vec![7.0, 5.0, 1.0].into());
}

#[test]
fn stored_fill_values_stay_in_compressed_levels_only() {
    let mut t = csr();
    t.values.set(1, f(0.0));
    let csc = t.borrow().convert(&Format::named("csc", 2).unwrap(), &Assembly::default()).unwrap();
    assert_eq!(csc.stored(), 3);
    let dense = t.convert(&Format::dense(2), &Assembly::default()).unwrap();
    let negative_zero = Tensor { values: vec![-0.0; 9].into(), ..dense.clone() };
    assert_eq!(dense.convert(&Format::csf(2), &Assembly::default()).unwrap().stored(), 2);
    assert_eq!(negative_zero.convert(&Format::csf(2), &Assembly::default()).unwrap().stored(), 9);
}

#[test]
fn entries_are_refused_at_the_first_offence() {
    let assemble = |at: &[[i64; 2]], how: &Assembly| {
        let entries = Entries::of(2, Type::F64, at.iter().map(|c| (c.to_vec(), f(1.0)))).unwrap();
        entries.assemble(&[3, 3], &Format::csf(2), f(0.0), how)
    };
    let place = |error: Error| match error.clone() {
        Error::Malformed(m) => (m.position, m.what),
        Error::Twice { entries: [_, e], .. } => (e, error.to_string()),
        e => panic!("{e}"),
    };
    let (e, what) = place(assemble(&[[0, 0], [2, 1], [1, 1], [2, 1], [0, 0]], &Assembly::default()).unwrap_err());
    assert_eq!((e, &*what), (3, "entry 3: coordinates (2, 1) stand twice: in entry 1 too, counted from 0"));
    assert_eq!(place(assemble(&[[0, 0], [0, 3]], &Assembly::default()).unwrap_err()).0, 1);
    assert_eq!(place(assemble(&[[0, 0], [-1, 0]], &Assembly::default()).unwrap_err()).0, 1);
    let how = Assembly { duplicates: Duplicates::Combine(&added), ..Assembly::default() };
    let t = assemble(&[[0, 0], [2, 1], [1, 1], [2, 1], [0, 0]], &how).unwrap();
    assert_eq!(t.values, vec![2.0, 1.0, 2.0].into());
}

#[test]
fn limits_come_before_memory() {
    let none = Entries::of(2, Type::F64, []).unwrap();
    let limited = Assembly { limit: 1 << 20, ..Assembly::default() };
    for format in ["csr", "dense", "csc"] {
        let format = Format::named(format, 2).unwrap();
        for extents in [[1 << 40, 1 << 40], [1 << 62, 1 << 62], [1 << 20, 1 << 20]] {
            let e = none.assemble(&extents, &format, f(0.0), &limited).unwrap_err();
            assert!(matches!(e, Error::Memory { .. }), "{e}");
        }
    }
    let hypersparse = none.assemble(&[1 << 62, 1 << 62], &Format::csf(2), f(0.0), &limited).unwrap();
    assert_eq!(hypersparse.check(), Ok(()));
    let Level::Compressed { pos, crd } = &hypersparse.levels[0] else { panic!() };
    assert_eq!((pos.ty(), crd.ty()), (Type::I32, Type::I64));
}

#[test]
fn indices_are_never_narrowed() {
    let entries = Entries::of(1, Type::F64, [(vec![1 << 31], f(1.0))]).unwrap();
    let narrow = Assembly { crd: Some(Type::I32), ..Assembly::default() };
    let e = entries.assemble(&[1 << 33], &Format::csf(1), f(0.0), &narrow).unwrap_err();
    assert_eq!(e, Error::Narrow(Type::I32));
    let t = entries.assemble(&[1 << 33], &Format::csf(1), f(0.0), &Assembly::default()).unwrap();
    assert_eq!(t.entries().collect::<Vec<_>>(), [(vec![1 << 31], f(1.0))]);
}

/// Wrong arguments are an error, whatever they are.
#[test]
fn wrong_arguments_are_refused() {
    let entries = Entries::of(2, Type::F64, [(vec![0, 1], f(1.0))]).unwrap();
    let csf = Format::csf(2);
    let assembled = |extents: &[u64], format: &Format| {
        entries.assemble(extents, format, f(0.0), &Assembly::default()).unwrap_err().to_string()
    };
    for order in [[0, 7], [0, 0], [usize::MAX, 0]] {
        let format = Format { order: order.into(), ..csf.clone() };
        assert!(assembled(&[2, 2], &format).contains("not a permutation of the modes"), "{order:?}");
    }
    let short = Format { order: [0].into(), ..csf.clone() };
    assert!(assembled(&[2, 2], &short).contains("needs 2 levels in its format"));
    assert!(assembled(&[2, 2], &Format::csf(3)).contains("needs 2 levels in its format"));
    assert!(assembled(&[2, 2, 2], &Format::csf(3)).contains("3 columns of 1 coordinates expected"));
    for extents in [[u64::MAX, 2], [2, 1 << 63]] {
        assert!(assembled(&extents, &csf).contains("is not below 2^63"), "{extents:?}");
    }
    let of = |entries: [(Vec<i64>, Value); 2]| Entries::of(1, Type::F64, entries).unwrap_err().to_string();
    assert_eq!(of([(vec![0], f(1.0)), (vec![1, 2], f(1.0))]), "entry 1: 2 coordinates, 1 expected");
    assert_eq!(of([(vec![0], Value::i64(1)), (vec![1], f(1.0))]), "entry 0: a value of type i64, f64 expected");
    let made = Tensor::from_entries(vec![3], Format::csf(1), f(0.0), Type::I32, Type::I32, [(vec![], f(1.0))]);
    assert_eq!(made.unwrap_err().to_string(), "entry 0: 0 coordinates, 1 expected");
    let made = Tensor::from_entries(vec![3], Format::csf(1), f(0.0), Type::F64, Type::I32, []);
    assert_eq!(made.unwrap_err(), Error::Narrow(Type::F64));
}

/// Conversion and listing refuse a malformed tensor.
#[test]
fn malformed_tensors_are_neither_converted_nor_listed() {
    let compressed = |pos: Vec<i32>, crd: Vec<i32>| Tensor {
        extents: vec![2, 2],
        format: Format::named("csr", 2).unwrap(),
        levels: vec![Level::Dense, Level::Compressed { pos: pos.into(), crd: crd.into() }],
        values: vec![1.0, 2.0].into(),
        fill: f(0.0),
    };
    for (pos, crd) in [
        (vec![0, 1, 2], vec![0, 2]),
        (vec![0, 1, 2], vec![0, -1]),
        (vec![0, 9, 2], vec![0, 1]),
        (vec![0, -1, 2], vec![0, 1]),
        (vec![0, 2, 2], vec![1, 1]),
        (vec![], vec![0, 1]),
        (vec![0, 1, 2], vec![0]),
    ] {
        let t = compressed(pos, crd);
        let refused = |made: Result<(), Error>| assert!(matches!(made, Err(Error::Malformed(_))), "{t:?}: {made:?}");
        for format in [Format::dense(2), Format::csf(2), t.format.clone()] {
            refused(t.borrow().convert(&format, &Assembly::default()).map(drop));
        }
        refused(t.to_dense(1 << 20).map(drop));
        refused(t.listed().map(drop));
        refused(t.stored_entries().map(drop));
    }
}

/// Assembly refuses bytes that are not a `bool`, a function that combines values into another type, and triangles that are not directly
/// below a dense level.
#[test]
fn what_no_tensor_can_hold_is_refused() {
    let square = [4, 4];
    let assembled = |values: Array<'static>, format: &Format, duplicates| {
        let coordinates = vec![vec![3, 1, 1], vec![0, 0, 0]];
        let how = Assembly { duplicates, ..Assembly::default() };
        let fill = Value::zero(values.ty());
        let made = Entries { coordinates, values }.assemble(&square, format, fill, &how);
        made.unwrap_err().to_string()
    };
    let bools = assembled(Array::Bool(vec![1, 0, 2].into()), &Format::csf(2), Duplicates::Combine(&added));
    assert_eq!(bools, "entry 2: a bool's byte is 0 or 1, not 2");
    let other = |_, later: Value| Value::i64(later.as_f64() as i64);
    let combined = assembled(vec![1.0, 2.0, 3.0].into(), &Format::csf(2), Duplicates::Combine(&other));
    assert_eq!(combined, "entry 2: combined it is of type i64, f64 expected");
    for kind in [LevelKind::Lower, LevelKind::Upper, LevelKind::Symmetric] {
        for levels in [[kind, Dense], [Compressed, kind], [kind, kind]] {
            let l = levels.iter().position(|k| *k == kind).unwrap();
            let said = assembled(vec![1.0; 3].into(), &Format::of(levels.to_vec()), Duplicates::Combine(&added));
            let expected = "stands directly below a dense level of an equal extent";
            assert!(said.starts_with(&format!("level {l}, position 0: ")) && said.contains(expected), "{said}");
        }
    }
    let collected = Array::collected(Type::I32, [Value::from(1), Value::from(2.0), Value::from(3u8)]);
    assert_eq!(collected.unwrap_err().to_string(), "entry 1: a value of type f64, i32 expected");
}
