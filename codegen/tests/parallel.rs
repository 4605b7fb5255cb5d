//! Parallel loops: whatever threads and pieces, results are the same bits, and the first iteration that fails says why.

use fiberloom_codegen::{Compiled, Limits, Options, Pieces, compile};
use fiberloom_core::format::{Array, Elements};
use fiberloom_loops::{Failure, read};

fn compiled(text: &str) -> Compiled {
    let kernel = read(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    compile(&kernel, &Options::default()).unwrap()
}

/// The results of a kernel of one operand on this many threads, each iteration a piece, in fenced memory.
fn run(
    kernel: &Compiled,
    (n, x, others): (i64, &Array, usize),
    pieces: Pieces,
) -> Result<Vec<Option<Array<'static>>>, Failure> {
    let operands: Vec<Option<&Array>> = std::iter::once(Some(x)).chain(std::iter::repeat_n(None, others)).collect();
    // SAFETY: the kernels of this file stay inside of arrays of `n` elements.
    #[allow(unsafe_code)]
    unsafe {
        kernel.run_fenced(&[n], &operands, &Limits { pieces, ..Limits::default() })
    }
}

fn floats(n: i64) -> Array<'static> {
    Array::F64(Elements::from((0..n).map(|k| 1.0 / (k + 1) as f64).collect::<Vec<_>>()))
}

/// Each thread has a row of its own; a variable set before the loop is read in it.
const ROWS: &str = "kernel rows(n)
  operand x: f64
  workspace w: f64
  result y: f64

  alloc w[n]
  alloc y[n]
  shift = 0.5
  if n > 3 {
    shift = 1.5
  }
  parallel for i in 0..n with w {
    for j in 0..n {
      w[j] = x[j] * f64(i) + shift
    }
    t = 0.0
    for j_2 in 0..n {
      t = t + w[n - 1 - j_2]
    }
    y[i] = t
  }
  finish y[n]
";

#[test]
fn any_number_of_threads_makes_the_same_bits() {
    let kernel = compiled(ROWS);
    for n in [0, 1, 2, 5, 300, 1000] {
        let x = floats(n);
        let one = run(&kernel, (n, &x, 2), Pieces::Each(1)).unwrap();
        for pieces in [Pieces::Usual, Pieces::Each(2), Pieces::Each(3), Pieces::Each(7)] {
            assert_eq!(run(&kernel, (n, &x, 2), pieces).unwrap(), one, "{n} {pieces:?}");
        }
    }
    let x = floats(3);
    let y = run(&kernel, (3, &x, 2), Pieces::Each(2)).unwrap();
    let by_hand: Vec<f64> =
        (0..3).map(|i| (1.0 / 3.0 * f64::from(i) + 0.5) + (0.5 * f64::from(i) + 0.5) + (f64::from(i) + 0.5)).collect();
    let Some(Array::F64(y)) = &y[2] else { panic!("{y:?}") };
    assert!(y.iter().zip(&by_hand).all(|(a, b)| (a - b).abs() < 1e-15), "{y:?} {by_hand:?}");
}

/// Iteration i appends the numbers below i · 7 mod 5, and notes how many there are so far.
const APPENDS: &str = "kernel appends(n)
  operand x: f64
  result pos: i32, crd: i32, vals: f64

  alloc pos[n + 1] = 0i32
  alloc crd[1]
  alloc vals[1]
  c = 0
  parallel for i in 0..n joining pos[i + 1] = c, crd[c], vals[c] {
    for j in 0..i * 7 % 5 {
      if c + 1 > capacity(crd) {
        reserve crd[c + 1]
      }
      if c + 1 > capacity(vals) {
        reserve vals[c + 1]
      }
      crd[c] = i32(j)
      vals[c] = x[i] + f64(j)
      c = c + 1
    }
    pos[i + 1] = i32(c)
  }
  finish pos[n + 1]
  finish crd[c]
  finish vals[c]
";

#[test]
fn what_iterations_append_is_in_their_order() {
    let kernel = compiled(APPENDS);
    for n in [0, 1, 2, 3, 5, 257, 3000] {
        let x = floats(n);
        let (mut pos, mut crd, mut vals) = (vec![0], vec![], vec![]);
        for i in 0..n {
            let row = 0..i * 7 % 5;
            crd.extend(row.clone().map(|j| j as i32));
            vals.extend(row.map(|j| 1.0 / (i + 1) as f64 + j as f64));
            pos.push(crd.len() as i32);
        }
        let expected =
            vec![None, Some(Array::I32(pos.into())), Some(Array::I32(crd.into())), Some(Array::F64(vals.into()))];
        for threads in [1, 2, 3, 7] {
            assert_eq!(run(&kernel, (n, &x, 3), Pieces::Each(threads)).unwrap(), expected, "{n} {threads}");
        }
        assert_eq!(run(&kernel, (n, &x, 3), Pieces::Usual).unwrap(), expected, "{n}");
    }
}

/// A sum that rounds, a count and a maximum, beside what is appended and a place for each iteration.
const FOLDS: &str = "kernel folds(n) reassociate
  operand x: f64
  result s: f64, m: i64, y: f64, crd: i64

  alloc s[1]
  alloc m[2]
  alloc y[n]
  alloc crd[n]
  t = 0.1
  count = 5
  most = -1
  c = 0
  parallel for i in 0..n joining crd[c] folding t, count, most {
    for j in 0..i % 3 {
      t = t + x[i] * f64(j + 1)
      count = count + 1
    }
    if i % 7 == 3 {
      most = max(most, i)
      crd[c] = i
      c = c + 1
    }
    y[i] = x[i] + 1.0
  }
  s[0] = t
  m[0] = count
  m[1] = most
  finish s[1]
  finish m[2]
  finish y[n]
  finish crd[c]
";

#[test]
fn what_iterations_fold_is_the_same_on_any_number_of_threads() {
    let kernel = compiled(FOLDS);
    for n in [0, 1, 2, 3, 5, 257, 3000, 40_000] {
        let x = floats(n);
        let made = run(&kernel, (n, &x, 4), Pieces::Each(1)).unwrap();
        for threads in [2, 3, 7] {
            assert_eq!(run(&kernel, (n, &x, 4), Pieces::Each(threads)).unwrap(), made, "{n} {threads}");
        }
        let by_hand: f64 = 0.1 + (0..n).map(|i| [0.0, 1.0, 3.0][i as usize % 3] / (i + 1) as f64).sum::<f64>();
        let appended: Vec<i64> = (0..n).filter(|i| i % 7 == 3).collect();
        let count = 5 + (0..n).map(|i| i % 3).sum::<i64>();
        for made in [made, run(&kernel, (n, &x, 4), Pieces::Usual).unwrap()] {
            let Some(Array::F64(s)) = &made[1] else { panic!("{made:?}") };
            assert!((s[0] - by_hand).abs() <= by_hand * 1e-12, "{n}: {} {by_hand}", s[0]);
            assert_eq!(made[2], Some(Array::I64(vec![count, appended.last().copied().unwrap_or(-1)].into())), "{n}");
            assert_eq!(made[4], Some(Array::I64(appended.clone().into())), "{n}");
        }
    }
}

/// Sums of rows of three lengths into few places, and how many there are, beside what was there.
const COLUMNS: &str = "kernel columns(n) reassociate
  operand x: f64
  result y: f64, m: i64

  alloc y[5] = 0.5
  alloc m[1]
  count = 0
  parallel for i in 0..n folding count, y {
    for j in 0..i % 3 {
      y[(i + j) % 5] = y[(i + j) % 5] + x[i]
      count = count + 1
    }
  }
  m[0] = count
  finish y[5]
  finish m[1]
";

#[test]
fn elements_that_iterations_fold_into_are_the_same_on_any_number_of_threads() {
    let kernel = compiled(COLUMNS);
    for n in [0, 1, 2, 3, 5, 257, 3000, 400_000] {
        let x = floats(n);
        let made = run(&kernel, (n, &x, 2), Pieces::Each(1)).unwrap();
        for threads in [2, 3, 7] {
            assert_eq!(run(&kernel, (n, &x, 2), Pieces::Each(threads)).unwrap(), made, "{n} {threads}");
        }
        let mut by_hand = [0.5; 5];
        (0..n).for_each(|i| (0..i % 3).for_each(|j| by_hand[((i + j) % 5) as usize] += 1.0 / (i + 1) as f64));
        for made in [made, run(&kernel, (n, &x, 2), Pieces::Usual).unwrap()] {
            let Some(Array::F64(y)) = &made[1] else { panic!("{made:?}") };
            assert!(y.iter().zip(by_hand).all(|(a, b)| (a - b).abs() <= b * 1e-12), "{n}: {y:?} {by_hand:?}");
            assert_eq!(made[2], Some(Array::I64(vec![(0..n).map(|i| i % 3).sum::<i64>()].into())), "{n}");
        }
    }
}

/// A copy has what the workspace has before the loop.
const ROOTED: &str = "kernel rooted(n)
  operand x: f64
  workspace w: f64
  result y: f64

  alloc w[n] = 2.5
  alloc y[n]
  parallel for i in 0..n with w {
    w[i] = w[i] + x[i]
    y[i] = w[i] + w[0]
    w[i] = 2.5
  }
  finish y[n]
";

#[test]
fn copies_have_what_was_there() {
    let kernel = compiled(ROOTED);
    let (n, x) = (1000, floats(1000));
    let by_hand: Vec<f64> = (0..n).map(|i| 2.5 + 1.0 / (i + 1) as f64 + if i == 0 { 3.5 } else { 2.5 }).collect();
    for threads in [1, 2, 3, 7] {
        let made = run(&kernel, (n, &x, 2), Pieces::Each(threads)).unwrap();
        assert_eq!(made[2], Some(Array::F64(by_hand.clone().into())), "{threads}");
    }
}

/// The first iteration takes some time and fails, the second takes longer and fails otherwise.
const LATER: &str = "kernel later(n)
  operand x: f64
  result y: f64

  alloc y[n]
  parallel for i in 0..n {
    t = 0.0
    for j in 0..(i + 1) * 3000000 {
      t = t + x[0]
    }
    y[i] = t
    if i == 0 {
      fail outside
    }
    fail overflow
  }
  finish y[n]
";

#[test]
fn a_failure_that_is_noted_later_is_not_told() {
    let kernel = compiled(LATER);
    for _ in 0..3 {
        assert_eq!(run(&kernel, (2, &floats(2), 1), Pieces::Each(2)), Err(Failure::Outside));
    }
}

/// A piece that fails leaves nothing behind of those that waited for it.
#[test]
fn failures_beside_folds_are_told() {
    let text = COLUMNS.replace(
        "    for j in 0..i % 3 {",
        "    if i % 100 == 57 {\n      fail overflow\n    }\n    for j in 0..i % 3 {",
    );
    assert_ne!(text, COLUMNS);
    let kernel = compiled(&text);
    let x = floats(3000);
    for threads in [1, 2, 3, 7] {
        for _ in 0..50 {
            assert_eq!(run(&kernel, (3000, &x, 2), Pieces::Each(threads)), Err(Failure::Overflow));
        }
        assert!(run(&kernel, (57, &x, 2), Pieces::Each(threads)).is_ok());
    }
}

/// Threads fold into arrays of their own as far as there is memory for them, and into the kernel's where there is none.
#[test]
fn arrays_that_do_not_fit_are_not_made() {
    let kernel = compiled(COLUMNS);
    let (n, x) = (1000, Array::F64(Elements::from(vec![1.0; 1000])));
    let wanted = run(&kernel, (n, &x, 2), Pieces::Each(1)).unwrap();
    for memory in 48..400 {
        let limits = Limits { memory, pieces: Pieces::Each(4) };
        // SAFETY: the kernel stays inside of arrays of `n` elements.
        #[allow(unsafe_code)]
        let made = unsafe { kernel.run_fenced(&[n], &[Some(&x), None, None], &limits) };
        assert_eq!(made.as_ref(), Ok(&wanted), "{memory}");
    }
}

/// Where memory suffices for one thread and little more, the loop runs on as many as there is memory for.
#[test]
fn parts_that_do_not_fit_are_not_made() {
    let kernel = compiled(APPENDS);
    let (n, x) = (1000, floats(1000));
    let one = run(&kernel, (n, &x, 3), Pieces::Each(1)).unwrap();
    let operands = [Some(&x), None, None, None];
    // 2,000 entries of 12 bytes in arrays that have doubled, and 1,001 positions.
    let least = 2048 * 12 + 1001 * 4;
    for memory in (least + least / 4..2 * least).step_by(500) {
        let limits = Limits { memory, pieces: Pieces::Each(4) };
        // SAFETY: the kernel stays inside of arrays of `n` elements.
        #[allow(unsafe_code)]
        let made = unsafe { kernel.run_fenced(&[n], &operands, &limits) };
        assert_eq!(made.as_ref(), Ok(&one), "{memory}");
    }
}

/// A thread's workspace grows for itself; where there is no memory for several, one thread runs all iterations.
#[test]
fn copies_grow() {
    let kernel = compiled(
        "kernel grows(n)
  operand x: f64
  workspace w: f64
  result y: f64

  alloc w[1]
  alloc y[n]
  parallel for i in 0..n with w {
    if i + 1 > capacity(w) {
      reserve w[i + 1]
    }
    for j in 0..i + 1 {
      w[j] = x[j]
    }
    y[i] = w[i] + w[0]
  }
  finish y[n]
",
    );
    let x = floats(200);
    // 200 results, and a workspace that doubles from 16 elements on.
    let least = 8 * (200 + 256);
    for memory in (least..3 * least).step_by(400).chain([usize::MAX]) {
        let limits = Limits { memory, pieces: Pieces::Each(3) };
        // SAFETY: the kernel stays inside of arrays of `n` elements.
        #[allow(unsafe_code)]
        let made = unsafe { kernel.run_fenced(&[200], &[Some(&x), None, None], &limits) }.unwrap();
        let Some(Array::F64(y)) = &made[2] else { panic!("{made:?}") };
        assert!(y.iter().enumerate().all(|(i, y)| *y == 1.0 / (i + 1) as f64 + 1.0), "{memory}");
    }
}

/// Of iterations that fail, the first says why, on any number of threads.
#[test]
fn the_first_failure_is_told() {
    let kernel = compiled(
        "kernel fails(n)
  operand x: f64
  result y: f64

  alloc y[n]
  parallel for i in 0..n {
    if x[i] < 0.1 {
      if i % 2 == 0 {
        fail outside
      } else {
        fail overflow
      }
    }
    y[i] = x[i]
  }
  finish y[n]
",
    );
    let x = floats(256);
    for threads in [1, 2, 7] {
        for _ in 0..20 {
            // 1/11 is the first below 0.1.
            assert_eq!(run(&kernel, (256, &x, 1), Pieces::Each(threads)).unwrap_err(), Failure::Outside);
        }
    }
    assert!(run(&kernel, (10, &floats(10), 1), Pieces::Each(2)).is_ok());
}

/// Without memory for copies, the loop runs on one thread.
#[test]
fn copies_that_do_not_fit_are_not_made() {
    let kernel = compiled(ROWS);
    let (n, x) = (100, floats(100));
    let one = run(&kernel, (n, &x, 2), Pieces::Each(1)).unwrap();
    let operands = [Some(&x), None, None];
    let limits = Limits { memory: 2 * 800, pieces: Pieces::Each(4) };
    // SAFETY: the kernel stays inside of arrays of `n` elements.
    #[allow(unsafe_code)]
    let made = unsafe { kernel.run_fenced(&[n], &operands, &limits) }.unwrap();
    assert_eq!(made, one);
}

/// A kernel is called from threads of another pool, and from several threads at once.
#[test]
fn calls_may_be_made_at_once() {
    let kernel = compiled(ROWS);
    let (n, x) = (200, floats(200));
    let one = run(&kernel, (n, &x, 2), Pieces::Each(1)).unwrap();
    let same = || assert_eq!(run(&kernel, (n, &x, 2), Pieces::Each(3)).unwrap(), one);
    std::thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(|| (0..10).for_each(|_| same()))));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| rayon::join(same, same));
}
