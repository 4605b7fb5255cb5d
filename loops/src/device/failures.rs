//! Iterations that may fail and are shared by threads: one that fails reports it and goes on, since others wait for it.
//!
//! ```text
//!   if at < 0 || at >= 64 {                        if at < 0 || at >= 64 {
//!     fail outside                                   fail outside              which reports, and does not end the thread
//!   }                                      ──▶     } else {
//!   h[at] = h[at] + w[t]                             h[at] = h[at] + w[t]
//!                                                  }
//! ```
//!
//! What is computed behind a failure is thrown away. The code that is reported is that of the first failure in the iteration, where there is
//! one code; and each loop ends, where none waits for what a failure leaves out.

use super::Used;
use crate::rewrites::uses;
use crate::{Entry, Expr, Failure, Kernel, Stmt, Var};
use std::collections::BTreeSet;

/// Why nothing shares iterations that fail in several ways.
pub(super) const SEVERAL: &str = "an iteration may fail in several ways, and the first counts";

/// The number of ways in which statements fail.
pub(super) fn codes(body: &[Stmt]) -> usize {
    fn note(block: &[Stmt], all: &mut BTreeSet<Failure>) {
        for stmt in block {
            if let Stmt::Call(Entry::Fail(failure)) = stmt {
                all.insert(*failure);
            }
            stmt.blocks().for_each(|inner| note(inner, all));
        }
    }
    let mut all = BTreeSet::new();
    note(body, &mut all);
    all.len()
}

/// Why threads do not go on where iterations with this body fail, if they do not.
pub(super) fn obstacle(kernel: &Kernel, body: &[Stmt]) -> Option<String> {
    let mut fails = Fails { kernel, body, decides: BTreeSet::new(), goes_on: true };
    let codes = codes(body);
    if codes == 0 {
        return None;
    }
    body.iter().for_each(|stmt| fails.note_deciding(stmt));
    fails.note(body, false);
    match codes {
        1 if fails.goes_on => None,
        1 => Some("an iteration may fail where what follows needs what comes behind".to_string()),
        _ => Some(SEVERAL.to_string()),
    }
}

/// How iterations fail.
struct Fails<'k> {
    kernel: &'k Kernel,
    body: &'k [Stmt],
    /// The variables that decide which way iterations take, and at which elements.
    decides: BTreeSet<Var>,
    /// Whether a thread can go on behind each failure.
    goes_on: bool,
}

impl Fails<'_> {
    fn note(&mut self, block: &[Stmt], waits: bool) {
        for (n, stmt) in block.iter().enumerate() {
            match stmt {
                Stmt::If(_, yes, no) if alone(yes).is_some() && no.is_empty() => {
                    self.goes_on &= !waits && self.is_by_itself(&block[n + 1..]);
                }
                Stmt::Call(Entry::Fail(_)) => self.goes_on = false,
                Stmt::While(_, inner) => self.note(inner, true),
                _ => stmt.blocks().for_each(|inner| self.note(inner, waits)),
            }
        }
    }

    /// Whether nothing else goes another way, or to other elements, where these statements are left out.
    fn is_by_itself(&self, rest: &[Stmt]) -> bool {
        let count = self.kernel.vars.len();
        let (here, whole, mut alone) = (uses(rest, count), uses(self.body, count), true);
        let is_alone = |v: Var| here[v.0 as usize] == whole[v.0 as usize] || !self.decides.contains(&v);
        rest.iter().for_each(|stmt| stmt.each_set(&mut |v, _| alone &= is_alone(v)));
        alone
    }

    /// Notes the variables on which the ways depend that iterations take, and the elements that they touch.
    fn note_deciding(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(_, e) | Stmt::If(e, ..) | Stmt::While(e, _) | Stmt::Store(_, e, _) => self.note_read(e),
            Stmt::For { lo, hi, .. } => [lo, hi].into_iter().for_each(|e| self.note_read(e)),
            Stmt::Set(..) | Stmt::Call(_) | Stmt::Comment(_) => {}
        }
        let mut places = vec![];
        stmt.exprs().for_each(|e| {
            e.each(&mut |e| match e {
                Expr::Load(_, at) => places.push((**at).clone()),
                Expr::Among(_, _, parts) => places.extend(parts.iter().cloned()),
                Expr::Const(_) | Expr::Var(_) | Expr::Op(..) | Expr::Capacity(_) => {}
            });
        });
        places.iter().for_each(|e| self.note_read(e));
        stmt.blocks().flatten().for_each(|inner| self.note_deciding(inner));
    }

    fn note_read(&mut self, e: &Expr) {
        e.each(&mut |e| {
            if let Expr::Var(v) = e {
                self.decides.insert(*v);
            }
        });
    }
}

/// The failure that is all that a block does.
fn alone(block: &[Stmt]) -> Option<Failure> {
    if let [Stmt::Call(Entry::Fail(failure))] = block { Some(*failure) } else { None }
}

/// The statements, in which what stands behind a failure is left out where it is reported.
pub(super) fn going_on(block: &[Stmt]) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(block.len());
    for (n, stmt) in block.iter().enumerate() {
        match stmt {
            Stmt::If(c, yes, no) if alone(yes).is_some() && no.is_empty() => {
                out.push(Stmt::If(c.clone(), yes.clone(), going_on(&block[n + 1..])));
                return out;
            }
            stmt if !Used::of(std::slice::from_ref(stmt)).fails => out.push(stmt.clone()),
            Stmt::If(c, yes, no) => out.push(Stmt::If(c.clone(), going_on(yes), going_on(no))),
            Stmt::For { var, lo, hi, how, body } => {
                let body = going_on(body);
                out.push(Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), how: how.clone(), body });
            }
            stmt => out.push(stmt.clone()),
        }
    }
    out
}
