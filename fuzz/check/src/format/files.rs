//! Files from bytes: any bytes, words that texts are made of, and well-written files with some damage.

use super::below;
use arbitrary::Unstructured;
use fiberloom::data::{self, Declared, Kind};
use fiberloom::{Array, Format, Tensor, Type, Value};
use flate2::{Compression, write::GzEncoder};
use std::io::{Cursor, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;

/// Words that texts are made of, right ones and wrong ones.
const WORDS: [&str; 42] = [
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
    "1.5D+01",
    "\u{feff}",
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
        2 | 3 if kind == Kind::Npz => archive(u, declared).1,
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
pub(super) fn damage(u: &mut Unstructured, bytes: &mut Vec<u8>) {
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

/// An archive of members as SciPy's and PyData's, with numbers that may be wrong: damage to a whole archive seldom gets
/// past its checksums. The layout that it says, too.
fn archive(u: &mut Unstructured, declared: &Declared) -> (&'static str, Vec<u8>) {
    let layout = *u.choose(&["csr", "csc", "coo", "coo", "gcxs", "bsr", "dia"]).unwrap_or(&"csr");
    let many = matches!(layout, "coo" | "gcxs") && u.ratio(3, 4).unwrap_or(false);
    let rank = if many { declared.rank() } else { 2 };
    let extents: Vec<u64> = (0..rank).map(|_| below(u, 5) as u64).collect();
    let mut members = Members { u, of: vec![] };
    match layout {
        "coo" => coo(&mut members, many, &extents, declared.ty),
        "gcxs" => gcxs(&mut members, &extents, declared.ty),
        "bsr" => bsr(&mut members, &extents, declared.ty),
        "dia" => dia(&mut members, declared.ty),
        _ => {
            let stored = below(members.u, 4) as u64;
            let [outer, inner] = if layout == "csc" { [extents[1], extents[0]] } else { [extents[0], extents[1]] };
            compressed(&mut members, [outer, inner, stored], declared.ty);
        }
    }
    if members.u.ratio(1, 4).unwrap_or(false) {
        members.of.push(("fill_value", npy(&Array::from_values(declared.ty, [declared.fill]), &[])));
    }
    let shape: Vec<i64> = extents.iter().map(|e| *e as i64).collect();
    members.of.push(("shape", npy(&Array::from(shape), &[rank as u64])));
    // The same bytes as one string, not as numbers.
    let letters = layout.len();
    let mut name = npy(&Array::from(layout.as_bytes().to_vec()), &[letters as u64]);
    replace(&mut name, b"|u1", format!("|S{letters}").as_bytes());
    replace(&mut name, format!("({letters},)").as_bytes(), b"()  ");
    members.of.push(("format", name));
    (layout, members.zipped())
}

/// What an archive will have.
struct Members<'a, 'u> {
    u: &'a mut Unstructured<'u>,
    of: Vec<(&'static str, Vec<u8>)>,
}

impl Members<'_, '_> {
    /// Adds an array of these extents whose numbers are below `most`; it may be damaged, or in the order of columns.
    fn array(&mut self, name: &'static str, extents: &[u64], ty: Type, most: usize) {
        let n = extents.iter().product::<u64>();
        let values = Array::from_values(ty, (0..n).map(|_| Value::from_i128(ty, below(self.u, most.max(1)) as i128)));
        self.exactly(name, extents, &values);
    }

    fn exactly(&mut self, name: &'static str, extents: &[u64], values: &Array) {
        let mut bytes = npy(values, extents);
        if self.u.ratio(1, 4).unwrap_or(false) {
            replace(&mut bytes, b"False", b"True ");
        }
        for _ in 0..below(self.u, 8) / 6 {
            damage(self.u, &mut bytes);
        }
        self.of.push((name, bytes));
    }

    fn zipped(self) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let deflated = self.u.arbitrary().unwrap_or(false);
        let method = if deflated { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
        let options = SimpleFileOptions::default().compression_method(method);
        for (name, bytes) in self.of {
            let written = zip.start_file(format!("{name}.npy"), options).map(|()| zip.write_all(&bytes));
            written.expect("no name twice").expect("memory");
        }
        zip.finish().expect("memory").into_inner()
    }
}

/// So many rows and columns with so many entries, which are mostly within them.
fn compressed(members: &mut Members, [rows, columns, stored]: [u64; 3], ty: Type) {
    let positions = (0..=rows).map(|i| if i == 0 { 0 } else { (stored * i / rows) as i64 });
    members.exactly("indptr", &[rows + 1], &Array::from(positions.collect::<Vec<i64>>()));
    let most = if members.u.ratio(1, 8).unwrap_or(false) { 5 } else { columns as usize };
    members.array("indices", &[stored], Type::I32, most);
    members.array("data", &[stored], ty, 4);
}

fn coo(members: &mut Members, many: bool, extents: &[u64], ty: Type) {
    let (modes, stored) = (extents.len() as u64, below(members.u, 3) as u64);
    if many {
        members.array("coords", &[modes, stored], Type::I64, 4);
    } else {
        members.array("row", &[stored], Type::I64, 4);
        members.array("col", &[stored], Type::I32, 4);
    }
    members.array("data", &[stored], ty, 4);
}

fn gcxs(members: &mut Members, extents: &[u64], ty: Type) {
    let outer: Vec<i64> = (0..extents.len() as i64).filter(|_| members.u.arbitrary().unwrap_or(false)).collect();
    let rows: u64 = outer.iter().map(|m| extents[*m as usize]).product();
    let columns = extents.iter().product::<u64>().checked_div(rows).unwrap_or(0);
    members.exactly("compressed_axes", &[outer.len() as u64], &Array::from(outer));
    let stored = below(members.u, 3) as u64;
    compressed(members, [rows, columns, stored], ty);
}

/// Blocks, which mostly divide the matrix.
fn bsr(members: &mut Members, extents: &[u64], ty: Type) {
    let block = [0, 1].map(|m| match (below(members.u, 8), extents[m]) {
        (0, _) => 2,
        (1 | 2, extent) => extent.max(1),
        (_, extent) => {
            if extent % 2 == 0 {
                2
            } else {
                1
            }
        }
    });
    let (stored, [rows, columns]) = (below(members.u, 3) as u64, [0, 1].map(|m| extents[m] / block[m]));
    compressed(members, [rows, columns, stored], ty);
    members.of.pop();
    members.array("data", &[stored, block[0], block[1]], ty, 3);
}

fn dia(members: &mut Members, ty: Type) {
    let (diagonals, width) = (below(members.u, 3) as u64, below(members.u, 5) as u64);
    let offsets = (0..diagonals as i64).map(|d| (3 * d + below(members.u, 3) as i64) - 3).collect::<Vec<_>>();
    members.exactly("offsets", &[diagonals], &Array::from(offsets));
    members.array("data", &[diagonals, width], ty, 3);
}

/// A `.npy` file of an array of these extents.
fn npy(values: &Array, extents: &[u64]) -> Vec<u8> {
    let array = Tensor::dense(extents.to_vec(), Value::zero(values.ty()), values.borrow());
    data::to_bytes(Path::new("a member"), Kind::Npy, &array.expect("as many as its extents say"), u64::MAX)
        .expect("every .npy file is written")
}

/// The file packed by gzip, perhaps damaged then.
pub fn packed(u: &mut Unstructured, file: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(file).expect("memory");
    let mut bytes = packer.finish().expect("memory");
    if u.ratio(1, 4).unwrap_or(false) {
        damage(u, &mut bytes);
    }
    bytes
}

/// Replaces the first `old` by `new`, which is as long.
fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    let at = bytes.windows(old.len()).position(|w| w == old).expect("the header says it");
    bytes[at..at + new.len()].copy_from_slice(new);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn archives_of_every_layout_are_read_and_refused() {
        let mut seen: HashMap<&str, [usize; 2]> = HashMap::new();
        for seed in 0..3000 {
            let bytes = crate::bytes(seed, 200);
            let format = Format::csf(2);
            let declared =
                Declared { ty: Type::I32, extents: vec![None; 2], fill: Value::zero(Type::I32), format: &format };
            let (layout, file) = archive(&mut Unstructured::new(&bytes), &declared);
            let read =
                data::read_bytes(Path::new("an archive"), Kind::Npz, &file, &declared, &data::Options::default());
            let (what, some) = read.map_or((0, true), |t| (1, t.stored() > 0));
            seen.entry(layout).or_default()[what] += some as usize;
        }
        assert!(seen.len() == 6 && seen.values().flatten().all(|n| *n > 20), "{seen:?}");
    }
}
