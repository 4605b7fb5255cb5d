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
use fiberloom_core::counted;
use fiberloom_core::format::{Array, Tensor, room};
use std::io::{Read, Write};

const MAGIC: &[u8] = b"\x93NUMPY";

/// The most bytes of a header that is believed to be one.
const HEADER: usize = 1 << 20;

/// The bytes that are decoded at once.
const CHUNK: usize = 1 << 16;

/// The array that a `.npy` file holds, as declared.
pub(super) fn read(input: impl Read, declared: &Declared, options: &Options) -> Result<Tensor<'static>, Fault> {
    let mut npy = Npy::of(input)?;
    if npy.shape.len() != declared.rank() {
        let what = format!(
            "an array of {} for a tensor that the program declares with {}",
            counted(npy.shape.len(), "mode", "modes"),
            declared.rank()
        );
        return Err(Fault::new(Place::Byte(10), what));
    }
    let values = npy.array(declared.ty, options.limit)?;
    let contents = Contents::Dense { extents: npy.shape, first_fastest: npy.first_fastest, values };
    import(contents, declared, options, &Place::Element)
}

/// A file's header, and what follows it.
pub struct Npy<R> {
    /// `f8` with its byte order.
    pub descr: String,
    /// Whether the first mode's coordinate runs fastest, not the last one's.
    pub(super) first_fastest: bool,
    /// Extents.
    pub shape: Vec<u64>,
    /// What follows the header.
    pub(super) data: R,
    data_at: usize,
}

impl<R: Read> Npy<R> {
    /// The header of a file.
    ///
    /// # Errors
    /// It is no `.npy` file, or of another version, or not readable.
    pub fn of(mut input: R) -> Result<Npy<R>, Fault> {
        let fault = |at: usize, what: &str| Fault::new(Place::Byte(at), what);
        let mut at = 0;
        let mut next = |n: usize| {
            let mut bytes = Vec::new();
            input.by_ref().take(n as u64).read_to_end(&mut bytes).map_err(Fault::input)?;
            at += bytes.len();
            Ok::<_, Fault>((bytes, at))
        };
        let (magic, _) = next(MAGIC.len())?;
        if magic != MAGIC {
            return Err(fault(0, "not a .npy file: it does not begin with \\x93NUMPY"));
        }
        let ends = |at| fault(at, "the file ends within its header");
        let (version, at) = next(2)?;
        let &[version, _] = &version[..] else { return Err(ends(at)) };
        let (length, at) = match version {
            1 => next(2)?,
            2 | 3 => next(4)?,
            _ => return Err(fault(6, &format!("version {version} of the format, expected 1, 2 or 3"))),
        };
        let (start, length) = match length[..] {
            [a, b] if version == 1 => (at, u16::from_le_bytes([a, b]) as usize),
            [a, b, c, d] => (at, u32::from_le_bytes([a, b, c, d]) as usize),
            _ => return Err(ends(at)),
        };
        if length > HEADER {
            return Err(fault(8, &format!("a header of {length} bytes, at most {HEADER} are expected")));
        }
        let (header, at) = next(length)?;
        if header.len() < length {
            return Err(ends(at));
        }
        let (descr, first_fastest, shape) = Dictionary { text: &header, at: 0 }
            .read()
            .map_err(|(at, expected)| fault(start + at, &format!("expected {expected} in the header")))?;
        Ok(Npy { descr, first_fastest, shape, data: input, data_at: at })
    }

    /// The values as ones of type `ty`, in the order of the file; at most `limit` bytes.
    ///
    /// # Errors
    /// There are other elements, fewer or more of them, or they take more than the limit.
    pub fn array(&mut self, ty: Type, limit: u64) -> Result<Array<'static>, Fault> {
        let (stored, swapped) = element(&self.descr).ok_or_else(|| self.other_elements())?;
        let count = self.shape.iter().fold(1u128, |n, &e| n.saturating_mul(e as u128));
        let expected = count.saturating_mul(stored.bytes() as u128);
        let mut values = Array::from_values(ty, []);
        let mut chunk = room::room(CHUNK)?;
        let mut got = 0u128;
        while got < expected {
            chunk.clear();
            let wanted = (expected - got).min(CHUNK as u128) as u64;
            self.data.by_ref().take(wanted).read_to_end(&mut chunk).map_err(Fault::input)?;
            got += chunk.len() as u128;
            if (chunk.len() as u64) < wanted {
                return Err(self.not_as_many(stored, &got.to_string()));
            }
            let elements = self.elements(stored, swapped, &chunk, values.len())?;
            let elements = cast(elements, ty).map_err(|fault| fault.behind(values.len()))?;
            let bytes = (values.len() as u64 + elements.len() as u64).saturating_mul(ty.bytes() as u64);
            if bytes > limit {
                return Err(Fault::over(limit));
            }
            append(&mut values, &elements)?;
        }
        if self.data.by_ref().take(1).read_to_end(&mut chunk).map_err(Fault::input)? > 0 {
            return Err(self.not_as_many(stored, &format!("more than {got}")));
        }
        Ok(values)
    }

    /// The elements of a chunk, of which the first is number `first`.
    fn elements(&self, ty: Type, swapped: bool, chunk: &[u8], first: usize) -> Result<Array<'static>, Fault> {
        if let (Type::Bool, Some(p)) = (ty, chunk.iter().position(|&b| b > 1)) {
            let what = format!("a bool's byte is 0 or 1, not {}", chunk[p]);
            return Err(Fault::new(Place::Byte(self.data_at + first + p), what));
        }
        Ok(decode(ty, swapped, chunk))
    }

    /// That its elements are of a type that the language does not have.
    pub fn other_elements(&self) -> Fault {
        let names = "bool, int8 to int64, uint8 to uint64, float32 or float64";
        self.fault(format!("elements of type `{}`, expected {names}", self.descr))
    }

    fn fault(&self, what: String) -> Fault {
        Fault::new(Place::Byte(self.data_at), what)
    }

    fn not_as_many(&self, ty: Type, got: &str) -> Fault {
        let extents: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        let extents = if extents.is_empty() { "1".to_string() } else { extents.join(" by ") };
        let elements = counted(extents, "element", "elements");
        self.fault(format!("{got} bytes of data for {elements} of type {ty}"))
    }
}

/// The element type that a `descr` names, and whether its bytes are in the other order than this machine's.
pub fn element(descr: &str) -> Option<(Type, bool)> {
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

        /// Appends the elements of another array of the type.
        fn append(array: &mut Array<'static>, more: &Array) -> Result<(), Fault> {
            match (array, more) {
                $((Array::$variant(to), Array::$variant(more)) => {
                    let to = to.to_mut();
                    room::more(to, more.len())?;
                    to.extend_from_slice(more);
                    Ok(())
                })*
                (to, more) => unreachable!("{} behind {}", more.ty(), to.ty()),
            }
        }

        /// Writes the elements, the lowest byte first.
        fn encode(array: &Array, out: &mut dyn Write) -> std::io::Result<()> {
            let mut bytes = Vec::new();
            match array { $(Array::$variant(v) => v.chunks(CHUNK / size_of::<$rust>()).try_for_each(|part| {
                bytes.clear();
                part.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
                out.write_all(&bytes)
            }),)* }
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
    /// `descr`, `fortran_order` and `shape`.
    fn read(&mut self) -> Result<(String, bool, Vec<u64>), Expected> {
        let (mut descr, mut order, mut shape) = (None, None, None);
        self.expect(b"{", "`{`")?;
        while !self.takes(b"}") {
            let at = self.at;
            let key = self.string()?;
            self.expect(b":", "`:`")?;
            let known = [("descr", descr.is_some()), ("fortran_order", order.is_some()), ("shape", shape.is_some())];
            if known.contains(&(&key, true)) {
                return Err((at, "each key once"));
            }
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
        let rest = &self.text[self.at..];
        if let Some(p) = rest.iter().position(|b| !b.is_ascii_whitespace()) {
            return Err((self.at + p, "nothing but blanks behind the dictionary"));
        }
        let missing = |key| (0, key);
        Ok((
            descr.ok_or(missing("'descr'"))?,
            order.ok_or(missing("'fortran_order'"))?,
            shape.ok_or(missing("'shape'"))?,
        ))
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
    let values = tensor.to_dense(limit)?;
    write_array(&values, &tensor.extents, out).map_err(Fault::io)
}

/// Writes a version 1 file; the header of a tensor of thousands of modes does not fit it, and there are no such files.
///
/// # Errors
/// Those of writing.
pub fn write_array(values: &Array, shape: &[u64], out: &mut dyn Write) -> std::io::Result<()> {
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
