//! Matrix Market files.
//!
//! ```text
//!  %%MatrixMarket matrix coordinate real general       or: array; integer, pattern; symmetric, …
//!  % comments
//!  3 4 2                                               rows columns entries; of an array: rows columns
//!  1 2 5.0                                             an entry a line, coordinates from 1, in any order
//!  3 1 7.0
//! ```
//!
//! A symmetric file names one of (i, j) and (j, i), a skew-symmetric one too, whose other value is the negative and
//! whose diagonal is 0; hermitian real numbers are symmetric. An array lists its columns one after the other, of a
//! symmetric one from the diagonal down, of a skew-symmetric one from below it. A tensor of one mode is a matrix of
//! one column, a scalar one of one row and one column.

use super::import::{Contents, exact, import, inexact};
use super::{Declared, Fault, Options, Place};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Array, Entries, Error, Format, LevelKind, Tensor};
use std::io::Write;

#[derive(Clone, Copy, PartialEq)]
enum Field {
    Real,
    Integer,
    Pattern,
}

#[derive(Clone, Copy, PartialEq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
}

struct Header {
    coordinate: bool,
    field: Field,
    symmetry: Symmetry,
}

/// The tensor that a Matrix Market file holds.
pub(super) fn read(text: &[u8], declared: &Declared, options: &Options) -> Result<Tensor<'static>, Fault> {
    let mut scan = Scan { text, at: 0 };
    scan.read(declared, options)
}

/// A place in the text.
struct Scan<'t> {
    text: &'t [u8],
    at: usize,
}

type Token<'t> = (usize, &'t [u8]);

impl<'t> Scan<'t> {
    fn read(&mut self, declared: &Declared, options: &Options) -> Result<Tensor<'static>, Fault> {
        let header = self.header()?;
        self.next_line();
        let size_at = self.at;
        let (rows, columns) = (self.extent("the number of rows")?, self.extent("the number of columns")?);
        if header.symmetry != Symmetry::General && rows != columns {
            return Err(self.fault(size_at, format!("a symmetric matrix is square, not {rows} by {columns}")));
        }
        let fits = declared.rank == 2 || columns == 1 && (declared.rank == 1 || declared.rank == 0 && rows == 1);
        if !fits {
            let what = format!("a matrix of {rows} by {columns} for a tensor declared with {} modes", declared.rank);
            return Err(self.fault(size_at, what));
        }
        if header.coordinate {
            let n = self.extent("the number of entries")?;
            self.end_of_line()?;
            self.coordinates(&header, [rows, columns], n, declared, options)
        } else {
            self.end_of_line()?;
            self.array(&header, [rows, columns], declared, options)
        }
    }

    fn header(&mut self) -> Result<Header, Fault> {
        let words: Vec<Token> = (0..5).map(|_| self.token()).collect();
        let lower: Vec<String> = words.iter().map(|w| String::from_utf8_lossy(w.1).to_lowercase()).collect();
        let refused = |w: usize, expected: &str| {
            Err(self.fault(words[w].0, format!("`{}` in the header, expected {expected}", lower[w])))
        };
        // Some writers put one `%` where the format has two.
        let banner = matches!(&*lower[0], "%%matrixmarket" | "%matrixmarket");
        if !banner || lower[1] != "matrix" {
            return refused(banner as usize, "`%%MatrixMarket matrix`");
        }
        let coordinate = match &*lower[2] {
            "coordinate" => true,
            "array" => false,
            _ => return refused(2, "`coordinate` or `array`"),
        };
        let field = match &*lower[3] {
            "real" | "double" => Field::Real,
            "integer" | "unsigned-integer" => Field::Integer,
            "pattern" if coordinate => Field::Pattern,
            "complex" => return refused(3, "`real`, `integer` or `pattern`: there are no complex element types"),
            _ => return refused(3, "`real`, `integer` or, with `coordinate`, `pattern`"),
        };
        let symmetry = match &*lower[4] {
            "general" => Symmetry::General,
            "symmetric" | "hermitian" => Symmetry::Symmetric,
            "skew-symmetric" if field != Field::Pattern => Symmetry::Skew,
            _ => return refused(4, "`general`, `symmetric`, `skew-symmetric` or `hermitian`"),
        };
        self.end_of_line()?;
        Ok(Header { coordinate, field, symmetry })
    }

    fn coordinates(
        &mut self,
        header: &Header,
        extents: [u64; 2],
        n: u64,
        declared: &Declared,
        options: &Options,
    ) -> Result<Tensor<'static>, Fault> {
        let first = self.at;
        // An entry takes at least four bytes: do not believe the header beyond what is there.
        let room = (n.min((self.text.len() - self.at) as u64 / 4 + 1)) as usize;
        let mut at = [Vec::with_capacity(room), Vec::with_capacity(room)];
        let mut bits = Vec::with_capacity(room);
        for e in 0..n {
            if !self.next_line() {
                return Err(self.fault(self.at, format!("the file ends after {e} of {n} entries")));
            }
            for (m, extent) in extents.into_iter().enumerate() {
                let c = self.coordinate(extent)?;
                at[m].push(c);
            }
            bits.push(self.value(header.field, declared.ty)?.bits());
            self.end_of_line()?;
        }
        if self.next_line() {
            return Err(self.fault(self.at, format!("expected the file to end after its {n} entries")));
        }
        let mirrored = mirror(header.symmetry, &mut at, &mut bits, declared.ty)
            .map_err(|(e, what)| Fault::new(self.place_of_entry(first, e), what))?;
        let values = Array::from_values(declared.ty, bits.into_iter().map(|b| Value::from_bits(declared.ty, b)));
        let entries = Entries { coordinates: at.into_iter().take(declared.rank).collect(), values };
        let extents = extents[..declared.rank].to_vec();
        let place =
            |e: usize| self.place_of_entry(first, mirrored.get(e.wrapping_sub(n as usize)).copied().unwrap_or(e));
        import(Contents::Sparse { extents, entries }, declared, options, &place)
    }

    fn array(
        &mut self,
        header: &Header,
        extents: [u64; 2],
        declared: &Declared,
        options: &Options,
    ) -> Result<Tensor<'static>, Fault> {
        let [rows, columns] = extents;
        let first_row = |c: u64| match header.symmetry {
            Symmetry::General => 0,
            Symmetry::Symmetric => c,
            Symmetry::Skew => c + 1,
        };
        let mut bits: Vec<u64> = Vec::new();
        for c in 0..if rows == 0 { 0 } else { columns } {
            for r in first_row(c)..rows {
                if !self.next_line() {
                    return Err(self.fault(self.at, format!("the file ends before row {} of column {}", r + 1, c + 1)));
                }
                bits.push(self.value(header.field, declared.ty)?.bits());
            }
        }
        if self.next_line() {
            return Err(self.fault(self.at, format!("expected the file to end after {} values", bits.len())));
        }
        let listed: Vec<Value> = bits.into_iter().map(|b| Value::from_bits(declared.ty, b)).collect();
        let values = match header.symmetry {
            Symmetry::General => listed,
            symmetry => {
                square(rows as usize, symmetry, &listed, declared.ty).map_err(|what| self.fault(self.at, what))?
            }
        };
        let values = Array::from_values(declared.ty, values);
        let extents = extents[..declared.rank].to_vec();
        import(Contents::Dense { extents, first_fastest: true, values }, declared, options, &|_| Place::Whole)
    }

    /// A value of the file as one of type `ty`.
    fn value(&mut self, field: Field, ty: Type) -> Result<Value, Fault> {
        if field == Field::Pattern {
            return Ok(Value::one(ty));
        }
        let (at, token) = self.token();
        let text = std::str::from_utf8(token).unwrap_or("");
        match number(text, field, ty) {
            Some(v) => Ok(v),
            None if text.parse::<f64>().is_ok() && (field == Field::Real || text.parse::<i128>().is_ok()) => {
                Err(self.fault(at, inexact(text, ty)))
            }
            None => Err(self.expected(at, token, if field == Field::Real { "a number" } else { "an integer" })),
        }
    }

    /// A coordinate, from 1 in the file and from 0 here.
    fn coordinate(&mut self, extent: u64) -> Result<i64, Fault> {
        let (at, token) = self.token();
        match natural(token) {
            Some(c) if 1 <= c && c <= extent => Ok(c as i64 - 1),
            _ => Err(self.expected(at, token, &format!("a coordinate from 1 to {extent}"))),
        }
    }

    /// A number of the size line.
    fn extent(&mut self, what: &str) -> Result<u64, Fault> {
        let (at, token) = self.token();
        match natural(token) {
            Some(n) if n <= i64::MAX as u64 => Ok(n),
            _ => Err(self.expected(at, token, &format!("{what}, below 2^63"))),
        }
    }

    /// The next word of the line; empty at its end.
    fn token(&mut self) -> Token<'t> {
        let blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\r');
        while self.text.get(self.at).is_some_and(blank) {
            self.at += 1;
        }
        let start = self.at;
        while self.text.get(self.at).is_some_and(|b| !blank(b) && *b != b'\n') {
            self.at += 1;
        }
        (start, &self.text[start..self.at])
    }

    /// Goes past the end of the line, on which nothing may stand any more.
    fn end_of_line(&mut self) -> Result<(), Fault> {
        let (at, token) = self.token();
        if !token.is_empty() {
            return Err(self.expected(at, token, "the end of the line"));
        }
        self.at = (self.at + 1).min(self.text.len());
        Ok(())
    }

    /// Goes to the next line that has something to say; false at the end of the file.
    fn next_line(&mut self) -> bool {
        loop {
            match self.text.get(self.at) {
                None => return false,
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(b'%') => {
                    while self.text.get(self.at).is_some_and(|b| *b != b'\n') {
                        self.at += 1;
                    }
                }
                Some(_) => return true,
            }
        }
    }

    fn place(&self, at: usize) -> Place {
        let before = &self.text[..at];
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        Place::Line(line, at - before.iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1) + 1)
    }

    /// The place of entry `e`, the first one standing at or after `first`.
    fn place_of_entry(&self, first: usize, e: usize) -> Place {
        let mut scan = Scan { text: self.text, at: first };
        for _ in 0..e {
            scan.next_line();
            while scan.text.get(scan.at).is_some_and(|b| *b != b'\n') {
                scan.at += 1;
            }
        }
        scan.next_line();
        self.place(scan.at)
    }

    fn fault(&self, at: usize, message: impl Into<String>) -> Fault {
        Fault::new(self.place(at), message)
    }

    fn expected(&self, at: usize, token: &[u8], what: &str) -> Fault {
        let token: String = String::from_utf8_lossy(token).chars().take(40).collect();
        match &*token {
            "" => self.fault(at, format!("expected {what} before the end of the line")),
            _ => self.fault(at, format!("expected {what}, not `{token}`")),
        }
    }
}

/// A number without sign; `None` of anything else and of what does not fit.
fn natural(token: &[u8]) -> Option<u64> {
    let digit = |n: u64, b: &u8| n.checked_mul(10)?.checked_add(b.is_ascii_digit().then(|| (b - b'0') as u64)?);
    if token.is_empty() { None } else { token.iter().try_fold(0, digit) }
}

/// The number in type `ty`. A decimal fraction is rounded to a float once; an integer is exact or nothing.
fn number(text: &str, field: Field, ty: Type) -> Option<Value> {
    match (field, ty) {
        (Field::Real, Type::F64) => Some(Value::from_f64(ty, text.parse().ok()?)),
        (Field::Real, Type::F32) => Some(Value::from_f64(ty, text.parse::<f32>().ok()? as f64)),
        _ => {
            let integer = |x: i128| match ty.range() {
                Some((least, most)) => (least..=most).contains(&x).then(|| Value::from_i128(ty, x)),
                None => Some(Value::from_i128(ty, x)).filter(|v| v.as_f64() as i128 == x),
            };
            match text.parse() {
                Ok(x) => integer(x),
                Err(_) if field == Field::Real => exact(Value::from_f64(Type::F64, text.parse().ok()?), ty),
                Err(_) => None,
            }
        }
    }
}

/// Minus the value, if its type has it.
fn negated(value: Value) -> Option<Value> {
    match (value.as_i128(), value.ty().range()) {
        (Some(x), Some((least, most))) => (least..=most).contains(&-x).then(|| Value::from_i128(value.ty(), -x)),
        _ => Some(Value::from_f64(value.ty(), -value.as_f64())),
    }
}

/// Appends the entries that a symmetric file leaves out, and says of which entry each is the mirror image.
fn mirror(
    symmetry: Symmetry,
    at: &mut [Vec<i64>; 2],
    bits: &mut Vec<u64>,
    ty: Type,
) -> Result<Vec<usize>, (usize, String)> {
    let mut of = Vec::new();
    if symmetry == Symmetry::General {
        return Ok(of);
    }
    for e in 0..bits.len() {
        let (r, c, value) = (at[0][e], at[1][e], Value::from_bits(ty, bits[e]));
        if r == c && symmetry == Symmetry::Skew && value.is_true() {
            return Err((e, "a value other than 0 on the diagonal of a skew-symmetric matrix".to_string()));
        }
        if r != c {
            let other = match symmetry {
                Symmetry::Skew => negated(value).ok_or_else(|| (e, inexact(&format!("-{value}"), ty)))?,
                _ => value,
            };
            at[0].push(c);
            at[1].push(r);
            bits.push(other.bits());
            of.push(e);
        }
    }
    Ok(of)
}

/// The whole square matrix, a column after the other, of the triangle that the file lists.
fn square(n: usize, symmetry: Symmetry, listed: &[Value], ty: Type) -> Result<Vec<Value>, String> {
    let mut values = vec![Value::zero(ty); n * n];
    let mut next = listed.iter();
    for c in 0..n {
        for r in if symmetry == Symmetry::Skew { c + 1 } else { c }..n {
            let value = *next.next().expect("as many as were read");
            values[c * n + r] = value;
            if r != c {
                values[r * n + c] = match symmetry {
                    Symmetry::Skew => negated(value).ok_or_else(|| inexact(&format!("-{value}"), value.ty()))?,
                    _ => value,
                };
            }
        }
    }
    Ok(values)
}

/// Writes a tensor of up to two modes: as entries if some level is not dense and the fill value is 0, else as an array, which may take `limit` bytes.
pub(super) fn write(tensor: &Tensor, limit: u64, out: &mut dyn Write) -> Result<(), Fault> {
    let (rows, columns) = match *tensor.extents {
        [] => (1, 1),
        [n] => (n, 1),
        [rows, columns] => (rows, columns),
        _ => {
            let what = format!("a .mtx file holds up to two modes, not {}: write .npy", tensor.extents.len());
            return Err(Fault::new(Place::Whole, what));
        }
    };
    let field = if tensor.fill.ty().is_float() { "real" } else { "integer" };
    let dense = tensor.format.levels.iter().all(|kind| *kind == LevelKind::Dense);
    let sparse = !dense && !tensor.fill.is_true() && !tensor.fill.is_nan();
    if sparse {
        let entries = tensor.stored_entries().map_err(Fault::limit)?;
        write!(out, "%%MatrixMarket matrix coordinate {field} general\n{rows} {columns} {}\n", entries.len())
            .map_err(Fault::io)?;
        for e in 0..entries.len() {
            let at = |m: usize| entries.coordinates.get(m).map_or(0, |column| column[e]) + 1;
            writeln!(out, "{} {} {}", at(0), at(1), Number(entries.values.get(e))).map_err(Fault::io)?;
        }
        return Ok(());
    }
    // Column by column: the order of modes reversed.
    let mut by_column = Format::dense(tensor.extents.len());
    by_column.order.reverse();
    let how = fiberloom_core::format::Assembly { limit, ..Default::default() };
    let dense = tensor.borrow().convert(&by_column, &how).map_err(Fault::limit)?;
    write!(out, "%%MatrixMarket matrix array {field} general\n{rows} {columns}\n").map_err(Fault::io)?;
    dense.values.iter().try_for_each(|v| writeln!(out, "{}", Number(v))).map_err(Fault::io)
}

impl Fault {
    /// A tensor that is too large to be written.
    pub(super) fn limit(error: Error) -> Fault {
        Fault { cause: super::Cause::Limit, ..Fault::new(Place::Whole, error.to_string()) }
    }
}

/// A value as other programs read it: `bool` as 0 or 1.
struct Number(Value);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.ty() {
            Type::Bool => write!(f, "{}", self.0.bits()),
            _ => write!(f, "{}", self.0),
        }
    }
}
