//! Rows numbered below equal coordinates, in their order.
//!
//! ```text
//!  coordinates   3 1 3 3 1
//!  numbers       0 0 1 2 1
//! ```

use fiberloom_core::format::{Error, room};

/// Of each of so many rows how many before it have its coordinates, which are not negative: a column a mode.
pub(super) fn within(columns: &[Vec<i64>], rows: usize) -> Result<Vec<i64>, Error> {
    if ascends(columns, rows) {
        let mut number = 0;
        return room::collected((0..rows).map(|row| {
            let repeats = row > 0 && columns.iter().all(|column| column[row - 1] == column[row]);
            number = if repeats { number + 1 } else { 0 };
            number
        }));
    }
    let (mut groups, mut count): (Vec<usize>, usize) = (room::repeated(0, rows)?, 1);
    for column in columns {
        count = parted(&mut groups, count, column)?;
    }
    let mut next = room::repeated(0i64, count)?;
    room::collected(groups.into_iter().map(|group| {
        next[group] += 1;
        next[group] - 1
    }))
}

/// Whether rows never fall, lexicographically.
fn ascends(columns: &[Vec<i64>], rows: usize) -> bool {
    (1..rows).all(|row| {
        let change = columns.iter().find(|column| column[row - 1] != column[row]);
        change.is_none_or(|column| column[row - 1] < column[row])
    })
}

/// How many rows the most frequent coordinates have, which are not negative; none where it takes long to say: rows of several columns that
/// do not stand in order, or of one with coordinates that are far above their number.
pub(super) fn tallest(columns: &[Vec<i64>], rows: usize) -> Result<Option<usize>, Error> {
    match columns {
        [] => Ok(Some(rows)),
        [column] if column.iter().all(|c| *c as u64 <= 4 * rows as u64 + 1024) => {
            let extent = column.iter().max().map_or(0, |most| *most as usize + 1);
            let mut counts = room::repeated(0usize, extent)?;
            column.iter().for_each(|c| counts[*c as usize] += 1);
            Ok(Some(counts.into_iter().max().unwrap_or(0)))
        }
        _ if ascends(columns, rows) => {
            let (mut most, mut begin) = (0, 0);
            for row in 0..rows {
                if columns.iter().any(|column| column[begin] != column[row]) {
                    begin = row;
                }
                most = most.max(row + 1 - begin);
            }
            Ok(Some(most))
        }
        _ => Ok(None),
    }
}

/// Parts groups of rows by a column: rows are of one group if they were and have equal coordinates. How many numbers of groups there
/// are, of which some may be none's.
fn parted(groups: &mut [usize], count: usize, column: &[i64]) -> Result<usize, Error> {
    let extent = column.iter().max().map_or(0, |most| *most as u128 + 1);
    let all = count as u128 * extent;
    if all <= 4 * groups.len() as u128 + 1024 {
        groups.iter_mut().zip(column).for_each(|(group, c)| *group = *group * extent as usize + *c as usize);
        return Ok(all as usize);
    }
    let mut order: Vec<usize> = room::collected(0..groups.len())?;
    order.sort_unstable_by_key(|row| (groups[*row], column[*row]));
    let mut count = 0;
    let mut before = None;
    for row in order {
        let key = (groups[row], column[row]);
        if before.is_some_and(|before| before != key) {
            count += 1;
        }
        before = Some(key);
        groups[row] = count;
    }
    Ok(count + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same rows in the order of their coordinates.
    fn sorted(columns: &[Vec<i64>]) -> Vec<Vec<i64>> {
        let mut rows: Vec<Vec<i64>> = (0..50).map(|row| columns.iter().map(|column| column[row]).collect()).collect();
        rows.sort();
        (0..columns.len()).map(|c| rows.iter().map(|row| row[c]).collect()).collect()
    }

    /// The same as counting, for each row, the rows before it.
    #[test]
    fn rows_are_counted_below_their_key() {
        let mut x = 1u64;
        let mut draw = |most: u64| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((x >> 33) % most) as i64
        };
        for (first, second) in [(3, 2), (1 << 30, 2), (2, 1 << 30), (1 << 30, 1 << 30)] {
            let columns = [first, second].map(|most| (0..50).map(|_| draw(most) / (most as i64 / 3).max(1)).collect());
            let columns: [Vec<i64>; 2] = columns.map(|c: Vec<i64>| c.iter().map(|x| x << 28).collect());
            for columns in [&columns[..], &columns[..1], &[]] {
                let before = |row: usize| {
                    let equal = |other: &usize| columns.iter().all(|c| c[*other] == c[row]);
                    (0..row).filter(equal).count() as i64
                };
                let expected: Vec<i64> = (0..50).map(before).collect();
                assert_eq!(within(columns, 50), Ok(expected));
                let sorted: Vec<Vec<i64>> = sorted(columns);
                let before = |row: usize| (0..row).filter(|e| sorted.iter().all(|c| c[*e] == c[row])).count() as i64;
                let expected: Vec<i64> = (0..50).map(before).collect();
                let most = expected.iter().max().map(|most| *most as usize + 1);
                assert_eq!(tallest(&sorted, 50), Ok(most));
                assert!(tallest(columns, 50).is_ok_and(|found| found.is_none() || found == most));
                let small: Vec<Vec<i64>> = columns.iter().map(|c| c.iter().map(|x| x >> 28).collect()).collect();
                assert!(small.len() > 1 || tallest(&small, 50) == Ok(most) || small.concat().iter().any(|x| *x > 1224));
                assert_eq!(within(&sorted, 50), Ok(expected));
            }
        }
    }
}
