//! Every operation on every type that it takes, at boundary values, against `algebra::apply`.
#![allow(unsafe_code)] // Kernels are called on what they were written for.

use crate::common::*;
use fiberloom_codegen::{Limits, OptLevel, Options, compile};
use fiberloom_core::algebra::{Op, Type, Value, apply, result_type};
use fiberloom_core::format::Array;
use fiberloom_loops::{BufferId, Expr, Kernel, Stmt};

/// Values at which something happens: bounds, zeros, ties, exceptional floats.
fn boundary(ty: Type) -> Vec<Value> {
    let mut values: Vec<Value> = match ty.range() {
        None => [
            0.0,
            -0.0,
            0.5,
            -0.5,
            1.0,
            -1.0,
            1.5,
            2.5,
            -2.5,
            3.25,
            127.5,
            -129.0,
            255.7,
            1e-310,
            1e-42,
            -1e9,
            4294967295.0,
            1e10,
            9.3e18,
            1.9e19,
            -1e30,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ]
        .map(|x| Value::from_f64(ty, x))
        .to_vec(),
        Some((least, greatest)) => [
            least,
            least + 1,
            least / 2,
            -129,
            -7,
            -2,
            -1,
            0,
            1,
            2,
            3,
            7,
            8,
            31,
            63,
            64,
            100,
            greatest / 3,
            greatest - 1,
            greatest,
        ]
        .into_iter()
        .filter(|x| (least..=greatest).contains(x))
        .map(|x| Value::from_i128(ty, x))
        .collect(),
    };
    values.sort();
    values.dedup();
    values
}

/// All tuples of boundary values.
fn tuples(types: &[Type]) -> Vec<Vec<Value>> {
    types.iter().fold(vec![vec![]], |so_far, ty| {
        let extend = |tuple: Vec<Value>| boundary(*ty).into_iter().map(move |v| [tuple.as_slice(), &[v]].concat());
        so_far.into_iter().flat_map(extend).collect()
    })
}

/// `r[k] = op(a0[k], a1[k], …)`, in IEEE 754's order of operations. The text has the place; the operation is put there.
fn pointwise(op: Op, types: &[Type], result: Type) -> Kernel {
    let operands: Vec<String> = types.iter().enumerate().map(|(n, ty)| format!("a{n}: {ty}")).collect();
    let tensors: Vec<String> =
        types.iter().enumerate().map(|(n, ty)| format!("in a{n}@{n}: {ty}[len] {{dense}} at dense, a{n}")).collect();
    let mut kernel = kernel(&format!(
        "kernel pointwise(len)\n operand {}\n result r: {result}\n {}\n out r@9: {result}[len] {{dense}} at dense, r\n
         alloc r[len]\n for k in 0..len {{\n r[k] = r[k]\n }}\n finish r[len]",
        operands.join(", "),
        tensors.join("\n "),
    ));
    let (place, k) = the_store(&mut kernel);
    let load = |n| Expr::Load(BufferId(n as u32), Box::new(k.clone()));
    *place = Expr::Op(op, (0..types.len()).map(load).collect());
    kernel
}

/// What is stored in the loop, and the loop's variable.
fn the_store(kernel: &mut Kernel) -> (&mut Expr, Expr) {
    match &mut kernel.body[1] {
        Stmt::For { var, body, .. } => match &mut body[0] {
            Stmt::Store(_, _, e) => (e, Expr::Var(*var)),
            other => panic!("no store: {other:?}"),
        },
        other => panic!("no loop: {other:?}"),
    }
}

/// The lists of argument types that `op` takes.
fn signatures(op: Op) -> Vec<Vec<Type>> {
    let arity = op.arity().expect("`coalesce` never reaches loops");
    Type::ALL
        .into_iter()
        .flat_map(|t| match op {
            Op::Select => vec![vec![Type::Bool, t, t]],
            Op::Mask => vec![vec![Type::Bool, t]],
            Op::Ldexp => Type::ALL.into_iter().map(|n| vec![t, n]).collect(),
            _ => vec![vec![t; arity]],
        })
        .filter(|types| result_type(op, types).is_some())
        .collect()
}

fn canonical(v: Value) -> Value {
    if v.is_nan() { Value::from_f64(v.ty(), f64::NAN) } else { v }
}

fn compare(op: Op, types: &[Type], level: OptLevel) {
    let tuples = tuples(types);
    let result = result_type(op, types).unwrap();
    let compiled = compile(&pointwise(op, types, result), &Options { opt_level: level, ..Options::default() }).unwrap();
    let columns: Vec<Array> =
        types.iter().enumerate().map(|(n, ty)| Array::from_values(*ty, tuples.iter().map(|t| t[n]))).collect();
    let operands: Vec<Option<&Array>> = columns.iter().map(Some).chain([None]).collect();
    let results = unsafe { compiled.run(&[tuples.len() as i64], &operands, &Limits::default()) }.unwrap();
    let got = results.last().unwrap().as_ref().unwrap();
    assert_eq!(got.len(), tuples.len());
    for (args, got) in tuples.iter().zip(got.iter()) {
        let want = apply(op, args).unwrap();
        assert_eq!(canonical(got), canonical(want), "{op:?} {args:?} at {level:?}");
    }
}

fn compare_all(level: OptLevel) {
    let mut compared = 0;
    for op in Op::all().filter(|op| *op != Op::Coalesce) {
        for types in signatures(op) {
            compare(op, &types, level);
            compared += 1;
        }
    }
    assert!(compared > 350, "only {compared} pairs of operation and type");
}

#[test]
fn unoptimized_operations_compute_what_they_say() {
    compare_all(OptLevel::None);
}

#[test]
fn optimized_operations_compute_what_they_say() {
    compare_all(OptLevel::Full);
}

/// Constant arguments take paths of their own: powers become products, divisors need no guard.
#[test]
fn constant_arguments_compute_the_same() {
    for ty in [Type::I8, Type::I64, Type::U16, Type::F64] {
        for op in [Op::Pow, Op::Div, Op::Rem, Op::Shl, Op::Min].into_iter().filter(|op| op.takes(ty)) {
            boundary(ty).into_iter().for_each(|constant| compare_constant(op, constant, false));
        }
    }
}

/// Where sums may be reassociated, a square is a product, and no other power is.
#[test]
fn constant_powers_compute_the_same_where_sums_may_be_reassociated() {
    for ty in [Type::F32, Type::F64] {
        let exponents = [-2.0, 1.0, 2.0, 3.0, 4.0].map(|y| Value::from_f64(ty, y));
        let all = boundary(ty).into_iter().chain(exponents);
        all.for_each(|exponent| compare_constant(Op::Pow, exponent, true));
    }
}

/// `op(x, constant)` at boundary values of `x`.
fn compare_constant(op: Op, constant: Value, reassociate: bool) {
    let ty = constant.ty();
    let mut kernel = pointwise(op, &[ty, ty], ty);
    kernel.reassociate = reassociate;
    let Expr::Op(_, args) = the_store(&mut kernel).0 else { panic!("an operation") };
    args[1] = Expr::Const(constant);
    let compiled = compile(&kernel, &Options { opt_level: OptLevel::None, ..Options::default() }).unwrap();
    let a = Array::from_values(ty, boundary(ty));
    let results = unsafe { compiled.run(&[a.len() as i64], &[Some(&a), Some(&a), None], &Limits::default()) }.unwrap();
    for (x, got) in a.iter().zip(results[2].as_ref().unwrap().iter()) {
        let want = apply(op, &[x, constant]).unwrap();
        assert_eq!(canonical(got), canonical(want), "{op:?} {x:?} {constant:?}");
    }
}

/// What a NaN is asked for is not assumed to be no NaN, whatever order sums may be in.
#[test]
fn not_a_number_is_seen_where_sums_may_be_reassociated() {
    let kernel = kernel(
        "kernel unequal(len) reassociate\n operand a: f64, b: f64\n result r: bool
         in a@0: f64[len] {dense} at dense, a\n in b@1: f64[len] {dense} at dense, b
         out r@9: bool[len] {dense} at dense, r\n
         alloc r[len]\n for k in 0..len {\n let t = a[k] + b[k]\n r[k] = t != t\n }\n finish r[len]",
    );
    let [a, b] = [[f64::INFINITY, 1.0, f64::NAN], [f64::NEG_INFINITY, 2.0, 1.0]].map(|x| Array::from(x.to_vec()));
    for opt_level in [OptLevel::None, OptLevel::Full] {
        let compiled = compile(&kernel, &Options { opt_level, ..Options::default() }).unwrap();
        let results = unsafe { compiled.run(&[3], &[Some(&a), Some(&b), None], &Limits::default()) }.unwrap();
        let got: Vec<Value> = results[2].as_ref().unwrap().iter().collect();
        assert_eq!(got, [true, false, true].map(Value::bool), "{opt_level:?}");
    }
}

/// What was stored in a result is read from it: the load below moves with the loop though its place does not.
#[test]
fn a_result_overlaps_itself() {
    let kernel = kernel(
        "kernel first(len)\n result r: f64, s: f64
         out r@8: f64[len] {dense} at dense, r\n out s@9: f64[len] {dense} at dense, s\n
         alloc r[len] = 0.0\n alloc s[len]\n for k in 0..len {\n r[k] = 1.0\n s[k] = r[0]\n }
         finish r[len]\n finish s[len]",
    );
    for opt_level in [OptLevel::None, OptLevel::Full] {
        let compiled = compile(&kernel, &Options { opt_level, ..Options::default() }).unwrap();
        let results = unsafe { compiled.run(&[50], &[None, None], &Limits::default()) }.unwrap();
        let got: Vec<Value> = results[1].as_ref().unwrap().iter().collect();
        assert_eq!(got, vec![Value::one(Type::F64); 50], "{opt_level:?}");
    }
}
