//! Continues a fold over a range that grows from iteration to iteration, instead of starting it again.
//!
//! ```text
//!   for i in 0..n_I                                run = 0.0; next = 0
//!     t = 0.0                                      for i in 0..n_I
//!     for k in 0..i + 1                              let end = i + 1
//!       t = t + x_vals[k]                  ──▶       if end < next: run = 0.0; next = 0
//!     c_vals[i] = t                                  t = run
//!                                                    for k in next..end: t = t + x_vals[k]
//!                                                    run = t; next = max(next, end)
//!                                                    c_vals[i] = t
//!
//!     while p < n && x_crd[p] < i          ──▶       the same, by the bound of x_crd[p] in the place of p's
//!
//!   for i in 0..n_I                                next = 0
//!     for k in 0..i + 1                            for i in 0..n_I
//!       for j in 0..n_J                              if i > 0 && i + 1 >= next: the row before, copied
//!         R[i, j] = R[i, j] + M[k, j]      ──▶       else: next = 0
//!                                                    for k in next..i + 1: for j in 0..n_J: R[i, j] = R[i, j] + M[k, j]
//! ```
//!
//! Apart from the variables that it sets itself, the inner loop must read nothing that changes from iteration to iteration. A fold up to
//! a bound is then the beginning of the fold up to a greater bound, value by value, so nothing is regrouped. If a bound is less than the
//! previous one, the fold starts again: whether bounds grow affects the cost, not the result.

use super::downward::in_place;
use crate::names::Vars;
use crate::{BufferId, Entry, Expr, Holds, How, Kernel, Stmt, Var, map_blocks, runs_statements};
use fiberloom_core::algebra::{Op, Type, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Continues folds over ranges that grow from iteration to iteration of the loop around.
pub fn incremental_folds(kernel: &mut Kernel) {
    let body = std::mem::take(&mut kernel.body);
    let hints = kernel.hints.keys().copied().collect();
    let operands = kernel.arguments.iter().filter(|a| a.operand).flat_map(|a| &a.levels);
    let held = operands.flat_map(|level| level.buffers());
    let positions = held.filter(|(_, holds)| *holds == Holds::Positions).map(|(b, _)| b).collect();
    kernel.body = Carries { vars: Vars::of(&mut kernel.vars), hints, positions }.block(body);
}

struct Carries<'k> {
    vars: Vars<'k>,
    /// Loops that a schedule asks to unroll or vectorize: they stay as they are.
    hints: BTreeSet<Var>,
    /// Operands' arrays of positions, which have at least one element.
    positions: BTreeSet<BufferId>,
}

/// The variables and buffers that a loop's body changes.
#[derive(Default)]
struct Changes {
    /// Variables that the body defines or sets.
    defined: BTreeSet<Var>,
    /// Variables of `defined` whose values may differ between iterations.
    changing: BTreeSet<Var>,
    /// Buffers that the body changes.
    stored: BTreeSet<BufferId>,
}

/// A fold in a loop that can be continued in the next iteration of the loop around.
struct Fold {
    /// The variables that the fold sets, each with its initial value and the place of that statement in the block.
    begins: Vec<(Var, Expr, usize)>,
    /// The bound that grows: the end of a counted loop, or the bound in a condition.
    bound: Expr,
}

/// A row into which each iteration folds.
struct Row {
    fold: Stmt,
    buffer: BufferId,
    /// The index of a column in the row.
    at: Expr,
    /// The column variable, and the number of columns.
    column: (Var, Expr),
}

impl Carries<'_> {
    fn block(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(stmts.len());
        for stmt in map_blocks(stmts, &mut |inner| self.block(inner)) {
            match stmt {
                Stmt::For { var, lo, hi, how: How::Serial, body } if self.row(var, &body, &out).is_some() => {
                    let row = self.row(var, &body, &out).expect("one was found");
                    let body = self.rows((var, &lo), row, &mut out);
                    out.push(Stmt::For { var, lo, hi, how: How::Serial, body });
                }
                Stmt::For { var, lo, hi, how: How::Serial, body } if self.may_carry(var, &body) => {
                    let turn = Changes::of(var, &body);
                    let body = self.turn(body, var, &turn, &mut out);
                    out.push(Stmt::For { var, lo, hi, how: How::Serial, body });
                }
                stmt => out.push(stmt),
            }
        }
        out
    }

    /// The row of a result into which each iteration over `i` folds, if the loop does nothing else, and the row holds a single value
    /// `before` the loop.
    fn row(&self, i: Var, body: &[Stmt], before: &[Stmt]) -> Option<Row> {
        let [Stmt::For { var: k, lo, hi, how: How::Serial, body: inside }] = body else { return None };
        let [lets @ .., Stmt::For { var: j, lo: first, hi: width, body: leaf, .. }] = &inside[..] else { return None };
        let [named @ .., Stmt::Store(b, at, value)] = &leaf[..] else { return None };
        let turn = Changes::of(i, body);
        let plain = [i, *k, *j].iter().all(|v| !self.hints.contains(v)) && *first == Expr::Const(Value::i64(0));
        if !plain || !grows(hi, i) || !self.is_known(lo, &turn) || !self.is_known(width, &turn) {
            return None;
        }
        let names = lets.iter().chain(named);
        let stays = |e: &Expr| !e.loads_from(*b) && !e.reads(i);
        let held = Expr::Load(*b, Box::new(at.clone()));
        let Expr::Op(_, args) = value else { return None };
        let folds = args.len() == 2 && args[0] == held && stays(&args[1]);
        let named = names.into_iter().all(|s| matches!(s, Stmt::Let(_, e) if stays(e)));
        let begun = before.iter().rev().find(|stmt| touches_buffer(stmt, *b));
        let filled = matches!(begun, Some(Stmt::Call(Entry::Alloc { fill: Some(_), .. })));
        let inner = |e: &Expr| self.is_known(e, &turn);
        (folds && named && filled && is_row(at, (i, *j), width, &inner)).then(|| Row {
            fold: body[0].clone(),
            buffer: *b,
            at: at.clone(),
            column: (*j, width.clone()),
        })
    }

    /// An iteration over `i`, from `first` on, that continues with the row of the previous iteration.
    fn rows(&mut self, (i, first): (Var, &Expr), row: Row, before: &mut Vec<Stmt>) -> Vec<Stmt> {
        let Row { fold, buffer, at, column: (j, width) } = row;
        let Stmt::For { var: k, lo, hi, how, body } = fold else { unreachable!("a fold is a loop") };
        let (end, next) = (self.vars.fresh("end", Type::I64), self.vars.fresh("next", Type::I64));
        let column = self.vars.again(j);
        let at = at.renamed(&BTreeMap::from([(j, column)]));
        let one = Expr::Const(Value::i64(1));
        let was = in_place(&at, i, &Expr::Op(Op::Sub, vec![Expr::Var(i), one]));
        let copy = vec![Stmt::Store(buffer, at, Expr::Load(buffer, Box::new(was)))];
        let zero = Expr::Const(Value::i64(0));
        let copied = Stmt::For { var: column, lo: zero, hi: width, how: How::Vector, body: copy };
        let op = |op, a: Expr, b: Expr| Expr::Op(op, vec![a, b]);
        let goes_on =
            op(Op::AndAlso, op(Op::Gt, Expr::Var(i), first.clone()), op(Op::Ge, Expr::Var(end), Expr::Var(next)));
        let begin = Stmt::Set(next, lo);
        before.push(begin.clone());
        vec![
            Stmt::Let(end, hi),
            Stmt::If(goes_on, vec![copied], vec![begin]),
            Stmt::For { var: k, lo: Expr::Var(next), hi: Expr::Var(end), how, body },
            Stmt::Set(next, op(Op::Max, Expr::Var(next), Expr::Var(end))),
        ]
    }

    /// Whether each iteration contains a loop with a bound that grows.
    fn may_carry(&self, i: Var, body: &[Stmt]) -> bool {
        let inside = |stmt: &Stmt| match stmt {
            Stmt::If(_, yes, no) => self.may_carry(i, yes) || self.may_carry(i, no),
            stmt => bound(stmt).is_some_and(|bound| grows(bound, i)),
        };
        !self.hints.contains(&i) && body.iter().any(inside) && !runs_statements(body)
    }

    /// The block of an iteration with its folds continued; their initial values are set `before` the loop.
    fn turn(&mut self, block: Vec<Stmt>, i: Var, turn: &Changes, before: &mut Vec<Stmt>) -> Vec<Stmt> {
        let folds: BTreeMap<usize, Fold> =
            (0..block.len()).filter_map(|n| Some((n, self.fold(&block[..=n], i, turn)?))).collect();
        let begun: BTreeSet<usize> = folds.values().flat_map(|f| f.begins.iter().map(|(_, _, n)| *n)).collect();
        let mut out = Vec::with_capacity(block.len());
        for (n, stmt) in block.into_iter().enumerate() {
            match (stmt, folds.get(&n)) {
                (stmt, Some(fold)) => out.extend(self.carried(stmt, fold, before)),
                (Stmt::If(c, yes, no), None) => {
                    let [yes, no] = [yes, no].map(|inner| self.turn(inner, i, turn, before));
                    out.push(Stmt::If(c, yes, no));
                }
                (stmt, None) if !begun.contains(&n) => out.push(stmt),
                _ => {}
            }
        }
        out
    }

    /// The fold of a block's last statement, if it is a loop that can be continued.
    fn fold(&self, block: &[Stmt], i: Var, turn: &Changes) -> Option<Fold> {
        let (stmt, above) = block.split_last()?;
        let bound = bound(stmt).filter(|bound| grows(bound, i))?;
        let (body, counted) = match stmt {
            Stmt::For { var, lo, body, .. } => (body, Some((*var, lo))),
            Stmt::While(_, body) => (body, None),
            _ => return None,
        };
        if counted.is_some_and(|(k, lo)| self.hints.contains(&k) || !self.is_known(lo, turn)) {
            return None;
        }
        let mut own = BTreeSet::new();
        stmt.each_set(&mut |v, _| _ = own.insert(v));
        let begins = own.iter().map(|v| self.begins(above, *v, turn)).collect::<Option<Vec<_>>>()?;
        let mut inside = Changes::default();
        inside.note(std::slice::from_ref(stmt));
        // The other parts of the condition, such as the length of a list, must not change either.
        let condition = if let Stmt::While(c, _) = stmt { beside_bound(c)? } else { vec![] };
        let stays = |e: &Expr| turn.stays(e, &inside.defined);
        let all = all_stay(body, &stays) && condition.into_iter().all(stays);
        (all && !begins.is_empty() && !own.iter().any(|v| bound.reads(*v)))
            .then(|| Fold { begins, bound: bound.clone() })
    }

    /// The initial value of a variable above a loop, if no statement between reads or sets the variable.
    fn begins(&self, above: &[Stmt], v: Var, turn: &Changes) -> Option<(Var, Expr, usize)> {
        let n = above.iter().rposition(|stmt| touches(stmt, v))?;
        match &above[n] {
            Stmt::Set(_, e) if self.is_known(e, turn) => Some((v, e.clone(), n)),
            _ => None,
        }
    }

    /// Whether an expression can be computed before the loop around, and has that value in each iteration.
    fn is_known(&self, e: &Expr, turn: &Changes) -> bool {
        match e {
            Expr::Var(v) => !turn.defined.contains(v),
            Expr::Const(_) => true,
            Expr::Op(Op::Add | Op::Sub | Op::Min | Op::Max | Op::Convert(_), args) => {
                args.iter().all(|e| self.is_known(e, turn))
            }
            Expr::Load(b, at) => self.positions.contains(b) && **at == Expr::Const(Value::i64(0)),
            _ => false,
        }
    }

    /// A loop that continues from where the previous iteration left it.
    fn carried(&mut self, stmt: Stmt, fold: &Fold, before: &mut Vec<Stmt>) -> Vec<Stmt> {
        let (mut begin, mut taken_up, mut left): (Vec<_>, Vec<_>, Vec<_>) = Default::default();
        for (v, e, _) in &fold.begins {
            let run = self.vars.fresh("run", self.vars.ty(*v));
            begin.push(Stmt::Set(run, e.clone()));
            taken_up.push(Stmt::Set(*v, Expr::Var(run)));
            left.push(Stmt::Set(run, Expr::Var(*v)));
        }
        let (end, next) = (self.vars.fresh("end", Type::I64), self.vars.fresh("next", Type::I64));
        let op = |op, a, b| Expr::Op(op, vec![Expr::Var(a), Expr::Var(b)]);
        let (on, reached, first) = match stmt {
            Stmt::For { var, lo, how, body, .. } => {
                let on = Stmt::For { var, lo: Expr::Var(next), hi: Expr::Var(end), how, body };
                (on, op(Op::Max, next, end), lo)
            }
            Stmt::While(c, body) => {
                let least = Expr::Const(Value::i64(i64::MIN));
                (Stmt::While(with_bound(c, Expr::Var(end)), body), Expr::Var(end), least)
            }
            _ => unreachable!("a fold is a loop"),
        };
        begin.push(Stmt::Set(next, first));
        before.extend(begin.iter().cloned());
        let mut out = vec![Stmt::Let(end, fold.bound.clone()), Stmt::If(op(Op::Lt, end, next), begin, vec![])];
        out.extend(taken_up);
        out.push(on);
        out.extend(left);
        out.push(Stmt::Set(next, reached));
        out
    }
}

impl Changes {
    /// The changes in an iteration of a loop over `i`.
    fn of(i: Var, body: &[Stmt]) -> Changes {
        let mut turn = Changes::default();
        turn.defined.insert(i);
        turn.note(body);
        turn.changing = turn.defined.clone();
        // A name at the beginning whose value reads nothing that changes is the same in each iteration.
        for stmt in body {
            if let Stmt::Let(v, e) = stmt
                && turn.stays(e, &BTreeSet::new())
            {
                turn.changing.remove(v);
            }
        }
        turn
    }

    fn note(&mut self, block: &[Stmt]) {
        for stmt in block {
            match stmt {
                Stmt::Let(v, _) | Stmt::Set(v, _) | Stmt::For { var: v, .. } => _ = self.defined.insert(*v),
                Stmt::Store(b, ..) => _ = self.stored.insert(*b),
                Stmt::Call(entry) => self.stored.extend(entry.buffers()),
                Stmt::If(..) | Stmt::While(..) | Stmt::Comment(_) => {}
            }
            stmt.blocks().for_each(|inner| self.note(inner));
        }
    }

    /// Whether an expression has the same value in each iteration, apart from variables that a loop `inside` the iteration defines and
    /// sets.
    fn stays(&self, e: &Expr, inside: &BTreeSet<Var>) -> bool {
        let mut stays = true;
        e.each(&mut |e| {
            stays &= match e {
                Expr::Var(v) => inside.contains(v) || !self.changing.contains(v),
                Expr::Load(b, _) | Expr::Among(_, b, _) | Expr::Capacity(b) => !self.stored.contains(b),
                Expr::Const(_) | Expr::Op(..) => true,
            };
        });
        stays
    }
}

/// The bound of a loop: the end of a counted one, or the right side of `… && e < bound`.
pub(super) fn bound(stmt: &Stmt) -> Option<&Expr> {
    match stmt {
        Stmt::For { hi, how: How::Serial | How::Vector, .. } => Some(hi),
        Stmt::While(Expr::Op(Op::AndAlso, both), _) => match &both[1] {
            Expr::Op(Op::Lt | Op::Le, sides) => Some(&sides[1]),
            _ => None,
        },
        _ => None,
    }
}

/// The parts of a loop's condition other than its bound.
fn beside_bound(condition: &Expr) -> Option<Vec<&Expr>> {
    let Expr::Op(Op::AndAlso, both) = condition else { return None };
    let Expr::Op(Op::Lt | Op::Le, sides) = &both[1] else { return None };
    Some(vec![&both[0], &sides[0]])
}

/// The condition with its bound replaced.
fn with_bound(condition: Expr, bound: Expr) -> Expr {
    match condition {
        Expr::Op(Op::AndAlso, mut both) => {
            if let Some(Expr::Op(_, sides)) = both.get_mut(1) {
                sides[1] = bound;
            }
            Expr::Op(Op::AndAlso, both)
        }
        other => other,
    }
}

/// Whether the form of an expression shows that it grows with `i`.
pub(super) fn grows(e: &Expr, i: Var) -> bool {
    let stays = |e: &Expr| !e.reads(i) && !e.loads();
    match e {
        Expr::Var(v) => *v == i,
        Expr::Op(Op::Add, args) => {
            let [a, b] = &args[..] else { return false };
            grows(a, i) && stays(b) || stays(a) && grows(b, i)
        }
        Expr::Op(Op::Sub, args) => grows(&args[0], i) && args[1..].iter().all(stays),
        Expr::Op(Op::Min | Op::Max, args) => {
            args.iter().any(|e| grows(e, i)) && args.iter().all(|e| grows(e, i) || stays(e))
        }
        _ => false,
    }
}

/// Whether `at` is column `j`, below `width`, of a row that differs in each iteration over `i`.
fn is_row(at: &Expr, (i, j): (Var, Var), width: &Expr, is_known: &impl Fn(&Expr) -> bool) -> bool {
    let Expr::Op(Op::Add, args) = at else { return false };
    let [Expr::Op(Op::Mul, row), Expr::Var(column)] = &args[..] else { return false };
    let of_turn = |e: &Expr| match e {
        Expr::Var(v) => *v == i,
        Expr::Op(Op::Add | Op::Sub, parts) => {
            let turn = |e: &Expr| *e == Expr::Var(i);
            turn(&parts[0]) && is_known(&parts[1]) || is_known(&parts[0]) && turn(&parts[1])
        }
        _ => false,
    };
    *column == j && row[1] == *width && of_turn(&row[0])
}

/// Whether a statement changes a buffer or reads it.
fn touches_buffer(stmt: &Stmt, b: BufferId) -> bool {
    let own = match stmt {
        Stmt::Store(to, ..) => *to == b,
        Stmt::Call(entry) => entry.buffers().any(|of| of == b),
        _ => false,
    };
    own || stmt.exprs().any(|e| e.loads_from(b)) || stmt.blocks().flatten().any(|inner| touches_buffer(inner, b))
}

/// Whether statements only define and set variables, to expressions that stay.
fn all_stay(block: &[Stmt], stays: &impl Fn(&Expr) -> bool) -> bool {
    block.iter().all(|stmt| {
        let quiet = matches!(stmt, Stmt::Let(..) | Stmt::Set(..) | Stmt::If(..) | Stmt::Comment(_));
        quiet && stmt.exprs().all(stays) && stmt.blocks().all(|inner| all_stay(inner, stays))
    })
}

/// Whether a statement reads a variable or sets it.
pub(super) fn touches(stmt: &Stmt, v: Var) -> bool {
    let mut found = false;
    stmt.each_set(&mut |w, _| found |= w == v);
    found || reads(stmt, v)
}

fn reads(stmt: &Stmt, v: Var) -> bool {
    stmt.exprs().any(|e| e.reads(v)) || stmt.blocks().flatten().any(|inner| reads(inner, v))
}
