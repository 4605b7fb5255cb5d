//! Index maps against arithmetic at every coordinate of small extents.

use fiberloom_core::map::{ClassId, Map, Size};

/// Variables and extents by number; extent n of variable n.
fn at(map: &Map<u32>, vars: &[i64], extents: &[i64]) -> i64 {
    let size = |s: &Size| -> i64 {
        s.terms().map(|(n, of)| n * of.iter().map(|c| extents[c.0 as usize]).product::<i64>()).sum()
    };
    size(&map.constant) + map.factors.iter().map(|(v, f)| size(f) * vars[*v as usize]).sum::<i64>()
}

/// A size is divided where each of its terms is, without rest; what cancels out leaves no term.
#[test]
fn sizes_divide_and_terms_cancel() {
    let (n, number) = (Size::unknown(ClassId(0)), Size::number);
    let rows = n.times(&number(6)).plus(&number(4));
    assert_eq!(rows.over(&number(2)), Some(n.times(&number(3)).plus(&number(2))));
    assert_eq!(rows.over(&number(4)), None);
    assert_eq!(n.times(&n).over(&n), Some(n.clone()));
    assert_eq!(rows.over(&n), None);
    let back = Map::var(0).times(&number(-1));
    assert_eq!(Map::var(0).plus(&back), Map::constant(Size::default()));
}

/// All maps of two variables that nested operators make, up to two deep.
fn maps() -> Vec<Map<u32>> {
    let extent = |n: u32| Size::unknown(ClassId(n));
    let mut all = vec![Map::var(0), Map::var(1)];
    for _ in 0..2 {
        for m in all.clone() {
            all.push(Map::slice(&m, Size::number(2), 3));
            all.push(Map::part(&m, &extent(2)));
            for inner in [extent(1), Size::number(2)] {
                all.extend([0, 1].map(|n| Map::split((&m, &Map::var(n)), &inner)));
            }
        }
    }
    all
}

fn each(mut check: impl FnMut(&[i64], &[i64])) {
    for e in 0..27 {
        let extents = [e % 3 + 1, e / 3 % 3 + 1, e / 9 + 1];
        for v in 0..extents[0] * extents[1] {
            check(&[v / extents[1], v % extents[1]], &extents);
        }
    }
}

/// Every rule is what the language says, at every coordinate of every small extent.
#[test]
fn rules_are_their_meaning() {
    let maps = maps();
    assert_eq!(maps.len(), 98);
    each(|vars, extents| {
        for m in &maps {
            let x = at(m, vars, extents);
            assert_eq!(at(&Map::slice(m, Size::number(2), 3), vars, extents), 2 + 3 * x);
            assert_eq!(at(&Map::part(m, &Size::unknown(ClassId(2))), vars, extents), x - extents[2]);
            let split = Map::split((m, &Map::var(1)), &Size::unknown(ClassId(1)));
            assert_eq!(at(&split, vars, extents), x * extents[1] + vars[1]);
            let moved = m.within(|v| Map::slice(&Map::var(v), Size::number(1), 2));
            assert_eq!(at(&moved, vars, extents), at(m, &[1 + 2 * vars[0], 1 + 2 * vars[1]], extents));
        }
    });
}

/// Where the rule applies, quotient and rest are what integers say; and it does apply to what split makes.
#[test]
fn collapse_of_split() {
    let extent = |v: u32| Size::unknown(ClassId(v));
    let applies = maps().into_iter().filter_map(|m| Some((m.clone(), m.divided(&extent(1), extent)?)));
    let applies: Vec<_> = applies.collect();
    assert_eq!(applies.len(), 7);
    each(|vars, extents| {
        for (m, (whole, rest)) in &applies {
            let x = at(m, vars, extents);
            assert_eq!(at(whole, vars, extents), x.div_euclid(extents[1]), "{m:?}");
            assert_eq!(at(rest, vars, extents), x.rem_euclid(extents[1]), "{m:?}");
        }
    });
    let split = Map::split((&Map::var(0), &Map::var(1)), &extent(1));
    assert_eq!(split.divided(&extent(1), extent), Some((Map::var(0), Map::var(1))));
    assert_eq!(split.divided(&extent(0), extent), None);
}

/// Sums and products of sizes are those of their values.
#[test]
fn sizes_are_polynomials() {
    let sizes = [Size::number(3), Size::unknown(ClassId(0)), Size::unknown(ClassId(1)), Size::number(-1)];
    let value = |s: &Size| at(&Map::constant(s.clone()), &[], &[5, 7]);
    for a in &sizes {
        for b in &sizes {
            assert_eq!(value(&a.plus(b)), value(a) + value(b));
            assert_eq!(value(&a.times(b)), value(a) * value(b));
            assert_eq!(a.times(b).over(b).as_ref(), Some(a));
        }
    }
    assert_eq!(sizes[1].plus(&sizes[1].negative()), Size::default());
}
