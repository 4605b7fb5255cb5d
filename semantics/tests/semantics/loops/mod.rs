//! Kernels as text, with results computed by hand, and the faults that each rule reports.

mod random;

use fiberloom_core::algebra::{Op, Type, Value, apply};
use fiberloom_core::format::Array;
use fiberloom_loops::{self as loops, Failure, Kernel, Role, read};
use fiberloom_semantics::loops::{Fault, Limits, Outcome, Prepared, Rule, run};

const SPMV: &str = "
kernel spmv(n_i, n_j) reassociate
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, x_vals: f64
  result y_vals: f64
  alloc y_vals[n_i] = 0.0
  for i in 0..n_i {
    t = 0.0
    for p in A1_pos[i]..A1_pos[i + 1] {
      t = t + A_vals[p] * x_vals[A1_crd[p]]
    }
    y_vals[i] = t
  }
  finish y_vals[n_i]
";

/// The union of two sorted lists, appended to a result that grows.
const UNION: &str = "
kernel union(n_a, n_b)
  operand a_crd: i32, a: f64, b_crd: i32, b: f64
  result c_crd: i32, c: f64
  alloc c_crd[1]
  alloc c[1]
  p = 0
  q = 0
  m = 0
  while p < n_a || q < n_b {
    i = 9223372036854775807
    j = 9223372036854775807
    if p < n_a {
      i = a_crd[p]
    }
    if q < n_b {
      j = b_crd[q]
    }
    k = min(i, j)
    t = 0.0
    if i == k {
      t = t + a[p]
      p = p + 1
    }
    if j == k {
      t = t + b[q]
      q = q + 1
    }
    if m >= capacity(c) {
      reserve c_crd[m + 1]
      reserve c[m + 1]
    }
    c_crd[m] = i32(k)
    c[m] = t
    m = m + 1
  }
  finish c_crd[m]
  finish c[m]
";

const INTERSECTION: &str = "
kernel dot(n_a, n_b)
  operand a_crd: i32, b_crd: i32
  result count: i64
  alloc count[1] = 0
  p = 0
  q = 0
  while p < n_a && q < n_b {
    let i = a_crd[p]
    let j = b_crd[q]
    if i == j {
      count[0] = count[0] + 1
    }
    p = p + i64(i <= j)
    q = q + i64(j <= i)
  }
  finish count[1]
";

fn i32s(values: &[i32]) -> Array<'_> {
    Array::I32(values.into())
}

fn f64s(values: &[f64]) -> Array<'_> {
    Array::F64(values.into())
}

fn kernel(text: &str) -> Kernel {
    read(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Runs a kernel, with the operands in the order of their declaration.
fn ran(text: &str, params: &[i64], operands: &[Array]) -> Result<Outcome, Fault> {
    let kernel = kernel(text);
    let mut given = operands.iter();
    let operands: Vec<_> = kernel.buffers.iter().map(|b| given.next().filter(|_| b.role == Role::Operand)).collect();
    run(&kernel, params, &operands, &Limits { memory: 1 << 20, steps: 100_000 })
}

/// Runs statements behind `kernel k(n)` with an operand `a = [5, 7, 9]`, workspaces `w` and `v`, and a result `r`.
fn small(body: &str, n: i64) -> Result<Outcome, Fault> {
    let text = format!("kernel k(n)\n operand a: i32\n workspace w: i64, v: i64\n result r: i64\n{body}");
    ran(&text, &[n], &[i32s(&[5, 7, 9])])
}

fn results(outcome: &Outcome) -> Vec<&Array<'static>> {
    outcome.buffers.iter().flatten().collect()
}

/// The elements of `r`, which the statements themselves finish.
fn made(body: &str, n: i64) -> Vec<i64> {
    let outcome = small(body, n).unwrap_or_else(|e| panic!("{e}\n{body}"));
    results(&outcome)[0].iter().map(|x| x.as_i64().unwrap()).collect()
}

fn fault(body: &str, n: i64) -> String {
    let body = format!("{body}\n alloc r[0]\n finish r[0]");
    small(&body, n).map(|o| panic!("{o:?}\n{body}")).unwrap_or_else(|e: Fault| e.to_string())
}

#[test]
fn matrix_times_vector() {
    // [2 0 1; 0 0 0; 0 3 0] (1, 10, 100)
    let operands = [i32s(&[0, 2, 2, 3]), i32s(&[0, 2, 1]), f64s(&[2., 1., 3.]), f64s(&[1., 10., 100.])];
    let outcome = ran(SPMV, &[3, 3], &operands).unwrap();
    assert_eq!(results(&outcome), [&f64s(&[102., 0., 30.])]);
    // For 3 rows and 3 entries: two positions per row, three loads per entry.
    let ops = &outcome.ops;
    assert_eq!(ops.loads_of, [6, 3, 3, 3, 0]);
    assert_eq!((ops.loads, ops.stores, ops.calls), (15, 3, 2));
    // i + 1, for three iterations; a product, a sum, and an increment for each entry.
    assert_eq!(ops.arithmetic, 3 + 3 + 3 * 3);
    // Each loop tests once more than it iterates.
    assert_eq!((ops.comparisons, ops.branches), (4 + 3 + 3, 4 + 3 + 3));
}

#[test]
fn union_of_lists_grows_its_result() {
    let operands = [i32s(&[1, 4, 6]), f64s(&[1., 2., 3.]), i32s(&[0, 4, 7, 9]), f64s(&[10., 20., 30., 40.])];
    let outcome = ran(UNION, &[3, 4], &operands).unwrap();
    assert_eq!(results(&outcome), [&i32s(&[0, 1, 4, 6, 7, 9]), &f64s(&[10., 1., 22., 3., 30., 40.])]);
    // Each coordinate and each value is loaded once, and a coordinate again for each iteration in which its list waits.
    assert_eq!(outcome.ops.loads_of, [4, 3, 6, 4, 0, 0]);
    let nothing = ran(UNION, &[0, 0], &[i32s(&[]), f64s(&[]), i32s(&[]), f64s(&[])]).unwrap();
    assert_eq!(results(&nothing), [&i32s(&[]), &f64s(&[])]);
}

/// Operation counts are exact: an intersection ends with its shorter list.
#[test]
fn counts_tell_what_was_visited() {
    let long: Vec<i32> = (0..1000).collect();
    let outcome = ran(INTERSECTION, &[2, 1000], &[i32s(&[3, 5]), i32s(&long)]).unwrap();
    assert_eq!(outcome.ops.loads_of, [6, 6, 2]);
}

#[test]
fn entry_points() {
    assert_eq!(made("alloc r[n] = -3\n finish r[2]", 3), [-3, -3]);
    assert_eq!(made("alloc r[0 - n]\n finish r[0]", 3), []);
    let doubles = "alloc r[3]\n reserve r[4]\n let c = capacity(r)\n alloc r[1]\n r[0] = c\n finish r[1]";
    assert_eq!(made(doubles, 0), [6]);
    let keeps = "alloc r[1] = 8\n for i in 0..70 {\n reserve r[i + 2]\n r[i + 1] = i\n }\n finish r[71]";
    assert_eq!(made(keeps, 0), std::iter::once(8).chain(0..70).collect::<Vec<_>>());
    let fill = "alloc r[4]\n for i in 0..4 {\n r[i] = i * i * 7 % 10 - 2\n }\n"; // -2 5 6 1
    assert_eq!(made(&format!("{fill}alloc w[4]\n sort r[0..4] with w\n finish r[4]"), 0), [-2, 1, 5, 6]);
    assert_eq!(made(&format!("{fill}alloc w[0]\n sort r[0..0 - 1] with w\n finish r[4]"), 0), [-2, 5, 6, 1]);
    let stable = "alloc w[5]\n for i in 0..5 {\n w[i] = i % 2\n }\n alloc r[5]\n sort w[0..5] with r\n finish r[5]";
    assert_eq!(made(stable, 0), [0, 2, 4, 1, 3]);
    let into =
        |sort: &str| format!("alloc w[3]\n w[0] = 9\n w[1] = 7\n w[2] = 7\n alloc r[4] = 1\n {sort}\n finish r[4]");
    assert_eq!(made(&into("sort w[0..3] into r[n]"), 1), [1, 7, 7, 9]);
    assert_eq!(made(&into("sort w[0..2] into r[n]"), 0), [7, 9, 1, 1]);
    assert_eq!(made(&into("sort w[0..0 - n] into r[7]"), 1), [1, 1, 1, 1]);
    assert!(matches!(small("alloc r[1]\n fail overflow", 0), Err(Fault::Stopped(Failure::Overflow))));
}

#[test]
fn lazy_functions_guard_loads() {
    let guarded = "let x = n < 3 && a[n] == 5i32\n let y = n >= 3 || a[n] == 5i32\n alloc r[1]\n \
                   r[0] = select(n < 3, i64(a[n]), 4) + i64(x) + 10 * i64(y)\n finish r[1]";
    assert_eq!(made(guarded, 0), [5 + 1 + 10]);
    assert_eq!(made(guarded, 3), [4 + 10]);
}

#[test]
fn bounds() {
    for n in [3, 1 << 40, i64::MAX] {
        assert_eq!(
            fault("let x = 1\n let y = a[n]", n),
            format!("`a[{n}]` is out of bounds, there is room for 3, in `let y = a[n]`")
        );
    }
    assert_eq!(fault("x = a[n - 1]", 0), "`a[-1]` is out of bounds, there is room for 3, in `x = a[n - 1]`");
    let store = "alloc w[n]\n for i in 0..4 {\n if i > 1 {\n w[i] = i\n }\n }";
    assert_eq!(fault(store, 2), "`w[2]` is out of bounds, there is room for 2, in `w[i] = i`");
    assert_eq!(
        fault("while a[n] > 1i32 {\n }", 7),
        "`a[7]` is out of bounds, there is room for 3, in `while a[n] > 1i32`"
    );
    assert_eq!(
        fault("alloc w[2] = 0\n alloc r[n]\n sort w[0..n] with r", 3),
        "`w[2]` is out of bounds, there is room for 2, in `sort w[0..n] with r`"
    );
    assert_eq!(
        fault("alloc w[2] = 0\n alloc r[n]\n sort w[0..2] into r[n - 1]", 3),
        "`r[3]` is out of bounds, there is room for 3, in `sort w[0..2] into r[n - 1]`"
    );
    assert_eq!(
        fault("alloc w[n] = 0\n alloc r[n]\n sort w[0..n] into r[0]", 129),
        "`w` has 129 elements to be sorted at once, 128 are the most, in `sort w[0..n] into r[0]`"
    );
    assert_eq!(
        fault("alloc r[n]\n finish r[n + 1]", 1),
        "`r` is finished with length 2, there is room for 1, in `finish r[n + 1]`"
    );
}

#[test]
fn what_was_never_set() {
    let never = |statement: &str| format!("`w[1]` is read and was never set, in `{statement}`");
    assert_eq!(fault("alloc w[n]\n w[0] = 1\n x = w[0] + w[1]", 2), never("x = w[0] + w[1]"));
    assert_eq!(fault("alloc w[n]\n w[0] = 1\n alloc r[n]\n sort w[0..n] with r", 2), never("sort w[0..n] with r"));
    assert_eq!(
        fault("alloc w[n]\n w[0] = 1\n alloc r[n]\n sort w[0..n] into r[0]", 2),
        never("sort w[0..n] into r[0]")
    );
    assert_eq!(fault("alloc w[n] = 5\n alloc w[n]\n w[0] = 3\n x = w[0]\n x = w[1]", 2), never("x = w[1]"));
    assert_eq!(fault("alloc w[1] = 5\n reserve w[2]\n x = w[0]\n x = w[1]", 2), never("x = w[1]"));
    let finish = "alloc r[2]\n r[1] = 1\n finish r[n]";
    assert_eq!(fault(finish, 2), "`r[0]` is read and was never set, in `finish r[n]`");
}

/// The elements of `w` that an iteration reads and that it writes, of four.
type Touched = fn(i64) -> (Vec<i64>, Vec<i64>);

/// The iterations that conflict, and the element, as a message tells them.
fn conflict(said: &str) -> Option<([i64; 2], i64)> {
    let rest = said.strip_prefix("turns ")?;
    let (turns, rest) = rest.split_once(" conflict at `w[")?;
    let (a, b) = turns.split_once(" and ")?;
    let (at, _) = rest.split_once(']')?;
    Some(([a.parse().ok()?, b.parse().ok()?], at.parse().ok()?))
}

#[test]
fn turns_that_conflict() {
    let alloc = "alloc w[n] = 0\n alloc v[n] = 0\n";
    let race = |body: &str| fault(&format!("{alloc}{body}"), 4);
    let conflicts: [(&str, &str, Touched); 5] = [
        ("i in 0..n {\n w[i / 2] = i\n }", "turns 0 and 1 conflict at `w[0]`, in `w[i / 2] = i`", |i| {
            (vec![], vec![i / 2])
        }),
        ("i in 1..n {\n w[i] = w[i - 1]\n }", "turns 1 and 2 conflict at `w[1]`, in `w[i] = w[i - 1]`", |i| {
            (vec![i - 1], vec![i])
        }),
        ("i in 0..n - 1 {\n w[i] = w[i + 1]\n }", "turns 0 and 1 conflict at `w[1]`, in `w[i] = w[i + 1]`", |i| {
            (vec![i + 1], vec![i])
        }),
        // Two other iterations read it before it is written.
        (
            "i in 0..n {\n if i < 3 {\n v[i] = w[3]\n } else {\n w[3] = 1\n }\n }",
            "turns 0 and 3 conflict at `w[3]`, in `w[3] = 1`",
            |i| if i < 3 { (vec![3], vec![]) } else { (vec![], vec![3]) },
        ),
        // The inner loop is serial, the outer one is not.
        (
            "i in 0..n {\n for j in 0..2 {\n w[i + j] = j\n }\n }",
            "turns 0 and 1 conflict at `w[1]`, in `w[i + j] = j`",
            |i| (vec![], vec![i, i + 1]),
        ),
    ];
    for (body, said, touched) in conflicts {
        assert_eq!(race(&format!("vector for {body}")), said);
        // Which of the iterations of a parallel loop run first is drawn; those that are told do conflict.
        let found = race(&format!("parallel for {body}"));
        let ([a, b], at) = conflict(&found).unwrap_or_else(|| panic!("{found}"));
        let (reads, writes) = (|i| touched(i).0.contains(&at), |i| touched(i).1.contains(&at));
        assert!(a != b && (writes(a) && (writes(b) || reads(b)) || reads(a) && writes(b)), "{found}");
        assert!(found.ends_with(&said[said.find(", in ").unwrap()..]) || said.contains("`w[3] = 1`"), "{found}");
    }
    let sorts = "parallel for i in 0..2 {\n sort w[0..i + 1] with v\n }";
    let found = race(sorts);
    assert!(found.contains("conflict at `w[0]`, in `sort w[0..i + 1] with v`"), "{found}");
}

/// Iterations append in the order of iterations, whatever the order in which they run.
#[test]
fn parts_are_joined() {
    let appends = |begin: &str, from: &str, body: &str| {
        format!(
            "alloc r[40]\n alloc w[n + 1] = 0\n c = 0\n {begin}parallel for i in 0..n joining r[{from}], w[i + 1] = c {{\n \
             {body}\n w[i + 1] = c\n }}\n r[c] = w[1]\n r[c + 1] = w[n]\n finish r[c + 2]"
        )
    };
    let rows = "for j in 0..i {\n r[c] = i * 10 + j\n c = c + 1\n }";
    assert_eq!(made(&appends("", "c", rows), 4), [10, 20, 21, 30, 31, 32, 0, 6]);
    assert_eq!(made(&appends("r[0] = 7\n c = 1\n ", "c", rows), 3), [7, 10, 20, 21, 1, 4]);
    // What is written behind a part, none sees.
    let behind = "r[c] = i\n r[c + 1] = 99\n c = c + 1";
    assert_eq!(made(&appends("", "c", behind), 3), [0, 1, 2, 1, 3]);
    // Nothing before its part is an iteration's.
    let before = fault(&appends("r[0] = 7\n c = 1\n ", "c", "r[c] = r[c - 1]\n c = c + 1"), 1);
    assert_eq!(before, "`r[0]` is outside of the iteration's part, which begins at 1, in `r[c] = r[c - 1]`");
    let elsewhere = fault(&appends("", "c", "r[c] = i\n w[0] = c\n c = c + 1"), 1);
    assert_eq!(elsewhere, "`w[0]` is outside of the iteration's part, which begins at 1, in `w[0] = c`");
    // A note that is left out is not set.
    let unset = appends("", "c", rows).replace("\n w[i + 1] = c\n }", "\n }");
    assert!(fault(&unset, 3).contains("is read and was never set"));
}

/// Iterations fold in pieces, which are folded into what there was before, in order.
#[test]
fn pieces_are_folded() {
    let folds = |begin: i64, fold: &str| {
        format!(
            "t = {begin}\n parallel for i in 0..n folding t {{\n for j in 0..i {{\n t = {fold}\n }}\n }}\n alloc r[1]\n r[0] = t\n \
             finish r[1]"
        )
    };
    assert_eq!(made(&folds(5, "t + j"), 5), [5 + 1 + 3 + 6]);
    assert_eq!(made(&folds(2, "t * (j + 2)"), 4), [2 * 2 * 6 * 24]);
    assert_eq!(made(&folds(3, "max(t, j)"), 4), [3]);
    assert_eq!(made(&folds(1, "max(t, j)"), 5), [3]);
    assert_eq!(made(&folds(9, "t + j"), 0), [9]);
}

/// The same of elements of an array; those that no iteration touches stay.
#[test]
fn elements_are_folded_in_pieces() {
    let folds =
        |fold: &str| format!("alloc r[5] = 7\n parallel for i in 0..n folding r {{\n {fold}\n }}\n finish r[5]");
    let sums = "for j in 0..i {\n r[j] = r[j] + a[i] + 1\n }";
    let a = |i: i64| made("alloc r[1]\n r[0] = a[n]\n finish r[1]", i)[0] + 1;
    assert_eq!(made(&folds(sums), 3), [7 + a(1) + a(2), 7 + a(2), 7, 7, 7]);
    assert_eq!(made(&folds("r[i % 2] = r[i % 2] * (i + 1)"), 3), [7 * 3, 7 * 2, 7, 7, 7]);
    assert_eq!(made(&folds("r[i] = max(r[i], i * 4)"), 4), [7, 7, 8, 12, 7]);
    assert_eq!(made(&folds("r[0] = r[0] + i"), 0), [7; 5]);
    // What was never set is not folded into.
    let unset = folds("r[0] = r[0] + i").replace("alloc r[5] = 7", "alloc r[5]");
    assert!(
        fault(&unset, 2).contains("is read and was never set") || fault(&unset, 2).contains("set"),
        "{}",
        fault(&unset, 2)
    );
}

/// Of a workspace of which each thread has a copy, an iteration reads what it has written, or what none has changed.
#[test]
fn threads_have_copies() {
    let begin = "alloc w[n] = 5\n alloc r[n]\n parallel for i in 0..n with w {\n";
    let own = |body: &str| format!("{begin}{body}\n }}\n finish r[n]");
    assert_eq!(made(&own("w[0] = i\n r[i] = w[0] + w[1]"), 3), [5, 6, 7]);
    assert_eq!(made(&own("w[i] = w[i] + 1\n r[i] = w[i]\n w[i] = 5\n r[i] = r[i] + w[0]"), 3), [11, 11, 11]);
    assert_eq!(made(&own("if n > capacity(w) {\n reserve w[n]\n }\n w[n - 1] = i\n r[i] = w[n - 1]"), 3), [0, 1, 2]);
    let read = fault(&own("r[i] = w[0]\n w[0] = i"), 3);
    assert_eq!(read, "`w[0]` is read and was never set, in `r[i] = w[0]`");
    // Behind the loop, what an iteration has changed is nobody's.
    let behind = format!("{}\n x = w[1]\n x = w[0]", own("w[0] = i\n r[i] = w[0]"));
    assert_eq!(fault(&behind, 3), "`w[0]` is read and was never set, in `x = w[0]`");
    // Another buffer is shared.
    let shared = fault(&own("r[0] = i\n w[0] = r[0]"), 3);
    assert!(shared.contains("conflict at `r[0]`"), "{shared}");
}

/// Of several iterations that end the kernel, the first says why.
#[test]
fn the_first_failure_is_told() {
    let ends = "alloc r[0]\n finish r[0]\n parallel for i in 0..n {\n if i > 5 {\n if i % 2 == 0 {\n fail outside\n } else {\n \
                fail overflow\n }\n }\n }";
    for n in 7..40 {
        assert_eq!(small(ends, n), Err(Fault::Stopped(Failure::Outside)), "{n}");
    }
}

#[test]
fn turns_that_do_not_conflict() {
    let apart = "alloc r[n] = 1\n parallel for i in 0..n {\n t = r[i]\n t = t + a[i]\n r[i] = t\n r[i] = r[i] + 1\n }\n finish r[n]";
    assert_eq!(made(apart, 3), [7, 9, 11]);
    let sum = "t = 0\n vector for i in 0..n {\n t = t + a[i] * i\n }\n alloc r[1] = 0\n r[0] = t\n finish r[1]";
    assert_eq!(made(sum, 3), [7 + 18]);
    // Serial iterations may depend on each other; and two loops are independent.
    let serial = "alloc r[4] = 1\n for i in 1..4 {\n r[i] = r[i - 1] * 2\n }\n parallel for i in 0..4 {\n r[i] = i\n }\n \
                  parallel for i in 0..4 {\n r[3 - i] = r[3 - i] + i\n }\n finish r[4]";
    assert_eq!(made(serial, 0), [3, 3, 3, 3]);
}

/// Moving a buffer gives its contents and length to the other, whose memory it takes for later use.
#[test]
fn buffers_move() {
    let powers = "alloc r[3] = 1\n finish r[3]\n for i in 0..n {\n alloc w[3] = 0\n for j in 0..3 {\n w[j] = r[j] * (j + 1)\n }\n \
                  finish w[3]\n move r from w\n }";
    assert_eq!(made(powers, 0), [1, 1, 1]);
    assert_eq!(made(powers, 3), [1, 8, 27]);
    assert_eq!(made("alloc r[0]\n alloc w[2] = 5\n finish w[1]\n move r from w", 0), [5]);
}

#[test]
fn nothing_runs_forever_and_nothing_takes_all_memory() {
    let stopped = |body: &str, n: i64| match small(body, n) {
        Err(Fault::Stopped(failure)) => failure,
        other => panic!("{other:?}"),
    };
    assert_eq!(stopped("while true {\n }\n alloc r[0]\n finish r[0]", 0), Failure::Steps);
    assert_eq!(stopped("for i in 0..n {\n }\n alloc r[0]\n finish r[0]", i64::MAX), Failure::Steps);
    assert_eq!(stopped("alloc r[0]\n while true {\n alloc w[n]\n }\n finish r[0]", 1 << 16), Failure::Steps);
    for n in [(1 << 17) + 1, 1 << 60, 1 << 62, i64::MAX] {
        assert_eq!(stopped("alloc r[n]\n finish r[0]", n), Failure::Memory);
        assert_eq!(stopped("alloc r[1]\n reserve r[n]\n finish r[0]", n), Failure::Memory);
    }
    // The limit is on the memory that is allocated at one time.
    assert_eq!(made("for i in 0..9 {\n alloc w[n]\n }\n alloc r[1] = 1\n finish r[1]", (1 << 17) - 1), [1]);
    let kernel = kernel("kernel k(n)\n workspace w: bool\n alloc w[n]");
    let most = run(&kernel, &[1 << 62], &[None], &Limits { memory: u64::MAX, steps: u64::MAX });
    assert_eq!(most, Err(Fault::Stopped(Failure::Memory)));
}

/// The searches among the next elements find what a loop finds, and read only elements in bounds that are set.
#[test]
fn among_the_next_elements() {
    for width in [Type::I32, Type::I64] {
        let text = format!(
            "kernel k(b, e, t)\n operand a: {width}\n result r: i64\n
             alloc r[3]\n r[0] = among(a[b..e], t)\n r[1] = below(a[b..e], t)\n r[2] = alike(a[b..e], t)\n finish r[3]"
        );
        let kernel = kernel(&text);
        let elements: Vec<i64> = (0..10).map(|i| i * i % 7).collect();
        let a = Array::from_indices(width, &elements).unwrap();
        for (b, e, t) in (0..=11).flat_map(|b| (0..=10).flat_map(move |e| [0, 1, 2, 4, 5, 1 << 32].map(|t| (b, e, t))))
        {
            let ran = run(&kernel, &[b, e, t], &[Some(&a), None], &Limits::default()).unwrap();
            let lanes = (b..e.min(b + 8)).take_while(|at| *at < e);
            let found = lanes.clone().position(|at| elements[at as usize] == t).unwrap_or(8);
            let [below, alike] = [|x, t| x < t, |x, t| x == t].map(|holds: fn(i64, i64) -> bool| {
                lanes.clone().take_while(|at| holds(elements[*at as usize], t)).count()
            });
            let r = ran.buffers[1].as_ref().unwrap();
            assert_eq!(
                [r.index(0), r.index(1), r.index(2)],
                [found, below, alike].map(|n| n as i64),
                "{width}: {b}..{e}, {t}"
            );
            assert_eq!(ran.ops.loads, 3 * lanes.count() as u64);
        }
        let beyond = run(&kernel, &[3, 11, 0], &[Some(&a), None], &Limits::default());
        let Err(Fault::Broken(breach)) = beyond else { panic!("{beyond:?}") };
        assert_eq!((breach.rule, breach.index), (Rule::InBounds, 10));
    }
}

/// The deepest kernel that the checker accepts.
#[test]
fn depth_fits_the_stack() {
    let sum = format!("r[0] = 1{}", " + 1".repeat(loops::DEPTH - 1));
    let (open, close) = ("if n < 1 {\n".repeat(loops::NESTING - 1), "}\n".repeat(loops::NESTING - 1));
    assert_eq!(made(&format!("alloc r[1] = 0\n{open}{sum}\n{close}finish r[1]"), 0), [loops::DEPTH as i64]);
}

#[test]
fn arguments_that_are_not_the_kernels() {
    let kernel = kernel("kernel k(n)\n operand a: i32\n workspace w: i64");
    let a = i32s(&[1]);
    let rejected =
        |params: &[i64], operands: &[Option<&Array>]| match run(&kernel, params, operands, &Limits::default()) {
            Err(Fault::Rejected(why)) => why,
            other => panic!("{other:?}"),
        };
    assert_eq!(rejected(&[], &[None, None]), "1 parameters and 2 buffers are needed, not 0 and 2");
    assert_eq!(rejected(&[-1], &[Some(&a), None]), "a parameter is -1, and parameters are not negative");
    assert_eq!(rejected(&[1], &[None, None]), "operand `a` is missing");
    assert_eq!(rejected(&[1], &[Some(&f64s(&[])), None]), "`a` is i32, not f64");
    assert_eq!(rejected(&[1], &[Some(&a), Some(&a)]), "`w` is no operand");
}

/// The machine's own checks: kernels that the checker refuses break a rule when they run.
#[test]
fn unchecked_kernels_break_rules() {
    let broken = |body: &str| {
        let text = format!("kernel k(n)\n operand a: i32\n workspace w: i64\n result r: i64\n{body}");
        let kernel = kernel(&text);
        assert!(loops::check(&kernel).is_err(), "{body}");
        let a = i32s(&[1]);
        let ran = Prepared::unchecked(&kernel).expect(body).run(&[0], &[Some(&a), None, None], &Limits::default());
        ran.map(|o| panic!("{o:?}\n{body}")).unwrap_err().to_string()
    };
    assert_eq!(broken("a[0] = 2i32"), "`a` is an operand and is changed, in `a[0] = 2i32`");
    assert_eq!(broken("alloc a[2]"), "`a` is an operand and is changed, in `alloc a[2]`");
    assert_eq!(
        broken("alloc w[1] = 0\n sort w[0..1] into a[0]"),
        "`a` is an operand and is changed, in `sort w[0..1] into a[0]`"
    );
    assert_eq!(broken("sort a[0..1] with w"), "`a` is an operand and is changed, in `sort a[0..1] with w`");
    assert_eq!(broken("w[0] = 2"), "`w` is used and not allocated, in `w[0] = 2`");
    assert_eq!(broken("reserve w[0]"), "`w` is used and not allocated, in `reserve w[0]`");
    assert_eq!(broken("x = capacity(w)"), "`w` is used and not allocated, in `x = capacity(w)`");
    assert_eq!(broken("if n > 0 {\n x = 1\n }\n y = x"), "`x` is read and is not set, in `y = x`");
    assert_eq!(broken("for i in 0..1 {\n let x = 1\n }\n y = x"), "`x` is read and is not set, in `y = x`");
    assert_eq!(
        broken("t = 0\n parallel for i in 0..2 {\n t = t + 1\n }"),
        "`t` is read and is not set, in `t = t + 1`"
    );
    assert_eq!(broken("alloc r[1]\n if n > 0 {\n finish r[0]\n }"), "`r` is finished with no length, in `the end`");
}

/// The frequent functions agree with those of the algebra.
#[test]
fn frequent_functions_are_the_algebras() {
    let floats = [0.0, -0.0, 1.5, -2.0, f64::INFINITY, f64::NAN, 1e308].map(|x| Value::from_f64(Type::F64, x));
    let integers = [0, 1, -1, 7, i64::MIN, i64::MAX].map(Value::i64);
    for op in ["+", "-", "*", "<", "<=", ">", ">=", "==", "!=", "min"] {
        for (ty, values) in [("f64", &floats[..]), ("i64", &integers[..])] {
            for (a, b) in values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b))) {
                let e = if op == "min" { "min(a[0], a[1])".into() } else { format!("a[0] {op} a[1]") };
                let known = Op::all().find(|o| o.name() == op).unwrap();
                let expected = apply(known, &[a, b]).unwrap();
                let text = format!(
                    "kernel k()\n operand a: {ty}\n result r: {}\n alloc r[1]\n r[0] = {e}\n finish r[1]",
                    expected.ty()
                );
                let array = Array::from_values(a.ty(), [a, b]);
                let outcome = ran(&text, &[], &[array]).unwrap();
                assert_eq!(results(&outcome)[0].get(0), expected, "{a} {op} {b}");
            }
        }
    }
}
