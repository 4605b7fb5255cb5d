//! Arrays and slices of Rust's number types.

use fiberloom_core::format::Array;

#[test]
fn slices_are_seen_and_taken() {
    let mine = [1i32, 2];
    let array = Array::from(&mine);
    assert_eq!((array.as_ptr(), array.as_slice()), (mine.as_ptr().cast(), Some(&mine[..])));
    assert_eq!(array.as_slice::<u32>(), None);
    let owned = Array::from(vec![1u8, 2]);
    let before = owned.as_ptr();
    let owned = owned.into_vec::<i8>().unwrap_err();
    let taken = owned.into_vec::<u8>().unwrap();
    assert_eq!(taken.as_ptr(), before);
    assert_eq!((Array::of_bools(&[1, 0]).as_bools(), Array::from(vec![1u8]).as_bools()), (Some(&[1, 0][..]), None));
}
