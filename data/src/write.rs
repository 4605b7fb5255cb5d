//! Writing: all files or none, and none by halves.
//!
//! ```text
//!  tensor ──▶ .fiberloom-PID-0.part ──all complete──▶ renamed into place ──one fails──▶ those before are put back
//!  tensor ──▶ bytes                 ──all complete──▶ written through, to a pipe or a device
//! ```
//!
//! What a reader finds under a target's name is the old file or the whole new one, with the old one's permissions. A link is followed:
//! the file that it leads to is the target. Only what went through a pipe or a device cannot be taken back.

use super::{Cause, Error, Fault, Kind, Place, is_packed, market, npy, npz, tns};
use fiberloom_core::format::Tensor;
use flate2::{Compression, write::GzEncoder};
use std::fs::{self, File};
use std::io::{self, BufWriter, Cursor, Seek, Write};
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
/// As of [`write()`]: the first.
pub fn write_all(targets: &[(&Path, &Tensor)], limit: u64) -> Result<(), Error> {
    write_together(targets, &[], limit)
}

/// The bytes of a file of this name that holds the tensor, packed by gzip if it ends in `.gz`; a dense array may take
/// `limit` bytes.
///
/// # Errors
/// The kind of file does not hold the tensor.
pub fn to_bytes(name: &Path, kind: Kind, tensor: &Tensor, limit: u64) -> Result<Vec<u8>, Error> {
    let mut out = Cursor::new(Vec::new());
    write_file(name, &mut out, kind, tensor, limit).map_err(|fault| fault.within(name))?;
    Ok(out.into_inner())
}

/// Whether a file of this name can hold a tensor of so many modes.
///
/// # Errors
/// No writer knows its extension, or that kind of file holds tensors of other numbers of modes.
pub fn holds(path: &Path, modes: usize) -> Result<(), Error> {
    let kind = Kind::of(path)?;
    fits(kind, modes).and_then(|()| packs(path, kind)).map_err(|fault| fault.within(path))
}

/// Whether a file of this name and kind can be packed by gzip, if its name says so.
fn packs(path: &Path, kind: Kind) -> Result<(), Fault> {
    if !(is_packed(path) && kind == Kind::Npz) {
        return Ok(());
    }
    let message = "a .npz file is packed as it is: write .npz";
    Err(Fault { cause: Cause::Extension, ..Fault::whole(message) })
}

fn fits(kind: Kind, modes: usize) -> Result<(), Fault> {
    let message = match (kind, modes) {
        (Kind::Mtx, 3..) => format!("a .mtx file holds up to two modes, not {modes}: write .ttx"),
        (Kind::Npz, 0) => "a .npz file holds one mode or more, and no scalar: write .npy".to_string(),
        _ => return Ok(()),
    };
    Err(Fault { place: Place::Whole, message, cause: Cause::Extension })
}

/// Writes what a file of this name holds.
fn write_file(name: &Path, out: &mut dyn Output, kind: Kind, tensor: &Tensor, limit: u64) -> Result<(), Fault> {
    packs(name, kind)?;
    if !is_packed(name) {
        return write_to(out, kind, tensor, limit);
    }
    let mut packer = GzEncoder::new(out, Compression::default());
    write_forward(&mut packer, kind, tensor, limit)?;
    packer.finish().map(drop).map_err(Fault::io)
}

fn write_to(mut out: &mut dyn Output, kind: Kind, tensor: &Tensor, limit: u64) -> Result<(), Fault> {
    match kind {
        Kind::Npz => fits(kind, tensor.extents.len()).and_then(|()| npz::write(tensor, limit, &mut out)),
        _ => write_forward(&mut out, kind, tensor, limit),
    }
}

/// Writes a file from its beginning to its end.
fn write_forward(out: &mut dyn Write, kind: Kind, tensor: &Tensor, limit: u64) -> Result<(), Fault> {
    fits(kind, tensor.extents.len())?;
    match kind {
        Kind::Mtx => market::write_matrix(tensor, limit, out),
        Kind::Ttx => market::write_tensor(tensor, limit, out),
        Kind::Tns => tns::write(tensor, out),
        Kind::Npy => npy::write(tensor, limit, out),
        Kind::Npz => unreachable!("an archive is written where one can seek"),
    }
}

/// Writes these bytes to their files: all of them, or none.
///
/// # Errors
/// A file cannot be written: the first.
pub fn write_bytes(targets: &[(&Path, &[u8])]) -> Result<(), Error> {
    let pending =
        targets.iter().map(|(path, bytes)| Pending::written(path, &|out| out.write_all(bytes).map_err(Fault::io)));
    commit(pending.collect::<Result<_, _>>()?)
}

/// Where a file is written to.
pub trait Output: Write + Seek + Send {}

impl<T: Write + Seek + Send> Output for T {}

/// Writes what a file will hold.
pub type Content<'c> = &'c dyn Fn(&mut dyn Output) -> Result<(), Fault>;

/// Writes tensors to their files, and to others what these functions write: all of them, or none.
///
/// # Errors
/// As of [`write()`]: the first.
pub fn write_together(tensors: &[(&Path, &Tensor)], others: &[(&Path, Content)], limit: u64) -> Result<(), Error> {
    let tensors = tensors.iter().map(|(path, tensor)| {
        let kind = Kind::of(path)?;
        Pending::written(path, &|out| write_file(path, out, kind, tensor, limit))
    });
    let others = others.iter().map(|(path, content)| Pending::written(path, content));
    commit(tensors.chain(others).collect::<Result<_, _>>()?)
}

/// The file that a path leads to, by whatever links and detours: what two spellings of one file have in common. A file that is not there
/// yet is one of its directory.
pub fn resolved(path: &Path) -> PathBuf {
    resolve(path).unwrap_or_else(|_| path.to_path_buf())
}

fn resolve(path: &Path) -> io::Result<PathBuf> {
    /// As many links in a row as Linux follows.
    const LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        if let Ok(found) = fs::canonicalize(&path) {
            return Ok(found);
        }
        let name = path.file_name().ok_or_else(|| io::Error::other("the name of a file expected"))?;
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let directory = fs::canonicalize(directory)?;
        match fs::read_link(&path) {
            // A link to a file that is not there yet.
            Ok(to) => path = directory.join(to),
            Err(_) => return Ok(directory.join(name)),
        }
    }
    Err(io::Error::other("too many links lead from one to the next"))
}

/// Puts all into their places, or none.
fn commit(pending: Vec<Pending>) -> Result<(), Error> {
    let (mut beside, through) = parted(pending);
    keep(&mut beside)?;
    through.iter().try_for_each(|(target, bytes)| target.write_through(bytes))?;
    replace(beside)
}

/// What becomes a file, and what is written through.
fn parted(pending: Vec<Pending>) -> (Vec<Beside>, Vec<(Target, Vec<u8>)>) {
    let (mut beside, mut through) = (vec![], vec![]);
    for Pending { target, complete } in pending {
        match complete {
            Complete::Part(part) => beside.push(Beside { target, part, old: None }),
            Complete::Bytes(bytes) => through.push((target, bytes)),
        }
    }
    (beside, through)
}

/// Keeps what is in their places: one file is put there in one step, or not.
fn keep(beside: &mut [Beside]) -> Result<(), Error> {
    if beside.len() > 1 { beside.iter_mut().try_for_each(Beside::keep_old) } else { Ok(()) }
}

fn replace(mut beside: Vec<Beside>) -> Result<(), Error> {
    for n in 0..beside.len() {
        let Beside { target, part, .. } = &mut beside[n];
        if let Err(failed) = part.rename(&target.path).map_err(|e| target.fault(e)) {
            beside[..n].iter_mut().for_each(Beside::put_back);
            return Err(failed);
        }
    }
    Ok(())
}

/// Where a file will be.
struct Target {
    /// As the caller wrote it, for messages.
    named: PathBuf,
    path: PathBuf,
}

/// What is complete, and not in its place yet.
struct Pending {
    target: Target,
    complete: Complete,
}

enum Complete {
    /// A file beside the target.
    Part(Part),
    /// For a pipe or a device.
    Bytes(Vec<u8>),
}

/// A file that becomes its target.
struct Beside {
    target: Target,
    part: Part,
    /// What is in its place, so that it can be put back.
    old: Option<Part>,
}

/// A file of another name, which goes away unless it is renamed.
struct Part(Option<PathBuf>);

impl Pending {
    fn written(named: &Path, write: Content) -> Result<Pending, Error> {
        let within = |fault: Fault| fault.within(named);
        let path = resolve(named).map_err(Fault::io).map_err(within)?;
        let complete = complete(&path, write).map_err(within)?;
        Ok(Pending { target: Target { named: named.to_path_buf(), path }, complete })
    }
}

impl Target {
    fn fault(&self, error: io::Error) -> Error {
        Fault::io(error).within(&self.named)
    }

    fn write_through(&self, bytes: &[u8]) -> Result<(), Error> {
        let written = File::options().write(true).open(&self.path).and_then(|mut file| file.write_all(bytes));
        written.map_err(|e| self.fault(e))
    }
}

impl Beside {
    /// Keeps what is in the target's place under another name, too.
    fn keep_old(&mut self) -> Result<(), Error> {
        let path = &self.target.path;
        if !path.exists() {
            return Ok(());
        }
        let kept = Part::named(path, |other| {
            fs::hard_link(path, other).or_else(|e| match e.kind() {
                io::ErrorKind::AlreadyExists => Err(e),
                // Not every file system has links, and not everybody may link to a file of somebody else's.
                _ => {
                    let mut copy = (File::create_new(other)?, Part(Some(other.to_path_buf())));
                    let mut old = File::open(path)?;
                    copy.0.set_permissions(old.metadata()?.permissions())?;
                    io::copy(&mut old, &mut copy.0)?;
                    copy.1.0 = None;
                    Ok(())
                }
            })
        });
        let (kept, ()) = kept.map_err(|e| self.target.fault(e))?;
        self.old = Some(kept);
        Ok(())
    }

    /// What was in the target's place; nobody is told if that fails, for a failure is being reported.
    fn put_back(&mut self) {
        let _ = match &mut self.old {
            Some(old) => old.rename(&self.target.path),
            None => fs::remove_file(&self.target.path),
        };
    }
}

/// What will be in a target's place.
fn complete(target: &Path, write: Content) -> Result<Complete, Fault> {
    let old = fs::metadata(target).ok();
    if old.as_ref().is_some_and(fs::Metadata::is_dir) {
        // It could not be replaced; to find that when other files have been is too late.
        return Err(Fault::io(io::ErrorKind::IsADirectory.into()));
    }
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        let mut out = Cursor::new(Vec::new());
        write(&mut out)?;
        return Ok(Complete::Bytes(out.into_inner()));
    }
    if old.is_some() {
        // Who may not write to it may not replace it.
        File::options().write(true).open(target).map_err(Fault::io)?;
    }
    let (part, file) =
        Part::named(target, |other| File::options().write(true).create_new(true).open(other)).map_err(Fault::io)?;
    if let Some(old) = old {
        file.set_permissions(old.permissions()).map_err(Fault::io)?;
    }
    let mut out = BufWriter::with_capacity(1 << 18, file);
    write(&mut out)?;
    out.flush().map_err(Fault::io)?;
    Ok(Complete::Part(part))
}

impl Part {
    /// What `make` makes of a name in the target's directory that is not taken, so that it can be renamed.
    fn named<T>(target: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(Part, T)> {
        let mut attempt = 0;
        loop {
            let other = target.with_file_name(format!(".fiberloom-{}-{attempt}.part", std::process::id()));
            match make(&other) {
                Ok(made) => return Ok((Part(Some(other)), made)),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
                Err(e) => return Err(e),
            }
        }
    }

    fn rename(&mut self, target: &Path) -> io::Result<()> {
        let Some(path) = &self.0 else { return Ok(()) };
        fs::rename(path, target)?;
        self.0 = None;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // There is nobody to tell.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fiberloom_core::algebra::{Type, Value};

    /// Writes a tensor to these files, and does `meanwhile` before they are put into their places.
    fn write_meanwhile(targets: &[&Path], tensor: &Tensor, meanwhile: impl FnOnce()) -> Result<(), Error> {
        let pending =
            targets.iter().map(|path| Pending::written(path, &|out| write_to(out, Kind::Npy, tensor, 1 << 20)));
        let (mut beside, _) = parted(pending.collect::<Result<_, _>>()?);
        keep(&mut beside)?;
        meanwhile();
        replace(beside)
    }

    /// A file that cannot be put into its place: what was put there before is taken back.
    #[cfg(unix)]
    #[test]
    fn what_was_replaced_is_put_back() {
        let dir = std::env::temp_dir().join(format!("fiberloom-put-back-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let t = Tensor::scalar(Value::one(Type::F64));
        let [old, new, gone] = ["old.npy", "new.npy", "gone.npy"].map(|name| dir.join(name));
        std::fs::write(&old, "old").unwrap();
        let targets = [&old, &new, &gone].map(|path| path.as_path());
        let a_directory = || std::fs::create_dir_all(gone.join("full")).unwrap();
        assert_eq!(write_meanwhile(&targets, &t, a_directory).unwrap_err().cause, Cause::Io);
        assert_eq!(std::fs::read(&old).unwrap(), b"old");
        assert!(!new.exists());
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 2);
        fs::remove_dir_all(&dir).unwrap();
    }
}
