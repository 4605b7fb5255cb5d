//! Elements moved to places that are far from one another.
//!
//! ```text
//!  elements    e0 e1 e2 e3 …                places  5 0 6 3 …
//!  parted      e1 e3 | e0 e2 | …            by blocks of places, in their order
//!  moved       e1 … e3 | … e0 e2 | …        within each block
//! ```
//!
//! Both steps write to few places at a time, or to near ones: one step alone misses the cache and the table of pages at each element.

use super::{Error, room};

/// Places in a block: so many as a near cache holds.
const BLOCK: usize = 1 << 14;

/// Where elements are moved to.
#[derive(Clone, Debug)]
pub struct Permutation {
    places: Vec<u32>,
    /// The places, parted by blocks.
    parted: Vec<u32>,
}

impl Permutation {
    /// Element `i` to place `places[i]`; each place below their number stands there once.
    ///
    /// # Errors
    /// Memory does not suffice.
    ///
    /// # Panics
    /// If a block of places has not as many elements as places, in [`Permutation::moved`] too.
    pub fn of(places: Vec<u32>) -> Result<Permutation, Error> {
        let parted = parted(&places, &places)?;
        Ok(Permutation { places, parted })
    }

    /// The place of each element.
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// The elements at their places.
    ///
    /// # Errors
    /// Memory does not suffice.
    ///
    /// # Panics
    /// If there are not as many as places.
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

/// The elements by the blocks of their places, in each in their order.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_moved_to_their_places() {
        for n in [0u64, 1, 5, BLOCK as u64, 3 * BLOCK as u64 + 7] {
            // Multiples of a number without a common factor are each remainder once.
            let places: Vec<u32> = (0..n).map(|i| (i * 1_000_003 % n) as u32).collect();
            let mut expected = vec![0; n as usize];
            places.iter().enumerate().for_each(|(i, place)| expected[*place as usize] = i);
            let elements: Vec<usize> = (0..n as usize).collect();
            assert_eq!(Permutation::of(places).unwrap().moved(&elements), Ok(expected), "{n}");
        }
    }

    #[test]
    #[should_panic(expected = "each place once")]
    fn places_stand_once() {
        let mut places: Vec<u32> = (0..2 * BLOCK as u32).collect();
        places[2 * BLOCK - 1] = 0;
        let _ = Permutation::of(places);
    }
}
