//! Long lists of coordinates with one wrong element, against the invariant read one by one.

use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Array, Format, Level, Malformed, Tensor};

/// As many elements as are checked at a time.
const BLOCK: usize = 1 << 14;

/// A matrix in CSR whose rows, of all lengths up to `longest`, hold each second coordinate: more of them than a block.
fn rows(longest: i64) -> (Vec<i64>, Vec<i64>) {
    let (mut pos, mut crd) = (vec![0], vec![]);
    while crd.len() < 2 * BLOCK + 100 {
        crd.extend((0..pos.len() as i64 % (longest + 1)).map(|c| 2 * c + 1));
        pos.push(crd.len() as i64);
    }
    (pos, crd)
}

fn checked(ty: Type, pos: &[i64], crd: &[i64], extent: u64) -> Result<(), Malformed> {
    let [pos, crd] = [pos, crd].map(|array| Array::from_indices(ty, array).unwrap());
    let values = Array::filled(Value::i64(1), crd.len()).unwrap();
    let (extents, format) = (vec![pos.len() as u64 - 1, extent], Format::named("csr", 2).unwrap());
    let levels = vec![Level::Dense, Level::Compressed { pos, crd }];
    Tensor { extents, format, levels, values, fill: Value::i64(0) }.check()
}

/// The first coordinate that is not behind its predecessor or not in the extent: what the invariant says, one by one.
fn first_wrong(pos: &[i64], crd: &[i64], extent: u64) -> Option<usize> {
    (0..pos.len() - 1).find_map(|row| {
        let mut fiber = pos[row] as usize..pos[row + 1] as usize;
        let begin = fiber.start;
        fiber.find(|&p| crd[p] < 0 || crd[p] as u64 >= extent || p > begin && crd[p] <= crd[p - 1])
    })
}

/// Every wrong coordinate is found at its place, whether it stands within a block, at its border or where a row begins.
#[test]
fn each_changed_coordinate_of_a_long_list_is_found() {
    let extent = 400;
    for (ty, longest) in [(Type::I32, 3), (Type::I64, 190)] {
        let (pos, mut crd) = rows(longest);
        assert_eq!(checked(ty, &pos, &crd, extent), Ok(()));
        assert_eq!(checked(ty, &pos, &crd, u64::MAX >> 1), Ok(()));
        assert!(checked(ty, &pos, &crd, 0).is_err());
        let near = |border: usize| border - 3..border + 3;
        let n = crd.len();
        for at in (0..6).chain(near(BLOCK)).chain(near(2 * BLOCK)).chain(n - 6..n) {
            let was = crd[at];
            for c in [-1, 0, was - 2, was - 1, was + 1, was + 2, 399, 400, i32::MAX as i64, i32::MIN as i64] {
                crd[at] = c;
                let found = checked(ty, &pos, &crd, extent).err().map(|m| (m.level, m.position));
                assert_eq!(found, first_wrong(&pos, &crd, extent).map(|p| (Some(1), p)), "{ty}: {c} at {at}");
            }
            crd[at] = was;
        }
    }
}

/// Every position that falls is found at its place.
#[test]
fn each_changed_position_of_a_long_list_is_found() {
    let (mut pos, crd) = rows(1);
    let near = |border: usize| border - 2..border + 2;
    for at in (1..4).chain(near(BLOCK)).chain(near(2 * BLOCK)) {
        let was = pos[at];
        for (p, wrong) in [(-1, at), (was - 2, at), (was + 2, at + 1), (i32::MAX as i64, at + 1)] {
            pos[at] = p;
            let falls = (1..pos.len()).find(|&i| pos[i] < pos[i - 1]);
            assert!(falls == Some(wrong) || falls.is_none());
            if let Some(falls) = falls {
                let found = checked(Type::I32, &pos, &crd, 400).unwrap_err();
                assert_eq!((found.level, found.position), (Some(1), falls), "{p} at {at}");
            }
        }
        pos[at] = was;
    }
}
