//! In a build without archives: they are refused.

use super::{Declared, Fault, Options};
use fiberloom_core::algebra::Type;
use fiberloom_core::format::Tensor;
use std::io::{Read, Seek, Write};

/// Refused.
pub(super) fn read(_: impl Read + Seek, _: &Declared, _: &Options) -> Result<Tensor<'static>, Fault> {
    Err(refused())
}

/// Refused.
pub(super) fn described(_: impl Read + Seek, _: &Options) -> Result<Type, Fault> {
    Err(refused())
}

/// Refused.
pub(super) fn write(_: &Tensor, _: u64, _: &mut (impl Write + Seek)) -> Result<(), Fault> {
    Err(refused())
}

fn refused() -> Fault {
    Fault::whole("this build does not have .npz archives: name a .mtx, .tns or .npy file")
}
