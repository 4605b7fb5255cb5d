//! Coordinates that meet the borders of blocks, words, networks, rooms and integers.

use fiberloom_core::format::Format;
use std::collections::{BTreeMap, BTreeSet};

/// Entries of a fiber, the likelier the more often.
pub const LENGTHS: [usize; 34] = [
    0, 1, 7, 8, 9, 15, 16, 17, 0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 66, 63, 64, 65, 66, 127, 128, 129, 130, 511, 512,
    513, 2001, 5000, 4097,
];

/// Entries of all fibers of a tensor together, about: most programs are many times faster on few.
const MOST: [usize; 8] = [150, 150, 150, 150, 600, 600, 1500, 6000];

/// Outer coordinates of which there are so many or fewer may all be there.
const ROWS: u64 = 70;

/// Numbers from a seed (splitmix64: Steele, Lea and Flood, 2014).
pub struct Random(u64);

impl Random {
    /// As the seed says.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((self.next() as u128 * n as u128) >> 64) as u64
    }

    /// One of these.
    pub fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    /// Coordinates that operands share.
    pub fn pool(&mut self, extent: u64) -> Vec<i64> {
        let len = self.one(&[65, 600, 5000]);
        self.fiber(len, extent, &[])
    }

    /// Ascending coordinates below an extent, as many if there is room for them.
    fn fiber(&mut self, len: usize, extent: u64, pool: &[i64]) -> Vec<i64> {
        let len = len.min(extent.min(1 << 20) as usize);
        let room = extent - len as u64;
        let mut all = BTreeSet::new();
        match self.below(if pool.is_empty() { 5 } else { 8 }) {
            _ if len == 0 => {}
            0 => {
                let any = self.below(room + 1);
                let start = self.one(&[0, room, any, any / 64 * 64, any / 4096 * 4096]);
                all.extend((start..start + len as u64).map(|c| c as i64));
            }
            1 => {
                let most = self.one(&[2u64, 3, 8, 64, 4096]);
                let step = (extent / len as u64).clamp(1, most);
                let start = self.below(extent - step * (len as u64 - 1));
                all.extend((0..len as u64).map(|k| (start + step * k) as i64));
            }
            2 => self.clusters(len, extent, &mut all),
            3 => self.borders(len, extent, &mut all),
            4 => {}
            _ => {
                let from = self.below(pool.len() as u64) as usize;
                let step = self.one(&[1, 1, 2, 3]);
                all.extend(pool.iter().skip(from).step_by(step).take(len));
            }
        }
        // The rest anywhere.
        for _ in 0..2 * len {
            if all.len() >= len {
                break;
            }
            all.insert(self.below(extent) as i64);
        }
        all.into_iter().collect()
    }

    /// Runs without gaps, of lengths about those of lanes and words.
    fn clusters(&mut self, len: usize, extent: u64, all: &mut BTreeSet<i64>) {
        for _ in 0..len {
            if all.len() >= len {
                break;
            }
            let run = self.one(&[1u64, 7, 8, 9, 63, 64, 65]).min(extent).min((len - all.len()) as u64);
            let start = self.below(extent - run + 1);
            all.extend((start..start + run).map(|c| c as i64));
        }
    }

    /// Beside the borders of words, blocks and integers, and of the extent.
    fn borders(&mut self, len: usize, extent: u64, all: &mut BTreeSet<i64>) {
        let borders = [0, 8, 64, 512, 4096, 8192, 32768, 1 << 31, 1 << 32, (1 << 31) - 64, 1 << 62, extent];
        for at in borders.into_iter().filter(|at| *at <= extent) {
            for c in at.saturating_sub(2)..at.saturating_add(2).min(extent) {
                if all.len() < len {
                    all.insert(c as i64);
                }
            }
        }
    }

    /// Entries of a tensor in this format: coordinates in the order of declaration, and small values, or such as are below
    /// `points`.
    pub fn entries(
        &mut self,
        sizes: &[usize],
        format: &Format,
        (extents, pools): (&[u64], &[Vec<i64>]),
        points: Option<u64>,
    ) -> Vec<(Vec<i64>, i64)> {
        let mut fibers = vec![vec![]];
        let mut room = self.one(&MOST);
        for (level, mode) in format.order.iter().enumerate() {
            let (extent, pool) = (extents[sizes[*mode]], &pools[sizes[*mode]]);
            let last = level + 1 == format.rank();
            let lengths = self.lengths(fibers.len(), last);
            let mut longer = vec![];
            for (outer, length) in fibers.iter().zip(lengths) {
                // What is pointed from is full.
                let whole = points.is_some() || !last && extent <= ROWS && self.below(4) > 0;
                let fiber = match whole {
                    true => (0..extent as i64).collect(),
                    false => self.fiber(length.min(room), extent, pool),
                };
                if last {
                    room = room.saturating_sub(fiber.len()).max(9);
                }
                longer.extend(fiber.into_iter().map(|c| [outer.as_slice(), &[c]].concat()));
            }
            fibers = longer;
        }
        let mut value = 1;
        let stays = self.one(&[1, 1, 9]);
        let placed = |at: Vec<i64>| {
            let mut coordinates = vec![0; at.len()];
            format.order.iter().zip(at).for_each(|(mode, c)| coordinates[*mode] = c);
            if let Some(below) = points {
                return (coordinates, self.point(below));
            }
            if self.below(stays) == 0 {
                value = self.one(&[1, 2, 3, -1, -2, 0]);
            }
            (coordinates, value)
        };
        fibers.into_iter().map(placed).collect()
    }

    /// A length for each fiber: in any order, ascending so that each row is longer than all before, or descending.
    fn lengths(&mut self, fibers: usize, last: bool) -> Vec<usize> {
        let few = if last { LENGTHS.len() } else { 20 };
        let mut lengths: Vec<usize> = (0..fibers).map(|_| self.one(&LENGTHS[..few])).collect();
        match self.below(6) {
            0 | 1 => lengths.sort(),
            2 => lengths.sort_by_key(|n| std::cmp::Reverse(*n)),
            _ => {}
        }
        lengths
    }

    /// A coordinate that is pointed to: few of them often, borders, or any.
    fn point(&mut self, below: u64) -> i64 {
        let any = self.below(below);
        self.one(&[any, any, any, any % 64, below - 1, below - 1 - any % 9.min(below), any & !63]) as i64
    }
}

/// What lengths the innermost fibers of these coordinates have, and whether one has no gap over a block's length.
pub fn lengths<'a>(entries: impl Iterator<Item = &'a Vec<i64>>, order: &[usize]) -> Vec<String> {
    let mut fibers: BTreeMap<Vec<i64>, (usize, i64, i64)> = BTreeMap::new();
    let Some((inner, outer)) = order.split_last() else { return vec![] };
    for at in entries {
        let (key, c) = (outer.iter().map(|m| at[*m]).collect(), at[*inner]);
        let (n, least, most) = fibers.entry(key).or_insert((0, c, c));
        (*n, *least, *most) = (*n + 1, c.min(*least), c.max(*most));
    }
    let rows: BTreeSet<usize> = fibers.values().map(|(n, ..)| *n).collect();
    let gapless = fibers.values().any(|(n, least, most)| *n > 4096 && most - least + 1 == *n as i64);
    let rows = rows.into_iter().filter(|n| LENGTHS.contains(n)).map(|n| format!("row of {n}"));
    rows.chain(gapless.then(|| "gapless over 4096".to_string())).collect()
}
