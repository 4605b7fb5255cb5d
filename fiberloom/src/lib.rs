//! A compiler for sparse and structured arrays.
pub mod data;
