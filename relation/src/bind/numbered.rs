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
