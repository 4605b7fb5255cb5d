//! Array elements, borrowed or shared.

use fiberloom_core::format::Elements;

#[test]
fn writing_to_shared_elements_copies_them() {
    let one = Elements::from(vec![1, 2]);
    let mut other = one.share().unwrap();
    assert_eq!(one.as_ptr(), other.as_ptr());
    other.to_mut()[0] = 7;
    assert_eq!((&*one, &*other), (&[1, 2][..], &[7, 2][..]));
    let before = other.as_ptr();
    other.to_mut()[1] = 8;
    assert_eq!(other.as_ptr(), before, "nobody else holds these");
    let taken = other.into_vec();
    assert_eq!(taken.as_ptr(), before);
}

#[test]
fn borrowed_elements_are_copied_to_be_shared() {
    let mine = [1, 2];
    let mut seen = Elements::from(&mine[..]);
    assert_eq!(seen.as_ptr(), mine.as_ptr());
    assert_ne!(seen.share().unwrap().as_ptr(), mine.as_ptr());
    seen.to_mut()[0] = 7;
    assert_eq!((mine, &*seen), ([1, 2], &[7, 2][..]));
}
