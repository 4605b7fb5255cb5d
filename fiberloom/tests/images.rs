//! The edges example, against the same place by place.

#[path = "../examples/image/mod.rs"]
mod image;

use image::{edges, head, kernel};

#[test]
fn edges_are_where_the_thresholds_differ_in_the_region() {
    let kernel = kernel().unwrap();
    for (size, thresholds) in [(16, [40, 60]), (64, [40, 60]), (64, [10, 200]), (33, [60, 40])] {
        let picture = head(size);
        let region = |i: usize, j: usize| i < size / 2 && j > 2;
        let places = (0..size).flat_map(|i| (0..size).map(move |j| (i, j)));
        let [t1, t2] = thresholds;
        let is_edge = |x: u8| (x > t2) != (x > t1);
        let wanted: Vec<_> = places.filter(|&(i, j)| region(i, j) && is_edge(picture[i][j])).collect();
        assert!(!wanted.is_empty());
        assert_eq!(edges(&kernel, &picture, region, thresholds).unwrap(), wanted);
    }
}

/// What is around the head is not stored, and the skull is brighter than what is in it.
#[test]
fn a_head_is_drawn() {
    let picture = head(64);
    assert_eq!((picture[0][0], picture[32][10], picture[32][32]), (0, 255, 51));
}
