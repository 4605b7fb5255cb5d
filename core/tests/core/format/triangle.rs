//! Positions of triangles, counted row by row.

use fiberloom_core::format::triangle::{Triangle, coordinates, position, positions};

/// Row by row, each position once, there and back.
#[test]
fn positions_are_counted_row_by_row() {
    for (kind, inside) in [(Triangle::Lower, -1), (Triangle::Upper, 1)] {
        for n in 0..7u64 {
            let mut next = 0;
            for i in 0..n {
                for j in 0..n {
                    let within = (j as i64 - i as i64) * inside >= 0;
                    assert_eq!(position(kind, n, i, j), within.then_some(next), "{kind:?} {n} {i} {j}");
                    if within {
                        assert_eq!(coordinates(kind, n, next), (i, j), "{kind:?} {n} {next}");
                        next += 1;
                    }
                }
            }
            assert_eq!(positions(n), Some(next));
        }
    }
}

#[test]
fn the_largest_triangles() {
    let n = 4294967295;
    assert_eq!(positions(n), Some(9223372034707292160));
    for kind in [Triangle::Lower, Triangle::Upper] {
        let p = position(kind, n, n - 1, n - 1).unwrap();
        assert_eq!((p, coordinates(kind, n, p)), (9223372034707292159, (n - 1, n - 1)));
    }
    assert_eq!(positions(4294967296), None);
    assert_eq!(positions(u64::MAX >> 1), None);
}
