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
        if !(Entries { of, last, values: result.values }).are_stored(&kernel.body, 0, &int(0)) {
            let (result, crd) = (&result.name, &kernel.buffers[crd.0 as usize].name);
            return Err(format!("result `{result}` has a value for each of `{crd}`, and not each is stored"));
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use crate::{check, read};

    const LISTS: &str = "
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, d0_pos: i32, d0_crd: i32, d_vals: f64
  result B_vals: f64
  in A@0: f64[n_I, n_J] {dense, compressed} at dense, compressed(A1_pos, A1_crd), A_vals
  in d@1: f64[n_I] {compressed} at compressed(d0_pos, d0_crd), d_vals
  out B@2: f64[n_I, n_J] {dense, compressed} at dense, compressed(A1_pos, A1_crd), B_vals
";

    /// The checker's result for a kernel in which `loops` store values into rows that are shared with an operand.
    fn checked(loops: &str) -> Result<(), String> {
        let made = format!("  alloc B_vals[capacity(A1_crd)]\n{loops}  finish B_vals[capacity(A1_crd)]\n");
        let text = format!("kernel k(n_I, n_J) reassociate{LISTS}\n{made}");
        check(&read(&text).unwrap_or_else(|e| panic!("{e}\n{text}")))
    }

    const NEST: &str = "  for i in 0..n_I {
    for p in A1_pos[i]..A1_pos[i + 1] {
      B_vals[p] = 2.0 * A_vals[p]
    }
  }
";

    #[test]
    fn loops_over_all_entries_store_each() {
        assert_eq!(checked(NEST), Ok(()));
        let flat = "  for p in A1_pos[0]..A1_pos[n_I] {\n    B_vals[p] = A_vals[p]\n  }\n";
        assert_eq!(checked(flat), Ok(()));
        let (store, twice) = ("B_vals[p] = 2.0 * A_vals[p]", "B_vals[p] = A_vals[p]");
        let either = format!("if A_vals[p] != 0.0 {{\n        {store}\n      }} else {{\n        {twice}\n      }}");
        assert_eq!(checked(&NEST.replace(store, &either)), Ok(()));
        let all = "  for p in 0..capacity(A_vals) {\n    B_vals[p] = A_vals[p]\n  }\n";
        assert_eq!(checked(all), Ok(()));
        assert_eq!(checked(&all.replace("A_vals)", "A1_crd)")), Ok(()));
    }

    #[test]
    fn entries_of_shared_values_are_compared() {
        let text = |comparison: &str| {
            let text = format!(
                "kernel k(n_I) reassociate
  operand v0_pos: i32, v0_crd: i32, v_vals: f64
  result C0_crd: i32, C0_pos: i32
  in v@0: f64[n_I] {{compressed}} at compressed(v0_pos, v0_crd), v_vals
  out C@1: f64[n_I] {{compressed}} at compressed(C0_pos, C0_crd), v_vals

  alloc C0_pos[2] = 0i32
  alloc C0_crd[capacity(v0_crd)]
  c = 0
  for p in v0_pos[0]..v0_pos[1] {{
    C0_crd[c] = v0_crd[p]
    c = c + 1
  }}
  C0_pos[1] = i32(c)
  finish C0_pos[2]
  finish C0_crd[c]
{comparison}"
            );
            check(&read(&text).unwrap_or_else(|e| panic!("{e}\n{text}")))
        };
        let right = "  if c != capacity(v_vals) {\n    fail entries\n  }\n";
        assert_eq!(text(right), Ok(()));
        let other = right.replace("v_vals", "v0_pos");
        for wrong in ["", &other, &right.replace("!=", "<"), &right.replace("entries", "positions")] {
            let said = text(wrong).expect_err(wrong);
            assert_eq!(said, "result `C` has the values `v_vals`, and its entries are not compared with them");
        }
    }

    /// The checker refuses loops that do not certainly store a value for each entry: rows to which another list leads, values at other
    /// positions, stores under a condition, loops over some rows or entries, or no loops.
    #[test]
    fn wrong_lowerings_are_caught() {
        let led = NEST
            .replace("i in 0..n_I", "r in d0_pos[0]..d0_pos[1]")
            .replace("    for p", "    i = d0_crd[r]\n    for p");
        let below = NEST.replace("B_vals[p]", "B_vals[A1_crd[p]]");
        let condition = NEST.replace(
            "      B_vals[p] = 2.0 * A_vals[p]\n",
            "      if A_vals[p] != 0.0 {\n        B_vals[p] = A_vals[p]\n      }\n",
        );
        let later = NEST.replace("i in 0..n_I", "i in 1..n_I");
        let other = NEST.replace("0..n_I", "0..n_J");
        let first = NEST.replace("A1_pos[i + 1]", "A1_pos[i] + 1");
        let fewer = "  for p in 0..capacity(A1_pos) {\n    B_vals[p] = 1.0\n  }\n".to_string();
        let none = String::new();
        for wrong in [led, below, condition, later, other, first, fewer, none] {
            assert!(wrong != NEST, "it differs");
            let said = checked(&wrong).expect_err(&wrong);
            assert_eq!(said, "result `B` has a value for each of `A1_crd`, and not each is stored");
        }
    }
}
