//! In a build without LLVM: whatever takes machine code is refused, and the other engines run.

use crate::error::Error;
use fiberloom_core::format::Array;
use fiberloom_core::notation::typed;
use fiberloom_core::shape::Classes;
use fiberloom_loops::{Bound, BufferId, DeviceEntry, Failure, Gpu, Kernel, Sound};
use std::marker::PhantomData;

/// Machine code, of which there is none.
pub(crate) enum Compiled {}

/// What machine code would be called with.
pub(crate) type Prepared<'a> = PhantomData<&'a Compiled>;

/// Asks a call of machine code to end.
#[derive(Debug)]
pub enum Interrupt {}

/// Takes an array that a call made.
pub(crate) type Take<'t> = &'t mut dyn FnMut(BufferId) -> Array<'static>;

/// The addresses that are left to this process, where the system limits them: nothing asks.
pub fn addresses_left() -> Option<u64> {
    None
}

/// Says on how many threads machine code runs.
pub fn set_threads(_: usize) {}

/// On how many threads machine code runs.
pub fn threads() -> usize {
    1
}

/// Does the work where the caller is: there is no pool.
pub(crate) fn on_pool<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// A parallel loop that machine code ran, of which there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum LoopRun {}

/// Calls kernels; no parallel loop runs.
pub fn watched<R>(call: impl FnOnce() -> R) -> (R, Vec<LoopRun>) {
    (call(), vec![])
}

/// Refuses what takes machine code.
pub(crate) fn is_there() -> Result<(), Error> {
    Err(absent())
}

/// The addresses that making machine code takes.
pub(crate) fn room(_: &Kernel) -> u64 {
    0
}

/// Refused.
pub(crate) fn compile(_: &Sound) -> Result<Compiled, Error> {
    Err(absent())
}

/// What machine code would be called with.
pub(crate) fn prepare<'a>(compiled: &Compiled, _: &Bound<'a>) -> Prepared<'a> {
    match *compiled {}
}

/// One call, which cannot be.
///
/// # Safety
/// Nothing is called.
#[allow(unsafe_code)]
pub(crate) unsafe fn run<R>(
    compiled: &Compiled,
    _: &Prepared,
    _: (u64, Option<&Interrupt>),
    _: impl FnOnce(Take) -> R,
) -> Result<Option<R>, Failure> {
    match *compiled {}
}

/// Refused.
pub(crate) fn llvm_ir(_: &Kernel) -> Result<String, Error> {
    Err(absent())
}

/// Refused.
pub(crate) fn assembly(_: &Kernel) -> Result<String, Error> {
    Err(absent())
}

/// Refused.
pub(crate) fn object(_: &Kernel, _: &typed::Program, _: &Classes) -> Result<(Vec<u8>, String), Error> {
    Err(absent())
}

/// Refused.
pub(crate) fn device_code(_: &Kernel, _: Gpu) -> Result<(String, Vec<DeviceEntry>), Error> {
    Err(absent())
}

/// Refused.
pub(crate) fn ptx(_: &Kernel, _: Gpu) -> Result<String, Error> {
    Err(absent())
}

/// Refused.
pub(crate) fn device_files(_: &Kernel, _: Gpu) -> Result<(Vec<u8>, String), Error> {
    Err(absent())
}

fn absent() -> Error {
    let what = "this build makes no machine code (it is without LLVM): the engines `loops` and `meaning` are there";
    Error::Call(what.to_string())
}
