//! A compiler for sparse and structured arrays.
pub mod builder;
pub mod data;
