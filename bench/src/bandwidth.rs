//! The bandwidth of memory: how long it takes to read what a kernel reads and writes, and to do nothing else.
//!
//! ```text
//!  operands, result ──▶ every array, front to back ──▶ a sum that somebody looks at      bytes : time = bandwidth
//! ```
//!
//! A kernel that moves each byte of its operands once, and those of its result twice, cannot be quicker, but for what stays in the
//! caches: a line of the result is read before it is written. It is measured in the blocks of the same run: the bandwidth of a
//! machine that others use too changes from minute to minute.

use crate::arrays::Arrays;
use std::time::Duration;

/// Kernels that are bound by memory where it is read in order.
pub const BOUND: &[&str] = &["spmv"];

/// What reading took.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Bytes of operands and result.
    pub bytes: usize,
    /// Those of the result.
    pub written: usize,
    /// Median time of reading all.
    pub time: Duration,
}

impl Reading {
    /// The bandwidth, in 10⁹ bytes a second.
    pub fn gigabytes(&self) -> f64 {
        self.bytes as f64 / 1e9 / self.time.as_secs_f64().max(1e-9)
    }

    /// Which part of the bandwidth a kernel used that took `time`: 1 is all of it. What it writes counts twice.
    pub fn share(&self, time: Duration) -> f64 {
        let moved = (self.bytes + self.written) as f64 / self.bytes.max(1) as f64;
        moved * self.time.as_secs_f64() / time.as_secs_f64().max(1e-9)
    }
}

/// The bytes of all arrays.
pub fn bytes(tensors: &[&Arrays]) -> usize {
    let of_level = |pos: &[i32], crd: &[i32], wide: &[i64]| size_of_val(pos) + size_of_val(crd) + size_of_val(wide);
    let of = |t: &&Arrays| {
        let levels = t.levels.iter().flatten().map(|l| of_level(&l.pos, &l.crd, l.wide.as_deref().unwrap_or(&[])));
        levels.sum::<usize>() + size_of_val(&t.values[..])
    };
    tensors.iter().map(of).sum()
}

/// Reads all arrays, and says something that depends on each element.
pub fn read(tensors: &[&Arrays]) -> u64 {
    let of = |t: &&Arrays| {
        let levels = t.levels.iter().flatten().map(|l| {
            let wide = total(l.wide.as_deref().unwrap_or(&[]), |x| *x as u64);
            total(&l.pos, |x| *x as u32 as u64).wrapping_add(total(&l.crd, |x| *x as u32 as u64)).wrapping_add(wide)
        });
        levels.fold(total(&t.values, |x| x.to_bits()), u64::wrapping_add)
    };
    tensors.iter().map(of).fold(0, u64::wrapping_add)
}

/// In vectors: wrapping sums may be taken in any order.
fn total<T>(array: &[T], bits: impl Fn(&T) -> u64) -> u64 {
    array.iter().map(bits).fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_read() {
        let matrix = || Arrays::csr([2, 3], vec![0, 1, 2], vec![2, 0], vec![1.0, 2.0]);
        let whole = read(&[&matrix()]);
        assert_eq!(bytes(&[&matrix()]), 3 * 4 + 2 * 4 + 2 * 8);
        let differs = |change: &dyn Fn(&mut Arrays)| {
            let mut other = matrix();
            change(&mut other);
            read(&[&other]) != whole
        };
        assert!(differs(&|a| std::sync::Arc::make_mut(&mut a.values)[1] = 3.0));
        assert!(differs(&|a| a.levels[1].as_mut().unwrap().crd[0] = 1));
        assert!(differs(&|a| a.levels[1].as_mut().unwrap().pos[1] = 2));
    }

    #[test]
    fn twice_the_time_is_half_of_the_bandwidth() {
        let reading = Reading { bytes: 3_000_000_000, written: 0, time: Duration::from_millis(100) };
        assert_eq!((reading.gigabytes(), reading.share(Duration::from_millis(200))), (30.0, 0.5));
        let reading = Reading { written: 3_000_000_000, ..reading };
        assert_eq!(reading.share(Duration::from_millis(200)), 1.0);
    }
}
