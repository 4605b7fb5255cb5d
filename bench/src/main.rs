//! `cargo xtask bench`: a table of times on standard output, progress on standard error; JSON and a plot where they are
//! asked for.

use fiberloom_bench::arrays::Arrays;
use fiberloom_bench::compile_time;
use fiberloom_bench::generate::{ALL, Kind};
use fiberloom_bench::kernels::{Kernel, compare, kernels};
use fiberloom_bench::measure::PAIRS;
use fiberloom_bench::memory;
use fiberloom_bench::peer::Peers;
use fiberloom_bench::plot;
use fiberloom_bench::relations;
use fiberloom_bench::report::{self, Outcome, Row};
use std::collections::HashMap;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "\
usage: cargo xtask bench relations …    programs over labels beside databases; `cargo xtask bench relations --help`
       cargo xtask bench [--only NAME,…] [--sizes N,…] [--families NAME,…] [--python PROGRAM] [--json FILE] [--svg FILE]

  --only NAME,…      kernels, or `compile` for compile times; all unless given
  --sizes N,…        nonzeros of the matrices; 10000,100000,1000000,10000000 unless given
  --families NAME,…  uniform, power-law, stencil, banded, and what else a kernel is for; all unless given
  --python PROGRAM   the Python whose SciPy (MKL, GraphBLAS) is measured too; `none` for no peers; python3 unless given
  --threads N        on so many threads, beside fiberloom on one in the place of the loops by hand; 1 unless given
  --json FILE        also writes the numbers there
  --svg FILE         also draws the ratios there";

/// A case is left out when it would take longer than this a call, judged by a smaller size and quadratic growth.
const LONGEST_CALL: Duration = Duration::from_secs(60);

/// Small matrices are drawn anew until they have so many entries together.
const ENTRIES: usize = 1_000_000;

struct Args {
    only: Vec<String>,
    sizes: Vec<usize>,
    families: Vec<Kind>,
    python: String,
    threads: usize,
    json: Option<String>,
    svg: Option<String>,
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).peekable();
    let outcome = match args.next_if_eq("relations") {
        Some(_) => relations::run(args),
        None => parse(args).and_then(|args| args.map_or(Ok(()), |args| bench(&args))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The arguments, or none if only the usage was asked for.
fn parse(mut args: impl Iterator<Item = String>) -> Result<Option<Args>, String> {
    let mut parsed = Args {
        only: Vec::new(),
        sizes: vec![10_000, 100_000, 1_000_000, 10_000_000],
        families: ALL.to_vec(),
        python: "python3".to_string(),
        threads: 1,
        json: None,
        svg: None,
    };
    while let Some(name) = args.next() {
        if name == "--help" {
            println!("{USAGE}\n\nkernels: {}", kernels().map(|k| k.name).collect::<Vec<_>>().join(", "));
            return Ok(None);
        }
        let value = args.next().ok_or(USAGE)?;
        match name.as_str() {
            "--only" => parsed.only.extend(value.split(',').map(known_kernel).collect::<Result<Vec<_>, _>>()?),
            "--sizes" => parsed.sizes = value.split(',').map(size).collect::<Result<_, _>>()?,
            "--families" => parsed.families = value.split(',').map(family).collect::<Result<_, _>>()?,
            "--python" => parsed.python = value,
            "--threads" => parsed.threads = threads(&value)?,
            "--json" => parsed.json = Some(value),
            "--svg" => parsed.svg = Some(value),
            _ => return Err(USAGE.to_string()),
        }
    }
    parsed.sizes.sort_unstable();
    Ok(Some(parsed))
}

fn known_kernel(name: &str) -> Result<String, String> {
    let known = name == "compile" || kernels().any(|k| k.name == name);
    let names = || kernels().map(|k| k.name).collect::<Vec<_>>().join(", ");
    if known { Ok(name.to_string()) } else { Err(format!("`{name}` is no kernel: {}, compile", names())) }
}

fn size(text: &str) -> Result<usize, String> {
    let size = text.parse().ok().filter(|n| (1000..=100_000_000).contains(n));
    size.ok_or_else(|| format!("`{text}` is no size: 1000 to 100000000"))
}

fn threads(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok().filter(|n| (1..=1024).contains(n));
    threads.ok_or_else(|| format!("`{text}` is no number of threads: 1 to 1024"))
}

fn family(name: &str) -> Result<Kind, String> {
    let kind = ALL.into_iter().find(|k| k.name() == name);
    kind.ok_or_else(|| format!("`{name}` is no family: {}", ALL.map(Kind::name).join(", ")))
}

fn bench(args: &Args) -> Result<(), String> {
    memory::keep_what_is_freed();
    fiberloom::set_threads(args.threads);
    let wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|o| o == name);
    let mut peers = match args.python.as_str() {
        "none" => Err("not asked for".to_string()),
        python => Peers::start(python, args.threads),
    };
    let libraries = peers.as_ref().map(|p| p.libraries.clone()).map_err(String::clone);
    let (mut rows, mut matrices) = (Vec::new(), HashMap::new());
    let kernels: Vec<&Kernel> = kernels().filter(|k| wanted(k.name)).collect();
    if !kernels.is_empty() {
        println!("{}", report::head(&libraries, args.threads));
    }
    for (n, kernel) in kernels.iter().enumerate() {
        let of_kernel =
            run_kernel(kernel, args, peers.as_mut().ok(), &mut matrices, &format!("{}/{}", n + 1, kernels.len()));
        println!("{}", report::summary(&of_kernel, args.threads));
        rows.extend(of_kernel);
    }
    print!("{}", report::behind(&rows, args.threads));
    let compile = if wanted("compile") { compile_time::all().map_err(|e| e.to_string())? } else { vec![] };
    for (name, time) in &compile {
        println!("{name:<52}{:>10.4} ms", time.as_secs_f64() * 1e3);
    }
    let write = |file: &Option<String>, text: String| match file {
        Some(file) => std::fs::write(file, text).map_err(|e| format!("{file}: {e}")),
        None => Ok(()),
    };
    write(&args.json, report::json((&libraries, args.threads), &rows, &compile))?;
    write(&args.svg, plot::svg(&rows))?;
    match rows.iter().filter(|r| matches!(r.outcome, Outcome::Failed(_))).count() {
        0 => Ok(()),
        failed => Err(format!("{failed} of {} cases failed", rows.len())),
    }
}

/// Measures a kernel on every matrix, and prints a line for each.
fn run_kernel(
    kernel: &Kernel,
    args: &Args,
    mut peers: Option<&mut Peers>,
    matrices: &mut HashMap<(usize, &'static str), Result<Vec<Arrays>, String>>,
    progress: &str,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for &kind in kernel.kinds().iter().filter(|kind| args.families.contains(kind)) {
        // The slowest side of the last size, and that size.
        let mut last: Option<(Duration, usize)> = None;
        for &nonzeros in &args.sizes {
            eprintln!("[{progress}] {} {} {nonzeros}", kernel.name, kind.name());
            let expected = last.map(|(time, size)| time.mul_f64((nonzeros as f64 / size as f64).powi(2)));
            let outcome = match expected {
                Some(time) if time > LONGEST_CALL => {
                    Outcome::Skipped(format!("a call could take {:.0} s", time.as_secs_f64()))
                }
                _ => {
                    let seeds = 1..=(ENTRIES / nonzeros).clamp(1, PAIRS) as u64;
                    let drawn = || seeds.map(|seed| kind.matrix(nonzeros, seed)).collect();
                    match matrices.entry((nonzeros, kind.name())).or_insert_with(drawn) {
                        Ok(drawn) => {
                            let alive = peers.as_deref_mut().map_or(Ok(()), Peers::revive);
                            let compared =
                                alive.and_then(|()| compare(kernel, drawn, peers.as_deref_mut(), args.threads));
                            compared.map_or_else(Outcome::Failed, Outcome::Compared)
                        }
                        Err(missing) => Outcome::Skipped(missing.clone()),
                    }
                }
            };
            let row = Row { kernel: kernel.name, kind, nonzeros, outcome };
            if let Some(t) = row.compared().map(|c| &c.times) {
                let peers = t.peers.iter().map(|p| p.time);
                last = peers.chain([t.kernel, t.by_hand]).max().map(|time| (time, nonzeros));
            }
            println!("{}", report::line(&row));
            rows.push(row);
        }
    }
    rows
}
