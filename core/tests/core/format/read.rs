//! Reads a stored tensor by its definition (`docs/format.md`), one coordinate at a time, for tests.

use fiberloom_core::algebra::Value;
use fiberloom_core::format::{Array, Format, Level, LevelKind, Tensor, hash};
use std::collections::BTreeMap;

/// The value at a coordinate; flags are ignored if `flags` is false.
///
/// # Panics
/// If a coordinate is stored twice, or a table disagrees with its list.
pub(super) fn value(t: &Tensor, at: &[i64], flags: bool) -> Value {
    // The positions that have the coordinates so far: within a chain there may be several.
    let mut found = vec![0usize];
    for (l, level) in t.levels.iter().enumerate() {
        let (extent, c) = (t.level_extent(l) as usize, at[t.format.order[l]]);
        let spread = || found.iter().map(|p| p * extent + c as usize);
        let among = |pos: &Array, crd: &Array, parent: usize| {
            let range = pos.index(parent) as usize..pos.index(parent + 1) as usize;
            range.filter(|&p| crd.index(p) == c).collect::<Vec<usize>>()
        };
        found = match level {
            Level::Dense => spread().collect(),
            Level::Bitmap { words } => {
                spread().filter(|&p| !flags || words.get(p / 64).bits() >> (p % 64) & 1 == 1).collect()
            }
            Level::Bytemap { flags: set } => spread().filter(|&p| !flags || set.get(p).bits() == 1).collect(),
            Level::Compressed { pos, crd } | Level::Nonunique { pos, crd } => {
                found.iter().flat_map(|&p| among(pos, crd, p)).collect()
            }
            Level::Singleton { crd } => found.into_iter().filter(|&p| crd.index(p) == c).collect(),
            Level::Hashed { pos, crd, table } => {
                let list: Vec<usize> = found.iter().flat_map(|&p| among(pos, crd, p)).collect();
                let sought = found.iter().filter_map(|&p| sought(pos, crd, table, p, c)).collect::<Vec<_>>();
                assert_eq!(list, sought, "coordinate {c} of level {l} in {t:?}");
                sought
            }
            Level::Band { pos, first } => {
                let within = |&p: &usize| interval(pos, p, c - first.index(p));
                found.iter().filter_map(within).collect()
            }
            Level::Ragged { pos } => found.iter().filter_map(|&p| interval(pos, p, c)).collect(),
            Level::Lower | Level::Upper | Level::Symmetric => {
                let within = |&p: &usize| in_triangle(level.kind(), extent, p, c as usize);
                found.iter().filter_map(within).collect()
            }
            Level::Runs { pos, crd } => {
                let reaching =
                    |&p: &usize| (pos.index(p) as usize..pos.index(p + 1) as usize).find(|&q| crd.index(q) >= c);
                found.iter().filter_map(reaching).collect()
            }
            Level::Blocked { pos, crd } => {
                let of = |&p: &usize| (pos.index(p)..pos.index(p + 1)).find(|&b| crd.index(b as usize) == c / 4);
                found.iter().filter_map(of).map(|b| (b * 4 + c % 4) as usize).collect()
            }
            Level::Vbl { pos, crd, ofs } | Level::Packbits { pos, crd, ofs } => {
                let within = |&p: &usize| in_blocks([pos, crd, ofs], p, c, level.kind() == LevelKind::Packbits);
                found.iter().filter_map(within).collect()
            }
        };
    }
    match found[..] {
        [] => t.fill,
        [p] => t.values.get(p),
        _ => panic!("{at:?} stands at {found:?} in {t:?}"),
    }
}

/// The position of the `nth` coordinate of a fiber's interval.
fn interval(pos: &Array, parent: usize, nth: i64) -> Option<usize> {
    let p = pos.index(parent) + nth;
    (nth >= 0 && p < pos.index(parent + 1)).then_some(p as usize)
}

/// The position of a coordinate in a fiber that is stored in blocks: the first block that reaches it has it, or none has.
fn in_blocks([pos, crd, ofs]: [&Array; 3], parent: usize, c: i64, packed: bool) -> Option<usize> {
    let block = (pos.index(parent) as usize..pos.index(parent + 1) as usize).find(|&b| crd.index(b) >= c)?;
    let (begin, end) = (ofs.index(block), ofs.index(block + 1));
    if packed && end == begin + 1 {
        return Some(begin as usize);
    }
    let p = end - 1 - (crd.index(block) - c);
    (p >= begin).then_some(p as usize)
}

/// The position of a coordinate in a row of a triangle, found by counting row by row.
fn in_triangle(kind: LevelKind, n: usize, parent: usize, c: usize) -> Option<usize> {
    let (square, mut row, mut c) = (parent / n, parent % n, c);
    if kind == LevelKind::Symmetric && c > row {
        (row, c) = (c, row);
    }
    let inside = |i: usize, j: usize| if kind == LevelKind::Upper { i <= j } else { j <= i };
    let all = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| inside(*i, *j));
    let place = all.clone().position(|at| at == (row, c))?;
    Some(square * all.count() + place)
}

/// The position of a coordinate below a parent, by the table alone.
fn sought(pos: &Array, crd: &Array, table: &Array, parent: usize, c: i64) -> Option<usize> {
    let size = table.len();
    let begin = hash::slot(parent as i64, c, size as i64) as usize;
    let met = (begin..begin + size).map(|at| table.index(at % size)).take_while(|p| *p >= 0);
    let here = pos.index(parent)..pos.index(parent + 1);
    met.filter(|p| here.contains(p)).map(|p| p as usize).find(|&p| crd.index(p) == c)
}

/// All coordinates in lexicographic order.
pub(super) fn coordinates(extents: &[u64]) -> impl Iterator<Item = Vec<i64>> {
    let all: u64 = extents.iter().product();
    let extents = extents.to_vec();
    (0..all).map(move |mut at| {
        let mut c = vec![0; extents.len()];
        for m in (0..extents.len()).rev() {
            c[m] = (at % extents[m]) as i64;
            at /= extents[m];
        }
        c
    })
}

/// The entries of a tensor that differ from its fill value.
///
/// # Panics
/// Unless the entries agree with the function, each once and in storage order, with flags and without.
pub(super) fn function(t: &Tensor) -> BTreeMap<Vec<i64>, Value> {
    let stored = |(at, _): &(Vec<i64>, Value)| t.format.order.iter().map(|&m| at[m]).collect::<Vec<i64>>();
    let entries: Vec<(Vec<i64>, Value)> = t.entries().collect();
    assert!(entries.windows(2).all(|w| stored(&w[0]) < stored(&w[1])), "{t:?}");
    if !t.format.levels.iter().any(|kind| kind.shares()) {
        assert_eq!(entries.len(), t.stored());
    }
    let entries: BTreeMap<Vec<i64>, Value> = entries.into_iter().collect();
    for at in coordinates(&t.extents) {
        let value = value(t, &at, true);
        assert_eq!(value, super::read::value(t, &at, false), "{at:?} without flags, in {t:?}");
        assert_eq!(value, *entries.get(&at).unwrap_or(&t.fill), "{at:?} in {t:?}");
    }
    entries.into_iter().filter(|(_, v)| *v != t.fill).collect()
}

/// Whether singletons in no chain can hold these coordinates: no parent has two. Levels above distinguish parents by their coordinates,
/// whatever their kind.
pub(super) fn holds<'c>(format: &Format, coordinates: impl Iterator<Item = &'c Vec<i64>>) -> bool {
    let mut children: BTreeMap<(usize, Vec<i64>), i64> = BTreeMap::new();
    let mut fits = true;
    for at in coordinates {
        for l in (0..format.rank()).filter(|&l| alone(format, l)) {
            let parent = (l, format.order[..l].iter().map(|&m| at[m]).collect());
            fits &= *children.entry(parent).or_insert(at[format.order[l]]) == at[format.order[l]];
        }
    }
    fits
}

/// Whether level `l` is a singleton in no chain.
fn alone(format: &Format, l: usize) -> bool {
    format.levels[l] == LevelKind::Singleton
        && match format.levels[l - 1] {
            LevelKind::Nonunique => false,
            LevelKind::Singleton => alone(format, l - 1),
            _ => true,
        }
}
