//! A driver of a GPU that is not there: the functions of NVIDIA's driver that the engine `nvptx` calls, on the machine for PTX.
//!
//! ```text
//!  engine ──cudarc──▶ libcuda.so, which is this ──▶ semantics::ptx: what is allocated, copied and launched is checked
//! ```
//!
//! A program finds it where it looks for libraries, under the name `libcuda.so`. What it is comes from the environment:
//! `FIBERLOOM_DRIVER_LOG`, a file to which each call that moves data or launches adds a line; `FIBERLOOM_DRIVER_MEMORY`, the bytes of its
//! memory; `FIBERLOOM_DRIVER_CAPABILITY`, such as `8.0`; `FIBERLOOM_DRIVER_FAILS`, a function's name that fails from then on.
//!
//! Whoever breaks a rule of the machine for PTX gets the error of an illegal address, and the rule on standard error.

#![allow(unsafe_code, non_snake_case, missing_docs, clippy::missing_safety_doc)]

use fiberloom_semantics::ptx::{Buffer, Global, Launch, Limits, Module};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A result: 0, or the number of an error.
type Status = c_int;

const OK: Status = 0;
const INVALID: Status = 1;
const OUT_OF_MEMORY: Status = 2;
const NO_DEVICE: Status = 100;
const INVALID_PTX: Status = 218;
const NOT_FOUND: Status = 500;
const ILLEGAL_ADDRESS: Status = 700;

/// The attributes that are asked for.
const MAJOR: c_int = 75;
const MINOR: c_int = 76;

/// What the driver holds. Handles are places in these lists, from 1.
struct State {
    global: Global,
    modules: Vec<Option<Module>>,
    /// Of each function its module and name.
    functions: Vec<(usize, String)>,
}

static STATE: Mutex<State> = Mutex::new(State { global: Global::new(), modules: vec![], functions: vec![] });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn setting(name: &str) -> Option<String> {
    std::env::var(format!("FIBERLOOM_DRIVER_{name}")).ok()
}

/// Adds a line to the log, and says whether the function is to work.
fn called(function: &str, what: &str) -> bool {
    if let Some(path) = setting("LOG")
        && let Ok(mut log) = std::fs::OpenOptions::new().create(true).append(true).open(path)
    {
        let _ = writeln!(log, "{function} {what}");
    }
    setting("FAILS").is_none_or(|fails| fails != function)
}

fn memory() -> usize {
    setting("MEMORY").and_then(|bytes| bytes.parse().ok()).unwrap_or(1 << 30)
}

fn used(state: &State) -> usize {
    state.global.buffers().iter().map(|buffer| buffer.bytes().len()).sum()
}

/// # Safety
/// `to` is the caller's, or null.
unsafe fn give<T>(to: *mut T, value: T) -> Status {
    if to.is_null() {
        return INVALID;
    }
    // SAFETY: by the contract.
    unsafe { to.write(value) };
    OK
}

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(_: c_uint) -> Status {
    if called("cuInit", "") { OK } else { NO_DEVICE }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> Status {
    // SAFETY: the caller's pointer.
    if ordinal == 0 { unsafe { give(device, 0) } } else { INVALID }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut usize, _: c_int) -> Status {
    // SAFETY: the caller's pointer.
    unsafe { give(context, 1) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(_: c_int) -> Status {
    OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _: c_int) -> Status {
    let capability = setting("CAPABILITY").unwrap_or_else(|| "9.0".to_string());
    let (major, minor) = capability.split_once('.').unwrap_or((&capability, "0"));
    let number = |text: &str| text.parse().unwrap_or(0);
    let said = match attribute {
        MAJOR => number(major),
        MINOR => number(minor),
        _ => 0,
    };
    // SAFETY: the caller's pointer.
    unsafe { give(value, said) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCurrent(context: *mut usize) -> Status {
    // SAFETY: the caller's pointer.
    unsafe { give(context, 1) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(_: usize) -> Status {
    OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(module: *mut usize, image: *const c_char) -> Status {
    // SAFETY: the image is a text that ends with 0.
    let text = unsafe { CStr::from_ptr(image) }.to_string_lossy().into_owned();
    if !called("cuModuleLoadData", "") {
        return INVALID_PTX;
    }
    match Module::read(&text) {
        Ok(read) => {
            let mut state = state();
            state.modules.push(Some(read));
            // SAFETY: the caller's pointer.
            unsafe { give(module, state.modules.len()) }
        }
        Err(refused) => {
            eprintln!("driver: {refused}");
            INVALID_PTX
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: usize) -> Status {
    match module.checked_sub(1).and_then(|at| state().modules.get_mut(at).map(Option::take)) {
        Some(Some(_)) => OK,
        _ => INVALID,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) -> Status {
    // SAFETY: the name ends with 0.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let mut state = state();
    let known = state.modules.get(module.wrapping_sub(1)).and_then(Option::as_ref);
    if !known.is_some_and(|module| module.entries().any(|entry| entry == name)) {
        return NOT_FOUND;
    }
    state.functions.push((module - 1, name));
    // SAFETY: the caller's pointer.
    unsafe { give(function, state.functions.len()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> Status {
    let mut state = state();
    if bytes == 0 {
        return INVALID;
    }
    if !called("cuMemAlloc", &bytes.to_string()) || used(&state) + bytes > memory() {
        return OUT_OF_MEMORY;
    }
    let made = state.global.add(Buffer::unset("memory", 1, bytes as u64));
    // SAFETY: the caller's pointer.
    unsafe { give(address, made) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: u64) -> Status {
    let mut state = state();
    let Some(at) = state.global.begins(address) else { return INVALID };
    let freed = &mut state.global.buffers_mut()[at];
    let was = freed.is_empty();
    called("cuMemFree", &freed.len().to_string());
    *freed = Buffer::unset("memory that was freed", 1, 0);
    if was { INVALID } else { OK }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Status {
    let left = memory().saturating_sub(used(&state()));
    // SAFETY: the caller's pointers.
    unsafe { give(free, left) + give(total, memory()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoDAsync_v2(to: u64, from: *const u8, bytes: usize, _: usize) -> Status {
    let mut state = state();
    let here = state.global.begins(to).filter(|at| state.global.buffers()[*at].bytes().len() >= bytes);
    let Some(at) = here.filter(|_| called("cuMemcpyHtoD", &bytes.to_string())) else { return INVALID };
    // SAFETY: so many bytes are the caller's.
    state.global.buffers_mut()[at].fill(unsafe { std::slice::from_raw_parts(from, bytes) });
    OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoHAsync_v2(to: *mut u8, from: u64, bytes: usize, _: usize) -> Status {
    let state = state();
    let here = state.global.begins(from).filter(|at| state.global.buffers()[*at].bytes().len() >= bytes);
    let Some(at) = here.filter(|_| called("cuMemcpyDtoH", &bytes.to_string())) else { return INVALID };
    // SAFETY: so many bytes are the caller's, and none of them is the driver's.
    unsafe { std::ptr::copy_nonoverlapping(state.global.buffers()[at].bytes().as_ptr(), to, bytes) };
    OK
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn cuLaunchKernel(
    function: usize,
    blocks: c_uint,
    blocks_y: c_uint,
    blocks_z: c_uint,
    threads: c_uint,
    threads_y: c_uint,
    threads_z: c_uint,
    _: c_uint,
    _: usize,
    arguments: *const *const u64,
    _: *const c_void,
) -> Status {
    let mut state = state();
    let State { global, modules, functions } = &mut *state;
    let Some((module, entry)) = functions.get(function.wrapping_sub(1)) else { return INVALID };
    let Some(module) = &modules[*module] else { return INVALID };
    if (blocks_y, blocks_z, threads_y, threads_z) != (1, 1, 1, 1) {
        return INVALID;
    }
    if !called("cuLaunchKernel", entry) {
        return ILLEGAL_ADDRESS;
    }
    let count = module.arguments(entry).unwrap_or(0);
    // SAFETY: there is the address of a word for each argument that the entry has.
    let words: Vec<u64> = (0..count).map(|n| unsafe { **arguments.add(n) }).collect();
    let launch = Launch { entry, blocks, threads, arguments: &words };
    match module.run(&launch, global, &Limits::default()) {
        Ok(_) => OK,
        Err(fault) => {
            eprintln!("driver: {fault}");
            ILLEGAL_ADDRESS
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(_: usize) -> Status {
    OK
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(_: usize, _: usize, _: c_uint) -> Status {
    OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(event: *mut usize, _: c_uint) -> Status {
    // SAFETY: the caller's pointer.
    unsafe { give(event, 1) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(_: usize, _: usize) -> Status {
    OK
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(_: usize) -> Status {
    OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime(milliseconds: *mut f32, _: usize, _: usize) -> Status {
    // SAFETY: the caller's pointer.
    unsafe { give(milliseconds, 0.25) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(_: usize) -> Status {
    OK
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(error: Status, name: *mut *const c_char) -> Status {
    let said = match error {
        OUT_OF_MEMORY => c"CUDA_ERROR_OUT_OF_MEMORY",
        NO_DEVICE => c"CUDA_ERROR_NO_DEVICE",
        INVALID_PTX => c"CUDA_ERROR_INVALID_PTX",
        NOT_FOUND => c"CUDA_ERROR_NOT_FOUND",
        ILLEGAL_ADDRESS => c"CUDA_ERROR_ILLEGAL_ADDRESS",
        _ => c"CUDA_ERROR_INVALID_VALUE",
    };
    // SAFETY: the caller's pointer; the text lives on.
    unsafe { give(name, said.as_ptr()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(error: Status, what: *mut *const c_char) -> Status {
    let said = match error {
        OUT_OF_MEMORY => c"out of memory",
        NO_DEVICE => c"no CUDA-capable device is detected",
        INVALID_PTX => c"a PTX JIT compilation failed",
        NOT_FOUND => c"named symbol not found",
        ILLEGAL_ADDRESS => c"an illegal memory access was encountered",
        _ => c"invalid argument",
    };
    // SAFETY: the caller's pointer; the text lives on.
    unsafe { give(what, said.as_ptr()) }
}
