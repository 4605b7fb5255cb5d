//! Rows that are far longer than others: threads have pieces of entries, where data ask for it.

use fiberloom::{Call, Engine, Kernel, Mode, Options, Program, Tensor, Type, Value};

/// Kernels by rows of `A`, with the commands by which their entries are cut; with those of `B` where both are merged.
const KERNELS: [(&str, &str); 7] = [
    (
        "tensor A: f64[I,J] csr  tensor x: f64[J] dense  tensor y: f64[I] dense  y[i] = A[i,j] * x[j]",
        "collapse(i, j -> all); pos(all -> entry, A); split(entry -> piece, within, 4096); parallelize(piece, cpu_thread, temporary)",
    ),
    (
        "tensor A: f64[I,J] csr  tensor y: f64[I] dense  y[i] = A[i,j]",
        "collapse(i, j -> all); pos(all -> entry, A); split(entry -> piece, within, 4096); parallelize(piece, cpu_thread, temporary)",
    ),
    (
        "tensor A: f64[I,J] csr  tensor X: f64[J,K] dense  tensor Y: f64[I,K] dense  Y[i,k] = A[i,j] * X[j,k]",
        "reorder(i, j, k); collapse(i, j -> all); pos(all -> entry, A); split(entry -> piece, within, 1024); \
         parallelize(piece, cpu_thread, temporary)",
    ),
    (
        "tensor A: f64[I,J,L] {dense, compressed, compressed}  tensor X: f64[J,K] dense  tensor Z: f64[L,K] dense
         tensor M: f64[I,K] dense  M[i,k] = A[i,j,l] * X[j,k] * Z[l,k]",
        "reorder(i, j, l, k); collapse(i, j -> outer1); collapse(outer1, l -> all); pos(all -> entry, A); \
         split(entry -> piece, within, 1024); parallelize(piece, cpu_thread, temporary)",
    ),
    (
        "tensor A: f64[I,J] csr  tensor B: f64[I,J] csr  tensor y: f64[I] dense  y[i] = sum(j: max(A[i,j], B[i,j]))",
        "collapse(i, j -> all); weigh(all, A, B); split(all -> piece, within, 16384); parallelize(piece, cpu_thread, temporary)",
    ),
    (
        "tensor A: f64[I,J] csr  tensor B: f64[I,J] csr  tensor C: f64[I,J] csr  C[i,j] = A[i,j] + B[i,j]",
        "collapse(i, j -> all); weigh(all, A, B); split(all -> piece, within, 16384); parallelize(piece, cpu_thread, no_races)",
    ),
    (
        "tensor A: f64[I,J] csr  tensor U: f64[I,K] dense  tensor X: f64[J,K] dense  tensor C: f64[I,J] csr
         C[i,j] = A[i,j] * U[i,k] * X[j,k]",
        "reorder(i, j, k); collapse(i, j -> all); pos(all -> entry, A); split(entry -> piece, within, 1024); \
         parallelize(piece, cpu_thread, no_races)",
    ),
];

const ROWS: i64 = 40;
const COLUMNS: i64 = 36_000;

/// A value that is no sum of few powers of two, so that sums of them are rounded.
fn value(n: i64) -> Value {
    Value::from_f64(Type::F64, (n * 7919 % 1013) as f64 / 7.0)
}

/// A tensor in the format that the program declares, whose row 17 has so many entries and whose others have 30.
fn operand(program: &Program, long: i64) -> Tensor<'static> {
    let (id, declared) = program.tensor("A").unwrap();
    let mut entries = vec![];
    for i in 0..ROWS {
        let columns = if i == 17 { long } else { 30 };
        let column = |n: i64| n * (COLUMNS / columns);
        entries.extend((0..columns).map(|n| match declared.sizes.len() {
            2 => (vec![i, column(n)], value(i + n)),
            _ => (vec![i, column(n) / 50, column(n) % 50], value(i + n)),
        }));
    }
    let extents = if declared.sizes.len() == 2 { vec![ROWS, COLUMNS] } else { vec![ROWS, COLUMNS / 50, 50] };
    let extents = extents.into_iter().map(|extent| extent as u64).collect();
    let format = program.format(id).clone();
    Tensor::from_entries(extents, format, Value::zero(Type::F64), Type::I32, Type::I32, entries).unwrap()
}

fn dense(extents: &[u64]) -> Tensor<'static> {
    let values: Vec<f64> = (0..extents.iter().product::<u64>() as i64).map(|n| value(3 * n).as_f64()).collect();
    Tensor::dense(extents.to_vec(), Value::zero(Type::F64), values.into()).unwrap()
}

/// The operands of a kernel.
fn operands(program: &Program, long: i64) -> Vec<(&'static str, Tensor<'static>)> {
    let a = operand(program, long);
    let others =
        [("x", vec![a.extents[1]]), ("X", vec![a.extents[1], 8]), ("U", vec![ROWS as u64, 8]), ("Z", vec![50, 8])];
    let others: Vec<_> = others.into_iter().filter(|(name, _)| program.tensor(name).is_some()).collect();
    let dense = others.into_iter().map(|(name, extents)| (name, dense(&extents)));
    let merged = program.tensor("B").map(|_| ("B", operand(program, long / 2)));
    [("A", a)].into_iter().chain(merged).chain(dense).collect()
}

fn compiled_by(program: &Program, engine: Engine, mode: Mode) -> Kernel {
    program.compile(&Options { engine, mode, ..Options::default() }).unwrap()
}

fn planned(call: &Call) -> String {
    let commands: Vec<String> = call.planned().unwrap().iter().map(|each| each.command.to_string()).collect();
    commands.join("; ")
}

/// The result of a program, and the commands that data asked for.
fn made(text: &str, long: i64, (engine, mode): (Engine, Mode)) -> (Tensor<'static>, String) {
    let program = Program::parse(text).unwrap();
    let operands = operands(&program, long);
    let operands: Vec<(&str, &Tensor)> = operands.iter().map(|(name, t)| (*name, t)).collect();
    let kernel = compiled_by(&program, engine, mode);
    let mut call = kernel.bind(&operands).unwrap();
    let outcome = call.run().unwrap();
    let (_, result) = outcome.results.into_iter().next().unwrap();
    (result, planned(&call))
}

/// Whether two results differ by no more than sums that are regrouped.
fn assert_alike(a: &Tensor, b: &Tensor) {
    let pairs = (0..a.values.len()).map(|n| (a.values.get(n).as_f64(), b.values.get(n).as_f64()));
    assert_eq!(a.values.len(), b.values.len());
    pairs.for_each(|(a, b)| assert!((a - b).abs() <= 1e-9 * b.abs(), "{a}, {b}"));
}

#[test]
fn a_long_row_is_cut_by_its_entries() {
    for (text, commands) in KERNELS {
        let (long, short) = (COLUMNS, 1_000);
        let (interpreted, told) = made(text, long, (Engine::Loops, Mode::Algebraic));
        assert_eq!(told, commands, "{text}");
        let by_rows = format!("{text} schedule {{ parallelize(i, cpu_thread, no_races); }}");
        assert_alike(&interpreted, &made(&by_rows, long, (Engine::Loops, Mode::Algebraic)).0);
        assert!(!made(text, short, (Engine::Loops, Mode::Algebraic)).1.contains("piece"), "{text}");
        // A sum of floats has its order in strict mode, and is not taken apart.
        let has_sums = !commands.contains("no_races");
        assert_eq!(!made(text, long, (Engine::Loops, Mode::Strict)).1.contains("piece"), has_sums, "{text}");
        #[cfg(feature = "llvm")]
        {
            let on = |threads| {
                fiberloom::set_threads(threads);
                made(text, long, (Engine::Llvm, Mode::Algebraic))
            };
            let one = on(1);
            assert_eq!(one.1, commands);
            assert_alike(&one.0, &interpreted);
            assert!([2, 7].into_iter().all(|threads| on(threads) == one), "{text}");
        }
    }
}

/// By rows are made results whose rows are added up in registers; and of short rows each costs as much as its entries.
#[test]
fn a_long_row_is_not_cut_where_pieces_cost_more() {
    let narrow = "tensor A: f64[I,J] csr  tensor X: f64[J,8] dense  tensor Y: f64[I,8] dense  Y[i,k] = A[i,j] * X[j,k]";
    assert!(!made(narrow, 30_000, (Engine::Loops, Mode::Algebraic)).1.contains("piece"));
    let program = Program::parse(KERNELS[0].0).unwrap();
    let kernel = compiled_by(&program, Engine::Loops, Mode::Algebraic);
    for (rows, is_cut) in [(2_000, true), (20_000, false)] {
        let entries =
            (0..rows).flat_map(|i| (0..if i == 17 { 20_000 } else { 1 }).map(move |j| (vec![i, j], value(j))));
        let format = program.format(program.tensor("A").unwrap().0).clone();
        let (extents, zero) = (vec![rows as u64, 20_000], Value::zero(Type::F64));
        let a = Tensor::from_entries(extents, format, zero, Type::I32, Type::I32, entries).unwrap();
        let call = kernel.bind(&[("A", &a), ("x", &dense(&[20_000]))]).map(|call| planned(&call)).unwrap();
        assert_eq!(call.contains("piece"), is_cut);
    }
}

/// Long lists are multiplied in pieces of as many entries, short ones by one thread.
#[test]
fn long_lists_are_merged_in_pieces() {
    let text = "tensor a: f64[I] sparse  tensor b: f64[I] sparse  tensor s: f64[]  s[] = a[i] * b[i]";
    let program = Program::parse(text).unwrap();
    let list = |length: i64, step: i64| {
        let entries = (0..length).map(|n| (vec![n * step], value(n)));
        let format = program.format(program.tensor("a").unwrap().0).clone();
        let extents = vec![1 << 20];
        Tensor::from_entries(extents, format, Value::zero(Type::F64), Type::I32, Type::I32, entries).unwrap()
    };
    let on = |lengths: [i64; 2], engine: Engine, threads: usize| {
        fiberloom::set_threads(threads);
        let (a, b) = (list(lengths[0], 3), list(lengths[1], 5));
        let kernel = compiled_by(&program, engine, Mode::Algebraic);
        let mut call = kernel.bind(&[("a", &a), ("b", &b)]).unwrap();
        let outcome = call.run().unwrap();
        (outcome.scalar::<f64>("s").unwrap(), planned(&call))
    };
    let (sum, told) = on([200_000, 100_000], Engine::Loops, 1);
    assert_eq!(told, "weigh(i, a, b); split_up(i -> piece, within, 256); parallelize(piece, cpu_thread, temporary)");
    assert_eq!(on([20_000, 10_000], Engine::Loops, 1).1, "");
    let step = |n: i64| value(5 * n).as_f64() * value(3 * n).as_f64();
    let wanted: f64 = (0..33_334).map(step).sum();
    assert!((sum - wanted).abs() <= 1e-9 * wanted, "{sum}, {wanted}");
    #[cfg(feature = "llvm")]
    {
        let one = on([200_000, 100_000], Engine::Llvm, 1);
        assert!((one.0 - wanted).abs() <= 1e-9 * wanted);
        assert!([2, 7].into_iter().all(|threads| on([200_000, 100_000], Engine::Llvm, threads) == one));
    }
}

/// A kernel asks each call's operands.
#[test]
fn a_call_is_cut_as_its_operands_ask() {
    let program = Program::parse(KERNELS[0].0).unwrap();
    let kernel = compiled_by(&program, Engine::Loops, Mode::Algebraic);
    for (long, is_cut) in [(30_000, true), (30, false), (30_000, true)] {
        let operands = operands(&program, long);
        let checked: Vec<_> = operands.into_iter().map(|(name, t)| (name, t.checked().unwrap())).collect();
        let checked: Vec<_> = checked.iter().map(|(name, t)| (*name, t)).collect();
        assert_eq!(planned(&kernel.bind(&checked).unwrap()).contains("collapse"), is_cut);
    }
}
