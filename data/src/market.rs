//! Matrix Market files, and their extension to any number of modes.
//!
//! ```text
//!  %%MatrixMarket matrix coordinate real general       or: array; integer, pattern; symmetric, …
//!  % comments
//!  3 4 2                                               rows columns entries; of an array: rows columns
//!  1 2 5.0                                             an entry a line, coordinates from 1, in any order
//!  3 1 7.0
//!
//!  %%MatrixMarket tensor coordinate real general
//!  3 4 2 1                                             an extent a mode, and the number of entries if the file says it
//!  1 2 2 5.0
//! ```
//!
//! A symmetric file names one of (i, j) and (j, i), a skew-symmetric one too, whose other value is the negative and
//! whose diagonal is 0; hermitian real numbers are symmetric. An array lists its elements with the first mode's
//! coordinate running fastest: of a matrix one column after the other, of a symmetric one from the diagonal down, of a
//! skew-symmetric one from below it. A tensor of one mode is a matrix of one column, a scalar one of one row and one
//! column.

use super::described::Described;
use super::import::{Contents, import, inexact};
use super::number::{Number, Plain, integer};
use super::text::{Line, Listed, Text, extent};
use super::{Declared, Fault, Options, Place};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::counted;
use fiberloom_core::format::{Array, Assembly, Format, Tensor, room};
use std::io::{Read, Write};

#[derive(Clone, Copy, PartialEq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
}

struct Header {
    /// The extents of a tensor, not of a matrix.
    tensor: bool,
    coordinate: bool,
    /// How values are written; none are in a pattern.
    number: Option<Number>,
    /// The type of a tensor that is not declared.
    ty: Type,
    symmetry: Symmetry,
}

/// The line of extents.
struct Size {
    /// As the file has them: two of a matrix.
    extents: Vec<u64>,
    /// The number of entries, if the file says it.
    entries: Option<u64>,
}

/// What the header says of a tensor that is not declared.
pub(super) fn described(text: Text<impl Read>, declared: &Declared, options: &Options) -> Result<Described, Fault> {
    let header = Market { text, declared, options }.header()?;
    Ok(Described { ty: header.ty, is_dense: !header.coordinate })
}

/// The tensor that a Matrix Market file holds.
pub(super) fn read(input: impl Read + Send, declared: &Declared, options: &Options) -> Result<Tensor<'static>, Fault> {
    tensor(Text::new(input, b'%')?, declared, options)
}

/// The tensor that a text holds.
pub(super) fn tensor(
    text: Text<impl Read + Send>,
    declared: &Declared,
    options: &Options,
) -> Result<Tensor<'static>, Fault> {
    let mut market = Market { text, declared, options };
    let header = market.header()?;
    market.text.next_line()?;
    let size = market.size(&header)?;
    if header.coordinate { market.coordinates(&header, size) } else { market.array(&header, size) }
}

struct Market<'a, R> {
    text: Text<R>,
    declared: &'a Declared<'a>,
    options: &'a Options<'a>,
}

impl<R: Read> Market<'_, R> {
    fn header(&mut self) -> Result<Header, Fault> {
        let tensor = self.banner()?;
        let coordinate = self.choose("`coordinate` or `array`", |word| match word {
            "coordinate" => Some(true),
            "array" => Some(false),
            _ => None,
        })?;
        let numbers = match coordinate {
            true => "`real`, `integer` or `pattern`; there are no complex element types",
            false => "`real` or `integer`; there are no complex element types",
        };
        let (number, ty) = self.choose(numbers, |word| match word {
            "real" | "double" => Some((Some(Number::Real), Type::F64)),
            "integer" => Some((Some(Number::Integer), Type::I64)),
            "unsigned-integer" => Some((Some(Number::Integer), Type::U64)),
            "pattern" if coordinate => Some((None, Type::F64)),
            _ => None,
        })?;
        let rank = self.declared.rank();
        let symmetries = match (tensor && rank != 2, number) {
            (true, _) => "`general`: other symmetries are of matrices",
            (_, None) => "`general`, `symmetric` or `hermitian`",
            _ => "`general`, `symmetric`, `skew-symmetric` or `hermitian`",
        };
        let symmetry = self.choose(symmetries, |word| match word {
            "general" => Some(Symmetry::General),
            _ if tensor && rank != 2 => None,
            "symmetric" | "hermitian" => Some(Symmetry::Symmetric),
            "skew-symmetric" if number.is_some() => Some(Symmetry::Skew),
            _ => None,
        })?;
        self.text.end_of_line()?;
        Ok(Header { tensor, coordinate, number, ty, symmetry })
    }

    /// The first two words: whether the file says `tensor`, not `matrix`.
    fn banner(&mut self) -> Result<bool, Fault> {
        // Some writers put one `%` where the format has two.
        let banner = "`%%MatrixMarket matrix` or `%%MatrixMarket tensor`";
        self.choose(banner, |word| matches!(word, "%%matrixmarket" | "%matrixmarket").then_some(()))?;
        self.choose(banner, |word| match word {
            "matrix" => Some(false),
            "tensor" => Some(true),
            _ => None,
        })
    }

    /// What the next word of the header says, in capitals or not.
    fn choose<T>(&mut self, expected: &str, of: impl Fn(&str) -> Option<T>) -> Result<T, Fault> {
        let word = self.text.word()?;
        let lower: String = String::from_utf8_lossy(self.text.bytes(&word)).chars().take(40).collect();
        let lower = lower.to_lowercase();
        let refused =
            || self.text.fault(word.start, format!("`{}` in the header, expected {expected}", lower.escape_debug()));
        of(&lower).ok_or_else(refused)
    }

    /// The line of extents, which fit the declaration.
    fn size(&mut self, header: &Header) -> Result<Size, Fault> {
        let place = self.text.here();
        let size = if header.tensor { self.size_of_tensor(header)? } else { self.size_of_matrix(header)? };
        self.text.end_of_line()?;
        let square = header.symmetry == Symmetry::General || size.extents[0] == size.extents[1];
        if !square {
            let [rows, columns] = [size.extents[0], size.extents[1]];
            return Err(Fault::new(place, format!("a symmetric matrix is square, not {rows} by {columns}")));
        }
        let rank = self.declared.rank();
        let fits = match *size.extents {
            _ if size.extents.len() == rank => true,
            [rows, columns] => columns == 1 && (rank == 1 || rank == 0 && rows == 1),
            _ => false,
        };
        if !fits {
            let [rows, columns] = [size.extents[0], size.extents[1]];
            let modes = counted(rank, "mode", "modes");
            let what = format!("a matrix of {rows} by {columns} for a tensor declared with {modes}");
            return Err(Fault::new(place, what));
        }
        Ok(size)
    }

    fn size_of_matrix(&mut self, header: &Header) -> Result<Size, Fault> {
        let extents = vec![self.text.extent("the number of rows")?, self.text.extent("the number of columns")?];
        let entries = if header.coordinate { Some(self.text.extent("the number of entries")?) } else { None };
        Ok(Size { extents, entries })
    }

    fn size_of_tensor(&mut self, header: &Header) -> Result<Size, Fault> {
        let mut extents = Vec::new();
        for m in 0..self.declared.rank() {
            extents.push(self.text.extent(&format!("the extent of mode {m}"))?);
        }
        if !header.coordinate {
            return Ok(Size { extents, entries: None });
        }
        let word = self.text.word()?;
        let entries = match self.text.bytes(&word) {
            b"" => None,
            bytes => Some(extent(bytes).ok_or_else(|| self.text.expected(&word, "the number of entries, below 2^63"))?),
        };
        Ok(Size { extents, entries })
    }
}

impl<R: Read + Send> Market<'_, R> {
    fn coordinates(mut self, header: &Header, size: Size) -> Result<Tensor<'static>, Fault> {
        let (ty, text) = (self.declared.ty, &mut self.text);
        let mut listed = Listed::new(size.extents.len(), self.options.limit);
        let line = Line { extents: &size.extents, number: header.number, ty };
        if let Some(behind) = listed.rest(text, &line, size.entries.map(u128::from))? {
            let entries = counted(size.entries.unwrap_or(0), "entry", "entries");
            return Err(Fault::new(behind, format!("expected the file to end after its {entries}")));
        }
        if let Some(n) = size.entries.filter(|n| (listed.len() as u64) < *n) {
            let what = format!("the file ends after {} of {}", listed.len(), counted(n, "entry", "entries"));
            return Err(Fault::new(text.here(), what));
        }
        let of = mirror(header.symmetry, &mut listed, ty)?;
        if header.symmetry == Symmetry::Skew && (self.declared.fill.is_true() || self.declared.fill.is_nan()) {
            diagonal(size.extents[0], &mut listed, ty)?;
        }
        // A vector or a scalar is a matrix whose further coordinates are all the same.
        listed.coordinates.truncate(self.declared.rank());
        let extents = size.extents[..self.declared.rank()].to_vec();
        let (entries, place) = listed.entries(ty)?;
        let place = |e: usize| match header.symmetry {
            Symmetry::General => place(e),
            _ => of.get(e).map_or(Place::Whole, |e| place(*e)),
        };
        import(Contents::Sparse { extents, entries }, self.declared, self.options, &place)
    }

    fn array(mut self, header: &Header, size: Size) -> Result<Tensor<'static>, Fault> {
        let ty = self.declared.ty;
        let n = size.extents.first().copied().unwrap_or(0) as usize;
        // Whatever does not fit 128 bits is more than any file has.
        let count = match header.symmetry {
            Symmetry::General => size.extents.iter().fold(1u128, |n, e| n.saturating_mul(*e as u128)),
            Symmetry::Symmetric => n as u128 * (n as u128 + 1) / 2,
            Symmetry::Skew => n as u128 * (n as u128).saturating_sub(1) / 2,
        };
        let mut listed = self.elements(header, count)?;
        let values = match header.symmetry {
            Symmetry::General => std::mem::take(&mut listed.bits),
            // Now as many were there, so that n and its square are small.
            symmetry => square(n, symmetry, &listed, ty, self.options.limit)?,
        };
        let values = Array::collected(ty, values.into_iter().map(|bits| Value::from_bits(ty, bits)))?;
        let extents = size.extents[..self.declared.rank()].to_vec();
        let contents = Contents::Dense { extents, first_fastest: true, values };
        let place = |e: usize| match header.symmetry {
            Symmetry::General => listed.place(e),
            symmetry => in_triangle(n, symmetry, e % n, e / n).map_or(Place::Whole, |e| listed.place(e)),
        };
        import(contents, self.declared, self.options, &place)
    }

    /// So many values, one a line, then the end of the file.
    fn elements(&mut self, header: &Header, count: u128) -> Result<Listed, Fault> {
        let text = &mut self.text;
        let mut listed = Listed::new(0, self.options.limit);
        let line = Line { extents: &[], number: header.number, ty: self.declared.ty };
        if let Some(behind) = listed.rest(text, &line, Some(count))? {
            return Err(Fault::new(behind, format!("expected the file to end after {count} values")));
        }
        if (listed.len() as u128) < count {
            return Err(Fault::new(text.here(), format!("the file ends after {} of {count} values", listed.len())));
        }
        Ok(listed)
    }
}

/// Minus the value, if its type has it.
fn negated(value: Value) -> Option<Value> {
    match value.as_i128() {
        Some(x) => integer(-x, value.ty()),
        None => Some(Value::from_f64(value.ty(), -value.as_f64())),
    }
}

fn negative(value: Value) -> Result<Value, String> {
    negated(value).ok_or_else(|| {
        let text = value.as_i128().map_or_else(|| format!("-{value}"), |x| (-x).to_string());
        inexact(&text, value.ty())
    })
}

/// Puts the entries that a symmetric file leaves out behind their mirror images, and says in which entry of the file each stands; nothing
/// of one that leaves none out.
fn mirror(symmetry: Symmetry, listed: &mut Listed, ty: Type) -> Result<Vec<usize>, Fault> {
    let mut of = Vec::new();
    if symmetry == Symmetry::General {
        return Ok(of);
    }
    let [rows, columns] = [0, 1].map(|m| std::mem::take(&mut listed.coordinates[m]));
    let values = std::mem::take(&mut listed.bits);
    for (e, bits) in values.into_iter().enumerate() {
        let (r, c) = (rows[e], columns[e]);
        let value = Value::from_bits(ty, bits);
        if r == c && symmetry == Symmetry::Skew && value.is_true() {
            let what = "a value other than 0 on the diagonal of a skew-symmetric matrix";
            return Err(Fault::new(listed.place(e), what));
        }
        let mut put = |[r, c]: [i64; 2], bits: u64| {
            listed.room(1)?;
            listed.coordinates[0].push(r);
            listed.coordinates[1].push(c);
            listed.bits.push(bits);
            room::push(&mut of, e).map_err(Fault::from)
        };
        put([r, c], bits)?;
        if r != c {
            let other = match symmetry {
                Symmetry::Skew => negative(value),
                _ => Ok(value),
            };
            match other {
                Ok(other) => put([c, r], other.bits())?,
                Err(what) => return Err(Fault::new(listed.place(e), what)),
            }
        }
    }
    Ok(of)
}

/// Puts zeros where the diagonal of a skew-symmetric matrix is not listed.
fn diagonal(n: u64, listed: &mut Listed, ty: Type) -> Result<(), Fault> {
    let [rows, columns] = [0, 1].map(|m| listed.coordinates[m].iter());
    let mut said = room::collected(rows.zip(columns).filter(|(r, c)| r == c).map(|(r, _)| *r))?;
    said.sort_unstable();
    for i in (0..n as i64).filter(|i| said.binary_search(i).is_err()) {
        listed.room(1)?;
        listed.coordinates.iter_mut().for_each(|column| column.push(i));
        listed.bits.push(Value::zero(ty).bits());
    }
    Ok(())
}

/// The whole square matrix, a column after the other, of the triangle that the file lists.
fn square(n: usize, symmetry: Symmetry, listed: &Listed, ty: Type, limit: u64) -> Result<Vec<u64>, Fault> {
    let mut values = Vec::new();
    if 8 * (n as u128 * n as u128) > limit as u128 {
        return Err(Fault::over(limit));
    }
    room::more(&mut values, n * n)?;
    for (c, r) in (0..n).flat_map(|c| (0..n).map(move |r| (c, r))) {
        let value = match in_triangle(n, symmetry, r, c) {
            None => Value::zero(ty),
            Some(e) => {
                let value = Value::from_bits(ty, listed.bits[e]);
                let minus = symmetry == Symmetry::Skew && r < c;
                if minus { negative(value).map_err(|what| Fault::new(listed.place(e), what))? } else { value }
            }
        };
        values.push(value.bits());
    }
    Ok(values)
}

/// Which value of the file is that of a row and column, or of its mirror image: columns from the diagonal down, or from
/// below it, where it is none.
fn in_triangle(n: usize, symmetry: Symmetry, r: usize, c: usize) -> Option<usize> {
    let (column, row) = (r.min(c), r.max(c));
    let diagonal = (symmetry == Symmetry::Skew) as usize;
    let before = column * (n - diagonal) - column * column.saturating_sub(1) / 2;
    (row - column).checked_sub(diagonal).map(|below| before + below)
}

/// Writes a tensor of up to two modes as a matrix: as entries if some level is not dense and the fill value is 0, else
/// as an array, which may take `limit` bytes.
pub(super) fn write_matrix(tensor: &Tensor, limit: u64, out: &mut dyn Write) -> Result<(), Fault> {
    // Where other programs take the numbers of an integer field to have 64 bits with a sign.
    let large = |values: &Array| matches!(values, Array::U64(v) if v.iter().any(|x| *x > i64::MAX as u64));
    let field = match tensor.fill.ty() {
        ty if ty.is_float() => "real",
        _ if large(&tensor.values) || tensor.fill.as_i128() > Some(i64::MAX as i128) => "unsigned-integer",
        _ => "integer",
    };
    write(tensor, "matrix", field, limit, out)
}

/// Writes a tensor of any number of modes, as entries or as an array: see [`write_matrix`]. The field is `real`
/// whatever the type, the only one that other readers of this extension know; integers keep every digit.
pub(super) fn write_tensor(tensor: &Tensor, limit: u64, out: &mut dyn Write) -> Result<(), Fault> {
    // A scalar has no extents to be written; as a matrix it has two.
    let what = if tensor.extents.is_empty() { "matrix" } else { "tensor" };
    write(tensor, what, "real", limit, out)
}

fn write(tensor: &Tensor, what: &str, field: &str, limit: u64, out: &mut dyn Write) -> Result<(), Fault> {
    let rank = tensor.extents.len();
    let ones = if what == "matrix" { 2usize.saturating_sub(rank) } else { 0 };
    let extents: String = tensor.extents.iter().chain(&[1, 1][..ones]).map(|e| format!("{e} ")).collect();
    let zero = !tensor.fill.is_true() && !tensor.fill.is_nan();
    if tensor.format.levels.iter().any(|kind| !kind.is_full()) && zero {
        let entries = tensor.stored_entries()?;
        write!(out, "%%MatrixMarket {what} coordinate {field} general\n{extents}{}\n", entries.len())
            .map_err(Fault::io)?;
        return super::tns::write_entries(&entries, ones, out).map_err(Fault::io);
    }
    // The first mode runs fastest: the order of modes reversed.
    let reversed = Format::dense(rank).reversed();
    let how = Assembly { limit, ..Default::default() };
    let dense = tensor.borrow().convert(&reversed, &how)?;
    write!(out, "%%MatrixMarket {what} array {field} general\n{}\n", extents.trim_end()).map_err(Fault::io)?;
    dense.values.iter().try_for_each(|v| writeln!(out, "{}", Plain(v))).map_err(Fault::io)
}
