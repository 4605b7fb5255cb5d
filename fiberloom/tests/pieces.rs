//! What is not walked: counts of operations on the checked interpreter, and statements of the loops.
//!
//! ```text
//!  band · list       the entries of the list that are in the band         and not those beside it
//!  runs · runs       a turn a run                                         and not a coordinate
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
    for kind in [LevelKind::Band, LevelKind::Vbl] {
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
    for kind in ["band", "ragged", "runs", "vbl", "packbits"] {
        let [eight, sixteen, more] = [8, 16, 32].map(|operands| statements(operands, kind));
        assert!(more - sixteen <= 2 * (sixteen - eight) + 8, "{kind}: {eight}, {sixteen}, {more} lines");
    }
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
