//! Sparse arrays in `.npz` files, of SciPy and of PyData/Sparse: zip archives of `.npy` files.
//!
//! ```text
//!  format.npy  'csr'      shape.npy  an extent a mode     data.npy  the values     fill_value.npy  PyData/Sparse's
//!  csr, csc   indptr.npy  indices.npy                     coo   coords.npy, or of a matrix row.npy and col.npy
//!  bsr        the same, of blocks: data has three modes   dia   offsets.npy, a row of data for each
//!  gcxs       the same, of modes taken together, the outer ones as compressed_axes.npy says
//! ```
//!
//! Entries may be unsorted; that is put right. Duplicate entries are treated as the caller says. Of blocks and diagonals
//! what is bit-identical to the fill value is not stored: there everything has a place.
mod layout;
mod write;

use super::import::{Contents, import};
use super::npy::Npy;
use super::{Declared, Fault, Options, Place};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::counted;
use fiberloom_core::format::{Array, Entries, room};
use layout::Laid;
use std::io::{Read, Seek};
use zip::{ZipArchive, result::ZipError};

pub(super) use write::write;

/// The array that a `.npz` file holds, as declared.
pub(super) fn read(
    input: impl Read + Seek,
    declared: &Declared,
    options: &Options,
) -> Result<fiberloom_core::format::Tensor<'static>, Fault> {
    let mut archive = Archive::of(input, declared.ty, options.limit)?;
    let format = archive.member("format", text)?;
    let extents = archive.shape()?;
    if declared.rank() != extents.len() {
        let (modes, declared) = (counted(extents.len(), "mode", "modes"), declared.rank());
        return Err(Fault::whole(format!(
            "an array of {modes} for a tensor that the program declares with {declared}"
        )));
    }
    let Laid { mut coordinates, mut values, of } = archive.laid(&format, &extents, declared.fill)?;
    if let Some(column) = coordinates.iter().find(|c| c.len() != values.len()) {
        let coordinates = counted(column.len(), "coordinate", "coordinates");
        return Err(Fault::whole(format!("{coordinates} for {}", counted(values.len(), "value", "values"))));
    }
    if let Some(fill) = archive.other_fill(declared.fill)? {
        let everywhere = extents.iter().fold(1u128, |n, e| n.saturating_mul(*e as u128));
        match (everywhere, values.len()) {
            // A scalar has one value; where it is the fill value, nothing else says it.
            (1, 0) => {
                values = Array::collected(declared.ty, [fill])?;
                coordinates = vec![vec![0]; extents.len()];
            }
            // The fill value stands nowhere.
            (all, stored) if all == stored as u128 => {}
            _ => {
                let what = format!("the array's fill value is {fill}, and the program declares {}", declared.fill);
                return Err(Fault::whole(format!("in `fill_value`: {what}: declare the tensor with `fill {fill}`")));
            }
        }
    }
    let contents = Contents::Sparse { extents, entries: Entries { coordinates, values } };
    import(contents, declared, options, &|e| Place::Element(of.as_ref().map_or(e, |of| of[e])))
}

/// The element type of the array that an archive holds.
pub(super) fn described(input: impl Read + Seek, options: &Options) -> Result<Type, Fault> {
    Archive::of(input, Type::F64, options.limit)?.member("data", |npy| npy.ty())
}

/// An archive of arrays, whose values become ones of a type.
struct Archive<R> {
    zip: ZipArchive<R>,
    ty: Type,
    limit: u64,
}

impl<R: Read + Seek> Archive<R> {
    fn of(input: R, ty: Type, limit: u64) -> Result<Archive<R>, Fault> {
        let zip = ZipArchive::new(input).map_err(|e| unzipped("not a zip archive", e))?;
        if zip.has_duplicate_names() {
            return Err(Fault::whole("two members of the archive have one name"));
        }
        Ok(Archive { zip, ty, limit })
    }

    fn has(&self, member: &str) -> bool {
        self.zip.index_for_name(&format!("{member}.npy")).is_some()
    }

    /// What `read` makes of a member. It is unpacked while it is read.
    fn member<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Npy<&mut dyn Read>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let file = self.zip.by_name(&format!("{name}.npy"));
        let mut file = file.map_err(|e| {
            unzipped(&format!("no readable member `{name}.npy` of a sparse array of SciPy or PyData"), e)
        })?;
        named(name, Npy::of(&mut file as &mut dyn Read).and_then(|mut npy| read(&mut npy)))
    }

    /// The extents of the array.
    fn shape(&mut self) -> Result<Vec<u64>, Fault> {
        let extents = self.indices("shape")?;
        let wrong = |e: usize| named("shape", Err(Fault::new(Place::Element(e), format!("the extent {}", extents[e]))));
        match extents.iter().position(|e| *e < 0) {
            Some(e) => wrong(e),
            None => Ok(extents.iter().map(|e| *e as u64).collect()),
        }
    }

    /// A member of one mode that holds positions, coordinates or extents.
    fn indices(&mut self, name: &str) -> Result<Vec<i64>, Fault> {
        self.grid(name, 1, Type::I64)?.indices(name)
    }

    /// A member of so many modes, of numbers of a type.
    fn grid(&mut self, name: &str, modes: usize, ty: Type) -> Result<Grid, Fault> {
        let limit = self.limit;
        self.member(name, |npy| match npy.shape.len() {
            n if n == modes => {
                let (extents, first_fastest) = (npy.shape.clone(), npy.first_fastest);
                Ok(Grid { values: npy.array(ty, limit)?, extents, first_fastest })
            }
            n => Err(Fault::whole(format!("an array of {}, expected {modes}", counted(n, "mode", "modes")))),
        })
    }

    /// The array's fill value, if the file says one that is not this.
    fn other_fill(&mut self, declared: Value) -> Result<Option<Value>, Fault> {
        if !self.has("fill_value") {
            return Ok(None);
        }
        let fill = self.grid("fill_value", 0, self.ty)?.values.get(0);
        let same = fill == declared || fill.is_nan() && declared.is_nan() || !fill.is_true() && !declared.is_true();
        Ok((!same).then_some(fill))
    }
}

/// A dense array as a member holds it.
struct Grid {
    /// In the order of the file.
    values: Array<'static>,
    extents: Vec<u64>,
    first_fastest: bool,
}

impl Grid {
    /// How many coordinates a mode has: as many as elements were read.
    fn extent(&self, mode: usize) -> usize {
        self.extents[mode] as usize
    }

    /// The number in the file of the element at these coordinates.
    fn element(&self, at: &[usize]) -> usize {
        let next = |n: usize, (extent, c): (&u64, &usize)| n * *extent as usize + *c;
        let modes = self.extents.iter().zip(at);
        if self.first_fastest { modes.rev().fold(0, next) } else { modes.fold(0, next) }
    }

    /// The elements as positions or coordinates.
    fn indices(self, name: &str) -> Result<Vec<i64>, Fault> {
        match self.values {
            Array::I64(v) => Ok(v.into_vec()),
            other => Err(Fault::whole(format!("in `{name}`: numbers of type {}, i64 expected", other.ty()))),
        }
    }

    /// Those of the values that stand at these numbers.
    fn picked(&self, elements: &[usize]) -> Result<Array<'static>, Fault> {
        let bytes = elements.len() as u128 * self.values.ty().bytes() as u128;
        Ok(self.values.gather(elements).ok_or(fiberloom_core::format::Error::Memory { bytes })?)
    }
}

/// A fault in a member of the archive, named.
fn named<T>(member: &str, result: Result<T, Fault>) -> Result<T, Fault> {
    result.map_err(|fault| Fault { message: format!("in `{member}`: {}", fault.message), ..fault })
}

/// What the archive's own structure has to say.
fn unzipped(what: &str, error: ZipError) -> Fault {
    match error {
        ZipError::Io(e) => Fault::input(e),
        e => Fault::whole(format!("{what}: {e}")),
    }
}

/// The text in a member that holds one string, of bytes or of Unicode.
fn text(npy: &mut Npy<&mut dyn Read>) -> Result<String, Fault> {
    if !npy.descr.contains(['S', 'U']) {
        return Err(Fault::whole(format!("expected a string, not type `{}`", npy.descr)));
    }
    // Of Unicode, each character takes four bytes; the names are ASCII, so what is not 0 is the name.
    let mut bytes = room::room(400)?;
    (&mut npy.data).take(400).read_to_end(&mut bytes).map_err(Fault::input)?;
    Ok(bytes.into_iter().filter(|b| *b != 0).take(40).map(char::from).collect())
}
