//! Bellman-Ford: the shortest ways from one vertex, over (min, +).
//!
//! ```text
//! cargo run --release --example bellman_ford -- tests/data/karate.mtx 1 distances.svg
//! ```

mod graph;

use graph::{Drawn, distances, example, svg};

fn main() -> Result<(), String> {
    example(|graph, source| {
        let distances = distances(graph, source)?;
        let far = distances.iter().copied().filter(|d| d.is_finite()).fold(1.0, f64::max);
        let said: Vec<String> = distances.iter().enumerate().map(|(v, d)| format!("{}: {d}", v + 1)).collect();
        let drawn = |d: &f64| {
            // In ten steps, and one further what is not reached.
            let ring = if d.is_finite() { (d / far * 10.0).ceil() as usize } else { 11 };
            Drawn { ring, size: 1.0 - ring as f64 / 11.0, label: d.to_string() }
        };
        let vertices: Vec<Drawn> = distances.iter().map(drawn).collect();
        let title = format!("shortest ways from vertex {}: circles are tenths of the longest", source + 1);
        Ok((said.join("\n"), svg(graph, &title, &vertices)))
    })
}
