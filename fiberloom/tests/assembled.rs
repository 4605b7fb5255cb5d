//! Results in every format that loops make, array by array.
//!
//! ```text
//!  entries of A and B, drawn ─┬─▶ A, B in rows ──▶ kernel ──▶ R
//!                             └─▶ which coordinates R stores, by the rule of the operation ──▶ a tensor of these entries
//! ```
//!
//! What is expected is made of coordinates by `Tensor::from_entries`, as lists, and converted by `Tensor::settled`: no kernel had a part
//! in it. Both have the same arrays, or both refuse the same coordinate.
//!
//! Any level of an operand, of a result, and a cut of the loops between them meet in combinations that are drawn; of these the values
//! are compared, and whether results are well-formed. `COMBINATIONS=10000` draws as many, in the place of some hundred.

use fiberloom::{Assembly, Engine, Format, LevelKind, Mode, Options, Program, Tensor, Type, Value};
use fiberloom_core::shape::Extents;
use fiberloom_loops::{self as loops, Failure};
use fiberloom_semantics::machine;
use std::collections::BTreeMap;

/// Entries by coordinates; those that are stored may be 0.
type Map = BTreeMap<(i64, i64), i64>;

const N: i64 = 7;

/// Numbers that look random, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    /// A square matrix; some rows are empty, some full, and some values stored zeros.
    fn matrix(&mut self, keep: impl Fn(i64, i64) -> bool) -> Map {
        let mut map = Map::new();
        for i in 0..N {
            let some = self.below(4);
            for j in (0..N).filter(|j| keep(i, *j)) {
                if self.below(3) < some {
                    map.insert((i, j), self.below(5) as i64 - 2);
                }
            }
        }
        map
    }
}

/// Values of a type are these integers.
fn tensor(map: &Map, (ty, format): (Type, &str)) -> Result<Tensor<'static>, String> {
    let program = Program::parse(&format!("tensor A: {ty}[N, N] {format}\nR[i,j] = A[i,j]")).unwrap();
    let format: Format = program.typed().tensors[0].format.clone().unwrap();
    let value = |v: i64| if ty == Type::I64 { Value::from(v) } else { Value::from_f64(ty, v as f64) };
    let entries = map.iter().map(|((i, j), v)| (vec![*i, *j], value(*v)));
    let list = format.assembled();
    let made = Tensor::from_entries(vec![N as u64; 2], list, value(0), Type::I32, Type::I32, entries);
    made.and_then(|list| list.settled(&format, &Assembly::default())).map_err(|e| e.to_string())
}

/// What a result stores: at each entry of a list, also 0; where loops count coordinates, what is not 0.
struct Operation {
    statement: &'static str,
    stored: fn(&Map, &Map) -> Map,
}

const OPERATIONS: [Operation; 6] = [
    Operation { statement: "R[i,j] = 2 * A[i,j]", stored: |a, _| a.iter().map(|(at, v)| (*at, 2 * v)).collect() },
    Operation {
        statement: "R[i,j] = A[i,j] + B[i,j]",
        stored: |a, b| {
            let mut sum = a.clone();
            b.iter().for_each(|(at, v)| *sum.entry(*at).or_default() += v);
            sum
        },
    },
    Operation {
        statement: "R[i,j] = A[i,j] * B[i,j]",
        stored: |a, b| a.iter().filter_map(|(at, v)| Some((*at, v * b.get(at)?))).collect(),
    },
    Operation { statement: "R[j,i] = A[i,j]", stored: |a, _| a.iter().map(|((i, j), v)| ((*j, *i), *v)).collect() },
    Operation {
        statement: "R[i,j] = A[i,k] * B[k,j]",
        stored: |a, b| {
            let mut product = Map::new();
            for ((i, k), v) in a {
                b.range((*k, 0)..(*k, N)).for_each(|((_, j), w)| *product.entry((*i, *j)).or_default() += v * w);
            }
            product
        },
    },
    Operation {
        statement: "R[i,j] = max(A[i,j], D[i,j])",
        stored: |a, _| {
            let all = (0..N).flat_map(|i| (0..N).map(move |j| (i, j)));
            let value = |(i, j): (i64, i64)| a.get(&(i, j)).copied().unwrap_or(0).max((i + 2 * j) % 3 - 1);
            all.map(|at| (at, value(at))).filter(|(_, v)| *v != 0).collect()
        },
    },
];

/// What is said of a coordinate that differs from its mirror image, said of that.
fn mirrored(message: &str) -> String {
    let all = (0..N).flat_map(|i| (0..N).map(move |j| (i, j)));
    let [of, at] =
        [|(i, j)| format!("stands at ({i}, {j}) does not"), |(i, j)| format!("stands at ({j}, {i}) does not")];
    let found = all.map(|place| (of(place), at(place))).find(|(of, _)| message.contains(of));
    found.map_or_else(|| message.to_string(), |(of, at)| message.replace(&of, &at))
}

/// The program's result in one format, of a type and in a mode, by both engines, compared with what is expected.
fn compare(format: &str, operation: &Operation, (a, b): (&Map, &Map), (ty, mode): (Type, Mode)) -> bool {
    let declared = [("A", "csr"), ("B", "csr"), ("D", "dense"), ("R", format)];
    let declared = declared.map(|(name, format)| format!("tensor {name}: {ty}[N, N] {format}\n"));
    let text = format!("{}{}", declared.concat(), operation.statement);
    let program = Program::parse(&text).unwrap_or_else(|e| panic!("{text}\n{e}"));
    let dense: Map = (0..N).flat_map(|i| (0..N).map(move |j| ((i, j), (i + 2 * j) % 3 - 1))).collect();
    let all = [("A", tensor(a, (ty, "csr"))), ("B", tensor(b, (ty, "csr"))), ("D", tensor(&dense, (ty, "dense")))];
    let all = all.map(|(name, t)| (name, t.unwrap()));
    let read = |name: &str| operation.statement.contains(&format!("{name}["));
    let operands: Vec<(&str, &Tensor)> =
        all.iter().filter(|(name, _)| read(name)).map(|(name, t)| (*name, t)).collect();
    let stored = (operation.stored)(a, b);
    let expected = tensor(&stored, (ty, format));
    for engine in [Engine::Loops, Engine::Llvm] {
        let kernel = program.compile(&Options { engine, mode, verify: true, ..Options::default() });
        let made = kernel.and_then(|kernel| kernel.run(&operands)).map_err(|e| e.to_string());
        match (&expected, made) {
            (Ok(expected), Ok(made)) => {
                let (_, made) = made.results.first().expect("a result");
                let same = (&made.levels, &made.values) == (&expected.levels, &expected.values);
                assert!(same, "{engine:?}: {text}\n{a:?}\n{b:?}\n{made:?}\n{expected:?}");
            }
            (Err(expected), Err(made)) => {
                let names = made.contains(expected) || made.contains(&mirrored(expected));
                assert!(names, "{text}: {made}, expected {expected}");
            }
            (expected, made) => panic!("{engine:?}: {text}: {expected:?}, {:?}", made.err()),
        }
    }
    expected.is_ok()
}

/// Entries whose products are those of integers: in strict mode 0 times a negative number is another 0.
fn of_mode(mut map: Map, mode: Mode) -> Map {
    map.retain(|_, v| mode == Mode::Algebraic || *v > 0);
    map
}

/// Every level that is made below every level that may stand above it, in both orders of modes.
#[test]
fn every_format_that_loops_make() {
    let mut random = Random(1);
    let above = [LevelKind::Dense, LevelKind::Compressed, LevelKind::Hashed, LevelKind::Bytemap, LevelKind::Nonunique];
    let last =
        [LevelKind::Ragged, LevelKind::Band, LevelKind::Vbl, LevelKind::Blocked, LevelKind::Runs, LevelKind::Packbits];
    for operation in &OPERATIONS {
        for outer in above {
            for inner in last {
                assert!(Format::of(vec![outer, inner]).is_made());
                let order = if random.below(2) == 0 { "" } else { " order(1, 0)" };
                let format = format!("{{{}, {}}}{order}", outer.name(), inner.name());
                let (a, b) = (random.matrix(|_, _| true), random.matrix(|_, _| true));
                // A run of zeros and stored zeros are one: what is stored in runs is a matter of values.
                let is_of_runs = matches!(inner, LevelKind::Runs | LevelKind::Packbits);
                let drop = |map: Map| map.into_iter().filter(|(_, v)| !is_of_runs || *v != 0).collect::<Map>();
                let (a, b) = (drop(a), drop(b));
                let types =
                    [Type::I64, Type::F64].into_iter().filter(|_| crate::all_is_tried() || random.below(2) == 0);
                let types = types.collect::<Vec<_>>();
                for ty in types {
                    compare(&format, operation, (&a, &b), (ty, Mode::Algebraic));
                }
                // Strict products store more entries; of which of them rows are, runs do not tell.
                if is_of_runs && outer == LevelKind::Dense {
                    let [a, b] = [a, b].map(|map| of_mode(map, Mode::Strict));
                    compare(&format, operation, (&a, &b), (Type::F64, Mode::Strict));
                }
            }
        }
    }
}

/// Triangles of triangles, and those of any matrices, most of which have a value elsewhere.
#[test]
fn every_triangle_that_loops_make() {
    type Side = (&'static str, fn(i64, i64) -> bool);
    let sides: [Side; 2] = [("lower", |i, j| j <= i), ("upper", |i, j| i <= j)];
    let mut random = Random(2);
    let ways = [(Type::I64, Mode::Algebraic), (Type::F64, Mode::Algebraic), (Type::F32, Mode::Strict)];
    for ((n, operation), way) in OPERATIONS.iter().enumerate().flat_map(|each| ways.map(|way| (each, way))) {
        for (name, inside) in sides {
            // The transposed copy of a triangle is the same one by columns.
            let format = format!("{{dense, {name}}}{}", if n == 3 { " order(1, 0)" } else { "" });
            let mut matrix = |inside: fn(i64, i64) -> bool| of_mode(random.matrix(inside), way.1);
            let is_held = compare(&format, operation, (&matrix(inside), &matrix(inside)), way);
            assert!(is_held || n == 5, "{format} {}", operation.statement);
            compare(&format, operation, (&matrix(|_, _| true), &matrix(|_, _| true)), way);
        }
        for order in ["", " order(1, 0)"] {
            let format = format!("{{dense, symmetric}}{order}");
            let mut mirrored = || {
                let half = of_mode(random.matrix(|i, j| j <= i), way.1);
                half.iter().flat_map(|((i, j), v)| [((*i, *j), *v), ((*j, *i), *v)]).collect::<Map>()
            };
            let (a, b) = (mirrored(), mirrored());
            let is_held = compare(&format, operation, (&a, &b), way);
            assert!(is_held || n >= 4, "{format} {}", operation.statement);
            // A product with itself is mirrored, and one value is not.
            assert!(compare(&format, &OPERATIONS[4], (&a, &a), way));
            compare(&format, operation, (&of_mode(random.matrix(|_, _| true), way.1), &b), way);
        }
    }
}

/// Which floats a symmetric level takes for one: the same in a kernel, which then ends, and where results are converted, which keeps the
/// one before the diagonal.
#[test]
fn mirrored_floats_are_one_in_kernels_and_conversions() {
    let near = |part: f64| 3.0 + 3.0 * part;
    let halves = [near(0.5f64.powi(26)), near(0.5f64.powi(25)), near(0.5f64.powi(12)), near(0.5f64.powi(11))];
    let special =
        [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 3.0, -3.0, f64::MIN_POSITIVE, f64::MAX, f64::MIN];
    let all: Vec<f64> = special.into_iter().chain(halves).collect();
    let mut ones = BTreeMap::new();
    for ty in [Type::F32, Type::F64] {
        let text = format!("tensor A: {ty}[N, N] dense tensor S: {ty}[N, N] {{dense, symmetric}}\nS[i,j] = A[i,j]");
        let program = Program::parse(&text).unwrap();
        let symmetric: Format = "{dense, symmetric}".parse().unwrap();
        for mode in [Mode::Algebraic, Mode::Strict] {
            let kernel = program.lowered(mode).unwrap().kernel;
            let machine = machine::Prepared::of(&kernel).unwrap();
            for (x, y) in all.iter().flat_map(|x| all.iter().map(move |y| (*x, *y))) {
                let values = [1.0, x, y, 2.0].map(|v| Value::from_f64(ty, v));
                let entries = [[0, 0], [0, 1], [1, 0], [1, 1]].map(|at| at.to_vec()).into_iter().zip(values);
                let dense = Format::dense(2);
                let a =
                    Tensor::from_entries(vec![2; 2], dense, Value::zero(ty), Type::I32, Type::I32, entries).unwrap();
                let bound = loops::bind(&kernel, &[("A", &a)], &|_| vec![2; 2], &Extents::default()).unwrap();
                let ran = machine.run(&bound.params, &bound.arrays(), &machine::Limits::default());
                let how = Assembly { rounded: mode == Mode::Algebraic, ..Assembly::default() };
                let one = match (a.clone().settled(&symmetric, &how), ran) {
                    (Ok(expected), Ok(ran)) => {
                        let results = loops::collect(&kernel, &bound, &mut loops::taken(ran.buffers)).unwrap();
                        // Zeros of either sign are one value in algebraic mode, but the kernel stores the one that it comes to.
                        let bits = |t: &Tensor| t.values.iter().map(|v| (v.is_nan(), v.as_f64())).collect::<Vec<_>>();
                        let [made, expected] = [bits(&results[0].1), bits(&expected)];
                        let same = |((a, x), (b, y)): (&(bool, f64), &(bool, f64))| a == b && (*a || x == y);
                        assert!(made.iter().zip(&expected).all(same), "{ty} {mode:?} {x} {y}: {made:?}, {expected:?}");
                        true
                    }
                    (Err(_), Err(machine::Fault::Stopped(Failure::Unheld))) => false,
                    (expected, ran) => panic!("{ty} {mode:?} {x} {y}: {expected:?}, {:?}", ran.err()),
                };
                *ones.entry((ty.to_string(), format!("{mode:?}"))).or_insert(0) += one as usize;
            }
        }
    }
    let of = |ty: &str, mode: &str| ones[&(ty.to_string(), mode.to_string())];
    assert!(of("f64", "Algebraic") > of("f64", "Strict") && of("f32", "Algebraic") > of("f32", "Strict"));
}

/// Formats of half of the operands: those whose rows loops come to in more than one way.
const OFTEN: [&str; 4] = ["csr", "coo", "{nonunique, compressed}", "{compressed, compressed}"];

/// Levels that may stand anywhere.
const ANYWHERE: [&str; 6] = ["dense", "compressed", "hashed", "bytemap", "bitmap", "nonunique"];

/// Levels that stand below a level.
const BELOW: [&str; 16] = [
    "dense",
    "compressed",
    "hashed",
    "bytemap",
    "bitmap",
    "nonunique",
    "singleton",
    "ragged",
    "band",
    "vbl",
    "blocked",
    "runs",
    "packbits",
    "lower",
    "upper",
    "symmetric",
];

/// Commands that cut loops, most of them within a row.
const CUTS: [&str; 11] = [
    "",
    "pos(j -> q, A); split(q -> a, b, 2);",
    "pos(j -> q, A); split_up(q -> a, b, 2);",
    "collapse(i, j -> f); split(f -> a, b, 3);",
    "collapse(i, j -> f); split_up(f -> a, b, 4);",
    "collapse(i, j -> f); pos(f -> p, A); split(p -> a, b, 2);",
    "pos(i -> q, A); split(q -> a, b, 2);",
    "weigh(i, A); split(i -> a, b, 2);",
    "collapse(i, j -> f); split_up(f -> a, c, 3); split(c -> d, e, 2);",
    "split(j -> a, b, 2);",
    "collapse(i, j -> f); pos(f -> p, A); split_up(p -> a, c, 3); split(c -> d, e, 2);",
];

/// An element of A, of B and of D, and its coordinates.
type Place = (i64, i64, i64, i64, i64);

/// The value that a statement gives a place.
type Worth = fn(Place) -> i64;

/// Right sides, each with the value that it has at a place.
const VALUES: [(&str, Worth); 12] = [
    ("A[i,j]", |(a, ..)| a),
    ("2 * A[i,j]", |(a, ..)| 2 * a),
    ("A[i,j] + B[i,j]", |(a, b, ..)| a + b),
    ("A[i,j] * B[i,j]", |(a, b, ..)| a * b),
    ("A[i,j] * D[i,j]", |(a, _, d, ..)| a * d),
    ("max(A[i,j], D[i,j])", |(a, _, d, ..)| a.max(d)),
    ("0 * A[i,j]", |_| 0),
    ("A[i,j] + 1", |(a, ..)| a + 1),
    ("0 * A[i,j] + 3", |_| 3),
    ("mask(i <= j, A[i,j])", |(a, _, _, i, j)| if i <= j { a } else { 0 }),
    ("if j < i then A[i,j] else B[i,j]", |(a, b, _, i, j)| if j < i { a } else { b }),
    ("A[i,j] * (i - j)", |(a, _, _, i, j)| a * (i - j)),
];

/// Any format of two levels; `None` where the second does not stand below the first.
fn any_format(random: &mut Random) -> Option<String> {
    let [above, below] = [ANYWHERE[random.below(6) as usize], BELOW[random.below(16) as usize]];
    let stands = match below {
        "singleton" => above == "nonunique",
        "lower" | "upper" | "symmetric" => above == "dense",
        _ => true,
    };
    let order = if random.below(4) == 0 { " order(1, 0)" } else { "" };
    stands.then(|| format!("{{{above}, {below}}}{order}"))
}

/// Whether a matrix has its values where a format has places for them.
fn is_held(value: &impl Fn(i64, i64) -> i64, format: &str) -> bool {
    let mut all = (0..N).flat_map(|i| (0..N).map(move |j| (i, j)));
    let by_columns = format.ends_with("order(1, 0)");
    let value = |i, j| if by_columns { value(j, i) } else { value(i, j) };
    let held = |(i, j)| match format {
        f if f.contains("lower") => j <= i || value(i, j) == 0,
        f if f.contains("upper") => i <= j || value(i, j) == 0,
        f if f.contains("symmetric") => value(i, j) == value(j, i),
        _ => true,
    };
    all.all(held)
}

/// What of a matrix a format has places for.
fn fitted(mut map: Map, format: &str) -> Map {
    let has = |level: &str| format.contains(level);
    map.retain(|(i, j), _| {
        let (i, j) = if has("order(1, 0)") { (j, i) } else { (i, j) };
        if has("lower") || has("symmetric") { j <= i } else { !has("upper") || i <= j }
    });
    if has("symmetric") {
        let mirrored: Vec<_> = map.iter().map(|((i, j), v)| ((*j, *i), *v)).collect();
        map.extend(mirrored);
    }
    map
}

/// One combination: what is wrong with it, if it is one that a program may have.
fn combined(random: &mut Random) -> Option<Result<(), String>> {
    let often = random.below(2) == 0;
    let a_format = if often { OFTEN[random.below(4) as usize].to_string() } else { any_format(random)? };
    let (b_format, r_format) = (any_format(random)?, any_format(random)?);
    let (rhs, value) = VALUES[random.below(VALUES.len() as u64) as usize];
    let cut = CUTS[random.below(CUTS.len() as u64) as usize];
    let declared = [("A", &a_format), ("B", &b_format), ("D", &"dense".to_string()), ("R", &r_format)];
    let declared = declared.map(|(name, format)| format!("tensor {name}: i64[N, N] {format}\n"));
    let text = format!("{}R[i,j] = {rhs} schedule {{ {cut} }}", declared.concat());
    let program = Program::parse(&text).ok()?;
    let [a, b] = [&a_format, &b_format].map(|format| fitted(random.matrix(|_, _| true), format));
    let at = |map: &Map, i, j| map.get(&(i, j)).copied().unwrap_or(0);
    let d = |i: i64, j: i64| (i + 2 * j) % 3 - 1;
    let dense: Map = (0..N).flat_map(|i| (0..N).map(move |j| ((i, j), d(i, j)))).collect();
    let of = |map: &Map, format: &str| tensor(map, (Type::I64, format)).unwrap();
    let operands = [("A", of(&a, &a_format)), ("B", of(&b, &b_format)), ("D", of(&dense, "dense"))];
    let read = |name: &str| rhs.contains(&format!("{name}["));
    let operands: Vec<(&str, &Tensor)> =
        operands.iter().filter(|(name, _)| read(name)).map(|(name, t)| (*name, t)).collect();
    let value = |i, j| value((at(&a, i, j), at(&b, i, j), d(i, j), i, j));
    let kernel = program.compile(&Options { engine: Engine::Loops, verify: true, ..Options::default() });
    let made = match kernel.and_then(|kernel| kernel.run(&operands)) {
        Err(e) if e.exit() == 2 && !e.to_string().contains("defect") => return None,
        Err(e) if !is_held(&value, &r_format) && e.to_string().contains("do not fit its format") => {
            return Some(Ok(()));
        }
        Err(e) => return Some(Err(format!("{e}\n{text}\n{a:?}\n{b:?}"))),
        Ok(made) => made,
    };
    let mut has = Map::new();
    made["R"].entries().for_each(|(at, v)| *has.entry((at[0], at[1])).or_default() += v.as_i64().unwrap());
    let mut all = (0..N).flat_map(|i| (0..N).map(move |j| (i, j)));
    let wrong = all.find(|(i, j)| at(&has, *i, *j) != value(*i, *j));
    let said = |(i, j)| format!("at ({i}, {j}) {}, not {}\n{text}\n{a:?}\n{b:?}", at(&has, i, j), value(i, j));
    Some(wrong.map_or(Ok(()), |at| Err(said(at))))
}

/// Levels of operands and results that are drawn, under cuts of the loops between them.
#[test]
fn any_level_into_any_under_any_cut() {
    let wanted = std::env::var("COMBINATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    let mut random = Random(3);
    let ran: Vec<_> = std::iter::from_fn(|| Some(combined(&mut random))).flatten().take(wanted).collect();
    let wrong: Vec<String> = ran.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{} wrong of {wanted}:\n{}", wrong.len(), wrong[..wrong.len().min(4)].join("\n\n"));
}

/// The first part of a shifted coordinate begins below 0. It ends where its length says, however large the extent is.
#[test]
fn parts_begin_below_nothing() {
    let text = "tensor x: i64[J] {compressed}  tensor z: i64[J] {compressed}  tensor R: i64[J] {compressed}
        R[j] = x[j] + coalesce(z[~(j-64)], convert(0, i64)) schedule { split_up(j -> d0, e0, 5); }";
    let program = Program::parse(text).unwrap();
    let extent = i64::MAX as u64 - 1;
    let vector = |entries: &[(i64, i64)]| {
        let entries = entries.iter().map(|(at, v)| (vec![*at], Value::from(*v)));
        let format = program.typed().tensors[0].format.clone().unwrap();
        Tensor::from_entries(vec![extent], format, Value::i64(0), Type::I64, Type::I64, entries).unwrap()
    };
    let (x, z) = (vector(&[]), vector(&[(1 << 60, -1), (5 << 59, 2)]));
    for engine in [Engine::Loops, Engine::Llvm] {
        let kernel = program.compile(&Options { engine, ..Options::default() }).unwrap();
        let made = kernel.run(&[("x", &x), ("z", &z)]).unwrap();
        let entries: Vec<_> = made["R"].entries().map(|(at, v)| (at[0], v.as_i64().unwrap())).collect();
        assert_eq!(entries, [((1 << 60) + 64, -1), ((5 << 59) + 64, 2)], "{engine:?}");
    }
}
