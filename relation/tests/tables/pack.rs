//! Packs: written and read back, of other tables, of files that changed, damaged.

use super::kept::Folder;
use super::*;
use fiberloom_data::error::Error as Refused;
use std::io::{Cursor, Read, Write};
use zip::{ZipArchive, ZipWriter, write::SimpleFileOptions};

const PROGRAM: &str = "dim CITY: string  dim K: i64  dim R: i64
    table sales[k: K, row: N] { city: CITY, amount: dec(2), note: string, r: R } {dense, ragged}
    table keys[k: K] { big: i64 } sparse
    tensor total: dec(2)[CITY]
    total[city[k,n]] += if like(note[k,n], \"%x%\") && r[k,n] >= 7 then amount[k,n] * big[k] else 0";

fn frames() -> [(&'static str, Frame<'static>); 2] {
    let whole = |name: &str, all: Vec<i64>| Column::new(name, Values::Plain(Array::from(all)));
    let texts = |name: &str, all: [&str; 4]| Column::new(name, Values::Texts(Texts::of(all).unwrap()));
    let sales = vec![
        whole("k", vec![1, 1, 3, 9]),
        texts("city", ["Rom", "Bonn", "Rom", "Aix"]),
        Column::new("amount", Values::Decimals(Array::from(vec![150i64, -7, 1 << 40, 0]), 2)),
        texts("note", ["x", "ax", "", "y"]),
        whole("r", vec![7, 1000, -5, 7]),
    ];
    let keys = vec![whole("k", vec![9, 3, 1]), whole("big", vec![i64::MAX, 2, 3])];
    [("sales", Frame::new("s.csv", sales).unwrap()), ("keys", Frame::new("k.csv", keys).unwrap())]
}

/// A program, what its tables are, and these as a pack, which is written to a folder.
fn packed(folder: &Folder, sources: &[(&str, &Path)]) -> ((Relations, Program), Bound, Vec<u8>) {
    let program = checked(PROGRAM);
    let given = Given { frames: &frames(), sizes: &[], limit: 1 << 20 };
    let bound = bind(&program.0, &program.1, &given).unwrap();
    let pack = folder.0.join("t.pack");
    write_pack(&pack, (&program.0, &program.1), &bound, sources).unwrap();
    (program, bound, std::fs::read(pack).unwrap())
}

fn read_of(folder: &Folder, program: &(Relations, Program), bytes: &[u8]) -> Result<Bound, Refused> {
    let pack = folder.0.join("t.pack");
    std::fs::write(&pack, bytes).unwrap();
    read_pack(&pack, (&program.0, &program.1), 1 << 20)
}

/// What is said of a pack that is refused, without its folder.
fn says(folder: &Folder, result: Result<Bound, Refused>) -> String {
    let said = result.map(|bound| bound.operands.len()).expect_err("refused").to_string();
    said.replace(&folder.0.join("t.pack").display().to_string(), "t.pack")
}

#[test]
fn tables_come_back_as_they_were_bound() {
    let folder = Folder::new("back");
    let (program, bound, bytes) = packed(&folder, &[]);
    let again = read_of(&folder, &program, &bytes).unwrap();
    assert_eq!(again.labels, bound.labels);
    let sorted = |bound: &Bound| {
        let mut all = bound.operands.clone();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    assert_eq!(sorted(&again), sorted(&bound));
    assert!(bound.operands.len() >= 6, "{}", bound.operands.len());
    // Levels are of all columns together.
    let levels = |name: &str| {
        let (_, tensor) = again.operands.iter().find(|(n, _)| n == name).unwrap();
        tensor.levels[1].arrays().next().unwrap().as_ptr()
    };
    assert_eq!(levels("amount"), levels("city"));
}

/// Literals are asked of the labels when a pack is read.
#[test]
fn another_program_over_the_same_tables_reads_them() {
    let folder = Folder::new("another");
    let (_, _, bytes) = packed(&folder, &[]);
    let other = checked(&PROGRAM.replace(">= 7", "== 1000"));
    let given = Given { frames: &frames(), sizes: &[], limit: 1 << 20 };
    let bound = bind(&other.0, &other.1, &given).unwrap();
    let again = read_of(&folder, &other, &bytes).unwrap();
    for (name, tensor) in &again.operands {
        assert_eq!(Some(tensor), bound.operands.iter().find(|(n, _)| n == name).map(|(_, t)| t), "{name}");
    }
    assert_eq!(again.operands.len(), bound.operands.len());
}

#[test]
fn packs_of_other_tables_are_refused_by_name() {
    let folder = Folder::new("other");
    let (_, _, bytes) = packed(&folder, &[]);
    let refuses = |from: &str, to: &str| says(&folder, read_of(&folder, &checked(&PROGRAM.replace(from, to)), &bytes));
    let anew = "pack the tables of this program anew";
    let other = |what: &str| format!("t.pack: it is of another program: `{what}` is declared otherwise: {anew}");
    assert_eq!(refuses("{dense, ragged}", "csr"), other("table sales"));
    assert_eq!(refuses("dim R: i64", "dim R: i32"), other("dim R"));
    assert_eq!(refuses("%x%", "%y%"), other("test note_is"));
    let without = |what: &str| format!("t.pack: it is of another program, without `{what}`: {anew}");
    assert_eq!(refuses("table keys[k", "table more[k"), without("table more"));
    let program = checked(PROGRAM);
    assert!(says(&folder, read_of(&folder, &program, b"PK")).starts_with("t.pack: damaged: "));
    let mut empty = Cursor::new(Vec::new());
    ZipWriter::new(&mut empty).finish().unwrap();
    assert_eq!(says(&folder, read_of(&folder, &program, &empty.into_inner())), "t.pack: no pack: it has no `pack.txt`");
}

#[test]
fn packs_of_files_that_changed_are_stale() {
    let folder = Folder::new("stale");
    let path = folder.0.join("s.csv");
    std::fs::write(&path, "k\n").unwrap();
    let (program, _, bytes) = packed(&folder, &[("sales", &path)]);
    assert!(read_of(&folder, &program, &bytes).is_ok());
    std::fs::write(&path, "k\n1\n").unwrap();
    let says = says(&folder, read_of(&folder, &program, &bytes));
    assert!(says.contains("it is stale: `") && says.contains("table `sales`, has changed since"), "{says}");
    std::fs::remove_file(&path).unwrap();
    assert!(read_of(&folder, &program, &bytes).is_ok(), "a file that is gone has not changed");
}

/// Every byte is changed, and the file is cut everywhere: it is refused, or what is read is well-formed.
#[test]
fn damaged_packs_are_refused() {
    let folder = Folder::new("damaged");
    let (program, _, bytes) = packed(&folder, &[]);
    let (mut refused, mut x) = (0, 1u64);
    let file = folder.0.join("t.pack").display().to_string();
    let mut one = |bytes: &[u8]| match read_of(&folder, &program, bytes) {
        Ok(bound) => bound.operands.iter().for_each(|(name, tensor)| assert_eq!(tensor.check(), Ok(()), "{name}")),
        Err(error) => {
            assert!(matches!(&error, Refused::Data(e) if e.cause != Cause::Io && e.file == file), "{error}");
            refused += 1;
        }
    };
    for at in 0..bytes.len() {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut other = bytes.clone();
        other[at] ^= (x >> 56) as u8 | 1;
        one(&other);
        if at % 8 == 0 {
            one(&bytes[..at]);
        }
    }
    assert!(refused > bytes.len() / 2, "{refused} of {} refused", bytes.len());
}

/// What sums do not find: numbers that are changed before the archive is made.
#[test]
fn contents_are_checked() {
    let folder = Folder::new("contents");
    let (program, _, bytes) = packed(&folder, &[]);
    let changed = |change: &dyn Fn(&str) -> String| {
        let mut from = ZipArchive::new(Cursor::new(&bytes)).unwrap();
        let mut to = ZipWriter::new(Cursor::new(Vec::new()));
        for n in 0..from.len() {
            let mut member = from.by_index(n).unwrap();
            let (name, mut all) = (member.name().unwrap().to_string(), Vec::new());
            member.read_to_end(&mut all).unwrap();
            if name == "pack.txt" {
                all = change(std::str::from_utf8(&all).unwrap()).into_bytes();
            }
            to.start_file(name, SimpleFileOptions::default()).unwrap();
            to.write_all(&all).unwrap();
        }
        read_of(&folder, &program, &to.finish().unwrap().into_inner())
    };
    assert!(changed(&|text| text.to_string()).is_ok());
    let says = |from: &str, to: &str| {
        let replaced = |text: &str| {
            assert!(text.contains(from), "{text}");
            text.replacen(from, to, 1)
        };
        self::says(&folder, changed(&replaced))
    };
    assert!(says("tensor amount 3", "tensor amount 4").contains("damaged: `amount`"));
    assert!(says("tensor amount 3", "tensor amount -3").contains("damaged: `-3`, a number expected"));
    assert!(says("tensor amount ", "tensor amount 7,").contains("extents of another tensor"));
    assert!(says("tensor amount ", "tensor other ").contains("it has no `amount`: pack the tables anew"));
    assert!(says("labels texts 0 1", "labels range 0 3").contains("the labels of `CITY` are of another kind"));
    assert!(says("labels texts 0 1", "labels texts 1 1").contains("elements of type i8, u8 expected"));
    assert!(says("labels texts 0 1", "labels texts 0 99").contains("damaged: "));
    assert!(says("labels texts 0 1\n", "").contains("labels of 2 domains of 3"));
    assert!(says("fiberloom pack 1", "fiberloom pack 9").contains("another version of packs"));
}
