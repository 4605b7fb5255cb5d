//! Shapes: extents, how they are solved for, and index maps (the maps themselves are `notation::typed::Map`).
