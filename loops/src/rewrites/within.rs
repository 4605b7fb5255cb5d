//! Counters that rows note within pieces: stored in place, without what the counter was where the piece began, which is added behind the loop.
//!
//! ```text
//!   for p0 in 0..n_p0                               for p0 in 0..n_p0
//!                                                     let began = c1_C
//!                                                     all_began[pieces] = began, pieces = pieces + 1
//!                                                     from[p0] = lo, to[p0] = hi - 1
//!     seamed for i in lo..hi                          seamed for i in lo..hi
//!       …                                    ──▶        …
//!       C1_pos[i + 1] = c1_C                            if lo < i && i < hi - 1
//!                                                         C1_pos[i + 1] = c1_C - began
//!                                                       else
//!                                                         …                              noted in a list, as pieces meet there (noted.rs)
//!                                                   while piece < n_p0
//!                                                     for i in from[piece] + 1..to[piece]
//!                                                       C1_pos[i + 1] = C1_pos[i + 1] + all_began[piece]
//!                                                     piece = piece + 1
//! ```
//!
//! So a row costs a store and an addition, where a list would take two elements of it and a copy on one thread.

use super::noted::{Seam, append, is_seamed, value};
use super::parallel::touched;
use crate::arith::{binary, int, minus, plus};
use crate::names::{Vars, workspace};
use crate::{BufferId, Entry, Expr, How, Kernel, Stmt, Var};
use fiberloom_core::algebra::{Op, Type};
use std::collections::{BTreeMap, BTreeSet};

/// An array in which each row of a piece notes a counter.
#[derive(Clone)]
pub(super) struct Within {
    array: BufferId,
    counter: Var,
    /// The row, and the index that follows it.
    row: Var,
    at: Expr,
    /// The counter where a piece began; of all pieces, and how many these are.
    began: Var,
    all_began: BufferId,
    pieces: Var,
    /// The first and the last row of each piece.
    ends: [BufferId; 2],
}

/// The arrays in which each row of a seamed loop notes a counter, and nothing else touches, with the counter, the row and the index.
fn noting<'s>(kernel: &Kernel, carried: &BTreeSet<Var>, body: &'s [Stmt]) -> Vec<(BufferId, Var, Var, &'s Expr)> {
    let seamed = body.iter().filter_map(|stmt| match stmt {
        Stmt::For { var, body, .. } if is_seamed(kernel, *var) => Some((*var, body)),
        _ => None,
    });
    let [(row, rows)] = seamed.collect::<Vec<_>>()[..] else { return vec![] };
    let all = touched(body);
    let noting = |stmt: &'s Stmt| {
        let Stmt::Store(b, at, e) = stmt else { return None };
        let Expr::Var(counter) = value(e) else { return None };
        let fits = carried.contains(counter) && follows(at, row) && all.get(b) == Some(&1);
        fits.then_some((*b, *counter, row, at))
    };
    rows.iter().filter_map(noting).collect()
}

/// Whether an index is a variable, or a constant behind it.
fn follows(at: &Expr, v: Var) -> bool {
    match at {
        Expr::Var(w) => *w == v,
        Expr::Op(Op::Add, args) => args[0] == Expr::Var(v) && matches!(args[1], Expr::Const(_)),
        _ => false,
    }
}

impl Within {
    /// Those of a loop over pieces, among these arrays.
    pub(super) fn of(
        kernel: &mut Kernel,
        carried: &BTreeSet<Var>,
        body: &[Stmt],
        arrays: &dyn Fn(BufferId) -> bool,
    ) -> BTreeMap<BufferId, Within> {
        let found: Vec<_> = noting(kernel, carried, body).into_iter().filter(|(b, ..)| arrays(*b)).collect();
        let within = |(array, counter, row, at): (BufferId, Var, Var, &Expr)| {
            let name = kernel.buffers[array.0 as usize].name.clone();
            let [all_began, from, to] =
                ["all_began", "from", "to"].map(|what| workspace(kernel, &format!("{name}_{what}"), Type::I64));
            let [began, pieces] =
                ["began", "pieces"].map(|what| Vars::of(&mut kernel.vars).fresh(&format!("{name}_{what}"), Type::I64));
            let at = at.clone();
            (array, Within { array, counter, row, at, began, all_began, pieces, ends: [from, to] })
        };
        found.into_iter().map(within).collect()
    }

    /// What is made before the loop, whose iterations are so many.
    pub(super) fn made(&self, iterations: &Expr) -> Vec<Stmt> {
        let all = [self.all_began, self.ends[0], self.ends[1]];
        let made = all.map(|buffer| Stmt::Call(Entry::Alloc { buffer, len: iterations.clone(), fill: None }));
        made.into_iter().chain([Stmt::Set(self.pieces, int(0))]).collect()
    }

    /// What a piece begins with.
    pub(super) fn begun(&self) -> Vec<Stmt> {
        let mut all = vec![Stmt::Let(self.began, Expr::Var(self.counter))];
        all.extend(append(self.pieces, vec![(self.all_began, Expr::Var(self.began))]));
        all
    }

    /// What a piece says of its rows.
    pub(super) fn ends(&self, piece: Var, seam: Seam) -> [Stmt; 2] {
        let [from, to] = self.ends;
        [(from, seam.first), (to, seam.last)].map(|(b, end)| Stmt::Store(b, Expr::Var(piece), Expr::Var(end)))
    }

    /// The value that is stored within a piece in the place of the counter's.
    pub(super) fn less(&self, e: &Expr) -> Expr {
        e.with(&|e| (*e == Expr::Var(self.counter)).then(|| minus(Expr::Var(self.counter), Expr::Var(self.began))))
    }

    /// The loop that adds what the counter was where pieces began: of few statements, on one thread.
    pub(super) fn shifted(&self, kernel: &mut Kernel, iterations: &Expr) -> [Stmt; 2] {
        let ty = kernel.buffers[self.array.0 as usize].ty;
        let mut vars = Vars::of(&mut kernel.vars);
        let [piece, row] = ["piece", "row"].map(|name| vars.index(name));
        let load = |b, at| Expr::Load(b, Box::new(at));
        let of_piece = |b| load(b, Expr::Var(piece));
        let at = self.at.renamed(&BTreeMap::from([(self.row, row)]));
        let converted = |to: Type, e: Expr| if ty == Type::I64 { e } else { Expr::Op(Op::Convert(to), vec![e]) };
        let sum = plus(converted(Type::I64, load(self.array, at.clone())), of_piece(self.all_began));
        let body = vec![Stmt::Store(self.array, at, converted(ty, sum))];
        let [from, to] = self.ends.map(of_piece);
        let rows = Stmt::For { var: row, lo: plus(from, int(1)), hi: to, how: How::Serial, body };
        let next = Stmt::Set(piece, plus(Expr::Var(piece), int(1)));
        let some = binary(Op::Lt, Expr::Var(piece), iterations.clone());
        [Stmt::Set(piece, int(0)), Stmt::While(some, vec![rows, next])]
    }
}

/// Whether the only access of an array in a loop's body is a store of rows that one piece alone has: neither its first row nor its last.
pub(super) fn is_of_rows_within(kernel: &Kernel, body: &[Stmt], b: BufferId) -> bool {
    let ends = body.iter().filter_map(|stmt| if let Stmt::Let(v, e) = stmt { Some((*v, e)) } else { None });
    let ends: BTreeMap<Var, &Expr> = ends.collect();
    let is = |v: &Expr, end: &Expr| matches!(v, Expr::Var(v) if ends.get(v).is_some_and(|e| **e == *end));
    let within = |stmt: &Stmt| {
        let Stmt::For { var, lo, hi, body, .. } = stmt else { return false };
        let is_inside = |c: &Expr| {
            let Expr::Op(Op::AndAlso, both) = c else { return false };
            let [Expr::Op(Op::Lt, before), Expr::Op(Op::Lt, behind)] = &both[..] else { return false };
            let is_row = |e: &Expr| *e == Expr::Var(*var);
            is_row(&before[1]) && is_row(&behind[0]) && is(&before[0], lo) && is(&behind[1], &minus(hi.clone(), int(1)))
        };
        let stores = |stmt: &Stmt| matches!(stmt, Stmt::Store(to, at, _) if *to == b && follows(at, *var));
        let holds = |stmt: &Stmt| matches!(stmt, Stmt::If(c, yes, _) if is_inside(c) && yes.iter().any(stores));
        is_seamed(kernel, *var) && body.iter().any(holds)
    };
    touched(body).get(&b) == Some(&1) && body.iter().any(within)
}
