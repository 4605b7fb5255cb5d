//! Writing `.npz` files as SciPy's `save_npz` does: a matrix as csc if it is stored so, else as csr; any other array as
//! coo with `coords`.

use crate::Fault;
use crate::npy::{write_array, write_header};
use fiberloom_core::algebra::Value;
use fiberloom_core::format::{Array, Assembly, Format, Level, Tensor};
use std::io::{Result, Seek, Write};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// Writes a tensor of one mode or more.
pub(crate) fn write(tensor: &Tensor, limit: u64, out: impl Write + Seek) -> std::result::Result<(), Fault> {
    if tensor.fill != Value::zero(tensor.fill.ty()) {
        let what = format!("a .npz file cannot say that the fill value is {}: write .npy", tensor.fill);
        return Err(Fault::whole(what));
    }
    if tensor.extents.len() == 2 { matrix(tensor, limit, out) } else { coo(tensor, out) }
}

fn matrix(tensor: &Tensor, limit: u64, out: impl Write + Seek) -> std::result::Result<(), Fault> {
    let csc = Format::named("csc", 2).filter(|f| *f == tensor.format);
    let name = if csc.is_some() { "csc" } else { "csr" };
    let format = csc.or_else(|| Format::named("csr", 2)).expect("exists at rank 2");
    let how = Assembly { limit, ..Assembly::default() };
    let mut matrix = tensor.borrow().convert(&format, &how)?;
    let Some(Level::Compressed { pos, crd }) = matrix.levels.pop() else {
        unreachable!("the second level of csr and csc is compressed");
    };
    let mut archive = Archive::of(out);
    archive.list("indices", &crd).map_err(Fault::io)?;
    archive.list("indptr", &pos).map_err(Fault::io)?;
    archive.end(name, &matrix.extents, &matrix.values).map_err(Fault::io)
}

fn coo(tensor: &Tensor, out: impl Write + Seek) -> std::result::Result<(), Fault> {
    let entries = tensor.stored_entries()?;
    let shape = [entries.coordinates.len() as u64, entries.len() as u64];
    let mut archive = Archive::of(out);
    let coords = |out: &mut dyn Write| {
        write_header("<i8", &shape, out)?;
        entries.coordinates.iter().flatten().try_for_each(|c| out.write_all(&c.to_le_bytes()))
    };
    archive.add("coords", &coords).map_err(Fault::io)?;
    // SciPy's matrices have two modes; its arrays have any number.
    archive.add("_is_array", &|out| write_array(&Array::of_bools(&[1]), &[], out)).map_err(Fault::io)?;
    archive.end("coo", &tensor.extents, &entries.values).map_err(Fault::io)
}

/// An archive to which members are added.
struct Archive<W: Write + Seek>(ZipWriter<W>);

impl<W: Write + Seek> Archive<W> {
    fn of(out: W) -> Archive<W> {
        Archive(ZipWriter::new(out))
    }

    fn add(&mut self, member: &str, write: &dyn Fn(&mut dyn Write) -> Result<()>) -> Result<()> {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).large_file(true);
        self.0.start_file(format!("{member}.npy"), options).map_err(std::io::Error::from)?;
        write(&mut self.0)
    }

    /// An array of one mode.
    fn list(&mut self, member: &str, array: &Array) -> Result<()> {
        self.add(member, &|out| write_array(array, &[array.len() as u64], out))
    }

    /// What every layout has, and the end of the archive.
    fn end(mut self, format: &str, extents: &[u64], values: &Array) -> Result<()> {
        let shape: Vec<i64> = extents.iter().map(|e| *e as i64).collect();
        let name = |out: &mut dyn Write| write_header("|S3", &[], out).and_then(|()| out.write_all(format.as_bytes()));
        self.add("format", &name)?;
        self.list("shape", &Array::from(shape))?;
        self.list("data", values)?;
        self.0.finish().map_err(std::io::Error::from)?;
        Ok(())
    }
}
