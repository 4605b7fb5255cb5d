//! Chains: a nonunique level and the singletons below it, whose tuples of coordinates ascend.
//!
//! ```text
//!   nonunique  0 0 0 2      never falls
//!   singleton  1 1 3 0      never falls where the levels above are tied with the position before
//!   singleton  0 4 1 1      the last: rises there
//!   tied       . = . .      (before the last level: 0,1 and 0,1)
//! ```

use super::malformed;
use crate::format::{Array, Malformed};

/// Before the first level of a chain, each position is tied with the one before it in its fiber. `pos` has been checked.
pub(super) fn ties(pos: &Array, n: usize) -> Vec<bool> {
    let mut ties = vec![true; n];
    for parent in 0..pos.len() - 1 {
        let (begin, end) = (pos.index(parent), pos.index(parent + 1));
        if begin < end {
            ties[begin as usize] = false;
        }
    }
    ties
}

/// One level of a chain, of as many coordinates as `ties`; those that remain tied. In the `last` level none may.
pub(super) fn check(l: usize, crd: &Array, extent: u64, ties: Vec<bool>, last: bool) -> Result<Vec<bool>, Malformed> {
    if !matches!(crd, Array::I32(_) | Array::I64(_)) {
        return malformed(Some(l), 0, format!("crd is of type {}, i32 or i64 expected", crd.ty()));
    }
    let mut remain = ties;
    let mut before = 0;
    for (p, tied) in remain.iter_mut().enumerate() {
        let c = crd.index(p);
        if c < 0 || c as u64 >= extent {
            return malformed(Some(l), p, format!("coordinate {c} is not in 0..{extent}"));
        }
        if *tied && c < before {
            return malformed(Some(l), p, format!("coordinate {c} stands behind {before}: a fiber's entries ascend"));
        }
        *tied &= c == before;
        if *tied && last {
            return malformed(Some(l), p, format!("coordinate {c} stands twice in one fiber"));
        }
        before = c;
    }
    Ok(remain)
}
