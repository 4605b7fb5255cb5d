//! Files packed by gzip, and what other programs write in texts.

use super::*;
use flate2::{Compression, write::GzEncoder};
use std::io::Write;

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn read_packed(name: &str, bytes: &[u8]) -> Result<Tensor<'static>, Error> {
    let format = Format::named("csr", 2).unwrap();
    let kind = Kind::of(Path::new(name))?;
    read_bytes(Path::new(name), kind, bytes, &declared(Type::F64, &format), &Options::default())
}

#[test]
fn every_kind_is_read_packed() {
    let matrix = mtx(&format!("{HEAD}2 3 2\n1 2 5\n2 1 -1.5\n")).unwrap();
    for kind in Kind::ALL {
        let plain = to_bytes(Path::new("m"), kind, &matrix, 1 << 20).unwrap();
        let name = format!("m.{}.gz", kind.extension());
        assert_eq!(read_packed(&name, &packed(&plain)).unwrap(), matrix, "{name}");
        // Two packed files behind one another are one.
        let (begin, end) = plain.split_at(plain.len() / 2);
        assert_eq!(read_packed(&name, &[packed(begin), packed(end)].concat()).unwrap(), matrix, "{name}");
    }
}

#[test]
fn packed_files_are_written_and_read_back() {
    let dir = Scratch::new("packed");
    let matrix = mtx(&format!("{HEAD}2 3 2\n1 2 5\n2 1 -1.5\n")).unwrap();
    for kind in Kind::ALL {
        let path = dir.0.join(format!("m.{}.gz", kind.extension()));
        let refusal = write(&path, &matrix, 1 << 20).err();
        assert_eq!(refusal.as_ref().map(|e| e.cause), (kind == Kind::Npz).then_some(Cause::Extension));
        assert_eq!(holds(&path, 2).err(), refusal);
        if refusal.is_none() {
            let bytes = std::fs::read(&path).unwrap();
            assert_eq!(bytes[..2], [0x1f, 0x8b]);
            assert_eq!(read(&path, &declared(Type::F64, &matrix.format), &Options::default()).unwrap(), matrix);
        }
    }
    assert_eq!(Kind::of(Path::new("m.gz")).unwrap_err().cause, Cause::Extension);
    assert_eq!(Kind::of(Path::new("m.mtx.gz.gz")).unwrap_err().cause, Cause::Extension);
}

/// Faults are where they stand in what is packed; what cannot be unpacked is refused where the text ends.
#[test]
fn damaged_packed_files_are_refused_with_a_place() {
    let text = format!("{HEAD}2 3 2\n1 2 5\n2 1 x\n");
    refused(read_packed("m.mtx.gz", &packed(text.as_bytes())), "m.mtx.gz:4:5:", "expected a number, not `x`");
    let whole = packed(format!("{HEAD}2 3 2\n1 2 5\n2 1 7\n").as_bytes());
    refused(read_packed("m.mtx.gz", &whole[..whole.len() - 9]), "m.mtx.gz:", "damaged");
    refused(read_packed("m.mtx.gz", b"%%MatrixMarket"), "m.mtx.gz:1:1:", "damaged");
    refused(read_packed("m.mtx.gz", b""), "m.mtx.gz:1:1:", "");
    for n in 0..whole.len() {
        assert!(read_packed("m.mtx.gz", &whole[..n]).is_err(), "{n} bytes of {}", whole.len());
        let mut changed = whole.clone();
        changed[n] ^= 0x10;
        let _ = read_packed("m.mtx.gz", &changed);
    }
    let mut checksum = whole.clone();
    checksum[whole.len() - 6] ^= 1;
    refused(read_packed("m.mtx.gz", &checksum), "m.mtx.gz:", "damaged");
    refused(read_packed("m.mtx.gz", &[&whole[..], b"more"].concat()), "m.mtx.gz:", "damaged");
    refused(read_packed("m.npz.gz", &packed(b"PK")), "m.npz.gz:", "not a zip archive");
}

/// Some editors begin a text with a mark; it takes no column.
#[test]
fn a_mark_of_utf8_is_no_part_of_a_text() {
    let marked = |text: &str| format!("\u{feff}{text}");
    assert_eq!(dense(&mtx(&marked(&format!("{HEAD}1 2 1\n1 2 5\n"))).unwrap()), [0.0, 5.0]);
    refused(mtx(&marked("%%MatrixMarket matrices\n")), "in:1:16:", "`matrices` in the header");
    let t = cube(Kind::Tns, &marked("# extents 1 1 1\n1 1 1 4\n")).unwrap();
    assert_eq!(dense(&t), [4.0]);
    refused(mtx(&format!("{HEAD}{}", marked("1 2 1\n1 2 5\n"))), "in:2:1:", "the number of rows");
}

/// Fortran writes exponents with a D.
#[test]
fn exponents_of_fortran() {
    let read = |value: &str, ty| read_as(Kind::Mtx, format!("{HEAD}1 1 1\n1 1 {value}\n").as_bytes(), ty, "csr", 2);
    for (text, x) in [("1.0D+00", 1.0), ("-2.5d-1", -0.25), ("3D2", 300.0), ("0.1D0", 0.1), (".5D+1", 5.0)] {
        assert_eq!(read(text, Type::F64).unwrap().values, vec![x].into(), "{text}");
        assert_eq!(read(text, Type::F32).unwrap().values, vec![x as f32].into(), "{text}");
    }
    assert_eq!(read("9007199254740993.0D+00", Type::I64).unwrap().values, vec![9007199254740993i64].into());
    refused(read("2.5D0", Type::I64), "in:3:5:", "2.5D0 is not exactly a value of type i64");
    refused(read("1.0D+400", Type::F64), "in:3:5:", "1.0D+400 is beyond the largest number of type f64");
    refused(read("4e38", Type::F32), "in:3:5:", "4e38 is beyond the largest number of type f32");
    for text in ["D", "1D", "D5", "1D2D3", "1E2D3", "nanD1", "1D+"] {
        refused(read(text, Type::F64), "in:3:5:", "expected a number");
    }
    let t = cube(Kind::Tns, "# extents 1 1 1\n1 1 1 4.5D0\n").unwrap();
    assert_eq!(dense(&t), [4.5]);
    refused(
        mtx("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1D0\n"),
        "in:3:5:",
        "expected an integer",
    );
}
