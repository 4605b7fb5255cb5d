//! Numbers in the place of data: scalars and sizes that a call says, on the command line and in the library.

use fiberloom::{Error, Options, Program, Tensor, Type, Value, compiled, operands};
use std::process::{Command, Output};

fn run(program: &str, inputs: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fiberloom"));
    command.args(["run", "-e", program]);
    command.args(inputs.iter().flat_map(|input| ["--in", input]));
    command.output().unwrap()
}

#[track_caller]
fn prints(program: &str, inputs: &[&str], says: &str) {
    let output = run(program, inputs);
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains(says), "{program} {inputs:?}\n{said}{wrong}");
}

#[track_caller]
fn refuses(status: i32, program: &str, inputs: &[&str], says: &str) {
    let output = run(program, inputs);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(status) && said.contains(says), "{program} {inputs:?}\n{said}");
}

/// A number is of the declared type; of what is not declared, the type that a literal has.
#[test]
fn the_command_line_takes_numbers() {
    let of = |ty: &str| format!("tensor a: {ty}[]\nr[] = a[]");
    for (ty, given, says) in [
        ("f64", "0.5", "r[] = 0.5"),
        ("f64", "3", "r[] = 3.0"),
        ("f64", "-1e-3", "r[] = -0.001"),
        ("f64", "inf", "r[] = inf"),
        ("f64", "-inf", "r[] = -inf"),
        ("f64", "nan", "r[] = nan"),
        ("f32", "0.25", "r[] = 0.25"),
        ("i64", "-7", "r[] = -7"),
        ("i8", "2e1", "r[] = 20"),
        ("u64", "18446744073709551615", "r[] = 18446744073709551615"),
        ("bool", "true", "r[] = true"),
        ("bool", "false", "r[] = false"),
    ] {
        prints(&of(ty), &[&format!("a={given}")], says);
    }
    for (given, says) in [
        ("2", "r: i64[] dense"),
        ("2.0", "r: f64[] dense"),
        ("-inf", "r: f64[] dense"),
        ("1e3", "r: f64[] dense"),
        ("true", "r: bool[] dense"),
    ] {
        prints("r[] = a[]", &[&format!("a={given}")], says);
    }
    prints("y[i] = a[] * x[i]", &["a=0.5", "x=random:3"], "y: f64[3] {dense}");
}

#[test]
fn numbers_that_do_not_fit_are_named() {
    let of = |ty: &str| format!("tensor a: {ty}[]\nr[] = a[]");
    refuses(3, &of("i64"), &["a=0.5"], "tensor `a`: 0.5 is not exactly a value of type i64");
    refuses(3, &of("i8"), &["a=200"], "tensor `a`: 200 is not exactly a value of type i8");
    refuses(3, &of("u32"), &["a=-1"], "tensor `a`: -1 is not exactly a value of type u32");
    refuses(3, &of("i64"), &["a=inf"], "tensor `a`: ");
    refuses(3, &of("f64"), &["a=1e999"], "tensor `a`: 1e999 is beyond the largest number of type f64");
    refuses(3, &of("f64"), &["a=true"], "tensor `a`: true is given, and a number of type f64 expected");
    refuses(3, &of("bool"), &["a=1"], "tensor `a`: 1 is given, and true or false expected");
    refuses(3, "tensor a: f64[N]\nr[] = a[i]", &["a=0.5"], "tensor `a`: 0.5 is one value, and the tensor has 1 mode");
    refuses(3, "r[] = a[i,j]", &["a=0.5"], "tensor `a`: 0.5 is one value, and the tensor has 2 modes");
    refuses(2, "r[] = a[]", &["b=0.5"], "");
}

#[test]
fn the_command_line_takes_sizes() {
    let slice = "dim N\ntensor x: f64[M]\ny[i] = x[i(0:N)]";
    prints(slice, &["x=random:5", "N=3"], "y: f64[3] {dense}");
    refuses(2, slice, &["x=random:5"], "give it: --in N=100");
    refuses(2, slice, &["x=random:5", "N=0.5"], "size `N`: a whole number from 0 to 2⁶³ − 1 expected");
    refuses(2, slice, &["x=random:5", "N=-1"], "size `N`: a whole number");
    refuses(2, slice, &["x=random:5", "N=x.npy"], "size `N`: a whole number");
    refuses(3, slice, &["x=random:5", "N=6"], "past the extent 5");
    // What is drawn has the extents that sizes say.
    prints("dim N\ntensor x: f64[N]\ny[i] = x[i]", &["x=random", "N=4"], "y: f64[4] {dense}");
}

/// Neither the value of a scalar nor that of a size is a part of a kernel.
#[test]
fn numbers_compile_nothing() -> Result<(), Error> {
    let text = "dim N  tensor x: f64[M]  tensor a: f64[]  y[i] = a[] * x[i(0:N)]";
    let kernel = Program::parse(text)?.compile(&Options::default())?;
    let x = [1.0, 2.0, 3.0];
    assert_eq!(kernel.run(&operands! { x: &x, a: 2.0, N: 2 })?.dense::<f64>("y")?, [2.0, 4.0]);
    let before = compiled();
    for n in 0..=3 {
        let a = 0.5 * n as f64;
        let want: Vec<f64> = x[..n].iter().map(|x| a * x).collect();
        // A value that is borrowed is not copied.
        let outcome = kernel.run(&operands! { x: &x, a: &a, N: n as u64 })?;
        assert_eq!(outcome.dense::<f64>("y")?, want);
    }
    assert_eq!(compiled(), before);
    Ok(())
}

#[test]
fn sizes_are_whole_numbers() -> Result<(), Error> {
    let text = "dim N  tensor x: f64[M]  y[i] = x[i(0:N)]";
    let kernel = Program::parse(text)?.compile(&Options::default())?;
    let x = [1.0, 2.0, 3.0];
    let says = |ran: Result<_, Error>, words: &str| {
        let error = ran.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    says(kernel.run(&operands! { x: &x, N: 1.5 }), "size `N`: 1.5 is given, and an extent expected, a whole number");
    says(kernel.run(&operands! { x: &x, N: -1 }), "size `N`: -1 is not from 0");
    says(kernel.run(&operands! { x: &x, N: &x }), "size `N`: a tensor of 1 mode is given");
    says(kernel.run(&operands! { x: &x }), "no value is given for size `N`");
    says(kernel.run(&[("x", Tensor::scalar(Value::zero(Type::F64))), ("N", Tensor::scalar(Value::i64(1)))]), "`x`");
    says(kernel.run(&operands! { x: &x, N: 4 }), "past the extent 3");
    kernel.warm(&[("x", [3].into()), ("N", [1].into())])?;
    Ok(())
}
