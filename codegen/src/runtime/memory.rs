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
    /// Asks for huge pages within a large block. This is a hint: a refusal changes nothing.
    fn advise(block: NonNull<u8>, size: usize) {
        const PAGE: usize = 4096;
        if size < HUGE {
            return;
        }
        let skip = block.as_ptr().align_offset(PAGE);
        let len = size.saturating_sub(skip) / PAGE * PAGE;
        // SAFETY: the range lies within the block, which we own; MADV_HUGEPAGE changes no contents.
        unsafe {
            libc::madvise(block.as_ptr().add(skip).cast(), len, libc::MADV_HUGEPAGE);
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
