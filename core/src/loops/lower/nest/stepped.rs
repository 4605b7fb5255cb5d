//! Levels that list where their pieces end: a loop goes from the end of one to the next end of any, and in between all of them are
//! what they are.
//!
//! ```text
//!   while from < n
//!     stop = min(end of r's run, end of b's block, n)
//!     the points of from..stop          lists are walked on from where the last piece ended; b has two phases: nothing, its block
//!     r and b go on, if their piece ended
//!     from = stop
//!
//!   runs        Run                     one position for all of from..stop
//!   vbl         Sequence(Run, Lookup)   an interval of the block, found when it is come to; behind the last block nothing
//!   packbits    Switch(Run, Lookup)     either, by how many positions the piece has
//! ```

use super::{Forall, Nest, Sink};
use crate::algebra::{Mode, Op, Type, properties};
use crate::format::LevelKind;
use crate::iteration::Point;
use crate::loops::lower::fiber::{Finger, Scope};
use crate::loops::lower::range::{Bound, Piece};
use crate::loops::lower::structure::{Interval, Phase};
use crate::loops::lower::{BufferId, Context, Expr, LevelBuffers, binary, int, plus};
use crate::notation::concrete::{self, AccessId, Index};
use crate::notation::typed::Fun;
use crate::stream::{Compare, Domain, List, ListFiber, Symbolic, Term, View};

/// Packed levels of one loop for which there is code of its own for either kind of piece; of more, positions are computed.
const SWITCHES: usize = 2;

/// A level along a loop: a list of where its pieces end.
struct Pieces {
    access: AccessId,
    depth: usize,
    kind: LevelKind,
    list: List<Term>,
}

/// A block, or a piece of a packed level: its number, its last coordinate, and its positions.
struct Block {
    last: Expr,
    begin: Expr,
    end: Expr,
}

impl Block {
    /// What the position of a coordinate is more than it, where there is one for each.
    fn base(&self) -> Expr {
        binary(Op::Sub, binary(Op::Sub, self.end.clone(), int(1)), self.last.clone())
    }

    /// The first coordinate, where there is a position for each.
    fn first(&self) -> Expr {
        let before = binary(Op::Sub, self.last.clone(), binary(Op::Sub, self.end.clone(), self.begin.clone()));
        plus(before, int(1))
    }

    /// Whether there is more than one position.
    fn is_lookup(&self) -> Expr {
        binary(Op::Gt, binary(Op::Sub, self.end.clone(), self.begin.clone()), int(1))
    }
}

fn select(c: &Expr, yes: Expr, no: Expr) -> Expr {
    Expr::Op(Op::Select, vec![c.clone(), yes, no])
}

impl Context<'_> {
    /// The accesses of a body whose next level has pieces along `v`, which are not known yet.
    pub(super) fn stepped_along(&self, scope: &Scope, body: &concrete::Expr, v: Index) -> Vec<AccessId> {
        let mut all = self.opened_by(scope, body, v, LevelKind::is_stepped);
        all.retain(|a| scope.phase(*a).is_none());
        all
    }

    /// A range in which levels have pieces: from the end of one to the next end of any.
    pub(super) fn stepped(
        &self,
        d: &mut Symbolic,
        piece: &Piece,
        stepped: &[AccessId],
        (v, rest): (Index, &[Index]),
        sink: &Sink,
    ) {
        let seen = self.foralls.borrow().len();
        let absent = stepped.iter().find_map(|a| Some((*a, piece.scope.fiber(*a).present?)));
        if let Some((a, present)) = absent {
            let (mut with, mut without) = (piece.clone(), piece.clone());
            with.scope.certain(a);
            without.body = self.simplify.replace(&piece.body, &|x| (x == a).then(|| self.fill(a)));
            let go = |d: &mut Symbolic, piece| self.part_within(d, piece, (v, rest), sink);
            d.when(present, |d| go(d, with), |d| go(d, without));
            return self.foralls.borrow_mut().truncate(seen);
        }
        let mut piece = piece.clone();
        self.follow_lists(d, &mut piece, v);
        let all: Vec<Pieces> = stepped.iter().map(|a| self.open_pieces(d, v, &piece, *a)).collect();
        let from = d.state("from", Term::fixed(piece.range.lo.at.clone()));
        let left = |d: &mut Symbolic| {
            let from = d.get(from);
            d.compare(Compare::Lt, &from, &Term::fixed(piece.range.hi.at.clone()))
        };
        d.repeat(&left, &mut |d| {
            let begin = d.get(from);
            let begin = d.snapshot("begin", begin);
            let begin = d.place(&begin);
            let ends: Vec<Expr> = all.iter().map(|pieces| self.end_of(d, v, &piece, pieces)).collect();
            let stop = ends.iter().fold(piece.range.hi.at.clone(), |stop, end| binary(Op::Min, stop, end.clone()));
            let stop = d.define("stop", Type::I64, stop);
            let in_runs = all.iter().all(|pieces| pieces.kind != LevelKind::Vbl);
            let within = Piece { in_runs, ..piece.within(Bound::at(begin), Bound::at(stop.clone())) };
            self.entered(d, within, (&all, SWITCHES), &|d, piece| {
                self.pieces(d, v, piece).into_iter().for_each(|piece| self.part_within(d, piece, (v, rest), sink));
            });
            for (pieces, end) in all.iter().zip(&ends) {
                let over = d.compare(Compare::Le, &Term::fixed(end.clone()), &Term::fixed(stop.clone()));
                pieces.list.next_if(d, &over);
            }
            d.set(from, Term::fixed(stop));
        });
        self.foralls.borrow_mut().truncate(seen);
    }

    /// A part of a range in which levels have pieces: it makes its own room.
    fn part_within(&self, d: &mut Symbolic, piece: Piece, (v, rest): (Index, &[Index]), sink: &Sink) {
        let part = self.part(d, v, piece, sink);
        let appends = sink.appends(v).filter(|(output, _)| part.stepped.is_empty() && output.ends.is_none());
        if let Some((output, slot)) = appends {
            output.open(d, slot, &|d| self.room_of(d, [&part], (v, rest), sink));
        }
        self.run(d, part, (v, rest), sink);
    }

    /// The pieces of an access from the one on that the first coordinate of a range is in or before.
    fn open_pieces(&self, d: &mut Symbolic, v: Index, piece: &Piece, access: AccessId) -> Pieces {
        let depth = piece.scope.fiber(access).depth;
        let kind = self.program.tensor(access).format.levels[depth];
        let start = self.view(d, &piece.scope, (access, depth), v, &piece.range).start;
        Pieces { access, depth, kind, list: self.ends(d, &piece.scope, access, start) }
    }

    /// The ends of the pieces of an access's next level, from the first on that is not before the coordinate `start`.
    fn ends(&self, d: &mut Symbolic, scope: &Scope, a: AccessId, start: Option<Term>) -> List<Term> {
        let fiber = self.unopened(d, scope, a);
        let view = View { start, ..View::default() };
        List::open(d, &format!("p_{}", self.program.tensor(a).name), ListFiber { view, ..fiber })
    }

    /// Where the piece at hand ends, in coordinates of `v`; behind the last block, the extent.
    fn end_of(&self, d: &mut Symbolic, v: Index, piece: &Piece, Pieces { access, depth, kind, list }: &Pieces) -> Expr {
        let last = match kind {
            LevelKind::Vbl => {
                let end = binary(Op::Sub, self.level_extent(*access, *depth), int(1));
                list.index_or(d, Term::fixed(end))
            }
            _ => list.index(d),
        };
        let end = plus(d.place(&last), int(1));
        let end = self.coordinate_of(d, v, piece, (*access, *depth), end).at;
        d.define("end", Type::I64, end)
    }

    fn level_extent(&self, a: AccessId, l: usize) -> Expr {
        let tensor = self.program.tensor(a);
        self.extent(tensor.extents[tensor.format.order[l]])
    }

    /// Where a list of ends rests.
    fn rests(&self, d: &mut Symbolic, a: AccessId, list: &List<Term>) -> Expr {
        let position = list.entry(d).position;
        let position = d.snapshot(&format!("q_{}", self.program.tensor(a).name), position);
        d.place(&position)
    }

    /// A block, if there is one: numbers of it are asked for nowhere else.
    fn block(&self, d: &mut Symbolic, (a, depth): (AccessId, usize), at: &Expr, present: Option<&Expr>) -> Block {
        let (crd, ofs) = match self.levels(a)[depth] {
            LevelBuffers::Vbl { crd, ofs, .. } | LevelBuffers::Packbits { crd, ofs, .. } => (crd, ofs),
            _ => unreachable!("runs have no blocks"),
        };
        let mut number = |buffer: BufferId, at: Expr, name: &str| {
            let x = d.index(buffer, at);
            let x = present.map_or(x.clone(), |present| select(present, x, int(0)));
            d.define(&format!("{name}_{}", self.program.tensor(a).name), Type::I64, x)
        };
        let last = number(crd, at.clone(), "last");
        let begin = number(ofs, at.clone(), "begin");
        Block { last, begin, end: number(ofs, plus(at.clone(), int(1)), "end") }
    }

    /// A range in which no piece ends, with each of these open, or an interval of it known; for some of the packed ones there
    /// is code for either kind of piece.
    fn entered(
        &self,
        d: &mut Symbolic,
        mut piece: Piece,
        (all, switches): (&[Pieces], usize),
        go: &dyn Fn(&mut Symbolic, Piece),
    ) {
        let Some((Pieces { access, depth, kind, list }, rest)) = all.split_first() else { return go(d, piece) };
        if *kind == LevelKind::Vbl {
            let here = list.valid(d);
            let here = d.snapshot_bool("here", here);
            let (here, at) = (d.place(&here), self.rests(d, *access, list));
            let block = self.block(d, (*access, *depth), &at, Some(&here));
            let extent = self.level_extent(*access, *depth);
            let mut defined = |name: &str, e: Expr| d.define(name, Type::I64, e);
            let start = defined("start", select(&here, block.first(), extent.clone()));
            let stop = defined("stop", select(&here, plus(block.last.clone(), int(1)), extent));
            piece.scope.found(*access, Interval { start, stop, base: block.base() });
            return self.entered(d, piece, (rest, switches), go);
        }
        let at = self.rests(d, *access, list);
        if *kind == LevelKind::Runs {
            piece.scope.descend(*access, (at, None), None);
            return self.entered(d, piece, (rest, switches), go);
        }
        let block = self.block(d, (*access, *depth), &at, None);
        let Some(fewer) = switches.checked_sub(1) else {
            let lookup = d.define("lookup", Type::Bool, block.is_lookup());
            let base = d.define("base", Type::I64, select(&lookup, block.base(), block.begin.clone()));
            let step = d.define("step", Type::I64, Expr::Op(Op::Convert(Type::I64), vec![lookup]));
            piece.scope.enter(*access, Phase::Packed { base, step });
            return self.entered(d, piece, (rest, 0), go);
        };
        let mut run = piece.clone();
        run.scope.descend(*access, (block.begin.clone(), None), None);
        piece.scope.enter(*access, Phase::Inside(block.base()));
        d.when(
            block.is_lookup(),
            |d| self.entered(d, piece, (rest, fewer), go),
            |d| self.entered(d, run, (rest, fewer), go),
        );
    }

    /// Opens an access's next level, which has pieces, at a coordinate: by a search. Whether it may be absent there.
    pub(in crate::loops::lower) fn open_stepped(
        &self,
        d: &mut Symbolic,
        scope: &mut Scope,
        a: AccessId,
        coordinate: Expr,
    ) -> bool {
        let fiber = scope.fiber(a);
        let list = self.ends(d, scope, a, Some(Term::fixed(coordinate.clone())));
        match self.program.tensor(a).format.levels[fiber.depth] {
            LevelKind::Vbl => {
                let here = list.valid(d);
                let here = d.snapshot_bool("here", here);
                let (here, at) = (d.place(&here), self.rests(d, a, &list));
                let block = self.block(d, (a, fiber.depth), &at, Some(&here));
                let found = binary(Op::AndAlso, here, binary(Op::Le, block.first(), coordinate.clone()));
                let found = d.define("found", Type::Bool, found);
                scope.descend(a, (plus(block.base(), coordinate), None), Some(found));
                true
            }
            LevelKind::Packbits => {
                let at = self.rests(d, a, &list);
                let block = self.block(d, (a, fiber.depth), &at, fiber.present.as_ref());
                let position = select(&block.is_lookup(), plus(block.base(), coordinate), block.begin.clone());
                let position = d.define(&format!("q_{}", self.program.tensor(a).name), Type::I64, position);
                scope.descend(a, (position, None), fiber.present);
                false
            }
            _ => {
                let at = self.rests(d, a, &list);
                scope.descend(a, (at, None), fiber.present);
                false
            }
        }
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
        let sums = *op == Op::Add && matches!(ty, Type::I64 | Type::F32 | Type::F64);
        let once = properties(*op, ty, self.simplify.mode).idempotent;
        if !f.piece.in_runs || !(once || sums && self.simplify.mode == Mode::Algebraic) {
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
    fn is_still(&self, f: &Forall, e: &concrete::Expr) -> bool {
        match e {
            concrete::Expr::Literal(_) => true,
            concrete::Expr::Index(u) => !self.program.follows(*u, f.v),
            concrete::Expr::Access(a, _) => self.next_var(f.scope(), *a).is_none(),
            concrete::Expr::Call(Fun::Op(_), args, _) => args.iter().all(|arg| self.is_still(f, arg)),
            _ => false,
        }
    }
}
