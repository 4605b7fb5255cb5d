//! Blocks that stage what their threads read several times in shared memory: rows, tiles of dense and sparse matrices, rows of products.

use super::program;
use fiberloom::{Engine, Gpu, Mode, Options, Tensor};
use fiberloom_codegen::device::{Ptx, ptx};
use fiberloom_core::format::Array;
use fiberloom_loops::Runner;
use fiberloom_semantics::machine::Prepared;
use fiberloom_semantics::ptx::{Host, Limits, Module, Shape, Simulated};

/// Each with what it is.
pub(super) const KERNELS: [(&str, &str); 5] =
    [("a row", ROW), ("tiles", TILES), ("tiles of entries", ENTRIES), ("rows of lists", LISTS), ("mttkrp", MTTKRP)];

/// A block has a row of `A`, whose elements each of its threads reads.
const ROW: &str = "tensor A: f64[I,64] dense  tensor B: f64[64,K] dense  tensor C: f64[I,K] dense
    C[i,k] = A[i,j] * B[j,k] schedule { precompute(A[i,j], j -> jw, W); reorder(i, k, j);
    parallelize(i, gpu_block, no_races); parallelize(k, gpu_thread, no_races); }";

/// A block has a tile of each matrix.
const TILES: &str = "tensor A: f64[IB,JB,8,16] dense  tensor B: f64[JB,KB,16,8] dense  tensor C: f64[IB,KB,8,8] dense
    C[ib,kb,ir,kr] = A[ib,jb,ir,jr] * B[jb,kb,jr,kr] schedule { precompute(A[ib,jb,ir,jr], (ir, jr) -> (irw, jrw), WA);
    precompute(B[jb,kb,jr,kr], (jr, kr) -> (jrv, krv), WB); reorder(ib, kb, jb, ir, kr, jr);
    parallelize(ib, gpu_block, no_races); parallelize(ir, gpu_warp, no_races); parallelize(kr, gpu_thread, no_races); }";

/// The same of a matrix of which some tiles are stored.
const ENTRIES: &str = "tensor A: f64[IB,JB,8,16] {dense, compressed, dense, dense}  tensor B: f64[JB,KB,16,8] dense
    tensor C: f64[IB,KB,8,8] dense
    C[ib,kb,ir,kr] = A[ib,jb,ir,jr] * B[jb,kb,jr,kr] schedule { precompute(A[ib,jb,ir,jr], (ir, jr) -> (irw, jrw), WA);
    precompute(B[jb,kb,jr,kr], (jr, kr) -> (jrv, krv), WB); reorder(ib, kb, jb, ir, kr, jr);
    parallelize(ib, gpu_block, no_races); parallelize(ir, gpu_warp, no_races); parallelize(kr, gpu_thread, no_races); }";

/// A block spreads a row of a list over its coordinates.
const LISTS: &str = "tensor A: f64[I,J] csr  tensor X: f64[J,32] dense  tensor C: f64[I,32] dense
    C[i,k] = A[i,j] * X[j,k] schedule { precompute(A[i,j], j -> jw, W); store(W, dense); bound(j, 40); reorder(i, k, j);
    parallelize(i, gpu_block, no_races); parallelize(k, gpu_thread, no_races); }";

/// A block has a sum over the entries of a fiber, which is a row, and the row of the result.
const MTTKRP: &str =
    "tensor T: f64[I,J,L] {dense, compressed, compressed}  tensor E: f64[J,48] dense  tensor F: f64[L,48] dense
    tensor M: f64[I,48] dense
    M[i,k] = T[i,j,l] * E[j,k] * F[l,k] schedule { precompute(sum(l: T[i,j,l] * F[l,k]), k -> kw, W); reorder(i, j, k);
    parallelize(i, gpu_block, no_races); parallelize(k, gpu_thread, no_races); }";

/// Fewer threads than there are elements, and more; few blocks that run many iterations, and a block an iteration.
const SHAPES: [Shape; 4] = [
    Shape { blocks: 1, threads: 32 },
    Shape { blocks: 2, threads: 33 },
    Shape { blocks: 64, threads: 128 },
    Shape { blocks: 64, threads: 512 },
];

/// Whole numbers, of which sums are exact in any order.
fn numbers(n: usize, step: usize) -> Vec<f64> {
    (0..n).map(|k| (k * step % 11) as f64 - 5.0).collect()
}

/// The first result, the same for each shape and several orders of threads, and the code for one of the GPUs.
fn made(text: &str, params: &[(&str, i64)], given: &[(&str, Array<'static>)], gpu: Gpu) -> (Vec<f64>, Ptx) {
    let kernel = program(text).lowered(Mode::Algebraic).unwrap().kernel;
    let code = ptx(&kernel, gpu).unwrap();
    let module = Module::read(&code.text).unwrap_or_else(|e| panic!("{e}\n{}", code.text));
    let param = |v: &fiberloom_loops::Var| {
        let name = &kernel.vars[v.0 as usize].0;
        params.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name} is a param")).1
    };
    let params: Vec<i64> = kernel.params.iter().map(param).collect();
    let buffers: Vec<Option<&Array>> =
        kernel.buffers.iter().map(|b| given.iter().find(|(name, _)| *name == b.name).map(|(_, array)| array)).collect();
    let mut all = SHAPES.iter().flat_map(|shape| (1..4).map(move |seed| (shape, seed))).map(|(shape, seed)| {
        let launcher = Simulated::new(&module, Limits { seed, ..Limits::default() });
        let host = Host::new(&kernel, &launcher, &code.entries, *shape);
        let ran = Prepared::new(&kernel).unwrap().run_on(Some(&host), &params, &buffers, &Default::default());
        let outcome = ran.unwrap_or_else(|e| panic!("{shape:?}, {seed}: {e}\n{}", code.text));
        let array = outcome.buffers.into_iter().flatten().next().unwrap();
        (0..array.len()).map(|n| f64::from_bits(array.get(n).bits())).collect::<Vec<f64>>()
    });
    let first = all.next().unwrap();
    all.for_each(|other| assert_eq!(other, first, "{text}"));
    (first, code)
}

/// That a block runs an iteration, with so many bytes of shared memory, and that all loops are dealt out.
fn is_shared(code: &Ptx, bytes: u64) {
    let entries: Vec<(Runner, u64)> = code.entries.iter().map(|entry| (entry.runner, entry.shared)).collect();
    assert_eq!(entries, [(Runner::Block, bytes)], "{code}");
    assert!(code.refused.is_empty() && code.not_dealt.is_empty(), "{code}");
}

/// A row of the left matrix, 3 × 64 and 64 × 37.
#[test]
fn a_row_is_shared() {
    let (a, b) = (numbers(3 * 64, 7), numbers(64 * 37, 5));
    let product = |i: usize, k: usize| (0..64).map(|j| a[i * 64 + j] * b[j * 37 + k]).sum::<f64>();
    let wanted: Vec<f64> = (0..3).flat_map(|i| (0..37).map(move |k| (i, k))).map(|(i, k)| product(i, k)).collect();
    let given = [("A_vals", Array::from(a.clone())), ("B_vals", Array::from(b.clone()))];
    let (values, code) = made(ROW, &[("n_I", 3), ("n_j", 64), ("n_K", 37)], &given, Gpu::Sm70);
    assert_eq!(values, wanted);
    is_shared(&code, 64 * 8);
}

/// Matrices of 2 × 3 and 3 × 2 tiles, of 8 × 16 and 16 × 8 elements; of the first two rows of tiles have tiles 0 and 2, and tile 1.
#[test]
fn tiles_are_shared() {
    let (a, b) = (numbers(6 * 128, 3), numbers(6 * 128, 4));
    let params = [("n_IB", 2), ("n_JB", 3), ("n_KB", 2), ("n_ir", 8), ("n_jr", 16), ("n_kr", 8)];
    let product = |tiles: &[(usize, usize)], kb: usize, ir: usize, kr: usize| {
        let of = |(at, jb): (usize, usize)| {
            (0..16).map(move |jr| (at * 128 + ir * 16 + jr, (jb * 2 + kb) * 128 + jr * 8 + kr))
        };
        tiles.iter().copied().flat_map(of).map(|(x, y)| a[x] * b[y]).sum::<f64>()
    };
    let all = |rows: [&[(usize, usize)]; 2]| {
        let mut wanted = vec![];
        for (n, tiles) in rows.into_iter().enumerate() {
            (0..128).for_each(|e| wanted.push(product(tiles, e / 64, e / 8 % 8, e % 8)));
            assert_eq!(wanted.len(), (n + 1) * 128);
        }
        wanted
    };
    let given = [("A_vals", Array::from(a.clone())), ("B_vals", Array::from(b.clone()))];
    let (values, code) = made(TILES, &params, &given, Gpu::Sm80);
    assert_eq!(values, all([&[(0, 0), (1, 1), (2, 2)], &[(3, 0), (4, 1), (5, 2)]]));
    is_shared(&code, 2 * 128 * 8);
    let [_, right] = given;
    let lists = [("A1_pos", Array::from(vec![0i32, 2, 3])), ("A1_crd", Array::from(vec![0i32, 2, 1]))];
    let given = [("A_vals", Array::from(a[..3 * 128].to_vec())), right].into_iter().chain(lists).collect::<Vec<_>>();
    let (values, code) = made(ENTRIES, &params, &given, Gpu::Sm90);
    assert_eq!(values, all([&[(0, 0), (1, 2)], &[(2, 1)]]));
    is_shared(&code, 2 * 128 * 8);
}

/// Rows with entries at 1 and 39, none, and at 0, 7 and 8, of 40 coordinates.
#[test]
fn rows_of_lists_are_shared() {
    let (values, x) = (vec![2.0, -3.0, 1.0, 4.0, 5.0], numbers(40 * 32, 7));
    let given = [
        ("A1_pos", Array::from(vec![0i32, 2, 2, 5])),
        ("A1_crd", Array::from(vec![1i32, 39, 0, 7, 8])),
        ("A_vals", Array::from(values)),
        ("X_vals", Array::from(x.clone())),
    ];
    let rows: [&[(f64, usize)]; 3] = [&[(2.0, 1), (-3.0, 39)], &[], &[(1.0, 0), (4.0, 7), (5.0, 8)]];
    let product = |row: &[(f64, usize)], k: usize| row.iter().map(|(v, j)| v * x[j * 32 + k]).sum::<f64>();
    let wanted: Vec<f64> =
        rows.iter().flat_map(|row| (0..32).map(move |k| (row, k))).map(|(row, k)| product(row, k)).collect();
    let (values, code) = made(LISTS, &[("n_I", 3), ("n_J", 40), ("n_j", 40), ("n_k", 32)], &given, Gpu::Sm80);
    assert_eq!(values, wanted);
    is_shared(&code, 40 * 8);
}

/// Entries (0, 1, 0) 2, (0, 1, 2) 3, (0, 2, 1) 4 and (2, 0, 2) 5 of a tensor of 3 × 3 × 3.
#[test]
fn rows_of_products_are_shared() {
    let (e, f) = (numbers(3 * 48, 3), numbers(3 * 48, 8));
    let given = [
        ("T1_pos", Array::from(vec![0i32, 2, 2, 3])),
        ("T1_crd", Array::from(vec![1i32, 2, 0])),
        ("T2_pos", Array::from(vec![0i32, 2, 3, 4])),
        ("T2_crd", Array::from(vec![0i32, 2, 1, 2])),
        ("T_vals", Array::from(vec![2.0, 3.0, 4.0, 5.0])),
        ("E_vals", Array::from(e.clone())),
        ("F_vals", Array::from(f.clone())),
    ];
    let entries = [(0, 1, 0, 2.0), (0, 1, 2, 3.0), (0, 2, 1, 4.0), (2, 0, 2, 5.0)];
    let mut wanted = vec![0.0; 3 * 48];
    for (i, j, l, value) in entries {
        (0..48).for_each(|k| wanted[i * 48 + k] += value * e[j * 48 + k] * f[l * 48 + k]);
    }
    let params = [("n_I", 3), ("n_J", 3), ("n_L", 3), ("n_k", 48)];
    let (values, code) = made(MTTKRP, &params, &given, Gpu::Sm70);
    assert_eq!(values, wanted);
    // The row of the sum, and that of the result.
    is_shared(&code, 2 * 48 * 8);
}

/// What launches count of a product of dense tensors of ones with these extents, whose elements are all `sum`.
fn counted(text: &str, [a, b]: [&[u64]; 2], (result, sum): (&str, f64)) -> impl Fn(&str) -> u64 + use<> {
    let ones = |extents: &[u64]| {
        let values = vec![1.0; extents.iter().product::<u64>() as usize];
        Tensor::dense(extents.to_vec(), super::number(0.0), values.into()).unwrap()
    };
    let kernel = program(text).compile(&Options { engine: Engine::Ptx, ..Options::default() }).unwrap();
    let outcome = kernel.run(&[("A", &ones(a)), ("B", &ones(b))]).unwrap();
    let values = &outcome[result].values;
    assert!((0..values.len()).all(|n| values.get(n) == super::number(sum)));
    let counts = outcome.ops.clone().unwrap();
    move |name: &str| counts.iter().find(|(known, _)| *known == name).unwrap().1
}

/// The schedule without the commands that begin with a word.
fn without(text: &str, word: &str) -> String {
    let mut rest = text.to_string();
    while let Some(at) = rest.find(word) {
        let end = at + rest[at..].find(';').unwrap() + 1;
        rest.replace_range(at..end, "");
    }
    rest
}

/// Segments of 128 bytes of global memory, of launches of 128 threads, which are four warps.
#[test]
fn what_is_shared_is_read_once() {
    // 4 × 64 times 64 × 128: each warp has 32 of 128 columns. For each row and j a warp reads two segments of B; and it stores two of C.
    let rest = 4 * 4 * (64 * 2 + 2);
    let extents: [&[u64]; 2] = [&[4, 64], &[64, 128]];
    let plain = counted(&without(ROW, "precompute"), extents, ("C", 64.0));
    // A warp reads an element of A for each row and j.
    assert_eq!((plain("segments"), plain("barriers")), (rest + 4 * 4 * 64, 0));
    let shared = counted(ROW, extents, ("C", 64.0));
    // A block reads 64 elements of A, which are four segments; it waits before it fills the row and behind.
    assert_eq!((shared("segments"), shared("barriers")), (rest + 4 * 4, 4 * 2));
    assert_eq!(shared("bank_conflicts"), 0);
    // 3 × 4 tiles times 4 × 2: of 24 products of tiles each reads and stores 8 rows of a tile of C, a segment each.
    let extents: [&[u64]; 2] = [&[3, 4, 8, 16], &[4, 2, 16, 8]];
    let plain = counted(&without(TILES, "precompute"), extents, ("C", 64.0));
    // A warp, which has a row of a tile of C, reads an element of A and a row of B for each of 16 j.
    assert_eq!(plain("segments"), 24 * (8 * 2 + 8 * 16 * 2));
    let shared = counted(TILES, extents, ("C", 64.0));
    // A block reads two tiles of 1024 bytes.
    assert_eq!(shared("segments"), 24 * (8 * 2 + 2 * 8));
    assert_eq!((shared("barriers"), shared("bank_conflicts")), (24 * 2, 0));
}

/// Such kernels are launched by what the header says: their arguments have no workspace, and their code reserves the memory.
#[test]
fn the_header_says_what_is_shared() {
    let kernel = program(TILES).lowered(Mode::Algebraic).unwrap().kernel;
    let code = ptx(&kernel, Gpu::Sm80).unwrap();
    let header = code.header(&kernel);
    assert!(header.contains("of whole warps (32 threads; a block runs an iteration)"), "{header}");
    assert!(header.contains("A block has 2048 bytes of shared memory, which the code itself reserves"), "{header}");
    assert!(header.contains("A_vals_ = 0"), "{header}");
    // The host allocates none.
    assert!(!header.contains("WA_vals_ =") && !header.contains("alloc WA_vals"), "{header}");
}
