//! Sequence expressions: the coordinates at which a body can differ from its value where nothing is present.

use super::Simplify;
use crate::algebra::{Op, Properties, Value};
use crate::notation::concrete::{AccessId, Expr};
use crate::notation::typed::Fun;
use std::fmt;

/// A set of coordinates of one loop, in terms of the lists that it walks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// ∅: nothing is left.
    Empty,
    /// 𝓕: the whole extent.
    Full,
    /// Where this access's list has an entry.
    List(AccessId),
    /// Intersection of two or more, none of them ∅, 𝓕 or an intersection.
    And(Vec<Sequence>),
    /// Union of two or more, none of them ∅, 𝓕 or a union.
    Or(Vec<Sequence>),
}

impl Sequence {
    /// The intersection, simplified: ∅ ∩ s = ∅, 𝓕 ∩ s = s, s ∩ s = s, s ∩ (s ∪ t) = s.
    pub fn and(parts: impl IntoIterator<Item = Sequence>) -> Sequence {
        let mut all = Vec::new();
        for part in parts {
            match part {
                Sequence::Empty => return Sequence::Empty,
                Sequence::Full => {}
                Sequence::And(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        let absorbed = |s: &Sequence, by: &Sequence| matches!(s, Sequence::Or(inner) if inner.contains(by));
        close(absorb(all, absorbed), Sequence::Full, Sequence::And)
    }

    /// The union, simplified: ∅ ∪ s = s, 𝓕 ∪ s = 𝓕, s ∪ s = s, s ∪ (s ∩ t) = s, (s ∩ t) ∪ (s ∩ u) = s ∩ (t ∪ u).
    pub fn or(parts: impl IntoIterator<Item = Sequence>) -> Sequence {
        let mut all = Vec::new();
        for part in parts {
            match part {
                Sequence::Empty => {}
                Sequence::Full => return Sequence::Full,
                Sequence::Or(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        let absorbed = |s: &Sequence, by: &Sequence| matches!(s, Sequence::And(inner) if inner.contains(by));
        let all = absorb(all, absorbed);
        factored(&all).unwrap_or_else(|| close(all, Sequence::Empty, Sequence::Or))
    }

    /// All lists of the sequence, each once.
    pub fn lists(&self) -> Vec<AccessId> {
        let mut all = Vec::new();
        self.collect(&mut all);
        all
    }

    /// The lists that contain every coordinate of the sequence, and the rest of the condition, which names none of them: s ∩ f(s) = s ∩
    /// f(𝓕). In an intersection these are the lists that are parts by themselves.
    pub fn needed(&self) -> Option<(Vec<AccessId>, Sequence)> {
        let parts = match self {
            Sequence::List(_) => std::slice::from_ref(self),
            Sequence::And(parts) => parts,
            _ => return None,
        };
        let (lists, rest): (Vec<_>, Vec<_>) = parts.iter().partition(|s| matches!(s, Sequence::List(_)));
        let lists: Vec<AccessId> = lists.into_iter().flat_map(Sequence::lists).collect();
        let rest = Sequence::and(rest.into_iter().cloned());
        let beside = lists.iter().fold(rest, |rest, list| rest.replace(*list, &Sequence::Full));
        (!lists.is_empty()).then_some((lists, beside))
    }

    fn collect(&self, all: &mut Vec<AccessId>) {
        match self {
            Sequence::List(a) if !all.contains(a) => all.push(*a),
            Sequence::And(parts) | Sequence::Or(parts) => parts.iter().for_each(|s| s.collect(all)),
            _ => {}
        }
    }

    /// The intersections in the sequence, each as the lists that are parts by themselves.
    pub fn intersections(&self) -> Vec<Vec<AccessId>> {
        let list = |s: &Sequence| if let Sequence::List(a) = s { Some(*a) } else { None };
        match self {
            Sequence::And(parts) => {
                let mut all = vec![parts.iter().filter_map(list).collect()];
                all.extend(parts.iter().flat_map(Sequence::intersections));
                all
            }
            Sequence::Or(parts) => parts.iter().flat_map(Sequence::intersections).collect(),
            _ => vec![],
        }
    }

    /// Evaluates the formula: `list` gives the value of each list, `constant` that of ∅ and 𝓕, and `and` and `or` combine values.
    pub fn fold<T>(
        &self,
        list: &mut impl FnMut(AccessId) -> T,
        constant: &impl Fn(bool) -> T,
        and: &mut impl FnMut(T, T) -> T,
        or: &mut impl FnMut(T, T) -> T,
    ) -> T {
        match self {
            Sequence::Empty => constant(false),
            Sequence::Full => constant(true),
            Sequence::List(a) => list(*a),
            Sequence::And(parts) => {
                let parts: Vec<T> = parts.iter().map(|s| s.fold(list, constant, and, or)).collect();
                parts.into_iter().reduce(&mut *and).unwrap_or_else(|| constant(true))
            }
            Sequence::Or(parts) => {
                let parts: Vec<T> = parts.iter().map(|s| s.fold(list, constant, and, or)).collect();
                parts.into_iter().reduce(&mut *or).unwrap_or_else(|| constant(false))
            }
        }
    }

    /// The sequence after a list is exhausted.
    pub fn exhaust(&self, list: AccessId) -> Sequence {
        self.replace(list, &Sequence::Empty)
    }

    /// The sequence with a list replaced by another sequence.
    fn replace(&self, list: AccessId, by: &Sequence) -> Sequence {
        match self {
            Sequence::List(a) if *a == list => by.clone(),
            Sequence::And(parts) => Sequence::and(parts.iter().map(|s| s.replace(list, by))),
            Sequence::Or(parts) => Sequence::or(parts.iter().map(|s| s.replace(list, by))),
            other => other.clone(),
        }
    }
}

/// Drops repeated parts, and those that another part absorbs.
fn absorb(all: Vec<Sequence>, absorbed: impl Fn(&Sequence, &Sequence) -> bool) -> Vec<Sequence> {
    let mut kept: Vec<Sequence> = Vec::new();
    for s in &all {
        if !kept.contains(s) && !all.iter().any(|by| absorbed(s, by)) {
            kept.push(s.clone());
        }
    }
    kept
}

/// A union of intersections that share parts, with those factored out; `None` if they share none.
fn factored(all: &[Sequence]) -> Option<Sequence> {
    let inner = |s: &Sequence| if let Sequence::And(parts) = s { Some(parts.clone()) } else { None };
    let all: Vec<Vec<Sequence>> = all.iter().map(inner).collect::<Option<_>>()?;
    let (first, others) = all.split_first().filter(|(_, others)| !others.is_empty())?;
    let common = |s: &Sequence| others.iter().all(|parts| parts.contains(s));
    let common: Vec<Sequence> = first.iter().filter(|s| common(s)).cloned().collect();
    let rest = |parts: &Vec<Sequence>| Sequence::and(parts.iter().filter(|s| !common.contains(s)).cloned());
    (!common.is_empty()).then(|| Sequence::and(common.iter().cloned().chain([Sequence::or(all.iter().map(rest))])))
}

fn close(mut parts: Vec<Sequence>, none: Sequence, many: impl Fn(Vec<Sequence>) -> Sequence) -> Sequence {
    match parts.len() {
        0 => none,
        1 => parts.remove(0),
        _ => many(parts),
    }
}

/// Builds an expression from its parts, each of which the callback may replace.
type Made<'a> = &'a dyn Fn(&mut dyn FnMut(Expr) -> Expr) -> Expr;

/// Where `body` can differ from its *background*, and the background: the body with these lists at their fill values.
pub fn background(body: &Expr, lists: &[AccessId], fill: &impl Fn(AccessId) -> Value, s: Simplify) -> (Sequence, Expr) {
    // An expression of parts can differ where any of its parts can.
    let of_parts = |made: Made| {
        let mut sets = Vec::new();
        let whole = made(&mut |part| {
            let (set, rest) = background(&part, lists, fill, s);
            sets.push(set);
            rest
        });
        (Sequence::or(sets), whole)
    };
    match body {
        Expr::Access(a, _) if lists.contains(a) => (Sequence::List(*a), Expr::Literal(fill(*a))),
        Expr::Column(column) if lists.contains(&column.of) => (Sequence::List(column.of), Expr::Literal(column.fill)),
        Expr::Literal(_) | Expr::Index(_) | Expr::Access(..) | Expr::Column(_) => (Sequence::Empty, body.clone()),
        Expr::Reduce(op, vars, inner, ty) => {
            let (sequence, inner) = background(inner, lists, fill, s);
            (sequence, s.simplify(&Expr::Reduce(*op, vars.clone(), Box::new(inner), *ty)))
        }
        Expr::Fold(fold, ty) => of_parts(&|part| s.fold((**fold).clone().map(part), *ty)),
        Expr::Concat(c, ty) => of_parts(&|part| s.concat((**c).clone().map(part), *ty)),
        Expr::Where(made, ty) => of_parts(&|part| s.made((**made).clone().map(part), *ty)),
        Expr::Call(fun, args, ty) => {
            let (sets, values): (Vec<_>, Vec<_>) = args.iter().map(|a| background(a, lists, fill, s)).unzip();
            let whole = s.call(*fun, values.clone(), *ty);
            let bounds = match (fun, &whole) {
                (Fun::Op(Op::Select), _) => chosen(&sets, &values).into_iter().collect(),
                (Fun::Op(op), _) => killers(&s.properties(*op, args, *ty), &sets, &values, &whole, s),
                (Fun::User(f), Expr::Literal(v)) => s.bounds(*f, &values, &sets, *v),
                (Fun::User(_), _) => vec![],
            };
            let set = if bounds.is_empty() { Sequence::or(sets) } else { Sequence::and(bounds) };
            (set, whole)
        }
    }
}

/// Where `select(c, a, b)` can differ from its background, if the condition is constant there: where the chosen side can differ, and
/// where the condition can, unless the other side has the same value there.
fn chosen(sets: &[Sequence], values: &[Expr]) -> Option<Sequence> {
    let [c, a, b] = sets else { return None };
    let Expr::Literal(holds) = values[0] else { return None };
    let (here, other) = if holds.is_true() { (a, b) } else { (b, a) };
    let beside = if values[1] == values[2] { other.clone() } else { Sequence::Full };
    Some(Sequence::or([here.clone(), Sequence::and([c.clone(), beside])]))
}

/// The sets of the arguments that alone give a call of a built-in its background value, wherever they are at their own. Of ∞ + −∞ neither
/// does: each would give another value.
fn killers(known: &Properties, sets: &[Sequence], values: &[Expr], whole: &Expr, s: Simplify) -> Vec<Sequence> {
    let annihilates = |k: usize| match (&values[k], whole) {
        (Expr::Literal(v), Expr::Literal(w)) => known
            .annihilators
            .iter()
            .any(|(at, x, r)| *at == k && s.same(*x, *v) && (s.same(*r, *w) || r.is_nan() && w.is_nan())),
        _ => false,
    };
    (0..values.len()).filter(|&k| annihilates(k)).map(|k| sets[k].clone()).collect()
}

impl Sequence {
    /// As text, with names for the lists.
    pub fn show(&self, name: &impl Fn(AccessId) -> String) -> String {
        let join = |parts: &[Sequence], sign: &str| {
            let parts: Vec<String> = parts
                .iter()
                .map(|s| match s {
                    Sequence::And(_) | Sequence::Or(_) => format!("({})", s.show(name)),
                    _ => s.show(name),
                })
                .collect();
            parts.join(sign)
        };
        match self {
            Sequence::Empty => "∅".to_string(),
            Sequence::Full => "𝓕".to_string(),
            Sequence::List(a) => name(*a),
            Sequence::And(parts) => join(parts, " ∩ "),
            Sequence::Or(parts) => join(parts, " ∪ "),
        }
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show(&|a| format!("a{}", a.0)))
    }
}
