//! Breadth-first search: how many edges each vertex is away from one.
//!
//! ```text
//! cargo run --release --example bfs -- tests/data/karate.mtx 1 bfs.svg
//! ```

mod graph;

use graph::{Drawn, example, levels, svg};

fn main() -> Result<(), String> {
    example(|graph, source| {
        let levels = levels(graph, source)?;
        let last = levels.iter().flatten().max().copied().unwrap_or(0);
        let said: Vec<String> = (0..=last)
            .map(|level| format!("{level} away: {}", levels.iter().filter(|l| **l == Some(level)).count()))
            .collect();
        let drawn = |(v, level): (usize, &Option<usize>)| {
            let ring = level.unwrap_or(last + 1);
            Drawn { ring, size: 1.0 - ring as f64 / (last + 1) as f64, label: (v + 1).to_string() }
        };
        let vertices: Vec<Drawn> = levels.iter().enumerate().map(drawn).collect();
        let title = format!("edges between each vertex and vertex {}", source + 1);
        Ok((said.join("\n"), svg(graph, &title, &vertices)))
    })
}
