//! Blocks of floats, whose turns go on with what others leave: what gradients keep of each turn, and go back through.
//!
//! ```text
//!  repeat 0…4, or as often as an extent says {     statements drawn of a list, over what turns carry (x, z, S, k) and what they read
//!    …                                             (A, b, p): products, functions, parts, scatters, gathers, folds, locals of one turn
//!    repeat 2 { … }                                perhaps a block within
//!  }
//!  y[i] = …                                        what is left, in one vector or number
//! ```

use super::subject::{Operands, Subject};
use arbitrary::Unstructured;
use fiberloom_core::algebra::{Mode, Type, Value};
use fiberloom_core::format::{Format, Tensor};
use fiberloom_core::notation::typed;
use fiberloom_loops::Options;
use fiberloom_semantics::meaning::Limits;
use std::fmt::{self, Display};

/// Steps of the meaning of one program.
const STEPS: u64 = 4_000_000;

/// What stands in blocks.
const STATEMENTS: [&str; 17] = [
    "x[i] = A[i,j] * x[j]",
    "x[i] = A[j,i] * z[j] + 0.5 * x[i]",
    "x[i] = 0.5 * x[i] * z[i] + b[i]",
    "z[i] = sin(x[i])",
    "z[i] = if x[i] > b[i] then x[i] * z[i] else 0.5 * z[i]",
    "y[i] = A[i,j] * z[j]  x[i] = x[i] + 0.25 * y[i] * y[i]",
    "x[i] += b[i] * z[i]",
    "x[0] = z[1] * b[0]",
    "z[p[i]] += 0.5 * x[i]",
    "z[i] = z[i] * x[p[i]]",
    "x[i] max= z[i]",
    "x[i] = S[i,j] * b[j]",
    "S[i,j] = 0.5 * S[i,j] * A[i,j] + S[i,j]",
    "k[] = 0.5 * sum(i: x[i] * b[i])",
    "x[i] = x[i] * k[]",
    "w[i] = x[i] * z[i]",
    "z[i] = x[i]  x[i] = 0.5 * z[i] * b[i]",
];

/// What is left.
const RESULTS: [&str; 5] = [
    "r[i] = x[i] * z[i]",
    "r[] = sum(i: x[i] * b[i]) + k[]",
    "r[i] = x[i] + S[i,j] * z[j]",
    "r[i] = w[i] * b[i] + x[i]",
    "x[i] = x[i] * x[i]  r[i] = x[i] * z[i]",
];

/// A program with a block, and its data.
#[derive(Clone, Debug)]
pub struct Turned {
    extent: u64,
    /// Formats of vectors and matrices, by name.
    formats: Vec<(&'static str, usize, &'static str)>,
    /// Before the block.
    before: Vec<&'static str>,
    /// How often it runs.
    turns: String,
    body: Vec<String>,
    result: &'static str,
    values: u64,
}

impl Turned {
    /// The program of these bytes.
    pub fn any(u: &mut Unstructured) -> Turned {
        let mut below = |n: usize| u.int_in_range(0..=n - 1).unwrap_or(0);
        let vector = |n: usize| ["dense", "dense", "dense", "sparse"][n];
        let matrix = |n: usize| ["csr", "csr", "csc", "dense", "coo", "dcsr"][n];
        let formats = ["A", "S"].map(|name| (name, 2, matrix(below(6))));
        let formats =
            formats.into_iter().chain(["x", "z", "b", "w", "y"].map(|name| (name, 1, vector(below(4))))).collect();
        let before = (0..below(2)).map(|_| STATEMENTS[below(STATEMENTS.len())]).collect();
        let turns = ["2", "3", "N", "1", "4", "0", "2", "3"][below(8)].to_string();
        let mut body = vec![];
        for _ in 0..1 + below(3) {
            let one = STATEMENTS[below(STATEMENTS.len())];
            body.push(match below(6) {
                0 => format!("repeat {} {{ {one} }}", ["2", "N", "3"][below(3)]),
                _ => one.to_string(),
            });
        }
        let result = RESULTS[below(RESULTS.len())];
        let extent = 2 + below(3) as u64;
        Turned { extent, formats, before, turns, body, result, values: u.arbitrary().unwrap_or(0) }
    }

    /// A tensor of floats, some of whose values are drawn.
    fn drawn(&self, rank: usize, format: &str, seed: &mut u64) -> Option<Tensor<'static>> {
        let mut next = |n: u64| {
            *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((*seed >> 33) * n) >> 31
        };
        let extent = self.extent;
        let (extents, count) = (vec![extent; rank], extent.pow(rank as u32));
        let places = (0..count).map(|n| (0..rank).rev().map(move |m| (n / extent.pow(m as u32) % extent) as i64));
        let mut entries = vec![];
        for at in places {
            let (there, value) = (next(3) > 0, next(9) as f64 / 4.0 - 1.0);
            if there {
                entries.push((at.collect::<Vec<i64>>(), Value::from_f64(Type::F64, value)));
            }
        }
        let format = Format::named(format, rank)?;
        Tensor::from_entries(extents, format, Value::zero(Type::F64), Type::I32, Type::I32, entries).ok()
    }
}

impl Display for Turned {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (name, rank, format) in &self.formats {
            writeln!(f, "tensor {name}: f64[{}] {format}", vec!["N"; *rank].join(", "))?;
        }
        writeln!(f, "tensor p: i64[N]\ntensor k: f64[]")?;
        self.before.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        writeln!(f, "repeat {} {{", self.turns)?;
        self.body.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        writeln!(f, "}}\n{}", self.result)
    }
}

impl Subject for Turned {
    fn mode(&self) -> Mode {
        Mode::Algebraic
    }

    fn options(&self, _typed: &typed::Program) -> Options {
        Options::default()
    }

    fn limits(&self) -> Limits {
        Limits { steps: STEPS }
    }

    fn operands(&self, typed: &typed::Program) -> Option<Operands> {
        let mut seed = self.values;
        let mut all = Operands::new();
        for (name, rank, format) in &self.formats {
            all.insert(name.to_string(), self.drawn(*rank, format, &mut seed)?);
        }
        all.insert("k".to_string(), self.drawn(0, "dense", &mut seed)?);
        let at = |i: i64| (vec![i], Value::i64((self.values as i64 >> i & 7) % self.extent as i64));
        let places = (0..self.extent as i64).map(at);
        let dense = Format::dense(1);
        let places =
            Tensor::from_entries(vec![self.extent], dense, Value::i64(0), Type::I32, Type::I32, places).ok()?;
        all.insert("p".to_string(), places);
        let wanted: Vec<&str> =
            typed.inputs().into_iter().chain(typed.unread()).map(|t| typed.tensors[t.index()].name.as_str()).collect();
        all.retain(|name, _| wanted.contains(&name.as_str()));
        Some(all)
    }

    fn shortened(&self, _extent: u64) -> Option<Turned> {
        None
    }

    fn redrawn(&self, u: &mut Unstructured) -> Turned {
        Turned { values: u.arbitrary().unwrap_or(0), ..self.clone() }
    }

    fn left_out(&self, _kind: &str, _words: &str) -> Option<&'static str> {
        None
    }

    fn smaller(&self) -> Vec<Turned> {
        let without = |n: usize| {
            let mut body = self.body.clone();
            body.remove(n);
            Turned { body, ..self.clone() }
        };
        let mut all: Vec<Turned> = (0..self.body.len()).filter(|_| self.body.len() > 1).map(without).collect();
        all.extend((!self.before.is_empty()).then(|| Turned { before: vec![], ..self.clone() }));
        all.extend((self.turns != "2").then(|| Turned { turns: "2".to_string(), ..self.clone() }));
        all
    }

    fn constructs(&self) -> Vec<String> {
        let mut all = vec!["a block".to_string()];
        all.extend(self.body.iter().any(|line| line.starts_with("repeat")).then(|| "a block in a block".to_string()));
        all
    }

    fn data(&self) -> String {
        format!("N = {}, values of {}", self.extent, self.values)
    }
}
