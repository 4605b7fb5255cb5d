//! What stands beside a border: of a buffer, of a chunk, of what a float holds, of a fill value. Values are those that NumPy and SciPy
//! give, or worked out by hand.

use super::numpy::{archive, list};
use super::*;
use fiberloom_core::format::room;

/// A vector's header is NumPy's: its shape is a tuple of one.
#[test]
fn vectors_are_written_as_numpy_writes_them() {
    let vector = Tensor::vector(vec![1i64, 2, 3]);
    let bytes = to_bytes(Path::new("v.npy"), Kind::Npy, &vector, 1 << 20).unwrap();
    // What `numpy.save` writes of `numpy.array([1, 2, 3], "i8")`.
    let header = "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }";
    let mut expected = b"\x93NUMPY\x01\0v\0".to_vec();
    expected.extend(format!("{header:<117}\n").bytes());
    expected.extend([1i64, 2, 3].iter().flat_map(|x| x.to_le_bytes()));
    assert_eq!(bytes, expected);
    let scalar = to_bytes(Path::new("s.npy"), Kind::Npy, &Tensor::scalar(Value::i64(7)), 1 << 20).unwrap();
    assert!(scalar.windows(13).any(|w| w == b"'shape': (), "), "{}", String::from_utf8_lossy(&scalar));
}

/// Diagonals whose rows of data are shorter than the matrix is wide, and wider.
#[test]
fn diagonals_end_with_their_data() {
    let dia = |[rows, columns]: [i64; 2], data: &'static [u64], offsets: &[i64]| {
        let numbers: Vec<i64> = (1..=data.iter().product::<u64>() as i64).collect();
        let members = [list("shape", &[rows, columns]), ("data", data, numbers.into()), list("offsets", offsets)];
        dense(&read_as(Kind::Npz, &archive("dia", &members), Type::I64, "csr", 2).unwrap())
    };
    assert_eq!(dia([3, 3], &[1, 2], &[0]), [1., 0., 0., 0., 2., 0., 0., 0., 0.]);
    let two = dia([4, 4], &[2, 2], &[1, -2]);
    assert_eq!(two, [0., 2., 0., 0., 0., 0., 0., 0., 3., 0., 0., 0., 0., 4., 0., 0.]);
    assert_eq!(dia([2, 3], &[1, 4], &[-1]), [0., 0., 0., 1., 0., 0.]);
}

/// Of blocks and diagonals what is the fill value is not stored, 0 is where the fill value is another.
#[test]
fn zeros_are_values_beside_another_fill() {
    let format = Format::named("csr", 2).unwrap();
    let read = |kind: &str, members: &[_], fill: i64| {
        let declared = Declared { fill: Value::i64(fill), ..declared(Type::I64, &format) };
        read_bytes(Path::new("in"), Kind::Npz, &archive(kind, members), &declared, &Options::default()).unwrap()
    };
    let block: (&str, &'static [u64], Array<'static>) = ("data", &[1, 2, 2], vec![0i64, 7, 3, 0].into());
    let bsr = [list("shape", &[2, 4]), block, list("indices", &[1]), list("indptr", &[0, 1])];
    let (zero, seven) = (read("bsr", &bsr, 0), read("bsr", &bsr, 7));
    assert_eq!((dense(&zero), zero.stored()), (vec![0., 0., 0., 7., 0., 0., 3., 0.], 2));
    assert_eq!((dense(&seven), seven.stored()), (vec![7., 7., 0., 7., 7., 7., 3., 0.], 3));
    let diagonal: (&str, &'static [u64], Array<'static>) = ("data", &[1, 2], vec![0i64, 7].into());
    let dia = [list("shape", &[2, 2]), diagonal, list("offsets", &[0])];
    let (zero, seven) = (read("dia", &dia, 0), read("dia", &dia, 7));
    assert_eq!((dense(&zero), zero.stored()), (vec![0., 0., 0., 7.], 1));
    assert_eq!((dense(&seven), seven.stored()), (vec![0., 7., 7., 7.], 1));
}

/// NaN is one fill value, zeros of either sign another.
#[test]
fn fill_values_that_are_no_numbers_are_the_declared_ones() {
    let format = Format::csf(1);
    let read = |has: f64, fill: f64| {
        let declared = Declared { fill: Value::from_f64(Type::F64, fill), ..declared(Type::F64, &format) };
        let coords: (&str, &'static [u64], Array<'static>) = ("coords", &[1, 1], vec![1i64].into());
        let data: (&str, &'static [u64], Array<'static>) = ("data", &[1], vec![5.0].into());
        let fill: (&str, &'static [u64], Array<'static>) = ("fill_value", &[], vec![has].into());
        let members = [list("shape", &[3]), coords, data, fill];
        read_bytes(Path::new("in"), Kind::Npz, &archive("coo", &members), &declared, &Options::default())
    };
    let all = dense(&read(f64::NAN, f64::NAN).unwrap());
    assert!(all[0].is_nan() && all[1] == 5.0 && all[2].is_nan(), "{all:?}");
    assert_eq!(dense(&read(-0.0, 0.0).unwrap()), [0.0, 5.0, 0.0]);
    refused(read(f64::NAN, 0.0), "in: in `fill_value`", "the array's fill value is nan, and the program declares 0.0");
    refused(read(0.0, f64::NAN), "in: in `fill_value`", "the array's fill value is 0.0, and the program declares nan");
}

/// A word across the end of what is read at once is one word, wherever it is cut.
#[test]
fn words_stand_across_buffers() {
    const BUFFER: usize = 1 << 18;
    for cut in 0..12 {
        let comment = format!("%{}\n", " ".repeat(BUFFER - HEAD.len() - "5 7 2\n1 1 3\n".len() - 2 - cut));
        let text = format!("{HEAD}{comment}5 7 2\n1 1 3\n4 6 -123.25\n");
        assert!(text.len() > BUFFER && text[..BUFFER].ends_with(&"4 6 -123.25\n"[..cut]), "{cut}");
        let t = mtx(&text).unwrap();
        let entries: Vec<(Vec<i64>, Value)> = t.entries().collect();
        assert_eq!(entries, [(vec![0, 0], Value::from(3.0)), (vec![3, 5], Value::from(-123.25))], "{cut}");
        refused(mtx(&text.replace("-123.25", "-123.2x")), "in:5:5:", "expected a number, not `-123.2x`");
        let extents = "# extents 4 6 1\n";
        let comment = format!("#{}\n", " ".repeat(BUFFER - extents.len() - "1 1 1 3\n".len() - 2 - cut));
        let tns = format!("{extents}{comment}1 1 1 3\n4 6 1 -123.25\n");
        assert!(tns[..BUFFER].ends_with(&"4 6 1 -123.25\n"[..cut]), "{cut}");
        assert_eq!(dense(&cube(Kind::Tns, &tns).unwrap())[23], -123.25, "{cut}");
    }
}

/// Faults of long arrays are at elements of the whole.
#[test]
fn elements_of_faults_are_those_of_the_file() {
    let head = |n: usize| format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({n},)}}");
    let whole: Vec<f64> = room::collected((0..20_000).map(f64::from)).unwrap();
    let bytes = |all: &[f64]| all.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    for wrong in [0, 8_191, 8_192, 8_193, 19_999] {
        let mut all = whole.clone();
        all[wrong] = 0.5;
        let read = read_as(Kind::Npy, &npy_file(1, &head(all.len()), &bytes(&all)), Type::I64, "dense", 1);
        refused(read, &format!("in: element {wrong}:"), "0.5 is not exactly a value of type i64");
    }
    let read = read_as(Kind::Npy, &npy_file(1, &head(whole.len()), &bytes(&whole)), Type::I64, "dense", 1).unwrap();
    assert_eq!(dense(&read), whole);
}

/// A matrix is a vector if it has one column.
#[test]
fn matrices_of_several_columns_are_no_vectors() {
    let read = |text: &str, rank| read_as(Kind::Mtx, format!("{HEAD}{text}").as_bytes(), Type::F64, "sparse", rank);
    for text in ["3 2 1\n2 1 5\n", "1 3 1\n1 2 5\n", "3 0 0\n"] {
        let of = text[..3].replace(' ', " by ");
        refused(read(text, 1), "in:2:1:", &format!("a matrix of {of} for a tensor declared with 1 mode"));
    }
    assert_eq!(dense(&read("3 1 1\n2 1 5\n", 1).unwrap()), [0.0, 5.0, 0.0]);
}

/// Integers are floats if these are equal to them.
#[test]
fn integers_are_floats_exactly_or_refused() {
    let npy = |descr: &str, x: &[u8], ty| {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1,)}}");
        read_as(Kind::Npy, &npy_file(1, &header, x), ty, "dense", 1)
    };
    for (x, ty) in [(1i64 << 53, Type::F64), (-(1 << 62), Type::F64), (1 << 24, Type::F32), (i64::MIN, Type::F32)] {
        assert_eq!(dense(&npy("<i8", &x.to_le_bytes(), ty).unwrap()), [x as f64], "{x}");
    }
    for (x, ty) in [((1i64 << 53) + 1, Type::F64), (i64::MAX, Type::F64), ((1 << 24) + 1, Type::F32)] {
        let says = format!("{x} is not exactly a value of type {ty}, which the program declares");
        refused(npy("<i8", &x.to_le_bytes(), ty), "in: element 0:", &says);
    }
    assert_eq!(dense(&npy("<u8", &(1u64 << 63).to_le_bytes(), Type::F64).unwrap()), [9_223_372_036_854_775_808.0]);
    refused(npy("<u8", &u64::MAX.to_le_bytes(), Type::F64), "in: element 0:", "18446744073709551615 is not exactly");
}
