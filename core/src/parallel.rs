//! Work on several threads: those of the pool of rayon's on whose thread the caller runs, else the caller's own alone.
//!
//! ```text
//!  each   1 2 3 4 ──▶ (1 2) beside (3 4) ──▶ each of the four alone
//! ```
//!
//! No pool is made here: whoever has one runs the work on it. What comes out is the same for every number of threads.

/// The number of threads that run what is given to [`both`] and [`each`].
pub fn threads() -> usize {
    if rayon::current_thread_index().is_some() { rayon::current_num_threads() } else { 1 }
}

/// Runs both, at once if there are threads for it.
pub fn both<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    if threads() > 1 { rayon::join(a, b) } else { (a(), b()) }
}

/// Does the work to each element, at once if there are threads for it.
pub fn each<T: Send>(all: &mut [T], work: &(impl Fn(&mut T) + Sync)) {
    match all {
        [] => {}
        [one] => work(one),
        _ => {
            let (a, b) = all.split_at_mut(all.len() / 2);
            both(|| each(a, work), || each(b, work));
        }
    }
}

/// What is made of each part, in their order, at once if there are threads for it.
pub fn map<P: Copy + Send, T: Send>(parts: impl IntoIterator<Item = P>, make: &(impl Fn(P) -> T + Sync)) -> Vec<T> {
    let mut all: Vec<(P, Option<T>)> = parts.into_iter().map(|part| (part, None)).collect();
    each(&mut all, &|(part, made)| *made = Some(make(*part)));
    all.into_iter().filter_map(|(_, made)| made).collect()
}

/// Elements of one stretch, which one thread makes.
pub const STRETCH: usize = 1 << 16;

/// Makes all of these elements, stretch by stretch, stretches at once: `make` is given the place of the first and where they are put.
///
/// # Errors
/// The first one, by place.
pub fn stretches<T: Send, E: Send>(
    all: &mut [T],
    make: &(impl Fn(usize, &mut [T]) -> Result<(), E> + Sync),
) -> Result<(), E> {
    let mut parts: Vec<_> = all.chunks_mut(STRETCH).enumerate().map(|(n, part)| (n * STRETCH, part, Ok(()))).collect();
    each(&mut parts, &|(first, part, outcome)| *outcome = make(*first, part));
    parts.into_iter().try_for_each(|(.., outcome)| outcome)
}
