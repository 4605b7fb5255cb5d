//! Strip-mines short loops that append: strips of eight entries.
//!
//! ```text
//!   for i in 0..n_I                                  for i in 0..n_I
//!     for p in A1_pos[i]..A1_pos[i + 1]                let last = A1_pos[i + 1]
//!       C0_crd[c] = i                                  strip = A1_pos[i]
//!       C_vals[c] = A_vals[p]                          let ahead = c - strip
//!       c = c + 1                             ──▶      let stop = min(last, capacity(A_vals) - 7, …)
//!                                                      while strip < stop
//!                                                        for lane in 0..8
//!                                                          let p = strip + lane
//!                                                          C0_crd[ahead + p] = i
//!                                                          C_vals[ahead + p] = A_vals[p]
//!                                                        strip = strip + 8
//!                                                      let done = min(strip, last)
//!                                                      c = ahead + done
//!                                                      for p in done..last …  (as before)
//! ```
//!
//! If the loop finds its end on the way, each strip counts the entries that belong to the fiber:
//!
//! ```text
//!   while p < end && A1_crd[p] < stop                begin = p; strip = p; at = p; found = 0; whole = true
//!     C_vals[c] = A_vals[p]                          while whole && strip < …
//!     c = c + 1                               ──▶      at = strip
//!     p = p + 1                                        found = below(A1_crd[at..end], stop)
//!                                                      for lane in 0..8  …
//!                                                      whole = found == 8; strip = strip + 8
//!                                                    p = at + found; c = ahead + p
//!                                                    while p < end && A1_crd[p] < stop …  (as before)
//! ```
//!
//! *Beyond the end*: the last strip of a fiber writes up to seven entries too many, which the next fiber overwrites, as an appended array
//! is free behind its last entry. So a short row takes one or two strips, and few branches on its length, which are unpredictable and
//! cost more than the entries. Strips end before arrays do; the remaining entries are appended one by one.

use super::appending::{Appending, Appends, Ends, Until, in_no_loop};
use super::blocks::{is_fixed, with};
use crate::arith::{int, minus, plus};
use crate::names::Vars;
use crate::{BufferId, Expr, How, Kernel, LANES, Stmt, Var, map_blocks};
use fiberloom_core::algebra::{Op, Type, Value};
use std::collections::BTreeMap;

/// Strip-mines nested loops that append. A strip is long enough for a usual row, and short enough that a row of one entry costs no more
/// than a mispredicted branch.
pub fn strip_mine(kernel: &mut Kernel) {
    strip_mine_by(kernel, LANES);
}

/// As `strip_mine`, with strips of `lanes` entries.
pub fn strip_mine_by(kernel: &mut Kernel, lanes: i64) {
    let appends = Appends::of(kernel);
    let body = std::mem::take(&mut kernel.body);
    let mut strips = Strips { appends, lanes, vars: Vars::of(&mut kernel.vars) };
    // The end of an outermost loop is reached only once: it needs no strips.
    kernel.body = in_no_loop(body, &mut |stmt| map_blocks(vec![stmt], &mut |inner| strips.block(inner)));
}

struct Strips<'k> {
    appends: Appends,
    lanes: i64,
    vars: Vars<'k>,
}

impl Strips<'_> {
    /// Rewrites a block that is in a loop.
    fn block(&mut self, block: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(block.len());
        for stmt in block {
            if let Some(strip) = self.stripped(&stmt) {
                out.extend(self.in_strips(&strip));
            } else if let Some((strip, until)) = self.stripped_until(&stmt) {
                out.extend(self.in_strips_until(&strip, until));
                out.push(stmt);
            } else {
                out.extend(map_blocks(vec![stmt], &mut |inner| self.block(inner)));
            }
        }
        out
    }

    /// The loop, if it appends and its entries can be computed as lanes.
    fn stripped<'s>(&self, stmt: &'s Stmt) -> Option<Strip<'s>> {
        let of = self.appends.turn_of(stmt).filter(|of| of.notes.is_empty())?;
        self.strip(of)
    }

    /// As `stripped`, for a loop that a coordinate ends, with its test.
    fn stripped_until<'s>(&self, stmt: &'s Stmt) -> Option<(Strip<'s>, Ends<'s>)> {
        let Until { of, ends } = self.appends.turn_until(stmt)?;
        let mut strip = self.strip(of)?;
        let looked_at = (ends.crd, Some(strip.of.lo));
        if !strip.arrays.contains(&looked_at) {
            strip.arrays.push(looked_at);
        }
        Some((strip, ends))
    }

    /// The strip of a loop that appends, if its entries can be computed as lanes.
    fn strip<'s>(&self, of: Appending<'s>) -> Option<Strip<'s>> {
        let (mut arrays, mut work) = (vec![], 0);
        for stmt in of.entry {
            if let Stmt::Store(b, ..) = stmt {
                arrays.push((*b, None));
            }
            work += self.streams(stmt.exprs().last()?, &of, &mut arrays)?;
        }
        (work <= HEAVIEST).then_some(Strip { of, arrays })
    }

    /// The number of operations of a value, if it reads only consecutive elements of operands and loop-invariant values. Adds the arrays
    /// that it walks to `arrays`.
    fn streams<'s>(
        &self,
        e: &'s Expr,
        of: &Appending,
        arrays: &mut Vec<(BufferId, Option<&'s Expr>)>,
    ) -> Option<usize> {
        match e {
            Expr::Const(_) | Expr::Capacity(_) => Some(0),
            Expr::Var(v) => (*v != of.count).then_some(0),
            Expr::Load(b, at) if self.appends.operands[b.0 as usize] => {
                let steps = of.steps(at);
                arrays.extend(steps.then_some((*b, Some(&**at))));
                (steps || is_fixed(at, &of.moving)).then_some(1)
            }
            Expr::Op(op, args) if is_cheap(*op) => {
                let all = args.iter().map(|a| self.streams(a, of, arrays)).sum::<Option<usize>>()?;
                // A guarded load is a branch in each lane, and lanes behind the row would execute it in vain.
                let guarded = *op == Op::Select && e.loads();
                (!guarded).then_some(all + 1)
            }
            Expr::Load(..) | Expr::Among(..) | Expr::Op(..) => None,
        }
    }

    /// The loop in strips, then the remaining entries one by one.
    fn in_strips(&mut self, Strip { of, arrays }: &Strip) -> Vec<Stmt> {
        let mut fresh = |name| self.vars.fresh(name, Type::I64);
        let [begin, last, ahead, stop, done] = ["begin", "last", "ahead", "stop", "done"].map(&mut fresh);
        let (strip, lane) = (fresh("strip"), fresh("lane"));
        let at = || Expr::Var(strip);
        let stops = self.full(of, arrays, ahead).fold(Expr::Var(last), least);
        let end = Expr::Op(Op::Max, vec![Expr::Var(last), Expr::Var(begin)]);
        let lanes = self.lanes(of, at(), lane, ahead);
        vec![
            Stmt::Let(begin, of.lo.clone()),
            Stmt::Let(last, of.hi.clone()),
            Stmt::Let(ahead, minus(Expr::Var(of.count), Expr::Var(begin))),
            Stmt::Let(stop, stops),
            Stmt::Set(strip, Expr::Var(begin)),
            Stmt::While(
                Expr::Op(Op::Lt, vec![at(), Expr::Var(stop)]),
                vec![lanes, Stmt::Set(strip, plus(at(), int(self.lanes)))],
            ),
            Stmt::Let(done, least(at(), end)),
            Stmt::Set(of.count, plus(Expr::Var(ahead), Expr::Var(done))),
            of.turns(Expr::Var(done), Expr::Var(last)),
        ]
    }

    /// The loop in strips, up to the first strip that does not belong to the row as a whole; the caller appends the loop for the rest.
    fn in_strips_until(&mut self, Strip { of, arrays }: &Strip, Ends { sought, crd, target }: Ends) -> Vec<Stmt> {
        let mut fresh = |name| self.vars.fresh(name, Type::I64);
        let [begin, ahead, stop, strip, at] = ["begin", "ahead", "stop", "strip", "at"].map(&mut fresh);
        let [found, done, lane] = ["found", "done", "lane"].map(&mut fresh);
        let whole = self.vars.fresh("whole", Type::Bool);
        let stops = self.full(of, arrays, ahead).reduce(least).expect("coordinates are looked at");
        let room = Expr::Op(Op::Lt, vec![Expr::Var(strip), Expr::Var(stop)]);
        let ends = Expr::Among(sought, crd, Box::new([Expr::Var(at), of.hi.clone(), target.clone()]));
        let ends = if self.lanes < LANES { least(ends, int(self.lanes)) } else { ends };
        let lanes = self.lanes(of, Expr::Var(at), lane, ahead);
        let each = vec![
            Stmt::Set(at, Expr::Var(strip)),
            Stmt::Set(found, ends),
            lanes,
            Stmt::Set(whole, Expr::Op(Op::Eq, vec![Expr::Var(found), int(self.lanes)])),
            // The next strip's begin does not wait for the number found in this one.
            Stmt::Set(strip, plus(Expr::Var(strip), int(self.lanes))),
        ];
        vec![
            Stmt::Let(begin, Expr::Var(of.turn)),
            Stmt::Let(ahead, minus(Expr::Var(of.count), Expr::Var(begin))),
            Stmt::Let(stop, stops),
            Stmt::Set(strip, Expr::Var(begin)),
            Stmt::Set(at, Expr::Var(begin)),
            Stmt::Set(found, int(0)),
            Stmt::Set(whole, Expr::Const(Value::bool(true))),
            Stmt::While(Expr::Op(Op::AndAlso, vec![Expr::Var(whole), room]), each),
            Stmt::Let(done, plus(Expr::Var(at), Expr::Var(found))),
            Stmt::Set(of.turn, Expr::Var(done)),
            Stmt::Set(of.count, plus(Expr::Var(ahead), Expr::Var(done))),
        ]
    }

    /// The iterations from which on an array has no room for a strip.
    fn full<'s>(&self, of: &Appending, arrays: &[Walked<'s>], ahead: Var) -> impl Iterator<Item = Expr> + use<'s> {
        let mut firsts: Vec<(Expr, Vec<Expr>)> = vec![];
        for (b, first) in arrays {
            let first =
                plus(first.map_or(Expr::Var(ahead), |first| with(first, of.turn, &int(0))), int(self.lanes - 1));
            let room = Expr::Capacity(*b);
            match firsts.iter_mut().find(|(like, _)| *like == first) {
                Some((_, all)) => all.push(room),
                None => firsts.push((first, vec![room])),
            }
        }
        firsts.into_iter().map(|(first, rooms)| minus(rooms.into_iter().reduce(least).expect("one"), first))
    }

    /// The loop over the lanes of a strip that begins at an iteration.
    fn lanes(&mut self, of: &Appending, from: Expr, lane: Var, ahead: Var) -> Stmt {
        let body = self.lane(of, plus(from, Expr::Var(lane)), ahead);
        Stmt::For { var: lane, lo: int(0), hi: int(self.lanes), how: How::Vector, body }
    }

    /// The body of a lane at an iteration.
    fn lane(&mut self, of: &Appending, turn: Expr, ahead: Var) -> Vec<Stmt> {
        let mut now = BTreeMap::from([(of.turn, self.vars.again(of.turn))]);
        let mut out = vec![Stmt::Let(now[&of.turn], turn)];
        let place = plus(Expr::Var(ahead), Expr::Var(now[&of.turn]));
        for stmt in of.entry {
            out.push(match stmt {
                Stmt::Let(v, e) => self.vars.said_again((*v, e), &mut now),
                Stmt::Store(b, _, e) => Stmt::Store(*b, place.clone(), e.renamed(&now)),
                other => other.clone(),
            });
        }
        out
    }
}

/// A loop that can be strip-mined.
struct Strip<'s> {
    of: Appending<'s>,
    arrays: Vec<Walked<'s>>,
}

/// An array that is walked, with its index; `None`: at the count.
type Walked<'s> = (BufferId, Option<&'s Expr>);

/// The lesser of two.
fn least(a: Expr, b: Expr) -> Expr {
    Expr::Op(Op::Min, vec![a, b])
}

/// The most operations of an entry: more would cost more than the branches that strips save.
const HEAVIEST: usize = 8;

/// Whether an operation on lanes takes about a cycle.
pub(super) fn is_cheap(op: Op) -> bool {
    let arithmetic = matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Neg | Op::Abs | Op::Min | Op::Max | Op::Convert(_));
    let bits = matches!(op, Op::And | Op::Or | Op::Xor | Op::Not | Op::Select | Op::Mask);
    arithmetic || bits || op.is_comparison()
}
