//! Loads objects as callable code: a small shim over LLVM's LLJIT.
//!
//! An object may refer to the few functions of [`symbols`], which LLVM's code generator introduces by itself; any other
//! unresolved symbol is an error here, not a jump to nowhere later. Each [`Code`] has a linker of its own, so that dropping it
//! frees its pages.
#![allow(unsafe_code)] // LLVM's C API.

use crate::Error;
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::*;
use inkwell::llvm_sys::orc2::*;
use std::ffi::{CStr, CString};
use std::ptr::NonNull;

/// Machine code in executable memory.
pub(crate) struct Code {
    jit: LLVMOrcLLJITRef,
    entry: NonNull<()>,
}

// SAFETY: after loading, a `Code` is only read, but for its `Drop`, which has it to itself; the JIT's own state is
// guarded by its session's lock, and nothing in it is bound to the thread that made it.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Code {
    /// Links the object and finds the function `name` in it.
    pub fn load(object: &[u8], name: &str) -> Result<Code, Error> {
        let name = CString::new(name).map_err(|_| Error::Llvm("a function's name holds a NUL".into()))?;
        let mut jit = std::ptr::null_mut();
        // SAFETY: a null builder stands for the defaults; `jit` is set unless there is an error.
        done(unsafe { LLVMOrcCreateLLJIT(&mut jit, std::ptr::null_mut()) })?;
        // From here on, dropping `code` disposes of the JIT.
        let mut code = Code { jit, entry: NonNull::dangling() };
        let mut address = 0;
        // SAFETY: `jit` is live; the object is copied, and the JIT owns the copy; the symbols' names are interned in this
        // JIT, and the materialization unit takes them over.
        unsafe {
            let library = LLVMOrcLLJITGetMainJITDylib(jit);
            done(LLVMOrcJITDylibDefine(library, LLVMOrcAbsoluteSymbols(pairs(jit).as_mut_ptr(), symbols().len())))?;
            let copy = inkwell::llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy(
                object.as_ptr().cast(),
                object.len(),
                c"kernel".as_ptr(),
            );
            done(LLVMOrcLLJITAddObjectFile(jit, library, copy))?;
            done(LLVMOrcLLJITLookup(jit, &mut address, name.as_ptr()))?;
        }
        code.entry = NonNull::new(address as usize as *mut ()).ok_or(Error::Llvm("a function at address 0".into()))?;
        Ok(code)
    }

    /// The address of the function, valid while `self` lives.
    pub fn entry(&self) -> *const () {
        self.entry.as_ptr()
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: `jit` is live and nobody uses it any more. There is nobody to tell of an error, and nothing to be done.
        let _ = done(unsafe { LLVMOrcDisposeLLJIT(self.jit) });
    }
}

/// The functions that LLVM's code generator may call by itself: memory intrinsics from the C library, and roundings, for CPUs without an
/// instruction for them, from the library that all engines use.
fn symbols() -> [(&'static CStr, *const ()); 13] {
    [
        (c"memcpy", libc::memcpy as *const ()),
        (c"memmove", libc::memmove as *const ()),
        (c"memset", libc::memset as *const ()),
        (c"floor", floor as *const ()),
        (c"floorf", floorf as *const ()),
        (c"ceil", ceil as *const ()),
        (c"ceilf", ceilf as *const ()),
        (c"roundeven", roundeven as *const ()),
        (c"roundevenf", roundevenf as *const ()),
        (c"rint", roundeven as *const ()),
        (c"rintf", roundevenf as *const ()),
        (c"sqrt", sqrt as *const ()),
        (c"sqrtf", sqrtf as *const ()),
    ]
}

macro_rules! from_libm {
    ($($name:ident = $libm:ident on $ty:ty;)*) => { $(extern "C" fn $name(x: $ty) -> $ty { libm::$libm(x) })* };
}

from_libm! {
    floor = floor on f64;
    floorf = floorf on f32;
    ceil = ceil on f64;
    ceilf = ceilf on f32;
    roundeven = rint on f64;
    roundevenf = rintf on f32;
    sqrt = sqrt on f64;
    sqrtf = sqrtf on f32;
}

/// The table of [`symbols`] in LLVM's form.
///
/// # Safety
/// `jit` is live. Each name holds a reference in its string pool, which the caller passes on.
unsafe fn pairs(jit: LLVMOrcLLJITRef) -> Vec<LLVMOrcCSymbolMapPair> {
    let exported = LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsExported as u8
        | LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsCallable as u8;
    let pair = |(name, address): (&CStr, *const ())| LLVMOrcCSymbolMapPair {
        // SAFETY: by this function's contract.
        Name: unsafe { LLVMOrcLLJITMangleAndIntern(jit, name.as_ptr()) },
        Sym: LLVMJITEvaluatedSymbol {
            Address: address as usize as u64,
            Flags: LLVMJITSymbolFlags { GenericFlags: exported, TargetFlags: 0 },
        },
    };
    symbols().into_iter().map(pair).collect()
}

/// The message of an error, if there is one.
fn done(error: LLVMErrorRef) -> Result<(), Error> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: the error is taken over by the first call, the message by the last.
    unsafe {
        let message = LLVMGetErrorMessage(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Err(Error::Llvm(text))
    }
}
