//! Generated kernels beside the same loops written by hand, in one run.
//!
//! ```text
//!  data.rs      matrices: uniform, power law, stencil, banded; a sparse tensor of order 3
//!  hand.rs      the loops that a performance engineer would write
//!  kernels.rs   each kernel: its program, its operands, its hand-written twin
//!  measure.rs   values compared first, then alternating pairs; medians, ratios, geometric means
//!  compile.rs   from text to callable; a call of a cached kernel
//! ```
//!
//! Only ratios within one run mean anything: both sides make their results anew in every call.
mod compile;
mod data;
mod hand;
mod kernels;
mod measure;

use measure::Row;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask bench [--only NAME] [--sizes N,N,…] [--pairs N] [--json FILE]
  --only NAME     kernels whose name contains NAME, or `compile`
  --sizes N,…     nonzeros of the matrices; 10000,100000,1000000 if not given
  --pairs N       alternating pairs of runs; 15 if not given
  --json FILE     every row as JSON";

struct Arguments {
    only: String,
    sizes: Vec<usize>,
    pairs: usize,
    json: Option<String>,
}

fn arguments() -> Result<Arguments, String> {
    let mut a = Arguments { only: String::new(), sizes: vec![10_000, 100_000, 1_000_000], pairs: 15, json: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or(USAGE)?;
        let number = |text: &str| text.parse::<usize>().map_err(|e| format!("{text}: {e}"));
        match word.as_str() {
            "--only" => a.only = value,
            "--sizes" => a.sizes = value.split(',').map(number).collect::<Result<_, _>>()?,
            "--pairs" => a.pairs = number(&value)?.max(1),
            "--json" => a.json = Some(value),
            _ => return Err(USAGE.to_string()),
        }
    }
    Ok(a)
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let a = arguments()?;
    let mut rows: Vec<Row> = Vec::new();
    println!("{:<10} {:<8} {:>9}  {:>10} {:>10}  ratio", "kernel", "matrix", "nonzeros", "loops, ms", "hand, ms");
    for kernel in kernels::all().into_iter().filter(|k| k.name.contains(&a.only)) {
        let begun = rows.len();
        for size in &a.sizes {
            for family in data::FAMILIES {
                let row = kernels::measure(&kernel, family, *size, a.pairs)?;
                println!("{row}");
                rows.push(row);
            }
        }
        println!("{}\n", measure::summary(kernel.name, &rows[begun..]));
    }
    if "compile".contains(&a.only) {
        compile::report()?;
    }
    if let Some(file) = a.json {
        std::fs::write(&file, measure::json(&rows)).map_err(|e| format!("{file}: {e}"))?;
    }
    Ok(())
}
