//! Memory that is granted or refused.

use fiberloom_core::format::Error;
use fiberloom_core::format::room::{available, collected, copied, more, push, repeated, resize, room};

#[test]
fn what_no_machine_has_is_refused_with_its_size() {
    assert_eq!(room::<u64>(1 << 50).unwrap_err(), Error::Memory { bytes: 8 << 50 });
    assert_eq!(repeated(0u8, usize::MAX).unwrap_err(), Error::Memory { bytes: usize::MAX as u128 });
    let mut v = vec![1u32];
    assert_eq!(more(&mut v, usize::MAX).unwrap_err(), Error::Memory { bytes: 4 << 64 });
    assert_eq!(resize(&mut v, 1 << 60, 0).unwrap_err(), Error::Memory { bytes: 4 << 60 });
    assert_eq!(v, [1]);
}

#[test]
fn what_can_be_had_is_no_more_than_is_asked_for() {
    assert_eq!((available(0), available(1000)), (0, 1000));
    assert!((1 << 20..1 << 62).contains(&available(u64::MAX)));
}

#[test]
fn vectors_hold_what_they_are_made_of() {
    assert_eq!(collected((0..3).filter(|x| x % 2 == 0)), Ok(vec![0, 2]));
    assert_eq!((repeated('a', 2), copied(&[3, 4])), (Ok(vec!['a', 'a']), Ok(vec![3, 4])));
    let mut v = vec![1];
    push(&mut v, 2).and_then(|()| resize(&mut v, 4, 5)).unwrap();
    assert_eq!(v, [1, 2, 5, 5]);
}
