//! The graph examples, against the same done plainly on a matrix of flags.

#[path = "../examples/graph/mod.rs"]
mod graph;

use graph::{Graph, distances, levels, read, triangles};
use std::path::Path;

fn karate() -> (Graph, Vec<Vec<bool>>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/karate.mtx");
    let graph = read(&path).unwrap();
    let mut edges = vec![vec![false; graph.vertices]; graph.vertices];
    graph.edges().iter().for_each(|&(i, j)| (edges[i][j], edges[j][i]) = (true, true));
    (graph, edges)
}

/// The shortest ways by looking at every edge as often as there are vertices.
fn shortest(edges: &[Vec<bool>], source: usize, length: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let n = edges.len();
    let mut all: Vec<f64> = (0..n).map(|v| if v == source { 0.0 } else { f64::INFINITY }).collect();
    for _ in 0..n {
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| edges[*i][*j]) {
            all[j] = all[j].min(all[i] + length(i, j));
        }
    }
    all
}

#[test]
fn breadth_first_search_counts_edges() {
    let (graph, edges) = karate();
    for source in [0, 16, 33] {
        let found = levels(&graph, source).unwrap();
        let wanted = shortest(&edges, source, |_, _| 1.0);
        assert!(found.iter().zip(wanted).all(|(level, d)| level.map(|l| l as f64) == Some(d)), "from {source}");
    }
}

#[test]
fn ways_are_the_shortest() {
    let (graph, edges) = karate();
    let degree = |v: usize| edges[v].iter().filter(|e| **e).count() as f64;
    for source in [0, 11] {
        let wanted = shortest(&edges, source, |i, j| 1.0 + (degree(i) - degree(j)).abs());
        assert_eq!(distances(&graph, source).unwrap(), wanted);
    }
}

/// 45 of them, as is known of this graph.
#[test]
fn triangles_are_counted_at_each_vertex() {
    let (graph, edges) = karate();
    let n = graph.vertices;
    let through = |i: usize| {
        let pairs = (0..n).flat_map(|j| (j + 1..n).map(move |k| (j, k)));
        pairs.filter(|&(j, k)| edges[i][j] && edges[i][k] && edges[j][k]).count()
    };
    let found = triangles(&graph).unwrap();
    assert_eq!(found, (0..n).map(through).collect::<Vec<_>>());
    assert_eq!(found.iter().sum::<usize>(), 3 * 45);
}
