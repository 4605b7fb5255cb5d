//! Texts that are read in pieces, of few bytes or of as many as files are read in, on one thread and on several.

use crate::text::Text;
use crate::{Cause, Declared, Error, Kind, Options, Place, market, npy, read_bytes, tns};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Format, Tensor};
use std::path::Path;

fn declared<'a>(ty: Type, format: &'a Format) -> Declared<'a> {
    Declared { ty, extents: vec![None; format.rank()], fill: Value::zero(ty), format }
}

const HEAD: &str = "%%MatrixMarket matrix coordinate real general\n";

/// A matrix of reals, in rows.
fn read_as(kind: Kind, text: &str) -> Result<Tensor<'static>, Error> {
    let format = Format::named("csr", 2).unwrap();
    read_bytes(Path::new("in"), kind, text.as_bytes(), &declared(Type::F64, &format), &Options::default())
}

fn mtx(text: &str) -> Result<Tensor<'static>, Error> {
    read_as(Kind::Mtx, text)
}

fn dense(t: &Tensor) -> Vec<f64> {
    t.to_dense(1 << 20).unwrap().iter().map(|v| v.as_f64()).collect()
}

/// The bytes of a piece: a line each, some lines, the whole text.
const SIZES: [usize; 5] = [1, 9, 20, 100, usize::MAX];

/// What `work` gives on one thread, and on each of these pools.
fn on_threads<T: Send + PartialEq + std::fmt::Debug>(work: impl Fn() -> T + Sync) -> T {
    let alone = work();
    for n in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        assert_eq!(pool.install(&work), alone, "{n} threads");
    }
    alone
}

/// The matrix that a text is, or the message that refuses it: the same in pieces of every size.
fn read(text: &str, limit: u64) -> Result<Tensor<'static>, String> {
    let format = Format::named("csr", 2).unwrap();
    let options = Options { limit, ..Options::default() };
    let of = |size: usize| {
        let text = Text::in_pieces(text.as_bytes(), b'%', size).unwrap();
        let read = market::tensor(text, &declared(Type::F64, &format), &options);
        read.map_err(|fault| fault.within(Path::new("in")).to_string())
    };
    let whole = of(usize::MAX);
    for size in SIZES {
        assert_eq!(on_threads(|| of(size)), whole, "pieces of {size} bytes of {text}");
    }
    whole
}

fn matrix(text: &str) -> Vec<f64> {
    dense(&read(text, 1 << 20).unwrap())
}

fn message(text: &str) -> String {
    read(text, 1 << 20).unwrap_err()
}

#[test]
fn pieces_are_read_as_the_whole() {
    let expected = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let plain = format!("{HEAD}2 3 6\n2 3 6\n1 1 1\n1 2 2\n2 1 4\n1 3 3\n2 2 5\n");
    assert_eq!(matrix(&plain), expected);
    assert_eq!(matrix(&plain.replace('\n', "\r\n")), expected);
    assert_eq!(matrix(plain.trim_end()), expected);
    assert_eq!(matrix(&plain.replace("1 2 2\n", "% a comment, longer than some pieces\n\n  \t\n1 2 2\n%\n")), expected);
    assert_eq!(matrix(&format!("{plain}\n\n% the end\n   ")), expected);
    assert_eq!(matrix(&plain.replace("1 3 3", &format!("1 3{}3", " ".repeat(200)))), expected);
    assert_eq!(matrix(&format!("{HEAD}1 2 0\n")), [0.0, 0.0]);
    assert_eq!(matrix("%%MatrixMarket matrix array real general\n2 2\n1\n\n3\n% c\n2\n4\n"), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn pieces_of_every_field_and_symmetry() {
    let of = |header: &str, entries: &str| matrix(&format!("%%MatrixMarket matrix coordinate {header}\n{entries}"));
    assert_eq!(of("pattern general", "2 2 3\n2 2\n1 1\n2 1\n"), [1.0, 0.0, 1.0, 1.0]);
    assert_eq!(of("real symmetric", "2 2 3\n2 2 5\n1 1 3\n2 1 4\n"), [3.0, 4.0, 4.0, 5.0]);
    assert_eq!(of("integer skew-symmetric", "3 3 2\n3 2 5\n2 1 4\n"), [0.0, -4.0, 0.0, 4.0, 0.0, -5.0, 0.0, 5.0, 0.0]);
    let complex = message("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n");
    assert!(complex.starts_with("in:1:34: `complex` in the header"), "{complex}");
    let diagonal = message("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 4\n2 2 1\n");
    assert!(diagonal.starts_with("in:4:1: a value other than 0 on the diagonal"), "{diagonal}");
}

#[test]
fn the_first_wrong_line_is_named_whichever_piece_it_stands_in() {
    let plain = format!("{HEAD}9 9 7\n1 1 1\n2 2 2\n% c\n\n3 3 3\n 4 4 4\n5 5 5\n6 6 6\n7 7 7\n");
    let with = |changes: &[(&str, &str)]| {
        message(&changes.iter().fold(plain.clone(), |text, (from, to)| text.replacen(from, to, 1)))
    };
    assert_eq!(with(&[("5 5 5", "5 5 x")]), "in:9:5: expected a number, not `x`");
    assert_eq!(with(&[("4 4 4", "4 10 4"), ("6 6 6", "6 x 6")]), "in:8:4: expected a coordinate from 1 to 9, not `10`");
    assert_eq!(with(&[("7 7 7", "7 7")]), "in:11:4: expected a number before the end of the line");
    assert_eq!(
        with(&[("3 3 3", "3 3 3 3"), ("1 1 1\n", "1 1 1\n%\n")]),
        "in:8:7: expected the end of the line, not `3`"
    );
    let twice = with(&[("6 6 6", "4 4 6")]);
    assert_eq!(twice, "in:10:1: coordinates (3, 3) stand twice: in line 8 too");
    let long = with(&[("5 5 5", &format!("5 5 {}", "5".repeat(5000)))]);
    assert_eq!(long, "in:9:5: a word of more than 4096 bytes");
}

#[test]
fn too_many_and_too_few_entries() {
    let of = |count: usize, entries: &str| message(&format!("{HEAD}9 9 {count}\n{entries}"));
    let three = "1 1 1\n2 2 2\n%\n  3 3 3\n";
    assert_eq!(of(4, three), "in:7:1: the file ends after 3 of 4 entries");
    assert_eq!(of(4, three.trim_end()), "in:6:8: the file ends after 3 of 4 entries");
    assert_eq!(of(4, &format!("{three} % \n  ")), "in:8:3: the file ends after 3 of 4 entries");
    assert_eq!(of(4, ""), "in:3:1: the file ends after 0 of 4 entries");
    assert_eq!(of(2, three), "in:6:3: expected the file to end after its 2 entries");
    assert_eq!(of(2, &three.replace("3 3 3", "x")), "in:6:3: expected the file to end after its 2 entries");
    assert_eq!(of(2, &three.replace("2 2 2", "2 x 2")), "in:4:3: expected a coordinate from 1 to 9, not `x`");
    assert_eq!(of(0, three), "in:3:1: expected the file to end after its 0 entries");
    let array = |values: &str| message(&format!("%%MatrixMarket matrix array real general\n2 2\n{values}"));
    assert_eq!(array("1\n2\n\n3\n"), "in:7:1: the file ends after 3 of 4 values");
    assert_eq!(array("1\n2\n3\n4\n5\n"), "in:7:1: expected the file to end after 4 values");
}

/// A list of entries of a matrix takes 24 bytes each while it is read.
#[test]
fn the_limit_comes_before_what_is_wrong_behind_it() {
    let text = format!("{HEAD}9 9 5\n1 1 1\n2 2 2\n3 3 3\n4 x 4\n5 5 5\n");
    let of = |entries: u64| read(&text, 24 * entries).unwrap_err();
    let over = |entries: u64| format!("in: the data take more than the limit of {} bytes", 24 * entries);
    assert_eq!((of(0), of(2), of(3)), (over(0), over(2), over(3)));
    assert_eq!(of(4), "in:6:3: expected a coordinate from 1 to 9, not `x`");
    let more = text.replace("9 9 5", "9 9 2");
    assert_eq!(read(&more, 24).unwrap_err(), over(1));
    assert_eq!(read(&more, 48).unwrap_err(), "in:5:1: expected the file to end after its 2 entries");
}

/// Many rows, one entry each, in the pieces that files are read in.
fn column(rows: usize) -> String {
    let entries: String = (1..=rows).map(|r| format!("{r} 1 {}\n", r % 7)).collect();
    format!("{HEAD}{rows} 1 {rows}\n{entries}")
}

#[test]
fn long_files_have_many_pieces() {
    let text = column(60_000);
    let values: Vec<f64> = (1..=60_000).map(|r| (r % 7) as f64).collect();
    assert_eq!(on_threads(|| mtx(&text).unwrap().values), values.into());
    // In another form than most programs write: with more blanks, and the ends of lines of another system.
    let other = text.replace(HEAD, "").replace(' ', "  ").replace('\n', " \r\n");
    assert_eq!(mtx(&format!("{HEAD}{other}")), mtx(&text));
    let damaged = text.replace("\n59000 1 ", "\n59000 1 x");
    let begin = on_threads(|| mtx(&damaged).unwrap_err().to_string());
    assert!(begin.starts_with("in:59002:9: expected a number, not `x"), "{begin}");
    let tns = on_threads(|| read_as(Kind::Tns, &text.replace(HEAD, "# ")).unwrap_err());
    assert_eq!(tns.cause, Cause::Extents);
    let tns = text.replace(HEAD, "# extents 60000 1\n# ");
    assert_eq!(on_threads(|| read_as(Kind::Tns, &tns)), Ok(mtx(&text).unwrap()));
}

/// What is wrong before the place at which reading fails is reported, and else the failure.
#[test]
fn failures_to_read_come_behind_what_was_read() {
    let (text, format) = (column(60_000), Format::named("csr", 2).unwrap());
    let of = |text: &str| market::read(Failing(text.as_bytes()), &declared(Type::F64, &format), &Options::default());
    let cause = |text: &str| of(text).map_err(|fault| fault.cause).unwrap_err();
    assert_eq!(on_threads(|| cause(&text)), Cause::Io);
    assert_eq!(on_threads(|| cause(&text[..500_000])), Cause::Io);
    let damaged = text.replace("\n59000 1 ", "\n59000 1 x");
    assert_eq!(on_threads(|| of(&damaged).unwrap_err().place), Place::Line(59_002, 9));
}

/// Yields some bytes at a time, then fails.
struct Failing<'t>(&'t [u8]);

impl std::io::Read for Failing<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.len().min(out.len()).min(3);
        out[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        if n == 0 { Err(std::io::Error::from_raw_os_error(5)) } else { Ok(n) }
    }
}

#[test]
fn what_cannot_be_read_is_a_failure_and_not_the_end_of_a_file() {
    let format = Format::csf(3);
    let declared = declared(Type::F64, &format);
    let fault = tns::read(Failing(b"# extents 2 1 3\n1 1 1 1\n"), &declared, &Options::default()).unwrap_err();
    assert_eq!(fault.cause, Cause::Io);
    let fault = npy::read(Failing(b"\x93NUMPY"), &declared, &Options::default()).unwrap_err();
    assert_eq!(fault.cause, Cause::Io);
}
