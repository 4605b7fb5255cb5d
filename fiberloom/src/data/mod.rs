//! Tensors in files: readers and writers.
//!
//! ```text
//!             mtx, npy, npz                                 import
//!  bytes ────────────────────▶ Contents ──────────────────────────────────────────▶ Tensor (checked)
//!             as the file says          values exact in the declared type, rank as
//!                                       declared, stored in the declared format
//! ```
//!
//! | extension | holds | read | written |
//! |---|---|---|---|
//! | `.mtx` | Matrix Market | coordinate and array; real, integer, pattern; general, symmetric, skew-symmetric, hermitian | up to two modes |
//! | `.npy` | one NumPy array | versions 1 to 3, both orders, both byte orders | any tensor, made dense |
//! | `.npz` | a SciPy sparse matrix | csr, csc, coo | matrices whose fill value is 0 |
//!
//! What a file claims is believed only as far as its bytes go: nothing is allocated for a header's sake. Every
//! rejection is an [`Error`] that names the file and the place.
mod import;
mod mtx;
mod npy;
mod npz;
#[cfg(test)]
mod tests;
mod write;

pub use import::{exact, stored_format};
pub use write::{write, write_all, write_bytes};

use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Duplicates, Format, Tensor};
use std::path::Path;

/// What a program says of a tensor that a file is to hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared<'a> {
    /// Its element type.
    pub ty: Type,
    /// How many modes it has.
    pub rank: usize,
    /// The value of what a sparse file does not name.
    pub fill: Value,
    /// How it is stored.
    pub format: &'a Format,
}

/// What the caller of a reader chooses.
#[derive(Clone, Copy)]
pub struct Options<'f> {
    /// Entries at equal coordinates.
    pub duplicates: Duplicates<'f>,
    /// The most bytes that one tensor may take.
    pub limit: u64,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { duplicates: Duplicates::Reject, limit: 1 << 40 }
    }
}

/// Why a file is not read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The file.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// What is wrong, and what was expected.
    pub message: String,
    /// What kind of failure it is.
    pub cause: Cause,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    Whole,
    /// Line and column of a text, from 1.
    Line(usize, usize),
    /// An offset in bytes, from 0.
    Byte(usize),
    /// An element of the data by number, from 0.
    Element(usize),
}

/// Kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The operating system's.
    Io,
    /// The data are malformed, or not as declared.
    Rejected,
    /// The tensor is larger than the limit allows.
    Limit,
    /// No reader or writer knows the extension.
    Extension,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:", self.file)?;
        match self.place {
            Place::Whole => {}
            Place::Line(line, column) => write!(f, "{line}:{column}:")?,
            Place::Byte(at) => write!(f, " byte {at}:")?,
            Place::Element(e) => write!(f, " element {e}:")?,
        }
        write!(f, " {}", self.message)
    }
}

impl std::error::Error for Error {}

/// What is wrong, before it is known in which file.
#[derive(Debug)]
struct Fault {
    place: Place,
    message: String,
    cause: Cause,
}

impl Fault {
    fn new(place: Place, message: impl Into<String>) -> Fault {
        Fault { place, message: message.into(), cause: Cause::Rejected }
    }

    fn io(error: std::io::Error) -> Fault {
        Fault { place: Place::Whole, message: error.to_string(), cause: Cause::Io }
    }

    fn within(self, file: &Path) -> Error {
        Error { file: file.display().to_string(), place: self.place, message: self.message, cause: self.cause }
    }
}

/// A kind of file, by its extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Matrix Market.
    Mtx,
    /// A NumPy array.
    Npy,
    /// A SciPy sparse matrix.
    Npz,
}

impl Kind {
    /// The kind of file that the extension of `path` says.
    pub fn of(path: &Path) -> Result<Kind, Error> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("mtx") => Ok(Kind::Mtx),
            Some("npy") => Ok(Kind::Npy),
            Some("npz") => Ok(Kind::Npz),
            _ => {
                let message = "the name of a data file ends in .mtx, .npy or .npz".to_string();
                Err(Fault { place: Place::Whole, message, cause: Cause::Extension }.within(path))
            }
        }
    }
}

/// Reads the tensor in a file, by the extension of its name.
pub fn read(path: &Path, declared: &Declared, options: &Options) -> Result<Tensor<'static>, Error> {
    let kind = Kind::of(path)?;
    let bytes = std::fs::read(path).map_err(|e| Fault::io(e).within(path))?;
    read_bytes(path, kind, &bytes, declared, options)
}

/// Reads the tensor in the bytes of a file; `name` is for messages.
pub fn read_bytes(
    name: &Path,
    kind: Kind,
    bytes: &[u8],
    declared: &Declared,
    options: &Options,
) -> Result<Tensor<'static>, Error> {
    let read = match kind {
        Kind::Mtx => mtx::read(bytes, declared, options),
        Kind::Npy => npy::read(bytes, declared, options),
        Kind::Npz => npz::read(bytes, declared, options),
    };
    read.map_err(|fault| fault.within(name))
}
