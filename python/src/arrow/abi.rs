//! The structures of Arrow's C data interface and C stream interface, as its specification lays them out.
//!
//! Invariant: a structure that is held here is released once, when it is dropped. Children and dictionaries are their parent's, which
//! releases them.

use std::ffi::{CStr, c_char, c_int, c_void};

/// What an array holds: `struct ArrowSchema`.
#[repr(C)]
pub struct Schema {
    pub format: *const c_char,
    pub name: *const c_char,
    pub metadata: *const c_char,
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut Schema,
    pub dictionary: *mut Schema,
    pub release: Option<unsafe extern "C" fn(*mut Schema)>,
    pub private_data: *mut c_void,
}

/// Buffers of values: `struct ArrowArray`.
#[repr(C)]
pub struct Array {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *mut *const c_void,
    pub children: *mut *mut Array,
    pub dictionary: *mut Array,
    pub release: Option<unsafe extern "C" fn(*mut Array)>,
    pub private_data: *mut c_void,
}

/// Arrays of one schema, one after the other: `struct ArrowArrayStream`.
#[repr(C)]
pub struct Stream {
    pub get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    pub get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    pub get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    pub release: Option<unsafe extern "C" fn(*mut Stream)>,
    pub private_data: *mut c_void,
}

/// In `flags`: a column may have nulls.
pub const NULLABLE: i64 = 2;

macro_rules! released {
    ($($name:ident)*) => { $(
        impl $name {
            /// The structure itself, in the place of which one that was released is left.
            ///
            /// # Safety
            /// `place` is one, released or not, that nobody else uses meanwhile.
            pub unsafe fn taken(place: *mut $name) -> $name {
                // SAFETY: all zero is a structure that was released; the caller vouches for the place.
                unsafe { std::ptr::replace(place, std::mem::zeroed()) }
            }

            /// One that was released, to be written over.
            pub fn none() -> $name {
                // SAFETY: null pointers, no function and zeros are values of all its fields.
                unsafe { std::mem::zeroed() }
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                if let Some(release) = self.release.take() {
                    self.release = Some(release);
                    // SAFETY: it was not released, and is not used again.
                    unsafe { release(self) };
                    self.release = None;
                }
            }
        }

        // SAFETY: what a structure points to is not changed before it is released, and it is released from whatever thread.
        unsafe impl Send for $name {}
    )* };
}

released!(Schema Array Stream);

// SAFETY: nobody changes a schema or an array between its making and its release.
unsafe impl Sync for Schema {}
// SAFETY: as above.
unsafe impl Sync for Array {}

/// A text of a structure; `None` where there is none.
///
/// # Safety
/// The pointer is null, or there is a text that ends with a zero byte.
pub unsafe fn text<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller says so.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// The members of `n` pointers to structures, none of them null.
///
/// # Safety
/// `all` is null, or there are `n` pointers, null or each to a structure.
///
/// # Errors
/// A negative number, null pointers: what is wrong.
pub unsafe fn members<'a, T>(all: *mut *mut T, n: i64, what: &str) -> Result<Vec<&'a T>, String> {
    let n = usize::try_from(n).map_err(|_| format!("{what} has {n} children"))?;
    if n > 0 && all.is_null() {
        return Err(format!("{what} has {n} children, and a null pointer in the place of them"));
    }
    let member = |i: usize| {
        // SAFETY: the caller says that there are so many pointers, each null or to a structure.
        let one = unsafe { (*all.add(i)).as_ref() };
        one.ok_or_else(|| format!("{what}: child {i} is a null pointer"))
    };
    (0..n).map(member).collect()
}
