//! Where pieces of a loop's iterations end, so that all have as much work.
//!
//! ```text
//!   positions    0  1  2             9 10 11           iterations up to the first one before which a share of the work lies:
//!   iterations   ├──────────────┼──────┼────────┤      a long one ends its piece
//! ```
//!
//! The work before an iteration is the number of iterations before it and, of each array of positions that the loop's description names, the
//! element there (`loops::weights`). Whatever these arrays hold, pieces are apart, and cover all iterations.
#![allow(unsafe_code)] // Arrays that generated code names.

use crate::abi::Buffer;

/// Positions that grow with the iterations, as generated code describes them.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Weight {
    /// The number of the buffer.
    buffer: i64,
    /// The size of an element: 4 or 8.
    bytes: i64,
    /// The number of the weight that says which element counts; −1: the iteration does.
    at: i64,
}

/// How the iterations of a loop are cut into pieces. Threads read the arrays that it points to.
#[derive(Clone, Copy)]
pub(super) struct Cuts<'l> {
    weights: &'l [Weight],
    buffers: *const Buffer,
    /// The first iteration, and one past the last.
    range: (i64, i64),
    /// The iterations of a piece, if all have as much work.
    step: i64,
    /// The least work of a piece, but for the last.
    share: i64,
}

// SAFETY: nobody writes these buffers' addresses, nor operands, while a loop runs.
unsafe impl Send for Cuts<'_> {}
// SAFETY: the same.
unsafe impl Sync for Cuts<'_> {}

impl<'l> Cuts<'l> {
    /// At most `pieces` of them, at least one. The buffers have the arrays of these weights.
    pub fn new((weights, buffers): (&'l [Weight], *const Buffer), range: (i64, i64), pieces: i64) -> Cuts<'l> {
        let up = |n: i64| n / pieces + i64::from(n % pieces != 0);
        let step = up(range.1.saturating_sub(range.0)).max(1);
        let cuts = Cuts { weights, buffers, range, step, share: 0 };
        let work = cuts.before(range.1).saturating_sub(cuts.before(range.0));
        Cuts { share: up(work).max(1), ..cuts }
    }

    /// The first iteration.
    pub fn first(&self) -> i64 {
        self.range.0
    }

    /// The part of all work that lies before an iteration: more than 0, and at most 1.
    pub fn done(&self, next: i64) -> f64 {
        let [first, next, last] = [self.range.0, next, self.range.1].map(|i| self.before(i) as f64);
        ((next - first) / (last - first).max(1.0)).clamp(f64::MIN_POSITIVE, 1.0)
    }

    /// One past the last iteration of the piece that begins with this one.
    pub fn past(&self, first: i64) -> i64 {
        let last = self.range.1;
        let mut past = first.saturating_add(self.step).min(last);
        if self.weights.is_empty() {
            return past;
        }
        let whole = self.before(first).saturating_add(self.share);
        let (mut short, mut step) = (first, self.step);
        while past < last && self.before(past) < whole {
            (short, step) = (past, step.saturating_mul(2));
            past = past.saturating_add(step).min(last);
        }
        while past - short > 1 {
            let middle = short + (past - short) / 2;
            *(if self.before(middle) < whole { &mut short } else { &mut past }) = middle;
        }
        past
    }

    /// The work before an iteration.
    fn before(&self, first: i64) -> i64 {
        (0..self.weights.len()).fold(first, |sum, n| sum.saturating_add(self.element(n, first)))
    }

    /// The element of a weight's array that counts for an iteration: the last one, if there are fewer.
    fn element(&self, n: usize, first: i64) -> i64 {
        let Weight { buffer, bytes, at } = self.weights[n];
        let at = if at < 0 { first } else { self.element(at as usize, first) };
        // SAFETY: one of the kernel's buffers, an operand's, which stays while the loop runs.
        let of = unsafe { *self.buffers.add(buffer as usize) };
        if of.capacity < 1 {
            return 0;
        }
        let at = at.clamp(0, of.capacity - 1) as usize;
        // SAFETY: the array has this element, of so many bytes.
        unsafe {
            if bytes == 4 {
                i64::from(of.data.cast::<i32>().add(at).read())
            } else {
                of.data.cast::<i64>().add(at).read()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of `0..n`.
    fn pieces(weights: &[Weight], arrays: &mut [Vec<i32>], n: i64, most: i64) -> Vec<(i64, i64)> {
        let of =
            |a: &mut Vec<i32>| Buffer { data: a.as_mut_ptr().cast(), len: a.len() as i64, capacity: a.len() as i64 };
        let buffers: Vec<Buffer> = arrays.iter_mut().map(of).collect();
        let cuts = Cuts::new((weights, buffers.as_ptr()), (0, n), most);
        let behind = |first: i64| (first < n).then(|| (first, cuts.past(first)));
        std::iter::successors(behind(0), |piece| behind(piece.1)).collect()
    }

    const ROWS: Weight = Weight { buffer: 0, bytes: 4, at: -1 };

    /// Without weights pieces have as many iterations; with positions as many iterations and entries together, and a long row its own piece.
    #[test]
    fn pieces_have_as_much_work() {
        assert_eq!(pieces(&[], &mut [], 10, 4), [(0, 3), (3, 6), (6, 9), (9, 10)]);
        let mut positions = [vec![0, 0, 0, 90, 91, 92, 93, 94, 94, 94, 94]];
        assert_eq!(pieces(&[ROWS], &mut positions, 10, 4), [(0, 3), (3, 10)]);
        assert_eq!(pieces(&[ROWS], &mut [vec![0, 9, 10, 11, 12, 13, 14, 15, 16]], 8, 2), [(0, 2), (2, 8)]);
        assert_eq!(pieces(&[ROWS], &mut [vec![0, 50, 51, 52, 53, 54, 55, 56, 57]], 8, 2), [(0, 1), (1, 8)]);
    }

    /// Fibers count by the entries below their rows.
    #[test]
    fn entries_of_fibers_count_where_their_rows_begin() {
        let fibers = Weight { buffer: 1, bytes: 4, at: 0 };
        let mut positions = [vec![0, 1, 2, 3, 4], vec![0, 100, 101, 102, 103]];
        assert_eq!(pieces(&[ROWS, fibers], &mut positions, 4, 8), [(0, 1), (1, 4)]);
    }

    /// Whatever an array holds, and however short it is, pieces are apart and cover all; there are as many as asked for, at most.
    #[test]
    fn pieces_cover_all_iterations() {
        let short = [vec![], vec![7], vec![5, 3, 9, -4, i32::MAX, 2, 0, 1], vec![-1; 40]];
        for (array, n, most) in
            short.iter().flat_map(|a| (1..30).flat_map(move |n| (1..9).map(move |most| (a, n, most))))
        {
            let cut = pieces(&[ROWS, Weight { at: 0, ..ROWS }], &mut [array.clone()], n, most);
            assert_eq!((cut[0].0, cut[cut.len() - 1].1), (0, n), "{array:?}");
            assert!(cut.windows(2).all(|w| w[0].1 == w[1].0) && cut.iter().all(|(a, b)| a < b), "{array:?} {cut:?}");
            let ascends = array.windows(2).all(|w| w[0] <= w[1]);
            assert!(!ascends || cut.len() as i64 <= most, "{array:?} {cut:?}");
        }
    }
}
