//! Sorting with a permutation.
//!
//! ```text
//!   few keys     inserted one by one
//!   more         each with its place in the bits that keys leave free, as one number; sorted by comparing
//!   many, wide   least significant digit first, over the digits in which keys differ
//! ```

use fiberloom_core::loops::Failure;

/// Bits of a digit: its counters (16 KiB) fit in a core's first-level cache beside the lines being filled.
const DIGIT: u32 = 11;
const BUCKETS: usize = 1 << DIGIT;

/// Up to here, insertion is faster than counting.
const SMALL: usize = 48;

/// Up to here, comparing is faster than counting.
const MEDIUM: usize = 2048;

/// Bytes that [`with_order`] needs besides its arguments, at most.
pub(crate) fn scratch_bytes(len: usize) -> usize {
    if len <= SMALL { 0 } else { len.saturating_mul(16) + BUCKETS * 8 }
}

/// Sorts `keys` ascending, stably, and sets `order[k]` to the place at which the key that is now at `k` stood before.
/// Both are of one length.
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
    if keys.len() <= MEDIUM && bits + place_bits < i64::BITS {
        with_places(keys, order, (least, place_bits));
        return Ok(());
    }
    by_digits(keys, order, (least, bits))
}

/// Keys that, less the least of them, leave so many bits of a positive number to a place.
fn with_places(keys: &mut [i64], order: &mut [i64], (least, bits): (i64, u32)) {
    for (place, key) in keys.iter_mut().enumerate() {
        *key = key.wrapping_sub(least) << bits | place as i64;
    }
    keys.sort_unstable();
    for (key, place) in keys.iter_mut().zip(order) {
        *place = *key & ((1 << bits) - 1);
        *key = (*key >> bits).wrapping_add(least);
    }
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
    let mut starts = [0usize; BUCKETS];
    let mut in_other = false;
    for shift in (0..bits).step_by(DIGIT as usize) {
        let (from, to) = if in_other {
            ((&*other_keys, &*other_order), (&mut *keys, &mut *order))
        } else {
            ((&*keys, &*order), (&mut *other_keys, &mut *other_order))
        };
        let digit = |key: i64| (key.wrapping_sub(least) as u64 >> shift) as usize & (BUCKETS - 1);
        starts.fill(0);
        from.0.iter().for_each(|k| starts[digit(*k)] += 1);
        if starts.contains(&len) {
            continue;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += std::mem::replace(start, sum);
        }
        for (k, o) in from.0.iter().zip(from.1) {
            let place = &mut starts[digit(*k)];
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
