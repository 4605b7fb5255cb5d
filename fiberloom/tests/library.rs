//! The library as its users see it: operands borrowed and checked, kernels reused, engines that agree.

use fiberloom::{
    Array, Assembly, Engine, Entries, Error, Format, Level, Mode, Operand, Options, Program, Shape, Tensor, Type,
    Value, operands,
};

const SPMV: &str = "tensor A: f64[I, J] csr tensor x: f64[J] dense tensor y: f64[I] dense\ny[i] = A[i,j] * x[j]";
const ENGINES: [Engine; 3] = [Engine::Llvm, Engine::Loops, Engine::Meaning];

fn f(x: f64) -> Value {
    Value::from_f64(Type::F64, x)
}

/// The matrix  1 . 2 / . . . / . 3 4  with indices of these types.
fn matrix(pos: Type, crd: Type) -> Tensor<'static> {
    let entries = [([0, 0], 1.0), ([0, 2], 2.0), ([2, 1], 3.0), ([2, 2], 4.0)];
    let entries = entries.map(|(at, x)| (at.to_vec(), f(x)));
    Tensor::from_entries(vec![3, 3], Format::named("csr", 2).unwrap(), f(0.0), pos, crd, entries).unwrap()
}

fn vector(values: &[f64]) -> Tensor<'_> {
    Tensor::dense(vec![values.len() as u64], f(0.0), Array::from(values)).unwrap()
}

fn options(engine: Engine) -> Options {
    Options { engine, steps: 1 << 22, ..Options::default() }
}

#[test]
fn a_kernel_runs_on_other_tensors_and_other_index_widths() {
    for engine in ENGINES {
        let kernel = Program::parse(SPMV).unwrap().compile(&options(engine)).unwrap();
        let x = vector(&[1.0, 2.0, 3.0]);
        for (pos, crd) in
            [(Type::I32, Type::I32), (Type::I64, Type::I32), (Type::I32, Type::I64), (Type::I64, Type::I64)]
        {
            let outcome = kernel.run(&[("A", &matrix(pos, crd)), ("x", &x)]).unwrap();
            assert_eq!(outcome["y"].values, vec![7.0, 0.0, 18.0].into(), "{engine:?} {pos} {crd}");
        }
        let empty = Entries::of(2, Type::F64, []).unwrap().assemble(
            &[0, 2],
            &Format::named("csr", 2).unwrap(),
            f(0.0),
            &Assembly::default(),
        );
        let outcome = kernel.run(&[("A", &empty.unwrap()), ("x", &vector(&[1.0, 2.0]))]).unwrap();
        assert_eq!((&outcome["y"].extents[..], outcome["y"].stored()), (&[0][..], 0));
    }
}

#[test]
fn operands_are_checked_before_any_code_sees_them() {
    let x = vector(&[1.0, 2.0, 3.0]);
    for engine in ENGINES {
        let kernel = Program::parse(SPMV).unwrap().compile(&options(engine)).unwrap();
        let refused = |a: Tensor, says: &str| {
            let error = kernel.run(&[("A", &a), ("x", &x)]).map(|_| ()).unwrap_err();
            assert_eq!(error.exit(), 3, "{error}");
            assert!(error.to_string().contains(says), "{error}");
        };
        let good = matrix(Type::I32, Type::I32);
        let level =
            |pos: Vec<i32>, crd: Vec<i32>| vec![Level::Dense, Level::Compressed { pos: pos.into(), crd: crd.into() }];
        let with = |pos: Vec<i32>, crd: Vec<i32>| Tensor { levels: level(pos, crd), ..good.clone() };
        refused(with(vec![0, 2, 2, 4], vec![0, 2, 1, 3]), "level 1, position 3: coordinate 3 is not in 0..3");
        refused(with(vec![0, 2, 2, 9], vec![0, 2, 1, 2]), "pos ends with 9");
        refused(with(vec![0, 2, 2, 4], vec![2, 0, 1, 2]), "stands behind 2");
        refused(Tensor { values: vec![1.0].into(), ..good.clone() }, "1 value");
        refused(Tensor { values: vec![1i64; 4].into(), fill: Value::i64(0), ..good.clone() }, "declared as f64");
        refused(Tensor { fill: f(1.0), ..good.clone() }, "fill value");
        refused(Tensor { extents: vec![3, 4], ..good.clone() }, "extent");
        refused(vector(&[1.0]).into_owned(), "declared with 2");
        let csc = good.clone().convert(&Format::named("csc", 2).unwrap(), &Assembly::default()).unwrap();
        refused(csc, "declared as {dense, compressed}");
        let twice = kernel.run(&[("A", &good), ("A", &good), ("x", &x)]).map(|_| ()).unwrap_err();
        assert_eq!((twice.exit(), twice.to_string().contains("twice")), (2, true));
        let missing = kernel.run(&[("A", &good)]).map(|_| ()).unwrap_err();
        assert!(matches!(&missing, Error::Missing { tensors, .. } if tensors[0].0 == "x" && tensors.len() == 1));
        let said = missing.to_string();
        assert!(missing.exit() == 2 && said.contains("(\"x\", &tensor)") && !said.contains("--"), "{said}");
    }
}

#[test]
fn nothing_is_copied_on_the_way_in() {
    let values = [1.0, 2.0, 3.0];
    let x = vector(&values);
    assert_eq!(x.values.as_ptr(), values.as_ptr().cast());
    let again = x.borrow().convert(&Format::dense(1), &Assembly::default()).unwrap();
    assert_eq!(again.values.as_ptr(), values.as_ptr().cast());
}

#[test]
fn results_share_what_they_have_in_common_with_operands() {
    let program = "tensor A: f64[I, J] csr tensor B: f64[I, J] csr tensor C: f64[I, J] csr
        B[i,j] = 2 * A[i,j]  C[i,j] = A[i,j]";
    let mut a = matrix(Type::I64, Type::I32);
    let places = |t: &Tensor| t.levels.iter().flat_map(Level::arrays).map(Array::as_ptr).collect::<Vec<_>>();
    for engine in [Engine::Llvm, Engine::Loops] {
        let kernel = Program::parse(program).unwrap().compile(&options(engine)).unwrap();
        let made = kernel.run(&[("A", &a)]).unwrap();
        assert_eq!(places(&made["B"]), places(&a), "{engine:?}");
        assert_eq!((places(&made["C"]), made["C"].values.as_ptr()), (places(&a), a.values.as_ptr()), "{engine:?}");
        assert_eq!((&made["B"].values, &made["C"]), (&vec![2.0, 4.0, 6.0, 8.0].into(), &a));

        // Whoever writes to what others hold has it for himself.
        a.values.set(0, f(7.0));
        assert_eq!(made["C"].values, vec![1.0, 2.0, 3.0, 4.0].into());
        a.values.set(0, f(1.0));

        // What is borrowed may end before the result does.
        let borrowed = kernel.run(&[("A", &a.borrow())]).unwrap();
        assert!(places(&borrowed["B"]).iter().all(|place| !places(&a).contains(place)));
        assert_eq!(borrowed["C"], a);
    }
}

#[test]
fn limits_stop_a_call() {
    let kernel =
        Program::parse("tensor a: f64[N] dense tensor r: f64[N, N, N] dense\nr[i,j,k] = a[i] * a[j] * a[k]").unwrap();
    let a = [1.0; 1000];
    for engine in ENGINES {
        let options = Options { memory: 1 << 20, ..options(engine) };
        let error = kernel.compile(&options).unwrap().run(&[("a", &vector(&a))]).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Stopped(_)), "{engine:?}: {error}");
    }
}

#[test]
fn a_wrong_answer_is_noticed() {
    let kernel = Program::parse(SPMV).unwrap().compile(&Options::default()).unwrap();
    let (a, x) = (matrix(Type::I32, Type::I32), vector(&[1.0, 2.0, 3.0]));
    let mut call = kernel.bind(&[("A", &a), ("x", &x)]).unwrap();
    let mut outcome = call.run().unwrap();
    call.agrees(&outcome).unwrap();
    outcome.results[0].1.values.set(1, f(1e-3));
    let error = call.agrees(&outcome).unwrap_err();
    assert_eq!(error.exit(), 1);
    assert!(error.to_string().contains("`y`: at [1] it is 0.001, and the meaning is 0.0"), "{error}");
}

/// Programs of the lowered language over matrices A, B, vectors x, z.
const STATEMENTS: [&str; 12] = [
    "R[i,j] = A[i,j] + B[i,j]",
    "R[i,j] = A[i,j] * B[i,j]",
    "R[i,j] = A[i,j] - B[j,i]",
    "R[i,j] = A[i,k] * B[k,j]",
    "R[i,j] = A[k,i] * B[j,k] + A[i,j]",
    "R[i,j] = A[i,j] * x[j] * z[i]",
    "R[i,j] = A[i,j] * sum(k: B[i,k] * x[k])",
    "R[i,j] = x[i] * z[j]",
    "R[i,j] = A[i,i] * B[i,j]",
    "R[i,j] = -A[i,j] * 2.0 + B[i,j] * B[i,j]",
    "R[i,j] = A[i,j] + x[j]",
    "R[i,j] = (A[i,j] + B[i,j]) * (x[i] + z[j])",
];

#[test]
fn engines_agree_in_every_format() {
    let n = 5u64;
    let entries = |seed: u64, rank: usize| {
        let mut state = seed;
        let mut next = move |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        let all: std::collections::BTreeMap<Vec<i64>, Value> =
            (0..7).map(|_| ((0..rank).map(|_| next(n) as i64).collect(), f(1.0 + next(7) as f64))).collect();
        Entries::of(rank, Type::F64, all).unwrap()
    };
    for (seed, statement) in STATEMENTS.iter().enumerate() {
        for (a, b, r) in [
            ("csr", "csr", "csr"),
            ("csr", "csc", "dcsr"),
            ("dcsr", "dense", "csc"),
            ("dcsc", "dcsr", "dcsc"),
            ("dense", "csr", "dense"),
            ("csc", "csc", "csr"),
        ] {
            let text = format!(
                "tensor A: f64[N, N] {a} tensor B: f64[N, N] {b} tensor R: f64[N, N] {r}\n\
                 tensor x: f64[N] sparse tensor z: f64[N] dense\n{statement}"
            );
            let program = Program::parse(&text).unwrap_or_else(|e| panic!("{e}"));
            let operands: Vec<(&str, Tensor)> = [("A", a, 2), ("B", b, 2), ("x", "sparse", 1), ("z", "dense", 1)]
                .into_iter()
                .filter(|(name, ..)| statement.contains(&format!("{name}[")))
                .map(|(name, format, rank)| {
                    let entries = entries(10 * seed as u64 + name.as_bytes()[0] as u64, rank);
                    let format = Format::named(format, rank).unwrap();
                    (name, entries.assemble(&vec![n; rank], &format, f(0.0), &Assembly::default()).unwrap())
                })
                .collect();
            let operands: Vec<(&str, &Tensor)> = operands.iter().map(|(name, t)| (*name, t)).collect();
            for engine in [Engine::Llvm, Engine::Loops] {
                let kernel = program.compile(&options(engine)).unwrap_or_else(|e| panic!("{text}: {e}"));
                let mut call = kernel.bind(&operands).unwrap_or_else(|e| panic!("{text}: {e}"));
                let outcome = call.run().unwrap_or_else(|e| panic!("{engine:?} {text}: {e}"));
                call.agrees(&outcome).unwrap_or_else(|e| panic!("{engine:?} {text}: {e}"));
            }
        }
    }
}

#[test]
fn programs_and_modes_have_their_own_code() {
    let x = vector(&[1.0, 2.0]);
    for (text, expected) in [("r[i] = x[i] + 1.0", 2.0), ("r[i] = x[i] + 2.0", 3.0)] {
        let text = format!("tensor x: f64[N] dense\n{text}");
        for mode in [Mode::Algebraic, Mode::Strict] {
            let program = Program::parse(&text).unwrap();
            match program.compile(&Options { mode, ..Options::default() }) {
                Ok(kernel) => assert_eq!(kernel.run(&[("x", &x)]).unwrap()["r"].values.get(0), f(expected)),
                Err(refused) => assert_eq!(refused.exit(), 2),
            }
        }
    }
}

#[test]
fn tensors_are_checked_once_and_mixed_with_others() {
    for engine in ENGINES {
        let kernel = Program::parse(SPMV).unwrap().compile(&options(engine)).unwrap();
        let (a, x) = (matrix(Type::I32, Type::I64), vector(&[1.0, 2.0, 3.0]));
        let y = kernel.run(&[("A", &a), ("x", &x)]).unwrap().results;
        let checked = a.clone().checked().unwrap();
        let mixed = [("A", Operand::from(&checked)), ("x", Operand::from(&x))];
        assert_eq!(kernel.run(&mixed).unwrap().results, y);
        // What is not said by the invariants is looked at in any case.
        let short = vector(&[1.0, 2.0]).checked().unwrap();
        assert_eq!(kernel.run(&[("A", &checked), ("x", &short)]).map(|_| ()).unwrap_err().exit(), 3);
        let csc = a.convert(&Format::named("csc", 2).unwrap(), &Assembly::default()).unwrap().checked().unwrap();
        let x = x.checked().unwrap();
        assert_eq!(kernel.run(&[("A", &csc), ("x", &x)]).map(|_| ()).unwrap_err().exit(), 3);
        // Other shapes in between change nothing.
        let (wide, one) =
            (matrix(Type::I64, Type::I32).checked().unwrap(), vector(&[1.0, 2.0, 3.0]).checked().unwrap());
        assert_eq!(kernel.run(&[("A", &wide), ("x", &one)]).unwrap().results, y);
        assert_eq!(kernel.run(&[("A", &checked), ("x", &x)]).unwrap().results, y);
    }
    let torn = Tensor { values: vec![1.0].into(), ..matrix(Type::I32, Type::I32) };
    assert_eq!(torn.checked().unwrap_err().what, "1 value for 4 positions of the last level");
}

/// Slices, arrays, scalars and tensors of both kinds in one call; none of them is copied on the way in.
#[test]
fn operands_of_every_kind_stand_side_by_side() {
    let text = "tensor A: f64[I, J] csr tensor x: f64[J] dense tensor z: f64[I] dense tensor a: f64[] dense
        tensor y: f64[I] dense y[i] = a[] * A[i,j] * x[j] + z[i]";
    let (x, z) = (vec![1.0, 2.0, 3.0], [0.5; 3]);
    for engine in ENGINES {
        let kernel = Program::parse(text).unwrap().compile(&options(engine)).unwrap();
        let (a, checked) = (matrix(Type::I32, Type::I32), matrix(Type::I64, Type::I32).checked().unwrap());
        let expected = [14.5, 0.5, 36.5];
        let made = [
            kernel.run(&operands! { A: &a, x: &x, z: &z, a: 2.0 }),
            kernel.run(&operands! { A: &checked, x: &x[..], z: Array::from(&z), a: Value::from(2.0) }),
            kernel
                .run(&operands! { A: a.clone(), x: vector(&x), z: &vector(&z), a: &Tensor::scalar(Value::from(2.0)) }),
            kernel.run(&operands! { A: checked.clone(), x: &x, z: vector(&z).checked().unwrap(), a: 2.0 }),
        ];
        for outcome in made {
            assert_eq!(outcome.unwrap().dense::<f64>("y").unwrap(), expected, "{engine:?}");
        }
        let mut call = kernel.bind(&operands! { A: a, x: &x, z: &z, a: 2.0 }).unwrap();
        for _ in 0..2 {
            assert_eq!(call.run().unwrap().dense::<f64>("y").unwrap(), expected, "{engine:?}");
        }
        let short = kernel.run(&operands! { A: &checked, x: &x[..2], z: &z, a: 2.0 }).unwrap_err();
        assert_eq!(short.exit(), 3);
        let scalar = kernel.run(&operands! { A: &checked, x: 1.0, z: &z, a: 2.0 }).unwrap_err().to_string();
        assert_eq!(scalar, "tensor `x`: 0 modes, declared with 1");
    }
}

#[test]
fn results_are_read_as_what_they_are() {
    let text = "tensor A: i64[I, J] csr  tensor n: i64[] dense  tensor d: i64[I, J] dense  tensor c: i64[I, J] {dense, dense} order(1, 0)
        n[] = A[i,j]  d[i,j] = A[i,j]  c[i,j] = A[i,j]  B[i,j] = A[i,j]";
    let a = Tensor::csr(2, 2, &[0i32, 1, 2], &[1i32, 0], &[3i64, 4]).unwrap();
    let outcome = Program::parse(text).unwrap().compile(&Options::default()).unwrap().run(&[("A", &a)]).unwrap();
    assert_eq!((outcome.scalar::<i64>("n").unwrap(), outcome.dense("d").unwrap()), (7i64, &[0i64, 3, 4, 0][..]));
    let says = |error: Error| error.to_string();
    assert_eq!(says(outcome.scalar::<f64>("n").unwrap_err()), "the result `n` is of type i64, asked for as f64");
    assert_eq!(says(outcome.scalar::<i64>("d").unwrap_err()), "the result `d` has 2 modes, and is no scalar");
    assert!(says(outcome.dense::<i64>("B").unwrap_err()).contains("is stored as {"));
    assert!(says(outcome.dense::<i64>("c").unwrap_err()).contains("order(1, 0)"));
    assert_eq!(says(outcome.dense::<i64>("x").unwrap_err()), "there is no result `x`");
}

/// After `warm` a first call compiles nothing: it takes a small part of the time that making the code took.
#[test]
fn warm_kernels_have_their_code() {
    let text = "tensor warm: f64[I, J] csr tensor x: f64[J] dense tensor y: f64[I] dense\ny[i] = warm[i,j] * x[j]";
    let kernel = Program::parse(text).unwrap().compile(&Options::default()).unwrap();
    let (a, x) = (matrix(Type::I32, Type::I32), vector(&[1.0, 2.0, 3.0]));
    let shapes = [("warm", Shape::from([3, 3])), ("x", Shape::from([3]))];
    assert_eq!(shapes, [("warm", Shape::from(&a)), ("x", Shape::from(&x))]);
    let timed = |work: &dyn Fn()| {
        let begin = std::time::Instant::now();
        work();
        begin.elapsed()
    };
    let made = timed(&|| kernel.warm(&shapes).unwrap());
    let again = (0..5).map(|_| timed(&|| kernel.warm(&shapes).unwrap())).min().unwrap();
    let call = (0..5).map(|_| timed(&|| drop(kernel.run(&[("warm", &a), ("x", &x)]).unwrap()))).min().unwrap();
    assert!(again < made / 4 && call < made / 4, "{made:?} to make, {again:?} to find, {call:?} to call");
    // Far coordinates have 64 bits, a dense vector has no indices.
    let far = 1u64 << 40;
    let wide = Tensor::csr(3, far, &[0i32, 0, 0, 1], &[1i64 << 39], &[1.0]).unwrap();
    kernel.warm(&[("warm", [3, far].into()), ("x", [far].into())]).unwrap();
    kernel.warm(&[("warm", (&wide).into()), ("x", [far].into())]).unwrap();
    for (shapes, status) in [
        (vec![("warm", Shape::from([3, 3]))], 2),
        (vec![("warm", Shape::from([3, 3])), ("x", Shape::from([4]))], 3),
        (vec![("warm", Shape::from([3, 3])), ("x", Shape::from([3, 3]))], 3),
        (vec![("warm", Shape::from([3, 3])), ("z", Shape::from([3]))], 2),
    ] {
        assert_eq!(kernel.warm(&shapes).unwrap_err().exit(), status, "{shapes:?}");
    }
}

/// What is wrong has what it comes from as its source.
#[test]
fn errors_have_sources() {
    let error: Box<dyn std::error::Error> = {
        let kernel = Program::parse(SPMV).unwrap().compile(&Options::default()).unwrap();
        let torn = Tensor { values: vec![1.0].into(), ..matrix(Type::I32, Type::I32) };
        Box::new(kernel.run(&[("A", &torn), ("x", &vector(&[1.0, 2.0, 3.0]))]).unwrap_err())
    };
    let source = error.source().expect("what is malformed");
    assert_eq!(error.to_string(), format!("tensor `A`: {source}"));
    let entries = Entries::of(1, Type::F64, [(vec![5], f(1.0))]).unwrap();
    let outside = entries.assemble(&[3], &Format::dense(1), f(0.0), &Assembly::default()).unwrap_err();
    assert!(std::error::Error::source(&outside).is_some(), "{outside}");
}

/// Few entries at coordinates that 32 bits do not hold: kernels are compiled for 32-bit results first, stop, and are
/// compiled again.
/// What an `iterate` set takes away has no entry in the result, though its operands have one there.
#[test]
fn what_a_set_omits_is_not_stored() {
    let program = "tensor a: f64[N] sparse  tensor b: f64[N] sparse  tensor r: f64[N] sparse  tensor s: f64[N] sparse
        fn one(x: f64, y: f64) -> f64 { if (x == 0.0) | (y == 0.0) then x + y else 0.0 } where iterate((x | y) & !(x & y))
        fn all_of(x: f64, y: f64) -> f64 { if (x == 0.0) | (y == 0.0) then x + y else 0.0 } where iterate(x | y)
        r[i] = one(a[i], b[i])  s[i] = all_of(a[i], b[i])";
    let list = |entries: &[(i64, f64)]| {
        let entries = entries.iter().map(|(at, x)| (vec![*at], f(*x)));
        let sparse = Format::named("sparse", 1).unwrap();
        Tensor::from_entries(vec![4], sparse, f(0.0), Type::I32, Type::I32, entries).unwrap()
    };
    // Of what is no number a set says nothing.
    let (a, b) = (list(&[(0, 1.0), (1, 2.0), (3, 4.0)]), list(&[(1, 3.0), (2, 5.0), (3, f64::NAN)]));
    for engine in [Engine::Loops, Engine::Llvm] {
        let kernel = Program::parse(program).unwrap().compile(&options(engine)).unwrap();
        let outcome = kernel.run(&[("a", &a), ("b", &b)]).unwrap();
        assert_eq!((outcome["r"].stored(), outcome["s"].stored()), (3, 4), "{engine:?}");
    }
}

/// scipy 12340: a product that needs indices of more than 32 bits had some that wrapped. Here a result whose indices do not fit is made
/// again with wider ones.
#[test]
fn results_that_outgrow_32_bits_are_made_with_64() {
    let far = 1i64 << 33;
    let of = |pos, crd, entries: &[(i64, i64, f64)], columns: i64| {
        let entries = entries.iter().map(|(i, j, x)| (vec![*i, *j], f(*x)));
        let csr = Format::named("csr", 2).unwrap();
        Tensor::from_entries(vec![2, columns as u64], csr, f(0.0), pos, crd, entries).unwrap()
    };
    let index = |t: &Tensor| t.levels[1].index_types();
    let wide = (Some(Type::I64), Some(Type::I64));
    for engine in [Engine::Llvm, Engine::Loops] {
        let kernel = |text: &str| {
            let declared = "tensor A: f64[I, J] csr tensor B: f64[I, J] csr tensor R: f64[I, J] csr\n";
            Program::parse(&format!("{declared}{text}")).unwrap().compile(&options(engine)).unwrap()
        };
        let sum = kernel("R[i,j] = A[i,j] + B[i,j]");
        let product = kernel("R[i,j] = A[i,j] * B[i,j]");
        let a = of(Type::I32, Type::I64, &[(0, 3, 1.0), (0, far - 1, 2.0), (1, far - 2, 4.0)], far);
        for (pos, crd) in [(Type::I32, Type::I64), (Type::I64, Type::I64)] {
            let b = of(pos, crd, &[(0, far - 1, 8.0), (1, 0, 16.0)], far);
            let operands = [("A", &a), ("B", &b)];
            let (plus, times) = (sum.run(&operands).unwrap(), product.run(&operands).unwrap());
            assert_eq!((index(&plus["R"]), index(&times["R"])), (wide, wide), "{engine:?}");
            let added = [(0, 3, 1.0), (0, far - 1, 10.0), (1, 0, 16.0), (1, far - 2, 4.0)];
            assert_eq!(plus["R"], of(Type::I64, Type::I64, &added, far), "{engine:?}");
            assert_eq!(times["R"], of(Type::I64, Type::I64, &[(0, far - 1, 16.0)], far), "{engine:?}");
        }
        // Coordinates of 32 bits in an extent that needs 64.
        let near = of(Type::I64, Type::I32, &[(1, i32::MAX as i64, 5.0)], far);
        let plus = sum.run(&[("A", &a), ("B", &near)]).unwrap();
        let added = [(0, 3, 1.0), (0, far - 1, 2.0), (1, i32::MAX as i64, 5.0), (1, far - 2, 4.0)];
        assert_eq!(plus["R"], of(Type::I64, Type::I64, &added, far), "{engine:?}");
        // The last extent that does with 32 bits, and the first that does not; in one kernel, after a wide result.
        for (columns, crd) in [(1 << 31, Type::I32), ((1 << 31) + 1, Type::I64)] {
            let last = of(Type::I32, Type::I64, &[(0, columns - 1, 3.0)], columns);
            let plus = sum.run(&[("A", &last), ("B", &last)]).unwrap();
            assert_eq!(plus["R"], of(crd, crd, &[(0, columns - 1, 6.0)], columns), "{engine:?}");
        }
        // The same call again.
        let mut call = sum.bind(&[("A", &a), ("B", &near)]).unwrap();
        assert_eq!(call.run().unwrap()["R"], call.run().unwrap()["R"]);
    }
}

/// pydata/sparse 948, 495: coordinates in few bits were the type of positions too, and wrapped where extents are small
/// and entries are many. Here indices have 32 bits at least, and narrower ones are refused.
#[test]
fn entries_are_more_than_a_narrow_index_holds() {
    let n = 260i64;
    let entries = || (0..n * n).map(|e| (vec![e / n, e % n], Value::i64(e + 1)));
    let declared = "tensor y: i64[I] {hashed}\ny[i] = A[i,j]\nR[j,i] = A[i,j]";
    for format in ["csr", "coo", "{hashed, hashed}", "{compressed, bytemap}"] {
        let text = format!("tensor A: i64[I, J] {format}\ntensor R: i64[J, I] {format}\n{declared}");
        let program = Program::parse(&text).unwrap();
        let levels = program.format(program.tensor("A").unwrap().0);
        let extents = [n as u64; 2];
        let all = Entries::of(2, Type::I64, entries()).unwrap();
        let with = |crd| all.assemble(&extents, levels, Value::i64(0), &Assembly { crd, ..Assembly::default() });
        assert!(with(Some(Type::I16)).is_err(), "{format}");
        let a = with(None).unwrap();
        for engine in [Engine::Llvm, Engine::Loops] {
            let outcome = program.compile(&options(engine)).unwrap().run(&[("A", &a)]).unwrap();
            let sums = (0..n).map(|i| (vec![i], Value::i64(i * n * n + n * (n + 1) / 2)));
            assert!(outcome["y"].entries().eq(sums), "{engine:?} {format}");
            let turned = (0..n * n).map(|e| (vec![e / n, e % n], Value::i64(e % n * n + e / n + 1)));
            assert!(outcome["R"].entries().eq(turned), "{engine:?} {format}");
        }
    }
}

/// The fill value of an undeclared result is computed when extents are known: a kernel that was compiled is not taken for others.
#[test]
fn undeclared_fills_depend_on_extents() {
    let text = "tensor b: i64[I, J] fill 2 csr  y[i] = b[i,j]  z[] = y[i]";
    let program = Program::parse(text).unwrap();
    for engine in [Engine::Meaning, Engine::Loops, Engine::Llvm] {
        let kernel = program.compile(&Options { engine, ..Options::default() }).unwrap();
        for (extents, fills) in [([2, 3], [6, 12]), ([2, 5], [10, 20]), ([4, 0], [0, 0])] {
            let one = Entries { coordinates: vec![vec![], vec![]], values: Array::I64(vec![].into()) };
            let how = Assembly::default();
            let b =
                one.assemble(&extents, program.format(program.tensor("b").unwrap().0), Value::i64(2), &how).unwrap();
            let outcome = kernel.run(&[("b", &b)]).unwrap();
            let got = ["y", "z"].map(|name| outcome[name].fill);
            assert_eq!(got, fills.map(Value::i64), "{engine:?} {extents:?}");
        }
    }
}

/// The first level of an undeclared result is compressed where it has over 16 coordinates an entry that is read, of every engine
/// alike, and dense again with the next operands.
#[test]
fn thin_results_are_lists() {
    let program = Program::parse("tensor A: f64[I, J] csr  s[j] = A[i,j]  t[j] = 2.0 * s[j]").unwrap();
    for engine in [Engine::Meaning, Engine::Loops, Engine::Llvm] {
        let kernel = program.compile(&Options { engine, ..Options::default() }).unwrap();
        for (columns, level) in [(32, "{dense}"), (33, "{compressed}"), (1 << 40, "{compressed}"), (9, "{dense}")] {
            let (pos, crd) = (Array::from(vec![0i64, 1, 2]), Array::from(vec![3i64, 3]));
            let a = Tensor::csr(2, columns, pos, crd, Array::from(vec![1.5, 2.0])).unwrap();
            let made = kernel.run(&[("A", &a)]).unwrap();
            for (name, value) in [("s", 3.5), ("t", 7.0)] {
                assert_eq!(made[name].format.to_string(), level, "{engine:?}, {columns} columns");
                let stored = made[name].entries().filter(|(_, v)| *v != Value::from(0.0));
                assert_eq!(
                    stored.collect::<Vec<_>>(),
                    [(vec![3], Value::from(value))],
                    "{engine:?}, {columns} columns"
                );
            }
        }
    }
}
