//! Programs that nest as deep as the language allows, on threads with little stack: what recurses runs where there is room.

use fiberloom::{Array, Engine, Mode, Options, Program, Tensor, Type, Value};

/// Runs `f` on a thread with a stack of so many KiB.
fn within(kib: usize, f: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(kib << 10).spawn(f).unwrap().join().unwrap();
}

/// A sum, a nest of brackets and a chain of conditionals, each of nearly 500 operators.
fn deep() -> [String; 3] {
    let sum = vec!["x[i]"; 499].join(" + ");
    let brackets = format!("{}x[i]{}", "max(x[i], ".repeat(240), ")".repeat(240));
    let choices = format!("{}x[i]", "if x[i] < 0.0 then 1.0 else ".repeat(120));
    [sum, brackets, choices].map(|e| format!("tensor x: f64[N] dense\ny[i] = {e}"))
}

#[test]
fn deep_programs_run_on_small_stacks() {
    for kib in [512, 256] {
        for (n, text) in deep().into_iter().enumerate() {
            within(kib, move || {
                let expected = [499.0, 1.0, 1.0][n];
                for engine in [Engine::Meaning, Engine::Loops, Engine::Llvm] {
                    let kernel = Program::parse(&text).unwrap();
                    let kernel = kernel.compile(&Options { engine, ..Options::default() }).unwrap();
                    let zero = Value::from_f64(Type::F64, 0.0);
                    let x = Tensor::dense(vec![2], zero, Array::from(&[1.0, 1.0][..])).unwrap();
                    let outcome = kernel.run(&[("x", &x)]).unwrap();
                    assert_eq!(outcome["y"].values, vec![expected; 2].into(), "{engine:?}");
                }
            });
        }
    }
}

/// Every stage prints there, too.
#[test]
fn deep_programs_print_on_small_stacks() {
    for text in deep() {
        within(256, move || {
            let program = Program::parse(&text).unwrap();
            assert!(!program.syntax().to_string().is_empty() && !program.typed().to_string().is_empty());
            assert!(!program.spaces(Mode::Algebraic).unwrap().is_empty());
            assert!(program.warnings(&[]).is_empty());
            program.plan(Mode::Algebraic).unwrap();
            let lowered = program.lowered(Mode::Algebraic).unwrap();
            assert!(!lowered.concrete.to_string().is_empty() && !lowered.show_lattice().is_empty());
            assert!(!lowered.kernel.to_string().is_empty());
        });
    }
}

/// The command itself, where its first thread has little stack.
#[test]
#[cfg(unix)]
fn the_command_runs_on_a_small_stack() {
    for (n, text) in deep().iter().enumerate() {
        for show in ["syntax", "notation", "schedule", "concrete", "lattice", "looplets", "plan", "loops"] {
            let line = format!("ulimit -s 256 && exec {} show {show} -e '{text}'", env!("CARGO_BIN_EXE_fiberloom"));
            let ran = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
            assert!(ran.status.success(), "{show} of {n}: {}", String::from_utf8_lossy(&ran.stderr));
        }
    }
}
