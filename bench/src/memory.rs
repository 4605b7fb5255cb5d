//! What a call allocates: the global allocator, counted.
//!
//! ```text
//!  peak(f):   bytes in use ──▶ f() ──▶ the most that were in use meanwhile, less those before
//! ```
//!
//! Kernels make results and workspaces by this allocator as the loops by hand do, so both are counted in one way. Bytes
//! count as allocated, touched or not; outside of `peak`, none are. Blocks of `HUGE` bytes and more are offered as huge pages,
//! which compiled kernels (and NumPy) do by themselves: without it the loops by hand would pay for page faults that the others do not have.
#![allow(unsafe_code)] // An allocator is unsafe to implement; it passes everything on to the system's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::Relaxed};

/// From this size on, blocks are offered as huge pages.
const HUGE: usize = 1 << 20;

/// Whether bytes are counted: not in a call that is timed, which would take as long for each small block as to allocate it.
static COUNTS: AtomicBool = AtomicBool::new(false);
/// More bytes that are in use than were when counting began, and the most of them.
static USED: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

#[global_allocator]
static COUNTED: Counted = Counted;

struct Counted;

fn taken(bytes: usize) {
    if COUNTS.load(Relaxed) {
        let bytes = bytes as isize;
        let used = USED.fetch_add(bytes, Relaxed) + bytes;
        PEAK.fetch_max(used, Relaxed);
    }
}

fn given(bytes: usize) {
    if COUNTS.load(Relaxed) {
        USED.fetch_sub(bytes as isize, Relaxed);
    }
}

/// A hint; that it may be refused changes nothing.
fn advise(block: *mut u8, size: usize) {
    const PAGE: usize = 4096;
    if size < HUGE || block.is_null() {
        return;
    }
    let skip = block.align_offset(PAGE);
    // SAFETY: whole pages within the block, which is the caller's; MADV_HUGEPAGE changes no contents.
    unsafe {
        libc::madvise(block.add(skip).cast(), (size - skip) / PAGE * PAGE, libc::MADV_HUGEPAGE);
    }
}

// SAFETY: the system's allocator keeps every promise; what is added touches no block's contents.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by this function's contract.
        let block = unsafe { System.alloc(layout) };
        taken(layout.size());
        advise(block, layout.size());
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by this function's contract.
        let block = unsafe { System.alloc_zeroed(layout) };
        taken(layout.size());
        advise(block, layout.size());
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: by this function's contract.
        let moved = unsafe { System.realloc(block, layout, size) };
        if !moved.is_null() {
            taken(size);
            given(layout.size());
            advise(moved, size);
        }
        moved
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        given(layout.size());
        // SAFETY: by this function's contract.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Makes the system's allocator keep what is freed. Otherwise it would depend on a result's size, and on what ran before, whether it
/// comes from fresh pages, which the operating system has to clear: up to half of the time of a kernel whose result is large. The peers'
/// process is told the same ([`KEEP`]).
pub fn keep_what_is_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: these set two numbers of the allocator.
    unsafe {
        libc::mallopt(libc::M_MMAP_MAX, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
    }
}

/// Puts the heap in huge pages, as far as it is there: where a matrix lies in small ones, because what lay there before was small, rows that
/// are read here and there take up to 1.7 times as long. The peers' process does the same. A hint: that it may be refused changes nothing.
pub fn collapse() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if let Some((begin, end)) = heap() {
        const HUGE_PAGE: usize = 2 << 20;
        /// Since Linux 6.1.
        const MADV_COLLAPSE: i32 = 25;
        let (begin, end) = (begin.next_multiple_of(HUGE_PAGE), end / HUGE_PAGE * HUGE_PAGE);
        // Parts of which one was offered and the other was not do not share a page: first, all of it is.
        for advice in [libc::MADV_HUGEPAGE, MADV_COLLAPSE] {
            // SAFETY: the range is the heap's, whose contents are not changed.
            unsafe {
                libc::madvise(begin as *mut _, end.saturating_sub(begin), advice);
            }
        }
    }
}

/// Where the heap begins and ends: it is in several mappings where only some of it was offered as huge pages.
fn heap() -> Option<(usize, usize)> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let lines = || maps.lines().filter(|line| line.ends_with("[heap]"));
    let ends = |line: &str| -> Option<[usize; 2]> {
        let (begin, end) = line.split(' ').next()?.split_once('-')?;
        Some([usize::from_str_radix(begin, 16).ok()?, usize::from_str_radix(end, 16).ok()?])
    };
    let ([begin, _], [_, end]) = (ends(lines().next()?)?, ends(lines().next_back()?)?);
    Some((begin, end))
}

/// What tells a process's allocator the same.
pub const KEEP: [(&str, &str); 2] = [("MALLOC_MMAP_MAX_", "0"), ("MALLOC_TRIM_THRESHOLD_", "2147483647")];

/// The result of `f`, and the most bytes that were in use at a time while it ran beyond those before. What other threads
/// allocate meanwhile counts too.
pub fn peak<R>(f: impl FnOnce() -> R) -> (R, usize) {
    USED.store(0, Relaxed);
    PEAK.store(0, Relaxed);
    COUNTS.store(true, Relaxed);
    let result = f();
    COUNTS.store(false, Relaxed);
    (result, PEAK.load(Relaxed).max(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_counts_what_was_freed_again() {
        let (kept, bytes) = peak(|| {
            drop(std::hint::black_box(Vec::<u8>::with_capacity(1 << 30)));
            std::hint::black_box(vec![0u8; 1 << 20])
        });
        assert_eq!(kept.len(), 1 << 20);
        // Other tests allocate and free at the same time, but less than that.
        assert!((7 << 27..9 << 27).contains(&bytes), "{bytes}");
    }
}
