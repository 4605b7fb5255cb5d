//! Replaces folds over values that compare with a bound by a search in a sorted copy.
//!
//! ```text
//!   for i in 0..n_I                                  keys = p_vals, sorted, without NaN
//!     t = 0                                          for i in 0..n_I
//!     for j in 0..n_J                        ──▶       t = 0
//!       t = t + i64(p_vals[j] < q_vals[i])             low = 0, high = kept                  the first key that is not less
//!                                                      while low < high …
//!                                                      t = t + low
//! ```
//!
//! A comparison of a key that depends on `j` alone with a bound that does not depend on `j` holds for the first keys of the sorted copy,
//! or for the last ones. A count is the number of those keys; any other fold is one of the folds from either end, which are computed with
//! the copy. No comparison with NaN holds, so NaNs are left out. So `n` folds cost n · log n, and one rank costs log n. Values are folded
//! in another order, which the function has to allow.
//!
//! The copy is made in front of the outermost loop, if that has enough iterations and the copy is long enough; the kernel tests this when
//! it runs.

use super::appending::in_no_loop;
use super::downward::in_place;
use crate::arith::{binary, int, minus, plus, times};
use crate::inside::{Inside, Named};
use crate::names::Vars;
use crate::{Buffer, BufferId, Entry, Expr, How, Kernel, Role, Stmt, Var, fold_of, map_blocks};
use fiberloom_core::algebra::{Mode, Op, Type, Value, identity, properties};

/// The fewest keys, and iterations of the outermost loop, for which a copy is made.
const FEWEST: [i64; 2] = [64, 16];

/// Makes sorted copies for folds over comparisons.
pub fn ranks(kernel: &mut Kernel) {
    ranks_of(kernel, FEWEST);
}

/// As `ranks`, with this least number of keys, and of iterations of the outermost loop.
pub fn ranks_of(kernel: &mut Kernel, fewest: [i64; 2]) {
    let body = std::mem::take(&mut kernel.body);
    kernel.body = in_no_loop(body, &mut |stmt| outermost(stmt, kernel, fewest));
}

/// A loop that is in no other, behind the copies for folds in it.
fn outermost(stmt: Stmt, kernel: &mut Kernel, fewest: [i64; 2]) -> Vec<Stmt> {
    let Stmt::For { var, lo, hi, how: How::Serial, body } = stmt else { return vec![stmt] };
    let mut inside = Inside::of(&body);
    inside.turns.insert(var);
    let turns = minus(hi.clone(), lo.clone());
    let mut search = Search { inside, turns, fewest, kernel, made: vec![] };
    let body = search.block(body);
    let mut out = search.made;
    out.push(Stmt::For { var, lo, hi, how: How::Serial, body });
    out
}

/// The folds inside of an outermost loop.
struct Search<'k> {
    inside: Inside,
    turns: Expr,
    fewest: [i64; 2],
    kernel: &'k mut Kernel,
    made: Vec<Stmt>,
}

/// A fold over values that compare with a bound.
struct Compared {
    turn: Var,
    lo: Expr,
    hi: Expr,
    /// The variable into which values are folded, and the function.
    t: Var,
    op: Op,
    /// `key op bound`; the key depends on the iteration.
    key: Expr,
    comparison: Op,
    bound: Expr,
    counted: Counted,
}

/// The value that is folded where the comparison holds.
enum Counted {
    /// 1, in the type of the variable.
    One,
    /// A truth value: whether the comparison holds anywhere, or everywhere.
    Any,
    All,
    /// A value, with the identity of the function.
    Value(Expr, Value),
}

impl Search<'_> {
    fn block(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(stmts.len());
        for stmt in stmts {
            match self.compared(&stmt) {
                Some(compared) => out.push(self.searched(&compared, stmt)),
                None => out.extend(map_blocks(vec![stmt], &mut |inner| self.block(inner))),
            }
        }
        out
    }

    /// The fold, if a loop only folds over values that compare with a bound, and everything but the bound stays the same in the loops
    /// around.
    fn compared(&self, stmt: &Stmt) -> Option<Compared> {
        let Stmt::For { var: turn, lo, hi, how: How::Serial, body } = stmt else { return None };
        let (Stmt::Set(t, e), lets) = body.split_last()? else { return None };
        let only_lets = lets.iter().all(|stmt| matches!(stmt, Stmt::Let(..)));
        let (op, folded) = fold_of(*t, e).filter(|_| only_lets)?;
        let folded = Named::of(lets).within(folded);
        let (condition, counted) = self.counted(*t, op, &folded)?;
        let Expr::Op(comparison @ (Op::Lt | Op::Le | Op::Gt | Op::Ge), sides) = condition else { return None };
        let [left, right] = &sides[..] else { return None };
        let (key, comparison, bound) = match (left.reads(*turn), right.reads(*turn)) {
            (true, false) => (left, *comparison, right),
            (false, true) => (right, turned(*comparison), left),
            _ => return None,
        };
        let stays = |e: &Expr| {
            let mut stays = self.inside.holds(e);
            e.each(&mut |e| stays &= !matches!(e, Expr::Var(v) if v != turn && self.inside.turns.contains(v)));
            stays
        };
        let value = if let Counted::Value(value, _) = &counted { Some(value) } else { None };
        // A loaded key does not guard loads at the iteration, but may guard loads at loaded indices.
        let safe = value.is_none_or(|value| stays(value) && !gathers(value));
        let fits = key.loads() && !bound.reads(*t) && safe && [key, lo, hi].into_iter().all(stays);
        fits.then(|| Compared {
            turn: *turn,
            lo: lo.clone(),
            hi: hi.clone(),
            t: *t,
            op,
            key: key.clone(),
            comparison,
            bound: bound.clone(),
            counted,
        })
    }

    /// The condition of the folded value, and the value where it holds.
    fn counted<'e>(&self, t: Var, op: Op, folded: &'e Expr) -> Option<(&'e Expr, Counted)> {
        let ty = self.kernel.vars[t.0 as usize].1;
        let mode = if self.kernel.reassociate { Mode::Algebraic } else { Mode::Strict };
        let exact = !ty.is_float() || mode == Mode::Algebraic;
        let properties = properties(op, ty, mode);
        let any_order = properties.associative && properties.commutative;
        let nothing = identity(op, ty).filter(|e| any_order && properties.identities.contains(&(1, *e)));
        match (op, folded) {
            (Op::OrElse, condition) if ty == Type::Bool => Some((condition, Counted::Any)),
            (Op::AndAlso, condition) if ty == Type::Bool => Some((condition, Counted::All)),
            (Op::Add, Expr::Op(Op::Convert(_), args)) if exact && self.kernel.type_of(&args[0]) == Ok(Type::Bool) => {
                Some((&args[0], Counted::One))
            }
            (Op::Add, Expr::Op(Op::Mask, args)) => Some((&args[0], Counted::Value(args[1].clone(), nothing?))),
            (_, Expr::Op(Op::Select, args)) => {
                let same = nothing.filter(|nothing| args[2] == Expr::Const(*nothing))?;
                Some((&args[0], Counted::Value(args[1].clone(), same)))
            }
            _ => None,
        }
    }

    /// The search in a copy, if the copy was made; else the loop.
    fn searched(&mut self, of: &Compared, as_it_is: Stmt) -> Stmt {
        let copy = self.copied(of);
        let mut fresh = |name| Vars::of(&mut self.kernel.vars).fresh(name, Type::I64);
        let [low, high, mid] = ["low", "high", "mid"].map(&mut fresh);
        let of_key = copy.key_ty;
        let bound = Vars::of(&mut self.kernel.vars).fresh("bound", of_key);
        let said = Expr::Op(Op::Convert(of_key), vec![of.bound.clone()]);
        let same = self.kernel.type_of(&of.bound) == Ok(of_key);
        let holds = binary(of.comparison, load(copy.keys, Expr::Var(mid)), Expr::Var(bound));
        let up = vec![Stmt::Set(low, plus(Expr::Var(mid), int(1)))];
        let down = vec![Stmt::Set(high, Expr::Var(mid))];
        let first = matches!(of.comparison, Op::Lt | Op::Le);
        let (yes, no) = if first { (up, down) } else { (down, up) };
        let both = binary(Op::Shr, plus(Expr::Var(low), Expr::Var(high)), int(1));
        let kept = Expr::Var(copy.kept);
        let found = if first { Expr::Var(low) } else { minus(kept.clone(), Expr::Var(low)) };
        let ty = self.kernel.vars[of.t.0 as usize].1;
        let folded = match (&of.counted, copy.folded) {
            (Counted::One, _) if ty == Type::I64 => found,
            (Counted::One, _) => Expr::Op(Op::Convert(ty), vec![found]),
            (Counted::Any, _) => binary(Op::Gt, found, int(0)),
            (Counted::All, _) => binary(Op::Eq, found, minus(of.hi.clone(), of.lo.clone())),
            (Counted::Value(..), Some(folds)) => load(folds, Expr::Var(low)),
            (Counted::Value(..), None) => unreachable!("a fold of values has folds from an end"),
        };
        let search = vec![
            Stmt::Let(bound, if same { of.bound.clone() } else { said }),
            Stmt::Set(low, int(0)),
            Stmt::Set(high, kept),
            Stmt::While(
                binary(Op::Lt, Expr::Var(low), Expr::Var(high)),
                vec![Stmt::Let(mid, both), Stmt::If(holds, yes, no)],
            ),
            Stmt::Set(of.t, Expr::Op(of.op, vec![Expr::Var(of.t), folded])),
        ];
        Stmt::If(Expr::Var(copy.many), search, vec![as_it_is])
    }

    /// Makes a sorted copy of the keys in front of the outermost loop, and the folds from an end.
    fn copied(&mut self, of: &Compared) -> Copied {
        let ty = self.kernel.type_of(&of.key).expect("it is compared");
        let as_i64 = ty.range().is_some_and(|(least, most)| least >= i64::MIN.into() && most <= i64::MAX.into());
        let key_ty = if as_i64 { Type::I64 } else { ty };
        let values = matches!(of.counted, Counted::Value(..));
        let keys = self.workspace("keys", key_ty);
        let places = (as_i64 || values).then(|| self.workspace("places", Type::I64));
        let folded = values.then(|| self.workspace("folds", self.kernel.vars[of.t.0 as usize].1));
        let [many, kept] = [("many", Type::Bool), ("kept", Type::I64)]
            .map(|(name, ty)| Vars::of(&mut self.kernel.vars).fresh(name, ty));
        let copied = Copied { keys, key_ty, places, folded, many, kept };
        let size = minus(of.hi.clone(), of.lo.clone());
        let enough = [size.clone(), self.turns.clone()].into_iter().zip(self.fewest);
        let enough = enough.map(|(n, fewest)| binary(Op::Ge, n, int(fewest)));
        let enough = enough.reduce(|a, b| binary(Op::AndAlso, a, b)).expect("there are two");
        self.made.push(Stmt::Let(many, enough));
        let room = Expr::Op(Op::Select, vec![Expr::Var(many), size, int(0)]);
        let alloc = |buffer, len| Stmt::Call(Entry::Alloc { buffer, len, fill: None });
        self.made.extend([keys].into_iter().chain(places).map(|b| alloc(b, room.clone())));
        self.made.extend(folded.map(|b| alloc(b, plus(room.clone(), int(1)))));
        self.made.push(Stmt::Set(kept, int(0)));
        let mut body = vec![self.taken(of, &copied)];
        match places.filter(|_| as_i64) {
            Some(order) => body.push(Stmt::Call(Entry::Sort { keys, order, len: Expr::Var(kept) })),
            None => {
                let twins = [Some(keys), places].map(|b| b.map(|b| (b, self.twin(b))));
                self.made.extend(twins.iter().flatten().map(|(_, twin)| alloc(*twin, room.clone())));
                body.push(self.merged(&copied, twins));
            }
        }
        if let (Counted::Value(value, nothing), Some(folds), Some(places)) = (&of.counted, folded, places) {
            body.extend(self.folds(of, (value, *nothing), &copied, (folds, places)));
        }
        self.made.push(Stmt::If(Expr::Var(many), body, vec![]));
        copied
    }
}

/// A sorted copy of keys.
#[derive(Clone, Copy)]
struct Copied {
    keys: BufferId,
    key_ty: Type,
    /// The iterations to which keys belong; if whole numbers are sorted, counted from the first.
    places: Option<BufferId>,
    /// The folds of the values of the first keys, or of the last: one element more than there are keys.
    folded: Option<BufferId>,
    /// Whether the copy was made, and its number of keys.
    many: Var,
    kept: Var,
}

impl Copied {
    /// Whether the runtime sorts the keys.
    fn sorts(&self) -> bool {
        self.key_ty == Type::I64
    }
}

/// Emits the parts of a copy.
impl Search<'_> {
    fn fresh(&mut self, name: &str) -> Var {
        Vars::of(&mut self.kernel.vars).fresh(name, Type::I64)
    }

    fn workspace(&mut self, name: &str, ty: Type) -> BufferId {
        crate::names::workspace(self.kernel, name, ty)
    }

    /// A workspace like another one.
    fn twin(&mut self, of: BufferId) -> BufferId {
        let Buffer { name, ty, role, .. } = self.kernel.buffers[of.0 as usize].clone();
        debug_assert_eq!(role, Role::Workspace);
        self.workspace(&name, ty)
    }

    /// Copies all keys except NaN.
    fn taken(&mut self, of: &Compared, to: &Copied) -> Stmt {
        let turn = Vars::of(&mut self.kernel.vars).again(of.turn);
        let key = in_place(&of.key, of.turn, &Expr::Var(turn));
        let ty = self.kernel.type_of(&of.key).expect("it is compared");
        let named = Vars::of(&mut self.kernel.vars).fresh("key", ty);
        let kept = Expr::Var(to.kept);
        let stored =
            if ty == to.key_ty { Expr::Var(named) } else { Expr::Op(Op::Convert(to.key_ty), vec![Expr::Var(named)]) };
        let mut keep = vec![Stmt::Store(to.keys, kept.clone(), stored)];
        let places = to.places.filter(|_| !to.sorts());
        keep.extend(places.map(|places| Stmt::Store(places, kept.clone(), Expr::Var(turn))));
        keep.push(Stmt::Set(to.kept, plus(kept, int(1))));
        let mut body = vec![Stmt::Let(named, key)];
        match ty.is_float() {
            true => body.push(Stmt::If(binary(Op::Eq, Expr::Var(named), Expr::Var(named)), keep, vec![])),
            false => body.extend(keep),
        }
        Stmt::For { var: turn, lo: of.lo.clone(), hi: of.hi.clone(), how: How::Serial, body }
    }

    /// Sorts by merging runs of one, two, four … keys, alternating between two arrays.
    fn merged(&mut self, to: &Copied, twins: [Option<(BufferId, BufferId)>; 2]) -> Stmt {
        let width = self.fresh("width");
        let back = twins.map(|twin| twin.map(|(a, b)| (b, a)));
        let mut body = self.pass(to, twins, Expr::Var(width));
        body.extend(self.pass(to, back, times(Expr::Var(width), int(2))));
        body.push(Stmt::Set(width, times(Expr::Var(width), int(4))));
        let more = binary(Op::Lt, Expr::Var(width), Expr::Var(to.kept));
        Stmt::If(
            binary(Op::Gt, Expr::Var(to.kept), int(0)),
            vec![Stmt::Set(width, int(1)), Stmt::While(more, body)],
            vec![],
        )
    }

    /// Merges each pair of runs of `width` keys to one.
    fn pass(&mut self, to: &Copied, arrays: [Option<(BufferId, BufferId)>; 2], width: Expr) -> Vec<Stmt> {
        let [start, left, right, s] = ["start", "left", "right", "s"].map(|name| self.fresh(name));
        let [mid, end, take] = ["mid", "end", "take"].map(|name| self.fresh(name));
        let kept = Expr::Var(to.kept);
        let up_to = |e: Expr| binary(Op::Min, e, kept.clone());
        let (keys, _) = arrays[0].expect("there are keys");
        let [l, r] = [left, right].map(Expr::Var);
        let less = binary(Op::Le, load(keys, l.clone()), load(keys, r.clone()));
        let rest = binary(Op::AndAlso, binary(Op::Lt, l.clone(), Expr::Var(mid)), less);
        let of_left = binary(Op::OrElse, binary(Op::Ge, r.clone(), Expr::Var(end)), rest);
        let place = Expr::Op(Op::Select, vec![of_left, l.clone(), r.clone()]);
        let mut body = vec![Stmt::Let(take, place)];
        for (from, into) in arrays.into_iter().flatten() {
            body.push(Stmt::Store(into, Expr::Var(s), load(from, Expr::Var(take))));
        }
        let is_left = Expr::Op(Op::Convert(Type::I64), vec![binary(Op::Lt, Expr::Var(take), Expr::Var(mid))]);
        body.push(Stmt::Set(left, plus(l.clone(), is_left)));
        let next = minus(plus(Expr::Var(s), int(1)), l);
        body.push(Stmt::Set(right, plus(next, Expr::Var(mid))));
        let runs = vec![
            Stmt::Let(mid, up_to(plus(Expr::Var(start), width.clone()))),
            Stmt::Let(end, up_to(plus(Expr::Var(start), times(width, int(2))))),
            Stmt::Set(left, Expr::Var(start)),
            Stmt::Set(right, Expr::Var(mid)),
            Stmt::For { var: s, lo: Expr::Var(start), hi: Expr::Var(end), how: How::Serial, body },
            Stmt::Set(start, Expr::Var(end)),
        ];
        vec![Stmt::Set(start, int(0)), Stmt::While(binary(Op::Lt, Expr::Var(start), kept), runs)]
    }

    /// Folds the values of the first keys, or of the last ones, for each number of keys.
    fn folds(
        &mut self,
        of: &Compared,
        (value, nothing): (&Expr, Value),
        to: &Copied,
        (folds, places): (BufferId, BufferId),
    ) -> Vec<Stmt> {
        let s = self.fresh("s");
        let first = matches!(of.comparison, Op::Lt | Op::Le);
        let kept = Expr::Var(to.kept);
        let (from, at, next) = match first {
            true => (int(0), Expr::Var(s), plus(Expr::Var(s), int(1))),
            false => {
                let at = minus(minus(kept.clone(), Expr::Var(s)), int(1));
                (kept.clone(), at.clone(), at)
            }
        };
        let before = if first { at.clone() } else { minus(kept.clone(), Expr::Var(s)) };
        let place = load(places, at);
        let turn = if to.sorts() { plus(of.lo.clone(), place) } else { place };
        let value = in_place(value, of.turn, &turn);
        let folded = Expr::Op(of.op, vec![load(folds, before), value]);
        vec![
            Stmt::Store(folds, from, Expr::Const(nothing)),
            Stmt::For { var: s, lo: int(0), hi: kept, how: How::Serial, body: vec![Stmt::Store(folds, next, folded)] },
        ]
    }
}

/// The comparison with its sides exchanged.
fn turned(comparison: Op) -> Op {
    match comparison {
        Op::Lt => Op::Gt,
        Op::Le => Op::Ge,
        Op::Gt => Op::Lt,
        _ => Op::Le,
    }
}

/// Whether an expression loads at a loaded index.
fn gathers(e: &Expr) -> bool {
    let mut gathers = false;
    e.each(&mut |e| gathers |= matches!(e, Expr::Load(_, at) if at.loads()) || matches!(e, Expr::Among(..)));
    gathers
}

/// An element.
fn load(b: BufferId, at: Expr) -> Expr {
    Expr::Load(b, Box::new(at))
}
