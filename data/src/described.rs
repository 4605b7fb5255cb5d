//! What a file says of its tensor before it is read: for tensors that a program does not declare.

use super::npy::{Npy, element};
use super::text::Text;
use super::{Declared, Error, Fault, Kind, Options, Source, is_packed, market, npz, scalar, whole};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::Format;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;

/// The element type of a tensor that is not declared, and whether all of its elements are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described {
    /// That of the file's numbers, or the widest of their kind where the file does not say it: `f64` for real numbers, `i64`
    /// for integers, `f64` for a pattern.
    pub ty: Type,
    /// Whether the file lists every element.
    pub is_dense: bool,
}

impl Described {
    /// The format that a tensor of so many modes has where nothing else says it, as the language writes it.
    pub fn format(self, rank: usize) -> &'static str {
        match (self.is_dense, rank) {
            (true, _) | (_, 0) => "dense",
            (false, 1) => "sparse",
            (false, 2) => "csr",
            (false, _) => "csf",
        }
    }
}

impl Source<'_> {
    /// What it says of a tensor of so many modes. Of what is drawn, `f64`, and dense unless a share is said; of a
    /// number, what a literal of the language has.
    ///
    /// # Errors
    /// The file is not there, not readable, or its header is none.
    pub fn described(&self, rank: usize, options: &Options) -> Result<Described, Error> {
        match self {
            Source::Random(random) => Ok(Described { ty: Type::F64, is_dense: random.share >= 1.0 }),
            Source::Number(text) => Ok(Described { ty: scalar::ty(text), is_dense: true }),
            Source::Bytes(name, bytes) => of_file(name, Cursor::new(bytes), rank, options),
            Source::File(path) => {
                // A name that is no data file's is refused before the file is looked for.
                Kind::of(path)?;
                of_file(path, File::open(path).map_err(|e| Fault::io(e).within(path))?, rank, options)
            }
        }
    }
}

/// What is said by a file of this name.
fn of_file(name: &Path, file: impl Read + Seek, rank: usize, options: &Options) -> Result<Described, Error> {
    let described = match (is_packed(name), Kind::of(name)?) {
        (true, kind) => forward(kind, MultiGzDecoder::new(BufReader::new(file)), rank, options),
        (false, Kind::Npz) => archive(BufReader::new(file), options),
        (false, kind) => forward(kind, file, rank, options),
    };
    described.map_err(|fault| fault.within(name))
}

/// What a file says that is read from its beginning.
fn forward(kind: Kind, mut input: impl Read, rank: usize, options: &Options) -> Result<Described, Fault> {
    match kind {
        Kind::Npz => archive(Cursor::new(whole(&mut input, options.limit)?), options),
        Kind::Npy => Ok(Described { ty: Npy::of(BufReader::new(input))?.ty()?, is_dense: true }),
        Kind::Tns => Ok(Described { ty: Type::F64, is_dense: false }),
        Kind::Mtx | Kind::Ttx => {
            let (ty, format) = (Type::F64, Format::dense(rank));
            let declared = Declared { ty, extents: vec![None; rank], fill: Value::zero(ty), format: &format };
            market::described(Text::new(input, b'%')?, &declared, options)
        }
    }
}

fn archive(input: impl Read + Seek, options: &Options) -> Result<Described, Fault> {
    Ok(Described { ty: npz::described(input, options)?, is_dense: false })
}

impl<R: Read> Npy<R> {
    /// The type of its elements.
    pub(super) fn ty(&self) -> Result<Type, Fault> {
        element(&self.descr).map(|(ty, _)| ty).ok_or_else(|| self.other_elements())
    }
}
