//! What the page calls: memory for a request, the answer to it, and memory back.
//!
//! ```text
//!  page: at = fl_room(n); write n bytes there; answer = fl_answer(at, n)      consumes the request
//!        read the length in four bytes at answer, and as many bytes behind    fl_done(answer) gives them back
//!        fl.said(at, n) is called with what a panic says, before the instance ends
//! ```
//!
//! Invariant: each address is one that these functions gave, and is given back once. A page that does otherwise breaks only its own
//! instance: WebAssembly keeps an instance within its memory.
#![allow(unsafe_code, reason = "addresses are how WebAssembly and a page speak")]

use std::sync::Once;

#[link(wasm_import_module = "fl")]
unsafe extern "C" {
    /// Tells the page a text.
    fn said(at: *const u8, length: usize);
}

/// Room for a request of so many bytes.
#[unsafe(no_mangle)]
extern "C" fn fl_room(length: usize) -> *mut u8 {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            let text = panic.to_string();
            // SAFETY: the text lives until the page has read it.
            unsafe { said(text.as_ptr(), text.len()) }
        }));
    });
    Box::into_raw(vec![0u8; length].into_boxed_slice()).cast()
}

/// The answer to a request, its length before it.
#[unsafe(no_mangle)]
extern "C" fn fl_answer(at: *mut u8, length: usize) -> *mut u8 {
    // SAFETY: `fl_room` gave the address for so many bytes, and the page gives it back here.
    let request = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, length)) };
    let answer = crate::answer(&request);
    let framed = [&(answer.len() as u32).to_le_bytes()[..], &answer].concat();
    Box::into_raw(framed.into_boxed_slice()).cast()
}

/// Gives an answer's memory back.
#[unsafe(no_mangle)]
extern "C" fn fl_done(answer: *mut u8) {
    // SAFETY: `fl_answer` gave the address, and its first four bytes say how many follow.
    unsafe {
        let length = u32::from_le_bytes(*answer.cast::<[u8; 4]>()) as usize + 4;
        drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(answer, length)));
    }
}
