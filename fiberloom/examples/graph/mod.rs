//! What the graph examples share: a graph from a file, three walks over it as array programs, and a picture.
//!
//! ```text
//!   levels      breadth-first search: a frontier, over booleans, masked by what has been seen
//!   distances   Bellman-Ford: rows and columns over (min, +), until nothing is shorter
//!   triangles   pairs of neighbours that are neighbours: an intersection in which the lists leap
//! ```
//!
//! A step is a kernel, compiled once; what it makes is an operand of the next.

// Each example uses a part of it.
#![allow(dead_code)]

use fiberloom::{Error, Format, Kernel, Options, Outcome, Program, Tensor, Type, Value};
use std::fmt::Write;
use std::path::Path;

/// An undirected graph.
pub struct Graph {
    /// Its vertices are the coordinates of both modes; 1.0 where there is an edge.
    pub adjacency: Tensor<'static>,
    /// How many vertices there are.
    pub vertices: usize,
}

/// The graph of a symmetric matrix in a file.
pub fn read(path: &Path) -> Result<Graph, Error> {
    let program =
        Program::parse("tensor A: f64[N, N] csr\ntensor n: i64[]\nn[] = sum(i, j: if A[i,j] != 0.0 then 1 else 0)")?;
    let (_, adjacency) = program.read(&[("A", path)], &Default::default())?.remove(0);
    let vertices = adjacency.extents[0] as usize;
    Ok(Graph { adjacency, vertices })
}

impl Graph {
    /// Its edges, the smaller vertex first.
    pub fn edges(&self) -> Vec<(usize, usize)> {
        let ends = self.adjacency.entries().map(|(at, _)| (at[0] as usize, at[1] as usize));
        ends.filter(|(i, j)| i < j).collect()
    }
}

fn kernel(text: &str) -> Result<Kernel, Error> {
    Program::parse(text)?.compile(&Options::default())
}

fn taken(outcome: &mut Outcome, name: &str) -> Tensor<'static> {
    outcome.take(name).expect("a result of the program")
}

/// A vector of a value for each vertex, as many as the graph has.
fn each(graph: &Graph, value: impl Fn(usize) -> Value) -> Tensor<'static> {
    let (n, zero) = (graph.vertices, Value::zero(value(0).ty()));
    let entries = (0..n).map(|v| (vec![v as i64], value(v)));
    Tensor::from_entries(vec![n as u64], Format::dense(1), zero, Type::I32, Type::I32, entries).expect("one a vertex")
}

/// How many edges each vertex is away from a source; `None` where there is no way.
pub fn levels(graph: &Graph, source: usize) -> Result<Vec<Option<usize>>, Error> {
    let step = kernel(
        "tensor A: f64[N, N] csr
         tensor frontier: bool[N] sparse
         tensor seen: bool[N] dense
         tensor next: bool[N] sparse
         tensor reached: bool[N] dense
         next[j] = any(i: frontier[i] && A[i,j] != 0.0) && !seen[j]
         reached[j] = seen[j] || next[j]",
    )?;
    let none = Value::bool(false);
    let sparse = Format::named("sparse", 1).expect("a format of one mode");
    let start = [(vec![source as i64], Value::bool(true))];
    let mut frontier = Tensor::from_entries(vec![graph.vertices as u64], sparse, none, Type::I32, Type::I32, start)
        .expect("one vertex");
    let mut seen = each(graph, |v| Value::bool(v == source));
    let mut levels = vec![None; graph.vertices];
    for level in 0.. {
        let reached: Vec<usize> =
            frontier.entries().filter(|(_, v)| v.is_true()).map(|(at, _)| at[0] as usize).collect();
        if reached.is_empty() {
            break;
        }
        reached.into_iter().for_each(|v| levels[v] = Some(level));
        let mut outcome = step.run(&[("A", &graph.adjacency), ("frontier", &frontier), ("seen", &seen)])?;
        (frontier, seen) = (taken(&mut outcome, "next"), taken(&mut outcome, "reached"));
    }
    Ok(levels)
}

/// The shortest ways from a source, where an edge is as long as its ends differ in their number of neighbours, and 1 more;
/// infinite where there is none.
pub fn distances(graph: &Graph, source: usize) -> Result<Vec<f64>, Error> {
    let lengths = kernel(
        "tensor A: f64[N, N] csr
         tensor degree: f64[N] dense
         tensor W: f64[N, N] fill inf csr
         degree[i] = sum(j: A[i,j])
         W[i,j] = if A[i,j] != 0.0 then 1.0 + abs(degree[i] - degree[j]) else inf",
    )?;
    let step = kernel(
        "tensor W: f64[N, N] fill inf csr
         tensor d: f64[N] dense
         tensor e: f64[N] dense
         tensor shorter: bool[]
         e[j] = min(d[j], min(i: d[i] + W[i,j]))
         shorter[] = any(j: e[j] < d[j])",
    )?;
    let w = taken(&mut lengths.run(&[("A", &graph.adjacency)])?, "W");
    let far = |v: usize| if v == source { 0.0 } else { f64::INFINITY };
    let mut d = each(graph, |v| Value::from_f64(Type::F64, far(v)));
    loop {
        let mut outcome = step.run(&[("W", &w), ("d", &d)])?;
        let shorter = taken(&mut outcome, "shorter").entries().any(|(_, v)| v.is_true());
        d = taken(&mut outcome, "e");
        if !shorter {
            return Ok((0..graph.vertices).map(|v| d.values.get(v).as_f64()).collect());
        }
    }
}

/// In how many triangles each vertex is.
pub fn triangles(graph: &Graph) -> Result<Vec<usize>, Error> {
    let count = kernel(
        "tensor A: f64[N, N] csr
         tensor t: i64[N] dense
         t[i] = sum(j, k: if A[i,j] != 0.0 && A[j,k] != 0.0 && A[i,k] != 0.0 then 1 else 0)
         schedule { protocol(A[k], gallop); }",
    )?;
    let t = taken(&mut count.run(&[("A", &graph.adjacency)])?, "t");
    // Each is found once for either order of the other two.
    Ok((0..graph.vertices).map(|v| t.values.get(v).as_f64() as usize / 2).collect())
}

/// A vertex in a picture.
pub struct Drawn {
    /// On which circle, from the middle on.
    pub ring: usize,
    /// How large, from 0 to 1.
    pub size: f64,
    /// What is written in it.
    pub label: String,
}

/// The graph as a picture: vertices on circles around the middle, those of a circle in the order of their numbers.
pub fn svg(graph: &Graph, title: &str, vertices: &[Drawn]) -> String {
    let (middle, step) = (330.0, 280.0 / vertices.iter().map(|v| v.ring).max().unwrap_or(0).max(1) as f64);
    let place = |v: usize| {
        let ring = vertices[v].ring;
        let on: Vec<usize> = (0..vertices.len()).filter(|u| vertices[*u].ring == ring).collect();
        let turn =
            on.iter().position(|u| *u == v).expect("it is on its circle") as f64 / on.len() as f64 + 0.06 * ring as f64;
        let (sin, cos) = (turn * std::f64::consts::TAU).sin_cos();
        let radius = ring as f64 * step;
        (middle + radius * cos, middle + 20.0 + radius * sin)
    };
    let mut out = String::new();
    let text = "font-family=\"sans-serif\" text-anchor=\"middle\"";
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"660\" height=\"700\" viewBox=\"0 0 660 700\">"
    );
    let _ = writeln!(
        out,
        "<rect width=\"660\" height=\"700\" fill=\"white\"/><text x=\"330\" y=\"24\" font-size=\"16\" {text}>{title}</text>"
    );
    for (i, j) in graph.edges() {
        let ((x, y), (u, v)) = (place(i), place(j));
        let _ = writeln!(out, "<line x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{u:.1}\" y2=\"{v:.1}\" stroke=\"#bbb\"/>");
    }
    for (v, drawn) in vertices.iter().enumerate() {
        let ((x, y), radius) = (place(v), 9.0 + 12.0 * drawn.size);
        let hue = 210.0 - 170.0 * drawn.size;
        let _ = writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"hsl({hue:.0},70%,75%)\" stroke=\"#444\"/>"
        );
        let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{:.1}\" font-size=\"10\" {text}>{}</text>", y + 3.5, drawn.label);
    }
    out + "</svg>\n"
}

/// Reads the graph and the source that the arguments name, and writes a picture where they say.
pub fn example(draw: impl Fn(&Graph, usize) -> Result<(String, String), Error>) -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (path, source, picture) = match &args[..] {
        [path, source, picture] => (path, source.parse::<usize>().ok().filter(|n| *n > 0), picture),
        _ => return Err("expected: GRAPH.mtx VERTEX PICTURE.svg, vertices from 1 on".to_string()),
    };
    let graph = read(Path::new(path)).map_err(|e| e.to_string())?;
    let source =
        source.filter(|n| *n <= graph.vertices).ok_or(format!("a vertex from 1 to {} expected", graph.vertices))?;
    let (said, drawn) = draw(&graph, source - 1).map_err(|e| e.to_string())?;
    println!("{said}");
    std::fs::write(picture, drawn).map_err(|e| format!("{picture}: {e}"))
}
