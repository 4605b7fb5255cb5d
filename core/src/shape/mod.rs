//! Shapes: extents, how they are solved for, and index maps (the maps themselves are `notation::typed::Map`).
mod classes;

pub use classes::{ClassId, Classes};
