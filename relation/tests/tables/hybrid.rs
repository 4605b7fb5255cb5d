//! Small numbers in runs, as Parquet files have them.

use fiberloom_relation::Hybrid;

fn read(bytes: &[u8], width: u32, count: usize) -> Result<Vec<u32>, String> {
    let mut to = vec![0; count];
    Hybrid::new(bytes, width)?.read(&mut to)?;
    Ok(to)
}

/// The example of the format's own description: 0 to 7 in three bits each.
#[test]
fn numbers_are_packed_from_the_lowest_bit_on() {
    let bytes = [0b0000_0011, 0b1000_1000, 0b1100_0110, 0b1111_1010];
    assert_eq!(read(&bytes, 3, 8), Ok(vec![0, 1, 2, 3, 4, 5, 6, 7]));
    assert_eq!(read(&bytes[..3], 3, 5), Ok(vec![0, 1, 2, 3, 4]));
    assert_eq!(read(&bytes[..3], 3, 6), Err("the values end early".to_string()));
}

#[test]
fn runs_follow_one_another() {
    // 300 times 0x0102, then eight numbers of ten bits, then nothing twice, then once 5.
    let packed = [0xff, 0x03, 0, 0, 0, 0, 0, 0, 0, 0xff];
    let bytes = [&[0xd8, 0x04, 0x02, 0x01, 0x03][..], &packed, &[0, 9, 0, 2, 5, 0]].concat();
    let all = read(&bytes, 10, 309).unwrap();
    assert_eq!(all[..300], [0x0102; 300]);
    assert_eq!(all[300..], [0x3ff, 0, 0, 0, 0, 0, 0, 0x3fc, 5]);
    let mut runs = Hybrid::new(&bytes, 10).unwrap();
    let mut parts = vec![0; 309];
    for part in parts.chunks_mut(7) {
        runs.read(part).unwrap();
    }
    assert_eq!(parts, all);
}

/// Every width, against bits one by one.
#[test]
fn widths_are_read_bit_by_bit() {
    let bytes: Vec<u8> = (0..64u32).map(|n| (n * 73 + 41) as u8).collect();
    let bit = |n: usize| u64::from(bytes[n / 8] >> (n % 8) & 1);
    for width in 0..=32usize {
        let groups = (63 * 8 / width.max(1) / 8).min(63);
        let head = [&[(2 * groups + 1) as u8][..], &bytes].concat();
        let expected = (0..8 * groups).map(|n| (0..width).map(|b| bit(n * width + b) << b).sum::<u64>() as u32);
        assert_eq!(read(&head, width as u32, 8 * groups), Ok(expected.collect()), "{width}");
    }
    assert!(read(&bytes, 33, 1).is_err());
}

#[test]
fn damaged_runs_are_refused() {
    for bytes in [&[][..], &[0x80], &[0x80; 6], &[2], &[3]] {
        assert!(read(bytes, 8, 1).is_err(), "{bytes:?}");
    }
    // Widths of 0 need no bytes, however many values there are.
    assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x7f], 0, 3), Ok(vec![0; 3]));
}
