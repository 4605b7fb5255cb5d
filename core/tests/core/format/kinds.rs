//! Each kind of level: the arrays that `docs/format.md` draws, and each of its invariants at its first offence.

use super::{f, refused};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::LevelKind::{Bitmap, Bytemap, Compressed, Dense, Hashed, Nonunique, Singleton};
use fiberloom_core::format::{Array, Assembly, Entries, Error, Format, Level, LevelKind, Tensor};

/// The matrix  . 5 . . / . . . . / 7 . . 1.
fn matrix(levels: &[LevelKind]) -> Tensor<'static> {
    let entries = [(vec![2, 0], f(7.0)), (vec![0, 1], f(5.0)), (vec![2, 3], f(1.0))];
    let format = Format::of(levels.to_vec());
    Entries::of(2, Type::F64, entries).unwrap().assemble(&[3, 4], &format, f(0.0), &Assembly::default()).unwrap()
}

fn index(v: &[i32]) -> Array<'static> {
    v.to_vec().into()
}

#[track_caller]
fn stored(levels: &[LevelKind], arrays: &[Array], values: &[f64]) {
    let t = matrix(levels);
    let all: Vec<&Array> = t.levels.iter().flat_map(Level::arrays).collect();
    assert_eq!(all, arrays.iter().collect::<Vec<_>>());
    assert_eq!(t.values, values.to_vec().into());
    assert_eq!(t.check(), Ok(()));
    assert_eq!(t.levels.iter().map(Level::kind).collect::<Vec<_>>(), levels);
}

const FULL: [f64; 12] = [0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0, 0.0, 0.0, 1.0];

#[test]
fn each_kind_is_stored_as_it_is_drawn() {
    let (pos, crd, list) = (index(&[0, 1, 1, 3]), index(&[1, 0, 3]), [5.0, 7.0, 1.0]);
    stored(&[Dense, Dense], &[], &FULL);
    stored(&[Dense, Compressed], &[pos.clone(), crd.clone()], &list);
    stored(&[Dense, Nonunique], &[pos.clone(), crd.clone()], &list);
    let rows = [index(&[0, 2]), index(&[0, 2])];
    stored(&[Compressed, Compressed], &[&rows[..], &[index(&[0, 1, 3]), crd.clone()]].concat(), &list);
    stored(&[Nonunique, Singleton], &[index(&[0, 3]), index(&[0, 2, 2]), crd.clone()], &list);
    stored(&[Dense, Bytemap], &[Array::of_bools(&[0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1])], &FULL);
    stored(&[Dense, Bitmap], &[vec![0b1001_0000_0010u64].into()], &FULL);
    stored(&[Bitmap, Compressed], &[vec![0b101u64].into(), pos.clone(), crd.clone()], &list);
    let table = index(&TABLE);
    stored(&[Dense, Hashed], &[pos, crd, table], &list);
    let of_each_row = Tensor::from_entries(
        vec![3, 4],
        Format::of(vec![Dense, Singleton]),
        f(0.0),
        Type::I32,
        Type::I32,
        [(vec![0, 1], f(5.0)), (vec![2, 3], f(1.0)), (vec![2, 0], f(0.0))],
    );
    let of_each_row = of_each_row.unwrap();
    assert_eq!(of_each_row.levels[1], Level::Singleton { crd: index(&[1, 0, 3]) });
    assert_eq!(of_each_row.values, vec![5.0, 0.0, 1.0].into());
    assert_eq!(of_each_row.stored_entries().unwrap().len(), 2);
}

/// The table, computed with Python's integers: the searches for positions 0, 1, 2 begin at places 4, 2, 2.
const TABLE: [i32; 8] = [-1, -1, 1, 2, 0, -1, -1, -1];

#[test]
fn a_singleton_takes_one_entry_a_parent() {
    let format = Format::of(vec![Dense, Singleton]);
    let entries = [(vec![0, 1], f(5.0)), (vec![2, 3], f(1.0)), (vec![2, 0], f(2.0))];
    let entries = Entries::of(2, Type::F64, entries).unwrap();
    let error = entries.assemble(&[3, 4], &format, f(0.0), &Assembly::default()).unwrap_err();
    let Error::Unheld { at, .. } = &error else { panic!("{error}") };
    assert_eq!(at, &[2, 3]);
    assert!(error.to_string().contains("parent position 2 has 0 and 3"), "{error}");
    let none = Entries::of(2, Type::F64, []).unwrap();
    let error = none.assemble(&[3, 0], &format, f(0.0), &Assembly::default()).unwrap_err();
    assert!(error.to_string().contains("in an extent of 0 is none"), "{error}");
}

#[test]
fn chains_ascend() {
    let coo = |rows: &[i32], columns: &[i32]| {
        let mut t = matrix(&[Nonunique, Singleton]);
        t.levels =
            vec![Level::Nonunique { pos: index(&[0, 3]), crd: index(rows) }, Level::Singleton { crd: index(columns) }];
        t
    };
    assert_eq!(coo(&[0, 2, 2], &[1, 0, 3]).check(), Ok(()));
    refused(&coo(&[2, 0, 2], &[1, 0, 3]), Some(0), 1, "stands behind 2");
    refused(&coo(&[0, 2, 3], &[1, 0, 3]), Some(0), 2, "3 is not in 0..3");
    refused(&coo(&[0, 2, 2], &[1, 3, 0]), Some(1), 2, "0 stands behind 3");
    refused(&coo(&[0, 2, 2], &[1, 3, 3]), Some(1), 2, "twice");
    refused(&coo(&[0, 2, 2], &[1, -1, 3]), Some(1), 1, "-1 is not in 0..4");
    refused(&coo(&[0, 2, 2], &[1, 0, 4]), Some(1), 2, "4 is not in 0..4");
    refused(&coo(&[0, 2, 2], &[1, 0]), Some(1), 2, "2 elements, 3 expected");
    let mut wrong = coo(&[0, 2, 2], &[1, 0, 3]);
    wrong.levels[1] = Level::Singleton { crd: vec![1u32, 0, 3].into() };
    refused(&wrong, Some(1), 0, "type u32");
    // With no singleton below, coordinates are unique.
    let mut alone = matrix(&[Dense, Nonunique]);
    alone.levels[1] = Level::Nonunique { pos: index(&[0, 1, 1, 3]), crd: index(&[1, 3, 3]) };
    refused(&alone, Some(1), 2, "twice");
    alone.levels[1] = Level::Nonunique { pos: index(&[0, 1, 1, 3]), crd: index(&[1, 3, 0]) };
    refused(&alone, Some(1), 2, "stands behind");
    // Equal coordinates are tied within a fiber, not with the last of the fiber before.
    let entries = [([0, 1, 2], 1), ([1, 1, 2], 2), ([1, 2, 0], 3)].map(|(at, v)| (at.to_vec(), Value::i64(v)));
    let format = Format::of(vec![Dense, Nonunique, Singleton]);
    let entries = Entries::of(3, Type::I64, entries).unwrap();
    let t = entries.assemble(&[2, 3, 3], &format, Value::i64(0), &Assembly::default()).unwrap();
    assert_eq!(t.check(), Ok(()));
    let mut joined = t.clone();
    joined.levels[1] = Level::Nonunique { pos: index(&[0, 2, 3]), crd: index(&[1, 1, 2]) };
    refused(&joined, Some(2), 1, "2 stands twice");
}

#[test]
fn singletons_by_themselves_have_a_coordinate_a_parent() {
    let with = |crd: &[i32]| Tensor {
        extents: vec![2, 3],
        format: Format::of(vec![Dense, Singleton]),
        levels: vec![Level::Dense, Level::Singleton { crd: index(crd) }],
        values: vec![1.0, 2.0].into(),
        fill: f(0.0),
    };
    assert_eq!(with(&[2, 1]).check(), Ok(()));
    refused(&with(&[2]), Some(1), 1, "1 element, 2 expected");
    refused(&with(&[2, 3]), Some(1), 1, "3 is not in 0..3");
    refused(&with(&[-1, 3]), Some(1), 0, "-1 is not in 0..3");
    let mut flagged = with(&[0, 1]);
    flagged.format.levels_mut()[0] = Bytemap;
    flagged.levels[0] = Level::Bytemap { flags: Array::of_bools(&[0, 1]) };
    refused(&flagged, None, 0, "1.0 stands where a level above");
    flagged.values.set(0, f(0.0));
    assert_eq!(flagged.check(), Ok(()));
    flagged.levels[1] = Level::Singleton { crd: index(&[1, 1]) };
    refused(&flagged, Some(1), 0, "the coordinate is 0");
}

#[test]
fn flags_say_what_is_empty() {
    let with = |kinds: [LevelKind; 2], levels: [Level<'static>; 2], values: &[f64]| Tensor {
        extents: vec![2, 3],
        format: Format::of(kinds.to_vec()),
        levels: levels.to_vec(),
        values: values.to_vec().into(),
        fill: f(0.0),
    };
    let bits = |words: &[u64]| Level::Bitmap { words: words.to_vec().into() };
    let bytes = |flags: &[u8]| Level::Bytemap { flags: Array::of_bools(flags).into_owned() };
    let bitmap = |words: &[u64], values: &[f64]| with([Dense, Bitmap], [Level::Dense, bits(words)], values);
    let (values, zeros) = ([0.0, 0.0, 3.0, 0.0, 0.0, 0.0], [0.0; 6]);
    assert_eq!(bitmap(&[0b000100], &values).check(), Ok(()));
    assert_eq!(bitmap(&[0b111111], &values).check(), Ok(()));
    assert_eq!((bitmap(&[0b100100], &values).stored(), bitmap(&[0], &zeros).stored()), (2, 0));
    refused(&bitmap(&[0b000010], &values), None, 2, "3.0 stands where a level above");
    refused(&bitmap(&[0], &[0.0, -0.0, 0.0, 0.0, 0.0, 0.0]), None, 1, "-0.0 stands where a level above");
    refused(&bitmap(&[0b1000100], &values), Some(1), 0, "behind position 5");
    refused(&bitmap(&[], &values), Some(1), 0, "0 elements, 1 expected");
    refused(&bitmap(&[4, 0], &values), Some(1), 2, "2 elements, 1 expected");
    let signed = Level::Bitmap { words: vec![4i64].into() };
    refused(&with([Dense, Bitmap], [Level::Dense, signed], &values), Some(1), 0, "type i64, u64 expected");
    let bytemap = |flags: &[u8]| with([Dense, Bytemap], [Level::Dense, bytes(flags)], &values);
    assert_eq!(bytemap(&[0, 0, 1, 0, 0, 0]).check(), Ok(()));
    refused(&bytemap(&[0, 0, 1, 0, 0]), Some(1), 5, "5 elements, 6 expected");
    refused(&bytemap(&[0, 0, 1, 2, 0, 0]), Some(1), 3, "not 2");
    refused(&bytemap(&[1, 1, 0, 1, 1, 1]), None, 2, "3.0 stands where a level above");
    // The levels below flags: dense, lists, flags.
    let rows = bytes(&[0, 1]);
    refused(&with([Bytemap, Dense], [rows.clone(), Level::Dense], &values), None, 2, "3.0 stands where a level above");
    let list = Level::Compressed { pos: index(&[0, 1, 2]), crd: index(&[0, 2]) };
    refused(&with([Bytemap, Compressed], [rows.clone(), list], &[1.0, 2.0]), Some(1), 0, "the fiber is not empty");
    let inner = bytes(&[0, 0, 1, 0, 1, 0]);
    refused(&with([Bytemap, Bytemap], [rows.clone(), inner], &values), Some(1), 2, "set below one that is not");
    let t = Tensor {
        extents: vec![2, 2, 1],
        format: Format::of(vec![Bytemap, Dense, Compressed]),
        levels: vec![rows, Level::Dense, Level::Compressed { pos: index(&[0, 0, 1, 2, 2]), crd: index(&[0, 0]) }],
        values: vec![1.0, 2.0].into(),
        fill: f(0.0),
    };
    refused(&t, Some(2), 1, "the fiber is not empty");
}

#[test]
fn tables_find_each_position_and_no_other() {
    let with = |table: &[i32]| {
        let mut t = matrix(&[Dense, Hashed]);
        t.levels[1] = Level::Hashed { pos: index(&[0, 1, 1, 3]), crd: index(&[1, 0, 3]), table: index(table) };
        t
    };
    let changed = |at: usize, to: i32| {
        let mut table = TABLE;
        table[at] = to;
        table
    };
    assert_eq!(with(&TABLE).check(), Ok(()));
    refused(&with(&changed(4, -1)), Some(1), 0, "position 0 is not in the table");
    refused(&with(&changed(2, -1)), Some(1), 3, "it is not found");
    refused(&with(&changed(4, 3)), Some(1), 4, "holds 3, not -1 or a position below 3");
    refused(&with(&changed(4, -2)), Some(1), 4, "holds -2");
    refused(&with(&changed(5, 1)), Some(1), 5, "position 1 stands twice");
    refused(&with(&changed(0, 1)), Some(1), 0, "it is not found");
    refused(&with(&[0, 1, 2, -1]), Some(1), 4, "the table has 4 places");
    refused(&with(&[-1; 12]), Some(1), 12, "the table has 12 places");
    refused(&with(&[]), Some(1), 0, "the table has 0 places");
    let mut wide = with(&TABLE);
    let long: Vec<i64> = TABLE.iter().map(|p| i64::from(*p)).collect();
    wide.levels[1] = Level::Hashed { pos: index(&[0, 1, 1, 3]), crd: index(&[1, 0, 3]), table: long.into() };
    refused(&wide, Some(1), 0, "the table is of type i64, and pos of type i32");
    // Every table that begins each search elsewhere: a position alone at each place but its own is not found.
    let alone = |at: usize| {
        let mut table = [-1; 16];
        table[at] = 0;
        let level = Level::Hashed { pos: index(&[0, 1]), crd: index(&[3]), table: index(&table) };
        let format = Format::of(vec![Hashed]);
        Tensor { extents: vec![4], format, levels: vec![level], values: vec![1.0].into(), fill: f(0.0) }
    };
    let found: Vec<usize> = (0..16).filter(|&at| alone(at).check().is_ok()).collect();
    let [own] = found[..] else { panic!("found at {found:?}") };
    refused(&alone((own + 1) % 16), Some(0), (own + 1) % 16, "it is not found");
}

#[test]
fn what_is_stored_stays_stored_where_the_last_level_says_so() {
    let t = matrix(&[Dense, Compressed]);
    let zero = Tensor { values: vec![5.0, 0.0, 1.0].into(), ..t };
    for kind in [Compressed, Nonunique, Bitmap, Bytemap, Hashed] {
        let through = zero.borrow().convert(&Format::of(vec![Dense, kind]), &Assembly::default()).unwrap();
        assert_eq!(through.stored(), 3);
        assert_eq!(through.convert(&zero.format, &Assembly::default()).unwrap(), zero);
    }
}

#[test]
fn limits_hold_for_every_array() {
    for kinds in [[Dense, Compressed], [Nonunique, Singleton], [Bitmap, Hashed], [Bytemap, Bitmap], [Hashed, Bytemap]] {
        let t = matrix(&kinds);
        let arrays: Vec<&Array> = t.levels.iter().flat_map(Level::arrays).chain([&t.values]).collect();
        let bytes: usize = arrays.iter().map(|a| a.len() * a.ty().bytes()).sum();
        for (limit, fits) in [(bytes, true), (bytes - 1, false)] {
            let how = Assembly { limit: limit as u64, ..Assembly::default() };
            let made = t.listed().unwrap().assemble(&t.extents, &t.format, t.fill, &how);
            assert_eq!(made, if fits { Ok(t.clone()) } else { made.clone() });
            assert_eq!(made.is_ok(), fits, "{}", t.format);
        }
    }
    let none = Entries::of(2, Type::F64, []).unwrap();
    let limited = Assembly { limit: 1 << 20, ..Assembly::default() };
    for kinds in [[Dense, Bitmap], [Bytemap, Dense], [Dense, Singleton], [Bitmap, Compressed]] {
        let made = none.assemble(&[1 << 40, 1 << 19], &Format::of(kinds.to_vec()), f(0.0), &limited);
        assert!(matches!(made, Err(Error::Memory { .. })), "{kinds:?}");
    }
}

#[test]
fn only_asked_types_are_the_same_format() {
    let t = matrix(&[Nonunique, Singleton]);
    let how = Assembly { crd: Some(Type::I64), ..Assembly::default() };
    let wide = t.borrow().convert(&t.format, &how).unwrap();
    assert_eq!(
        wide.levels.iter().map(Level::index_types).collect::<Vec<_>>(),
        [(Some(Type::I32), Some(Type::I64)), (None, Some(Type::I64))]
    );
    let again = wide.borrow().convert(&t.format, &how).unwrap();
    assert_eq!(again.values.as_ptr(), wide.values.as_ptr());
}
