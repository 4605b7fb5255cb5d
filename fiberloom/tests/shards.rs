//! Programs in boxes: against values worked out here, or the reference semantics of the whole.

use fiberloom::shards::{Cuts, Executor, Serial, Shards, Threads};
use fiberloom::{Array, Engine, Error, Format, Mode, Operand, Options, Program, Tensor, Type, Value, operands};
use std::num::NonZeroUsize;

fn program(text: &str) -> Program {
    Program::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

/// A matrix of these extents, of which one in three cells holds something.
fn matrix(rows: i64, columns: i64, format: &Format) -> Tensor<'static> {
    let cells = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))).filter(|(i, j)| (i * 5 + j * 3) % 3 == 1);
    let entries = cells.map(|(i, j)| (vec![i, j], Value::i64(1 + (i * 7 + j * 2) % 5)));
    let extents = vec![rows as u64, columns as u64];
    Tensor::from_entries(extents, format.clone(), Value::i64(0), Type::I32, Type::I32, entries).unwrap()
}

fn vector(values: impl IntoIterator<Item = i64>) -> Tensor<'static> {
    Tensor::vector(values.into_iter().collect::<Vec<i64>>())
}

/// What the reference semantics say that a program gives, in the formats that it declares.
fn meant(program: &Program, operands: &[(&str, Operand)], mode: Mode) -> Vec<(String, Tensor<'static>)> {
    let options = Options { engine: Engine::Meaning, mode, ..Options::default() };
    program.compile(&options).unwrap().run(operands).unwrap().results
}

fn in_boxes(program: &Program, operands: &[(&str, Operand)], over: &[(&str, Cuts)]) -> Vec<(String, Tensor<'static>)> {
    let shards = Shards::plan(program, &Options::default(), operands, over).unwrap_or_else(|e| panic!("{e}"));
    shards.run(&Serial).unwrap_or_else(|e| panic!("{e}")).results
}

/// The values of all coordinates.
fn dense(tensor: &Tensor) -> Array<'static> {
    tensor.to_dense(1 << 20).unwrap().into_owned()
}

/// Runs a program in boxes and as its meaning: extents, formats and values are the same.
fn check(text: &str, operands: &[(&str, Operand)], over: &[(&str, Cuts)]) {
    let program = program(text);
    let (made, meant) = (in_boxes(&program, operands, over), meant(&program, operands, Mode::Algebraic));
    assert_eq!(made.len(), meant.len());
    for ((name, one), (_, other)) in made.iter().zip(&meant) {
        one.check().unwrap();
        assert_eq!(
            (&one.extents, &one.format, one.fill),
            (&other.extents, &other.format, other.fill),
            "{name}\n{text}"
        );
        assert_eq!(dense(one), dense(other), "{name}\n{text}");
    }
}

const LEVELS: [&str; 16] = [
    "{dense, dense}",
    "{dense, compressed}",
    "{compressed, compressed}",
    "{dense, compressed} order(1, 0)",
    "{nonunique, singleton}",
    "{nonunique, singleton} order(1, 0)",
    "{dense, bitmap}",
    "{bytemap, bytemap}",
    "{hashed, hashed}",
    "{dense, runs}",
    "{dense, packbits}",
    "{dense, vbl}",
    "{dense, blocked}",
    "{compressed, dense}",
    "{dense, hashed} order(1, 0)",
    "{runs, dense}",
];

/// Operands and results in any format, cut along either mode and along both, some boxes empty.
#[test]
fn operands_and_results_of_any_format_are_cut() {
    let cuts = [
        vec![("i", Cuts::Even(3))],
        vec![("j", Cuts::At(vec![0, 2, 2]))],
        vec![("j", Cuts::Even(2)), ("i", Cuts::At(vec![3]))],
        vec![("i", Cuts::Even(9))],
    ];
    for levels in LEVELS {
        let format: Format = levels.parse().unwrap();
        let a = matrix(6, 5, &format);
        let text = format!(
            "tensor A: i64[I, J] {levels} tensor R: i64[I, J] {levels} tensor s: i64[I] dense\n\
             R[i,j] = 3 * A[i,j]\ns[i] = sum(j: A[i,j])"
        );
        cuts.iter().for_each(|over| check(&text, &operands! { A: &a }, over));
    }
}

/// One entry a row, cut where rows are left without one.
#[test]
fn lists_of_one_are_cut() {
    let format: Format = "{dense, singleton}".parse().unwrap();
    let entries = [2, 0, 4, 2].iter().zip(0..).map(|(j, i)| (vec![i, *j], Value::i64(i + 3)));
    let a = Tensor::from_entries(vec![4, 5], format, Value::i64(0), Type::I32, Type::I32, entries).unwrap();
    let text = "tensor A: i64[I, J] {dense, singleton} tensor s: i64[I] dense tensor R: i64[I, J] {nonunique, singleton}\n\
        s[i] = sum(j: A[i,j])\nR[i,j] = 2 * A[i,j]";
    let both = vec![("j", Cuts::Even(2)), ("i", Cuts::Even(3))];
    for over in [vec![("j", Cuts::At(vec![1, 3]))], vec![("j", Cuts::At(vec![0, 2, 2, 5]))], both] {
        check(text, &operands! { A: &a }, &over);
    }
}

/// Parts whose fill value is not 0, listed or dense.
#[test]
fn parts_have_the_fill_value_of_the_whole() {
    for levels in LEVELS {
        let format: Format = levels.parse().unwrap();
        let entries = [[0, 1], [2, 0], [2, 3], [4, 4]].iter().map(|at| (at.to_vec(), Value::i64(at[0] + at[1])));
        let a = Tensor::from_entries(vec![5, 5], format, Value::i64(7), Type::I32, Type::I32, entries).unwrap();
        let text = format!(
            "tensor A: i64[I, J] fill 7 {levels} tensor R: i64[I, J] fill 8 {levels}\nR[i,j] = A[i,j] + 1\ns[i] = sum(j: A[i,j])"
        );
        for over in [vec![("j", Cuts::Even(2))], vec![("i", Cuts::At(vec![1, 3])), ("j", Cuts::At(vec![4]))]] {
            check(&text, &operands! { A: &a }, &over);
        }
    }
}

/// A square matrix is cut along one of its modes: what else has that extent is whole.
#[test]
fn equal_extents_are_cut_apart() {
    let format: Format = "csr".parse().unwrap();
    let (a, x) = (matrix(5, 5, &format), vector(1..6));
    let text = "tensor A: i64[N, N] csr tensor x: i64[N] dense tensor y: i64[N] dense\ny[i] = A[i,j] * x[j] + N";
    check(text, &operands! { A: &a, x: &x }, &[("i", Cuts::Even(2))]);
    let text = "tensor A: i64[N, N] csr tensor x: i64[N] dense tensor y: i64[N] dense\ny[i] = A[i,j] * x[j]";
    check(text, &operands! { A: &a, x: &x }, &[("i", Cuts::Even(2)), ("j", Cuts::Even(3))]);
}

/// A size that is read is the whole's, though its mode is cut.
#[test]
fn sizes_as_values_are_those_of_the_whole() {
    let text = "tensor x: i64[N] dense tensor y: i64[N] dense\ny[i] = x[i] * N";
    check(text, &operands! { x: &vector(1..6) }, &[("i", Cuts::Even(2))]);
    let text = "tensor x: i64[N] dense tensor y: i64[N] dense\ny[i] += x[j]";
    check(text, &operands! { x: &vector(1..6), y: &vector(0..5) }, &[("j", Cuts::Even(2))]);
}

/// What does not have a split variable is made once, however many boxes there are along it.
#[test]
fn boxes_along_another_split_count_once() {
    let (w, x) = (vector([7, 8, 9]), vector([1, 2, 3, 4]));
    let text = "tensor w: i64[I] dense tensor x: i64[J] dense\nr[i] = 2 * w[i]\ns[] = sum(j: x[j])\nt[] = sum(i: w[i])";
    check(text, &operands! { w: &w, x: &x }, &[("i", Cuts::Even(2)), ("j", Cuts::Even(3))]);
}

/// A triangle and a mirrored matrix, which no part of is one.
#[test]
fn triangles_are_kept_as_lists_in_boxes() {
    for kind in ["lower", "upper", "symmetric"] {
        let keeps = |i: i64, j: i64| kind == "symmetric" || (if kind == "lower" { j <= i } else { j >= i });
        let format: Format = format!("{{dense, {kind}}}").parse().unwrap();
        let cells = (0..4i64).flat_map(|i| (0..4).map(move |j| (i, j))).filter(|(i, j)| keeps(*i, *j));
        let entries = cells.map(|(i, j)| (vec![i, j], Value::i64(1 + i * j)));
        let a = Tensor::from_entries(vec![4, 4], format, Value::i64(0), Type::I32, Type::I32, entries).unwrap();
        let text =
            format!("tensor A: i64[N, N] {{dense, {kind}}} tensor R: i64[N, N] {{dense, {kind}}}\nR[i,j] = 2 * A[i,j]");
        check(&text, &operands! { A: &a }, &[("i", Cuts::Even(2))]);
        check(&text, &operands! { A: &a }, &[("j", Cuts::At(vec![1])), ("i", Cuts::Even(3))]);
    }
}

/// A product with its own transpose is mirrored, and what one box adds to it need not be.
#[test]
fn what_boxes_fold_need_not_fit_the_format_of_the_whole() {
    let (a, b) = (matrix(4, 3, &"csr".parse().unwrap()), matrix(4, 3, &"csr".parse().unwrap()));
    let declared = "tensor A: i64[N, K] csr tensor B: i64[N, K] csr tensor R: i64[N, N] {dense, symmetric}";
    let text = format!("{declared}\nR[i,j] = A[i,k] * B[j,k]");
    check(&text, &operands! { A: &a, B: &b }, &[("k", Cuts::Even(3))]);
    // One column times the next: only with all of them, and the other way round, it is mirrored.
    let (a, b) =
        (Tensor::matrix(2, 2, vec![1i64, 2, 3, 5]).unwrap(), Tensor::matrix(2, 2, vec![2i64, 1, 5, 3]).unwrap());
    let declared = declared.replace("csr", "dense");
    let text = format!("{declared}\nR[i,j] = A[i,k] * B[j,k]");
    check(&text, &operands! { A: &a, B: &b }, &[("k", Cuts::Even(2))]);
}

/// What is accumulated into is folded in once, whatever it holds.
#[test]
fn what_is_accumulated_into_counts_once() {
    let (a, y) = (matrix(3, 4, &"csr".parse().unwrap()), vector([100, 200, 300]));
    let text = "tensor A: i64[I, J] csr tensor y: i64[I] dense\ny[i] += A[i,j]";
    let over = [("j", Cuts::Even(3))];
    check(text, &operands! { A: &a, y: &y }, &over);
    check(text, &operands! { A: &a }, &over);
    check("tensor A: i64[I, J] csr tensor y: i64[I] fill 7 dense\ny[i] += A[i,j]", &operands! { A: &a }, &over);
    check("tensor A: i64[I, J] csr tensor y: i64[I] fill 2 sparse\ny[i] max= A[i,j]", &operands! { A: &a }, &over);
    check(
        "tensor A: i64[I, J] csr tensor y: i64[I] fill 2 sparse\ny[i] min= A[i,j]",
        &operands! { A: &a },
        &[("i", Cuts::Even(2)), ("j", Cuts::Even(2))],
    );
    check("tensor A: i64[I, J] csr\ny[i] += A[i,j]", &operands! { A: &a }, &over);
    // Each box folds to another value where nothing is stored.
    let (one, entry) = (Value::i64(1), (vec![3, 2], Value::i64(5)));
    let ones = Tensor::from_entries(vec![40, 5], Format::csf(2), one, Type::I32, Type::I32, [entry]).unwrap();
    let text = "tensor A: i64[I, J] fill 1 {compressed, compressed}\ny[i] = sum(j: A[i,j])";
    check(text, &operands! { A: &ones }, &over);
}

/// Boxes along entries scatter into one histogram; gathered operands are whole.
#[test]
fn gathers_and_scatters_are_cut_along_what_they_are_read_at() {
    let (p, w) = (vector([2, 0, 2, 1, 2]), vector([1, 2, 3, 4, 5]));
    let declared = "tensor P: i64[E] dense tensor w: i64[E] dense tensor h: i64[N] dense tensor x: i64[N] dense";
    let x = vector([10, 20, 30]);
    let over = [("e", Cuts::Even(2))];
    check(&format!("dim N = 3 {declared}\nh[P[e]] += w[e]"), &operands! { P: &p, w: &w }, &over);
    check(&format!("{declared}\ny[e] = x[P[e]] * w[e]"), &operands! { P: &p, w: &w, x: &x }, &over);
}

/// Temporaries stay in their boxes; sums of sums are one fold.
#[test]
fn statements_that_read_one_another_are_cut_alike() {
    let (a, b) = (matrix(4, 3, &"csr".parse().unwrap()), matrix(4, 3, &"csr".parse().unwrap()));
    let declared = "tensor A: i64[I, J] csr tensor B: i64[I, J] csr";
    let text =
        format!("{declared}\nn[i] = t[i] * t[i] where {{ t[i] = sum(j: A[i,j]) }}\nm[i] = n[i] + sum(j: B[i,j])");
    check(&text, &operands! { A: &a, B: &b }, &[("i", Cuts::Even(3))]);
    let text = format!("{declared}\ns[i] = A[i,j] + B[i,j]\nt[] = sum(i: sum(j: A[i,j])) + sum(i, j: B[i,j])");
    check(&text, &operands! { A: &a, B: &b }, &[("i", Cuts::Even(3)), ("j", Cuts::Even(2))]);
}

/// The last that is not 0: associative, and not commutative. Boxes are folded in their order.
#[test]
fn folds_that_are_not_commutative_keep_their_order() {
    let last = "fn last(a: i64, b: i64) -> i64 { if b == 0 then a else b } where associative, identity(0)\n";
    let a = matrix(4, 7, &"csr".parse().unwrap());
    let text = format!("{last} tensor A: i64[I, J] csr\ny[i] = last(j: A[i,j])");
    check(&text, &operands! { A: &a }, &[("j", Cuts::Even(3))]);
    check(&text, &operands! { A: &a }, &[("i", Cuts::Even(2)), ("j", Cuts::At(vec![5]))]);
    let text = format!("{last} tensor A: i64[I, J] csr\ns[] = last(i, j: A[i,j])");
    check(&text, &operands! { A: &a }, &[("i", Cuts::Even(3))]);
}

/// Coordinates beyond 32 bits, and cuts among them.
#[test]
fn extents_beyond_32_bits_are_cut() {
    let at = [3, (1 << 33) - 1, 1 << 33, (1 << 40) - 1];
    let entries = at.iter().map(|c| (vec![*c], Value::i64(*c % 1000)));
    let format: Format = "{compressed}".parse().unwrap();
    let x = Tensor::from_entries(vec![1 << 40], format, Value::i64(0), Type::I32, Type::I64, entries).unwrap();
    let program = program("tensor x: i64[N] sparse tensor y: i64[N] sparse\ny[i] = 2 * x[i]\ns[] = sum(i: x[i])");
    let over = [("i", Cuts::At(vec![0, 1 << 33, 1 << 33, (1 << 33) + 1]))];
    let made = in_boxes(&program, &operands! { x: &x }, &over);
    let doubled: Vec<i64> = at.iter().map(|c| 2 * (c % 1000)).collect();
    assert_eq!(made[1].1.listed().unwrap().coordinates, [at]);
    assert_eq!(made[1].1.values, Array::from(doubled));
    assert_eq!(made[0].1.values.get(0), Value::i64(at.iter().map(|c| c % 1000).sum()));
}

/// Rows of what is stored below a dense level are no copies.
#[test]
fn rows_are_borrowed() {
    let (a, x) = (matrix(6, 5, &"csr".parse().unwrap()), vector(0..5));
    let program = program("tensor A: i64[I, J] csr tensor x: i64[J] dense\ny[i] = A[i,j] * x[j]");
    let operands = operands! { A: &a, x: &x };
    let shards = Shards::plan(&program, &Options::default(), &operands, &[("i", Cuts::Even(3))]).unwrap();
    let within = |part: &Array, all: &Array| {
        let (begin, at) = (all.as_ptr() as usize, part.as_ptr() as usize);
        (begin..begin + all.len() * all.ty().bytes()).contains(&at)
    };
    for shard in shards.boxes() {
        for (name, part) in shards.operands(shard).unwrap() {
            let whole = if name == "A" { &a } else { &x };
            assert!(within(&part.values, &whole.values), "{name} in box {}", shard.number);
        }
    }
    assert_eq!(shards.splits().collect::<Vec<_>>(), ["i"]);
}

/// Threads give what one gives; boxes that an executor leaves out, and results of other boxes, are errors.
#[test]
fn executors_run_every_box_once() {
    struct Lazy;
    impl Executor for Lazy {
        fn each(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
            (1..count).for_each(task);
        }
    }
    fn shared<T: Send + Sync>(_: &T) {}
    let (a, x) = (matrix(9, 5, &"csr".parse().unwrap()), vector(0..5));
    let program = program("tensor A: i64[I, J] csr tensor x: i64[J] dense\ny[i] = A[i,j] * x[j]");
    let over = [("i", Cuts::Even(4)), ("j", Cuts::Even(2))];
    let shards = Shards::plan(&program, &Options::default(), &operands! { A: &a, x: &x }, &over).unwrap();
    shared(&shards);
    let one = shards.run(&Serial).unwrap();
    assert_eq!(shards.run(&Threads(NonZeroUsize::new(3).unwrap())).unwrap()["y"], one["y"]);
    assert!(matches!(shards.run(&Lazy), Err(Error::Call(what)) if what.contains("left out box 0")));
    assert!(matches!(shards.merge(vec![]), Err(Error::Call(what)) if what.contains("0 results for 8 boxes")));
    let others = (0..8).map(|_| shards.kernel().run(&operands! { A: &a, x: &x }).unwrap()).collect();
    let wrong = shards.merge(others).expect_err("parts of other extents").to_string();
    assert_eq!(wrong, "the result `y` of box 0: i64 of extents [9], i64 of extents [2] expected");
}

/// A cut where the extent ends leaves an empty box; a size that the call says is one in each box.
#[test]
fn cuts_stand_at_ends_and_sizes_are_said() {
    let x = vector(1..6);
    let text = "tensor x: i64[I] dense\ny[i] = 2 * x[i]\ns[] = sum(i: x[i])";
    for cuts in [vec![5], vec![0], vec![0, 5, 5], vec![0, 0, 2, 5]] {
        check(text, &operands! { x: &x }, &[("i", Cuts::At(cuts))]);
    }
    let text = "dim N\ntensor x: i64[I] dense tensor c: i64[N] dense\nc[x[i] % N] += x[i]\nz[i] = x[i] * N";
    let n = Tensor::scalar(Value::i64(4));
    check(text, &operands! { x: &x, N: &n }, &[("i", Cuts::Even(2))]);
}

/// Variables of one name that have two extents are two.
#[test]
fn variables_of_two_extents_are_not_split() {
    let program = program("tensor x: i64[I] dense tensor w: i64[J] dense\ny[i] = 2 * x[i]\nz[i] = 3 * w[i]");
    let (x, w) = (vector(0..5), vector(0..3));
    let planned = |w: &Tensor| {
        let over = [("i", Cuts::Even(2))];
        Shards::plan(&program, &Options::default(), &operands! { x: &x, w: w }, &over)
            .map(|shards| shards.boxes().len())
    };
    let refused = planned(&w).expect_err("two extents").to_string();
    assert!(refused.contains("index variable `i` is not split: there are two, of extents 5 and 3"), "{refused}");
    assert_eq!(planned(&x).unwrap(), 2);
}

/// Cuts that are none.
#[test]
fn cuts_that_are_none_are_refused() {
    let x = vector(0..5);
    let program = program("tensor x: i64[I] dense\ny[i] = 2 * x[i]");
    let refused = |over: &[(&str, Cuts)]| {
        let planned = Shards::plan(&program, &Options::default(), &operands! { x: &x }, over);
        planned.err().expect("cuts are refused").to_string()
    };
    assert!(refused(&[("i", Cuts::Even(0))]).contains("into no boxes"));
    assert!(refused(&[("i", Cuts::At(vec![3, 2]))]).contains("cut at 3, and then at 2"));
    assert!(refused(&[("i", Cuts::At(vec![6]))]).contains("cut at 6, and its extent is 5"));
    assert!(refused(&[("k", Cuts::Even(2))]).contains("no index variable `k`: it has `i`"));
    assert!(refused(&[("i", Cuts::Even(2)), ("i", Cuts::Even(2))]).contains("split twice"));
    assert!(refused(&[("i", Cuts::Even(1 << 21))]).contains("boxes"));
}

/// Programs, the split, what is said of it, and the text under which it is drawn.
const REFUSED: [(&str, &str, &str, &str); 25] = [
    ("repeat 2 { R[i,j] += A[i,j] }", "i", "a block takes tensors from turn to turn", "repeat 2"),
    ("y[k] = slice(x[j], j -> k, 1:3)", "k", "`slice` takes its coordinates to others", "slice(x[j], j -> k, 1:3)"),
    ("y[k] = collapse(A[i,j], (i,j) -> k)", "i", "`collapse` takes", "collapse(A[i,j], (i,j) -> k)"),
    ("u[j] = w[j] * coalesce(x[~(j+1)], 0)", "j", "stands in an index of `x` as more than itself", "~(j+1)"),
    (
        "c[k] = sum(j: x[j] * coalesce(w[~(k + j)], 0))",
        "j",
        "stands in an index of `w` as more than itself",
        "~(k + j)",
    ),
    ("u[j] = x[j] + w[min(j, 2)]", "j", "stands in an index of `w` as more than itself", "min(j, 2)"),
    ("y[j] = x[j] * j", "j", "its value is read, and a box counts from 0", "j"),
    ("z[i] = A[i,j] * even[i]", "i", "`even` is a function of its value", "i"),
    ("S[j,j] += x[j]", "j", "it is two indices of `S`", "j"),
    ("w[j(0:2)] = h[j]", "j", "a slice on the left side", "j(0:2)"),
    ("S[i,j] = A[i,j] + A[j,i]", "i", "`A` would be cut for one access and not for the other", "j,i"),
    ("u[j] = x[j] + sum(k: x[k])", "j", "`x` would be cut for one access", "k"),
    ("t[j] = 2 * x[j]\nu[j] = t[k] * x[j]", "j", "boxes would read one another's part of `t`", "k"),
    ("w[j] = w[j] + sum(k: w[k])", "j", "boxes would read one another's part of `w`", "k"),
    (
        "s[] = sum(j: x[j])\nu[j] = x[j] * s[]",
        "j",
        "`s`, which is folded over it, is read before all boxes",
        "u[j] = x[j] * s[]",
    ),
    ("c[k] = x[j]", "k", "nothing says how long a box is", "k"),
    ("s[] = sum(j: x[j])\ns[] += sum(i, j: A[i,j])", "j", "another statement defines `s` too", "s[] = sum(j: x[j])"),
    ("z[i] = A[i,k] * t[] where { t[] = sum(j: x[j]) }", "j", "the local `t` is folded over it", "t[] = sum(j: x[j])"),
    ("w[0] = sum(j: x[j])", "j", "a part of `w` is folded over it", "w[0] = sum(j: x[j])"),
    ("s[] = 1 + sum(j: x[j])", "j", "this is not folded over it, and each box would fold it in again", "1"),
    ("s[] = sum(j: x[j] start 5)", "j", "the fold over it has a start", "5"),
    ("s[] = max(i: sum(j: A[i,j]))", "j", "the fold over it with `+` stands below `max`", "max(i: sum(j: A[i,j]))"),
    ("s[] = abs(sum(j: x[j]))", "j", "the fold over it with `+` stands below `abs`", "abs(sum(j: x[j]))"),
    ("g[] gcd= x[j]", "j", "`gcd` of 0 and what `g` held is not what it held", "g[] gcd= x[j]"),
    ("s[] = last(i, j: A[i,j])", "j", "`last` is not commutative", "s[] = last(i, j: A[i,j])"),
];

#[test]
fn what_is_not_split_is_refused_by_name() {
    let declared = "fn last(a: i64, b: i64) -> i64 { if b == 0 then a else b } where associative, identity(0)\n\
        fn even(i: i64) -> i64 { i % 2 }\ntensor even: i64[N] {function}\n\
        tensor A: i64[N, N] csr tensor x: i64[N] dense tensor w: i64[N] dense tensor S: i64[N, N] dense\n\
        tensor R: i64[N, N] dense dim K = 4 tensor c: i64[K] dense tensor h: i64[2] dense tensor g: i64[] fill 4 dense\n";
    let (a, x) = (matrix(4, 4, &"csr".parse().unwrap()), vector(1..5));
    let (s, h) = (matrix(4, 4, &Format::dense(2)), vector([1, 2]));
    for (statement, split, says, under) in REFUSED {
        let text = format!("{declared}{statement}");
        let program = program(&text);
        let mut given = operands! { A: &a, x: &x }.to_vec();
        let inputs = program.typed().inputs();
        let more = [("w", &x), ("S", &s), ("h", &h)]
            .into_iter()
            .filter(|(name, _)| program.tensor(name).is_some_and(|(id, _)| inputs.contains(&id)));
        given.extend(more.map(|(name, tensor)| (name, tensor.into())));
        let planned = Shards::plan(&program, &Options::default(), &given, &[(split, Cuts::Even(2))]);
        let error = planned.err().unwrap_or_else(|| panic!("`{statement}` is split along `{split}`"));
        let Error::Program { text, diagnostics, .. } = &error else { panic!("{statement}: {error}") };
        let refused = &diagnostics[0];
        let prefix = format!("index variable `{split}` is not split: ");
        assert!(refused.message.starts_with(&prefix) && refused.message.contains(says), "{statement}: {error}");
        assert!(refused.help.is_some(), "{statement}: {error}");
        assert_eq!(&text[refused.span.start as usize..refused.span.end as usize], under, "{statement}: {error}");
    }
}

/// In strict mode sums of floats are ordered; least and greatest are not.
#[test]
fn ordered_folds_are_refused_in_strict_mode() {
    let x = Tensor::vector(vec![1.0, 2.0, 3.0]);
    let options = Options { mode: Mode::Strict, ..Options::default() };
    let over = [("i", Cuts::Even(2))];
    let sum = program("tensor x: f64[I] dense\ns[] = sum(i: x[i])");
    let refused = Shards::plan(&sum, &options, &operands! { x: &x }, &over).err().expect("it is ordered").to_string();
    assert!(refused.contains("in strict mode `+` folds `f64` in order"), "{refused}");
    let most = program("tensor x: f64[I] dense\ns[] = max(i: x[i])");
    let shards = Shards::plan(&most, &options, &operands! { x: &x }, &over).unwrap();
    assert_eq!(shards.run(&Serial).unwrap().scalar::<f64>("s").unwrap(), 3.0);
}

/// A place in an operand that is wrong is an error of its data, in whichever box it is.
#[test]
fn errors_of_data_are_those_of_the_whole() {
    let program = program("tensor P: i64[E] dense tensor x: i64[N] dense\ny[e] = x[P[e]]");
    let (p, x) = (vector([0, 1, 7, 0]), vector([5, 6]));
    let shards =
        Shards::plan(&program, &Options::default(), &operands! { P: &p, x: &x }, &[("e", Cuts::Even(2))]).unwrap();
    let error = shards.run(&Serial).unwrap_err();
    assert!(error.exit() == 3 && error.to_string().contains('7'), "{error}");
    let short = Shards::plan(&program, &Options::default(), &operands! { P: &p }, &[("e", Cuts::Even(2))]);
    assert!(matches!(short, Err(Error::Missing { .. })));
}

/// A plan says what it does with each tensor.
#[test]
fn a_plan_is_printed() {
    let program = program(
        "tensor A: i64[I, J] csr tensor x: i64[J] dense tensor b: i64[K] dense tensor t: i64[J] dense\n\
         tensor y: i64[I] dense\ny[i] = A[i,j] * x[j]\nt[j] max= A[i,j]\nz[k] = 2 * b[k]",
    );
    let (a, x, b, t) = (matrix(6, 4, &"csr".parse().unwrap()), vector(0..4), vector(0..3), vector(0..4));
    let given = operands! { x: &x, A: &a, b: &b, t: &t };
    let over = [("i", Cuts::Even(3)), ("j", Cuts::At(vec![1]))];
    let shards = Shards::plan(&program, &Options::default(), &given, &over).unwrap();
    let expected = "\
6 boxes
  i: 3 ranges of 0..6
  j: 2 ranges of 0..4
operands
  x: mode 0 cut along j
  A: mode 0 cut along i, mode 1 cut along j
  b: the same in every box
results
  t: mode 0 concatenated along j; folded with `max` along i
  y: mode 0 concatenated along i; folded with `+` along j
  z: the same in every box
";
    assert_eq!(shards.to_string(), expected);
    assert_eq!(shards.operand_fates()[1].cuts, [(0, 0), (1, 1)]);
    assert_eq!(shards.result_fates()[0].fold, Some(("max".to_string(), vec![0])));
}
