//! A symbolic run says of the data of its path what the machine does on them.

use fiberloom_check::Effort;
use fiberloom_check::notation::programs_under;
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::format::Array;
use fiberloom_loops::{Bound, Expr, Kernel, Stmt};
use fiberloom_semantics::machine::{self, Fault};
use fiberloom_smt::rewrites::operands::{Coordinates, Operands, value};
use fiberloom_smt::rewrites::path::{Budget, Gave, Path};
use fiberloom_smt::rewrites::programs::Program;
use fiberloom_smt::rewrites::run::{Arguments, Halt, Rules, run};
use fiberloom_smt::rewrites::scalar::Scalar;
use std::time::Duration;
use z3::Model;

/// Whether terms say all of a kernel's scalars: no float is among them, and no function of which they say nothing.
fn is_exact(kernel: &Kernel) -> bool {
    let types = kernel.buffers.iter().map(|b| b.ty).chain(kernel.vars.iter().map(|(_, ty)| *ty));
    let values = kernel.arguments.iter().all(|a| a.ty != Type::I64);
    types.into_iter().all(|ty| !ty.is_float()) && values && kernel.body.iter().all(|stmt| says_all(kernel, stmt))
}

/// Whether an expression divides by what no power of two is: terms have a function there of which they say nothing.
fn divides_by_others(e: &Expr) -> bool {
    let Expr::Op(Op::FloorDiv | Op::FloorRem, args) = e else { return false };
    let Expr::Const(by) = args[1] else { return true };
    !by.as_i128().is_some_and(|by| by > 0 && by.count_ones() == 1)
}

fn says_all(kernel: &Kernel, stmt: &Stmt) -> bool {
    let mut all = true;
    stmt.exprs().for_each(|e| {
        e.each(&mut |e| {
            let of_indices = kernel.type_of(e) == Ok(Type::I64);
            let unknown = matches!(e, Expr::Op(Op::Div | Op::Rem | Op::Pow | Op::Gcd, _));
            let of_values = matches!(e, Expr::Op(Op::Mul, _)) && !of_indices;
            all &= !unknown && !of_values && !divides_by_others(e);
        })
    });
    all && stmt.blocks().flatten().all(|stmt| says_all(kernel, stmt))
}

/// Runs a kernel along a few paths, and on the data of each.
fn compare(kernel: &Kernel, operands: &Operands, seen: &mut usize) -> Result<Option<String>, Gave> {
    let budget = Budget { time: Duration::from_millis(400), paths: 8, ..Budget::default() };
    let text = kernel.to_string();
    let mut path = Path::new(operands.invariants.clone(), budget);
    let (_, found) = path.explore(|path| {
        let end = run(kernel, &operands.given, Rules::Watched, path).buffers;
        let model: &Model = path.data().expect("each run has data");
        let arrays = operands.arrays(model);
        let arrays: Vec<Option<&Array>> = arrays.iter().map(Option::as_ref).collect();
        let ran = machine::run(kernel, &operands.given.params, &arrays, &Default::default());
        let shown = || format!("{arrays:?}\n{ran:?}\n{text}");
        *seen += 1;
        match (&end, &ran) {
            (Err(Halt::Gave(gave)), _) => Err(*gave),
            (Err(Halt::Stopped(a)), Err(Fault::Stopped(b))) if a == b => Ok(None),
            (Err(Halt::Broken(_)), Err(Fault::Broken(_))) => Ok(None),
            (Ok(buffers), Ok(outcome)) => {
                for (buffer, array) in buffers.iter().zip(&outcome.buffers) {
                    let Some(array) = array else { continue };
                    let len = buffer.finished.as_ref().map(|len| value(len, model));
                    let same =
                        |(x, cell): (Value, &fiberloom_smt::rewrites::memory::Cell)| value(&cell.value, model) == x;
                    if len != Some(Value::i64(array.len() as i64)) || !array.iter().zip(&buffer.cells).all(same) {
                        return Ok(Some(format!("{buffer:?}\n{}", shown())));
                    }
                }
                Ok(None)
            }
            (end, _) => Ok(Some(format!("{:?}\n{}", end.as_ref().err(), shown()))),
        }
    })?;
    Ok(found)
}

fn check(program: &Program, seen: &mut usize) {
    let Ok(pairs) = program.pairs() else { return };
    for kernel in [&pairs[0].before, &pairs[pairs.len() - 2].after] {
        if !is_exact(kernel) {
            return;
        }
        let Ok(bound) = program.bound(kernel) else { return };
        let Some(operands) = Operands::like(kernel, &bound, Coordinates::Any) else { return };
        if let Ok(Some(wrong)) = compare(kernel, &operands, seen) {
            panic!("{}\n{wrong}", program.name);
        }
    }
}

/// The machine's end of a run on data, and whether a symbolic run on the same data, all of them known, ends so.
fn ends_alike(kernel: &Kernel, bound: &Bound) -> Option<bool> {
    let known = |array: &Array| array.iter().map(Scalar::Known).collect();
    let operands = bound.operands.iter().map(|array| array.as_ref().map(known)).collect();
    let given = Arguments { params: bound.params.clone(), operands };
    let mut path = Path::new(vec![], Budget { steps: 5_000, ..Budget::default() });
    let end = path.explore(|path| Ok(Some(run(kernel, &given, Rules::Watched, path))));
    let buffers = end.ok()?.1?.buffers;
    let ran = machine::run(kernel, &bound.params, &bound.arrays(), &Default::default());
    Some(match (buffers, ran) {
        (Err(Halt::Gave(_)), _) => return None,
        (Err(Halt::Stopped(a)), Err(Fault::Stopped(b))) => a == b,
        (Err(Halt::Broken(a)), Err(Fault::Broken(b))) => a == b.rule,
        (Ok(buffers), Ok(outcome)) => buffers.iter().zip(&outcome.buffers).all(|(buffer, array)| {
            let Some(array) = array else { return true };
            let len = buffer.finished.as_ref().and_then(Scalar::known);
            let cells = array.iter().zip(&buffer.cells).all(|(x, cell)| cell.value.known() == Some(x));
            len == Some(Value::i64(array.len() as i64)) && cells
        }),
        _ => false,
    })
}

/// Where all is known, a run does what the machine does, floats and all.
#[test]
fn known_data_give_the_machines_results() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let (each, generated, at_least) = if Effort::said() < Effort::Long { (9, 60, 100) } else { (3, 200, 300) };
    let files = programs_under(&folder).into_iter().step_by(each).flat_map(|path| Program::of_file(&path));
    let mut seen = 0;
    for program in files.chain((0..generated).filter_map(Program::generated)) {
        let Ok(pairs) = program.pairs() else { continue };
        for kernel in [&pairs[0].before, &pairs[pairs.len() - 2].after] {
            let Ok(bound) = program.bound(kernel) else { continue };
            let Some(alike) = ends_alike(kernel, &bound) else { continue };
            assert!(alike, "{}\n{kernel}", program.name);
            seen += 1;
        }
    }
    println!("{seen} runs");
    assert!(seen > at_least, "{seen} runs are too few");
}

/// Terms of integers are what the machine has on the data of their path.
#[test]
fn terms_are_what_the_machine_computes() {
    let mut seen = 0;
    let generated = Effort::said().of(600, 150);
    (0..generated).filter_map(Program::generated).for_each(|program| check(&program, &mut seen));
    println!("{seen} runs");
    assert!(seen as u64 > generated / 6, "{seen} runs are too few");
}
