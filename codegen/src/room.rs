//! Checks whether the remaining addresses suffice to compile.
//!
//! LLVM ends the process if it gets no memory. Under a limit on a process's addresses (`ulimit -v`), a kernel is therefore compiled only
//! if [`room`] is left, an upper bound that grows with the kernel's length (`docs/findings.md`).

use crate::Error;
use fiberloom_loops::{Kernel, Stmt};

/// The most bytes that compiling any kernel needs for the JIT, the target, and one page of each pool.
const BASE: u64 = 32 << 20;

/// The bytes for each statement: four times the measured need.
const STATEMENT: u64 = 16 << 10;

/// The most bytes of addresses that compiling a kernel may need.
pub fn room(kernel: &Kernel) -> u64 {
    BASE + STATEMENT * length(&kernel.body) as u64
}

/// The bytes of addresses that this process may still take; `None` if there is no limit, or the system does not say.
pub fn addresses_left() -> Option<u64> {
    let limit = address_space(&std::fs::read_to_string("/proc/self/limits").ok()?)?;
    let taken = pages(&std::fs::read_to_string("/proc/self/statm").ok()?)?;
    Some(limit.saturating_sub(taken))
}

/// Refuses a kernel for which too few addresses are left.
pub(crate) fn suffices(kernel: &Kernel) -> Result<(), Error> {
    match (addresses_left(), room(kernel)) {
        (Some(left), needed) if left < needed => Err(Error::Memory { needed, left }),
        _ => Ok(()),
    }
}

/// The number of statements in a block, including those of its inner blocks.
pub(crate) fn length(block: &[Stmt]) -> usize {
    block.iter().map(|stmt| 1 + stmt.blocks().map(length).sum::<usize>()).sum()
}

/// The limit on addresses in `/proc/self/limits`, if there is one.
fn address_space(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|l| l.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The bytes of all pages of the process, the first count in `/proc/self/statm`, at 4 KiB per page.
fn pages(statm: &str) -> Option<u64> {
    statm.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(4096)
}

#[cfg(test)]
mod tests {
    use super::{address_space, pages};

    #[test]
    fn what_the_system_says_of_addresses() {
        let limits = |soft: &str| format!("Max processes 1 1 processes\nMax address space {soft} unlimited bytes\n");
        assert_eq!(address_space(&limits("4096")), Some(4096));
        assert_eq!(address_space(&limits("unlimited")), None);
        assert_eq!(pages("50123 1 2 3\n"), Some(50123 * 4096));
    }
}
