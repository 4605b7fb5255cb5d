//! Finds occurrences of an expression in another, up to commuting factors: `stage` and `precompute` replace them.
//!
//! ```text
//!  sum(k: x[k] * B[j,k])   in   sum(j, k: A[i,j] * B[j,k] * x[k])     some factors of a product, and the sums over what only they have
//!    ─▶  sum(j: A[i,j] * t[j])
//!  sum(j: m[j] * x[j])     in   sum(j: (A[i,j] - m[j]) * x[j])        a term of a factor that is a sum, which is distributed
//!    ─▶  sum(j: A[i,j] * x[j]) - t[]
//! ```
//!
//! Both sides are flattened to factors and matched by backtracking. A variable that the pattern binds matches any that the expression
//! binds; a free one matches variables of its name. The type and the mode say what may be regrouped (`times`, `algebra::properties`).

use super::eliminate::{flatten, product, times};
use fiberloom_core::algebra::{Mode, Op, properties};
use fiberloom_core::notation::typed::{Expr, Fun, Index, Kind, Map, Var, VarId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// The expression's variable that each of the pattern's variables matches.
pub(super) type Bound = FxHashMap<VarId, VarId>;

/// Called with each match; returns whether to accept it. If not, the next match is tried.
type Then<'t> = &'t mut dyn FnMut(&Bound) -> bool;

/// The most factors of a product that is matched.
const FACTORS: usize = 16;

/// The pattern: an expression to find.
pub(super) struct Pattern<'p> {
    expr: &'p Expr,
    /// The names of variables.
    vars: &'p [Var],
    mode: Mode,
    /// The variables that the pattern binds.
    own: FxHashSet<VarId>,
    /// Variables of the expression whose extents are 0: no sum of floats over one of them is taken out of a product.
    empty: &'p BTreeSet<VarId>,
}

/// No variable.
static NONE: BTreeSet<VarId> = BTreeSet::new();

impl<'p> Pattern<'p> {
    pub(super) fn new(expr: &'p Expr, vars: &'p [Var], mode: Mode) -> Pattern<'p> {
        let mut own = FxHashSet::default();
        expr.walk(&mut |e| own.extend(e.bound()));
        Pattern { expr, vars, mode, own, empty: &NONE }
    }

    /// The pattern for data on which the extents of these variables are 0.
    pub(super) fn without(self, empty: &'p BTreeSet<VarId>) -> Pattern<'p> {
        Pattern { empty, ..self }
    }

    /// The expression with every occurrence replaced by `read`; `None` if there is none. A factor that is a sum is distributed only if
    /// there is no occurrence otherwise.
    pub(super) fn replaced(&self, e: &Expr, read: &dyn Fn(&Bound) -> Expr) -> Option<Expr> {
        self.everywhere(e, &|e| self.here(e, read))
            .or_else(|| self.everywhere(e, &|e| self.everywhere(&self.apart(e)?, &|e| self.here(e, read))))
    }

    /// The match of the pattern with an expression as a whole, if they are the same.
    pub(super) fn is(&self, e: &Expr) -> Option<Bound> {
        let mut found = None;
        self.same(self.expr, e, &Bound::default(), &mut |bound| {
            found = Some(bound.clone());
            true
        });
        found
    }

    /// The expression with every part replaced for which `other` gives another, outermost first; `None` if there is none.
    fn everywhere(&self, e: &Expr, other: &dyn Fn(&Expr) -> Option<Expr>) -> Option<Expr> {
        if let Some(made) = other(e) {
            return Some(made);
        }
        let mut found = false;
        let made = e.rebuilt(&mut |part| {
            let made = self.everywhere(part, other);
            found |= made.is_some();
            made.unwrap_or_else(|| part.clone())
        });
        found.then_some(made)
    }

    fn here(&self, e: &Expr, read: &dyn Fn(&Bound) -> Expr) -> Option<Expr> {
        if self.expr.ty != e.ty {
            return None;
        }
        if let Some(bound) = self.is(e) {
            return Some(read(&bound));
        }
        let (made, whole) = self.of_sum(e, read).or_else(|| Some((self.of_product(e, read)?, false)))?;
        // The remaining factors may contain the pattern again.
        let again = if whole { None } else { self.here(&made, read) };
        Some(again.unwrap_or(made))
    }

    /// The sum with the pattern's factors replaced, and whether the pattern's own sum is over nothing.
    fn of_sum(&self, e: &Expr, read: &dyn Fn(&Bound) -> Expr) -> Option<(Expr, bool)> {
        let Kind::Reduce { fun: Fun::Op(plus), vars, body, start: None } = &e.kind else { return None };
        let times = times(*plus, e.ty, self.mode)?;
        let (mut all, mut factors) = (vars.clone(), vec![]);
        flatten(body, (*plus, times), &mut all, &mut factors);
        let (mut summed, mut wanted) = (vec![], vec![]);
        flatten(self.expr, (*plus, times), &mut summed, &mut wanted);
        let (bound, rest) = self.chosen(&wanted, &factors, &|bound, rest| {
            let gone: Vec<VarId> = summed.iter().filter_map(|v| bound.get(v).copied()).collect();
            let own = gone.len() == summed.len() && gone.iter().all(|v| all.contains(v)) && distinct(&gone);
            own && !rest.iter().any(|factor| gone.iter().any(|v| factor.free().contains(v)))
        })?;
        let (gone, made): (Vec<VarId>, _) = (summed.iter().map(|v| bound[v]).collect(), read(&bound));
        if e.ty.is_float() && gone.iter().any(|v| self.empty.contains(v)) {
            return Some((e.clone(), true));
        }
        all.retain(|v| !gone.contains(v));
        let body = product(times, e, rest.into_iter().cloned().chain([made]).collect());
        if all.is_empty() {
            return Some((body, false));
        }
        let kind = Kind::Reduce { fun: Fun::Op(*plus), vars: all, body: Box::new(body), start: None };
        Some((Expr { kind, ..e.clone() }, false))
    }

    /// The product, or other commutative chain, with the pattern's factors replaced.
    fn of_product(&self, e: &Expr, read: &dyn Fn(&Bound) -> Expr) -> Option<Expr> {
        let (Kind::Call(Fun::Op(op), _), Kind::Call(Fun::Op(other), _)) = (&e.kind, &self.expr.kind) else {
            return None;
        };
        if op != other || !self.has_no_order(*op, e) {
            return None;
        }
        let (mut factors, mut wanted) = (vec![], vec![]);
        chain(e, *op, &mut factors);
        chain(self.expr, *op, &mut wanted);
        let (wanted, factors): (Vec<Expr>, Vec<Expr>) =
            (wanted.into_iter().cloned().collect(), factors.into_iter().cloned().collect());
        let (bound, rest) = self.chosen(&wanted, &factors, &|_, _| true)?;
        Some(product(*op, e, rest.into_iter().cloned().chain([read(&bound)]).collect()))
    }

    /// A choice of factors that match the wanted ones, in any order: the matched variables, and the factors that are left.
    fn chosen<'f>(
        &self,
        wanted: &[Expr],
        factors: &'f [Expr],
        fits: &dyn Fn(&Bound, &[&'f Expr]) -> bool,
    ) -> Option<(Bound, Vec<&'f Expr>)> {
        if wanted.len() > factors.len() || factors.len() > FACTORS {
            return None;
        }
        let mut found = None;
        let (wanted, factors): (Vec<&Expr>, Vec<&'f Expr>) = (wanted.iter().collect(), factors.iter().collect());
        self.each(&wanted, &factors, &mut vec![], &Bound::default(), &mut |bound, used| {
            let left = factors.iter().enumerate().filter(|(n, _)| !used.contains(n));
            let left: Vec<&Expr> = left.map(|(_, f)| *f).collect();
            let fits = fits(bound, &left);
            if fits {
                found = Some((bound.clone(), left));
            }
            fits
        });
        found
    }

    /// Tries to match each wanted factor with a factor of its own; calls `then` with the factors used.
    fn each(
        &self,
        wanted: &[&Expr],
        factors: &[&Expr],
        used: &mut Vec<usize>,
        bound: &Bound,
        then: &mut dyn FnMut(&Bound, &[usize]) -> bool,
    ) -> bool {
        let Some((first, rest)) = wanted.split_first() else { return then(bound, used) };
        (0..factors.len()).any(|n| {
            if used.contains(&n) {
                return false;
            }
            used.push(n);
            let found = self.same(first, factors[n], bound, &mut |bound| self.each(rest, factors, used, bound, then));
            used.pop();
            found
        })
    }

    /// Whether two expressions are the same, up to the names of variables and the order of factors.
    fn same(&self, p: &Expr, e: &Expr, bound: &Bound, then: Then) -> bool {
        if p.ty != e.ty {
            return false;
        }
        match (&p.kind, &e.kind) {
            (Kind::Literal(a), Kind::Literal(b)) => a == b && then(bound),
            (Kind::Size(a), Kind::Size(b)) => a == b && then(bound),
            (Kind::Index(v), Kind::Index(w)) => self.pairs([(*v, *w)], bound).is_some_and(|bound| then(&bound)),
            (Kind::Access(t, a), Kind::Access(u, b)) => {
                t == u && self.indices(a, b, bound).is_some_and(|bound| then(&bound))
            }
            (Kind::Call(f, a), Kind::Call(g, b)) => f == g && self.calls((*f, p, a), (e, b), bound, then),
            (
                Kind::Reduce { fun, vars, body, start: None },
                Kind::Reduce { fun: other, vars: others, body: of, start: None },
            ) => fun == other && self.reduces((*fun, vars, body, p), (others, of, e), bound, then),
            (Kind::Collapse { body, from, to }, Kind::Collapse { body: of, from: others, to: other }) => {
                let pairs = from.iter().zip(others).chain([(to, other)]).map(|(v, w)| (*v, *w));
                from.len() == others.len()
                    && self.pairs(pairs, bound).is_some_and(|bound| self.same(body, of, &bound, then))
            }
            (Kind::Split { body, from, to }, Kind::Split { body: of, from: other, to: others }) => {
                let pairs = [(*from, *other), (to.0, others.0), (to.1, others.1)];
                self.pairs(pairs, bound).is_some_and(|bound| self.same(body, of, &bound, then))
            }
            (Kind::Concat { parts, from, to }, Kind::Concat { parts: of, from: others, to: other }) => {
                let pairs = from.iter().zip(others).chain([(to, other)]).map(|(v, w)| (*v, *w));
                let parts: Vec<(&Expr, &Expr)> = parts.iter().zip(of).collect();
                from.len() == others.len()
                    && self.pairs(pairs, bound).is_some_and(|bound| self.all(&parts, &bound, then))
            }
            (
                Kind::Slice { body, from, to, start, end, step },
                Kind::Slice { body: of, from: other, to: others, start: first, end: last, step: steps },
            ) => {
                let pairs = [(*from, *other), (*to, *others)];
                (start, end, step) == (first, last, steps)
                    && self.pairs(pairs, bound).is_some_and(|bound| self.same(body, of, &bound, then))
            }
            _ => false,
        }
    }

    /// Matches two calls of one function.
    fn calls(&self, (fun, p, a): (Fun, &Expr, &[Expr]), (e, b): (&Expr, &[Expr]), bound: &Bound, then: Then) -> bool {
        if a.len() != b.len() {
            return false;
        }
        let straight: Vec<(&Expr, &Expr)> = a.iter().zip(b).collect();
        let Fun::Op(op) = fun else { return self.all(&straight, bound, then) };
        if self.has_no_order(op, p) {
            let (mut wanted, mut factors) = (vec![], vec![]);
            chain(p, op, &mut wanted);
            chain(e, op, &mut factors);
            let fits = wanted.len() == factors.len() && factors.len() <= FACTORS;
            return fits && self.each(&wanted, &factors, &mut vec![], bound, &mut |bound, _| then(bound));
        }
        let commutes = a.len() == 2 && properties(op, a[0].ty, self.mode).commutative;
        self.all(&straight, bound, then) || commutes && self.all(&[(&a[0], &b[1]), (&a[1], &b[0])], bound, then)
    }

    /// Matches two folds with one function. The order of their variables matters if the order of the function's arguments does.
    fn reduces(
        &self,
        (fun, vars, body, p): (Fun, &[VarId], &Expr, &Expr),
        (others, of, e): (&[VarId], &Expr, &Expr),
        bound: &Bound,
        then: Then,
    ) -> bool {
        let Fun::Op(op) = fun else {
            let pairs = vars.iter().copied().zip(others.iter().copied());
            return vars.len() == others.len()
                && self.pairs(pairs, bound).is_some_and(|bound| self.same(body, of, &bound, then));
        };
        let (mut all, mut own) = (vec![], vec![]);
        let (mut wanted, mut factors) = (vec![], vec![]);
        match times(op, p.ty, self.mode) {
            Some(times) => {
                flatten(p, (op, times), &mut own, &mut wanted);
                flatten(e, (op, times), &mut all, &mut factors);
            }
            None => {
                (own, all) = (vars.to_vec(), others.to_vec());
                (wanted, factors) = (vec![body.clone()], vec![of.clone()]);
            }
        }
        if own.len() != all.len() || wanted.len() != factors.len() || factors.len() > FACTORS {
            return false;
        }
        let any_order = self.has_no_order(op, p);
        let fits = |bound: &Bound| {
            let stand: Vec<Option<VarId>> = own.iter().map(|v| bound.get(v).copied()).collect();
            let known: Vec<VarId> = stand.iter().copied().flatten().collect();
            match any_order {
                true => known.len() == all.len() && known.iter().all(|v| all.contains(v)) && distinct(&known),
                false => known == all,
            }
        };
        let (wanted, factors): (Vec<&Expr>, Vec<&Expr>) = (wanted.iter().collect(), factors.iter().collect());
        self.each(&wanted, &factors, &mut vec![], bound, &mut |bound, _| fits(bound) && then(bound))
    }

    /// Matches pairs of expressions.
    fn all(&self, pairs: &[(&Expr, &Expr)], bound: &Bound, then: Then) -> bool {
        match pairs.split_first() {
            None => then(bound),
            Some(((p, e), rest)) => self.same(p, e, bound, &mut |bound| self.all(rest, bound, then)),
        }
    }

    fn indices(&self, a: &[Index], b: &[Index], bound: &Bound) -> Option<Bound> {
        let mut pairs = vec![];
        let equal = |(x, y): (&Index, &Index)| x.permit == y.permit && alike(&x.map, &y.map, &mut pairs);
        (a.len() == b.len() && a.iter().zip(b).all(equal)).then(|| self.pairs(pairs, bound))?
    }

    /// The match extended by these pairs of variables, if they are compatible with it: no variable that the expression binds stands for
    /// both a bound and a free one of the pattern.
    fn pairs(&self, pairs: impl IntoIterator<Item = (VarId, VarId)>, bound: &Bound) -> Option<Bound> {
        let mut bound = bound.clone();
        for (v, w) in pairs {
            let may = self.own.contains(&v) || v == w || self.vars[v.index()].name == self.vars[w.index()].name;
            match bound.get(&v) {
                Some(other) if *other != w => return None,
                Some(_) => {}
                None if may && !bound.iter().any(|(u, x)| *x == w && self.own.contains(u) != self.own.contains(&v)) => {
                    bound.insert(v, w);
                }
                None => return None,
            }
        }
        Some(bound)
    }

    /// Whether a function's arguments may be regrouped and exchanged: nested calls are then one list of arguments.
    fn has_no_order(&self, op: Op, e: &Expr) -> bool {
        let known = properties(op, e.ty, self.mode);
        known.associative && known.commutative
    }

    /// A sum of a product with a factor that is a sum, as one sum for each of its terms.
    fn apart(&self, e: &Expr) -> Option<Expr> {
        let Kind::Reduce { fun: Fun::Op(plus), vars, body, start: None } = &e.kind else { return None };
        let times = times(*plus, e.ty, self.mode).filter(|_| *plus == Op::Add)?;
        let (mut all, mut factors) = (vars.clone(), vec![]);
        flatten(body, (*plus, times), &mut all, &mut factors);
        distributed(e, times, &all, &terms(&factors)?)
    }
}

/// The terms of the first factor that is a sum, each with the other factors, and the function that joins them.
pub(super) fn terms(factors: &[Expr]) -> Option<(Fun, Vec<Vec<Expr>>)> {
    let (at, fun, terms) = factors.iter().enumerate().find_map(|(n, factor)| match &factor.kind {
        Kind::Call(fun @ Fun::Op(Op::Add | Op::Sub), terms) if factors.len() > 1 => Some((n, fun, terms)),
        _ => None,
    })?;
    let of = |term: &Expr| factors.iter().enumerate().map(|(n, f)| if n == at { term } else { f }.clone()).collect();
    Some((*fun, terms.iter().map(of).collect()))
}

/// A sum over these variables as one sum for each of these products; `None` if a product lacks a variable, as summing over it would
/// multiply by its extent.
pub(super) fn distributed(e: &Expr, times: Op, vars: &[VarId], (fun, terms): &(Fun, Vec<Vec<Expr>>)) -> Option<Expr> {
    let products: Vec<Expr> = terms.iter().map(|factors| product(times, e, factors.clone())).collect();
    if products.iter().any(|p| !vars.iter().all(|v| p.free().contains(v))) {
        return None;
    }
    let summed = |body: Expr| {
        let kind = Kind::Reduce { fun: Fun::Op(Op::Add), vars: vars.to_vec(), body: Box::new(body), start: None };
        Expr { kind, ..e.clone() }
    };
    Some(Expr { kind: Kind::Call(*fun, products.into_iter().map(summed).collect()), ..e.clone() })
}

/// Adds the arguments of nested calls of a function, in order.
fn chain<'e>(e: &'e Expr, op: Op, factors: &mut Vec<&'e Expr>) {
    match &e.kind {
        Kind::Call(Fun::Op(other), args) if *other == op => args.iter().for_each(|a| chain(a, op, factors)),
        _ => factors.push(e),
    }
}

/// Whether two index maps are the same up to their variables, which are added to `pairs`.
fn alike(a: &Map, b: &Map, pairs: &mut Vec<(VarId, VarId)>) -> bool {
    match (a, b) {
        (Map::Var(v), Map::Var(w)) => {
            pairs.push((*v, *w));
            true
        }
        (Map::Add(a, b), Map::Add(c, d)) => alike(a, c, pairs) && alike(b, d, pairs),
        (Map::Mul(m, a), Map::Mul(n, b)) => m == n && alike(a, b, pairs),
        (Map::Div(a, m), Map::Div(b, n)) | (Map::Mod(a, m), Map::Mod(b, n)) => m == n && alike(a, b, pairs),
        (a, b) => a == b,
    }
}

fn distinct(vars: &[VarId]) -> bool {
    vars.iter().enumerate().all(|(n, v)| !vars[..n].contains(v))
}
