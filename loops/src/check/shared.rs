//! The law of shared levels: *every entry is stored*.
//!
//! ```text
//!   out B at dense, compressed(A1_pos, A1_crd), B_vals      B's levels are A's: it has a value for each entry of A1
//!
//!   for i in 0..n_I                          all of a dense level's coordinates
//!     for p in A1_pos[i]..A1_pos[i + 1]      a list's whole fiber; or consecutive fibers of several levels
//!       B_vals[p] = …                        at the entry's own position, unconditionally
//!
//!   for p in 0..capacity(A1_crd)             or all entries at once: an operand's array is as long as it has entries
//!
//!   alloc B_vals[capacity(A1_crd)] = 0.0     or they are set before: pieces of entries store them, wherever pieces begin and end
//! ```
//!
//! The law of shared entries: *they are compared*.
//!
//! ```text
//!   out C at nonunique(C0_pos, C0_crd), singleton(A1_crd), A_vals        C has A's values, and levels of its own
//!
//!   if c != capacity(A_vals) { fail entries }                            stands outside of all loops
//! ```
//!
//! If a result's values are counted while they are stored, the counter shows that it is complete. A result with an operand's entries has
//! no counter: the form of the loops must show that they visit every entry unconditionally, for any data. Both blocks of a conditional
//! must do so.

use crate::arith::{int, plus, times};
use crate::bare;
use crate::{Argument, BufferId, Entry, Expr, Failure, Holds, Kernel, Stmt};
use fiberloom_core::algebra::Op;

/// The coordinates of a result's last level, if they are an operand's and the values are not: the operand, and which of its levels.
fn of_operand<'k>(kernel: &'k Kernel, result: &Argument) -> Option<(BufferId, &'k Argument, usize)> {
    let crd = result.levels.last()?.array(Holds::Coordinates)?;
    let whose = kernel.arguments.iter().filter(|a| a.operand).find_map(|a| Some((a, level(a, crd)?)));
    whose.filter(|(of, _)| of.values != result.values).map(|(of, last)| (crd, of, last))
}

/// The values of results with an operand's entries: only the form of the loops shows that each is stored.
pub(crate) fn shown_by_form(kernel: &Kernel) -> impl Iterator<Item = BufferId> {
    let results = kernel.arguments.iter().filter(|a| !a.operand);
    results.filter(|result| of_operand(kernel, result).is_some()).map(|result| result.values)
}

/// Checks these laws for every result whose last level is an operand's and whose values are its own, or whose values are an operand's and
/// whose levels are not.
pub(super) fn check(kernel: &Kernel) -> Result<(), String> {
    for result in kernel.arguments.iter().filter(|a| !a.operand) {
        let mut values = kernel.arguments.iter().filter(|a| a.operand && a.values == result.values).peekable();
        let differs = values.peek().is_some() && values.all(|of| of.levels != result.levels);
        if differs && !kernel.body.iter().any(|stmt| compares(stmt, result.values)) {
            let (result, values) = (&result.name, &kernel.buffers[result.values.0 as usize].name);
            return Err(format!(
                "result `{result}` has the values `{values}`, and its entries are not compared with them"
            ));
        }
        let Some((crd, of, last)) = of_operand(kernel, result) else { continue };
        let entries = Entries { of, last, values: result.values };
        if !entries.are_stored(&kernel.body, 0, &int(0)) && !are_filled(&kernel.body, result.values) {
            let (result, crd) = (&result.name, &kernel.buffers[crd.0 as usize].name);
            return Err(format!("result `{result}` has a value for each of `{crd}`, and not each is stored"));
        }
    }
    Ok(())
}

/// Whether a block allocates values that are all set.
fn are_filled(block: &[Stmt], values: BufferId) -> bool {
    block.iter().any(|stmt| match stmt {
        Stmt::Call(Entry::Alloc { buffer, fill, .. }) => *buffer == values && fill.is_some(),
        _ => stmt.blocks().any(|inner| are_filled(inner, values)),
    })
}

/// Whether a statement ends the kernel if a counter differs from the number of these values.
fn compares(stmt: &Stmt, values: BufferId) -> bool {
    let Stmt::If(Expr::Op(Op::Ne, sides), yes, _) = stmt else { return false };
    matches!(sides[..], [Expr::Var(_), Expr::Capacity(b)] if b == values)
        && matches!(yes[..], [Stmt::Call(Entry::Fail(Failure::Entries))])
}

/// The level with these coordinates.
fn level(a: &Argument, crd: BufferId) -> Option<usize> {
    a.levels.iter().position(|level| level.array(Holds::Coordinates) == Some(crd))
}

/// The entries of an operand's level, and the result's values, one for each entry.
struct Entries<'k> {
    of: &'k Argument,
    last: usize,
    values: BufferId,
}

impl Entries<'_> {
    /// Whether a block, which runs once for each position `at` of the levels above `level`, stores a value for each entry below it.
    fn are_stored(&self, block: &[Stmt], level: usize, at: &Expr) -> bool {
        block.iter().any(|stmt| match stmt {
            Stmt::Store(to, place, _) => level > self.last && *to == self.values && same(place, at),
            Stmt::For { var, lo, hi, body, .. } => {
                let inside = self.open(level, at, (&Expr::Var(*var), lo, hi));
                inside.is_some_and(|(level, at)| self.are_stored(body, level, &at))
            }
            // Exactly one of the two blocks runs.
            Stmt::If(_, yes, no) => self.are_stored(yes, level, at) && self.are_stored(no, level, at),
            _ => false,
        })
    }

    /// Whether an array of the operand has an element for each entry of the level.
    fn are_as_many(&self, array: BufferId) -> bool {
        let values = self.last + 1 == self.of.levels.len() && array == self.of.values;
        values || self.of.levels[self.last].array(Holds::Coordinates) == Some(array)
    }

    /// The level behind those, from `level` on, whose whole fiber at `at` a loop visits, and the position of the loop's iteration there.
    fn open(&self, level: usize, at: &Expr, (var, lo, hi): (&Expr, &Expr, &Expr)) -> Option<(usize, Expr)> {
        if level == 0 && *lo == int(0) && matches!(hi, Expr::Capacity(b) if self.are_as_many(*b)) {
            return Some((self.last + 1, var.clone()));
        }
        let (mut begin, mut end) = (at.clone(), plus(at.clone(), int(1)));
        for l in level..=self.last {
            let buffers = &self.of.levels[l];
            if buffers.kind().is_full() {
                let extent = Expr::Var(self.of.extents[self.of.format.order[l]]);
                // An extent that the program states is a number in the loop.
                if l == level && *lo == int(0) && (*hi == extent || matches!(hi, Expr::Const(_))) {
                    return Some((l + 1, plus(times(at.clone(), hi.clone()), var.clone())));
                }
                (begin, end) = (times(begin, extent.clone()), times(end, extent));
                continue;
            }
            let pos = buffers.array(Holds::Positions).filter(|_| buffers.kind().is_plain())?;
            (begin, end) = (Expr::Load(pos, Box::new(begin)), Expr::Load(pos, Box::new(end)));
            if same(lo, &begin) && same(hi, &end) {
                return Some((l + 1, var.clone()));
            }
        }
        None
    }
}

/// Whether two expressions are equal up to the widths of indices.
fn same(a: &Expr, b: &Expr) -> bool {
    match (bare(a), bare(b)) {
        (Expr::Load(x, i), Expr::Load(y, j)) => x == y && same(i, j),
        (Expr::Op(f, xs), Expr::Op(g, ys)) => {
            f == g && xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| same(x, y))
        }
        (a, b) => a == b,
    }
}
