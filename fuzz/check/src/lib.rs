//! Generators, engines and comparisons: a plain library, so that fuzz targets are glue and `cargo test` runs it too.

pub mod loops;
