//! Theorem 6.1 of the streams paper: evaluating the stream of an expression is evaluating the expression on relations.
//!
//! ```text
//!               ┌ Expr::stream ──▶ Typed ──▶ evaluate ┐
//!   e, data ────┤                                     ├ equal at every tuple, and zero at no other
//!               └ Expr::at, at each tuple ────────────┘
//! ```
//!
//! Data are trees ([`Tree`]) from which a stream and, without it, a relation are made; entries have names, so that one
//! check with [`Polynomial`]s is a check in every semiring. Streams may rest where they are not ready. All streams of
//! expressions are held to the laws, too. Bounds stand at each test.

use crate::choose::{Choose, every};
use crate::semiring::{Sample, sample};
use fiberloom_semantics::stream::{
    Attribute, Context, Expr, LAWS, Label, Law, MinPlus, Nested, Polynomial, Relation, Schema, Semiring, Shape, Type,
    Typed, Variable, dense, product, sparse,
};
use quickcheck::{Arbitrary, Gen, QuickCheck};
use std::collections::BTreeMap;
use std::num::Wrapping;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a level holds at an index, the later kinds with states that are not ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kinds {
    /// Nothing, or an entry: streams are settled.
    Settled = 1,
    /// Or a state that is not ready.
    Internal = 2,
    /// Or such a state and then an entry.
    Both = 3,
}

/// Nested entries: what a stream and its relation are both made from.
#[derive(Clone, Debug)]
pub enum Tree {
    /// A scalar, by name.
    Entry(u32),
    /// Indices, ascending; without a tree where the stream rests but is not ready.
    Level(Vec<(i64, Option<Tree>)>),
}

impl Tree {
    /// Any of these extents. Its entries are numbered on from `names`.
    pub fn choose(c: &mut impl Choose, extents: &[i64], kinds: Kinds, names: &mut u32) -> Tree {
        let Some((extent, inner)) = extents.split_first() else {
            *names += 1;
            return Tree::Entry(*names);
        };
        let mut entries = Vec::new();
        for i in 0..*extent {
            let kind = c.upto(kinds as usize);
            if kind >= 2 {
                entries.push((i, None));
            }
            if kind % 2 == 1 {
                entries.push((i, Some(Tree::choose(c, inner, kinds, names))));
            }
        }
        Tree::Level(entries)
    }

    /// As a stream.
    pub fn stream<K: Semiring>(&self, value: &impl Fn(u32) -> K) -> Nested<K> {
        match self {
            Tree::Entry(name) => Nested::Value(value(*name)),
            Tree::Level(entries) => sparse(entries.iter().map(|(i, e)| (*i, e.as_ref().map(|e| e.stream(value))))),
        }
    }

    /// The same over listed sets, one a level: at each index the label of its place.
    fn labelled<K: Semiring>(&self, sets: &[Rc<[Label]>], value: &impl Fn(u32) -> K) -> Nested<K, Label> {
        match self {
            Tree::Entry(name) => Nested::Value(value(*name)),
            Tree::Level(entries) => sparse(entries.iter().map(|(i, e)| {
                let below = e.as_ref().map(|e| e.labelled(&sets[1..], value));
                (sets[0][*i as usize].clone(), below)
            })),
        }
    }

    /// As a relation.
    pub fn relation<K: Semiring>(&self, value: &impl Fn(u32) -> K) -> Relation<K> {
        let mut relation = Relation::zero();
        self.each(&mut Vec::new(), &mut |at, name| relation.add(at, &value(name)));
        relation
    }

    fn each(&self, at: &mut Vec<i64>, f: &mut impl FnMut(&[i64], u32)) {
        match self {
            Tree::Entry(name) => f(at, *name),
            Tree::Level(entries) => {
                for (i, tree) in entries.iter().filter_map(|(i, e)| Some((i, e.as_ref()?))) {
                    at.push(*i);
                    tree.each(at, f);
                    at.pop();
                }
            }
        }
    }

    /// As a variable of these attributes.
    pub fn variable<K: Semiring>(&self, shape: &Shape, value: &impl Fn(u32) -> K) -> Variable<K> {
        let ty: Type = shape.iter().copied().map(Some).collect();
        Variable { stream: Typed { ty, stream: self.stream(value) }, relation: self.relation(value) }
    }
}

/// An expression with data.
#[derive(Clone, Debug)]
pub struct Case {
    /// The expression.
    pub e: Expr,
    /// Index sets.
    pub schema: Schema,
    /// By number.
    pub variables: Vec<(Shape, Tree)>,
}

impl Case {
    /// The expression's shape, which it has.
    pub fn shape(&self) -> Shape {
        let shapes: Vec<Shape> = self.variables.iter().map(|v| v.0.clone()).collect();
        self.e.shape(&shapes, &self.schema).unwrap_or_else(|e| panic!("{}: {e:?}", self.e))
    }

    /// Its variables, entries having these values.
    pub fn context<K: Semiring>(&self, value: impl Fn(u32) -> K) -> Context<K> {
        let variables = self.variables.iter().map(|(shape, tree)| tree.variable(shape, &value)).collect();
        Context { schema: self.schema.clone(), variables }
    }

    /// *Theorem 6.1* in one semiring.
    fn theorem<K: Semiring>(&self, value: impl Fn(u32) -> K) -> bool {
        let context = self.context(value);
        let relation = self.e.stream(&context).evaluate();
        let mut wanted = Relation::zero();
        for t in tuples(&self.shape(), &self.schema) {
            wanted.add(&t.values().copied().collect::<Vec<_>>(), &self.e.at(&context, &t));
        }
        relation == wanted
    }

    /// The same over labels: attributes of one extent have one set, of numbers and texts.
    fn labelled<K: Semiring>(&self, value: impl Fn(u32) -> K) -> Context<K, Label> {
        let schema: Schema<Label> = self.schema.iter().map(|(a, extent)| (*a, labels(*extent))).collect();
        let variable = |(shape, tree): &(Shape, Tree)| {
            let sets: Vec<Rc<[Label]>> = shape.iter().map(|a| schema[a].clone()).collect();
            let mut relation = Relation::zero();
            tree.each(&mut Vec::new(), &mut |at, name| {
                let tuple: Vec<Label> = at.iter().zip(&sets).map(|(i, set)| set[*i as usize].clone()).collect();
                relation.add(&tuple, &value(name));
            });
            let ty: Type = shape.iter().copied().map(Some).collect();
            Variable { stream: Typed { ty, stream: tree.labelled(&sets, &value) }, relation }
        };
        Context { variables: self.variables.iter().map(variable).collect(), schema }
    }

    /// *Theorem 6.1* over labels, and the laws of the streams.
    fn holds_over_labels(&self) -> bool {
        let context = self.labelled(Polynomial::name);
        let stream = self.e.stream(&context);
        let mut wanted = Relation::zero();
        for t in tuples(&self.shape(), &self.schema) {
            let t: BTreeMap<Attribute, Label> =
                t.into_iter().map(|(a, i)| (a, context.schema[&a][i as usize].clone())).collect();
            wanted.add(&t.values().cloned().collect::<Vec<_>>(), &self.e.at(&context, &t));
        }
        stream.evaluate() == wanted && Law::broken(&LAWS, &stream, &context.schema).is_empty()
    }

    fn broken_laws(&self) -> Vec<Law> {
        Law::broken(&LAWS, &self.e.stream(&self.context(Polynomial::name)), &self.schema)
    }
}

/// A set of so many labels, three at most: numbers, then texts.
fn labels(extent: i64) -> Rc<[Label]> {
    let [few, many] = [Label::Number(-7), Label::Number(1 << 40)];
    let text = Label::Text("".into());
    match extent {
        1 => [text].into(),
        2 => [few, text].into(),
        _ => [few, many, Label::Text("b".into())].into(),
    }
}

/// All tuples of a shape, in ascending order.
pub fn tuples(shape: &Shape, schema: &Schema) -> Vec<BTreeMap<Attribute, i64>> {
    shape.iter().fold(vec![BTreeMap::new()], |tuples, a| {
        let with = |t: BTreeMap<_, _>| (0..schema[a]).map(move |i| t.clone().into_iter().chain([(*a, i)]).collect());
        tuples.into_iter().flat_map(with).collect()
    })
}

/// Any expression of a shape, of at most this depth. Variables 2n and 2n + 1 have the n-th of these shapes.
fn expression(c: &mut impl Choose, shape: &Shape, depth: usize, shapes: &[Shape], schema: &Schema) -> Expr {
    let of = |shape: &Shape, c: &mut _| Box::new(expression(c, shape, depth - 1, shapes, schema));
    let variable = 2 * shapes.iter().position(|s| s == shape).expect("variables of every shape");
    let inside: Vec<Attribute> = shape.iter().copied().collect();
    let outside: Vec<Attribute> = schema.keys().copied().filter(|a| !shape.contains(a)).collect();
    let extents = |s: &Shape| s.iter().map(|a| schema[a]).collect::<Vec<_>>();
    let renamed: Vec<&Shape> = shapes.iter().filter(|s| *s != shape && extents(s) == extents(shape)).collect();
    let ways = 2 + if depth == 0 { 0 } else { 2 + inside.len() + outside.len() + renamed.len() };
    match c.upto(ways - 1) {
        n @ (0 | 1) => Expr::Var(variable + n),
        2 => Expr::Add(of(shape, c), of(shape, c)),
        3 => Expr::Mul(of(shape, c), of(shape, c)),
        n => match (inside.get(n - 4), outside.get((n - 4).wrapping_sub(inside.len()))) {
            (Some(a), _) => Expr::Expand(*a, of(&shape.iter().copied().filter(|b| b != a).collect(), c)),
            (_, Some(a)) => Expr::Contract(*a, of(&shape.iter().copied().chain([*a]).collect(), c)),
            _ => {
                let from = renamed[n - 4 - inside.len() - outside.len()];
                Expr::Name(from.iter().copied().zip(inside.iter().copied()).collect(), of(from, c))
            }
        },
    }
}

/// Every set of the first attributes.
fn shapes(schema: &Schema) -> Vec<Shape> {
    let all: Vec<Attribute> = schema.keys().copied().collect();
    let subset = |bits: usize| all.iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1).map(|(_, a)| *a).collect();
    (0..1 << all.len()).map(subset).collect()
}

/// Two variables of every shape.
fn variables(c: &mut impl Choose, schema: &Schema, kinds: Kinds) -> Vec<(Shape, Tree)> {
    let mut names = 0;
    let mut tree = |s: &Shape, c: &mut _| {
        let extents: Vec<i64> = s.iter().map(|a| schema[a]).collect();
        (s.clone(), Tree::choose(c, &extents, kinds, &mut names))
    };
    shapes(schema).iter().flat_map(|s| [tree(s, c), tree(s, c)]).collect()
}

impl Choose for Gen {
    fn upto(&mut self, most: usize) -> usize {
        let choices: Vec<usize> = (0..=most).collect();
        *self.choose(&choices).expect("a choice")
    }
}

/// Random cases: three attributes of extents 1 to 3, expressions of depth 4.
impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Case {
        let schema: Schema = ['i', 'j', 'k'].into_iter().map(|a| (a, 1 + g.upto(2) as i64)).collect();
        let shapes = shapes(&schema);
        let shape = shapes[g.upto(shapes.len() - 1)].clone();
        let e = expression(g, &shape, 4, &shapes, &schema);
        let kinds = [Kinds::Settled, Kinds::Internal, Kinds::Both][g.upto(2)];
        Case { e, variables: variables(g, &schema, kinds), schema }
    }

    /// Its parts, which are cases by themselves.
    fn shrink(&self) -> Box<dyn Iterator<Item = Case>> {
        let parts = match self.e.clone() {
            Expr::Var(_) => vec![],
            Expr::Add(x, y) | Expr::Mul(x, y) => vec![*x, *y],
            Expr::Contract(_, e) | Expr::Expand(_, e) | Expr::Name(_, e) => vec![*e],
        };
        let case = self.clone();
        Box::new(parts.into_iter().map(move |e| Case { e, ..case.clone() }))
    }
}

/// Random expressions in four semirings; and the laws of their streams.
#[test]
fn random_expressions() {
    static NOT_ZERO: AtomicUsize = AtomicUsize::new(0);
    fn case_holds(case: Case) -> bool {
        let some = case.e.stream(&case.context(Polynomial::name)).evaluate() != Relation::zero();
        NOT_ZERO.fetch_add(some as usize, Ordering::Relaxed);
        case.theorem(Polynomial::name)
            && case.theorem(sample::<Wrapping<u64>>)
            && case.theorem(sample::<bool>)
            && case.theorem(sample::<MinPlus>)
            && case.broken_laws().is_empty()
            && case.holds_over_labels()
    }
    let source = Gen::from_size_and_seed(1, 61);
    QuickCheck::new().rng(source).tests(4000).max_tests(4000).quickcheck(case_holds as fn(Case) -> bool);
    let some = NOT_ZERO.load(Ordering::Relaxed);
    assert!(some > 2000, "only {some} of 4000 are not zero everywhere");
}

/// Bounds: every expression of depth ≤ 2 over two attributes of extent 2 and two variables of every shape; 20 data.
#[test]
fn every_small_expression() {
    let schema: Schema = [('i', 2), ('j', 2)].into();
    let shapes = shapes(&schema);
    for seed in 0..20 {
        let variables = variables(&mut Gen::from_size_and_seed(1, seed), &schema, Kinds::Both);
        let runs = every(|c| {
            let shape = &shapes[c.upto(3)];
            let e = expression(c, shape, 2, &shapes, &schema);
            let case = Case { e, schema: schema.clone(), variables: variables.clone() };
            assert!(case.theorem(Polynomial::name), "{}\n{:?}", case.e, case.variables);
        });
        assert!(runs > 1500, "only {runs} expressions");
    }
}

fn var(n: usize) -> Box<Expr> {
    Box::new(Expr::Var(n))
}
fn add(x: Box<Expr>, y: Box<Expr>) -> Box<Expr> {
    Box::new(Expr::Add(x, y))
}
fn mul(x: Box<Expr>, y: Box<Expr>) -> Box<Expr> {
    Box::new(Expr::Mul(x, y))
}
fn total(a: Attribute, e: Box<Expr>) -> Box<Expr> {
    Box::new(Expr::Contract(a, e))
}
fn expand(a: Attribute, e: Box<Expr>) -> Box<Expr> {
    Box::new(Expr::Expand(a, e))
}

/// All data of these shapes: the theorem of each expression with named entries, and the laws if asked for.
fn on_all_data(shapes: &[&str], extent: i64, kinds: Kinds, laws: bool, expressions: &[Box<Expr>]) -> usize {
    let schema: Schema = "ijk".chars().map(|a| (a, extent)).collect();
    every(|c| {
        let mut names = 0;
        let mut tree = |s: &&str| {
            let extents = vec![extent; s.len()];
            (s.chars().collect(), Tree::choose(c, &extents, kinds, &mut names))
        };
        let variables: Vec<(Shape, Tree)> = shapes.iter().map(&mut tree).collect();
        for e in expressions {
            let case = Case { e: (**e).clone(), schema: schema.clone(), variables: variables.clone() };
            assert!(case.theorem(Polynomial::name), "{e}\n{:?}", case.variables);
            let broken = if laws { case.broken_laws() } else { vec![] };
            assert_eq!(broken, [], "{e}\n{:?}", case.variables);
        }
    })
}

/// Bounds: all pairs of vectors of extent 3, each index absent, not ready, ready, or one after the other (64²).
#[test]
fn every_pair_of_vectors() {
    let (x, y) = (|| var(0), || var(1));
    let strict = [add(x(), y()), mul(x(), y())];
    assert_eq!(on_all_data(&["i", "i"], 3, Kinds::Both, true, &strict), 4096);
    let i = 'i';
    let contracted = [total(i, add(x(), y())), total(i, mul(x(), y())), add(total(i, x()), total(i, y()))];
    assert_eq!(on_all_data(&["i", "i"], 3, Kinds::Both, false, &contracted), 4096);
}

/// Bounds: the same with extent 2 (16²), all operators applied to them once more, with laws.
#[test]
fn every_pair_of_short_vectors() {
    let (x, y) = (|| var(0), || var(1));
    let (i, j) = ('i', 'j');
    let both = [
        total(i, mul(x(), y())),
        add(total(i, x()), total(i, y())),
        mul(total(i, x()), total(i, y())),
        mul(total(i, add(x(), y())), total(i, x())),
        add(expand(j, x()), expand(j, y())),
        mul(expand(j, x()), expand(j, y())),
        total(j, expand(j, mul(x(), y()))),
        total(i, expand(j, mul(x(), y()))),
    ];
    assert_eq!(on_all_data(&["i", "i"], 2, Kinds::Both, true, &both), 256);
}

/// Bounds: all triples of vectors of extent 2, each index absent, ready or not ready (9³).
#[test]
fn every_triple_of_vectors() {
    let (x, y, z) = (|| var(0), || var(1), || var(2));
    let three = [
        mul(mul(x(), y()), z()),
        add(add(x(), y()), z()),
        add(mul(x(), y()), z()),
        mul(add(x(), y()), z()),
        mul(x(), add(y(), z())),
    ];
    assert_eq!(on_all_data(&["i", "i", "i"], 2, Kinds::Internal, true, &three), 729);
}

/// Bounds: all pairs of 2 × 2 matrices, rows and entries absent, ready or not ready (a row that is ready may be empty);
/// with laws where they are settled.
#[test]
fn every_pair_of_matrices() {
    let (x, y) = (|| var(0), || var(1));
    let (i, j) = ('i', 'j');
    let pairs = [
        add(x(), y()),
        mul(x(), y()),
        total(j, mul(x(), y())),
        total(i, add(x(), y())),
        total(i, total(j, mul(x(), y()))),
        add(total(i, x()), total(i, y())),
    ];
    assert_eq!(on_all_data(&["ij", "ij"], 2, Kinds::Internal, false, &pairs), 14641);
    assert_eq!(on_all_data(&["ij", "ij"], 2, Kinds::Settled, true, &pairs), 625);
}

/// Bounds: all pairs of 2 × 2 matrices, settled: x : [i, k], y : [k, j] by the linear combination of rows, with k
/// between (Example 5.9), and by inner products, with k innermost; a matrix and a vector.
#[test]
fn matrix_products() {
    let (x, y) = (|| var(0), || var(1));
    let rows = total('j', mul(expand('k', x()), expand('i', y())));
    assert_eq!(on_all_data(&["ij", "jk"], 2, Kinds::Settled, true, &[rows]), 625);
    let inner = total('k', mul(expand('j', x()), expand('i', y())));
    assert_eq!(on_all_data(&["ik", "jk"], 2, Kinds::Settled, true, &[inner]), 625);
    let vector = [total('j', mul(x(), expand('i', y()))), add(total('i', x()), y()), mul(total('i', x()), y())];
    assert_eq!(on_all_data(&["ij", "j"], 2, Kinds::Internal, true, &vector), 1089);
}

/// Bounds: all pairs of vectors of extent 3, each index absent or holding one of three elements (zero is one), in each
/// semiring that is not free.
#[test]
fn every_pair_of_values() {
    fn of<K: Sample>() {
        let runs = every(|c| {
            let mut vector = || {
                let entries = (0..3).filter_map(|i| match c.upto(K::SAMPLES.len().min(3)) {
                    0 => None,
                    n => Some((i, Some(Tree::Entry(n as u32 - 1)))),
                });
                (Shape::from(['i']), Tree::Level(entries.collect()))
            };
            let variables = vec![vector(), vector()];
            let (x, y) = (|| var(0), || var(1));
            for e in [add(x(), y()), mul(x(), y()), total('i', add(mul(x(), y()), x()))] {
                let case = Case { e: *e, schema: [('i', 3)].into(), variables: variables.clone() };
                assert!(case.theorem(sample::<K>), "{}\n{:?}", case.e, case.variables);
            }
        });
        assert!(runs >= 729, "only {runs} pairs");
    }
    of::<Wrapping<u64>>();
    of::<bool>();
    of::<MinPlus>();
}

/// A polynomial's value is that of the same expression in another semiring: what "free" promises.
#[test]
fn polynomials_are_free() {
    let mut g = Gen::from_size_and_seed(1, 7);
    for _ in 0..100 {
        let case = Case::arbitrary(&mut g);
        let (free, values) = (case.context(Polynomial::name), case.context(sample::<Wrapping<u64>>));
        for t in tuples(&case.shape(), &case.schema) {
            let value = case.e.at(&free, &t).at(sample::<Wrapping<u64>>);
            assert_eq!(value, case.e.at(&values, &t), "{}", case.e);
        }
    }
}

/// An expansion without an end is a fine factor of what ends.
#[test]
fn infinite_expansions() {
    let x = Tree::Level(vec![(2, Some(Tree::Entry(1))), (5, Some(Tree::Entry(2)))]);
    let ones = dense(fiberloom_semantics::stream::END, |_| Nested::Value(Polynomial::one()));
    let stream = product(x.stream(&Polynomial::name), ones);
    let ty = vec![Some('i')];
    assert_eq!(Typed { ty, stream }.evaluate(), x.relation(&Polynomial::name));
}

/// What has no shape, and why.
#[test]
fn ill_typed_expressions() {
    let schema: Schema = [('i', 2), ('j', 2), ('k', 3)].into();
    let shapes: [Shape; 2] = [['i', 'j'].into(), ['i'].into()];
    let name = |rho: &[(char, char)], n| Expr::Name(rho.iter().copied().collect(), var(n));
    for (e, why) in [
        (*add(var(0), var(1)), "v0 has the shape {'i', 'j'} and v1 has {'i'}"),
        (*total('k', var(1)), "v1 of shape {'i'} is contracted over k"),
        (*expand('i', var(1)), "v1 is expanded over i, which it has"),
        (*expand('z', var(1)), "no index set of z"),
        (*var(2), "no variable v2"),
        (name(&[('i', 'j'), ('j', 'i')], 0), "{'i': 'j', 'j': 'i'} does not keep the order"),
        (name(&[('i', 'k')], 1), "{'i': 'k'} changes an index set"),
        (name(&[('j', 'k')], 1), "{'j': 'k'} does not rename the shape {'i'} of v1"),
    ] {
        let message = e.shape(&shapes, &schema).map_err(|e| e.0);
        assert_eq!(message, Err(why.to_string()));
    }
}
