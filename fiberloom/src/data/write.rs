//! Writing: all files or none, and none by halves.
//!
//! Each tensor is written to a new file beside its target; when all are complete they are renamed into place. What a
//! reader finds under a target's name is the old file or the whole new one. On failure nothing stays behind.

use super::{Error, Fault, Kind, market, npy, npz, tns};
use fiberloom_core::format::Tensor;
use std::fs::File;
use std::io::{BufWriter, Cursor, Seek, Write};
use std::path::{Path, PathBuf};

/// Writes the tensor to a file, by the extension of its name; a dense array may take `limit` bytes.
///
/// # Errors
/// The file cannot be written, or its kind does not hold the tensor.
pub fn write(path: &Path, tensor: &Tensor, limit: u64) -> Result<(), Error> {
    write_all(&[(path, tensor)], limit)
}

/// Writes each tensor to its file: all of them, or none.
///
/// # Errors
/// As of [`write`]: the first.
pub fn write_all(targets: &[(&Path, &Tensor)], limit: u64) -> Result<(), Error> {
    let pending = targets.iter().map(|(path, tensor)| {
        let kind = Kind::of(path)?;
        Pending::written(path, |out| write_to(out, kind, tensor, limit))
    });
    commit(pending.collect::<Result<_, _>>()?)
}

/// The bytes of a file that holds the tensor; a dense array may take `limit` bytes. `name` is for messages.
///
/// # Errors
/// The kind of file does not hold the tensor.
pub fn to_bytes(name: &Path, kind: Kind, tensor: &Tensor, limit: u64) -> Result<Vec<u8>, Error> {
    let mut out = Cursor::new(Vec::new());
    write_to(&mut out, kind, tensor, limit).map_err(|fault| fault.within(name))?;
    Ok(out.into_inner())
}

fn write_to(out: &mut (impl Write + Seek), kind: Kind, tensor: &Tensor, limit: u64) -> Result<(), Fault> {
    match kind {
        Kind::Mtx => market::write_matrix(tensor, limit, out),
        Kind::Ttx => market::write_tensor(tensor, limit, out),
        Kind::Tns => tns::write(tensor, out),
        Kind::Npy => npy::write(tensor, limit, out),
        Kind::Npz => npz::write(tensor, limit, out),
    }
}

/// Writes these bytes to their files: all of them, or none.
///
/// # Errors
/// A file cannot be written: the first.
pub fn write_bytes(targets: &[(&Path, &[u8])]) -> Result<(), Error> {
    let pending =
        targets.iter().map(|(path, bytes)| Pending::written(path, |out| out.write_all(bytes).map_err(Fault::io)));
    commit(pending.collect::<Result<_, _>>()?)
}

fn commit(pending: Vec<Pending>) -> Result<(), Error> {
    pending.into_iter().try_for_each(Pending::commit)
}

/// A complete file under another name; removed when dropped.
struct Pending {
    path: Option<PathBuf>,
    target: PathBuf,
}

impl Pending {
    fn written(target: &Path, write: impl FnOnce(&mut BufWriter<File>) -> Result<(), Fault>) -> Result<Pending, Error> {
        let (pending, file) = Pending::beside(target).map_err(|e| Fault::io(e).within(target))?;
        let mut out = BufWriter::with_capacity(1 << 18, file);
        let written = write(&mut out).and_then(|()| out.flush().map_err(Fault::io));
        written.map_err(|fault| fault.within(target))?;
        Ok(pending)
    }

    /// A new file in the same directory, so that it can be renamed.
    fn beside(path: &Path) -> std::io::Result<(Pending, File)> {
        if path.is_dir() {
            // It could not be replaced; to find that when other files have been is too late.
            return Err(std::io::ErrorKind::IsADirectory.into());
        }
        let Some(name) = path.file_name() else {
            return Err(std::io::Error::other("the name of a file expected"));
        };
        let mut attempt = 0;
        loop {
            let mut hidden = std::ffi::OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}-{attempt}.part", std::process::id()));
            let other = path.with_file_name(hidden);
            match File::options().write(true).create_new(true).open(&other) {
                Ok(file) => return Ok((Pending { path: Some(other), target: path.to_path_buf() }, file)),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
                Err(e) => return Err(e),
            }
        }
    }

    fn commit(mut self) -> Result<(), Error> {
        if let Some(path) = &self.path {
            std::fs::rename(path, &self.target).map_err(|e| Fault::io(e).within(&self.target))?;
        }
        self.path = None;
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // There is nobody to tell: the failure that brought us here is being reported.
            let _ = std::fs::remove_file(path);
        }
    }
}
