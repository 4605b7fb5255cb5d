//! Sorts keys and computes their permutation.
//!
//! ```text
//!   few keys     inserted one by one
//!   more         each key with its place in the free bits, as one number; sorted by comparison
//!   many         the same numbers, by radix sort over the digits in which keys differ
//!   many, wide   keys and places in separate arrays, by radix sort
//! ```

use fiberloom_loops::Failure;

/// The most bits of a digit: its counters (32 KiB) fit in a core's second-level cache beside the lines being filled.
const DIGIT: u32 = 12;
const BUCKETS: usize = 1 << DIGIT;

/// The most keys for which insertion is faster than counting.
const SMALL: usize = 48;

/// The most keys for which comparison is faster than counting.
const MEDIUM: usize = 2048;

/// The most bytes that [`with_order`] needs besides its arguments.
pub(crate) fn scratch_bytes(len: usize) -> usize {
    if len <= SMALL { 0 } else { len.saturating_mul(16) + BUCKETS * 8 }
}

/// Sorts `keys` ascending and stably, and sets `order[k]` to the original place of the key at `k`. Both have the same length.
pub(crate) fn with_order(keys: &mut [i64], order: &mut [i64]) -> Result<(), Failure> {
    for (place, o) in order.iter_mut().enumerate() {
        *o = place as i64;
    }
    if keys.is_sorted() {
        return Ok(());
    }
    if keys.len() <= SMALL {
        insert_each(keys, order);
        return Ok(());
    }
    let least = keys.iter().copied().min().unwrap_or(0);
    let span = keys.iter().map(|k| k.wrapping_sub(least) as u64).max().unwrap_or(0);
    let (bits, place_bits) = (u64::BITS - span.leading_zeros(), usize::BITS - keys.len().leading_zeros());
    if bits + place_bits >= i64::BITS {
        return by_digits(keys, order, (least, bits));
    }
    with_places(keys, order, (least, place_bits), |words| match words.len() {
        0..=MEDIUM => {
            words.sort_unstable();
            Ok(())
        }
        _ => words_by_digits(words, place_bits, bits),
    })
}

/// Sorts keys as numbers that also hold their places. Less `least`, the keys leave the low `bits` bits for the place.
fn with_places(
    keys: &mut [i64],
    order: &mut [i64],
    (least, bits): (i64, u32),
    sort: impl FnOnce(&mut [i64]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for (place, key) in keys.iter_mut().enumerate() {
        *key = key.wrapping_sub(least) << bits | place as i64;
    }
    sort(keys)?;
    for (key, place) in keys.iter_mut().zip(order) {
        *place = *key & ((1 << bits) - 1);
        *key = (*key >> bits).wrapping_add(least);
    }
    Ok(())
}

/// The bits of each digit of a number with `bits` bits: as few digits as possible, of equal width.
fn digit(bits: u32) -> u32 {
    bits.div_ceil(bits.div_ceil(DIGIT).max(1)).max(1)
}

/// Replaces the size of each bucket by its beginning; false if one bucket holds all.
fn starts(counts: &mut [usize], all: usize) -> bool {
    if counts.contains(&all) {
        return false;
    }
    let mut sum = 0;
    for start in counts {
        sum += std::mem::replace(start, sum);
    }
    true
}

/// Sorts by the `bits` bits of each word above the lowest `from`.
fn words_by_digits(words: &mut [i64], from: u32, bits: u32) -> Result<(), Failure> {
    let (len, width) = (words.len(), digit(bits));
    let mut other = zeros(len)?;
    let counts = &mut [0usize; BUCKETS][..1 << width];
    let mut in_other = false;
    for shift in (from..from + bits).step_by(width as usize) {
        let (source, to) = if in_other { (&*other, &mut *words) } else { (&*words, &mut *other) };
        let bucket = |word: i64| (word as u64 >> shift) as usize & ((1 << width) - 1);
        counts.fill(0);
        source.iter().for_each(|w| counts[bucket(*w)] += 1);
        if !starts(counts, len) {
            continue;
        }
        for word in source {
            let place = &mut counts[bucket(*word)];
            to[*place] = *word;
            *place += 1;
        }
        in_other = !in_other;
    }
    if in_other {
        words.copy_from_slice(&other);
    }
    Ok(())
}

fn insert_each(keys: &mut [i64], order: &mut [i64]) {
    for next in 1..keys.len() {
        let (key, place) = (keys[next], order[next]);
        let mut hole = next;
        while hole > 0 && keys[hole - 1] > key {
            keys[hole] = keys[hole - 1];
            order[hole] = order[hole - 1];
            hole -= 1;
        }
        keys[hole] = key;
        order[hole] = place;
    }
}

fn by_digits(keys: &mut [i64], order: &mut [i64], (least, bits): (i64, u32)) -> Result<(), Failure> {
    let len = keys.len();
    let mut other_keys = zeros(len)?;
    let mut other_order = zeros(len)?;
    let width = digit(bits);
    let counts = &mut [0usize; BUCKETS][..1 << width];
    let mut in_other = false;
    for shift in (0..bits).step_by(width as usize) {
        let (from, to) = if in_other {
            ((&*other_keys, &*other_order), (&mut *keys, &mut *order))
        } else {
            ((&*keys, &*order), (&mut *other_keys, &mut *other_order))
        };
        let bucket = |key: i64| (key.wrapping_sub(least) as u64 >> shift) as usize & ((1 << width) - 1);
        counts.fill(0);
        from.0.iter().for_each(|k| counts[bucket(*k)] += 1);
        if !starts(counts, len) {
            continue;
        }
        for (k, o) in from.0.iter().zip(from.1) {
            let place = &mut counts[bucket(*k)];
            to.0[*place] = *k;
            to.1[*place] = *o;
            *place += 1;
        }
        in_other = !in_other;
    }
    if in_other {
        keys.copy_from_slice(&other_keys);
        order.copy_from_slice(&other_order);
    }
    Ok(())
}

fn zeros(len: usize) -> Result<Vec<i64>, Failure> {
    let mut v = Vec::new();
    v.try_reserve_exact(len).map_err(|_| Failure::Memory)?;
    v.resize(len, 0);
    Ok(v)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys from a linear congruence, as the standard library sorts them.
    fn compare(keys: Vec<i64>) {
        let mut want: Vec<(i64, i64)> = keys.iter().enumerate().map(|(place, k)| (*k, place as i64)).collect();
        want.sort();
        let (mut got, mut order) = (keys.clone(), vec![-1; keys.len()]);
        with_order(&mut got, &mut order).unwrap();
        assert_eq!(got.into_iter().zip(order).collect::<Vec<_>>(), want);
    }

    #[test]
    fn keys_and_order_are_those_of_a_stable_sort() {
        let mut seed = 1u64;
        let mut next = move || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 11) as i64
        };
        for len in [0, 1, 2, 3, SMALL, SMALL + 1, 1000, MEDIUM, MEDIUM + 1] {
            // With places, 53 bits are a positive number up to 511 keys.
            for bits in [1, 3, 11, 12, 33, 53] {
                compare((0..len).map(|_| next() % (1 << bits)).collect());
            }
        }
        // Keys and places that fill all bits but one, all of them, and one more: of the last two none may be one number.
        for len in [SMALL + 1, 64, 1000, MEDIUM] {
            for bits in [63, 64, 65].map(|all| all - (usize::BITS - len.leading_zeros())) {
                let most = (1i64 << bits) - 1;
                compare((0..len).map(|k| if k % 3 == 1 { most - k as i64 } else { next() & most }).collect());
            }
        }
        compare((0..200).map(|k| if k % 2 == 0 { i64::MIN + k } else { i64::MAX - k }).collect());
        compare((0..200).rev().map(|k| (k / 7) << 22).collect());
    }
}
