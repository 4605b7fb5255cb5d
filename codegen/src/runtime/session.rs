//! One call of a kernel: its table of functions, and the blocks that it owns.
#![allow(unsafe_code)] // Ownership of raw blocks, handed to generated code and to `Vec`.

use super::interrupt::Interrupt;
use super::memory::Memory;
use super::sync::AtomicUsize;
use super::{Pieces, entries, math};
use crate::abi::{Buffer, Slot};
use fiberloom_core::algebra::Type;
use fiberloom_core::format::{Array, Elements};
use fiberloom_loops::{BufferId, Failure};
use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::LazyLock;
use std::sync::atomic::Ordering::Relaxed;

/// The number of buffers that most kernels do not exceed.
const FEW: usize = 12;

/// Calls `f` with `n` elements, on the stack if they are few.
pub(crate) fn lent<T: Copy, R>(n: usize, element: T, f: impl FnOnce(&mut [T]) -> R) -> R {
    if n <= FEW { f(&mut [element; FEW][..n]) } else { f(&mut vec![element; n]) }
}

/// The target of `fl_runtime *`. The table comes first, then the address of the interrupt for kernels that test it; generated code does
/// not access the rest.
#[repr(C)]
pub(crate) struct Session<'a> {
    table: Table,
    interrupt: &'a Interrupt,
    memory: &'a dyn Memory,
    /// The kernel's buffers, and the block of each: `blocks[b]` belongs to `buffers[b]`.
    buffers: *mut Buffer,
    blocks: &'a mut [Option<Block>],
    /// The bytes that may still be allocated, by the sessions of all threads of the call.
    left: &'a AtomicUsize,
    pieces: Pieces,
}

/// A table of functions' addresses.
#[repr(transparent)]
#[derive(Clone, Copy)]
struct Table([*const (); Slot::ALL.len()]);

// SAFETY: functions are everybody's.
unsafe impl Send for Table {}
// SAFETY: the same.
unsafe impl Sync for Table {}

/// The table of all sessions. It is built once, as a function's address may depend on the processor.
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let address = |slot| entries::address(slot).or_else(|| math::address(slot)).expect("every slot has one");
    Table(Slot::ALL.map(address))
});

/// The memory of a buffer. The buffer's capacity may be less.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a block is memory that belongs to who has this.
unsafe impl Send for Block {}
// SAFETY: the same; this alone lets nobody touch it.
unsafe impl Sync for Block {}

impl Block {
    /// Its first byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl<'a> Session<'a> {
    /// A session for the buffers at `buffers`, none of which has a block yet; their blocks come from `memory`, at most `limit` bytes in
    /// all. `interrupt` asks the kernel to end. The function is inlined, so that the session is constructed in place: in a call of less
    /// than a microsecond, moving it would count.
    ///
    /// # Safety
    /// `buffers` stays valid, and is touched by nobody but the kernel and this session, while entries are called.
    #[inline(always)]
    pub unsafe fn new(
        memory: &'a dyn Memory,
        buffers: *mut Buffer,
        blocks: &'a mut [Option<Block>],
        (left, interrupt, pieces): (&'a AtomicUsize, &'a Interrupt, Pieces),
    ) -> Session<'a> {
        Session { table: *TABLE, interrupt, memory, buffers, blocks, left, pieces }
    }

    /// What sessions of other threads begin with.
    pub fn snapshot(&self) -> Snapshot<'a> {
        // SAFETY: the session has as many buffers as blocks.
        let buffers = unsafe { std::slice::from_raw_parts(self.buffers, self.blocks.len()) }.to_vec();
        let Session { interrupt, memory, left, pieces, .. } = *self;
        Snapshot { interrupt, memory, buffers, blocks: self.blocks.to_vec(), left, pieces }
    }

    /// Gives buffer `b` a block of its own, like one that it sees, with its elements or with none.
    fn twin(&mut self, b: BufferId, of: Option<Block>, with_elements: bool) -> Result<(), Failure> {
        let Some(Block { start: old, layout }) = of else { return Ok(()) };
        self.take_from_limit(layout.size())?;
        let start = match with_elements {
            true => self.memory.allocate(layout, false),
            false => self.memory.allocate_to_begin(layout),
        };
        let start = start.ok_or(Failure::Memory).inspect_err(|_| self.give_to_limit(layout.size()))?;
        self.blocks[b.0 as usize] = Some(Block { start, layout });
        // SAFETY: both blocks have this layout; the buffer is this session's.
        unsafe {
            if with_elements {
                start.as_ptr().copy_from_nonoverlapping(old.as_ptr(), layout.size());
            }
            (*self.buffers.add(b.0 as usize)).data = start.as_ptr();
        }
        Ok(())
    }

    /// The number of buffer `b`.
    ///
    /// # Safety
    /// `b` is a buffer of this session.
    pub unsafe fn place(&self, b: *const Buffer) -> BufferId {
        // SAFETY: both point into the same array.
        BufferId(unsafe { b.offset_from(self.buffers) } as u32)
    }

    /// Allocates buffer `b` again, with room for `len` elements of `bytes` each, whose bits are `fill` if that is given.
    pub fn make(&mut self, b: BufferId, len: i64, bytes: usize, fill: Option<u64>) -> Result<(), Failure> {
        // The least integer has no negation.
        let len = if len == i64::MIN { i64::MAX } else { len.max(0) };
        let layout = layout(len, bytes)?;
        let capacity = layout.size() / bytes;
        let zero = fill == Some(0);
        let fresh = self.blocks[b.0 as usize].is_none_or(|old| old.layout.size() < layout.size());
        if fresh && layout.size() > 0 {
            self.release(b);
            self.take_from_limit(layout.size())?;
            let start = self.memory.allocate(layout, zero).ok_or(Failure::Memory);
            let start = start.inspect_err(|_| self.give_to_limit(layout.size()))?;
            self.blocks[b.0 as usize] = Some(Block { start, layout });
        }
        let data = self.describe(b, capacity);
        match fill {
            Some(bits) if !(fresh && zero) => {
                // SAFETY: the block has room for `capacity` elements and is the kernel's, which waits for us.
                unsafe { set_all(data, capacity, bytes, bits) }
            }
            _ => {}
        }
        Ok(())
    }

    /// Makes room for `len` elements of `bytes` each in buffer `b`, keeping its contents.
    pub fn grow(&mut self, b: BufferId, len: i64, bytes: usize) -> Result<(), Failure> {
        // SAFETY: `b` is one of this session's buffers.
        let capacity = unsafe { (*self.buffers.add(b.0 as usize)).capacity };
        if len <= capacity {
            return Ok(());
        }
        self.enlarge(b, len.max(capacity.saturating_mul(2)).max(16), bytes)
    }

    /// Gives buffer `b` no more room than it had in a snapshot, and the elements that it had then.
    pub fn restore(&mut self, b: BufferId, from: &Snapshot) -> Result<(), Failure> {
        let (Some(now), Some(was)) = (self.blocks[b.0 as usize], from.blocks[b.0 as usize]) else {
            if from.blocks[b.0 as usize].is_none() {
                self.release(b);
                self.describe(b, 0);
            }
            return Ok(());
        };
        if now.layout.size() <= was.layout.size() {
            return Ok(());
        }
        let start = self.memory.allocate(was.layout, false).ok_or(Failure::Memory)?;
        // SAFETY: the block that goes is larger; nobody else has either.
        unsafe { start.as_ptr().copy_from_nonoverlapping(now.start.as_ptr(), was.layout.size()) }
        self.release(b);
        self.take_from_limit(was.layout.size())?;
        self.blocks[b.0 as usize] = Some(Block { start, layout: was.layout });
        self.describe(b, from.buffers[b.0 as usize].capacity as usize);
        Ok(())
    }

    /// Makes room for exactly `len` elements, more than there are.
    pub fn enlarge(&mut self, b: BufferId, len: i64, bytes: usize) -> Result<(), Failure> {
        let layout = layout(len, bytes)?;
        match self.blocks[b.0 as usize] {
            Some(old) if old.layout.size() >= layout.size() => {}
            Some(old) => {
                let more = layout.size() - old.layout.size();
                self.take_from_limit(more)?;
                // SAFETY: the block is ours and came from this memory with this layout.
                let moved = unsafe { self.memory.grow(old.start, old.layout, layout.size()) };
                let start = moved.ok_or(Failure::Memory).inspect_err(|_| self.give_to_limit(more))?;
                self.blocks[b.0 as usize] = Some(Block { start, layout });
            }
            None => return self.make(b, (layout.size() / bytes) as i64, bytes, None),
        }
        self.describe(b, layout.size() / bytes);
        Ok(())
    }

    /// Exchanges what two buffers have: elements, room, length.
    pub fn exchange(&mut self, a: BufferId, b: BufferId) {
        self.blocks.swap(a.0 as usize, b.0 as usize);
        // SAFETY: both are this session's buffers, which the kernel does not touch while it waits for us.
        unsafe { std::ptr::swap(self.buffers.add(a.0 as usize), self.buffers.add(b.0 as usize)) }
    }

    /// Writes buffer `b`'s address and capacity where the kernel reads them.
    fn describe(&mut self, b: BufferId, capacity: usize) -> *mut u8 {
        let data = match self.blocks[b.0 as usize] {
            Some(block) => block.start.as_ptr(),
            None => std::ptr::null_mut(),
        };
        // SAFETY: `b` is one of this session's buffers, which the kernel does not touch while it waits for us.
        unsafe {
            let buffer = self.buffers.add(b.0 as usize);
            (*buffer).data = data;
            (*buffer).capacity = capacity as i64;
        }
        data
    }

    /// A buffer as the kernel sees it.
    pub fn buffer(&self, b: BufferId) -> Buffer {
        // SAFETY: `b` is one of this session's buffers, which the kernel does not touch while it waits for us.
        unsafe { *self.buffers.add(b.0 as usize) }
    }

    /// The kernel's buffers, as this session has them.
    pub fn buffers(&self) -> *const Buffer {
        self.buffers
    }

    /// The same, to be read.
    ///
    /// # Safety
    /// The kernel does not run.
    pub unsafe fn table(&self) -> &[Buffer] {
        // SAFETY: the session has as many buffers as blocks.
        unsafe { std::slice::from_raw_parts(self.buffers, self.blocks.len()) }
    }

    /// Gives up what buffer `b` has. The kernel touches it no more.
    pub fn give_up(&mut self, b: BufferId) -> Option<Block> {
        self.blocks[b.0 as usize].take()
    }

    /// Frees a block that a session of the same call gave up.
    pub fn free(&self, block: Block) {
        self.give_to_limit(block.layout.size());
        // SAFETY: the block is of this memory, and was given up.
        unsafe { self.memory.free(block.start, block.layout) }
    }

    /// How parallel loops are cut.
    pub fn pieces(&self) -> Pieces {
        self.pieces
    }

    fn take_from_limit(&self, bytes: usize) -> Result<(), Failure> {
        let taken = self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes));
        taken.map(|_| ()).map_err(|_| Failure::Memory)
    }

    fn give_to_limit(&self, bytes: usize) {
        self.left.fetch_add(bytes, Relaxed);
    }

    /// Whether `bytes` more, for a moment, stay within the limit: scratch memory of sorting.
    pub fn has_left(&self, bytes: usize) -> bool {
        bytes <= self.left.load(Relaxed)
    }

    /// Frees what buffer `b` has.
    fn release(&mut self, b: BufferId) {
        if let Some(old) = self.blocks[b.0 as usize].take() {
            self.give_to_limit(old.layout.size());
            // SAFETY: the block is ours, and no longer recorded.
            unsafe { self.memory.free(old.start, old.layout) }
        }
    }

    /// The elements of a finished result, which the session gives up: without a copy if its memory is the heap.
    ///
    /// # Panics
    /// If the kernel finished it with more elements than it has room for.
    pub fn give(&mut self, b: BufferId, ty: Type) -> Array<'static> {
        // SAFETY: `b` is one of this session's buffers, and the kernel has ended.
        let Buffer { len, capacity, .. } = unsafe { *self.buffers.add(b.0 as usize) };
        assert!((0..=capacity).contains(&len), "buffer {} finished with {len} elements of {capacity}", b.0);
        let Some(block) = self.blocks[b.0 as usize] else { return Array::from_values(ty, []) };
        if self.memory.is_heap() {
            self.blocks[b.0 as usize] = None;
            // SAFETY: the block is from the global allocator with the layout of so many elements, and no longer ours;
            // the kernel has set the first `len` of them.
            unsafe { owned(ty, block.start, len as usize, block.layout.size() / ty.bytes()) }
        } else {
            // SAFETY: the kernel has set the first `len` elements.
            unsafe { copied(ty, block.start, len as usize) }
        }
    }
}

/// A call's buffers at one moment, as other threads find them.
pub(crate) struct Snapshot<'a> {
    interrupt: &'a Interrupt,
    memory: &'a dyn Memory,
    buffers: Vec<Buffer>,
    blocks: Vec<Option<Block>>,
    left: &'a AtomicUsize,
    pieces: Pieces,
}

impl Snapshot<'_> {
    /// Runs `f` in a session for another thread: of the buffers `own` it has copies, for `fresh` others as much room, and all others it
    /// shares. `None` if memory does not suffice.
    ///
    /// # Safety
    /// What the buffers have stays meanwhile, but for `fresh` ones. Of the buffers that are not its own, `f` accesses elements as no
    /// other thread does, and calls no entry for them.
    pub unsafe fn session<R>(
        &self,
        (own, fresh): (&[i32], &[i32]),
        f: impl FnOnce(&mut Session, *mut Buffer) -> R,
    ) -> Option<R> {
        let (mut buffers, mut blocks) = (self.buffers.clone(), vec![None; self.blocks.len()]);
        let at = buffers.as_mut_ptr();
        // SAFETY: both outlive the session, and nobody else has them.
        let mut session =
            unsafe { Session::new(self.memory, at, &mut blocks, (self.left, self.interrupt, self.pieces)) };
        let mut twin = |b: &i32, with: bool| session.twin(BufferId(*b as u32), self.blocks[*b as usize], with);
        own.iter().try_for_each(|b| twin(b, true)).ok()?;
        fresh.iter().try_for_each(|b| twin(b, false)).ok()?;
        Some(f(&mut session, at))
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        for b in 0..self.blocks.len() {
            self.release(BufferId(b as u32));
        }
    }
}

/// The layout of `len` elements; too many for the address space are a failure like any other lack of memory.
fn layout(len: i64, bytes: usize) -> Result<Layout, Failure> {
    let size = usize::try_from(len).ok().and_then(|n| n.checked_mul(bytes)).ok_or(Failure::Memory)?;
    Layout::from_size_align(size, bytes).map_err(|_| Failure::Memory)
}

/// Sets `count` elements of `bytes` each at `data` to the low bits of `bits`.
///
/// # Safety
/// There is room for them at `data`, aligned; nobody else uses it.
unsafe fn set_all(data: *mut u8, count: usize, bytes: usize, bits: u64) {
    if count == 0 {
        return;
    }
    // SAFETY: by this function's contract; any bits are valid for unsigned integers once they are written.
    unsafe {
        match bytes {
            1 => data.write_bytes(bits as u8, count),
            _ if bits == 0 => data.write_bytes(0, count * bytes),
            2 => (0..count).for_each(|i| data.cast::<u16>().add(i).write(bits as u16)),
            4 => (0..count).for_each(|i| data.cast::<u32>().add(i).write(bits as u32)),
            _ => (0..count).for_each(|i| data.cast::<u64>().add(i).write(bits)),
        }
    }
}

macro_rules! arrays {
    ($($ty:ident $rust:ty),*) => {
        /// An array that owns the block.
        ///
        /// # Safety
        /// The block is the global allocator's, with the layout of `capacity` elements, of which `len` are set; the
        /// caller gives it up.
        unsafe fn owned(ty: Type, start: NonNull<u8>, len: usize, capacity: usize) -> Array<'static> {
            match ty {
                // SAFETY: by this function's contract.
                $(Type::$ty => Array::$ty(Elements::from(unsafe {
                    Vec::from_raw_parts(start.as_ptr().cast::<$rust>(), len, capacity)
                })),)*
            }
        }

        /// An array of the `len` elements at `start`.
        ///
        /// # Safety
        /// The elements are set and aligned.
        unsafe fn copied(ty: Type, start: NonNull<u8>, len: usize) -> Array<'static> {
            match ty {
                // SAFETY: by this function's contract.
                $(Type::$ty => Array::$ty(Elements::from(unsafe {
                    std::slice::from_raw_parts(start.as_ptr().cast::<$rust>(), len)
                }.to_vec())),)*
            }
        }
    };
}

arrays!(Bool u8, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64);

#[cfg(test)]
mod tests {
    use super::super::interrupt::NEVER;
    use super::super::memory::Heap;
    use super::*;

    /// Two buffers that are made of at most `limit` bytes.
    fn with_two(limit: usize, f: impl FnOnce(&mut Session, [BufferId; 2])) {
        let (mut buffers, mut blocks) = ([Buffer::EMPTY; 2], [None; 2]);
        let left = AtomicUsize::new(limit);
        // SAFETY: the buffers outlive the session, and nobody else has them.
        let mut session =
            unsafe { Session::new(&Heap, buffers.as_mut_ptr(), &mut blocks, (&left, &NEVER, Pieces::Usual)) };
        f(&mut session, [BufferId(0), BufferId(1)]);
    }

    /// The elements for which a buffer has room, each of which was set.
    fn elements<'s>(session: &'s mut Session, b: BufferId) -> &'s mut [u32] {
        // SAFETY: the block has room for so many, and who asks has set them.
        unsafe {
            let buffer = *session.buffers.add(b.0 as usize);
            std::slice::from_raw_parts_mut(buffer.data.cast(), buffer.capacity as usize)
        }
    }

    /// A buffer that is allocated again in the same memory is filled again, to its last byte, with any fill value.
    #[test]
    fn what_is_made_anew_is_filled_anew() {
        with_two(64, |session, [b, _]| {
            session.make(b, 4, 4, Some(0)).unwrap();
            assert_eq!(elements(session, b), [0; 4]);
            elements(session, b).fill(u32::MAX);
            session.make(b, 3, 4, Some(0)).unwrap();
            assert_eq!(elements(session, b), [0; 3]);
            session.make(b, 4, 4, Some(7)).unwrap();
            assert_eq!(elements(session, b), [7; 4]);
        });
    }

    /// The limit counts the memory of all buffers, until they give it back.
    #[test]
    fn memory_is_counted_and_given_back() {
        with_two(40, |session, [a, b]| {
            session.make(a, 4, 4, None).unwrap();
            assert_eq!(session.make(b, 7, 4, None), Err(Failure::Memory), "28 bytes of 24");
            session.make(b, 6, 4, None).unwrap();
            session.release(b);
            // The buffer gives its 16 bytes back before it takes 32.
            session.make(a, 8, 4, None).unwrap();
            assert_eq!(session.make(b, 3, 4, None), Err(Failure::Memory), "12 bytes of 8");
            session.make(b, 2, 4, None).unwrap();
        });
    }
}
