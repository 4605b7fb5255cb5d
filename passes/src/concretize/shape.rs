//! Shape operators as index maps: the variables that they bind inside are functions of those bound outside.
//!
//! ```text
//!  slice(E, j -> k, 3:703:7)       E under j = 7*k + 3
//!  split(E, k -> (i, j))           E under k = |J|*i + j
//!  E[3, j], E[2*i + k, j]          E[at, j] under at = 3, under at = 2*i + k
//!  concat((E, F), (i, k) -> l)     E where l < |I|, under i = l;  else F, under k = l - |I|
//!  collapse(E, (i, j) -> k)        E under loops over i and j, and expressions beside it under k = |J|*i + j
//! ```
//!
//! Nested operators become one map: an access is read at the final coordinate, and nothing is materialized between.
//!
//! ```text
//!  A[P[i], j]                      A under at from P[i]                    computed, once i is bound
//!  A[4 - i], A[i / 2]              A under at from 4 - i, from i / 2       no loop follows them
//!  coalesce(A[~(i + k - 2)], d)    a window: A where 0 <= i + k - 2 < |A|, else d
//!  coalesce(sum(k: A[~(i + k)]), d)    if some k: at < 0 then d else sum(k: A[at]),  at within i + k
//! ```
//!
//! An operand that can be missing gives the condition: conditions gather in `missing` from the inside out, and a `coalesce` tests them.
//!
//! A loop over a collapsed coordinate is one loop for each part, so that both the parts and the whole can be followed in order. Where the
//! collapsed coordinate is not a loop's nor of the form `|J|*i + j`, or is collapsed twice from different parts, the collapsed expression
//! is materialized first.

use super::bare::Bare;
use super::free::free_in;
use super::given::length;
use super::temporary::taken_apart;
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::map::{ClassId, Map, Size};
use fiberloom_core::notation::concrete::{Computed, Concat, Expr, Index, Limit, Origin};
use fiberloom_core::notation::typed::{self, Fun, VarId};
use std::collections::BTreeMap;

/// An index as `c + Σ f·v` with no `f` equal to 0; `None` if it is no such sum.
pub(super) fn linear(index: &typed::Index) -> Option<(i64, BTreeMap<VarId, i64>)> {
    type Sum = (i64, BTreeMap<VarId, i64>);
    fn number(map: &typed::Map) -> Option<i64> {
        sum(map).filter(|(_, factors)| factors.is_empty()).map(|(c, _)| c)
    }
    fn sum(map: &typed::Map) -> Option<Sum> {
        Some(match map {
            typed::Map::Const(c) => (*c, BTreeMap::new()),
            typed::Map::Var(v) => (0, BTreeMap::from([(*v, 1)])),
            typed::Map::Add(a, b) => {
                let ((c, mut factors), (d, others)) = (sum(a)?, sum(b)?);
                for (v, f) in others {
                    let all = factors.entry(v).or_insert(0);
                    *all = all.checked_add(f)?;
                }
                factors.retain(|_, f| *f != 0);
                (c.checked_add(d)?, factors)
            }
            typed::Map::Mul(0, _) => (0, BTreeMap::new()),
            typed::Map::Mul(f, a) => {
                let (c, factors) = sum(a)?;
                let factors = factors.into_iter().map(|(v, g)| Some((v, g.checked_mul(*f)?)));
                (c.checked_mul(*f)?, factors.collect::<Option<_>>()?)
            }
            typed::Map::Div(a, c) => (number(a)?.checked_div_euclid(*c)?, BTreeMap::new()),
            typed::Map::Mod(a, c) => (number(a)?.checked_rem_euclid(*c)?, BTreeMap::new()),
            typed::Map::Bound(_) | typed::Map::Gather(..) | typed::Map::Computed(_) => return None,
        })
    }
    sum(&index.map)
}

/// Operators.
impl Bare<'_, '_> {
    /// Translates `slice(body, from -> to, start::step)`.
    pub fn slice(
        &mut self,
        (from, to): (VarId, VarId),
        (start, step): (&typed::Bound, u64),
        body: &typed::Expr,
    ) -> Expr {
        let to = self.c.out.map_of(to);
        // Coordinates are below 2⁶³: a slice that starts beyond is empty, and its map is never evaluated.
        let start = self.c.given.classes.bound(start);
        self.c.out.bind_to_map(from, Map::slice(&to, start, step as i64));
        self.expr(body)
    }

    /// Translates `split(body, from -> to)`.
    pub fn split(&mut self, from: VarId, to: (VarId, VarId), body: &typed::Expr) -> Expr {
        let inner = self.length(to.1);
        let to = (self.c.out.map_of(to.0), self.c.out.map_of(to.1));
        self.c.out.bind_to_map(from, Map::split((&to.0, &to.1), &inner));
        self.expr(body)
    }

    /// Translates `concat(parts, from -> to)`.
    pub fn concat(&mut self, parts: &[typed::Expr], from: &[VarId], to: VarId, ty: Type) -> Expr {
        if !self.apart {
            return self.side_by_side(parts, from, to, ty);
        }
        let at = self.c.out.of(to);
        let own = self.c.out.own_loop(to);
        self.c.out.bind(to, own);
        self.apart = false;
        let around = std::mem::take(&mut self.missing);
        let value = self.side_by_side(parts, from, to, ty);
        let missing = joined(Op::OrElse, std::mem::replace(&mut self.missing, around));
        self.apart = true;
        self.c.out.bind(to, at);
        self.made_apart("concat", (value, missing), (&[own], own, at))
    }

    /// A concatenation whose parts are ranges of one loop.
    fn side_by_side(&mut self, parts: &[typed::Expr], from: &[VarId], to: VarId, ty: Type) -> Expr {
        let of = self.c.out.map_of(to);
        let mut before = Size::default();
        let (mut made, mut missing) = (Vec::new(), Vec::new());
        for (part, v) in parts.iter().zip(from) {
            let extent = self.c.given.classes.class_of_var(*v);
            let own = self.c.out.own_name(*v);
            let bound = self.c.out.var(own, extent, Origin::Part(Map::part(&of, &before)));
            before = before.plus(&Size::unknown(extent));
            self.c.out.bind(*v, bound);
            let (part, misses) = self.inside(part);
            made.push((bound, part));
            missing.push((bound, misses));
        }
        if missing.iter().any(|(_, misses)| misses.is_some()) {
            let never = Expr::Literal(Value::bool(false));
            let parts = missing.into_iter().map(|(v, misses)| (v, misses.unwrap_or(never.clone()))).collect();
            self.missing.push(Expr::Concat(Box::new(Concat { of: of.clone(), parts, outside: None }), Type::Bool));
        }
        Expr::Concat(Box::new(Concat { of, parts: made, outside: None }), ty)
    }

    /// Translates `collapse(body, from -> to)`.
    pub fn collapse(&mut self, body: &typed::Expr, from: &[VarId], to: VarId) -> Expr {
        let whole = self.c.out.map_of(to);
        if let Some(parts) = self.parts(whole, from) {
            from.iter().zip(parts).for_each(|(v, map)| self.c.out.bind_to_map(*v, map));
            let (value, missing) = self.inside(body);
            self.missing.extend(missing);
            return value;
        }
        self.collapsed(body, from, to)
    }

    /// The coordinates of the parts of a collapsed coordinate, by the rule `collapse of split`.
    fn parts(&self, whole: Map<Index>, from: &[VarId]) -> Option<Vec<Map<Index>>> {
        let (mut left, mut parts) = (whole, Vec::new());
        for v in from[1..].iter().rev() {
            let extent = |u: Index| length(self.c.given.classes, self.c.out.vars[u.0].extent);
            let (quotient, rest) = left.divided(&self.length(*v), extent)?;
            // A part that is always 0 would be bound by no loop.
            parts.push(Some(rest).filter(|rest| !rest.factors.is_empty())?);
            left = quotient;
        }
        parts.push(Some(left).filter(|left| !left.factors.is_empty())?);
        parts.reverse();
        let reaches =
            self.overhangs(&parts[0]) && !self.ends_within(&parts[0], self.c.given.classes.class_of_var(from[0]));
        (!reaches && self.stays_inside(&parts[0], from)).then_some(parts)
    }

    /// Whether the outermost part's map stays below its extent. If another part has extent 0, the whole has extent 0 and does not bound
    /// this part. The map stays below where no other part's extent can be 0, or where it reaches exactly its extent.
    fn stays_inside(&self, outermost: &Map<Index>, from: &[VarId]) -> bool {
        let some = |v: &VarId| self.length(*v).value().is_some_and(|n| n > 0);
        let sizes = self.c.given.classes.sizes();
        let parted = |size: Size| size.within(&|c| sizes.get(&c).cloned());
        // The map's value where each variable is at its last coordinate, plus 1.
        let last = |(v, f): (&Index, &Size)| {
            let extent = parted(self.c.given.classes.size(self.c.out.vars[v.0].extent));
            extent.plus(&Size::number(-1)).times(&parted(f.clone()))
        };
        let reach = outermost.factors.iter().map(last);
        let reach = reach.fold(parted(outermost.constant.plus(&Size::number(1))), |sum, term| sum.plus(&term));
        from[1..].iter().all(some)
            || reach == parted(self.c.given.classes.size(self.c.given.classes.class_of_var(from[0])))
    }

    /// Materializes a collapsed expression over loops of its own, and reads it at the collapsed coordinate.
    fn collapsed(&mut self, body: &typed::Expr, from: &[VarId], to: VarId) -> Expr {
        let at = self.c.out.of(to);
        let loops = self.c.scheduled.split_loop(to, from, body, &mut self.c.out);
        let own = self.c.out.of(to);
        self.c.out.bind(to, at);
        let made = self.inside(body);
        self.made_apart("collapse", made, (&loops, own, at))
    }

    /// Materializes an expression, and where it is missing, over loops of its own, and reads it at `at`.
    fn made_apart(
        &mut self,
        name: &str,
        (value, missing): (Expr, Option<Expr>),
        (loops, own, at): (&[Index], Index, Index),
    ) -> Expr {
        let mut made = |value: Expr| {
            let value = self.c.given.simplify.simplify(&value);
            let free = free_in(&self.c.out, &value, loops);
            taken_apart(name, value, (free, (own, at)), self.c)
        };
        let value = made(value);
        if let Some(missing) = missing {
            let missing = made(missing);
            self.missing.push(missing);
        }
        value
    }

    /// The extent of a variable as a factor.
    fn length(&self, v: VarId) -> Size {
        length(self.c.given.classes, self.c.given.classes.class_of_var(v))
    }
}

/// Indices.
impl Bare<'_, '_> {
    /// The variable under which a mode is read: the index itself if it is bare, else one that is mapped to the index or computed from it.
    pub fn index(&mut self, index: &typed::Index, extent: ClassId) -> Index {
        if let Some(v) = index.bare().filter(|_| !index.permit) {
            return self.c.out.of(v);
        }
        if let Some(map) = self.quotient(index, extent) {
            let same = map.as_var().filter(|v| self.c.out.vars[v.0].extent == extent);
            return same.unwrap_or_else(|| self.c.out.at(extent, Origin::Mapped(map)));
        }
        let ascends = linear(index).filter(|(_, factors)| factors.values().all(|f| *f > 0));
        let Some((at, factors)) = ascends.filter(|(_, f)| !index.permit || self.caught && !self.apart && !f.is_empty())
        else {
            return self.computed(index, extent);
        };
        let terms: Vec<Map<Index>> =
            factors.iter().map(|(v, f)| self.c.out.map_of(*v).times(&Size::number(*f))).collect();
        let map = terms.iter().fold(Map::constant(Size::number(at)), |sum, term| sum.plus(term));
        if index.permit {
            return self.permitted(map, extent);
        }
        let same = map.as_var().filter(|v| self.c.out.vars[v.0].extent == extent);
        same.unwrap_or_else(|| self.c.out.at(extent, Origin::Mapped(map)))
    }

    /// An index that divides, as a sum of loops' variables, by the rule `collapse of split`.
    fn quotient(&mut self, index: &typed::Index, extent: ClassId) -> Option<Map<Index>> {
        let divides = linear(index).is_none() && !index.permit;
        let map = if divides { self.divided(&index.map)? } else { return None };
        let inside = |map: &Map<Index>| !self.overhangs(map) || self.ends_within(map, extent);
        Some(map).filter(|map| !map.factors.is_empty() && inside(map))
    }

    /// Whether split loops may take a map beyond the extent that they split: parts that do not divide it evenly, and parts of parts. An
    /// outer part of fixed length always begins within.
    fn overhangs(&self, map: &Map<Index>) -> bool {
        let ended = |u: &Index| {
            let ends = |(_, limit): &(Option<Index>, Limit)| matches!(limit, Limit::Below { at, .. } if at.factors.contains_key(u));
            self.c.out.limits.iter().any(ends)
        };
        map.factors.keys().any(ended) && !map.as_var().is_some_and(|u| self.c.scheduled.begins_within(u))
    }

    /// Whether extents that the program gives as numbers prove that a map ends within an extent.
    fn ends_within(&self, map: &Map<Index>, extent: ClassId) -> bool {
        let last = |(u, f): (&Index, &Size)| {
            let turns = i64::try_from(self.c.given.classes.value(self.c.out.vars[u.0].extent)?).ok()?;
            f.value()?.checked_mul(turns.checked_sub(1)?)
        };
        let reach = map.factors.iter().try_fold(map.constant.value(), |sum, term| Some(sum?.checked_add(last(term)?)));
        let extent = self.c.given.classes.value(extent).and_then(|n| i64::try_from(n).ok());
        matches!((reach.flatten(), extent), (Some(reach), Some(extent)) if reach < extent)
    }

    fn divided(&mut self, map: &typed::Map) -> Option<Map<Index>> {
        Some(match map {
            typed::Map::Const(c) => Map::constant(Size::number(*c)),
            typed::Map::Var(v) => self.c.out.map_of(*v),
            typed::Map::Add(a, b) => self.divided(a)?.plus(&self.divided(b)?),
            typed::Map::Mul(f, a) if *f > 0 => self.divided(a)?.times(&Size::number(*f)),
            typed::Map::Div(a, n) | typed::Map::Mod(a, n) => {
                let of = self.divided(a)?;
                let extent = |u: Index| length(self.c.given.classes, self.c.out.vars[u.0].extent);
                let (quotient, rest) = of.divided(&Size::number(*n), extent)?;
                if matches!(map, typed::Map::Div(..)) { quotient } else { rest }
            }
            _ => return None,
        })
    }

    /// The variable of a mode under an index that no loop follows.
    pub fn computed(&mut self, index: &typed::Index, extent: ClassId) -> Index {
        let of = self.place_of(&index.map);
        let of = self.c.columns.beside(of, &mut self.c.out);
        let v = self.c.out.at(
            extent,
            Origin::Computed(Box::new(Computed {
                of,
                permit: index.permit,
                caught: matches!(index.map, typed::Map::Computed(_)),
            })),
        );
        if self.c.out.may_miss(v) {
            let nowhere = vec![Expr::Index(v), Expr::Literal(Value::i64(0))];
            self.missing.push(Expr::Call(Fun::Op(Op::Lt), nowhere, Type::Bool));
        }
        v
    }
}

/// Missing values.
impl Bare<'_, '_> {
    /// The first of these expressions that is not missing. Each but the last is a window in which its permitted indices are within their
    /// arrays, and outside of which the next expression holds; a condition that no window can express is tested.
    pub fn coalesce(&mut self, args: &[typed::Expr], ty: Type) -> Expr {
        let certain = args.last().is_some_and(|last| last.may_miss().is_none());
        let mut choices = Vec::new();
        for (n, arg) in args.iter().enumerate() {
            let around = (std::mem::take(&mut self.windows), self.caught);
            // Arguments behind one that is never missing are translated, too: the tensors that they read determine extents.
            let (value, missing) = self.caught_inside(arg, certain && n + 1 < args.len());
            let windows = std::mem::replace(&mut self.windows, around.0);
            self.caught = around.1;
            choices.push((value, missing, windows));
        }
        let all: Option<Vec<Expr>> = choices.iter().map(|(_, missing, _)| missing.clone()).collect();
        self.missing.extend(all.filter(|_| !certain).and_then(|all| joined(Op::AndAlso, all)));
        let (last, ..) = choices.pop().expect("`coalesce` has an argument");
        choices.into_iter().rev().fold(last, |next, (value, missing, windows)| {
            let value = match missing {
                Some(missing) if self.has_fill_where(&value, &missing, &next) => value,
                Some(missing) => Expr::Call(Fun::Op(Op::Select), vec![missing, next.clone(), value], ty),
                None => value,
            };
            windows.into_iter().fold(value, |inside, (of, v)| {
                let concat = Concat { of, parts: vec![(v, inside)], outside: Some(next.clone()) };
                Expr::Concat(Box::new(concat), ty)
            })
        })
    }

    /// Whether an access has the value `next` by itself where it is missing: its tensor's fill is `next`, and only its own coordinates
    /// decide whether it is missing.
    fn has_fill_where(&self, value: &Expr, missing: &Expr, next: &Expr) -> bool {
        let (Expr::Access(a, _), Expr::Literal(next)) = (value, next) else { return false };
        let mut own = true;
        missing.each(&mut |leaf| {
            if let Expr::Index(v) = leaf {
                own &= self.c.out.accesses[a.0].vars.contains(v);
            }
        });
        own && self.c.given.simplify.same(self.c.out.tensor(*a).fill, *next)
    }

    /// An expression below an operator, and the condition under which it is missing.
    pub fn inside(&mut self, e: &typed::Expr) -> (Expr, Option<Expr>) {
        let caught = self.caught;
        let made = self.caught_inside(e, false);
        self.caught = caught;
        made
    }

    fn caught_inside(&mut self, e: &typed::Expr, caught: bool) -> (Expr, Option<Expr>) {
        self.caught = caught;
        let around = std::mem::take(&mut self.missing);
        let value = self.expr(e);
        let missing = std::mem::replace(&mut self.missing, around);
        (value, joined(Op::OrElse, missing))
    }

    /// The variable of a mode under a permitted index, in the window where the index is within the mode's extent.
    fn permitted(&mut self, of: Map<Index>, extent: ClassId) -> Index {
        let known = self.windows.iter().find(|(map, v)| *map == of && self.c.out.vars[v.0].extent == extent);
        known.map(|(_, v)| *v).unwrap_or_else(|| {
            let name = self.c.out.unused("within");
            let v = self.c.out.var(name, extent, Origin::Part(Map::part(&of, &Size::default())));
            self.windows.push((of, v));
            v
        })
    }
}

/// These conditions joined to one; `None` if there are none.
fn joined(op: Op, conditions: Vec<Expr>) -> Option<Expr> {
    conditions.into_iter().reduce(|a, b| Expr::Call(Fun::Op(op), vec![a, b], Type::Bool))
}
