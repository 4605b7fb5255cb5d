//! Long loops that append copy array by array.
//!
//! ```text
//!   for p in A1_pos[0]..A1_pos[n_I]                  let begin = A1_pos[0]
//!     let j = A1_crd[p]                              let last = A1_pos[n_I]
//!     C0_crd[c] = i32(j + n_J)               ──▶     let ahead = c - begin
//!     C_vals[c] = A_vals[p]                          for p in begin..last
//!     c = c + 1                                        C_vals[ahead + p] = A_vals[p]
//!                                                    for p in begin..last
//!                                                      let j = A1_crd[p]
//!                                                      C0_crd[ahead + p] = i32(j + n_J)
//!                                                    c = ahead + max(last, begin)
//! ```
//!
//! A loop that does nothing but copy is a copy of memory ([`whole_copy`]), and the C library knows how this machine does that best: two to
//! three times as fast as a loop of vectors in the caches, by a third beyond them. Only of loops that stand in no other: short rows are
//! [strips](super::strips).

use super::appending::{Appending, Appends, in_no_loop};
use super::blocks::steps_with;
use super::lower::{int, minus, plus};
use super::names::Vars;
use super::{Buffer, BufferId, Expr, Kernel, Stmt, Var};
use crate::algebra::{Op, Type};
use std::collections::{BTreeMap, BTreeSet};

/// Takes copies out of loops that append and stand in no other.
pub fn copies(kernel: &mut Kernel) {
    let appends = Appends::of(kernel);
    let body = std::mem::take(&mut kernel.body);
    let mut copies = Copies { appends, buffers: &kernel.buffers, vars: Vars::of(&mut kernel.vars) };
    kernel.body = in_no_loop(body, &mut |stmt| copies.stmt(stmt));
}

/// A place of an array.
pub type Element<'s> = (BufferId, &'s Expr);

/// What a loop does whose turns copy the elements of one array into another, one behind the other, and do nothing else: where to, and where
/// from, with the turn in the place of the first.
pub fn whole_copy<'s>(turn: Var, body: &'s [Stmt], buffers: &[Buffer]) -> Option<[Element<'s>; 2]> {
    let [Stmt::Store(to, at, Expr::Load(from, start))] = body else { return None };
    let moving = BTreeSet::from([turn]);
    let steps = [at, &**start].into_iter().all(|e| steps_with(e, turn, &moving));
    // Of a truth value, any byte that is not 0 is true.
    let is_bytes = buffers[to.0 as usize].ty != Type::Bool;
    (to != from && is_bytes && steps).then_some([(*to, at), (*from, start)])
}

struct Copies<'k> {
    appends: Appends,
    buffers: &'k [Buffer],
    vars: Vars<'k>,
}

/// An array that a loop copies: where to, where from, and what it reads there.
type Copied<'s> = (BufferId, BufferId, &'s Expr);

impl Copies<'_> {
    /// A statement that stands in no loop.
    fn stmt(&mut self, stmt: Stmt) -> Vec<Stmt> {
        let of = self.appends.turn_of(&stmt);
        let copied: Vec<Copied> = of.iter().flat_map(|of| self.copied(of)).collect();
        match of.filter(|_| !copied.is_empty()) {
            Some(of) => self.array_by_array(&of, &copied),
            None => vec![stmt],
        }
    }

    /// The arrays that get elements of operands as they are, which lie one behind the other.
    fn copied<'s>(&self, of: &Appending<'s>) -> Vec<Copied<'s>> {
        let arrays: BTreeSet<BufferId> = of.stores().map(|(b, _)| b).collect();
        if arrays.len() < of.stores().count() || of.reads_count() {
            return vec![];
        }
        let copied = |(to, value): (BufferId, &'s Expr)| match self.as_it_is(of, value, to) {
            Some(Expr::Load(from, at)) if self.appends.operands[from.0 as usize] && of.steps(at) => {
                Some((to, *from, &**at))
            }
            _ => None,
        };
        of.stores().filter_map(copied).collect()
    }

    /// The element that a stored value is: what only widens and narrows it is gone.
    fn as_it_is<'s>(&self, of: &Appending<'s>, value: &'s Expr, to: BufferId) -> Option<&'s Expr> {
        match value {
            Expr::Var(v) => {
                let named = |stmt: &'s Stmt| match stmt {
                    Stmt::Let(w, e) if w == v => Some(e),
                    _ => None,
                };
                self.as_it_is(of, of.entry.iter().find_map(named)?, to)
            }
            // What was 32 bits wide, and is that again, went through 64.
            Expr::Op(Op::Convert(Type::I32 | Type::I64), args) if self.ty(to) == Type::I32 => {
                self.as_it_is(of, &args[0], to)
            }
            Expr::Load(from, _) => (self.ty(*from) == self.ty(to)).then_some(value),
            _ => None,
        }
    }

    fn ty(&self, b: BufferId) -> Type {
        self.buffers[b.0 as usize].ty
    }

    fn array_by_array(&mut self, of: &Appending, copied: &[Copied]) -> Vec<Stmt> {
        let [begin, last, ahead, counted] =
            ["begin", "last", "ahead", "counted"].map(|name| self.vars.fresh(name, Type::I64));
        let turns = |body| of.each(Expr::Var(begin), Expr::Var(last), body);
        let place = |p: Expr| plus(Expr::Var(ahead), p);
        let mut out = vec![
            Stmt::Let(begin, of.lo.clone()),
            Stmt::Let(last, of.hi.clone()),
            Stmt::Let(ahead, minus(Expr::Var(of.count), Expr::Var(begin))),
        ];
        for (to, from, at) in copied {
            let element = Expr::Load(*from, Box::new((*at).clone()));
            out.push(turns(vec![Stmt::Store(*to, place(Expr::Var(of.turn)), element)]));
        }
        let rest = others(of, copied, &place(Expr::Var(of.turn)), counted);
        out.extend((!rest.is_empty()).then(|| turns(rest)));
        let end = Expr::Op(Op::Max, vec![Expr::Var(last), Expr::Var(begin)]);
        out.push(Stmt::Set(of.count, place(end)));
        out
    }
}

/// What a turn stores besides, where it has its entry's number and how many there are then, and what that needs.
fn others(of: &Appending, copied: &[Copied], place: &Expr, counted: Var) -> Vec<Stmt> {
    let now = BTreeMap::from([(of.count, counted)]);
    let noted = of.notes.iter().filter_map(|note| match note {
        Stmt::Store(b, at, e) => Some(Stmt::Store(*b, at.renamed(&now), e.renamed(&now))),
        _ => None,
    });
    let count = Stmt::Let(counted, plus(place.clone(), int(1)));
    let turn = of.entry.iter().cloned().chain([count]).chain(noted);
    let mut needed: BTreeSet<Var> = BTreeSet::new();
    let mut out = vec![];
    for stmt in turn.collect::<Vec<_>>().into_iter().rev() {
        let kept = match stmt {
            Stmt::Store(b, ..) if copied.iter().any(|(to, ..)| *to == b) => continue,
            Stmt::Store(b, Expr::Var(c), e) if c == of.count => Stmt::Store(b, place.clone(), e),
            Stmt::Let(v, _) if !needed.contains(&v) => continue,
            stmt => stmt,
        };
        kept.exprs().for_each(|e| {
            e.each(&mut |e| {
                if let Expr::Var(v) = e {
                    needed.insert(*v);
                }
            })
        });
        out.push(kept);
    }
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::appending::frame;

    fn rewritten(body: &str) -> String {
        frame::rewritten(body, copies)
    }

    const BLOCK: &str = "  for p in A1_pos[0]..A1_pos[n_I] {
    let j = A1_crd[p]
    L_vals[c] = A_vals[p + n_J - 1]
    L0_crd[c] = i32(j + n_J)
    L1_crd[c] = i32(j)
    c = c + 1
  }";

    #[test]
    fn arrays_are_copied_one_by_one() {
        let copies = "  let begin = A1_pos[0]
  let last = A1_pos[n_I]
  let ahead = c - begin
  for p in begin..last {
    L_vals[ahead + p] = A_vals[p + n_J - 1]
  }
  for p in begin..last {
    L1_crd[ahead + p] = A1_crd[p]
  }
  for p in begin..last {
    let j = A1_crd[p]
    L0_crd[ahead + p] = i32(j + n_J)
  }
  c = ahead + max(last, begin)
";
        let got = rewritten(BLOCK);
        assert!(got.contains(copies), "{got}");
        let perhaps = rewritten(&format!("  if 0 < n_I {{\n{BLOCK}\n  }}"));
        assert!(perhaps.contains("L_vals[ahead + p] ="), "{perhaps}");
    }

    /// Whether the first loop of a kernel is a copy, and nothing else.
    fn is_copy(body: &str) -> bool {
        let kernel = frame::kernel(&format!("  for p in A1_pos[0]..A1_pos[n_I] {{\n    {body}\n  }}"));
        let found = kernel.body.iter().find_map(|stmt| match stmt {
            Stmt::For { var, body, .. } => Some(whole_copy(*var, body, &kernel.buffers)),
            _ => None,
        });
        found.expect("a loop").is_some()
    }

    /// Elements that are computed, widened, strided, turned around or gathered are not copied, nor one to all places.
    #[test]
    fn a_copy_does_nothing_else() {
        assert!(is_copy("L_vals[p] = A_vals[p]"));
        assert!(is_copy("L_vals[c + p] = A_vals[p + n_J - 1]"));
        assert!(is_copy("L1_crd[p - n_J] = A1_crd[p]"));
        for other in [
            "L_vals[p] = -A_vals[p]",
            "M_vals[p] = i64(A1_crd[p])",
            "L_vals[p] = A_vals[p * 2]",
            "L_vals[n_J - p] = A_vals[p]",
            "L_vals[p + p] = A_vals[p]",
            "L_vals[p] = A_vals[w_vals[p]]",
            "L_vals[p] = A_vals[n_J]",
            "L_vals[0] = A_vals[p]",
            "L_vals[p] = L_vals[p + 1]",
        ] {
            assert!(!is_copy(other), "{other}");
        }
    }

    /// What is noted of how many entries there are is noted in the loop for the others.
    #[test]
    fn notes_are_no_copies() {
        let noted = "  for p in begin..last {
    let j = A1_crd[p]
    let counted = ahead + p + 1
    M_vals[j] = counted
  }
";
        let copied = BLOCK.replace("    L0_crd[c] = i32(j + n_J)\n", "");
        let got = rewritten(&copied.replace("c = c + 1", "c = c + 1\n    M_vals[j] = c"));
        assert!(got.contains(noted) && got.contains("L1_crd[ahead + p] = A1_crd[p]"), "{got}");
        let read = copied.replace("c = c + 1", "c = c + 1\n    M_vals[j] = M_vals[j] + c");
        assert!(!rewritten(&read).contains("ahead"), "{read}");
    }

    /// Nothing is left where all is copied, not even what was named.
    #[test]
    fn what_is_needed_no_longer_is_gone() {
        let got = rewritten(&BLOCK.replace("    L0_crd[c] = i32(j + n_J)\n", ""));
        assert_eq!(got.matches("for p").count(), 2, "{got}");
        assert!(!got.contains("let j"), "{got}");
    }

    /// Values that are computed, or strided, or lost on the way are not copied; nor are short rows, nor what is stored twice, nor
    /// entries that say their number.
    #[test]
    fn other_loops_stay() {
        let computed = BLOCK.replace("A_vals[p + n_J - 1]", "-A_vals[p]").replace("i32(j)", "i32(j + 1)");
        let strided = BLOCK.replace("A_vals[p + n_J - 1]", "A_vals[p * 2]").replace("i32(j)", "i32(j + 1)");
        let narrowed = "  for p in 0..n_J {
    M_vals[c] = i64(i32(w_vals[p]))
    c = c + 1
  }"
        .to_string();
        let rows = format!("  for i in 0..n_I {{\n{BLOCK}\n  }}");
        let twice = BLOCK.replace("    c = c + 1", "    L_vals[c] = 0.0\n    c = c + 1");
        let numbers = BLOCK.replace("i32(j + n_J)", "i32(c)");
        for body in [computed, strided, narrowed, rows, twice, numbers] {
            assert_ne!(body, BLOCK);
            let got = rewritten(&body);
            assert!(!got.contains("ahead"), "{got}");
        }
    }
}
