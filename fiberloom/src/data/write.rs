//! Writing: all files or none, and none by halves.
//!
//! Each tensor is written to a new file beside its target; when all are complete they are renamed into place. What a
//! reader finds under a target's name is the old file or the whole new one. On failure nothing stays behind.

use super::{Error, Fault, Kind, mtx, npy, npz};
use fiberloom_core::format::Tensor;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes the tensor to a file, by the extension of its name; a dense array may take `limit` bytes.
pub fn write(path: &Path, tensor: &Tensor, limit: u64) -> Result<(), Error> {
    write_all(&[(path, tensor)], limit)
}

/// Writes these bytes to a file, all of them or none.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let (pending, mut file) = Pending::beside(path).map_err(|e| Fault::io(e).within(path))?;
    let written = file.write_all(bytes).and_then(|()| pending.commit(path));
    written.map_err(|e| Fault::io(e).within(path))
}

/// Writes each tensor to its file: all of them, or none.
pub fn write_all(targets: &[(&Path, &Tensor)], limit: u64) -> Result<(), Error> {
    let mut pending = Vec::new();
    for (path, tensor) in targets {
        pending.push((Pending::written(path, tensor, limit)?, *path));
    }
    for (file, path) in pending {
        file.commit(path).map_err(|e| Fault::io(e).within(path))?;
    }
    Ok(())
}

/// A complete file under another name; removed when dropped.
struct Pending {
    path: Option<PathBuf>,
}

impl Pending {
    fn written(path: &Path, tensor: &Tensor, limit: u64) -> Result<Pending, Error> {
        let kind = Kind::of(path)?;
        let within = |fault: Fault| fault.within(path);
        let (pending, file) = Pending::beside(path).map_err(|e| within(Fault::io(e)))?;
        let mut out = BufWriter::with_capacity(1 << 18, file);
        match kind {
            Kind::Mtx => mtx::write(tensor, limit, &mut out),
            Kind::Npy => npy::write(tensor, limit, &mut out),
            Kind::Npz => npz::write(tensor, limit, &mut out),
        }
        .map_err(within)?;
        out.flush().map_err(|e| within(Fault::io(e)))?;
        Ok(pending)
    }

    /// A new file in the same directory, so that it can be renamed.
    fn beside(path: &Path) -> std::io::Result<(Pending, File)> {
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
                Ok(file) => return Ok((Pending { path: Some(other) }, file)),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
                Err(e) => return Err(e),
            }
        }
    }

    fn commit(mut self, target: &Path) -> std::io::Result<()> {
        match &self.path {
            Some(path) => std::fs::rename(path, target)?,
            None => return Ok(()),
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
