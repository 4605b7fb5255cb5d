//! Emits loops over blocks of rows, columns and tiles.

use super::nest::{Into, Nest, Range};
use super::{LONGEST, Tiles, load, workspace};
use crate::arith::{binary, int, minus, plus, times};
use crate::names::Vars;
use crate::rewrites::downward::in_place;
use crate::rewrites::parallel::touched;
use crate::{BufferId, Entry, Expr, How, Kernel, Stmt, Var, map_exprs, mapped};
use fiberloom_core::algebra::{Op, Type, Value};
use std::collections::BTreeMap;

/// A nest in tiles where there are enough rows, columns and iterations, else as it is. Also the variable of the loop, if there is one,
/// that does the rest of an iteration behind the fold. `made` gets the allocations that tiles need. If rows are independent, `own` are the
/// workspaces of which threads have copies, and so are blocks of rows.
pub(super) fn tiled(
    nest: &Nest,
    (as_it_is, own): (&Stmt, Option<Vec<BufferId>>),
    (kernel, tiles): (&mut Kernel, &Tiles),
    made: &mut Vec<Stmt>,
) -> Option<(Vec<Stmt>, Option<Var>)> {
    let counts = [minus(nest.row.hi.clone(), nest.row.lo.clone()), nest.width.clone()].into_iter();
    let counts = counts.chain(nest.lengths()?).zip(tiles.fewest.into_iter().chain(std::iter::repeat(1)));
    let mut enough: Vec<(Expr, i64)> = vec![];
    for (count, fewest) in counts {
        match constant_or(count) {
            Ok(n) if n < fewest => return None,
            Err(count) => match enough.iter_mut().find(|(known, _)| *known == count) {
                Some((_, least)) => *least = fewest.max(*least),
                None => enough.push((count, fewest)),
            },
            Ok(_) => {}
        }
    }
    let at_least = |(count, fewest)| binary(Op::Ge, count, int(fewest));
    let mut enough: Vec<Expr> = enough.into_iter().map(at_least).collect();
    if !matches!(nest.into, Into::Place(..)) {
        enough.push(binary(Op::Le, nest.width.clone(), int(LONGEST)));
    }
    let buffers = Buffers::of(nest, kernel, tiles);
    made.extend(buffers.allocated(nest, tiles));
    let mut emit = Emit { nest, tiles, buffers, vars: Vars::of(&mut kernel.vars), own, drained: None };
    let blocks = emit.columns();
    let drained = emit.drained;
    let stmts = match enough.into_iter().reduce(|a, b| binary(Op::AndAlso, a, b)) {
        Some(enough) => vec![Stmt::If(enough, blocks, vec![as_it_is.clone()])],
        None => blocks,
    };
    Some((stmts, drained))
}

/// A difference as a number, if it is constant.
fn constant_or(e: Expr) -> Result<i64, Expr> {
    let number = |e: &Expr| if let Expr::Const(x) = e { Some(x.bits() as i64) } else { None };
    match &e {
        Expr::Const(x) => Ok(x.bits() as i64),
        Expr::Op(Op::Sub, args) => match (number(&args[0]), number(&args[1])) {
            (Some(a), Some(b)) => Ok(a.wrapping_sub(b)),
            (None, Some(0)) => Err(args[0].clone()),
            _ => Err(e),
        },
        _ => Err(e),
    }
}

/// The workspaces of tiles.
#[derive(Clone, Copy)]
struct Buffers {
    /// The sums of a tile.
    tile: BufferId,
    /// The columns of a step, side by side.
    panel: BufferId,
    /// The sums of a block of rows, each of a whole number of tiles.
    rows: BufferId,
    /// log₂ of the number of columns of a tile.
    shift: i64,
}

impl Buffers {
    fn of(nest: &Nest, kernel: &mut Kernel, tiles: &Tiles) -> Buffers {
        let tile = workspace(kernel, "tile", nest.ty);
        let panel = workspace(kernel, "panel", nest.folded.panel_ty);
        let rows = workspace(kernel, "rows", nest.ty);
        let shift = (tiles.bytes / nest.ty.bytes() as i64).ilog2().into();
        Buffers { tile, panel, rows, shift }
    }

    fn columns(&self) -> i64 {
        1 << self.shift
    }

    fn allocated(&self, nest: &Nest, tiles: &Tiles) -> [Stmt; 3] {
        let alloc = |buffer, len| Stmt::Call(Entry::Alloc { buffer, len, fill: None });
        let in_place = matches!(nest.into, Into::Place(..));
        let most = if in_place { tiles.part } else { LONGEST };
        let width = binary(Op::Min, nest.width.clone(), int(most));
        let rows = times(self.block(&width, tiles), self.whole(&width));
        let held = binary(Op::Le, nest.width.clone(), int(LONGEST));
        let rows = if in_place { rows } else { Expr::Op(Op::Select, vec![held, rows, int(0)]) };
        [
            alloc(self.tile, int(tiles.rows * self.columns())),
            alloc(self.panel, int(tiles.depth * self.columns())),
            alloc(self.rows, rows),
        ]
    }

    /// The number of rows of a block whose rows have `width` elements.
    fn block(&self, width: &Expr, tiles: &Tiles) -> Expr {
        let [least, most] = tiles.block;
        let held = binary(Op::Div, int(tiles.held), binary(Op::Max, width.clone(), int(1)));
        let whole = times(binary(Op::Div, held, int(tiles.rows)), int(tiles.rows));
        binary(Op::Min, binary(Op::Max, whole, int(least)), int(most))
    }

    /// `width`, rounded up to a whole number of tiles.
    fn whole(&self, width: &Expr) -> Expr {
        times(self.tiles(width), int(self.columns()))
    }

    /// The number of tiles in a row of `width` elements.
    fn tiles(&self, width: &Expr) -> Expr {
        binary(Op::Shr, plus(width.clone(), int(self.columns() - 1)), int(self.shift))
    }
}

struct Emit<'n, 's, 'k> {
    nest: &'n Nest<'s>,
    tiles: &'n Tiles,
    buffers: Buffers,
    vars: Vars<'k>,
    /// The workspaces of which threads have copies, if rows are independent.
    own: Option<Vec<BufferId>>,
    /// The variable of the loop over rows that runs the statements behind the fold.
    drained: Option<Var>,
}

/// Columns that are processed together: the first, their number, and the number of elements of a block's row.
struct Columns {
    from: Expr,
    width: Expr,
    whole: Expr,
}

/// A block of rows: the first row, one past the last, and the number of tiles below each other in it.
struct Block {
    first: Expr,
    behind: Expr,
    groups: Expr,
}

/// The iterations of a step.
struct Step {
    from: Expr,
    to: Expr,
}

impl Emit<'_, '_, '_> {
    fn fresh(&mut self, name: &str) -> Var {
        self.vars.fresh(name, Type::I64)
    }

    /// Emits `let name = e` and returns the name; constants and variables are returned as they are.
    fn held(&mut self, name: &str, e: Expr, out: &mut Vec<Stmt>) -> Expr {
        if matches!(e, Expr::Const(_) | Expr::Var(_)) {
            return e;
        }
        let v = self.fresh(name);
        out.push(Stmt::Let(v, e));
        Expr::Var(v)
    }

    /// Emits all columns; if rows are folded into in place, and so may be cut, part by part.
    fn columns(&mut self) -> Vec<Stmt> {
        let width = self.nest.width.clone();
        if !matches!(self.nest.into, Into::Place(..)) {
            return self.blocks(int(0), width);
        }
        let part = self.fresh("part");
        let from = times(Expr::Var(part), int(self.tiles.part));
        let mut body = vec![];
        let from = self.held("from", from, &mut body);
        let some = binary(Op::Min, minus(width.clone(), from.clone()), int(self.tiles.part));
        let some = self.held("some", some, &mut body);
        body.extend(self.blocks(from, some));
        vec![counted(part, int(0), binary(Op::Div, plus(width, int(self.tiles.part - 1)), int(self.tiles.part)), body)]
    }

    /// Emits all rows, in blocks.
    fn blocks(&mut self, from: Expr, width: Expr) -> Vec<Stmt> {
        let mut out = vec![];
        let (whole, most) = (self.buffers.whole(&width), self.buffers.block(&width, self.tiles));
        let columns = Columns { from, whole: self.held("whole", whole, &mut out), width };
        let most = self.held("most", most, &mut out);
        let [lo, hi] = [&self.nest.row.lo, &self.nest.row.hi].map(Expr::clone);
        let (lo, hi) = (self.held("begin", lo, &mut out), self.held("end", hi, &mut out));
        let block = self.fresh("block");
        let mut body = vec![];
        let first = self.held("first", plus(lo.clone(), times(Expr::Var(block), most.clone())), &mut body);
        let behind = binary(Op::Min, plus(first.clone(), most.clone()), hi.clone());
        let behind = self.held("behind", behind, &mut body);
        let length = minus(behind.clone(), first.clone());
        let groups = binary(Op::Div, plus(length, int(self.tiles.rows - 1)), int(self.tiles.rows));
        let groups = self.held("groups", groups, &mut body);
        let of = Block { first, behind, groups };
        body.extend(self.begin(&of, &columns));
        body.extend(self.fold(&of, &columns));
        body.push(self.drain(&of, &columns));
        let blocks = binary(Op::Div, plus(minus(hi, lo), minus(most.clone(), int(1))), most);
        let how = self.how(&body);
        out.push(Stmt::For { var: block, lo: int(0), hi: blocks, how, body });
        out
    }

    /// The way in which blocks run.
    fn how(&self, body: &[Stmt]) -> How {
        let Some(own) = &self.own else { return How::Serial };
        let Buffers { tile, panel, rows, .. } = self.buffers;
        let touched = touched(body);
        let own = own.iter().filter(|b| touched.contains_key(b)).copied();
        How::Parallel { own: own.chain([tile, panel, rows]).collect(), joined: vec![], folded: vec![], arrays: vec![] }
    }

    /// Emits setting the block's rows to the fold's initial values.
    fn begin(&mut self, of: &Block, columns: &Columns) -> Vec<Stmt> {
        let begins = match self.nest.into {
            Into::Place(_, _, known) => known,
            Into::Row(_, value, _) | Into::Variable(_, value, _) => Some(value),
        };
        let all = times(times(of.groups.clone(), int(self.tiles.rows)), columns.whole.clone());
        let c = self.fresh("c");
        let value = Expr::Const(begins.unwrap_or(Value::zero(self.nest.ty)));
        let mut out = vec![counted(c, int(0), all, vec![Stmt::Store(self.buffers.rows, Expr::Var(c), value)])];
        if let (Into::Place(b, ..), None) = (&self.nest.into, begins) {
            let b = *b;
            out.push(self.each_in_place(of, columns, |rows, at, place| Stmt::Store(rows, at, load(b, place))));
        }
        out
    }

    /// Emits the statements behind the fold, for each row of the block.
    fn drain(&mut self, of: &Block, columns: &Columns) -> Stmt {
        let i = self.nest.row.var;
        let row = |e: Expr| times(minus(e, of.first.clone()), columns.whole.clone());
        let mut body = self.nest.body.to_vec();
        match self.nest.into {
            Into::Place(b, ..) => {
                return self.each_in_place(of, columns, |rows, at, place| Stmt::Store(b, place, load(rows, at)));
            }
            Into::Row(b, _, [begin, fold]) => {
                body.remove(fold);
                body.remove(begin);
                let rows = self.buffers.rows;
                body = elements(body, b, &|at| load(rows, plus(row(Expr::Var(i)), at)));
            }
            Into::Variable(t, _, [columns, begin]) => {
                let Stmt::For { var: j, body: inner, .. } = &mut body[columns] else {
                    unreachable!("a loop over columns")
                };
                let sum = load(self.buffers.rows, plus(row(Expr::Var(i)), Expr::Var(*j)));
                inner.splice(begin..begin + 2, [Stmt::Set(t, sum)]);
            }
        }
        let body = vec![counted(i, of.first.clone(), of.behind.clone(), body)];
        let mut now = BTreeMap::new();
        let drain = self.again(&body, &mut now).remove(0);
        self.drained = Some(now[&i]);
        drain
    }

    /// Emits a statement for each element of the block that is folded into in place, given the block's rows, the index there, and the
    /// index in place.
    fn each_in_place(&mut self, of: &Block, columns: &Columns, each: impl Fn(BufferId, Expr, Expr) -> Stmt) -> Stmt {
        let Into::Place(_, place, _) = &self.nest.into else { unreachable!("elements in place") };
        let (i, c) = (self.vars.again(self.nest.row.var), self.fresh("c"));
        let place = in_place(place, self.nest.row.var, &Expr::Var(i));
        let place = in_place(&place, self.nest.column, &plus(columns.from.clone(), Expr::Var(c)));
        let at = plus(times(minus(Expr::Var(i), of.first.clone()), columns.whole.clone()), Expr::Var(c));
        let row = vec![counted(c, int(0), columns.width.clone(), vec![each(self.buffers.rows, at, place)])];
        counted(i, of.first.clone(), of.behind.clone(), row)
    }

    /// Emits all iterations of the fold, in steps.
    fn fold(&mut self, of: &Block, columns: &Columns) -> Vec<Stmt> {
        let mut now = BTreeMap::new();
        let around: Vec<Range> = self.nest.around.iter().map(|range| self.ranged(range, &mut now)).collect();
        let turns = self.ranged(&self.nest.turns, &mut now);
        let mut body = vec![];
        let (lo, hi) = (self.held("begin", turns.lo, &mut body), self.held("end", turns.hi, &mut body));
        let depth = int(self.tiles.depth);
        let step = self.fresh("step");
        let mut inside = vec![];
        let from = self.held("from", plus(lo.clone(), times(Expr::Var(step), depth.clone())), &mut inside);
        let to = self.held("to", binary(Op::Min, plus(from.clone(), depth.clone()), hi.clone()), &mut inside);
        inside.extend(self.step(&Step { from, to }, of, columns, &now));
        let length = binary(Op::Max, minus(hi, lo), int(0));
        let steps = binary(Op::Div, plus(length, int(self.tiles.depth - 1)), depth);
        body.push(counted(step, int(0), steps, inside));
        around.into_iter().rev().fold(body, |body, Range { var, lo, hi }| vec![counted(var, lo, hi, body)])
    }

    /// The range of a loop for a new variable.
    fn ranged(&mut self, range: &Range, now: &mut BTreeMap<Var, Var>) -> Range {
        let [lo, hi] = [&range.lo, &range.hi].map(|e| e.renamed(now));
        let var = self.vars.again(range.var);
        now.insert(range.var, var);
        Range { var, lo, hi }
    }

    /// Emits a step for all columns of tiles.
    fn step(&mut self, step: &Step, of: &Block, columns: &Columns, now: &BTreeMap<Var, Var>) -> Vec<Stmt> {
        let column = self.fresh("column");
        let mut body = vec![];
        let at = self.held("at", times(Expr::Var(column), int(self.buffers.columns())), &mut body);
        body.push(self.side_by_side(step, &at, columns, now));
        body.push(self.tiles(step, &at, of, columns, now));
        vec![counted(column, int(0), self.buffers.tiles(&columns.width), body)]
    }

    /// Emits copying the iterations of a step of a column of tiles side by side. Lanes behind the last column repeat it: no row has them.
    fn side_by_side(&mut self, step: &Step, at: &Expr, columns: &Columns, now: &BTreeMap<Var, Var>) -> Stmt {
        let whole = self.copied(step, at, columns, now, None);
        let rest = self.copied(step, at, columns, now, Some(minus(columns.width.clone(), int(1))));
        let is_whole = binary(Op::Le, plus(at.clone(), int(self.buffers.columns())), columns.width.clone());
        Stmt::If(is_whole, vec![whole], vec![rest])
    }

    /// The loops of this copy; columns are limited to `last`, if it is given.
    fn copied(
        &mut self,
        step: &Step,
        at: &Expr,
        columns: &Columns,
        now: &BTreeMap<Var, Var>,
        last: Option<Expr>,
    ) -> Stmt {
        let (size, panel) = (int(self.buffers.columns()), self.buffers.panel);
        let (k, c) = (self.vars.again(self.nest.turns.var), self.fresh("c"));
        let now = with(now, self.nest.turns.var, k);
        let how = if last.is_some() { How::Serial } else { How::Vector };
        let j = last.into_iter().fold(plus(at.clone(), Expr::Var(c)), |j, last| binary(Op::Min, j, last));
        let j = plus(columns.from.clone(), j);
        let element = in_place(&self.nest.folded.panel.renamed(&now), self.nest.column, &j);
        let place = plus(times(minus(Expr::Var(k), step.from.clone()), size.clone()), Expr::Var(c));
        let row = Stmt::For { var: c, lo: int(0), hi: size, how, body: vec![Stmt::Store(panel, place, element)] };
        counted(k, step.from.clone(), step.to.clone(), vec![row])
    }

    /// Emits the tiles of a column, one below the other.
    fn tiles(&mut self, step: &Step, at: &Expr, of: &Block, columns: &Columns, now: &BTreeMap<Var, Var>) -> Stmt {
        let group = self.fresh("group");
        let mut body = vec![];
        let row = self.held("row", times(Expr::Var(group), int(self.tiles.rows)), &mut body);
        let last = minus(of.behind.clone(), int(1));
        let (mut rows, mut places) = (vec![], vec![]);
        for r in 0..self.tiles.rows {
            let i = binary(Op::Min, plus(plus(of.first.clone(), row.clone()), int(r)), last.clone());
            rows.push(self.held("i", i, &mut body));
            let place = plus(times(plus(row.clone(), int(r)), columns.whole.clone()), at.clone());
            places.push(self.held("place", place, &mut body));
        }
        let Buffers { tile, rows: sums, .. } = self.buffers;
        for (n, place) in places.iter().enumerate() {
            let c = self.fresh("c");
            let (here, there) = (self.in_tile(n, c), plus(place.clone(), Expr::Var(c)));
            body.push(self.lanes(c, vec![Stmt::Store(tile, here, load(sums, there))]));
        }
        body.push(self.turns(step, &rows, now));
        for (n, place) in places.iter().enumerate() {
            let c = self.fresh("c");
            let (here, there) = (self.in_tile(n, c), plus(place.clone(), Expr::Var(c)));
            body.push(self.lanes(c, vec![Stmt::Store(sums, there, load(tile, here))]));
        }
        counted(group, int(0), of.groups.clone(), body)
    }

    /// The index of an element of a tile.
    fn in_tile(&self, row: usize, c: Var) -> Expr {
        plus(int(row as i64 * self.buffers.columns()), Expr::Var(c))
    }

    /// A loop over the columns of a tile.
    fn lanes(&self, c: Var, body: Vec<Stmt>) -> Stmt {
        Stmt::For { var: c, lo: int(0), hi: int(self.buffers.columns()), how: How::Vector, body }
    }

    /// Emits folding the iterations of a step into a tile of these rows.
    fn turns(&mut self, step: &Step, rows: &[Expr], now: &BTreeMap<Var, Var>) -> Stmt {
        let (nest, Buffers { tile, panel, .. }) = (self.nest, self.buffers);
        let k = self.vars.again(nest.turns.var);
        let now = with(now, nest.turns.var, k);
        let (mut body, mut of_rows) = (vec![], vec![]);
        for row in rows {
            let mut parts = vec![];
            for (e, ty) in &nest.folded.rows {
                let part = self.vars.fresh("a", *ty);
                body.push(Stmt::Let(part, in_place(&e.renamed(&now), nest.row.var, row)));
                parts.push(Expr::Var(part));
            }
            of_rows.push(parts);
        }
        let (c, b) = (self.fresh("c"), self.vars.fresh("b", nest.folded.panel_ty));
        let place = times(minus(Expr::Var(k), step.from.clone()), int(self.buffers.columns()));
        let mut folds = vec![Stmt::Let(b, load(panel, plus(place, Expr::Var(c))))];
        for (n, parts) in of_rows.iter().enumerate() {
            let at = self.in_tile(n, c);
            let folded = nest.folded.whole.with(parts, &Expr::Var(b));
            folds.push(Stmt::Store(tile, at.clone(), binary(nest.op, load(tile, at), folded)));
        }
        body.push(self.lanes(c, folds));
        counted(k, step.from.clone(), step.to.clone(), body)
    }

    /// Statements with new variables for those that they define, including loops' variables.
    fn again(&mut self, stmts: &[Stmt], now: &mut BTreeMap<Var, Var>) -> Vec<Stmt> {
        stmts.iter().map(|stmt| self.stmt_again(stmt, now)).collect()
    }

    fn stmt_again(&mut self, stmt: &Stmt, now: &mut BTreeMap<Var, Var>) -> Stmt {
        match stmt {
            Stmt::Let(v, e) => self.vars.said_again((*v, e), now),
            Stmt::For { var, lo, hi, how, body } => {
                let [lo, hi] = [lo, hi].map(|e| e.renamed(now));
                let fresh = self.vars.again(*var);
                now.insert(*var, fresh);
                Stmt::For { var: fresh, lo, hi, how: how.clone(), body: self.again(body, now) }
            }
            Stmt::If(e, yes, no) => Stmt::If(e.renamed(now), self.again(yes, now), self.again(no, now)),
            Stmt::While(e, body) => Stmt::While(e.renamed(now), self.again(body, now)),
            other => mapped(other.clone(), &|e| e.renamed(now)),
        }
    }
}

/// The renaming with one more variable.
fn with(now: &BTreeMap<Var, Var>, v: Var, by: Var) -> BTreeMap<Var, Var> {
    now.iter().map(|(v, by)| (*v, *by)).chain([(v, by)]).collect()
}

/// `for var in lo..hi`.
fn counted(var: Var, lo: Expr, hi: Expr, body: Vec<Stmt>) -> Stmt {
    Stmt::For { var, lo, hi, how: How::Serial, body }
}

/// Statements with reads of an array replaced by reads elsewhere.
fn elements(stmts: Vec<Stmt>, b: BufferId, at: &dyn Fn(Expr) -> Expr) -> Vec<Stmt> {
    map_exprs(stmts, &|e| moved(e, b, at))
}

/// An expression with reads of an array replaced by reads elsewhere.
fn moved(e: &Expr, b: BufferId, at: &dyn Fn(Expr) -> Expr) -> Expr {
    e.with(&|e| match e {
        Expr::Load(from, index) if *from == b => Some(at(moved(index, b, at))),
        _ => None,
    })
}
