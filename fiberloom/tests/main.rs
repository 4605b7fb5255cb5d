//! The library and the command line, from outside: one program, which is linked once.

mod address_space;
mod assembled;
mod batches;
mod batches_of_keys;
mod builder;
mod c;
mod command_line;
mod device;
mod device_loops;
mod games;
mod gathers;
mod graphs;
mod growth;
mod images;
mod interrupt;
mod levels;
mod library;
mod memory;
mod nvptx;
mod parts;
mod pieces;
mod quotients;
mod refused;
mod relations;
mod scalars;
mod shards;
mod small_stack;
mod table;
mod table_files;
mod tpch;
mod undeclared;
mod uneven;
mod workspaces;

/// Whether tests try all that there is: `cargo xtask test --long`.
fn all_is_tried() -> bool {
    std::env::var("FIBERLOOM_TESTS").is_ok_and(|effort| effort == "long")
}
