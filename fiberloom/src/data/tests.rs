//! Readers on small literal files, hostile ones among them; writers read back.

use super::*;
use fiberloom_core::format::{Array, Level, added};

fn declared<'a>(ty: Type, format: &'a Format) -> Declared<'a> {
    Declared { ty, rank: format.rank(), fill: Value::zero(ty), format }
}

fn read_as(kind: Kind, bytes: &[u8], ty: Type, format: &str, rank: usize) -> Result<Tensor<'static>, Error> {
    let format = Format::named(format, rank).unwrap();
    let options = Options { limit: 1 << 24, ..Options::default() };
    let t = read_bytes(Path::new("in"), kind, bytes, &declared(ty, &format), &options)?;
    assert_eq!(t.check(), Ok(()));
    assert_eq!(t.format, stored_format(&format));
    Ok(t)
}

fn mtx(text: &str) -> Result<Tensor<'static>, Error> {
    read_as(Kind::Mtx, text.as_bytes(), Type::F64, "csr", 2)
}

fn dense(t: &Tensor) -> Vec<f64> {
    t.to_dense(1 << 20).unwrap().iter().map(|v| v.as_f64()).collect()
}

#[track_caller]
fn refused(result: Result<Tensor, Error>, begins: &str, says: &str) {
    let e = result.expect_err("refused").to_string();
    assert!(e.starts_with(begins) && e.contains(says), "{e}");
}

const HEAD: &str = "%%MatrixMarket matrix coordinate real general\n";

#[test]
fn coordinates_in_any_order_with_comments_and_blank_lines() {
    let t = mtx("%%matrixmarket MATRIX Coordinate Real General\r\n%c\n\n 2 3 3 \n2 1 5e-1\n\n% c\n1 3 -2\r\n1 1 7")
        .unwrap();
    assert_eq!(dense(&t), [7.0, 0.0, -2.0, 0.5, 0.0, 0.0]);
    let Level::Compressed { pos, crd } = &t.levels[1] else { panic!() };
    assert_eq!((pos, crd), (&vec![0i32, 2, 3].into(), &vec![0i32, 2, 0].into()));
}

#[test]
fn every_field_and_symmetry() {
    let t = mtx("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n").unwrap();
    assert_eq!(dense(&t), [1.0, 1.0, 1.0, 0.0]);
    let t = mtx("%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 3\n").unwrap();
    assert_eq!(dense(&t), [0.0, -3.0, 3.0, 0.0]);
    let t = mtx("%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n2 1 3\n").unwrap();
    assert_eq!(dense(&t), [0.0, 3.0, 3.0, 0.0]);
    let t = mtx("%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n").unwrap();
    assert_eq!(dense(&t), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    let t = mtx("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n").unwrap();
    assert_eq!(dense(&t), [1.0, 2.0, 2.0, 3.0]);
    let t = mtx("%%MatrixMarket matrix array real skew-symmetric\n2 2\n2\n").unwrap();
    assert_eq!(dense(&t), [0.0, -2.0, 2.0, 0.0]);
    assert_eq!(dense(&mtx("%%MatrixMarket matrix array real skew-symmetric\n1 1\n").unwrap()), [0.0]);
    refused(mtx("%%MatrixMarket matrix coordinate complex general\n1 1 0\n"), "in:1:34:", "complex");
    refused(mtx("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n"), "in:2:1:", "square");
    refused(mtx("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 1\n"), "in:3:1:", "diagonal");
}

#[test]
fn a_vector_is_one_column_and_a_scalar_one_element() {
    let text = format!("{HEAD}3 1 1\n2 1 5\n");
    let t = read_as(Kind::Mtx, text.as_bytes(), Type::F64, "sparse", 1).unwrap();
    assert_eq!((&t.extents[..], dense(&t)), (&[3u64][..], vec![0.0, 5.0, 0.0]));
    refused(read_as(Kind::Mtx, text.as_bytes(), Type::F64, "dense", 0), "in:2:1:", "3 by 1");
    let t = read_as(Kind::Mtx, format!("{HEAD}1 1 1\n1 1 5\n").as_bytes(), Type::F64, "dense", 0).unwrap();
    assert_eq!(dense(&t), [5.0]);
}

#[test]
fn values_are_exact_in_the_declared_type_or_refused() {
    let read = |value: &str, ty| read_as(Kind::Mtx, format!("{HEAD}1 1 1\n1 1 {value}\n").as_bytes(), ty, "csr", 2);
    assert_eq!(read("3.0", Type::I8).unwrap().values, vec![3i8].into());
    assert_eq!(read("9223372036854775807", Type::I64).unwrap().values, vec![i64::MAX].into());
    assert_eq!(read("0.1", Type::F32).unwrap().values, vec![0.1f32].into());
    assert_eq!(read("1", Type::Bool).unwrap().values, Array::of_bools(&[1]));
    refused(read("2.5", Type::I32), "in:3:5:", "2.5 is not exactly a value of type i32");
    refused(read("300", Type::U8), "in:3:5:", "300 is not exactly");
    refused(read("-1", Type::U64), "in:3:5:", "-1 is not exactly");
    refused(read("2", Type::Bool), "in:3:5:", "2 is not exactly");
    refused(read("nan", Type::I64), "in:3:5:", "nan is not exactly");
    let integer = "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9007199254740993\n";
    refused(mtx(integer), "in:3:5:", "9007199254740993 is not exactly a value of type f64");
    refused(mtx(&integer.replace("9007199254740993", "1.5")), "in:3:5:", "expected an integer, not `1.5`");
}

#[test]
fn hostile_text_is_refused_at_its_place() {
    for (body, begins, says) in [
        ("", "in:2:1:", "the number of rows"),
        ("2 2\n", "in:2:4:", "the number of entries"),
        ("-2 2 1\n", "in:2:1:", "the number of rows"),
        ("99999999999999999999 2 1\n", "in:2:1:", "below 2^63"),
        ("2 2 1 1\n", "in:2:7:", "the end of the line"),
        ("2 2 18446744073709551615\n", "in:2:5:", "the number of entries"),
        ("2 2 9223372036854775807\n1 1 1\n", "in:4:1:", "after 1 of"),
        ("2 2 1\n0 1 1\n", "in:3:1:", "a coordinate from 1 to 2, not `0`"),
        ("2 2 1\n1 3 1\n", "in:3:3:", "a coordinate from 1 to 2, not `3`"),
        ("2 2 1\n1 -1 1\n", "in:3:3:", "not `-1`"),
        ("2 2 1\n1 1 x\n", "in:3:5:", "expected a number, not `x`"),
        ("2 2 1\n1 1\n", "in:3:4:", "expected a number before the end of the line"),
        ("2 2 1\n1 1 1 1\n", "in:3:7:", "the end of the line"),
        ("2 2 1\n1 1 1\n2 2 2\n", "in:4:1:", "end after its 1 entries"),
        ("2 2 3\n2 1 1\n% c\n\n1 2 1\n2 1 5\n", "in:7:1:", "(1, 0) stand twice"),
        ("2 2 1\n1 1 \u{fe}\n", "in:3:5:", "expected a number"),
    ] {
        refused(mtx(&format!("{HEAD}{body}")), begins, says);
    }
    assert!(mtx("%MatrixMarket matrix coordinate real general\n1 1 0\n").is_ok(), "one `%` is understood");
    refused(mtx(""), "in:1:1:", "%%MatrixMarket");
    refused(mtx("%%MatrixMarket matrix\n"), "in:1:22:", "`coordinate` or `array`");
    let huge = mtx(&format!("{HEAD}9223372036854775807 1 0\n")).unwrap_err();
    assert_eq!(huge.cause, Cause::Limit);
    let sparse = format!("{HEAD}9223372036854775807 9223372036854775807 1\n9223372036854775807 1 2\n");
    let t = read_as(Kind::Mtx, sparse.as_bytes(), Type::F64, "dcsr", 2).unwrap();
    assert_eq!(t.entries().next(), Some((vec![i64::MAX - 1, 0], Value::from_f64(Type::F64, 2.0))));
}

#[test]
fn duplicates_combine_when_asked() {
    let format = Format::named("csr", 2).unwrap();
    let options = Options { duplicates: Duplicates::Combine(&added), ..Options::default() };
    let text = format!("{HEAD}2 2 3\n2 1 1\n1 2 1\n2 1 5\n");
    let t = read_bytes(Path::new("in"), Kind::Mtx, text.as_bytes(), &declared(Type::F64, &format), &options).unwrap();
    assert_eq!(dense(&t), [0.0, 1.0, 6.0, 0.0]);
}

/// A `.npy` file.
fn npy_file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((header.len() as u16).to_le_bytes()),
        _ => bytes.extend((header.len() as u32).to_le_bytes()),
    }
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn npy(version: u8, header: &str, data: &[u8], ty: Type, rank: usize) -> Result<Tensor<'static>, Error> {
    read_as(Kind::Npy, &npy_file(version, header, data), ty, "dense", rank)
}

#[test]
fn npy_of_every_version_and_order() {
    let bytes: Vec<u8> = (1..=6).collect();
    for version in 1..=3 {
        let c = npy(version, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }\n", &bytes, Type::U8, 2);
        assert_eq!(c.unwrap().values, vec![1u8, 2, 3, 4, 5, 6].into());
    }
    let f = npy(1, "{\"shape\": (2L, 3L), 'fortran_order': True, 'descr': '|i1'}", &bytes, Type::I64, 2);
    assert_eq!(f.unwrap().values, vec![1i64, 3, 5, 2, 4, 6].into());
    let big = npy(1, "{'descr': '>i2', 'fortran_order': False, 'shape': (3,)}", &bytes, Type::I32, 1);
    assert_eq!(big.unwrap().values, vec![0x102i32, 0x304, 0x506].into());
    let scalar = npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': ()}", &1.5f32.to_le_bytes(), Type::F64, 0);
    assert_eq!(scalar.unwrap().values, vec![1.5f64].into());
}

#[test]
fn dense_data_keep_what_is_not_bit_identical_to_the_fill() {
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}";
    let data: Vec<u8> = [0.0f64, -0.0, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let t = read_as(Kind::Npy, &npy_file(1, header, &data), Type::F64, "sparse", 1).unwrap();
    assert_eq!(t.stored(), 2);
}

#[test]
fn hostile_npy_is_refused_at_its_place() {
    let head = |descr: &str, shape: &str| format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}");
    for (file, begins, says) in [
        (b"\x93NUMPX".to_vec(), "in: byte 0:", "NUMPY"),
        (b"\x93NUMPY".to_vec(), "in: byte 6:", "within its header"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(), "in: byte 13:", "within its header"),
        (npy_file(4, "", b""), "in: byte 6:", "version 4"),
        (npy_file(1, "{'descr': [('a', '<f8')]}", b""), "in: byte 19:", "a string"),
        (npy_file(1, &head("<c16", "(1,)"), &[0; 16]), "in: byte", "type `<c16`"),
        (npy_file(1, &head("|O", "(1,)"), &[0; 16]), "in: byte", "type `|O`"),
        (npy_file(1, &head("<f8", "(2,)"), &[0; 8]), "in: byte", "8 bytes of data for 2 elements"),
        (npy_file(1, &head("<f8", "(1,)"), &[0; 9]), "in: byte", "9 bytes of data for 1 elements"),
        (npy_file(1, &head("<f8", "(9223372036854775807, 9223372036854775807)"), &[]), "in: byte", "0 bytes of data"),
        (npy_file(1, &head("<f8", "(-1,)"), &[]), "in: byte", "an extent below 2^63"),
        (npy_file(1, &head("<f8", "(99999999999999999999,)"), &[]), "in: byte", "an extent below 2^63"),
        (npy_file(1, &head("|b1", "(2,)"), &[1, 2]), "in: byte", "not 2"),
        (npy_file(1, &head("<f8", "(1, 1)"), &[0; 8]), "in: byte 10:", "2 modes"),
    ] {
        refused(read_as(Kind::Npy, &file, Type::F64, "dense", 1), begins, says);
    }
    let inexact = npy_file(1, &head("<f8", "(1,)"), &0.5f64.to_le_bytes());
    refused(read_as(Kind::Npy, &inexact, Type::I32, "dense", 1), "in: element 0:", "0.5 is not exactly");
}

#[test]
fn no_prefix_and_no_changed_byte_of_a_file_panics() {
    let matrix = mtx("%%MatrixMarket matrix coordinate integer symmetric\n3 3 3\n1 1 4\n2 1 -5\n3 3 6\n").unwrap();
    let dir = Scratch::new("bytes");
    for kind in [Kind::Mtx, Kind::Npy, Kind::Npz] {
        let path = dir.0.join(match kind {
            Kind::Mtx => "m.mtx",
            Kind::Npy => "m.npy",
            Kind::Npz => "m.npz",
        });
        write(&path, &matrix, 1 << 20).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for n in 0..bytes.len() {
            let _ = read_as(kind, &bytes[..n], Type::F64, "csr", 2);
            for change in [0, b'9', 0xff] {
                let mut changed = bytes.clone();
                changed[n] = change;
                let _ = read_as(kind, &changed, Type::F64, "csr", 2);
            }
        }
    }
}

/// A directory that goes away with the test.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("fiberloom-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_is_written_is_read_back() {
    let dir = Scratch::new("back");
    for ty in Type::ALL {
        for format in ["csr", "csc", "dcsr", "dense"] {
            let format = Format::named(format, 2).unwrap();
            let entries = [(vec![0, 2], Value::one(ty)), (vec![1, 0], Value::one(ty))];
            let t = Tensor::from_entries(vec![2, 3], format.clone(), Value::zero(ty), Type::I32, Type::I32, entries);
            let t = t.unwrap();
            for name in ["t.mtx", "t.npy", "t.npz"] {
                let path = dir.0.join(name);
                write(&path, &t, 1 << 20).unwrap();
                assert_eq!(
                    read(&path, &declared(ty, &format), &Options::default()).unwrap(),
                    t,
                    "{ty} {format} {name}"
                );
            }
        }
    }
    assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), 3, "only the targets are left");
}

#[test]
fn nothing_is_left_half_written() {
    let dir = Scratch::new("half");
    let t = Tensor::scalar(Value::one(Type::F64));
    let (good, bad) = (dir.0.join("s.npy"), dir.0.join("s.npz"));
    std::fs::write(&good, "old").unwrap();
    assert_eq!(write_all(&[(&good, &t), (&bad, &t)], 1 << 20).unwrap_err().cause, Cause::Rejected);
    assert_eq!(std::fs::read(&good).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), 1);
    let nowhere = dir.0.join("none").join("s.npy");
    assert_eq!(write(&nowhere, &t, 1 << 20).unwrap_err().cause, Cause::Io);
    let wide =
        Tensor::from_entries(vec![1 << 20, 1 << 20], Format::csf(2), Value::zero(Type::F64), Type::I32, Type::I32, []);
    assert_eq!(write(&good, &wide.unwrap(), 1 << 20).unwrap_err().cause, Cause::Limit);
    assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), 1);
}

#[test]
fn structured_formats_hold_the_function_that_they_can() {
    let read = |text: &str, kind| {
        let format = Format::of(vec![fiberloom_core::format::LevelKind::Dense, kind]);
        read_bytes(Path::new("in"), Kind::Mtx, text.as_bytes(), &declared(Type::F64, &format), &Options::default())
    };
    use fiberloom_core::format::LevelKind::{Lower, Symmetric, Upper};
    let text = format!("{HEAD}2 2 2\n1 1 1\n2 1 5\n");
    assert_eq!(dense(&read(&text, Lower).unwrap()), [1.0, 0.0, 5.0, 0.0]);
    refused(read(&text, Upper), "in:", "at (1, 0) does not fit the format {dense, upper}");
    refused(read(&text, Symmetric), "in:", "does not fit");
    assert_eq!(dense(&read(&text.replace("general", "symmetric"), Symmetric).unwrap()), [1.0, 5.0, 5.0, 0.0]);
}
