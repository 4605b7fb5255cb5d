//! Where levels have runs: a loop goes from the end of one to the next end of any, and in between all of them are what they are.
//!
//! ```text
//!   while from < n
//!     stop = min(end of r's run, end of s's run, n)
//!     the points of from..stop          lists are walked on from where the last piece ended
//!     r and s go on, if their run ended
//!     from = stop
//! ```

use super::{Forall, Nest, Sink};
use crate::algebra::{Op, Type, properties};
use crate::iteration::Point;
use crate::loops::lower::fiber::Finger;
use crate::loops::lower::range::Piece;
use crate::loops::lower::structure::{Runs, leave_runs};
use crate::loops::lower::{Context, Expr, binary};
use crate::notation::concrete::{self, AccessId, Index};
use crate::notation::typed::Fun;
use crate::stream::{Compare, Domain, Symbolic, Term};

impl Context<'_> {
    /// A range in which levels have runs: from the end of one to the next end of any.
    pub(super) fn stepped(
        &self,
        d: &mut Symbolic,
        piece: &Piece,
        runs: &[AccessId],
        (v, rest): (Index, &[Index]),
        sink: &Sink,
    ) {
        let seen = self.foralls.borrow().len();
        let absent = runs.iter().find_map(|a| Some((*a, piece.scope.fiber(*a).present?)));
        if let Some((a, present)) = absent {
            let (mut with, mut without) = (piece.clone(), piece.clone());
            with.scope.certain(a);
            without.body = self.simplify.replace(&piece.body, &|x| (x == a).then(|| self.fill(a)));
            let go = |d: &mut Symbolic, piece: Piece| {
                let part = self.part(d, v, piece, sink);
                self.run(d, part, (v, rest), sink);
            };
            d.when(present, |d| go(d, with), |d| go(d, without));
            return self.foralls.borrow_mut().truncate(seen);
        }
        let mut piece = piece.clone();
        self.follow_lists(d, &mut piece, v);
        let all: Vec<Runs> = runs.iter().map(|a| self.open_runs(d, v, &piece, *a)).collect();
        let from = d.state("from", Term::fixed(piece.range.lo.at.clone()));
        let left = |d: &mut Symbolic| {
            let from = d.get(from);
            d.compare(Compare::Lt, &from, &Term::fixed(piece.range.hi.at.clone()))
        };
        d.repeat(&left, &mut |d| {
            let begin = d.get(from);
            let begin = d.snapshot("begin", begin);
            let begin = d.place(&begin);
            let ends = self.run_ends(d, v, &piece, &all);
            let within = self.within_runs(d, &piece, begin, (&all, &ends));
            let stop = within.range.hi.at.clone();
            let part = self.part(d, v, within, sink);
            self.run(d, part, (v, rest), sink);
            leave_runs(d, (&all, &ends), &stop);
            d.set(from, Term::fixed(stop));
        });
        self.foralls.borrow_mut().truncate(seen);
    }

    /// Fingers on the lists of a piece of which each run sees a part behind the one before.
    fn follow_lists(&self, d: &mut Symbolic, piece: &mut Piece, v: Index) {
        for a in self.walked(&piece.scope, &piece.body, v) {
            let level = piece.scope.fiber(a).depth;
            if !piece.scope.fingers.contains_key(&(a, level)) {
                let begin = self.unopened(d, &piece.scope, a).begin;
                let at = d.state(&format!("p_{}", self.program.tensor(a).name), begin);
                piece.scope.fingers.insert((a, level), Finger { at, through: vec![v] });
            }
        }
    }

    /// One value for all coordinates of a range is one run of the result; where runs meet, it is folded in at once: a sum
    /// takes it as often as there are coordinates, an idempotent function once. Whether that was done.
    pub(super) fn counted_whole(&self, d: &mut Symbolic, f: &Forall, point: &Point) -> bool {
        let whole = f.rest.is_empty() && point.followers.is_empty() && self.is_still(f, &point.body);
        if !whole {
            return false;
        }
        if let Sink::Store { nest: Nest { places: None, fold: None, .. }, output, slot } = f.sink
            && output.ends.is_some()
            && f.sink.appends(f.v).is_some()
            && output.next_var(slot) == Some(f.v)
        {
            let value = self.value(d, f.scope(), &point.body);
            let [lo, hi] = [&f.piece.range.lo, &f.piece.range.hi].map(|bound| bound.at.clone());
            let put = |d: &mut Symbolic| output.put_run(d, slot, [lo.clone(), hi.clone()], value);
            if f.piece.in_runs {
                put(d)
            } else {
                d.when(binary(Op::Lt, lo.clone(), hi.clone()), put, |_| {})
            }
            return true;
        }
        let Sink::Scalar { var, fun: Fun::Op(op), begun: None } = f.sink else { return false };
        let ty = point.body.ty();
        let known = properties(*op, ty, self.simplify.mode);
        let sums = *op == Op::Add && known.associative && matches!(ty, Type::I64 | Type::F32 | Type::F64);
        let once = known.idempotent;
        if !f.piece.in_runs || !(once || sums) {
            return false;
        }
        let mut value = self.value(d, f.scope(), &point.body);
        if !once {
            let times = binary(Op::Sub, f.piece.range.hi.at.clone(), f.piece.range.lo.at.clone());
            let times = if ty == Type::I64 { times } else { Expr::Op(Op::Convert(ty), vec![times]) };
            value = binary(Op::Mul, value, times);
        }
        self.accumulate(d, (*var, Fun::Op(*op)), None, value);
        true
    }

    /// Whether an expression is the same at all coordinates of a loop.
    pub(super) fn is_still(&self, f: &Forall, e: &concrete::Expr) -> bool {
        match e {
            concrete::Expr::Literal(_) => true,
            concrete::Expr::Index(u) => !self.program.follows(*u, f.v),
            concrete::Expr::Access(a, _) => self.next_var(f.scope(), *a).is_none(),
            concrete::Expr::Call(Fun::Op(_), args, _) => args.iter().all(|arg| self.is_still(f, arg)),
            _ => false,
        }
    }
}
