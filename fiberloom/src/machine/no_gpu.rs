//! In a build without NVIDIA's driver: what is for a GPU is refused.

use super::Uploaded;
use crate::error::Error;
use fiberloom_loops::Gpu;
use fiberloom_semantics::ptx::Launcher;

/// A module on a GPU, of which there is none.
pub(crate) enum Loaded {}

/// What calls on the same operands share: nothing.
pub(crate) struct Operands;

/// Refused.
pub(crate) fn target() -> Result<Gpu, Error> {
    Err(Error::Device(
        "this build does not ask GPUs: the engine `ptx` runs the same code on this processor".to_string(),
    ))
}

/// Refused.
pub(crate) fn load(_: &str) -> Result<Loaded, Error> {
    Err(target().expect_err("there is none"))
}

impl Loaded {
    /// What calls on the same operands share.
    pub(crate) fn operands(&self, _: Vec<Uploaded>) -> Operands {
        match *self {}
    }

    /// The launches of one call.
    pub(crate) fn session(&self, _: &Operands) -> Box<dyn Launcher> {
        match *self {}
    }
}
