//! A campaign with a fixed seed: so many generated programs on an engine against their meaning.
//!
//! ```text
//! cargo run --release -p fiberloom-check --bin campaign -- --programs 100000 --engine loops --seed 1 --threads 2
//! ```
//!
//! Each kind of finding is printed once, shrunk. Exit status 1 if there was one.

use fiberloom_check::notation::campaign::{Campaign, campaign};
use fiberloom_check::notation::engines::Engine;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut wanted = Campaign { programs: 10_000, engine: Engine::Loops, seed: 0, threads: 1 };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next().unwrap_or_default();
        let number = value.parse::<u64>();
        match (name.as_str(), value.as_str(), number) {
            ("--programs", _, Ok(n)) => wanted.programs = n,
            ("--seed", _, Ok(n)) => wanted.seed = n,
            ("--threads", _, Ok(n @ 1..=256)) => wanted.threads = n,
            ("--engine", "meaning", _) => wanted.engine = Engine::Meaning,
            ("--engine", "loops", _) => wanted.engine = Engine::Loops,
            ("--engine", "llvm", _) => wanted.engine = Engine::Llvm(true),
            _ => {
                eprintln!(
                    "`{name} {value}`: there are --programs N, --seed N, --threads N, --engine meaning|loops|llvm"
                );
                return ExitCode::from(2);
            }
        }
    }
    std::panic::set_hook(Box::new(|_| {}));
    let report = campaign(&wanted);
    println!("{report}");
    if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
