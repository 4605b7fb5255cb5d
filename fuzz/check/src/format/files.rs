//! Files from bytes: any bytes, words that texts are made of, and well-written files with some damage.

use super::below;
use arbitrary::Unstructured;
use fiberloom::data::{self, Declared, Kind};
use fiberloom::{Array, Format, Tensor, Type, Value};
use std::io::{Cursor, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;

/// Words that texts are made of, right ones and wrong ones.
const WORDS: [&str; 40] = [
    "\n",
    "\n",
    "\n",
    "%%MatrixMarket matrix coordinate real general\n",
    "%%MatrixMarket matrix coordinate integer symmetric\n",
    "%%MatrixMarket matrix coordinate pattern general\n",
    "%%MatrixMarket tensor coordinate real general\n",
    "%%MatrixMarket matrix array integer skew-symmetric\n",
    "%%MatrixMarket tensor array real general\n",
    "%%MatrixMarket",
    "matrix",
    "array",
    "# extents",
    "%",
    "#",
    "\t",
    "\r\n",
    "0",
    "1",
    "1",
    "1",
    "2",
    "2",
    "2",
    "3",
    "3",
    "4",
    "5",
    "-1",
    "1.5",
    "1e300",
    "-inf",
    "nan",
    "255",
    "4294967296",
    "1000000000000000",
    "9223372036854775807",
    "18446744073709551616",
    "0x1",
    "é",
];

/// A file of this kind, or of nearly this kind.
pub fn file(u: &mut Unstructured, kind: Kind, declared: &Declared) -> Vec<u8> {
    match below(u, 6) {
        0 => u.bytes(u.len()).unwrap_or_default().to_vec(),
        1 => words(u),
        2 | 3 if kind == Kind::Npz => archive(u, declared.ty),
        shape => {
            let mut bytes = written(u, kind, declared);
            for _ in 0..if shape == 5 { 0 } else { below(u, 4) } {
                damage(u, &mut bytes);
            }
            bytes
        }
    }
}

fn words(u: &mut Unstructured) -> Vec<u8> {
    let mut text = String::new();
    while !u.is_empty() && text.len() < 4000 {
        text += u.choose(&WORDS).unwrap_or(&"\n");
        text += if u.ratio(1, 16).unwrap_or(false) { "" } else { " " };
    }
    text.into_bytes()
}

/// A small tensor in a file, mostly one as declared.
fn written(u: &mut Unstructured, kind: Kind, declared: &Declared) -> Vec<u8> {
    let rank = if u.ratio(1, 10).unwrap_or(false) { below(u, 4) } else { declared.rank() };
    let extents: Vec<u64> = (0..rank).map(|_| below(u, 6) as u64).collect();
    // As the file says, where that is known.
    let known = extents.iter().zip(declared.extents.iter().chain(std::iter::repeat(&None)));
    let extents: Vec<u64> = known.map(|(any, known)| known.unwrap_or(*any)).collect();
    let format = if u.arbitrary().unwrap_or(false) { Format::csf(rank) } else { Format::dense(rank) };
    let zero = Value::zero(declared.ty);
    let mut entries = std::collections::BTreeMap::new();
    for _ in 0..if extents.contains(&0) { 0 } else { below(u, 8) } {
        let at: Vec<i64> = extents.iter().map(|e| below(u, *e as usize) as i64).collect();
        entries.insert(at, Value::from_i128(declared.ty, below(u, 5) as i128 - 1));
    }
    let tensor = Tensor::from_entries(extents, format, zero, Type::I32, Type::I32, entries).expect("well-formed");
    data::to_bytes(Path::new("a small tensor"), kind, &tensor, super::LIMIT).unwrap_or_default()
}

/// Changes a few bytes.
fn damage(u: &mut Unstructured, bytes: &mut Vec<u8>) {
    let at = below(u, bytes.len() + 1);
    let end = (at + below(u, 20)).min(bytes.len());
    match below(u, 6) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        2 => {
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
        3 if at < bytes.len() => bytes[at] = u.arbitrary().unwrap_or(0),
        4 if at < bytes.len() => bytes[at] ^= 1 << below(u, 8),
        _ => {
            let word = u.choose(&WORDS).unwrap_or(&"");
            bytes.splice(at..at, word.bytes());
        }
    }
}

/// An archive of members as SciPy's, with numbers that may be wrong: damage to a whole archive seldom gets past its
/// checksums.
fn archive(u: &mut Unstructured, ty: Type) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let deflated = u.arbitrary().unwrap_or(false);
    let method = if deflated { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
    let options = SimpleFileOptions::default().compression_method(method);
    let format = *u.choose(&["csr", "csc", "coo", "dia"]).unwrap_or(&"csr");
    let stored = below(u, 4);
    let shape = [below(u, 4) as i64, below(u, 4) as i64];
    let mut array = |name: &str, len: usize, ty: Type| {
        let numbers = (0..len).map(|_| Value::from_i128(ty, below(u, 4) as i128));
        let values = Array::from_values(ty, numbers);
        let mut bytes = npy(&values);
        for _ in 0..below(u, 8) / 6 {
            damage(u, &mut bytes);
        }
        (name.to_string(), bytes)
    };
    let major = if format == "csc" { 1 } else { 0 };
    let mut members = vec![
        array("indices", stored, Type::I32),
        array("row", stored, Type::I64),
        array("col", stored, Type::I32),
        array("data", stored, ty),
    ];
    let pointers = (0..=shape[major]).map(|i| if i == 0 { 0 } else { stored as i64 * i / shape[major] });
    let pointers = Array::from_values(Type::I64, pointers.map(Value::i64));
    members.push(("indptr".to_string(), npy(&pointers)));
    members.push(("shape".to_string(), npy(&Array::from(shape.to_vec()))));
    // The same bytes as one string, not as three numbers.
    let mut name = npy(&Array::from(format.as_bytes().to_vec()));
    replace(&mut name, b"|u1", b"|S3");
    replace(&mut name, b"(3,)", b"()  ");
    members.push(("format".to_string(), name));
    for (name, bytes) in members {
        let written = zip.start_file(format!("{name}.npy"), options).map(|()| zip.write_all(&bytes));
        written.expect("no name twice").expect("memory");
    }
    zip.finish().expect("memory").into_inner()
}

/// A `.npy` file of one mode.
fn npy(values: &Array<'static>) -> Vec<u8> {
    let vector = Tensor::dense(vec![values.len() as u64], Value::zero(values.ty()), values.borrow());
    data::to_bytes(Path::new("a member"), Kind::Npy, &vector.expect("as long as its extent"), u64::MAX)
        .expect("every .npy file is written")
}

/// Replaces the first `old` by `new`, which is as long.
fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    let at = bytes.windows(old.len()).position(|w| w == old).expect("the header says it");
    bytes[at..at + new.len()].copy_from_slice(new);
}
