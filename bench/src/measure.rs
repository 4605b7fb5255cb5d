//! Time: alternating pairs, and the median of their ratios.

use std::time::Duration;

/// Pairs of one measurement; each side is warmed up by one call before.
pub const PAIRS: usize = 15;

/// What a pair of sides took.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Median time of a call of the kernel.
    pub kernel: Duration,
    /// Median time of a call of the loops written by hand.
    pub by_hand: Duration,
    /// Median of the pairs' ratios, kernel : by hand. Below 1, the kernel is faster.
    pub ratio: f64,
}

/// Runs both sides in alternating pairs. Each returns what its call took; the first of a pair changes each time.
pub fn pairs(mut kernel: impl FnMut() -> Duration, mut by_hand: impl FnMut() -> Duration) -> Measured {
    kernel();
    by_hand();
    let (mut k, mut h) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        if pair % 2 == 0 {
            k.push(kernel());
            h.push(by_hand());
        } else {
            h.push(by_hand());
            k.push(kernel());
        }
    }
    let ratios = k.iter().zip(&h).map(|(k, h)| k.as_secs_f64() / h.as_secs_f64().max(1e-9)).collect();
    Measured { ratio: median(ratios), kernel: middle(k), by_hand: middle(h) }
}

/// The middle one of some times.
pub fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn median(mut xs: Vec<f64>) -> f64 {
    xs.sort_by(f64::total_cmp);
    xs[xs.len() / 2]
}

/// The geometric mean; 1 of nothing.
pub fn geometric_mean(xs: &[f64]) -> f64 {
    (xs.iter().map(|x| x.ln()).sum::<f64>() / xs.len().max(1) as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_of_twice_the_time_has_ratio_two() {
        let measured = pairs(|| Duration::from_millis(4), || Duration::from_millis(2));
        assert_eq!(measured.ratio, 2.0);
        assert!((geometric_mean(&[2.0, 0.5]) - 1.0).abs() < 1e-12);
    }
}
