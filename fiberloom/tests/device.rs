//! Kernels for GPUs: what LLVM makes of parallel loops, run by the machine for PTX, and assembled where `ptxas` is.

use fiberloom::{Engine, Format, Gpu, Mode, Options, Program, Tensor, Type, Value};
use fiberloom_core::format::Holds;
use std::path::PathBuf;
use std::process::Command;

mod shared;

/// Kernels whose outermost loops are independent: those of the papers, and others.
const KERNELS: [(&str, &str); 17] = [
    ("spmv", "tensor A: f64[I,J] csr  tensor x: f64[J] dense  tensor y: f64[I] dense  y[i] = A[i,j] * x[j]"),
    (
        "spmv, a warp a row",
        "tensor A: f64[I,J] csr  tensor x: f64[J] dense  tensor y: f64[I] dense  y[i] = A[i,j] * x[j]
         schedule { parallelize(i, gpu_warp, no_races); parallelize(j, gpu_thread, parallel_reduction); }",
    ),
    (
        "spmv, two rows a warp",
        "tensor A: f64[I,J] csr  tensor x: f64[J] dense  tensor y: f64[I] dense  y[i] = A[i,j] * x[j]
         schedule { split(i -> w, r, 2); parallelize(w, gpu_warp, no_races); parallelize(r, gpu_thread, no_races);
           parallelize(j, gpu_thread, parallel_reduction); }",
    ),
    ("spmm", "tensor A: f64[I,J] csr  tensor X: f64[J,K] dense  tensor M: f64[I,K] dense  M[i,k] = A[i,j] * X[j,k]"),
    (
        "sddmm",
        "tensor A: f64[I,J] csr  tensor U: f64[I,K] dense  tensor V: f64[J,K] dense  tensor C: f64[I,J] csr
         C[i,j] = A[i,j] * U[i,k] * V[j,k]",
    ),
    (
        "ttv",
        "tensor T: f64[I,J,L] {dense, compressed, compressed}  tensor v: f64[L] dense  tensor R: f64[I,J] dense  R[i,j] = T[i,j,l] * v[l]",
    ),
    (
        "mttkrp",
        "tensor T: f64[I,J,L] {dense, compressed, compressed}  tensor E: f64[J,K] dense  tensor F: f64[L,K] dense
         tensor M: f64[I,K] dense  M[i,k] = T[i,j,l] * E[j,k] * F[l,k]",
    ),
    ("minplus", "tensor A: i64[I,J] csr  tensor x: i64[J] dense  tensor y: i64[I] dense  y[i] = max(j: A[i,j] + x[j])"),
    ("relu", "tensor A: f32[I,J] dense  tensor B: f32[I,J] dense  B[i,j] = max(A[i,j], 0.0)"),
    (
        "softmax",
        "tensor A: f64[I,J] dense  tensor B: f64[I,J] dense  B[i,j] = exp(A[i,j] - max(k: A[i,k])) / sum(l: exp(A[i,l] - max(m: A[i,m])))",
    ),
    ("union", "tensor A: f64[I,J] csr  tensor B: f64[I,J] csr  tensor C: f64[I,J] csr  C[i,j] = A[i,j] + B[i,j]"),
    (
        "product of sparse matrices",
        "tensor A: f64[I,J] csr  tensor B: f64[J,K] csr  tensor C: f64[I,K] csr  C[i,k] = A[i,j] * B[j,k]",
    ),
    ("columns backwards", "tensor A: f64[I,J] csr  tensor B: f64[I,J] csr  B[i,j] = A[i, J - 1 - j]"),
    ("sum", "tensor A: f64[I,J] csr  tensor s: f64[] dense  s[] = sum(i, j: A[i,j] * A[i,j])"),
    ("angles", "tensor A: f64[I,J] dense  tensor B: f64[I,J] dense  B[i,j] = tan(A[i,j])"),
    ("rests", "tensor A: f64[I,J] dense  tensor B: f64[I,J] dense  B[i,j] = floormod(A[i,j], 0.3)"),
    ("dot", "tensor x: f64[I] dense  tensor y: f64[I] dense  tensor s: f64[] dense  s[] = sum(i: x[i] * y[i])"),
];

fn number(x: f64) -> Value {
    Value::from_bits(Type::F64, x.to_bits())
}

fn program(text: &str) -> Program {
    Program::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Each kernel is PTX for each GPU, and none of its loops stays on the host.
#[test]
fn kernels_are_made_for_each_gpu() {
    for (name, text) in KERNELS {
        let program = program(text);
        for gpu in Gpu::ALL {
            let ptx = program.ptx_of(&program.lowered(Mode::Algebraic).unwrap(), gpu).unwrap();
            assert!(ptx.contains(&format!(".target {}", gpu.name())), "{name}: {ptx}");
            assert!(ptx.contains(".visible .entry kernel_0("), "{name}: {ptx}");
            assert!(!ptx.contains("runs on the host"), "{name}: {ptx}");
            assert!(!ptx.contains(".func"), "{name}: {ptx}");
        }
    }
}

/// A block has a copy of what it folds into where shared memory suffices; otherwise its threads fold into the array itself. Sums of floats
/// are folded at once where a command leaves their order open.
#[test]
fn blocks_have_copies_of_what_they_fold_into() {
    let text = "tensor b: i64[N] dense  tensor w: TY[N] dense  tensor h: TY[SIZE] dense  h[b[n]] += w[n] SCHEDULE";
    let commands =
        "schedule { split(n -> c, t, 64); parallelize(c, gpu_block, temporary); parallelize(t, gpu_thread, atomics); }";
    let code = |ty: &str, size: &str, commands: &str| {
        let program = program(&text.replace("TY", ty).replace("SIZE", size).replace("SCHEDULE", commands));
        program.ptx_of(&program.lowered(Mode::Algebraic).unwrap(), Gpu::Sm80).unwrap()
    };
    for (size, is_copied) in [("6144", true), ("6145", false)] {
        let code = code("f64", size, commands);
        assert_eq!(code.contains("atom.shared.add.f64"), is_copied, "{size}: {code}");
        assert!(!code.contains("not dealt out"), "{size}: {code}");
    }
    let open = "in an order that no command leaves open";
    assert!(code("f64", "64", "").contains(open) && !code("i64", "64", "").contains(open));
}

/// What is read alone is loaded as constant.
#[test]
fn operands_are_loaded_as_constant() {
    let program = program(KERNELS[0].1);
    let ptx = program.ptx_of(&program.lowered(Mode::Algebraic).unwrap(), Gpu::Sm70).unwrap();
    let loads = ptx.matches("ld.global").count();
    assert_eq!((loads, ptx.matches("ld.global.nc").count()), (5, 5), "{ptx}");
    assert_eq!(ptx.matches("st.global").count(), 1, "{ptx}");
}

/// The matrix [5 0; 0 0; 7 1] times (1, 2), worked out by hand.
#[test]
fn the_machine_answers() {
    let entries = [(vec![0, 0], 5.0), (vec![2, 0], 7.0), (vec![2, 1], 1.0)].map(|(at, x)| (at, number(x)));
    let csr = Format::named("csr", 2).unwrap();
    let a = Tensor::from_entries(vec![3, 2], csr, number(0.0), Type::I32, Type::I32, entries).unwrap();
    let program = program(KERNELS[0].1);
    let kernel = program.compile(&Options { engine: Engine::Ptx, ..Options::default() }).unwrap();
    let x = Tensor::dense(vec![2], number(0.0), vec![1.0, 2.0].into()).unwrap();
    let outcome = kernel.run(&[("A", &a), ("x", &x)]).unwrap();
    assert_eq!(outcome["y"].values, vec![5.0, 0.0, 9.0].into());
}

/// A csr matrix of 32 rows, each of 256 ones, and what launches count of its product with ones.
fn counted(schedule: &str) -> Vec<(&'static str, u64)> {
    let entries = (0..32).flat_map(|i| (0..256).map(move |j| (vec![i, j], number(1.0))));
    let csr = Format::named("csr", 2).unwrap();
    let a = Tensor::from_entries(vec![32, 256], csr, number(0.0), Type::I32, Type::I32, entries).unwrap();
    let x = Tensor::dense(vec![256], number(0.0), vec![1.0; 256].into()).unwrap();
    let program = program(&format!("{} {schedule}", KERNELS[0].1));
    let kernel = program.compile(&Options { engine: Engine::Ptx, ..Options::default() }).unwrap();
    let outcome = kernel.run(&[("A", &a), ("x", &x)]).unwrap();
    assert_eq!(outcome["y"].values, vec![256.0; 32].into());
    outcome.ops.unwrap()
}

/// Segments of 128 bytes: with a thread a row each lane is in a segment of its own, with a warp a row lanes are neighbours.
#[test]
fn a_warp_a_row_reads_neighbours() {
    let of = |counts: &[(&str, u64)], name: &str| counts.iter().find(|(n, _)| *n == name).unwrap().1;
    let rows = counted("schedule { parallelize(i, cpu_thread, no_races); }");
    // Positions: 1 and 2, as the second load is shifted by one. 256 loads of coordinates and of values, 32 segments each; 256 of one
    // element of x; 2 of y.
    assert_eq!(of(&rows, "segments"), 3 + 256 * 32 + 256 * 32 + 256 + 2);
    assert_eq!(of(&rows, "shuffles"), 0);
    let warps =
        counted("schedule { parallelize(i, gpu_warp, no_races); parallelize(j, gpu_thread, parallel_reduction); }");
    // For each row: 2 loads of a position; 8 loads of 32 coordinates in one segment, of 32 values and of 32 elements of x in two; one store.
    assert_eq!(of(&warps, "segments"), 32 * (2 + 8 + 8 * 2 + 8 * 2 + 1));
    // Five steps of two halves.
    assert_eq!(of(&warps, "shuffles"), 32 * 5 * 2);
    // That is what is planned where no schedule says it.
    assert_eq!(counted(""), warps);
    // The same of blocks of 8 rows, of which each warp has every fourth.
    let blocks = counted(
        "schedule { split(i -> b, r, 8); split(r -> r0, w, 4); pos(j -> q, A); split(q -> z, t, 32); reorder(b, w, r0, t, z);
         parallelize(b, gpu_block, no_races); parallelize(w, gpu_warp, no_races); parallelize(t, gpu_thread, parallel_reduction); }",
    );
    assert_eq!(of(&blocks, "shuffles"), 32 * 5 * 2);
}

/// Commands that are planned for a GPU: rows are warps', and lanes have neighbours, in what is summed or side by side.
#[test]
fn rows_are_planned_for_warps() {
    let lanes =
        |of: &str, race: &str| format!("parallelize(i, gpu_warp, no_races); parallelize({of}, gpu_thread, {race});");
    let planned = [
        ("spmv", lanes("j", "parallel_reduction")),
        ("spmm", format!("reorder(i, k, j); {}", lanes("k", "no_races"))),
        ("sddmm", lanes("k", "parallel_reduction")),
        ("ttv", lanes("l", "parallel_reduction")),
        ("mttkrp", format!("reorder(i, k, j, l); {}", lanes("k", "no_races"))),
        ("relu", lanes("j", "no_races")),
        ("spmv, a warp a row", lanes("j", "parallel_reduction")),
    ];
    for (name, commands) in planned {
        let text = KERNELS.iter().find(|(known, _)| *known == name).unwrap().1;
        let told = program(text).for_gpu(Mode::Algebraic).syntax().to_string();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&told).contains(&words(&commands)), "{name}: {told}");
    }
}

/// A csr matrix with rows of these lengths, of which row `i` has its entries in the first columns; each is 1 + j mod 3.
fn of_lengths(lengths: &[u64], columns: u64) -> Tensor<'static> {
    let mut positions = vec![0i32];
    let mut coordinates = vec![];
    for length in lengths {
        coordinates.extend((0..*length).map(|j| j as i32));
        positions.push(coordinates.len() as i32);
    }
    let values: Vec<f64> = coordinates.iter().map(|j| f64::from(1 + j % 3)).collect();
    Tensor::csr(lengths.len() as u64, columns, positions, coordinates, values).unwrap()
}

/// What is planned for a csr matrix and a dense operand, which is as long as it has columns, times this many columns of its own; what launches
/// count; and the values, which are Σj A[i,j] · (j mod 7) of each row, each as often as there are columns of the other.
fn planned_on(text: &str, mode: Mode, a: &Tensor, own: Option<u64>) -> (String, Vec<(&'static str, u64)>) {
    let x: Vec<f64> = (0..a.extents[1] * own.unwrap_or(1)).map(|n| (n / own.unwrap_or(1) % 7) as f64).collect();
    let extents = [a.extents[1]].into_iter().chain(own).collect();
    let x = Tensor::dense(extents, number(0.0), x.into()).unwrap();
    let kernel = program(text).compile(&Options { engine: Engine::Ptx, mode, ..Options::default() }).unwrap();
    let mut call = kernel.bind(&[("A", a), ("x", &x)]).unwrap();
    let planned: Vec<String> = call.for_gpu().iter().map(|each| each.command.to_string()).collect();
    let outcome = call.run().unwrap();
    let ends: Vec<u64> = (0..=a.extents[0])
        .map(|i| a.levels[1].first(Holds::Positions).unwrap().get(i as usize).as_i64().unwrap() as u64)
        .collect();
    let row = |i: usize| (0..ends[i + 1] - ends[i]).map(|j| ((1 + j % 3) * (j % 7)) as f64).sum::<f64>();
    let wanted = (0..a.extents[0] as usize).flat_map(|i| vec![row(i); own.unwrap_or(1) as usize]);
    assert_eq!(outcome.dense::<f64>("y").unwrap(), wanted.collect::<Vec<_>>(), "{text}, {planned:?}");
    (planned.join("; "), outcome.ops.unwrap())
}

const PRODUCT: &str = "tensor A: f64[I,J] csr  tensor x: f64[J] dense  tensor y: f64[I] dense  y[i] = A[i,j] * x[j]";
const PRODUCT_OF_MATRICES: &str =
    "tensor A: f64[I,J] csr  tensor x: f64[J,K] dense  tensor y: f64[I,K] dense  y[i,k] = A[i,j] * x[j,k]";

/// Where lengths of rows follow a power law, warps have pieces of entries: the values are the same, and no warp works on alone. The order of
/// sums has to be open for it.
#[test]
fn rows_of_very_different_lengths_are_dealt_out_by_entries() {
    let of = |counts: &[(&str, u64)], name: &str| counts.iter().find(|(n, _)| *n == name).unwrap().1;
    let cases = [
        (
            PRODUCT,
            None,
            8000,
            "collapse(i, j -> all); pos(all -> entry, A); split(entry -> piece, within, 128); split(within -> lane, own, 4); \
             reorder(piece, lane, own); parallelize(piece, gpu_warp, atomics); parallelize(lane, gpu_thread, atomics)",
            "parallelize(i, gpu_warp, no_races); parallelize(j, gpu_thread, parallel_reduction);",
        ),
        (
            PRODUCT_OF_MATRICES,
            Some(32),
            1000,
            "reorder(i, j, k); collapse(i, j -> all); pos(all -> entry, A); split(entry -> piece, within, 64); \
             reorder(piece, k, within); parallelize(piece, gpu_warp, atomics); parallelize(k, gpu_thread, no_races)",
            "reorder(i, k, j); parallelize(i, gpu_warp, no_races); parallelize(k, gpu_thread, no_races);",
        ),
    ];
    for (text, own, longest, by_entries, by_rows) in cases {
        let lengths: Vec<u64> = (0..40).map(|n| longest / (1 + n * 17 % 40)).collect();
        let a = of_lengths(&lengths, longest);
        let (planned, counts) = planned_on(text, Mode::Algebraic, &a, own);
        assert_eq!(planned, by_entries);
        let (given, rows) = planned_on(&format!("{text} schedule {{ {by_rows} }}"), Mode::Algebraic, &a, own);
        assert_eq!(given, "", "the program says it");
        let [before, now] = [rows, counts].map(|counts| of(&counts, "longest_warp"));
        println!("{before} instructions of one warp by rows, {now} by entries");
        assert!(now * 4 < before, "{text}: {before} instructions of one warp, now {now}");
        let (strict, _) = planned_on(text, Mode::Strict, &a, own);
        assert!(!strict.contains("collapse"), "{strict}");
        // Rows of no more than two shares are warps'.
        let even = of_lengths(&[longest / 16; 12], longest);
        assert_eq!(planned_on(text, Mode::Algebraic, &even, own).0 + ";", by_rows);
    }
}

/// Warps have entries of a sampled product, too, whatever rows they are of: the result has the levels of the operand.
#[test]
fn a_sampled_product_is_dealt_out_by_entries() {
    let text = KERNELS.iter().find(|(known, _)| *known == "sddmm").unwrap().1;
    let lengths: Vec<u64> = (0..40).map(|n| 1000 / (1 + n * 17 % 40)).collect();
    let a = of_lengths(&lengths, 1000);
    let dense = |rows: u64| {
        let values: Vec<f64> = (0..rows * 32).map(|n| (n % 7) as f64).collect();
        Tensor::dense(vec![rows, 32], number(0.0), values.into()).unwrap()
    };
    let (u, v) = (dense(40), dense(1000));
    let made = |text: &str, mode: Mode| {
        let kernel = program(text).compile(&Options { engine: Engine::Ptx, mode, ..Options::default() }).unwrap();
        let mut call = kernel.bind(&[("A", &a), ("U", &u), ("V", &v)]).unwrap();
        let planned: Vec<String> = call.for_gpu().iter().map(|each| each.command.to_string()).collect();
        let outcome = call.run().unwrap();
        let longest = outcome.ops.as_ref().unwrap().iter().find(|(name, _)| *name == "longest_warp").unwrap().1;
        (outcome["C"].clone(), planned.join("; "), longest)
    };
    let by_rows = "parallelize(i, gpu_warp, no_races); parallelize(k, gpu_thread, parallel_reduction);";
    let (wanted, none, before) = made(&format!("{text} schedule {{ {by_rows} }}"), Mode::Algebraic);
    let (values, planned, now) = made(text, Mode::Algebraic);
    assert_eq!((none.as_str(), values), ("", wanted));
    let by_entries = "collapse(i, j -> all); pos(all -> entry, A); split(entry -> piece, within, 64); \
         parallelize(piece, gpu_warp, no_races); parallelize(k, gpu_thread, parallel_reduction)";
    assert_eq!(planned, by_entries);
    println!("{before} instructions of one warp by rows, {now} by entries");
    assert!(now * 4 < before, "{before} instructions of one warp, now {now}");
}

/// What is planned for a program with operands, what launches count, and the result; which is what machine code makes of them.
fn planned_for(text: &str, result: &str, given: &[(&str, &Tensor)]) -> (String, u64, Tensor<'static>) {
    let compiled = |engine| program(text).compile(&Options { engine, ..Options::default() }).unwrap();
    let kernel = compiled(Engine::Ptx);
    let mut call = kernel.bind(given).unwrap();
    let planned: Vec<String> = call.for_gpu().iter().map(|each| each.command.to_string()).collect();
    let outcome = call.run().unwrap();
    let made = outcome[result].clone();
    let wanted = compiled(Engine::Llvm).run(given).unwrap();
    assert_eq!(made, wanted[result], "{text}, {planned:?}");
    let longest = outcome.ops.unwrap().into_iter().find(|(name, _)| *name == "longest_warp").unwrap().1;
    (planned.join("; "), longest, made)
}

/// Where rows of what is merged are of very different lengths, threads have pieces of the entries of both.
#[test]
fn unions_are_dealt_out_by_entries() {
    let text = KERNELS.iter().find(|(known, _)| *known == "union").unwrap().1;
    let mut lengths = [3; 60];
    lengths[20] = 24_000;
    let (a, b) = (of_lengths(&lengths, 24_000), of_lengths(&[7; 60], 24_000));
    let (planned, now, made) = planned_for(text, "C", &[("A", &a), ("B", &b)]);
    assert_eq!(
        planned,
        "collapse(i, j -> all); weigh(all, A, B); split(all -> piece, within, 64); parallelize(piece, gpu_thread, no_races)"
    );
    assert_eq!(made.stored(), 24_000 + 59 * 7);
    let by_rows = format!("{text} schedule {{ parallelize(i, gpu_thread, no_races); }}");
    let (none, before, _) = planned_for(&by_rows, "C", &[("A", &a), ("B", &b)]);
    assert_eq!(none, "");
    println!("{before} instructions of one warp by rows, {now} by entries");
    assert!(now * 4 < before, "{before} instructions of one warp, now {now}");
    // Rows that are alike are threads'.
    assert_eq!(planned_for(text, "C", &[("A", &b), ("B", &b)]).0, "");
}

/// Lists that the outermost loop merges have pieces of equal numbers of entries, where they are long.
#[test]
fn lists_are_merged_in_pieces() {
    let text =
        "tensor a: f64[N] compressed  tensor b: f64[N] compressed  tensor c: f64[N] compressed  c[n] = a[n] + b[n]";
    let list = |count: i64, step: i64| {
        let entries = (0..count).map(|n| (vec![n * step], number(n as f64)));
        let format = Format::named("compressed", 1).unwrap();
        Tensor::from_entries(vec![40_000], format, number(0.0), Type::I32, Type::I32, entries).unwrap()
    };
    let (long, short) = (list(9000, 4), list(6000, 6));
    let (planned, _, made) = planned_for(text, "c", &[("a", &long), ("b", &short)]);
    assert_eq!(planned, "weigh(n, a, b); split_up(n -> piece, within, 4096); parallelize(piece, gpu_thread, no_races)");
    // Every third of the first is one of the second.
    assert_eq!(made.stored(), 9000 + 6000 - 3000);
    assert_eq!(planned_for(text, "c", &[("a", &list(300, 4)), ("b", &list(300, 6))]).0, "");
}

/// What the host calls its runtime for is inlined for a device, and has the same bits.
#[test]
fn functions_have_the_same_bits() {
    let floats = [0.0, -0.0, 1.0, -7.5, 0.3, 5e-324, 1e-310, 1e-9, 2.0, 268435456.0, -268435457.0, 1e22, 1.7e308];
    let floats: Vec<f64> = floats.into_iter().chain([f64::INFINITY, f64::NAN]).collect();
    let integers = [0, 1, -1, 2, 12, -18, 63, 1 << 40, i64::MAX, i64::MIN];
    let pairs = |n: usize| (0..n * n).map(move |k| (k / n, k % n));
    let vector = |values: fiberloom::Array<'static>, zero: Value| {
        Tensor::dense(vec![values.len() as u64], zero, values).unwrap()
    };
    let floating = |first: bool| {
        let values: Vec<f64> = pairs(floats.len()).map(|(a, b)| floats[if first { a } else { b }]).collect();
        vector(values.into(), number(0.0))
    };
    let whole = |first: bool| {
        let values: Vec<i64> = pairs(integers.len()).map(|(a, b)| integers[if first { a } else { b }]).collect();
        vector(values.into(), Value::zero(Type::I64))
    };
    let cases = [
        (
            "f64",
            [
                "sin(x[i])",
                "cos(x[i])",
                "tan(x[i])",
                "x[i] % z[i]",
                "floordiv(x[i], z[i])",
                "floormod(x[i], z[i])",
                "nextafter(x[i], z[i])",
                "ldexp(x[i], 1100)",
                "ldexp(x[i], -1030)",
            ]
            .to_vec(),
        ),
        ("i64", ["gcd(x[i], z[i])", "pow(x[i], z[i])"].to_vec()),
    ];
    for (ty, expressions) in cases {
        let (x, z) = if ty == "f64" { (floating(true), floating(false)) } else { (whole(true), whole(false)) };
        for e in expressions {
            let others = if e.contains('z') { format!("tensor z: {ty}[N] dense") } else { String::new() };
            let text = format!("tensor x: {ty}[N] dense  {others}  tensor y: {ty}[N] dense  y[i] = {e}");
            let given: Vec<(&str, &Tensor)> =
                [("x", &x), ("z", &z)].into_iter().filter(|(name, _)| *name == "x" || e.contains('z')).collect();
            let made = |engine| {
                let kernel = program(&text).compile(&Options { engine, ..Options::default() }).unwrap();
                let outcome = kernel.run(&given).unwrap();
                let values = &outcome["y"].values;
                let launched = outcome.ops.iter().flatten().any(|(name, n)| *name == "warp_instructions" && *n > 0);
                let bits = |n| if values.get(n).is_nan() { u64::MAX } else { values.get(n).bits() };
                ((0..values.len()).map(bits).collect::<Vec<u64>>(), launched)
            };
            let ((ours, launched), (theirs, _)) = (made(Engine::Ptx), made(Engine::Llvm));
            assert!(launched, "{e} is not launched");
            assert_eq!(ours, theirs, "{e}");
        }
    }
}

/// Threads fold into elements at once where sums may come in any order, and a loop would stay on the host otherwise.
#[test]
fn scatters_are_planned_for_atomics() {
    let text = "tensor b: i64[N] dense  tensor w: TY[N] dense  tensor h: TY[16] dense  h[b[n]] += w[n]";
    let planned = |ty: &str, mode: Mode| {
        let told = program(&text.replace("TY", ty)).for_gpu(mode);
        let ptx = told.ptx_of(&told.lowered(mode).unwrap(), Gpu::Sm80).unwrap();
        (told.syntax().to_string().contains("parallelize(n, gpu_thread, atomics)"), ptx.contains(".entry"))
    };
    assert_eq!(planned("f64", Mode::Algebraic), (true, true));
    assert_eq!(planned("f64", Mode::Strict), (false, false));
    assert_eq!(planned("i64", Mode::Algebraic), (false, true));
}

/// A kernel has commands for each call's operands: rows of up to eight entries are threads', a warp has two rows of nine entries, four of three
/// of which one is longer, and one of forty.
#[test]
fn a_call_is_dealt_out_by_its_rows() {
    let several = |rows: u32| {
        format!(
            "split(i -> rows, own, {rows}); parallelize(rows, gpu_warp, no_races); parallelize(own, gpu_thread, no_races); \
             parallelize(j, gpu_thread, parallel_reduction)"
        )
    };
    let one = "parallelize(i, gpu_warp, no_races); parallelize(j, gpu_thread, parallel_reduction)".to_string();
    let mut uneven = [3; 40];
    uneven[7] = 30;
    // Of each warp lanes join what they have: two shuffles for each time that their number is halved.
    let cases = [
        (of_lengths(&[8; 40], 50), String::new(), 0),
        (of_lengths(&[9; 40], 50), several(2), 20 * 4 * 2),
        (of_lengths(&uneven, 50), several(4), 10 * 3 * 2),
        (of_lengths(&[40; 40], 50), one, 40 * 5 * 2),
    ];
    for (a, commands, shuffles) in cases.iter().chain(&cases) {
        let (planned, counts) = planned_on(PRODUCT, Mode::Algebraic, a, None);
        assert_eq!(planned, *commands);
        assert!(counts.contains(&("shuffles", *shuffles)), "{commands}: {counts:?}");
    }
    let kernel = program(PRODUCT).compile(&Options { engine: Engine::Ptx, ..Options::default() }).unwrap();
    let x = Tensor::dense(vec![50], number(0.0), vec![1.0; 50].into()).unwrap();
    for (a, commands, _) in cases.iter().chain(&cases) {
        let call = kernel.bind(&[("A", a), ("x", &x)]).unwrap();
        assert_eq!(call.for_gpu().len(), commands.matches(';').count() + usize::from(!commands.is_empty()));
    }
}

/// NVIDIA's assembler, and a folder for what it reads and writes.
struct Assembler {
    path: PathBuf,
    folder: PathBuf,
}

impl Assembler {
    /// The one on the path, or where `FIBERLOOM_PTXAS` says; `None`, which is told, if there is none.
    fn found(test: &str) -> Option<Assembler> {
        let path = std::env::var_os("FIBERLOOM_PTXAS").map_or_else(|| "ptxas".into(), PathBuf::from);
        if !Command::new(&path).arg("--version").output().is_ok_and(|said| said.status.success()) {
            eprintln!(
                "skipped: there is no `ptxas`; `pip install nvidia-cuda-nvcc-cu12` has one: FIBERLOOM_PTXAS says where"
            );
            return None;
        }
        let folder = std::env::temp_dir().join(format!("fiberloom-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Some(Assembler { path, folder })
    }

    /// What it says of the registers and the memory that code needs.
    fn takes(&self, name: &str, code: &str, gpu: Gpu) -> String {
        let file = self.folder.join("kernel.ptx");
        std::fs::write(&file, code).unwrap();
        let mut command = Command::new(&self.path);
        command
            .arg(format!("-arch={}", gpu.name()))
            .args(["-v", "-o"])
            .arg(self.folder.join("kernel.cubin"))
            .arg(&file);
        let said = command.output().unwrap();
        let words = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.status.success(), "{name} for {}: {words}", gpu.name());
        words
    }
}

impl Drop for Assembler {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).unwrap();
    }
}

/// NVIDIA's assembler takes every kernel, for each GPU, and spills no register.
#[test]
fn kernels_are_assembled() {
    let Some(ptxas) = Assembler::found("kernels") else { return };
    for (name, text) in KERNELS.into_iter().chain(shared::KERNELS) {
        let program = program(text);
        for gpu in Gpu::ALL {
            let code = program.ptx_of(&program.lowered(Mode::Algebraic).unwrap(), gpu).unwrap();
            let words = ptxas.takes(name, &code, gpu);
            let used = words.lines().find(|line| line.contains("Used ")).unwrap_or_default();
            println!("{name} {} {}", gpu.name(), used.trim());
            assert!(words.contains("0 bytes spill stores"), "{name} for {}: {words}", gpu.name());
        }
    }
}

/// It takes the kernels of the file tests, with the commands that are planned for a GPU: of those with commands for GPUs for one of the GPUs
/// each; where all is tried, of all file tests for each.
#[test]
fn file_tests_are_assembled() {
    let Some(ptxas) = Assembler::found("files") else { return };
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests");
    let entries =
        |folder: &PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries(&root).flat_map(|folder| entries(&folder).collect::<Vec<_>>()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "loom"));
    files.sort();
    let (mut texts, mut assembled, mut spilled) = (0, 0, vec![]);
    for path in files {
        let (name, text) = (path.display().to_string(), std::fs::read_to_string(&path).unwrap());
        if !crate::all_is_tried() && !text.contains("gpu_") {
            continue;
        }
        // A test may be of a program that is refused, or is not lowered.
        let mode = if text.contains("#! mode strict") { Mode::Strict } else { Mode::Algebraic };
        let Ok(program) = Program::parse(&text) else { continue };
        let program = program.for_gpu(mode);
        let Ok(lowered) = program.lowered(mode) else { continue };
        texts += 1;
        for (n, gpu) in Gpu::ALL.into_iter().enumerate() {
            if !crate::all_is_tried() && texts % 3 != n {
                continue;
            }
            let code = program.ptx_of(&lowered, gpu).unwrap();
            if code.contains(".entry") {
                let words = ptxas.takes(&name, &code, gpu);
                assembled += 1;
                if words.matches("0 bytes spill stores").count() < code.matches(".entry").count() {
                    spilled.push((name.clone(), gpu.name()));
                }
            }
        }
    }
    println!("{assembled} codes of {texts} file tests; registers are spilled by {spilled:?}");
    assert!(assembled > 20, "{assembled} codes were assembled");
}
