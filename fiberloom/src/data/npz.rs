//! SciPy's sparse matrices in `.npz` files: zip archives of `.npy` files.
//!
//! ```text
//!  format.npy  b'csr'      shape.npy  [rows, columns]     data.npy  the values
//!  csr, csc:  indptr.npy   indices.npy                    coo:  row.npy  col.npy
//! ```
//!
//! SciPy's matrices may be unsorted; that is put right. Duplicate entries are treated as the caller says. `bsr` and
//! `dia` matrices are refused: `matrix.tocsr()` converts them.

use super::import::{Contents, import};
use super::npy::{Npy, write_array, write_header};
use super::{Declared, Fault, Options, Place};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::counted;
use fiberloom_core::format::{Array, Assembly, Entries, Format, Level, Tensor};
use std::io::{Read, Seek, Write};
use zip::{CompressionMethod, ZipArchive, ZipWriter, result::ZipError, write::SimpleFileOptions};

/// The matrix that a `.npz` file holds, as declared.
pub(super) fn read(input: impl Read + Seek, declared: &Declared, options: &Options) -> Result<Tensor<'static>, Fault> {
    let mut archive = ZipArchive::new(input).map_err(|e| unzipped("not a zip archive", e))?;
    let limit = options.limit;
    let format = member(&mut archive, "format", text)?;
    let extents = shape(&member(&mut archive, "shape", |npy| indices(npy, limit))?)?;
    if declared.rank() != 2 {
        let modes = counted(declared.rank(), "mode", "modes");
        return Err(whole(format!("a matrix for a tensor that the program declares with {modes}")));
    }
    if !["coo", "csr", "csc"].contains(&&*format) {
        return Err(whole(format!("a matrix in SciPy's format `{format}`: save `matrix.tocsr()` instead")));
    }
    let values = member(&mut archive, "data", |npy| list(npy, declared.ty, limit))?;
    let mut column = |name: &str| member(&mut archive, name, |npy| indices(npy, limit));
    let coordinates = match &*format {
        "coo" => vec![column("row")?, column("col")?],
        _ => {
            let major = (format == "csc") as usize;
            let inner = column("indices")?;
            let outer = named("indptr", expand(&column("indptr")?, extents[major], inner.len()))?;
            if major == 0 { vec![outer, inner] } else { vec![inner, outer] }
        }
    };
    if let Some(column) = coordinates.iter().find(|c| c.len() != values.len()) {
        let coordinates = counted(column.len(), "coordinate", "coordinates");
        return Err(whole(format!("{coordinates} for {}", counted(values.len(), "value", "values"))));
    }
    let contents = Contents::Sparse { extents: extents.to_vec(), entries: Entries { coordinates, values } };
    import(contents, declared, options, &Place::Element)
}

fn whole(message: String) -> Fault {
    Fault::new(Place::Whole, message)
}

/// A fault in a member of the archive, named.
fn named<T>(member: &str, result: Result<T, Fault>) -> Result<T, Fault> {
    result.map_err(|fault| Fault { message: format!("in `{member}`: {}", fault.message), ..fault })
}

/// What the archive's own structure has to say.
fn unzipped(what: &str, error: ZipError) -> Fault {
    match error {
        ZipError::Io(e) => Fault::input(e),
        e => whole(format!("{what}: {e}")),
    }
}

/// What `read` makes of a member. It is unpacked while it is read.
fn member<T, A: Read + Seek>(
    archive: &mut ZipArchive<A>,
    name: &str,
    read: impl Fn(&mut Npy<&mut dyn Read>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let file = archive.by_name(&format!("{name}.npy"));
    let mut file =
        file.map_err(|e| unzipped(&format!("no readable member `{name}.npy` of a SciPy sparse matrix"), e))?;
    named(name, Npy::of(&mut file as &mut dyn Read).and_then(|mut npy| read(&mut npy)))
}

/// The text in a member that holds one string, of bytes or of Unicode.
fn text(npy: &mut Npy<&mut dyn Read>) -> Result<String, Fault> {
    if !npy.descr.contains(['S', 'U']) {
        return Err(whole(format!("expected a string, not type `{}`", npy.descr)));
    }
    // Of Unicode, each character takes four bytes; the names are ASCII, so what is not 0 is the name.
    let mut bytes = Vec::new();
    (&mut npy.data).take(400).read_to_end(&mut bytes).map_err(Fault::input)?;
    Ok(bytes.into_iter().filter(|b| *b != 0).take(40).map(char::from).collect())
}

fn shape(extents: &[i64]) -> Result<[u64; 2], Fault> {
    match *extents {
        [rows, columns] if rows >= 0 && columns >= 0 => Ok([rows as u64, columns as u64]),
        _ => Err(whole("in `shape`: expected the number of rows and of columns".to_string())),
    }
}

/// The elements of a member of one mode.
fn list(npy: &mut Npy<&mut dyn Read>, ty: Type, limit: u64) -> Result<Array<'static>, Fault> {
    match npy.shape.len() {
        1 => npy.array(ty, limit),
        modes => Err(whole(format!("an array of {modes} modes, one mode expected"))),
    }
}

fn indices(npy: &mut Npy<&mut dyn Read>, limit: u64) -> Result<Vec<i64>, Fault> {
    match list(npy, Type::I64, limit)? {
        Array::I64(v) => Ok(v.into_vec()),
        _ => unreachable!("asked for as i64"),
    }
}

/// The outer coordinate of each of `stored` entries.
fn expand(indptr: &[i64], extent: u64, stored: usize) -> Result<Vec<i64>, Fault> {
    if indptr.len() as u64 != extent.saturating_add(1) {
        return Err(whole(format!("{} elements, expected {extent} + 1", indptr.len())));
    }
    let mut outer = Vec::with_capacity(stored);
    for (i, w) in indptr.windows(2).enumerate() {
        if i == 0 && w[0] != 0 || w[1] < w[0] || w[1] > stored as i64 {
            let what = format!("{} behind {}: it begins with 0, never falls, and ends with {stored}", w[1], w[0]);
            return Err(Fault::new(Place::Element(i + 1), what));
        }
        outer.resize(w[1] as usize, i as i64);
    }
    if outer.len() != stored {
        return Err(whole(format!("it ends with {}, but there are {stored} entries", outer.len())));
    }
    Ok(outer)
}

/// Writes a matrix as SciPy's `save_npz` does: csc if it is stored so, else csr.
pub(super) fn write(tensor: &Tensor, limit: u64, out: impl Write + Seek) -> Result<(), Fault> {
    if tensor.fill != Value::zero(tensor.fill.ty()) {
        return Err(whole(format!("a .npz file cannot say that the fill value is {}: write .npy", tensor.fill)));
    }
    let csc = Format::named("csc", 2).filter(|f| *f == tensor.format);
    let name: &[u8] = if csc.is_some() { b"csc" } else { b"csr" };
    let format = csc.or_else(|| Format::named("csr", 2)).expect("exists at rank 2");
    let how = Assembly { limit, ..Assembly::default() };
    let mut matrix = tensor.borrow().convert(&format, &how).map_err(Fault::limit)?;
    let Some(Level::Compressed { pos, crd }) = matrix.levels.pop() else {
        unreachable!("the second level of csr and csc is compressed");
    };
    let mut zip = ZipWriter::new(out);
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).large_file(true);
    let mut add = |member: &str, write: &dyn Fn(&mut dyn Write) -> std::io::Result<()>| {
        zip.start_file(format!("{member}.npy"), options).map_err(std::io::Error::from)?;
        write(&mut zip)
    };
    let shape = Array::from_indices(Type::I64, &[matrix.extents[0] as i64, matrix.extents[1] as i64]);
    let shape = shape.expect("two integers");
    let mut write_all = || {
        add("indices", &|out| write_array(&crd, &[crd.len() as u64], out))?;
        add("indptr", &|out| write_array(&pos, &[pos.len() as u64], out))?;
        add("format", &|out| write_header("|S3", &[], out).and_then(|()| out.write_all(name)))?;
        add("shape", &|out| write_array(&shape, &[2], out))?;
        add("data", &|out| write_array(&matrix.values, &[matrix.values.len() as u64], out))
    };
    write_all().map_err(Fault::io)?;
    zip.finish().map_err(|e| Fault::io(e.into()))?;
    Ok(())
}
