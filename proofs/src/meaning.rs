//! The language's meaning against the paper's: a contraction expression, written as a program, means what its stream
//! evaluates to.
//!
//! ```text
//!           ┌ Expr::stream ──▶ evaluate ────────────────────────┐
//!   Case ───┤                                                   ├ equal at every tuple
//!           └ text ──parse──▶ check ──▶ semantics::notation ────┘
//! ```
//!
//! So the oracle that all engines are fuzzed against is itself held to the paper, on this part of the language.

use crate::semiring::{Sample, sample};
use crate::theorem::{Case, tuples};
use fiberloom_core::algebra::{Mode, Type, Value};
use fiberloom_core::format::{Array, Format, Tensor};
use fiberloom_semantics::meaning::{self, Function};
use fiberloom_semantics::stream::{Attribute, Expr, MinPlus, Semiring, Shape};
use quickcheck::{Gen, QuickCheck};
use std::collections::BTreeMap;
use std::num::Wrapping;

/// A semiring that the language has: its type, its functions, and its elements as values.
pub trait Spoken: Sample {
    /// The type.
    const TYPE: Type;
    /// The sum.
    const PLUS: &str;
    /// The product.
    const TIMES: &str;
    /// The reduction by `plus`.
    const TOTAL: &str;
    /// An element as a value.
    fn value(&self) -> Value;
}

impl Spoken for Wrapping<u64> {
    const TYPE: Type = Type::U64;
    const PLUS: &str = "+";
    const TIMES: &str = "*";
    const TOTAL: &str = "sum";
    fn value(&self) -> Value {
        Value::from_i128(Type::U64, self.0 as i128)
    }
}

impl Spoken for bool {
    const TYPE: Type = Type::Bool;
    const PLUS: &str = "||";
    const TIMES: &str = "&&";
    const TOTAL: &str = "any";
    fn value(&self) -> Value {
        Value::bool(*self)
    }
}

/// As `f64`, whose infinity absorbs; lengths that are no whole `f64` are not compared.
impl Spoken for MinPlus {
    const TYPE: Type = Type::F64;
    const PLUS: &str = "min";
    const TIMES: &str = "+";
    const TOTAL: &str = "min";
    fn value(&self) -> Value {
        let infinite = *self == MinPlus::zero();
        Value::from_f64(Type::F64, if infinite { f64::INFINITY } else { self.0 as f64 })
    }
}

fn apply(f: &str, x: &str, y: &str) -> String {
    if f == "min" { format!("min({x}, {y})") } else { format!("({x} {f} {y})") }
}

/// An expression as text; `names` are the index variables of its attributes. An expansion is a product with ones, as
/// nothing else would say the extent of its index.
fn text<K: Spoken>(e: &Expr, shapes: &[Shape], names: &BTreeMap<Attribute, String>, bound: &mut u32) -> String {
    match e {
        Expr::Var(v) => {
            let indices: Vec<&str> = shapes[*v].iter().map(|a| &names[a][..]).collect();
            format!("v{v}[{}]", indices.join(", "))
        }
        Expr::Add(x, y) => apply(K::PLUS, &text::<K>(x, shapes, names, bound), &text::<K>(y, shapes, names, bound)),
        Expr::Mul(x, y) => apply(K::TIMES, &text::<K>(x, shapes, names, bound), &text::<K>(y, shapes, names, bound)),
        Expr::Contract(a, e) => {
            *bound += 1;
            let index = format!("t{bound}");
            let mut names = names.clone();
            names.insert(*a, index.clone());
            format!("{}({index}: {})", K::TOTAL, text::<K>(e, shapes, &names, bound))
        }
        Expr::Expand(a, e) => apply(K::TIMES, &text::<K>(e, shapes, names, bound), &format!("ones_{a}[{}]", names[a])),
        Expr::Name(rho, e) => {
            let names = rho.iter().map(|(a, b)| (*a, names[b].clone())).collect();
            text::<K>(e, shapes, &names, bound)
        }
    }
}

/// The program `r = e`, with all its tensors declared, each in a format by its name and rank; the fill is zero.
pub fn program<K: Spoken>(case: &Case, format: &dyn Fn(&str, usize) -> Format) -> String {
    let (ty, zero) = (K::TYPE.name(), K::zero().value());
    let declared = |name: String, shape: &Shape| {
        let extents: Vec<String> = shape.iter().map(|a| case.schema[a].to_string()).collect();
        format!("tensor {name}: {ty}[{}] fill {zero} {}\n", extents.join(", "), format(&name, shape.len()))
    };
    let shapes: Vec<Shape> = case.variables.iter().map(|v| v.0.clone()).collect();
    let variables = shapes.iter().enumerate().map(|(n, shape)| declared(format!("v{n}"), shape));
    let ones = case.schema.keys().map(|a| declared(format!("ones_{a}"), &[*a].into()));
    let declarations: String = variables.chain(ones).chain([declared("r".into(), &case.shape())]).collect();
    let names = case.schema.keys().map(|a| (*a, a.to_string())).collect();
    let left: Vec<String> = case.shape().iter().map(Attribute::to_string).collect();
    format!("{declarations}r[{}] = {}\n", left.join(", "), text::<K>(&case.e, &shapes, &names, &mut 0))
}

fn tensor<K: Spoken>(case: &Case, shape: &Shape, at: impl Fn(&[i64]) -> K) -> Tensor<'static> {
    let tuples = tuples(shape, &case.schema);
    let values = tuples.iter().map(|t| at(&t.values().copied().collect::<Vec<_>>()).value());
    let extents = shape.iter().map(|a| case.schema[a] as u64).collect();
    Tensor::dense(extents, Value::zero(K::TYPE), Array::from_values(K::TYPE, values)).expect("a value for each tuple")
}

/// What the language says that the expression is.
fn meant<K: Spoken>(case: &Case, value: impl Fn(u32) -> K) -> Function {
    let text = program::<K>(case, &|_, rank| Format::dense(rank));
    let (syntax, wrong) = fiberloom_front::parse(&text);
    let syntax = syntax.unwrap_or_else(|| panic!("{wrong:?}\n{text}"));
    let typed = fiberloom_passes::check::check(&syntax).unwrap_or_else(|wrong| panic!("{wrong:?}\n{text}"));
    let context = case.context(value);
    let variables = case.variables.iter().zip(&context.variables).enumerate();
    let variables = variables.map(|(n, ((shape, _), v))| (format!("v{n}"), tensor(case, shape, |t| v.relation.at(t))));
    let ones = case.schema.keys().map(|a| (format!("ones_{a}"), tensor(case, &[*a].into(), |_| K::one())));
    let results = meaning::evaluate(&typed, &variables.chain(ones).collect(), Mode::Strict, &Default::default());
    results.unwrap_or_else(|refusal| panic!("{refusal:?}\n{text}")).remove("r").expect("the result")
}

/// Whether the two meanings are one.
fn agree<K: Spoken>(case: &Case, value: impl Fn(u32) -> K) -> bool {
    let function = meant(case, &value);
    let relation = case.e.stream(&case.context(value)).evaluate();
    tuples(&case.shape(), &case.schema).into_iter().all(|t| {
        let t: Vec<i64> = t.into_values().collect();
        function.at(&t).value == relation.at(&t).value()
    })
}

/// Bounds: random cases as in `theorem.rs`, in three semirings.
#[test]
fn random_programs() {
    fn holds(case: Case) -> bool {
        let lengths = [3, i64::MAX, 0, 7, 1 << 20].map(MinPlus);
        agree(&case, sample::<Wrapping<u64>>)
            && agree(&case, sample::<bool>)
            && agree(&case, |name| lengths[name as usize % lengths.len()])
    }
    let source = Gen::from_size_and_seed(1, 2023);
    QuickCheck::new().rng(source).tests(400).max_tests(400).quickcheck(holds as fn(Case) -> bool);
}
