//! Finds loops that fold products of rows and columns.
//!
//! ```text
//!   for i                          for i                               for i
//!     for k                          for b in 0..n_J                     for j in 0..n_J
//!       for j in 0..n_J                row[b] = 0.0                        t = 0.0
//!         C[i * n_J + j] =           for k                                 for k
//!           C[…] + f                   for j in 0..n_J                       t = t + f
//!                                        row[j] = row[j] + f               …  what reads t
//!                                    …  what reads row
//!       in place                       a row of its own                  a variable of its own
//! ```
//!
//! More loops may be between `i` and `k`. `f` is a function of three kinds of parts: those that depend on `i` and on iterations of `k`,
//! one that depends on iterations of `k` and on `j`, and fixed ones. An iteration of `i` stores to nothing that `f` or a bound reads.

use crate::arith::{int, minus};
use crate::inside::{Inside, Named};
use crate::rewrites::blocks::steps_with;
use crate::rewrites::strip_mine::is_cheap;
use crate::{BufferId, Entry, Expr, How, Kernel, Role, Stmt, Stored, Var, fold_of};
use fiberloom_core::algebra::{Op, Type, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Facts about a whole kernel.
pub(super) struct Seen {
    /// The number of reads and stores of each buffer.
    uses: BTreeMap<BufferId, usize>,
    /// The buffers that are allocated once, with their value from then on.
    filled: BTreeMap<BufferId, Option<Value>>,
    /// The kernel's parameters: extents.
    params: BTreeSet<Var>,
}

impl Seen {
    pub(super) fn of(body: &[Stmt], params: &[Var]) -> Seen {
        let params = params.iter().copied().collect();
        let mut seen = Seen { uses: uses(body), filled: BTreeMap::new(), params };
        each_entry(body, &mut |entry| {
            if let Entry::Alloc { buffer, fill, .. } = entry {
                // A buffer that is allocated elsewhere too has no known value.
                seen.filled.entry(*buffer).and_modify(|known| *known = None).or_insert(*fill);
            }
        });
        seen
    }

    /// Whether an expression consists of extents and constants.
    fn is_extent(&self, e: &Expr) -> bool {
        match e {
            Expr::Const(_) => true,
            Expr::Var(v) => self.params.contains(v),
            Expr::Op(op, args) => matches!(op, Op::Add | Op::Mul) && args.iter().all(|a| self.is_extent(a)),
            Expr::Load(..) | Expr::Among(..) | Expr::Capacity(_) => false,
        }
    }

    /// Whether all uses of a buffer are in a statement, apart from allocating and finishing it.
    fn is_own(&self, b: BufferId, stmt: &Stmt) -> bool {
        uses(std::slice::from_ref(stmt)).get(&b) == self.uses.get(&b)
    }
}

/// A loop's variable and its bounds.
#[derive(Clone)]
pub(super) struct Range {
    pub var: Var,
    pub lo: Expr,
    pub hi: Expr,
}

/// A nest of loops that folds products of rows and columns.
pub(super) struct Nest<'s> {
    /// The loop over rows, and its body.
    pub row: Range,
    pub body: &'s [Stmt],
    /// The loops between the rows and the iterations of `k`, then those iterations.
    pub around: Vec<Range>,
    pub turns: Range,
    /// The variable of columns, and the number of columns.
    pub column: Var,
    pub width: Expr,
    /// The function of the fold, the value that is folded, the target, and its type.
    pub op: Op,
    pub folded: Folded,
    pub into: Into,
    pub ty: Type,
}

/// The target of the fold.
pub(super) enum Into {
    /// An element of an array in place, and its value before, if that is known.
    Place(BufferId, Expr, Option<Value>),
    /// A row that a statement of the body initializes with a value; the fold is another statement.
    Row(BufferId, Value, [usize; 2]),
    /// A variable that is initialized with a value for each column. The loop over columns is a statement of the body; the value is set at
    /// a statement of that loop, in front of the fold.
    Variable(Var, Value, [usize; 2]),
}

/// The value that is folded, by its parts.
pub(super) struct Folded {
    /// The parts that depend on the row, or on the iteration alone.
    pub rows: Vec<(Expr, Type)>,
    /// The part that depends on the column, and perhaps on the iteration.
    pub panel: Expr,
    pub panel_ty: Type,
    pub whole: Part,
}

/// An expression over parts.
pub(super) enum Part {
    Row(usize),
    Panel,
    Fixed(Expr),
    Op(Op, Vec<Part>),
}

/// The most parts that depend on the row: each takes a register for each row of a tile.
const ROWS: usize = 2;

/// The fewest columns, if their number is a constant, of rows that are folded into: shorter rows stay in registers without tiles.
const FEWEST: i64 = 64;

impl<'s> Nest<'s> {
    /// The nest of a statement, if it is one. `once`: the statement is in no loop.
    pub(super) fn of(stmt: &'s Stmt, seen: &Seen, kernel: &Kernel, once: bool) -> Option<Nest<'s>> {
        let Stmt::For { var, lo, hi, how: How::Serial, body } = stmt else { return None };
        let row = Range { var: *var, lo: lo.clone(), hi: hi.clone() };
        let (found, into) = into_rows(stmt, body, seen, once).or_else(|| into_variables(body))?;
        let Found { folding: Folding { loops: mut around, op, folded, .. }, column, width } = found;
        let turns = around.pop()?;
        let moving: BTreeSet<Var> = around.iter().chain([&turns, &row]).map(|l| l.var).chain([column]).collect();
        let of_rows = match &into {
            Into::Place(_, at, _) => is_row_major(at, (row.var, column), &width, &moving),
            // A row of a result keeps its last values, so it must be a workspace's.
            Into::Row(b, ..) => kernel.buffers[b.0 as usize].role == Role::Workspace,
            Into::Variable(..) => true,
        };
        let stays = Inside::of(body);
        let of_all_rows = |e: &Expr| stays.holds(e) && !e.reads(row.var) && !e.reads(column);
        let of_all_rows = around.iter().chain([&turns]).all(|l| of_all_rows(&l.lo) && of_all_rows(&l.hi));
        let ty = match &into {
            Into::Place(b, ..) | Into::Row(b, ..) => kernel.buffers[b.0 as usize].ty,
            Into::Variable(t, ..) => kernel.vars[t.0 as usize].1,
        };
        let in_lanes = is_cheap(op) && matches!(ty, Type::F64 | Type::F32 | Type::I64 | Type::I32);
        let hinted = moving.iter().any(|v| kernel.hints.contains_key(v));
        let fits = of_rows && of_all_rows && in_lanes && !hinted && seen.is_extent(&width) && stays.holds(&folded);
        let folded = fits.then(|| Folded::of(&folded, (row.var, column), &moving, kernel))??;
        Some(Nest { row, body, around, turns, column, width, op, folded, into, ty })
    }
}

impl Nest<'_> {
    /// The numbers of iterations that the kernel has to test, including those of the loops around. Without iterations, rows in place are
    /// not touched, and may not exist. `None` if this cannot be tested for all rows at once.
    pub(super) fn lengths(&self) -> Option<Vec<Expr>> {
        let all = [&self.turns].into_iter().chain(&self.around);
        let around: BTreeSet<Var> = self.around.iter().map(|range| range.var).collect();
        let depends = |e: &Expr| around.iter().any(|v| e.reads(*v));
        let known = |range: &&Range| !depends(&range.lo) && !depends(&range.hi);
        let lengths: Vec<Expr> =
            all.clone().filter(known).map(|range| minus(range.hi.clone(), range.lo.clone())).collect();
        let in_place = matches!(self.into, Into::Place(..));
        match self.around.is_empty() || in_place {
            true => (lengths.len() == self.around.len() + 1).then_some(lengths),
            false => Some(vec![]),
        }
    }
}

/// Whether an index is of elements in row-major order: `(i + …) * width + j`.
fn is_row_major(at: &Expr, (i, j): (Var, Var), width: &Expr, moving: &BTreeSet<Var>) -> bool {
    let Expr::Op(Op::Add, at) = at else { return false };
    let Expr::Op(Op::Mul, row) = &at[0] else { return false };
    at[1] == Expr::Var(j) && row[1] == *width && steps_with(&row[0], i, moving)
}

/// A fold for each row and column.
struct Found {
    folding: Folding,
    column: Var,
    width: Expr,
}

/// The fold of a body into rows, in place or of its own.
fn into_rows(stmt: &Stmt, body: &[Stmt], seen: &Seen, once: bool) -> Option<(Found, Into)> {
    let loops = body.iter().enumerate().filter(|(_, stmt)| matches!(stmt, Stmt::For { .. }));
    let each = |(n, stmt)| Some((n, Folding::of(Named::of(&body[..n]), stmt)?));
    let (place, mut folding) = loops.filter_map(each).find(|(_, f)| matches!(f.into, Target::Element(..)))?;
    let Range { var: column, lo, hi: width } = folding.loops.pop()?;
    let in_registers = matches!(width, Expr::Const(n) if (n.bits() as i64) < FEWEST);
    let Target::Element(b, at) = &folding.into else { return None };
    let into = if *at == Expr::Var(column) {
        begun_row(body, place, *b, &width).filter(|_| seen.is_own(*b, stmt))?
    } else {
        let alone = body.iter().filter(|stmt| !matches!(stmt, Stmt::Let(..))).count() == 1;
        let known = once && seen.is_own(*b, stmt);
        let holds = seen.filled.get(b).copied().flatten().filter(|_| known);
        alone.then(|| Into::Place(*b, at.clone(), holds))?
    };
    (is_zero(&lo) && !in_registers).then_some((Found { folding, column, width }, into))
}

/// The row that a body initializes with a value in front of the fold and only reads behind it, if it does so.
fn begun_row(body: &[Stmt], place: usize, b: BufferId, width: &Expr) -> Option<Into> {
    let begins = |stmt: &Stmt| match stmt {
        Stmt::For { var, lo, hi, body, .. } if is_zero(lo) && hi == width => match body[..] {
            [Stmt::Store(to, Expr::Var(at), Expr::Const(value))] if to == b && at == *var => Some(value),
            _ => None,
        },
        _ => None,
    };
    let (first, value) = body[..place].iter().enumerate().find_map(|(n, stmt)| Some((n, begins(stmt)?)))?;
    let is_used = |stmts: &[Stmt]| uses(stmts).contains_key(&b);
    let is_stored = Inside::of(&body[place + 1..]).buffers.contains(&b);
    let fits = !is_used(&body[..first]) && !is_used(&body[first + 1..place]) && !is_stored;
    fits.then_some(Into::Row(b, value, [first, place]))
}

/// The fold of a body into a variable for each column.
fn into_variables(body: &[Stmt]) -> Option<(Found, Into)> {
    let at = |n: usize| {
        let Stmt::For { var: column, lo, hi, how: How::Serial, body: inner } = &body[n] else { return None };
        let begin = inner.iter().position(|stmt| !matches!(stmt, Stmt::Let(..)))?;
        let Stmt::Set(t, Expr::Const(value)) = inner[begin] else { return None };
        let named = Named::of(body[..n].iter().chain(&inner[..begin]));
        let folding = Folding::of(named, inner.get(begin + 1)?).filter(|f| f.into == Target::Variable(t))?;
        let found = Found { folding, column: *column, width: hi.clone() };
        is_zero(lo).then_some((found, Into::Variable(t, value, [n, begin])))
    };
    (0..body.len()).find_map(at)
}

/// Whether a bound is 0.
fn is_zero(e: &Expr) -> bool {
    *e == int(0)
}

/// A fold in nested loops, with names replaced by their values.
struct Folding {
    loops: Vec<Range>,
    op: Op,
    folded: Expr,
    into: Target,
}

#[derive(PartialEq)]
enum Target {
    Variable(Var),
    Element(BufferId, Expr),
}

impl Folding {
    /// The fold, if a loop does nothing else.
    fn of(mut named: Named, stmt: &Stmt) -> Option<Folding> {
        let Stmt::For { var, lo, hi, how: How::Serial, body } = stmt else { return None };
        let range = Range { var: *var, lo: named.within(lo), hi: named.within(hi) };
        let (last, lets) = body.split_last()?;
        let only_lets = lets.iter().all(|stmt| matches!(stmt, Stmt::Let(..)));
        named.take(lets);
        let mut folding = match last {
            Stmt::For { .. } => Folding::of(named, last),
            Stmt::Set(t, e) => fold_of(*t, e).map(|(op, folded)| Folding {
                loops: vec![],
                op,
                folded: named.within(folded),
                into: Target::Variable(*t),
            }),
            Stmt::Store(buffer, at, value) => {
                Stored { buffer: *buffer, at, value }.fold().map(|(op, folded)| Folding {
                    loops: vec![],
                    op,
                    folded: named.within(folded),
                    into: Target::Element(*buffer, named.within(at)),
                })
            }
            _ => None,
        }?;
        folding.loops.insert(0, range);
        only_lets.then_some(folding)
    }
}

impl Folded {
    fn of(e: &Expr, (i, j): (Var, Var), moving: &BTreeSet<Var>, kernel: &Kernel) -> Option<Folded> {
        let mut parting = Parting { i, j, moving, rows: vec![], panel: None };
        let whole = parting.part(e)?;
        let Parting { rows, panel, .. } = parting;
        let panel = panel?;
        let panel_ty = kernel.type_of(&panel).ok()?;
        let fits = rows.len() <= ROWS && rows.iter().any(|e| e.reads(i));
        let rows = rows.into_iter().map(|e| kernel.type_of(&e).ok().map(|ty| (e, ty))).collect::<Option<_>>()?;
        fits.then_some(Folded { rows, panel, panel_ty, whole })
    }
}

impl Part {
    /// The expression, given the values of its parts.
    pub(super) fn with(&self, rows: &[Expr], panel: &Expr) -> Expr {
        match self {
            Part::Row(n) => rows[*n].clone(),
            Part::Panel => panel.clone(),
            Part::Fixed(e) => e.clone(),
            Part::Op(op, args) => Expr::Op(*op, args.iter().map(|a| a.with(rows, panel)).collect()),
        }
    }
}

/// Divides an expression into parts.
struct Parting<'m> {
    i: Var,
    j: Var,
    moving: &'m BTreeSet<Var>,
    rows: Vec<Expr>,
    panel: Option<Expr>,
}

impl Parting<'_> {
    fn part(&mut self, e: &Expr) -> Option<Part> {
        let mut moves = false;
        e.each(&mut |e| moves |= matches!(e, Expr::Var(v) if self.moving.contains(v)));
        match e {
            _ if !moves => Some(Part::Fixed(e.clone())),
            _ if !e.reads(self.j) => {
                let known = self.rows.iter().position(|row| row == e);
                let n = known.unwrap_or(self.rows.len());
                if known.is_none() {
                    self.rows.push(e.clone());
                }
                Some(Part::Row(n))
            }
            _ if !e.reads(self.i) => (self.panel.get_or_insert_with(|| e.clone()) == e).then_some(Part::Panel),
            // The arms of a `select` may contain loads that are guarded.
            Expr::Op(op, args) if is_cheap(*op) && *op != Op::Select => {
                Some(Part::Op(*op, args.iter().map(|a| self.part(a)).collect::<Option<_>>()?))
            }
            _ => None,
        }
    }
}

/// The number of reads and stores of each buffer in some statements, apart from allocating and finishing it.
fn uses(stmts: &[Stmt]) -> BTreeMap<BufferId, usize> {
    let mut all = BTreeMap::new();
    count(stmts, &mut all);
    all
}

fn count(stmts: &[Stmt], all: &mut BTreeMap<BufferId, usize>) {
    for stmt in stmts {
        let mut note = |b: BufferId| *all.entry(b).or_default() += 1;
        match stmt {
            Stmt::Store(b, ..) => note(*b),
            Stmt::Call(Entry::Alloc { .. } | Entry::Finish { .. }) => {}
            Stmt::Call(entry) => entry.buffers().for_each(&mut note),
            _ => {}
        }
        stmt.exprs().for_each(|e| {
            e.each(&mut |e| {
                if let Expr::Load(b, _) | Expr::Among(_, b, _) | Expr::Capacity(b) = e {
                    note(*b);
                }
            });
        });
        stmt.blocks().for_each(|inner| count(inner, all));
    }
}

fn each_entry(stmts: &[Stmt], f: &mut impl FnMut(&Entry)) {
    for stmt in stmts {
        match stmt {
            Stmt::Call(entry) => f(entry),
            _ => stmt.blocks().for_each(|inner| each_entry(inner, f)),
        }
    }
}
