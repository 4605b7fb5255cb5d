//! The memory of a kernel's results and workspaces.
#![allow(unsafe_code)] // Raw blocks for generated code: there is no safe way to hand out memory whose writer is not Rust.

use std::alloc::{self, Layout};
use std::ptr::NonNull;

/// A source of memory blocks.
///
/// # Safety
/// A block that `allocate` or `grow` returns is valid for reads and writes of the layout's size and has its alignment; nobody else uses
/// it until it is passed to `grow` or `free`.
pub unsafe trait Memory: Sync {
    /// A block for `layout`, whose size is not 0; all bytes zero if `zeroed`. `None` if memory does not suffice.
    fn allocate(&self, layout: Layout, zeroed: bool) -> Option<NonNull<u8>>;

    /// A block of which the beginning alone is likely to be touched.
    fn allocate_to_begin(&self, layout: Layout) -> Option<NonNull<u8>> {
        self.allocate(layout, false)
    }

    /// The block moved to a larger one of `size` bytes, with its contents. `None` if memory does not suffice; the block is then
    /// unchanged.
    ///
    /// # Safety
    /// `block` came from this memory with `layout` and was not given back.
    unsafe fn grow(&self, block: NonNull<u8>, layout: Layout, size: usize) -> Option<NonNull<u8>>;

    /// Frees a block.
    ///
    /// # Safety
    /// As for `grow`; the block is not used afterwards.
    unsafe fn free(&self, block: NonNull<u8>, layout: Layout);

    /// Whether blocks come from Rust's global allocator, so that a `Vec` may own them.
    fn is_heap(&self) -> bool;
}

/// Rust's global allocator.
pub struct Heap;

/// The least size at which the operating system is asked to back a fresh block by huge pages: the first touch of each 4 KiB page costs
/// about as much as computing its contents.
const HUGE: usize = 1 << 20;

impl Heap {
    /// Asks for huge pages for all pages of a large block. This is a hint: a refusal changes nothing. A mapping of which a part alone
    /// is advised is two for the system, which then cannot move it when the block grows, so that it is copied.
    fn advise(block: NonNull<u8>, size: usize) {
        const PAGE: usize = 4096;
        if size < HUGE {
            return;
        }
        let before = block.as_ptr().addr() % PAGE;
        let len = (before + size).next_multiple_of(PAGE);
        // SAFETY: whole pages, of which the first and the last may have others' bytes, too; MADV_HUGEPAGE changes no contents.
        unsafe {
            libc::madvise(block.as_ptr().wrapping_sub(before).cast(), len, libc::MADV_HUGEPAGE);
        }
    }
}

// SAFETY: the global allocator promises it.
unsafe impl Memory for Heap {
    fn allocate(&self, layout: Layout, zeroed: bool) -> Option<NonNull<u8>> {
        assert_ne!(layout.size(), 0);
        // SAFETY: the size is not 0.
        let block = unsafe { if zeroed { alloc::alloc_zeroed(layout) } else { alloc::alloc(layout) } };
        let block = NonNull::new(block)?;
        Heap::advise(block, layout.size());
        Some(block)
    }

    /// Small pages: a huge one is cleared whole when its first byte is touched.
    fn allocate_to_begin(&self, layout: Layout) -> Option<NonNull<u8>> {
        assert_ne!(layout.size(), 0);
        // SAFETY: the size is not 0.
        NonNull::new(unsafe { alloc::alloc(layout) })
    }

    unsafe fn grow(&self, block: NonNull<u8>, layout: Layout, size: usize) -> Option<NonNull<u8>> {
        // SAFETY: the block is the allocator's, by this function's contract; the size is larger than one that is valid
        // for the layout, and the caller computed it as a layout's.
        let moved = NonNull::new(unsafe { alloc::realloc(block.as_ptr(), layout, size) })?;
        Heap::advise(moved, size);
        Some(moved)
    }

    unsafe fn free(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: by this function's contract.
        unsafe { alloc::dealloc(block.as_ptr(), layout) }
    }

    fn is_heap(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of the address space, of one kind throughout, that an address lies in.
    fn mapping(address: usize) -> Option<(usize, usize)> {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let number = |text: &str| usize::from_str_radix(text, 16).ok();
        let range =
            |line: &str| line.split(' ').next()?.split_once('-').and_then(|(a, b)| Some((number(a)?, number(b)?)));
        maps.lines().filter_map(range).find(|(begin, end)| (*begin..*end).contains(&address))
    }

    /// The system moves one mapping; of two a block that grows would be copied.
    #[test]
    fn a_large_block_lies_in_one_mapping() {
        let [first, grown] = [48 << 20, 80 << 20].map(|size| Layout::from_size_align(size, 8).unwrap());
        let mut block = Heap.allocate(first, false).unwrap();
        let is_in_one = |block: NonNull<u8>, size: usize| {
            let (_, end) = mapping(block.as_ptr().addr()).unwrap();
            block.as_ptr().addr() + size <= end
        };
        assert!(is_in_one(block, first.size()));
        // SAFETY: the block is this memory's, with these layouts, and not used afterwards.
        unsafe {
            block = Heap.grow(block, first, grown.size()).unwrap();
            assert!(is_in_one(block, grown.size()));
            Heap.free(block, grown);
        }
    }
}
