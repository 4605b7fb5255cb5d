//! Programs built in Rust against the text that a person would write.

use fiberloom::builder::*;

fn text(p: Builder) -> String {
    p.finish().expect("a program").text
}

/// What `build` defines, as text.
fn rhs(build: impl FnOnce() -> Expr) -> String {
    let mut p = Builder::new();
    p.set(tensor("r").at(()), build());
    text(p).trim_start_matches("r[] = ").trim_end().to_string()
}

#[test]
fn declarations() {
    let mut p = Builder::new();
    p.dim("I", 4);
    p.tensor("A", Type::F64, ["I", "J"], levels(["dense", "compressed"]).order([1, 0]));
    p.tensor_filled("W", Type::F64, [3, 4], f64::INFINITY, "csr");
    p.tensor_filled("b", Type::Bool, SCALAR, true, "dense");
    let expected = "dim I = 4\ntensor A: f64[I, J] {dense, compressed} order(1, 0)\n\
                    tensor W: f64[3, 4] fill inf csr\ntensor b: bool[] fill true dense\n";
    assert_eq!(text(p), expected);
}

#[test]
fn operators() {
    let (a, b, i) = (tensor("a"), tensor("b"), var("i"));
    let (a, b) = (|| a.at([i]), || b.at([i]));
    assert_eq!(rhs(|| 2 * a() + b() * 2.5 - 1), "2 * a[i] + b[i] * 2.5 - 1");
    assert_eq!(rhs(|| 2.0 * (a() - (b() - 1)) / -b()), "2.0 * (a[i] - (b[i] - 1)) / -b[i]");
    assert_eq!(rhs(|| a() & b() | !a() ^ b() << 1), "a[i] & b[i] | !a[i] ^ b[i] << 1");
    assert_eq!(rhs(|| a().lt(b()).and(b().ne(0)).or(true)), "a[i] < b[i] && b[i] != 0 || true");
    assert_eq!(rhs(|| -literal(5) + literal(-5)), "-(5) + -5");
    assert_eq!(rhs(|| conditional(a().ge(i.value()), literal(f64::NAN), -1)), "if a[i] >= i then nan else -1");
    assert_eq!(rhs(|| max(convert(a(), Type::U8), pow(b(), 2))), "max(convert(a[i], u8), pow(b[i], 2))");
    assert_eq!(
        rhs(|| hypot(atan2(a(), b()), log1p(a())) * sign(b())),
        "hypot(atan2(a[i], b[i]), log1p(a[i])) * sign(b[i])"
    );
    assert_eq!(rhs(|| floordiv(a(), 2) + floormod(a(), b())), "floordiv(a[i], 2) + floormod(a[i], b[i])");
}

#[test]
fn indices() {
    let (t, p, i, k) = (tensor("T"), tensor("P"), var("i"), var("k"));
    assert_eq!(rhs(|| t.at((i + 1, 2 * k - i, 0u64)).into()), "T[i+1,2*k-i,0]");
    assert_eq!(rhs(|| t.at([(i + k) * 2, (i - (k + 1)) / 3 % 2]).into()), "T[2*(i+k),(i-(k+1))/3%2]");
    assert_eq!(rhs(|| t.at([2 * (3 * i), 2 * (i / 3)]).into()), "T[2*(3*i),2*(i/3)]");
    assert_eq!(rhs(|| coalesce(t.at([permit(i + k - 5)]), 0)), "coalesce(T[~i+k-5], 0)");
    assert_eq!(rhs(|| t.at((p.at([i]), i.slice(..4), k.slice_by(1.., 2))).into()), "T[P[i],i(:4),k(1::2)]");
}

#[test]
fn reductions_and_shape_operators() {
    let (a, b) = (tensor("A"), tensor("B"));
    let (i, j, k, l) = (var("i"), var("j"), var("k"), var("l"));
    assert_eq!(rhs(|| sum([i, j], a.at([i, j]))), "sum(i, j: A[i,j])");
    assert_eq!(rhs(|| count([i, j], isnan(a.at([i, j])))), "count(i, j: isnan(A[i,j]))");
    assert_eq!(rhs(|| reduce_from("f", [i], a.at([i]), 1)), "f(i: A[i] start 1)");
    assert_eq!(rhs(|| collapse(a.at([i, j]), [i, j], k)), "collapse(A[i,j], (i, j) -> k)");
    assert_eq!(rhs(|| split(a.at([k]), k, [i, j])), "split(A[k], k -> (i, j))");
    let parts = || [(a.at([i]).into(), i), (b.at([k]).into(), k)];
    assert_eq!(rhs(|| concat(parts(), l)), "concat((A[i], B[k]), (i, k) -> l)");
    assert_eq!(rhs(|| slice(a.at([i]), i, k, 1..5)), "slice(A[i], i -> k, 1:5)");
    assert_eq!(rhs(|| slice_by(a.at([i]), i, k, 1..5, 2)), "slice(A[i], i -> k, 1:5:2)");
    let n = size("I");
    assert_eq!(rhs(|| slice_between(a.at([i]), i, k, 1, n - 1)), "slice(A[i], i -> k, 1:I-1)");
    assert_eq!(
        rhs(|| a.at([i.between_by(n - 4, n, 2)]) * convert(n.value(), Type::F64)),
        "A[i(I-4:I:2)] * convert(I, f64)"
    );
}

#[test]
fn statements_and_schedules() {
    let (a, y, i, o, n) = (tensor("A"), tensor("y"), var("i"), var("o"), var("n"));
    let mut p = Builder::new();
    p.fold(y.at([i]), "min", a.at([i]));
    p.add(y.at([i + 1]), a.at([i])).schedule(
        Schedule::new()
            .pos(i, n, a)
            .coord(n, i)
            .collapse([i, o], n)
            .split(i, [o, n], 4)
            .split_up(i, [o, n], 4)
            .reorder([o, n])
            .precompute(a.at([i]) * 2, [i], [n], y)
            .bound(i, 8)
            .unroll(i, 2)
            .parallelize(i, Unit::CpuThread, Race::Atomics)
            .protocol(a.at([i]), Protocol::Gallop),
    );
    let expected = "y[i] min= A[i]\ny[i+1] += A[i] schedule { pos(i -> n, A); coord(n -> i); collapse(i, o -> n); \
                    split(i -> o, n, 4); split_up(i -> o, n, 4); reorder(o, n); precompute(A[i] * 2, i -> n, y); \
                    bound(i, 8); unroll(i, 2); parallelize(i, cpu_thread, atomics); protocol(A[i], gallop); }\n";
    assert_eq!(text(p), expected);
}

#[test]
fn functions() {
    let mut p = Builder::new();
    p.function("f", [("x", Type::I64), ("y", Type::I64)], Type::I64, |f| {
        let a = f.define("a", param("x"));
        f.branch(a.clone().gt(0), |f| f.assign("a", 0), |f| f.assign("a", 1));
        f.when(a.clone().eq(7), |f| f.repeat(a.clone().lt(9), |f| f.assign("a", local("a") + 1)));
        a
    })
    .associative()
    .idempotent()
    .identity(0)
    .identity_at(1, 1)
    .annihilator(-1)
    .annihilator_at(2, 0)
    .iterate(!(Set::of("x") & all()) | Set::of("y"))
    .case([exactly(0), anything("z")], local("z") + 1);
    let expected = "fn f(x: i64, y: i64) -> i64 {\n  let a = x;\n  if a > 0 {\n    a = 0;\n  } else {\n    a = 1;\n  }\n  \
                    if a == 7 {\n    while a < 9 {\n      a = a + 1;\n    }\n  }\n  a\n} where associative, idempotent, \
                    identity(0), identity(1, 1), annihilator(-1), annihilator(2, 0), iterate(!(x & all) | y), \
                    case(0, z) = z + 1\n";
    assert_eq!(text(p), expected);
}

/// A `where` block is of the program: it sees what is declared, what it declares is seen, and what it does wrong is kept.
#[test]
fn locals() {
    let program = |block: &dyn Fn(&mut Builder, [Tensor; 2])| {
        let mut p = Builder::new();
        let parts = ["A", "B"].map(|name| p.tensor(name, Type::F64, [2, 3], "csr"));
        p.set(tensor("y").at([var("i"), var("j")]), tensor("t").at([var("i"), var("j")])).locals(|w| block(w, parts));
        p.finish().map(|built| built.text)
    };
    let (i, j) = (var("i"), var("j"));
    let stacked = program(&|w, parts| {
        let both = w.at(hstack(parts), [i, j]);
        w.set(tensor("t").at([i, j]), both);
    });
    let block = "where {\n  t[i,j] = concat((A[i,axis_1], B[i,axis_2]), (axis_1, axis_2) -> j)\n}";
    assert!(stacked.unwrap().contains(block));
    let made = program(&|w, [a, _]| {
        w.make("t", transpose(a), "csc");
    });
    let expected = "tensor t: f64[3, 2] csc\ny[i,j] = t[i,j] where {\n  t[axis_1,axis_2] = A[axis_2,axis_1]\n}\n";
    let made = made.unwrap();
    assert!(made.ends_with(expected), "{made}");
    assert!(fiberloom::Program::parse(&made).is_ok());
    let wrong = program(&|w, [a, _]| {
        w.set(tensor("t").at([i, j]), 1).locals(|w| {
            w.make("u", permute_dims(a, [0, 0]), "csr");
        });
    });
    assert_eq!(wrong.unwrap_err()[0].message, "[0, 0] is no order of 2 modes");
}

/// Names that are none and trees that are too deep are refused, and nothing overflows.
#[test]
fn refusals() {
    let mut p = Builder::new();
    p.dim("fill", 1);
    assert!(p.finish().unwrap_err()[0].message.contains("where a name was expected"));
    let mut p = Builder::new();
    let deep = (0..100_000).fold(literal(1), |e, _| e + 1);
    p.set(tensor("y").at(()), deep);
    assert!(p.finish().unwrap_err()[0].message.contains("nests more than"));
}

/// What is built is shown at any stage; what is wrong is drawn in the text of what was built.
#[test]
fn programs_are_shown() {
    let build = |x: &'static str| {
        let mut p = Builder::new();
        let x = p.tensor(x, Type::F64, ["N"], "dense");
        p.set(tensor("y").at([var("i")]), 2.0 * x.at([var("i")]) + tensor("x").at([var("i")]));
        p
    };
    let program = build("x").program().unwrap();
    assert_eq!(program.canonical(), build("x").finish().unwrap().to_string());
    assert!(program.lowered(fiberloom::Mode::Algebraic).unwrap().kernel.to_string().contains("for i in 0..n_N"));
    let reserved = build("fill").program().unwrap_err().to_string();
    assert!(reserved.contains("program:1:8: error:") && reserved.contains("tensor fill: f64[N] dense"), "{reserved}");
    let undeclared = build("y").program().unwrap_err();
    assert_eq!(undeclared.exit(), 2, "{undeclared}");
    let none = build("é").program().unwrap_err().to_string();
    assert!(none.contains("`é` is no name"), "{none}");
}

/// What is no name is none anywhere, whatever it would read as.
#[test]
fn names_that_are_none() {
    for name in ["i+1", "i + 1", "i] * q[i", "", "1x", "q # ", "i\n", "é", "a`b"] {
        let programs: [&dyn Fn(&mut Builder); 4] = [
            &|p| _ = p.set(tensor("y").at([var("i")]), tensor("a").at([var(name)])),
            &|p| _ = p.tensor(name, Type::F64, [5], "dense"),
            &|p| _ = p.tensor("a", Type::F64, [name], "dense"),
            &|p| _ = p.set(tensor("y").at(()), call(name, [literal(1)])),
        ];
        for build in programs {
            let mut p = Builder::new();
            build(&mut p);
            let wrong = p.finish().expect_err(name);
            assert!(wrong[0].message.ends_with("` is no name"), "{name}: {}", wrong[0].message);
        }
    }
}

/// The builder's names are none of the user's, wherever those stand.
#[test]
fn names_of_their_own() {
    let mut p = Builder::new();
    let a = p.tensor("axis_1", Type::F64, ["I", "J"], "csr");
    p.tensor("b", Type::F64, ["v_0"], "dense");
    p.make("v", flatten(a), "sparse");
    let text = text(p);
    let expected =
        "tensor v: f64[v_0_] sparse\nv[axis_1_] = collapse(axis_1[axis_2,axis_3], (axis_2, axis_3) -> axis_1_)\n";
    assert!(text.ends_with(expected), "{text}");
}

/// The extents and the elements of an array of A, rows 1 2 3 and 4 5 6, and B, rows 7 8 9 and 10 11 12.
fn made(array: impl Fn(Tensor, Tensor) -> Array) -> (Vec<u64>, Vec<f64>) {
    let mut p = Builder::new();
    let names = ["A", "B"].map(|name| p.tensor(name, Type::F64, [2, 3], "dense"));
    let array = array(names[0], names[1]);
    p.make("C", array, "dense");
    let text = p.finish().map(|built| built.text).unwrap_or_else(|e| panic!("{e:?}"));
    let program = fiberloom::Program::parse(&text).and_then(|p| p.compile(&fiberloom::Options::default()));
    let program = program.unwrap_or_else(|e| panic!("{text}{e}"));
    let operand = |first: i32| {
        let values: Vec<f64> = (first..first + 6).map(f64::from).collect();
        fiberloom::Tensor::dense(vec![2, 3], fiberloom::Value::zero(Type::F64), fiberloom::Array::from(values)).unwrap()
    };
    let operands = [("A", operand(1)), ("B", operand(7))];
    let outcome = program.run(&operands.each_ref().map(|(name, t)| (*name, t))).unwrap_or_else(|e| panic!("{text}{e}"));
    let fiberloom::Array::F64(values) = &outcome["C"].values else { panic!("{text}") };
    (outcome["C"].extents.clone(), values.to_vec())
}

/// Against what NumPy's functions of these names are defined to give.
#[test]
fn arrays_are_numpys() {
    let up = |to: i32| (1..=to).map(f64::from).collect::<Vec<f64>>();
    assert_eq!(made(|a, _| reshape(a, [3, 2])), (vec![3, 2], up(6)));
    assert_eq!(made(|a, _| reshape(transpose(a), [6])), (vec![6], vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    assert_eq!(made(|a, b| reshape(vstack([a, b]), [2, 2, 3])), (vec![2, 2, 3], up(12)));
    assert_eq!(made(|a, b| flatten(vstack([a, b]))), (vec![12], up(12)));
    assert_eq!(made(|a, _| permute_dims(a, [1, 0])), (vec![3, 2], vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    let beside = vec![1.0, 2.0, 3.0, 7.0, 8.0, 9.0, 4.0, 5.0, 6.0, 10.0, 11.0, 12.0];
    assert_eq!(made(|a, b| hstack([a, b])), (vec![2, 6], beside.clone()));
    assert_eq!(made(|a, b| concatenate([a, b], 1)), (vec![2, 6], beside.clone()));
    assert_eq!(made(|a, b| stack([a, b], 0)), (vec![2, 2, 3], up(12)));
    assert_eq!(made(|a, b| stack([a, b], 1)), (vec![2, 2, 3], beside));
    let ends = vec![1.0, 7.0, 2.0, 8.0, 3.0, 9.0, 4.0, 10.0, 5.0, 11.0, 6.0, 12.0];
    assert_eq!(made(|a, b| stack([a, b], 2)), (vec![2, 3, 2], ends));
    assert_eq!(made(|a, b| vstack([flatten(a), flatten(b)])), (vec![2, 6], up(12)));
    assert_eq!(made(|a, b| hstack([flatten(a), flatten(b)])), (vec![12], up(12)));
    assert_eq!(made(|a, _| windows(a, [(1..2).into(), (0..3, 2).into()])), (vec![1, 2], vec![4.0, 6.0]));
    let ends = (vec![2, 3], vec![1.0, 2.0, 3.0, 10.0, 11.0, 12.0]);
    assert_eq!(made(|a, b| windows(vstack([a, b]), [(0..4, 3).into(), (..).into()])), ends);
}

/// An operator's sizes hold whatever stands around it, and where there is nothing.
#[test]
fn sizes_of_arrays_hold_inside() {
    let columns = vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0];
    assert_eq!(made(|a, _| flatten(transpose(reshape(a, [3, 2])))), (vec![6], columns.clone()));
    assert_eq!(made(|a, _| reshape(transpose(reshape(a, [3, 2])), [2, 3])), (vec![2, 3], columns));
    let seen = (vec![2, 1], vec![2.0, 4.0]);
    assert_eq!(made(|a, _| windows(reshape(a, [3, 2]), [(0..2).into(), (1..2).into()])), seen);
    let mixed = vec![1.0, 7.0, 2.0, 8.0, 3.0, 9.0, 4.0, 10.0, 5.0, 11.0, 6.0, 12.0];
    assert_eq!(made(|a, b| flatten(stack([flatten(a), flatten(b)], 1))), (vec![12], mixed));
    assert_eq!(made(|a, _| stack([a], 1)).0, vec![2, 1, 3]);
    assert_eq!(made(|a, _| concatenate([a], 1)).0, vec![2, 3]);
    let none = |a: Tensor| flatten(windows(a, [(0..0).into(), (..).into()]));
    assert_eq!(made(|a, b| stack([none(a), none(b)], 0)).0, vec![2, 0]);
    let square = |a: Tensor| windows(a, [(0..0).into(), (0..0).into()]);
    let beside = made(|a, b| concatenate([square(a), transpose(stack([none(a), none(b)], 0))], 1));
    assert_eq!(beside.0, vec![0, 2]);
}

/// A `reshape` beside something of another shape, and parts of a `stack` of different shapes, whatever their sum, contradict.
#[test]
fn sizes_of_arrays_are_checked() {
    let (i, j) = (var("i"), var("j"));
    let program = |build: &dyn Fn(&mut Builder)| {
        let mut p = Builder::new();
        build(&mut p);
        fiberloom::Program::parse(&p.finish().unwrap().text).map(|_| ())
    };
    let beside = |shape: [u64; 2]| {
        program(&|p| {
            let (a, b) = (p.tensor("a", Type::Bool, [12], "sparse"), p.tensor("B", Type::Bool, [4, 3], "csr"));
            let reshaped = p.at(reshape(a, shape), [i, j]);
            p.set(tensor("C").at([i, j]), reshaped * b.at([i, j]));
        })
    };
    assert!(beside([4, 3]).is_ok());
    assert_eq!(beside([3, 4]).unwrap_err().exit(), 2);
    let lengths = |lengths: [u64; 3], rows: bool| {
        program(&|p| {
            let names = ["a", "b", "c"];
            let parts: Vec<Tensor> =
                names.iter().zip(lengths).map(|(n, l)| p.tensor(n, Type::I32, [l], "sparse")).collect();
            p.make("C", if rows { vstack(parts) } else { stack(parts, 1) }, "csr");
        })
    };
    for rows in [true, false] {
        assert!(lengths([2, 2, 2], rows).is_ok());
        assert_eq!(lengths([2, 1, 3], rows).unwrap_err().exit(), 2);
    }
}

/// A scalar's elements are one.
#[test]
fn scalars_are_arrays() {
    let mut p = Builder::new();
    let s = p.tensor("s", Type::I64, SCALAR, "dense");
    p.make("v", concatenate([flatten(s), stack([s, s], 0)], 0), "dense");
    p.make("M", reshape(s, [1, 1]), "dense");
    let kernel = fiberloom::Program::parse(&text(p)).and_then(|p| p.compile(&fiberloom::Options::default())).unwrap();
    let three = fiberloom::Tensor::scalar(fiberloom::Value::i64(3));
    let outcome = kernel.run(&[("s", &three)]).unwrap();
    assert_eq!(outcome["v"].values, fiberloom::Array::from(vec![3i64; 3]));
    assert_eq!(outcome["M"].extents, vec![1, 1]);
    let names: Vec<&str> = outcome.results.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["M", "v"]);
}

/// Ranks that do not fit are the builder's errors; extents that do not are the language's.
#[test]
fn arrays_that_cannot_be() {
    let refused = |array: &dyn Fn(Tensor, Tensor) -> Array| {
        let mut p = Builder::new();
        let (a, b) = (p.tensor("A", Type::F64, [2, 3], "csr"), p.tensor("B", Type::F64, [2, 4], "csr"));
        let array = array(a, b);
        p.make("C", array, "csr");
        match p.finish() {
            Err(wrong) => wrong[0].message.clone(),
            Ok(built) => fiberloom::Program::parse(&built.text).map(|_| ()).unwrap_err().to_string(),
        }
    };
    let says = |array: &dyn Fn(Tensor, Tensor) -> Array, part: &str| {
        let message = refused(array);
        assert!(message.contains(part), "{message}");
    };
    says(&|_, _| tensor("D").into(), "`D` is not declared, so that nothing says how many modes it has");
    says(&|a, _| permute_dims(a, [0, 0]), "[0, 0] is no order of 2 modes");
    says(&|a, b| concatenate([a, b], 2), "there is no axis 2 to join along");
    says(&|a, b| stack([a, b], 3), "there is no axis 3 to join along");
    says(&|a, b| vstack([Array::from(a), flatten(b)]), "2 index variables for an array of 1 mode");
    says(&|a, _| windows(a, [(..).into()]), "1 window for an array of 2 modes");
    says(&|_, _| vstack([] as [Tensor; 0]), "nothing is joined");
    says(&|a, b| vstack([reshape(a, [2, 3]), reshape(b, [4, 2])]), "3");
    says(&|a, b| stack([windows(b, [(..).into(), (0..2).into()]), a.into(), b.into()], 0), "2");
    says(&|a, b| vstack([a, b]), "4");
    says(&|a, _| reshape(a, [4, 2]), "6");
}
