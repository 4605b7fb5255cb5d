//! The runtime entry points, as generated code calls them.
#![allow(unsafe_code)] // The other side of these calls is machine code.

use super::Session;
use super::parallel::parallel;
use super::sort::{scratch_bytes, with_order};
use crate::abi::{Buffer, Slot, code};
use fiberloom_loops::Failure;

/// The address of an entry point; `None` for a function on numbers.
pub(crate) fn address(slot: Slot) -> Option<*const ()> {
    Some(match slot {
        Slot::Alloc => alloc as *const (),
        Slot::Reserve => reserve as *const (),
        Slot::Finish => finish as *const (),
        Slot::Sort => sort as *const (),
        Slot::Move => exchange as *const (),
        Slot::Parallel => parallel as *const (),
        _ => return None,
    })
}

/// The code for the kernel.
fn returned(outcome: Result<(), Failure>) -> i32 {
    outcome.map_or_else(code, |()| 0)
}

// Safety of all entries: generated code passes on the session that it was given, one of its buffers, and, as
// `loops::check` and lowering promise, ranges within their capacity. It waits while an entry runs.

unsafe extern "C" fn alloc(rt: *mut Session, b: *mut Buffer, len: i64, bytes: i32, filled: i32, fill: u64) -> i32 {
    // SAFETY: see above.
    let session = unsafe { &mut *rt };
    // SAFETY: see above.
    let b = unsafe { session.place(b) };
    returned(session.make(b, len, bytes as usize, (filled != 0).then_some(fill)))
}

unsafe extern "C" fn reserve(rt: *mut Session, b: *mut Buffer, len: i64, bytes: i32) -> i32 {
    // SAFETY: see above.
    let session = unsafe { &mut *rt };
    // SAFETY: see above.
    let b = unsafe { session.place(b) };
    returned(session.grow(b, len, bytes as usize))
}

unsafe extern "C" fn finish(_rt: *mut Session, b: *mut Buffer, len: i64, _bytes: i32) -> i32 {
    // SAFETY: see above.
    unsafe { (*b).len = len }
    0
}

unsafe extern "C" fn sort(rt: *mut Session, keys: *mut Buffer, order: *mut Buffer, len: i64) -> i32 {
    if len <= 0 {
        return 0;
    }
    // SAFETY: see above.
    let session = unsafe { &mut *rt };
    if !session.has_left(scratch_bytes(len as usize)) {
        return code(Failure::Memory);
    }
    // SAFETY: see above; they are distinct buffers. `order` may be unset: it is zeroed before it becomes a slice.
    let (keys, order) = unsafe {
        (*order).data.write_bytes(0, len as usize * size_of::<i64>());
        (elements(keys, len), elements(order, len))
    };
    returned(with_order(keys, order))
}

unsafe extern "C" fn exchange(rt: *mut Session, to: *mut Buffer, from: *mut Buffer) -> i32 {
    // SAFETY: see above.
    let session = unsafe { &mut *rt };
    // SAFETY: see above.
    let (to, from) = unsafe { (session.place(to), session.place(from)) };
    session.exchange(to, from);
    0
}

/// The first `len` elements of a buffer.
///
/// # Safety
/// These elements are set, and nobody else uses them while the slice is in use.
unsafe fn elements<'a>(b: *mut Buffer, len: i64) -> &'a mut [i64] {
    // SAFETY: by this function's contract.
    unsafe { std::slice::from_raw_parts_mut((*b).data.cast(), len as usize) }
}
