//! Triangles: how many go through each vertex, by intersections in which lists leap to where the others are.
//!
//! ```text
//! cargo run --release --example triangles -- tests/data/karate.mtx 1 triangles.svg
//! ```
//!
//! Vertices are drawn as far from the one that is named as there are edges between them.

mod graph;

use graph::{Drawn, example, levels, svg, triangles};

fn main() -> Result<(), String> {
    example(|graph, source| {
        let (triangles, levels) = (triangles(graph)?, levels(graph, source)?);
        let most = triangles.iter().max().copied().unwrap_or(0).max(1);
        let total = triangles.iter().sum::<usize>() / 3;
        let outermost = levels.iter().flatten().max().copied().unwrap_or(0) + 1;
        let drawn = |(n, level): (&usize, &Option<usize>)| {
            let ring = level.unwrap_or(outermost);
            Drawn { ring, size: *n as f64 / most as f64, label: n.to_string() }
        };
        let vertices: Vec<Drawn> = triangles.iter().zip(&levels).map(drawn).collect();
        Ok((format!("{total} triangles"), svg(graph, "triangles through each vertex", &vertices)))
    })
}
