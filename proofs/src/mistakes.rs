//! Operators on streams that are wrong in one thing each, and what catches them: a law, the theorem, or both.
//!
//! Some are the deviations that `semantics/src/stream.rs` names: what would go wrong with the text of the paper. Data:
//! all pairs of vectors of extent 3, each index absent, not ready, ready, or one after the other (64²).

use crate::choose::every;
use crate::theorem::{Kinds, Tree};
use crate::wrong::Wrong;
use fiberloom_semantics::stream::{
    Bound, END, LAWS, Law, Level, Nested, Polynomial, Relation, Schema, Semiring, Stream, Type, Typed, contract, dense,
    product, sum,
};
use std::rc::Rc;

/// A mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mistake {
    /// A product that is ready whenever its factors are, wherever they are.
    ProductAnywhere,
    /// A product whose factors skip past an index when they need only come to it.
    ProductSkipsPast,
    /// A product that leaves its second factor where it is.
    ProductLeavesOneBehind,
    /// A sum that follows the smaller index, not the smaller (index, ready).
    SumByIndex,
    /// A sum that is ready only when its first term is.
    SumForgetsASide,
    /// A sum that, where both terms are ready, gives the first.
    SumOfOne,
    /// A contraction that ends one state too early.
    ContractDropsLast,
    /// A contraction that skips past the index at which it only needs to be.
    ContractSkipsPast,
    /// A vector whose skip lands one state too far.
    SkipOversteps,
    /// A vector whose skip past an index only comes to it.
    SkipUndersteps,
    /// A vector whose skip takes one step: enough for the paper, not for a seek.
    SkipIsOneStep,
    /// An expansion that skips to i + r from anywhere: the text of section 5.1.3.
    ExpansionGoesBack,
    /// A vector in which two states may be ready at one index.
    RepeatsIndex,
}
use Mistake::*;

impl Mistake {
    fn is_of_two(self) -> bool {
        [ProductAnywhere, ProductSkipsPast, ProductLeavesOneBehind, SumByIndex, SumForgetsASide, SumOfOne]
            .contains(&self)
    }
}

/// What a mistake was made in: y is another operand, or for vectors their first state.
struct Mistaken {
    mistake: Mistake,
    x: Level<Polynomial>,
    y: Level<Polynomial>,
}

impl Mistaken {
    fn with(&self, x: Level<Polynomial>, y: Level<Polynomial>) -> Level<Polynomial> {
        Rc::new(Mistaken { mistake: self.mistake, x, y })
    }

    /// What it would be without the mistake.
    fn right(&self) -> Level<Polynomial> {
        let (x, y) = (Nested::Stream(self.x.clone()), Nested::Stream(self.y.clone()));
        level(match self.mistake {
            ProductAnywhere | ProductSkipsPast | ProductLeavesOneBehind => product(x, y),
            SumByIndex | SumForgetsASide | SumOfOne => sum(x, y),
            ContractDropsLast | ContractSkipsPast => contract(x),
            _ => x,
        })
    }
}

fn level(q: Nested<Polynomial>) -> Level<Polynomial> {
    match q {
        Nested::Stream(q) => q,
        Nested::Value(_) => panic!("a value"),
    }
}

impl Stream<Polynomial> for Mistaken {
    fn state(&self) -> Vec<i64> {
        [self.x.state(), self.y.state()].concat()
    }
    fn index(&self) -> i64 {
        match (self.mistake, self.right().index()) {
            (ContractDropsLast, _) if self.x.index() == END || self.x.next().index() == END => END,
            (RepeatsIndex, i) if i != END => i / 2,
            (_, i) => i,
        }
    }
    fn ready(&self) -> bool {
        let (x, y) = (&self.x, &self.y);
        match self.mistake {
            ProductAnywhere => x.ready() && y.ready(),
            SumByIndex => x.index() <= y.index() && x.ready() || y.index() <= x.index() && y.ready(),
            SumForgetsASide => x.order() <= y.order() && x.ready(),
            _ => self.right().ready(),
        }
    }
    fn value(&self) -> Nested<Polynomial> {
        let (x, y) = (&self.x, &self.y);
        match self.mistake {
            ProductAnywhere => product(x.value(), y.value()),
            SumByIndex if x.index() == y.index() && !x.ready() => y.value(),
            SumByIndex if x.index() == y.index() && !y.ready() => x.value(),
            SumOfOne if x.order() <= y.order() => x.value(),
            _ => self.right().value(),
        }
    }
    fn skip(&self, to: Bound) -> Level<Polynomial> {
        let (x, y) = (&self.x, &self.y);
        let past = (to.0, true);
        match self.mistake {
            ProductSkipsPast => self.with(x.skip(past), y.skip(past)),
            ProductLeavesOneBehind => self.with(x.skip(to), y.clone()),
            ContractDropsLast => self.with(x.skip((x.index(), to.1)), y.clone()),
            ContractSkipsPast => self.with(x.skip((x.index(), true)), y.clone()),
            SkipOversteps => self.with(x.skip(to).next(), y.clone()),
            SkipUndersteps => self.with(x.skip((to.0, false)), y.clone()),
            SkipIsOneStep if x.order() <= to => self.with(x.next(), y.clone()),
            SkipIsOneStep => self.with(x.clone(), y.clone()),
            ExpansionGoesBack => self.with(y.skip(to), y.clone()),
            RepeatsIndex if self.order() <= to => self.with(x.next().skip((to.0.saturating_mul(2), false)), y.clone()),
            RepeatsIndex => self.with(x.clone(), y.clone()),
            _ => self.with(x.skip(to), y.skip(to)),
        }
    }
}

fn schema() -> Schema {
    [('i', 3)].into()
}

fn vector() -> Type {
    vec![Some('i')]
}

/// The relation of a type from values at indices.
fn relation(values: impl Fn(i64) -> Polynomial, ty: &Type) -> Relation<Polynomial> {
    let mut relation = Relation::zero();
    for i in 0..3 {
        let tuple: Vec<i64> = ty.iter().flatten().map(|_| i).collect();
        relation.add(&tuple, &values(i));
    }
    relation
}

/// Everything that data show to be broken: laws, and the theorem where the stream ends.
fn caught(mistake: Mistake) -> Wrong {
    let vectors = [SkipOversteps, SkipUndersteps, SkipIsOneStep, ExpansionGoesBack, RepeatsIndex];
    // Products, sums and contractions may stop on their way, so they need not skip as vectors do.
    let last = vectors.contains(&mistake).then_some(Law::SkipIsRepeatedNext);
    let laws: Vec<Law> = LAWS.into_iter().chain(last).collect();
    Wrong::on_all("a stream", format!("{mistake:?}"), |c| {
        let mut names = 0;
        let x = Tree::choose(c, &[3], Kinds::Both, &mut names);
        let y = if mistake.is_of_two() { Tree::choose(c, &[3], Kinds::Both, &mut names) } else { x.clone() };
        let (q, wanted) = make(mistake, &x, &y);
        let broken = Law::broken(&laws, &q, &schema());
        let theorem = !broken.contains(&Law::Terminates) && q.evaluate() != wanted;
        broken.iter().map(|law| format!("{law:?}")).chain(theorem.then(|| "Theorem".to_string())).collect()
    })
}

/// The wrong stream on these data, and what it should evaluate to.
fn make(mistake: Mistake, x: &Tree, y: &Tree) -> (Typed<Polynomial>, Relation<Polynomial>) {
    let name = Polynomial::name;
    let (rx, ry) = (x.relation(&name), y.relation(&name));
    let (sx, sy) = (level(x.stream(&name)), level(y.stream(&name)));
    let ones = || level(dense(3, |_| Nested::Value(Polynomial::one())));
    let star: Type = vec![None];
    let (ty, operands, wanted) = match mistake {
        ProductAnywhere | ProductSkipsPast | ProductLeavesOneBehind => {
            (vector(), (sx, sy), relation(|i| rx.at(&[i]).times(&ry.at(&[i])), &vector()))
        }
        SumByIndex | SumForgetsASide | SumOfOne => {
            (vector(), (sx, sy), relation(|i| rx.at(&[i]).plus(&ry.at(&[i])), &vector()))
        }
        ContractDropsLast | ContractSkipsPast => (star.clone(), (sx.clone(), sx), relation(|i| rx.at(&[i]), &star)),
        ExpansionGoesBack => (vector(), (ones(), ones()), relation(|_| Polynomial::one(), &vector())),
        RepeatsIndex => {
            let halves = |i| rx.at(&[2 * i]).plus(&rx.at(&[2 * i + 1]));
            (vector(), (sx.clone(), sx), relation(halves, &vector()))
        }
        _ => (vector(), (sx.clone(), sx), rx),
    };
    let (x, y) = operands;
    (Typed { ty, stream: Nested::Stream(Rc::new(Mistaken { mistake, x, y })) }, wanted)
}

/// Each mistake, with all that catches it.
pub fn wrong() -> Vec<Wrong> {
    let operators = [
        ProductAnywhere,
        ProductSkipsPast,
        ProductLeavesOneBehind,
        SumByIndex,
        SumForgetsASide,
        SumOfOne,
        ContractDropsLast,
        ContractSkipsPast,
    ];
    let vectors = [SkipOversteps, SkipUndersteps, SkipIsOneStep, ExpansionGoesBack, RepeatsIndex];
    operators.into_iter().chain(vectors).map(caught).collect()
}

/// The theorem's hypothesis is needed: a contracted stream, its dummy taken for an attribute, is not strictly
/// monotonic, and a product of two pairs their terms by number.
#[test]
fn products_need_strict_monotonicity() {
    let name = Polynomial::name;
    let [x, y] = [1, 3].map(|n| Tree::Level(vec![(0, Some(Tree::Entry(n))), (2, Some(Tree::Entry(n + 1)))]));
    let [sx, sy] = [&x, &y].map(|v| contract(v.stream(&name)));
    let as_attribute = Typed { ty: vec![Some('i')], stream: sx.clone() };
    assert_eq!(Law::broken(&LAWS, &as_attribute, &schema()), [Law::StrictlyMonotone]);
    let by_number = name(1).times(&name(3)).plus(&name(2).times(&name(4)));
    let all = name(1).plus(&name(2)).times(&name(3).plus(&name(4)));
    let of = |stream| Typed { ty: vec![None], stream };
    assert_eq!(of(product(sx.clone(), sy.clone())).evaluate().at(&[]), by_number);
    assert_eq!(of(sx).times(of(sy)).evaluate().at(&[]), all);
}

/// A state that is not ready, at index 0, and that only a skip to its own order moves, to the end.
struct Lingers {
    ended: bool,
}

impl Stream<Polynomial> for Lingers {
    fn state(&self) -> Vec<i64> {
        vec![self.ended as i64]
    }
    fn index(&self) -> i64 {
        if self.ended { END } else { 0 }
    }
    fn ready(&self) -> bool {
        false
    }
    fn value(&self) -> Nested<Polynomial> {
        panic!("it has no values")
    }
    fn skip(&self, to: Bound) -> Level<Polynomial> {
        Rc::new(Lingers { ended: self.ended || to == (0, false) })
    }
}

/// [`Law::Terminates`] is of δ alone, and a product needs more: at (1, not ready), its factors at 1 and 0 both rest when they are
/// skipped there, though each obeys the four laws. The proof in Coq supposes that skips move (`terminates` in
/// `proofs/coq/Stream.v`), which [`Law::SkipIsRepeatedNext`] implies.
#[test]
fn products_need_skips_that_move() {
    let of = |stream| Typed { ty: vector(), stream };
    let one = || Tree::Level(vec![(1, Some(Tree::Entry(1)))]).stream(&Polynomial::name);
    let lingers = || Nested::Stream(Rc::new(Lingers { ended: false }) as Level<Polynomial>);
    let broken = |laws: &[Law], stream| Law::broken(laws, &of(stream), &schema());
    assert_eq!(broken(&LAWS, one()), []);
    assert_eq!(broken(&LAWS, lingers()), []);
    assert_eq!(broken(&[Law::SkipIsRepeatedNext], lingers()), [Law::SkipIsRepeatedNext]);
    assert_eq!(broken(&LAWS, product(one(), lingers())), [Law::Terminates]);
}

/// A sum needs no strict monotonicity: one term may be ready twice at an index.
#[test]
fn sums_do_not() {
    every(|c| {
        let mut names = 0;
        let [x, y] = [(); 2].map(|()| Tree::choose(c, &[3], Kinds::Both, &mut names));
        let (q, twice) = make(RepeatsIndex, &x, &y);
        let other = y.variable(&['i'].into(), &Polynomial::name);
        let wanted = relation(|i| twice.at(&[i]).plus(&other.relation.at(&[i])), &vector());
        assert_eq!(q.plus(other.stream).evaluate(), wanted);
    });
}
