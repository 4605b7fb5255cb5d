//! NumPy's `.npy` files.
//!
//! ```text
//!  \x93NUMPY  major minor  length of the header   {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }   data
//!  6 bytes    1     1      2 (version 1) or 4     a Python dictionary, then blanks and a newline
//! ```
//!
//! `descr` is a byte order (`<`, `>`, `=`, `|`), a kind (`b`, `i`, `u`, `f`) and a size in bytes. The data end with
//! the file and are exactly as many as the shape says.

use super::import::{Contents, cast, import};
use super::{Declared, Fault, Options, Place};
use fiberloom_core::algebra::Type;
use fiberloom_core::format::{Array, Tensor};
use std::io::Write;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The array that a `.npy` file holds, as declared.
pub(super) fn read(bytes: &[u8], declared: &Declared, options: &Options) -> Result<Tensor<'static>, Fault> {
    let npy = Npy::of(bytes)?;
    let values = cast(npy.array()?, declared.ty)?;
    if npy.shape.len() != declared.rank {
        let what = format!(
            "an array of {} modes for a tensor that the program declares with {}",
            npy.shape.len(),
            declared.rank
        );
        return Err(Fault::new(Place::Byte(10), what));
    }
    let contents = Contents::Dense { extents: npy.shape, first_fastest: npy.first_fastest, values };
    import(contents, declared, options, &Place::Element)
}

/// A file's header, and its data as bytes.
pub(super) struct Npy<'b> {
    /// `f8` with its byte order.
    pub(super) descr: String,
    first_fastest: bool,
    /// Extents.
    pub(super) shape: Vec<u64>,
    /// What follows the header.
    pub(super) data: &'b [u8],
    data_at: usize,
}

impl<'b> Npy<'b> {
    /// The header of a file.
    pub(super) fn of(bytes: &'b [u8]) -> Result<Npy<'b>, Fault> {
        let fault = |at: usize, what: &str| Fault::new(Place::Byte(at), what);
        if !bytes.starts_with(MAGIC) {
            return Err(fault(0, "not a .npy file: it does not begin with \\x93NUMPY"));
        }
        let ends = || fault(bytes.len(), "the file ends within its header");
        let (&version, length) = (bytes.get(6).ok_or_else(ends)?, bytes.get(8..).ok_or_else(ends)?);
        let (start, length) = match version {
            1 => (10usize, u16::from_le_bytes(*length.first_chunk().ok_or_else(ends)?) as usize),
            2 | 3 => (12, u32::from_le_bytes(*length.first_chunk().ok_or_else(ends)?) as usize),
            _ => return Err(fault(6, &format!("version {version} of the format, expected 1, 2 or 3"))),
        };
        let header = bytes.get(start..start.saturating_add(length)).ok_or_else(ends)?;
        let mut npy = Npy {
            descr: String::new(),
            first_fastest: false,
            shape: vec![],
            data: &bytes[start + length..],
            data_at: start + length,
        };
        Dictionary { text: header, at: 0 }
            .read(&mut npy)
            .map_err(|(at, expected)| fault(start + at, &format!("expected {expected} in the header")))?;
        Ok(npy)
    }

    /// The values, in the order of the file.
    pub(super) fn array(&self) -> Result<Array<'static>, Fault> {
        let fault = |what: String| Err(Fault::new(Place::Byte(self.data_at), what));
        let Some((ty, swapped)) = element(&self.descr) else {
            let names = "bool, int8 to int64, uint8 to uint64, float32 or float64";
            return fault(format!("elements of type `{}`, expected {names}", self.descr));
        };
        let count = self.shape.iter().try_fold(1u128, |n, &e| n.checked_mul(e as u128));
        let expected = count.and_then(|n| n.checked_mul(ty.bytes() as u128));
        if expected != Some(self.data.len() as u128) {
            let extents: Vec<String> = self.shape.iter().map(u64::to_string).collect();
            let extents = extents.join(" by ");
            return fault(format!("{} bytes of data for {extents} elements of type {ty}", self.data.len()));
        }
        if let (Type::Bool, Some(p)) = (ty, self.data.iter().position(|&b| b > 1)) {
            let what = format!("a bool's byte is 0 or 1, not {}", self.data[p]);
            return Err(Fault::new(Place::Byte(self.data_at + p), what));
        }
        Ok(decode(ty, swapped, self.data))
    }
}

/// The element type that a `descr` names, and whether its bytes are in the other order than this machine's.
fn element(descr: &str) -> Option<(Type, bool)> {
    let mut chars = descr.chars();
    let swapped = match chars.next()? {
        '<' => cfg!(target_endian = "big"),
        '>' => cfg!(target_endian = "little"),
        '=' | '|' => false,
        _ => return None,
    };
    let ty = match chars.as_str() {
        "b1" | "?" => Type::Bool,
        "i1" => Type::I8,
        "i2" => Type::I16,
        "i4" => Type::I32,
        "i8" => Type::I64,
        "u1" => Type::U8,
        "u2" => Type::U16,
        "u4" => Type::U32,
        "u8" => Type::U64,
        "f4" => Type::F32,
        "f8" => Type::F64,
        _ => return None,
    };
    Some((ty, swapped))
}

macro_rules! elements {
    ($($variant:ident $rust:ty;)*) => {
        /// The elements of type `ty` in these bytes.
        fn decode(ty: Type, swapped: bool, bytes: &[u8]) -> Array<'static> {
            match ty { $(Type::$variant => {
                let of = if swapped { <$rust>::from_be_bytes } else { <$rust>::from_le_bytes };
                let (chunks, _) = bytes.as_chunks::<{ size_of::<$rust>() }>();
                let elements: Vec<$rust> = chunks.iter().map(|b| of(*b)).collect();
                Array::$variant(elements.into())
            })* }
        }

        /// Writes the elements, the lowest byte first.
        fn encode(array: &Array, out: &mut dyn Write) -> std::io::Result<()> {
            match array { $(Array::$variant(v) => v.iter().try_for_each(|x| out.write_all(&x.to_le_bytes())),)* }
        }
    };
}

elements! { Bool u8; I8 i8; I16 i16; I32 i32; I64 i64; U8 u8; U16 u16; U32 u32; U64 u64; F32 f32; F64 f64; }

/// The dictionary of a header.
struct Dictionary<'t> {
    text: &'t [u8],
    at: usize,
}

/// Where something else was expected, and what.
type Expected = (usize, &'static str);

impl Dictionary<'_> {
    fn read(&mut self, npy: &mut Npy) -> Result<(), Expected> {
        let (mut descr, mut order, mut shape) = (None, None, None);
        self.expect(b"{", "`{`")?;
        while !self.takes(b"}") {
            let at = self.at;
            let key = self.string()?;
            self.expect(b":", "`:`")?;
            match &*key {
                "descr" => descr = Some(self.string()?),
                "fortran_order" => order = Some(self.boolean()?),
                "shape" => shape = Some(self.tuple()?),
                _ => return Err((at, "one of 'descr', 'fortran_order' and 'shape'")),
            }
            if !self.takes(b",") {
                self.expect(b"}", "`}`")?;
                break;
            }
        }
        npy.descr = descr.ok_or((0, "'descr'"))?;
        npy.first_fastest = order.ok_or((0, "'fortran_order'"))?;
        npy.shape = shape.ok_or((0, "'shape'"))?;
        Ok(())
    }

    /// Takes `word`, if it comes next after blanks.
    fn takes(&mut self, word: &[u8]) -> bool {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        let comes = self.text[self.at..].starts_with(word);
        self.at += if comes { word.len() } else { 0 };
        comes
    }

    fn expect(&mut self, word: &[u8], name: &'static str) -> Result<(), Expected> {
        if self.takes(word) { Ok(()) } else { Err((self.at, name)) }
    }

    fn string(&mut self) -> Result<String, Expected> {
        let expected = (self.at, "a string");
        let quote = match (self.takes(b"'"), self.takes(b"\"")) {
            (true, false) => b'\'',
            (false, true) => b'"',
            _ => return Err(expected),
        };
        let rest = &self.text[self.at..];
        let end = rest.iter().position(|b| *b == quote).ok_or(expected)?;
        self.at += end + 1;
        Ok(String::from_utf8_lossy(&rest[..end]).into_owned())
    }

    fn boolean(&mut self) -> Result<bool, Expected> {
        match (self.takes(b"True"), self.takes(b"False")) {
            (false, false) => Err((self.at, "`True` or `False`")),
            (yes, _) => Ok(yes),
        }
    }

    fn tuple(&mut self) -> Result<Vec<u64>, Expected> {
        let mut extents = Vec::new();
        self.expect(b"(", "`(`")?;
        while !self.takes(b")") {
            let at = self.at;
            let digits: &[u8] = &self.text[at..];
            let n = digits.iter().take_while(|b| b.is_ascii_digit()).count();
            let extent = std::str::from_utf8(&digits[..n]).ok().and_then(|t| t.parse::<u64>().ok());
            extents.push(extent.filter(|e| *e <= i64::MAX as u64).ok_or((at, "an extent below 2^63"))?);
            self.at += n;
            // Python 2 wrote long integers with an L.
            self.takes(b"L");
            if !self.takes(b",") {
                self.expect(b")", "`,` or `)`")?;
                break;
            }
        }
        Ok(extents)
    }
}

/// Writes a tensor as a dense array in C order, which may take `limit` bytes.
pub(super) fn write(tensor: &Tensor, limit: u64, out: &mut dyn Write) -> Result<(), Fault> {
    let values = tensor.to_dense(limit).map_err(Fault::limit)?;
    write_array(&values, &tensor.extents, out).map_err(Fault::io)
}

/// Writes a version 1 file; the header of a tensor of thousands of modes does not fit it, and there are no such files.
pub(super) fn write_array(values: &Array, shape: &[u64], out: &mut dyn Write) -> std::io::Result<()> {
    let kind = match values.ty() {
        Type::Bool => "|b",
        Type::I8 => "|i",
        Type::U8 => "|u",
        ty if ty.is_float() => "<f",
        ty if ty.is_signed() => "<i",
        _ => "<u",
    };
    write_header(&format!("{kind}{}", values.ty().bytes()), shape, out)?;
    encode(values, out)
}

/// Writes everything before the data, which shall begin at a multiple of 64 bytes.
pub(super) fn write_header(descr: &str, shape: &[u64], out: &mut dyn Write) -> std::io::Result<()> {
    let extents: String = shape.iter().map(|e| format!("{e}, ")).collect();
    let shape =
        if shape.len() == 1 { extents.trim_end().to_string() } else { extents.trim_end_matches(", ").to_string() };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let length = u16::try_from(header.len()).map_err(|_| std::io::Error::other("too many modes for a .npy file"))?;
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(header.as_bytes())
}
