//! The C header of a kernel's object.

use fiberloom_core::loops::Kernel;

/// The name of the kernel's function in an object.
pub fn symbol(kernel: &Kernel) -> String {
    kernel.name.clone()
}

/// h
pub fn header(_kernel: &Kernel) -> String {
    String::new()
}
