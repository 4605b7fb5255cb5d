//! Pictures: a pixel a place, black ones not stored.

use super::{Arrays, Random};
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::Read;

/// The lines of a picture of a digit, or of clothes.
const SIDE: usize = 28;

/// The greatest value of a pixel of eight bits.
const WHITE: f64 = 255.0;

/// The places of a matrix at which a value is not 0.
fn drawn(extents: [usize; 2], value: impl Fn(usize, usize) -> f64) -> Arrays {
    let (mut pos, mut crd, mut values) = (vec![0], vec![], vec![]);
    for i in 0..extents[0] {
        for (j, x) in (0..extents[1]).map(|j| (j, value(i, j))).filter(|(_, x)| *x != 0.0) {
            crd.push(j as i32);
            values.push(x);
        }
        pos.push(crd.len() as i32);
    }
    Arrays::csr(extents, pos, crd, values)
}

/// A picture with about so many places that are not black, and its upper half as a region of interest: ellipses that overlap, each
/// with a grey value of its own, as in a head that magnetic resonance shows.
pub fn head(entries: usize, seed: u64) -> [Arrays; 2] {
    let mut random = Random::new(seed);
    // Half of it is a head.
    let size = ((2 * entries) as f64).sqrt().ceil().max(4.0) as usize;
    let mut between = |lo: f64, hi: f64| lo + (hi - lo) * (random.value() + 1.0) / 2.0;
    let skull = [0.0, 0.0, 0.92, 0.69, 0.5];
    let inside: Vec<[f64; 5]> = (0..24)
        .map(|_| [between(-0.6, 0.6), between(-0.4, 0.4), between(0.02, 0.3), between(0.02, 0.3), between(-0.1, 0.2)])
        .collect();
    let place = |n: usize| (2 * n + 1) as f64 / size as f64 - 1.0;
    let grey = |i: usize, j: usize| -> f64 {
        let holds = |[y, x, a, b, _]: &[f64; 5]| ((place(i) - y) / a).powi(2) + ((place(j) - x) / b).powi(2) <= 1.0;
        if !holds(&skull) {
            return 0.0;
        }
        let sum: f64 = inside.iter().chain([&skull]).filter(|e| holds(e)).map(|e| e[4]).sum();
        sum.clamp(0.01, 1.0)
    };
    [drawn([size, size], grey), drawn([size, size], |i, _| (2 * i < size) as u8 as f64)]
}

/// A square of so many pixels.
fn side(pixels: usize) -> usize {
    ((pixels as f64).sqrt() as usize).max(4)
}

/// Values between -1 and 1 at so many of a hundred pixels, anywhere.
pub(super) fn noise(pixels: usize, percent: u8, random: &mut Random) -> Arrays {
    let side = side(pixels);
    let places: Vec<f64> =
        (0..side * side).map(|_| if random.below(100) < percent as usize { random.value() } else { 0.0 }).collect();
    drawn([side, side], |i, j| places[i * side + j])
}

/// What a pen leaves on a pixel at this distance from its line: grey at its edge.
fn ink(distance: f64, width: f64) -> f64 {
    (WHITE * (width - distance).clamp(0.0, 1.0)).round()
}

/// Four ellipses, drawn with a pen that is three pixels wide.
pub(super) fn sketch(pixels: usize, random: &mut Random) -> Arrays {
    let side = side(pixels);
    let mut between = |lo: f64, hi: f64| side as f64 * (lo + (hi - lo) * (random.value() + 1.0) / 2.0);
    let drawn_with: Vec<[f64; 4]> =
        (0..4).map(|_| [between(0.3, 0.7), between(0.3, 0.7), between(0.05, 0.3), between(0.05, 0.3)]).collect();
    drawn([side, side], |i, j| {
        let near = drawn_with.iter().map(|[y, x, a, b]| {
            let radius = (((i as f64 - y) / a).powi(2) + ((j as f64 - x) / b).powi(2)).sqrt();
            (radius - 1.0).abs() * a.min(*b)
        });
        ink(near.fold(f64::INFINITY, f64::min), 2.0)
    })
}

/// Pictures of a stroke with three corners, in the middle.
pub(super) fn digits(pixels: usize, random: &mut Random) -> Arrays {
    let count = (pixels / (SIDE * SIDE)).max(2);
    let strokes: Vec<[[f64; 2]; 4]> =
        (0..count).map(|_| [0; 4].map(|_| [0; 2].map(|_| 5.0 + random.below(18) as f64))).collect();
    drawn([count, SIDE * SIDE], |picture, pixel| {
        let at = [(pixel / SIDE) as f64, (pixel % SIDE) as f64];
        let near = strokes[picture].windows(2).map(|ends| distance(at, ends[0], ends[1]));
        ink(near.fold(f64::INFINITY, f64::min), 1.7)
    })
}

/// The distance from a point to a line between two.
fn distance(at: [f64; 2], a: [f64; 2], b: [f64; 2]) -> f64 {
    let along = [b[0] - a[0], b[1] - a[1]];
    let length = along[0] * along[0] + along[1] * along[1];
    let share = ((at[0] - a[0]) * along[0] + (at[1] - a[1]) * along[1]) / length.max(1e-9);
    let share = share.clamp(0.0, 1.0);
    (at[0] - a[0] - share * along[0]).hypot(at[1] - a[1] - share * along[1])
}

/// Where Debian's package `dataset-fashion-mnist` has them: four numbers of 32 bits, then a byte a pixel.
const CLOTHES: &str = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz";

/// The first photographs.
pub(super) fn clothes(pixels: usize) -> Result<Arrays, String> {
    const HEAD: usize = 16;
    let count = (pixels / (SIDE * SIDE)).clamp(2, 60_000);
    let mut bytes = vec![0; HEAD + count * SIDE * SIDE];
    let file = File::open(CLOTHES).map_err(|e| format!("{CLOTHES}, of `dataset-fashion-mnist`: {e}"))?;
    GzDecoder::new(file).read_exact(&mut bytes).map_err(|e| format!("{CLOTHES}: {e}"))?;
    Ok(drawn([count, SIDE * SIDE], |picture, pixel| bytes[HEAD + picture * SIDE * SIDE + pixel] as f64))
}
