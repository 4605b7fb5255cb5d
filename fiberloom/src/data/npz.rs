//! SciPy's sparse matrices in `.npz` files: zip archives of `.npy` files.
//!
//! ```text
//!  format.npy  b'csr'      shape.npy  [rows, columns]     data.npy  the values
//!  csr, csc:  indptr.npy   indices.npy                    coo:  row.npy  col.npy
//! ```
//!
//! SciPy's matrices may be unsorted; that is put right. Duplicate entries are treated as the caller says. `bsr` and
//! `dia` matrices are refused: `matrix.tocsr()` converts them.

use super::import::{Contents, cast, import};
use super::npy::{Npy, write_array, write_header};
use super::{Cause, Declared, Fault, Options, Place};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Array, Assembly, Entries, Format, Level, Tensor};
use std::io::{Cursor, Read, Seek, Write};
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

type Archive<'b> = ZipArchive<Cursor<&'b [u8]>>;

/// The matrix that a `.npz` file holds, as declared.
pub(super) fn read(bytes: &[u8], declared: &Declared, options: &Options) -> Result<Tensor<'static>, Fault> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| whole(format!("not a zip archive: {e}")))?;
    let mut member = |name: &str| member(&mut archive, name, options.limit);
    let format = text(&member("format")?)?;
    let extents = shape(&member("shape")?)?;
    if declared.rank != 2 {
        return Err(whole(format!("a matrix for a tensor that the program declares with {} modes", declared.rank)));
    }
    let values = named("data", Npy::of(&member("data")?).and_then(|npy| cast(npy.array()?, declared.ty)))?;
    let mut column = |name: &str| named(name, Npy::of(&member(name)?).and_then(|npy| indices(npy.array()?)));
    let coordinates = match &*format {
        "coo" => vec![column("row")?, column("col")?],
        "csr" | "csc" => {
            let major = (format == "csc") as usize;
            let inner = column("indices")?;
            let outer = named("indptr", expand(&column("indptr")?, extents[major], inner.len()))?;
            if major == 0 { vec![outer, inner] } else { vec![inner, outer] }
        }
        _ => return Err(whole(format!("a matrix in SciPy's format `{format}`: save `matrix.tocsr()` instead"))),
    };
    if let Some(column) = coordinates.iter().find(|c| c.len() != values.len()) {
        return Err(whole(format!("{} coordinates for {} values", column.len(), values.len())));
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

/// The bytes of a member; what unpacks to more than the limit is refused while it is unpacked.
fn member(archive: &mut Archive, name: &str, limit: u64) -> Result<Vec<u8>, Fault> {
    let file = archive.by_name(&format!("{name}.npy"));
    let file = file.map_err(|e| whole(format!("no readable member `{name}.npy` of a SciPy sparse matrix: {e}")))?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| whole(format!("in `{name}`: {e}")))?;
    if bytes.len() as u64 > limit {
        let message = format!("`{name}` unpacks to more than the limit of {limit} bytes");
        return Err(Fault { cause: Cause::Limit, ..whole(message) });
    }
    Ok(bytes)
}

/// The text in a member that holds one string, of bytes or of Unicode.
fn text(bytes: &[u8]) -> Result<String, Fault> {
    let npy = named("format", Npy::of(bytes))?;
    if !npy.descr.contains(['S', 'U']) {
        return Err(whole(format!("in `format`: expected a string, not type `{}`", npy.descr)));
    }
    // Of Unicode, each character takes four bytes; the names are ASCII, so what is not 0 is the name.
    Ok(npy.data.iter().filter(|b| **b != 0).take(40).map(|b| *b as char).collect())
}

fn shape(bytes: &[u8]) -> Result<[u64; 2], Fault> {
    let extents = named("shape", Npy::of(bytes).and_then(|npy| indices(npy.array()?)))?;
    match *extents {
        [rows, columns] if rows >= 0 && columns >= 0 => Ok([rows as u64, columns as u64]),
        _ => Err(whole("in `shape`: expected the number of rows and of columns".to_string())),
    }
}

fn indices(array: Array<'static>) -> Result<Vec<i64>, Fault> {
    match cast(array, Type::I64)? {
        Array::I64(v) => Ok(v.into_owned()),
        _ => unreachable!("cast to i64"),
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
    if tensor.extents.len() != 2 {
        return Err(whole(format!("a .npz file holds a matrix, not {} modes: write .npy", tensor.extents.len())));
    }
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
