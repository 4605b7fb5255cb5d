//! Handles LLVM's diagnostics during compilation. Errors become [`Error`]s; warnings and remarks, such as a `vector for` that could not
//! be vectorized, are dropped. Without a handler, LLVM prints them all on standard error, and ends the process on an error.
#![allow(unsafe_code)] // LLVM's C API.

use crate::Error;
use inkwell::context::Context;
use inkwell::llvm_sys::LLVMDiagnosticSeverity;
use inkwell::llvm_sys::core::{
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
};
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;
use std::cell::RefCell;
use std::ffi::{CStr, c_void};

/// Collects the diagnostics of a context while it lives.
pub(crate) struct Listener<'c> {
    context: &'c Context,
    /// Boxed, because LLVM holds its address.
    error: Box<RefCell<Option<String>>>,
}

impl<'c> Listener<'c> {
    pub fn new(context: &'c Context) -> Listener<'c> {
        let error: Box<RefCell<Option<String>>> = Box::default();
        let place: *const RefCell<Option<String>> = &*error;
        // SAFETY: the context is live; the cell stays in its place until `Drop` takes the handler away.
        unsafe { LLVMContextSetDiagnosticHandler(context.raw(), Some(hear), place.cast_mut().cast()) };
        Listener { context, error }
    }

    /// Returns the first error so far, if there is one.
    pub fn heard(&self) -> Result<(), Error> {
        self.error.take().map_or(Ok(()), |what| Err(Error::Llvm(what)))
    }
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        // SAFETY: the context is live.
        unsafe { LLVMContextSetDiagnosticHandler(self.context.raw(), None, std::ptr::null_mut()) };
    }
}

extern "C" fn hear(said: LLVMDiagnosticInfoRef, place: *mut c_void) {
    // SAFETY: LLVM says something that is live, to the cell that its listener holds, on the thread that compiles.
    unsafe {
        if LLVMGetDiagInfoSeverity(said) != LLVMDiagnosticSeverity::LLVMDSError {
            return;
        }
        let text = LLVMGetDiagInfoDescription(said);
        let error = &*place.cast::<RefCell<Option<String>>>();
        error.borrow_mut().get_or_insert(CStr::from_ptr(text).to_string_lossy().into_owned());
        LLVMDisposeMessage(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::target::Machine;
    use inkwell::memory_buffer::MemoryBuffer;
    use inkwell::targets::FileType;

    /// The messages that the listener reports while this IR is optimized and compiled to an object.
    fn heard(ir: &str) -> Result<(), Error> {
        let context = Context::create();
        let listener = Listener::new(&context);
        let ir = MemoryBuffer::create_from_memory_range_copy(ir.as_bytes(), "ir");
        let module = context.create_module_from_ir(ir).unwrap();
        let machine = Machine::new(&Options::default()).unwrap();
        machine.optimize(&module, 1).unwrap();
        let _ = machine.write(&module, FileType::Object);
        listener.heard()
    }

    #[test]
    fn errors_are_heard_and_end_no_process() {
        let error =
            heard("define void @f() {\n call void asm sideeffect \"nonsense\", \"\"()\n ret void\n}\n").unwrap_err();
        assert!(error.to_string().contains("invalid instruction mnemonic"), "{error}");
        assert_eq!(heard("define void @f() {\n ret void\n}\n"), Ok(()));
    }
}
