//! Kernels as text: printed, read, checked, bound.

use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::format::{Array, Format, Level, Tensor};
use fiberloom_core::notation::typed::{Extents, TensorId};
use fiberloom_loops::*;

const SPMV: &str = "\
kernel spmv(n_i, n_j) reassociate
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, x_vals: f64
  result y_vals: f64
  in A@0: f64[n_i, n_j] {dense, compressed} at dense, compressed(A1_pos, A1_crd), A_vals
  in x@1: f64[n_j] {dense} at dense, x_vals
  out y@2: f64[n_i] {dense} at dense, y_vals

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

/// Every statement, and corner cases of the notation.
const ALL: &str = "\
kernel all(n)
  operand a: i32, b: i32, c: i64, v: i32, u: u8, e: f32, o: bool
  workspace w: i64, k: i64, s: i32, f: f32

  # widening
  let i = a[0]
  let j: i32 = v[i]
  m = b[i]
  m = c[a[1]] + b[2]
  let l = i64(a[i]) < i64(b[i]) && a[i] < b[i] && c[i] < b[i] && !(j == 3i32)
  let g = min(i64(a[1]), i64(b[2])) + i64(j) - -5
  # literals
  let x = 1.5f32 + -inff32 * e[0] - nanf32
  let y = f64(0x7ff8000000000001) + 1e300 / -0.0 + inf - nan + f64(x)
  let z = (255u8 - u[0]) * 3u8 ^ u[1] | (u[2] ^ 7u8) & 1u8
  #
  # order of operations
  let q = (m + i) * -(m - i) - (m - (i - 1)) + -(3) % -m << 2 >> (m << 1)
  let h = (m < i) == (i <= m) || o[0] & (o[1] | true)
  let d = select(h, floordiv(q, 3), floormod(m, 4)) + mask(h, m)
  let r = ldexp(sqrt(y), 3i8) + pow(y, 2.0)
  let among_2 = among(a[b[0]..m + a[1]], v[i]) + among(c[0..9], 4)
  alloc w[n]
  alloc k[n] = -1
  alloc s[n] = 7i32
  alloc f[n] = inff32
  reserve w[2 * n]
  w[a[i]] = b[i]
  s[0] = v[i]
  if h {
  }
  if m > 0 {
    m = m - 1
  } else if m > 1 {
    m = m - 2
  } else if m > 2 {
    m = m - 3
  } else {
    if h {
      m = 1
    }
    m = 2
  }
  while m < capacity(w) {
    m = m + 1
  }
  vector for p in 0..n {
    f[p] = e[p]
  }
  parallel for p_2 in a[0]..b[1] {
    f[p_2] = e[p_2]
  }
  unroll 4 lanes for p_3 in 0..n {
    f[p_3] = e[p_3]
  }
  unroll 2 vector for p_4 in 0..n {
    f[p_4] = e[p_4]
  }
  lanes parallel for p_5 in 0..n {
    f[p_5] = e[p_5]
  }
  parallel for p_6 in 0..n folding m {
    m = m + p_6
  }
  parallel for p_7 in 0..n folding m, w {
    m = m + p_7
    w[a[p_7]] = w[a[p_7]] + p_7
  }
  sort w[0..a[1]] with k
  sort w[0..m] into k[a[0] + 1]
  move w from k
  fail turns
";

#[test]
fn prints_what_it_reads() {
    for text in [SPMV, ALL] {
        let kernel = read(text).unwrap();
        assert_eq!(kernel.to_string(), text);
        assert_eq!(check(&kernel), Ok(()));
    }
}

/// Reading gives the kernel that is built by hand.
#[test]
fn reads_what_it_says() {
    let kernel =
        read("kernel k(n)\n  operand a: i32\n  workspace w: f64\n\n  alloc w[a[n] - 1]\n  t = w[a[0]]\n").unwrap();
    let (a, w) = (BufferId(0), BufferId(1));
    let wide = |at| Expr::Op(Op::Convert(Type::I64), vec![Expr::Load(a, Box::new(at))]);
    let int = |x| Expr::Const(Value::i64(x));
    let len = Expr::Op(Op::Sub, vec![wide(Expr::Var(Var(0))), int(1)]);
    // Beside a literal, which is an i64, the load is widened: no i32 is subtracted.
    let body = vec![
        Stmt::Call(Entry::Alloc { buffer: w, len, fill: None }),
        Stmt::Set(Var(1), Expr::Load(w, Box::new(wide(int(0))))),
    ];
    assert_eq!(kernel.body, body);
    assert_eq!(kernel.vars, vec![("n".into(), Type::I64), ("t".into(), Type::F64)]);
}

#[test]
fn reader_says_what_is_wrong_and_where() {
    let cases = [
        ("kernel k()\n  x = y", "line 2: there is no variable `y` before this line"),
        ("kernel k()\n\n  x = 1 + 2.0", "line 3: `+` does not take (i64, f64)"),
        ("kernel k()\n  x = 1\n  x = true", "line 3: i64 is needed, this is bool"),
        ("kernel k()\n  x = 300u8", "line 2: expected a value, found `300u8`"),
        ("kernel k()\n  x = 1 < 2 < 3", "line 2: comparisons do not chain: put one of them in parentheses"),
        ("kernel k()\n  operand a: i32, a: i32", "line 2: `a` is defined twice"),
        ("kernel k()\n  operand a: i33", "line 2: `i33` is no type"),
        ("kernel k()\n  if true {\n  x = 1\n", "line 2: expected `}`, found the end"),
        ("kernel k()\n  if true {\n  x = 1\n  x = 2.0\n  x = 3\n", "line 4: i64 is needed, this is f64"),
        ("kernel k()\n  operand a: i32\n  x = among(a[0..true], 1)", "line 3: an index is i64, this is bool"),
        ("kernel k()\n  operand a: i32\n  x = among(a[0], 1)", "line 3: expected `..`, found `]`"),
        ("kernel k()\n  x = 1\n}", "line 3: expected the end, found `}`"),
        ("kernel k()\n  a[0] = 1", "line 2: there is no buffer `a`"),
        ("kernel k()\n  x = $", "line 2: `$` does not belong here"),
        ("kernel k()\n  jump x", "line 2: expected a statement, found `jump` and `x`"),
        ("", "line 1: expected `kernel`, found the end"),
    ];
    for (text, message) in cases {
        assert_eq!(read(text).map(|k| k.to_string()), Err(message.into()), "{text}");
    }
}

/// Keywords that begin statements can be names.
#[test]
fn no_word_is_reserved() {
    let text = "kernel let(in)\n  operand for: i64\n  workspace alloc: i64\n\n  alloc alloc[in]\n  \
                alloc[0] = for[in]\n  if = 3\n  while if < in {\n    if = if + 1\n  }\n";
    assert_eq!(read(text).unwrap().to_string(), text);
}

#[test]
fn checker_says_what_is_wrong() {
    let cases = [
        ("if n > 0 {\n x = 1\n }\n y = x", "in `y = x`: `x` may not be set here"),
        ("let x = 1\n let x = 2", "in `let x = 2`: `x` is defined already"),
        ("let x = 1\n x = 2", "in `x = 2`: `x` is a Let variable elsewhere, not a Set one"),
        ("for i in 0..n {\n i = 2\n }", "in `i = 2`: `i` is a Loop variable elsewhere, not a Set one"),
        ("for i in 0..n {\n }\n x = i", "in `x = i`: `i` may not be set here"),
        ("n = 2", "in `n = 2`: `n` is a Parameter variable elsewhere, not a Set one"),
        ("while n > 0 {\n x = 1\n }\n y = x", "in `y = x`: `x` may not be set here"),
        (
            "if n > 0 {\n let x = 1\n }\n if n > 1 {\n let x = 2\n y = x\n }\n y = x",
            "in `y = x`: `x` may not be set here",
        ),
        ("w[0] = 1", "in `w[0] = 1`: `w` may not be allocated here"),
        ("if n > 0 {\n alloc w[n]\n }\n x = w[0]", "in `x = w[0]`: `w` may not be allocated here"),
        ("a[0] = 1i32", "in `a[0] = 1i32`: operand `a` is read only"),
        ("reserve a[2]", "in `reserve a[2]`: operand `a` is read only"),
        ("alloc w[n] = 0i32", "in `alloc w[n] = 0i32`: i64 elements cannot be filled with the i32 0"),
        ("finish w[n]", "in `finish w[n]`: `w` may not be allocated here"),
        ("finish a[n]", "in `finish a[n]`: operand `a` is read only"),
        ("move w from w", "in `move w from w`: `w` may not be allocated here"),
        ("alloc w[n]\n move w from w", "in `move w from w`: what is moved is another buffer of the same type"),
        ("alloc f[n]\n move w from f", "in `move w from f`: what is moved is another buffer of the same type"),
        ("move w from a", "in `move w from a`: operand `a` is read only"),
        ("alloc w[n]\n move v from w\n x = w[0]", "in `x = w[0]`: `w` may not be allocated here"),
        // A buffer that an iteration moves away is missing in the next one.
        ("alloc w[n]\n for i in 0..n {\n x = w[0]\n move v from w\n }", "in `x = w[0]`: `w` may not be allocated here"),
        ("x = coalesce(n, 1)", "in `x = coalesce(n, 1)`: `coalesce(n, 1)` cannot be run: loops know no `missing`"),
        ("parallel for i in 0..n {\n alloc w[n]\n }", "in `alloc w[n]`: not in a parallel loop"),
        ("t = 0\n parallel for i in 0..n {\n t = t + i\n }", "in `t = t + i`: `t` may not be set here"),
        (
            "if n > 0 {\n t = 0\n }\n parallel for i in 0..n folding t {\n t = t + i\n }",
            "in `parallel for i in 0..n folding t`: `t` may not be set here",
        ),
        (
            "t = 0\n parallel for i in 0..n folding t {\n t = t + i\n x = t\n }",
            "in `parallel for i in 0..n folding t`: iterations do not only fold into `t` with a function that pieces can be folded with",
        ),
        (
            "t = 0\n parallel for i in 0..n folding t {\n t = t - i\n }",
            "in `parallel for i in 0..n folding t`: iterations do not only fold into `t` with a function that pieces can be folded with",
        ),
        (
            "t = 0.0\n parallel for i in 0..n folding t {\n t = t + 1.0\n }",
            "in `parallel for i in 0..n folding t`: iterations do not only fold into `t` with a function that pieces can be folded with",
        ),
        (
            "alloc w[n]\n parallel for i in 0..n folding w {\n w[i] = w[0] + i\n }",
            "in `parallel for i in 0..n folding w`: iterations do not only fold into elements of `w` with a function that pieces can be \
             folded with",
        ),
        (
            "alloc w[n]\n parallel for i in 0..n folding w {\n w[0] = w[0] + i\n x = w[i]\n }",
            "in `parallel for i in 0..n folding w`: iterations do not only fold into elements of `w` with a function that pieces can be \
             folded with",
        ),
        (
            "parallel for i in 0..n folding a {\n x = i\n }",
            "in `parallel for i in 0..n folding a`: operand `a` is read only",
        ),
        ("t = 0\n vector for i in 0..n {\n t = t - i\n }", "in `t = t - i`: `t` may not be set here"),
        ("t = 0.0\n vector for i in 0..n {\n t = t + 1.0\n }", "in `t = t + 1.0`: `t` may not be set here"),
        // An iteration forgets the variables that are private to a parallel loop inside of it.
        (
            "x = 1\n for i in 0..n {\n let y = x\n parallel for j in 0..n {\n x = 2\n }\n }",
            "in `let y = x`: `x` may not be set here",
        ),
        ("alloc w[n]\n sort w[0..n] with w", "in `sort w[0..n] with w`: the keys and their order are one buffer"),
        ("alloc w[n]\n sort w[0..n] into w[n]", "in `sort w[0..n] into w[n]`: keys are not sorted into themselves"),
        ("alloc w[n]\n sort w[0..n] into a[0]", "in `sort w[0..n] into a[0]`: operand `a` is read only"),
        (
            "alloc f[n]\n alloc w[n]\n sort w[0..n] into f[0]",
            "in `sort w[0..n] into f[0]`: i64 are not sorted into f64: only i32 into i32 and i64 into i64",
        ),
    ];
    for (body, message) in cases {
        let kernel = read(&format!(
            "kernel k(n)\n operand a: i32\n workspace w: i64, v: i64, f: f64\n in a@0: i32[n] {{dense}} at dense, a\n {body}"
        ));
        assert_eq!(check(&kernel.unwrap()), Err(message.into()), "{body}");
    }
    let unfinished = SPMV.replace("  finish y_vals[n_i]\n", "  if n_i > 0 {\n    finish y_vals[n_i]\n  }\n");
    assert_eq!(check(&read(&unfinished).unwrap()), Err("result `y_vals` is not finished on every path".into()));
    // A length moves with the buffer; a buffer that is allocated again has none.
    let moved = |finish: &str| {
        let moves = format!("  {finish}\n  move y_vals from z\n");
        let text = SPMV.replace("  finish y_vals[n_i]\n", &format!("  alloc z[n_i] = 0.0\n{moves}"));
        check(&read(&text.replace("  result y_vals: f64\n", "  result y_vals: f64\n  workspace z: f64\n")).unwrap())
    };
    assert_eq!(moved("finish z[n_i]"), Ok(()));
    assert_eq!(moved("finish y_vals[n_i]"), Err("result `y_vals` is not finished on every path".into()));
}

#[test]
fn checker_takes_what_is_certain() {
    let bodies = [
        "if n > 0 {\n x = 1\n } else {\n fail steps\n }\n y = x",
        "if n > 0 {\n let x = 1\n } else {\n let x = 2\n }",
        "t = 0\n vector for i in 0..n {\n t = t + i * i\n }\n x = t",
        "t = 0\n vector for i in 0..n {\n t = max(i, t)\n }\n x = t",
        "parallel for i in 0..n {\n t = i\n t = t + 1\n }",
        "t = 1\n m = 0\n parallel for i in 0..n folding t, m {\n t = t * i\n if i > 2 {\n m = max(i, m)\n }\n }\n x = t",
        "alloc w[n]\n parallel for i in 0..n folding w {\n w[0] = max(i, max(w[0], 3))\n w[i] = max(w[i], i)\n }",
        "alloc w[n]\n for i in 0..n {\n alloc v[n]\n x = w[0]\n move w from v\n }\n y = w[0]",
    ];
    for body in bodies {
        assert_eq!(
            check(&read(&format!("kernel k(n)\n workspace w: i64, v: i64\n {body}")).unwrap()),
            Ok(()),
            "{body}"
        );
    }
}

/// Nesting that is too deep is refused, by reader and checker, and does not overflow a thread's stack.
#[test]
fn depth_has_a_limit() {
    let texts = [
        format!("kernel k()\n x = {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("kernel k()\n x = {}true", "!".repeat(100_000)),
        format!("kernel k()\n x = 1{}", " + 1".repeat(100_000)),
        format!("kernel k()\n operand a: i64\n x = {}1{}", "a[".repeat(100_000), "]".repeat(100_000)),
        format!("kernel k()\n {}{}", "if true {\n".repeat(100_000), "}\n".repeat(100_000)),
        format!("kernel k()\n if true {{ }} {}", "else if true { }".repeat(100_000)),
    ];
    for text in texts {
        assert!(read(&text).unwrap_err().contains("more than"), "{}", &text[..40]);
    }
    let deep = |n: usize| {
        let sum = format!("x = 1{}", " + 1".repeat(n));
        format!("kernel k()\n{}{sum}\n{}", "if true {\n".repeat(NESTING - 1), "}\n".repeat(NESTING - 1))
    };
    let kernel = read(&deep(DEPTH - 1)).unwrap();
    assert_eq!(check(&kernel), Ok(()));
    assert_eq!(read(&kernel.to_string()).unwrap(), kernel);
    let mut e = Expr::Const(Value::bool(true));
    for _ in 0..DEPTH {
        e = Expr::Op(Op::Not, vec![e]);
    }
    let mut kernel = read("kernel k()\n x = true").unwrap();
    kernel.body = vec![Stmt::Set(Var(0), e)];
    assert!(check(&kernel).unwrap_err().contains("nested more than 640 deep"));
    // Variables that do not exist.
    let nothing = vec![Stmt::Set(Var(9), Expr::Const(Value::i64(1)))];
    let (lo, hi) = (Expr::Const(Value::i64(0)), Expr::Const(Value::i64(1)));
    kernel.body = vec![Stmt::For { var: Var(1), lo, hi, how: How::apart(), body: nothing }];
    kernel.vars.push(("i".into(), Type::I64));
    assert_eq!(check(&kernel), Err("in `var9? = 1`: there is no variable number 9".into()));
}

#[test]
fn tensors_are_bound_by_name_and_results_collected() {
    let kernel = read(SPMV).unwrap();
    let index = |v: &'static [i32]| Array::from(v);
    let a = Tensor {
        extents: vec![2, 3],
        format: Format::named("csr", 2).unwrap(),
        levels: vec![Level::Dense, Level::Compressed { pos: index(&[0, 1, 2]), crd: index(&[2, 0]) }],
        values: Array::from(vec![2.0, 3.0]),
        fill: Value::zero(Type::F64),
    };
    let x = Tensor {
        extents: vec![3],
        format: Format::dense(1),
        levels: vec![Level::Dense],
        values: Array::from(vec![1.0, 2.0, 4.0]),
        fill: Value::zero(Type::F64),
    };
    let extents = |t: TensorId| [vec![2, 3], vec![3], vec![2]][t.index()].clone();
    let bound = bind(&kernel, &[("x", &x), ("A", &a)], &extents, &Extents::default()).unwrap();
    assert_eq!(bound.params, [2, 3]);
    assert_eq!(bound.operands[2].as_ref(), Some(&a.values));
    assert_eq!(bound.operands[4], None);

    let refused = |tensors: &[(&str, &Tensor)]| bind(&kernel, tensors, &extents, &Extents::default()).unwrap_err();
    assert_eq!(refused(&[("x", &x)]), "`A` is needed, and was not given");
    let wide = Tensor { values: Array::from(vec![1.0f32, 2.0, 4.0]), ..x.clone() };
    assert_eq!(refused(&[("A", &a), ("x", &wide)]), "`x`: `x_vals` is f32, and f64 is needed");
    let long = Tensor { extents: vec![4], ..x.clone() };
    assert_eq!(refused(&[("A", &a), ("x", &long)]), "`x` has extents [4], and [3] is needed");
    let one = Tensor { fill: Value::one(Type::F64), ..x.clone() };
    assert_eq!(refused(&[("A", &a), ("x", &one)]), "`x`: its fill value is 1.0, and 0.0 is needed");

    let y = Array::from(vec![8.0, 3.0]);
    let results = collect(&kernel, &bound, &mut |_| y.clone()).unwrap();
    assert_eq!(results.len(), 1);
    assert_eq!((results[0].0.as_str(), &results[0].1.extents, &results[0].1.values), ("y", &vec![2], &y));
}

/// An extent that is not a tensor's is a parameter, which the caller has solved for.
#[test]
fn extents_of_no_tensor_are_passed() {
    let text = "kernel ones(n_i, n_c)
  result y_vals: i64
  out y@0: i64[n_i] {dense} at dense, y_vals
  solved n_c@7

  alloc y_vals[n_i] = 0
  finish y_vals[n_i]
";
    let kernel = read(text).unwrap();
    assert_eq!((check(&kernel), kernel.to_string().as_str()), (Ok(()), text));
    let bound = bind(&kernel, &[], &|_| vec![2], &Extents { sizes: vec![], vars: (10..20).collect() }).unwrap();
    assert_eq!(bound.params, [2, 17]);
    let refused = |solved: &str| check(&read(&text.replace("n_c@7", solved)).unwrap()).unwrap_err();
    assert_eq!(refused("n_i@1"), "`n_i` is solved for, and known otherwise");
    assert_eq!(refused("n_c@1, n_c@2"), "`n_c` is solved for, and known otherwise");
}

/// `B[i,j] = 2·A[i,j]`, with A's levels.
const DOUBLE: &str = "kernel double(n_I, n_J)
  operand A1_pos: i32, A1_crd: i32, A_vals: f64
  result B_vals: f64
  in A@0: f64[n_I, n_J] {dense, compressed} at dense, compressed(A1_pos, A1_crd), A_vals
  out B@1: f64[n_I, n_J] {dense, compressed} at dense, compressed(A1_pos, A1_crd), B_vals

  alloc B_vals[capacity(A_vals)]
  for p in 0..capacity(A_vals) {
    B_vals[p] = 2.0 * A_vals[p]
  }
  finish B_vals[capacity(A_vals)]
";

#[test]
fn results_have_arrays_of_operands() {
    let kernel = read(DOUBLE).unwrap();
    assert_eq!((check(&kernel), kernel.to_string().as_str()), (Ok(()), DOUBLE));
    let crd = [2, 0];
    let a = Tensor {
        extents: vec![2, 3],
        format: Format::named("csr", 2).unwrap(),
        levels: vec![Level::Dense, Level::Compressed { pos: Array::from(vec![0, 1, 2]), crd: Array::from(&crd[..]) }],
        values: Array::from(vec![2.0, 3.0]),
        fill: Value::zero(Type::F64),
    };
    let bound = bind(&kernel, &[("A", &a)], &|_| vec![2, 3], &Extents::default()).unwrap();
    let made = collect(&kernel, &bound, &mut |_| Array::from(vec![4.0, 6.0])).unwrap();
    let b = &made[0].1;
    assert_eq!((&b.levels, &b.values), (&a.levels, &Array::from(vec![4.0, 6.0])));
    let shared = |i| b.levels[1].arrays().nth(i).map(Array::as_ptr) == a.levels[1].arrays().nth(i).map(Array::as_ptr);
    let [pos, crd] = [0, 1].map(shared);
    assert!(pos && !crd, "what is counted is shared, what is borrowed is copied");

    let swapped = DOUBLE.replace("compressed(A1_pos, A1_crd), B_vals", "compressed(A1_crd, A1_pos), B_vals");
    let refused = check(&read(&swapped).unwrap()).unwrap_err();
    assert_eq!(refused, "tensor `B`: `A1_crd` is a operand, and should be a result");
}

/// Random kernels are unchanged after printing and reading.
#[test]
fn random_kernels_survive_print_and_read() {
    for seed in 0..3000 {
        let mut random = Random::new(seed);
        random.block(3);
        let kernel = random.kernel;
        let text = kernel.to_string();
        let back = read(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        assert_eq!(back, kernel, "seed {seed}\n{text}");
        assert_eq!(back.to_string(), text, "seed {seed}");
    }
}

/// No text makes the reader panic; what it accepts is printed as a text that it reads as the same kernel.
#[test]
fn damaged_text_is_refused_or_means_something() {
    let (mut random, mut taken) = (Random::new(7), 0);
    let bytes = b"0aif-.(){}[]=:,#\n \xff";
    for _ in 0..20_000 {
        let mut text = [SPMV, ALL][random.below(2)].as_bytes().to_vec();
        for _ in 0..1 + random.below(3) {
            let (at, from) = (random.below(text.len()), random.below(text.len()));
            match random.below(4) {
                0 => text[at] = text[from],
                1 => text.insert(at, bytes[random.below(bytes.len())]),
                2 if text.len() > 1 => drop(text.remove(at)),
                _ => text.truncate(at + 1),
            }
        }
        let text = String::from_utf8_lossy(&text);
        if let Ok(kernel) = read(&text) {
            taken += 1;
            // Texts with buffers hidden by other names, and variables that are not parameters, can be read; the checker may refuse them.
            let _ = check(&kernel);
            assert_eq!(read(&kernel.to_string()).as_ref(), Ok(&kernel), "{text}");
        }
    }
    assert!(taken > 500, "only {taken} texts were kernels");
}

/// Makes well-typed, mostly senseless kernels, with variables in order of appearance.
struct Random {
    state: u64,
    kernel: Kernel,
}

impl Random {
    fn new(seed: u64) -> Random {
        let mut kernel = read("kernel random(n, m)").unwrap();
        for (i, ty) in Type::ALL.into_iter().enumerate() {
            let role = [Role::Operand, Role::Workspace][i % 2];
            kernel.buffers.push(Buffer { name: format!("b_{ty}"), ty, role, private: false });
        }
        Random { state: (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15), kernel }
    }

    fn below(&mut self, n: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % n as u64) as usize
    }

    fn ty(&mut self) -> Type {
        // Mostly the types between which the reader has to distinguish widening.
        [Type::I64, Type::I32, Type::Bool].get(self.below(5)).copied().unwrap_or(Type::ALL[self.below(11)])
    }

    fn value(&mut self, ty: Type) -> Value {
        match self.below(3) {
            0 => Value::zero(ty),
            1 if ty.is_float() => {
                let x = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0, 1e-300, 0.1][self.below(6)];
                Value::from_f64(ty, x)
            }
            _ => Value::from_bits(ty, (self.below(usize::MAX) as u64).wrapping_mul(3)),
        }
    }

    fn buffer(&mut self, ty: Type) -> BufferId {
        BufferId(Type::ALL.into_iter().position(|t| t == ty).unwrap() as u32)
    }

    fn expr(&mut self, ty: Type, depth: usize) -> Expr {
        let Some(depth) = depth.checked_sub(1) else { return Expr::Const(self.value(ty)) };
        match self.below(8) {
            0 => Expr::Const(self.value(ty)),
            1 => {
                let vars: Vec<usize> = (0..self.kernel.vars.len()).filter(|v| self.kernel.vars[*v].1 == ty).collect();
                if vars.is_empty() { self.expr(ty, depth) } else { Expr::Var(Var(vars[self.below(vars.len())] as u32)) }
            }
            2 | 3 => {
                let b = self.buffer(ty);
                Expr::Load(b, Box::new(self.expr(Type::I64, depth)))
            }
            4 if ty == Type::I64 => Expr::Op(Op::Convert(ty), vec![self.expr(Type::I32, depth)]),
            5 if ty == Type::I64 => Expr::Capacity(BufferId(self.below(11) as u32)),
            6 if ty == Type::I64 => {
                let of = [Type::I32, Type::I64][self.below(2)];
                let b = self.buffer(of);
                Expr::Among(Sought::ALL[self.below(3)], b, Box::new([(); 3].map(|()| self.expr(Type::I64, depth))))
            }
            _ => self.call(ty, depth),
        }
    }

    fn call(&mut self, ty: Type, depth: usize) -> Expr {
        let ops: Vec<Op> = Op::all().filter(|op| *op != Op::Coalesce).collect();
        loop {
            let (op, of) = (ops[self.below(ops.len())], self.ty());
            let types = match op {
                Op::Select => vec![Type::Bool, of, of],
                Op::Mask => vec![Type::Bool, of],
                Op::Ldexp => vec![of, Type::I8],
                _ => vec![of; op.arity().unwrap()],
            };
            if fiberloom_core::algebra::result_type(op, &types) == Some(ty) {
                return Expr::Op(op, types.into_iter().map(|t| self.expr(t, depth)).collect());
            }
        }
    }

    fn new_var(&mut self, ty: Type) -> Var {
        let n = self.kernel.vars.len();
        self.kernel.vars.push((format!("v{n}"), ty));
        Var(n as u32)
    }

    fn index(&mut self) -> Expr {
        self.expr(Type::I64, 2)
    }

    fn block(&mut self, depth: usize) {
        let stmts = (0..self.below(5)).map(|_| self.stmt(depth)).collect();
        self.kernel.body = stmts;
    }

    fn stmts(&mut self, depth: usize) -> Vec<Stmt> {
        (0..self.below(4)).map(|_| self.stmt(depth)).collect()
    }

    fn stmt(&mut self, depth: usize) -> Stmt {
        let ty = self.ty();
        let b = self.buffer(ty);
        match self.below(if depth == 0 { 9 } else { 12 }) {
            0 | 1 => {
                let e = self.expr(ty, 4);
                Stmt::Let(self.new_var(ty), e)
            }
            2 => {
                let e = self.expr(ty, 4);
                Stmt::Set(self.new_var(ty), e)
            }
            3 => {
                let v = self.below(self.kernel.vars.len());
                let e = self.expr(self.kernel.vars[v].1, 4);
                Stmt::Set(Var(v as u32), e)
            }
            4 | 5 => Stmt::Store(b, self.index(), self.expr(ty, 3)),
            6 => Stmt::Comment(["", "x", " two  blanks ", "# more"][self.below(4)].into()),
            7 => Stmt::Call(Entry::Alloc { buffer: b, len: self.index(), fill: Some(self.value(ty)) }),
            8 => Stmt::Call(match self.below(6) {
                0 => Entry::Alloc { buffer: b, len: self.index(), fill: None },
                1 => Entry::Reserve { buffer: b, len: self.index() },
                2 => Entry::Finish { buffer: b, len: self.index() },
                3 => Entry::Move { to: b, from: BufferId(0) },
                4 => Entry::SortInto { keys: b, into: BufferId(0), at: self.index(), len: self.index() },
                _ => Entry::Sort { keys: b, order: BufferId(0), len: self.index() },
            }),
            9 => Stmt::If(self.expr(Type::Bool, 3), self.stmts(depth - 1), self.stmts(depth - 1)),
            10 => Stmt::While(self.expr(Type::Bool, 3), self.stmts(depth - 1)),
            _ => {
                let (lo, hi, var) = (self.index(), self.index(), self.new_var(Type::I64));
                let how = [How::Serial, How::Vector, How::apart()][self.below(3)].clone();
                Stmt::For { var, lo, hi, how, body: self.stmts(depth - 1) }
            }
        }
    }
}
