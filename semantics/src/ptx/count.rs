//! What a run counts: what costs time on a GPU.

use std::fmt;

/// What one launch did.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Instructions that warps executed.
    pub instructions: u64,
    /// The most instructions that one warp executed; of several launches, which wait for one another, these together.
    pub longest: u64,
    /// Branches at which lanes of a warp parted.
    pub divergent: u64,
    /// Accesses of each buffer, in the order in which they were added.
    pub traffic: Vec<Traffic>,
    /// Read-modify-writes of threads.
    pub atomics: u64,
    /// Accesses of shared memory that waited for others of their warp: 32 banks, each of four bytes.
    pub conflicts: u64,
    /// Barriers of blocks.
    pub barriers: u64,
    /// Shuffles of warps.
    pub shuffles: u64,
}

/// The accesses of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Traffic {
    /// Loads of warps.
    pub loads: u64,
    /// Segments of 128 bytes that these touched, counted for each load.
    pub segments_loaded: u64,
    /// Stores of warps.
    pub stores: u64,
    /// Segments of 128 bytes that these touched, counted for each store.
    pub segments_stored: u64,
}

impl Counts {
    /// The segments of 128 bytes that warps touched.
    pub fn segments(&self) -> u64 {
        self.traffic.iter().map(|each| each.segments_loaded + each.segments_stored).sum()
    }

    /// Adds what another launch did on as many buffers, or fewer.
    pub fn add(&mut self, other: &Counts) {
        self.instructions += other.instructions;
        self.longest += other.longest;
        self.divergent += other.divergent;
        self.atomics += other.atomics;
        self.conflicts += other.conflicts;
        self.barriers += other.barriers;
        self.shuffles += other.shuffles;
        self.traffic.resize(self.traffic.len().max(other.traffic.len()), Traffic::default());
        for (sum, each) in self.traffic.iter_mut().zip(&other.traffic) {
            sum.loads += each.loads;
            sum.segments_loaded += each.segments_loaded;
            sum.stores += each.stores;
            sum.segments_stored += each.segments_stored;
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { instructions, longest, divergent, atomics, conflicts, barriers, shuffles, .. } = self;
        write!(
            f,
            "instructions {instructions}, of one warp {longest} at most, segments {}, divergent {divergent}, atomics {atomics}",
            self.segments()
        )?;
        write!(f, ", conflicts {conflicts}, barriers {barriers}, shuffles {shuffles}")
    }
}

/// The segments of 128 bytes that accesses of these first and last bytes touch.
pub(super) fn segments(bytes: &[(u64, u64)]) -> u64 {
    let mut all: Vec<u64> = bytes.iter().flat_map(|(first, last)| first / 128..=last / 128).collect();
    all.sort_unstable();
    all.dedup();
    all.len() as u64
}

/// How often accesses of shared memory, each of `len` bytes, wait for one another: words of one bank are read one after the other.
/// Accesses of eight bytes are served half a warp at a time.
pub(super) fn conflicts(places: &[(usize, u64)], len: u64) -> u64 {
    let part = |lane: usize| if len > 4 { lane / (WARP / (len as usize / 4)).max(1) } else { 0 };
    let mut words: Vec<(usize, u64)> =
        places.iter().flat_map(|(lane, at)| (at / 4..=(at + len - 1) / 4).map(|word| (part(*lane), word))).collect();
    words.sort_unstable();
    words.dedup();
    let last = words.last().map_or(0, |(part, _)| *part);
    let worst = |part: usize| {
        let mut banks = [0u64; WARP];
        words.iter().filter(|(of, _)| *of == part).for_each(|(_, word)| banks[(word % WARP as u64) as usize] += 1);
        banks.into_iter().max().unwrap_or(0).saturating_sub(1)
    };
    (0..=last).map(worst).sum()
}

const WARP: usize = super::WARP as usize;
