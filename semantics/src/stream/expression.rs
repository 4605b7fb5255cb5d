//! The language ℒ of contraction expressions, and its two meanings (Figures 4 and 9).
//!
//! ```text
//!   e ::= v | e + e | e · e | Σ_a e | ⇑_a e | name_ρ(e)
//! ```

use super::{Attribute, Index, Relation, Schema, Semiring, Typed};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The attributes that an expression is a function of.
pub type Shape = BTreeSet<Attribute>;

/// A contraction expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// A variable, by number.
    Var(usize),
    /// The sum of two expressions of one shape.
    Add(Box<Expr>, Box<Expr>),
    /// The product of two expressions, at each tuple.
    Mul(Box<Expr>, Box<Expr>),
    /// The sum over an attribute.
    Contract(Attribute, Box<Expr>),
    /// The same value at every index of a further attribute.
    Expand(Attribute, Box<Expr>),
    /// The expression with its attributes renamed.
    Name(BTreeMap<Attribute, Attribute>, Box<Expr>),
}

/// The values of a variable.
#[derive(Clone)]
pub struct Variable<K, I: Index = i64> {
    /// The variable in the stream algebra.
    pub stream: Typed<K, I>,
    /// The variable in the algebra of K-relations.
    pub relation: Relation<K, I>,
}

/// The index sets of attributes, and the values of variables.
#[derive(Clone)]
pub struct Context<K, I: Index = i64> {
    /// The index sets, by attribute.
    pub schema: Schema<I>,
    /// The variables, by number.
    pub variables: Vec<Variable<K, I>>,
}

/// The reason why an expression has no shape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IllTyped(pub String);

fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), IllTyped> {
    if holds { Ok(()) } else { Err(IllTyped(otherwise())) }
}

impl Expr {
    /// The expression's shape (Figure 4b), from those of the variables.
    ///
    /// # Errors
    /// If there is no shape, or a renaming does not keep the order of attributes: a stream of the new type could not be walked in the
    /// order of the old one (Definition 5.7).
    pub fn shape<S: PartialEq>(&self, variables: &[Shape], schema: &BTreeMap<Attribute, S>) -> Result<Shape, IllTyped> {
        let shape = |e: &Expr| e.shape(variables, schema);
        match self {
            Expr::Var(v) => variables.get(*v).cloned().ok_or_else(|| IllTyped(format!("no variable {self}"))),
            Expr::Add(x, y) | Expr::Mul(x, y) => {
                let (s, t) = (shape(x)?, shape(y)?);
                expect(s == t, || format!("{x} has the shape {s:?} and {y} has {t:?}"))?;
                Ok(s)
            }
            Expr::Contract(a, e) => {
                let mut s = shape(e)?;
                expect(s.remove(a), || format!("{e} of shape {s:?} is contracted over {a}"))?;
                Ok(s)
            }
            Expr::Expand(a, e) => {
                let mut s = shape(e)?;
                expect(schema.contains_key(a), || format!("no index set of {a}"))?;
                expect(s.insert(*a), || format!("{e} is expanded over {a}, which it has"))?;
                Ok(s)
            }
            Expr::Name(rho, e) => {
                let s = shape(e)?;
                expect(rho.keys().eq(&s), || format!("{rho:?} does not rename the shape {s:?} of {e}"))?;
                expect(rho.values().is_sorted_by(|a, b| a < b), || format!("{rho:?} does not keep the order"))?;
                let sets = rho.iter().all(|(a, b)| schema.get(a) == schema.get(b));
                expect(sets, || format!("{rho:?} changes an index set"))?;
                Ok(rho.values().copied().collect())
            }
        }
    }

    /// ⟦e⟧ in the stream algebra (Figure 9). The expression has a shape.
    pub fn stream<K: Semiring, I: Index>(&self, c: &Context<K, I>) -> Typed<K, I> {
        match self {
            Expr::Var(v) => c.variables[*v].stream.clone(),
            Expr::Add(x, y) => x.stream(c).plus(y.stream(c)),
            Expr::Mul(x, y) => x.stream(c).times(y.stream(c)),
            Expr::Contract(a, e) => e.stream(c).contract(*a),
            Expr::Expand(a, e) => e.stream(c).expand(*a, c.schema[a].clone()),
            Expr::Name(rho, e) => e.stream(c).rename(|a| rho[&a]),
        }
    }

    /// ⟦e⟧ in the algebra of K-relations, at one tuple of its shape (Figure 4c). The expression has a shape.
    pub fn at<K: Semiring, I: Index>(&self, c: &Context<K, I>, t: &BTreeMap<Attribute, I>) -> K {
        let with = |a: Attribute, i: I| {
            let mut t = t.clone();
            t.insert(a, i);
            t
        };
        match self {
            Expr::Var(v) => c.variables[*v].relation.at(&t.values().cloned().collect::<Vec<_>>()),
            Expr::Add(x, y) => x.at(c, t).plus(&y.at(c, t)),
            Expr::Mul(x, y) => x.at(c, t).times(&y.at(c, t)),
            Expr::Contract(a, e) => {
                let all = I::all(&c.schema[a]).into_iter();
                all.fold(K::zero(), |sum, i| sum.plus(&e.at(c, &with(*a, i))))
            }
            Expr::Expand(a, e) => {
                let mut t = t.clone();
                t.remove(a);
                e.at(c, &t)
            }
            Expr::Name(rho, e) => e.at(c, &rho.iter().map(|(a, b)| (*a, t[b].clone())).collect()),
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Var(v) => write!(f, "v{v}"),
            Expr::Add(x, y) => write!(f, "({x} + {y})"),
            Expr::Mul(x, y) => write!(f, "{x} · {y}"),
            Expr::Contract(a, e) => write!(f, "Σ{a}({e})"),
            Expr::Expand(a, e) => write!(f, "⇑{a}({e})"),
            Expr::Name(rho, e) => {
                let names: Vec<_> = rho.iter().map(|(a, b)| format!("{a}↦{b}")).collect();
                write!(f, "name[{}]({e})", names.join(" "))
            }
        }
    }
}
