//! In a build without NVIDIA's driver: what is for a GPU is refused.

use super::Uploaded;
use crate::error::Error;
use fiberloom_loops::{DeviceEntry, Gpu};
use fiberloom_semantics::machine::Ended;
use fiberloom_semantics::ptx::{Counts, Global, Launch, Launcher};

/// A module on a GPU, of which there is none.
pub(crate) enum Loaded {}

/// Operands in a GPU's memory, of which there are none.
pub(crate) enum Operands {}

/// The launches of one call, of which there are none.
pub(crate) enum Session {}

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
    pub(crate) fn session(&self, _: &Operands) -> Session {
        match *self {}
    }
}

impl Launcher for Session {
    fn launch(&self, _: &DeviceEntry, _: &Launch, _: &mut Global) -> Result<Counts, Ended> {
        match *self {}
    }

    fn did(&self, _: &Counts) -> Vec<(&'static str, u64)> {
        match *self {}
    }
}
