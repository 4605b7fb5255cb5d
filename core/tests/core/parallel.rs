//! Work on any number of threads.

use fiberloom_core::parallel::{STRETCH, each, map, stretches, threads};

#[test]
fn work_is_done_once_on_any_number_of_threads() {
    let doubled = || {
        let mut all: Vec<u64> = (0..100).collect();
        each(&mut all, &|x| *x *= 2);
        assert_eq!(map(0..100u64, &|x| 2 * x), all);
        (threads(), all)
    };
    let mut long = vec![0; 3 * STRETCH + 1];
    let made = stretches(&mut long, &|first, part| {
        part.iter_mut().enumerate().for_each(|(n, x)| *x = first + n);
        if first < 2 * STRETCH { Ok(()) } else { Err(first) }
    });
    assert_eq!((made, long.iter().enumerate().position(|(n, x)| n != *x)), (Err(2 * STRETCH), None));
    let expected: Vec<u64> = (0..200).step_by(2).collect();
    assert_eq!(doubled(), (1, expected.clone()));
    for n in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        assert_eq!(pool.install(doubled), (n, expected.clone()));
    }
}
