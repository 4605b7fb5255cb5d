//! Edges in a picture of a head, in a region of interest.
//!
//! ```text
//! cargo run --release --example edges -- 256 edges.svg
//! ```

mod image;

use std::fmt::Write;

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (size, picture) = match &args[..] {
        [size, picture] => (size.parse().ok().filter(|n| (8..=2048).contains(n)), picture),
        _ => return Err("expected: SIZE PICTURE.svg".to_string()),
    };
    let size: usize = size.ok_or("a size is a number from 8 to 2048")?;
    let head = image::head(size);
    // The upper half, where the ventricles are.
    let region = |i: usize, _: usize| 2 * i < size;
    let kernel = image::kernel().map_err(|e| e.to_string())?;
    let edges = image::edges(&kernel, &head, region, [60, 80]).map_err(|e| e.to_string())?;
    println!("{} of {} places", edges.len(), size * size);
    std::fs::write(picture, svg(&head, &edges)).map_err(|e| format!("{picture}: {e}"))
}

/// The picture in grey, and over it the edges.
fn svg(picture: &[Vec<u8>], edges: &[(usize, usize)]) -> String {
    let size = picture.len();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"640\" viewBox=\"0 0 {size} {size}\">\n"
    );
    let _ = writeln!(out, "<rect width=\"{size}\" height=\"{size}\" fill=\"black\"/>");
    for (i, row) in picture.iter().enumerate() {
        let mut from = 0;
        while from < size {
            let to = (from..size).find(|j| row[*j] != row[from]).unwrap_or(size);
            if row[from] > 0 {
                let (grey, width) = (row[from], to - from);
                let _ = writeln!(
                    out,
                    "<rect x=\"{from}\" y=\"{i}\" width=\"{width}\" height=\"1\" fill=\"rgb({grey},{grey},{grey})\"/>"
                );
            }
            from = to;
        }
    }
    for (i, j) in edges {
        let _ = writeln!(out, "<rect x=\"{j}\" y=\"{i}\" width=\"1\" height=\"1\" fill=\"#ff5722\"/>");
    }
    out + "</svg>\n"
}
