//! Tensors in files: readers and writers.
//!
//! ```text
//!             market, tns, npy, npz                                 import
//!  bytes ──────────────────────────▶ Contents ──────────────────────────────────────────▶ Tensor (checked)
//!             as the file says                  values exact in the declared type, rank as
//!                                               declared, stored in the declared format
//! ```
//!
//! | extension | holds | read | written |
//! |---|---|---|---|
//! | `.mtx` | Matrix Market | coordinate and array; real, integer, pattern; general, symmetric, skew-symmetric, hermitian | up to two modes |
//! | `.ttx` | TACO's extension of it to any number of modes | the same | any tensor |
//! | `.tns` | FROSTT's list of entries | with extents or, if something else says them, without | whose fill value is 0 |
//! | `.npy` | one NumPy array | versions 1 to 3, both orders, both byte orders | any tensor, made dense |
//! | `.npz` | a sparse array of SciPy or of PyData/Sparse | csr, csc, coo, bsr, dia; coo and gcxs of any number of modes | from one mode on, whose fill value is 0 |
//!
//! Behind each may stand `.gz`: the same, packed by gzip.
//!
//! Files are read through buffers, and what a file claims is believed only as far as its bytes go: memory grows with
//! what has been read, never for a header's sake, and not beyond [`Options::limit`]. Every rejection is an [`Error`]
//! that names the file and the place. `docs/data.md` is the page for users.
mod combine;
mod described;
pub mod error;
mod generate;
mod import;
mod market;
pub mod npy;
#[cfg(feature = "archives")]
mod npz;
#[cfg(not(feature = "archives"))]
#[path = "npz/absent.rs"]
mod npz;
pub mod number;
mod pieces;
mod scalar;
mod text;
mod tns;
pub mod write;

pub use combine::Combine;
pub use described::Described;
pub use generate::{Random, generate};
pub use import::exact;
pub use write::{holds, resolved, to_bytes, write, write_all, write_bytes};

use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Duplicates, Format, Tensor, room};
use flate2::read::MultiGzDecoder;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;

/// What a program says of a tensor that a file is to hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared<'a> {
    /// Its element type.
    pub ty: Type,
    /// What is known of its extents: one a mode. Only files that say none need them.
    pub extents: Vec<Option<u64>>,
    /// The value of what a sparse file does not name.
    pub fill: Value,
    /// How it is stored.
    pub format: &'a Format,
}

impl Declared<'_> {
    /// How many modes it has.
    pub fn rank(&self) -> usize {
        self.extents.len()
    }
}

/// A function that is told extents.
pub type Told<'f> = &'f (dyn Fn(&[u64]) + Sync);

/// What the caller of a reader chooses.
#[derive(Clone, Copy)]
pub struct Options<'f> {
    /// Entries at equal coordinates.
    pub duplicates: Duplicates<'f>,
    /// The most bytes that one tensor may take.
    pub limit: u64,
    /// Is told the extents of a list of entries, where nothing says some of them, and they are those of the largest coordinates. Without
    /// it such a list is refused.
    pub largest: Option<Told<'f>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { duplicates: Duplicates::Reject, limit: 1 << 40, largest: None }
    }
}

/// Why a file is not read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The file.
    pub file: String,
    /// Where in it: of a file packed by gzip, in what it holds.
    pub place: Place,
    /// What is wrong, and what was expected.
    pub message: String,
    /// What kind of failure it is.
    pub cause: Cause,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    Whole,
    /// Line and column of a text, from 1.
    Line(usize, usize),
    /// An offset in bytes, from 0.
    Byte(usize),
    /// An element of the data by number, from 0.
    Element(usize),
    /// A row of a table, from 1, its header not counted, and the name of a column.
    Cell {
        /// The row.
        row: usize,
        /// The column.
        column: String,
    },
}

/// Kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The operating system's.
    Io,
    /// The data are malformed, or not as declared.
    Rejected,
    /// The data say no extents, and nothing else does.
    Extents,
    /// Two entries have the same coordinates, and are not to be combined.
    Twice,
    /// The tensor is larger than the limit allows.
    Limit,
    /// No reader or writer knows the extension, or what has it holds no such tensor.
    Extension,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:", self.file)?;
        match &self.place {
            Place::Whole => {}
            Place::Line(line, column) => write!(f, "{line}:{column}:")?,
            Place::Byte(at) => write!(f, " byte {at}:")?,
            Place::Element(e) => write!(f, " element {e}:")?,
            Place::Cell { row, column } => write!(f, " row {row}, column {column}:")?,
        }
        write!(f, " {}", self.message)
    }
}

impl std::error::Error for Error {}

/// What is wrong, before it is known in which file.
#[derive(Debug)]
pub struct Fault {
    /// Where in the file.
    pub place: Place,
    /// What is wrong, and what was expected.
    pub message: String,
    /// What kind of failure it is.
    pub cause: Cause,
}

impl Fault {
    /// A fault of the data, which are rejected.
    pub fn new(place: Place, message: impl Into<String>) -> Fault {
        Fault { place, message: message.into(), cause: Cause::Rejected }
    }

    /// A fault of the file as a whole.
    pub fn whole(message: impl Into<String>) -> Fault {
        Fault::new(Place::Whole, message)
    }

    /// What the system says of a file.
    pub fn io(error: std::io::Error) -> Fault {
        Fault { place: Place::Whole, message: error.to_string(), cause: Cause::Io }
    }

    /// A failure to read: the system's if it says so; else the data cannot be unpacked.
    pub fn input(error: std::io::Error) -> Fault {
        match error.raw_os_error() {
            Some(_) => Fault::io(error),
            None => Fault::whole(format!("damaged: {error}")),
        }
    }

    /// The data, or the tensor, take more than the limit.
    pub fn over(limit: u64) -> Fault {
        let message = format!("the data take more than the limit of {limit} bytes");
        Fault { cause: Cause::Limit, ..Fault::whole(message) }
    }

    /// The same fault in data before which so many elements stand.
    pub fn behind(self, elements: usize) -> Fault {
        match self.place {
            Place::Element(e) => Fault { place: Place::Element(e + elements), ..self },
            _ => self,
        }
    }

    /// The same fault at a place, if the data are at fault and nothing says where.
    pub fn at(self, place: impl FnOnce() -> Place) -> Fault {
        match (&self.place, self.cause) {
            (Place::Whole, Cause::Rejected) => Fault { place: place(), ..self },
            _ => self,
        }
    }

    /// The same fault in this file.
    pub fn within(self, file: &Path) -> Error {
        Error { file: file.display().to_string(), place: self.place, message: self.message, cause: self.cause }
    }
}

/// A kind of file, by its extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Matrix Market.
    Mtx,
    /// Matrix Market, of any number of modes.
    Ttx,
    /// FROSTT.
    Tns,
    /// A NumPy array.
    Npy,
    /// A sparse array of SciPy or of PyData/Sparse.
    Npz,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 5] = [Kind::Mtx, Kind::Ttx, Kind::Tns, Kind::Npy, Kind::Npz];

    /// What the name of such a file ends in.
    pub fn extension(self) -> &'static str {
        ["mtx", "ttx", "tns", "npy", "npz"][self as usize]
    }

    /// The kind of file that the extension of `path` says, before `.gz` if it ends so.
    ///
    /// # Errors
    /// It says none.
    pub fn of(path: &Path) -> Result<Kind, Error> {
        let unpacked = if is_packed(path) { path.with_extension("") } else { path.to_path_buf() };
        let extension = unpacked.extension().and_then(|e| e.to_str());
        Kind::ALL.into_iter().find(|kind| extension == Some(kind.extension())).ok_or_else(|| {
            let message =
                "the name of a data file ends in .mtx, .ttx, .tns, .npy or .npz, and may have .gz behind that";
            Fault { cause: Cause::Extension, ..Fault::whole(message) }.within(path)
        })
    }
}

/// Whether the name of a file says that gzip has packed it: it ends in `.gz`.
pub fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "gz")
}

/// Where an operand comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source<'a> {
    /// A file.
    File(&'a Path),
    /// The bytes of a file of this name, which need not be there.
    Bytes(&'a Path, &'a [u8]),
    /// Nowhere: it is drawn.
    Random(Random),
    /// A number in words, a scalar: `0.5`, `-inf`, `true`.
    Number(&'a str),
}

/// The bytes of a file that is read on several threads.
const LONG: u64 = 1 << 20;

impl<'a> Source<'a> {
    /// What a command line names: data that are drawn if it is `random` or begins with `random:`, a scalar if it is a number or
    /// a truth value, else a file.
    ///
    /// # Errors
    /// The text of what is drawn is none.
    pub fn of(named: &'a Path) -> Result<Source<'a>, Error> {
        match named.to_str() {
            Some(text) if Random::is_meant(text) => match text.parse() {
                Ok(random) => Ok(Source::Random(random)),
                Err(what) => Err(Fault { cause: Cause::Extension, ..Fault::whole(what) }.within(named)),
            },
            Some(text) if scalar::is_meant(text) => Ok(Source::Number(text)),
            _ => Ok(Source::File(named)),
        }
    }

    /// The extent that a number is, if it is one.
    pub fn extent(&self) -> Option<u64> {
        match self {
            Source::Number(text) => text.parse().ok().filter(|n| *n <= i64::MAX as u64),
            Source::File(_) | Source::Bytes(..) | Source::Random(_) => None,
        }
    }

    /// Whether it is a file of so many bytes that reading it on several threads may pay.
    pub fn is_long(&self) -> bool {
        match self {
            Source::File(path) => std::fs::metadata(path).is_ok_and(|file| file.len() >= LONG),
            Source::Bytes(_, bytes) => bytes.len() as u64 >= LONG,
            Source::Random(_) | Source::Number(_) => false,
        }
    }

    /// The tensor that is there.
    ///
    /// # Errors
    /// As of [`read`] and [`generate`]; a number that is no value of the declared type, or is given for a tensor with modes.
    pub fn tensor(&self, declared: &Declared, options: &Options) -> Result<Tensor<'static>, Error> {
        match self {
            Source::File(path) => read(path, declared, options),
            Source::Bytes(name, bytes) => read_bytes(name, Kind::of(name)?, bytes, declared, options),
            Source::Random(random) => generate(random, declared, options),
            Source::Number(text) => scalar::tensor(text, declared).map_err(|fault| fault.within(Path::new(text))),
        }
    }
}

/// Reads the tensor in a file, by the extension of its name.
///
/// # Errors
/// The file is not there or not readable, the data are not as declared, or they take more than the limit.
pub fn read(path: &Path, declared: &Declared, options: &Options) -> Result<Tensor<'static>, Error> {
    let kind = Kind::of(path)?;
    let file = std::fs::File::open(path).map_err(|e| Fault::io(e).within(path))?;
    read_file(path, kind, file, declared, options).map_err(|fault| fault.within(path))
}

/// Reads the tensor in the bytes of a file of this name, which are packed by gzip if it ends in `.gz`.
///
/// # Errors
/// As of [`read`].
pub fn read_bytes(
    name: &Path,
    kind: Kind,
    bytes: &[u8],
    declared: &Declared,
    options: &Options,
) -> Result<Tensor<'static>, Error> {
    read_file(name, kind, Cursor::new(bytes), declared, options).map_err(|fault| fault.within(name))
}

/// Reads what is in a file of this name.
fn read_file(
    name: &Path,
    kind: Kind,
    file: impl Read + Seek + Send,
    declared: &Declared,
    options: &Options,
) -> Result<Tensor<'static>, Fault> {
    match kind {
        _ if is_packed(name) => read_forward(kind, MultiGzDecoder::new(BufReader::new(file)), declared, options),
        // A text is read through a buffer of its own.
        Kind::Npz => npz::read(BufReader::with_capacity(1 << 16, file), declared, options),
        _ => read_forward(kind, file, declared, options),
    }
}

/// Reads a file from its beginning. Nothing of it is kept, but of an archive, which is read from its end.
fn read_forward(
    kind: Kind,
    mut input: impl Read + Send,
    declared: &Declared,
    options: &Options,
) -> Result<Tensor<'static>, Fault> {
    match kind {
        Kind::Npz => {
            let archive = whole(&mut input, options.limit)?;
            npz::read(Cursor::new(archive), declared, options)
        }
        Kind::Npy => npy::read(BufReader::with_capacity(1 << 16, input), declared, options),
        Kind::Tns => tns::read(input, declared, options),
        Kind::Mtx | Kind::Ttx => market::read(input, declared, options),
    }
}

/// All that is read, at most `limit` bytes.
pub fn whole(input: &mut impl Read, limit: u64) -> Result<Vec<u8>, Fault> {
    const CHUNK: usize = 1 << 16;
    let mut all = Vec::new();
    loop {
        room::more(&mut all, CHUNK)?;
        let got = input.by_ref().take(CHUNK as u64).read_to_end(&mut all).map_err(Fault::input)?;
        match got {
            0 => return Ok(all),
            _ if all.len() as u64 > limit => return Err(Fault::over(limit)),
            _ => {}
        }
    }
}
