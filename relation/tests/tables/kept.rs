//! Packs: what is beside a border of its arrays, what is stale, what is of another program.

use super::*;
use fiberloom_data::error::Error as Refused;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// A folder that goes away with the test.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("fiberloom-packs-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Packs a program's table `t`, and reads it for another program.
    fn packed(&self, text: &str, frame: Frame, other: &str) -> Result<(Bound, Bound), Refused> {
        let (csv, pack) = (self.0.join("t.csv"), self.0.join("t.pack"));
        let (relations, program) = checked(text);
        let given = Given { frames: &[("t", frame)], sizes: &[], limit: 1 << 20 };
        let bound = bind(&relations, &program, &given)?;
        write_pack(&pack, (&relations, &program), &bound, &[("t", &csv)]).unwrap();
        let (relations, program) = checked(other);
        let again = read_pack(&pack, (&relations, &program), 1 << 20)?;
        Ok((bound, again))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Numbers at the ends of each type that an array may be packed in.
#[test]
fn packed_arrays_hold_what_stands_in_them() {
    let folder = Folder::new("ends");
    let text = "dim K: i64  table t[row: N] { n: i64, k: K }  s[] = sum(i: n[i]) + count(i: k[i] > 0)";
    let ends = [7, 8, 15, 16, 31, 32, 63].map(|bits| (1i128 << bits) - 1);
    for most in ends.into_iter().flat_map(|n| [n, n + 1]).filter_map(|n| i64::try_from(n).ok()) {
        for end in [most, -most, (-most).wrapping_sub(1)] {
            let columns = vec![Column::new("n", whole([0, end])), Column::new("k", whole([end, end / 2]))];
            let (bound, again) = folder.packed(text, Frame::new("t.csv", columns).unwrap(), text).unwrap();
            assert_eq!(again.labels, bound.labels, "{end}");
            for (name, tensor) in &again.operands {
                let before = bound.operands.iter().find(|(n, _)| n == name).map(|(_, tensor)| tensor);
                assert_eq!(Some(tensor), before, "{name}, {end}");
            }
        }
    }
}

/// Labels of more bytes than characters.
#[test]
fn packed_labels_are_the_texts_that_they_were() {
    let folder = Folder::new("labels");
    let text = "dim D: string  table t[k: D] { n: i64 }  s[] = sum(i: n[i])";
    let columns = vec![Column::new("k", texts(["é", "日本", "", "z"])), Column::new("n", whole([1, 2, 3, 4]))];
    let (bound, again) = folder.packed(text, Frame::new("t.csv", columns).unwrap(), text).unwrap();
    assert_eq!(again.labels, [Dictionary::Texts(Texts::of(["", "z", "é", "日本"]).unwrap())]);
    assert_eq!(again.labels, bound.labels);
}

/// What stands for a null is in the pack: another program's is refused.
#[test]
fn packs_are_of_what_stands_for_a_null() {
    let folder = Folder::new("nulls");
    let of = |fill: &str| format!("table t[row: N] {{ n: i64 {fill} }}  s[] = sum(i: n[i])");
    let frame = || {
        let column = Column::new("n", whole([1, 0])).with_nulls(vec![false, true]);
        Frame::new("t.csv", vec![column]).unwrap()
    };
    assert!(folder.packed(&of("fill 7"), frame(), &of("fill 7")).is_ok());
    for other in ["fill 8", "fill -7", ""] {
        let (_, said) = says(folder.packed(&of("fill 7"), frame(), &of(other)));
        let what = "it is of another program: `table t` is declared otherwise: pack the tables of this program anew";
        assert!(said.ends_with(what), "{said}");
    }
}

/// A file of the same length, written at another time, is another.
#[test]
fn packs_of_files_of_another_time_are_stale() {
    let folder = Folder::new("times");
    let text = "table t[row: N] { n: i64 }  s[] = sum(i: n[i])";
    let csv = folder.0.join("t.csv");
    std::fs::write(&csv, "n\n1\n").unwrap();
    let frame = || Frame::new("t.csv", vec![Column::new("n", whole([1]))]).unwrap();
    folder.packed(text, frame(), text).unwrap();
    let (relations, program) = checked(text);
    let read = || read_pack(&folder.0.join("t.pack"), (&relations, &program), 1 << 20);
    for distance in [Duration::from_nanos(1), Duration::from_secs(1), Duration::from_secs(3600)] {
        let file = std::fs::File::options().write(true).open(&csv).unwrap();
        let before = file.metadata().unwrap().modified().unwrap();
        assert!(read().is_ok());
        file.set_modified(before - distance).unwrap();
        if file.metadata().unwrap().modified().unwrap() != before {
            assert!(says(read()).1.contains("it is stale: `"), "{distance:?}");
        }
        file.set_modified(before).unwrap();
    }
    std::fs::write(&csv, "n\n2\n").unwrap();
    std::fs::File::options().write(true).open(&csv).unwrap().set_modified(SystemTime::now()).unwrap();
    assert!(says(read()).1.contains("table `t`, has changed since"));
}
