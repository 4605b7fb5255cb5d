//! Permutes elements between places that are far apart.
//!
//! ```text
//!  elements    e0 e1 e2 e3 …                places  5 0 6 3 …
//!  parted      e1 e3 | e0 e2 | …            by blocks of places, in their order
//!  moved       e1 … e3 | … e0 e2 | …        within each block
//! ```
//!
//! Each step writes to few places at a time, or to near ones. A single step would miss the cache and the page table at each element.

use super::{Error, room};

/// The number of places in a block, which fits a near cache.
const BLOCK: usize = 1 << 14;

/// The places to which elements move.
#[derive(Clone, Debug)]
pub struct Permutation {
    places: Vec<u32>,
    /// The places, partitioned by blocks.
    parted: Vec<u32>,
}

impl Permutation {
    /// Moves element `i` to place `places[i]`; the places are a permutation.
    ///
    /// # Errors
    /// Memory does not suffice.
    ///
    /// # Panics
    /// If a block of places has not as many elements as places, also in [`Permutation::moved`].
    pub fn of(places: Vec<u32>) -> Result<Permutation, Error> {
        let parted = parted(&places, &places)?;
        Ok(Permutation { places, parted })
    }

    /// The place of each element.
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// The elements, moved to their places.
    ///
    /// # Errors
    /// Memory does not suffice.
    ///
    /// # Panics
    /// If the number of elements is not the number of places.
    pub fn moved<T: Copy>(&self, elements: &[T]) -> Result<Vec<T>, Error> {
        let mut all = parted(&self.places, elements)?;
        let mut block: Vec<T> = room::room(BLOCK.min(all.len()))?;
        for (n, (to, places)) in all.chunks_mut(BLOCK).zip(self.parted.chunks(BLOCK)).enumerate() {
            block.clear();
            block.extend_from_slice(to);
            for (element, place) in block.iter().zip(places) {
                to[*place as usize - n * BLOCK] = *element;
            }
        }
        Ok(all)
    }
}

/// The elements partitioned by the blocks of their places, each block in the original order.
fn parted<T: Copy>(places: &[u32], elements: &[T]) -> Result<Vec<T>, Error> {
    assert_eq!(places.len(), elements.len(), "an element a place");
    let Some(first) = elements.first() else { return Ok(Vec::new()) };
    let mut all = room::repeated(*first, elements.len())?;
    let mut next: Vec<usize> = room::collected((0..elements.len()).step_by(BLOCK))?;
    for (element, place) in elements.iter().zip(places) {
        let next = &mut next[*place as usize / BLOCK];
        all[*next] = *element;
        *next += 1;
    }
    let ends = next.iter().enumerate().all(|(n, end)| *end == ((n + 1) * BLOCK).min(elements.len()));
    assert!(ends, "each place once");
    Ok(all)
}
