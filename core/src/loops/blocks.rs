//! What is appended whole is one block.
//!
//! ```text
//!   for i in 0..n_I                                   let shift = c - A1_pos[0]
//!     for p in A1_pos[i]..A1_pos[i + 1]                for i in 0..n_I
//!       C_vals[c] = A_vals[p]                   ──▶      C1_pos[i + 1] = shift + A1_pos[i + 1]
//!       c = c + 1                                      for p in A1_pos[0]..A1_pos[n_I]
//!     C1_pos[i + 1] = c                                  C_vals[c] = A_vals[p]
//!                                                        c = c + 1
//!
//!   p = X; q = X                                      for q in X..end
//!   while q < end && crd[q] == crd[p]  q = q + 1         let l = crd[q]
//!   while p < end                               ──▶      C_vals[c] = A_vals[q] * f64(l)
//!     let l = crd[p]                                     c = c + 1
//!     for r in p..q  C_vals[c] = A_vals[r] * f64(l); c = c + 1
//!     p = q
//!     while q < end && crd[q] == crd[p]  q = q + 1
//! ```
//!
//! *Fibers*: where each turn of the inner loop appends one entry, as many were appended at a fiber's end as positions lie
//! before it. So positions are moved in one loop, which compilers make vectors of, and entries in another, whose fibers lie
//! one behind the other as those of `flatten` do. It needs that entries do not ask in which fiber they are.
//!
//! *Runs*: equal coordinates that are told from others only so that the loop inside comes to each of their positions, once,
//! are no loop of their own. What is inside asks for the coordinate only.

use super::flatten::{Known, bare, map_blocks, replaced};
use super::inline::uses;
use super::lower::plus;
use super::names::Vars;
use super::{BufferId, Expr, How, Kernel, Role, Stmt, Var};
use crate::algebra::{Op, Type, Value};
use std::collections::BTreeSet;

/// Makes one block of fibers that are appended one behind the other.
pub fn blocks(kernel: &mut Kernel) {
    let known = Known::of(kernel);
    let body = std::mem::take(&mut kernel.body);
    kernel.body = parted(body, &known, &mut Vars::of(&mut kernel.vars));
}

/// Makes one loop of those over runs and over their positions.
pub fn runs(kernel: &mut Kernel) {
    let operands = (0..kernel.buffers.len()).filter(|b| kernel.buffers[*b].role == Role::Operand);
    let operands = operands.map(|b| BufferId(b as u32)).collect();
    let body = std::mem::take(&mut kernel.body);
    let all = uses(&body, kernel.vars.len());
    kernel.body = joined(body, &Outside { operands, uses: all });
}

fn parted(block: Vec<Stmt>, known: &Known, vars: &mut Vars) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(block.len());
    for stmt in block {
        match Appending::of(&stmt, known, vars.len()) {
            Some(appending) => out.extend(appending.parted(vars)),
            None => out.extend(map_blocks(vec![stmt], &mut |inner| parted(inner, known, vars))),
        }
    }
    out
}

/// A loop over fibers, the entries of each of which are appended, and where the fiber ends is stored.
struct Appending<'s> {
    /// The outer loop.
    fibers: (Var, &'s Expr, &'s Expr),
    /// The fiber's place in `pos`, and what the inner loop's bounds look like.
    at: &'s Expr,
    pos: BufferId,
    bounds: (&'s Expr, &'s Expr),
    /// The inner loop.
    entries: (Var, How, &'s [Stmt]),
    /// How many entries there are so far.
    count: Var,
    /// Where the result's positions go, and the store's place and value.
    ends: (BufferId, &'s Expr, &'s Expr),
    /// Whether there may be no fiber at all, in which case nothing may be loaded.
    guarded: bool,
}

impl<'s> Appending<'s> {
    fn of(outer: &'s Stmt, known: &Known, vars: usize) -> Option<Appending<'s>> {
        let Stmt::For { var: i, lo, hi, how: How::Serial, body } = outer else { return None };
        let [Stmt::For { var: p, lo: first, hi: last, how, body: entries }, Stmt::Store(ends, place, value)] =
            &body[..]
        else {
            return None;
        };
        let Expr::Load(_, at) = bare(first) else { return None };
        let pos = known.fiber(first, last, at)?;
        let (Stmt::Set(count, more), rest) = entries.split_last()? else { return None };
        let Expr::Var(counted) = bare(value) else { return None };
        let one_more = *more == plus(Expr::Var(*count), Expr::Const(Value::i64(1)));
        let asked = uses(entries, vars)[i.0 as usize] > 0;
        let mut fixed = BTreeSet::from([*i, *p, *count]);
        let simple = rest.iter().all(|stmt| match stmt {
            Stmt::Let(v, e) => fixed.insert(*v) && !loads(e, *ends),
            Stmt::Store(b, to, e) => b != ends && !loads(to, *ends) && !loads(e, *ends),
            _ => false,
        });
        // The fiber's place moves with the outer loop, and nothing else does.
        let steps = steps_with(at, *i, &fixed);
        fixed.remove(i);
        let outside = is_fixed(lo, &fixed) && is_fixed(hi, &fixed) && is_fixed(place, &fixed);
        let guarded = !(**at == Expr::Var(*i) && known.is_whole(lo, hi));
        (counted == count && one_more && !asked && simple && steps && outside).then_some(Appending {
            fibers: (*i, lo, hi),
            at,
            pos,
            bounds: (first, last),
            entries: (*p, *how, entries),
            count: *count,
            ends: (*ends, place, value),
            guarded,
        })
    }

    fn parted(&self, vars: &mut Vars) -> Vec<Stmt> {
        let ((i, lo, hi), (first, last)) = (self.fibers, self.bounds);
        let shift = vars.fresh("shift", Type::I64);
        let at = |like: &Expr, turn: &Expr| replaced(like, self.pos, &with(self.at, i, turn));
        let begin = at(first, lo);
        let moved = Expr::Op(Op::Add, vec![Expr::Var(shift), last.clone()]);
        let moved = match self.ends.2 {
            Expr::Op(op, _) => Expr::Op(*op, vec![moved]),
            _ => moved,
        };
        let ends = Stmt::Store(self.ends.0, self.ends.1.clone(), moved);
        let (p, how, entries) = self.entries;
        let all = vec![
            Stmt::Let(shift, Expr::Op(Op::Sub, vec![Expr::Var(self.count), begin.clone()])),
            Stmt::For { var: i, lo: lo.clone(), hi: hi.clone(), how: How::Serial, body: vec![ends] },
            Stmt::For { var: p, lo: begin, hi: at(last, hi), how, body: entries.to_vec() },
        ];
        if self.guarded {
            let some = Expr::Op(Op::Lt, vec![lo.clone(), hi.clone()]);
            return vec![Stmt::If(some, all, vec![])];
        }
        all
    }
}

/// What is known of a kernel where runs are looked for.
struct Outside {
    operands: BTreeSet<BufferId>,
    /// How often each variable is read in all of the kernel.
    uses: Vec<usize>,
}

fn joined(block: Vec<Stmt>, outside: &Outside) -> Vec<Stmt> {
    let mut block = map_blocks(block, &mut |inner| joined(inner, outside));
    let mut at = 0;
    while at + RUN <= block.len() {
        if let Some(stmt) = outside.one_loop(&block[at..at + RUN]) {
            block.splice(at..at + RUN, [stmt]);
        }
        at += 1;
    }
    block
}

/// How many statements walk runs: two that set where a run begins and ends, one that finds its end, the loop.
const RUN: usize = 4;

impl Outside {
    /// The loop over the positions of runs, in the place of the statements that walk them.
    fn one_loop(&self, walk: &[Stmt]) -> Option<Stmt> {
        let [Stmt::Set(p, begin), Stmt::Set(q, same), find, Stmt::While(left, turn)] = walk else { return None };
        let (end, crd) = self.find(find, *p, *q)?;
        let (again, turn) = turn.split_last()?;
        let (Stmt::Set(next, to), turn) = turn.split_last()? else { return None };
        let (Stmt::For { var, lo, hi, how, body }, lets) = turn.split_last()? else { return None };
        let (at_p, at_q) = (Expr::Var(*p), Expr::Var(*q));
        let walked = begin == same
            && *left == Expr::Op(Op::Lt, vec![at_p.clone(), end.clone()])
            && (lo, hi) == (&at_p, &at_q)
            && (next, to) == (p, &at_q)
            && again == find;
        let lets: Option<Vec<Stmt>> = lets
            .iter()
            .map(|stmt| match stmt {
                Stmt::Let(v, e) => Some(Stmt::Let(*v, moved(e, crd, *p, *var))),
                _ => None,
            })
            .collect();
        let body: Vec<Stmt> = lets?.into_iter().chain(body.iter().cloned()).collect();
        // Nobody else reads where a run begins or ends, and nothing inside moves the end.
        let (all, inside) = (uses(walk, self.uses.len()), uses(&body, self.uses.len()));
        let own = |v: &Var| inside[v.0 as usize] == 0 && all[v.0 as usize] == self.uses[v.0 as usize];
        let stays = matches!(end, Expr::Var(v) if !sets(&body, *v)) && !sets(&body, *p) && !sets(&body, *q);
        (walked && own(p) && own(q) && stays).then(|| Stmt::For {
            var: *var,
            lo: begin.clone(),
            hi: end.clone(),
            how: *how,
            body,
        })
    }

    /// The end of the fiber and the coordinates, if a statement brings `q` to the end of the run at `p`.
    fn find<'s>(&self, find: &'s Stmt, p: Var, q: Var) -> Option<(&'s Expr, BufferId)> {
        let Stmt::While(Expr::Op(Op::AndAlso, both), step) = find else { return None };
        let [Expr::Op(Op::Lt, inside), Expr::Op(Op::Eq, equal)] = &both[..] else { return None };
        let [Stmt::Set(moved, more)] = &step[..] else { return None };
        let (Expr::Load(crd, here), Expr::Load(other, first)) = (bare(&equal[0]), bare(&equal[1])) else { return None };
        let finds = inside[0] == Expr::Var(q)
            && (crd, &**here, &**first) == (other, &Expr::Var(q), &Expr::Var(p))
            && *moved == q
            && *more == plus(Expr::Var(q), Expr::Const(Value::i64(1)));
        (finds && self.operands.contains(crd)).then_some((&inside[1], *crd))
    }
}

/// The same with the coordinate at `r` in the place of that at `p`.
fn moved(e: &Expr, crd: BufferId, p: Var, r: Var) -> Expr {
    match e {
        Expr::Load(b, at) if *b == crd && **at == Expr::Var(p) => Expr::Load(*b, Box::new(Expr::Var(r))),
        Expr::Load(b, at) => Expr::Load(*b, Box::new(moved(at, crd, p, r))),
        Expr::Op(op, args) => Expr::Op(*op, args.iter().map(|a| moved(a, crd, p, r)).collect()),
        Expr::Const(_) | Expr::Var(_) | Expr::Capacity(_) => e.clone(),
    }
}

/// Whether a block sets a variable that may change.
fn sets(block: &[Stmt], v: Var) -> bool {
    let mut found = false;
    block.iter().for_each(|stmt| stmt.each_set(&mut |w, _| found |= w == v));
    found
}

/// Whether an expression loads from a buffer.
fn loads(e: &Expr, b: BufferId) -> bool {
    match e {
        Expr::Load(from, at) => *from == b || loads(at, b),
        Expr::Op(_, args) => args.iter().any(|a| loads(a, b)),
        Expr::Const(_) | Expr::Var(_) | Expr::Capacity(_) => false,
    }
}

/// Whether an expression loads nothing, and reads none of these variables.
fn is_fixed(e: &Expr, moving: &BTreeSet<Var>) -> bool {
    match e {
        Expr::Const(_) => true,
        Expr::Var(v) => !moving.contains(v),
        Expr::Op(_, args) => args.iter().all(|a| is_fixed(a, moving)),
        Expr::Load(..) | Expr::Capacity(_) => false,
    }
}

/// Whether an expression grows by one where `i` does.
fn steps_with(e: &Expr, i: Var, moving: &BTreeSet<Var>) -> bool {
    match e {
        Expr::Var(v) => *v == i,
        Expr::Op(Op::Add | Op::Sub, args) => steps_with(&args[0], i, moving) && is_fixed(&args[1], moving),
        _ => false,
    }
}

/// An expression without loads, with another in the place of a variable.
fn with(e: &Expr, v: Var, other: &Expr) -> Expr {
    match e {
        Expr::Var(w) if *w == v => other.clone(),
        Expr::Op(op, args) => {
            let args: Vec<Expr> = args.iter().map(|a| with(a, v, other)).collect();
            let nothing = *op == Op::Sub && args[0] == args[1];
            if nothing { Expr::Const(Value::i64(0)) } else { Expr::Op(*op, args) }
        }
        _ => e.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::{inline, read, sweep};

    /// A kernel over a matrix in compressed rows and one as a list, whose entries are appended to a matrix and a list.
    fn rewritten(body: &str) -> String {
        let text = format!(
            "kernel k(n_I, n_J) reassociate
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, L0_pos: i32, L0_crd: i32, L1_crd: i32, L_vals: f64
  result C1_pos: i32, C1_crd: i32, C_vals: f64
  in A@0: f64[n_I, n_J] {{dense, compressed}} at dense, compressed(A1_pos, A1_crd), A_vals
  in L@1: f64[n_I, n_J] {{nonunique, singleton}} at nonunique(L0_pos, L0_crd), singleton(L1_crd), L_vals
  out C@2: f64[n_I, n_J] {{dense, compressed}} at dense, compressed(C1_pos, C1_crd), C_vals

  alloc C1_pos[n_I + 1] = 0i32
  alloc C1_crd[capacity(A1_crd) + capacity(L1_crd)]
  alloc C_vals[capacity(A1_crd) + capacity(L1_crd)]
  c = 0
{body}
  finish C1_pos[n_I + 1]
  finish C1_crd[c]
  finish C_vals[c]
"
        );
        let mut kernel = read(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        [sweep, runs, blocks, inline].iter().for_each(|rewrite| rewrite(&mut kernel));
        assert_eq!(crate::loops::check(&kernel), Ok(()));
        kernel.to_string()
    }

    const ROWS: &str = "  for i in 3..n_I {
    for p in A1_pos[i - 3]..A1_pos[i - 3 + 1] {
      let j = A1_crd[p]
      C_vals[c] = A_vals[p]
      C1_crd[c] = i32(j)
      c = c + 1
    }
    C1_pos[i + 1] = i32(c)
  }";

    #[test]
    fn rows_that_are_appended_are_a_block() {
        let block = "  if 3 < n_I {
    let shift = c - A1_pos[0]
    for i in 3..n_I {
      C1_pos[i + 1] = i32(shift + A1_pos[i - 3 + 1])
    }
    for p in A1_pos[0]..A1_pos[n_I - 3] {
      let j = A1_crd[p]
      C_vals[c] = A_vals[p]
      C1_crd[c] = i32(j)
      c = c + 1
    }
  }";
        let got = rewritten(ROWS);
        assert!(got.contains(block), "{got}");
    }

    /// Entries that say where they are or that are not all appended, steps in the rows, positions that something inside
    /// reads, another end: all stay as they are.
    #[test]
    fn other_rows_stay() {
        let asks = ROWS.replace("A_vals[p]\n", "A_vals[p] * f64(i)\n");
        let some = ROWS.replace("c = c + 1", "c = c + i64(j > 3)");
        let steps = ROWS.replace("i - 3", "i * 2");
        let reads = ROWS.replace("A_vals[p]\n", "f64(C1_pos[0])\n");
        let elsewhere = ROWS.replace("i32(c)", "i32(c + 1)");
        for body in [asks, some, steps, reads, elsewhere] {
            assert_ne!(body, ROWS);
            let got = rewritten(&body);
            assert!(!got.contains("shift"), "{got}");
        }
    }

    const RUNS: &str = "  let end = L0_pos[1]
  p = L0_pos[0]
  q = L0_pos[0]
  while q < end && i64(L0_crd[q]) == i64(L0_crd[p]) {
    q = q + 1
  }
  while p < end {
    let i = L0_crd[p]
    for r in p..q {
      C_vals[c] = L_vals[r] * f64(i)
      C1_crd[c] = i32(i)
      c = c + 1
    }
    p = q
    while q < end && i64(L0_crd[q]) == i64(L0_crd[p]) {
      q = q + 1
    }
  }";

    #[test]
    fn runs_that_nobody_asks_for_are_no_loop() {
        let got = rewritten(RUNS);
        assert!(got.contains("  for r in L0_pos[0]..L0_pos[1] {\n    let i = L0_crd[r]\n    C_vals[c]"), "{got}");
        assert!(!got.contains("while"), "{got}");
    }

    /// Something that is done once a run, a run's place that is read, and one that is left early: all stay as they are.
    #[test]
    fn other_runs_stay() {
        let once = RUNS.replace("    p = q", "    C1_pos[i + 1] = i32(c)\n    p = q");
        let place = RUNS.replace("* f64(i)", "* f64(p)");
        let early = RUNS.replace("for r in p..q", "for r in p..p + 1");
        for body in [once, place, early] {
            assert_ne!(body, RUNS);
            let got = rewritten(&body);
            assert!(got.contains("while p < end"), "{got}");
        }
    }
}
