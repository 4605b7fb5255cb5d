//! `cargo xtask bench`: a table of times on standard output, and JSON where it is asked for.

use fiberloom_bench::compile_time;
use fiberloom_bench::generate::KINDS;
use fiberloom_bench::kernels::{KERNELS, compare};
use fiberloom_bench::measure::{Measured, PAIRS, geometric_mean};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask bench [--only KERNEL] [--sizes N,N...] [--json FILE]

  --only KERNEL   spmv, spadd, multiply, spmm, mttkrp or compile; more than once for several
  --sizes N,N...  nonzeros of the matrices; 10000,100000,1000000,10000000 unless given
  --json FILE     also writes the numbers there";

struct Args {
    only: Vec<String>,
    sizes: Vec<usize>,
    json: Option<String>,
}

fn main() -> ExitCode {
    let outcome = parse(std::env::args().skip(1)).and_then(|args| bench(&args));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut parsed = Args { only: Vec::new(), sizes: vec![10_000, 100_000, 1_000_000, 10_000_000], json: None };
    while let Some(name) = args.next() {
        let value = args.next().ok_or(USAGE)?;
        match name.as_str() {
            "--only" if value == "compile" || KERNELS.iter().any(|k| k.0 == value) => parsed.only.push(value),
            "--sizes" => {
                let size = |s: &str| s.parse().ok().filter(|n| (1000..=1_000_000_000).contains(n)).ok_or(USAGE);
                parsed.sizes = value.split(',').map(size).collect::<Result<_, _>>()?;
            }
            "--json" => parsed.json = Some(value),
            _ => return Err(USAGE.to_string()),
        }
    }
    Ok(parsed)
}

fn bench(args: &Args) -> Result<(), String> {
    let wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|o| o == name);
    let mut json = Vec::new();
    println!("median of {PAIRS} alternating pairs; ratio below 1: fiberloom is faster\n");
    println!(
        "{:<10}{:<11}{:>10}{:>14}{:>12}{:>8}",
        "kernel", "matrix", "nonzeros", "fiberloom ms", "by hand ms", "ratio"
    );
    for (kernel, _) in KERNELS.iter().filter(|k| wanted(k.0)) {
        let mut ratios = Vec::new();
        for kind in KINDS {
            for &nonzeros in &args.sizes {
                let measured = compare(kernel, kind, nonzeros)?;
                println!("{kernel:<10}{:<11}{nonzeros:>10}{}", kind.name(), columns(&measured));
                ratios.push((measured.ratio, format!("{} {nonzeros}", kind.name())));
                json.push(entry(kernel, kind.name(), nonzeros, &measured));
            }
        }
        let mean = geometric_mean(&ratios.iter().map(|r| r.0).collect::<Vec<_>>());
        let worst = ratios.iter().max_by(|a, b| a.0.total_cmp(&b.0)).ok_or(USAGE)?;
        println!("{kernel:<10}geometric mean {mean:.3}, worst {:.3} ({})\n", worst.0, worst.1);
    }
    if wanted("compile") {
        for (name, time) in compile_time::all().map_err(|e| e.to_string())? {
            let ms = time.as_secs_f64() * 1e3;
            println!("{name:<52}{ms:>10.4} ms");
            json.push(format!("{{\"compile\": \"{name}\", \"ms\": {ms:.4}}}"));
        }
    }
    match &args.json {
        Some(file) => std::fs::write(file, format!("[\n{}\n]\n", json.join(",\n"))).map_err(|e| format!("{file}: {e}")),
        None => Ok(()),
    }
}

fn columns(measured: &Measured) -> String {
    let ms = |t: std::time::Duration| t.as_secs_f64() * 1e3;
    format!("{:>14.3}{:>12.3}{:>8.3}", ms(measured.kernel), ms(measured.by_hand), measured.ratio)
}

fn entry(kernel: &str, matrix: &str, nonzeros: usize, measured: &Measured) -> String {
    format!(
        "{{\"kernel\": \"{kernel}\", \"matrix\": \"{matrix}\", \"nonzeros\": {nonzeros}, \"fiberloom_ms\": {:.6}, \
         \"by_hand_ms\": {:.6}, \"ratio\": {:.4}}}",
        measured.kernel.as_secs_f64() * 1e3,
        measured.by_hand.as_secs_f64() * 1e3,
        measured.ratio
    )
}
