//! Elements that move to places far apart.

use fiberloom_core::format::Permutation;

/// As many places as a permutation moves elements to at a time.
const BLOCK: usize = 1 << 14;

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
