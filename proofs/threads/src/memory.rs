//! Memory in which mistakes show: a block that is given back is kept, and a write to it noticed; so is one behind a
//! block's end, and what was never set reads as no likely value. A thread may be stopped wherever it asks for memory,
//! also between the copy of a block that grows and the end of the old one.
#![allow(unsafe_code)] // Raw blocks, as `codegen/src/runtime/memory.rs` has them.

use crate::runtime::{Memory, between};
use std::alloc::{self, Layout};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What bytes are that nobody has set, and bytes of blocks that were given back.
const UNSET: u8 = 0xA5;

/// The bytes behind a block that nobody may set.
const BEHIND: usize = 16;

/// Blocks, those in use and those that were given back.
#[derive(Default)]
pub struct Watched {
    blocks: Mutex<Blocks>,
}

#[derive(Default)]
struct Blocks {
    /// Those in use, by their addresses.
    used: BTreeMap<usize, Layout>,
    /// Those that were given back, which are freed at the end.
    given: Vec<Given>,
    /// What went wrong.
    wrong: Vec<String>,
}

struct Given {
    block: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a block belongs to who has this, and nobody else uses it any more.
unsafe impl Send for Given {}

impl Watched {
    /// What went wrong up to now, when all blocks should have been given back; nothing if all went well.
    pub fn wrong(&self) -> Vec<String> {
        let mut blocks = self.blocks();
        let mut wrong = std::mem::take(&mut blocks.wrong);
        wrong.extend(blocks.used.values().map(|layout| format!("{} bytes were not given back", layout.size())));
        // SAFETY: the blocks are this memory's, with so many bytes behind them.
        let changed = |g: &&Given| unsafe { set(g.block, 0..g.layout.size() + BEHIND) };
        wrong
            .extend(blocks.given.iter().filter(changed).map(|_| "a block was set after it was given back".to_string()));
        wrong
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The layout of a block with the bytes behind it.
fn whole(layout: Layout) -> Option<Layout> {
    Layout::from_size_align(layout.size() + BEHIND, layout.align()).ok()
}

/// Whether some of a block's bytes are set.
///
/// # Safety
/// The block has them.
unsafe fn set(block: NonNull<u8>, mut bytes: std::ops::Range<usize>) -> bool {
    // SAFETY: by this function's contract; they were all written when the block was made.
    bytes.any(|n| unsafe { block.add(n).read() } != UNSET)
}

// SAFETY: blocks are the global allocator's, and used by nobody else until they are given back.
unsafe impl Memory for Watched {
    fn allocate(&self, layout: Layout, zeroed: bool) -> Option<NonNull<u8>> {
        between();
        let whole = whole(layout)?;
        // SAFETY: the size is not 0, and the block is new.
        let block = unsafe {
            let block = NonNull::new(alloc::alloc(whole))?;
            block.write_bytes(UNSET, whole.size());
            block.write_bytes(if zeroed { 0 } else { UNSET }, layout.size());
            block
        };
        self.blocks().used.insert(block.as_ptr().addr(), layout);
        Some(block)
    }

    unsafe fn grow(&self, block: NonNull<u8>, layout: Layout, size: usize) -> Option<NonNull<u8>> {
        let larger = self.allocate(Layout::from_size_align(size, layout.align()).ok()?, false)?;
        // SAFETY: the old block has so many bytes, and the new one more.
        unsafe { larger.copy_from_nonoverlapping(block, layout.size()) };
        between();
        // SAFETY: by this function's contract.
        unsafe { self.free(block, layout) };
        Some(larger)
    }

    unsafe fn free(&self, block: NonNull<u8>, layout: Layout) {
        between();
        let mut blocks = self.blocks();
        if blocks.used.remove(&block.as_ptr().addr()) != Some(layout) {
            return blocks.wrong.push(format!("a block of {} bytes is given back that is not in use", layout.size()));
        }
        // SAFETY: the block has so many bytes, and so many behind them.
        unsafe {
            if set(block, layout.size()..layout.size() + BEHIND) {
                blocks.wrong.push(format!("something is set behind a block of {} bytes", layout.size()));
            }
            block.write_bytes(UNSET, layout.size() + BEHIND);
        }
        blocks.given.push(Given { block, layout });
    }

    fn is_heap(&self) -> bool {
        false
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        for Given { block, layout } in self.blocks().given.drain(..) {
            if let Some(whole) = whole(layout) {
                // SAFETY: the block is the allocator's, with this layout.
                unsafe { alloc::dealloc(block.as_ptr(), whole) }
            }
        }
    }
}
