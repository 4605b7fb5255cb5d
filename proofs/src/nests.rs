//! Whole nests that are emitted, against indexed streams.
//!
//! ```text
//!          ┌ Expr::stream ──▶ evaluate ───────────────────────────────────────────────────┐
//!   Case ──┤                                                                              ├ equal at every tuple
//!          └ text, formats ──▶ check ──▶ lower ──▶ loops on the checked interpreter ──────┘
//! ```
//!
//! What is emitted for one expression depends on the formats of its operands and its result; what its stream evaluates to
//! does not. Entries have values of 64 bits that look random, named by the entry: two polynomials of such names that are not
//! one agree modulo 2⁶⁴ with odds far below one in 2³², so that agreement in ℤ/2⁶⁴ is agreement in ℕ⟨X⟩, hence in every
//! commutative semiring. In 𝔹 and (min, +) other code is emitted: what annihilates there ends loops.

use crate::choose::{Choose, every};
use crate::meaning::{Spoken, program};
use crate::semiring::sample;
use crate::theorem::{Case, Kinds, Tree, tuples};
use fiberloom_core::algebra::Type;
use fiberloom_core::format::{Format, LevelKind, Tensor};
use fiberloom_core::notation::typed;
use fiberloom_core::shape;
use fiberloom_loops::Options;
use fiberloom_loops::{self as loops, Sound};
use fiberloom_semantics::machine;
use fiberloom_semantics::stream::{Attribute, Context, Expr, MinPlus, Relation, Semiring, Shape};
use quickcheck::{Arbitrary, Gen};
use std::collections::BTreeMap;
use std::num::Wrapping;

/// An entry's value: what a name is in ℤ/2⁶⁴. (The finalizer of SplitMix64, by Steele, Lea and Flood.)
fn named(name: u32) -> Wrapping<u64> {
    let z = Wrapping(name as u64 + 1) * Wrapping(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)) * Wrapping(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)) * Wrapping(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Formats of a rank that operands and results may have.
fn formats(rank: usize) -> Vec<Format> {
    use LevelKind::*;
    let levels: &[&[LevelKind]] = match rank {
        0 => &[&[]],
        1 => &[&[Dense], &[Compressed], &[Bitmap], &[Bytemap], &[Hashed]],
        2 => &[
            &[Dense, Compressed],
            &[Compressed, Compressed],
            &[Nonunique, Singleton],
            &[Compressed, Dense],
            &[Dense, Bitmap],
            &[Dense, Hashed],
            &[Bytemap, Compressed],
            &[Dense, Dense],
        ],
        _ => &[
            &[Dense, Compressed, Compressed],
            &[Compressed, Compressed, Compressed],
            &[Nonunique, Singleton, Singleton],
            &[Compressed, Nonunique, Singleton],
            &[Dense, Dense, Compressed],
            &[Compressed, Dense, Bitmap],
            &[Dense, Dense, Dense],
        ],
    };
    let formats = levels.iter().map(|levels| Format::of(levels.to_vec()));
    // By columns, too; of three modes, the last one outermost.
    let turned = |f: Format| {
        let mut rotated = f.clone();
        rotated.order_mut().rotate_right(rank.min(1));
        if rank > 1 { vec![f, rotated] } else { vec![f] }
    };
    formats.flat_map(turned).collect()
}

/// The formats of an expression's tensors, by name.
type Formats = BTreeMap<String, Format>;

/// A nest that was emitted for an expression.
struct Nest {
    typed: typed::Program,
    kernel: Sound,
}

impl Nest {
    fn new<K: Spoken>(case: &Case, formats: &Formats) -> Nest {
        let text = program::<K>(case, &|name, rank| formats.get(name).cloned().unwrap_or(Format::dense(rank)));
        let (syntax, wrong) = fiberloom_front::parse(&text);
        let syntax = syntax.unwrap_or_else(|| panic!("{wrong:?}\n{text}"));
        let typed = fiberloom_passes::check::check(&syntax).unwrap_or_else(|wrong| panic!("{wrong:?}\n{text}"));
        let lowered = fiberloom_lower::lower(&typed, &Options::default());
        let kernel = lowered.unwrap_or_else(|wrong| panic!("{wrong:?}\n{text}")).kernel;
        Nest { typed, kernel }
    }

    /// What its loops make of a case's data.
    fn run<K: Spoken>(
        &self,
        code: &machine::Prepared,
        case: &Case,
        context: &Context<K>,
        formats: &Formats,
    ) -> Tensor<'static> {
        let named = |name: &str, shape: &Shape, relation: &Relation<K>| {
            let extents = shape.iter().map(|a| case.schema[a] as u64).collect();
            let entries = relation.support().map(|(at, x)| (at.to_vec(), x.value()));
            let format = formats.get(name).cloned().unwrap_or(Format::dense(shape.len()));
            let (zero, width) = (K::zero().value(), Type::I32);
            let tensor = Tensor::from_entries(extents, format, zero, width, width, entries.collect::<Vec<_>>());
            (name.to_string(), tensor.expect("small"))
        };
        let variables = case.variables.iter().zip(&context.variables).enumerate();
        let variables = variables.map(|(n, ((shape, _), v))| named(&format!("v{n}"), shape, &v.relation));
        let ones = case.schema.keys().map(|a| named(&format!("ones_{a}"), &[*a].into(), &ones(case.schema[a])));
        let given: BTreeMap<String, Tensor> = variables.chain(ones).collect();
        let given: Vec<(&str, &Tensor)> = given.iter().map(|(name, t)| (&name[..], t)).collect();
        let id = |name: &str| self.typed.tensors.iter().position(|t| t.name == name);
        let known = given.iter().filter_map(|(name, t)| Some((typed::TensorId(id(name)? as u32), t.extents.clone())));
        let extents = shape::solve(&self.typed, &known.collect::<Vec<_>>()).unwrap_or_else(|e| panic!("{e:?}"));
        let of =
            |t: typed::TensorId| self.typed.tensors[t.index()].sizes.iter().map(|s| extents.sizes[s.index()]).collect();
        let bound = loops::bind(&self.kernel, &given, &of, &extents).unwrap_or_else(|e| panic!("{e}"));
        let ran = code.run(&bound.params, &bound.arrays(), &Default::default());
        let ran = ran.unwrap_or_else(|e| panic!("{e:?}\n{}", self.kernel));
        let results = loops::collect(&self.kernel, &bound, &mut loops::taken(ran.buffers)).expect("memory");
        let (_, result) = results.into_iter().next().expect("a result");
        result.check().unwrap_or_else(|e| panic!("{e}\n{}", self.kernel));
        result
    }
}

/// Whether a result is what the expression's stream evaluates to at every tuple of its shape; and whether it stores just the support.
fn agrees<K: Spoken>(result: &Tensor, relation: &Relation<K>, tuples: &[Vec<i64>]) -> Agreement {
    let stored: BTreeMap<Vec<i64>, _> = result.entries().collect();
    let at = |t: &[i64]| stored.get(t).copied().unwrap_or(result.fill);
    let equal = tuples.iter().all(|t| at(t) == relation.at(t).value());
    Agreement { equal, support: stored.len() == relation.support().count() }
}

/// All tuples of a case's result.
fn of_result(case: &Case) -> Vec<Vec<i64>> {
    tuples(&case.shape(), &case.schema).into_iter().map(|t| t.into_values().collect()).collect()
}

struct Agreement {
    equal: bool,
    support: bool,
}

/// One everywhere.
fn ones<K: Semiring>(extent: i64) -> Relation<K> {
    let mut ones = Relation::zero();
    (0..extent).for_each(|i| ones.add(&[i], &K::one()));
    ones
}

/// Any formats of a case's variables and its result.
fn choose_formats(case: &Case, c: &mut impl Choose, of_rank: &dyn Fn(usize) -> Vec<Format>) -> Formats {
    let mut any = |rank: usize| {
        let all = of_rank(rank);
        all[c.upto(all.len() - 1)].clone()
    };
    let variables = case.variables.iter().enumerate().map(|(n, (shape, _))| (format!("v{n}"), any(shape.len())));
    let mut formats: Formats = variables.collect();
    formats.insert("r".to_string(), any(case.shape().len()));
    formats
}

/// Bounds: random expressions as in `theorem.rs`, three attributes of extents ≤ 3, depth 4; any formats of all tensors.
#[test]
fn random_nests() {
    fn agree<K: Spoken>(case: &Case, formats: &Formats, value: impl Fn(u32) -> K) {
        let nest = Nest::new::<K>(case, formats);
        let code = machine::Prepared::of(&nest.kernel).unwrap_or_else(|e| panic!("{e:?}"));
        let context = case.context(value);
        let result = nest.run(&code, case, &context, formats);
        let agreement = agrees(&result, &case.e.stream(&context).evaluate(), &of_result(case));
        assert!(agreement.equal, "{} {formats:?}\n{}", case.e, nest.kernel);
    }
    let mut g = Gen::from_size_and_seed(1, 2024);
    let lengths = [3, i64::MAX, 0, 7, 1 << 20].map(MinPlus);
    for _ in 0..400 {
        let case = Case::arbitrary(&mut g);
        let formats = choose_formats(&case, &mut g, &formats);
        agree(&case, &formats, named);
        agree(&case, &formats, sample::<bool>);
        agree(&case, &formats, |name| lengths[name as usize % lengths.len()]);
    }
}

/// How many nests were emitted, data there were, and results that store just the support, of those that could.
type Counted = (usize, usize, [usize; 2]);

/// The nests of an expression of variables by their attributes, in all of these formats, on all settled data of an extent.
fn on_all_data(e: &Expr, variables: &[&str], extent: i64, of_rank: &dyn Fn(usize) -> Vec<Format>) -> Counted {
    let schema: BTreeMap<Attribute, i64> = "ijk".chars().map(|a| (a, extent)).collect();
    let shapes: Vec<Shape> = variables.iter().map(|v| v.chars().collect()).collect();
    let case = |variables: Vec<(Shape, Tree)>| Case { e: e.clone(), schema: schema.clone(), variables };
    let none = case(shapes.iter().map(|s| (s.clone(), Tree::Level(vec![]))).collect());
    let mut all = vec![];
    every(|c| {
        let formats = choose_formats(&none, c, of_rank);
        all.push((Nest::new::<Wrapping<u64>>(&none, &formats), formats));
    });
    let codes: Vec<machine::Prepared> =
        all.iter().map(|(nest, _)| machine::Prepared::of(&nest.kernel).unwrap_or_else(|e| panic!("{e:?}"))).collect();
    let of_result = of_result(&none);
    let mut exact = [0, 0];
    let runs = every(|c| {
        let mut names = 0;
        let tree = |s: &Shape| (s.clone(), Tree::choose(c, &vec![extent; s.len()], Kinds::Settled, &mut names));
        let case = case(shapes.iter().map(tree).collect());
        let context = case.context(named);
        let relation = case.e.stream(&context).evaluate();
        for ((nest, formats), code) in all.iter().zip(&codes) {
            let agreement = agrees(&nest.run(code, &case, &context, formats), &relation, &of_result);
            assert!(agreement.equal, "{e} {formats:?}\n{:?}\n{}", case.variables, nest.kernel);
            if !formats["r"].levels.contains(&LevelKind::Dense) && !formats["r"].levels.is_empty() {
                exact = [exact[0] + agreement.support as usize, exact[1] + 1];
            }
        }
    });
    (all.len(), runs, exact)
}

fn var(n: usize) -> Box<Expr> {
    Box::new(Expr::Var(n))
}

fn times(x: Box<Expr>, y: Box<Expr>) -> Box<Expr> {
    Box::new(Expr::Mul(x, y))
}

fn total(a: Attribute, e: Box<Expr>) -> Box<Expr> {
    Box::new(Expr::Contract(a, e))
}

fn expand(a: Attribute, e: Box<Expr>) -> Box<Expr> {
    Box::new(Expr::Expand(a, e))
}

/// Bounds: all pairs of vectors of extent 3, and triples of extent 2; every format of each vector and of the result. Of two programs over
/// triples one is for `cargo xtask test --long`.
///
/// A result stores just the support, but where an operand is dense: what is read there is stored, be it zero or not.
#[test]
fn nests_over_vectors() {
    let (x, y, z) = (|| var(0), || var(1), || var(2));
    let plus = |x, y| Box::new(Expr::Add(x, y));
    assert_eq!(on_all_data(&plus(x(), y()), &["i", "i"], 3, &formats), (125, 64, [6400, 6400]));
    assert_eq!(on_all_data(&times(x(), y()), &["i", "i"], 3, &formats), (125, 64, [5808, 6400]));
    assert_eq!(on_all_data(&total('i', times(x(), y())), &["i", "i"], 3, &formats), (25, 64, [0, 0]));
    let three = ["i", "i", "i"];
    if crate::all_is_tried() {
        assert_eq!(on_all_data(&plus(times(x(), y()), z()), &three, 2, &formats), (625, 64, [31264, 32000]));
    }
    assert_eq!(on_all_data(&times(plus(x(), y()), z()), &three, 2, &formats), (625, 64, [30040, 32000]));
}

/// Bounds: all 2 × 2 matrices with all vectors, in every format; all pairs of 2 × 2 matrices in four formats each. Of four programs over
/// pairs two are for `cargo xtask test --long`.
///
/// A contracted row is stored where the sum was begun, though nothing met in it.
#[test]
fn nests_over_matrices() {
    use LevelKind::*;
    let few = |rank| match rank {
        1 => vec![Format::of(vec![Dense]), Format::of(vec![Compressed]), Format::of(vec![Bitmap])],
        2 => ["csr", "csc", "dcsr", "coo"].map(|name| Format::named(name, 2).expect("of matrices")).to_vec(),
        rank => formats(rank),
    };
    let (x, y) = (|| var(0), || var(1));
    let spmv = total('j', times(x(), expand('i', y())));
    assert_eq!(on_all_data(&spmv, &["ij", "j"], 2, &formats), (400, 100, [28028, 32000]));
    let plus = Box::new(Expr::Add(x(), y()));
    assert_eq!(on_all_data(&plus, &["ij", "ij"], 2, &few), (64, 625, [20000, 20000]));
    if crate::all_is_tried() {
        assert_eq!(on_all_data(&times(x(), y()), &["ij", "ij"], 2, &few), (64, 625, [20000, 20000]));
        assert_eq!(on_all_data(&total('i', plus), &["ij", "ij"], 2, &few), (48, 625, [20000, 20000]));
    }
    let rows = total('j', times(expand('k', x()), expand('i', y())));
    assert_eq!(on_all_data(&rows, &["ij", "jk"], 2, &few), (64, 625, [20000, 20000]));
}
