//! Scalars and the built-in functions.

mod apply;
mod elementary;
mod op;
mod properties;
mod rust;
