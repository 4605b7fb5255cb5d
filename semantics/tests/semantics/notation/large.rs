//! Data whose extents are too large to visit: the meaning is found in time about proportional to what is stored.

use fiberloom_core::algebra::{Mode, Type, Value};
use fiberloom_core::format::{Format, Tensor};
use fiberloom_passes::check::check;
use fiberloom_semantics::agree;
use fiberloom_semantics::meaning::{Function, Limits, Refusal, evaluate, evaluate_stored};
use std::collections::BTreeMap;

/// A sparse operand: name, extents, entries.
type Operand<'a> = (&'a str, &'a [u64], Vec<(Vec<i64>, f64)>);

/// Result `r`, within so many steps; every coordinate by itself would need more.
#[track_caller]
fn large(program: &str, operands: &[Operand], steps: u64) -> Function {
    let (syntax, errors) = fiberloom_front::parse(program);
    assert_eq!(errors, [], "{program}");
    let typed = check(&syntax.unwrap()).unwrap_or_else(|e| panic!("{program}: {e:?}"));
    let tensor = |(name, extents, entries): &Operand| {
        let declared = typed.tensors.iter().find(|t| t.name == *name).unwrap();
        let value = |x: f64| match declared.ty {
            ty if ty.is_float() => Value::from_f64(ty, x),
            ty => Value::from_i128(ty, x as i128),
        };
        let (fill, format) = (declared.fill.unwrap(), Format::csf(extents.len()));
        let entries = entries.iter().map(|(at, x)| (at.clone(), value(*x)));
        (name.to_string(), Tensor::from_entries(extents.to_vec(), format, fill, Type::I64, Type::I64, entries).unwrap())
    };
    let operands: BTreeMap<_, _> = operands.iter().map(tensor).collect();
    let limits = Limits { steps };
    assert_eq!(evaluate(&typed, &operands, Mode::Algebraic, &limits).err(), Some(Refusal::Steps), "{program}");
    let mut results =
        evaluate_stored(&typed, &operands, Mode::Algebraic, &limits).unwrap_or_else(|e| panic!("{program}: {e:?}"));
    results.remove("r").unwrap()
}

/// The entries of a function as numbers.
fn entries(f: &Function) -> Vec<(Vec<i64>, f64)> {
    f.entries.iter().map(|(at, n)| (at.clone(), n.value.as_f64())).collect()
}

const N: u64 = 1 << 40;
const DECLARED: &str = "tensor A: f64[I, J] csf\ntensor B: f64[J, K] csf\ntensor x: f64[J] csf\n";

/// Both matrices are N by N, with three entries each.
fn data() -> Vec<Operand<'static>> {
    let far = N as i64 - 1;
    vec![
        ("A", &[N, N], vec![(vec![0, 5], 2.0), (vec![7, far], 3.0), (vec![far, 5], -1.0)]),
        ("B", &[N, N], vec![(vec![5, 1], 10.0), (vec![5, far], 20.0), (vec![far, 1], 30.0)]),
        ("x", &[N], vec![(vec![5], 4.0), (vec![6], 8.0)]),
    ]
}

#[track_caller]
fn means(statement: &str, expected: &[(&[i64], f64)]) {
    let r = large(&format!("{DECLARED}{statement}"), &data(), 20_000);
    let expected: Vec<_> = expected.iter().map(|(at, x)| (at.to_vec(), *x)).collect();
    assert_eq!(entries(&r), expected, "{statement}");
    assert_eq!(r.fill.value.as_f64(), 0.0, "{statement}");
}

#[test]
fn products_and_sums_of_sparse_operands() {
    let far = N as i64 - 1;
    let all = "s[] = A[i,j] * B[j,k] * x[j]\n";
    means(&format!("{all}r[i] = A[i,j] * x[j]"), &[(&[0], 8.0), (&[far], -4.0)]);
    let product: [(&[i64], f64); 5] =
        [(&[0, 1], 20.0), (&[0, far], 40.0), (&[7, 1], 90.0), (&[far, 1], -10.0), (&[far, far], -20.0)];
    means(&format!("{all}r[i,k] = A[i,j] * B[j,k]"), &product);
    // Both inside of an expression that is needed everywhere, and beside a factor that is mostly zero.
    means(&format!("{all}r[i,k] = sum(j: A[i,j] * B[j,k]) + 0.0 * x[i]"), &product);
    means(&format!("{all}r[i,k] = A[k,i] * sum(j: A[i,j] * B[j,k])"), &[]);
    means(
        &format!("{all}r[j,k] = B[j,k] * sum(i: A[i,j] * A[i,j])"),
        &[(&[5, 1], 50.0), (&[5, far], 100.0), (&[far, 1], 270.0)],
    );
    means(&format!("{all}r[] = A[i,j] * B[j,k]"), &[(&[], 20.0 + 40.0 + 90.0 - 10.0 - 20.0)]);
    means(
        &format!("{all}r[i,j] = if A[i,j] > 0.0 then B[i,j] + 1.0 else x[i] * B[i,j]"),
        &[(&[0, 5], 1.0), (&[5, 1], 40.0), (&[5, far], 80.0), (&[7, far], 1.0)],
    );
    means(
        &format!("{all}r[i,j] = A[i,j] - B[j,i]"),
        &[(&[0, 5], 2.0), (&[1, 5], -10.0), (&[1, far], -30.0), (&[7, far], 3.0), (&[far, 5], -21.0)],
    );
}

#[test]
fn statements_that_accumulate() {
    let far = N as i64 - 1;
    let all = "s[] = A[i,j] * B[j,k] * x[j]\n";
    means(
        &format!("{all}tensor r: f64[J] csf\nr[j] += A[i,j]\nr[j] += x[j]"),
        &[(&[5], 5.0), (&[6], 8.0), (&[far], 3.0)],
    );
    means(&format!("{all}r[] = t[i] * t[i] where {{ t[i] = A[i,j] * x[j] }}"), &[(&[], 80.0)]);
    means(&format!("{all}tensor r: f64[] \nr[] max= x[j]"), &[(&[], 8.0)]);
}

#[test]
fn index_maps_and_shape_operators() {
    let all = "s[] = A[i,j] * B[j,k] * x[j]\n";
    means(&format!("{all}r[i] = coalesce(x[~(i-1)], 0.0) * 2.0 + x[i]"), &[(&[5], 4.0), (&[6], 16.0), (&[7], 16.0)]);
    means(&format!("{all}tensor r: f64[1000] csf\nr[i] = x[2*i + 1] - x[3*i]"), &[(&[2], -4.0)]);
    means(&format!("{all}r[k] = slice(x[j], j -> k, 1:1000000000:5)"), &[(&[1], 8.0)]);
    means(
        &format!("{all}r[l] = concat((x[j], x[k]), (j,k) -> l)"),
        &[(&[5], 4.0), (&[6], 8.0), (&[5 + N as i64], 4.0), (&[6 + N as i64], 8.0)],
    );
    means(
        &format!("{all}tensor r: f64[1048576, 1048576] csf\nr[a,b] = split(x[j], j -> (b,a))"),
        &[(&[5, 0], 4.0), (&[6, 0], 8.0)],
    );
    means(&format!("{all}r[k] = x[k(2:6)] * 3.0"), &[(&[3], 12.0)]);
    let small: Vec<Operand> = vec![("A", &[1 << 20, 1 << 20], vec![(vec![0, 5], 2.0), (vec![7, 9], 3.0)])];
    let r = large("tensor A: f64[I, J] csf\nr[k] = collapse(A[i,j], (j,i) -> k)", &small, 20_000);
    assert_eq!(entries(&r), [(vec![5 << 20], 2.0), (vec![(9 << 20) + 7], 3.0)]);
}

/// Backgrounds are counted: folded in as often as they stand there, at once.
#[test]
fn folds_over_a_background() {
    let a: Vec<Operand> = vec![("a", &[N], vec![(vec![3], 7.0), (vec![N as i64 - 2], 5.0)])];
    for (ty, fill, e, expected) in [
        ("i64", "2", "sum(i: a[i])", 2 * (N as i128 - 2) + 12),
        ("i8", "3", "sum(i: a[i])", (3 * (N as i128 - 2) + 12) as i8 as i128),
        ("f64", "2", "sum(i: a[i])", 2 * (N as i128 - 2) + 12),
        ("u32", "3", "prod(i: a[i] * 3)", {
            // Odd numbers to the N are 1 modulo 2³², so 9 to the N − 2 is the inverse of 81.
            let inverse = (0..5).fold(1u32, |x, _| x.wrapping_mul(2u32.wrapping_sub(x.wrapping_mul(81))));
            inverse.wrapping_mul(21 * 15).into()
        }),
        ("f64", "1", "prod(i: a[i])", 35),
        ("f64", "0", "prod(i: a[i])", 0),
        ("f64", "6", "min(i: a[i])", 5),
        ("f64", "6", "max(i: a[i] start 9)", 9),
        ("i64", "1", "xor(i: a[i])", 7 ^ 5),
        ("i64", "12", "gcd(i: a[i] * 6)", 6),
    ] {
        let e = e.replace("start 9", if ty == "f64" { "start 9.0" } else { "start 9" });
        let r = large(&format!("tensor a: {ty}[N] fill {fill} csf\nr[] = {e}"), &a, 20_000);
        assert_eq!(r.at(&[]).value.as_f64(), expected as f64, "{ty} {fill} {e}");
    }
}

/// What is stored nowhere, and needed everywhere, is refused and not begun endlessly.
#[test]
fn what_is_dense_is_refused() {
    let program = format!("{DECLARED}tensor r: f64[I, J] csf\ns[] = A[i,j] * B[j,k] * x[j]\nr[i,j] = A[i,j] + 1.0");
    let (syntax, _) = fiberloom_front::parse(&program);
    let typed = check(&syntax.unwrap()).unwrap();
    let tensor = |(name, extents, entries): Operand| {
        let entries = entries.into_iter().map(|(at, x)| (at, Value::from_f64(Type::F64, x)));
        let format = Format::csf(extents.len());
        let zero = Value::zero(Type::F64);
        (name.to_string(), Tensor::from_entries(extents.to_vec(), format, zero, Type::I64, Type::I64, entries).unwrap())
    };
    let operands: BTreeMap<_, _> = data().into_iter().map(tensor).collect();
    let refused = evaluate_stored(&typed, &operands, Mode::Algebraic, &Limits { steps: 100_000 });
    assert_eq!(refused.err(), Some(Refusal::Steps));
}

/// A wrong entry of a large result is caught, and so is one that is not there.
#[test]
fn wrong_answers_are_caught() {
    let r = large(&format!("{DECLARED}s[] = A[i,j] * B[j,k] * x[j]\nr[i] = A[i,j] * x[j]"), &data(), 20_000);
    let answer = |entries: &[(i64, f64)]| {
        let entries = entries.iter().map(|(i, x)| (vec![*i], Value::from_f64(Type::F64, *x)));
        let zero = Value::zero(Type::F64);
        Tensor::from_entries(vec![N], Format::csf(1), zero, Type::I64, Type::I64, entries).unwrap()
    };
    let far = N as i64 - 1;
    assert!(agree(&r, &answer(&[(0, 8.0), (far, -4.0)]), Mode::Algebraic).is_ok());
    assert!(agree(&r, &answer(&[(0, 8.0), (3, 0.0), (far, -4.0)]), Mode::Algebraic).is_ok());
    assert!(agree(&r, &answer(&[(0, 8.0)]), Mode::Algebraic).is_err());
    assert!(agree(&r, &answer(&[(0, 8.0), (3, 1e-300), (far, -4.0)]), Mode::Algebraic).is_err());
    assert!(agree(&r, &answer(&[(0, 8.0), (far, -4.0000001)]), Mode::Algebraic).is_err());
}
