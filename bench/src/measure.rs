//! Time: alternating pairs, and the median of their ratios; the peers' times between them.
//!
//! ```text
//!  block: (warm both, pair, pair, …)  then each peer: (warm, call, call, …)     as many calls of each; BLOCKS blocks
//!  pair:  [warm] kernel, [warm] by hand         or the other way round
//! ```
//!
//! A short call is preceded by one of its own side with the same operands, untimed: a peer's calls follow each other too, and what
//! is in the caches would decide. A disturbance of the machine strikes one pair and not one side, and a slow drift strikes all sides
//! alike. A peer's calls are not part of the pairs: coming from another process they would leave the caches cold for whoever is next.

use std::time::Duration;

/// Pairs of one measurement, unless calls are so slow that fewer must do, or so short that more take no time.
pub const PAIRS: usize = 15;

/// The most pairs of one measurement. A processor learns the branches of a short call by heart when it is repeated, of the one side sooner
/// than of the other.
const MOST_PAIRS: usize = 1500;

/// Time that more pairs than [`PAIRS`] may take: none in tests, which look at what sides compute.
const LEISURE: Duration = Duration::from_millis(if cfg!(test) { 0 } else { 300 });

/// Calls that take less are preceded by an untimed one of the same side.
const SHORT: Duration = Duration::from_millis(20);

/// Blocks that the pairs are divided among.
const BLOCKS: usize = 3;

/// Time that the pairs of one measurement may take before there are fewer of them; never fewer than one a block.
const PATIENCE: Duration = Duration::from_secs(15);

/// What the sides took.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Median time of a call of the kernel.
    pub kernel: Duration,
    /// Median time of a call of the loops written by hand, or of the kernel on one thread where it runs on several.
    pub by_hand: Duration,
    /// Median of the pairs' ratios, kernel : by hand. Below 1, the kernel is faster.
    pub ratio: f64,
    /// Number of pairs.
    pub pairs: usize,
    /// The libraries that have this kernel.
    pub peers: Vec<Peer>,
}

/// What a library took.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its name.
    pub name: String,
    /// Median time of a call.
    pub time: Duration,
    /// The kernel's median time : this one. Below 1, the kernel is faster.
    pub ratio: f64,
}

impl Measured {
    /// The fastest of the libraries.
    pub fn best_peer(&self) -> Option<&Peer> {
        self.peers.iter().min_by_key(|p| p.time)
    }
}

/// Runs all sides. Each returns what its call took, the kernel and the loops by hand for the pair of a number; a peer is asked for some
/// calls at a time.
///
/// # Errors
/// The first of a side.
pub fn measure(
    mut kernel: impl FnMut(usize) -> Result<Duration, String>,
    mut by_hand: impl FnMut(usize) -> Result<Duration, String>,
    peers: &[String],
    mut peer: impl FnMut(&str, usize) -> Result<Vec<Duration>, String>,
) -> Result<Measured, String> {
    let (mut k, mut h, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut p = vec![Vec::new(); peers.len()];
    for _ in 0..BLOCKS {
        let (kernel_time, by_hand_time) = (kernel(h.len())?, by_hand(h.len())?);
        let pairs = pairs_of_block(kernel_time + by_hand_time);
        let short = kernel_time.max(by_hand_time) < SHORT;
        let mut kernel = |n| if short { kernel(n).and_then(|_| kernel(n)) } else { kernel(n) };
        let mut by_hand = |n| if short { by_hand(n).and_then(|_| by_hand(n)) } else { by_hand(n) };
        for pair in h.len()..h.len() + pairs {
            // Who is first changes each time.
            if pair % 2 == 0 {
                k.push(kernel(pair)?);
                h.push(by_hand(pair)?);
            } else {
                h.push(by_hand(pair)?);
                k.push(kernel(pair)?);
            }
            ratios.push(k[k.len() - 1].as_secs_f64() / h[h.len() - 1].as_secs_f64().max(1e-9));
        }
        for (name, times) in peers.iter().zip(&mut p) {
            times.extend(peer(name, pairs)?);
        }
    }
    let kernel = middle(k);
    let of_peer = |(name, times): (&String, Vec<Duration>)| {
        let time = middle(times);
        Peer { name: name.clone(), time, ratio: kernel.as_secs_f64() / time.as_secs_f64().max(1e-9) }
    };
    let pairs = h.len();
    let peers = peers.iter().zip(p).map(of_peer).collect();
    Ok(Measured { ratio: median(ratios), kernel, by_hand: middle(h), pairs, peers })
}

fn pairs_of_block(pair: Duration) -> usize {
    let within = |time: Duration| (time.as_secs_f64() / pair.as_secs_f64().max(1e-9)) as usize / BLOCKS;
    within(LEISURE).clamp(PAIRS / BLOCKS, MOST_PAIRS / BLOCKS).min(within(PATIENCE)).max(1)
}

/// The middle one of some times.
///
/// # Panics
/// If there is none.
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
        let names = ["slow".to_string(), "quick".to_string()];
        let ms = Duration::from_millis;
        let peer = |name: &str, calls| Ok(vec![if name == "slow" { ms(80) } else { ms(10) }; calls]);
        let measured = measure(|_| Ok(ms(40)), |_| Ok(ms(20)), &names, peer).unwrap();
        assert_eq!((measured.ratio, measured.pairs), (2.0, PAIRS));
        assert_eq!((measured.peers[0].ratio, measured.best_peer().unwrap().ratio), (0.5, 4.0));
        assert!((geometric_mean(&[2.0, 0.5]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn slow_calls_are_fewer() {
        let hour = Duration::from_secs(3600);
        let measured = measure(|_| Ok(hour), |_| Ok(hour), &[], |_, _| Ok(vec![])).unwrap();
        assert_eq!(measured.pairs, BLOCKS);
    }
}
