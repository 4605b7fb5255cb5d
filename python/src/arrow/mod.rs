//! Tables through Arrow's C stream interface: https://arrow.apache.org/docs/format/CStreamInterface.html
//!
//! ```text
//!  object.__arrow_c_stream__() ──capsule──▶ abi::Stream ──Batches──▶ schema: form, arrays held until it is dropped
//!                                                            │ column, by name, when a program wants it
//!                                                            ▼
//!  capsule ◀──write── Frame                         relation::Column: borrowed from one chunk, else one copy
//! ```
//!
//! ```text
//!  abi.rs      the three structures, each released once
//!  form.rs     what a format string says
//!  part.rs     an array of one chunk: its buffers, its nulls
//!  read.rs     chunks become a column
//!  text.rs     the same of texts
//!  write.rs    a frame becomes a stream of one chunk
//! ```
//!
//! Invariant: whatever the structures say themselves is looked at before it is believed: null pointers, numbers of buffers and children,
//! lengths, offsets, places in dictionaries, texts. How long buffers are is not said, but for those of views: a producer whose buffers are
//! shorter than its arrays' lengths, or that changes them, breaks the interface, and nothing here can tell.

mod abi;
mod form;
mod part;
mod read;
mod text;
mod write;

pub use abi::Stream;
pub use read::Batches;
pub use write::{schema, stream};

/// Names of the capsules that hold structures.
pub const STREAM: &std::ffi::CStr = c"arrow_array_stream";
/// The same of a schema.
pub const SCHEMA: &std::ffi::CStr = c"arrow_schema";
