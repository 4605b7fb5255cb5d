//! Arrays of no to five modes that NumPy and SciPy wrote in both orders (`tests/data/numpy/orders.py`): what stands at
//! coordinates follows from them, so that no order is taken for another.

use super::*;
use std::io::Cursor;

/// The extents of the first modes.
const EXTENTS: [u64; 5] = [2, 3, 4, 2, 3];

/// Types by the names that files have.
const TYPES: [(&str, Type); 19] = [
    ("bool", Type::Bool),
    ("i1", Type::I8),
    ("u1", Type::U8),
    ("little-i2", Type::I16),
    ("big-i2", Type::I16),
    ("little-u2", Type::U16),
    ("big-u2", Type::U16),
    ("little-i4", Type::I32),
    ("big-i4", Type::I32),
    ("little-u4", Type::U32),
    ("big-u4", Type::U32),
    ("little-i8", Type::I64),
    ("big-i8", Type::I64),
    ("little-u8", Type::U64),
    ("big-u8", Type::U64),
    ("little-f4", Type::F32),
    ("big-f4", Type::F32),
    ("little-f8", Type::F64),
    ("big-f8", Type::F64),
];

/// The members of `orders.zip` by their names.
fn members() -> Vec<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/numpy/orders.zip");
    let mut zip = zip::ZipArchive::new(Cursor::new(std::fs::read(path).unwrap())).unwrap();
    let names: Vec<String> = zip.file_names().map(|name| name.unwrap().into_owned()).collect();
    let content = |name: &String| {
        let mut content = Vec::new();
        std::io::copy(&mut zip.by_name(name).unwrap(), &mut content).unwrap();
        content
    };
    let contents: Vec<Vec<u8>> = names.iter().map(content).collect();
    names.into_iter().zip(contents).collect()
}

/// All coordinates of so many modes, in the order of rows.
fn coordinates(rank: usize) -> Vec<Vec<i64>> {
    let all = EXTENTS[..rank].iter().fold(vec![vec![]], |all: Vec<Vec<i64>>, extent| {
        all.iter().flat_map(|at| (0..*extent as i64).map(move |c| [&at[..], &[c]].concat())).collect()
    });
    assert_eq!(all.len() as u64, EXTENTS[..rank].iter().product::<u64>());
    all
}

/// The number whose digits are the coordinates, the last one first.
fn digits(at: &[i64]) -> i64 {
    at.iter().rev().fold(0, |number, c| 10 * number + c)
}

/// What an array of this type has at coordinates.
fn held(ty: Type, at: &[i64]) -> f64 {
    let number = at.iter().zip(EXTENTS).fold(0, |n, (c, extent)| n * extent as i64 + c);
    let value = match ty {
        Type::Bool => (digits(at) % 3 == 0) as i64,
        Type::I8 => number - 72,
        Type::U8 => number,
        _ => digits(at),
    };
    value as f64
}

/// Formats of so many modes, in both orders.
fn formats(rank: usize) -> Vec<Format> {
    [Format::dense(rank), Format::csf(rank)].into_iter().flat_map(|f| [f.clone(), f.reversed()]).collect()
}

/// The tensor that a member holds, read as this type in each format.
#[track_caller]
fn reads(kind: Kind, (name, content): &(String, Vec<u8>), ty: Type, rank: usize, value: &dyn Fn(&[i64]) -> f64) {
    for format in formats(rank) {
        let read = read_bytes(Path::new(name), kind, content, &declared(ty, &format), &Options::default());
        let t = read.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((t.check(), &t.extents[..]), (Ok(()), &EXTENTS[..rank]), "{name}");
        // Entries by their coordinates: not by way of a dense tensor, whose order might be mistaken the same way.
        let stored: std::collections::BTreeMap<Vec<i64>, f64> = t.entries().map(|(at, v)| (at, v.as_f64())).collect();
        for at in coordinates(rank) {
            assert_eq!(stored.get(&at).copied().unwrap_or(0.0), value(&at), "{name} at {at:?} in {format}");
        }
    }
}

#[test]
fn dense_arrays_of_every_type_rank_and_order() {
    let (all, mut seen) = (members(), 0);
    for rank in 0..=EXTENTS.len() {
        // Of fewer than two modes there is one order.
        for order in if rank < 2 { &["rows"][..] } else { &["rows", "columns"] } {
            for (name, ty) in TYPES {
                let name = format!("{rank}-{order}-{name}.npy");
                let member = all.iter().find(|(n, _)| *n == name).expect("NumPy wrote it");
                let says = String::from_utf8_lossy(&member.1[..128]).into_owned();
                assert_eq!(says.contains("'fortran_order': True"), *order == "columns", "{name}: {says}");
                reads(Kind::Npy, member, ty, rank, &|at| held(ty, at));
                let wider = if ty == Type::F32 { Type::F64 } else { ty };
                reads(Kind::Npy, member, wider, rank, &|at| held(ty, at));
                seen += 1;
            }
        }
    }
    assert_eq!((seen, all.iter().filter(|(name, _)| name.ends_with(".npy")).count()), (190, 190));
}

#[test]
fn archives_of_every_rank_and_order() {
    let all = members();
    for rank in 1..=EXTENTS.len() {
        for order in ["rows", "columns"] {
            let name = format!("{rank}-{order}.npz");
            let member = all.iter().find(|(n, _)| *n == name).expect("SciPy wrote it");
            let value = |at: &[i64]| if digits(at) % 4 == 0 { 0.0 } else { digits(at) as f64 };
            reads(Kind::Npz, member, Type::I64, rank, &value);
            reads(Kind::Npz, member, Type::F64, rank, &value);
        }
    }
}

/// Extents of a header that are one too many, or one too few, are refused by every reader, wherever they stand.
#[test]
fn extents_that_are_more_or_fewer_are_refused() {
    let npy = |shape: &str, bytes: usize, rank| {
        let header = format!("{{'descr': '|u1', 'fortran_order': True, 'shape': {shape}, }}");
        read_as(Kind::Npy, &npy_file(1, &header, &vec![1; bytes]), Type::U8, "dense", rank)
    };
    for (shape, bytes, modes) in [("()", 1, "0 modes"), ("(2,)", 2, "1 mode"), ("(2, 3, 4)", 24, "3 modes")] {
        refused(npy(shape, bytes, 2), "in: byte 10:", &format!("an array of {modes}"));
    }
    assert!(npy("(2, 3)", 6, 2).is_ok());
    // A comment of a `.tns` file: as many extents as modes, no more and no fewer.
    let tns = |text: &str, rank| read_as(Kind::Tns, text.as_bytes(), Type::F64, "csf", rank);
    assert_eq!(tns("# extents 2 3\n1 2 5\n", 2).unwrap().extents, [2, 3]);
    for extents in ["2", "2 3 4", "2 3 4 5", "2 3 1", ""] {
        let text = format!("# extents {extents}\n1 2 5\n");
        refused(tns(&text, 2), "in:1:1:", "extents for a tensor declared with 2 modes expected");
    }
    refused(tns("# extents 2 3 4\n1 5\n", 1), "in:1:1:", "extents for a tensor declared with 1 mode expected");
    refused(tns("2\n2 3 4\n1 2 5\n", 2), "in:2:5:", "the end of the line, not `4`");
    refused(tns("2\n2\n1 2 5\n", 2), "in:2:2:", "the extent of mode 1 expected");
    // Matrix Market: two extents and the number of entries; of a tensor an extent a mode, and perhaps that number.
    let mtx = |kind, text: &str, rank| read_as(kind, text.as_bytes(), Type::F64, "csf", rank);
    let matrix = "%%MatrixMarket matrix coordinate real general\n";
    refused(mtx(Kind::Mtx, &format!("{matrix}2 3 4 1\n1 2 5\n"), 2), "in:2:7:", "the end of the line, not `1`");
    refused(mtx(Kind::Mtx, &format!("{matrix}2 3\n1 2 5\n"), 2), "in:2:4:", "the number of entries");
    let tensor = "%%MatrixMarket tensor coordinate real general\n";
    assert_eq!(mtx(Kind::Mtx, &format!("{tensor}2 3 4 1\n1 2 3 5\n"), 3).unwrap().stored(), 1);
    refused(mtx(Kind::Mtx, &format!("{tensor}2 3 4 1 1\n1 2 3 5\n"), 3), "in:2:9:", "the end of the line, not `1`");
    refused(mtx(Kind::Mtx, &format!("{tensor}2 3\n1 2 3 5\n"), 3), "in:2:4:", "the extent of mode 2");
    let array = "%%MatrixMarket tensor array real general\n";
    refused(mtx(Kind::Mtx, &format!("{array}1 1 1 1\n5\n"), 3), "in:2:7:", "the end of the line, not `1`");
}
