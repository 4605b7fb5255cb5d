//! Lists, blocks and runs beside each other. Operands are in the formats and types of the program.

use super::{at, fiber, fma, place};
use fiberloom::{Array, Format, Level, Tensor, Type, Value};
use std::ops::Range;

/// Positions and coordinates of a level of lists or runs.
fn lists<'t>(tensor: &'t Tensor, level: usize) -> (&'t [i32], &'t [i32]) {
    match &tensor.levels[level] {
        Level::Compressed { pos: Array::I32(pos), crd: Array::I32(crd) }
        | Level::Runs { pos: Array::I32(pos), crd: Array::I32(crd) } => (pos, crd),
        other => panic!("{other:?} is no list of 32 bits"),
    }
}

/// Blocks: where each row's begin, the last coordinate of each, and where the positions of each begin.
struct Blocks<'t> {
    pos: &'t [i32],
    last: &'t [i32],
    ofs: &'t [i32],
}

impl<'t> Blocks<'t> {
    fn of(tensor: &'t Tensor, level: usize) -> Blocks<'t> {
        match &tensor.levels[level] {
            Level::Vbl { pos: Array::I32(pos), crd: Array::I32(last), ofs: Array::I32(ofs) } => {
                Blocks { pos, last, ofs }
            }
            other => panic!("{other:?} has no blocks of 32 bits"),
        }
    }

    /// A block's coordinates, and the position of its first.
    #[inline(always)]
    fn block(&self, b: usize) -> (Range<usize>, usize) {
        let (begin, end, last) = (at(self.ofs, b) as usize, at(self.ofs, b + 1) as usize, at(self.last, b) as usize);
        (last + 1 - (end - begin)..last + 1, begin)
    }
}

fn reals<'t>(tensor: &'t Tensor) -> &'t [f64] {
    let Array::F64(values) = &tensor.values else { panic!("no f64") };
    values
}

fn bytes<'t>(tensor: &'t Tensor) -> &'t [u8] {
    let Array::U8(values) = &tensor.values else { panic!("no u8") };
    values
}

fn dense(extents: &[u64], values: Vec<f64>) -> Tensor<'static> {
    Tensor {
        extents: extents.to_vec(),
        format: Format::dense(extents.len()),
        levels: vec![Level::Dense; extents.len()],
        values: Array::from(values),
        fill: Value::zero(Type::F64),
    }
}

/// y = A x: each row is walked beside x.
pub fn spmspv_walk(operands: &[&Tensor]) -> Tensor<'static> {
    rows_times(operands, |[a, b], va, vb, mut p, mut q| {
        let mut sum = 0.0;
        while p.start < p.end && q.start < q.end {
            let (i, j) = (at(a, p.start), at(b, q.start));
            if i == j {
                sum = fma(at(va, p.start), at(vb, q.start), sum);
            }
            p.start += (i <= j) as usize;
            q.start += (j <= i) as usize;
        }
        sum
    })
}

/// y = A x: whoever is behind leaps to where the other is.
pub fn spmspv_gallop(operands: &[&Tensor]) -> Tensor<'static> {
    rows_times(operands, |[a, b], va, vb, mut p, mut q| {
        let mut sum = 0.0;
        while p.start < p.end && q.start < q.end {
            let (i, j) = (at(a, p.start), at(b, q.start));
            if i == j {
                sum = fma(at(va, p.start), at(vb, q.start), sum);
                (p.start, q.start) = (p.start + 1, q.start + 1);
            } else if i < j {
                p.start = leap(a, p.clone(), j);
            } else {
                q.start = leap(b, q.clone(), i);
            }
        }
        sum
    })
}

/// The first position of a stretch, whose first is before the target, that is not before it.
#[inline(always)]
fn leap(crd: &[i32], stretch: Range<usize>, target: i32) -> usize {
    let (mut before, mut step) = (stretch.start, 1);
    while before + step < stretch.end && at(crd, before + step) < target {
        before += step;
        step *= 2;
    }
    let (mut lo, mut hi) = (before + 1, (before + step).min(stretch.end));
    while lo < hi {
        let middle = (lo + hi) / 2;
        if at(crd, middle) < target { lo = middle + 1 } else { hi = middle }
    }
    lo
}

/// Of each row of A, in lists, and of x: the dot product.
#[inline(always)]
fn rows_times(
    operands: &[&Tensor],
    dot: impl Fn([&[i32]; 2], &[f64], &[f64], Range<usize>, Range<usize>) -> f64,
) -> Tensor<'static> {
    let ((pos, a), (_, x)) = (lists(operands[0], 1), lists(operands[1], 0));
    let (va, vx) = (reals(operands[0]), reals(operands[1]));
    let rows = operands[0].extents[0];
    let y = (0..rows as usize).map(|i| dot([a, x], va, vx, fiber(pos, i), 0..x.len())).collect();
    dense(&[rows], y)
}

/// y = A x: the blocks of each row, and the entries of x in them.
pub fn spmspv_blocks(operands: &[&Tensor]) -> Tensor<'static> {
    let (a, (_, x)) = (Blocks::of(operands[0], 1), lists(operands[1], 0));
    let (va, vx) = (reals(operands[0]), reals(operands[1]));
    let row = |i: usize| {
        let (mut sum, mut q) = (0.0, 0);
        for b in fiber(a.pos, i) {
            let (coordinates, begin) = a.block(b);
            if q < x.len() && (at(x, q) as usize) < coordinates.start {
                q = leap(x, q..x.len(), coordinates.start as i32);
            }
            if q == x.len() {
                break;
            }
            while q < x.len() && (at(x, q) as usize) < coordinates.end {
                sum = fma(at(va, begin + at(x, q) as usize - coordinates.start), at(vx, q), sum);
                q += 1;
            }
        }
        sum
    };
    let rows = operands[0].extents[0];
    dense(&[rows], (0..rows as usize).map(row).collect())
}

/// `Σ A[i,j] A[j,k] A[i,k]`: rows `i` and `j` are walked beside each other.
pub fn triangles_walk(operands: &[&Tensor]) -> Tensor<'static> {
    triangles(operands[0], |crd, values, mut p, mut q| {
        let mut sum = 0.0;
        while p.start < p.end && q.start < q.end {
            let (i, j) = (at(crd, p.start), at(crd, q.start));
            if i == j {
                sum = fma(at(values, p.start), at(values, q.start), sum);
            }
            p.start += (i <= j) as usize;
            q.start += (j <= i) as usize;
        }
        sum
    })
}

/// `Σ A[i,j] A[j,k] A[i,k]`: of rows `i` and `j`, whoever is behind leaps.
pub fn triangles_gallop(operands: &[&Tensor]) -> Tensor<'static> {
    triangles(operands[0], |crd, values, mut p, mut q| {
        let mut sum = 0.0;
        while p.start < p.end && q.start < q.end {
            let (i, j) = (at(crd, p.start), at(crd, q.start));
            if i == j {
                sum = fma(at(values, p.start), at(values, q.start), sum);
                (p.start, q.start) = (p.start + 1, q.start + 1);
            } else if i < j {
                p.start = leap(crd, p.clone(), j);
            } else {
                q.start = leap(crd, q.clone(), i);
            }
        }
        sum
    })
}

#[inline(always)]
fn triangles(a: &Tensor, meet: impl Fn(&[i32], &[f64], Range<usize>, Range<usize>) -> f64) -> Tensor<'static> {
    let ((pos, crd), values) = (lists(a, 1), reals(a));
    let mut sum = 0.0;
    for i in 0..a.extents[0] as usize {
        for p in fiber(pos, i) {
            let meeting = meet(crd, values, fiber(pos, i), fiber(pos, at(crd, p) as usize));
            sum = fma(at(values, p), meeting, sum);
        }
    }
    dense(&[], vec![sum])
}

/// `Σ A[i,j] A[j,k] A[i,k]`: row `i` is laid on a table.
pub fn triangles_located(operands: &[&Tensor]) -> Tensor<'static> {
    let a = operands[0];
    let ((pos, crd), values) = (lists(a, 1), reals(a));
    let (mut table, mut sum) = (vec![0.0; a.extents[1] as usize], 0.0);
    for i in 0..a.extents[0] as usize {
        fiber(pos, i).for_each(|p| *place(&mut table, at(crd, p) as usize) = at(values, p));
        for p in fiber(pos, i) {
            let asked = super::gathers::gathered(fiber(pos, at(crd, p) as usize), crd, values, &table);
            sum = fma(at(values, p), asked, sum);
        }
        fiber(pos, i).for_each(|p| *place(&mut table, at(crd, p) as usize) = 0.0);
    }
    dense(&[], vec![sum])
}

/// C = A ∘ (A ∗ F), F eleven by eleven, black around A: eleven rows are followed as the window moves to the right.
pub fn convolve(operands: &[&Tensor]) -> Tensor<'static> {
    const SIDE: usize = 11;
    const HALF: usize = SIDE / 2;
    let (a, filter) = (operands[0], reals(operands[1]));
    let ((pos, crd), values) = (lists(a, 1), reals(a));
    let rows = a.extents[0] as usize;
    let mut made = Vec::with_capacity(values.len());
    for i in 0..rows {
        let near = i.saturating_sub(HALF)..(i + HALF + 1).min(rows);
        let mut begins = [0; SIDE];
        near.clone().for_each(|r| begins[r + HALF - i] = at(pos, r) as usize);
        for p in fiber(pos, i) {
            let (j, mut sum) = (at(crd, p), 0.0);
            for r in near.clone() {
                let (k, end) = (r + HALF - i, at(pos, r + 1) as usize);
                let mut q = begins[k];
                while q < end && at(crd, q) < j - HALF as i32 {
                    q += 1;
                }
                begins[k] = q;
                while q < end && at(crd, q) <= j + HALF as i32 {
                    let l = (at(crd, q) - j + HALF as i32) as usize;
                    sum = fma(at(values, q), at(filter, k * SIDE + l), sum);
                    q += 1;
                }
            }
            made.push(if at(values, p) != 0.0 { sum } else { 0.0 });
        }
    }
    let level = Level::Compressed { pos: Array::from(pos.to_vec()), crd: Array::from(crd.to_vec()) };
    let levels = vec![Level::Dense, level];
    Tensor { extents: a.extents.clone(), format: a.format.clone(), levels, values: made.into(), fill: a.fill }
}

/// y = S x, of S what stands up to the diagonal: each entry adds to two places. Sums in as many parts as two vectors have.
pub fn symv(operands: &[&Tensor]) -> Tensor<'static> {
    const PARTS: usize = 8;
    let (s, x) = (reals(operands[0]), reals(operands[1]));
    let n = x.len();
    let mut y = vec![0.0; n];
    for i in 0..n {
        let base = i * (i + 1) / 2;
        let (row, xi) = (&s[base..=base + i], x[i]);
        let (before, rest) = y.split_at_mut(i);
        let mut sums = [0.0; PARTS];
        let whole = i / PARTS * PARTS;
        for ((row, x), y) in
            row[..whole].chunks_exact(PARTS).zip(x.chunks_exact(PARTS)).zip(before.chunks_exact_mut(PARTS))
        {
            for k in 0..PARTS {
                sums[k] = fma(row[k], x[k], sums[k]);
                y[k] = fma(row[k], xi, y[k]);
            }
        }
        let mut sum = sums.iter().sum::<f64>();
        for j in whole..i {
            sum = fma(row[j], x[j], sum);
            before[j] = fma(row[j], xi, before[j]);
        }
        rest[0] = fma(row[i], xi, sum);
    }
    dense(&[n as u64], y)
}

/// A = B/2 + C/4 in runs: those of both are cut where either ends, and joined where they come to the same.
pub fn blend(operands: &[&Tensor]) -> Tensor<'static> {
    let [b, c] = [0, 1].map(|o| lists(operands[o], 1));
    let [vb, vc] = [0, 1].map(|o| bytes(operands[o]));
    let (rows, columns) = (operands[0].extents[0] as usize, operands[0].extents[1] as i32);
    let most = vb.len() + vc.len();
    let (mut pos, mut last, mut values, mut length) = (vec![0], vec![0; most], vec![0u8; most], 0);
    for i in 0..rows {
        let (mut p, mut q, begin) = (at(b.0, i) as usize, at(c.0, i) as usize, length);
        let (mut ends, mut before) = (-1, 0);
        while ends + 1 < columns {
            let (x, y) = (at(b.1, p), at(c.1, q));
            ends = x.min(y);
            let value = (0.5 * at(vb, p) as f64 + 0.25 * at(vc, q) as f64).round_ties_even() as u8;
            length += ((length == begin) | (before != value)) as usize;
            before = value;
            *place(&mut last, length - 1) = ends;
            *place(&mut values, length - 1) = value;
            p += (x == ends) as usize;
            q += (y == ends) as usize;
        }
        pos.push(length as i32);
    }
    last.truncate(length);
    values.truncate(length);
    let levels = vec![Level::Dense, Level::Runs { pos: pos.into(), crd: last.into() }];
    let like = operands[0];
    Tensor {
        extents: like.extents.clone(),
        format: like.format.clone(),
        levels,
        values: values.into(),
        fill: like.fill,
    }
}

/// The distances between all pictures, from their products with each other, those with themselves on the diagonal.
fn distances(count: usize, product: impl Fn(usize, usize) -> i32) -> Tensor<'static> {
    let own: Vec<i32> = (0..count).map(|k| product(k, k)).collect();
    let mut made = Vec::with_capacity(count * count);
    for k in 0..count {
        made.extend((0..count).map(|l| ((at(&own, k) + at(&own, l) - 2 * product(k, l)) as f64).sqrt()));
    }
    dense(&[count as u64; 2], made)
}

/// All pairs: what is not black of each picture, times all pictures at that pixel.
pub fn similar(operands: &[&Tensor]) -> Tensor<'static> {
    let ((pos, crd), values, others) = (lists(operands[0], 1), bytes(operands[0]), bytes(operands[1]));
    let count = operands[0].extents[0] as usize;
    let own: Vec<i32> = (0..count).map(|k| fiber(pos, k).map(|p| (at(values, p) as i32).pow(2)).sum()).collect();
    let (mut sums, mut made) = (vec![0; count], Vec::with_capacity(count * count));
    for k in 0..count {
        sums.fill(0);
        for p in fiber(pos, k) {
            let value = at(values, p) as i32;
            let pixel = &others[at(crd, p) as usize * count..][..count];
            sums.iter_mut().zip(pixel).for_each(|(sum, x)| *sum += value * *x as i32);
        }
        made.extend(sums.iter().zip(&own).map(|(sum, l)| ((own[k] + l - 2 * sum) as f64).sqrt()));
    }
    dense(&[count as u64; 2], made)
}

#[inline(always)]
fn product(a: &[u8], b: &[u8]) -> i32 {
    a.iter().zip(b).map(|(x, y)| *x as i32 * *y as i32).sum()
}

/// All pairs, all pixels.
pub fn similar_dense(operands: &[&Tensor]) -> Tensor<'static> {
    let (pictures, [count, pixels]) = (bytes(operands[0]), [0, 1].map(|m| operands[0].extents[m] as usize));
    let picture = |k: usize| &pictures[k * pixels..(k + 1) * pixels];
    distances(count, |k, l| product(picture(k), picture(l)))
}

/// All pairs, block by block.
pub fn similar_blocks(operands: &[&Tensor]) -> Tensor<'static> {
    let (a, values) = (Blocks::of(operands[0], 1), bytes(operands[0]));
    distances(operands[0].extents[0] as usize, |k, l| {
        let (mut p, mut q, mut sum) = (fiber(a.pos, k), fiber(a.pos, l), 0);
        while p.start < p.end && q.start < q.end {
            let ((x, first), (y, other)) = (a.block(p.start), a.block(q.start));
            let both = x.start.max(y.start)..x.end.min(y.end);
            if both.start < both.end {
                let of = |first: usize, x: &Range<usize>| &values[first + both.start - x.start..][..both.len()];
                sum += product(of(first, &x), of(other, &y));
            }
            p.start += (x.end <= y.end) as usize;
            q.start += (y.end <= x.end) as usize;
        }
        sum
    })
}

/// All pairs, run by run.
pub fn similar_runs(operands: &[&Tensor]) -> Tensor<'static> {
    let ((pos, last), values) = (lists(operands[0], 1), bytes(operands[0]));
    let pixels = operands[0].extents[1] as i32;
    distances(operands[0].extents[0] as usize, |k, l| {
        let (mut p, mut q, mut from, mut sum) = (at(pos, k) as usize, at(pos, l) as usize, 0, 0);
        while from < pixels {
            let (x, y) = (at(last, p) + 1, at(last, q) + 1);
            let to = x.min(y);
            sum += at(values, p) as i32 * at(values, q) as i32 * (to - from);
            p += (x == to) as usize;
            q += (y == to) as usize;
            from = to;
        }
        sum
    })
}
