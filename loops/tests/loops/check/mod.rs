//! What is checked of kernels.

mod shared;
