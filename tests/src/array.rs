//! Dense arrays, and NumPy's `.npy` files: what tests give to the command and read back from it.
//!
//! Written anew here and not taken from the compiler: a fault in its reader must not hide one in its writer.

use std::fmt::Write;
use std::path::Path;

/// A dense array in the order of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// Extent of each mode.
    pub extents: Vec<usize>,
    /// All elements.
    pub values: Vec<Number>,
}

/// An element: a float, or an integer that need not fit into one.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// `f32` and `f64`.
    Float(f64),
    /// All other types; `bool` as 0 and 1.
    Integer(i128),
}

impl PartialEq for Number {
    /// All NaNs are one, and so are the two zeros.
    fn eq(&self, other: &Number) -> bool {
        match (*self, *other) {
            (Number::Integer(a), Number::Integer(b)) => a == b,
            (a, b) => a.as_f64() == b.as_f64() || a.as_f64().is_nan() && b.as_f64().is_nan(),
        }
    }
}

impl Number {
    /// As a float; large integers are rounded.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Float(x) => x,
            Number::Integer(x) => x as f64,
        }
    }

    /// Whether both are the same, the two zeros being two.
    pub fn is(&self, other: &Number) -> bool {
        let (a, b) = (self.as_f64(), other.as_f64());
        self == other && (a.is_nan() || a.is_sign_negative() == b.is_sign_negative())
    }

    /// Whether both are the same up to 10⁻⁹, relatively and absolutely.
    pub fn is_near(&self, other: &Number) -> bool {
        let (a, b) = (self.as_f64(), other.as_f64());
        self == other || (a - b).abs() <= 1e-9 + 1e-9 * b.abs()
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Float(x) => write!(f, "{x}"),
            Number::Integer(x) => write!(f, "{x}"),
        }
    }
}

impl Dense {
    /// The first element at which the two differ, as text; `None` if they are alike.
    pub fn difference(&self, expected: &Dense, alike: fn(&Number, &Number) -> bool) -> Option<String> {
        if self.extents != expected.extents {
            return Some(format!("extents {:?}, expected {:?}", self.extents, expected.extents));
        }
        let pairs = self.values.iter().zip(&expected.values);
        let at = pairs.into_iter().position(|(a, b)| !alike(a, b))?;
        Some(format!("{:?}: {}, expected {}", self.coordinates(at), self.values[at], expected.values[at]))
    }

    fn coordinates(&self, mut at: usize) -> Vec<usize> {
        let mut coordinates = vec![0; self.extents.len()];
        for (c, extent) in coordinates.iter_mut().zip(&self.extents).rev() {
            (*c, at) = (at % extent, at / extent);
        }
        coordinates
    }

    /// Writes a `.npy` file with elements of this type of the language.
    ///
    /// # Errors
    /// If there is no such type or the file cannot be written.
    pub fn write(&self, path: &Path, ty: &str) -> Result<(), String> {
        let (descr, bytes) = encode(ty, &self.values)?;
        let mut shape = String::new();
        for extent in &self.extents {
            let _ = write!(shape, "{extent},");
        }
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
        // Magic, version, length of the header, header: together a multiple of 64 bytes, with a newline at the end.
        let padding = 64 - (10 + header.len() + 1) % 64;
        header.push_str(&" ".repeat(padding));
        header.push('\n');
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.into_bytes());
        file.extend(bytes);
        std::fs::write(path, file).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Reads a `.npy` file of version 1, little-endian, in the order of rows.
    ///
    /// # Errors
    /// If it cannot be read or is something else.
    pub fn read(path: &Path) -> Result<Dense, String> {
        let file = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        decode(&file).ok_or_else(|| format!("{}: no .npy file that tests can read", path.display()))
    }
}

fn decode(file: &[u8]) -> Option<Dense> {
    let rest = file.strip_prefix(b"\x93NUMPY\x01\x00")?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (header, body) = rest.split_at_checked(u16::from_le_bytes(*length) as usize)?;
    let header = std::str::from_utf8(header).ok()?;
    let after = |key: &str| header.split_once(key).map(|(_, rest)| rest);
    let descr = after("'descr': '")?.split('\'').next()?;
    let columns = after("'fortran_order': ")?.starts_with("True");
    let shape = after("'shape': (")?.split(')').next()?;
    let shape = shape.split(',').map(str::trim).filter(|s| !s.is_empty());
    let extents: Vec<usize> = shape.map(|s| s.parse().ok()).collect::<Option<_>>()?;
    let size: usize = descr[2..].parse().ok()?;
    let number = |b: &[u8]| -> Option<Number> {
        let mut wide = [0u8; 8];
        wide[..size].copy_from_slice(b);
        let unsigned = u64::from_le_bytes(wide);
        let unused = 64 - 8 * size as u32;
        match &descr[1..2] {
            "f" if size == 8 => Some(Number::Float(f64::from_bits(unsigned))),
            "f" if size == 4 => Some(Number::Float(f32::from_bits(unsigned as u32) as f64)),
            "i" => Some(Number::Integer(((unsigned << unused) as i64 >> unused) as i128)),
            "u" | "b" => Some(Number::Integer(unsigned as i128)),
            _ => None,
        }
    };
    let values: Vec<Number> = body.chunks_exact(size).map(number).collect::<Option<_>>()?;
    (values.len() == extents.iter().product::<usize>() && (!columns || extents.len() < 2))
        .then_some(Dense { extents, values })
}

/// NumPy's name of a type of the language, and the elements' bytes.
fn encode(ty: &str, values: &[Number]) -> Result<(String, Vec<u8>), String> {
    let size = match ty {
        "bool" => 1,
        _ => ty[1..].parse::<usize>().map_err(|_| format!("`{ty}` is no type"))? / 8,
    };
    let bytes = |x: &Number| match (ty, *x) {
        ("f64", x) => x.as_f64().to_le_bytes().to_vec(),
        ("f32", x) => (x.as_f64() as f32).to_le_bytes().to_vec(),
        (_, Number::Integer(x)) => x.to_le_bytes()[..size].to_vec(),
        (_, Number::Float(x)) => (x as i128).to_le_bytes()[..size].to_vec(),
    };
    let order = if size == 1 { '|' } else { '<' };
    Ok((format!("{order}{}{size}", &ty[..1]), values.iter().flat_map(bytes).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_read_as_they_were_written() {
        let folder = std::env::temp_dir();
        let values = |xs: &[i128]| xs.iter().map(|x| Number::Integer(*x)).collect::<Vec<_>>();
        let cases =
            [("i8", vec![-128, 127, 0, 1]), ("u64", vec![u64::MAX as i128, 0, 1, 2]), ("f32", vec![1, 2, 3, -4])];
        for (ty, xs) in cases {
            let path = folder.join(format!("fiberloom-{}-{ty}.npy", std::process::id()));
            let array = Dense { extents: vec![2, 2], values: values(&xs) };
            array.write(&path, ty).unwrap();
            assert_eq!(Dense::read(&path).unwrap(), array);
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn a_difference_is_named_by_its_place() {
        let array = |xs: [f64; 4]| Dense { extents: vec![2, 2], values: xs.map(Number::Float).to_vec() };
        let difference = array([0., 1., 2., 3.]).difference(&array([0., 1., 5., 3.]), |a, b| a == b);
        assert_eq!(difference.unwrap(), "[1, 0]: 2, expected 5");
        assert_eq!(array([-0.0, f64::NAN, 1., 1.]).difference(&array([0., f64::NAN, 1., 1.]), |a, b| a == b), None);
    }
}
