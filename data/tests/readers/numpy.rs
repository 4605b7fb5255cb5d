//! Files that NumPy, SciPy and PyData/Sparse wrote (`tests/data/numpy/write.py`), with what these libraries say that they
//! hold; and archives that they would not write.

use super::*;
use fiberloom_core::format::room;

fn path(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/numpy").join(file)
}

/// A file of theirs in a format, its extents and every value.
#[track_caller]
fn holds(file: &str, ty: Type, format: &Format, extents: &[u64], values: &[f64]) -> Tensor<'static> {
    let t = read(&path(file), &declared(ty, format), &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(t.check(), Ok(()));
    assert_eq!((&t.extents[..], &dense(&t)[..]), (extents, values), "{file}");
    t
}

const MATRIX: [f64; 12] = [0.0, 5.0, 0.0, 0.0, 1.0, 0.0, 0.0, 7.0, 0.0, 0.0, 0.0, 2.5];
const TENSOR: [f64; 12] = [0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, -1.0, 0.0];

#[test]
fn matrices_of_scipy() {
    for layout in ["csr", "csc", "coo"] {
        for format in ["csr", "csc", "coo", "dense", "dcsr"].map(|name| Format::named(name, 2).unwrap()) {
            let t = holds(&format!("scipy-{layout}.npz"), Type::F64, &format, &[3, 4], &MATRIX);
            assert!(format.is_dense() || t.stored() == 4);
        }
    }
    let csr = Format::named("csr", 2).unwrap();
    let whole = MATRIX.map(f64::trunc);
    holds("scipy-coo-matrix.npz", Type::I32, &csr, &[3, 4], &whole);
    // What of a diagonal stands outside of the matrix is nothing; a 0 within it is not stored.
    let four = [1., 0., 11., 0., 5., 2., 0., 12., 0., 6., 0., 0., 0., 0., 7., 4.];
    assert_eq!(holds("scipy-dia.npz", Type::F64, &csr, &[4, 4], &four).stored(), 8);
    let mut wide = [0.0; 15];
    (wide[3], wide[9], wide[10]) = (4.0, 9.0, 5.0);
    assert_eq!(holds("scipy-dia-columns.npz", Type::F32, &csr, &[3, 5], &wide).stored(), 3);
    let blocks = [
        [1., 0., 3., 0., 0., 0., 2., 0., 6.],
        [4., 5., 6., 0., 0., 0., 8., 10., 12.],
        [0., 0., 0., 0., 0., 0., 3., 0., 9.],
        [0., 0., 0., 0., 0., 0., 12., 15., 18.],
    ];
    for file in ["scipy-bsr.npz", "scipy-bsr-columns.npz"] {
        assert_eq!(holds(file, Type::I64, &csr, &[4, 9], &blocks.concat()).stored(), 15);
    }
}

#[test]
fn arrays_of_any_number_of_modes() {
    let vector = [0.0, 3.0, 0.0, 4.0];
    for file in ["scipy-coo-vector.npz", "sparse-gcxs-vector.npz"] {
        holds(file, Type::F64, &Format::csf(1), &[4], &vector);
    }
    for file in ["scipy-coo-tensor.npz", "sparse-coo.npz", "sparse-gcxs.npz", "sparse-gcxs-two.npz"] {
        for format in [Format::csf(3), Format::csf(3).reversed(), Format::named("coo", 3).unwrap(), Format::dense(3)] {
            holds(file, Type::F64, &format, &[2, 3, 2], &TENSOR);
        }
    }
    holds("sparse-gcxs-matrix.npz", Type::I8, &Format::csf(2), &[3, 4], &MATRIX.map(f64::trunc));
    // A scalar has no entry where it is its fill value.
    holds("sparse-coo-scalar.npz", Type::F64, &Format::dense(0), &[], &[5.0]);
    let matrix = read(&path("scipy-coo-tensor.npz"), &declared(Type::F64, &Format::csf(2)), &Options::default());
    refused(matrix, "/", "an array of 3 modes for a tensor that the program declares with 2");
}

/// A fill value that the program does not declare would be lost.
#[test]
fn fill_values_of_pydata_are_the_declared_ones() {
    let format = Format::csf(3);
    let with = |fill: f64| Declared { fill: Value::from_f64(Type::F64, fill), ..declared(Type::F64, &format) };
    let read = |fill| read(&path("sparse-coo-fill.npz"), &with(fill), &Options::default());
    let t = read(7.0).unwrap();
    assert_eq!((t.stored(), &dense(&t)[..]), (3, &TENSOR.map(|x| if x == 0.0 { 7.0 } else { x })[..]));
    refused(
        read(0.0),
        "/",
        "the array's fill value is 7.0, and the program declares 0.0: declare the tensor with `fill 7.0`",
    );
}

/// The first mode runs fastest, of three modes and of either byte order.
#[test]
fn arrays_in_the_order_of_columns() {
    let counted: Vec<f64> = (0..24).map(f64::from).collect();
    for file in ["columns.npy", "columns.npy.gz"] {
        for format in [Format::dense(3), Format::csf(3), Format::dense(3).reversed()] {
            holds(file, Type::U8, &format, &[2, 3, 4], &counted);
        }
    }
    let at = |i: u64, j: u64, k: u64| (k * 6 + j * 2 + i) as f64;
    let all = (0..2).flat_map(|i| (0..3).flat_map(move |j| (0..4).map(move |k| at(i, j, k))));
    holds("big-endian.npy", Type::I64, &Format::dense(3), &[2, 3, 4], &all.collect::<Vec<f64>>());
}

#[test]
fn texts_of_scipy() {
    holds("matrix.mtx.gz", Type::F64, &Format::named("csr", 2).unwrap(), &[3, 4], &MATRIX);
    let t = holds("unsigned.mtx", Type::U64, &Format::dense(2), &[2, 2], &[u64::MAX as f64, 0.0, 0.0, 7.0]);
    assert_eq!(t.values, vec![u64::MAX, 0, 0, 7].into());
    // It is written so that it is read: a number beyond 2⁶³ is no `integer` elsewhere.
    let text = |t: &Tensor| String::from_utf8(to_bytes(Path::new("t"), Kind::Mtx, t, 1 << 20).unwrap()).unwrap();
    assert!(text(&t).starts_with("%%MatrixMarket matrix array unsigned-integer general\n2 2\n18446744073709551615\n"));
    let small = Tensor::dense(vec![1], Value::zero(Type::U64), vec![i64::MAX as u64].into()).unwrap();
    assert!(text(&small).starts_with("%%MatrixMarket matrix array integer general\n1 1\n9223372036854775807\n"));
}

/// An archive of such members, each as an array of these extents.
pub(super) fn archive(format: &str, members: &[(&str, &[u64], Array)]) -> Vec<u8> {
    let mut file = std::io::Cursor::new(Vec::new());
    let mut zip = zip::ZipWriter::new(&mut file);
    let mut add = |name: &str, write: &dyn Fn(&mut dyn std::io::Write) -> std::io::Result<()>| {
        zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        write(&mut zip).unwrap();
    };
    add("format", &|out| out.write_all(&npy_text(format)));
    for (name, extents, array) in members {
        add(name, &|out| npy::write_array(array, extents, out));
    }
    zip.finish().unwrap();
    file.into_inner()
}

pub(super) fn list<'a>(name: &'a str, numbers: &[i64]) -> (&'a str, &'static [u64], Array<'static>) {
    let extents: &[u64] = Box::leak(Box::new([numbers.len() as u64]));
    (name, extents, numbers.to_vec().into())
}

fn numbers(name: &'static str, extents: &'static [u64]) -> (&'static str, &'static [u64], Array<'static>) {
    let n = extents.iter().product::<u64>() as i64;
    (name, extents, room::collected(1..=n).unwrap().into())
}

#[test]
fn hostile_layouts_are_refused_with_what_is_wrong() {
    let csr = |format: &str, members: &[_]| read_as(Kind::Npz, &archive(format, members), Type::I64, "csr", 2);
    let far = i64::MAX;
    let shape = |rows: i64, columns: i64| list("shape", &[rows, columns]);
    let dia = |offsets: &[i64]| csr("dia", &[shape(3, 3), numbers("data", &[2, 3]), list("offsets", offsets)]);
    assert_eq!(dense(&dia(&[0, 1]).unwrap()), [1.0, 5.0, 0.0, 0.0, 2.0, 6.0, 0.0, 0.0, 3.0]);
    assert_eq!(dia(&[far, i64::MIN]).unwrap().stored(), 0);
    refused(dia(&[0]), "in: ", "1 offset for 2 diagonals");
    refused(dia(&[1, 1]), "in: element 4:", "coordinates (0, 1) stand twice: in element 1 too");
    let huge = csr("dia", &[shape(3, far), numbers("data", &[1, 3]), list("offsets", &[-2])]).unwrap();
    assert_eq!(huge.entries().collect::<Vec<_>>(), [(vec![2, 0], Value::i64(1))]);
    refused(
        csr("dia", &[shape(3, 3), list("data", &[1, 2]), list("offsets", &[0])]),
        "in: in `data`",
        "1 mode, expected 2",
    );

    let bsr = |shape, data, indices: &[i64], indptr: &[i64]| {
        csr("bsr", &[shape, numbers("data", data), list("indices", indices), list("indptr", indptr)])
    };
    assert_eq!(dense(&bsr(shape(2, 2), &[1, 2, 1], &[1], &[0, 1]).unwrap()), [0.0, 1.0, 0.0, 2.0]);
    refused(bsr(shape(3, 2), &[1, 2, 1], &[1], &[0, 1]), "in: in `data`", "blocks of 2 by 1 in a matrix of 3 by 2");
    refused(bsr(shape(2, 2), &[1, 0, 1], &[1], &[0, 1]), "in: in `data`", "blocks of 0 by 1");
    refused(bsr(shape(2, 2), &[1, 2, 1], &[2], &[0, 1]), "in: element 0: in `indices`", "2 is not in 0..2");
    refused(bsr(shape(2, 2), &[1, 2, 1], &[-1], &[0, 1]), "in: element 0: in `indices`", "-1 is not in 0..2");
    refused(bsr(shape(2, 2), &[1, 2, 1], &[0, 1], &[0, 1]), "in: ", "2 coordinates for 1 block");
    refused(bsr(shape(2, 2), &[2, 2, 1], &[0, 0], &[0, 2]), "in: element 2:", "stand twice: in element 0 too");
    refused(
        bsr(shape(far, 2), &[1, 1, 1], &[0], &[0, 1]),
        "in: in `indptr`",
        "2 elements, expected 9223372036854775807 + 1",
    );

    let compressed = |indices: &[i64], indptr: &[i64]| {
        csr("csr", &[shape(2, 3), list("data", &[1, 2]), list("indices", indices), list("indptr", indptr)])
    };
    refused(compressed(&[0, 3], &[0, 1, 2]), "in: element 1:", "coordinate 3 of mode 1 is not in 0..3");
    refused(compressed(&[0, -1], &[0, 1, 2]), "in: element 1:", "coordinate -1");
    refused(compressed(&[0, 1], &[0, 2, 1]), "in: element 2: in `indptr`", "never falls");
    refused(compressed(&[0, 1], &[1, 2, 2]), "in: element 1: in `indptr`", "begins with 0");
    refused(compressed(&[0, 1], &[0, 1, 3]), "in: element 2: in `indptr`", "ends with 2");
    refused(compressed(&[0, 1], &[0, 1, 1]), "in: in `indptr`", "it ends with 1 of 2 entries");
    refused(compressed(&[0, 1, 2], &[0, 1, 3]), "in: ", "3 coordinates for 2 values");
    refused(csr("csr", &[shape(2, -3)]), "in: element 1: in `shape`", "the extent -3");
    refused(csr("csr", &[shape(2, 3), list("data", &[])]), "in: no readable member `indices.npy`", "sparse array");
    refused(
        csr("lil", &[shape(2, 3)]),
        "in: an array in the layout `lil`",
        "csr, csc, coo, bsr, dia and gcxs are read",
    );
    refused(csr("csr", &[list("shape", &[2, 3, 4])]), "in: ", "3 modes for a tensor");
}

#[test]
fn hostile_arrays_of_many_modes_are_refused_with_what_is_wrong() {
    let read = |format: &str, members: &[_]| read_as(Kind::Npz, &archive(format, members), Type::I64, "csf", 3);
    let shape = || list("shape", &[2, 3, 4]);
    let coo = |extents, coords: &[i64]| {
        let coords = ("coords", extents, Array::from(coords.to_vec()));
        read("coo", &[shape(), coords, list("data", &[1, 2])])
    };
    assert_eq!(coo(&[3, 2], &[1, 0, 2, 0, 3, 1]).unwrap().stored(), 2);
    refused(coo(&[2, 2], &[1, 0, 2, 0]), "in: in `coords`", "coordinates of 2 modes for an array of 3");
    refused(coo(&[3, 1], &[1, 2, 3]), "in: ", "1 coordinate for 2 values");
    refused(coo(&[3, 2], &[1, 0, 2, 3, 3, 1]), "in: element 1:", "coordinate 3 of mode 1 is not in 0..3");
    refused(coo(&[3, 2], &[1, 1, 2, 2, 3, 3]), "in: element 1:", "stand twice");
    refused(read("coo", &[shape(), list("row", &[0])]), "in: no member `coords.npy`", "");
    let gcxs = |axes: &[i64], indices: &[i64], indptr: &[i64]| {
        let compressed = [list("compressed_axes", axes), list("indices", indices), list("indptr", indptr)];
        read("gcxs", &[&[shape(), list("data", &[1, 2])], &compressed[..]].concat())
    };
    assert_eq!(gcxs(&[0], &[11, 0], &[0, 1, 2]).unwrap().entries().next(), Some((vec![0, 2, 3], Value::i64(1))));
    refused(gcxs(&[0], &[12, 0], &[0, 1, 2]), "in: element 0: in `indices`", "12 is not in 0..12");
    refused(gcxs(&[0], &[0, -1], &[0, 1, 2]), "in: element 1: in `indices`", "-1 is not in 0..12");
    refused(gcxs(&[1], &[0, 1], &[0, 1, 2]), "in: in `indptr`", "3 elements, expected 3 + 1");
    for axes in [&[3][..], &[0, 0], &[-1]] {
        refused(gcxs(axes, &[0, 1], &[0, 1, 2]), "in: element", "in `compressed_axes`");
    }
}

/// Two members of one name: programs would disagree which of them counts.
#[test]
fn a_member_that_stands_twice_is_refused() {
    let shapes = [list("shape", &[1, 1]), list("Shape", &[2, 2])];
    let members = [list("row", &[]), list("col", &[]), list("data", &[])];
    let mut file = archive("coo", &[&shapes[..], &members[..]].concat());
    assert!(read_as(Kind::Npz, &file, Type::I64, "csr", 2).is_ok());
    while let Some(at) = file.windows(9).position(|w| w == b"Shape.npy") {
        file[at] = b's';
    }
    refused(read_as(Kind::Npz, &file, Type::I64, "csr", 2), "in: ", "two members of the archive have one name");
}

/// An array of a few bytes that unpacks to a gigabyte is not unpacked beyond the limit.
#[test]
fn bombs_stop_at_the_limit() {
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1073741824,)}";
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    let zeros = vec![0; 1 << 20];
    packer.write_all(&npy_file(1, header, &[])).unwrap();
    (0..64).for_each(|_| packer.write_all(&zeros).unwrap());
    let bomb = packer.finish().unwrap();
    assert!(bomb.len() < 1 << 17);
    let (sparse, options) = (Format::csf(1), Options { limit: 1 << 22, ..Options::default() });
    let read = |name: &str, kind| read_bytes(Path::new(name), kind, &bomb, &declared(Type::U8, &sparse), &options);
    assert_eq!(read("bomb.npy.gz", Kind::Npy).unwrap_err().cause, Cause::Limit);
    assert_eq!(read("bomb.npz.gz", Kind::Npz).unwrap_err().cause, Cause::Limit);
}
