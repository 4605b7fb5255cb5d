//! Variables into which all iterations of a launched loop fold, in parts, each a unit's: always the same parts, so that a sum of floats has the
//! same bits whatever runs them, and when.
//!
//! ```text
//!   parallel for i in lo..hi folding t            units: whole warps, 16384 at most
//!     t = t + …                                   parallel for unit in 0..units
//!                                                   t = 0.0
//!                                          ──▶      for turn in 0..(hi - lo - unit + units - 1) / units
//!                                                     let i = lo + unit + turn * units
//!                                                     t = t + …
//!                                                   parts[unit] = t
//!                                                 t = what it was; for unit in 0..units { t = t + parts[unit] }
//! ```
//!
//! Units are whole warps', and neighbours run neighbouring iterations. What is folded may come in another order, as pieces of it may ([`fold_in_pieces`]).

use super::{WARP, failures, marked, no_atomic};
use crate::arith::{binary, int, times};
use crate::names::{Vars, workspace};
use crate::work::takes_time;
use crate::{BufferId, Deal, Entry, Expr, How, Kernel, Stmt, Var, fold_in_pieces};
use fiberloom_core::algebra::{Op, Value};

/// The iterations of a unit at least, where there are enough, and they are a few statements.
const TURNS: i64 = 16;

/// The most units, in warps.
const WARPS: i64 = 1 << 9;

/// A loop that folds into variables, as one whose units have parts of them, with what stands around; any other statement as it is, and a
/// loop whose threads may fold into its variables at once.
///
/// # Errors
/// That iterations fail in several ways: the first of them counts.
pub(super) fn in_parts(kernel: &mut Kernel, stmt: Stmt) -> Result<Vec<Stmt>, String> {
    match stmt {
        Stmt::For { var, lo, hi, how: How::Parallel { own, joined, folded, arrays }, body }
            if folded.iter().any(|v| !at_once(kernel, var, (&body, *v))) =>
        {
            if failures::codes(&body) > 1 {
                return Err(failures::SEVERAL.to_string());
            }
            let folds = folded.iter().filter_map(|v| Some((*v, fold_in_pieces(kernel, &body, *v)?)));
            let folds = folds.collect::<Vec<_>>().into_iter().map(|(v, fold)| Part::of(kernel, v, fold)).collect();
            let turns = if body.iter().any(takes_time) { 1 } else { TURNS };
            let how = How::Parallel { own, joined, folded: vec![], arrays };
            Ok(Parts::of(kernel, var, folds, turns).around([lo, hi], how, body))
        }
        stmt => Ok(vec![stmt]),
    }
}

/// Whether threads fold into a variable at once: there are such atomics, a schedule leaves the order open, and no warp or block is to run
/// an iteration.
pub(super) fn at_once(kernel: &Kernel, var: Var, (body, v): (&[Stmt], Var)) -> bool {
    let (name, ty) = kernel.vars[v.0 as usize].clone();
    let races = kernel.hints.get(&var).is_some_and(|hints| hints.claim.races());
    let fold = fold_in_pieces(kernel, body, v);
    let by_thread = !matches!(marked(kernel, var), Some(Deal::Warp | Deal::Block));
    by_thread && fold.is_some_and(|(op, _)| no_atomic((name, ty), op, races).is_none())
}

/// A variable, and what units have of it.
struct Part {
    var: Var,
    op: Op,
    identity: Value,
    parts: BufferId,
    before: Var,
}

impl Part {
    fn of(kernel: &mut Kernel, var: Var, (op, identity): (Op, Value)) -> Part {
        let (name, ty) = kernel.vars[var.0 as usize].clone();
        let parts = workspace(kernel, &format!("{name}_parts"), ty);
        let before = Vars::of(&mut kernel.vars).fresh(&format!("{name}_before"), ty);
        Part { var, op, identity, parts, before }
    }
}

/// A loop in parts.
struct Parts {
    /// The loop's variable.
    var: Var,
    all: Vec<Part>,
    first: Var,
    /// The number of iterations, and of units.
    count: Var,
    units: Var,
    unit: Var,
    turn: Var,
    /// The unit whose part is folded.
    folded: Var,
    /// The iterations of a unit at least.
    turns: i64,
}

impl Parts {
    fn of(kernel: &mut Kernel, var: Var, all: Vec<Part>, turns: i64) -> Parts {
        let hints = kernel.hints.get(&var).copied();
        let mut vars = Vars::of(&mut kernel.vars);
        let [first, count, units, turn, folded] =
            ["first", "count", "units", "turn", "unit"].map(|name| vars.index(name));
        let unit = vars.again(var);
        kernel.hints.extend(hints.map(|hints| (unit, hints)));
        Parts { var, all, first, count, units, unit, turn, folded, turns }
    }

    fn around(&self, [lo, hi]: [Expr; 2], how: How, body: Vec<Stmt>) -> Vec<Stmt> {
        let [first, count, units] = [self.first, self.count, self.units].map(Expr::Var);
        let warps = binary(Op::Min, binary(Op::Div, count.clone(), int(self.turns * WARP)), int(WARPS));
        let mut out = vec![
            Stmt::Let(self.first, lo),
            Stmt::Let(self.count, binary(Op::Max, binary(Op::Sub, hi, first), int(0))),
            Stmt::Let(self.units, binary(Op::Max, times(warps, int(WARP)), binary(Op::Min, count, int(WARP)))),
        ];
        for part in &self.all {
            out.push(Stmt::Let(part.before, Expr::Var(part.var)));
            out.push(Stmt::Call(Entry::Alloc { buffer: part.parts, len: units.clone(), fill: None }));
        }
        out.push(Stmt::For { var: self.unit, lo: int(0), hi: units.clone(), how, body: self.unit(body) });
        out.extend(self.all.iter().map(|part| Stmt::Set(part.var, Expr::Var(part.before))));
        out.push(Stmt::For { var: self.folded, lo: int(0), hi: units, how: How::Serial, body: self.folds() });
        out
    }

    /// What a unit runs.
    fn unit(&self, body: Vec<Stmt>) -> Vec<Stmt> {
        let [first, count, units, unit, turn] =
            [self.first, self.count, self.units, self.unit, self.turn].map(Expr::Var);
        let here = binary(Op::Add, first, binary(Op::Add, unit.clone(), times(turn, units.clone())));
        let rest = binary(Op::Add, binary(Op::Sub, count, unit.clone()), binary(Op::Sub, units.clone(), int(1)));
        let body = [Stmt::Let(self.var, here)].into_iter().chain(body).collect();
        let turns = Stmt::For { var: self.turn, lo: int(0), hi: binary(Op::Div, rest, units), how: How::Serial, body };
        let begin = self.all.iter().map(|part| Stmt::Set(part.var, Expr::Const(part.identity)));
        let end = self.all.iter().map(|part| Stmt::Store(part.parts, unit.clone(), Expr::Var(part.var)));
        begin.chain([turns]).chain(end).collect()
    }

    /// The folds of a unit's parts.
    fn folds(&self) -> Vec<Stmt> {
        let fold = |part: &Part| {
            let here = Expr::Load(part.parts, Box::new(Expr::Var(self.folded)));
            Stmt::Set(part.var, binary(part.op, Expr::Var(part.var), here))
        };
        self.all.iter().map(fold).collect()
    }
}
