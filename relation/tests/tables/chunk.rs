//! Pages of a column, byte by byte.

use super::pages::{file, page};
use super::*;
use ::parquet::basic::Encoding;
use Holds::Plain;

fn read(column: &str, pages: Vec<::parquet::column::page::Page>, holds: Holds) -> Result<Vec<Option<String>>, String> {
    let bytes = file(column, pages);
    let frame = read_bytes(Path::new("in.parquet"), &bytes, &[want("a", holds)], &Options::default());
    let frame = frame.map_err(|error| error.to_string())?;
    Ok((0..frame.rows).map(|row| frame.columns[0].cell(row).map(|cell| cell.to_string())).collect())
}

/// Old files pack levels from the highest bit of a byte on.
#[test]
fn levels_of_old_files_are_bits() {
    #[expect(deprecated, reason = "no longer written")]
    let bits = Encoding::BIT_PACKED;
    let numbers = |range: std::ops::Range<i32>| range.flat_map(i32::to_le_bytes).collect::<Vec<u8>>();
    let levels = [0b1010_0000, 0b1100_0000];
    let read = |rows: usize, levels: &[u8], numbers: Vec<u8>| {
        read("optional int32 a", vec![page(rows as u32, bits, &[levels, &numbers].concat())], Plain(Type::I32))
    };
    let some = |x: i32| Some(x.to_string());
    assert_eq!(
        read(9, &levels, numbers(0..3)),
        Ok(vec![some(0), None, some(1), None, None, None, None, None, some(2)])
    );
    assert!(read(9, &levels[..1], vec![]).unwrap_err().contains("a page ends early"));
    // More rows than are read at once.
    let rows = 10_001usize;
    let present = |row: usize| row * row % 7 < 3;
    let mut levels = vec![0u8; rows.div_ceil(8)];
    (0..rows).filter(|row| present(*row)).for_each(|row| levels[row / 8] |= 0x80 >> (row % 8));
    let mut next = 0..;
    let expected: Vec<_> = (0..rows).map(|row| present(row).then(|| next.next()).flatten().and_then(some)).collect();
    assert_eq!(read(rows, &levels, numbers(0..next.start)), Ok(expected));
}

#[test]
fn rows_are_counted_past_nulls() {
    let numbers = |all: &[i32]| all.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let refused = |column: &str, levels: &[u8], all: &[i32], rows: u32| {
        let bytes = [levels, &numbers(all)].concat();
        read(column, vec![page(rows, Encoding::RLE, &bytes)], Plain(Type::I8)).unwrap_err()
    };
    let at = |row: usize| format!("in.parquet: row {row}, column a: 300 is not exactly a value of type i8");
    let error = refused("required int32 a", &[], &[1, 2, 300], 3);
    assert!(error.starts_with(&at(3)), "{error}");
    // Values stand in the second and the fourth row.
    let error = refused("optional int32 a", &[2, 0, 0, 0, 3, 0b1010], &[1, 300], 4);
    assert!(error.starts_with(&at(4)), "{error}");
    // Of texts, and of levels, the number of bytes stands before them in four bytes.
    let texts =
        |rows: u32, bytes: &[u8]| read("required binary a", vec![page(rows, Encoding::RLE, bytes)], Holds::Text);
    let some = |text: &str| Some(text.to_string());
    assert_eq!(texts(2, &[2, 0, 0, 0, b'a', b'b', 1, 0, 0, 0, b'c']), Ok(vec![some("ab"), some("c")]));
    for bytes in [&[2, 0, 0][..], &[2, 0, 0, 0, 7]] {
        assert!(texts(1, bytes).unwrap_err().contains("the values end early"), "{bytes:?}");
        let error = refused("optional int32 a", bytes, &[], 1);
        assert!(error.contains("a page ends early"), "{error}");
    }
}
