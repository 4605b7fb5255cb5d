//! Edges in a picture of a head, as magnetic resonance shows it.
//!
//! ```text
//!   E = (Img > t2 ∧ Roi) ⊕ (Img > t1 ∧ Roi)      what is brighter than t1, and not brighter than t2, in a region of interest
//! ```
//!
//! The functions paper's section 8.4.1. The picture is Shepp and Logan's phantom (*The Fourier reconstruction of a head section*, 1974):
//! ten ellipses whose grey values add up. Its background is 0, which is not stored.

use fiberloom::{Error, Format, Kernel, Options, Program, Tensor, Type, Value};

/// Grey value, half axes, middle, and turn in degrees, of a head that is 2 wide and high; values changed for contrast, as by Toft (1996).
const ELLIPSES: [[f64; 6]; 10] = [
    [1.0, 0.69, 0.92, 0.0, 0.0, 0.0],
    [-0.8, 0.6624, 0.874, 0.0, -0.0184, 0.0],
    [-0.2, 0.11, 0.31, 0.22, 0.0, -18.0],
    [-0.2, 0.16, 0.41, -0.22, 0.0, 18.0],
    [0.1, 0.21, 0.25, 0.0, 0.35, 0.0],
    [0.1, 0.046, 0.046, 0.0, 0.1, 0.0],
    [0.1, 0.046, 0.046, 0.0, -0.1, 0.0],
    [0.1, 0.046, 0.023, -0.08, -0.605, 0.0],
    [0.1, 0.023, 0.023, 0.0, -0.606, 0.0],
    [0.1, 0.023, 0.046, 0.06, -0.605, 0.0],
];

/// A picture of `size` rows and columns, from 0 to 255.
pub fn head(size: usize) -> Vec<Vec<u8>> {
    let place = |n: usize| (2 * n + 1) as f64 / size as f64 - 1.0;
    let grey = |i: usize, j: usize| -> f64 {
        ELLIPSES.iter().filter(|ellipse| inside(ellipse, place(j), -place(i))).map(|ellipse| ellipse[0]).sum()
    };
    (0..size).map(|i| (0..size).map(|j| (255.0 * grey(i, j)).round().clamp(0.0, 255.0) as u8).collect()).collect()
}

fn inside([_, a, b, x0, y0, turn]: &[f64; 6], x: f64, y: f64) -> bool {
    let (sin, cos) = turn.to_radians().sin_cos();
    let (x, y) = (x - x0, y - y0);
    let (along, across) = (x * cos + y * sin, y * cos - x * sin);
    (along / a).powi(2) + (across / b).powi(2) <= 1.0
}

/// The kernel; one for pictures of all sizes.
pub fn kernel() -> Result<Kernel, Error> {
    let text = "tensor Img: u8[I, J] csr
                tensor Roi: bool[I, J] csr
                tensor t1: u8[]
                tensor t2: u8[]
                tensor E: bool[I, J] csr
                E[i,j] = (Img[i,j] > t2[] && Roi[i,j]) ^ (Img[i,j] > t1[] && Roi[i,j])";
    Program::parse(text)?.compile(&Options::default())
}

/// A picture's, or a region's, tensor.
pub fn tensor(size: usize, ty: Type, value: impl Fn(usize, usize) -> Value) -> Tensor<'static> {
    let places = (0..size).flat_map(|i| (0..size).map(move |j| (i, j)));
    let entries = places.map(|(i, j)| (vec![i as i64, j as i64], value(i, j))).filter(|(_, v)| *v != Value::zero(ty));
    let format = Format::named("csr", 2).expect("a format of two modes");
    Tensor::from_entries(vec![size as u64; 2], format, Value::zero(ty), Type::I32, Type::I32, entries)
        .expect("each place once")
}

/// Where the picture is brighter than one threshold and not brighter than the other, in a region.
pub fn edges(
    kernel: &Kernel,
    picture: &[Vec<u8>],
    region: impl Fn(usize, usize) -> bool,
    [t1, t2]: [u8; 2],
) -> Result<Vec<(usize, usize)>, Error> {
    let number = |x: u8| Value::from_i128(Type::U8, x.into());
    let img = tensor(picture.len(), Type::U8, |i, j| number(picture[i][j]));
    let roi = tensor(picture.len(), Type::Bool, |i, j| Value::bool(region(i, j)));
    let scalar = |x: u8| {
        Tensor::from_entries(vec![], Format::dense(0), number(0), Type::I32, Type::I32, [(vec![], number(x))])
            .expect("one value")
    };
    let outcome = kernel.run(&[("Img", &img), ("Roi", &roi), ("t1", &scalar(t1)), ("t2", &scalar(t2))])?;
    let entries = outcome["E"].entries().filter(|(_, v)| v.is_true());
    Ok(entries.map(|(at, _)| (at[0] as usize, at[1] as usize)).collect())
}
