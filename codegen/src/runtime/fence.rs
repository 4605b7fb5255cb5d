//! Memory in which an overrun ends the process: each block ends at a page without access.
//!
//! ```text
//!   ┌───────────┬───────────────────────────────┬───────────┐
//!   │ no access │ slack (0xA5) │ block ▒▒▒▒▒▒▒▒▒▒│ no access │       whole pages; the block is flush with the last
//!   └───────────┴───────────────────────────────┴───────────┘
//! ```
//!
//! A read or write past a block's end, or more than a page before its start, is a segmentation fault at that instruction, so a fuzzer
//! notices it although no sanitizer has instrumented the code. Fresh memory that need not be zero holds 0xA5, so that a use of unset
//! elements shows in the result.
#![allow(unsafe_code)] // Page mappings are the point of this module.

use super::memory::Memory;
use std::alloc::Layout;
use std::ptr::NonNull;

/// The source of fenced blocks.
pub struct Fence;

const PAGE: usize = 4096;
const UNSET: u8 = 0xA5;

/// The bytes of the pages that hold a block of `size`; `None` if they and the fences overflow.
fn inner(size: usize) -> Option<usize> {
    let pages = size.checked_next_multiple_of(PAGE)?;
    pages.checked_add(2 * PAGE).map(|_| pages)
}

// SAFETY: each block is a private mapping of its own; it lies in that mapping's writable part, flush with its end, and
// sizes that are multiples of the alignment (arrays of whole elements) make the start aligned.
unsafe impl Memory for Fence {
    fn allocate(&self, layout: Layout, zeroed: bool) -> Option<NonNull<u8>> {
        assert!(layout.size() != 0 && layout.size().is_multiple_of(layout.align()) && layout.align() <= PAGE);
        let inner = inner(layout.size())?;
        // SAFETY: a new anonymous mapping touches nothing that exists; the second call and the fill stay within it.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let base = libc::mmap(std::ptr::null_mut(), inner + 2 * PAGE, libc::PROT_NONE, flags, -1, 0);
            if base == libc::MAP_FAILED {
                return None;
            }
            let start = base.cast::<u8>().add(PAGE);
            if libc::mprotect(start.cast(), inner, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                libc::munmap(base, inner + 2 * PAGE);
                return None;
            }
            let slack = inner - layout.size();
            start.write_bytes(UNSET, if zeroed { slack } else { inner });
            NonNull::new(start.add(slack))
        }
    }

    unsafe fn grow(&self, block: NonNull<u8>, layout: Layout, size: usize) -> Option<NonNull<u8>> {
        let moved = self.allocate(Layout::from_size_align(size, layout.align()).ok()?, false)?;
        // SAFETY: both are blocks of this memory, of at least `layout.size()` bytes, in mappings of their own.
        unsafe {
            moved.as_ptr().copy_from_nonoverlapping(block.as_ptr(), layout.size());
            self.free(block, layout);
        }
        Some(moved)
    }

    unsafe fn free(&self, block: NonNull<u8>, layout: Layout) {
        let inner = inner(layout.size()).expect("allocated with this size");
        // SAFETY: the block ends where the inner pages end, so this is the whole mapping that `allocate` made.
        unsafe {
            let base = block.as_ptr().add(layout.size()).sub(inner + PAGE);
            libc::munmap(base.cast(), inner + 2 * PAGE);
        }
    }

    fn is_heap(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_flush_with_a_page_and_keep_their_contents() {
        let (small, large) = (Layout::from_size_align(24, 8).unwrap(), 3 * PAGE + 8);
        let block = Fence.allocate(small, true).unwrap();
        assert_eq!((block.as_ptr() as usize + 24) % PAGE, 0);
        // SAFETY: the block has 24 bytes; afterwards it has `large`, and is freed with that size.
        unsafe {
            assert_eq!(std::slice::from_raw_parts(block.as_ptr(), 24), [0; 24]);
            block.as_ptr().write_bytes(7, 24);
            let block = Fence.grow(block, small, large).unwrap();
            assert_eq!((block.as_ptr() as usize + large) % PAGE, 0);
            assert_eq!(std::slice::from_raw_parts(block.as_ptr(), 25), [[7; 24].as_slice(), &[UNSET]].concat());
            Fence.free(block, Layout::from_size_align(large, 8).unwrap());
        }
    }

    #[test]
    fn more_than_there_is_is_refused() {
        assert!(Fence.allocate(Layout::from_size_align(isize::MAX as usize - 7, 8).unwrap(), false).is_none());
    }
}
