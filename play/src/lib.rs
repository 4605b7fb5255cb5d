//! The compiler without LLVM, as the page of the playground calls it: a request is JSON, and so is the answer.
//!
//! ```text
//!  page ── Ask, bytes of files ──▶ answer ──┬ facts  the version, the names of formats and levels
//!                                           ├ look   errors, tensors, every stage
//!                                           ├ run    results, checked against their meaning; operations
//!                                           ├ grow   operations at n, 2n and 4n
//!                                           └ steps  the loops before and after each schedule command
//! ```
//!
//! Everything that is said of programs, results and errors comes from `fiberloom::show`, as on the command line. Requests share
//! nothing: whatever ends one (a button, a lack of memory) ends its instance, and the page makes another.
#[cfg(target_family = "wasm")]
mod abi;
mod ask;
mod draw;
mod grow;
mod look;
mod run;
mod steps;

use ask::{Asked, What};
use fiberloom::LevelKind;
use fiberloom::show::{Stage, report::Failure};
use fiberloom_core::format;
use fiberloom_core::stack::with_room;
use serde::Serialize;

/// The answer to a request: the length of its JSON in four bytes, lowest first, the JSON, the bytes of files. What is no request is
/// answered with an error.
///
/// ```
/// let json = br#"{"ask": "look", "program": "tensor x: f64[I] dense  y[i] = 2 * x[i]", "stages": ["loops"]}"#;
/// let request = [&(json.len() as u32).to_le_bytes()[..], json].concat();
/// let answer = String::from_utf8(fiberloom_play::answer(&request)).unwrap();
/// assert!(answer.contains(r#""error":null"#) && answer.contains("y_vals[i] = 2.0 * x_vals[i]"), "{answer}");
/// assert!(fiberloom_play::answer(b"?").starts_with(br#"{"error":"#));
/// ```
pub fn answer(request: &[u8]) -> Vec<u8> {
    with_room(|| match Asked::of(request) {
        Ok(asked) => match asked.ask.ask {
            What::Facts => json(&facts()),
            What::Look => json(&look::look(&asked)),
            What::Run => or_failure(run::run(&asked)),
            What::Grow => or_failure(grow::grow(&asked)),
            What::Steps => or_failure(steps::steps(&asked)),
        },
        Err(what) => or_failure::<()>(Err(fiberloom::Error::Call(what))),
    })
}

/// What does not depend on a program.
#[derive(Serialize)]
struct Facts {
    version: &'static str,
    formats: &'static [&'static str],
    levels: Vec<&'static str>,
    stages: Vec<&'static str>,
}

fn facts() -> Facts {
    // What a function computes is given by the program, and what makes machine code is not here.
    let levels = LevelKind::ALL.iter().filter(|kind| **kind != LevelKind::Function).map(|kind| kind.name());
    let stages = Stage::ALL
        .iter()
        .zip(Stage::NAMES)
        .filter(|(stage, _)| !matches!(stage, Stage::Llvm | Stage::Asm | Stage::Ptx));
    Facts {
        version: env!("CARGO_PKG_VERSION"),
        formats: &format::NAMES,
        levels: levels.collect(),
        stages: stages.map(|(_, name)| name).collect(),
    }
}

/// The answer, or why there is none with the places in the program that this is about.
fn or_failure<T: Serialize>(answer: Result<T, fiberloom::Error>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Failed {
        error: Failure,
        rendered: String,
        marks: Vec<look::Mark>,
    }
    match answer {
        Ok(answer) => json(&answer),
        Err(error) => {
            json(&Failed { error: Failure::of(&error), rendered: look::rendered(&error), marks: look::marks(&error) })
        }
    }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("memory takes everything, and keys are strings")
}
