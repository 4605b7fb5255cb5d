//! Reshaped, stacked and sliced matrices: what stays as it is, is copied in blocks.

use super::gathers::gathered;
use super::{Appended, at, fiber, place};
use crate::arrays::{Arrays, Compressed, Rows};

/// An array that is filled in order, within a capacity that is known to suffice.
struct Filled<T>(Vec<T>);

impl<T> Filled<T> {
    fn new(capacity: usize) -> Filled<T> {
        Filled(Vec::with_capacity(capacity))
    }

    #[inline(always)]
    fn push(&mut self, x: T) {
        debug_assert!(self.0.len() < self.0.capacity());
        // SAFETY: the capacity suffices, as the callers know.
        unsafe {
            self.0.as_mut_ptr().add(self.0.len()).write(x);
            self.0.set_len(self.0.len() + 1);
        }
    }
}

/// Both, one behind the other.
fn joined<T: Copy>(a: &[T], b: &[T]) -> Vec<T> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    all.extend_from_slice(a);
    all.extend_from_slice(b);
    all
}

/// The first, and behind it the second with `by` added.
fn joined_moved(a: &[i32], b: &[i32], by: i32) -> Vec<i32> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    all.extend_from_slice(a);
    all.extend(b.iter().map(|x| x + by));
    all
}

/// Coordinates of 32 or 64 bits.
trait Coordinate: Copy {
    fn of(k: usize) -> Self;
    fn get(self) -> usize;
}

impl Coordinate for i32 {
    fn of(k: usize) -> i32 {
        k as i32
    }

    fn get(self) -> usize {
        self as usize
    }
}

impl Coordinate for i64 {
    fn of(k: usize) -> i64 {
        k as i64
    }

    fn get(self) -> usize {
        self as usize
    }
}

/// C = collapse(A): in one loop a row. (Values in a block of their own are slower where they do not stay in the cache.)
pub fn reshape(operands: &[&Arrays]) -> Arrays {
    let a = operands[0].rows();
    let (extent, pos) = (a.rows * a.columns, vec![0, a.crd.len() as i32]);
    let narrow = i32::try_from(extent).is_ok();
    let level = if narrow { Compressed::new(pos, collapsed(a)) } else { Compressed::wide(pos, collapsed(a)) };
    Arrays::vector(extent, level, vec![]).with_values_of(operands[0])
}

/// The coordinates of a matrix's entries as those of its rows one behind the other.
fn collapsed<T: Coordinate>(a: Rows) -> Vec<T> {
    let mut crd = Filled::new(a.crd.len());
    for i in 0..a.rows {
        for p in fiber(a.pos, i) {
            crd.push(T::of(i * a.columns + at(a.crd, p) as usize));
        }
    }
    crd.0
}

/// C = [A; B]: blocks, the second's positions moved.
pub fn vstack(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), operands[1].rows());
    let pos = joined_moved(a.pos, &b.pos[1..], a.crd.len() as i32);
    Arrays::csr([a.rows + b.rows, a.columns], pos, joined(a.crd, b.crd), joined(a.values, b.values))
}

/// C = [A B]: a row of each in turn.
pub fn hstack(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), operands[1].rows());
    let by = a.columns as i32;
    let mut c = Appended::new(a.crd.len() + b.crd.len());
    for i in 0..a.rows {
        fiber(a.pos, i).for_each(|p| c.push(at(a.crd, p), at(a.values, p)));
        fiber(b.pos, i).for_each(|p| c.push(at(b.crd, p) + by, at(b.values, p)));
    }
    let pos = a.pos.iter().zip(b.pos).map(|(p, q)| p + q).collect();
    let (crd, values) = c.finish();
    Arrays::csr([a.rows, a.columns + b.columns], pos, crd, values)
}

/// The coordinates of a list's two modes.
fn listed(a: &Arrays) -> (&[i32], &[i32]) {
    (&a.level(0).crd, &a.level(1).crd)
}

/// C = [A; B] of lists: blocks, the second's rows moved.
pub fn vstack_coo(operands: &[&Arrays]) -> Arrays {
    let ([a, b], by) = ([operands[0], operands[1]], operands[0].extents[0]);
    let ((a_rows, a_columns), (b_rows, b_columns)) = (listed(a), listed(b));
    let (rows, columns) = (joined_moved(a_rows, b_rows, by as i32), joined(a_columns, b_columns));
    Arrays::coo([by + b.extents[0], a.extents[1]], rows, columns, joined(&a.values, &b.values))
}

/// A list that is filled in order, within a capacity that is known to suffice.
struct Listed {
    rows: Vec<i32>,
    entries: Appended,
}

impl Listed {
    fn new(capacity: usize) -> Listed {
        Listed { rows: Vec::with_capacity(capacity), entries: Appended::new(capacity) }
    }

    #[inline(always)]
    fn push(&mut self, i: i32, j: i32, value: f64) {
        // SAFETY: the capacity suffices, as the callers know.
        unsafe { self.rows.as_mut_ptr().add(self.entries.length).write(i) };
        self.entries.push(j, value);
    }

    fn finish(mut self, extents: [usize; 2]) -> Arrays {
        // SAFETY: as many were written.
        unsafe { self.rows.set_len(self.entries.length) };
        let (columns, values) = self.entries.finish();
        Arrays::coo(extents, self.rows, columns, values)
    }
}

/// C = [A B] of lists, sorted as they are: the next entry of the one whose row is less, of the first where they are the
/// same.
pub fn hstack_coo(operands: &[&Arrays]) -> Arrays {
    let ([a, b], by) = ([operands[0], operands[1]], operands[0].extents[1]);
    let ((a_rows, a_columns), (b_rows, b_columns)) = (listed(a), listed(b));
    let mut c = Listed::new(a_rows.len() + b_rows.len());
    let (mut p, mut q) = (0..a_rows.len(), 0..b_rows.len());
    while p.start < p.end && q.start < q.end {
        let upto = at(b_rows, q.start);
        while p.start < p.end && at(a_rows, p.start) <= upto {
            c.push(at(a_rows, p.start), at(a_columns, p.start), at(&a.values, p.start));
            p.start += 1;
        }
        while q.start < q.end && at(b_rows, q.start) == upto {
            c.push(upto, at(b_columns, q.start) + by as i32, at(&b.values, q.start));
            q.start += 1;
        }
    }
    p.for_each(|p| c.push(at(a_rows, p), at(a_columns, p), at(&a.values, p)));
    q.for_each(|q| c.push(at(b_rows, q), at(b_columns, q) + by as i32, at(&b.values, q)));
    c.finish([a.extents[0], by + b.extents[1]])
}

/// C = [A; B] of compressed rows as a list.
pub fn vstack_to_coo(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), operands[1].rows());
    let mut c = Listed::new(a.crd.len() + b.crd.len());
    for i in 0..a.rows {
        fiber(a.pos, i).for_each(|p| c.push(i as i32, at(a.crd, p), at(a.values, p)));
    }
    for i in 0..b.rows {
        fiber(b.pos, i).for_each(|p| c.push((a.rows + i) as i32, at(b.crd, p), at(b.values, p)));
    }
    c.finish([a.rows + b.rows, a.columns])
}

/// C = [A; B] of lists in compressed rows: positions are where the row changes.
pub fn vstack_from_coo(operands: &[&Arrays]) -> Arrays {
    let ([a, b], by) = ([operands[0], operands[1]], operands[0].extents[0]);
    let ((a_rows, a_columns), (b_rows, b_columns)) = (listed(a), listed(b));
    let rows = by + b.extents[0];
    let mut pos = vec![0i32; rows + 1];
    a_rows.iter().enumerate().for_each(|(p, i)| *place(&mut pos, *i as usize + 1) = p as i32 + 1);
    let before = a_rows.len() as i32;
    b_rows.iter().enumerate().for_each(|(p, i)| *place(&mut pos, *i as usize + by + 1) = p as i32 + 1 + before);
    for i in 0..rows {
        pos[i + 1] = pos[i + 1].max(pos[i]);
    }
    Arrays::csr([rows, a.extents[1]], pos, joined(a_columns, b_columns), joined(&a.values, &b.values))
}

/// C = [A B] of compressed rows as a list: a row of each in turn.
pub fn hstack_to_coo(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), operands[1].rows());
    let by = a.columns as i32;
    let mut c = Listed::new(a.crd.len() + b.crd.len());
    for i in 0..a.rows {
        fiber(a.pos, i).for_each(|p| c.push(i as i32, at(a.crd, p), at(a.values, p)));
        fiber(b.pos, i).for_each(|p| c.push(i as i32, at(b.crd, p) + by, at(b.values, p)));
    }
    c.finish([a.rows, a.columns + b.columns])
}

/// Every other row of the first half.
fn alternating(a: Rows) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..a.rows / 2).step_by(2).map(move |i| fiber(a.pos, i))
}

/// `C = A[0:half:2]`: rows in blocks.
pub fn slice_rows(operands: &[&Arrays]) -> Arrays {
    let a = operands[0].rows();
    let mut pos = Vec::with_capacity(a.rows / 2 + 2);
    pos.push(0);
    let mut length = 0;
    pos.extend(alternating(a).map(|row| {
        length += row.len() as i32;
        length
    }));
    let mut c = Appended::new(length as usize);
    for row in alternating(a) {
        row.for_each(|p| c.push(at(a.crd, p), at(a.values, p)));
    }
    let (crd, values) = c.finish();
    Arrays::csr([pos.len() - 1, a.columns], pos, crd, values)
}

/// `C = A[0:half:2]` as a list.
pub fn slice_rows_to_coo(operands: &[&Arrays]) -> Arrays {
    let a = operands[0].rows();
    let mut c = Listed::new(alternating(a).map(|row| row.len()).sum());
    for (k, row) in alternating(a).enumerate() {
        row.for_each(|p| c.push(k as i32, at(a.crd, p), at(a.values, p)));
    }
    c.finish([alternating(a).count(), a.columns])
}

/// C = A[:, quarter:3·quarter]: each entry is written, and kept if it is one of those.
pub fn slice_columns(operands: &[&Arrays]) -> Arrays {
    let a = operands[0].rows();
    let quarter = (a.columns / 4) as i32;
    let mut c = Appended::new(a.crd.len() + 1);
    let mut pos = Vec::with_capacity(a.rows + 1);
    pos.push(0);
    for i in 0..a.rows {
        for p in fiber(a.pos, i) {
            let j = at(a.crd, p);
            c.push_if(j - quarter, at(a.values, p), (quarter..3 * quarter).contains(&j));
        }
        pos.push(c.length as i32);
    }
    let (crd, values) = c.finish();
    Arrays::csr([a.rows, 2 * quarter as usize], pos, crd, values)
}

/// The extents of the square matrix that a vector is split into.
fn square(v: &Arrays) -> [usize; 2] {
    [v.extents[0].isqrt(); 2]
}

/// A vector's coordinates as columns of a matrix; `row` is told where each row ends.
fn split(v: &Arrays, row: impl FnMut(usize)) -> Vec<i32> {
    match &v.level(0).wide {
        None => split_coordinates(&v.level(0).crd, square(v), row),
        Some(crd) => split_coordinates(crd, square(v), row),
    }
}

fn split_coordinates<T: Coordinate>(crd: &[T], [rows, columns]: [usize; 2], mut row: impl FnMut(usize)) -> Vec<i32> {
    let (mut all, mut p) = (Filled::new(crd.len()), 0);
    for i in 0..rows {
        let (start, stop) = (i * columns, (i + 1) * columns);
        while p < crd.len() && at(crd, p).get() < stop {
            all.push((at(crd, p).get() - start) as i32);
            p += 1;
        }
        row(p);
    }
    all.0
}

/// C = split(v): rows are walked through as coordinates come to them.
pub fn split_to_csr(operands: &[&Arrays]) -> Arrays {
    let v = operands[0];
    let mut pos = Vec::with_capacity(square(v)[0] + 1);
    pos.push(0);
    let crd = split(v, |end| pos.push(end as i32));
    Arrays::csr(square(v), pos, crd, vec![]).with_values_of(v)
}

/// The same as a list.
pub fn split_to_coo(operands: &[&Arrays]) -> Arrays {
    let v = operands[0];
    let (mut rows, mut i) = (Filled::new(v.values.len()), 0);
    let crd = split(v, |end| {
        (rows.0.len()..end).for_each(|_| rows.push(i));
        i += 1;
    });
    Arrays::coo(square(v), rows.0, crd, vec![]).with_values_of(v)
}

/// C = collapse(A) ∘ v
pub fn reshape_times(operands: &[&Arrays]) -> Arrays {
    let (a, v) = (operands[0].rows(), operands[1]);
    let pos = |values: &[f64]| vec![0, values.len() as i32];
    let (level, values) = match &v.level(0).wide {
        None => {
            let (crd, values) = collapsed_times(a, &v.level(0).crd, &v.values);
            (Compressed::new(pos(&values), crd), values)
        }
        Some(crd) => {
            let (crd, values) = collapsed_times(a, crd, &v.values);
            (Compressed::wide(pos(&values), crd), values)
        }
    };
    Arrays::vector(v.extents[0], level, values)
}

/// Entries of both in one loop, without a branch for which comes first.
fn collapsed_times<T: Coordinate>(a: Rows, v_crd: &[T], v_values: &[f64]) -> (Vec<T>, Vec<f64>) {
    let most = a.crd.len().min(v_crd.len()) + 1;
    let (mut crd, mut values) = (Vec::<T>::with_capacity(most), Vec::<f64>::with_capacity(most));
    let (mut q, mut length) = (0, 0);
    for i in 0..a.rows {
        let start = i * a.columns;
        let mut p = fiber(a.pos, i);
        while p.start < p.end && q < v_crd.len() {
            let (j, k) = (start + at(a.crd, p.start) as usize, at(v_crd, q).get());
            // SAFETY: each entry that is kept has moved both cursors on, so there are no more than of either.
            unsafe {
                crd.as_mut_ptr().add(length).write(T::of(j));
                values.as_mut_ptr().add(length).write(at(a.values, p.start) * at(v_values, q));
            }
            length += (j == k) as usize;
            p.start += (j <= k) as usize;
            q += (k <= j) as usize;
        }
    }
    // SAFETY: as many were written.
    unsafe {
        crd.set_len(length);
        values.set_len(length);
    }
    (crd, values)
}

/// y = [A; B] x: two products.
pub fn stacked_spmv(operands: &[&Arrays]) -> Arrays {
    let (a, b, x) = (operands[0].rows(), operands[1].rows(), &operands[2].values);
    let row = |m: Rows, i: usize| gathered(fiber(m.pos, i), m.crd, m.values, x);
    let y = (0..a.rows).map(|i| row(a, i)).chain((0..b.rows).map(|i| row(b, i))).collect();
    Arrays::dense(&[a.rows + b.rows], y)
}

/// `C = A[0:half:2] ∘ B`: as a product of matrices.
pub fn slice_times(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), operands[1].rows());
    let mut c = Appended::new(a.crd.len().min(b.crd.len()) + 1);
    let mut pos = Vec::with_capacity(b.rows + 1);
    pos.push(0);
    for (k, mut p) in alternating(a).enumerate() {
        let mut q = fiber(b.pos, k);
        while p.start < p.end && q.start < q.end {
            let (i, j) = (at(a.crd, p.start), at(b.crd, q.start));
            c.push_if(i, at(a.values, p.start) * at(b.values, q.start), i == j);
            p.start += (i <= j) as usize;
            q.start += (j <= i) as usize;
        }
        pos.push(c.length as i32);
    }
    let (crd, values) = c.finish();
    Arrays::csr([b.rows, b.columns], pos, crd, values)
}
