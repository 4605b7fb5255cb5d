//! Readers on small literal files, hostile ones among them; writers read back.

mod borders;
mod drawn;
mod numpy;
mod orders;
mod packed;

use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Array, Duplicates, Format, Level, LevelKind, Tensor, added};
use fiberloom_data::*;
use std::path::Path;

fn declared<'a>(ty: Type, format: &'a Format) -> Declared<'a> {
    Declared { ty, extents: vec![None; format.rank()], fill: Value::zero(ty), format }
}

fn read_as(kind: Kind, bytes: &[u8], ty: Type, format: &str, rank: usize) -> Result<Tensor<'static>, Error> {
    let format = Format::named(format, rank).unwrap();
    let options = Options { limit: 1 << 24, ..Options::default() };
    let t = read_bytes(Path::new("in"), kind, bytes, &declared(ty, &format), &options)?;
    assert_eq!(t.check(), Ok(()));
    assert_eq!(t.format, format.stored());
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
    let both = "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 1\n2 1 1\n3 1 4\n1 2 9\n";
    refused(mtx(both), "in:6:1:", "coordinates (0, 1) stand twice: in line 4 too");
}

/// An array has one value a line, and faults are where the value stands, also that of a mirror image.
#[test]
fn values_of_an_array_stand_on_lines_of_their_own() {
    let array = |symmetry: &str, values: &str| format!("%%MatrixMarket matrix array real {symmetry}\n2 2\n{values}");
    refused(mtx(&array("general", "1 2\n3\n4\n")), "in:3:3:", "the end of the line, not `2`");
    refused(mtx(&array("general", "1 %x\n2\n3\n4\n")), "in:3:3:", "the end of the line, not `%x`");
    refused(mtx(&array("symmetric", "1\n2 3\n")), "in:4:3:", "the end of the line, not `3`");
    let format = Format::of(vec![LevelKind::Dense, LevelKind::Upper]);
    let upper = |text: &str, ty| {
        read_bytes(Path::new("in"), Kind::Mtx, text.as_bytes(), &declared(ty, &format), &Options::default())
    };
    refused(upper(&array("general", "1\n\n2\n3\n4\n"), Type::F64), "in:5:1: a value stands at (1, 0)", "`upper`");
    refused(upper(&array("symmetric", "1\n2\n3\n"), Type::F64), "in:4:1: a value stands at (1, 0)", "`upper`");
    let skew = array("skew-symmetric", " -128\n");
    refused(upper(&skew, Type::I8), "in:3:2: 128 is not exactly", "i8");
    let three = skew.replace("2 2", "3 3").replace("-128", "1\n2\n3");
    assert_eq!(dense(&mtx(&three).unwrap()), [0.0, -1.0, -2.0, 1.0, 0.0, -3.0, 2.0, 3.0, 0.0]);
}

/// The diagonal of a skew-symmetric matrix is 0 whatever the fill value.
#[test]
fn the_diagonal_of_a_skew_symmetric_matrix_is_zero() {
    let (format, fill) = (Format::named("csr", 2).unwrap(), Value::from_f64(Type::F64, 7.0));
    let read = |text: &str| {
        let declared = Declared { fill, ..declared(Type::F64, &format) };
        read_bytes(Path::new("in"), Kind::Mtx, text.as_bytes(), &declared, &Options::default()).unwrap()
    };
    let text = "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 5\n2 2 0\n";
    assert_eq!(dense(&read(text)), [0.0, -5.0, 7.0, 5.0, 0.0, 7.0, 7.0, 7.0, 0.0]);
    let array = "%%MatrixMarket matrix array real skew-symmetric\n2 2\n5\n";
    assert_eq!(dense(&read(array)), [0.0, -5.0, 5.0, 0.0]);
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

/// A decimal fraction is the integer that it is equal to, however many digits and whatever exponent it has, or none.
#[test]
fn integers_written_as_decimals_are_exact_or_refused() {
    let read = |value: &str, ty| read_as(Kind::Mtx, format!("{HEAD}1 1 1\n1 1 {value}\n").as_bytes(), ty, "csr", 2);
    let zeros = "0".repeat(2000);
    for (text, x) in [
        ("9007199254740993.0", 9007199254740993),
        ("9.007199254740993e15", 9007199254740993),
        ("-9223372036854775808.", i64::MIN),
        ("+.25E+2", 25),
        ("2500e-0000000000000000000002", 25),
        ("-0.0e-99999999999999999999", 0),
        (&format!("{zeros}7.{zeros}"), 7),
        (&format!("0.{zeros}7e2001"), 7),
        (&format!("7{zeros}e-2000"), 7),
    ] {
        assert_eq!(read(text, Type::I64).unwrap().values, vec![x].into(), "{text}");
    }
    assert_eq!(read("18446744073709551615.0", Type::U64).unwrap().values, vec![u64::MAX].into());
    for (text, ty) in [
        ("1.0000000000000000000001", Type::I64),
        ("0.99999999999999999999999", Type::I8),
        ("1e-400", Type::I64),
        ("1e400", Type::I64),
        ("1e99999999999999999999", Type::I64),
        ("9223372036854775808.0", Type::I64),
        ("1e38", Type::U64),
        ("-1.0", Type::U8),
        ("inf", Type::I64),
    ] {
        refused(read(text, ty), "in:3:5:", &format!("{text} is not exactly a value of type {ty}"));
    }
    for text in [".", "e5", "1e", "1e+", "1.2.3", "--1", "1_0", "0x10"] {
        refused(read(text, Type::I64), "in:3:5:", "expected a number");
    }
}

/// Real numbers are rounded to the nearest float; integers are not, where a file calls them so.
#[test]
fn only_real_numbers_are_rounded() {
    let text = format!("{HEAD}1 1 1\n1 1 16777217\n");
    let read = |text: &str| read_as(Kind::Mtx, text.as_bytes(), Type::F32, "csr", 2);
    assert_eq!(read(&text).unwrap().values, vec![16777216f32].into());
    let text = text.replace("real", "integer");
    refused(read(&text), "in:3:5:", "16777217 is not exactly a value of type f32");
    let text = text.replace("16777217", &"9".repeat(50));
    refused(read(&text), "in:3:5:", "9 is not exactly a value of type f32");
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
        ("2 2 1\n1 1 1\n2 2 2\n", "in:4:1:", "end after its 1 entry"),
        ("2 2 3\n2 1 1\n% c\n\n1 2 1\n2 1 5\n", "in:7:1:", "(1, 0) stand twice: in line 3 too"),
        ("2 2 1\n1 1 1e400\n", "in:3:5:", "1e400 is beyond the largest number of type f64"),
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

const TENSOR: &str = "%%MatrixMarket tensor coordinate real general\n";

fn cube(kind: Kind, text: &str) -> Result<Tensor<'static>, Error> {
    read_as(kind, text.as_bytes(), Type::F64, "csf", 3)
}

#[test]
fn tensors_with_and_without_the_number_of_entries() {
    // As TACO writes them: a comment, and a blank behind each line of extents of an array.
    for text in [
        format!("{TENSOR}%\n2 1 3 2\n2 1 3 7\n1 1 2 5\n"),
        format!("{TENSOR}2 1 3\n1 1 2 5\n% more\n2 1 3 7"),
        format!("{}\n2 1 3 \n0\n0\n5\n0\n0\n7\n", TENSOR.trim_end().replace("coordinate", "array")),
    ] {
        for kind in [Kind::Ttx, Kind::Mtx] {
            let t = cube(kind, &text).unwrap();
            assert_eq!((&t.extents[..], dense(&t)), (&[2u64, 1, 3][..], vec![0.0, 5.0, 0.0, 0.0, 0.0, 7.0]), "{text}");
        }
    }
    let vector = |text: &str| read_as(Kind::Ttx, format!("{TENSOR}{text}").as_bytes(), Type::F64, "sparse", 1);
    assert_eq!(dense(&vector("3\n2 5\n").unwrap()), [0.0, 5.0, 0.0]);
    assert_eq!(dense(&vector("3 1\n2 5\n").unwrap()), [0.0, 5.0, 0.0]);
    refused(vector("3 2\n2 5\n"), "in:4:1:", "after 1 of 2");
    refused(vector("3 1\n2 5\n1 1\n"), "in:4:1:", "after its 1 entry");
    refused(vector("3 1 1\n2 5\n"), "in:2:5:", "the end of the line");
    refused(cube(Kind::Ttx, &format!("{TENSOR}2 3\n")), "in:2:4:", "the extent of mode 2, below 2^63");
    refused(cube(Kind::Ttx, &format!("{HEAD}2 3 0\n")), "in:2:1:", "2 by 3 for a tensor declared with 3 modes");
    refused(cube(Kind::Ttx, &TENSOR.replace("general", "symmetric")), "in:1:39:", "symmetries are of matrices");
    let symmetric = format!("{}2 2 1\n2 1 5\n", TENSOR.replace("general", "symmetric"));
    assert_eq!(dense(&mtx(&symmetric).unwrap()), [0.0, 5.0, 5.0, 0.0]);
    refused(mtx(&symmetric.replace("2 2 1", "2 3 1")), "in:2:1:", "square, not 2 by 3");
}

#[test]
fn extents_of_tns_come_from_the_file_or_the_program() {
    let entries = "# c\n2 1 3 7\n\n1 1 2 5 \n";
    let expected = (vec![2, 1, 3], vec![0.0, 5.0, 0.0, 0.0, 0.0, 7.0]);
    for head in ["# extents 2 1 3\n", "3\n2 1 3\n", "# c\n\n3 2\n2 1 3\n", "# extents of time\n# extents 2 1 3\n"] {
        let t = cube(Kind::Tns, &format!("{head}{entries}")).unwrap();
        assert_eq!((t.extents.clone(), dense(&t)), expected, "{head}");
    }
    let e = cube(Kind::Tns, entries).unwrap_err();
    assert_eq!(e.cause, Cause::Extents);
    assert!(e.message.contains("mode 0 is unknown"), "{e}");
    let format = Format::csf(3);
    let mut known = declared(Type::F64, &format);
    let mut read = |extents: [Option<u64>; 3]| {
        known.extents = extents.to_vec();
        read_bytes(Path::new("in"), Kind::Tns, entries.as_bytes(), &known, &Options::default())
    };
    let t = read([Some(2), Some(1), Some(3)]).unwrap();
    assert_eq!((t.extents.clone(), dense(&t)), expected);
    refused(read([Some(2), Some(1), None]), "in:", "mode 2 is unknown");
    refused(read([Some(2), Some(1), Some(2)]), "in:2:5:", "a coordinate from 1 to 2, not `3`");
    refused(read([Some(2), Some(0), Some(3)]), "in:2:3:", "expected no entry: an extent is 0");
}

#[test]
fn tns_of_one_mode_and_of_none() {
    let read = |text: &str, rank| {
        let name = if rank == 0 { "dense" } else { "sparse" };
        read_as(Kind::Tns, text.as_bytes(), Type::F64, name, rank)
    };
    for text in ["# extents 3\n1 5\n", "1\n3\n1 5\n", "1 1\n3\n1 5\n", "# extents 3\n1\t5"] {
        assert_eq!(dense(&read(text, 1).unwrap()), [5.0, 0.0, 0.0], "{text}");
    }
    assert_eq!(dense(&read("# extents 3\n1 5\n3 7", 1).unwrap()), [5.0, 0.0, 7.0]);
    assert_eq!(dense(&read("1 0\n3\n", 1).unwrap()), [0.0, 0.0, 0.0]);
    assert_eq!(dense(&read("5\n", 0).unwrap()), [5.0]);
    assert_eq!(dense(&read("", 0).unwrap()), [0.0]);
    refused(read("5\n6\n", 0), "in:2:1:", "to end after 1");
    refused(read("5 6\n", 0), "in:1:3:", "the end of the line");
}

#[test]
fn hostile_tns_is_refused_at_its_place() {
    for (text, begins, says) in [
        ("2\n2 1\n", "in:1:1:", "or 3, the number of modes"),
        ("3\n", "in:2:1:", "before its extents"),
        ("3\n2 1\n", "in:2:4:", "the extent of mode 2"),
        ("3\n2 1 3 4\n", "in:2:7:", "the end of the line"),
        ("3\n2 -1 3\n", "in:2:3:", "the extent of mode 1, below 2^63, not `-1`"),
        ("3 2\n2 1 3\n1 1 1 1\n", "in:4:1:", "after 1 of 2"),
        ("3 1\n2 1 3\n1 1 1 1\n2 1 1 1\n", "in:4:1:", "after 1 entry"),
        ("3 1000000000000000\n9223372036854775807 1 3\n", "in:3:1:", "after 0 of"),
        ("# extents 2 1\n", "in:1:1:", "declared with 3 modes"),
        ("# extents 2 1 3 4\n1 1 1 1\n", "in:1:1:", "declared with 3 modes"),
        ("# extents 2 1 3 4 5\n1 1 1 1\n", "in:1:1:", "declared with 3 modes"),
        ("# extents 2 1 3\n3\n2 1 4\n", "in:4:1:", "not those of the comment"),
        ("# extents 2 1 3\n1 1 1\n", "in:2:6:", "a number before the end of the line"),
        ("# extents 2 1 3\n1 1 1 1 1\n", "in:2:9:", "the end of the line"),
        ("# extents 2 1 3\n1 1 1 1\n1 1 1 1 x\n", "in:3:9:", "the end of the line, not `x`"),
        ("# extents 2 1 3\n1 1 1 1\n# c\n  1 1 1 2\n", "in:4:3:", "stand twice"),
        ("# extents 2 1 3\n1 1 1 1\n1 0 1 2\n", "in:3:3:", "a coordinate from 1 to 1, not `0`"),
    ] {
        refused(cube(Kind::Tns, text), begins, says);
    }
}

/// Blanks, comments and words far longer than a buffer; the places behind them are right.
#[test]
fn long_lines_need_no_memory_and_long_words_are_refused() {
    let (blanks, comment) = (" ".repeat(600_000), "%".repeat(600_000));
    let t = mtx(&format!("{HEAD}{comment}\n2 2{blanks}2\n{comment}\n{blanks}1 1{blanks}3 \n2 2 4{blanks}")).unwrap();
    assert_eq!(dense(&t), [3.0, 0.0, 0.0, 4.0]);
    refused(mtx(&format!("{HEAD}2 2 2\n1 1 1\n{blanks}1 1 4\n")), "in:4:600001:", "stand twice");
    refused(mtx(&format!("{HEAD}2 2 1\n1 1 {blanks}x\n")), "in:3:600005:", "expected a number, not `x`");
    refused(mtx(&format!("{HEAD}2 2 1\n1 1 {}\n", "1".repeat(600_000))), "in:3:5:", "a word of more than 4096 bytes");
    let digits = format!("{HEAD}1 1 1\n1 1 0.{}\n", "3".repeat(4000));
    assert_eq!(dense(&mtx(&digits).unwrap()), [1.0 / 3.0]);
}

#[test]
fn more_than_the_limit_is_refused_while_it_is_read() {
    let mut text = format!("{TENSOR}1000000 1000000 1000000\n");
    (1..=1000).for_each(|c| text += &format!("{c} {c} {c} 1\n"));
    let format = Format::csf(3);
    let read = |kind, text: &[u8], limit| {
        let options = Options { limit, ..Options::default() };
        read_bytes(Path::new("in"), kind, text, &declared(Type::F64, &format), &options).map_err(|e| e.cause)
    };
    assert!(read(Kind::Ttx, text.as_bytes(), 64_000).is_ok());
    assert_eq!(read(Kind::Ttx, text.as_bytes(), 31_000), Err(Cause::Limit));
    let tns = text.replace(TENSOR, "# extents 1000000 1000000 1000000\n# ");
    assert!(read(Kind::Tns, tns.as_bytes(), 64_000).is_ok());
    assert_eq!(read(Kind::Tns, tns.as_bytes(), 31_000), Err(Cause::Limit));
    let zeros = npy_file(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (10, 10, 10)}", &[0; 1000]);
    assert_eq!(read(Kind::Npy, &zeros, 7999), Err(Cause::Limit));
    assert!(read(Kind::Npy, &zeros, 8000).is_ok());
}

#[test]
fn tensors_of_every_rank_are_written_and_read_back() {
    let dir = Scratch::new("ranks");
    let value = |x: i64| Value::from_f64(Type::F64, x as f64 / 3.0);
    for rank in 0..=4usize {
        let extents: Vec<u64> = (2..).take(rank).collect();
        let entries = (0..if rank == 0 { 1 } else { 2 }).map(|e| (vec![e; rank], value(e + 1)));
        let entries: Vec<_> = entries.collect();
        for format in [Format::dense(rank), Format::csf(rank)] {
            let zero = Value::zero(Type::F64);
            let t = Tensor::from_entries(extents.clone(), format.clone(), zero, Type::I32, Type::I32, entries.clone());
            let t = t.unwrap();
            for kind in Kind::ALL {
                let path = dir.0.join("t").with_extension(kind.extension());
                let holds = match kind {
                    Kind::Mtx => rank <= 2,
                    Kind::Npz => rank > 0,
                    _ => true,
                };
                assert_eq!(write(&path, &t, 1 << 20).is_ok(), holds, "{kind:?} of rank {rank}");
                if holds {
                    let back = read(&path, &declared(Type::F64, &format), &Options::default());
                    assert_eq!(back.unwrap(), t, "{kind:?} of rank {rank}");
                }
            }
        }
    }
    let infinite = Value::from_f64(Type::F64, f64::INFINITY);
    let t = Tensor::from_entries(vec![2], Format::csf(1), infinite, Type::I32, Type::I32, [(vec![1], value(3))]);
    let (t, format) = (t.unwrap(), Format::csf(1));
    let path = dir.0.join("fill.tns");
    refused(write(&path, &t, 1 << 20).map(|()| t.borrow()), "/", "cannot say that the fill value is inf");
    let (path, declared) = (dir.0.join("fill.ttx"), Declared { fill: infinite, ..declared(Type::F64, &format) });
    write(&path, &t, 1 << 20).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "%%MatrixMarket tensor array real general\n2\ninf\n1.0\n");
    assert_eq!(read(&path, &declared, &Options::default()).unwrap(), t);
}

#[test]
fn duplicates_combine_when_asked() {
    let format = Format::named("csr", 2).unwrap();
    let options = Options { duplicates: Duplicates::Combine(&added), ..Options::default() };
    let text = format!("{HEAD}2 2 3\n2 1 1\n1 2 1\n2 1 5\n");
    let t = read_bytes(Path::new("in"), Kind::Mtx, text.as_bytes(), &declared(Type::F64, &format), &options).unwrap();
    assert_eq!(dense(&t), [0.0, 1.0, 6.0, 0.0]);
    let text = format!("{HEAD}2 2 5\n2 1 2\n1 2 1\n2 1 7\n2 1 -1\n1 2 1\n");
    for (name, values) in [("sum", [2.0, 8.0]), ("min", [1.0, -1.0]), ("max", [1.0, 7.0]), ("last", [1.0, -1.0])] {
        let how: Combine = name.parse().unwrap();
        let options = Options { duplicates: how.duplicates(), ..Options::default() };
        let t =
            read_bytes(Path::new("in"), Kind::Mtx, text.as_bytes(), &declared(Type::F64, &format), &options).unwrap();
        assert_eq!((how.name(), dense(&t)), (name, vec![0.0, values[0], values[1], 0.0]));
    }
    assert!("mean".parse::<Combine>().unwrap_err().contains("sum, min, max or last expected"));
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

/// A `.npy` file of one text.
fn npy_text(text: &str) -> Vec<u8> {
    let header = format!("{{'descr': '|S{}', 'fortran_order': False, 'shape': (), }}\n", text.len());
    npy_file(1, &header, text.as_bytes())
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
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(), "in: byte 8:", "a header of 4294967295 bytes"),
        (b"\x93NUMPY\x02\x00\xff\xff\x00\x00{".to_vec(), "in: byte 13:", "within its header"),
        (npy_file(4, "", b""), "in: byte 6:", "version 4"),
        (npy_file(1, "{'descr': [('a', '<f8')]}", b""), "in: byte 19:", "a string"),
        (npy_file(1, &head("<c16", "(1,)"), &[0; 16]), "in: byte", "type `<c16`"),
        (npy_file(1, &head("|O", "(1,)"), &[0; 16]), "in: byte", "type `|O`"),
        (npy_file(1, &head("<f8", "(2,)"), &[0; 8]), "in: byte", "8 bytes of data for 2 elements"),
        (npy_file(1, &head("<f8", "(1,)"), &[0; 9]), "in: byte", "more than 8 bytes of data for 1 element"),
        (npy_file(1, &head("<f8", "(9223372036854775807,)"), &[]), "in: byte", "0 bytes of data"),
        (npy_file(1, &head("<f8", "(-1,)"), &[]), "in: byte", "an extent below 2^63"),
        (npy_file(1, &head("<f8", "(99999999999999999999,)"), &[]), "in: byte", "an extent below 2^63"),
        (npy_file(1, &head("|b1", "(2,)"), &[1, 2]), "in: byte", "not 2"),
        (npy_file(1, &head("<f8", "(1, 1)"), &[0; 8]), "in: byte 10:", "2 modes"),
        (npy_file(1, &(head("<f8", "(1,)") + "  x\n"), &[0; 8]), "in: byte 67:", "nothing but blanks behind"),
    ] {
        refused(read_as(Kind::Npy, &file, Type::F64, "dense", 1), begins, says);
    }
    for key in ["'descr': '<f8'", "'fortran_order': False", "'shape': (1,)"] {
        let twice = format!("{{{key}, {}", &head("<f8", "(1,)")[1..]);
        refused(read_as(Kind::Npy, &npy_file(1, &twice, &[0; 8]), Type::F64, "dense", 1), "in: byte", "each key once");
    }
    let inexact = npy_file(1, &head("<f8", "(1,)"), &0.5f64.to_le_bytes());
    refused(read_as(Kind::Npy, &inexact, Type::I32, "dense", 1), "in: element 0:", "0.5 is not exactly");
}

/// The arrays of a sparse matrix have one mode each.
#[test]
fn members_of_npz_have_one_mode() {
    let read = |shapes: [&[u64]; 3]| {
        let mut file = std::io::Cursor::new(Vec::new());
        let mut zip = zip::ZipWriter::new(&mut file);
        let mut add = |name: &str, write: &dyn Fn(&mut dyn std::io::Write) -> std::io::Result<()>| {
            zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
            write(&mut zip).unwrap();
        };
        add("format", &|out| out.write_all(&npy_text("csr")));
        add("shape", &|out| npy::write_array(&vec![2i64, 2].into(), &[2], out));
        add("data", &|out| npy::write_array(&vec![1.0, 2.0].into(), shapes[0], out));
        add("indices", &|out| npy::write_array(&vec![0, 1].into(), shapes[1], out));
        add("indptr", &|out| npy::write_array(&vec![0, 1, 2].into(), shapes[2], out));
        zip.finish().unwrap();
        read_as(Kind::Npz, file.get_ref(), Type::F64, "csr", 2)
    };
    assert_eq!(dense(&read([&[2], &[2], &[3]]).unwrap()), [1.0, 0.0, 0.0, 2.0]);
    refused(read([&[2, 1], &[2], &[3]]), "in: in `data`", "2 modes");
    refused(read([&[2], &[1, 2], &[3]]), "in: in `indices`", "2 modes");
    refused(read([&[2], &[2], &[3, 1]]), "in: in `indptr`", "2 modes");
}

#[test]
fn no_prefix_and_no_changed_byte_of_a_file_panics() {
    let matrix = mtx("%%MatrixMarket matrix coordinate integer symmetric\n3 3 3\n1 1 4\n2 1 -5\n3 3 6\n").unwrap();
    let dir = Scratch::new("bytes");
    for kind in Kind::ALL {
        let path = dir.0.join("m").with_extension(kind.extension());
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
    use LevelKind::{Bitmap, Bytemap, Dense, Hashed, Nonunique, Singleton};
    let dir = Scratch::new("back");
    for ty in Type::ALL {
        let named = ["csr", "csc", "dcsr", "dense", "coo"].map(|name| Format::named(name, 2).unwrap());
        let listed = [[Dense, Singleton], [Bitmap, Hashed], [Bytemap, Nonunique], [Hashed, Bitmap]];
        for format in named.into_iter().chain(listed.map(|levels| Format::of(levels.to_vec()))) {
            let entries = [(vec![0, 2], Value::one(ty)), (vec![1, 0], Value::one(ty))];
            let t = Tensor::from_entries(vec![2, 3], format.clone(), Value::zero(ty), Type::I32, Type::I32, entries);
            let t = t.unwrap();
            for kind in Kind::ALL {
                let path = dir.0.join("t").with_extension(kind.extension());
                write(&path, &t, 1 << 20).unwrap();
                let back = read(&path, &declared(ty, &format), &Options::default()).unwrap();
                assert_eq!(back, t, "{ty} {format} {kind:?}");
            }
        }
    }
    assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), Kind::ALL.len(), "only the targets are left");
}

#[test]
fn nothing_is_left_half_written() {
    let dir = Scratch::new("half");
    let t = Tensor::scalar(Value::one(Type::F64));
    let (good, bad) = (dir.0.join("s.npy"), dir.0.join("s.npz"));
    std::fs::write(&good, "old").unwrap();
    assert_eq!(write_all(&[(&good, &t), (&bad, &t)], 1 << 20).unwrap_err().cause, Cause::Extension);
    assert_eq!(std::fs::read(&good).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), 1);
    let nowhere = dir.0.join("none").join("s.npy");
    assert_eq!(write(&nowhere, &t, 1 << 20).unwrap_err().cause, Cause::Io);
    let wide =
        Tensor::from_entries(vec![1 << 20, 1 << 20], Format::csf(2), Value::zero(Type::F64), Type::I32, Type::I32, []);
    assert_eq!(write(&good, &wide.unwrap(), 1 << 20).unwrap_err().cause, Cause::Limit);
    assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), 1);
}

/// What is written to is what a path leads to: the file behind a link, with its permissions, or a pipe.
#[cfg(unix)]
#[test]
fn targets_stay_what_they_are() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    let dir = Scratch::new("targets");
    let t = Tensor::scalar(Value::one(Type::F64));
    let (file, link, dangling) = (dir.0.join("s.npy"), dir.0.join("link.npy"), dir.0.join("dangling.npy"));
    std::fs::write(&file, "old").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    symlink("s.npy", &link).unwrap();
    symlink("new.npy", &dangling).unwrap();
    write_all(&[(&link, &t), (&dangling, &t)], 1 << 20).unwrap();
    let written = std::fs::read(&file).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read(dir.0.join("new.npy")).unwrap(), written);
    assert!([&link, &dangling].iter().all(|path| path.is_symlink()));

    let pipe = dir.0.join("pipe.npy");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read(pipe).unwrap()
    });
    write(&pipe, &t, 1 << 20).unwrap();
    assert_eq!(reader.join().unwrap(), written);
    assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());

    let same = [dir.0.join(".").join("s.npy"), dir.0.join("..").join(dir.0.file_name().unwrap()).join("link.npy")];
    assert!(same.iter().all(|path| resolved(path) == resolved(&file)));
    assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), 5);
}

/// What a format has no place for is refused at its place in the file.
#[test]
fn structured_formats_hold_the_function_that_they_can() {
    let read = |text: &str, kind| {
        let format = Format::of(vec![LevelKind::Dense, kind]);
        read_bytes(Path::new("in"), Kind::Mtx, text.as_bytes(), &declared(Type::F64, &format), &Options::default())
    };
    use LevelKind::{Lower, Singleton, Symmetric, Upper};
    let text = format!("{HEAD}2 2 2\n1 1 1\n2 1 5\n");
    assert_eq!(dense(&read(&text, Lower).unwrap()), [1.0, 0.0, 5.0, 0.0]);
    refused(read(&text, Upper), "in:4:1: a value stands at (1, 0), below the diagonal", "`upper`");
    refused(read(&text, Symmetric), "in:4:1: what stands at (1, 0) does not stand where", "`symmetric`");
    let row = format!("{HEAD}2 2 2\n 1 2 5\n1 1 1\n");
    refused(read(&row, Singleton), "in:3:2: a singleton holds one coordinate", "has 0 and 1");
    let format = Format::of(vec![LevelKind::Dense, Upper]);
    for (order, element) in [("False", 2), ("True", 1)] {
        let header = format!("{{'descr': '|u1', 'fortran_order': {order}, 'shape': (2, 2)}}");
        let mut data = [0; 4];
        data[element] = 1;
        let file = npy_file(1, &header, &data);
        let read = read_bytes(Path::new("in"), Kind::Npy, &file, &declared(Type::U8, &format), &Options::default());
        refused(read, &format!("in: element {element}: a value stands at (1, 0)"), "`upper`");
    }
    assert_eq!(dense(&read(&text.replace("general", "symmetric"), Symmetric).unwrap()), [1.0, 5.0, 5.0, 0.0]);
}
