//! What is not visited: counts of operations on the checked interpreter, and statements of the loops.
//!
//! ```text
//!  band · list       the entries of the list that are in the band         and not those beside it
//!  runs · runs       a turn a run                                         and not a coordinate
//!  symmetric · x     each stored value at its two places                  and nothing above the diagonal
//!  m galloping in n  O(m log(n / m))                                      and not m + n
//!  blocks · list     a constant number of steps a block, anywhere         and not the logarithm of the list
//!  triangles         a row is spread once                                 and not walked beside each of its neighbours
//!  sum of 16 bands   loops linear in the operands                         and not 3¹⁶ of them
//!  mask · (a ^ b)    the entries of the mask, to which a and b leap       and not all of theirs
//! ```

use fiberloom::{Engine, Format, Kernel, LevelKind, Options, Outcome, Program, Tensor, Type, Value};

/// A vector in a level of this kind; extents may be large.
fn vector(extent: i64, kind: LevelKind, entries: impl IntoIterator<Item = (i64, i64)>) -> Tensor<'static> {
    let entries = entries.into_iter().map(|(at, x)| (vec![at], Value::i64(x)));
    let format = Format::of(vec![kind]);
    Tensor::from_entries(vec![extent as u64], format, Value::i64(0), Type::I64, Type::I64, entries).unwrap()
}

fn compiled(program: &str) -> Kernel {
    let options = Options { engine: Engine::Loops, verify: true, ..Options::default() };
    Program::parse(program).unwrap().compile(&options).unwrap()
}

/// Operations of one call, and what it made: as the meaning says.
fn run(kernel: &Kernel, operands: &[(&str, &Tensor)]) -> (u64, Outcome) {
    let mut call = kernel.bind(operands).unwrap();
    let outcome = call.run().unwrap();
    call.agrees(&outcome).unwrap();
    let total = outcome.ops.iter().flatten().find(|(name, _)| *name == "total").unwrap().1;
    (total, outcome)
}

#[test]
fn a_list_beside_an_interval_is_walked_within_it() {
    for kind in [LevelKind::Band, LevelKind::Vbl, LevelKind::Blocked] {
        let program = format!(
            "tensor b: i64[N] {{{}}} tensor s: i64[N] sparse tensor r: i64[N] sparse\n\
             r[i] = b[i] * s[i]\ny[] = sum(i: b[i] * s[i])",
            kind.name()
        );
        let kernel = compiled(&program);
        let b = vector(1_000_000, kind, (100..120).map(|i| (i, 3)));
        let cost = |beside: i64| {
            let inside = (100..120).step_by(5);
            let s = vector(1_000_000, LevelKind::Compressed, inside.chain(1000..1000 + beside).map(|i| (i, 2)));
            let (total, outcome) = run(&kernel, &[("b", &b), ("s", &s)]);
            assert_eq!(outcome["y"].values.get(0), Value::i64(24));
            assert_eq!(outcome["r"].stored(), 4);
            total
        };
        // A search may take some steps more.
        let (few, many) = (cost(10), cost(10_000));
        assert!(many <= few + 400, "{kind:?}: {few} operations, {many} with entries beside");
    }
}

#[test]
fn runs_beside_runs_take_a_turn_a_run() {
    for kind in [LevelKind::Runs, LevelKind::Packbits] {
        let program = format!(
            "tensor r: i64[N] {{{0}}} tensor s: i64[N] {{{0}}} tensor q: i64[N] {{{0}}}\n\
             q[i] = r[i] * s[i] + 1\ny[] = sum(i: r[i] * s[i])",
            kind.name()
        );
        let kernel = compiled(&program);
        // Of so many runs each, as long as wanted; the second one's begin in the middle of the first one's.
        let cost = |runs: i64, long: i64| {
            let n = runs * long;
            let r = vector(n, kind, (0..n).map(|i| (i, 1 + i / long % 3)));
            let s = vector(n, kind, (0..n).map(|i| (i, 1 + (i + long / 2) / long % 2)));
            let (total, outcome) = run(&kernel, &[("r", &r), ("s", &s)]);
            assert!(outcome["q"].stored() as i64 <= 2 * runs + 1);
            total
        };
        assert_eq!(cost(20, 10), cost(20, 1000), "{kind:?}: how long runs are makes no difference");
        let (one, two, four) = (cost(20, 10), cost(40, 10), cost(80, 10));
        assert!(four - two <= 2 * (two - one) + 8, "{kind:?}: {one}, {two}, {four}: linear in runs");
    }
}

#[test]
fn blocks_are_met_by_blocks_without_what_is_between() {
    let kernel = compiled("tensor a: i64[N] {vbl} tensor b: i64[N] {vbl} tensor c: i64[N] {vbl}\nc[i] = a[i] * b[i]");
    let cost = |apart: i64| {
        let blocks = |from: i64| (0..10).flat_map(move |n| (0..4).map(move |i| (from + n * apart + i, 2)));
        let n = 20 * apart;
        let (a, b) = (vector(n, LevelKind::Vbl, blocks(0)), vector(n, LevelKind::Vbl, blocks(2)));
        let (total, outcome) = run(&kernel, &[("a", &a), ("b", &b)]);
        assert_eq!(outcome["c"].stored(), 20);
        total
    };
    assert_eq!(cost(10), cost(100_000), "what is between blocks costs nothing");
}

#[test]
fn code_is_linear_in_intervals() {
    let statements = |operands: usize, kind: &str| {
        let tensors: String = (0..operands).map(|n| format!("tensor A{n}: i64[I, J] {{dense, {kind}}}\n")).collect();
        let sum: Vec<String> = (0..operands).map(|n| format!("A{n}[i,j]")).collect();
        let program = format!("{tensors}tensor R: i64[I, J] dense\nR[i,j] = {}\n", sum.join(" + "));
        let lowered = Program::parse(&program).unwrap().lowered(Options::default().mode).unwrap();
        lowered.kernel.to_string().lines().count()
    };
    for kind in ["band", "ragged", "runs", "vbl", "blocked", "packbits"] {
        let [eight, sixteen, more] = [8, 16, 32].map(|operands| statements(operands, kind));
        assert!(more - sixteen <= 2 * (sixteen - eight) + 8, "{kind}: {eight}, {sixteen}, {more} lines");
    }
}

/// A matrix in these levels.
fn matrix(extents: [i64; 2], levels: [LevelKind; 2], entries: impl IntoIterator<Item = (i64, i64)>) -> Tensor<'static> {
    let entries = entries.into_iter().map(|(i, j)| (vec![i, j], Value::i64(1 + (3 * i.min(j) + 5 * i.max(j)) % 7)));
    let (format, extents) = (Format::of(levels.to_vec()), extents.map(|n| n as u64).to_vec());
    Tensor::from_entries(extents, format, Value::i64(0), Type::I64, Type::I64, entries).unwrap()
}

/// Loads of one call.
fn loads(kernel: &Kernel, operands: &[(&str, &Tensor)]) -> u64 {
    let (_, outcome) = run(kernel, operands);
    outcome.ops.iter().flatten().find(|(name, _)| *name == "loads").unwrap().1
}

/// The looplets paper's symmetric product: what stands above the diagonal is not stored, and each value is read once for its two places.
#[test]
fn a_symmetric_matrix_times_a_vector_reads_each_stored_value_once() {
    let kernel = compiled(
        "tensor S: i64[N, N] {dense, symmetric} tensor x: i64[N] dense tensor y: i64[N] dense\ny[i] = S[i,j] * x[j]",
    );
    for n in [1, 7, 40] {
        let all = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        let s = matrix([n, n], [LevelKind::Dense, LevelKind::Symmetric], all);
        let x = vector(n, LevelKind::Dense, (0..n).map(|i| (i, i + 1)));
        let stored = s.stored() as u64;
        assert_eq!(stored, (n * (n + 1) / 2) as u64);
        // Beside each value of the matrix one of the vector is read, and beside those off the diagonal one of the result.
        assert_eq!(loads(&kernel, &[("S", &s), ("x", &x)]), 2 * stored + (stored - n as u64));
    }
}

/// A list of m entries beside one of n: O(m log(n / m)) where the longer one gallops.
#[test]
fn galloping_costs_the_logarithm_of_how_much_longer_a_list_is() {
    let kernel = compiled(
        "tensor a: i64[N] sparse tensor b: i64[N] sparse\ns[] = sum(i: a[i] * b[i]) schedule { protocol(b[i], gallop); }",
    );
    let cost = |m: i64, n: i64| {
        let a = vector(n, LevelKind::Compressed, (0..m).map(|i| (i * (n / m), 2)));
        let b = vector(n, LevelKind::Compressed, (0..n).map(|i| (i, 3)));
        let (total, outcome) = run(&kernel, &[("a", &a), ("b", &b)]);
        assert_eq!(outcome["s"].values.get(0), Value::i64(6 * m));
        total
    };
    for m in [4, 16, 64] {
        for ratio in [4, 16, 64, 256] {
            let (operations, bound) = (cost(m, m * ratio), m * (2 * ratio.ilog2() as i64 + 4));
            // So many operations a comparison, those of the loops among them.
            assert!(operations as i64 <= 14 * bound + 60, "{m} beside {}: {operations} operations", m * ratio);
        }
    }
}

/// What blocks, bands or entries of rows seek in a list that stays is found in its directory: in as many steps however long the list is, if it
/// has fewer entries than they are; of a few that seek in a long one nothing is written down, and they leap.
#[test]
fn what_many_seek_is_found_in_a_directory() {
    let [gallop, locate] = ["gallop", "locate"].map(|how| format!("schedule {{ protocol(x[j], {how}); }}"));
    let (list, none) = (LevelKind::Compressed, String::new());
    for (kind, how) in [(LevelKind::Vbl, &none), (LevelKind::Band, &none), (list, &gallop), (list, &locate)] {
        let format = kind.name();
        let program = format!("tensor A: i64[I, J] {{dense, {format}}} tensor x: i64[J] sparse\ny[i] = A[i,j] * x[j]");
        let kernel = compiled(&format!("{program} {how}"));
        let cost = |rows: i64, entries: i64, n: i64| {
            let a = matrix([rows, n], [LevelKind::Dense, kind], (0..rows).map(|i| (i, 389 * i % n)));
            let x = vector(n, LevelKind::Compressed, (0..entries).map(|k| (k * (n / entries), 2)));
            run(&kernel, &[("A", &a), ("x", &x)]).0
        };
        let many = cost(800, 128, 512);
        assert!(many < 800 * 70, "{kind:?}: {many} operations of 800 rows beside 128 entries");
        let (one, other) = (cost(8, 64, 1 << 14), cost(8, 1 << 10, 1 << 14));
        assert!(other < one + 8 * 200, "{kind:?}: {one} operations of 8 rows beside 64 entries, {other} beside 2^10");
    }
}

/// Triangles: a row that stays while others move is spread once, and the others are asked in it, but for those much longer.
#[test]
fn a_row_beside_many_rows_is_not_walked_beside_each() {
    let program = "tensor A: i64[N, N] csr\nt[] = sum(i, j, k: A[i,j] * A[j,k] * A[i,k])";
    let (spread, walked) = (compiled(program), compiled(&format!("{program} schedule {{ protocol(A[k], walk); }}")));
    // A hub that is everybody's neighbour, and a ring.
    let n = 200;
    let ring = (1..n).map(|i| (i, if i + 1 < n { i + 1 } else { 1 }));
    let edges: Vec<(i64, i64)> = (1..n).map(|i| (0, i)).chain(ring).flat_map(|(i, j)| [(i, j), (j, i)]).collect();
    let a = matrix([n, n], [LevelKind::Dense, LevelKind::Compressed], edges);
    let ((few, one), (many, other)) = (run(&spread, &[("A", &a)]), run(&walked, &[("A", &a)]));
    assert_eq!(one["t"], other["t"]);
    // Of both ends of an edge to the hub, one walks 200 neighbours, the other leaps; each row is laid and taken up once.
    assert!(few * 2 < many, "{few} operations, {many} by walking");
}

/// A condition of an outer loop rules out its rows, one on a loop's own variable all but one of its coordinates.
#[test]
fn what_conditions_rule_out_is_not_visited() {
    let kernel = compiled(
        "tensor A: i64[N, N] csr tensor m: bool[N] dense tensor p: i64[N] dense tensor x: i64[N] dense\n\
         y[i] = sum(j: mask(m[i], A[i,j]))\nz[i] = sum(j: mask(j == p[i], x[j]))",
    );
    let cost = |rows: i64, n: i64| {
        let a = matrix(
            [n, n],
            [LevelKind::Dense, LevelKind::Compressed],
            (0..n).flat_map(|i| (0..20).map(move |j| (i, j))),
        );
        let flags = (0..rows).map(|i| (vec![i], Value::bool(true)));
        let dense = Format::dense(1);
        let m = Tensor::from_entries(vec![n as u64], dense, Value::bool(false), Type::I64, Type::I64, flags).unwrap();
        let p = vector(n, LevelKind::Dense, (0..n).map(|i| (i, (7 * i) % n)));
        let x = vector(n, LevelKind::Dense, (0..n).map(|i| (i, i)));
        loads(&kernel, &[("A", &a), ("m", &m), ("p", &p), ("x", &x)])
    };
    // Each row that is read: two ends and its entries. Each coordinate: a condition, a place, and what stands there.
    assert_eq!(cost(7, 100) - cost(2, 100), 5 * (20 + 2));
    assert_eq!(cost(0, 200), 2 * cost(0, 100));
    assert_eq!(cost(0, 100), 300);
}

#[test]
fn what_is_masked_costs_as_much_as_the_mask() {
    let each = "tensor a: bool[N] sparse tensor b: bool[N] sparse tensor m: bool[N] sparse tensor r: bool[N] sparse\n";
    for xor in ["r[i] = m[i] & (a[i] ^ b[i])", "r[i] = (m[i] & a[i]) ^ (m[i] & b[i])"] {
        let kernel = compiled(&format!("{each}{xor}"));
        let extent = 40_000;
        let [a, b] = [2, 3].map(|step| truths(extent, (0..extent).step_by(step)));
        let cost = |entries: i64| {
            let m = truths(extent, (0..entries).map(|n| n * (extent / entries)));
            run(&kernel, &[("a", &a), ("b", &b), ("m", &m)]).0
        };
        let costs = [10, 100, 1000, 10_000].map(cost);
        for (entries, cost) in [10, 100, 1000, 10_000].into_iter().zip(costs) {
            // Of each list a comparison or two for each doubling of what is leapt over.
            let leaps = u64::from((extent as u64 / entries).ilog2()) + 2;
            assert!(cost <= 200 + 70 * entries * leaps, "`{xor}`, {entries} entries in the mask: {cost} operations");
        }
        assert!(costs.is_sorted(), "{costs:?}");
    }
}

/// A vector of truth values, a list of coordinates.
fn truths(extent: i64, entries: impl IntoIterator<Item = i64>) -> Tensor<'static> {
    let entries = entries.into_iter().map(|at| (vec![at], Value::bool(true)));
    let format = Format::of(vec![LevelKind::Compressed]);
    Tensor::from_entries(vec![extent as u64], format, Value::bool(false), Type::I64, Type::I64, entries).unwrap()
}
