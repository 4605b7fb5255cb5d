//! Intervals, triangles and runs: their arrays as they are drawn, and against plain maps.

use super::exhaustive::{Map, changed, made};
use super::read::{coordinates, function, holds};
use super::{f, refused};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::LevelKind::{
    Band, Bitmap, Blocked, Compressed, Dense, Lower, Packbits, Ragged, Runs, Symmetric, Upper, Vbl,
};
use fiberloom_core::format::{Array, Assembly, Entries, Format, Level, LevelKind, Tensor};

const STRUCTURED: [LevelKind; 9] = [Band, Ragged, Lower, Upper, Symmetric, Runs, Vbl, Blocked, Packbits];

fn index(v: &[i32]) -> Array<'static> {
    v.to_vec().into()
}

fn matrix(levels: [LevelKind; 2], extents: [u64; 2], entries: &[(i64, i64, f64)]) -> Tensor<'static> {
    let entries = entries.iter().map(|(i, j, x)| (vec![*i, *j], f(*x)));
    let entries = Entries::of(2, Type::F64, entries).unwrap();
    entries.assemble(&extents, &Format::of(levels.to_vec()), f(0.0), &Assembly::default()).unwrap()
}

#[test]
fn each_kind_is_stored_as_it_is_drawn() {
    // . 5 . 3 / . . . . / 7 . . .
    let entries = [(0, 1, 5.0), (0, 3, 3.0), (2, 0, 7.0)];
    let band = matrix([Dense, Band], [3, 4], &entries);
    assert_eq!(band.levels[1], Level::Band { pos: index(&[0, 3, 3, 4]), first: index(&[1, 0, 0]) });
    assert_eq!(band.values, vec![5.0, 0.0, 3.0, 7.0].into());
    let ragged = matrix([Dense, Ragged], [3, 4], &entries);
    assert_eq!(ragged.levels[1], Level::Ragged { pos: index(&[0, 4, 4, 5]) });
    assert_eq!(ragged.values, vec![0.0, 5.0, 0.0, 3.0, 7.0].into());
    let runs = matrix([Dense, Runs], [3, 4], &[(0, 1, 5.0), (0, 2, 5.0), (2, 0, 7.0), (2, 1, 0.0)]);
    assert_eq!(runs.levels[1], Level::Runs { pos: index(&[0, 3, 4, 6]), crd: index(&[0, 2, 3, 3, 0, 3]) });
    assert_eq!(runs.values, vec![0.0, 5.0, 0.0, 0.0, 7.0, 0.0].into());
    let blocks = [(0, 0, 5.0), (0, 1, 5.0), (0, 3, 6.0), (2, 2, 7.0), (2, 3, 8.0)];
    let vbl = matrix([Dense, Vbl], [3, 4], &blocks);
    let (pos, crd, ofs) = (index(&[0, 2, 2, 3]), index(&[1, 3, 3]), index(&[0, 2, 3, 5]));
    assert_eq!(vbl.levels[1], Level::Vbl { pos, crd, ofs });
    assert_eq!(vbl.values, vec![5.0, 5.0, 6.0, 7.0, 8.0].into());
    let blocked = matrix([Dense, Blocked], [3, 6], &[(0, 1, 5.0), (0, 2, 6.0), (2, 2, 7.0), (2, 5, 8.0)]);
    assert_eq!(blocked.levels[1], Level::Blocked { pos: index(&[0, 1, 1, 3]), crd: index(&[0, 0, 1]) });
    assert_eq!(blocked.values, vec![0.0, 5.0, 6.0, 0.0, 0.0, 0.0, 7.0, 0.0, 0.0, 8.0, 0.0, 0.0].into());
    let packbits = matrix([Dense, Packbits], [3, 4], &blocks);
    let (pos, crd, ofs) = (index(&[0, 2, 3, 5]), index(&[1, 3, 3, 1, 3]), index(&[0, 1, 3, 4, 5, 7]));
    assert_eq!(packbits.levels[1], Level::Packbits { pos, crd, ofs });
    assert_eq!(packbits.values, vec![5.0, 0.0, 6.0, 0.0, 0.0, 7.0, 8.0].into());
    let square = [(0, 0, 1.0), (1, 0, 2.0), (2, 1, 3.0), (0, 1, 2.0), (1, 2, 3.0)];
    let symmetric = matrix([Dense, Symmetric], [3, 3], &square);
    assert_eq!(symmetric.values, vec![1.0, 2.0, 0.0, 0.0, 3.0, 0.0].into());
    let lower = matrix([Dense, Lower], [3, 3], &square[..3]);
    assert_eq!(lower.values, symmetric.values);
    let upper = matrix([Dense, Upper], [3, 3], &[(0, 0, 1.0), (0, 1, 2.0), (1, 2, 3.0)]);
    assert_eq!(upper.values, vec![1.0, 2.0, 0.0, 0.0, 3.0, 0.0].into());
}

#[test]
fn what_a_structure_has_no_place_for_is_refused() {
    let refused = |kind, entries: &[(i64, i64, f64)], says: &str| {
        let entries = Entries::of(2, Type::F64, entries.iter().map(|(i, j, x)| (vec![*i, *j], f(*x)))).unwrap();
        let made = entries.assemble(&[3, 3], &Format::of(vec![Dense, kind]), f(0.0), &Assembly::default());
        let error = made.unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    };
    refused(Lower, &[(1, 0, 1.0), (1, 2, 1.0)], "a value stands at (1, 2), above the diagonal");
    refused(Upper, &[(2, 0, 1.0)], "a value stands at (2, 0), below the diagonal");
    refused(Symmetric, &[(2, 0, 1.0)], "what stands at (2, 0) does not stand where");
    refused(Symmetric, &[(2, 0, 1.0), (0, 2, 2.0)], "what stands at (0, 2) does not stand where");
    // A fill value does not count as a value outside of the triangle.
    assert_eq!(matrix([Dense, Lower], [2, 2], &[(0, 1, 0.0)]).values, vec![0.0; 3].into());
    let unequal = Entries::of(2, Type::F64, []).unwrap().assemble(
        &[2, 3],
        &Format::of(vec![Dense, Lower]),
        f(0.0),
        &Assembly::default(),
    );
    assert!(unequal.unwrap_err().to_string().contains("a dense level of an equal extent"));
}

#[test]
fn each_invariant_is_checked_at_its_first_offence() {
    let with = |kind, extent, level| {
        let mut t = matrix([Dense, kind], [2, extent], &[]);
        t.levels[1] = level;
        t
    };
    let band = |pos: &[i32], first: &[i32]| with(Band, 4, Level::Band { pos: index(pos), first: index(first) });
    refused(&band(&[0, 2], &[0, 0]), Some(1), 2, "2 elements, 2 + 1 expected");
    refused(&band(&[0, 2, 1], &[0, 0]), Some(1), 2, "falls from 2 to 1");
    refused(&band(&[0, 2, 3], &[3, 0]), Some(1), 0, "2 coordinates from 3 on: not all are in 0..4");
    refused(&band(&[0, 2, 3], &[0, -1]), Some(1), 1, "1 coordinate from -1 on");
    refused(&band(&[0, 2, 3], &[0]), Some(1), 1, "first has 1 element, 2 expected");
    refused(&band(&[0, 2, 3], &[0, 0]), None, 0, "0 values for 3 positions");
    refused(&with(Ragged, 4, Level::Ragged { pos: index(&[0, 5, 5]) }), Some(1), 0, "5 coordinates from 0 on");
    let runs = |pos: &[i32], crd: &[i32]| with(Runs, 4, Level::Runs { pos: index(pos), crd: index(crd) });
    refused(&runs(&[0, 1, 2], &[3, 2]), Some(1), 1, "end at 3, not at 4");
    refused(&runs(&[0, 1, 1], &[3]), Some(1), 1, "end at 0, not at 4");
    refused(&runs(&[0, 2, 3], &[3, 3, 3]), Some(1), 1, "twice");
    let in_blocks = |kind, pos: &[i32], crd: &[i32], ofs: &[i32]| {
        let (pos, crd, ofs) = (index(pos), index(crd), index(ofs));
        with(kind, 4, if kind == Vbl { Level::Vbl { pos, crd, ofs } } else { Level::Packbits { pos, crd, ofs } })
    };
    refused(&in_blocks(Vbl, &[0, 1, 1], &[3], &[0]), Some(1), 1, "ofs has 1 element, 2 expected");
    refused(&in_blocks(Vbl, &[0, 1, 1], &[3], &[1, 2]), Some(1), 0, "ofs begins with 1");
    refused(&in_blocks(Vbl, &[0, 1, 2], &[3, 1], &[0, 1, 1]), Some(1), 2, "ofs does not rise from 1 to 1");
    refused(
        &in_blocks(Vbl, &[0, 2, 2], &[1, 3], &[0, 1, 4]),
        Some(1),
        1,
        "3 positions do not fit the coordinates 2 to 3",
    );
    refused(
        &in_blocks(Packbits, &[0, 1, 2], &[3, 3], &[0, 1, 4]),
        Some(1),
        1,
        "3 positions do not fit the coordinates 0 to 3",
    );
    refused(&in_blocks(Packbits, &[0, 1, 2], &[3, 2], &[0, 1, 2]), Some(1), 1, "end at 3, not at 4");
    let blocked = |pos: &[i32], crd: &[i32]| with(Blocked, 4, Level::Blocked { pos: index(pos), crd: index(crd) });
    refused(&blocked(&[0, 1, 1], &[1]), Some(1), 0, "coordinate 1 is not in 0..1");
    refused(&blocked(&[0, 2, 2], &[0, 0]), Some(1), 1, "twice");
    let mut cut = matrix([Dense, Blocked], [2, 5], &[(1, 4, 5.0)]);
    cut.values.set(3, f(1.0));
    refused(&cut, None, 3, "1.0 stands where a level above says that nothing is stored");
    let mut flagged = matrix([Bitmap, Runs], [2, 4], &[(1, 0, 5.0)]);
    flagged.values.set(0, f(1.0));
    refused(&flagged, None, 0, "1.0 stands where a level above says that nothing is stored");
    flagged.levels[1] = Level::Runs { pos: index(&[0, 2, 3]), crd: index(&[0, 3, 3]) };
    refused(&flagged, Some(1), 0, "below a flag that is not set there is one run");
}

/// All mixtures of these levels with a structured level among them.
fn formats(rank: usize, among: &[LevelKind]) -> Vec<Format> {
    let mut all = vec![vec![]];
    for _ in 0..rank {
        all = all.iter().flat_map(|f: &Vec<LevelKind>| among.iter().map(|k| [&f[..], &[*k]].concat())).collect();
    }
    let below_dense = |levels: &Vec<LevelKind>| {
        (0..rank).all(|l| !levels[l].is_triangle() || l.checked_sub(1).is_some_and(|l| levels[l] == Dense))
    };
    all.retain(|levels| levels[0] != LevelKind::Singleton && below_dense(levels));
    all.retain(|levels| levels.iter().any(|k| STRUCTURED.contains(k)));
    all.into_iter().map(Format::of).flat_map(|f| [f.clone().reversed(), f]).collect()
}

/// Whether the triangles and symmetric levels of a format can hold a map.
fn fits(format: &Format, map: &Map) -> bool {
    let mirrored = |at: &Vec<i64>, l: usize| {
        let mut mirrored = at.clone();
        mirrored.swap(format.order[l - 1], format.order[l]);
        mirrored
    };
    map.iter().all(|(at, value)| {
        (0..format.rank()).all(|l| match format.levels[l] {
            Lower => at[format.order[l]] <= at[format.order[l - 1]],
            Upper => at[format.order[l]] >= at[format.order[l - 1]],
            Symmetric => map.get(&mirrored(at, l)) == Some(value),
            _ => true,
        })
    })
}

/// Every map of these extents, with the values given by `value`.
fn maps(extents: &[u64], value: impl Fn(&[i64]) -> i128) -> Vec<Map> {
    let all: Vec<Vec<i64>> = coordinates(extents).collect();
    let some = |which: usize| all.iter().enumerate().filter(move |(e, _)| which >> e & 1 == 1);
    let map = |which| some(which).map(|(_, at)| (at.clone(), Value::from_i128(Type::I16, value(at)))).collect();
    (0..1usize << all.len()).map(map).collect()
}

#[test]
fn every_mixture_of_levels_holds_the_small_tensors_that_it_can() {
    let all: Vec<LevelKind> = LevelKind::ALL[..7].iter().copied().chain(STRUCTURED).collect();
    let few = [Dense, Compressed, Bitmap, Band, Lower, Symmetric, Runs, Vbl, Packbits];
    let (mut held, mut refused, how) = (0, 0, Assembly::default());
    for (extents, among) in [(&[3][..], &all[..]), (&[2, 2], &all), (&[3, 3], &few), (&[2, 2, 2], &few)] {
        // Distinct values; values equal where mirrored; all values equal.
        let values: [fn(&[i64]) -> i128; 3] =
            [|at| at.iter().fold(1, |n, c| 3 * n + *c as i128), |at| 1 + at.iter().sum::<i64>() as i128, |_| 1];
        for value in values {
            for map in maps(extents, value).iter().step_by(if extents.len() == 3 { 7 } else { 1 }) {
                for format in formats(extents.len(), among) {
                    let assembled = made(map, extents, &format.assembled()).map(|t| t.settled(&format, &how));
                    let made = made(map, extents, &format);
                    assert_eq!(made.is_ok(), fits(&format, map) && holds(&format, map.keys()), "{format} of {map:?}");
                    if !(0..format.rank()).any(|l| format.is_single(l)) {
                        let settled = assembled.unwrap();
                        assert_eq!(settled.as_ref().ok(), made.as_ref().ok(), "{format} of {map:?}: {settled:?}");
                    }
                    let Ok(t) = made else {
                        refused += 1;
                        continue;
                    };
                    assert_eq!(t.check(), Ok(()), "{format} of {map:?}");
                    assert_eq!(function(&t), *map, "{format}");
                    held += 1;
                }
            }
        }
    }
    assert!(held > 50_000 && refused > 5_000, "{held} {refused}");
}

/// Values of rounded sums: zeros of either sign are equal, and mirrored values are equal in half of their digits.
#[test]
fn rounded_values_settle() {
    let settled = |kind, rounded, entries: &[(i64, i64, f64)]| {
        let t = matrix([Dense, Compressed], [2, 2], entries);
        t.settled(&Format::of(vec![Dense, kind]), &Assembly { rounded, ..Assembly::default() }).map(|t| t.values)
    };
    let third = [(0, 1, 1.0 / 3.0), (1, 0, 1.0 - 2.0 / 3.0), (1, 1, 5.0)];
    assert!(settled(Symmetric, false, &third).is_err());
    assert_eq!(settled(Symmetric, true, &third), Ok(vec![0.0, 1.0 - 2.0 / 3.0, 5.0].into()));
    assert!(settled(Symmetric, true, &[(0, 1, 1.0), (1, 0, 1.0 + 1e-7)]).is_err());
    let infinite = |below: f64| settled(Symmetric, true, &[(0, 1, f64::INFINITY), (1, 0, below)]);
    assert!(infinite(f64::INFINITY).is_ok() && infinite(-f64::INFINITY).is_err() && infinite(f64::MAX).is_err());
    for kind in [Lower, Symmetric] {
        assert_eq!(settled(kind, true, &[(0, 1, -0.0), (1, 0, 0.0)]), Ok(vec![0.0; 3].into()));
        let error = settled(kind, true, &[(0, 1, 7.0)]).unwrap_err().to_string();
        assert!(error.contains("at (0, 1)"), "{error}");
    }
}

#[test]
fn extents_of_zero_and_one() {
    let all: Vec<LevelKind> = LevelKind::ALL[..7].iter().copied().chain(STRUCTURED).collect();
    for extents in [&[0][..], &[1], &[0, 0], &[1, 1]] {
        for format in formats(extents.len(), &all).iter().filter(|f| (0..f.rank()).all(|l| !f.is_single(l))) {
            let t = made(&Map::new(), extents, format).unwrap();
            assert_eq!((t.check(), function(&t)), (Ok(()), Map::new()), "{format}");
        }
    }
}

#[test]
fn a_changed_array_is_reported_or_still_a_function() {
    let (mut reported, mut sound) = (0, 0);
    for extents in [&[3][..], &[3, 3]] {
        let every = maps(extents, |at| 1 + at.iter().sum::<i64>() as i128);
        for map in [every.len() - 1, every.len() / 2 + 1, every.len() / 3, 0].map(|m| &every[m]) {
            for format in formats(
                extents.len(),
                &[Dense, Compressed, Bitmap, Band, Ragged, Lower, Symmetric, Runs, Vbl, Packbits],
            ) {
                let Ok(t) = made(map, extents, &format) else { continue };
                let (wrong, right) = changed(&t);
                (reported, sound) = (reported + wrong, sound + right);
            }
        }
    }
    assert!(reported > 5_000 && sound > 5_000, "{reported} {sound}");
}
