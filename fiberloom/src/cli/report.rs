//! What `--json` prints of a run: one object on one line.

use super::args::Run;
use super::run::Measured;
use crate::show::report::{Failure, milliseconds, min_median, object};
use crate::{Agreement, Engine, Error, Outcome, Tensor};
use fiberloom_loops::OneThread;
use serde::{Serialize, Serializer};
use std::path::Path;
use std::time::Duration;

/// A run's report.
#[derive(Serialize)]
struct Report<'a> {
    engine: &'a str,
    compile_ms: f64,
    /// To read tables, and to encode them.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encode_ms: Option<f64>,
    run_ms: Times,
    repeat: usize,
    threads: usize,
    /// The parallel loops of machine code, in the order in which they ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parallel: Vec<Parallel>,
    /// The commands by which loops were dealt out to a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<&'a [String]>,
    /// The loops of machine code that take time and are not parallel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    serial: Vec<Serial<'a>>,
    #[serde(serialize_with = "by_name")]
    results: Vec<(&'a str, Stored<'a>)>,
    /// Whether the answer is the reference semantics', if it was asked, and anything could be compared.
    checked: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<Compared>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "counted")]
    ops: Option<&'a [(&'static str, u64)]>,
    /// Of a wrong answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

/// Of an answer that is right: how many values there are, and of how many of them nothing is promised, so that they were not compared.
#[derive(Serialize)]
struct Compared {
    values: u64,
    unpromised: Unpromised,
}

/// By what keeps the language from promising anything.
#[derive(Serialize)]
struct Unpromised {
    nan: u64,
    overflow: u64,
    rounding: u64,
}

impl From<&Agreement> for Compared {
    fn from(Agreement { values, unpromised }: &Agreement) -> Compared {
        let crate::Unpromised { nan, overflow, rounding } = *unpromised;
        Compared { values: *values, unpromised: Unpromised { nan, overflow, rounding } }
    }
}

/// A parallel loop that ran: on how many threads, in how many pieces, the largest piece's share of the time, and how much faster 64 workers
/// would be, if pieces took as long.
#[derive(Serialize)]
struct Parallel {
    iterations: i64,
    threads: usize,
    pieces: usize,
    largest: f64,
    of_64: f64,
}

/// A loop that runs on one thread: its name, and what keeps it there.
#[derive(Serialize)]
struct Serial<'a> {
    name: &'a str,
    why: &'a str,
}

#[derive(Serialize)]
struct Times {
    min: f64,
    median: f64,
}

/// A result, as it is stored.
#[derive(Serialize)]
struct Stored<'a> {
    nnz: usize,
    format: String,
    extents: &'a [u64],
}

/// The report of a run, and of what comparing it with the reference semantics gave, if that was asked for.
pub fn run<'a>(
    args: &'a Run,
    measured: &'a Measured,
    outcome: &'a Outcome,
    compared: Option<&Result<Agreement, Error>>,
) -> String {
    let (min, median) = min_median(&measured.runs);
    let stored = |(name, t): &'a (String, Tensor<'static>)| (name.as_str(), Stored::of(t));
    object(&Report {
        engine: args.engine.name(),
        compile_ms: rounded(milliseconds(measured.compile), 1e4),
        read_ms: measured.tables.map(|(read, _)| rounded(milliseconds(read), 1e4)),
        encode_ms: measured.tables.map(|(_, encode)| rounded(milliseconds(encode), 1e4)),
        run_ms: Times { min: rounded(min, 1e6), median: rounded(median, 1e6) },
        repeat: args.repeat,
        threads: if args.engine == Engine::Llvm { crate::threads() } else { 1 },
        parallel: parallel(&measured.loops),
        schedule: measured.for_gpu.as_deref(),
        serial: measured.serial.iter().map(|OneThread { name, why }| Serial { name, why }).collect(),
        results: outcome.results.iter().map(stored).collect(),
        checked: compared.and_then(|c| c.as_ref().map_or(Some(false), |agreement| agreement.any().then_some(true))),
        compared: compared.and_then(|c| c.as_ref().ok()).map(Compared::from),
        ops: outcome.ops.as_deref(),
        error: compared.and_then(|c| c.as_ref().err()).map(Failure::of),
    })
}

#[cfg(feature = "llvm")]
fn parallel(loops: &[crate::LoopRun]) -> Vec<Parallel> {
    let of = |ran: &crate::LoopRun| Parallel {
        iterations: ran.iterations,
        threads: ran.threads,
        pieces: ran.pieces.len(),
        largest: rounded(ran.largest_share(), 1e4),
        of_64: rounded(ran.gain(64), 1e2),
    };
    loops.iter().map(of).collect()
}

#[cfg(not(feature = "llvm"))]
fn parallel(_: &[crate::LoopRun]) -> Vec<Parallel> {
    vec![]
}

/// What `fiberloom pack` reports: the file, and the times to read, to encode and to write.
pub fn pack(path: &Path, [read, encode, write]: [Duration; 3]) -> String {
    #[derive(Serialize)]
    struct Packed {
        pack: String,
        read_ms: f64,
        encode_ms: f64,
        pack_ms: f64,
    }
    let [read_ms, encode_ms, pack_ms] = [read, encode, write].map(|time| rounded(milliseconds(time), 1e4));
    object(&Packed { pack: path.display().to_string(), read_ms, encode_ms, pack_ms })
}

impl Stored<'_> {
    fn of<'a>(t: &'a Tensor) -> Stored<'a> {
        Stored { nnz: t.stored(), format: t.format.to_string(), extents: &t.extents }
    }
}

/// Pairs as an object, in their order.
fn by_name<S: Serializer, T: Serialize>(pairs: &[(&str, T)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

fn counted<S: Serializer>(ops: &Option<&[(&'static str, u64)]>, to: S) -> Result<S::Ok, S::Error> {
    by_name(ops.unwrap_or_default(), to)
}

/// Digits below what a clock says are left out.
fn rounded(x: f64, parts: f64) -> f64 {
    (x * parts).round() / parts
}
