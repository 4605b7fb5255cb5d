//! Operations grow as what is stored does.

use arbitrary::Unstructured;
use fiberloom_check::notation::engines::Engine;
use fiberloom_check::notation::growth::{Grown, hold};
use fiberloom_check::notation::subject::Subject;
use fiberloom_check::{Effort, bytes};

/// Of a hundred programs, how many may be findings: what is left of squares (`docs/findings.md`, *What else grew as a square*).
const LEFT: u64 = 30;

#[test]
fn operations_grow_as_entries_do() {
    let (programs, mut squares) = (Effort::said().of(1000, 40), vec![]);
    for seed in 0..programs {
        let bytes = bytes(seed, 3000);
        let program = Grown::any(&mut Unstructured::new(&bytes));
        let Err(found) = program.run_on(Engine::Loops, &[]) else { continue };
        let grows = ["square", "cliff", "steps"].contains(&found.kind);
        assert!(grows, "{}: {} of seed {seed}\n{program}", found.kind, found.what);
        squares.push(format!("{}: {}\n{program}", found.kind, found.what));
    }
    assert!(squares.len() as u64 * 100 <= LEFT * programs, "{} of {programs}\n{}", squares.len(), squares.join("\n"));
}

/// A square that is left, which the walk notices: a level of runs is looked up at each coordinate that is read.
#[test]
fn a_square_is_found() {
    let statement = |levels: &str| {
        format!(
            "tensor A: f64[N,N] {levels}  tensor g: i64[N] dense  tensor z: f64[N] dense  tensor R: f64[N,N] coo
             R[j,i] = A[j,i] * z[i] + A[i, g[j]]"
        )
    };
    let found = hold(&statement("{dense, runs}")).expect_err("runs are asked for each row");
    assert_eq!(found.kind, "square", "{}", found.what);
}
