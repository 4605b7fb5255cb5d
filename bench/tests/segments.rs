//! The segments of 128 bytes that warps touch on the machine for PTX, beside the fewest that a kernel's data need: values, coordinates,
//! positions and the result once, rows of dense operands once an entry.

use fiberloom::{Array, Engine, Options, Outcome, Program, Tensor, Value};
use fiberloom_bench::arrays::{Arrays, Rows};
use fiberloom_bench::generate::{KINDS, Kind};

/// The columns of dense operands: a row of them is two segments.
const COLUMNS: usize = 32;

/// A kernel, its other plans, and for each of [`KINDS`] the most segments of the one that is planned, by the fewest.
struct Kernel {
    name: &'static str,
    program: &'static str,
    plans: &'static [(&'static str, &'static str)],
    most: [f64; 4],
}

const KERNELS: [Kernel; 3] = [
    Kernel {
        name: "SpMV",
        program: "tensor A: f64[I, J] csr  tensor x: f64[J]  tensor y: f64[I] dense  y[i] = A[i,j] * x[j]",
        plans: &[
            ("a thread a row", "parallelize(i, cpu_thread, no_races);"),
            ("a warp a row", "parallelize(i, gpu_warp, no_races); parallelize(j, gpu_thread, parallel_reduction);"),
            (
                "two rows a warp",
                "split(i -> w, r, 2); parallelize(w, gpu_warp, no_races); parallelize(r, gpu_thread, no_races); \
                 parallelize(j, gpu_thread, parallel_reduction);",
            ),
            (
                "by entries",
                "collapse(i, j -> f); pos(f -> p, A); split(p -> w, p1, 128); split(p1 -> t, z, 4); reorder(w, t, z); \
                 parallelize(w, gpu_warp, atomics); parallelize(t, gpu_thread, atomics);",
            ),
        ],
        most: [1.25, 1.3, 0.75, 0.35],
    },
    Kernel {
        name: "SpMM",
        program: "tensor A: f64[I, J] csr  tensor X: f64[J, K]  tensor y: f64[I, K] dense  y[i,k] = A[i,j] * X[j,k]",
        plans: &[
            ("a thread a row", "parallelize(i, cpu_thread, no_races);"),
            (
                "a warp a row",
                "reorder(i, k, j); parallelize(i, gpu_warp, no_races); parallelize(k, gpu_thread, no_races);",
            ),
            (
                "by entries",
                "reorder(i, j, k); collapse(i, j -> f); pos(f -> p, A); split(p -> w, z, 64); reorder(w, k, z); \
                 parallelize(w, gpu_warp, atomics); parallelize(k, gpu_thread, no_races);",
            ),
        ],
        most: [1.25, 1.31, 1.3, 1.2],
    },
    Kernel {
        name: "SDDMM",
        program: "tensor A: f64[I, J] csr  tensor B: f64[I, K]  tensor D: f64[J, K]  tensor y: f64[I, J] csr
                  y[i,j] = A[i,j] * B[i,k] * D[j,k]",
        plans: &[
            ("a thread a row", "parallelize(i, cpu_thread, no_races);"),
            ("a warp a row", "parallelize(i, gpu_warp, no_races); parallelize(k, gpu_thread, parallel_reduction);"),
            ("an entry a lane", "parallelize(i, gpu_warp, no_races); parallelize(j, gpu_thread, no_races);"),
        ],
        most: [1.2, 1.2, 1.2, 1.2],
    },
];

/// Dense values, from -1 to 1.
fn dense(extents: &[usize]) -> Vec<f64> {
    (0..extents.iter().product::<usize>()).map(|n| (n * 7 % 17) as f64 / 8.0 - 1.0).collect()
}

/// The names and the extents of the dense operands.
fn operands(kernel: &Kernel, a: &Rows) -> Vec<(&'static str, Vec<usize>)> {
    match kernel.name {
        "SpMV" => vec![("x", vec![a.columns])],
        "SpMM" => vec![("X", vec![a.columns, COLUMNS])],
        _ => vec![("B", vec![a.rows, COLUMNS]), ("D", vec![a.columns, COLUMNS])],
    }
}

/// The values of the result.
fn meant(kernel: &Kernel, a: &Rows, given: &[Vec<f64>]) -> Vec<f64> {
    let width = if kernel.name == "SpMM" { COLUMNS } else { 1 };
    let mut y = vec![0.0; if kernel.name == "SDDMM" { 0 } else { a.rows * width }];
    for i in 0..a.rows {
        for p in a.pos[i] as usize..a.pos[i + 1] as usize {
            let j = a.crd[p] as usize;
            if let [b, d] = given {
                let products = (0..COLUMNS).map(|k| a.values[p] * b[i * COLUMNS + k] * d[j * COLUMNS + k]);
                y.push(products.sum());
                continue;
            }
            (0..width).for_each(|k| y[i * width + k] += a.values[p] * given[0][j * width + k]);
        }
    }
    y
}

/// The fewest segments.
fn fewest(kernel: &Kernel, a: &Rows) -> u64 {
    let of = |bytes: usize| bytes.div_ceil(128);
    let entries = a.values.len();
    let matrix = of(8 * entries) + of(4 * entries) + of(4 * a.pos.len());
    let (rows, result) = match kernel.name {
        "SpMV" => (1, of(8 * a.rows)),
        "SpMM" => (2, of(8 * COLUMNS * a.rows)),
        _ => (4, of(8 * entries)),
    };
    (matrix + rows * entries + result) as u64
}

/// The counts of a run under a plan; its values are as they should be.
fn counted(kernel: &Kernel, schedule: &str, (matrix, a): (&Tensor, &Rows)) -> (Vec<String>, Vec<(&'static str, u64)>) {
    let text = if schedule.is_empty() {
        kernel.program.into()
    } else {
        format!("{} schedule {{ {schedule} }}", kernel.program)
    };
    let options = Options { engine: Engine::Ptx, verify: false, ..Options::default() };
    let compiled = Program::parse(&text).expect(kernel.name).compile(&options).expect(kernel.name);
    let named = operands(kernel, a);
    let given: Vec<Vec<f64>> = named.iter().map(|(_, extents)| dense(extents)).collect();
    let tensors: Vec<Tensor> = named
        .iter()
        .zip(&given)
        .map(|((_, extents), values)| {
            let extents = extents.iter().map(|n| *n as u64).collect();
            Tensor::dense(extents, Value::from(0.0), Array::from(values.as_slice())).expect("as many values")
        })
        .collect();
    let all: Vec<(&str, &Tensor)> =
        [("A", matrix)].into_iter().chain(named.iter().map(|(name, _)| *name).zip(&tensors)).collect();
    let mut call = compiled.bind(&all).expect("they fit");
    let planned = call.for_gpu().iter().map(|each| each.command.to_string()).collect();
    let Outcome { results, ops, .. } = call.run().expect(kernel.name);
    let wanted = meant(kernel, a, &given);
    let values = &results[0].1.values;
    assert_eq!(values.len(), wanted.len(), "{} {schedule}", kernel.name);
    for (n, x) in wanted.iter().enumerate() {
        let y = values.get(n).as_f64();
        assert!((x - y).abs() <= 1e-9 * x.abs().max(1.0), "{} {schedule}: {y} at {n}, {x} expected", kernel.name);
    }
    (planned, ops.expect("the machine counts"))
}

#[test]
fn plans_touch_few_segments() {
    let is_long = std::env::var("FIBERLOOM_TESTS").is_ok_and(|effort| effort == "long");
    let entries = if is_long { 100_000 } else { 20_000 };
    println!("| kernel | family | plan | segments | by the fewest | instructions of warps | of one warp at most |");
    println!("|---|---|---|---|---|---|---|");
    let mut wrong = vec![];
    for (n, kind) in KINDS.into_iter().enumerate() {
        let arrays: Arrays = Kind::matrix(kind, entries, 7).expect("it is made");
        let (matrix, a) = (arrays.tensor(), arrays.rows());
        for kernel in &KERNELS {
            let few = fewest(kernel, &a);
            let line = |plan: &str, ops: &[(&str, u64)]| {
                let of = |name: &str| ops.iter().find(|(n, _)| *n == name).map_or(0, |(_, count)| *count);
                let (segments, all, longest) = (of("segments"), of("warp_instructions"), of("longest_warp"));
                assert!(segments > 0, "{} {plan}: nothing runs on the GPU", kernel.name);
                let ratio = segments as f64 / few as f64;
                println!(
                    "| {} | {} | {plan} | {segments} | {ratio:.2} | {all} | {longest} |",
                    kernel.name,
                    kind.name()
                );
                ratio
            };
            let (planned, ops) = counted(kernel, "", (&matrix, &a));
            let ratio = line(&format!("planned: `{}`", planned.join("; ")), &ops);
            if ratio > kernel.most[n] {
                wrong.push(format!("{} {}: {ratio:.2} times the fewest segments", kernel.name, kind.name()));
            }
            for (name, schedule) in kernel.plans.iter().filter(|_| is_long) {
                line(name, &counted(kernel, schedule, (&matrix, &a)).1);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
