//! Tensors in files: readers and writers. `docs/data.md` is the page for users.

pub use fiberloom_data::{
    Cause, Combine, Declared, Described, Error, Kind, Options, Place, Random, Source, Told, exact, generate, holds,
    read, read_bytes, resolved, to_bytes, write, write_all, write_bytes,
};
