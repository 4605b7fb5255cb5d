//! Programs that nest as deep as the language allows, on threads with little stack: what recurses runs where there is room.

use fiberloom::{Array, Engine, Options, Program, Tensor, Type, Value};

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
