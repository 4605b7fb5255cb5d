//! Rows that pieces fold, where pieces meet: each piece folds its first row and its last into rows of its own, which are folded into the
//! result behind the loop, in order.
//!
//! ```text
//!   for p0 in 0..n_p0                             parallelized for p0 in 0..n_p0
//!     seamed for i in from..to                      for edge in 0..2
//!       for p in …                                    if from + edge < to
//!         for k in 0..n                 ──▶             let i = select(edge == 0, from, to - 1)
//!           y[i*n + k] = y[i*n + k] + …                 rows[p0*2 + edge] = i
//!                                                       … seams[(p0*2 + edge)*n + k] = seams[…] + …
//!                                                   seamed for i in from + 1..to - 1
//!                                                     …
//!                                                 while q < n_p0 * 2
//!                                                   if rows[q] >= 0
//!                                                     for k in 0..n
//!                                                       y[rows[q]*n + k] = y[rows[q]*n + k] + seams[q*n + k]
//! ```
//!
//! Other elements than whole rows are noted in lists (`noted.rs`): a row for each piece pays where each of its entries folds a whole row.

use super::appending::in_no_loop;
use super::noted::{is_apart, is_seamed};
use super::parallel::{Facts, holds_elements};
use crate::arith::{binary, int, minus, plus, times};
use crate::folds::array_in_pieces;
use crate::names::{Vars, workspace};
use crate::{BufferId, Claim, Entry, Expr, Failure, How, Kernel, Stmt, Var, map_blocks, mapped};
use fiberloom_core::algebra::{Op, Type, Value};
use std::collections::BTreeMap;

/// The kernel whose pieces have rows of their own where they meet, if the iterations of this loop over pieces run in parallel then.
pub(super) fn with_rows(kernel: &Kernel, var: Var) -> Option<Kernel> {
    let facts = Facts::of(kernel, &kernel.body);
    let (mut changed, mut pieces) = (kernel.clone(), None);
    let body = std::mem::take(&mut changed.body);
    changed.body = in_no_loop(body, &mut |stmt| match Rows::of(kernel, &facts, (var, &stmt)) {
        Some(rows) => {
            let (before, each, behind) = Seams::of(&mut changed, rows).around(rows);
            pieces = Some(each.clone());
            before.into_iter().chain([each]).chain(behind).collect()
        }
        None => vec![stmt],
    });
    changed.hints.entry(var).or_default().claim = Claim::Apart;
    is_apart(&Facts::of(&changed, &changed.body), &changed, &pieces?).then_some(changed)
}

/// A loop over pieces that does nothing but fold whole rows of a dense result.
#[derive(Clone, Copy)]
struct Rows<'s> {
    pieces: (Var, &'s Expr, &'s [Stmt]),
    /// The loop over the rows of a piece.
    row: Var,
    array: BufferId,
    /// The length of a row.
    length: &'s Expr,
    /// The function that folds, and what changes nothing.
    fold: (Op, Value),
}

impl<'s> Rows<'s> {
    fn of(kernel: &Kernel, facts: &Facts, (var, stmt): (Var, &'s Stmt)) -> Option<Rows<'s>> {
        let Stmt::For { var: pieces, lo, hi, how: How::Serial, body } = stmt else { return None };
        (*pieces == var && *lo == int(0) && !is_apart(facts, kernel, stmt)).then_some(())?;
        let mut seamed = vec![];
        note_seamed(kernel, body, &mut seamed);
        let [(row, inside)] = seamed[..] else { return None };
        let (mut all, mut whole) = (vec![], vec![]);
        note_stores(body, (row, None), &mut all)?;
        note_stores(inside, (row, None), &mut whole)?;
        let (array, length) = *whole.first()?;
        // Rows come in another order: none goes on where another left a variable.
        let fits = all.len() == whole.len() && facts.carried(inside).is_empty();
        let same = whole.iter().all(|store| *store == (array, length)) && holds_elements(kernel, array);
        let fold = array_in_pieces(kernel, body, array)?;
        let length = length.filter(|length| facts.stays(length))?;
        (fits && same).then_some(Rows { pieces: (var, hi, body), row, array, length, fold })
    }
}

/// Notes the seamed loops in a block.
fn note_seamed<'s>(kernel: &Kernel, block: &'s [Stmt], found: &mut Vec<(Var, &'s [Stmt])>) {
    for stmt in block {
        match stmt {
            Stmt::For { var, body, .. } if is_seamed(kernel, *var) => found.push((*var, body)),
            stmt => stmt.blocks().for_each(|inner| note_seamed(kernel, inner, found)),
        }
    }
}

/// The array of a store, and the length of a row if it is one into whole rows.
type Stored<'s> = (BufferId, Option<&'s Expr>);

/// Notes the stores of a block in the loop `within` from 0 to an end: those into rows are at the row's variable times the length, and the
/// innermost loop's variable, which comes to each place of a row. `None` if the block calls something.
fn note_stores<'s>(
    block: &'s [Stmt],
    (row, within): (Var, Option<(Var, &'s Expr)>),
    all: &mut Vec<Stored<'s>>,
) -> Option<()> {
    for stmt in block {
        match stmt {
            Stmt::Store(b, at, _) => {
                let begin = |length: &Expr| times(Expr::Var(row), length.clone());
                let is_row = |(k, length): &(Var, &Expr)| *at == plus(begin(length), Expr::Var(*k));
                all.push((*b, within.filter(is_row).map(|(_, length)| length)));
            }
            Stmt::Call(_) => return None,
            Stmt::For { var, lo, hi, body, .. } => {
                note_stores(body, (row, (*lo == int(0)).then_some((*var, hi))), all)?;
            }
            stmt => stmt.blocks().try_for_each(|inner| note_stores(inner, (row, within), all))?,
        }
    }
    Some(())
}

/// The rows of pieces, two for each.
struct Seams<'k> {
    vars: Vars<'k>,
    /// The rows.
    seams: BufferId,
    /// Whose they are: −1 of a piece that has none.
    rows: BufferId,
    /// The number of pieces.
    count: Var,
    /// The row of a piece that the first row, or the last, is folded into.
    own: Var,
}

impl<'k> Seams<'k> {
    fn of(kernel: &'k mut Kernel, rows: Rows) -> Seams<'k> {
        let of = &kernel.buffers[rows.array.0 as usize];
        let (name, ty) = (of.name.clone(), of.ty);
        let seams = workspace(kernel, &format!("{name}_seams"), ty);
        let whose = workspace(kernel, &format!("{name}_rows"), Type::I64);
        let mut vars = Vars::of(&mut kernel.vars);
        let [count, own] = ["pieces", "seam"].map(|name| vars.index(name));
        Seams { vars, seams, rows: whose, count, own }
    }

    /// What stands before the loop over pieces, the loop, and what stands behind it.
    fn around(mut self, rows: Rows) -> (Vec<Stmt>, Stmt, [Stmt; 2]) {
        let (var, pieces, body) = rows.pieces;
        let two = times(Expr::Var(self.count), int(2));
        let most = binary(Op::Gt, Expr::Var(self.count), binary(Op::Div, int(i64::MAX / 2), rows.length.clone()));
        let some = binary(Op::Gt, rows.length.clone(), int(0));
        let alloc = |buffer, len, fill| Stmt::Call(Entry::Alloc { buffer, len, fill: Some(fill) });
        let before = vec![
            Stmt::Let(self.count, pieces.clone()),
            Stmt::If(binary(Op::AndAlso, some, most), vec![Stmt::Call(Entry::Fail(Failure::Overflow))], vec![]),
            alloc(self.seams, times(two.clone(), rows.length.clone()), rows.fold.1),
            alloc(self.rows, two, Value::i64(-1)),
        ];
        let body = self.cut(body.to_vec(), rows);
        let each = Stmt::For { var, lo: int(0), hi: Expr::Var(self.count), how: How::Serial, body };
        let behind = self.folded(rows);
        (before, each, behind)
    }

    /// A block in whose loop over rows the first row and the last are folded apart.
    fn cut(&mut self, block: Vec<Stmt>, rows: Rows) -> Vec<Stmt> {
        let each = |stmt: Stmt| match stmt {
            Stmt::For { var, lo, hi, how, body } if var == rows.row => {
                let [first, past] = ["first", "past"].map(|name| self.vars.index(name));
                let edges = self.edges((first, past), &body, rows);
                let (lo, hi) = ((first, lo), (past, hi));
                let inside = Stmt::For {
                    var,
                    lo: plus(Expr::Var(first), int(1)),
                    hi: minus(Expr::Var(past), int(1)),
                    how,
                    body,
                };
                vec![Stmt::Let(lo.0, lo.1), Stmt::Let(hi.0, hi.1), edges, inside]
            }
            stmt => map_blocks(vec![stmt], &mut |inner| self.cut(inner, rows)),
        };
        block.into_iter().flat_map(each).collect()
    }

    /// The loop that folds the first row of a piece and the last into the piece's own, if it has two.
    fn edges(&mut self, (first, past): (Var, Var), body: &[Stmt], rows: Rows) -> Stmt {
        let edge = self.vars.index("edge");
        let row = self.vars.again(rows.row);
        let is_first = binary(Op::Eq, Expr::Var(edge), int(0));
        let last = minus(Expr::Var(past), int(1));
        let own = plus(times(Expr::Var(rows.pieces.0), int(2)), Expr::Var(edge));
        let mut inside = vec![
            Stmt::Let(self.own, own),
            Stmt::Let(row, Expr::Op(Op::Select, vec![is_first, Expr::Var(first), last])),
            Stmt::Store(self.rows, Expr::Var(self.own), Expr::Var(row)),
        ];
        inside.extend(self.copied(body, &mut BTreeMap::from([(rows.row, row)]), rows));
        let is_there = binary(Op::Lt, plus(Expr::Var(first), Expr::Var(edge)), Expr::Var(past));
        Stmt::For {
            var: edge,
            lo: int(0),
            hi: int(2),
            how: How::Serial,
            body: vec![Stmt::If(is_there, inside, vec![])],
        }
    }

    /// A copy of a block for new variables, which folds into the piece's own row.
    fn copied(&mut self, block: &[Stmt], now: &mut BTreeMap<Var, Var>, rows: Rows) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(block.len());
        for stmt in block {
            let mut place = now.clone();
            place.insert(rows.row, self.own);
            let moved = |e: &Expr| self.moved(e, (&*now, &place), rows);
            let stmt = match stmt {
                Stmt::Store(b, at, e) if *b == rows.array => Stmt::Store(self.seams, at.renamed(&place), moved(e)),
                stmt => mapped(stmt.clone(), &moved),
            };
            let mut again = |v: Var| *now.entry(v).or_insert_with(|| self.vars.again(v));
            let stmt = match stmt {
                Stmt::Let(v, e) => Stmt::Let(again(v), e),
                Stmt::Set(v, e) => Stmt::Set(again(v), e),
                Stmt::For { var, lo, hi, how, body } => Stmt::For { var: again(var), lo, hi, how, body },
                stmt => stmt,
            };
            out.extend(map_blocks(vec![stmt], &mut |inner| self.copied(&inner, now, rows)));
        }
        out
    }

    /// An expression for new variables, of which elements of rows are read at `place`.
    fn moved(&self, e: &Expr, (now, place): (&BTreeMap<Var, Var>, &BTreeMap<Var, Var>), rows: Rows) -> Expr {
        e.with(&|e| match e {
            Expr::Load(b, at) if *b == rows.array => Some(Expr::Load(self.seams, Box::new(at.renamed(place)))),
            Expr::Var(v) => now.get(v).copied().map(Expr::Var),
            _ => None,
        })
    }

    /// The loop that folds pieces' rows into the result.
    fn folded(&mut self, rows: Rows) -> [Stmt; 2] {
        let [q, row, k] = ["seam", "row", "k"].map(|name| self.vars.index(name));
        let at = |row: Var| plus(times(Expr::Var(row), rows.length.clone()), Expr::Var(k));
        let load = |b, at| Expr::Load(b, Box::new(at));
        let value = Expr::Op(rows.fold.0, vec![load(rows.array, at(row)), load(self.seams, at(q))]);
        let fold = vec![Stmt::Store(rows.array, at(row), value)];
        let each = Stmt::For { var: k, lo: int(0), hi: rows.length.clone(), how: How::Serial, body: fold };
        let body = vec![
            Stmt::Let(row, load(self.rows, Expr::Var(q))),
            Stmt::If(binary(Op::Ge, Expr::Var(row), int(0)), vec![each], vec![]),
            Stmt::Set(q, plus(Expr::Var(q), int(1))),
        ];
        let some = binary(Op::Lt, Expr::Var(q), times(Expr::Var(self.count), int(2)));
        [Stmt::Set(q, int(0)), Stmt::While(some, body)]
    }
}
